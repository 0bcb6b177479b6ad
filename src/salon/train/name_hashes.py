"""Names as 64-bit hashes in sorted arrays, and the leak guard of a long run, which is kept by such hashes.

A million hashes take 8 MB; as Python strings in a set they take 150 MB. Two different names share a hash with a chance
of one in 10^4 among four million. Code that reports a name looks it up again; code that counts may be off by one.

    RUN/guard-0.bin      written by process 0: name, sha256 and look of each picture, 73 bytes, when it is first read

The guard hashes pictures when training has decoded them; none is decoded for the guard alone. A run that is resumed
reads these files again, whatever number of processes wrote them. At its end the pictures of all pairs that were drawn,
and of all validation pairs, must be there; a missing one (no common disk, a power cut) is read then.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from salon.evaluate import COLUMNS, FILE, guard_record, text_key
from salon.stats import compiled
from salon.store import Picture, picture_hash, whole_file

Hashes = NDArray[np.uint64]

FLAG_BITS = 8
"""Low bits of an entry, in which a set notes what is known of a name."""
_FLAGS = np.uint64((1 << FLAG_BITS) - 1)
_BUCKETS = 64
"""Parts that are merged one by one, so that merging needs little memory of its own."""
_LEAST_PENDING = 4096


def hash_names(column: pa.ChunkedArray | pa.Array) -> Hashes:
    """A 64-bit hash of each text (FNV-1a, mixed), the same on every machine; of a missing one that of no bytes."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    hashes: list[Hashes] = [np.empty(0, np.uint64)]
    for chunk in chunks:
        names = chunk.cast(pa.large_string())
        _, offsets, data = names.buffers()
        starts = np.frombuffer(offsets, np.int64)[names.offset : names.offset + len(names) + 1]
        hashes.append(_hashes(starts, np.frombuffer(data or b"", np.uint8)))
    return np.concatenate(hashes)


def hash_name(name: str) -> np.uint64:
    """The same of one name."""
    data = np.frombuffer(name.encode(), np.uint8)
    return np.uint64(_hashes(np.array([0, len(data)], np.int64), data)[0])


@compiled
def _hashes(starts, data):  # type: ignore[no-untyped-def]  # compiled: numba finds the types
    result = np.empty(len(starts) - 1, np.uint64)
    for row in range(len(result)):
        word = np.uint64(0xCBF29CE484222325)
        for place in range(starts[row], starts[row + 1]):
            word = (word ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)  # splitmix64: FNV mixes high bits badly
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        result[row] = word ^ (word >> np.uint64(31))
    return result


class NameSet:
    """Hashes of names with eight flags each; flags of a name that is added again are united."""

    def __init__(self) -> None:
        self._sorted: list[Hashes] = [np.empty(0, np.uint64) for _ in range(_BUCKETS)]
        self._pending: list[list[Hashes]] = [[] for _ in range(_BUCKETS)]

    def add(self, hashes: Hashes, flags: int | NDArray[np.uint8] = 0) -> None:
        """Note names, each with its flags."""
        entries = np.unique((hashes & ~_FLAGS) | np.asarray(flags, np.uint64))
        ends = np.searchsorted(entries >> np.uint64(58), np.arange(_BUCKETS, dtype=np.uint64), side="right")
        for bucket, part in enumerate(np.split(entries, ends[:-1])):
            if len(part):
                self._pending[bucket].append(part)
                waiting = sum(len(piece) for piece in self._pending[bucket])
                if waiting > max(_LEAST_PENDING, len(self._sorted[bucket]) // 4):
                    self._merge(bucket)

    def __len__(self) -> int:
        return sum(len(part) for part in self._merged())

    def entries(self) -> Hashes:
        """All names in order: the hash without its low bits, and the flags in them."""
        return np.concatenate(self._merged())

    def count(self, required: int, excluded: int = 0) -> int:
        """Names that have all flags of `wanted` and none of `unwanted`."""
        return sum(int(np.sum(_has(part, required, excluded))) for part in self._merged())

    def select(self, required: int, excluded: int = 0) -> Hashes:
        """The same names."""
        return np.concatenate([part[_has(part, required, excluded)] for part in self._merged()])

    def in_several(self, flags: int) -> Hashes:
        """Names that have more than one of the flags."""
        return np.concatenate([part[np.bitwise_count(part & np.uint64(flags)) > 1] for part in self._merged()])

    def _merged(self) -> list[Hashes]:
        for bucket in range(_BUCKETS):
            self._merge(bucket)
        return self._sorted

    def _merge(self, bucket: int) -> None:
        if not self._pending[bucket]:
            return
        entries = np.concatenate([self._sorted[bucket], *self._pending[bucket]])
        entries.sort()
        key = entries >> np.uint64(FLAG_BITS)
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        self._sorted[bucket], self._pending[bucket] = np.bitwise_or.reduceat(entries, first), []


def contains(entries: Hashes, hashes: Hashes) -> NDArray[np.bool_]:
    """Whether each name is among the entries of a set."""
    return place_in(entries, hashes) >= 0


def place_in(entries: Hashes, hashes: Hashes) -> NDArray[np.int64]:
    """The place of each name among the entries of a set; -1 where it is not there."""
    if not len(entries):
        return np.full(len(hashes), -1)
    keys = hashes & ~_FLAGS
    place = np.searchsorted(entries, keys)  # flags only add to an entry
    there = np.minimum(place, len(entries) - 1)
    return np.where((entries[there] & ~_FLAGS) == keys, there, -1)


def _has(entries: Hashes, required: int, excluded: int) -> NDArray[np.bool_]:
    has: NDArray[np.bool_] = (entries & np.uint64(required | excluded)) == np.uint64(required)
    return has


# -- the leak guard ----------------------------------------------------------------------------------------------------

_RECORD = np.dtype([("name", "<u8"), ("sha256", "V32"), ("plain", "?"), ("near", "V32")])
_AT_ONCE = 8192


class GuardLog:
    """Remembers the pictures that a process reads."""

    def __init__(self, run: Path, process: int, pictures: Hashes) -> None:
        """`pictures` are the entries of the set of all names: one byte more is kept for each."""
        self._run, self._names = run, pictures
        self._seen = np.zeros(len(pictures), bool)
        path = run / f"guard-{process}.bin"
        size = path.stat().st_size if path.is_file() else 0
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.truncate(self._file, size - size % _RECORD.itemsize)  # the last record of a killed run may be half written
        for records in _records(run):
            place = place_in(pictures, records["name"])
            self._seen[place[place >= 0]] = True

    def note(self, name: str, picture: Picture) -> None:
        """Hash a picture that was decoded, unless it is known."""
        hashed = hash_name(name)
        (place,) = place_in(self._names, np.array([hashed]))
        if place >= 0 and self._seen[place]:
            return
        near = picture_hash(picture.image)
        record = np.zeros(1, _RECORD)
        record["name"], record["plain"] = hashed, not near
        record["sha256"] = np.void(bytes.fromhex(picture.sha256))
        record["near"] = np.void(bytes.fromhex(near or "00" * 32))
        os.write(self._file, record.tobytes())  # at once: what a checkpoint learned from must not be forgotten
        if place >= 0:
            self._seen[place] = True

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)


def guarded_names(run: Path) -> Hashes:
    """The names of all pictures that were noted, by whichever process, as entries of a `NameSet`."""
    names = NameSet()
    for records in _records(run):
        names.add(records["name"])
    return names.entries()


def write_guard(run: Path, texts: Iterable[str], folder: Path) -> dict[str, str]:
    """Write the guard of all pictures noted and of `texts` into a model's folder; gives the card's `guard`."""
    with whole_file(folder / FILE) as target, pq.ParquetWriter(target, COLUMNS, compression="zstd") as writer:
        earlier = NameSet()
        for records in _records(run):
            names = records["name"]
            fresh = records[_first_seen(earlier, names)]
            keys = [record.tobytes().hex() for record in fresh["sha256"]]
            looks = ["" if plain else near.tobytes().hex() for plain, near in zip(fresh["plain"], fresh["near"])]
            writer.write_table(pa.table([["picture"] * len(keys), keys, looks], schema=COLUMNS))
            earlier.add(names)
        earlier = NameSet()
        rest = iter(texts)
        while part := list(islice(rest, _AT_ONCE)):
            hashes = hash_names(pa.array(part, pa.string()))
            keys = [
                text_key(text) for text, is_new in zip(part, _first_seen(earlier, hashes)) if is_new and text.strip()
            ]
            earlier.add(hashes)
            writer.write_table(pa.table([["text"] * len(keys), keys, [""] * len(keys)], schema=COLUMNS))
    return guard_record(folder)


def _first_seen(earlier: NameSet, hashes: Hashes) -> NDArray[np.bool_]:
    """Names that come for the first time."""
    first = np.zeros(len(hashes), bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    return first & ~contains(earlier.entries(), hashes)


def _records(run: Path) -> Iterator[NDArray[np.void]]:
    for path in sorted(run.glob("guard-*.bin")):
        with open(path, "rb") as file:
            while data := file.read(_AT_ONCE * _RECORD.itemsize):
                yield np.frombuffer(data[: len(data) - len(data) % _RECORD.itemsize], _RECORD)
