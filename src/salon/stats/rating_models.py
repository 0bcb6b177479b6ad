"""Scores from ratings: means, medians, z-scores, shrunken means; and moderated variances.

y_ri is the rating of item i by rater r, q_i the item's score, b_r the rater's offset, e_ri the rest:

    y_ri = q_i + b_r + e_ri

A rater rates an item once, so inside an item the raters are the independent units. Between items they are not:
when the same raters rate every item, b_r lifts all scores alike. So there are two errors, and their sum:

* `se`: of score_i - mean(scores), for differences between items, (n_i - 1) degrees of freedom;
* `location_se`: of mean(scores), the overall level, R - 1 degrees of freedom;
* `absolute_se`: of score_i on the rating scale, `absolute_df` by Welch and Satterthwaite.

Mean, every rater rating every item: with residuals e'_ri = y_ri - mean_i - mean_r + mean,

    se_i² = sum_r e'_ri² / ((R-1) R),   location_se² = var(rater means) / R,   absolute_se² = se² + location_se²

and for the difference of two items the paired t test, sum_r (e'_ri - e'_rj)² / ((R-1) R) with R - 1 degrees of freedom:
the errors of score_i - mean(scores) hang together, and adding two se² would give 1 - 1/I of it. se_i² and location_se²
are each unbiased for their variance (the level's error is not let below that of raters without offsets). With ratings
missing, offsets do not cancel between items: se_i² is the plain sd_i² / n_i, which holds them, and absolute_se = se;
where raters overlap this is too wide for differences, and `rater_effects` is the better method. Median: the plain
error times sqrt(pi/2), the normal-theory ratio for many raters (from 3 on; the median of 1 or 2 is their mean).
Offsets are not removed from it: too wide for differences.

z-scores (ITU-R BT.500): z_ri = (y_ri - mean_r) / sd_r, score_i = M + S mean_i(z) with M and S the mean and sd of all
ratings (sd with n - 1 throughout). It assumes that every rater saw comparable items. S holds the spread of offsets, so
the scores are spread a little wider than the rating means.

An item of one rating, or one on which the raters leave no spread at all, has no spread of its own: it takes the
spread pooled over all items, sum of squares / sum of (n_i - 1), and is marked in `borrowed`. `spread="pooled"` does so
for every item: steadier with few raters, right if items are equally hard to rate. A pair on which all raters differ
by the same amount has no spread either, and takes 2 / R of the pooled variance of one rating.

Edges: an item or rater without ratings, one rater, or one rating for each item: TooFew. A rater twice on one item:
DuplicateJudgment. Raters who agree exactly on every item leave no error to give: NotIdentified (never an error of 0).
A rater who gives one value only has no z-scores: NotIdentified.

Source: ITU-R BT.500-15 (mean opinion scores, normalisation by rater); Searle, Casella, McCulloch 1992 (two-way
layouts).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, polygamma

from salon.errors import BadValue, DuplicateJudgment, NotIdentified, TooFew
from salon.stats.pair_fit import Convergence
from salon.stats.roots import bracketed_root

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Spread = Literal["item", "pooled"]

_FEW_ITEMS = 5  # z-scores of so few items are far from normal
_MEDIAN = np.sqrt(np.pi / 2)
_NO_SPREAD = 1e-9  # a sd below this share of the largest value is rounding
MOST_PAIRED = 2_000
"""Items up to which the differences of all pairs are given."""
LARGEST_RATING = 1e20
"""Either way; beyond it, powers of ratings leave the range of numbers."""


@dataclass(frozen=True, slots=True)
class RatingFit:
    """Scores of items from ratings, with errors that are never zero."""

    scores: Floats
    """(items,) on the rating scale."""
    se: Floats
    """(items,) error of score_i - mean(scores)."""
    df: Floats
    """(items,) degrees of freedom of `se`."""
    location_se: float
    """Error of mean(scores): another panel would have rated higher or lower as a whole."""
    location_df: int
    absolute_se: Floats
    """(items,) error of score_i on the rating scale, for a new panel of raters of the same kind."""
    absolute_df: Floats
    """(items,) its degrees of freedom."""
    n: Ints
    """(items,) ratings of each item."""
    method: str
    errors: str
    """How the errors were made."""
    borrowed: Bools
    """(items,) whether `se` rests on the spread pooled over items."""
    offset: Floats | None = None
    """(raters,) how much higher a rater rates than the panel."""
    scale: Floats | None = None
    """(raters,) how much wider a rater spreads the items; mean 1."""
    differences: Floats | None = None
    """(items, items) variances of score_i - score_j, `difference_df` their degrees of freedom; None above MOST_PAIRED
    items."""
    inconsistency: Floats | None = None
    """(raters,) sd of what a rater's ratings leave unexplained."""
    convergence: Convergence | None = None

    @property
    def difference_df(self) -> Floats:
        """(items, items) degrees of freedom of `differences`: those of the less certain item."""
        return np.minimum.outer(self.df, self.df)


@dataclass(frozen=True, slots=True)
class RatingData:
    """Checked ratings in long form: one row for each (item, rater)."""

    item: Ints
    rater: Ints
    value: Floats
    items: int
    raters: int

    @classmethod
    def of(cls, item: ArrayLike, rater: ArrayLike, value: ArrayLike, items: int, raters: int) -> RatingData:
        """The ratings, or the named error that says what is wrong with them."""
        y = np.asarray(value, dtype=np.float64)
        i = _numbers(item, items, len(y), "items")
        r = _numbers(rater, raters, len(y), "raters")
        if not (np.abs(y) <= LARGEST_RATING).all():
            row = int(np.flatnonzero(~(np.abs(y) <= LARGEST_RATING))[0])
            raise BadValue(
                f"ratings are finite numbers, at most {LARGEST_RATING:g} either way",
                found=y[row],
                where=f"rating {row}",
                remedy="leave it out",
            )
        pairs, count = np.unique(i * raters + r, return_counts=True)
        if (count > 1).any():
            twice = int(pairs[count > 1][0])
            raise DuplicateJudgment(
                "a rater rates an item once",
                found=f"{int(count.max())} ratings by one rater",
                where=f"item {twice // raters}, rater {twice % raters}",
                remedy="average a rater's repeats first: they are not independent",
            )
        return cls(i, r, y, items, raters)

    @property
    def complete(self) -> bool:
        """Whether every rater rated every item."""
        return len(self.value) == self.items * self.raters

    def by_item(self, x: Floats | None = None) -> Floats:
        """Sums of `x` (of 1 when absent) over the ratings of each item."""
        return np.bincount(self.item, x, self.items).astype(np.float64)

    def by_rater(self, x: Floats | None = None) -> Floats:
        """Sums of `x` (of 1 when absent) over the ratings of each rater."""
        return np.bincount(self.rater, x, self.raters).astype(np.float64)

    def require_all(self) -> None:
        """Raises TooFew unless there are two raters, and ratings of every item and by every rater."""
        if self.raters < 2:
            raise TooFew("errors of ratings need at least two raters", found=self.raters)
        for count, kind in ((self.by_item(), "item"), (self.by_rater(), "rater")):
            if (count == 0).any():
                raise TooFew(
                    f"every {kind} needs a rating",
                    found=f"none for {kind} {_list_numbers(np.flatnonzero(count == 0))}",
                    remedy=f"number only the {kind}s that have ratings",
                )


def rating_centers(item: NDArray[np.integer], value: Floats, items: int) -> tuple[Floats, Floats]:
    """Mean and median rating of each item, without errors; NaN for items without ratings."""
    n = np.bincount(item, minlength=items)
    rated, first = n > 0, np.cumsum(n) - n
    ranked = value[np.lexsort((value, item))]
    means, medians = np.full(items, np.nan), np.full(items, np.nan)
    means[rated] = np.bincount(item, value, items)[rated] / n[rated]
    medians[rated] = (ranked[(first + (n - 1) // 2)[rated]] + ranked[(first + n // 2)[rated]]) / 2
    return means, medians


def rating_mean(
    item: ArrayLike, rater: ArrayLike, value: ArrayLike, items: int, raters: int, *, spread: Spread = "item"
) -> RatingFit:
    """The mean rating of each item."""
    data = check_ratings(item, rater, value, items, raters)
    n = data.by_item()
    scores = data.by_item(data.value) / n
    crossed = data.complete and items > 1
    rest = data.value - scores[data.item]
    location = _location(data, rest)
    if crossed:
        rest = rest - (data.by_rater(rest) / items)[data.rater]
    sd, df, borrowed = _spreads(data, rest, spread, lost=raters - 1 if crossed else 0)
    se = sd / np.sqrt(n)
    absolute_se, absolute_df = with_level(se, df, location, raters - 1) if crossed else (se, df)
    return RatingFit(
        scores=scores,
        se=se,
        df=df,
        location_se=location,
        location_df=raters - 1,
        absolute_se=absolute_se,
        absolute_df=absolute_df,
        n=n.astype(np.int64),
        method="mean",
        errors="sd/sqrt(n), offsets removed" if crossed else "sd/sqrt(n), offsets not removed: ratings are missing",
        borrowed=borrowed,
        differences=_paired_differences(data, rest, borrowed) if crossed else _separate_differences(se),
    )


def rating_median(
    item: ArrayLike, rater: ArrayLike, value: ArrayLike, items: int, raters: int, *, spread: Spread = "item"
) -> RatingFit:
    """The median rating of each item (of an even number: the mean of the middle two)."""
    data = check_ratings(item, rater, value, items, raters)
    n = data.by_item().astype(np.int64)
    scores = rating_centers(data.item, data.value, items)[1]
    rest = data.value - (data.by_item(data.value) / n)[data.item]
    sd, df, borrowed = _spreads(data, rest, spread, lost=0)
    se = np.where(n > 2, _MEDIAN, 1.0) * sd / np.sqrt(n)
    return RatingFit(
        scores=scores,
        se=se,
        df=df,
        location_se=float(_MEDIAN) * _location(data, rest),
        location_df=raters - 1,
        absolute_se=se,
        absolute_df=df,
        n=n,
        method="median",
        errors="sqrt(pi/2) sd/sqrt(n) from 3 ratings on, offsets not removed",
        borrowed=borrowed,
        differences=_separate_differences(se),
    )


def rating_zscores(
    item: ArrayLike, rater: ArrayLike, value: ArrayLike, items: int, raters: int, *, spread: Spread = "item"
) -> RatingFit:
    """The mean of each rater's z-scores, brought back to the rating scale by the mean and sd of all ratings."""
    data = check_ratings(item, rater, value, items, raters)
    means = data.by_rater(data.value) / data.by_rater()
    sds = _rater_sds(data, means)
    middle, wide = float(data.value.mean()), float(data.value.std(ddof=1))
    z = (data.value - means[data.rater]) / sds[data.rater]
    n = data.by_item()
    z_item = data.by_item(z) / n
    sd, df, borrowed = _spreads(replace(data, value=z), z - z_item[data.item], spread, lost=2 * (raters - 1))
    se = wide * sd / np.sqrt(n)
    location = _location(data, data.value - (data.by_item(data.value) / n)[data.item])
    absolute_se, absolute_df = with_level(se, df, location, raters - 1)
    if data.complete:
        differences = _paired_differences(data, wide * (z - z_item[data.item]), borrowed, floored=items <= _FEW_ITEMS)
    else:
        differences = _separate_differences(se * np.sqrt(items / max(items - 1, 1)))
    return RatingFit(
        scores=middle + wide * z_item,
        se=se,
        df=df,
        location_se=location,
        location_df=raters - 1,
        absolute_se=absolute_se,
        absolute_df=absolute_df,
        n=n.astype(np.int64),
        method="z-scored",
        errors="sd/sqrt(n) of z-scores",
        borrowed=borrowed,
        differences=differences,
        offset=means - means.mean(),
        scale=sds / sds.mean(),
    )


def variances_of_differences(covariance: Floats) -> Floats:
    """(items, items) variances of score_i - score_j from the covariance of the scores."""
    own = covariance.diagonal()
    return np.asarray(own[:, None] + own[None, :] - 2 * covariance)


def _paired_differences(data: RatingData, rest: Floats, borrowed: Bools, *, floored: bool = False) -> Floats | None:
    """Paired t tests of all pairs of items over the raters; `rest`: what items and raters leave, ratings complete.

    `floored`: no variance below the pooled one, for values that are far from normal (z-scores of three items are).
    """
    if data.items > MOST_PAIRED:
        return None
    table = np.zeros((data.items, data.raters))
    table[data.item, data.rater] = rest
    covariance = table @ table.T / ((data.raters - 1) * data.raters)
    pooled = covariance.trace() / max(data.items - 1, 1)  # variance of one item's mean, were all equally hard to rate
    covariance[np.diag_indices(data.items)] += np.where(borrowed, pooled, 0.0)
    squares = variances_of_differences(covariance)
    squares = (
        np.maximum(squares, 2 * pooled) if floored else np.where(squares > _NO_SPREAD * pooled, squares, 2 * pooled)
    )
    np.fill_diagonal(squares, 0.0)
    return squares


def _separate_differences(se: Floats) -> Floats | None:
    """Of scores whose errors do not hang together."""
    return variances_of_differences(np.diag(se**2)) if len(se) <= MOST_PAIRED else None


def with_level(se: Floats, df: Floats, location_se: float, location_df: int) -> tuple[Floats, Floats]:
    """Error of a score on the rating scale from its two independent parts, with Welch and Satterthwaite's df."""
    total = se**2 + location_se**2
    return np.sqrt(total), total**2 / (se**4 / df + location_se**4 / location_df)


def pooled_spread(data: RatingData, rest: Floats) -> tuple[float, float]:
    """Variance of one rating around its item's mean, pooled over items, and its degrees of freedom."""
    sd, df, _ = _spreads(data, rest, "pooled", lost=0)
    return float(sd[0] ** 2), float(df[0])


def _spreads(data: RatingData, rest: Floats, spread: Spread, lost: int) -> tuple[Floats, Floats, Bools]:
    """Sd of one rating of each item, its degrees of freedom, and which items took the pooled one.

    `rest` has lost `lost` further degrees of freedom to the raters, over all items together.
    """
    squares, own = data.by_item(rest**2), data.by_item() - 1
    total = own.sum()
    if total - lost < 1:
        raise TooFew(
            "errors need more ratings than items and raters together",
            found=f"{len(rest)} ratings of {data.items} items by {data.raters} raters",
            remedy="ask more raters for the same items",
        )
    pooled = squares.sum() / total
    floor = (_NO_SPREAD * np.abs(data.value).max()) ** 2
    if pooled <= floor:
        raise NotIdentified(
            "errors need raters who differ",
            found="all raters agree exactly on every item",
            remedy="ask more raters, or report the ratings without errors",
        )
    borrowed = (squares <= floor * own) | (own == 0) if spread == "item" else np.ones(data.items, dtype=np.bool_)
    variance = np.where(borrowed, pooled, squares / np.maximum(own, 1))
    return np.sqrt(variance), np.where(borrowed, total - lost, own), borrowed


def _location(data: RatingData, rest: Floats) -> float:
    """Error of the mean of the item means, raters drawn anew: sum over raters of (their share in it)².

    `rest` is what a rating differs from its item's mean; n/(n-1) makes up for the mean's own degree of freedom. With
    complete ratings this is the sd of rater means over sqrt(R). Items of one rating add the pooled spread. Never less
    than raters without offsets would leave: raters whose means coincide by luck do not make the level certain.
    """
    n = data.by_item()
    weight = np.where(n > 1, np.sqrt(n / np.maximum(n - 1, 1)) / n, 0.0) / data.items
    shares = data.by_rater(rest * weight[data.item])
    pooled = float((rest**2).sum() / max((n - 1).sum(), 1.0))
    clustered = (shares**2).sum() + (n == 1).sum() * pooled / data.items**2
    return float(np.sqrt(max(clustered, pooled * (1 / n).sum() / data.items**2)))


def _rater_sds(data: RatingData, means: Floats) -> Floats:
    n = data.by_rater()
    if (n < 2).any():
        raise TooFew(
            "z-scores need two ratings by every rater", found=f"one by rater {_list_numbers(np.flatnonzero(n < 2))}"
        )
    sds = np.sqrt(data.by_rater((data.value - means[data.rater]) ** 2) / (n - 1))
    flat = np.flatnonzero(sds <= _NO_SPREAD * np.abs(data.value).max())
    if len(flat):
        raise NotIdentified(
            "z-scores need raters who use more than one value",
            found=f"one value only from rater {_list_numbers(flat)}",
            remedy="leave these raters out and say so, or fuse by the mean",
        )
    return sds


def check_ratings(item: ArrayLike, rater: ArrayLike, value: ArrayLike, items: int, raters: int) -> RatingData:
    """Ratings in which every item and rater occurs, two raters at least; the named error where they do not."""
    data = RatingData.of(item, rater, value, items, raters)
    data.require_all()
    return data


def _numbers(values: ArrayLike, size: int, rows: int, kind: str) -> Ints:
    numbers = np.asarray(values)
    if numbers.shape != (rows,):
        raise BadValue("item, rater and value must be equally long", found=f"{numbers.shape} {kind}, {rows} values")
    if rows == 0:
        raise TooFew("at least one rating is needed", found="none")
    if not np.issubdtype(numbers.dtype, np.integer):
        raise BadValue(f"{kind} are numbered by integers", found=numbers.dtype)
    if numbers.min() < 0 or numbers.max() >= size:
        wrong = numbers[(numbers < 0) | (numbers >= size)][0]
        raise BadValue(f"{kind} are numbered 0 to {size - 1}", found=int(wrong))
    return numbers.astype(np.int64)


def _list_numbers(numbers: Ints) -> str:
    first_ten = ", ".join(str(int(x)) for x in numbers[:10])
    return first_ten if len(numbers) <= 10 else f"{first_ten} and {len(numbers) - 10} more"


# -- means drawn to the mean of all items ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RatingShrinkage:
    """How far means are drawn, and to what."""

    center: float
    """m, the level of an item nobody has rated."""
    ratings: float
    """k, the ratings at `center` that every item is given."""
    within: float
    """s2."""
    center_variance: float


def rating_shrunken_means(item: ArrayLike, rater: ArrayLike, value: ArrayLike, items: int, raters: int) -> RatingFit:
    """The mean rating of each item, drawn to the mean of all items by the number of its ratings.

    Means of ratings where some items have hundreds and others one: drawn to the mean of all by their number.

    Model. y_ij = m + u_i + e_ij, u_i of variance t2 over items, e_ij of variance s2 within an item. The best linear
    guess of an item's level is

        score_i = (n_i mean_i + k m) / (n_i + k),    k = s2 / t2,

    as if every item had k ratings more, all at m. s2 is pooled within items; t2 comes from the squares between items
    (their expectation is (items - 1) s2 + (N - sum n_i^2 / N) t2), never below s2 / N, so that k is at most the number
    N of all ratings; m weights item means by 1 / (t2 + s2 / n_i).

    Errors. The variance of u_i given the ratings, s2 / (n_i + k), and what m may be off, (k / (n_i + k))^2 var(m).
    Intervals cover over items: 95% of those of a catalogue, not each single item's, whose score is off by design.
    Raters' offsets stay in, as ratings are missing. Edges: as `rating_mean`. Source: Efron & Morris 1975; Robinson 1991
    (BLUP); Searle, Casella & McCulloch 1992 for the moments.
    """
    data = check_ratings(item, rater, value, items, raters)
    n = data.by_item()
    means = data.by_item(data.value) / n
    variance, df = pooled_spread(data, data.value - means[data.item])
    how = fit_rating_shrinkage(data, means, variance)
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
        differences=_shrunken_differences(spread, own, how) if items <= MOST_PAIRED else None,
    )


def fit_rating_shrinkage(data: RatingData, means: Floats, within: float) -> RatingShrinkage:
    """By moments from the means and the variance within items."""
    n, N = data.by_item(), len(data.value)
    squares = float((n * (means - data.value.mean()) ** 2).sum())
    effective = N - float((n**2).sum()) / N
    between = (squares - (data.items - 1) * within) / effective if effective > 0 else 0.0
    between = max(between, within / N)
    weight = 1 / (between + within / n)
    center = float((weight * means).sum() / weight.sum())
    return RatingShrinkage(center, within / between, within, float(1 / weight.sum()))


def _shrunken_differences(spread: Floats, own: Floats, how: RatingShrinkage) -> Floats:
    """(items, items) variances of score_i - score_j around the items' levels."""
    squares = np.add.outer(spread, spread) + np.subtract.outer(own, own) ** 2 * how.center_variance
    np.fill_diagonal(squares, 0.0)
    return np.asarray(squares)


# -- moderated variances -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModeratedVariances:
    """Variances after lending and borrowing."""

    variance: Floats
    df: float
    prior_variance: float
    prior_df: float
    """How alike the items are: infinite when nothing speaks against one variance for all."""


def moderated_variances(variance: ArrayLike, df: float) -> ModeratedVariances:
    """The moderated form of `variance` (items,), each estimated with `df` degrees of freedom.

    Many variances, each from a handful of values: lend each the strength of all (moderated variances).

    Model: item i has a true variance sigma_i^2; its estimate s_i^2 from d degrees of freedom follows

        s_i^2 ~ sigma_i^2 chi^2_d / d,        1 / sigma_i^2 ~ chi^2_d0 / (d0 s0^2)

    so that true variances scatter around s0^2, the less the larger d0. Given s_i^2, the best guess and its freedom are

        (d0 s0^2 + d s_i^2) / (d0 + d),       d0 + d

    and a value over the root of that guess follows a t law with d0 + d degrees of freedom. d0 and s0^2 come from the
    mean and variance of log s_i^2: with e_i = log s_i^2 - psi(d/2) + log(d/2),

        psi'(d0/2) = var(e) - psi'(d/2)                 (d0 is infinite where that is not above zero)
        log s0^2 = mean(e) + psi(d0/2) - log(d0/2)

    Assumptions: estimates of different items are independent given the true variances, or nearly so (a variance that
    all items share, such as a panel's overall level, must be taken out first). A variance of zero is no variance but
    values too coarse to show one (five raters, one rating): it teaches nothing about the others, and borrows from them.
    Edges: fewer than two positive variances, negative or NaN ones, d below 1: BadValue or TooFew. Source: Smyth 2004,
    Linear models and empirical Bayes methods (limma), section 6.
    """
    s2 = np.asarray(variance, dtype=np.float64)
    if not (np.isfinite(s2).all() and (s2 >= 0).all()):
        raise BadValue("variances are finite and not negative", found=s2[~(np.isfinite(s2) & (s2 >= 0))][0])
    if s2.ndim != 1 or np.sum(s2 > 0) < 2:
        raise TooFew("at least two positive variances are needed to learn how they scatter", found=int(np.sum(s2 > 0)))
    if not df >= 1:
        raise BadValue("a variance needs at least one degree of freedom", found=df)
    e = np.log(s2[s2 > 0]) - digamma(df / 2) + np.log(df / 2)
    excess = float(np.var(e, ddof=1) - polygamma(1, df / 2))
    if excess <= 0:
        shared = float(np.exp(e.mean()))
        return ModeratedVariances(np.full(len(s2), shared), np.inf, shared, np.inf)
    ends = 1 / (excess + 1), 1 / excess + np.sqrt(1 / excess) + 1
    d0 = 2 * bracketed_root(lambda y: float(polygamma(1, y)) - excess, *ends)
    s0 = float(np.exp(e.mean() + digamma(d0 / 2) - np.log(d0 / 2)))
    return ModeratedVariances((d0 * s0 + df * s2) / (d0 + df), d0 + df, s0, d0)
