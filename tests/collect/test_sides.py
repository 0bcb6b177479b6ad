"""Left and right, and places of several items."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, strategies as st
from studios import studio, study, walker

from salon.collect.assignment import make_screen
from salon.collect.design import balanced_sides, complete_pairs, rotated_order
from salon.collect.plan import make_plan


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[str, str]]:
    items = draw(st.integers(2, 12))
    pairs = complete_pairs(items)
    kept = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1))
    return [(str(a), str(b)) for a, b in kept]


@given(graphs(), st.integers(0, 2**32))
def test_every_item_is_left_as_often_as_right(pairs: list[tuple[str, str]], seed: int) -> None:
    first_left = balanced_sides(pairs, rng=np.random.default_rng(seed))
    balance: Counter[str] = Counter()
    for (a, b), first in zip(pairs, first_left):
        balance[a] += 1 if first else -1
        balance[b] += -1 if first else 1
    assert all(abs(n) <= 1 for n in balance.values())


def test_two_raters_in_turn_see_every_pair_both_ways() -> None:
    plan = make_plan(study(), studio())
    run = plan.runs["designers"][0]
    for unit in range(len(run.units)):
        q = run.question(unit)
        first, second = (make_screen(plan, q, rater=f"r{n}", number=n, position=0).order for n in (4, 5))
        assert first == second[::-1]


def test_over_p_raters_every_item_stands_in_every_place() -> None:
    orders = [rotated_order("abcd", by, rng=np.random.default_rng(3)) for by in range(4)]
    assert all({order[place] for order in orders} == set("abcd") for place in range(4))


def test_a_repeat_is_shown_the_other_way_round() -> None:
    for protocol in ("compare", "rank"):
        rater = walker(study(12), studio({"protocol": protocol, "checks": {"repeats": 4, "gap": 2}}))
        rater.walk()
        repeats = [shown for shown in rater.shown if shown.question.why == "repeat"]
        assert len(repeats) == 4
        for shown in repeats:
            assert shown.order == rater.shown[shown.question.repeat_of].order[::-1]


def test_a_screen_tells_nothing_about_items_and_reasons() -> None:
    rater = walker(study(gold=4), studio({"checks": {"repeats": 3, "gap": 2, "gold": 4}}, gold=4))
    rater.walk()
    names = [name for shown in rater.shown for name in shown.code_names]
    assert len(set(names)) > 0.9 * len(names)
    for shown in rater.shown:
        assert len(set(shown.code_names)) == 2
        text = str(shown.screen())
        assert not any(item in text for item in shown.order)
        assert shown.question.why == "ordinary" or shown.question.why not in text
        assert "expected" not in text
        assert "instructed" not in text
