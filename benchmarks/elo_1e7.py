"""One pass of Elo in the given order, against evalica and FastChat's loop.

Same start, K and scale (1000, 4, 400) for all; beside each time the largest difference of its scores to ours, in
points. Limit: numpy computes as many logistic functions, in no order. `averaged` is one shuffle and pass of Elo
averaged over orders.
"""

from __future__ import annotations

import numpy as np

from benchmarks._pairs import (
    Drawn,
    asked_sizes,
    best_of,
    centred_distance,
    draw,
    extra_mib,
    headline,
    print_line,
    race_peers,
)
from benchmarks._peers import ELO
from salon.stats.elo import averaged_elo, sequential_elo


def ours(drawn: Drawn) -> np.ndarray:
    """One pass."""
    return sequential_elo(drawn.a, drawn.b, drawn.outcome, drawn.items)


def race(drawn: Drawn) -> None:
    """Print the line of one size."""
    scores, seconds = best_of(lambda: ours(drawn))
    shuffled = best_of(
        lambda: averaged_elo(drawn.a, drawn.b, drawn.outcome, drawn.items, shuffles=2, rng=np.random.default_rng(0)),
        repeats=1,
    )[1]
    memory = extra_mib(lambda: ours(drawn))
    x = np.linspace(-2, 2, len(drawn.a))
    limit = best_of(lambda: 1 / (1 + np.exp(x)))[1]
    times, found = race_peers(ELO, drawn)
    print_line(
        "elo_1e7",
        drawn,
        seconds,
        headline(times, "evalica.elo"),
        limit=round(limit, 6),
        limit_name="numpy: 1 / (1 + exp(x)) once per comparison",
        averaged=round(shuffled / 2, 4),
        extra_mib=round(memory),
        peers=times,
        accuracy={name: centred_distance(q, np.asarray(scores)) for name, q in found.items()},
    )


if __name__ == "__main__":
    small = draw(1_000, 20)
    ours(small)  # compile
    averaged_elo(small.a, small.b, small.outcome, 20, shuffles=2, rng=np.random.default_rng(0))
    for comparisons, items in asked_sizes():
        race(draw(comparisons, items, ties=0.2))
