"""Every fault of a study has its named error, with the place and the number of such faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from salon.errors import (
    BadColumns,
    BadValue,
    ConflictingJudgment,
    DuplicateJudgment,
    InputError,
    SalonError,
    UnknownReference,
    WrongPrompt,
)
from salon.study import (
    Checklist,
    Choice,
    Cohort,
    Comparison,
    Criterion,
    Item,
    Prompt,
    Ranking,
    Rater,
    Rating,
    Scale,
    Study,
)

CRITERIA = (Criterion(id="c", scale=Scale(low=1, high=5)), Criterion(id="d"))
NAMED: dict[str, Any] = {
    "prompts": [Prompt(id="p"), Prompt(id="q")],
    "items": [*(Item(id=id, prompt="p") for id in "wxyz"), Item(id="other", prompt="q"), Item(id="loose")],
    "raters": [Rater(id="r"), Rater(id="s"), Rater(id="crowd", kind="crowd")],
}


def build(compare_within: str = "prompt", **tables: Any) -> Study:
    return Study.build("t", CRITERIA, tables=NAMED | tables, compare_within=compare_within)


def compared(**columns: Any) -> pa.Table:
    """Comparisons as columns; what is not given is a plain answer."""
    rows = len(next(iter(columns.values())))
    plain = {"criterion": ["c"] * rows, "rater": ["r"] * rows, "a": ["w"] * rows, "b": ["x"] * rows}
    return pa.table(plain | {"outcome": ["a"] * rows} | columns)


def ranked(items: list[Any], ranks: list[Any], **columns: Any) -> pa.Table:
    rows = len(items)
    lists = {"items": pa.array(items, pa.list_(pa.string())), "ranks": pa.array(ranks, pa.list_(pa.int32()))}
    return pa.table({"criterion": ["c"] * rows, "rater": ["r", "s", "crowd"][:rows], **lists, **columns})


def rated(**columns: Any) -> pa.Table:
    rows = len(next(iter(columns.values())))
    return pa.table(
        {"criterion": ["c"] * rows, "rater": ["r"] * rows, "item": ["w"] * rows, "value": [3.0] * rows} | columns
    )


def answer(rater: str = "r", a: str = "w", b: str = "x", outcome: str = "a", repeat: int = 0) -> Comparison:
    return Comparison.parse({"criterion": "c", "rater": rater, "a": a, "b": b, "outcome": outcome, "repeat": repeat})


@pytest.mark.parametrize(
    ("tables", "error", "says"),
    [
        ({"raters": pa.table({"id": ["r", None]})}, BadValue, "needs an id that is not blank"),
        ({"raters": pa.table({"id": ["r", " \t"]})}, BadValue, "needs an id that is not blank"),
        ({"raters": pa.table({"id": ["r", "r", "s", "s"]})}, InputError, "2 repeated, first 'r'"),
        ({"raters": pa.table({"id": ["r"], "kind": ["robot"]})}, BadValue, "person, model, crowd"),
        ({"items": pa.table({"id": ["w"], "tier": ["best"]})}, BadValue, "high, medium, low"),
        ({"items": pa.table({"id": ["w"], "source": ["drawn"]})}, BadValue, "generated, photograph"),
        ({"items": pa.table({"id": ["w"], "prompt": ["nope"]})}, UnknownReference, "'nope' (1 such)"),
        ({"votes": []}, InputError, "found: votes"),
        ({"comparisons": pa.table({"criterion": ["c"]})}, BadColumns, "'rater'"),
        ({"comparisons": compared(winner=["a"])}, BadColumns, "also winner"),
        ({"comparisons": compared(a=["q1", "w"])}, UnknownReference, "'q1' (1 such)"),
        ({"comparisons": compared(b=[None])}, BadValue, "1 empty"),
        ({"comparisons": compared(rater=["x"])}, UnknownReference, "may only name raters"),
        ({"comparisons": compared(criterion=["beauty"])}, UnknownReference, "may only name criteria"),
        ({"comparisons": compared(outcome=["left"])}, BadValue, "--outcome-values"),
        ({"comparisons": compared(left=["x"])}, BadValue, "a, b, unknown"),
        ({"comparisons": compared(skipped=["tired"], outcome=[None])}, BadValue, "broken image, cannot judge"),
        ({"comparisons": compared(outcome=pa.array([None], pa.string()))}, BadValue, "neither"),
        ({"comparisons": compared(skipped=["cannot judge"])}, BadValue, "both"),
        ({"comparisons": compared(a=["y", "x"], b=["z", "x"])}, BadValue, "row 2"),
        ({"comparisons": compared(seconds=[-1.0])}, BadValue, "negative"),
        ({"comparisons": compared(seconds=[np.nan])}, BadValue, "finite"),
        ({"comparisons": compared(confidence=[np.inf])}, BadValue, "finite"),
        ({"comparisons": compared(seconds=["soon"])}, BadValue, "column 'seconds'"),
        ({"comparisons": compared(repeat=[40_000])}, BadValue, "column 'repeat'"),
        ({"comparisons": compared(b=["other"])}, WrongPrompt, "'w' with 'other' (1 such)"),
        ({"comparisons": compared(a=["loose"], b=["w"])}, WrongPrompt, "within one prompt"),
        ({"rankings": ranked([["w", "other"]], [[1, 2]])}, WrongPrompt, "'w' with 'other'"),
        ({"rankings": ranked([["w", "nope"]], [[1, 2]])}, UnknownReference, "'nope'"),
        ({"rankings": ranked([["w", None]], [[1, 2]])}, BadValue, "1 empty"),
        ({"rankings": ranked([["w", "x"]], [[2, 1]])}, BadValue, "never decrease"),
        ({"rankings": ranked([["w", "x"]], [[0, 1]])}, BadValue, "start at 1"),
        ({"rankings": ranked([["y"], ["w", "x", "w"]], [[1], [1, 2, 3]])}, BadValue, "row 2"),
        ({"rankings": ranked([["w", "x"], ["y"]], [[1, 2], []])}, BadValue, "one rank for each item"),
        ({"ratings": rated(value=[0.5])}, BadValue, "between 1 and 5"),
        ({"ratings": rated(value=[6.0])}, BadValue, "6 (1 such)"),
        ({"ratings": rated(value=[np.nan])}, BadValue, "finite"),
        ({"ratings": rated(item=["nope"])}, UnknownReference, "'nope'"),
        ({"ratings": rated(value=pa.array([None], pa.float64()))}, BadValue, "neither"),
    ],
)
def test_a_fault_has_its_named_error(tables: dict[str, Any], error: type[SalonError], says: str) -> None:
    with pytest.raises(error) as caught:
        build(**tables)
    assert type(caught.value) is error
    assert says in str(caught.value)


def test_an_unknown_way_to_compare_is_refused() -> None:
    with pytest.raises(BadValue, match="prompt, category or all"):
        build(compare_within="generator")


def test_a_criterion_stands_once() -> None:
    with pytest.raises(BadValue, match="criterion may stand once"):
        Study.build("t", [Criterion(id="c"), Criterion(id="c")], tables={})


# -- once: duplicates, conflicts, repeats, crowds ----------------------------------------------------------


def test_the_same_answer_twice_is_a_duplicate() -> None:
    with pytest.raises(DuplicateJudgment, match=r"1 such"):
        build(comparisons=[answer(), answer(a="y"), answer()])
    # the sides are swapped, and so is the outcome: still the same answer
    with pytest.raises(DuplicateJudgment):
        build(comparisons=[answer(), answer(a="x", b="w", outcome="b")])


def test_two_different_answers_are_a_conflict() -> None:
    for other in (
        answer(outcome="b"),
        answer(a="x", b="w", outcome="a"),
        answer(outcome="tie"),
        answer(outcome="both_bad"),
    ):
        with pytest.raises(ConflictingJudgment, match="two different answers"):
            build(comparisons=[answer(), other])


def test_one_conflict_among_duplicates_is_reported_as_a_conflict() -> None:
    twice = [answer(), answer(), answer(a="y"), answer(a="y", outcome="b")]
    with pytest.raises(ConflictingJudgment, match=r"2 such"):
        build(comparisons=twice)


def test_a_planted_repeat_is_another_question() -> None:
    study = build(comparisons=[answer(), answer(repeat=1, outcome="b"), answer(repeat=2)])
    assert study.comparisons.repeat.tolist() == [0, 1, 2]
    with pytest.raises(ConflictingJudgment):
        build(comparisons=[answer(repeat=1), answer(repeat=1, outcome="b")])


def test_another_rater_criterion_or_pair_is_another_question() -> None:
    other = Comparison(criterion="d", rater="r", a="w", b="x", outcome="b")
    assert len(build(comparisons=[answer(), answer(rater="s"), answer(b="y"), other]).comparisons) == 4


def test_a_crowd_may_answer_as_often_as_it_likes() -> None:
    crowd = [answer(rater="crowd"), answer(rater="crowd"), answer(rater="crowd", outcome="b")]
    assert len(build(comparisons=[answer(), *crowd]).comparisons) == 4
    with pytest.raises(DuplicateJudgment):
        build(comparisons=[*crowd, answer(), answer()])


def test_rankings_of_the_same_items_are_the_same_question() -> None:
    one = Ranking(criterion="c", rater="r", items=("w", "x", "y"), ranks=(1, 2, 3))
    tied = Ranking(criterion="c", rater="r", items=("x", "w"), ranks=(1, 1))
    with pytest.raises(DuplicateJudgment):
        build(rankings=[one, one])
    with pytest.raises(ConflictingJudgment):
        build(rankings=[one, Ranking(criterion="c", rater="r", items=("x", "w", "y"), ranks=(1, 2, 3))])
    with pytest.raises(DuplicateJudgment):  # a tie has no order
        build(rankings=[tied, Ranking(criterion="c", rater="r", items=("w", "x"), ranks=(1, 1))])
    assert len(build(rankings=[one, tied]).rankings) == 2
    crowd = Ranking(criterion="c", rater="crowd", items=("x", "w"), ranks=(1, 1))
    assert len(build(rankings=[crowd, crowd]).rankings) == 2


def test_ratings_checklists_and_choices_stand_once_too() -> None:
    with pytest.raises(DuplicateJudgment):
        build(ratings=rated(value=[3.0, 3.0]))
    with pytest.raises(ConflictingJudgment):
        build(ratings=rated(value=[3.0, 4.0]))
    assert len(build(ratings=rated(value=[3.0, 4.0], repeat=[0, 1])).ratings) == 2
    check = Checklist(criterion="c", rater="r", item="w", points=("p",), answers=(True,))
    with pytest.raises(DuplicateJudgment):
        build(checklists=[check, check])
    with pytest.raises(ConflictingJudgment):
        build(checklists=[check, check.model_copy(update={"answers": (False,)})])
    choice = Choice(criterion="c", rater="r", items=("w", "x"), chosen="w")
    with pytest.raises(ConflictingJudgment):
        build(choices=[choice, Choice(criterion="c", rater="r", items=("x", "w"), chosen="x")])


def test_duplicates_are_found_among_many() -> None:
    rng = np.random.default_rng(5)
    first, second = np.triu_indices(300, 1)
    names = np.array([f"i{number}" for number in range(300)])
    columns = {"a": names[first], "b": names[second], "outcome": rng.choice(["a", "b"], len(first))}
    items = pa.table({"id": names})
    assert len(build("all", items=items, comparisons=compared(**columns)).comparisons) == 44_850
    columns["a"] = np.append(columns["a"], names[second[777]])
    columns["b"] = np.append(columns["b"], names[first[777]])
    columns["outcome"] = np.append(columns["outcome"], {"a": "b", "b": "a"}[columns["outcome"][777]])
    with pytest.raises(DuplicateJudgment, match=r"778 and 44851"):
        build("all", items=items, comparisons=compared(**columns))


# -- groups ------------------------------------------------------------------------------------------------


def test_what_items_must_share_is_the_studys_choice() -> None:
    across = compared(b=["other"])
    assert len(build("all", comparisons=across).comparisons) == 1
    items = [Item(id="w", prompt="p", category="cat"), Item(id="other", prompt="q", category="cat"), Item(id="x")]
    assert len(build("category", items=items, comparisons=across).comparisons) == 1
    with pytest.raises(WrongPrompt, match="within one category"):
        build("category", items=items, comparisons=compared(b=["x"]))


# -- what columns let through and nouns do not -------------------------------------------------------------


@pytest.mark.parametrize(
    ("tables", "error", "says"),
    [
        ({"rankings": ranked([["w", "x"], ["y"]], [[1], [1, 2]])}, BadValue, "row 1"),
        ({"rankings": ranked([["w", "x"], None], [[1, 2], None])}, BadValue, "row 2"),
        ({"rankings": ranked([["w", "x"], []], [[1, 2], []])}, BadValue, "row 2"),
        ({"rankings": ranked([["w", "x"]], [[1, None]])}, BadValue, "1 empty"),
        ({"rankings": ranked([["w", "x"], ["y"]], [[1, 2], [1]], skipped=[None, "cannot judge"])}, BadValue, "both"),
        ({"comparisons": compared(repeat=[-1])}, BadValue, "repeat"),
        ({"comparisons": compared(b=["w"], outcome=[None], skipped=["cannot judge"])}, BadValue, "two different items"),
        ({"comparisons": compared(b=["other"], outcome=[None], skipped=["cannot judge"])}, WrongPrompt, "row 1"),
        (
            {"comparisons": compared(b=["x", "other"], outcome=[None, "a"], skipped=["cannot judge", None])},
            WrongPrompt,
            "row 2",
        ),
        ({"choices": [Choice(criterion="c", rater="r", items=("w", "other"), chosen="w")]}, WrongPrompt, "row 1"),
        ({"raters": pa.table({"id": ["r" * 1_000_001]})}, BadValue, "1,000,000 characters"),
    ],
)
def test_a_fault_that_only_nouns_saw(tables: dict[str, Any], error: type[SalonError], says: str) -> None:
    with pytest.raises(error, match=says):
        build(**tables)


def test_a_study_in_which_every_ranking_was_skipped() -> None:
    study = build(rankings=ranked([[], []], [[], []], skipped=["cannot judge", "broken image"]))
    assert (len(study.rankings), study.rankings.skipped) == (0, 2)


def test_a_skipped_ranking_without_lists_is_the_one_with_empty_lists() -> None:
    without = build(rankings=ranked([["w"], None], [[1], None], skipped=[None, "cannot judge"]))
    empty = build(rankings=ranked([["w"], []], [[1], []], skipped=[None, "cannot judge"]))
    assert without.hash == empty.hash
    assert list(without.nouns("rankings")) == list(empty.nouns("rankings"))


def test_a_crowd_may_repeat_choices_and_checklists() -> None:
    choice = Choice(criterion="c", rater="crowd", items=("w", "x"), chosen="w")
    check = Checklist(criterion="c", rater="crowd", item="w", points=("p",), answers=(True,))
    assert build(choices=[choice, choice], checklists=[check, check]).counts["choices"] == 2


def test_checklists_with_other_points_are_different_answers() -> None:
    check = Checklist(criterion="c", rater="r", item="w", points=("p",), answers=(True,))
    with pytest.raises(ConflictingJudgment):
        build(checklists=[check, check.model_copy(update={"points": ("q",)})])


def test_a_dictionary_with_a_label_twice_or_with_null_counts_by_label() -> None:
    def items(labels: list[str | None]) -> pa.Table:
        category = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(labels, pa.string()))
        return pa.table({"id": ["w", "x"], "category": category})

    assert len(build("category", items=items(["k", "k"]), comparisons=compared(b=["x"])).comparisons) == 1
    with pytest.raises(WrongPrompt):
        build("category", items=items([None, None]), comparisons=compared(b=["x"]))


def test_a_skipped_question_may_be_answered_later() -> None:
    both = compared(outcome=[None, "a"], skipped=["broken image", None])
    assert (len(build(comparisons=both).comparisons), build(comparisons=both).comparisons.skipped) == (1, 1)
    assert Rating(criterion="c", rater="r", item="w", skipped="cannot judge").value is None


def test_a_rating_stands_on_a_step_of_its_scale() -> None:
    stepped = [Criterion(id="c", scale=Scale(low=1, high=5, step=0.5)), CRITERIA[1]]
    assert Study.build("t", stepped, tables=NAMED | {"ratings": rated(value=[2.5])}).counts["ratings"] == 1
    with pytest.raises(BadValue, match=r"in steps of 0\.5"):
        Study.build("t", stepped, tables=NAMED | {"ratings": rated(value=[2.7])})


def test_raters_belong_to_described_cohorts() -> None:
    raters = [Rater(id="r", cohort="nope")]
    assert Study.build("t", CRITERIA, tables=NAMED | {"raters": raters}).cohorts == ()
    with pytest.raises(UnknownReference, match="cohorts that the study describes"):
        Study.build("t", CRITERIA, tables=NAMED | {"raters": raters}, cohorts=(Cohort(id="other"),))


def test_a_revision_is_validated_too() -> None:
    with pytest.raises(BadValue, match="compare_within"):
        build().revised("wrong", compare_within="foo")
