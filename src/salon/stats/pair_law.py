"""The law of pair probabilities: p, the chance that a random rater prefers the first item of a pair, over
pairs.

Data: counts N of pairs by (R, m), m the larger camp among R raters. Which item comes first is arbitrary, so
laws of p are taken symmetric about 1/2.

`beta_binomial_rho`: p ~ Beta(a, a), maximum likelihood. In rho = 1/(2a + 1), the correlation of two raters'
votes on a pair, the likelihood of k votes of R is a ratio of products and smooth on the closed range [0, 1]:

    P(k) = C(R,k) prod_{i<k} (b + i rho) prod_{i<R-k} (b + i rho) / prod_{i<R} (1 - rho + i rho),   b = (1 -
    rho)/2

so the log-likelihood depends on the data only through A_i, the camps with more than i raters, and C_i, the
pairs with more than i raters. Its slope at rho = 0 is sum((2k - R)^2 - R)/2: the fit is at rho = 0 (a = inf,
coin flips) exactly when raters agree no more than by chance. If every pair is unanimous it is at rho = 1 (a
= 0).

`accuracy_ranges`: no shape assumed. Among all laws on a grid of p whose expected table lies between the
bounds given for every cell (and the nonparametric maximum-likelihood law, by EM), a linear programme finds
the least and the greatest accuracy.

Sources: Williams 1975; Kleinman 1973; Laird 1978 and Lord & Cressie 1975 for the nonparametric law and its
ranges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import binom

from salon.errors import NotConverged

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_GRID = np.linspace(0.5, 1.0, 251)
_EM_STEPS = 4000


def beta_binomial_rho(raters: IntArray, larger: IntArray, totals: FloatArray) -> FloatArray:
    """Maximum-likelihood rho for each row of totals (draws, cells), by bisection of the score."""
    i = np.arange(int(raters.max()))
    smaller = raters - larger
    camps = totals @ ((larger[:, None] > i).astype(float) + (smaller[:, None] > i))
    pairs = totals @ (raters[:, None] > i).astype(float)
    split = totals @ (smaller > 0).astype(float)
    low, high = np.zeros(len(totals)), np.ones(len(totals))
    for _ in range(60):
        middle = (low + high) / 2
        rising = _score(middle, camps, pairs) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    rho = np.where(_score(np.zeros(len(totals)), camps, pairs) <= 0, 0.0, (low + high) / 2)
    return np.where(split == 0, 1.0, rho)


def majority_right(p: FloatArray, raters: int) -> FloatArray:
    """P(the majority of a panel is the likelier side), p >= 1/2 being that side's chance; a tie is wrong."""
    return np.asarray(binom.sf(raters // 2, raters, p), dtype=np.float64)


def full_cells(raters: IntArray) -> list[tuple[int, int]]:
    """Every possible (R, m) of the panel sizes present, empty ones too: an empty cell is information."""
    return [(r, m) for r in np.unique(raters).tolist() for m in range((r + 1) // 2, r + 1)]


def accuracy_ranges(
    cells: list[tuple[int, int]], observed: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Least and greatest accuracy of (next rater, oracle) over all laws of p that the table allows.

    `observed` are counts of `full_cells`; `low` and `high` bound each cell's share among panels of its size.
    """
    chance = np.array([_camp_chance(r, m) for r, m in cells])
    fitted = chance @ _mixing_law(chance, observed)
    # Panels more even than coin flips fit no law at all: the best law is always allowed.
    low, high = np.minimum(low, fitted), np.maximum(high, fitted)
    right, wrong = np.zeros_like(_GRID), np.zeros_like(_GRID)
    for size in {r for r, _ in cells}:
        weight = observed[[r == size for r, _ in cells]].sum() / observed.sum()
        correct = majority_right(_GRID, size)
        right += weight * correct
        wrong += weight * (1 - correct - binom.pmf(size / 2, size, _GRID))
    follow = _GRID * right + (1 - _GRID) * wrong
    bounds = chance, low, high
    return _extremes(follow, right + wrong, *bounds), _extremes(right, right + wrong, *bounds)


def _score(rho: FloatArray, camps: FloatArray, pairs: FloatArray) -> FloatArray:
    """Slope of the log-likelihood; the two poles at rho = 1 (i = 0) are merged into one term."""
    i = np.arange(1, camps.shape[1])
    left = 1 - rho[:, None]
    slope = (camps[:, 1:] * (i - 0.5) / (left / 2 + i * rho[:, None])).sum(axis=1)
    slope -= (pairs[:, 1:] * (i - 1) / (left + i * rho[:, None])).sum(axis=1)
    split = camps[:, 0] - pairs[:, 0]
    return np.asarray(slope - split / np.maximum(1 - rho, 1e-300), dtype=np.float64)


def _camp_chance(raters: int, larger: int) -> FloatArray:
    both = binom.pmf(larger, raters, _GRID)
    if 2 * larger != raters:
        both = both + binom.pmf(raters - larger, raters, _GRID)
    return np.asarray(both, dtype=np.float64)


def _mixing_law(chance: FloatArray, observed: FloatArray) -> FloatArray:
    """Nonparametric maximum likelihood over the grid, by EM."""
    law = np.full(len(_GRID), 1 / len(_GRID))
    share = observed / observed.sum()
    share, chance = share[share > 0], chance[share > 0]
    for _ in range(_EM_STEPS):
        law = law * ((share / (chance @ law)) @ chance)
    return np.asarray(law / law.sum(), dtype=np.float64)


def _extremes(
    top: FloatArray, bottom: FloatArray, chance: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, float]:
    """Extremes of (top . law)/(bottom . law), low <= chance @ law <= high: Charnes & Cooper's linear
    programme.

    Unknowns are y = t law and t, scaled so that bottom . y = 1; the last column is t.
    """
    above = np.column_stack([chance, -high])
    below = np.column_stack([-chance, low])
    equal = np.array([np.append(bottom, 0.0), np.append(np.ones_like(bottom), -1.0)])
    ends = []
    for sign in (1, -1):
        cost = np.append(sign * top, 0.0)
        best = linprog(cost, np.vstack([above, below]), np.zeros(2 * len(chance)), equal, [1.0, 0.0])
        if best.status != 0:
            raise NotConverged(
                "the linear programme over laws of pair probabilities must have a solution",
                found=best.message,
                remedy="use the beta-binomial ceilings alone",
            )
        ends.append(sign * float(best.fun))
    return ends[0], ends[1]
