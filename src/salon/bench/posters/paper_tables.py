"""Tables 1 to 7 of PosterIQ for any contestants, with published rows beside them where they are asked for.

A cell holds our value with its interval, or the released scoring's value under `compat`. Published rows are what the
paper prints: by the released scoring, without intervals, on the public files. They are marked and never ranked. A
contestant whose verdicts a judge still owes is not ranked where they count; where contestants were judged by different
protocols, nobody is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import Field

from salon.bench.posters.judge_protocol import JudgingRecord, protocols_differ
from salon.bench.posters.results import MetricResult, PosterReport
from salon.bench.posters.tasks import GROUPS, TASKS, task_named
from salon.errors import BadValue
from salon.stats import Estimate
from salon.study import Noun

GAP, OVERALL, GROUP = "gap", "overall", "group:"
ALL = "all"
STEADY = (GAP, "font_size_ocr.sd")
"""Columns that are small for whoever reads nothing at all: nobody is the best of them."""


class PaperColumn(Noun):
    """One column of a table."""

    key: str = Field(description="Task and metric, `gap`, `group:NAME` or `overall`.")
    title: str = Field(description="Its head.")
    better: Literal["high", "low"] = Field(description="Which way is better.")


class PaperCell(Noun):
    """One contestant's value in a column."""

    value: float | None = Field(description="The value; null where there is none.")
    figure: Estimate | None = Field(
        None, description="The value with its interval; null under compat, or if published."
    )
    owed: int = Field(0, description="Verdicts a judge owes on it: it is not ranked.")
    best: bool = Field(False, description="Whether no ranked value of the column is better.")
    partial: bool = Field(False, description="Whether others were asked more tasks of it: it is not ranked.")
    other_protocol: bool = Field(False, description="Whether others of the column were judged by another protocol.")
    why: str = Field("", description="Why there is no value, or what it is without.")


class PaperRow(Noun):
    """One contestant, or one row that the paper publishes."""

    contestant: str = Field(description="Its name.")
    published: bool = Field(description="Whether the row is the paper's.")
    judged: str | None = Field(
        None, title="Judged by", description="By which prompts it was judged; null in a table without verdicts."
    )
    cells: tuple[PaperCell, ...] = Field(description="In the order of the columns.")


class PosterPaperTable(Noun):
    """One of the seven."""

    number: int = Field(description="Its number in the paper.")
    title: str = Field(description="What it is about.")
    columns: tuple[PaperColumn, ...] = Field(description="Its columns, in the order of the paper.")
    rows: tuple[PaperRow, ...] = Field(description="Contestants first, then published rows.")


@dataclass(frozen=True)
class _TableLayout:
    number: int
    title: str
    columns: tuple[PaperColumn, ...]
    published: dict[str, tuple[float, ...]]


def published_names() -> tuple[str, ...]:
    """Models with published rows."""
    return tuple(dict.fromkeys(name for table in _layouts() for name in table.published))


def chosen_names(names: Sequence[str]) -> tuple[str, ...]:
    """The published rows that were asked for, by name in any case, or all; BadValue names those there are."""
    by_lower_name = {name.lower(): name for name in published_names()}
    if any(name.lower() == ALL for name in names):
        return published_names()
    unknown = [name for name in names if name.lower() not in by_lower_name]
    if unknown:
        raise BadValue("the name of a model with published rows is needed", found=", ".join(map(repr, unknown)),
                       remedy="all, or one of " + ", ".join(by_lower_name.values()))  # fmt: skip
    return tuple(dict.fromkeys(by_lower_name[name.lower()] for name in names))


def paper_tables(
    reports: Sequence[PosterReport], published: Sequence[str] = (), judging: Sequence[JudgingRecord] = ()
) -> tuple[PosterPaperTable, ...]:
    """Every table that a contestant was asked a task of; reports with released numbers show those.

    `judged` says how each contestant was judged, in the order of the reports.
    """
    tables = []
    for layout in _layouts():
        names = {column.key.removeprefix(GROUP).split(".")[0] for column in layout.columns}
        if not any(names & {task.task, task.group} for report in reports for task in report.tasks):
            continue
        cells = [
            [_cell(report, column.key, _tasks(reports, column.key)) for column in layout.columns] for report in reports
        ]
        ranked = [
            _with_best(column, _with_protocol(column, [row[at] for row in cells], judging))
            for at, column in enumerate(layout.columns)
        ]
        tasks = {task for column in layout.columns for task in tasks_of(column.key)}
        has_verdicts = any(not tasks.isdisjoint(record.tasks) for record in judging)
        rows = [
            PaperRow(contestant=report.contestant, published=False, judged=judging[at].title if has_verdicts else None,
                     cells=tuple(column[at] for column in ranked))
            for at, report in enumerate(reports)
        ]  # fmt: skip
        rows += [
            PaperRow(contestant=name, published=True, judged="as published" if has_verdicts else None,
                     cells=tuple(PaperCell(value=value) for value in layout.published[name]))
            for name in published
            if name in layout.published
        ]  # fmt: skip
        tables.append(
            PosterPaperTable(number=layout.number, title=layout.title, columns=layout.columns, rows=tuple(rows))
        )
    return tuple(tables)


def tasks_of(key: str) -> set[str]:
    """The tasks that a column may count."""
    if key == OVERALL:
        return {task.name for task in TASKS if task.group in GROUPS}
    if key.startswith(GROUP):
        return {task.name for task in TASKS if task.group == key.removeprefix(GROUP)}
    return set() if key == GAP else {key.split(".")[0]}


def owed_in(report: PosterReport, key: str) -> int:
    """Verdicts owed on what a column counts."""
    if key == GAP:
        return 0
    if key == OVERALL:
        return sum(task.owed for task in report.tasks if task.group in GROUPS)
    if key.startswith(GROUP):
        return sum(task.owed for task in report.tasks if task.group == key.removeprefix(GROUP))
    return sum(task.owed for task in report.tasks if task.task == key.split(".")[0])


def _tasks(reports: Sequence[PosterReport], key: str) -> set[str]:
    """All tasks that a mean can be over; none for a single metric."""
    if key == OVERALL:
        return {task.task for report in reports for task in report.tasks if task.group in GROUPS}
    if key.startswith(GROUP):
        return {task.task for report in reports for task in report.tasks if task.group == key.removeprefix(GROUP)}
    return set()


def _cell(report: PosterReport, key: str, all_tasks: set[str]) -> PaperCell:
    cell = _value_cell(report, key)
    lacking = sorted(all_tasks - {task.task for task in report.tasks})
    if cell.value is None or not lacking:
        return cell
    return cell.model_copy(update={"partial": True, "why": f"not ranked: without {', '.join(lacking)}"})


def _value_cell(report: PosterReport, key: str) -> PaperCell:
    released = report.compat is not None
    owed = owed_in(report, key)
    if key == GAP:
        if not released:
            return _either(report.gap, None, False, 0, "" if report.gap else "not asked")
        both = [_metric(report, f"{task}.wr") for task in ("simple_ocr", "hard_ocr")]
        values = [metric.released for metric in both if metric is not None and metric.released is not None]
        return PaperCell(value=values[0] - values[1] if len(values) == 2 else None)
    if key == OVERALL:
        return _either(report.overall, report.overall_released, released, owed)
    if key.startswith(GROUP):
        group = next((candidate for candidate in report.groups if candidate.group == key.removeprefix(GROUP)), None)
        if group is None:
            return PaperCell(value=None, why="not asked")
        why = f"without {', '.join(group.absent)}" if group.absent else ""
        return _either(group.figure, group.released, released, owed, why)
    metric = _metric(report, key)
    if metric is None:
        return PaperCell(value=None, why="not asked")
    crash = f"the released scoring ends with {metric.released_crash}" if metric.released_crash else ""
    return _either(metric.figure, metric.released, released, owed, crash if released else metric.why or "")


def _either(figure: Estimate | None, number: float | None, released: bool, owed: int, why: str = "") -> PaperCell:
    if released:
        return PaperCell(value=number, owed=owed, why=why)
    return PaperCell(value=None if figure is None else figure.value, figure=figure, owed=owed, why=why)


def _metric(report: PosterReport, key: str) -> MetricResult | None:
    name, metric = key.split(".")
    task = next((candidate for candidate in report.tasks if candidate.task == name), None)
    return None if task is None else next(candidate for candidate in task.metrics if candidate.id == metric)


def _with_protocol(
    column: PaperColumn, cells: Sequence[PaperCell], judging: Sequence[JudgingRecord]
) -> list[PaperCell]:
    """The cells, marked where verdicts of the column are not by one protocol."""
    if not protocols_differ(judging, tasks_of(column.key)):
        return list(cells)
    return [cell if cell.value is None else cell.model_copy(update={"other_protocol": True}) for cell in cells]


def _with_best(column: PaperColumn, cells: Sequence[PaperCell]) -> list[PaperCell]:
    """The cells with the best of those that can be ranked marked, where there are several."""
    sign = 1 if column.better == "high" else -1
    ranked = [sign * cell.value for cell in cells if cell.value is not None and _is_ranked(cell)]
    if len(ranked) < 2 or column.key in STEADY:
        return list(cells)
    return [
        cell.model_copy(update={"best": True})
        if cell.value is not None and _is_ranked(cell) and sign * cell.value == max(ranked)
        else cell
        for cell in cells
    ]


def _is_ranked(cell: PaperCell) -> bool:
    return not (cell.owed or cell.partial or cell.other_protocol)


@cache
def _layouts() -> tuple[_TableLayout, ...]:
    text = files("salon.bench.posters").joinpath("paper_tables.toml").read_text(encoding="utf-8")
    return tuple(
        _TableLayout(table["number"], table["title"], tuple(map(_column, table["columns"], table["heads"])),
                {name: tuple(values) for name, values in table["published"].items()})
        for table in tomllib.loads(text)["table"]
    )  # fmt: skip


def _column(key: str, head: str) -> PaperColumn:
    if key == GAP:
        return PaperColumn(key=key, title=head, better="low")
    if key == OVERALL or key.startswith(GROUP):
        return PaperColumn(key=key, title=head, better="high")
    task, id = key.split(".")
    return PaperColumn(key=key, title=head, better=task_named(task).metric(id).better)
