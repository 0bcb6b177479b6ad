"""How numbers are written for people."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from salon.errors import BadValue
from salon.report import numbers

FINITE = st.floats(-1e12, 1e12, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (0.159, 0.121, 0.198, "0.159 [0.121, 0.198]"),  # width .077: two digits of it are thousandths
        (0.1591, -0.1, 0.4, "0.16 [−0.10, 0.40]"),  # width .5: hundredths
        (0.75031, 0.7501, 0.7505, "0.75031 [0.75010, 0.75050]"),  # width 4e-4
        (1520.4, 1200.2, 1800.9, "1 520 [1 200, 1 801]"),
        (0.5, 0.45, 0.5499, "0.50 [0.45, 0.55]"),  # width .0999 counts as .10
        (0.159, None, None, "0.159"),
        (None, None, None, "–"),
        (0.5, 0.5, 0.5, "0.500 [0.500, 0.500]"),
        (2.0, 1.0, math.inf, "2.000 [1.000, ∞]"),
    ],
)
def test_estimate_is_rounded_by_its_interval(value, low, high, shown):
    assert numbers.estimate(value, low, high).replace("\u202f", " ") == shown


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (0.0, "< 1e−10"),
        (9.9e-11, "< 1e−10"),
        (3.24e-6, "3.2e−6"),
        (0.00049, "0.0005"),
        (0.0015, "0.0015"),
        (0.038, "0.038"),
        (0.0498, "0.0498"),  # two digits would say 0.050, which is not below .05
        (0.00999, "0.00999"),
        (0.05, "0.050"),
        (0.21, "0.21"),
        (1.0, "1.00"),
        (None, "–"),
    ],
)
def test_p_value(p, shown):
    assert numbers.p_value(p) == shown


@given(st.floats(1e-4, 1, exclude_min=True))
def test_p_value_never_crosses_a_landmark(p):
    shown = float(numbers.p_value(p))
    for mark in numbers.P_LANDMARKS:
        # Nearer to a landmark than the eighth decimal no rounding can tell.
        assert (p < mark) == (shown < mark) or abs(p - mark) < 1e-8


@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_p_value_outside_its_range_is_refused(p):
    with pytest.raises(BadValue, match="between 0 and 1"):
        numbers.p_value(p)


def test_minus_sign_is_true_and_zero_has_none():
    assert numbers.fixed(-0.0666) == "−0.067"
    assert numbers.fixed(-0.0001) == "0.000"
    assert numbers.fixed(-0.0) == "0.000"
    assert numbers.fixed(-math.inf) == "−∞"


def test_half_rounds_up_as_people_do():
    assert numbers.fixed(62.5, 0) == "63"
    assert numbers.percent(0.625) == "63%"
    assert numbers.fixed(0.0625, 3) == "0.063"


def test_counts_and_shares():
    assert numbers.count(1_000_000) == "1\u202f000\u202f000"
    assert numbers.count(999) == "999"
    assert numbers.share(12, 80) == "12 of 80 (15%)"
    assert numbers.share(0, 0) == "0 of 0"
    assert numbers.exact(Fraction(-1, 5)) == "−1/5"
    assert numbers.exact("3875/18432") == "3875/18432"


@pytest.mark.parametrize(
    ("x", "shown"), [(0, "0%"), (0.15, "15%"), (0.025, "2.5%"), (0.0008, "0.08%"), (1, "100%"), (-0.5, "−50%")]
)
def test_percent(x, shown):
    assert numbers.percent(x) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 µs"),
        (0.00035, "350 µs"),
        (0.0123, "12 ms"),
        (1.42, "1.4 s"),
        (59.96, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3599.7, "1 h 00 min"),
        (12_000, "3 h 20 min"),
        (4 * 86400 + 3 * 3600, "4 d 3 h"),
        (-125, "−2 min 05 s"),
    ],
)
def test_duration(seconds, shown):
    assert numbers.duration(seconds).replace("\u202f", " ") == shown


@pytest.mark.parametrize(
    ("x", "shown"), [(0.0015234, "0.00152"), (1234.6, "1 235"), (-2.5, "−2.50"), (0, "0"), (1e-9, "1.00e−9")]
)
def test_significant(x, shown):
    assert numbers.significant(x).replace("\u202f", " ") == shown


def test_nan_is_refused_and_none_is_a_dash():
    for write in (numbers.fixed, numbers.percent, numbers.p_value, numbers.duration, numbers.plain):
        with pytest.raises(BadValue):
            write(math.nan)
        assert write(None) in ("–", None)


def test_plain_takes_numpy_and_refuses_words():
    assert repr(numbers.plain(np.float64(0.1))) == "0.1"
    assert repr(numbers.plain(np.int64(3))) == "3"
    with pytest.raises(BadValue, match="a number is needed"):
        numbers.plain("0.1")


def test_align_puts_points_in_one_column():
    cells = ["0.159 [0.121, 0.198]", "−12.5", "3", "15%"]
    aligned = numbers.align(cells)
    assert len({len(c) for c in aligned}) == 1
    assert aligned[0].index(".") == aligned[1].index(".") == 3
    assert aligned[2].index("3") == aligned[3].index("5") == 2
    assert numbers.align([]) == []


@given(st.lists(FINITE, min_size=1, max_size=8), st.integers(0, 6))
def test_fixed_says_the_number_within_half_a_unit(xs, decimals):
    for x in xs:
        shown = float(numbers.fixed(x, decimals).replace("−", "-").replace("\u202f", ""))
        assert abs(shown - x) <= 0.5 * 10.0**-decimals * (1 + 1e-9) + abs(x) * 1e-12


@given(FINITE, st.floats(1e-6, 1e6))
def test_interval_is_never_shown_as_a_point(low, width):
    ends = numbers.interval(low, low + width).strip("[]").split(", ")
    assert low + width == low or ends[0] != ends[1]


@pytest.mark.parametrize(
    ("x", "shown"),
    [(0.87654, "0.877"), (-4.2, "−4.200"), (45.05, "45.05"), (135, "135.0"), (9999.7, "10\u202f000"), (0, "0.000")],
)
def test_a_score_on_any_scale_has_four_digits_that_count(x, shown):
    assert numbers.fixed(x, numbers.score_decimals(x)) == shown
