"""From votes with ties to a leaderboard of generators, with intervals, ranks and tiers: python examples/fuse_votes.py

The votes are made up here, so the study says that it is simulated; put your own rows in their place.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

import salon
from salon.errors import NotIdentified

STRENGTH = {"anvil": 0.6, "brocade": 0.5, "cinder": 0.0, "delft": -0.4}
PROMPTS, RATERS = 50, ("ann", "bob", "cem", "dora", "eve", "fay")


def votes(rng: np.random.Generator) -> list[salon.Comparison]:
    """Three raters compare every two images of a prompt; what the prompt made of an image counts as well."""
    made = []
    for prompt in range(PROMPTS):
        image = {name: strength + rng.normal(scale=0.8) for name, strength in STRENGTH.items()}
        for rater in rng.choice(RATERS, 3, replace=False):
            for a, b in combinations(STRENGTH, 2):
                seen = image[a] - image[b] + rng.logistic()
                outcome = "tie" if abs(seen) < 0.4 else "a" if seen > 0 else "b"
                names = {"a": f"{prompt}/{a}", "b": f"{prompt}/{b}"}
                made.append(salon.Comparison(criterion="overall", rater=rater, outcome=outcome, **names))
    return made


def study(comparisons: list[salon.Comparison]) -> salon.Study:
    """The votes with everything they refer to."""
    named = [(prompt, generator) for prompt in range(PROMPTS) for generator in STRENGTH]
    return salon.Study.build(
        "arena",
        [salon.Criterion(id="overall", question="Which image is better?")],
        tables={
            "prompts": [salon.Prompt(id=str(prompt)) for prompt in range(PROMPTS)],
            "items": [salon.Item(id=f"{p}/{name}", prompt=str(p), generator=name) for p, name in named],
            "raters": [salon.Rater(id=rater) for rater in RATERS],
            "comparisons": comparisons,
        },
        simulated=True,
    )


def main() -> None:
    made = study(votes(np.random.default_rng(1)))
    report = salon.fuse_study(made, salon.FuseSettings(by="generator"))
    drawn = "raters and prompts" if report.cluster == "both" else f"{report.cluster}s"
    print(f"{report.method}, scale {report.scale}; drawn anew for the intervals: {drawn}")
    for row in report.scores:
        score = f"{row.value:5.2f} [{row.low:5.2f}, {row.high:5.2f}]"
        print(f"  {row.generator:<8} {score}  rank {row.rank_low} to {row.rank_high}, tier {row.tier}")
    # One prompt is too little: some image never lost. A method asked for by name says so instead of inventing a number.
    try:
        salon.fuse_study(made, salon.FuseSettings(method="davidson"))
    except NotIdentified as error:
        print(f"item by item: {error.found} ({error.where})\n  do: {error.remedy}")


if __name__ == "__main__":
    main()
