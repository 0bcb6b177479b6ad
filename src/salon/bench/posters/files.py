"""The public JSON files of the benchmark, read and written without loss, and the cards of a run beside them.

A file is a JSON list of records. Unchanged text is never written anew: an edit replaces or adds the text of one field
of one record, in the file's own style (indentation, separators, line ends, escapes). So a file that is read and written
back has the same bytes, whoever wrote it.

The released runners merge all tasks in one list (`MODEL_bench.json`, `MODEL_score.json`, `merge.json`). Such a list is
read as one file for each task; `write_back` puts additions into the list that the records came from.

OUT/run.json says whose answers a folder holds, OUT/judges.json who judged them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import Field

from salon.bench.posters.item import PosterItem, read_item
from salon.bench.posters.settings import Convention
from salon.bench.posters.tasks import FOLDERS, TASKS, PosterTask, task_of
from salon.errors import BadFile
from salon.store import read_json, whole_file, write_json
from salon.study import Noun

Record = dict[str, Any]
_DECODER = json.JSONDecoder()
_GAP = re.compile(r"[ \t\r\n]*")
CARD = "run.json"
"""What a run writes beside its files: who answered."""
JUDGES = "judges.json"
"""What judges write beside the files: who gave how many verdicts."""
_QUESTION = ("task", "name", "path", "prompt")
_ANSWERED = {"response", "judge"}
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
    task: PosterTask
    records: tuple[Record, ...]
    text: str
    spans: tuple[tuple[int, int], ...]
    """Where each record stands in the text."""
    merged_at: tuple[int, ...] = ()
    """Places of its records in the merged list at `path`; empty where the file holds this task alone."""

    @cached_property
    def items(self) -> tuple[PosterItem, ...]:
        """The records as items of their task; BadValue names a record that is none."""
        places = self.merged_at or range(len(self.records))
        return tuple(
            read_item(self.task, record, number, where=f"{self.path}, record {place + 1}")
            for number, (record, place) in enumerate(zip(self.records, places, strict=True))
        )

    def edited(self, changes: Mapping[int, Mapping[str, Any]]) -> PosterFile:
        """The file with fields of some records (by number) set; None takes a field away."""
        return replace(parse_file(_edit_text(self.text, self.spans, changes), self.path), merged_at=self.merged_at)

    def write(self, path: Path) -> None:
        """Write the text, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(self.text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class _FileStyle:
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
        text = json.dumps(value, ensure_ascii=self.ascii or not _plain(value), indent=indent, separators=separators)
        return text.replace("\n", ("\r\n" if "\r\n" in self.between else "\n") + pad) if newline else text


def open_file(path: Path) -> PosterFile:
    """The file at `path`; BadFile or BadValue if it is not one, or of another version."""
    return parse_file(_read(path), path)


def open_files(path: Path) -> list[PosterFile]:
    """The file at `path`, or the files that a runner merged there, one for each task."""
    text = _read(path)
    spans, records, tasks = _parse(text, path)
    if len(set(tasks)) == 1:
        return [PosterFile(path, tasks[0], records, text, spans)]
    opening, comma, closing = text[: spans[0][0]], text[spans[0][1] : spans[1][0]], text[spans[-1][1] :]
    files = []
    for task in dict.fromkeys(tasks):
        places = tuple(place for place, task_here in enumerate(tasks) if task_here == task)
        own = opening + comma.join(text[slice(*spans[place])] for place in places) + closing
        files.append(replace(parse_file(own, path), merged_at=places))
    return files


def parse_file(text: str, path: Path) -> PosterFile:
    """The file of one task from its text."""
    spans, records, tasks = _parse(text, path)
    names = list(dict.fromkeys(task.name for task in tasks))
    if len(names) > 1:
        raise BadFile("a file holds the records of one task", found=" and ".join(names), where=str(path))
    return PosterFile(path, tasks[0], records, text, spans)


def write_back(file: PosterFile, changes: Mapping[int, Mapping[str, Any]]) -> None:
    """Set fields of some records (by number) where they were read: in a merged list all other records stay."""
    if not file.merged_at:
        file.edited(changes).write(file.path)
        return
    text = _read(file.path)
    edited = _edit_text(
        text, tuple(_spans(text)), {file.merged_at[number]: fields for number, fields in changes.items()}
    )
    with whole_file(file.path) as out:
        out.write(edited.encode("utf-8", "surrogatepass"))


def new_file(task: PosterTask, records: Sequence[Record]) -> PosterFile:
    """A file made here, in the style of the public files; BadValue where a record would not be read."""
    text = json.dumps(list(records), ensure_ascii=False, indent=4, allow_nan=False)
    file = parse_file(text, Path(task.place))
    file.items  # noqa: B018 - reads every record
    return file


def open_run_file(file: PosterFile, place: Path, *, added: Sequence[str], same: Sequence[str]) -> PosterFile:
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
    by_task: dict[str, list[PosterFile]] = {}
    for place in places:
        for path in _files(place):
            for file in open_files(path):
                by_task.setdefault(file.task.name, []).append(file)
    again = [name for name, files in by_task.items() if len(files) > 1 and _fullest(files) is None]
    if again:
        paths = sorted({file.path.name for name in again for file in by_task[name]})
        raise BadFile(
            "one file for each task is needed", found=f"several of {', '.join(again)} ({', '.join(paths)})",
            where=str(places[0]), remedy="name the files of one contestant",
        )  # fmt: skip
    fullest = (_fullest(by_task.get(task.name, [])) for task in TASKS)
    return [file for file in fullest if file is not None]


def _fullest(files: Sequence[PosterFile]) -> PosterFile | None:
    """The file to take where a merged list repeats others: the one with answers. None where they contradict."""
    if len(files) < 2:
        return files[0] if files else None
    questions = [sorted(str([record.get(key) for key in _QUESTION]) for record in file.records) for file in files]
    full = [file for file in files if any(record.keys() & _ANSWERED for record in file.records)]
    alone = [file for file in files if not file.merged_at]
    if any(question_list != questions[0] for question_list in questions) or len(full) > 1 or len(alone) > 1:
        return None
    return (full or alone or files)[0]


def picture_root(place: Path) -> Path:
    """The folder that paths in a file's records start from: that of the tree the file stands in."""
    if place.is_dir():
        return place
    return place.parent.parent if place.parent.name in FOLDERS.values() else place.parent


def contestant_name(place: Path) -> str:
    """Whose answers a place holds, by its name: the released runners call their outputs after the model."""
    if place.is_dir():
        return place.resolve().name
    model = re.fullmatch(r"(.+)_(?:bench|score)", place.stem)
    return model[1] if model else picture_root(place).resolve().name


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
    paths = [path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.json"))]
    lists = [path for path in paths if path.name not in (CARD, JUDGES) and not _is_object(path)]
    if not lists:
        raise BadFile("a folder with the public JSON files is needed", found="none", where=str(place))
    return lists


def _is_object(path: Path) -> bool:
    """Whether a file begins like a JSON object: settings or results that stand beside the lists of records."""
    with path.open("rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a readable JSON file in UTF-8 is needed", found=str(error), where=str(path)) from None


def _parse(text: str, path: Path) -> tuple[tuple[tuple[int, int], ...], tuple[Record, ...], list[PosterTask]]:
    """Where the records stand, the records, and the task of each."""
    try:
        spans = tuple(_spans(text))
        records = tuple(_DECODER.raw_decode(text, start)[0] for start, _ in spans)
    except (ValueError, RecursionError) as error:
        raise BadFile(_LAYOUT, found=str(error), where=str(path)) from None
    if not records:
        raise BadFile(_LAYOUT, found="an empty list", where=str(path))
    tasks = []
    for number, record in enumerate(records, 1):
        where = f"{path}, record {number}"
        if not isinstance(record, dict):
            raise BadFile(_LAYOUT, found=type(record).__name__, where=where)
        tasks.append(task_of(record.get("task"), where=where))
    return spans, records, tasks


def _edit_text(text: str, spans: Sequence[tuple[int, int]], changes: Mapping[int, Mapping[str, Any]]) -> str:
    """The text with fields of some of its records set, in the style of the file."""
    members = list(_members(text, spans[0][0]))
    first, second = members[0], members[1]  # a record has several fields: it was read
    style = _FileStyle(
        text[first.end : second.key_start], text[first.key_end : first.start], text.isascii() and "\\u" in text
    )
    edits = [edit for number, fields in changes.items() for edit in _edits(text, spans[number][0], fields, style)]
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _edits(text: str, start: int, fields: Mapping[str, Any], style: _FileStyle) -> Iterator[tuple[int, int, str]]:
    members = list(_members(text, start))
    added = ""
    for key, value in fields.items():
        existing = next((member for member in reversed(members) if member.key == key), None)
        if existing is not None and value is None:
            yield _cut(members, existing)
        elif existing is not None:
            yield existing.start, existing.end, style.value(value)
        elif value is not None:
            added += style.member(key, value)
    if added:
        yield members[-1].end, members[-1].end, added


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each element of the list stands; ValueError where the text is no list."""
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
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


def _cut(members: Sequence[_Member], member: _Member) -> tuple[int, int, str]:
    """The edit that takes a field away together with one of the commas beside it."""
    at = members.index(member)
    if at > 0:
        return members[at - 1].end, member.end, ""
    return member.key_start, members[1].key_start if len(members) > 1 else member.end, ""


def _plain(value: Any) -> bool:
    """Whether the value can stand in a UTF-8 file as it is: half a surrogate pair cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _skip(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    assert gap is not None  # it matches nothing too
    return gap.end()


# -- cards of runs and judges ------------------------------------------------------------------------------------------

POSTERS = "posters"
"""The study with a generator's pictures, inside its folder."""


class RunCard(Noun):
    """Who answered, and how it writes boxes."""

    format: Literal["salon.posters-run/1"] = "salon.posters-run/1"
    contestant: str
    signature: str
    boxes: Convention = "share"
    shown_pixels: int | None = None
    """Most pixels of the pictures it was shown; None where they were shown as they are."""
    picture_first: bool = True
    """Whether the picture stood before the question; the released runner puts it behind."""

    def __str__(self) -> str:
        size = "" if self.shown_pixels is None else f", pictures of at most {self.shown_pixels:,} pixels"
        order = "picture first" if self.picture_first else "text first"
        return f"{self.contestant} ({self.signature}, boxes {self.boxes}{size}, {order})"


def claim_folder(out: Path, card: RunCard) -> None:
    """Write down who answers in `out`; BadFile where somebody else does."""
    there = read_card(out)
    if there is not None and there.shown_pixels is None:  # a card from before pictures were on it
        there = there.model_copy(update={"shown_pixels": card.shown_pixels})
    if there not in (None, card):
        raise BadFile(
            f"a folder for the answers of {card} is needed", found=f"those of {there}", where=str(out / CARD),
            remedy="choose another folder with -o",
        )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / CARD, card.record())


def read_card(out: Path) -> RunCard | None:
    """Who answered in a folder; None where it does not say."""
    if not (out / CARD).is_file():
        return None
    return RunCard.parse(read_json(out / CARD, "the card of a run is needed"), where=str(out / CARD))


class JudgeCard(Noun):
    """Who gave verdicts on what a folder holds."""

    judge: str = Field(description="Name of the judge.")
    signature: str = Field(description="What gave its verdicts, with settings and version.")
    verdicts: int = Field(ge=0, description="Verdicts given, over all runs.")
    protocol: str = Field("salon", description="Whose words it was asked in: Salon's, or the released code's.")


def read_judges(out: Path) -> tuple[JudgeCard, ...]:
    """Who judged in a folder; empty if it does not say."""
    place = out / JUDGES
    if not place.is_file():
        return ()
    record = read_json(place, "the list of a folder's judges is needed")
    rows = record if isinstance(record, list) else [record]
    return tuple(JudgeCard.parse(row, where=str(place)) for row in rows)


def record_judge(out: Path, judge: str, signature: str, verdicts: int, protocol: str = "salon") -> None:
    """Add the verdicts that a judge gave in `out` under a protocol."""
    if not verdicts:
        return
    verdicts_by_judge = {(card.judge, card.signature, card.protocol): card.verdicts for card in read_judges(out)}
    key = (judge, signature, protocol)
    verdicts_by_judge[key] = verdicts_by_judge.get(key, 0) + verdicts
    cards = [
        JudgeCard(judge=name, signature=method, verdicts=n, protocol=words).record()
        for (name, method, words), n in verdicts_by_judge.items()
    ]
    write_json(out / JUDGES, cards)
