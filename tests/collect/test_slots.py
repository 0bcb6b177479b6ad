"""Where planted questions stand."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, strategies as st

from salon.collect.design import free_to_repeat, plan_slots

SMALL = st.integers(0, 12)


@given(st.integers(0, 60), SMALL, SMALL, SMALL, SMALL, st.integers(0, 2**32))
def test_all_stand_somewhere_and_repeats_have_something_to_repeat(
    ordinary: int, repeats: int, gap: int, gold: int, attention: int, seed: int
) -> None:
    found = plan_slots(
        ordinary, repeats=repeats, gap=gap, gold=gold, attention=attention, rng=np.random.default_rng(seed)
    )
    counts = Counter(found)
    assert (counts["ordinary"], counts["gold"], counts["attention"]) == (ordinary, gold, attention)
    assert counts["repeat"] <= min(repeats, ordinary)
    asked: list = []
    for why in found:
        free = free_to_repeat(asked, gap)
        asked.append((why, free[0] if why == "repeat" else None))  # IndexError: nothing to repeat


def test_long_runs_hold_every_repeat() -> None:
    for seed in range(20):
        found = plan_slots(60, repeats=30, gap=10, rng=np.random.default_rng(seed))
        assert Counter(found)["repeat"] == 30


def test_a_gap_longer_than_the_run_leaves_no_repeats() -> None:
    assert plan_slots(4, repeats=4, gap=10, rng=np.random.default_rng(0)) == ("ordinary",) * 4


def test_planted_questions_are_spread() -> None:
    """One attention check in each quarter of the 104 places."""
    for seed in range(20):
        found = plan_slots(100, attention=4, rng=np.random.default_rng(seed))
        places = [place for place, why in enumerate(found) if why == "attention"]
        assert all(26 * quarter <= place <= 26 * (quarter + 1) for quarter, place in enumerate(places))


def test_a_question_is_free_once_the_gap_is_past() -> None:
    asked = [("ordinary", None), ("gold", None), ("ordinary", None), ("ordinary", None)]
    assert free_to_repeat(asked, 2) == [0]
    assert free_to_repeat([*asked, ("repeat", 0)], 1) == [2, 3]
