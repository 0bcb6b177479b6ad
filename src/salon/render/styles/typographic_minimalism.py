"""Typographic Minimalism: type is the picture. An enormous sign, a fragment of a letter, heavy rules, two colors."""

from __future__ import annotations

import numpy as np

from salon.render.layout import Box, Face
from salon.render.marks import Color, Fill, Glyphs, Group, Mark
from salon.render.plan import Stage, Style
from salon.render.shapes import rect
from salon.render.styles.ways import (
    Marks,
    apart,
    boxed,
    clipped,
    freest,
    keep,
    middle,
    no_finish,
    plain_ground,
    plain_letter,
    plain_panel,
    strongest,
)
from salon.render.typeset.shape import ShapedLine, shape_line

FACES = (
    Face(family="Archivo Black"),
    Face(family="Bodoni Moda", weight=900),
    Face(family="Abril Fatface"),
    Face(family="Fraunces", weight=900),
)
SIGNS = "&*“,"
"""Signs that say nothing wrong beside any headline."""
FRAGMENTS = "RSGaegk"
"""Letters with bowls, legs and ears: cropped so close that one sees form before one reads."""


def picture(stage: Stage, box: Box) -> Marks:
    """A giant sign, whole or sliced, a close crop of a letter, or bars."""
    if stage.format == "logo":
        return _fitted(stage, box)
    place = freest(stage, box)
    ways = (_cropped, _fragment, _sliced, _bars) if place.height > 380 * stage.unit else (_fragment, _bars)
    return ways[int(stage.rng.integers(len(ways)))](stage, place)


def _color(stage: Stage) -> Color:
    return strongest(stage.palette, stage.palette.ground, 2.0)


def _one_of(stage: Stage, characters: str) -> ShapedLine:
    face = FACES[int(stage.rng.integers(len(FACES)))]
    return shape_line(characters[int(stage.rng.integers(len(characters)))], face, 1000.0)


def _placed(stage: Stage, shaped: ShapedLine, scale: float, x: float, y: float) -> tuple[Glyphs, ...]:
    """Shaped letters enlarged, the centre of their ink at (x, y)."""
    centre_x, centre_y = middle(shaped.ink)
    left, top = x - centre_x * scale, y - centre_y * scale
    return tuple(
        Glyphs(
            run.face,
            shaped.size * scale,
            run.ids,
            tuple(left + at * scale for at in run.xs),
            tuple(top + at * scale for at in run.ys),
            _color(stage),
        )
        for run in shaped.runs
    )


def _fitted(stage: Stage, box: Box, share: float = 1.0, signs: str = SIGNS) -> tuple[Glyphs, ...]:
    """A whole sign, as large as the box allows, times `share`."""
    shaped = _one_of(stage, signs)
    scale = share * min(box.height / shaped.ink.height, box.width / shaped.ink.width)
    return _placed(stage, shaped, scale, *middle(box))


def _cropped(stage: Stage, box: Box) -> Marks:
    """A sign a little too large for its place."""
    return (clipped(_fitted(stage, box, 1.18), boxed(box)),)


def _fragment(stage: Stage, box: Box) -> Marks:
    """A letter at more than twice the size of its place, seen somewhere off its middle."""
    shaped = _one_of(stage, FRAGMENTS)
    scale = 2.1 * max(box.width / shaped.ink.width, box.height / shaped.ink.height)
    (x, y), (dx, dy) = middle(box), stage.rng.uniform(0.2, 0.3, 2) * stage.rng.choice((-1, 1), 2) * scale
    letter = _placed(stage, shaped, scale, x + dx * shaped.ink.width, y + dy * shaped.ink.height)
    return (clipped(letter, boxed(box)),)


def _sliced(stage: Stage, box: Box) -> Marks:
    """A sign cut into strips, each shifted against the next."""
    sign = _fitted(stage, box, 0.94, "&*")
    strips = 5
    height = box.height / strips
    marks = []
    for k in range(strips):
        shift = box.width * 0.04 * (k - (strips - 1) / 2) * (1 if k % 2 else -1)
        strip = rect(box.x, box.y + k * height, box.width, height - 5 * stage.unit)
        marks.append(Group((Group(sign, transform=(1, 0, 0, 1, shift, 0)),), clip=strip))
    return tuple(marks)


def _bars(stage: Stage, box: Box) -> Marks:
    """Rules that grow by a constant ratio, one of them in the accent."""
    ratio, gap = 1.55, 0.35
    count = 7
    heights = ratio ** np.arange(count)
    unit = box.height / float(heights.sum() * (1 + gap) - gap * heights[-1])
    special = int(stage.rng.integers(2, count - 1))
    marks: list[Mark] = []
    y = box.y
    for k, height in enumerate(heights * unit):
        color = apart(stage.palette.accent, stage.palette.ground, 1.5) if k == special else _color(stage)
        marks.append(Fill(rect(box.x, y, box.width, float(height)), color))
        y += float(height) * (1 + gap)
    return tuple(marks)


STYLE = Style(
    name="Typographic Minimalism",
    moods=("serious", "bold", "elegant"),
    displays=(("Archivo Black", 400), ("Anton", 400), ("Bodoni Moda", 800), ("Syne", 800)),
    texts=(("Archivo", 400), ("Inter", 400), ("Space Grotesk", 400)),
    case="as is",
    arrangements=("big-type", "split", "corner-grid", "sidebar", "hero-top", "hero-bottom", "mark-left"),
    tune=keep,
    ground=plain_ground,
    picture=picture,
    finish=no_finish,
    panel=plain_panel,
    letter=plain_letter,
    tracking=-0.03,
    scale=1.35,
)
