"""Which pairs are asked about, and what both orders and several samples say together."""

from __future__ import annotations

import math
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from judged_study import MOOD, judged_study

from salon.errors import SalonError
from salon.judge import JudgeQuestion, JudgeSettings, read_pairs
from salon.judge.protocol import (
    all_pairs,
    both_orders,
    chance_of_a,
    judged_pairs,
    limit_units,
    majority_outcome,
    pair_questions,
)
from salon.study import Choice, Comparison, Ranking, Rating

EVERY = [(f"p{p}-{one}", f"p{p}-{other}") for p in "12" for one, other in combinations("abc", 2)]
NOTHING = {"comparisons": [], "checklists": []}


def test_people_judged_these_pairs() -> None:
    one = Comparison(criterion="type", rater="ann", a="p1-b", b="p1-a", outcome="b")
    again = one.model_copy(update={"rater": "bob", "a": "p1-a", "b": "p1-b"})
    by_model = Comparison(criterion="type", rater="vlm", a="p1-b", b="p1-c", outcome="b")
    skipped = Comparison(criterion="type", rater="ann", a="p1-a", b="p1-c", skipped="cannot judge")
    study = judged_study(tables={**NOTHING, "comparisons": [one, again, by_model, skipped]})
    assert judged_pairs(study, "type") == [("p1-a", "p1-b")]
    assert judged_pairs(study, "taste/mood") == []


@pytest.mark.parametrize(
    ("table", "noun", "pairs"),
    [
        (
            "rankings",
            Ranking(criterion="type", rater="ann", items=("p1-b", "p1-a", "p1-c"), ranks=(1, 2, 2)),
            EVERY[:3],
        ),
        ("choices", Choice(criterion="type", rater="ann", items=("p1-b", "p1-a"), chosen="p1-a"), EVERY[:1]),
    ],
)
def test_rankings_and_choices_are_judged_pairs_too(table: str, noun: object, pairs: list) -> None:
    study = judged_study(tables={**NOTHING, table: [noun]})
    assert judged_pairs(study, "type") == pairs


def test_of_ratings_alone_the_pairs_are_those_of_one_prompt() -> None:
    rated = [Rating(criterion="type", rater="ann", item=item, value=1) for item in ("p1-a", "p1-b", "p2-a")]
    assert judged_pairs(judged_study(tables={**NOTHING, "ratings": rated}), "type") == [("p1-a", "p1-b")]


def test_all_pairs_stay_within_a_prompt() -> None:
    assert all_pairs(judged_study()) == EVERY


def test_a_question_for_each_pair_and_criterion() -> None:
    asked = pair_questions(judged_study(), ("taste/mood", "type"), JudgeSettings())
    assert [(one.criteria[0], one.a, one.b) for one in asked] == [
        (id, *pair) for id in ("taste/mood", "type") for pair in EVERY
    ]
    assert {one.prompt for one in asked} == {"p1", "p2"}
    assert all(one.paraphrase is None for one in asked if one.criteria == ("type",))  # it has one wording only
    together = pair_questions(judged_study(), ("taste/mood", "type"), JudgeSettings(together=True))
    assert [(one.criteria, one.a, one.b) for one in together] == [(("taste/mood", "type"), *pair) for pair in EVERY]


@settings(max_examples=25)
@given(st.integers(1, 30), st.integers(1, 30))
def test_a_larger_limit_keeps_what_a_smaller_one_asked(few: int, more: int) -> None:
    units = [(f"i{number}", f"j{number}") for number in range(25)]
    small, large = limit_units(units, min(few, more)), limit_units(units[::-1], max(few, more))
    assert small <= large
    assert len(large) == min(25, max(few, more))


def test_a_limit_counts_pairs_and_not_questions() -> None:
    asked = pair_questions(judged_study(), ("taste/mood", "type"), JudgeSettings(limit=2))
    assert len(asked) == 4
    assert len({(one.a, one.b) for one in asked}) == 2


def test_pairs_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("b,a,note\np1-a,p1-c,x\np1-c,p1-a,y\np2-a,p2-b,z\n")
    assert read_pairs(file, judged_study()) == [("p1-a", "p1-c"), ("p2-a", "p2-b")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "'a'"),
        ("a,c\np1-a,p1-b\n", "'b'"),
        ("a,b\n", "none"),
        ("a,b\np1-a,p9-b\n", "p9-b"),
        ("a,b\np1-a,p2-a\n", "one prompt"),
        ("a,b\np1-a,p1-a\n", "two different"),
        ("a,b\np1-a\n", "''"),
    ],
)
def test_bad_files_of_pairs(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text(text)
    with pytest.raises(SalonError, match=told):
        read_pairs(file, judged_study())


def test_both_orders_together_by_definition() -> None:
    """MT-Bench's rule: a win where both orders say so, a tie where they disagree; unread stays unread."""
    for first, second in product(("a", "b", "tie", None), repeat=2):
        expected = None if first is None or second is None else first if first == second else "tie"
        assert both_orders(first, second) == expected


@pytest.mark.parametrize(
    ("samples", "answer"),
    [
        (["a"], "a"),
        ([None], None),
        (["a", "a", "b"], "a"),
        (["a", "b"], None),
        (["a", None], None),
        (["a", "a", None], "a"),
        (["a", None, None], None),
        (["tie", "tie", "b"], "tie"),
    ],
)
def test_samples_need_more_than_half_of_all_that_were_asked(samples: list, answer: str | None) -> None:
    assert majority_outcome(samples) == answer


def test_the_chance_of_an_item_follows_it_to_the_other_side() -> None:
    pair = JudgeQuestion(protocol="compare", criteria=(MOOD.id,), a="x", b="y", left="a")
    chances = {"A": math.log(0.6), "B": math.log(0.2), "TIE": math.log(0.1)}
    assert chance_of_a(pair, chances) == pytest.approx(0.75)  # .6 / (.6 + .2)
    assert chance_of_a(pair.model_copy(update={"left": "b"}), chances) == pytest.approx(0.25)
    assert chance_of_a(pair, {"A": -1e6, "B": 0.0}) == pytest.approx(0)
    assert chance_of_a(pair, {"A": -1.0}) is None
    assert chance_of_a(pair, None) is None
