"""Lamp and candle: light in the dark."""

from __future__ import annotations

from functools import cache

import numpy as np

from salon.render.motifs.plants import blade
from salon.render.motifs.sketch import Part, Sketch, Thing, drawn, placed, ribbon, thing
from salon.render.motifs.staging import sky
from salon.render.shapes import circle, ellipse, joined, polygon, rect, rounded, sector

# Lamp


def lamp(s: Sketch) -> None:
    """Lamps on long cords, each with its cone of light over a laid table; or bare bulbs that glow in the dark."""
    sky(s, 3)
    s.one_of(_shades, _shades, _bulbs)(s)


def _bulbs(s: Sketch) -> None:
    """Bulbs at several heights, rings of light about them, one far larger than the rest."""
    count = max(1, round(s.wide * 1.7)) if s.wide > 0.9 else 1
    lead = int(s.rng.integers(count))
    for i in range(count):
        x = s.x((i + 0.5) / count) + (s.unit * s.between(-0.06, 0.06) if count == 1 else 0.0)
        size = min(s.unit * (0.62 if i == lead else 0.34), s.width / count * 0.9)
        y = s.y(s.between(0.46, 0.54) if i == lead else s.between(0.3, 0.66))
        s.add(0.1, 2, circle(x, y, size * 0.92))
        s.add(0.2, 1, circle(x, y, size * 0.66))
        s.add(0.3, 5, rect(x - size * 0.02, s.top, size * 0.04, y - size * 0.4 - s.top))
        s.put(0.5, bulb(), x, y, size)


@cache
def bulb() -> Thing:
    """A glowing bulb hung by its cap, the middle of its glass at the origin."""
    glass = (
        "M 0 0.5 C 0.3 0.5 0.42 0.26 0.38 0.04 C 0.34 -0.12 0.16 -0.18 0.14 -0.32 L -0.14 -0.32 "
        "C -0.16 -0.18 -0.34 -0.12 -0.38 0.04 C -0.42 0.26 -0.3 0.5 0 0.5 Z"
    )
    wire = [
        (-0.07, -0.3),
        (-0.12, 0.0),
        (-0.16, 0.16),
        (-0.06, 0.06),
        (0, 0.18),
        (0.06, 0.06),
        (0.16, 0.16),
        (0.12, 0.0),
        (0.07, -0.3),
    ]
    return (
        Part(4, drawn(glass)),
        Part(3, ribbon(wire, 0.028)),
        Part(5, sector(0, 0.14, 0.3, 20, 70, 0.25)),
        Part(5, rounded(-0.16, -0.5, 0.32, 0.2, 0.04)),
        Part(3, joined(rect(-0.16, -0.45, 0.32, 0.03), rect(-0.16, -0.38, 0.32, 0.03))),
    )


def _shades(s: Sketch) -> None:
    """One lamp, or several in a row, over a table."""
    level = 0.82
    count = max(1, round(s.wide * 1.15))
    shade = s.one_of(dome_shade, cone_shade, bell_shade)
    drops = [s.between(0.26, 0.34) + (0.1 if i % 2 else 0.0) for i in range(count)]
    for i, drop in enumerate(drops):
        x = s.x((i + 0.5) / count) + s.unit * s.between(-0.04, 0.04)
        size = s.unit * (0.34 if count > 1 else s.between(0.42, 0.5))
        y = s.y(drop)
        reach = size * (0.95 if count > 1 else 1.0)
        s.add(
            0.1,
            2,
            polygon([(x - size * 0.4, y), (x + size * 0.4, y), (x + reach, s.y(level)), (x - reach, s.y(level))]),
        )
        s.add(0.2, 1, ellipse(x, s.y(level), reach, size * 0.1))
        s.add(0.5, 5, rect(x - size * 0.016, s.top, size * 0.032, y - size * 0.4 - s.top))
        s.put(0.55, shade(), x, y, size)
        _laid(s, i, x, s.y(level), size)
    s.add(0.3, 4, rect(s.left, s.y(level), s.width, s.height))
    s.add(0.35, 5, rect(s.left, s.y(level), s.width, s.unit * 0.018))


def _laid(s: Sketch, i: int, x: float, y: float, size: float) -> None:
    """What stands in the light."""
    pot = thing(
        placed(blade(5), 0, -0.42, 0.5, -32),
        placed(blade(5), 0, -0.42, 0.5, 32),
        placed(blade(5), 0, -0.42, 0.6),
        Part(4, drawn("M -0.2 -0.46 L 0.2 -0.46 L 0.14 0 L -0.14 0 Z")),
    )
    stack = (
        Part(3, rect(-0.4, -0.13, 0.8, 0.13)),
        Part(5, rect(-0.34, -0.24, 0.7, 0.11)),
        Part(4, rect(-0.38, -0.36, 0.66, 0.12)),
    )
    glass = (
        Part(
            5,
            drawn(
                "M -0.2 -0.6 L 0.2 -0.6 C 0.2 -0.36 0.12 -0.3 0.02 -0.28 L 0.02 -0.05 L 0.14 0 "
                "L -0.14 0 L -0.02 -0.05 L -0.02 -0.28 C -0.12 -0.3 -0.2 -0.36 -0.2 -0.6 Z"
            ),
        ),
    )
    first = int(s.rng.integers(3))
    s.put(0.4, (pot, stack, glass)[(first + i) % 3], x + size * s.between(-0.2, 0.2), y, size * 0.62)


@cache
def dome_shade() -> Thing:
    """A half round shade hung at the origin."""
    return (
        Part(5, ellipse(0, 0, 0.16, 0.09)),
        Part(4, sector(0, 0, 0.44, 180, 360)),
        Part(5, rounded(-0.06, -0.5, 0.12, 0.1, 0.03)),
    )


@cache
def cone_shade() -> Thing:
    """A cone with a cut tip."""
    return (
        Part(5, circle(0, 0.01, 0.12)),
        Part(4, drawn("M -0.46 0 L -0.14 -0.4 L 0.14 -0.4 L 0.46 0 Z")),
        Part(5, drawn("M -0.2 -0.325 L 0.2 -0.325 L 0.27 -0.24 L -0.27 -0.24 Z")),
    )


@cache
def bell_shade() -> Thing:
    """A bell with a wide rim."""
    return (
        Part(5, circle(0, 0.0, 0.1)),
        Part(
            4,
            drawn(
                "M -0.46 0 C -0.44 -0.1 -0.22 -0.12 -0.2 -0.32 L -0.1 -0.48 L 0.1 -0.48 "
                "L 0.2 -0.32 C 0.22 -0.12 0.44 -0.1 0.46 0 Z"
            ),
        ),
    )


def lamp_mark(rng: np.random.Generator) -> Thing:
    """A hanging lamp and its light."""
    return (
        Part(4, drawn("M -0.3 0.02 L 0.3 0.02 L 0.52 0.46 L -0.52 0.46 Z")),
        Part(3, rect(-0.03, -0.62, 0.06, 0.24)),
        Part(3, sector(0, 0, 0.42, 180, 360)),
    )


# Candle


def candle(s: Sketch) -> None:
    """Candles of many heights in the dark, each with rings of light about its flame."""
    sky(s, 3)
    level = 0.86
    count = max(3, round(s.wide * 3.2)) if s.wide > 0.6 else 3
    step = s.width / (count + 0.4)
    lead = int(s.rng.integers(1, count - 1))
    order = sorted(range(count), key=lambda i: -abs(i - lead))
    for rank, i in enumerate(order):
        x = s.left + step * (i + 0.7) + step * s.between(-0.08, 0.08)
        near = 1 - abs(i - lead) / count
        tall = s.height * (0.54 * near * s.between(0.82, 1.0) + 0.1)
        wide = min(step * s.between(0.42, 0.56), tall * 0.5)
        depth = 0.4 + 0.4 * rank / count
        _candle(s, depth, x, s.y(level + 0.03), wide, tall, s.one_of("plain", "stick", "twisted"))
    s.add(0.3, 2, rect(s.left, s.y(level), s.width, s.height))


def _candle(s: Sketch, depth: float, x: float, foot: float, wide: float, tall: float, kind: str) -> None:
    """One candle on the table with its flame and light."""
    flame_high = wide * 1.15
    top = foot - tall
    s.add(0.1, 2, circle(x, top - flame_high * 0.5, wide * 1.9))
    s.add(0.2, 1, circle(x, top - flame_high * 0.5, wide * 1.15))
    if kind == "stick":
        base = foot - tall * 0.34
        s.add(depth, 4, *(part.path for part in placed(stick(), x, foot, tall * 0.34)))
    else:
        base = foot
    body = rounded(
        x - wide / 2 * (0.7 if kind == "stick" else 1),
        top,
        wide * (0.7 if kind == "stick" else 1),
        base - top,
        wide * 0.12,
    )
    s.add(depth, 5, body)
    if kind == "twisted":
        rise = wide * 0.5
        bands = [
            polygon(
                [
                    (x - wide / 2, y),
                    (x + wide / 2, y - rise),
                    (x + wide / 2, y - rise * 0.55),
                    (x - wide / 2, y + rise * 0.45),
                ]
            )
            for y in np.arange(top + rise * 1.6, base - rise * 0.5, rise * 1.3).tolist()
        ]
        s.add(depth, 2, joined(*bands))
    s.add(depth, 3, rect(x - wide * 0.03, top - wide * 0.18, wide * 0.06, wide * 0.2))
    s.put(depth, flame(), x, top - wide * 0.1, flame_high)


@cache
def flame() -> Thing:
    """A flame one unit tall."""
    return (
        Part(
            4,
            drawn(
                "M 0.02 -1 C 0.34 -0.6 0.36 -0.34 0.28 -0.16 C 0.2 0.02 -0.2 0.02 -0.28 -0.16 "
                "C -0.38 -0.42 -0.1 -0.62 0.02 -1 Z"
            ),
        ),
        Part(
            5,
            drawn(
                "M 0.02 -0.5 C 0.16 -0.32 0.16 -0.2 0.12 -0.12 "
                "C 0.06 -0.02 -0.06 -0.02 -0.12 -0.12 C -0.16 -0.24 -0.06 -0.32 0.02 -0.5 Z"
            ),
        ),
    )


@cache
def stick() -> Thing:
    """A turned candlestick, one unit tall."""
    return (
        Part(
            4,
            joined(
                drawn("M -0.3 -1 L 0.3 -1 L 0.2 -0.84 L -0.2 -0.84 Z"),
                rect(-0.07, -0.86, 0.14, 0.76),
                ellipse(0, -0.56, 0.17, 0.1),
                drawn("M -0.4 0 C -0.36 -0.14 -0.1 -0.12 -0.06 -0.2 L 0.06 -0.2 C 0.1 -0.12 0.36 -0.14 0.4 0 Z"),
            ),
        ),
    )


def candle_mark(rng: np.random.Generator) -> Thing:
    """A candle on a dish."""
    return thing(
        placed(flame(), 0, -0.62, 0.42),
        Part(3, rounded(-0.13, -0.6, 0.26, 0.56, 0.03)),
        Part(
            2,
            drawn(
                "M -0.38 -0.06 L 0.38 -0.06 C 0.34 0.08 0.2 0.1 0.1 0.1 L -0.1 0.1 C -0.2 0.1 -0.34 0.08 -0.38 -0.06 Z"
            ),
        ),
    )
