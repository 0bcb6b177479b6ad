"""What a site is made of: entries in the board's order, their axes, who is on the board and who stands beside it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from salon.bench import arena, rater_tables
from salon.bench.arena import ArenaSnapshot
from salon.bench.board import Board, entry_folder, read_published, shown_result
from salon.bench.entry import Entry, Retraction
from salon.bench.numbered import read_snapshots
from salon.bench.rater_tables import RaterTables
from salon.bench.results import AxisResult, EntryResult, GroupResult, PromptResult
from salon.bench.site.frame import SiteHead
from salon.bench.site.places import places
from salon.bench.standings import Standing, standings
from salon.bench.suite import CAPABILITY, OVERALL, Suite, SuitePrompt
from salon.report.words import brief, told_apart


@dataclass(frozen=True)
class Axis:
    """A column of the board."""

    id: str
    title: str
    hint: str
    of: Callable[[EntryResult], AxisResult | None]


@dataclass(frozen=True)
class Shown:
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
        """Why an entry was taken back, of one that was."""
        assert self.entry.retracted is not None
        return self.entry.retracted


@dataclass(frozen=True)
class Material:
    """Everything that pages show."""

    title: str
    suite: Suite
    entries: tuple[Shown, ...]
    arenas: Sequence[ArenaSnapshot] = ()
    raters: Sequence[RaterTables] = ()

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Overall and EPS columns where there is a reference, and Capability always; the first one orders the board."""
        weights = self.suite.card.weights
        capability = Axis(CAPABILITY, "Capability", "Share of pictures whose points hold.", lambda one: one.capability)
        if self.suite.reference is None or not self.suite.card.preferences:
            return (capability,)
        mixed = " + ".join(f"{weight:g} {name.upper() if name == 'eps' else name}" for name, weight in weights.items())
        columns = [
            Axis(
                rule.id,
                rule.title,
                "Chance to be preferred to the frozen reference"
                + (f", by a scorer of {rule.criterion}." if rule.criterion else "."),
                partial(_eps_of, rule.id),
            )
            for rule in sorted(self.suite.card.preferences, key=lambda rule: not rule.headline)
        ]
        return (Axis(OVERALL, "Overall", f"{mixed}.", lambda one: one.overall), capability, *columns)

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
    def published(self) -> tuple[Shown, ...]:
        """Entries on the board, best first by its first axis."""
        held = [one for one in self.entries if not one.entry.retracted and one.result and one.published]
        first = self.axes[0].of
        return tuple(sorted(held, key=lambda one: (-_value(first(one.computed)), one.name)))

    @cached_property
    def provisional(self) -> tuple[Shown, ...]:
        """Entries of which something is not answered yet."""
        return tuple(one for one in self.entries if not one.entry.retracted and one not in self.published)

    @cached_property
    def retracted(self) -> tuple[Shown, ...]:
        """Entries that were taken back."""
        return tuple(one for one in self.entries if one.entry.retracted)

    @cached_property
    def ordered(self) -> tuple[Shown, ...]:
        """All entries: the board, then provisional ones; retracted ones show no pictures."""
        return self.published + self.provisional

    @cached_property
    def standing(self) -> dict[str, dict[str, Standing]]:
        """By axis and name of the entry: ranks, their ranges, tie groups."""
        results = [one.computed for one in self.published]
        return {
            axis.id: {one.entry: one for one in standings(results, axis.id).places} for axis in self.axes if results
        }

    @cached_property
    def labels(self) -> dict[str, str]:
        """How entries are called on pages: their titles, told apart."""
        titles = told_apart([one.entry.label for one in self.entries], 48)
        twice = {label for label in titles if sum(one.entry.label == label for one in self.entries) > 1}
        return {
            one.name: brief(f"{one.entry.label} ({one.name})", 48)
            if one.entry.label in twice
            else titles[one.entry.label]
            for one in self.entries
        }

    @cached_property
    def entry_pages(self) -> dict[str, str]:
        """File name of each entry's page, without its ending."""
        return places(one.name for one in self.entries)

    @cached_property
    def prompt_pages(self) -> dict[str, str]:
        """File name of each prompt's page, without its ending."""
        return places(one.prompt.id for one in self.suite.prompts)

    @cached_property
    def by_prompt(self) -> dict[str, dict[str, PromptResult]]:
        """By name of the entry and id of the prompt."""
        return {one.name: {p.prompt: p for p in one.result.prompts} for one in self.entries if one.result}

    @cached_property
    def groups(self) -> dict[str, dict[tuple[str, str], GroupResult]]:
        """By name of the entry, and (kind, id) of a tag or group of tags."""
        return {one.name: {(g.kind, g.id): g for g in one.result.groups} for one in self.entries if one.result}

    @cached_property
    def tag_groups(self) -> tuple[str, ...]:
        """Groups of tags in the suite's order."""
        return tuple(dict.fromkeys(tag.group for tag in self.suite.tags))

    def middle(self, numbers: Sequence[float]) -> float | None:
        """The median over published entries; None where there are too few to compare with."""
        return statistics.median(numbers) if len(numbers) > 1 else None

    def words_of(self, one: SuitePrompt) -> str:
        """The text of a prompt; nothing of a private one, even where the text is at hand."""
        return "" if one.private else one.prompt.view()


def read_material(board: Board, title: str | None = None) -> Material:
    """Everything that pages of a board show."""
    folders = [entry_folder(board, one.name) for one in board.entries]
    return Material(
        title=title or board.suite.card.title,
        suite=board.suite,
        entries=tuple(
            Shown(one, shown_result(folder), read_published(folder) is not None, folder)
            for one, folder in zip(board.entries, folders)
        ),
        arenas=read_snapshots(board.folder / arena.FOLDER, ArenaSnapshot),
        raters=read_snapshots(board.folder / rater_tables.FOLDER, RaterTables),
    )


def _eps_of(column: str, result: EntryResult) -> AxisResult | None:
    return result.eps.get(column)


def _value(axis: AxisResult | None) -> float:
    return axis.figure.value if axis else -1.0
