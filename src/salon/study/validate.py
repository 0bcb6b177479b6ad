"""Whole-study checks, in columns: ids are unique, words known, numbers finite, and every reference exists.

What single judgments owe beyond that is checked in `judged`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadValue, InputError, UnknownReference
from salon.study.item import Source, Tier
from salon.study.judgment import Left, Outcome, Skipped
from salon.study.rater import RaterKind
from salon.study.tables import JUDGMENTS, NAMED, all_different

if TYPE_CHECKING:
    from salon.study.study import Study

LONGEST_TEXT = 1_000_000
MOST_REPEATS = 32_000

_WORDS: dict[str, tuple[str, ...]] = {
    "outcome": get_args(Outcome),
    "left": get_args(Left),
    "skipped": get_args(Skipped),
    "tier": get_args(Tier),
    "source": get_args(Source),
    "kind": get_args(RaterKind),
}


def check_named(study: Study) -> None:
    """Prompts, items and raters: ids present and unique, words known, items' prompts listed."""
    for kind in NAMED:
        table = study.table(kind)
        _check_texts(kind, table)
        _check_ids(kind, table)
        _check_words(kind, table)
    _check_cohorts(study)
    items = study.table("items")
    if "prompt" in items.column_names:
        _check_references(study, "items", items.column("prompt"), "prompts", nullable=True)


def _check_cohorts(study: Study) -> None:
    """Where the study describes its cohorts, raters belong to those."""
    raters = study.table("raters")
    if not study.cohorts or "cohort" not in raters.column_names:
        return
    described = [cohort.id for cohort in study.cohorts]
    unknown = [label for label in raters.column("cohort").unique().to_pylist() if label not in (None, *described)]
    if unknown:
        raise UnknownReference(
            "raters may only name cohorts that the study describes",
            found=repr(unknown[0]),
            where="table 'raters', column 'cohort'",
            remedy="one of " + ", ".join(described),
        )


def check_columns(study: Study) -> None:
    """All judgments: words, numbers, and references to what the study holds."""
    for kind in JUDGMENTS:
        table = study.table(kind)
        if not table.num_rows:
            continue
        _check_texts(kind, table)
        _check_words(kind, table)
        _check_references(study, kind, table.column("criterion"), "criteria")
        _check_references(study, kind, table.column("rater"), "raters")
        for name in ("a", "b", "item", "items"):
            if name in table.column_names:
                _check_references(study, kind, _flat(table.column(name)), "items")
        _check_numbers(kind, table)


def _check_ids(kind: str, table: pa.Table) -> None:
    ids = table.column("id")
    if ids.null_count or (len(ids) and pc.any(pc.equal(pc.utf8_trim_whitespace(ids), "")).as_py()):
        raise BadValue(f"every row of {kind} needs an id that is not blank", where=f"table {kind!r}")
    if not all_different(ids.combine_chunks()):
        counts = pc.value_counts(ids.combine_chunks())
        twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")
        raise InputError(
            f"ids of {kind} must be unique",
            found=f"{len(twice)} repeated, first {twice[0].as_py()!r}",
            where=f"table {kind!r}",
            remedy="remove or rename the repeated rows",
        )


def _check_words(kind: str, table: pa.Table) -> None:
    for name, words in _WORDS.items():
        if name not in table.column_names:
            continue
        dictionary = table.column(name).combine_chunks().dictionary
        bad = [word for word in dictionary.to_pylist() if word not in words]
        if bad:
            raise BadValue(
                f"{name} must be one of {', '.join(words)}",
                found=repr(bad[0]),
                where=f"table {kind!r}, column {name!r}",
                remedy="map a file's own words with --outcome-values" if name == "outcome" else None,
            )


def _flat(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    return array.flatten() if pa.types.is_list(array.type) else array


def _check_references(
    study: Study, kind: str, column: pa.ChunkedArray | pa.Array, to: str, *, nullable: bool = False
) -> None:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if array.null_count and not nullable:
        raise BadValue(f"every row of {kind} needs {to}", found=f"{array.null_count} empty", where=f"table {kind!r}")
    if pc.all(pc.is_in(array.dictionary, value_set=study.ids(to))).as_py() is not False:
        return  # every label is known, and so is every row
    missing = study.codes(to, array) < 0
    if array.null_count:
        missing &= array.is_valid().to_numpy(zero_copy_only=False)
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise UnknownReference(
            f"{kind} may only name {to} that the study holds",
            found=f"{array[row].as_py()!r} ({int(missing.sum())} such)",
            where=f"table {kind!r}, entry {row + 1}",
            remedy=f"add it to the {to} or correct the name",
        )


def _check_numbers(kind: str, table: pa.Table) -> None:
    for name in ("value", "confidence", "seconds"):
        if name not in table.column_names:
            continue
        values = table.column(name).drop_null().to_numpy()
        if not np.isfinite(values).all():
            raise BadValue(
                f"{name} must be a finite number",
                found=str(values[~np.isfinite(values)][0]),
                where=f"table {kind!r}, column {name!r}",
                remedy="leave the row out, or mark it skipped",
            )
        if name == "seconds" and (values < 0).any():
            raise BadValue("seconds may not be negative", found=str(values.min()), where=f"table {kind!r}")
    if "repeat" in table.column_names:
        repeat = table.column("repeat").to_numpy()
        if repeat.min() < 0 or repeat.max() > MOST_REPEATS:
            raise BadValue(
                f"repeat counts from 0 to {MOST_REPEATS:,}",
                found=str(repeat.min() if repeat.min() < 0 else repeat.max()),
                where=f"table {kind!r}, column 'repeat'",
            )


def _check_texts(kind: str, table: pa.Table) -> None:
    """No text longer than a noun may hold."""
    for name in table.column_names:
        texts = _flat(table.column(name))
        if pa.types.is_dictionary(texts.type):
            texts = texts.dictionary
        if not pa.types.is_string(texts.type) or not len(texts):
            continue
        longest = pc.max(pc.utf8_length(texts)).as_py() or 0
        if longest > LONGEST_TEXT:
            raise BadValue(
                f"a text may have at most {LONGEST_TEXT:,} characters",
                found=f"one of {longest:,}",
                where=f"table {kind!r}, column {name!r}",
                remedy="store long texts elsewhere and keep a reference",
            )
