"""A study without some raters or items, and the erasure of a rater who asks for it.

To erase, the folder's tables are replaced whole; then the studio's database loses the rater in one transaction. If the
process is killed between the two, erasing again finishes it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import UnknownReference
from salon.store import export_study, held, open_study, studio_file, table_files
from salon.study import JUDGMENTS, Ranking, Study

_LEAST_RANKED = 2


def without_raters(study: Study, raters: Sequence[str]) -> Study:
    """The study as if these raters had never come."""
    if not raters:
        return study
    tables = dict(study.tables)
    for kind, column in [("raters", "id"), *((kind, "rater") for kind in JUDGMENTS)]:
        if kind in tables:
            tables[kind] = tables[kind].filter(pc.invert(_is_in(tables[kind].column(column), raters)))
    return _rebuild(study, tables, study.note)


def without_items(study: Study, items: Sequence[str]) -> Study:
    """The study without some items: judgments that name one are left out, and rankings go on without it."""
    if not items:
        return study
    tables: dict[str, Any] = dict(study.tables)
    for kind in ("items", *JUDGMENTS):
        if kind in tables and kind != "rankings":
            tables[kind] = tables[kind].filter(pc.invert(_rows_naming(tables[kind], kind, items)))
    tables["rankings"] = [
        shortened for ranking in study.nouns("rankings") if (shortened := _shorten_ranking(ranking, items)) is not None
    ]
    note = f"{len(items)} items dropped by adjudication, with every judgment that needs them"
    return _rebuild(study, tables, f"{study.note}; {note}" if study.note else note)


def _rows_naming(table: pa.Table, kind: str, items: Sequence[str]) -> pa.Array:
    """Which rows name one of these items."""
    if kind == "choices":
        lists = table.column("items").combine_chunks()
        rows = pc.list_parent_indices(lists).filter(_is_in(lists.flatten(), items))
        return pc.is_in(pa.array(range(table.num_rows), rows.type), value_set=pc.unique(rows))
    columns = {"items": ("id",), "comparisons": ("a", "b")}.get(kind, ("item",))
    masks = [_is_in(table.column(name), items) for name in columns]
    return masks[0] if len(masks) == 1 else pc.or_(*masks)


def _is_in(column: pa.ChunkedArray | pa.Array, ids: Sequence[str]) -> pa.Array:
    return pc.is_in(column.cast(pa.string()), value_set=pa.array(ids, pa.string()))


def _shorten_ranking(ranking: Ranking, items: Sequence[str]) -> Ranking | None:
    """A ranking without some items, ranks closed up; None when fewer than two are left."""
    left = [(item, rank) for item, rank in zip(ranking.items, ranking.ranks) if item not in items]
    if len(left) == len(ranking.items):
        return ranking
    ranks = [1 + sum(better < rank for _, better in left) for _, rank in left]
    changed = {"items": tuple(item for item, _ in left), "ranks": tuple(ranks)}
    return ranking.model_copy(update=changed) if len(left) >= _LEAST_RANKED else None


def _rebuild(study: Study, tables: dict[str, Any], note: str | None) -> Study:
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


# -- erasing a rater ---------------------------------------------------------------------------------------------------

ERASED = "a rater was erased"
"""Why there is a new revision; who it was is not said."""
MOST_NAMES = 3


@dataclass(frozen=True)
class RaterData:
    """What a study folder holds of one rater."""

    rater: str
    judgments: dict[str, int] | None
    """Rows of each table of the folder; None where its tables do not know the rater."""
    answers: int | None
    """Questions answered in the studio's database; None where it does not know the rater, or there is no studio."""


def find_rater_data(folder: Path, rater: str) -> RaterData:
    """What would be erased; UnknownReference with similar names if there is no such rater."""
    study = open_study(folder)
    ids, answers = set(study.ids("raters").to_pylist()), None
    judgments = None
    if rater in ids:
        tables = {kind: study.table(kind) for kind in JUDGMENTS if kind in study.counts}
        columns = {kind: table.column("rater").cast(pa.string()) for kind, table in tables.items()}
        counts = {kind: int(pc.sum(pc.equal(column, rater)).as_py() or 0) for kind, column in columns.items()}
        judgments = {kind: count for kind, count in counts.items() if count}
    with _studio(folder) as database:
        if database is not None:
            ids |= {state.id for state in database.raters()}
            answers = database.answered().get(rater, 0) if rater in {s.id for s in database.raters()} else None
    if rater not in ids:
        raise _unknown_rater(rater, ids, folder)
    return RaterData(rater, judgments, answers)


def erase_rater(folder: Path, holding: RaterData) -> None:
    """Delete the rater and everything they gave, for good. A folder whose studio is open is refused."""
    if holding.judgments is not None:
        study = open_study(folder)
        left = without_raters(study, [holding.rater]).revised(ERASED)
        file = next(iter(table_files(folder).values()))
        form = "huggingface" if file.parent.name == "data" else file.suffix.removeprefix(".")
        export_study(left, folder, form, overwrite=True)
    if holding.answers is not None:
        with held(folder), _studio(folder) as database:
            if database is not None:
                database.erase(holding.rater)


@contextmanager
def _studio(folder: Path) -> Iterator[Any]:
    """The database of the studio in `folder`; None where there is none."""
    file = studio_file(folder)
    if file is None:
        yield None
        return
    from salon.store import database as databases  # SQLAlchemy only for those who need it

    with databases.open_database(file) as database:
        yield database


def _unknown_rater(rater: str, ids: Iterable[str], folder: Path) -> UnknownReference:
    names = sorted(ids)
    near = difflib.get_close_matches(rater, names, MOST_NAMES, 0.5) or names[:MOST_NAMES]
    return UnknownReference(
        "a rater of the study is needed",
        found=repr(rater),
        where=str(folder),
        remedy=f"one of {len(names):,}, such as {', '.join(map(repr, near))}" if names else "the study has no raters",
    )
