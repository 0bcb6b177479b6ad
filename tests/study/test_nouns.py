"""Nouns are frozen, closed and checked on the way in."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from salon.errors import BadValue, UnknownReference
from salon.study import (
    Checklist,
    Choice,
    Comparison,
    Criterion,
    Design,
    Item,
    Noun,
    Prompt,
    Ranking,
    Rater,
    Rating,
    Scale,
    Score,
    Scores,
    Signature,
    builtin_criterion,
)

BY = {"criterion": "c", "rater": "r"}
PAIR = {**BY, "a": "x", "b": "y"}


@pytest.mark.parametrize(
    ("noun", "record", "says"),
    [
        (Prompt, {"id": " "}, "not blank"),
        (Item, {"id": ""}, "at least 1 character"),
        (Item, {"id": "x", "tier": "best"}, "'high', 'medium' or 'low'"),
        (Item, {"id": "x", "colour": "red"}, "Item.colour"),
        (Item, {}, "Item.id"),
        (Rater, {"id": "r", "kind": "robot"}, "'person', 'model' or 'crowd'"),
        (Comparison, {**PAIR, "b": "x", "outcome": "a"}, "two different items"),
        (Comparison, PAIR, "either an outcome or a reason"),
        (Comparison, {**PAIR, "outcome": "a", "skipped": "cannot judge"}, "either an outcome or a reason"),
        (Comparison, {**PAIR, "outcome": "left"}, "Comparison.outcome"),
        (Comparison, {**PAIR, "outcome": "a", "left": "x"}, "Comparison.left"),
        (Comparison, {**PAIR, "outcome": "a", "repeat": -1}, "Comparison.repeat"),
        (Comparison, {**PAIR, "outcome": "a", "seconds": -0.1}, "Comparison.seconds"),
        (Comparison, {**PAIR, "outcome": "a", "seconds": float("nan")}, "Comparison.seconds"),
        (Comparison, {**PAIR, "outcome": "a", "confidence": float("inf")}, "Comparison.confidence"),
        (Comparison, {**PAIR, "outcome": "a", "rationale": "x" * 1_000_001}, "1000000 characters"),
        (Comparison, {**PAIR, "skipped": "tired"}, "Comparison.skipped"),
        (Ranking, {**BY, "items": ["x", "y"], "ranks": [1]}, "one rank for each item"),
        (Ranking, {**BY, "items": ["x", "x"], "ranks": [1, 2]}, "an item twice"),
        (Ranking, {**BY, "items": ["x", "y"], "ranks": [2, 1]}, "may not decrease"),
        (Ranking, {**BY, "items": ["x", "y"], "ranks": [0, 1]}, "start at 1"),
        (Ranking, {**BY, "items": [], "ranks": []}, "either items or a reason"),
        (Ranking, {**BY, "items": ["x"], "ranks": [1], "skipped": "cannot judge"}, "either items or a reason"),
        (Rating, {**BY, "item": "x"}, "either a value or a reason"),
        (Rating, {**BY, "item": "x", "value": float("-inf")}, "Rating.value"),
        (Checklist, {**BY, "item": "x", "points": ["p"], "answers": []}, "one answer (or null) for each point"),
        (Checklist, {**BY, "item": "x", "points": ["p", "p"], "answers": [True, True]}, "a point twice"),
        (Checklist, {**BY, "item": "x", "points": [], "answers": []}, "either points or a reason"),
        (Choice, {**BY, "items": ["x"], "chosen": "x"}, "at least two different items"),
        (Choice, {**BY, "items": ["x", "x"], "chosen": "x"}, "at least two different items"),
        (Choice, {**BY, "items": ["x", "y"]}, "either a chosen item or a reason"),
        (Choice, {**BY, "items": ["x", "y"], "chosen": "z"}, "one of those shown"),
        (Scale, {"low": 1, "high": 1}, "low < high"),
        (Scale, {"low": 1, "high": 5, "step": 0}, "positive"),
        (Scale, {"low": 0, "high": 2, "step": 1, "labels": ["no", "yes"]}, "3 levels need as many labels"),
        (Design, {"kind": "random"}, "Design.kind"),
        (Design, {"fraction": 0}, "greater than 0"),
    ],
)
def test_a_bad_record_is_refused_with_its_field_and_place(noun: type[Noun], record: dict[str, Any], says: str) -> None:
    with pytest.raises(BadValue) as caught:
        noun.parse(record, where="file:7")
    assert says in str(caught.value)
    assert caught.value.where == "file:7"
    assert len(str(caught.value)) < 1000


def test_several_faults_are_counted() -> None:
    with pytest.raises(BadValue, match=r"and 2 more"):
        Comparison.parse({"criterion": "c", "a": "x", "outcome": "maybe"})


def test_nouns_do_not_change() -> None:
    item = Item(id="x")
    with pytest.raises(ValidationError):
        item.id = "y"  # type: ignore[misc]
    assert item == Item(id="x")
    assert hash(item) == hash(Item(id="x"))


def test_a_record_leaves_out_what_is_not_there_and_reads_back() -> None:
    answer = Comparison(**PAIR, outcome="tie", seconds=2)
    assert answer.record() == {**PAIR, "repeat": 0, "outcome": "tie", "left": "unknown", "seconds": 2.0}
    assert Comparison.parse(answer.record()) == answer


def test_a_ranking_with_equal_ranks_is_not_strict() -> None:
    assert Ranking(**BY, items=("x", "y"), ranks=(1, 2)).strict
    assert not Ranking(**BY, items=("x", "y"), ranks=(1, 1)).strict


def test_levels_of_a_scale() -> None:
    # 1, 1.5, ..., 5: (5 - 1) / 0.5 + 1 = 9 levels; 0.1 * 3 is not 0.3 in floating point, yet 0.3 is a level
    assert Scale(low=1, high=5, step=0.5).levels == (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)
    assert len(Scale(low=0, high=0.3, step=0.1).levels) == 4
    assert Scale(low=0, high=1).levels == ()


def test_a_view_of_a_prompt_is_its_parts_in_fixed_order() -> None:
    prompt = Prompt(id="p", intent="A poster", description="for jazz", aesthetics="in blue")
    assert prompt.view(("description", "intent")) == "A poster\n\nfor jazz"
    assert prompt.view() == "A poster\n\nfor jazz\n\nin blue"
    assert Prompt(id="p", text="A mug").view() == "A mug"
    with pytest.raises(BadValue, match="no aesthetics"):
        Prompt(id="p", intent="A poster").view(("intent", "aesthetics"))


def test_a_design_says_whether_answers_influenced_questions() -> None:
    assert Design(kind="adaptive").adaptive
    assert Design(stop="until_confidence").adaptive
    assert not Design(kind="fraction").adaptive
    assert Design(kind="merge_ranking").transitive_by_construction


def test_an_unknown_criterion_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownReference, match="one of "):
        builtin_criterion("beauty of the frame")


def test_the_title_of_a_criterion() -> None:
    assert Criterion(id="c", name="Color").title == "Color"
    assert Criterion(id="c").title == "c"


def test_a_signature_is_one_line() -> None:
    signature = Signature(
        method="alpha", data="abc", revision=2, settings={"ties": None, "b": True, "a": 0.5}, seed=7, version="1.0"
    )
    assert str(signature) == "alpha|data:abc@r2|a:0.5|b:yes|ties:none|seed:7|salon:1.0"


def test_scores_hold_each_once() -> None:
    score = Score(of="x", criterion="c", value=1.0)
    with pytest.raises(BadValue, match="one value for each item"):
        Scores.parse({"scale": "logit", "values": [score, score], "signature": Signature(method="m")})
