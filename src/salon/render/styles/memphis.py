"""Memphis: Milan in the eighties: squiggles, zigzags, dots and triangles, black-and-white patterns, candy colors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from salon.render.colors import difference, from_oklch, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Mark, Path, Stroke, Tile
from salon.render.motifs import MotifShape
from salon.render.plan import Lettered, Palette, Stage, Style
from salon.render.shapes import circle, joined, line, moved, polygon, polyline, rect, ring, sector, turned, wave
from salon.render.styles.light import (
    WHITE,
    inked,
    scene,
    spots,
    spread,
    vivid,
)
from salon.render.styles.ways import (
    Marks,
    bleeds,
    boxed,
    canvas,
    clipped,
    copies,
    drawn,
    no_finish,
    size_of,
    stands_out,
    whole,
)

LINE = "#17151c"
"""The black of outlines, shadows and patterns."""


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """Laminate: a pastel ground, everything else as bright as plastic."""
    lightness, chroma, hue = oklch(palette.ground)
    ground = palette.ground if lightness < 0.4 else from_oklch(max(lightness, 0.84), min(chroma, 0.16), hue)
    return inked(
        replace(
            palette,
            ground=ground,
            surface=WHITE,
            primary=vivid(palette.primary, 0.55, 0.82, 0.17),
            secondary=vivid(palette.secondary, 0.6, 0.87, 0.13),
            accent=vivid(palette.accent, 0.62, 0.88, 0.18),
        ),
        tint=0.0,
    )


# Ornaments: each takes its middle, its size, a color and how far it is turned


def _squiggle(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    path = turned(wave(x - size / 2, x + size / 2, y, size * 0.13, size * 0.36), angle, x, y)
    return (
        Stroke(moved(path, size * 0.04, size * 0.05), LINE, size * 0.1, cap="round", join="round"),
        Stroke(path, color, size * 0.1, cap="round", join="round"),
    )


def _zigzag(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    points = [(x + size * (i / 6 - 0.5), y + size * (0.1 if i % 2 else -0.1)) for i in range(7)]
    path = turned(polyline(points), angle, x, y)
    return (
        Stroke(moved(path, size * 0.035, size * 0.045), LINE, size * 0.08),
        Stroke(path, color, size * 0.08),
    )


def _triangle(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    h = size * 0.4
    path = turned(polygon(((x, y - h), (x + h, y + h * 0.75), (x - h, y + h * 0.75))), angle, x, y)
    return (
        Fill(moved(path, size * 0.07, size * 0.07), LINE),
        Fill(path, color),
        Stroke(path, LINE, size * 0.03, join="round"),
    )


def _half(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    path = sector(x, y, size * 0.4, angle, angle + 180)
    return (Fill(path, color), *striped(path, LINE, size * 0.11, angle + 45))


def _dots(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    step = size * 0.2
    places = [(x + (i - 1.5) * step, y + (j - 1.5) * step) for i in range(4) for j in range(4)]
    points = joined(*(line(a, b, a + 0.01, b) for a, b in places))  # round ends make dots of them
    return (Stroke(turned(points, angle, x, y), color, step * 0.48, cap="round"),)


def _donut(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    path = ring(x, y, size * 0.36, size * 0.18)
    return Fill(moved(path, size * 0.06, size * 0.06), LINE), Fill(path, color)


def _cross(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    arm = size * 0.26
    path = joined(line(x - arm, y, x + arm, y), line(x, y - arm, x, y + arm))
    return (Stroke(turned(path, angle, x, y), color, size * 0.13),)


ORNAMENTS: tuple[Callable[[float, float, float, Color, float], Marks], ...] = (
    _squiggle, _triangle, _dots, _zigzag, _half, _donut, _cross,
)  # fmt: skip


# Black-and-white patterns


def striped(within: Path, color: Color, step: float, angle: float) -> Marks:
    """Stripes as wide as their gaps."""
    return (Tile((Fill(rect(0, 0, step / 2, step), color),), step, step, within, angle=angle),)


def bacterio(within: Path, color: Color, step: float, rng: np.random.Generator) -> Marks:
    """Short wriggling strokes every which way: the laminate everyone knows."""
    worms: list[Mark] = []
    for i in range(4):
        for j in range(4):
            x, y = (i + 0.5) * step / 4, (j + 0.5) * step / 4
            worm = turned(
                wave(x - step * 0.075, x + step * 0.075, y, step * 0.03, step * 0.15), float(rng.uniform(0, 180)), x, y
            )
            worms.append(Stroke(worm, color, step * 0.035, cap="round", join="round"))
    return (Tile(tuple(worms), step, step, within),)


def spotted(within: Path, color: Color, step: float) -> Marks:
    """Even dots, every second row shifted."""
    r = step * 0.16
    cells = ((0.25, 0.25), (0.75, 0.75))
    return (Tile(tuple(Fill(circle(a * step, b * step, r), color) for a, b in cells), step, step, within),)


def checked(within: Path, color: Color, step: float) -> Marks:
    """A checkerboard."""
    half = step / 2
    return (Tile((Fill(joined(rect(0, 0, half, half), rect(half, half, half, half)), color),), step, step, within),)


# The parts of the style


def ground(stage: Stage) -> Marks:
    """The ground, strewn with ornaments wherever there is no text."""
    palette, u, rng = stage.palette, stage.unit, stage.rng
    marks: Marks = (Fill(canvas(stage), palette.ground),)
    if stage.format == "logo":
        return marks
    bright = (palette.accent, palette.primary, palette.secondary)
    colors = [color if difference(color, palette.ground) > 0.12 else WHITE for color in bright]
    order = rng.permutation(len(ORNAMENTS))
    for i, (x, y) in enumerate(spots(stage, whole(stage), 40, 54 * u, gap=6 * u)):
        size = u * float(rng.uniform(50, 74))
        marks += ORNAMENTS[order[i % len(order)]](x, y, size, colors[i % 3], float(rng.uniform(0, 180)))
    return marks


def picture(stage: Stage, box: Box) -> Marks:
    """The motif in plastic colors with hard black shadows, before a patterned field and big plain figures."""
    palette, u = stage.palette, stage.unit
    far = mix(palette.secondary, WHITE, 0.45)
    colors = (palette.secondary, far, palette.secondary, palette.primary, palette.accent, WHITE)
    if stage.format == "logo":
        return tuple(mark for shape in scene(stage, box) for mark in _cut_out(shape, colors[shape.tone], u))
    shapes = scene(stage, box, over=12)
    things = [mark for shape in shapes for mark in _cut_out(shape, colors[shape.tone], u)]
    edge = () if bleeds(stage, box) else (Stroke(boxed(box), LINE, 5 * u),)
    return (
        clipped((*_field(stage, box), *spread(stage, box, tuple(things)), *_sprinkled(stage, box)), boxed(box)),
        *edge,
    )


def _cut_out(shape: MotifShape, color: Color, u: float) -> Marks:
    """One shape with a thin black line; things in front throw a hard shadow."""
    if shape.line:
        return Stroke(shape.path, LINE, shape.width + 5 * u, cap="round", join="round"), drawn(shape, color)
    face = (Fill(shape.path, color), Stroke(shape.path, LINE, 3.2 * u, join="round"))
    if shape.tone in (3, 4):
        return (Fill(moved(shape.path, 9 * u, 9 * u), LINE), *face)
    return face


def _field(stage: Stage, box: Box) -> Marks:
    """Half the box in color, half in black on white, and a disc across the seam."""
    palette, u, rng = stage.palette, stage.unit, stage.rng
    seam = box.x + box.width * float(rng.uniform(0.52, 0.64))
    right = polygon(
        (
            (seam + box.width * 0.1, box.y),
            (box.right, box.y),
            (box.right, box.bottom),
            (seam - box.width * 0.1, box.bottom),
        )
    )
    patterns = (
        lambda: bacterio(right, LINE, 150 * u, rng),
        lambda: spotted(right, LINE, 40 * u),
        lambda: striped(right, LINE, 34 * u, 45),
        lambda: checked(right, LINE, 60 * u),
    )
    disc = circle(seam, box.y + box.height * 0.45, min(box.width, box.height) * 0.36)
    return (
        Fill(boxed(box), mix(palette.secondary, WHITE, 0.5)),
        Fill(right, WHITE),
        *patterns[rng.integers(len(patterns))](),
        Fill(disc, mix(palette.accent, WHITE, 0.25)),
    )


def _sprinkled(stage: Stage, box: Box) -> Marks:
    """A few ornaments in the corners of the picture."""
    u, rng = stage.unit, stage.rng
    places = ((0.09, 0.1), (0.9, 0.1), (0.09, 0.88), (0.91, 0.86))
    colors = (stage.palette.accent, stage.palette.primary, WHITE, stage.palette.secondary)
    picked = rng.choice(len(ORNAMENTS), len(places), replace=False)
    return tuple(
        mark
        for (a, b), color, kind in zip(places, colors, picked)
        for mark in ORNAMENTS[kind](
            box.x + a * box.width, box.y + b * box.height, 110 * u, color, float(rng.uniform(0, 90))
        )
    )


def panel(stage: Stage, box: Box) -> Marks:
    """A white laminate sheet with a black line and a hard colored shadow."""
    u = stage.unit
    shadow = rect(box.x + 14 * u, box.y + 14 * u, box.width, box.height)
    return Fill(shadow, LINE), Fill(boxed(box), stage.palette.surface), Stroke(boxed(box), LINE, 5 * u)


def letter(stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> Lettered:
    """Headlines with a hard shadow in a loud color."""
    if role != "headline" or not stands_out(stage, glyphs):
        return Lettered(glyphs)
    shift = size_of(glyphs) * 0.05
    color = stage.palette.accent if glyphs[0].paint != stage.palette.accent else stage.palette.primary
    return Lettered((*copies(glyphs, color, shift, shift), *glyphs), ("shadow",))


STYLE = Style(
    name="Memphis",
    moods=("playful", "joyful", "nostalgic", "bold"),
    displays=(("Righteous", 400), ("Bungee", 400), ("Fredoka", 700)),
    texts=(("Poppins", 500), ("DM Sans", 500)),
    case="upper",
    arrangements=("hero-top", "split", "corner-grid", "stack", "turned", "hero-bottom", "badge", "mark-above"),
    tune=tune,
    ground=ground,
    picture=picture,
    finish=no_finish,
    panel=panel,
    letter=letter,
)
