"""The released scoring, with its faults: for comparison with published tables only (`--compat released`).

What it does, and the house's own scoring does not:

- a letter or a word anywhere in the text counts, so that "AB" and a list of all options are right;
- items that look like refusals, posters whose texts were found by less than 5%, ratings that were not found and posters
  that were not made leave the denominator;
- font effect 1 has four options and is scored as nine; labels of font effect 2 with a space or a hyphen never match;
- boxes are made of the numbers with a decimal point, and each takes the best of four readings; those that are not
  given cost nothing; boxes of all posters are put in one pot;
- style is computed from the accuracy of layout comparison;
- a judge's error is a no, and so is "Yes." of a judge of posters;
- a mean over nothing, a record without a response and a list of ids that is none end it with an exception. Such a
  number is reported as a crash, with the exception's name.

The rules themselves are in `compat_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from salon.bench.posters.compat_rules import SCORERS, Numbers, Released, style_of_layout, words
from salon.bench.posters.files import PosterFile, Record, find_picture
from salon.bench.posters.results import MetricResult, PosterGroup, PosterReport, TaskResult
from salon.bench.posters.task import GROUPS, task_named

_OURS = {"strict", "assigned"}
"""Metrics that the released scoring does not have."""
_PRINTED = {name: {m.id for m in task_named(name).metrics if m.id not in _OURS} for name in (
    *SCORERS, "simple_ocr", "hard_ocr", "style_understanding")}  # fmt: skip


def released_scores(files: Sequence[PosterFile], pictures: Path | None = None) -> dict[str, Numbers]:
    """Every metric by task, as the released code computes it from the same files."""
    by_name = {file.task.name: _records(file, pictures) for file in files}
    everything = _in_order([file for file in files if file.task.side == "understanding"])
    return {name: _numbers(name, records, by_name, everything) for name, records in by_name.items()}


def _numbers(
    name: str, records: Sequence[Record], by_name: Mapping[str, Sequence[Record]], everything: Sequence[Record]
) -> Numbers:
    try:
        if name == "style_understanding":
            return style_of_layout(records, by_name.get("layout_comparison", ()))
        if name in ("simple_ocr", "hard_ocr"):
            return words(records, by_name)
        if name in ("alignment", "rotation"):
            return SCORERS[name](everything)
        return SCORERS[name](records)
    except (ArithmeticError, LookupError, NameError, ValueError, AttributeError, TypeError) as error:
        return {metric.id: Released(None, 0, type(error).__name__) for metric in task_named(name).metrics}


def with_released(report: PosterReport, files: Sequence[PosterFile], pictures: Path | None = None) -> PosterReport:
    """The report with the released numbers beside its own."""
    numbers = released_scores(files, pictures)
    tasks = tuple(_with_numbers(task, numbers.get(task.task, {})) for task in report.tasks)
    groups = tuple(_group(group, tasks) for group in report.groups)
    means = [group.released for group in groups if group.group in GROUPS]
    overall = None if report.overall is None else _mean_of_all(means)
    return report.model_copy(
        update={"compat": "released", "tasks": tasks, "groups": groups, "overall_released": overall}
    )


def _with_numbers(task: TaskResult, numbers: Numbers) -> TaskResult:
    def metric(result: MetricResult) -> MetricResult:
        number = numbers.get(result.id)
        if number is None or (number.crash and result.id not in _PRINTED[task.task]):
            return result
        return result.model_copy(
            update={"released": number.value, "released_n": number.n, "released_crash": number.crash}
        )

    return task.model_copy(update={"metrics": tuple(metric(result) for result in task.metrics)})


def _group(group: PosterGroup, tasks: Sequence[TaskResult]) -> PosterGroup:
    values = [
        metric.released
        for task in tasks
        if task.group == group.group
        for metric in task.metrics
        if metric.grouped and metric.id in _PRINTED[task.task]
    ]
    return group.model_copy(update={"released": _mean_of_all(values)})


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    """The mean; None where one of the values is: a mean over what is left would be another figure."""
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers and len(numbers) == len(values) else None


def _records(file: PosterFile, pictures: Path | None) -> list[Record]:
    """The records it looked at: a poster that was not made was skipped."""
    if file.task.side == "understanding":
        return list(file.records)
    judged = [record for record in file.records if record.get("judge") is not None]
    return judged if pictures is None else [record for record in judged if find_picture(pictures, record["path"])]


def _in_order(files: Sequence[PosterFile]) -> list[Record]:
    """The records of all files in one list: in the order of the list they were merged in, where there is one."""
    records = [
        (str(file.path), place, record)
        for file in files
        for place, record in zip(file.merged_at or [0] * len(file.records), file.records, strict=True)
    ]
    return [record for *_, record in sorted(records, key=lambda row: row[:2])]
