"""Means of several generators on the same prompts, on a scale without ends: rewards, logits, measurements.

Data: x (prompts, generators), complete; each prompt is a cluster of its own.

    m_g = mean over prompts of x_pg                     C = cov(x)/n, prompts shared      t, n - 1 degrees of freedom
    lead_g = mean over p of x_pg - mean of the others on p                                the same, of the differences
    beats_g = mean over p of the share of the others that x_pg exceeds, ties half         score interval (prompt_means)

Ranks, rank intervals and tiers come from m and C (tiers), all generators at once: what is hard for everybody cancels.

Edges: no prompt, no generator TooFew; NaN BadValue. One prompt: means without intervals. Values that are the same on
all prompts have a mean and no interval: it would have no width. Two generators that differ by the same on every prompt:
no rank intervals, for the same reason. One generator: no lead and no ranks.

Source: Student 1908; for ranks see tiers; for strata Cochran, Sampling Techniques, 1977, chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from salon.errors import BadValue, TooFew
from salon.stats.prompt_means import score_interval
from salon.stats.result import Estimate
from salon.stats.tiers import RankIntervals, rank_intervals

Floats = NDArray[np.float64]
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
    """Means, leads and ranks of the columns of `values`; see the module."""
    x = np.asarray(values, np.float64)
    if x.ndim != 2 or not x.size:
        raise TooFew("a table of prompts by generators is needed", found=f"shape {x.shape}")
    if not np.isfinite(x).all():
        raise BadValue("every prompt needs a finite value of every generator", found="NaN or infinity")
    alone = x.shape[1] == 1
    return PairedMeans(
        means=tuple(mean_interval(column, level=level) for column in x.T),
        leads=tuple(None if alone else mean_interval(x[:, g] - _others(x, g), level=level) for g in range(x.shape[1])),
        beats=tuple(None if alone else score_interval(_beaten(x, g), level=level) for g in range(x.shape[1])),
        ranks=None if alone or len(x) == 1 else _ranks(x, level, rng),
    )


def stratified(values: ArrayLike, strata: ArrayLike) -> Floats:
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


def _others(x: Floats, g: int) -> Floats:
    return np.asarray(np.delete(x, g, axis=1).mean(axis=1), np.float64)


def _beaten(x: Floats, g: int) -> Floats:
    own, others = x[:, [g]], np.delete(x, g, axis=1)
    return np.asarray(((own > others) + (own == others) / 2).mean(axis=1), np.float64)


def _ranks(x: Floats, level: float, rng: np.random.Generator) -> RankIntervals | None:
    n = len(x)
    covariance = np.atleast_2d(np.cov(x.T)) / n
    try:
        return rank_intervals(x.mean(axis=0), covariance, df=n - 1, level=level, rng=rng)
    except BadValue:
        return None
