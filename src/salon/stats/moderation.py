"""Many variances, each from a handful of values: lend each the strength of all (moderated variances).

Model: item i has a true variance sigma_i^2; its estimate s_i^2 from d degrees of freedom follows

    s_i^2 ~ sigma_i^2 chi^2_d / d,        1 / sigma_i^2 ~ chi^2_d0 / (d0 s0^2)

so that true variances scatter around s0^2, the less the larger d0. Given s_i^2, the best guess and its freedom are

    (d0 s0^2 + d s_i^2) / (d0 + d),       d0 + d

and a value over the root of that guess follows a t law with d0 + d degrees of freedom. d0 and s0^2 come from the
mean and variance of log s_i^2: with e_i = log s_i^2 - psi(d/2) + log(d/2),

    psi'(d0/2) = var(e) - psi'(d/2)                 (d0 is infinite where that is not above zero)
    log s0^2 = mean(e) + psi(d0/2) - log(d0/2)

Assumptions: estimates of different items are independent given the true variances, or nearly so (a variance that all
items share, such as a panel's overall level, must be taken out first). A variance of zero is no variance but values
too coarse to show one (five raters, one rating): it teaches nothing about the others, and borrows from them.
Edges: fewer than two positive variances, negative or NaN ones, d below 1: BadValue or TooFew.
Source: Smyth 2004, Linear models and empirical Bayes methods (limma), section 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from salon.errors import BadValue, TooFew

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moderated:
    """Variances after lending and borrowing."""

    variance: Floats
    df: float
    prior_variance: float
    prior_df: float
    """How alike the items are: infinite when nothing speaks against one variance for all."""


def moderated_variances(variance: ArrayLike, df: float) -> Moderated:
    """The moderated form of `variance` (items,), each estimated with `df` degrees of freedom."""
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
        return Moderated(np.full(len(s2), shared), np.inf, shared, np.inf)
    d0 = 2 * _inverse_trigamma(excess)
    s0 = float(np.exp(e.mean() + digamma(d0 / 2) - np.log(d0 / 2)))
    return Moderated((d0 * s0 + df * s2) / (d0 + df), d0 + df, s0, d0)


def _inverse_trigamma(x: float) -> float:
    """y with psi'(y) = x; psi' falls from infinity to 0, and 1/y < psi'(y) < 1/y + 1/y^2."""
    return float(brentq(lambda y: polygamma(1, y) - x, 1 / (x + 1), 1 / x + np.sqrt(1 / x) + 1))
