"""One rater, one question, several answers: keep the first, keep the last, or number them as repeats."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadValue
from salon.store.formats.columnar import Codes, number_labels, number_pairs
from salon.store.formats.source import Source
from salon.study.tables import conform


def settle_duplicates(source: Source, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables after the policy `--duplicates`; 'error' leaves them to the study's own validation."""
    if source.options.policies.duplicates == "error":
        return tables
    crowds = _crowds(tables["raters"]) if "raters" in tables else []
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
    table = conform(kind, table)
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
    parts = [_codes(table, "criterion"), _codes(table, "rater")]
    if "repeat" in table.column_names:
        parts.append(table.column("repeat").fill_null(0).to_numpy().astype(np.int64))
    if kind == "ratings":
        parts.append(_codes(table, "item"))
    elif kind == "comparisons":
        a, b = np.split(number_labels([table.column("a"), table.column("b")]).codes, 2)
        parts += [np.minimum(a, b), np.maximum(a, b)]
    else:
        sets: dict[tuple[str, ...], int] = {}
        lists = table.column("items").to_pylist()
        parts.append(np.array([sets.setdefault(tuple(sorted(items)), len(sets)) for items in lists], np.int64))
    return _one_number(parts)


def _codes(table: pa.Table, name: str) -> Codes:
    return number_labels([table.column(name)]).codes


def _one_number(parts: list[Codes]) -> Codes:
    """Columns of small numbers as one, equal exactly where all are equal."""
    key, room = parts[0], int(parts[0].max(initial=0)) + 1
    for part in parts[1:]:
        size = int(part.max(initial=0)) + 1
        if room * size < 2**62:
            key, room = key * size + part, room * size
        else:  # too many for one number: number the combinations that occur, and go on from there
            key = number_pairs(number_pairs(key, np.zeros_like(key))[0], part)[0]
            room = int(key.max(initial=0)) + 1
    return key


def _occurrences(key: Codes) -> tuple[Codes, Codes]:
    """For every row: how many rows before it have the same key, and how many have it in all."""
    occurrence, total = np.zeros(len(key), np.int64), np.ones(len(key), np.int64)
    ordered = np.sort(key)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(twice):
        return occurrence, total
    place = np.minimum(np.searchsorted(twice, key), len(twice) - 1)
    rows = np.flatnonzero(twice[place] == key)  # duplicates are few: only their rows are sorted with their places
    group = place[rows]
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    occurrence[rows[order]] = np.arange(len(rows)) - starts[group[order]]
    total[rows] = counts[group]
    return occurrence, total
