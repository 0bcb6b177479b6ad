"""A reward function, as trainers call it: pictures and prompts in, one number each out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image


def brightness(pictures: Sequence[Image.Image], prompts: Sequence[str]) -> list[float]:
    """The mean of all pixels, from 0 to 1."""
    return [float(np.asarray(picture.convert("L"), np.float64).mean() / 255) for picture in pictures]
