"""Gift, heart, mask: evenings worth dressing for."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, placed, retoned, ribbon, thing
from salon.render.motifs.staging import rays, sky
from salon.render.shapes import circle, ellipse, joined, polygon, rect, rounded, sector, star, turned

# Gift


def gift(s: Sketch) -> None:
    """A heap of parcels with bows and confetti in the air, or a table laid with them, seen from above."""
    sky(s)
    s.one_of(_heap, _heap, _laid_out)(s)


def _laid_out(s: Sketch) -> None:
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
                Part(1, rect(-half_x + wide * 0.03, -half_y + tall * 0.04, 2 * half_x, 2 * half_y)),
                Part(look[3], rect(-half_x, -half_y, 2 * half_x, 2 * half_y)),
                Part(
                    look[4],
                    joined(
                        rect(across - wide * 0.05, -half_y, wide * 0.1, 2 * half_y),
                        rect(-half_x, along - wide * 0.05, 2 * half_x, wide * 0.1),
                    ),
                ),
                *placed(retoned(bow_tie(), look), across, along + wide * 0.06, wide * 0.42),
            )
            s.put(0.4, parcel, s.left + (i + 0.5) * wide, s.top + (j + 0.5) * tall, 1.0, turn=s.between(-6, 6))


LOOKS: tuple[dict[int, int], ...] = ({3: 3, 4: 4, 5: 5}, {3: 4, 4: 5, 5: 3}, {3: 2, 4: 3, 5: 4}, {3: 5, 4: 4, 5: 3})
"""Tones of paper, ribbon and detail."""


def _heap(s: Sketch) -> None:
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
        Part(3, rect(-wide / 2, -tall, wide, tall)),
        Part(4, rect(-band / 2, -tall, band, tall)),
        Part(3, rect(-wide * 0.54, -tall, wide * 1.08, lid)),
        Part(5, rect(-wide * 0.5, lid - tall, wide, lid * 0.18)),
        Part(4, rect(-band / 2, -tall, band, lid)),
    )
    s.put(depth, retoned(parcel, look), x, foot, 1.0)
    if bow:
        s.put(depth, retoned(bow_tie(), look), x, foot - tall, wide * 0.62)


@cache
def bow_tie() -> Thing:
    """A bow standing on the origin, one unit wide."""
    loop = drawn("M 0 -0.04 C -0.16 -0.5 -0.56 -0.5 -0.5 -0.2 C -0.46 -0.02 -0.2 0.02 0 -0.04 Z")
    hole = drawn("M -0.12 -0.1 C -0.22 -0.34 -0.42 -0.34 -0.39 -0.19 C -0.36 -0.09 -0.24 -0.08 -0.12 -0.1 Z")
    half = (Part(4, loop), Part(5, hole))
    return thing(half, placed(half, flip=True), Part(4, rounded(-0.09, -0.17, 0.18, 0.18, 0.06)))


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


def gift_mark(rng: np.random.Generator) -> Thing:
    """A parcel with a bow."""
    return thing(
        placed(bow_tie(), 0, -0.62, 0.66),
        Part(3, rect(-0.38, -0.42, 0.76, 0.44)),
        Part(3, rounded(-0.44, -0.64, 0.88, 0.18, 0.03)),
        Part(4, joined(rect(-0.07, -0.42, 0.14, 0.44), rect(-0.07, -0.64, 0.14, 0.18))),
    )


# Heart


def heart(s: Sketch) -> None:
    """Hearts within hearts, a cut jewel of a heart, or a garden of them."""
    sky(s)
    s.one_of(_ringed, _jewel, _garden)(s)


HEART = (
    "M 0 0.46 C -0.16 0.3 -0.52 0.1 -0.52 -0.18 C -0.52 -0.44 -0.16 -0.52 0 -0.24 "
    "C 0.16 -0.52 0.52 -0.44 0.52 -0.18 C 0.52 0.1 0.16 0.3 0 0.46 Z"
)


def _heart(tone: int) -> Thing:
    return (Part(tone, drawn(HEART)),)


def _ringed(s: Sketch) -> None:
    """A heart that beats outwards over the whole box."""
    x, y = s.x(s.between(0.42, 0.58)), s.y(s.between(0.46, 0.52))
    tones = s.one_of((1, 0, 1, 2, 3, 4), (1, 2, 1, 5, 4, 3), (2, 1, 4, 5, 3, 4))
    far = max(s.width, s.height) * 1.9
    near = s.unit * 0.34
    for k, tone in enumerate(tones):
        s.put(0.1 + 0.15 * k, _heart(tone), x, y, far * (near / far) ** (k / (len(tones) - 1)))
    s.put(0.95, _heart(5), x, y, near * 0.42)


def _jewel(s: Sketch) -> None:
    """A heart of facets before rays."""
    x, y, size = s.x(0.5), s.y(s.between(0.47, 0.52)), min(s.width * 0.86, s.height * 0.8)
    s.add(0.1, 1, rays(x, y, math.hypot(s.width, s.height), s.one_of(20, 26, 32), s.between(0, 12), size * 0.1))
    s.add(0.2, 2, circle(x, y, size * 0.56))
    corners = [
        (0, 0.46),
        (-0.34, 0.16),
        (-0.52, -0.14),
        (-0.4, -0.38),
        (-0.2, -0.4),
        (0, -0.24),
        (0.2, -0.4),
        (0.4, -0.38),
        (0.52, -0.14),
        (0.34, 0.16),
    ]
    middle = (s.between(-0.06, 0.06), s.between(-0.06, 0.02))
    tones = (4, 3, 4, 5, 4, 3, 4, 3, 4, 3)
    for k, tone in enumerate(tones):
        points = [middle, corners[k], corners[(k + 1) % 10]]
        s.add(0.5, tone, polygon([(x + size * a, y + size * b) for a, b in points]))
    for _ in range(int(5 * max(s.wide, 1 / s.wide))):
        px, py = s.x(s.between(0.05, 0.95)), s.y(s.between(0.05, 0.95))
        if math.dist((px, py), (x, y)) > size * 0.64:
            s.put(0.4, _heart(s.one_of(3, 4)), px, py, s.unit * s.between(0.06, 0.1), turn=s.between(-20, 20))


def _garden(s: Sketch) -> None:
    """Hearts on stems like flowers, one much taller than the rest."""
    s.add(0.1, 1, circle(s.x(s.between(0.35, 0.65)), s.y(0.4), s.unit * s.between(0.36, 0.44)))
    count = max(3, round(s.wide * 4.2)) if s.wide > 0.6 else 3
    lead = int(s.rng.integers(1, count - 1))
    for i in range(count):
        x = s.x((i + 0.5) / count)
        size = s.unit * (0.42 if i == lead else s.between(0.2, 0.28))
        y = s.y(0.34 if i == lead else s.between(0.44, 0.66))
        depth = 0.6 if i == lead else 0.4
        s.add(depth, 3, ribbon([(x, y), (x + size * 0.1, (y + s.bottom) / 2), (x, s.bottom + size)], size * 0.05))
        for side in (-1, 1):
            leaf = (Part(2, drawn("M 0 0 C -0.24 -0.3 -0.16 -0.7 0 -1 C 0.16 -0.7 0.24 -0.3 0 0 Z")),)
            s.put(depth, leaf, x, y + (s.bottom - y) * s.between(0.62, 0.8), size * 0.6, turn=side * 46)
        tone = 4 if i == lead else (3, 2, 4)[i % 3]
        s.put(depth + 0.1, _heart(tone), x, y, size, turn=s.between(-10, 10))
        s.put(depth + 0.12, _heart(5 if tone != 2 else 3), x, y, size * 0.4)
    s.add(0.9, 3, rect(s.left, s.y(0.95), s.width, s.height))


def heart_mark(rng: np.random.Generator) -> Thing:
    """A heart, its right half lighter."""
    right = "M 0 0.46 L 0 -0.24 C 0.16 -0.52 0.52 -0.44 0.52 -0.18 C 0.52 0.1 0.16 0.3 0 0.46 Z"
    return (*_heart(3), Part(4, drawn(right)))


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
    faces = [comedy(), retoned(tragedy(), {5: 4})]
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


FACE = "M -0.46 -0.5 C -0.2 -0.4 0.2 -0.4 0.46 -0.5 C 0.56 -0.1 0.42 0.3 0 0.58 C -0.42 0.3 -0.56 -0.1 -0.46 -0.5 Z"


@cache
def comedy() -> Thing:
    """A laughing mask, about one unit tall, its middle at the origin."""
    eyes = joined(*(sector(side * 0.2, -0.1, 0.12, 180, 360) for side in (-1, 1)))
    brows = joined(*(bar(side * 0.1, -0.29, side * 0.3, -0.31, 0.035) for side in (-1, 1)))
    mouth = drawn("M -0.28 0.06 Q 0 0.16 0.28 0.06 C 0.26 0.3 0.1 0.38 0 0.38 C -0.1 0.38 -0.26 0.3 -0.28 0.06 Z")
    return (
        Part(5, drawn(FACE)),
        Part(3, joined(eyes, brows, mouth)),
        Part(4, joined(circle(-0.33, 0.02, 0.055), circle(0.33, 0.02, 0.055))),
    )


@cache
def tragedy() -> Thing:
    """A weeping mask."""
    eyes = joined(*(turned(sector(side * 0.2, -0.16, 0.11, 0, 180), side * 14, side * 0.2, -0.16) for side in (-1, 1)))
    brows = joined(*(bar(side * 0.08, -0.34, side * 0.32, -0.26, 0.035) for side in (-1, 1)))
    mouth = drawn("M -0.22 0.34 C -0.2 0.14 -0.08 0.08 0 0.08 C 0.08 0.08 0.2 0.14 0.22 0.34 Q 0 0.22 -0.22 0.34 Z")
    return (
        Part(5, drawn(FACE)),
        Part(3, joined(eyes, brows, mouth)),
        Part(2, drawn("M 0.24 -0.02 C 0.3 0.08 0.3 0.14 0.24 0.16 C 0.18 0.14 0.18 0.08 0.24 -0.02 Z")),
    )


def mask_mark(rng: np.random.Generator) -> Thing:
    """The two masks, one behind the other."""
    behind = retoned(placed(tragedy(), 0.3, -0.08, 0.86, 14), {5: 2, 3: 5, 2: 5})
    return thing(behind, retoned(placed(comedy(), -0.18, 0.04, 1.0, -10), {5: 3, 3: 5, 4: 4}))
