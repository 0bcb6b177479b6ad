"""A table as JSONL: one object per line, fields without a value left out."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from pydantic import ValidationError

from salon.errors import BadColumns, BadFile, BadValue, InputError
from salon.study import KINDS, NUMBER, REFERENCE, REFERENCES, TEXT, bad_value, conform

ROWS_AT_ONCE = 100_000
BLOCK = 16 << 20
"""Bytes read at once."""
_ONE_OBJECT = "each line must be one JSON object"
_STARTS_WELL = re.compile(rb"\s*(\{|$)")
BOM = b"\xef\xbb\xbf"


# -- reading -----------------------------------------------------------------------------------------------


def read(kind: str, path: Path) -> pa.Table:
    """The table in `path`, read in blocks by Arrow; lines are only looked at in Python to say what is wrong."""
    try:
        with open(path, "rb") as file:
            parts = [_parsed(kind, block) for block in _blocks(file)]
    except (pa.ArrowException, ValueError) as error:
        raise next(
            _faults(kind, path),
            (BadFile(_ONE_OBJECT, found=error, where=str(path), remedy="docs/data.md shows a literal example of each")),
        ) from None
    return pa.concat_tables(parts, promote_options="default") if parts else text_schema(kind).empty_table()


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """The file in blocks of whole lines, however long a line is."""
    rest = b"" if (start := file.read(3)) == BOM else start
    while data := file.read(BLOCK):
        cut = data.rfind(b"\n") + 1
        if cut:
            yield rest + data[:cut]
        rest = data[cut:] if cut else rest + data
    if rest:
        yield rest


def _parsed(kind: str, block: bytes) -> pa.Table:
    """One block with its references encoded."""
    if not _STARTS_WELL.match(block):  # Arrow crashes on a block that starts with null
        raise ValueError("a line is not a JSON object")
    options = pa.json.ParseOptions(explicit_schema=text_schema(kind), unexpected_field_behavior="error")
    table = pa.json.read_json(io.BytesIO(block), pa.json.ReadOptions(block_size=len(block) + 1), options)
    table.validate(full=True)  # Arrow accepts bytes that are no UTF-8, and NaN
    for name, dtype in KINDS[kind].columns.items():
        if dtype == NUMBER and pc.any(pc.invert(pc.is_finite(table.column(name)))).as_py():
            raise ValueError(f"{name} is not a finite number")
    return conform(kind, table)


def text_schema(kind: str) -> pa.Schema:
    """The columns of `kind` with references as the text they are in a file."""
    return pa.schema(
        [
            (name, ({REFERENCE: TEXT, REFERENCES: pa.list_(TEXT)}.get(dtype, dtype)))
            for name, dtype in KINDS[kind].columns.items()
        ]
    )


def _faults(kind: str, path: Path) -> Iterator[InputError]:
    """What is wrong with the lines of `path`, in order."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            fault = _fault(kind, line.removeprefix(BOM) if number == 1 else line, f"{path}:{number}")
            if fault:
                yield fault


def _fault(kind: str, line: bytes, where: str) -> InputError | None:
    if not line.strip():
        return None
    try:
        record = json.loads(line.decode(), object_pairs_hook=_each_once)
    except UnicodeDecodeError as error:
        return not_utf8(error, where)
    except (ValueError, RecursionError) as error:
        return BadFile(_ONE_OBJECT, found=f"{error}: {line[:80].decode(errors='replace')!r}", where=where)
    if not isinstance(record, dict):
        return BadFile(_ONE_OBJECT, found=type(record).__name__, where=where)
    return _field_fault(kind, record, where)


def _field_fault(kind: str, record: dict[str, Any], where: str) -> InputError | None:
    unknown = [name for name in record if name not in KINDS[kind].columns]
    if unknown:
        return BadColumns(
            f"{kind} have only the fields {', '.join(KINDS[kind].columns)}",
            found=f"also {', '.join(unknown)}",
            where=where,
            remedy="remove or rename it; docs/data.md shows every field",
        )
    noun = KINDS[kind].noun
    values = {name: value for name, value in record.items() if value is not None}
    try:
        noun.model_validate_json(json.dumps(values), strict=True)
    except ValidationError as error:
        return bad_value(error, noun=noun.__name__, where=where)
    except ValueError as error:
        return BadValue(f"a {noun.__name__} in UTF-8 is needed", found=error, where=where)
    return None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a field stands twice")
    return record


def not_utf8(error: UnicodeDecodeError, where: str) -> BadFile:
    """The error for bytes that are not UTF-8."""
    return BadFile(
        "text in UTF-8 is needed",
        found=f"byte 0x{error.object[error.start]:02x} at byte {error.start + 1} of the line",
        where=where,
        remedy="save the file again as UTF-8",
    )


# -- writing -----------------------------------------------------------------------------------------------


def write(kind: str, table: pa.Table, file: BinaryIO) -> None:
    """Write `table` a block of rows at a time, in columns."""
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        block = table.slice(start, ROWS_AT_ONCE).combine_chunks()
        fields: list[pa.Array] = []
        for name in block.column_names:
            text = as_json(block.column(name).combine_chunks())
            comma = "," if fields else ""  # the first column of every table is required
            field = pc.binary_join_element_wise(f'{comma}"{name}":', text, "")
            fields.append(field.fill_null(""))
        lines = pc.binary_join_element_wise("{", *fields, "}\n", "")
        file.write("".join(lines.to_pylist()).encode())


def as_json(array: pa.Array) -> pa.Array:
    """Every value as its JSON text; null stays null."""
    if pa.types.is_list(array.type):
        inside = pc.coalesce(as_json(array.flatten()), "null")
        lengths = pc.list_value_length(array).fill_null(0)
        offsets = pc.cumulative_sum(pa.concat_arrays([pa.array([0], pa.int32()), lengths]))
        joined = pc.binary_join(pa.ListArray.from_arrays(offsets, inside), ",")
        text = pc.binary_join_element_wise("[", joined, "]", "")
        return pc.if_else(array.is_null(), None, text) if array.null_count else text
    if pa.types.is_dictionary(array.type):
        return as_json(array.dictionary).take(array.indices)
    if pa.types.is_string(array.type):
        quoted = [None if text is None else json.dumps(text, ensure_ascii=False) for text in array.to_pylist()]
        return pa.array(quoted, TEXT)
    return array.cast(TEXT)
