"""What a site shows: entries in the board's order, their axes, thumbnails, and the names of pages."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from urllib.parse import urlsplit

from salon.bench import arena, rater_results as rater_tables
from salon.bench.arena import ArenaSnapshot
from salon.bench.board import Board, entry_folder, read_checked_result, read_published
from salon.bench.entry import AxisResult, Entry, EntryResult, GroupResult, PromptResult, Retraction
from salon.bench.rater_results import RaterTables
from salon.bench.result import Standing, standings
from salon.bench.site.frame import SiteHead
from salon.bench.snapshots import read_snapshots
from salon.bench.suite import CAPABILITY, OVERALL, Suite, SuitePrompt
from salon.errors import BadFile
from salon.report import brief, distinct_names
from salon.store import Thumb, is_inside, make_thumbs


@dataclass(frozen=True)
class SiteAxis:
    """A column of the board."""

    id: str
    title: str
    hint: str
    of: Callable[[EntryResult], AxisResult | None]


@dataclass(frozen=True)
class SiteEntry:
    """An entry with its result (None while it was not judged) and the folder of its pictures."""

    entry: Entry
    result: EntryResult | None
    published: bool
    folder: Path

    @property
    def name(self) -> str:
        """Its name on the board."""
        return self.entry.name

    @property
    def computed(self) -> EntryResult:
        """The result of an entry that has one, as all published ones do."""
        assert self.result is not None
        return self.result

    @property
    def retraction(self) -> Retraction:
        """Why the entry was retracted; only for retracted entries."""
        assert self.entry.retracted is not None
        return self.entry.retracted


@dataclass(frozen=True)
class SiteData:
    """Everything that pages show."""

    title: str
    suite: Suite
    entries: tuple[SiteEntry, ...]
    arenas: Sequence[ArenaSnapshot] = ()
    raters: Sequence[RaterTables] = ()

    @cached_property
    def axes(self) -> tuple[SiteAxis, ...]:
        """Overall and EPS columns where there is a reference, and Capability always; the first one orders the board."""
        weights = self.suite.card.weights
        capability = SiteAxis(
            CAPABILITY, "Capability", "Share of pictures whose points hold.", lambda result: result.capability
        )
        if self.suite.reference is None or not self.suite.card.preferences:
            return (capability,)
        mixed = " + ".join(f"{weight:g} {name.upper() if name == 'eps' else name}" for name, weight in weights.items())
        columns = [
            SiteAxis(
                rule.id,
                rule.title,
                "Chance to be preferred to the frozen reference"
                + (f", by a scorer of {rule.criterion}." if rule.criterion else "."),
                partial(_eps_of, rule.id),
            )
            for rule in sorted(self.suite.card.preferences, key=lambda rule: not rule.headline)
        ]
        return (SiteAxis(OVERALL, "Overall", f"{mixed}.", lambda result: result.overall), capability, *columns)

    @cached_property
    def head(self) -> SiteHead:
        """Title and navigation; arena and raters where there is a snapshot."""
        pages = [("Board", "index.html"), ("Prompts", "prompts/index.html"), ("Tags", "tags.html")]
        pages += [("Arena", "arena.html")] if self.arenas else []
        pages += [("Raters", "raters.html")] if self.raters else []
        return SiteHead(self.title, (*pages, ("Method", "method.html"), ("Data", "data/index.html")))

    @cached_property
    def headline(self) -> str | None:
        """Id of the EPS column that enters Overall."""
        return next((rule.id for rule in self.suite.card.preferences if rule.headline), None)

    @cached_property
    def published(self) -> tuple[SiteEntry, ...]:
        """Entries on the board, best first by its first axis."""
        complete = [
            site_entry
            for site_entry in self.entries
            if not site_entry.entry.retracted and site_entry.result and site_entry.published
        ]
        first = self.axes[0].of

        def order(site_entry: SiteEntry) -> tuple[float, str]:
            axis = first(site_entry.computed)
            return -axis.figure.value if axis else 1.0, site_entry.name

        return tuple(sorted(complete, key=order))

    @cached_property
    def provisional(self) -> tuple[SiteEntry, ...]:
        """Entries that still lack answers."""
        return tuple(
            site_entry
            for site_entry in self.entries
            if not site_entry.entry.retracted and site_entry not in self.published
        )

    @cached_property
    def retracted(self) -> tuple[SiteEntry, ...]:
        """Retracted entries."""
        return tuple(site_entry for site_entry in self.entries if site_entry.entry.retracted)

    @cached_property
    def ordered(self) -> tuple[SiteEntry, ...]:
        """All entries: the board, then provisional ones; retracted ones show no pictures."""
        return self.published + self.provisional

    @cached_property
    def standing(self) -> dict[str, dict[str, Standing]]:
        """By axis and name of the entry: ranks, their ranges, tie groups."""
        results = [item.computed for item in self.published]
        return {
            axis.id: {item.entry: item for item in standings(results, axis.id).places} for axis in self.axes if results
        }

    @cached_property
    def labels(self) -> dict[str, str]:
        """How entries are called on pages: their titles, told apart."""
        titles = distinct_names([site_entry.entry.label for site_entry in self.entries], 48)
        twice = {label for label in titles if sum(site_entry.entry.label == label for site_entry in self.entries) > 1}
        return {
            site_entry.name: brief(f"{site_entry.entry.label} ({site_entry.name})", 48)
            if site_entry.entry.label in twice
            else titles[site_entry.entry.label]
            for site_entry in self.entries
        }

    @cached_property
    def entry_pages(self) -> dict[str, str]:
        """File name of each entry's page, without its ending."""
        return page_names(site_entry.name for site_entry in self.entries)

    @cached_property
    def prompt_pages(self) -> dict[str, str]:
        """File name of each prompt's page, without its ending."""
        return page_names(prompt.id for prompt in self.suite.prompts)

    @cached_property
    def by_prompt(self) -> dict[str, dict[str, PromptResult]]:
        """By name of the entry and id of the prompt."""
        return {
            site_entry.name: {p.prompt: p for p in site_entry.result.prompts}
            for site_entry in self.entries
            if site_entry.result
        }

    @cached_property
    def groups(self) -> dict[str, dict[tuple[str, str], GroupResult]]:
        """By name of the entry, and (kind, id) of a tag or group of tags."""
        return {
            site_entry.name: {(g.kind, g.id): g for g in site_entry.result.groups}
            for site_entry in self.entries
            if site_entry.result
        }

    @cached_property
    def tag_groups(self) -> tuple[str, ...]:
        """Groups of tags in the suite's order."""
        return tuple(dict.fromkeys(tag.group for tag in self.suite.tags))

    def middle(self, numbers: Sequence[float]) -> float | None:
        """The median over published entries; None where there are too few to compare with."""
        return statistics.median(numbers) if len(numbers) > 1 else None

    def words_of(self, prompt: SuitePrompt) -> str:
        """The text of a prompt; nothing of a private one, even where the text is at hand."""
        return "" if prompt.private else prompt.prompt.view()


def read_site_data(board: Board, title: str | None = None) -> SiteData:
    """Everything that pages of a board show."""
    folders = [entry_folder(board, entry.name) for entry in board.entries]
    return SiteData(
        title=title or board.suite.card.title,
        suite=board.suite,
        entries=tuple(
            SiteEntry(entry, read_checked_result(folder), read_published(folder) is not None, folder)
            for entry, folder in zip(board.entries, folders)
        ),
        arenas=read_snapshots(board.folder / arena.FOLDER, ArenaSnapshot),
        raters=read_snapshots(board.folder / rater_tables.FOLDER, RaterTables),
    )


def _eps_of(column: str, result: EntryResult) -> AxisResult | None:
    return result.eps.get(column)


# -- thumbnails, named by content; those of an earlier site are kept ---------------------------------------------------

FOLDER = "images"
Pictures = Mapping[tuple[str, str], Thumb | BadFile]
"""By name of the entry and id of the item. Pictures of private prompts and of retracted entries are not in it."""


def make_pictures(
    site: SiteData, stage: Path, earlier: Path, width: int, step: Callable[[str], None]
) -> dict[tuple[str, str], Thumb | BadFile]:
    """Thumbnails in `stage`/images; the same pictures as in the site `earlier` are not drawn again."""
    folder = stage / FOLDER
    folder.mkdir()
    for path in (earlier / FOLDER).glob("*.webp"):
        if not path.is_symlink():
            target = folder / path.name
            try:
                os.link(path, target)
            except OSError:  # a file system without links
                shutil.copyfile(path, target)
    files = shown_pictures(site)
    return dict(zip(files, make_thumbs([*files.values()], width, folder, step)))


def shown_pictures(site: SiteData) -> dict[tuple[str, str], Path]:
    """Files of the pictures that pages show; none outside its entry's folder."""
    return {
        (site_entry.name, picture.item): site_entry.folder / picture.image
        for site_entry in site.ordered
        for picture in site_entry.entry.pictures
        if picture.image
        and picture.prompt not in site.suite.private
        and is_inside(site_entry.folder / picture.image, site_entry.folder)
    }


# -- names of pages, and links -----------------------------------------------------------------------------------------

LONGEST = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_RESERVED = re.compile(r"(index|con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def page_names(names: Iterable[str]) -> dict[str, str]:
    """The name of a page for each name: itself where that is safe, else what can be read of it and a hash."""
    pages: dict[str, str] = {}
    used: set[str] = set()
    for name in names:
        place = (
            name
            if 0 < len(name) <= LONGEST and not _UNSAFE.search(name) and not _RESERVED.fullmatch(name)
            else _hashed(name)
        )
        if place.lower() in used:  # a disk that does not tell A from a
            place = _hashed(name)
        used.add(place.lower())
        pages[name] = place
    return pages


def web_link(address: str) -> str | None:
    """`address` where it is one of the web; None for anything else (javascript:, file:, data:)."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return None
    return address.strip() if parts.scheme.lower() in ("http", "https") and parts.netloc else None


def _hashed(name: str) -> str:
    readable = _UNSAFE.sub("-", name).strip("-")[:LONGEST]
    return f"{readable}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".lstrip("-")
