"""One row per rater over the whole study, with flags that mean "look", never "remove"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import stats
from scipy.stats import binomtest

from salon.check.answers import Answers, answers_comparisons
from salon.check.results import CriterionFigures, RaterRow
from salon.check.settings import CheckSettings
from salon.errors import StatsError
from salon.stats.behavior import longest_run, outliers, wilson
from salon.stats.result import Estimate
from salon.study import Study
from salon.study.views import Comparisons

MOST_ROWS = 500
"""Raters shown; the most active come first and the rest are counted."""
RUN_ANSWERS = 5000
"""Answers of one rater that the search for straight lines looks at."""
FAST_SECONDS = 2.0
FEW = 10
"""Fewer judgments than this raise no flag."""
RARE = 0.005
"""A habit is flagged when a rater without it would show as much in one case of two hundred."""


class Facts(TypedDict, total=False):
    """What is known of a rater beside the counts; names are those of `RaterRow`."""

    mean_tau: Estimate | None
    intransitive: Estimate | None
    left_rate: Estimate | None
    tie_rate: float | None
    repeat_agreement: Estimate | None
    extreme_share: float | None
    longest_run: int


FactsAndRun = tuple[Facts, float | None]
"""Facts, and the p of the longest run of equal answers."""


def rater_rows(study: Study, criteria: Sequence[CriterionFigures], settings: CheckSettings) -> tuple[RaterRow, ...]:
    """The most active raters, most judgments first; a crowd has no row, since nobody can be told apart in it."""
    counts = _judgments(study)
    shown = [r for r in np.argsort(-counts, kind="stable").tolist() if counts[r] and not study.crowds[r]][:MOST_ROWS]
    table = study.table("raters")
    rng = np.random.default_rng([settings.seed, 1])
    taus, lowest = _taus(criteria, settings), _outliers(criteria)
    usual = float(np.median([tau.value for tau in taus.values()])) if taus else None
    loops = _intransitive(study)
    rows = []
    for rater in shown:
        label = study.label("raters", rater)
        compared, compared_p = _comparison_facts(study, rater, settings, rng)
        rated, rated_p = _rating_facts(study, rater, rng)
        facts: Facts = {"mean_tau": taus.get(label), "intransitive": loops.get(rater), **compared, **rated}
        run_p = compared_p if rated_p is None else rated_p
        rows.append(
            RaterRow(
                rater=label,
                kind=_column(table, "kind", rater) or "person",
                cohort=_column(table, "cohort", rater),
                judgments=int(counts[rater]),
                median_seconds=_median_seconds(study, rater),
                flags=_flags(facts, lowest.get(label), usual, _median_seconds(study, rater), run_p, int(counts[rater])),
                **facts,
            )
        )
    return tuple(rows)


def _judgments(study: Study) -> NDArray[np.int64]:
    raters = study.table("raters").num_rows
    views = (study.comparisons, study.rankings, study.ratings)
    return sum((np.bincount(view.rater, minlength=raters) for view in views), np.zeros(raters, np.int64))


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
    made = {}
    for label, parts in sums.items():
        taus, spreads, n = (np.array(column, float) for column in zip(*parts))
        share = n / n.sum()
        half = float(stats.norm.ppf((1 + settings.level) / 2)) * float(np.sqrt((share**2 * spreads**2).sum()))
        value = float((share * taus).sum())
        ends: tuple[float | None, float | None] = (value - half, value + half)
        method = "normal, prompts as units; pairs of a rater taken as fully correlated"
        if np.isnan(half):
            ends, method = (None, None), "no interval: the same tau on every prompt"
        made[label] = Estimate(value, *ends, int(n.sum()), "prompt", settings.level, method)
    return made


def _outliers(criteria: Sequence[CriterionFigures]) -> dict[str, str]:
    """Raters who agree least with the rest in too many of the criteria one panel judged."""
    panels: dict[tuple[str, ...], list[list[float]]] = defaultdict(list)
    for criterion in criteria:
        panel = criterion.raters
        if panel is not None and all(value is not None for value in panel.mean_tau.values()):
            panels[panel.raters].append([panel.mean_tau[label] or 0.0 for label in panel.raters])
    found = {}
    for labels, rows in panels.items():
        try:
            for one in outliers(np.array(rows)):
                if one.flagged:
                    found[labels[one.rater]] = f"agrees least in {one.lowest_in} of {one.criteria} criteria"
        except StatsError:
            continue
    return found


def _intransitive(study: Study) -> dict[int, Estimate]:
    """Share of a rater's own complete triples that are intransitive; left out where the design forbids any."""
    if study.design.transitive_by_construction or not len(study.comparisons):
        return {}
    cyclic, triples = (np.zeros(study.table("raters").num_rows) for _ in range(2))
    for number in range(len(study.criteria)):
        answers = answers_comparisons(study, number)
        if not len(answers):
            continue
        whole = ~_states_a_tie(study, number, answers) & (answers.size > 2)
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


def _states_a_tie(study: Study, criterion: int, answers: Answers) -> NDArray[np.bool_]:
    """(N,) did the rater call a pair of this answer a tie? Wins alone do not tell: two halves make a whole."""
    view = study.comparisons
    rows = (view.criterion == criterion) & (view.repeat == 0) & (view.outcome > 1)
    most = study.table("raters").num_rows
    stated = view.group[rows].astype(np.int64) * most + view.rater[rows]
    return np.isin(answers.group.astype(np.int64) * most + answers.rater, stated)


def _comparison_facts(study: Study, rater: int, settings: CheckSettings, rng: np.random.Generator) -> FactsAndRun:
    view = study.comparisons
    rows = np.flatnonzero(view.rater == rater)
    if not len(rows):
        return {}, None
    outcome, left = view.outcome[rows], view.left[rows]
    known = (left < 2) & (outcome < 2)
    facts: Facts = {
        "left_rate": _figure(wilson(int((outcome == left)[known].sum()), int(known.sum()), level=settings.level)),
        "tie_rate": float((outcome == 2).mean()),
        "repeat_agreement": _repeats(view, rows, settings.level),
    }
    sides = np.where(outcome > 1, outcome, (outcome == left).astype(np.int8))[left < 2]
    return _with_run(facts, sides, rng)


def _repeats(view: Comparisons, rows: NDArray[np.int64], level: float) -> Estimate | None:
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
    found = key[order][place] == key[again]
    if not found.any():
        return None
    same = outcome[order[place[found]]] == outcome[again[found]]
    return _figure(wilson(int(same.sum()), len(same), level=level))


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
    facts: Facts = {"extreme_share": float(extreme.mean())}
    return (facts, None) if len(study.comparisons) else _with_run(facts, view.value[rows], rng)


def _with_run(facts: Facts, answers: NDArray[np.int8] | NDArray[np.float64], rng: np.random.Generator) -> FactsAndRun:
    """The facts with the longest run of equal answers, and how rare it is."""
    if not len(answers):
        return facts, None
    run = longest_run(answers[:RUN_ANSWERS], rng=rng, shuffles=199)
    return {**facts, "longest_run": run.length}, run.p


def _median_seconds(study: Study, rater: int) -> float | None:
    seconds = [
        view.seconds[view.rater == rater]
        for view in (study.comparisons, study.rankings, study.ratings)
        if view.seconds is not None
    ]
    known = np.concatenate(seconds) if seconds else np.zeros(0)
    known = known[np.isfinite(known)]
    return float(np.quantile(known, 0.5)) if len(known) else None


def _flags(
    facts: Facts, outlier: str | None, usual: float | None, seconds: float | None, run_p: float | None, n: int
) -> tuple[str, ...]:
    """Plain words for what should be looked at; `usual` is the median of all raters' tau."""
    if n < FEW:
        return ()
    tau, left, repeat = facts.get("mean_tau"), facts.get("left_rate"), facts.get("repeat_agreement")
    said = [outlier] if outlier else []
    if tau is not None and usual is not None and _end(tau, tau.low) <= 0 and _end(tau, tau.high) < usual:
        said.append(f"agrees with the others no more than chance (tau {tau.value:+.2f}, usual {usual:+.2f})")
    if left is not None and left.n >= FEW and abs(left.value - 0.5) > 0.05 and _coin(left) <= RARE:
        said.append(f"prefers the {'left' if left.value > 0.5 else 'right'} side ({left.value:.0%} left)")
    if repeat is not None and repeat.n >= FEW and repeat.value < 0.6:
        said.append(f"contradicts own repeats ({repeat.value:.0%} the same)")
    if seconds is not None and seconds < FAST_SECONDS:
        said.append(f"very fast (median {seconds:.1f} s)")
    run = facts.get("longest_run", 0)
    if run_p is not None and run_p <= RARE and run >= FEW:
        said.append(f"straight-lines ({run} equal answers in a row)")
    return tuple(said)


def _end(of: Estimate, end: float | None) -> float:
    """An end of an interval; the value itself where it was the same on every prompt."""
    return of.value if end is None else end


def _coin(share: Estimate) -> float:
    """Chance that a fair coin gives a share at least so far from one half."""
    return float(binomtest(round(share.value * share.n), share.n).pvalue)


def _figure(estimate: Estimate) -> Estimate | None:
    return None if estimate.n == 0 else estimate
