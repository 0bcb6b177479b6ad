"""Stages on which the tests of styles draw, and how they look at what was drawn."""

from __future__ import annotations

import numpy as np

from salon.render import SIZES, Box, Glyphs, Layer
from salon.render.paint.raster import paint
from salon.render.palettes import harmonise, rechecked
from salon.render.plan import Stage, Style

CALM = (
    "Minimalist", "Typographic Minimalism", "Flat Design", "Illustrative", "Japanese", "New Chinese Aesthetic",
    "Papercut", "Retro", "Pop Art",
)  # fmt: skip
LOUD = (
    "Acid Graphics", "Cinema 4D", "Cyberpunk", "Diffuse Glow", "Glitch Art", "Memphis", "Pixel Art", "Vaporwave",
)  # fmt: skip
QUIET = Box(x=70, y=900, width=880, height=480)
PICTURE = Box(x=90, y=80, width=844, height=760)


def stage(style: Style, *, colors=("cream", "navy", "coral"), format="poster", subject="boat", quiet=(QUIET,), seed=1):
    mood = "calm" if style.name in CALM else "bold"
    palette = harmonise(colors, mood, np.random.default_rng(seed))
    palette = rechecked(style.tune(palette, np.random.default_rng(seed)))
    width, height = SIZES[format]
    return Stage(width, height, format, palette, subject, mood, "left", quiet, np.random.default_rng(seed))


def seen(marks, of: Stage, scale: float = 0.25) -> np.ndarray:
    return paint([Layer("all", tuple(marks))], of.width, of.height, scale).astype(float)


def hexed(rgb: np.ndarray) -> str:
    return "#" + "".join(f"{round(value):02x}" for value in rgb)


def letters(paint: str) -> tuple[Glyphs, ...]:
    return (Glyphs("Inter:700", 100.0, (40, 41), (80.0, 160.0), (1000.0, 1000.0), paint),)
