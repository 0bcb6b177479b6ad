"""Errors of scores from comparisons: what the answers allow, under each view of what is independent.

H is the information at the fit (pair_information, with prior and rating anchors), s_k the slope of the
log-likelihood of answer k in the parameters (q, t).

    hessian       H^-1                                     the model is true, and so is its count of ties
    independent   H^-1 (sum_k s_k s_k') H^-1               every answer independent, the model may be wrong (Huber)
    clustered     H^-1 (S'S) H^-1 C/(C-1), df = C-1        answers of one cluster (rater, prompt) depend in any way;
                                                           S (C, parameters): sums of s_k within clusters, centred
    bootstrap     q + H^-1 S'(w - 1), w ~ Multinomial      one Newton step per draw of clusters: no draw can diverge

Ties as half wins make a tie less variable than a win, so the plain inverse Hessian is too wide for Bradley-Terry
with ties (by 1/sqrt(1 - tie share) for equal items: 18% at 28% ties); the sandwich is right. The tie parameter of
Davidson and Rao-Kupper is estimated jointly: the covariance of q allows for it, and its own error is `tie_se`.

Scores are centred, and errors are those of q_i - mean(q), unless rating anchors fix the location (their targets
count as exact). With a prior, `hessian` is the posterior's spread (Laplace); the others are the sampling spread of
the shrunken scores, which are biased towards zero: they do not cover the true scores where the prior matters.

Above DENSE_ITEMS items there is no covariance, and `se` comes from the neighbourhood of each item: the item and
its opponents are free, everyone else is held fixed. With A the edge weights, D their sums by item and
s_i = D_i - sum_k A_ik^2 / D_k, an item's error is (u_i + sum_k A_ik u_k / D_k) / s_i for slopes u. It is exact for
stars, within 1% where items have 20 opponents drawn at random, and too small for long chains of items.

Edges: fewer than two clusters, an item whose answers all come from one cluster, or answers without any spread raise
TooFew. An error is never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from salon.errors import BadValue, TooFew
from salon.stats.pair_counts import PairCounts, checked_comparisons
from salon.stats.pair_fit import PairFit, information, penalty
from salon.stats.pair_information import DENSE_ITEMS, Information
from salon.stats.pair_models import has_tie, model_code, slopes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TABLE_CELLS = 2**27  # cluster sums held as a table up to 1 GB, sparse above
_NOTHING = 1e-10  # a variance this small beside the Hessian's is rounding


@dataclass(frozen=True, slots=True)
class Errors:
    """Standard errors of scores, with what they assume."""

    se: Floats
    covariance: Floats | None
    """(items, items) of the centred scores; None above DENSE_ITEMS items."""
    df: float
    """Degrees of freedom of the t law: clusters - 1, or infinity (normal)."""
    method: str
    tie_se: float | None = None
    """Error of the tie parameter (nu or theta); None where the model has none or it sits on its boundary."""


def hessian_errors(fit: PairFit, counts: PairCounts) -> Errors:
    """The plain inverse information: right when the model is, too wide for ties counted as half wins."""
    bread = fit_information(fit, counts)
    if fit.scores.size > DENSE_ITEMS:
        return _local(fit, bread, _near_variance(bread, bread), np.inf, "inverse Hessian")
    return _errors(fit, bread, _inverse(bread), np.inf, "inverse Hessian")


def independent_errors(fit: PairFit, counts: PairCounts) -> Errors:
    """Huber's sandwich with every answer independent of every other."""
    bread, meat = fit_information(fit, counts), _answer_spread(fit, counts)
    if fit.scores.size > DENSE_ITEMS:
        return _local(fit, bread, _near_variance(bread, meat), np.inf, "sandwich, independent answers")
    inverse = _inverse(bread)
    return _errors(fit, bread, inverse @ meat.dense() @ inverse, np.inf, "sandwich, independent answers")


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
    columns = len(fit.scores) + has_tie(code)
    if clusters * columns > _TABLE_CELLS:
        return _sparse_sums(code, t, fit.scores, first, second, won, heavy, group, (clusters, columns))
    sums = np.zeros((clusters, columns))
    _add_slopes(code, t, fit.scores, first, second, won, heavy, group, sums)
    return sums


def clustered_errors(fit: PairFit, counts: PairCounts, sums: Floats | csr_array) -> Errors:
    """The cluster sandwich from `cluster_scores`; clusters without answers do not count."""
    bread = fit_information(fit, counts)
    own = _active(sums, bread)
    count = own.shape[0]
    method = f"sandwich, {count} clusters"
    if fit.scores.size > DENSE_ITEMS:
        return _local(fit, bread, _near_cluster_variance(bread, own), count - 1.0, method)
    mean = np.asarray(own.mean(axis=0)).ravel()
    square = own.T @ own
    meat = (square.toarray() if isinstance(square, csr_array) else square) - count * np.outer(mean, mean)
    inverse = _inverse(bread)
    return _errors(fit, bread, inverse @ meat @ inverse * (count / (count - 1)), count - 1.0, method)


def bootstrap_scores(
    fit: PairFit, counts: PairCounts, sums: Floats | csr_array, *, draws: int, rng: np.random.Generator
) -> Floats:
    """Scores (draws, items) on resampled clusters, one Newton step from the fit each."""
    if draws < 1:
        raise BadValue("at least one draw is needed", found=draws)
    bread = fit_information(fit, counts)
    own = _active(sums, bread)
    count, items = own.shape[0], len(fit.scores)
    weights = np.empty((draws, count))
    for k in range(draws):
        weights[k] = np.bincount(rng.integers(0, count, count), minlength=count)
    weights -= 1.0
    moved = weights @ own
    if items <= DENSE_ITEMS:
        steps = bread.factor().solve(moved.T).T
    else:
        steps = np.stack([bread.solve(row) for row in moved])
    return fit.scores + steps[:, :items]


def fit_information(fit: PairFit, counts: PairCounts) -> Information:
    """The information matrix at the fit, with the ridge of its prior and rating anchors."""
    code, t = model_code(fit.model, fit.tie)
    ridge, _ = penalty(counts.items, fit.prior, fit.pull)
    return information(counts, code, t, fit.scores, ridge)[0]


def _inverse(bread: Information) -> Floats:
    return bread.factor().solve(np.eye(bread.parameters))


def _answer_spread(fit: PairFit, counts: PairCounts) -> Information:
    """sum_k s_k s_k', which has the shape of an information matrix without a ridge."""
    code, t = model_code(fit.model, fit.tie)
    edge, cross = np.empty(len(counts.i)), np.zeros(counts.items)
    corner = _squares(code, t, fit.scores, counts.i, counts.j, counts.wins, counts.losses, counts.ties, edge, cross)
    return Information(
        counts.items, counts.i, counts.j, edge, cross, corner if has_tie(code) else None, np.zeros(counts.items)
    )


def _errors(fit: PairFit, bread: Information, full: Floats, df: float, method: str) -> Errors:
    """Errors from the covariance of all parameters."""
    items = len(fit.scores)
    covariance = full[:items, :items]
    if fit.pull is None:
        covariance = covariance - covariance.mean(axis=0) - covariance.mean(axis=1)[:, None] + covariance.mean()
    variance = np.diag(covariance).copy()
    _refuse_zero(variance, bread)
    tie_se = None if bread.tie is None or fit.tie is None else fit.tie * float(np.sqrt(full[-1, -1]))
    return Errors(np.sqrt(variance), (covariance + covariance.T) / 2, df, method, tie_se)


def _local(fit: PairFit, bread: Information, variance: Floats, df: float, method: str) -> Errors:
    _refuse_zero(variance, bread)
    return Errors(np.sqrt(variance), None, df, f"{method}; each item with its opponents")


def _refuse_zero(variance: Floats, bread: Information) -> None:
    none = ~(variance > _NOTHING / bread.diagonal()[: bread.items])
    if none.any():
        raise TooFew(
            "an error needs answers that vary",
            found=f"no spread at all in the answers to items {np.flatnonzero(none)[:8].tolist()}",
            remedy="collect more answers, or use the model's own errors (hessian)",
        )


def _active(sums: Floats | csr_array, bread: Information) -> Any:
    """The clusters that answered anything; at least two of them for every item."""
    if sums.shape[1] != bread.parameters:
        raise BadValue(f"cluster sums need {bread.parameters} columns", found=sums.shape[1])
    table = abs(sums)
    own = sums[np.flatnonzero(np.asarray(table.sum(axis=1)).ravel() > 0)]
    if own.shape[0] < 2:
        raise TooFew(
            "clustered errors need at least 2 clusters", found=own.shape[0], remedy="treat answers as independent"
        )
    noise = 1e-9 * np.sqrt(bread.diagonal()[: bread.items])
    heard = np.asarray((table[:, : bread.items] > noise).sum(axis=0)).ravel()
    if heard.min() < 2:
        raise TooFew(
            "clustered errors need answers on every item from at least 2 clusters",
            found=f"items {np.flatnonzero(heard < 2)[:8].tolist()} answered by one cluster",
            remedy="cluster by something that crosses items (raters), or treat answers as independent",
        )
    return own


def _near_variance(bread: Information, meat: Information) -> Floats:
    near, own = _near(bread)
    out: Floats = _spread_nearby(bread.i, bread.j, bread.edge, meat.edge, own, np.zeros(bread.items))
    return (out + _ridge_share(bread, meat)) / near**2


def _ridge_share(bread: Information, meat: Information) -> Floats:
    """What the prior adds to the spread when the meat is the information itself."""
    if not meat.ridge.any():
        return np.zeros(bread.items)
    own = bread.diagonal()[: bread.items]
    far = meat.ridge / own**2
    squares = np.bincount(bread.i, bread.edge**2 * far[bread.j], bread.items)
    squares += np.bincount(bread.j, bread.edge**2 * far[bread.i], bread.items)
    return np.asarray(meat.ridge + squares)


def _near(bread: Information) -> tuple[Floats, Floats]:
    """s and D of the module's text."""
    own = bread.diagonal()[: bread.items]
    square = bread.edge**2
    lost = np.bincount(bread.i, square / own[bread.j], bread.items)
    lost += np.bincount(bread.j, square / own[bread.i], bread.items)
    return own - lost, own


def _near_cluster_variance(bread: Information, sums: Any) -> Floats:
    near, own = _near(bread)
    n = bread.items
    weights = csr_array((bread.edge, (bread.i, bread.j)), shape=(n, n))
    count = sums.shape[0]
    total, square = np.zeros(n), np.zeros(n)
    for start in range(0, count, 256):
        block = sums[start : start + 256, :n]
        rows = block.toarray() if isinstance(block, csr_array) else block
        scaled = (rows / own).T
        x = (rows.T + weights @ scaled + weights.T @ scaled) / near[:, None]
        total += x.sum(axis=1)
        square += (x**2).sum(axis=1)
    return np.asarray((square - total**2 / count) * (count / (count - 1)))


@numba.njit(cache=True)
def _squares(
    code: int, t: float, q: Floats, i: Ints, j: Ints, wins: Floats, losses: Floats, ties: Floats,
    edge: Floats, cross: Floats,
) -> float:  # fmt: skip
    corner = 0.0
    for k in range(len(i)):
        win, loss, draw, win_t, loss_t, draw_t = slopes(code, q[i[k]] - q[j[k]], t)
        edge[k] = wins[k] * win**2 + losses[k] * loss**2 + ties[k] * draw**2
        both = wins[k] * win * win_t + losses[k] * loss * loss_t + ties[k] * draw * draw_t
        cross[i[k]] += both
        cross[j[k]] -= both
        corner += wins[k] * win_t**2 + losses[k] * loss_t**2 + ties[k] * draw_t**2
    return corner


@numba.njit(cache=True)
def _add_slopes(
    code: int, t: float, q: Floats, a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats,
    cluster: NDArray[Any], sums: Floats,
) -> None:  # fmt: skip
    tie, each = sums.shape[1] > len(q), len(weight) > 0
    for k in range(len(a)):
        x, y, c, o = a[k], b[k], cluster[k], outcome[k]
        win, loss, draw, win_t, loss_t, draw_t = slopes(code, q[x] - q[y], t)
        w = weight[k] if each else 1.0
        slope = w * (win if o == 0 else (loss if o == 1 else draw))
        sums[c, x] += slope
        sums[c, y] -= slope
        if tie:
            sums[c, len(q)] += w * (win_t if o == 0 else (loss_t if o == 1 else draw_t))


def _sparse_sums(
    code: int, t: float, q: Floats, a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats,
    cluster: NDArray[Any], shape: tuple[int, int],
) -> csr_array:  # fmt: skip
    """The same sums as entries: every comparison adds one for each item and one for the tie parameter."""
    slope, slope_t = _slopes_of(code, t, q, a, b, outcome, weight)
    values, columns, rows = [slope, -slope], [a, b], [cluster, cluster]
    if shape[1] > len(q):
        values, rows = values + [slope_t], rows + [cluster]
        columns = columns + [np.full(len(a), len(q))]
    return csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)


@numba.njit(cache=True)
def _slopes_of(
    code: int, t: float, q: Floats, a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats
) -> tuple[Floats, Floats]:
    out, out_t = np.empty(len(a)), np.empty(len(a))
    for k in range(len(a)):
        win, loss, draw, win_t, loss_t, draw_t = slopes(code, q[a[k]] - q[b[k]], t)
        w, o = weight[k] if len(weight) else 1.0, outcome[k]
        out[k] = w * (win if o == 0 else (loss if o == 1 else draw))
        out_t[k] = w * (win_t if o == 0 else (loss_t if o == 1 else draw_t))
    return out, out_t


@numba.njit(cache=True)
def _spread_nearby(i: Ints, j: Ints, edge: Floats, meat: Floats, own: Floats, total: Floats) -> Floats:
    """sum_l m_il (1 - A_il/D_l)^2 + sum_k (A_ik/D_k)^2 (M_k - m_ik) for every item i; `total` is room for M."""
    out = np.zeros(len(own))
    for k in range(len(i)):
        total[i[k]] += meat[k]
        total[j[k]] += meat[k]
    for k in range(len(i)):
        x, y = i[k], j[k]
        at_x, at_y = edge[k] / own[x], edge[k] / own[y]
        out[x] += meat[k] * (1 - at_y) ** 2 + at_y**2 * (total[y] - meat[k])
        out[y] += meat[k] * (1 - at_x) ** 2 + at_x**2 * (total[x] - meat[k])
    return out
