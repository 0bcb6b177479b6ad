"""Bradley-Terry of very many pairs, by slopes alone.

One pass over the pairs a step, where Newton's method takes a handful. A step divides slopes by the item's own curvature
and is accelerated by the last few steps (Anderson 1965), which for a quadratic is what conjugate gradients do.
Comparison graphs drawn at random are expanders, on which each pass then shrinks the slope ten- to thirtyfold. The
maximum is the one point of a concave function at which slopes vanish, so any way there is as good; where slopes do not
halve in two passes, Newton's method goes on from the best point.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salon.stats.comparisons import PairCounts
from salon.stats.jit import compiled
from salon.stats.pair_models import NEAR_ITEMS, row_starts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_PASSES, _WINDOW = 40, 6


def climb_by_slopes(
    counts: PairCounts, ridge: Floats, goal: Floats, tolerance: float
) -> tuple[Floats, float, int, float | None]:
    """Scores, the slope left, passes and the log-likelihood; an infinite slope and none where steps do not settle.

    `ridge` and `goal` are the penalty 1/2 sum ridge_i q_i^2 - goal_i q_i.
    """
    pairs = row_starts(counts.i, counts.items), counts.j, counts.wins, counts.losses, counts.ties
    n, rows = counts.items, len(counts.i)
    j, answers, games, points = np.empty(rows, np.int32), np.empty(rows, np.float32), np.zeros(n), np.zeros(n)
    if not _shrink_answers(pairs, j, answers, games, points):
        return np.zeros(n), np.inf, 0, None
    scale, state = games + ridge, np.zeros((n, 4))
    held = ridge.sum()
    q = _average_start(games, points)
    best, smallest, sizes = q, np.inf, [np.inf, np.inf]
    moves, falls = np.zeros((_WINDOW, n)), np.zeros((_WINDOW, n))
    before = q, points
    for passes in range(_MOST_PASSES):
        if not np.ptp(q) < NEAR_ITEMS:
            break
        state[:, 0] = np.exp(q - (q.min() + q.max()) / 2)
        _expected_points(pairs[0], j, answers, state)
        slope = points - state[:, 1] + goal - ridge * q
        size = float(np.max(np.abs(slope) / scale))
        if size < smallest:
            best, smallest = q, size
        if not size < max(sizes[-2] / 2, tolerance / 10):
            break
        weight = 1.0 / (state[:, 2] + ridge)
        step = slope * weight
        if passes:
            place, used = (passes - 1) % _WINDOW, min(passes, _WINDOW)
            moves[place], falls[place] = q - before[0], before[1] - slope
            weighted = falls[:used] * weight
            shares = np.linalg.lstsq(weighted @ falls[:used].T, weighted @ slope, rcond=None)[0]
            step += shares @ moves[:used] - shares @ weighted
        before = q, slope
        q = q + step
        # Answers know differences only, so at the maximum the penalty alone has put the level where it wants it.
        q += (goal.sum() - ridge @ q) / held if held else -q.mean()
        if size <= tolerance / 10:  # a last step for free
            state[:, 0] = np.exp(q)
            return q, size, passes + 1, float(points @ q - _log_odds_sum(pairs[0], j, answers, state))
        sizes.append(size)
    return best, np.inf, passes + 1, None


def _average_start(games: Floats, points: Floats) -> Floats:
    """Scores of mean 0 that give each item its share of points against opponents drawn from all."""
    logits = np.log((points + 0.5) / (games - points + 0.5))
    logits -= logits.mean()
    spread = min(float(logits.var()), 1.5)
    return np.asarray(logits * math.sqrt(1 + math.pi / 8 * spread / (1 - math.pi / 8 * spread)))


@compiled
def _log_odds_sum(start: Ints, j: NDArray[np.int32], each: NDArray[Any], state: Floats) -> float:
    """Sum of n log(odds + odds of the other), by the logarithm of the product of many pairs."""
    total, product = 0.0, 1.0
    for x in range(len(state)):
        odds = state[x, 0]
        for k in range(start[x], start[x + 1]):
            z, n = odds + state[j[k], 0], each[k]
            whole = int(n)
            if n < 8 and n == whole:
                square = z * z
                product *= (
                    (z if whole & 1 else 1.0) * (square if whole & 2 else 1.0) * (square * square if whole & 4 else 1.0)
                )
                if not 1e-100 < product < 1e100:
                    total += math.log(product)
                    product = 1.0
            else:
                total += n * math.log(z)
    return total + math.log(product)


@compiled
def _shrink_answers(
    pairs: tuple[Any, ...], other: NDArray[Any], answers: NDArray[Any], games: Floats, points: Floats
) -> bool:
    """What slopes need of the pairs, in a quarter of the memory, and sums by item; False where a count is too exact."""
    start, j, wins, losses, ties = pairs
    exact = True
    for x in range(len(games)):
        played, won = 0.0, 0.0
        for k in range(start[x], start[x + 1]):
            y, half = j[k], ties[k] / 2
            n = wins[k] + losses[k] + ties[k]
            other[k], answers[k] = y, n
            exact &= answers[k] == n
            played += n
            won += wins[k] + half
            games[y] += n
            points[y] += losses[k] + half
        games[x] += played
        points[x] += won
    return exact


@compiled
def _expected_points(start: Ints, j: NDArray[np.int32], each: NDArray[Any], state: Floats) -> None:
    """Fill columns 1 and 2 of state, expected points and curvature of each item, from the odds in column 0.

    One row of state is one access to memory.
    """
    for x in range(len(state)):
        state[x, 1] = state[x, 2] = 0.0
    for x in range(len(state)):
        own, bent, odds = 0.0, 0.0, state[x, 0]
        for k in range(start[x], start[x + 1]):
            y, m = j[k], each[k]
            p = odds / (odds + state[y, 0])
            share = m * p
            curve = share * (1.0 - p)
            own += share
            bent += curve
            state[y, 1] += m - share
            state[y, 2] += curve
        state[x, 1] += own
        state[x, 2] += bent
