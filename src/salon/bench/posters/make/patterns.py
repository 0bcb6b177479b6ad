"""Patterns inside letters: 38 that can be told apart by name, each drawn in one ink over the color of the letters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from salon.render.layout import Box
from salon.render.marks import Fill, Glyphs, Group, Mark, Paint, Path, Stroke, Tile
from salon.render.shapes import blob, circle, ellipse, joined, polygon, polyline, rect, ring, sector, smooth, star
from salon.render.styles.ways import rays

CELL = 54.0


@dataclass(frozen=True)
class Letters:
    """A word to be given an effect: its letters in their color, and the ink that shows on them."""

    glyphs: tuple[Glyphs, ...]
    outline: Path
    box: Box
    paint: Paint
    over: str
    """The ink of patterns, laid on with `veil` opacity."""
    veil: float
    deep: str
    """A plain color for what lies behind the letters."""
    ground: str
    rng: np.random.Generator


Effect = Callable[[Letters], tuple[Mark, ...]]


# -- the same sign over and over -----------------------------------------------------------------------------------


def _heart(x: float, y: float, r: float) -> Path:
    return Path((("M", x, y + r), ("C", x - 1.6 * r, y - 0.1 * r, x - 0.8 * r, y - 1.2 * r, x, y - 0.4 * r),
                 ("C", x + 0.8 * r, y - 1.2 * r, x + 1.6 * r, y - 0.1 * r, x, y + r), ("Z",)))  # fmt: skip


def _leaf(x: float, y: float, r: float) -> Path:
    blade = Path((("M", x - r, y + r), ("Q", x - r, y - r, x + r, y - r), ("Q", x + r, y + r, x - r, y + r), ("Z",)))
    vein = polygon(((x - r, y + r), (x + 0.5 * r, y - 0.62 * r), (x + 0.62 * r, y - 0.5 * r)))
    return joined(blade, vein, even_odd=True)


def _flower(x: float, y: float, r: float) -> Path:
    turns = [2 * math.pi * k / 5 - math.pi / 2 for k in range(5)]
    petals = [circle(x + 0.62 * r * math.cos(a), y + 0.62 * r * math.sin(a), 0.36 * r) for a in turns]
    return joined(*petals, circle(x, y, 0.22 * r))


def _plus(x: float, y: float, r: float) -> Path:
    return joined(rect(x - r, y - 0.3 * r, 2 * r, 0.6 * r), rect(x - 0.3 * r, y - r, 0.6 * r, 2 * r))


def _drop(x: float, y: float, r: float) -> Path:
    return Path((("M", x, y - 1.15 * r), ("C", x + 0.3 * r, y - 0.4 * r, x + 0.8 * r, y, x + 0.75 * r, y + 0.4 * r),
                 ("C", x + 0.7 * r, y + 1.2 * r, x - 0.7 * r, y + 1.2 * r, x - 0.75 * r, y + 0.4 * r),
                 ("C", x - 0.8 * r, y, x - 0.3 * r, y - 0.4 * r, x, y - 1.15 * r), ("Z",)))  # fmt: skip


def _moon(x: float, y: float, r: float) -> Path:
    tip = x + 0.4 * r
    return Path((("M", tip, y - r), ("C", x - 1.4 * r, y - 0.9 * r, x - 1.4 * r, y + 0.9 * r, tip, y + r),
                 ("C", x - 0.5 * r, y + 0.5 * r, x - 0.5 * r, y - 0.5 * r, tip, y - r), ("Z",)))  # fmt: skip


def _arrow(x: float, y: float, r: float) -> Path:
    return polygon((x + a * r, y + b * r) for a, b in
                   ((-1, -0.25), (0.1, -0.25), (0.1, -0.7), (1, 0), (0.1, 0.7), (0.1, 0.25), (-1, 0.25)))  # fmt: skip


def _paw(x: float, y: float, r: float) -> Path:
    toes = ((-0.75, -0.15), (-0.27, -0.65), (0.27, -0.65), (0.75, -0.15))
    pads = (circle(x + a * r, y + b * r, 0.25 * r) for a, b in toes)
    return joined(ellipse(x, y + 0.45 * r, 0.58 * r, 0.48 * r), *pads)


def _cloud(x: float, y: float, r: float) -> Path:
    puffs = ((-0.5, 0.2, 0.42), (0.0, -0.1, 0.55), (0.55, 0.2, 0.42))
    foot = rect(x - 0.5 * r, y + 0.2 * r, 1.05 * r, 0.42 * r)
    return joined(foot, *(circle(x + a * r, y + b * r, c * r) for a, b, c in puffs))


def _bolt(x: float, y: float, r: float) -> Path:
    return polygon((x + a * r, y + b * r) for a, b in
                   ((0.2, -1.1), (-0.65, 0.2), (-0.05, 0.2), (-0.25, 1.1), (0.65, -0.3), (0.05, -0.3)))  # fmt: skip


def _flake(x: float, y: float, r: float) -> Path:
    arms = []
    for k in range(6):
        c, s = math.cos(math.pi * k / 3), math.sin(math.pi * k / 3)
        thin = 0.11 * r
        arms.append(polygon(((x - s * thin, y + c * thin), (x + c * r - s * thin, y + s * r + c * thin),
                             (x + c * r + s * thin, y + s * r - c * thin), (x + s * thin, y - c * thin))))  # fmt: skip
        arms.append(circle(x + 0.72 * c * r, y + 0.72 * s * r, 0.2 * r))
    return joined(*arms)


def _signs(sign: Callable[[float, float, float], Path], r: float = 14.0, hollow: bool = False) -> Effect:
    """The sign in staggered rows."""

    def drawn(letters: Letters) -> tuple[Mark, ...]:
        both = joined(sign(CELL / 4, CELL / 4, r), sign(3 * CELL / 4, 3 * CELL / 4, r), even_odd=hollow)
        return _tiled(letters, (Fill(both, letters.over),), CELL, CELL)

    return drawn


def _tiled(letters: Letters, marks: tuple[Mark, ...], width: float, height: float, angle: float = 0.0,
           opacity: float | None = None) -> tuple[Mark, ...]:  # fmt: skip
    tile = Tile(marks, width, height, letters.outline, angle, opacity=letters.veil if opacity is None else opacity)
    return (*letters.glyphs, tile)


# -- lines and fields ----------------------------------------------------------------------------------------------


def _stripes(angle: float) -> Effect:
    return lambda letters: _tiled(letters, (Fill(rect(0, 0, 30, 13), letters.over),), 30, 30, angle)


def _lined(path: Callable[[], Path], width: float, cell: tuple[float, float]) -> Effect:
    """One line in a cell, repeated."""
    return lambda letters: _tiled(letters, (Stroke(path(), letters.over, width),), *cell)


def _filled(path: Callable[[], Path], cell: tuple[float, float]) -> Effect:
    """One outline in a cell, filled and repeated."""
    return lambda letters: _tiled(letters, (Fill(path(), letters.over),), *cell)


def _brick_lines() -> Path:
    return joined(*(polyline(pair) for pair in
                    (((0, 2), (56, 2)), ((0, 26), (56, 26)), ((14, 2), (14, 26)), ((42, 26), (42, 50)))))  # fmt: skip


def _hexagons(s: float = 19.0) -> Path:
    w = math.sqrt(3) * s
    six = ((w / 2, 0), (w, s / 2), (w, 1.5 * s), (w / 2, 2 * s), (0, 1.5 * s), (0, s / 2))
    return joined(polygon(six), polyline(((w / 2, 2 * s), (w / 2, 3 * s))))


def _scale_lines(r: float = 20.0) -> Path:
    def bow(x: float, y: float) -> Path:
        return Path((("M", x - r, y), ("C", x - r, y + 1.33 * r, x + r, y + 1.33 * r, x + r, y)))

    return joined(bow(r, 0), bow(0, r), bow(2 * r, r), bow(r, 2 * r), bow(0, -r), bow(2 * r, -r))


def _wave_line() -> Path:
    bows = [("Q", 20 * k, 36 - 28 * (k % 2), 20 * k + 10, 22) for k in range(4)]
    return Path((("M", -10, 22), *bows))


def _weave() -> Path:
    across = [rect(3, 4 + 12 * k, 30, 7) for k in range(3)] + [rect(39, 40 + 12 * k, 30, 7) for k in range(3)]
    down = [rect(40 + 12 * k, 3, 7, 30) for k in range(3)] + [rect(4 + 12 * k, 39, 7, 30) for k in range(3)]
    return joined(*across, *down)


def _plaid(letters: Letters) -> tuple[Mark, ...]:
    bands = tuple(Fill(path, letters.over, opacity=0.5) for path in
                  (rect(0, 0, 64, 13), rect(0, 0, 13, 64), rect(0, 38, 64, 3), rect(38, 0, 3, 64)))  # fmt: skip
    return _tiled(letters, bands, 64, 64, opacity=min(1.0, 1.5 * letters.veil))


def _hatched(letters: Letters) -> tuple[Mark, ...]:
    lines = (Fill(rect(0, 0, 14, 2.6), letters.over),)
    tiles = [Tile(lines, 14, 14, letters.outline, angle, opacity=min(1, 1.4 * letters.veil)) for angle in (45, -45)]
    return (*letters.glyphs, *tiles)


# -- drawn over the whole word -------------------------------------------------------------------------------------


def _inside(letters: Letters, marks: list[Mark], opacity: float | None = None) -> tuple[Mark, ...]:
    veil = letters.veil if opacity is None else opacity
    return (*letters.glyphs, Group(tuple(marks), clip=letters.outline, opacity=veil))


def _circles(letters: Letters) -> tuple[Mark, ...]:
    x, y = letters.box.middle
    return _inside(letters, [Stroke(circle(x, y, r), letters.over, 9) for r in range(10, int(letters.box.width), 22)])


def _sunburst(letters: Letters) -> tuple[Mark, ...]:
    x, _ = letters.box.middle
    return _inside(letters, [Fill(rays(x, letters.box.bottom + 30, 2 * letters.box.width, 26), letters.over)])


def _halftone(letters: Letters) -> tuple[Mark, ...]:
    box, step = letters.box, 17.0
    dots = []
    for row in range(int(box.height / step) + 2):
        r = 0.68 * step * row * step / box.height
        for column in range(int(box.width / step) + 2):
            dots.append(circle(box.x + (column + 0.5 * (row % 2)) * step, box.y + row * step, max(r, 0.6)))
    return _inside(letters, [Fill(joined(*dots), letters.over)])


def _wood(letters: Letters) -> tuple[Mark, ...]:
    """Long lines of the year rings that flow around a few knots."""
    box, rng = letters.box, letters.rng
    knots = [(box.x + (k + rng.uniform(0.2, 0.8)) * box.width / 4, rng.uniform(box.y + 30, box.bottom - 30))
             for k in range(4)]  # fmt: skip
    marks: list[Mark] = []
    for y in np.arange(box.y - 20, box.bottom + 20, 9.0):
        phase = float(rng.uniform(0, 0.5))
        points = [(x, float(y) + 2.5 * math.sin(x / 45 + phase) + _around(x, float(y), knots))
                  for x in np.arange(box.x, box.right + 12, 12.0).tolist()]  # fmt: skip
        marks.append(Stroke(smooth(points, closed=False), letters.over, float(rng.uniform(1.6, 3.6))))
    for x, y in knots:
        marks += [Stroke(ellipse(x, y, 1.6 * r, r), letters.over, 2.4) for r in (4, 8)]
    return _inside(letters, marks, min(1.0, 1.3 * letters.veil))


def _around(x: float, y: float, knots: list[tuple[float, float]]) -> float:
    push = 0.0
    for kx, ky in knots:
        away = y - ky
        push += math.copysign(17, away or 1.0) * math.exp(-(((x - kx) / 34) ** 2) - (away / 34) ** 2)
    return push


def _walk(x: float, y: float, heading: float, steps: int, length: float, bend: float,
          rng: np.random.Generator) -> list[tuple[float, float]]:  # fmt: skip
    points = [(x, y)]
    for turn in rng.normal(0, bend, steps):
        heading += float(turn)
        x, y = x + length * math.cos(heading), y + length * math.sin(heading)
        points.append((x, y))
    return points


def _marble(letters: Letters) -> tuple[Mark, ...]:
    """Soft veins that run aslant and branch."""
    box, rng = letters.box, letters.rng
    marks: list[Mark] = []
    for _ in range(16):
        x = float(rng.uniform(box.x - 60, box.right))
        vein = _walk(x, box.y - 10, float(rng.uniform(0.6, 1.1)), 16, 24, 0.35, rng)
        marks.append(Stroke(smooth(vein, closed=False), letters.over, float(rng.uniform(3, 9)), opacity=0.35))
        marks.append(Stroke(smooth(vein, closed=False), letters.over, 1.6))
        twig = _walk(*vein[5], float(rng.uniform(-0.3, 0.4)), 7, 16, 0.4, rng)
        marks.append(Stroke(smooth(twig, closed=False), letters.over, 1.2))
    return _inside(letters, marks, min(1.0, 1.3 * letters.veil))


def _cracked(letters: Letters) -> tuple[Mark, ...]:
    """Jagged gaps through which the ground is seen."""
    box, rng = letters.box, letters.rng
    marks: list[Mark] = []
    for place in np.linspace(box.x + 30, box.right - 30, 7):
        x = float(place + rng.uniform(-20, 20))
        gap = _walk(x, box.y - 5, math.pi / 2, 20, 16, 0.75, rng)
        marks.append(Stroke(polyline(gap), letters.ground, 4.5))
        for at in (4, 8, 12):
            twig = _walk(*gap[at], float(rng.uniform(-1, 4)), 4, 15, 0.7, rng)
            marks.append(Stroke(polyline(twig), letters.ground, 2.6))
    return _inside(letters, marks, 1.0)


def _camouflage(letters: Letters) -> tuple[Mark, ...]:
    box, rng = letters.box, letters.rng
    marks: list[Mark] = []
    for k in range(int(box.width / 26)):
        x, y = float(rng.uniform(box.x, box.right)), float(rng.uniform(box.y, box.bottom))
        patch = blob(x, y, float(rng.uniform(18, 34)), rng, 7, 0.4)
        marks.append(Fill(patch, letters.over, opacity=(0.55, 1.0)[k % 2]))
    return _inside(letters, marks)


def _zebra(letters: Letters) -> tuple[Mark, ...]:
    """Bands that swell, taper and run askew."""
    box, rng = letters.box, letters.rng
    marks: list[Mark] = []
    for x in np.arange(box.x - 40, box.right + 40, 27.0):
        lean, phase = float(rng.uniform(-0.25, 0.25)), float(rng.uniform(0, 6.3))
        ys = np.linspace(box.y - 12, box.bottom + 12, 12)
        middle = x + lean * (ys - box.y) + 9 * np.sin(ys / 26 + phase)
        half = 2.5 + 6.5 * np.abs(np.sin(ys / 60 + phase))
        edge = [*zip(middle - half, ys), *zip((middle + half)[::-1], ys[::-1])]
        marks.append(Fill(smooth([(float(a), float(b)) for a, b in edge]), letters.over))
    return _inside(letters, marks, min(1.0, 1.25 * letters.veil))


def _leopard(letters: Letters) -> tuple[Mark, ...]:
    """Broken rings with a spot in them."""
    box, rng = letters.box, letters.rng
    marks: list[Mark] = []
    for row, y in enumerate(np.arange(box.y, box.bottom + 20, 31.0)):
        for x in np.arange(box.x + 17 * (row % 2), box.right + 20, 34.0):
            a, b = float(x + rng.uniform(-5, 5)), float(y + rng.uniform(-5, 5))
            start = float(rng.uniform(0, 360))
            for bow in (start, start + 130):
                marks.append(Fill(sector(a, b, 13, bow, bow + 88, 6.5), letters.over))
            marks.append(Fill(circle(a, b, 3.0), letters.over, opacity=0.6))
    return _inside(letters, marks, min(1.0, 1.4 * letters.veil))


def _mosaic(letters: Letters) -> tuple[Mark, ...]:
    """Triangles of many shades."""
    box, rng, step = letters.box, letters.rng, 36.0
    columns, rows = int(box.width / step) + 3, int(box.height / step) + 3
    grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1) * step + (box.x - step, box.y - step)
    grid = (grid + rng.uniform(-0.3 * step, 0.3 * step, grid.shape)).tolist()
    marks: list[Mark] = []
    for r in range(rows - 1):
        for c in range(columns - 1):
            a, b, d, e = grid[r][c], grid[r][c + 1], grid[r + 1][c], grid[r + 1][c + 1]
            for corners in ((a, b, d), (b, e, d)):
                shade = float(rng.choice((0.0, 0.0, 0.35, 0.75)))
                marks.append(Fill(polygon(tuple(one) for one in corners), letters.over, opacity=shade))
    return _inside(letters, marks)


PATTERNS: dict[str, Effect] = {
    "horizontal stripes": _stripes(0), "vertical stripes": _stripes(90), "diagonal stripes": _stripes(-45),
    "polka dots": _signs(lambda x, y, r: circle(x, y, 0.72 * r)),
    "checkerboard": _filled(lambda: joined(rect(0, 0, 18, 18), rect(20, 20, 18, 18)), (40, 40)),
    "grid lines": _filled(lambda: joined(rect(0, 0, 24, 4), rect(0, 0, 4, 24)), (24, 24)),
    "bricks": _lined(_brick_lines, 4.5, (56, 48)),
    "honeycomb": _lined(_hexagons, 5, (math.sqrt(3) * 19, 57)),
    "fish scales": _lined(_scale_lines, 4.5, (40, 40)),
    "zigzag": _lined(lambda: polyline(((-4, 32), (20, 8), (44, 32))), 9, (40, 34)),
    "waves": _lined(_wave_line, 8, (40, 32)),
    "basket weave": _filled(_weave, (72, 72)),
    "plaid": _plaid, "crosshatching": _hatched, "concentric circles": _circles, "sunburst": _sunburst,
    "halftone": _halftone, "wood grain": _wood, "marble veins": _marble, "cracks": _cracked,
    "camouflage": _camouflage, "zebra stripes": _zebra, "leopard spots": _leopard, "triangle mosaic": _mosaic,
    "stars": _signs(lambda x, y, r: star(x, y, 1.1 * r, 0.45 * r)), "hearts": _signs(_heart, 12),
    "leaves": _signs(_leaf, 11, hollow=True), "flowers": _signs(_flower, 17), "plus signs": _signs(_plus, 11),
    "drops": _signs(_drop, 13), "crescent moons": _signs(_moon), "snowflakes": _signs(_flake, 15),
    "arrows": _signs(_arrow), "diamonds": _signs(lambda x, y, r: polygon(((x, y - 1.2 * r), (x + 0.75 * r, y),
                                                                        (x, y + 1.2 * r), (x - 0.75 * r, y)))),
    "paw prints": _signs(_paw, 16), "clouds": _signs(_cloud, 17), "lightning bolts": _signs(_bolt),
    "rings": _signs(lambda x, y, r: ring(x, y, 0.9 * r, 0.5 * r), hollow=True),
}  # fmt: skip
"""Name of a pattern to what draws it."""
