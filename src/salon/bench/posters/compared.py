"""Several contestants on the same items, side by side: their reports, and how far each is behind the best.

Items are drawn again alike for everybody (the same seed, task and number of items), so the distance of two contestants
has an interval of its own: that of the difference on the same draws, narrower than two intervals apart suggest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from salon.bench.posters.files import PosterFile, find_picture
from salon.bench.posters.metrics import Drawn, FloatArray, drawn_metrics, figure_of
from salon.bench.posters.metrics_items import score_item
from salon.bench.posters.results import PosterReport, ScoreSettings
from salon.bench.posters.score import score_files
from salon.bench.posters.task import GENERATION, GROUPS, TASKS
from salon.errors import BadFile, BadValue
from salon.report.estimate import Figure
from salon.study.noun import Noun

FORMAT = "salon.posters-compared/1"
OVERALL = "Overall"


class ComparedValue(Noun):
    """What one contestant reaches."""

    figure: Figure | None = Field(description="The value with its interval; null where it was not asked.")
    behind: Figure | None = Field(description="How far behind the best, on the same draws; null for the best itself.")
    best: bool = Field(description="Whether no value of the row is better; never where tasks differ.")


class ComparedRow(Noun):
    """One metric of one task, or the mean of a group, for everybody."""

    task: str = Field(description="Name of the task; empty for groups.")
    title: str = Field(description="Title of the task or the group.")
    metric: str = Field(description="Title of the metric; empty for groups.")
    better: Literal["high", "low"] = Field(description="Which way is better.")
    grouped: bool = Field(description="Whether it enters the mean of its group.")
    chance: float | None = Field(description="What answers get that are given without looking; null where unknown.")
    values: tuple[ComparedValue, ...] = Field(description="In the order of the contestants.")


class ComparedReport(Noun):
    """Everything about several contestants."""

    format: Literal["salon.posters-compared/1"] = Field(FORMAT, description="Version of this document.")
    contestants: tuple[str, ...] = Field(description="Their names, in the order of the columns.")
    groups: tuple[ComparedRow, ...] = Field(description="Means of groups, and overall where all were asked the same.")
    rows: tuple[ComparedRow, ...] = Field(description="Every metric that some contestant was asked.")
    reports: tuple[PosterReport, ...] = Field(description="What `score` gives for each contestant.")
    policies: tuple[str, ...] = Field(description="How what is missing counts.")


POLICIES = (
    "A group's mean is compared only where everybody was asked the same tasks of it; elsewhere no mean is the best.",
    "Behind is the best value of the row less this one, on the same draws of the items; an interval that holds 0 does "
    "not tell the two apart.",
)


@dataclass(frozen=True)
class Contestant:
    """One contestant's name, answered files and settings (each declares how it writes boxes)."""

    name: str
    files: Sequence[PosterFile]
    settings: ScoreSettings
    pictures: Path | None = None
    """A generator's folder: a poster that is not there is worth nothing."""


def compare_files(contestants: Sequence[Contestant]) -> ComparedReport:
    """The reports of all contestants, and a row for every metric that some of them were asked.

    BadValue where two have one name; BadFile where they answered different items of one task.
    """
    names = [one.name for one in contestants]
    if len(set(names)) < len(names):
        raise BadValue("contestants of different names are needed", found=", ".join(names), remedy="rename a folder")
    _check_items(contestants)
    reports = tuple(score_files(c.files, c.settings, contestant=c.name, pictures=c.pictures) for c in contestants)
    drawn = [{file.task.name: _drawn(file, c) for file in c.files} for c in contestants]
    level = contestants[0].settings.level
    return ComparedReport(
        contestants=tuple(names),
        groups=tuple(_groups(reports, drawn, level)),
        rows=tuple(_rows(reports, drawn, level)),
        reports=reports,
        policies=(*_provisional(reports), *POLICIES, *reports[0].policies),
    )


def _provisional(reports: Sequence[PosterReport]) -> list[str]:
    """Whose values may still rise, because a judge owes verdicts."""
    owed = {report.contestant: sum(task.owed for task in report.tasks) for report in reports}
    told = ", ".join(f"{name} ({n:,})" for name, n in owed.items() if n)
    return [f"Provisional: a judge owes verdicts on {told}."] if told else []


def _check_items(contestants: Sequence[Contestant]) -> None:
    seen: dict[str, tuple[str, list[tuple[str, object]]]] = {}
    for one in contestants:
        for file in one.files:
            items = [(item.name, item.truth) for item in file.items]
            first, known = seen.setdefault(file.task.name, (one.name, items))
            if items != known:
                raise BadFile(
                    f"the same items of {file.task.name} for everybody are needed",
                    found=f"others for {one.name} than for {first}",
                    where=str(file.path),
                )


ByTask = Mapping[str, Sequence[Drawn]]


def _drawn(file: PosterFile, one: Contestant) -> list[Drawn]:
    scored = [score_item(item, one.settings.boxes, picture=_is_there(item.path, one)) for item in file.items]
    return drawn_metrics(file.task, scored, one.settings)


def _is_there(path: str, one: Contestant) -> bool | None:
    return None if one.pictures is None else find_picture(one.pictures, path) is not None


def _rows(reports: Sequence[PosterReport], drawn: Sequence[ByTask], level: float) -> list[ComparedRow]:
    rows = []
    for task in TASKS:
        for at, metric in enumerate(task.metrics):
            asked = [by_task[task.name][at] if task.name in by_task else None for by_task in drawn]
            if not any(asked):
                continue
            figures = [_figure(report, task.name, metric.id) for report in reports]
            draws = [None if one is None or one.value is None else one.draws for one in asked]
            values = _values(figures, draws, metric.better, level)
            chance = next(one.chance for one in asked if one is not None)
            rows.append(
                ComparedRow(task=task.name, title=task.title, metric=metric.title, better=metric.better,
                            grouped=metric.grouped, chance=chance, values=values)
            )  # fmt: skip
    return rows


def _figure(report: PosterReport, task: str, metric: str) -> Figure | None:
    found = next((one for one in report.tasks if one.task == task), None)
    return None if found is None else next(one.figure for one in found.metrics if one.id == metric)


def _groups(reports: Sequence[PosterReport], drawn: Sequence[ByTask], level: float) -> list[ComparedRow]:
    """Means of groups, then of everything; draws only where all were asked the same."""
    rows = []
    for name in (*GROUPS, GENERATION, OVERALL):
        figures = [_mean_figure(report, name) for report in reports]
        if not any(figures):
            continue
        tasks = [{task for task in by_task if _in(task, name)} for by_task in drawn]
        same = all(one == tasks[0] for one in tasks)
        draws = [_mean_draws(by_task, name) if same else None for by_task in drawn]
        values = _values(figures, draws, "high", level)
        if not same:  # means over different tasks have no best
            values = tuple(one.model_copy(update={"best": False}) for one in values)
        rows.append(
            ComparedRow(task="", title=name, metric="", better="high", grouped=True, chance=None, values=values)
        )
    return rows


def _mean_figure(report: PosterReport, name: str) -> Figure | None:
    if name == OVERALL:
        return report.overall
    return next((one.figure for one in report.groups if one.group == name), None)


def _in(task: str, group: str) -> bool:
    of = next(one.group for one in TASKS if one.name == task)
    return of in GROUPS if group == OVERALL else of == group


def _mean_draws(by_task: ByTask, group: str) -> FloatArray | None:
    """Draws of a group's mean; overall is the mean of the groups'."""
    if group == OVERALL:
        parts = [part for name in GROUPS if (part := _mean_draws(by_task, name)) is not None]
    else:
        named = [one for name, members in by_task.items() if _in(name, group) for one in members]
        parts = [one.draws for one in named if one.metric.grouped and one.value is not None]
    return np.mean(parts, axis=0) if parts else None


def _values(
    figures: Sequence[Figure | None], draws: Sequence[FloatArray | None], better: str, level: float
) -> tuple[ComparedValue, ...]:
    """Each value, with its distance to the best where draws tell it."""
    sign = 1 if better == "high" else -1
    known = [sign * one.value for one in figures if one is not None]
    top = max(known, default=0.0)
    leader = next((i for i, one in enumerate(figures) if one is not None and sign * one.value == top), None)

    def behind(at: int) -> Figure | None:
        mine, best = draws[at], None if leader is None else draws[leader]
        figure = figures[at]
        if figure is None or mine is None or best is None or at == leader:
            return None
        return figure_of(
            top - sign * figure.value, sign * (best - mine), figure.n, level, _edge(sign * (best - mine), at)
        )

    def _edge(apart: FloatArray, at: int) -> tuple[float, float] | None:
        """Where draws show no spread: from the nearest to the farthest ends of the two intervals."""
        mine, best = figures[at], None if leader is None else figures[leader]
        if np.ptp(apart) > 0 or mine is None or best is None or None in (mine.low, mine.high, best.low, best.high):
            return None
        ends = [sign * (one - other) for one in (best.low, best.high) for other in (mine.low, mine.high)]  # type: ignore[operator]
        return min(ends), max(ends)

    return tuple(
        ComparedValue(figure=one, behind=behind(at), best=one is not None and sign * one.value == top)
        for at, one in enumerate(figures)
    )


def apart(value: ComparedValue) -> bool | None:
    """Whether a value is told apart from the best of its row; None for the best itself, or where nothing tells."""
    if value.behind is None or value.behind.low is None:
        return None
    return value.behind.low > 0
