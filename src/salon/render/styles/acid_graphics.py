"""Acid Graphics: rave flyers of the net age: liquid chrome, warped checkers, contour lines, stars, measuring marks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from salon.render.colors import mix
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Linear, Path, Radial, Stroke
from salon.render.motifs import Shape, motif
from salon.render.plan import Palette
from salon.render.shapes import circle, ellipse, joined, line, polygon, rect, smooth
from salon.render.style import Lettered, Stage, Style
from salon.render.styles.light import BLACK, WHITE, across, by_line, faded, hush, inked, night, sparkle, vivid
from salon.render.styles.ways import Marks, boxed, canvas, clipped, middle, without_backdrop

Point = tuple[float, float]


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """Near-black, and colors at the edge of what a screen can show."""
    dark = night(palette, 0.13, chroma=0.025, glow=0.22, hue=290)
    return inked(replace(dark, accent=vivid(palette.accent, 0.8, 0.92, 0.24)))


# Liquid things


def chrome(path: Path, tint: Color, lean: float = 0.25) -> Linear:
    """Polished metal that mirrors a bright sky, a dark horizon and a tinted floor."""
    stops = (
        (0.0, WHITE, 1.0),
        (0.16, mix(tint, WHITE, 0.7), 1.0),
        (0.40, tint, 1.0),
        (0.52, mix(tint, BLACK, 0.78), 1.0),
        (0.57, mix(tint, WHITE, 0.85), 1.0),
        (0.78, mix(tint, WHITE, 0.25), 1.0),
        (1.0, mix(tint, BLACK, 0.55), 1.0),
    )
    return across(path, stops, lean)


def _bulged(box: Box, x: float, y: float, strength: float, phase: float) -> Point:
    """Where a point of a flat checker (shares of the box) goes when the sheet is swollen in the middle and rippled."""
    dx, dy = x - 0.5, y - 0.5
    swell = 1 + strength * math.exp(-9 * (dx * dx + dy * dy))
    ripple = 0.018 * math.sin(9 * y + phase)
    return box.x + box.width * (0.5 + dx * swell + ripple), box.y + box.height * (0.5 + dy * swell + ripple)


def warped_checker(box: Box, cells: int, rng: np.random.Generator) -> Path:
    """Every second field of a checkerboard over the box, swollen like liquid."""
    columns = cells
    rows = max(3, round(cells * box.height / box.width))
    strength, phase = float(rng.uniform(0.6, 1.1)), float(rng.uniform(0, 6))
    at = [
        [_bulged(box, -0.15 + 1.3 * i / columns, -0.15 + 1.3 * j / rows, strength, phase) for i in range(columns + 1)]
        for j in range(rows + 1)
    ]
    fields = [
        polygon((at[j][i], at[j][i + 1], at[j + 1][i + 1], at[j + 1][i]))
        for j in range(rows)
        for i in range(j % 2, columns, 2)
    ]
    return joined(*fields)


def contours(x: float, y: float, r: float, count: int, rng: np.random.Generator) -> Path:
    """Wobbling rings inside one another, like the height lines of a dune."""
    lobes = 9
    angles = np.linspace(0, 2 * np.pi, lobes, endpoint=False)
    sway = rng.uniform(-1, 1, (3, lobes))
    rings = []
    for i in range(count):
        share = (i + 1) / count
        radii = r * share * (1 + 0.2 * (sway[0] * share + sway[1] * (1 - share)))
        rings.append(smooth([(x + k * math.cos(a), y + k * math.sin(a)) for k, a in zip(radii, angles)]))
    return joined(*rings)


def _globe(x: float, y: float, r: float) -> Path:
    """A wire globe: meridians and parallels."""
    meridians = [ellipse(x, y, r * share, r) for share in (0.3, 0.7, 1.0)]
    parallels = [
        line(x - r * math.cos(a), y + r * math.sin(a), x + r * math.cos(a), y + r * math.sin(a))
        for a in (-0.8, -0.38, 0.0, 0.38, 0.8)
    ]
    return joined(*meridians, *parallels)


# Measuring marks


def _register(x: float, y: float, r: float) -> Path:
    """A printer's register mark."""
    return joined(circle(x, y, r * 0.55), line(x - r, y, x + r, y), line(x, y - r, x, y + r))


def _barcode(x: float, y: float, width: float, height: float, rng: np.random.Generator) -> Path:
    """Bars of uneven width."""
    bars, place = [], 0.0
    while place < width:
        thick = height * float(rng.choice((0.06, 0.1, 0.18)))
        bars.append(rect(x + place, y, thick, height))
        place += thick + height * float(rng.choice((0.06, 0.12)))
    return joined(*bars)


def _ruler(x: float, y: float, length: float, u: float) -> Path:
    """Ticks down an edge, every fifth longer."""
    step = 11 * u
    return joined(
        *(line(x, y + i * step, x + (14 if i % 5 == 0 else 7) * u, y + i * step) for i in range(int(length / step)))
    )


# The parts of the style


def ground(stage: Stage) -> Marks:
    """Near-black with contour lines that well up from a corner and die away before the text."""
    palette, u, rng = stage.palette, stage.unit, stage.rng
    x, y = (stage.width * float(rng.choice((0.0, 1.0))), stage.height * float(rng.choice((0.05, 0.95))))
    reach = max(stage.width, stage.height) * 0.62
    fade = Radial(x, y, reach, ((0.0, palette.primary, 0.75), (0.6, palette.primary, 0.4), (1.0, palette.primary, 0.0)))
    rings = Stroke(contours(x, y, reach, 24, rng), fade, 1.6 * u)
    return (Fill(canvas(stage), palette.ground), rings, *hush(stage, palette.ground, 0.96))


def picture(stage: Stage, box: Box) -> Marks:
    """The motif cast in chrome before a liquid checkerboard."""
    palette, u = stage.palette, stage.unit
    x, y = middle(box)
    reach = max(box.width, box.height) * 0.6
    checker = warped_checker(box, 16, stage.rng)
    color = Radial(
        x, y, reach, ((0.0, palette.accent, 0.95), (0.55, palette.primary, 0.85), (1.0, palette.primary, 0.35))
    )
    shade = Radial(x, y, reach * 0.8, faded(BLACK, 0.72, 0.0))
    shapes = without_backdrop(motif(stage.subject, box, stage.rng))
    cast = [mark for shape in shapes for mark in _cast(shape, palette, u)]
    stars = [Fill(sparkle(a, b, r * u), WHITE) for (a, b), r in zip(_star_places(box, stage.rng), (64, 38, 24))]
    scene = (Fill(boxed(box), BLACK), Fill(checker, color), Fill(boxed(box), shade), *cast, *stars)
    return (clipped(scene, boxed(box)), Stroke(boxed(box), palette.accent, 2 * u))


def _cast(shape: Shape, palette: Palette, u: float) -> Marks:
    """One shape of the motif in metal, parted from the next by a dark seam and a bright edge."""
    tint = (BLACK, mix(palette.primary, BLACK, 0.45), palette.secondary, palette.primary, palette.accent, "#e8eef4")
    color = tint[shape.tone]
    if shape.line:
        return (
            Stroke(shape.path, BLACK, shape.width + 6 * u, cap="round", join="round"),
            Stroke(shape.path, chrome(shape.path, color), shape.width, cap="round", join="round"),
        )
    return (
        Stroke(shape.path, BLACK, 7 * u, opacity=0.85, join="round"),
        Fill(shape.path, chrome(shape.path, color)),
        Stroke(shape.path, mix(color, WHITE, 0.75), 1.6 * u, join="round"),
    )


def _star_places(box: Box, rng: np.random.Generator) -> list[Point]:
    """Three places near the corners of a box."""
    shares = ((0.86, 0.14), (0.12, 0.3), (0.8, 0.84))
    jitter = rng.uniform(-0.05, 0.05, (3, 2))
    return [(box.x + box.width * (a + i), box.y + box.height * (b + j)) for (a, b), (i, j) in zip(shares, jitter)]


def finish(stage: Stage) -> Marks:
    """Register marks in the corners, a ruler on an edge, a barcode, a wire globe: the paraphernalia of precision."""
    palette, u, rng = stage.palette, stage.unit, stage.rng
    edge = 26 * u
    corners = [(edge, edge), (stage.width - edge, edge), (edge, stage.height - edge)]
    marks = joined(
        *(_register(x, y, 11 * u) for x, y in corners),
        _ruler(stage.width - 18 * u, stage.height * 0.3, stage.height * 0.4, u),
    )
    code = _barcode(stage.width - edge - 96 * u, stage.height - edge - 12 * u, 96 * u, 22 * u, rng)
    return (Stroke(marks, palette.accent, 1.5 * u), Fill(code, palette.ink))


def panel(stage: Stage, box: Box) -> Marks:
    """A dark plate with a hair line and bright corner ticks."""
    palette, u = stage.palette, stage.unit
    tick = min(26 * u, box.width / 4, box.height / 4)
    corners = [
        joined(line(x, y, x + sx * tick, y), line(x, y, x, y + sy * tick))
        for x, sx in ((box.x, 1), (box.right, -1))
        for y, sy in ((box.y, 1), (box.bottom, -1))
    ]
    return (
        Fill(boxed(box), palette.surface),
        Stroke(boxed(box), palette.primary, 1.5 * u),
        Stroke(joined(*corners), palette.accent, 5 * u, cap="square"),
    )


def letter(stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> Lettered:
    """Headlines of bright metal: light above, a hard horizon, the accent below."""
    if role != "headline":
        return Lettered(glyphs)
    accent = stage.palette.accent
    stops = (
        (0.0, WHITE, 1.0),
        (0.48, mix(accent, WHITE, 0.6), 1.0),
        (0.52, accent, 1.0),
        (1.0, mix(accent, WHITE, 0.35), 1.0),
    )
    return Lettered(by_line(glyphs, stops), ("gradient_fill",))


STYLE = Style(
    name="Acid Graphics",
    moods=("futuristic", "bold", "mysterious", "playful"),
    displays=(("Unbounded", 800), ("Syne", 800), ("Bungee", 400)),
    texts=(("Space Mono", 400), ("Space Grotesk", 400)),
    case="upper",
    arrangements=("big-type", "full-bleed", "hero-top", "corner-grid", "turned", "split", "mark-above", "badge"),
    tune=tune,
    ground=ground,
    picture=picture,
    finish=finish,
    panel=panel,
    letter=letter,
    scale=1.1,
)
