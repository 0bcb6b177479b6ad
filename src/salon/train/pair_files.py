"""Files of labelled pairs, read a few thousand rows at a time, and where their pictures are.

    labels.parquet                one file
    shards/*.parquet              many, in the order of their names; also *.arrow and *.feather

Arrow files are IPC files (Feather) or IPC streams, as `datasets` saves them. Their pieces are called groups here: row
groups of Parquet, record batches of Arrow. Without a column `split`, files called train-*, validation-* and test-*, as
`datasets` exports them, are these splits. Pictures are

    names of files below a folder      read as they are
    names of members of tars           `__key__` and extension, as WebDataset joins them: "000012.jpg", "cats/7.a.png"
    columns of pictures                bytes, or structs of bytes and path, as the Image feature of `datasets` has them

A picture in a tar or in an Arrow file is a span of bytes in a file. It is located once and then read by its place:
WebDataset reads a tar from its first to its last byte, which would mix a pair with its neighbors only, and the two
pictures of a pair may be in two tars. A picture in Parquet is inside a compressed row group: some row groups are kept
in memory, and pairs are drawn from these alone before others are read (`RowStore.order`).
"""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from salon.engine import cores
from salon.errors import BadColumns, BadFile
from salon.store import Picture, content_hash, read_picture, whole_file, write_json
from salon.study import SPLITS
from salon.train.name_hashes import hash_names

ENDINGS = (".parquet", ".arrow", ".feather")
ROWS = 8192
"""Rows read at a time."""
_PICTURED_ROWS = 64
"""The same where their pictures are among them."""
_BUFFER = 1 << 20


class ShardPart(NamedTuple):
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
        first, *rest = (self._schema(file) for file in self.files)
        for file, schema in zip(self.files[1:], rest):
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
        return len(kinds) == 2 and all(
            "bytes" in [field.name for field in kind]
            if pa.types.is_struct(kind)
            else pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
            for kind in kinds
        )

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

    def parts(self, columns: Sequence[str]) -> Iterator[ShardPart]:
        """All rows in their order."""
        rows = _PICTURED_ROWS if self.has_pictures and "image_a" in columns else ROWS
        for number, file in enumerate(self.files):
            read = self._parquet_parts if file.suffix == ".parquet" else self._arrow_parts
            yield from read(number, list(columns), rows)

    def _parquet_parts(self, number: int, columns: list[str], rows: int) -> Iterator[ShardPart]:
        with open_parquet(self.files[number]) as parquet:
            for group in range(parquet.num_row_groups):
                first = 0
                for batch in parquet.iter_batches(rows, row_groups=[group], columns=columns):
                    yield ShardPart(number, group, first, pa.Table.from_batches([batch]))
                    first += batch.num_rows

    def _arrow_parts(self, number: int, columns: list[str], rows: int) -> Iterator[ShardPart]:
        reader, address = open_arrow(self.files[number])
        batches = reader
        if isinstance(reader, pa.ipc.RecordBatchFileReader):  # which is not iterable
            batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        for group, batch in enumerate(batches):
            for first in range(0, batch.num_rows, rows):
                table = pa.Table.from_batches([batch.slice(first, rows)]).select(columns)
                yield ShardPart(number, group, first, table, address)

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


def _no_table(path: Path, error: Exception) -> BadFile:
    return BadFile(
        "a Parquet file of labels is needed, or an Arrow file", found=str(error).split("\n")[0], where=str(path)
    )


# -- pictures ----------------------------------------------------------------------------------------------------------

PICTURE_COLUMNS = ("image_a", "image_b")
POOL_BYTES = 512 << 20
"""Of pictures in Parquet: what may be drawn from at a time. Twice that is kept: the next pool is read ahead."""
_PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif")
_SPAN = np.dtype([("name", np.uint64), ("offset", np.uint64), ("file", np.uint32), ("size", np.uint32)])


class PairPictures(Protocol):
    """Something that pictures are read from."""

    def places(self, part: ShardPart, column: str) -> tuple[pa.Array, pa.Array]:
        """The name and the place of the pictures of a column; a place is empty where the name is enough, and missing
        where there is no such picture."""
        ...

    def read(self, name: str, place: str, column: str) -> Picture:
        """A picture, decoded; BadFile names one that is broken."""
        ...


def open_pictures(shards: PairShards, images: Path, remembered: Path | None = None) -> PairPictures:
    """The pictures of these files, below `images` where they are not inside; `remembered` keeps an index of tars."""
    if shards.has_pictures:
        return ParquetPictures(shards) if shards.is_parquet else ArrowPictures(shards)
    tars = [images] if images.suffix == ".tar" else sorted(images.glob("*.tar"))
    return TarPictures(tars, remembered) if tars else FolderPictures(images)


class FolderPictures:
    """Pictures as files below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def places(self, part: ShardPart, column: str) -> tuple[pa.Array, pa.Array]:
        names = part.table.column(column).cast(pa.string()).combine_chunks()
        return names, pa.array([""] * len(names))

    def read(self, name: str, place: str, column: str) -> Picture:
        return read_picture(self.folder / name)


class SpanPictures:
    """Pictures as spans of bytes in files; a place is the number of the file, its first byte and their number."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self._opened: dict[int, int] = {}
        self._lock = threading.Lock()

    def read(self, name: str, place: str, column: str) -> Picture:
        number, offset, size = map(int, place.split(":"))
        data = os.pread(self._descriptor(number), size, offset)
        if len(data) < size:
            raise BadFile("a whole file is needed", found="it ends early", where=f"{self.files[number]}, {name}")
        return read_picture(data, f"{self.files[number]}, {name}")

    def _descriptor(self, number: int) -> int:
        with self._lock:
            if number not in self._opened:
                if len(self._opened) >= 256:  # an operating system allows a thousand or so
                    os.close(self._opened.pop(next(iter(self._opened))))
                self._opened[number] = os.open(self.files[number], os.O_RDONLY)
            return self._opened[number]

    def __del__(self) -> None:
        for descriptor in self._opened.values():
            os.close(descriptor)


class TarPictures(SpanPictures):
    """Pictures as members of tars, by their names."""

    def __init__(self, tars: Sequence[Path], remembered: Path | None = None) -> None:
        super().__init__(tars)
        self._remembered = remembered

    @cached_property
    def index(self) -> NDArray[np.void]:
        """Where every picture is, in the order of the hashes of names: 24 bytes each."""
        stamp = hashlib.sha256(repr([(str(tar), tar.stat().st_size, tar.stat().st_mtime_ns) for tar in self.files])
                               .encode()).hexdigest()[:16]  # fmt: skip
        file = None if self._remembered is None else self._remembered / f"tars-{stamp}.npy"
        if file is not None and file.is_file():
            index: NDArray[np.void] = np.load(file)
            return index
        with ThreadPoolExecutor(cores()) as threads:
            index = np.concatenate([np.empty(0, _SPAN), *threads.map(_spans, range(len(self.files)), self.files)])
        index.sort(order="name")
        if file is not None:
            with whole_file(file) as target:
                np.save(target, index)
        return index

    def places(self, part: ShardPart, column: str) -> tuple[pa.Array, pa.Array]:
        names = part.table.column(column).cast(pa.string()).combine_chunks()
        hashes, index = hash_names(names), self.index
        first = np.searchsorted(index["name"], hashes)
        there = np.minimum(first, max(0, len(index) - 1))
        is_found = index["name"][there] == hashes if len(index) else np.zeros(len(hashes), bool)
        following = np.minimum(there + 1, len(index) - 1)
        twice = is_found & (following != there) & (index["name"][following] == hashes) if len(index) else is_found
        if twice.any():
            raise BadFile(
                "every picture in the tars needs a name of its own",
                found=f"{names[int(np.flatnonzero(twice)[0])].as_py()!r} twice",
                where=str(self.files[0].parent),
                remedy="write the tars with different keys (__key__), and name these in the table",
            )
        rows = index[there].tolist() if len(index) else [(0, 0, 0, 0)] * len(there)
        return names, pa.array(
            [f"{tar}:{offset}:{size}" if ok else None for (_, offset, tar, size), ok in zip(rows, is_found)],
            pa.string(),
        )


def _spans(number: int, tar: Path) -> NDArray[np.void]:
    names, places = [], []
    try:
        with tarfile.open(tar, "r:") as members:
            while (member := members.next()) is not None:
                if member.isfile() and member.name.lower().endswith(_PICTURE_ENDINGS):
                    names.append(member.name)
                    places.append((member.offset_data, member.size))
                members.members.clear()  # type: ignore[attr-defined]  # not in its stubs; it would remember them all
    except (tarfile.TarError, OSError) as error:
        raise BadFile("an uncompressed tar of pictures is needed", found=str(error), where=str(tar),
                      remedy="gunzip it: pictures are read from the middle") from None  # fmt: skip
    spans = np.zeros(len(names), _SPAN)
    if names:
        spans["name"], spans["file"] = hash_names(pa.array(names)), number
        spans["offset"], spans["size"] = np.array(places, np.uint64).T
    return spans


class ArrowPictures(SpanPictures):
    """Pictures in columns of Arrow files, named by their content."""

    def __init__(self, shards: PairShards) -> None:
        super().__init__(shards.files)

    def places(self, part: ShardPart, column: str) -> tuple[pa.Array, pa.Array]:
        pictures, file = _bytes_of(part.table.column(column)), self.files[part.shard]
        _, offsets, data = pictures.buffers()
        first = (data.address if data else part.address) - part.address
        if not 0 <= first < file.stat().st_size:
            raise BadFile(
                "an Arrow file without compression is needed for pictures", found="a compressed one",
                where=str(file), remedy="write it with compression='uncompressed', or as Parquet",
            )  # fmt: skip
        starts = (np.frombuffer(offsets, np.int64)[pictures.offset :][: len(pictures) + 1] + first).tolist()
        there = pictures.is_valid().to_pylist()
        places = [f"{part.shard}:{start}:{end - start}" if ok else None
                  for start, end, ok in zip(starts, starts[1:], there)]  # fmt: skip
        return _content_names(pictures), pa.array(places, pa.string())


class ParquetPictures:
    """Pictures in columns of Parquet files, named by their content; a place is file, row group and row."""

    def __init__(self, shards: PairShards) -> None:
        self.files = shards.files
        self._groups: OrderedDict[tuple[int, int], dict[str, pa.Array]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def places(self, part: ShardPart, column: str) -> tuple[pa.Array, pa.Array]:
        pictures = _bytes_of(part.table.column(column))
        rows = range(part.first, part.first + len(pictures))
        places = [f"{part.shard}:{part.group}:{row}" if there else None
                  for row, there in zip(rows, pictures.is_valid().to_pylist())]  # fmt: skip
        return _content_names(pictures), pa.array(places, pa.string())

    def read(self, name: str, place: str, column: str) -> Picture:
        shard, group, row = map(int, place.split(":"))
        with self._lock:
            pictures = self._group(shard, group)[column]
        return read_picture(pictures[row].as_py(), f"{self.files[shard]}, row {row} of group {group}, {column}")

    def _group(self, shard: int, group: int) -> dict[str, pa.Array]:
        if (shard, group) not in self._groups:
            with open_parquet(self.files[shard]) as file:
                table = file.read_row_group(group, columns=list(PICTURE_COLUMNS))
            columns = {name: _bytes_of(table.column(name)) for name in PICTURE_COLUMNS}
            self._groups[shard, group] = columns
            self._bytes += sum(column.nbytes for column in columns.values())
            while self._bytes > 2 * POOL_BYTES and len(self._groups) > 1:
                _, oldest = self._groups.popitem(last=False)
                self._bytes -= sum(column.nbytes for column in oldest.values())
        self._groups.move_to_end((shard, group))
        return self._groups[shard, group]

    def rows_at_once(self) -> int:
        """Rows whose pictures make a pool."""
        size = rows = 0
        for path in self.files:
            with open_parquet(path) as file:
                for number in range(file.num_row_groups):
                    group = file.metadata.row_group(number)
                    rows += group.num_rows
                    columns = (group.column(place) for place in range(group.num_columns))
                    size += sum(column.total_uncompressed_size for column in columns
                                if column.path_in_schema.split(".")[0] in PICTURE_COLUMNS)  # fmt: skip
        return max(1, POOL_BYTES * rows // max(1, size))


def _bytes_of(column: pa.ChunkedArray) -> pa.LargeBinaryArray:
    """The bytes of a column of pictures."""
    if pa.types.is_struct(column.type):
        names = [field.name for field in column.type]
        column = pa.chunked_array([chunk.flatten()[names.index("bytes")] for chunk in column.chunks])
    column = column.cast(pa.large_binary())
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # a copy has no place in a file


def _content_names(pictures: pa.LargeBinaryArray) -> pa.Array:
    """The beginning of each picture's sha256, so that a picture is the same wherever it stands."""
    digests = (hashlib.sha256(value.as_buffer()).hexdigest()[:16] if value.is_valid else None for value in pictures)
    return pa.array(digests, pa.string())
