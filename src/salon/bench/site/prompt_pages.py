"""A page for each prompt with everybody's pictures, the list of all prompts, and tags.html."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypedDict

from markupsafe import Markup

from salon.bench.board import read_answers
from salon.bench.entry import GroupResult, PictureResult, PromptResult
from salon.bench.site.frame import Listing, ListRow, PageLink, SiteBlock, SitePage, capital, clause, opening_words
from salon.bench.site.site_data import Pictures, SiteData, SiteEntry
from salon.bench.suite import SuitePrompt
from salon.errors import BadFile, shorten
from salon.report import Cell, Column, Note, Section, Table, brief, element, join_names, numbers
from salon.stats import Estimate
from salon.store import Thumb
from salon.study import Point, find_route

MARKS = {"pass": "✓", "fail": "✗", "unread": "?", "open": "…"}
SPOKEN = {"pass": "holds", "fail": "does not hold", "unread": "answer not read", "open": "not answered yet"}
LONGEST_WHY = 300

Whys = Mapping[tuple[str, str, str], str]
"""What judges gave as reasons, by item, point and judge."""


@dataclass(frozen=True)
class Tick:
    """One point of one picture."""

    number: int
    state: str
    text: str

    @property
    def mark(self) -> str:
        """A shape for it."""
        return MARKS[self.state]

    @property
    def spoken(self) -> str:
        """For a screen reader, and when pointed at."""
        return f"{self.number}. {self.text}: {SPOKEN[self.state]}"


@dataclass(frozen=True)
class PointAnswer:
    """What one judge said of one point."""

    number: int
    judge: str
    verdict: str
    why: str = ""

    @property
    def mark(self) -> str:
        """A shape for it."""
        return MARKS.get(self.verdict, "–")


@dataclass(frozen=True)
class PictureShot:
    """A picture, or why there is none."""

    title: str
    href: str
    alt: str
    src: str = ""
    width: int = 0
    height: int = 0
    missing: str = ""
    ticks: Sequence[Tick] = ()
    answers: Sequence[PointAnswer] = ()
    scores: Sequence[tuple[str, str, str]] = ()
    """(column, chance against the reference, the logit it comes from)."""
    badge: str = ""

    @property
    def passed(self) -> str:
        """`2 of 3`."""
        return f"{sum(tick.state == 'pass' for tick in self.ticks)} of {len(self.ticks)}"


@dataclass(frozen=True)
class Shots(SiteBlock):
    """Pictures side by side."""

    template: ClassVar[str] = "shots.html"

    shots: Sequence[PictureShot]
    small: bool = False


class _PictureFields(TypedDict, total=False):
    """The fields of a shot that show the picture, or say why there is none."""

    src: str
    width: int
    height: int
    missing: str


@dataclass(frozen=True)
class ShotMaker:
    """Makes shots of one page: knows the way to the pictures, and what columns and points are called."""

    root: str
    pictures: Pictures
    columns: Mapping[str, str]
    """Ids and titles of EPS columns, the headline first."""
    points: Mapping[str, Sequence[Point]]
    """By prompt."""

    def shot(
        self,
        entry: str,
        prompt: str,
        result: PictureResult,
        *,
        title: str,
        href: str,
        alt: str,
        whys: Whys | None = None,
        badge: str = "",
    ) -> PictureShot:
        """One picture of one entry."""
        thumb = self.pictures.get((entry, result.item))
        points = self.points.get(prompt, ())
        return PictureShot(
            title=title,
            href=href,
            alt=alt,
            badge=badge,
            ticks=[
                Tick(number, result.points[point.id], point_text(point))
                for number, point in enumerate(points, 1)
                if point.id in result.points
            ],
            answers=[
                PointAnswer(number, judge, verdict, shorten(whys.get((result.item, point.id, judge), ""), LONGEST_WHY))
                for number, point in enumerate(points, 1)
                for judge, verdict in sorted(result.said.get(point.id, {}).items())
            ]
            if whys is not None
            else (),
            scores=self._scores(result),
            **self._seen(thumb, result),
        )

    def _seen(self, thumb: Thumb | BadFile | None, result: PictureResult) -> _PictureFields:
        if isinstance(thumb, Thumb):
            return {"src": self.root + thumb.src, "width": thumb.width, "height": thumb.height}
        if isinstance(thumb, BadFile):
            return {"missing": f"cannot be read: {shorten(str(thumb.found), 120)}"}
        return {"missing": shorten(result.missing or "no picture", 160)}

    def _scores(self, result: PictureResult) -> list[tuple[str, str, str]]:
        return [
            (title, numbers.fixed(100 * result.wins[id], 0), logit_words(result, id))
            for id, title in self.columns.items()
            if id in result.wins
        ]


def logit_words(result: PictureResult, column: str) -> str:
    """`0.57 ± 0.50`."""
    if column not in result.logits:
        return ""
    spread = f" ± {numbers.fixed(result.sigmas[column], 2)}" if column in result.sigmas else ""
    return numbers.fixed(result.logits[column], 2) + spread


def point_text(point: Point) -> str:
    """What is asked."""
    return point.text or point.id


# -- pages of prompts --------------------------------------------------------------------------------------------------

PRIVATE = "A private prompt: its text, its points and its pictures are not shown, so that nobody can train on them."
TITLE = 160
"""Characters of a prompt that can be the title of its page; a longer one stands below its id."""
SHORT = 140
"""Characters of a prompt in the list."""


@dataclass(frozen=True)
class PromptPages:
    """Pages of all prompts."""

    site: SiteData
    pictures: Pictures

    def pages(self) -> Iterator[SitePage]:
        """One page after the other, in the suite's order."""
        prompts = self.site.suite.prompts
        for place, prompt in enumerate(prompts):
            before = prompts[place - 1] if place else None
            after = prompts[place + 1] if place + 1 < len(prompts) else None
            yield self._page(prompt, place, before, after)

    def _page(self, prompt: SuitePrompt, place: int, before: SuitePrompt | None, after: SuitePrompt | None) -> SitePage:
        tag = self.site.suite.tag_of(prompt.id)
        text = self.site.words_of(prompt)
        count = len(self.site.suite.prompts)
        return SitePage(
            path=f"prompts/{self.site.prompt_pages[prompt.id]}.html",
            title=text if 0 < len(text) <= TITLE and "\n" not in text else brief(prompt.id, 60),
            subtitle=PRIVATE if prompt.private else text if len(text) > TITLE or "\n" in text else "",
            head=self.site.head,
            kicker=f"Prompt {place + 1} of {count} · {capital(tag.group)} · {tag.name}",
            sections=[*(self._private(prompt) if prompt.private else self._public(prompt))],
            before=self._step(before),
            after=self._step(after),
            notes=self._notes(prompt),
            wide=True,
        )

    def _step(self, prompt: SuitePrompt | None) -> PageLink | None:
        if prompt is None:
            return None
        return PageLink(brief(prompt.id, 30), f"{self.site.prompt_pages[prompt.id]}.html")

    def _public(self, prompt: SuitePrompt) -> Iterator[Section]:
        points = self._points.get(prompt.id, [])
        if points:
            judges = {self._judges(point) for point in points}
            by = f" Judged by {judges.pop()}." if len(judges) == 1 else ""
            table = self._points_table(prompt, points, with_judges=not by)
            yield Section("What must be so", [table], f"Share of published entries' pictures that hold.{by}")
        shots = [shot for site_entry in self.site.ordered for shot in self._shots(prompt, site_entry)]
        yield Section("Pictures", [Shots(shots)] if shots else [Note("No entry yet.")], self._pictures_words())

    def _pictures_words(self) -> str:
        eps = (
            " EPS is the chance, of 100, to be preferred to the frozen reference; after it stands the scorer's logit."
            if self.site.headline
            else ""
        )
        return f"In the board's order. Numbers with a tick are points that hold.{eps}"

    def _judges(self, point: Point) -> str:
        return join_names(find_route(point, self.site.suite.routes).judges).unescape()

    def _points_table(self, prompt: SuitePrompt, points: list[Point], *, with_judges: bool) -> Table:
        """`with_judges`: the judges of each point stand under it."""
        rows = [
            {
                "number": number,
                "text": Cell(point_text(point), under=self._judges(point) if with_judges else ""),
                "share": self._share(prompt.id, point.id),
            }
            for number, point in enumerate(points, 1)
        ]
        columns = [Column("number", "Nr", "count"), Column("text", "Point"), Column("share", "Hold")]
        return Table(columns, rows, sortable=False, label="Points")

    def _share(self, prompt: str, point: str) -> str:
        states = [
            picture.points.get(point)
            for site_entry in self.site.published
            for picture in self.site.by_prompt[site_entry.name][prompt].pictures
        ]
        return numbers.share(states.count("pass"), len(states)) if states else numbers.MISSING

    def _shots(self, prompt: SuitePrompt, site_entry: SiteEntry) -> Iterator[PictureShot]:
        label = self.site.labels[site_entry.name]
        result = self.site.by_prompt.get(site_entry.name, {}).get(prompt.id)
        pictures = result.pictures if result else ()
        for number, picture in enumerate(pictures, 1):
            several = f", picture {number}" if len(pictures) > 1 else ""
            yield self._maker.shot(
                site_entry.name,
                prompt.id,
                picture,
                title=label + several,
                href=f"../generators/{self.site.entry_pages[site_entry.name]}.html",
                alt=f"{label}{several}: {opening_words(self.site.words_of(prompt), 120)}",
                whys=self._whys[site_entry.name],
                badge="" if site_entry.published else "provisional",
            )

    def _private(self, prompt: SuitePrompt) -> Iterator[Section]:
        rows = [self._private_row(prompt, site_entry) for site_entry in self.site.ordered if site_entry.result]
        columns = [Column("name", "Entry"), Column("held", "Points that hold"), Column("passed", "Passed")]
        if self.site.headline and self.site.suite.tag_of(prompt.id).eps:
            columns.append(Column("eps", "EPS", "number", 0))
        yield Section(
            "Results",
            [Table(columns, rows, label="Results") if rows else Note("No entry yet.")],
            "Pictures are not shown.",
        )

    def _private_row(self, prompt: SuitePrompt, site_entry: SiteEntry) -> dict[str, object]:
        result = self.site.by_prompt[site_entry.name][prompt.id]
        states = [state for picture in result.pictures for state in picture.points.values()]
        return {
            "name": Cell(self._link(site_entry), under="" if site_entry.published else "provisional"),
            "held": f"{states.count('pass')} of {len(states)}",
            "passed": numbers.percent(result.passed),
            "eps": Cell(eps_here(result, self.site.headline)),
        }

    def _link(self, site_entry: SiteEntry) -> Markup:
        place = f"../generators/{self.site.entry_pages[site_entry.name]}.html"
        return element("a", self.site.labels[site_entry.name], href=place)

    def _notes(self, prompt: SuitePrompt) -> list[str]:
        digest = f"SHA-256 of its salt and text: {prompt.digest}" if prompt.private and prompt.digest else ""
        tag = self.site.suite.tag_of(prompt.id)
        apart = f"Preference does not count here: {clause(tag.why or tag.name)}." if not tag.eps else ""
        return [f"Prompt {prompt.id}.", *filter(None, [digest, apart])]

    @cached_property
    def _points(self) -> dict[str, list[Point]]:
        return points_by_prompt(self.site)

    @cached_property
    def _maker(self) -> ShotMaker:
        return shot_maker(self.site, self.pictures)

    @cached_property
    def _whys(self) -> Mapping[str, dict[tuple[str, str, str], str]]:
        """Reasons that judges gave, by entry."""
        whys = {}
        for site_entry in self.site.ordered:
            table = read_answers(site_entry.folder)
            columns = [table.column(name).to_pylist() for name in ("item", "point", "judge", "why")]
            whys[site_entry.name] = {(item, point, judge): why for item, point, judge, why in zip(*columns) if why}
        return whys


def points_by_prompt(site: SiteData) -> dict[str, list[Point]]:
    """Points of each prompt in the suite's order; those without a prompt belong to all."""
    everywhere = [point for point in site.suite.points if point.prompt is None]
    by_prompt = {prompt.id: [*everywhere] for prompt in site.suite.prompts}
    for point in site.suite.points:
        if point.prompt is not None:
            by_prompt[point.prompt].append(point)
    return by_prompt


def shot_maker(site: SiteData, pictures: Pictures) -> ShotMaker:
    """For pages one folder below the top."""
    columns = {axis.id: axis.title for axis in site.axes if axis.id in {r.id for r in site.suite.card.preferences}}
    points = {id: prompt_points for id, prompt_points in points_by_prompt(site).items() if id not in site.suite.private}
    return ShotMaker("../", pictures, columns, points)


def eps_here(result: PromptResult, column: str | None) -> float | None:
    """EPS of one prompt, 0 to 100."""
    return 100 * result.eps[column] if column in result.eps else None


def prompts_page(site: SiteData) -> SitePage:
    """prompts/index.html: all prompts, to be sorted and searched."""
    columns = [
        Column("name", "Prompt"),
        Column("tag", "Tag"),
        Column("passed", "Passed", "number", 0),
        Column("eps", "EPS, middle entry", "number", 0),
        Column("spread", "EPS, best − worst", "number", 0),
    ]
    if site.headline is None:
        columns = columns[:3]
    rows = []
    for prompt in site.suite.prompts:
        results = [site.by_prompt[site_entry.name][prompt.id] for site_entry in site.published]
        eps = [value for result in results if (value := eps_here(result, site.headline)) is not None]
        tag = site.suite.tag_of(prompt.id)
        text = site.words_of(prompt)
        rows.append(
            ListRow(
                href=f"{site.prompt_pages[prompt.id]}.html",
                label=brief(prompt.id, 40),
                under="private" if prompt.private else opening_words(text, SHORT),
                words=" ".join([prompt.id, tag.name, tag.group, "private" if prompt.private else text]).lower(),
                group=capital(tag.group),
                cells={
                    "tag": tag.name,
                    "passed": 100 * statistics.fmean(result.passed for result in results) if results else None,
                    "eps": statistics.median(eps) if eps else None,
                    "spread": max(eps) - min(eps) if eps else None,
                },
            )
        )
    return SitePage(
        path="prompts/index.html",
        title="Prompts",
        subtitle=Markup("{} prompts. Passed: percent of published entries' pictures.").format(len(rows)),
        head=site.head,
        sections=[Section("All prompts", [Listing(columns, rows, "prompts")], "Sort by a heading; press / to search.")],
        wide=True,
    )


# -- tags.html: every tag by every entry, as a grid of shaded numbers --------------------------------------------------

STEPS = 10
"""Shades from 0 to 100."""


@dataclass(frozen=True)
class GridCell:
    """One number, its shade and its interval."""

    words: str
    shade: int
    hint: str


@dataclass(frozen=True)
class GridRow:
    """A tag, or a group of tags above its own."""

    name: str
    prompts: int
    cells: Sequence[GridCell | None]
    is_group: bool


@dataclass(frozen=True)
class TagGrid(SiteBlock):
    """Tags down, entries across."""

    template: ClassVar[str] = "grid.html"

    name: str
    heads: Sequence[tuple[str, str]]
    """(words, address) of each entry."""
    rows: Sequence[GridRow]


def tags_page(site: SiteData) -> SitePage:
    """tags.html."""
    return SitePage(
        path="tags.html",
        title="Tags",
        subtitle=f"{len(site.suite.tags)} kinds of task in {len(site.tag_groups)} groups, entry by entry.",
        head=site.head,
        sections=[*_sections(site)],
        notes=["Few prompts a tag make wide intervals: point at a number to see its own."],
        wide=True,
    )


def _sections(site: SiteData) -> Iterator[Section]:
    yield Section("Capability", [_grid(site, "Capability by tag", lambda group: group.capability)], "0 to 100.")
    column = site.headline
    if column and len(site.axes) > 1:
        grid = _grid(site, "EPS by tag", lambda group: group.eps.get(column))
        left_out = [tag.name for tag in site.suite.tags if not tag.eps]
        without = f" {len(left_out)} tags count for Capability only." if left_out else ""
        yield Section("EPS", [grid], f"0 to 100; 50 is the frozen reference.{without}")


def _grid(site: SiteData, name: str, read: Callable[[GroupResult], Estimate | None]) -> TagGrid:
    rows = []
    for group in site.tag_groups:
        tags = [tag for tag in site.suite.tags if tag.group == group]
        lines = [_row(site, "group", group, group, read)]
        lines += [_row(site, "tag", tag.id, tag.name, read) for tag in tags]
        rows += [line for line in lines if any(line.cells)]
    heads = [
        (brief(site.labels[site_entry.name], 24), f"generators/{site.entry_pages[site_entry.name]}.html")
        for site_entry in site.published
    ]
    return TagGrid(name, heads, rows)


def _row(site: SiteData, kind: str, id: str, name: str, read: Callable[[GroupResult], Estimate | None]) -> GridRow:
    groups = [site.groups[site_entry.name].get((kind, id)) for site_entry in site.published]
    prompts = next((group.prompts for group in groups if group), 0)
    return GridRow(capital(name), prompts, [_cell(read(group)) if group else None for group in groups], kind == "group")


def _cell(figure: Estimate | None) -> GridCell | None:
    if figure is None:
        return None
    shade = min(STEPS, max(0, round(figure.value / 100 * STEPS)))
    return GridCell(numbers.fixed(figure.value, 0), shade, numbers.interval(figure.low, figure.high, 0))
