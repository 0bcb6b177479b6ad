"""Single intervals and tests, each on studies whose truth is known: ranks, rankings, correlations, pairs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import minimize

from prove._kernel_panels import Floats, Ints, Rows
from salon.stats import (
    Errors,
    RankFit,
    count_pairs,
    fit_pairs,
    fit_rankings,
    independent_errors,
    method_agreement,
    pair_calibration,
    paired_difference,
    rank_intervals,
    ranking_errors,
)

CLUSTERS = ((40, 5), (12, 5), (20, 20), (20, 100))


def common_scale(C: Floats, df: int, rng: np.random.Generator) -> float:
    """The 95% quantile of the largest standardised difference under a multivariate t with one common scale."""
    i, j = np.triu_indices(len(C), 1)
    se = np.sqrt(C[i, i] + C[j, j] - 2 * C[i, j])
    z = rng.multivariate_normal(np.zeros(len(C)), C, 1000, method="svd")
    largest = np.abs((z[:, i] - z[:, j]) / se).max(axis=1)
    return float(np.quantile(largest / np.sqrt(rng.chisquare(df, 1000) / df), 0.95))


def ranks(rng: np.random.Generator) -> Rows:
    rows = []
    for items, clusters in CLUSTERS:
        n = 200
        found = []
        for _ in range(n):
            u = rng.normal(size=(clusters, items)) * np.linspace(0.5, 2, items)
            u -= u.mean(axis=1, keepdims=True)
            C, mean = np.cov(u.T) / clusters, u.mean(axis=0)
            ours = rank_intervals(mean, C, df=clusters - 1, rng=rng, draws=1000)
            c = common_scale(C, clusters - 1, rng)
            se = np.sqrt(np.add.outer(np.diag(C), np.diag(C)) - 2 * C)
            apart = np.abs(np.subtract.outer(mean, mean)) > c * se + 1e-12
            found.append([ours.critical, not ours.better.any(), c, not apart.any()])
        c, covered, common, it_covers = np.mean(found, axis=0)
        rows.append([f"{items}, {clusters}", f"{c:.1f}", f"{covered:.0%}", f"{common:.1f}", f"{it_covers:.0%}"])
    return rows


def flat(rankings: Ints, tied: Ints | None = None) -> tuple[Ints, Ints, Ints]:
    """Offsets, items and ranks of rankings of one length, best first."""
    count, size = rankings.shape
    place = np.broadcast_to(np.arange(1, size + 1) if tied is None else tied, rankings.shape)
    return np.arange(count + 1) * size, rankings.ravel(), place.ravel()


def ranked(rng: np.random.Generator, raters: int, taste: float, each: int = 5) -> Ints:
    """Rankings of 4 of 8 items; every rater has a taste, sorted by score plus Gumbel noise."""
    truth = np.linspace(-1.5, 1.5, 8)
    q = truth + taste * rng.normal(size=(raters, 1, 8))
    sets = np.argsort(rng.random((raters, each, 8)), axis=2)[:, :, :4]
    seen = np.take_along_axis(np.broadcast_to(q, (raters, each, 8)), sets, axis=2) + rng.gumbel(size=sets.shape)
    rows: Ints = np.take_along_axis(sets, np.argsort(-seen, axis=2), axis=2).reshape(-1, 4)
    return rows


def broken(fit: RankFit, rows: Ints, rater: Ints) -> Errors:
    """Rank breaking: the pairs of a ranking as if independent."""
    pairs = np.concatenate([rows[:, [i, j]] for i, j in combinations(range(4), 2)])
    counts = count_pairs(pairs[:, 0], pairs[:, 1], np.zeros(len(pairs), np.int64), 8)
    return independent_errors(fit_pairs(counts), counts)


ERRORS: dict[str, Callable[[RankFit, Ints, Ints], Errors]] = {
    "rank breaking, pairs independent": broken,
    "sandwich over rankings": lambda fit, rows, rater: ranking_errors(fit),
    "sandwich over raters": lambda fit, rows, rater: ranking_errors(fit, cluster=rater),
}
TASTES = ((40, 0.0), (40, 1.2), (10, 1.2))


def rankings(rng: np.random.Generator) -> Rows:
    n = 200
    columns = []
    for raters, taste in TASTES:
        truth = fit_rankings(*flat(ranked(rng, 100_000, taste, 1)), 8).scores
        held: dict[str, list[float]] = {name: [] for name in ERRORS}
        for _ in range(n):
            rows = ranked(rng, raters, taste)
            fit = fit_rankings(*flat(rows), 8, prior=None)
            for name, errors_of in ERRORS.items():
                errors = errors_of(fit, rows, np.repeat(np.arange(raters), 5))
                half = stats.t.ppf(0.975, errors.df) * errors.se
                held[name].append(float(np.mean(np.abs(fit.scores - truth) <= half)))
        columns.append({name: f"{np.mean(found):.3f}" for name, found in held.items()})
    return [[name, *(column[name] for column in columns)] for name in ERRORS]


def hidden_ties(rng: np.random.Generator) -> Rows:
    """Strict rankings of six, told with places 1-2, 3-4 and 5-6 tied: slope of scores on truth, by treatment."""
    truth = np.linspace(-1.5, 1.5, 8)
    sets = np.argsort(rng.random((3000, 8)), axis=1)[:, :6]
    rows = np.take_along_axis(sets, np.argsort(-(truth[sets] + rng.gumbel(size=sets.shape)), axis=1), axis=1)
    ours = fit_rankings(*flat(rows, np.array([1, 1, 2, 2, 3, 3])), 8).scores

    def gone(part: float) -> Floats:
        """`part` of a tied pair is gone at its second choice: 0 is Breslow, .5 Efron."""

        def minus(q: Floats) -> float:
            e = np.exp(q[rows])
            below = np.cumsum(e[:, ::-1], axis=1)[:, ::-1]
            first, pair = below[:, ::2], e[:, ::2] + e[:, 1::2]
            return float((np.log(first) + np.log(first - part * pair)).sum() - q[rows].sum())

        found: Floats = minimize(minus, np.zeros(8)).x
        return found

    fits = {"Breslow's denominators": gone(0), "Efron's": gone(0.5), "average of orders (used here)": ours}
    return [[name, f"{np.polyfit(truth, scores, 1)[0]:.2f}"] for name, scores in fits.items()]


def correlations(rng: np.random.Generator) -> Rows:
    rows, n, items = [], 400, 50
    for rho in (0.9, 0.99, 0.995):
        truth = 6 / np.pi * np.arcsin(rho / 2)
        held = []
        for _ in range(n):
            x = rng.normal(size=items)
            found = method_agreement(x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=items), pairs=[[0, 1]])
            r = found.srcc
            half = 1.96 * np.sqrt((1 + r**2 / 2) / (items - 3))
            jackknife = found.srcc_low is not None and found.srcc_low <= truth <= found.srcc_high
            held.append([abs(np.arctanh(r) - np.arctanh(truth)) <= half, jackknife])
        rows.append([f"{truth:.4f}", *(f"{value:.0%}" for value in np.mean(held, axis=0))])
    return rows


def right(rng: np.random.Generator, prompts: int) -> NDArray[np.float64]:
    """Whether a model is right about six pairs of each prompt: prompts suit it or do not."""
    latent = 0.7 * rng.normal(size=(prompts, 1)) + 0.7 * rng.normal(size=(prompts, 6))
    return (latent > -0.3).astype(float).ravel()


def models(rng: np.random.Generator) -> Rows:
    """Two models equally good: false alarms, coverage, and what pairs taken as independent would say."""
    rows, n = [], 500
    for prompts in (20, 72):
        found = []
        for _ in range(n):
            one, other = right(rng, prompts), right(rng, prompts)
            got = paired_difference(one, other, np.repeat(np.arange(prompts), 6), draws=500, rng=rng)
            d = one - other
            z = d.mean() / (d.std(ddof=1) / np.sqrt(len(d)))
            found.append([got.p <= 0.05, got.difference.low <= 0 <= got.difference.high, abs(z) > 1.96])
        rows.append([str(prompts), *(f"{value:.1%}" for value in np.mean(found, axis=0))])
    return rows


def honest(rng: np.random.Generator) -> Rows:
    """Models whose chances are true: how often the interval of the calibration slope holds 1."""
    n, hits = 400, 0
    for _ in range(n):
        z = rng.normal(size=360)
        votes = rng.binomial(5, 1 / (1 + np.exp(-z)))
        found = pair_calibration(z, votes, np.full(360, 5), np.arange(360) // 6, bins=10, draws=100, rng=rng).slope
        hits += found is not None and found.low <= 1 <= found.high
    return [["60", str(n), f"{hits / n:.1%}"]]
