"""House and chair: where one lives."""

from __future__ import annotations

from functools import cache

import numpy as np

from salon.render.motifs.land import fir, round_tree
from salon.render.motifs.plants import monstera
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, placed, retoned, thing
from salon.render.motifs.staging import hill, sky, still_life
from salon.render.shapes import circle, joined, polygon, rect, rounded, sector

# House


def house(s: Sketch) -> None:
    """A house among trees on a hill, or rows of gabled fronts climbing one."""
    sky(s)
    x = s.x(s.one_of(0.2, 0.8) + s.between(-0.05, 0.05))
    s.add(0.05, 4, circle(x, s.y(s.between(0.16, 0.24)), s.unit * s.between(0.12, 0.16)))
    if s.chance(0.5) and s.wide > 0.6:
        _on_a_hill(s)
    else:
        _village(s)


def _on_a_hill(s: Sketch) -> None:
    s.add(0.2, 1, hill(s, 0.58, s.between(-0.08, 0.08), 0.05))
    level = 0.8
    size = min(s.height * 0.5, s.width * 0.6)
    x = s.x(s.between(0.4, 0.6))
    for k in range(-4, 5):
        place = x + size * (0.42 * k + (0.45 if k > 0 else -0.45) + s.between(-0.06, 0.06))
        if k and s.left < place < s.right:
            tree = round_tree(s, 2, 3) if k % 2 else fir(3)
            s.put(0.4, tree, place, s.y(level + 0.02), size * s.between(0.6, 0.95))
    s.put(0.5, cottage(), x, s.y(level + 0.03), size)
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


@cache
def cottage() -> Thing:
    """A house with a steep roof, a chimney and lit windows; one unit tall."""
    panes = [rect(x, -0.36, 0.14, 0.16) for x in (-0.34, 0.2)]
    bars = [rect(x + 0.06, -0.36, 0.02, 0.16) for x in (-0.34, 0.2)] + [
        rect(x, -0.29, 0.14, 0.02) for x in (-0.34, 0.2)
    ]
    return (
        Part(3, rect(0.2, -0.98, 0.12, 0.3)),
        Part(5, rect(-0.46, -0.52, 0.92, 0.54)),
        Part(4, drawn("M -0.58 -0.48 L -0.36 -0.92 L 0.36 -0.92 L 0.58 -0.48 Z")),
        Part(3, drawn("M -0.26 -0.48 L 0 -0.98 L 0.26 -0.48 Z")),
        Part(5, circle(0, -0.66, 0.075)),
        Part(3, joined(*panes)),
        Part(5, joined(*bars)),
        Part(3, joined(rect(-0.08, -0.24, 0.16, 0.26), sector(0, -0.24, 0.08, 180, 360))),
    )


def _village(s: Sketch) -> None:
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
    other = 5 if tone != 2 else 3
    s.add(depth, other, joined(*panes))
    s.add(depth, 5 if tone in (3, 4) else 4, rect(right - cell * 0.9, foot - rise * 1.15, cell * 0.6, rise * 1.15 + 2))


def house_mark(rng: np.random.Generator) -> Thing:
    """A gable, a door and a window."""
    return (
        Part(4, rect(0.2, -0.86, 0.14, 0.34)),
        Part(3, drawn("M 0 -0.96 L 0.56 -0.44 L 0.44 -0.44 L 0.44 0 L -0.44 0 L -0.44 -0.44 L -0.56 -0.44 Z")),
        Part(5, joined(rect(-0.1, -0.3, 0.2, 0.3), sector(0, -0.3, 0.1, 180, 360))),
        Part(5, circle(0, -0.62, 0.08)),
    )


# Chair


def chair(s: Sketch) -> None:
    """A chair in a quiet room with a plant and a lamp, or a cabinet of chairs."""
    chairs = [armchair(), shell_chair(), wing_chair()]
    s.rng.shuffle(chairs)
    things = [(plant(), 1.35), (floor_lamp(), 1.75), (chairs[1], 1.0), (chairs[2], 1.0)]
    if s.wide < 0.6:
        still_life(s, chairs[0], [(chairs[1], 1.0), (chairs[2], 1.0)])
        return
    if s.chance(0.5):
        things[0], things[1] = things[1], things[0]
    still_life(s, chairs[0], things if s.wide > 1.3 else things[:2], 0.5, 0.78)


@cache
def armchair() -> Thing:
    """A low armchair on four pointed legs, one unit tall."""
    return (
        Part(
            5,
            joined(
                drawn("M -0.46 -0.2 L -0.38 -0.2 L -0.47 0.02 L -0.51 0.02 Z"),
                drawn("M 0.38 -0.2 L 0.46 -0.2 L 0.51 0.02 L 0.47 0.02 Z"),
            ),
        ),
        Part(3, rounded(-0.46, -1, 0.92, 0.84, 0.22)),
        Part(4, rounded(-0.36, -0.46, 0.72, 0.2, 0.08)),
        Part(
            3,
            joined(
                rounded(-0.6, -0.58, 0.24, 0.4, 0.11),
                rounded(0.36, -0.58, 0.24, 0.4, 0.11),
                rounded(-0.5, -0.3, 1.0, 0.14, 0.05),
            ),
        ),
        Part(5, joined(circle(-0.16, -0.7, 0.026), circle(0.16, -0.7, 0.026), circle(0, -0.82, 0.026))),
    )


@cache
def shell_chair() -> Thing:
    """A moulded shell on wire legs, one unit tall, seen from the side."""
    return (
        Part(
            5,
            joined(
                bar(-0.1, -0.42, -0.3, 0.0, 0.035),
                bar(0.1, -0.42, 0.34, 0.0, 0.035),
                bar(-0.2, -0.2, 0.22, -0.2, 0.028),
            ),
        ),
        Part(
            4,
            drawn(
                "M 0.5 -0.5 C 0.46 -0.42 0.3 -0.38 0.1 -0.38 L -0.14 -0.38 "
                "C -0.34 -0.4 -0.38 -0.6 -0.46 -1 C -0.36 -1.04 -0.28 -1 -0.26 -0.92 "
                "C -0.2 -0.66 -0.14 -0.56 0.02 -0.55 L 0.42 -0.56 C 0.48 -0.56 0.51 -0.54 0.5 -0.5 "
                "Z"
            ),
        ),
    )


@cache
def wing_chair() -> Thing:
    """A tall chair with ears and a cushion, one unit tall."""
    return (
        Part(5, joined(rect(-0.34, -0.16, 0.06, 0.18), rect(0.28, -0.16, 0.06, 0.18))),
        Part(
            4,
            drawn(
                "M -0.44 -0.3 L -0.46 -0.86 C -0.46 -0.98 -0.3 -1 -0.2 -0.96 L 0.2 -0.96 "
                "C 0.3 -1 0.46 -0.98 0.46 -0.86 L 0.44 -0.3 Z"
            ),
        ),
        Part(3, rounded(-0.3, -0.88, 0.6, 0.5, 0.12)),
        Part(3, rounded(-0.34, -0.42, 0.68, 0.16, 0.07)),
        Part(
            4,
            joined(
                rounded(-0.5, -0.54, 0.18, 0.42, 0.08),
                rounded(0.32, -0.54, 0.18, 0.42, 0.08),
                rect(-0.36, -0.26, 0.72, 0.14),
            ),
        ),
    )


@cache
def plant() -> Thing:
    """A pot with great leaves, one unit tall."""
    leaves = [placed(monstera(), 0, -0.26, 0.5, turn) for turn in (-58, 52)]
    return thing(
        *leaves,
        placed(monstera(), 0, -0.36, 0.62, -4),
        Part(4, drawn("M -0.2 -0.34 L 0.2 -0.34 L 0.14 0 L -0.14 0 Z")),
        Part(5, rect(-0.22, -0.36, 0.44, 0.06)),
    )


@cache
def floor_lamp() -> Thing:
    """A tall lamp on three legs, one unit tall."""
    return (
        Part(
            3,
            joined(
                bar(0, -0.68, 0, -0.3, 0.018),
                bar(0, -0.36, -0.15, 0, 0.018),
                bar(0, -0.36, 0.15, 0, 0.018),
                bar(0, -0.36, 0.0, 0, 0.018),
            ),
        ),
        Part(3, drawn("M -0.13 -1 L 0.13 -1 L 0.2 -0.7 L -0.2 -0.7 Z")),
        Part(5, drawn("M -0.174 -0.81 L 0.174 -0.81 L 0.186 -0.76 L -0.186 -0.76 Z")),
    )


def chair_mark(rng: np.random.Generator) -> Thing:
    """An armchair."""
    return retoned(armchair(), {5: 2})
