"""Book and umbrella: what one carries home."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.motifs.home import plant
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, retoned, taper
from salon.render.motifs.staging import clouds, sky
from salon.render.shapes import circle, ellipse, joined, polygon, rect, sector, star

# Book


def book(s: Sketch) -> None:
    """Shelves full of spines, or an open book from which a sky rises."""
    if s.chance(0.5):
        _shelves(s)
    else:
        _open_book(s)


def _shelves(s: Sketch) -> None:
    """Rows of books, a few leaning, with a gap for a pot or a cup here and there."""
    sky(s, 1)
    rows = max(2, round(s.height / (s.unit * 0.44)))
    board = s.unit * 0.03
    for j in range(rows):
        foot, room = s.top + (j + 1) * s.height / rows - board, s.height / rows - board
        s.add(0.2, 0, rect(s.left, foot - room, s.width, room * 0.12))
        x, k = s.left + s.unit * s.between(-0.05, 0.01), int(s.rng.integers(9))
        while x < s.right:
            if s.chance(0.05):
                s.put(0.5, plant(), x + room * 0.34, foot, room * 0.72)
                x += room * 0.68
            wide, tall = room * s.between(0.13, 0.25), room * s.between(0.62, 0.84)
            lean = s.chance(0.12) and s.right - x > room * 0.5
            s.put(
                0.5,
                spine(s, (3, 4, 2, 3, 5, 4)[k % 6], wide / tall),
                x + (tall * 0.2 if lean else 0),
                foot,
                tall,
                turn=-14 if lean else 0,
            )
            x, k = x + wide * (1.04 if not lean else 1.2) + (tall * 0.22 if lean else 0), k + 1
        s.add(0.6, 3, rect(s.left, foot, s.width, board))


def spine(s: Sketch, tone: int, wide: float) -> Thing:
    """The back of a book, one unit tall, its lower left corner at the origin."""
    detail = {3: 5, 4: 5, 2: 3, 5: 3}[tone]
    bands = s.one_of(
        joined(rect(0, -0.9, wide, 0.05), rect(0, -0.16, wide, 0.05)),
        rect(wide * 0.24, -0.84, wide * 0.52, 0.42),
        joined(rect(0, -0.82, wide, 0.12), circle(wide / 2, -0.2, wide * 0.24)),
        rect(wide * 0.4, -0.8, wide * 0.2, 0.6),
    )
    return (Part(tone, rect(0, -1, wide, 1)), Part(detail, bands))


def _open_book(s: Sketch) -> None:
    sky(s)
    level = 0.84
    size = min(s.width * 0.86, s.height * 0.9)
    x, y = s.x(0.5), s.y(level)
    s.add(0.1, 1, circle(x, y - size * 0.28, min(size * 0.62, s.height * 0.6)))
    s.add(0.2, 4, circle(x + size * s.between(-0.16, 0.16), y - size * s.between(0.42, 0.52), size * 0.17))
    for k, (dx, rise) in enumerate(((-0.3, 0.36), (-0.14, 0.54), (0.1, 0.44), (0.27, 0.32))):
        peak = y - size * (rise + s.between(-0.03, 0.03))
        tone = (2, 3, 2, 3)[k]
        base = x + size * dx
        s.add(0.3 + 0.02 * k, tone, polygon([(base, peak), (base + size * 0.2, y), (base - size * 0.2, y)]))
        snow = size * 0.07
        s.add(
            0.3 + 0.02 * k,
            5,
            polygon(
                [
                    (base, peak),
                    (base + snow * 0.55, peak + snow * 1.2),
                    (base, peak + snow),
                    (base - snow * 0.5, peak + snow * 1.2),
                ]
            ),
        )
    s.add(0.25, 2, rect(s.left, s.y(level) - s.height * 0.02, s.width, s.height))
    s.put(0.6, open_pages(), x, y + s.height * 0.06, size)
    for _ in range(5 + int(6 * max(0, 1 / s.wide - 1)) + int(4 * s.wide)):
        px, py = s.x(s.between(0.06, 0.94)), s.y(s.between(0.04, 0.42))
        if math.dist((px, py), (x, y)) > size * 0.62:
            s.add(0.4, s.one_of(3, 4), star(px, py, s.unit * s.between(0.018, 0.035), s.unit * 0.009, 4))


@cache
def open_pages() -> Thing:
    """An open book seen from the front, one unit wide, its foot at the origin."""
    lines = [
        drawn(
            f"M {side * 0.08} {y + 0.02} Q {side * 0.24} {y - 0.035} {side * 0.42} {y} "
            f"L {side * 0.42} {y + 0.018} Q {side * 0.24} {y - 0.017} {side * 0.08} {y + 0.038} Z"
        )
        for side in (-1, 1)
        for y in (-0.155, -0.105, -0.055)
    ]
    return (
        Part(3, drawn("M 0 0.04 L -0.53 0.04 L -0.53 -0.22 L 0.53 -0.22 L 0.53 0.04 Z")),
        Part(
            5,
            drawn(
                "M 0 0 C -0.1 -0.06 -0.34 -0.06 -0.49 0 L -0.49 -0.24 "
                "C -0.34 -0.3 -0.1 -0.28 0 -0.2 C 0.1 -0.28 0.34 -0.3 0.49 -0.24 L 0.49 0 "
                "C 0.34 -0.06 0.1 -0.06 0 0 Z"
            ),
        ),
        Part(2, joined(*lines)),
        Part(4, drawn("M -0.01 -0.205 L 0.01 -0.205 L 0.01 0.0 L -0.01 0.0 Z")),
    )


@cache
def book_stack() -> Thing:
    """Four books lying on each other, one upright against them; one unit tall."""
    return (
        Part(3, rect(-0.5, -0.2, 1.0, 0.2)),
        Part(5, rect(-0.4, -0.16, 0.12, 0.12)),
        Part(4, rect(-0.44, -0.38, 0.86, 0.18)),
        Part(5, rect(0.1, -0.33, 0.24, 0.06)),
        Part(2, rect(-0.48, -0.54, 0.92, 0.16)),
        Part(3, rect(-0.36, -0.49, 0.5, 0.05)),
        Part(5, rect(-0.36, -0.74, 0.74, 0.2)),
        Part(4, rect(-0.22, -0.74, 0.08, 0.2)),
    )


def book_mark(rng: np.random.Generator) -> Thing:
    """An open book."""
    return (
        Part(
            3,
            drawn("M -0.03 0.3 C -0.14 0.2 -0.36 0.18 -0.54 0.24 L -0.54 -0.3 C -0.36 -0.36 -0.14 -0.32 -0.03 -0.22 Z"),
        ),
        Part(4, drawn("M 0.03 0.3 C 0.14 0.2 0.36 0.18 0.54 0.24 L 0.54 -0.3 C 0.36 -0.36 0.14 -0.32 0.03 -0.22 Z")),
        Part(5, joined(*(bar(-0.4, y, -0.17, y + 0.04, 0.045) for y in (-0.16, -0.02)))),
        Part(
            2,
            drawn(
                "M -0.54 0.3 C -0.36 0.24 -0.14 0.28 0 0.38 C 0.14 0.28 0.36 0.24 0.54 0.3 "
                "L 0.54 0.37 C 0.36 0.31 0.14 0.35 0 0.45 C -0.14 0.35 -0.36 0.31 -0.54 0.37 Z"
            ),
        ),
    )


# Umbrella


def umbrella(s: Sketch) -> None:
    """A great umbrella in slanting rain, or a crowd of them from above."""
    if s.chance(0.62):
        _in_the_rain(s)
    else:
        _from_above(s)


def _in_the_rain(s: Sketch) -> None:
    sky(s)
    slant = s.one_of(-1, 1) * s.between(8, 16)
    size = min(s.width * 0.86, s.height * 0.74)
    x, y = s.x(s.between(0.45, 0.55)), s.y(0.5) + size * 0.1
    step = s.unit * 0.11
    shift = math.tan(math.radians(slant))
    for i in range(-3, int(s.width / step) + 3):
        for j in range(int(s.height / (step * 1.9)) + 1):
            px = s.left + (i + (0.5 if j % 2 else 0)) * step
            py = s.top + (j + s.between(-0.25, 0.25)) * step * 1.9
            s.add(0.2, (1, 2, 1)[(i + j) % 3], taper(px - shift * step * 0.7, py + step * 0.7, px, py, s.unit * 0.018))
    clouds(s, 0.3, 2, 2 + int(s.wide), 0.06, 0.14)
    s.add(0.4, 1, rect(s.left, s.y(0.88), s.width, s.height))
    s.add(
        0.5,
        2,
        *(
            ellipse(
                s.x(0.1 + 0.3 * k + s.between(-0.04, 0.04)),
                s.y(0.93 + 0.03 * (k % 2)),
                s.unit * s.between(0.12, 0.2),
                s.unit * 0.022,
            )
            for k in range(4)
        ),
    )
    if s.wide > 1.3:
        side = s.one_of(-1, 1)
        x = s.x(0.5 - side * 0.16)
        s.put(
            0.6,
            retoned(open_umbrella(), {4: 3, 3: 2}),
            x + side * size * 0.74,
            y + size * 0.16,
            size * 0.6,
            turn=-slant,
        )
    s.put(0.7, open_umbrella(), x, y, size, turn=-slant * 0.8)


@cache
def open_umbrella() -> Thing:
    """An open umbrella, one unit wide, the middle of its rim at the origin."""
    handle = joined(rect(-0.014, -0.5, 0.028, 0.86), sector(0.07, 0.36, 0.084, 0, 180, 0.056))
    return (
        Part(3, handle),
        Part(3, bar(0, -0.52, 0, -0.46, 0.03)),
        Part(4, sector(0, 0, 0.5, 180, 360)),
        Part(5, drawn("M 0 -0.5 C -0.2 -0.4 -0.3 -0.2 -0.3 0.004 L -0.1 0.004 C -0.1 -0.2 -0.06 -0.4 0 -0.5 Z")),
        Part(5, drawn("M 0 -0.5 C 0.2 -0.4 0.3 -0.2 0.3 0.004 L 0.1 0.004 C 0.1 -0.2 0.06 -0.4 0 -0.5 Z")),
        Part(4, rect(-0.5, -0.026, 1.0, 0.03)),
    )


def _from_above(s: Sketch) -> None:
    """Umbrellas as wheels of eight wedges, close together, over wet ground."""
    sky(s, 1)
    columns = max(2, round(s.width / s.unit * s.one_of(2, 2.6)))
    step = s.width / columns
    rows = math.ceil(s.height / (step * 0.8)) + 1
    for j in range(rows):
        for i in range(-1, columns + 1):
            x = s.left + (i + (0.5 if j % 2 else 1.0)) * step + step * s.between(-0.06, 0.06)
            y = s.top + (j + 0.1) * step * 0.8 + step * s.between(-0.06, 0.06)
            main, other = s.one_of((3, 5), (4, 5), (2, 3), (3, 4), (4, 3), (2, 5))
            s.put(0.4 + 0.5 * j / rows, canopy(main, other), x, y, step * s.between(0.92, 1.06), turn=s.between(0, 45))


@cache
def canopy(main: int, other: int) -> Thing:
    """An umbrella from above, one unit across."""
    corners = [(0.5 * math.cos(math.radians(45 * k)), 0.5 * math.sin(math.radians(45 * k))) for k in range(8)]
    wedges = [polygon([(0, 0), corners[k], corners[k + 1]]) for k in (0, 2, 4, 6)]
    return (Part(main, polygon(corners)), Part(other, joined(*wedges)), Part(main, circle(0, 0, 0.045)))


def umbrella_mark(rng: np.random.Generator) -> Thing:
    """An open umbrella with a crook."""
    return (
        Part(3, joined(rect(-0.03, -0.54, 0.06, 0.84), sector(0.1, 0.29, 0.13, 0, 180, 0.07))),
        Part(4, sector(0, -0.02, 0.5, 180, 360)),
        Part(
            5,
            drawn(
                "M 0 -0.52 C -0.22 -0.4 -0.28 -0.2 -0.28 -0.02 L -0.1 -0.02 "
                "C -0.1 -0.2 -0.06 -0.4 0 -0.52 Z M 0 -0.52 C 0.06 -0.4 0.1 -0.2 0.1 -0.02 "
                "L 0.28 -0.02 C 0.28 -0.2 0.22 -0.4 0 -0.52 Z"
            ),
        ),
    )
