"""What judgments owe: an answer or a reason, items that may be compared, and each question answered once.

Rows are counted as they stand in the table, skipped ones included, so that a message names the right line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadValue, ConflictingJudgment, DuplicateJudgment, InputError, WrongPrompt
from salon.study.judgment import Checklist, Choice

if TYPE_CHECKING:
    from salon.study.study import Study

Keys = NDArray[np.uint64]
Ints = NDArray[np.int32]

ROWS_IN_BLOCK = 500_000
"""Rankings looked at together, so that a check of millions needs little memory."""


def check_judgments(study: Study) -> None:
    """Comparisons, rankings, ratings, checklists and choices."""
    _check_comparisons(study)
    _check_rankings(study)
    _check_ratings(study)
    _check_few(study)


def _skipped(table: pa.Table) -> NDArray[np.bool_]:
    """(rows,) was the judgment skipped with a reason?"""
    if "skipped" not in table.column_names:
        return np.zeros(table.num_rows, bool)
    skipped: NDArray[np.bool_] = pc.is_valid(table.column("skipped")).to_numpy()
    return skipped


def _answer_or_reason(kind: str, has: NDArray[np.bool_], skipped: NDArray[np.bool_], answer: str) -> None:
    """Each row has an answer or a reason why it was skipped, never both or neither."""
    bad = has == skipped
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise BadValue(
            f"each of the {kind} has either {answer} or a reason in 'skipped'",
            found="both" if has[row] else "neither",
            where=f"table {kind!r}, row {row + 1}",
        )


def _check_comparisons(study: Study) -> None:
    table = study.table("comparisons")
    if not table.num_rows:
        return
    skipped = _skipped(table)
    _answer_or_reason("comparisons", pc.is_valid(table.column("outcome")).to_numpy(), skipped, "an outcome")
    a, b = (study.codes("items", table.column(name)) for name in ("a", "b"))
    _refuse("comparisons", a == b, "a comparison needs two different items")
    _check_groups(study, "comparisons", a, b)
    view = study.comparisons
    low, high = np.minimum(view.a, view.b), np.maximum(view.a, view.b)
    key = _key(view.criterion, view.rater, low, high, view.repeat)
    won = np.where(view.outcome > 1, view.outcome, np.where(view.a < view.b, view.outcome, 1 - view.outcome))
    _check_once(study, "comparisons", view.rater, key, won, skipped)


def _check_rankings(study: Study) -> None:
    """Rankings are checked in blocks of rows: their items may be many times their number."""
    table = study.table("rankings")
    if not table.num_rows:
        return
    lengths = pc.list_value_length(table.column("items")).to_numpy()
    ranked = pc.list_value_length(table.column("ranks")).to_numpy()
    skipped = _skipped(table)
    _answer_or_reason("rankings", lengths > 0, skipped, "items")
    _refuse("rankings", lengths != ranked, "a ranking needs one rank for each item")
    empty = sum(chunk.flatten().null_count for chunk in table.column("ranks").chunks)
    if empty:
        raise BadValue("every item of a ranking needs its rank", found=f"{empty} empty", where="table 'rankings'")
    view = study.rankings
    members, order = np.zeros(len(view), np.uint64), np.zeros(len(view), np.uint64)
    rows = np.flatnonzero(~skipped)
    for start in range(0, len(view), ROWS_IN_BLOCK):
        block = slice(start, min(start + ROWS_IN_BLOCK, len(view)))
        members[block], order[block] = _check_ranking_block(study, block, rows[block])
    key = _key(view.criterion, view.rater, view.repeat) * np.uint64(0x9E3779B97F4A7C15) + members
    _check_once(study, "rankings", view.rater, key, order, skipped)


def _check_ranking_block(study: Study, block: slice, rows: NDArray[np.int64]) -> tuple[Keys, Keys]:
    """Some answered rankings: ranks in order, no item twice, one group. Gives a key of each item set and order."""
    view = study.rankings
    offsets = view.offsets[block.start : block.stop + 1]
    items, ranks = view.items[offsets[0] : offsets[-1]], view.ranks[offsets[0] : offsets[-1]]
    lengths = np.diff(offsets)
    entry = np.repeat(np.arange(len(lengths)), lengths)
    falls, twice = np.zeros(len(lengths), bool), np.zeros(len(lengths), bool)
    falls[entry[1:][(entry[1:] == entry[:-1]) & (np.diff(ranks) < 0)]] = True
    falls[entry[ranks < 1]] = True
    _refuse("rankings", falls, "ranks start at 1 and never decrease: items stand best first", rows)
    twice[_repeats(entry, items)] = True
    _refuse("rankings", twice, "a ranking may name an item only once", rows)
    starts = offsets[:-1] - offsets[0]
    _check_groups(study, "rankings", np.repeat(items[starts], lengths), items, rows[entry])
    members = np.add.reduceat(_mix(items.astype(np.uint64)), starts)
    order = np.add.reduceat(_mix((items.astype(np.uint64) << np.uint64(32)) | ranks.astype(np.uint64)), starts)
    return members, order


def _check_ratings(study: Study) -> None:
    table = study.table("ratings")
    if not table.num_rows:
        return
    skipped = _skipped(table)
    _answer_or_reason("ratings", pc.is_valid(table.column("value")).to_numpy(), skipped, "a value")
    view = study.ratings
    for number, criterion in enumerate(study.criteria):
        scale = criterion.scale
        if scale is None:
            continue
        off = (view.criterion == number) & ((view.value < scale.low) | (view.value > scale.high))
        levels = f"between {scale.low:g} and {scale.high:g}"
        if scale.step is not None:
            steps = (view.value - scale.low) / scale.step
            off |= (view.criterion == number) & (np.abs(steps - np.round(steps)) > 1e-6)
            levels += f" in steps of {scale.step:g}"
        if off.any():
            raise BadValue(
                f"ratings of {criterion.id!r} lie {levels}",
                found=f"{view.value[off][0]:g} ({int(off.sum())} such)",
                where=f"table 'ratings', row {np.flatnonzero(~skipped)[np.flatnonzero(off)[0]] + 1}",
                remedy="correct the value, or the criterion's scale in study.toml",
            )
    key = _key(view.criterion, view.rater, view.item, view.repeat)
    _check_once(study, "ratings", view.rater, key, view.value, skipped)


def _check_few(study: Study) -> None:
    """Checklists and choices are few: their nouns check themselves."""
    crowds = {study.label("raters", int(rater)) for rater in np.flatnonzero(study.crowds)}
    for kind in ("checklists", "choices"):
        seen: dict[tuple[object, ...], object] = {}
        for row, noun in enumerate(study.nouns(kind)):
            if isinstance(noun, Choice):
                items = study.codes("items", pa.array(noun.items).dictionary_encode())
                _check_groups(study, kind, np.repeat(items[:1], len(items)), items, np.full(len(items), row))
                about: object = tuple(sorted(noun.items))
                answer: object = noun.chosen
            else:
                assert isinstance(noun, Checklist)
                about, answer = noun.item, (noun.points, noun.answers)
            if noun.skipped is not None or noun.rater in crowds:
                continue
            key = (noun.criterion, noun.rater, about, noun.repeat)
            if key in seen:
                place = f"row {row + 1}: {noun.rater!r} on {about!r}"
                raise _twice(kind, place, same=seen[key] == answer, count=1)
            seen[key] = answer


def _check_groups(study: Study, kind: str, one: Ints, other: Ints, row: NDArray[Any] | None = None) -> None:
    """Items judged together share what the study compares within."""
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


def _refuse(kind: str, bad: NDArray[np.bool_], needed: str, rows: NDArray[np.int64] | None = None) -> None:
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        row = first if rows is None else int(rows[first])
        raise BadValue(needed, found=f"{int(bad.sum())} that do not", where=f"table {kind!r}, row {row + 1}")


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


def _repeats(entry: NDArray[Any], items: Ints) -> NDArray[np.int64]:
    """Entries that hold the same item twice."""
    key = np.sort(_key(entry, items))
    same = key[1:][key[1:] == key[:-1]]
    found: NDArray[np.int64] = (same // np.uint64(int(items.max()) + 1)).astype(np.int64)
    return found


def _check_once(
    study: Study, kind: str, rater: Ints, key: Keys, answer: NDArray[Any], skipped: NDArray[np.bool_]
) -> None:
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
    rows = np.flatnonzero(~skipped)
    name = study.label("raters", rater[second[at]])
    place = f"rows {rows[first[at]] + 1} and {rows[second[at]] + 1}, rater {name!r}"
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
