"""Rank intervals, tiers and groups of items, and means of generators on the same prompts with their ranks.

Items 0..n-1 have scores q (higher = better) with covariance C. Two items differ when

    |q_i - q_j| > c se_ij,      se_ij^2 = C_ii + C_jj - 2 C_ij,

and the rank interval of item i is [1 + #{j better than i}, n - #{j worse than i}].

The critical value c. Simultaneous (the default): all n(n-1)/2 differences are right at once with probability
`level`, hence all n true ranks lie inside their intervals. c_z is the `level` quantile of

    max over pairs of |Z_i - Z_j| / se_ij,   Z ~ N(0, C),

simulated from a pivoted Cholesky factor, so C may be singular. With df (clusters - 1) finite each se_ij is an
estimate of its own and q_i - q_j over se_ij follows a t law: c = t_df^-1(Phi(c_z)), the point with the same tail.
Below FEW_DF (or n) degrees of freedom that is too small: the errors of the differences vary by themselves, so large
ratios come from more pairs than under a known C (7 to 9% of studies with a false difference instead of 5%), and C
does not tell how the differences hang together (five raters span four directions). There each of the m = n(n-1)/2
pairs is tested at (1 - level)/m (Bonferroni), which needs nothing but the t law of each pair; nothing is simulated.
So it is, too, where `differences` gives the variances of the differences themselves, and not a covariance.
Marginal (`simultaneous=False`): c = t_df^-1((1 + level)/2), each pair right on its own, most studies wrong
somewhere.

Tiers: tier 1 holds every item not significantly worse than the best-scored one (than any, where several share the
best score); it is taken away and the rule repeats. Where errors differ, an uncertain item may share a tier with
items better than another in the next tier: read a tier as "cannot be told from its best".

Groups: the maximal runs of items, in score order, of whom no two can be told apart (a compact letter display).
With unequal errors two items may be inseparable although an item between them is not: such sets are no runs and
are not listed; `better` holds every pair.

Edges: fewer than 2 items TooFew; NaN, wrong shapes, a C that is no covariance, a difference without an error
BadValue. Equal scores share the better rank.

Source: Tukey 1953, Kramer 1956; Hsu 1996, Multiple Comparisons, chapter 5; Goldstein & Spiegelhalter 1996 and
Mogstad, Romano, Shaikh & Wilhelm 2024 (Inference for Ranks) for rank intervals; Piepho 2004 for letters.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtrit

from salon.errors import BadValue, TooFew
from salon.stats.intervals import score_interval
from salon.stats.jit import compiled
from salon.stats.result import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_BLOCK = 2_048  # draws held at once: n x 2,048 numbers, and two rows of them fit the nearest cache
_WORK = 500_000_000  # differences looked at, unless `draws` says otherwise
_FEWEST, _MOST = 1_000, 10_000
FEW_DF = 200
"""Degrees of freedom from which the simulated critical value keeps its level (5.0% to 5.9% at 100 to 300)."""
_EXACT = 1e-9  # a variance below this share of the largest one is rounding, not an error


@dataclass(frozen=True, slots=True)
class RankIntervals:
    """Ranks with their intervals; 1 is best."""

    rank: Ints
    """(n,) rank by score; equal scores share the better rank."""
    low: Ints
    """(n,) the best rank the item may have."""
    high: Ints
    """(n,) the worst rank the item may have."""
    tier: Ints
    """(n,) 1, 2, ...: the items that cannot be told from the best, then from the best of the rest, and so on."""
    groups: tuple[Ints, ...]
    """Maximal runs in score order whose members cannot be told apart; best first, runs overlap."""
    better: Bools
    """(n, n) better[i, j]: item i is significantly better than item j."""
    critical: float
    """Differences larger than this many standard errors count (the largest, where pairs have their own)."""
    level: float
    simultaneous: bool
    method: str


def rank_intervals(
    scores: ArrayLike,
    covariance: ArrayLike | None,
    *,
    df: float = np.inf,
    level: float = 0.95,
    rng: np.random.Generator,
    simultaneous: bool = True,
    draws: int | None = None,
    differences: ArrayLike | None = None,
    difference_df: ArrayLike | None = None,
) -> RankIntervals:
    """Rank intervals, tiers and groups of items from their `scores` (n,) and `covariance` (n, n).

    `differences` (n, n): the variances of score_i - score_j, where they do not follow from a covariance (errors over
    raters and prompts at once); `difference_df` (n, n): their degrees of freedom.

    `draws` simulated maxima make the critical value: 10,000 for 316 items or fewer, fewer above that, never under
    1,000, unless given. A thousand draws give c to within 1% or so (one standard error), ten thousand to a third of it.
    """
    matrix = (
        np.zeros((len(np.atleast_1d(scores)),) * 2) if covariance is None and differences is not None else covariance
    )
    q, C = _check_scores(scores, matrix, df, level)
    n = len(q)
    se = _errors(q, C if differences is None else _check_differences(differences, n), differences is not None)
    each: float | Floats = df if difference_df is None else np.asarray(difference_df, np.float64)
    critical: float | Floats
    if not simultaneous:
        critical, method = stdtrit(each, (1 + level) / 2), "each pair on its own"
    elif differences is not None or df < max(n, FEW_DF):
        critical, method = _bonferroni(n, each, level)
    else:
        critical, method = _simulated(C, se, df, level, rng, draws)
    better = q[:, None] - q[None, :] > critical * se
    tier = np.zeros(len(q), np.int64)
    number = 0
    while (left := tier == 0).any():
        number += 1
        best = left & (q == q[left].max())
        tier[left & ~better[best].any(axis=0)] = number
    return RankIntervals(
        rank=1 + (q[:, None] < q[None, :]).sum(axis=1),
        low=1 + better.sum(axis=0),
        high=n - better.sum(axis=1),
        tier=tier,
        groups=_runs(q, better),
        better=better,
        critical=float(np.max(critical)),
        level=level,
        simultaneous=simultaneous,
        method=method,
    )


# -- the critical value ----------------------------------------------------------------------------------------------


def _bonferroni(n: int, df: float | Floats, level: float) -> tuple[float | Floats, str]:
    """All pairs at once whatever their dependence: each at its share of the error."""
    fewest = float(np.min(df))
    method = f"all {n * (n - 1) // 2:,} pairs at once (Bonferroni), t tails of {fewest:.3g} degrees of freedom"
    return -stdtrit(df, (1 - level) / (n * (n - 1))), method


def _simulated(
    C: Floats, se: Floats, df: float, level: float, rng: np.random.Generator, draws: int | None
) -> tuple[float, str]:
    """The simultaneous critical value from the law of the largest difference."""
    draws = _draws(len(C)) if draws is None else draws
    # drawn values of the largest standardised difference; a block of draws at a time
    if draws < 100:
        raise BadValue("at least 100 draws are needed for a critical value", found=draws)
    factor = _factor(C, rng)
    with np.errstate(divide="ignore"):
        precision = np.where(se > 0, 1 / se, 0.0)
    maxima = np.zeros(draws)
    for start in range(0, draws, _BLOCK):
        part = maxima[start : start + _BLOCK]
        _largest(factor @ rng.standard_normal((factor.shape[1], len(part))), precision, part)
    normal = float(np.quantile(maxima, level))
    return float(-stdtrit(df, ndtr(-normal))), f"all pairs at once, {draws:,} simulated maxima"


def _draws(n: int) -> int:
    return min(_MOST, max(_FEWEST, _WORK // (n * (n - 1) // 2)))


@compiled
def _largest(z: Floats, precision: Floats, maxima: Floats) -> None:
    """maxima[d] = max over i > j of |z[i, d] - z[j, d]| precision[i, j]; draws innermost, so that they vectorise."""
    for i in range(len(z)):
        for j in range(i):
            p = precision[i, j]
            for d in range(len(maxima)):
                value = abs(z[i, d] - z[j, d]) * p
                maxima[d] = value if value > maxima[d] else maxima[d]


def _factor(C: Floats, rng: np.random.Generator) -> Floats:
    """L (n, rank) with L L' = C, by Cholesky with pivots: a covariance of centred scores is singular."""
    from scipy.linalg import lapack

    scale = float(C.diagonal().max())
    packed, pivots, rank, _ = lapack.dpstrf(C, lower=1, tol=_EXACT * scale)
    L = np.zeros((len(C), rank))
    L[pivots - 1] = np.tril(packed)[:, :rank]
    probe = rng.standard_normal(len(C))  # L L' = C in a random direction is L L' = C, without an n^3 product
    off = float(np.linalg.norm(C @ probe - L @ (L.T @ probe)) / np.linalg.norm(probe))
    if off > 1e-5 * scale:
        raise BadValue("a covariance has no negative directions", found=f"a matrix that is off by {off:.3g}")
    return L


# -- tiers and groups ------------------------------------------------------------------------------------------------


def _runs(q: Floats, better: Bools) -> tuple[Ints, ...]:
    """Item i of the score order is told from `apart[i]` on; a run from i ends before the first such place of any
    of its members, and is maximal when the run from i - 1 ends earlier."""
    n = len(q)
    order = np.argsort(-q, kind="stable")
    sorted_ = better[np.ix_(order, order)]
    apart = np.where(sorted_.any(axis=1), sorted_.argmax(axis=1), n)
    ends = np.minimum.accumulate(apart[::-1])[::-1]
    maximal = np.append(True, ends[1:] > ends[:-1])
    return tuple(order[start : ends[start]] for start in np.flatnonzero(maximal))


# -- what may come in ------------------------------------------------------------------------------------------------


def _check_scores(scores: ArrayLike, covariance: ArrayLike | None, df: float, level: float) -> tuple[Floats, Floats]:
    q, C = np.asarray(scores, np.float64), np.asarray(covariance, np.float64)
    if q.ndim != 1 or C.shape != (len(q), len(q)):
        raise BadValue("n scores and an (n, n) covariance are needed", found=f"shapes {q.shape} and {C.shape}")
    if len(q) < 2:
        raise TooFew("ranks need at least two items", found=len(q))
    if not np.isfinite(q).all() or not np.isfinite(C).all():
        raise BadValue("scores and covariance must be finite numbers", found="NaN or infinity")
    if not np.allclose(C, C.T, rtol=1e-6, atol=1e-9 * np.abs(C).max()):
        raise BadValue("a covariance is symmetric", found="one that is not")
    if not df > 0 or not 0 < level < 1:
        raise BadValue("df > 0 and 0 < level < 1 are needed", found=f"df {df}, level {level}")
    return q, C


def _check_differences(differences: ArrayLike, n: int) -> Floats:
    squares = np.array(differences, np.float64)
    if squares.shape != (n, n) or not np.isfinite(squares).all() or not np.allclose(squares, squares.T):
        raise BadValue(f"({n}, {n}) variances of differences are needed, finite and symmetric", found=squares.shape)
    return squares


def _errors(q: Floats, C: Floats, differences: bool) -> Floats:
    """(n, n) standard errors of all differences; 0 only between items whose scores are equal."""
    variances = C.diagonal()
    squares = C.copy() if differences else variances[:, None] + variances[None, :] - 2 * C
    exact = squares <= _EXACT * max(float(squares.max() if differences else variances.max()), 0.0)
    np.fill_diagonal(exact, False)
    unlike = exact & (q[:, None] != q[None, :])
    if unlike.any():
        i, j = np.argwhere(unlike)[0]
        raise BadValue(
            "every difference needs a standard error",
            found=f"a variance of {squares[i, j]:.3g}",
            where=f"items {i} and {j}",
            remedy="use errors that do not treat a score as known (more clusters, or independent answers)",
        )
    np.fill_diagonal(squares, 0.0)
    return np.asarray(np.sqrt(np.where(exact, 0.0, squares)), np.float64)


# -- means of several generators on the same prompts -------------------------------------------------------------------


_ROUNDING = 1e-12  # of the size of the values: a spread below it is none


@dataclass(frozen=True, slots=True)
class PairedMeans:
    """Of each generator in the order of the columns."""

    means: tuple[Estimate, ...]
    leads: tuple[Estimate | None, ...]
    beats: tuple[Estimate | None, ...]
    ranks: RankIntervals | None
    """None where a difference has no error."""


def paired_means(values: ArrayLike, *, rng: np.random.Generator, level: float = 0.95) -> PairedMeans:
    """Means, leads and ranks of the columns of `values`.

    Means of several generators on the same prompts, on a scale without ends: rewards, logits, measurements.

    Data: x (prompts, generators), complete; each prompt is a cluster of its own.

        m_g = mean over prompts of x_pg               C = cov(x)/n, prompts shared; t, n - 1 degrees of freedom
        lead_g = mean over p of x_pg - mean of the others on p              the same, of the differences
        beats_g = mean over p of the share of the others that x_pg exceeds, ties half         `score_interval`

    Ranks, rank intervals and tiers come from m and C (`rank_intervals`), all generators at once: what is hard for
    everybody cancels.

    Edges: no prompt, no generator TooFew; NaN BadValue. One prompt: means without intervals. Values that are the same
    on all prompts have a mean and no interval: it would have no width. Two generators that differ by the same on every
    prompt: no rank intervals, for the same reason. One generator: no lead and no ranks.

    Source: Student 1908; for strata Cochran, Sampling Techniques, 1977, chapter 5.
    """
    x = np.asarray(values, np.float64)
    if x.ndim != 2 or not x.size:
        raise TooFew("a table of prompts by generators is needed", found=f"shape {x.shape}")
    if not np.isfinite(x).all():
        raise BadValue("every prompt needs a finite value of every generator", found="NaN or infinity")
    n, generators = x.shape
    means = tuple(mean_interval(column, level=level) for column in x.T)
    if generators == 1:
        return PairedMeans(means, (None,), (None,), None)
    leads, beats = [], []
    for g in range(generators):
        own, others = x[:, [g]], np.delete(x, g, axis=1)
        leads.append(mean_interval(x[:, g] - others.mean(axis=1), level=level))
        beats.append(score_interval(((own > others) + (own == others) / 2).mean(axis=1), level=level))
    ranks = None
    if n > 1:
        with suppress(BadValue):  # a difference without an error
            ranks = rank_intervals(x.mean(axis=0), np.cov(x.T) / n, df=n - 1, level=level, rng=rng)
    return PairedMeans(means, tuple(leads), tuple(beats), ranks)


def stratify_values(values: ArrayLike, strata: ArrayLike) -> Floats:
    """(prompts, generators) values whose mean is the mean of the strata's means, and whose spread is that mean's.

        y_pg = M_g + w_p sqrt(n_s/(n_s - 1)) (x_pg - m_sg),    w_p = n/(S n_s),    M_g = mean over S strata of m_sg

    so that mean(y) = M and the sum of (y - M)^2 is n^2/S^2 times the sum over strata of s_s^2/n_s, the variance of a
    stratified mean. Differences of columns keep this, so leads and ranks do. A stratum of one prompt has no spread to
    learn from: then all rows are M, and no interval is given. Intervals have n - 1 degrees of freedom where n - S would
    be exact: with fewer than five prompts a stratum they are up to a tenth short.
    """
    x, of = np.asarray(values, np.float64), np.asarray(strata)
    labels, row, size = np.unique(of, return_inverse=True, return_counts=True)
    means = np.stack([x[row == s].mean(axis=0) for s in range(len(labels))])
    middle = means.mean(axis=0)
    if (size < 2).any():
        return np.broadcast_to(middle, x.shape).copy()
    weight = len(x) / (len(labels) * size[row]) * np.sqrt(size[row] / (size[row] - 1))
    return np.asarray(middle + weight[:, None] * (x - means[row]), np.float64)


def mean_interval(values: ArrayLike, *, level: float = 0.95, unit: str = "prompt") -> Estimate:
    """Mean of (prompts,) values with its t interval; none from one value, or from values that are all the same."""
    x = np.asarray(values, np.float64)
    n, mean = len(x), float(np.mean(x))
    error = float(np.std(x, ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    if error <= _ROUNDING * max(1.0, float(np.abs(x).max())):
        return Estimate(mean, None, None, n, unit, level, f"no interval: one {unit}, or all alike")
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return Estimate(mean, mean - reach, mean + reach, n, unit, level, f"t interval over {unit}s")
