"""Variances of scores among very many items, from the neighbourhood of each.

For an item i, free it and its opponents and hold everyone else fixed. With A the edge weights of the information
matrix, D its diagonal and s_i = D_i - sum_k A_ik^2 / D_k, the error that slopes u cause in its score is

    (u_i + sum_k A_ik u_k / D_k) / s_i,

which gives 1 / s_i under the inverse information, and for independent answers a sum over the item's pairs and those of
its opponents. For clusters, whose slopes may go together in any way, only the item's own slopes are followed:
V_i / (D_i s_i), V_i the sum of their squares by cluster.

The first two are within 1% where items have 20 opponents drawn at random (5% at 10), the third within 5% on average
from 50 opponents up. All are too small for long chains of items, where errors add up. So they are checked: at eight
items, spread over the range of variances, the variance of q_i - mean(q) is computed exactly, and all are multiplied by
the largest ratio found if that exceeds 1 (which makes the third up to 45% too wide at 20 opponents). Where rating
anchors fix the location, the variance of mean(q), exact again, is added, which is too wide for the anchors themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from salon.stats.compiled import compiled
from salon.stats.pair_information import Information

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHECKED = 8
_EXACT = 1e-3  # of a linear system; the variance it gives is better still


def nearby_hessian(bread: Information, *, located: bool) -> tuple[Floats, float]:
    """Variances under the inverse information, and the factor the check put on them.

    `located`: rating anchors fix the location of the scores.
    """
    return _checked(bread, 1 / _left(bread), bread.quadratic, located)


def nearby_sandwich(bread: Information, meat: Information, *, located: bool) -> tuple[Floats, float]:
    """Variances under independent answers whose squared slopes are `meat`."""
    spread = _spread_nearby(bread.i, bread.j, bread.edge, meat.edge, _weight(bread), meat.own)
    return _checked(bread, spread / _left(bread) ** 2, meat.quadratic, located)


def nearby_clusters(bread: Information, sums: Any, *, located: bool) -> tuple[Floats, float]:
    """Variances under clusters whose slopes add up to the rows of `sums` (clusters, parameters)."""
    n, count = bread.items, sums.shape[0]
    mean = np.asarray(sums.mean(axis=0)).ravel()[:n]
    if isinstance(sums, csr_array):
        squares = np.bincount(sums.indices, sums.data**2, sums.shape[1])[:n]
    else:
        squares = np.einsum("ci,ci->i", sums, sums)[:n]
    small = count / (count - 1)
    spread = (squares - count * mean**2) * small
    variance = spread / (_weight(bread) * _left(bread))
    return _checked(bread, variance, lambda x: float((sums @ x).var() * count * small), located)


def _weight(bread: Information) -> Floats:
    """D of the module's text: a prior counts, rating anchors do not, as they say little about q_i - mean(q)."""
    return bread.own + float(bread.ridge.min())


def _left(bread: Information) -> Floats:
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
        found = exact(bread.solve(away, tolerance=_EXACT))
        if variance[item] > 0:  # no spread at all is refused by name where errors are made
            ratio = max(ratio, found / float(variance[item]))
    shift = exact(bread.solve(mean, tolerance=_EXACT)) if located else 0.0
    return variance * ratio + shift, ratio


@compiled
def _spread_nearby(i: Ints, j: Ints, edge: Floats, meat: Floats, own: Floats, total: Floats) -> Floats:
    """sum_l m_il (1 - A_il/D_l)^2 + sum_k (A_ik/D_k)^2 (M_k - m_ik) for every item i, M the sums of m by item."""
    out = np.zeros(len(own))
    for k in range(len(i)):
        x, y = i[k], j[k]
        at_x, at_y = edge[k] / own[x], edge[k] / own[y]
        out[x] += meat[k] * (1 - at_y) ** 2 + at_y**2 * (total[y] - meat[k])
        out[y] += meat[k] * (1 - at_x) ** 2 + at_x**2 * (total[x] - meat[k])
    return out
