"""The law of the chance p that a random person says yes to a tick, over ticks.

Yes and no are not alike as the sides of a pair are (most posters may pass most points), so p runs over [0, 1] and cells
count who says yes: R answers fix the first R moments of p, those of pairs only the even ones. The rest is `pair_law`.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from salon.stats.pair_law import GRID, FloatArray, Laws

_BOTH_SIDES = np.unique(np.concatenate([1 - GRID, GRID]))


class TickLaws(Laws):
    """All laws of p that a table of ticks allows."""

    grid = _BOTH_SIDES

    def camp_chance(self, raters: int, smallest: int, largest: int) -> FloatArray:
        chance = binom.cdf(largest, raters, self.grid) - binom.cdf(smallest - 1, raters, self.grid)
        return np.asarray(np.maximum(chance, 0.0), dtype=np.float64)
