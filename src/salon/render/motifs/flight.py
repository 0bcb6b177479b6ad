"""Balloon and rocket: up in the air."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, placed, retoned
from salon.render.motifs.staging import clouds, hill, sky
from salon.render.shapes import circle, ellipse, joined, polygon, rect, sector, star

# Balloon


def balloon(s: Sketch) -> None:
    """Hot-air balloons at several distances over rolling country, clouds between them."""
    sky(s)
    s.add(0.05, 1, circle(s.x(s.between(0.2, 0.8)), s.y(s.between(0.2, 0.4)), s.unit * s.between(0.3, 0.4)))
    clouds(s, 0.15, 5, 2 + int(s.wide), 0.3, 0.62)
    size = min(s.height * 0.56, s.width * 0.62)
    side = s.one_of(-1, 1)
    x = s.x(0.5 - side * (0.1 if s.wide < 1.3 else 0.18))
    far = (
        [(0.34, 0.28, 0.34), (0.2, 0.62, 0.22), (0.42, 0.68, 0.14)]
        if s.wide > 0.6
        else [(0.24, 0.12, 0.3), (0.22, 0.72, 0.34), (-0.28, 0.64, 0.2)]
    )
    if s.wide > 1.3:
        far += [(0.07, 0.2, 0.16), (-0.43, 0.5, 0.24)]
    for k, (dx, y, share) in enumerate(far):
        look = ({3: 2, 4: 5}, {3: 4, 4: 3}, {3: 2, 4: 3})[k % 3]
        s.put(
            0.3,
            retoned(hot_air(k % 2), look),
            s.x(0.5 + side * dx),
            s.y(y + s.between(-0.03, 0.03)),
            size * share * s.between(0.9, 1.1),
        )
    s.put(0.5, hot_air(s.one_of(0, 1)), x, s.y(s.between(0.36, 0.4)), size)
    for k, tone in enumerate((1, 2, 3)):
        s.add(0.6 + 0.1 * k, tone, hill(s, 0.8 + 0.065 * k, s.between(-0.06, 0.06), 0.03))


@cache
def hot_air(kind: int) -> Thing:
    """A balloon with its basket, the middle of the bag at the origin, about 1.2 tall."""
    bag = (
        "M 0 -0.5 C 0.3 -0.5 0.46 -0.28 0.46 -0.06 C 0.46 0.2 0.2 0.36 0.12 0.5 L -0.12 0.5 "
        "C -0.2 0.36 -0.46 0.2 -0.46 -0.06 C -0.46 -0.28 -0.3 -0.5 0 -0.5 Z"
    )
    if kind == 0:
        gores = [
            "M 0 -0.5 C 0.09 -0.5 0.15 -0.28 0.15 -0.06 C 0.15 0.2 0.08 0.36 0.045 0.5 L -0.045 0.5 "
            "C -0.08 0.36 -0.15 0.2 -0.15 -0.06 C -0.15 -0.28 -0.09 -0.5 0 -0.5 Z"
        ]
        gores += [
            f"M 0 -0.5 C {m * 0.2} -0.5 {m * 0.31} -0.28 {m * 0.31} -0.06 "
            f"C {m * 0.31} 0.2 {m * 0.14} 0.36 {m * 0.085} 0.5 L {m * 0.12} 0.5 "
            f"C {m * 0.2} 0.36 {m * 0.46} 0.2 {m * 0.46} -0.06 C {m * 0.46} -0.28 {m * 0.3} -0.5 0 -0.5 "
            f"Z"
            for m in (-1, 1)
        ]
        skin = joined(*(drawn(gore) for gore in gores))
    else:
        zigzag = [(-0.455, -0.12), (-0.3, 0.06), (-0.15, -0.12), (0, 0.06), (0.15, -0.12), (0.3, 0.06), (0.455, -0.12)]
        skin = polygon(
            [*zigzag, (0.44, 0.05), (0.3, 0.24), (0.15, 0.06), (0, 0.24), (-0.15, 0.06), (-0.3, 0.24), (-0.44, 0.05)]
        )
    return (
        Part(3, joined(bar(-0.1, 0.5, -0.07, 0.64, 0.012), bar(0.1, 0.5, 0.07, 0.64, 0.012))),
        Part(4, drawn(bag)),
        Part(5 if kind else 3, skin),
        Part(3, drawn("M -0.09 0.63 L 0.09 0.63 L 0.07 0.76 L -0.07 0.76 Z")),
        Part(5, rect(-0.085, 0.655, 0.17, 0.025)),
    )


def balloon_mark(rng: np.random.Generator) -> Thing:
    """A hot-air balloon."""
    return retoned(hot_air(0), {3: 4, 4: 3})


# Rocket


def rocket(s: Sketch) -> None:
    """A rocket on a column of fire and smoke, planets about it."""
    sky(s, 3)
    side = s.one_of(-1, 1)
    turn = 0 if s.wide < 0.6 else side * s.between(8, 24)
    size = min(s.height * 0.56, s.width * 0.9)
    x, y = s.x(0.5 + side * 0.04), s.y(0.37)
    s.add(0.1, 2, circle(x - side * s.unit * 0.1, y, s.unit * s.between(0.34, 0.4)))
    _planets(s, side)
    s.put(0.5, ship(s.one_of(0, 1)), x, y, size, turn=turn)
    _smoke(s, x - math.sin(math.radians(turn)) * size)
    cell = s.unit * 0.17
    for j in range(int(s.height * 0.75 / cell)):
        for i in range(int(s.width / cell) + 1):
            r = s.unit * s.one_of(0.006, 0.009, 0.016)
            px, py = s.left + (i + s.between(0.1, 0.9)) * cell, s.top + (j + s.between(0.1, 0.9)) * cell
            s.add(0.2, s.one_of(5, 5, 4), star(px, py, r * 1.8, r * 0.6, 4) if r > s.unit * 0.01 else circle(px, py, r))


def _planets(s: Sketch, side: int) -> None:
    """A ringed planet and a cratered one on opposite sides."""
    r = s.unit * s.between(0.09, 0.13)
    x, y = s.x(0.5 - side * 0.34), s.y(s.between(0.14, 0.24))
    s.add(0.3, 4, circle(x, y, r))
    s.add(
        0.3,
        5,
        *(
            part.path
            for part in placed(
                (Part(5, joined(ellipse(0, 0, 1.7, 0.42), ellipse(0, 0, 1.4, 0.26), even_odd=True)),), x, y, r, -18
            )
        ),
    )
    s.add(0.32, 4, sector(x, y, r, 162, 342))
    x, y, r = s.x(0.5 + side * s.between(0.36, 0.42)), s.y(s.between(0.5, 0.62)), s.unit * s.between(0.07, 0.1)
    s.add(0.3, 1, circle(x, y, r))
    s.add(0.3, 2, circle(x - r * 0.3, y - r * 0.2, r * 0.26), circle(x + r * 0.35, y + r * 0.3, r * 0.18))


def _smoke(s: Sketch, x: float) -> None:
    """Billows along the lower edge, thickest under the rocket."""
    for depth, tone, level, r in ((0.6, 2, 0.84, 0.15), (0.7, 1, 0.91, 0.14), (0.8, 5, 0.97, 0.13)):
        place = s.left
        while place < s.right + s.unit * r:
            near = math.exp(-(((place - x) / (s.unit * 0.4)) ** 2))
            radius = s.unit * r * s.between(0.7, 1.0) * (0.75 + 0.5 * near)
            s.add(depth, tone, circle(place, s.y(level) + s.unit * 0.05 * (1 - near), radius))
            place += radius * 1.15
        s.add(depth, tone, rect(s.left, s.y(level) + s.unit * 0.08, s.width, s.height))


@cache
def ship(kind: int) -> Thing:
    """A rocket with fins, a window and its flame; the middle at the origin, about 1.4 tall with the flame."""
    bands = (
        joined(rect(-0.178, 0.16, 0.356, 0.05), rect(-0.165, 0.25, 0.33, 0.05))
        if kind
        else drawn("M -0.17 -0.2 Q 0 -0.14 0.17 -0.2 L 0.175 -0.14 Q 0 -0.08 -0.175 -0.14 Z")
    )
    return (
        Part(4, drawn("M -0.13 0.36 L 0.13 0.36 C 0.16 0.56 0.06 0.7 0 0.86 C -0.06 0.7 -0.16 0.56 -0.13 0.36 Z")),
        Part(5, drawn("M -0.07 0.36 L 0.07 0.36 C 0.08 0.48 0.04 0.56 0 0.64 C -0.04 0.56 -0.08 0.48 -0.07 0.36 Z")),
        Part(4, drawn("M -0.14 0.06 C -0.28 0.12 -0.34 0.26 -0.34 0.46 L -0.12 0.34 Z")),
        Part(4, drawn("M 0.14 0.06 C 0.28 0.12 0.34 0.26 0.34 0.46 L 0.12 0.34 Z")),
        Part(
            5,
            drawn(
                "M 0 -0.62 C 0.16 -0.46 0.22 -0.2 0.18 0.1 C 0.17 0.22 0.14 0.3 0.12 0.38 "
                "L -0.12 0.38 C -0.14 0.3 -0.17 0.22 -0.18 0.1 C -0.22 -0.2 -0.16 -0.46 0 -0.62 Z"
            ),
        ),
        Part(
            4,
            drawn(
                "M 0 -0.62 C 0.07 -0.55 0.12 -0.46 0.15 -0.36 Q 0 -0.3 -0.15 -0.36 C -0.12 -0.46 -0.07 -0.55 0 -0.62 Z"
            ),
        ),
        Part(2, bands),
        Part(3, circle(0, -0.02 if kind else 0.06, 0.085)),
        Part(1, circle(0, -0.02 if kind else 0.06, 0.055)),
    )


def rocket_mark(rng: np.random.Generator) -> Thing:
    """A rocket, aslant."""
    parts = ship(0)
    return placed(retoned((parts[0], parts[2], parts[3], parts[4], parts[7]), {5: 3, 3: 5}), turn=32)
