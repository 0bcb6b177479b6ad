"""Bradley-Terry from comparisons to scores, against evalica, choix, FastChat's formulas, crowd-kit and arena-rank.

Ours counts the comparisons, checks the comparison graph and runs Newton to a win share within 1e-9. Beside every time
stands the largest distance of a score to the exact maximum of the likelihood, in logits. Limit: one pass that bins the
comparisons. No ties, because not all peers take them.
"""

from __future__ import annotations

from benchmarks._exact import exact_scores, pair_rows
from benchmarks._pairs import (
    Drawn,
    asked_sizes,
    best_of,
    centred_distance,
    draw,
    extra_mib,
    headline,
    pass_limit,
    print_line,
    race_peers,
)
from benchmarks._peers import BRADLEY_TERRY
from salon.stats import PairFit, count_pairs, fit_pairs


def ours(drawn: Drawn) -> PairFit:
    """Comparisons to scores."""
    return fit_pairs(count_pairs(drawn.a, drawn.b, drawn.outcome, drawn.items))


def race(drawn: Drawn) -> None:
    """Print the line of one size."""
    for _ in range(2):  # compile, and bring the arrays into memory
        ours(drawn)
    fit, seconds = best_of(lambda: ours(drawn))
    counting = best_of(lambda: count_pairs(drawn.a, drawn.b, drawn.outcome, drawn.items))[1]
    memory = extra_mib(lambda: ours(drawn))
    limit = pass_limit(drawn)
    times, scores = race_peers(BRADLEY_TERRY, drawn)
    exact, _ = exact_scores(pair_rows(drawn), fit.scores)
    print_line(
        "bt_1e7",
        drawn,
        seconds,
        headline(times, "evalica.bradley_terry"),
        **limit,
        times_limit=round(seconds / limit["limit"], 1),
        counting=round(counting, 4),
        extra_mib=round(memory),
        peers=times,
        accuracy={"ours": centred_distance(fit.scores, exact)}
        | {name: centred_distance(q, exact) for name, q in scores.items()},
    )


if __name__ == "__main__":
    for _ in range(3):
        ours(draw(90_000, 800))  # compile the loops of fewer pairs too: otherwise numpy would fit the smallest size
    for comparisons, items in asked_sizes():
        race(draw(comparisons, items))
