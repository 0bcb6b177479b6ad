"""Checks of a whole study, in columns.

Ids are unique, words known, numbers finite, and every reference exists. Each judgment has an answer or a reason why
there is none, compares items of one group, and answers its question once. Messages count rows as they stand in the
table, skipped ones included, so that they name the right line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadValue, ConflictingJudgment, DuplicateJudgment, InputError, UnknownReference, WrongPrompt
from salon.study.nouns import Checklist, Choice, ItemSource, Left, Outcome, RaterKind, Skipped, Tier
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
    "source": get_args(ItemSource),
    "kind": get_args(RaterKind),
}


def check_named_tables(study: Study) -> None:
    """Prompts, items and raters: ids present and unique, words known, items' prompts listed."""
    for kind in NAMED:
        table = study.table(kind)
        _check_texts(kind, table)
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


# -- judgments ---------------------------------------------------------------------------------------------------------

Keys = NDArray[np.uint64]
Ints = NDArray[np.int32]

ROWS_IN_BLOCK = 500_000
"""Rankings looked at together, so that a check of millions needs little memory."""


def check_judgments(study: Study) -> None:
    """Comparisons, rankings, ratings, checklists and choices."""
    _check_comparisons(study)
    _check_rankings(study)
    _check_ratings(study)
    _check_checklists_and_choices(study)


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
    key = np.sort(_key(entry, items))
    same = key[1:][key[1:] == key[:-1]]
    entries: NDArray[np.int64] = (same // np.uint64(int(items.max()) + 1)).astype(np.int64)
    repeats = entries
    twice[repeats] = True
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


def _check_checklists_and_choices(study: Study) -> None:
    """Checklists and choices are few: their nouns check themselves."""
    crowds = {study.label("raters", int(rater)) for rater in np.flatnonzero(study.crowds)}
    for kind in ("checklists", "choices"):
        answers: dict[tuple[object, ...], object] = {}
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
            if key in answers:
                place = f"row {row + 1}: {noun.rater!r} on {about!r}"
                raise _duplicate_error(kind, place, same=answers[key] == answer, count=1)
            answers[key] = answer


def _check_groups(study: Study, kind: str, first: Ints, second: Ints, row: NDArray[Any] | None = None) -> None:
    """Items judged together share what the study compares within."""
    group = study.item_groups
    apart = group[first] != group[second]
    if study.compare_within != "all":
        apart |= group[first] < 0
    if not apart.any():
        return
    at = int(np.flatnonzero(apart)[0])
    place = at if row is None else int(row[at])
    names = [study.label("items", int(codes[at])) for codes in (first, second)]
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


def _check_once(
    study: Study, kind: str, rater: Ints, key: Keys, answer: NDArray[Any], skipped: NDArray[np.bool_]
) -> None:
    """One answer for each rater, question and repeat. A crowd is many people and may answer often."""
    persons = ~study.crowds[rater] if study.crowds.any() else np.ones(len(rater), bool)
    sorted_key = np.sort(key[persons])
    if not (sorted_key[1:] == sorted_key[:-1]).any():
        return
    order = np.flatnonzero(persons)[np.argsort(key[persons], kind="stable")]
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    first, second = order[same], order[same + 1]
    differ = answer[first] != answer[second]
    at = int(np.flatnonzero(differ)[0]) if differ.any() else 0
    rows = np.flatnonzero(~skipped)
    name = study.label("raters", rater[second[at]])
    place = f"rows {rows[first[at]] + 1} and {rows[second[at]] + 1}, rater {name!r}"
    raise _duplicate_error(kind, place, same=not differ.any(), count=len(same))


def _duplicate_error(kind: str, place: str, *, same: bool, count: int) -> InputError:
    error = DuplicateJudgment if same else ConflictingJudgment
    what = "the same answer twice" if same else "two different answers to one question"
    return error(
        "each rater answers a question once (planted repeats carry repeat = 1, 2, ...)",
        found=f"{what} ({count} such)",
        where=f"table {kind!r}, {place}",
        remedy="import with --duplicates first, last or repeat, or correct the table",
    )
