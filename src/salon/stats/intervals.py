"""Intervals over prompts: the bootstrap, paired differences of two predictors, score intervals of means.

`bootstrap_totals` and `interval` draw whole prompts again; `paired_difference` compares two predictors on the same
questions; `score_interval` and `bootstrap_interval` give means over prompts, and weighted sums of them, an interval.

The bootstrap is over clusters: whole prompts are drawn again, never single answers.

Model: n clusters (prompts) are a simple random sample; answers inside a cluster may depend on each other in
any way. One draw gives cluster i the weight w_i, w ~ Multinomial(n; 1/n, ..., 1/n), and the statistic is
computed with these weights. The interval holds what lies between two percentiles of the drawn values. BCa (Efron
1987) shifts them by a bias z0 and an acceleration a from the jackknife over clusters.

Percentiles of (1 -+ level)/2 are short for few clusters: draws spread by the variance with denominator n, and that
variance is itself learned from n numbers. So they are expanded (Hesterberg 2015), to those where a normal law has

    -+ q,   q = t_{n-1}^-1((1 + level)/2) sqrt(n/(n-1))

Where draws cannot show so small a tail (at 95%: n < 5; with a thousand draws n = 5 too), the interval is the value
-+ q times the standard deviation of the draws, cut at the ends of what is bounded (`within`).

`bootstrap_totals` is for a statistic of *totals* (sums over clusters of a table of counts). Clusters with equal
rows are exchangeable, so only the number of clusters of each kind is drawn: the law is exactly the same, and a
million prompts with thirty kinds of row cost as much as thirty prompts.

Edges: one cluster has no spread to learn from, so the interval is None. Percentiles without width are never given
either: draws that all say the same are no certainty. A mean over n clusters of numbers in [lo, hi] (`ends`; a share
has 0 and 1) that stands at an end gets the exact bound: a cluster is at hi with a chance of at most (E - lo)/(hi - lo),
n of them all are with at most its n-th power, and so E >= lo + (hi - lo) ((1 - level)/2)^(1/n). For clusters of one
answer this is Clopper & Pearson's (1934); it holds however answers of a cluster depend on each other, if clusters are
of one size. Any other number that draws do not move has no interval, and `method` says why. Draws on which the
statistic is undefined (NaN) are counted in `method`; if more than 5% are undefined there is no interval.

Source: Efron & Tibshirani, An Introduction to the Bootstrap, 1993, chapters 13-14; Field & Welsh 2007 for
clusters; Hesterberg, What Teachers Should Know About the Bootstrap, 2015, for few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Resampling(TypedDict):
    """How an interval is made: given as `**resampling` to what draws again."""

    draws: int
    rng: np.random.Generator
    level: float


Kind = Literal["percentile", "bca"]

_MAX_CELLS = 20_000_000  # weights held at once: 160 MB
_SPARSE = 0.05  # filled share of a table below which only its entries are added
_MAX_PICKED = 20_000  # clusters picked at once: they stay in the cache
_MAX_UNDEFINED = 0.05
_ROUNDING = 1e-12  # sums of equal numbers differ by that much
_AT_END = 1e-9
Ends = tuple[float, float]
SHARE: Ends = (0.0, 1.0)
BOTH_SIDES: Ends = (-1.0, 1.0)
UNBOUNDED: Ends = (-np.inf, np.inf)


def bootstrap_totals(
    statistic: Callable[[FloatArray], FloatArray],
    table: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
    kind: Kind = "percentile",
    unit: str = "prompt",
    ends: Ends | None = None,
    within: Ends = UNBOUNDED,
) -> Estimate:
    """Interval of a statistic of totals.

    `table` is (clusters, m): what each cluster adds to m totals. `statistic` maps totals (draws, m) to
    values (draws,). `ends` of a mean of bounded numbers, such as SHARE, `within` of another statistic; see the module.
    """
    rows, counts = row_kinds(table)
    n = int(counts.sum())
    check_settings(n, draws, level)
    total = (counts @ rows)[None, :]
    value = float(statistic(total)[0])
    if n == 1:
        return Estimate(value, None, None, 1, unit, level, "no interval: one cluster")
    replicates = statistic(draw_totals(rows, counts, draws=draws, rng=rng))
    if kind == "percentile":
        return interval(value, replicates, n=n, unit=unit, level=level, ends=ends, within=within)
    return interval(
        value,
        replicates,
        n=n,
        unit=unit,
        level=level,
        folds=statistic(total - rows),
        fold_counts=counts,
        ends=ends,
        within=within,
    )


def row_kinds(table: ArrayLike) -> tuple[FloatArray, IntArray]:
    """The distinct rows of a (clusters, m) table and how many clusters have each."""
    rows = np.asarray(table)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.size == 0:
        raise TooFew("at least one cluster is needed to resample", found=f"a table of shape {rows.shape}")
    keys = _row_keys(rows)
    if keys is None:
        kinds, counts = np.unique(rows, axis=0, return_counts=True)
        return kinds.astype(float), counts.astype(np.int64)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return rows[first].astype(float), counts.astype(np.int64)


def draw_totals(rows: FloatArray, counts: IntArray, *, draws: int, rng: np.random.Generator) -> FloatArray:
    """Totals (draws, m) of `draws` bootstrap samples of clusters, from distinct rows and their counts."""
    from scipy.sparse import csr_array

    n, kinds = int(counts.sum()), len(counts)
    if np.count_nonzero(rows) < _SPARSE * rows.size:  # tables of many kinds of votes hold one or two of each prompt
        rows = csr_array(rows)
    if kinds > n / 8:  # few equal rows: picking clusters one by one beats one binomial per row
        owner = np.repeat(np.arange(kinds), counts)
        step = max(1, _MAX_PICKED // n)
        return np.concatenate(
            [_pick_counts(owner, kinds, min(step, draws - start), rng) @ rows for start in range(0, draws, step)]
        )
    step = max(1, _MAX_CELLS // kinds)
    out = np.empty((draws, rows.shape[1]))
    for start in range(0, draws, step):
        stop = min(start + step, draws)
        out[start:stop] = rng.multinomial(n, counts / n, size=stop - start) @ rows
    return out


def _pick_counts(owner: IntArray, kinds: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """How often each kind of row is picked in each draw, (draws, kinds)."""
    kind = owner[rng.integers(0, len(owner), (draws, len(owner)))]
    kind += kinds * np.arange(draws)[:, None]
    return np.bincount(kind.ravel(), minlength=draws * kinds).reshape(draws, kinds).astype(float)


def interval(
    value: float,
    replicates: FloatArray,
    *,
    n: int,
    unit: str,
    level: float = 0.95,
    folds: FloatArray | None = None,
    fold_counts: IntArray | None = None,
    ends: Ends | None = None,
    within: Ends = UNBOUNDED,
    behind: int | None = None,
) -> Estimate:
    """Percentile interval of the drawn values, or BCa if the jackknife `folds` are given.

    `ends` are those of a mean of bounded numbers, `within` those of any other statistic, `behind` the clusters that it
    rests on where they are not all n.
    """
    from scipy.special import ndtr

    defined = replicates[~np.isnan(replicates)]
    undefined = len(replicates) - len(defined)
    method = f"{'BCa ' if folds is not None else ''}bootstrap of {unit}s, {len(replicates)} draws"
    if undefined:
        method += f" ({undefined} undefined, left out)"
    if undefined > _MAX_UNDEFINED * len(replicates):
        return Estimate(value, None, None, n, unit, level, f"no interval: {method}")
    resting = n if behind is None else max(2, behind)
    q = expanded_quantile(resting, level)
    smallest = max(1 / len(defined), float(resting) ** -resting)  # tails: one draw; one cluster drawn n times
    if ndtr(-q) < smallest and np.ptp(defined) > 0:
        low, high = np.clip([value - q * defined.std(), value + q * defined.std()], *(ends or within))
        method = f"t interval of the {method}"
    else:
        at = np.array([-q, q]) if folds is None else _bca_shift(np.array([-q, q]), value, defined, folds, fold_counts)
        low, high = np.quantile(defined, ndtr(at), method="inverted_cdf")
    return with_width(Estimate(value, float(low), float(high), n, unit, level, method), ends, behind)


def expanded_quantile(n: int, level: float) -> float:
    """q: how far out, in standard deviations of a normal law, the percentiles of draws of n clusters are read."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + level) / 2)) * float(np.sqrt(n / (n - 1)))


def with_width(estimate: Estimate, ends: Ends | None = None, behind: int | None = None) -> Estimate:
    """The same where its interval has a width; else with the exact bound, or with none: see the module."""
    if (
        estimate.low is None
        or estimate.high is None
        or estimate.high - estimate.low > _ROUNDING * max(1.0, abs(estimate.value))
    ):
        return estimate
    alike = estimate.n if behind is None else behind
    if ends is None or alike < 2 or not np.isclose(estimate.value, ends, rtol=0, atol=_AT_END).any():
        return replace(estimate, low=None, high=None, method=f"no interval: no width in {estimate.method}")
    low, high = exact_bound(alike, estimate.level, at_high=estimate.value > sum(ends) / 2, ends=ends)
    return replace(estimate, low=low, high=high, method=f"exact bound for {alike} {estimate.unit}s alike")


def exact_bound(n: int, level: float, *, at_high: bool, ends: Ends = SHARE) -> tuple[float, float]:
    """The interval of a mean of n numbers between `ends` that all stand at the high end, or at the low one."""
    reach = (ends[1] - ends[0]) * ((1 - level) / 2) ** (1 / n)
    return (ends[0] + reach, ends[1]) if at_high else (ends[0], ends[1] - reach)


def ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """top/bottom, NaN where nothing is left in the denominator."""
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.nan)


def check_settings(clusters: int, draws: int, level: float) -> None:
    """Refuse settings that no bootstrap can use."""
    if clusters < 1:
        raise TooFew("at least one cluster is needed to resample", found=clusters)
    if draws < 100:
        raise BadValue("a bootstrap interval needs at least 100 draws", found=draws, remedy="draws=2000")
    if not 0 < level < 1:
        raise BadValue("a confidence level lies between 0 and 1", found=level, remedy="level=0.95")


def _bca_shift(
    at: FloatArray, value: float, replicates: FloatArray, folds: FloatArray, counts: IntArray | None
) -> FloatArray:
    """Where BCa reads the draws instead of `at`, both in standard deviations of a normal law."""
    from scipy.special import ndtri

    below = np.mean(replicates < value) + np.mean(replicates == value) / 2
    # A statistic at its own extreme has no finite bias correction: half a draw keeps it finite.
    z0 = ndtri(np.clip(below, 0.5 / len(replicates), 1 - 0.5 / len(replicates)))
    weights = np.ones(len(folds)) if counts is None else counts
    away = np.average(folds, weights=weights) - folds
    spread = float(weights @ away**2)
    acceleration = float(weights @ away**3) / (6 * spread**1.5) if spread > 0 else 0.0
    z = z0 + at
    return np.asarray(z0 + z / (1 - acceleration * z), dtype=np.float64)


def _row_keys(rows: NDArray[Any]) -> IntArray | None:
    """One integer per row, equal exactly where rows are equal; None where that does not fit 62 bits."""
    keys = np.zeros(len(rows), np.int64)
    product = 1
    for column in rows.T:
        if np.issubdtype(rows.dtype, np.integer):
            code, size = column - column.min(), int(column.max()) - int(column.min()) + 1
        else:
            distinct, code = np.unique(column, return_inverse=True)
            size = len(distinct)
        product *= size
        if product > 2**62:
            return None
        keys = keys * size + code
    return keys


# -- two predictors on the same questions ------------------------------------------------------------------------------


_SAME = 1e-9  # sums of halves are exact, but scores may be any numbers


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """One predictor less another."""

    difference: Estimate
    p: float
    """Two-sided."""
    law: str
    """How p was made, in words."""
    questions: int
    first_only: int
    """Questions on which the first scored higher."""
    second_only: int
    """Questions on which the second scored higher."""


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
    within: Ends = UNBOUNDED,
) -> PairedDifference:
    """Mean score of the first predictor less the second's, with interval and p.

    `within` are the ends of the scale of differences: no interval passes them.

    Two predictors on the same questions: is one better, or was it luck?

    Data: for each question i of cluster (prompt) c a score in [0, 1] of either predictor: 1 right, 0 wrong, 1/2
    undecided.

        difference = mean(first) - mean(second),   D_c = sum over c of (first - second)

    * Interval: whole clusters are drawn again, both predictors together (`salon.stats.intervals`). What makes a
      question hard for both cancels, so it is much narrower than two separate intervals suggest.
    * p: were the predictors alike, each could have stood in the other's place, cluster by cluster: the sign of every
      D_c is a coin. p is the share of sign patterns with |sum| at least that observed, over all 2^k patterns of the k
      clusters with D_c != 0 where these are no more than `draws`, else over `draws` random ones and the observed one.

    `signal_tests.holm` adjusts the p values of a family of such tests.

    Edges: no question TooFew; one cluster has no interval, nor has a difference that is the same in all clusters (one
    of 0 among them); predictors that never differ have p = 1.

    Source: Efron & Tibshirani 1993, chapter 16; Noreen 1989 for approximate randomisation.
    """
    first_scores, second_scores = np.asarray(first, float), np.asarray(second, float)
    labels = np.asarray(clusters)
    if not (first_scores.shape == second_scores.shape == labels.shape) or first_scores.ndim != 1:
        raise BadValue(
            "two scores and a cluster for each question",
            found=f"{first_scores.shape}, {second_scores.shape}, {labels.shape}",
        )
    if not len(first_scores):
        raise TooFew("a comparison needs a question that both answered", found="none")
    if not (np.isfinite(first_scores).all() and np.isfinite(second_scores).all()):
        raise BadValue("scores are finite numbers", found="NaN or infinity")
    _, row = np.unique(labels, return_inverse=True)
    apart = first_scores - second_scores
    sums = np.asarray(np.bincount(row, weights=apart), np.float64)
    table = np.column_stack([sums, np.bincount(row)])
    p, law = _sign_flips(sums, draws, rng)
    return PairedDifference(
        difference=bootstrap_totals(
            lambda t: t[:, 0] / t[:, 1], table, draws=draws, rng=rng, level=level, within=within
        ),
        p=p,
        law=law,
        questions=len(first_scores),
        first_only=int((apart > 0).sum()),
        second_only=int((apart < 0).sum()),
    )


def _sign_flips(sums: FloatArray, draws: int, rng: np.random.Generator) -> tuple[float, str]:
    moving = sums[np.abs(sums) > _SAME]
    k, observed = len(moving), abs(float(moving.sum())) - _SAME
    if not k:
        return 1.0, "the two never differ"
    if 2**k <= draws:
        patterns = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
        extreme = np.abs((2 * patterns - 1) @ moving) >= observed
        return float(extreme.mean()), f"all {2**k} sign patterns of {k} prompts"
    hits, step = 0, max(1, _MAX_CELLS // k)
    for start in range(0, draws, step):
        signs = rng.integers(0, 2, (min(step, draws - start), k), dtype=np.int8) * 2 - 1
        hits += int((np.abs(signs @ moving) >= observed).sum())
    return (hits + 1) / (draws + 1), f"{draws} random sign patterns of {k} prompts"


# -- means over prompts ------------------------------------------------------------------------------------------------


Floats = NDArray[np.float64]

_BLOCK = 4_000_000  # drawn prompts held at once: 32 MB
_NO_SPREAD = 1e-12
_UNIT = "prompt"


def score_interval(
    values: ArrayLike, weights: ArrayLike | None = None, shares: ArrayLike | None = None, *, level: float = 0.95
) -> Estimate:
    """S with its score interval, from `values` (prompts,) or (prompts, axes).

    Means over prompts with intervals: of one axis of a benchmark, and of a weighted sum of axes.

    Data: for prompt i and axis j a value x_ij in [0, 1] (a mean over the pictures of the prompt, so that pictures may
    depend on each other in any way) and a weight w_ij >= 0, 0 where the prompt does not count on the axis.

        m_j = sum_i w_ij x_ij / W_j,   W_j = sum_i w_ij            mean of axis j, over n_j prompts with w_ij > 0
        S   = sum_j c_j m_j                                        sum with shares c_j >= 0, sum_j c_j = 1
        u_ij = w_ij (x_ij - m_j) / W_j                             what prompt i adds to the error of m_j
        v_j = n_j/(n_j - 1) sum_i u_ij^2                           variance of m_j; its cluster is the prompt

    Score interval (`score_interval`). Wilson's, with the number N_j of independent PASS/FAIL answers that would have
    the same variance, and a t quantile for a variance learned from n_j prompts. A few prompts may be alike by luck,
    above all near 0 and 1, where the rare ones that are not make the variance: so it is pulled, with the weight of one
    prompt of n, towards the largest that values with this mean can have, m (1 - m)/K:

        v'_j = ((n_j - 1) v_j + m_j (1 - m_j)/K_j)/n_j,   K_j = W_j^2 / sum_i w_ij^2      K = n for equal weights
        N_j  = m_j (1 - m_j)/v'_j,   t = t_{n_j - 1}^-1((1 + level)/2)
        l_j, h_j = (m_j + t^2/2N_j -+ t sqrt(v'_j + t^2/4N_j^2)) / (1 + t^2/N_j)

    For PASS/FAIL of one picture N = n^2/(n + 1), and so it is taken where all values are 0 or all are 1. The interval
    stays within [0, 1], is longer towards 1/2, and is never of zero width.

    A sum is bounded by what is known of its parts (MOVER), rho_jk the correlation of u_j and u_k over prompts:

        S - low = sqrt(sum_jk rho_jk a_j a_k),   a_j = c_j (m_j - l_j);   the same upwards with a_j = c_j (h_j - m_j)

    Two prompts correlate by 1 or -1 whatever they are, and -1 would make a sum surer than its parts: where no more than
    two count on both axes, a negative rho is taken as 0.

    Bootstrap (`bootstrap_interval`): whole prompts are drawn again, one draw for all axes, and S is computed anew; the
    interval of `bootstrap_totals`. Where it has none, because every draw is alike or too many are undefined, the score
    interval.

    Edges: no prompt that counts on an axis TooFew; one such prompt has a mean and no interval; values outside [0, 1],
    NaN, negative weights, shapes that do not fit BadValue.

    Source: Wilson 1927; Korn & Graubard 1998 and Franco, Little, Louis & Slud 2019 for effective numbers in clustered
    samples; Zou & Donner 2008 for MOVER; Efron & Tibshirani 1993 for the bootstrap.
    """
    x, w, c = _check_tables(values, weights, shares)
    m, n = weighted_means(x, w), (w > 0).sum(axis=0)
    value, few = _sum(m, c), int(n.min())
    if few == 1:
        return Estimate(value, None, None, 1, _UNIT, level, "no interval: one prompt")
    u = influences(x, w)
    low, high = _score_bounds(m, u, w, level)
    rho = _correlations(u, w)
    down, up = c * (m - low), c * (high - m)
    return Estimate(
        value,
        max(0.0, value - _combine_reach(down, rho)),
        min(1.0, value + _combine_reach(up, rho)),
        few,
        _UNIT,
        level,
        "score interval over prompts",
    )


def bootstrap_interval(
    values: ArrayLike,
    weights: ArrayLike | None = None,
    shares: ArrayLike | None = None,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Estimate:
    """S with the percentile interval of `draws` bootstrap samples of prompts; see `score_interval`."""
    x, w, c = _check_tables(values, weights, shares)
    check_settings(len(x), draws, level)
    value, few = _sum(weighted_means(x, w), c), int((w > 0).sum(axis=0).min())
    if few == 1:
        return Estimate(value, None, None, 1, _UNIT, level, "no interval: one prompt")
    # a draw without any prompt of an axis has no mean of it
    estimate = interval(value, _draw_sums(x, w, c, draws, rng), n=few, unit=_UNIT, level=level, within=SHARE)
    if estimate.low is not None:
        return estimate
    bound = score_interval(x, w, c, level=level)
    return replace(bound, method=f"score interval over prompts: {estimate.method.removeprefix('no interval: ')}")


def weighted_means(x: Floats, w: Floats) -> Floats:
    """(axes,) weighted means of (prompts, axes) values."""
    return np.asarray((w * x).sum(axis=0) / w.sum(axis=0), np.float64)


def influences(x: Floats, w: Floats) -> Floats:
    """(prompts, axes) u: what each prompt adds to the error of each mean, so that v_j = sum u_ij^2 n_j/(n_j - 1)."""
    return np.asarray(w * (x - weighted_means(x, w)) / w.sum(axis=0), np.float64)


# -- the score interval ----------------------------------------------------------------------------------------------


def _score_bounds(m: Floats, u: Floats, w: Floats, level: float) -> tuple[Floats, Floats]:
    """(axes,) lower and upper bounds of every mean on its own."""
    from scipy.special import stdtrit

    n, k = (w > 0).sum(axis=0), w.sum(axis=0) ** 2 / (w**2).sum(axis=0)
    t = np.asarray(stdtrit(n - 1, (1 + level) / 2), np.float64)
    most = m * (1 - m)
    v = (u**2).sum(axis=0) + most / (k * n)  # (n - 1)/n of n/(n - 1) sum u^2
    certain = most <= _NO_SPREAD
    inverse = np.where(certain, (1 + 1 / n) / k, v / np.where(certain, 1.0, most))  # 1/N
    pull = t**2 * inverse
    center = (m + pull / 2) / (1 + pull)
    half = t * np.sqrt(np.where(certain, 0.0, v) + t**2 * inverse**2 / 4) / (1 + pull)
    return np.clip(center - half, 0.0, m), np.clip(center + half, m, 1.0)


def _correlations(u: Floats, w: Floats) -> Floats:
    """(axes, axes) of the errors of the means; an axis without spread goes with none."""
    size = np.sqrt((u**2).sum(axis=0))
    unit = u / np.where(size > _NO_SPREAD, size, np.inf)
    rho = unit.T @ unit
    counts = (w > 0).astype(float)
    rho = np.where(counts.T @ counts > 2, rho, np.maximum(rho, 0.0))
    np.fill_diagonal(rho, 1.0)
    return np.asarray(rho, np.float64)


def _combine_reach(reach: Floats, rho: Floats) -> float:
    return float(np.sqrt(max(0.0, float(reach @ rho @ reach))))


# -- the bootstrap ---------------------------------------------------------------------------------------------------


def _draw_sums(x: Floats, w: Floats, c: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """(draws,) S of samples of prompts; NaN where an axis got none."""
    n = len(x)
    totals = np.empty((draws, 2 * x.shape[1]))
    table = np.concatenate([w * x, w], axis=1)
    step = max(1, _BLOCK // n)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        picked = rng.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(picked.ravel(), minlength=size * n).reshape(size, n)  # one count beats n binomials
        totals[start : start + size] = counts @ table
    top, bottom = np.split(totals, 2, axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray((top / np.where(bottom > 0, bottom, np.nan)) @ c, np.float64)


# -- what may come in ------------------------------------------------------------------------------------------------


def _sum(m: Floats, c: Floats) -> float:
    return float((c * m).sum())


def _check_tables(
    values: ArrayLike, weights: ArrayLike | None, shares: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Values and weights as (prompts, axes), shares as (axes,)."""
    x = _columns(values)
    w = np.ones_like(x) if weights is None else _columns(weights)
    c = np.ones(1) if shares is None else np.asarray(shares, np.float64)
    if x.ndim != 2 or w.shape != x.shape or c.shape != (x.shape[1],):
        raise BadValue(
            "values and weights of prompts by axes, and a share of every axis, are needed",
            found=f"shapes {x.shape}, {w.shape} and {c.shape}",
        )
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise BadValue("weights are finite numbers from 0 up", found="a negative weight, NaN or infinity")
    if not ((x >= 0) & (x <= 1))[w > 0].all():
        raise BadValue("the value of a prompt lies between 0 and 1", found="one outside, or NaN")
    if not (c >= 0).all() or abs(float(c.sum()) - 1) > 1e-9:
        raise BadValue("shares of axes are at least 0 and sum to 1", found=c.tolist())
    used = c > 0  # an axis without a share may have no prompt at all
    x, w, c = x[:, used], w[:, used], c[used]
    if not len(x) or not (w > 0).any(axis=0).all():
        raise TooFew("every axis needs a prompt that counts", found="an axis without any")
    return np.where(w > 0, x, 0.0), w, c


def _columns(table: ArrayLike) -> Floats:
    x = np.asarray(table, np.float64)
    return x[:, None] if x.ndim == 1 else x
