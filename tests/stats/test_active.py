"""Which pairs to compare next (stats/adaptive_design.py)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import entr, expit
from scipy.stats import norm, spearmanr

from salon.errors import BadValue, TooFew
from salon.stats import PairPosterior, connectivity, count_pairs, pair_posterior, prior_posterior
from salon.stats.adaptive_design import next_pairs, pair_gains


def drawn(seed: int, items: int) -> PairPosterior:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(items, items + 3))
    return PairPosterior(rng.normal(0, 1.5, items), factor @ factor.T / items)


def entropy(p: float) -> float:
    return float(entr(p) + entr(1 - p))


# ----------------------------------------------------------------------------------------------- by hand
def test_gains_by_hand():
    # d known exactly: an answer tells nothing. d nearly known: half of its variance times the information of one answer
    # at 0, 1/4: v/8. d = ±t with chance 1/2 each and t large: ln 2; a standard deviation of 400 is nearly that.
    assert pair_gains([1.0, 0.0], np.zeros((2, 2)))[0, 1] == pytest.approx(0, abs=1e-12)
    assert pair_gains([0.0, 0.0], 0.005 * np.eye(2))[0, 1] == pytest.approx(0.01 / 8, rel=0.01)
    assert np.log(2) * 0.99 < pair_gains([0.0, 0.0], 8e4 * np.eye(2))[0, 1] < np.log(2)
    # Certain winners tell nothing.
    assert pair_gains([30.0, 0.0], np.eye(2))[0, 1] == pytest.approx(0, abs=1e-9)


# ------------------------------------------------------------------------- by definition, by another tool
def test_gains_equal_adaptive_quadrature():
    given = drawn(1, 5)
    found = pair_gains(given.scores, given.covariance)
    for i in range(5):
        for j in range(i + 1, 5):
            mean = given.scores[i] - given.scores[j]
            sd = np.sqrt(given.covariance[[i, j], [i, j]].sum() - 2 * given.covariance[i, j])

            def average(f, mean=mean, sd=sd):
                return quad(lambda x: f(mean + sd * x) * norm.pdf(x), -9, 9, limit=200)[0]

            exact = entropy(average(expit)) - average(lambda d: entropy(expit(d)))
            assert found[i, j] == pytest.approx(exact, abs=2e-4)
            assert found[j, i] == 0


def test_the_gain_is_what_a_posterior_for_each_answer_gives():
    """ASAP's definition on a grid of d: the mean Kullback-Leibler divergence from each answer's posterior."""
    d = np.linspace(-15, 15, 4001)
    now = norm.pdf(d, 0.8, 1.7)
    now /= now.sum()
    told = 0.0
    for likelihood in (expit(d), expit(-d)):
        chance = now @ likelihood
        after = now * likelihood / chance
        told += chance * np.sum(after * np.log(after / now))
    variance = 1.7**2 / 2
    assert pair_gains([0.8, 0.0], variance * np.eye(2))[0, 1] == pytest.approx(told, abs=2e-4)


def test_the_batch_is_the_maximum_spanning_tree():
    """By Prim's rule: always the best pair that leads out of the items reached so far."""
    given = drawn(2, 12)
    gains = pair_gains(given.scores, given.covariance)
    both, reached, best = gains + gains.T, [0], set()
    while len(reached) < 12:
        worth = {(i, j): both[i, j] for i in reached for j in range(12) if j not in reached}
        i, j = max(worth, key=worth.get)
        best.add((min(i, j), max(i, j)))
        reached.append(j)
    pairs = np.sort(next_pairs(given, rng=np.random.default_rng(0)), axis=1)
    assert {tuple(pair) for pair in pairs.tolist()} == best
    worth = gains[pairs[:, 0], pairs[:, 1]]
    assert np.all(np.diff(worth) <= 1e-12)


def test_the_posterior_is_laplace_of_bradley_terry():
    a, b, won = np.array([0, 0, 1, 2]), np.array([1, 1, 2, 0]), np.array([0, 1, 0, 2])
    got = pair_posterior(count_pairs(a, b, won, 3), prior=2.0)
    p = expit(got.scores[a] - got.scores[b])
    precision = np.eye(3) / 4
    for i, j, w in zip(a, b, p * (1 - p)):
        precision[[i, j, i, j], [i, j, j, i]] += w * np.array([1, 1, -1, -1])
    exact = np.linalg.inv(precision)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        spread = got.covariance[i, i] + got.covariance[j, j] - 2 * got.covariance[i, j]
        assert spread == pytest.approx(exact[i, i] + exact[j, j] - 2 * exact[i, j], rel=1e-6)


# -------------------------------------------------------------------------------------------- by property
def test_names_do_not_matter_and_a_shift_tells_nothing():
    given = drawn(3, 8)
    gains = pair_gains(given.scores, given.covariance)
    order = np.random.default_rng(4).permutation(8)
    moved = pair_gains(given.scores[order] + 7, given.covariance[np.ix_(order, order)] + 3.0)
    np.testing.assert_allclose(moved + moved.T, (gains + gains.T)[np.ix_(order, order)], atol=1e-5)


@pytest.mark.parametrize(("batch", "edges"), [(4, 4), (9, 9), (30, 30), (60, 45)])
def test_batches_of_any_size_hold_every_item_before_they_repeat(batch, edges):
    pairs = next_pairs(drawn(5, 10), batch=batch, rng=np.random.default_rng(0))
    assert pairs.shape == (batch, 2)
    met = connectivity(10, pairs)
    assert met.edges <= edges
    assert met.edges == batch or batch > 9
    assert met.connected or batch < 9


def test_before_any_answer_the_tree_is_drawn_by_chance():
    first, second = (next_pairs(prior_posterior(20), rng=np.random.default_rng(seed)) for seed in (1, 2))
    assert connectivity(20, first).connected
    assert connectivity(20, first).degree_max < 10  # no star
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, next_pairs(prior_posterior(20), rng=np.random.default_rng(1)))


# -------------------------------------------------------------------------------------------- by recovery
def srcc_after(rounds: int, *, active: bool, seed: int) -> float:
    """Rank correlation with the truth after rounds of n - 1 comparisons of n = 25 items."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 3, 25)
    known, pairs, lost = prior_posterior(25), np.empty((0, 2), int), np.empty(0, int)
    for _ in range(rounds):
        fresh = next_pairs(known, rng=rng) if active else np.array([rng.choice(25, 2, False) for _ in range(24)])
        answers = rng.random(24) > expit(truth[fresh[:, 0]] - truth[fresh[:, 1]])
        pairs, lost = np.concatenate([pairs, fresh]), np.concatenate([lost, answers.astype(int)])
        known = pair_posterior(count_pairs(pairs[:, 0], pairs[:, 1], lost, 25))
    return float(spearmanr(known.scores, truth).statistic)


def test_active_pairs_find_the_order_sooner_than_random_ones():
    active, random = (np.mean([srcc_after(8, active=how, seed=s) for s in range(15)]) for how in (True, False))
    assert active > random + 0.01


# --------------------------------------------------------------------------------------------- at the edge
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda rng: prior_posterior(1), TooFew),
        (lambda rng: prior_posterior(5_001), BadValue),
        (lambda rng: next_pairs(prior_posterior(3), batch=0, rng=rng), BadValue),
        (lambda rng: pair_gains([0.0, 1.0], np.eye(3)), BadValue),
        (lambda rng: pair_gains([0.0, np.nan], np.eye(2)), BadValue),
    ],
)
def test_wrong_input_is_named(call, error):
    with pytest.raises(error):
        call(np.random.default_rng(0))


def test_two_items_and_islands():
    rng = np.random.default_rng(0)
    assert np.sort(next_pairs(prior_posterior(2), rng=rng)[0]).tolist() == [0, 1]
    islands = pair_posterior(count_pairs([0, 2], [1, 3], [0, 0], 4))  # undefeated and unconnected: the prior holds
    assert connectivity(4, np.vstack([next_pairs(islands, rng=rng), [[0, 1], [2, 3]]])).connected
