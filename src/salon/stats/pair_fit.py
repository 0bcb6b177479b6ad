"""Scores from comparisons: one Newton iteration for Bradley-Terry, Davidson, Rao-Kupper and Thurstone.

Maximises  sum over pairs of the log-likelihood of its counts (see pair_models)
           - sum_i q_i^2 / (2 prior^2)                              a normal prior, where one is given
           - strength sum_k (q[item_k] - target_k)^2                rating anchors, where given
over the scores q and, in Davidson and Rao-Kupper, the log t of the tie parameter. Without rating anchors only
differences of scores count, and they are centred: mean(q) = 0.

The objective is concave; the iteration is Newton's, and no step goes down (`climb`).

Identification is checked before anything is fitted (`check_identified`). Convergence is measured in shares: the
largest |slope| of a score divided by the number of comparisons of its item, i.e. the largest gap between observed
and fitted win share. Not reaching `tolerance` raises NotConverged.

Edges: in Davidson and Rao-Kupper no ties at all put the tie parameter on its boundary (nu = 0, theta = 1), where
both are Bradley-Terry: the fit is that, `boundary` says so. Only ties: NotIdentified.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue, NotConverged
from salon.stats.bradley_terry import climb_by_slopes
from salon.stats.comparison_graph import check_identified
from salon.stats.comparisons import PairCounts
from salon.stats.jit import compiled, compiled_above
from salon.stats.pair_models import (
    FEW_ITEMS,
    LOGISTIC,
    THURSTONE,
    TIE_MODELS,
    Information,
    bend,
    chances,
    conjugate_gradients,
    curvature,
    dot,
    factorable,
    has_tie,
    model_code,
    pair_log_likelihood,
    row_starts,
    slopes,
    step_cap,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pull:
    """Rating anchors: the penalty - strength * sum_k (q[items_k] - targets_k)^2 on the log-likelihood."""

    items: Ints
    targets: Floats
    strength: float


@dataclass(frozen=True, slots=True)
class Convergence:
    """How an iteration ended: always below its tolerance, or it would have raised."""

    solver: str
    iterations: int
    gradient: float
    """The largest slope left, in the unit of `tolerance`."""
    tolerance: float


@dataclass(frozen=True, slots=True)
class FittedScores:
    """Scores of the items of a comparison study, by the maximum of a likelihood or posterior."""

    model: str
    scores: Floats
    """(items,) on the model's latent scale; mean zero unless rating anchors fix the location."""
    tie: float | None
    """nu (Davidson; 0 where no answer is a tie), theta (Rao-Kupper), None for models without a tie parameter."""
    log_likelihood: float
    """Of the data alone, without prior and rating anchors."""
    prior: float | None
    """Standard deviation of the normal prior; None: maximum likelihood."""
    convergence: Convergence


@dataclass(frozen=True, slots=True)
class PairFit(FittedScores):
    """Scores of items without covariates."""

    pull: Pull | None = None

    @property
    def boundary(self) -> bool:
        """Whether a tie parameter was wanted but no answer was a tie, so that it sits on its boundary."""
        return self.tie is not None and self.tie == (0.0 if self.model == "davidson" else 1.0)


def fit_pairs(
    counts: PairCounts,
    model: str = "bradley-terry",
    *,
    prior: float | None = None,
    pull: Pull | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
) -> PairFit:
    """Fit `model` to counts of comparisons by maximum likelihood, or its mode under a prior or rating anchors."""
    _check_settings(counts, prior, pull, tolerance)
    first = starting_tie(counts, model)
    code, tie = model_code(model, first)
    anchored = np.asarray(() if pull is None else pull.items, np.int64)
    check_identified(counts, tie_parameter=first is not None, prior=prior is not None, anchored=anchored)
    ridge, goal = penalty(counts.items, prior, pull)
    q, size, passes, value = np.zeros(counts.items), np.inf, 0, None
    if code == 0 and counts.items > FEW_ITEMS and len(counts.i) >= _MANY_PAIRS:
        q, size, passes, value = climb_by_slopes(counts, ridge, goal, tolerance)
        convergence = Convergence("slopes, accelerated", passes, size, tolerance)
    if not size <= tolerance:
        q, tie, convergence = _newton(counts, code, q, tie, ridge, goal, tolerance, max_iterations)
    fitted = tie if has_tie(code) else first
    if value is None:
        value = pair_log_likelihood(counts, model, q, fitted)
    return PairFit(model, q, fitted, value, prior, convergence, pull)


def penalty(items: int, prior: float | None, pull: Pull | None) -> tuple[Floats, Floats]:
    """The quadratic penalty 1/2 sum ridge_i q_i^2 - goal_i q_i of a prior and rating anchors."""
    ridge = np.full(items, 0.0 if prior is None else prior**-2)
    goal = np.zeros(items)
    if pull is not None:
        np.add.at(ridge, pull.items, 2 * pull.strength)
        np.add.at(goal, pull.items, 2 * pull.strength * pull.targets)
    return ridge, goal


def fit_information(fit: PairFit, counts: PairCounts) -> Information:
    """The information matrix at a fit, with the ridge of its prior and rating anchors."""
    code, tie = model_code(fit.model, fit.tie)
    ridge, _ = penalty(counts.items, fit.prior, fit.pull)
    return information(counts, code, tie, fit.scores, ridge)[0]


def information(counts: PairCounts, code: int, tie: float, q: Floats, ridge: Floats) -> tuple[Information, Floats]:
    """Minus the second derivatives at (q, log tie), and the slopes of the log-likelihood (items + 1,), tie last."""
    n = counts.items
    edge, totals = np.empty(len(counts.i)), np.empty((n + 1, 3))
    derivatives(code, _pairs(counts), q, tie, edge, totals)
    slope, own, cross = totals.T.copy()
    corner = float(own[n]) if has_tie(code) else None
    return Information(n, counts.i, counts.j, edge, own[:n], cross[:n], corner, ridge), slope


def _newton(
    counts: PairCounts,
    code: int,
    q: Floats,
    tie: float,
    ridge: Floats,
    goal: Floats,
    tolerance: float,
    max_iterations: int,
) -> tuple[Floats, float, Convergence]:
    """Climb from (q, tie) to the maximum."""
    pairs, few = _pairs(counts), counts.items <= FEW_ITEMS
    size, iterations, stalled = np.inf, 0, False
    each, games, points = np.empty(len(counts.i)), np.zeros(counts.items), np.zeros(counts.items)
    _add_answers(pairs, each, games, points)
    scale = np.append(games + ridge, games.sum() / 2)
    fast, brief = (LOGISTIC, (pairs[0], pairs[1], each, points, points)) if code == 0 else (code, pairs)
    strict = factorable(counts.items, len(counts.i))
    while iterations < max_iterations and not size <= tolerance:
        if stalled:  # one step by a factor of the matrix, for graphs on which conjugate gradients stall
            matrix, slope = information(counts, code, tie, q, ridge)
            slope[:-1] += goal - ridge * q
            step = np.append(matrix.factor().solve(slope[: matrix.parameters]), 0.0)[: counts.items + 1]
            room = np.empty(len(counts.i)), np.empty((counts.items + 1, 3))
            q, tie = advance(code, pairs, ridge, goal, q, tie, step, *room)
            iterations += 1
        left = 0 if stalled else max_iterations
        q, tie, steps, size, now = climb(fast, brief, ridge, goal, scale, q, tie, tolerance, left, few, strict)
        iterations, stalled = iterations + steps, stalled or now
    if not size <= tolerance:
        raise NotConverged(
            f"scores must settle to a gap of {tolerance:g} between observed and fitted win share",
            found=f"{size:.3g} after {iterations} iterations",
            remedy="raise tolerance or max_iterations, or give a prior (--prior 3)",
        )
    solver = "elimination" if few else "factors" if stalled else "conjugate gradients"
    return q, tie, Convergence(f"Newton, {solver}", iterations, size, tolerance)


_MANY_PAIRS = 100_000
"""Pairs from which Bradley-Terry is fitted without second derivatives."""


def _pairs(counts: PairCounts) -> Pairs:
    return row_starts(counts.i, counts.items), counts.j, counts.wins, counts.losses, counts.ties


def starting_tie(counts: PairCounts, model: str) -> float | None:
    """The tie parameter that gives equal items the observed share of ties."""
    if model not in TIE_MODELS:
        return None
    share = float(counts.ties.sum()) / max(counts.comparisons, 1e-300)
    share = min(share, 0.99)  # only ties is refused later, by name
    return 2 * share / (1 - share) if model == "davidson" else (1 + share) / (1 - share)


def _check_settings(counts: PairCounts, prior: float | None, pull: Pull | None, tolerance: float) -> None:
    if prior is not None and not 0 < prior < np.inf:
        raise BadValue("the standard deviation of a prior is a positive number", found=prior, remedy="--prior 3")
    if np.any(counts.i[1:] < counts.i[:-1]):
        raise BadValue(
            "counts must be sorted by (i, j)", found="pairs out of order", remedy="make them with count_pairs"
        )
    if not 0 < tolerance < np.inf:
        raise BadValue("a tolerance is a positive number", found=tolerance)
    if pull is None:
        return
    if not 0 < pull.strength < np.inf:
        raise BadValue("the strength of a pull is a positive number", found=pull.strength)
    if not len(pull.items) or len(pull.items) != len(pull.targets) or not np.isfinite(pull.targets).all():
        raise BadValue("rating anchors need one finite target each", found=f"{pull.items} with {pull.targets}")
    if min(pull.items) < 0 or max(pull.items) >= counts.items:
        raise BadValue(f"rating anchors are items 0 to {counts.items - 1}", found=pull.items)


# -- Newton's method ---------------------------------------------------------------------------------------------------


Pairs = tuple[Ints, Ints, Floats, Floats, Floats]
_FEW = 100_000  # elements from which the iteration is compiled


@compiled_above(_FEW)
def climb(
    code: int,
    pairs: Pairs,
    ridge: Floats,
    goal: Floats,
    scale: Floats,
    q: Floats,
    tie: float,
    tolerance: float,
    max_iterations: int,
    direct: bool,
    strict: bool,
) -> tuple[Floats, float, int, float, bool]:
    """Climb from (q, tie) until the largest |slope| / scale is below tolerance.

    Steps by elimination if `direct`, else by conjugate gradients. Returns the point, the steps taken, the slope left,
    and whether conjugate gradients stalled (where not `strict`, a rough step is taken instead).

    Newton's method for a concave model of comparisons, compiled from end to end.

    A point is (q, t), t = log of the tie parameter (a dummy in models without one). Pairs come as a tuple (start, j,
    wins, losses, ties) with the rows of item i at start[i]:start[i+1]; the penalty is 1/2 sum ridge_i q_i^2 - goal_i
    q_i.

    The curvature of the log-likelihood changes at a bounded rate, so a step can be judged by slopes alone: with b = the
    largest change of log curvature along the Newton step, all of it climbs if b <= 1, and ln(1 + b)/b of it always does
    (Sun & Tran-Dinh 2019, generalised self-concordance). Longer shares, halved from 1, are taken when the slope at
    their end still points forward. So no step goes down, and no likelihood, whose last digits are noise, is compared.
    """
    edge, totals = np.empty(len(pairs[1])), np.empty((len(q) + 1, 3))
    derivatives(code, pairs, q, tie, edge, totals)
    for iteration in range(max_iterations + 1):
        slope = _slope(totals, ridge, goal, q)
        size = _largest(slope, scale)
        if size <= tolerance or iteration == max_iterations:
            break
        if direct:
            step = _eliminate(pairs, edge, totals, ridge, slope)
        else:
            within = min(0.01, max(size, 1e-6))  # rough steps first, so that the last ones converge fast
            step, settled = conjugate_gradients(pairs[0], pairs[1], edge, totals, ridge, slope, within)
            if strict and not settled:
                return q, tie, iteration, size, True
        q, tie = advance(code, pairs, ridge, goal, q, tie, step, edge, totals)
    return q, tie, iteration, size, False


@compiled_above(_FEW)
def _largest(slope: Floats, scale: Floats) -> float:
    """The largest |slope| / scale; one that is no number counts as the largest, so that it is never taken for 0."""
    largest = 0.0
    for k in range(len(slope)):
        size = abs(slope[k]) / scale[k]
        if not size <= largest:
            largest = size
        if math.isnan(largest):
            break
    return largest


@compiled_above(_FEW)
def advance(
    code: int,
    pairs: Pairs,
    ridge: Floats,
    goal: Floats,
    q: Floats,
    tie: float,
    step: Floats,
    edge: Floats,
    totals: Floats,
) -> tuple[Floats, float]:
    """The point after the longest share of the step that is sure to climb; its derivatives in edge and totals."""
    bound, share = _largest_bend(code, pairs, q, tie, step)
    sure = math.log1p(bound) / bound if bound > 1 else 1.0
    while True:
        q_new, tie_new = q.copy(), tie * math.exp(share * step[-1])
        for i in range(len(q)):
            q_new[i] += share * step[i]
        derivatives(code, pairs, q_new, tie_new, edge, totals)
        if share <= sure or dot(step, _slope(totals, ridge, goal, q_new)) >= 0:
            return q_new, tie_new
        share = max(share / 2, sure)


_REACH = 600.0  # logits over which odds still have a product


def _add_answers_arrays(pairs: Pairs, each: Floats, games: Floats, points: Floats) -> None:
    start, j, wins, losses, ties = pairs
    n = len(games)
    i = np.repeat(np.arange(n), np.diff(start))
    each[:] = wins + losses + ties
    games += np.bincount(i, each, n) + np.bincount(j, each, n)
    points += np.bincount(i, wins + ties / 2, n) + np.bincount(j, losses + ties / 2, n)


@compiled_above(_FEW, _add_answers_arrays)
def _add_answers(pairs: Pairs, each: Floats, games: Floats, points: Floats) -> None:
    """Fill the answers of each pair, and the answers and points (wins, a tie counts half) of each item."""
    start, j, wins, losses, ties = pairs
    for x in range(len(games)):
        for k in range(start[x], start[x + 1]):
            y = j[k]
            each[k] = wins[k] + losses[k] + ties[k]
            games[x] += each[k]
            games[y] += each[k]
            points[x] += wins[k] + ties[k] / 2
            points[y] += losses[k] + ties[k] / 2


@compiled
def _logistic_derivatives(pairs: Pairs, q: Floats, edge: Floats, totals: Floats) -> None:
    """`derivatives` of Bradley-Terry from (start, j, answers of each pair, points of each item, unused).

    P(i) = a_i / (a_i + a_j), a = e^q: no exponential for a pair; and the slope of an item is its points less those it
    was expected to have, so that wins and losses of a pair are not read again.
    """
    start, j, each, points = pairs[0], pairs[1], pairs[2], pairs[3]
    n = len(q)
    low, high = q.min(), q.max()
    apart = high - low > _REACH
    odds, expected, curve = np.empty(n), np.zeros(n), np.zeros(n)
    for x in range(n):
        odds[x] = math.exp(q[x] - (low + high) / 2) if not apart else 0.0
    for x in range(n):
        own, bent, a = 0.0, 0.0, odds[x]
        for k in range(start[x], start[x + 1]):
            y = j[k]
            p = a / (a + odds[y]) if not apart else 1.0 / (1.0 + math.exp(q[y] - q[x]))
            share = each[k] * p
            dd = share * (1.0 - p)
            edge[k] = dd
            own += share
            bent += dd
            expected[y] += each[k] - share
            curve[y] += dd
        expected[x] += own
        curve[x] += bent
    for x in range(n):
        totals[x, 0], totals[x, 1], totals[x, 2] = points[x] - expected[x], curve[x], 0.0
    totals[n, 0], totals[n, 1], totals[n, 2] = 0.0, 1.0, 0.0


def _derivatives_arrays(code: int, pairs: Pairs, q: Floats, tie: float, edge: Floats, totals: Floats) -> None:
    if code == THURSTONE:
        return derivatives.machine(code, pairs, q, tie, edge, totals)  # type: ignore[no-any-return]  # machine code
    start, j, wins, losses, ties = pairs
    if code == LOGISTIC:  # the same slopes and curvatures, and the points of an item in the place of its losses
        wins, losses, ties = wins / 2, wins / 2, np.zeros(len(j))
    n = len(q)
    i = np.repeat(np.arange(n), np.diff(start))
    d = q[i] - q[j]
    with np.errstate(over="ignore"):  # the chance of a pair this far apart is 0
        u, v = chances.loop(code, d, tie)
    win, loss, draw, win_t, loss_t, draw_t = slopes.loop(code, tie, u, v)
    dd, dt, tt = (np.broadcast_to(part, d.shape) for part in curvature.loop(code, d, tie, u, v, wins, losses, ties))
    slope = wins * win + losses * loss + ties * draw
    edge[:] = dd
    for column, part, sign in ((0, slope, -1), (1, dd, 1), (2, dt, -1)):
        totals[:n, column] = np.bincount(i, part, n) + sign * np.bincount(j, part, n)
    if code == LOGISTIC:
        totals[:n, 0] += pairs[3] - (np.bincount(i, wins, n) + np.bincount(j, wins, n))
    corner = float(tt.sum())
    totals[n] = float((wins * win_t + losses * loss_t + ties * draw_t).sum()), corner if corner > 0 else 1.0, 0.0


@compiled_above(_FEW, _derivatives_arrays)
def derivatives(code: int, pairs: Pairs, q: Floats, tie: float, edge: Floats, totals: Floats) -> None:
    """Fill the curvature of each pair, and rows (slope, curvature, border) of each item and, last, of log tie."""
    if code == LOGISTIC:
        _logistic_derivatives(pairs, q, edge, totals)
        return
    start, j, wins, losses, ties = pairs
    totals[:] = 0.0
    slope_t, corner = 0.0, 0.0
    for x in range(len(q)):
        for k in range(start[x], start[x + 1]):
            y, w, l, s = j[k], wins[k], losses[k], ties[k]
            d = q[x] - q[y]
            u, v = chances(code, d, tie)
            win, loss, draw, win_t, loss_t, draw_t = slopes(code, tie, u, v)
            dd, dt, tt = curvature(code, d, tie, u, v, w, l, s)
            slope = w * win + l * loss + s * draw
            edge[k] = dd
            totals[x, 0] += slope
            totals[y, 0] -= slope
            totals[x, 1] += dd
            totals[y, 1] += dd
            totals[x, 2] += dt
            totals[y, 2] -= dt
            slope_t += w * win_t + l * loss_t + s * draw_t
            corner += tt
    totals[len(q), 0] = slope_t
    totals[len(q), 1] = corner if corner > 0 else 1.0


def _slope_arrays(totals: Floats, ridge: Floats, goal: Floats, q: Floats) -> Floats:
    slope = totals[:, 0].copy()
    slope[: len(q)] += goal - ridge * q
    return slope


@compiled_above(_FEW, _slope_arrays)
def _slope(totals: Floats, ridge: Floats, goal: Floats, q: Floats) -> Floats:
    slope = totals[:, 0].copy()
    for i in range(len(q)):
        slope[i] += goal[i] - ridge[i] * q[i]
    return slope


def _eliminate_arrays(pairs: Pairs, edge: Floats, totals: Floats, ridge: Floats, slope: Floats) -> Floats:
    start, j = pairs[0], pairs[1]
    n = len(ridge)
    i = np.repeat(np.arange(n), np.diff(start))
    matrix = np.full((n + 1, n + 1), 0.0 if ridge.any() else totals[:n, 1].mean() / n)
    matrix[i, j] -= edge
    matrix[j, i] -= edge
    matrix[np.arange(n), np.arange(n)] += totals[:n, 1] + ridge
    matrix[:n, n] = matrix[n, :n] = totals[:n, 2]
    matrix[n, n] = totals[n, 1]
    return np.linalg.solve(matrix, slope)


@compiled_above(_FEW, _eliminate_arrays)
def _eliminate(pairs: Pairs, edge: Floats, totals: Floats, ridge: Floats, slope: Floats) -> Floats:
    """The Newton step, dense; where no ridge fixes the location, a shift of the matrix does."""
    start, j = pairs[0], pairs[1]
    n = len(ridge)
    shift = 0.0 if ridge.any() else totals[:n, 1].mean() / n
    matrix = np.full((n + 1, n + 1), shift)
    for i in range(n):
        matrix[i, i] += totals[i, 1] + ridge[i]
        matrix[i, n] = matrix[n, i] = totals[i, 2]
        for k in range(start[i], start[i + 1]):
            matrix[i, j[k]] -= edge[k]
            matrix[j[k], i] -= edge[k]
    matrix[n, n] = totals[n, 1]
    step = slope.copy()
    _solve(matrix, step)
    return step


@compiled
def _solve(matrix: Floats, x: Floats) -> None:
    """Turn x into y with matrix @ y = x; a positive definite matrix, which is used up, needs no pivots."""
    n = len(x)
    for k in range(n):
        if matrix[k, k] == 0:
            raise np.linalg.LinAlgError("a singular matrix")
        for i in range(k + 1, n):
            share = matrix[i, k] / matrix[k, k]
            for c in range(k + 1, n):
                matrix[i, c] -= share * matrix[k, c]
            x[i] -= share * x[k]
    for k in range(n - 1, -1, -1):
        for c in range(k + 1, n):
            x[k] -= matrix[k, c] * x[c]
        x[k] /= matrix[k, k]


@compiled_above(_FEW)
def _largest_bend(code: int, pairs: Pairs, q: Floats, tie: float, step: Floats) -> tuple[float, float]:
    """Largest change of log curvature of any pair along the step, and the share of the step it holds for."""
    start, j = pairs[0], pairs[1]
    n, dt = len(q), step[-1]
    # A bound over all pairs of items, met or not, is enough for the short steps at the end.
    largest = step[:n].max() - step[:n].min()
    bound = bend(code, q.max() - q.min(), tie, largest, dt)
    if bound > 1 or step_cap(code, tie, largest, dt) < 1:
        bound, largest = 0.0, 0.0
        for i in range(n):
            for k in range(start[i], start[i + 1]):
                dd = abs(step[i] - step[j[k]])
                bound = max(bound, bend(code, q[i] - q[j[k]], tie, dd, dt))
                largest = max(largest, dd)
    return bound, step_cap(code, tie, largest, dt)


# -- one Newton step on other comparisons ------------------------------------------------------------------------------


_LIGHTLY = 1e-7  # of the comparisons of an item: far below any information, far above rounding


def newton_step(fit: PairFit, counts: PairCounts, *, pull: Pull | None = None) -> Floats:
    """Scores (items,) after one Newton step from `fit` on other `counts`, and other rating anchors where given.

    A fit without some of its comparisons, by one Newton step.

    With the scores q fitted to all comparisons, let g and H be the slope and the information of the comparisons that
    stay, at q. The fit to those alone is near

        q + H^-1 g

    which is what one Newton iteration from q gives. Used where a fit is repeated with a cluster of comparisons left
    out: it is finite even where the rest alone identifies nothing (an item that only ever lost among them), and the
    step's squares summed over clusters are the jackknife's variance up to terms of higher order (the one-step or
    infinitesimal jackknife; Cain & Lange 1984). Items without any comparison left keep their scores.
    """
    code, t = model_code(fit.model, fit.tie)
    q = fit.scores
    ridge, goal = penalty(counts.items, fit.prior, fit.pull if pull is None else pull)
    met = np.zeros(counts.items, dtype=np.bool_)
    met[counts.i] = met[counts.j] = True
    hold = np.where(met, _LIGHTLY * counts.comparisons / counts.items, 1.0)  # no slope at q, so no step of its own
    free = ridge == 0
    ridge, goal = np.where(free, hold, ridge), np.where(free, hold * q, goal)
    matrix, gradient = information(counts, code, t, q, ridge)
    gradient[: len(q)] += goal - ridge * q
    step = matrix.solve(gradient if has_tie(code) else gradient[: len(q)])
    return q + step[: len(q)]
