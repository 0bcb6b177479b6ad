"""Small tables that users write by hand, as CSV or JSONL: rows as dictionaries, with the lines they stand in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from salon.errors import BadColumns, BadFile

TABLES = (".csv", ".jsonl")
Line = tuple[int, dict[str, Any]]


def read_lines(path: Path, required: Sequence[str]) -> list[Line]:
    """The rows of a table with their line numbers; empty cells are left out. Every row has the `required` columns."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a table as CSV or JSONL in UTF-8 is needed", found=error, where=str(path)) from None
    found = list(_csv(text, path, required) if path.suffix.lower() == ".csv" else _jsonl(text, path))
    if not found:
        raise BadFile("a table with at least one row is needed", found="none", where=str(path))
    rows = [(line, {name: value for name, value in row.items() if value not in (None, "")}) for line, row in found]
    for line, row in rows:
        for name in required:
            if name not in row:
                raise BadColumns.missing(name, row, where=f"{path}:{line}")
    return rows


def _csv(text: str, path: Path, required: Sequence[str]) -> Iterator[Line]:
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="more cells than columns")
    for name in required:
        if name not in (reader.fieldnames or ()):
            raise BadColumns.missing(name, reader.fieldnames or (), where=str(path))
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise BadFile("a table as CSV is needed", found=error, where=f"{path}:{reader.line_num}") from None


def _jsonl(text: str, path: Path) -> Iterator[Line]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadFile("one JSON object per line is needed", found=error, where=f"{path}:{number}") from None
        if not isinstance(row, dict):
            raise BadFile("one JSON object per line is needed", found=line, where=f"{path}:{number}")
        yield number, row
