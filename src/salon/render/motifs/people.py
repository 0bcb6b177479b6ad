"""Hands and eye."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.marks import Path
from salon.render.motifs.festive import HEART
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, placed, retoned, taper, thing
from salon.render.motifs.staging import rays, sky
from salon.render.shapes import circle, joined, rect, ring, rounded, sector, star

# Hands


def hands(s: Sketch) -> None:
    """Many hands raised together, or two that reach for one heart."""
    sky(s)
    s.one_of(_raised, _reaching)(s)


def _raised(s: Sketch) -> None:
    r = s.unit * s.between(0.15, 0.2)
    x = s.x(s.between(0.4, 0.6))
    if s.chance(0.5):
        s.add(0.1, 1, rays(x, s.y(0.2), math.hypot(s.width, s.height), 24, s.between(0, 15)))
    else:
        s.add(0.1, 1, circle(x, s.y(0.24), r * 2.1))
    if s.chance(0.5):
        s.put(0.2, (Part(4, drawn(HEART)),), x, s.y(0.22), r * 2)
    else:
        s.add(0.2, 4, circle(x, s.y(0.2), r))
    size = min(s.height * 0.52, s.unit * 0.66)
    for row, (depth, share, top) in enumerate(((0.4, 0.72, 0.36), (0.7, 1.0, 0.52))):
        step = size * share * 0.52
        count = max(2, round(s.width / step))
        for k in range(count):
            place = s.x((k + 0.5 + (0.25 if row else -0.1)) / count)
            look = ({4: 5}, {3: 2, 4: 3}, {3: 4, 4: 3}, {4: 2})[(k * 2 + row + k // 2) % 4]
            high = s.y(top + s.between(0, 0.14))
            s.put(
                depth + 0.02 * (k % 2),
                retoned(s.one_of(open_hand, open_hand, fist, two_fingers)(), look),
                place,
                high,
                size * share,
                turn=s.between(-10, 10),
                flip=s.chance(0.5),
            )


FOREARM = "M -0.13 0.34 L 0.13 0.34 L 0.17 1.6 L -0.17 1.6 Z"
SLEEVE = "M -0.17 0.62 L 0.17 0.62 L 0.21 2.4 L -0.21 2.4 Z"


def _hand(*fingers: Path) -> Thing:
    """An upright hand with its palm about the origin; a sleeve covers the arm."""
    palm = rounded(-0.18, -0.04, 0.36, 0.42, 0.13)
    return (Part(3, joined(palm, drawn(FOREARM), *fingers)), Part(4, drawn(SLEEVE)))


@cache
def open_hand() -> Thing:
    """Five spread fingers."""
    fingers = [
        bar(-0.125, 0.04, -0.21, -0.24, 0.085),
        bar(-0.045, 0.0, -0.075, -0.34, 0.09),
        bar(0.045, 0.0, 0.065, -0.32, 0.09),
        bar(0.125, 0.04, 0.19, -0.2, 0.08),
    ]
    return _hand(*fingers, bar(0.12, 0.24, 0.3, 0.04, 0.09))


@cache
def fist() -> Thing:
    """A closed hand; lines part the fingers."""
    knuckles = rounded(-0.2, -0.14, 0.4, 0.36, 0.12)
    return thing(
        _hand(knuckles),
        Part(4, joined(*(bar(x, -0.06, x, 0.08, 0.022) for x in (-0.1, 0.0, 0.1)))),
        Part(3, bar(-0.1, 0.14, 0.14, 0.14, 0.1)),
    )


@cache
def two_fingers() -> Thing:
    """Two fingers spread, the rest closed."""
    return thing(
        _hand(bar(-0.1, 0.04, -0.18, -0.34, 0.09), bar(0.03, 0.02, 0.1, -0.36, 0.09)),
        Part(4, bar(0.1, 0.1, 0.1, 0.0, 0.02)),
        Part(3, bar(-0.08, 0.16, 0.12, 0.1, 0.1)),
    )


def _reaching(s: Sketch) -> None:
    """Two open hands from opposite edges, a heart between them."""
    toward = 90 if s.wide < 0.72 else 0 if s.wide > 1.4 else s.one_of(45, 135)
    x, y = s.x(0.5), s.y(0.5)
    r = s.unit * s.between(0.13, 0.16)
    s.add(0.1, 1, rays(x, y, math.hypot(s.width, s.height), s.one_of(20, 24, 28), s.between(0, 15)))
    s.add(0.2, 2, circle(x, y, r * 2))
    size = min(max(s.height, s.width) * 0.5, s.unit * 0.72)
    reach = size * 0.42 + r * 1.1
    lean = s.one_of(-1, 1) * s.between(4, 10)
    for side, look in ((1, {}), (-1, {3: 4, 4: 3})):
        turn = toward - 90 + (0 if side > 0 else 180)
        angle = math.radians(toward)
        place = (x + side * reach * math.cos(angle), y + side * reach * math.sin(angle))
        s.put(0.5, retoned(open_hand(), look), *place, size, turn=turn + lean, flip=side < 0)
    s.put(0.7, (Part(5, drawn(HEART)),), x, y, r * 2.1)
    s.put(0.75, (Part(4, drawn(HEART)),), x, y, r * 1.5)


def hands_mark(rng: np.random.Generator) -> Thing:
    """An open hand with a heart in its palm."""
    palm = rounded(-0.18, -0.04, 0.36, 0.42, 0.13)
    fingers = [
        bar(-0.125, 0.04, -0.21, -0.24, 0.085),
        bar(-0.045, 0.0, -0.075, -0.34, 0.09),
        bar(0.045, 0.0, 0.065, -0.32, 0.09),
        bar(0.125, 0.04, 0.19, -0.2, 0.08),
    ]
    return thing(
        Part(3, joined(palm, *fingers, bar(0.12, 0.24, 0.3, 0.04, 0.09), rect(-0.12, 0.3, 0.24, 0.18))),
        Part(4, rounded(-0.17, 0.46, 0.34, 0.12, 0.03)),
        placed((Part(5, drawn(HEART)),), 0, 0.16, 0.2),
    )


# Eye


def eye(s: Sketch) -> None:
    """One great eye in rays, or eyes in rows that look several ways."""
    sky(s)
    if s.wide < 0.6 or s.chance(0.35):
        _many_eyes(s)
    else:
        _one_eye(s)


def _one_eye(s: Sketch) -> None:
    x, y = s.x(0.5), s.y(s.between(0.46, 0.52))
    size = min(s.width * 0.84, s.height * 1.15)
    s.add(0.1, 1, rays(x, y, math.hypot(s.width, s.height), s.one_of(20, 24, 28), s.between(0, 15)))
    s.add(0.2, 2, circle(x, y, min(size * 0.56, s.height * 0.47)))
    s.put(0.5, open_eye(s.one_of(0, 1), 0), x, y, size)
    if s.height > size * 1.1:
        for side in (-1, 1):
            level = y + side * (s.height / 2 - s.unit * 0.12)
            for k in range(-2, 3):
                drop = star(
                    x + k * s.unit * 0.17, level + abs(k) * side * -s.unit * 0.03, s.unit * 0.05, s.unit * 0.02, 4
                )
                s.add(0.3, (3, 4)[k % 2], drop)


def _many_eyes(s: Sketch) -> None:
    columns = max(1, round(s.width / s.unit * s.one_of(1, 2))) if s.wide > 0.6 else 1
    step = s.width / columns
    rows = max(2, round(s.height / (step * 0.56)))
    turn = s.one_of(0, 1)
    for j in range(rows):
        level = s.height / rows
        s.add(0.1, (1, 0, 2, 0)[(j + turn) % 4], rect(s.left, s.top + j * level, s.width, level + 1))
        for i in range(-1, columns + 1):
            x, y = (
                s.left + (i + (0.5 if j % 2 == 0 else 1.0 if columns > 1 else 0.5)) * step,
                s.top + (j + 0.55) * level,
            )
            look = {2: 4, 4: 2} if (i + j) % 2 else {}
            s.put(
                0.5,
                retoned(open_eye((i + j + turn) % 2, s.one_of(-1, 0, 0, 1)), look),
                x,
                y,
                min(step * 0.84, level * 1.34),
            )


@cache
def open_eye(kind: int, gaze: int) -> Thing:
    """An open eye one unit wide that looks to the left (-1), at us (0) or to the right (1)."""
    angles = np.radians([200, 222, 246, 270, 294, 318, 340]).tolist()
    hairs = [
        taper(0.44 * math.cos(a), 0.02 + 0.26 * math.sin(a), 0.58 * math.cos(a), 0.43 * math.sin(a), 0.05)
        for a in angles
    ]
    x = 0.15 * gaze
    wedges = [sector(x, 0, 0.21, k * 30, k * 30 + 15, 0.1) for k in range(12)]
    return (
        Part(3, joined(*hairs)),
        Part(3, drawn("M -0.56 0.02 C -0.34 -0.4 0.34 -0.4 0.56 0.02 C 0.34 0.4 -0.34 0.4 -0.56 0.02 Z")),
        Part(5, drawn("M -0.5 0.01 C -0.3 -0.33 0.3 -0.33 0.5 0.01 C 0.3 0.35 -0.3 0.35 -0.5 0.01 Z")),
        Part(2, circle(x, 0, 0.225)),
        Part(4, joined(*wedges) if kind == 0 else ring(x, 0, 0.2, 0.16)),
        Part(3, circle(x, 0, 0.12)),
        Part(5, circle(x + 0.06, -0.06, 0.04)),
    )


def eye_mark(rng: np.random.Generator) -> Thing:
    """An open eye."""
    return (
        Part(3, drawn("M -0.56 0 C -0.34 -0.44 0.34 -0.44 0.56 0 C 0.34 0.44 -0.34 0.44 -0.56 0 Z")),
        Part(5, circle(0, 0, 0.24)),
        Part(4, circle(0, 0, 0.18)),
        Part(3, circle(0, 0, 0.09)),
    )
