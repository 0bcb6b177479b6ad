"""Coffee and bread: on the table."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.motifs.plants import blade
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, placed, retoned, ribbon, taper, thing
from salon.render.motifs.staging import sky, still_life
from salon.render.shapes import circle, ellipse, joined, ring, rounded

# Coffee


def coffee(s: Sketch) -> None:
    """A steaming cup on a table among its tools, or cups seen from above."""
    if s.chance(0.35):
        _from_above(s)
    else:
        others = [(moka_pot(), 1.0), (paper_cup(), 0.86), (jar(), 0.72), (retoned(small_cup(), {3: 4, 4: 3}), 0.5)]
        s.rng.shuffle(others)
        still_life(s, cup_with_steam(s), others, 0.66)


def _from_above(s: Sketch) -> None:
    """Full cups on their saucers, a leaf of milk in each, beans between them."""
    sky(s, 1)
    count = max(1, round(max(s.wide, 1 / s.wide) * 0.9))
    r = s.unit * (0.36 if count == 1 else 0.33)
    places = []
    for i in range(count):
        along = (i + 0.5) / count + (s.between(-0.04, 0.04) if count == 1 else 0)
        across = s.between(0.44, 0.56)
        places.append((s.x(across), s.y(along)) if s.wide < 1 else (s.x(along), s.y(across)))
        s.add(0.3, (2, 4)[i % 2], circle(*places[i], r * 1.2))
        s.put(0.5, cup_from_above(), *places[i], r, turn=s.between(-60, 60))
    for _ in range(int(34 * s.width * s.height / s.unit**2)):
        bean_at = (s.x(s.between(0.03, 0.97)), s.y(s.between(0.03, 0.97)))
        if all(math.dist(bean_at, place) > r * 1.42 for place in places):
            s.put(0.4, bean(), *bean_at, s.unit * 0.055, turn=s.between(0, 360))


@cache
def cup_from_above() -> Thing:
    """A cup of radius one seen from above, handle to the right."""
    leaves = [placed(blade(5), 0, 0.42, 0.62 - 0.06 * abs(k), 28 * k) for k in (-2, -1, 0, 1, 2)]
    return thing(
        Part(5, ring(0, 0, 1.08, 1.0)),
        Part(3, rounded(0.6, -0.11, 0.55, 0.22, 0.11)),
        Part(3, circle(0, 0, 0.76)),
        Part(4, circle(0, 0, 0.64)),
        *leaves,
    )


@cache
def bean() -> Thing:
    """A coffee bean, one unit long."""
    return (
        Part(3, ellipse(0, 0, 0.36, 0.5)),
        Part(1, drawn("M -0.03 -0.5 C -0.2 -0.15 0.2 0.15 -0.03 0.5 L 0.05 0.5 C 0.28 0.12 -0.12 -0.15 0.05 -0.5 Z")),
    )


def cup_with_steam(s: Sketch) -> Thing:
    """A wide cup on its saucer with two or three plumes of steam; one unit tall."""
    plumes = []
    xs = s.one_of((-0.16, 0.1), (-0.2, 0.0, 0.2))
    for i, x in enumerate(xs):
        top = -1.0 + 0.09 * (i % 2) + s.between(0, 0.04)
        side = s.one_of(-1, 1) * 0.045
        points = [(x + side * math.sin(k * 0.9), -0.6 + (top + 0.6) * k / 8) for k in range(9)]
        plumes.append(Part(3, ribbon(points, 0.05)))
    return thing(*plumes, small_cup())


@cache
def small_cup() -> Thing:
    """A cup with a band and a handle on a saucer."""
    return (
        Part(3, ring(0.37, -0.34, 0.15, 0.085)),
        Part(
            3,
            drawn(
                "M -0.38 -0.54 L 0.38 -0.54 C 0.38 -0.24 0.28 -0.06 0.14 -0.04 L -0.14 -0.04 "
                "C -0.28 -0.06 -0.38 -0.24 -0.38 -0.54 Z"
            ),
        ),
        Part(4, drawn("M -0.385 -0.54 L 0.385 -0.54 L 0.382 -0.43 L -0.382 -0.43 Z")),
        Part(
            5,
            drawn(
                "M -0.56 -0.05 L 0.56 -0.05 C 0.5 0.01 0.36 0.03 0.3 0.03 L -0.3 0.03 "
                "C -0.36 0.03 -0.5 0.01 -0.56 -0.05 Z"
            ),
        ),
    )


@cache
def moka_pot() -> Thing:
    """A stove-top pot of eight sides, one unit tall."""
    return (
        Part(4, drawn("M 0.2 -0.86 L 0.5 -0.8 L 0.44 -0.36 L 0.35 -0.36 L 0.4 -0.7 L 0.2 -0.72 Z")),
        Part(3, drawn("M -0.3 0 L -0.2 -0.44 L 0.2 -0.44 L 0.3 0 Z")),
        Part(3, drawn("M -0.2 -0.44 L -0.32 -0.86 L -0.4 -0.9 L 0.27 -0.9 L 0.2 -0.44 Z")),
        Part(3, drawn("M -0.27 -0.9 Q 0 -1.02 0.25 -0.9 Z")),
        Part(4, circle(0, -0.97, 0.05)),
        Part(5, rounded(-0.24, -0.48, 0.48, 0.07, 0.03)),
        Part(5, drawn("M -0.1 -0.04 L -0.06 -0.36 L -0.01 -0.36 L -0.02 -0.04 Z")),
    )


@cache
def paper_cup() -> Thing:
    """A cup to take away, one unit tall."""
    return (
        Part(5, drawn("M -0.31 -0.86 L 0.31 -0.86 L 0.23 0 L -0.23 0 Z")),
        Part(3, rounded(-0.36, -0.93, 0.72, 0.11, 0.04)),
        Part(3, drawn("M -0.26 -1 L 0.26 -1 L 0.3 -0.92 L -0.3 -0.92 Z")),
        Part(4, drawn("M -0.29 -0.64 L 0.29 -0.64 L 0.255 -0.26 L -0.255 -0.26 Z")),
        Part(5, circle(0, -0.45, 0.1)),
    )


@cache
def jar() -> Thing:
    """A jar of beans, one unit tall."""
    return (
        Part(
            2,
            drawn("M -0.32 -0.8 L 0.32 -0.8 L 0.36 -0.7 L 0.36 -0.04 L 0.32 0 L -0.32 0 L -0.36 -0.04 L -0.36 -0.7 Z"),
        ),
        Part(
            3,
            drawn(
                "M -0.36 -0.5 Q -0.16 -0.62 0 -0.52 Q 0.2 -0.62 0.36 -0.5 L 0.36 -0.04 L 0.32 0 "
                "L -0.32 0 L -0.36 -0.04 Z"
            ),
        ),
        Part(4, rounded(-0.36, -1, 0.72, 0.2, 0.04)),
        Part(5, rounded(-0.22, -0.38, 0.44, 0.24, 0.03)),
    )


def coffee_mark(rng: np.random.Generator) -> Thing:
    """A cup with steam."""
    plumes = [ribbon([(x + 0.04 * math.sin(k), -0.66 - 0.045 * k) for k in range(8)], 0.06) for x in (-0.14, 0.1)]
    return (
        Part(4, joined(*plumes)),
        Part(3, ring(0.34, -0.34, 0.17, 0.09)),
        Part(
            3,
            drawn(
                "M -0.38 -0.56 L 0.34 -0.56 L 0.34 -0.3 C 0.34 -0.12 0.22 0 0.06 0 L -0.1 0 "
                "C -0.26 0 -0.38 -0.12 -0.38 -0.3 Z"
            ),
        ),
        Part(2, rounded(-0.5, 0.06, 0.98, 0.07, 0.04)),
    )


# Bread


def bread(s: Sketch) -> None:
    """A loaf, a basket of long loaves, slices and ears of wheat."""
    main, other = s.one_of((basket(), round_loaf()), (tin_loaf(), basket()), (round_loaf(), basket()))
    small = [
        (other, 0.62 if other is not basket() else 1.1),
        (slice_of_bread(), 0.6),
        (wheat_bunch(), 1.05),
        (rolls(), 0.4),
    ]
    s.rng.shuffle(small)
    if main is not basket():
        small = [(part, share * 1.5) for part, share in small]
    still_life(s, main, small, 0.72 if main is basket() else 0.42)


@cache
def _long_loaf() -> Thing:
    """A baguette upright, one unit tall."""
    cuts = [
        drawn(f"M -0.08 {y} Q 0.04 {y - 0.02} 0.09 {y - 0.11} Q 0.02 {y - 0.08} -0.08 {y} Z")
        for y in (-0.2, -0.4, -0.6, -0.8)
    ]
    return (Part(4, rounded(-0.12, -1, 0.24, 1, 0.12)), Part(5, joined(*cuts)))


@cache
def basket() -> Thing:
    """Four long loaves in a basket, one unit tall."""
    loaves = [
        placed(_long_loaf(), x, -0.05, size, turn)
        for x, size, turn in ((-0.16, 0.82, -14), (0.2, 0.8, 15), (0.07, 0.94, 3))
    ]
    loaves[1] = retoned(loaves[1], {4: 2})
    weave = [
        rounded(-0.4 + 0.2 * i + (0.1 if j % 2 else 0), -0.36 + 0.09 * j, 0.13, 0.035, 0.02)
        for j in range(4)
        for i in range(4)
    ]
    return thing(
        *loaves,
        Part(3, drawn("M -0.46 -0.44 L 0.46 -0.44 L 0.36 0 L -0.36 0 Z")),
        Part(5, joined(*(w for k, w in enumerate(weave) if k % 4 < (4 if (k // 4) % 2 == 0 else 3)))),
        Part(3, rounded(-0.5, -0.5, 1.0, 0.1, 0.05)),
    )


@cache
def round_loaf() -> Thing:
    """A country loaf with crossing cuts, 0.62 tall and 1.2 wide."""
    cuts = [
        drawn(f"M {x} -0.5 Q {x + 0.1} -0.34 {x + 0.06} -0.14 Q {x + 0.02} -0.34 {x - 0.05} -0.48 Z")
        for x in (-0.3, -0.08, 0.14, 0.34)
    ]
    return (
        Part(3, rounded(-0.72, -0.07, 1.44, 0.09, 0.04)),
        Part(4, drawn("M -0.6 -0.07 C -0.7 -0.4 -0.34 -0.64 0 -0.64 C 0.34 -0.64 0.7 -0.4 0.6 -0.07 Z")),
        Part(5, joined(*cuts)),
    )


@cache
def tin_loaf() -> Thing:
    """A tin loaf cut open, its slice before it; 0.66 tall."""
    slice_ = placed(slice_of_bread(), 0.42, 0, 0.62)
    return thing(
        Part(3, rounded(-0.86, -0.05, 1.72, 0.07, 0.035)),
        Part(4, drawn("M -0.6 -0.05 L -0.6 -0.36 C -0.74 -0.4 -0.72 -0.64 -0.52 -0.64 L 0.36 -0.64 L 0.36 -0.05 Z")),
        Part(2, joined(*(bar(x, -0.56, x + 0.06, -0.46, 0.035) for x in (-0.46, -0.26, -0.06, 0.12)))),
        placed(slice_, 0, -0.05),
    )


@cache
def slice_of_bread() -> Thing:
    """A slice with its crust, one unit tall."""
    crust = drawn(
        "M -0.34 0 L -0.34 -0.5 C -0.56 -0.58 -0.52 -0.98 -0.22 -0.98 L 0.22 -0.98 "
        "C 0.52 -0.98 0.56 -0.58 0.34 -0.5 L 0.34 0 Z"
    )
    crumb = drawn(
        "M -0.26 -0.08 L -0.26 -0.55 C -0.44 -0.64 -0.4 -0.9 -0.2 -0.9 L 0.2 -0.9 "
        "C 0.4 -0.9 0.44 -0.64 0.26 -0.55 L 0.26 -0.08 Z"
    )
    return (Part(3, crust), Part(5, crumb))


@cache
def rolls() -> Thing:
    """Two buns leaning on each other, one unit tall."""
    return (
        Part(2, drawn("M 0.2 0 C 0 -0.6 0.5 -0.94 0.9 -0.9 C 1.4 -0.86 1.6 -0.3 1.4 0 Z")),
        Part(4, drawn("M -0.8 0 C -1.06 -0.5 -0.7 -1 -0.1 -1 C 0.5 -1 0.86 -0.5 0.6 0 Z")),
        Part(
            5,
            joined(*(ellipse(x, y, 0.05, 0.08) for x, y in ((-0.4, -0.6), (-0.16, -0.8), (0.1, -0.6), (-0.14, -0.5)))),
        ),
    )


@cache
def ear_of_wheat() -> Thing:
    """One ear on its stalk, one unit tall."""
    grains = []
    for k in range(4):
        for side in (-1, 1):
            grains += [part.path for part in placed(blade(4), 0, -0.5 - 0.11 * k, 0.18, side * 32)]
    grains += [part.path for part in placed(blade(4), 0, -0.86, 0.18)]
    return (Part(3, taper(0, 0, 0, -0.95, 0.035)), Part(4, joined(*grains)))


@cache
def wheat_bunch() -> Thing:
    """Five ears tied together, one unit tall."""
    ears = [
        placed(ear_of_wheat(), 0.0, -0.26 * abs(turn) / 90, 0.98 - abs(turn) / 300, turn)
        for turn in (-32, 32, -16, 16, 0)
    ]
    return thing(*ears, Part(5, rounded(-0.1, -0.3, 0.2, 0.07, 0.03)))


def bread_mark(rng: np.random.Generator) -> Thing:
    """A loaf with three cuts under an ear of wheat."""
    cuts = [bar(x, -0.42, x + 0.1, -0.22, 0.07) for x in (-0.32, -0.05, 0.22)]
    return (
        Part(3, drawn("M -0.6 0 C -0.74 -0.36 -0.4 -0.62 0 -0.62 C 0.4 -0.62 0.74 -0.36 0.6 0 Z")),
        Part(5, joined(*cuts)),
        Part(4, rounded(-0.72, 0.05, 1.44, 0.1, 0.05)),
    )
