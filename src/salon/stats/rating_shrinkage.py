"""Means of ratings where some items have hundreds and others one: drawn to the mean of all by their number.

Model. y_ij = m + u_i + e_ij, u_i of variance t2 over items, e_ij of variance s2 within an item. The best linear guess
of an item's level is

    score_i = (n_i mean_i + k m) / (n_i + k),    k = s2 / t2,

as if every item had k ratings more, all at m. s2 is pooled within items; t2 comes from the squares between items (their
expectation is (items - 1) s2 + (N - sum n_i^2 / N) t2), never below s2 / N, so that k is at most the number N of all
ratings; m weights item means by 1 / (t2 + s2 / n_i).

Errors. The variance of u_i given the ratings, s2 / (n_i + k), and what m may be off, (k / (n_i + k))^2 var(m).
Intervals cover over items: 95% of those of a catalogue, not each single item's, whose score is off by design. Raters'
offsets stay in, as ratings are missing. Edges: as `rating_mean`.
Source: Efron & Morris 1975; Robinson 1991 (BLUP); Searle, Casella & McCulloch 1992 for the moments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from salon.stats.rating_models import MOST_PAIRED, Floats, RatingFit, Ratings, check_ratings, pooled_spread


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """How far means are drawn, and to what."""

    center: float
    """m, the level of an item nobody has rated."""
    ratings: float
    """k, the ratings at `center` that every item is given."""
    within: float
    """s2."""
    center_variance: float


def rating_shrunk(item: ArrayLike, rater: ArrayLike, value: ArrayLike, items: int, raters: int) -> RatingFit:
    """The mean rating of each item, drawn to the mean of all items by the number of its ratings."""
    data = check_ratings(item, rater, value, items, raters)
    n = data.by_item()
    means = data.by_item(data.value) / n
    variance, df = pooled_spread(data, data.value - means[data.item])
    how = shrinkage(data, means, variance)
    own = n / (n + how.ratings)
    scores = own * means + (1 - own) * how.center
    spread = how.within / (n + how.ratings)
    se = np.sqrt(spread + (1 - own) ** 2 * how.center_variance)
    freedom = np.full(items, df)
    return RatingFit(
        scores=scores,
        se=se,
        df=freedom,
        location_se=float(np.sqrt(how.center_variance)),
        location_df=raters - 1,
        absolute_se=se,
        absolute_df=freedom,
        n=n.astype(np.int64),
        method=f"mean, as if every item had {how.ratings:.3g} more ratings at {how.center:.3g}",
        errors="of the item's level given its ratings and those of all items, offsets not removed",
        borrowed=np.ones(items, np.bool_),
        differences=_differences(spread, own, how) if items <= MOST_PAIRED else None,
    )


def shrinkage(data: Ratings, means: Floats, within: float) -> Shrinkage:
    """By moments from the means and the variance within items."""
    n, N = data.by_item(), len(data.value)
    squares = float((n * (means - data.value.mean()) ** 2).sum())
    counted = N - float((n**2).sum()) / N
    between = (squares - (data.items - 1) * within) / counted if counted > 0 else 0.0
    between = max(between, within / N)
    weight = 1 / (between + within / n)
    center = float((weight * means).sum() / weight.sum())
    return Shrinkage(center, within / between, within, float(1 / weight.sum()))


def _differences(spread: Floats, own: Floats, how: Shrinkage) -> Floats:
    """(items, items) variances of score_i - score_j around the items' levels."""
    squares = np.add.outer(spread, spread) + np.subtract.outer(own, own) ** 2 * how.center_variance
    np.fill_diagonal(squares, 0.0)
    return np.asarray(squares)
