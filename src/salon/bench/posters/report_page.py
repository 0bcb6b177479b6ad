"""The report on poster tasks as one page: groups, tasks, difficulty curves, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from salon.bench.posters.report_gallery import gallery_section
from salon.bench.posters.report_posters import point_sections, poster_sections
from salon.bench.posters.results import DifficultyCurve, MetricResult, PosterGroup, PosterReport, TaskResult
from salon.bench.posters.task import metric_title
from salon.report import (
    SMALL,
    WIDE,
    Badge,
    Card,
    Cell,
    Column,
    Figure,
    Figures,
    Note,
    Page,
    Section,
    Table,
    charts,
    estimate_value,
    located,
)
from salon.report.words import brief, counted, fixed, level_words, one_way

_WHY_RELEASED = (
    "The column “released” holds what the benchmark’s published code gives for the same answers, faults and all: "
    "options found anywhere in a text, refusals and unread answers left out, boxes by the best of four readings, four "
    "options scored as nine, style taken from layout comparison. It is for comparison with published tables only."
)
_ORACLE = "By the record of how the posters were drawn: beside the value, never in it."
_LOW = 220
"""Height of a difficulty curve."""


def report_page(report: PosterReport, pictures: Path | None = None) -> Page:
    """The page; `pictures` is the folder that shows what went wrong."""
    here = located(report)
    sections = [
        _group_section(here),
        *([_released_section()] if here.compat else []),
        _task_section(here),
        *_curve_sections(here),
        *point_sections(here),
        *_lacking_sections(here),
        *poster_sections(report, pictures),
        *gallery_section(report, pictures),
    ]
    items = sum(task.items for task in report.tasks)
    return Page(
        title="Poster tasks",
        tab=f"Posters: {brief(report.contestant)}",
        subtitle=Markup("{} on {} of {}.").format(
            brief(report.contestant), counted(items, "item"), counted(len(report.tasks), "task")
        ),
        kicker="Salon bench posters",
        cards=_cards(here),
        sections=sections,
        notes=[
            Markup("Intervals in brackets are at the {} level.").format(level_words(here.settings)),
            f"Boxes are read as {report.settings.boxes}.",
            *([Markup("Judged by {}.").format(_judges(report))] if report.judges else []),
            *(f"{one.group} is without {', '.join(one.absent)}." for one in report.groups if one.absent),
            *report.policies,
        ],
        signature=one_way(str(report.signature)),
    )


def _cards(report: PosterReport) -> list[Card]:
    cards = []
    if report.overall is not None:
        groups = sum(one.group != "Generation" for one in report.groups)
        cards.append(
            Card(
                "Overall",
                estimate_value(report.overall, None, 3),
                f"mean of {groups} group{'' if groups == 1 else 's'}",
            )
        )
    cards += [
        Card(one.group, estimate_value(one.figure, None, 3), _under(one))
        for one in report.groups
        if one.figure is not None
    ]
    return cards


def _under(one: PosterGroup) -> Markup:
    told = counted(one.metrics, "metric")
    return told if one.at_best is None else Markup("{}; provisional, at best {}").format(told, fixed(one.at_best, 3))


def _judges(report: PosterReport) -> Markup:
    return Markup(", ").join(
        Markup("{} ({}, {} protocol)").format(brief(card.judge), counted(card.verdicts, "verdict"), card.protocol)
        for card in report.judges
    )


def _group_section(report: PosterReport) -> Section:
    rows = [
        (one.group, one.figure.value, one.figure.low, one.figure.high, "")
        for one in report.groups
        if one.figure is not None
    ]
    blocks: list[Figure | Table] = []
    if rows:
        drawing = charts.dot_intervals(
            rows, 0.0, title="Means of groups", x_label="mean of the group’s metrics", null_label="chance", sort=False
        )
        blocks.append(Figure(drawing, "0 is an answer given without looking, for scores with options; 1 is perfect."))
    columns = [Column("group", "Group"), Column("mean", "Mean", "estimate", 3), Column("metrics", "Metrics", "count")]
    columns += [Column("released", "Released", "number")] if report.compat else []
    lacks = any(one.absent for one in report.groups)
    columns += (
        [Column("absent", "Without", "count", hint="Metrics of the group that no file was given for.")] if lacks else []
    )
    table = [
        {"group": one.group, "mean": one.figure, "metrics": one.metrics, "released": one.released,
         "absent": Cell(len(one.absent), ", ".join(one.absent))}
        for one in report.groups
    ]  # fmt: skip
    blocks.append(Table(columns, table, caption="Groups"))
    return Section("Groups", blocks, "Plain means of their tasks’ metrics, as in the published table.")


def _released_section() -> Section:
    return Section("Released scoring", [Note(_WHY_RELEASED)])


def _task_section(report: PosterReport) -> Section:
    columns = [
        Column("task", "Task"),
        Column("metric", "Metric"),
        Column("value", "Value", "estimate", 3),
        Column("chance", "Chance", "number", hint="What an answer gets that is given without looking."),
        Column("fixed", "Fixed answer", "number", hint="What the best single answer for every item gets."),
        *([Column("oracle", "Oracle", "number", hint=_ORACLE)] if _has_oracle(report) else []),
        *([Column("released", "Released", "number", hint="By the published code.")] if report.compat else []),
        *(
            [Column("of", "of", "count", hint="Items (or boxes) the published code divides by.")]
            if report.compat
            else []
        ),
        Column("items", "Items", "count"),
        *([Column("flag", "State", "badge")] if any(task.owed for task in report.tasks) else []),
    ]
    rows = [_row(task, metric, i) for task in report.tasks for i, metric in enumerate(task.metrics)]
    table = Table(columns, rows, caption="Every metric of every task", sortable=False)
    told = "Metrics marked ↓ are better when small; those in brackets do not enter the mean of their group."
    return Section("Tasks", [table], told)


def _row(task: TaskResult, metric: MetricResult, index: int) -> dict[str, object]:
    title = metric.title + (" ↓" if metric.better == "low" else "")
    provisional = Badge("provisional", "open", "A judge still owes verdicts.") if metric.at_best is not None else None
    under = "" if metric.at_best is None else Markup("at best {}").format(fixed(metric.at_best, 3))
    return {
        "task": task.title if index == 0 else "",
        "metric": title if metric.grouped else f"({title})",
        "value": Cell(metric.figure, metric.why or "", under),
        "chance": metric.chance,
        "fixed": metric.fixed,
        "oracle": metric.oracle,
        "released": Cell(metric.released, under=f"ends with {metric.released_crash}" if metric.released_crash else ""),
        "of": metric.released_n,
        "items": task.items if metric.figure is None else metric.figure.n,
        "flag": provisional,
    }


def _has_oracle(report: PosterReport) -> bool:
    return any(metric.oracle is not None for task in report.tasks for metric in task.metrics)


def _curve_sections(report: PosterReport) -> list[Section]:
    if not report.curves:
        return []
    width = SMALL if len(report.curves) > 1 else WIDE
    figures = [Figure(_drawing(curve, width), heading=f"{curve.title}: {curve.difficulty}") for curve in report.curves]
    shown = Figures(figures) if len(figures) > 1 else figures[0]
    return [Section("Difficulty", [shown], "Where it begins to fail; bands are intervals.")]


def _drawing(curve: DifficultyCurve, width: int) -> str:
    points = curve.points
    drawn = charts.Curve(
        "", [point.x for point in points], [point.figure.value for point in points],
        low=[point.figure.low for point in points], high=[point.figure.high for point in points],
    )  # fmt: skip
    lowest = min(0.0, *(min(point.figure.value, point.figure.low or 0.0) for point in points))
    return charts.line_curves(
        [drawn], title=f"{curve.title} over {curve.difficulty}", x_label=curve.difficulty,
        y_label=metric_title(curve.task, curve.metric), y_domain=(lowest, 1.0), height=_LOW, width=width,
    )  # fmt: skip


def _lacking_sections(report: PosterReport) -> list[Section]:
    """What is worth nothing because it is not there, by task."""
    rows = [_lacking(task) for task in report.tasks]
    rows = [row for row in rows if any(row[name] for name in ("missing", "unread", "boxes", "owed", "pictures"))]
    if not rows:
        return []
    columns = [
        Column("task", "Task"),
        Column("missing", "Missing", "count", hint="Items without an answer."),
        Column("unread", "Unread", "count", hint="Answers that say nothing that could be counted."),
        Column("why", "Why"),
        Column("boxes", "Bad boxes", "count", hint="Inverted, outside the picture, or not numbers."),
        Column("owed", "Verdicts owed", "count", hint="By a judge; they count as no."),
        Column("pictures", "No picture", "count"),
    ]
    return [Section("Worth nothing", [Table(columns, rows, caption="What is missing or could not be read")],
                    "Everything here stays in the denominator.")]  # fmt: skip


def _lacking(task: TaskResult) -> dict[str, object]:
    return {
        "task": task.title,
        "missing": task.missing,
        "unread": sum(task.unread.values()),
        "why": _reasons(task.unread),
        "boxes": task.bad_boxes,
        "owed": task.owed,
        "pictures": task.no_picture,
    }


def _reasons(unread: dict[str, int]) -> Markup:
    parts: Sequence[Markup] = [Markup("{} {}").format(reason, fixed(count, 0)) for reason, count in unread.items()]
    return Markup(", ").join(parts) or Markup("–")
