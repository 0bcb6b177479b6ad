"""A table that is no part of a study (scores, labels, pairs to ask) as one file, by the ending of its name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from salon.errors import BadColumns, BadFile
from salon.store.atomic import whole_file
from salon.store.parquet_table import check_rows

ENDINGS = (".parquet", ".csv", ".jsonl")
_READERS = {".parquet": pa.parquet.read_table, ".csv": pa.csv.read_csv, ".jsonl": pa.json.read_json}


def read_plain(path: Path, what: str, columns: Sequence[str] = ()) -> pa.Table:
    """The table of `what` (scores, prompts) that the file holds; BadFile where it holds none, or not these columns."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise BadFile(
            f"{what} as .parquet, .csv or .jsonl are needed", found=path.suffix or "no ending", where=str(path)
        )
    try:
        if path.suffix.lower() == ".parquet":
            check_rows(path)
        table = reader(path)
    except (OSError, pa.ArrowException) as error:
        raise BadFile(f"a table of {what} is needed", found=str(error).split("\n")[0], where=str(path)) from None
    for name in columns:
        if name not in table.column_names:
            raise BadColumns.missing(name, table.column_names, where=str(path))
    return table


def plain_target(path: Path, *, overwrite: bool, endings: Sequence[str] = ENDINGS) -> None:
    """Refuse, before anything is computed, a file that could not be written after."""
    if path.suffix not in endings:
        raise BadFile(
            f"a table is written as {', '.join(endings)}", found=path.name, remedy=f"{path.with_suffix('.csv').name}"
        )
    if not path.absolute().parent.is_dir():
        raise BadFile("the folder of the output must be there", found="none", where=str(path.absolute().parent))
    if path.is_dir():
        raise BadFile("a file is needed", found="a folder", where=str(path))
    if path.exists() and not overwrite:
        raise BadFile(
            "a file is only replaced when asked to",
            found="a file that is there already",
            where=str(path),
            remedy="choose another place, or add --overwrite",
        )


def write_plain(table: pa.Table, path: Path, *, overwrite: bool = False) -> None:
    """Write `table`, whole or not at all."""
    plain_target(path, overwrite=overwrite)
    with whole_file(path, overwrite=overwrite) as file:
        if path.suffix == ".parquet":
            pa.parquet.write_table(table, file)
        elif path.suffix == ".csv":
            pa.csv.write_csv(table, file)
        else:
            _write_jsonl(table, file)


def _write_jsonl(table: pa.Table, file: IO[bytes]) -> None:
    for batch in table.to_batches(max_chunksize=65_536):
        for row in batch.to_pylist():
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")
