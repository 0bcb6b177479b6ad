"""Do people and a predictor put generators in the same order?

Data: of each cluster (prompt) c and generator g the points it won among people (votes), the points it won by the
predictor's decisions, and the number of its pairs. A generator's value is its points over its pairs, on either side.

* spearman: Pearson's correlation of the mid-ranks of the two values over generators.
* kendall: tau-b, (concordant - discordant) / sqrt(pairs not tied by people * pairs not tied by the predictor).
* nmse: normalised mean squared error, mean over generators of (x - y)^2 with each side's values stretched so that its
  lowest is 0 and its highest 1. 0: the same spacing; 1/3 for a reversed, evenly spaced order of many, 1/6 for two
  unrelated ones. HPSv3 prints a 'normalized MSE' without a formula: this one is ours, and only like it.

Intervals: whole prompts are drawn again, generators held fixed: how sure the order of *these* generators is. With G
generators few values are possible (4: Kendall moves in steps of 1/3), and an interval may end at 1. An error that
cannot be below 0 is larger in most draws than in the data, so the interval of nmse reaches as far below the value as
the upper percentile is above it, and no further than 0: it covers at its level or above, where percentiles do not.

Edges: fewer than three generators, or one value for all on a side: None. An order that no draw changes has no interval:
it would have no width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from salon.errors import BadValue
from salon.stats.resample import BOTH_SIDES, UNBOUNDED, Ends, check_settings, draw_totals, interval, row_kinds
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
_LEAST = 3


@dataclass(frozen=True, slots=True)
class GeneratorRanks:
    """Agreement on the order of generators."""

    people: tuple[Estimate | None, ...]
    """Of each generator the share of points won; None where it has no pair."""
    predictor: tuple[Estimate | None, ...]
    spearman: Estimate | None
    kendall: Estimate | None
    nmse: Estimate | None
    reason: str | None
    """Why there is no correlation."""


def generator_ranks(
    people: ArrayLike,
    predictor: ArrayLike,
    pairs: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> GeneratorRanks:
    """From (clusters, generators) tables of points by people, points by the predictor, and pairs."""
    won, decided, n = (np.asarray(table, float) for table in (people, predictor, pairs))
    if not (won.shape == decided.shape == n.shape) or won.ndim != 2:
        raise BadValue("three tables of clusters by generators", found=f"{won.shape}, {decided.shape}, {n.shape}")
    table = np.concatenate([won, decided, n], axis=1)
    clusters = len(table)
    check_settings(clusters, draws, level)
    total = table.sum(axis=0, keepdims=True)
    sides, spread = _values(total), _values(draw_totals(*row_kinds(table), draws=draws, rng=rng))
    behind = _prompts_behind(n)
    return _agreement(sides, spread, (behind, behind), int((n > 0).any(axis=1).sum()), BOTH_SIDES, level)


def mean_ranks(
    values: ArrayLike,
    people: ArrayLike,
    pairs: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> GeneratorRanks:
    """The same where the predictor gives numbers to pictures of prompts of its own: a generator's value is their mean.

    `values` is (prompts, generators), complete; `people` and `pairs` are (clusters, generators) as above. The two sets
    of prompts are drawn again independently of each other; n of an agreement is the smaller of the two.
    """
    x, won, n = (np.asarray(table, float) for table in (values, people, pairs))
    if won.shape != n.shape or x.ndim != 2 or won.ndim != 2 or x.shape[1] != won.shape[1]:
        raise BadValue("tables of the same generators are needed", found=f"{x.shape}, {won.shape}, {n.shape}")
    if not np.isfinite(x).all():
        raise BadValue("every prompt needs a finite value of every generator", found="NaN or infinity")
    votes = np.concatenate([won, won, n], axis=1)
    for clusters in (len(x), len(votes)):
        check_settings(clusters, draws, level)
    sides = _values(votes.sum(axis=0, keepdims=True))[0], x.mean(axis=0, keepdims=True)
    spread = (
        _values(draw_totals(*row_kinds(votes), draws=draws, rng=rng))[0],
        draw_totals(*row_kinds(x), draws=draws, rng=rng) / len(x),
    )
    behind = min(len(x), int((n > 0).any(axis=1).sum()))
    return _agreement(sides, spread, (_prompts_behind(n), [len(x)] * x.shape[1]), behind, UNBOUNDED, level)


def _prompts_behind(pairs: FloatArray) -> list[int]:
    """Of each generator the prompts it stood in."""
    return [int(count) for count in (pairs > 0).sum(axis=0)]


def _agreement(
    sides: tuple[FloatArray, FloatArray],
    spread: tuple[FloatArray, FloatArray],
    prompts: tuple[Sequence[int], Sequence[int]],
    behind: int,
    ends: Ends,
    level: float,
) -> GeneratorRanks:
    """From the values of both sides, (1, generators), and those of all draws, (draws, generators).

    `prompts` stand behind each value of each side, `behind` stand behind an agreement.
    """

    def estimate(value: FloatArray, drawn: FloatArray, n: int, within: Ends = BOTH_SIDES) -> Estimate | None:
        return _estimate(float(value[0]), drawn, n, level, within)

    reason = _why_not(*(side[0] for side in sides))
    shares = [
        tuple(estimate(side[:, g], drawn[:, g], counts[g], within) for g in range(side.shape[1]))
        for side, drawn, counts, within in zip(sides, spread, prompts, (BOTH_SIDES, ends))
    ]
    if reason is not None:
        return GeneratorRanks(shares[0], shares[1], None, None, None, reason)
    orders = [estimate(of(*sides), of(*spread), behind) for of in (spearman, kendall)]
    apart = _reflected(estimate(nmse(*sides), nmse(*spread), behind))
    return GeneratorRanks(shares[0], shares[1], orders[0], orders[1], apart, None)


def _estimate(value: float, drawn: FloatArray, clusters: int, level: float, within: Ends) -> Estimate | None:
    if np.isnan(value):
        return None
    if clusters == 1:
        return Estimate(value, None, None, 1, "prompt", level, "no interval: one prompt")
    return interval(value, drawn, n=clusters, unit="prompt", level=level, within=within)


def _reflected(made: Estimate | None) -> Estimate | None:
    """An error's interval: its lower end as far below the value as the upper one is above, and not below 0."""
    if made is None or made.high is None:
        return made
    high = max(made.value, made.high)
    return replace(made, low=max(0.0, 2 * made.value - high), high=high, method=f"{made.method}, lower end reflected")


def spearman(x: FloatArray, y: FloatArray) -> FloatArray:
    """Of each row of two (draws, generators) tables; NaN where a side is constant or unknown."""
    a, b = (rankdata(side, axis=1, nan_policy="propagate") for side in (x, y))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return _ratio((a * b).sum(axis=1), (a**2).sum(axis=1) * (b**2).sum(axis=1))


def kendall(x: FloatArray, y: FloatArray) -> FloatArray:
    """Tau-b of each row of two (draws, generators) tables; NaN where a side is constant or unknown."""
    i, j = np.triu_indices(x.shape[1], 1)
    a, b = np.sign(x[:, i] - x[:, j]), np.sign(y[:, i] - y[:, j])
    return _ratio((a * b).sum(axis=1), (a**2).sum(axis=1) * (b**2).sum(axis=1))


def nmse(x: FloatArray, y: FloatArray) -> FloatArray:
    """Mean squared gap of each row of two (draws, generators) tables, each row stretched to [0, 1]; NaN if constant."""
    return np.asarray(((_stretched(x) - _stretched(y)) ** 2).mean(axis=1), np.float64)


def _stretched(values: FloatArray) -> FloatArray:
    low, width = values.min(axis=1, keepdims=True), np.ptp(values, axis=1, keepdims=True)
    return np.where(width > 0, (values - low) / np.where(width > 0, width, 1), np.nan)


def _ratio(top: FloatArray, square: FloatArray) -> FloatArray:
    known = square > 0
    return np.where(known, top / np.sqrt(np.where(known, square, 1)), np.nan)


def _values(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    won, decided, n = np.split(totals, 3, axis=1)
    known = n > 0
    size = np.where(known, n, 1)
    return np.where(known, won / size, np.nan), np.where(known, decided / size, np.nan)


def _why_not(people: FloatArray, predictor: FloatArray) -> str | None:
    if len(people) < _LEAST:
        return f"an order of generators needs at least {_LEAST}; there are {len(people)}"
    if np.isnan(people).any():
        return "a generator has no pair"
    if np.ptp(people) == 0 or np.ptp(predictor) == 0:
        return "all generators won the same share"
    return None
