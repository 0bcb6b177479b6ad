"""A thousand bootstrap rounds of Bradley-Terry over 500 raters, against refitting every round.

Ours sums the slopes of every rater once and takes one Newton step per round on multinomial rater weights; the fit
itself is not in the time (`fit` beside it), as the peers' preparation is not in theirs. `accuracy` compares the
standard deviation over the rounds with the cluster sandwich: |mean ratio over items - 1|. Peers resample comparisons,
not raters: evalica rows, FastChat counts. They run a few rounds and are scaled to a thousand. Limit: the product of
weights and sums in numpy. At 1e7/100,000 there is no line: a step is a large sparse system there, a thousand of them
take more than ten minutes, and `clustered_errors` gives the errors without them.
"""

from __future__ import annotations

import evalica
import numpy as np

from benchmarks._pairs import RATERS, Drawn, asked_sizes, best_of, draw, extra_mib, print_line
from benchmarks._peers import WINNERS, fastchat_fit, fastchat_rows
from salon.stats import PairCounts, PairFit, bootstrap_scores, cluster_scores, clustered_errors, count_pairs, fit_pairs

ROUNDS, MOST_ITEMS = 1_000, 5_000
EVALICA, FASTCHAT = "evalica.bootstrap (100 rounds, scaled)", "FastChat's formula (1 round, scaled)"


def fitted(drawn: Drawn) -> tuple[PairFit, PairCounts]:
    """What stands before the rounds."""
    counts = count_pairs(drawn.a, drawn.b, drawn.outcome, drawn.items)
    return fit_pairs(counts), counts


def ours(drawn: Drawn, fit: PairFit, counts: PairCounts) -> np.ndarray:
    """Scores (rounds, items)."""
    sums = cluster_scores(fit, drawn.a, drawn.b, drawn.outcome, drawn.rater, RATERS)
    return bootstrap_scores(fit, counts, sums, draws=ROUNDS, rng=np.random.default_rng(0))


def peers(drawn: Drawn) -> dict[str, float | str]:
    """Seconds scaled to a thousand rounds, or why not run."""
    seconds: dict[str, float | str] = {EVALICA: "skipped: more than a minute"}
    if len(drawn.a) <= 10_000:
        won = WINNERS[drawn.outcome].tolist()
        options = {"n_resamples": 100, "bootstrap_method": "percentile", "random_state": 0}
        run = best_of(
            lambda: evalica.bootstrap(evalica.bradley_terry, drawn.a.tolist(), drawn.b.tolist(), won, **options), 1
        )
        seconds[EVALICA] = round(run[1] * ROUNDS / 100, 3)
    pairs, points, often = fastchat_rows(drawn)
    weights = np.random.default_rng(0).multinomial(len(drawn.a), often / often.sum()).astype(float)
    seconds[FASTCHAT] = round(best_of(lambda: fastchat_fit(pairs, points, weights, drawn.items), 1)[1] * ROUNDS, 3)
    return seconds


def race(drawn: Drawn) -> None:
    """Print the line of one size."""
    (fit, counts), before = best_of(lambda: fitted(drawn))
    rounds, seconds = best_of(lambda: ours(drawn, fit, counts))
    memory = extra_mib(lambda: ours(drawn, fit, counts))
    sums = cluster_scores(fit, drawn.a, drawn.b, drawn.outcome, drawn.rater, RATERS)
    se = clustered_errors(fit, counts, sums).se
    weights = np.ones((ROUNDS, RATERS))
    times = peers(drawn)
    ran = {name: s for name, s in times.items() if isinstance(s, float)}
    fastest = min(ran, key=ran.__getitem__)
    print_line(
        "bootstrap_1e7",
        drawn,
        seconds,
        (fastest, ran[fastest]),
        limit=round(best_of(lambda: weights @ sums)[1], 6),
        limit_name=f"numpy: ({ROUNDS}, {RATERS}) @ ({RATERS}, items)",
        rounds=ROUNDS,
        raters=RATERS,
        fit=round(before, 4),
        extra_mib=round(memory),
        peers=times,
        accuracy=round(float(abs((np.std(rounds, axis=0, ddof=1) / se).mean() - 1)), 4),
    )


if __name__ == "__main__":
    small = draw(20_000, 20)
    ours(small, *fitted(small))  # compile
    for comparisons, items in asked_sizes():
        if items <= MOST_ITEMS:
            race(draw(comparisons, items))
