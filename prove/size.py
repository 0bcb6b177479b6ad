"""True size of the signal tests at nominal 5%, by simulating null studies; writes docs/methods/size.md.

python -m prove.size [sets]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from salon.stats import Null, SignalCells, cells_votes, cycle_test, exact_null, pmax_test, t_test, votes_rankings

OUT = Path(__file__).parents[1] / "docs/methods/size.md"
SEED = 2026
SETS, RAW_SETS, PROMPTS, LEVEL = 20_000, 4_000, 80, 0.05
SHAPES = ((4, 5), (5, 5), (4, 3), (3, 5), (4, 6))

HEAD = """\
# Size of the signal tests

Written by `make prove ONLY=size` (seed {seed}); see [signal](signal.md) for the methods.
Each row: simulated studies of {n} prompts judged by random raters; share of them with p <= 5%, with its Monte Carlo
standard error. A right test is near 5%; an exact test of a count may stay below, as it cannot hit 5% exactly.
*p_max naive* is the usual chi-square that treats the pairs of a prompt as independent.

"""


def main(sets: int) -> None:
    rng = np.random.default_rng(SEED)
    lines = [
        "| items | raters | source | sets | T | p_max | cycles | p_max naive |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        null = exact_null(*shape)
        lines.append(row(null, "exact law", sets, rng))
        if shape == SHAPES[0]:
            lines.append(row(null, "raw rankings", min(sets, RAW_SETS), rng))
        print(lines[-1], flush=True)
    OUT.write_text(HEAD.format(seed=SEED, n=PROMPTS) + "\n".join(lines) + "\n")


def row(null: Null, source: str, sets: int, rng: np.random.Generator) -> str:
    """One line of the table."""
    draw = from_law if source == "exact law" else from_rankings
    rejected = np.zeros(4)
    for _ in range(sets):
        rejected += np.array(p_values(draw(null, rng), null)) <= LEVEL
    shares = [f"{100 * x:.2f}% ± {100 * np.sqrt(x * (1 - x) / sets):.2f}" for x in rejected / sets]
    return f"| {null.items} | {null.raters} | {source} | {sets:,} | " + " | ".join(shares) + " |"


def p_values(cells: SignalCells, null: Null) -> tuple[float, float, float, float]:
    pmax = pmax_test(cells, null)
    return t_test(cells, null).p, pmax.p, cycle_test(cells, null).p, float(pmax.p_naive or 0.0)


def from_law(null: Null, rng: np.random.Generator) -> SignalCells:
    """A null study as counts of cells: the same law as ranking at random, without the rankings."""
    cyclic = np.array([bool(flag) for _, flag in null.joint])
    counts = rng.multinomial(PROMPTS, null.probabilities)
    return SignalCells(null.items, null.raters, null.histograms, cyclic, counts)


def from_rankings(null: Null, rng: np.random.Generator) -> SignalCells:
    """A null study from rankings drawn at random."""
    ranks = rng.permuted(np.broadcast_to(np.arange(null.items), (PROMPTS, null.raters, null.items)), axis=2)
    return cells_votes(votes_rankings(ranks), null.raters, null.items)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SETS)
