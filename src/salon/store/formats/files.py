"""Files as bytes, text, JSON records and columns; every way they can be broken has its error.

CSV, TSV and Parquet never become Python objects: Arrow reads the chosen columns from a memory map, as
dictionary-encoded text. Only when Arrow refuses a file is it read again row by row, to name the line that is wrong.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from salon.errors import BadColumns, BadFile, BadValue
from salon.store.formats.source import Source
from salon.store.parquet_table import check_rows

UTF8_BOM = codecs.BOM_UTF8
_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NO_ROWS = "see whether the export that wrote it came to its end"
HEAD_BYTES = 4_000_000
"""How much of a file is looked at to tell what it is."""
MOST_UNPACKED = 4 << 30
"""Bytes that a packed file may unpack to: a few megabytes can be made to fill any memory."""


def check_file(path: Path) -> None:
    """Raise BadFile unless `path` is a file with something in it."""
    if path.is_dir():
        raise BadFile("a file is needed", found="a folder", where=str(path), remedy="name the file inside it")
    if not path.exists():
        raise BadFile("a file is needed", found="nothing there", where=str(path), remedy="check the name")
    if not path.is_file():
        raise BadFile("a regular file is needed", found="something else", where=str(path))
    if path.stat().st_size == 0:
        raise BadFile("a file with rows is needed", found="an empty file", where=str(path), remedy=NO_ROWS)


def is_gzip(path: Path) -> bool:
    """True when the file starts as gzip files do."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def read_bytes(path: Path, limit: int = -1) -> bytes:
    """The file's bytes, the first `limit` of them if one is given; a gzipped file is unpacked."""
    check_file(path)
    if not is_gzip(path):
        with path.open("rb") as file:
            return file.read(limit)
    try:
        with gzip.open(path) as file:
            data = file.read(MOST_UNPACKED + 1 if limit < 0 else limit)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadFile("a whole gzip file is needed", found=str(error), where=str(path)) from None
    if len(data) > MOST_UNPACKED:
        raise unpacks_to_more(path, "unpack it first if that is what you want")
    return data


def unpacks_to_more(path: Path, way_out: str) -> BadFile:
    """The error for a packed file that would fill the memory."""
    return BadFile(
        f"a packed file of at most {MOST_UNPACKED:,} bytes is needed",
        found="one that unpacks to more",
        where=str(path),
        remedy=f"look at what is in it; {way_out}",
    )


def text_encoding(data: bytes, name: str | None, path: Path) -> str:
    """The encoding of a file that starts with `data`: a byte order mark, else the one given, else UTF-8."""
    if data.startswith(UTF8_BOM):
        return "utf-8-sig"
    if data.startswith(_UTF16_BOMS):
        return "utf-16"
    if name is None:
        return "utf-8"
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        raise BadValue("a known text encoding is needed", found=repr(name), where=str(path)) from None


def decode(source: Source, path: Path, data: bytes) -> str:
    """`data` as text; a byte that does not fit is named with its offset."""
    encoding = text_encoding(data, source.options.policies.encoding, path)
    if encoding in ("utf-8-sig", "utf-16"):
        source.say(f"{path.name}: a byte order mark was found and removed ({encoding.removesuffix('-sig')})")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise not_text(path, encoding.removesuffix("-sig"), error.start, data) from None
    except (UnicodeError, LookupError) as error:  # codecs that are not for text, or that fail in their own way
        raise BadFile(f"text in {encoding} is needed", found=str(error), where=str(path)) from None
    if not text.strip():
        raise BadFile("a file with rows is needed", found="only blank space", where=str(path), remedy=NO_ROWS)
    return text


def not_text(path: Path, encoding: str, offset: int, data: bytes) -> BadFile:
    """The error for a byte that is not text."""
    return BadFile(
        f"text in {encoding} is needed",
        found=f"byte 0x{data[offset]:02x} at byte offset {offset:,}",
        where=str(path),
        remedy="save the file as UTF-8, or name its encoding, e.g. --encoding latin-1",
    )


def read_text(source: Source, path: Path) -> str:
    """The whole file as text."""
    return decode(source, path, read_bytes(path))


def read_lines(source: Source, path: Path) -> list[str]:
    """The file's lines without their ends (only \\n, \\r\\n and \\r end a line)."""
    return read_text(source, path).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_records(source: Source, path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON list, of JSON lines, or a single object; anything else is a BadFile."""
    text = read_text(source, path)
    start = text.lstrip()[:1]
    records: list[Any]
    if start == "[":
        records = _parse_json(text, path)
    elif start == "{":
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        try:
            json.loads(lines[0][1])
        except (ValueError, RecursionError):  # one object that spans lines
            records = [_parse_json(text, path)]
        else:
            records = [_parse_json(line, path, number) for number, line in lines]
    else:
        raise BadFile("a JSON list of objects, or JSON lines, is needed", found=repr(start), where=str(path))
    if not records:
        raise BadFile("a file with records is needed", found="an empty list", where=str(path))
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            kind = type(record).__name__
            raise BadFile("every record must be a JSON object", found=kind, where=f"{path}, record {number}")
    return records


def _parse_json(text: str, path: Path, line: int | None = None) -> Any:
    where = str(path) if line is None else f"{path}, line {line}"
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at = f"line {error.lineno if line is None else line}, column {error.colno}"
        raise BadFile("well-formed JSON is needed", found=f"{error.msg} at {at}", where=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise BadFile("JSON of ordinary depth and numbers is needed", found=str(error), where=where) from None


# -- records, one after the other --------------------------------------------------------------------------------------


_CHUNK = 1 << 20
_BETWEEN = " \t\r\n,"
_LONGEST_RECORD = 64 << 20
"""Characters of a single record before the file is taken for broken."""


def stream_records(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON list or of JSON lines, UTF-8, gzipped or not; BadFile where there is something else."""
    decoder, rest, number = json.JSONDecoder(), "", 0
    for chunk in _chunks(path):
        rest += chunk
        if number == 0:
            rest = rest.lstrip("\ufeff" + _BETWEEN).removeprefix("[")
        place = 0
        while (start := _start(rest, place)) < len(rest) and rest[start] != "]":
            try:
                record, place = decoder.raw_decode(rest, start)
            except (json.JSONDecodeError, RecursionError) as error:
                place = start
                if len(rest) - start > _LONGEST_RECORD or isinstance(error, RecursionError):
                    raise _broken_record(path, number, str(error)) from None
                break
            number += 1
            if not isinstance(record, dict):
                raise _broken_record(path, number, type(record).__name__)
            yield record
        rest = rest[_start(rest, place) :]
    if rest.strip("]" + _BETWEEN):
        raise _broken_record(path, number, f"a record that breaks off: {rest[:40]!r}")
    if not number:
        raise BadFile("a file with records is needed", found="none", where=str(path))


def _start(text: str, place: int) -> int:
    """Where the next record begins."""
    while place < len(text) and text[place] in _BETWEEN:
        place += 1
    return place


def _chunks(path: Path) -> Iterator[str]:
    check_file(path)
    decode = codecs.getincrementaldecoder("utf-8")()
    with gzip.open(path) if is_gzip(path) else open(path, "rb") as file:
        try:
            while data := file.read(_CHUNK):
                yield decode.decode(data)
            yield decode.decode(b"", final=True)
        except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadFile("JSON in UTF-8 is needed", found=str(error), where=str(path)) from None


def _broken_record(path: Path, number: int, reason: str) -> BadFile:
    return BadFile(
        "a JSON list of objects, or JSON lines, is needed", found=reason, where=f"{path}, record {number + 1}"
    )


# -- columns -----------------------------------------------------------------------------------------------------------


DELIMITERS = ",\t;|"
CELL = pa.dictionary(pa.int32(), pa.string())
_BLOCK = 1 << 24
_INDEX_BYTES = 4
_ARROW_ERRORS = (pa.ArrowException, UnicodeError, ValueError, OSError)


@dataclass(frozen=True)
class ColumnFile:
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
                remedy=NO_ROWS,
            )
        return table


def require_columns(sheets: Sequence[ColumnFile], names: Iterable[str]) -> None:
    """BadColumns unless every file has all these columns."""
    for name in names:
        for sheet in sheets:
            if name not in sheet.names:
                raise BadColumns.missing(name, sheet.names, where=str(sheet.path))


def open_sheet(
    source: Source, path: Path, *, header: Sequence[str] | None = None, delimiter: str | None = None
) -> ColumnFile:
    """The rows of a CSV, TSV, JSON, JSONL or Parquet file, recognised by their contents.

    `header` names the columns of a delimited file that has no first line of names.
    """
    check_file(path)
    start = read_bytes(path, 1 << 16)
    if start.startswith(b"PAR1"):
        schema = _parquet_schema(path)
        if len(set(schema.names)) != len(schema.names):
            raise BadColumns("each column may stand once", found=", ".join(schema.names), where=str(path))
        return ColumnFile(path, list(schema.names), lambda columns: _load_parquet(path, columns))
    bare = start.removeprefix(UTF8_BOM).replace(b"\0", b"").lstrip(b"\xff\xfe \t\r\n")
    if header is None and bare[:1] in (b"{", b"["):
        records = read_records(source, path)
        names = list(dict.fromkeys(name for record in records for name in record))
        return ColumnFile(path, names, lambda columns: _load_json(records, path, columns))
    return _open_csv(source, path, header=header, delimiter=delimiter)


# -- delimited text --------------------------------------------------------------------------------------------


def _open_csv(source: Source, path: Path, *, header: Sequence[str] | None, delimiter: str | None) -> ColumnFile:
    # the file as UTF-8 bytes: mapped when it is UTF-8 already, decoded and encoded again when not
    start = read_bytes(path, 4)
    encoding = text_encoding(start, source.options.policies.encoding, path)
    if is_gzip(path) or encoding != "utf-8":
        raw = read_bytes(path)
        data = pa.py_buffer(raw) if encoding == "utf-8" else pa.py_buffer(decode(source, path, raw).encode())
    else:
        with pa.memory_map(str(path)) as file:
            data = file.read_buffer()
    first = _first_line(data, path)
    mark = delimiter or _delimiter(first, path)
    try:
        names = list(header) if header is not None else next(csv.reader([first], delimiter=mark), [])
    except csv.Error as error:
        raise BadFile("a first line of column names is needed", found=str(error), where=str(path)) from None
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadColumns("each column may stand once", found=f"{twice!r} twice", where=str(path))
    return ColumnFile(path, names, lambda columns: _load_csv(data, path, names, columns, mark, header is None))


def _first_line(data: pa.Buffer, path: Path) -> str:
    """The first line that is not blank; a quoted name may itself span lines."""
    start = data.slice(0, min(data.size, 1 << 20)).to_pybytes()
    try:
        text = start.decode("utf-8", "strict" if data.size <= len(start) else "ignore")
    except UnicodeDecodeError as error:
        raise not_text(path, "utf-8", error.start, start) from None
    lines = io.StringIO(text.lstrip("\r\n"), newline="").readlines()
    if not lines or not text.strip():
        raise BadFile("a file with rows is needed", found="only blank space", where=str(path), remedy=NO_ROWS)
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
    has_header: bool,
    block: int = _BLOCK,
) -> pa.Table:
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            read_options=pa_csv.ReadOptions(block_size=block, column_names=None if has_header else names),
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
            return _load_csv(data, path, names, columns, delimiter, has_header, min(block * 16, 2**31 - 1))
        raise _csv_fault(data, path, delimiter, len(names), error) from None
    return table


def _csv_fault(data: pa.Buffer, path: Path, delimiter: str, width: int, error: Exception) -> BadFile:
    """Why Arrow refused the file: bytes that are not text, or the first line of another width."""
    raw = data.to_pybytes()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        return not_text(path, "utf-8", fault.start, raw)
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


def _parquet_schema(path: Path) -> pa.Schema:
    import pyarrow.parquet as pq

    try:
        return pq.read_schema(path)
    except _ARROW_ERRORS as error:
        raise BadFile("a readable Parquet file is needed", found=str(error), where=str(path)) from None


def _load_parquet(path: Path, columns: Sequence[str]) -> pa.Table:
    """The columns, every text once and a number a row: ten long texts may be named by ten million rows."""
    import pyarrow.parquet as pq

    try:
        check_rows(path)
        metadata = pq.read_metadata(path)
        leaves = [metadata.schema.column(number) for number in range(len(metadata.schema))]
        chosen_leaves = [
            any(leaf.path == name or leaf.path.startswith(f"{name}.") for name in columns) for leaf in leaves
        ]
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        chunks = (group.column(number) for group in groups for number, chosen in enumerate(chosen_leaves) if chosen)
        unpacked = sum(chunk.total_uncompressed_size + _INDEX_BYTES * chunk.num_values for chunk in chunks)
        if unpacked > MOST_UNPACKED:
            raise unpacks_to_more(path, "split it into files of fewer rows if that is what you want")
        texts = [leaf.path for leaf in leaves if leaf.path in columns and leaf.physical_type == "BYTE_ARRAY"]
        table = pq.read_table(path, columns=list(columns), partitioning=None, read_dictionary=texts)
        table.validate(full=True)
    except (*_ARROW_ERRORS, MemoryError) as error:
        raise BadFile("a readable Parquet file is needed", found=str(error), where=str(path)) from None
    return pa.table({name: _as_text(table.column(name), name, path) for name in columns})


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


def _load_json(records: list[dict[str, Any]], path: Path, columns: Sequence[str]) -> pa.Table:
    cells = {name: [_json_cell(record.get(name)) for record in records] for name in columns}
    try:
        return pa.table({name: _cells(values) for name, values in cells.items()})
    except (*_ARROW_ERRORS, OverflowError) as error:
        raise BadFile("JSON with Unicode text is needed", found=str(error), where=str(path)) from None


def _json_cell(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


# -- the beginning of a file -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Head:
    """What can be seen of a file without reading it whole."""

    path: Path
    suffix: str
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    record: dict[str, Any] | None = None
    """The first object of a JSON file."""

    def has(self, *names: str) -> bool:
        """True when all these columns or fields are there."""
        return set(names) <= set(self.columns)


def head_of(path: Path) -> Head:
    """The head of a file; BadFile when it is not there or empty."""
    start = read_bytes(path, HEAD_BYTES)
    suffix = next((s.lower() for s in reversed(path.suffixes) if s.lower() != ".gz"), "")
    if start.startswith(b"PAR1"):
        return Head(path, suffix, columns=tuple(_parquet_schema(path).names))
    encoding = text_encoding(start, None, Path())
    text = start.decode(encoding, "replace")
    if text.lstrip()[:1] in ("[", "{"):
        record = _first_record(text)
        return Head(path, suffix, columns=tuple(record or ()), record=record)
    lines = tuple(text.replace("\r\n", "\n").split("\n", 40)[:40])
    first = next((line for line in lines if line.strip()), "")
    try:
        header = tuple(next(csv.reader([first], delimiter=max(DELIMITERS, key=first.count)), ()))
    except csv.Error:
        header = ()
    return Head(path, suffix, lines, header)


def _first_record(text: str) -> dict[str, Any] | None:
    """The first object, whether the file is a list, lines or one object; None when there is none."""
    bare = text.lstrip().removeprefix("[").lstrip()
    try:
        record, _ = json.JSONDecoder().raw_decode(bare)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None
