"""The report on poster tasks as one page: groups, tasks, difficulty curves, points, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from salon.bench.posters.files import find_picture
from salon.bench.posters.results import (
    DifficultyCurve,
    MetricResult,
    PointCase,
    PointKind,
    PosterCase,
    PosterGroup,
    PosterReport,
    TaskResult,
    WrongAnswer,
)
from salon.bench.posters.tasks import metric_title
from salon.report import (
    SMALL,
    WIDE,
    Badge,
    Block,
    Card,
    Cell,
    Chart,
    ChartRow,
    Column,
    Details,
    Note,
    Page,
    Section,
    Table,
    brief,
    charts,
    columns_of,
    count_noun,
    element,
    estimate_value,
    film_grid,
    labelled_text,
    level_words,
    located,
    one_way,
    picture_or_note,
)
from salon.report.words import fixed
from salon.store import picture_url

_WHY_RELEASED = (
    "The column “released” holds what the benchmark’s published code gives for the same answers, faults and all: "
    "options found anywhere in a text, refusals and unread answers left out, boxes by the best of four readings, four "
    "options scored as nine, style taken from layout comparison. It is for comparison with published tables only."
)
_LOW = 220
"""Height of a difficulty curve."""


def report_page(report: PosterReport, pictures: Path | None = None) -> Page:
    """The page; `pictures` is the folder that shows what went wrong."""
    here = located(report)
    intro = "Metrics marked ↓ are better when small; those in brackets do not enter the mean of their group."
    table = _lacking_table(here)
    sections = [
        _group_section(here),
        *([Section("Released scoring", [Note(_WHY_RELEASED)])] if here.compat else []),
        Section("Tasks", [_task_table(here)], intro),
        *_curve_sections(here),
        *point_sections(here),
        *([Section("Worth nothing", [table], "Everything here stays in the denominator.")] if table.rows else []),
        *poster_sections(report, pictures),
        *gallery_section(report, pictures),
    ]
    items = sum(task.items for task in report.tasks)
    judges = Markup(", ").join(
        Markup("{} ({}, {} protocol)").format(brief(card.judge), count_noun(card.verdicts, "verdict"), card.protocol)
        for card in report.judges
    )
    return Page(
        title="Poster tasks",
        tab=f"Posters: {brief(report.contestant)}",
        subtitle=Markup("{} on {} of {}.").format(
            brief(report.contestant), count_noun(items, "item"), count_noun(len(report.tasks), "task")
        ),
        kicker="Salon bench posters",
        cards=_cards(here),
        sections=sections,
        notes=[
            Markup("Intervals in brackets are at the {} level.").format(level_words(here.settings)),
            f"Boxes are read as {report.settings.boxes}.",
            *([Markup("Judged by {}.").format(judges)] if report.judges else []),
            *absent_notes(report),
            *report.policies,
        ],
        signature=one_way(str(report.signature)),
    )


def score_tables(report: PosterReport) -> tuple[Table, Table, Table, Table]:
    """Tasks, groups, key points by kind, and what is missing, as on the page."""
    return _task_table(report), _group_table(report), _point_table(report), _lacking_table(report)


def _cards(report: PosterReport) -> list[Card]:
    cards = []
    if report.overall is not None:
        groups = sum(group.group != "Generation" for group in report.groups)
        cards.append(
            Card(
                "Overall",
                estimate_value(report.overall, None, 3),
                f"mean of {groups} group{'' if groups == 1 else 's'}",
            )
        )
    cards += [
        Card(group.group, estimate_value(group.figure, None, 3), _under(group))
        for group in report.groups
        if group.figure is not None
    ]
    return cards


def _under(group: PosterGroup) -> Markup:
    metrics = count_noun(group.metrics, "metric")
    return (
        metrics
        if group.at_best is None
        else Markup("{}; provisional, at best {}").format(metrics, fixed(group.at_best, 3))
    )


def _group_section(report: PosterReport) -> Section:
    rows = [
        (group.group, group.figure.value, group.figure.low, group.figure.high, "")
        for group in report.groups
        if group.figure is not None
    ]
    blocks: list[Chart | Table] = []
    if rows:
        drawing = charts.dot_intervals(
            rows, 0.0, title="Means of groups", x_label="mean of the group’s metrics", null_label="chance", sort=False
        )
        blocks.append(Chart(drawing, "0 is an answer given without looking, for scores with options; 1 is perfect."))
    blocks.append(_group_table(report))
    return Section("Groups", blocks, "Plain means of their tasks’ metrics, as in the published table.")


def _group_table(report: PosterReport) -> Table:
    """Groups with their means."""
    optional = {"released": report.compat is not None, "absent": any(group.absent for group in report.groups)}
    shown = (name for name, is_shown in optional.items() if is_shown)
    rows = [{**vars(group), "absent": Cell(len(group.absent), ", ".join(group.absent))} for group in report.groups]
    return Table(columns_of(PosterGroup, "group", "figure", "metrics", *shown), rows, caption="Groups")


def absent_notes(report: PosterReport) -> list[str]:
    """What groups are without, a sentence for each."""
    return [f"{group.group} is without {', '.join(group.absent)}." for group in report.groups if group.absent]


def _task_table(report: PosterReport) -> Table:
    """Every metric of every task."""
    has_oracle = any(metric.oracle is not None for task in report.tasks for metric in task.metrics)
    optional = [*(["oracle"] if has_oracle else []), *(["released", "released_n"] if report.compat else [])]
    columns = [
        *columns_of(TaskResult, "task"),
        *columns_of(MetricResult, "title", "figure", "chance", "fixed", *optional),
        *columns_of(TaskResult, "items"),
        *([Column("flag", "State", "badge")] if any(task.owed for task in report.tasks) else []),
    ]
    rows = []
    for task in report.tasks:
        for i, metric in enumerate(task.metrics):
            title = metric.title + (" ↓" if metric.better == "low" else "")
            provisional = (
                Badge("provisional", "open", "A judge still owes verdicts.") if metric.at_best is not None else None
            )
            under = "" if metric.at_best is None else Markup("at best {}").format(fixed(metric.at_best, 3))
            crash = f"ends with {metric.released_crash}" if metric.released_crash else ""
            rows.append(
                {
                    **vars(metric),
                    "task": task.title if i == 0 else "",
                    "title": title if metric.grouped else f"({title})",
                    "figure": Cell(metric.figure, metric.why or "", under),
                    "released": Cell(metric.released, under=crash),
                    "items": task.items if metric.figure is None else metric.figure.n,
                    "flag": provisional,
                }
            )
    return Table(columns, rows, caption="Every metric of every task", sortable=False)


def _curve_sections(report: PosterReport) -> list[Section]:
    if not report.curves:
        return []
    width = SMALL if len(report.curves) > 1 else WIDE
    figures = [curve_chart([("", curve)], width, _LOW) for curve in report.curves]
    block = ChartRow(figures) if len(figures) > 1 else figures[0]
    return [Section("Difficulty", [block], "Where it begins to fail; bands are intervals.")]


def curve_chart(curves: Sequence[tuple[str, DifficultyCurve]], width: int, height: int) -> Chart:
    """Curves of one task over one difficulty, each with its contestant's name."""
    first = curves[0][1]
    ends = [min(point.figure.value, point.figure.low or 0.0) for _, curve in curves for point in curve.points]
    drawing = charts.line_curves(
        [
            charts.Curve(
                name,
                [point.x for point in curve.points],
                [point.figure.value for point in curve.points],
                low=[point.figure.low for point in curve.points],
                high=[point.figure.high for point in curve.points],
            )
            for name, curve in curves
        ],
        title=f"{first.title} over {first.difficulty}",
        x_label=first.difficulty,
        y_label=metric_title(first.task, first.metric),
        y_domain=(min(0.0, *ends), 1.0),
        height=height,
        width=width,
    )
    return Chart(drawing, heading=f"{first.title}: {first.difficulty}")


def _lacking_table(report: PosterReport) -> Table:
    """What is worth nothing because it is not there, by task; no rows where all is there."""
    rows = []
    for task in report.tasks:
        if task.missing or task.unread or task.bad_boxes or task.owed or task.no_picture:
            reasons = [Markup("{} {}").format(reason, fixed(count, 0)) for reason, count in task.unread.items()]
            row = {"task": task.title, "unread": sum(task.unread.values()), "why": Markup(", ").join(reasons) or "–"}
            rows.append(vars(task) | row)
    columns = [
        *columns_of(TaskResult, "task", "missing", "unread"),
        Column("why", "Why"),
        *columns_of(TaskResult, "bad_boxes", "owed", "no_picture"),
    ]
    return Table(columns, rows, caption="What is missing or could not be read")


# -- wrong answers, with their pictures --------------------------------------------------------------------------------

_SIDE = 480
"""Pixels of the longer side of a picture on the page."""


@dataclass(frozen=True)
class FailureGallery(Block):
    """Answers side by side; pictures are data URLs by the number of their item."""

    cases: tuple[WrongAnswer, ...]
    pictures: dict[int, str]

    def __html__(self) -> str:
        return film_grid(*(self._case(case) for case in self.cases))

    def _case(self, case: WrongAnswer) -> Markup:
        labelled = (("wanted", case.wanted), ("said", case.said), ("read", case.read))
        lines = (labelled_text(label, one_way(words) or "nothing") for label, words in labelled)
        return element("div", picture_or_note(self.pictures.get(case.number, ""), case.name), *lines)


def gallery_section(report: PosterReport, pictures: Path | None) -> list[Section]:
    """The failures of each task behind a line, those of the first one open."""
    tasks = [task for task in report.tasks if task.failures and not task.posters]
    blocks = [
        Details(
            Markup("{} <span class='soft'>{}</span>").format(task.title, count_noun(len(task.failures), "answer")),
            [
                FailureGallery(
                    task.failures, small_pictures({case.number: case.path for case in task.failures}, pictures)
                )
            ],
            open=number == 0,
        )
        for number, task in enumerate(tasks)
    ]
    return (
        [Section("Failures", blocks, "The worst answers of each task, those that were read first.")] if blocks else []
    )


def small_pictures(files: Mapping[int, str], folder: Path | None) -> dict[int, str]:
    """Pictures for the page by the number of their item; those that are not there or cannot be read are left out."""
    if folder is None:
        return {}
    paths = {number: find_picture(folder, file) for number, file in files.items()}
    return {number: url for number, path in paths.items() if path is not None and (url := picture_url(path, _SIDE))}


# -- generated posters, with the points they lack ----------------------------------------------------------------------

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
_SPOKEN_STATES = {True: "met", False: "not met", None: "verdict owed"}


def point_sections(report: PosterReport) -> list[Section]:
    """Key points by kind."""
    table = _point_table(report)
    intro = "Shares of points; intervals draw posters again. A poster that is not there meets none."
    return [Section("Points", [table], intro)] if table.rows else []


def _point_table(report: PosterReport) -> Table:
    """Key points of every task by kind; no rows where no task has points."""
    rows = [
        {
            **vars(kind),
            "task": task.title if at == 0 else "",
            "kind": KINDS.get(kind.kind, kind.kind),
            "met": Cell(kind.met, "not judged" if kind.met is None else ""),
            "agree": Markup("{} of {}").format(fixed(kind.agree, 0), fixed(kind.both, 0)) if kind.both else "–",
        }
        for task in report.tasks
        for at, kind in enumerate(task.points)
    ]
    has_oracle = any(kind.oracle is not None for task in report.tasks for kind in task.points)
    optional = ("oracle", "agree") if has_oracle else ()
    columns = [*columns_of(TaskResult, "task"), *columns_of(PointKind, "kind", "met", "points", "owed", *optional)]
    return Table(columns, rows, caption="Key points by what they are about", sortable=False)


@dataclass(frozen=True)
class PosterGallery(Block):
    """Posters side by side with their points; pictures are data URLs by the number of their item."""

    cases: tuple[PosterCase, ...]
    pictures: dict[int, str]

    def __html__(self) -> str:
        return film_grid(*(self._case(case) for case in self.cases), size="wide")

    def _case(self, case: PosterCase) -> Markup:
        missing = "cannot be shown" if case.there else "no poster"
        return element(
            "div", picture_or_note(self.pictures.get(case.number, ""), case.name, missing), *_poster_lines(case)
        )


def _poster_lines(case: PosterCase) -> list[Markup]:
    """What is said under a poster: the points that are not met or not judged."""
    if not case.there:
        return [element("p", one_way(brief(case.name)), class_="told")]
    if not case.points:
        parts = [("asked for", case.wanted)] if case.wanted else []
        parts += [("judge", case.said or "no verdict"), *([("oracle", case.oracle)] if case.oracle else [])]
        return [labelled_text(label, one_way(words)) for label, words in parts]
    met = sum(point.holds is True for point in case.points)
    head = element("p", Markup("{} of {} points met").format(met, len(case.points)), class_="told")
    open_ones = [point for point in case.points if point.holds is not True]
    listed = element("div", element("ul", *(_point(point) for point in open_ones)), class_="told")
    return [head, listed] if open_ones else [head]


def _point(point: PointCase) -> Markup:
    mark = element("span", _MARKS[point.holds], role="img", aria_label=_SPOKEN_STATES[point.holds])
    beside = " (the record says it is)" if point.holds is False and point.oracle else ""
    why = element("span", f" {one_way(point.why)}{beside}", class_="soft") if point.why or beside else ""
    return element("li", mark, element("span", one_way(point.text), why), class_="point")


def poster_sections(report: PosterReport, pictures: Path | None) -> list[Section]:
    """The posters of each task behind a line, those of the first one open."""
    tasks = [task for task in report.tasks if task.posters]
    blocks = [
        Details(
            Markup("{} <span class='soft'>{} of {}</span>").format(
                task.title, len(task.posters), count_noun(task.items, "poster")
            ),
            [PosterGallery(task.posters, small_pictures({case.number: case.path for case in task.posters}, pictures))],
            open=number == 0,
        )
        for number, task in enumerate(tasks)
    ]
    intro = "The worst of each task, with the points that are not met (✗) or not judged (?)."
    return [Section("Posters", blocks, intro)] if blocks else []
