"""Davidson's model (ties with a parameter of their own) from comparisons to scores, against evalica's Newman.

Newman's model is Davidson's with nu = 2 v. One comparison in five is a tie. Beside every time stands the largest
distance of a score to the exact maximum of the likelihood, in logits. Limit: one pass that bins the comparisons.
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
from benchmarks._peers import DAVIDSON
from salon.stats import PairFit, count_pairs, fit_pairs


def ours(drawn: Drawn) -> PairFit:
    """Comparisons to scores and the tie parameter."""
    return fit_pairs(count_pairs(drawn.a, drawn.b, drawn.outcome, drawn.items), "davidson")


def race(drawn: Drawn) -> None:
    """Print the line of one size."""
    fit, seconds = best_of(lambda: ours(drawn))
    memory = extra_mib(lambda: ours(drawn))
    limit = pass_limit(drawn)
    times, scores = race_peers(DAVIDSON, drawn)
    exact, nu = exact_scores(pair_rows(drawn), fit.scores, fit.tie)
    print_line(
        "davidson_1e7",
        drawn,
        seconds,
        headline(times, "evalica.newman"),
        **limit,
        times_limit=round(seconds / limit["limit"], 1),
        extra_mib=round(memory),
        tie=round(fit.tie, 6),
        exact_tie=round(nu, 6),
        peers=times,
        accuracy={"ours": centred_distance(fit.scores, exact)}
        | {name: centred_distance(q, exact) for name, q in scores.items()},
    )


if __name__ == "__main__":
    ours(draw(500_000, 800, ties=0.2))  # compile: fewer would be fitted by numpy
    for comparisons, items in asked_sizes():
        race(draw(comparisons, items, ties=0.2))
