"""MovieLens ratings: u.data (tabs), ratings.dat ('::') and ratings.csv, with or without a line of names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from salon.errors import BadFile
from salon.store.formats.columnar import constant, filled_labels, numbers
from salon.store.formats.criteria import parse_scale
from salon.store.formats.head import Head
from salon.store.formats.mapping import Cells, load_cells
from salon.store.formats.sheet import Sheet, open_sheet
from salon.store.formats.source import Draft, Source
from salon.store.formats.text import read_bytes, read_text
from salon.study import Criterion, Design, Scale

COLUMNS = ("user", "item", "rating", "timestamp")
CRITERION = Criterion(id="rating", question="How many stars?", scale=Scale(low=0.5, high=5, step=0.5))
WHOLE_STARS = Scale(low=1, high=5, step=1)
"""Of the older files, which have no half stars."""
_ROW = re.compile(r"^\d+(\t|::|,)\d+\1[\d.]+\1\d+\s*$")
_HEADER = re.compile(r"^\s*user(_?id)?(:\w+)?\s*(\t|::|,)", re.IGNORECASE)


def is_movielens(head: Head) -> bool:
    """Rows 'user item rating time' of numbers, or the header of ratings.csv."""
    lines = [line for line in head.lines[:6] if line.strip()]
    rows = lines[1:] if lines and _HEADER.match(lines[0]) else lines
    return bool(rows) and all(_ROW.match(row) for row in rows)


def read_movielens(source: Source) -> Draft:
    """Ratings of films; there are no prompts, so all films may be compared."""
    cells = load_cells(
        source, [_open(source, path) for path in source.paths], {"rater": "user", "item": "item", "value": "rating"}
    )
    source.say("time stamps are left out")
    rater, item = filled_labels(cells, "rater"), filled_labels(cells, "item")
    values = _values(cells)
    criterion = CRITERION.model_copy(update={"scale": _scale(source, values)})
    ratings = {
        "criterion": constant(CRITERION.id, len(cells)),
        "rater": rater.refer(),
        "item": item.refer(),
        "value": values,
    }
    tables = {
        "items": pa.table({"id": item.texts}),
        "raters": pa.table({"id": rater.texts}),
        "ratings": pa.table(ratings),
    }
    return Draft((criterion,), tables, "all", Design(kind="unknown", note="raters chose what to rate"))


def _scale(source: Source, values: pa.Array) -> Scale:
    """As the user says, else stars as the values show them."""
    if source.options.policies.scale is not None:
        return parse_scale(source.options.policies.scale)
    shown = values.unique().to_numpy(zero_copy_only=False)
    whole = all(value in WHOLE_STARS.levels for value in shown)
    scale = WHOLE_STARS if whole else CRITERION.scale
    assert scale is not None
    text = f"{scale.low:g}:{scale.high:g}:{scale.step:g}"
    source.say(f"the scale is taken as {text} from the values (--scale LOW:HIGH:STEP says otherwise)")
    return scale


def _values(cells: Cells) -> pa.ChunkedArray:
    values = numbers(cells, "value")
    if values.null_count:
        raise BadFile("every row needs a rating", found=f"{values.null_count:,} blank", where=cells.where(0))
    return values


def _open(source: Source, path: Path) -> Sheet:
    start = read_bytes(path, 1 << 16).decode("utf-8-sig", "replace")
    first = next((line for line in start.splitlines() if line.strip()), "")
    named = bool(_HEADER.match(first))
    if "::" in first:
        return _open_double_colon(source, path, named)
    sheet = open_sheet(source, path, header=None if named else COLUMNS, delimiter="\t" if "\t" in first else ",")
    if len(sheet.names) != len(COLUMNS):
        raise BadFile(
            "four columns are needed: user, item, rating, time", found=", ".join(sheet.names), where=str(path)
        )
    names = sheet.names
    return Sheet(path, list(COLUMNS), lambda columns: _renamed(sheet, names, columns))


def _renamed(sheet: Sheet, names: Sequence[str], columns: Sequence[str]) -> pa.Table:
    chosen = [names[COLUMNS.index(column)] for column in columns]
    return sheet.read(chosen).rename_columns(list(columns))


def _open_double_colon(source: Source, path: Path, named: bool) -> Sheet:
    rows = [line.split("::") for line in read_text(source, path).splitlines() if line.strip()][named:]
    bad = next((number for number, row in enumerate(rows, 1 + named) if len(row) != len(COLUMNS)), None)
    if bad is not None:
        raise BadFile("every line needs user::item::rating::time", where=f"{path}, line {bad}")
    by_column = list(zip(*rows)) or [()] * len(COLUMNS)
    table = {name: pa.array(cells, pa.string()).dictionary_encode() for name, cells in zip(COLUMNS, by_column)}
    return Sheet(path, list(COLUMNS), lambda columns: pa.table({name: table[name] for name in columns}))
