"""Anchored Elo of a whole PPaint: 15 groups of 50 items, 3,060 comparisons each, 150 passes, 6 rating anchors.

Peer: the same rule as a plain Python loop on lists with the same orders; both must agree to 1e-9 of a point.
Limit: numpy computes as many logistic functions, in no order.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks._pairs import Drawn, best_of, draw, extra_mib, print_line
from salon.stats import EloSettings, anchored_elo

GROUPS, COMPARISONS, ITEMS = 15, 3_060, 50
ANCHORS = np.array([4, 11, 19, 27, 36, 45])
SETTINGS = EloSettings()
TARGETS = SETTINGS.targets([2, 2, 3, 3, 4, 4])


def ours(groups: list[Drawn]) -> np.ndarray:
    """Scores (groups, items)."""
    return np.stack(
        [
            anchored_elo(g.a, g.b, g.outcome, ITEMS, anchors=ANCHORS, targets=TARGETS, rng=np.random.default_rng(42))
            for g in groups
        ]
    )


def plain(g: Drawn) -> list[float]:
    """One group, in Python."""
    rng, q, s = np.random.default_rng(42), [SETTINGS.start] * ITEMS, SETTINGS
    goal = dict(zip(ANCHORS.tolist(), TARGETS.tolist()))
    rows = list(zip(g.a.tolist(), g.b.tolist(), np.array([1.0, 0.0, 0.5])[g.outcome].tolist()))
    for number in range(s.passes):
        k, k_anchor = s.k * s.decay**number, s.k_anchor * s.decay**number
        for row in rng.permutation(len(rows)).tolist():
            i, j, o = rows[row]
            step = k_anchor if i in goal or j in goal else k
            change = step * (o - 1 / (1 + math.exp((q[j] - q[i]) / s.tau)))
            q[i] += change
            q[j] -= change
        for item, target in goal.items():
            q[item] += s.pull * (target - q[item])
    return q


def main() -> None:
    """Print the line."""
    groups = [draw(COMPARISONS, ITEMS, ties=0.2, seed=seed) for seed in range(GROUPS)]
    ours(groups[:1])  # compile
    scores, seconds = best_of(lambda: ours(groups))
    memory = extra_mib(lambda: ours(groups))
    loop, peer = best_of(lambda: [plain(g) for g in groups], repeats=1)
    apart = np.abs(np.array(loop) - scores).max()
    if apart > 1e-9:
        raise SystemExit(f"the plain loop is {apart} points away")
    x = np.linspace(-2, 2, GROUPS * SETTINGS.passes * COMPARISONS)
    limit = best_of(lambda: 1 / (1 + np.exp(x)))[1]
    print_line(
        "anchored_elo",
        groups[0],
        seconds,
        ("the same rule as a plain Python loop", round(peer, 3)),
        limit=round(limit, 6),
        limit_name="numpy: 1 / (1 + exp(x)) once per update",
        groups=GROUPS,
        passes=SETTINGS.passes,
        updates=len(x),
        extra_mib=round(memory, 1),
        accuracy=float(f"{apart:.2g}"),
    )


if __name__ == "__main__":
    main()
