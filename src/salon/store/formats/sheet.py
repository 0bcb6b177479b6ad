"""A file of rows, whatever its format: column names first, then chosen columns as dictionary-encoded text.

CSV, TSV and Parquet never become Python objects: Arrow reads the chosen columns straight from a memory map.
Only when Arrow refuses a file is it read again row by row, to name the line that is wrong.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from salon.errors import BadColumns, BadFile, BadValue
from salon.store.formats import text as texts
from salon.store.formats.source import Source
from salon.store.parquet_table import check_rows

DELIMITERS = ",\t;|"
CELL = pa.dictionary(pa.int32(), pa.string())
_BLOCK = 1 << 24
_INDEX_BYTES = 4
_ARROW_ERRORS = (pa.ArrowException, UnicodeError, ValueError, OSError)


@dataclass(frozen=True)
class Sheet:
    """A file whose columns are known and whose cells are read on demand."""

    path: Path
    names: list[str]
    load: Callable[[Sequence[str]], pa.Table]

    def read(self, columns: Sequence[str]) -> pa.Table:
        """The named columns as `CELL`: every distinct text once and a number a row; blank cells are null."""
        table = self.load(list(dict.fromkeys(columns)))
        if not table.num_rows:
            raise BadFile(
                "a file with rows is needed",
                found="column names and no rows",
                where=str(self.path),
                remedy=texts.NO_ROWS,
            )
        return table


def open_sheet(
    source: Source, path: Path, *, header: Sequence[str] | None = None, delimiter: str | None = None
) -> Sheet:
    """The rows of a CSV, TSV, JSON, JSONL or Parquet file, told apart by what they hold.

    `header` names the columns of a delimited file that has no first line of names.
    """
    texts.check_file(path)
    start = texts.read_bytes(path, 1 << 16)
    if start.startswith(b"PAR1"):
        return _open_parquet(path)
    if header is None and _looks_like_json(start):
        return _open_json(source, path)
    return _open_csv(source, path, header=header, delimiter=delimiter)


def _looks_like_json(start: bytes) -> bool:
    bare = start.removeprefix(texts.UTF8_BOM).replace(b"\0", b"").lstrip(b"\xff\xfe \t\r\n")
    return bare[:1] in (b"{", b"[")


# -- delimited text --------------------------------------------------------------------------------------------


def _open_csv(source: Source, path: Path, *, header: Sequence[str] | None, delimiter: str | None) -> Sheet:
    data = _utf8_buffer(source, path)
    first = _first_line(data, path)
    mark = delimiter or _delimiter(first, path)
    names = list(header) if header is not None else _split(first, mark, path)
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadColumns("each column may stand once", found=f"{twice!r} twice", where=str(path))
    return Sheet(path, names, lambda columns: _load_csv(data, path, names, columns, mark, header is None))


def _split(line: str, delimiter: str, path: Path) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error as error:
        raise BadFile("a first line of column names is needed", found=str(error), where=str(path)) from None


def _utf8_buffer(source: Source, path: Path) -> pa.Buffer:
    """The file as UTF-8 bytes: mapped when it is UTF-8 already, decoded and encoded again when not."""
    start = texts.read_bytes(path, 4)
    encoding = texts.text_encoding(start, source.options.policies.encoding, path)
    if texts.is_gzip(path) or encoding != "utf-8":
        raw = texts.read_bytes(path)
        return pa.py_buffer(raw) if encoding == "utf-8" else pa.py_buffer(texts.decode(source, path, raw).encode())
    with pa.memory_map(str(path)) as file:
        return file.read_buffer()


def _first_line(data: pa.Buffer, path: Path) -> str:
    """The first line that is not blank; a quoted name may itself span lines."""
    start = data.slice(0, min(data.size, 1 << 20)).to_pybytes()
    try:
        text = start.decode("utf-8", "strict" if data.size <= len(start) else "ignore")
    except UnicodeDecodeError as error:
        raise texts.not_text(path, "utf-8", error.start, start) from None
    lines = io.StringIO(text.lstrip("\r\n"), newline="").readlines()
    if not lines or not text.strip():
        raise BadFile("a file with rows is needed", found="only blank space", where=str(path), remedy=texts.NO_ROWS)
    header = lines[0]
    while header.count('"') % 2 and len(header) < len(text) and len(lines) > 1:
        header += lines.pop(1)
    return header.rstrip("\r\n")


def _delimiter(header: str, path: Path) -> str:
    bare = "".join(header.split('"')[::2])  # what stands outside quotes
    if path.suffix.lower() in (".tsv", ".tab") and ("\t" in bare or not any(mark in bare for mark in DELIMITERS)):
        return "\t"
    return max(DELIMITERS, key=bare.count)


def _load_csv(
    data: pa.Buffer,
    path: Path,
    names: list[str],
    columns: Sequence[str],
    delimiter: str,
    named: bool,
    block: int = _BLOCK,
) -> pa.Table:
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            read_options=pa_csv.ReadOptions(block_size=block, column_names=None if named else names),
            parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(names, CELL),
                include_columns=columns,
                strings_can_be_null=True,
                null_values=[""],
                quoted_strings_can_be_null=True,
            ),
        )
    except _ARROW_ERRORS as error:
        if "straddl" in str(error) and block < data.size:  # a row longer than a block
            return _load_csv(data, path, names, columns, delimiter, named, min(block * 16, 2**31 - 1))
        raise _csv_fault(data, path, delimiter, len(names), error) from None
    return table


def _csv_fault(data: pa.Buffer, path: Path, delimiter: str, width: int, error: Exception) -> BadFile:
    """Why Arrow refused the file: bytes that are not text, or the first line of another width."""
    raw = data.to_pybytes()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        return texts.not_text(path, "utf-8", fault.start, raw)
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row and len(row) != width:
                return BadFile(
                    f"every line needs {width} cells, like the first",
                    found=f"{len(row)} cells",
                    where=f"{path}, line {reader.line_num}",
                    remedy="quote cells that contain the separator, or correct the line",
                )
    except csv.Error as fault:
        return BadFile("well-formed CSV is needed", found=str(fault), where=f"{path}, line {reader.line_num}")
    return BadFile("well-formed CSV is needed", found=str(error), where=str(path))


# -- Parquet ---------------------------------------------------------------------------------------------------


def _open_parquet(path: Path) -> Sheet:
    try:
        schema = pq.read_schema(path)
    except _ARROW_ERRORS as error:
        raise BadFile("a readable Parquet file is needed", found=str(error), where=str(path)) from None
    if len(set(schema.names)) != len(schema.names):
        raise BadColumns("each column may stand once", found=", ".join(schema.names), where=str(path))
    return Sheet(path, list(schema.names), lambda columns: _load_parquet(path, columns))


def _load_parquet(path: Path, columns: Sequence[str]) -> pa.Table:
    """The columns, every text once and a number a row: ten long texts may be named by ten million rows."""
    try:
        check_rows(path)
        metadata = pq.read_metadata(path)
        leaves = [metadata.schema.column(number) for number in range(len(metadata.schema))]
        if _unpacked(metadata, [_belongs(leaf, columns) for leaf in leaves]) > texts.MOST_UNPACKED:
            raise texts.unpacks_to_more(path, "split it into files of fewer rows if that is what you want")
        named = [leaf.path for leaf in leaves if leaf.path in columns and leaf.physical_type == "BYTE_ARRAY"]
        table = pq.read_table(path, columns=list(columns), partitioning=None, read_dictionary=named)
        table.validate(full=True)
    except (*_ARROW_ERRORS, MemoryError) as error:
        raise BadFile("a readable Parquet file is needed", found=str(error), where=str(path)) from None
    return pa.table({name: _as_text(table.column(name), name, path) for name in columns})


def _belongs(leaf: pq.ColumnSchema, columns: Sequence[str]) -> bool:
    """True for one of the columns, or a leaf inside one: `ranks.list.element`."""
    return any(leaf.path == name or leaf.path.startswith(f"{name}.") for name in columns)


def _unpacked(metadata: pq.FileMetaData, wanted: Sequence[bool]) -> int:
    """Bytes that the wanted leaves will take: what their pages hold, and a number a value, however well that packs."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    chunks = (group.column(number) for group in groups for number, chosen in enumerate(wanted) if chosen)
    return sum(chunk.total_uncompressed_size + _INDEX_BYTES * chunk.num_values for chunk in chunks)


def _as_text(column: pa.ChunkedArray, name: str, path: Path) -> pa.ChunkedArray:
    """A column of any plain type as text; lists and structs as JSON; blank text as null."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_struct(kind):
        return _cells([_json_cell(value) for value in column.to_pylist()])
    try:
        encoded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
        return pa.chunked_array([_text_chunk(chunk) for chunk in encoded.chunks], CELL)
    except _ARROW_ERRORS:
        raise BadValue(
            "a column of text or numbers is needed", found=f"column {name!r} of {kind}", where=str(path)
        ) from None


def _text_chunk(chunk: pa.DictionaryArray) -> pa.DictionaryArray:
    """One chunk with its dictionary as text, so that ten million numbers are written out only once each."""
    dictionary = chunk.dictionary.cast(pa.string())
    indices = chunk.indices.cast(pa.int32())
    blank = pc.index(dictionary, "").as_py()
    if blank >= 0:
        indices = pc.if_else(pc.equal(indices, blank), pa.scalar(None, pa.int32()), indices)
    if dictionary.null_count:
        indices = pc.if_else(
            pc.is_in(indices, pc.indices_nonzero(pc.is_null(dictionary)).cast(pa.int32())), None, indices
        )
        dictionary = dictionary.fill_null("")
    return pa.DictionaryArray.from_arrays(indices, dictionary)


def _cells(values: list[str | None]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, pa.string()).dictionary_encode()], CELL)


# -- JSON ------------------------------------------------------------------------------------------------------


def _open_json(source: Source, path: Path) -> Sheet:
    records = texts.read_records(source, path)
    names = list(dict.fromkeys(name for record in records for name in record))
    return Sheet(path, names, lambda columns: _load_json(records, path, columns))


def _load_json(records: list[dict[str, Any]], path: Path, columns: Sequence[str]) -> pa.Table:
    cells = {name: [_json_cell(record.get(name)) for record in records] for name in columns}
    try:
        return pa.table({name: _cells(values) for name, values in cells.items()})
    except (*_ARROW_ERRORS, OverflowError) as error:
        raise BadFile("JSON with Unicode text is needed", found=str(error), where=str(path)) from None


def _json_cell(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
