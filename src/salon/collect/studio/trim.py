"""A study without some of its raters, or without some of its items. The revision stays that of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from salon.study import Ranking, Study
from salon.study.tables import JUDGMENTS

_LEAST_RANKED = 2


def without_raters(study: Study, raters: Sequence[str]) -> Study:
    """The study as if these raters had never come."""
    if not raters:
        return study
    tables = dict(study.tables)
    for kind, column in [("raters", "id"), *((kind, "rater") for kind in JUDGMENTS)]:
        if kind in tables:
            tables[kind] = tables[kind].filter(pc.invert(_is_in(tables[kind].column(column), raters)))
    return _rebuilt(study, tables, study.note)


def without_items(study: Study, items: Sequence[str]) -> Study:
    """The study without some items: judgments that name one are left out, and rankings go on without it."""
    if not items:
        return study
    tables: dict[str, Any] = dict(study.tables)
    for kind in ("items", *JUDGMENTS):
        if kind in tables and kind != "rankings":
            tables[kind] = tables[kind].filter(pc.invert(_names(tables[kind], kind, items)))
    tables["rankings"] = [one for ranking in study.nouns("rankings") if (one := _shortened(ranking, items)) is not None]
    note = f"{len(items)} items dropped by adjudication, with every judgment that needs them"
    return _rebuilt(study, tables, f"{study.note}; {note}" if study.note else note)


def _names(table: pa.Table, kind: str, items: Sequence[str]) -> pa.Array:
    """Which rows name one of these items."""
    if kind == "choices":
        lists = table.column("items").combine_chunks()
        rows = pc.list_parent_indices(lists).filter(_is_in(lists.flatten(), items))
        return pc.is_in(pa.array(range(table.num_rows), rows.type), value_set=pc.unique(rows))
    columns = {"items": ("id",), "comparisons": ("a", "b")}.get(kind, ("item",))
    found = [_is_in(table.column(name), items) for name in columns]
    return found[0] if len(found) == 1 else pc.or_(*found)


def _is_in(column: pa.ChunkedArray | pa.Array, ids: Sequence[str]) -> pa.Array:
    return pc.is_in(column.cast(pa.string()), value_set=pa.array(ids, pa.string()))


def _shortened(ranking: Ranking, items: Sequence[str]) -> Ranking | None:
    """A ranking without some items, ranks closed up; None when fewer than two are left."""
    left = [(item, rank) for item, rank in zip(ranking.items, ranking.ranks) if item not in items]
    if len(left) == len(ranking.items):
        return ranking
    ranks = [1 + sum(other < rank for _, other in left) for _, rank in left]
    changed = {"items": tuple(item for item, _ in left), "ranks": tuple(ranks)}
    return ranking.model_copy(update=changed) if len(left) >= _LEAST_RANKED else None


def _rebuilt(study: Study, tables: dict[str, Any], note: str | None) -> Study:
    return Study.build(
        study.name,
        study.criteria,
        tables={kind: table for kind, table in tables.items() if len(table)},
        cohorts=study.cohorts,
        compare_within=study.compare_within,
        design=study.design,
        revisions=study.revisions,
        simulated=study.simulated,
        note=note,
    )
