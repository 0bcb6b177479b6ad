"""Mountain, forest, city, house: ground under the sky."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from salon.render.marks import Path
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, placed, thing
from salon.render.motifs.staging import hill, sky
from salon.render.shapes import circle, ellipse, joined, polygon, rect, rounded, sector

# Mountain


def mountain(s: Sketch) -> None:
    """A main peak before ranges that fade away, a disc behind a shoulder, firs or a lake in front."""
    sky(s)
    apex = s.between(0.36, 0.64)
    top = s.between(0.2, 0.3) if s.wide > 0.6 else s.between(0.3, 0.38)
    side = 1 if apex < 0.5 else -1
    r = s.unit * s.between(0.13, 0.2)
    s.add(0.1, 4, circle(s.x(apex) + side * s.unit * s.between(0.22, 0.34), s.y(top) + r * 0.5, r))
    _range(s, 0.2, 1, 0.52, 0.16)
    level = 0.74
    _peak(s, 0.4, s.x(apex) + side * s.unit * 0.46, s.y(top + 0.16), s.y(level + 0.2))
    _peak(s, 0.5, s.x(apex), s.y(top), s.y(level + 0.16))
    s.one_of(_firs, _lake, _hills)(s, level)


def _range(s: Sketch, depth: float, tone: int, level: float, swing: float) -> None:
    """A jagged row of far summits over the whole width."""
    step = s.unit * s.between(0.16, 0.22)
    count = int(s.width / step) + 3
    points = [
        (
            s.left + (i - 1 + s.between(-0.2, 0.2)) * step,
            s.y(level) - (s.between(0.6, 1.0) if i % 2 else s.between(0.0, 0.35)) * swing * s.unit * 1.2,
        )
        for i in range(count)
    ]
    s.add(depth, tone, polygon([*points, (s.right + step, s.bottom), (s.left - step, s.bottom)]))


def _peak(s: Sketch, depth: float, x: float, top: float, foot: float) -> None:
    """A summit with a lit and a shaded side, and snow with a torn hem."""
    height = foot - top
    half = max(height * s.between(0.62, 0.78), s.unit * 0.4)
    s.add(depth, 3, polygon([(x, top), (x + half, foot), (x - half, foot)]))
    lean = s.between(-0.12, 0.12)
    ridge = [(x, top), (x + half * (0.08 + lean), top + height * 0.3), (x - half * 0.06, top + height * 0.55)]
    s.add(depth, 2, polygon([*ridge, (x + half * 0.16, foot), (x - half, foot)]))
    snow = s.between(0.24, 0.34)
    hem = [(-1.0, 1.0), (-0.55, 0.72), (-0.28, 1.08), (0.05, 0.78), (0.38, 1.15), (0.62, 0.82), (1.0, 1.0)]
    # A rim of rock stays, so that the summit keeps its outline where snow and sky have one color.
    cap = [(x - half * snow * 0.8 * a, top + height * snow * b) for a, b in hem]
    s.add(depth, 5, polygon([(x, top + height * 0.06), *cap]))


def _firs(s: Sketch, level: float) -> None:
    """Two dark slopes with firs along them."""
    s.add(0.7, 2, hill(s, level + 0.02, s.between(-0.07, 0.07), 0.05))
    tilt = s.one_of(-1, 1) * s.between(0.05, 0.09)
    size = s.unit * s.between(0.2, 0.26)
    for i in range(int(s.width / (size * 0.42)) + 1):
        share = (i + s.between(0.2, 0.8)) * size * 0.42 / s.width
        s.put(0.8, fir(), s.x(share), s.y(level + 0.19 + tilt * (0.5 - share) * 2), size * s.between(0.7, 1.25))
    s.add(0.9, 3, hill(s, level + 0.13, -tilt, 0.015))


def _lake(s: Sketch, level: float) -> None:
    """Still water with broken reflections."""
    s.add(0.6, 2, hill(s, level - 0.01, s.between(-0.03, 0.03), 0.03))
    s.add(0.7, 1, rect(s.left, s.y(level + 0.05), s.width, s.height))
    gap = s.height * (0.95 - level) / 6
    for i in range(5):
        width = s.unit * s.between(0.24, 0.6)
        y, x = s.y(level + 0.05) + gap * (i + 0.8), s.x(s.between(0.2, 0.8))
        s.add(0.8, (3, 5, 2)[i % 3], rounded(x - width / 2, y, width, gap * 0.36, gap))


def _hills(s: Sketch, level: float) -> None:
    """Rounded foothills, one over the other."""
    for i, tone in enumerate((2, 3, 4)):
        s.add(0.6 + 0.1 * i, tone, hill(s, level + 0.02 + 0.08 * i, s.between(-0.08, 0.08), 0.05))


@cache
def fir(tone: int = 3) -> Thing:
    """A fir of three skirts, foot at the origin, one unit tall."""
    skirts = polygon(
        [
            (0, -1),
            (0.17, -0.66),
            (0.1, -0.66),
            (0.24, -0.38),
            (0.15, -0.38),
            (0.32, -0.08),
            (0.04, -0.08),
            (0.04, 0.04),
            (-0.04, 0.04),
            (-0.04, -0.08),
            (-0.32, -0.08),
            (-0.15, -0.38),
            (-0.24, -0.38),
            (-0.1, -0.66),
            (-0.17, -0.66),
        ]
    )
    return (Part(tone, skirts),)


def mountain_mark(rng: np.random.Generator) -> Thing:
    """Two peaks with snow, a disc beside them."""
    return (
        Part(4, circle(0.34, -0.74, 0.15)),
        Part(2, drawn("M 0.28 -0.55 L 0.7 0 L -0.1 0 Z")),
        Part(3, drawn("M -0.1 -0.9 L 0.5 0 L -0.7 0 Z")),
        Part(5, drawn("M -0.1 -0.9 L 0.1 -0.6 L 0 -0.5 L -0.1 -0.62 L -0.2 -0.48 L -0.3 -0.6 Z")),
    )


# Forest


def forest(s: Sketch) -> None:
    """Rows of trees, each darker and larger than the one behind; a low disc and a path of light."""
    sky(s)
    s.add(0.05, 4, circle(s.x(s.between(0.3, 0.7)), s.y(s.between(0.24, 0.36)), s.unit * s.between(0.16, 0.24)))
    s.one_of(_conifers, _trunks, _crowns)(s)


def _row(s: Sketch, depth: float, foot: float, size: float, spacing: float, make: Callable[[], Thing]) -> None:
    """Trees side by side over the whole width, with uneven gaps and heights."""
    x = s.left - size * spacing * s.between(0, 0.8)
    while x < s.right + size * spacing:
        s.put(depth, make(), x, s.y(foot), size * s.between(0.78, 1.15), flip=s.chance(0.5))
        x += size * spacing * s.between(0.75, 1.25)


def _conifers(s: Sketch) -> None:
    tall = min(s.height * 0.5, s.unit * 0.75)
    for i, (tone, foot, share) in enumerate(((1, 0.66, 0.62), (2, 0.8, 0.8), (3, 0.96, 1.0))):
        depth = 0.2 + 0.25 * i
        _row(s, depth, foot, tall * share, 0.42, partial(_conifer, s, tone))
        s.add(depth, tone, hill(s, foot - 0.07, s.between(-0.02, 0.02), 0.015))


def _conifer(s: Sketch, tone: int) -> Thing:
    return s.one_of(spruce, fir)(tone)


def _trunks(s: Sketch) -> None:
    """Tall stems cut off by the upper edge, some with birch marks; the light lies between them."""
    s.add(0.15, 1, hill(s, 0.72, s.between(-0.05, 0.05), 0.04))
    for depth, tone, width, count in ((0.2, 1, 0.035, 0.11), (0.4, 2, 0.06, 0.19), (0.7, 3, 0.1, 0.36)):
        foot = 0.7 + 0.3 * depth
        x = s.left + s.unit * count * s.between(0, 0.7)
        while x < s.right:
            half = s.unit * width * s.between(0.35, 0.6)
            lean = s.unit * s.between(-0.03, 0.03)
            base = s.y(foot)
            s.add(
                depth,
                tone,
                polygon(
                    [
                        (x - half * 0.8 + lean, s.top),
                        (x + half * 0.8 + lean, s.top),
                        (x + half, base - half),
                        (x + half * 1.9, base + half),
                        (x - half * 1.9, base + half),
                        (x - half, base - half),
                    ]
                ),
            )
            if tone == 3:
                _birch_marks(s, depth, x, half)
            x += s.unit * count * s.between(0.7, 1.4)
        s.add(depth, tone, hill(s, foot, s.between(-0.03, 0.03), 0.02))
    _row(s, 0.9, 1.02, s.unit * 0.16, 0.7, lambda: fern(4))


def _birch_marks(s: Sketch, depth: float, x: float, half: float) -> None:
    for i in range(6):
        y = s.y(0.06 + 0.13 * i + s.between(0, 0.06))
        side = s.one_of(-1, 1)
        s.add(
            depth,
            5,
            polygon(
                [
                    (x + side * half * 0.8, y),
                    (x - side * half * 0.1, y + half * 0.16),
                    (x + side * half * 0.8, y + half * 0.4),
                ]
            ),
        )


def _crowns(s: Sketch) -> None:
    tall = min(s.height * 0.52, s.unit * 0.72)
    for i, (tone, foot, share) in enumerate(((1, 0.62, 0.66), (2, 0.78, 0.84), (3, 0.94, 1.0))):
        _row(s, 0.2 + 0.25 * i, foot, tall * share, 0.55, partial(round_tree, s, tone, (2, 4, 4)[tone - 1]))
        s.add(0.2 + 0.25 * i, tone, hill(s, foot - 0.06, s.between(-0.03, 0.03), 0.02))


@cache
def spruce(tone: int = 3) -> Thing:
    """A slim spruce: one tall triangle on a short stem."""
    return (
        Part(tone, drawn("M 0 -1 L 0.24 -0.1 L 0.035 -0.1 L 0.035 0.04 L -0.035 0.04 L -0.035 -0.1 L -0.24 -0.1 Z")),
    )


def round_tree(s: Sketch, tone: int, stem: int) -> Thing:
    """A round or oval crown with its branches showing."""
    rx, ry = s.one_of((0.27, 0.27), (0.2, 0.34), (0.3, 0.22))
    middle = -1 + ry
    return (
        Part(tone, ellipse(0, middle, rx, ry)),
        Part(
            stem,
            joined(
                bar(0, 0.02, 0, middle - ry * 0.35, 0.035),
                bar(0, middle + ry * 0.5, rx * 0.45, middle + ry * 0.05, 0.028),
                bar(0, middle + ry * 0.15, -rx * 0.42, middle - ry * 0.3, 0.028),
            ),
        ),
    )


@cache
def fern(tone: int) -> Thing:
    """Five blades from one foot."""
    blades = []
    for reach, rise in ((-0.55, 0.45), (-0.3, 0.8), (0, 1.0), (0.3, 0.8), (0.55, 0.45)):
        blades.append(
            Path(
                (
                    ("M", -0.07, 0.0),
                    ("Q", reach * 0.3 - 0.09, -rise * 0.7, reach, -rise),
                    ("Q", reach * 0.3 + 0.09, -rise * 0.5, 0.07, 0.0),
                    ("Z",),
                )
            )
        )
    return (Part(tone, joined(*blades)),)


def forest_mark(rng: np.random.Generator) -> Thing:
    """Three firs."""
    return thing(placed(fir(2), -0.34, 0, 0.72), placed(fir(2), 0.34, 0, 0.72), placed(fir(3), 0, 0.04, 1.0))


# City


def city(s: Sketch) -> None:
    """A skyline in three rows, windows lit in the nearest, a disc low between the towers, a river or a street."""
    sky(s)
    s.add(0.05, 4, circle(s.x(s.between(0.25, 0.75)), s.y(s.between(0.26, 0.4)), s.unit * s.between(0.16, 0.24)))
    water = s.chance(0.5)
    foot = 0.86 if water else 1.0
    tall = min(s.height * 0.8, s.unit * 1.5)
    _blocks(s, 0.2, 1, foot, tall * 0.84, 0.11)
    _blocks(s, 0.4, 2, foot, tall * 0.66, 0.15)
    _blocks(s, 0.7, 3, foot, tall * 0.42, 0.21)
    if water:
        _river(s, foot)


def _blocks(s: Sketch, depth: float, tone: int, foot: float, tall: float, width: float) -> None:
    """One row of buildings from edge to edge."""
    base = s.y(foot)
    x = s.left - s.unit * width * s.between(0, 0.6)
    while x < s.right:
        wide = s.unit * width * s.between(0.75, 1.3)
        height = tall * s.between(0.62, 1.0)
        body = rect(x, base - height, wide, height)
        s.add(depth, tone, body, *_roof(s, x, base - height, wide))
        if tone > 1:
            _windows(s, depth, (5 if tone == 3 else 3), x, base - height, wide, height)
        x += wide + (s.unit * width * s.between(0.0, 0.3) if tone < 3 else 0)


def _roof(s: Sketch, x: float, y: float, wide: float) -> tuple[Path, ...]:
    """What tops a building: nothing, steps, a slant, a dome, a gable or a mast. It reaches into the wall below."""
    middle = x + wide / 2
    sink = wide * 0.05
    choices: tuple[tuple[Path, ...], ...] = (
        (),
        (
            rect(x + wide * 0.15, y - wide * 0.2, wide * 0.7, wide * 0.2 + sink),
            rect(middle - wide * 0.18, y - wide * 0.42, wide * 0.36, wide * 0.42),
        ),
        (polygon([(x, y + sink), (x, y - wide * 0.5), (x + wide, y), (x + wide, y + sink)]),),
        (sector(middle, y + sink, wide * 0.5, 180, 360),),
        (polygon([(x, y + sink), (middle, y - wide * 0.55), (x + wide, y + sink)]),),
        (
            rect(middle - wide * 0.2, y - wide * 0.24, wide * 0.4, wide * 0.3),
            rect(middle - wide * 0.045, y - wide * 0.95, wide * 0.09, wide),
        ),
    )
    return s.one_of(*choices)


def _windows(s: Sketch, depth: float, tone: int, x: float, y: float, wide: float, height: float) -> None:
    """One manner of windows per building: panes, bands or upright slots; a few are dark."""
    manner = s.one_of("panes", "panes", "bands", "slots")
    columns = {"panes": s.one_of(2, 3), "bands": 1, "slots": s.one_of(3, 4)}[manner]
    cell = wide / (columns + 0.5)
    rise = {"panes": cell * 1.15, "bands": wide * 0.24, "slots": height * 0.42}[manner]
    rows = int((height - wide * 0.12) / rise)
    wide_share, tall_share = {"panes": (0.5, 0.56), "bands": (0.9, 0.42), "slots": (0.34, 0.86)}[manner]
    panes = [
        rect(
            x + cell * (0.25 + i + (1 - wide_share) / 2),
            y + wide * 0.16 + rise * j,
            cell * wide_share,
            rise * tall_share,
        )
        for j in range(rows)
        for i in range(columns)
        if manner != "panes" or s.chance(0.72)
    ]
    if panes:
        s.add(depth, tone, joined(*panes))


def _river(s: Sketch, foot: float) -> None:
    """Water with the lights of the town in it."""
    s.add(0.8, 2, rect(s.left, s.y(foot), s.width, s.height))
    s.add(0.85, 5, rect(s.left, s.y(foot), s.width, s.unit * 0.012))
    gap = s.height * (1 - foot) / 4
    for i in range(max(6, int(6 * s.wide))):
        width = s.unit * s.between(0.08, 0.26)
        y = s.y(foot) + gap * (0.8 + i % 3)
        s.add(0.9, (4, 1, 5)[i % 3], rounded(s.x(s.between(-0.02, 0.95)), y, width, gap * 0.28, gap))


def city_mark(rng: np.random.Generator) -> Thing:
    """Three towers with windows."""
    panes = [rect(-0.12 + 0.14 * i, -0.78 + 0.17 * j, 0.085, 0.1) for i in range(2) for j in range(4)]
    return (
        Part(2, drawn("M -0.5 0 L -0.5 -0.62 L -0.18 -0.78 L -0.18 0 Z")),
        Part(4, drawn("M 0.16 0 L 0.16 -0.52 L 0.5 -0.52 L 0.5 0 Z")),
        Part(
            3,
            drawn(
                "M -0.22 0 L -0.22 -0.88 L -0.06 -0.88 L -0.06 -1.04 L 0.1 -1.04 L 0.1 -0.88 L 0.22 -0.88 L 0.22 0 Z"
            ),
        ),
        Part(5, joined(*panes)),
    )
