"""The beginning of a file: enough to tell which format it is."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from salon.errors import BadFile
from salon.store.formats import text as texts
from salon.store.formats.sheet import DELIMITERS


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
    start = texts.read_bytes(path, texts.HEAD_BYTES)
    suffix = next((s.lower() for s in reversed(path.suffixes) if s.lower() != ".gz"), "")
    if start.startswith(b"PAR1"):
        return Head(path, suffix, columns=_parquet_names(path))
    text = _lenient(start)
    if text.lstrip()[:1] in ("[", "{"):
        record = _first_record(text)
        return Head(path, suffix, columns=tuple(record or ()), record=record)
    lines = tuple(text.replace("\r\n", "\n").split("\n", 40)[:40])
    return Head(path, suffix, lines, _header(lines))


def _lenient(start: bytes) -> str:
    encoding = texts.text_encoding(start, None, Path())
    return start.decode(encoding, "replace")


def _parquet_names(path: Path) -> tuple[str, ...]:
    try:
        return tuple(pq.read_schema(path).names)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadFile("a readable Parquet file is needed", found=str(error), where=str(path)) from None


def _first_record(text: str) -> dict[str, Any] | None:
    """The first object, whether the file is a list, lines or one object; None when there is none."""
    bare = text.lstrip().removeprefix("[").lstrip()
    try:
        record, _ = json.JSONDecoder().raw_decode(bare)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _header(lines: tuple[str, ...]) -> tuple[str, ...]:
    first = next((line for line in lines if line.strip()), "")
    delimiter = max(DELIMITERS, key=first.count)
    try:
        return tuple(next(csv.reader([first], delimiter=delimiter), ()))
    except csv.Error:
        return ()
