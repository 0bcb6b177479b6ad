"""Minimalist: one form in a wide empty space, one accent, a restrained grotesque."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.colors import mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Stroke
from salon.render.motifs import emblem
from salon.render.plan import Palette, Stage, Style
from salon.render.shapes import circle, line
from salon.render.styles.ways import (
    Marks,
    apart,
    flat,
    freest,
    middle,
    no_finish,
    plain_ground,
    plain_letter,
    plain_panel,
    shade,
    square,
    strongest,
)


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """A calmer ground: pale ones paler, dark ones darker, strong ones as they are."""
    lightness, chroma, _ = oklch(palette.ground)
    if chroma > 0.08:
        return palette
    further = min(0.97, lightness + 0.04) if lightness > 0.5 else max(0.14, lightness - 0.03)
    return replace(palette, ground=shade(palette.ground, further, 0.75))


def picture(stage: Stage, box: Box) -> Marks:
    """One form in one of three poses; which one is chance."""
    if stage.format == "logo":
        return _alone(stage, box, 0.86)
    place = freest(stage, box)
    pose = (_on_a_line, _on_a_disc, _beside_a_dot)[int(stage.rng.integers(3))]
    return pose(stage, place)


def _inks(stage: Stage, on: Color) -> tuple[Color, ...]:
    """One ink in two strengths, and one accent."""
    palette = stage.palette
    main = strongest(palette, on, 2.4)
    return (on, mix(on, main, 0.35), mix(on, main, 0.6), main, apart(palette.accent, on, 1.6), on)


def _alone(stage: Stage, box: Box, share: float) -> Marks:
    return flat(emblem(stage.subject, square(box, share), stage.rng), _inks(stage, stage.palette.ground))


def _on_a_line(stage: Stage, box: Box) -> Marks:
    """The form standing on a hairline, off the centre."""
    x, y = middle(box)
    side = min(box.width, box.height) * 0.44
    reach = min(box.width, 1.9 * box.height)
    left = x - reach * 0.5 + reach * 0.382 - side / 2
    foot = Box(x=left, y=y + side * 0.42 - side, width=side, height=side)
    level = line(x - reach / 2, foot.bottom, x + reach / 2, foot.bottom)
    return (*_alone(stage, foot, 1.0), Stroke(level, stage.palette.ink, 2.2 * stage.unit))


def _on_a_disc(stage: Stage, box: Box) -> Marks:
    """The form cut out of a plain disc."""
    palette = stage.palette
    x, y = middle(box)
    radius = min(box.width, box.height) * 0.36
    disc = apart(palette.primary, palette.ground, 1.6)
    light = max((palette.ground, palette.surface, palette.ink), key=lambda color: abs(oklch(color)[0] - oklch(disc)[0]))
    inks = (disc, mix(disc, light, 0.45), mix(disc, light, 0.7), light, apart(palette.accent, disc, 1.5), disc)
    form = emblem(stage.subject, square(box, 0.72 * 0.56), stage.rng)
    return (Fill(circle(x, y, radius), disc), *flat(form, inks))


def _beside_a_dot(stage: Stage, box: Box) -> Marks:
    """The form, and far from it a dot of accent."""
    x, y = middle(box)
    side = min(box.width, box.height)
    form = Box(x=x - side * 0.36, y=y - side * 0.2, width=side * 0.5, height=side * 0.5)
    dot = circle(x + side * 0.36, y - side * 0.3, side * 0.052)
    return (*_alone(stage, form, 1.0), Fill(dot, apart(stage.palette.accent, stage.palette.ground, 1.4)))


STYLE = Style(
    name="Minimalist",
    moods=("calm", "elegant", "serious"),
    displays=(("Inter", 500), ("DM Sans", 500), ("Work Sans", 400)),
    texts=(("Inter", 400), ("DM Sans", 400), ("Work Sans", 400)),
    case="as is",
    arrangements=("hero-top", "corner-grid", "hero-bottom", "sidebar", "stack", "mark-above", "mark-left"),
    tune=tune,
    ground=plain_ground,
    picture=picture,
    finish=no_finish,
    panel=plain_panel,
    letter=plain_letter,
    tracking=-0.02,
    scale=0.64,
)
