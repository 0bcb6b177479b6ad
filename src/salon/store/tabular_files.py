"""One table of a study as one file: Parquet, JSONL or CSV, by the ending of its name."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Self

import pyarrow as pa

from salon.errors import BadColumns, BadFile, InputError
from salon.store import csv_table, jsonl_table, parquet_table
from salon.store.atomic_files import whole_file
from salon.study import KINDS, Noun, conform, table_from_nouns

FORMS: dict[str, ModuleType] = {"parquet": parquet_table, "jsonl": jsonl_table, "csv": csv_table}
_NEVER_EMPTY = {"id", "criterion", "rater", "a", "b", "item"}
"""Columns with a value in every row: where one has none at all, the file does not have the column."""


def read_table(kind: str, path: Path, *, excel_safe: bool = False) -> pa.Table:
    """The table in `path`, references as dictionaries, every column in one piece; a CSV may be `excel_safe`.

    Raises BadFile, BadColumns or BadValue with the file (and the line, in JSONL and CSV) and what to do.
    """
    try:
        if not path.stat().st_size:
            raise BadFile(f"a table of {kind} is needed", found="an empty file", where=str(path), remedy=_NO_ROWS)
        table = FORMS[path.suffix[1:]].read(kind, path)
        table.validate(full=True)
        if excel_safe and path.suffix == ".csv":
            table = csv_table.unguard_formulas(table)
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadFile(
            f"a table of {kind} as {path.suffix[1:].upper()} is needed",
            found=f"a file that cannot be read as such: {error}",
            where=str(path),
            remedy="the file may be damaged or cut short: write or copy it again",
        ) from None
    columns = zip(table.column_names, table.columns)  # by place: a file may name a column twice
    filled = [name for name, column in columns if column.null_count < table.num_rows]
    for name in KINDS[kind].required:
        if table.num_rows and name in _NEVER_EMPTY and name not in filled:
            raise BadColumns.missing(name, filled, where=str(path))
    return conform(kind, table, where=str(path)).unify_dictionaries().combine_chunks()


_NO_ROWS = "remove the file if the study has none"


def write_table(kind: str, table: pa.Table, path: Path, *, excel_safe: bool = False) -> None:
    """Write a table of a study, whole or not at all; an `excel_safe` CSV has no cell that a spreadsheet would run."""
    with whole_file(path) as file:
        FORMS[path.suffix[1:]].write(kind, csv_table.guard_formulas(table) if excel_safe else table, file)


class TableWriter:
    """A Parquet table written piece by piece, for more judgments than one would hold in memory.

    `<folder>/<kind>.parquet` appears when the block ends well; until then, and after an error, it is as before:

        with TableWriter(folder, "comparisons") as writer:
            for part in parts:
                writer.write(part)

    Pieces are Arrow tables or nouns. Columns and types are checked at once, references when the study is opened.
    """

    def __init__(self, folder: Path | str, kind: str, *, overwrite: bool = False) -> None:
        self.kind = kind
        self.path = Path(folder) / f"{kind}.parquet"
        self.rows = 0
        if self.path.exists() and not overwrite:
            raise BadFile(
                "a table is only replaced when asked to",
                found="a table that is there already",
                where=str(self.path),
                remedy="overwrite=True, or another folder",
            )
        self._schema = pa.schema(list(KINDS[kind].columns.items()))

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._stack = ExitStack()
        file = self._stack.enter_context(whole_file(self.path))
        self._parquet = self._stack.enter_context(parquet_table.writer(self._schema, file))
        return self

    def write(self, rows: pa.Table | Iterable[Noun]) -> None:
        """Append rows."""
        table = rows if isinstance(rows, pa.Table) else table_from_nouns(self.kind, rows)
        table = parquet_table.compact_table(conform(self.kind, table, where=f"row {self.rows + 1} onwards"))
        columns = [
            table.column(field.name) if field.name in table.column_names else pa.nulls(table.num_rows, field.type)
            for field in self._schema
        ]
        self._parquet.write_table(pa.table(columns, schema=self._schema), row_group_size=parquet_table.ROWS_IN_GROUP)
        self.rows += table.num_rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, trace)
