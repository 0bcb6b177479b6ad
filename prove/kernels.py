"""Short simulations behind single sentences of the method pages; writes docs/evidence/kernels.md.

python -m prove.kernels             all parts
python -m prove.kernels ratings     one part (the first word of its title); the others stay as they are
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prove import _kernel_intervals, _kernel_others, _kernel_panels, _kernel_prompts
from prove._kernel_panels import Rows
from prove._page import table, wrapped

OUT = Path(__file__).parents[1] / "docs/evidence/kernels.md"
SEED = 2026
SAID = f"""Written by `make prove ONLY=kernels` (seed {SEED}). What the method pages say of coverage and false alarms is
read off here. Nobody gave these answers."""


@dataclass(frozen=True)
class Part:
    """One table."""

    title: str
    said: str
    head: tuple[str, ...]
    rows: Callable[[np.random.Generator], Rows]


PARTS = (
    Part(
        "Crowds",
        """Three raters in ten toss coins, the others are right with chance eta ([crowd](../methods/crowd.md)); true
        scores of
        standard deviation 1.5, pulls to the left of .5. Behind a comma plain Bradley-Terry with the same prior.
        *slope*: regression of scores on truth; *matched*: coverage of 95% intervals once that common factor is
        taken out; *b*: coverage of the pulls of careful raters.""",
        ("eta", "items, raters, answers each", "studies", "SRCC", "MAE", "slope", "coverage", "matched", "b"),
        _kernel_panels.crowds,
    ),
    Part(
        "Ratings",
        """100 panels of 50 items a row: scores of standard deviation .8, offsets .4, noise .4 to 1, scales of log
        standard deviation .25 unless there are none ([ratings](../methods/ratings.md)). Coverage of 95% intervals of
        differences and of values; in brackets the root mean square error of differences.""",
        ("panel", *_kernel_panels.RATED),
        _kernel_panels.ratings,
    ),
    Part(
        "Intervals of ranks from few clusters",
        """200 studies a row, unequal errors, no true difference: how often no pair is told apart
        ([ranks](../methods/ranks.md)). Beside it a multivariate t with one common scale for all pairs.""",
        ("items, clusters", "c", "all differences covered", "c of a multivariate t", "it covers"),
        _kernel_intervals.ranks,
    ),
    Part(
        "Rankings",
        """8 items, 5 rankings of 4 by each rater, 200 studies a column: share of 95% intervals that hold the score
        which a panel without end would give ([Plackett-Luce](../methods/plackett-luce.md)).""",
        ("errors", "40 raters alike", "40 with tastes (sd 1.2)", "10 with tastes"),
        _kernel_intervals.rankings,
    ),
    Part(
        "Ties that hide an order",
        """3,000 strict rankings of six items, told with places 1-2, 3-4, 5-6 tied; regression of scores on truth.""",
        ("treatment", "slope (1 = no bias)"),
        _kernel_intervals.hidden_ties,
    ),
    Part(
        "Correlations near 1",
        """Normal pairs, n = 50, 400 studies a row: how often 95% intervals hold the true SRCC
        ([calibration](../methods/ratings.md#choosing-rating-anchors)).""",
        ("true SRCC", "Bonett and Wright", "jackknife (used here)"),
        _kernel_intervals.correlations,
    ),
    Part(
        "Few prompts",
        f"""How often 95% intervals from prompts drawn again hold what endlessly many prompts would give, by number of
        prompts, {_kernel_prompts.STUDIES} studies each; in brackets the plain percentiles of the same draws
        ([how](../methods/evaluation.md#few-prompts)). Four items and five raters with noise 1.9; a judge whose skill
        differs from
        prompt to prompt (beta with 4 and 2) on six pairs each; panels of five whose pairs have beta(1.5, 1.5); alpha of
        four units a prompt by four raters, truly .5. An interval that cannot be given counts as one that holds
        nothing: a median of three is such where all three are alike.""",
        ("figure", *(f"{prompts} prompts" for prompts in _kernel_prompts.PROMPTS)),
        _kernel_prompts.few_prompts,
    ),
    Part(
        "Two models alike",
        """Six pairs a prompt, 500 studies a row; a model is right about a pair by what the prompt is to it and by
        chance, in equal parts ([evaluation](../methods/evaluation.md)).""",
        ("prompts", "false alarms at 5%, signs flipped", "interval covers", "false alarms if pairs were independent"),
        _kernel_intervals.models,
    ),
    Part(
        "Honest models",
        """Six pairs a prompt, five votes a pair by the model's own chances: how often the 95% interval of the slope
        holds 1.""",
        ("prompts", "models", "coverage"),
        _kernel_intervals.honest,
    ),
    Part(
        "Passes of Elo",
        f"""One study in PPaint's shape: 50 items, 612 pairs, 5 raters, 15% ties, scores of standard deviation 180
        points; {_kernel_others.SEEDS} seeds of the shuffles ([Elo](../methods/pairwise.md#elo)).""",
        ("run", "spread over seeds, points", "Spearman between two seeds", "sd of the items"),
        _kernel_others.passes,
    ),
    Part(
        "Near copies of pictures",
        f"""Posters of {_kernel_others.BRIEFS} briefs by two houses: bits of 256 that the hash of a copy, or of
        another picture, lies apart; up to {_kernel_others.RADIUS} is near ([evaluation](../methods/evaluation.md)).""",
        ("picture", "n", "bits apart, median (range)", "near"),
        _kernel_others.copies,
    ),
)


def main(names: list[str]) -> int:
    known = {part.title.split()[0].lower(): part for part in PARTS}
    if unknown := set(names) - set(known):
        print(f"no part named {', '.join(sorted(unknown))}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    sections = written() if names else {}
    for number, part in enumerate(PARTS):
        if not names or part in (known[name] for name in names):
            rows = part.rows(np.random.default_rng([SEED, number]))
            sections[part.title] = f"{wrapped(part.said)}\n\n{table(part.head, rows)}"
            print(part.title, rows, flush=True)
            titles = [one.title for one in PARTS if one.title in sections]
            text = [f"# Short simulations of single methods\n\n{wrapped(SAID)}\n"]
            OUT.write_text(
                "".join([*text, *(f"\n## {title}\n\n{sections[title]}" for title in titles)]), encoding="utf-8"
            )
    return 0


def written() -> dict[str, str]:
    """The parts that stand on the page."""
    if not OUT.exists():
        return {}
    parts = [part.split("\n\n", 1) for part in OUT.read_text(encoding="utf-8").split("\n## ")[1:]]
    return {title: body.rstrip("\n") + "\n" for title, body in parts}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
