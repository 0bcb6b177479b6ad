"""What intervals over few prompts hold, by figure and number of prompts, and what plain percentiles would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from scipy.special import ndtri

from prove._kernel_panels import Floats, Rows
from salon.check import STATISTICS
from salon.check.signal import percentile_interval
from salon.stats import (
    AGAINST,
    WITH,
    alpha_bootstrap,
    ceilings,
    cells_votes,
    judge_accuracy,
    kind_table,
    resample_cells,
    statistics_cells,
    votes_rankings,
)
from salon.stats.simulate import thurstone_rankings

PROMPTS = (3, 5, 10, 18, 40, 80)
STUDIES, DRAWS, MANY = 400, 1000, 40_000
Bound = tuple[float | None, float | None]
Figures = Callable[[int, np.random.Generator], dict[str, Bound]]


def agreement(prompts: int, rng: np.random.Generator) -> dict[str, Bound]:
    """The four statistics of the check: four items, five raters, noise 1.9."""
    cells = [_panel(prompts, rng)]
    value, drawn = statistics_cells(cells), resample_cells(cells, draws=DRAWS, rng=rng)
    found = {name: percentile_interval(name, float(value[name][0]), drawn[name], prompts, 0.95) for name in STATISTICS}
    return {name: (one.low, one.high) for name, one in found.items()}


def _panel(prompts: int, rng: np.random.Generator):
    return cells_votes(votes_rankings(thurstone_rankings(prompts, 5, 4, noise=1.9, rng=rng)), 5, 4)


def judged(prompts: int, rng: np.random.Generator) -> dict[str, Bound]:
    """A judge's accuracy on six pairs a prompt; prompts suit it or do not."""
    found = judge_accuracy(kind_table(*_verdicts(prompts, rng)), draws=DRAWS, rng=rng).pooled.accuracy
    return {"accuracy of a judge": (found.low, found.high)}


def _verdicts(prompts: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    right = rng.random((prompts, 6)) < rng.beta(4, 2, size=(prompts, 1))
    return np.where(right, WITH, AGAINST).ravel(), np.repeat(np.arange(prompts), 6)


def next_raters(prompts: int, rng: np.random.Generator) -> dict[str, Bound]:
    """The next rater of panels of five on six pairs a prompt."""
    found = ceilings(*_votes(prompts, rng), draws=DRAWS, rng=rng).next_rater
    return {"next rater": (found.low, found.high)}


def _votes(prompts: int, rng: np.random.Generator) -> tuple[Floats, int, Floats]:
    return rng.binomial(5, rng.beta(1.5, 1.5, size=6 * prompts)), 5, np.repeat(np.arange(prompts), 6)


def alphas(prompts: int, rng: np.random.Generator) -> dict[str, Bound]:
    """Alpha at interval level: four units a prompt, four raters, a true value of .5."""
    shared = np.repeat(rng.normal(size=prompts), 4) + rng.normal(size=4 * prompts)
    x = shared[:, None] * 0.5**0.5 + rng.normal(size=(4 * prompts, 4))
    found = alpha_bootstrap(x, np.repeat(np.arange(prompts), 4), level="interval", draws=DRAWS, rng=rng)
    return {"alpha": (found.low, found.high)}


def truths(rng: np.random.Generator) -> dict[str, float]:
    """What endlessly many prompts would give, from very many."""
    known = {name: float(value[0]) for name, value in statistics_cells([_panel(10 * MANY, rng)]).items()}
    crowd = ceilings(*_votes(MANY, rng), draws=100, rng=rng).next_rater.value
    return known | {"accuracy of a judge": 4 / 6, "next rater": crowd, "alpha": 0.5}


@contextmanager
def plain() -> Iterator[None]:
    """Percentiles as they are usually read."""
    with patch("salon.stats.intervals.expanded_quantile", lambda n, level: float(ndtri((1 + level) / 2))):
        yield


def few_prompts(rng: np.random.Generator) -> Rows:
    truth = truths(rng)
    held = {name: np.zeros((len(PROMPTS), 2)) for name in truth}
    for column, prompts in enumerate(PROMPTS):
        for seed in rng.integers(2**60, size=STUDIES):
            for figures in (agreement, judged, next_raters, alphas):
                _count(held, truth, column, 0, figures(prompts, np.random.default_rng(seed)))
                with plain():
                    _count(held, truth, column, 1, figures(prompts, np.random.default_rng(seed)))
    shares = {name: counts / STUDIES for name, counts in held.items()}
    return [[_words(name), *(f"{ours:.0%} ({usual:.0%})" for ours, usual in shares[name])] for name in shares]


def _count(held: dict[str, Floats], truth: dict[str, float], column: int, which: int, found: dict[str, Bound]) -> None:
    for name, (low, high) in found.items():
        held[name][column, which] += low is not None and high is not None and low <= truth[name] <= high


def _words(name: str) -> str:
    return name.replace("_", " ").replace("pmax", "p_max")
