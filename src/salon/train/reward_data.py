"""Labelled pairs as they are needed: a million cost hardly more memory than a thousand.

The source has the columns of `salon labels` (docs/guide/labels.md), in one file or many (`pair_shards`). It is read
once, from its first row to its last. Training pairs are written to a file beside the run, from which they are drawn in
a random order (`pair_order`); their pictures are read when a pair is due (`pair_pictures`). The order follows from the
seed, so a run can go on in the middle, and every process sees the same pairs: of a step, process p of P takes pairs
p, p + P, p + 2P ...
"""

from __future__ import annotations

import hashlib
import json
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

from salon.errors import BadValue
from salon.store.atomic import whole_folder, write_json
from salon.train.guard_log import GuardLog
from salon.train.pair_order import PairRow, RowStore, RowWriter
from salon.train.pair_pictures import PICTURED, ParquetPictures, Pictures, SpanPictures, open_pictures
from salon.train.pair_shards import ROWS, PairShards, Part
from salon.train.reward_settings import RewardSettings

T = TypeVar("T")
U = TypeVar("U")

ONE_CRITERION = "preference"
"""What the criterion of a file without that column is called."""
GUARDED = ("prompt", "item", "item_a", "item_b", "image")
"""Further columns whose values may not stand on two sides of the split."""
STORED = "pairs"
"""Folder in a run with its training pairs, its validation pairs and what is known of them."""
_TEXTS = ("criterion", "group", "image_a", "image_b", "text", "rater")
_NUMBERS = ("share", "votes", "for_a", "for_b", "ties", "agreement", "p_max")
_SHAPING = ("labels", "weigh", "confident", "validate_pairs")
"""Settings that decide which pairs are learned from."""
_LABELS = pa.array(["b", "tie", "a"])


class Gathered(NamedTuple):
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
    def pictures(self) -> Pictures:
        """Where pictures are read from."""
        return open_pictures(self.shards, self.images, self.run)

    # -- what is learned from ----------------------------------------------------------------------------------------

    def training(self, *, start: int) -> Iterator[PairRow]:
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

    def drawn(self, count: int) -> Iterator[PairRow]:
        """The training pairs, each once, that the first `count` draws are among."""
        numbers = np.sort(self.order(0)[:count]) if count < len(self.store) else range(len(self.store))
        return (self.store[number] for number in numbers)

    @cached_property
    def pool(self) -> int | None:
        """Training pairs that are mixed at a time; None for all."""
        asked = self.settings.shuffle
        if not isinstance(self.pictures, ParquetPictures):
            return asked
        return min(self.pictures.rows_at_once(), asked or len(self.store))

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
            return self.run / STORED
        temporary = tempfile.mkdtemp(prefix="salon-")
        weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
        return Path(temporary) / STORED

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

    def tables(self) -> Iterator[Gathered]:
        """All rows, a few thousand at a time, every column as text or number, pictures as names and places."""
        columns = [name for name in (*_TEXTS, *_NUMBERS, "split", "label") if name in self.shards.names]
        columns += [name for name in GUARDED if name in self.shards.names and _is_text(self.shards.schema, name)]
        waiting: list[pa.Table] = []
        group = (0, 0)
        for part in self.shards.parts(columns):
            apart = self._whole_groups and group != (part.shard, part.group)
            if waiting and (apart or sum(table.num_rows for table in waiting) >= ROWS):
                yield Gathered(group, pa.concat_tables(waiting).combine_chunks())
                waiting = []
            group = part.shard, part.group
            waiting.append(self._whole(part))
        if waiting:
            yield Gathered(group, pa.concat_tables(waiting).combine_chunks())

    def _whole(self, part: Part) -> pa.Table:
        """Every column there may be: texts as text, numbers as numbers, what is missing as its neutral value."""
        table, count = part.table, part.table.num_rows
        absent = {"criterion": ONE_CRITERION, "split": self.shards.split_of(part.shard)}
        columns: dict[str, Any] = {}
        for side, name in zip("ab", PICTURED):
            columns[name], columns[f"place_{side}"] = self.pictures.places(part, name)
        for name in (*_TEXTS, "split", "label"):
            if name in table.column_names and name not in PICTURED:
                columns[name] = table.column(name).cast(pa.string())
            elif name not in columns:
                columns[name] = pa.array([absent.get(name)] * count, pa.string())
        for name in _NUMBERS:
            there = name in table.column_names
            columns[name] = table.column(name).cast(pa.float64()) if there else pa.nulls(count, pa.float64())
        return pa.table(columns | {name: table.column(name).cast(pa.string()) for name in GUARDED
                                   if name in table.column_names})  # fmt: skip

    def learned(self, table: pa.Table) -> pa.Table:
        """The rows of the criteria to learn that are sure enough, with their targets and weights."""
        if self.criteria:
            table = table.filter(pc.is_in(table.column("criterion"), pa.array(self.criteria, pa.string())))
        enough = pc.greater_equal(table.column("p_max"), self.settings.confident)
        table = table.filter(pc.fill_null(enough, True))  # a pair without p_max is kept, as by HPSv3
        table = table.append_column("target", pa.array(_targets(table, self.settings.labels)))
        table = table.append_column("tied", pa.array(_tied(table, self.settings.labels)))
        return table.append_column("weight", pa.array(self._weights(table)))

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
        whole = _once(pa.concat_tables(validation), pairs.settings.labels)
        pyarrow.feather.write_feather(whole.slice(0, most), str(folder / "validation.arrow"), "uncompressed")
        write_json(folder / "made_of.json", pairs._made_of())


# -- columns ---------------------------------------------------------------------------------------------------------


def _is_text(schema: pa.Schema, name: str) -> bool:
    kind = schema.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _targets(table: pa.Table, labels: str) -> np.ndarray:
    if labels == "soft":
        target: np.ndarray = table.column("share").to_numpy().astype(float)
        if not ((target >= 0) & (target <= 1)).all():
            raise BadValue(
                "a share of votes lies between 0 and 1", found=f"{target[~((target >= 0) & (target <= 1))][0]}"
            )
        return target
    places = pc.index_in(table.column("label"), _LABELS)
    if places.null_count:
        found = table.column("label").filter(pc.is_null(places))[0].as_py()
        raise BadValue("a label is a, b or tie", found=repr(found))
    return np.asarray(places.to_numpy().astype(float) / 2)


def _tied(table: pa.Table, labels: str) -> np.ndarray:
    """Share of the votes that are ties; of one vote or a majority, whether it is one."""
    if labels != "soft":
        return np.asarray(pc.equal(table.column("label"), "tie").to_numpy().astype(float))
    share = pc.divide(table.column("ties"), table.column("votes"))
    return np.asarray(pc.fill_null(share, 0.0).to_numpy().astype(float))


def _once(votes: pa.Table, labels: str) -> pa.Table:
    """Votes as pairs: the first row of each, with the share of all its votes for target."""
    if labels != "raters":
        return votes
    keys = list(zip(*(votes.column(name).to_pylist() for name in ("criterion", "image_a", "image_b"))))
    first = list({key: place for place, key in reversed(list(enumerate(keys)))}.values())[::-1]
    pairs = votes.take(pa.array(first, pa.int64()))
    return pairs.set_column(pairs.schema.get_field_index("target"), "target", pairs.column("share"))


# -- rows ------------------------------------------------------------------------------------------------------------


def pair_rows(tables: Iterable[pa.Table]) -> Iterator[PairRow]:
    """The rows of tables, one by one."""
    names = ("criterion", "group", "image_a", "image_b", "text", "target", "tied", "weight", "place_a", "place_b")
    for table in tables:
        for row in zip(*(table.column(name).to_pylist() for name in names)):
            criterion, group, a, b, text, target, tied, weight, *places = row
            yield PairRow(criterion, group or f"{a}|{b}", a, b, text or "", target, tied, weight, *places)


def read_pair(row: PairRow, pairs: PairFile) -> tuple[Any, Any]:
    """The two pictures of a pair, decoded; BadFile names one that is broken."""
    a = pairs.pictures.read(row.image_a, row.place_a, "image_a")
    b = pairs.pictures.read(row.image_b, row.place_b, "image_b")
    if pairs.guard is not None:
        pairs.guard.note(row.image_a, a)
        pairs.guard.note(row.image_b, b)
    return a.image, b.image


def ahead(work: Callable[[T], U], things: Iterable[T], *, threads: int, waiting: int) -> Iterator[U]:
    """`work` of each thing in their order, some of it done before it is asked for: at most `waiting` results wait."""
    with ThreadPoolExecutor(threads) as pool:
        begun: deque[Future[U]] = deque()
        try:
            for thing in things:
                begun.append(pool.submit(work, thing))
                if len(begun) > waiting:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()
