"""The parts a page is made of. Each is a frozen value that renders itself from its own template."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from salon.report.svg import NARROW, WIDE, Drawing, clean

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
    """The room's templates: everything escaped, a missing name is an error and never a blank."""
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
class Verdict:
    """What is concluded about `subject`: a badge and a sentence in plain words."""

    subject: str
    badge: Badge
    sentence: str
    group: str = ""


@dataclass(frozen=True)
class Verdicts(Block):
    """Verdicts as a list to read from top to bottom."""

    template: ClassVar[str] = "verdicts.html"

    verdicts: Sequence[Verdict]


@dataclass(frozen=True)
class Figure(Block):
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
class Figures(Block):
    """Small multiples: up to three side by side, one on a phone; one caption for all."""

    template: ClassVar[str] = "figures.html"

    figures: Sequence[Figure]
    caption: str = ""
    legend: Sequence[tuple[str, str]] = ()
    """(swatch class, words) pairs that explain all of them at once, e.g. ("cohort-1", "observed")."""

    @property
    def shown(self) -> Sequence[Figure]:
        """One that stands alone takes the whole width."""
        one = self.figures[0] if len(self.figures) == 1 else None
        if one is None or not isinstance(one.drawing, Drawing):
            return self.figures
        return [replace(one, drawing=one.drawing.redrawn(WIDE))]


@dataclass(frozen=True)
class Details(Block):
    """Blocks behind a line to click on: what few readers need at once. On paper all are open."""

    template: ClassVar[str] = "details.html"

    summary: str
    blocks: Sequence[Block]
    open: bool = False
