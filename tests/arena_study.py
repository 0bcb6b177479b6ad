"""A study of four generators whose scores are known, for tests of arenas: comparisons, rankings or ratings."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from salon.study import Comparison, Criterion, Item, Prompt, Ranking, Rater, Rating, Scale, Study

GENERATORS = ("ada", "bo", "cy", "di")
SCORES = {"color": (0.9, 0.3, -0.3, -0.9), "type": (-0.7, 0.8, 0.2, -0.3)}
LEVELS = Scale(kind="ordinal", low=1, high=5, step=1)


def arena_study(
    protocol: str = "comparisons",
    *,
    prompts: int = 24,
    raters: int = 3,
    ties: float = 0.15,
    lean: float = 0.0,
    kind: str = "person",
    seed: int = 0,
    **metadata: Any,
) -> Study:
    """Every rater judges every prompt under both criteria; even prompts are mugs, odd ones posters."""
    rng = np.random.default_rng(seed)
    judged: list[Any] = []
    for criterion, scores in SCORES.items():
        for prompt in range(prompts):
            for rater in range(raters):
                judged += _answers(protocol, criterion, prompt, rater, np.array(scores), ties, lean, rng)
    items = [Item(id=f"p{p}-{g}", prompt=f"p{p}", generator=g) for p in range(prompts) for g in GENERATORS]
    return Study.build(
        "arena",
        [Criterion(id=id, scale=LEVELS if protocol == "ratings" else None) for id in SCORES],
        tables={
            "prompts": [Prompt(id=f"p{p}", text="x", category="poster" if p % 2 else "mug") for p in range(prompts)],
            "items": items,
            "raters": [Rater(id=f"r{rater}", kind=kind) for rater in range(raters)],
            protocol: judged,
        },
        **metadata,
    )


def _answers(protocol, criterion, prompt, rater, scores, ties, lean, rng) -> list[Any]:
    by = {"rater": f"r{rater}", "criterion": criterion}
    names = [f"p{prompt}-{generator}" for generator in GENERATORS]
    if protocol == "comparisons":
        return [_compared(by, names, pair, scores, ties, lean, rng) for pair in combinations(range(4), 2)]
    heard = scores + rng.gumbel(size=4)
    if protocol == "rankings":
        order = np.argsort(-heard)
        return [Ranking(**by, items=tuple(names[i] for i in order), ranks=(1, 2, 3, 4))]
    return [Rating(**by, item=name, value=float(np.clip(round(3 + x), 1, 5))) for name, x in zip(names, heard)]


def _compared(by, names, pair, scores, ties, lean, rng) -> Comparison:
    left = "a" if rng.random() < 0.5 else "b"
    d = scores[pair[0]] - scores[pair[1]] + (lean if left == "a" else -lean)
    decided = rng.random() >= ties
    first = rng.random() < 1 / (1 + np.exp(-d))
    outcome = ("a" if first else "b") if decided else "tie"
    return Comparison(**by, a=names[pair[0]], b=names[pair[1]], outcome=outcome, left=left)
