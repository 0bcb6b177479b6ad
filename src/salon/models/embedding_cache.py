"""Vectors that were worked out once, on disk: one plain file of float32 rows, and a list of whose they are.

    FOLDER/<hash of the signature>/about.json    what the vectors depend on, for people
    FOLDER/<hash of the signature>/rows.f32      one row of float32 after the other, mapped into memory to be read
    FOLDER/<hash of the signature>/rows.index    for each row 32 bytes, the hash of its content, and 8 bytes, its check

Rows are only ever appended, under a lock, and listed once they are there: a process that is killed leaves rows that
nobody lists, and the next one writes over them. The check covers signature, content hash and row, and is compared
whenever a row is read. So whatever happens to the files, a row that is not the right one counts as missing: it costs
the time to compute it again, never a wrong vector. The folder may be deleted at any time. Where it cannot be written,
nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from salon.models.encoder import Vectors
from salon.models.kept import kept_file
from salon.store.quick_file import put_file

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: one process at a time
    fcntl = None  # type: ignore[assignment]  # Windows has none

FORMAT: Final = "salon.embeddings/1"
_CHECK = 8
_ENTRY = np.dtype([("key", "u1", 32), ("check", "u1", _CHECK)])
_BYTES = np.dtype([("key", "V32"), ("check", f"V{_CHECK}")])


class EmbeddingCache:
    """Vectors by signature and content hash, in a folder that any number of processes may share."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = kept_file().parent / "embeddings" if folder is None else Path(folder)

    def shelf(self, signature: str, width: int) -> Shelf:
        """The vectors of one kind."""
        return Shelf(self.folder, signature, width)


class Shelf:
    """Vectors of one width that depend on the same things."""

    def __init__(self, folder: Path, signature: str, width: int) -> None:
        self.signature, self.width = signature, width
        self._mark = hashlib.sha256(f"{FORMAT}\n{width}\n{signature}".encode()).digest()
        self.folder = folder / self._mark.hex()[:16]
        self.rows, self.index = self.folder / "rows.f32", self.folder / "rows.index"

    def read(self, keys: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_]]:
        """(keys, width) float32 for different `keys`, each a SHA-256 in hex, and which of them are known.

        The rows of those that are not hold zeros.
        """
        found, known = np.zeros((len(keys), self.width), np.float32), np.zeros(len(keys), np.bool_)
        wanted = {bytes.fromhex(key): place for place, key in enumerate(keys)}
        entries, rows = self._listed()
        likely = _likely(entries, list(wanted))
        for row, (key, check) in zip(likely.tolist(), entries[likely].view(_BYTES).tolist()):
            place = wanted.get(key)
            vector = rows[row].copy()  # so that what is checked is what is given, whoever writes meanwhile
            if place is not None and check == self._check(key, vector):
                found[place], known[place] = vector, True
        return found, known

    def keep(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Append vectors. One that is known already is listed again, and the last that is whole counts."""
        rows = np.ascontiguousarray(vectors, "<f4")
        entries = _entries([bytes.fromhex(key) for key in keys])
        checks = [self._check(key.tobytes(), row) for key, row in zip(entries["key"], rows, strict=True)]
        entries["check"] = np.frombuffer(b"".join(checks), np.uint8).reshape(-1, _CHECK)
        with suppress(OSError), self._locked():
            there = self._whole()
            _write(self.rows, rows.tobytes(), at=there * self.width * 4)
            _write(self.index, entries.tobytes(), at=there * _ENTRY.itemsize)

    def _check(self, key: bytes, row: np.ndarray) -> bytes:
        digest = hashlib.blake2b(key, digest_size=_CHECK, key=self._mark)
        digest.update(row.data)
        return digest.digest()

    def _whole(self) -> int:
        """Rows that are there and listed."""
        sizes = [path.stat().st_size if path.is_file() else 0 for path in (self.rows, self.index)]
        return min(sizes[0] // (self.width * 4), sizes[1] // _ENTRY.itemsize)

    def _listed(self) -> tuple[np.ndarray, np.ndarray]:
        """The list, and the rows as they lie on disk."""
        with suppress(OSError, ValueError):
            if count := self._whole():
                entries = np.fromfile(self.index, _ENTRY, count)
                mapped = np.memmap(self.rows, "<f4", "r", shape=(count, self.width))
                return entries, mapped.view(np.ndarray)  # the same bytes; taking a row off a memmap itself is slow
        return np.empty(0, _ENTRY), np.empty((0, self.width), "<f4")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else appends until the block ends, or this process does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        about = self.folder / "about.json"
        if not about.exists():
            told = {"format": FORMAT, "signature": self.signature, "width": self.width, "dtype": "<f4"}
            put_file(about, json.dumps(told, indent=1).encode())
        with open(self.folder / "lock", "ab") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _entries(keys: Sequence[bytes]) -> np.ndarray:
    entries = np.zeros(len(keys), _ENTRY)
    entries["key"] = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 32)
    return entries


def _likely(entries: np.ndarray, keys: Sequence[bytes]) -> NDArray[np.intp]:
    """Entries whose key begins as one of `keys` does: nearly all that were not asked for are left out, and fast."""
    if not len(entries) or not keys:
        return np.empty(0, np.intp)
    asked = np.sort(_starts(_entries(keys)))
    starts = _starts(entries)
    nearest = np.minimum(np.searchsorted(asked, starts), len(asked) - 1)
    return np.flatnonzero(asked[nearest] == starts)


def _starts(entries: np.ndarray) -> NDArray[np.uint64]:
    return np.ascontiguousarray(entries["key"][:, :8]).view("<u8")[:, 0]


def _write(path: Path, data: bytes, *, at: int) -> None:
    """Write `data` from `at` on, over rows that nobody lists. Nothing is cut off: somebody may have it mapped."""
    number = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    with open(number, "r+b", buffering=0) as file:
        file.seek(at)
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
