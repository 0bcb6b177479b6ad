"""Do the intervals of next rater and oracle hold the truth, whatever the law of pair odds?

Writes docs/methods/ceilings-table.md. python -m prove.ceilings [studies]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prove._page import table, wrapped
from salon.stats import Ceilings, accuracy_warnings, bootstrap_totals, ceilings, vote_table
from salon.stats.intervals import ratio
from salon.stats.pair_ceilings import oracle
from salon.stats.vote_laws import majority_right

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

OUT = Path(__file__).parents[1] / "docs/methods/ceilings-table.md"
SEED = 2026
STUDIES = 50
PAIRS = 6
DESIGNS = ((20, 5), (80, 5), (300, 5), (80, 4))
"""Prompts and raters."""

LAWS: dict[str, Draw] = {
    "beta (2, 2)": lambda rng, n: rng.beta(2, 2, n),
    "uniform": lambda rng, n: rng.random(n),
    "every pair .7": lambda rng, n: np.where(rng.random(n) < 0.5, 0.7, 0.3),
    "half .95, half coins": lambda rng, n: rng.choice([0.95, 0.05, 0.5, 0.5], n),
    "a third each of .6, .8, 1": lambda rng, n: rng.choice([0.6, 0.8, 1.0, 0.4, 0.2, 0.0], n),
    "all coins": lambda rng, n: np.full(n, 0.5),
    "a tenth sure, the rest .55": lambda rng, n: np.where(rng.random(n) < 0.1, 1.0, 0.55),
}
SAID = f"""Written by `make prove ONLY=ceilings` (seed {SEED}); methods in [ceilings](ceilings.md). Studies of
{PAIRS} pairs a prompt; half of the prompts have one probability for all their pairs. *Covered*: share of studies
whose 95% interval holds the true accuracy of one more rater and of a predictor that knows every pair's probability.
*Beta*: share in which the interval of the beta law's oracle alone, prompts drawn again, would. *Accused*: share in
which a perfect predictor is suspected of a leak, as its accuracy and all of its interval are above the oracle's;
*beta* beside it: its accuracy is above the beta law's interval. *Width*: mean width of the oracle's interval."""


def main(studies: int) -> None:
    rng = np.random.default_rng(SEED)
    rows = []
    for name, draw in LAWS.items():
        truth_p = draw(rng, 400_000)
        for prompts, raters in DESIGNS:
            follow, knows = truths(truth_p, raters)
            outcomes = np.array([study(rng, draw, prompts, raters, follow, knows) for _ in range(studies)])
            rates = outcomes.mean(axis=0)
            rows.append([name, f"{prompts}, {raters}", f"{knows:.3f}", *(f"{rate:.3f}" for rate in rates)])
            print(rows[-1], flush=True)
    head = (
        "law of pair odds",
        "prompts, raters",
        "true oracle",
        "next rater covered",
        "oracle covered",
        "beta",
        "accused",
        "beta",
        "width",
    )
    said = f"{SAID} {studies} studies a row."
    OUT.write_text(f"# Ceilings: coverage\n\n{wrapped(said)}\n\n{table(head, rows)}")


def truths(p: Floats, raters: int) -> tuple[float, float]:
    """Accuracy of one more rater and of an oracle against the majority, where there is one."""
    likely = np.maximum(p, 1 - p)
    right, wrong = majority_right(likely, raters), majority_right(1 - likely, raters)
    decided = (right + wrong).mean()
    return float((likely * right + (1 - likely) * wrong).mean() / decided), float(right.mean() / decided)


def study(
    rng: np.random.Generator, draw: Draw, prompts: int, raters: int, follow: float, knows: float
) -> tuple[float, ...]:
    shared = rng.random(prompts) < 0.5
    p = np.where(shared[:, None], draw(rng, prompts)[:, None], draw(rng, prompts * PAIRS).reshape(prompts, PAIRS))
    k = rng.binomial(raters, p)
    groups = np.repeat(np.arange(prompts), PAIRS)
    made = ceilings(k.ravel(), raters, groups, draws=400, rng=rng)
    low, high = beta_interval(made, k, raters, rng)
    decided = 2 * k != raters
    sure = np.where(p == 0.5, rng.random(p.shape) < 0.5, p > 0.5)  # nothing to know of a coin
    hits = np.column_stack([(((2 * k > raters) == sure) & decided).sum(axis=1), decided.sum(axis=1)])
    perfect = bootstrap_totals(lambda t: ratio(t[:, 0], t[:, 1]), hits, draws=400, rng=rng)
    return (
        _holds(made.next_rater.low, made.next_rater.high, follow),
        _holds(made.oracle.low, made.oracle.high, knows),
        _holds(low, high, knows),
        float(any("leak" in words for words in accuracy_warnings(perfect, made))),
        float(perfect.value > high),
        (made.oracle.high or 1.0) - (made.oracle.low or 0.0),
    )


def beta_interval(made: Ceilings, k: NDArray[np.int64], raters: int, rng: np.random.Generator) -> tuple[float, float]:
    """Percentiles of the beta law's oracle, prompts drawn again."""
    votes = vote_table(k.ravel(), raters, np.repeat(np.arange(len(k)), k.shape[1]))
    found = bootstrap_totals(lambda t: oracle(votes, t), votes.counts, draws=400, rng=rng)
    return (found.low or made.beta[1], found.high or made.beta[1])


def _holds(low: float | None, high: float | None, truth: float) -> float:
    return float(low is not None and high is not None and low - 1e-9 <= truth <= high + 1e-9)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
