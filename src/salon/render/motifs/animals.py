"""Bird and cat."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.motifs.heavens import crescent
from salon.render.motifs.plants import blade, monstera
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, placed, retoned, ribbon, thing
from salon.render.motifs.staging import clouds, hill, sky
from salon.render.shapes import circle, ellipse, joined, line, rect, star

# Bird


def bird(s: Sketch) -> None:
    """Song birds on leafy branches, or swallows crossing the sun."""
    sky(s)
    s.one_of(_perched, _flight)(s)


def _perched(s: Sketch) -> None:
    s.add(0.1, 1, circle(s.x(s.between(0.35, 0.65)), s.y(s.between(0.36, 0.46)), s.unit * s.between(0.36, 0.42)))
    levels = (0.7,) if s.wide > 0.6 else (0.34, 0.62, 0.9)
    side = s.one_of(-1, 1)
    for k, level in enumerate(levels):
        _branch(s, level, side if k % 2 == 0 else -side, k)


def _branch(s: Sketch, level: float, side: int, k: int) -> None:
    """A bough from one edge with leaves, berries and its birds."""
    start, stop = (-0.05, 1.05) if s.wide > 1.2 else (-0.05, s.between(0.84, 0.96))
    dip, lift = s.unit * s.between(0.03, 0.07), s.unit * s.between(0.06, 0.12)

    def place(t: float) -> tuple[float, float]:
        share = start + (stop - start) * t
        return s.x(share if side > 0 else 1 - share), s.y(level) + dip * math.sin(3 * t) - lift * t

    s.add(0.4, 3, ribbon([place(t) for t in np.linspace(0, 1, 9).tolist()], s.unit * 0.03))
    for i in range(int(7 * max(1.0, s.wide))):
        t = (i + 0.7) / int(7 * max(1.0, s.wide))
        x, y = place(t)
        turn = side * (s.between(20, 50) if i % 2 else s.between(120, 150))
        s.put(0.35, blade((2, 4)[i % 3 == 2]), x, y, s.unit * s.between(0.16, 0.24), turn=turn)
        if i % 3 == 1:
            s.add(0.45, 4, circle(x, y + s.unit * 0.05, s.unit * 0.022))
    count = max(1, round(s.wide * 1.1))
    size = s.unit * (0.58 if count == 1 else 0.46) * (1.1 if s.wide < 0.6 else 1.0)
    for i in range(count):
        x, y = place((i + 0.5 + s.between(-0.06, 0.06)) / count if count > 1 else s.between(0.45, 0.58))
        look = ({}, {3: 4, 4: 3}, {3: 2, 4: 4, 2: 3})[(i + k) % 3]
        s.put(0.6, retoned(songbird(), look), x, y - size * 0.02, size, flip=(side < 0) != (i % 2 == 1))


@cache
def songbird() -> Thing:
    """A small bird looking right, its feet at the origin, about one unit long."""
    parts = (
        Part(3, joined(bar(-0.03, 0.2, -0.03, 0.36, 0.022), bar(0.08, 0.2, 0.08, 0.36, 0.022))),
        Part(2, drawn("M -0.3 0.06 L -0.72 0.16 L -0.66 0.28 L -0.2 0.2 Z")),
        Part(
            3,
            drawn(
                "M -0.5 0.14 C -0.3 0 -0.2 -0.3 0.06 -0.37 C 0.28 -0.43 0.44 -0.29 0.42 -0.08 "
                "C 0.4 0.16 0.16 0.27 -0.06 0.24 C -0.22 0.22 -0.36 0.19 -0.5 0.14 Z"
            ),
        ),
        Part(
            4,
            drawn(
                "M 0.42 -0.08 C 0.4 0.16 0.16 0.27 -0.06 0.24 C 0.12 0.18 0.22 0.06 0.26 -0.06 "
                "C 0.32 -0.1 0.38 -0.1 0.42 -0.08 Z"
            ),
        ),
        Part(
            2,
            drawn(
                "M 0.1 -0.04 C 0.06 0.14 -0.16 0.18 -0.46 0.12 C -0.26 0.02 -0.16 -0.16 0.02 -0.15 "
                "C 0.09 -0.14 0.11 -0.09 0.1 -0.04 Z"
            ),
        ),
        Part(4, drawn("M 0.4 -0.22 L 0.57 -0.14 L 0.41 -0.09 Z")),
        Part(5, circle(0.27, -0.2, 0.042)),
    )
    return placed(parts, -0.02, -0.36)


def _flight(s: Sketch) -> None:
    """One great swallow before the sun, others behind it."""
    x, y = s.x(s.between(0.44, 0.56)), s.y(s.between(0.4, 0.46))
    side = s.one_of(-1, 1)
    s.add(0.1, 4, circle(x + side * s.unit * 0.12, y - s.unit * 0.04, s.unit * s.between(0.26, 0.32)))
    clouds(s, 0.2, 1, 2 + int(s.wide), 0.3, 0.7)
    size = s.unit * 0.7
    others = int(4 * max(s.wide, 1 / s.wide)) + 1
    for k in range(others):
        px, py = s.x((k + s.between(0.2, 0.8)) / others), s.y(s.between(0.06, 0.72))
        if math.dist((px, py), (x, y)) > size * 0.5:
            s.put(
                0.4,
                retoned(swallow(), {3: 2, 2: 3, 5: 2, 4: 2}),
                px,
                py,
                s.unit * s.between(0.14, 0.26),
                flip=side < 0,
                turn=side * s.between(-22, 4),
            )
    s.put(0.6, swallow(), x, y + s.unit * 0.1, size, flip=side < 0, turn=side * s.between(-20, 0))
    s.add(0.7, 1, hill(s, 0.84, s.between(-0.05, 0.05), 0.03))
    s.add(0.8, 2, hill(s, 0.91, s.between(-0.04, 0.04), 0.02))


@cache
def swallow() -> Thing:
    """A swallow flying to the right, wings up, one unit long."""
    return (
        Part(2, drawn("M 0.16 0.02 C 0.1 -0.26 -0.12 -0.46 -0.38 -0.56 C -0.26 -0.34 -0.18 -0.14 -0.08 0.06 Z")),
        Part(
            3,
            drawn(
                "M 0.5 0 C 0.42 -0.12 0.26 -0.1 0.12 -0.02 L -0.56 0.02 L -0.3 0.11 L -0.5 0.26 "
                "L -0.06 0.16 C 0.16 0.16 0.38 0.12 0.5 0 Z"
            ),
        ),
        Part(5, drawn("M 0.5 0 C 0.38 0.12 0.16 0.16 -0.06 0.16 C 0.1 0.1 0.26 0.04 0.36 0.02 Z")),
        Part(3, drawn("M 0.22 0.02 C 0.34 -0.26 0.26 -0.52 0.1 -0.74 C 0.04 -0.46 -0.06 -0.18 -0.04 0.1 Z")),
        Part(4, circle(0.38, -0.02, 0.024)),
    )


def bird_mark(rng: np.random.Generator) -> Thing:
    """A song bird without its feet."""
    return songbird()[1:]


# Cat


def cat(s: Sketch) -> None:
    """A cat on a sill before the moon, or a great cat's face looking over the lower edge."""
    s.one_of(_on_the_sill, _face if s.wide > 0.6 else _on_the_sill)(s)


def _on_the_sill(s: Sketch) -> None:
    sky(s, 2)
    level = 0.76
    x, r = s.x(s.between(0.42, 0.58)), s.unit * s.between(0.32, 0.38)
    y = s.y(level) - r * 1.1
    s.add(0.1, 1, circle(x, y, r * 1.25))
    if s.chance(0.6):
        s.add(0.15, 5, circle(x, y, r))
    else:
        s.put(0.15, crescent(5), x, y - r * 0.1, r * 1.9, turn=-24)
    for _ in range(int(12 * max(s.wide, 1 / s.wide))):
        px, py = s.x(s.between(0.04, 0.96)), s.y(s.between(0.04, 0.6))
        if math.dist((px, py), (x, y)) > r * 1.35:
            s.add(0.12, s.one_of(5, 4), star(px, py, s.unit * s.between(0.012, 0.03), s.unit * 0.006, 4))
    s.add(0.3, 4, rect(s.left, s.y(level), s.width, s.unit * 0.06))
    s.add(0.25, 1, rect(s.left, s.y(level), s.width, s.height))
    size = min(s.height * 0.5, s.unit * 0.78)
    side = s.one_of(-1, 1)
    s.put(
        0.6, sitting_cat(hanging=True), x + side * s.unit * s.between(0.02, 0.12), s.y(level) + 1, size, flip=side < 0
    )
    if s.wide > 1.1:
        s.put(0.5, pot(), s.x(0.5 - side * 0.36), s.y(level) + 1, size * 0.9)


@cache
def pot() -> Thing:
    """A flower pot with three leaves, one unit tall."""
    leaves = [placed(monstera(), 0, -0.28, 0.5, turn) for turn in (-48, 46)]
    return thing(
        *leaves,
        placed(monstera(), 0, -0.34, 0.6),
        Part(4, drawn("M -0.2 -0.36 L 0.2 -0.36 L 0.14 0 L -0.14 0 Z")),
        Part(3, rect(-0.22, -0.38, 0.44, 0.07)),
    )


@cache
def sitting_cat(hanging: bool) -> Thing:
    """A cat sitting with its back to us, one unit tall; its tail hangs down or curls on the ground."""
    tail = (
        [(0.16, -0.05), (0.3, 0.02), (0.33, 0.18), (0.27, 0.32), (0.33, 0.42)]
        if hanging
        else [(0.16, -0.05), (0.36, -0.03), (0.5, -0.1), (0.52, -0.22), (0.44, -0.28)]
    )
    return (
        Part(3, ribbon(tail, 0.07)),
        Part(3, circle(*tail[-1], 0.035)),
        Part(
            3,
            drawn(
                "M -0.29 0 C -0.38 -0.3 -0.22 -0.5 -0.15 -0.62 C -0.22 -0.72 -0.22 -0.84 -0.19 -1 "
                "L -0.07 -0.88 L 0.07 -0.88 L 0.19 -1 C 0.22 -0.84 0.22 -0.72 0.15 -0.62 "
                "C 0.22 -0.5 0.38 -0.3 0.29 0 Z"
            ),
        ),
        Part(
            2,
            joined(
                bar(-0.05, -0.8, -0.05, -0.72, 0.03), bar(0.05, -0.8, 0.05, -0.72, 0.03), bar(0, -0.82, 0, -0.72, 0.03)
            ),
        ),
        Part(4, drawn("M -0.155 -0.62 Q 0 -0.55 0.155 -0.62 L 0.17 -0.58 Q 0 -0.5 -0.17 -0.58 Z")),
    )


def _face(s: Sketch) -> None:
    sky(s)
    size = min(s.width * 0.86, s.height * 0.82)
    x = s.x(s.between(0.44, 0.56))
    y = s.bottom - size * 0.3
    s.add(0.1, 1, circle(x + size * s.between(-0.1, 0.1), y - size * 0.26, size * 0.62))
    leaf = retoned(monstera(), {3: 2, 5: 1})
    for k in range(-3, 4):
        if k:
            place = x + size * (0.36 * k + (0.16 if k > 0 else -0.16))
            s.put(0.2, leaf, place, s.bottom, size * s.between(0.56, 0.72), turn=7 * k + s.between(-8, 8))
    wings = (x + s.one_of(-1, 1) * size * 0.5, max(y - size * 0.74, s.top + s.unit * 0.12))
    s.put(0.3, butterfly(), *wings, s.unit * 0.17, turn=s.between(-25, 25))
    s.put(0.6, cat_head(), x, y, size)


@cache
def butterfly() -> Thing:
    """A butterfly one unit wide."""
    wings = [
        drawn(f"M 0 0 C {m * 0.1} -0.4 {m * 0.5} -0.5 {m * 0.5} -0.24 C {m * 0.5} -0.08 {m * 0.3} 0 0 0.02 Z")
        for m in (-1, 1)
    ]
    low = [
        drawn(f"M 0 0 C {m * 0.3} 0 {m * 0.4} 0.12 {m * 0.36} 0.26 C {m * 0.28} 0.42 {m * 0.06} 0.3 0 0.04 Z")
        for m in (-1, 1)
    ]
    return (Part(4, wings[0]), Part(4, wings[1]), Part(3, joined(*low)), Part(3, bar(0, -0.14, 0, 0.22, 0.06)))


@cache
def cat_head() -> Thing:
    """A cat's face with shoulders below, one unit wide, the nose near the origin."""
    eyes = joined(*(ellipse(side * 0.2, -0.06, 0.1, 0.085) for side in (-1, 1)))
    pupils = joined(*(ellipse(side * 0.2, -0.06, 0.032, 0.08) for side in (-1, 1)))
    whiskers = [line(side * 0.18, 0.1 + 0.03 * k, side * 0.46, 0.06 + 0.055 * k) for side in (-1, 1) for k in range(3)]
    ears = [drawn(f"M {m * 0.4} -0.44 L {m * 0.26} -0.28 Q {m * 0.34} -0.24 {m * 0.42} -0.18 Z") for m in (-1, 1)]
    stripes = [bar(0, -0.34, 0, -0.22, 0.045), bar(-0.1, -0.33, -0.08, -0.25, 0.04), bar(0.1, -0.33, 0.08, -0.25, 0.04)]
    return (
        Part(3, drawn("M -0.34 0.2 C -0.5 0.3 -0.56 0.5 -0.56 0.8 L 0.56 0.8 C 0.56 0.5 0.5 0.3 0.34 0.2 Z")),
        Part(
            3,
            drawn(
                "M -0.48 0.08 C -0.52 -0.12 -0.5 -0.34 -0.46 -0.56 L -0.22 -0.36 "
                "C -0.08 -0.4 0.08 -0.4 0.22 -0.36 L 0.46 -0.56 C 0.5 -0.34 0.52 -0.12 0.48 0.08 "
                "C 0.42 0.3 0.2 0.36 0 0.36 C -0.2 0.36 -0.42 0.3 -0.48 0.08 Z"
            ),
        ),
        Part(4, joined(*ears)),
        Part(2, joined(*stripes)),
        Part(5, eyes),
        Part(3, pupils),
        Part(4, drawn("M -0.06 0.06 L 0.06 0.06 Q 0.03 0.12 0 0.13 Q -0.03 0.12 -0.06 0.06 Z")),
        Part(
            5,
            joined(
                bar(0, 0.13, 0, 0.18, 0.018),
                ribbon([(-0.12, 0.19), (-0.06, 0.22), (0, 0.18), (0.06, 0.22), (0.12, 0.19)], 0.018),
            ),
        ),
        *(Part(5, whisker, 0.012) for whisker in whiskers),
    )


def cat_mark(rng: np.random.Generator) -> Thing:
    """A cat's face."""
    head = cat_head()
    return thing(head[1], head[2], head[4], head[5], head[6])
