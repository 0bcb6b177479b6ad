"""Labelled pairs off a Parquet file as they are needed: a million cost no more memory than a thousand.

The file has the columns of `salon labels` (docs/guide/labels.md). Row groups are taken in a random order, their rows
pass through a buffer from which they are drawn at random, and pictures are read when their pair is due. All of it
follows from the seed and the epoch, so a run can go on in the middle, and every process sees the same pairs: of a step,
process p of P takes pairs p, p + P, p + 2P ...
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from salon.errors import BadFile, BadValue
from salon.store.pictures import read_picture
from salon.train.reward_settings import RewardSettings

T = TypeVar("T")
U = TypeVar("U")

ONE_CRITERION = "preference"
"""What the criterion of a file without that column is called."""
_ROWS = 8192
"""Rows read at a time."""
_TEXTS = ("criterion", "group", "image_a", "image_b", "text", "rater")
_NUMBERS = ("share", "votes", "for_a", "for_b", "ties", "agreement", "p_max")
_LABELS = pa.array(["b", "tie", "a"])


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


@dataclass(frozen=True)
class PairFile:
    """A Parquet file of labelled pairs, with pictures below `images`."""

    path: Path
    images: Path
    settings: RewardSettings
    criteria: tuple[str, ...] = ()
    """Those to learn; all when none are named."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What criteria are called, where that is not their id."""
    rater_weights: Mapping[str, float] = field(default_factory=dict)

    def training(self, rows: int, *, start: int) -> Iterator[PairRow]:
        """Training pairs without end, epoch after epoch of `rows`, from pair number `start` on."""
        epoch, skip = divmod(start, rows)
        while True:
            rng = np.random.default_rng([self.settings.seed, epoch])
            tables = _shuffled(self.training_tables(rng), self.settings.shuffle, rng)
            yield from pair_rows(_skipped(tables, skip))
            epoch, skip = epoch + 1, 0

    def training_tables(self, rng: np.random.Generator | None = None) -> Iterator[pa.Table]:
        """The training pairs of one epoch, a few thousand at a time."""
        return (self.learned(table, "train") for table in self.tables(rng))

    def validation(self) -> pa.Table:
        """The first validation pairs, in the order of the file; of rows of raters, each pair once, with its share."""
        found: list[pa.Table] = []
        for table in self.tables():
            found.append(self.learned(table, "validation"))
            if sum(len(part) for part in found) >= self.settings.validate_pairs:
                break
        table = pa.concat_tables(found)
        if self.settings.labels == "raters":
            table = _once(table)
        return table.slice(0, self.settings.validate_pairs)

    def pictures(self) -> list[str]:
        """The pictures of all pairs that shape a model: those of training and validation."""
        columns = (kept.column(name) for kept in self._not_test() for name in ("image_a", "image_b"))
        return list(dict.fromkeys(name for column in columns for name in column.unique().to_pylist()))

    def texts(self) -> Iterator[str]:
        """The texts of the same pairs; one that comes back after a while is told again."""
        for kept in self._not_test():
            yield from kept.column("text").drop_null().unique().to_pylist()

    def _not_test(self) -> Iterator[pa.Table]:
        for table in self.tables():
            kept = self.learned(table)
            yield kept.filter(pc.not_equal(kept.column("split"), "test"))

    def tables(self, rng: np.random.Generator | None = None) -> Iterator[pa.Table]:
        """The rows of the criteria to learn, a few thousand at a time; with `rng`, row groups in random order."""
        with opened(self.path) as file:
            wanted = [name for name in (*_TEXTS, *_NUMBERS, "split", "label") if name in file.schema_arrow.names]
            groups = np.arange(file.num_row_groups) if rng is None else rng.permutation(file.num_row_groups)
            for group in groups.tolist():
                for batch in file.iter_batches(_ROWS, row_groups=[group], columns=wanted):
                    table = _whole(pa.Table.from_batches([batch]))
                    named = pc.is_in(table.column("criterion"), pa.array(self.criteria, pa.string()))
                    yield table.filter(named) if self.criteria else table

    def learned(self, table: pa.Table, split: str | None = None) -> pa.Table:
        """The rows that are sure enough, of one split or all, with their targets and weights."""
        if split is not None:
            table = table.filter(pc.equal(table.column("split"), split))
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


# -- columns ---------------------------------------------------------------------------------------------------------


def opened(path: Path) -> pq.ParquetFile:
    """The file, read as it is needed; BadFile where it is no Parquet."""
    try:
        return pq.ParquetFile(path, memory_map=True)
    except (OSError, pa.ArrowException) as error:
        raise BadFile("a Parquet file of labels is needed", found=str(error).split("\n")[0], where=str(path)) from None


def _whole(table: pa.Table) -> pa.Table:
    """Every column there may be: texts as text, numbers as numbers, what is missing as its neutral value."""
    count = table.num_rows
    absent = {"criterion": pa.array([ONE_CRITERION] * count), "split": pa.array(["train"] * count)}
    columns: dict[str, Any] = {}
    for name in (*_TEXTS, "split", "label"):
        columns[name] = table.column(name).cast(pa.string()) if name in table.column_names else absent.get(name)
        if columns[name] is None:
            columns[name] = pa.nulls(count, pa.string())
    for name in _NUMBERS:
        there = name in table.column_names
        columns[name] = table.column(name).cast(pa.float64()) if there else pa.nulls(count, pa.float64())
    return pa.table(columns).combine_chunks()


def _targets(table: pa.Table, labels: str) -> np.ndarray:
    if labels == "soft":
        target = table.column("share").to_numpy().astype(float)
        if not ((target >= 0) & (target <= 1)).all():
            raise BadValue(
                "a share of votes lies between 0 and 1", found=f"{target[~((target >= 0) & (target <= 1))][0]}"
            )
        return target
    places = pc.index_in(table.column("label"), _LABELS)
    if places.null_count:
        found = table.column("label").filter(pc.is_null(places))[0].as_py()
        raise BadValue("a label is a, b or tie", found=repr(found))
    return places.to_numpy().astype(float) / 2


def _tied(table: pa.Table, labels: str) -> np.ndarray:
    """Share of the votes that are ties; of one vote or a majority, whether it is one."""
    if labels != "soft":
        return pc.equal(table.column("label"), "tie").to_numpy().astype(float)
    share = pc.divide(table.column("ties"), table.column("votes"))
    return pc.fill_null(share, 0.0).to_numpy().astype(float)


def _once(votes: pa.Table) -> pa.Table:
    """Votes as pairs: the first row of each, with the share of all its votes for target."""
    keys = list(zip(*(votes.column(name).to_pylist() for name in ("criterion", "image_a", "image_b"))))
    first = list({key: place for place, key in reversed(list(enumerate(keys)))}.values())[::-1]
    pairs = votes.take(pa.array(first, pa.int64()))
    return pairs.set_column(pairs.schema.get_field_index("target"), "target", pairs.column("share"))


# -- order -----------------------------------------------------------------------------------------------------------


def _shuffled(tables: Iterable[pa.Table], size: int, rng: np.random.Generator) -> Iterator[pa.Table]:
    """The same rows, drawn at random out of a buffer of `size`."""
    pool: pa.Table | None = None
    for table in tables:
        pool = table if pool is None else pa.concat_tables([pool, table]).combine_chunks()
        pool = pool.take(pa.array(rng.permutation(pool.num_rows)))
        if pool.num_rows > size:
            yield pool.slice(size)
            pool = pool.slice(0, size)
    if pool is not None:
        yield pool


def _skipped(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    for table in tables:
        if rows < table.num_rows:
            yield table.slice(rows)
        rows = max(0, rows - table.num_rows)


def pair_rows(tables: Iterable[pa.Table]) -> Iterator[PairRow]:
    """The rows of tables, one by one."""
    names = ("criterion", "group", "image_a", "image_b", "text", "target", "tied", "weight")
    for table in tables:
        for start in range(0, table.num_rows, _ROWS):
            part = table.slice(start, _ROWS)
            for row in zip(*(part.column(name).to_pylist() for name in names)):
                criterion, group, a, b, text, target, tied, weight = row
                yield PairRow(criterion, group or f"{a}|{b}", a, b, text or "", target, tied, weight)


# -- pictures --------------------------------------------------------------------------------------------------------


def read_pair(row: PairRow, images: Path) -> tuple[Any, Any]:
    """The two pictures of a pair, decoded; BadFile names one that is broken."""
    return read_picture(images / row.image_a).image, read_picture(images / row.image_b).image


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
