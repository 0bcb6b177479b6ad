"""Is there more agreement than random raters would show? The test of it, the four statistics and their nulls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from salon.check.answers import Answers, Shape, shapes
from salon.check.results import STATISTICS, Interval, NullFigures, ShapeFigures, Statistics, TestFigures, TestName
from salon.check.settings import CheckSettings
from salon.errors import StatsError
from salon.stats.agreement_law import Part, ranking_law
from salon.stats.agreement_test import agreement_test, power_agreement, tied_parts, tied_test
from salon.stats.nulls import FEW_RATERS, Null
from salon.stats.resample import BOTH_SIDES, SHARE, interval
from salon.stats.result import Estimate, Test
from salon.stats.signal import (
    Cells,
    cells_votes,
    cycles_possible,
    pmax_bins,
    resample_cells,
    statistics_cells,
    votes_rankings,
)
from salon.stats.signal_tests import cycle_test, folded_pmf, pmax_test, t_test

Lookup = Callable[[int, int], Null]
MOST_KINDS = 40
T_BINS, PMAX_BINS = 60, 50
"""Bins of the histograms of shapes with many raters."""
_ENDS = {"mean_tau": BOTH_SIDES, "mean_pmax": (0.5, 1.0), "cycle_rate": SHARE}


@dataclass(frozen=True)
class Signal:
    """One criterion's answers as cells: one list of (cells, null) per tie-break (one when nothing ties)."""

    repeats: tuple[tuple[tuple[Cells, Null], ...], ...]
    shapes: list[Shape]
    """The strict orders of the first tie-break."""
    answers: Answers
    null: Lookup

    @property
    def prompts(self) -> int:
        """Prompts that enter the statistics."""
        return sum(cells.n for cells, _ in self.repeats[0])

    @cached_property
    def values(self) -> dict[str, float | None]:
        """The four statistics, averaged over tie-breaks."""
        each = [statistics_cells([c for c, _ in cells]) for cells in self.repeats]
        return {name: _mean([one[name] for one in each]) for name in STATISTICS}

    def statistics(self, settings: CheckSettings, rng: np.random.Generator) -> Statistics:
        """The four statistics with percentile intervals from prompts drawn again (pooled over tie-breaks)."""
        draws = -(-settings.draws // len(self.repeats))
        drawn = [resample_cells([c for c, _ in cells], draws=draws, rng=rng) for cells in self.repeats]
        cyclable = sum(c.n for c, _ in _cyclable(self.repeats[0]))
        intervals = {}
        for name in STATISTICS:
            value, pooled = self.values[name], [one[name] for one in drawn]
            if value is None or any(values is None for values in pooled):
                intervals[name] = Interval(low=None, high=None)
                continue
            n = cyclable if name == "cycle_rate" else self.prompts
            together = np.concatenate([values for values in pooled if values is not None])
            intervals[name] = percentiles(name, value, together, n, settings.level)
        return Statistics(**self.values, intervals=intervals)

    def null_figures(self) -> NullFigures:
        """The same statistics under random raters: each shape's null, weighted by its prompts."""
        cells = self.repeats[0]
        weights = np.array([c.n for c, _ in cells], float)
        methods = {null_method(null) for _, null in cells}
        rates = [(c.n, float(null.cycle_rate)) for c, null in cells if cycles_possible(c.items, c.raters)]
        return NullFigures(
            median_T=float(cells[0][1].median_T) if len(cells) == 1 else None,
            mean_tau=0.0,
            mean_pmax=float(np.average([float(null.mean_pmax) for _, null in cells], weights=weights)),
            cycle_rate=sum(n * rate for n, rate in rates) / sum(n for n, _ in rates) if rates else None,
            method=" and ".join(sorted(methods)),
        )

    def tests(self, rng: np.random.Generator) -> tuple[TestFigures, ...]:
        """The total agreement, then the histograms of T and p_max and the cycle count, each against the null.

        Ties are no signs to the first. For the others they were broken: at random, twice the median p over repeats.
        """
        return (_combine("agreement", [_try(partial(self._agreement, rng))]), *self.described())

    def described(self) -> tuple[TestFigures, ...]:
        """The tests that describe: histograms of T and p_max, and the cycle count."""
        return (
            _combine("T", [_try(partial(t_test, list(cells))) for cells in self.repeats]),
            _combine("p_max", [_try(partial(pmax_test, list(cells))) for cells in self.repeats]),
            _combine("cycle", [_try(partial(cycle_test, _cyclable(cells))) for cells in self.repeats]),
        )

    def _agreement(self, rng: np.random.Generator) -> Test:
        answers = self.answers
        if not answers.tie_rate:
            return agreement_test(self.repeats[0])
        return tied_test(answers.scores, answers.size, answers.starts, self.null, rng=rng)

    def power(self, settings: CheckSettings, alpha: float, rng: np.random.Generator) -> Estimate | None:
        """The chance that this design shows `smallest_tau` at this level."""
        answers = self.answers
        parts: list[Part] = [(ranking_law(null), cells.n) for cells, null in self.repeats[0]]
        if answers.tie_rate:
            parts = tied_parts(answers.scores, answers.size, answers.starts, self.null)
        try:
            return power_agreement(parts, *_kinds(answers, rng), tau=settings.smallest_tau, alpha=alpha, rng=rng)
        except StatsError:
            return None

    def shape_figures(self) -> tuple[ShapeFigures, ...]:
        """Histograms of T and p_max beside their nulls, shape by shape."""
        return tuple(self._shape(number) for number in range(len(self.repeats[0])))

    def _shape(self, number: int) -> ShapeFigures:
        cells, null = self.repeats[0][number]
        each = [repeat[number][0] for repeat in self.repeats]
        # A Monte Carlo null may not have met a value that raters who agree often give.
        support = sorted({*null.t_counts, *(value for one in each for value in one.t_numerators.tolist())})
        counts = np.zeros(len(support))
        for one in each:
            np.add.at(counts, np.searchsorted(support, one.t_numerators), one.counts)
        pairs = np.asarray(sum(one.pmax_counts for one in each))
        if cells.raters > FEW_RATERS:
            return _wide_shape(cells, null, np.array(support), counts / len(each), pairs / len(each))
        return ShapeFigures(
            items=cells.items,
            raters=cells.raters,
            prompts=cells.n,
            null_method=null_method(null),
            t_support=tuple(value / cells.t_denominator for value in support),
            t_counts=tuple((counts / len(each)).tolist()),
            t_null=tuple(null.t_counts.get(value, 0) / null.total for value in support),
            pmax_support=tuple(float(value) for value in null.pmax_pmf),
            pmax_counts=tuple((pairs / len(each)).tolist()),
            pmax_null=tuple(float(value) for value in null.pmax_pmf.values()),
        )


def signal_of(answers: Answers, settings: CheckSettings, null: Lookup, rng: np.random.Generator) -> Signal:
    """Cells of the answers, once when they are strict or ties break by item order, else once per random tie-break."""
    repeats = settings.tie_repeats if settings.ties == "random" and answers.tie_rate else 1
    first = shapes(answers, ties=settings.ties, rng=rng)
    made = []
    for repeat in range(repeats):
        found = first if repeat == 0 else shapes(answers, ties=settings.ties, rng=rng)
        made.append(tuple((cells_of(shape), null(shape.items, shape.raters)) for shape in found))
    return Signal(tuple(made), first, answers, null)


def percentiles(name: str, value: float, drawn: NDArray[np.float64], n: int, level: float) -> Interval:
    """The middle of the draws of a statistic over n prompts; where they show no width, what the prompts still allow.

    A mean at an end of its range has the exact bound (`resample`), any other has none. A median is sure of its value
    where all of n are alike and 2 / 2^n is no more than 1 - level: its order statistics say so.
    """
    if n < 2:
        return Interval(low=None, high=None)
    made = interval(value, drawn, n=n, unit="prompt", level=level, ends=_ENDS.get(name), within=BOTH_SIDES)
    if made.low is None and name == "median_T" and 2 / 2**n <= 1 - level:
        return Interval(low=value, high=value)
    return Interval(low=made.low, high=made.high)


def _kinds(answers: Answers, rng: np.random.Generator) -> tuple[list[NDArray[np.float32]], list[int]]:
    """Prompts with two answers or more by shape, for a simulation: answers (R, p) of some of each, and their number.

    Without ties all prompts of a shape are alike; with ties up to 40 of each shape stand for the others.
    """
    starts = answers.starts
    raters = np.diff(np.append(starts, len(answers)))
    sizes = answers.size[starts].astype(np.int64)
    prompts: list[NDArray[np.float32]] = []
    counts: list[int] = []
    for p, R in {(int(p), int(R)) for p, R in zip(sizes, raters) if R >= 2}:
        of_shape = starts[(sizes == p) & (raters == R)]
        kinds = min(len(of_shape), MOST_KINDS if answers.tie_rate else 1)
        shares = np.full(kinds, len(of_shape) // kinds)
        shares[: len(of_shape) % kinds] += 1
        chosen = rng.choice(of_shape, kinds, replace=False)
        prompts += [answers.scores[start : start + R, :p] for start in chosen.tolist()]
        counts += shares.tolist()
    return prompts, counts


def _wide_shape(
    cells: Cells, null: Null, support: NDArray[np.int64], counts: NDArray[np.float64], pairs: NDArray[np.float64]
) -> ShapeFigures:
    """The histograms of a shape with many raters, whose values are too many to list: in bins, at their middles."""
    T = support / cells.t_denominator
    edges = np.linspace(T.min(), T.max() + 1e-12, T_BINS + 1)
    place = np.clip(np.searchsorted(edges, T, side="right") - 1, 0, T_BINS - 1)
    mass = np.array([null.t_counts.get(int(value), 0) / null.total for value in support])
    shares = pmax_bins(cells.raters) / cells.raters
    where = np.minimum(((shares - 0.5) * 2 * PMAX_BINS).astype(int), PMAX_BINS - 1)
    return ShapeFigures(
        items=cells.items,
        raters=cells.raters,
        prompts=cells.n,
        null_method=null_method(null),
        t_support=tuple(((edges[1:] + edges[:-1]) / 2).tolist()),
        t_counts=tuple(np.bincount(place, counts, T_BINS).tolist()),
        t_null=tuple(np.bincount(place, mass, T_BINS).tolist()),
        pmax_support=tuple((0.5 + (np.arange(PMAX_BINS) + 0.5) / (2 * PMAX_BINS)).tolist()),
        pmax_counts=tuple(np.bincount(where, pairs, PMAX_BINS).tolist()),
        pmax_null=tuple(np.bincount(where, folded_pmf(cells.raters), PMAX_BINS).tolist()),
    )


def cells_of(shape: Shape) -> Cells:
    """The sufficient statistics of one shape."""
    return cells_votes(votes_rankings(shape.ranks), shape.raters, shape.items)


def null_method(null: Null) -> str:
    """How a null was made, in words."""
    return "exact" if null.exact else f"Monte Carlo, n={null.draws:,}"


def _mean(values: Sequence[NDArray[np.float64] | None]) -> float | None:
    known = [float(value[0]) for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _cyclable(cells: Sequence[tuple[Cells, Null]]) -> list[tuple[Cells, Null]]:
    """Shapes where strict majorities can cycle, or all of them when none can (the test then says why not)."""
    return [pair for pair in cells if cycles_possible(pair[0].items, pair[0].raters)] or list(cells)


def _try(test: Callable[[], Test]) -> Test | str:
    try:
        return test()
    except StatsError as error:
        return f"{error.needed}" + (f" (found {error.found})" if error.found else "")


def _combine(name: TestName, tests: Sequence[Test | str]) -> TestFigures:
    """One result from the repeats: twice the median p is a valid p value however the repeats depend (Rüger 1978)."""
    made = [test for test in tests if isinstance(test, Test)]
    if not made:
        return TestFigures(name=name, refused=str(tests[0]))
    figures = TestFigures.of(name, made[0])
    if len(made) == 1:
        return figures
    p = np.median([test.p for test in made])
    naive = [test.p_naive for test in made if test.p_naive is not None]
    return figures.model_copy(
        update={
            "statistic": float(np.median([test.statistic for test in made])),
            "p": float(min(1.0, 2 * p)),
            "p_naive": float(min(1.0, 2 * np.median(naive))) if naive else None,
            "law": f"{figures.law}; twice the median over {len(made)} tie-breaks",
        }
    )
