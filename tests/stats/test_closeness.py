"""Nearness to labels: by hand, at the edge, and in the reward of one-pass answers."""

import numpy as np
import pytest

from salon.errors import BadValue
from salon.evaluate import PseudoScores
from salon.judge import OnePass
from salon.stats import closeness_rewards
from salon.study import Criterion, Scale
from salon.train.distill_settings import DistillReward, RewardTerms

NAN = float("nan")


def test_by_hand() -> None:
    # |4 - 4| = 0 and |1 - 3| = 2 of 4: (1 + .5) / 2; only one label: 1 - 1/4; opposite ends: 0.
    found = closeness_rewards([[4, 1], [2, 5], [1, 5]], [[4, 3], [1, NAN], [5, 1]], low=1, high=5)
    np.testing.assert_allclose(found, [0.75, 0.75, 0.0])


def test_by_definition_and_by_property() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.uniform(1, 5, (40, 3)), rng.uniform(1, 5, (40, 3))
    labels[rng.random((40, 3)) < 0.2] = NAN
    found = closeness_rewards(scores, labels, low=1, high=5)
    for row, (s, v) in enumerate(zip(scores, labels)):
        parts = [1 - abs(a - b) / 4 for a, b in zip(s, v) if b == b]
        assert found[row] == pytest.approx(sum(parts) / len(parts) if parts else NAN, nan_ok=True)
    told = np.isfinite(found)
    nearer = np.where(np.isnan(labels), scores, scores + 0.3 * (labels - scores))
    assert (closeness_rewards(nearer, labels, low=1, high=5)[told] >= found[told]).all()  # nearer never loses
    turned = closeness_rewards(6 - scores[:, ::-1], 6 - labels[:, ::-1], low=1, high=5)
    np.testing.assert_allclose(turned, found)  # the scale turned round, criteria in another order
    np.testing.assert_allclose(closeness_rewards(10 * scores, 10 * labels, low=10, high=50), found)


def test_the_best_answer_is_the_median_of_what_the_label_may_be() -> None:
    labels = np.random.default_rng(1).choice([1.0, 1.5, 2.0, 4.0, 5.0], size=(501, 1))
    tries = np.linspace(1, 5, 401)
    worth = [closeness_rewards(np.full_like(labels, x), labels, low=1, high=5).mean() for x in tries]
    assert tries[int(np.argmax(worth))] == pytest.approx(np.median(labels))


def test_no_reward_without_scores_or_labels() -> None:
    assert np.isnan(closeness_rewards([[NAN, 3], [2, 3]], [[3, 3], [NAN, NAN]], low=1, high=5)).all()
    assert closeness_rewards(np.empty((0, 2)), np.empty((0, 2)), low=1, high=5).shape == (0,)
    for bad in ({"low": 5, "high": 5}, {"low": 1, "high": 2}):
        with pytest.raises(BadValue):
            closeness_rewards([[3.0]], [[3.0]], **bad)
    for scores, values in (([[3.0]], [[np.inf]]), ([[np.inf]], [[3.0]])):  # no label is NaN, and nothing else
        with pytest.raises(BadValue):
            closeness_rewards(scores, values, low=1, high=5)
    with pytest.raises(BadValue, match="same shape"):
        closeness_rewards([[3.0]], [[3.0, 2.0]], low=1, high=5)


def test_a_shift_of_all_scores_changes_the_absolute_term_alone() -> None:
    asked = OnePass(criteria=(Criterion(id="mood", scale=Scale(low=1, high=5)),), think=False)
    labels = PseudoScores(("a", "b"), ("mood",), np.array([[2.0], [3.0]]), np.full((2, 1), NAN), 1, 5, "bridge")
    items = ["a", "a", "b", "b"]
    right, shifted = ([asked.answer((x,)) for x in some] for some in ((1.9, 2.1, 2.9, 3.1), (2.9, 3.1, 3.9, 4.1)))
    plain, both = DistillReward(labels, asked.read), DistillReward(labels, asked.read, RewardTerms(absolute_weight=2))
    np.testing.assert_allclose(plain(right, items).rewards, plain(shifted, items).rewards)
    gain = both(right, items).rewards - plain(right, items).rewards
    np.testing.assert_allclose(gain, 2 * (1 - 0.1 / 4) * np.ones(4))
    lost = both(right, items).rewards - both(shifted, items).rewards
    np.testing.assert_allclose(lost, 2 * np.array([0.9 - 0.1, 1.1 - 0.1, 0.9 - 0.1, 1.1 - 0.1]) / 4)
    votes = PseudoScores(("a", "b"), ("mood",), np.full((2, 1), NAN), np.full((2, 1), NAN), 1, 5, "majority")
    with pytest.raises(BadValue, match="labels with values"):
        DistillReward(votes, asked.read, RewardTerms(absolute_weight=1))
