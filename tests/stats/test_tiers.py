"""Rank intervals, tiers and groups that cannot be told apart (stats/ranks.py)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats import RankIntervals, rank_intervals


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def marginal(scores, covariance, **more) -> RankIntervals:
    return rank_intervals(scores, covariance, rng=rng(), simultaneous=False, **more)


def true_ranks(q: np.ndarray) -> np.ndarray:
    return 1 + (q[:, None] < q[None, :]).sum(axis=1)


# ----------------------------------------------------------------------------------------------- by hand
def test_four_items_by_hand():
    # se of every difference is sqrt(.5 + .5) = 1, c = 1.96. Differences in score order 3, 1.5, 0, -1:
    # 3-0, 3-(-1) and 1.5-(-1) = 2.5 exceed 1.96; 3-1.5, 1.5-0, 0-(-1) do not.
    got = marginal([0.0, 3.0, -1.0, 1.5], np.eye(4) / 2)
    assert got.critical == pytest.approx(1.959964)
    assert got.rank.tolist() == [3, 1, 4, 2]
    assert got.low.tolist() == [2, 1, 3, 1]
    assert got.high.tolist() == [4, 2, 4, 3]
    assert got.tier.tolist() == [2, 1, 2, 1]  # 1.5 cannot be told from 3; then -1 cannot be told from 0
    assert [run.tolist() for run in got.groups] == [[1, 3], [3, 0], [0, 2]]


def test_a_common_error_does_not_matter():
    # Adding 100 to every entry moves all items together: differences keep their error of 1.
    plain = marginal([0.0, 3.0, -1.0, 1.5], np.eye(4) / 2)
    moved = marginal([0.0, 3.0, -1.0, 1.5], np.eye(4) / 2 + 100)
    np.testing.assert_array_equal(plain.better, moved.better)


def test_an_uncertain_item_shares_a_tier_over_the_heads_of_others():
    # se(0, 1) = .14, so 1 is worse than 0; se(0, 2) = 10, so 2 is not: tier 1 is {0, 2}, and the runs stop at 1.
    got = marginal([2.0, 1.0, 0.0], np.diag([0.01, 0.01, 100.0]))
    assert got.tier.tolist() == [1, 2, 1]
    assert [run.tolist() for run in got.groups] == [[0], [1, 2]]
    assert not got.better[0, 2]


# ------------------------------------------------------------------------------------- by another tool
@pytest.mark.parametrize("n", [3, 10, 59])
def test_equal_independent_errors_are_tukeys_range(n):
    got = rank_intervals(np.arange(n), np.eye(n), rng=rng(), draws=40_000)
    assert got.critical == pytest.approx(stats.studentized_range.ppf(0.95, n, np.inf) / np.sqrt(2), rel=0.01)


def test_decisions_of_tukey_hsd():
    samples = [rng(1).normal(mean, 1, 400) for mean in (0, 0.02, 0.25, 0.5)]
    means, variance = np.mean(samples, axis=1), np.mean(np.var(samples, axis=1, ddof=1))
    got = rank_intervals(means, np.eye(4) * variance / 400, df=4 * 399, rng=rng())
    np.testing.assert_array_equal(got.better | got.better.T, stats.tukey_hsd(*samples).pvalue < 0.05)


def test_two_items_need_no_simulation():
    # One pair: the simultaneous value is the marginal one, 1.96; a t law with 8 degrees of freedom has 2.306.
    assert rank_intervals([0, 1], np.eye(2), rng=rng(), draws=100_000).critical == pytest.approx(1.96, rel=0.01)
    assert marginal([0, 1], np.eye(2), df=8).critical == pytest.approx(2.306004)
    assert rank_intervals([0, 1], np.eye(2), rng=rng(), df=8, draws=100_000).critical == pytest.approx(2.306, rel=0.02)


# ------------------------------------------------------------------------------- by definition, by property
@st.composite
def fits(draw):
    n = draw(st.integers(2, 9))
    generator = rng(draw(st.integers(0, 2**32 - 1)))
    factor = generator.normal(size=(n, draw(st.integers(n, n + 3))))
    return generator.normal(scale=3, size=n), factor @ factor.T / n


@settings(max_examples=60)
@given(fits())
def test_everything_by_its_definition(fit):
    q, C = fit
    n = len(q)
    got = marginal(q, C)
    se = [[np.sqrt(C[i, i] + C[j, j] - 2 * C[i, j]) for j in range(n)] for i in range(n)]
    beats = {(i, j) for i in range(n) for j in range(n) if i != j and q[i] - q[j] > got.critical * se[i][j]}
    assert [got.low[i] - 1 for i in range(n)] == [sum((j, i) in beats for j in range(n)) for i in range(n)]
    assert [n - got.high[i] for i in range(n)] == [sum((i, j) in beats for j in range(n)) for i in range(n)]
    assert (got.low <= got.rank).all()
    assert (got.rank <= got.high).all()

    order = sorted(range(n), key=lambda i: -q[i])
    apart = {frozenset(pair) for pair in beats}
    runs = [order[s:e] for s in range(n) for e in range(s + 1, n + 1)]
    runs = [run for run in runs if not any(frozenset(pair) in apart for pair in combinations(run, 2))]
    largest = [run for run in runs if not any(set(run) < set(other) for other in runs)]
    assert [run.tolist() for run in got.groups] == largest

    left, number = order, 0
    while left:
        number += 1
        tier = [i for i in left if (left[0], i) not in beats]
        assert {i for i in range(n) if got.tier[i] == number} == set(tier)
        left = [i for i in left if i not in tier]


@settings(max_examples=30)
@given(fits(), st.randoms(use_true_random=False))
def test_labels_and_directions_do_not_matter(fit, shuffle):
    q, C = fit
    n = len(q)
    new = np.array(shuffle.sample(range(n), n))
    plain, relabelled, reversed_ = marginal(q, C), marginal(q[new], C[np.ix_(new, new)]), marginal(-q, C)
    for name in ("rank", "low", "high", "tier"):
        np.testing.assert_array_equal(getattr(plain, name)[new], getattr(relabelled, name))
    np.testing.assert_array_equal(reversed_.low, n + 1 - plain.high)
    assert [run.tolist() for run in reversed_.groups] == [run.tolist()[::-1] for run in plain.groups[::-1]]


def test_better_scores_never_hurt():
    q, C = rng(3).normal(size=8), np.eye(8) / 10
    before, after = marginal(q, C), marginal(q + np.eye(8)[2], C)
    assert after.low[2] <= before.low[2]
    assert after.high[2] <= before.high[2]


def test_equal_scores_share_rank_and_tier():
    got = rank_intervals([1.0, 1.0, 0.0], np.zeros((3, 3)) + np.diag([0, 0, 1e-4]), rng=rng())
    assert got.rank.tolist() == [1, 1, 3]
    assert got.tier.tolist() == [1, 1, 2]


# ------------------------------------------------------------------------------------------- by recovery
def drawn_study(n: int, clusters: int, spread: float, generator: np.random.Generator):
    """True scores, and estimates that are means over clusters of unequal, correlated, centred errors."""
    q = spread * generator.normal(size=n)
    u = generator.normal(size=(clusters, n)) * np.linspace(0.5, 2, n) + generator.normal(size=(clusters, 1)) * q
    u -= u.mean(axis=1, keepdims=True)
    return q, q - q.mean() + u.mean(axis=0), np.cov(u.T) / clusters


@pytest.mark.parametrize(("n", "clusters"), [(12, 5), (40, 5), (12, 20), (20, 100)])
def test_all_true_ranks_lie_inside_at_once(n, clusters):
    """Near-equal scores are the hardest case: every pair found apart is as likely as not the wrong way round."""
    generator = rng(7)
    inside, alone = [], []
    for _ in range(150):
        q, estimate, C = drawn_study(n, clusters, 1e-3, generator)
        rank = true_ranks(q)
        for hits, simultaneous in ((inside, True), (alone, False)):
            got = rank_intervals(estimate, C, df=clusters - 1, rng=generator, simultaneous=simultaneous, draws=1000)
            hits.append(((got.low <= rank) & (rank <= got.high)).all())
    assert np.mean(inside) >= 0.95
    assert np.mean(alone) < 0.75


@pytest.mark.parametrize(("n", "clusters"), [(40, 5), (20, 20)])
def test_all_differences_are_covered_when_clusters_are_few(n, clusters):
    """All true differences are 0. A multivariate t with one common scale would cover 6% and 89% here."""
    generator = rng(10)
    found = []
    for _ in range(150):
        _, estimate, C = drawn_study(n, clusters, 0.0, generator)
        found.append(not rank_intervals(estimate, C, df=clusters - 1, rng=generator, draws=1000).better.any())
    assert np.mean(found) >= 0.90


def test_the_critical_value_covers_all_differences_at_its_level():
    generator = rng(8)
    factor = generator.normal(size=(15, 20)) * np.linspace(0.3, 2, 15)[:, None]
    C = factor @ factor.T
    got = rank_intervals(np.zeros(15), C, rng=generator, level=0.9)
    z = factor @ generator.normal(size=(20, 4000))
    variances = np.diag(C)[:, None] + np.diag(C) - 2 * C + np.eye(15)
    t = np.abs(z[:, None] - z[None]) / np.sqrt(variances)[:, :, None]
    assert (t.max(axis=(0, 1)) <= got.critical).mean() == pytest.approx(0.9, abs=0.02)


def test_clear_differences_are_found():
    got = rank_intervals(np.arange(30.0), np.eye(30) / 100, rng=rng())
    np.testing.assert_array_equal(got.low, got.high)
    assert len(got.groups) == 30


def test_a_singular_covariance_is_simulated_too():
    # Centred scores: rank n - 1. Differences are as under independence, so Tukey's range again.
    C = np.eye(10) - 0.1
    got = rank_intervals(np.arange(10), C, rng=rng())
    assert got.critical == pytest.approx(stats.studentized_range.ppf(0.95, 10, np.inf) / np.sqrt(2), rel=0.02)


def test_few_clusters_are_bounded_not_simulated():
    # 59 items have 1,711 pairs: each is tested at .05/1,711, which t with 4 degrees of freedom has at 21.2.
    _, estimate, C = drawn_study(59, 5, 1.0, rng(9))
    got = rank_intervals(estimate, C, df=4, rng=rng())
    assert got.critical == pytest.approx(stats.t.isf(0.025 / 1711, 4))
    assert "Bonferroni" in got.method


@pytest.mark.parametrize(("n", "clusters"), [(4, 5), (8, 10), (20, 30)])
def test_equal_items_are_told_apart_in_one_study_of_twenty_with_few_clusters(n, clusters):
    """Tukey's range with t tails told some apart in 7 to 9% of studies here."""
    generator = rng(n)
    apart = 0
    for _ in range(400):
        x = generator.normal(size=(clusters, n))
        apart += rank_intervals(x.mean(axis=0), np.cov(x.T) / clusters, df=clusters - 1, rng=generator).better.any()
    assert 0.02 < apart / 400 < 0.07


def test_differences_may_have_variances_of_their_own():
    """Three pairs: item 1 is sure to differ from item 2, and nothing else is sure."""
    squares = np.array([[0, 100, 100], [100, 0, 0.01], [100, 0.01, 0]])
    got = rank_intervals(
        [3.0, 2.0, 1.0], None, rng=rng(), df=50, differences=squares, difference_df=np.full((3, 3), 9.0)
    )
    assert got.better.tolist() == [[False] * 3, [False, False, True], [False] * 3]
    assert got.critical == pytest.approx(stats.t.isf(0.05 / 6, 9))
    with pytest.raises(BadValue, match="variances of differences"):
        rank_intervals([1.0, 2.0], None, rng=rng(), differences=np.eye(3))


# ------------------------------------------------------------------------------------------- at the edge
@pytest.mark.parametrize(
    ("scores", "covariance", "error", "words"),
    [
        ([1.0], [[1.0]], TooFew, "two items"),
        ([], np.zeros((0, 0)), TooFew, "two items"),
        ([1.0, 2.0], np.eye(3), BadValue, "shapes"),
        ([1.0, np.nan], np.eye(2), BadValue, "finite"),
        ([1.0, 2.0], [[1.0, np.inf], [np.inf, 1.0]], BadValue, "finite"),
        ([1.0, 2.0], [[1.0, 0.5], [0.0, 1.0]], BadValue, "symmetric"),
        ([1.0, 2.0], np.zeros((2, 2)), BadValue, "items 0 and 1"),
        ([1.0, 2.0, 3.0], np.ones((3, 3)), BadValue, "standard error"),
        ([0.0, 0.0, 0.0], 2 * np.eye(3) - 1, BadValue, "negative"),
        ([0.0, 0.0, 0.0], np.eye(3) - 0.9 * (1 - np.eye(3)), BadValue, "negative"),
    ],
)
def test_bad_input_is_named(scores, covariance, error, words):
    with pytest.raises(error, match=words):
        rank_intervals(scores, covariance, rng=rng())


@pytest.mark.parametrize("settings_", [{"df": 0}, {"level": 1.0}, {"df": np.nan}, {"draws": 5}])
def test_bad_settings_are_named(settings_):
    with pytest.raises(BadValue):
        rank_intervals([0.0, 1.0], np.eye(2), rng=rng(), **settings_)


def test_the_same_seed_gives_the_same_value():
    C = np.diag(np.arange(1.0, 9.0))
    one, two = (rank_intervals(np.arange(8), C, rng=rng(4)) for _ in range(2))
    assert one.critical == two.critical
