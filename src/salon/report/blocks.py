"""The parts of a page: text, cards, charts and tables. Each renders itself from its own template."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Literal, get_args, get_type_hints

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import BaseModel

from salon.errors import BadValue
from salon.report import numbers, values
from salon.report.svg import NARROW, WIDE, Drawing, clean, element
from salon.report.words import count_noun
from salon.stats import Estimate
from salon.study import Format, NumberKind

Tone = Literal["plain", "clear", "split", "none", "open", "thin", "alert"]

GLYPHS: dict[str, str] = {
    "plain": "",
    "clear": "●",
    "split": "◑",
    "none": "○",
    "open": "◌",
    "thin": "·",
    "alert": "▲",
}
"""A shape for each tone, so that no meaning rests on colour alone."""


@cache
def templates() -> Environment:
    """The package's templates: everything escaped, a missing name is an error and never a blank."""
    loader = PackageLoader("salon.report", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def slug(words: str) -> str:
    """`words` as a part of an address or a file name: ASCII letters, digits and hyphens, 80 at most."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[:80].strip("-")


class Block:
    """Anything that stands in a section."""

    template: ClassVar[str]

    def __html__(self) -> str:
        return Markup(templates().get_template(self.template).render(block=self))


@dataclass(frozen=True)
class Badge(Block):
    """A word or two in a pill. Tones: clear (there is something), split, none, open (cannot tell), thin
    (too little data), alert (a flag), plain.
    """

    template: ClassVar[str] = "badge.html"

    words: str
    tone: Tone = "plain"
    hint: str = ""

    @property
    def glyph(self) -> str:
        return GLYPHS[self.tone]


@dataclass(frozen=True)
class Prose(Block):
    """Paragraphs, split at blank lines. Numbers enter as `values.value(...)` through `Prose.of`."""

    template: ClassVar[str] = "prose.html"

    words: str

    @classmethod
    def of(cls, words: str, **parts: object) -> Prose:
        """`words` with each {name} replaced by its part; parts that are not Markup are escaped."""
        return cls(escape(words).format(**parts))

    @property
    def paragraphs(self) -> list[str]:
        return [p for p in self.words.split("\n\n") if p.strip()]


@dataclass(frozen=True)
class Note(Block):
    """A remark that must not be missed: a policy, a warning."""

    template: ClassVar[str] = "note.html"

    words: str
    tone: Tone = "plain"
    heading: str = ""


@dataclass(frozen=True)
class Card(Block):
    """One of the few numbers or verdicts at the head of a page; `value` is words or `values.value(...)`."""

    template: ClassVar[str] = "card.html"

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"

    @property
    def glyph(self) -> str:
        return GLYPHS[self.tone]


@dataclass(frozen=True)
class VerdictLine:
    """What is concluded about `subject`: a badge and a sentence in plain words."""

    subject: str
    badge: Badge
    sentence: str
    group: str = ""


@dataclass(frozen=True)
class Verdicts(Block):
    """Verdicts as a list to read from top to bottom."""

    template: ClassVar[str] = "verdicts.html"

    verdicts: Sequence[VerdictLine]


@dataclass(frozen=True)
class Chart(Block):
    """A drawing with its caption. On a phone a wide drawing is replaced by itself drawn narrow.

    A chart has a button that saves it, and its numbers; see `report.paper` for files.
    """

    template: ClassVar[str] = "figure.html"

    drawing: str
    caption: str = ""
    heading: str = ""
    badge: Badge | None = None

    @property
    def narrow(self) -> Markup | None:
        """The phone's version, where it differs."""
        drawing = self.drawing
        return drawing.at(NARROW) if isinstance(drawing, Drawing) and drawing.width > NARROW else None

    @property
    def name(self) -> str:
        """What its files are called."""
        title = self.drawing.subject if isinstance(self.drawing, Drawing) else ""
        return slug(title if self.heading in title else f"{self.heading} {title}") or "figure"

    @property
    def csv(self) -> str:
        """The numbers of a chart as the text of a .csv file; empty for what is no chart."""
        rows = self.drawing.rows() if isinstance(self.drawing, Drawing) else []
        if not rows:
            return ""
        text = io.StringIO()
        columns = dict.fromkeys(column for row in rows for column in row)
        writer = csv.DictWriter(text, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return clean(text.getvalue())


@dataclass(frozen=True)
class ChartRow(Block):
    """Small multiples: up to three side by side, one on a phone; one caption for all."""

    template: ClassVar[str] = "figures.html"

    figures: Sequence[Chart]
    caption: str = ""
    legend: Sequence[tuple[str, str]] = ()
    """(swatch class, words) pairs that explain all of them at once, e.g. ("cohort-1", "observed")."""

    @property
    def shown(self) -> Sequence[Chart]:
        """One that stands alone takes the whole width."""
        single = self.figures[0] if len(self.figures) == 1 else None
        if single is None or not isinstance(single.drawing, Drawing):
            return self.figures
        return [replace(single, drawing=single.drawing.redrawn(WIDE))]


@dataclass(frozen=True)
class Details(Block):
    """Blocks behind a line to click on: what few readers need at once. On paper all are open."""

    template: ClassVar[str] = "details.html"

    summary: str
    blocks: Sequence[Block | str]
    open: bool = False


def fold(summary: str, *blocks: Block | str | None) -> list[Block]:
    """Blocks behind a line to click on; an empty list where there are none."""
    present = [block for block in blocks if block is not None]
    return [Details(summary, present)] if present else []


# -- tables ---------------------------------------------------------------------------------------------------------

Kind = NumberKind
WORDS = ("text", "badge")
POINTED = ("number", "count", "percent", "estimate")
"""Kinds whose decimal points line up on a terminal; the other numbers end flush right."""
DENSE, DENSE_WIDE, OVER = 7, 10, 15
"""A table of more columns stands closer; so does one of fewer that are wide: intervals and badges count twice.
One wider still may reach into the margin of the page.
"""


@dataclass(frozen=True)
class Column:
    """`path` finds the value in a row (`mean_tau`, `tests.T.p`); `kind` says how it is written."""

    path: str
    header: str
    kind: Kind = "text"
    decimals: int | None = None
    hint: str = ""
    """What the column means, shown on its header."""

    def __post_init__(self) -> None:
        if not self.header.strip():
            raise BadValue("a column needs a header: who hears a page read aloud has nothing else", found=self.path)

    @property
    def numeric(self) -> bool:
        return self.kind not in WORDS


def columns_of(result: type, *paths: str, **headers: str) -> list[Column]:
    """Columns for the fields of a result class (a noun, or a kernel's dataclass), described as the fields are.

    A field's title is the header (its name in words where it has none), its description the hint, and its type and
    `Format` say how it is written. A path may lead into nested results (`ceilings.oracle`). `headers` gives a column
    another header, where a table needs a shorter one.
    """
    return [_column_of(result, path, headers.get(path.replace(".", "_"))) for path in paths]


def _column_of(result: type, path: str, header: str | None) -> Column:
    *outer, name = path.split(".")
    for part in outer:
        kinds = _types(_field(result, part).annotation)
        result = next(kind for kind in kinds if issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind))
    field = _field(result, name)
    format = field.format
    if format is None:
        types = _types(field.annotation)
        kinds_of: dict[type, Kind] = {Estimate: "estimate", bool: "text", int: "count", float: "number"}
        format = Format(next((kinds_of[kind] for kind in kinds_of if kind in types), "text"))
    title = header or field.title or name.replace("_", " ").capitalize()
    return Column(path, title, format.kind, format.decimals, field.description.removesuffix("."))


@dataclass(frozen=True)
class _ResultField:
    """What a result class says of one of its fields."""

    annotation: object
    title: str | None
    description: str
    format: Format | None


def _field(result: type, name: str) -> _ResultField:
    if issubclass(result, BaseModel) and name in result.model_fields:
        info = result.model_fields[name]
        format = next((extra for extra in info.metadata if isinstance(extra, Format)), None)
        return _ResultField(info.annotation, info.title, info.description or "", format)
    if dataclasses.is_dataclass(result) and name in result.__dataclass_fields__:
        about = result.__dataclass_fields__[name].metadata
        format = Format(*about["format"]) if "format" in about else None
        annotation = get_type_hints(result)[name]
        return _ResultField(annotation, about.get("title"), about.get("description", ""), format)
    raise BadValue(f"a field of {result.__name__} is needed", found=repr(name))


def _types(annotation: object) -> list[type]:
    """The classes of an annotation: `float | None` and `Annotated[float, ...]` are float."""
    if get_args(annotation):
        return [kind for part in get_args(annotation) for kind in _types(part)]
    return [annotation] if isinstance(annotation, type) else []


@dataclass(frozen=True)
class Cell:
    """A value with something to say about it: why it is missing, or a second line in smaller type."""

    raw: object
    why: str = ""
    """Shown on the cell, e.g. the reason behind a dash or the law behind a p value."""
    under: str = ""
    """A smaller second line; words or Markup. Not on the terminal."""


@dataclass(frozen=True)
class Table(Block):
    """Rows are mappings (or result objects) read by the columns' paths; a value may be a `Cell`.

    `key` is the path of the rows in the JSON document and `row_keys` their names there (default 0, 1, 2 ...):
    with it every number carries its own path. `key=None` marks numbers that are in no document.
    """

    template: ClassVar[str] = "table.html"

    columns: Sequence[Column]
    rows: Sequence[object]
    caption: str = ""
    key: str | None = None
    row_keys: Sequence[str] | None = None
    sortable: bool = True
    label: str = ""
    """What it shows, for screen readers, where there is no caption: no two tables of a page should share one."""

    def __post_init__(self) -> None:
        if self.row_keys is not None and len(self.row_keys) != len(self.rows):
            raise BadValue(f"{len(self.rows)} row keys are needed", found=len(self.row_keys), where=self.caption)

    @property
    def name(self) -> str:
        """The caption without markup, for screen readers."""
        words = self.caption.striptags() if isinstance(self.caption, Markup) else self.caption
        return words or self.label or "table"

    def capped(self, most: int, noun: str, nouns: str = "") -> Table:
        """The table with its first rows only, and a caption that says where the others are."""
        left = len(self.rows) - most
        if left <= 0:
            return self
        note = Markup(" The first rows; {} in the JSON.").format(
            count_noun(left, f"more {noun}", f"more {nouns or noun + 's'}")
        )
        row_keys = None if self.row_keys is None else self.row_keys[:most]
        return replace(self, rows=self.rows[:most], row_keys=row_keys, caption=escape(self.caption) + note)

    @property
    def look(self) -> str:
        """Classes of the style sheet: a table of words alone may wrap them all, a wide one stands closer."""
        words = not any(column.numeric for column in self.columns)
        n = len(self.columns)
        wide = sum(column.kind in ("estimate", "badge") for column in self.columns)
        dense = n > DENSE or n + wide > DENSE_WIDE
        classes = {"sortable": self.sortable, "dense": dense, "over": n + wide > OVER, "words": words}
        return " ".join(name for name, holds in classes.items() if holds)

    def html_rows(self) -> list[list[Markup]]:
        """Finished `<td>` elements."""
        places = [self._decimals(c) for c in self.columns]
        return [
            [self._cell(row, i, column, places[j]) for j, column in enumerate(self.columns)]
            for i, row in enumerate(self.rows)
        ]

    def text(self) -> str:
        """The table for a terminal: words to the left, numbers with their points in line."""
        body = [numbers.align(self._words(c)) if c.kind in POINTED else self._words(c) for c in self.columns]
        lines = []
        for column, cells in zip(self.columns, body):
            width = max(len(column.header), *(len(c) for c in cells)) if cells else len(column.header)
            side = str.rjust if column.numeric else str.ljust
            lines.append([side(column.header, width), "─" * width, *(side(c, width) for c in cells)])
        return "\n".join("  ".join(parts).rstrip() for parts in zip(*lines))

    def _words(self, column: Column) -> list[str]:
        places = self._decimals(column)
        return [format_value(_cell_of(row, column).raw, column.kind, places) for row in self.rows]

    def _decimals(self, column: Column) -> int | None:
        """Estimates of one column share their decimals, by the median width of their intervals."""
        if column.decimals is not None or column.kind != "estimate":
            return column.decimals
        raw_values = [_cell_of(row, column).raw for row in self.rows]
        return numbers.common_decimals(values.estimate_parts(v)[1:] for v in raw_values if v is not None)

    def _cell(self, row: object, index: int, column: Column, places: int | None) -> Markup:
        cell = _cell_of(row, column)
        raw, key = cell.raw, None
        if self.key is not None and column.numeric:
            name = str(index) if self.row_keys is None else self.row_keys[index]
            key = values.join(self.key, values.path(name), column.path)
        inside = cell_html(raw, column.kind, key, places)
        under = element("div", cell.under, class_="under") if cell.under else None
        sort = sort_key(raw, column.kind)
        return element("td", inside, under, class_=f"kind-{column.kind}", data_sort=sort, title=cell.why or None)


def format_value(raw: object, kind: Kind, decimals: int | None = None) -> str:
    """A raw value as plain text."""
    if raw is None:
        return numbers.MISSING
    if kind == "estimate":
        return numbers.estimate(*values.estimate_parts(raw), decimals)
    if kind == "badge":
        badges = raw if isinstance(raw, list | tuple) else [raw]
        return ", ".join(str(b.words) if isinstance(b, Badge) else str(b) for b in badges)
    if kind == "text":
        return raw.striptags() if isinstance(raw, Markup) else str(raw)
    if kind == "exact":
        return numbers.exact(raw)  # type: ignore[arg-type]  # the kind says what it is
    x = numbers.plain(raw)
    if kind == "number":
        return numbers.fixed(x, 3 if decimals is None else decimals)
    if kind == "percent":
        return numbers.percent(x, 1 if decimals is None else decimals)
    plain = {"count": numbers.count, "p": numbers.p_value, "duration": numbers.duration}
    return plain[kind](x)


def cell_html(raw: object, kind: Kind, key: str | None, decimals: int | None = None) -> Markup:
    """A raw value as the inside of a cell."""
    if kind == "badge":
        badges = raw if isinstance(raw, list | tuple) else [raw] if raw is not None else []
        return Markup(" ").join(b if isinstance(b, Badge) else Badge(str(b)) for b in badges)
    if kind == "text":
        return raw if isinstance(raw, Markup) else escape(format_value(raw, "text"))
    if kind == "estimate" and raw is not None:
        return values.estimate_value(raw, key, decimals)
    return values.value(raw, key, format_value(raw, kind, decimals))


def _cell_of(row: object, column: Column) -> Cell:
    raw = values.lookup(row, column.path)
    return raw if isinstance(raw, Cell) else Cell(raw)


def sort_key(raw: object, kind: Kind) -> object:
    """What a click on the header sorts by: the raw number, or the words."""
    if raw is None:
        return ""
    if kind == "estimate":
        return repr(values.estimate_parts(raw)[0])
    if kind in WORDS or isinstance(raw, Mapping):
        return None
    return values.written(raw)
