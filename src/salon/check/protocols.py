"""The same raters and items under comparisons and under ratings: which protocol carries more agreement?

Made where a criterion has both, by at least two raters who rated every item of a group and compared every one of
them with another. One group (say, fifty paintings) is measured with the jackknife over its items; several groups are
averaged, and drawn again for the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.check.answers import MOST_ITEMS
from salon.check.results import Figure, ProtocolFigures, ProtocolRow
from salon.check.settings import CheckSettings
from salon.errors import StatsError
from salon.stats import outcomes, stability
from salon.stats.agreement import kendall_w
from salon.stats.resample import bootstrap_totals
from salon.stats.result import Estimate
from salon.study import Study

Floats = NDArray[np.float64]
LEAST_ITEMS, LEAST_RATERS = 4, 2
EQUAL_REPEATS = 20


@dataclass(frozen=True)
class Matched:
    """One group under both protocols."""

    ratings: Floats
    """(raters, items)"""
    elo: Floats
    """(raters, items) each rater's own Elo ranking of the items they compared."""
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    outcome: Floats
    """1 first is better, 1/2 tie, 0 second is better."""
    rater: NDArray[np.int64]
    tiers: NDArray[np.int64]
    """2 high, 1 medium, 0 low, -1 none."""


def protocol_figures(study: Study, settings: CheckSettings) -> tuple[ProtocolFigures, ...]:
    """One table per criterion that has both protocols; none when no group is matched."""
    if not len(study.ratings) or not len(study.comparisons):
        return ()
    made = []
    for number, criterion in enumerate(study.criteria):
        rng = np.random.default_rng([settings.seed, number])
        groups = _matched(study, number, rng)
        if groups:
            sizes = [one.ratings.shape for one in groups]
            where = f"{len(groups)} groups" if len(groups) > 1 else "one group"
            made.append(
                ProtocolFigures(
                    criterion=criterion.id,
                    group=where,
                    items=sum(size[1] for size in sizes),
                    raters=max(size[0] for size in sizes),
                    rows=_rows(groups, settings, rng),
                )
            )
    return tuple(made)


def _matched(study: Study, criterion: int, rng: np.random.Generator) -> list[Matched]:
    ratings, comparisons = study.ratings, study.comparisons
    rated = np.flatnonzero((ratings.criterion == criterion) & (ratings.repeat == 0))
    compared = np.flatnonzero((comparisons.criterion == criterion) & (comparisons.repeat == 0))
    shared = np.intersect1d(ratings.group[rated], comparisons.group[compared])
    tiers = _tiers(study)
    made = []
    for group in shared.tolist():
        one = _match(
            study,
            rated[ratings.group[rated] == group],
            compared[comparisons.group[compared] == group],
            criterion,
            tiers,
            rng,
        )
        made += [] if one is None else [one]
    return made


def _match(study, rated, compared, criterion, tiers, rng):  # type: ignore[no-untyped-def]
    """The group's items and those of its raters who answered for all of them under both protocols."""
    r, c = study.ratings, study.comparisons
    items = np.intersect1d(r.item[rated], np.concatenate([c.a[compared], c.b[compared]]))
    raters = np.intersect1d(r.rater[rated], c.rater[compared])
    raters = raters[~study.crowds[raters]]
    if not LEAST_ITEMS <= len(items) <= 20 * MOST_ITEMS or len(raters) < LEAST_RATERS:
        return None
    scores = np.full((len(raters), len(items)), np.nan)
    known = rated[np.isin(r.item[rated], items) & np.isin(r.rater[rated], raters)]
    scale = study.criteria[criterion].scale
    sign = -1.0 if scale is not None and not scale.higher_is_better else 1.0
    scores[np.searchsorted(raters, r.rater[known]), np.searchsorted(items, r.item[known])] = sign * r.value[known]
    rows = compared[np.isin(c.a[compared], items) & np.isin(c.b[compared], items) & np.isin(c.rater[compared], raters)]
    who = np.searchsorted(raters, c.rater[rows])
    met = np.zeros((len(raters), len(items)), bool)
    a, b = np.searchsorted(items, c.a[rows]), np.searchsorted(items, c.b[rows])
    met[who, a] = met[who, b] = True
    whole = np.isfinite(scores).all(axis=1) & met.all(axis=1)
    if whole.sum() < LEAST_RATERS:
        return None
    keep = whole[who]
    outcome = np.array([1.0, 0.0, 0.5, 0.5])[c.outcome[rows][keep]]
    who = np.cumsum(whole)[who[keep]] - 1
    elo = stability.rater_elo(a[keep], b[keep], outcome, who, len(items), rng=rng)
    return Matched(scores[whole], elo, a[keep], b[keep], outcome, who, tiers[items])


def _tiers(study: Study) -> NDArray[np.int64]:
    table = study.table("items")
    if "tier" not in table.column_names:
        return np.full(table.num_rows, -1)
    place = {"high": 2, "medium": 1, "low": 0}
    return np.array([place.get(tier, -1) for tier in table.column("tier").to_pylist()])


def _rows(groups: list[Matched], settings: CheckSettings, rng: np.random.Generator) -> tuple[ProtocolRow, ...]:
    raters = min(len(one.ratings) for one in groups)
    splits = stability.half_splits(raters, rng=rng)
    k = max(2, raters - 2)
    measures: dict[str, stability.Measure] = {
        "Kendall's W": lambda x: kendall_w(x).w,
        "split-half Spearman": lambda x: stability.split_half(x[:raters], splits),
        "to-consensus pairwise accuracy": stability.consensus_accuracy,
        "mean rank displacement (lower is better)": lambda x: stability.rank_displacement(x).mean,
        "leave-one-rater-out Spearman": lambda x: stability.leave_one_rater_out(x).rho,
        "leave-one-rater-out top-10 overlap": lambda x: stability.leave_one_rater_out(x).top_overlap,
        f"{k}-of-{raters} raters Spearman": lambda x: stability.k_of_raters(x[:raters], k, rng=_fixed()).rho,
    }
    made = [
        ProtocolRow(
            name=name,
            comparisons=_over(groups, lambda one, f=f: (f, one.elo), settings, rng),
            ratings=_over(groups, lambda one, f=f: (f, one.ratings), settings, rng),
        )
        for name, f in measures.items()
    ]
    return (*made, *_triplets(groups, settings, rng), *_pairs(groups, settings, rng), _equal(groups, settings, rng))


def _fixed() -> np.random.Generator:
    """The same panels for both protocols and every fold."""
    return np.random.default_rng(0)


def _over(
    groups: list[Matched],
    of: Callable[[Matched], tuple[stability.Measure, Floats]],
    settings: CheckSettings,
    rng: np.random.Generator,
) -> Figure | None:
    """A measure of one group with its jackknife, or its mean over groups drawn again."""
    try:
        if len(groups) == 1:
            return Figure.of(stability.with_error(*of(groups[0]), level=settings.level))
        return _mean([measure(scores) for measure, scores in map(of, groups)], settings, rng)
    except StatsError:
        return None


def _mean(values: list[float], settings: CheckSettings, rng: np.random.Generator) -> Figure:
    table = np.column_stack([values, np.ones(len(values))])
    estimate = bootstrap_totals(
        lambda t: t[:, 0] / t[:, 1], table, draws=settings.draws, rng=rng, level=settings.level, unit="group"
    )
    return Figure.of(estimate)


def _triplets(groups: list[Matched], settings: CheckSettings, rng: np.random.Generator) -> list[ProtocolRow]:
    """Triplet separation where items have all three tiers."""
    tiered = [one for one in groups if {0, 1, 2} <= set(one.tiers.tolist())]
    if not tiered:
        return []

    def figure(scores: Callable[[Matched], Floats]) -> Figure | None:
        values = [stability.triplet_separation(scores(one), one.tiers) for one in tiered]
        if len(values) > 1:
            return _mean(values, settings, rng)
        return _plain(values[0], int((tiered[0].tiers >= 0).sum()), "item", "no interval: one group of tiers", settings)

    return [
        ProtocolRow(name="triplet separation", comparisons=figure(lambda g: g.elo), ratings=figure(lambda g: g.ratings))
    ]


_BY_PAIR: dict[str, Callable[[outcomes.OutcomeAgreement], Estimate | float]] = {
    "Fleiss' kappa on the same pairs": lambda agreement: agreement.fleiss.kappa,
    "Krippendorff's alpha (nominal) on the same pairs": lambda agreement: agreement.alpha,
    "unanimous pairs": lambda agreement: agreement.unanimous,
    "pairs with 4 of 5 agreeing": lambda agreement: agreement.supermajority,
    "two raters agree on a pair": lambda agreement: agreement.convergence,
}


def _pairs(groups: list[Matched], settings: CheckSettings, rng: np.random.Generator) -> list[ProtocolRow]:
    """Agreement judgment by judgment, on the pairs that were compared: ratings imply an outcome for each."""
    compared = [_agreement(_compared(one)) for one in groups]
    implied = [_agreement(_implied(one)) for one in groups]
    pairs = len(_pair_index(groups[0])[0])

    def figure(found: list[outcomes.OutcomeAgreement | None], of) -> Figure | None:  # type: ignore[no-untyped-def]
        values = [of(agreement) for agreement in found if agreement is not None]
        if len(values) > 1:
            return _mean([value.value if isinstance(value, Estimate) else value for value in values], settings, rng)
        if values and isinstance(values[0], Estimate):
            return Figure.of(values[0])
        return _plain(values[0], pairs, "pair", "no interval: one group", settings) if values else None

    note = "a rating that ties two items counts as a tie"
    return [
        ProtocolRow(name=name, comparisons=figure(compared, of), ratings=figure(implied, of), note=note)
        for name, of in _BY_PAIR.items()
    ]


def _plain(value: float, n: int, unit: str, method: str, settings: CheckSettings) -> Figure:
    return Figure.of(Estimate(value, None, None, n, unit, settings.level, method))


def _pair_index(one: Matched) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    low, high = np.minimum(one.first, one.second), np.maximum(one.first, one.second)
    key, pair = np.unique(low * one.ratings.shape[1] + high, return_inverse=True)
    return key // one.ratings.shape[1], key % one.ratings.shape[1], pair, one.first == low


def _compared(one: Matched) -> Floats:
    """Outcomes (pairs, raters) as given: 1, 0, -1, NaN where a rater did not meet the pair."""
    low, _, pair, forward = _pair_index(one)
    made = np.full((len(low), len(one.ratings)), np.nan)
    signed = 2 * one.outcome - 1
    made[pair, one.rater] = np.where(forward, signed, -signed)
    return made


def _implied(one: Matched) -> Floats:
    """Outcomes that the same raters' ratings imply on the same pairs, where the rater met the pair."""
    low, high, _, _ = _pair_index(one)
    made = outcomes.induced_outcomes(one.ratings, low, high)
    made[np.isnan(_compared(one))] = np.nan
    return made


def _agreement(table: Floats) -> outcomes.OutcomeAgreement | None:
    try:
        return outcomes.outcome_agreement(table)
    except StatsError:
        return None


def _equal(groups: list[Matched], settings: CheckSettings, rng: np.random.Generator) -> ProtocolRow:
    """Kendall's W when every rater gives no more comparisons than ratings."""
    name = "Kendall's W at equal judgment counts"
    values = []
    for one in groups:
        items = one.ratings.shape[1]
        table = (one.first, one.second, one.outcome, one.rater)
        try:
            values.append(
                stability.equal_judgments(lambda x: kendall_w(x).w, table, items, items, repeats=EQUAL_REPEATS, rng=rng)
            )
        except StatsError:
            return ProtocolRow(
                name=name, comparisons=None, ratings=None, note="a rater gave fewer comparisons than ratings"
            )
    comparisons = Figure.of(values[0]) if len(values) == 1 else _mean([one.value for one in values], settings, rng)
    ratings = _over(groups, lambda one: (lambda x: kendall_w(x).w, one.ratings), settings, rng)
    return ProtocolRow(name=name, comparisons=comparisons, ratings=ratings, note="comparisons thinned at random")
