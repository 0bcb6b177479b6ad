"""Ways to write a `marks.Path`: plain outlines, curves through points, and moving, scaling and turning them.

Angles are degrees, clockwise on the canvas (y points down), 0 to the right. Outlines are closed unless the name says
line, arc or wave. Circles are four cubic curves (off by 0.03% of the radius at most).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from salon.render.layout import Box
from salon.render.marks import Command, Path

Point = tuple[float, float]
Matrix = tuple[float, float, float, float, float, float]


def rect(x: float, y: float, width: float, height: float) -> Path:
    """An upright rectangle by its upper left corner."""
    return polygon(((x, y), (x + width, y), (x + width, y + height), (x, y + height)))


def rounded(x: float, y: float, width: float, height: float, r: float) -> Path:
    """A rectangle with round corners; a radius beyond half a side gives a pill."""
    r = min(r, width / 2, height / 2)
    if r <= 0:
        return rect(x, y, width, height)
    right, bottom = x + width, y + height
    corners = ((right - r, y + r, -90), (right - r, bottom - r, 0), (x + r, bottom - r, 90), (x + r, y + r, 180))
    commands: list[Command] = [("M", x + r, y)]
    for cx, cy, start in corners:
        turn = _arc_commands(cx, cy, r, r, start, start + 90)
        commands += [("L", *turn[0][1:]), *turn[1:]]
    return Path((*commands, ("Z",)))


def circle(x: float, y: float, r: float) -> Path:
    """A disc's outline around (x, y)."""
    return ellipse(x, y, r, r)


def ellipse(x: float, y: float, rx: float, ry: float) -> Path:
    """An upright ellipse around (x, y)."""
    return Path((*_arc_commands(x, y, rx, ry, 0, 360), ("Z",)))


def polygon(points: Iterable[Point]) -> Path:
    """Straight edges through the points, closed."""
    return Path((*polyline(points).commands, ("Z",)))


def polyline(points: Iterable[Point]) -> Path:
    """Straight edges through the points, open."""
    return Path(tuple(("M" if i == 0 else "L", float(x), float(y)) for i, (x, y) in enumerate(points)))


def line(x0: float, y0: float, x1: float, y1: float) -> Path:
    """One straight stroke."""
    return Path((("M", x0, y0), ("L", x1, y1)))


def smooth(points: Sequence[Point], closed: bool = True, tension: float = 1.0) -> Path:
    """A curve through all points (Catmull-Rom as cubics); tension 0 gives straight edges, 1 the usual round ones."""
    n = len(points)
    if n < 3:
        return polyline(points)

    def at(i: int) -> Point:
        return points[i % n if closed else min(max(i, 0), n - 1)]

    commands: list[Command] = [("M", *map(float, points[0]))]
    for i in range(n if closed else n - 1):
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = (at(i + k) for k in (-1, 0, 1, 2))
        pull = tension / 6
        commands.append(
            ("C", *map(float, (
                x1 + (x2 - x0) * pull, y1 + (y2 - y0) * pull, x2 - (x3 - x1) * pull, y2 - (y3 - y1) * pull, x2, y2,
            )))
        )  # fmt: skip
    return Path((*commands, ("Z",)) if closed else tuple(commands))


def arc(x: float, y: float, r: float, start: float, end: float, ry: float | None = None) -> Path:
    """The open part of a circle (or of an ellipse, with `ry`) from angle `start` to `end`."""
    return Path(tuple(_arc_commands(x, y, r, r if ry is None else ry, start, end)))


def ring(x: float, y: float, outer: float, inner: float) -> Path:
    """A disc with a round hole."""
    return joined(circle(x, y, outer), circle(x, y, inner), even_odd=True)


def sector(x: float, y: float, r: float, start: float, end: float, inner: float = 0.0) -> Path:
    """A slice of a disc; with `inner`, of a ring."""
    outside = _arc_commands(x, y, r, r, start, end)
    if inner <= 0:
        return Path((("M", float(x), float(y)), ("L", *outside[0][1:]), *outside[1:], ("Z",)))
    inside = _arc_commands(x, y, inner, inner, end, start)
    return Path((*outside, ("L", *inside[0][1:]), *inside[1:], ("Z",)))


def regular(x: float, y: float, r: float, sides: int, angle: float = -90.0) -> Path:
    """A regular polygon with its first corner at `angle`."""
    return polygon(_around(x, y, [r] * sides, angle))


def star(x: float, y: float, outer: float, inner: float, points: int = 5, angle: float = -90.0) -> Path:
    """A star whose first point looks to `angle`."""
    return polygon(_around(x, y, [outer, inner] * points, angle))


def wave(x0: float, x1: float, y: float, height: float, length: float, phase: float = 0.0) -> Path:
    """An open sine-like line from x0 to x1 about `y`: `height` from rest to crest, `phase` in wave lengths."""
    steps = max(2, math.ceil(8 * (x1 - x0) / length))
    places = [x0 + (x1 - x0) * i / steps for i in range(steps + 1)]
    return smooth([(x, y - height * math.sin(2 * math.pi * ((x - x0) / length + phase))) for x in places], closed=False)


def swell(x0: float, x1: float, y: float, height: float, length: float, bottom: float, phase: float = 0.0) -> Path:
    """The area between a `wave` and the level `bottom`."""
    top = wave(x0, x1, y, height, length, phase).commands
    return Path((*top, ("L", float(x1), float(bottom)), ("L", float(x0), float(bottom)), ("Z",)))


def blob(x: float, y: float, r: float, rng: np.random.Generator, lobes: int = 7, wobble: float = 0.22) -> Path:
    """A soft irregular pebble about (x, y): `wobble` is how far its radius strays, as a share of r."""
    radii = r * (1 + wobble * rng.uniform(-1, 1, lobes))
    return smooth(_around(x, y, radii.tolist(), float(rng.uniform(0, 360))))


def moved(path: Path, dx: float, dy: float) -> Path:
    """The path shifted."""
    return transformed(path, (1, 0, 0, 1, dx, dy))


def turned(path: Path, angle: float, x: float, y: float) -> Path:
    """The path turned by `angle` about (x, y)."""
    return transformed(path, turn(angle, x, y))


def turn(angle: float, x: float, y: float) -> Matrix:
    """The matrix of a turn about (x, y), as `marks.Group.transform` takes it."""
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return (c, s, -s, c, x - c * x + s * y, y - s * x - c * y)


def transformed(path: Path, matrix: Matrix) -> Path:
    """The path under x' = a x + c y + e, y' = b x + d y + f."""
    a, b, c, d, e, f = matrix
    commands: list[Command] = []
    for name, *values in path.commands:
        pairs = zip(values[::2], values[1::2])
        commands.append((name, *(v for x, y in pairs for v in (a * x + c * y + e, b * x + d * y + f))))
    return Path(tuple(commands), path.even_odd)


def joined(*paths: Path, even_odd: bool = False) -> Path:
    """All outlines as one path; with `even_odd`, outlines inside others are holes."""
    return Path(tuple(command for path in paths for command in path.commands), even_odd)


def bounds(path: Path) -> Box:
    """The tight upright box around the outline, bulges of curves included."""
    xs: list[float] = []
    ys: list[float] = []
    here = (0.0, 0.0)
    for _, *values in path.commands:
        if not values:
            continue
        for axis, extremes in ((0, xs), (1, ys)):
            control = (here[axis], *values[axis::2])
            p = control
            if len(p) == 3:
                turns = _roots(0.0, p[0] - 2 * p[1] + p[2], p[1] - p[0])
            elif len(p) == 4:
                turns = _roots(-p[0] + 3 * p[1] - 3 * p[2] + p[3], 2 * (p[0] - 2 * p[1] + p[2]), p[1] - p[0])
            else:
                turns = []
            extremes += [p[-1], *(_bezier(p, t) for t in turns if 0 < t < 1)]
        here = (values[-2], values[-1])
    if not xs:
        return Box(x=0, y=0, width=0, height=0)
    return Box(x=min(xs), y=min(ys), width=max(xs) - min(xs), height=max(ys) - min(ys))


def _roots(a: float, b: float, c: float) -> list[float]:
    """Where a t^2 + b t + c is nought."""
    if abs(a) < 1e-12:
        return [-c / b] if abs(b) > 1e-12 else []
    under = b * b - 4 * a * c
    if under < 0:
        return []
    return [(-b + sign * math.sqrt(under)) / (2 * a) for sign in (1, -1)]


def _bezier(control: tuple[float, ...], t: float) -> float:
    """Its value at t, by de Casteljau."""
    while len(control) > 1:
        control = tuple(a + (b - a) * t for a, b in pairwise(control))
    return control[0]


def _around(x: float, y: float, radii: Sequence[float], angle: float) -> list[Point]:
    """Points at even angles about (x, y), each at its own radius."""
    angles = [math.radians(angle + 360 * i / len(radii)) for i in range(len(radii))]
    return [(x + r * math.cos(a), y + r * math.sin(a)) for r, a in zip(radii, angles)]


def _arc_commands(x: float, y: float, rx: float, ry: float, start: float, end: float) -> list[Command]:
    """Cubics of at most a quarter turn each, begun by a move."""
    pieces = max(1, math.ceil(abs(end - start) / 90 - 1e-9))
    step = math.radians((end - start) / pieces)
    k = 4 / 3 * math.tan(step / 4)
    angles = [math.radians(start) + i * step for i in range(pieces + 1)]
    corners = [(math.cos(angle), math.sin(angle)) for angle in angles]
    commands: list[Command] = [("M", x + rx * corners[0][0], y + ry * corners[0][1])]
    for (c0, s0), (c1, s1) in pairwise(corners):
        out = (x + rx * (c0 - k * s0), y + ry * (s0 + k * c0))
        back = (x + rx * (c1 + k * s1), y + ry * (s1 - k * c1))
        commands.append(("C", *out, *back, x + rx * c1, y + ry * s1))
    return commands
