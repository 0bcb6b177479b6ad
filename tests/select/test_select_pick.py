"""The best of several: chosen, tied, not good enough, not scored."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from salon.errors import BadValue, TooFew
from salon.select import PickSettings, ScorerColumn, ScoreReference, blend_columns, pick

ONE = blend_columns([ScorerColumn(criterion="a")])
TWO = blend_columns([ScorerColumn(criterion="a", scale="z"), ScorerColumn(criterion="b", scale="z")], {"a": 3, "b": 1})


def test_the_best_by_the_weighted_sum_with_what_each_criterion_adds() -> None:
    found = pick([[1, 9], [3, 2], [2, 2]], None, TWO, items=["x", "y", "z"])
    # 3/4 * 1 + 1/4 * 9 = 3.0; 2.75; 2.0
    assert (found.chosen, found.index, found.outcome) == ("x", 0, "best")
    assert [one.total for one in found.standings] == [3.0, 2.75, 2.0]
    assert found.standings[0].contributions == {"a": 0.75, "b": 2.25}
    assert found.margin == pytest.approx(0.25)
    assert found.tied == ()
    assert "select-pick" in str(found.signature)
    assert "a=0.75" in str(found.signature)


def test_a_lower_bound_prefers_the_surer_one_and_ties_are_declared() -> None:
    found = pick([[2.0], [1.8]], [[1.0], [0.1]], ONE, settings=PickSettings(k=1))
    assert found.chosen == "1"
    assert found.tied == ("0",)
    assert "does not differ significantly" in found.why
    bold = pick([[2.0], [1.8]], [[1.0], [0.1]], ONE, settings=PickSettings(k=0))
    assert bold.chosen == "0"
    # 2 apart, sd sqrt(2)/2 each way: 2 > 1.96 * .707
    clear = pick([[2.0], [0.0]], [[0.5], [0.5]], ONE)
    assert clear.tied == ()
    assert clear.outcome == "best"


def test_ties_and_bounds_against_a_reference_by_hand() -> None:
    levels = [
        {"criterion": "a", "mean": 10.0, "sd": 4.0, "n": 20},
        {"criterion": "flaws", "mean": 3.0, "sd": 0.5, "n": 20},
    ]
    reference = ScoreReference.parse({"name": "r", "levels": levels}, where="here")
    columns = [ScorerColumn(criterion="a"), ScorerColumn(criterion="flaws", higher_is_better=False)]
    both = blend_columns(columns, {"a": 3, "flaws": 1}, reference=reference)
    found = pick([[12, 2.5], [12, 3.5]], [[2, 0.5], [2, 0.5]], both, items=["fine", "flawed"])
    # 3/4 (12 - 10)/4 = .375; of flaws -(2.5 - 3)/.5 / 4 = .25 and -.25: fewer are better
    assert [one.total for one in found.standings] == pytest.approx([0.625, 0.125])
    assert found.chosen == "fine"
    # sd: sqrt((3/4 2/4)² + (1/4 .5/.5)²) = sqrt(.140625 + .0625) = .450694
    assert [one.sd for one in found.standings] == pytest.approx([0.450694] * 2, abs=1e-6)
    assert found.standings[0].bound == pytest.approx(0.625 - 0.450694, abs=1e-6)


@pytest.mark.parametrize(
    ("apart", "level", "tied"), [(2.7, 0.95, True), (2.8, 0.95, False), (2.3, 0.9, True), (2.4, 0.9, False)]
)
def test_ties_are_those_of_a_two_sided_test_of_the_difference(apart: float, level: float, tied: bool) -> None:
    # both errors count: 1.96 sqrt(1 + 1) = 2.772 at .95, 1.645 sqrt(2) = 2.326 at .9
    found = pick([[apart], [0.0]], [[1.0], [1.0]], ONE, settings=PickSettings(level=level))
    assert found.tied == (("1",) if tied else ())


def test_one_item_is_taken_and_said_to_be_the_only_one() -> None:
    found = pick([[0.3]], None, ONE)
    assert (found.chosen, found.outcome, found.margin) == ("0", "only", None)
    assert pick([0.3], [0.1], ONE).standings[0].bound == pytest.approx(0.2)


def test_equal_scores_are_a_tie_settled_by_order_or_seed() -> None:
    names = [f"i{n}" for n in range(6)]
    first = pick([[0.1 + 0.2]] * 5 + [[0.3]], None, ONE, items=names)
    assert (first.chosen, first.outcome) == ("i0", "equal")
    assert set(first.tied) == set(names[1:])
    drawn = [pick([[1.0]] * 6, None, ONE, items=names, settings=PickSettings(ties="seed", seed=s)) for s in range(40)]
    assert len({one.chosen for one in drawn}) > 3
    again = pick([[1.0]] * 6, None, ONE, items=names[::-1], settings=PickSettings(ties="seed", seed=7))
    assert again.chosen == drawn[7].chosen  # whatever order they come in


def test_scores_that_are_no_numbers_are_never_chosen_and_counted() -> None:
    found = pick([[math.nan, 1], [None, 5], [math.inf, 5], [-9, -9]], None, TWO)
    assert (found.chosen, found.unscored, found.n) == ("3", 3, 4)
    assert found.standings[-1].rank is None
    assert found.standings[-1].missing == ("a",)
    none = pick([[None], [math.nan]], None, ONE)
    assert (none.chosen, none.outcome, none.best) == (None, "none scored", None)


def test_numbers_beyond_arithmetic_are_no_scores() -> None:
    found = pick([[1.7e308], [-1.7e308], [1e200], [2.0]], None, ONE)
    assert (found.chosen, found.unscored) == ("3", 3)
    unsure = pick([[9.0], [8.0], [2.0]], [[math.inf], [1e200], [0.5]], ONE)
    assert (unsure.chosen, unsure.unscored) == ("2", 2)  # left out instead, their sds would have made them rise
    assert unsure.standings[0].sd == 0.5
    with pytest.raises(BadValue):
        ScoreReference.parse({"name": "x", "levels": [{"criterion": "a", "mean": 0, "sd": 1e-300, "n": 10}]})


def test_none_is_good_enough() -> None:
    found = pick([[1.0], [0.5]], [[0.3], [0.1]], ONE, settings=PickSettings(least=0.8))
    assert (found.chosen, found.outcome) == (None, "none good enough")
    assert found.best is not None
    assert found.best.item == "0"
    assert "below 0.8" in found.why
    assert pick([[1.0], [0.5]], [[0.3], [0.1]], ONE, settings=PickSettings(least=0.7)).chosen == "0"


def test_sds_that_only_some_scores_have_are_not_used_and_that_is_said() -> None:
    found = pick([[1.0], [0.9]], [[5.0], [None]], ONE)
    assert found.chosen == "0"
    assert found.standings[0].sd is None
    assert "1 of 2" in found.notes[0]
    # a missing score needs no sd
    assert pick([[1.0], [None]], [[0.5], [None]], ONE).notes == ()


@pytest.mark.parametrize(
    ("values", "sds", "items", "said"),
    [
        ([[1.0, 2.0]], None, None, "by 1 criteria"),
        ([[1.0]], [[-1.0]], None, "from 0 up"),
        ([[1.0], [2.0]], [[1.0]], None, "for each score"),
        ([[1.0], [2.0]], None, ["a"], "for each item"),
        ([[1.0], [2.0]], None, ["a", "a"], "once"),
        ([["high"]], None, None, "numbers"),
    ],
)
def test_bad_tables_are_refused(values: list, sds: list | None, items: list | None, said: str) -> None:
    with pytest.raises(BadValue, match=said):
        pick(values, sds, ONE, items=items)


def test_nothing_to_choose_from_is_an_error() -> None:
    with pytest.raises(TooFew, match="at least one item"):
        pick([], None, ONE)


numbers = st.floats(-50, 50).map(lambda x: round(x, 3))


@given(st.lists(st.tuples(numbers, numbers, st.floats(0, 3)), min_size=1, max_size=7), st.randoms())
@settings(max_examples=60)
def test_order_does_not_matter_and_a_better_score_never_hurts(rows: list, chance) -> None:
    values = np.array([row[:2] for row in rows])
    sds = np.array([[row[2], 0.5] for row in rows])
    names = [f"n{number}" for number in range(len(rows))]
    found = pick(values, sds, TWO, items=names, settings=PickSettings(ties="seed"))
    bounds = TWO.totals(values) - TWO.spreads(sds)  # by definition
    assert found.standings[0].bound == pytest.approx(bounds.max())
    mixed = list(range(len(rows)))
    chance.shuffle(mixed)
    other = pick(values[mixed], sds[mixed], TWO, items=[names[i] for i in mixed], settings=PickSettings(ties="seed"))
    assert other.chosen == found.chosen
    assert set(other.tied) == set(found.tied)
    better = values.copy()
    better[found.index] += 1.0
    assert pick(better, sds, TWO, items=names).chosen == found.chosen
