"""A report: one HTML file that needs nothing else, in the one look of the house."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from salon.errors import BadFile
from salon.report import palette, svg
from salon.report.block import Block, Card, slug, templates
from salon.store.quick_file import put_file

GENERATOR = b'<meta name="generator" content="salon">'
"""What every page of Salon's holds in its head."""


@dataclass(frozen=True)
class Section:
    """A heading and the blocks under it; plain strings are paragraphs."""

    title: str
    blocks: Sequence[Block | str]
    summary: str = ""
    """One sentence under the heading."""


@dataclass(frozen=True)
class Page:
    """Title, cards, contents, sections, and a footer that says how to make it again."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    cards: Sequence[Card] = ()
    kicker: str = "Salon"
    signature: str = ""
    """The line that reproduces every number of the page."""
    notes: Sequence[str] = field(default_factory=tuple)
    """Small print above the signature: policies, versions, sources."""
    banner: str = ""
    """What nobody may overlook, above the title: that a study is simulated."""
    tab: str = ""
    """The name of the window, where it should say more than the title."""
    language: str = "en"

    def html(self) -> str:
        """The whole page as text; the same page always gives the same bytes."""
        script = asset("page.js")
        text = templates().get_template("page.html").render(
            page=self,
            anchors=anchors([section.title for section in self.sections]),
            fewest=1,
            style=Markup(style()),
            script=Markup(script),
            policy=_policy(script),
            icon=icon(),
        )  # fmt: skip
        return svg.clean(_regions_apart(text))

    def write(self, target: str | os.PathLike[str]) -> Path:
        """Write the page whole or not at all; only a page of Salon's own is ever replaced."""
        path = page_target(target)
        put_file(path, self.html().encode())
        return path


def ground() -> str:
    """What all of Salon's pages stand on, those of the studio too: colours, type, links, focus."""
    return palette.css() + "\n" + asset("ground.css")


def style() -> str:
    """The style sheet of every report: the ground, charts, page."""
    return "\n".join((ground(), asset("chart.css"), asset("page.css")))


@cache
def icon() -> str:
    """The house's icon as an address, for pages that are one file."""
    return "data:image/svg+xml," + quote(asset("favicon.svg"), safe="")


def standalone_svg(drawing: str) -> str:
    """A drawing as the text of an .svg file that follows the reader's theme."""
    return svg.standalone(drawing, palette.css() + "\n" + asset("chart.css"))


def anchors(titles: Sequence[str], otherwise: str = "section") -> list[str]:
    """One id per heading, in ASCII, no two alike."""
    seen: dict[str, int] = {}
    found = []
    for title in titles:
        name = slug(title) or otherwise
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}--{seen[name]}")
    return found


@cache
def asset(name: str) -> str:
    """A text file of this room."""
    return (resources.files("salon.report") / "templates" / name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """Only the page's own script may run, nothing may be fetched: escaping has a second wall behind it."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"


def _regions_apart(html: str) -> str:
    """Regions of one name get numbers from the second on, for who goes from one to the next by ear."""
    seen: Counter[str] = Counter()

    def named(found: re.Match[str]) -> str:
        seen[found[1]] += 1
        number = f" ({seen[found[1]]})" if seen[found[1]] > 1 else ""
        return f'role="region" aria-label="{found[1]}{number}"'

    return re.sub(r'role="region" aria-label="([^"]*)"', named, html)


def page_target(target: str | os.PathLike[str]) -> Path:
    """Where a page may be written: a new file, or an earlier page of Salon's. BadFile for anything else."""
    path = Path(target).resolve()
    if path.exists() and not (path.is_file() and _is_page(path)):
        raise BadFile(
            "a page is written to a new file, or over an earlier page",
            found="something else that is there already",
            where=str(target),
            remedy="choose another name, or move what is there",
        )
    parent = next(folder for folder in path.parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise BadFile("a folder that can be written to is needed", found=str(parent), where=str(target))
    return path


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return GENERATOR in file.read(2000)
