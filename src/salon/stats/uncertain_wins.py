"""The chance of a win between two items whose scores are uncertain.

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
"""

from __future__ import annotations

from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, log_ndtr, logsumexp

from salon.errors import BadValue

Floats = NDArray[np.float64]
Rule = Literal["trapezoid", "gauss-hermite"]

POINTS = 64
WIDE = 9.0
"""Spread of a difference above which the voter's logistic noise is taken for a normal one."""
LOGISTIC_VARIANCE = np.pi**2 / 3
_REACH = 7.0


@cache
def normal_points(points: int = POINTS, rule: Rule = "trapezoid") -> tuple[Floats, Floats]:
    """Points x and log weights, so that E[f(X)] = sum exp(log_w) f(x) for X ~ N(0, 1). Read only."""
    if rule not in get_args(Rule):
        raise BadValue(f"a rule of quadrature is one of {', '.join(get_args(Rule))}", found=rule)
    if points < 2:
        raise BadValue("quadrature needs at least 2 points", found=points)
    if rule == "trapezoid":
        x = np.linspace(-_REACH, _REACH, points)
        log_w = -(x**2) / 2
    else:
        x, weights = np.polynomial.hermite.hermgauss(points)
        # The outermost weights of many points underflow: they count for nothing.
        x, log_w = np.sqrt(2) * x, np.log(np.maximum(weights, np.finfo(np.float64).tiny))
    log_w = log_w - logsumexp(log_w)
    x.flags.writeable = log_w.flags.writeable = False
    return x, log_w


def log_win_chance(
    difference: ArrayLike, spread: ArrayLike, *, points: int = POINTS, rule: Rule = "trapezoid"
) -> Floats:
    """log E[s(z)], z ~ N(difference, spread²): finite for every finite input, however far out."""
    m, v = _checked(difference, spread)
    x, log_w = normal_points(points, rule)
    narrow = logsumexp(log_w + log_expit(m[..., None] + np.minimum(v, WIDE)[..., None] * x), axis=-1)
    wide = log_ndtr(m / np.sqrt(v**2 + LOGISTIC_VARIANCE))
    return np.asarray(np.where(v > WIDE, wide, narrow), dtype=np.float64)


def win_chance(difference: ArrayLike, spread: ArrayLike, *, points: int = POINTS, rule: Rule = "trapezoid") -> Floats:
    """P(1 > 2) = E[s(z)], z ~ N(difference, spread²); `spread` is sqrt(sigma1² + sigma2²)."""
    return np.exp(log_win_chance(difference, spread, points=points, rule=rule))


def probit_win_chance(difference: ArrayLike, spread: ArrayLike) -> Floats:
    """P(1 > 2) = Phi(difference / sqrt(1 + spread²)): the same for voters whose own noise is N(0, 1)."""
    m, v = _checked(difference, spread)
    return np.asarray(np.exp(log_ndtr(m / np.hypot(1, v))), dtype=np.float64)


def _checked(difference: ArrayLike, spread: ArrayLike) -> tuple[Floats, Floats]:
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
