"""Agreement of a rater with the others and with themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.collect.records import PairRow, ValueRow

PairKey = tuple[str, str, str]

_FEWEST_ITEMS = 5


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's r over n items."""

    r: float
    n: int


def panel_agreement(rows: Sequence[PairRow]) -> dict[str, list[float]]:
    """By rater: the share of a screen's decided pairs that are as the majority of the others.

    The others (at least two) must have a majority, and the rater must have decided.
    """
    ordinary = [row for row in rows if row.why == "ordinary"]
    balance: dict[PairKey, int] = defaultdict(int)
    raters: dict[PairKey, int] = defaultdict(int)
    for row in ordinary:
        key = (row.criterion, row.low, row.high)
        balance[key] += row.outcome
        raters[key] += 1
    screens: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in ordinary:
        key = (row.criterion, row.low, row.high)
        others = balance[key] - row.outcome
        if row.outcome and others and raters[key] > 2:
            screens[row.rater][row.screen].append(float(row.outcome * others > 0))
    return {rater: [float(np.mean(shares)) for shares in found.values()] for rater, found in screens.items()}


def panel_correlation(rows: Sequence[ValueRow]) -> dict[str, Correlation]:
    """By rater: correlation of the values with the mean of the others' (at least two), over items.

    Several criteria are averaged item by item after taking the rater's mean off each. Raters with fewer than five
    such items, or without any spread, are left out.
    """
    ordinary = [row for row in rows if row.why == "ordinary"]
    total: dict[tuple[str, str], float] = defaultdict(float)
    raters: dict[tuple[str, str], int] = defaultdict(int)
    mine: dict[str, dict[str, list[ValueRow]]] = defaultdict(lambda: defaultdict(list))
    for row in ordinary:
        total[row.criterion, row.item] += row.value
        raters[row.criterion, row.item] += 1
        mine[row.rater][row.criterion].append(row)
    made = {}
    for rater, by_criterion in mine.items():
        points: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for given in by_criterion.values():
            shared = [row for row in given if raters[row.criterion, row.item] > 2]
            own = _centred([row.value for row in shared])
            others = _centred([_rest(row, total, raters) for row in shared])
            for row, x, y in zip(shared, own, others):
                points[row.item].append((x, y))
        found = _correlation(np.array([np.mean(point, axis=0) for point in points.values()]).reshape(-1, 2))
        if found is not None:
            made[rater] = found
    return made


def repeat_agreement(pairs: Sequence[PairRow], values: Sequence[ValueRow]) -> tuple[list[float], float]:
    """One rater's repeats: the share answered alike on each repeated screen, and what chance would give.

    Pairs are alike when the outcome is the same; chance: two draws from the rater's own shares of decided pairs and
    of ties, sides by a fair coin. Values are alike within one level; chance: two draws from the rater's own values.
    """
    by_screen: dict[int, list[float]] = defaultdict(list)
    first = {(row.criterion, row.low, row.high): row.outcome for row in pairs if row.why == "ordinary"}
    for row in pairs:
        key = (row.criterion, row.low, row.high)
        if row.why == "repeat" and key in first:
            by_screen[row.screen].append(float(first[key] == row.outcome))
    rated = {(one.criterion, one.item): one.value for one in values if one.why == "ordinary"}
    for one in values:
        if one.why == "repeat" and (one.criterion, one.item) in rated:
            near = abs(rated[one.criterion, one.item] - one.value) <= one.step + 1e-9
            by_screen[one.screen].append(float(near))
    alike = [float(np.mean(shares)) for shares in by_screen.values()]
    return alike, _pair_chance(pairs) if pairs else _value_chance(values)


def _pair_chance(pairs: Iterable[PairRow]) -> float:
    ties = float(np.mean([row.outcome == 0 for row in pairs]))
    return ties**2 + (1 - ties) ** 2 / 2


def _value_chance(values: Sequence[ValueRow]) -> float:
    """Chance that two draws from the rater's values lie within one level, by criterion with most answers."""
    by_criterion: dict[str, list[ValueRow]] = defaultdict(list)
    for row in values:
        by_criterion[row.criterion].append(row)
    if not by_criterion:
        return 0.5
    largest = max(by_criterion.values(), key=len)
    given = np.array([row.value for row in largest])
    levels, counts = np.unique(given, return_counts=True)
    near = np.abs(levels[:, None] - levels[None, :]) <= largest[0].step + 1e-9
    share = counts / counts.sum()
    return float(share @ near @ share)


def _rest(row: ValueRow, total: dict[tuple[str, str], float], raters: dict[tuple[str, str], int]) -> float:
    key = (row.criterion, row.item)
    return (total[key] - row.value) / (raters[key] - 1)


def _centred(values: Sequence[float]) -> NDArray[np.float64]:
    x = np.asarray(values, dtype=np.float64)
    return x - x.mean() if len(x) else x


def _correlation(points: NDArray[np.float64]) -> Correlation | None:
    if len(points) < _FEWEST_ITEMS or np.ptp(points, axis=0).min() < 1e-9:
        return None
    x, y = (points - points.mean(axis=0)).T
    r = float(x @ y / np.sqrt((x @ x) * (y @ y)))
    return Correlation(float(np.clip(r, -0.999999, 0.999999)), len(points))
