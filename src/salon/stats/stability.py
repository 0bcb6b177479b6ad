"""Two protocols compared: the same raters and items under ratings and under comparisons.

Each protocol becomes scores (raters, items): ratings as they are, comparisons through one Elo ranking per
rater (`rater_elo`). Every measure is a function of such a table, so both protocols are measured alike:

* kendall_w (in `agreement`), rater_correlation, split_half, triplet_separation, consensus_accuracy,
  rank_displacement, leave_one_rater_out, k_of_raters.

The consensus is the mean of the raters' mid-ranks: free of each rater's use of the scale, and the same rule
for both protocols. `with_error` gives a measure its interval by the jackknife over items (raters are fixed:
the statement is about this panel), `difference` the interval of first minus second on the same items.
Resampling items with replacement would make ties of them, and ties change every rank measure; the jackknife
does not.

Edges: missing scores raise BadValue; fewer than three items or two raters raise TooFew. A rater who ties
every item has no rank correlation: such correlations count as 0 and the rater is visible in `behavior`.
Source: PPaint sections 3.2 and B.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats.elo import elo_scores
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Measure = Callable[[FloatArray], float]
Camp = tuple[int, ...]


class Displacement(NamedTuple):
    """Mean rank distance to the consensus, its spread over raters, and each rater's Spearman to the consensus."""

    mean: float
    spread: float
    rho_low: float
    rho_high: float


class RaterCorrelation(NamedTuple):
    """Mean correlation of two raters' scores over all pairs of raters."""

    rho: float
    """Spearman's, on mid-ranks."""
    tau: float
    """Kendall's tau-b."""


class Stability(NamedTuple):
    """Agreement of a smaller panel's consensus with the whole panel's."""

    rho: float
    top_overlap: float
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
    return np.asarray(stats.rankdata(table(scores), axis=1).mean(axis=0), dtype=np.float64)


def rater_correlation(scores: ArrayLike) -> RaterCorrelation:
    """Mean Spearman and Kendall tau-b over pairs of raters.

    tau-b is the cosine of two raters' signs over all item pairs, so that ties of either leave its scale intact.
    """
    x = table(scores)
    ranks = stats.rankdata(x, axis=1)
    upper = np.triu_indices(x.shape[1], 1)
    signs = np.stack([_signs(row, upper) for row in x])
    return RaterCorrelation(_mean_cosine(ranks - ranks.mean(axis=1, keepdims=True)), _mean_cosine(signs))


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


def split_half(scores: ArrayLike, splits: Sequence[tuple[Camp, Camp]]) -> float:
    """Mean Spearman correlation of the two halves' consensus over `splits` (not stepped up to full length)."""
    ranks = stats.rankdata(table(scores), axis=1)
    return float(np.mean([_rho(ranks[list(a)].mean(axis=0), ranks[list(b)].mean(axis=0)) for a, b in splits]))


def triplet_separation(scores: ArrayLike, tiers: ArrayLike) -> float:
    """Share of all (high, medium, low) triples of items that the consensus puts in strictly that order.

    `tiers` (items,) holds 2 (high), 1 (medium), 0 (low), other values for items outside the tiers.
    """
    tier = np.asarray(tiers)
    rank = consensus(scores)
    low, medium, high = (np.sort(rank[tier == t]) for t in (0, 1, 2))
    if not (len(low) and len(medium) and len(high)):
        found = f"{len(high)} high, {len(medium)} medium, {len(low)} low"
        raise TooFew("triplets need items in all three tiers", found=found)
    above = len(high) - np.searchsorted(high, medium, side="right")
    below = np.searchsorted(low, medium, side="left")
    return float((above * below).sum() / (len(low) * len(medium) * len(high)))


def consensus_accuracy(scores: ArrayLike) -> float:
    """To-consensus pairwise ranking accuracy: share of item pairs a rater orders as the consensus does.

    Pairs the consensus ties are left out; pairs the rater ties count half. The rater is part of the
    consensus.
    """
    x = table(scores)
    upper = np.triu_indices(x.shape[1], 1)
    towards = _signs(consensus(x), upper)
    agree = np.stack([_signs(row, upper) for row in x]) * towards
    if not (towards != 0).any():
        raise TooFew("accuracy needs items that the consensus tells apart", found="every pair is tied")
    return float(((agree[:, towards != 0] + 1) / 2).mean())


def rank_displacement(scores: ArrayLike) -> Displacement:
    """How far raters' ranks lie from the ranks of the consensus."""
    x = table(scores)
    middle = stats.rankdata(consensus(x))
    away = np.abs(stats.rankdata(x, axis=1) - middle).mean(axis=1)
    rho = [_rho(row, middle) for row in x]
    return Displacement(float(away.mean()), float(away.std(ddof=1)), min(rho), max(rho))


def k_of_raters(scores: ArrayLike, k: int, *, rng: np.random.Generator, top: int = 10, at_most: int = 500) -> Stability:
    """Mean Spearman and top-item overlap of panels of k raters against all R; all panels or a seeded sample."""
    x = table(scores)
    raters = len(x)
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
    return _against_whole(x, list(combinations(range(len(x)), len(x) - 1)), top)


def with_error(measure: Measure, scores: ArrayLike, *, level: float = 0.95) -> Estimate:
    """A measure with its jackknife interval over items."""
    x = table(scores)
    return _jackknife(lambda keep: measure(x[:, keep]), x.shape[1], level)


def difference(measure: Measure, first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Estimate:
    """measure(first) - measure(second) on the same items, with its paired jackknife interval."""
    x, y = table(first), table(second)
    if x.shape != y.shape:
        raise BadValue("both protocols need the same raters and items", found=f"{x.shape} and {y.shape}")
    return _jackknife(lambda keep: measure(x[:, keep]) - measure(y[:, keep]), x.shape[1], level)


def equal_judgments(
    measure: Measure,
    comparisons: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
    items: int,
    per_rater: int,
    *,
    repeats: int,
    rng: np.random.Generator,
) -> Estimate:
    """The measure when every rater gives only `per_rater` comparisons (as many as ratings): mean over random
    choices.

    `comparisons` is (first, second, outcome, rater). The interval is the middle 95% of the repeats: the
    chance of the choice alone.
    """
    a, b, o, who = (np.asarray(x) for x in comparisons)
    rows = [np.flatnonzero(who == r) for r in np.unique(who)]
    fewest = min(len(r) for r in rows)
    if per_rater > fewest:
        raise TooFew(f"every rater needs {per_rater} comparisons", found=f"one has {fewest}")
    values = []
    for _ in range(repeats):
        keep = np.concatenate([rng.choice(r, per_rater, replace=False) for r in rows])
        values.append(measure(rater_elo(a[keep], b[keep], o[keep], who[keep], items, rng=rng)))
    low, high = np.quantile(values, [0.025, 0.975])
    method = f"{repeats} random choices of {per_rater} comparisons per rater"
    return Estimate(float(np.mean(values)), float(low), float(high), repeats, "choice", 0.95, method)


def table(scores: ArrayLike) -> FloatArray:
    """Scores as a checked (raters, items) table."""
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2:
        raise BadValue("scores must be a table (raters, items)", found=f"shape {x.shape}")
    if not np.isfinite(x).all():
        rater, item = np.argwhere(~np.isfinite(x))[0]
        raise BadValue(
            "every rater must have scored every item",
            found=x[rater, item],
            where=f"rater {rater}, item {item}",
            remedy="keep the raters and items that are complete, and say how many were left out",
        )
    if x.shape[0] < 2 or x.shape[1] < 3:
        raise TooFew("at least two raters and three items are needed", found=f"{x.shape[0]} and {x.shape[1]}")
    return x


def _against_whole(x: FloatArray, panels: list[Camp], top: int) -> Stability:
    ranks = stats.rankdata(x, axis=1)
    whole = ranks.mean(axis=0)
    parts = [ranks[list(panel)].mean(axis=0) for panel in panels]
    overlap = [_top_overlap(part, whole, min(top, x.shape[1])) for part in parts]
    return Stability(float(np.mean([_rho(part, whole) for part in parts])), float(np.mean(overlap)), len(panels))


def _jackknife(statistic: Callable[[IntArray], float], items: int, level: float) -> Estimate:
    whole = statistic(np.arange(items))
    if items < 4:
        return Estimate(whole, None, None, items, "item", level, "no interval: fewer than four items")
    parts = np.array([statistic(np.delete(np.arange(items), i)) for i in range(items)])
    error = np.sqrt((items - 1) / items * ((parts - parts.mean()) ** 2).sum())
    half = float(stats.norm.ppf((1 + level) / 2) * error)
    return Estimate(whole, whole - half, whole + half, items, "item", level, "jackknife over items")


def _rho(x: FloatArray, y: FloatArray) -> float:
    a, b = stats.rankdata(x), stats.rankdata(y)
    a, b = a - a.mean(), b - b.mean()
    length = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / length) if length > 0 else 0.0


def _mean_cosine(rows: FloatArray) -> float:
    """Mean over pairs of rows of their cosine, 0 where a row is empty of differences."""
    length = np.sqrt((rows**2).sum(axis=1))
    unit = rows / np.where(length > 0, length, 1)[:, None]
    return float((unit @ unit.T)[np.triu_indices(len(rows), 1)].mean())


def _top_overlap(x: FloatArray, y: FloatArray, top: int) -> float:
    """Expected overlap of the two top sets when ties at the edge are broken at random."""
    return float(_in_top(x, top) @ _in_top(y, top) / top)


def _in_top(x: FloatArray, top: int) -> FloatArray:
    edge = np.sort(x)[-top]
    above, at_edge = x > edge, x == edge
    return np.asarray(above + at_edge * ((top - above.sum()) / at_edge.sum()), dtype=np.float64)


def _signs(row: FloatArray, upper: tuple[IntArray, IntArray]) -> FloatArray:
    return np.sign(row[upper[0]] - row[upper[1]])
