"""Errors of scores from comparisons: what the answers allow, under each view of what is independent.

H is the information at the fit (pair_information, with prior and rating anchors), s_k the slope of the
log-likelihood of answer k in the parameters (q, t).

    hessian       H^-1                                   the model is true, and so is its count of ties
    independent   H^-1 (sum_k s_k s_k') H^-1             every answer independent, the model may be wrong (Huber 1967)
    clustered     H^-1 (S'S) H^-1 C/(C-1), df = C-1      answers of one cluster (rater, prompt) depend in any way;
                                                         S (C, parameters): sums of s_k by cluster, centred
    bootstrap     q + H^-1 S'(w - 1), w ~ Multinomial    one Newton step per draw of clusters: no draw can diverge

Ties as half wins make a tie less variable than a win, so the plain inverse Hessian is too wide for Bradley-Terry
with ties (by 1/sqrt(1 - tie share) for equal items: 18% at 28% ties); the sandwich is right. The tie parameter of
Davidson and Rao-Kupper is estimated jointly: the covariance of q allows for it, and its own error is `tie_se`.
A weight counts as that many equal, separate answers in `hessian` and `independent`.

Scores are centred, and errors are those of q_i - mean(q), unless rating anchors fix the location (their targets
count as exact). With a prior, `hessian` is the posterior's spread (Laplace); the others are the sampling spread of
the shrunken scores, which are biased towards zero: they do not cover the true scores where the prior matters.

Above DENSE_ITEMS items there is no covariance, and `se` comes from each item's neighbourhood (`nearby_hessian`).

Edges: fewer than two clusters, an item whose answers all come from one cluster, or answers without any spread raise
TooFew. An error is never zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.comparisons import PairCounts, check_comparisons
from salon.stats.jit import compiled, compiled_above
from salon.stats.pair_fit import PairFit, fit_information
from salon.stats.pair_models import (
    DENSE_ITEMS,
    THURSTONE,
    Information,
    answer_slope,
    chances,
    has_tie,
    model_code,
    slopes,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEW = 300_000  # elements that numpy adds in less time than it takes to load machine code
_NOTHING = 1e-10  # a variance this small beside the Hessian's is rounding
_ROUNDING = 1e-6  # a sum of slopes below this share of its standard error is nothing


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
    """Error of the tie parameter (nu or theta); None where the model has none, it sits on its boundary, or items
    are too many for a covariance."""
    each_df: Floats | None = None
    """(items,) degrees of freedom of each error, where they differ; `df` is then their median."""
    differences: Floats | None = None
    """(items, items) variances of differences, where they do not follow from `covariance`."""
    difference_df: Floats | None = None
    """(items, items) their degrees of freedom."""
    parts: tuple[Errors, ...] = ()
    """Of errors over raters and prompts: those over raters, over prompts and over cells."""

    @property
    def item_df(self) -> Floats:
        """(items,) degrees of freedom of each error."""
        return np.full(len(self.se), self.df) if self.each_df is None else self.each_df

    def difference_variances(self) -> Floats | None:
        """(items, items) variances of score_i - score_j; None above DENSE_ITEMS items."""
        if self.differences is not None or self.covariance is None:
            return self.differences
        own = self.covariance.diagonal()
        return np.asarray(own[:, None] + own[None, :] - 2 * self.covariance)


class FittedInformation:
    """The information at a fit, and its inverse made once, however many errors ask for it."""

    def __init__(self, fit: PairFit, counts: PairCounts) -> None:
        self.matrix = fit_information(fit, counts)

    @cached_property
    def inverse(self) -> Floats:
        """(parameters, parameters); with free location the scores of a solution sum to zero."""
        return self.matrix.factor().inverse()


def hessian_errors(fit: PairFit, counts: PairCounts, *, at: FittedInformation | None = None) -> Errors:
    """The plain inverse information: right when the model is, too wide for ties counted as half wins."""
    at = at or FittedInformation(fit, counts)
    bread = at.matrix
    if bread.items > DENSE_ITEMS:
        return _nearby_errors(bread, *nearby_hessian(bread, located=fit.pull is not None), np.inf, "inverse Hessian")
    n, inverse = bread.items, at.inverse
    covariance = inverse[:n, :n]
    if fit.pull is None:
        covariance = covariance - covariance.mean(axis=0) - covariance.mean(axis=1)[:, None] + covariance.mean()
    return _errors(fit, bread, covariance.diagonal(), covariance, inverse[-1, -1], np.inf, "inverse Hessian")


def independent_errors(
    fit: PairFit, counts: PairCounts, *, at: FittedInformation | None = None, covariance: bool = True
) -> Errors:
    """Huber's sandwich with every answer independent of every other; without a covariance it costs half."""
    # sum_k s_k s_k' has the shape of an information matrix without a ridge.
    code, tie = model_code(fit.model, fit.tie)
    n = counts.items
    edge, own, cross = np.empty(len(counts.i)), np.zeros(n), np.zeros(n)
    corner = _add_squares(
        code, tie, fit.scores, counts.i, counts.j, counts.wins, counts.losses, counts.ties, edge, own, cross
    )
    meat = Information(n, counts.i, counts.j, edge, own, cross, corner if has_tie(code) else None, np.zeros(n))
    bread, method = (at := at or FittedInformation(fit, counts)).matrix, "sandwich, independent answers"
    if n > DENSE_ITEMS:
        return _nearby_errors(bread, *nearby_sandwich(bread, meat, located=fit.pull is not None), np.inf, method)
    moves = _moves(fit, at)
    spread = moves @ meat.dense()
    variance = np.einsum("ij,ij->i", spread, moves)
    both = spread[:n] @ moves[:n].T if covariance else None
    return _errors(fit, bread, variance[:n], both, variance[-1], np.inf, method)


def clustered_errors(
    fit: PairFit, counts: PairCounts, sums: Floats | csr_array, *, at: FittedInformation | None = None
) -> Errors:
    """The cluster sandwich from `cluster_scores`; clusters without answers do not count."""
    from scipy.sparse import csr_array

    at = at or FittedInformation(fit, counts)
    bread = at.matrix
    own = _answering_sums(fit, sums, bread)
    count, n = own.shape[0], bread.items
    method = f"sandwich, {count} clusters"
    if n > DENSE_ITEMS:
        return _nearby_errors(bread, *nearby_clusters(bread, own, located=fit.pull is not None), count - 1.0, method)
    mean, factor = np.asarray(own.mean(axis=0)).ravel(), count / (count - 1)
    moves = _moves(fit, at)
    if isinstance(own, csr_array) or count > bread.parameters:  # the sums of products first
        square = own.T @ own
        meat = (square.toarray() if isinstance(square, csr_array) else square) - count * np.outer(mean, mean)
        full = moves @ meat @ moves.T * factor
    else:  # what each cluster moves
        moved = moves @ ((own - mean) * np.sqrt(factor)).T
        full = moved @ moved.T
    return _errors(fit, bread, full.diagonal()[:n], full[:n, :n], full[-1, -1], count - 1.0, method)


def bootstrap_scores(
    fit: PairFit, counts: PairCounts, sums: Floats | csr_array, *, draws: int, rng: np.random.Generator
) -> Floats:
    """Scores (draws, items) on resampled clusters, one Newton step from the fit each."""
    if draws < 1:
        raise BadValue("at least one draw is needed", found=draws)
    bread = fit_information(fit, counts)
    own = _answering_sums(fit, sums, bread)
    count = own.shape[0]
    weights = np.empty((draws, count))
    for k in range(draws):
        weights[k] = np.bincount(rng.integers(0, count, count), minlength=count)
    weights -= 1.0
    moved = weights @ own
    if bread.items <= DENSE_ITEMS:
        steps = bread.factor().solve(moved.T).T
    else:
        steps = np.stack([bread.solve(row) for row in moved])
    return fit.scores + steps[:, : bread.items]


def _moves(fit: PairFit, at: FittedInformation) -> Floats:
    """How far slopes move every parameter: scores around their mean, unless rating anchors fix the location."""
    moves = at.inverse
    if fit.pull is None:
        n = at.matrix.items
        moves = moves.copy()
        moves[:n] -= moves[:n].mean(axis=0)
    return moves


def _answering_sums(fit: PairFit, sums: Floats | csr_array, bread: Information) -> Floats:
    if sums.shape[1] != bread.parameters:
        raise BadValue(f"cluster sums need {bread.parameters} columns", found=sums.shape[1])
    weight = bread.diagonal()[: bread.items]
    left = 40 * fit.convergence.gradient * weight  # what the iteration left, and a margin: a pair weighs at most 1/4
    own: Floats = answering_clusters(sums, _ROUNDING * np.sqrt(weight) + left)
    return own


def _errors(
    fit: PairFit, bread: Information, variance: Floats, covariance: Floats | None, tie: float, df: float, method: str
) -> Errors:
    """Errors of scores from their variances; `tie` is the variance of the last parameter."""
    _refuse_zero(variance, bread)
    tie_se = None if bread.tie is None or fit.tie is None else fit.tie * float(np.sqrt(tie))
    both = None if covariance is None else (covariance + covariance.T) / 2
    return Errors(np.sqrt(variance), both, df, method, tie_se)


def _nearby_errors(bread: Information, variance: Floats, ratio: float, df: float, method: str) -> Errors:
    _refuse_zero(variance, bread)
    method += f"; each item with its opponents, variances x {ratio:.3g} after exact checks"
    return Errors(np.sqrt(variance), None, df, method)


def _refuse_zero(variance: Floats, bread: Information) -> None:
    none = ~(variance > _NOTHING / bread.diagonal()[: bread.items])
    if none.any():
        raise TooFew(
            "an error needs answers that vary",
            found=f"no spread at all in the answers on items {np.flatnonzero(none)[:8].tolist()}",
            remedy="collect more answers, or use the model's own errors (hessian)",
        )


def _add_squares_arrays(
    code: int,
    tie: float,
    q: Floats,
    i: Ints,
    j: Ints,
    wins: Floats,
    losses: Floats,
    ties: Floats,
    edge: Floats,
    own: Floats,
    cross: Floats,
) -> float:
    if code == THURSTONE:
        return _add_squares.machine(code, tie, q, i, j, wins, losses, ties, edge, own, cross)  # type: ignore[no-any-return]  # machine code
    win, loss, draw, win_t, loss_t, draw_t = slopes.loop(code, tie, *chances.loop(code, q[i] - q[j], tie))
    edge[:] = wins * win**2 + losses * loss**2 + ties * draw**2
    own += np.bincount(i, edge, len(own)) + np.bincount(j, edge, len(own))
    both = wins * win * win_t + losses * loss * loss_t + ties * draw * draw_t
    cross += np.bincount(i, both, len(own)) - np.bincount(j, both, len(own))
    return float((wins * win_t**2 + losses * loss_t**2 + ties * draw_t**2).sum())


@compiled_above(_FEW, _add_squares_arrays)
def _add_squares(
    code: int,
    tie: float,
    q: Floats,
    i: Ints,
    j: Ints,
    wins: Floats,
    losses: Floats,
    ties: Floats,
    edge: Floats,
    own: Floats,
    cross: Floats,
) -> float:
    corner = 0.0
    for k in range(len(i)):
        win, loss, draw, win_t, loss_t, draw_t = slopes(code, tie, *chances(code, q[i[k]] - q[j[k]], tie))
        edge[k] = wins[k] * win**2 + losses[k] * loss**2 + ties[k] * draw**2
        own[i[k]] += edge[k]
        own[j[k]] += edge[k]
        both = wins[k] * win * win_t + losses[k] * loss * loss_t + ties[k] * draw * draw_t
        cross[i[k]] += both
        cross[j[k]] -= both
        corner += wins[k] * win_t**2 + losses[k] * loss_t**2 + ties[k] * draw_t**2
    return corner


# -- slopes by cluster -------------------------------------------------------------------------------------------------


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

    Slopes of a fit summed within clusters (raters, prompts): all that clustered errors and bootstraps need.

    For answer k of cluster c the slope of its log-likelihood in the parameters (q, t) is s_k; the row of cluster c is
    the sum of its s_k. One compiled pass over the comparisons; after it no error needs the comparisons again.
    """
    from scipy.sparse import csr_array

    first, second, won, heavy = check_comparisons(a, b, outcome, len(fit.scores), weight)
    group = np.ascontiguousarray(cluster)
    if group.shape != first.shape or group.dtype.kind not in "iu":
        raise BadValue("every comparison needs the number of its cluster", found=f"{group.dtype} {group.shape}")
    if group.min() < 0 or group.max() >= clusters:
        raise BadValue(f"clusters are numbered 0 to {clusters - 1}", found=f"{group.min()} to {group.max()}")
    code, tie = model_code(fit.model, fit.tie)
    shape = clusters, len(fit.scores) + has_tie(code)
    if shape[0] * shape[1] > _TABLE_CELLS:
        slope, slope_t = _answer_slopes(code, tie, fit.scores, first, second, won, heavy)
        # the same sums as entries: every comparison adds one for each item and one for the tie parameter
        values, columns, rows = (
            [slope, -slope, slope_t],
            [first, second, np.full_like(first, shape[1] - 1)],
            [group] * 3,
        )
        parts = 3 if slope_t.any() else 2
        entries = tuple(np.concatenate(each[:parts]) for each in (values, rows, columns))
        return csr_array((entries[0], entries[1:]), shape=shape)
    sums = np.zeros(shape)
    for start in range(0, len(first), _BLOCK):  # slopes of a block first: the accesses to the table then overlap
        part = slice(start, start + _BLOCK)
        slope, slope_t = _answer_slopes(code, tie, fit.scores, first[part], second[part], won[part], heavy[part])
        _add(first[part], second[part], group[part], slope, slope_t, len(fit.scores), sums)
    return sums


def answering_clusters(sums: Floats | csr_array, noise: Floats) -> Any:
    """The rows of clusters that answered anything; TooFew unless two of them spoke on every item.

    `noise` (items,) is the rounding below which a sum counts as nothing.
    """
    from scipy.sparse import csr_array

    if isinstance(sums, csr_array):
        table = abs(sums)
        active = np.asarray(table.sum(axis=1)).ravel() > 0
        clusters_of_item = np.bincount(
            table.indices[table.data > np.append(noise, np.inf)[table.indices]], minlength=len(noise)
        )
    else:
        active, clusters_of_item = _count_clusters(sums, noise)
    if active.sum() < 2:
        raise TooFew(
            "clustered errors need at least 2 clusters", found=int(active.sum()), remedy="treat answers as independent"
        )
    if clusters_of_item.min() < 2:
        raise TooFew(
            "clustered errors need answers on every item from at least 2 clusters",
            found=f"items {np.flatnonzero(clusters_of_item < 2)[:8].tolist()} answered by one cluster",
            remedy="cluster by something that crosses items (raters), or treat answers as independent",
        )
    return sums if active.all() else sums[np.flatnonzero(active)]


def _answer_slopes_arrays(
    code: int, tie: float, q: Floats, a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats
) -> tuple[Floats, Floats]:
    if code == THURSTONE:
        return _answer_slopes.machine(code, tie, q, a, b, outcome, weight)  # type: ignore[no-any-return]  # machine code
    parts = slopes.loop(code, tie, *chances.loop(code, q[a] - q[b], tie))
    w = weight if len(weight) else 1.0
    return w * np.choose(outcome, parts[:3]), w * np.choose(outcome, parts[3:])


@compiled_above(_FEW, _answer_slopes_arrays)
def _answer_slopes(
    code: int, tie: float, q: Floats, a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats
) -> tuple[Floats, Floats]:
    """Slopes of each answer in d and in log tie, times its weight."""
    out, out_t = np.empty(len(a)), np.empty(len(a))
    for k in range(len(a)):
        w = weight[k] if len(weight) else 1.0
        slope, slope_t = answer_slope(code, q[a[k]] - q[b[k]], tie, outcome[k])
        out[k], out_t[k] = w * slope, w * slope_t
    return out, out_t


def _add_arrays(
    a: NDArray[Any], b: NDArray[Any], cluster: NDArray[Any], slope: Floats, slope_t: Floats, items: int, sums: Floats
) -> None:
    np.add.at(sums, (cluster, a), slope)
    np.subtract.at(sums, (cluster, b), slope)
    if sums.shape[1] > items:
        sums[:, items] += np.bincount(cluster, slope_t, len(sums))


@compiled_above(_FEW, _add_arrays)
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


def _count_clusters_arrays(sums: Floats, noise: Floats) -> tuple[NDArray[np.bool_], Ints]:
    own = sums[:, : len(noise)]
    return np.asarray(own.any(axis=1)), np.asarray((abs(own) > noise).sum(axis=0), np.int64)


@compiled_above(_FEW, _count_clusters_arrays)
def _count_clusters(sums: Floats, noise: Floats) -> tuple[NDArray[np.bool_], Ints]:
    """Which clusters answered anything, and how many clusters spoke on each item."""
    active, clusters_of_item = np.zeros(len(sums), np.bool_), np.zeros(len(noise), np.int64)
    for c in range(len(sums)):
        for k in range(len(noise)):
            active[c] |= sums[c, k] != 0
            clusters_of_item[k] += abs(sums[c, k]) > noise[k]
    return active, clusters_of_item


# -- variances among very many items -----------------------------------------------------------------------------------


_CHECKED = 8
_EXACT = 1e-3  # of a linear system; the variance it gives is better still


def nearby_hessian(bread: Information, *, located: bool) -> tuple[Floats, float]:
    """Variances under the inverse information, and the factor the check put on them.

    `located`: rating anchors fix the location of the scores.

    Variances of scores among very many items, from the neighbourhood of each.

    For an item i, free it and its opponents and hold everyone else fixed. With A the edge weights of the information
    matrix, D its diagonal and s_i = D_i - sum_k A_ik^2 / D_k, the error that slopes u cause in its score is

        (u_i + sum_k A_ik u_k / D_k) / s_i,

    which gives 1 / s_i under the inverse information, and for independent answers a sum over the item's pairs and those
    of its opponents. For clusters, whose slopes may go together in any way, only the item's own slopes are followed:
    V_i / (D_i s_i), V_i the sum of their squares by cluster.

    The first two are within 1% where items have 20 opponents drawn at random (5% at 10), the third within 5% on average
    from 50 opponents up. All are too small for long chains of items, where errors add up. So they are checked: at eight
    items, spread over the range of variances, the variance of q_i - mean(q) is computed exactly, and all are multiplied
    by the largest ratio found if that exceeds 1 (which makes the third up to 45% too wide at 20 opponents). Where
    rating anchors fix the location, the variance of mean(q), exact again, is added, which is too wide for the anchors
    themselves.
    """
    return _scale_to_exact(bread, 1 / _information_left(bread), bread.quadratic, located)


def nearby_sandwich(bread: Information, meat: Information, *, located: bool) -> tuple[Floats, float]:
    """Variances under independent answers whose squared slopes are `meat`."""
    spread = _spread_nearby(bread.i, bread.j, bread.edge, meat.edge, _item_weights(bread), meat.own)
    return _scale_to_exact(bread, spread / _information_left(bread) ** 2, meat.quadratic, located)


def nearby_clusters(bread: Information, sums: Any, *, located: bool) -> tuple[Floats, float]:
    """Variances under clusters whose slopes add up to the rows of `sums` (clusters, parameters)."""
    from scipy.sparse import csr_array

    n, count = bread.items, sums.shape[0]
    mean = np.asarray(sums.mean(axis=0)).ravel()[:n]
    if isinstance(sums, csr_array):
        squares = np.bincount(sums.indices, sums.data**2, sums.shape[1])[:n]
    else:
        squares = np.einsum("ci,ci->i", sums, sums)[:n]
    small = count / (count - 1)
    spread = (squares - count * mean**2) * small
    variance = spread / (_item_weights(bread) * _information_left(bread))
    return _scale_to_exact(bread, variance, lambda x: float((sums @ x).var() * count * small), located)


def _item_weights(bread: Information) -> Floats:
    """D of `nearby_hessian`: a prior counts, rating anchors do not, as they say little about q_i - mean(q)."""
    return bread.own + float(bread.ridge.min())


def _information_left(bread: Information) -> Floats:
    """s of `nearby_hessian`."""
    own, square = _item_weights(bread), bread.edge**2
    lost = np.bincount(bread.i, square / own[bread.j], bread.items)
    lost += np.bincount(bread.j, square / own[bread.i], bread.items)
    return np.asarray(own - lost)


def _scale_to_exact(
    bread: Information, variance: Floats, exact: Callable[[Floats], float], located: bool
) -> tuple[Floats, float]:
    """The variances times the largest ratio of exact to near variance at a few items, if above 1."""
    mean = np.zeros(bread.parameters)
    mean[: bread.items] = 1 / bread.items
    ratio = 1.0
    for item in np.argsort(variance)[np.linspace(0, bread.items - 1, _CHECKED).astype(np.int64)]:
        away = -mean
        away[item] += 1.0
        exact_variance = exact(bread.solve(away, tolerance=_EXACT))
        if variance[item] > 0:  # no spread at all is refused by name where errors are made
            ratio = max(ratio, exact_variance / float(variance[item]))
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


# -- raters and prompts at once ----------------------------------------------------------------------------------------


def two_way_variance(
    raters: ArrayLike, prompts: ArrayLike, cells: ArrayLike, *, rater_df: Floats | float, prompt_df: Floats | float
) -> tuple[Floats, Floats]:
    """V and its degrees of freedom, element by element; NaN where a part is NaN.

    Errors where two things are drawn anew at once: raters and prompts (two-way clustering).

    An answer shares a rater with some answers and a prompt with others. With V_r, V_p and V_c the variances of a score
    that count as independent the raters, the prompts, and the cells (one rater on one prompt),

        V = V_r + V_p - V_c

    holds what raters share and what prompts share, and counts once what one rater says on one prompt (Cameron, Gelbach
    & Miller 2011). Each of the three has its own factor C/(C - 1). Where V falls below V_r, V_p or V_c, the largest of
    those is taken: a repetition that changes more cannot change the score less (MacKinnon, Nielsen & Webb 2024). So V
    is never negative, of a score or of a difference, although the three covariances together may be.

    Degrees of freedom. Satterthwaite's of V_r and V_p,

        nu = V^2 / (V_r^2 / (R - 1) + V_p^2 / (P - 1)),     at least m = min(R, P) - 1,

    are too many when the shares of raters and prompts are themselves guesses (three raters: 93% instead of 95%), and m
    are too few when prompts are what matters. Taken is the value halfway between in 1/nu: 2 / (1/nu + 1/m). Over raters
    3 to 40, prompts 20 to 80 and all mixtures of effects, normal data are then covered at 94.0% to 99.9%; the high end
    is where neither raters nor prompts matter.

    Assumptions: raters and prompts are drawn independently of each other; any dependence within a rater and within a
    prompt. Edges: fewer than two raters or prompts: TooFew (by the one-way errors that come in).
    """
    r, p, c = (np.asarray(part, np.float64) for part in (raters, prompts, cells))
    if not r.shape == p.shape == c.shape:
        raise BadValue("three variances of one shape are needed", found=f"{r.shape}, {p.shape}, {c.shape}")
    variance = np.maximum.reduce([r + p - c, r, p, c])
    fewest = np.minimum(rater_df, prompt_df)
    with np.errstate(invalid="ignore", divide="ignore"):
        nu = np.maximum(variance**2 / (r**2 / rater_df + p**2 / prompt_df), fewest)
    return variance, np.where(variance > 0, 2 / (1 / nu + 1 / fewest), fewest)


def two_way_errors(raters: Errors, prompts: Errors, cells: Errors, method: str) -> Errors:
    """Errors over raters and prompts from those over raters, over prompts and over cells.

    `covariance` is the part of V_r + V_p - V_c without negative directions, brought to the errors: it tells how scores
    move together, `differences` how sure each difference is.
    """
    parts = (raters, prompts, cells)
    freedom = {"rater_df": raters.item_df, "prompt_df": prompts.item_df}
    variance, df = two_way_variance(*(part.se**2 for part in parts), **freedom)
    se = np.sqrt(variance)
    errors = Errors(se, None, float(np.median(df)), method, _tie_error(parts), each_df=df)
    squares = [part.difference_variances() for part in parts]
    if any(square is None or np.isnan(square).any() for square in squares):
        return errors
    least = {name: np.minimum.outer(each, each) for name, each in freedom.items()}
    differences, difference_df = two_way_variance(*squares, **least)  # type: ignore[arg-type]  # none is None here
    np.fill_diagonal(differences, 0.0)
    together = raters.covariance + prompts.covariance - cells.covariance  # type: ignore[operator]  # none is None here
    value, vector = np.linalg.eigh((together + together.T) / 2)
    positive_part = np.asarray((vector * np.maximum(value, 0.0)) @ vector.T)
    # the covariance with the standard errors `se`
    own = np.sqrt(positive_part.diagonal())
    by = np.divide(se, own, out=np.zeros_like(se), where=own > 0)
    scaled = positive_part * np.outer(by, by)
    np.fill_diagonal(scaled, se**2)
    return Errors(
        se,
        np.asarray(scaled),
        errors.df,
        method,
        errors.tie_se,
        each_df=df,
        differences=differences,
        difference_df=difference_df,
        parts=parts,
    )


def _tie_error(parts: tuple[Errors, ...]) -> float | None:
    errors = [part.tie_se for part in parts]
    if any(error is None for error in errors):
        return None
    r, p, c = (error**2 for error in errors if error is not None)
    return float(np.sqrt(max(r + p - c, r, p, c)))
