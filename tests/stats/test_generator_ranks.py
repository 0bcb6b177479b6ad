"""Agreement on the order of generators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue
from salon.stats import generator_ranks, kendall, mean_ranks
from salon.stats.rank_agreement import nmse, spearman


def ranks(people, predictor, pairs, seed=0):
    return generator_ranks(people, predictor, pairs, draws=400, rng=np.random.default_rng(seed))


def test_rows_agree_with_another_tool():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, (2, 20, 6)).astype(float)
    for row in range(20):
        assert spearman(x, y)[row] == pytest.approx(stats.spearmanr(x[row], y[row]).statistic)
        assert kendall(x, y)[row] == pytest.approx(stats.kendalltau(x[row], y[row]).statistic)


def test_by_hand():
    # won of 4 pairs each: people .25 .5 .75, predictor .5 .25 .75: one pair of three turned, tau = 1/3, rho = 1/2
    people, predictor, pairs = [[1, 1, 2], [0, 1, 1]], [[1, 0, 2], [1, 1, 1]], np.full((2, 3), 2)
    found = ranks(people, predictor, pairs)
    assert [one.value for one in found.people] == [0.25, 0.5, 0.75]
    assert (found.kendall.value, found.spearman.value) == pytest.approx((1 / 3, 1 / 2))
    assert found.kendall.n == 2
    # stretched: 0 1/2 1 against 1/2 0 1, so (1/4 + 1/4 + 0) / 3
    assert found.nmse.value == pytest.approx(1 / 6)


def test_errors_of_spacing_have_known_ends():
    x = np.linspace(3, 7, 1001)[None]
    assert nmse(x, 2 * x - 5)[0] == 0  # the same spacing on another scale
    assert nmse(x, -x)[0] == pytest.approx(1 / 3, rel=0.01)  # integral of (1 - 2u)^2
    shuffled = np.random.default_rng(3).permuted(np.tile(x, (200, 1)), axis=1)
    assert nmse(np.tile(x, (200, 1)), shuffled).mean() == pytest.approx(1 / 6, rel=0.02)
    assert np.isnan(nmse(x, np.ones_like(x))[0])


def test_a_planted_order_is_recovered():
    rng = np.random.default_rng(1)
    quality = np.array([0.3, 0.45, 0.55, 0.7])
    people, predictor = rng.binomial(15, quality, (80, 4)), rng.binomial(3, quality, (80, 4)) * 5
    found = ranks(people / 15, predictor / 15, np.ones((80, 4)))
    assert found.spearman.value == 1.0
    assert found.spearman.low >= 0.8
    assert 0 <= found.nmse.low <= found.nmse.value <= found.nmse.high < 0.05
    assert all(one.low < truth < one.high for one, truth in zip(found.people, quality))
    sure = ranks(np.tile(quality, (80, 1)), np.tile(quality, (80, 1)), np.ones((80, 4))).spearman
    assert (sure.value, sure.low, sure.high) == (1.0, None, None)


def test_intervals_of_an_error_near_zero_cover():
    quality = np.linspace(0.3, 0.7, 6)
    other = quality + np.array([0.02, -0.01, 0.03, -0.03, 0.0, 0.01])
    truth = nmse(quality[None], other[None])[0]
    inside = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        won, decided = (rng.binomial(5, side, (40, 6)) / 5 for side in (quality, other))
        made = generator_ranks(won, decided, np.ones((40, 6)), draws=200, rng=rng).nmse
        inside += made.low <= truth <= made.high
    assert inside >= 74  # of 80; percentiles alone hold less than half


def test_edges():
    two = ranks(np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 2)))
    assert two.spearman is None
    assert "at least 3" in two.reason
    assert ranks(np.ones((3, 3)), np.eye(3), np.ones((3, 3))).reason == "all generators won the same share"
    absent = ranks(np.eye(3), np.eye(3), np.diag([1, 1, 0]))
    assert absent.reason == "a generator has no pair"
    assert absent.people[2] is None
    with pytest.raises(BadValue):
        ranks(np.ones((3, 3)), np.ones((3, 2)), np.ones((3, 3)))


def test_the_error_s_interval_reaches_as_far_below_as_above():
    rng = np.random.default_rng(4)
    pairs = np.full((60, 4), 3.0)
    people, model = (rng.binomial(3, [0.2, 0.45, 0.55, 0.8], (60, 4)), rng.binomial(3, [0.5, 0.3, 0.7, 0.6], (60, 4)))
    made = generator_ranks(people, model, pairs, draws=300, rng=rng).nmse
    assert made.low == pytest.approx(max(0.0, 2 * made.value - made.high))
    assert 0 < made.low < made.value < made.high


def test_each_generator_counts_the_prompts_it_stood_in():
    """Four generators; the last one meets the others on three of ten prompts only, and two prompts have no pair."""
    pairs = np.zeros((12, 4))
    pairs[:10, :3] = 2
    pairs[:3, 3] = 2
    won = pairs * np.array([0.8, 0.5, 0.3, 0.4])
    found = generator_ranks(won, won, pairs, draws=200, rng=np.random.default_rng(0))
    assert [one.n for one in found.people] == [10, 10, 10, 3]
    assert found.spearman.n == 10


# -- means of a predictor on prompts of its own ------------------------------------------------------------------------


def means(values, people, pairs, seed=0, draws=400):
    return mean_ranks(values, people, pairs, draws=draws, rng=np.random.default_rng(seed))


def test_means_by_hand():
    # people .25 .5 .75; means 4, 1, 7: one pair of three turned; stretched 0 1/2 1 against 1/2 0 1
    found = means([[3, 1, 9], [5, 1, 5]], [[1, 2, 3]], np.full((1, 3), 4))
    assert [one.value for one in found.people] == [0.25, 0.5, 0.75]
    assert [one.value for one in found.predictor] == [4, 1, 7]
    assert (found.kendall.value, found.spearman.value) == pytest.approx((1 / 3, 1 / 2))
    assert found.nmse.value == pytest.approx(1 / 6)
    assert (found.kendall.n, found.kendall.low) == (1, None)  # one prompt of people's


def test_scale_and_shift_of_a_predictor_change_no_order():
    rng = np.random.default_rng(4)
    x, won = rng.normal(size=(30, 5)), rng.random((20, 5))
    one, other = (means(values, won, np.ones((20, 5))) for values in (x, 3 * x - 50))
    assert (one.spearman, one.kendall) == (other.spearman, other.kendall)
    assert one.nmse.value == pytest.approx(other.nmse.value)


def test_intervals_of_a_planted_agreement_cover():
    rng = np.random.default_rng(6)
    quality = np.array([0.2, 0.35, 0.5, 0.65, 0.8])
    reward = np.array([0.0, 0.5, 2.0, 2.4, 3.0])
    truth = float(nmse(quality[None], reward[None])[0])
    covered = [
        (made := means(rng.normal(reward, 1.0, (40, 5)), rng.binomial(9, quality, (30, 5)) / 9, np.ones((30, 5)),
                       seed=seed, draws=200).nmse).low <= truth <= made.high
        for seed in range(60)
    ]  # fmt: skip
    assert np.mean(covered) > 0.9


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(BadValue, match="same generators"):
        means(np.ones((2, 3)), np.ones((2, 4)), np.ones((2, 4)))
    with pytest.raises(BadValue, match="finite"):
        means(np.full((2, 3), np.nan), np.ones((2, 3)), np.ones((2, 3)))
    assert means(np.ones((2, 3)), np.eye(3), np.ones((3, 3))).reason
