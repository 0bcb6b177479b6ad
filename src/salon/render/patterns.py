"""Patterns that fill an outline: twelve ways, all called alike and all as plain marks.

Each takes the outline to fill, colors (the first is the ground, the rest are figures), the size of one repeat in
pixels and a generator of chance, and gives marks that stay within the outline. What repeats exactly is a `Tile`;
what does not is a clipped `Group`, with one fill per color however many pieces there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from salon.render.layout import Box
from salon.render.marks import Color, Fill, Group, Mark, Path, Stroke, Tile
from salon.render.shapes import bounds, circle, joined, polygon, rect, regular, ring, sector, smooth, turned

Marks = tuple[Mark, ...]
Pattern = Callable[[Path, Sequence[Color], float, np.random.Generator], Marks]

# What repeats exactly


def dots(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Staggered discs."""
    r = size * float(rng.uniform(0.15, 0.22))
    corners = [circle(x, y, r) for x in (0, size) for y in (0, size)]
    other = Fill(circle(size / 2, size / 2, r), _figure(colors, 1))
    return _tiled(within, colors, (Fill(joined(*corners), _figure(colors, 0)), other), size, size)


def checks(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """A board of squares, straight or on its corner."""
    half = size / 2
    board = joined(rect(0, 0, half, half), rect(half, half, half, half))
    return _tiled(within, colors, (Fill(board, _figure(colors, 0)),), size, size, angle=float(rng.choice((0, 45))))


def waves(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Seigaiha: rows of ringed scales, each row over the one above it."""
    r = size / 2
    rings = int(rng.integers(3, 5))
    marks = []
    for row in range(-1, 5):
        shift = r if row % 2 else 0.0
        for k in range(rings):
            paint = _figure(colors, 0) if k % 2 == 0 else colors[0]
            scales = [circle(shift + 2 * r * i, row * r / 2, r * (1 - k / rings)) for i in (-1, 0, 1)]
            marks.append(Fill(joined(*scales), paint))
    return _tiled(within, colors, tuple(marks), 2 * r, r)


def zigzag(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Chevrons in rows."""
    band = size * float(rng.uniform(0.2, 0.28))
    half = size / 2
    marks = []
    for k in (-1, 0, 1):
        top = k * size * 0.75
        edge = [(-half, top + half), (0, top), (half, top + half), (size, top), (size + half, top + half)]
        below = [(x, y + band) for x, y in reversed(edge)]
        marks.append(Fill(polygon([*edge, *below]), _figure(colors, 0)))
    return _tiled(within, colors, tuple(marks), size, size * 0.75, angle=float(rng.choice((0, 90))))


def grid(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Thin lines that cross, as on squared paper."""
    line = max(size * float(rng.uniform(0.04, 0.08)), 0.75)
    cross = joined(rect(0, 0, size, line), rect(0, 0, line, size))
    return _tiled(within, colors, (Fill(cross, _figure(colors, 0)),), size, size)


# What does not


def stripes(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Bands of even width, upright, level or slanting; `size` is that of all colors together."""
    area = bounds(within)
    x, y, reach = area.x + area.width / 2, area.y + area.height / 2, math.hypot(area.width, area.height) / 2
    angle, band = float(rng.choice((0, 45, 90, 135))), size / len(colors)
    starts = [x + size * k for k in range(-int(reach / size) - 1, int(reach / size) + 1)]
    fills = []
    for k in range(len(colors) - 1):
        bands = [rect(start + band * (k + 1), y - reach, band, 2 * reach) for start in starts]
        fills.append(Fill(turned(joined(*bands), angle, x, y), _figure(colors, k)))
    return _clipped(within, colors, tuple(fills))


def terrazzo(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Chips of stone, well apart, of many shapes and sizes."""
    chips: list[Path] = []
    for x, y in _scattered(within, size, rng):
        radii = size * rng.uniform(0.2, 0.48) * rng.uniform(0.6, 1.0, int(rng.integers(4, 7)))
        angles = np.linspace(0, 2 * math.pi, len(radii), endpoint=False) + rng.uniform(0, 2 * math.pi)
        chips.append(polygon(zip((x + radii * np.cos(angles)).tolist(), (y + radii * np.sin(angles)).tolist())))
    return _clipped(within, colors, _by_color(chips, colors, rng))


def confetti(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Strips, dots, rings and triangles thrown about."""
    flakes: list[Path] = []
    for x, y in _scattered(within, size, rng):
        r = size * float(rng.uniform(0.18, 0.26))
        angle = float(rng.uniform(0, 360))
        kind = int(rng.integers(4))
        if kind == 0:
            flakes.append(turned(rect(x - r * 1.3, y - r * 0.35, r * 2.6, r * 0.7), angle, x, y))
        elif kind == 1:
            flakes.append(circle(x, y, r * 0.75))
        elif kind == 2:
            flakes.append(regular(x, y, r * 1.1, 3, angle))
        else:
            flakes.append(joined(sector(x, y, r, angle, angle + 180, r * 0.6)))
    return _clipped(within, colors, _by_color(flakes, colors, rng))


def halftone(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Staggered dots that shrink from one side to the other."""
    area = bounds(within)
    angle = math.radians(float(rng.choice((0, 90, 180, 270))) + float(rng.uniform(-20, 20)))
    dx, dy = math.cos(angle), math.sin(angle)
    reach = abs(dx) * area.width / 2 + abs(dy) * area.height / 2 or 1.0
    spots = []
    for row, y in enumerate(np.arange(area.y, area.bottom + size, size / 2).tolist()):
        for x in np.arange(area.x + (size / 2 if row % 2 else 0), area.right + size, size).tolist():
            along = ((x - area.x - area.width / 2) * dx + (y - area.y - area.height / 2) * dy) / reach
            r = size * 0.52 * (1 - along) / 2
            if r > size * 0.03:
                spots.append(circle(x, y, r))
    return _clipped(within, colors, (Fill(joined(*spots), _figure(colors, 0)),))


def sunburst(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Wedges from a point within; `size` is their width at the rim."""
    area = bounds(within)
    x, y = area.x + area.width * float(rng.uniform(0.3, 0.7)), area.y + area.height * float(rng.uniform(0.3, 0.7))
    reach = math.hypot(area.width, area.height)
    count = max(6, round(math.pi * reach / size))
    step, start = 360 / count, float(rng.uniform(0, 360))
    wedges = [sector(x, y, reach, start + k * step, start + (k + 0.5) * step) for k in range(count)]
    return _clipped(within, colors, (Fill(joined(*wedges), _figure(colors, 0)),))


def rings(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Circles about one point, each `size` wider than the last."""
    area = bounds(within)
    x, y = area.x + area.width * float(rng.uniform(0.2, 0.8)), area.y + area.height * float(rng.uniform(0.2, 0.8))
    reach = math.hypot(area.width, area.height)
    bands = [
        ring(x, y, (k + 0.5) * size, k * size) if k else circle(x, y, size / 2) for k in range(int(reach / size) + 1)
    ]
    fills = [Fill(band, _figure(colors, k)) for k, band in enumerate(bands)]
    return _clipped(within, colors, tuple(fills))


def contours(within: Path, colors: Sequence[Color], size: float, rng: np.random.Generator) -> Marks:
    """Lines of equal height about a summit, as on a map; they bend together and never cross."""
    area = bounds(within)
    x, y = area.x + area.width * float(rng.uniform(0.2, 0.8)), area.y + area.height * float(rng.uniform(0.2, 0.8))
    reach = math.hypot(area.width, area.height) * 1.3
    angles = np.linspace(0, 2 * math.pi, 40, endpoint=False)
    phases, shares = rng.uniform(0, 2 * math.pi, 4), rng.uniform(0.03, 0.1, 4)
    lines = []
    for k in range(1, int(reach / size) + 1):
        bend = sum(shares[j] * np.cos((j + 1) * angles + phases[j] + 0.05 * k) for j in range(4))
        r = size * k * (1 + bend)
        lines.append(smooth(list(zip((x + r * np.cos(angles)).tolist(), (y + r * np.sin(angles)).tolist()))))
    strokes = [
        Stroke(line, _figure(colors, k // 5), size * (0.16 if k % 5 == 4 else 0.08)) for k, line in enumerate(lines)
    ]
    return _clipped(within, colors, tuple(strokes))


PATTERNS: dict[str, Pattern] = {
    "dots": dots,
    "stripes": stripes,
    "checks": checks,
    "waves": waves,
    "zigzag": zigzag,
    "grid": grid,
    "terrazzo": terrazzo,
    "confetti": confetti,
    "halftone": halftone,
    "sunburst": sunburst,
    "rings": rings,
    "contours": contours,
}
"""All patterns by name."""


def _figure(colors: Sequence[Color], k: int) -> Color:
    """The k-th color that is not the ground, around again when they run out."""
    return colors[1 + k % (len(colors) - 1)]


def _tiled(
    within: Path, colors: Sequence[Color], marks: Marks, width: float, height: float, *, angle: float = 0.0
) -> Marks:
    return (Fill(within, colors[0]), Tile(marks, width, height, within, angle))


def _clipped(within: Path, colors: Sequence[Color], marks: Marks) -> Marks:
    return (Fill(within, colors[0]), Group(marks, clip=within))


def _scattered(within: Path, size: float, rng: np.random.Generator) -> Iterable[tuple[float, float]]:
    """Places over the bounds of an outline, one in each cell of a loose grid, so that none touch."""
    area: Box = bounds(within)
    columns, rows = int(area.width / size) + 2, int(area.height / size) + 2
    shifts = rng.uniform(0.25, 0.75, (rows, columns, 2))
    for j in range(rows):
        for i in range(columns):
            yield area.x + (i - 0.5 + float(shifts[j, i, 0])) * size, area.y + (j - 0.5 + float(shifts[j, i, 1])) * size


def _by_color(pieces: list[Path], colors: Sequence[Color], rng: np.random.Generator) -> Marks:
    """Every piece in one of the figure colors, joined to one fill per color."""
    chosen = rng.integers(0, len(colors) - 1, len(pieces))
    kinds = [(k, [piece for piece, color in zip(pieces, chosen) if color == k]) for k in range(len(colors) - 1)]
    return tuple(Fill(joined(*found), colors[1 + k]) for k, found in kinds if found)
