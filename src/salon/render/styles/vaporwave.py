"""Vaporwave: a banded sun over an endless grid, palms, haze of pink and cyan, type of chrome."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.colors import mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Group, Linear, Path, Stroke
from salon.render.motifs import MotifShape, emblem
from salon.render.plan import Lettered, Palette, Stage, Style
from salon.render.shapes import bounds, circle, joined, line, moved, polygon, polyline, rect, smooth
from salon.render.styles.light import (
    BLACK,
    GREY_CHROMA,
    WHITE,
    across,
    by_line,
    down,
    faded,
    focus,
    is_bright,
    neon,
    night,
    scene,
    spots,
)
from salon.render.styles.ways import (
    Marks,
    boxed,
    canvas,
    clipped,
    copies,
    middle,
    moved_lightness,
    no_finish,
    shade,
    size_of,
    whole,
)

PINK, CYAN, GOLD = "#ff71ce", "#3fe0ff", "#ffe08a"
"""The lights of the place, mixed into the palette's own."""


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """Dusk: a violet night unless the ground has a hue of its own, candy lights."""
    return night(palette, 0.24, chroma=0.11, glow=0.17, hue=300)


# The place


def banded_sun(x: float, y: float, r: float) -> Path:
    """A disc cut into bands that thin out downwards."""
    slots = [(y + r * (0.05 + 0.19 * k), r * (0.025 + 0.022 * k)) for k in range(5)]
    edges, top = [], y - r
    for start, height in slots:
        edges.append(_slice(x, y, r, top, start))
        top = start + height
    return joined(*edges, _slice(x, y, r, top, y + r))


def _slice(x: float, y: float, r: float, top: float, bottom: float) -> Path:
    """The part of a disc between two heights."""
    start, end = (float(np.arcsin(np.clip((level - y) / r, -1, 1))) for level in (top, bottom))
    angles = np.linspace(start, end, 40)
    right = [(float(x + r * np.cos(a)), float(y + r * np.sin(a))) for a in angles]
    left = [(2 * x - a, b) for a, b in reversed(right)]
    return polygon(right + left)


def endless_grid(box: Box, x: float, horizon: float) -> Path:
    """Lines to a vanishing point near (x, horizon), and rows that crowd towards it."""
    depth = box.bottom - horizon
    spread = box.width * 0.16
    rays = [line(x + i * spread * 0.18, horizon, x + i * spread, box.bottom) for i in range(-18, 19)]
    rows = [line(box.x, horizon + depth * k**2.4, box.right, horizon + depth * k**2.4) for k in np.linspace(0.16, 1, 9)]
    return joined(*rays, *rows)


def palm(x: float, y: float, height: float, lean: float, rng: np.random.Generator) -> Path:
    """A palm's silhouette with its foot at (x, y)."""
    top_x, top_y = x + lean * height, y - height
    w = height * 0.022
    trunk = smooth(
        ((x - w * 1.6, y), (x + lean * height * 0.35 - w, y - height * 0.5), (top_x - w * 0.7, top_y),
         (top_x + w * 0.7, top_y), (x + lean * height * 0.35 + w, y - height * 0.5), (x + w * 1.6, y)),
        tension=0.7,
    )  # fmt: skip
    return joined(
        trunk,
        *(_frond(top_x, top_y, height * 0.42, angle + float(rng.uniform(-8, 8))) for angle in range(-200, 30, 32)),
    )


def _frond(x: float, y: float, length: float, angle: float) -> Path:
    """A drooping leaf: a curved blade with a notched lower edge."""
    a = np.radians(angle)
    steps = np.linspace(0, 1, 9)
    back_x = x + length * steps * np.cos(a)
    back_y = y + length * steps * np.sin(a) + length * 0.55 * steps**2
    depth = length * 0.16 * np.sin(np.pi * np.clip(steps * 1.05, 0, 1)) * np.where(np.arange(9) % 2, 1.0, 0.45)
    upper = list(zip(back_x.tolist(), back_y.tolist()))
    lower = list(zip(back_x.tolist(), (back_y + depth).tolist()))
    return polygon(upper + lower[::-1])


# The parts of the style


def column(x: float, y: float, height: float, color: Color, dark: Color) -> Marks:
    """A fluted column with its foot at (x, y)."""
    w = height * 0.17
    slab = w * 0.22
    top, length = y - height + 2 * slab, height - 3 * slab
    shaft = rect(x - w / 2, top, w, length)
    flutes = joined(*(rect(x + w * (k - 0.04), top, w * 0.08, length) for k in (-0.3, -0.1, 0.1, 0.3)))
    ends = joined(
        rect(x - w * 0.75, y - height, w * 1.5, slab),
        rect(x - w * 0.62, y - height + slab, w * 1.24, slab),
        rect(x - w * 0.72, y - slab, w * 1.44, slab),
    )
    round_shaft = Linear(x - w / 2, 0, x + w / 2, 0, ((0.0, color, 1.0), (0.35, WHITE, 1.0), (1.0, dark, 1.0)))
    return Fill(shaft, round_shaft), Fill(flutes, dark, opacity=0.35), Fill(ends, mix(color, WHITE, 0.35))


# The parts of the style


def ground(stage: Stage) -> Marks:
    """Dusk that warms towards the foot of the sheet, a few stars, a grid along the lowest edge."""
    palette, u = stage.palette, stage.unit
    if stage.format == "logo":
        return (Fill(canvas(stage), palette.ground),)
    low = moved_lightness(palette.ground, 0.06, 1.15)
    stars = [
        circle(x, y, u * float(stage.rng.uniform(1.2, 3))) for x, y in spots(stage, whole(stage), 40, 8 * u, gap=8 * u)
    ]
    return (
        Fill(canvas(stage), down(whole(stage), palette.ground, palette.ground, low)),
        *((Fill(joined(*stars), mix(palette.ink, palette.ground, 0.2)),) if stars else ()),
        *_lowest_grid(stage),
    )


def _lowest_grid(stage: Stage) -> Marks:
    """The grid again along the foot of the sheet, below all text, where there is room."""
    lowest = max((box.bottom for box in stage.quiet), default=0.0)
    top = max(lowest, stage.height * 0.88)
    if top > stage.height - 20 * stage.unit:
        return ()
    floor = Box(x=0, y=top, width=stage.width, height=stage.height - top)
    lines = Linear(0, top, 0, stage.height, faded(stage.palette.secondary, 0.1, 0.9))
    return (clipped((Stroke(endless_grid(floor, stage.width / 2, top), lines, 2 * stage.unit),), boxed(floor)),)


def picture(stage: Stage, box: Box) -> Marks:
    """The subject before the sinking sun, mirrored in the floor; palms beside it. A logo is sun and subject."""
    palette, u = stage.palette, stage.unit
    if stage.format == "logo":
        return tuple(mark for shape in scene(stage, box) for mark in _candied(shape, palette, u))
    place = focus(stage, box)
    horizon = place.y + place.height * 0.72
    hero = _hero(stage, place, horizon)
    floor = Box(x=box.x, y=horizon, width=box.width, height=box.bottom - horizon)
    mirror = Group(hero, transform=(1.0, 0.0, 0.0, -1.0, 0.0, 2 * horizon), opacity=0.28)
    return (clipped((*_dusk(stage, box, place, horizon), clipped((mirror,), boxed(floor)), *hero), boxed(box)),)


def _hero(stage: Stage, box: Box, horizon: float) -> Marks:
    """The subject's mark standing on the horizon; without a subject, two columns."""
    palette, u = stage.palette, stage.unit
    x, _ = middle(box)
    side = min(box.width * 0.5, (horizon - box.y) * 0.72)
    if stage.subject == "abstract":
        cool, hot = mix(palette.secondary, WHITE, 0.3), mix(palette.ground, palette.primary, 0.6)
        return tuple(mark for dx in (-0.62, 0.62) for mark in column(x + dx * side, horizon, side * 1.05, cool, hot))
    place = Box(x=x - side / 2, y=horizon - side, width=side, height=side)
    shapes = emblem(stage.subject, place, stage.rng)
    sunk = horizon - max((bounds(shape.path).bottom for shape in shapes), default=horizon)
    return tuple(mark for shape in shapes for mark in _candied(_lowered(shape, sunk), palette, u))


def _lowered(shape: MotifShape, by: float) -> MotifShape:
    return replace(shape, path=moved(shape.path, 0, by))


def _dusk(stage: Stage, box: Box, place: Box, horizon: float) -> Marks:
    """Sky, sun, floor and palms."""
    palette, u = stage.palette, stage.unit
    x, _ = middle(place)
    r = min(place.width * 0.4, (horizon - place.y) * 0.56)
    sun = banded_sun(x, horizon - r * 0.72, r)
    warm, hot, low = _sun_top(palette.accent), mix(PINK, palette.primary, 0.55), _low_light(palette)
    above = Box(x=box.x, y=box.y, width=box.width, height=horizon - box.y)
    sky = down(above, palette.ground, shade(low, 0.4), mix(palette.ground, low, 0.85))
    floor = Box(x=box.x, y=horizon, width=box.width, height=box.bottom - horizon)
    return (
        Fill(boxed(above), sky),
        Fill(sun, Linear(0, horizon - 1.72 * r, 0, horizon, ((0.0, warm, 1.0), (1.0, hot, 1.0)))),
        Fill(boxed(floor), mix(palette.ground, BLACK, 0.35)),
        Stroke(endless_grid(box, x, horizon), mix(CYAN, palette.secondary, 0.5), 2 * u),
        *neon(line(box.x, horizon, box.right, horizon), hot, 2 * u),
        *(_palms if stage.rng.random() < 0.6 else _ridges)(stage, place, horizon),
    )


def _palms(stage: Stage, place: Box, horizon: float) -> Marks:
    """A palm on either side, before the horizon."""
    foot = horizon + place.height * 0.06
    trees = joined(
        palm(place.x + place.width * 0.1, foot, place.height * 0.6, 0.06, stage.rng),
        palm(place.x + place.width * 0.92, foot, place.height * 0.48, -0.08, stage.rng),
    )
    return (Fill(trees, mix(stage.palette.ground, BLACK, 0.55)),)


def _ridges(stage: Stage, place: Box, horizon: float) -> Marks:
    """Wire mountains on the horizon, left and right of the sun."""
    dark, light = mix(stage.palette.ground, BLACK, 0.3), mix(CYAN, stage.palette.secondary, 0.5)
    marks: Marks = ()
    for start, end in ((-0.02, 0.34), (1.02, 0.68)):
        xs = place.x + place.width * np.linspace(start, end, 7)
        tops = horizon - place.height * 0.3 * np.linspace(1, 0, 7) * stage.rng.uniform(0.55, 1.0, 7)
        ridge = list(zip(xs.tolist(), tops.tolist()))
        folds = [line(x, y, x + (place.x + place.width / 2 - x) * 0.12, horizon) for x, y in ridge[:-1]]
        outline = polygon([*ridge, (ridge[0][0], horizon)])
        marks += (Fill(outline, dark), Stroke(joined(polyline(ridge), *folds), light, 2 * stage.unit, join="round"))
    return marks


def _low_light(palette: Palette) -> Color:
    """What lies along the horizon: pink, leaning to the primary."""
    return mix(PINK, palette.primary, 0.35)


def _sun_top(color: Color) -> Color:
    """The color in sunlight: gold for a grey, golden for a warm one, paler for a cool one, which gold would grey."""
    _, chroma, hue = oklch(color)
    if chroma <= GREY_CHROMA:
        return GOLD
    return mix(color, WHITE, 0.3) if 130 < hue < 320 else mix(color, GOLD, 0.4)


def _candied(shape: MotifShape, palette: Palette, u: float) -> Marks:
    """One shape in a two-light gradient with a dark seam and a bright edge."""
    cool, hot = mix(CYAN, palette.secondary, 0.25), mix(PINK, palette.primary, 0.35)
    deep = mix(palette.ground, BLACK, 0.3)
    pairs = (
        (hot, cool),
        (hot, palette.ground),
        (cool, mix(hot, deep, 0.3)),
        (mix(cool, WHITE, 0.2), hot),
        (mix(palette.accent, WHITE, 0.2), hot),
        (WHITE, mix(cool, WHITE, 0.5)),
    )
    upper, lower = pairs[shape.tone]
    paint = across(shape.path, ((0.0, upper, 1.0), (1.0, lower, 1.0)))
    if shape.line:
        return (
            Stroke(shape.path, deep, shape.width + 8 * u, cap="round", join="round"),
            Stroke(shape.path, upper, shape.width, cap="round", join="round"),
        )
    return (
        Stroke(shape.path, deep, 8 * u, join="round"),
        Fill(shape.path, paint),
        Stroke(shape.path, mix(upper, WHITE, 0.6), 1.6 * u, join="round"),
    )


def panel(stage: Stage, box: Box) -> Marks:
    """A window of an old desktop: title bar, bevel, two light edges."""
    palette, u = stage.palette, stage.unit
    frame = rect(box.x - 4 * u, box.y - 4 * u, box.width + 8 * u, box.height + 8 * u)
    return (
        Fill(rect(box.x + 8 * u, box.y + 8 * u, box.width, box.height), mix(palette.ground, BLACK, 0.5), opacity=0.7),
        Fill(frame, across(frame, ((0.0, palette.secondary, 1.0), (1.0, palette.primary, 1.0)))),
        Fill(boxed(box), palette.surface),
    )


def letter(stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> Lettered:
    """Chrome headlines: sky above, white horizon, dusk below, and a shadow of light."""
    if role != "headline" or not is_bright(stage, glyphs):
        return Lettered(glyphs)
    palette, shift = stage.palette, size_of(glyphs) * 0.035
    own = glyphs[0].paint
    sky, dusk = mix(palette.secondary, WHITE, 0.55), mix(palette.primary, WHITE, 0.5)
    if own != palette.ink and isinstance(own, str):
        sky, dusk = mix(own, WHITE, 0.3), own
    stops = ((0.0, sky, 1.0), (0.5, WHITE, 1.0), (0.56, dusk, 1.0), (1.0, WHITE, 1.0))
    shadow = copies(glyphs, mix(palette.primary, palette.ground, 0.35), shift, shift)
    return Lettered((*shadow, *by_line(stage, glyphs, stops)), ("gradient_fill", "shadow"))


STYLE = Style(
    name="Vaporwave",
    moods=("nostalgic", "mysterious", "futuristic", "playful", "calm"),
    displays=(("Russo One", 400), ("Righteous", 400), ("Orbitron", 800)),
    texts=(("Josefin Sans", 400), ("Montserrat", 500)),
    case="upper",
    arrangements=("hero-bottom", "full-bleed", "hero-top", "split", "stack", "mark-above", "badge"),
    tune=tune,
    ground=ground,
    picture=picture,
    finish=no_finish,
    panel=panel,
    letter=letter,
    tracking=0.04,
)
