"""One page of a site: the look of the house, navigation above, the style sheet and script in files that all share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from salon.bench.site.wording import coded
from salon.report.block import Block, Card
from salon.report.block import templates as report_templates
from salon.report.page import Section, anchors, asset, style
from salon.report.words import one_way

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
class Step:
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
    before: Step | None = None
    after: Step | None = None
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
            coded=coded,
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
    found = {}
    for name, text in assets().items():
        stem, ending = name.split(".")
        found[name] = f"assets/{stem}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.{ending}"
    return found


@cache
def _text(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")
