"""Sea, boat, fish: on the water and in it."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.marks import Path
from salon.render.motifs.heavens import gull
from salon.render.motifs.sketch import Part, Sketch, Thing, drawn, retoned, thing
from salon.render.motifs.staging import clouds, rays, sky
from salon.render.shapes import circle, joined, polygon, rect, rounded, sector, smooth, swell


def waves(s: Sketch, level: float, tones: tuple[int, ...], first: float = 0.4, last: float = 0.95) -> None:
    """Bands of waves from `level` down, each larger and nearer than the one behind."""
    rows = len(tones)
    for i, tone in enumerate(tones):
        t = i / rows
        depth = first + (last - first) * t
        y = s.y(level + (1 - level) * (t**0.9))
        length = s.unit * (0.16 + 0.3 * t) * s.between(0.9, 1.1)
        height = length * s.between(0.1, 0.14)
        s.add(
            depth,
            tone,
            swell(s.left - length, s.right + length, y + height, height, length, s.bottom + 1, s.between(0, 1)),
        )


def curls(s: Sketch, depth: float, tone: int, line: int, y: float, r: float) -> None:
    """A row of round breakers: half rings leaning on each other, over a band that reaches down."""
    x = s.left - r * s.between(0, 1.8)
    s.add(depth, tone, rect(s.left, y + r * 0.6, s.width, s.bottom))
    while x < s.right + r:
        s.add(depth, tone, circle(x, y + r * 0.62, r))
        s.add(
            depth,
            line,
            sector(x, y + r * 0.62, r * 0.8, 180, 360, r * 0.62),
            sector(x, y + r * 0.62, r * 0.42, 180, 360, r * 0.22),
        )
        x += r * 1.86


# Sea


def sea(s: Sketch) -> None:
    """A disc on the horizon, its light on the water, waves that grow towards us."""
    sky(s)
    level = s.between(0.42, 0.5) if s.wide < 2 else s.between(0.5, 0.56)
    x, r = s.x(s.between(0.3, 0.7)), s.unit * s.between(0.19, 0.26)
    s.one_of(_bands_above, _rays_above)(s, x, level)
    s.add(0.2, 4, circle(x, s.y(level) - r * s.between(-0.1, 0.55), r))
    s.add(0.3, 1, rect(s.left, s.y(level), s.width, s.height))
    gap = s.height * 0.022
    for i in range(4):
        half = r * (0.95 - 0.16 * i) * s.between(0.85, 1.1)
        s.add(0.35, 4, rounded(x - half, s.y(level) + gap * (1.6 * i + 0.7), 2 * half, gap * 0.7, gap))
    if s.chance(0.5):
        waves(s, level + 0.13, (2, 3, 2, 3, 5, 3)[: 5 + s.one_of(0, 1)])
    else:
        for i, (tone, line) in enumerate(((2, 1), (3, 2), (2, 5), (3, 5))):
            curls(
                s,
                0.45 + 0.12 * i,
                tone,
                line,
                s.y(level + 0.13 + (1 - level - 0.13) * i / 4),
                s.unit * (0.07 + 0.035 * i),
            )
    away = 0.22 if x > s.x(0.5) else 0.78
    s.put(0.42, sail_boat(), s.x(away), s.y(level + 0.1), s.unit * s.between(0.2, 0.26), flip=s.chance(0.5))
    for i in range(3):
        s.put(0.25, gull(3), s.x(away + s.between(-0.12, 0.12)), s.y(0.08 + 0.06 * i), s.unit * s.between(0.035, 0.06))


def _bands_above(s: Sketch, x: float, level: float) -> None:
    """Long flat clouds."""
    for i in range(4):
        width = s.width * s.between(0.3, 0.6)
        left = s.left - width * 0.3 if i % 2 else s.right - width * 0.7
        s.add(0.1, 1, rounded(left, s.y(level * (0.2 + 0.18 * i)), width, s.unit * 0.045, s.unit))


def _rays_above(s: Sketch, x: float, level: float) -> None:
    s.add(0.1, 1, rays(x, s.y(level), math.hypot(s.width, s.height), 22, s.between(0, 15)))


@cache
def sail_boat(hull: int = 3, sail: int = 2, jib: int = 4) -> Thing:
    """A small sailing boat, water line at the origin, one unit tall."""
    return (
        Part(hull, drawn("M -0.02 -1 L 0.02 -1 L 0.02 -0.12 L -0.02 -0.12 Z")),
        Part(sail, drawn("M 0.05 -0.95 Q 0.42 -0.62 0.5 -0.2 L 0.05 -0.2 Z")),
        Part(jib, drawn("M -0.05 -0.84 L -0.05 -0.2 L -0.4 -0.2 Q -0.2 -0.42 -0.05 -0.84 Z")),
        Part(hull, drawn("M -0.52 -0.14 L 0.62 -0.14 Q 0.5 0.06 0.34 0.08 L -0.3 0.08 Q -0.46 0.02 -0.52 -0.14 Z")),
    )


def sea_mark(rng: np.random.Generator) -> Thing:
    """A half disc over three waves."""
    bands = []
    for i, tone in enumerate((3, 2, 3)):
        y = 0.04 + 0.17 * i
        top = [(-0.5 + k / 12, y + 0.045 * math.sin(math.pi * k / 2 + i * math.pi)) for k in range(13)]
        below = [(x, y + 0.1) for x, y in reversed(top)]
        there, back = smooth(top, closed=False).commands, smooth(below, closed=False).commands
        bands.append(Part(tone, Path((*there, ("L", *back[0][1:]), *back[1:], ("Z",)))))
    return (Part(4, sector(0, -0.06, 0.34, 180, 360)), *bands)


# Boat


def boat(s: Sketch) -> None:
    """One great sailing ship before sun and clouds, waves under it and before it."""
    sky(s)
    level = 0.74 if s.wide > 0.6 else 0.6
    x = s.x(s.between(0.42, 0.58))
    size = min(s.height * 0.6, s.width * 0.78)
    side = s.one_of(-1, 1)
    s.add(0.1, 1, circle(x + side * size * 0.22, s.y(level) - size * s.between(0.5, 0.66), size * s.between(0.42, 0.5)))
    if s.wide > 1.35 or s.wide < 0.6:
        clouds(s, 0.15, 5, 2 + int(s.wide), 0.1, 0.3)
    for _ in range(int(s.width / size * 1.2)):
        share = s.between(0.06, 0.94)
        if abs(s.x(share) - x) > size * 0.62:
            s.put(0.3, retoned(sail_boat(), {4: 1}), s.x(share), s.y(level), size * s.between(0.2, 0.34))
    s.add(0.35, 2, rect(s.left, s.y(level), s.width, s.height))
    s.put(0.5, s.one_of(great_boat, junk)(), x, s.y(level + 0.06), size, turn=side * s.between(2, 6), flip=side > 0)
    waves(s, level + 0.05, (3, 2, 5, 3) if s.wide > 0.6 else (3, 2, 3, 2, 5, 3), 0.6)


@cache
def great_boat() -> Thing:
    """A yacht with a striped main sail and a jib, one unit tall."""
    return (
        Part(3, drawn("M -0.015 -1.02 L 0.02 -1.02 L 0.025 -0.1 L -0.02 -0.1 Z")),
        Part(4, drawn("M 0.05 -0.98 C 0.32 -0.78 0.5 -0.5 0.52 -0.2 L 0.05 -0.2 Z")),
        Part(5, drawn("M 0.05 -0.68 L 0.35 -0.68 Q 0.44 -0.56 0.48 -0.46 L 0.05 -0.46 Z")),
        Part(2, drawn("M -0.05 -0.92 L -0.05 -0.2 L -0.5 -0.2 C -0.32 -0.36 -0.16 -0.58 -0.05 -0.92 Z")),
        Part(
            3,
            drawn(
                "M -0.62 -0.15 L 0.64 -0.15 C 0.6 0.02 0.5 0.12 0.38 0.12 L -0.34 0.12 "
                "C -0.48 0.12 -0.58 0 -0.62 -0.15 Z"
            ),
        ),
        Part(4, drawn("M -0.6 -0.09 L 0.625 -0.09 L 0.61 -0.04 L -0.58 -0.04 Z")),
        Part(4, drawn("M 0.02 -1.02 L 0.02 -1.14 L 0.17 -1.08 Z")),
    )


@cache
def junk() -> Thing:
    """A ship with two fans of battened sail, one unit tall."""

    def fan(x: float, y: float, wide: float, tall: float) -> Thing:
        sail = Path(
            (
                ("M", x, y),
                ("L", x - wide * 0.28, y),
                ("Q", x - wide * 0.3, y - tall * 0.6, x + wide * 0.1, y - tall),
                ("Q", x + wide * 0.7, y - tall * 0.8, x + wide * 0.74, y),
                ("Z",),
            )
        )
        battens = [
            polygon(
                [
                    (x - wide * 0.26, y - tall * t),
                    (x + wide * (0.74 - 0.2 * t), y - tall * t - tall * 0.06),
                    (x + wide * (0.74 - 0.2 * t), y - tall * t - tall * 0.03),
                    (x - wide * 0.26, y - tall * t + tall * 0.03),
                ]
            )
            for t in (0.2, 0.42, 0.64)
        ]
        return (Part(4, sail), Part(5, joined(*battens)))

    return thing(
        Part(3, rect(-0.2, -1.0, 0.03, 0.9)),
        Part(3, rect(0.24, -0.78, 0.03, 0.7)),
        fan(0.26, -0.2, 0.36, 0.5),
        fan(-0.2, -0.2, 0.46, 0.76),
        Part(
            3,
            drawn(
                "M -0.6 -0.26 L -0.42 -0.16 L 0.4 -0.16 L 0.62 -0.34 Q 0.62 0.04 0.4 0.12 "
                "L -0.36 0.12 Q -0.54 0.06 -0.6 -0.26 Z"
            ),
        ),
        Part(5, drawn("M -0.5 -0.08 L 0.58 -0.08 L 0.56 -0.04 L -0.49 -0.04 Z")),
    )


def boat_mark(rng: np.random.Generator) -> Thing:
    """Two sails, a hull and the water under it."""
    return (
        Part(3, drawn("M 0.03 -0.98 C 0.3 -0.78 0.46 -0.5 0.48 -0.22 L 0.03 -0.22 Z")),
        Part(4, drawn("M -0.05 -0.86 L -0.05 -0.22 L -0.44 -0.22 C -0.28 -0.38 -0.14 -0.56 -0.05 -0.86 Z")),
        Part(
            3,
            drawn(
                "M -0.56 -0.14 L 0.58 -0.14 C 0.52 0.04 0.44 0.1 0.34 0.1 L -0.32 0.1 C -0.44 0.1 -0.52 0 -0.56 -0.14 Z"
            ),
        ),
        Part(2, rounded(-0.44, 0.17, 0.88, 0.07, 0.04)),
    )


# Fish


def fish(s: Sketch) -> None:
    """A shoal crossing in rows, or one great fish among weeds; bubbles, and the surface far above."""
    sky(s)
    s.add(0.1, 1, circle(s.x(s.between(0.2, 0.8)), s.y(0.06), s.unit * s.between(0.42, 0.55)))
    s.one_of(_shoal, _great_fish)(s)
    weeds(s)
    for _ in range(8):
        r = s.unit * s.between(0.012, 0.03)
        s.add(0.35, s.one_of(5, 2), circle(s.x(s.between(0.06, 0.94)), s.y(s.between(0.05, 0.6)), r))


def _shoal(s: Sketch) -> None:
    size = s.unit * s.between(0.3, 0.4)
    flip = s.chance(0.5)
    rows = max(2, round(s.height * 0.74 / (size * 0.62)))
    odd = int(s.rng.integers(rows))
    for j in range(rows):
        x = s.left - size * (0.5 if j % 2 else 0.05) + size * s.between(-0.08, 0.08)
        y = s.y(0.11 + 0.68 * (j + 0.5) / rows)
        other = s.between(0.3, 0.7)
        while x < s.right + size * 0.6:
            strange = j == odd and abs(x - s.x(other)) < size * 0.6
            tones = {3: 4} if strange else ({} if j % 2 else {3: 2, 2: 3})
            s.put(
                0.4, retoned(plain_fish(), tones), x, y + s.unit * s.between(-0.012, 0.012), size, flip=flip != strange
            )
            x += size * s.between(1.16, 1.26)


def _great_fish(s: Sketch) -> None:
    size = min(s.width * 0.84, s.height * 1.0)
    flip = s.chance(0.5)
    y = s.y(s.between(0.4, 0.46))
    s.put(0.5, scaled_fish(), s.x(0.5), y, size, flip=flip, turn=s.between(-8, 8))
    for _ in range(int(4 * max(s.wide, 1 / s.wide))):
        px, py = s.x(s.between(0.08, 0.92)), s.y(s.between(0.12, 0.78))
        if abs(py - y) > size * 0.3 or abs(px - s.x(0.5)) > size * 0.62:
            s.put(0.3, retoned(plain_fish(), {3: 2, 2: 1}), px, py, s.unit * s.between(0.13, 0.2), flip=not flip)


@cache
def plain_fish() -> Thing:
    """A lens-shaped fish looking left, one unit long."""
    return (
        Part(2, drawn("M 0.26 0 L 0.5 -0.2 Q 0.42 0 0.5 0.2 Z")),
        Part(2, drawn("M -0.1 -0.16 Q 0.1 -0.34 0.22 -0.26 L 0.16 -0.1 Z")),
        Part(3, drawn("M -0.5 0 C -0.34 -0.22 0 -0.3 0.34 0 C 0 0.3 -0.34 0.22 -0.5 0 Z")),
        Part(5, drawn("M -0.2 -0.19 Q -0.12 0 -0.2 0.19 L -0.16 0.2 Q -0.07 0 -0.16 -0.2 Z")),
        Part(5, circle(-0.32, -0.04, 0.032)),
    )


@cache
def scaled_fish() -> Thing:
    """A great fish looking left, with rows of scales, fins and a round eye; one unit long."""
    scales = [
        sector(-0.06 + 0.095 * i, -0.13 + 0.087 * j + (0.0435 if i % 2 else 0), 0.042, -90, 90)
        for i in range(4)
        for j in range(4)
        if not (i == 3 and j in (0, 3))
    ]
    return (
        Part(
            4,
            drawn(
                "M 0.26 0 C 0.36 -0.04 0.44 -0.2 0.52 -0.24 C 0.47 -0.08 0.47 0.08 0.52 0.24 "
                "C 0.44 0.2 0.36 0.04 0.26 0 Z"
            ),
        ),
        Part(4, drawn("M -0.2 -0.16 C -0.1 -0.36 0.12 -0.38 0.24 -0.28 L 0.18 -0.08 Z")),
        Part(4, drawn("M -0.06 0.18 C 0 0.32 0.12 0.34 0.2 0.3 L 0.16 0.1 Z")),
        Part(3, drawn("M -0.5 0.02 C -0.36 -0.24 0.06 -0.3 0.34 -0.02 L 0.34 0.02 C 0.06 0.28 -0.36 0.24 -0.5 0.02 Z")),
        Part(2, joined(*scales)),
        Part(
            2,
            drawn(
                "M -0.5 0.02 C -0.43 -0.1 -0.32 -0.18 -0.2 -0.21 "
                "C -0.11 -0.08 -0.11 0.08 -0.2 0.21 C -0.32 0.18 -0.43 0.12 -0.5 0.02 Z"
            ),
        ),
        Part(5, circle(-0.31, -0.05, 0.048)),
        Part(3, circle(-0.315, -0.05, 0.024)),
        Part(4, drawn("M -0.08 0.04 C 0.02 0.02 0.1 0.08 0.12 0.16 C 0.02 0.18 -0.06 0.14 -0.08 0.04 Z")),
    )


def weeds(s: Sketch) -> None:
    """Sand and swaying blades along the lower edge."""
    s.add(0.6, 2, swell(s.left - 1, s.right + 1, s.y(0.92), s.unit * 0.02, s.unit * 0.9, s.bottom + 1, s.between(0, 1)))
    x = s.left + s.unit * s.between(0.02, 0.1)
    while x < s.right:
        for _ in range(s.one_of(2, 3)):
            tall, wide = s.unit * s.between(0.14, 0.3), s.unit * s.between(0.018, 0.026)
            sway, y = s.unit * s.between(-0.07, 0.07), s.y(0.97)
            s.add(
                0.7,
                s.one_of(3, 3, 4),
                Path(
                    (
                        ("M", x - wide, y),
                        ("C", x - wide + sway, y - tall * 0.4, x - wide - sway, y - tall * 0.6, x + sway, y - tall),
                        ("C", x + wide - sway, y - tall * 0.55, x + wide + sway, y - tall * 0.35, x + wide, y),
                        ("Z",),
                    )
                ),
            )
            x += s.unit * 0.04
        x += s.unit * s.between(0.12, 0.34)
    s.add(
        0.8, 3, swell(s.left - 1, s.right + 1, s.y(0.965), s.unit * 0.012, s.unit * 0.7, s.bottom + 1, s.between(0, 1))
    )


def fish_mark(rng: np.random.Generator) -> Thing:
    """A fish with an eye and gills."""
    return (
        Part(4, drawn("M 0.24 0 L 0.52 -0.24 Q 0.42 0 0.52 0.24 Z")),
        Part(3, drawn("M -0.5 0 C -0.34 -0.3 0.06 -0.34 0.36 0 C 0.06 0.34 -0.34 0.3 -0.5 0 Z")),
        Part(5, drawn("M -0.16 -0.24 Q -0.04 0 -0.16 0.24 L -0.09 0.25 Q 0.04 0 -0.09 -0.25 Z")),
        Part(5, circle(-0.3, -0.05, 0.05)),
    )
