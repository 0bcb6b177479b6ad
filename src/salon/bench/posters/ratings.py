"""Correlation of ratings with people's where some are missing: what is missing counts as the worst it could have been.

r = Pearson's correlation of x (given) and y (people's). Were missing ratings left out, or filled in with a mean,
leaving out the embarrassing ones could raise r. Here r is the least value any filling-in from the scale can give it: so
another missing rating, which only widens the choice, never raises it. With nothing given at all it is -1.

The least filling-in. Write a for y centered. Over the missing x in a box, r = a·x / (|a| |x - mean x|).
Where r can be made negative, -r is quasi-concave, and at its maximum the gradient condition makes each missing
x_i = clip(m - b a_i) with m the mean of all x and some b > 0: one number to search for. Where r stays positive, it is
quasi-concave itself and least at a corner: every missing rating is at an end of the scale, and for a given number of
them at the top, those with the lowest y are: as many corners as missing ratings, plus one. All candidates of both kinds
are computed and the least r is taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
LOW, HIGH = 0.0, 10.0
_STEPS = np.geomspace(1e-2, 1e3, 30)
_ROUNDS = 60


def pearson(x: FloatArray, y: FloatArray) -> float | None:
    """Pearson's correlation: None where y is constant, 0 where only x is (one number for all carries nothing)."""
    dx, dy = x - x.mean(), y - y.mean()
    if not np.any(np.abs(dy) > 1e-12):
        return None
    size = float(np.sqrt((dx @ dx) * (dy @ dy)))
    return min(1.0, max(-1.0, float(dx @ dy) / size)) if size > 1e-12 else 0.0  # rounding may pass the ends


def worst_filled(x: FloatArray, y: FloatArray) -> FloatArray:
    """`x` with its NaNs replaced by the ratings that make the correlation with y least."""
    missing = np.isnan(x)
    if not missing.any() or pearson(y, y) is None:
        return np.where(missing, LOW, x)
    fillings = [*_corners(x, y, missing), _inside(x, y, missing)]
    return min(fillings, key=lambda filled: pearson(filled, y) or 0.0)


def _corners(x: FloatArray, y: FloatArray, missing: NDArray[np.bool_]) -> list[FloatArray]:
    """Fillings with the ends of the scale: the top for those people rate lowest."""
    order = np.flatnonzero(missing)[np.argsort(y[missing], kind="stable")]
    found = []
    for tops in range(len(order) + 1):
        filled = np.where(missing, LOW, x)
        filled[order[:tops]] = HIGH
        found.append(filled)
    return found


def _inside(x: FloatArray, y: FloatArray, missing: NDArray[np.bool_]) -> FloatArray:
    """The best filling of the form clip(m - b a): from the best of some b, on to the b that its own filling asks for.

    Each round sets b = |x - m|² / (-a·x): the quadratic transform of a ratio, under which it never gets worse.
    """
    a = y - y.mean()
    steps = _STEPS / np.abs(a).max()
    filled = min((_balanced(x, a * b, missing) for b in steps), key=lambda one: pearson(one, y) or 0.0)
    for _ in range(_ROUNDS):
        dx = filled - filled.mean()
        against = -float(a @ dx)
        if against <= 0:  # no filling of this form makes the correlation negative: a corner is worse
            break
        filled = _balanced(x, a * float(dx @ dx) / against, missing)
    return filled


def _balanced(x: FloatArray, pull: FloatArray, missing: NDArray[np.bool_]) -> FloatArray:
    """x with clip(m - pull) where missing, m the mean of the result: found by halving, for m - mean grows with m."""
    low, high = LOW, HIGH
    for _ in range(_ROUNDS):
        m = (low + high) / 2
        filled = np.where(missing, np.clip(m - pull, LOW, HIGH), x)
        low, high = (m, high) if filled.mean() > m else (low, m)
    return filled
