"""Scores from comparisons when answers also follow something else: Bradley-Terry and Davidson with covariates.

Answer k compares items a and b (here: the generators of two pictures), of which z_k (m,) is known besides: how much
more ink, text or brightness the first picture has (x_a - x_b), or on which side it stood (1 left, -1 right, 0 unknown).

    d_k = q[a_k] - q[b_k] + beta . z_k          P(a wins) = 1 / (1 + e^-d), or Davidson's with ties (pair_models)

q are the scores if all pictures were alike in z, beta what one unit of z is worth in logits: 'style control'. The
log-likelihood, less sum q_i^2 / (2 prior^2) where a prior is given, is concave in (q, beta, log nu) and climbed by
Newton's method; a step is shortened as in `pair_fit.advance`, so none goes down. Scores are centred: mean(q) = 0.

Identification. The answers alone must identify q (`check_identified`). A covariate must differ within meetings of the
same two items: one that is a constant of each item cannot be told from its score. And answers must not all follow the
covariates: the maximum is then at infinity, where slopes vanish but Newton's steps do not. All three are NotIdentified.

Errors. H = minus the second derivatives, s_k the slope of answer k in all parameters: H^-1 M H^-1 with M = sum s_k s_k'
(independent answers) or C/(C-1) sum over clusters of (sums of s_k, centred) squared, df = C - 1 (prompts). Errors of
scores are those of q_i - mean(q). Assumes that the effect is linear in logits and the same for all items.

Source: Springall 1973 (covariates in paired comparisons); Davidson 1970; Huber 1967, Liang & Zeger 1986 for the errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, NotConverged, NotIdentified, TooFew
from salon.stats.comparison_graph import check_identified
from salon.stats.comparisons import PairCounts, check_comparisons, count_pairs
from salon.stats.jit import compiled
from salon.stats.pair_errors import Errors
from salon.stats.pair_fit import Convergence, FittedScores, starting_tie
from salon.stats.pair_models import (
    DENSE_ITEMS,
    answer_slope,
    bend,
    chances,
    curvature,
    has_tie,
    model_code,
    pair_log_likelihood,
)

Floats = NDArray[np.float64]

COVARIATE_MODELS = ("bradley-terry", "davidson")
_ALIKE = 1e-9  # share of a covariate's variance that scores leave unexplained, below which it is theirs
_STILL = 1e-4  # a step, in logits, that a settled fit no longer makes
_NOTHING = 1e-10  # a variance this small beside the model's own is rounding


@dataclass(frozen=True, slots=True)
class CovariateFit(FittedScores):
    """Scores of items when their pictures are alike in all covariates, and what covariates do to an answer."""

    beta: Floats
    """(covariates,) logits for one unit."""


@dataclass(frozen=True, slots=True)
class CovariateErrors:
    """Errors of a CovariateFit."""

    scores: Errors
    beta: Floats
    """(covariates,) standard errors."""
    beta_df: Floats | None = None
    """(covariates,) their degrees of freedom, where they differ from those of the scores."""


def fit_covariates(
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    z: ArrayLike,
    items: int,
    model: str = "bradley-terry",
    *,
    weight: ArrayLike | None = None,
    prior: float | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> CovariateFit:
    """Fit `model` to comparisons of items `a` and `b` (outcome 0: a, 1: b, 2: tie) with covariates `z` (answers, m)."""
    answers = _check_answers(a, b, outcome, z, items, weight, model, prior)
    counts = count_pairs(answers.a, answers.b, answers.outcome, items, weight=weight)
    first = starting_tie(counts, model)
    code, tie = model_code(model, first)
    check_identified(counts, tie_parameter=first is not None, prior=prior is not None, anchored=np.empty(0, np.int64))
    ridge = 0.0 if prior is None else prior**-2
    _check_covariates(answers, ridge)
    point, convergence = _climb(answers, code, tie, ridge, tolerance, max_iterations)
    fitted = float(np.exp(point[-1])) if has_tie(code) else first
    m = answers.z.shape[1]
    # every answer as a pair of its own: an item with score d against one with score 0
    d = answers.along(point)
    n = len(d)
    each = answers.weight if len(answers.weight) else np.ones(n)
    won = [np.where(answers.outcome == side, each, 0.0) for side in (0, 1, 2)]
    own = PairCounts(n + 1, np.arange(n), np.full(n, n), *won)
    return CovariateFit(
        model=model,
        scores=point[:items] - point[:items].mean(),
        beta=point[items : items + m],
        tie=fitted,
        log_likelihood=pair_log_likelihood(own, model, np.append(d, 0.0), fitted),
        prior=prior,
        convergence=convergence,
    )


def covariate_errors(
    fit: CovariateFit,
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    z: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    weight: ArrayLike | None = None,
) -> CovariateErrors:
    """The sandwich over clusters 0, 1, ... (prompts, raters), or over independent answers without any."""
    n = len(fit.scores)
    answers = _check_answers(a, b, outcome, z, n, weight, fit.model, fit.prior)
    code, tie = model_code(fit.model, fit.tie)
    point = np.concatenate([fit.scores, fit.beta, [np.log(tie)]])
    bread = covariate_derivatives(answers, code, point, 0.0 if fit.prior is None else fit.prior**-2)[1]
    tied = has_tie(code)
    prior = fit.prior is not None
    size = len(bread) if tied else len(bread) - 1
    inverse = np.asarray(np.linalg.inv(_hold_location(bread[:size, :size], n, prior=prior)), np.float64)
    sums, df, method = slope_sums(answers, code, tie, point, cluster)
    sums = sums[:, : len(inverse)]
    own = sums - sums.mean(axis=0) if cluster is not None else sums
    spread = own @ inverse
    covariance = spread.T @ spread * ((df + 1) / df if np.isfinite(df) else 1.0)
    n, m = len(fit.scores), len(fit.beta)
    own = covariance[:n, :n]
    centred = own - own.mean(axis=0) - own.mean(axis=1)[:, None] + own.mean()
    beta = covariance[n : n + m, n : n + m]
    variance = np.concatenate([np.diag(centred), np.diag(beta)])
    if (variance <= _NOTHING * np.diag(inverse)[: n + m]).any():
        raise TooFew(
            "an error needs answers that vary",
            found=f"no spread at all in the answers on items {np.flatnonzero(variance[:n] <= 0)[:8].tolist()}",
            remedy="collect more answers, or treat them as independent",
        )
    tie_se = None if len(inverse) == n + m or fit.tie is None else fit.tie * float(np.sqrt(covariance[-1, -1]))
    scores = Errors(np.sqrt(np.diag(centred)), (centred + centred.T) / 2, df, method, tie_se)
    return CovariateErrors(scores, np.sqrt(np.diag(beta)))


# -- what may come in --------------------------------------------------------------------------------------------------


def _check_answers(
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    z: ArrayLike,
    items: int,
    weight: ArrayLike | None,
    model: str,
    prior: float | None,
) -> CovariateAnswers:
    if model not in COVARIATE_MODELS:
        raise BadValue(f"a model with covariates is one of {', '.join(COVARIATE_MODELS)}", found=model)
    if prior is not None and not 0 < prior < np.inf:
        raise BadValue("the standard deviation of a prior is a positive number", found=prior, remedy="--prior 3")
    first, second, won, heavy = check_comparisons(a, b, outcome, items, weight)
    if items > DENSE_ITEMS:
        raise BadValue(f"covariates can be fitted for up to {DENSE_ITEMS:,} items", found=f"{items:,}")
    table = np.ascontiguousarray(z, np.float64)
    if table.ndim != 2 or len(table) != len(first):
        raise BadValue("covariates are a table (answers, covariates)", found=f"shape {table.shape}")
    if not np.isfinite(table).all():
        k, m = np.argwhere(~np.isfinite(table))[0]
        raise BadValue("a covariate is a finite number", found=table[k, m], where=f"comparison {k}, covariate {m}")
    return CovariateAnswers(items, first, second, won, table, heavy)


def _check_covariates(answers: CovariateAnswers, ridge: float) -> None:
    """What scores leave of each covariate, at equal chances: nothing, where it is a constant of every item."""
    n, m = answers.items, answers.z.shape[1]
    start = np.zeros(n + m + 1)
    matrix = covariate_derivatives(answers, model_code("bradley-terry", None)[0], start, ridge)[1]
    own = matrix[n : n + m, n : n + m]
    cross = matrix[:n, n : n + m]
    left = own - cross.T @ np.linalg.lstsq(_hold_location(matrix[:n, :n], prior=ridge > 0), cross, rcond=None)[0]
    size = np.sqrt(np.diag(own))
    for k in range(m):
        if left[k, k] <= _ALIKE * own[k, k]:
            raise _covariate_error(
                k, "the same in every meeting of two items" if size[k] else "the same for both of every pair"
            )
    values, vectors = np.linalg.eigh(left / np.outer(size, size))
    if m and values[0] <= _ALIKE:
        raise _covariate_error(int(np.argmax(np.abs(vectors[:, 0]))), "a sum of the other covariates")


def _covariate_error(covariate: int, why: str) -> NotIdentified:
    return NotIdentified(
        "a covariate must differ between meetings of the same two items",
        found=f"covariate {covariate}: {why}",
        remedy="leave it out: it cannot be told from the scores",
    )


# -- the climb ---------------------------------------------------------------------------------------------------------


def _climb(
    answers: CovariateAnswers, code: int, tie: float, ridge: float, tolerance: float, max_iterations: int
) -> tuple[Floats, Convergence]:
    """Newton's method from q = 0, beta = 0; the last place of the point is log nu, idle without ties."""
    n, m = answers.items, answers.z.shape[1]
    point = np.zeros(n + m + 1)
    point[-1] = np.log(tie)
    each = answers.weight if len(answers.weight) else np.ones(len(answers.a))
    games = np.bincount(answers.a, each, answers.items) + np.bincount(answers.b, each, answers.items)
    scale = np.concatenate([games + ridge, np.maximum(each @ np.abs(answers.z), 1e-300), [each.sum()]])
    slope, matrix = covariate_derivatives(answers, code, point, ridge)
    for iteration in range(max_iterations + 1):
        step = _step(slope, matrix, n, has_tie(code), prior=ridge > 0)
        size, moved = float(np.max(np.abs(slope) / scale)), float(np.abs(answers.along(step)).max())
        if np.isnan(moved) or (size <= tolerance and moved > _STILL):
            # slopes are gone and steps are not: the maximum is at infinity, in the direction of the step
            beta = np.abs(step[answers.items : -1]) * np.sqrt((answers.z**2).mean(axis=0))
            raise NotIdentified(
                "an effect needs answers that go against it",
                found=f"covariate {int(np.argmax(beta))}: all answers that scores leave open follow it",
                remedy="leave it out, or collect more comparisons",
            )
        if size <= tolerance:
            return point, Convergence("Newton, elimination", iteration, size, tolerance)
        if iteration < max_iterations:
            point, slope, matrix = _advance(answers, code, point, step, ridge)
    raise NotConverged(
        f"scores must settle to a gap of {tolerance:g} between observed and fitted win share",
        found=f"{size:.3g} after {max_iterations} iterations",
        remedy="raise tolerance or max_iterations, or give a prior (--prior 3)",
    )


def _advance(
    answers: CovariateAnswers, code: int, point: Floats, step: Floats, ridge: float
) -> tuple[Floats, Floats, Floats]:
    """The point after the step, or the largest halving of it whose end still points forward; with its derivatives."""
    tie, d = float(np.exp(point[-1])), float(np.abs(answers.along(point)).max())
    bound = float(bend(code, d, tie, float(np.abs(answers.along(step)).max()), float(step[-1])))
    least = np.log1p(bound) / bound if bound > 1 else 1.0
    share = 1.0
    while True:
        moved = point + share * step
        slope, matrix = covariate_derivatives(answers, code, moved, ridge)
        if share <= least or slope @ step >= 0:
            return moved, slope, matrix
        share = max(share / 2, least)


def _step(slope: Floats, matrix: Floats, items: int, tied: bool, *, prior: bool) -> Floats:
    """Newton's step, NaN where the curvature is gone; the place of log nu stays where there is none."""
    size = len(slope) if tied else len(slope) - 1
    step, unit = np.zeros(len(slope)), 1 / np.sqrt(np.maximum(np.diag(matrix)[:size], 1e-300))
    scaled = _hold_location(matrix[:size, :size], items, prior=prior) * np.outer(unit, unit)
    try:
        step[:size] = unit * np.linalg.solve(scaled, unit * slope[:size])
    except np.linalg.LinAlgError:
        step[:size] = np.nan
    return step


def _hold_location(matrix: Floats, items: int | None = None, *, prior: bool) -> Floats:
    """The matrix with the mean of the scores held in place: only differences count, unless there is a prior."""
    if prior:
        return matrix
    n = len(matrix) if items is None else items
    fixed = matrix.copy()
    fixed[:n, :n] += np.diag(matrix)[:n].mean() / n
    return fixed


# -- errors ------------------------------------------------------------------------------------------------------------


# -- compiled passes over answers with covariates ----------------------------------------------------------------------


Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CovariateAnswers:
    """Checked comparisons with their covariates."""

    items: int
    a: NDArray[Any]
    b: NDArray[Any]
    outcome: NDArray[Any]
    z: Floats
    weight: Floats

    def along(self, point: Floats) -> Floats:
        """q[a] - q[b] + beta . z of each answer."""
        n = self.items
        return np.asarray(point[self.a] - point[self.b] + self.z @ point[n : n + self.z.shape[1]], np.float64)


def covariate_derivatives(answers: CovariateAnswers, code: int, point: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Slopes of the penalised log-likelihood at a point, and minus its second derivatives."""
    n = answers.items
    slope, matrix = np.zeros(len(point)), np.zeros((len(point), len(point)))
    _add_derivatives(
        code, float(np.exp(point[-1])), answers.along(point), answers.a, answers.b, answers.outcome, answers.z,
        answers.weight, n, slope, matrix,
    )  # fmt: skip
    slope[:n] -= ridge * point[:n]
    matrix[np.arange(n), np.arange(n)] += ridge
    return slope, np.triu(matrix) + np.triu(matrix, 1).T


def slope_sums(
    answers: CovariateAnswers, code: int, tie: float, point: Floats, cluster: ArrayLike | None
) -> tuple[Floats, float, str]:
    """Sums of slopes by cluster (clusters, parameters), their degrees of freedom, and what they assume."""
    if cluster is None:
        # R with R'R = sum_k s_k s_k'; a weight counts as that many equal, separate answers.
        square = np.zeros((len(point), len(point)))
        _add_squares(code, tie, answers.along(point), answers.a, answers.b, answers.outcome, answers.z, answers.weight,
                     answers.items, square)  # fmt: skip
        values, vectors = np.linalg.eigh(square)
        root = np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T, np.float64)
        return root, np.inf, "sandwich, independent answers"
    codes = np.ascontiguousarray(cluster)
    if codes.shape != answers.a.shape or codes.dtype.kind not in "iu" or codes.min() < 0:
        raise BadValue("every comparison needs the number of its cluster", found=f"{codes.dtype} {codes.shape}")
    present, number = np.unique(codes, return_inverse=True)
    if len(present) < 2:
        raise TooFew(
            "clustered errors need at least 2 clusters", found=len(present), remedy="treat answers as independent"
        )
    sums = np.zeros((len(present), len(point)))
    _add_sums(code, tie, answers.along(point), answers.a, answers.b, answers.outcome, answers.z, answers.weight,
              answers.items, number, sums)  # fmt: skip
    return sums, len(present) - 1.0, f"sandwich, {len(present)} clusters"


# -- compiled passes over the answers ----------------------------------------------------------------------------------


@compiled
def _add_derivatives(
    code: int,
    tie: float,
    d: Floats,
    a: NDArray[Any],
    b: NDArray[Any],
    outcome: NDArray[Any],
    z: Floats,
    weight: Floats,
    n: int,
    slope: Floats,
    matrix: Floats,
) -> None:
    """Slopes, and the upper triangle of the matrix (both triangles among items)."""
    m = z.shape[1]
    t = n + m
    for k in range(len(a)):
        w = weight[k] if len(weight) else 1.0
        i, j, o = a[k], b[k], outcome[k]
        s, s_t = answer_slope(code, d[k], tie, o)
        u, v = chances(code, d[k], tie)
        dd, dt, tt = curvature(code, d[k], tie, u, v, w * (o == 0), w * (o == 1), w * (o == 2))
        slope[i] += w * s
        slope[j] -= w * s
        slope[t] += w * s_t
        matrix[i, i] += dd
        matrix[j, j] += dd
        matrix[i, j] -= dd
        matrix[j, i] -= dd
        matrix[i, t] += dt
        matrix[j, t] -= dt
        matrix[t, t] += tt
        for x in range(m):
            slope[n + x] += w * s * z[k, x]
            matrix[i, n + x] += dd * z[k, x]
            matrix[j, n + x] -= dd * z[k, x]
            matrix[n + x, t] += dt * z[k, x]
            for y in range(x, m):
                matrix[n + x, n + y] += dd * z[k, x] * z[k, y]


@compiled
def _add_sums(
    code: int,
    tie: float,
    d: Floats,
    a: NDArray[Any],
    b: NDArray[Any],
    outcome: NDArray[Any],
    z: Floats,
    weight: Floats,
    n: int,
    cluster: Ints,
    sums: Floats,
) -> None:
    """The slope of each answer, added to its cluster's."""
    for k in range(len(a)):
        w = weight[k] if len(weight) else 1.0
        s, s_t = answer_slope(code, d[k], tie, outcome[k])
        row = sums[cluster[k]]
        row[a[k]] += w * s
        row[b[k]] -= w * s
        row[-1] += w * s_t
        for x in range(z.shape[1]):
            row[n + x] += w * s * z[k, x]


@compiled
def _add_squares(
    code: int,
    tie: float,
    d: Floats,
    a: NDArray[Any],
    b: NDArray[Any],
    outcome: NDArray[Any],
    z: Floats,
    weight: Floats,
    n: int,
    square: Floats,
) -> None:
    """sum_k w_k s_k s_k', both triangles."""
    m = z.shape[1]
    place, value = np.empty(m + 3, np.int64), np.empty(m + 3)
    for k in range(len(a)):
        w = weight[k] if len(weight) else 1.0
        s, s_t = answer_slope(code, d[k], tie, outcome[k])
        place[0], value[0] = a[k], s
        place[1], value[1] = b[k], -s
        place[2], value[2] = n + m, s_t
        for x in range(m):
            place[3 + x], value[3 + x] = n + x, s * z[k, x]
        for x in range(m + 3):
            for y in range(m + 3):
                square[place[x], place[y]] += w * value[x] * value[y]
