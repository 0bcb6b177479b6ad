"""Labelled pairs as they are needed: a million cost hardly more memory than a thousand.

The source has the columns of `salon labels` (docs/guide/labels.md), in one file or many (`pair_files`). It is read
once, from its first row to its last. Training pairs are written to a file beside the run and drawn from it in random
order; their pictures are read when a pair is due. The order follows from the seed and the epoch, so a run can be
resumed in the middle, and every process sees the same pairs: of a step, process p of P takes p, p + P, p + 2P ...

    FOLDER/rows.bin      one record for each training pair: its texts, joined
    FOLDER/starts.npy    where each record begins
    FOLDER/groups.npy    how many of them each group of the source gave

A record is found by its number, so an epoch is a random permutation of all pairs. In memory are 8 bytes a pair for
`starts` and 4 for the order. Where pictures are inside Parquet, or where `shuffle` says so, pairs are drawn from a
pool: groups come in random order, as many as make a pool are mixed, then the next ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
from numpy.typing import NDArray

from salon.errors import BadValue
from salon.store import whole_folder, write_json
from salon.train.name_hashes import GuardLog
from salon.train.pair_files import (
    PICTURE_COLUMNS,
    ROWS,
    PairPictures,
    PairShards,
    ParquetPictures,
    ShardPart,
    SpanPictures,
    open_pictures,
)
from salon.train.settings import RewardSettings

T = TypeVar("T")
U = TypeVar("U")

ONE_CRITERION = "preference"
"""What the criterion of a file without that column is called."""
GUARDED_COLUMNS = ("prompt", "item", "item_a", "item_b", "image")
"""Further columns whose values may not stand on two sides of the split."""
PAIRS_FOLDER = "pairs"
"""Folder in a run with its training pairs, its validation pairs and what is known of them."""
_TEXTS = ("criterion", "group", "image_a", "image_b", "text", "rater")
_NUMBERS = ("share", "votes", "for_a", "for_b", "ties", "agreement", "p_max")
_SHAPING = ("labels", "weigh", "confident", "validate_pairs")
"""Settings that decide which pairs are learned from."""
_LABELS = pa.array(["b", "tie", "a"])


class SourceRows(NamedTuple):
    """Rows of the source, some thousand where there are as many."""

    group: tuple[int, int]
    """File and group of the last of them; of all of them where pictures are inside Parquet."""
    table: pa.Table


@dataclass(frozen=True)
class PairFile:
    """Labelled pairs in a file or a folder of files, with pictures below `images` where they are not inside."""

    path: Path
    images: Path
    settings: RewardSettings
    criteria: tuple[str, ...] = ()
    """Those to learn; all when none are named."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What criteria are called, where that is not their id."""
    rater_weights: Mapping[str, float] = field(default_factory=dict)
    run: Path | None = None
    """Folder of the run, where rows are kept; a temporary one without it."""
    guard: GuardLog | None = None
    """What remembers the pictures that were read."""

    @cached_property
    def shards(self) -> PairShards:
        """The files."""
        return PairShards(self.path)

    @cached_property
    def pictures(self) -> PairPictures:
        """Where pictures are read from."""
        return open_pictures(self.shards, self.images, self.run)

    # -- what is learned from ----------------------------------------------------------------------------------------

    def training(self, *, start: int) -> Iterator[LabeledPair]:
        """Training pairs without end, epoch after epoch, from pair number `start` on."""
        store = self.store
        epoch, skip = divmod(start, len(store))
        while True:
            for number in self.order(epoch)[skip:]:
                yield store[number]
            epoch, skip = epoch + 1, 0

    def order(self, epoch: int) -> np.ndarray:
        """The numbers of all training pairs in the order of an epoch."""
        return self.store.order(self.settings.seed, epoch, pool=self.pool, whole_groups=self._whole_groups)

    def drawn(self, count: int) -> Iterator[LabeledPair]:
        """The training pairs, each once, that the first `count` draws are among."""
        numbers = np.sort(self.order(0)[:count]) if count < len(self.store) else range(len(self.store))
        return (self.store[number] for number in numbers)

    @cached_property
    def pool(self) -> int | None:
        """Training pairs that are mixed at a time; None for all."""
        requested = self.settings.shuffle
        if not isinstance(self.pictures, ParquetPictures):
            return requested
        return min(self.pictures.rows_at_once(), requested or len(self.store))

    @property
    def _whole_groups(self) -> bool:
        return isinstance(self.pictures, ParquetPictures)

    def validation(self) -> pa.Table:
        """The first validation pairs, in the order of the source; of rows of raters, each pair once, with its share."""
        return pyarrow.feather.read_table(self.stored / "validation.arrow", memory_map=False)

    @cached_property
    def store(self) -> RowStore:
        """The training pairs by number."""
        return RowStore(self.stored)

    @cached_property
    def stored(self) -> Path:
        """The folder with the pairs to learn from, written if it is not there."""
        if not self.is_stored():
            store_pairs(self)
        return self._place

    @cached_property
    def _place(self) -> Path:
        if self.run is not None:
            return self.run / PAIRS_FOLDER
        temporary = tempfile.mkdtemp(prefix="salon-")
        weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
        return Path(temporary) / PAIRS_FOLDER

    def is_stored(self) -> bool:
        """Whether the folder has the pairs of these very files and settings."""
        made_of = self._place / "made_of.json"
        return made_of.is_file() and json.loads(made_of.read_text(encoding="utf-8")) == self._made_of()

    def _made_of(self) -> dict[str, Any]:
        spans = self.pictures.files if isinstance(self.pictures, SpanPictures) else ()
        weights = json.dumps(sorted(self.rater_weights.items()))
        return {
            "files": [str(self.path.absolute()), *self.shards.stamp()],
            "images": str(self.images.absolute()),
            "spans": [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in spans],
            "settings": {name: getattr(self.settings, name) for name in _SHAPING},
            "criteria": list(self.criteria),
            "rater_weights": hashlib.sha256(weights.encode()).hexdigest(),
        }

    # -- the source --------------------------------------------------------------------------------------------------

    def tables(self) -> Iterator[SourceRows]:
        """All rows, a few thousand at a time, every column as text or number, pictures as names and places."""
        columns = [name for name in (*_TEXTS, *_NUMBERS, "split", "label") if name in self.shards.names]
        for name in GUARDED_COLUMNS:
            if name in self.shards.names:
                kind = self.shards.schema.field(name).type
                kind = kind.value_type if pa.types.is_dictionary(kind) else kind
                columns += [name] * (pa.types.is_string(kind) or pa.types.is_large_string(kind))
        waiting: list[pa.Table] = []
        group = (0, 0)
        for part in self.shards.parts(columns):
            apart = self._whole_groups and group != (part.shard, part.group)
            if waiting and (apart or sum(table.num_rows for table in waiting) >= ROWS):
                yield SourceRows(group, pa.concat_tables(waiting).combine_chunks())
                waiting = []
            group = part.shard, part.group
            waiting.append(self._whole(part))
        if waiting:
            yield SourceRows(group, pa.concat_tables(waiting).combine_chunks())

    def _whole(self, part: ShardPart) -> pa.Table:
        """Every column there may be: texts as text, numbers as numbers, what is missing as its neutral value."""
        table, count = part.table, part.table.num_rows
        absent = {"criterion": ONE_CRITERION, "split": self.shards.split_of(part.shard)}
        columns: dict[str, Any] = {}
        for side, name in zip("ab", PICTURE_COLUMNS):
            columns[name], columns[f"place_{side}"] = self.pictures.places(part, name)
        for name in (*_TEXTS, "split", "label"):
            if name in table.column_names and name not in PICTURE_COLUMNS:
                columns[name] = table.column(name).cast(pa.string())
            elif name not in columns:
                columns[name] = pa.array([absent.get(name)] * count, pa.string())
        for name in _NUMBERS:
            there = name in table.column_names
            columns[name] = table.column(name).cast(pa.float64()) if there else pa.nulls(count, pa.float64())
        return pa.table(columns | {name: table.column(name).cast(pa.string()) for name in GUARDED_COLUMNS
                                   if name in table.column_names})  # fmt: skip

    def learned(self, table: pa.Table) -> pa.Table:
        """The rows of the criteria to learn that are sure enough, with their targets and weights."""
        if self.criteria:
            table = table.filter(pc.is_in(table.column("criterion"), pa.array(self.criteria, pa.string())))
        enough = pc.greater_equal(table.column("p_max"), self.settings.confident)
        table = table.filter(pc.fill_null(enough, True))  # a pair without p_max is kept, as by HPSv3
        table = table.append_column("target", pa.array(self._targets(table)))
        table = table.append_column("tied", pa.array(self._tie_shares(table)))
        return table.append_column("weight", pa.array(self._weights(table)))

    def _targets(self, table: pa.Table) -> np.ndarray:
        if self.settings.labels == "soft":
            target: np.ndarray = table.column("share").to_numpy().astype(float)
            if not ((target >= 0) & (target <= 1)).all():
                raise BadValue(
                    "a share of votes lies between 0 and 1", found=f"{target[~((target >= 0) & (target <= 1))][0]}"
                )
            return target
        places = pc.index_in(table.column("label"), _LABELS)
        if places.null_count:
            label = table.column("label").filter(pc.is_null(places))[0].as_py()
            raise BadValue("a label is a, b or tie", found=repr(label))
        return np.asarray(places.to_numpy().astype(float) / 2)

    def _tie_shares(self, table: pa.Table) -> np.ndarray:
        """Share of the votes that are ties; of one vote or a majority, whether it is one."""
        if self.settings.labels != "soft":
            return np.asarray(pc.equal(table.column("label"), "tie").to_numpy().astype(float))
        share = pc.divide(table.column("ties"), table.column("votes"))
        return np.asarray(pc.fill_null(share, 0.0).to_numpy().astype(float))

    def _weights(self, table: pa.Table) -> np.ndarray:
        weight = np.ones(table.num_rows)
        if self.settings.weigh != "none":
            weight = table.column(self.settings.weigh).to_numpy().astype(float)
        if self.rater_weights:
            weight = weight * [self.rater_weights.get(rater, 1.0) for rater in table.column("rater").to_pylist()]
        if not (np.isfinite(weight) & (weight >= 0)).all():
            raise BadValue("weights must be numbers from 0 up", found=f"{weight.min()}", where=str(self.path))
        return weight


# -- once ------------------------------------------------------------------------------------------------------------


def store_pairs(
    pairs: PairFile,
    on_table: Callable[[pa.Table, pa.Table], None] = lambda table, learned: None,
    on_end: Callable[[Path], None] = lambda folder: None,
) -> None:
    """Read the source once, and write what is learned from: training pairs as records, validation pairs as a table.

    `on_table` sees all rows and those that are learned from; `on_end` may add files to the folder, or refuse it.
    """
    pairs._place.parent.mkdir(parents=True, exist_ok=True)
    most = pairs.settings.validate_pairs
    with whole_folder(pairs._place) as folder:
        validation: list[pa.Table] = []
        with RowWriter(folder) as rows:
            for group, table in pairs.tables():
                learned = pairs.learned(table)
                on_table(table, learned)
                rows.add(learned.filter(pc.equal(learned.column("split"), "train")), group)
                if sum(part.num_rows for part in validation) < most:
                    validation.append(learned.filter(pc.equal(learned.column("split"), "validation")))
        on_end(folder)
        whole = _unique_pairs(pa.concat_tables(validation), pairs.settings.labels)
        pyarrow.feather.write_feather(whole.slice(0, most), str(folder / "validation.arrow"), "uncompressed")
        write_json(folder / "made_of.json", pairs._made_of())


# -- columns ---------------------------------------------------------------------------------------------------------


def _unique_pairs(votes: pa.Table, labels: str) -> pa.Table:
    """Votes as pairs: the first row of each, with the share of all its votes for target."""
    if labels != "raters":
        return votes
    keys = list(zip(*(votes.column(name).to_pylist() for name in ("criterion", "image_a", "image_b"))))
    first = list({key: place for place, key in reversed(list(enumerate(keys)))}.values())[::-1]
    pairs = votes.take(pa.array(first, pa.int64()))
    return pairs.set_column(pairs.schema.get_field_index("target"), "target", pairs.column("share"))


# -- rows ------------------------------------------------------------------------------------------------------------


def pair_rows(tables: Iterable[pa.Table]) -> Iterator[LabeledPair]:
    """The rows of tables, one by one."""
    names = ("criterion", "group", "image_a", "image_b", "text", "target", "tied", "weight", "place_a", "place_b")
    for table in tables:
        for row in zip(*(table.column(name).to_pylist() for name in names)):
            criterion, group, a, b, text, target, tied, weight, *places = row
            yield LabeledPair(criterion, group or f"{a}|{b}", a, b, text or "", target, tied, weight, *places)


def read_pair(row: LabeledPair, pairs: PairFile) -> tuple[Any, Any]:
    """The two pictures of a pair, decoded; BadFile names one that is broken."""
    a = pairs.pictures.read(row.image_a, row.place_a, "image_a")
    b = pairs.pictures.read(row.image_b, row.place_b, "image_b")
    if pairs.guard is not None:
        pairs.guard.note(row.image_a, a)
        pairs.guard.note(row.image_b, b)
    return a.image, b.image


def read_ahead(work: Callable[[T], U], things: Iterable[T], *, threads: int, waiting: int) -> Iterator[U]:
    """`work` of each thing in their order, some of it done before it is asked for: at most `waiting` results wait."""
    with ThreadPoolExecutor(threads) as pool:
        futures: deque[Future[U]] = deque()
        try:
            for thing in things:
                futures.append(pool.submit(work, thing))
                if len(futures) > waiting:
                    yield futures.popleft().result()
            while futures:
                yield futures.popleft().result()
        finally:
            for future in futures:
                future.cancel()


# -- training pairs on disk --------------------------------------------------------------------------------------------

ROWS_TOGETHER = 1024
"""Rows that follow each other in the source and come into a pool together."""
_JOINT = "\x1f"
_RECORD_TEXTS = ("criterion", "group", "image_a", "image_b", "place_a", "place_b")
_RECORD_NUMBERS = ("target", "tied", "weight")


class LabeledPair(NamedTuple):
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
        columns = [pc.fill_null(table.column(name), "") for name in _RECORD_TEXTS]
        for name, column in zip(_RECORD_TEXTS, columns):
            if pc.any(pc.match_substring(column, _JOINT)).as_py():
                raise BadValue("names without control characters are needed", found="the character 0x1f", where=name)
        columns += [table.column(name).cast(pa.string()) for name in _RECORD_NUMBERS]
        joined = pc.binary_join_element_wise(
            *(column.cast(pa.large_string()) for column in (*columns, pc.fill_null(table.column("text"), ""))),
            pa.scalar(_JOINT, pa.large_string()),
        )
        records = joined.combine_chunks()
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


def read_record(record: bytes) -> LabeledPair:
    """A training pair from its record."""
    criterion, group, a, b, place_a, place_b, share, ties, weight, text = record.decode().split(_JOINT, 9)
    return LabeledPair(criterion, group or f"{a}|{b}", a, b, text, float(share), float(ties), float(weight),
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

    def __getitem__(self, number: int) -> LabeledPair:
        start, end = self._starts[number].item(), self._starts[number + 1].item()
        return read_record(os.pread(self._file, end - start, start))

    def order(self, seed: int, epoch: int, *, pool: int | None, whole_groups: bool) -> NDArray[np.uint32]:
        """The numbers of all pairs in the order of an epoch; `pool` is how many are mixed at a time, None: all."""
        rng = np.random.default_rng([seed, epoch])
        if pool is None or pool >= len(self):
            numbers = np.arange(len(self), dtype=np.uint32)
            rng.shuffle(numbers)
            return numbers
        if whole_groups:
            return pooled_order(self._groups, pool, rng)
        starts = range(0, len(self), max(1, min(ROWS_TOGETHER, pool // 16)))
        return pooled_order(np.diff([*starts, len(self)]), pool, rng)


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
