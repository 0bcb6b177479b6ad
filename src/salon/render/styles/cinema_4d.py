"""Cinema 4D: the soft render: inflated, glossy bodies on a pastel stage under studio light."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.colors import from_oklch, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Linear, Radial, Soft, Stroke
from salon.render.motifs import Shape, motif
from salon.render.plan import Palette
from salon.render.shapes import arc, bounds, ellipse, moved, rect, rounded
from salon.render.style import Lettered, Stage, Style
from salon.render.styles.light import WHITE, across, down, faded, inked, sphere, vivid
from salon.render.styles.ways import (
    Marks,
    boxed,
    canvas,
    clipped,
    extruded,
    shade,
    size_of,
    whole,
    without_backdrop,
)  # fmt: skip


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """Pastel stage (or a deep one, where the ground is dark), candy colors on it."""
    lightness, chroma, hue = oklch(palette.ground)
    deep = lightness < 0.42
    ground = from_oklch(0.3 if deep else max(lightness, 0.86), min(max(chroma, 0.03), 0.09), hue)
    return inked(
        replace(
            palette,
            ground=ground,
            surface=from_oklch(0.38 if deep else 0.97, min(chroma, 0.03), hue),
            primary=vivid(palette.primary, 0.58, 0.8, 0.13),
            secondary=vivid(palette.secondary, 0.6, 0.86, 0.1),
            accent=vivid(palette.accent, 0.64, 0.84, 0.15),
        ),
        tint=0.12,
    )


# Bodies


def lit(color: Color) -> tuple[Color, Color, Color]:
    """A color in the light, as it is, and in its own shade (never grey)."""
    lightness, chroma, hue = oklch(color)
    return (
        from_oklch(min(lightness + 0.13, 0.98), chroma * 0.75, hue),
        color,
        from_oklch(lightness * 0.72, min(chroma * 1.15, 0.2), hue),
    )


def _body(shape: Shape, color: Color, u: float) -> Marks:
    """One shape blown up like vinyl: a thick side, a lit face, a bright rim above and a glow of the floor below."""
    light, plain, dark = lit(color)
    if shape.line:
        return _tube(shape, color)
    box = bounds(shape.path)
    size = min(box.width, box.height)
    puff = float(np.clip(size * 0.08, 1.5 * u, 10 * u))
    face = across(shape.path, ((0.0, light, 1.0), (0.55, plain, 1.0), (1.0, mix(plain, dark, 0.6), 1.0)), 0.5)
    side = moved(shape.path, puff * 0.35, puff * 1.1)
    rims = tuple(
        Stroke(moved(shape.path, -puff * 0.1, puff * 0.35), WHITE, puff * width, opacity=0.16, join="round")
        for width in (2.2, 1.3, 0.6)
    )
    return (
        Fill(side, dark),
        Stroke(side, dark, puff, join="round"),
        Fill(shape.path, face),
        Stroke(shape.path, face, puff, join="round"),
        clipped(rims, shape.path),
    )


def _tube(shape: Shape, color: Color) -> Marks:
    """A line as a round tube: dark below, light above, a gleam along it."""
    light, plain, dark = lit(color)
    w = shape.width
    return (
        Stroke(moved(shape.path, 0, w * 0.12), dark, w * 1.25, cap="round", join="round"),
        Stroke(shape.path, plain, w * 1.1, cap="round", join="round"),
        Stroke(moved(shape.path, -w * 0.12, -w * 0.18), light, w * 0.5, cap="round", join="round"),
        Stroke(moved(shape.path, -w * 0.16, -w * 0.24), WHITE, w * 0.16, opacity=0.8, cap="round", join="round"),
    )


def torus(x: float, y: float, r: float, thick: float, color: Color) -> Marks:
    """A ring of tube, seen a little from above."""
    around = Shape(arc(x, y, r, 0, 360, ry=r * 0.8), 3, 1.0, line=True, width=thick)
    return _tube(around, color)


def _podium(x: float, y: float, width: float, height: float, color: Color) -> Marks:
    """A round plinth: its side, its top, the shadow it throws."""
    light, plain, dark = lit(color)
    rx, ry = width / 2, width * 0.11
    side = Linear(x - rx, 0, x + rx, 0, ((0.0, plain, 1.0), (0.3, light, 1.0), (1.0, dark, 1.0)))
    top = Linear(x - rx, 0, x + rx, 0, ((0.0, mix(light, WHITE, 0.35), 1.0), (1.0, light, 1.0)))
    return (
        Soft(
            (Fill(ellipse(x + width * 0.05, y + height + ry * 0.6, rx * 1.15, ry * 1.1), dark),),
            blur=width * 0.03,
            opacity=0.5,
        ),
        Fill(ellipse(x, y + height, rx, ry), side),
        Fill(rect(x - rx, y, width, height), side),
        Fill(ellipse(x, y, rx, ry), top),
    )


# The parts of the style


def ground(stage: Stage) -> Marks:
    """A seamless studio: the wall a breath lighter where the lamp stands, the floor a breath deeper."""
    palette = stage.palette
    lamp = Radial(stage.width * 0.3, stage.height * 0.12, max(stage.width, stage.height) * 0.8, faded(WHITE, 0.28))
    deep = shade(palette.ground, oklch(palette.ground)[0] - 0.035, 1.15)
    return Fill(canvas(stage), down(whole(stage), palette.ground, palette.ground, deep)), Fill(canvas(stage), lamp)


def picture(stage: Stage, box: Box) -> Marks:
    """The motif as toys on a lit stage, among floating balls and rings."""
    palette, u = stage.palette, stage.unit
    shapes = without_backdrop(motif(stage.subject, box, stage.rng))
    colors = _colors(palette)
    bodies = [mark for shape in shapes for mark in _body(shape, colors[shape.tone], u)]
    scene = (*_room(stage, box), *_floating(stage, box), *bodies)
    return (clipped(scene, boxed(box, 44 * u if _stands_free(stage, box) else 0)),)


def _stands_free(stage: Stage, box: Box) -> bool:
    """Whether the box keeps off every edge of the canvas."""
    return box.x > 0 and box.y > 0 and box.right < stage.width and box.bottom < stage.height


def _colors(palette: Palette) -> tuple[Color, ...]:
    """Tones of toys: pale behind, candy in front, cream for details."""
    far = mix(palette.ground, palette.secondary, 0.4)
    detail = mix(WHITE, palette.primary, 0.08)
    return palette.ground, far, palette.secondary, palette.primary, palette.accent, detail


def _room(stage: Stage, box: Box) -> Marks:
    """Wall, floor and a pool of light."""
    palette = stage.palette
    wall = mix(palette.ground, palette.secondary, 0.28)
    floor = mix(palette.ground, palette.primary, 0.26)
    horizon = box.y + box.height * 0.74
    below = Box(x=box.x, y=horizon, width=box.width, height=box.bottom - horizon)
    pool = Radial(
        box.x + box.width * 0.36, box.y + box.height * 0.22, max(box.width, box.height) * 0.7, faded(WHITE, 0.55)
    )
    return (
        Fill(boxed(box), down(box, mix(wall, WHITE, 0.15), wall)),
        Fill(boxed(below), down(below, mix(floor, wall, 0.7), floor)),
        Fill(boxed(box), pool),
    )


def _floating(stage: Stage, box: Box) -> Marks:
    """A few balls and a ring in the air, near the sides."""
    palette, rng = stage.palette, stage.rng
    r = min(box.width, box.height) * 0.06
    places = ((0.1, 0.2, 1.3), (0.9, 0.14, 0.8), (0.93, 0.56, 1.1), (0.06, 0.62, 0.6))
    marks: Marks = ()
    for (a, b, size), color in zip(places, (palette.accent, palette.primary, palette.secondary, palette.accent)):
        x = box.x + box.width * (a + float(rng.uniform(-0.02, 0.02)))
        y = box.y + box.height * (b + float(rng.uniform(-0.04, 0.04)))
        marks += sphere(x, y, r * size, color)
    ring = torus(box.x + box.width * 0.8, box.y + box.height * 0.3, r * 1.1, r * 0.55, palette.secondary)
    return (*marks, *ring)


def finish(stage: Stage) -> Marks:
    """Nothing: the light does it."""
    return ()


def panel(stage: Stage, box: Box) -> Marks:
    """A thick rounded card with a soft shadow and a bright upper edge."""
    palette, u = stage.palette, stage.unit
    radius = min(34 * u, box.height / 3)
    below = rounded(box.x, box.y + 10 * u, box.width, box.height, radius)
    return (
        Soft((Fill(moved(below, 0, 10 * u), shade(palette.ground, 0.3)),), blur=22 * u, opacity=0.35),
        Fill(below, shade(palette.surface, oklch(palette.surface)[0] - 0.1, 1.4)),
        Fill(boxed(box, radius), palette.surface),
    )


def letter(stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> Lettered:
    """Headlines stand up from the page: a side in the primary's shade under a clean face."""
    if role != "headline":
        return Lettered(glyphs)
    depth = size_of(glyphs) * 0.055
    side = mix(stage.palette.ground, stage.palette.primary, 0.75)
    return Lettered((*extruded(glyphs, side, depth * 0.5, depth), *glyphs), ("shadow", "extrusion"))


STYLE = Style(
    name="Cinema 4D",
    moods=("joyful", "playful", "futuristic", "warm", "calm"),
    displays=(("Fredoka", 700), ("Poppins", 800), ("Unbounded", 700)),
    texts=(("Poppins", 400), ("DM Sans", 400)),
    case="as is",
    arrangements=("hero-bottom", "full-bleed", "hero-top", "stack", "framed", "mark-above", "mark-left"),
    tune=tune,
    ground=ground,
    picture=picture,
    finish=finish,
    panel=panel,
    letter=letter,
)
