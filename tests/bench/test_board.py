"""A board as a folder: names of their own, published numbers that never move, and writers that may be killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from suite_example import put_entry, small_suite

from salon.bench.board import Board, check_new_name, entry_folder, new_board, open_board, restore, retract
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


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "..", ".hidden", "a/b", "a\\b", "x" * 100])
def test_a_name_never_leads_out_of_the_board(board: Board, name: str) -> None:
    if name == "..":
        with pytest.raises(BadValue, match="letter or a digit"):
            entry_folder(board, name)
    else:
        assert entry_folder(board, name).parent == board.folder / "entries"


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
