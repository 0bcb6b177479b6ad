"""What a file's columns and words mean: as the user says, else by common names; every guess is reported."""

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
from salon.store.formats.files import ColumnFile, open_sheet
from salon.store.formats.records import MAX_TEXT
from salon.store.formats.source import Source

ANSWERS = ("a", "b", "tie", "both_bad")
SKIPS = ("cannot judge", "broken image")

_BUILT_IN: dict[str, str] = {
    "a": "a left first model_a item_a image_a option_a response_a leftvote left_vote a>b a_wins [[a>b]] [[a]] "
    "left_is_better",
    "b": "b right second model_b item_b image_b option_b response_b rightvote right_vote b>a b_wins [[b>a]] [[b]] "
    "right_is_better",
    "tie": "tie draw equal same tievote tie_vote a=b both both_good tie_(bothgood) a=b=good [[a=b=good]] [[a=b]] [[c]] "
    "no_preference",
    "both_bad": "both_bad bothbad bothbad_vote tie_(bothbad) tie_(both_bad) a=b=bad [[a=b=bad]] neither",
    "cannot judge": "cannot_judge can't_judge skip skipped",
    "broken image": "broken_image broken",
}
BLANKS = frozenset(("na", "n/a", "#n/a", "<na>", "nan", "null", "nil"))
"""What R, pandas, databases and spreadsheets write for a cell without a value; "none" may as well be an answer."""
_THING = "image|picture|photo|poster|design|option|item|model|response|output|video|side|one|choice"
_SIDE = re.compile(
    rf"(?:the_)?(?:(?P<side>left|right|first|second|a|b)(?:_(?:{_THING}))?|(?:{_THING})_(?P<number>1|2|a|b|left|right))"
    r"(?:_(?:is|was))?(?:_(?:much|slightly|clearly))?(?:_(?:better|best|wins?|won|preferred|chosen))?"
)
"""A side in words: Left image, the right one, Image 1, Model B is better."""
WORDS: dict[str, str] = {word: meaning for meaning, words in _BUILT_IN.items() for word in words.split()}

_TRUE = ("1", "1.0", "true", "yes")
_FALSE = ("0", "0.0", "false", "no")
_HALF = ("0.5", ".5")
_A_CHOSEN = re.compile(r"^(is_)?(a|left|first)_?(is_)?(selected|chosen|wins?|won|preferred|better)$|^is_(a|left)$")
_B_CHOSEN = re.compile(r"^(is_)?(b|right|second)_?(is_)?(selected|chosen|wins?|won|preferred|better)$|^is_(b|right)$")


def normalize_word(word: str) -> str:
    """A word as the list above spells it."""
    return re.sub(r"\s+", "_", re.sub(r"\s*([=>])\s*", r"\1", word.strip().lower()))


def meaning_of(word: str) -> str | None:
    """What a word of an outcome column means, as `normalize_word` spells it; None where it is unknown."""
    if word in WORDS:
        return WORDS[word]
    match = _SIDE.fullmatch(re.sub(r"[^a-z0-9]+", "_", word).strip("_"))
    if match is None:
        return None
    return "a" if (match["side"] or match["number"]) in ("left", "first", "a", "1") else "b"


def parse_values(text: str) -> dict[str, str]:
    """'left=a,right=b' as a dictionary; the last '=' of each entry separates the file's word from its meaning."""
    meanings: dict[str, str] = {}
    for entry in text.split(","):
        word, mark, meaning = entry.rpartition("=")
        meaning = meaning.strip().replace("cannot_judge", "cannot judge").replace("broken_image", "broken image")
        if not mark or meaning not in ANSWERS + SKIPS:
            raise BadValue(
                "--outcome-values takes WORD=MEANING, separated by commas",
                found=repr(entry),
                remedy="a MEANING is one of " + ", ".join(ANSWERS + SKIPS),
            )
        meanings[normalize_word(word)] = meaning
    return meanings


def switch_words(column: str) -> dict[str, str] | None:
    """The meaning of 0 and 1 in a column such as is_A_selected; None where the name does not tell."""
    name = re.sub(r"[^a-z0-9]+", "_", column.strip().lower()).strip("_")
    for pattern, yes, no in ((_A_CHOSEN, "a", "b"), (_B_CHOSEN, "b", "a")):
        if pattern.match(name):
            return dict.fromkeys(_TRUE, yes) | dict.fromkeys(_FALSE, no) | dict.fromkeys(_HALF, "tie")
    return None


def is_number(word: str) -> bool:
    """True for words such as 1 or 0.5, whose meaning only the user knows."""
    return bool(re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)|true|false|yes|no", word))


# -- columns -----------------------------------------------------------------------------------------------------------

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
class ColumnCells:
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

    def keep(self, rows: np.ndarray) -> ColumnCells:
        """Only the rows marked True (places are then no longer those of the file)."""
        return ColumnCells(self.table.filter(pa.array(rows)), self.names, self.starts)


def open_sheets(source: Source) -> list[ColumnFile]:
    """All files of an import, opened."""
    return [open_sheet(source, path) for path in source.paths]


def read_cells(
    source: Source, sheets: Sequence[ColumnFile], needed: Sequence[str], optional: Sequence[str]
) -> ColumnCells:
    """The columns for all `needed` parts and those of the `optional` ones that the files have."""
    chosen = [choose_columns(source, sheet, needed, optional) for sheet in sheets]
    if any(names != chosen[0] for names in chosen):
        raise BadColumns(
            "files read together need the same columns",
            found="; ".join(f"{sheet.path.name}: {', '.join(sheet.names[:20])}" for sheet in sheets[:4]),
            remedy="name the columns with flags, or import the files one by one and use salon merge",
        )
    return load_cells(source, sheets, chosen[0])


def load_cells(source: Source, sheets: Sequence[ColumnFile], names: dict[str, str]) -> ColumnCells:
    """The columns in `names` (part to column) of all sheets, one after the other."""
    tables, starts, row = [], [], 0
    for sheet in sheets:
        table = sheet.read(list(names.values()))
        for name in table.column_names:
            longest = max(
                (pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0 for chunk in table.column(name).chunks),
                default=0,
            )
            if longest > MAX_TEXT:
                raise BadValue(
                    f"a cell may hold at most {MAX_TEXT:,} characters",
                    found=f"{longest:,} in column {shorten(name, 60)!r}",
                    where=str(sheet.path),
                    remedy="shorten the cell, or leave that column out",
                )
        columns = {part: table.column(column) for part, column in names.items()}
        tables.append(pa.table({part: _with_blanks(cells, part) for part, cells in columns.items()}))
        starts.append((sheet.path, row))
        row += table.num_rows
    source.columns.update(names)
    return ColumnCells(pa.concat_tables(tables), names, tuple(starts))


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


def choose_columns(source: Source, sheet: ColumnFile, needed: Sequence[str], optional: Sequence[str]) -> dict[str, str]:
    """Part to column for one file."""
    by_user = {part: column for part, column in source.options.columns.model_dump().items() if column is not None}
    parts = [*needed, *optional]
    for part in by_user:
        if part not in parts:
            raise BadValue(
                f"{column_flag(part)} means nothing to the kind {source.kind!r}",
                found=f"{column_flag(part)} {by_user[part]}",
                remedy="it takes " + ", ".join(column_flag(name) for name in parts) if parts else "leave it out",
            )
    for part, column in by_user.items():
        if column not in sheet.names:
            raise BadColumns.missing(column, sheet.names, where=str(sheet.path), option=column_flag(part))
    guesses = guess_columns(sheet.names, [part for part in [*needed, *optional] if part not in by_user], by_user)
    absent = [part for part in needed if part not in by_user and part not in guesses]
    if absent:
        raise _absent_columns(absent, sheet)
    if guesses:
        listed = ", ".join(f"{column_flag(part)} {shlex.quote(column)}" for part, column in guesses.items())
        source.say(f"{COLUMNS_GUESSED}: {listed}")
    chosen = by_user | guesses
    return {part: chosen[part] for part in [*needed, *optional] if part in chosen}


def _absent_columns(parts: Sequence[str], sheet: ColumnFile) -> BadColumns:
    """All that has to be named, at once; the nearest match where it is a single column."""
    error = BadColumns.missing(parts[0], sheet.names, where=str(sheet.path), option=column_flag(parts[0]))
    if len(parts) == 1:
        return error
    return BadColumns(
        f"columns for {', '.join(parts[:-1])} and {parts[-1]} are needed",
        found=error.found,
        where=error.where,
        remedy="name them: "
        + " ".join(f"{column_flag(part)} COLUMN" for part in parts)
        + _ONE_ROW.get(tuple(parts), ""),
    )


def column_flag(part: str) -> str:
    """The command-line flag of a part."""
    return "--" + part.replace("_", "-")


def normalize_name(name: str) -> str:
    """A column name without case and punctuation: 'Left Item' and 'leftItem' are left_item, 'Vote #' counts votes."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip()).lower().replace("#", " number ")
    return re.sub(r"[^a-z0-9]+", "_", words).strip("_")


def guess_columns(names: Sequence[str], parts: Sequence[str], by_user: dict[str, str] | None = None) -> dict[str, str]:
    """Columns for `parts` by common names; a column that is already taken is not guessed again."""
    used = set((by_user or {}).values())
    by_name = {normalize_name(name): name for name in reversed(names) if name not in used}
    guesses: dict[str, str] = {}
    if "left" in parts and "right" in parts:
        sided = [(name, re.sub(r"(^|_)left(_|$)", r"\1right\2", name)) for name in by_name if "left" in name.split("_")]
        pair = next((pair for pair in (*PAIRS, *sided) if pair[0] in by_name and pair[1] in by_name), None)
        if pair:
            guesses |= {"left": by_name[pair[0]], "right": by_name[pair[1]]}
    sides = {"left": [pair[0] for pair in PAIRS], "right": [pair[1] for pair in PAIRS]}
    for part in parts:
        for name in NAMES.get(part, sides.get(part, ())):
            if part not in guesses and name in by_name and by_name[name] not in guesses.values():
                guesses[part] = by_name[name]
    return guesses
