"""Whatever happens to other entries of a board, a published entry's numbers and intervals stay, bit for bit."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from suite_example import SCORER, put_entry, small_suite, with_reference

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
    restore,
    retract,
    standings,
    verify,
)
from salon.bench.board import read_answers, read_entry, write_answers, write_logits, write_result
from salon.bench.entry import ANSWERS, LOGITS
from salon.bench.site.site_data import read_site_data
from salon.bench.suite_folder import LOCK, read_suite
from salon.bench.verification import VerifyReport
from salon.errors import BadFile

KEPT = "kept"
OTHERS = ("a", "b", "zz")
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["run", "provisional", "retract", "restore", "remove"]),
        st.sampled_from(OTHERS),
        st.integers(0, 2**16),
    ),
    min_size=1,
    max_size=5,
)


@contextmanager
def board_of(interval: str) -> Iterator[Board]:
    """A board with one published entry; hypothesis draws many, so each has a folder of its own."""
    suite = small_suite(5, interval=interval, draws=100)
    with tempfile.TemporaryDirectory() as place:
        board = new_board(Path(place) / "board", with_reference(suite))
        run(board, KEPT, 1)
        yield open_board(board.folder)


def run(board: Board, name: str, seed: int, *, provisional: bool = False) -> None:
    """Pictures, answers and scores drawn from `seed`; again under a name that is taken: judged anew where it may be."""
    folder = entry_folder(board, name)
    if not folder.exists():
        put_entry(board, name)
    if read_published(folder) is not None:
        return
    entry = read_entry(folder)
    items = {one.prompt: one.item for one in entry.pictures}
    said = ["pass" if (seed * 31 + n * 17) % 5 else "fail" for n in range(len(board.suite.points))]
    answers = [
        {"item": items[point.prompt], "point": point.id, "judge": "eye", "said": word, "why": None}
        for point, word in zip(board.suite.points, said, strict=True)
    ]
    logits = [
        {"item": item, "preference": "eps", "value": ((seed + 7 * n) % 13 - 6) / 2, "sigma": 1.0, "unscored": None,
         "scorer": SCORER}
        for n, item in enumerate(items.values())
    ]  # fmt: skip
    write_answers(folder, pa.Table.from_pylist(answers[1:] if provisional else answers, ANSWERS))
    write_logits(folder, pa.Table.from_pylist(logits, LOGITS))
    write_result(folder, computed(board, name))


def computed(board: Board, name: str) -> EntryResult:
    folder = entry_folder(board, name)
    return entry_result(board.suite, read_entry(folder), read_answers(folder), read_logits(folder))


def act(board: Board, what: str, name: str, seed: int) -> None:
    there = {one.name: one for one in board.entries}
    if what in ("run", "provisional"):
        run(board, name, seed, provisional=what == "provisional")
    elif what == "remove":
        shutil.rmtree(entry_folder(board, name), ignore_errors=True)
    elif name in there and what == "retract" and there[name].retracted is None:
        retract(board, name, "a reason")
    elif name in there and what == "restore" and there[name].retracted is not None:
        restore(board, name)


def files(board: Board) -> dict[str, bytes]:
    folder = entry_folder(board, KEPT)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@settings(max_examples=10)
@given(ACTIONS, st.sampled_from(["score", "bootstrap"]))
def test_adding_removing_and_running_others_moves_nothing(actions, interval):
    with board_of(interval) as board:
        before, result = files(board), computed(board, KEPT)
        assert result.overall.figure.low < result.overall.figure.value < result.overall.figure.high
        for what, name, seed in actions:
            act(board, what, name, seed)
            board = open_board(board.folder)
            assert files(board) == before
            assert computed(board, KEPT) == result
            shown = {one.entry: one for one in published_results(board)}
            assert shown[KEPT] == result
            for axis in ("capability", "eps", "overall"):
                places = {one.entry: one.figure for one in standings(list(shown.values()), axis).places}
                own = {"capability": result.capability, "overall": result.overall, **result.eps}[axis]
                assert places[KEPT] == own.figure
        assert all(check.holds for check in verified(board).checks if check.where == KEPT)


def verified(board: Board) -> VerifyReport:
    return verify(str(board.folder), entry_result)


def changed(board: Board, what: str) -> None:
    """Change one byte that says something."""
    suite, entry = board.folder / "suite", entry_folder(board, KEPT)
    place = {
        "prompt": (suite / "prompts.jsonl", "poster number 0", "poster number 9"),
        "point": (suite / "points.jsonl", "is it red?", "is it green?"),
        "reference": (suite / "reference.json", '"value": 0.0', '"value": 0.1'),
        "route": (suite / "routes.toml", "eye", "ear"),
    }
    if what == "picture":
        path = entry / read_entry(entry).pictures[0].image
        path.write_bytes(path.read_bytes() + b"\0")
        return
    path, old, new = place[what]
    text = path.read_text(encoding="utf-8")
    if old not in text:
        text = text.replace('"value":0.0', '"value": 0.0')
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("what", ["prompt", "point", "reference", "route"])
def test_a_changed_suite_is_refused_with_both_hashes(what):
    with board_of("score") as board:
        [file] = [name for name in board.suite.hashes if name.startswith(what)]
        locked = board.suite.hashes[file]
        changed(board, what)
        with pytest.raises(BadFile) as refused:
            open_board(board.folder)
        told = str(refused.value)
        (board.folder / "suite" / LOCK).unlink()  # unlocked, the same files have the hash that was told
        now = read_suite(board.folder / "suite").hashes[file]
        assert now != locked
        assert f"{file} with the hash {locked[:16]}" in told
        assert now[:16] in told


def test_a_changed_picture_is_found_with_both_hashes():
    with board_of("score") as board:
        picture = board.entry(KEPT).pictures[0]
        changed(board, "picture")
        now = hashlib.sha256((entry_folder(board, KEPT) / picture.image).read_bytes()).hexdigest()
        [bad] = [check for check in verified(board).checks if not check.holds]
        assert (bad.where, bad.what) == (KEPT, "pictures")
        assert picture.sha256[:16] in bad.told
        assert now[:16] in bad.told


@pytest.mark.parametrize("edit", ["a better number", "a prompt less"])
def test_no_page_shows_a_published_result_that_was_edited(edit):
    with board_of("score") as board:
        file = entry_folder(board, KEPT) / "result.json"
        record = json.loads(file.read_text(encoding="utf-8"))
        if edit == "a prompt less":
            record["prompts"].pop()
        else:
            record["capability"]["figure"]["value"] += 1
        file.write_text(json.dumps(record), encoding="utf-8")
        locked = read_published(entry_folder(board, KEPT)).result[:16]
        for show in (published_results, read_site_data):
            with pytest.raises(BadFile, match=f"the hash {locked} is needed"):
                show(board)
