"""The same raters and items under comparisons and under ratings: which protocol carries more agreement?

Computed where a criterion has both protocols, for at least two raters who rated every item of a group and compared each
of them with another (`MatchedGroup`). A figure is the mean over groups, per criterion and over all criteria together.
Few groups (say, three categories of paintings) are taken as they are and every item is left out in turn; ten or more
are drawn again. Criteria of one group share its items, so an item is left out of all of them at once, and a group is
drawn with all of them.

The measures are alike for both protocols. Ranks: each rater's ratings, and each rater's Elo ranking of what they
compared. Pairs: the outcomes given, and those that the same raters' ratings imply on the same pairs. Native units:
pairs as compared, items as rated; these have different labels (three outcomes, the levels of a scale), so their shares
are shown and never subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from salon.check.results import CheckSettings, ProtocolFigures, ProtocolRater, ProtocolRow
from salon.check.signal import MOST_ITEMS
from salon.errors import StatsError
from salon.stats import (
    Estimate,
    agreement_of_counts,
    bootstrap_totals,
    induced_outcomes,
    outcome_counts,
    stability,
    supermajority_share,
    unanimous_share,
    with_width,
)
from salon.study import JudgmentView, Study

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_MATCHED_ITEMS, LEAST_MATCHED_RATERS = 4, 2
BOTH_BAD = 3
TIERS = {"high": 2, "medium": 1, "low": 0}


@dataclass(frozen=True)
class MatchedGroup:
    """One group under one criterion and both protocols, by the raters who answered for all of its items."""

    criterion: int
    group: int
    items: Ints
    """Their numbers in the study."""
    raters: NDArray[np.int32]
    ratings: Floats
    """(raters, items) higher is better."""
    elo: Floats
    """(raters, items) each rater's own Elo ranking of the items they compared."""
    first: Ints
    second: Ints
    """Places of the compared items, 0 to n - 1."""
    outcome: Floats
    """1 first is better, 1/2 tie, 0 second is better."""
    rater: Ints
    """Who compared, 0 to R - 1."""
    tiers: Ints
    """2 high, 1 medium, 0 low, -1 none."""


def matched_groups(study: Study, *, seed: int) -> Iterator[MatchedGroup]:
    """Every matched group of every criterion: first answers only, crowds and "both bad" left out."""
    ratings, comparisons = study.ratings, study.comparisons
    table = study.table("items")
    names = table.column("tier").to_pylist() if "tier" in table.column_names else [""] * table.num_rows
    tiers = np.array([TIERS.get(name, -1) for name in names])
    for criterion in range(len(study.criteria)):
        rng = np.random.default_rng([seed, criterion])
        rated = np.flatnonzero((ratings.criterion == criterion) & (ratings.repeat == 0))
        first = (comparisons.criterion == criterion) & (comparisons.repeat == 0)
        compared = np.flatnonzero(first & (comparisons.outcome != BOTH_BAD))
        for group in np.intersect1d(ratings.group[rated], comparisons.group[compared]).tolist():
            rows = rated[ratings.group[rated] == group], compared[comparisons.group[compared] == group]
            matched = _match_group(study, criterion, group, *rows, tiers, rng)
            if matched is not None:
                yield matched


def _match_group(
    study: Study, criterion: int, group: int, rated: Ints, compared: Ints, tiers: Ints, rng: np.random.Generator
) -> MatchedGroup | None:
    """The group's items and those of its raters who answered for all of them under both protocols."""
    r, c = study.ratings, study.comparisons
    items = np.intersect1d(r.item[rated], np.concatenate([c.a[compared], c.b[compared]]))
    raters = np.intersect1d(r.rater[rated], c.rater[compared])
    raters = raters[~study.crowds[raters]]
    if not LEAST_MATCHED_ITEMS <= len(items) <= 20 * MOST_ITEMS or len(raters) < LEAST_MATCHED_RATERS:
        return None
    scores = _rating_scores(study, criterion, rated, items, raters)
    rows = compared[np.isin(c.a[compared], items) & np.isin(c.b[compared], items) & np.isin(c.rater[compared], raters)]
    who, a, b = (np.searchsorted(*pair) for pair in ((raters, c.rater[rows]), (items, c.a[rows]), (items, c.b[rows])))
    met = np.zeros(scores.shape, bool)
    met[who, a] = met[who, b] = True
    whole = np.asarray(np.isfinite(scores).all(axis=1) & met.all(axis=1))
    if whole.sum() < LEAST_MATCHED_RATERS:
        return None
    keep = whole[who]
    outcome = np.array([1.0, 0.0, 0.5])[c.outcome[rows][keep]]
    who = np.cumsum(whole)[who[keep]] - 1
    elo = stability.rater_elo(a[keep], b[keep], outcome, who, len(items), rng=rng)
    return MatchedGroup(
        criterion, group, items, raters[whole], scores[whole], elo, a[keep], b[keep], outcome, who, tiers[items]
    )


def _rating_scores(study: Study, criterion: int, rated: Ints, items: Ints, raters: NDArray[np.int32]) -> Floats:
    """Ratings (raters, items), turned where low is good, NaN where one is missing."""
    r = study.ratings
    rows = rated[np.isin(r.item[rated], items) & np.isin(r.rater[rated], raters)]
    scale = study.criteria[criterion].scale
    sign = -1.0 if scale is not None and not scale.higher_is_better else 1.0
    scores = np.full((len(raters), len(items)), np.nan)
    scores[np.searchsorted(raters, r.rater[rows]), np.searchsorted(items, r.item[rows])] = sign * r.value[rows]
    return scores


# -- measures of a matched group ---------------------------------------------------------------------------------------

Values = dict[str, float]
Stacked = dict[str, Floats]
MOST_SIGNS = 4_000_000
"""Signs of item pairs held at once: 32 MB."""


@dataclass(frozen=True)
class ProtocolMeasure:
    """One row of the table."""

    name: str
    better: int = 1
    """1: more is better; -1: less is; 0: the two protocols cannot be compared on it."""
    note: str | None = None


_INDUCED = "a rating that ties two items counts as a tie"
_NATIVE = "descriptive only: three outcomes of a pair against the levels of a scale"
MEASURES = {
    "w": ProtocolMeasure("Kendall's W", note="agreement among the raters; no reference ranking enters"),
    "split_half": ProtocolMeasure("split-half Spearman"),
    "triplets": ProtocolMeasure("triplet separation", note="groups whose items have all three tiers"),
    "accuracy": ProtocolMeasure("to-consensus pairwise accuracy"),
    "rho": ProtocolMeasure("two raters' Spearman"),
    "tau": ProtocolMeasure("two raters' Kendall tau-b"),
    "displacement": ProtocolMeasure("mean rank displacement (lower is better)", -1),
    "displacement_sd": ProtocolMeasure("spread of rank displacement over raters (lower is better)", -1),
    "least": ProtocolMeasure("least agreeing rater's Spearman to the consensus"),
    "most": ProtocolMeasure("most agreeing rater's Spearman to the consensus"),
    "left_out": ProtocolMeasure("leave-one-rater-out Spearman"),
    "left_out_top": ProtocolMeasure("leave-one-rater-out top-10 overlap"),
    "one": ProtocolMeasure("one rater against all, Spearman"),
    "three": ProtocolMeasure("three raters against all, Spearman"),
    "kappa": ProtocolMeasure("Fleiss' kappa on the same pairs", note=_INDUCED),
    "alpha": ProtocolMeasure("Krippendorff's alpha (nominal) on the same pairs", note=_INDUCED),
    "unanimous": ProtocolMeasure("unanimous pairs", note=_INDUCED),
    "four_of_five": ProtocolMeasure("pairs with 4 of 5 agreeing", note=_INDUCED),
    "convergence": ProtocolMeasure("two raters agree on a pair", note=_INDUCED),
    "native_unanimous": ProtocolMeasure("unanimous in the protocol's own unit", 0, _NATIVE),
    "native_four_of_five": ProtocolMeasure("4 of 5 agreeing in the protocol's own unit", 0, _NATIVE),
}
PAIR_MEASURES = list(MEASURES)[list(MEASURES).index("kappa") :]
"""Measures of outcomes of pairs; the others are of ranks."""


def measure_group(group: MatchedGroup) -> Floats:
    """(2, measures) under comparisons and under ratings; NaN where a measure is undefined."""
    return np.asarray(_measure_choices(group, np.ones((1, len(group.items)), bool))[0])


def measure_folds(group: MatchedGroup) -> Floats:
    """(items, 2, measures) the same without each of the items."""
    keep = ~np.eye(len(group.items), dtype=bool)
    block = max(1, MOST_SIGNS // (len(group.ratings) * len(group.items) ** 2))
    return np.concatenate(
        [_measure_choices(group, keep[start : start + block]) for start in range(0, len(keep), block)]
    )


def _measure_choices(group: MatchedGroup, keep: NDArray[np.bool_]) -> Floats:
    """(choices, 2, measures) for each choice of items to keep, (choices, items), all of one size."""
    pairs = _pairs(group)
    levels = np.stack([(group.ratings == level).sum(axis=0) for level in np.unique(group.ratings)], axis=1)
    places = np.nonzero(keep)[1].reshape(len(keep), -1)
    met = [items[pairs.first] & items[pairs.second] for items in keep]
    compared = [_pair_measures(pairs.compared[rows]) | _native_measures(pairs.compared[rows]) for rows in met]
    rated = [_pair_measures(pairs.implied[rows]) | _native_measures(levels[items]) for rows, items in zip(met, keep)]
    by_protocol = []
    for scores, pair_measures in ((group.elo, compared), (group.ratings, rated)):
        values = _rank_measures(np.moveaxis(scores[:, places], 0, 1))
        with suppress(StatsError):
            triplets = [stability.triplet_separation(scores[:, items], group.tiers[items]) for items in keep]
            values["triplets"] = np.array(triplets)
        values |= {name: np.array([measures.get(name, np.nan) for measures in pair_measures]) for name in PAIR_MEASURES}
        by_protocol.append([values.get(name, np.full(len(keep), np.nan)) for name in MEASURES])
    return np.moveaxis(np.array(by_protocol), 2, 0)


def _rank_measures(scores: Floats) -> Stacked:
    """Each measure of every table of a stack; those that are undefined for one of them are left out."""
    raters = scores.shape[-2]
    groups: list[tuple[tuple[str, ...], Callable[[], Sequence[Floats]]]] = [
        (("w",), lambda: [stability.kendall_ws(scores)]),
        (("split_half",), lambda: [stability.split_half(scores, _splits(raters))]),
        (("accuracy",), lambda: [stability.consensus_accuracy(scores)]),
        (("rho", "tau"), lambda: stability.rater_correlation(scores)),
        (("displacement", "displacement_sd", "least", "most"), lambda: stability.rank_displacement(scores)),
        (("left_out", "left_out_top"), lambda: stability.leave_one_rater_out(scores)[:2]),
        (("one",), lambda: [stability.k_of_raters(scores, 1, rng=_fixed_rng()).rho]),
        (("three",), lambda: [stability.k_of_raters(scores, 3, rng=_fixed_rng()).rho] if raters > 3 else []),
    ]
    measures: Stacked = {}
    for names, values in groups:
        with suppress(StatsError):
            measures |= dict(zip(names, values()))
    return measures


@cache
def _splits(raters: int) -> list[tuple[stability.Camp, stability.Camp]]:
    return stability.half_splits(raters, rng=_fixed_rng())


def _fixed_rng() -> np.random.Generator:
    """The same panels for both protocols and every fold."""
    return np.random.default_rng(0)


@dataclass(frozen=True)
class _PairCounts:
    """Pairs that were compared, and counts (pairs, 3) of second, tie and first: as given, and as ratings imply."""

    first: Ints
    second: Ints
    compared: Ints
    implied: Ints


def _pairs(group: MatchedGroup) -> _PairCounts:
    n = len(group.items)
    low, high = np.minimum(group.first, group.second), np.maximum(group.first, group.second)
    key, pair = np.unique(low * n + high, return_inverse=True)
    signed = 2 * group.outcome - 1
    compared = np.full((len(key), len(group.ratings)), np.nan)
    compared[pair, group.rater] = np.where(group.first == low, signed, -signed)
    implied = induced_outcomes(group.ratings, key // n, key % n)
    implied[np.isnan(compared)] = np.nan  # only where the rater met the pair
    return _PairCounts(key // n, key % n, outcome_counts(compared), outcome_counts(implied))


def _pair_measures(counts: Ints) -> Values:
    try:
        agreement = agreement_of_counts(counts)
    except StatsError:
        return {}
    return {
        "kappa": agreement.fleiss.kappa.value,
        "alpha": agreement.alpha.value,
        "unanimous": agreement.unanimous,
        "four_of_five": agreement.supermajority,
        "convergence": agreement.convergence,
    }


def _native_measures(counts: Ints) -> Values:
    try:
        return {"native_unanimous": unanimous_share(counts), "native_four_of_five": supermajority_share(counts)}
    except StatsError:
        return {}


# -- how each rater used the two protocols -----------------------------------------------------------------------------

LEFT_A, LEFT_B = 0, 1
A, B, TIE = 0, 1, 2


def protocol_raters(study: Study, groups: Sequence[MatchedGroup]) -> tuple[ProtocolRater, ...]:
    """One row for each rater of a matched group, in the study's order."""
    criteria = sorted({group.criterion for group in groups})
    distances: dict[int, list[Floats]] = {}  # for each group (2, 2): protocol by rank distance and Spearman
    for group in groups:
        both = np.array([stability.to_consensus(scores) for scores in (group.elo, group.ratings)])
        for place, rater in enumerate(group.raters.tolist()):
            distances.setdefault(rater, []).append(both[:, :, place])
    near = {rater: np.mean(values, axis=0) for rater, values in distances.items()}
    return tuple(
        ProtocolRater(
            rater=study.label("raters", rater),
            **_habits(study, rater, criteria),
            displacement=tuple(near[rater][:, 0].tolist()),
            to_consensus=tuple(near[rater][:, 1].tolist()),
        )
        for rater in sorted(near)
    )


def _habits(study: Study, rater: int, criteria: Sequence[int]) -> dict[str, float | None]:
    """Level and ends of the scale in ratings, where the criteria share one; sides and ties in comparisons."""

    def rows(view: JudgmentView) -> NDArray[np.bool_]:
        return np.asarray((view.rater == rater) & (view.repeat == 0) & np.isin(view.criterion, criteria))

    value = study.ratings.value[rows(study.ratings)]
    scales = {None if (scale := study.criteria[n].scale) is None else (scale.low, scale.high) for n in criteria}
    ends = next(iter(scales))
    one_scale = len(scales) == 1
    of_rater = rows(study.comparisons)
    outcome, left = study.comparisons.outcome[of_rater], study.comparisons.left[of_rater]
    decided = np.isin(outcome, (A, B)) & np.isin(left, (LEFT_A, LEFT_B))
    won = (outcome == left)[decided]
    return {
        "mean_rating": float(value.mean()) if one_scale else None,
        "extreme_share": float(np.isin(value, ends).mean()) if one_scale and ends is not None else None,
        "left_rate": float(won.mean()) if len(won) else None,
        "tie_rate": float((outcome == TIE).mean()),
    }


# -- figures over groups -----------------------------------------------------------------------------------------------

DRAWN_GROUPS = 10
"""From this many groups on they are a sample that can be drawn again."""
MOST_FOLDS = 400
"""Items of a group beyond which none is left out in turn: the group then has no interval."""
EQUAL_REPEATS = 20
EQUAL_MEASURE = ProtocolMeasure("Kendall's W at equal judgment counts", note="comparisons thinned at random")
COMPARISONS, RATINGS = 0, 1


@dataclass(frozen=True)
class ProtocolComparison:
    """What a report says of the two protocols."""

    criteria: tuple[ProtocolFigures, ...] = ()
    together: ProtocolFigures | None = None
    raters: tuple[ProtocolRater, ...] = ()


@dataclass(frozen=True)
class MeasuredGroup:
    """A matched group with its measures."""

    of: MatchedGroup
    values: Floats
    """(2, measures)"""
    folds: Floats | None
    """(items, 2, measures) without each item; None where that is not asked for."""
    equal: Floats | None
    """(repeats,) Kendall's W of comparisons thinned to the number of ratings; None where there are fewer."""


def protocol_figures(study: Study, settings: CheckSettings) -> ProtocolComparison:
    """A table for each criterion that has both protocols, and one of all together; nothing when no group is matched."""
    if not len(study.ratings) or not len(study.comparisons):
        return ProtocolComparison()
    groups = list(matched_groups(study, seed=settings.seed))
    few = len({group.group for group in groups}) < DRAWN_GROUPS
    rng = np.random.default_rng([settings.seed, len(study.criteria)])
    cells = [_measured_group(group, few, rng) for group in groups]
    by_criterion = [[cell for cell in cells if cell.of.criterion == number] for number in range(len(study.criteria))]
    figures = [
        _figures(criterion.id, mine, settings, rng) for criterion, mine in zip(study.criteria, by_criterion) if mine
    ]
    together = _figures(None, cells, settings, rng) if len(figures) > 1 else None
    return ProtocolComparison(tuple(figures), together, protocol_raters(study, groups))


def _measured_group(group: MatchedGroup, few: bool, rng: np.random.Generator) -> MeasuredGroup:
    def w(scores: Floats) -> float:
        return float(stability.kendall_ws(scores))

    n = len(group.items)
    table = (group.first, group.second, group.outcome, group.rater)
    equal = None
    with suppress(StatsError):
        equal = stability.equal_judgments(w, table, n, n, repeats=EQUAL_REPEATS, rng=rng)
    folds = measure_folds(group) if few and n <= MOST_FOLDS else None
    return MeasuredGroup(group, measure_group(group), folds, equal)


def _figures(
    criterion: str | None, cells: list[MeasuredGroup], settings: CheckSettings, rng: np.random.Generator
) -> ProtocolFigures:
    rows = [_row(number, measure, cells, settings, rng) for number, measure in enumerate(MEASURES.values())]
    return ProtocolFigures(
        criterion=criterion,
        group=f"{len(cells)} groups" if len(cells) > 1 else "one group",
        items=len(np.unique(np.concatenate([cell.of.items for cell in cells]))),
        raters=max(len(cell.of.raters) for cell in cells),
        rows=(*(row for row in rows if row is not None), _equal_row(cells, settings, rng)),
    )


def _row(
    number: int, measure: ProtocolMeasure, cells: list[MeasuredGroup], settings: CheckSettings, rng: np.random.Generator
) -> ProtocolRow | None:
    """One measure over the groups in which both protocols have it; None where no group has."""
    measured = [cell for cell in cells if np.isfinite(cell.values[:, number]).all()]
    if not measured:
        return None

    def figure(of: Callable[[Floats], Floats]) -> Estimate:
        return _mean_over_groups(measured, lambda values: of(values[..., number]), settings, rng)

    gaps = [cell.values[COMPARISONS, number] - cell.values[RATINGS, number] for cell in measured]
    return ProtocolRow(
        name=measure.name,
        comparisons=figure(lambda pair: pair[..., COMPARISONS]),
        ratings=figure(lambda pair: pair[..., RATINGS]),
        difference=figure(lambda pair: pair[..., COMPARISONS] - pair[..., RATINGS]) if measure.better else None,
        ahead=sum(gap * measure.better > 0 for gap in gaps) if measure.better else None,
        groups=len(measured),
        note=measure.note,
    )


def _mean_over_groups(
    cells: list[MeasuredGroup], of: Callable[[Floats], Floats], settings: CheckSettings, rng: np.random.Generator
) -> Estimate:
    """The mean of a value over cells: groups drawn again where they are many, else items left out in turn."""
    groups: dict[int, list[MeasuredGroup]] = {}
    for cell in cells:
        groups.setdefault(cell.of.group, []).append(cell)
    sums = np.array([sum(float(of(cell.values)) for cell in mine) for mine in groups.values()])
    if len(groups) >= DRAWN_GROUPS:
        table = np.column_stack([sums, [len(mine) for mine in groups.values()]])
        return bootstrap_totals(
            lambda t: t[:, 0] / t[:, 1], table, draws=settings.draws, rng=rng, level=settings.level, unit="group"
        )
    share = len(groups) / len(cells)  # the mean over groups of these sums is then the mean over cells
    if any(cell.folds is None for cell in cells):
        items, why = sum(len(cell.of.items) for cell in cells), "no interval: too many items, or too few groups"
        return Estimate(float(sums.mean() * share), None, None, items, "item", settings.level, why)
    left_out = [share * _sum_folds(mine, of) for mine in groups.values()]
    return stability.jackknife_mean(share * sums, left_out, level=settings.level)


def _sum_folds(cells: Sequence[MeasuredGroup], of: Callable[[Floats], Floats]) -> Floats:
    """A value summed over one group's criteria, without each item; a criterion without the item stays whole."""
    items = np.unique(np.concatenate([cell.of.items for cell in cells]))
    total = np.zeros(len(items))
    for cell in cells:
        assert cell.folds is not None
        part = np.full(len(items), float(of(cell.values)))
        part[np.searchsorted(items, cell.of.items)] = of(cell.folds)
        total += part
    return total


def _equal_row(cells: list[MeasuredGroup], settings: CheckSettings, rng: np.random.Generator) -> ProtocolRow:
    """Kendall's W when every rater gives no more comparisons than ratings."""
    pairs = [(cell, cell.equal) for cell in cells if cell.equal is not None]
    if len(pairs) < len(cells):
        note = "a rater gave fewer comparisons than ratings"
        return ProtocolRow(name=EQUAL_MEASURE.name, comparisons=None, ratings=None, note=note)
    w = list(MEASURES).index("w")
    pairs = [
        (cell, equal) for cell, equal in pairs if np.isfinite(cell.values[:, w]).all() and np.isfinite(equal).all()
    ]
    if not pairs:
        return ProtocolRow(name=EQUAL_MEASURE.name, comparisons=None, ratings=None, note="raters tie all items")
    cells, equal_ws = [cell for cell, _ in pairs], [equal for _, equal in pairs]
    full = _row(w, MEASURES["w"], cells, settings, rng)
    thinned = np.mean(equal_ws, axis=0)
    low, high = np.quantile(thinned, [(1 - settings.level) / 2, (1 + settings.level) / 2]).tolist()
    method = f"{EQUAL_REPEATS} random choices: the chance of the choice alone"
    gap = [float(np.mean(equal) - cell.values[RATINGS, w]) for equal, cell in zip(equal_ws, cells)]
    return ProtocolRow(
        name=EQUAL_MEASURE.name,
        comparisons=with_width(
            Estimate(float(thinned.mean()), low, high, EQUAL_REPEATS, "choice", settings.level, method)
        ),
        ratings=None if full is None else full.ratings,
        difference=Estimate(float(np.mean(gap)), None, None, len(cells), "group", settings.level, "no interval"),
        ahead=sum(difference > 0 for difference in gap),
        groups=len(cells),
        note=EQUAL_MEASURE.note,
    )
