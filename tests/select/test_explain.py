"""Explanations: contributions sum to the total, exactly; neighbours leave out copies; edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from salon.errors import BadValue, TooFew
from salon.select import Blend, ScorerColumn, blend_columns, compare_contributions, contributions, spread_of, total_of
from salon.select.explanation import distances, nearest, rank_among
from salon.select.weights import BlendTerm

numbers = st.floats(-1e6, 1e6)


@st.composite
def blends(draw):
    count = draw(st.integers(1, 6))
    weights = draw(st.lists(st.floats(0.01, 10), min_size=count, max_size=count))
    terms = [
        BlendTerm(
            criterion=f"c{n}", share=weight / sum(weights), sign=draw(st.sampled_from([1, -1])), center=draw(numbers),
            unit=draw(st.floats(1e-3, 1e3)),
        )
        for n, weight in enumerate(weights)
    ]  # fmt: skip
    return Blend(terms=tuple(terms), scale="test")


@given(blends(), st.data())
def test_contributions_sum_to_the_total(made, data):
    values = [data.draw(numbers) for _ in made.terms]
    found = contributions(made, values, [None] * len(values))
    whole = float(made.totals(np.array([values]))[0])
    size = sum(abs(one.adds) for one in found)
    assert total_of(found) == pytest.approx(whole, rel=1e-9, abs=1e-12 * max(1, size))
    for one, term, value in zip(found, made.terms, values):
        assert one.adds == pytest.approx(term.share * term.sign * (value - term.center) / term.unit, rel=1e-9, abs=1e-9)


@given(blends(), st.data())
def test_a_difference_is_the_sum_of_differences_and_turns_its_sign_when_swapped(made, data):
    a, b = (contributions(made, [data.draw(numbers) for _ in made.terms], [None] * len(made.terms)) for _ in "ab")
    there, back = compare_contributions(a, b), compare_contributions(b, a)
    size = sum(abs(one.adds) for one in (*a, *b))
    assert there.total == pytest.approx(total_of(a) - total_of(b), rel=1e-9, abs=1e-12 * max(1, size))
    assert there.total == pytest.approx(math.fsum(there.adds.values()))
    assert back.total == -there.total
    assert [abs(one) for one in there.adds.values()] == sorted(map(abs, there.adds.values()), reverse=True)


def two(weights=None):
    columns = [
        ScorerColumn(criterion="type", scale="s"),
        ScorerColumn(criterion="flaw", scale="s", higher_is_better=False),
    ]
    return blend_columns(columns, weights)


def test_by_hand():
    # weights 3 to 1: 0.75 * 2 - 0.25 * 4 = 0.5; against 0.75 * 1 - 0.25 * 2 = 0.25
    made = two({"type": 3, "flaw": 1})
    a, b = (contributions(made, values, [0.4, 0.8]) for values in ((2, 4), (1, 2)))
    assert [one.adds for one in a] == [1.5, -1.0]
    assert (total_of(a), spread_of(made, a)) == (0.5, pytest.approx(math.hypot(0.3, 0.2)))
    assert a[0].interval == pytest.approx((2 - 0.784, 2 + 0.784))
    found = compare_contributions(a, b)
    assert found.adds == {"type": 0.75, "flaw": -0.5}
    assert found.told == "the first stands above by 0.25, most by type (0.75); against it speaks flaw (0.5)"
    assert compare_contributions(a, a).told == "both have the same total"


def test_a_criterion_without_a_value_leaves_no_total_unless_it_has_no_weight():
    lacking = contributions(two(), [1, None], [None, None], reasons={"flaw": "no picture"})
    assert (total_of(lacking), lacking[1].unscored, lacking[1].adds) == (None, "no picture", None)
    assert compare_contributions(lacking, lacking).told == "no total: flaw gave no value"
    assert total_of(contributions(two({"type": 1, "flaw": 0}), [1, math.nan], [None, None])) == 1
    with pytest.raises(BadValue, match="same criteria"):
        compare_contributions(lacking, lacking[:1])


def test_neighbours_are_nearest_first_without_the_picture_and_its_copies():
    among = {"look": np.array([[1.0, 0], [0, 1], [1, 1], [2, 0], [0, 0]]), "text": np.zeros((5, 2))}
    apart = distances({"look": np.array([1.0, 0]), "text": np.zeros(2)}, among)
    assert apart == pytest.approx([0, 0.5, (1 - math.sqrt(0.5)) / 2, 0, 0.5])
    assert nearest(apart, 2) == [2, 1]
    assert nearest(apart, 9, copies=[False, False, True, False, False]) == [1, 4]
    assert nearest(apart, 0) == []
    with pytest.raises(BadValue, match="same parts"):
        distances({"look": np.ones(2)}, among)
    with pytest.raises(BadValue, match="one width"):
        distances({"look": np.ones(3)}, {"look": np.ones((2, 2))})


def test_where_a_value_stands():
    # of 1, 2, 2, 4: one below 2 and two equal, so (1 + 1) / 4
    assert rank_among(2, [1, 2, 2, 4]) == (0.5, (1.75, 2.0, 2.5))
    assert rank_among(9, [1, 2])[0] == 1
    with pytest.raises(TooFew):
        rank_among(1, [])
    with pytest.raises(BadValue):
        rank_among(math.nan, [1.0])
