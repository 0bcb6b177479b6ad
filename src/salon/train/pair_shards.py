"""Files of labelled pairs: one Parquet or Arrow file, or a folder of them, read a few thousand rows at a time.

    labels.parquet                one file
    shards/*.parquet              many, in the order of their names; also *.arrow and *.feather

Arrow files are IPC files (Feather) or IPC streams, as `datasets` saves them. Their pieces are called groups here: row
groups of Parquet, record batches of Arrow. Without a column `split`, files called train-*, validation-* and test-*, as
`datasets` exports them, are these splits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from salon.errors import BadColumns, BadFile
from salon.store.atomic import write_json
from salon.store.near_pictures import content_hash
from salon.study.split import SPLITS

ENDINGS = (".parquet", ".arrow", ".feather")
ROWS = 8192
"""Rows read at a time."""
_PICTURED_ROWS = 64
"""The same where their pictures are among them."""
_BUFFER = 1 << 20


class Part(NamedTuple):
    """Some rows that follow each other in a group."""

    shard: int
    group: int
    first: int
    """Row of the group that the table begins with."""
    table: pa.Table
    address: int = 0
    """Of the first byte of an Arrow file that is mapped into memory."""


class PairShards:
    """The files of a source, in the order of their names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = _files(path)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, which every file must have."""
        first, *others = (self._schema(file) for file in self.files)
        for file, schema in zip(self.files[1:], others):
            for name in first.names:
                if name not in schema.names:
                    raise BadColumns.missing(name, schema.names, where=str(file))
        return first

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return list(self.schema.names)

    @cached_property
    def has_pictures(self) -> bool:
        """Whether image_a and image_b are pictures themselves, and no names of pictures."""
        kinds = [self.schema.field(name).type for name in ("image_a", "image_b") if name in self.names]
        return len(kinds) == 2 and all(_is_picture(kind) for kind in kinds)

    def split_of(self, shard: int) -> str:
        """The split of a file where no column has it: what its name begins with, as in train-00000-of-00042.parquet."""
        return self.files[shard].name.split("-")[0] if self.is_split_by_name else "train"

    @cached_property
    def is_split_by_name(self) -> bool:
        """Whether the names of all files begin with a split."""
        return self.path.is_dir() and {file.name.split("-")[0] for file in self.files} <= set(SPLITS)

    @property
    def is_parquet(self) -> bool:
        """Whether the first file is Parquet."""
        return self.files[0].suffix == ".parquet"

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        """All rows in their order."""
        rows = _PICTURED_ROWS if self.has_pictures and "image_a" in columns else ROWS
        for number, file in enumerate(self.files):
            read = _parquet_parts if file.suffix == ".parquet" else _arrow_parts
            yield from read(number, file, list(columns), rows)

    def _schema(self, file: Path) -> pa.Schema:
        if file.suffix == ".parquet":
            with open_parquet(file) as parquet:
                return parquet.schema_arrow
        reader, _ = open_arrow(file)
        return reader.schema

    def stamp(self) -> list[list[Any]]:
        """Name, size and time of change of every file: what says, without reading, that nothing has changed."""
        return [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in self.files]

    def content_hash(self, remembered: Path | None = None) -> str:
        """The sha256 of a file; of a folder that of the lines that `sha256sum` writes of its files.

        Where `remembered` has the hash of files with the same names, sizes and times, they are not read again.
        """
        stamp = self.stamp()
        if remembered is not None and remembered.is_file():
            record = json.loads(remembered.read_text(encoding="utf-8"))
            if record["files"] == stamp:
                return str(record["sha256"])
        hashes = [content_hash(file) for file in self.files]
        lines = "".join(f"{digest}  {file.name}\n" for digest, file in zip(hashes, self.files))
        whole = hashes[0] if self.path.is_file() else hashlib.sha256(lines.encode()).hexdigest()
        if remembered is not None:
            write_json(remembered, {"files": stamp, "sha256": whole})
        return whole


def is_shards(path: Path) -> bool:
    """Whether this is a file, or a folder of files, of labelled pairs, and no study."""
    if path.is_dir():
        return not (path / "study.toml").exists() and any(file.suffix in ENDINGS for file in path.iterdir())
    return path.is_file() or path.suffix in ENDINGS


def open_parquet(path: Path) -> pq.ParquetFile:
    """The file, read as it is needed; BadFile where it is no Parquet."""
    try:
        return pq.ParquetFile(path, buffer_size=_BUFFER)  # a map of the file would count as memory
    except (OSError, pa.ArrowException) as error:
        raise _no_table(path, error) from None


def open_arrow(path: Path) -> tuple[Any, int]:
    """A reader of an IPC file or stream that is mapped into memory, and the address of its first byte."""
    try:
        source = pa.memory_map(str(path))
        address = source.read_buffer().address
        try:
            return pa.ipc.open_file(source), address
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source), address
    except (OSError, pa.ArrowException) as error:
        raise _no_table(path, error) from None


def _files(path: Path) -> tuple[Path, ...]:
    if not path.is_dir():
        if not path.is_file():
            raise BadFile(
                "a study folder, a Parquet file of labels or a folder of them is needed", found="nothing",
                where=str(path),
            )  # fmt: skip
        return (path,)
    files = sorted(file for file in path.iterdir() if file.suffix in ENDINGS and not file.name.startswith("."))
    if (path / "state.json").is_file():  # of `datasets`, which keeps what it worked out in the same folder
        state = json.loads((path / "state.json").read_text(encoding="utf-8"))
        files = [path / record["filename"] for record in state.get("_data_files", ())] or files
    endings = {file.suffix for file in files}
    if len(endings) != 1:
        raise BadFile(
            "a folder of Parquet or of Arrow files is needed",
            found=" and ".join(f"*{ending}" for ending in sorted(endings)) or "none",
            where=str(path),
            remedy="put files of one kind into a folder of their own",
        )
    return tuple(files)


def _is_picture(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return "bytes" in [field.name for field in kind]
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _parquet_parts(number: int, file: Path, columns: list[str], rows: int) -> Iterator[Part]:
    with open_parquet(file) as parquet:
        for group in range(parquet.num_row_groups):
            first = 0
            for batch in parquet.iter_batches(rows, row_groups=[group], columns=columns):
                yield Part(number, group, first, pa.Table.from_batches([batch]))
                first += batch.num_rows


def _arrow_parts(number: int, file: Path, columns: list[str], rows: int) -> Iterator[Part]:
    reader, address = open_arrow(file)
    for group, batch in enumerate(_batches(reader)):
        for first in range(0, batch.num_rows, rows):
            table = pa.Table.from_batches([batch.slice(first, rows)]).select(columns)
            yield Part(number, group, first, table, address)


def _batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)


def _no_table(path: Path, error: Exception) -> BadFile:
    return BadFile(
        "a Parquet file of labels is needed, or an Arrow file", found=str(error).split("\n")[0], where=str(path)
    )
