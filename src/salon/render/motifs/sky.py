"""Scenes in the sky: sun, moon, stars, balloon, rocket, globe."""

from __future__ import annotations

import math

from salon.render.motifs.drawings import drawing, placed, retoned
from salon.render.motifs.sketch import Sketch, clouds, hill, rays, sky, wall
from salon.render.shapes import circle, polygon, rect, rounded, sector, star

# Sun


def sun(s: Sketch) -> None:
    """A great sun: with pointed rays, rising in rings over hills, or setting into bars."""
    sky(s)
    s.one_of(pointed_sun, risen_sun, barred_sun)(s)


def pointed_sun(s: Sketch) -> None:
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


def risen_sun(s: Sketch) -> None:
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
        s.put(0.45, drawing("sea", "gull", 3), x, y, s.unit * s.between(0.08, 0.13))


def barred_sun(s: Sketch) -> None:
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


# Moon


def moon(s: Sketch) -> None:
    """A crescent or a cratered disc in a ring of light, night hills, a few stars, a path of light on water."""
    sky(s, 3)
    x, y = s.x(s.between(0.36, 0.64)), s.y(s.between(0.34, 0.4))
    r = s.unit * s.between(0.24, 0.3)
    tone, halo = s.one_of((5, 2), (5, 2), (4, 1))
    s.add(0.1, halo, circle(x, y, r * 1.55))
    if s.chance(0.6):
        s.put(0.3, drawing("moon", "crescent", tone), x, y, r * 2, turn=s.between(-35, 10))
    else:
        s.add(0.3, tone, circle(x, y, r))
        for angle, reach, size in ((200, 0.45, 0.22), (330, 0.5, 0.14), (80, 0.52, 0.17), (20, 0.1, 0.1)):
            turn = math.radians(angle + s.between(-15, 15))
            s.add(0.35, halo, circle(x + r * reach * math.cos(turn), y + r * reach * math.sin(turn), r * size))
    _scatter(s, x, y, r * 1.75, 10 + int(8 * max(s.wide, 1 / s.wide)), 0.62)
    s.one_of(moonlit_water, night_hills)(s, x)


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


def moonlit_water(s: Sketch, x: float) -> None:
    """Water with a path of light."""
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


def night_hills(s: Sketch, x: float) -> None:
    """Three hills in the dark."""
    for i, tone in enumerate((1, 2, 4)):
        s.add(0.5 + 0.15 * i, tone, hill(s, 0.68 + 0.1 * i, s.between(-0.08, 0.08), 0.04))


# Stars


def stars(s: Sketch) -> None:
    """A night full of stars: one great star, a shooting one, or a swarm; hills at its foot."""
    sky(s, 3)
    s.one_of(great_star, shooting_star, star_trails)(s)
    s.add(0.8, 2, hill(s, 0.84, s.between(-0.06, 0.06), 0.04))
    s.add(0.9, 1, hill(s, 0.92, s.between(-0.04, 0.04), 0.03))


def great_star(s: Sketch) -> None:
    """An eight-pointed star in halves of two tones, lesser ones around it."""
    x, y, r = s.x(s.between(0.4, 0.6)), s.y(s.between(0.36, 0.44)), s.unit * s.between(0.32, 0.38)
    s.add(0.15, 2, circle(x, y, r * 0.8))
    s.add(0.3, 5, star(x, y, r * 0.52, r * 0.2, 4, -45))
    s.put(0.4, drawing("stars", "facet-star"), x, y, r)
    _swarm(s, x, y, r * 1.1, 0.78)


def shooting_star(s: Sketch) -> None:
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


def star_trails(s: Sketch) -> None:
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
                s.put(0.35, drawing("stars", "facet-star", 5), px, py, r)
            else:
                s.add(0.35, s.one_of(4, 5), star(px, py, r, r * 0.42, s.one_of(4, 5)))


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
            retoned(drawing("balloon", ("striped-balloon", "zigzag-balloon")[k % 2]), look),
            s.x(0.5 + side * dx),
            s.y(y + s.between(-0.03, 0.03)),
            size * share * s.between(0.9, 1.1),
        )
    s.put(0.5, drawing("balloon", s.one_of("striped-balloon", "zigzag-balloon")), x, s.y(s.between(0.36, 0.4)), size)
    for k, tone in enumerate((1, 2, 3)):
        s.add(0.6 + 0.1 * k, tone, hill(s, 0.8 + 0.065 * k, s.between(-0.06, 0.06), 0.03))


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
    s.put(0.5, drawing("rocket", s.one_of("collared-rocket", "banded-rocket")), x, y, size, turn=turn)
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
        *(part.path for part in placed(drawing("rocket", "planet-ring"), x, y, r, -18)),
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


# Globe


def globe(s: Sketch) -> None:
    """The earth among orbits and clouds, or a globe on its stand upon a desk."""
    if s.chance(0.6) or s.wide < 0.6:
        earth_in_orbit(s)
    else:
        globe_on_a_desk(s)


def earth_in_orbit(s: Sketch) -> None:
    """The earth within rings of light, two moons on its orbit."""
    sky(s, 3)
    r = s.unit * s.between(0.32, 0.36)
    x, y = s.x(s.between(0.44, 0.56)), s.y(s.between(0.46, 0.54))
    for k, share in enumerate((2.3, 1.85, 1.42)):
        s.add(0.1 + 0.02 * k, (2, 3, 1)[k], circle(x, y, r * share))
    s.put(0.5, drawing("globe", "earth"), x, y, r, turn=s.between(-20, 20), flip=s.chance(0.5))
    turn = s.between(-30, -12)
    s.put(0.6, placed(drawing("globe", "half-orbit"), x, y, r, turn), 0, 0, 1)
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


def globe_on_a_desk(s: Sketch) -> None:
    """A globe on its stand beside stacks of books."""
    wall(s, 0.76)
    size = min(s.height * 0.74, s.width * 0.8)
    side = s.one_of(-1, 1)
    x = s.x(0.5 - side * (0.06 if s.wide < 1.3 else 0.14))
    foot = s.y(0.84)
    s.put(0.6, drawing("globe", "desk-globe"), x, foot, size)
    s.put(0.5, drawing("book", "book-stack"), x + side * size * 0.66, foot - s.height * 0.02, size * 0.62)
    if s.wide > 1.3:
        s.put(
            0.5,
            retoned(drawing("book", "book-stack"), {3: 4, 4: 3}),
            x - side * size * 0.85,
            foot - s.height * 0.02,
            size * 0.5,
            flip=True,
        )
