"""Chances of the pairs of an arena: by definition, by property, by recovery, at the edge."""

from __future__ import annotations

import numpy as np
import pytest

from salon.errors import BadValue, NotIdentified
from salon.stats import (
    PairPosterior,
    count_pairs,
    draw_pair,
    fit_covariates,
    pair_chances,
    pair_posterior,
    set_chance,
    variance_gains,
)


def posterior(n, rng):
    root = rng.normal(size=(n, n))
    return PairPosterior(rng.normal(size=n), root @ root.T / n)


def every(n):
    return ~np.eye(n, dtype=bool)


def test_the_gain_is_what_one_vote_takes_from_the_variances():
    """By definition: the covariance after the vote is the inverse of C^-1 + h (e_i - e_j)(e_i - e_j)'."""
    rng = np.random.default_rng(0)
    known = posterior(5, rng)
    gains = variance_gains(known)
    C = known.covariance
    for i, j in ((0, 1), (2, 4), (3, 0)):
        x = np.zeros(5)
        x[i], x[j] = 1, -1
        p = 1 / (1 + np.exp(-(known.scores[i] - known.scores[j]) / np.sqrt(1 + np.pi * (x @ C @ x) / 8)))
        after = np.linalg.inv(np.linalg.inv(C) + p * (1 - p) * np.outer(x, x))
        assert gains[i, j] == pytest.approx(np.trace(C) - np.trace(after))


def test_chances_are_chances_and_every_pair_has_its_random_part():
    rng = np.random.default_rng(1)
    can = every(6)
    can[0, 1] = can[1, 0] = False
    chances = pair_chances(posterior(6, rng), can, random=0.2)
    assert np.triu(chances).sum() == pytest.approx(1)
    assert (chances == chances.T).all()
    assert chances[0, 1] == 0
    assert (chances[can] >= 0.2 / 14 - 1e-15).all()
    assert pair_chances(None, can, random=0.3)[can] == pytest.approx(1 / 14)


def test_renaming_generators_renames_the_chances():
    rng = np.random.default_rng(2)
    known, order = posterior(6, rng), rng.permutation(6)
    renamed = PairPosterior(known.scores[order], known.covariance[np.ix_(order, order)])
    chances = pair_chances(known, every(6), random=0.2)
    assert pair_chances(renamed, every(6), random=0.2) == pytest.approx(chances[np.ix_(order, order)])


def test_pairs_are_drawn_by_their_chances():
    rng = np.random.default_rng(3)
    chances = pair_chances(posterior(4, rng), every(4), random=0.3)
    drawn = np.zeros((4, 4))
    for _ in range(20_000):
        drawn[draw_pair(chances, rng)] += 1
    assert np.abs(drawn / 20_000 - np.triu(chances)).max() < 0.012


def test_a_new_generator_gets_more_votes_and_every_interval_shrinks():
    rng = np.random.default_rng(4)
    q = np.array([0.8, 0.3, 0.0, -0.4, -0.7])
    a, b = rng.integers(4, size=2000), rng.integers(4, size=2000)
    a, b = a[a != b], b[a != b]
    known = pair_posterior(count_pairs(a, b, (rng.random(len(a)) > 1 / (1 + np.exp(q[b] - q[a]))).astype(int), 5))
    chances = pair_chances(known, every(5), random=0.2)
    assert chances[4].sum() > 0.6
    widths = []
    for _ in range(6):
        pairs = np.array([draw_pair(chances, rng) for _ in range(300)])
        a, b = np.concatenate([a, pairs[:, 0]]), np.concatenate([b, pairs[:, 1]])
        outcome = (np.random.default_rng(5).random(len(a)) > 1 / (1 + np.exp(q[b] - q[a]))).astype(int)
        known = pair_posterior(count_pairs(a, b, outcome, 5))
        chances = pair_chances(known, every(5), random=0.2)
        widths.append(np.sqrt(np.diag(known.covariance)))
    assert (widths[-1] < widths[0]).all()
    assert chances[4].sum() < 0.6


def test_weights_undo_unequal_dealing():
    """Where no score fits all pairs, the weighted board is that of equal pairs; the unweighted one is not."""
    rng = np.random.default_rng(6)
    d = np.array([[0, 1.2, -0.3], [-1.2, 0, 0.9], [0.3, -0.9, 0]])  # no scores give these differences

    def board(chances, weighted):
        i, j = np.triu_indices(3, 1)
        place = rng.choice(3, 60_000, p=chances[i, j])
        a, b = i[place], j[place]
        outcome = (rng.random(len(a)) > 1 / (1 + np.exp(-d[a, b]))).astype(int)
        weight = (1 / 3) / chances[a, b] if weighted else None
        return fit_covariates(a, b, outcome, np.empty((len(a), 0)), 3, weight=weight).scores

    even = pair_chances(None, every(3), random=1)
    uneven = np.array([[0, 0.75, 0.15], [0.75, 0, 0.1], [0.15, 0.1, 0]])
    truth = board(even, False)
    assert np.abs(board(uneven, True) - truth).max() < 0.05
    assert np.abs(board(uneven, False) - truth).max() > 0.1


def test_the_chance_of_a_set_is_the_mean_of_its_pairs():
    chances = pair_chances(posterior(5, np.random.default_rng(7)), every(5), random=0.2)
    assert set_chance(chances, [1, 3]) == chances[1, 3]
    assert set_chance(chances, [0, 2, 4]) == pytest.approx((chances[0, 2] + chances[0, 4] + chances[2, 4]) / 3)


def test_edges():
    with pytest.raises(BadValue, match="share of random pairs"):
        pair_chances(None, every(3), random=0)
    with pytest.raises(BadValue, match="symmetric table"):
        pair_chances(None, np.ones((2, 2), bool), random=0.2)
    with pytest.raises(NotIdentified):
        pair_chances(None, np.zeros((3, 3), bool), random=0.2)
