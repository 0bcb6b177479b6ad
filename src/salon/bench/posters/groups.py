"""Groups of metrics and the overall score, as the published table puts them together: plain means of means.

Tasks are separate files, so their draws are independent; metrics of one task are drawn together. A metric that no file
was given for is named as absent: the mean is then over the others, and is no mean of the published kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from salon.bench.posters.metrics import UP_TO_ONE, Drawn, figure_of
from salon.bench.posters.results import PosterGroup
from salon.bench.posters.task import GENERATION, GROUPS, TASKS
from salon.stats.result import Estimate

ByTask = Mapping[str, Sequence[Drawn]]


def group_results(drawn: ByTask, level: float) -> list[PosterGroup]:
    """Every group that has a metric; the five of the understanding side first."""
    found = [_group(name, drawn, level) for name in (*GROUPS, GENERATION)]
    return [one for one in found if one.metrics]


def overall(drawn: ByTask, level: float) -> Estimate | None:
    """The mean of the understanding groups that have a value; None for a single task, which is no benchmark."""
    parts = [members for name in GROUPS if (members := _members(name, drawn))]
    if not parts or sum(task.name in drawn for task in TASKS if task.group in GROUPS) < 2:
        return None
    means = [_mean(members) for members in parts]
    value = float(np.mean([mean for mean, _, _ in means]))
    edge = np.mean([edge for _, _, edge in means], axis=0)
    return _figure(value, np.mean([draws for _, draws, _ in means], axis=0), edge, _items(drawn), level)


def gap(drawn: ByTask, level: float) -> Estimate | None:
    """Word recall of simple OCR less that of hard OCR."""
    simple, hard = (next(iter(drawn.get(name, ())), None) for name in ("simple_ocr", "hard_ocr"))
    if simple is None or hard is None or simple.value is None or hard.value is None:
        return None
    return figure_of(simple.value - hard.value, simple.draws - hard.draws, simple.n + hard.n, level)


def _group(name: str, drawn: ByTask, level: float) -> PosterGroup:
    members = _members(name, drawn)
    wanted = [(task, metric) for task in TASKS if task.group == name for metric in task.metrics if metric.grouped]
    absent = tuple(f"{task.name}.{metric.id}" for task, metric in wanted if task.name not in drawn)
    figure, best = None, None
    if members:
        value, draws, edge = _mean(members)
        figure = _figure(value, draws, edge, _items(drawn, name), level)
    if any(one.at_best is not None for one in members):
        best = float(np.mean([one.value if one.at_best is None else one.at_best for one in members]))
    return PosterGroup(group=name, figure=figure, metrics=len(members), at_best=best, absent=absent)


def _members(name: str, drawn: ByTask) -> list[Drawn]:
    return [
        one
        for task in TASKS
        if task.group == name
        for one in drawn.get(task.name, ())
        if one.metric.grouped and one.value is not None
    ]


def _mean(members: Sequence[Drawn]) -> tuple[float, np.ndarray, np.ndarray]:
    """Value, draws, and the ends to give where no member's draws have any spread."""
    values = [(one.value, one.edge or (one.value, one.value)) for one in members if one.value is not None]
    mean, edges = float(np.mean([value for value, _ in values])), np.mean([ends for _, ends in values], axis=0)
    return mean, np.mean([one.draws for one in members], axis=0), edges


def _figure(value: float, draws: np.ndarray, edge: np.ndarray, n: int, level: float) -> Estimate:
    flat = np.ptp(draws) == 0 and edge[0] < edge[1]
    return figure_of(value, draws, n, level, (float(edge[0]), float(edge[1])) if flat else None, UP_TO_ONE)


def _items(drawn: ByTask, group: str | None = None) -> int:
    """Items behind a mean."""
    tasks = [task.name for task in TASKS if (task.group == group if group else task.group in GROUPS)]
    return sum(max((one.n for one in drawn.get(name, ())), default=0) for name in tasks)
