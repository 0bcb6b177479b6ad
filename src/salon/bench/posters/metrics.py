"""What the answers to a task are worth together, with intervals, means of groups, and difficulty curves.

A metric is the mean worth of the items (over the parts of a task that has parts: font sizes, the halves of font
matching). If it has options, it is a k-option score (acc - c)/(1 - c) with c the worth of a blind answer; c = 1/k gives
(k acc - 1)/(k - 1). For intervals, items are drawn again within parts, all metrics of a task on the same draws. If
every item is worth the same end of the scale, draws show no spread; the interval is then the exact bound of
`stats.resample`.

Ratings: r is Pearson's correlation of x (given) and y (people's). If missing ratings were left out or filled in with a
mean, leaving out the embarrassing ones could raise r. Here r is the least value that any filling-in from the scale can
give it. So one more missing rating never raises it, and with nothing given it is -1.

The least filling-in. Write a for y centered. Over the missing x in a box, r = a·x / (|a| |x - mean x|).
Where r can be made negative, -r is quasi-concave, and at its maximum the gradient condition makes each missing
x_i = clip(m - b a_i) with m the mean of all x and some b > 0: one number to search for. Where r stays positive, it is
quasi-concave itself and least at a corner: every missing rating is at an end of the scale, and for a given number of
them at the top, those with the lowest y are. That gives as many corners as missing ratings, plus one. All candidates of
both kinds are computed and the least r is taken.

Groups and the overall score are plain means of means, as in the published table. Tasks are separate files, so their
draws are independent; metrics of one task are drawn together. A metric without a file is named as absent, and the mean
is over the others.

A difficulty curve shows where a contestant begins to fail: the first metric of the task that is better when high, over
what makes items hard (font size, rotation, clutter). Ratings have no curve: a correlation is not a mean of items.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from salon.bench.posters.item_scores import ItemScore
from salon.bench.posters.results import DifficultyCurve, DifficultyPoint, MetricResult, PosterGroup
from salon.bench.posters.settings import PosterScoreSettings
from salon.bench.posters.tasks import GENERATION, GROUPS, TASKS, Metric, PosterTask
from salon.stats import UNBOUNDED, Ends, Estimate, exact_bound, interval

FloatArray = NDArray[np.float64]
Value = Callable[[FloatArray], float]
"""From what each item is worth to the metric."""
UNIT = "item"
UP_TO_ONE: Ends = (-np.inf, 1.0)
"""Less than 0 is worse than blind."""


@dataclass(frozen=True)
class MetricDraws:
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


def draw_metrics(task: PosterTask, scored: Sequence[ItemScore], settings: PosterScoreSettings) -> list[MetricDraws]:
    """Every metric of the task on the same draws of its items."""
    strata = [scored_one.item.stratum for scored_one in scored]
    rng = np.random.default_rng([settings.seed, zlib.crc32(task.name.encode())])
    weights = draw_weights(strata, settings.draws, rng)
    return [_draw_metric(metric, scored, strata, weights, settings.level) for metric in task.metrics]


def draw_weights(strata: Sequence[object], draws: int, rng: np.random.Generator) -> FloatArray:
    """How often each item is drawn, (draws, n): as many of each part as it has."""
    weights = np.empty((draws, len(strata)))
    for part in dict.fromkeys(strata):
        at = [i for i, stratum in enumerate(strata) if stratum == part]
        weights[:, at] = rng.multinomial(len(at), np.full(len(at), 1 / len(at)), size=draws)
    return weights


def _draw_metric(
    metric: Metric, scored: Sequence[ItemScore], strata: Sequence[object], weights: FloatArray, level: float
) -> MetricDraws:
    if metric.id == "pearson":
        return _correlation(metric, scored, weights)
    if metric.id == "sd":
        return _spread(metric, scored, strata, weights)
    rows = [i for i, score in enumerate(scored) if metric.id in score.worth]
    if not rows:
        return MetricDraws(metric, None, weights[:, 0], 0, None, why="no item asks for it")
    mine, parts = [scored[i] for i in rows], _parts([strata[i] for i in rows])
    worth = np.array([score.worth[metric.id] for score in mine])
    best = np.array([score.at_best.get(metric.id, score.worth[metric.id]) for score in mine])
    blind = np.array([score.blind.get(metric.id, 0.0) for score in mine])
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
    # what the best single option would get, had it been the answer to every item
    if metric.id not in ("score", "accuracy") or not isinstance(mine[0].item.truth, str):
        best_fixed_answer: float | None = None
    else:
        options = mine[0].item.task.options
        best_fixed_answer = max(
            (plain(np.array([float(score.item.truth == o) for score in mine])) for o in options), default=None
        )
    return MetricDraws(
        metric,
        plain(worth),
        drawn(worth, weights[:, rows]),
        len(mine),
        chance if all(metric.id in score.blind for score in mine) else None,
        at_best=plain(best) if any(score.at_best for score in mine) else None,
        fixed=best_fixed_answer,
        edge=edge_interval(worth, plain, level),
    )


def _parts(strata: Sequence[object]) -> list[list[int]]:
    return [[i for i, stratum in enumerate(strata) if stratum == part] for part in dict.fromkeys(strata)]


def _mean_of_parts(values: FloatArray, weights: FloatArray, parts: Sequence[Sequence[int]]) -> FloatArray:
    """The mean over parts of each part's weighted mean, for each row of weights; NaN where a part is not drawn."""
    with np.errstate(invalid="ignore"):
        result: FloatArray = np.mean([weights[:, at] @ values[at] / weights[:, at].sum(axis=1) for at in parts], axis=0)
        return result


def edge_interval(worth: FloatArray, value: Value, level: float) -> tuple[float, float] | None:
    """The interval of a mean whose items are all worth 0, or all 1; None where draws have a spread to show."""
    if len(worth) < 2 or worth.min() != worth.max() or worth[0] not in (0.0, 1.0):
        return None
    ends = exact_bound(len(worth), level, at_high=bool(worth[0] == 1))
    low, high = (value(np.full(len(worth), end)) for end in ends)
    return low, high


def _spread(metric: Metric, scored: Sequence[ItemScore], strata: Sequence[object], weights: FloatArray) -> MetricDraws:
    """The sample standard deviation of the parts' means."""
    parts = _parts(strata)
    if len(parts) < 2:
        return MetricDraws(metric, None, weights[:, 0], len(scored), None, why="one part only")
    worth = np.array([score.worth["wr"] for score in scored])
    means = np.array([weights[:, at] @ worth[at] / len(at) for at in parts])
    value = float(np.std([worth[at].mean() for at in parts], ddof=1))
    return MetricDraws(metric, value, np.std(means, axis=0, ddof=1), len(scored), None)


def _correlation(metric: Metric, scored: Sequence[ItemScore], weights: FloatArray) -> MetricDraws:
    """Pearson's correlation with people; missing ratings are the worst they could have been (`ratings`)."""
    y = np.array([score.item.truth for score in scored])
    x = worst_filled(np.array([score.worth.get("pearson", np.nan) for score in scored]), y)
    value = pearson(x, y) if len(scored) > 2 else None
    if value is None:
        return MetricDraws(metric, None, weights[:, 0], len(scored), 0.0, why="people's ratings do not differ")
    means = weights @ np.stack([x, y, x * x, y * y, x * y], axis=1) / len(scored)
    mx, my, xx, yy, xy = means.T
    with np.errstate(invalid="ignore", divide="ignore"):
        sizes = np.sqrt(np.maximum(xx - mx * mx, 0) * np.maximum(yy - my * my, 0))
        draws = np.where(sizes > 1e-9, (xy - mx * my) / sizes, 0.0)
    return MetricDraws(metric, value, np.clip(draws, -1, 1), len(scored), 0.0)


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


def metric_result(metric_draws: MetricDraws, settings: PosterScoreSettings) -> MetricResult:
    """A drawn metric as part of a report."""
    metric, value = metric_draws.metric, metric_draws.value
    share = (
        metric.k is None
        and metric.id != "pearson"
        and metric.better == "high"
        and bool(np.nanmin(metric_draws.draws, initial=0.0) >= 0)
    )
    within = (0.0, 1.0) if share else UP_TO_ONE if metric.better == "high" else (0.0, np.inf)
    return MetricResult(
        id=metric.id,
        title=metric.title,
        better=metric.better,
        k=metric.k,
        grouped=metric.grouped,
        figure=None
        if value is None
        else figure_of(value, metric_draws.draws, metric_draws.n, settings.level, metric_draws.edge, within),
        why=metric_draws.why,
        chance=metric_draws.chance,
        fixed=metric_draws.fixed,
        at_best=metric_draws.at_best,
    )


# -- ratings with missing values ---------------------------------------------------------------------------------------

LOW, HIGH = 0.0, 10.0
_STEPS = np.geomspace(1e-2, 1e3, 30)
_ROUNDS = 60


def pearson(x: FloatArray, y: FloatArray) -> float | None:
    """Pearson's correlation: None where y is constant, 0 where only x is (one number for all carries nothing)."""
    dx, dy = x - x.mean(), y - y.mean()
    if not np.any(np.abs(dy) > 1e-12):
        return None
    size = float(np.sqrt((dx @ dx) * (dy @ dy)))
    return min(1.0, max(-1.0, float(dx @ dy) / size)) if size > 1e-12 else 0.0  # rounding may pass the ends


def worst_filled(x: FloatArray, y: FloatArray) -> FloatArray:
    """`x` with its NaNs replaced by the ratings that make the correlation with y least."""
    missing = np.isnan(x)
    if not missing.any() or pearson(y, y) is None:
        return np.where(missing, LOW, x)
    # fillings with the ends of the scale: the top for those people rate lowest
    order = np.flatnonzero(missing)[np.argsort(y[missing], kind="stable")]
    corner_fillings = []
    for tops in range(len(order) + 1):
        filled = np.where(missing, LOW, x)
        filled[order[:tops]] = HIGH
        corner_fillings.append(filled)
    fillings = [*corner_fillings, _interior_filling(x, y, missing)]
    return min(fillings, key=lambda filled: pearson(filled, y) or 0.0)


def _interior_filling(x: FloatArray, y: FloatArray, missing: NDArray[np.bool_]) -> FloatArray:
    """The best filling of the form clip(m - b a): from the best of some b, on to the b that its own filling asks for.

    Each round sets b = |x - m|² / (-a·x): the quadratic transform of a ratio, under which it never gets worse.
    """
    a = y - y.mean()
    steps = _STEPS / np.abs(a).max()
    filled = min((_balanced(x, a * b, missing) for b in steps), key=lambda filling: pearson(filling, y) or 0.0)
    for _ in range(_ROUNDS):
        dx = filled - filled.mean()
        against = -float(a @ dx)
        if against <= 0:  # no filling of this form makes the correlation negative: a corner is worse
            break
        filled = _balanced(x, a * float(dx @ dx) / against, missing)
    return filled


def _balanced(x: FloatArray, pull: FloatArray, missing: NDArray[np.bool_]) -> FloatArray:
    """x with clip(m - pull) where missing, m the mean of the result: found by halving, for m - mean grows with m."""
    low, high = LOW, HIGH
    for _ in range(_ROUNDS):
        m = (low + high) / 2
        filled = np.where(missing, np.clip(m - pull, LOW, HIGH), x)
        low, high = (m, high) if filled.mean() > m else (low, m)
    return filled


# -- groups and the overall score --------------------------------------------------------------------------------------

ByTask = Mapping[str, Sequence[MetricDraws]]


def group_results(draws: ByTask, level: float) -> list[PosterGroup]:
    """Every group that has a metric; the five of the understanding side first."""
    groups = [_group(name, draws, level) for name in (*GROUPS, GENERATION)]
    return [group for group in groups if group.metrics]


def overall_figure(by_task: ByTask, level: float) -> Estimate | None:
    """The mean of the understanding groups that have a value; None for a single task, which is no benchmark."""
    parts = [members for name in GROUPS if (members := _members(name, by_task))]
    if not parts or sum(task.name in by_task for task in TASKS if task.group in GROUPS) < 2:
        return None
    means = [_mean(members) for members in parts]
    value = float(np.mean([mean for mean, _, _ in means]))
    edge = np.mean([edge for _, _, edge in means], axis=0)
    return _figure(value, np.mean([draws for _, draws, _ in means], axis=0), edge, _items(by_task), level)


def ocr_gap(by_task: ByTask, level: float) -> Estimate | None:
    """Word recall of simple OCR less that of hard OCR."""
    simple, hard = (next(iter(by_task.get(name, ())), None) for name in ("simple_ocr", "hard_ocr"))
    if simple is None or hard is None or simple.value is None or hard.value is None:
        return None
    return figure_of(simple.value - hard.value, simple.draws - hard.draws, simple.n + hard.n, level)


def _group(name: str, by_task: ByTask, level: float) -> PosterGroup:
    members = _members(name, by_task)
    grouped_metrics = [
        (task, metric) for task in TASKS if task.group == name for metric in task.metrics if metric.grouped
    ]
    absent = tuple(f"{task.name}.{metric.id}" for task, metric in grouped_metrics if task.name not in by_task)
    figure, best = None, None
    if members:
        value, draws, edge = _mean(members)
        figure = _figure(value, draws, edge, _items(by_task, name), level)
    if any(member.at_best is not None for member in members):
        best = float(np.mean([member.value if member.at_best is None else member.at_best for member in members]))
    return PosterGroup(group=name, figure=figure, metrics=len(members), at_best=best, absent=absent)


def _members(name: str, by_task: ByTask) -> list[MetricDraws]:
    return [
        metric_draws
        for task in TASKS
        if task.group == name
        for metric_draws in by_task.get(task.name, ())
        if metric_draws.metric.grouped and metric_draws.value is not None
    ]


def _mean(members: Sequence[MetricDraws]) -> tuple[float, np.ndarray, np.ndarray]:
    """Value, draws, and the ends to give where no member's draws have any spread."""
    values = [
        (member.value, member.edge or (member.value, member.value)) for member in members if member.value is not None
    ]
    mean, edges = float(np.mean([value for value, _ in values])), np.mean([ends for _, ends in values], axis=0)
    return mean, np.mean([member.draws for member in members], axis=0), edges


def _figure(value: float, draws: np.ndarray, edge: np.ndarray, n: int, level: float) -> Estimate:
    flat = np.ptp(draws) == 0 and edge[0] < edge[1]
    return figure_of(value, draws, n, level, (float(edge[0]), float(edge[1])) if flat else None, UP_TO_ONE)


def _items(by_task: ByTask, group: str | None = None) -> int:
    """Items behind a mean."""
    tasks = [task.name for task in TASKS if (task.group == group if group else task.group in GROUPS)]
    return sum(max((metric_draws.n for metric_draws in by_task.get(name, ())), default=0) for name in tasks)


# -- difficulty curves -------------------------------------------------------------------------------------------------

MOST_POINTS = 14
"""Different difficulties that are points of their own; more are put together."""
_STRETCHES = 6
SIZE = "font size"


def difficulty_curves(
    task: PosterTask, scored: Sequence[ItemScore], settings: PosterScoreSettings
) -> list[DifficultyCurve]:
    """One curve for each number that says how hard an item is."""
    if task.answer == "rating":
        return []
    names = list(dict.fromkeys(name for score in scored for name in _difficulties(score)))
    return [curve for name in names if (curve := _curve(task, name, scored, settings)) is not None]


def _metric(task: PosterTask) -> Metric:
    return next(metric for metric in task.metrics if metric.better == "high")


def _difficulties(score: ItemScore) -> dict[str, float]:
    size = score.item.subtask
    sizes: dict[str, float] = {}
    if score.item.task.name == "font_size_ocr" and isinstance(size, int | float):
        sizes[SIZE] = float(size)
    return sizes | dict(score.item.difficulty)


def _curve(
    task: PosterTask, name: str, scored: Sequence[ItemScore], settings: PosterScoreSettings
) -> DifficultyCurve | None:
    metric = _metric(task)
    pairs = [
        (score, _difficulties(score)[name])
        for score in scored
        if metric.id in score.worth and name in _difficulties(score)
    ]
    if len({x for _, x in pairs}) < 2:
        return None
    points = tuple(
        _point([score for score, _ in part], [x for _, x in part], task, settings) for part in _stretches(pairs)
    )
    return DifficultyCurve(task=task.name, title=task.title, difficulty=name, metric=metric.id, points=points)


def _stretches(pairs: list[tuple[ItemScore, float]]) -> list[list[tuple[ItemScore, float]]]:
    """Items of one difficulty together; where there are too many difficulties, stretches of equal numbers of items."""
    pairs = sorted(pairs, key=lambda pair: pair[1])
    values = sorted({x for _, x in pairs})
    if len(values) <= MOST_POINTS:
        return [[pair for pair in pairs if pair[1] == value] for value in values]
    cuts = np.linspace(0, len(pairs), _STRETCHES + 1).astype(int)
    return [pairs[start:stop] for start, stop in pairwise(cuts) if stop > start]


def _point(
    part: Sequence[ItemScore], xs: Sequence[float], task: PosterTask, settings: PosterScoreSettings
) -> DifficultyPoint:
    metric = _metric(task)
    worth = np.array([score.worth[metric.id] for score in part])
    chance = np.mean([score.blind.get(metric.id, 0.0) for score in part]) if metric.k else 0.0
    rng = np.random.default_rng([settings.seed, zlib.crc32(task.name.encode()), len(part)])
    weights = draw_weights([None] * len(part), settings.draws, rng)

    def value(values: np.ndarray) -> float:
        return float((values.mean() - chance) / (1 - chance))

    draws = (weights @ worth / len(part) - chance) / (1 - chance)
    edge = edge_interval(worth, value, settings.level)
    figure = figure_of(value(worth), draws, len(part), settings.level, edge, UP_TO_ONE)
    return DifficultyPoint(x=float(np.mean(xs)), figure=figure)
