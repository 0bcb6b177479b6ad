"""Japanese: woodblock prints and mid-century posters. A red disc, wave scales, mist bands, washi, a wide void."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.colors import difference, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Command, Fill, Grain, Linear, Path, Stroke, Tile
from salon.render.motifs import emblem
from salon.render.plan import Palette, Stage, Style
from salon.render.shapes import circle, rounded
from salon.render.styles.ways import (
    Marks,
    apart,
    bleeds,
    boxed,
    canvas,
    clipped,
    flat,
    freest,
    inset,
    is_dark,
    middle,
    nearest_hue,
    paper,
    plain_ground,
    plain_letter,
    shade,
    square,
    toward,
)

RED = 30.0
"""OKLCH hue of the disc one would like best."""


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """Vegetable inks: chroma held down, white turned to paper."""
    return replace(
        palette,
        ground=paper(palette.ground),
        surface=paper(palette.surface),
        primary=shade(palette.primary, oklch(palette.primary)[0], 0.88),
        secondary=shade(palette.secondary, oklch(palette.secondary)[0], 0.8),
    )


def sun(stage: Stage) -> Color:
    """The color of the disc: the reddest the palette has."""
    return apart(nearest_hue(stage.palette, RED), stage.palette.ground, 1.7)


def indigo(stage: Stage) -> Color:
    """The dark printing ink: the palette's own blue, or its primary, deepened (made pale on a dark ground)."""
    own = nearest_hue(stage.palette, 265.0)
    own = stage.palette.primary if own == nearest_hue(stage.palette, RED) else own
    return shade(own, 0.86, 0.7) if is_dark(stage.palette.ground) else shade(own, min(oklch(own)[0], 0.42))


def picture(stage: Stage, box: Box) -> Marks:
    """The form before a high sun, before a rising one, or left out of a sun on a field of waves."""
    if stage.format == "logo":
        return _crest(stage, box)
    way = (_high_sun, _rising_sun, _high_sun, _wave_field)[int(stage.rng.integers(4))]
    return (clipped(way(stage, box, freest(stage, box)), boxed(box)),)


def _high_sun(stage: Stage, box: Box, place: Box) -> Marks:
    """Sky, disc, mist, the form at the shore, a strip of sea."""
    level = place.bottom - 0.2 * place.height
    side = min(0.9 * place.width, 0.8 * place.height)
    x = place.x + place.width * (0.5 if place.width < 1.2 * side else 0.56)
    form = Box(x=x - 0.31 * side, y=level - 0.56 * side, width=0.62 * side, height=0.6 * side)
    return (
        *_sky(stage, box),
        Fill(circle(x, level - 0.47 * side, 0.37 * side), sun(stage)),
        *_mist(stage, place, level - 0.62 * side, side),
        *_printed(stage, form),
        *_sea(stage, Box(x=box.x, y=level, width=box.width, height=box.bottom - level), 62),
    )


def _rising_sun(stage: Stage, box: Box, place: Box) -> Marks:
    """Half a large disc on the horizon of a high sea, the form before it."""
    level = place.bottom - 0.36 * place.height
    side = min(0.8 * place.width, 1.1 * place.height)
    x, _ = middle(place)
    form = Box(x=x - 0.24 * side, y=level - 0.36 * side, width=0.48 * side, height=0.4 * side)
    return (
        *_sky(stage, box),
        Fill(circle(x, level, 0.46 * side), sun(stage)),
        *_mist(stage, place, level - 0.4 * side, side),
        *_printed(stage, form),
        *_sea(stage, Box(x=box.x, y=level, width=box.width, height=box.bottom - level), 96),
    )


def _wave_field(stage: Stage, box: Box, place: Box) -> Marks:
    """Waves from edge to edge, faint, and a large crest upon them."""
    x, y = middle(place)
    side = 0.78 * min(place.width, place.height)
    rim = circle(x, y, 0.5 * side + 14 * stage.unit)
    faint = toward(stage.palette.ground, indigo(stage), 0.45)
    crest = Box(x=x - side / 2, y=y - side / 2, width=side, height=side)
    return (_scales(stage, box, 110, faint), Fill(rim, stage.palette.ground), *_crest(stage, crest))


def _sky(stage: Stage, box: Box) -> Marks:
    """Wiped where the picture is the head of the canvas, void where it is the foot, else the sheet of a print."""
    if not bleeds(stage, box):
        return (Fill(boxed(box), toward(stage.palette.ground, indigo(stage), 0.1)),)
    return (_bokashi(stage, box),) if box.y <= 1 else ()


def _crest(stage: Stage, box: Box) -> Marks:
    """A family crest: the form left out of a disc."""
    x, y = middle(box)
    disc, sheet = sun(stage), stage.palette.ground
    inks = (disc, mix(disc, sheet, 0.5), mix(disc, sheet, 0.75), sheet, mix(sheet, disc, 0.25), disc)
    form = emblem(stage.subject, square(box, 0.6), stage.rng)
    return (Fill(circle(x, y, min(box.width, box.height) / 2), disc), *flat(form, inks))


def _bokashi(stage: Stage, box: Box) -> Fill:
    """The printer's wiped gradient at the top of the sky."""
    sky = toward(stage.palette.ground, indigo(stage), 0.75)
    depth = box.height * 0.34
    fade = Linear(box.x, box.y, box.x, box.y + depth, ((0, sky, 1.0), (0.35, sky, 0.5), (1, sky, 0.0)))
    return Fill(boxed(Box(x=box.x, y=box.y, width=box.width, height=depth)), fade)


def _printed(stage: Stage, box: Box) -> Marks:
    """The form in flat inks under one key line."""
    palette, key = stage.palette, indigo(stage)
    sheet = palette.surface if is_dark(palette.ground) == is_dark(palette.surface) else palette.ground
    lively = max((palette.accent, palette.primary, sheet), key=lambda color: difference(color, sun(stage)))
    inks = (sheet, toward(palette.ground, key, 0.4), palette.secondary, key, lively, sheet)
    shapes = emblem(stage.subject, box, stage.rng)
    rim = tuple(Stroke(shape.path, palette.ground, 9 * stage.unit, join="round") for shape in shapes if not shape.line)
    return (*rim, *flat(shapes, inks))


def _sea(stage: Stage, box: Box, size: float) -> Marks:
    """Wave scales, and a line where the sky begins."""
    deep = indigo(stage)
    return (_scales(stage, box, size, deep), Stroke(_top(box), deep, 5 * stage.unit))


def _scales(stage: Stage, box: Box, size: float, ink: Color) -> Tile:
    """Seigaiha: overlapping scales of fine rings, `size` units in radius."""
    r = max(8.0, float(round(size * stage.unit)))
    rows = ((0.0, 0.0), (2 * r, 0.0), (r, r / 2), (0.0, r), (2 * r, r), (r, 1.5 * r), (0.0, 2 * r), (2 * r, 2 * r))
    rings = tuple(
        Fill(circle(x, y, r * share), ink if k % 2 == 0 else stage.palette.ground)
        for x, y in rows
        for k, share in enumerate((1.0, 0.92, 0.68, 0.6, 0.36, 0.28))
    )
    return Tile(rings, 2 * r, r, boxed(box))


def _top(box: Box) -> Path:
    return Path((("M", box.x, box.y), ("L", box.right, box.y)))


def _mist(stage: Stage, box: Box, level: float, side: float) -> Marks:
    """Bands of mist with round ends, drawn in from either side, in the color of the paper."""
    height = side * 0.032
    marks: list[Fill] = []
    for side_left, share, down in ((True, 0.5, 0.0), (False, 0.42, 0.3), (True, 0.3, 0.36)):
        length = box.width * share * float(stage.rng.uniform(0.8, 1.15))
        y = level + side * down
        for step, part in enumerate((1.0, 0.72)):
            x = box.x - height if side_left else box.right + height - length * part
            marks.append(
                Fill(rounded(x, y + step * height * 1.35, length * part, height, height / 2), stage.palette.ground)
            )
    return tuple(marks)


def finish(stage: Stage) -> Marks:
    """Washi: fine fibres under a little grain."""
    if stage.format == "logo":
        return ()
    seed = int(stage.rng.integers(2**31))
    starts = stage.rng.uniform(0, 1, (60, 2)) * (stage.width, stage.height)
    turns = stage.rng.normal(0, 16 * stage.unit, (60, 2))
    commands: list[Command] = []
    for (x, y), (dx, dy) in zip(starts.tolist(), turns.tolist()):
        commands += [("M", x, y), ("Q", x + dx, y + dy * 0.2, x + dx * 1.5, y + dy)]
    fibres = Stroke(Path(tuple(commands)), stage.palette.ink, 0.9 * stage.unit, opacity=0.1)
    return (fibres, Grain(canvas(stage), 0.06, seed, speck=1.5))


def panel(stage: Stage, box: Box) -> Marks:
    """A title slip with a thin border."""
    return (
        Fill(boxed(box), stage.palette.surface),
        Stroke(boxed(inset(box, 9 * stage.unit)), sun(stage), 2 * stage.unit),
    )


STYLE = Style(
    name="Japanese",
    moods=("calm", "elegant", "mysterious", "nostalgic"),
    displays=(("Cormorant Garamond", 600), ("Noto Serif", 600), ("Josefin Sans", 400)),
    texts=(("Noto Serif", 400), ("Josefin Sans", 400), ("EB Garamond", 400)),
    case="as is",
    arrangements=("hero-bottom", "hero-top", "split", "corner-grid", "sidebar", "mark-above", "mark-left"),
    tune=tune,
    ground=plain_ground,
    picture=picture,
    finish=finish,
    panel=panel,
    letter=plain_letter,
    tracking=0.02,
)
