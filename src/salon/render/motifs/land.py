"""Scenes on land: mountain, forest, city, house, bicycle, train."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from salon.render.marks import Path
from salon.render.motifs.drawings import Drawing, drawing, retoned
from salon.render.motifs.sketch import Sketch, clouds, hill, rays, sky
from salon.render.shapes import circle, joined, polygon, rect, rounded, sector

# Mountain


def mountain(s: Sketch) -> None:
    """A main peak before ranges that fade away, a disc behind a shoulder, firs or a lake in front."""
    sky(s)
    apex = s.between(0.36, 0.64)
    top = s.between(0.2, 0.3) if s.wide > 0.6 else s.between(0.3, 0.38)
    side = 1 if apex < 0.5 else -1
    r = s.unit * s.between(0.13, 0.2)
    s.add(0.1, 4, circle(s.x(apex) + side * s.unit * s.between(0.22, 0.34), s.y(top) + r * 0.5, r))
    step = s.unit * s.between(0.16, 0.22)
    summits = [
        (
            s.left + (i - 1 + s.between(-0.2, 0.2)) * step,
            s.y(0.52) - (s.between(0.6, 1.0) if i % 2 else s.between(0.0, 0.35)) * 0.16 * s.unit * 1.2,
        )
        for i in range(int(s.width / step) + 3)
    ]
    s.add(0.2, 1, polygon([*summits, (s.right + step, s.bottom), (s.left - step, s.bottom)]))
    level = 0.74
    _peak(s, 0.4, s.x(apex) + side * s.unit * 0.46, s.y(top + 0.16), s.y(level + 0.2))
    _peak(s, 0.5, s.x(apex), s.y(top), s.y(level + 0.16))
    s.one_of(fir_slopes, lake, foothills)(s, level)


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


def fir_slopes(s: Sketch, level: float) -> None:
    """Two dark slopes with firs along them."""
    s.add(0.7, 2, hill(s, level + 0.02, s.between(-0.07, 0.07), 0.05))
    tilt = s.one_of(-1, 1) * s.between(0.05, 0.09)
    size = s.unit * s.between(0.2, 0.26)
    for i in range(int(s.width / (size * 0.42)) + 1):
        share = (i + s.between(0.2, 0.8)) * size * 0.42 / s.width
        s.put(
            0.8,
            drawing("forest", "fir"),
            s.x(share),
            s.y(level + 0.19 + tilt * (0.5 - share) * 2),
            size * s.between(0.7, 1.25),
        )
    s.add(0.9, 3, hill(s, level + 0.13, -tilt, 0.015))


def lake(s: Sketch, level: float) -> None:
    """Still water with broken reflections."""
    s.add(0.6, 2, hill(s, level - 0.01, s.between(-0.03, 0.03), 0.03))
    s.add(0.7, 1, rect(s.left, s.y(level + 0.05), s.width, s.height))
    gap = s.height * (0.95 - level) / 6
    for i in range(5):
        width = s.unit * s.between(0.24, 0.6)
        y, x = s.y(level + 0.05) + gap * (i + 0.8), s.x(s.between(0.2, 0.8))
        s.add(0.8, (3, 5, 2)[i % 3], rounded(x - width / 2, y, width, gap * 0.36, gap))


def foothills(s: Sketch, level: float) -> None:
    """Rounded foothills, one over the other."""
    for i, tone in enumerate((2, 3, 4)):
        s.add(0.6 + 0.1 * i, tone, hill(s, level + 0.02 + 0.08 * i, s.between(-0.08, 0.08), 0.05))


# Forest


def forest(s: Sketch) -> None:
    """Rows of trees, each darker and larger than the one behind; a low disc and a path of light."""
    sky(s)
    s.add(0.05, 4, circle(s.x(s.between(0.3, 0.7)), s.y(s.between(0.24, 0.36)), s.unit * s.between(0.16, 0.24)))
    s.one_of(conifers, birch_trunks, round_crowns)(s)


def tree_row(s: Sketch, depth: float, foot: float, size: float, spacing: float, pick: Callable[[], Drawing]) -> None:
    """Trees side by side over the whole width, with uneven gaps and heights."""
    x = s.left - size * spacing * s.between(0, 0.8)
    while x < s.right + size * spacing:
        s.put(depth, pick(), x, s.y(foot), size * s.between(0.78, 1.15), flip=s.chance(0.5))
        x += size * spacing * s.between(0.75, 1.25)


def conifer(s: Sketch, tone: int) -> Drawing:
    """A spruce or a fir."""
    return drawing("forest", s.one_of("spruce", "fir"), tone)


def conifers(s: Sketch) -> None:
    """Three rows of firs and spruces."""
    tall = min(s.height * 0.5, s.unit * 0.75)
    for i, (tone, foot, share) in enumerate(((1, 0.66, 0.62), (2, 0.8, 0.8), (3, 0.96, 1.0))):
        depth = 0.2 + 0.25 * i
        tree_row(s, depth, foot, tall * share, 0.42, partial(conifer, s, tone))
        s.add(depth, tone, hill(s, foot - 0.07, s.between(-0.02, 0.02), 0.015))


def birch_trunks(s: Sketch) -> None:
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
            for i in range(6 if tone == 3 else 0):
                y, side = s.y(0.06 + 0.13 * i + s.between(0, 0.06)), s.one_of(-1, 1)
                edge, tip = x + side * half * 0.8, x - side * half * 0.1
                s.add(depth, 5, polygon([(edge, y), (tip, y + half * 0.16), (edge, y + half * 0.4)]))
            x += s.unit * count * s.between(0.7, 1.4)
        s.add(depth, tone, hill(s, foot, s.between(-0.03, 0.03), 0.02))
    tree_row(s, 0.9, 1.02, s.unit * 0.16, 0.7, partial(drawing, "forest", "fern", 4))


def round_crowns(s: Sketch) -> None:
    """Three rows of broad-leaved trees."""
    tall = min(s.height * 0.52, s.unit * 0.72)
    for i, (tone, foot, share) in enumerate(((1, 0.62, 0.66), (2, 0.78, 0.84), (3, 0.94, 1.0))):
        tree_row(s, 0.2 + 0.25 * i, foot, tall * share, 0.55, partial(round_tree, s, tone, (2, 4, 4)[tone - 1]))
        s.add(0.2 + 0.25 * i, tone, hill(s, foot - 0.06, s.between(-0.03, 0.03), 0.02))


def round_tree(s: Sketch, tone: int, stem: int) -> Drawing:
    """A round or oval crown with its branches showing."""
    return retoned(drawing("forest", s.one_of("round-tree", "oval-tree", "broad-tree")), {3: tone, 4: stem})


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
    if water:  # with the lights of the town in it
        s.add(0.8, 2, rect(s.left, s.y(foot), s.width, s.height))
        s.add(0.85, 5, rect(s.left, s.y(foot), s.width, s.unit * 0.012))
        gap = s.height * (1 - foot) / 4
        for i in range(max(6, int(6 * s.wide))):
            width = s.unit * s.between(0.08, 0.26)
            y = s.y(foot) + gap * (0.8 + i % 3)
            s.add(0.9, (4, 1, 5)[i % 3], rounded(s.x(s.between(-0.02, 0.95)), y, width, gap * 0.28, gap))


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


# House


def house(s: Sketch) -> None:
    """A house among trees on a hill, or rows of gabled fronts climbing one."""
    sky(s)
    x = s.x(s.one_of(0.2, 0.8) + s.between(-0.05, 0.05))
    s.add(0.05, 4, circle(x, s.y(s.between(0.16, 0.24)), s.unit * s.between(0.12, 0.16)))
    if s.chance(0.5) and s.wide > 0.6:
        house_on_a_hill(s)
    else:
        village(s)


def house_on_a_hill(s: Sketch) -> None:
    """A cottage among trees, a path leading up to it."""
    s.add(0.2, 1, hill(s, 0.58, s.between(-0.08, 0.08), 0.05))
    level = 0.8
    size = min(s.height * 0.5, s.width * 0.6)
    x = s.x(s.between(0.4, 0.6))
    for k in range(-4, 5):
        place = x + size * (0.42 * k + (0.45 if k > 0 else -0.45) + s.between(-0.06, 0.06))
        if k and s.left < place < s.right:
            tree = round_tree(s, 2, 3) if k % 2 else drawing("forest", "fir", 3)
            s.put(0.4, tree, place, s.y(level + 0.02), size * s.between(0.6, 0.95))
    s.put(0.5, drawing("house", "cottage"), x, s.y(level + 0.03), size)
    s.add(0.7, 2, hill(s, level, s.between(-0.02, 0.02), 0.01))
    path = polygon(
        [
            (x - size * 0.06, s.y(level)),
            (x + size * 0.06, s.y(level)),
            (x + size * 0.4, s.bottom),
            (x - size * 0.1, s.bottom),
        ]
    )
    s.add(0.75, 5, path)


def village(s: Sketch) -> None:
    """Fronts side by side; in a tall box several rows, the nearer ones lower."""
    rows = 1 if s.wide > 1.5 else 2 if s.wide > 0.6 else 3
    s.add(0.1, 1, hill(s, 0.5 - 0.05 * rows, s.between(-0.06, 0.06), 0.04))
    for row in range(rows):
        depth = 0.3 + 0.2 * row
        foot = 0.92 - 0.2 * (rows - 1 - row) if s.wide > 0.6 else 0.94 - 0.21 * (rows - 1 - row)
        x = s.left - s.unit * s.between(0.02, 0.16)
        k = int(s.rng.integers(4))
        while x < s.right:
            wide = s.unit * s.between(0.2, 0.27)
            tall = min(s.unit * s.between(0.42, 0.6), s.height * 0.62)
            _front(s, depth, (4, 3, 2, 3)[k % 4], x, s.y(foot), wide, tall)
            x, k = x + wide, k + 1
        s.add(depth + 0.05, 2 if row < rows - 1 else 3, hill(s, foot, s.between(-0.01, 0.01), 0.006))


def _front(s: Sketch, depth: float, tone: int, x: float, foot: float, wide: float, tall: float) -> None:
    """One narrow house with a gable, windows and a door."""
    eaves = foot - tall * 0.78
    middle, right = x + wide / 2, x + wide
    steps = [
        (x, eaves),
        (x + wide * 0.18, eaves),
        (x + wide * 0.18, eaves - wide * 0.2),
        (x + wide * 0.34, eaves - wide * 0.2),
        (x + wide * 0.34, eaves - wide * 0.4),
        (x + wide * 0.66, eaves - wide * 0.4),
        (x + wide * 0.66, eaves - wide * 0.2),
        (x + wide * 0.82, eaves - wide * 0.2),
        (x + wide * 0.82, eaves),
        (right, eaves),
    ]
    top = s.one_of(
        [(x, eaves), (middle, eaves - wide * 0.6), (right, eaves)],
        steps,
        [(x, eaves - wide * 0.1), (right, eaves - wide * 0.1)],
    )
    s.add(depth, tone, polygon([*top, (right, foot + 2), (x, foot + 2)]))
    columns = s.one_of(2, 3)
    cell, rise = wide / (columns + 0.4), tall * 0.2
    arched = s.chance(0.3)
    panes = []
    for j in range(3):
        for i in range(columns):
            if j == 2 and i == columns - 1:
                continue
            px, py = x + cell * (0.2 + i + 0.24), eaves + rise * (0.3 + j)
            panes.append(rect(px, py, cell * 0.52, rise * 0.6))
            if arched:
                panes.append(sector(px + cell * 0.26, py + 0.5, cell * 0.26, 180, 360))
    s.add(depth, 5 if tone != 2 else 3, joined(*panes))
    s.add(depth, 5 if tone in (3, 4) else 4, rect(right - cell * 0.9, foot - rise * 1.15, cell * 0.6, rise * 1.15 + 2))


# Bicycle


def bicycle(s: Sketch) -> None:
    """A bicycle on a road past hills and trees, or before a rainbow of bands."""
    sky(s)
    level = 0.82 if s.wide > 0.6 else 0.72
    size = min(s.width * 0.84, s.height * 0.86)
    x, foot = s.x(s.between(0.46, 0.54)), s.y(level) + s.height * 0.03
    if s.chance(0.6):
        s.add(0.1, 1, circle(x + size * s.between(-0.2, 0.2), foot - size * 0.4, size * s.between(0.34, 0.42)))
        s.add(0.2, 1, hill(s, level - 0.12, s.between(-0.06, 0.06), 0.03))
        for k in range(int(s.width / (s.unit * 0.3)) + 1):
            tree = round_tree(s, 2, 1) if k % 2 else drawing("forest", "fir", 2)
            tall = s.height * s.between(0.24, 0.36) if s.wide > 0.6 else s.unit * 0.8
            s.put(0.3, tree, s.left + s.unit * (0.3 * k + s.between(0, 0.16)), s.y(level) + 2, tall)
    else:
        bands = [sector(x, foot, size * 0.2 + s.unit * 0.1 * k, 180, 360) for k in (6, 5, 4, 3, 2)]
        for tone, band in zip((1, 2, 1, 0, 1), bands):
            s.add(0.1, tone, band)
    if s.wide < 0.6:
        s.add(0.05, 4, circle(s.x(s.one_of(0.32, 0.68)), s.y(0.2), s.unit * 0.2))
        clouds(s, 0.08, 5, 2, 0.14, 0.36)
    road = s.y(level)
    s.add(0.4, 2, rect(s.left, road, s.width, s.height))
    middle, start = road + (s.bottom - road) * 0.62, s.left - s.unit * s.between(0, 0.2)
    for k in range(int(s.wide * 4) + 3):
        s.add(0.45, 5, rect(start + s.unit * 0.3 * k, middle, s.unit * 0.16, s.unit * 0.016))
    bike, basket = drawing("bicycle", "bicycle"), drawing("bicycle", "wicker-basket")
    s.put(0.7, (*bike, *basket) if s.chance(0.5) else bike, x, foot, size, flip=s.chance(0.5))


# Train


def train(s: Sketch) -> None:
    """An express seen head-on between its rails, or passing from side to side through hills."""
    if s.wide > 1.35 or (s.wide > 0.9 and s.chance(0.4)):
        train_passing(s)
    else:
        train_head_on(s)


def train_head_on(s: Sketch) -> None:
    """An express that comes towards us out of the sun."""
    sky(s)
    x = s.x(s.between(0.46, 0.54))
    horizon = 0.5
    s.add(0.1, 1, rays(x, s.y(horizon), math.hypot(s.width, s.height), 24, s.between(0, 15)))
    s.add(
        0.15, 4, circle(x + s.unit * s.one_of(-0.3, 0.3), s.y(horizon) - s.unit * s.between(0.2, 0.34), s.unit * 0.13)
    )
    s.add(0.2, 1, hill(s, horizon - 0.04, s.between(-0.04, 0.04), 0.05))
    s.add(0.3, 2, rect(s.left, s.y(horizon + 0.04), s.width, s.height))
    size = min(s.width * 0.62, s.height * 0.56)
    foot = s.y(0.86)
    _rails(s, x, s.y(horizon), size * 0.8)
    s.put(0.6, drawing("train", s.one_of("streamliner", "boxy-express")), x, foot, size)
    if s.chance(0.5):
        clouds(s, 0.18, 5, 2, 0.1, 0.24)


def _rails(s: Sketch, x: float, horizon: float, wide: float) -> None:
    """Two rails and their sleepers, running to a point."""
    depth_of = s.bottom - horizon
    for k in range(1, 9):
        t = (k / 8) ** 1.8
        y, half = horizon + depth_of * t, wide * 0.78 * t + 2
        s.add(0.4, 3, rect(x - half, y - depth_of * 0.035 * t, 2 * half, depth_of * 0.035 * t + 1))
    for side in (-1, 1):
        s.add(0.45, 5, polygon([(x, horizon), (x + side * wide * 0.56, s.bottom), (x + side * wide * 0.48, s.bottom)]))


def train_passing(s: Sketch) -> None:
    """A steam train with its coaches, from side to side."""
    sky(s)
    s.add(0.15, 1, hill(s, 0.44, s.between(-0.1, 0.1), 0.07))
    s.add(0.25, 2, hill(s, 0.62, s.between(-0.06, 0.06), 0.04))
    foot, size = s.y(0.82), s.unit * 0.46
    s.add(0.4, 1, rect(s.left, foot, s.width, s.height))
    s.add(0.5, 3, rect(s.left, foot, s.width, s.unit * 0.02))
    s.add(
        0.5,
        3,
        *(
            rect(s.left + s.unit * 0.09 * k, foot + s.unit * 0.02, s.unit * 0.045, s.unit * 0.03)
            for k in range(int(s.wide / 0.09) + 2)
        ),
    )
    front = s.x(s.between(0.14, 0.22))
    flip = s.chance(0.5)

    def mirror(v: float) -> float:
        return s.left + s.right - v if flip else v

    if s.wide > 1.35:
        s.add(0.05, 4, circle(mirror(s.x(s.between(0.8, 0.86))), s.y(0.3), s.unit * s.between(0.12, 0.16)))
    s.put(0.6, drawing("train", "engine"), mirror(front), foot, size, flip=flip)
    x, k = front + size * 1.5, 0
    while x < s.right + size:
        s.put(0.6, retoned(drawing("train", "coach"), {} if k % 2 else {4: 3, 3: 4}), mirror(x), foot, size, flip=flip)
        x, k = x + size * 1.24, k + 1
    puffs = [(0.18, -1.06, 0.1), (0.34, -1.2, 0.14), (0.58, -1.32, 0.18), (0.92, -1.4, 0.23), (1.34, -1.42, 0.27)]
    s.add(0.55, 1, *(circle(mirror(front + size * a), foot + size * b, size * c) for a, b, c in puffs))
