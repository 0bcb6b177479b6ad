"""Means drawn to the mean of all: against the equations they solve, and on catalogues whose truth is known."""

import numpy as np
import pytest
from scipy import stats

from salon.stats import rating_mean, rating_shrunken_means
from salon.stats.rating_models import RatingData, fit_rating_shrinkage


def catalogue(seed, items=300, raters=80, between=0.5, within=1.0):
    """Levels of items, and ratings of which some items have one and others many."""
    rng = np.random.default_rng(seed)
    level = 3.5 + between * rng.normal(size=items)
    n = np.minimum(1 + rng.geometric(0.15, size=items) * (rng.random(items) < 0.7), raters)
    item = np.repeat(np.arange(items), n)
    rater = np.concatenate([rng.choice(raters, size, replace=False) for size in n])
    rater[np.flatnonzero(item == int(n.argmax()))] = np.arange(n.max())
    _, rater = np.unique(rater, return_inverse=True)
    return level, n, item, rater, level[item] + within * rng.normal(size=len(item))


def test_scores_solve_the_mixed_model_equations():
    _, n, item, rater, value = catalogue(1, items=40)
    fit = rating_shrunken_means(item, rater, value, 40, rater.max() + 1)
    means = np.bincount(item, value) / n
    within = float(((value - means[item]) ** 2).sum() / (len(value) - 40))
    how = fit_rating_shrinkage(RatingData.of(item, rater, value, 40, rater.max() + 1), means, within)
    Z = np.eye(40)[item]
    X = np.ones((len(item), 1))
    left = np.block([[X.T @ X, X.T @ Z], [Z.T @ X, Z.T @ Z + how.ratings * np.eye(40)]])
    solved = np.linalg.solve(left, np.concatenate([X.T @ value, Z.T @ value]))
    assert fit.scores == pytest.approx(solved[0] + solved[1:])
    covariance = within * np.linalg.inv(left)
    T = np.column_stack([np.ones(40), np.eye(40)])
    assert fit.se**2 == pytest.approx(np.diag(T @ covariance @ T.T))
    gaps = T[:, None] - T[None]
    assert fit.differences == pytest.approx(np.einsum("ijk,kl,ijl->ij", gaps, covariance, gaps), abs=1e-12)


def test_levels_are_closer_and_intervals_cover_over_items():
    hits, errors, lone = [], [], []
    for seed in range(20):
        level, n, item, rater, value = catalogue(seed)
        fit = rating_shrunken_means(item, rater, value, len(level), rater.max() + 1)
        plain = rating_mean(item, rater, value, len(level), rater.max() + 1)
        half = stats.t.ppf(0.975, fit.df) * fit.se
        hits.append((np.abs(fit.scores - level) <= half)[n == 1])
        errors.append([np.mean((one.scores - level) ** 2) for one in (fit, plain)])
        lone.append([np.mean(n[np.argsort(-one.scores)[:10]] == 1) for one in (fit, plain)])
    assert 0.93 < np.concatenate(hits).mean() < 0.97
    shrunk, plain = np.mean(errors, axis=0)
    assert shrunk < 0.6 * plain
    lone_shrunk, lone_plain = np.mean(lone, axis=0)
    assert lone_shrunk < 0.1
    assert lone_plain > 0.5


def test_items_that_do_not_differ_all_have_one_score():
    _, _, item, rater, value = catalogue(3, between=0.0)
    fit = rating_shrunken_means(item, rater, value, 300, rater.max() + 1)
    assert np.ptp(fit.scores) < 0.3
    assert (fit.se > 0).all()
