"""Axes: ticks inside the domain, labels apart."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from salon.errors import BadValue
from salon.report import LinearScale, domain, spread, text_width
from salon.report.svg import fit, lanes, tick_labels, ticks


@given(st.floats(-1e6, 1e6), st.floats(1e-4, 1e6), st.integers(2, 12))
def test_ticks_are_few_round_and_inside(low, size, most):
    found = ticks(low, low + size, most)
    assert len(found) <= most + 1
    assert all(low - size * 1e-6 <= t <= low + size * (1 + 1e-6) for t in found)
    assert len(set(tick_labels(found))) == len(found)


def test_ticks_by_hand():
    assert ticks(-0.2, 1.0, 6) == [-0.2, 0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert tick_labels([0, 0.05, 0.1]) == ["0.00", "0.05", "0.10"]
    assert tick_labels([0, 0.2], percent=True) == ["0%", "20%"]


def test_scale_maps_ends_to_ends():
    scale = LinearScale(-1, 3, 100, 20)
    assert [scale(-1), scale(3), scale(1)] == [100, 20, 60]


def test_domain_is_never_empty():
    low, high = domain([0.5, None, 0.5])
    assert low < 0.5 < high
    with pytest.raises(BadValue, match="finite value"):
        domain([None])
    with pytest.raises(BadValue):
        domain([float("nan"), 1.0])


@given(st.lists(st.tuples(st.floats(0, 800), st.text("abcWi 0", max_size=20)), min_size=1, max_size=12))
def test_labels_in_one_lane_never_overlap(marks):
    positions, labels = [m[0] for m in marks], [m[1] for m in marks]
    chosen = lanes(positions, labels)
    boxes = [(lane, x - text_width(w) / 2, x + text_width(w) / 2) for lane, x, w in zip(chosen, positions, labels)]
    for i, (lane, left, right) in enumerate(boxes):
        for other, start, end in boxes[i + 1 :]:
            assert lane != other or right <= start or end <= left


@given(st.lists(st.floats(0, 300), min_size=1, max_size=10))
def test_spread_keeps_distance_order_and_bounds(positions):
    placed = spread(positions, 15, 0, 300)
    ordered = sorted(placed)
    assert all(b - a >= 15 - 1e-9 for a, b in itertools.pairwise(ordered))
    assert ordered[-1] <= 300 + 1e-9


@given(st.text(max_size=80), st.floats(20, 300))
def test_fit_stays_in_its_room(words, room):
    assert text_width(fit(words, room)) <= room + 1e-9


def test_what_was_cut_before_is_not_cut_at_its_ellipsis_again():
    assert fit("abc…xyz", text_width("abc…") + text_width("…")) == "abc…"


def test_an_axis_has_two_ticks_at_least():
    """From -1.87 to 1.08 over 150 pixels, at 70 a tick, steps of 2 would leave 0 alone; steps of 1 leave three."""
    assert LinearScale(-1.87, 1.08, 0, 150).ticks(70) == [-1, 0, 1]
    assert len(LinearScale(0.999, 1.0005, 0, 100).ticks(70)) > 1


def test_an_axis_of_shares_ends_where_shares_do():
    assert domain([0.9, 1.0], within=(0.0, 1.0)) == (pytest.approx(0.896), 1.0)
    assert domain([1.0, 1.0], within=(0.0, 1.0)) == (0.9, 1.0), "all alike: still an axis, and nothing above 1"
    assert domain([-0.2, 1.1], within=(0.0, 1.0)) == (-0.2, 1.1), "what was observed is always on the axis"
