"""Newton's method for a concave model of comparisons, compiled from end to end.

A point is (q, t), t = log of the tie parameter (a dummy in models without one). Pairs come as a tuple (start, j,
wins, losses, ties) with the rows of item i at start[i]:start[i+1]; the penalty is 1/2 sum ridge_i q_i^2 - goal_i q_i.

The curvature of the log-likelihood changes at a bounded rate, so a step can be judged by slopes alone: with b = the
largest change of log curvature along the Newton step, all of it climbs if b <= 1, and ln(1 + b)/b of it always does
(Sun & Tran-Dinh 2019, generalised self-concordance). Longer shares, halved from 1, are taken when the slope at their
end still points forward. So no step goes down, and no likelihood, whose last digits are noise, is compared.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from salon.stats.compiled import compiled
from salon.stats.pair_information import conjugate_gradients, dot
from salon.stats.pair_models import bend, chances, curvature, slopes, step_cap

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pairs = tuple[Ints, Ints, Floats, Floats, Floats]


@compiled
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


@compiled
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


@compiled
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


@compiled
def derivatives(code: int, pairs: Pairs, q: Floats, tie: float, edge: Floats, totals: Floats) -> None:
    """Fill the curvature of each pair, and rows (slope, curvature, border) of each item and, last, of log tie."""
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


@compiled
def _slope(totals: Floats, ridge: Floats, goal: Floats, q: Floats) -> Floats:
    slope = totals[:, 0].copy()
    for i in range(len(q)):
        slope[i] += goal[i] - ridge[i] * q[i]
    return slope


@compiled
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


@compiled
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
