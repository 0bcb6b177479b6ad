"""Files that are no part of a study: tables (scores, labels, pairs to ask), points and routes.

Points are TOML with `[[point]]` tables, or JSONL, with the fields of `salon.study.answers.Point`:

    id        name of the point
    text      what is asked; the id where it is left out
    prompt    the prompt whose items it is asked about; every item where it is left out
    criterion the criterion it belongs to; may be left out where the run has only one
    tag       the kind of task, for routing: text, counting, color ...
    rule      how pixels answer it, for judges that measure

Routes are a TOML file. A point goes by its tag to the first route that names it; `*` stands for every other tag:

    [[route]]
    tag = "text"
    judges = ["ocr-vlm"]

    [[route]]
    tag = "*"
    judges = ["gpt", "qwen", "gemma"]
    rule = "majority"          # or "unanimous": yes only where all say yes
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from salon.errors import BadColumns, BadFile
from salon.store.atomic_files import whole_file
from salon.store.parquet_table import check_rows
from salon.study import Point, Route

TABLE_ENDINGS = (".parquet", ".csv", ".jsonl")
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


def check_target(path: Path, *, overwrite: bool, endings: Sequence[str] = TABLE_ENDINGS) -> None:
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
    check_target(path, overwrite=overwrite)
    with whole_file(path, overwrite=overwrite) as file:
        if path.suffix == ".parquet":
            pa.parquet.write_table(table, file)
        elif path.suffix == ".csv":
            pa.csv.write_csv(table, file)
        else:
            for batch in table.to_batches(max_chunksize=65_536):
                for row in batch.to_pylist():
                    file.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")


# -- points and routes -------------------------------------------------------------------------------------------------


def read_points(path: Path) -> list[Point]:
    """The points in a TOML or JSONL file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        records: list[Any] = (
            tomllib.loads(text).get("point", [])
            if path.suffix == ".toml"
            else [json.loads(line) for line in text.splitlines() if line.strip()]
        )
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise BadFile("points as TOML ([[point]]) or JSONL are needed", found=error, where=str(path)) from None
    if not records or not all(isinstance(record, dict) for record in records):
        raise BadFile("at least one point is needed, each with an id", found="none", where=str(path))
    return [Point.parse(record, where=f"{path}, point {number}") for number, record in enumerate(records, 1)]


def read_routes(path: Path) -> list[Route]:
    """The routes in a TOML file."""
    try:
        records = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("route", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadFile("routes in TOML are needed", found=str(error), where=str(path)) from None
    if not isinstance(records, list) or not records:
        raise BadFile("at least one [[route]] is needed", found="none", where=str(path))
    return [Route.parse(record, where=f"{path}, route {number}") for number, record in enumerate(records, 1)]
