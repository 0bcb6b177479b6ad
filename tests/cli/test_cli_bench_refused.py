"""Slips of a newcomer and broken files: `salon bench` says what is needed, found, where, and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import ran_salon
from suite_example import published, put_entry, small_suite

from salon.bench import new_board, open_suite, save_suite


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite, a board with a published entry, and a file of prompts, in the current folder."""
    monkeypatch.chdir(tmp_path)
    save_suite(small_suite(), tmp_path / "suite")
    published(new_board(tmp_path / "board", small_suite()), "ann")
    (tmp_path / "prompts.csv").write_text("id,text\na,One fox\nb,Two foxes\nc,One fox\n")
    return tmp_path


def salon(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    code, said = ran_salon.salon(capsys, "bench", *arguments)
    return code, said.out + said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("new", "suite"), ("a new folder is needed", "one with files in it", "choose another name")),
        (("new", "prompts.csv"), ("a new folder is needed", "a file", "choose another name")),
        (("verify", "prompts.csv"), ("a suite, a board or a bundle is needed", "a file that is no bundle")),
        (("verify", "."), ("a suite, a board or a bundle is needed", "without a suite.toml or a board.json")),
        (("diff", "board", "nowhere"), ("a board or a suite is needed", "nothing there", "nowhere")),
        (("pack", "board", "bob"), ("an entry of the board is needed", "'bob'", "one of ann")),
        (("hide", "suite", "zebra", "-o", "kept.jsonl"), ("not private yet", "zebra", "there are p0, p1")),
        (("freeze", "posters", "--field", "board", "-o", "new"), ("the suite's prompts", "one of other prompts")),
        (("new", "prompts.csv/new"), ("a place that can be read and written", "prompts.csv", "choose another place")),
    ],
)
def test_a_slip_is_told_with_what_there_is(
    capsys: pytest.CaptureFixture[str], place: Path, arguments: tuple[str, ...], said: tuple[str, ...]
) -> None:
    before = sorted(place.rglob("*"))
    code, text = salon(capsys, *arguments)
    assert code == 2, text
    assert [one for one in said if one not in text] == []
    assert sorted(place.rglob("*")) == before


def test_a_frozen_suite_hides_nothing_and_says_how_to_go_on(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    assert salon(capsys, "freeze", "suite")[0] == 0
    code, text = salon(capsys, "hide", "suite", "p0", "-o", "kept.jsonl")
    assert (code, "salon bench new COPY --from suite" in text) == (2, True)
    assert not Path("kept.jsonl").exists()


def test_prompts_that_read_alike_are_counted_not_dropped_in_silence(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    code, text = salon(capsys, "new", "ours", "--from", "prompts.csv")
    assert (code, "1 of 3 prompts read as another one does: each text is taken once" in text) == (0, True)
    assert [one.prompt.id for one in open_suite("ours").prompts] == ["a", "b"]
    code, text = salon(capsys, "new", "copy", "--from", "ours", "--json")
    assert json.loads(text)["left_out"] == 0
    assert open_suite("copy").card.title == "copy"


@pytest.mark.parametrize("file", ["board.json", "entries/ann/entry.json", "entries/ann/result.json"])
def test_a_file_cut_short_is_named_with_what_to_do(capsys: pytest.CaptureFixture[str], place: Path, file: str) -> None:
    whole = (place / "board" / file).read_bytes()
    (place / "board" / file).write_bytes(whole[: len(whole) // 2])
    for arguments in (("site", "board", "-o", "site"), ("run", "board")):
        code, text = salon(capsys, *arguments)
        assert code == 2, text
        assert f"board/{file}" in text
        assert "bring the file back from a copy" in text
    (place / "board" / file).write_bytes(whole)
    assert salon(capsys, "verify", "board")[0] == 0


def test_answers_that_are_no_table_are_named_too(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    (place / "board" / "entries" / "ann" / "answers.parquet").write_bytes(b"x")
    code, text = salon(capsys, "site", "board", "-o", "site")
    assert (code, "bring the file back from a copy" in text) == (2, True)
    assert salon(capsys, "verify", "board")[0] == 1


def test_a_suite_lists_its_judges(capsys: pytest.CaptureFixture[str]) -> None:
    text = salon(capsys, "list", "posters")[1]
    assert "judge: pixels, 113 points, needs no --judge" in text
    assert "oracle, beside the board: layout, 113 points" in text
    told = json.loads(salon(capsys, "list", "broad", "--json")[1])
    assert (list(told["judges"]), told["oracle"]) == (["reader", "general", "second", "third"], None)
    assert "--judge general=KIND:NAME" in salon(capsys, "list", "broad")[1]


def test_the_next_step_names_who_is_wanted(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    put_entry(new_board(place / "open", small_suite()), "bob")
    code, text = salon(capsys, "run", "open")
    assert code == 1
    assert "next: salon bench run open, with who is named above" in text
