"""Advanced effects: a word in one of 16 colors under one of 48 effects, all on the menu of the question.

38 effects are patterns inside the letters, drawn in one ink over their color; ten change the form of the letters. Every
effect goes with every color. Effects that bring a color of their own (gold, fire, ice) are left to the public files,
whose pictures come from image models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from salon.bench.posters.make.items import WORDS, MadeItem, balanced_choice, pick
from salon.bench.posters.make.lettering import line_in, paint_marks
from salon.bench.posters.tasks import COLORS
from salon.render import (
    Box,
    Face,
    Fill,
    Glyphs,
    Group,
    Linear,
    Mark,
    Paint,
    Path,
    Shadow,
    Stroke,
    Tile,
    blob,
    chance,
    circle,
    ellipse,
    joined,
    luminance,
    outlines,
    polygon,
    polyline,
    rays,
    rect,
    ring,
    rounded,
    sector,
    smooth,
    star,
    swell,
)

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
                marks.append(Fill(polygon(tuple(corner) for corner in corners), letters.over, opacity=shade))
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


# -- the task, and effects on the form ---------------------------------------------------------------------------------

WIDTH, HEIGHT = 900, 420
FACES = tuple(
    Face(family=name, weight=weight)
    for name, weight in (("Archivo Black", 400), ("Poppins", 900), ("Montserrat", 900), ("Work Sans", 900))
)
"""Heavy faces: there must be room for a pattern."""
INKS = {
    "azure": "#3fb4ff", "beige": "#e5d2a8", "black": "#101113", "blue": "#1c48dc", "gray": "#85898f",
    "green": "#25a24c", "indigo": "#3c2190", "orange": "#f5821f", "pink": "#f892bb", "purple": "#a445d6",
    "red": "#de2828", "reddish-brown": "#8c3d24", "white": "#ffffff", "yellow": "#ffd420",
}  # fmt: skip
RAINBOW = ("#e53935", "#fb8c00", "#fdd835", "#43a047", "#1e88e5", "#8e24aa")
METAL = ("#eef1f4", "#9aa1aa", "#e4e8ec", "#858d96", "#d5dade", "#8f979f") * 3
HINTS = {"azure": "azure (bright sky blue)", "colorful": "colorful (many hues)", "gray": "gray (plain)",
         "indigo": "indigo (dark blue-violet)", "silvery": "silvery (with a metallic sheen)"}  # fmt: skip
"""How colors are put in the question where their names alone could be mistaken."""
_FAINT = ("black", "indigo", "reddish-brown")
_LIGHT, _DARK = "#f1ede4", "#22262e"


def font_effect_2(number: int, seed: int) -> MadeItem:
    """A word in a color under an effect, both to be named."""
    rng = chance(seed, "font_effect_2", str(number))
    color = balanced_choice(COLORS, number, seed, "font_effect_2", "color")
    effect = balanced_choice(tuple(EFFECTS), number, seed, "font_effect_2", "effect")
    text = pick([word for word in WORDS if 4 <= len(word) <= 5], rng).upper()
    letters = color_letters(text, pick(FACES, rng), color, rng)
    pixels = paint_marks(EFFECTS[effect](letters), WIDTH, HEIGHT, letters.ground)
    truth = {"gt": [color, effect], "text": text, "color": color, "effects": [effect]}
    return MadeItem("font effect 2", effect, PROMPT, truth, pixels, {"letters": len(text)})


def color_letters(text: str, face: Face, color: str, rng: np.random.Generator) -> Letters:
    """The word in a color, large, on a ground it stands out from."""
    frame = Box(x=60, y=50, width=WIDTH - 120, height=HEIGHT - 130)
    line = line_in(text, face, frame, paint="#000000", size=330, align="center")
    paint = _paint(color, line.box)
    over, veil = ("#ffffff", 0.42) if color in _FAINT else ("#000000", 0.4)
    dark = color in INKS and luminance(INKS[color]) < 0.3
    return Letters(
        glyphs=tuple(replace(run, paint=paint) for run in line.glyphs),
        outline=joined(*(outlines(run) for run in line.glyphs)),
        box=line.box,
        paint=paint,
        over=over,
        veil=veil,
        deep="#9b9fa6" if dark else "#4a4f58",
        ground=_LIGHT if dark else _DARK,
        rng=rng,
    )


def _paint(color: str, box: Box) -> Paint:
    if color == "colorful":
        return _spread(RAINBOW, box.x, 0, box.right, 0)
    if color == "silvery":
        return _spread(METAL, box.x, box.y, box.right, box.bottom)
    return INKS[color]


def _spread(colors: Sequence[str], x0: float, y0: float, x1: float, y1: float) -> Linear:
    return Linear(x0, y0, x1, y1, tuple((k / (len(colors) - 1), color, 1.0) for k, color in enumerate(colors)))


# -- effects on the form -------------------------------------------------------------------------------------------


def _move_glyphs(glyphs: Sequence[Glyphs], dx: float, dy: float, paint: Paint) -> list[Glyphs]:
    return [replace(run, paint=paint, xs=tuple(x + dx for x in run.xs), ys=tuple(y + dy for y in run.ys))
            for run in glyphs]  # fmt: skip


def _edged(letters: Letters, width: float, paint: Paint) -> tuple[Mark, ...]:
    return (Stroke(letters.outline, paint, width, join="round"), Fill(letters.outline, paint))


def _block(letters: Letters) -> tuple[Mark, ...]:
    depth = [glyphs for k in range(26, 0, -1) for glyphs in _move_glyphs(letters.glyphs, k, k, letters.deep)]
    return (*depth, *letters.glyphs)


def _contours(letters: Letters) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    for width, paint in ((60, letters.paint), (44, letters.ground), (30, letters.paint), (14, letters.ground)):
        marks += _edged(letters, width, paint)
    return (*marks, *letters.glyphs)


def _stitched(letters: Letters) -> tuple[Mark, ...]:
    seam = Stroke(letters.outline, letters.over, 4.0, opacity=min(1, 1.9 * letters.veil), dash=(15, 10), cap="round")
    return (*_edged(letters, 24, letters.paint), seam)


def _on_a_wave(letters: Letters) -> tuple[Mark, ...]:
    """Letters that ride up and down."""
    return tuple(
        replace(run, ys=tuple(y + 34 * math.sin((x - letters.box.x) / 95) for x, y in zip(run.xs, run.ys)))
        for run in letters.glyphs
    )


def _sticker(letters: Letters) -> tuple[Mark, ...]:
    """A wide border of paper that casts a shadow."""
    paper = Group(_edged(letters, 46, letters.deep), shadow=Shadow(6, 8, 7, opacity=0.5))
    return (paper, *letters.glyphs)


def _sliced(letters: Letters) -> tuple[Mark, ...]:
    """The upper half slipped along a cut."""
    middle = letters.box.y + letters.box.height / 2
    upper = Group(letters.glyphs, clip=rect(0, 0, WIDTH, middle - 4))
    lower = Group(letters.glyphs, clip=rect(0, middle + 4, WIDTH, HEIGHT))
    return (Group((upper,), transform=(1, 0, 0, 1, 24, 0)), lower)


def _stencil(letters: Letters) -> tuple[Mark, ...]:
    """Bridges cut through the middle of every letter."""
    starts = [x for run in letters.glyphs for x in run.xs]
    ends = [*starts[1:], letters.box.right]
    bars = [rect((a + b) / 2 - 6, letters.box.y - 5, 12, letters.box.height + 10) for a, b in zip(starts, ends)]
    return (*letters.glyphs, Fill(joined(*bars), letters.ground))


def _half_filled(letters: Letters) -> tuple[Mark, ...]:
    """Hollow letters with a liquid in their lower half."""
    level = letters.box.y + 0.52 * letters.box.height
    box = letters.box
    liquid = Fill(swell(box.x - 10, box.right + 10, level, 9, 120, box.bottom + 10), letters.paint)
    return (Group((liquid,), clip=letters.outline), Stroke(letters.outline, letters.paint, 6, join="round"))


def _mask(letters: Letters) -> np.ndarray:
    black = [replace(run, paint="#000000") for run in letters.glyphs]
    return paint_marks(black, WIDTH, HEIGHT, "#ffffff")[:, :, 0] < 128


def _pixelated(letters: Letters) -> tuple[Mark, ...]:
    side = 15
    mask = _mask(letters)[: HEIGHT // side * side, : WIDTH // side * side]
    shares = mask.reshape(HEIGHT // side, side, WIDTH // side, side).mean(axis=(1, 3))
    squares = [rect(float(x * side), float(y * side), side - 1.5, side - 1.5) for y, x in np.argwhere(shares > 0.5)]
    return (Fill(joined(*squares), letters.paint),)


def _dripping(letters: Letters) -> tuple[Mark, ...]:
    """Runs of paint from the feet of the letters."""
    mask, marks = _mask(letters), []
    for place in np.arange(letters.box.x + 12, letters.box.right - 12, 23.0):
        x = int(place + letters.rng.uniform(-5, 5))
        inked = np.flatnonzero(mask[:, x - 5 : x + 6].all(axis=1))
        if inked.size and inked[-1] > letters.box.bottom - 16:
            long = float(letters.rng.uniform(22, 92))
            marks.append(Fill(rounded(x - 5.5, float(inked[-1]) - 14, 11, long + 14, 5.5), letters.paint))
    return (*marks, *letters.glyphs)


FORMS: dict[str, Effect] = {
    "3D block": _block, "contour lines around": _contours, "stitched seam": _stitched, "letters on a wave": _on_a_wave,
    "sticker border": _sticker, "sliced in two": _sliced, "stencil": _stencil, "half filled with liquid": _half_filled,
    "pixelated": _pixelated, "dripping paint": _dripping,
}  # fmt: skip
EFFECTS: dict[str, Effect] = {**PATTERNS, **FORMS}
"""The 48 on the menu."""
PROMPT = (
    "A word is drawn in one main color and with one special effect. Name both. Colors: "
    + ", ".join(HINTS.get(color, color) for color in COLORS)
    + ". Effects: "
    + ", ".join(EFFECTS)
    + '. Answer with a JSON list of two strings, the color and the effect, such as ["red", "stars"].'
)
