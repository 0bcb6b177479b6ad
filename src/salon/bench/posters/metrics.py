"""What the answers to one task are worth together, with intervals from drawing its items again.

A metric is the mean worth of the items (over the parts of a task that knows parts: font sizes, the halves of font
matching), as a k-option score (acc - c)/(1 - c) where it has options, with c the worth of a blind answer: 1/k gives
(k acc - 1)/(k - 1). Items are drawn again within parts, all metrics of a task on the same draws.

Where every item is worth the same end of the scale, draws show no spread: the interval is then the exact bound that
every mean of the house has there (`stats.resample`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.bench.posters.metrics_items import Scored
from salon.bench.posters.ratings import pearson, worst_filled
from salon.bench.posters.results import MetricResult, ScoreSettings
from salon.bench.posters.task import Metric, Task
from salon.stats.resample import UNBOUNDED, Ends, exact_bound, interval
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
Value = Callable[[FloatArray], float]
"""From what each item is worth to the metric."""
UNIT = "item"
UP_TO_ONE: Ends = (-np.inf, 1.0)
"""Less than 0 is worse than blind."""


@dataclass(frozen=True)
class Drawn:
    """A metric's value, with its values on draws of the items; None where the items cannot give one."""

    metric: Metric
    value: float | None
    draws: FloatArray
    n: int
    chance: float | None
    at_best: float | None = None
    fixed: float | None = None
    edge: tuple[float, float] | None = None
    """The interval where draws show no spread."""
    why: str | None = None


def drawn_metrics(task: Task, scored: Sequence[Scored], settings: ScoreSettings) -> list[Drawn]:
    """Every metric of the task on the same draws of its items."""
    strata = [scored_one.item.stratum for scored_one in scored]
    rng = np.random.default_rng([settings.seed, zlib.crc32(task.name.encode())])
    weights = draw_weights(strata, settings.draws, rng)
    return [_drawn(metric, scored, strata, weights, settings.level) for metric in task.metrics]


def draw_weights(strata: Sequence[object], draws: int, rng: np.random.Generator) -> FloatArray:
    """How often each item is drawn, (draws, n): as many of each part as it has."""
    weights = np.empty((draws, len(strata)))
    for part in dict.fromkeys(strata):
        at = [i for i, one in enumerate(strata) if one == part]
        weights[:, at] = rng.multinomial(len(at), np.full(len(at), 1 / len(at)), size=draws)
    return weights


def _drawn(
    metric: Metric, scored: Sequence[Scored], strata: Sequence[object], weights: FloatArray, level: float
) -> Drawn:
    if metric.id == "pearson":
        return _correlation(metric, scored, weights)
    if metric.id == "sd":
        return _spread(metric, scored, strata, weights)
    asked = [i for i, one in enumerate(scored) if metric.id in one.worth]
    if not asked:
        return Drawn(metric, None, weights[:, 0], 0, None, why="no item asks for it")
    mine, parts = [scored[i] for i in asked], _parts([strata[i] for i in asked])
    worth = np.array([one.worth[metric.id] for one in mine])
    best = np.array([one.at_best.get(metric.id, one.worth[metric.id]) for one in mine])
    blind = np.array([one.blind.get(metric.id, 0.0) for one in mine])
    once = np.ones((1, len(mine)))

    def drawn(values: FloatArray, times: FloatArray) -> FloatArray:
        """The metric of these values for each row of times that items are drawn."""
        mean = _mean_of_parts(values, times, parts)
        if metric.k is None:
            return mean
        chance = _mean_of_parts(blind, times, parts)
        return (mean - chance) / (1 - chance)

    def plain(values: FloatArray) -> float:
        """The metric of these values, every item once."""
        return float(drawn(values, once)[0])

    chance = 0.0 if metric.k else float(_mean_of_parts(blind, once, parts)[0])
    return Drawn(
        metric,
        plain(worth),
        drawn(worth, weights[:, asked]),
        len(mine),
        chance if all(metric.id in one.blind for one in mine) else None,
        at_best=plain(best) if any(one.at_best for one in mine) else None,
        fixed=_fixed(metric, mine, plain),
        edge=edge_interval(worth, plain, level),
    )


def _parts(strata: Sequence[object]) -> list[list[int]]:
    return [[i for i, one in enumerate(strata) if one == part] for part in dict.fromkeys(strata)]


def _mean_of_parts(values: FloatArray, weights: FloatArray, parts: Sequence[Sequence[int]]) -> FloatArray:
    """The mean over parts of each part's weighted mean, for each row of weights; NaN where a part is not drawn."""
    with np.errstate(invalid="ignore"):
        result: FloatArray = np.mean([weights[:, at] @ values[at] / weights[:, at].sum(axis=1) for at in parts], axis=0)
        return result


def _fixed(metric: Metric, scored: Sequence[Scored], value: Value) -> float | None:
    """What the best single option would get, had it been the answer to every item."""
    if metric.id not in ("score", "accuracy") or not isinstance(scored[0].item.truth, str):
        return None
    options = scored[0].item.task.options
    return max((value(np.array([float(one.item.truth == o) for one in scored])) for o in options), default=None)


def edge_interval(worth: FloatArray, value: Value, level: float) -> tuple[float, float] | None:
    """The interval of a mean whose items are all worth 0, or all 1; None where draws have a spread to show."""
    if len(worth) < 2 or worth.min() != worth.max() or worth[0] not in (0.0, 1.0):
        return None
    ends = exact_bound(len(worth), level, at_high=bool(worth[0] == 1))
    low, high = (value(np.full(len(worth), end)) for end in ends)
    return low, high


def _spread(metric: Metric, scored: Sequence[Scored], strata: Sequence[object], weights: FloatArray) -> Drawn:
    """The sample standard deviation of the parts' means."""
    parts = _parts(strata)
    if len(parts) < 2:
        return Drawn(metric, None, weights[:, 0], len(scored), None, why="one part only")
    worth = np.array([one.worth["wr"] for one in scored])
    means = np.array([weights[:, at] @ worth[at] / len(at) for at in parts])
    value = float(np.std([worth[at].mean() for at in parts], ddof=1))
    return Drawn(metric, value, np.std(means, axis=0, ddof=1), len(scored), None)


def _correlation(metric: Metric, scored: Sequence[Scored], weights: FloatArray) -> Drawn:
    """Pearson's correlation with people; missing ratings are the worst they could have been (`ratings`)."""
    y = np.array([one.item.truth for one in scored])
    x = worst_filled(np.array([one.worth.get("pearson", np.nan) for one in scored]), y)
    value = pearson(x, y) if len(scored) > 2 else None
    if value is None:
        return Drawn(metric, None, weights[:, 0], len(scored), 0.0, why="people's ratings do not differ")
    means = weights @ np.stack([x, y, x * x, y * y, x * y], axis=1) / len(scored)
    mx, my, xx, yy, xy = means.T
    with np.errstate(invalid="ignore", divide="ignore"):
        sizes = np.sqrt(np.maximum(xx - mx * mx, 0) * np.maximum(yy - my * my, 0))
        draws = np.where(sizes > 1e-9, (xy - mx * my) / sizes, 0.0)
    return Drawn(metric, value, np.clip(draws, -1, 1), len(scored), 0.0)


def figure_of(
    value: float, draws: FloatArray, n: int, level: float, edge: Ends | None = None, within: Ends = UNBOUNDED
) -> Estimate:
    """A value with the interval of its draws; `edge`: that of items all alike, `within`: where the value must lie."""
    if n < 2:
        return Estimate(value, None, None, n, UNIT, level, "no interval: one item")
    if edge is not None:
        method = f"exact bound for {n} {UNIT}s alike"
        return Estimate(value, *edge, n, UNIT, level, method)
    if np.ptp(draws) == 0:
        return Estimate(value, None, None, n, UNIT, level, "no interval: draws show no spread")
    return interval(value, draws, n=n, unit=UNIT, level=level, within=within)


def metric_result(drawn: Drawn, settings: ScoreSettings) -> MetricResult:
    """A drawn metric as part of a report."""
    metric, value = drawn.metric, drawn.value
    share = (
        metric.k is None
        and metric.id != "pearson"
        and metric.better == "high"
        and bool(np.nanmin(drawn.draws, initial=0.0) >= 0)
    )
    within = (0.0, 1.0) if share else UP_TO_ONE if metric.better == "high" else (0.0, np.inf)
    return MetricResult(
        id=metric.id,
        title=metric.title,
        better=metric.better,
        k=metric.k,
        grouped=metric.grouped,
        figure=None if value is None else figure_of(value, drawn.draws, drawn.n, settings.level, drawn.edge, within),
        why=drawn.why,
        chance=drawn.chance,
        fixed=drawn.fixed,
        at_best=drawn.at_best,
    )
