"""JSON records read field by field, and the tables they become.

Each value has the type a format promises, or the error says where not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from salon.errors import BadColumns, BadValue
from salon.store.formats.files import read_records, stream_records
from salon.store.formats.source import Source
from salon.study import KINDS, REFERENCE, REFERENCES, conform, table_from_records

MAX_TEXT = 1_000_000


class JsonRecord:
    """A JSON object with a place, so that every complaint can name it."""

    def __init__(self, fields: dict[str, Any], where: str) -> None:
        self.fields = fields
        self.where = where

    def has(self, name: str) -> bool:
        """True when the field is there and not null."""
        return self.fields.get(name) is not None

    def text(self, name: str) -> str:
        """A field that must hold text (numbers count as their digits) and may not be blank."""
        text = self.maybe_text(name)
        if text is None or not text.strip():
            if name not in self.fields:
                raise BadColumns.missing(name, self.fields, where=self.where)
            raise BadValue(f"{name!r} may not be blank", where=self.where)
        return text

    def maybe_text(self, name: str) -> str | None:
        """A field that may be absent."""
        value = self.fields.get(name)
        return None if value is None else self.as_text(value, name)

    def as_text(self, value: Any, name: str) -> str:
        """A value as text."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise BadValue(f"{name!r} must be text", found=repr(value), where=self.where)
        text = str(value)
        if len(text) > MAX_TEXT:
            raise BadValue(f"{name!r} may hold at most {MAX_TEXT:,} characters", found=text, where=self.where)
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise BadValue(
                    f"{name!r} must be Unicode text", found="half a surrogate pair", where=self.where
                ) from None
        return text

    def number(self, name: str) -> float:
        """A field that must hold a finite number."""
        if name not in self.fields:
            raise BadColumns.missing(name, self.fields, where=self.where)
        return self.as_number(self.fields[name], name)

    def maybe_number(self, name: str) -> float | None:
        """A number that may be absent."""
        return self.number(name) if self.has(name) else None

    def as_number(self, value: Any, name: str) -> float:
        """A value as a finite number."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            raise BadValue(f"{name!r} must be a finite number", found=repr(value), where=self.where)
        return float(value)

    def entries(self, name: str, length: int | None = None) -> list[Any]:
        """A field that must hold a list, of `length` entries if one is given."""
        if name not in self.fields:
            raise BadColumns.missing(name, self.fields, where=self.where)
        value = self.fields[name]
        if not isinstance(value, list) or (length is not None and len(value) != length):
            many = "" if length is None else f" of {length}"
            raise BadValue(f"{name!r} must be a list{many}", found=repr(value), where=self.where)
        return value

    def texts(self, name: str, length: int | None = None) -> list[str]:
        """A list of text."""
        return [self.as_text(value, name) for value in self.entries(name, length)]

    def numbers(self, name: str, length: int | None = None) -> list[float]:
        """A list of finite numbers."""
        return [self.as_number(value, name) for value in self.entries(name, length)]

    def records(self, name: str) -> list[JsonRecord]:
        """A list of objects."""
        return [self.as_record(value, f"{name}[{i}]") for i, value in enumerate(self.entries(name))]

    def record(self, name: str) -> JsonRecord:
        """A field that must hold an object."""
        if name not in self.fields:
            raise BadColumns.missing(name, self.fields, where=self.where)
        return self.as_record(self.fields[name], name)

    def as_record(self, value: Any, name: str) -> JsonRecord:
        """A value as a record of its own."""
        if not isinstance(value, dict):
            raise BadValue(f"{name!r} must be an object", found=repr(value), where=self.where)
        return JsonRecord(value, f"{self.where}, {name}")


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond any float
        return False


# -- tables from records -----------------------------------------------------------------------------------------------

MAX_RANK = 2**31 - 1


class TableBuilder:
    """Prompts, items and raters by id, judgments in columns; the same id twice must mean the same thing."""

    def __init__(self) -> None:
        self.named: dict[str, dict[str, dict[str, Any]]] = {"prompts": {}, "items": {}, "raters": {}}
        self.judgments: dict[str, dict[str, list[Any]]] = {}
        self.times: dict[str, list[int]] = {}

    def prompt(self, id: str, where: str, **facts: Any) -> str:
        """A prompt, its id given back."""
        return self._name("prompts", id, facts, where)

    def item(self, id: str, where: str, **facts: Any) -> str:
        """An item, its id given back."""
        return self._name("items", id, facts, where)

    def rater(self, id: str, kind: str = "person", where: str = "") -> str:
        """A rater, its id given back."""
        return self._name("raters", id, {"kind": kind}, where)

    def _name(self, kind: str, id: str, facts: dict[str, Any], where: str) -> str:
        if not id.strip():
            raise BadValue(f"every one of the {kind} needs an id that is not blank", where=where)
        facts_so_far = self.named[kind].setdefault(id, facts)
        for name, value in facts.items():
            if facts_so_far.get(name) is None:  # a later record may say what an earlier one left open
                facts_so_far[name] = value
        if any(value is not None and facts_so_far[name] != value for name, value in facts.items()):
            raise BadValue(
                f"one of the {kind} may be described only once",
                found=f"{id!r} as {facts_so_far} and as {facts}",
                where=where,
                remedy="correct the file: the same id means the same thing everywhere",
            )
        return id

    def add(self, kind: str, times: int = 1, /, **columns: Any) -> None:
        """One judgment, or the same one given `times` times by a crowd."""
        if kind not in self.judgments:
            self.judgments[kind] = {name: [] for name in KINDS[kind].columns}
            self.times[kind] = []
        for name, column in self.judgments[kind].items():
            column.append(columns.get(name))
        self.times[kind].append(times)

    def rank(self, items: Sequence[str], places: Sequence[float], where: str, **facts: Any) -> None:
        """A ranking from one place per item, lowest best; places need not be sorted, and 0 may be the first."""
        if any(place != int(place) or not 0 <= place < MAX_RANK for place in places):
            raise BadValue("ranks must be whole numbers from 0 or 1", found=repr(list(places)), where=where)
        if len(set(items)) != len(items):
            raise BadValue("a ranking may name an item only once", found=repr(list(items)), where=where)
        shift = 1 if 0 in places else 0
        ordered = sorted(zip(places, range(len(items))))
        self.add(
            "rankings",
            items=[items[number] for _, number in ordered],
            ranks=[int(place) + shift for place, _ in ordered],
            **facts,
        )

    def drop_items(self, items: Collection[str]) -> dict[str, int]:
        """Take items away, and the judgments about them; how many of each kind that were."""
        for id in items:
            self.named["items"].pop(id, None)
        dropped: dict[str, int] = {}
        for kind, columns in self.judgments.items():
            parts = ("a", "b") if kind == "comparisons" else ("item",) if kind == "ratings" else ("items",)
            cells = list(zip(*(columns[part] for part in parts)))
            mask = [
                not any(
                    any(item in items for item in cell) if isinstance(cell, list) else cell in items for cell in row
                )
                for row in cells
            ]
            dropped[kind] = sum(times for times, keep in zip(self.times[kind], mask) if not keep)
            for name, column in columns.items():
                columns[name] = [cell for cell, keep in zip(column, mask) if keep]
            self.times[kind] = [times for times, keep in zip(self.times[kind], mask) if keep]
        return {kind: count for kind, count in dropped.items() if count}

    def tables(self) -> dict[str, pa.Table]:
        """All of it as the tables of a study."""
        records = {
            kind: [{"id": id, **facts} for id, facts in facts_by_id.items()] for kind, facts_by_id in self.named.items()
        }
        tables = {kind: table_from_records(kind, rows) for kind, rows in records.items() if rows}
        return tables | {kind: self._table(kind) for kind in self.judgments}

    def _table(self, kind: str) -> pa.Table:
        types = KINDS[kind].columns
        text_types = {REFERENCE: pa.string(), REFERENCES: pa.list_(pa.string())}  # references are made from text
        columns = {
            name: pa.array(cells, text_types.get(types[name], types[name]))
            for name, cells in self.judgments[kind].items()
        }
        table = conform(kind, pa.table(columns))
        times = np.array(self.times[kind])
        return table if (times == 1).all() else table.take(pa.array(np.repeat(np.arange(len(times)), times)))


def stream_json_records(path: Path) -> Iterator[JsonRecord]:
    """The records of a JSON or JSONL file one after the other, each with its place."""
    return (JsonRecord(fields, f"{path}, record {number}") for number, fields in enumerate(stream_records(path), 1))


def list_records(source: Source, path: Path) -> list[JsonRecord]:
    """The records of a JSON or JSONL file, each with its place."""
    records = read_records(source, path)
    return [JsonRecord(fields, f"{path}, record {number}") for number, fields in enumerate(records, 1)]
