"""Film grain: grey noise from a seed, kept as a few large tiles."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from salon.render.paint.skia_library import PIXEL, opaque, skia

TILE = 512
KINDS = 4
"""Different tiles; a seed picks one and where it starts, so that making noise is not paid for each poster."""
SPREAD = 0.28
"""Standard deviation of the noise, as a share of white."""


def noise_tile(seed: int, speck: float) -> tuple[skia.Image, int, int]:
    """An opaque tile of TILE pixels with specks of this size, and how far it is shifted left and up."""
    rng = np.random.default_rng([seed, 0x6A1])
    kind, left, top = rng.integers(0, [KINDS, TILE, TILE]).tolist()
    return _tile(kind, max(1.0, round(speck * 4) / 4)), left, top


@lru_cache(maxsize=16)
def _tile(kind: int, speck: float) -> skia.Image:
    cells = math.ceil(TILE / speck)
    noise = np.random.default_rng(kind).normal(0.5, SPREAD, (cells, cells))
    grey = np.round(255 * np.clip(noise, 0, 1)).astype(np.uint8)
    pixels = np.full((cells, cells, 4), 255, np.uint8)
    pixels[..., :3] = grey[..., None]
    small = skia.Image.fromarray(pixels, colorType=PIXEL)
    surface = skia.Surface.MakeRaster(opaque(TILE, TILE))
    whole = skia.Rect.MakeWH(TILE, TILE)
    surface.getCanvas().drawImageRect(small, whole, skia.SamplingOptions(skia.FilterMode.kLinear))
    return surface.makeImageSnapshot()
