"""generations.jsonl: what became of every ask, one line each, appended and flushed as soon as it is known.

A picture is on the disk, whole, before its line is. A process killed between the two leaves a picture without a line,
which is made again; one killed while writing the line leaves a torn last line, which is cut off and said. Later lines
of the same item replace earlier ones.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import Field

from salon.errors import BadFile, BadValue
from salon.store.atomic import present
from salon.study.item import Source
from salon.study.noun import Noun

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows; two runs on one folder are then not told apart
    fcntl = None  # type: ignore[assignment]

FILE = "generations.jsonl"


class Generation(Noun):
    """What became of one ask."""

    item: str
    prompt: str
    generator: str
    seed: int
    ask: str
    """Twelve hex digits of what was asked: prompt, seed, size, and the picture to start from."""
    signature: str
    """The generator's signature when it was asked."""
    ok: bool
    image: str | None = None
    """Path inside the study folder; so are layout and svg."""
    layout: str | None = None
    svg: str | None = None
    width: int | None = None
    height: int | None = None
    bytes: int | None = None
    sha256: str | None = None
    source: Source = "generated"
    kind: str | None = None
    """Of a failure: the word to count by."""
    reason: str | None = None
    seconds: float | None = None
    facts: dict[str, str | int | float | bool | None] = Field(default_factory=dict)

    def is_stored(self, folder: Path) -> bool:
        """Is the picture there with the size and the hash it had when it was written, and what goes with it too?"""
        if not self.ok or self.image is None:
            return False
        beside = [folder / name for name in (self.layout, self.svg) if name is not None]
        if not all(path.is_file() and path.stat().st_size for path in beside):
            return False
        path = folder / self.image
        if not path.is_file() or path.stat().st_size != self.bytes:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256


def read_generations(folder: Path) -> tuple[dict[str, Generation], str | None]:
    """The last line of every item, and a sentence about a torn last line where there is one."""
    path = present(folder) / FILE
    if not path.is_file():
        return {}, None
    data = path.read_bytes()
    whole, torn = _whole(data)
    found = {one.item: one for one in _parsed(whole, path)}
    note = f"the last line of {FILE} was torn by an interrupted run; its picture is made again" if torn else None
    return found, note


def _whole(data: bytes) -> tuple[bytes, bytes]:
    """The lines that were finished, and what is left after them; a last line that is no JSON is torn too."""
    end = data.rfind(b"\n") + 1
    whole, torn = data[:end], data[end:]
    before = whole[:-1].rfind(b"\n") + 1
    last = whole[before:]
    if last.strip() and not _is_json(last):
        return whole[:before], last + torn
    return whole, torn


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(data: bytes, path: Path) -> Iterator[Generation]:
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _bad_line(str(error), where) from None
        if not isinstance(record, dict):
            raise _bad_line("JSON that is no object", where)
        try:
            yield Generation.parse(record, where=where)
        except BadValue as error:
            raise _bad_line(f"{error.needed}: {error.found}", where) from None


def _bad_line(found: str, where: str) -> BadFile:
    remedy = "remove the line: its picture is then made again"
    return BadFile("a record of a generated picture is needed", found=found, where=where, remedy=remedy)


class Record:
    """The open record of a study folder: what is known, and a way to add to it. One process at a time holds it."""

    def __init__(self, file: IO[bytes], known: dict[str, Generation], note: str | None) -> None:
        self._file = file
        self.known = known
        self.note = note

    def add(self, generation: Generation) -> None:
        """Write one line and wait until the disk has it."""
        line = json.dumps(generation.record(), ensure_ascii=False, allow_nan=False)
        self._file.write(line.encode() + b"\n")
        self.known[generation.item] = generation  # before the disk has it: Ctrl-C comes while one waits for that
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def locked(folder: Path) -> Iterator[IO[bytes]]:
    """The record of `folder`, open to add to and held by this process; BadFile when another one is at work there.

    The record itself is what is locked: it stays the same file when the study around it is saved anew.
    """
    path = folder / FILE
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise BadFile("a record of generated pictures is needed", found="something that is no file", where=str(path))
    with path.open("ab") as file:
        if fcntl is not None:  # pragma: no branch
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BadFile(
                    "one run at a time may generate into a study",
                    found="another run that is at work there now",
                    where=str(folder),
                    remedy="wait until it is done, or stop it; or choose another -o",
                ) from None
        yield file


@contextmanager
def open_record(folder: Path) -> Iterator[Record]:
    """The record of `folder`, locked and read; a torn last line is cut off."""
    with locked(folder) as file:
        known, note = read_generations(folder)
        if note:
            file.truncate(len(_whole((folder / FILE).read_bytes())[0]))
        yield Record(file, known, note)
