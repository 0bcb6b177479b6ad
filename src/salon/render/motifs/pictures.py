"""Camera and film: to see."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, placed, retoned, thing
from salon.render.motifs.staging import rays, sky, still_life
from salon.render.shapes import circle, joined, polygon, rect, ring, rounded, sector, star, turned

# Camera


def camera(s: Sketch) -> None:
    """A camera with prints and film about it, a cabinet of them, or the lens alone."""
    if s.chance(0.3) and 0.6 < s.wide < 1.5:
        _lens(s)
        return
    if s.wide < 0.6:
        still_life(s, old_camera(0), [(retoned(old_camera(1), {3: 4, 4: 3}), 1.0), (film_roll(), 0.9), (prints(), 0.9)])
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
                (prints(), film_roll())[k % 2],
                px,
                foot - size * 0.02,
                size * (0.36, 0.3)[k % 2],
                turn=0 if k % 2 else s.between(-8, 8),
            )
    s.put(0.6, old_camera(s.one_of(0, 1)), x, foot, size * 0.78)


def _lens(s: Sketch) -> None:
    """The lens itself, so near that its barrel is cut off, the blades half closed."""
    sky(s)
    x, y = s.x(s.between(0.44, 0.56)), s.y(s.between(0.46, 0.54))
    r = s.unit * s.between(0.5, 0.6)
    s.add(0.1, 1, rect(s.left, y - r * 0.36, s.width, r * 0.72))
    s.put(0.4, aperture(s.one_of(6, 7, 8)), x, y, r, turn=s.between(0, 60))
    s.add(0.6, 5, sector(x, y, r * 0.7, 205, 245, r * 0.64), sector(x, y, r * 0.7, 252, 262, r * 0.64))


@cache
def aperture(count: int) -> Thing:
    """A lens of radius one: barrel, scale, and an iris of `count` blades about a small opening."""
    ways = [math.radians(360 * k / count) for k in range(count + 1)]
    hole = [(0.22 * math.cos(a), 0.22 * math.sin(a)) for a in ways]
    rim = [(0.56 * math.cos(a + 0.9), 0.56 * math.sin(a + 0.9)) for a in ways]
    blades = [polygon([hole[k], hole[k + 1], rim[k + 1], rim[k]]) for k in range(count)]
    marks = [turned(rect(-0.012, -0.93, 0.024, 0.1 if k % 4 else 0.16), 10 * k, 0, 0) for k in range(36)]
    return (
        Part(3, circle(0, 0, 1)),
        Part(5, joined(*marks)),
        Part(4, circle(0, 0, 0.74)),
        Part(3, circle(0, 0, 0.6)),
        Part(2, joined(*blades[::2])),
        Part(1, joined(*blades[1::2])),
        Part(5, polygon(hole[:-1])),
    )


@cache
def old_camera(kind: int) -> Thing:
    """A camera from the front, 1.2 wide, its foot at the origin."""
    lens = (
        Part(5, circle(0, -0.36, 0.3)),
        Part(3, circle(0, -0.36, 0.26)),
        Part(2, circle(0, -0.36, 0.18)),
        Part(3, circle(0, -0.36, 0.11)),
        Part(5, sector(0, -0.36, 0.2, 200, 260, 0.13)),
    )
    top = drawn("M -0.3 -0.7 L -0.2 -0.9 L 0.2 -0.9 L 0.3 -0.7 Z") if kind else rounded(-0.52, -0.82, 0.3, 0.2, 0.04)
    return thing(
        Part(4, rounded(0.3, -0.84, 0.2, 0.16, 0.04)),
        Part(3, top),
        Part(3, rounded(-0.62, -0.74, 1.24, 0.74, 0.1)),
        Part(4, rect(-0.62, -0.54, 1.24, 0.34)),
        lens,
        Part(5, rounded(-0.53, -0.7, 0.17, 0.1, 0.02))
        if not kind
        else Part(5, rounded(-0.12, -0.86, 0.24, 0.13, 0.02)),
        Part(5, circle(0.48, -0.63, 0.045)),
    )


@cache
def film_roll() -> Thing:
    """A cartridge with a tongue of film, one unit tall."""
    holes = joined(*(rect(0.3 + 0.16 * k, y, 0.08, 0.07) for k in range(4) for y in (-0.82, -0.2)))
    return (
        Part(2, drawn("M 0.2 -0.88 L 0.92 -0.88 L 0.92 -0.42 Q 0.86 -0.08 0.6 -0.08 L 0.2 -0.08 Z")),
        Part(5, holes),
        Part(4, rounded(-0.3, -0.92, 0.6, 0.88, 0.06)),
        Part(
            3,
            joined(
                rounded(-0.36, -0.98, 0.72, 0.12, 0.03),
                rounded(-0.36, -0.1, 0.72, 0.12, 0.03),
                rect(-0.1, -1.08, 0.2, 0.14),
            ),
        ),
        Part(5, rect(-0.3, -0.64, 0.6, 0.14)),
    )


@cache
def prints() -> Thing:
    """Two instant prints of a landscape, one unit tall."""
    sheet = (
        Part(5, rect(-0.4, -1, 0.8, 1)),
        Part(2, rect(-0.32, -0.92, 0.64, 0.62)),
        Part(4, circle(0.1, -0.7, 0.11)),
        Part(3, drawn("M -0.32 -0.3 L -0.32 -0.42 L -0.12 -0.62 L 0.06 -0.44 L 0.16 -0.52 L 0.32 -0.4 L 0.32 -0.3 Z")),
    )
    return thing(placed((Part(3, rect(-0.4, -1, 0.8, 1)),), 0.1, 0.0, 1.0, 9), placed(sheet, -0.06, 0, 1.0, -5))


def camera_mark(rng: np.random.Generator) -> Thing:
    """A camera from the front."""
    return (
        Part(
            3,
            joined(
                rounded(-0.56, -0.34, 1.12, 0.72, 0.1), drawn("M -0.24 -0.3 L -0.16 -0.48 L 0.16 -0.48 L 0.24 -0.3 Z")
            ),
        ),
        Part(5, circle(0, 0.02, 0.26)),
        Part(4, circle(0, 0.02, 0.2)),
        Part(5, circle(0, 0.02, 0.09)),
        Part(5, circle(0.42, -0.2, 0.05)),
    )


# Film


def film(s: Sketch) -> None:
    """The screen with its countdown above rows of heads, or a projector throwing its beam."""
    s.one_of(_cinema, _projector)(s)


def _cinema(s: Sketch) -> None:
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
    s.put(0.36, s.one_of(_three, _two)(), x, y, r * 0.95)
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


@cache
def _three() -> Thing:
    return (Part(3, joined(sector(0, -0.2, 0.28, -160, 90, 0.15), sector(0, 0.2, 0.28, -90, 160, 0.15))),)


@cache
def _two() -> Thing:
    return (
        Part(
            3,
            joined(
                sector(0, -0.2, 0.27, -180, 40, 0.14),
                drawn("M 0.1 -0.14 L 0.22 -0.04 L -0.06 0.32 L 0.27 0.32 L 0.27 0.46 L -0.27 0.46 L -0.27 0.34 Z"),
            ),
        ),
    )


def _projector(s: Sketch) -> None:
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
    s.put(0.6, projector(), x, foot, size, flip=flip)


@cache
def projector() -> Thing:
    """A projector looking right, one unit tall, with two reels."""

    def reel(x: float, y: float, r: float) -> Thing:
        holes = joined(
            *(
                circle(x + r * 0.56 * math.cos(a), y + r * 0.56 * math.sin(a), r * 0.22)
                for a in np.linspace(0.3, 0.3 + 2 * math.pi, 6)[:-1]
            )
        )
        return (Part(4, circle(x, y, r)), Part(3, holes), Part(5, circle(x, y, r * 0.14)))

    return thing(
        Part(5, joined(bar(-0.2, -0.16, -0.28, 0, 0.05), bar(0.2, -0.16, 0.28, 0, 0.05))),
        reel(-0.22, -0.8, 0.24),
        reel(0.24, -0.74, 0.19),
        Part(5, rounded(-0.42, -0.52, 0.78, 0.4, 0.07)),
        Part(2, rounded(0.34, -0.4, 0.14, 0.2, 0.03)),
        Part(4, rect(0.46, -0.42, 0.05, 0.24)),
        Part(3, circle(-0.14, -0.32, 0.11)),
        Part(5, circle(-0.14, -0.32, 0.04)),
        Part(3, joined(*(rounded(0.06, -0.43 + 0.08 * k, 0.2, 0.04, 0.02) for k in range(3)))),
    )


def film_mark(rng: np.random.Generator) -> Thing:
    """A clapperboard."""
    stripes = joined(
        *(drawn(f"M {x} -0.36 L {x + 0.14} -0.36 L {x + 0.06} -0.2 L {x - 0.08} -0.2 Z") for x in (-0.36, -0.08, 0.2))
    )
    arm = thing(Part(3, rounded(-0.5, -0.38, 1.0, 0.18, 0.03)), Part(5, stripes))
    return thing(
        placed(arm, -0.5 + 0.5 * math.cos(0.26), -0.13 - 0.02, 1.0, -15),
        Part(3, rounded(-0.5, -0.2, 1.0, 0.6, 0.04)),
        Part(4, drawn("M -0.1 -0.04 L 0.2 0.12 L -0.1 0.28 Z")),
    )
