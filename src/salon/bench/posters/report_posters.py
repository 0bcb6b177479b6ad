"""Generated posters on the page: which kinds of points are met, and single posters with the points they lack."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from salon.bench.posters.report_gallery import small_pictures
from salon.bench.posters.results import PointCase, PosterCase, PosterReport, TaskResult
from salon.report import Block, Cell, Column, Details, Section, Table
from salon.report.filmstrip import film, shown, told
from salon.report.svg import element
from salon.report.words import brief, counted, fixed, one_way

KINDS = {
    "text": "text readable",
    "only": "no other text",
    "color": "color",
    "place": "place",
    "largest": "emphasis",
    "size": "size of type",
    "contrast": "contrast",
    "margin": "margin",
    "picture": "motif",
    "eyes": "told only by looking",
}
"""What a kind of point is about."""
_MARKS = {True: "✓", False: "✗", None: "?"}
_SAID = {True: "met", False: "not met", None: "verdict owed"}


def point_sections(report: PosterReport) -> list[Section]:
    """Key points by kind."""
    rows = [_kind_row(task, at) for task in report.tasks for at in range(len(task.points))]
    if not rows:
        return []
    columns = [
        Column("task", "Task"),
        Column("kind", "Points about"),
        Column("met", "Met", "estimate", 3),
        Column("points", "Points", "count"),
        Column("owed", "Verdicts owed", "count", hint="They count as not met."),
    ]
    if any(one.oracle is not None for task in report.tasks for one in task.points):
        columns += [
            Column("oracle", "Oracle", "number", hint="Met by the record of the drawing, of the points it can answer."),
            Column("agree", "Oracle agrees", hint="Of the points on which both judge and record say something."),
        ]
    told = "Shares of points; intervals draw posters again. A poster that is not there meets none."
    return [
        Section("Points", [Table(columns, rows, caption="Key points by what they are about", sortable=False)], told)
    ]


def _kind_row(task: TaskResult, at: int) -> dict[str, object]:
    one = task.points[at]
    return {
        "task": task.title if at == 0 else "",
        "kind": KINDS.get(one.kind, one.kind),
        "met": Cell(one.met, "not judged" if one.met is None else ""),
        "points": one.points,
        "owed": one.owed,
        "oracle": one.oracle,
        "agree": Markup("{} of {}").format(fixed(one.agree, 0), fixed(one.both, 0)) if one.both else "–",
    }


@dataclass(frozen=True)
class PosterGallery(Block):
    """Posters side by side with their points; pictures are data URLs by the number of their item."""

    cases: tuple[PosterCase, ...]
    pictures: dict[int, str]

    def __html__(self) -> str:
        return film(*(self._case(case) for case in self.cases), size="wide")

    def _case(self, case: PosterCase) -> Markup:
        missing = "cannot be shown" if case.there else "no poster"
        return element("div", shown(self.pictures.get(case.number, ""), case.name, missing), *_told(case))


def _told(case: PosterCase) -> list[Markup]:
    """What is said under a poster: the points that are not met or not judged."""
    if not case.there:
        return [element("p", one_way(brief(case.name)), class_="told")]
    if not case.points:
        parts = [("asked for", case.wanted)] if case.wanted else []
        parts += [("judge", case.said or "no verdict"), *([("oracle", case.oracle)] if case.oracle else [])]
        return [told(label, one_way(words)) for label, words in parts]
    met = sum(one.holds is True for one in case.points)
    head = element("p", Markup("{} of {} points met").format(met, len(case.points)), class_="told")
    open_ones = [one for one in case.points if one.holds is not True]
    listed = element("div", element("ul", *(_point(one) for one in open_ones)), class_="told")
    return [head, listed] if open_ones else [head]


def _point(one: PointCase) -> Markup:
    mark = element("span", _MARKS[one.holds], role="img", aria_label=_SAID[one.holds])
    beside = " (the record says it is)" if one.holds is False and one.oracle else ""
    why = element("span", f" {one_way(one.why)}{beside}", class_="soft") if one.why or beside else ""
    return element("li", mark, element("span", one_way(one.text), why), class_="point")


def poster_sections(report: PosterReport, pictures: Path | None) -> list[Section]:
    """The posters of each task behind a line, those of the first one open."""
    tasks = [task for task in report.tasks if task.posters]
    blocks = [
        Details(
            Markup("{} <span class='soft'>{} of {}</span>").format(
                task.title, len(task.posters), counted(task.items, "poster")
            ),
            [PosterGallery(task.posters, _urls(task.posters, pictures))],
            open=number == 0,
        )
        for number, task in enumerate(tasks)
    ]
    told = "The worst of each task, with the points that are not met (✗) or not judged (?)."
    return [Section("Posters", blocks, told)] if blocks else []


def _urls(cases: tuple[PosterCase, ...], folder: Path | None) -> dict[int, str]:
    return small_pictures({case.number: case.path for case in cases}, folder)
