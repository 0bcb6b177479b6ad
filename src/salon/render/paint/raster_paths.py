"""Outlines and places as Skia keeps them."""

from __future__ import annotations

import math
from functools import lru_cache

from salon.render.marks import Glyphs, Path
from salon.render.paint.skia_library import skia
from salon.render.shapes import Matrix
from salon.render.typeset.setting import outlines

UNITS = 1000.0
"""Size at which glyph outlines are kept."""


def skia_path(path: Path) -> skia.Path:
    """The same outline as Skia keeps it."""
    made = skia.Path()
    ways = {"M": made.moveTo, "L": made.lineTo, "Q": made.quadTo, "C": made.cubicTo, "Z": made.close}
    for name, *values in path.commands:
        ways[name](*values)
    if path.even_odd:
        made.setFillType(skia.PathFillType.kEvenOdd)
    return made


@lru_cache(maxsize=20_000)
def _letter(face: str, glyph: int) -> skia.Path:
    """One glyph's outline at size UNITS, its origin at (0, 0)."""
    return skia_path(outlines(Glyphs(face, UNITS, (glyph,), (0.0,), (0.0,), "#000000")))


def run_path(mark: Glyphs) -> skia.Path:
    """All letters of a run as one outline."""
    run, zoom = skia.Path(), UNITS / mark.size
    for glyph, x, y in zip(mark.ids, mark.xs, mark.ys):
        run.addPath(_letter(mark.face, glyph), x * zoom, y * zoom)
    run.transform(skia.Matrix.Scale(1 / zoom, 1 / zoom))
    return run


def inner_pixels(path: skia.Path, clip: skia.IRect) -> skia.Region:
    """The pixels inside the outline and at least one away from its edge."""
    inner, whole = skia.Region(clip), skia.Region(clip)
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        path.offset(dx, dy)
        shifted = skia.Region()
        shifted.setPath(path, whole)
        inner.op(shifted, skia.Region.kIntersect_Op)
        path.offset(-dx, -dy)
    return inner


def skia_matrix(transform: Matrix) -> skia.Matrix:
    """x' = a x + c y + e, y' = b x + d y + f as Skia's."""
    a, b, c, d, e, f = transform
    return skia.Matrix.MakeAll(a, c, e, b, d, f, 0, 0, 1)


def scale_of(matrix: skia.Matrix) -> float:
    """By how much it enlarges: the root of its area factor."""
    across = matrix.getScaleX() * matrix.getScaleY() - matrix.getSkewX() * matrix.getSkewY()
    return math.sqrt(abs(across))
