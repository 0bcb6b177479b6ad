"""What an answer does for the order (stats/adaptive_design.py): by hand, by definition, by property."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from salon.stats import PairPosterior, count_pairs, expected_posterior, order_gains, pair_posterior, prior_posterior


def drawn(items: int, answers: int, seed: int = 0) -> PairPosterior:
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1.5, items)
    pairs = np.array([rng.choice(items, 2, replace=False) for _ in range(answers)])
    lost = (rng.random(answers) > expit(truth[pairs[:, 0]] - truth[pairs[:, 1]])).astype(int)
    return pair_posterior(count_pairs(pairs[:, 0], pairs[:, 1], lost, items))


def loss(covariance: np.ndarray, weights: dict[tuple[int, int], float]) -> float:
    return sum(w * (covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]) / 2 for (i, j), w in weights.items())


def test_what_is_lost_by_wrong_orders_is_half_the_variance() -> None:
    """The integral of |d| Phi(-|d| / sd) over all d is sd^2 / 2."""
    assert 2 * quad(lambda d: d * norm.sf(d / 1.7), 0, 40)[0] == pytest.approx(1.7**2 / 2)


def test_gains_by_definition() -> None:
    """The loss now less the loss with the information of one more answer, the covariance inverted afresh."""
    known = drawn(7, 40)
    q, c = known.scores, known.covariance + 0.3  # a common shift of all scores is in no difference
    sd = {(i, j): np.sqrt(c[i, i] + c[j, j] - 2 * c[i, j]) for i, j in combinations(range(7), 2)}
    weights = {(i, j): float(norm.pdf(q[i] - q[j], 0, sd[i, j])) for i, j in sd}
    gains = order_gains(PairPosterior(q, c))
    for a, b in sd:
        x = np.zeros(7)
        x[a], x[b] = 1, -1
        told = norm.pdf(q[a] - q[b], 0, np.sqrt(8 / np.pi + sd[a, b] ** 2))
        after = np.linalg.inv(np.linalg.inv(c) + told * np.outer(x, x))
        assert gains[a, b] == pytest.approx(loss(c, weights) - loss(after, weights), rel=1e-6)
    assert np.allclose(gains, gains.T)
    assert not gains.diagonal().any()


def test_gains_do_not_depend_on_names_or_on_the_level() -> None:
    known, order = drawn(8, 30), np.random.default_rng(1).permutation(8)
    moved = PairPosterior(known.scores[order] + 7, known.covariance[np.ix_(order, order)] + 3)
    np.testing.assert_allclose(order_gains(moved), order_gains(known)[np.ix_(order, order)], rtol=1e-8)


def test_awaited_answers_by_definition() -> None:
    """Twice 0-1 and once 2-3 awaited: the inverse of the covariance grows by the information of each."""
    known = PairPosterior(np.array([0.2, 0.0, 1.0, -1.0]), np.diag([1.0, 2.0, 0.5, 0.7]))
    got = expected_posterior(known, np.array([[0, 1], [0, 1], [2, 3]]))
    first = norm.pdf(0.2, 0, np.sqrt(8 / np.pi + 3))
    left = 3 - first * 9 / (1 + first * 3)  # the variance of q_0 - q_1 after one answer
    second = norm.pdf(0.2, 0, np.sqrt(8 / np.pi + left))
    third = norm.pdf(2.0, 0, np.sqrt(8 / np.pi + 1.2))
    x, y = np.array([1, -1, 0, 0]), np.array([0, 0, 1, -1])
    precision = np.diag([1, 0.5, 2, 1 / 0.7]) + (first + second) * np.outer(x, x) + third * np.outer(y, y)
    np.testing.assert_allclose(got.covariance, np.linalg.inv(precision), rtol=1e-9)
    np.testing.assert_array_equal(got.scores, known.scores)
    np.testing.assert_array_equal(expected_posterior(known, np.empty((0, 2), np.int64)).covariance, known.covariance)


def test_before_any_answer_all_pairs_tell_the_same() -> None:
    gains = order_gains(prior_posterior(6))[np.triu_indices(6, 1)]
    np.testing.assert_allclose(gains, gains[0])
    assert gains[0] > 0


def test_what_is_known_exactly_gains_nothing() -> None:
    assert not order_gains(PairPosterior(np.array([0.0, 1.0, 2.0]), np.zeros((3, 3)))).any()
