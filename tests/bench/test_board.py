"""A board as a folder: names of their own, published numbers that never move, and writers that may be killed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from suite_example import judged, published, put_entry, small_suite, with_reference

from salon.bench import (
    Board,
    EntryResult,
    entry_folder,
    entry_result,
    new_board,
    open_board,
    published_results,
    read_logits,
    read_published,
    read_result,
    restore,
    retract,
)
from salon.bench.board import check_new_name, read_answers, read_entry, write_answers, write_entry, write_result
from salon.bench.entry import ANSWERS
from salon.bench.entry_files import table_hash
from salon.errors import BadFile, BadValue, UnknownReference


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return new_board(tmp_path / "board", small_suite())


def test_a_new_board_has_a_frozen_copy_of_its_suite(board: Board) -> None:
    again = open_board(board.folder)
    assert again.suite.frozen
    assert again.suite.hash == again.card.suite == small_suite().hash
    assert again.entries == ()
    with pytest.raises(BadFile, match="new folder"):
        new_board(board.folder, small_suite())


def test_a_board_whose_suite_was_exchanged_is_refused(board: Board, tmp_path: Path) -> None:
    other = new_board(tmp_path / "other", small_suite(images=2))
    (board.folder / "suite").rename(tmp_path / "away")
    (other.folder / "suite").rename(board.folder / "suite")
    with pytest.raises(BadFile, match=board.card.suite[:16]):
        open_board(board.folder)


def test_entries_stand_in_the_order_of_their_names(board: Board) -> None:
    for name in ("b", "a", "house:c+low@0.5"):
        put_entry(board, name)
    (board.folder / "entries" / "half").mkdir()
    again = open_board(board.folder)
    assert [one.name for one in again.entries] == ["a", "b", "house:c+low@0.5"]
    assert again.unfinished == ("half",)


@pytest.mark.parametrize("name", ["Flux", "flux", "ＦＬＵＸ", "flux."])
def test_a_name_is_taken_however_it_is_written(board: Board, name: str) -> None:
    put_entry(board, "flux")
    with pytest.raises(BadValue, match="name of its own"):
        check_new_name(open_board(board.folder), name)


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "..", ".hidden", "a/b", "a\\b", "x" * 100, "漢" * 100])
def test_a_name_never_leads_out_of_the_board(board: Board, name: str) -> None:
    if name == "..":
        with pytest.raises(BadValue, match="letter or a digit"):
            entry_folder(board, name)
    else:
        folder = entry_folder(board, name)
        assert folder.parent == board.folder / "entries"
        folder.mkdir()


def test_retraction_needs_a_reason_and_can_be_undone(board: Board) -> None:
    put_entry(board, "one")
    board = open_board(board.folder)
    with pytest.raises(BadValue, match="reason"):
        retract(board, "one", " ")
    with pytest.raises(UnknownReference, match="entry of the board"):
        retract(board, "two", "gone")
    retract(board, "one", "its pictures were another's")
    again = open_board(board.folder)
    assert again.entry("one").retracted.reason == "its pictures were another's"
    with pytest.raises(BadValue, match="retracted once"):
        retract(again, "one", "again")
    assert restore(again, "one").retracted is None
    assert open_board(board.folder).entry("one") == board.entry("one")


# -- publishing --------------------------------------------------------------------------------------------------------


@pytest.fixture
def measured(tmp_path: Path) -> Board:
    return new_board(tmp_path / "measured", with_reference(small_suite()))


def result_of(board: Board, folder: Path) -> EntryResult:
    return entry_result(board.suite, read_entry(folder), read_answers(folder), read_logits(folder))


def test_a_result_with_something_open_is_kept_and_not_published(measured: Board) -> None:
    folder = judged(measured)
    write_answers(folder, read_answers(folder).slice(1))
    assert write_result(folder, result_of(measured, folder)) is False
    assert (read_result(folder).status, read_published(folder)) == ("provisional", None)
    assert published_results(open_board(measured.folder)) == []


def test_a_published_result_never_changes(measured: Board) -> None:
    folder = published(measured)
    bytes_before = (folder / "result.json").read_bytes()
    result = result_of(measured, folder)
    later = result.signature.model_copy(update={"version": "99"})
    assert write_result(folder, result.model_copy(update={"signature": later})) is True
    assert (folder / "result.json").read_bytes() == bytes_before
    assert published_results(open_board(measured.folder)) == [result]


def test_a_changed_answer_is_refused_with_both_hashes(measured: Board) -> None:
    folder = published(measured)
    was = read_published(folder).answers
    rows = read_answers(folder).to_pylist()
    write_answers(folder, pa.Table.from_pylist([rows[0] | {"said": "fail"}, *rows[1:]], ANSWERS))
    with pytest.raises(BadFile, match="published result of 'one'") as error:
        write_result(folder, result_of(measured, folder))
    assert f"answers were {was[:16]}, are {table_hash(read_answers(folder))[:16]}" in error.value.found
    assert "suite" not in error.value.found
    assert "scores" not in error.value.found


def test_a_published_entrys_pictures_stay(measured: Board) -> None:
    folder = published(measured)
    entry = read_entry(folder)
    lost = entry.pictures[0].model_copy(update={"sha256": "0" * 64})
    with pytest.raises(BadFile, match="published entry's pictures"):
        write_entry(folder, entry.model_copy(update={"pictures": (lost, *entry.pictures[1:])}))
    write_entry(folder, entry.model_copy(update={"title": "One"}))
    assert read_entry(folder).label == "One"


def test_what_a_board_read_earlier_says_of_an_entry_is_not_written_over_its_card(board: Board) -> None:
    put_entry(board)
    stale = open_board(board.folder)
    changed = stale.entry("one").model_copy(update={"by": "somebody"})
    write_entry(entry_folder(stale, "one"), changed)  # by another process
    retract(stale, "one", "the first")
    assert open_board(board.folder).entry("one").by == "somebody"
    with pytest.raises(BadValue, match="retracted once"):
        retract(stale, "one", "the second")
    assert open_board(board.folder).entry("one").retracted.reason == "the first"


def test_retracted_entries_keep_their_result_off_the_board(measured: Board) -> None:
    published(measured, "one")
    published(measured, "two")
    retract(open_board(measured.folder), "one", "a reason")
    again = open_board(measured.folder)
    assert [result.entry for result in published_results(again)] == ["two"]
    restore(again, "one")
    assert [result.entry for result in published_results(open_board(measured.folder))] == ["one", "two"]


def test_the_order_of_rows_is_no_change(measured: Board) -> None:
    folder = published(measured)
    answers = read_answers(folder)
    write_answers(folder, answers.take(list(range(answers.num_rows))[::-1]))
    assert write_result(folder, result_of(measured, folder)) is True
