"""Rankings in a table: one row an item and its rank, or one row a whole ranking."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadValue
from salon.store.formats.columnar import (
    FACTS,
    Codes,
    filled_labels,
    judgment_facts,
    name_items,
    name_prompts,
    name_raters,
    number_pairs,
    numbers,
)
from salon.store.formats.comparisons import refuse_blank
from salon.store.formats.criteria import name_criteria
from salon.store.formats.mapping import Cells, guess_columns, open_sheets, read_cells
from salon.store.formats.ratings import item_column
from salon.store.formats.source import Draft, Source
from salon.study.study import CompareWithin

OPTIONAL = ("rater", "prompt", "prompt_text", "criterion", "generator", "category", "repeat")


def read_rankings(source: Source) -> Draft:
    """A study from a table of rankings, long or wide."""
    sheets = open_sheets(source)
    columns = source.options.columns
    long = columns.rank is not None or (
        columns.ranking is None and "rank" in guess_columns(sheets[0].names, ["rank"], {})
    )
    if not long:
        optional = (*OPTIONAL, *(fact for fact in FACTS if fact != "repeat"))
        return _draft_wide(source, read_cells(source, sheets, ("ranking",), optional))
    named = "item" if item_column(source, sheets[0]) else "generator"
    return _draft_long(source, read_cells(source, sheets, (named, "rank"), OPTIONAL))


# -- one row an item ---------------------------------------------------------------------------------------------


def _draft_long(source: Source, cells: Cells) -> Draft:
    rank = numbers(cells, "rank")
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
    ballot = _ballots(cells, prompts[0].codes if prompts else None)
    order = np.lexsort((place if source.options.policies.best == "lowest" else -place, ballot))
    sizes = np.bincount(ballot)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    first = cells.table.take(pa.array(order[offsets[:-1]]))
    heads = Cells(first, cells.names, cells.starts)
    ranks = whole_ranks(source, place[order] if source.options.policies.best == "lowest" else -place[order], offsets)
    listed = {"items": _lists(offsets, items.refer().take(pa.array(order))), "ranks": _lists(offsets, pa.array(ranks))}
    return _draft(source, heads, listed, items.table, prompts[1] if prompts else None)


def _ballots(cells: Cells, prompt: Codes | None) -> Codes:
    """The ranking each row belongs to: one for each rater, prompt, criterion and repeat."""
    ballot = np.zeros(len(cells), np.int64) if prompt is None else prompt
    for part in ("rater", "criterion", "repeat"):
        if cells.has(part):
            ballot = number_pairs(ballot, filled_labels(cells, part).codes)[0]
    return ballot


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


def _draft_wide(source: Source, cells: Cells) -> Draft:
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
    spread = Cells(entries, {**cells.names, "item": cells.names["ranking"]}, cells.starts)
    of = None if prompts is None else type(prompts[0])(prompts[0].codes[row], prompts[0].texts)
    items = name_items(source, spread, ("item",), of)
    listed = {"items": _lists(offsets, items.refer()), "ranks": _lists(offsets, pa.array(ranks))}
    return _draft(source, cells, listed, items.table, prompts[1] if prompts else None)


def _parse_rankings(cells: Cells) -> tuple[pa.Array, np.ndarray, np.ndarray]:
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


def _parse_json_rankings(cells: Cells, column: pa.Array) -> tuple[pa.Array, np.ndarray, np.ndarray]:
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


def _draft(source: Source, heads: Cells, listed: dict[str, Any], items: pa.Table, prompts: pa.Table | None) -> Draft:
    """The study of rankings whose first rows are `heads`."""
    criterion, criteria = name_criteria(source, heads)
    rater, raters = name_raters(source, heads)
    columns = {"criterion": criterion, "rater": rater, **listed, **judgment_facts(heads)}
    tables = {"items": items, "raters": raters, "rankings": pa.table(columns)}
    if prompts is not None:
        tables["prompts"] = prompts
    within: CompareWithin = source.options.policies.compare_within or ("all" if prompts is None else "prompt")
    return Draft(criteria, tables, within)
