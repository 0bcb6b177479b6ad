"""The training pairs of a run on disk, and the order they are learned in.

FOLDER/rows.bin      one record for each training pair: its texts, joined
FOLDER/starts.npy    where each record begins
FOLDER/groups.npy    how many of them each group of the source gave

A record is found by its number, so an epoch is a random permutation of all pairs, wherever they stand in the source,
and a run goes on in the middle of it without reading what it has learned from. In memory are 8 bytes a pair for
`starts` and 4 for the order. Where pictures are inside Parquet, or where `shuffle` says so, pairs are drawn from a
pool: groups come in random order, as many as make a pool are mixed, then the next ones.

Everything follows from the seed and the epoch, not from the number of processes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadValue

RUN = 1024
"""Rows that follow each other in the source and come into a pool together."""
_JOINT = "\x1f"
_NAMED = ("criterion", "group", "image_a", "image_b", "place_a", "place_b")
_NUMBERS = ("target", "tied", "weight")


class PairRow(NamedTuple):
    """One labelled pair, its pictures not yet read."""

    criterion: str
    group: str
    image_a: str
    image_b: str
    text: str
    share: float
    """Of votes for a, ties half: what is to be learned."""
    ties: float
    """Share of votes that are ties."""
    weight: float
    place_a: str = ""
    """Where the picture is, if its name does not say it."""
    place_b: str = ""


class RowWriter:
    """Writes the records of training pairs, in the order of the source."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = open(folder / "rows.bin", "wb")  # noqa: SIM115 - closed with the writer
        self._ends: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._groups: list[int] = []
        self._latest: object = None

    def add(self, table: pa.Table, group: object) -> None:
        """Append the rows of a table, all of one group of the source."""
        if group != self._latest:
            self._groups.append(0)
            self._latest = group
        self._groups[-1] += table.num_rows
        records = _records(table)
        if len(records):
            _, offsets, data = records.buffers()
            ends = np.frombuffer(offsets, np.int64)[records.offset : records.offset + len(records) + 1]
            self._file.write(memoryview(data)[ends[0] : ends[-1]])
            self._ends.append(ends[1:] - ends[0] + self._ends[-1][-1])

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, *fault: object) -> None:
        self._file.close()
        np.save(self._folder / "starts.npy", np.concatenate(self._ends))
        np.save(self._folder / "groups.npy", np.array(self._groups, np.int64))


def _records(table: pa.Table) -> pa.LargeStringArray:
    columns = [pc.fill_null(table.column(name), "") for name in _NAMED]
    for name, column in zip(_NAMED, columns):
        if pc.any(pc.match_substring(column, _JOINT)).as_py():
            raise BadValue("names without control characters are needed", found="the character 0x1f", where=name)
    columns += [table.column(name).cast(pa.string()) for name in _NUMBERS]
    joined = pc.binary_join_element_wise(
        *(column.cast(pa.large_string()) for column in (*columns, pc.fill_null(table.column("text"), ""))),
        pa.scalar(_JOINT, pa.large_string()),
    )
    return joined.combine_chunks()


def read_record(record: bytes) -> PairRow:
    """A training pair from its record."""
    criterion, group, a, b, place_a, place_b, share, ties, weight, text = record.decode().split(_JOINT, 9)
    return PairRow(criterion, group or f"{a}|{b}", a, b, text, float(share), float(ties), float(weight),
                   place_a, place_b)  # fmt: skip


class RowStore:
    """The training pairs of a run, by number."""

    def __init__(self, folder: Path) -> None:
        self._starts = np.load(folder / "starts.npy")
        self._groups = np.load(folder / "groups.npy")
        self._file = os.open(folder / "rows.bin", os.O_RDONLY)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> PairRow:
        start, end = self._starts[number].item(), self._starts[number + 1].item()
        return read_record(os.pread(self._file, end - start, start))

    def order(self, seed: int, epoch: int, *, pool: int | None, whole_groups: bool) -> NDArray[np.uint32]:
        """The numbers of all pairs in the order of an epoch; `pool` is how many are mixed at a time, None: all."""
        rng = np.random.default_rng([seed, epoch])
        if pool is None or pool >= len(self):
            numbers = np.arange(len(self), dtype=np.uint32)
            rng.shuffle(numbers)
            return numbers
        sizes = self._groups if whole_groups else _cut(len(self), max(1, min(RUN, pool // 16)))
        return pooled_order(sizes, pool, rng)


def pooled_order(sizes: NDArray[np.int64], pool: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    """Groups of `sizes` in random order; as soon as `pool` rows have come together, they are mixed."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    order, first, filled = np.empty(int(starts[-1]), np.uint32), 0, 0
    for group in rng.permutation(len(sizes)).tolist():
        size = int(sizes[group])
        order[filled : filled + size] = np.arange(starts[group], starts[group] + size, dtype=np.uint32)
        filled += size
        if filled - first >= pool:
            rng.shuffle(order[first:filled])
            first = filled
    rng.shuffle(order[first:])
    return order


def _cut(rows: int, size: int) -> NDArray[np.int64]:
    return np.diff(np.append(np.arange(0, rows, size), rows))
