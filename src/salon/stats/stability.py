"""Two protocols compared: the same raters and items under ratings and under comparisons.

Each protocol becomes scores (raters, items): ratings as they are, comparisons through one Elo ranking per
rater (`rater_elo`). Every measure is a function of such a table, so both protocols are measured alike, and takes a
stack of tables (..., raters, items) as well, giving one number for each:

* kendall_ws, rater_correlation, split_half, triplet_separation, consensus_accuracy, rank_displacement,
  leave_one_rater_out, k_of_raters.

The consensus is the mean of the raters' mid-ranks: free of each rater's use of the scale, and the same rule
for both protocols. `jackknife_mean` gives the mean of a measure over groups of items its interval: every item
is left out in turn (raters and groups are fixed: the statement is about these panels and these groups). Resampling
items with replacement would make ties of them, and ties change every rank measure; the jackknife does not.

Edges: missing scores raise BadValue; fewer than three items or two raters raise TooFew. A rater who ties
every item has no rank correlation: such correlations count as 0 and the rater is visible in `agreement`. Groups of
fewer than four items, or a measure that is undefined without one of them or moved by none, leave no interval.
Source: PPaint sections 3.2 and B.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from salon.errors import BadValue, TooFew
from salon.stats.elo import elo_scores
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
Measure = Callable[[FloatArray], float]
Camp = tuple[int, ...]


class Displacement(NamedTuple):
    """Mean rank distance to the consensus, its spread over raters, and the raters' Spearman to the consensus."""

    mean: FloatArray
    spread: FloatArray
    rho_low: FloatArray
    rho_high: FloatArray


class RaterCorrelation(NamedTuple):
    """Mean correlation of two raters' scores over all pairs of raters."""

    rho: FloatArray
    """Spearman's, on mid-ranks."""
    tau: FloatArray
    """Kendall's tau-b."""


class Stability(NamedTuple):
    """Agreement of a smaller panel's consensus with the whole panel's."""

    rho: FloatArray
    top_overlap: FloatArray
    panels: int


def rater_elo(
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    rater: ArrayLike,
    items: int,
    *,
    rng: np.random.Generator,
) -> FloatArray:
    """Scores (raters, items): each rater's comparisons turned into an Elo ranking of their own."""
    a, b, o, who = (np.asarray(x) for x in (first, second, outcome, rater))
    raters = np.unique(who)
    return np.stack([elo_scores(a[who == r], b[who == r], o[who == r], items, rng=rng) for r in raters])


def consensus(scores: ArrayLike) -> FloatArray:
    """Mean mid-rank of every item over raters; higher is better, as in the scores."""
    return np.asarray(_ranks(table(scores)).mean(axis=-2))


def kendall_ws(scores: ArrayLike) -> FloatArray:
    """Kendall's W as in `agreement.kendall_w`, ties at their mid-rank; NaN where all raters tie all items."""
    ranks = _centred_ranks(table(scores))
    raters = ranks.shape[-2]
    most = raters * (ranks**2).sum(axis=(-2, -1))
    between = (ranks.sum(axis=-2) ** 2).sum(axis=-1)
    return np.where(most > 0, between / np.where(most > 0, most, 1), np.nan)


def rater_correlation(scores: ArrayLike) -> RaterCorrelation:
    """Mean Spearman and Kendall tau-b over pairs of raters.

    tau-b is the cosine of two raters' signs over all item pairs, so that ties of either leave its scale intact.
    """
    x = table(scores)
    return RaterCorrelation(_mean_cosine(_centred_ranks(x)), _mean_cosine(_signs(x)))


def half_splits(raters: int, *, rng: np.random.Generator, at_most: int = 500) -> list[tuple[Camp, Camp]]:
    """Divisions of the raters into halves (3 + 2 for five): all of them, or a seeded sample of `at_most`."""
    half = raters // 2
    everyone = set(range(raters))
    if comb(raters, half) <= 2 * at_most:
        camps = list(combinations(range(raters), half))
        if raters % 2 == 0:  # each division appears twice: keep those that hold rater 0
            camps = [camp for camp in camps if 0 in camp]
    else:
        camps = [tuple(sorted(rng.permutation(raters)[:half].tolist())) for _ in range(at_most)]
    return [(camp, tuple(sorted(everyone - set(camp)))) for camp in camps]


def split_half(scores: ArrayLike, splits: Sequence[tuple[Camp, Camp]]) -> FloatArray:
    """Mean Spearman correlation of the two halves' consensus over `splits` (not stepped up to full length)."""
    ranks = _ranks(table(scores))
    first, second = (_panel_ranks(ranks, [split[side] for split in splits]) for side in (0, 1))
    return np.asarray(_rhos(first, second).mean(axis=-1))


def triplet_separation(scores: ArrayLike, tiers: ArrayLike) -> float:
    """Share of all (high, medium, low) triples of items that the consensus puts in strictly that order.

    `tiers` (items,) holds 2 (high), 1 (medium), 0 (low), other values for items outside the tiers.
    """
    tier = np.asarray(tiers)
    rank = consensus(scores)
    low, medium, high = (np.sort(rank[tier == t]) for t in (0, 1, 2))
    if not (len(low) and len(medium) and len(high)):
        counts = f"{len(high)} high, {len(medium)} medium, {len(low)} low"
        raise TooFew("triplets need items in all three tiers", found=counts)
    above = len(high) - np.searchsorted(high, medium, side="right")
    below = np.searchsorted(low, medium, side="left")
    return float((above * below).sum() / (len(low) * len(medium) * len(high)))


def consensus_accuracy(scores: ArrayLike) -> FloatArray:
    """To-consensus pairwise ranking accuracy: share of item pairs a rater orders as the consensus does.

    Pairs the consensus ties are left out; pairs the rater ties count half. The rater is part of the
    consensus.
    """
    x = table(scores)
    towards = _signs(consensus(x)[..., None, :])
    told_apart = (towards != 0).sum(axis=(-2, -1))
    if not np.all(told_apart):
        raise TooFew("accuracy needs items that the consensus tells apart", found="every pair is tied")
    right = ((_signs(x) * towards + 1) / 2 * (towards != 0)).sum(axis=(-2, -1))
    return np.asarray(right / (told_apart * x.shape[-2]))


def to_consensus(scores: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Each rater's mean rank distance to the consensus, and Spearman correlation with it; (..., raters) both."""
    x = table(scores)
    middle = _ranks(consensus(x))[..., None, :]
    return np.abs(_ranks(x) - middle).mean(axis=-1), _rhos(x, middle)


def rank_displacement(scores: ArrayLike) -> Displacement:
    """How far raters' ranks lie from the ranks of the consensus."""
    away, rho = to_consensus(scores)
    return Displacement(away.mean(axis=-1), away.std(axis=-1, ddof=1), rho.min(axis=-1), rho.max(axis=-1))


def k_of_raters(scores: ArrayLike, k: int, *, rng: np.random.Generator, top: int = 10, at_most: int = 500) -> Stability:
    """Mean Spearman and top-item overlap of panels of k raters against all R; all panels or a seeded sample."""
    x = table(scores)
    raters = x.shape[-2]
    if not 1 <= k <= raters:
        raise BadValue(f"k lies between 1 and the {raters} raters", found=k)
    if comb(raters, k) <= at_most:
        panels = list(combinations(range(raters), k))
    else:
        panels = [tuple(rng.permutation(raters)[:k].tolist()) for _ in range(at_most)]
    return _against_whole(x, panels, top)


def leave_one_rater_out(scores: ArrayLike, *, top: int = 10) -> Stability:
    """Mean Spearman and top-item overlap of the R panels that lack one rater against all R."""
    x = table(scores)
    raters = x.shape[-2]
    return _against_whole(x, list(combinations(range(raters), raters - 1)), top)


def jackknife_mean(
    wholes: ArrayLike, folds: Sequence[FloatArray], *, level: float = 0.95, unit: str = "item"
) -> Estimate:
    """Mean over groups with its jackknife interval; `folds[g]` holds group g's values without each of its items.

    Variance: sum over groups of (n_g - 1)/n_g sum_i (fold_gi - mean fold_g)^2, over the number of groups squared.
    """
    values = np.asarray(wholes, dtype=np.float64)
    mean, items = float(values.mean()), sum(map(len, folds))
    if min(map(len, folds)) < 4:
        return Estimate(mean, None, None, items, unit, level, "no interval: fewer than four items")
    if not all(np.isfinite(fold).all() for fold in folds):
        return Estimate(mean, None, None, items, unit, level, "no interval: undefined without one of the items")
    squares = [(len(fold) - 1) / len(fold) * ((fold - fold.mean()) ** 2).sum() for fold in folds]
    if not any(np.ptp(fold) > 1e-12 for fold in folds):
        return Estimate(mean, None, None, items, unit, level, "no interval: the same without any one item")
    half = float(ndtri((1 + level) / 2) * np.sqrt(np.sum(squares)) / len(values))
    return Estimate(mean, mean - half, mean + half, items, unit, level, "jackknife over items")


def equal_judgments(
    measure: Measure,
    comparisons: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
    items: int,
    per_rater: int,
    *,
    repeats: int,
    rng: np.random.Generator,
) -> FloatArray:
    """(repeats,) the measure when every rater gives only `per_rater` comparisons (as many as ratings), chosen by lot.

    `comparisons` is (first, second, outcome, rater).
    """
    a, b, o, who = (np.asarray(x) for x in comparisons)
    rows = [np.flatnonzero(who == r) for r in np.unique(who)]
    fewest = min(len(r) for r in rows)
    if per_rater > fewest:
        raise TooFew(f"every rater needs {per_rater} comparisons", found=f"one has {fewest}")
    chosen = (np.concatenate([rng.choice(r, per_rater, replace=False) for r in rows]) for _ in range(repeats))
    return np.array([measure(rater_elo(a[k], b[k], o[k], who[k], items, rng=rng)) for k in chosen])


def table(scores: ArrayLike) -> FloatArray:
    """Scores as a checked table (raters, items), or a stack of such tables."""
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim < 2:
        raise BadValue("scores must be a table (raters, items)", found=f"shape {x.shape}")
    if not np.isfinite(x).all():
        place = tuple(np.argwhere(~np.isfinite(x))[0])
        raise BadValue(
            "every rater must have scored every item",
            found=x[place],
            where=f"rater {place[-2]}, item {place[-1]}",
            remedy="keep the raters and items that are complete, and say how many were left out",
        )
    if x.shape[-2] < 2 or x.shape[-1] < 3:
        raise TooFew("at least two raters and three items are needed", found=f"{x.shape[-2]} and {x.shape[-1]}")
    return x


def _against_whole(x: FloatArray, panels: Sequence[Camp], top: int) -> Stability:
    ranks = _ranks(x)
    parts, whole = _panel_ranks(ranks, panels), ranks.mean(axis=-2, keepdims=True)
    top = min(top, x.shape[-1])
    overlap = (_in_top(parts, top) * _in_top(whole, top)).sum(axis=-1) / top
    return Stability(_rhos(parts, whole).mean(axis=-1), overlap.mean(axis=-1), len(panels))


def _panel_ranks(ranks: FloatArray, panels: Sequence[Camp]) -> FloatArray:
    """(..., panels, items) mean ranks of each panel of raters."""
    member = np.zeros((len(panels), ranks.shape[-2]))
    for row, panel in zip(member, panels):
        row[list(panel)] = 1
    return np.asarray(member @ ranks / member.sum(axis=1)[:, None])  # sums of half ranks are exact: ties stay ties


def _ranks(x: FloatArray) -> FloatArray:
    from scipy import stats

    return np.asarray(stats.rankdata(x, axis=-1), dtype=np.float64)


def _centred_ranks(x: FloatArray) -> FloatArray:
    ranks = _ranks(x)
    return np.asarray(ranks - ranks.mean(axis=-1, keepdims=True))


def _rhos(x: FloatArray, y: FloatArray) -> FloatArray:
    """Spearman correlation of each row of x with the same row of y."""
    return np.asarray((_units(_centred_ranks(x)) * _units(_centred_ranks(y))).sum(axis=-1))


def _units(rows: FloatArray) -> FloatArray:
    """Rows at length 1; rows without differences stay 0, and so does every correlation with them."""
    length = np.sqrt((rows**2).sum(axis=-1, keepdims=True))
    return rows / np.where(length > 0, length, 1)


def _mean_cosine(rows: FloatArray) -> FloatArray:
    """Mean cosine of two rows, over all pairs of rows."""
    unit = _units(rows)
    first, second = np.triu_indices(rows.shape[-2], 1)
    return np.asarray((unit @ np.swapaxes(unit, -1, -2))[..., first, second].mean(axis=-1))


def _in_top(x: FloatArray, top: int) -> FloatArray:
    """Chance of each item to be in the top set when ties at its edge are broken at random."""
    edge = np.sort(x, axis=-1)[..., -top, None]
    above, at_edge = x > edge, x == edge
    left = top - above.sum(axis=-1, keepdims=True)
    return np.asarray(above + at_edge * (left / at_edge.sum(axis=-1, keepdims=True)))


def _signs(x: FloatArray) -> FloatArray:
    """(..., item pairs) 1 where the first item of the pair scores higher, -1 lower, 0 the same."""
    first, second = np.triu_indices(x.shape[-1], 1)
    return np.asarray(np.sign(x[..., first] - x[..., second]))
