"""Worst disagreements as a gallery: the panel's choice beside the judge's, with the votes and the judge's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from salon.evaluate.judges.report_parts import Names
from salon.evaluate.judges.report_tick_results import TickJudged, WorstTick
from salon.evaluate.judges.results import JudgeFigures, JudgeReport, WorstCase
from salon.report import Block, Details, Section
from salon.report.filmstrip import film, shown
from salon.report.svg import element
from salon.report.words import brief, counted, fixed

FEWEST_WORDS = 3
"""A judge that says no more than its verdict is not quoted."""


@dataclass(frozen=True)
class Gallery(Block):
    """Cases side by side; pictures are data URLs by item."""

    cases: tuple[WorstCase, ...]
    criteria: Mapping[str, str]
    pictures: Mapping[str, str]

    def __html__(self) -> str:
        return film(*(self._case(case) for case in self.cases), size="pairs")

    def _case(self, case: WorstCase) -> Markup:
        votes = Markup("{} to {}").format(fixed(case.votes[0], 0), fixed(case.votes[1], 0))
        if case.votes[2]:
            votes += Markup(", {}").format(counted(case.votes[2], "tie"))
        liked = self._side(case.panel_choice, Markup("People, {}").format(votes))
        other = self._side(case.judge_choice, Markup("Judge"))
        head = brief(self.criteria.get(case.criterion, case.criterion), 40)
        about = Markup("{}{}").format(head, f" · {brief(case.prompt, 60)}" if case.prompt else "")
        said = _quoted(case.said)
        gap = None
        if case.margin is not None:
            words = Markup("Its two numbers are {} standard deviations apart.").format(fixed(case.margin, 2))
            gap = element("p", words, class_="told")
        title = element("p", element("strong", about), class_="frame-head")
        return element("div", title, element("div", liked, other, class_="beside"), said, gap)

    def _side(self, item: str, words: Markup, more: Markup | None = None) -> Markup:
        label = element("p", element("strong", words), Markup("<br>"), more,
                        element("span", brief(item, 40), class_="soft"), class_="told")  # fmt: skip
        return element("div", shown(self.pictures.get(item, ""), item), label)


@dataclass(frozen=True)
class TickGallery(Gallery):
    """Items side by side, each with the point on which the judge is against people."""

    cases: tuple[WorstTick, ...]  # type: ignore[assignment]  # its cases are of its own kind

    def __html__(self) -> str:
        return film(*(self._case(case) for case in self.cases), size="small")

    def _case(self, case: WorstTick) -> Markup:  # type: ignore[override]  # its cases are of its own kind
        people, judge = ("yes", "no") if case.people else ("no", "yes")
        votes = Markup("People {}, {} to {}").format(people, fixed(case.votes[0], 0), fixed(case.votes[1], 0))
        answers = Markup("{}<br>Judge {}<br>").format(votes, judge)
        said = _quoted(case.said)
        return element("div", self._side(case.item, Markup.escape(brief(case.point, 120)), answers), said)


def _quoted(said: str | None) -> Markup | None:
    """What the judge said, where it is more than its answer."""
    if said is None or len(said.split()) < FEWEST_WORDS:
        return None
    return element("p", element("q", brief(said, 240)), class_="told")


def tick_gallery_section(report: JudgeReport, names: Names, pictures: Mapping[str, str]) -> Section | None:
    """The best judge's cases open, the others' behind a line."""
    judges = [one for one in (report.ticks.judges if report.ticks is not None else ()) if one.worst]
    if not judges:
        return None
    blocks = [
        Details(_summary(one, names, "tick"), [TickGallery(one.worst, _titles(one), pictures)], open=number == 0)
        for number, one in enumerate(judges)
    ]
    return Section("Worst ticks", blocks, "People were clear about a point, and the judge said the other.")


def gallery_section(report: JudgeReport, names: Names, pictures: Mapping[str, str]) -> Section | None:
    """The best judge's cases open, the others' behind a line."""
    judges = [one for one in report.judges if one.worst]
    if not judges:
        return None
    blocks = [
        Details(_summary(one, names, "pair"), [Gallery(one.worst, _titles(one), pictures)], open=number == 0)
        for number, one in enumerate(judges)
    ]
    return Section("Worst disagreements", blocks, "People were clear, the judge was clear, each the other way.")


def _summary(one: JudgeFigures | TickJudged, names: Names, what: str) -> Markup:
    soft = Markup('<span class="soft">{} of {}</span>').format(
        fixed(len(one.worst), 0),
        counted(one.worst_of, f"{what} against the majority", f"{what}s against the majority"),
    )
    return Markup("{} {}").format(names(one), soft)


def _titles(one: JudgeFigures | TickJudged) -> dict[str, str]:
    return {part.criterion: part.name for part in one.criteria}
