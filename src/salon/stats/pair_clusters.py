"""Slopes of a fit summed within clusters (raters, prompts): all that clustered errors and bootstraps need.

For answer k of cluster c the slope of its log-likelihood in the parameters (q, t) is s_k; the row of cluster c is
the sum of its s_k. One compiled pass over the comparisons; after it no error needs the comparisons again.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from salon.errors import BadValue, TooFew
from salon.stats.pair_counts import checked_comparisons
from salon.stats.pair_fit import PairFit
from salon.stats.pair_models import answer_slope, has_tie, model_code

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TABLE_CELLS = 2**27  # a table of 1 GB


def cluster_scores(
    fit: PairFit,
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    cluster: ArrayLike,
    clusters: int,
    *,
    weight: ArrayLike | None = None,
) -> Floats | csr_array:
    """Sums of slopes within clusters, (clusters, parameters): one column per item, then log tie where fitted.

    Sparse when the table would pass 1 GB.
    """
    first, second, won, heavy = checked_comparisons(a, b, outcome, len(fit.scores), weight)
    group = np.ascontiguousarray(cluster)
    if group.shape != first.shape or group.dtype.kind not in "iu":
        raise BadValue("every comparison needs the number of its cluster", found=f"{group.dtype} {group.shape}")
    if group.min() < 0 or group.max() >= clusters:
        raise BadValue(f"clusters are numbered 0 to {clusters - 1}", found=f"{group.min()} to {group.max()}")
    code, t = model_code(fit.model, fit.tie)
    shape = clusters, len(fit.scores) + has_tie(code)
    if shape[0] * shape[1] > _TABLE_CELLS:
        return _sparse_sums(code, t, fit.scores, first, second, won, heavy, group, shape)
    sums = np.zeros(shape)
    _add_slopes(code, t, fit.scores, first, second, won, heavy, group, sums)
    return sums


def answering_clusters(sums: Floats | csr_array, noise: Floats) -> Any:
    """The rows of clusters that answered anything; TooFew unless two of them spoke on every item.

    `noise` (items,) is the rounding below which a sum counts as nothing.
    """
    if isinstance(sums, csr_array):
        table = abs(sums)
        active = np.asarray(table.sum(axis=1)).ravel() > 0
        heard = np.bincount(table.indices[table.data > np.append(noise, np.inf)[table.indices]], minlength=len(noise))
    else:
        active, heard = _heard(sums, noise)
    if active.sum() < 2:
        raise TooFew(
            "clustered errors need at least 2 clusters", found=int(active.sum()), remedy="treat answers as independent"
        )
    if heard.min() < 2:
        raise TooFew(
            "clustered errors need answers on every item from at least 2 clusters",
            found=f"items {np.flatnonzero(heard < 2)[:8].tolist()} answered by one cluster",
            remedy="cluster by something that crosses items (raters), or treat answers as independent",
        )
    return sums if active.all() else sums[np.flatnonzero(active)]


def _sparse_sums(
    code: int,
    t: float,
    q: Floats,
    a: NDArray[Any],
    b: NDArray[Any],
    outcome: NDArray[Any],
    weight: Floats,
    cluster: NDArray[Any],
    shape: tuple[int, int],
) -> csr_array:
    """The same sums as entries: every comparison adds one for each item and one for the tie parameter."""
    slope, slope_t = _slopes_of(code, t, q, a, b, outcome, weight)
    values, columns, rows = [slope, -slope], [a, b], [cluster, cluster]
    if shape[1] > len(q):
        values, rows, columns = values + [slope_t], rows + [cluster], columns + [np.full_like(a, len(q))]
    return csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)


@numba.njit(cache=True)
def _add_slopes(
    code: int,
    t: float,
    q: Floats,
    a: NDArray[Any],
    b: NDArray[Any],
    outcome: NDArray[Any],
    weight: Floats,
    cluster: NDArray[Any],
    sums: Floats,
) -> None:
    n = len(q)
    for k in range(len(a)):
        slope, slope_t = answer_slope(code, q[a[k]] - q[b[k]], t, outcome[k])
        w = weight[k] if len(weight) else 1.0
        row = sums[cluster[k]]
        row[a[k]] += w * slope
        row[b[k]] -= w * slope
        if len(row) > n:
            row[n] += w * slope_t


@numba.njit(cache=True)
def _slopes_of(
    code: int, t: float, q: Floats, a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats
) -> tuple[Floats, Floats]:
    out, out_t = np.empty(len(a)), np.empty(len(a))
    for k in range(len(a)):
        w = weight[k] if len(weight) else 1.0
        slope, slope_t = answer_slope(code, q[a[k]] - q[b[k]], t, outcome[k])
        out[k], out_t[k] = w * slope, w * slope_t
    return out, out_t


@numba.njit(cache=True)
def _heard(sums: Floats, noise: Floats) -> tuple[NDArray[np.bool_], Ints]:
    """Which clusters answered anything, and how many clusters spoke on each item."""
    active, heard = np.zeros(len(sums), np.bool_), np.zeros(len(noise), np.int64)
    for c in range(len(sums)):
        for k in range(len(noise)):
            active[c] |= sums[c, k] != 0
            heard[k] += abs(sums[c, k]) > noise[k]
    return active, heard
