"""Where readers of record-shaped files write down what they meet; it becomes tables at the end."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from salon.errors import BadValue
from salon.store.formats.record import Record
from salon.store.formats.source import Source
from salon.store.formats.text import read_records
from salon.study.tables import KINDS, REFERENCE, REFERENCES, conform, table_from_records

MAX_RANK = 2**31 - 1


class Ledger:
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
        known = self.named[kind].setdefault(id, facts)
        for name, value in facts.items():
            if known.get(name) is None:  # a later record may say what an earlier one left open
                known[name] = value
        if any(value is not None and known[name] != value for name, value in facts.items()):
            raise BadValue(
                f"one of the {kind} may be described only once",
                found=f"{id!r} as {known} and as {facts}",
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
            kept = [not _names_any(row, items) for row in cells]
            dropped[kind] = sum(times for times, keep in zip(self.times[kind], kept) if not keep)
            for name, column in columns.items():
                columns[name] = [cell for cell, keep in zip(column, kept) if keep]
            self.times[kind] = [times for times, keep in zip(self.times[kind], kept) if keep]
        return {kind: count for kind, count in dropped.items() if count}

    def tables(self) -> dict[str, pa.Table]:
        """All of it as the tables of a study."""
        named = {kind: [{"id": id, **facts} for id, facts in found.items()] for kind, found in self.named.items()}
        tables = {kind: table_from_records(kind, rows) for kind, rows in named.items() if rows}
        return tables | {kind: self._table(kind) for kind in self.judgments}

    def _table(self, kind: str) -> pa.Table:
        types = KINDS[kind].columns
        columns = {name: pa.array(cells, _plain(types[name])) for name, cells in self.judgments[kind].items()}
        table = conform(kind, pa.table(columns))
        times = np.array(self.times[kind])
        return table if (times == 1).all() else table.take(pa.array(np.repeat(np.arange(len(times)), times)))


def _names_any(cells: tuple[Any, ...], items: Collection[str]) -> bool:
    return any(any(item in items for item in cell) if isinstance(cell, list) else cell in items for cell in cells)


def _plain(dtype: pa.DataType) -> pa.DataType:
    """References are made from text."""
    return pa.string() if dtype == REFERENCE else pa.list_(pa.string()) if dtype == REFERENCES else dtype


def each_record(source: Source, path: Path) -> list[Record]:
    """The records of a JSON or JSONL file, each with its place."""
    records = read_records(source, path)
    return [Record(fields, f"{path}, record {number}") for number, fields in enumerate(records, 1)]
