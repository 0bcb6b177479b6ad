"""Means over panels: their errors against the jackknife of the whole U-statistic, and what they cover."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from salon.errors import BadValue, TooFew
from salon.stats import panel_means

RNG = np.random.default_rng


def drawn_panels(raters: int, R: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    return rng.random((draws, raters)).argsort(axis=1)[:, :R]


def test_against_the_jackknife_of_all_panels() -> None:
    """Twelve raters, panels of three, h the product of their values: every panel, and every panel without one rater."""
    x = RNG(1).normal(1, 1, 12)
    every = list(combinations(range(12), 3))
    without = [np.mean([x[list(panel)].prod() for panel in every if i not in panel]) for i in range(12)]
    exact = np.sqrt(11 / 12 * np.sum((np.array(without) - np.mean(without)) ** 2))
    panels = drawn_panels(12, 3, 400_000, RNG(2))
    found = panel_means(x[panels].prod(axis=1)[:, None], panels)
    assert found.means[0] == pytest.approx(np.mean([x[list(panel)].prod() for panel in every]), abs=0.01)
    assert found.errors[0] == pytest.approx(exact, rel=0.02)
    assert found.raters == 12


def test_the_noise_of_few_draws_is_neither_lost_nor_counted_twice() -> None:
    """The error squared is, on average, the variance of the estimate over studies, few draws or many."""
    rng = RNG(3)
    for draws in (60, 2000):
        estimates, squares = [], []
        for _ in range(400):
            x = rng.normal(1, 1, 40)
            panels = drawn_panels(40, 3, draws, rng)
            found = panel_means(x[panels].prod(axis=1)[:, None], panels)
            estimates.append(found.means[0])
            squares.append(found.errors[0] ** 2)
        assert np.mean(squares) == pytest.approx(np.var(estimates), rel=0.25)


def test_too_few_raters() -> None:
    panels = drawn_panels(5, 3, 50, RNG(4))
    with pytest.raises(TooFew, match="6 raters or more"):
        panel_means(np.ones((50, 1)), panels)
    same = np.column_stack([np.zeros(50, int), 1 + drawn_panels(9, 2, 50, RNG(5))])
    with pytest.raises(TooFew, match="absent from some panel"):
        panel_means(np.ones((50, 1)), same)
    with pytest.raises(BadValue):
        panel_means(np.ones(50), panels)
