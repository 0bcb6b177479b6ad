"""Raters: who agrees with whom under one criterion, whether they fall into factions, and one row for each rater.

Flags on a rater mean "look", never "remove".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri

from salon.check.results import CheckSettings, CriterionFigures, FactionFigures, RaterAgreement, RaterSummary
from salon.check.signal import RankedGroups, answers_comparisons
from salon.errors import StatsError
from salon.stats import Estimate, faction_test, fair_coin_p, longest_run, outliers, pair_tau, wilson
from salon.study import ComparisonView, Study

MOST_MATRIX_RATERS = 24
"""A matrix of more raters than this cannot be read; the most active are shown and the rest counted."""
MOST_PANELS = 10
MOST_FOLLOWED = 100
"""Raters whose camps are looked for: the most active ones."""
MOST_VOTES = 20_000_000
"""Votes the search for camps looks at; of more, prompts are drawn at random."""

NO_ERROR = 1e-7
"""Standard errors below are of taus that are the same on every prompt: they tell nothing of how sure their mean is."""


def rater_figures(study: Study, groups: list[RankedGroups]) -> RaterAgreement | None:
    """Mean tau of every two raters over all prompts both ranked."""
    if len(groups) == 1 and groups[0].panel is not None and groups[0].raters <= MOST_MATRIX_RATERS:
        raters, left_out = groups[0].panel, 0
    else:
        everyone, answers = np.unique(np.concatenate([shape.rater.ravel() for shape in groups]), return_counts=True)
        raters = everyone[np.sort(np.argsort(-answers, kind="stable")[:MOST_MATRIX_RATERS])]
        left_out = len(everyone) - len(raters)
    if len(raters) < 2:
        return None
    total = np.zeros((3, len(raters), len(raters)))
    for shape in groups:
        tau = pair_tau(_by_rater(shape, raters))
        n, of_shape = tau.prompts.astype(float), np.nan_to_num(tau.mean)
        total[0] += of_shape * n
        # Squares about zero, not about each shape's own mean: a shape with one prompt has no error of its own.
        total[1] += np.nan_to_num(tau.error) ** 2 * n * (n - 1) + n * of_shape**2
        total[2] += n
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total[0] / total[2]
        error = np.sqrt(np.maximum(total[1] / total[2] - mean**2, 0) / (total[2] - 1))
    labels = tuple(study.label("raters", int(rater)) for rater in raters)
    off = ~np.eye(len(raters), dtype=bool)
    shared = off & (total[2] > 0)
    with np.errstate(invalid="ignore"):
        to_rest = np.where(shared, mean, 0).sum(axis=1) / shared.sum(axis=1)
    return RaterAgreement(
        raters=labels,
        tau=_known_rows(mean, off),
        error=_known_rows(error, off & (total[2] > 1) & (error > NO_ERROR)),
        prompts=tuple(tuple(int(n) for n in row) for row in total[2]),
        mean_tau={label: _finite_or_none(value) for label, value in zip(labels, to_rest)},
        most_agreeing=_extreme_pair(mean, shared, labels, np.nanargmax),
        least_agreeing=_extreme_pair(mean, shared, labels, np.nanargmin),
        left_out=left_out,
    )


def faction_figures(
    study: Study, groups: list[RankedGroups], settings: CheckSettings, rng: np.random.Generator
) -> FactionFigures:
    """One taste or camps, where raters can be followed from prompt to prompt.

    Cohorts that never meet on a prompt are tested apart: p is the smallest times their number, power the smallest.
    """
    panels = _panels(groups)
    if len(panels) > MOST_PANELS:
        return FactionFigures(refused=f"raters fall into {len(panels)} groups that share no prompt")
    results = []
    for raters, rows in panels:
        followed, ranks = _followed_ranks(groups, raters, rows, rng)
        try:
            result = faction_test(ranks, rng=rng, level=settings.level)
        except StatsError as error:
            return FactionFigures(refused=error.needed + (f" (found {error.found})" if error.found else ""))
        results.append((raters, followed, result))
    raters, followed, result = min(results, key=lambda panel: panel[2].test.p)
    labels = [study.label("raters", int(rater)) for rater in followed]
    p = min(1.0, result.test.p * len(results))
    apart = "" if len(results) == 1 else f"; smallest p of {len(results)} panels, times {len(results)}"
    most = "" if len(followed) == len(raters) else f"; the {len(followed)} most active of {len(raters):,} raters"
    first, second = (tuple(labels[r] for r in camp) for camp in result.camps)
    return FactionFigures(
        p=p,
        power=min(panel_result.power for _, _, panel_result in results),
        gap=result.gap,
        split=(first, second) if p <= settings.alpha else None,
        within=result.within,
        between=result.between,
        least=result.least,
        law=f"{result.test.law}{apart}{most}; power against {result.alternative}",
    )


def _panels(groups: list[RankedGroups]) -> list[tuple[NDArray[np.int32], list[NDArray[np.int64]]]]:
    """Raters who meet, directly or through others, and the prompts of each shape that they answered."""
    from scipy import sparse
    from scipy.sparse import csgraph

    if len(groups) == 1 and groups[0].panel is not None:
        return [(groups[0].panel, [np.arange(groups[0].n)])]
    raters = np.unique(np.concatenate([shape.rater.ravel() for shape in groups]))
    codes = [np.searchsorted(raters, shape.rater) for shape in groups]
    first = np.concatenate([np.repeat(code[:, 0], code.shape[1] - 1) for code in codes])
    partner = np.concatenate([code[:, 1:].ravel() for code in codes])
    links = sparse.coo_array((np.ones(len(first)), (first, partner)), shape=(len(raters), len(raters)))
    count, component = csgraph.connected_components(links, directed=False)
    return [
        (raters[component == c], [np.flatnonzero(component[code[:, 0]] == c) for code in codes]) for c in range(count)
    ]


def _followed_ranks(
    groups: list[RankedGroups], raters: NDArray[np.int32], rows: list[NDArray[np.int64]], rng: np.random.Generator
) -> tuple[NDArray[np.int32], list[NDArray[np.int8]]]:
    """The most active raters of a panel and their ranks by shape, of as many prompts as can be looked at."""
    if len(raters) > MOST_FOLLOWED:
        answering = np.concatenate([shape.rater[at].ravel() for shape, at in zip(groups, rows)])
        answers = np.bincount(np.searchsorted(raters, answering), minlength=len(raters))
        raters = raters[np.sort(np.argsort(-answers, kind="stable")[:MOST_FOLLOWED])]
    votes = sum(len(at) * shape.items * (shape.items - 1) // 2 for shape, at in zip(groups, rows)) * len(raters)
    ranks = []
    for shape, at in zip(groups, rows):
        if votes > MOST_VOTES:
            at = np.sort(rng.choice(at, max(1, len(at) * MOST_VOTES // votes), replace=False)) if len(at) else at
        if len(at):
            part = RankedGroups(shape.items, shape.raters, shape.ranks[at], shape.group[at], shape.rater[at])
            ranks.append(_by_rater(part, raters))
    return raters, ranks


def _by_rater(shape: RankedGroups, raters: NDArray[np.int32]) -> NDArray[np.int8]:
    """(n, all raters, p) ranks with one column per rater, -1 where a rater is absent."""
    if shape.panel is not None and np.array_equal(shape.panel, raters):
        return shape.ranks
    spread = np.full((shape.n, len(raters), shape.items), -1, np.int8)
    place = np.searchsorted(raters, shape.rater)
    place[place == len(raters)] = 0
    row, column = np.nonzero(raters[place] == shape.rater)
    spread[row, place[row, column]] = shape.ranks[row, column]
    return spread


def _known_rows(matrix: NDArray[np.float64], defined: NDArray[np.bool_]) -> tuple[tuple[float | None, ...], ...]:
    return tuple(
        tuple(_finite_or_none(v) if ok else None for v, ok in zip(row, oks)) for row, oks in zip(matrix, defined)
    )


def _finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _extreme_pair(
    mean: NDArray[np.float64],
    defined: NDArray[np.bool_],
    labels: Sequence[str],
    pick: Callable[[NDArray[np.float64]], np.intp],
) -> tuple[str, str] | None:
    """The pair of raters with the largest or smallest mean tau."""
    if not defined.any():
        return None
    i, j = map(int, np.unravel_index(pick(np.where(defined, mean, np.nan)), mean.shape))
    return labels[min(i, j)], labels[max(i, j)]


# -- one row per rater over the whole study ----------------------------------------------------------------------------

MOST_ROWS = 500
"""Raters shown; the most active come first and the rest are counted."""
RUN_ANSWERS = 5000
"""Answers of one rater that the search for straight lines looks at."""
FAST_SECONDS = 2.0
FEW_JUDGMENTS = 10
"""Fewer judgments than this raise no flag."""
RARE_HABIT = 0.005
"""A habit is flagged when a rater without it would show as much in one case of two hundred."""


class RaterFacts(TypedDict, total=False):
    """What is known of a rater beside the counts; names are those of `RaterSummary`."""

    mean_tau: Estimate | None
    intransitive: Estimate | None
    left_rate: Estimate | None
    tie_rate: float | None
    repeat_agreement: Estimate | None
    extreme_share: float | None
    longest_run: int


FactsAndRun = tuple[RaterFacts, float | None]
"""Facts, and the p of the longest run of equal answers."""


def rater_rows(study: Study, criteria: Sequence[CriterionFigures], settings: CheckSettings) -> tuple[RaterSummary, ...]:
    """The most active raters, most judgments first; a crowd has no row, since nobody can be told apart in it."""
    table = study.table("raters")
    views = (study.comparisons, study.rankings, study.ratings)
    counts = np.sum([np.bincount(view.rater, minlength=table.num_rows) for view in views], axis=0)
    raters = [r for r in np.argsort(-counts, kind="stable").tolist() if counts[r] and not study.crowds[r]][:MOST_ROWS]
    rng = np.random.default_rng([settings.seed, 1])
    taus, lowest = _taus(criteria, settings), _outliers(criteria)
    usual = float(np.median([tau.value for tau in taus.values()])) if taus else None
    loops = _intransitive(study)
    rows = []
    for rater in raters:
        label = study.label("raters", rater)
        compared, compared_p = _comparison_facts(study, rater, settings, rng)
        rated, rated_p = _rating_facts(study, rater, rng)
        facts: RaterFacts = {"mean_tau": taus.get(label), "intransitive": loops.get(rater), **compared, **rated}
        run_p = compared_p if rated_p is None else rated_p
        times = [view.seconds[view.rater == rater] for view in views if view.seconds is not None]
        finite = np.concatenate(times)[np.isfinite(np.concatenate(times))] if times else np.zeros(0)
        seconds = float(np.quantile(finite, 0.5)) if len(finite) else None
        rows.append(
            RaterSummary(
                rater=label,
                kind=_column(table, "kind", rater) or "person",
                cohort=_column(table, "cohort", rater),
                judgments=int(counts[rater]),
                median_seconds=seconds,
                flags=_flags(facts, lowest.get(label), usual, seconds, run_p, int(counts[rater])),
                **facts,
            )
        )
    return tuple(rows)


def _column(table: pa.Table, name: str, row: int) -> str | None:
    return table.column(name)[row].as_py() if name in table.column_names else None


def _taus(criteria: Sequence[CriterionFigures], settings: CheckSettings) -> dict[str, Estimate]:
    """Each rater's tau to the rest, mean over criteria weighted by prompts.

    The error takes a rater's pairs in one criterion as fully correlated (an upper bound) and criteria as independent.
    """
    sums: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for criterion in criteria:
        panel = criterion.raters
        if panel is None:
            continue
        for row, label in enumerate(panel.raters):
            tau = panel.mean_tau[label]
            errors = [error for error in panel.error[row] if error is not None]
            shared = max((n for column, n in enumerate(panel.prompts[row]) if column != row), default=0)
            if tau is not None and shared > 1:
                error = float(np.mean(errors)) if errors else np.nan
                sums[label].append((tau, error, max(n for n in panel.prompts[row])))
    estimates = {}
    for label, parts in sums.items():
        taus, spreads, n = (np.array(column, float) for column in zip(*parts))
        share = n / n.sum()
        half = float(ndtri((1 + settings.level) / 2)) * float(np.sqrt((share**2 * spreads**2).sum()))
        value = float((share * taus).sum())
        ends: tuple[float | None, float | None] = (value - half, value + half)
        method = "normal, prompts as units; pairs of a rater taken as fully correlated"
        if np.isnan(half):
            ends, method = (None, None), "no interval: the same tau on every prompt"
        estimates[label] = Estimate(value, *ends, int(n.sum()), "prompt", settings.level, method)
    return estimates


def _outliers(criteria: Sequence[CriterionFigures]) -> dict[str, str]:
    """Raters who agree least with the rest in too many of the criteria one panel judged."""
    panels: dict[tuple[str, ...], list[list[float]]] = defaultdict(list)
    for criterion in criteria:
        panel = criterion.raters
        if panel is not None and all(value is not None for value in panel.mean_tau.values()):
            panels[panel.raters].append([panel.mean_tau[label] or 0.0 for label in panel.raters])
    reasons: dict[str, str] = {}
    for labels, rows in panels.items():
        with suppress(StatsError):
            flagged = [outlier for outlier in outliers(np.array(rows)) if outlier.flagged]
            reasons |= {labels[o.rater]: f"agrees least in {o.lowest_in} of {o.criteria} criteria" for o in flagged}
    return reasons


def _intransitive(study: Study) -> dict[int, Estimate]:
    """Share of a rater's own complete triples that are intransitive; left out where the design forbids any."""
    if study.design.transitive_by_construction or not len(study.comparisons):
        return {}
    cyclic, triples = (np.zeros(study.table("raters").num_rows) for _ in range(2))
    for number in range(len(study.criteria)):
        answers = answers_comparisons(study, number)
        if not len(answers):
            continue
        view = study.comparisons
        rows = (view.criterion == number) & (view.repeat == 0) & (view.outcome > 1)
        most = study.table("raters").num_rows
        stated = view.group[rows].astype(np.int64) * most + view.rater[rows]
        states_a_tie = np.isin(answers.group.astype(np.int64) * most + answers.rater, stated)
        whole = ~states_a_tie & (answers.size > 2)
        p = answers.size[whole].astype(float)
        wins = np.nan_to_num(answers.scores[whole])
        all_triples = p * (p - 1) * (p - 2) / 6
        np.add.at(triples, answers.rater[whole], all_triples)
        np.add.at(cyclic, answers.rater[whole], all_triples - (wins * (wins - 1) / 2).sum(axis=1))
    method = "no interval: triples of one prompt share comparisons"
    return {
        int(r): Estimate(cyclic[r] / triples[r], None, None, int(triples[r]), "triple", 0.95, method)
        for r in np.flatnonzero(triples)
    }


def _comparison_facts(study: Study, rater: int, settings: CheckSettings, rng: np.random.Generator) -> FactsAndRun:
    view = study.comparisons
    rows = np.flatnonzero(view.rater == rater)
    if not len(rows):
        return {}, None
    outcome, left = view.outcome[rows], view.left[rows]
    decided = (left < 2) & (outcome < 2)
    facts: RaterFacts = {
        "left_rate": wilson(int((outcome == left)[decided].sum()), int(decided.sum()), level=settings.level)
        if decided.any()
        else None,
        "tie_rate": float((outcome == 2).mean()),
        "repeat_agreement": _repeats(view, rows, settings.level),
    }
    sides = np.where(outcome > 1, outcome, (outcome == left).astype(np.int8))[left < 2]
    return _with_run(facts, sides, rng)


def _repeats(view: ComparisonView, rows: NDArray[np.int64], level: float) -> Estimate | None:
    """Agreement with oneself on questions that were planted twice."""
    low, high = np.minimum(view.a[rows], view.b[rows]), np.maximum(view.a[rows], view.b[rows])
    flipped = view.a[rows] > view.b[rows]
    outcome = np.where((view.outcome[rows] < 2) & flipped, 1 - view.outcome[rows], view.outcome[rows])
    key = (view.criterion[rows].astype(np.int64) << 48) ^ (low.astype(np.int64) << 24) ^ high
    again = np.flatnonzero(view.repeat[rows] == 1)
    first = np.flatnonzero(view.repeat[rows] == 0)
    if not len(again) or not len(first):
        return None
    order = first[np.argsort(key[first], kind="stable")]
    place = np.minimum(np.searchsorted(key[order], key[again]), len(order) - 1)
    matches = key[order][place] == key[again]
    if not matches.any():
        return None
    same = outcome[order[place[matches]]] == outcome[again[matches]]
    return wilson(int(same.sum()), len(same), level=level)


def _rating_facts(study: Study, rater: int, rng: np.random.Generator) -> FactsAndRun:
    view = study.ratings
    rows = np.flatnonzero(view.rater == rater)
    if not len(rows):
        return {}, None
    extreme = np.zeros(len(rows), bool)
    for number, criterion in enumerate(study.criteria):
        if criterion.scale is not None:
            ends = np.isin(view.value[rows], (criterion.scale.low, criterion.scale.high))
            extreme |= ends & (view.criterion[rows] == number)
    facts: RaterFacts = {"extreme_share": float(extreme.mean())}
    return (facts, None) if len(study.comparisons) else _with_run(facts, view.value[rows], rng)


def _with_run(
    facts: RaterFacts, answers: NDArray[np.int8] | NDArray[np.float64], rng: np.random.Generator
) -> FactsAndRun:
    """The facts with the longest run of equal answers, and how rare it is."""
    if not len(answers):
        return facts, None
    run = longest_run(answers[:RUN_ANSWERS], rng=rng, shuffles=199)
    return {**facts, "longest_run": run.length}, run.p


def _flags(
    facts: RaterFacts, outlier: str | None, usual: float | None, seconds: float | None, run_p: float | None, n: int
) -> tuple[str, ...]:
    """Plain words for what should be looked at; `usual` is the median of all raters' tau."""
    if n < FEW_JUDGMENTS:
        return ()
    tau, left, repeat = facts.get("mean_tau"), facts.get("left_rate"), facts.get("repeat_agreement")
    flags = [outlier] if outlier else []
    if tau is not None and usual is not None:
        # Without an interval the tau was the same on every prompt.
        low, high = (tau.value if end is None else end for end in (tau.low, tau.high))
        if low <= 0 and high < usual:
            flags.append(f"agrees with the others no more than chance (tau {tau.value:+.2f}, usual {usual:+.2f})")
    if left is not None and left.n >= FEW_JUDGMENTS and abs(left.value - 0.5) > 0.05:
        coin_p = fair_coin_p(round(left.value * left.n), left.n)  # a fair coin is at least so far from one half
        if coin_p <= RARE_HABIT:
            flags.append(f"prefers the {'left' if left.value > 0.5 else 'right'} side ({left.value:.0%} left)")
    if repeat is not None and repeat.n >= FEW_JUDGMENTS and repeat.value < 0.6:
        flags.append(f"contradicts own repeats ({repeat.value:.0%} the same)")
    if seconds is not None and seconds < FAST_SECONDS:
        flags.append(f"very fast (median {seconds:.1f} s)")
    run = facts.get("longest_run", 0)
    if run_p is not None and run_p <= RARE_HABIT and run >= FEW_JUDGMENTS:
        flags.append(f"straight-lines ({run} equal answers in a row)")
    return tuple(flags)
