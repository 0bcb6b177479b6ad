"""Where a scene is drawn and what it stands on: the sketch, skies and hills, walls, tables and shelves.

A `Sketch` puts drawings and outlines into a box of pixels and cuts everything off at the edge of that box, so a
composition may bleed freely and still never leave its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from salon.render.layout import Box
from salon.render.marks import Command, Path
from salon.render.motifs.drawings import Drawing, drawing, extent, placed, retoned, size_of
from salon.render.shapes import circle, joined, polygon, rect, sector, smooth

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MotifShape:
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


class Sketch:
    """Collects the shapes of one illustration in a box, from any number of hands, and gives them back to front."""

    def __init__(self, box: Box, rng: np.random.Generator, shapes: list[MotifShape] | None = None) -> None:
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
                self.shapes.append(MotifShape(inside, tone, depth))

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
                self.shapes.append(MotifShape(path, tone, depth, True, width))

    def put(
        self, depth: float, parts: Drawing, x: float, y: float, size: float, *, turn: float = 0.0, flip: bool = False
    ) -> None:
        """Put a thing with its origin at (x, y), one of its units being `size` pixels."""
        for part in placed(parts, x, y, size, turn, flip):
            if part.width > 0:
                self.line(depth, part.tone, part.width, part.path)
            else:
                self.add(depth, part.tone, part.path)

    def shapes_back_to_front(self) -> tuple[MotifShape, ...]:
        """All shapes, the farthest first; within a depth in the order they were drawn."""
        return tuple(sorted(self.shapes, key=lambda shape: shape.depth))


# Stages


def sky(s: Sketch, tone: int = 0) -> None:
    """The whole box in one tone."""
    s.add(0.0, tone, rect(s.left, s.top, s.width, s.height))


def hill(s: Sketch, level: float, tilt: float, swing: float) -> Path:
    """Ground from a rolling line at about `level` of the height down to the lower edge."""
    start = s.between(0, 6.28)
    length = max(1.0, s.wide) * 1.1
    points = []
    for i in range(int(8 * max(1.0, s.wide)) + 1):
        t = i / int(8 * max(1.0, s.wide))
        rise = tilt * (t - 0.5) * 2 + swing * math.sin(start + t * length * 5)
        points.append((s.x(-0.05 + 1.1 * t), s.y(level + rise)))
    top = smooth(points, closed=False).commands
    return Path((*top, ("L", s.x(1.05), s.bottom + 1), ("L", s.x(-0.05), s.bottom + 1), ("Z",)))


def clouds(s: Sketch, depth: float, tone: int, count: int, low: float, high: float) -> None:
    """Flat clouds at heights between two shares of the box, some cut off by its sides."""
    for i in range(count):
        share = (i + s.between(0.1, 0.9)) / count
        size = s.unit * s.between(0.26, 0.44)
        s.put(depth, drawing("sun", "cloud", tone), s.x(share), s.y(s.between(low, high)), size, flip=s.chance(0.5))


def rays(x: float, y: float, r: float, count: int, angle: float = 0.0, inner: float = 0.0, share: float = 0.5) -> Path:
    """Wedges of light from a centre, each filling `share` of its angle."""
    step = 360 / count
    return joined(*(sector(x, y, r, angle + i * step, angle + (i + share) * step, inner) for i in range(count)))


def wall(s: Sketch, level: float) -> None:
    """A room: backdrop, one large quiet form on the wall behind the main thing, and a table or floor below `level`."""
    sky(s)
    s.one_of(disc_on_wall, arch_on_wall, light_on_wall, window_in_wall)(s, level)
    s.add(0.3, 2, rect(s.left, s.y(level), s.width, s.bottom - s.y(level)))


def disc_on_wall(s: Sketch, level: float) -> None:
    """A pale disc behind the main thing."""
    r = s.unit * s.between(0.34, 0.42)
    s.add(0.1, 1, circle(s.x(s.between(0.4, 0.6)), s.y(level) - r * s.between(0.62, 0.9), r))


def arch_on_wall(s: Sketch, level: float) -> None:
    """A niche with a round top."""
    r = s.unit * s.between(0.3, 0.38)
    x = s.x(s.between(0.4, 0.6))
    top = max(s.y(level) - r * 2.3, s.top + r + s.unit * 0.08)
    if s.wide < 0.7:
        top = s.y(s.between(0.2, 0.3)) + r
    s.add(0.1, 1, joined(sector(x, top, r, 180, 360), rect(x - r, top - 0.5, 2 * r, s.y(level) - top + 1)))


def light_on_wall(s: Sketch, level: float) -> None:
    """Light from a window falls across the wall."""
    lean = s.one_of(-1, 1) * s.unit * 0.4
    x, half = s.x(0.5), s.unit * s.between(0.24, 0.32)
    foot = s.y(level)
    for shift in (-1.06, 1.06):
        a, b = x + shift * half - half, x + shift * half + half
        s.add(0.1, 1, polygon([(a + lean, s.top), (b + lean, s.top), (b - lean * 0.4, foot), (a - lean * 0.4, foot)]))


def window_in_wall(s: Sketch, level: float) -> None:
    """A window with four panes, a little off the middle."""
    wide, tall = s.unit * 0.6, min(s.unit * 0.72, s.height * level * 0.8)
    x, y = s.x(0.5) - wide * s.between(0.35, 0.65), s.y(level) - tall - s.height * level * 0.12
    gap = s.unit * 0.025
    for i in range(2):
        for j in range(2):
            s.add(0.1, 1, rect(x + i * (wide + gap) / 2, y + j * (tall + gap) / 2, (wide - gap) / 2, (tall - gap) / 2))


Choice = tuple[Drawing, float]
"""A drawing and its height against the main one."""


def still_life(s: Sketch, main: Drawing, companions: list[Choice], tall: float = 0.6, level: float = 0.76) -> None:
    """The main thing on a table, others to its sides as far as there is room; in a slim box, a cabinet of shelves."""
    if s.wide < 0.6:
        cabinet(s, [(main, 1.0), *companions])
        return
    wall(s, level)
    left, top, right, _ = size_of(main)
    size = min(s.height * tall / -top, s.width * 0.78 / (right - left))
    x = s.x(s.between(0.42, 0.58) if s.wide < 1.3 else s.one_of(0.36, 0.64) + s.between(-0.03, 0.03))
    x -= size * (left + right) / 2
    s.put(0.6, main, x, s.y(level) + s.height * 0.08, size)
    if not companions:
        return
    tallest = max(range(len(companions)), key=lambda k: -size_of(companions[k][0])[1] * companions[k][1])
    # Paler than it is, and never of the tone it stands behind: that of the main thing's largest part.
    sides = [(extent([part.path]), part.tone) for part in main]
    _, tone = max(sides, key=lambda side: (side[0][2] - side[0][0]) * (side[0][3] - side[0][1]))
    pale = retoned(companions[tallest][0], {4: 2} if tone == 4 else {3: 2, 2: 1})
    _put_behind(s, pale, x + size * (left + right) / 2, -top * size, s.y(level))
    companions = companions[:tallest] + companions[tallest + 1 :]
    ends = {-1: x + left * size, 1: x + right * size}
    for k in range(12 if companions else 0):
        side = 1 if (k % 2 == 0) == (x < s.x(0.5)) else -1
        companion, share = companions[k % len(companions)]
        _put_beside(s, companion, share * size, side, ends, k, s.y(level))


def _put_behind(s: Sketch, companion: Drawing, x: float, tall: float, table: float) -> None:
    """A tall thing looks over the shoulder of the main one, which is `tall` pixels high."""
    left, top, right, _ = size_of(companion)
    slim = (right - left) / -top < 0.5
    high = (table - s.top) * 0.92 if slim else min(1.5 * tall, 0.58 * s.height)
    size = min(high / -top, s.width * 0.7 / (right - left))
    side, wide = (1 if x < s.x(0.5) else -1), size * (right - left)
    middle = x + side * min(wide * 0.62, s.width * 0.3)
    middle = min(max(middle, s.left + wide * 0.4), s.right - wide * 0.4)
    s.put(0.45, companion, middle - side * size * (left + right) / 2, table + s.height * 0.03, size, flip=side < 0)


def _put_beside(
    s: Sketch, companion: Drawing, size: float, side: int, ends: dict[int, float], k: int, table: float
) -> None:
    """Put one more thing at the end of the row on one side, unless most of it would be cut off."""
    left, _, right, _ = size_of(companion)
    wide = (right - left) * size
    near = ends[side] + side * wide * (0.08 if k > 1 else -0.06)
    middle = near + side * wide / 2
    if not s.left + wide * 0.3 < middle < s.right - wide * 0.3:
        return
    before = k % 4 in (1, 2)
    foot = table + s.height * (0.12 if before else 0.04)
    s.put(0.7 if before else 0.5, companion, middle - size * (left + right) / 2, foot, size)
    ends[side] = near + side * wide


def cabinet(s: Sketch, things: list[Choice]) -> None:
    """Shelves above each other, one thing on each, its back wall now pale, now plain."""
    count = max(2, round(s.height / (s.width * 0.92)))
    sky(s)
    board = s.width * 0.035
    for k in range(count):
        shelf = s.within(0, k / count, 1, (k + 1) / count)
        item, share = things[k % len(things)]
        left, top, right, _ = size_of(item)
        room = shelf.height - board
        size = min(room * 0.82 / -top * max(share, 0.6), shelf.width * 0.8 / (right - left))
        if k % 2:
            shelf.add(0.1, 1, rect(shelf.left, shelf.top, shelf.width, shelf.height))
        else:
            shelf.add(0.2, 1, circle(shelf.x(0.5), shelf.top + room * 0.52, shelf.width * 0.38))
        shelf.add(0.3, 2, rect(shelf.left, shelf.bottom - board, shelf.width, board))
        shelf.put(0.6, item, shelf.x(0.5) - size * (left + right) / 2, shelf.bottom - board, size)


# Outlines


def taper(x0: float, y0: float, x1: float, y1: float, width: float) -> Path:
    """A stroke that runs out to a point."""
    length = math.dist((x0, y0), (x1, y1))
    nx, ny = -(y1 - y0) / length * width / 2, (x1 - x0) / length * width / 2
    return polygon([(x0 - nx, y0 - ny), (x1, y1), (x0 + nx, y0 + ny)])


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
    closed: list[list[Node]] = []
    for command in path.commands:
        if command[0] == "M":
            closed.append([command[1:]])
        elif command[0] != "Z":
            closed[-1].append(command[1:])
    commands: list[Command] = []
    for nodes in closed:
        for axis, limit, side, crossed in sides:
            if crossed and nodes:
                nodes = _cut_one_side(nodes, axis, limit, side)
        if len(nodes) > 2 or any(len(node) > 2 for node in nodes):
            commands.append(("M", *nodes[0]))
            for node in nodes[1:]:
                commands.append((_LETTERS[len(node)], *node))
            commands.append(("Z",))
    return Path(tuple(commands), path.even_odd) if commands else None


_LETTERS = {2: "L", 4: "Q", 6: "C"}


def _cut_one_side(nodes: list[Node], axis: int, limit: float, side: float) -> list[Node]:
    """The outline on one side of an upright or level line (Sutherland and Hodgman, 1974).

    Curves that stay on the near side stay as they are, those beyond it need only their end, and those that cross
    are followed in short straight steps.
    """
    inside: list[Node] = []
    before = nodes[-1][-2:]
    for node in nodes:
        steps: Sequence[Node] = (node,)
        if len(node) > 2:
            places = [side * (value - limit) for value in (before[axis], *node[axis::2])]
            if min(places) >= 0:
                inside.append(node)
                before = node[-2:]
                continue
            steps = (node[-2:],) if max(places) < 0 else _curve_points(before, node)
        for here in steps:
            was, now = side * (before[axis] - limit), side * (here[axis] - limit)
            if (was >= 0) != (now >= 0):
                t = was / (was - now)
                along = before[1 - axis] + t * (here[1 - axis] - before[1 - axis])
                inside.append((along, limit) if axis else (limit, along))
            if now >= 0:
                inside.append(here)
            before = here
    return inside


def _curve_points(start: Node, node: Node) -> list[Node]:
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
