"""Vaporwave: a banded sun over an endless grid, palms, haze of pink and cyan, type of chrome."""

from __future__ import annotations

import numpy as np

from salon.render.colors import mix
from salon.render.layout import Box
from salon.render.marks import Fill, Glyphs, Linear, Path, Stroke
from salon.render.motifs import Shape, motif
from salon.render.plan import Palette
from salon.render.shapes import circle, joined, line, polygon, rect, smooth
from salon.render.style import Lettered, Stage, Style
from salon.render.styles.light import BLACK, WHITE, across, by_line, down, faded, hush, neon, night, spots
from salon.render.styles.ways import (
    Marks,
    boxed,
    canvas,
    clipped,
    copies,
    middle,
    size_of,
    whole,
    without_backdrop,
)

PINK, CYAN = "#ff71ce", "#3fe0ff"
"""The two lights of the place, where the palette leaves room."""


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
    levels = np.linspace(top, bottom, 24)
    half = np.sqrt(np.maximum(r * r - (levels - y) ** 2, 0))
    right = [(float(x + h), float(level)) for h, level in zip(half, levels)]
    left = [(float(x - h), float(level)) for h, level in zip(half[::-1], levels[::-1])]
    return polygon(right + left)


def endless_grid(box: Box, horizon: float) -> Path:
    """Lines to a vanishing point on the horizon, and rows that crowd towards it."""
    x, _ = middle(box)
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


def ground(stage: Stage) -> Marks:
    """Dusk that warms towards the foot of the sheet, a few stars, a grid along the lowest edge."""
    palette, u = stage.palette, stage.unit
    stars = [circle(x, y, u * float(stage.rng.uniform(1.2, 3))) for x, y in spots(stage, whole(stage), 40, 8 * u)]
    strip = Box(x=0, y=stage.height * 0.86, width=stage.width, height=stage.height * 0.14)
    glow = down(whole(stage), palette.ground, palette.ground, mix(palette.ground, palette.primary, 0.22))
    lines = Linear(0, strip.y, 0, strip.bottom, faded(palette.secondary, 0.0, 0.9))
    return (
        Fill(canvas(stage), glow),
        *((Fill(joined(*stars), mix(palette.ink, palette.ground, 0.2)),) if stars else ()),
        clipped((Stroke(endless_grid(strip, strip.y), lines, 2 * u),), boxed(strip)),
        *hush(stage, palette.ground, 0.75),
    )


def picture(stage: Stage, box: Box) -> Marks:
    """The motif before the sinking sun, palms beside it, the grid beneath."""
    palette, u = stage.palette, stage.unit
    shapes = without_backdrop(motif(stage.subject, box, stage.rng))
    things = [mark for shape in shapes for mark in _candied(shape, palette, u)]
    return (clipped((*_dusk(stage, box), *things), boxed(box)),)


def _dusk(stage: Stage, box: Box) -> Marks:
    """Sky, sun, floor and palms."""
    palette, u = stage.palette, stage.unit
    x, _ = middle(box)
    horizon = box.y + box.height * 0.72
    r = min(box.width * 0.36, box.height * 0.42)
    sun = banded_sun(x, horizon - r * 0.62, r)
    warm, hot = mix(palette.accent, "#ffd76a", 0.35), mix(palette.primary, PINK, 0.35)
    sky = down(box, palette.ground, mix(palette.ground, palette.primary, 0.45), mix(palette.primary, PINK, 0.5))
    floor = Box(x=box.x, y=horizon, width=box.width, height=box.bottom - horizon)
    night_floor = mix(palette.ground, BLACK, 0.35)
    grid = mix(palette.secondary, CYAN, 0.3)
    trees = joined(
        palm(box.x + box.width * 0.1, horizon + box.height * 0.05, box.height * 0.62, 0.08, stage.rng),
        palm(box.x + box.width * 0.93, horizon + box.height * 0.05, box.height * 0.5, -0.1, stage.rng),
    )
    return (
        Fill(boxed(box), sky),
        Fill(sun, Linear(0, horizon - 1.62 * r, 0, horizon, ((0.0, warm, 1.0), (1.0, hot, 1.0)))),
        Fill(boxed(floor), night_floor),
        Stroke(endless_grid(box, horizon), grid, 2 * u),
        *neon(line(box.x, horizon, box.right, horizon), hot, 2 * u),
        Fill(trees, mix(palette.ground, BLACK, 0.55)),
    )


def _candied(shape: Shape, palette: Palette, u: float) -> Marks:
    """One shape in a two-light gradient with a bright edge."""
    cool, hot = mix(palette.secondary, CYAN, 0.25), mix(palette.primary, PINK, 0.25)
    pairs = (
        (hot, cool),
        (hot, palette.ground),
        (cool, hot),
        (mix(cool, WHITE, 0.4), hot),
        (palette.accent, hot),
        (WHITE, cool),
    )
    upper, lower = pairs[shape.tone]
    paint = across(shape.path, ((0.0, upper, 1.0), (1.0, lower, 1.0)), 0.2)
    if shape.line:
        return (Stroke(shape.path, paint, shape.width, cap="round", join="round"),)
    return Fill(shape.path, paint), Stroke(shape.path, mix(upper, WHITE, 0.5), 1.5 * u, opacity=0.7, join="round")


def finish(stage: Stage) -> Marks:
    """Nothing above the haze."""
    return ()


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
    """Chrome headlines: sky above, white horizon, pink below, and a shadow of light."""
    if role != "headline":
        return Lettered(glyphs)
    palette, shift = stage.palette, size_of(glyphs) * 0.035
    sky, dusk = mix(palette.secondary, WHITE, 0.55), mix(palette.primary, WHITE, 0.5)
    stops = ((0.0, sky, 1.0), (0.5, WHITE, 1.0), (0.56, dusk, 1.0), (1.0, WHITE, 1.0))
    return Lettered(
        (*copies(glyphs, mix(palette.primary, palette.ground, 0.35), shift, shift), *by_line(glyphs, stops)),
        ("gradient_fill", "shadow"),
    )


STYLE = Style(
    name="Vaporwave",
    moods=("nostalgic", "mysterious", "futuristic", "playful", "calm"),
    displays=(("Russo One", 400), ("Righteous", 400), ("Orbitron", 800)),
    texts=(("Josefin Sans", 400), ("Montserrat", 500)),
    case="upper",
    arrangements=("hero-bottom", "full-bleed", "hero-top", "framed", "stack", "mark-above", "badge"),
    tune=tune,
    ground=ground,
    picture=picture,
    finish=finish,
    panel=panel,
    letter=letter,
    tracking=0.04,
)
