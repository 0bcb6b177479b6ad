"""pwcmp: per-observer pairwise comparisons of image-processing methods (conditions) on scenes."""

from __future__ import annotations

from salon.errors import BadColumns
from salon.store.formats.comparisons import draft_comparisons
from salon.store.formats.head import Head
from salon.store.formats.mapping import load_cells, open_sheets
from salon.store.formats.source import Draft, Source

COLUMNS = {
    "left": "condition_A",
    "right": "condition_B",
    "outcome": "is_A_selected",
    "rater": "observer",
    "prompt": "scene",
}


def is_pwcmp(head: Head) -> bool:
    """By its columns."""
    return head.has(*COLUMNS.values())


def read_pwcmp(source: Source) -> Draft:
    """Scenes are prompts, conditions are generators."""
    sheets = open_sheets(source)
    for sheet in sheets:
        for name in COLUMNS.values():
            if name not in sheet.names:
                raise BadColumns.missing(name, sheet.names, where=str(sheet.path))
    columns = dict(COLUMNS)
    if all("criterion" in sheet.names for sheet in sheets):
        columns["criterion"] = "criterion"
    return draft_comparisons(source, load_cells(source, sheets, columns))
