"""The exact joint law of (p_max histogram, cycle flag) by plain enumeration (to be replaced)."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations

import numpy as np

from salon.stats.signal import cells_votes

Joint = dict[tuple[tuple[int, ...], int], int]


def joint_law(items: int, raters: int) -> Joint:
    """Counts over the p!^(R-1) ways that raters 2..R can rank when rater 1 is fixed to the identity."""
    pairs = list(combinations(range(items), 2))
    signs = [tuple(int(order.index(a) < order.index(b)) for a, b in pairs) for order in permutations(range(items))]
    layer: Counter[tuple[int, ...]] = Counter({(1,) * len(pairs): 1})
    for _ in range(raters - 1):
        grown: Counter[tuple[int, ...]] = Counter()
        for votes, mass in layer.items():
            for sign in signs:
                grown[tuple(map(int.__add__, votes, sign))] += mass
        layer = grown
    joint: Joint = {}
    for votes, mass in layer.items():
        cell = cells_votes(np.array([votes]), raters, items)
        key = (tuple(cell.histograms[0].tolist()), int(cell.cyclic[0]))
        joint[key] = joint.get(key, 0) + mass
    return joint
