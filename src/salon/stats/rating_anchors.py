"""Rating anchors: the items whose ratings agree best, a few at each inner level of the scale.

An item's level is the mark nearest to its mean rating; the marks are low, the `levels` and high. Levels default to
1/4, 1/2 and 3/4 of the scale: 2, 3, 4 on a 1-5 scale, where "nearest mark" is "rounded mean"; 25, 50, 75 on 0-100.
A mean halfway between two marks belongs to the upper one (2.5 is level 3; banker's rounding would make it 2). Items
at the lowest and highest mark serve nowhere: ratings there are cut off.

At each level the `each` items with the lowest standard deviation over raters (n - 1) are taken; ties go to the mean
nearer to the level, then to the lower item number. Both are compared to nine decimals of a quarter of the scale, so
that rounding in the last bit does not decide. Items of fewer than two raters have no standard deviation and are passed
over.

PPaint takes the mean in section 3.3 and the median in C.2: `center` says which one decides the level and is the target.

Edges: levels without a candidate are listed in `missing_levels`; no candidate at any level is NotIdentified. With few
raters a low standard deviation is partly luck: of items with equal noise the chosen ones look surer than they are.

Source: PPaint 3.3 and appendix C.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, NotIdentified
from salon.stats.rating_models import Ratings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Center = Literal["mean", "median"]

_DECIMALS = 9


@dataclass(frozen=True, slots=True)
class RatingAnchors:
    """The chosen items, by level, then from the surest on."""

    items: Ints
    levels: Floats
    """(anchors,) the level each serves."""
    means: Floats
    medians: Floats
    sds: Floats
    """(anchors,) standard deviation over raters, n - 1."""
    n: Ints
    """(anchors,) raters of each."""
    missing_levels: tuple[float, ...]
    """Levels at which no item could be found."""
    center: Center

    @property
    def targets(self) -> Floats:
        """(anchors,) the ratings that the latent scores are tied to: means, or medians where `center` says so."""
        return self.means if self.center == "mean" else self.medians


def choose_rating_anchors(
    item: ArrayLike,
    rater: ArrayLike,
    value: ArrayLike,
    items: int,
    *,
    low: float,
    high: float,
    levels: Sequence[float] | None = None,
    each: int = 2,
    center: Center = "mean",
) -> RatingAnchors:
    """Up to `each` items for every level, from ratings on the scale low to high (items without ratings may exist)."""
    wanted = _levels(low, high, levels)
    if each < 1:
        raise BadValue("at least one rating anchor for each level is needed", found=each)
    data = Ratings.of(item, rater, value, items, int(np.max(rater, initial=0)) + 1)
    if data.value.min() < low or data.value.max() > high:
        wrong = data.value[(data.value < low) | (data.value > high)][0]
        raise BadValue(f"ratings lie on the scale from {low:g} to {high:g}", found=wrong)
    rated, means, medians, sds, n = _summaries(data)
    middle = means if center == "mean" else medians
    marks = np.concatenate([[low], wanted, [high]])
    unit = (high - low) / 4  # rounding counts in levels of a 1-5 scale
    level = marks[nearest_mark((middle - low) / unit, (marks - low) / unit)]
    order = np.lexsort((rated, np.round(np.abs(middle - level) / unit, _DECIMALS), np.round(sds / unit, _DECIMALS)))
    chosen = [order[level[order] == mark][:each] for mark in wanted]
    missing = tuple(float(mark) for mark, rows in zip(wanted, chosen) if not len(rows))
    rows = np.concatenate(chosen)
    if not len(rows):
        raise NotIdentified(
            f"rating anchors need items rated twice or more near {', '.join(f'{mark:g}' for mark in wanted)}",
            found=f"none among {len(rated)} items with two raters",
            remedy="ask for more ratings, set other levels, or fuse without rating anchors",
        )
    return RatingAnchors(rated[rows], level[rows], means[rows], medians[rows], sds[rows], n[rows], missing, center)


def nearest_mark(x: ArrayLike, marks: ArrayLike) -> Ints:
    """Index of the mark nearest to each x, marks rising; halfway belongs to the upper mark."""
    m = np.asarray(marks, dtype=np.float64)
    halfway = np.round((m[:-1] + m[1:]) / 2, _DECIMALS)
    found = np.searchsorted(halfway, np.round(np.asarray(x, dtype=np.float64), _DECIMALS), side="right")
    return np.asarray(found, dtype=np.int64)


def _summaries(data: Ratings) -> tuple[Ints, Floats, Floats, Floats, Ints]:
    """Items of two raters or more, with mean, median, sd and number of ratings."""
    n = data.by_item().astype(np.int64)
    rated = np.flatnonzero(n >= 2)
    means = data.by_item(data.value) / np.maximum(n, 1)
    squares = data.by_item((data.value - means[data.item]) ** 2)
    first, ranked = np.cumsum(n) - n, data.value[np.lexsort((data.value, data.item))]
    medians = (ranked[(first + (n - 1) // 2)[rated]] + ranked[(first + n // 2)[rated]]) / 2
    return rated, means[rated], medians, np.sqrt(squares[rated] / (n[rated] - 1)), n[rated]


def _levels(low: float, high: float, levels: Sequence[float] | None) -> Floats:
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise BadValue("a scale needs a low end below its high end", found=f"{low} and {high}")
    if levels is None:
        return np.asarray(low + (high - low) * np.array([0.25, 0.5, 0.75]))
    given = np.asarray(levels, dtype=np.float64)
    marks = np.concatenate([[low], given, [high]])
    if given.ndim != 1 or not len(given) or not (np.diff(marks) > 0).all():
        raise BadValue(f"levels rise, strictly between {low:g} and {high:g}", found=list(levels))
    return given
