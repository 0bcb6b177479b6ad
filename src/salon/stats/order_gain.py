"""How much nearer to the right order does one more answer bring?

The scores q of a comparison study have a normal posterior (`active`): differences d_ij = q_i - q_j are N(m_ij, v_ij),
v_ij = C_ii + C_jj - 2 C_ij. Two items whose scores differ by d, with density w_ij = N(0; m_ij, v_ij) near d = 0, and
whose difference is known with variance v are put in the wrong order with chance Phi(-|d| / sqrt v). What is lost by it
is |d|, on average w_ij times the integral of |d| Phi(-|d| / sqrt v), which is v / 2. Over all pairs:

    loss = 1/2 sum_{i<j} w_ij v_ij = 1/2 tr(L C),      L the Laplacian of w: row sums on the diagonal, -w_ij elsewhere.

An answer about a and b adds the information t_ab x x' with x = e_a - e_b and t_ab = E[S(d)(1 - S(d))], so C becomes
C - t C x x' C / (1 + t v_ab), and the loss falls by

    gain_ab = 1/2 t_ab x' C L C x / (1 + t_ab v_ab).

So an answer counts for what it tells about all pairs still in doubt, not only about its own; pairs that are far apart
have small t, items whose neighbours are known have small L. E[S(1 - S)] is taken as N(m; 0, 8/pi + v): the logistic
density replaced by the normal one of the same height. It steers a choice and enters no estimate.

Answers that are awaited are counted as given, at the information expected from them (`expecting`): several raters at
once do not crowd around one pair.

Edges. Up to 5,000 items (dense matrices). Equal gains before the first answer: the caller draws.

Source: Bayesian A-optimal design (Chaloner & Verdinelli 1995) with the weights of the order; own derivation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from salon.stats.active import PairPosterior

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LOGISTIC = 8 / np.pi
"""Variance of the normal density as high as the logistic one."""


def order_gains(posterior: PairPosterior) -> Floats:
    """(n, n) by how much the loss is expected to fall after one answer about i and j; symmetric, zero for i = j."""
    mean, variance = _differences(posterior)
    told = _normal(mean, variance + _LOGISTIC)
    doubt = _normal(mean, np.where(variance > 0, variance, np.inf))
    np.fill_diagonal(doubt, 0.0)
    laplacian = np.diag(doubt.sum(axis=1)) - doubt
    spread = posterior.covariance @ laplacian @ posterior.covariance
    own = np.diag(spread)
    reached = np.maximum(own[:, None] + own[None, :] - 2 * spread, 0.0)
    return np.asarray(0.5 * told * reached / (1 + told * variance), np.float64)


def expecting(posterior: PairPosterior, pairs: Ints) -> PairPosterior:
    """The posterior as it will be when `pairs` (m, 2) are answered, one row for each answer; scores stay."""
    q, covariance = posterior.scores, posterior.covariance.copy()
    for a, b in pairs:
        column = covariance[:, a] - covariance[:, b]
        variance = max(float(column[a] - column[b]), 0.0)
        told = float(_normal(np.array(q[a] - q[b]), np.array(variance + _LOGISTIC)))
        covariance -= np.outer(column, column) * (told / (1 + told * variance))
    return PairPosterior(q, covariance)


def _differences(posterior: PairPosterior) -> tuple[Floats, Floats]:
    q, own = posterior.scores, np.diag(posterior.covariance)
    variance = own[:, None] + own[None, :] - 2 * posterior.covariance
    return q[:, None] - q[None, :], np.maximum(variance, 0.0)


def _normal(x: Floats, variance: Floats) -> Floats:
    """The normal density with mean 0."""
    return np.asarray(np.exp(-0.5 * x**2 / variance) / np.sqrt(2 * np.pi * variance), np.float64)
