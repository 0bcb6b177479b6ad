"""Robot and globe."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.marks import Path
from salon.render.motifs.belongings import book_stack
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, placed, retoned, ribbon, taper, thing
from salon.render.motifs.staging import sky, wall
from salon.render.shapes import circle, ellipse, joined, polygon, rect, rounded, sector, star, turned

# Robot


def robot(s: Sketch) -> None:
    """A robot that greets us, gears behind it: whole in a slim box, else from the waist up, others beside it."""
    sky(s)
    x = s.x(s.between(0.45, 0.55))
    _gears(s, x)
    head = s.one_of(0, 1, 2)
    if s.wide < 0.6:
        s.add(0.3, 2, rect(s.left, s.y(0.86), s.width, s.height))
        s.put(0.6, automaton(head, whole=True), x, s.y(0.9), min(s.height * 0.62, s.width * 1.25))
        return
    size = min(s.height * 0.84, s.width * 0.98)
    if s.wide > 1.3:
        for side in (-1, 1):
            other = retoned(automaton((head + 1 + (side > 0)) % 3, whole=False), {3: 2, 4: 3, 2: 1})
            s.put(0.4, other, x + side * s.width * 0.31, s.bottom + 1, size * 0.68)
    s.put(0.6, automaton(head, whole=False), x, s.bottom + 1, size)


def _gears(s: Sketch, x: float) -> None:
    """Two or three toothed wheels cut off by the edges."""
    for dx, y, r in ((-0.34, 0.24, 0.28), (0.4, 0.14, 0.2), (0.44, 0.66, 0.24)):
        radius = s.unit * r * s.between(0.85, 1.15)
        s.put(
            0.1,
            gear(s.one_of(10, 12, 14)),
            s.x(0.5 + dx + s.between(-0.05, 0.05)),
            s.y(y),
            radius,
            turn=s.between(0, 30),
        )


@cache
def gear(teeth: int) -> Thing:
    """A toothed wheel of radius one."""
    step = 360 / teeth
    cogs = [turned(drawn("M -0.1 -1 L 0.1 -1 L 0.15 -0.76 L -0.15 -0.76 Z"), k * step, 0, 0) for k in range(teeth)]
    return (Part(1, joined(circle(0, 0, 0.8), *cogs)), Part(0, circle(0, 0, 0.36)))


@cache
def automaton(head: int, whole: bool) -> Thing:
    """A robot with one arm raised: from the waist, or with legs; about one unit tall, its foot at the origin."""
    lift = 0.3 if whole else 0.0
    legs = (
        Part(2, joined(rect(-0.17, -0.32, 0.09, 0.3), rect(0.08, -0.32, 0.09, 0.3))),
        Part(3, joined(rounded(-0.25, -0.08, 0.2, 0.1, 0.05), rounded(0.05, -0.08, 0.2, 0.1, 0.05))),
    )
    body = (
        Part(
            2,
            joined(
                bar(0.28, -0.32, 0.44, -0.44, 0.08),
                bar(0.44, -0.44, 0.45, -0.62, 0.08),
                bar(-0.28, -0.32, -0.42, -0.2, 0.08),
                bar(-0.42, -0.2, -0.42, -0.06, 0.08),
            ),
        ),
        Part(4, joined(circle(0.45, -0.68, 0.07), circle(-0.42, -0.02, 0.07))),
        Part(2, rect(-0.08, -0.52, 0.16, 0.14)),
        Part(3, rounded(-0.29, -0.43, 0.58, 0.43 if not whole else 0.45, 0.07)),
        Part(5, rounded(-0.19, -0.34, 0.38, 0.22, 0.03)),
        Part(4, sector(-0.08, -0.17, 0.09, 180, 360)),
        Part(3, taper(-0.08, -0.17, -0.04, -0.24, 0.02)),
        Part(2, joined(circle(0.1, -0.28, 0.03), circle(0.1, -0.19, 0.03))),
    )
    return thing(*(legs if whole else ()), *placed(thing(*body, _robot_head(head)), 0, -lift))


def _robot_head(kind: int) -> Thing:
    """One of three heads above y = -0.5."""
    ears = Part(4, joined(rounded(-0.36, -0.74, 0.1, 0.16, 0.03), rounded(0.26, -0.74, 0.1, 0.16, 0.03)))
    antenna = thing(Part(2, bar(0, -0.88, 0, -0.98, 0.025)), Part(4, circle(0, -1.0, 0.045)))
    mouth = Part(5, joined(*(rect(-0.13 + 0.07 * k, -0.6, 0.045, 0.05) for k in range(4))))
    if kind == 0:
        face = (
            Part(3, rounded(-0.29, -0.9, 0.58, 0.42, 0.08)),
            Part(5, joined(circle(-0.12, -0.74, 0.085), circle(0.12, -0.74, 0.085))),
            Part(3, joined(circle(-0.12, -0.74, 0.04), circle(0.12, -0.74, 0.04))),
            mouth,
        )
    elif kind == 1:
        face = (
            Part(3, joined(sector(0, -0.68, 0.29, 180, 360), rect(-0.29, -0.69, 0.58, 0.2))),
            Part(5, rounded(-0.22, -0.8, 0.44, 0.16, 0.08)),
            Part(4, joined(circle(-0.1, -0.72, 0.05), circle(0.1, -0.72, 0.05))),
            mouth,
        )
    else:
        face = (
            Part(3, drawn("M -0.24 -0.92 L 0.24 -0.92 L 0.31 -0.48 L -0.31 -0.48 Z")),
            Part(5, circle(0, -0.74, 0.12)),
            Part(4, circle(0, -0.74, 0.07)),
            Part(5, rounded(-0.14, -0.58, 0.28, 0.035, 0.015)),
        )
    return thing(ears, antenna, face)


def robot_mark(rng: np.random.Generator) -> Thing:
    """A robot's head."""
    return _robot_head(0)


# Globe


def globe(s: Sketch) -> None:
    """The earth among orbits and clouds, or a globe on its stand upon a desk."""
    if s.chance(0.6) or s.wide < 0.6:
        _in_orbit(s)
    else:
        _on_a_desk(s)


def _in_orbit(s: Sketch) -> None:
    sky(s, 3)
    r = s.unit * s.between(0.32, 0.36)
    x, y = s.x(s.between(0.44, 0.56)), s.y(s.between(0.46, 0.54))
    for k, share in enumerate((2.3, 1.85, 1.42)):
        s.add(0.1 + 0.02 * k, (2, 3, 1)[k], circle(x, y, r * share))
    s.put(0.5, earth(), x, y, r, turn=s.between(-20, 20), flip=s.chance(0.5))
    turn = s.between(-30, -12)
    loop = placed((Part(5, _half_orbit()),), x, y, r, turn)
    s.put(0.6, loop, 0, 0, 1)
    angle = math.radians(turn)
    for place, tone in ((1.52, 4), (-1.52, 5)):
        s.add(
            0.7,
            tone,
            circle(x + r * place * math.cos(angle), y + r * place * math.sin(angle), r * (0.1 if tone == 4 else 0.06)),
        )
    for _ in range(int(22 * max(s.wide, 1 / s.wide))):
        px, py = s.x(s.between(0.03, 0.97)), s.y(s.between(0.03, 0.97))
        if math.dist((px, py), (x, y)) > r * 1.6:
            s.add(0.3, s.one_of(5, 5, 4), star(px, py, s.unit * s.between(0.01, 0.028), s.unit * 0.006, 4))


def _half_orbit() -> Path:
    """The near half of a slim ring about a ball of radius one, thickest in front."""
    outer, inner = [], []
    for a in np.linspace(0, math.pi, 25).tolist():
        outer.append((1.55 * math.cos(a), 0.42 * math.sin(a)))
        inner.append((1.52 * math.cos(a), 0.35 * math.sin(a)))
    return polygon([*outer, *reversed(inner)])


@cache
def earth() -> Thing:
    """A ball of radius one with lands, polar caps and three circles of latitude."""
    lands = joined(
        drawn(
            "M -0.72 -0.5 C -0.5 -0.8 -0.2 -0.88 -0.02 -0.74 "
            "C -0.06 -0.52 -0.3 -0.45 -0.3 -0.25 C -0.3 -0.1 -0.12 0 -0.08 0.15 "
            "C -0.08 0.4 -0.24 0.55 -0.3 0.84 C -0.46 0.64 -0.4 0.4 -0.5 0.2 "
            "C -0.72 0.05 -0.9 -0.2 -0.72 -0.5 Z"
        ),
        drawn(
            "M 0.26 -0.68 C 0.45 -0.8 0.72 -0.58 0.87 -0.32 C 0.82 -0.2 0.7 -0.2 0.74 -0.05 "
            "C 0.82 0.1 0.7 0.38 0.5 0.58 C 0.4 0.4 0.42 0.2 0.3 0.1 "
            "C 0.14 0.05 0.1 -0.12 0.2 -0.25 C 0.3 -0.4 0.14 -0.5 0.26 -0.68 Z"
        ),
        ellipse(0.24, 0.72, 0.16, 0.07),
    )
    grid = joined(
        *(_latitude(level) for level in (-0.5, 0.0, 0.5)),
        _meridian(0.5),
        even_odd=False,
    )
    return (Part(2, circle(0, 0, 1)), Part(4, lands), Part(5, grid), Part(5, sector(0, 0, 0.9, 200, 240, 0.84)))


def _latitude(level: float) -> Path:
    half = math.sqrt(1 - level * level) * 0.985
    return ribbon(
        [(-half, level), (-half / 2, level + 0.08), (0, level + 0.11), (half / 2, level + 0.08), (half, level)], 0.022
    )


def _meridian(share: float) -> Path:
    sides = [
        ribbon(
            [(m * share * math.cos(a), 0.98 * math.sin(a)) for a in np.linspace(-math.pi / 2, math.pi / 2, 9).tolist()],
            0.022,
        )
        for m in (-1, 1)
    ]
    return joined(*sides)


def _on_a_desk(s: Sketch) -> None:
    wall(s, 0.76)
    size = min(s.height * 0.74, s.width * 0.8)
    side = s.one_of(-1, 1)
    x = s.x(0.5 - side * (0.06 if s.wide < 1.3 else 0.14))
    foot = s.y(0.84)
    s.put(0.6, desk_globe(), x, foot, size)
    s.put(0.5, book_stack(), x + side * size * 0.66, foot - s.height * 0.02, size * 0.62)
    if s.wide > 1.3:
        s.put(
            0.5,
            retoned(book_stack(), {3: 4, 4: 3}),
            x - side * size * 0.85,
            foot - s.height * 0.02,
            size * 0.5,
            flip=True,
        )


@cache
def desk_globe() -> Thing:
    """A globe on its stand, one unit tall."""
    return thing(
        Part(
            3,
            joined(
                rect(-0.03, -0.2, 0.06, 0.16),
                drawn("M -0.26 0 C -0.22 -0.08 -0.08 -0.06 -0.04 -0.12 L 0.04 -0.12 C 0.08 -0.06 0.22 -0.08 0.26 0 Z"),
            ),
        ),
        placed((Part(3, sector(0, 0, 0.445, 78, 282, 0.4)),), 0, -0.57, 1.0, 200),
        placed((Part(3, joined(bar(0, -0.45, 0, -0.38, 0.04), bar(0, 0.38, 0, 0.45, 0.04))),), 0, -0.57, 1.0, 20),
        placed(earth(), 0, -0.57, 0.37, 20),
    )


def globe_mark(rng: np.random.Generator) -> Thing:
    """A ball with meridians and parallels."""
    curve = joined(ellipse(0, 0, 0.27, 0.5), ellipse(0, 0, 0.215, 0.5), even_odd=True)
    rows = joined(
        rect(-0.43, -0.275, 0.86, 0.05),
        rect(-0.43, 0.225, 0.86, 0.05),
        rect(-0.49, -0.025, 0.98, 0.05),
        rect(-0.025, -0.49, 0.05, 0.98),
    )
    return (Part(3, circle(0, 0, 0.5)), Part(5, curve), Part(5, rows))
