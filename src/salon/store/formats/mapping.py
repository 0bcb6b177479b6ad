"""Which column plays which part: as the user says, else by common names; every guess is reported."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadColumns, BadValue, shorten
from salon.store.formats.record import MAX_TEXT
from salon.store.formats.sheet import Sheet, open_sheet
from salon.store.formats.source import Source
from salon.store.formats.words import BLANKS

COLUMNS_GUESSED = "columns guessed by their names"
"""How the note about guessed columns begins."""
PAIRS = (
    ("left", "right"),
    ("item_a", "item_b"),
    ("image_a", "image_b"),
    ("model_a", "model_b"),
    ("option_a", "option_b"),
    ("condition_a", "condition_b"),
    ("response_a", "response_b"),
    ("left_item", "right_item"),
    ("left_image", "right_image"),
    ("left_model", "right_model"),
    ("item_1", "item_2"),
    ("image_1", "image_2"),
    ("model_1", "model_2"),
    ("item1", "item2"),
    ("image1", "image2"),
    ("a", "b"),
)
NAMES: dict[str, tuple[str, ...]] = {
    "outcome": (
        "outcome",
        "winner",
        "vote",
        "choice",
        "preference",
        "preferred",
        "result",
        "is_a_selected",
        "which_is_better",
        "which_one_is_better",
        "better",
    ),
    "item": ("item", "item_id", "image", "image_id", "picture", "movie", "movie_id", "film", "film_id", "path", "file"),
    "value": ("value", "rating", "score", "stars", "answer"),
    "rank": ("rank", "position", "place"),
    "ranking": ("ranking", "order", "ranked"),
    "rater": (
        *("rater", "rater_id", "worker", "worker_id", "annotator", "annotator_id", "user", "user_id"),
        *("observer", "participant", "participant_id", "judge", "evaluator", "voter"),
    ),
    "prompt": ("prompt_id", "prompt", "caption", "scene", "brief"),
    "prompt_text": ("prompt_text", "prompt"),
    "criterion": ("criterion", "dimension", "aspect", "attribute"),
    "generator": ("generator", "t2i_model", "model"),
    "left_generator": ("left_generator", "generator_left", "generator_a"),
    "right_generator": ("right_generator", "generator_right", "generator_b"),
    "category": ("category",),
    "repeat": ("repeat",),
    "seconds": ("seconds",),
    "rationale": ("rationale",),
}
"""Common names, best first. Parts that are not here (confidence, at) are only read when named."""


_ONE_ROW: dict[tuple[str, ...], str] = {
    ("item", "value"): "; where every item has a column of its own, make a row of each answer first "
    "(docs/guide/import.md, A column for each item)"
}
"""Parts of which a table lacks all, and what it may be instead."""


@dataclass(frozen=True)
class Cells:
    """The chosen columns of all files, named by the part they play, every cell as text."""

    table: pa.Table
    names: dict[str, str]
    starts: tuple[tuple[Path, int], ...]
    """Each file with the row it starts at."""

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def has(self, part: str) -> bool:
        """True when a column plays this part."""
        return part in self.names

    def column(self, part: str) -> pa.ChunkedArray:
        """The cells of one part, dictionary-encoded."""
        return self.table.column(part)

    def text(self, part: str) -> pa.ChunkedArray:
        """The cells of one part, a text for every row."""
        return self.table.column(part).cast(pa.string())

    def where(self, row: int, part: str | None = None) -> str:
        """The place of a row in its file, as a person would look for it."""
        path, start = next((path, start) for path, start in reversed(self.starts) if start <= row)
        column = f", column {shorten(self.names[part], 60)!r}" if part in self.names else ""
        return f"{path}, data row {row - start + 1:,}{column}"

    def keep(self, rows: np.ndarray) -> Cells:
        """Only the rows marked True (places are then no longer those of the file)."""
        return Cells(self.table.filter(pa.array(rows)), self.names, self.starts)


def open_sheets(source: Source) -> list[Sheet]:
    """All files of an import, opened."""
    return [open_sheet(source, path) for path in source.paths]


def read_cells(source: Source, sheets: Sequence[Sheet], needed: Sequence[str], optional: Sequence[str]) -> Cells:
    """The columns for all `needed` parts and those of the `optional` ones that the files have."""
    chosen = [choose_columns(source, sheet, needed, optional) for sheet in sheets]
    if any(names != chosen[0] for names in chosen):
        raise BadColumns(
            "files read together need the same columns",
            found="; ".join(f"{sheet.path.name}: {', '.join(sheet.names[:20])}" for sheet in sheets[:4]),
            remedy="name the columns with flags, or import the files one by one and use salon merge",
        )
    return load_cells(source, sheets, chosen[0])


def load_cells(source: Source, sheets: Sequence[Sheet], names: dict[str, str]) -> Cells:
    """The columns in `names` (part to column) of all sheets, one after the other."""
    tables, starts, row = [], [], 0
    for sheet in sheets:
        table = sheet.read(list(names.values()))
        _check_lengths(table, sheet)
        columns = {part: table.column(column) for part, column in names.items()}
        tables.append(pa.table({part: _with_blanks(cells, part) for part, cells in columns.items()}))
        starts.append((sheet.path, row))
        row += table.num_rows
    source.columns.update(names)
    return Cells(pa.concat_tables(tables), names, tuple(starts))


def _with_blanks(cells: pa.ChunkedArray, part: str) -> pa.ChunkedArray:
    """The cells of a part; what R, pandas and spreadsheets write for no value is none, unless it may name an item."""
    if part not in _NEVER_NA:
        return cells
    chunks = []
    for chunk in cells.chunks:
        missing = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(chunk.dictionary)), pa.array(sorted(BLANKS)))
        codes = pc.indices_nonzero(missing).cast(pa.int32())
        indices = pc.if_else(pc.is_in(chunk.indices, codes), None, chunk.indices) if len(codes) else chunk.indices
        chunks.append(pa.DictionaryArray.from_arrays(indices, chunk.dictionary))
    return pa.chunked_array(chunks, cells.type)


_NEVER_NA = frozenset({"rater", "prompt", "prompt_text", "criterion", "category"})
"""Parts in which NA, NaN, N/A and null stand for no value."""


def _check_lengths(table: pa.Table, sheet: Sheet) -> None:
    for name in table.column_names:
        longest = max(
            (pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0 for chunk in table.column(name).chunks), default=0
        )
        if longest > MAX_TEXT:
            raise BadValue(
                f"a cell may hold at most {MAX_TEXT:,} characters",
                found=f"{longest:,} in column {shorten(name, 60)!r}",
                where=str(sheet.path),
                remedy="shorten the cell, or leave that column out",
            )


def choose_columns(source: Source, sheet: Sheet, needed: Sequence[str], optional: Sequence[str]) -> dict[str, str]:
    """Part to column for one file."""
    given = {part: column for part, column in source.options.columns.model_dump().items() if column is not None}
    _refuse_unused(given, [*needed, *optional], source)
    for part, column in given.items():
        if column not in sheet.names:
            raise BadColumns.missing(column, sheet.names, where=str(sheet.path), option=flag(part))
    guesses = guess_columns(sheet.names, [part for part in [*needed, *optional] if part not in given], given)
    absent = [part for part in needed if part not in given and part not in guesses]
    if absent:
        raise _absent(absent, sheet)
    if guesses:
        listed = ", ".join(f"{flag(part)} {shlex.quote(column)}" for part, column in guesses.items())
        source.say(f"{COLUMNS_GUESSED}: {listed}")
    chosen = given | guesses
    return {part: chosen[part] for part in [*needed, *optional] if part in chosen}


def _absent(parts: Sequence[str], sheet: Sheet) -> BadColumns:
    """All that has to be named, at once; the nearest match where it is a single column."""
    one = BadColumns.missing(parts[0], sheet.names, where=str(sheet.path), option=flag(parts[0]))
    if len(parts) == 1:
        return one
    return BadColumns(
        f"columns for {', '.join(parts[:-1])} and {parts[-1]} are needed",
        found=one.found,
        where=one.where,
        remedy="name them: " + " ".join(f"{flag(part)} COLUMN" for part in parts) + _ONE_ROW.get(tuple(parts), ""),
    )


def flag(part: str) -> str:
    """The command-line flag of a part."""
    return "--" + part.replace("_", "-")


def _refuse_unused(given: dict[str, str], parts: Sequence[str], source: Source) -> None:
    for part in given:
        if part not in parts:
            raise BadValue(
                f"{flag(part)} means nothing to the kind {source.kind!r}",
                found=f"{flag(part)} {given[part]}",
                remedy="it takes " + ", ".join(flag(name) for name in parts) if parts else "leave it out",
            )


def plain(name: str) -> str:
    """A column name without case and punctuation: 'Left Item' and 'leftItem' are left_item, 'Vote #' counts votes."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip()).lower().replace("#", " number ")
    return re.sub(r"[^a-z0-9]+", "_", words).strip("_")


def guess_columns(names: Sequence[str], parts: Sequence[str], given: dict[str, str] | None = None) -> dict[str, str]:
    """Columns for `parts` by common names; a column that is already taken is not guessed again."""
    taken = set((given or {}).values())
    by_name = {plain(name): name for name in reversed(names) if name not in taken}
    found: dict[str, str] = {}
    if "left" in parts and "right" in parts:
        sided = [(name, re.sub(r"(^|_)left(_|$)", r"\1right\2", name)) for name in by_name if "left" in name.split("_")]
        pair = next((pair for pair in (*PAIRS, *sided) if pair[0] in by_name and pair[1] in by_name), None)
        if pair:
            found |= {"left": by_name[pair[0]], "right": by_name[pair[1]]}
    sides = {"left": [pair[0] for pair in PAIRS], "right": [pair[1] for pair in PAIRS]}
    for part in parts:
        for name in NAMES.get(part, sides.get(part, ())):
            if part not in found and name in by_name and by_name[name] not in found.values():
                found[part] = by_name[name]
    return found
