"""From what a browser sends to the study's judgments."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from studios import CRITERIA, KNOWN, study

from salon.collect import RaterQuestion, RawAnswer
from salon.collect.questions import RaterScreen, ScreenTimes, code_names, is_right, to_judgments
from salon.collect.settings import Phase
from salon.errors import BadValue
from salon.study import Checklist, Choice, Comparison, Ranking, Rater, Rating, Study

AT = ScreenTimes(1_000, 13_500)
ITEMS = {"compare": 2, "rank": 4, "choose": 3}


def shown(kind: str, **more: Any) -> RaterScreen:
    items = tuple(f"p0-{n}" for n in range(ITEMS.get(kind, 1)))
    q = RaterQuestion(
        kind=kind, cohort="c", phase="p", criteria=more.pop("criteria", ("overall",)), items=items, **more
    )
    return RaterScreen(question=q, order=items[::-1], code_names=code_names(len(items), kind))


def judged(screen: RaterScreen, answer: Any = None, *, phase: dict | None = None, **given: Any) -> Any:
    allowed = Phase(id="p", protocol=screen.question.kind, criteria=("overall",), points=("x",), **(phase or {}))
    raw = RawAnswer(answers={} if answer is None else {"overall": answer}, **given)
    return to_judgments(screen, raw, rater="r", moments=AT, criteria=KNOWN, phase=allowed)[0]


def test_left_and_right_are_told_apart_whoever_stands_there() -> None:
    """p0-1 stands left: "left" means b."""
    found = judged(shown("compare"), "left")
    assert isinstance(found, Comparison)
    assert (found.a, found.b, found.outcome, found.left) == ("p0-0", "p0-1", "b", "b")
    assert (found.seconds, found.at, found.repeat) == (12.5, "1970-01-01T00:00:13.500+00:00", 0)


def test_ties_and_both_bad_are_kept_apart_and_only_where_allowed() -> None:
    for word in ("tie", "both_bad"):
        with pytest.raises(BadValue):
            judged(shown("compare"), word, phase={"ties": False})
        assert judged(shown("compare"), word, phase={"ties": True, "both_bad": True}).outcome == word


def test_a_ranking_names_items_best_first() -> None:
    found = judged(shown("rank"), [[3], [0], [2], [1]])
    assert isinstance(found, Ranking)
    assert (found.items, found.ranks) == (("p0-0", "p0-3", "p0-1", "p0-2"), (1, 2, 3, 4))
    tied = judged(shown("rank"), [[3, 0], [2], [1]], phase={"ties": True})
    assert tied.ranks == (1, 1, 3, 4)


def test_one_item_kinds() -> None:
    assert judged(shown("rate"), 4).value == 4
    found = judged(shown("checklist", points=("x", "y", "z")), [True, None, False])
    assert isinstance(found, Checklist)
    assert found.answers == (True, None, False)
    marked = judged(shown("regions", grid=(2, 2)), [3])
    assert dict(zip(marked.points, marked.answers)) == {"1,1": False, "1,2": False, "2,1": False, "2,2": True}
    assert judged(shown("text"), " loud \n\nloud\nquiet").points == ("loud", "quiet")
    chosen = judged(shown("choose"), 0)
    assert isinstance(chosen, Choice)
    assert chosen.chosen == "p0-2"


@pytest.mark.parametrize("kind", ["compare", "rank", "rate", "flag", "choose", "checklist", "regions", "text"])
def test_a_skipped_screen_has_a_reason_and_no_answer(kind: str) -> None:
    found = judged(shown(kind, points=("x",)), skipped="broken image")
    assert found.skipped == "broken image"
    with pytest.raises(BadValue):
        judged(shown(kind, points=("x",)), 1, skipped="broken image")


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("compare", 0),
        ("compare", ["left"]),
        ("rank", [[0], [1], [2]]),
        ("rank", [[0], [1], [2], [2]]),
        ("rank", [[0], [1], [2], [True]]),
        ("rank", [[0], [1], [], [2], [3]]),
        ("rank", [[0, 1], [2], [3]]),
        ("rate", "4"),
        ("rate", True),
        ("rate", 4.5),
        ("rate", 6),
        ("choose", 3),
        ("choose", True),
        ("choose", -1),
        ("checklist", [1]),
        ("checklist", [True, True]),
        ("regions", [9]),
        ("regions", [-1]),
        ("text", "  \n "),
    ],
)
def test_answers_that_do_not_fit_the_screen_are_refused(kind: str, answer: Any) -> None:
    with pytest.raises(BadValue) as error:
        judged(shown(kind, points=("x",)), answer, phase={"ties": False})
    assert "overall" in error.value.needed


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@given(st.sampled_from(["compare", "rank", "rate", "flag", "choose", "checklist", "regions", "text"]), JSON)
@settings(max_examples=200)
def test_whatever_is_sent_is_a_judgment_or_a_named_error(kind: str, answer: Any) -> None:
    with suppress(BadValue):
        raw = RawAnswer.parse({"answers": {"overall": answer}})
        to_judgments(shown(kind, points=("x",)), raw, rater="r", moments=AT, criteria=KNOWN)


def test_every_criterion_of_the_screen_is_answered() -> None:
    screen = shown("rate", criteria=("overall", "type"))
    with pytest.raises(BadValue, match="overall, type"):
        judged(screen, 3)
    raw = RawAnswer(answers={"overall": 3, "type": 4})
    made = to_judgments(screen, raw, rater="r", moments=AT, criteria=KNOWN)
    assert [(one.criterion, one.value) for one in made if isinstance(one, Rating)] == [("overall", 3), ("type", 4)]


def test_a_rationale_is_asked_for_where_the_phase_says_so() -> None:
    with pytest.raises(BadValue, match="a reason is needed"):
        judged(shown("rate"), 3, phase={"rationale": "required"}, rationale="  ")
    assert judged(shown("rate"), 3, phase={"rationale": "optional"}, rationale=" dull ").rationale == "dull"
    with pytest.raises(BadValue, match="no box"):
        judged(shown("rate"), 3, rationale="dull")


def test_known_answers() -> None:
    gold = shown("compare", why="gold", expected_item="p0-1")
    assert is_right(gold, RawAnswer(answers={"overall": "left"})) is True
    assert is_right(gold, RawAnswer(answers={"overall": "right"})) is False
    assert is_right(gold, RawAnswer(skipped="cannot judge")) is False
    assert is_right(shown("compare"), RawAnswer(answers={"overall": "left"})) is None
    near = shown("rate", why="gold", expected_value=4, expected_within=1)
    assert [is_right(near, RawAnswer(answers={"overall": v})) for v in (2, 3, 5)] == [False, True, True]


def test_the_judgments_make_a_study() -> None:
    made = [judged(shown("compare"), "left"), judged(shown("rank"), [[0], [1], [2], [3]]), judged(shown("rate"), 2)]
    judgments = {"comparisons": made[:1], "rankings": made[1:2], "ratings": made[2:]}
    built = Study.build("x", CRITERIA, tables={**study().tables, "raters": [Rater(id="r")], **judgments})
    assert built.counts["comparisons"] == built.counts["rankings"] == built.counts["ratings"] == 1
