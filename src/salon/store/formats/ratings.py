"""Ratings in a table: one row a rating."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from salon.store.formats.columnar import (
    FACTS,
    judgment_facts,
    name_items,
    name_prompts,
    name_raters,
    numbers,
    refer,
)
from salon.store.formats.comparisons import refuse_blank
from salon.store.formats.criteria import guess_scales, name_criteria
from salon.store.formats.mapping import Cells, guess_columns, open_sheets, read_cells
from salon.store.formats.sheet import Sheet
from salon.store.formats.source import Draft, Source
from salon.store.formats.words import SKIPS

OPTIONAL = ("rater", "prompt", "prompt_text", "criterion", "generator", "category", *FACTS)


def read_ratings(source: Source) -> Draft:
    """A study from a table of ratings."""
    sheets = open_sheets(source)
    named = "item" if item_column(source, sheets[0]) else "generator"
    return draft_ratings(source, read_cells(source, sheets, (named, "value"), OPTIONAL))


def item_column(source: Source, sheet: Sheet) -> bool:
    """True when items have a column of their own; False when prompt and generator together name them."""
    given = {part: name for part, name in source.options.columns.model_dump().items() if name is not None}
    found = given | guess_columns(sheet.names, [p for p in ("item", "prompt", "generator") if p not in given], given)
    return "item" in found or "prompt" not in found or "generator" not in found


def draft_ratings(source: Source, cells: Cells) -> Draft:
    """A study from ratings whose columns are known."""
    value = numbers(cells, "value")
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
        columns["skipped"] = refer(np.where(blank, 0, -1), pa.array(SKIPS))
    tables = {"items": items.table, "raters": raters, "ratings": pa.table(columns | judgment_facts(cells))}
    if prompts:
        tables["prompts"] = prompts[1]
    return Draft(criteria, tables, source.options.policies.compare_within or ("prompt" if prompts else "all"))
