"""Capability: what judges say together of points, with what is missing, unread and open (bench/axes.py)."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from suite_example import JUDGES, answers, asked, entered, logits, result

from salon.bench import entry_result
from salon.bench.axes import index_answers, settle_points
from salon.bench.entry import ANSWERS, required_pictures
from salon.errors import BadColumns, BadFile, BadValue, ConflictingJudgment, TooFew, UnknownReference
from salon.study import Point, agreed

WORDS = {"p": "pass", "f": "fail", "u": "unread", "-": None}


def settled(said: str, rule: str = "majority"):
    """One picture with one point, of which judge k says said[k]."""
    suite = asked(["look"], points=1, judges=JUDGES[: len(said)], rule=rule)
    entry = entered(suite)
    table = answers(suite, entry, lambda item, point, judge: WORDS[said[JUDGES.index(judge)]])
    pictures = required_pictures(suite, entry)
    [one] = settle_points(suite, index_answers(table, pictures, suite.points), pictures)
    return one


# ----------------------------------------------------------------------------------------------- by hand
@pytest.mark.parametrize(
    ("said", "rule", "status"),
    [
        ("ppf", "majority", "pass"),
        ("pff", "majority", "fail"),
        ("puu", "majority", "unread"),  # one of three is no majority, whatever the unread ones meant
        ("pfu", "majority", "unread"),
        ("pp-", "majority", "pass"),  # two of three hold it, whatever the third says
        ("ff-", "majority", "fail"),
        ("pf-", "majority", "open"),
        ("p--", "majority", "open"),
        ("u--", "majority", "open"),
        ("uu-", "majority", "unread"),
        ("ppp", "unanimous", "pass"),
        ("ppf", "unanimous", "fail"),
        ("ppu", "unanimous", "unread"),
        ("pp-", "unanimous", "open"),
        ("f--", "unanimous", "fail"),
        ("u--", "unanimous", "unread"),
        ("pf", "majority", "fail"),  # judges that disagree were read, and give no PASS
        ("pf", "unanimous", "fail"),
        ("p", "majority", "pass"),
        ("-", "majority", "open"),
    ],
)
def test_what_judges_say_together(said, rule, status):
    assert settled(said, rule).points == {"p0-0": status}


def test_a_picture_passes_with_all_its_points_or_with_their_share():
    said = {"p0-0": "pass", "p0-1": "pass", "p1-0": "pass", "p1-1": "fail"}
    every = result(asked(["look"] * 2, judges="a"), lambda item, point, judge: said[point])
    share = result(asked(["look"] * 2, judges="a", passes="share"), lambda item, point, judge: said[point])
    assert every.capability.figure.value == 50.0  # p0 passes, p1 does not
    assert share.capability.figure.value == 75.0  # (1 + 1/2)/2
    assert every.points.figure.value == share.points.figure.value == 75.0  # 3 of 4 points


def test_what_is_missing_unread_and_open_by_hand():
    # Four prompts, one point, one judge: pass, no picture, unread, not answered.
    said = {"p0/0": "pass", "p2/0": "unread"}
    got = result(asked(["look"] * 4, points=1, judges="a"), lambda item, *_: said.get(item), missing=["p1/0"])
    assert got.capability.figure.value == 25.0
    assert got.capability.at_best == 50.0
    assert got.capability.coverage.model_dump() == {
        "wanted": 4, "made": 3, "asked": 3, "given": 1, "unread": 1, "open": 1,
    }  # fmt: skip
    assert [one.pictures[0].points for one in got.prompts] == [
        {"p0-0": "pass"}, {"p1-0": "fail"}, {"p2-0": "unread"}, {"p3-0": "open"},
    ]  # fmt: skip
    assert got.status == "provisional"


def test_several_pictures_of_a_prompt_are_one_prompt():
    # p0 passes in one of two pictures, p1 in both: (1/2 + 1)/2, from two prompts.
    got = result(asked(["look"] * 2, images=2), lambda item, *_: "fail" if item == "p0/1" else "pass")
    assert (got.capability.figure.value, got.capability.figure.n) == (75.0, 2)
    assert [one.passed for one in got.prompts] == [0.5, 1.0]


def test_points_without_a_prompt_belong_to_all():
    suite = asked(["look"] * 2, points=1, judges="a")
    object.__setattr__(suite, "points", (*suite.points, Point(id="any", tag="any")))
    got = result(suite)
    assert [sorted(one.pictures[0].points) for one in got.prompts] == [["any", "p0-0"], ["any", "p1-0"]]
    assert got.capability.coverage.asked == 4
    assert got.status == "provisional"


# ----------------------------------------------------------------------------------------------- by definition
@settings(max_examples=60)
@given(st.text("pfu-", min_size=1, max_size=3), st.sampled_from(["majority", "unanimous"]))
def test_open_is_what_some_completion_passes_and_some_does_not(said, rule):
    """Every way to fill in the open answers, one by one."""
    means = {"p": [True], "f": [False], "u": [None], "-": [True, False]}
    passes = {agreed(full, rule) is True for full in product(*(means[word] for word in said))}
    status = settled(said, rule).points["p0-0"]
    assert (status == "open") == (passes == {True, False})
    assert (status == "pass") == (passes == {True})


def test_judges_that_disagree_on_everything_pass_nothing_and_are_counted():
    for judges, rule in (("ab", "majority"), ("abcd", "majority"), ("abc", "unanimous")):
        suite = asked(["look"] * 4, judges=judges, rule=rule)
        got = result(suite, lambda item, point, judge: "pass" if judge in "ac" else "fail")
        asked_for = 4 * 2 * len(judges)
        assert (got.capability.figure.value, got.points.figure.value, got.status) == (0.0, 0.0, "complete")
        assert got.capability.figure.high > 0
        cover = got.capability.coverage
        assert (cover.asked, cover.given, cover.unread, cover.open) == (asked_for, asked_for, 0, 0)
        assert got.prompts[0].pictures[0].said["p0-0"] == {
            judge: "pass" if judge in "ac" else "fail" for judge in judges
        }


# ----------------------------------------------------------------------------------------------- oracle and strangers
def test_the_oracle_stands_beside_and_moves_nothing():
    suite = asked(judges="a", oracle="layout")
    says = {"a": "pass", "layout": "fail"}
    got = result(suite, lambda item, point, judge: says[judge])
    assert got.capability.figure.value == 100.0
    assert got.oracle.figure.value == 0.0
    assert got.status == "complete"
    without = result(suite, lambda item, point, judge: "pass" if judge == "a" else None)
    assert without.oracle is None
    assert without.capability == got.capability
    assert without.status == "complete"


def test_a_judge_that_no_route_names_counts_nowhere():
    suite = asked(judges="a")
    entry = entered(suite)
    table, scores = answers(suite, entry, lambda *_: "pass"), logits(suite, entry, lambda item: 0.0)
    stranger = pa.table([["p0/0"], ["p0-0"], ["stranger"], ["fail"], [None]], schema=ANSWERS)
    both = entry_result(suite, entry, pa.concat_tables([table, stranger]), scores)
    assert both == entry_result(suite, entry, table, scores)


# ----------------------------------------------------------------------------------------------- at the edge
@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        ([("p9/0", "p0-0", "a", "pass")], UnknownReference, "p9/0"),
        ([("p0/0", "p9-0", "a", "pass")], UnknownReference, "p9-0"),
        ([("p0/0", "p0-0", "a", "yes")], BadValue, "yes"),
        ([("p0/0", "p0-0", "a", "pass")] * 2, ConflictingJudgment, "p0-0"),
    ],
)
def test_answers_that_are_refused(rows, error, words):
    suite = asked()
    entry = entered(suite)
    table = pa.table([list(column) for column in zip(*((*row, None) for row in rows))], schema=ANSWERS)
    with pytest.raises(error, match=words):
        entry_result(suite, entry, table, logits(suite, entry, lambda item: 0.0))


def test_a_table_without_its_columns_is_refused():
    suite = asked()
    entry = entered(suite)
    with pytest.raises(BadColumns, match="said"):
        entry_result(
            suite, entry, pa.table({"item": [], "point": [], "judge": []}), logits(suite, entry, lambda _: 0.0)
        )


def test_a_prompt_without_points_is_refused():
    with pytest.raises(TooFew, match="p0"):
        result(asked(points=0))


def test_pictures_that_are_refused():
    suite = asked()
    entry = entered(suite)
    empty = answers(suite, entry, lambda *_: None), logits(suite, entry, lambda _: None)
    one = entry.pictures[0]
    cases = [
        ((*entry.pictures, one), BadValue, "one picture"),
        ((one.model_copy(update={"prompt": "p9"}),), UnknownReference, "p9"),
        ((one.model_copy(update={"seed": 7}),), UnknownReference, "seed 7"),
    ]
    for pictures, error, words in cases:
        with pytest.raises(error, match=words):
            entry_result(suite, entry.model_copy(update={"pictures": pictures}), *empty)
    with pytest.raises(BadFile, match="other prompts"):
        entry_result(suite, entry.model_copy(update={"suite": "0" * 64}), *empty)


def test_a_picture_that_is_not_listed_is_missing():
    suite = asked(judges="a")
    entry = entered(suite)
    short = entry.model_copy(update={"pictures": entry.pictures[1:]})
    got = entry_result(suite, short, answers(suite, short, lambda *_: "pass"), logits(suite, short, lambda _: 0.0))
    assert got.capability.coverage.made == 2
    assert got.prompts[0].pictures[0].missing == "not among the entry's pictures"
    assert got.prompts[0].passed == 0.0
    assert got.status == "complete"
