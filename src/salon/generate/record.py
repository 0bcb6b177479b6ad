"""generations.jsonl: what became of every ask, one line each, appended and flushed as soon as it is known.

A picture is on the disk, whole, before its line is. A process killed between the two leaves a picture without a line,
which is made again; one killed while writing the line leaves a torn last line, which is cut off and said. Later lines
of the same item replace earlier ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

from pydantic import Field

from salon.store.atomic import present
from salon.store.journal import Journal, held, open_journal, read_journal
from salon.study.item import Source
from salon.study.noun import Noun

FILE = "generations.jsonl"
_TOLD = {"what": "a record of a generated picture", "remedy": "remove the line: its picture is then made again"}
_TORN = f"the last line of {FILE} was torn by an interrupted run; its picture is made again"


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
    lines, torn = read_journal(present(folder) / FILE, Generation, **_TOLD)
    return {one.item: one for one in lines}, _TORN if torn else None


class Record:
    """The open record of a study folder: what is known, and a way to add to it. One process at a time holds it."""

    def __init__(self, journal: Journal[Generation]) -> None:
        self._journal = journal
        self.known = {one.item: one for one in journal.lines}
        self.note = _TORN if journal.torn else None

    def add(self, generation: Generation) -> None:
        """Write one line and wait until the disk has it."""
        try:
            self._journal.add(generation)
        finally:  # a line that was written is known, also when Ctrl-C comes while one waits for the disk
            if self._journal.lines[-1:] == [generation]:
                self.known[generation.item] = generation


def locked(folder: Path) -> AbstractContextManager[IO[bytes]]:
    """Holds the record of `folder`; BadFile when another run is at work there."""
    return held(folder / FILE)


@contextmanager
def open_record(folder: Path) -> Iterator[Record]:
    """The record of `folder`, locked and read; a torn last line is cut off."""
    with open_journal(folder / FILE, Generation, **_TOLD) as journal:
        yield Record(journal)
