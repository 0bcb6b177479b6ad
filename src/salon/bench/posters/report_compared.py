"""Several contestants on one page: groups, every metric, difficulty curves together, and what each left unanswered."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.bench.posters.compared import ComparedReport, ComparedRow, ComparedValue, apart
from salon.bench.posters.results import DifficultyCurve, PosterReport
from salon.bench.posters.task import metric_title
from salon.report import SMALL, WIDE, Cell, Column, Figure, Figures, Page, Section, Table, charts, located
from salon.report.numbers import with_interval
from salon.report.words import brief, counted, level_words, one_way

_LOW = 240
_MOST_CURVES = 6
"""Contestants in one drawing; more cannot be told apart."""


def compared_page(report: ComparedReport) -> Page:
    """The page."""
    here = located(report)
    first = report.reports[0]
    return Page(
        title="Poster tasks",
        tab="Posters: " + ", ".join(brief(name) for name in report.contestants),
        subtitle=Markup("{} side by side on {}.").format(
            _listed(report.contestants), counted(len({row.task for row in report.rows}), "task")
        ),
        kicker="Salon bench posters",
        sections=[_group_section(here), _task_section(here), *_curve_sections(here), *_lacking_sections(here)],
        notes=[
            Markup("Intervals in brackets are at the {} level.").format(level_words(here.reports[0].settings)),
            *report.policies,
        ],
        signature=one_way(
            str(first.signature) if len(report.reports) == 1 else " · ".join(str(r.signature) for r in report.reports)
        ),
    )


def _listed(names: Sequence[str]) -> str:
    *first, last = (brief(name) for name in names)
    return f"{', '.join(first)} and {last}" if first else last


def _columns(report: ComparedReport) -> list[Column]:
    return [Column(f"c{at}", brief(name), "estimate", 3) for at, name in enumerate(report.contestants)]


def _cells(row: ComparedRow) -> dict[str, object]:
    return {f"c{at}": Cell(one.figure, _why(one), _under(one)) for at, one in enumerate(row.values)}


def _why(value: ComparedValue) -> str:
    if value.figure is None:
        return "not asked"
    behind = value.behind
    return "" if behind is None else f"behind the best by {with_interval(behind)}"


def _under(value: ComparedValue) -> str:
    """A word below the number: the best, or not told apart from it."""
    if value.figure is None:
        return ""
    if value.best:
        return "best"
    return "not told apart" if apart(value) is False else ""


def _group_section(report: ComparedReport) -> Section:
    rows = [{"group": row.title, **_cells(row)} for row in report.groups]
    columns = [Column("group", "Group"), *_columns(report)]
    told = "“Not told apart”: the interval of the difference to the best, on the same items, holds 0."
    return Section("Groups", [Table(columns, rows, caption="Means of groups", sortable=False)], told)


def _task_section(report: ComparedReport) -> Section:
    columns = [
        Column("task", "Task"),
        Column("metric", "Metric"),
        *_columns(report),
        Column("chance", "Chance", "number", hint="What an answer gets that is given without looking."),
    ]
    rows = []
    before = ""
    for row in report.rows:
        title = row.metric + (" ↓" if row.better == "low" else "")
        rows.append(
            {"task": "" if row.title == before else row.title, "metric": title if row.grouped else f"({title})",
             **_cells(row), "chance": row.chance}
        )  # fmt: skip
        before = row.title
    told = "Metrics marked ↓ are better when small; those in brackets do not enter the mean of their group."
    return Section("Tasks", [Table(columns, rows, caption="Every metric of every task", sortable=False)], told)


def _curve_sections(report: ComparedReport) -> list[Section]:
    named = list(dict.fromkeys((c.task, c.difficulty) for one in report.reports for c in one.curves))
    if not named:
        return []
    width = SMALL if len(named) > 1 else WIDE
    figures = [_figure(report.reports, task, difficulty, width) for task, difficulty in named]
    shown = Figures(figures) if len(figures) > 1 else figures[0]
    return [Section("Difficulty", [shown], "Where they begin to fail; bands are intervals.")]


def _figure(reports: Sequence[PosterReport], task: str, difficulty: str, width: int) -> Figure:
    found = [
        (report.contestant, curve)
        for report in reports
        for curve in report.curves
        if (curve.task, curve.difficulty) == (task, difficulty)
    ][:_MOST_CURVES]
    title = found[0][1].title
    ends = [min(point.figure.value, point.figure.low or 0.0) for _, curve in found for point in curve.points]
    drawing = charts.line_curves(
        [_curve(name, curve) for name, curve in found], title=f"{title} over {difficulty}", x_label=difficulty,
        y_label=metric_title(task, found[0][1].metric), y_domain=(min(0.0, *ends), 1.0), height=_LOW, width=width,
    )  # fmt: skip
    return Figure(drawing, heading=f"{title}: {difficulty}")


def _curve(name: str, curve: DifficultyCurve) -> charts.Curve:
    figures = [point.figure for point in curve.points]
    return charts.Curve(
        brief(name), [point.x for point in curve.points], [one.value for one in figures],
        low=[one.low for one in figures], high=[one.high for one in figures],
    )  # fmt: skip


def _lacking_sections(report: ComparedReport) -> list[Section]:
    """What is worth nothing because it is not there, by contestant."""
    columns = [
        Column("contestant", "Contestant"),
        Column("items", "Items", "count"),
        Column("missing", "Missing", "count"),
        Column("unread", "Unread", "count"),
        Column("boxes", "Bad boxes", "count"),
        Column("owed", "Verdicts owed", "count"),
    ]
    rows = [
        {
            "contestant": brief(one.contestant),
            "items": sum(task.items for task in one.tasks),
            "missing": sum(task.missing for task in one.tasks),
            "unread": sum(sum(task.unread.values()) for task in one.tasks),
            "boxes": sum(task.bad_boxes for task in one.tasks),
            "owed": sum(task.owed for task in one.tasks),
        }
        for one in report.reports
    ]
    table = Table(columns, rows, caption="What is missing or could not be read")
    return [Section("Worth nothing", [table], "Everything here stays in the denominator.")]
