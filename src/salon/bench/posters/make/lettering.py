"""Words on a sheet: lines at an exact size, blocks that fit, colors that stand out by so much, and the painting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from salon.render.brief import Align
from salon.render.colors import NAMES, contrast, mix
from salon.render.layout import Box, Face
from salon.render.marks import Fill, Layer, Mark, Paint
from salon.render.paint.raster import paint
from salon.render.shapes import rect
from salon.render.typeset.setting import SetText, set_text

PAPERS = tuple(NAMES[name] for name in ("white", "snow", "ivory", "cream", "ice", "blush", "mint", "lemon"))
INKS = tuple(NAMES[name] for name in ("black", "ink", "charcoal", "navy", "petrol", "forest", "maroon", "indigo"))
GROUNDS = tuple(
    NAMES[name]
    for name in ("sand", "sky", "teal", "terracotta", "mustard", "plum", "slate", "moss", "coral", "navy", "cream",
                 "lavender", "crimson", "charcoal", "aqua", "peach")
)  # fmt: skip


def painted(marks: Sequence[Mark], width: int, height: int, ground: Paint) -> np.ndarray:
    """The marks on a ground of one paint, as pixels."""
    return paint(
        [Layer("ground", (Fill(rect(0, 0, width, height), ground),)), Layer("marks", tuple(marks))], width, height
    )


def lines_at(
    lines: Sequence[str], face: Face, size: float, frame: Box, *, paint: Paint, align: Align = "left"
) -> SetText:
    """The lines as they are, at this size exactly, from the top of the frame."""
    return set_text(
        "\n".join(lines), face, frame, size=size, smallest=size, leading=1.3, align=align, paint=paint,
        max_lines=len(lines), balanced=False,
    )  # fmt: skip


def line_in(text: str, face: Face, frame: Box, *, paint: Paint, size: float, align: Align = "left") -> SetText:
    """One line in the middle of the frame's height, at `size` or as much smaller as its length needs."""
    return set_text(
        text, face, frame, size=size, smallest=8, leading=1.2, align=align, valign="middle", paint=paint, max_lines=1
    )


def ink_on(ground: str, wanted: float, hue: str) -> str:
    """A shade of `hue` with this contrast on the ground, or the black or white that comes nearest to it."""
    end = max(("#000000", "#ffffff"), key=lambda extreme: contrast(extreme, ground))
    start = hue if contrast(hue, ground) <= wanted else ground
    near, far = 0.0, 1.0
    for _ in range(16):
        middle = (near + far) / 2
        near, far = (middle, far) if contrast(mix(start, end, middle), ground) < wanted else (near, middle)
    return mix(start, end, far)


def label(text: str, x: float, y: float, size: float = 30, color: str = "#121214") -> tuple[Mark, ...]:
    """A letter that names a part of the picture, its upper left corner at (x, y)."""
    frame = Box(x=x, y=y, width=20 * size, height=1.5 * size)
    return lines_at([text], Face(family="Inter", weight=700), size, frame, paint=color).glyphs
