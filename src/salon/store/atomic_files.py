"""Files and folders that appear whole or not at all, whenever the process dies.

Everything is written beside its final place under a dotted name, flushed to the disk, and then renamed. A folder
that exists already is exchanged with the new one in a single system call where the system has one (Linux, on any
common file system). Elsewhere the old folder is first moved aside as `.<name>.replaced`; a reader that finds only that
one reads it, and the next writer puts it back.

One writer at a time: of two at the same folder the second is refused. So is one that finds a folder where there was
none when it began. Nothing that another process wrote is replaced unseen.
"""

from __future__ import annotations

import ctypes
import glob
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import BaseModel

from salon.errors import BadFile

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows; leftovers of a killed writer then stay until removed by hand
    fcntl = None  # type: ignore[assignment]  # Windows has none

PART = ".part"
"""Ending of a file that is still being written."""
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_MOST_WAIT_S = 600
"""Seconds that a writer waits for another; a study with many pictures takes long to save."""
_POLL_S = 0.02


@contextmanager
def whole_file(path: Path, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """A file to write that replaces `path` when the block ends well, and vanishes when it does not.

    Without `overwrite` a file that another process has put there meanwhile stays, and BadFile is raised.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    lock = None
    try:
        with open(part, "xb") as file:
            lock = _lock(part)
            yield file
            file.flush()
            os.fsync(file.fileno())
        (os.replace if overwrite else _put_file)(part, path)
        sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _put_file(part: Path, path: Path) -> None:
    """Give the file its name, unless there is one of that name."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise BadFile(
            "a file is only replaced when asked to",
            found="one that another process put there meanwhile",
            where=str(path),
            remedy="look at it, then choose another place, or add --overwrite",
        ) from None
    except OSError:  # a file system without hard links
        os.replace(part, path)


def sweep_parts(path: Path) -> None:
    """Remove the parts that killed writers of the file `path` left beside it: those that no process locks any more.

    For large files, such as a backup: for many small ones, listing their folder each time would cost too much.
    """
    for part in path.parent.glob(f".{glob.escape(path.name)}.{'?' * 8}{PART}"):
        with suppress(FileNotFoundError):  # its writer was faster
            lock = _lock(part)
            if lock is not None:
                part.unlink(missing_ok=True)
                part.with_name(f"{part.name}-journal").unlink(missing_ok=True)  # SQLite's own, of a copy
                os.close(lock)


def write_json(
    path: Path,
    record: BaseModel | Mapping[str, Any] | Sequence[Any],
    *,
    indent: int | None = 2,
    overwrite: bool = True,
) -> None:
    """A record as a JSON file, whole or not at all; a number that JSON does not know is a ValueError."""
    content = record.model_dump(mode="json") if isinstance(record, BaseModel) else record
    with whole_file(path, overwrite=overwrite) as file:
        file.write(json.dumps(content, ensure_ascii=False, indent=indent, allow_nan=False).encode() + b"\n")


def read_json(path: Path, needed: str, *, remedy: str | None = None) -> Any:
    """What a JSON file holds; BadFile that says what was `needed` where it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadFile(needed, found=str(error), where=str(path), remedy=remedy) from None


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A new, empty folder that becomes `path` when the block ends well, in place of what stood there when it began.

    Whoever fills it must have flushed the files (`whole_file` does); the folders are flushed here.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    recover(path)
    with held(path):
        # remove the folders that killed writers of `path` left behind: those that no process locks any more
        for leftover in path.parent.glob(f".{glob.escape(path.name)}.saving-*"):
            lock = _lock(leftover)
            if lock is not None:
                shutil.rmtree(leftover, ignore_errors=True)
                os.close(lock)
        replaces = path.is_dir() and any(path.iterdir())
        stage = path.with_name(f".{path.name}.saving-{secrets.token_hex(4)}")
        stage.mkdir()
        lock = _lock(stage)
        try:
            yield stage
            if path.exists():
                shutil.copymode(path, stage)
            for folder, _, _ in os.walk(stage):
                sync_folder(Path(folder))
            if not replaces:
                try:
                    os.rename(stage, path)
                except OSError:
                    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
                        raise
                    raise BadFile(
                        "a place that stays free while it is written for is needed",
                        found="something that another process put there meanwhile",
                        where=str(path),
                        remedy="look at what is there now, then run again or choose another place; "
                        "nothing of it was changed",
                    ) from None
            elif not _exchange(stage, path):
                os.rename(path, _aside(path))
                os.rename(stage, path)
                shutil.rmtree(_aside(path), ignore_errors=True)
            sync_folder(path.parent)
        finally:
            try:
                shutil.rmtree(stage, ignore_errors=True)  # the old contents by now, or a new folder that failed
            finally:
                if lock is not None:
                    os.close(lock)


@contextmanager
def held(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Lock `folder`, if it is there: while the block runs no other process replaces or locks it.

    A `shared` lock lets others in who take a shared one.
    """
    lock = _take_folder_lock(folder, shared=shared)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _take_folder_lock(folder: Path, *, shared: bool) -> int | None:
    """Hold the folder that stands at this name; BadFile when another process does."""
    while fcntl is not None and folder.is_dir():
        lock = _lock(folder, shared=shared)
        if lock is None:
            raise BadFile(
                "a folder that nobody holds is needed",
                found="one whose studio is open, or that another command is writing now",
                where=str(folder),
                remedy="close the studio (Ctrl-C, or stop its service), or wait for the other command; then try again: "
                "nothing was changed",
            )
        if folder.is_dir() and os.path.samestat(os.fstat(lock), os.stat(folder)):
            return lock
        os.close(lock)  # another one was put in its place a moment ago
    return None


@contextmanager
def wait_turn(path: Path) -> Iterator[None]:
    """One process at a time is in such a block about the file or folder `path`, which it may replace; others wait.

    BadFile after `_MOST_WAIT_S`: anybody who may read a folder may hold it, but not for ever.
    """
    lock = _wait_for_lock(path)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _wait_for_lock(path: Path) -> int | None:
    """Hold what stands at `path` after waiting for others; None where nothing does."""
    while fcntl is not None and (present_folder(path.parent) / path.name).exists():
        number = os.open(present_folder(path.parent) / path.name, os.O_RDONLY)
        until = time.monotonic() + _MOST_WAIT_S
        while not _locked(number):
            if time.monotonic() > until:
                os.close(number)
                raise BadFile(
                    "a place where others finish writing is needed",
                    found=f"one that another process has held for {_MOST_WAIT_S // 60} minutes",
                    where=str(path),
                    remedy="end it (lsof names it), or choose another place; nothing was changed",
                )
            time.sleep(_POLL_S)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(number), os.stat(present_folder(path.parent) / path.name)):
                return number
        os.close(number)  # whoever was waited for has put another one in its place
    return None


def _locked(number: int) -> bool:
    """Whether the lock could be had; a file system without locks lets everybody in."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def present_folder(path: Path) -> Path:
    """Where the folder `path` can be read now: there, or moved aside by a writer that died half-way."""
    aside = _aside(path)
    return aside if aside.is_dir() and not path.exists() else path


def recover(path: Path) -> None:
    """Undo what a writer left that died while the old folder was moved aside."""
    aside = _aside(path)
    with held(aside):  # by nobody, unless its writer lives and is just about to put the new folder there
        if not aside.is_dir():
            return
        if path.exists():
            shutil.rmtree(aside)
        else:
            os.rename(aside, path)


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of names to the disk."""
    with suppress(PermissionError, IsADirectoryError):  # Windows cannot open folders
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two folders in one step; False where the system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return False
    result: int = rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
    return result == 0


def _aside(path: Path) -> Path:
    whole = path.absolute()  # "." has no name of its own, and "/" has none at all
    return whole.parent / f".{whole.name}.replaced"


def _lock(folder: Path, *, shared: bool = False) -> int | None:
    """Hold `folder`, or a file, for as long as this process lives; None when another process holds it."""
    if fcntl is None:  # pragma: no cover
        return None
    number = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(number, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        return None
    return number


def put_file(path: Path, data: bytes) -> None:
    """Write `path` and the folders above it. A killed process leaves the old file or the new one, a power cut perhaps
    an empty one; `atomic.whole_file` excludes that, at the cost of two waits for the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
