"""Write to boards in processes that are killed, and count what is found afterwards. Run by test_board_killed.py.

    python killed_board.py FOLDER

For each of `new`, `add`, `result` and `retract` the writer is killed before its first, second, third ... system call
that changes the disk, until it gets through. Flushing is counted and not done: a killed process loses nothing of what
it wrote.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path

from suite_example import picture, put_entry, small_suite, some_result

from salon.bench import (
    EntryTerms,
    add_entry,
    entry_folder,
    new_board,
    open_board,
    open_submission,
    read_published,
    read_result,
    retract,
)
from salon.bench.board import write_result
from salon.store import atomic_files as atomic, open_study

CALLS = ("mkdir", "replace", "rename", "link", "unlink", "rmdir", "fsync")
ENOUGH = 1000


def start(folder: Path, what: str) -> None:
    """The board before the write, with one entry; pictures to add beside it."""
    shutil.rmtree(folder.parent, ignore_errors=True)
    shutil.copytree(folder.parent.parent / "start", folder.parent)
    if what == "new":
        shutil.rmtree(folder)


def prepare(shelf: Path) -> None:
    """What every round starts with."""
    (shelf / "pictures").mkdir(parents=True)
    for number in range(2):
        (shelf / "pictures" / f"p{number}.png").write_bytes(picture(number))
    put_entry(new_board(shelf / "board", small_suite(2)), "one")


def act(folder: Path, what: str) -> None:
    """The write that is killed."""
    if what == "new":
        new_board(folder, small_suite(2))
        return
    board = open_board(folder)
    if what == "add":
        with open_submission(
            folder.parent / "pictures", board.suite, EntryTerms(name="two", licence="CC0-1.0")
        ) as brought:
            add_entry(board, brought)
    elif what == "result":
        write_result(entry_folder(board, "one"), some_result(board.suite, "one"))
    else:
        retract(board, "one", "a reason")


def state(folder: Path, what: str) -> str:
    """'old' or 'new' when the board is whole, else what is wrong; and the write can always be done afterwards."""
    if what == "new":
        if not folder.exists():
            return "old"
        return "new" if open_board(folder).suite.hash == small_suite(2).hash else "mixed"
    board = open_board(folder)
    if what == "retract":
        return "new" if board.entry("one").retracted else "old"
    if what == "result":
        return _result_state(entry_folder(board, "one"), some_result(board.suite, "one"))
    if board.unfinished or len(board.entries) == 1:
        return "unfinished" if board.unfinished else "old"
    folder = entry_folder(board, "two")
    found = [(folder / str(one.image)).read_bytes() for one in board.entry("two").pictures]
    whole = found == [picture(n) for n in range(2)] and open_study(folder).counts == {"prompts": 2, "items": 2}
    return "new" if whole else "mixed"


def _result_state(folder: Path, expected: object) -> str:
    if read_published(folder) is None:
        return "old"  # whether or not result.json is there: it counts as not published
    return "new" if read_result(folder) == expected else "mixed"


def die_at(step: int) -> None:
    """Make this process kill itself instead of its `step`-th call that changes the disk."""
    count = itertools.count(1)

    def lethal(call):
        def called(*args, **kwargs):
            if next(count) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return called

    for name in CALLS:
        setattr(os, name, lethal(getattr(os, name)))
    atomic._exchange = lethal(atomic._exchange)


def by_step(folder: Path, what: str) -> Counter[str]:
    """What was found after each kill."""
    found: Counter[str] = Counter()
    for step in range(1, ENOUGH):
        start(folder, what)
        child = os.fork()
        if not child:
            die_at(step)
            act(folder, what)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        before = state(folder, what)
        found[before] += 1
        if before == "old":  # nothing stands in the way of doing it again
            act(folder, what)
            found["again"] += state(folder, what) == "new"
        if status == 0:
            break
    found["steps"] = step
    found["leftovers"] = sum(".saving-" in name for _, names, _ in os.walk(folder.parent) for name in names)
    return found


def main(home: Path) -> None:
    os.fsync = lambda number: None
    prepare(home / "start")
    print(json.dumps({what: by_step(home / "shelf" / "board", what) for what in ("new", "add", "result", "retract")}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
