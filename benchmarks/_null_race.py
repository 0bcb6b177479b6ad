"""The exact null of one shape, ours against the plain enumeration; used by `null_4_5` and `null_5_5`.

Peer: vote vectors of raters 2..R packed into integers and convolved one rater at a time, merging equal vectors with
numpy.unique; rater 1 fixed, no other symmetry; the last rater not merged but tallied. Both laws must be equal.
Limit: a bare loop that adds one number to a small tally for each of our states and each last ranking, which any method
that streams the last rater over these states must do.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import combinations, permutations
from math import comb

import numpy as np
from numba import njit

from salon.stats import exact_null, orbits
from salon.stats.signal import distinct_rows, tally_votes

BITS = 4


def plain_joint(items: int, raters: int) -> dict[tuple[tuple[int, ...], int], int]:
    """The joint law of (p_max histogram, cycle flag) without orbits."""
    pairs = list(combinations(range(items), 2))
    steps = np.array(
        [
            sum(int(order.index(a) < order.index(b)) << (BITS * e) for e, (a, b) in enumerate(pairs))
            for order in permutations(range(items))
        ]
    )
    keys = np.array([sum(1 << (BITS * e) for e in range(len(pairs)))])
    ways = np.ones(1, dtype=np.int64)
    for _ in range(raters - 2):
        reached, which = np.unique(keys[:, None] + steps, return_inverse=True)
        ways = np.bincount(which.reshape(-1), np.repeat(ways, len(steps))).astype(np.int64)
        keys = reached
    shifts = BITS * np.arange(len(pairs))
    joint: dict[tuple[tuple[int, ...], int], int] = {}
    for step in steps:
        votes = ((keys + step)[:, None] >> shifts & (2**BITS - 1)).astype(np.int16)
        histograms, cyclic = tally_votes(votes, raters, items)
        cells, _, which = distinct_rows(np.column_stack([histograms, cyclic]), radix=comb(items, 2) + 1)
        for cell, mass in zip(cells.tolist(), np.bincount(which, ways).tolist()):
            key = (tuple(cell[:-1]), cell[-1])
            joint[key] = joint.get(key, 0) + int(mass)
    return joint


@njit
def bare_additions(n: int, tally: np.ndarray) -> None:
    """n additions spread over the tally."""
    for i in range(n):
        tally[(i * 7) & 1023] += np.uint64(i)


def additions(items: int, raters: int) -> int:
    """States of the last stored layer times rankings."""
    g = orbits.geometry(items)
    layer = orbits.first_layer(g)
    while layer.raters < raters - 1:
        layer = orbits.next_layer(g, layer)
    return len(layer.keys) * len(g.casts)


def fewest_seconds(function: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


def race(items: int, raters: int) -> None:
    """Print the line of one shape."""
    if dict(exact_null(items, raters).joint) != plain_joint(items, raters):  # also compiles
        raise SystemExit("the two laws differ")
    tally = np.zeros(1024, dtype=np.uint64)
    bare_additions(1, tally)
    n = additions(items, raters)
    ours = fewest_seconds(lambda: orbits.joint_law(items, raters), 5)
    peer = fewest_seconds(lambda: plain_joint(items, raters), 1 if items > 4 else 3)
    limit = fewest_seconds(lambda: bare_additions(n, tally), 5)
    line = {
        "name": f"null_{items}_{raters}",
        "ours": round(ours, 6),
        "peer_name": "plain enumeration in numpy: vote vectors merged by unique, rater 1 fixed",
        "peer": round(peer, 4),
        "ratio": round(peer / ours, 1),
        "limit": round(limit, 6),
        "unit": "s",
        "limit_name": f"{n:,} bare additions, one per state and last ranking",
    }
    print(json.dumps(line))
