"""Panels of raters with known habits: what scores from crowds and from ratings cover."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

from salon.errors import StatsError
from salon.stats import (
    RatingFit,
    count_pairs,
    fit_crowd,
    fit_pairs,
    rating_mean,
    rating_offset_scale,
    rating_sureal,
    rating_zscores,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = list[list[str]]


CAREFUL = (1.0, 0.95, 0.9, 0.8)
CROWDS = ((30, 30, 100, 20), (30, 30, 400, 20), (50, 100, 200, 10))
"""Items, raters, answers of each, studies."""


def crowd_study(rng: np.random.Generator, items: int, each: int, reliability: Floats) -> list[float]:
    """SRCC and MAE, ours and Bradley-Terry's, slope, coverage, coverage without the common factor, coverage of b."""
    raters = len(reliability)
    q, pull = rng.normal(0, 1.5, items), rng.normal(0, 0.5, raters)
    rater = np.repeat(np.arange(raters), each)
    a = rng.integers(0, items, len(rater))
    b = (a + rng.integers(1, items, len(rater))) % items
    left = rng.integers(0, 2, len(rater))
    seen = np.where(rng.random(len(rater)) < reliability[rater], q[a] - q[b], q[b] - q[a])
    outcome = (rng.random(len(rater)) > expit(seen + pull[rater] * (1 - 2 * left))).astype(np.int64)
    fit, truth = fit_crowd(a, b, outcome, rater, items, raters, left=left), q - q.mean()
    plain = fit_pairs(count_pairs(a, b, outcome, items), prior=3.0).scores
    assert fit.errors is not None
    slope = float(fit.scores @ truth / (truth @ truth))
    half = 1.96 * fit.errors.se
    careful = reliability > 0.5
    return [
        *(float(stats.spearmanr(one, truth)[0]) for one in (fit.scores, plain)),
        *(float(np.abs(one - truth).mean()) for one in (fit.scores, plain)),
        slope,
        float(np.mean(np.abs(fit.scores - truth) < half)),
        float(np.mean(np.abs(fit.scores - slope * truth) < half)),
        float(np.mean(np.abs(fit.position_bias - pull)[careful] < 1.96 * fit.position_bias_se[careful])),
    ]


def crowds(rng: np.random.Generator) -> Rows:
    rows = []
    for eta in CAREFUL:
        for items, raters, each, studies in CROWDS:
            reliability = np.where(np.arange(raters) < 0.3 * raters, 0.5, eta)
            found = np.mean([crowd_study(rng, items, each, reliability) for _ in range(studies)], axis=0)
            srcc, mae = (f"{found[k]:.3f}, {found[k + 1]:.3f}" for k in (0, 2))
            rest = [f"{value:.{d}f}" for value, d in zip(found[4:], (2, 3, 3, 3))]
            rows.append([f"{eta:g}", f"{items}, {raters}, {each}", str(studies), srcc, mae, *rest])
    return rows


RATED = {"mean": rating_mean, "z-scored": rating_zscores, "sureal": rating_sureal, "offset, scale": rating_offset_scale}
PANELS = {
    "3 raters, no scales": {"raters": 3, "scales": 0.0},
    "5 raters": {"raters": 5},
    "5 raters, no scales": {"raters": 5, "scales": 0.0},
    "5 raters, whole numbers 1-5": {"raters": 5, "whole": True},
    "5 raters, 20% missing": {"raters": 5, "missing": 0.2},
    "10 raters": {"raters": 10},
    "20 raters": {"raters": 20},
}


def rated_panel(
    rng: np.random.Generator, *, raters: int, scales: float = 0.25, missing: float = 0.0, whole: bool = False
) -> tuple[Floats, tuple[Ints, Ints, Floats, int, int]]:
    """True scores of 50 items, and the ratings as columns."""
    q = rng.normal(3, 0.8, 50)
    g = np.exp(scales * rng.normal(size=raters))
    b, v = rng.normal(0, 0.4, raters), rng.uniform(0.4, 1.0, raters)
    table = 3 + b[:, None] + (g / g.mean())[:, None] * (q - 3) + v[:, None] * rng.normal(size=(raters, 50))
    if whole:
        table = np.clip(np.rint(table), 1, 5)
    there = rng.random(table.shape) >= missing
    rater, item = np.nonzero(there)
    return q, (item, rater, table[there], 50, raters)


def held(fit: RatingFit, q: Floats) -> Iterator[float]:
    """Coverage of differences and of values, and the root mean square error of differences."""
    gap = fit.scores - q
    apart = gap - gap.mean()
    yield float(np.mean(np.abs(apart) < stats.t.ppf(0.975, fit.df) * fit.se))
    yield float(np.mean(np.abs(gap) < stats.t.ppf(0.975, fit.absolute_df) * fit.absolute_se))
    yield float(np.sqrt((apart**2).mean()))


def ratings(rng: np.random.Generator) -> Rows:
    rows = []
    n = 100
    for name, kind in PANELS.items():
        found: dict[str, list[list[float]]] = {method: [] for method in RATED}
        for _ in range(n):
            q, data = rated_panel(rng, **kind)  # type: ignore[arg-type]
            for method, fit in RATED.items():
                with suppress(StatsError):  # counted by what is missing
                    found[method].append(list(held(fit(*data), q)))
        cells = [
            "{:.3f}, {:.3f} ({:.3f})".format(*np.mean(ok, axis=0)) + (f", {n - len(ok)} refused" if len(ok) < n else "")
            for ok in found.values()
        ]
        rows.append([name, *cells])
    return rows
