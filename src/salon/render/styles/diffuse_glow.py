"""Diffuse Glow: colors breathing into one another behind a veil, an aura around the subject, film grain, thin type."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.colors import from_oklch, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Grain, Linear, Mark, Radial, Soft, Stroke
from salon.render.motifs import MotifShape
from salon.render.plan import Palette, Stage, Style
from salon.render.shapes import blob, bounds, circle
from salon.render.styles.light import (
    WHITE,
    across,
    clearings,
    focus,
    inked,
    scene,
    spread,
    vivid,
)
from salon.render.styles.ways import Marks, bleeds, boxed, canvas, clipped, drawn, is_dark, middle, plain_letter


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """Air: a pale ground of its own hue (or a velvet one, where dark), clear colors."""
    lightness, chroma, hue = oklch(palette.ground)
    deep = lightness < 0.42
    ground = from_oklch(0.22 if deep else max(lightness, 0.9), min(chroma, 0.07), hue)
    return inked(
        replace(
            palette,
            ground=ground,
            surface=from_oklch(0.28 if deep else 0.965, min(chroma, 0.04), hue),
            primary=vivid(palette.primary, 0.6, 0.82, 0.13),
            secondary=vivid(palette.secondary, 0.66, 0.88, 0.11),
            accent=vivid(palette.accent, 0.66, 0.86, 0.15),
        ),
        tint=0.1,
    )


# Soft things


def mesh(box: Box, colors: tuple[Color, ...], rng: np.random.Generator, blur: float, opacity: float = 1.0) -> Soft:
    """Clouds of color that run into one another."""
    side = min(box.width, box.height)
    clouds = []
    for color in colors:
        x, y = rng.uniform((box.x, box.y), (box.right, box.bottom))
        clouds.append(Fill(blob(float(x), float(y), side * float(rng.uniform(0.3, 0.5)), rng), color))
    return Soft(tuple(clouds), blur=blur, opacity=opacity)


def aura(x: float, y: float, r: float, inner: Color, outer: Color) -> Radial:
    """A halo: clear in the middle, brightest on a ring, gone at its edge."""
    stops = ((0.0, inner, 0.9), (0.45, inner, 0.65), (0.66, outer, 0.95), (0.82, outer, 0.45), (1.0, outer, 0.0))
    return Radial(x, y, r, stops)


def _misted(stage: Stage, box: Box) -> Marks:
    """The edges of a picture inside the sheet, dissolved into the ground."""
    color, reach = stage.palette.ground, 0.16 * min(box.width, box.height)
    strips: Marks = ()
    if box.bottom < stage.height - 1:
        strips += (_strip(Box(x=box.x, y=box.bottom - reach, width=box.width, height=reach), color, 0, 1),)
    if box.y > 1:
        strips += (_strip(Box(x=box.x, y=box.y, width=box.width, height=reach), color, 0, -1),)
    if box.right < stage.width - 1:
        strips += (_strip(Box(x=box.right - reach, y=box.y, width=reach, height=box.height), color, 1, 0),)
    if box.x > 1:
        strips += (_strip(Box(x=box.x, y=box.y, width=reach, height=box.height), color, -1, 0),)
    return strips


def _strip(box: Box, color: Color, right: int, lower: int) -> Fill:
    """A band that goes from clear to `color` towards the side named by a direction."""
    x0, x1 = (box.x, box.right) if right >= 0 else (box.right, box.x)
    y0, y1 = (box.y, box.bottom) if lower >= 0 else (box.bottom, box.y)
    end = (x1, y0) if right else (x0, y1)
    return Fill(boxed(box), Linear(x0, y0, *end, ((0.0, color, 0.0), (0.6, color, 0.6), (1.0, color, 1.0))))


# The parts of the style


def ground(stage: Stage) -> Marks:
    """Pale air with a few far clouds of color, away from the text."""
    palette, u = stage.palette, stage.unit
    clouds = tuple(
        Fill(blob(x, y, min(free * 0.5, 300 * u), stage.rng), mix(palette.ground, color, 0.8))
        for (x, y, free), color in zip(clearings(stage, 3), (palette.secondary, palette.accent, palette.primary))
        if free > 120 * u
    )
    return (Fill(canvas(stage), palette.ground), *((Soft(clouds, blur=70 * u),) if clouds else ()))


def picture(stage: Stage, box: Box) -> Marks:
    """The motif half dissolved in its own light, before an aura; a logo is the motif and its light."""
    u = stage.unit
    if stage.format == "logo":
        return (*_shining(stage, scene(stage, box), 30 * u),)
    things: Marks = ()
    if stage.subject != "abstract":
        things = spread(stage, box, _shining(stage, scene(stage, box), 26 * u))
    edges = _misted(stage, box) if bleeds(stage, box) else ()
    corner = 0 if bleeds(stage, box) else 36 * u
    return (clipped((*_atmosphere(stage, box), *things, *edges), boxed(box, corner)),)


def _atmosphere(stage: Stage, box: Box) -> Marks:
    """Clouds of the palette and a halo in the middle of them."""
    palette, u = stage.palette, stage.unit
    place = focus(stage, box)
    x, y = middle(place)
    r = min(place.width, place.height) * 0.6
    clouds = mesh(box, (palette.secondary, palette.primary, palette.accent, palette.secondary), stage.rng, 70 * u)
    dark = is_dark(palette.ground)
    light = mix(palette.accent, WHITE, 0.7) if dark else mix(palette.ground, WHITE, 0.7)
    air = mix(palette.ground, palette.secondary, 0.2) if dark else mix(palette.ground, WHITE, 0.5)
    halo = Fill(circle(x, y, r), aura(x, y, r, light, palette.accent))
    return Fill(boxed(box), air), clouds, halo


def _shining(stage: Stage, shapes: tuple[MotifShape, ...], blur: float) -> Marks:
    """The shapes as mist over their own blurred light."""
    colors = _colors(stage.palette)
    shine = Soft(tuple(drawn(shape, colors[shape.tone], opacity=0.7) for shape in shapes if shape.tone >= 3), blur=blur)
    return (shine, *(_misty(stage, shape, colors[shape.tone]) for shape in shapes))


def _colors(palette: Palette) -> tuple[Color, ...]:
    """By tone: the palette, and for details light with a breath of the accent."""
    light = mix(WHITE, palette.accent, 0.12)
    return palette.ground, palette.secondary, palette.secondary, palette.primary, palette.accent, light


def _misty(stage: Stage, shape: MotifShape, color: Color) -> Mark:
    """One shape of the motif as colored mist: dense above, clearing downwards; far things thinner."""
    density = 0.38 if shape.tone < 3 else 0.85
    if shape.line or bounds(shape.path).height < 26 * stage.unit:
        return drawn(shape, color, opacity=density * 0.85)
    lower = mix(color, stage.palette.ground if is_dark(stage.palette.ground) else WHITE, 0.5)
    return Fill(shape.path, across(shape.path, ((0.0, color, density), (1.0, lower, density * 0.45))))


def finish(stage: Stage) -> Marks:
    """Film grain over everything."""
    return (Grain(canvas(stage), 0.16, int(stage.rng.integers(2**31)), speck=1.4),)


def panel(stage: Stage, box: Box) -> Marks:
    """A pane of frosted glass."""
    palette, u = stage.palette, stage.unit
    radius = min(40 * u, box.height / 3)
    return (
        Fill(boxed(box, radius), palette.surface, opacity=0.93),
        Stroke(boxed(box, radius), WHITE, 1.5 * u, opacity=0.6),
    )


STYLE = Style(
    name="Diffuse Glow",
    moods=("calm", "elegant", "mysterious", "futuristic", "warm"),
    displays=(("Josefin Sans", 300), ("Cormorant Garamond", 500), ("Space Grotesk", 300)),
    texts=(("DM Sans", 400), ("Work Sans", 400)),
    case="as is",
    arrangements=("full-bleed", "stack", "hero-top", "big-type", "hero-bottom", "mark-above", "badge"),
    tune=tune,
    ground=ground,
    picture=picture,
    finish=finish,
    panel=panel,
    letter=plain_letter,
    tracking=0.01,
    scale=1.05,
)
