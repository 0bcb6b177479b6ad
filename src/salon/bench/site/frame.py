"""What all pages share: the frame with navigation, style sheet and script, lists to search, and how code is written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup, escape

from salon.report import (
    Block,
    Card,
    Column,
    Section,
    Table,
    anchors,
    asset,
    cell_html,
    element,
    format_value,
    one_way,
    sort_key,
    style,
    templates as report_templates,
)

POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:; "
    "base-uri 'none'; form-action 'none'"
)
"""Only files of the site, from a web server ('self') or from the disk (file:); nothing inline, nothing fetched."""


@dataclass(frozen=True)
class SiteHead:
    """What stands at the head of every page."""

    title: str
    navigation: tuple[tuple[str, str], ...]
    """(words, path) of every page that is linked from all."""


@dataclass(frozen=True)
class PageLink:
    """A link to a neighbour: the prompt before or after."""

    words: str
    href: str


@dataclass(frozen=True)
class SitePage:
    """A page: where it stands, what it is called, what is in it."""

    path: str
    title: str
    subtitle: str | Markup
    sections: Sequence[Section]
    head: SiteHead
    cards: Sequence[Card] = ()
    kicker: str = ""
    notes: Sequence[str] = ()
    signature: str = ""
    banner: str = ""
    before: PageLink | None = None
    after: PageLink | None = None
    wide: bool = False
    """Sections take the whole width: their headings stand above, not beside."""

    @property
    def root(self) -> str:
        """The way from this page to the top of the site."""
        return "../" * self.path.count("/")

    def html(self) -> str:
        """The page as text: the same bytes every time, without characters that turn the direction of what follows."""
        text = templates().get_template("frame.html").render(
            page=self,
            anchors=anchors([section.title for section in self.sections]),
            fewest=3,
            policy=POLICY,
            assets=asset_names(),
            coded=mark_code,
        )  # fmt: skip
        return one_way(text)


class SiteBlock(Block):
    """A block with a template of this folder's."""

    def __html__(self) -> str:
        return Markup(templates().get_template(self.template).render(block=self))


@cache
def templates() -> Environment:
    """Those of this folder, and the report's."""
    own = PackageLoader("salon.bench.site", "templates")
    return report_templates().overlay(loader=ChoiceLoader([own, PackageLoader("salon.report", "templates")]))


@cache
def assets() -> dict[str, str]:
    """Shared files by kind: the style sheet, the icon, the theme (read before anything is painted) and the script."""
    return {
        "style.css": style() + "\n" + _text("site.css"),
        "theme.js": _text("theme.js"),
        "icon.svg": asset("favicon.svg"),
        "site.js": asset("page.js") + _text("site.js"),
    }


@cache
def asset_names() -> dict[str, str]:
    """Their paths in the site; a changed file has a new name, so that no browser shows a stale one."""
    paths = {}
    for name, text in assets().items():
        stem, ending = name.split(".")
        paths[name] = f"assets/{stem}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.{ending}"
    return paths


@cache
def _text(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


# -- long lists to sort and search; order and search stand in the address ----------------------------------------------


def facts_table(facts: Sequence[tuple[str, object]], label: str) -> Table:
    """What is known of something, a line for each; what is empty is left out."""
    rows = [{"what": what, "is": value} for what, value in facts if value]
    return Table([Column("what", "What"), Column("is", "Is")], rows, sortable=False, label=label)


@dataclass(frozen=True)
class ListRow:
    """One line: a link (words alone without an address), a smaller line under it, and numbers."""

    href: str
    label: str
    under: str
    words: str
    """What a search looks at, in lower case."""
    group: str
    cells: Mapping[str, object]


@dataclass(frozen=True)
class Listing(SiteBlock):
    """The first column is the link; the others are cells of the rows."""

    template: ClassVar[str] = "listing.html"

    columns: Sequence[Column]
    rows: Sequence[ListRow]
    name: str
    find: str = "words, tag, id"
    """What can be searched for."""
    every: str = "all groups"

    @property
    def groups(self) -> list[str]:
        """To choose from."""
        return list(dict.fromkeys(row.group for row in self.rows))

    def cell(self, row: ListRow, column: Column) -> Markup:
        """The inside of a cell."""
        return cell_html(row.cells[column.path], column.kind, None, column.decimals)

    def sort(self, row: ListRow, column: Column) -> str:
        """What its column is sorted by."""
        raw = row.cells[column.path]
        key = sort_key(raw, column.kind)
        return str(key if key is not None else format_value(raw, column.kind)).lower()


# -- wording -----------------------------------------------------------------------------------------------------------


def mark_code(words: str) -> Markup:
    """Words with what stands between backticks as code."""
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return escape(words)
    return Markup("").join(element("code", part) if k % 2 else escape(part) for k, part in enumerate(parts))


def capital(name: str) -> str:
    """A name at the head of something: its first letter large, the others as they are."""
    return name[:1].upper() + name[1:]


def clause(words: str) -> str:
    """A sentence inside another one: its first letter small, without its stop."""
    return (words[:1].lower() + words[1:]).rstrip(".")


def code_line(line: str) -> Markup:
    """A signature or a hash, that may break after each of its parts."""
    return element("code", Markup("|<wbr>").join(escape(part) for part in one_way(line).split("|")), class_="line")


def opening_words(text: str, most: int) -> str:
    """The first words of a text on one line, at most `most` characters."""
    words = " ".join(one_way(text).split())
    if len(words) <= most:
        return words
    cut = words[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:.—–-")
    return f"{cut or words[: most - 1]}…"
