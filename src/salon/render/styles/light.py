"""Light, for the styles that live on it: night palettes, neon lines, shaded bodies, and room kept around the text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from salon.render.colors import contrast, from_oklch, luminance, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Group, Linear, Path, Radial, Stroke
from salon.render.motifs import MotifShape, emblem, motif
from salon.render.plan import Palette, Stage
from salon.render.shapes import bounds, circle, ellipse, polygon, rect
from salon.render.styles.ways import Marks, freest, inset, stands_out

WHITE, BLACK = "#ffffff", "#000000"
GREY_CHROMA = 0.03
"""Below this a color has no hue worth keeping: it is made lighter or darker, never colored."""


# Colors


def vivid(color: Color, lowest: float, highest: float, chroma: float) -> Color:
    """The color brought between two OKLCH lightnesses and to at least `chroma`; its hue stays, greys stay grey."""
    lightness, own_chroma, hue = oklch(color)
    if own_chroma <= GREY_CHROMA:
        return from_oklch(max(lightness, lowest), own_chroma, hue)
    if 75 < hue < 130:  # a yellow turned down is mustard, a lime olive
        highest = max(highest, 0.92)
    return from_oklch(float(np.clip(lightness, lowest, highest)), max(own_chroma, chroma), hue)


def night(palette: Palette, lightness: float, *, chroma: float, glow: float, hue: float) -> Palette:
    """The palette after dark: a deep ground in its own hue, every color bright enough to shine on it.

    A bright ground would be lost in the dark, so its color lives on as the primary, and the primary as the secondary.
    `hue` is the night's own, for such grounds and for those that have none, such as black, white and cream; `chroma`
    is how colored the night may be, `glow` how colored the rest must be.
    """
    own_lightness, own_chroma, own_hue = oklch(palette.ground)
    primary, secondary = palette.primary, palette.secondary
    if own_chroma > 0.045 and own_lightness > 0.45:
        primary, secondary = palette.ground, palette.primary
    elif own_chroma > GREY_CHROMA and own_lightness <= 0.45:
        hue = own_hue
    depth = min(max(own_chroma, chroma * 0.5), chroma)
    return inked(
        replace(
            palette,
            ground=from_oklch(lightness, depth, hue),
            surface=from_oklch(lightness + 0.05, depth, hue),
            primary=vivid(primary, 0.64, 0.84, glow),
            secondary=vivid(secondary, 0.6, 0.86, glow * 0.9),
            accent=vivid(palette.accent, 0.7, 0.9, glow),
        )
    )


def inked(palette: Palette, *, tint: float = 0.06) -> Palette:
    """The palette with inks that read on its own ground, surface and accent, lightly tinted by the primary."""

    def reading_on(color: Color, amount: float = tint) -> Color:
        pure = max((WHITE, "#0b0b10"), key=lambda ink: contrast(ink, color))
        return mix(pure, palette.primary, amount)

    return replace(
        palette,
        ink=reading_on(palette.ground),
        ink_soft=mix(reading_on(palette.ground), palette.ground, 0.18),
        on_surface=reading_on(palette.surface),
        on_accent=reading_on(palette.accent, 0.0),
    )


def faded(color: Color, start: float = 1.0, end: float = 0.0) -> tuple[tuple[float, Color, float], ...]:
    """Gradient stops of one color from opacity `start` to `end`."""
    return (0.0, color, start), (1.0, color, end)


def down(box: Box, *colors: Color) -> Linear:
    """Colors spread evenly from the top of a box to its bottom."""
    last = max(len(colors) - 1, 1)
    return Linear(box.x, box.y, box.x, box.bottom, tuple((i / last, color, 1.0) for i, color in enumerate(colors)))


# Room around the text


def clearings(stage: Stage, count: int) -> list[tuple[float, float, float]]:
    """Places along the edges that are farthest from all text and from one another: x, y and the distance to text."""
    places = [(a * stage.width, b * stage.height) for a in (0.0, 0.5, 1.0) for b in (0.0, 0.25, 0.5, 0.75, 1.0)]
    places = [(x, y) for x, y in places if x in (0, stage.width) or y in (0, stage.height)]
    free = sorted(((_distance(stage, x, y), x, y) for x, y in places), reverse=True)
    chosen: list[tuple[float, float, float]] = []
    for distance, x, y in free:
        if len(chosen) < count and all(np.hypot(x - u, y - v) > 0.5 * stage.width for u, v, _ in chosen):
            chosen.append((x, y, distance))
    return chosen


def _distance(stage: Stage, x: float, y: float) -> float:
    """From a point to the nearest place of text; to the farthest corner of the canvas where there is none."""
    gaps = [np.hypot(max(box.x - x, 0.0, x - box.right), max(box.y - y, 0.0, y - box.bottom)) for box in stage.quiet]
    return float(min(gaps, default=np.hypot(stage.width, stage.height)))


def spots(stage: Stage, within: Box, count: int, size: float, *, gap: float = 0.0) -> list[tuple[float, float]]:
    """Up to `count` places for things of diameter `size` with their middles in the box, off text and one another."""
    places = stage.rng.uniform((within.x, within.y), (within.right, within.bottom), (count * 12, 2))
    margin = size / 2 + gap
    for box in stage.quiet:
        low, high = (box.x - margin, box.y - margin), (box.right + margin, box.bottom + margin)
        places = places[~((places > low) & (places < high)).all(axis=1)]
    found: list[tuple[float, float]] = []
    for x, y in places.tolist():
        if all((x - u) ** 2 + (y - v) ** 2 > (size + gap) ** 2 for u, v in found):
            found.append((x, y))
        if len(found) == count:
            break
    return found


# The subject


def focus(stage: Stage, box: Box) -> Box:
    """The part of a picture that no text covers, drawn out a little to reach under its panel."""
    free, tuck = freest(stage, box), 24 * stage.unit
    x, y = max(box.x, free.x - tuck), max(box.y, free.y - tuck)
    right, bottom = min(box.right, free.right + tuck), min(box.bottom, free.bottom + tuck)
    return Box(x=x, y=y, width=right - x, height=bottom - y)


def scene(stage: Stage, box: Box, over: float = 0.0) -> tuple[MotifShape, ...]:
    """The subject without its backdrop: an illustration that fills the box, or the bold mark of a logo.

    An illustration is drawn `over` units beyond the box, so that lines around its cut edges stay outside.
    """
    if stage.format == "logo":
        return emblem(stage.subject, box, stage.rng)
    place = inset(focus(stage, box), -over * stage.unit)
    return tuple(shape for shape in motif(stage.subject, place, stage.rng) if not _is_sky(shape, place))


def _is_sky(shape: MotifShape, place: Box) -> bool:
    """Whether a shape is backdrop: of tone 0, or a far one that fills the upper part of the scene from side to side."""
    if shape.tone == 0 or shape.tone > 2 or shape.line:
        return shape.tone == 0
    box = bounds(shape.path)
    return box.y < place.y + 1 and box.height > 0.5 * place.height and box.width > 0.9 * place.width


def spread(stage: Stage, box: Box, marks: Marks) -> Marks:
    """A scene drawn beside a panel, mirrored to run on behind it, so that no edge shows above or below the panel."""
    place = focus(stage, box)
    if place.width >= box.width - 1 or place.height < box.height - 1:
        return marks
    edge = place.x if place.x > box.x else place.right
    rest = rect(box.x, box.y, edge - box.x, box.height) if edge == place.x else rect(edge, box.y, box.width, box.height)
    mirrored = Group(marks, transform=(-1.0, 0.0, 0.0, 1.0, 2 * edge, 0.0))
    return Group((mirrored,), clip=rest), Group(marks, clip=rect(place.x, place.y, place.width, place.height))


# Things that shine


def neon(path: Path, color: Color, width: float, *, core: float = 0.55, reach: float = 4.0) -> Marks:
    """A glowing tube along a path: a faint wide line, one of the color, one nearly white inside."""
    return (
        Stroke(path, color, width * reach * 1.4, opacity=0.2, cap="round", join="round"),
        Stroke(path, color, width * 1.7, cap="round", join="round"),
        Stroke(path, mix(color, WHITE, core), width * 0.7, cap="round", join="round"),
    )


def sphere(x: float, y: float, r: float, color: Color, *, dark: float = 0.45) -> Marks:
    """A glossy ball, lit from the upper left."""
    lightness, chroma, hue = oklch(color)
    deep = from_oklch(lightness * (1 - dark), chroma, hue)
    body = Radial(
        x - r * 0.35,
        y - r * 0.4,
        r * 1.45,
        (
            (0.0, mix(color, WHITE, 0.55), 1.0),
            (0.35, color, 1.0),
            (0.85, deep, 1.0),
            (1.0, mix(deep, color, 0.35), 1.0),
        ),
    )
    shine = Radial(x - r * 0.38, y - r * 0.46, r * 0.34, faded(WHITE, 0.95))
    return Fill(circle(x, y, r), body), Fill(ellipse(x - r * 0.38, y - r * 0.46, r * 0.34, r * 0.28), shine)


def sparkle(x: float, y: float, r: float, pinch: float = 0.12, points: int = 4) -> Path:
    """A slender star of light with hollow sides."""
    corners = []
    for i in range(points * 2):
        angle, reach = np.pi * i / points - np.pi / 2, r if i % 2 == 0 else r * pinch
        corners.append((x + reach * float(np.cos(angle)), y + reach * float(np.sin(angle))))
    return polygon(corners)


def across(path: Path, stops: Sequence[tuple[float, Color, float]], lean: float = 0.0) -> Linear:
    """A gradient from the top of a path's box to its bottom, leaning sideways by `lean` of its width."""
    box = bounds(path)
    middle = box.x + box.width / 2
    return Linear(
        middle - lean * box.width / 2,
        box.y,
        middle + lean * box.width / 2,
        max(box.bottom, box.y + 1.0),
        tuple(stops),
    )


# Letters


def is_bright(stage: Stage, glyphs: Sequence[Glyphs]) -> bool:
    """Whether the letters are light and keep the contrast promised: only then may their paint be played with."""
    return stands_out(stage, glyphs) and all(luminance(str(run.paint)) > 0.25 for run in glyphs)


def by_line(
    stage: Stage, glyphs: Iterable[Glyphs], stops: Sequence[tuple[float, Color, float]], rise: float = 0.74
) -> Marks:
    """The letters in a gradient anew on every line: from `rise` type sizes above its baseline down to it.

    No color of it has more contrast with the ground than the letters' own, so that faint letters stay faint.
    """
    drawn = []
    for run in glyphs:
        most = contrast(str(run.paint), stage.palette.ground)
        kept = tuple((place, dimmed(color, stage.palette.ground, most), opacity) for place, color, opacity in stops)
        drawn.append(replace(run, paint=Linear(0.0, min(run.ys) - rise * run.size, 0.0, max(run.ys), kept)))
    return tuple(drawn)


def dimmed(color: Color, ground: Color, most: float) -> Color:
    """`color`, mixed with the ground until its contrast there is at most `most`."""
    near, far = 0.0, 1.0
    if contrast(color, ground) <= most:
        return color
    for _ in range(12):
        middle = (near + far) / 2
        near, far = (middle, far) if contrast(mix(color, ground, middle), ground) > most else (near, middle)
    return mix(color, ground, far)


def aglow(glyphs: Iterable[Glyphs], color: Color, blur: float, opacity: float = 0.8) -> Marks:
    """The shine of the letters in `color`; draw the letters themselves on top."""
    return tuple(replace(run, paint=color, blur=blur * run.size, opacity=opacity) for run in glyphs)
