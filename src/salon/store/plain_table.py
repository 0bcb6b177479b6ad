"""A table that is no part of a study (scores, labels, pairs to ask) as one file, by the ending of its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from salon.errors import BadFile
from salon.store.atomic import whole_file

ENDINGS = (".parquet", ".csv", ".jsonl")


def plain_target(path: Path, *, overwrite: bool) -> None:
    """Refuse, before anything is computed, a file that could not be written after."""
    if path.suffix not in ENDINGS:
        raise BadFile(
            f"a table is written as {', '.join(ENDINGS)}", found=path.name, remedy=f"{path.with_suffix('.csv').name}"
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
