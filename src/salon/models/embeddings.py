"""Pictures and texts of a whole study as vectors: each computed once, wherever the work runs, and kept on disk.

    encoder = open_encoder("effnet-lite2+minilm")
    vectors = encode_pictures(encoder, paths)          # {"image": (pictures, 1280), "seen": (pictures, 384)}
    words = encode_texts(encoder, texts)               # (texts, 384)

The cache:

    FOLDER/<hash of the signature>/about.json    what the vectors depend on, for people
    FOLDER/<hash of the signature>/rows.f32      one row of float32 after the other, mapped into memory to be read
    FOLDER/<hash of the signature>/rows.index    for each row 32 bytes, the hash of its content, and 8 bytes, its check

Rows are only appended, under a lock, and listed once they are there. A process that is killed leaves rows that nobody
lists, and the next one overwrites them. The check covers signature, content hash and row, and is compared whenever a
row is read: a row that is not the right one counts as missing and is computed again. The folder may be deleted at any
time. Where it cannot be written, nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.engine import EngineSettings, Row, WorkSummary, WorkTask, cores, run_batches
from salon.errors import BadFile, BadValue
from salon.models.cache import cache_file
from salon.models.encoders import Encoder, Vectors, picture_parts
from salon.store import put_file, read_bytes, read_picture

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: one process at a time
    fcntl = None  # type: ignore[assignment]  # Windows has none

__all__ = ["EmbeddingCache", "encode_pictures", "encode_texts"]

_MAX_NAMED = 3
"""Bad pictures that an error names."""
_TEXTS_PER_BATCH = 1024
"""Texts encoded before they are kept."""


def encode_pictures(
    encoder: Encoder,
    paths: Sequence[Path],
    *,
    parts: Sequence[str] | None = None,
    settings: EngineSettings | None = None,
    cache: EmbeddingCache | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Vectors]:
    """(pictures, width) float32 for each of `parts`, all of the encoder's when left out; rows in the order of `paths`.

    Equal files are looked at once. `progress` is called with how many of `paths` each step finished, first those
    that need no work. Pictures that cannot be read are one BadFile at the end, when all others are in the cache.
    """
    names = [part.name for part in encoder.parts] if parts is None else list(parts)
    hashes, unreadable = _hashes(paths)
    unique = {sha: str(Path(path).absolute()) for path, sha in zip(paths, hashes) if sha}  # workers may run elsewhere
    store = _VectorStore(encoder, names, list(unique), cache or EmbeddingCache())
    tell = progress or (lambda count: None)
    missing = store.missing()
    tell(len(paths) - sum(map(len, missing.values())))
    threads = None  # of each worker of a pool: together they have this machine's cores; Ray sees to that itself
    if settings is not None and settings.engine == "pool":
        threads = max(1, cores() // (settings.workers or cores()))
    for lacking, keys in missing.items():
        work = Embedding(encoder, lacking, threads)
        unreadable |= _compute(work, [WorkTask(sha, (unique[sha], sha)) for sha in keys], store, settings, tell)
    if unreadable:
        folder = os.path.commonpath([Path(path).absolute().parent for path in unreadable])
        first = [f"{os.path.relpath(path, folder)} ({why})" for path, why in list(unreadable.items())[:_MAX_NAMED]]
        raise BadFile(
            "pictures that can be read are needed",
            found=f"{len(unreadable):,} of {len(paths):,} that cannot: {', '.join(first)}"
            + (", ..." if len(unreadable) > _MAX_NAMED else ""),
            where=folder,
            remedy="repair or remove them; the vectors of all others are kept, so the next run is short",
        )
    order = np.array([store.place[sha] for sha in hashes], np.intp)
    same = np.array_equal(order, np.arange(len(unique)))  # a second copy of all rows only where it is needed
    return {name: rows if same else rows[order] for name, rows in store.rows.items()}


def encode_texts(encoder: Encoder, texts: Sequence[str], *, cache: EmbeddingCache | None = None) -> Vectors:
    """(texts, text_width) float32, rows in the order of `texts`; equal texts are encoded once."""
    hashes = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
    unique = dict(zip(hashes, texts))
    keys = list(unique)
    signature = getattr(encoder, "text_signature", "") or f"texts of {encoder.signature}"
    table = (cache or EmbeddingCache()).shelf(signature, encoder.text_width)
    rows, is_cached = table.read(keys)
    missing = np.flatnonzero(~is_cached)
    for start in range(0, len(missing), _TEXTS_PER_BATCH):
        some = missing[start : start + _TEXTS_PER_BATCH]
        rows[some] = encoder.texts([unique[keys[place]] for place in some])
        table.keep([keys[place] for place in some], rows[some])
    place = {key: row for row, key in enumerate(keys)}
    return rows[[place[sha] for sha in hashes]]


class Embedding:
    """The work: pictures by path in, the bytes of their vectors out, or why there are none."""

    def __init__(self, encoder: Encoder, parts: tuple[str, ...], threads: int | None) -> None:
        self.encoder, self.parts, self.threads = encoder, parts, threads
        self.signature = f"{encoder.signature} {' '.join(parts)}"
        self.schema = pa.schema([*((part, pa.binary()) for part in parts), ("unreadable", pa.string())])

    def open(self) -> Callable[[Sequence[Any]], list[Row]]:
        """Each worker has the encoder already; it only must not use more cores than its share."""
        torch = sys.modules.get("torch")  # where the encoder has need of it
        if torch is not None and self.threads is not None:
            torch.set_num_threads(self.threads)
        return self._look

    def _look(self, tasks: Sequence[tuple[str, str]]) -> list[Row]:
        with ThreadPoolExecutor(self.threads or cores()) as threads:  # decoders leave Python's lock alone
            opened = list(threads.map(_open_picture, tasks))
        good = [(image, sha) for (image, _), (_, sha) in zip(opened, tasks) if image is not None]
        vectors = picture_parts(self.encoder, [image for image, _ in good], self.parts, [sha for _, sha in good])
        rows = iter(zip(*(vectors[part] for part in self.parts)))
        return [
            {"unreadable": why}
            if image is None
            else {part: row.tobytes() for part, row in zip(self.parts, next(rows), strict=True)}
            for image, why in opened
        ]


def _open_picture(task: tuple[str, str]) -> tuple[Any, str | None]:
    """The picture at a path, or None and why; its bytes must still have the hash they are kept under."""
    path, sha = task
    try:
        picture = read_picture(Path(path))
    except BadFile as error:
        return None, str(error.found)
    return (None, "a file that changes while it is read") if picture.sha256 != sha else (picture.image, None)


class _VectorStore:
    """Rows of the pictures asked for, by part: what the cache knows, and what is added."""

    def __init__(self, encoder: Encoder, names: Sequence[str], keys: list[str], cache: EmbeddingCache) -> None:
        self.keys, self.place = keys, {key: row for row, key in enumerate(keys)}
        self._tables = {name: _part_table(encoder, name, cache) for name in names}
        read = {name: table.read(keys) for name, table in self._tables.items()}
        self.rows = {name: rows for name, (rows, _) in read.items()}
        self._known = {name: is_cached for name, (_, is_cached) in read.items()}

    def missing(self) -> dict[tuple[str, ...], list[str]]:
        """Pictures of which something is not known, by the parts that are not."""
        missing: dict[tuple[str, ...], list[str]] = {}
        for row, key in enumerate(self.keys):
            if lacking := tuple(name for name, is_cached in self._known.items() if not is_cached[row]):
                missing.setdefault(lacking, []).append(key)
        return missing

    def add(self, part: str, keys: Sequence[str], vectors: Vectors) -> None:
        """Keep some rows of one part."""
        self.rows[part][[self.place[key] for key in keys]] = vectors
        self._tables[part].keep(keys, vectors)


def _compute(
    work: Embedding,
    tasks: list[WorkTask],
    store: _VectorStore,
    settings: EngineSettings | None,
    tell: Callable[[int], None],
) -> dict[str, str]:
    """Add all vectors to the store; paths of those that could not be computed, and why."""
    bad: dict[str, str] = {}
    paths = {task.key: task.value[0] for task in tasks}
    with tempfile.TemporaryDirectory(prefix="salon-") as folder:  # what is done is in the cache: there a run goes on
        steps = run_batches(work, tasks, folder, settings, tell)
        for batch, rows in (finished := _BatchSteps(steps)):
            bad |= {task.value[0]: row["unreadable"] for task, row in zip(batch, rows) if row.get("unreadable")}
            good = [(task.key, row) for task, row in zip(batch, rows) if not row.get("unreadable")]
            for part in work.parts if good else ():
                vectors = np.stack([np.frombuffer(row[part], np.float32) for _, row in good])
                store.add(part, [key for key, _ in good], vectors)
    return bad | {paths[lost.key]: f"its worker ended: {lost.reason}" for lost in finished.summary.lost}


class _BatchSteps:
    """The steps of a run, and what it says at its end."""

    summary: WorkSummary

    def __init__(self, steps: Generator[tuple[tuple[WorkTask, ...], list[Row]], None, WorkSummary]) -> None:
        self._steps = steps

    def __iter__(self) -> Iterator[tuple[tuple[WorkTask, ...], list[Row]]]:
        self.summary = yield from self._steps


def _hashes(paths: Sequence[Path]) -> tuple[list[str], dict[str, str]]:
    """The SHA-256 of each file, empty where there is none to read; and those paths, each with the reason."""

    def content(path: Path) -> str | BadFile:
        try:
            return hashlib.sha256(read_bytes(path)).hexdigest()
        except BadFile as error:
            return error

    different = list(dict.fromkeys(map(Path, paths)))
    with ThreadPoolExecutor(cores()) as threads:  # reading and hashing leave Python's lock alone
        results = dict(zip(different, threads.map(content, different)))
    bad = {str(path): str(result.found) for path, result in results.items() if isinstance(result, BadFile)}
    return ["" if str(path) in bad else str(results[Path(path)]) for path in paths], bad


def _part_table(encoder: Encoder, name: str, cache: EmbeddingCache) -> EmbeddingTable:
    part = next((part for part in encoder.parts if part.name == name), None)
    if part is None:
        names = ", ".join(part.name for part in encoder.parts)
        raise BadValue(f"a part of {encoder.name} is needed", found=repr(name), remedy=names)
    return cache.shelf(part.signature or f"{name} of {encoder.signature}", part.width)


# -- the cache ---------------------------------------------------------------------------------------------------------

FORMAT: Final = "salon.embeddings/1"
_CHECK = 8
_ENTRY = np.dtype([("key", "u1", 32), ("check", "u1", _CHECK)])
_BYTES = np.dtype([("key", "V32"), ("check", f"V{_CHECK}")])


class EmbeddingCache:
    """Vectors by signature and content hash, in a folder that any number of processes may share."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = cache_file().parent / "embeddings" if folder is None else Path(folder)

    def shelf(self, signature: str, width: int) -> EmbeddingTable:
        """The vectors of one kind."""
        return EmbeddingTable(self.folder, signature, width)


class EmbeddingTable:
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
        vectors, is_cached = np.zeros((len(keys), self.width), np.float32), np.zeros(len(keys), np.bool_)
        places = {bytes.fromhex(key): place for place, key in enumerate(keys)}
        entries, rows = self._listed()
        likely = _likely(entries, list(places))
        for row, (key, check) in zip(likely.tolist(), entries[likely].view(_BYTES).tolist()):
            place = places.get(key)
            vector = rows[row].copy()  # what is checked is what is returned, even if another process writes
            if place is not None and check == self._check(key, vector):
                vectors[place], is_cached[place] = vector, True
        return vectors, is_cached

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
            record = {"format": FORMAT, "signature": self.signature, "width": self.width, "dtype": "<f4"}
            put_file(about, json.dumps(record, indent=1).encode())
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
    key_starts = np.sort(_starts(_entries(keys)))
    starts = _starts(entries)
    nearest = np.minimum(np.searchsorted(key_starts, starts), len(key_starts) - 1)
    return np.flatnonzero(key_starts[nearest] == starts)


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
