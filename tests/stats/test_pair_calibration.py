"""Honest chances are found honest, others are not."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit
from scipy.stats import binom

from salon.errors import BadValue, TooFew
from salon.stats import bucket_ceilings, ceilings, next_rater, pair_calibration, table_ceilings, vote_table
from salon.stats.pair_ceilings import leave_one_out, oracle, panel


def made(z, k, n, clusters=None, bins=10, seed=0):
    clusters = np.arange(len(z)) if clusters is None else clusters
    return pair_calibration(z, k, n, clusters, bins=bins, draws=300, rng=np.random.default_rng(seed))


def votes(z, slope=1.0, raters=5, seed=0):
    return np.random.default_rng(seed).binomial(raters, expit(slope * z))


def test_by_hand():
    # p = .75 and, turned, .75: winners get 4 of 4 and 1 of 2 votes
    found = made(np.log([3, 1 / 3]), [4, 1], [4, 2])
    assert found.brier.value == pytest.approx((4 * 0.25**2 + 0.25**2 + 0.75**2) / 6)
    assert found.ece.value == pytest.approx(abs(0.75 - 5 / 6))
    (bin,) = found.bins
    assert (bin.predicted, bin.observed.value, bin.pairs, bin.votes) == pytest.approx((0.75, 5 / 6, 2, 6))


def test_slope_agrees_with_another_tool():
    rng = np.random.default_rng(1)
    z = rng.normal(0, 1.5, 300)
    clusters = np.repeat(np.arange(60), 5)
    k = votes(z, 0.6)
    found = made(z, k, np.full(300, 5), clusters).slope
    model = sm.GLM(np.column_stack([k, 5 - k]), z[:, None], family=sm.families.Binomial())
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": clusters, "df_correction": False})
    assert found.value == pytest.approx(fit.params[0], rel=1e-6)
    assert (found.high - found.low) / 2 / 1.959964 == pytest.approx(fit.bse[0] * np.sqrt(60 / 59), rel=0.01)


@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
def test_slope_is_recovered(slope):
    z = np.random.default_rng(2).normal(0, 1, 2000)
    found = made(z, votes(z, slope), np.full(2000, 5))
    assert found.slope.low < slope < found.slope.high
    honest = found.ece.value < 2 * found.expected_ece
    assert honest == (slope == 1.0)


def test_expected_ece_is_that_of_honest_chances():
    z = np.random.default_rng(3).normal(0, 1, 400)
    seen = [made(z, votes(z, seed=seed), np.full(400, 5)).ece.value for seed in range(8)]
    assert made(z, votes(z), np.full(400, 5)).expected_ece == pytest.approx(np.mean(seen), rel=0.2)


def test_which_item_is_first_does_not_matter():
    z = np.random.default_rng(4).normal(0, 1, 100)
    k = votes(z)
    turned = np.arange(100) % 2 == 0
    one, other = made(z, k, np.full(100, 5)), made(np.where(turned, -z, z), np.where(turned, 5 - k, k), np.full(100, 5))
    assert one == other


def test_edges():
    assert made(np.zeros(40), np.ones(40), np.full(40, 2)).slope is None
    assert made(np.ones(40), np.full(40, 2), np.full(40, 2)).slope is None
    assert made(np.ones(3), [1, 0, 1], [2, 1, 1], [0, 0, 0]).brier.low is None
    with pytest.raises(TooFew):
        made([], [], [])
    with pytest.raises(BadValue):
        made([np.inf], [1], [1])
    with pytest.raises(BadValue):
        made([0.5], [2], [1])


def test_bucket_ceilings_average_to_the_panels_own():
    rng = np.random.default_rng(5)
    k = rng.binomial(5, rng.beta(1.2, 1.2, 500))
    table = vote_table(k, 5)
    top = table_ceilings(table, draws=200, rng=rng)
    of_split = {m: bucket_ceilings(5, m, top) for m in (3, 4, 5)}
    each = [of_split[m] for m in np.maximum(k, 5 - k).tolist()]
    for statistic in (panel, leave_one_out, next_rater, oracle):
        mean = np.mean([getattr(one, statistic.__name__) for one in each])
        assert mean == pytest.approx(statistic(table, table.total[None])[0])
    for one in of_split.values():
        assert one.next_rater_range[0] <= one.next_rater <= one.next_rater_range[1]
        assert one.oracle_range[0] <= one.oracle <= one.oracle_range[1]


def test_bucket_ranges_hold_laws_that_are_no_beta():
    # Half of the pairs have p = .95 and half are coins: where 5 of 5 agree an oracle is right with the chance below.
    rng = np.random.default_rng(6)
    p = np.where(rng.random(3000) < 0.5, 0.95, 0.5)
    top = ceilings(rng.binomial(5, p), 5, np.arange(3000), draws=300, rng=rng)
    for m in (3, 4, 5):
        sure, coin = binom.pmf(m, 5, 0.95) + binom.pmf(5 - m, 5, 0.95), 2 * binom.pmf(m, 5, 0.5)
        truth = (binom.pmf(m, 5, 0.95) + coin / 2) / (sure + coin)
        low, high = bucket_ceilings(5, m, top).oracle_range
        assert low <= truth <= high


def test_bucket_ceilings_at_the_edge():
    groups = np.arange(40)
    coins = ceilings(np.full(40, 3), 5, groups, draws=200, rng=np.random.default_rng(0))
    sure = ceilings(np.full(40, 5), 5, groups, draws=200, rng=np.random.default_rng(0))
    low = bucket_ceilings(5, 3, coins)
    assert (low.next_rater, low.oracle) == pytest.approx((0.5, 0.5), abs=0.01)
    high = bucket_ceilings(5, 5, sure)
    assert (high.next_rater, high.oracle) == pytest.approx((1.0, 1.0), abs=1e-6)
    with pytest.raises(BadValue):
        bucket_ceilings(4, 2, sure)


def test_chances_of_one_half_name_no_winner_whoever_got_the_votes():
    made = pair_calibration([0.0] * 40, [3] * 40, [3] * 40, range(40), bins=1, draws=100, rng=np.random.default_rng(0))
    assert (made.bins[0].predicted, made.bins[0].observed.value, made.ece.value) == (0.5, 0.5, 0)
