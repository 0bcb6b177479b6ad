"""The diagnostics that are read off a matched group, alike for both protocols.

Ranks: each rater's ratings, and each rater's Elo ranking of what they compared. Pairs: the outcomes given, and those
that the same raters' ratings imply on the same pairs. Native units: pairs as compared, items as rated; these two have
different labels (three outcomes, the levels of a scale), so their shares are told and never subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from salon.check.protocol_groups import Floats, Ints, Matched
from salon.errors import StatsError
from salon.stats import outcomes, stability
from salon.stats.agreement import supermajority_share, unanimous_share

Values = dict[str, float]
Stacked = dict[str, Floats]
MOST_SIGNS = 4_000_000
"""Signs of item pairs held at once: 32 MB."""


@dataclass(frozen=True)
class Measure:
    """One row of the table."""

    name: str
    better: int = 1
    """1: more is better; -1: less is; 0: the two protocols cannot be compared on it."""
    note: str | None = None


_INDUCED = "a rating that ties two items counts as a tie"
_NATIVE = "descriptive only: three outcomes of a pair against the levels of a scale"
MEASURES = {
    "w": Measure("Kendall's W", note="agreement among the raters; no reference ranking enters"),
    "split_half": Measure("split-half Spearman"),
    "triplets": Measure("triplet separation", note="groups whose items have all three tiers"),
    "accuracy": Measure("to-consensus pairwise accuracy"),
    "rho": Measure("two raters' Spearman"),
    "tau": Measure("two raters' Kendall tau-b"),
    "displacement": Measure("mean rank displacement (lower is better)", -1),
    "displacement_sd": Measure("spread of rank displacement over raters (lower is better)", -1),
    "least": Measure("least agreeing rater's Spearman to the consensus"),
    "most": Measure("most agreeing rater's Spearman to the consensus"),
    "left_out": Measure("leave-one-rater-out Spearman"),
    "left_out_top": Measure("leave-one-rater-out top-10 overlap"),
    "one": Measure("one rater against all, Spearman"),
    "three": Measure("three raters against all, Spearman"),
    "kappa": Measure("Fleiss' kappa on the same pairs", note=_INDUCED),
    "alpha": Measure("Krippendorff's alpha (nominal) on the same pairs", note=_INDUCED),
    "unanimous": Measure("unanimous pairs", note=_INDUCED),
    "four_of_five": Measure("pairs with 4 of 5 agreeing", note=_INDUCED),
    "convergence": Measure("two raters agree on a pair", note=_INDUCED),
    "native_unanimous": Measure("unanimous in the protocol's own unit", 0, _NATIVE),
    "native_four_of_five": Measure("4 of 5 agreeing in the protocol's own unit", 0, _NATIVE),
}
JUDGED = ("kappa", "alpha", "unanimous", "four_of_five", "convergence", "native_unanimous", "native_four_of_five")


def measured(one: Matched) -> Floats:
    """(2, measures) under comparisons and under ratings; NaN where a measure is undefined."""
    return np.asarray(_measured(one, np.ones((1, len(one.items)), bool))[0])


def folds(one: Matched) -> Floats:
    """(items, 2, measures) the same without each of the items."""
    keep = ~np.eye(len(one.items), dtype=bool)
    block = max(1, MOST_SIGNS // (len(one.ratings) * len(one.items) ** 2))
    return np.concatenate([_measured(one, keep[start : start + block]) for start in range(0, len(keep), block)])


def _measured(one: Matched, keep: NDArray[np.bool_]) -> Floats:
    """(choices, 2, measures) for each choice of items to keep, (choices, items), all of one size."""
    pairs, levels = _pairs(one), _levels(one.ratings)
    met = [items[pairs.first] & items[pairs.second] for items in keep]
    compared = [_judged(pairs.compared[rows]) | _native(pairs.compared[rows]) for rows in met]
    rated = [_judged(pairs.implied[rows]) | _native(levels[items]) for rows, items in zip(met, keep)]
    made = []
    for scores, judged in ((one.elo, compared), (one.ratings, rated)):
        values = _ranked(_kept(scores, keep)) | _triplets(scores, one.tiers, keep)
        values |= {name: np.array([found.get(name, np.nan) for found in judged]) for name in JUDGED}
        made.append([values.get(name, np.full(len(keep), np.nan)) for name in MEASURES])
    return np.moveaxis(np.array(made), 2, 0)


def _kept(scores: Floats, keep: NDArray[np.bool_]) -> Floats:
    """(choices, raters, items kept)"""
    places = np.nonzero(keep)[1].reshape(len(keep), -1)
    return np.moveaxis(scores[:, places], 0, 1)


# -- ranks -------------------------------------------------------------------------------------------------------


def _ranked(scores: Floats) -> Stacked:
    """Each measure of every table of a stack; those that are undefined for one of them are left out."""
    raters = scores.shape[-2]
    groups: list[tuple[tuple[str, ...], Callable[[], Sequence[Floats]]]] = [
        (("w",), lambda: [stability.kendall_ws(scores)]),
        (("split_half",), lambda: [stability.split_half(scores, _splits(raters))]),
        (("accuracy",), lambda: [stability.consensus_accuracy(scores)]),
        (("rho", "tau"), lambda: stability.rater_correlation(scores)),
        (("displacement", "displacement_sd", "least", "most"), lambda: stability.rank_displacement(scores)),
        (("left_out", "left_out_top"), lambda: stability.leave_one_rater_out(scores)[:2]),
        (("one",), lambda: [stability.k_of_raters(scores, 1, rng=_fixed()).rho]),
        (("three",), lambda: [stability.k_of_raters(scores, 3, rng=_fixed()).rho] if raters > 3 else []),
    ]
    found: Stacked = {}
    for names, values in groups:
        with suppress(StatsError):
            found |= dict(zip(names, values()))
    return found


def _triplets(scores: Floats, tiers: Ints, keep: NDArray[np.bool_]) -> Stacked:
    try:
        return {"triplets": np.array([stability.triplet_separation(scores[:, k], tiers[k]) for k in keep])}
    except StatsError:
        return {}


@cache
def _splits(raters: int) -> list[tuple[stability.Camp, stability.Camp]]:
    return stability.half_splits(raters, rng=_fixed())


def _fixed() -> np.random.Generator:
    """The same panels for both protocols and every fold."""
    return np.random.default_rng(0)


# -- judgments ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pairs:
    """Pairs that were compared, and counts (pairs, 3) of second, tie and first: as given, and as ratings imply."""

    first: Ints
    second: Ints
    compared: Ints
    implied: Ints


def _pairs(one: Matched) -> _Pairs:
    n = len(one.items)
    low, high = np.minimum(one.first, one.second), np.maximum(one.first, one.second)
    key, pair = np.unique(low * n + high, return_inverse=True)
    signed = 2 * one.outcome - 1
    compared = np.full((len(key), len(one.ratings)), np.nan)
    compared[pair, one.rater] = np.where(one.first == low, signed, -signed)
    implied = outcomes.induced_outcomes(one.ratings, key // n, key % n)
    implied[np.isnan(compared)] = np.nan  # only where the rater met the pair
    return _Pairs(key // n, key % n, outcomes.outcome_counts(compared), outcomes.outcome_counts(implied))


def _judged(counts: Ints) -> Values:
    try:
        found = outcomes.counted_agreement(counts)
    except StatsError:
        return {}
    return {
        "kappa": found.fleiss.kappa.value,
        "alpha": found.alpha.value,
        "unanimous": found.unanimous,
        "four_of_five": found.supermajority,
        "convergence": found.convergence,
    }


def _levels(ratings: Floats) -> Ints:
    """(items, levels) how many raters gave each level."""
    return np.stack([(ratings == level).sum(axis=0) for level in np.unique(ratings)], axis=1)


def _native(counts: Ints) -> Values:
    try:
        return {"native_unanimous": unanimous_share(counts), "native_four_of_five": supermajority_share(counts)}
    except StatsError:
        return {}
