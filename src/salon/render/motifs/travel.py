"""Bicycle and train: over land."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from salon.render.motifs.land import fir, round_tree
from salon.render.motifs.sketch import Part, Sketch, Thing, bar, drawn, retoned, thing
from salon.render.motifs.staging import clouds, hill, rays, sky
from salon.render.shapes import circle, joined, line, polygon, rect, ring, rounded, sector

# Bicycle


def bicycle(s: Sketch) -> None:
    """A bicycle on a road past hills and trees, or before a rainbow of bands."""
    sky(s)
    level = 0.82 if s.wide > 0.6 else 0.72
    size = min(s.width * 0.84, s.height * 0.86)
    x, foot = s.x(s.between(0.46, 0.54)), s.y(level) + s.height * 0.03
    if s.chance(0.6):
        s.add(0.1, 1, circle(x + size * s.between(-0.2, 0.2), foot - size * 0.4, size * s.between(0.34, 0.42)))
        _trees_along(s, level)
    else:
        bands = [sector(x, foot, size * 0.2 + s.unit * 0.1 * k, 180, 360) for k in (6, 5, 4, 3, 2)]
        for tone, band in zip((1, 2, 1, 0, 1), bands):
            s.add(0.1, tone, band)
    if s.wide < 0.6:
        s.add(0.05, 4, circle(s.x(s.one_of(0.32, 0.68)), s.y(0.2), s.unit * 0.2))
        clouds(s, 0.08, 5, 2, 0.14, 0.36)
    _road(s, s.y(level))
    s.put(0.7, bike(s.chance(0.5)), x, foot, size, flip=s.chance(0.5))


def _trees_along(s: Sketch, level: float) -> None:
    """A hill and the trees of an avenue."""
    s.add(0.2, 1, hill(s, level - 0.12, s.between(-0.06, 0.06), 0.03))
    for k in range(int(s.width / (s.unit * 0.3)) + 1):
        tree = round_tree(s, 2, 1) if k % 2 else fir(2)
        tall = s.height * s.between(0.24, 0.36) if s.wide > 0.6 else s.unit * 0.8
        s.put(0.3, tree, s.left + s.unit * (0.3 * k + s.between(0, 0.16)), s.y(level) + 2, tall)


def _road(s: Sketch, y: float) -> None:
    """The road from `y` down, with its broken line."""
    s.add(0.4, 2, rect(s.left, y, s.width, s.height))
    middle, start = y + (s.bottom - y) * 0.62, s.left - s.unit * s.between(0, 0.2)
    for k in range(int(s.wide * 4) + 3):
        s.add(0.45, 5, rect(start + s.unit * 0.3 * k, middle, s.unit * 0.16, s.unit * 0.016))


BACK, FRONT, CRANK, SEAT, HEAD = (-0.28, -0.215), (0.28, -0.215), (-0.03, -0.225), (-0.1, -0.47), (0.19, -0.47)
"""Where a bicycle's parts meet."""


@cache
def bike(basket: bool) -> Thing:
    """A bicycle one unit long with its wheels on the ground at y = 0."""
    tubes = [
        (SEAT, CRANK, 0.03),
        (CRANK, HEAD, 0.03),
        ((-0.085, -0.43), HEAD, 0.03),
        (SEAT, BACK, 0.022),
        (CRANK, BACK, 0.022),
    ]
    saddle = (
        "M -0.2 -0.545 L -0.02 -0.53 C 0 -0.52 -0.02 -0.505 -0.05 -0.505 L -0.15 -0.49 "
        "C -0.2 -0.49 -0.22 -0.53 -0.2 -0.545 Z"
    )
    handle = joined(bar(0.17, -0.57, 0.28, -0.6, 0.024), bar(0.17, -0.57, 0.166, -0.52, 0.024))
    pedal = joined(bar(*CRANK, 0.02, -0.145, 0.018), bar(-0.01, -0.14, 0.05, -0.14, 0.018))
    wicker = (
        Part(4, drawn("M 0.24 -0.6 L 0.42 -0.6 L 0.39 -0.46 L 0.27 -0.46 Z")),
        Part(5, rect(0.25, -0.55, 0.155, 0.018)),
    )
    return thing(
        _wheel(*BACK),
        _wheel(*FRONT),
        Part(4, joined(*(bar(*a, *b, width) for a, b, width in tubes))),
        Part(4, bar(0.17, -0.56, *FRONT, 0.026)),
        Part(3, handle),
        Part(3, joined(bar(-0.11, -0.5, -0.09, -0.44, 0.02), drawn(saddle))),
        Part(3, circle(*CRANK, 0.05)),
        Part(5, circle(*CRANK, 0.022)),
        Part(3, pedal),
        wicker if basket else (),
    )


def _wheel(x: float, y: float) -> Thing:
    """A tyre and eight spokes."""
    ways = [(math.cos(a), math.sin(a)) for a in np.linspace(0.2, 0.2 + 2 * math.pi, 9)[:-1].tolist()]
    spokes = [line(x + 0.03 * c, y + 0.03 * d, x + 0.18 * c, y + 0.18 * d) for c, d in ways]
    return (Part(3, joined(*spokes), 0.006), Part(3, ring(x, y, 0.215, 0.18)))


def bicycle_mark(rng: np.random.Generator) -> Thing:
    """Two wheels, a frame, a saddle and a bar."""
    frame = [
        bar(-0.1, -0.46, -0.03, -0.2, 0.05),
        bar(-0.03, -0.2, 0.19, -0.46, 0.05),
        bar(-0.09, -0.42, 0.19, -0.44, 0.05),
        bar(-0.1, -0.46, -0.3, -0.2, 0.05),
        bar(-0.3, -0.2, -0.03, -0.2, 0.05),
    ]
    return (
        Part(3, ring(-0.3, -0.2, 0.22, 0.15)),
        Part(3, ring(0.3, -0.2, 0.22, 0.15)),
        Part(4, joined(*frame, bar(0.17, -0.56, 0.3, -0.2, 0.05))),
        Part(3, joined(bar(0.17, -0.57, 0.29, -0.6, 0.05), bar(-0.19, -0.52, -0.03, -0.52, 0.06))),
    )


# Train


def train(s: Sketch) -> None:
    """An express seen head-on between its rails, or passing from side to side through hills."""
    if s.wide > 1.35 or (s.wide > 0.9 and s.chance(0.4)):
        _passing(s)
    else:
        _head_on(s)


def _head_on(s: Sketch) -> None:
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
    s.put(0.6, locomotive(s.one_of(0, 1)), x, foot, size)
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


@cache
def locomotive(kind: int) -> Thing:
    """The face of an express, one unit tall: a rounded streamliner or a boxy one with a visor."""
    if kind == 0:
        body = drawn("M -0.4 0 L -0.44 -0.5 C -0.44 -0.86 -0.26 -1 0 -1 C 0.26 -1 0.44 -0.86 0.44 -0.5 L 0.4 0 Z")
        stripe = drawn("M -0.435 -0.42 L 0 -0.2 L 0.435 -0.42 L 0.42 -0.2 L 0.06 0 L -0.06 0 L -0.42 -0.2 Z")
        glass = joined(
            drawn("M -0.03 -0.84 L -0.03 -0.56 L -0.34 -0.56 C -0.34 -0.74 -0.2 -0.84 -0.03 -0.84 Z"),
            drawn("M 0.03 -0.84 L 0.03 -0.56 L 0.34 -0.56 C 0.34 -0.74 0.2 -0.84 0.03 -0.84 Z"),
        )
    else:
        body = rounded(-0.42, -0.96, 0.84, 0.98, 0.12)
        stripe = drawn("M -0.42 -0.46 L 0.42 -0.46 L 0.42 -0.26 L 0.12 -0.12 L -0.12 -0.12 L -0.42 -0.26 Z")
        glass = joined(rounded(-0.34, -0.84, 0.3, 0.28, 0.04), rounded(0.04, -0.84, 0.3, 0.28, 0.04))
    lights = joined(circle(-0.28, -0.34, 0.065), circle(0.28, -0.34, 0.065), circle(0, -0.91, 0.035))
    guard = drawn("M -0.44 -0.08 L 0.44 -0.08 L 0.36 0.1 L -0.36 0.1 Z")
    bars = joined(*(rect(-0.3 + 0.12 * k, -0.05, 0.05, 0.12) for k in range(6)))
    return (Part(3, body), Part(5, glass), Part(4, stripe), Part(5, lights), Part(4, guard), Part(3, bars))


def _passing(s: Sketch) -> None:
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
    s.put(0.6, engine(), mirror(front), foot, size, flip=flip)
    x, k = front + size * 1.5, 0
    while x < s.right + size:
        s.put(0.6, retoned(coach(), {} if k % 2 else {4: 3, 3: 4}), mirror(x), foot, size, flip=flip)
        x, k = x + size * 1.24, k + 1
    puffs = [(0.18, -1.06, 0.1), (0.34, -1.2, 0.14), (0.58, -1.32, 0.18), (0.92, -1.4, 0.23), (1.34, -1.42, 0.27)]
    s.add(0.55, 1, *(circle(mirror(front + size * a), foot + size * b, size * c) for a, b, c in puffs))


@cache
def engine() -> Thing:
    """A steam engine driving left, one unit tall, the funnel near the origin."""
    wheels = [(0.0, 0.11), (0.3, 0.16), (0.66, 0.16)]
    return (
        Part(3, drawn("M -0.3 -0.12 L 0.86 -0.12 L 0.86 -0.22 L -0.18 -0.22 Z")),
        Part(3, rounded(-0.16, -0.66, 0.74, 0.46, 0.08)),
        Part(
            3,
            drawn(
                "M 0.46 -0.96 L 0.94 -0.96 L 0.94 -0.88 L 0.86 -0.88 L 0.86 -0.16 L 0.5 -0.16 "
                "L 0.5 -0.88 L 0.46 -0.88 Z"
            ),
        ),
        Part(5, rect(0.58, -0.8, 0.2, 0.24)),
        Part(
            4,
            joined(
                drawn("M 0.04 -0.64 L 0.0 -0.98 L 0.24 -0.98 L 0.2 -0.64 Z"),
                sector(0.38, -0.64, 0.09, 180, 360),
                rect(-0.16, -0.5, 0.06, 0.16),
            ),
        ),
        Part(4, joined(*(circle(x, -r, r) for x, r in wheels))),
        Part(5, joined(*(circle(x, -r, r * 0.42) for x, r in wheels), rounded(0.0, -0.16, 0.68, 0.035, 0.015))),
    )


@cache
def coach() -> Thing:
    """A carriage 1.2 long, its left end at -0.6."""
    panes = joined(*(rounded(-0.5 + 0.26 * k, -0.68, 0.18, 0.22, 0.03) for k in range(4)))
    wheels = joined(*(circle(x, -0.1, 0.1) for x in (-0.42, -0.2, 0.2, 0.42)))
    return (
        Part(3, rect(-0.64, -0.26, 1.28, 0.06)),
        Part(4, rounded(-0.58, -0.82, 1.16, 0.6, 0.06)),
        Part(3, rounded(-0.62, -0.88, 1.24, 0.1, 0.05)),
        Part(5, panes),
        Part(5, rect(-0.58, -0.38, 1.16, 0.04)),
        Part(3, wheels),
    )


def train_mark(rng: np.random.Generator) -> Thing:
    """An express head-on, on its rails."""
    rails = joined(
        drawn("M -0.2 0.06 L -0.08 0.06 L -0.26 0.28 L -0.4 0.28 Z"),
        drawn("M 0.2 0.06 L 0.08 0.06 L 0.26 0.28 L 0.4 0.28 Z"),
    )
    return thing(Part(2, rails), *(part for part in locomotive(0)[:4]))
