"""Comparisons, ratings and rankings in a table whose columns the user names or Salon guesses.

One row is a vote, a rating, a ranked item or a whole ranking. pwcmp's tables of conditions on scenes are comparisons
with fixed columns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadValue, shorten
from salon.store.formats.column_labels import (
    FACTS,
    Codes,
    NumberedLabels,
    constant_column,
    filled_labels,
    guess_scales,
    judgment_facts,
    name_criteria,
    name_items,
    name_prompts,
    name_raters,
    number_labels,
    number_pairs,
    read_numbers,
)
from salon.store.formats.column_mapping import (
    ANSWERS,
    BLANKS,
    SKIPS,
    WORDS,
    ColumnCells,
    guess_columns,
    is_number,
    load_cells,
    meaning_of,
    normalize_name,
    normalize_word,
    open_sheets,
    parse_values,
    read_cells,
    switch_words,
)
from salon.store.formats.files import ColumnFile, Head, require_columns
from salon.store.formats.source import Draft, Source
from salon.study import CompareWithin, to_references

COMPARISON_NEEDED = ("left", "right", "outcome")
COMPARISON_OPTIONAL = (
    "rater",
    "prompt",
    "prompt_text",
    "criterion",
    "left_generator",
    "right_generator",
    "category",
    *FACTS,
)


def read_comparisons(source: Source) -> Draft:
    """A study from a table of votes."""
    return draft_comparisons(source, read_cells(source, open_sheets(source), COMPARISON_NEEDED, COMPARISON_OPTIONAL))


def draft_comparisons(source: Source, cells: ColumnCells) -> Draft:
    """A study from votes whose columns are known."""
    meaning = read_outcomes(source, cells)
    if source.options.policies.missing == "drop":
        answered = meaning >= 0
        source.leave_out("rows without an answer", int((~answered).sum()))
        cells, meaning = cells.keep(answered), meaning[answered]
    prompts = name_prompts(source, cells)
    items = name_items(source, cells, ("left", "right"), prompts[0] if prompts else None)
    criterion, criteria = name_criteria(source, cells)
    rater, raters = name_raters(source, cells)
    on_left = source.options.left_known
    if on_left is None:
        left, right = (normalize_name(cells.names[side]).split("_") for side in ("left", "right"))
        on_left = "left" in left and "left" not in right
        phrase = "was shown on the left" if on_left else "may have been shown on either side"
        source.say(f"the item in column {cells.names['left']!r} {phrase} (--left-known, --left-unknown)")
    left_column = {"left": constant_column("a", len(cells))} if on_left else {}
    # numbers into ANSWERS + SKIPS (-1: blank) as the columns outcome and skipped
    outcome = np.where(meaning < len(ANSWERS), meaning, -1)
    answer_columns: dict[str, Any] = {"outcome": to_references(outcome, pa.array(ANSWERS))}
    unanswered = (meaning < 0) | (meaning >= len(ANSWERS))
    if unanswered.any():
        reason = np.where(meaning < 0, 0, meaning - len(ANSWERS))
        answer_columns["skipped"] = to_references(np.where(unanswered, reason, -1), pa.array(SKIPS))
    columns = {
        "criterion": criterion,
        "rater": rater,
        "a": items.refer(0),
        "b": items.refer(1),
        **answer_columns,
        **left_column,
        **judgment_facts(cells),
    }
    tables = {"items": items.table, "raters": raters, "comparisons": pa.table(columns)}
    if prompts:
        tables["prompts"] = prompts[1]
    return Draft(criteria, tables, source.options.policies.compare_within or ("prompt" if prompts else "all"))


def read_outcomes(source: Source, cells: ColumnCells) -> np.ndarray:
    """Every row's answer as a number into ANSWERS + SKIPS, -1 where the cell is blank."""
    labels = number_labels([cells.column("outcome")])
    words = [normalize_word(word) for word in labels.texts.to_pylist()]
    vocabulary, complete = _vocabulary(source, cells, words)
    strange = {word for word in words if word and word not in vocabulary}
    items = set() if complete or not strange else _item_labels(cells)
    blank = {"", *(BLANKS & strange - items)}
    unknown = [number for number, word in enumerate(words) if word in strange - blank]
    if unknown and not any(words[number] in items for number in unknown):
        raise _unknown_word(cells, labels, unknown)
    if unknown:
        meaning = _by_item_label(cells, labels, vocabulary, blank)
    else:
        meanings = [-1 if word in blank else _number(vocabulary[word]) for word in words]
        meaning = np.array([*meanings, -1], np.int64)[labels.codes]
    if (meaning < 0).any():
        refuse_blank(source, cells, "outcome", np.flatnonzero(meaning < 0))
    return meaning


def _vocabulary(source: Source, cells: ColumnCells, words: list[str]) -> tuple[dict[str, str], bool]:
    """What the file's words mean, and whether that is all they can mean."""
    values = source.options.policies.outcome_values
    if values is not None:
        return parse_values(values), True
    column = cells.names["outcome"]
    meanings = WORDS | {word: meaning for word in words if (meaning := meaning_of(word)) is not None}
    if not any(is_number(word) for word in words):
        return meanings, False
    switch = switch_words(column)
    if switch is not None:
        source.say(f"in column {column!r}, 1 means that the item it names was chosen and 0 the other")
        return switch, True
    if set(filter(is_number, words)) <= _item_labels(cells):
        return meanings, False
    row = next(row for row, word in enumerate(cells.text("outcome")) if is_number(normalize_word(word.as_py() or "")))
    raise BadValue(
        "the meaning of numbers in an outcome column must be given",
        found=", ".join(sorted(set(words))[:6]),
        where=cells.where(row, "outcome"),
        remedy="say which item a number stands for, e.g. --outcome-values '1=a,0=b'",
    )


def _item_labels(cells: ColumnCells) -> set[str]:
    texts = number_labels([cells.column("left"), cells.column("right")]).texts.to_pylist()
    return {normalize_word(text) for text in texts}


def _number(meaning: str) -> int:
    return (ANSWERS + SKIPS).index(meaning)


def _by_item_label(
    cells: ColumnCells, labels: NumberedLabels, vocabulary: dict[str, str], blank: set[str]
) -> np.ndarray:
    """The answer names the winning item; words for ties and skips keep their meaning."""
    together = number_labels([cells.column(part) for part in ("outcome", "left", "right")]).codes
    outcome, left, right = np.split(together, 3)
    words = [normalize_word(word) for word in labels.texts.to_pylist()]
    known_words = {word: _number(vocabulary[word]) for word in words if vocabulary.get(word) not in (None, "a", "b")}
    numbers = [-1 if word in blank else known_words.get(word, -2) for word in words]
    meaning = np.array([*numbers, -1], np.int64)[labels.codes]
    meaning = np.where(outcome < 0, -1, np.where(outcome == left, 0, np.where(outcome == right, 1, meaning)))
    bad = np.flatnonzero(meaning == -2)
    if len(bad):
        raise _unknown_word(cells, labels, [int(labels.codes[bad[0]])], int(bad[0]))
    return meaning


def _unknown_word(
    cells: ColumnCells, labels: NumberedLabels, numbers: Sequence[int], row: int | None = None
) -> BadValue:
    at = int(np.flatnonzero(np.isin(labels.codes, numbers))[0]) if row is None else row
    words = [shorten(str(labels.texts[number].as_py()), 40) for number in numbers[:6]]
    return BadValue(
        "the answer must be a known word or one of the row's two items",
        found=", ".join(map(repr, words)) + (f" and {len(numbers) - 6:,} more" if len(numbers) > 6 else ""),
        where=cells.where(at, "outcome"),
        remedy=f"say what every word means: --outcome-values '{words[0]}=MEANING,...' with MEANING one of "
        + ", ".join(ANSWERS + SKIPS)
        + "; or name another column: --outcome COLUMN",
    )


def refuse_blank(source: Source, cells: ColumnCells, part: str, blank: np.ndarray) -> None:
    """Rows without an answer: an error, or the policy in words."""
    policy = source.options.policies.missing
    if policy == "error":
        raise BadValue(
            "every row needs an answer",
            found=f"{len(blank):,} rows without",
            where=cells.where(int(blank[0]), part),
            remedy="--missing drop leaves them out and counts them; --missing skipped keeps them as 'cannot judge'",
        )
    if policy == "skipped":
        source.say(f"{len(blank):,} rows without an answer are kept as skipped: cannot judge")


# -- ratings -----------------------------------------------------------------------------------------------------------

RATING_OPTIONAL = ("rater", "prompt", "prompt_text", "criterion", "generator", "category", *FACTS)


def read_ratings(source: Source) -> Draft:
    """A study from a table of ratings."""
    sheets = open_sheets(source)
    item_part = "item" if item_column(source, sheets[0]) else "generator"
    return draft_ratings(source, read_cells(source, sheets, (item_part, "value"), RATING_OPTIONAL))


def item_column(source: Source, sheet: ColumnFile) -> bool:
    """True when items have a column of their own; False when prompt and generator together name them."""
    by_user = {part: name for part, name in source.options.columns.model_dump().items() if name is not None}
    columns = by_user | guess_columns(
        sheet.names, [p for p in ("item", "prompt", "generator") if p not in by_user], by_user
    )
    return "item" in columns or "prompt" not in columns or "generator" not in columns


def draft_ratings(source: Source, cells: ColumnCells) -> Draft:
    """A study from ratings whose columns are known."""
    value = read_numbers(cells, "value")
    blank = value.is_null().to_numpy(zero_copy_only=False)
    if blank.any():
        refuse_blank(source, cells, "value", np.flatnonzero(blank))
        if source.options.policies.missing == "drop":
            source.leave_out("rows without an answer", int(blank.sum()))
            cells, value, blank = cells.keep(~blank), value.drop_null(), blank[~blank]
    prompts = name_prompts(source, cells)
    items = name_items(source, cells, ("item" if cells.has("item") else "generator",), prompts[0] if prompts else None)
    criterion, criteria = name_criteria(source, cells)
    criteria = guess_scales(
        source, criteria, criterion.indices.to_numpy(zero_copy_only=False), value.to_numpy(zero_copy_only=False)
    )
    rater, raters = name_raters(source, cells)
    columns: dict[str, Any] = {"criterion": criterion, "rater": rater, "item": items.refer(), "value": value}
    if blank.any():
        columns["skipped"] = to_references(np.where(blank, 0, -1), pa.array(SKIPS))
    tables = {"items": items.table, "raters": raters, "ratings": pa.table(columns | judgment_facts(cells))}
    if prompts:
        tables["prompts"] = prompts[1]
    return Draft(criteria, tables, source.options.policies.compare_within or ("prompt" if prompts else "all"))


# -- rankings ----------------------------------------------------------------------------------------------------------

RANKING_OPTIONAL = ("rater", "prompt", "prompt_text", "criterion", "generator", "category", "repeat")


def read_rankings(source: Source) -> Draft:
    """A study from a table of rankings, long or wide."""
    sheets = open_sheets(source)
    columns = source.options.columns
    long = columns.rank is not None or (
        columns.ranking is None and "rank" in guess_columns(sheets[0].names, ["rank"], {})
    )
    if not long:
        optional = (*RANKING_OPTIONAL, *(fact for fact in FACTS if fact != "repeat"))
        return _draft_wide(source, read_cells(source, sheets, ("ranking",), optional))
    item_part = "item" if item_column(source, sheets[0]) else "generator"
    return _draft_long(source, read_cells(source, sheets, (item_part, "rank"), RANKING_OPTIONAL))


# -- one row an item ---------------------------------------------------------------------------------------------


def _draft_long(source: Source, cells: ColumnCells) -> Draft:
    rank = read_numbers(cells, "rank")
    blank = rank.is_null().to_numpy(zero_copy_only=False)
    if blank.any():
        if source.options.policies.missing == "skipped":
            raise BadValue("--missing skipped has no meaning for single ranks", remedy="use --missing drop")
        refuse_blank(source, cells, "rank", np.flatnonzero(blank))
        source.leave_out("items without a rank", int(blank.sum()))
        cells, rank = cells.keep(~blank), rank.drop_null()
    place = rank.to_numpy()
    prompts = name_prompts(source, cells)
    items = name_items(source, cells, ("item" if cells.has("item") else "generator",), prompts[0] if prompts else None)
    # The ranking each row belongs to: one for each rater, prompt, criterion and repeat.
    ballot: Codes = prompts[0].codes if prompts else np.zeros(len(cells), np.int64)
    for part in ("rater", "criterion", "repeat"):
        if cells.has(part):
            ballot = number_pairs(ballot, filled_labels(cells, part).codes)[0]
    order = np.lexsort((place if source.options.policies.best == "lowest" else -place, ballot))
    sizes = np.bincount(ballot)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    first = cells.table.take(pa.array(order[offsets[:-1]]))
    heads = ColumnCells(first, cells.names, cells.starts)
    ranks = whole_ranks(source, place[order] if source.options.policies.best == "lowest" else -place[order], offsets)
    listed = {"items": _lists(offsets, items.refer().take(pa.array(order))), "ranks": _lists(offsets, pa.array(ranks))}
    return _draft(source, heads, listed, items.table, prompts[1] if prompts else None)


def whole_ranks(source: Source, place: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sorted places within each ranking as whole ranks from 1; other numbers are renumbered, ties kept."""
    if len(place) and (place == np.floor(place)).all() and place.min() >= 1 and place.max() < 2**31:
        return place.astype(np.int32)
    source.say("ranks were not whole numbers from 1: each ranking is numbered anew, ties kept")
    rises = np.concatenate([[True], np.diff(place) != 0]) if len(place) else np.zeros(0, bool)
    rises[offsets[:-1]] = True
    level = np.cumsum(rises)
    return np.asarray(level - np.repeat(level[offsets[:-1]], np.diff(offsets)) + 1, np.int32)


def _lists(offsets: np.ndarray, values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


# -- one row a ranking -------------------------------------------------------------------------------------------


def _draft_wide(source: Source, cells: ColumnCells) -> Draft:
    blank = pc.is_null(pc.cast(cells.column("ranking"), pa.string())).to_numpy()
    if blank.any():
        refuse_blank(source, cells, "ranking", np.flatnonzero(blank))
        source.leave_out("rows without an answer", int(blank.sum()))
        cells = cells.keep(~blank)
    filled_labels(cells, "ranking")
    labels, ranks, offsets = _parse_rankings(cells)
    prompts = name_prompts(source, cells)
    row = np.repeat(np.arange(len(cells)), np.diff(offsets))
    entries = cells.table.take(pa.array(row)).append_column("item", pa.chunked_array([labels.dictionary_encode()]))
    spread = ColumnCells(entries, {**cells.names, "item": cells.names["ranking"]}, cells.starts)
    of = None if prompts is None else type(prompts[0])(prompts[0].codes[row], prompts[0].texts)
    items = name_items(source, spread, ("item",), of)
    listed = {"items": _lists(offsets, items.refer()), "ranks": _lists(offsets, pa.array(ranks))}
    return _draft(source, cells, listed, items.table, prompts[1] if prompts else None)


def _parse_rankings(cells: ColumnCells) -> tuple[pa.Array, np.ndarray, np.ndarray]:
    """All item labels in order, their ranks, and where each ranking starts."""
    column = pc.utf8_trim_whitespace(cells.text("ranking")).combine_chunks()
    column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if pc.any(pc.starts_with(column, "[")).as_py():
        return _parse_json_rankings(cells, column)
    separator = next((mark for mark in (">", ";", "|", ",") if pc.any(pc.match_substring(column, mark)).as_py()), ">")
    levels = pc.split_pattern(column, separator)
    tied = pc.split_pattern(levels.flatten(), "=") if separator == ">" else pc.split_pattern(levels.flatten(), "\n")
    labels = pc.utf8_trim_whitespace(tied.flatten())
    per_level = pc.list_value_length(tied).to_numpy()
    level_starts = levels.offsets.to_numpy()
    item_starts = np.concatenate([[0], np.cumsum(per_level)])
    offsets = item_starts[level_starts]
    level = np.repeat(np.arange(len(per_level)), per_level)
    before = np.repeat(level_starts[:-1], np.diff(offsets))
    return labels, (level - before + 1).astype(np.int32), offsets


def _parse_json_rankings(cells: ColumnCells, column: pa.Array) -> tuple[pa.Array, np.ndarray, np.ndarray]:
    """Rankings as JSON lists, best first; a list inside is a tie."""
    labels: list[str] = []
    ranks: list[int] = []
    offsets = [0]
    for row, text in enumerate(column.to_pylist()):
        try:
            levels: Any = json.loads(text)
            if not isinstance(levels, list):
                raise ValueError("not a list")
            for level, tied in enumerate(levels, 1):
                for label in tied if isinstance(tied, list) else [tied]:
                    if isinstance(label, bool) or not isinstance(label, str | int | float):
                        raise ValueError("an entry that is no label")
                    str(label).encode()
                    labels.append(str(label))
                    ranks.append(level)
            if len(labels) == offsets[-1]:
                raise ValueError("nothing in it")
        except (ValueError, RecursionError) as error:
            raise BadValue(
                "a ranking must be a list of item labels, best first, ties as lists inside",
                found=f"{text!r}: {error}",
                where=cells.where(row, "ranking"),
            ) from None
        offsets.append(len(labels))
    return pa.array(labels, pa.string()), np.array(ranks, np.int32), np.array(offsets)


# -- both --------------------------------------------------------------------------------------------------------


def _draft(
    source: Source, heads: ColumnCells, listed: dict[str, Any], items: pa.Table, prompts: pa.Table | None
) -> Draft:
    """The study of rankings whose first rows are `heads`."""
    criterion, criteria = name_criteria(source, heads)
    rater, raters = name_raters(source, heads)
    columns = {"criterion": criterion, "rater": rater, **listed, **judgment_facts(heads)}
    tables = {"items": items, "raters": raters, "rankings": pa.table(columns)}
    if prompts is not None:
        tables["prompts"] = prompts
    within: CompareWithin = source.options.policies.compare_within or ("all" if prompts is None else "prompt")
    return Draft(criteria, tables, within)


# -- pwcmp -------------------------------------------------------------------------------------------------------------

PWCMP_COLUMNS = {
    "left": "condition_A",
    "right": "condition_B",
    "outcome": "is_A_selected",
    "rater": "observer",
    "prompt": "scene",
}


def is_pwcmp(head: Head) -> bool:
    """By its columns."""
    return head.has(*PWCMP_COLUMNS.values())


def read_pwcmp(source: Source) -> Draft:
    """Scenes are prompts, conditions are generators."""
    sheets = open_sheets(source)
    require_columns(sheets, PWCMP_COLUMNS.values())
    columns = dict(PWCMP_COLUMNS)
    if all("criterion" in sheet.names for sheet in sheets):
        columns["criterion"] = "criterion"
    return draft_comparisons(source, load_cells(source, sheets, columns))
