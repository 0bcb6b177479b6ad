"""Several contestants on one page: who leads, the paper's tables with a radar, every metric, difficulty curves, answers
side by side with their pictures, and what each left unanswered.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from salon.bench.posters.compared import OVERALL, ComparedReport, ComparedRow, ComparedValue, apart
from salon.bench.posters.judged_by import differences
from salon.bench.posters.report_cases import case_sections
from salon.bench.posters.report_tables import table_sections
from salon.bench.posters.results import DifficultyCurve, PosterReport
from salon.bench.posters.task import metric_title
from salon.report import SMALL, WIDE, Cell, Column, Figure, Figures, Note, Page, Section, Table, charts, located
from salon.report.numbers import with_interval
from salon.report.words import brief, counted, level_words, one_way

_LOW = 240
_MOST_CURVES = 6
"""Contestants in one drawing; more cannot be told apart."""


def compared_page(report: ComparedReport, pictures: Path | None = None, made: Sequence[Path | None] = ()) -> Page:
    """The page; `pictures` is the folder of what was asked about, `made` those with generators' posters."""
    here = located(report)
    first = report.reports[0]
    return Page(
        title="Poster tasks",
        tab="Posters: " + ", ".join(brief(name) for name in report.contestants),
        subtitle=Markup("{} side by side on {}.").format(
            _listed(report.contestants), counted(len({row.task for row in report.rows}), "task")
        ),
        kicker="Salon bench posters",
        sections=[
            *_leading_section(here),
            *_judge_sections(here),
            *table_sections(here),
            _group_section(here),
            _task_section(here),
            *_curve_sections(here),
            *case_sections(here, pictures, made or [None] * len(report.contestants)),
            *_lacking_sections(here),
        ],
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
    if value.owed:
        return "not ranked until a judge has given its verdicts"
    if value.other_protocol:
        return "not ranked: judged by different protocols"
    behind = value.behind
    return "" if behind is None else f"behind the best by {with_interval(behind)}"


def _under(value: ComparedValue) -> str | Markup:
    """A word below the number: the best, not told apart from it, or owed verdicts and not ranked."""
    if value.figure is None:
        return ""
    if value.owed:
        return Markup("{} owed").format(counted(value.owed, "verdict"))
    if value.other_protocol:
        return "not comparable"
    if value.best:
        return "best"
    return "not told apart" if apart(value) is False else ""


def _leading_section(report: ComparedReport) -> list[Section]:
    """The answer in words: who is best overall, who cannot be told from it, who is not ranked and why."""
    table = next((one for one in report.tables if one.number == 7), None)
    if table is None or len(report.contestants) < 2:
        return []
    cells = [(brief(row.contestant), row.cells[-1]) for row in table.rows if not row.published]
    overall = next((row for row in report.groups if row.title == OVERALL), None)
    values = overall.values if overall else ()
    best = [name for name, cell in cells if cell.best]
    close = [name for (name, cell), value in zip(cells, values) if not cell.best and apart(value) is False]
    owing = [name for name, cell in cells if cell.owed]
    partial = [name for name, cell in cells if cell.partial and not cell.owed]
    unlike = differences(report.judged)
    told = [f"{_listed(best)} {_verb(best, 'leads', 'lead')} by the average of the groups."] if best else []
    told += [f"{_listed(close)} cannot be told apart from the best."] if close else []
    told += [f"{_listed(partial)} {_verb(partial)} not ranked: others were asked more tasks."] if partial else []
    told += [f"{_listed(owing)} {_verb(owing)} not ranked: a judge owes verdicts. Run salon bench posters judge."
             ] if owing else []  # fmt: skip
    told += unlike
    if not told:
        return []
    return [Section("Who leads", [Note(" ".join(told), tone="open" if owing or unlike or not best else "plain")])]


def _verb(names: Sequence[str], one: str = "is", several: str = "are") -> str:
    return one if len(names) == 1 else several


def _judge_sections(report: ComparedReport) -> list[Section]:
    """Who judged whom, in whose words; nothing where nobody was judged."""
    if not any(one.tasks for one in report.judged):
        return []
    columns = [
        Column("contestant", "Contestant"),
        Column("protocol", "Judged by"),
        Column("judges", "Judges"),
        Column("tasks", "Judged tasks", "count"),
    ]
    rows = [
        {"contestant": brief(one.contestant), "protocol": Cell(one.title, one.prompts or ""),
         "judges": ", ".join(brief(name) for name in one.judges) or "not recorded", "tasks": len(one.tasks)}
        for one in report.judged
        if one.tasks
    ]  # fmt: skip
    told = "Verdicts by different prompts are not comparable."
    return [Section("Judge protocols", [Table(columns, rows, caption="How judged tasks were judged")], told)]


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
