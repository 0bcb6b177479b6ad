"""`verify` finds what was changed, wherever it was changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from suite_example import picture, published, put_entry, small_suite, with_reference

from salon.bench import (
    EntryTerms,
    entry_result,
    lock_suite,
    new_board,
    open_board,
    open_submission,
    pack,
    read_logits,
    retract,
    save_suite,
    verify,
)
from salon.bench.board import read_answers, write_answers, write_logits
from salon.bench.entry import ANSWERS, LOGITS
from salon.bench.verification import VerifyReport
from salon.errors import BadFile


@pytest.fixture
def board(tmp_path: Path) -> Path:
    suite = small_suite()
    board = new_board(tmp_path / "board", with_reference(suite))
    published(board, "one")
    put_entry(board, "two", missing=("p1",))
    return board.folder


def failed(report: VerifyReport) -> list[tuple[str, str]]:
    return [(check.where, check.what) for check in report.checks if not check.holds]


def test_a_good_board_holds_and_says_what_was_looked_at(board: Path) -> None:
    retract(open_board(board), "one", "a reason")
    report = verify(str(board), entry_result)
    assert report.holds
    told = {(check.where, check.what): check.told for check in report.checks}
    assert told["one", "pictures"] == "4 of 4 there, hashes as recorded"
    assert told["one", "published result"].endswith("retracted: a reason")
    assert told["one", "computed again"] == "the same numbers"
    assert told["two", "pictures"] == "3 of 4 there, hashes as recorded"
    assert told["two", "result"] == "no result yet"


def test_a_changed_picture(board: Path) -> None:
    path = board / "entries" / "one" / "images" / "p1__0.png"
    path.write_bytes(picture(99))
    assert failed(verify(str(board), entry_result)) == [("one", "pictures")]
    path.unlink()
    report = verify(str(board), entry_result)
    assert "found no file" in next(check.told for check in report.checks if not check.holds)


@pytest.mark.parametrize("trick", ["outside", "shared"])
def test_a_picture_that_is_anothers(board: Path, trick: str) -> None:
    card = board / "entries" / "one" / "entry.json"
    told = json.loads(card.read_text())
    first, second = told["pictures"][:2]
    if trick == "outside":
        (board / "entries" / "one" / first["image"]).rename(board / "better.png")
        first["image"] = "../../better.png"
    else:
        second["item"] = first["item"]
    card.write_text(json.dumps(told))
    report = verify(str(board), recompute=entry_result)
    assert ("one", "pictures") in failed(report)


def test_a_changed_answer_or_score(board: Path) -> None:
    folder = board / "entries" / "one"
    rows = read_answers(folder).to_pylist()
    write_answers(folder, pa.Table.from_pylist([rows[0] | {"said": "fail"}, *rows[1:]], ANSWERS))
    report = verify(str(board), entry_result)
    assert failed(report) == [("one", "published result"), ("one", "computed again")]
    assert "capability 100.00 became 75.00" in report.checks[-3].told
    write_answers(folder, pa.Table.from_pylist(rows, ANSWERS))
    rows = read_logits(folder).to_pylist()
    write_logits(folder, pa.Table.from_pylist([row | {"value": 0.6} for row in rows], LOGITS))
    assert failed(verify(str(board), entry_result)) == [("one", "published result"), ("one", "computed again")]


def test_a_changed_result_even_with_its_hash(board: Path) -> None:
    folder = board / "entries" / "one"
    record = json.loads((folder / "result.json").read_text())
    record["capability"]["figure"]["value"] = 99.5
    (folder / "result.json").write_text(json.dumps(record))
    assert failed(verify(str(board), entry_result)) == [("one", "published result")]
    (folder / "result.json").unlink()
    assert failed(verify(str(board), entry_result)) == [("one", "result")]


def test_a_changed_suite_of_a_board(board: Path) -> None:
    path = board / "suite" / "points.jsonl"
    path.write_text(path.read_text().replace("large", "small"))
    assert ("suite", "files") in failed(verify(str(board), entry_result))


def test_every_fault_of_a_suite_is_listed(tmp_path: Path) -> None:
    suite = small_suite(size="big")
    save_suite(replace(suite, points=()), tmp_path / "suite")
    (tmp_path / "suite" / "points.jsonl").write_text("")
    report = verify(str(tmp_path / "suite"), entry_result)
    assert [what for _, what in failed(report)] == [
        "parts fit each other", "every prompt has a point", "a size is WIDTHxHEIGHT",
    ]  # fmt: skip


def test_a_frozen_suite_holds(tmp_path: Path) -> None:
    save_suite(small_suite(), tmp_path / "suite")
    lock_suite(tmp_path / "suite")
    report = verify(str(tmp_path / "suite"), entry_result)
    assert report.holds
    assert report.checks[0].told == f"hash {small_suite().hash[:16]}, as locked"


def test_a_bundle(tmp_path: Path) -> None:
    save_suite(small_suite(), tmp_path / "suite")
    (tmp_path / "pictures").mkdir()
    for number in range(3):
        (tmp_path / "pictures" / f"p{number}.png").write_bytes(picture(number))
    bundle = tmp_path / "a.salon.zip"
    with open_submission(tmp_path / "pictures", small_suite(), EntryTerms(name="a", licence="CC0-1.0")) as brought:
        pack(brought, bundle)
    report = verify(str(bundle), entry_result, suite=str(tmp_path / "suite"))
    assert report.holds
    assert report.checks[1].told == "3 of 4 there, each as promised; 1 missing count as failures"
    with pytest.raises(BadFile, match="suite of the bundle"):
        verify(str(bundle), entry_result)
    bundle.write_bytes(bundle.read_bytes().replace(b"IDAT", b"IDAX", 1))
    assert failed(verify(str(bundle), entry_result, suite=str(tmp_path / "suite"))) == [("a.salon.zip", "pictures")]
    bundle.write_bytes(bundle.read_bytes()[:-30])
    assert failed(verify(str(bundle), entry_result, suite=str(tmp_path / "suite"))) == [("a.salon.zip", "bundle")]
