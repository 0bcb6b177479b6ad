"""A page for each prompt, with everybody's pictures side by side, and the list of all prompts."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from salon.bench.board import read_answers
from salon.bench.results import PromptResult
from salon.bench.site.frame import SitePage, Step
from salon.bench.site.listing import Listing, ListRow
from salon.bench.site.material import Material, Shown
from salon.bench.site.pictures import Pictures
from salon.bench.site.shots import Shot, ShotMaker, Shots, point_text
from salon.bench.site.wording import capital, clause, opening
from salon.bench.suite import SuitePrompt
from salon.report import Cell, Column, Note, Section, Table, numbers
from salon.report.svg import element
from salon.report.words import brief, listed
from salon.study.point import Point, route_of

PRIVATE = "A private prompt: its text, its points and its pictures are not shown, so that nobody can train on them."
TITLE = 160
"""Characters of a prompt that can be the title of its page; a longer one stands below its id."""
SHORT = 140
"""Characters of a prompt in the list."""


@dataclass(frozen=True)
class PromptPages:
    """Pages of all prompts."""

    material: Material
    pictures: Pictures

    def pages(self) -> Iterator[SitePage]:
        """One page after the other, in the suite's order."""
        prompts = self.material.suite.prompts
        for place, one in enumerate(prompts):
            before = prompts[place - 1] if place else None
            after = prompts[place + 1] if place + 1 < len(prompts) else None
            yield self._page(one, place, before, after)

    def _page(self, one: SuitePrompt, place: int, before: SuitePrompt | None, after: SuitePrompt | None) -> SitePage:
        tag = self.material.suite.tag_of(one.prompt.id)
        text = self.material.words_of(one)
        count = len(self.material.suite.prompts)
        return SitePage(
            path=f"prompts/{self.material.prompt_pages[one.prompt.id]}.html",
            title=text if 0 < len(text) <= TITLE and "\n" not in text else brief(one.prompt.id, 60),
            subtitle=PRIVATE if one.private else text if len(text) > TITLE or "\n" in text else "",
            head=self.material.head,
            kicker=f"Prompt {place + 1} of {count} · {capital(tag.group)} · {tag.name}",
            sections=[*(self._private(one) if one.private else self._public(one))],
            before=self._step(before),
            after=self._step(after),
            notes=self._notes(one),
            wide=True,
        )

    def _step(self, one: SuitePrompt | None) -> Step | None:
        if one is None:
            return None
        return Step(brief(one.prompt.id, 30), f"{self.material.prompt_pages[one.prompt.id]}.html")

    def _public(self, one: SuitePrompt) -> Iterator[Section]:
        asked = self._points.get(one.prompt.id, [])
        if asked:
            judges = {self._judges(point) for point in asked}
            by = f" Judged by {judges.pop()}." if len(judges) == 1 else ""
            table = self._points_table(one, asked, told=not by)
            yield Section("What must be so", [table], f"Share of published entries' pictures that hold.{by}")
        shots = [shot for shown in self.material.ordered for shot in self._shots(one, shown)]
        yield Section("Pictures", [Shots(shots)] if shots else [Note("No entry yet.")], self._pictures_words())

    def _pictures_words(self) -> str:
        eps = (
            " EPS is the chance, of 100, to be preferred to the frozen reference; after it stands the scorer's logit."
            if self.material.headline
            else ""
        )
        return f"In the board's order. Numbers with a tick are points that hold.{eps}"

    def _judges(self, point: Point) -> str:
        return listed(route_of(point, self.material.suite.routes).judges).unescape()

    def _points_table(self, one: SuitePrompt, asked: list[Point], *, told: bool) -> Table:
        """`told`: with the judges of each point under it."""
        rows = [
            {
                "number": number,
                "text": Cell(point_text(point), under=self._judges(point) if told else ""),
                "share": self._share(one.prompt.id, point.id),
            }
            for number, point in enumerate(asked, 1)
        ]
        columns = [Column("number", "Nr", "count"), Column("text", "Point"), Column("share", "Hold")]
        return Table(columns, rows, sortable=False, label="Points")

    def _share(self, prompt: str, point: str) -> str:
        states = [
            picture.points.get(point)
            for shown in self.material.published
            for picture in self.material.by_prompt[shown.name][prompt].pictures
        ]
        return numbers.share(states.count("pass"), len(states)) if states else numbers.MISSING

    def _shots(self, one: SuitePrompt, shown: Shown) -> Iterator[Shot]:
        label = self.material.labels[shown.name]
        found = self.material.by_prompt.get(shown.name, {}).get(one.prompt.id)
        pictures = found.pictures if found else ()
        for number, picture in enumerate(pictures, 1):
            several = f", picture {number}" if len(pictures) > 1 else ""
            yield self._maker.shot(
                shown.name,
                one.prompt.id,
                picture,
                title=label + several,
                href=f"../generators/{self.material.entry_pages[shown.name]}.html",
                alt=f"{label}{several}: {opening(self.material.words_of(one), 120)}",
                whys=self._whys[shown.name],
                badge="" if shown.published else "provisional",
            )

    def _private(self, one: SuitePrompt) -> Iterator[Section]:
        rows = [self._private_row(one, shown) for shown in self.material.ordered if shown.result]
        columns = [Column("name", "Entry"), Column("held", "Points that hold"), Column("passed", "Passed")]
        if self.material.headline and self.material.suite.tag_of(one.prompt.id).eps:
            columns.append(Column("eps", "EPS", "number", 0))
        yield Section(
            "Results",
            [Table(columns, rows, label="Results") if rows else Note("No entry yet.")],
            "Pictures are not shown.",
        )

    def _private_row(self, one: SuitePrompt, shown: Shown) -> dict[str, object]:
        found = self.material.by_prompt[shown.name][one.prompt.id]
        states = [state for picture in found.pictures for state in picture.points.values()]
        return {
            "name": Cell(self._link(shown), under="" if shown.published else "provisional"),
            "held": f"{states.count('pass')} of {len(states)}",
            "passed": numbers.percent(found.passed),
            "eps": Cell(eps_here(found, self.material.headline)),
        }

    def _link(self, shown: Shown) -> Markup:
        place = f"../generators/{self.material.entry_pages[shown.name]}.html"
        return element("a", self.material.labels[shown.name], href=place)

    def _notes(self, one: SuitePrompt) -> list[str]:
        digest = f"SHA-256 of its salt and text: {one.digest}" if one.private and one.digest else ""
        tag = self.material.suite.tag_of(one.prompt.id)
        apart = f"Preference does not count here: {clause(tag.why or tag.name)}." if not tag.eps else ""
        return [f"Prompt {one.prompt.id}.", *filter(None, [digest, apart])]

    @cached_property
    def _points(self) -> dict[str, list[Point]]:
        return points_by_prompt(self.material)

    @cached_property
    def _maker(self) -> ShotMaker:
        return shot_maker(self.material, self.pictures)

    @cached_property
    def _whys(self) -> Mapping[str, dict[tuple[str, str, str], str]]:
        """Reasons that judges gave, by entry."""
        found = {}
        for shown in self.material.ordered:
            table = read_answers(shown.folder)
            columns = [table.column(name).to_pylist() for name in ("item", "point", "judge", "why")]
            found[shown.name] = {(item, point, judge): why for item, point, judge, why in zip(*columns) if why}
        return found


def points_by_prompt(material: Material) -> dict[str, list[Point]]:
    """Points of each prompt in the suite's order; those without a prompt belong to all."""
    everywhere = [point for point in material.suite.points if point.prompt is None]
    found = {one.prompt.id: [*everywhere] for one in material.suite.prompts}
    for point in material.suite.points:
        if point.prompt is not None:
            found[point.prompt].append(point)
    return found


def shot_maker(material: Material, pictures: Pictures) -> ShotMaker:
    """For pages one folder below the top."""
    columns = {
        axis.id: axis.title for axis in material.axes if axis.id in {r.id for r in material.suite.card.preferences}
    }
    private = {one.prompt.id for one in material.suite.prompts if one.private}
    points = {id: asked for id, asked in points_by_prompt(material).items() if id not in private}
    return ShotMaker("../", pictures, columns, points)


def eps_here(found: PromptResult, column: str | None) -> float | None:
    """EPS of one prompt, 0 to 100."""
    return 100 * found.eps[column] if column in found.eps else None


def prompts_page(material: Material) -> SitePage:
    """prompts/index.html: all prompts, to be sorted and searched."""
    columns = [
        Column("name", "Prompt"),
        Column("tag", "Tag"),
        Column("passed", "Passed", "number", 0),
        Column("eps", "EPS, middle entry", "number", 0),
        Column("spread", "EPS, best − worst", "number", 0),
    ]
    if material.headline is None:
        columns = columns[:3]
    rows = [_prompt_row(material, one) for one in material.suite.prompts]
    return SitePage(
        path="prompts/index.html",
        title="Prompts",
        subtitle=Markup("{} prompts. Passed: percent of published entries' pictures.").format(len(rows)),
        head=material.head,
        sections=[Section("All prompts", [Listing(columns, rows, "prompts")], "Sort by a heading; press / to search.")],
        wide=True,
    )


def _prompt_row(material: Material, one: SuitePrompt) -> ListRow:
    found = [material.by_prompt[shown.name][one.prompt.id] for shown in material.published]
    eps = [value for result in found if (value := eps_here(result, material.headline)) is not None]
    tag = material.suite.tag_of(one.prompt.id)
    text = material.words_of(one)
    return ListRow(
        href=f"{material.prompt_pages[one.prompt.id]}.html",
        label=brief(one.prompt.id, 40),
        under="private" if one.private else opening(text, SHORT),
        words=" ".join([one.prompt.id, tag.name, tag.group, "private" if one.private else text]).lower(),
        group=capital(tag.group),
        cells={
            "tag": tag.name,
            "passed": 100 * statistics.fmean(result.passed for result in found) if found else None,
            "eps": statistics.median(eps) if eps else None,
            "spread": max(eps) - min(eps) if eps else None,
        },
    )
