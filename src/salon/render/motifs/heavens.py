"""Sun, moon, stars: what hangs above, over land or water."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.marks import Path
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, placed
from salon.render.motifs.staging import clouds, hill, rays, sky
from salon.render.shapes import circle, joined, polygon, rect, rounded, sector, star, turned

# Sun


def sun(s: Sketch) -> None:
    """A great sun: with pointed rays, rising in rings over hills, or setting into bars."""
    sky(s)
    s.one_of(_pointed_sun, _risen_sun, _barred_sun)(s)


def _pointed_sun(s: Sketch) -> None:
    """Long and short rays about a disc, clouds across its foot."""
    x, y = s.x(s.between(0.4, 0.6)), s.y(s.between(0.42, 0.5))
    r = s.unit * s.between(0.2, 0.24)
    count = s.one_of(10, 12, 14)
    s.add(0.1, 1, rays(x, y, math.hypot(s.width, s.height), count * 2, s.between(0, 30)))
    s.add(0.3, 2, star(x, y, r * 2.15, r * 1.3, count, -90))
    s.add(0.4, 4, star(x, y, r * 1.75, r * 1.2, count, -90 + 180 / count))
    s.add(0.5, 3, circle(x, y, r * 1.12))
    s.add(0.6, 4, circle(x, y, r * 0.92))
    level = 0.84
    clouds(s, 0.7, 5, 2 + int(s.wide), level + 0.01, level + 0.03)
    s.add(0.8, 2, hill(s, level, s.between(-0.04, 0.04), 0.02))
    s.add(0.9, 3, hill(s, level + 0.08, s.between(-0.04, 0.04), 0.02))


def _risen_sun(s: Sketch) -> None:
    """Rings of light over rolling hills."""
    x, y = s.x(s.between(0.3, 0.7)), s.y(0.62)
    reach = max(s.width * 0.75, s.height * 0.62)
    r = s.unit * s.between(0.24, 0.3)
    s.add(0.1, 1, circle(x, y, reach))
    s.add(0.15, 0, circle(x, y, reach * 0.8))
    s.add(0.2, 1, circle(x, y, r + (reach - r) * 0.42))
    s.add(0.25, 2, circle(x, y, r * 1.34))
    s.add(0.3, 4, circle(x, y, r))
    for i, tone in enumerate((2, 1, 3)):
        s.add(0.5 + 0.15 * i, tone, hill(s, 0.66 + 0.11 * i, s.between(-0.1, 0.1), 0.04))
    for i in range(3):
        x, y = s.x(0.2 + 0.25 * i + s.between(-0.05, 0.05)), s.y(0.07 + 0.06 * ((i * 2) % 3))
        s.put(0.45, gull(3), x, y, s.unit * s.between(0.08, 0.13))


def _barred_sun(s: Sketch) -> None:
    """A disc that dissolves into bars as it sinks, rays above it, water below."""
    x, r = s.x(0.5), s.unit * s.between(0.34, 0.4)
    level = 0.7
    y = s.y(level) - r * s.between(0.1, 0.4)
    s.add(0.1, 1, rays(x, y, math.hypot(s.width, s.height), 28, s.between(0, 12)))
    s.add(0.3, 4, circle(x, y, r))
    s.add(0.4, 2, rect(s.left, s.y(level), s.width, s.height))
    gap = (s.bottom - s.y(level)) / 6
    for i in range(6):
        half = r * (1.0 - 0.13 * i) * s.between(0.86, 1.1)
        shift = s.unit * s.between(-0.05, 0.05)
        s.add(0.5, 4, rounded(x - half + shift, s.y(level) + gap * (i + 0.22), 2 * half, gap * 0.5, gap))
    dunes = s.within(0, 0.5, 1, 1)
    dunes.add(0.35, 3, polygon([(s.left, s.y(level)), (s.left, s.y(level - 0.13)), (s.x(0.34), s.y(level))]))
    dunes.add(0.35, 3, polygon([(s.right, s.y(level)), (s.right, s.y(level - 0.08)), (s.x(0.74), s.y(level))]))


@cache
def gull(tone: int) -> Thing:
    """A bird far off: two wings."""
    commands = (
        ("M", -1.0, -0.3),
        ("Q", -0.4, -0.62, 0.0, 0.0),
        ("Q", 0.4, -0.62, 1.0, -0.3),
        ("Q", 0.4, -0.34, 0.0, 0.28),
        ("Q", -0.4, -0.34, -1.0, -0.3),
        ("Z",),
    )
    return (Part(tone, Path(commands)),)


def sun_mark(rng: np.random.Generator) -> Thing:
    """A disc and twelve rays."""
    spokes = [turned(bar(0, -0.43, 0, -0.34, 0.07), 30 * i, 0, 0) for i in range(12)]
    return (Part(4, circle(0, 0, 0.24)), Part(3, joined(*spokes)))


# Moon


def moon(s: Sketch) -> None:
    """A crescent or a cratered disc in a ring of light, night hills, a few stars, a path of light on water."""
    sky(s, 3)
    x, y = s.x(s.between(0.36, 0.64)), s.y(s.between(0.34, 0.4))
    r = s.unit * s.between(0.24, 0.3)
    tone, halo = s.one_of((5, 2), (5, 2), (4, 1))
    s.add(0.1, halo, circle(x, y, r * 1.55))
    if s.chance(0.6):
        s.put(0.3, crescent(tone), x, y, r * 2, turn=s.between(-35, 10))
    else:
        s.add(0.3, tone, circle(x, y, r))
        for angle, reach, size in ((200, 0.45, 0.22), (330, 0.5, 0.14), (80, 0.52, 0.17), (20, 0.1, 0.1)):
            turn = math.radians(angle + s.between(-15, 15))
            s.add(0.35, halo, circle(x + r * reach * math.cos(turn), y + r * reach * math.sin(turn), r * size))
    _scatter(s, x, y, r * 1.75, 10 + int(8 * max(s.wide, 1 / s.wide)), 0.62)
    s.one_of(_moonlit_water, _night_hills)(s, x)


def _scatter(s: Sketch, x: float, y: float, clear: float, count: int, low: float) -> None:
    """Small stars on an uneven grid above `low`, none within `clear` of (x, y)."""
    cell = math.sqrt(s.width * s.height * low / count)
    for j in range(int(s.height * low / cell) + 1):
        for i in range(int(s.width / cell) + 1):
            px, py = s.left + (i + s.between(0.2, 0.8)) * cell, s.top + (j + s.between(0.2, 0.8)) * cell
            if math.dist((px, py), (x, y)) < clear or py > s.y(low) or px > s.right - cell * 0.1:
                continue
            r = s.unit * s.between(0.006, 0.014)
            s.add(0.2, s.one_of(5, 5, 4), star(px, py, r * 2.6, r * 0.7, 4) if s.chance(0.4) else circle(px, py, r))


def _moonlit_water(s: Sketch, x: float) -> None:
    level = 0.7
    s.add(0.5, 1, hill(s, level - 0.05, s.between(-0.03, 0.03), 0.02))
    s.add(0.6, 2, rect(s.left, s.y(level), s.width, s.height))
    gap = (s.bottom - s.y(level)) / 7
    for i in range(6):
        half = s.unit * (0.05 + 0.035 * i) * s.between(0.8, 1.2)
        shift = s.unit * s.between(-0.04, 0.04)
        s.add(0.7, 5, rounded(x - half + shift, s.y(level) + gap * (i + 0.5), 2 * half, gap * 0.4, gap))
    for side in (s.left, s.right):
        s.add(0.8, 3, circle(side, s.bottom + s.unit * 0.1, s.unit * s.between(0.28, 0.36)))


def _night_hills(s: Sketch, x: float) -> None:
    for i, tone in enumerate((1, 2, 4)):
        s.add(0.5 + 0.15 * i, tone, hill(s, 0.68 + 0.1 * i, s.between(-0.08, 0.08), 0.04))


@cache
def crescent(tone: int) -> Thing:
    """A crescent open to the right, its full disc one unit across."""
    outer = [(0.5 * math.cos(a), 0.5 * math.sin(a)) for a in np.linspace(math.radians(48), math.radians(312), 40)]
    cx, r = 0.2, math.dist((0.2, 0.0), outer[0])
    start = math.atan2(outer[0][1], outer[0][0] - cx)
    inner = [(cx + r * math.cos(a), r * math.sin(a)) for a in np.linspace(2 * math.pi - start, start, 30)]
    return (Part(tone, polygon([*outer, *inner[1:-1]])),)


def moon_mark(rng: np.random.Generator) -> Thing:
    """A tilted crescent, a gleam and a fleck beside it."""
    return (
        *placed(crescent(3), turn=-30),
        Part(4, star(0.33, -0.3, 0.15, 0.05, 4)),
        Part(4, circle(0.16, 0.02, 0.035)),
    )


# Stars


def stars(s: Sketch) -> None:
    """A night full of stars: one great star, a shooting one, or a swarm; hills at its foot."""
    sky(s, 3)
    s.one_of(_great_star, _shooting_star, _star_trails)(s)
    s.add(0.8, 2, hill(s, 0.84, s.between(-0.06, 0.06), 0.04))
    s.add(0.9, 1, hill(s, 0.92, s.between(-0.04, 0.04), 0.03))


def _great_star(s: Sketch) -> None:
    """An eight-pointed star in halves of two tones, lesser ones around it."""
    x, y, r = s.x(s.between(0.4, 0.6)), s.y(s.between(0.36, 0.44)), s.unit * s.between(0.32, 0.38)
    s.add(0.15, 2, circle(x, y, r * 0.8))
    s.add(0.3, 5, star(x, y, r * 0.52, r * 0.2, 4, -45))
    s.put(0.4, facet_star(4, 4, 5), x, y, r)
    _swarm(s, x, y, r * 1.1, 0.78)


def _shooting_star(s: Sketch) -> None:
    """A star with a tail of three tones, falling across the box."""
    side = s.one_of(-1, 1)
    x, y = s.x(0.5 + side * s.between(0.1, 0.2)), s.y(s.between(0.52, 0.6))
    r = s.unit * s.between(0.15, 0.18)
    far = max(s.width, s.height)
    for tone, start, stop in ((1, -0.78, -0.3), (2, -0.3, 0.26), (4, 0.26, 0.78)):
        s.add(
            0.3,
            tone,
            polygon(
                [
                    (x + r * start * 0.8, y + r * start * side * -0.5),
                    (x + r * stop * 0.8, y + r * stop * side * -0.5),
                    (x - side * far + r * stop * 0.8, y - far * 1.1),
                    (x - side * far + r * start * 0.8, y - far * 1.1),
                ]
            ),
        )
    s.add(0.5, 5, star(x, y, r * 1.3, r * 0.62, 5, -90 + side * s.between(6, 20)))
    _swarm(s, x, y, r * 1.7, 0.8)


def _star_trails(s: Sketch) -> None:
    """Arcs about the pole, stars at their heads."""
    x, y = s.x(s.between(0.3, 0.7)), s.y(0.86)
    step = s.unit * 0.085
    for i in range(2, int(math.hypot(s.width, s.height) / step)):
        start, sweep, r = 190 + 110 * (i * 0.618 % 1), s.between(40, 80), step * i
        s.add(0.2, (1, 2, 4)[i % 3], sector(x, y, r + step * 0.2, start - sweep, start, r - step * 0.2))
        s.add(0.2, (2, 4, 1)[i % 3], sector(x, y, r + step * 0.2, start + 14, start + 14 + sweep, r - step * 0.2))
        head = math.radians(start)
        s.add(0.4, 5, star(x + r * math.cos(head), y + r * math.sin(head), step * 0.8, step * 0.32, s.one_of(4, 5)))


def _swarm(s: Sketch, x: float, y: float, clear: float, low: float) -> None:
    """Stars of several sizes and makes, well apart from each other and from (x, y)."""
    cell = s.unit * 0.21
    for j in range(int(s.height * low / cell) + 1):
        for i in range(int(s.width / cell) + 1):
            px, py = s.left + (i + s.between(0.3, 0.7)) * cell, s.top + (j + s.between(0.3, 0.7)) * cell
            r = cell * s.one_of(0.1, 0.1, 0.18, 0.28)
            if math.dist((px, py), (x, y)) < clear + r or px + r > s.right or py > s.y(low):
                continue
            if r > cell * 0.2:
                s.put(0.35, facet_star(4, 5, 5), px, py, r)
            else:
                s.add(0.35, s.one_of(4, 5), star(px, py, r, r * 0.42, s.one_of(4, 5)))


@cache
def facet_star(points: int, tone: int, shade: int) -> Thing:
    """A slim star of radius one, each point cut in a light and a dark half."""
    whole = star(0, 0, 1, 0.3, points)
    halves = []
    for i in range(points):
        a, b = math.radians(-90 + 360 * i / points), math.radians(-90 + 360 * (i + 0.5) / points)
        halves.append(polygon([(0, 0), (math.cos(a), math.sin(a)), (0.3 * math.cos(b), 0.3 * math.sin(b))]))
    return (Part(tone, whole), Part(shade, joined(*halves)))


def stars_mark(rng: np.random.Generator) -> Thing:
    """A large star and two small ones."""
    return (
        Part(3, star(-0.05, 0.06, 0.44, 0.19, 5)),
        Part(4, star(0.42, -0.34, 0.17, 0.06, 4)),
        Part(2, star(0.46, 0.4, 0.12, 0.045, 4)),
    )
