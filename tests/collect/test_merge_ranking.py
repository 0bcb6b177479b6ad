"""Ranking by pairwise questions."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from salon.collect import MergedOrder, NextPair, most_questions, next_merge_step
from salon.errors import BadValue


def settle(worth: list[int]) -> tuple[MergedOrder, int]:
    """The order a rater who prefers higher worth arrives at, and the number of questions."""
    answers: list = []
    while isinstance(step := next_merge_step(len(worth), answers), NextPair):
        d = worth[step.first] - worth[step.second]
        answers.append("first" if d > 0 else "second" if d < 0 else "tie")
    return step, len(answers)


def test_four_items_need_at_most_five_questions() -> None:
    assert most_questions(4) == 1 + 2 + 2
    asked = [settle(list(order))[1] for order in permutations(range(4))]
    assert max(asked) == 5


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_the_order_found_is_the_raters_own(worth: list[int]) -> None:
    step, asked = settle(worth)
    levels = [{worth[place] for place in tier} for tier in step.tiers]
    assert [level for tier in levels for level in tier] == sorted(set(worth), reverse=True)
    assert sorted(place for tier in step.tiers for place in tier) == list(range(len(worth)))
    assert asked <= most_questions(len(worth))


def test_more_answers_than_questions_are_refused() -> None:
    with pytest.raises(BadValue):
        next_merge_step(2, ["first", "second"])
