"""Pictures of nothing: form, rhythm and weight in eight manners."""

from __future__ import annotations

import math

import numpy as np

from salon.render.marks import Path
from salon.render.motifs.sketch import Sketch, sky
from salon.render.shapes import blob, circle, joined, polygon, rect, ring, rounded, sector


def abstract(s: Sketch) -> None:
    """One of eight manners."""
    s.one_of(discs, quarters, ribbons, pebbles, bars, arcs, arches, balance)(s)


def discs(s: Sketch) -> None:
    """Overlapping circles, one of them dominant; lenses where they meet."""
    sky(s)
    long = max(s.width, s.height)
    tall = s.height > s.width
    spine = s.unit * s.between(0.3, 0.36)
    lean = s.one_of(-1, 1)
    plan = (
        (0.2, -0.12, 1.0, 1),
        (0.56, 0.1, 1.25, 3),
        (0.86, -0.16, 0.8, 2),
        (0.4, 0.34, 0.42, 4),
        (0.74, -0.42, 0.3, 4),
    )
    for i, (along, across, share, tone) in enumerate(plan):
        a = (along + s.between(-0.05, 0.05)) * long
        b = s.unit * (0.5 + lean * (across + s.between(-0.05, 0.05)))
        x, y = (s.left + b, s.top + a) if tall else (s.left + a, s.top + b)
        r = spine * share * (1 + 0.22 * (long / s.unit - 1))
        s.add(0.15 + 0.15 * i, tone, circle(x, y, r))
        if i in (1, 2):
            comb = _comb(x, y, r * 0.7)
            s.add(
                0.15 + 0.15 * i,
                5 if i == 1 else 1,
                s.one_of(ring(x, y, r * 0.72, r * 0.64), sector(x, y, r * 0.7, 90, 270), comb),
            )


def _comb(x: float, y: float, r: float) -> Path:
    """A disc cut into level bars."""
    lines = []
    for i in range(7):
        level = -r + (i + 0.5) * 2 * r / 7
        half = math.sqrt(max(r * r - level * level, 0))
        lines.append(rect(x - half, y + level - r * 0.065, 2 * half, r * 0.13))
    return joined(*lines)


def quarters(s: Sketch) -> None:
    """A grid of quarter discs, halves, rings and plain squares, as the schools of the 1920s liked it."""
    sky(s)
    columns, rows, side, left, top = _squares(s, s.one_of(3, 4))
    for j in range(rows):
        for i in range(columns):
            ground, figure, mark = (int(t) for t in s.rng.permutation((1, 2, 3, 4, 5))[:3])
            x, y = left + i * side, top + j * side
            if s.chance(0.8):
                s.add(0.2, ground, rect(x, y, side + 0.5, side + 0.5))
            _figure(s, x, y, side, figure, mark)


def _figure(s: Sketch, x: float, y: float, side: float, tone: int, mark: int) -> None:
    """What stands in one square."""
    cx, cy, half = x + side / 2, y + side / 2, side / 2
    quarter = int(s.rng.integers(4))
    px, py = ((x, y), (x + side, y), (x + side, y + side), (x, y + side))[quarter]
    start = quarter * 90
    kind = s.one_of("quarter", "quarter", "rings", "disc", "halves", "triangle", "stripes", "petal", "empty")
    if kind in ("quarter", "rings"):
        s.add(0.4, tone, sector(px, py, side, start, start + 90))
        if kind == "rings":
            s.add(0.5, mark, sector(px, py, side * 0.66, start, start + 90))
            s.add(0.6, tone, sector(px, py, side * 0.33, start, start + 90))
    elif kind == "disc":
        s.add(0.4, tone, circle(cx, cy, side * 0.4))
        s.add(0.5, mark, circle(cx, cy, side * 0.16))
    elif kind == "halves":
        s.add(0.4, tone, sector(x, cy, half, -90, 90))
        s.add(0.4, mark, sector(cx, cy, half, -90, 90))
    elif kind == "triangle":
        s.add(0.4, tone, polygon([(px, py), (2 * cx - px, py), (px, 2 * cy - py)]))
    elif kind == "stripes":
        s.add(0.4, tone, joined(*(rect(x, y + side * k / 7, side, side / 7) for k in range(1, 7, 2))))
    elif kind == "petal":
        qx, qy = 2 * cx - px, 2 * cy - py
        s.add(0.4, tone, Path((("M", px, py), ("Q", qx, py, qx, qy), ("Q", px, qy, px, py), ("Z",))))


def ribbons(s: Sketch) -> None:
    """Broad bands flowing side by side across the sheet, a disc caught in their bend."""
    sky(s)
    tall = s.height >= s.width
    long, short = max(s.width, s.height), min(s.width, s.height)
    count = s.one_of(5, 6, 7)
    swing, phase, turns = short * s.between(0.16, 0.24), s.between(0, 6.28), s.between(0.55, 0.8) * long / short
    band = short * s.between(0.11, 0.15)
    middle = short * s.between(0.42, 0.58)
    along = np.linspace(-0.04, 1.04, int(18 * long / short))

    def place(t: float, across: float) -> tuple[float, float]:
        return (s.left + across, s.top + t * long) if tall else (s.left + t * long, s.top + across)

    def edge(offset: float) -> list[tuple[float, float]]:
        sway = [
            middle + offset + swing * (1 + 0.3 * offset / short) * math.sin(phase + 2 * math.pi * turns * t * 0.5)
            for t in along
        ]
        return [place(float(t), across) for t, across in zip(along, sway)]

    x, y = place(s.between(0.25, 0.75), s.one_of(0.2, 0.8) * short)
    s.add(0.2, 4, circle(x, y, short * s.between(0.16, 0.22)))
    tones = [1, 3, 2, 5, 3, 4, 2]
    for i in range(count):
        low = (i - count / 2) * band
        s.add(0.3 + 0.08 * i, tones[i], polygon([*edge(low), *reversed(edge(low + band * 1.01))]))


def pebbles(s: Sketch) -> None:
    """Soft stones stacked on each other, balanced, the largest below."""
    sky(s)
    s.add(0.1, 1, circle(s.x(s.between(0.3, 0.7)), s.y(0.4), s.unit * s.between(0.36, 0.46)))
    count = s.one_of(4, 5)
    stacks = max(1, round(s.wide / 0.9))
    for k in range(stacks):
        foot = s.y(0.94 if k % 2 == 0 else 0.97)
        tall = s.height * (0.84 if stacks == 1 else s.between(0.5, 0.86))
        heights = np.linspace(1.0, 0.6, count) * s.rng.uniform(0.85, 1.15, count)
        heights *= tall / heights.sum()
        x = s.x((k + 0.5) / stacks)
        tones = s.rng.permutation((2, 3, 4, 3, 2))
        for i, height in enumerate(heights):
            half = min(s.width / stacks * (0.44 - 0.05 * i), height * s.between(0.9, 1.3))
            _pebble(
                s,
                0.3 + 0.1 * i,
                int(tones[i]),
                x + s.unit * s.between(-0.04, 0.04),
                foot - height / 2,
                half,
                height / 2 * 1.03,
            )
            foot -= height
    s.add(0.25, 2, rect(s.left, s.y(0.93), s.width, s.height))


def _pebble(s: Sketch, depth: float, tone: int, x: float, y: float, rx: float, ry: float) -> None:
    """One stone, some with stripes."""
    s.add(
        depth,
        tone,
        Path(
            tuple(
                (c[0], *(x + v * rx if k % 2 == 0 else y + v * ry for k, v in enumerate(c[1:])))
                for c in blob(0, 0, 0.96, s.rng, 9, 0.06).commands
            )
        ),
    )
    if s.chance(0.35):
        s.add(
            depth,
            5 if tone in (2, 3) else 3,
            *(rounded(x - rx * 0.5, y - ry * 0.3 + ry * 0.28 * k, rx, ry * 0.1, ry) for k in range(3)),
        )


def bars(s: Sketch) -> None:
    """Bars radiating from a low centre, in steps of length, a disc at their root."""
    sky(s)
    x, y = s.x(s.between(0.25, 0.75)), s.y(s.between(0.72, 0.86))
    reach = math.hypot(s.width, s.height)
    count = s.one_of(18, 22, 26)
    step = 360 / count
    core = s.unit * s.between(0.16, 0.22)
    tones = (1, 2, 3, 2, 4)
    turn = s.between(0, step)
    for i in range(count):
        far = reach * (1.1 if i % 3 == 0 else s.between(0.34, 0.8))
        s.add(
            0.2 + 0.02 * (i % 5), tones[i % 5], sector(x, y, far, turn + i * step, turn + (i + 0.62) * step, core * 1.5)
        )
    s.add(0.5, 4, circle(x, y, core * 1.15))
    s.add(0.6, 3, circle(x, y, core * 0.72))
    s.add(0.7, 5, sector(x, y, core * 0.72, 180, 360))


def arcs(s: Sketch) -> None:
    """Truchet's tiles: each square holds the same two bands of arcs, turned one way or the other."""
    sky(s, 1)
    columns, rows, side, left, top = _squares(s, s.one_of(3, 4, 5))
    thick, thin, extra = s.one_of((3, 5, 4), (2, 3, 5), (4, 3, 5))
    for j in range(rows):
        for i in range(columns):
            x, y = left + i * side, top + j * side
            corners = (
                ((x, y, 0), (x + side, y + side, 180)) if s.chance(0.5) else ((x + side, y, 90), (x, y + side, 270))
            )
            for cx, cy, start in corners:
                # A little more than a quarter: neighbors overlap, and no seam shows.
                s.add(0.3, thick, sector(cx, cy, side * 0.72, start - 0.3, start + 90.3, side * 0.28))
                s.add(0.5, thin, sector(cx, cy, side * 0.56, start - 0.3, start + 90.3, side * 0.44))
    for _ in range(max(2, columns * rows // 5)):
        x, y = left + side * int(s.rng.integers(1, columns)), top + side * int(s.rng.integers(1, rows))
        s.add(0.7, extra, circle(x, y, side * 0.16))


def _squares(s: Sketch, across: int) -> tuple[int, int, float, float, float]:
    """Columns, rows, side, left and top of squares that cover the box, `across` of them along its shorter side."""
    side = s.unit / across
    columns, rows = math.ceil(s.width / side - 0.01), math.ceil(s.height / side - 0.01)
    return columns, rows, side, s.x(0.5) - columns * side / 2, s.y(0.5) - rows * side / 2


def arches(s: Sketch) -> None:
    """Rainbows of arches standing on and over each other, like a shell of a town."""
    sky(s)
    columns = max(2, round(s.width / (s.unit * 0.46)))
    w = s.width / columns
    rows = max(2, math.ceil(s.height / (w * 0.62)))
    for j in range(rows):
        for i in range(-1, columns + 1):
            x = s.left + (i + (0.5 if j % 2 == 0 else 1.0)) * w
            y = s.top + (j + 1) * s.height / rows
            tones = [(3, 5, 4, 1), (2, 3, 5, 4), (1, 2, 3, 5), (4, 5, 2, 3)][int(s.rng.integers(4))]
            for k, tone in enumerate(tones):
                r = w / 2 * (1 - 0.25 * k)
                s.add(
                    0.1 + 0.85 * j / rows,
                    tone,
                    joined(sector(x, y - w * 0.12, r, 180, 360), rect(x - r, y - w * 0.13, 2 * r, s.bottom - y + w)),
                )


def balance(s: Sketch) -> None:
    """A few large figures held in balance about one line: slab, half disc, wedge, small disc, steps, a thin post."""
    sky(s)
    side, level = s.one_of(-1, 1), s.between(0.54, 0.68)
    line, r = s.y(level), min(s.width * 0.4, s.height * s.between(0.26, 0.32))

    def at(across: float) -> float:
        return s.x(0.5 + side * across)

    half, top = s.width * s.between(0.14, 0.24), s.between(0.08, 0.18)
    s.add(0.1, 1, rect(at(s.between(-0.2, -0.05)) - half, s.y(top), 2 * half, s.height * (s.between(0.7, 0.82) - top)))
    x = at(s.between(0.06, 0.14))
    start, sign = s.one_of((0, 1), (180, -1))
    s.add(
        0.3, 3, sector(x, line, r, start, start + 180) if s.chance(0.7) else circle(x, line + sign * r * 0.2, r * 0.86)
    )
    strokes = [rect(x - r * 0.5, line + sign * r * (0.14 + 0.13 * k), r * 0.6, r * 0.05) for k in range(3)]
    s.add(0.4, 5, joined(*strokes))
    _counterweight(s, at(-0.44), at(0.0), line, r)
    s.add(0.6, 4, circle(at(s.between(-0.3, -0.05)), s.y(s.between(0.22, 0.3)), s.unit * s.between(0.11, 0.18)))
    s.add(0.7, 3, rect(s.x(0.06), line - s.unit * 0.012, s.width * 0.88, s.unit * 0.024))
    post = at(s.between(0.32, 0.4))
    s.add(0.7, 4, rect(post - s.unit * 0.02, s.y(s.between(0.1, 0.2)), s.unit * 0.04, line - s.y(0.2)))


def _counterweight(s: Sketch, outer: float, inner: float, line: float, r: float) -> None:
    """A wedge or a stair on the other side, above or below the line."""
    sign, tall = s.one_of(-1, 1), r * s.between(0.7, 1.0)
    if s.chance(0.6):
        s.add(0.5, 2, polygon([(outer, line), (inner, line), (outer, line + sign * tall)]))
        return
    points = [(outer, line), (inner, line)]
    for k in range(4):
        y = line + sign * tall * (k + 1) / 4
        points += [(inner + (outer - inner) * i / 4, y) for i in (k, k + 1)]
    s.add(0.5, 2, polygon(points))
