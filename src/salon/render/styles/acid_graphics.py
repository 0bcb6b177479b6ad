"""Acid Graphics: rave flyers of the net age: liquid chrome, warped checkers, contour lines, stars, measuring marks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from salon.render.colors import mix
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Linear, Mark, Path, Radial, Stroke
from salon.render.motifs import MotifShape
from salon.render.plan import Lettered, Palette, Stage, Style
from salon.render.shapes import blob, bounds, circle, ellipse, joined, line, polygon, rect, smooth, turned
from salon.render.styles.light import (
    BLACK,
    WHITE,
    across,
    by_line,
    clearings,
    focus,
    inked,
    is_bright,
    night,
    scene,
    sparkle,
    spots,
    spread,
    vivid,
)
from salon.render.styles.ways import Marks, bleeds, boxed, canvas, clipped, middle, whole

Point = tuple[float, float]


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """Near-black, and colors at the edge of what a screen can show."""
    dark = night(palette, 0.13, chroma=0.025, glow=0.22, hue=290)
    return inked(replace(dark, accent=vivid(palette.accent, 0.8, 0.92, 0.24)))


# Liquid things


def chrome(path: Path, tint: Color) -> Linear:
    """Polished metal that mirrors a bright sky, a dark horizon and a tinted floor; small things lean a little."""
    stops = (
        (0.0, WHITE, 1.0),
        (0.16, mix(tint, WHITE, 0.7), 1.0),
        (0.40, tint, 1.0),
        (0.52, mix(tint, BLACK, 0.78), 1.0),
        (0.57, mix(tint, WHITE, 0.85), 1.0),
        (0.78, mix(tint, WHITE, 0.25), 1.0),
        (1.0, mix(tint, BLACK, 0.55), 1.0),
    )
    box = bounds(path)
    return across(path, stops, 0.25 if box.width * box.height < 120**2 else 0.0)


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
    """Near-black with contour lines that well up where there is no text."""
    palette, u = stage.palette, stage.unit
    marks: Marks = (Fill(canvas(stage), palette.ground),)
    for (x, y, free), color in zip(clearings(stage, 2), (palette.primary, palette.secondary)):
        reach = min(free + 60 * u, 0.5 * max(stage.width, stage.height))
        rings = contours(x, y, reach, max(4, int(reach / (34 * u))), stage.rng)
        marks += (Stroke(rings, mix(palette.ground, color, 0.6), 1.8 * u),)
    count = 0 if stage.format == "logo" else 2
    globes = [_globe(x, y, 34 * u) for x, y in spots(stage, whole(stage), count, 80 * u, gap=16 * u)]
    return (*marks, Stroke(joined(*globes), palette.accent, 1.5 * u))


def picture(stage: Stage, box: Box) -> Marks:
    """The motif cast in chrome before a liquid checkerboard; a logo is the casting alone."""
    palette, u = stage.palette, stage.unit
    shapes = scene(stage, box, over=12)
    cast = [mark for shape in shapes for mark in _cast(shape, palette, u)]
    if stage.format == "logo":
        return (*cast, Fill(sparkle(box.right, box.y + box.height * 0.1, 60 * u), WHITE))
    if stage.subject == "abstract":
        cast = _liquid(stage, focus(stage, box))
    stars = [Fill(sparkle(x, y, r * u), WHITE) for (x, y), r in zip(_star_places(box, stage.rng), (64, 38, 24))]
    return (clipped((*_backdrop(stage, box), *spread(stage, box, tuple(cast)), *stars), boxed(box)), *_edge(stage, box))


def _backdrop(stage: Stage, box: Box) -> Marks:
    """A swollen checkerboard in acid light, darkest behind the motif."""
    palette = stage.palette
    x, y = middle(box)
    reach = max(box.width, box.height) * 0.62
    stops = (
        (0.0, mix(palette.accent, BLACK, 0.7), 1.0),
        (0.45, mix(palette.accent, BLACK, 0.35), 1.0),
        (0.75, palette.primary, 1.0),
        (1.0, mix(palette.primary, BLACK, 0.5), 1.0),
    )
    return Fill(boxed(box), BLACK), Fill(warped_checker(box, 16, stage.rng), Radial(x, y, reach, stops))


def _edge(stage: Stage, box: Box) -> Marks:
    """A hair line around a picture that stands inside the sheet."""
    return () if bleeds(stage, box) else (Stroke(boxed(box), stage.palette.accent, 2 * stage.unit),)


def _liquid(stage: Stage, box: Box) -> list[Mark]:
    """Drops of chrome that ran together, in rings of contour lines, for briefs without a subject."""
    palette, u, rng = stage.palette, stage.unit, stage.rng
    x, y = middle(box)
    side = min(box.width, box.height)
    marks: list[Mark] = [Stroke(contours(x, y, side * 0.62, 16, rng), palette.accent, 1.8 * u, opacity=0.9)]
    drops = (
        (0.0, 0.0, 0.3, palette.primary),
        (0.27, -0.24, 0.13, palette.accent),
        (-0.27, 0.22, 0.16, palette.secondary),
        (-0.24, -0.28, 0.06, palette.accent),
        (0.3, 0.3, 0.08, palette.primary),
    )
    for dx, dy, r, color in drops:
        path = blob(x + dx * side, y + dy * side, r * side, rng, lobes=6, wobble=0.28)
        marks += _cast(MotifShape(path, 3, 1.0), replace(palette, primary=color), u)
        gleam = ellipse(x + (dx - r * 0.35) * side, y + (dy - r * 0.45) * side, r * side * 0.26, r * side * 0.13)
        marks.append(Fill(turned(gleam, -35, *middle(bounds(gleam))), WHITE, blur=3 * u))
    return marks


def _cast(shape: MotifShape, palette: Palette, u: float) -> Marks:
    """One shape of the motif in metal, parted from the next by a dark seam and a bright edge."""
    tint = (BLACK, mix(palette.primary, BLACK, 0.45), palette.secondary, palette.primary, palette.accent, "#e8eef4")
    color = tint[shape.tone]
    if shape.line:
        return (
            Stroke(shape.path, BLACK, shape.width + 6 * u, cap="round", join="round"),
            Stroke(shape.path, chrome(shape.path, color), shape.width, cap="round", join="round"),
        )
    size = bounds(shape.path)
    if max(size.width, size.height) < 26 * u:
        return (Fill(shape.path, mix(color, WHITE, 0.5)),)
    return (
        Stroke(shape.path, BLACK, 7 * u, join="round"),
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
    if stage.format == "logo":
        return ()
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
    """Headlines of bright metal: light above, a hard horizon, their color below."""
    if role != "headline" or not is_bright(stage, glyphs):
        return Lettered(glyphs)
    own = str(glyphs[0].paint)
    color = own if own != stage.palette.ink else stage.palette.accent
    pale = mix(color, WHITE, 0.6)
    stops = ((0.0, WHITE, 1.0), (0.48, pale, 1.0), (0.52, color, 1.0), (1.0, mix(color, WHITE, 0.35), 1.0))
    return Lettered(by_line(stage, glyphs, stops), ("gradient_fill",))


STYLE = Style(
    name="Acid Graphics",
    moods=("futuristic", "bold", "mysterious", "playful"),
    displays=(("Unbounded", 800), ("Syne", 700), ("Bungee", 400)),
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
