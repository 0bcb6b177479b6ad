"""Fruit: on the table, or printed on cloth."""

from __future__ import annotations

from functools import cache

import numpy as np

from salon.render.layout import Box
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, fitted, placed, retoned, ribbon, thing
from salon.render.motifs.staging import sky, still_life
from salon.render.shapes import circle, ellipse, joined, polygon, sector


def fruit(s: Sketch) -> None:
    """Fruit on a table, or cut fruit in rows like a printed cloth."""
    if s.chance(0.5) and s.wide > 0.6:
        small = [
            (lemon(), 0.42),
            (pear(), 0.92),
            (orange_half(), 0.56),
            (cherries(), 0.6),
            (retoned(apple(), {4: 3, 3: 4}), 0.7),
        ]
        s.rng.shuffle(small)
        still_life(s, s.one_of(bowl(), pear(), apple()), small, 0.6)
    else:
        _cloth(s)


def _cloth(s: Sketch) -> None:
    """Large fruit in staggered rows."""
    sky(s)
    kinds = [apple(), pear(), cherries(), orange_half(), melon_slice(), lemon()]
    s.rng.shuffle(kinds)
    square = Box(x=-0.5, y=-0.5, width=1.0, height=1.0)
    kinds = [fitted(kind, square) for kind in kinds[: s.one_of(3, 4)]]
    columns = max(2, round(s.width / s.unit * 2.4))
    step = s.width / columns
    rows = max(2, round(s.height / step))
    for j in range(-1, rows + 1):
        for i in range(-1, columns + 1):
            kind = kinds[(i + 2 * j) % len(kinds)]
            x, y = s.left + step * (i + (0.25 if j % 2 else 0.75)), s.top + s.height / rows * (j + 0.5)
            if (i + j) % 2:
                s.add(0.2, 1, circle(x, y, step * 0.45))
            s.put(0.5, kind, x, y, step * 0.72, turn=s.between(-14, 14))


@cache
def apple() -> Thing:
    """An apple with one leaf, one unit tall."""
    return (
        Part(
            4,
            drawn(
                "M 0 -0.7 C 0.12 -0.84 0.46 -0.8 0.46 -0.44 C 0.46 -0.14 0.24 0.02 0.1 0 "
                "Q 0 -0.04 -0.1 0 C -0.24 0.02 -0.46 -0.14 -0.46 -0.44 "
                "C -0.46 -0.8 -0.12 -0.84 0 -0.7 Z"
            ),
        ),
        Part(
            5,
            drawn(
                "M -0.36 -0.5 C -0.36 -0.62 -0.28 -0.68 -0.22 -0.68 "
                "C -0.28 -0.6 -0.3 -0.54 -0.29 -0.46 Q -0.33 -0.44 -0.36 -0.5 Z"
            ),
        ),
        Part(3, bar(0, -0.68, 0.04, -0.88, 0.045)),
        Part(3, drawn("M 0.05 -0.82 C 0.1 -0.98 0.26 -1.02 0.36 -0.98 C 0.32 -0.86 0.2 -0.78 0.05 -0.82 Z")),
    )


@cache
def pear() -> Thing:
    """A pear, one half light, one unit tall."""
    return (
        Part(3, bar(0, -0.82, 0.05, -0.98, 0.045)),
        Part(
            3,
            drawn(
                "M 0 -0.86 C 0.16 -0.86 0.17 -0.7 0.19 -0.56 C 0.21 -0.44 0.38 -0.4 0.38 -0.24 "
                "C 0.38 -0.06 0.2 0 0 0 C -0.2 0 -0.38 -0.06 -0.38 -0.24 "
                "C -0.38 -0.4 -0.21 -0.44 -0.19 -0.56 C -0.17 -0.7 -0.16 -0.86 0 -0.86 Z"
            ),
        ),
        Part(
            4,
            drawn(
                "M 0 -0.86 C 0.16 -0.86 0.17 -0.7 0.19 -0.56 C 0.21 -0.44 0.38 -0.4 0.38 -0.24 C 0.38 -0.06 0.2 0 0 0 Z"
            ),
        ),
        Part(
            5,
            joined(
                ellipse(-0.17, -0.2, 0.025, 0.035),
                ellipse(-0.08, -0.3, 0.025, 0.035),
                ellipse(-0.1, -0.12, 0.025, 0.035),
            ),
        ),
    )


@cache
def lemon() -> Thing:
    """A lemon lying, 1 tall and 1.5 wide."""
    return (
        Part(
            4,
            drawn(
                "M -0.74 -0.5 C -0.62 -0.5 -0.6 -1 0 -1 C 0.6 -1 0.62 -0.5 0.74 -0.5 "
                "C 0.62 -0.5 0.6 0 0 0 C -0.6 0 -0.62 -0.5 -0.74 -0.5 Z"
            ),
        ),
        Part(
            5,
            drawn(
                "M -0.4 -0.56 C -0.36 -0.76 -0.2 -0.86 -0.04 -0.88 "
                "C -0.16 -0.78 -0.26 -0.68 -0.3 -0.52 Q -0.36 -0.48 -0.4 -0.56 Z"
            ),
        ),
        Part(3, drawn("M 0.6 -0.64 C 0.6 -0.9 0.8 -1.06 1.02 -1.06 C 1.02 -0.84 0.86 -0.66 0.6 -0.64 Z")),
    )


@cache
def orange_half() -> Thing:
    """A round fruit cut through, one unit across, standing on its rim."""
    wedges = joined(*(sector(0.0, -0.5, 0.36, a + 5, a + 40, 0.05) for a in range(0, 360, 45)))
    return (Part(4, circle(0, -0.5, 0.5)), Part(5, circle(0, -0.5, 0.43)), Part(4, wedges))


@cache
def melon_slice() -> Thing:
    """A third of a water melon with seeds, about one unit across."""
    seeds = joined(
        *(
            ellipse(x, y, 0.03, 0.05)
            for x, y in ((-0.24, -0.6), (-0.08, -0.5), (0.08, -0.5), (0.24, -0.6), (0, -0.66), (0, -0.34))
        )
    )
    return (
        Part(3, sector(0, -0.8, 0.72, 20, 160)),
        Part(5, sector(0, -0.8, 0.62, 20, 160)),
        Part(4, sector(0, -0.8, 0.56, 20, 160)),
        Part(3, seeds),
    )


@cache
def cherries() -> Thing:
    """Two cherries on forked stems with a leaf, one unit tall."""
    return (
        Part(2, ribbon([(-0.26, -0.4), (-0.16, -0.72), (0.08, -0.96)], 0.045)),
        Part(2, ribbon([(0.26, -0.36), (0.22, -0.68), (0.08, -0.96)], 0.045)),
        Part(4, drawn("M 0.06 -0.94 C 0.2 -1.08 0.42 -1.04 0.52 -0.9 C 0.4 -0.78 0.18 -0.78 0.06 -0.94 Z")),
        Part(3, circle(-0.26, -0.22, 0.22)),
        Part(3, circle(0.26, -0.2, 0.22)),
        Part(5, joined(ellipse(-0.34, -0.3, 0.04, 0.06), ellipse(0.18, -0.28, 0.04, 0.06))),
    )


@cache
def bowl() -> Thing:
    """A footed bowl heaped with fruit, one unit tall."""
    return thing(
        placed(pear(), 0.2, -0.38, 0.6, 14),
        placed(apple(), -0.26, -0.4, 0.52, -8),
        placed(orange_half(), 0.5, -0.42, 0.38),
        placed(retoned(apple(), {4: 2}), -0.02, -0.34, 0.42, 6),
        Part(
            3,
            drawn(
                "M -0.74 -0.46 L 0.74 -0.46 C 0.72 -0.2 0.46 -0.1 0.18 -0.08 L 0.24 0 L -0.24 0 "
                "L -0.18 -0.08 C -0.46 -0.1 -0.72 -0.2 -0.74 -0.46 Z"
            ),
        ),
        Part(
            5,
            joined(
                *(
                    polygon([(x, -0.36), (x + 0.07, -0.28), (x, -0.2), (x - 0.07, -0.28)])
                    for x in (-0.44, -0.22, 0, 0.22, 0.44)
                )
            ),
        ),
    )


def fruit_mark(rng: np.random.Generator) -> Thing:
    """An apple, a pear or a pair of cherries."""
    return (apple, pear, cherries)[int(rng.integers(3))]()
