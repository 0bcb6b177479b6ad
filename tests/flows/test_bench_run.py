"""A suite at work: results are published once they are complete, an outage heals, nothing is done or paid for twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_bench import Colors, by_red, eyes, green, tiny_suite

from salon.bench import Suite, entry_folder, open_board, read_logits, read_published, read_result, retract, run_suite
from salon.bench.board import read_answers
from salon.bench.judging import open_for_any_study
from salon.bench.run import SuiteRun
from salon.errors import BadFile, BadValue, DesignError
from salon.judge import Conversation, NoReply, ScriptedVlm, UnreadLimits
from salon.store import held
from salon.study import Ask, FailedPicture


def run(board: Path, *names: str, suite: Suite | None = None, **more: object) -> SuiteRun:
    told = {"judges": eyes(), "scorers": {"eps": green()}} | more
    return run_suite(suite or tiny_suite(), board, [Colors(name) for name in names], **told)


def entry(board: Path, name: str = "one") -> Path:
    return entry_folder(open_board(board), name)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_entry_is_made_judged_scored_and_published(tmp_path: Path) -> None:
    board = tmp_path / "board"
    done = run(board, "one")
    assert done.is_complete
    assert [(one.entry, one.made, one.status) for one in done.entries] == [("one", 4, "published")]
    # eye answers both points of four pictures, ear one of the two
    assert [(one.role, one.questions) for one in done.entries[0].judges] == [("eye", 8), ("ear", 4)]
    answers = read_answers(entry(board)).to_pylist()
    assert len(answers) == 12
    result = read_result(entry(board))
    passing = [by_red_of(board, picture.image) for prompt in result.prompts for picture in prompt.pictures]
    assert result.capability.figure.value == pytest.approx(100 * sum(passing) / 4)
    assert read_logits(entry(board)).num_rows == 4
    assert result.eps == {}  # no reference yet


def by_red_of(board: Path, image: str) -> bool:
    sight = {"item": "x", "path": entry(board) / image}
    return by_red(Conversation(parts=(sight,))) == "PASS"


def test_another_generator_leaves_the_published_bytes_alone(tmp_path: Path) -> None:
    board = tmp_path / "board"
    run(board, "one")
    before = everything(entry(board))
    run(board, "two", "three")
    run(board, "one")
    assert everything(entry(board)) == before


def test_the_order_of_generators_changes_nothing(tmp_path: Path) -> None:
    run(tmp_path / "a", "one", "two")
    run(tmp_path / "b", "two")
    run(tmp_path / "b", "one")
    for name in ("one", "two"):
        first, second = (read_result(entry(tmp_path / board, name)) for board in "ab")
        assert first == second


def test_a_missing_picture_fails_and_is_published_with_its_reason(tmp_path: Path) -> None:
    generator = Colors(
        "one", fate=lambda ask: FailedPicture(reason="no", kind="refused") if ask.prompt.id == "p1" else None
    )
    done = run_suite(tiny_suite(), tmp_path / "board", [generator], eyes(), {"eps": green()})
    assert done.entries[0].missing == {"refused": 1}
    assert done.is_complete
    result = read_result(entry(tmp_path / "board"))
    (picture,) = next(one for one in result.prompts if one.prompt == "p1").pictures
    assert (picture.passed, picture.missing) == (0.0, "refused: no")


def test_an_outage_of_the_generator_waits_for_the_next_run(tmp_path: Path) -> None:
    down = [True]

    def fate(ask: object) -> FailedPicture | None:
        return FailedPicture(reason="504", kind="timeout") if down[0] and ask.prompt.id == "p2" else None

    generator, told = Colors("one", fate=fate), {"judges": eyes(), "scorers": {"eps": green()}}
    first = run_suite(tiny_suite(), tmp_path / "board", [generator], **told)
    assert "1 timeout" in first.entries[0].open[0]
    assert read_published(entry(tmp_path / "board")) is None
    down[0] = False
    assert run_suite(tiny_suite(), tmp_path / "board", [generator], **told).is_complete
    assert generator.asked.count("p2") == 2
    assert len(generator.asked) == 5

    down[0] = True  # on another board it is accepted as it is
    assert run_suite(tiny_suite(), tmp_path / "as-is", [generator], **told, as_is=True).is_complete


def test_an_outage_of_a_judge_leaves_bounds_and_heals(tmp_path: Path) -> None:
    board, down = tmp_path / "board", [True]

    def ear(asked: Conversation) -> object:
        return NoReply(kind="timeout", reason="no answer") if down[0] and asked.point == "p1-large" else "PASS"

    judges = {**eyes(lambda _: "PASS", "eye"), "ear": open_for_any_study(ScriptedVlm("ear", ear))}
    first = run(board, "one", judges=judges)
    assert first.entries[0].open == ("1 answers of ear are open: run again",)
    result = read_result(entry(board))
    assert (result.status, result.capability.figure.value, result.capability.at_best) == ("provisional", 75.0, 100.0)
    down[0] = False
    assert run(board, judges=judges).is_complete  # no generator: whatever is open
    assert read_result(entry(board)).capability.figure.value == 100.0


def test_what_cannot_be_read_is_a_failure_and_not_open(tmp_path: Path) -> None:
    def odd(asked: Conversation) -> object:
        if asked.point == "p1-red":
            return NoReply(kind="refused", reason="not this one")
        return "perhaps" if asked.point == "p2-red" else '{"verdict": "PASS", "why": "it is"}'

    stopped = run(tmp_path / "board", "one", judges=eyes(odd))
    assert not stopped.is_complete, "more than a tenth cannot be read: the entry is not published unasked"
    assert "may be unreadable" in stopped.stopped["eye"]
    done = run(tmp_path / "board", "one", judges=eyes(odd), unread=UnreadLimits(most_unread=1))
    assert done.is_complete
    said = {row["point"]: row for row in read_answers(entry(tmp_path / "board")).to_pylist() if row["judge"] == "eye"}
    assert [said[point]["said"] for point in ("p1-red", "p2-red", "p3-red")] == ["unread", "unread", "pass"]
    assert [said[point]["why"] for point in ("p1-red", "p3-red")] == ["refused: not this one", "it is"]
    assert read_result(entry(tmp_path / "board")).capability.figure.value == 50.0


def test_without_a_judge_the_entry_waits_and_says_for_whom(tmp_path: Path) -> None:
    board = tmp_path / "board"
    first = run(board, "one", judges=eyes(by_red, "eye"))
    assert first.entries[0].open == ("4 answers of ear are open: name the judge with --judge ear=KIND:NAME",)
    assert run(board, judges=eyes(by_red, "ear")).is_complete  # what eye said stays
    assert read_answers(entry(board)).num_rows == 12


def test_a_role_keeps_its_judge(tmp_path: Path) -> None:
    run(tmp_path / "board", "one")
    with pytest.raises(BadValue, match="one judge answers as 'eye' for all entries"):
        run(tmp_path / "board", "two", judges=eyes(lambda _: "PASS"))


def test_a_changed_generator_is_no_longer_the_published_one(tmp_path: Path) -> None:
    run(tmp_path / "board", "one")
    with pytest.raises(BadValue, match="stays what its generator made"):
        run_suite(tiny_suite(), tmp_path / "board", [Colors("one", version=2)], eyes())


def test_an_unpublished_entry_is_made_anew_and_its_old_answers_go(tmp_path: Path) -> None:
    board = tmp_path / "board"
    run(board, "one", judges=eyes(by_red, "eye"))
    before = read_answers(entry(board))
    run_suite(tiny_suite(), board, [Colors("one", version=2)], eyes(by_red, "ear"))
    assert before.num_rows == 8
    assert set(read_answers(entry(board)).column("judge").to_pylist()) == {"ear"}


def test_a_changed_picture_is_refused_with_its_hash(tmp_path: Path) -> None:
    board = tmp_path / "board"
    run(board, "one", judges={})
    picture = entry(board) / read_result(entry(board)).prompts[0].pictures[0].image
    picture.write_bytes(b"other")
    with pytest.raises(BadFile, match=r"with the hash .* is needed"):
        run(board)


@pytest.mark.parametrize(
    ("told", "error", "match"),
    [
        ({"scorers": {"eps": green(is_logit=False)}}, DesignError, "logit"),
        ({"scorers": {"taste": green()}}, BadValue, "a column of the suite"),
        ({"judges": eyes(by_red, "nose")}, BadValue, "as one that the suite's routes name"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_made(
    tmp_path: Path, told: dict, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        run(tmp_path / "board", "one", **told)
    assert not (tmp_path / "board").exists()


def test_a_board_of_another_suite_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "board", "one")
    with pytest.raises(BadValue, match="a board of the suite tiny/1"):
        run(tmp_path / "board", "one", suite=tiny_suite(prompts=3))


def test_two_runs_do_not_work_on_one_board(tmp_path: Path) -> None:
    run(tmp_path / "board", "one")
    before = everything(tmp_path / "board")
    with held(tmp_path / "board"), pytest.raises(BadFile, match="one run at a time") as refused:
        run(tmp_path / "board", "two")
    assert "another one at work" in str(refused.value)
    assert everything(tmp_path / "board") == before


def test_a_retracted_entry_is_left_alone(tmp_path: Path) -> None:
    run(tmp_path / "board", "one", judges={})
    retract(open_board(tmp_path / "board"), "one", "a mistake")
    assert [one.status for one in run(tmp_path / "board").entries] == ["retracted"]


def test_an_entry_that_is_retracted_while_a_run_works_on_it_stays_retracted(tmp_path: Path) -> None:
    board, down = tmp_path / "board", [True]

    def fate(ask: Ask) -> FailedPicture | None:
        if down[0]:
            return FailedPicture(reason="504", kind="timeout") if ask.prompt.id == "p2" else None
        retract(open_board(board), "one", "pictures were chosen by hand")
        return None

    told = {"judges": eyes(), "scorers": {"eps": green()}}
    run_suite(tiny_suite(), board, [Colors("one", fate=fate)], **told)
    down[0] = False
    done = run_suite(tiny_suite(), board, [Colors("one", fate=fate)], **told)
    assert [one.status for one in done.entries] == ["retracted"]
    kept = open_board(board).entry("one").retracted
    assert kept is not None
    assert kept.reason == "pictures were chosen by hand"
    assert read_published(entry(board)) is None


def test_the_report_is_json(tmp_path: Path) -> None:
    report = json.loads(run(tmp_path / "board", "one").model_dump_json())
    assert report["entries"][0]["judges"][0]["role"] == "eye"
