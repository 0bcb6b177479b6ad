"""A study with pictures to train on in a second: redder is better, and an encoder that sees colors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from salon.models import EncoderPart, Vectors
from salon.study import Comparison, Criterion, Item, Prompt, Rater, Rating, Scale, Study

FLAG = Criterion(id="flag", scale=Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False))


class Colors:
    """An encoder that sees the mean color of a picture, and counts letters."""

    name = signature = "colors"
    text_width, licence = 3, "CC0"
    parts = (EncoderPart("mean", 3, True),)

    def pictures(self, images: Sequence[Image.Image], part: str) -> Vectors:
        return np.array([np.asarray(image, np.float32).mean(axis=(0, 1)) / 255 for image in images])

    def texts(self, texts: Sequence[str]) -> Vectors:
        return np.array([[len(text), text.count("e"), text.count(" ")] for text in texts], np.float32) / 10


def study_in(folder: Path, prompts: int = 40, **changes: Any) -> Study:
    """Three pictures a prompt; five raters prefer the redder one under mood, and flag dark ones."""
    rng = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    items, comparisons, ratings = [], [], []
    for prompt in range(prompts):
        # Pixels of each picture are drawn, so that no two look alike.
        drawn = rng.integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
        drawn[..., 0] = np.clip(drawn[..., 0] * rng.uniform(0.2, 1, (3, 1, 1)), 0, 255)
        red = drawn[..., 0].mean(axis=(1, 2))
        for n in range(3):
            Image.fromarray(drawn[n]).save(folder / "images" / f"{prompt}-{n}.png")
            items.append(Item(id=f"{prompt}-{n}", prompt=f"q{prompt}", image=f"images/{prompt}-{n}.png"))
            ratings += [Rating(criterion="flag", rater=f"r{r}", item=f"{prompt}-{n}", value=int(red[n] < 70))
                        for r in range(2)]  # fmt: skip
        for i, j in ((0, 1), (0, 2), (1, 2)):
            won = "a" if red[i] > red[j] else "b"
            comparisons += [Comparison(criterion="mood", rater=f"r{r}", a=f"{prompt}-{i}", b=f"{prompt}-{j}",
                                       outcome=won if r else "ab"[won == "a"]) for r in range(5)]  # fmt: skip
    tables = {
        "prompts": [Prompt(id=f"q{n}", intent=f"intent {n}", description="d " * n) for n in range(prompts)],
        "items": items,
        "raters": [Rater(id=f"r{r}") for r in range(5)],
        "comparisons": comparisons,
        "ratings": ratings,
    }
    mood = Criterion(id="mood", question="Which has the mood?", view=("intent",))
    return Study.build("red", (mood, FLAG), tables=tables | changes, simulated=True)
