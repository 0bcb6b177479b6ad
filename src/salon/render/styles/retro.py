"""Retro: the sixties and seventies. Sunbursts, rainbow arches, warm faded inks, worn print, fat soft letters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.colors import contrast, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Grain, Path
from salon.render.motifs import emblem, motif
from salon.render.plan import Lettered, Palette, Stage, Style
from salon.render.shapes import circle, rect
from salon.render.styles.ways import (
    Marks,
    apart,
    boxed,
    canvas,
    clipped,
    copies,
    flat,
    freest,
    middle,
    rays,
    shade,
    size_of,
    stands_out,
    tones,
)


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """Inks that have seen the sun: a little less chroma, blacks lifted, whites yellowed to cream."""
    return replace(
        palette,
        ground=_faded(palette.ground),
        surface=_faded(palette.surface),
        primary=_faded(palette.primary),
        secondary=_faded(palette.secondary),
        accent=_faded(palette.accent),
    )


def _faded(color: Color) -> Color:
    lightness, chroma, _ = oklch(color)
    if chroma < 0.035:
        return mix(color, "#f3dfb8" if lightness > 0.6 else "#4a2c1a", 0.35)
    return shade(color, 0.5 + (lightness - 0.5) * 0.93, 0.82)


def ground(stage: Stage) -> Marks:
    """A sunburst that hardly parts from the paper."""
    palette = stage.palette
    plain = Fill(canvas(stage), palette.ground)
    if stage.format == "logo":
        return (plain,)
    ray = mix(palette.ground, palette.secondary, 0.09)
    reach = float(np.hypot(stage.width, stage.height))
    return (plain, Fill(rays(stage.width / 2, stage.height * 0.42, reach, 18), ray))


def picture(stage: Stage, box: Box) -> Marks:
    """The scene under a rainbow of arches, or in a sun from which the same stripes run to the sides."""
    if stage.format == "logo":
        return flat(emblem(stage.subject, box, stage.rng), tones(stage.palette))
    place = freest(stage, box)
    way = _striped if place.width > 1.7 * place.height or stage.rng.random() < 0.3 else _arched
    return (clipped(way(stage, place), boxed(box)),)


def _arched(stage: Stage, box: Box) -> Marks:
    """Nested doorways, the scene in the innermost."""
    width = min(box.width, 1.45 * box.height)
    arch = Box(x=box.x + (box.width - width) / 2, y=box.y, width=width, height=box.height)
    bands, step = _bands(stage.palette), width * 0.042
    inner = _shrunk(arch, len(bands) * step)
    return (
        *(Fill(_arch(_shrunk(arch, k * step)), color) for k, color in enumerate(bands)),
        clipped(_scene(stage, inner), _arch(inner)),
    )


def _striped(stage: Stage, box: Box) -> Marks:
    """A sun with rings, set on stripes that cross the whole picture."""
    x, y = middle(box)
    radius = min(box.width, box.height) * 0.5
    bands = _bands(stage.palette)
    step = radius * 0.085
    stripes = [
        Fill(rect(box.x, y + (k - 0.5 * len(bands)) * step * 1.5, box.width, step * 1.5), color)
        for k, color in enumerate(bands)
    ]
    rings = [Fill(circle(x, y, radius - k * step), color) for k, color in enumerate(bands)]
    inner = radius - len(bands) * step
    window = Box(x=x - inner, y=y - inner, width=2 * inner, height=2 * inner)
    return (*stripes, *rings, clipped(_scene(stage, window), circle(x, y, inner)))


def _scene(stage: Stage, box: Box) -> Marks:
    colors = tones(stage.palette)
    return (Fill(boxed(box), colors[0]), *flat(motif(stage.subject, box, stage.rng), colors))


def _bands(palette: Palette) -> tuple[Color, ...]:
    """Five stripes from the palette, neighbours well apart."""
    ground = palette.ground
    return (
        apart(palette.primary, ground, 1.35),
        mix(palette.primary, palette.accent, 0.55),
        palette.accent,
        mix(palette.accent, palette.surface, 0.55),
        apart(palette.secondary, palette.surface, 1.3),
    )


def _shrunk(box: Box, by: float) -> Box:
    """Drawn in at the sides and the top; arches stand on their foot."""
    return Box(x=box.x + by, y=box.y + by, width=box.width - 2 * by, height=box.height - by)


def _arch(box: Box) -> Path:
    """A doorway with a round top (an oval one in a low box)."""
    rx, ry = box.width / 2, min(box.width / 2, box.height)
    k = 0.5523
    left, right, spring, x = box.x, box.right, box.y + ry, box.x + rx
    return Path(
        (
            ("M", left, box.bottom),
            ("L", left, spring),
            ("C", left, spring - k * ry, x - k * rx, box.y, x, box.y),
            ("C", x + k * rx, box.y, right, spring - k * ry, right, spring),
            ("L", right, box.bottom),
            ("Z",),
        )
    )


def finish(stage: Stage) -> Marks:
    """Worn print."""
    seed = int(stage.rng.integers(2**31))
    return (Grain(canvas(stage), 0.09, seed, speck=1.6),)


def panel(stage: Stage, box: Box) -> Marks:
    """A label with an inner line."""
    radius = 36 * stage.unit
    return (Fill(boxed(box, radius), stage.palette.surface),)


def letter(stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> Lettered:
    """Headlines in three steps of color."""
    if role != "headline" or not stands_out(stage, glyphs):
        return Lettered(glyphs)
    size, palette = size_of(glyphs), stage.palette
    ink = str(glyphs[0].paint)
    steps = [color for color in (palette.primary, palette.accent) if contrast(color, ink) > 1.7]
    shift = size * 0.035
    behind = [
        mark
        for k, color in reversed(list(enumerate(steps, start=1)))
        for mark in copies(glyphs, color, shift * k, shift * k)
    ]
    return Lettered((*behind, *glyphs), ("shadow",) if behind else ())


STYLE = Style(
    name="Retro",
    moods=("nostalgic", "warm", "joyful"),
    displays=(("Righteous", 400), ("Lobster", 400), ("Fraunces", 900), ("Abril Fatface", 400), ("Alfa Slab One", 400)),
    texts=(("Josefin Sans", 600), ("Zilla Slab", 500), ("Work Sans", 500)),
    case="as is",
    arrangements=("hero-bottom", "hero-top", "stack", "framed", "split", "mark-above"),
    tune=tune,
    ground=ground,
    picture=picture,
    finish=finish,
    panel=panel,
    letter=letter,
)
