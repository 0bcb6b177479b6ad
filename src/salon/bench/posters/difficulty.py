"""Where a contestant begins to fail: a metric over what makes items hard (font size, rotation, clutter).

The metric is the first of its task that is better when high. Ratings have no curve: a correlation is no mean of items.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from salon.bench.posters.metrics import UP_TO_ONE, draw_weights, edge_interval, figure_of
from salon.bench.posters.metrics_items import Scored
from salon.bench.posters.results import CurvePoint, DifficultyCurve, ScoreSettings
from salon.bench.posters.task import Metric, Task

MOST_POINTS = 14
"""Different difficulties that are points of their own; more are put together."""
_STRETCHES = 6
SIZE = "font size"


def difficulty_curves(task: Task, scored: Sequence[Scored], settings: ScoreSettings) -> list[DifficultyCurve]:
    """One curve for each number that says how hard an item is."""
    if task.answer == "rating":
        return []
    names = list(dict.fromkeys(name for one in scored for name in _difficulties(one)))
    return [curve for name in names if (curve := _curve(task, name, scored, settings)) is not None]


def _metric(task: Task) -> Metric:
    return next(one for one in task.metrics if one.better == "high")


def _difficulties(one: Scored) -> dict[str, float]:
    size = one.item.subtask
    sizes: dict[str, float] = {}
    if one.item.task.name == "font_size_ocr" and isinstance(size, int | float):
        sizes[SIZE] = float(size)
    return sizes | dict(one.item.difficulty)


def _curve(task: Task, name: str, scored: Sequence[Scored], settings: ScoreSettings) -> DifficultyCurve | None:
    metric = _metric(task)
    known = [(one, _difficulties(one)[name]) for one in scored if metric.id in one.worth and name in _difficulties(one)]
    if len({x for _, x in known}) < 2:
        return None
    points = tuple(_point([one for one, _ in part], [x for _, x in part], task, settings) for part in _stretches(known))
    return DifficultyCurve(task=task.name, title=task.title, difficulty=name, metric=metric.id, points=points)


def _stretches(known: list[tuple[Scored, float]]) -> list[list[tuple[Scored, float]]]:
    """Items of one difficulty together; where there are too many difficulties, stretches of equal numbers of items."""
    known = sorted(known, key=lambda pair: pair[1])
    values = sorted({x for _, x in known})
    if len(values) <= MOST_POINTS:
        return [[pair for pair in known if pair[1] == value] for value in values]
    cuts = np.linspace(0, len(known), _STRETCHES + 1).astype(int)
    return [known[start:stop] for start, stop in pairwise(cuts) if stop > start]


def _point(part: Sequence[Scored], xs: Sequence[float], task: Task, settings: ScoreSettings) -> CurvePoint:
    metric = _metric(task)
    worth = np.array([one.worth[metric.id] for one in part])
    chance = np.mean([one.blind.get(metric.id, 0.0) for one in part]) if metric.k else 0.0
    rng = np.random.default_rng([settings.seed, zlib.crc32(task.name.encode()), len(part)])
    weights = draw_weights([None] * len(part), settings.draws, rng)

    def value(values: np.ndarray) -> float:
        return float((values.mean() - chance) / (1 - chance))

    draws = (weights @ worth / len(part) - chance) / (1 - chance)
    edge = edge_interval(worth, value, settings.level)
    figure = figure_of(value(worth), draws, len(part), settings.level, edge, UP_TO_ONE)
    return CurvePoint(x=float(np.mean(xs)), figure=figure)
