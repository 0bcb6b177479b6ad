"""A board: the entries of one suite, as a folder.

BOARD/board.json          the card: name, and the hash of its suite
BOARD/suite/              a frozen copy of the suite, without texts of private prompts
BOARD/entries/NAME/       one entry each (salon.bench.entry)
BOARD/arena/0001.json     snapshots of what raters say (salon.bench.snapshots)
BOARD/raters/0001.json    snapshots of what raters are worth

Every file is written whole and every entry appears whole: a process killed at any moment leaves a board that opens.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from salon.bench import entry as entry_names
from salon.bench.entry import Entry, EntryResult, Retraction
from salon.bench.entry_files import (
    read_answers,
    read_checked_result,
    read_entry,
    read_logits,
    read_published,
    read_result,
    write_answers,
    write_entry,
    write_logits,
    write_result,
)
from salon.bench.suite import Suite
from salon.bench.suite_folder import open_suite, prompts_hash, read_json, save_suite
from salon.errors import BadFile, BadValue, UnknownReference
from salon.store import default_name, present_folder, wait_turn, whole_folder, write_json
from salon.study import Noun

__all__ = [
    "Board",
    "BoardCard",
    "check_new_name",
    "entry_folder",
    "is_board",
    "new_board",
    "open_board",
    "published_results",
    "read_answers",
    "read_checked_result",
    "read_entry",
    "read_logits",
    "read_published",
    "read_result",
    "restore",
    "retract",
    "write_answers",
    "write_entry",
    "write_logits",
    "write_result",
]  # fmt: skip

CARD, SUITE, ENTRIES = "board.json", "suite", "entries"
LONGEST = 120
"""Bytes of an entry's folder name; longer names are cut and told apart by a hash."""


class BoardCard(Noun):
    """What board.json holds."""

    format: Literal["salon.board/1"] = "salon.board/1"
    name: str = Field(min_length=1)
    suite: str
    """Hash of the suite all its entries are measured with."""


@dataclass(frozen=True)
class Board:
    """An opened board."""

    folder: Path
    card: BoardCard
    suite: Suite
    entries: tuple[Entry, ...]
    """In the order of their names, retracted ones too."""
    unfinished: tuple[str, ...] = ()
    """Folders below entries/ that have no entry.json yet."""

    @property
    def name(self) -> str:
        """How the board is called."""
        return self.card.name

    def entry(self, name: str) -> Entry:
        """One of its entries."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise UnknownReference(
            "an entry of the board is needed",
            found=repr(name),
            where=str(self.folder),
            remedy="one of " + (", ".join(entry.name for entry in self.entries) or "none: the board is empty"),
        )


# -- boards --------------------------------------------------------------------------------------------------------


def is_board(place: Path) -> bool:
    """Whether `place` is a folder with a board.json."""
    return (present_folder(place) / CARD).is_file()


def new_board(folder: Path, suite: Suite, *, name: str | None = None) -> Board:
    """An empty board of `suite`, whose copy on the board is frozen; texts of private prompts are not copied."""
    home = folder.resolve()
    with whole_folder(home) as new:
        if home.exists() and (not home.is_dir() or any(home.iterdir())):
            place = "a board" if is_board(home) else "a folder with other files" if home.is_dir() else "a file"
            raise BadFile("a new folder is needed for a board", found=place, where=str(folder))
        frozen_suite = save_suite(replace(suite, frozen=True), new / SUITE)
        card = BoardCard(name=name or default_name(home), suite=frozen_suite.hash)
        write_json(new / CARD, card, indent=1)
        (new / ENTRIES).mkdir()
    return open_board(home)


def open_board(folder: Path, *, private: Path | None = None) -> Board:
    """The board in `folder`; BadFile when its suite is not the one it was made with."""
    home = present_folder(Path(folder))
    if not (home / CARD).is_file():
        place = "a folder without a board.json" if home.is_dir() else "nothing there"
        raise BadFile("a board is needed", found=place, where=str(folder), remedy="salon bench run makes one")
    card = BoardCard.parse(read_json(home / CARD), where=str(home / CARD))
    suite = open_suite(home / SUITE, private=private)
    if suite.hash != card.suite:
        raise BadFile(
            f"the board's suite with the hash {card.suite[:16]} is needed", found=suite.hash[:16], where=str(home)
        )
    places = sorted(path for path in (home / ENTRIES).glob("[!.]*") if path.is_dir())
    finished = [path for path in places if (path / entry_names.CARD).is_file()]
    entries = tuple(sorted((_own_entry(path, suite) for path in finished), key=lambda entry: entry.name))
    return Board(home, card, suite, entries, tuple(path.name for path in places if path not in finished))


def _own_entry(folder: Path, suite: Suite) -> Entry:
    entry = read_entry(folder)
    if folder_name(entry.name) != folder.name:
        raise BadFile(
            f"the entry {entry.name!r} stands in {folder_name(entry.name)}/", found=f"{folder.name}/", where=str(folder)
        )
    if entry.suite != prompts_hash(suite):
        raise BadFile(
            f"an entry for the prompts {prompts_hash(suite)[:16]} is needed", found=entry.suite[:16], where=str(folder)
        )
    return entry


# -- entries -------------------------------------------------------------------------------------------------------


def entry_folder(board: Board, name: str) -> Path:
    """Where the entry of that name stands, or will stand."""
    return present_folder(board.folder / ENTRIES / folder_name(name))


def folder_name(name: str) -> str:
    """A name as a folder on any system; two names that become one folder are one name to a board."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    readable = re.sub(r"[^\w.+@=-]+", "-", plain).strip("-.")
    if not readable:
        raise BadValue("a name with a letter or a digit is needed", found=repr(name))
    if len(readable.encode()) <= LONGEST:
        return readable
    return f"{readable[: LONGEST // 5]}-{hashlib.sha256(readable.encode()).hexdigest()[:12]}"


def check_new_name(board: Board, name: str) -> None:
    """BadValue where the board has an entry of that name, however it is written."""
    entries_by_folder = {folder_name(entry.name): entry for entry in board.entries}
    existing = entries_by_folder.get(folder_name(name))
    if existing is not None:
        state = ", which was retracted" if existing.retracted else ""
        raise BadValue(
            "every entry of a board has a name of its own",
            found=f"{name!r}; the board has {existing.name!r}{state}",
            where=str(board.folder),
            remedy="choose another --name: what was published stays",
        )


def published_results(board: Board) -> list[EntryResult]:
    """Results of the entries that are complete and not retracted, in the order of their names."""
    current = [entry for entry in board.entries if entry.retracted is None]
    folders = [entry_folder(board, entry.name) for entry in current]
    results = [read_checked_result(folder) for folder in folders if read_published(folder) is not None]
    return [result for result in results if result is not None]


def retract(board: Board, name: str, reason: str, *, at: datetime | None = None) -> Entry:
    """Take an entry back: it stays listed with its reason, without a place on the board."""
    if not reason.strip():
        raise BadValue("a retraction needs its reason", found="none", where=name, remedy="--reason 'one sentence'")
    when = (at or datetime.now(UTC)).isoformat(timespec="seconds")
    with _card_in_turn(board, name) as entry:
        if entry.retracted is not None:
            raise BadValue("an entry is retracted once", found=f"retracted: {entry.retracted.reason}", where=name)
        retracted = entry.model_copy(update={"retracted": Retraction(reason=reason.strip(), at=when)})
        write_entry(entry_folder(board, name), retracted)
    return retracted


def restore(board: Board, name: str) -> Entry:
    """Undo a retraction: the entry has the place its published result gives it."""
    with _card_in_turn(board, name) as entry:
        if entry.retracted is None:
            raise BadValue("a retracted entry is needed", found="one that is not", where=name)
        back = entry.model_copy(update={"retracted": None})
        write_entry(entry_folder(board, name), back)
    return back


@contextmanager
def _card_in_turn(board: Board, name: str) -> Iterator[Entry]:
    """An entry's card as it stands now, perhaps newer than the board; locked while the block lasts."""
    folder = entry_folder(board, board.entry(name).name)
    with wait_turn(folder / entry_names.CARD):
        yield read_entry(folder)
