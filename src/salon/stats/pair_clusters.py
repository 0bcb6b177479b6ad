"""Slopes of a fit summed within clusters (raters, prompts): all that clustered errors and bootstraps need.

For answer k of cluster c the slope of its log-likelihood in the parameters (q, t) is s_k; the row of cluster c is
the sum of its s_k. One compiled pass over the comparisons; after it no error needs the comparisons again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from salon.errors import BadValue, TooFew
from salon.stats.compiled import compiled
from salon.stats.pair_counts import checked_comparisons
from salon.stats.pair_fit import PairFit
from salon.stats.pair_models import answer_slope, has_tie, model_code

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TABLE_CELLS = 2**27  # a table of 1 GB
_BLOCK = 16_384


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
    code, tie = model_code(fit.model, fit.tie)
    shape = clusters, len(fit.scores) + has_tie(code)
    if shape[0] * shape[1] > _TABLE_CELLS:
        slope, slope_t = _slopes(code, tie, fit.scores, first, second, won, heavy)
        return _sparse_sums(first, second, group, slope, slope_t, shape)
    sums = np.zeros(shape)
    for start in range(0, len(first), _BLOCK):  # slopes of a block first: the accesses to the table then overlap
        part = slice(start, start + _BLOCK)
        slope, slope_t = _slopes(code, tie, fit.scores, first[part], second[part], won[part], heavy[part])
        _add(first[part], second[part], group[part], slope, slope_t, len(fit.scores), sums)
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
    a: NDArray[Any], b: NDArray[Any], cluster: NDArray[Any], slope: Floats, slope_t: Floats, shape: tuple[int, int]
) -> csr_array:
    """The same sums as entries: every comparison adds one for each item and one for the tie parameter."""
    values, columns, rows = [slope, -slope, slope_t], [a, b, np.full_like(a, shape[1] - 1)], [cluster] * 3
    parts = 3 if slope_t.any() else 2
    entries = tuple(np.concatenate(each[:parts]) for each in (values, rows, columns))
    return csr_array((entries[0], entries[1:]), shape=shape)


@compiled
def _slopes(
    code: int, tie: float, q: Floats, a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats
) -> tuple[Floats, Floats]:
    """Slopes of each answer in d and in log tie, times its weight."""
    out, out_t = np.empty(len(a)), np.empty(len(a))
    for k in range(len(a)):
        w = weight[k] if len(weight) else 1.0
        slope, slope_t = answer_slope(code, q[a[k]] - q[b[k]], tie, outcome[k])
        out[k], out_t[k] = w * slope, w * slope_t
    return out, out_t


@compiled
def _add(
    a: NDArray[Any],
    b: NDArray[Any],
    cluster: NDArray[Any],
    slope: Floats,
    slope_t: Floats,
    items: int,
    sums: Floats,
) -> None:
    for k in range(len(a)):
        sums[cluster[k], a[k]] += slope[k]
        sums[cluster[k], b[k]] -= slope[k]
    if sums.shape[1] > items:
        for k in range(len(a)):
            sums[cluster[k], items] += slope_t[k]


@compiled
def _heard(sums: Floats, noise: Floats) -> tuple[NDArray[np.bool_], Ints]:
    """Which clusters answered anything, and how many clusters spoke on each item."""
    active, heard = np.zeros(len(sums), np.bool_), np.zeros(len(noise), np.int64)
    for c in range(len(sums)):
        for k in range(len(noise)):
            active[c] |= sums[c, k] != 0
            heard[k] += abs(sums[c, k]) > noise[k]
    return active, heard
