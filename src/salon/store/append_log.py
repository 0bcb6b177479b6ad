"""A log of JSON lines that only grows: on the disk before the caller goes on, and whole after a kill.

    FOLDER/NAME-000001.jsonl      one object a line; a new file when the last one has grown to its limit
    FOLDER/NAME.lock              held by the one process that writes

Lines that many threads bring at once are written and flushed together: the first one writes for all that wait, so one
flush of the disk serves many. `append` comes back when the line is on the disk.

A process killed while it writes leaves a torn last line. Opening cuts it off: it was never acknowledged. Each line has
an `id` that says where it stands (file, place) and holds six random bytes, so finding a line is one read, and an id
cannot be guessed or made up.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import threading
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from salon.errors import BadFile
from salon.store.atomic_files import sync_folder

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows; two writers on one folder are then not told apart
    fcntl = None  # type: ignore[assignment]  # Windows has none

Line = dict[str, Any]
_ID = re.compile(r"([0-9a-f]{6})-([0-9a-f]{10})-([0-9a-f]{12})")
_LONGEST = 4 << 20
"""Bytes of one line that are read; no line of ours is near it."""


class AppendLog:
    """The one writer of a log; `lines` and `find` may be used by anybody while it writes."""

    def __init__(self, folder: Path, name: str, *, rotate_bytes: int = 64 << 20, sync: bool = True) -> None:
        self.folder, self.name, self.rotate_bytes, self.sync = Path(folder), name, rotate_bytes, sync
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock_log(self.folder / f"{name}.lock")
        self.mended = _cut_torn_line(self.folder, name)
        """Bytes of a torn last line that were cut off on opening."""
        self._number = max((number for number, _ in log_files(self.folder, name)), default=1)
        self._file = self._opened()
        self._end = self._file.tell()
        self._turn = threading.Condition()
        self._waiting: list[_PendingLine] = []
        self._writing = False
        self.flushes = 0
        """How often the disk was flushed; with many writers far less than lines."""

    def append(self, line: Line) -> str:
        """Write one line and come back with its id when it is on the disk; BadFile when the disk does not take it."""
        mine = _PendingLine(line)
        with self._turn:
            self._waiting.append(mine)
            while mine.id is None and mine.error is None:
                if self._writing:
                    self._turn.wait()
                else:
                    self._write_for_all()
        if mine.error is not None:
            raise BadFile(
                "a disk that takes the log is needed", found=mine.error, where=self.name,
                remedy="make room on the disk of the log; nothing was acknowledged",
            )  # fmt: skip
        assert mine.id is not None
        return mine.id

    def find(self, id: str) -> Line | None:
        """The line of this id; None where there is none."""
        return find_line(self.folder, self.name, id)

    def close(self) -> None:
        """Let another process write."""
        with self._turn:
            while self._writing:
                self._turn.wait()
            self._file.close()
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def _write_for_all(self) -> None:
        """Called with the turn: write what waits, with the turn given back while the disk works."""
        batch, self._waiting, self._writing = self._waiting, [], True
        self._turn.release()
        error: str | None = None
        ids: list[str] = []
        try:
            ids = self._write([pending.line for pending in batch])
        except (OSError, ValueError) as failed:  # ValueError: the log was closed
            error = getattr(failed, "strerror", None) or str(failed)
        finally:
            self._turn.acquire()
            self._writing = False
            for place, pending in enumerate(batch):
                pending.id, pending.error = (None, error or "interrupted") if error or not ids else (ids[place], None)
            self._turn.notify_all()

    def _write(self, lines: list[Line]) -> list[str]:
        if self._end >= self.rotate_bytes:
            self._rotate()
        data, ids = bytearray(), []
        for line in lines:
            id = f"{self._number:06x}-{self._end + len(data):010x}-{secrets.token_hex(6)}"
            data += json.dumps({"id": id, **line}, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
            data += b"\n"
            ids.append(id)
        try:
            left = memoryview(bytes(data))
            while left:  # a disk that is nearly full takes a part
                left = left[self._file.write(left) :]
            if self.sync:
                os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(self._end)  # so that the next line begins on a line of its own
            raise
        self.flushes += 1
        self._end += len(data)
        return ids

    def _rotate(self) -> None:
        self._number += 1
        try:
            following = self._opened()
        except OSError:  # no room for another file: this one stays open, and the next line tries again
            self._number -= 1
            raise
        self._file.close()
        self._file, self._end = following, 0

    def _path(self) -> Path:
        return self.folder / f"{self.name}-{self._number:06d}.jsonl"

    def _opened(self) -> FileIO:
        """Without a buffer: what a full disk did not take must not come back with the next line."""
        new = not self._path().exists()
        file = open(self._path(), "ab", buffering=0)  # noqa: SIM115 - open for as long as the log is
        file.seek(0, os.SEEK_END)
        if new:
            sync_folder(self.folder)
        return file


class _PendingLine:
    """A line that somebody waits for."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.id: str | None = None
        self.error: str | None = None


# -- reading -----------------------------------------------------------------------------------------------------------


def log_files(folder: Path, name: str) -> list[tuple[int, Path]]:
    """The files of a log with their numbers, oldest first."""
    pattern = re.compile(re.escape(name) + r"-(\d{6})\.jsonl")
    numbered = ((pattern.fullmatch(path.name), path) for path in Path(folder).iterdir())
    return sorted((int(match[1]), path) for match, path in numbered if match)


def log_lines(folder: Path, name: str, *, holding: bytes = b"") -> Iterator[Line]:
    """All lines, oldest first; a torn last line is left out, any other line that is no object is BadFile.

    Lines without the bytes `holding` are passed over unread: of a long log a few are found quickly.
    """
    for _, path in log_files(folder, name):
        with open(path, "rb") as file:
            for number, data in enumerate(file, 1):
                if data.endswith(b"\n") and holding in data:
                    yield _parse_line(data, f"{path}:{number}")


def find_line(folder: Path, name: str, id: str) -> Line | None:
    """The line of this id by one read; None for an id that no line has, or that was made up."""
    match = _ID.fullmatch(id)
    if match is None:
        return None
    path, place = Path(folder) / f"{name}-{int(match[1], 16):06d}.jsonl", int(match[2], 16)
    try:
        with open(path, "rb") as file:
            file.seek(max(0, place - 1))
            if place and file.read(1) != b"\n":
                return None
            data = file.readline(_LONGEST)
    except OSError:
        return None
    try:
        line = _parse_line(data, str(path))
    except BadFile:
        return None
    return line if data.endswith(b"\n") and line.get("id") == id else None


def _parse_line(data: bytes, where: str) -> Line:
    try:
        line = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadFile("a log holds one JSON object a line", found=str(error), where=where) from None
    if not isinstance(line, dict):
        raise BadFile("a log holds one JSON object a line", found=type(line).__name__, where=where)
    return line


def _cut_torn_line(folder: Path, name: str) -> int:
    """Cut off what stands after the last line break of the last file."""
    files = log_files(folder, name)
    if not files:
        return 0
    path = files[-1][1]
    with open(path, "r+b") as file:
        size = whole = file.seek(0, os.SEEK_END)
        while whole:
            start = max(0, whole - 65536)
            file.seek(start)
            end = file.read(whole - start).rfind(b"\n")
            whole = start + end + 1
            if end >= 0:
                break
        if whole < size:
            file.truncate(whole)
            file.flush()
            os.fsync(file.fileno())
    return size - whole


def _lock_log(path: Path) -> int | None:
    """Hold the log for as long as this process lives; BadFile when another one does."""
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    if fcntl is None:  # pragma: no cover
        return number
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        raise BadFile(
            "a log that no other process writes is needed", found="one that is being written", where=str(path.parent),
            remedy="give each service a log folder of its own, or stop the other one",
        ) from None  # fmt: skip
    return number
