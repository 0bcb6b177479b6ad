"""Best of N: order statistics, the exact curve over a pool, and the winner's curse."""

from __future__ import annotations

from itertools import combinations
from math import pi, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats.uncertain_scores import best_of_means, expected_maximum, fit_shrinkage, predicted_gain


def test_expected_maxima_known_in_closed_form() -> None:
    # David & Nagaraja: 0, 1/sqrt(pi), 3/(2 sqrt(pi)), 1.02938, 1.16296; n = 100: 2.50759
    known = [0, 1 / sqrt(pi), 1.5 / sqrt(pi), 1.0293753730, 1.1629644736, 2.5075936]
    assert expected_maximum([1, 2, 3, 4, 5, 100]) == pytest.approx(known, abs=1e-7)
    # by another formula: E max = integral over x > 0 of 1 - Phi(x)^n, less that over x < 0 of Phi(x)^n
    right = quad(lambda x: -np.expm1(1e6 * norm.logcdf(x)), 0, 12, points=[4, 5, 6])[0]
    assert expected_maximum(1_000_000) == pytest.approx(right, abs=1e-7)


def test_the_curve_of_a_pool_by_definition() -> None:
    """The mean over every subset, the slow way; equal scores share."""
    rng = np.random.default_rng(1)
    scores, worth = rng.integers(0, 4, 7).astype(float), rng.normal(size=7)
    for n in range(1, 8):
        found = []
        for some in combinations(range(7), n):
            top = max(scores[i] for i in some)
            found.append(np.mean([worth[i] for i in some if scores[i] == top]))
        assert best_of_means(scores, worth, [n])[0] == pytest.approx(np.mean(found))


def test_by_hand() -> None:
    # two of three: {1,2} -> 20, {1,3} -> 30, {2,3} -> 30; mean 80/3
    assert best_of_means([1, 2, 3], [10, 20, 30], [1, 2, 3]) == pytest.approx([20, 80 / 3, 30])


def test_a_perfect_scorer_never_falls_with_n_and_a_blind_one_stays() -> None:
    rng = np.random.default_rng(2)
    worth = rng.gamma(2, size=40)
    assert (np.diff(best_of_means(worth, worth, range(1, 41))) > 0).all()
    assert best_of_means(np.zeros(40), worth, [1, 7, 40]) == pytest.approx([worth.mean()] * 3)


def test_the_prediction_is_recovered() -> None:
    """rho sd e_N within four standard errors over 4,000 pools of 16, at every N."""
    rng = np.random.default_rng(3)
    rho, sd = 0.6, 2.0
    q = rng.normal(5, sd, (4000, 16))
    s = q + rng.normal(0, sd * sqrt(1 / rho**2 - 1), q.shape)
    ns = [1, 2, 4, 8, 16]
    curves = np.array([best_of_means(a, b, ns) for a, b in zip(s, q)])
    errors = curves.std(0, ddof=1) / sqrt(len(curves))
    assert (np.abs(curves.mean(0) - 5 - predicted_gain(rho, sd, ns)) < 4 * errors).all()


def test_shrinkage_undoes_the_winners_curse() -> None:
    rng = np.random.default_rng(4)
    q = rng.normal(0, 1, (3000, 8))
    s = q + rng.normal(0, 1, q.shape)
    line = fit_shrinkage(s[:1500].ravel(), q[:1500].ravel(), np.repeat(np.arange(1500), 8))
    assert line.slope == pytest.approx(0.5, abs=4 * line.error)
    top = s[1500:].argmax(1)
    rows = np.arange(1500)
    said, true = s[1500:][rows, top], q[1500:][rows, top]
    error = true.std() / sqrt(1500)
    assert said.mean() - true.mean() > 10 * error  # it overstates
    assert abs(line.worth(said).mean() - true.mean()) < 4 * error


def test_the_error_of_the_line_by_definition_and_by_recovery() -> None:
    rng = np.random.default_rng(5)
    s, q = rng.normal(size=12), rng.normal(size=12)
    owner = np.repeat(np.arange(4), 3)
    found = fit_shrinkage(s, q, owner)
    design = np.c_[np.ones(12), s]
    bread = np.linalg.inv(design.T @ design)
    beta = bread @ design.T @ q
    meat = sum(np.outer(one, one) for k in range(4)
               for one in [design[owner == k].T @ (q - design @ beta)[owner == k]])  # fmt: skip
    assert (found.intercept, found.slope) == pytest.approx(beta)
    assert found.error == pytest.approx(np.sqrt((bread @ meat @ bread)[1, 1] * 4 / 3))  # the sandwich, G / (G - 1)
    assert found.rho == pytest.approx(np.corrcoef(s, q)[0, 1])
    slopes, errors = [], []
    for _ in range(400):  # draws of a prompt go together
        shared = np.repeat(rng.normal(size=(40, 2)), 5, axis=0)
        s = shared[:, 0] + rng.normal(size=200)
        line = fit_shrinkage(s, 0.5 * s + shared[:, 1], np.repeat(np.arange(40), 5))
        slopes.append(line.slope)
        errors.append(line.error)
    assert np.mean(errors) == pytest.approx(np.std(slopes), rel=0.15)


def test_edges_are_refused() -> None:
    with pytest.raises(BadValue, match="from 1 up"):
        expected_maximum(0)
    with pytest.raises(BadValue, match="pool"):
        best_of_means([1, 2], [1, 2], [3])
    with pytest.raises(BadValue, match="finite"):
        best_of_means([1, np.nan], [1, 2], [1])
    with pytest.raises(BadValue, match="each draw"):
        best_of_means([], [], [1])
    assert predicted_gain(-0.5, 2, 2) == pytest.approx(-1 / sqrt(pi))  # a scorer that is wrong does harm
    with pytest.raises(BadValue, match="correlation"):
        predicted_gain(1.2, 1, 2)
    with pytest.raises(TooFew):
        fit_shrinkage([1, 2], [1, 2])
    with pytest.raises(NotIdentified):
        fit_shrinkage([1, 1, 1], [1, 2, 3])
    with pytest.raises(TooFew, match="two clusters"):  # its error would be 0, whatever the draws
        fit_shrinkage([1, 2, 3, 4], [1, 3, 2, 5], [7, 7, 7, 7])
