"""The scatter: names never touch, lines outside the axes are not drawn, everything is told and escaped."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from salon.errors import BadValue
from salon.report import text_width
from salon.report.charts import ScatterMark, scatter


def dots(n: int, rng: np.random.Generator) -> list[ScatterMark]:
    xs, ys = rng.uniform(20, 90, n), rng.uniform(30, 70, n)
    return [ScatterMark(f"generator-{k}", (x, x - 5, x + 5), (y, y - 3, y + 3)) for k, (x, y) in enumerate(zip(xs, ys))]


@pytest.mark.parametrize("width", [840, 342])
def test_fifty_names_never_touch_a_dot_or_each_other(width):
    drawing = scatter(dots(50, np.random.default_rng(0)), x_label="Capability", y_label="EPS", width=width)
    placed = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="label haloed[^"]*">([^<]+)<', drawing)
    boxes = [(float(x), float(y) - 10, float(x) + text_width(words), float(y) + 3) for x, y, words in placed]
    circles = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawing)]
    assert len(circles) == 50
    assert 8 < len(boxes) < 50, "those that fit, first rows first"
    assert placed[0][2] == "generator-0"
    for one, other in itertools.combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    assert not [(x, y) for x, y in circles for box in boxes if box[0] < x < box[2] and box[1] < y < box[3]]


def test_each_dot_has_a_cross_where_both_intervals_are_known():
    rows = [ScatterMark("a", (50, 40, 60), (50, 45, 55)), ScatterMark("b", (70, None, None), (55, 50, 60))]
    drawing = scatter(rows, x_label="x", y_label="y")
    assert drawing.count('class="cohort-1 cross"') == 3
    assert "a: 50.0 [40.0, 60.0] across, 50.0 [45.0, 55.0] up" in drawing


def test_a_line_outside_the_axes_is_not_drawn():
    rows = [ScatterMark("a", (80, 70, 90), (80, 75, 85))]
    assert "dashed" not in scatter(rows, x_label="x", y_label="y", y_line=("half", 50.0), x_line=("half", 50.0))
    assert "dashed" in scatter(rows, x_label="x", y_label="y", y_line=("high", 81.0))


def test_names_are_escaped_and_nothing_to_draw_is_an_error():
    drawing = scatter([ScatterMark("<b>&", (1, 0, 2), (1, 0, 2), note="<i>")], x_label="<x>", y_label="<y>")
    assert not re.search(r"<(b|i|x|y)>", drawing)
    with pytest.raises(BadValue, match="at least one dot"):
        scatter([], x_label="x", y_label="y")
