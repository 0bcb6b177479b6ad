"""Scenes of an evening out: music, ball, camera, film, mask, gift."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.motifs.drawings import Drawing, DrawingPart, bar, drawing, placed, retoned, ribbon
from salon.render.motifs.sketch import Sketch, rays, sky, still_life
from salon.render.shapes import circle, ellipse, joined, polygon, rect, ring, rounded, sector, star, turned

# Music


def music(s: Sketch) -> None:
    """A turning record, notes on a waving staff, or a guitar before rings of sound."""
    sky(s)
    s.one_of(turning_record, waving_staff, guitar_in_rings)(s)


def turning_record(s: Sketch) -> None:
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
    x0 = x + side * r * 0.98
    y0 = y - r * 0.86
    x1 = x + side * r * 0.52
    y1 = y + r * 0.3
    elbow = (x0 - (x0 - x1) * 0.1, y0 + (y1 - y0) * 0.72)
    s.add(0.6, 2, circle(x0, y0, r * 0.15))
    s.add(0.62, 5, joined(bar(x0, y0, *elbow, r * 0.05), bar(*elbow, x1, y1, r * 0.05)))
    s.add(0.64, 4, bar(x1, y1, x1 - (elbow[0] - x1) * 0.2, y1 + (y1 - elbow[1]) * 0.2, r * 0.11))
    s.add(0.66, 4, circle(x0, y0, r * 0.075))
    count = 3 + int(2 * max(s.wide, 1 / s.wide))
    for k in range(count):
        t = (k + 0.5) / count
        away = x + side * s.width * s.between(0.4, 0.62) if s.wide > 1.3 else s.x(t)
        high = s.y(0.14 + 0.8 * t) if s.wide > 1.3 else s.y(s.between(0.1, 0.34))
        if math.dist((away, high), (x, y)) > r * 1.16:
            s.put(
                0.5,
                drawing("music", s.one_of("note", "pair-of-notes"), s.one_of(3, 4)),
                away,
                high,
                s.unit * s.between(0.13, 0.19),
                turn=s.between(-14, 14),
            )


def waving_staff(s: Sketch) -> None:
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
        kind = ("note", "pair-of-notes", "plain-note")[(k + int(phase * 3)) % 3]
        s.put(0.5, drawing("music", kind, (3, 4)[k % 2]), x, y, s.unit * s.between(0.34, 0.42), turn=s.between(-6, 6))


def guitar_in_rings(s: Sketch) -> None:
    """A guitar before rings of sound, notes about it."""
    x, y = s.x(s.between(0.46, 0.54)), s.y(0.6)
    reach = math.hypot(s.width, s.height) * 0.6
    for k in range(5, 0, -1):
        s.add(0.1, 1 if k % 2 else 0, circle(x, y, reach * k / 5))
    size = min(s.height * 0.86, s.width * 1.5)
    turn = s.one_of(-1, 1) * (s.between(16, 30) if s.wide > 0.7 else s.between(4, 9))
    s.put(0.5, drawing("music", "guitar"), x, y, size, turn=turn)
    for _ in range(int(3 * max(s.wide, 1 / s.wide))):
        px, py = s.x(s.between(0.08, 0.92)), s.y(s.between(0.14, 0.9))
        if abs(px - x) > size * 0.36:
            s.put(
                0.4,
                drawing("music", s.one_of("note", "pair-of-notes"), s.one_of(2, 4)),
                px,
                py,
                s.unit * s.between(0.13, 0.2),
                turn=s.between(-12, 12),
            )


# Ball


def ball(s: Sketch) -> None:
    """A basketball on its way to the hoop, or a football on the white lines of its field."""
    s.one_of(bouncing_basketball, football_field)(s)


def bouncing_basketball(s: Sketch) -> None:
    """A ball with the arcs of its bounce behind it, over boards."""
    sky(s)
    side = s.one_of(-1, 1)
    level = 0.84
    s.add(0.2, 2, rect(s.left, s.y(level), s.width, s.height))
    s.add(0.25, 5, rect(s.left, s.y(level + 0.07), s.width, s.unit * 0.014))
    r = s.unit * s.between(0.25, 0.29) * (0.86 if s.wide < 0.6 else 1.0)
    x, y = s.x(0.5 + side * (0.1 if s.wide < 1.3 else 0.18)), s.y(0.42)
    floor, reach = s.y(0.84), min(max(s.width * 0.36, r * 1.6), r * 2.6)
    steps = np.linspace(0, 1, 10).tolist()
    way = [(x - side * reach * (1 - t), floor + (y - floor) * math.sin(t * math.pi / 2)) for t in steps]
    for depth, tone, share in ((0.3, 1, 1.9), (0.32, 2, 1.1), (0.34, 0, 0.4)):
        s.add(depth, tone, ribbon(way, [r * share * t for t in steps]))
    for depth, tone, share in ((0.4, 4, 0.62), (0.42, 2, 0.42)):
        s.add(depth, tone, ellipse(x - side * reach, floor + r * 0.1, r * share, r * share * 0.2))
    s.put(0.6, drawing("ball", "basketball"), x, y, r, turn=s.between(-40, 40))


def football_field(s: Sketch) -> None:
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
    s.put(0.6, drawing("ball", "football"), x, y, r, turn=s.between(0, 72))


# Camera


def camera(s: Sketch) -> None:
    """A camera with prints and film about it, a cabinet of them, or the lens alone."""
    if s.chance(0.3) and 0.6 < s.wide < 1.5:
        lens(s)
        return
    if s.wide < 0.6:
        still_life(
            s,
            drawing("camera", "rangefinder"),
            [
                (retoned(drawing("camera", "reflex"), {3: 4, 4: 3}), 1.0),
                (drawing("camera", "film-roll"), 0.9),
                (drawing("camera", "prints"), 0.9),
            ],
        )
        return
    sky(s)
    x, y = s.x(s.between(0.44, 0.56)), s.y(s.between(0.46, 0.52))
    size = min(s.width * 0.88, s.height * 0.9)
    if s.chance(0.5):
        s.add(
            0.1,
            1,
            rays(x - size * 0.3, y - size * 0.3, math.hypot(s.width, s.height), s.one_of(18, 22, 26), s.between(0, 15)),
        )
    else:
        s.add(0.1, 1, circle(x + size * s.between(-0.14, 0.14), y - size * 0.05, size * 0.52))
    s.add(0.2, 2, rect(s.left, s.y(0.8), s.width, s.height))
    foot = s.y(0.86)
    for k, shift in enumerate((-0.64, 0.66, -1.1, 1.12)):
        px = x + size * shift
        if s.left + size * 0.06 < px < s.right - size * 0.06:
            s.put(
                0.4,
                (drawing("camera", "prints"), drawing("camera", "film-roll"))[k % 2],
                px,
                foot - size * 0.02,
                size * (0.36, 0.3)[k % 2],
                turn=0 if k % 2 else s.between(-8, 8),
            )
    s.put(0.6, drawing("camera", s.one_of("rangefinder", "reflex")), x, foot, size * 0.78)


def lens(s: Sketch) -> None:
    """The lens itself, so near that its barrel is cut off, the blades half closed."""
    sky(s)
    x, y = s.x(s.between(0.44, 0.56)), s.y(s.between(0.46, 0.54))
    r = s.unit * s.between(0.5, 0.6)
    s.add(0.1, 1, rect(s.left, y - r * 0.36, s.width, r * 0.72))
    s.put(0.4, aperture(s.one_of(6, 7, 8)), x, y, r, turn=s.between(0, 60))
    s.add(0.6, 5, sector(x, y, r * 0.7, 205, 245, r * 0.64), sector(x, y, r * 0.7, 252, 262, r * 0.64))


@cache
def aperture(count: int) -> Drawing:
    """A lens of radius one: barrel, scale, and an iris of `count` blades about a small opening."""
    ways = [math.radians(360 * k / count) for k in range(count + 1)]
    hole = [(0.22 * math.cos(a), 0.22 * math.sin(a)) for a in ways]
    rim = [(0.56 * math.cos(a + 0.9), 0.56 * math.sin(a + 0.9)) for a in ways]
    blades = [polygon([hole[k], hole[k + 1], rim[k + 1], rim[k]]) for k in range(count)]
    marks = [turned(rect(-0.012, -0.93, 0.024, 0.1 if k % 4 else 0.16), 10 * k, 0, 0) for k in range(36)]
    return (
        DrawingPart(3, circle(0, 0, 1)),
        DrawingPart(5, joined(*marks)),
        DrawingPart(4, circle(0, 0, 0.74)),
        DrawingPart(3, circle(0, 0, 0.6)),
        DrawingPart(2, joined(*blades[::2])),
        DrawingPart(1, joined(*blades[1::2])),
        DrawingPart(5, polygon(hole[:-1])),
    )


# Film


def film(s: Sketch) -> None:
    """The screen with its countdown above rows of heads, or a projector throwing its beam."""
    s.one_of(cinema, projector_beam)(s)


def cinema(s: Sketch) -> None:
    """The countdown on the screen, rows of heads before it."""
    sky(s, 3)
    x, y = s.x(0.5), s.y(0.38)
    wide, tall = s.width * 0.8, min(s.height * 0.5, s.width * 0.8)
    s.add(0.2, 5, rounded(x - wide / 2, y - tall / 2, wide, tall, s.unit * 0.02))
    r = min(wide, tall) * 0.4
    start = s.between(-90, 150)
    s.add(0.25, 1, polygon([(x, y), (x, y - tall / 2), (x + wide / 2, y - tall / 2), (x + wide / 2, y)]))
    s.add(0.3, 2, circle(x, y, r))
    s.add(0.32, 4, sector(x, y, r, -90, start))
    s.add(
        0.34,
        3,
        ring(x, y, r * 0.8, r * 0.75),
        rect(x - wide * 0.47, y - r * 0.012, wide * 0.94, r * 0.024),
        rect(x - r * 0.012, y - tall * 0.47, r * 0.024, tall * 0.94),
    )
    s.put(0.36, drawing("film", s.one_of("three", "two")), x, y, r * 0.95)
    level = (y + tall / 2 - s.top) / s.height
    rows = max(2, round((1 - level) * s.height / (s.unit * 0.17)))
    for row in range(rows):
        t = (row + 0.6) / rows
        head = s.unit * (0.05 + 0.035 * t)
        foot = s.y(level + (1 - level) * t) + s.unit * 0.05
        tone = (2, 4, 1, 2)[row % 4]
        px = s.left + head * (1.5 if row % 2 else 0.2)
        while px < s.right + head:
            s.add(
                0.4 + 0.5 * t,
                tone,
                circle(px, foot - head * 1.3, head),
                rounded(px - head * 1.35, foot - head * 0.4, head * 2.7, s.height * 0.3, head),
            )
            px += head * 3.1
    s.add(0.9, 3, rect(s.left, s.bottom - s.unit * 0.03, s.width, s.unit * 0.04))


def projector_beam(s: Sketch) -> None:
    """A projector low on one side, its beam across the box, stars in the light."""
    sky(s, 3)
    flip = s.chance(0.5)
    side = -1 if flip else 1
    size = min(s.width * 0.56, s.height * 0.5) * (1.15 if s.wide < 0.6 else 1.0)
    foot = s.y(0.88)
    x = s.x(0.5 - side * (0.2 if s.wide < 1.3 else 0.3)) if s.wide > 0.6 else s.x(0.5 - side * 0.08)
    mouth = (x + side * size * 0.5, foot - size * 0.3)
    edge = s.right if side > 0 else s.left
    up = s.top - s.height * 0.06 if s.wide > 0.6 else s.top - s.height * 0.1
    if s.wide > 0.6:
        beam = [mouth, (edge, up), (edge, s.y(0.84))]
        inner = [mouth, (edge, s.y(0.12)), (edge, s.y(0.62))]
    else:
        beam = (
            [mouth, (s.right + s.width * 0.3, s.top), (s.left + s.width * 0.1, s.top)]
            if side > 0
            else [mouth, (s.left - s.width * 0.3, s.top), (s.right - s.width * 0.1, s.top)]
        )
        inner = [
            mouth,
            ((beam[1][0] * 0.8 + beam[2][0] * 0.2), s.top),
            ((beam[1][0] * 0.35 + beam[2][0] * 0.65), s.top),
        ]
    s.add(0.1, 2, polygon(beam))
    s.add(0.15, 1, polygon(inner))
    for _k in range(4):
        t = s.between(0.45, 0.85)
        a, b = beam[1], beam[2]
        u = s.between(0.25, 0.75)
        px, py = (
            mouth[0] + t * ((a[0] * u + b[0] * (1 - u)) - mouth[0]),
            mouth[1] + t * ((a[1] * u + b[1] * (1 - u)) - mouth[1]),
        )
        r = s.unit * s.between(0.03, 0.06)
        s.add(0.3, 4, star(px, py, r, r * 0.42, 5, s.between(-100, -80)))
    s.add(0.4, 4, rect(s.left, foot, s.width, s.height))
    s.put(0.6, drawing("film", "projector"), x, foot, size, flip=flip)


# Mask


def mask(s: Sketch) -> None:
    """Comedy and tragedy between curtains, in the beam of the lights."""
    sky(s, 3)
    x = s.x(0.5)
    s.add(
        0.1,
        2,
        polygon(
            [
                (x - s.width * 0.1, s.top),
                (x + s.width * 0.1, s.top),
                (x + s.width * 0.46, s.bottom),
                (x - s.width * 0.46, s.bottom),
            ]
        ),
    )
    s.add(0.2, 1, ellipse(x, s.y(0.93), s.width * 0.4, s.height * 0.06))
    faces = [drawing("mask", "comedy"), retoned(drawing("mask", "tragedy"), {5: 4})]
    if s.wide < 0.6:
        size = s.width * 0.78
        places = ((s.x(0.5), s.y(0.34), -6), (s.x(0.5), s.y(0.66), 7))
    else:
        size = min(s.width * 0.44, s.height * 0.56)
        lean = s.one_of(-1, 1)
        places = (
            (x - size * 0.42, s.y(0.5) - lean * size * 0.12, -12),
            (x + size * 0.42, s.y(0.5) + lean * size * 0.14, 12),
        )
    order = (0, 1) if s.chance(0.5) else (1, 0)
    for depth, k in zip((0.5, 0.6), order):
        px, py, turn = places[k]
        s.put(depth, faces[k], px, py + size * 0.05, size, turn=turn + s.between(-4, 4))
    _curtains(s)


def _curtains(s: Sketch) -> None:
    """Folds gathered at both sides, a scalloped pelmet above."""
    reach = min(s.width * 0.16, s.unit * 0.24) if s.wide > 0.6 else s.width * 0.13
    for side in (-1, 1):
        edge = s.left if side < 0 else s.right
        for k, (share, tone) in enumerate(((1.0, 4), (0.72, 2), (0.44, 4))):
            wide = reach * share * 1.5
            tie = reach * share * 0.7
            path = polygon(
                [
                    (edge, s.top),
                    (edge - side * wide, s.top),
                    (edge - side * wide * 0.92, s.y(0.3)),
                    (edge - side * tie, s.y(0.62)),
                    (edge - side * tie * 1.15, s.y(0.66)),
                    (edge - side * wide * 0.7, s.bottom),
                    (edge, s.bottom),
                ]
            )
            s.add(0.7 + 0.05 * k, tone, path)
    count = max(4, round(s.width / (s.unit * 0.22)))
    r = s.width / count / 2
    for k in range(count):
        s.add(0.9, 4 if k % 2 else 2, sector(s.left + (2 * k + 1) * r, s.top + s.height * 0.05, r * 1.01, 0, 180))
    s.add(0.92, 4, rect(s.left, s.top, s.width, s.height * 0.052))


# Gift


def gift(s: Sketch) -> None:
    """A heap of parcels with bows and confetti in the air, or a table laid with them, seen from above."""
    sky(s)
    s.one_of(parcel_heap, parcel_heap, parcels_from_above)(s)


def parcels_from_above(s: Sketch) -> None:
    """Parcels in rows, each tied crosswise, a little askew."""
    side = s.unit / s.one_of(2, 2.5, 3)
    columns, rows = max(1, round(s.width / side)), max(1, round(s.height / side))
    wide, tall = s.width / columns, s.height / rows
    first = int(s.rng.integers(5))
    for j in range(rows):
        for i in range(columns):
            look = LOOKS[(i + 2 * j + first) % 3]
            half_x, half_y = wide * s.between(0.34, 0.44), tall * s.between(0.34, 0.44)
            across, along = half_x * s.between(-0.3, 0.3), half_y * s.between(-0.3, 0.3)
            parcel = (
                DrawingPart(1, rect(-half_x + wide * 0.03, -half_y + tall * 0.04, 2 * half_x, 2 * half_y)),
                DrawingPart(look[3], rect(-half_x, -half_y, 2 * half_x, 2 * half_y)),
                DrawingPart(
                    look[4],
                    joined(
                        rect(across - wide * 0.05, -half_y, wide * 0.1, 2 * half_y),
                        rect(-half_x, along - wide * 0.05, 2 * half_x, wide * 0.1),
                    ),
                ),
                *placed(retoned(drawing("gift", "bow-tie"), look), across, along + wide * 0.06, wide * 0.42),
            )
            s.put(0.4, parcel, s.left + (i + 0.5) * wide, s.top + (j + 0.5) * tall, 1.0, turn=s.between(-6, 6))


LOOKS: tuple[dict[int, int], ...] = ({3: 3, 4: 4, 5: 5}, {3: 4, 4: 5, 5: 3}, {3: 2, 4: 3, 5: 4}, {3: 5, 4: 4, 5: 3})
"""Tones of paper, ribbon and detail."""


def parcel_heap(s: Sketch) -> None:
    """A tower of parcels, others at its foot."""
    level = 0.88
    s.add(0.1, 1, rays(s.x(0.5), s.y(level), math.hypot(s.width, s.height), 26, s.between(0, 12)))
    s.add(0.2, 2, rect(s.left, s.y(level), s.width, s.height))
    size = min(s.width * 0.5, s.height * 0.42)
    x = s.x(s.between(0.45, 0.55))
    foot = s.y(level + 0.05)
    side = s.one_of(-1, 1)
    looks = list(LOOKS)
    s.rng.shuffle(looks)
    low = size * s.between(0.62, 0.74)
    _parcel(s, 0.5, looks[0], x, foot, size, low, bow=False)
    _parcel(s, 0.5, looks[1], x + side * size * 0.06, foot - low, size * 0.72, size * 0.5, bow=s.wide > 0.6)
    if s.wide <= 0.6:
        _parcel(s, 0.5, looks[2], x, foot - low - size * 0.5, size * 0.56, size * 0.6, bow=False)
        _parcel(s, 0.5, looks[3], x - side * size * 0.04, foot - low - size * 1.1, size * 0.42, size * 0.34, bow=True)
    _parcel(s, 0.7, looks[2], x + side * size * 0.66, foot + s.height * 0.03, size * 0.5, size * 0.44, bow=True)
    _parcel(s, 0.6, looks[3], x - side * size * 0.62, foot + s.height * 0.015, size * 0.42, size * 0.66, bow=True)
    for k, shift in enumerate((1.2, -1.16, 1.8, -1.7)):
        _parcel(s, 0.45, looks[k % 4], x + side * size * shift, foot, size * 0.5, size * s.between(0.36, 0.7), bow=True)
    _confetti(s)


def _parcel(
    s: Sketch, depth: float, look: dict[int, int], x: float, foot: float, wide: float, tall: float, *, bow: bool
) -> None:
    """One box with a lid and a ribbon; left out where most of it would lie outside."""
    if not s.left + wide * 0.2 < x < s.right - wide * 0.2:
        return
    band, lid = wide * 0.16, min(tall * 0.22, wide * 0.18)
    parcel = (
        DrawingPart(3, rect(-wide / 2, -tall, wide, tall)),
        DrawingPart(4, rect(-band / 2, -tall, band, tall)),
        DrawingPart(3, rect(-wide * 0.54, -tall, wide * 1.08, lid)),
        DrawingPart(5, rect(-wide * 0.5, lid - tall, wide, lid * 0.18)),
        DrawingPart(4, rect(-band / 2, -tall, band, lid)),
    )
    s.put(depth, retoned(parcel, look), x, foot, 1.0)
    if bow:
        s.put(depth, retoned(drawing("gift", "bow-tie"), look), x, foot - tall, wide * 0.62)


def _confetti(s: Sketch) -> None:
    cell = s.unit * 0.13
    for j in range(int(s.height * 0.42 / cell)):
        for i in range(int(s.width / cell) + 1):
            if s.chance(0.35):
                continue
            x, y = s.left + (i + s.between(0.1, 0.9)) * cell, s.top + (j + s.between(0.1, 0.9)) * cell
            r = s.unit * s.between(0.012, 0.02)
            flake = s.one_of(
                circle(x, y, r),
                turned(rect(x - r, y - r * 0.5, 2 * r, r), s.between(0, 180), x, y),
                star(x, y, r * 1.5, r * 0.6),
            )
            s.add(0.3, s.one_of(2, 3, 4), flake)
