"""A table as CSV: text in quotes, lists as JSON text, nothing between two commas where there is no value.

`""` is a text without letters and an empty cell is no value, so nothing is lost on the way out and back.

A spreadsheet runs a cell that begins with `=`, `+`, `-`, `@` or a tab as a formula. `guard_formulas`
puts an apostrophe before such texts, and before those that begin with one; `unguard_formulas` takes it away again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from salon.errors import BadFile, BadValue, InputError
from salon.store.jsonl_table import as_json, not_utf8, text_schema
from salon.study import KINDS, TEXT

ROWS_AT_ONCE = 100_000
BLOCK = 64 << 20
"""Bytes read at once; a row must fit, and a text has at most a million characters of four bytes."""


# -- reading -----------------------------------------------------------------------------------------------


def read(kind: str, path: Path) -> pa.Table:
    """The table in `path`, read by Arrow; lines are only looked at in Python to say what is wrong."""
    lists = [name for name, dtype in KINDS[kind].columns.items() if pa.types.is_list(dtype)]
    try:
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(block_size=max(1 << 16, min(path.stat().st_size, BLOCK))),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                column_types={name: TEXT if name in lists else dtype for name, dtype in KINDS[kind].columns.items()},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, ValueError) as error:
        raise next(
            _faults(kind, path), BadFile("a CSV table with one header line is needed", found=error, where=str(path))
        ) from None
    for name in set(lists) & set(table.column_names):
        place = table.column_names.index(name)
        table = table.set_column(place, name, _parsed_lists(kind, name, table.column(place), path))
    return table


def _parsed_lists(kind: str, name: str, cells: pa.ChunkedArray, path: Path) -> pa.ChunkedArray:
    """Cells of JSON text as lists: wrapped into lines of JSONL, which Arrow reads at once."""
    if not len(cells):
        return pa.chunked_array([], text_schema(kind).field(name).type)
    flat = pc.replace_substring_regex(cells, r"[\r\n]+", " ")  # only layout: inside JSON text they are escaped
    lines = pc.binary_join_element_wise('{"v":', pc.fill_null(flat, "null"), "}", "")
    text = "\n".join(lines.to_pylist()).encode()
    options = pa.json.ParseOptions(explicit_schema=pa.schema([("v", text_schema(kind).field(name).type)]))
    try:
        parsed = pa.json.read_json(io.BytesIO(text), pa.json.ReadOptions(block_size=len(text)), options)
        if parsed.num_rows != len(cells) or parsed.column_names != ["v"]:
            raise ValueError("a cell is not one list")
    except (pa.ArrowException, ValueError) as error:
        raise BadValue(
            f"{name} must be lists as JSON text",
            found=error,
            where=f"{path}, column {name!r}",
            remedy='write a cell as "[""x1"",""x2""]"',
        ) from None
    return parsed.column("v")


def _faults(kind: str, path: Path) -> Iterator[InputError]:
    """What is wrong with the rows of `path`, in order."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                yield not_utf8(error, f"{path}:{number}")
    with open(path, encoding="utf-8-sig", newline="") as text:
        rows = csv.reader(text, strict=True)
        try:
            header = next(rows, [])
            yield from (fault for row in rows if (fault := _row_fault(kind, header, row, f"{path}:{rows.line_num}")))
        except csv.Error as error:
            yield BadFile("a CSV table is needed", found=error, where=f"{path}:{rows.line_num}")


def _row_fault(kind: str, header: list[str], row: list[str], where: str) -> InputError | None:
    if not row:
        return None
    if len(row) != len(header):
        return BadFile(f"{len(header)} cells are needed, as in the header", found=f"{len(row)} cells", where=where)
    for name, cell in zip(header, row):
        dtype = KINDS[kind].columns.get(name, TEXT)
        if cell and (pa.types.is_integer(dtype) or pa.types.is_floating(dtype)):
            try:
                pa.array([cell]).cast(dtype)
            except pa.ArrowInvalid:
                return BadValue(f"{name} must be a number ({dtype})", found=repr(cell), where=where)
    return None


# -- spreadsheets ------------------------------------------------------------------------------------------


def guard_formulas(table: pa.Table) -> pa.Table:
    """`table` without a text that a spreadsheet would run as a formula."""
    return _map_texts(table, lambda cells: pc.replace_substring_regex(cells, r"^(['=+\-@\t\r\n])", r"'\1"))


def unguard_formulas(table: pa.Table) -> pa.Table:
    """What `guard_formulas` was given."""
    return _map_texts(table, lambda cells: pc.replace_substring_regex(cells, "^'", ""))


def _map_texts(table: pa.Table, change: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> pa.Table:
    for place, field in enumerate(table.schema):
        if _cell_type(field.type) == TEXT and not pa.types.is_list(field.type):
            table = table.set_column(place, field.name, change(table.column(place).cast(TEXT)))
    return table


# -- writing -----------------------------------------------------------------------------------------------


def write(kind: str, table: pa.Table, file: BinaryIO) -> None:
    """Write `table` a block of rows at a time."""
    schema = pa.schema([(name, _cell_type(table.schema.field(name).type)) for name in table.column_names])
    with pa.csv.CSVWriter(file, schema) as out:
        for start in range(0, table.num_rows, ROWS_AT_ONCE):
            out.write_table(_cells(table.slice(start, ROWS_AT_ONCE).combine_chunks(), schema))


def _cell_type(dtype: pa.DataType) -> pa.DataType:
    return TEXT if pa.types.is_list(dtype) or pa.types.is_dictionary(dtype) else dtype


def _cells(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [table.column(name).combine_chunks() for name in table.column_names]
    cells = [
        as_json(column) if pa.types.is_list(column.type) else column.cast(_cell_type(column.type)) for column in columns
    ]
    return pa.table(cells, schema=schema)
