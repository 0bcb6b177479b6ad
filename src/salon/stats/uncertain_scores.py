"""Uncertain scores: the chance of a win between two items, and the gain of choosing the best of N.

An item's score is r ~ N(mu, sigma²), a voter prefers the first of two with probability s(r1 - r2), s(x) = 1/(1 + e^-x).
Then z = r1 - r2 ~ N(m, v²) with m = mu1 - mu2, v² = sigma1² + sigma2², and

    logistic   P(1 > 2) = E[s(z)] = ∫ s(m + v x) φ(x) dx                  no closed form
    probit     P(1 > 2) = Phi(m / sqrt(1 + v²))                           if a voter's own noise is N(0, 1)

Both are 1/2 at m = 0, rise with m, and P(1 > 2) + P(2 > 1) = 1. As v grows they go to 1/2 at fixed m, and at v = 0
they are Bradley-Terry and Thurstone. E[s(z)] is not s(E[z]): uncertainty pulls every chance towards 1/2.

The integral, by 64 points x_k with weights w_k (`normal_points`):

| rule | points | error of P, v <= 3 | v <= 5 | v <= 7.1 |
|---|---|---|---|---|
| trapezoid | evenly over [-7, 7], w_k ~ φ(x_k) | 6e-13 | 2e-8 | 3e-6 |
| gauss-hermite | roots of the Hermite polynomial | 1e-7 | 5e-5 | 6e-4 |

Gauss-Hermite is exact for polynomials, which s is not: it spends nearly half of its points where φ < 1e-11. The
trapezoid rule errs by e^(-2 π²/(v h)) at step h, because the nearest poles of s are at ± i π. It is the default; two
items of sigma 5 have v = 7.1, where the other rule no longer holds 1e-4. Where v > 9 the voter's noise is small beside
the items' and is taken for a normal one of the same variance π²/3: P = Phi(m / sqrt(v² + π²/3)), which errs by less
than 5e-5 there. So P is right to 1e-4 at every v.

Assumptions: scores of two items are independent and normal; a tie is half a win for each. sigma is the spread of what
voters see in an item, not the error of an estimate of mu; either may be put in for it, and means what was put in.

Source: HPSv3 section 4.1 (equation 3); Thurstone 1927 case III for the probit; Trefethen 2022, Exactness of
quadrature formulas, for the rules.

Best of N: a scorer s chooses among N draws, q is what they are truly worth. Draws are independent, s has correlation
rho with q, and the mean of q given s is a straight line. Then with e_N = E[(max of N draws of s - mean) / sd of s]

    E[q of the chosen] - E[q] = rho sd(q) e_N                                                     `predicted_gain`

For normal s, e_N = integral of x N phi(x) Phi(x)^(N-1) dx: 0, .5642, .8463, 1.0294 for N = 1 to 4 (`expected_maximum`).
For any other s it is taken from the draws themselves (`best_of_means` of s by s).

`best_of_means` is exact over a pool of m draws: the draw on place i from below is the best of a share
C(i-1, N-1) / C(m, N) of all subsets of N; equal scores share theirs. Its mean over pools of independent prompts
estimates the left side without bias for every N <= m.

The chosen score overstates (the winner's curse): E[s of the chosen] - E[s] = sd(s) e_N, but its worth rises only by
rho sd(q) e_N. `fit_shrinkage` fits the line E[q | s] = a + b s on labelled draws that were not selected; b = rho
sd(q) / sd(s). A choice that looks at s alone leaves that line as it is, so a + b s of the chosen one is right again.

Edges. N above the pool: BadValue. Equal scores throughout: no correlation, NotIdentified. Fewer than three draws, or
all of them in one cluster: TooFew, since the error of the line, a sum over clusters, would come out as 0.

Sources: David & Nagaraja 2003 (order statistics); the subset estimator is that of Chen et al. 2021 (pass@k) for a
maximum; own derivation of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, log_expit, log_ndtr, logsumexp

from salon.errors import BadValue, NotIdentified, TooFew

Floats = NDArray[np.float64]
Rule = Literal["trapezoid", "gauss-hermite"]

QUADRATURE_POINTS = 64
WIDE = 9.0
"""Spread of a difference above which the voter's logistic noise is taken for a normal one."""
LOGISTIC_VARIANCE = np.pi**2 / 3
_NORMAL_REACH = 7.0


@cache
def normal_points(points: int = QUADRATURE_POINTS, rule: Rule = "trapezoid") -> tuple[Floats, Floats]:
    """Points x and log weights, so that E[f(X)] = sum exp(log_w) f(x) for X ~ N(0, 1). Read only."""
    if rule not in get_args(Rule):
        raise BadValue(f"a rule of quadrature is one of {', '.join(get_args(Rule))}", found=rule)
    if points < 2:
        raise BadValue("quadrature needs at least 2 points", found=points)
    if rule == "trapezoid":
        x = np.linspace(-_NORMAL_REACH, _NORMAL_REACH, points)
        log_w = -(x**2) / 2
    else:
        x, weights = np.polynomial.hermite.hermgauss(points)
        # The outermost weights of many points underflow: they count for nothing.
        x, log_w = np.sqrt(2) * x, np.log(np.maximum(weights, np.finfo(np.float64).tiny))
    log_w = log_w - logsumexp(log_w)
    x.flags.writeable = log_w.flags.writeable = False
    return x, log_w


def log_win_chance(
    difference: ArrayLike, spread: ArrayLike, *, points: int = QUADRATURE_POINTS, rule: Rule = "trapezoid"
) -> Floats:
    """log E[s(z)], z ~ N(difference, spread²): finite for every finite input, however far out."""
    m, v = _check_scores(difference, spread)
    x, log_w = normal_points(points, rule)
    narrow = logsumexp(log_w + log_expit(m[..., None] + np.minimum(v, WIDE)[..., None] * x), axis=-1)
    wide = log_ndtr(m / np.sqrt(v**2 + LOGISTIC_VARIANCE))
    return np.asarray(np.where(v > WIDE, wide, narrow), dtype=np.float64)


def win_chance(
    difference: ArrayLike, spread: ArrayLike, *, points: int = QUADRATURE_POINTS, rule: Rule = "trapezoid"
) -> Floats:
    """P(1 > 2) = E[s(z)], z ~ N(difference, spread²); `spread` is sqrt(sigma1² + sigma2²)."""
    return np.exp(log_win_chance(difference, spread, points=points, rule=rule))


def probit_win_chance(difference: ArrayLike, spread: ArrayLike) -> Floats:
    """P(1 > 2) = Phi(difference / sqrt(1 + spread²)): the same for voters whose own noise is N(0, 1)."""
    m, v = _check_scores(difference, spread)
    return np.asarray(np.exp(log_ndtr(m / np.hypot(1, v))), dtype=np.float64)


def _check_scores(difference: ArrayLike, spread: ArrayLike) -> tuple[Floats, Floats]:
    """Both as floats of one shape."""
    m, v = np.asarray(difference, dtype=np.float64), np.asarray(spread, dtype=np.float64)
    if not np.isfinite(m).all():
        raise BadValue("a score must be a finite number", found=m[~np.isfinite(m)].flat[0])
    wrong = ~(np.isfinite(v) & (v >= 0))
    if wrong.any():
        raise BadValue("a standard deviation must be a finite number from 0 up", found=v[wrong].flat[0])
    try:
        m, v = np.broadcast_arrays(m, v)
    except ValueError:
        raise BadValue("a standard deviation is needed for each score", found=f"{v.shape} for {m.shape}") from None
    return m, v


# -- best of N ---------------------------------------------------------------------------------------------------------


_MAXIMUM_REACH, _MAXIMUM_POINTS = 12.0, 48_001


def expected_maximum(n: ArrayLike) -> Floats:
    """E of the largest of n standard normal draws, for each n >= 1."""
    counts = np.asarray(n, dtype=np.float64)
    if counts.size == 0 or not (np.isfinite(counts).all() and (counts >= 1).all()):
        raise BadValue("a number of draws from 1 up is needed", found=n)
    x = np.linspace(-_MAXIMUM_REACH, _MAXIMUM_REACH, _MAXIMUM_POINTS)
    log_density = -(x**2) / 2 - np.log(2 * np.pi) / 2
    below = log_ndtr(x)
    flat = counts.reshape(-1)
    maxima = [np.trapezoid(x * np.exp(np.log(k) + log_density + (k - 1) * below), x) for k in flat]
    return np.asarray(maxima, np.float64).reshape(counts.shape)


def predicted_gain(rho: float, sd: float, n: ArrayLike) -> Floats:
    """Rise of the mean worth of the chosen one over a single draw, for normal scores."""
    if not -1 <= rho <= 1:
        raise BadValue("a correlation lies between -1 and 1", found=rho)
    if not (np.isfinite(sd) and sd >= 0):
        raise BadValue("a standard deviation is a finite number from 0 up", found=sd)
    return np.asarray(rho * sd * expected_maximum(n))


def best_of_means(scores: ArrayLike, worth: ArrayLike, ns: ArrayLike) -> Floats:
    """Mean of `worth` (m,) of the best by `scores` (m,), over all subsets of each size in `ns`."""
    s, q = np.asarray(scores, dtype=np.float64), np.asarray(worth, dtype=np.float64)
    sizes = np.asarray(ns, dtype=np.int64).reshape(-1)
    if s.ndim != 1 or s.shape != q.shape or not len(s):
        raise BadValue("a score and a worth for each draw are needed", found=f"{s.shape} and {q.shape}")
    if not (np.isfinite(s).all() and np.isfinite(q).all()):
        raise BadValue("scores and worths are finite numbers", found="NaN or infinity")
    if not ((sizes >= 1) & (sizes <= len(s))).all():
        raise BadValue(f"sizes from 1 to the pool's {len(s)} are needed", found=sizes.tolist())
    _, group = np.unique(s, return_inverse=True)
    count = np.bincount(group)
    mean = np.bincount(group, weights=q) / count
    above = np.concatenate([[0], np.cumsum(count)])
    return np.array([float(np.diff(_subsets(above, len(s), int(n))) @ mean) for n in sizes])


def _subsets(ends: NDArray[np.int64], m: int, n: int) -> Floats:
    """Share of the subsets of n of m draws that lie among the lowest k, for each k."""
    enough = ends >= n
    k = np.where(enough, ends, n).astype(np.float64)
    log_share = gammaln(k + 1) - gammaln(k - n + 1) - gammaln(m + 1) + gammaln(m - n + 1)
    return np.asarray(np.where(enough, np.exp(log_share), 0.0))


@dataclass(frozen=True, slots=True)
class WorthLine:
    """The line from a score to what it is worth."""

    intercept: float
    slope: float
    error: float
    """Standard error of the slope, robust, clustered where clusters were given."""
    rho: float
    n: int
    clusters: int

    def worth(self, scores: ArrayLike) -> Floats:
        """E[q | s]."""
        return np.asarray(self.intercept + self.slope * np.asarray(scores, dtype=np.float64))


def fit_shrinkage(scores: ArrayLike, worth: ArrayLike, clusters: ArrayLike | None = None) -> WorthLine:
    """The least-squares line from scores to worth over draws that were not selected by score.

    `clusters` (prompts, say) are what is independent; each draw on its own unless given.
    """
    s, q = np.asarray(scores, dtype=np.float64), np.asarray(worth, dtype=np.float64)
    if s.ndim != 1 or s.shape != q.shape or not (np.isfinite(s).all() and np.isfinite(q).all()):
        raise BadValue("a finite score and worth for each draw are needed", found=f"{s.shape} and {q.shape}")
    if len(s) < 3:
        raise TooFew("a line from scores to worth needs three draws", found=len(s))
    if np.ptp(s) == 0 or np.ptp(q) == 0:
        raise NotIdentified("scores and worths that differ are needed", found=f"{len(s)} equal ones")
    _, group = np.unique(np.arange(len(s)) if clusters is None else np.asarray(clusters), return_inverse=True)
    if group.max() == 0:
        raise TooFew("the error of a line needs two clusters of draws", found="one", remedy="draws of more prompts")
    x, y = s - s.mean(), q - q.mean()
    slope = float(x @ y / (x @ x))
    sums = np.bincount(group, weights=x * (y - slope * x))
    many = len(sums)
    error = float(np.sqrt((sums**2).sum() * (many / (many - 1))) / (x @ x))
    rho = float(x @ y / np.sqrt((x @ x) * (y @ y)))
    return WorthLine(float(q.mean() - slope * s.mean()), slope, error, rho, len(s), many)
