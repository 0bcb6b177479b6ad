"""Bad input from the terminal: counted, printed, never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image
from public_files import made, records

from salon.bench import PosterFile, PosterScoreSettings, find_files, score_files, task_named
from salon.bench.posters.files import open_file
from salon.bench.posters.judge import judge_files
from salon.cli.main import run as terminal, salon as command
from salon.judge import NoReply, ScriptedVlm

QUICK = PosterScoreSettings(draws=100)
LONG = "lorem ipsum dolor " * 6000
"""108,000 characters."""


def run(*args: str | Path, code: int = 0) -> str:
    done = CliRunner().invoke(command, ["bench", "posters", *map(str, args)], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def refused(capsys: pytest.CaptureFixture[str], *args: str | Path) -> str:
    """What the terminal says to something that cannot be done."""
    with pytest.raises(SystemExit) as left:
        terminal(["bench", "posters", *map(str, args)])
    assert left.value.code == 2
    return " ".join(capsys.readouterr().err.split())


def told(file: PosterFile, tmp_path: Path) -> tuple[dict[str, Any], str]:
    """What is scored of a file, as JSON and as printed."""
    place = tmp_path / file.task.file
    file.write(place)
    scored = json.loads(run("score", place, "--draws", "100", "--json"))["tasks"][0]
    return scored, " ".join(run("score", place, "--draws", "100").split())


def answered(name: str, said: list[str]) -> PosterFile:
    return made(name, len(said)).edited({i: {"response": text} for i, text in enumerate(said)})


def value(task: dict[str, Any], metric: int = 0) -> float:
    return task["metrics"][metric]["figure"]["value"]


def test_files_of_another_version_are_refused_by_name_and_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "font_effect.json"
    held = records("font_effect", 3)
    place.write_text(json.dumps([*held[:2], held[2] | {"task": "font effect 3"}]))
    words = refused(capsys, "score", place)
    assert "font effect 3" in words
    assert "record 3" in words
    place.write_text(json.dumps([held[0], held[1] | {"gt": "E"}]))
    words = refused(capsys, "score", place)
    assert "record 2" in words
    assert "another version" in words


def test_answers_of_100_kb_are_read_or_counted(tmp_path: Path) -> None:
    task, words = told(answered("font_effect", [LONG, LONG + "\nAnswer: B", "C", "D"]), tmp_path)
    assert task["unread"] == {"no answer": 1}
    assert value(task) == pytest.approx((4 * 3 / 4 - 1) / 3)  # the statement at the end is read
    assert "no answer 1" in words


def test_text_in_other_scripts_is_compared_as_it_is(tmp_path: Path) -> None:
    file = made("logo_ocr", 4)
    truths = ["東京タワー", "كتاب", "Ωmega Ёлка", "Brand & Söhne"]
    said = ["東京タワー", "كتاب\u200f", "Omega Елка", "Brand & So\u0308hne"]
    file = file.edited({i: {"gt": truth, "response": text} for i, (truth, text) in enumerate(zip(truths, said))})
    task, _ = told(file, tmp_path)
    assert value(task) == 3 / 4  # a direction mark and another Unicode form are no difference, other letters are
    letters, words = told(answered("font_attributes", ["答案是甲", "А", "Ａ", "B"]), tmp_path)
    assert sum(letters["unread"].values()) == 2  # Chinese and a Cyrillic letter choose nothing, a full-width one does
    assert value(letters) == pytest.approx(2 * 2 / 4 - 1)
    assert "not an option" in words or "no answer" in words


@pytest.mark.parametrize(
    "box", ["[0.5, 0.2, 0.1, 0.6]", "[0.1, 0.2, 1.7, 0.6]", "[-3, 0.2, 0.5, 0.6]", "[NaN, 0.2, 0.5, 0.6]",
            "[Infinity, 0, 1, 1]", "[100, 200, 500, 600]", '["a", 0, 1, 1]', "[0.2, 0.2, 0.2, 0.2]"],
)  # fmt: skip
def test_boxes_that_are_none_leave_their_place_empty(box: str, tmp_path: Path) -> None:
    good = [round(n, 5) for n in made("text_localization", 1).items[0].truth[1]]
    task, words = told(answered("text_localization", [f"[{box}, {good}]"]), tmp_path)
    assert task["bad_boxes"] == 1
    assert "bad boxes" in words.lower()
    top1, top3, mean, recall = (value(task, metric) for metric in range(4))
    assert top1 == 0
    assert (top3, mean, recall) == (pytest.approx(1 / 3, abs=1e-3), pytest.approx(1 / 4, abs=1e-3), 1 / 4)


def test_numbers_that_are_none_are_not_rounded_to_one(tmp_path: Path) -> None:
    said = ["NaN", "inf", "-2", "11/10", '{"score": NaN}', "1e400", *"123456"]
    task, words = told(answered("overall_rating", said), tmp_path)
    assert task["unread"] == {"no answer": 3, "not a number": 1, "outside the scale": 2}
    assert "outside the scale 2" in words
    assert value(task) < 0  # six ratings that are the worst they could be
    patches, _ = told(answered("empty_space", ["[NaN, 1]", "[1.5, 2]", "[99, 100, -1]"]), tmp_path)
    assert patches["unread"] == {"not a list of ids": 2}
    assert value(patches) == 0


def test_a_truth_that_is_no_number_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "overall_rating.json"
    held = records("overall_rating", 3)
    place.write_text(json.dumps([*held[:2], held[2] | {"gt": float("nan")}]))
    assert "record 3" in refused(capsys, "score", place)


def test_refusals_stay_in_the_denominator(tmp_path: Path) -> None:
    refusal = "I'm sorry, but I can't help with identifying fonts."
    task, words = told(answered("font_attributes", ["A", "B", refusal, refusal]), tmp_path)
    assert (task["items"], task["unread"]) == (4, {"refusal": 2})
    assert value(task) == 0.0  # 2 of 4; without the refusals it would be 1
    assert "refusal 2" in words


def test_missing_pictures_are_counted_and_asked_nothing(tmp_path: Path) -> None:
    home = tmp_path / "set"
    file = made("simple_ocr", 3)
    file.write(home / file.task.place)
    place = home / file.items[1].path
    place.parent.mkdir(parents=True)
    Image.new("RGB", (40, 40), "white").save(place)
    (home / file.items[2].path).write_bytes(b"not a picture")
    words = run("run", home, "--contestant", "tesseract", code=1)
    assert "no answer: no picture" in words
    assert "no answer: broken picture" in words
    scored = json.loads(run("score", tmp_path / "set.tesseract", "--pictures", home, "--draws", "100", "--json"))
    task = scored["tasks"][0]
    assert (task["items"], task["missing"], task["no_picture"]) == (3, 2, 1)


def test_a_judge_that_errs_owes_its_verdict(tmp_path: Path) -> None:
    """No reply, and a reply that is neither yes nor no: both owed, counted as no, and as yes at best."""
    file = answered("intention_understanding", ["prose", "prose"])
    file.write(tmp_path / file.task.place)
    script: list[str | NoReply] = ["Yes", NoReply(kind="error", reason="500"), "Internal server error", "No"]
    report = judge_files(find_files([tmp_path]), ScriptedVlm("judge", script), pictures=None)
    assert report.no_reply == {"error": 1}
    again = open_file(tmp_path / file.task.place)
    task = score_files([again], QUICK).tasks[0]
    assert task.owed == 2
    share = task.metrics[0]
    assert (share.figure.value, share.at_best) == (1 / 4, 3 / 4)  # type: ignore[union-attr]
    words = " ".join(run("score", tmp_path, "--draws", "100").split())
    assert "verdicts owed" in words.lower()


def test_a_judge_that_stops_leaves_what_it_said(tmp_path: Path) -> None:
    """A judge out of order after one verdict: nothing of the others is made up."""
    file = answered("composition_understanding", ["prose"] * 3)
    file.write(tmp_path / file.task.place)
    script = ["Yes", *[NoReply(kind="timeout", reason="slow")] * 5]
    report = judge_files(find_files([tmp_path]), ScriptedVlm("judge", script), pictures=None)
    assert report.no_reply == {"timeout": 5}
    held = open_file(tmp_path / file.task.place).items
    assert [item.judge for item in held] == [("Yes",), None, None]


def test_a_task_that_is_unknown_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made("logo_ocr").write(tmp_path / task_named("logo_ocr").place)
    assert "found: logo" in refused(capsys, "run", tmp_path, "--contestant", "random", "--task", "logo")
