"""Binomial laws for few trials, without the half second that importing scipy.stats takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_MOST_TRIALS = 500
"""Trials whose binomial coefficients and powers stay far from the ends of floating-point numbers."""


def binomial_pmf(k: ArrayLike, n: int, p: ArrayLike) -> Floats:
    """P(k successes of n); 0 outside 0 to n."""
    from scipy.special import binom

    if n > _MOST_TRIALS:
        from scipy import stats

        return np.asarray(stats.binom.pmf(k, n, p), np.float64)
    inside = (np.asarray(k) >= 0) & (np.asarray(k) <= n)
    successes, chance = np.where(inside, k, 0), np.asarray(p, np.float64)
    return np.asarray(inside * binom(n, successes) * chance**successes * (1 - chance) ** (n - successes))


def binomial_cdf(k: Any, n: int, p: ArrayLike) -> Floats:
    """P(at most k successes of n)."""
    from scipy.special import bdtr

    return np.asarray(np.where(np.asarray(k) < 0, 0.0, bdtr(np.clip(k, 0, n).astype(np.float64), n, p)))


def binomial_sf(k: Any, n: int, p: ArrayLike) -> Floats:
    """P(more than k successes of n)."""
    from scipy.special import bdtrc

    return np.asarray(np.where(np.asarray(k) < 0, 1.0, bdtrc(np.clip(k, 0, n).astype(np.float64), n, p)))


def fair_coin_p(heads: int, n: int) -> float:
    """P(a fair coin falls at least as unevenly in n throws)."""
    return min(1.0, 2 * float(binomial_cdf(min(heads, n - heads), n, 0.5)))
