"""Agreement of a rater with the others and with themselves, one number in [0, 1] for each screen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from salon.collect.records import PairRow, Records, ValueRow

PairKey = tuple[str, str, str]


def panel_agreement(records: Records) -> dict[str, list[float]]:
    """By rater: the share of a screen's decided answers that are as the majority of the others.

    Pairs: the others (at least two) must have a majority, and the rater must have decided. Values: items are taken two
    by two in the order they were rated; the rater is as the others when both means lie on the same side.
    """
    made: dict[str, list[float]] = defaultdict(list)
    for rater, shares in _pair_shares(records.pairs).items():
        made[rater] += shares
    for rater, shares in _value_shares(records.values).items():
        made[rater] += shares
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


def _pair_shares(rows: Sequence[PairRow]) -> dict[str, list[float]]:
    ordinary = [row for row in rows if row.why == "ordinary"]
    balance: dict[PairKey, int] = defaultdict(int)
    raters: dict[PairKey, int] = defaultdict(int)
    for row in ordinary:
        key = (row.criterion, row.low, row.high)
        balance[key] += row.outcome
        raters[key] += 1
    screens: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in ordinary:
        key = (row.criterion, row.low, row.high)
        others = balance[key] - row.outcome
        if row.outcome and others and raters[key] > 2:
            screens[row.rater, row.screen].append(float(row.outcome * others > 0))
    return _by_rater(screens)


def _value_shares(rows: Sequence[ValueRow]) -> dict[str, list[float]]:
    ordinary = [row for row in rows if row.why == "ordinary"]
    total: dict[tuple[str, str], float] = defaultdict(float)
    raters: dict[tuple[str, str], int] = defaultdict(int)
    mine: dict[tuple[str, str], list[ValueRow]] = defaultdict(list)
    for row in ordinary:
        total[row.criterion, row.item] += row.value
        raters[row.criterion, row.item] += 1
        mine[row.rater, row.criterion].append(row)
    screens: dict[tuple[str, int], list[float]] = defaultdict(list)
    for (rater, _), given in mine.items():
        shared = [row for row in given if raters[row.criterion, row.item] > 2]
        for a, b in zip(shared[::2], shared[1::2]):
            others = _rest(a, total, raters) - _rest(b, total, raters)
            if a.value != b.value and others:
                screens[rater, a.screen].append(float((a.value - b.value) * others > 0))
    return _by_rater(screens)


def _rest(row: ValueRow, total: dict[tuple[str, str], float], raters: dict[tuple[str, str], int]) -> float:
    key = (row.criterion, row.item)
    return (total[key] - row.value) / (raters[key] - 1)


def _by_rater(screens: dict[tuple[str, int], list[float]]) -> dict[str, list[float]]:
    made: dict[str, list[float]] = defaultdict(list)
    for (rater, _), shares in screens.items():
        made[rater].append(float(np.mean(shares)))
    return made
