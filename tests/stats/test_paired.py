"""Differences of two predictors on the same questions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats import paired_difference


def compared(first, second, clusters, draws=2000, seed=0):
    return paired_difference(first, second, clusters, draws=draws, rng=np.random.default_rng(seed))


def test_by_hand():
    # prompts x: +1 +1, y: +1 -1, z: 0 +.5  ->  D = 2, 0, .5; difference 2.5 / 6
    found = compared([1, 1, 1, 0, 0, 1], [0, 0, 0, 1, 0, 0.5], list("xxyyzz"))
    assert found.difference.value == pytest.approx(2.5 / 6)
    # four sign patterns of (2, .5): |2.5| is reached by ++ and --
    assert found.p == 0.5
    assert (found.questions, found.first_only, found.second_only) == (6, 4, 1)
    assert found.difference.n == 3


def test_exact_p_by_definition():
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 2, (2, 40)).astype(float)
    clusters = np.repeat(np.arange(8), 5)
    sums = [(first - second)[clusters == c].sum() for c in range(8)]
    patterns = [abs(np.dot(signs, sums)) for signs in itertools.product((-1, 1), repeat=8)]
    expected = np.mean([one >= abs(sum(sums)) - 1e-9 for one in patterns])
    assert compared(first, second, clusters).p == pytest.approx(expected)


def test_random_patterns_agree_with_another_tool():
    rng = np.random.default_rng(2)
    first, second = (rng.random((2, 60)) < [[0.7], [0.5]]).astype(float)
    found = compared(first, second, np.arange(60), draws=5_000)
    apart = first - second
    other = stats.permutation_test(
        (apart,), lambda x: x.mean(), permutation_type="samples", n_resamples=5_000, rng=np.random.default_rng(0)
    )
    assert found.p == pytest.approx(other.pvalue, abs=0.015)


def test_pairing_narrows_and_the_order_only_turns_the_sign():
    rng = np.random.default_rng(3)
    hard = rng.random(400)
    first, second = (hard < 0.6).astype(float), (hard < 0.55).astype(float)
    found = compared(first, second, np.arange(400))
    assert found.difference.high - found.difference.low < 0.06  # two separate ones: about .14
    turned = compared(second, first, np.arange(400))
    assert turned.difference.value == -found.difference.value
    assert turned.p == pytest.approx(found.p, abs=0.015)


def test_alike_predictors_are_rarely_told_apart():
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(30), 6)
    ps, held = [], 0
    for seed in range(80):
        first, second = rng.integers(0, 2, (2, 180)).astype(float)
        found = compared(first, second, clusters, draws=100, seed=seed)
        ps.append(found.p)
        held += found.difference.low <= 0 <= found.difference.high
    assert np.mean(np.array(ps) <= 0.05) < 0.12
    assert held / 80 > 0.85


def test_edges():
    alike = compared([1, 0], [1, 0], [0, 1])
    assert (alike.p, alike.law) == (1.0, "the two never differ")
    assert compared([1, 0], [0, 0], [0, 0]).difference.low is None
    with pytest.raises(TooFew):
        compared([], [], [])
    with pytest.raises(BadValue):
        compared([np.nan], [0], [0])
    with pytest.raises(BadValue):
        compared([1, 1], [0], [0])


def test_an_interval_stays_on_the_scale_of_differences():
    first, second, prompts = [1.0, 1.0, 0.9], [0.0, 0.1, 0.4], [0, 1, 2]
    wide = compared(first, second, prompts).difference
    assert wide.high > 1  # the t interval of three prompts
    rng = np.random.default_rng(0)
    held = paired_difference(first, second, prompts, draws=200, rng=rng, within=(-1.0, 1.0)).difference
    assert held.high == 1.0


def test_a_drawn_p_is_never_0():
    # thirty prompts that all lean one way: no random pattern is as extreme but the data's own, which counts as one
    apart = paired_difference(np.ones(30), np.zeros(30), np.arange(30), draws=200, rng=np.random.default_rng(0))
    assert apart.p == pytest.approx(1 / 201)
    assert "200 random sign patterns of 30 prompts" in apart.law
