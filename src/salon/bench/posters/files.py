"""The public JSON files of the benchmark, read and written without loss.

A file is a JSON list of records. What is not changed is never written anew: an edit replaces or adds the text of one
field of one record, in the file's own hand (indentation, separators, line ends, escapes). So a file that is read and
written back is the same bytes, whoever made it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from salon.bench.posters.item import PosterItem, read_item
from salon.bench.posters.task import FOLDERS, TASKS, Task, task_of
from salon.errors import BadFile
from salon.store.atomic import whole_file

Record = dict[str, Any]
_DECODER = json.JSONDecoder()
_GAP = re.compile(r"[ \t\r\n]*")
CARD = "run.json"
"""What a run writes beside its files: who answered."""
JUDGES = "judges.json"
"""What judges write beside the files: who gave how many verdicts."""
_LAYOUT = "a file of the public layout is a JSON list of records, each with task, name, path and prompt"


@dataclass(frozen=True)
class _Member:
    """One field of a record: where it stands in the text."""

    key: str
    key_start: int
    key_end: int
    start: int
    end: int


@dataclass(frozen=True)
class PosterFile:
    """One public file: its task, its records, and its text."""

    path: Path
    task: Task
    records: tuple[Record, ...]
    text: str
    spans: tuple[tuple[int, int], ...]
    """Where each record stands in the text."""

    @cached_property
    def items(self) -> tuple[PosterItem, ...]:
        """The records as items of their task; BadValue names a record that is none."""
        return tuple(
            read_item(self.task, record, number, where=f"{self.path}, record {number + 1}")
            for number, record in enumerate(self.records)
        )

    def edited(self, changes: Mapping[int, Mapping[str, Any]]) -> PosterFile:
        """The file with fields of some records (by number) set; None takes a field away."""
        edits = [edit for number, fields in changes.items() for edit in self._edits(number, fields)]
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return parse_file(text, self.path)

    def write(self, path: Path) -> None:
        """Write the text, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(self.text.encode("utf-8", "surrogatepass"))

    def _edits(self, number: int, fields: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
        members = list(_members(self.text, self.spans[number][0]))
        added = ""
        for key, value in fields.items():
            found = next((one for one in reversed(members) if one.key == key), None)
            if found is not None and value is None:
                yield _cut(members, found)
            elif found is not None:
                yield found.start, found.end, self._hand.value(value)
            elif value is not None:
                added += self._hand.member(key, value)
        if added:
            yield members[-1].end, members[-1].end, added

    @cached_property
    def _hand(self) -> _Hand:
        return _hand(self.text, self.spans)


@dataclass(frozen=True)
class _Hand:
    """How a file writes: what stands between two fields, and between a name and its value."""

    between: str
    colon: str
    ascii: bool

    def member(self, key: str, value: Any) -> str:
        return f"{self.between}{json.dumps(key, ensure_ascii=self.ascii)}{self.colon}{self.value(value)}"

    def value(self, value: Any) -> str:
        _, newline, pad = self.between.rpartition("\n")
        separators = (self.between.strip("\r\n") if not newline else ",", self.colon)
        indent = max(1, len(pad) // 2) if newline else None
        written = json.dumps(value, ensure_ascii=self.ascii or not _plain(value), indent=indent, separators=separators)
        return written.replace("\n", ("\r\n" if "\r\n" in self.between else "\n") + pad) if newline else written


def open_file(path: Path) -> PosterFile:
    """The file at `path`; BadFile or BadValue where it is none, or one of another version."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a readable JSON file in UTF-8 is needed", found=str(error), where=str(path)) from None
    return parse_file(text, path)


def parse_file(text: str, path: Path) -> PosterFile:
    """The same from its text."""
    try:
        spans = tuple(_spans(text))
        records = tuple(_DECODER.raw_decode(text, start)[0] for start, _ in spans)
    except (ValueError, RecursionError) as error:
        raise BadFile(_LAYOUT, found=str(error), where=str(path)) from None
    if not records:
        raise BadFile(_LAYOUT, found="an empty list", where=str(path))
    return PosterFile(path, _task(records, path), records, text, spans)


def new_file(task: Task, records: Sequence[Record]) -> PosterFile:
    """A file made here, in the hand of the public ones; BadValue where a record would not be read."""
    text = json.dumps(list(records), ensure_ascii=False, indent=4, allow_nan=False)
    made = parse_file(text, Path(task.place))
    made.items  # noqa: B018 - reads every record
    return made


def started_at(file: PosterFile, place: Path, *, added: Sequence[str], same: Sequence[str]) -> PosterFile:
    """What an earlier run left at `place`, if its records are the `same`; else the file without what a run adds.

    BadFile where other records stand there, or where `place` is the file itself: questions are never written over.
    """
    if file.path.resolve() == place.resolve():
        raise BadFile("another folder than that of the questions is needed", found="the same", where=str(place),
                      remedy="choose another folder with -o")  # fmt: skip
    if not place.is_file():
        return file.edited({item.number: dict.fromkeys(added) for item in file.items})
    there = open_file(place)
    if [[r.get(name) for name in same] for r in there.records] != [
        [r.get(name) for name in same] for r in file.records
    ]:
        raise BadFile("a run about the same items is needed to go on", found="other items", where=str(place),
                      remedy="choose another folder with -o")  # fmt: skip
    return there


def find_files(places: Sequence[Path]) -> list[PosterFile]:
    """The public files named or held by these places: files, or folders with und_task, gen_task or *.json in them."""
    found = [open_file(path) for place in places for path in _files(place)]
    tasks = [one.task.name for one in found]
    again = {one.task.name: one.path for one in found if tasks.count(one.task.name) > 1}
    if again:
        raise BadFile("one file for each task is needed", found="several of " + ", ".join(again), where=str(places[0]))
    order = [task.name for task in TASKS]
    return sorted(found, key=lambda one: order.index(one.task.name))


def home_of(place: Path) -> Path:
    """The folder that paths in a file's records start from: that of the tree the file stands in."""
    if place.is_dir():
        return place
    return place.parent.parent if place.parent.name in FOLDERS.values() else place.parent


def find_picture(folder: Path, path: str) -> Path | None:
    """The picture of a record below `folder`: at its path, or else under its bare name. None where there is none."""
    parts = [part for part in PurePosixPath(path.replace("\\", "/")).parts if part not in ("/", "..", ".")]
    for tail in (parts, parts[1:], parts[-1:]):  # files often stand below another first folder than the list says
        place = folder.joinpath(*tail)
        if tail and place.is_file():
            return place
    return None


# -- where things stand ------------------------------------------------------------------------------------------------


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place]
    folders = [place, *(place / name for name in FOLDERS.values())]
    held = [path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.json"))]
    found = [path for path in held if path.name not in (CARD, JUDGES)]
    if not found:
        raise BadFile("a folder with the public JSON files is needed", found="none", where=str(place))
    return found


def _task(records: Sequence[Record], path: Path) -> Task:
    tasks = []
    for number, record in enumerate(records, 1):
        where = f"{path}, record {number}"
        if not isinstance(record, dict):
            raise BadFile(_LAYOUT, found=type(record).__name__, where=where)
        tasks.append(task_of(record.get("task"), where=where))
    names = list(dict.fromkeys(task.name for task in tasks))
    if len(names) > 1:
        raise BadFile("a file holds the records of one task", found=" and ".join(names), where=str(path))
    return tasks[0]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each element of the list stands; ValueError where the text is no list."""
    at = _GAP.match(text, 1 if text.startswith("\ufeff") else 0).end()  # type: ignore[union-attr]
    if text[at : at + 1] != "[":
        raise ValueError("no list")
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "]":
            raise ValueError(f"a comma or the end of the list is missing at character {at}")
    if _skip(text, at + 1) != len(text):
        raise ValueError("text after the end of the list")


def _members(text: str, start: int) -> Iterator[_Member]:
    """The fields of the record that begins at `start`."""
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, key_end = _DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, key_end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        yield _Member(key, at, key_end, value, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _cut(members: Sequence[_Member], found: _Member) -> tuple[int, int, str]:
    """The edit that takes a field away together with one of the commas beside it."""
    at = members.index(found)
    if at > 0:
        return members[at - 1].end, found.end, ""
    return found.key_start, members[1].key_start if len(members) > 1 else found.end, ""


def _hand(text: str, spans: Sequence[tuple[int, int]]) -> _Hand:
    members = list(_members(text, spans[0][0]))
    first, second = members[0], members[1]  # a record has several fields: it was read
    return _Hand(
        text[first.end : second.key_start], text[first.key_end : first.start], text.isascii() and "\\u" in text
    )


def _plain(value: Any) -> bool:
    """Whether the value can stand in a UTF-8 file as it is: half a surrogate pair cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _skip(text: str, at: int) -> int:
    return _GAP.match(text, at).end()  # type: ignore[union-attr]
