"""Outlines: their boxes by hand, curves that pass through their points, and moves that undo each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from salon.render import Path, shapes


def box(path: Path) -> tuple[float, ...]:
    found = shapes.bounds(path)
    return tuple(round(v, 2) for v in (found.x, found.y, found.right, found.bottom))


def area(path: Path, steps: int = 64) -> float:
    """The area inside, by walking the outline in short straight steps."""
    total, here, start = 0.0, (0.0, 0.0), (0.0, 0.0)
    for name, *values in path.commands:
        points = [here, *zip(values[::2], values[1::2])] if name not in "MZ" else [here, start]
        if name == "M":
            here = start = (values[0], values[1])
            continue
        walked = [tuple(shapes._bezier(axis, t) for axis in zip(*points)) for t in np.linspace(0, 1, steps)]
        total += sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairwise(walked)) / 2
        here = walked[-1]
    return abs(total)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (shapes.rect(1, 2, 3, 4), (1, 2, 4, 6)),
        (shapes.rounded(1, 2, 30, 4, 99), (1, 2, 31, 6)),
        (shapes.circle(10, 10, 5), (5, 5, 15, 15)),
        (shapes.ellipse(0, 0, 2, 7), (-2, -7, 2, 7)),
        (shapes.arc(0, 0, 10, 0, 180), (-10, 0, 10, 10)),
        (shapes.sector(0, 0, 10, -90, 0), (0, -10, 10, 0)),
        (shapes.sector(0, 0, 10, 0, 90, inner=4), (0, 0, 10, 10)),
        (shapes.regular(0, 0, 1, 4), (-1, -1, 1, 1)),
        (shapes.wave(0, 100, 50, 10, 50), (0, 40, 100, 60)),
        (shapes.swell(0, 100, 50, 10, 50, 90), (0, 40, 100, 90)),
        (Path((("M", 0, 0), ("Q", 10, 20, 20, 0))), (0, 0, 20, 10)),
        (Path(()), (0, 0, 0, 0)),
    ],
)
def test_boxes_by_hand(path, expected):
    assert box(path) == pytest.approx(expected, abs=0.3)


def test_areas_by_formula():
    assert area(shapes.circle(40, 30, 10)) == pytest.approx(np.pi * 100, rel=2e-3)
    assert area(shapes.sector(0, 0, 10, 20, 110, inner=5)) == pytest.approx(np.pi * 75 / 4, rel=2e-3)
    assert area(shapes.rounded(0, 0, 20, 10, 3)) == pytest.approx(200 - (4 - np.pi) * 9, rel=2e-3)
    # A five-pointed star is ten triangles with sides 10 and 4 and 36 degrees between.
    assert area(shapes.star(0, 0, 10, 4)) == pytest.approx(10 * 10 * 4 / 2 * np.sin(np.radians(36)))


def test_a_smooth_curve_passes_through_its_points():
    points = [(0.0, 0.0), (10.0, 4.0), (20.0, -3.0), (5.0, -9.0)]
    closed, opened = shapes.smooth(points), shapes.smooth(points, closed=False)
    assert [command[-2:] for command in closed.commands[:-1]] == [*points, points[0]]
    assert [command[-2:] for command in opened.commands] == points
    assert shapes.smooth(points[:2]).commands == (("M", 0.0, 0.0), ("L", 10.0, 4.0))


def test_moves_undo_each_other():
    path = shapes.blob(50, 60, 20, np.random.default_rng(1))
    there = shapes.turned(shapes.moved(path, 3, -4), 33, 7, 9)
    back = shapes.moved(shapes.turned(there, -33, 7, 9), -3, 4)
    for before, after in zip(path.commands, back.commands, strict=True):
        assert before[0] == after[0]
        assert before[1:] == pytest.approx(after[1:])


def test_a_quarter_turn_is_clockwise():
    assert box(shapes.turned(shapes.rect(0, 0, 10, 1), 90, 0, 0)) == (-1, 0, 0, 10)


def test_joined_keeps_every_outline():
    both = shapes.joined(shapes.rect(0, 0, 1, 1), shapes.rect(5, 5, 1, 1), even_odd=True)
    assert both.even_odd
    assert box(both) == (0, 0, 6, 6)
    assert shapes.ring(0, 0, 3, 1).even_odd
