"""What a face is like, measured on its outlines: the numbers behind words like 'wide', 'bold' or 'monospaced'."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

from salon.render.typeset.fonts import LoadedFont, load_font

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Measures:
    """Lengths in ems."""

    stem: float
    """Thickness of the heaviest upright of H: the weight the eye sees."""
    width: float
    """Mean advance of the lower-case letters over the x-height: how wide the face runs for its apparent size."""
    monospaced: bool
    caps: bool
    """Lower-case letters have no descenders and the height of capitals or small capitals."""


@functools.cache
def measures(key: str) -> Measures:
    """The measures of a face, by its key."""
    font = load_font(key)
    advances = {letter: font.hb.get_glyph_h_advance(_glyph(font, letter)) for letter in map(chr, range(97, 123))}
    return Measures(
        stem=_stem(font) / font.upem,
        width=sum(advances.values()) / len(advances) / font.upem / _x_height(font),
        monospaced=len(set(advances.values())) == 1,
        caps=_is_caps(font),
    )


def _glyph(font: LoadedFont, letter: str) -> int:
    return font.hb.get_nominal_glyph(ord(letter)) or 0


def _x_height(font: LoadedFont) -> float:
    return -font.extents(_glyph(font, "x"))[1]


def _is_caps(font: LoadedFont) -> bool:
    """Most small letters keep above the baseline and near the height of capitals (Q's tail is allowed to q)."""
    hanging = sum(font.extents(_glyph(font, letter))[3] > 0.1 for letter in "gpqy")
    return hanging <= 1 and _x_height(font) > 0.75 * font.cap_height


def _stem(font: LoadedFont) -> float:
    """The widest stretch of ink across H, a quarter of the way up, where there is no bar."""
    height = font.cap_height * font.upem / 4
    crossings = sorted(
        x0 + (x1 - x0) * (height - y0) / (y1 - y0)
        for (x0, y0), (x1, y1) in _edges(font.outline(_glyph(font, "H")))
        if (y0 > height) != (y1 > height)
    )
    return max((right - left for left, right in zip(crossings[::2], crossings[1::2])), default=math.nan)


def _edges(commands: tuple[tuple, ...]) -> list[tuple[Point, Point]]:
    """An outline as straight edges, each curve cut into eight."""
    edges: list[tuple[Point, Point]] = []
    start = pen = (0.0, 0.0)
    for name, *numbers in commands:
        points = list(zip(numbers[::2], numbers[1::2]))
        if name == "M":
            start = pen = points[0]
            continue
        controls = [pen, *(points or [start])]
        steps = 1 if len(controls) == 2 else 8
        along = [_on_curve(controls, step / steps) for step in range(steps + 1)]
        edges += itertools.pairwise(along)
        pen = controls[-1]
    return edges


def _on_curve(controls: list[Point], t: float) -> Point:
    """A point of a Bézier curve, by de Casteljau's repeated halving."""
    while len(controls) > 1:
        controls = [
            (x0 + (x1 - x0) * t, y0 + (y1 - y0) * t) for (x0, y0), (x1, y1) in itertools.pairwise(controls)
        ]  # fmt: skip
    return controls[0]
