"""A journal: one JSON line for each thing that was decided, on the disk before the next is begun.

One process at a time holds it. A line binds: who goes on with a journal does not decide again what stands in it. A last
line that a killed process left torn is cut off, and what it was about is done again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Generic, TypeVar

from salon.errors import BadFile, BadValue
from salon.study import Noun

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows; two runs on one folder are then not told apart
    fcntl = None  # type: ignore[assignment]  # Windows has none

N = TypeVar("N", bound=Noun)


class Journal(Generic[N]):
    """An open journal: its lines so far, and a way to add to them."""

    def __init__(self, file: IO[bytes], path: Path, lines: list[N], *, torn: bool) -> None:
        self._file, self._path, self.lines, self.torn = file, path, lines, torn

    def add(self, line: N) -> None:
        """Write one line and wait until the disk has it."""
        self._follow()
        text = json.dumps(line.model_dump(mode="json"), ensure_ascii=False, allow_nan=False)
        self._file.write(text.encode("utf-8", "replace") + b"\n")
        self.lines.append(line)  # before the disk has it: Ctrl-C comes while one waits for that
        self._file.flush()
        os.fsync(self._file.fileno())

    def _follow(self) -> None:
        """Go on in the file that stands at the path now.

        Saving a study puts a new folder in the place of the old one. Where the system cannot link files the journal in
        it is a copy, and what is added to the old one would be gone with it.
        """
        if not os.path.samestat(os.fstat(self._file.fileno()), os.stat(self._path)):
            self.close()
            self._file = self._path.open("ab")
            _lock_journal(self._file, self._path.parent)

    def close(self) -> None:
        """Let another run at it."""
        self._file.close()


@contextmanager
def open_journal(path: Path, noun: type[N], *, what: str, remedy: str) -> Iterator[Journal[N]]:
    """The journal at `path`, held by this process. `what` one line is, and the `remedy` for a bad one, for errors."""
    with hold_journal(path) as file:
        whole, torn = _whole_lines(path.read_bytes())
        if torn:
            file.truncate(sum(map(len, whole)))
        with closing(Journal(file, path, _parse_lines(whole, path, noun, what, remedy), torn=bool(torn))) as journal:
            yield journal


@contextmanager
def hold_journal(path: Path) -> Iterator[IO[bytes]]:
    """The journal at `path`, open to add to and held by this process; BadFile when another one is at work there.

    The journal itself is what is locked: it stays the same file when the study around it is saved anew.
    """
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise BadFile("a file of JSON lines is needed", found="something that is no file", where=str(path))
    with path.open("ab") as file:
        _lock_journal(file, path.parent)
        yield file


def read_journal(path: Path, noun: type[N], *, what: str, remedy: str) -> tuple[list[N], bool]:
    """Its whole lines, for those who only look, and whether the last one is torn; none where there is no file."""
    whole, torn = _whole_lines(path.read_bytes()) if path.is_file() else ([], b"")
    return _parse_lines(whole, path, noun, what, remedy), bool(torn)


def _lock_journal(file: IO[bytes], folder: Path) -> None:
    if fcntl is None:  # pragma: no cover - see above
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BadFile(
            "one run at a time may be at work in a folder",
            found="another run that is at work there now",
            where=str(folder),
            remedy="wait until it is done, or stop it; or choose another -o",
        ) from None


def _whole_lines(data: bytes) -> tuple[list[bytes], bytes]:
    """The finished lines, and what a killed run left of one more."""
    lines = data.splitlines(keepends=True)
    torn = lines.pop() if lines and not (lines[-1].endswith(b"\n") and _is_json(lines[-1])) else b""
    return lines, torn


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return not line.strip()
    return True


def _parse_lines(lines: list[bytes], path: Path, noun: type[N], what: str, remedy: str) -> list[N]:
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            records.append(noun.parse(json.loads(line), where=where))
        except (ValueError, RecursionError, BadValue) as error:
            reason = f"{error.needed}: {error.found}" if isinstance(error, BadValue) else str(error)
            raise BadFile(f"{what} is needed", found=reason, where=where, remedy=remedy) from None
    return records
