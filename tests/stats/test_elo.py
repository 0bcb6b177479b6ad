"""Sequential Elo: the update by hand, the limit against Bradley-Terry, and the edges."""

import numpy as np
import pytest
from scipy.optimize import minimize

from salon.errors import BadValue, TooFew
from salon.stats.elo import elo_scores


def rng(seed=0):
    return np.random.default_rng(seed)


def test_by_hand():
    # Equal scores: expected 1/2. A win moves 32 * 1/2 = 16 points, a tie none.
    np.testing.assert_allclose(elo_scores([0], [1], [1], 3, rng=rng(), passes=1), [1516, 1484, 1500])
    np.testing.assert_allclose(elo_scores([0], [1], [0.5], 2, rng=rng(), passes=1), [1500, 1500])
    # The second win over the same item: expected 1/(1 + 10^(-32/400)) = .5460, so 32 * .4540 = 14.53 more.
    twice = elo_scores([0, 0], [1, 1], [1, 1], 2, rng=rng(), passes=1)
    np.testing.assert_allclose(twice, [1530.53, 1469.47], atol=0.01)


def test_plain_loop_gives_the_same():
    chance = rng(1)
    a = chance.integers(0, 6, 40)
    b = (a + chance.integers(1, 6, 40)) % 6
    o = chance.choice([0, 0.5, 1], 40)
    fast = elo_scores(a, b, o, 6, rng=rng(2), passes=3)
    again, k, q = rng(2), 32.0, np.full(6, 1500.0)
    for row in [again.permutation(40) for _ in range(3)]:
        for c in row:
            change = k * (o[c] - 1 / (1 + 10 ** ((q[b[c]] - q[a[c]]) / 400)))
            q[a[c]] += change
            q[b[c]] -= change
        k *= 0.995
    np.testing.assert_allclose(fast, q)


def test_points_are_conserved_and_more_wins_never_hurt():
    a, b = [0, 1, 2, 0], [1, 2, 0, 1]
    few = elo_scores(a, b, [1, 1, 1, 0], 3, rng=rng(3))
    more = elo_scores(a, b, [1, 1, 1, 1], 3, rng=rng(3))
    assert few.sum() == pytest.approx(4500)
    assert more[0] > few[0]


def test_settles_near_bradley_terry():
    chance = rng(4)
    truth = np.linspace(-2, 2, 8)
    a, b = np.array([(i, j) for i in range(8) for j in range(8) if i < j] * 20).T
    o = (chance.random(len(a)) < 1 / (1 + np.exp(truth[b] - truth[a]))).astype(float)

    def minus(q):
        d = q[a] - q[b]
        return np.sum(np.log1p(np.exp(-d)) * o + np.log1p(np.exp(d)) * (1 - o)) + 1e-6 * q @ q

    fit = minimize(minus, np.zeros(8)).x
    elo = (elo_scores(a, b, o, 8, rng=chance, passes=1500, decay=0.99) - 1500) * np.log(10) / 400
    np.testing.assert_allclose(elo, fit - fit.mean(), atol=0.1)


def test_the_chance_of_the_order_ends_with_the_steps():
    """After PPaint's 150 passes K is still 15 and seeds differ by points; after 1,500 passes they agree."""
    chance = rng(5)
    a, b = np.array([(i, j) for i in range(10) for j in range(i)] * 5).T
    o = chance.choice([0, 0.5, 1], len(a))
    few, many = (
        np.std([elo_scores(a, b, o, 10, rng=rng(seed), passes=passes) for seed in range(6)], axis=0, ddof=1).mean()
        for passes in (150, 1500)
    )
    assert few > 5
    assert many < 0.1


def test_edges():
    with pytest.raises(TooFew):
        elo_scores([], [], [], 3, rng=rng())
    with pytest.raises(BadValue, match="numbered 0 to 2"):
        elo_scores([0], [3], [1], 3, rng=rng())
    with pytest.raises(BadValue, match="itself"):
        elo_scores([1], [1], [1], 3, rng=rng())
    with pytest.raises(BadValue, match="outcome"):
        elo_scores([0], [1], [0.7], 3, rng=rng())
    with pytest.raises(BadValue, match="equally long"):
        elo_scores([0, 1], [1], [1], 3, rng=rng())
