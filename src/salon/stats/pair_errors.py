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

Above DENSE_ITEMS items there is no covariance, and `se` comes from each item's neighbourhood (pair_nearby).

Edges: fewer than two clusters, an item whose answers all come from one cluster, or answers without any spread raise
TooFew. An error is never zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from salon.errors import BadValue, TooFew
from salon.stats.compiled import compiled
from salon.stats.pair_clusters import answering_clusters, cluster_scores
from salon.stats.pair_counts import PairCounts
from salon.stats.pair_fit import PairFit, fit_information
from salon.stats.pair_information import DENSE_ITEMS, Information
from salon.stats.pair_models import chances, has_tie, model_code, slopes
from salon.stats.pair_nearby import nearby_clusters, nearby_hessian, nearby_sandwich

__all__ = [
    "Errors",
    "bootstrap_scores",
    "cluster_scores",
    "clustered_errors",
    "hessian_errors",
    "independent_errors",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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


def hessian_errors(fit: PairFit, counts: PairCounts) -> Errors:
    """The plain inverse information: right when the model is, too wide for ties counted as half wins."""
    bread = fit_information(fit, counts)
    if bread.items > DENSE_ITEMS:
        return _nearby(bread, *nearby_hessian(bread, located=fit.pull is not None), np.inf, "inverse Hessian")
    return _errors(fit, bread, _inverse(bread), np.inf, "inverse Hessian")


def independent_errors(fit: PairFit, counts: PairCounts) -> Errors:
    """Huber's sandwich with every answer independent of every other."""
    bread, meat = fit_information(fit, counts), _squared_slopes(fit, counts)
    method = "sandwich, independent answers"
    if bread.items > DENSE_ITEMS:
        return _nearby(bread, *nearby_sandwich(bread, meat, located=fit.pull is not None), np.inf, method)
    inverse = _inverse(bread)
    return _errors(fit, bread, inverse @ meat.dense() @ inverse, np.inf, method)


def clustered_errors(fit: PairFit, counts: PairCounts, sums: Floats | csr_array) -> Errors:
    """The cluster sandwich from `cluster_scores`; clusters without answers do not count."""
    bread = fit_information(fit, counts)
    own = _answering(fit, sums, bread)
    count = own.shape[0]
    method = f"sandwich, {count} clusters"
    if bread.items > DENSE_ITEMS:
        return _nearby(bread, *nearby_clusters(bread, own, located=fit.pull is not None), count - 1.0, method)
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
    own = _answering(fit, sums, bread)
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


def _squared_slopes(fit: PairFit, counts: PairCounts) -> Information:
    """sum_k s_k s_k', which has the shape of an information matrix without a ridge."""
    code, tie = model_code(fit.model, fit.tie)
    n = counts.items
    edge, own, cross = np.empty(len(counts.i)), np.zeros(n), np.zeros(n)
    corner = _add_squares(
        code, tie, fit.scores, counts.i, counts.j, counts.wins, counts.losses, counts.ties, edge, own, cross
    )
    return Information(n, counts.i, counts.j, edge, own, cross, corner if has_tie(code) else None, np.zeros(n))


def _inverse(bread: Information) -> Floats:
    return bread.factor().solve(np.eye(bread.parameters))


def _answering(fit: PairFit, sums: Floats | csr_array, bread: Information) -> Floats:
    if sums.shape[1] != bread.parameters:
        raise BadValue(f"cluster sums need {bread.parameters} columns", found=sums.shape[1])
    weight = bread.diagonal()[: bread.items]
    left = 40 * fit.convergence.gradient * weight  # what the iteration left, and a margin: a pair weighs at most 1/4
    own: Floats = answering_clusters(sums, _ROUNDING * np.sqrt(weight) + left)
    return own


def _errors(fit: PairFit, bread: Information, full: Floats, df: float, method: str) -> Errors:
    """Errors from the covariance of all parameters."""
    n = bread.items
    covariance = full[:n, :n]
    if fit.pull is None:
        covariance = covariance - covariance.mean(axis=0) - covariance.mean(axis=1)[:, None] + covariance.mean()
    variance = np.diag(covariance).copy()
    _refuse_zero(variance, bread)
    tie_se = None if bread.tie is None or fit.tie is None else fit.tie * float(np.sqrt(full[-1, -1]))
    return Errors(np.sqrt(variance), (covariance + covariance.T) / 2, df, method, tie_se)


def _nearby(bread: Information, variance: Floats, ratio: float, df: float, method: str) -> Errors:
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


@compiled
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
