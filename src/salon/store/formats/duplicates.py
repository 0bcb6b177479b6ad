"""One rater, one question, several answers: keep the first, keep the last, or number them as repeats."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadValue
from salon.store.formats.columnar import Codes, number_labels, number_pairs
from salon.store.formats.source import Source


def settle_duplicates(source: Source, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables after the policy `--duplicates`; 'error' leaves them to the study's own validation."""
    if source.options.policies.duplicates == "error":
        return tables
    crowds = _crowds(tables["raters"])
    return {
        kind: _settle(source, kind, table, crowds) if kind in ("comparisons", "rankings", "ratings") else table
        for kind, table in tables.items()
    }


def _crowds(raters: pa.Table) -> list[str]:
    """A crowd is many people: its answers are never duplicates."""
    if "kind" not in raters.column_names:
        return []
    kinds = raters.column("kind").cast(pa.string()).to_pylist()
    return [id for id, kind in zip(raters.column("id").to_pylist(), kinds) if kind == "crowd"]


def _settle(source: Source, kind: str, table: pa.Table, crowds: list[str]) -> pa.Table:
    policy = source.options.policies.duplicates
    occurrence, total = _occurrences(_question(kind, table))
    if crowds:
        crowd = pc.is_in(table.column("rater").cast(pa.string()), value_set=pa.array(crowds)).to_numpy()
        occurrence, total = np.where(crowd, 0, occurrence), np.where(crowd, 1, total)
    again = int((occurrence > 0).sum())
    if not again:
        return table
    if policy == "repeat":
        source.say(f"{again:,} {kind} answer a question again: numbered as repeats 1, 2, ...")
        return _number_repeats(table, occurrence)
    kept = occurrence == (0 if policy == "first" else total - 1)
    source.leave_out(f"{kind} that answer a question again (the {policy} was kept)", int((~kept).sum()))
    return table.filter(pa.array(kept))


def _number_repeats(table: pa.Table, occurrence: Codes) -> pa.Table:
    if occurrence.max() > 32_000:
        raise BadValue("a question may be repeated at most 32,000 times", found=f"{occurrence.max():,}")
    if "repeat" in table.column_names:
        table = table.drop_columns("repeat")
    return table.append_column("repeat", pa.array(occurrence.astype(np.int16)))


def _question(kind: str, table: pa.Table) -> Codes:
    """A number for every row, equal where criterion, rater, items (and the file's own repeat) are."""
    key = _codes(table, "criterion")
    parts = [_codes(table, "rater")]
    if "repeat" in table.column_names:
        parts.append(table.column("repeat").fill_null(0).to_numpy().astype(np.int64))
    if kind == "ratings":
        parts.append(_codes(table, "item"))
    elif kind == "comparisons":
        both = number_labels([_text(table, "a"), _text(table, "b")]).codes
        a, b = np.split(both, 2)
        parts += [np.minimum(a, b), np.maximum(a, b)]
    else:
        sets: dict[tuple[str, ...], int] = {}
        lists = table.column("items").to_pylist()
        parts.append(np.array([sets.setdefault(tuple(sorted(items)), len(sets)) for items in lists], np.int64))
    for part in parts:
        key = number_pairs(key, part)[0]
    return key


def _text(table: pa.Table, name: str) -> pa.ChunkedArray:
    return table.column(name).cast(pa.string())


def _codes(table: pa.Table, name: str) -> Codes:
    return number_labels([_text(table, name)]).codes


def _occurrences(key: Codes) -> tuple[Codes, Codes]:
    """For every row: how many rows before it have the same key, and how many have it in all."""
    order = np.argsort(key, kind="stable")
    counts = np.bincount(key)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    occurrence = np.empty(len(key), np.int64)
    occurrence[order] = np.arange(len(key)) - starts[key[order]]
    return occurrence, counts[key]
