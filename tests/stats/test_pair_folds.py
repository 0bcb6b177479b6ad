"""One Newton step instead of a refit: by hand, against the refit, against the clustered sandwich, at the edge."""

import numpy as np
import pytest
from scipy.special import expit

from salon.stats import Pull, cluster_scores, clustered_errors, count_pairs, fit_pairs, newton_step


def drawn(items=8, answers=4000, clusters=20, seed=0):
    """Answers of a Bradley-Terry law; clusters are dealt at random."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=items)
    a = rng.integers(0, items, answers)
    b = (a + rng.integers(1, items, answers)) % items
    outcome = np.where(rng.random(answers) < 0.15, 2, rng.random(answers) > expit(q[a] - q[b]))
    return a, b, outcome, rng.integers(0, clusters, answers)


def test_two_items_by_hand():
    """3 wins and 1 loss: q_0 - q_1 = ln 3, p = 3/4. Without one win: slope 2 - 3 p = -1/4, information 3 p(1-p) = 9/16,
    so the difference moves by -(1/4) / (9/16) = -4/9 (the refit: ln 2 - ln 3 = -.405)."""
    fit = fit_pairs(count_pairs([0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], 2))
    q = newton_step(fit, count_pairs([0, 0, 0], [1, 1, 1], [0, 0, 1], 2))
    assert q[0] - q[1] == pytest.approx(np.log(3) - 4 / 9)


@pytest.mark.parametrize("model", ["bradley-terry", "davidson"])
def test_near_the_refit_and_nearer_than_no_step(model):
    a, b, outcome, cluster = drawn()
    fit = fit_pairs(count_pairs(a, b, outcome, 8), model)
    rest = cluster != 0
    counts = count_pairs(a[rest], b[rest], outcome[rest], 8)
    refit = fit_pairs(counts, model).scores
    gap = np.abs(newton_step(fit, counts) - refit).max()
    assert gap < 0.02 * np.abs(fit.scores - refit).max()


def test_the_same_comparisons_move_nothing():
    a, b, outcome, _ = drawn(seed=1)
    counts = count_pairs(a, b, outcome, 8)
    fit = fit_pairs(counts, "davidson", pull=Pull(np.array([0, 3]), np.array([1.0, -1.0]), 0.1))
    assert newton_step(fit, counts) == pytest.approx(fit.scores, abs=1e-7)


def test_summed_over_clusters_it_is_the_clustered_sandwich():
    a, b, outcome, cluster = drawn(clusters=40)
    counts = count_pairs(a, b, outcome, 8)
    fit = fit_pairs(counts, "davidson")
    steps = np.stack(
        [newton_step(fit, count_pairs(a[c], b[c], outcome[c], 8)) for c in (cluster != k for k in range(40))]
    )
    jackknife = np.sqrt(39 / 40 * ((steps - steps.mean(axis=0)) ** 2).sum(axis=0))
    sandwich = clustered_errors(fit, counts, cluster_scores(fit, a, b, outcome, cluster, 40)).se
    assert jackknife == pytest.approx(sandwich, rel=0.03)


def test_finite_where_the_rest_identifies_nothing():
    """Item 2 won once; without that answer it only ever lost, and its refit would be minus infinity."""
    a, b, outcome = np.array([0, 1, 0, 1, 2, 0, 1]), np.array([1, 0, 2, 2, 0, 2, 2]), np.zeros(7, int)
    fit = fit_pairs(count_pairs(a, b, outcome, 3))
    rest = np.arange(7) != 4
    moved = newton_step(fit, count_pairs(a[rest], b[rest], outcome[rest], 3))
    assert np.isfinite(moved).all()
    assert moved[2] < fit.scores[2]
    alone = newton_step(fit, count_pairs([0, 1], [1, 0], [0, 0], 3))
    assert alone[2] == fit.scores[2]
