"""Checklists: where points come from, who answers them, and what several judges say together."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from judged_study import judged_study, saved, text_of

from salon.errors import SalonError
from salon.judge import (
    JudgeSettings,
    ScriptedVlm,
    UnreadLimits,
    judge_study,
    plan_run,
    read_point_answers,
    settle_points,
    ticked_points,
)
from salon.judge.protocol import checklist_questions
from salon.store import open_study, read_points, read_routes
from salon.study import Point, Route, agreed, find_route, points_for

CHECK = JudgeSettings(protocol="checklist", criterion=("taste/mood",))
POINTS = """
[[point]]
id = "title"
text = "The image shows the title."
tag = "text"

[[point]]
id = "cups"
text = "There are exactly two cups."
prompt = "p2"
criterion = "taste/mood"
tag = "counting"
"""


def points_file(folder: Path, text: str = POINTS, name: str = "points.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_points_are_those_people_ticked_unless_a_file_says_otherwise(tmp_path: Path) -> None:
    ticked = ticked_points(judged_study())
    assert ticked == [Point(id="has a title", prompt="p1", criterion="taste/mood")]
    asked = checklist_questions(judged_study(), ("taste/mood",), CHECK, ticked)
    assert [(one.a, one.point) for one in asked] == [(f"p1-{k}", "has a title") for k in "abc"]
    given = read_points(points_file(tmp_path))
    asked = checklist_questions(judged_study(), ("taste/mood",), CHECK, given)
    assert sum(one.point == "title" for one in asked) == 6
    assert [one.a for one in asked if one.point == "cups"] == ["p2-a", "p2-b", "p2-c"]
    lines = points_file(tmp_path, '{"id": "title", "tag": "text"}\n\n{"id": "x"}\n', "points.jsonl")
    assert read_points(lines) == [Point(id="title", tag="text"), Point(id="x")]


def test_a_point_is_asked_in_its_own_words(tmp_path: Path) -> None:
    plan = plan_run(judged_study(), tmp_path, CHECK, points=read_points(points_file(tmp_path)), looks=False)
    asked = next(one for one in plan.conversations() if one.point == "cups")
    text = text_of(asked)
    assert "The point: There are exactly two cups." in text
    assert text.endswith('It is {"verdict": "PASS"} or {"verdict": "FAIL"}')
    assert asked.options == ("PASS", "FAIL")


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "",
        "[[point]]\ntext = 'no id'",
        "[[point]]\nid = 'x'\nprompt = 'p9'",
        "[[point]]\nid = 'x'",  # of which criterion?
        "[[point]]\nid = 'x'\ntext = 'a'\ncriterion = 'type'\n[[point]]\nid = 'x'\ntext = 'b'\ncriterion = 'type'",
    ],
)
def test_bad_points(tmp_path: Path, text: str) -> None:
    path = points_file(tmp_path, text)
    with pytest.raises(SalonError):
        checklist_questions(judged_study(), ("taste/mood", "type"), CHECK, read_points(path))


def test_answers_become_checklists_and_what_was_not_read_stays_open(tmp_path: Path) -> None:
    saved(tmp_path / "s")
    said = {"p2-a": '{"verdict": "PASS"}', "p2-b": '{"verdict": "fail"}', "p2-c": '{"verdict": "maybe"}'}
    judge = ScriptedVlm("j", lambda asked: said[asked.sights[0].item] if asked.point == "cups" else "PASS")
    run = judge_study(
        open_study(tmp_path / "s"), tmp_path / "s", judge, CHECK, points=read_points(points_file(tmp_path)),
        unread=UnreadLimits(most_unread=0.2),
    )  # fmt: skip
    assert (run.questions, run.reasons) == (9, {"not an option": 1})
    lists = {one.item: one for one in open_study(tmp_path / "s/judges/j").nouns("checklists")}
    assert lists["p1-a"].points == ("title",)
    assert lists["p2-a"].points == ("cups", "title")
    assert [lists[f"p2-{k}"].answers[0] for k in "abc"] == [True, False, None]


# -- several judges --------------------------------------------------------------------------------------------------

ROUTES = [Route(tag="text", judges=("ocr",)), Route(tag="*", judges=("x", "y", "z"))]


def test_points_go_by_their_tag() -> None:
    title, cups, plain = Point(id="t", tag="text"), Point(id="c", tag="counting"), Point(id="p")
    assert [find_route(point, ROUTES).judges[0] for point in (title, cups, plain)] == ["ocr", "x", "x"]
    assert points_for("y", [title, cups, plain], ROUTES) == [cups, plain]
    with pytest.raises(SalonError, match="counting"):
        find_route(cups, ROUTES[:1])


def test_agreement_by_definition() -> None:
    for answers in product((True, False, None), repeat=3):
        yes, no = answers.count(True), answers.count(False)
        assert agreed(answers, "majority") == (True if yes >= 2 else False if no >= 2 else None)
        assert agreed(answers, "unanimous") == (False if no else True if yes == 3 else None)


def test_judges_are_put_together_and_their_disagreements_told() -> None:
    keys = [("mood", "i", "cups"), ("mood", "k", "cups"), ("mood", "i", "title")]
    judges = {
        "x": {keys[0]: True, keys[1]: True},
        "y": {keys[0]: True, keys[1]: False},
        "z": {keys[0]: False, keys[1]: None},
        "ocr": {keys[2]: False},
    }
    settled = settle_points([Point(id="cups"), Point(id="title", tag="text")], ROUTES, judges)
    told = [(one.item, one.point, one.answer, one.disputed, one.unread) for one in settled]
    assert told == [("i", "cups", True, True, 0), ("k", "cups", None, True, 1), ("i", "title", False, False, 0)]


def test_routes_from_a_file_and_a_judge_that_never_ran(tmp_path: Path) -> None:
    file = tmp_path / "routes.toml"
    file.write_text('[[route]]\ntag = "*"\njudges = ["j", "k"]\nrule = "unanimous"\n')
    routes = read_routes(file)
    assert routes == [Route(tag="*", judges=("j", "k"), rule="unanimous")]
    saved(tmp_path / "s")
    with pytest.raises(SalonError, match="'j'"):
        read_point_answers(tmp_path / "s", routes)
    for bad in ("x", "route = 1", '[[route]]\ntag = "x"\njudges = []'):
        file.write_text(bad)
        with pytest.raises(SalonError):
            read_routes(file)
