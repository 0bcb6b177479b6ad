"""Whole-study checks, in columns: every reference exists, every answer stands once, groups are respected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import (
    BadValue,
    ConflictingJudgment,
    DuplicateJudgment,
    InputError,
    UnknownReference,
    WrongPrompt,
)
from salon.study.item import Source, Tier
from salon.study.judgment import Left, Outcome, Skipped
from salon.study.rater import RaterKind
from salon.study.tables import JUDGMENTS, NAMED

if TYPE_CHECKING:
    from salon.study.study import Study

Keys = NDArray[np.uint64]

_WORDS: dict[str, tuple[str, ...]] = {
    "outcome": Outcome.__args__,  # type: ignore[attr-defined]
    "left": Left.__args__,  # type: ignore[attr-defined]
    "skipped": Skipped.__args__,  # type: ignore[attr-defined]
    "tier": Tier.__args__,  # type: ignore[attr-defined]
    "source": Source.__args__,  # type: ignore[attr-defined]
    "kind": RaterKind.__args__,  # type: ignore[attr-defined]
}


def check_named(study: Study) -> None:
    """Prompts, items and raters: ids present and unique, words known, items' prompts listed."""
    for kind in NAMED:
        table = study.table(kind)
        _check_ids(kind, table)
        _check_words(kind, table)
    items = study.table("items")
    if "prompt" in items.column_names:
        _check_references(study, "items", items.column("prompt"), "prompts", nullable=True)


def check_judgments(study: Study) -> None:
    """All judgments: references, words, answers, duplicates, groups."""
    for kind in JUDGMENTS:
        table = study.table(kind)
        if not table.num_rows:
            continue
        _check_words(kind, table)
        _check_references(study, kind, table.column("criterion"), "criteria")
        _check_references(study, kind, table.column("rater"), "raters")
        for name in ("a", "b", "item", "items"):
            if name in table.column_names:
                _check_references(study, kind, _flat(table.column(name)), "items")
        _check_numbers(kind, table)
    _check_comparisons(study)
    _check_rankings(study)
    _check_ratings(study)
    _check_few(study)


def _check_ids(kind: str, table: pa.Table) -> None:
    ids = table.column("id")
    if ids.null_count or (len(ids) and pc.any(pc.equal(pc.utf8_trim_whitespace(ids), "")).as_py()):
        raise BadValue(f"every row of {kind} needs an id that is not blank", where=f"table {kind!r}")
    if pc.count_distinct(ids).as_py() != len(ids):
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


def _answer_or_reason(study: Study, kind: str, answer: str) -> None:
    """Each row has an answer or a reason why it was skipped, never both or neither."""
    table = study.table(kind)
    has = pc.is_valid(table.column(answer)).to_numpy()
    skipped = (
        pc.is_valid(table.column("skipped")).to_numpy()
        if "skipped" in table.column_names
        else np.zeros(table.num_rows, bool)
    )
    bad = has == skipped
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise BadValue(
            f"each of the {kind} has either {answer} or a reason in 'skipped'",
            found="both" if has[row] else "neither",
            where=f"table {kind!r}, row {row + 1}",
        )


def _check_comparisons(study: Study) -> None:
    if not study.table("comparisons").num_rows:
        return
    _answer_or_reason(study, "comparisons", "outcome")
    view = study.comparisons
    _refuse(study, "comparisons", view.a == view.b, BadValue, "a comparison needs two different items")
    _check_groups(study, "comparisons", view.a, view.b)
    low, high = np.minimum(view.a, view.b), np.maximum(view.a, view.b)
    key = _key(view.criterion, view.rater, low, high, view.repeat)
    won = np.where(view.outcome > 1, view.outcome, np.where(view.a < view.b, view.outcome, 1 - view.outcome))
    _check_once(study, "comparisons", view.rater, key, won)


def _check_rankings(study: Study) -> None:
    if not study.table("rankings").num_rows:
        return
    view = study.rankings
    lengths = np.diff(view.offsets)
    _refuse(study, "rankings", lengths == 0, BadValue, "a ranking needs items or a reason in 'skipped'")
    if len(view.ranks) != len(view.items):
        raise BadValue(
            "a ranking needs one rank for each item",
            found=f"{len(view.items)} items and {len(view.ranks)} ranks",
            where="table 'rankings'",
        )
    row = np.repeat(np.arange(len(view)), lengths)
    falls = np.zeros(len(view), bool)
    inside = row[1:] == row[:-1]
    falls[row[1:][inside & (np.diff(view.ranks) < 0)]] = True
    falls[row[view.ranks < 1]] = True
    _refuse(study, "rankings", falls, BadValue, "ranks start at 1 and never decrease: items stand best first")
    twice = np.zeros(len(view), bool)
    twice[_repeats(row, view.items)] = True
    _refuse(study, "rankings", twice, BadValue, "a ranking may name an item only once")
    _check_groups(study, "rankings", np.repeat(view.items[view.offsets[:-1]], lengths), view.items, row)
    members = np.add.reduceat(_mix(view.items.astype(np.uint64)), view.offsets[:-1])
    order = np.add.reduceat(_mix(_key(view.items, view.ranks)), view.offsets[:-1])
    key = _key(view.criterion, view.rater, view.repeat) * np.uint64(0x9E3779B97F4A7C15) + members
    _check_once(study, "rankings", view.rater, key, order)


def _check_ratings(study: Study) -> None:
    if not study.table("ratings").num_rows:
        return
    _answer_or_reason(study, "ratings", "value")
    view = study.ratings
    for number, criterion in enumerate(study.criteria):
        if criterion.scale is None:
            continue
        off = (view.criterion == number) & ((view.value < criterion.scale.low) | (view.value > criterion.scale.high))
        if off.any():
            raise BadValue(
                f"ratings of {criterion.id!r} lie between {criterion.scale.low:g} and {criterion.scale.high:g}",
                found=f"{view.value[off][0]:g} ({int(off.sum())} such)",
                where="table 'ratings'",
                remedy="correct the value, or the criterion's scale in study.toml",
            )
    _check_once(study, "ratings", view.rater, _key(view.criterion, view.rater, view.item, view.repeat), view.value)


def _check_few(study: Study) -> None:
    """Checklists and choices are few: their nouns check themselves."""
    for kind in ("checklists", "choices"):
        seen: dict[tuple[Any, ...], Any] = {}
        for row, noun in enumerate(study.nouns(kind)):
            about = noun.item if kind == "checklists" else tuple(sorted(noun.items))
            key = (noun.criterion, noun.rater, about, noun.repeat)
            answer = noun.answers if kind == "checklists" else noun.chosen
            if key in seen:
                raise _twice(kind, f"row {row + 1}: {noun.rater!r} on {about!r}", same=seen[key] == answer, count=1)
            seen[key] = answer


def _check_groups(
    study: Study, kind: str, one: NDArray[np.int32], other: NDArray[np.int32], row: NDArray[Any] | None = None
) -> None:
    group = study.item_groups
    apart = group[one] != group[other]
    if study.compare_within != "all":
        apart |= group[one] < 0
    if not apart.any():
        return
    at = int(np.flatnonzero(apart)[0])
    place = at if row is None else int(row[at])
    names = [study.label("items", int(codes[at])) for codes in (one, other)]
    raise WrongPrompt(
        f"items are compared within one {study.compare_within}",
        found=f"{names[0]!r} with {names[1]!r} ({int(apart.sum())} such)",
        where=f"table {kind!r}, row {place + 1}",
        remedy="correct the items, or declare compare_within = 'category' or 'all' in study.toml",
    )


def _refuse(study: Study, kind: str, bad: NDArray[np.bool_], error: type[InputError], needed: str) -> None:
    if bad.any():
        raise error(
            needed,
            found=f"{int(bad.sum())} that do not",
            where=f"table {kind!r}, row {np.flatnonzero(bad)[0] + 1}",
        )


def _key(*columns: NDArray[Any]) -> Keys:
    """Columns of small integers as one 64-bit key: exact while the ranges multiply to less than 2^64, else hashed."""
    key = np.zeros(len(columns[0]), np.uint64)
    room = 1
    for column in columns:
        size = int(column.max()) + 1 if len(column) else 1
        if room * size >= 2**64:
            key, room = _mix(key), 1
        room *= size
        key = key * np.uint64(size) + column.astype(np.uint64)
    return key


def _mix(x: Keys) -> Keys:
    """splitmix64: sums of mixed values identify a set of items (two sets collide with chance 2^-64)."""
    x = (x + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _repeats(row: NDArray[Any], items: NDArray[np.int32]) -> NDArray[Any]:
    """Rows that hold the same item twice."""
    key = np.sort(_key(row, items))
    same = key[1:][key[1:] == key[:-1]]
    rows: NDArray[np.int64] = (same // np.uint64(int(items.max()) + 1)).astype(np.int64)
    return rows


def _check_once(study: Study, kind: str, rater: NDArray[np.int32], key: Keys, answer: NDArray[Any]) -> None:
    """One answer for each rater, question and repeat. A crowd is many people and may answer often."""
    known = ~study.crowds[rater] if study.crowds.any() else np.ones(len(rater), bool)
    sorted_key = np.sort(key[known])
    if not (sorted_key[1:] == sorted_key[:-1]).any():
        return
    order = np.flatnonzero(known)[np.argsort(key[known], kind="stable")]
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    first, second = order[same], order[same + 1]
    differ = answer[first] != answer[second]
    at = int(np.flatnonzero(differ)[0]) if differ.any() else 0
    place = f"answers {first[at] + 1} and {second[at] + 1}, rater {study.label('raters', rater[second[at]])!r}"
    raise _twice(kind, place, same=not differ.any(), count=len(same))


def _twice(kind: str, place: str, *, same: bool, count: int) -> InputError:
    error = DuplicateJudgment if same else ConflictingJudgment
    what = "the same answer twice" if same else "two different answers to one question"
    return error(
        "each rater answers a question once (planted repeats carry repeat = 1, 2, ...)",
        found=f"{what} ({count} such)",
        where=f"table {kind!r}, {place}",
        remedy="import with --duplicates first, last or repeat, or correct the table",
    )
