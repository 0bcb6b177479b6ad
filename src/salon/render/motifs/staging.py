"""Where a scene plays: skies, hills, walls, tables, and what fills the rest of a long box."""

from __future__ import annotations

import math

from salon.render.marks import Path
from salon.render.motifs.sketch import Part, Sketch, Thing, extent, retoned, size_of
from salon.render.shapes import circle, joined, polygon, rect, rounded, sector, smooth


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


def cloud() -> Thing:
    """A flat-bottomed cloud about one unit wide, its foot at the origin."""
    return (
        Part(
            5,
            joined(
                rounded(-0.5, -0.2, 1.0, 0.2, 0.1),
                circle(-0.14, -0.2, 0.2),
                circle(0.17, -0.17, 0.14),
            ),
        ),
    )


def clouds(s: Sketch, depth: float, tone: int, count: int, low: float, high: float) -> None:
    """Flat clouds at heights between two shares of the box, some cut off by its sides."""
    for i in range(count):
        share = (i + s.between(0.1, 0.9)) / count
        size = s.unit * s.between(0.26, 0.44)
        puff = tuple(Part(tone, part.path) for part in cloud())
        s.put(depth, puff, s.x(share), s.y(s.between(low, high)), size, flip=s.chance(0.5))


def rays(x: float, y: float, r: float, count: int, angle: float = 0.0, inner: float = 0.0, share: float = 0.5) -> Path:
    """Wedges of light from a centre, each filling `share` of its angle."""
    step = 360 / count
    return joined(*(sector(x, y, r, angle + i * step, angle + (i + share) * step, inner) for i in range(count)))


def wall(s: Sketch, level: float) -> None:
    """A room: backdrop, one large quiet form on the wall behind the main thing, and a table or floor below `level`."""
    sky(s)
    s.one_of(_disc, _arch, _slant, _window)(s, level)
    s.add(0.3, 2, rect(s.left, s.y(level), s.width, s.bottom - s.y(level)))


def _disc(s: Sketch, level: float) -> None:
    r = s.unit * s.between(0.34, 0.42)
    s.add(0.1, 1, circle(s.x(s.between(0.4, 0.6)), s.y(level) - r * s.between(0.62, 0.9), r))


def _arch(s: Sketch, level: float) -> None:
    r = s.unit * s.between(0.3, 0.38)
    x = s.x(s.between(0.4, 0.6))
    top = max(s.y(level) - r * 2.3, s.top + r + s.unit * 0.08)
    if s.wide < 0.7:
        top = s.y(s.between(0.2, 0.3)) + r
    s.add(0.1, 1, joined(sector(x, top, r, 180, 360), rect(x - r, top - 0.5, 2 * r, s.y(level) - top + 1)))


def _slant(s: Sketch, level: float) -> None:
    """Light from a window falls across the wall."""
    lean = s.one_of(-1, 1) * s.unit * 0.4
    x, half = s.x(0.5), s.unit * s.between(0.24, 0.32)
    foot = s.y(level)
    for shift in (-1.06, 1.06):
        a, b = x + shift * half - half, x + shift * half + half
        s.add(0.1, 1, polygon([(a + lean, s.top), (b + lean, s.top), (b - lean * 0.4, foot), (a - lean * 0.4, foot)]))


def _window(s: Sketch, level: float) -> None:
    """A window with four panes, a little off the middle."""
    wide, tall = s.unit * 0.6, min(s.unit * 0.72, s.height * level * 0.8)
    x, y = s.x(0.5) - wide * s.between(0.35, 0.65), s.y(level) - tall - s.height * level * 0.12
    gap = s.unit * 0.025
    for i in range(2):
        for j in range(2):
            s.add(0.1, 1, rect(x + i * (wide + gap) / 2, y + j * (tall + gap) / 2, (wide - gap) / 2, (tall - gap) / 2))


Choice = tuple[Thing, float]
"""A thing and its height against the main one."""


def still_life(s: Sketch, main: Thing, others: list[Choice], tall: float = 0.6, level: float = 0.76) -> None:
    """The main thing on a table, others to its sides as far as there is room; in a slim box, a cabinet of shelves."""
    if s.wide < 0.6:
        cabinet(s, [(main, 1.0), *others])
        return
    wall(s, level)
    left, top, right, _ = size_of(main)
    size = min(s.height * tall / -top, s.width * 0.78 / (right - left))
    x = s.x(s.between(0.42, 0.58) if s.wide < 1.3 else s.one_of(0.36, 0.64) + s.between(-0.03, 0.03))
    x -= size * (left + right) / 2
    s.put(0.6, main, x, s.y(level) + s.height * 0.08, size)
    tallest = max(range(len(others)), key=lambda k: -size_of(others[k][0])[1] * others[k][1])
    # Paler than it is, and never of the tone it stands behind.
    faint = {4: 2} if _tone_of(main) == 4 else {3: 2, 2: 1}
    _behind(s, retoned(others[tallest][0], faint), x + size * (left + right) / 2, -top * size, s.y(level))
    others = others[:tallest] + others[tallest + 1 :]
    ends = {-1: x + left * size, 1: x + right * size}
    for k in range(12 if others else 0):
        side = 1 if (k % 2 == 0) == (x < s.x(0.5)) else -1
        other, share = others[k % len(others)]
        _beside(s, other, share * size, side, ends, k, s.y(level))


def _tone_of(parts: Thing) -> int:
    """The tone of a thing's largest part."""

    def area(part: Part) -> float:
        left, top, right, bottom = extent([part.path])
        return (right - left) * (bottom - top)

    return max(parts, key=area).tone


def _behind(s: Sketch, other: Thing, x: float, tall: float, table: float) -> None:
    """A tall thing looks over the shoulder of the main one, which is `tall` pixels high."""
    left, top, right, _ = size_of(other)
    slim = (right - left) / -top < 0.5
    high = (table - s.top) * 0.92 if slim else min(1.5 * tall, 0.58 * s.height)
    size = min(high / -top, s.width * 0.7 / (right - left))
    side, wide = (1 if x < s.x(0.5) else -1), size * (right - left)
    middle = x + side * min(wide * 0.62, s.width * 0.3)
    middle = min(max(middle, s.left + wide * 0.4), s.right - wide * 0.4)
    s.put(0.45, other, middle - side * size * (left + right) / 2, table + s.height * 0.03, size, flip=side < 0)


def _beside(s: Sketch, other: Thing, size: float, side: int, ends: dict[int, float], k: int, table: float) -> None:
    """Put one more thing at the end of the row on one side, unless most of it would be cut off."""
    left, _, right, _ = size_of(other)
    wide = (right - left) * size
    near = ends[side] + side * wide * (0.08 if k > 1 else -0.06)
    middle = near + side * wide / 2
    if not s.left + wide * 0.3 < middle < s.right - wide * 0.3:
        return
    before = k % 4 in (1, 2)
    foot = table + s.height * (0.12 if before else 0.04)
    s.put(0.7 if before else 0.5, other, middle - size * (left + right) / 2, foot, size)
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
