"""Several studies as one, where their criteria agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pyarrow as pa

from salon.errors import InputError
from salon.study.nouns import Cohort, Criterion
from salon.study.study import Revision, Study
from salon.study.tables import JUDGMENTS, KINDS, NAMED, conform

N = TypeVar("N", Criterion, Cohort)


def merge(studies: Sequence[Study], *, name: str) -> Study:
    """One study with every record of `studies`.

    Criteria, prompts, items and raters with the same id must be the same; judgments are put one after the
    other and must not answer the same question twice. The design is kept when all agree, else 'unknown'.
    """
    if not studies:
        raise InputError("at least one study is needed to merge", found="none")
    first = studies[0]
    if any(study.compare_within != first.compare_within for study in studies):
        raise InputError(
            "studies to merge must compare within the same group",
            found=", ".join(f"{study.name}: {study.compare_within}" for study in studies),
        )
    tables = {kind: _merge_tables(kind, studies) for kind in NAMED}
    tables |= {kind: _stack(kind, [study.table(kind) for study in studies]) for kind in JUDGMENTS}
    same_design = all(study.design == first.design for study in studies)
    return Study.build(
        name,
        _merge_nouns([study.criteria for study in studies], Criterion),
        cohorts=_merge_nouns([study.cohorts for study in studies], Cohort),
        compare_within=first.compare_within,
        design=first.design if same_design else type(first.design)(note="merged from several designs"),
        revisions=(Revision(number=1, reason="merged from " + ", ".join(study.name for study in studies)),),
        simulated=any(study.simulated for study in studies),
        tables={kind: table for kind, table in tables.items() if table.num_rows},
    )


def _merge_nouns(groups: Sequence[tuple[N, ...]], noun: type[N]) -> tuple[N, ...]:
    by_id: dict[str, N] = {}
    for group in groups:
        for record in group:
            if by_id.setdefault(record.id, record) != record:
                raise _difference_error(noun.__name__, record.id)
    return tuple(by_id.values())


def _merge_tables(kind: str, studies: Sequence[Study]) -> pa.Table:
    """Rows of all studies, each id once; the same id with different contents is an error."""
    stacked = _stack(kind, [study.table(kind) for study in studies])
    rows: dict[str, int] = {}
    for number, id in enumerate(stacked.column("id").to_pylist()):
        if rows.setdefault(id, number) != number and stacked.slice(rows[id], 1) != stacked.slice(number, 1):
            raise _difference_error(kind, id)
    return stacked.take(pa.array(rows.values(), pa.int64()))


def _stack(kind: str, tables: Sequence[pa.Table]) -> pa.Table:
    present = [table for table in tables if table.num_rows] or tables[:1]
    columns = KINDS[kind].columns
    names = [name for name in columns if any(name in table.column_names for table in present)]
    filled = [
        pa.table(
            {
                name: table.column(name) if name in table.column_names else pa.nulls(table.num_rows, columns[name])
                for name in names
            }
        )
        for table in present
    ]
    return conform(kind, pa.concat_tables(filled).unify_dictionaries())


def _difference_error(kind: str, id: str) -> InputError:
    return InputError(
        "studies to merge must agree on what they share",
        found=f"two different definitions of {id!r}",
        where=kind,
        remedy="rename one of them before merging",
    )
