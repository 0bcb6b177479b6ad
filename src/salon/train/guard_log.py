"""The leak guard of a long run: pictures are hashed when training has decoded them, never decoded for the guard alone.

RUN/guard-0.bin      written by process 0: name, sha256 and look of each picture, 73 bytes, when it is first read

A run that goes on reads these files again, whatever number of processes wrote them. At its end the pictures of all
pairs that were drawn, and of all validation pairs that were looked at, must be there. One that is missing (a machine
without a common disk, a power cut) is read then.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from salon.evaluate.leaks import COLUMNS, FILE, guard_record, text_key
from salon.store.atomic import whole_file
from salon.store.near_pictures import picture_hash
from salon.store.pictures import Picture
from salon.train.name_hashes import Hashes, NameSet, contains, hash_name, hash_names, place_in

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


def noted_names(run: Path) -> Hashes:
    """The names of all pictures that were noted, by whichever process, as entries of a `NameSet`."""
    known = NameSet()
    for records in _records(run):
        known.add(records["name"])
    return known.entries()


def write_guard(run: Path, texts: Iterable[str], folder: Path) -> dict[str, str]:
    """Write the guard of all pictures noted and of `texts` into a model's folder; gives the card's `guard`."""
    with whole_file(folder / FILE) as target, pq.ParquetWriter(target, COLUMNS, compression="zstd") as writer:
        seen = NameSet()
        for records in _records(run):
            names = records["name"]
            writer.write_table(_picture_rows(records[_fresh(seen, names)]))
            seen.add(names)
        seen = NameSet()
        for part in _parts(texts):
            hashes = hash_names(pa.array(part, pa.string()))
            keys = [text_key(text) for text, fresh in zip(part, _fresh(seen, hashes)) if fresh and text.strip()]
            seen.add(hashes)
            writer.write_table(pa.table([["text"] * len(keys), keys, [""] * len(keys)], schema=COLUMNS))
    return guard_record(folder)


def _fresh(seen: NameSet, hashes: Hashes) -> NDArray[np.bool_]:
    """Names that come for the first time."""
    first = np.zeros(len(hashes), bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    return first & ~contains(seen.entries(), hashes)


def _picture_rows(records: NDArray[np.void]) -> pa.Table:
    keys = [record.tobytes().hex() for record in records["sha256"]]
    looks = ["" if plain else near.tobytes().hex() for plain, near in zip(records["plain"], records["near"])]
    return pa.table([["picture"] * len(keys), keys, looks], schema=COLUMNS)


def _records(run: Path) -> Iterator[NDArray[np.void]]:
    for path in sorted(run.glob("guard-*.bin")):
        with open(path, "rb") as file:
            while data := file.read(_AT_ONCE * _RECORD.itemsize):
                yield np.frombuffer(data[: len(data) - len(data) % _RECORD.itemsize], _RECORD)


def _parts(texts: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for text in texts:
        part.append(text)
        if len(part) == _AT_ONCE:
            yield part
            part = []
    if part:
        yield part
