"""From a study's judgments to complete orders, and from these to the signal of a criterion.

Rankings, complete comparisons and ratings all become the same thing (`CompleteAnswers`): for every answer (one rater,
one group) a row of scores, one per item of the group, higher = better, equal = tie. `Signal` asks whether they agree
more than random raters would: the tests, the four statistics and their nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.check.results import (
    STATISTICS,
    CheckSettings,
    Interval,
    NullFigures,
    ShapeFigures,
    Statistics,
    TestFigures,
    TestName,
)
from salon.errors import StatsError
from salon.stats import (
    BOTH_SIDES,
    FEW_RATERS,
    SHARE,
    Estimate,
    Null,
    Part,
    SignalCells,
    Test,
    agreement_test,
    cells_votes,
    cycle_test,
    cycles_possible,
    folded_pmf,
    interval,
    pmax_bins,
    pmax_test,
    power_agreement,
    ranking_law,
    resample_cells,
    statistics_cells,
    t_test,
    tied_parts,
    tied_test,
    votes_rankings,
)
from salon.stats.jit import FEW, compiled_above
from salon.study import Study

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Scores = NDArray[np.float32]
Bools = NDArray[np.bool_]
Filled = NDArray[np.uint8]
Protocol = Literal["rankings", "comparisons", "ratings"]
MOST_ITEMS = 60
"""Groups with more items than this are not turned into orders: C(p,2) votes a prompt would no longer fit."""


@dataclass(frozen=True)
class CompleteAnswers:
    """Complete answers under one criterion and protocol, sorted by group and rater."""

    protocol: Protocol
    group: Ints
    """(N,) group of each answer."""
    rater: Ints
    """(N,) rater of each answer."""
    size: Ints
    """(N,) number of items in the answer's group."""
    scores: Scores
    """(N, largest size) higher = better; NaN beyond the group's size."""
    incomplete: int
    """Answers left out because they do not cover every item of their group."""
    intransitive: int
    """Complete sets of comparisons that are no order; wins rank the items and equal wins are ties."""
    too_large: int
    """Groups left out because they hold more than MOST_ITEMS items."""
    skipped: int
    """Judgments under this criterion the raters skipped with a reason."""
    ungrouped: int = 0
    """Ratings left out because their item belongs to no group."""

    def __len__(self) -> int:
        return len(self.group)

    @cached_property
    def ties(self) -> Ints:
        """(N,) item pairs of each answer that tie. NaN, beyond a group's size, ties with nothing."""
        ties = np.zeros(len(self), np.int32)
        _count_ties(self.scores, ties)
        return ties

    @cached_property
    def starts(self) -> Longs:
        """Where the answers of each group begin."""
        return np.flatnonzero(np.concatenate(([True], self.group[1:] != self.group[:-1])))[: len(self)]

    @property
    def tied(self) -> Bools:
        """(N,) does the answer hold at least one tie?"""
        return self.ties > 0

    @cached_property
    def tie_rate(self) -> float:
        """Share of item pairs within an answer that tie."""
        size = self.size.astype(np.int64)
        pairs = int((size * (size - 1) // 2).sum())
        return int(self.ties.sum(dtype=np.int64)) / pairs if pairs else 0.0


@dataclass(frozen=True)
class RankedGroups:
    """Groups of p items answered by R raters, as strict ranks."""

    items: int
    raters: int
    ranks: NDArray[np.int8]
    """(n, R, p), 0 = best."""
    group: Ints
    """(n,)"""
    rater: Ints
    """(n, R)"""

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.group)

    @cached_property
    def panel(self) -> Ints | None:
        """The raters, in rising order, if the same ones answered for every group; else None."""
        return self.rater[0] if (self.rater == self.rater[0]).all() else None


def answers_rankings(study: Study, criterion: int) -> CompleteAnswers:
    """Rankings that cover all judged items of their group."""
    view = study.rankings
    of_criterion = (view.criterion == criterion) & (view.repeat == 0)
    if study.crowds.any():
        of_criterion &= ~study.crowds[view.rater]
    every = bool(of_criterion.all())
    rows: slice | Longs = slice(None) if every else np.flatnonzero(of_criterion)
    starts, ends = view.offsets[:-1][rows], view.offsets[1:][rows]
    judged_items = view.items if every else view.items[np.repeat(of_criterion, np.diff(view.offsets))]

    def fill(scores: Scores, filled: Filled, fits: Bools, position: Ints) -> None:
        _fill_rankings(scores, filled, fits, starts, ends, position, view.items, view.ranks)

    skipped = count_skipped(study, "rankings", criterion)
    return _complete_answers(study, "rankings", view.group[rows], view.rater[rows], judged_items, fill, skipped)


def answers_ratings(study: Study, criterion: int) -> CompleteAnswers:
    """Ratings of all judged items of a group by one rater, turned so that higher is better."""
    view = study.ratings
    of_criterion = (view.criterion == criterion) & (view.repeat == 0) & ~study.crowds[view.rater]
    keep = np.flatnonzero(of_criterion & (view.group >= 0))
    scale = study.criteria[criterion].scale
    sign = -1.0 if scale is not None and not scale.higher_is_better else 1.0
    group, rater, row = _group_judgments(view.group[keep], view.rater[keep])
    item = view.item[keep]

    def fill(scores: Scores, filled: Filled, fits: Bools, position: Ints) -> None:
        _fill_single(scores, filled, fits, row, position, item, sign * view.value[keep])

    answers = _complete_answers(study, "ratings", group, rater, item, fill, count_skipped(study, "ratings", criterion))
    return replace(answers, ungrouped=int(of_criterion.sum()) - len(keep))


def answers_comparisons(study: Study, criterion: int) -> CompleteAnswers:
    """Wins (ties half) of every item in one rater's comparisons, where the rater met every pair of the group."""
    view = study.comparisons
    keep = np.flatnonzero((view.criterion == criterion) & (view.repeat == 0) & ~study.crowds[view.rater])
    group, rater, row = _group_judgments(view.group[keep], view.rater[keep])
    half = np.where(view.outcome[keep] > 1, np.float32(0.5), np.float32(0))
    a_wins = half + (view.outcome[keep] == 0)
    item = np.concatenate([view.a[keep], view.b[keep]])
    once, entry = np.unique(np.concatenate([row, row]) * np.int64(len(study.item_groups)) + item, return_inverse=True)
    wins = np.bincount(entry, weights=np.concatenate([a_wins, 1 - a_wins]), minlength=len(once))
    meetings = np.bincount(entry, minlength=len(once))
    size = np.bincount((once // len(study.item_groups)).astype(np.int64), minlength=len(group))
    answer = (once // len(study.item_groups)).astype(np.int64)
    met_all = np.bincount(answer, weights=meetings != size[answer] - 1, minlength=len(group)) == 0
    whole = met_all[answer]

    def fill(scores: Scores, filled: Filled, fits: Bools, position: Ints) -> None:
        met = (once % len(study.item_groups)).astype(np.int32)[whole]
        _fill_single(scores, filled, fits, answer[whole], position, met, wins[whole])

    answers = _complete_answers(
        study, "comparisons", group, rater, item, fill, count_skipped(study, "comparisons", criterion)
    )
    # Wins that tie without a single tied comparison are intransitive.
    with_ties = {(int(group[answer]), int(rater[answer])) for answer in np.unique(row[half > 0]).tolist()}
    tied_wins = zip(answers.group[answers.tied].tolist(), answers.rater[answers.tied].tolist())
    return replace(answers, intransitive=sum(answer not in with_ties for answer in tied_wins))


def count_skipped(study: Study, kind: str, criterion: int) -> int:
    """Judgments of one kind and criterion that raters skipped with a reason."""
    table = study.table(kind)
    if "skipped" not in table.column_names:
        return 0
    criteria = study.codes("criteria", table.filter(pc.is_valid(table.column("skipped"))).column("criterion"))
    return int((criteria == criterion).sum())


def _group_judgments(group: Ints, rater: Ints) -> tuple[Ints, Ints, Longs]:
    """Judgments of single items or pairs gathered into answers: group and rater of each answer, and each
    judgment's answer."""
    most = np.int64(rater.max()) + 1 if len(rater) else np.int64(1)
    once, row = np.unique(group.astype(np.int64) * most + rater, return_inverse=True)
    return (once // most).astype(np.int32), (once % most).astype(np.int32), row.astype(np.int64)


def _complete_answers(
    study: Study,
    protocol: Protocol,
    group: Ints,
    rater: Ints,
    judged_items: Ints,
    fill: Callable[[Scores, Filled, Bools, Ints], None],
    skipped: int,
) -> CompleteAnswers:
    """Lay the answers out as rows, one column for each judged item of their group, and keep the rows without a gap.

    `fill(scores, filled, fits, position)` writes answer a's score of item i to scores[a, position[i]] and counts it in
    filled[a], where fits[a].
    """
    position, sizes = _positions(study.item_groups, judged_items)
    size = sizes[group] if len(group) else np.zeros(0, np.int32)
    fits = (size <= MOST_ITEMS) & (size > 1)
    scores = np.full((len(group), int(size.max(where=fits, initial=1))), np.nan, np.float32)
    filled = np.zeros(len(group), np.uint8)
    fill(scores, filled, fits, position)
    full = fits & (filled == size)
    large = int((size > MOST_ITEMS).sum())
    if not full.all():
        group, rater, size = group[full], rater[full], size[full]
        scores = scores[full, : int(size.max(initial=1))]  # nobody may have answered the widest group in full
    rising = (group[1:] > group[:-1]) | ((group[1:] == group[:-1]) & (rater[1:] >= rater[:-1]))
    if not rising.all():
        order = np.lexsort((rater, group))
        group, rater, size, scores = group[order], rater[order], size[order], scores[order]
    return CompleteAnswers(
        protocol=protocol,
        group=group,
        rater=rater,
        size=size,
        scores=scores,
        incomplete=len(full) - len(group) - large,
        intransitive=0,
        too_large=int((sizes > MOST_ITEMS).sum()),
        skipped=skipped,
    )


def _positions(item_groups: Ints, judged_items: Ints) -> tuple[Ints, Ints]:
    """For every item its place among the judged items of its group (-1 if unjudged); and each group's size."""
    marked = np.zeros(len(item_groups), bool)
    marked[judged_items] = True
    items = np.flatnonzero(marked)
    groups = item_groups[items]
    if (groups[1:] < groups[:-1]).any():
        order = np.argsort(groups, kind="stable")
        items, groups = items[order], groups[order]
    sizes = np.bincount(groups, minlength=int(item_groups.max()) + 1 if len(item_groups) else 1).astype(np.int32)
    position = np.full(len(item_groups), -1, np.int32)
    position[items] = np.arange(len(items)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return position, sizes


def _fill_rankings_arrays(scores, filled, fits, starts, ends, position, items, ranks):  # type: ignore[no-untyped-def]  # as below
    lengths = np.where(fits, ends - starts, 0)
    answer = np.repeat(np.arange(len(fits)), lengths)
    entry = np.arange(len(answer)) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    scores[answer, position[items[entry]]] = -ranks[entry]
    filled += lengths.astype(filled.dtype)


@compiled_above(5 * FEW, _fill_rankings_arrays)
def _fill_rankings(scores, filled, fits, starts, ends, position, items, ranks):  # type: ignore[no-untyped-def]  # numba knows the types
    for a in range(len(fits)):
        if fits[a]:
            for e in range(starts[a], ends[a]):
                scores[a, position[items[e]]] = -ranks[e]
                filled[a] += 1


def _fill_single_arrays(scores, filled, fits, answer, position, item, score):  # type: ignore[no-untyped-def]  # as below
    used = fits[answer]
    scores[answer[used], position[item[used]]] = score[used]
    filled += np.bincount(answer[used], minlength=len(filled)).astype(filled.dtype)


@compiled_above(FEW, _fill_single_arrays)
def _fill_single(scores, filled, fits, answer, position, item, score):  # type: ignore[no-untyped-def]  # numba knows the types
    for e in range(len(item)):
        a = answer[e]
        if fits[a]:
            scores[a, position[item[e]]] = score[e]
            filled[a] += 1


def _count_ties_arrays(scores, ties):  # type: ignore[no-untyped-def]  # as below
    for i in range(1, scores.shape[1]):
        ties += np.count_nonzero(scores[:, i : i + 1] == scores[:, :i], axis=1).astype(ties.dtype)


@compiled_above(FEW, _count_ties_arrays)
def _count_ties(scores, ties):  # type: ignore[no-untyped-def]  # numba knows the types
    for a in range(len(scores)):
        for i in range(scores.shape[1]):
            for j in range(i):
                ties[a] += scores[a, i] == scores[a, j]


def ranked_groups(
    answers: CompleteAnswers, *, ties: Literal["random", "stable"], rng: np.random.Generator
) -> list[RankedGroups]:
    """The groups by (items, raters), as strict ranks. Ties are broken at random, or (`stable`) by item order:
    the same for every rater, which manufactures agreement and is offered only to reproduce papers that did so."""
    if not len(answers):
        return []
    ranks = _ranks(answers.scores, answers.size, ties, rng)
    first = answers.starts
    raters = np.diff(np.append(first, len(answers)))
    sizes = answers.size[first].astype(np.int64)
    groups = []
    for p, R in sorted({(int(code >> 32), int(code & 0xFFFFFFFF)) for code in np.unique(sizes << 32 | raters)}):
        if R < 2:
            continue
        of_shape = first[(sizes == p) & (raters == R)]
        if len(of_shape) * R == len(answers):  # all groups have this shape: nothing to pick out
            ranked, who = ranks.reshape(-1, R, p), answers.rater.reshape(-1, R)
        else:
            rows = of_shape[:, None] + np.arange(R)
            ranked, who = ranks[rows][:, :, :p], answers.rater[rows]
        groups.append(RankedGroups(items=p, raters=R, ranks=ranked, group=answers.group[of_shape], rater=who))
    return groups


def rank_scores(scores: Scores, *, ties: Literal["random", "stable"], rng: np.random.Generator) -> NDArray[np.int8]:
    """(N, p) strict ranks of score rows without gaps, 0 = best."""
    return _ranks(scores, np.full(len(scores), scores.shape[1], np.int32), ties, rng)


def _ranks(scores: Scores, size: Ints, ties: Literal["random", "stable"], rng: np.random.Generator) -> NDArray[np.int8]:
    ranks = np.empty(scores.shape, np.int8)
    seed = np.uint64(rng.integers(1, 2**63)) if ties == "random" else np.uint64(0)
    _rank(scores, size, seed, ranks)
    return ranks


def _rank_arrays(scores, size, seed, ranks):  # type: ignore[no-untyped-def]  # as below
    width = scores.shape[1]
    there = np.arange(width) < size[:, None]
    key = np.tile(np.arange(width, dtype=np.uint64), (len(scores), 1))
    ordered = np.sort(np.where(there, scores, np.nan), axis=1)
    if seed and (ordered[:, 1:] == ordered[:, :-1]).any():  # only ties need the keys
        state, keys = int(seed), []
        for _ in range(int(size.sum())):
            state ^= (state << 13) & 0xFFFFFFFFFFFFFFFF
            state ^= state >> 7
            state ^= (state << 17) & 0xFFFFFFFFFFFFFFFF
            keys.append(state)
        key[there] = np.array(keys, np.uint64)
    above = np.zeros(scores.shape, np.int64)
    for j in range(width):
        other, first = scores[:, j : j + 1], key[:, j : j + 1]
        above += there[:, j : j + 1] & ((other > scores) | ((other == scores) & (first < key)))
    ranks[there] = above[there]


@compiled_above(FEW, _rank_arrays)
def _rank(scores, size, seed, ranks):  # type: ignore[no-untyped-def]  # numba knows the types
    """Rank = number of items above. Equal scores go by a key: random (xorshift) with a seed, else the item's place."""
    state = seed
    key = np.zeros(scores.shape[1], np.uint64)
    for r in range(len(scores)):
        for i in range(size[r]):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            key[i] = state if seed else np.uint64(i)
        for i in range(size[r]):
            above = 0
            for j in range(size[r]):
                if scores[r, j] > scores[r, i] or (scores[r, j] == scores[r, i] and key[j] < key[i]):
                    above += 1
            ranks[r, i] = above


# -- signal ------------------------------------------------------------------------------------------------------------

NullLookup = Callable[[int, int], Null]
MOST_KINDS = 40
T_BINS, PMAX_BINS = 60, 50
"""Bins of the histograms of shapes with many raters."""
_ENDS = {"mean_tau": BOTH_SIDES, "mean_pmax": (0.5, 1.0), "cycle_rate": SHARE}


@dataclass(frozen=True)
class Signal:
    """One criterion's answers as cells: one list of (cells, null) per tie-break (one when nothing ties)."""

    repeats: tuple[tuple[tuple[SignalCells, Null], ...], ...]
    shapes: list[RankedGroups]
    """The strict orders of the first tie-break."""
    answers: CompleteAnswers
    null: NullLookup

    @property
    def prompts(self) -> int:
        """Prompts that enter the statistics."""
        return sum(cells.n for cells, _ in self.repeats[0])

    @cached_property
    def values(self) -> dict[str, float | None]:
        """The four statistics, averaged over tie-breaks."""
        each = [statistics_cells([c for c, _ in cells]) for cells in self.repeats]
        defined = {name: [float(v[0]) for repeat in each if (v := repeat[name]) is not None] for name in STATISTICS}
        return {name: float(np.mean(values)) if values else None for name, values in defined.items()}

    def statistics(self, settings: CheckSettings, rng: np.random.Generator) -> Statistics:
        """The four statistics with percentile intervals from prompts drawn again (pooled over tie-breaks)."""
        draws = -(-settings.draws // len(self.repeats))
        replicates = [resample_cells([c for c, _ in cells], draws=draws, rng=rng) for cells in self.repeats]
        cyclable = sum(c.n for c, _ in _cyclable(self.repeats[0]))
        intervals = {}
        for name in STATISTICS:
            value, pooled = self.values[name], [repeat[name] for repeat in replicates]
            if value is None or any(values is None for values in pooled):
                intervals[name] = Interval(low=None, high=None)
                continue
            n = cyclable if name == "cycle_rate" else self.prompts
            together = np.concatenate([values for values in pooled if values is not None])
            intervals[name] = percentile_interval(name, value, together, n, settings.level)
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
        return (_combine_repeats("agreement", [_test_or_reason(partial(self._agreement, rng))]), *self.described())

    def described(self) -> tuple[TestFigures, ...]:
        """The tests that describe: histograms of T and p_max, and the cycle count."""
        return (
            _combine_repeats("T", [_test_or_reason(partial(t_test, list(cells))) for cells in self.repeats]),
            _combine_repeats("p_max", [_test_or_reason(partial(pmax_test, list(cells))) for cells in self.repeats]),
            _combine_repeats(
                "cycle", [_test_or_reason(partial(cycle_test, _cyclable(cells))) for cells in self.repeats]
            ),
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
            return power_agreement(
                parts, *_simulation_prompts(answers, rng), tau=settings.smallest_tau, alpha=alpha, rng=rng
            )
        except StatsError:
            return None

    def shape_figures(self) -> tuple[ShapeFigures, ...]:
        """Histograms of T and p_max beside their nulls, shape by shape."""
        return tuple(self._shape(number) for number in range(len(self.repeats[0])))

    def _shape(self, number: int) -> ShapeFigures:
        cells, null = self.repeats[0][number]
        each = [repeat[number][0] for repeat in self.repeats]
        # A Monte Carlo null may not have met a value that raters who agree often give.
        support = sorted(
            {*null.t_counts, *(value for repeat_cells in each for value in repeat_cells.t_numerators.tolist())}
        )
        counts = np.zeros(len(support))
        for repeat_cells in each:
            np.add.at(counts, np.searchsorted(support, repeat_cells.t_numerators), repeat_cells.counts)
        pairs = np.asarray(sum(repeat_cells.pmax_counts for repeat_cells in each))
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


def criterion_signal(
    answers: CompleteAnswers, settings: CheckSettings, null: NullLookup, rng: np.random.Generator
) -> Signal:
    """Cells of the answers, once when they are strict or ties break by item order, else once per random tie-break."""
    repeats = settings.tie_repeats if settings.ties == "random" and answers.tie_rate else 1
    first = ranked_groups(answers, ties=settings.ties, rng=rng)
    repeated = []
    for repeat in range(repeats):
        groups = first if repeat == 0 else ranked_groups(answers, ties=settings.ties, rng=rng)
        repeated.append(tuple((groups_cells(shape), null(shape.items, shape.raters)) for shape in groups))
    return Signal(tuple(repeated), first, answers, null)


def percentile_interval(name: str, value: float, replicates: NDArray[np.float64], n: int, level: float) -> Interval:
    """The middle of the draws of a statistic over n prompts; where they show no width, what the prompts still allow.

    A mean at an end of its range has the exact bound (`intervals`), any other has none. A median is sure of its value
    where all of n are alike and 2 / 2^n is no more than 1 - level: its order statistics say so.
    """
    if n < 2:
        return Interval(low=None, high=None)
    estimate = interval(value, replicates, n=n, unit="prompt", level=level, ends=_ENDS.get(name), within=BOTH_SIDES)
    if estimate.low is None and name == "median_T" and 2 / 2**n <= 1 - level:
        return Interval(low=value, high=value)
    return Interval(low=estimate.low, high=estimate.high)


def _simulation_prompts(
    answers: CompleteAnswers, rng: np.random.Generator
) -> tuple[list[NDArray[np.float32]], list[int]]:
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
    cells: SignalCells, null: Null, support: NDArray[np.int64], counts: NDArray[np.float64], pairs: NDArray[np.float64]
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


def groups_cells(shape: RankedGroups) -> SignalCells:
    """The sufficient statistics of one shape."""
    return cells_votes(votes_rankings(shape.ranks), shape.raters, shape.items)


def null_method(null: Null) -> str:
    """How a null was made, in words."""
    return "exact" if null.exact else f"Monte Carlo, n={null.draws:,}"


def _cyclable(cells: Sequence[tuple[SignalCells, Null]]) -> list[tuple[SignalCells, Null]]:
    """Shapes where strict majorities can cycle, or all of them when none can (the test then says why not)."""
    return [pair for pair in cells if cycles_possible(pair[0].items, pair[0].raters)] or list(cells)


def _test_or_reason(test: Callable[[], Test]) -> Test | str:
    try:
        return test()
    except StatsError as error:
        return f"{error.needed}" + (f" (found {error.found})" if error.found else "")


def _combine_repeats(name: TestName, tests: Sequence[Test | str]) -> TestFigures:
    """One result from the repeats: twice the median p is a valid p value however the repeats depend (Rüger 1978)."""
    tests_done = [test for test in tests if isinstance(test, Test)]
    if not tests_done:
        return TestFigures(name=name, refused=str(tests[0]))
    figures = TestFigures.of(name, tests_done[0])
    if len(tests_done) == 1:
        return figures
    p = np.median([test.p for test in tests_done])
    naive = [test.p_naive for test in tests_done if test.p_naive is not None]
    return figures.model_copy(
        update={
            "statistic": float(np.median([test.statistic for test in tests_done])),
            "p": float(min(1.0, 2 * p)),
            "p_naive": float(min(1.0, 2 * np.median(naive))) if naive else None,
            "law": f"{figures.law}; twice the median over {len(tests_done)} tie-breaks",
        }
    )
