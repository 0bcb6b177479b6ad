"""Agreement of votes that form no orders, proven six ways."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from salon.errors import TooFew
from salon.stats import kendall_t, vote_test, votes_rankings
from salon.stats.simulate import mallows_rankings, uniform_rankings


def votes_of(ranks: np.ndarray, keep: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """pair, block, sign and prompt of every vote in ranks (n, R, p); `keep` thins them."""
    n, R, p = ranks.shape
    pairs = list(itertools.combinations(range(p), 2))
    rows = [
        (g * len(pairs) + m, g * R + r, 1 if ranks[g, r, a] < ranks[g, r, b] else -1, g)
        for g in range(n)
        for r in range(R)
        for m, (a, b) in enumerate(pairs)
    ]
    table = np.array(rows)
    return tuple((table if keep is None else table[keep[: len(table)]]).T)


def agreement(pair: np.ndarray, block: np.ndarray, sign: np.ndarray, cluster: np.ndarray) -> float:
    rng = np.random.default_rng(0)
    return vote_test(pair, block, sign, cluster, draws=100, rng=rng).agreement.value


def test_by_hand() -> None:
    """Three votes +, +, - on one pair: of 3 pairs of votes one agrees and two disagree: (1 - 2) / 3. Two votes +, +
    on another: 1 / 1. Together (1 - 2 + 1) / 4 = 0. A tie adds no decided vote."""
    pair = np.array([0, 0, 0, 1, 1, 1])
    sign = np.array([1, 1, -1, 1, 1, 0])
    assert agreement(pair, np.arange(6), sign, pair) == pytest.approx(0)


def test_by_definition() -> None:
    rng = np.random.default_rng(1)
    pair, block, sign = rng.integers(0, 6, 40), np.arange(40), rng.integers(-1, 2, 40)
    products = [
        sign[i] * sign[j] for i, j in itertools.combinations(range(40), 2) if pair[i] == pair[j] and sign[i] and sign[j]
    ]
    assert agreement(pair, block, sign, pair) == pytest.approx(np.mean(products))


def test_equals_mean_tau_on_complete_rankings() -> None:
    ranks = mallows_rankings(30, 5, 4, 0.4, rng=np.random.default_rng(2))
    expected = kendall_t(votes_rankings(ranks), 5).mean()
    assert agreement(*votes_of(ranks)) == pytest.approx(expected)


def test_relabelling_and_reversing_change_nothing() -> None:
    rng = np.random.default_rng(3)
    pair, block, sign = rng.integers(0, 8, 60), rng.integers(0, 20, 60), rng.choice([-1, 1], 60)
    _, first = np.unique(np.column_stack([pair, block]), axis=0, return_index=True)
    pair, block, sign = pair[first], block[first], sign[first]
    before = agreement(pair, block, sign, pair)
    assert agreement(7 - pair, block, -sign, pair) == pytest.approx(before)
    assert agreement(pair, 19 - block, sign, pair) == pytest.approx(before)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_size_under_random_raters_and_power_under_shared_order(share: float) -> None:
    """At 5% it rejects about 5% of random panels, also when half of all votes are missing; and finds real signal."""
    rng = np.random.default_rng(4)
    p_null, p_real = [], []
    for _ in range(200):
        keep = rng.random(20 * 4 * 6) < share
        noise = uniform_rankings(20, 4, 4, rng=rng)
        p_null.append(vote_test(*votes_of(noise, keep), draws=100, rng=rng).test.p)
    for _ in range(20):
        keep = rng.random(20 * 4 * 6) < share
        real = mallows_rankings(20, 4, 4, 0.9, rng=rng)
        p_real.append(vote_test(*votes_of(real, keep), draws=100, rng=rng).test.p)
    # 200 panels: binomial standard error .015, so .05 +- 3 errors
    assert 0.005 <= np.mean(np.array(p_null) <= 0.05) <= 0.1
    assert np.mean(np.array(p_real) <= 0.05) >= 0.9


def test_no_pair_twice_is_too_few() -> None:
    with pytest.raises(TooFew, match="two decided votes"):
        agreement(np.arange(5), np.arange(5), np.ones(5), np.arange(5))
    with pytest.raises(TooFew):
        agreement(np.zeros(5, int), np.arange(5), np.zeros(5), np.zeros(5, int))


def test_flips_that_agree_as_much_count_against_the_votes() -> None:
    """Three raters agree on one pair: of eight flips the two that leave them alike do so too, so p is 1/4."""
    made = vote_test([0] * 3, [0, 1, 2], [1, 1, 1], [0] * 3, draws=2000, rng=np.random.default_rng(0))
    assert made.agreement.value == 1
    assert made.test.p == pytest.approx(1 / 4, abs=0.04)
