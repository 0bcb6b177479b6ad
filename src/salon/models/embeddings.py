"""Pictures and texts of a whole study as vectors: each computed once, wherever the work runs, and kept on disk.

encoder = encoder_named("effnet-lite2+minilm")
vectors = encode_pictures(encoder, paths)          # {"image": (pictures, 1280), "seen": (pictures, 384)}
words = encode_texts(encoder, texts)               # (texts, 384)
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from salon.engine.processes import cores
from salon.engine.run import each_batch
from salon.engine.work import Done, EngineSettings, Row, Task
from salon.errors import BadFile, BadValue
from salon.models.embedding_cache import EmbeddingCache, Shelf
from salon.models.encoder import Encoder, Vectors, picture_parts
from salon.store.pictures import read_bytes, read_picture

__all__ = ["EmbeddingCache", "encode_pictures", "encode_texts"]

_NAMED = 3
"""Bad pictures that an error names."""
_TEXTS = 1024
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

    Equal files are looked at once. `progress` hears how many of `paths` each step finished, first those that need no
    work. Pictures that cannot be read are one BadFile at the end, when all others are in the cache.
    """
    names = [part.name for part in encoder.parts] if parts is None else list(parts)
    hashes, unreadable = _hashes(paths)
    unique = {sha: str(Path(path).absolute()) for path, sha in zip(paths, hashes) if sha}  # workers may run elsewhere
    store = _Store(encoder, names, list(unique), cache or EmbeddingCache())
    tell = progress or (lambda count: None)
    missing = store.missing()
    tell(len(paths) - sum(map(len, missing.values())))
    for lacking, keys in missing.items():
        work = Embedding(encoder, lacking, _threads(settings))
        unreadable |= _compute(work, [Task(sha, (unique[sha], sha)) for sha in keys], store, settings, tell)
    if unreadable:
        raise _unreadable(unreadable, len(paths))
    order = np.array([store.place[sha] for sha in hashes], np.intp)
    same = np.array_equal(order, np.arange(len(unique)))  # a second copy of all rows only where it is needed
    return {name: rows if same else rows[order] for name, rows in store.rows.items()}


def encode_texts(encoder: Encoder, texts: Sequence[str], *, cache: EmbeddingCache | None = None) -> Vectors:
    """(texts, text_width) float32, rows in the order of `texts`; equal texts are encoded once."""
    hashes = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
    unique = dict(zip(hashes, texts))
    keys = list(unique)
    shelf = (cache or EmbeddingCache()).shelf(_text_signature(encoder), encoder.text_width)
    rows, known = shelf.read(keys)
    missing = np.flatnonzero(~known)
    for start in range(0, len(missing), _TEXTS):
        some = missing[start : start + _TEXTS]
        rows[some] = encoder.texts([unique[keys[place]] for place in some])
        shelf.keep([keys[place] for place in some], rows[some])
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

    def _look(self, asked: Sequence[tuple[str, str]]) -> list[Row]:
        with ThreadPoolExecutor(self.threads or cores()) as threads:  # decoders leave Python's lock alone
            opened = list(threads.map(_opened, asked))
        good = [(image, sha) for (image, _), (_, sha) in zip(opened, asked) if image is not None]
        found = picture_parts(self.encoder, [image for image, _ in good], self.parts, [sha for _, sha in good])
        rows = iter(zip(*(found[part] for part in self.parts)))
        return [
            {"unreadable": why}
            if image is None
            else {part: row.tobytes() for part, row in zip(self.parts, next(rows), strict=True)}
            for image, why in opened
        ]


def _opened(asked: tuple[str, str]) -> tuple[Any, str | None]:
    """The picture at a path, or None and why; its bytes must still have the hash they are kept under."""
    path, sha = asked
    try:
        picture = read_picture(Path(path))
    except BadFile as error:
        return None, str(error.found)
    return (None, "a file that changes while it is read") if picture.sha256 != sha else (picture.image, None)


class _Store:
    """Rows of the pictures asked for, by part: what the cache knows, and what is added."""

    def __init__(self, encoder: Encoder, names: Sequence[str], keys: list[str], cache: EmbeddingCache) -> None:
        self.keys, self.place = keys, {key: row for row, key in enumerate(keys)}
        self._shelves = {name: _shelf(encoder, name, cache) for name in names}
        read = {name: shelf.read(keys) for name, shelf in self._shelves.items()}
        self.rows = {name: rows for name, (rows, _) in read.items()}
        self._known = {name: known for name, (_, known) in read.items()}

    def missing(self) -> dict[tuple[str, ...], list[str]]:
        """Pictures of which something is not known, by the parts that are not."""
        found: dict[tuple[str, ...], list[str]] = {}
        for row, key in enumerate(self.keys):
            if lacking := tuple(name for name, known in self._known.items() if not known[row]):
                found.setdefault(lacking, []).append(key)
        return found

    def add(self, part: str, keys: Sequence[str], vectors: Vectors) -> None:
        """Keep some rows of one part."""
        self.rows[part][[self.place[key] for key in keys]] = vectors
        self._shelves[part].keep(keys, vectors)


def _compute(
    work: Embedding, tasks: list[Task], store: _Store, settings: EngineSettings | None, tell: Callable[[int], None]
) -> dict[str, str]:
    """Add all vectors to the store; paths of those that could not be computed, and why."""
    bad: dict[str, str] = {}
    paths = {task.key: task.value[0] for task in tasks}
    with tempfile.TemporaryDirectory(prefix="salon-") as folder:  # what is done is in the cache: there a run goes on
        steps = each_batch(work, tasks, folder, settings, tell)
        for batch, rows in (finished := _Finished(steps)):
            bad |= {task.value[0]: row["unreadable"] for task, row in zip(batch, rows) if row.get("unreadable")}
            good = [(task.key, row) for task, row in zip(batch, rows) if not row.get("unreadable")]
            for part in work.parts if good else ():
                vectors = np.stack([np.frombuffer(row[part], np.float32) for _, row in good])
                store.add(part, [key for key, _ in good], vectors)
    return bad | {paths[lost.key]: f"its worker ended: {lost.reason}" for lost in finished.done.lost}


class _Finished:
    """The steps of a run, and what it says at its end."""

    done: Done

    def __init__(self, steps: Generator[tuple[tuple[Task, ...], list[Row]], None, Done]) -> None:
        self._steps = steps

    def __iter__(self) -> Iterator[tuple[tuple[Task, ...], list[Row]]]:
        self.done = yield from self._steps


def _hashes(paths: Sequence[Path]) -> tuple[list[str], dict[str, str]]:
    """The SHA-256 of each file, empty where there is none to read; and those paths, each with the reason."""

    def content(path: Path) -> str | BadFile:
        try:
            return hashlib.sha256(read_bytes(path)).hexdigest()
        except BadFile as error:
            return error

    different = list(dict.fromkeys(map(Path, paths)))
    with ThreadPoolExecutor(cores()) as threads:  # reading and hashing leave Python's lock alone
        found = dict(zip(different, threads.map(content, different)))
    bad = {str(path): str(one.found) for path, one in found.items() if isinstance(one, BadFile)}
    return ["" if str(path) in bad else str(found[Path(path)]) for path in paths], bad


def _shelf(encoder: Encoder, name: str, cache: EmbeddingCache) -> Shelf:
    part = next((part for part in encoder.parts if part.name == name), None)
    if part is None:
        known = ", ".join(part.name for part in encoder.parts)
        raise BadValue(f"a part of {encoder.name} is needed", found=repr(name), remedy=known)
    return cache.shelf(part.signature or f"{name} of {encoder.signature}", part.width)


def _text_signature(encoder: Encoder) -> str:
    return getattr(encoder, "text_signature", "") or f"texts of {encoder.signature}"


def _threads(settings: EngineSettings | None) -> int | None:
    """Threads of each worker of a pool: together they have this machine's cores. Ray sees to that itself."""
    if settings is None or settings.engine != "pool":
        return None
    return max(1, cores() // (settings.workers or cores()))


def _unreadable(bad: dict[str, str], total: int) -> BadFile:
    folder = os.path.commonpath([Path(path).absolute().parent for path in bad])
    first = [f"{os.path.relpath(path, folder)} ({why})" for path, why in list(bad.items())[:_NAMED]]
    return BadFile(
        "pictures that can be read are needed",
        found=f"{len(bad):,} of {total:,} that cannot: {', '.join(first)}{', ...' if len(bad) > _NAMED else ''}",
        where=folder,
        remedy="mend or remove them; the vectors of all others are kept, so the next run is short",
    )
