"""What illustrations are built from: shapes with a tone and a depth, things drawn once and put anywhere, a sketch.

A `Thing` is drawn in a small space of its own: y downwards, about one unit tall, standing things with their foot at
y = 0. A `Sketch` puts things and outlines into a box of pixels and cuts everything off at the edge of that box, so a
composition may bleed freely and still never leave its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from salon.render.layout import Box
from salon.render.marks import Command, Path
from salon.render.shapes import Point, polygon, rounded, smooth, transformed, turned

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shape:
    """One flat outline of an illustration.

    Tones name a part, not a color: 0 backdrop (a style may leave it out), 1 far, 2 middle, 3 main, 4 accent,
    5 highlight and detail (must stand out from 3 and 4). Scenes by night fill the box with tone 3. Depth runs from
    0, the back, to 1, the front; shapes with the same depth belong to one sheet of paper.
    """

    path: Path
    tone: int
    depth: float
    line: bool = False
    """Drawn as a line of `width` with round ends instead of filled."""
    width: float = 0.0


@dataclass(frozen=True, slots=True)
class Part:
    """One outline of a thing, in the thing's own units; a positive width makes it a line."""

    tone: int
    path: Path
    width: float = 0.0


Thing = tuple[Part, ...]


def thing(*parts: Part | Thing) -> Thing:
    """Parts and whole things as one thing, in drawing order."""
    return tuple(part for entry in parts for part in ((entry,) if isinstance(entry, Part) else entry))


@lru_cache(maxsize=1024)
def drawn(text: str) -> Path:
    """An outline from letters and numbers as SVG writes them: absolute M, L, Q, C and Z."""
    commands: list[Command] = []
    for word in text.replace(",", " ").split():
        if word in "MLQCZ":
            commands.append((word,))
        else:
            commands[-1] += (float(word),)
    return Path(tuple(commands))


def placed(
    parts: Thing, x: float = 0.0, y: float = 0.0, size: float = 1.0, turn: float = 0.0, flip: bool = False
) -> Thing:
    """The thing scaled by `size`, mirrored, turned clockwise by `turn` degrees, and moved so its origin is (x, y)."""
    cos, sin = math.cos(math.radians(turn)) * size, math.sin(math.radians(turn)) * size
    side = -1.0 if flip else 1.0
    matrix = (cos * side, sin * side, -sin, cos, x, y)
    return tuple(Part(part.tone, transformed(part.path, matrix), part.width * size) for part in parts)


def bar(x0: float, y0: float, x1: float, y1: float, width: float) -> Path:
    """A straight stroke with round ends as a closed outline."""
    length = math.dist((x0, y0), (x1, y1))
    level = rounded(x0 - width / 2, y0 - width / 2, length + width, width, width / 2)
    return turned(level, math.degrees(math.atan2(y1 - y0, x1 - x0)), x0, y0)


def taper(x0: float, y0: float, x1: float, y1: float, width: float) -> Path:
    """A stroke that runs out to a point."""
    length = math.dist((x0, y0), (x1, y1))
    nx, ny = -(y1 - y0) / length * width / 2, (x1 - x0) / length * width / 2
    return polygon([(x0 - nx, y0 - ny), (x1, y1), (x0 + nx, y0 + ny)])


def ribbon(points: list[Point], width: float | list[float]) -> Path:
    """A band along a curve through the points, as a closed outline: of one width, or of one for each point."""
    widths = width if isinstance(width, list) else [width] * len(points)
    left, right = [], []
    last = len(points) - 1
    for i, (x, y) in enumerate(points):
        (x0, y0), (x1, y1) = points[max(i - 1, 0)], points[min(i + 1, last)]
        share = widths[i] / 2 / (math.dist((x0, y0), (x1, y1)) or 1.0)
        left.append((x + (y1 - y0) * share, y - (x1 - x0) * share))
        right.append((x - (y1 - y0) * share, y + (x1 - x0) * share))
    there, back = smooth(left, closed=False).commands, smooth(right[::-1], closed=False).commands
    return Path((*there, ("L", *back[0][1:]), *back[1:], ("Z",)))


def retoned(parts: Thing, tones: dict[int, int]) -> Thing:
    """The thing with some tones exchanged."""
    return tuple(Part(tones.get(part.tone, part.tone), part.path, part.width) for part in parts)


def extent(paths: Iterable[Path]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the points that steer the outlines; curves lie within."""
    xs: list[float] = []
    ys: list[float] = []
    for path in paths:
        for command in path.commands:
            xs += command[1:][::2]
            ys += command[1:][1::2]
    return min(xs), min(ys), max(xs), max(ys)


def size_of(parts: Thing) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a thing, lines included."""
    sides = [(*extent([part.path]), part.width / 2) for part in parts]
    return (
        min(left - half for left, _, _, _, half in sides),
        min(top - half for _, top, _, _, half in sides),
        max(right + half for _, _, right, _, half in sides),
        max(bottom + half for _, _, _, bottom, half in sides),
    )


def fitted(parts: Thing, box: Box) -> Thing:
    """The thing as large as the box allows, in its middle."""
    left, top, right, bottom = size_of(parts)
    size = min(box.width / (right - left), box.height / (bottom - top))
    x = box.x + box.width / 2 - size * (left + right) / 2
    y = box.y + box.height / 2 - size * (top + bottom) / 2
    return placed(parts, x, y, size)


class Sketch:
    """Collects the shapes of one illustration in a box, from any number of hands, and gives them back to front."""

    def __init__(self, box: Box, rng: np.random.Generator, shapes: list[Shape] | None = None) -> None:
        self.box, self.rng = box, rng
        self.shapes = [] if shapes is None else shapes
        self.left, self.top, self.width, self.height = box.x, box.y, box.width, box.height
        self.right, self.bottom = box.right, box.bottom
        self.unit = min(box.width, box.height)
        self.wide = box.width / box.height
        """Width over height."""

    def x(self, share: float) -> float:
        """The x at this share of the width."""
        return self.left + share * self.width

    def y(self, share: float) -> float:
        """The y at this share of the height."""
        return self.top + share * self.height

    def within(self, left: float, top: float, right: float, bottom: float) -> Sketch:
        """A sketch of a part of the box, in shares; what is drawn there is cut off there and collected here."""
        box = Box(x=self.x(left), y=self.y(top), width=(right - left) * self.width, height=(bottom - top) * self.height)
        return Sketch(box, self.rng, self.shapes)

    def between(self, low: float, high: float) -> float:
        """A number drawn evenly from low..high."""
        return float(low + (high - low) * self.rng.random())

    def one_of(self, *choices: T) -> T:
        """One of the choices, all equally likely."""
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < share)

    def add(self, depth: float, tone: int, *paths: Path) -> None:
        """Fill outlines; what reaches over the edge of the box is cut off."""
        for path in paths:
            inside = cut(path, self.left, self.top, self.right, self.bottom)
            if inside is not None:
                self.shapes.append(Shape(inside, tone, depth))

    def line(self, depth: float, tone: int, width: float, *paths: Path) -> None:
        """Draw lines with round ends; these are for the inside of a box and are left out where they would leave it."""
        for path in paths:
            left, top, right, bottom = extent([path])
            half = width / 2
            if (
                left - half >= self.left
                and right + half <= self.right
                and top - half >= self.top
                and bottom + half <= self.bottom
            ):
                self.shapes.append(Shape(path, tone, depth, True, width))

    def put(
        self, depth: float, parts: Thing, x: float, y: float, size: float, *, turn: float = 0.0, flip: bool = False
    ) -> None:
        """Put a thing with its origin at (x, y), one of its units being `size` pixels."""
        for part in placed(parts, x, y, size, turn, flip):
            if part.width > 0:
                self.line(depth, part.tone, part.width, part.path)
            else:
                self.add(depth, part.tone, part.path)

    def done(self) -> tuple[Shape, ...]:
        """All shapes, the farthest first; within a depth in the order they were drawn."""
        return tuple(sorted(self.shapes, key=lambda shape: shape.depth))


Node = tuple[float, ...]
"""One step of an outline: where it ends, after the points that steer it there if it is a curve."""


def cut(path: Path, left: float, top: float, right: float, bottom: float) -> Path | None:
    """What of an outline lies in the rectangle: the outline itself when all of it does, None when nothing does."""
    a, b, c, d = extent([path])
    if a >= left and b >= top and c <= right and d <= bottom:
        return path
    if a >= right or b >= bottom or c <= left or d <= top:
        return None
    sides = (
        (0, left, 1.0, a < left),
        (0, right, -1.0, c > right),
        (1, top, 1.0, b < top),
        (1, bottom, -1.0, d > bottom),
    )
    commands: list[Command] = []
    for nodes in _subpaths(path):
        for axis, limit, side, crossed in sides:
            if crossed and nodes:
                nodes = _one_side(nodes, axis, limit, side)
        if len(nodes) > 2 or any(len(node) > 2 for node in nodes):
            commands.append(("M", *nodes[0]))
            for node in nodes[1:]:
                commands.append((_LETTERS[len(node)], *node))
            commands.append(("Z",))
    return Path(tuple(commands), path.even_odd) if commands else None


_LETTERS = {2: "L", 4: "Q", 6: "C"}


def _subpaths(path: Path) -> list[list[Node]]:
    """The closed outlines of a path, each from its first point on."""
    found: list[list[Node]] = []
    for command in path.commands:
        if command[0] == "M":
            found.append([command[1:]])
        elif command[0] != "Z":
            found[-1].append(command[1:])
    return found


def _one_side(nodes: list[Node], axis: int, limit: float, side: float) -> list[Node]:
    """The outline on one side of an upright or level line (Sutherland and Hodgman, 1974).

    Curves that stay on the near side are kept as they are, those beyond it need only their end, and those that cross
    are followed in short straight steps.
    """
    kept: list[Node] = []
    before = nodes[-1][-2:]
    for node in nodes:
        steps: Sequence[Node] = (node,)
        if len(node) > 2:
            places = [side * (value - limit) for value in (before[axis], *node[axis::2])]
            if min(places) >= 0:
                kept.append(node)
                before = node[-2:]
                continue
            steps = (node[-2:],) if max(places) < 0 else _along(before, node)
        for here in steps:
            was, now = side * (before[axis] - limit), side * (here[axis] - limit)
            if (was >= 0) != (now >= 0):
                t = was / (was - now)
                other = before[1 - axis] + t * (here[1 - axis] - before[1 - axis])
                kept.append((other, limit) if axis else (limit, other))
            if now >= 0:
                kept.append(here)
            before = here
    return kept


def _along(start: Node, node: Node) -> list[Node]:
    """Points on a curve after its start, some fifteen pixels apart."""
    (x0, y0), (x1, y1), (x3, y3) = start, node[:2], node[-2:]
    if len(node) == 4:
        x1, y1, x2, y2 = (x0 + 2 * x1) / 3, (y0 + 2 * y1) / 3, (x3 + 2 * x1) / 3, (y3 + 2 * y1) / 3
    else:
        x2, y2 = node[2:4]
    steps = min(
        48, 3 + int((abs(x1 - x0) + abs(y1 - y0) + abs(x2 - x1) + abs(y2 - y1) + abs(x3 - x2) + abs(y3 - y2)) / 16)
    )
    points: list[Node] = []
    for k in range(1, steps + 1):
        t = k / steps
        s = 1 - t
        a, b, c, d = s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t
        points.append((a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3))
    return points
