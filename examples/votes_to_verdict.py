"""From a table of votes in memory to a study on disk, a verdict and a report: python examples/votes_to_verdict.py out

The votes are made up here, so the study says that it is simulated; put your own rows in their place.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import numpy as np

import salon
from salon.check import check_page

PROMPTS, RATERS = 60, ("ann", "bob", "cem", "dora", "eve")
GENERATORS = ("anvil", "brocade", "cinder")


def votes(rng: np.random.Generator) -> list[salon.Comparison]:
    """Every rater compares every two posters of a prompt; tastes are shared, eyes are noisy."""
    made = []
    for prompt in range(PROMPTS):
        quality = rng.normal(size=len(GENERATORS))
        for rater in RATERS:
            seen = quality + rng.normal(size=len(GENERATORS))
            for a, b in combinations(range(len(GENERATORS)), 2):
                made.append(
                    salon.Comparison(
                        criterion="overall",
                        rater=rater,
                        a=f"{prompt}/{GENERATORS[a]}",
                        b=f"{prompt}/{GENERATORS[b]}",
                        outcome="a" if seen[a] > seen[b] else "b",
                    )
                )
    return made


def study(rng: np.random.Generator) -> salon.Study:
    """The votes with everything they refer to."""
    items = [
        salon.Item(id=f"{prompt}/{generator}", prompt=str(prompt), generator=generator)
        for prompt in range(PROMPTS)
        for generator in GENERATORS
    ]
    return salon.Study.build(
        "posters",
        [salon.Criterion(id="overall", question="Which poster is better?")],
        tables={
            "prompts": [salon.Prompt(id=str(prompt)) for prompt in range(PROMPTS)],
            "items": items,
            "raters": [salon.Rater(id=rater) for rater in RATERS],
            "comparisons": votes(rng),
        },
        design=salon.Design(kind="complete"),
        simulated=True,
    )


def main(folder: Path) -> None:
    # One run is no evidence about a test: docs/methods/verdicts.md tells how often each answer is wrong.
    made = study(np.random.default_rng(5))
    salon.save_study(made, folder / "posters", overwrite=True)
    report = salon.check_study(made)
    check_page(report).write(folder / "check.html")
    for criterion in report.criteria:
        print(f"{criterion.name}: {criterion.answer}. {criterion.sentence}")
    print(report.signature_line)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
