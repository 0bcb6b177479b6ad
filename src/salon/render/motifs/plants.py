"""Flower and leaf: things that grow, large enough to fill the sheet."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from salon.render.marks import Command, Path
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, placed, retoned, ribbon, taper, thing
from salon.render.motifs.staging import hill, sky, wall
from salon.render.shapes import circle, ellipse, joined, rect, sector, turned

Bloom = Callable[[], Thing]

# Flower


def flower(s: Sketch) -> None:
    """A meadow seen from among the stems, or a bunch in a vase."""
    if s.chance(0.35) and 0.5 < s.wide < 1.4:
        _vase(s)
    else:
        _meadow(s)


def _meadow(s: Sketch) -> None:
    """Blooms on long stems at three depths, cut off by the edges."""
    sky(s)
    s.add(0.05, 1, circle(s.x(s.between(0.25, 0.75)), s.y(s.between(0.3, 0.45)), s.unit * s.between(0.36, 0.44)))
    kinds = [daisy, poppy, tulip, coneflower]
    s.rng.shuffle(kinds)
    tones: tuple[dict[int, int], ...] = ({3: 2, 4: 1, 5: 1}, {3: 4, 4: 5, 5: 3}, {})
    # All foliage is one tone, so that only blooms overlap blooms.
    for row, (depth, size, stem, low, high) in enumerate(
        ((0.2, 0.24, 2, 0.14, 0.4), (0.45, 0.36, 2, 0.2, 0.5), (0.7, 0.5, 2, 0.44, 0.7))
    ):
        size *= s.unit * (1.0 if s.wide > 0.6 else 1.15)
        count = max(1, round(s.width / size * (0.9, 0.75, 0.62)[row]))
        shift = s.between(-0.2, 0.2)
        for i in range(count):
            x = s.x((i + 0.5 + shift * (1 if count > 1 else 0.6)) / count)
            t = ((i * 0.618 + row * 0.37) % 1 + s.between(0, 0.25)) % 1
            _stalk(
                s,
                depth,
                stem,
                kinds[row % 3 if i % 2 else (row + 1) % 4],
                tones[row],
                x,
                s.y(low + (high - low) * t),
                size,
            )
    s.add(0.9, 2, hill(s, 0.95, s.between(-0.02, 0.02), 0.015))


def _stalk(
    s: Sketch, depth: float, stem: int, make: Bloom, tones: dict[int, int], x: float, y: float, size: float
) -> None:
    """One flower: a bent stem with two leaves down to the lower edge, the bloom on top."""
    bend = size * s.between(-0.3, 0.3)
    foot = s.bottom + size * 0.1
    s.add(depth, stem, ribbon([(x, y), (x + bend * 0.5, y + (foot - y) * 0.4), (x + bend, foot)], size * 0.05))
    for side in (-1, 1):
        at = s.between(0.42, 0.62)
        s.put(
            depth,
            blade(stem),
            x + bend * at,
            y + (foot - y) * at,
            size * s.between(0.55, 0.75),
            turn=side * s.between(28, 44),
        )
    s.put(depth + 0.02, retoned(make(), tones), x, y, size, turn=s.between(-12, 12))


def _vase(s: Sketch) -> None:
    """Five blooms in a round vase on a table."""
    level = 0.8
    wall(s, level)
    size = min(s.height * 0.3, s.width * 0.34)
    x, foot = s.x(s.between(0.46, 0.54)), s.y(level + 0.06)
    neck = foot - size * 1.12
    blooms: tuple[tuple[Bloom, float, float, float, dict[int, int]], ...] = (
        (daisy, -0.9, -1.02, 0.9, {}),
        (tulip, 0.95, -0.95, 0.75, {3: 4, 4: 5}),
        (coneflower, 0.05, -1.55, 0.85, {}),
        (poppy, -0.3, -0.55, 1.0, {3: 4, 4: 5, 5: 3}),
        (daisy, 0.58, -0.42, 0.8, {3: 5, 5: 3}),
    )
    for _, dx, dy, _, _ in blooms:
        tip = (x + dx * size, neck + dy * size)
        s.add(
            0.4,
            3,
            ribbon(
                [(x + dx * size * 0.08, neck + size * 0.1), (x + dx * size * 0.5, neck + dy * size * 0.4), tip],
                size * 0.05,
            ),
        )
    for turn in (-70, -38, 36, 74):
        s.put(0.42, blade(2), x, neck, size * s.between(0.85, 1.05), turn=turn + s.between(-6, 6))
    for make, dx, dy, share, tones in blooms:
        s.put(0.5, retoned(make(), tones), x + dx * size, neck + dy * size, size * share, turn=dx * 18)
    s.put(0.7, vase(), x, foot, size * 1.2)


@cache
def vase() -> Thing:
    """A round vase one unit tall with a band."""
    return (
        Part(
            3,
            drawn(
                "M -0.2 -1 L 0.2 -1 C 0.16 -0.84 0.42 -0.72 0.42 -0.42 C 0.42 -0.16 0.28 0 0.2 0 "
                "L -0.2 0 C -0.28 0 -0.42 -0.16 -0.42 -0.42 C -0.42 -0.72 -0.16 -0.84 -0.2 -1 Z"
            ),
        ),
        Part(5, drawn("M -0.415 -0.47 Q 0 -0.4 0.415 -0.47 L 0.412 -0.33 Q 0 -0.26 -0.412 -0.33 Z")),
    )


def petals(count: int, length: float, width: float, start: float = 0.0, inner: float = 0.0) -> Path:
    """Rounded petals about the origin."""
    petal = ellipse(0, -(inner + length) / 2, width / 2, (length - inner) / 2)
    return joined(*(turned(petal, start + 360 * i / count, 0, 0) for i in range(count)))


@cache
def daisy() -> Thing:
    """Twelve slim petals and a disc, one unit across."""
    return (Part(3, petals(12, 0.5, 0.16)), Part(4, circle(0, 0, 0.16)), Part(5, circle(0, 0, 0.07)))


@cache
def poppy() -> Thing:
    """Four broad petals, a dark heart with stamens."""
    lobes = joined(
        *(circle(0.21 * math.cos(a), 0.21 * math.sin(a), 0.27) for a in np.linspace(0.4, 0.4 + 1.5 * math.pi, 4))
    )
    dots = joined(*(circle(0.2 * math.cos(a), 0.2 * math.sin(a), 0.026) for a in np.linspace(0, 2 * math.pi, 11)[:-1]))
    return (Part(3, lobes), Part(4, circle(0, 0, 0.14)), Part(5, joined(dots, circle(0, 0, 0.06))))


@cache
def tulip() -> Thing:
    """A cup of three petals seen from the side."""
    return (
        Part(4, drawn("M -0.1 -0.3 L 0 -0.5 L 0.1 -0.3 L 0.1 0.2 L -0.1 0.2 Z")),
        Part(3, drawn("M 0 0.36 C -0.3 0.36 -0.38 0 -0.32 -0.44 C -0.16 -0.34 0 -0.1 0 0.36 Z")),
        Part(3, drawn("M 0 0.36 C 0.3 0.36 0.38 0 0.32 -0.44 C 0.16 -0.34 0 -0.1 0 0.36 Z")),
        Part(5, drawn("M 0 0.36 C -0.14 0.2 -0.16 -0.04 0 -0.26 C 0.16 -0.04 0.14 0.2 0 0.36 Z")),
    )


@cache
def coneflower() -> Thing:
    """Drooping petals under a dome."""
    skirt = joined(*(turned(ellipse(0, 0.27, 0.085, 0.27), angle, 0, 0) for angle in (-76, -46, -16, 16, 46, 76)))
    return (Part(3, skirt), Part(4, sector(0, 0.04, 0.24, 180, 360)), Part(5, sector(0, 0.04, 0.12, 180, 360)))


@cache
def blade(tone: int) -> Thing:
    """A slim pointed leaf, foot at the origin, one unit tall."""
    return (Part(tone, drawn("M 0 0 C -0.2 -0.3 -0.16 -0.7 0 -1 C 0.16 -0.7 0.2 -0.3 0 0 Z")),)


def flower_mark(rng: np.random.Generator) -> Thing:
    """Eight petals and a heart, on a stem with two leaves."""
    leaves = joined(*(part.path for turn in (-52, 52) for part in placed(blade(2), 0, 0.82, 0.4, turn)))
    return (
        Part(2, joined(rect(-0.025, 0.3, 0.05, 0.54), leaves)),
        Part(3, petals(8, 0.44, 0.26)),
        Part(4, circle(0, 0, 0.15)),
    )


# Leaf


def leaf(s: Sketch) -> None:
    """Sprays that fill the sheet, or three great leaves before a disc."""
    sky(s)
    if s.chance(0.45) or not 0.6 < s.wide < 1.9:
        _sprays(s)
    else:
        _great_leaves(s)


def _sprays(s: Sketch) -> None:
    """Stems side by side, each with leaves to left and right; every stem of another kind."""
    s.add(0.05, 1, circle(s.x(s.between(0.2, 0.8)), s.y(s.between(0.2, 0.5)), s.unit * s.between(0.34, 0.44)))
    count = max(2, round(s.width / (s.unit * s.between(0.36, 0.44))))
    step = s.width / count
    makes = [
        (halved_leaf, {}),
        (blade_leaf, {3: 4}),
        (halved_leaf, {3: 4, 2: 3}),
        (blade_leaf, {}),
        (halved_leaf, {3: 2, 2: 3}),
    ]
    s.rng.shuffle(makes)
    for i in range(count):
        make, tones = makes[i % 5]
        x, top = s.x(0) + (i + 0.5) * step, s.y(s.between(0.08, 0.3))
        size = step * s.between(0.66, 0.8)
        bend = step * s.between(-0.14, 0.14)
        depth = 0.3 + 0.1 * (i % 3)
        s.add(
            depth,
            3,
            ribbon(
                [(x + bend, top + size * 0.4), (x, (top + s.bottom) / 2), (x - bend, s.bottom + size)], step * 0.028
            ),
        )
        s.put(depth, retoned(make(), tones), x + bend, top + size * 0.8, size * 0.8, turn=bend / step * 60)
        pairs = max(2, round((s.bottom - top) / (size * 0.62)))
        for k in range(1, pairs + 1):
            y = top + size * 0.5 + (s.bottom - top) * k / pairs
            for side in (-1, 1):
                s.put(
                    depth,
                    retoned(make(), tones),
                    x,
                    y + side * size * 0.1,
                    size * (0.7 + 0.05 * min(k, 4)),
                    turn=side * 52,
                )


@cache
def blade_leaf() -> Thing:
    """A slim leaf with a rib."""
    return (*blade(3), Part(5, taper(0, 0, 0, -0.8, 0.028)))


def _great_leaves(s: Sketch) -> None:
    """Monstera, palm and a halved leaf rising from the lower edge, pale ones hanging into the sky."""
    s.add(0.05, 4, circle(s.x(s.between(0.35, 0.65)), s.y(s.between(0.3, 0.4)), s.unit * s.between(0.24, 0.3)))
    kinds = [monstera, halved_leaf, palm_leaf]
    s.rng.shuffle(kinds)
    size = s.unit * s.between(0.78, 0.9)
    pale = {3: 1, 2: 1, 5: 0}
    for share, turn in ((0.02, 140), (0.98, 218)):
        s.put(0.2, retoned(kinds[0](), pale), s.x(share), s.y(-0.04), size * 0.85, turn=turn + s.between(-12, 12))
    for share, turn in ((-0.04, 62), (1.04, -62)):
        faint = retoned(kinds[2](), {3: 1, 2: 2, 5: 2})
        s.put(0.3, faint, s.x(share), s.y(0.74), size * 0.8, turn=turn + s.between(-14, 14))
    side = s.one_of(-1, 1)
    left, right = retoned(kinds[1](), {3: 2, 2: 1}), retoned(kinds[2](), {3: 4, 2: 3, 5: 3})
    s.put(0.5, left, s.x(0.5 - side * 0.4), s.y(1.02), size * 0.95, turn=side * s.between(-14, 4))
    s.put(0.6, right, s.x(0.5 + side * 0.42), s.y(1.0), size * 0.85, turn=side * s.between(0, 16))
    s.put(0.8, kinds[0](), s.x(0.5 + side * s.between(0.0, 0.06)), s.y(1.05), size, turn=-side * s.between(2, 12))


@cache
def halved_leaf() -> Thing:
    """A broad leaf, one half light, with a midrib and side veins; foot at the origin, one unit tall."""
    veins = [
        taper(0, -0.24 - 0.16 * i, side * (0.2 - 0.035 * i), -0.4 - 0.155 * i, 0.02)
        for i in range(4)
        for side in (-1, 1)
    ]
    return (
        Part(3, drawn("M 0 -0.08 C -0.34 -0.16 -0.42 -0.6 0 -1 C 0.42 -0.6 0.34 -0.16 0 -0.08 Z")),
        Part(2, drawn("M 0 -0.08 C 0.34 -0.16 0.42 -0.6 0 -1 Z")),
        Part(5, joined(taper(0, 0, 0, -0.92, 0.03), *veins)),
    )


@cache
def monstera() -> Thing:
    """A heart-shaped leaf with deep cuts, foot at the origin, one unit tall."""
    half = [
        (0.02, -0.2),
        (0.16, -0.1),
        (0.34, -0.14),
        (0.45, -0.28),
        (0.2, -0.34),
        (0.48, -0.36),
        (0.49, -0.5),
        (0.22, -0.46),
        (0.46, -0.58),
        (0.41, -0.71),
        (0.19, -0.57),
        (0.36, -0.78),
        (0.26, -0.89),
        (0.12, -0.68),
        (0.19, -0.94),
        (0.0, -1.0),
    ]
    outline = [*half, *((-x, y) for x, y in reversed(half[:-1]))]
    return (
        Part(3, _rounded_corners(outline, 0.34)),
        Part(
            5,
            joined(
                taper(0, 0, 0, -0.92, 0.03),
                *(taper(0, y, side * 0.2, y - 0.1, 0.02) for y in (-0.28, -0.42, -0.57) for side in (-1, 1)),
            ),
        ),
    )


def _rounded_corners(points: list[tuple[float, float]], share: float) -> Path:
    """A polygon whose corners are rounded over `share` of the edges that meet there."""
    commands: list[Command] = []
    for i, (x, y) in enumerate(points):
        (x0, y0), (x1, y1) = points[i - 1], points[(i + 1) % len(points)]
        start = (x + (x0 - x) * share, y + (y0 - y) * share)
        commands.append(("L" if commands else "M", *start))
        commands.append(("Q", x, y, x + (x1 - x) * share, y + (y1 - y) * share))
    return Path((*commands, ("Z",)))


@cache
def palm_leaf() -> Thing:
    """A fan of slim blades along a rib, foot at the origin, one unit tall."""
    blades = []
    for i in range(7):
        y, length = -0.22 - 0.105 * i, 0.46 - 0.032 * i
        for side in (-1, 1):
            blades += [part.path for part in placed(blade(3), 0, y, length, side * (62 - 5 * i))]
    blades += [part.path for part in placed(blade(3), 0, -0.74, 0.3)]
    return (Part(3, joined(*blades)), Part(2, taper(0, 0.02, 0, -0.95, 0.035)))


def leaf_mark(rng: np.random.Generator) -> Thing:
    """One halved leaf, aslant."""
    return placed(
        thing(
            Part(3, drawn("M 0 -0.08 C -0.4 -0.16 -0.46 -0.6 0 -1 Z")),
            Part(2, drawn("M 0 -0.08 C 0.4 -0.16 0.46 -0.6 0 -1 Z")),
            Part(5, bar(0, 0.06, 0, -0.8, 0.035)),
            Part(3, bar(0, 0.08, 0, -0.08, 0.05)),
        ),
        turn=35,
    )
