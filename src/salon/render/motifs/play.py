"""Music and ball: to play."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, retoned, ribbon, thing
from salon.render.motifs.staging import sky
from salon.render.shapes import circle, ellipse, joined, polygon, rect, regular, ring, rounded, sector, turned

# Music


def music(s: Sketch) -> None:
    """A turning record, notes on a waving staff, or a guitar before rings of sound."""
    sky(s)
    s.one_of(_record, _staff, _guitar)(s)


def _record(s: Sketch) -> None:
    """A record larger than the sheet, its arm, and notes that fly off."""
    r = s.unit * s.between(0.42, 0.5) * (1.0 if 0.7 < s.wide < 1.4 else 1.1)
    side = s.one_of(-1, 1)
    x = s.x(0.5 - side * (0.06 if s.wide < 1.3 else 0.2))
    y = s.y(0.56 if s.wide > 0.7 else 0.64)
    s.add(0.1, 1, rect(s.left, s.y(0.5 if s.wide > 0.7 else 0.62), s.width, s.height))
    s.add(0.3, 3, circle(x, y, r))
    for k in range(3):
        s.add(0.32, 2, ring(x, y, r * (0.9 - 0.15 * k), r * (0.885 - 0.15 * k)))
    s.add(0.34, 5, *(sector(x, y, r * 0.86, start, start + 22, r * 0.5) for start in (205, 25)))
    s.add(0.36, 4, circle(x, y, r * 0.36))
    s.add(0.38, 5, circle(x, y, r * 0.15))
    s.add(0.4, 3, circle(x, y, r * 0.05))
    _arm(s, x + side * r * 0.98, y - r * 0.86, x + side * r * 0.52, y + r * 0.3, r)
    count = 3 + int(2 * max(s.wide, 1 / s.wide))
    for k in range(count):
        t = (k + 0.5) / count
        away = x + side * s.width * s.between(0.4, 0.62) if s.wide > 1.3 else s.x(t)
        high = s.y(0.14 + 0.8 * t) if s.wide > 1.3 else s.y(s.between(0.1, 0.34))
        if math.dist((away, high), (x, y)) > r * 1.16:
            s.put(
                0.5,
                s.one_of(note, pair_of_notes)(s.one_of(3, 4)),
                away,
                high,
                s.unit * s.between(0.13, 0.19),
                turn=s.between(-14, 14),
            )


def _arm(s: Sketch, x0: float, y0: float, x1: float, y1: float, r: float) -> None:
    """A tone arm from its pivot to the needle."""
    elbow = (x0 - (x0 - x1) * 0.1, y0 + (y1 - y0) * 0.72)
    s.add(0.6, 2, circle(x0, y0, r * 0.15))
    s.add(0.62, 5, joined(bar(x0, y0, *elbow, r * 0.05), bar(*elbow, x1, y1, r * 0.05)))
    s.add(0.64, 4, bar(x1, y1, x1 - (elbow[0] - x1) * 0.2, y1 + (y1 - elbow[1]) * 0.2, r * 0.11))
    s.add(0.66, 4, circle(x0, y0, r * 0.075))


def _staff(s: Sketch) -> None:
    """Five lines that wave across the box, great notes riding on them."""
    tall = s.wide < 0.7
    swing, lines = s.unit * s.between(0.07, 0.11), 5
    gap = s.unit * 0.085
    phase, turns = s.between(0, 6.28), s.between(0.7, 1.0) * max(s.wide, 1 / s.wide)
    s.add(0.1, 1, circle(s.x(s.between(0.3, 0.7)), s.y(s.between(0.35, 0.65)), s.unit * 0.42))
    share = np.linspace(-0.03, 1.03, int(14 * max(s.wide, 1 / s.wide)))

    def place(t: float, across: float) -> tuple[float, float]:
        wave = swing * math.sin(phase + 2 * math.pi * turns * t)
        return (s.x(0.5) + across + wave, s.y(t)) if tall else (s.x(t), s.y(0.55) + across + wave)

    for k in range(lines):
        s.add(0.3, 2, ribbon([place(float(t), (k - 2) * gap) for t in share], s.unit * 0.014))
    count = max(3, round(max(s.wide, 1 / s.wide) * 3))
    for k in range(count):
        x, y = place((k + 0.5 + s.between(-0.12, 0.12)) / count, gap * s.one_of(-1, 0, 1))
        kind = (note, pair_of_notes, plain_note)[(k + int(phase * 3)) % 3]
        s.put(0.5, kind((3, 4)[k % 2]), x, y, s.unit * s.between(0.34, 0.42), turn=s.between(-6, 6))


@cache
def plain_note(tone: int) -> Thing:
    """A quarter note whose head is at the origin, one unit tall."""
    return (Part(tone, joined(turned(ellipse(0, 0, 0.19, 0.14), -20, 0, 0), rect(0.135, -0.84, 0.05, 0.82))),)


@cache
def note(tone: int) -> Thing:
    """An eighth note."""
    flag = drawn("M 0.135 -0.84 L 0.185 -0.84 C 0.22 -0.64 0.46 -0.6 0.4 -0.28 C 0.36 -0.48 0.24 -0.52 0.135 -0.56 Z")
    return thing(*plain_note(tone), Part(tone, flag))


@cache
def pair_of_notes(tone: int) -> Thing:
    """Two eighth notes under one beam."""
    heads = [turned(ellipse(x, y, 0.18, 0.135), -20, x, y) for x, y in ((-0.22, 0.04), (0.34, -0.06))]
    stems = [rect(-0.09, -0.7, 0.05, 0.74), rect(0.47, -0.8, 0.05, 0.74)]
    beam = drawn("M -0.09 -0.84 L 0.52 -0.96 L 0.52 -0.76 L -0.09 -0.64 Z")
    return (Part(tone, joined(*heads, *stems, beam)),)


def _guitar(s: Sketch) -> None:
    x, y = s.x(s.between(0.46, 0.54)), s.y(0.6)
    reach = math.hypot(s.width, s.height) * 0.6
    for k in range(5, 0, -1):
        s.add(0.1, 1 if k % 2 else 0, circle(x, y, reach * k / 5))
    size = min(s.height * 0.86, s.width * 1.5)
    turn = s.one_of(-1, 1) * (s.between(16, 30) if s.wide > 0.7 else s.between(4, 9))
    s.put(0.5, guitar(), x, y, size, turn=turn)
    for _ in range(int(3 * max(s.wide, 1 / s.wide))):
        px, py = s.x(s.between(0.08, 0.92)), s.y(s.between(0.14, 0.9))
        if abs(px - x) > size * 0.36:
            s.put(
                0.4,
                s.one_of(note, pair_of_notes)(s.one_of(2, 4)),
                px,
                py,
                s.unit * s.between(0.13, 0.2),
                turn=s.between(-12, 12),
            )


@cache
def guitar() -> Thing:
    """A guitar upright, one unit tall, the sound hole near the origin."""
    body = (
        "M 0 0.34 C -0.2 0.36 -0.27 0.26 -0.25 0.14 C -0.24 0.06 -0.17 0.03 -0.17 -0.03 "
        "C -0.17 -0.08 -0.21 -0.1 -0.2 -0.17 C -0.19 -0.25 -0.1 -0.26 0 -0.24 "
        "C 0.1 -0.26 0.19 -0.25 0.2 -0.17 C 0.21 -0.1 0.17 -0.08 0.17 -0.03 "
        "C 0.17 0.03 0.24 0.06 0.25 0.14 C 0.27 0.26 0.2 0.36 0 0.34 Z"
    )
    pegs = joined(*(circle(side * 0.062, y, 0.018) for side in (-1, 1) for y in (-0.68, -0.63, -0.58)))
    frets = joined(*(rect(-0.026, y, 0.052, 0.008) for y in (-0.48, -0.42, -0.36, -0.3, -0.24, -0.18)))
    return (
        Part(5, pegs),
        Part(4, drawn(body)),
        Part(3, circle(0, -0.02, 0.085)),
        Part(2, ring(0, -0.02, 0.1, 0.085)),
        Part(
            3,
            joined(
                rect(-0.03, -0.56, 0.06, 0.5), drawn("M -0.03 -0.54 L -0.055 -0.7 Q 0 -0.73 0.055 -0.7 L 0.03 -0.54 Z")
            ),
        ),
        Part(5, frets),
        Part(3, rounded(-0.1, 0.2, 0.2, 0.04, 0.015)),
        Part(5, joined(*(rect(x, -0.54, 0.005, 0.75) for x in (-0.017, -0.0025, 0.012)))),
    )


def music_mark(rng: np.random.Generator) -> Thing:
    """Two notes under one beam."""
    return pair_of_notes(3)


# Ball


def ball(s: Sketch) -> None:
    """A basketball on its way to the hoop, or a football on the white lines of its field."""
    s.one_of(_court, _field)(s)


def _court(s: Sketch) -> None:
    """A ball with the arcs of its bounce behind it, over boards."""
    sky(s)
    side = s.one_of(-1, 1)
    level = 0.84
    s.add(0.2, 2, rect(s.left, s.y(level), s.width, s.height))
    s.add(0.25, 5, rect(s.left, s.y(level + 0.07), s.width, s.unit * 0.014))
    r = s.unit * s.between(0.25, 0.29) * (0.86 if s.wide < 0.6 else 1.0)
    x, y = s.x(0.5 + side * (0.1 if s.wide < 1.3 else 0.18)), s.y(0.42)
    _trail(s, x, y, r, side)
    s.put(0.6, basketball(), x, y, r, turn=s.between(-40, 40))


def _trail(s: Sketch, x: float, y: float, r: float, side: int) -> None:
    """The way up from the floor as a tail that widens to the ball, and the ring where it struck."""
    floor, reach = s.y(0.84), min(max(s.width * 0.36, r * 1.6), r * 2.6)
    steps = np.linspace(0, 1, 10).tolist()
    way = [(x - side * reach * (1 - t), floor + (y - floor) * math.sin(t * math.pi / 2)) for t in steps]
    for depth, tone, share in ((0.3, 1, 1.9), (0.32, 2, 1.1), (0.34, 0, 0.4)):
        s.add(depth, tone, ribbon(way, [r * share * t for t in steps]))
    for depth, tone, share in ((0.4, 4, 0.62), (0.42, 2, 0.42)):
        s.add(depth, tone, ellipse(x - side * reach, floor + r * 0.1, r * share, r * share * 0.2))


@cache
def basketball() -> Thing:
    """A basketball of radius one."""
    w = 0.035
    seams = joined(
        rect(-1, -w, 2, 2 * w),
        rect(-w, -1, 2 * w, 2),
        ribbon([(-0.72, -0.69), (-0.5, -0.34), (-0.44, 0), (-0.5, 0.34), (-0.72, 0.69)], 2 * w),
        ribbon([(0.72, -0.69), (0.5, -0.34), (0.44, 0), (0.5, 0.34), (0.72, 0.69)], 2 * w),
    )
    return (Part(4, circle(0, 0, 1)), Part(3, seams), Part(5, sector(0, 0, 0.86, 205, 245, 0.76)))


def _field(s: Sketch) -> None:
    """A football on the painted lines of a field seen from above, mown in stripes."""
    sky(s, 1)
    turn = s.one_of(0, 90)
    stripes = max(4, round((s.width if turn else s.height) / (s.unit * 0.16)))
    for k in range(0, stripes, 2):
        s.add(
            0.1,
            2,
            rect(s.x(k / stripes), s.top, s.width / stripes, s.height)
            if turn
            else rect(s.left, s.y(k / stripes), s.width, s.height / stripes),
        )
    x, y = s.x(s.between(0.4, 0.6)), s.y(s.between(0.44, 0.56))
    w = s.unit * 0.016
    s.add(
        0.2,
        5,
        ring(x, y, s.unit * 0.44, s.unit * 0.44 - w),
        rect(s.left, y - w / 2, s.width, w) if s.wide < 1 else rect(x - w / 2, s.top, w, s.height),
    )
    if s.wide < 1:
        s.add(0.2, 5, *(ring(s.x(0.5), edge, s.unit * 0.26, s.unit * 0.26 - w) for edge in (s.top, s.bottom)))
    else:
        s.add(0.2, 5, *(ring(edge, s.y(0.5), s.unit * 0.26, s.unit * 0.26 - w) for edge in (s.left, s.right)))
    r = s.unit * s.between(0.27, 0.32)
    s.add(0.4, 3, ellipse(x + r * 0.24, y + r * 0.3, r * 1.02, r * 0.98))
    s.put(0.6, football(), x, y, r, turn=s.between(0, 72))


@cache
def football() -> Thing:
    """A football of radius one: a pentagon in the middle, five at the rim, seams between."""
    patches, seams = [regular(0, 0, 0.36, 5)], []
    for k in range(5):
        a = math.radians(-90 + 72 * k)
        c, d = math.cos(a), math.sin(a)
        seams.append(bar(0.36 * c, 0.36 * d, 0.66 * c, 0.66 * d, 0.05))
        for side in (-1, 1):
            b = a + side * math.radians(20)
            seams.append(bar(0.66 * c, 0.66 * d, 0.84 * math.cos(b), 0.84 * math.sin(b), 0.05))
        m = a + math.radians(36)
        rim = [
            (r * math.cos(m + math.radians(t)), r * math.sin(m + math.radians(t)))
            for r, t in ((0.99, -17), (0.99, -6), (0.99, 6), (0.99, 17), (0.8, 14), (0.72, 0), (0.8, -14))
        ]
        patches.append(polygon(rim))
    return (Part(5, circle(0, 0, 1)), Part(3, joined(*patches, *seams)), Part(4, ring(0, 0, 1.0, 0.95)))


def ball_mark(rng: np.random.Generator) -> Thing:
    """A basketball or a football."""
    return basketball()[:2] if rng.random() < 0.5 else retoned(football(), {5: 3, 3: 5, 4: 3})
