"""Papercut: sheets of paper stacked into the depth, each with the soft shadow of the one above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Group, Mark, Path, Stroke
from salon.render.motifs import MotifShape, emblem, motif
from salon.render.plan import Lettered, Stage, Style
from salon.render.shapes import joined, smooth
from salon.render.styles.ways import (
    Marks,
    apart,
    boxed,
    clipped,
    copies,
    drawn,
    freest,
    inset,
    is_dark,
    keep,
    middle,
    moved_lightness,
    no_finish,
    plain_ground,
    shade,
    shifted,
    size_of,
    spread,
    stands_out,
    tones,
    toward,
)

FALL = (4.0, 7.0)
"""Where shadows fall, in units: light comes from the upper left."""
EDGES = ((6.0, 0.17), (15.0, 0.12), (29.0, 0.08))
"""Widths in units and opacities of the lines that add up to a soft edge: cheaper than a blur for each sheet."""
SHEETS = 3
"""Sheets with an opening around the scene."""
WIDE = 260.0
"""Units from which an outline's shadow is soft."""
LEVELS = 5
"""Sheets the scene itself is cut from."""


def picture(stage: Stage, box: Box) -> Marks:
    """The scene, sheet by sheet, at the bottom of a well of ever smaller openings."""
    if stage.format == "logo":
        return _stacked(stage, emblem(stage.subject, box, stage.rng))
    place = freest(stage, box)
    rims = _openings(stage, place)
    scene = (Fill(boxed(place), tones(stage.palette)[0]), *_stacked(stage, motif(stage.subject, place, stage.rng)))
    return (clipped((*scene, *_frames(stage, box, rims)), boxed(box)),)


def _stacked(stage: Stage, shapes: tuple[MotifShape, ...]) -> Marks:
    """A few sheets: the shadows of one sheet's outlines, then the outlines."""
    colors = tones(stage.palette)
    marks: list[Mark] = []
    for _, sheet in groupby(shapes, key=lambda shape: round(shape.depth * LEVELS)):
        parts = tuple(sheet)
        solid = [part.path for part in parts if part.tone > 0 and not part.line]
        marks += _shadows(stage, solid)
        for part in parts:
            if not part.line and part.tone > 0:
                marks.append(_lit(stage, part.path, colors[part.tone]))
            marks.append(drawn(part, colors[part.tone]))
    return tuple(marks)


def _shadows(stage: Stage, paths: Sequence[Path]) -> Marks:
    """Wide outlines throw soft shadows, small ones short crisp ones; crumbs throw none."""
    sizes = [(path, spread(path)) for path in paths]
    sides = [(path, max(around.width, around.height) / stage.unit) for path, around in sizes]
    wide = [path for path, side in sides if side > WIDE]
    small = [path for path, side in sides if 30 < side <= WIDE]
    soft = _cast(stage, joined(*wide)) if wide else ()
    return (*soft, *_drop(stage, joined(*small))) if small else soft


def _lit(stage: Stage, path: Path, color: Color) -> Group:
    """The thickness of the paper, seen along the edges that face the light."""
    return shifted((Fill(path, moved_lightness(color, 0.1, 0.8)),), -1.1 * stage.unit, -1.7 * stage.unit)


def _drop(stage: Stage, path: Path) -> Marks:
    """A crisp shadow in two steps."""
    dx, dy = (offset * stage.unit for offset in FALL)
    dark = (Fill(path, shadow_color(stage), opacity=0.16),)
    return tuple(shifted(dark, dx * reach, dy * reach) for reach in (1.15, 0.6))


def _openings(stage: Stage, box: Box) -> list[Path]:
    """Nested soft outlines, the outermost first; where the box meets the canvas's edge they run off it."""
    rim = min(box.width, box.height) * 0.06
    whole = box.width >= stage.width - 1 and box.height >= stage.height - 1
    out = 0.0 if whole else 4 * rim
    left, top = (out if box.x <= 1 else 0.0), (out if box.y <= 1 else 0.0)
    right, bottom = (out if box.right >= stage.width - 1 else 0.0), (out if box.bottom >= stage.height - 1 else 0.0)
    wide = Box(x=box.x - left, y=box.y - top, width=box.width + left + right, height=box.height + top + bottom)
    phases = stage.rng.uniform(0, 2 * np.pi, (SHEETS, 3))
    return [_opening(inset(wide, rim * (0.5 + 0.75 * k)), phases[k], rim * 0.3) for k in range(SHEETS)]


def _opening(box: Box, phases: np.ndarray, sway: float) -> Path:
    """A window between a rectangle and an oval (a superellipse) whose edge sways."""
    x, y = middle(box)
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    cos, sin = np.cos(angles), np.sin(angles)
    swing = sum(np.sin((2 * k + 3) * angles + phase) for k, phase in enumerate(phases)) * sway / 2
    xs = x + np.sign(cos) * np.abs(cos) ** 0.4 * box.width / 2 + swing * cos
    ys = y + np.sign(sin) * np.abs(sin) ** 0.4 * box.height / 2 + swing * sin
    return smooth(list(zip(xs.tolist(), ys.tolist())))


def _frames(stage: Stage, box: Box, rims: list[Path]) -> Marks:
    """The sheets with the openings, deepest first: the nearer to the eye, the nearer to the ground's color."""
    palette = stage.palette
    outer = boxed(inset(box, -40 * stage.unit))
    deepest = apart(palette.primary, palette.ground, 1.5)
    marks: list[Mark] = []
    for depth in reversed(range(len(rims))):
        color = toward(palette.ground, deepest, 0.32 * depth) if depth else palette.ground
        sheet = joined(outer, rims[depth], even_odd=True)
        marks += [*_cast(stage, rims[depth]), _lit(stage, sheet, color), Fill(sheet, color)]
    return tuple(marks)


def _cast(stage: Stage, path: Path) -> Marks:
    """The shadow along an outline, falling to the lower right."""
    dark, more = shadow_color(stage), 1.8 if is_dark(stage.palette.ground) else 1.0
    lines = ((width * stage.unit, more * opacity) for width, opacity in EDGES)
    soft = tuple(Stroke(path, dark, width, opacity=opacity, join="round") for width, opacity in lines)
    return (shifted(soft, FALL[0] * stage.unit, FALL[1] * stage.unit),)


def shadow_color(stage: Stage) -> Color:
    """A very dark shade of the ground's own hue: shadows on colored paper are never grey."""
    return shade(stage.palette.ground, 0.12, 0.6)


def panel(stage: Stage, box: Box) -> Marks:
    """A sheet lying on the picture."""
    path = boxed(box, 14 * stage.unit)
    return (*_cast(stage, path), Fill(path, stage.palette.surface))


def letter(stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> Lettered:
    """Headlines are cut out too, and throw a small shadow."""
    if role != "headline" or not stands_out(stage, glyphs):
        return Lettered(glyphs)
    size = size_of(glyphs)
    steps = ((0.018, 0.03), (0.03, 0.05), (0.042, 0.07))
    shadow = (run for dx, dy in steps for run in copies(glyphs, shadow_color(stage), size * dx, size * dy))
    return Lettered((*(replace(run, opacity=0.12) for run in shadow), *glyphs), ("shadow",))


STYLE = Style(
    name="Papercut",
    moods=("warm", "calm", "playful", "mysterious"),
    displays=(("Fredoka", 600), ("DM Serif Display", 400), ("Fraunces", 700)),
    texts=(("DM Sans", 400), ("Work Sans", 400), ("Lora", 400)),
    case="as is",
    arrangements=("hero-top", "hero-bottom", "full-bleed", "split", "mark-above", "mark-left"),
    tune=keep,
    ground=plain_ground,
    picture=picture,
    finish=no_finish,
    panel=panel,
    letter=letter,
)
