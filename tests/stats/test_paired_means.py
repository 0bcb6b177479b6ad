"""Means of several generators on the same prompts (stats/ranks.py)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats import mean_interval, paired_means, stratify_values


def made(x, level: float = 0.95):
    return paired_means(x, rng=np.random.default_rng(0), level=level)


# ----------------------------------------------------------------------------------------------- by hand
def test_three_prompts_and_two_generators_by_hand():
    # a: 1 2 6, mean 3, sd sqrt(7) = 2.64575, se 1.527525, t_2 = 4.302653: +- 6.57241. b: 0 2 1. a - b: 1 0 5.
    got = made([[1, 0], [2, 2], [6, 1]])
    assert (got.means[0].value, got.means[0].high - 3) == pytest.approx((3, 6.57241), abs=1e-5)
    assert (got.leads[0].value, got.leads[1].value) == (2, -2)
    assert [one.value for one in got.beats] == pytest.approx([2.5 / 3, 0.5 / 3])  # a wins two and ties one
    assert list(got.ranks.rank) == [1, 2]
    assert (got.ranks.low[0], got.ranks.high[0]) == (1, 2)


# ----------------------------------------------------------------------------------------------- by another tool
def test_intervals_are_those_of_scipy():
    x = np.random.default_rng(1).gamma(2, 3, (30, 4))
    got = made(x, 0.9)
    for g in range(4):
        ends = stats.ttest_1samp(x[:, g], 0).confidence_interval(0.9)
        assert (got.means[g].low, got.means[g].high) == pytest.approx(tuple(ends))
    paired = stats.ttest_rel(x[:, 0], x[:, 1:].mean(axis=1)).confidence_interval(0.9)
    assert (got.leads[0].low, got.leads[0].high) == pytest.approx(tuple(paired))


# ----------------------------------------------------------------------------------------------- by property
tables = arrays(float, st.tuples(st.integers(2, 8), st.integers(2, 4)), elements=st.integers(-20, 20).map(float))


@settings(max_examples=50)
@given(tables, st.floats(-1e3, 1e3), st.randoms(use_true_random=False))
def test_an_offset_of_a_prompt_moves_no_lead_and_order_changes_nothing(x, offset, random):
    shifted = x + np.eye(len(x))[:, [0]] * round(offset)  # an easier prompt is easier for all
    before, after = made(x), made(shifted)
    for one, other in zip(before.leads, after.leads, strict=True):
        assert other.value == pytest.approx(one.value, abs=1e-9)
        assert (other.low is None) == (one.low is None)
    assert [one.value for one in after.beats] == [one.value for one in before.beats]
    mixed = made(x[random.sample(range(len(x)), len(x))])
    assert [one.value for one in mixed.means] == pytest.approx([one.value for one in before.means])
    assert sum(one.value for one in before.beats) == pytest.approx(x.shape[1] / 2)


# ----------------------------------------------------------------------------------------------- by recovery
def test_leads_cover_and_ranks_are_not_false():
    truth, covered, false = np.array([0.5, 0.5, 0.2]), [], 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = truth + rng.normal(0, 2, (20, 1)) + rng.normal(0, 1, (20, 3))
        got = paired_means(x, rng=rng)
        covered += [one.low <= lead <= one.high for one, lead in zip(got.leads, (0.15, 0.15, -0.3), strict=True)]
        false += bool(got.ranks.better[2, 0] or got.ranks.better[2, 1] or got.ranks.better[0, 1])
    assert 0.92 < np.mean(covered) < 0.98
    assert false <= 200 * 0.05


def test_two_generators_are_told_apart_as_the_paired_t_test_does():
    told, p = [], []
    for seed in range(60):
        x = (
            np.random.default_rng(seed).normal(0, 1, (20, 2))
            + np.random.default_rng(99).normal(0, 5, (20, 1))
            + [0.7, 0]
        )
        told.append(bool(made(x).ranks.better[0, 1]))
        p.append(stats.ttest_rel(x[:, 0], x[:, 1]).pvalue)
    agree = [one == (value < 0.05) for one, value in zip(told, p) if not 0.04 < value < 0.06]
    assert all(agree)
    assert 10 < sum(told) < 55


# ----------------------------------------------------------------------------------------------- at the edge
def test_edges():
    one = made([[1.0, 2.0]])
    assert (one.means[0].low, one.ranks, one.beats[1].value) == (None, None, 1.0)
    assert made([[1.0, 1.0], [1.0, 3.0]]).means[0].low is None  # all alike: no width
    assert made([[1.0, 2.0], [3.0, 4.0]]).ranks is None  # one apart on every prompt
    alone = made([[1.0], [2.0]])
    assert (alone.leads, alone.beats, alone.ranks) == ((None,), (None,), None)
    assert mean_interval([1e9, 1e9]).low is None
    with pytest.raises(TooFew):
        made(np.zeros((0, 2)))
    with pytest.raises(BadValue):
        made([[1.0, np.nan], [1.0, 2.0]])


# ----------------------------------------------------------------------------------------------- strata
def test_means_of_strata_by_hand():
    # strata (1, 3) and (10, 10, 16): means 2 and 12, M = 7; variances of the means 2/2 = 1 and 12/3 = 4: se sqrt(5)/2
    x = np.array([[1.0], [3], [10], [10], [16]])
    y = stratify_values(x, ["a", "a", "b", "b", "b"])
    assert y.mean() == pytest.approx(7)
    assert y.std(ddof=1) / np.sqrt(5) == pytest.approx(np.sqrt(5) / 2 * np.sqrt(5 / 4))


@given(arrays(float, (9, 3), elements=st.floats(-50, 50)), st.permutations([0, 0, 1, 1, 1, 2, 2, 2, 2]))
@settings(max_examples=30)
def test_means_of_strata_by_definition(x, strata):
    strata = np.array(strata)
    y = stratify_values(x, strata)
    assert y.mean(axis=0) == pytest.approx(np.mean([x[strata == s].mean(axis=0) for s in range(3)], axis=0), abs=1e-9)
    error = sum(x[strata == s].var(axis=0, ddof=1) / (strata == s).sum() for s in range(3)) / 9
    assert (y.var(axis=0, ddof=1) / 9) == pytest.approx(error * 9 / 8, abs=1e-7)
    assert stratify_values(x + 5, strata) == pytest.approx(y + 5, abs=1e-9)
    assert stratify_values(x[:, :1] - x[:, 1:2], strata) == pytest.approx(y[:, :1] - y[:, 1:2], abs=1e-9)


def test_equal_strata_change_no_mean_and_one_stratum_changes_little():
    x = np.random.default_rng(2).normal(size=(12, 2))
    assert stratify_values(x, np.arange(12) % 3).mean(axis=0) == pytest.approx(x.mean(axis=0))
    assert stratify_values(x, np.zeros(12)).std(axis=0, ddof=1) == pytest.approx(
        x.std(axis=0, ddof=1) * np.sqrt(12 / 11)
    )


def test_a_stratum_of_one_has_no_interval():
    got = paired_means(stratify_values([[1.0, 2], [4, 4], [6, 3]], [0, 1, 1]), rng=np.random.default_rng(0))
    assert [one.value for one in got.means] == [3, 2.75]
    assert got.means[0].low is None
    assert got.ranks is None


def test_intervals_of_means_of_strata_cover_at_their_rate():
    rng, strata = np.random.default_rng(5), np.repeat(np.arange(4), [4, 6, 8, 30])
    middle, spread = np.array([0.0, 3, -5, 10]), np.array([1.0, 2, 0.5, 4])
    held = 0
    for _ in range(600):
        x = rng.normal(middle[strata], spread[strata])[:, None]
        one = mean_interval(stratify_values(x, strata)[:, 0])
        held += one.low < middle.mean() < one.high
    assert 0.92 < held / 600 < 0.98
