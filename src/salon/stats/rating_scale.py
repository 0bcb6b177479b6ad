"""Rating anchors, and the curve from latent scores to the rating scale.

Rating anchors are the items whose ratings agree best, a few at each inner level of the scale. An item's level is the
mark nearest to its mean rating; the marks are low, the `levels` and high. Levels default to 1/4, 1/2 and 3/4 of the
scale: 2, 3, 4 on a 1-5 scale, where "nearest mark" is "rounded mean"; 25, 50, 75 on 0-100. A mean halfway between two
marks belongs to the upper one (2.5 is level 3; banker's rounding would make it 2). Items at the lowest and highest mark
serve nowhere: ratings there are cut off.

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
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from salon.errors import BadValue, NotConverged, NotIdentified, TooFew
from salon.stats.rating_models import RatingData, rating_centers

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
    _check_scale(low, high)
    if levels is None:
        anchor_levels = np.asarray(low + (high - low) * np.array([0.25, 0.5, 0.75]))
    else:
        values = np.asarray(levels, dtype=np.float64)
        marks = np.concatenate([[low], values, [high]])
        if values.ndim != 1 or not len(values) or not (np.diff(marks) > 0).all():
            raise BadValue(f"levels rise, strictly between {low:g} and {high:g}", found=list(levels))
        anchor_levels = values
    if each < 1:
        raise BadValue("at least one rating anchor for each level is needed", found=each)
    data = RatingData.of(item, rater, value, items, int(np.max(rater, initial=0)) + 1)
    if data.value.min() < low or data.value.max() > high:
        wrong = data.value[(data.value < low) | (data.value > high)][0]
        raise BadValue(f"ratings lie on the scale from {low:g} to {high:g}", found=wrong)
    n = data.by_item().astype(np.int64)
    rated = np.flatnonzero(n >= 2)
    means, medians = rating_centers(data.item, data.value, items)
    squares = data.by_item((data.value - means[data.item]) ** 2)
    n, means, medians, sds = n[rated], means[rated], medians[rated], np.sqrt(squares[rated] / (n[rated] - 1))
    middle = means if center == "mean" else medians
    marks = np.concatenate([[low], anchor_levels, [high]])
    unit = (high - low) / 4  # rounding counts in levels of a 1-5 scale
    level = marks[nearest_mark((middle - low) / unit, (marks - low) / unit)]
    order = np.lexsort((rated, np.round(np.abs(middle - level) / unit, _DECIMALS), np.round(sds / unit, _DECIMALS)))
    chosen = [order[level[order] == mark][:each] for mark in anchor_levels]
    missing = tuple(float(mark) for mark, rows in zip(anchor_levels, chosen) if not len(rows))
    rows = np.concatenate(chosen)
    if not len(rows):
        raise NotIdentified(
            f"rating anchors need items rated twice or more near {', '.join(f'{mark:g}' for mark in anchor_levels)}",
            found=f"none among {len(rated)} items with two raters",
            remedy="ask for more ratings, set other levels, or fuse without rating anchors",
        )
    return RatingAnchors(rated[rows], level[rows], means[rows], medians[rows], sds[rows], n[rows], missing, center)


def nearest_mark(x: ArrayLike, marks: ArrayLike) -> Ints:
    """Index of the mark nearest to each x, marks rising; halfway belongs to the upper mark."""
    m = np.asarray(marks, dtype=np.float64)
    halfway = np.round((m[:-1] + m[1:]) / 2, _DECIMALS)
    index = np.searchsorted(halfway, np.round(np.asarray(x, dtype=np.float64), _DECIMALS), side="right")
    return np.asarray(index, dtype=np.int64)


# -- the curve to the rating scale -------------------------------------------------------------------------------------


_AT_END = 1e-6  # s(1-s) of a fitted score that has reached an end


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """A rising curve from latent scores to a rating scale."""

    a: float
    """Steepness, above 0, per unit of q."""
    b: float
    low: float
    high: float
    residual: float | None
    """Root mean square distance of the targets from the curve, on the rating scale; None where none were fitted."""
    n: int
    """Points fitted; of the min-max curve the number of q."""
    covariance: Floats | None = None
    """(2, 2) of (a, b) by the sandwich; None where two points or none were fitted."""

    def apply(self, q: ArrayLike) -> Floats:
        """Scores on the rating scale."""
        return np.asarray(self.low + (self.high - self.low) * self._share(q))

    def inverse(self, score: ArrayLike) -> Floats:
        """The q of scores strictly between low and high."""
        share = (np.asarray(score, dtype=np.float64) - self.low) / (self.high - self.low)
        if not ((share > 0) & (share < 1)).all():
            raise BadValue(
                f"only scores between {self.low:g} and {self.high:g}, ends excluded, have a latent score",
                found=np.asarray(score, dtype=np.float64)[~((share > 0) & (share < 1))].flat[0],
            )
        return np.asarray((logit(share) - self.b) / self.a)

    def slope(self, q: ArrayLike) -> Floats:
        """d score / d q: an error of q times this is an error of the score."""
        s = self._share(q)
        return np.asarray((self.high - self.low) * self.a * s * (1 - s))

    def gradient(self, q: ArrayLike) -> Floats:
        """(n, 2): d score / d a and d score / d b."""
        s = self._share(q)
        by_b = (self.high - self.low) * s * (1 - s)
        return np.stack([np.asarray(q, dtype=np.float64) * by_b, by_b], axis=-1)

    def _share(self, q: ArrayLike) -> Floats:
        return np.asarray(expit(self.a * np.asarray(q, dtype=np.float64) + self.b))


def fit_sigmoid(q: ArrayLike, target: ArrayLike, *, low: float, high: float) -> Sigmoid:
    """The curve nearest to the targets in least squares.

    From latent scores to the rating scale: score = low + (high - low) s(a q + b), s(x) = 1 / (1 + exp(-x)), a > 0.

    `fit_sigmoid` finds (a, b) by least squares on the score scale: q are latent scores of rating anchors (pooled over
    groups or of one group), the targets their mean ratings. Latent scores are standardised for the search; it starts
    from the regression of the targets' logits (ends moved in by 1% of the scale) and from two fixed slopes, and keeps
    the best. Errors of (a, b) by the sandwich (J'J)^-1 J' diag(r²) J (J'J)^-1 n/(n-2), J the n x 2 gradient of the
    scores: right also when the targets' noise differs. Two points fit exactly and leave no error: covariance None.

    `min_max_sigmoid` uses no ratings: score = low + (high - low) s(c (q - qmin)/(qmax - qmin) - c/2), steepness c = 6.
    Its scores never reach the ends: s(±3) = .953 and .047, on a 1-5 scale 1.19 to 4.81.

    Edges, all NotIdentified: fewer than two distinct q or targets; ratings that fall as q rises (a <= 0); targets such
    as 1, 3, 5 in order, which only a step fits (fewer than two fitted scores off the ends: a grows without bound).
    Targets off the scale or not finite: BadValue. Constant q in `min_max_sigmoid`: NotIdentified.

    Source: PPaint 3.3 Eq. 1 (fitted) and 4.1 Eq. 3 (min-max); White 1980 (sandwich).
    """
    x, t = _points(q, target, low, high)
    middle, unit = float(x.mean()), float(x.std())
    z, share = (x - middle) / unit, (t - low) / (high - low)
    slope, shift = _search(z, share)
    fitted = expit(slope * z + shift)
    if slope <= 0:
        raise NotIdentified(
            "ratings must rise with the latent scores",
            found=f"a slope of {slope / unit:.3g} over {len(x)} points",
            remedy="check the direction of the comparisons and the choice of rating anchors",
        )
    if np.sum(fitted * (1 - fitted) > _AT_END) < 2:
        raise NotIdentified(
            "the curve needs two targets off the ends of the scale",
            found="targets that only a step fits",
            remedy="choose rating anchors at inner levels, or use the min-max curve",
        )
    a, b = slope / unit, shift - slope * middle / unit
    residual = float(np.sqrt(np.mean((fitted - share) ** 2))) * (high - low)
    curve = Sigmoid(a, b, float(low), float(high), residual, len(x))
    n = len(x)
    if n == 2:
        sandwich: Floats | None = None
    else:
        J, r = curve.gradient(x), t - curve.apply(x)
        bread = np.linalg.pinv(J)  # (J'J)^-1 J'
        sandwich = np.asarray((bread * r**2) @ bread.T * n / (n - 2))
    return replace(curve, covariance=sandwich)


def min_max_sigmoid(q: ArrayLike, *, low: float, high: float, steepness: float = 6.0) -> Sigmoid:
    """The curve that spreads the observed range of q over s(-steepness/2) to s(steepness/2)."""
    x = np.asarray(q, dtype=np.float64)
    _check_scale(low, high)
    if not (np.isfinite(steepness) and steepness > 0):
        raise BadValue("a steepness above 0 is needed", found=steepness)
    if not x.size:
        raise TooFew("the min-max curve needs latent scores", found="none")
    if not np.isfinite(x).all():
        raise BadValue("latent scores are finite", found=x[~np.isfinite(x)].flat[0])
    least, width = float(x.min()), float(np.ptp(x))
    if width == 0:
        raise NotIdentified(
            "the min-max curve needs two different latent scores",
            found=f"{x.size} equal to {least:g}",
            remedy="there is nothing to spread: the items cannot be told apart",
        )
    a = steepness / width
    return Sigmoid(a, -a * least - steepness / 2, float(low), float(high), None, x.size)


def _search(z: Floats, share: Floats) -> tuple[float, float]:
    """The least-squares slope and shift on standardised q, best of three starts."""
    from scipy.optimize import least_squares

    def rest(x: Floats) -> Floats:
        return np.asarray(expit(x[0] * z + x[1]) - share)

    def jacobian(x: Floats) -> Floats:
        s = expit(x[0] * z + x[1])
        return np.stack([z * s * (1 - s), s * (1 - s)], axis=1)

    logits = logit(np.clip(share, 0.01, 0.99))
    slope = float(z @ logits / (z @ z))  # z has mean 0
    starts = [(slope, float(logits.mean())), (1.0, float(logits.mean())), (4.0, 0.0)]
    fits = [
        least_squares(rest, start, jac=jacobian, method="lm", xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=2000)
        for start in starts
    ]
    best = min(fits, key=lambda f: float(f.cost))
    if best.status <= 0:
        raise NotConverged("the calibration curve did not settle", found=best.message, remedy="add rating anchors")
    return float(best.x[0]), float(best.x[1])


def _points(q: ArrayLike, target: ArrayLike, low: float, high: float) -> tuple[Floats, Floats]:
    x, t = np.asarray(q, dtype=np.float64), np.asarray(target, dtype=np.float64)
    _check_scale(low, high)
    if x.ndim != 1 or x.shape != t.shape:
        raise BadValue("latent scores and targets must be equally long", found=f"{x.shape} and {t.shape}")
    if not (np.isfinite(x).all() and np.isfinite(t).all()):
        raise BadValue("latent scores and targets are finite numbers", found="NaN or infinity")
    if t.size and (t.min() < low or t.max() > high):
        raise BadValue(f"targets lie on the scale from {low:g} to {high:g}", found=t[(t < low) | (t > high)][0])
    for values, kind in ((x, "latent scores"), (t, "targets")):
        if len(np.unique(values)) < 2:
            raise NotIdentified(
                f"a calibration curve needs two different {kind}",
                found=f"{len(values)} points with {len(np.unique(values))} value(s)",
                remedy="pool the rating anchors of all groups, or use the min-max curve",
            )
    return x, t


def _check_scale(low: float, high: float) -> None:
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise BadValue("a scale needs a low end below its high end", found=f"{low} and {high}")
