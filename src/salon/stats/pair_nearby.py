"""Variances of scores among very many items, from the neighbourhood of each.

For an item i, free it and its opponents and hold everyone else fixed. With A the edge weights of the information
matrix, D its diagonal and s_i = D_i - sum_k A_ik^2 / D_k, the error that slopes u cause in its score is

    (u_i + sum_k A_ik u_k / D_k) / s_i .

It is exact for stars, within 1% where items have 20 opponents drawn at random (5% at 10), and too small for long
chains of items, where errors add up. So it is checked: at eight items, spread over the range of variances,
the variance of q_i - mean(q) is computed exactly, and all are multiplied by the largest ratio found if that exceeds
1. Where rating anchors fix the location, the variance of mean(q), exact again, is added, which is too wide for the
anchors themselves. The uncertainty of the tie parameter is left out: it falls with the number of all comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from salon.stats.pair_information import Information

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHECKED = 8
_EXACT = 1e-4
_BLOCK = 256  # clusters at a time


def nearby_hessian(bread: Information, *, located: bool) -> tuple[Floats, float]:
    """Variances under the inverse information, 1/s, and the factor the check put on them.

    `located`: rating anchors fix the location of the scores.
    """
    return _checked(bread, 1.0 / _freedom(bread), bread.quadratic, located)


def nearby_sandwich(bread: Information, meat: Information, *, located: bool) -> tuple[Floats, float]:
    """Variances under independent answers whose squared slopes are `meat`."""
    spread = _spread_nearby(bread.i, bread.j, bread.edge, meat.edge, _weight(bread), meat.own)
    return _checked(bread, spread / _freedom(bread) ** 2, meat.quadratic, located)


def nearby_clusters(bread: Information, sums: Any, *, located: bool) -> tuple[Floats, float]:
    """Variances under clusters whose slopes add up to the rows of `sums` (clusters, parameters)."""
    n, count = bread.items, sums.shape[0]
    own, freedom = _weight(bread), _freedom(bread)
    weights = csr_array((bread.edge, (bread.i, bread.j)), shape=(n, n))
    total, square = np.zeros(n), np.zeros(n)
    for start in range(0, count, _BLOCK):
        block = sums[start : start + _BLOCK, :n]
        rows = block.toarray() if isinstance(block, csr_array) else block
        scaled = (rows / own).T
        moved = (rows.T + weights @ scaled + weights.T @ scaled) / freedom[:, None]
        total += moved.sum(axis=1)
        square += (moved**2).sum(axis=1)
    small = count / (count - 1)
    variance = (square - total**2 / count) * small
    return _checked(bread, variance, lambda x: float((sums @ x).var() * count * small), located)


def _weight(bread: Information) -> Floats:
    """D of the module's text: a prior counts, rating anchors do not, as they say little about q_i - mean(q)."""
    return bread.own + float(bread.ridge.min())


def _freedom(bread: Information) -> Floats:
    """s of the module's text."""
    own, square = _weight(bread), bread.edge**2
    lost = np.bincount(bread.i, square / own[bread.j], bread.items)
    lost += np.bincount(bread.j, square / own[bread.i], bread.items)
    return np.asarray(own - lost)


def _checked(
    bread: Information, variance: Floats, exact: Callable[[Floats], float], located: bool
) -> tuple[Floats, float]:
    """The variances times the largest ratio of exact to near variance at a few items, if above 1."""
    mean = np.zeros(bread.parameters)
    mean[: bread.items] = 1 / bread.items
    ratio = 1.0
    for item in np.argsort(variance)[np.linspace(0, bread.items - 1, _CHECKED).astype(np.int64)]:
        away = -mean
        away[item] += 1.0
        ratio = max(ratio, exact(bread.solve(away, tolerance=_EXACT)) / float(variance[item]))
    shift = exact(bread.solve(mean, tolerance=_EXACT)) if located else 0.0
    return variance * ratio + shift, ratio


@numba.njit(cache=True)
def _spread_nearby(i: Ints, j: Ints, edge: Floats, meat: Floats, own: Floats, total: Floats) -> Floats:
    """sum_l m_il (1 - A_il/D_l)^2 + sum_k (A_ik/D_k)^2 (M_k - m_ik) for every item i."""
    out = np.zeros(len(own))
    for k in range(len(i)):
        x, y = i[k], j[k]
        at_x, at_y = edge[k] / own[x], edge[k] / own[y]
        out[x] += meat[k] * (1 - at_y) ** 2 + at_y**2 * (total[y] - meat[k])
        out[y] += meat[k] * (1 - at_x) ** 2 + at_x**2 * (total[x] - meat[k])
    return out
