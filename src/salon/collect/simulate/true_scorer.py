"""True quality as a scorer: an oracle for drawn posters, and scorers of a known accuracy made from it.

It reads the layout that stands beside a picture in a study of drawn posters. No judge can: it is for measuring what a
way of choosing brings, and how much of that a scorer that errs loses.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from zlib import crc32

import numpy as np

from salon.generate.start import layout_beside
from salon.study import Item, Prompt, Signature
from salon.study.scorer import ScorerCard

TRUTH = "true-quality"


def mean_quality(layout: str | None) -> float | None:
    """Mean true quality over criteria, from a layout; None where it does not say."""
    quality = json.loads(layout).get("quality") if layout else None
    return round(sum(quality.values()) / len(quality), 6) if quality else None


class TrueQuality:
    """Mean true quality of a poster over criteria, plus noise: `sd` times a normal number of its own for each item.

    `shift` is added to every score: it changes no order, and a way of choosing may not depend on it.
    """

    def __init__(self, sd: float = 0.0, *, seed: int = 0, shift: float = 0.0, name: str = TRUTH) -> None:
        self.sd, self.seed, self.shift, self.name = sd, seed, shift, name
        self.card = ScorerCard(measures="What a drawn poster is worth, from the flaws on record; an oracle.")
        self.signature = Signature(method=TRUTH, settings={"sd": sd, "shift": shift}, seed=seed)

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """None for pictures without a layout that says how good they are."""
        return [self._score(item) for item in items]

    def _score(self, item: Item) -> float | None:
        quality = mean_quality(layout_beside(item.image)) if item.image else None
        return None if quality is None else quality + self.shift + self.sd * noise_of(item.id, self.seed)


def noise_of(item: str, seed: int) -> float:
    """A standard normal number that belongs to an item."""
    return float(np.random.default_rng([seed, crc32(item.encode())]).standard_normal())
