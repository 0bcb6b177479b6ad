"""Agreement of two methods' scores: against scipy, by definition, and where a figure does not exist."""

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats import method_agreement, spearman_p


def scores(rng, n=50, rho=0.95):
    x = rng.normal(size=n)
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)


def test_by_hand():
    # Differences 0, 1, 1, 0: MAE 1/2. Ranks (1, 2, 3, 4) and (1, 3, 2, 4): 1 - 6 * 2 / 60 = .8.
    # Of six pairs only items 1, 2 are decided otherwise: 5/6.
    found = method_agreement([1, 2, 3, 4], [1, 3, 2, 4])
    assert found.srcc == pytest.approx(0.8)
    assert found.mae == pytest.approx(0.5)
    assert found.decisions == pytest.approx(5 / 6)
    assert (found.pairs, found.n, found.ks_statistic) == (6, 4, 0)


def test_ties_in_decisions():
    # Gaps of x: .1, 1, .9; of y: .2, 1.2, 1. With margin .15 the first pair is a tie for x, a loss for y.
    x, y = [1, 1.1, 2], [1, 1.2, 2.2]
    assert method_agreement(x, y).decisions == 1
    assert method_agreement(x, y, tie_margin=0.15).decisions == pytest.approx(2 / 3)
    assert method_agreement(x, y, tie_margin=0.25).decisions == 1
    # Equal scores tie at margin 0, and a tie is not a win.
    assert method_agreement([1, 1, 2], [1, 1.2, 2]).decisions == pytest.approx(2 / 3)
    assert method_agreement(x, y, pairs=[[0, 1]], tie_margin=0.15).decisions == 0


def test_equals_scipy():
    rng = np.random.default_rng(1)
    x, y = np.round(scores(rng), 1)  # with ties
    found = method_agreement(x, y + 0.4)
    assert found.srcc == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.plcc == pytest.approx(stats.pearsonr(x, y).statistic)
    assert (found.ks_statistic, found.ks_p) == pytest.approx(tuple(stats.ks_2samp(x, y + 0.4)))
    assert found.ks_pass == (found.ks_p > 0.05)


def test_interval_by_definition():
    x, y = np.round(scores(np.random.default_rng(2), n=20), 1)
    found = method_agreement(x, y, level=0.9)
    z = np.arctanh([stats.spearmanr(np.delete(x, i), np.delete(y, i)).statistic for i in range(20)])
    half = stats.t.ppf(0.95, 19) * np.sqrt(19 / 20 * ((z - z.mean()) ** 2).sum())
    middle = np.arctanh(stats.spearmanr(x, y).statistic)
    assert (found.srcc_low, found.srcc_high) == pytest.approx((np.tanh(middle - half), np.tanh(middle + half)))


def test_properties():
    rng = np.random.default_rng(3)
    x, y = scores(rng)
    found = method_agreement(x, y)
    order = rng.permutation(50)
    assert method_agreement(x[order], y[order]).decisions == found.decisions
    swapped = method_agreement(y, x)
    assert (swapped.srcc, swapped.plcc, swapped.mae) == pytest.approx((found.srcc, found.plcc, found.mae))
    assert method_agreement(-x, y).srcc == pytest.approx(-found.srcc)
    assert method_agreement(np.exp(x), y).srcc == pytest.approx(found.srcc)
    # Without ties the share of equal decisions is (1 + Kendall's tau)/2.
    assert found.decisions == pytest.approx((1 + stats.kendalltau(x, y).statistic) / 2)


def test_interval_covers():
    rng = np.random.default_rng(4)
    truth = 6 / np.pi * np.arcsin(0.9 / 2)  # Spearman's rho of a normal pair with correlation .9
    hits = []
    for _ in range(150):
        found = method_agreement(*scores(rng, n=40, rho=0.9), pairs=[[0, 1]])
        hits.append(found.srcc_low < truth < found.srcc_high)
    assert 0.90 < np.mean(hits) < 0.99


def test_no_correlation_with_a_constant():
    found = method_agreement([2, 2, 2], [1, 2, 3])
    assert found.srcc is found.plcc is found.srcc_low is None
    assert "first method gives one score" in found.reason
    assert found.mae == pytest.approx(2 / 3)
    assert found.decisions == 0
    both = method_agreement([0.1 + 0.2, 0.3, 0.3], [1, 1, 1])  # equal but for rounding
    assert "first and the second" in both.reason


def test_no_interval():
    assert "fewer than four" in method_agreement([1, 2, 3], [1, 3, 2]).reason
    same = method_agreement(range(9), range(9))
    assert (same.srcc, same.srcc_low) == (1, None)
    assert "orders are the same" in same.reason
    assert "but for one item" in method_agreement(range(5), [0, 2, 1, 3, 4]).reason
    assert "one item alone" in method_agreement([0, 0, 0, 0, 1], [1, 3, 2, 5, 4]).reason


def test_tiny_scores():
    found = method_agreement([0, 1e-200, 2e-200, 3e-200], [0, 1, 2, 3])
    assert found.plcc == pytest.approx(1)


def test_edges():
    with pytest.raises(TooFew, match="two items"):
        method_agreement([1], [1])
    with pytest.raises(BadValue, match="equally long"):
        method_agreement([1, 2], [1, 2, 3])
    with pytest.raises(BadValue, match="finite"):
        method_agreement([1, np.nan], [1, 2])
    with pytest.raises(BadValue, match="margin"):
        method_agreement([1, 2], [1, 2], tie_margin=-0.1)
    with pytest.raises(BadValue, match="level"):
        method_agreement([1, 2], [1, 2], level=95)
    with pytest.raises(TooFew, match="one pair"):
        method_agreement([1, 2], [1, 2], pairs=[])
    with pytest.raises(BadValue, match="two different items"):
        method_agreement([1, 2], [1, 2], pairs=[[1, 1]])
    with pytest.raises(BadValue, match="two different items"):
        method_agreement([1, 2], [1, 2], pairs=[[0, 2]])


def test_p_of_few_pairs_is_over_all_orders():
    """TASTE's six judges with rho .943: of 720 orders 12 are as far out, not the .005 of Student's t."""
    x, y = [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5]
    assert stats.spearmanr(x, y).statistic == pytest.approx(0.943, abs=1e-3)
    assert stats.spearmanr(x, y).pvalue == pytest.approx(0.005, abs=1e-3)
    assert spearman_p(x, y) == pytest.approx(12 / 720)
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 7)).round(0)  # with ties, against scipy's own permutation test
    exact = stats.permutation_test(
        (x,), lambda a: abs(stats.spearmanr(a, y).statistic), permutation_type="pairings", n_resamples=np.inf,
        alternative="greater",
    )  # fmt: skip
    assert spearman_p(x, y) == pytest.approx(exact.pvalue)
    x, y = rng.normal(size=(2, 20))
    assert spearman_p(x, y) == pytest.approx(stats.spearmanr(x, y).pvalue)
