"""One axis of one entry as a column over prompts, and how a suite makes figures of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.bench.results import AxisResult, Coverage
from salon.bench.suite import SuiteCard
from salon.stats.prompt_means import bootstrap_interval, score_interval
from salon.stats.result import Estimate

Floats = NDArray[np.float64]
DIGITS = 9
"""Figures are published to so many digits: the last ones of a sum differ between machines."""


@dataclass(frozen=True)
class Axis:
    """Values of all prompts of a suite in its order, 0 to 1; weight 0 where a prompt does not count."""

    values: Floats
    at_best: Floats
    weights: Floats
    coverage: Coverage

    def over(self, rows: Sequence[int] | NDArray[np.int64]) -> Axis:
        """The same over some of the prompts."""
        return Axis(self.values[rows], self.at_best[rows], self.weights[rows], self.coverage)

    @property
    def counts(self) -> bool:
        """Whether any prompt counts."""
        return bool((self.weights > 0).any())


@dataclass(frozen=True)
class Measure:
    """Figures by a suite's settings. Chance comes from the suite's seed alone: never from a name or another entry."""

    card: SuiteCard

    def figure(self, *axes: Axis, shares: Sequence[float] = (1.0,)) -> Estimate:
        """Mean of an axis, or the sum of several with their shares, from 0 to 100 with its interval."""
        values = np.column_stack([axis.values for axis in axes])
        weights = np.column_stack([axis.weights for axis in axes])
        return percent(self._estimate(values, weights, shares))

    def result(self, axis: Axis) -> AxisResult:
        """An axis with its bound and coverage."""
        return AxisResult(figure=self.figure(axis), at_best=at_best(axis), coverage=axis.coverage)

    def _estimate(self, values: Floats, weights: Floats, shares: Sequence[float]) -> Estimate:
        card = self.card
        if card.interval == "score":
            return score_interval(values, weights, shares, level=card.level)
        rng = np.random.default_rng(card.seed)
        return bootstrap_interval(values, weights, shares, draws=card.draws, rng=rng, level=card.level)


def at_best(axis: Axis) -> float:
    """The mean if everything open turned out well, from 0 to 100."""
    return round(100 * float((axis.weights * axis.at_best).sum() / axis.weights.sum()), DIGITS)


def percent(estimate: Estimate) -> Estimate:
    """An estimate between 0 and 1 as a figure between 0 and 100."""
    return estimate.transform(lambda end: round(100 * end, DIGITS))
