"""A scorer: how red a picture is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from salon.study import Item, Prompt, ScorerCard


def redness(image: Image.Image) -> float:
    """The mean of red less the mean of green and blue, from -1 to 1."""
    red, green, blue = np.asarray(image.convert("RGB"), np.float64).mean(axis=(0, 1)) / 255
    return float(red - (green + blue) / 2)


class Redness:
    """Reads nothing but the picture; a picture that cannot be read has no number."""

    name = "redness"
    card = ScorerCard(reads="image", low=-1, high=1, measures="How red the picture is.", licence="CC0-1.0")

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        return [self._of(item) for item in items]

    def _of(self, item: Item) -> float | None:
        try:
            with Image.open(item.image or "") as image:
                return redness(image)
        except OSError:
            return None
