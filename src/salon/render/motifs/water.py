"""Scenes on the water, in it, and in the rain: sea, boat, fish, umbrella."""

from __future__ import annotations

import math

from salon.render.marks import Path
from salon.render.motifs.drawings import drawing, retoned
from salon.render.motifs.sketch import Sketch, clouds, rays, sky, taper
from salon.render.shapes import circle, ellipse, rect, rounded, sector, swell


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
    if s.one_of("clouds", "rays") == "rays":
        s.add(0.1, 1, rays(x, s.y(level), math.hypot(s.width, s.height), 22, s.between(0, 15)))
    else:
        for i in range(4):
            width = s.width * s.between(0.3, 0.6)
            left = s.left - width * 0.3 if i % 2 else s.right - width * 0.7
            s.add(0.1, 1, rounded(left, s.y(level * (0.2 + 0.18 * i)), width, s.unit * 0.045, s.unit))
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
    s.put(
        0.42,
        drawing("boat", "sail-boat"),
        s.x(away),
        s.y(level + 0.1),
        s.unit * s.between(0.2, 0.26),
        flip=s.chance(0.5),
    )
    for i in range(3):
        s.put(
            0.25,
            drawing("sea", "gull", 3),
            s.x(away + s.between(-0.12, 0.12)),
            s.y(0.08 + 0.06 * i),
            s.unit * s.between(0.035, 0.06),
        )


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
            s.put(
                0.3, retoned(drawing("boat", "sail-boat"), {4: 1}), s.x(share), s.y(level), size * s.between(0.2, 0.34)
            )
    s.add(0.35, 2, rect(s.left, s.y(level), s.width, s.height))
    s.put(
        0.5,
        drawing("boat", s.one_of("great-boat", "junk")),
        x,
        s.y(level + 0.06),
        size,
        turn=side * s.between(2, 6),
        flip=side > 0,
    )
    waves(s, level + 0.05, (3, 2, 5, 3) if s.wide > 0.6 else (3, 2, 3, 2, 5, 3), 0.6)


# Fish


def fish(s: Sketch) -> None:
    """A shoal crossing in rows, or one great fish among weeds; bubbles, and the surface far above."""
    sky(s)
    s.add(0.1, 1, circle(s.x(s.between(0.2, 0.8)), s.y(0.06), s.unit * s.between(0.42, 0.55)))
    s.one_of(shoal, great_fish)(s)
    weeds(s)
    for _ in range(8):
        r = s.unit * s.between(0.012, 0.03)
        s.add(0.35, s.one_of(5, 2), circle(s.x(s.between(0.06, 0.94)), s.y(s.between(0.05, 0.6)), r))


def shoal(s: Sketch) -> None:
    """Rows of fish that swim one way, and one that does not."""
    size = s.unit * s.between(0.3, 0.4)
    flip = s.chance(0.5)
    rows = max(2, round(s.height * 0.74 / (size * 0.62)))
    odd = int(s.rng.integers(rows))
    for j in range(rows):
        x = s.left - size * (0.5 if j % 2 else 0.05) + size * s.between(-0.08, 0.08)
        y = s.y(0.11 + 0.68 * (j + 0.5) / rows)
        stray = s.between(0.3, 0.7)
        while x < s.right + size * 0.6:
            strange = j == odd and abs(x - s.x(stray)) < size * 0.6
            tones = {3: 4} if strange else ({} if j % 2 else {3: 2, 2: 3})
            s.put(
                0.4,
                retoned(drawing("fish", "plain-fish"), tones),
                x,
                y + s.unit * s.between(-0.012, 0.012),
                size,
                flip=flip != strange,
            )
            x += size * s.between(1.16, 1.26)


def great_fish(s: Sketch) -> None:
    """One great fish, small ones about it."""
    size = min(s.width * 0.84, s.height * 1.0)
    flip = s.chance(0.5)
    y = s.y(s.between(0.4, 0.46))
    s.put(0.5, drawing("fish", "scaled-fish"), s.x(0.5), y, size, flip=flip, turn=s.between(-8, 8))
    for _ in range(int(4 * max(s.wide, 1 / s.wide))):
        px, py = s.x(s.between(0.08, 0.92)), s.y(s.between(0.12, 0.78))
        if abs(py - y) > size * 0.3 or abs(px - s.x(0.5)) > size * 0.62:
            s.put(
                0.3,
                retoned(drawing("fish", "plain-fish"), {3: 2, 2: 1}),
                px,
                py,
                s.unit * s.between(0.13, 0.2),
                flip=not flip,
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


# Umbrella


def umbrella(s: Sketch) -> None:
    """A great umbrella in slanting rain, or a crowd of them from above."""
    if s.chance(0.62):
        umbrella_in_the_rain(s)
    else:
        umbrellas_from_above(s)


def umbrella_in_the_rain(s: Sketch) -> None:
    """One great umbrella, a second one in a wide box."""
    sky(s)
    slant = s.one_of(-1, 1) * s.between(8, 16)
    size = min(s.width * 0.86, s.height * 0.74)
    x, y = s.x(s.between(0.45, 0.55)), s.y(0.5) + size * 0.1
    step = s.unit * 0.11
    shift = math.tan(math.radians(slant))
    for i in range(-3, int(s.width / step) + 3):
        for j in range(int(s.height / (step * 1.9)) + 1):
            px = s.left + (i + (0.5 if j % 2 else 0)) * step
            py = s.top + (j + s.between(-0.25, 0.25)) * step * 1.9
            s.add(0.2, (1, 2, 1)[(i + j) % 3], taper(px - shift * step * 0.7, py + step * 0.7, px, py, s.unit * 0.018))
    clouds(s, 0.3, 2, 2 + int(s.wide), 0.06, 0.14)
    s.add(0.4, 1, rect(s.left, s.y(0.88), s.width, s.height))
    s.add(
        0.5,
        2,
        *(
            ellipse(
                s.x(0.1 + 0.3 * k + s.between(-0.04, 0.04)),
                s.y(0.93 + 0.03 * (k % 2)),
                s.unit * s.between(0.12, 0.2),
                s.unit * 0.022,
            )
            for k in range(4)
        ),
    )
    if s.wide > 1.3:
        side = s.one_of(-1, 1)
        x = s.x(0.5 - side * 0.16)
        s.put(
            0.6,
            retoned(drawing("umbrella", "open-umbrella"), {4: 3, 3: 2}),
            x + side * size * 0.74,
            y + size * 0.16,
            size * 0.6,
            turn=-slant,
        )
    s.put(0.7, drawing("umbrella", "open-umbrella"), x, y, size, turn=-slant * 0.8)


def umbrellas_from_above(s: Sketch) -> None:
    """Umbrellas as wheels of eight wedges, close together, over wet ground."""
    sky(s, 1)
    columns = max(2, round(s.width / s.unit * s.one_of(2, 2.6)))
    step = s.width / columns
    rows = math.ceil(s.height / (step * 0.8)) + 1
    for j in range(rows):
        for i in range(-1, columns + 1):
            x = s.left + (i + (0.5 if j % 2 else 1.0)) * step + step * s.between(-0.06, 0.06)
            y = s.top + (j + 0.1) * step * 0.8 + step * s.between(-0.06, 0.06)
            main, wedge = s.one_of((3, 5), (4, 5), (2, 3), (3, 4), (4, 3), (2, 5))
            s.put(
                0.4 + 0.5 * j / rows,
                retoned(drawing("umbrella", "canopy"), {3: main, 4: wedge}),
                x,
                y,
                step * s.between(0.92, 1.06),
                turn=s.between(0, 45),
            )
