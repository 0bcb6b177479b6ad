"""What best of N brings: a scorer s chooses among N draws, q is what they are truly worth.

Model. Draws are independent, s has correlation rho with q, and the mean of q given s is a straight line. Then with
e_N = E[(max of N draws of s - mean) / sd of s]

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

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, log_ndtr

from salon.errors import BadValue, NotIdentified, TooFew

Floats = NDArray[np.float64]
_REACH, _POINTS = 12.0, 48_001


def expected_maximum(n: ArrayLike) -> Floats:
    """E of the largest of n standard normal draws, for each n >= 1."""
    counts = np.asarray(n, dtype=np.float64)
    if counts.size == 0 or not (np.isfinite(counts).all() and (counts >= 1).all()):
        raise BadValue("a number of draws from 1 up is needed", found=n)
    x = np.linspace(-_REACH, _REACH, _POINTS)
    log_density = -(x**2) / 2 - np.log(2 * np.pi) / 2
    below = log_ndtr(x)
    flat = counts.reshape(-1)
    found = [np.trapezoid(x * np.exp(np.log(k) + log_density + (k - 1) * below), x) for k in flat]
    return np.asarray(found, np.float64).reshape(counts.shape)


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
class Shrinkage:
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


def fit_shrinkage(scores: ArrayLike, worth: ArrayLike, clusters: ArrayLike | None = None) -> Shrinkage:
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
    return Shrinkage(float(q.mean() - slope * s.mean()), slope, error, rho, len(s), many)
