"""Galleries side by side: a picture, what was asked, the truth, and what everybody said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from salon.bench.posters.compared import ComparedReport
from salon.bench.posters.compared_cases import CaseAnswer, ComparedCase
from salon.bench.posters.report_gallery import small_pictures
from salon.bench.posters.task import task_named
from salon.report import Block, Details, Section
from salon.report.filmstrip import film, shown, told
from salon.report.svg import element
from salon.report.words import brief, counted, fixed, one_way

Pictures = Mapping[int, str]
"""Data URLs by the number of their item."""


@dataclass(frozen=True)
class CaseGallery(Block):
    """Items one below the other, each with everybody's answer; generated posters stand side by side."""

    cases: tuple[ComparedCase, ...]
    contestants: tuple[str, ...]
    pictures: Sequence[Pictures]
    """Of all contestants alike, or one for each contestant where they made the pictures."""

    def __html__(self) -> str:
        return Markup("").join(self._case(case) for case in self.cases)

    def _case(self, case: ComparedCase) -> Markup:
        head = element("p", element("strong", one_way(brief(case.name))), class_="film-label")
        asked = [told("asked", one_way(case.prompt))] if case.prompt else []
        if task_named(case.task).side == "generation":
            frames = [
                element("div", shown(self.pictures[at].get(case.number, ""), case.name, "no poster"),
                        self._answer(name, answer))
                for at, (name, answer) in enumerate(zip(self.contestants, case.answers))
            ]  # fmt: skip
            return Markup("").join([head, *asked, told("wanted", one_way(case.wanted) or "nothing"), film(*frames)])
        picture = element("div", shown(self.pictures[0].get(case.number, ""), case.name))
        words = element(
            "div", *asked, told("truth", one_way(case.wanted) or "nothing"),
            *(self._answer(name, answer) for name, answer in zip(self.contestants, case.answers)),
        )  # fmt: skip
        return Markup("").join([head, film(picture, words, size="wide")])

    def _answer(self, name: str, answer: CaseAnswer | None) -> Markup:
        label = brief(name)
        if answer is None:
            return told(label, "not asked")
        said = one_way(answer.said) or "nothing"
        read = element("span", Markup(" read as {}").format(one_way(answer.read)), class_="soft") if answer.read else ""
        worth = Markup("{} ").format(fixed(answer.worth, 2))
        return told(label, Markup("").join([element("strong", worth), Markup("{}").format(said), read]))


def case_sections(report: ComparedReport, pictures: Path | None, made: Sequence[Path | None]) -> list[Section]:
    """The galleries of each task behind a line, that of the first one open; `made` holds generators' folders."""
    by_task: dict[str, list[ComparedCase]] = {}
    for case in report.cases:
        by_task.setdefault(case.task, []).append(case)
    blocks = []
    for at, (task, cases) in enumerate(by_task.items()):
        if task_named(task).side == "generation":
            urls = [small_pictures(_own_paths(cases, number), folder) for number, folder in enumerate(made)]
        else:
            urls = [small_pictures({case.number: case.path for case in cases}, pictures)]
        title = Markup("{} <span class='soft'>{}</span>").format(task_named(task).title, counted(len(cases), "item"))
        blocks.append(Details(title, [CaseGallery(tuple(cases), report.contestants, urls)], open=at == 0))
    words = (
        "The items on which contestants differ most, with the truth and what everybody said; first what it is worth."
    )
    return [Section("Side by side", blocks, words)] if blocks else []


def _own_paths(cases: Sequence[ComparedCase], contestant: int) -> dict[int, str]:
    """Where a generator's posters stand, by the number of their item."""
    answers = [(case.number, case.answers[contestant]) for case in cases]
    return {number: answer.path for number, answer in answers if answer is not None}
