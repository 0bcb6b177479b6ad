"""Means over prompts with intervals: of one axis of a benchmark, and of a weighted sum of axes.

Data: for prompt i and axis j a value x_ij in [0, 1] (a mean over the pictures of the prompt, so that pictures may
depend on each other in any way) and a weight w_ij >= 0, 0 where the prompt does not count on the axis.

    m_j = sum_i w_ij x_ij / W_j,   W_j = sum_i w_ij            mean of axis j, over n_j prompts with w_ij > 0
    S   = sum_j c_j m_j                                        sum with shares c_j >= 0, sum_j c_j = 1
    u_ij = w_ij (x_ij - m_j) / W_j                             what prompt i adds to the error of m_j
    v_j = n_j/(n_j - 1) sum_i u_ij^2                           variance of m_j; its cluster is the prompt

Score interval (`score_interval`). Wilson's, with the number N_j of independent PASS/FAIL answers that would have the
same variance, and a t quantile for a variance learned from n_j prompts. A few prompts may be alike by luck, above all
near 0 and 1, where the rare ones that are not make the variance: so it is pulled, with the weight of one prompt of n,
towards the largest that values with this mean can have, m (1 - m)/K:

    v'_j = ((n_j - 1) v_j + m_j (1 - m_j)/K_j)/n_j,   K_j = W_j^2 / sum_i w_ij^2      K = n for equal weights
    N_j  = m_j (1 - m_j)/v'_j,   t = t_{n_j - 1}^-1((1 + level)/2)
    l_j, h_j = (m_j + t^2/2N_j -+ t sqrt(v'_j + t^2/4N_j^2)) / (1 + t^2/N_j)

For PASS/FAIL of one picture N = n^2/(n + 1), and so it is taken where all values are 0 or all are 1. The interval stays
within [0, 1], is longer towards 1/2, and is never of zero width.

A sum is bounded by what is known of its parts (MOVER), rho_jk the correlation of u_j and u_k over prompts:

    S - low = sqrt(sum_jk rho_jk a_j a_k),   a_j = c_j (m_j - l_j);   the same upwards with a_j = c_j (h_j - m_j)

Two prompts correlate by 1 or -1 whatever they are, and -1 would make a sum surer than its parts: where no more than two
count on both axes, a negative rho is taken as 0.

Bootstrap (`bootstrap_interval`): whole prompts are drawn again, one draw for all axes, and S is computed anew; the
interval of `resample`. Where it has none, as every draw is alike or too many are undefined, the score interval.

Edges: no prompt that counts on an axis TooFew; one such prompt has a mean and no interval; values outside [0, 1], NaN,
negative weights, shapes that do not fit BadValue.

Source: Wilson 1927; Korn & Graubard 1998 and Franco, Little, Louis & Slud 2019 for effective numbers in clustered
samples; Zou & Donner 2008 for MOVER; Efron & Tibshirani 1993 for the bootstrap.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from salon.errors import BadValue, TooFew
from salon.stats.resample import SHARE, check_settings, interval
from salon.stats.result import Estimate

Floats = NDArray[np.float64]

_BLOCK = 4_000_000  # drawn prompts held at once: 32 MB
_ROUNDING = 1e-12
_UNIT = "prompt"


def score_interval(
    values: ArrayLike, weights: ArrayLike | None = None, shares: ArrayLike | None = None, *, level: float = 0.95
) -> Estimate:
    """S with its score interval, from `values` (prompts,) or (prompts, axes); see the module."""
    x, w, c = _checked(values, weights, shares)
    m, n = means(x, w), (w > 0).sum(axis=0)
    value, few = _sum(m, c), int(n.min())
    if few == 1:
        return Estimate(value, None, None, 1, _UNIT, level, "no interval: one prompt")
    u = influences(x, w)
    low, high = _score_bounds(m, u, w, level)
    rho = _correlations(u, w)
    down, up = c * (m - low), c * (high - m)
    return Estimate(
        value,
        max(0.0, value - _combined(down, rho)),
        min(1.0, value + _combined(up, rho)),
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
    """S with the percentile interval of `draws` bootstrap samples of prompts; see the module."""
    x, w, c = _checked(values, weights, shares)
    check_settings(len(x), draws, level)
    value, few = _sum(means(x, w), c), int((w > 0).sum(axis=0).min())
    if few == 1:
        return Estimate(value, None, None, 1, _UNIT, level, "no interval: one prompt")
    # a draw without any prompt of an axis has no mean of it
    made = interval(value, _drawn_sums(x, w, c, draws, rng), n=few, unit=_UNIT, level=level, within=SHARE)
    if made.low is not None:
        return made
    bound = score_interval(x, w, c, level=level)
    return replace(bound, method=f"score interval over prompts: {made.method.removeprefix('no interval: ')}")


def means(x: Floats, w: Floats) -> Floats:
    """(axes,) weighted means of (prompts, axes) values."""
    return np.asarray((w * x).sum(axis=0) / w.sum(axis=0), np.float64)


def influences(x: Floats, w: Floats) -> Floats:
    """(prompts, axes) u: what each prompt adds to the error of each mean, so that v_j = sum u_ij^2 n_j/(n_j - 1)."""
    return np.asarray(w * (x - means(x, w)) / w.sum(axis=0), np.float64)


# -- the score interval ----------------------------------------------------------------------------------------------


def _score_bounds(m: Floats, u: Floats, w: Floats, level: float) -> tuple[Floats, Floats]:
    """(axes,) lower and upper bounds of every mean on its own."""
    n, k = (w > 0).sum(axis=0), w.sum(axis=0) ** 2 / (w**2).sum(axis=0)
    t = np.asarray(stdtrit(n - 1, (1 + level) / 2), np.float64)
    most = m * (1 - m)
    v = (u**2).sum(axis=0) + most / (k * n)  # (n - 1)/n of n/(n - 1) sum u^2
    certain = most <= _ROUNDING
    inverse = np.where(certain, (1 + 1 / n) / k, v / np.where(certain, 1.0, most))  # 1/N
    pull = t**2 * inverse
    center = (m + pull / 2) / (1 + pull)
    half = t * np.sqrt(np.where(certain, 0.0, v) + t**2 * inverse**2 / 4) / (1 + pull)
    return np.clip(center - half, 0.0, m), np.clip(center + half, m, 1.0)


def _correlations(u: Floats, w: Floats) -> Floats:
    """(axes, axes) of the errors of the means; an axis without spread goes with none."""
    size = np.sqrt((u**2).sum(axis=0))
    unit = u / np.where(size > _ROUNDING, size, np.inf)
    rho = unit.T @ unit
    counts = (w > 0).astype(float)
    rho = np.where(counts.T @ counts > 2, rho, np.maximum(rho, 0.0))
    np.fill_diagonal(rho, 1.0)
    return np.asarray(rho, np.float64)


def _combined(reach: Floats, rho: Floats) -> float:
    return float(np.sqrt(max(0.0, float(reach @ rho @ reach))))


# -- the bootstrap ---------------------------------------------------------------------------------------------------


def _drawn_sums(x: Floats, w: Floats, c: Floats, draws: int, rng: np.random.Generator) -> Floats:
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


def _checked(values: ArrayLike, weights: ArrayLike | None, shares: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
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
