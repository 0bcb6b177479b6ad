"""The three signal tests: right laws, right size, power, several shapes, honest refusals."""

import numpy as np
import pytest
from scipy import integrate, stats
from statsmodels.stats.multitest import multipletests

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats import (
    SignalCells,
    cells_votes,
    cycle_test,
    exact_null,
    holm,
    monte_carlo_null,
    pmax_test,
    t_test,
    votes_rankings,
)
from salon.stats.nulls import pmax_weights
from salon.stats.signal_tests import merge_rare, merged_pmax_weights, pmax_covariance, weighted_chi2_sf

NULL = exact_null(4, 5)


def null_cells(null, n, rng):
    """n prompts of random raters, drawn from the exact joint law."""
    cyclic = np.array([bool(flag) for _, flag in null.joint])
    return SignalCells(null.items, null.raters, null.histograms, cyclic, rng.multinomial(n, null.probabilities))


def ranked_cells(ranks):
    return cells_votes(votes_rankings(ranks), ranks.shape[1], ranks.shape[2])


def shared_order(n, noise, rng):
    """Rankings of 4 items by 5 raters who see one order per prompt through normal noise."""
    truth = rng.permuted(np.broadcast_to(np.arange(4.0), (n, 4)), axis=1)
    seen = truth[:, None, :] + noise * rng.normal(size=(n, 5, 4))
    return ranked_cells(seen.argsort(axis=2).argsort(axis=2))


# --- by hand and by definition


def test_t_by_hand():
    # p = 2, R = 3: T = 1 with probability 1/4, else -1/3. 40 prompts, 20 of them unanimous: expected 10 and 30.
    # X2 = 100/10 + 100/30 = 40/3, one degree of freedom.
    cells = SignalCells(2, 3, np.array([[1, 0], [0, 1]]), np.array([False, False]), np.array([20, 20]))
    test = t_test(cells, exact_null(2, 3))
    assert test.statistic == pytest.approx(40 / 3)
    assert test.p == pytest.approx(stats.chi2.sf(40 / 3, 1))
    assert (test.n, test.unit, test.law) == (40, "prompt", "chi-square, 1 degrees of freedom")
    # One pair per prompt: pairs are independent and the right law is the naive one.
    pmax = pmax_test(cells, exact_null(2, 3))
    assert pmax.statistic == pytest.approx(40 / 3)
    assert pmax.p == pytest.approx(pmax.p_naive) == pytest.approx(test.p)


def test_pmax_by_hand():
    # 80 prompts at (4,5), every pair split 3-2: 480 pairs, expected 300, 150, 30.
    # X2 = 180^2/300 + 150 + 30 = 288 against 13/9 chi2(1) + 85/81 chi2(1).
    cells = SignalCells(4, 5, np.array([[6, 0, 0]]), np.array([False]), np.array([80]))
    test = pmax_test(cells, NULL)
    assert test.statistic == pytest.approx(288)
    assert test.law == "1.444 chi2(1) + 1.049 chi2(1)"
    assert test.p > 1e5 * test.p_naive


def test_t_against_scipy_with_the_same_groups():
    rng = np.random.default_rng(1)
    cells = null_cells(NULL, 300, rng)
    values = sorted(NULL.t_counts)
    observed = np.array([cells.counts[cells.t_numerators == v].sum() for v in values])
    expected = np.array([300 * NULL.t_counts[v] / NULL.total for v in values])
    groups = merge_rare(expected)
    o, e = np.bincount(groups, observed), np.bincount(groups, expected)
    assert e.min() >= 5
    reference = stats.chisquare(o, e)
    test = t_test(cells, NULL)
    assert (test.statistic, test.p) == (pytest.approx(reference.statistic), pytest.approx(reference.pvalue))


@pytest.mark.parametrize("count", [0, 3, 9, 17, 30, 80])
def test_cycles_against_scipy(count):
    cells = SignalCells(4, 5, np.array([[6, 0, 0], [6, 0, 0]]), np.array([False, True]), np.array([80 - count, count]))
    reference = stats.binomtest(count, 80, 3875 / 18432).pvalue
    assert cycle_test(cells, NULL).p == pytest.approx(reference, rel=1e-9)


def test_the_paper_value_that_moves():
    # 9 cycles in 80 prompts: 0.028 was published with the simulated rate 0.211 (one-sided tails doubled otherwise);
    # against the exact rate the two-sided p is 0.038.
    cells = SignalCells(4, 5, np.array([[6, 0, 0], [6, 0, 0]]), np.array([False, True]), np.array([71, 9]))
    assert cycle_test(cells, NULL).p == pytest.approx(0.038, abs=5e-4)


def test_sum_of_binomials_by_definition():
    # Two shapes: P(X + Y = s) by summing over all splits.
    other = exact_null(5, 3)
    a = SignalCells(4, 5, np.array([[6, 0, 0], [6, 0, 0]]), np.array([False, True]), np.array([9, 3]))
    b = SignalCells(5, 3, np.array([[10, 0], [10, 0]]), np.array([False, True]), np.array([5, 3]))
    rates = float(NULL.cycle_rate), float(other.cycle_rate)
    pmf = [
        sum(stats.binom.pmf(x, 12, rates[0]) * stats.binom.pmf(s - x, 8, rates[1]) for x in range(s + 1))
        for s in range(21)
    ]
    expected = sum(q for q in pmf if q <= pmf[6] * (1 + 1e-7))
    test = cycle_test([(a, NULL), (b, other)])
    assert (test.statistic, test.n) == (6, 20)
    assert test.p == pytest.approx(expected)


def test_shapes_add():
    rng = np.random.default_rng(2)
    other = exact_null(3, 5)
    shapes = [(null_cells(NULL, 100, rng), NULL), (null_cells(other, 60, rng), other)]
    single = [t_test(*shape) for shape in shapes]
    both = t_test(shapes)
    assert both.statistic == pytest.approx(sum(t.statistic for t in single))
    assert both.n == 160
    assert both.p == pytest.approx(stats.chi2.sf(both.statistic, sum(int(t.law.split()[1]) for t in single)))
    pmax = pmax_test(shapes)
    weights = [float(w) for shape in shapes for w in pmax_weights(shape[1].items, shape[1].raters)]
    assert pmax.statistic == pytest.approx(sum(pmax_test(*shape).statistic for shape in shapes))
    assert pmax.p == pytest.approx(weighted_chi2_sf(pmax.statistic, weights))


# --- the weighted chi-square


def imhof(x, weights):
    """P(sum w chi2(1) > x) by Imhof's integral: another route to the same number."""
    w = np.asarray(weights)

    def integrand(u):
        theta = 0.5 * np.arctan(w * u).sum() - 0.5 * x * u
        return np.sin(theta) / (u * np.prod((1 + (w * u) ** 2) ** 0.25))

    value, _ = integrate.quad(integrand, 0, np.inf, limit=2000)
    return 0.5 + value / np.pi


@pytest.mark.parametrize("weights", [[2.1, 1.1, 1.02, 1.0], [3.0, 0.5, 0.2, 0.2, 0.1]])
@pytest.mark.parametrize("x", [0.7, 2.0, 5.0, 12.0])
def test_weighted_chi_square_by_imhof(weights, x):
    assert weighted_chi2_sf(x, weights) == pytest.approx(imhof(x, weights), abs=2e-6)


@pytest.mark.parametrize("x", [0.7, 5.9, 20.0])
def test_weighted_chi_square_by_convolution(x):
    # P = integral over a standard normal z of P(13/9 chi2(1) > x - 85/81 z^2).
    def integrand(z):
        return 2 * stats.norm.pdf(z) * stats.chi2.sf((x - 85 / 81 * z * z) * 9 / 13, 1)

    edge = np.sqrt(x * 81 / 85)
    value = integrate.quad(integrand, 0, edge)[0] + integrate.quad(integrand, edge, 12)[0]
    assert weighted_chi2_sf(x, [13 / 9, 85 / 81]) == pytest.approx(value, rel=1e-7)


def test_weighted_chi_square_with_equal_weights_is_a_chi_square():
    for x in (0.1, 3.0, 40.0, 400.0):
        assert weighted_chi2_sf(x, [2.0] * 5) == pytest.approx(stats.chi2.sf(x / 2, 5), rel=1e-12)


def test_weighted_chi_square_in_the_far_tail():
    # 2 chi2(1) + 2 chi2(1) + chi2(1) + chi2(1): each equal pair is exponential, so the tail is known:
    # P = (2 e^{-x/4} - e^{-x/2}) by convolving rates 1/4 and 1/2.
    for x in (1.0, 10.0, 100.0, 1000.0):
        expected = 2 * np.exp(-x / 4) - np.exp(-x / 2)
        assert weighted_chi2_sf(x, [2, 2, 1, 1]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("weights", [[], [1.0, 0.0], [-1.0], [np.nan], [[1.0]]])
def test_bad_weights(weights):
    with pytest.raises(BadValue):
        weighted_chi2_sf(1.0, weights)


@pytest.mark.parametrize("shape", [(4, 5), (5, 4), (3, 9), (6, 3), (5, 7)])
def test_covariance_of_the_histogram_is_that_of_the_exact_law(shape):
    null = exact_null(*shape)
    centred = null.histograms - null.probabilities @ null.histograms
    exact = (centred * null.probabilities[:, None]).T @ centred
    np.testing.assert_allclose(pmax_covariance(*shape), exact, atol=1e-12)


@pytest.mark.parametrize("groups", [[0, 0, 1, 2, 3], [0, 1, 2, 2, 2], [0, 0, 0, 0, 1]])
def test_merged_weights_by_simulation_of_the_exact_law(groups):
    # At (4,9) the p_max histogram has 5 bins. Moments of X2 over large null sets: mean = sum w, variance = 2 sum w^2.
    null = exact_null(4, 9)
    weights = merged_pmax_weights(4, 9, groups)
    assert len(weights) == max(groups)
    rng = np.random.default_rng(3)
    merge = np.eye(max(groups) + 1)[groups]
    observed = rng.multinomial(4000, null.probabilities, size=6000) @ null.histograms @ merge
    expected = 4000 * null.probabilities @ null.histograms @ merge
    x2 = ((observed - expected) ** 2 / expected).sum(axis=1)
    assert x2.mean() == pytest.approx(weights.sum(), abs=5 * x2.std() / np.sqrt(6000))
    assert x2.var() == pytest.approx(2 * (weights**2).sum(), rel=0.12)


def test_unmerged_weights_are_the_closed_form():
    scale = 1 / np.sqrt(6 * np.array([10, 5, 1]) / 16)
    found = np.linalg.eigvalsh(scale[:, None] * pmax_covariance(4, 5) * scale)[::-1]
    np.testing.assert_allclose(found[:2], merged_pmax_weights(4, 5, [0, 1, 2]), atol=1e-12)
    np.testing.assert_allclose(found[:2], [13 / 9, 85 / 81], atol=1e-12)


def test_merging():
    assert merge_rare([6, 6, 6]).tolist() == [0, 1, 2]
    assert merge_rare([1, 2, 3, 9, 1, 1]).tolist() == [0, 0, 0, 1, 1, 1]
    assert merge_rare([9, 1, 1, 4, 2]).tolist() == [0, 1, 1, 1, 1]
    assert merge_rare([1, 1]).tolist() == [0, 0]


# --- size and power


def rejections(null, n, sets, seed):
    rng = np.random.default_rng(seed)
    counts = np.zeros(4)
    for _ in range(sets):
        cells = null_cells(null, n, rng)
        pmax = pmax_test(cells, null)
        p = [t_test(cells, null).p, pmax.p, pmax.p_naive, cycle_test(cells, null).p]
        counts += np.array(p) <= 0.05
    return dict(zip(("T", "p_max", "naive", "cycles"), counts / sets))


def test_size_at_four_items_five_raters():
    # 4000 null sets of 80 prompts; standard error 0.3% at 5%. An exact discrete test may stay below its level.
    size = rejections(NULL, 80, 4000, seed=4)
    assert 0.04 < size["T"] < 0.06
    assert 0.04 < size["p_max"] < 0.06
    assert 0.02 < size["cycles"] < 0.055
    assert 0.08 < size["naive"] < 0.105


def test_size_where_bins_are_merged():
    # p = 3, R = 9, n = 60: the top bin of p_max expects 180 * 2/512 < 1 pair, so bins merge.
    assert merge_rare(180 * np.array([252, 168, 72, 18, 2]) / 512).tolist() == [0, 1, 2, 3, 3]
    size = rejections(exact_null(3, 9), 60, 2500, seed=5)
    assert 0.035 < size["T"] < 0.065
    assert 0.035 < size["p_max"] < 0.065


def test_raw_rankings_have_the_size_of_the_exact_law():
    rng = np.random.default_rng(6)
    rejected = np.zeros(3)
    for _ in range(1200):
        ranks = rng.permuted(np.broadcast_to(np.arange(4), (80, 5, 4)), axis=2)
        cells = ranked_cells(ranks)
        rejected += [test(cells, NULL).p <= 0.05 for test in (t_test, pmax_test, cycle_test)]
    assert np.all(rejected / 1200 < 0.065)
    assert np.all(rejected[:2] / 1200 > 0.035)


def test_size_of_two_shapes_together():
    rng = np.random.default_rng(7)
    other = exact_null(3, 5)
    rejected = np.zeros(3)
    for _ in range(1200):
        shapes = [(null_cells(NULL, 50, rng), NULL), (null_cells(other, 50, rng), other)]
        rejected += [test(shapes).p <= 0.05 for test in (t_test, pmax_test, cycle_test)]
    assert np.all(rejected / 1200 < 0.065)
    assert np.all(rejected[:2] / 1200 > 0.035)


def test_shared_preference_is_found():
    cells = shared_order(80, noise=1.5, rng=np.random.default_rng(8))
    assert t_test(cells, NULL).p < 1e-6
    assert pmax_test(cells, NULL).p < 1e-6
    assert cells.mean_tau > 0.1
    assert cycle_test(cells, NULL).p < 0.05


def test_more_prompts_of_the_same_kind_never_weaken_the_evidence():
    cells = shared_order(80, noise=2.5, rng=np.random.default_rng(9))
    doubled = SignalCells(4, 5, cells.histograms, cells.cyclic, 2 * cells.counts)
    assert pmax_test(doubled, NULL).p < pmax_test(cells, NULL).p


# --- Monte Carlo nulls carry their own error


def test_a_monte_carlo_null_does_not_reject_a_large_null_study():
    # 200,000 prompts against a null of only 2,000 draws: taken as exact, its sampling error alone would reject.
    rng = np.random.default_rng(10)
    rejected = np.zeros(2)
    for _ in range(300):
        sampled = monte_carlo_null(3, 5, draws=2000, rng=rng)
        cells = null_cells(exact_null(3, 5), 200_000, rng)
        rejected += [test(cells, sampled).p <= 0.05 for test in (t_test, cycle_test)]
    assert np.all(rejected / 300 < 0.09)
    assert rejected[0] / 300 > 0.015


def test_a_value_the_draws_never_met():
    sampled = monte_carlo_null(3, 3, draws=60, rng=np.random.default_rng(11))
    cells = SignalCells(3, 3, np.array([[0, 3], [3, 0]]), np.array([False, False]), np.array([50, 50]))
    assert t_test(cells, sampled).p < 1e-6


# --- edges


def test_too_few_prompts():
    cells = null_cells(NULL, 1, np.random.default_rng(12))
    with pytest.raises(TooFew, match="two groups"):
        t_test(cells, NULL)
    with pytest.raises(TooFew, match="two groups"):
        pmax_test(null_cells(exact_null(2, 2), 5, np.random.default_rng(13)), exact_null(2, 2))
    with pytest.raises(TooFew):
        t_test([])
    with pytest.raises(TooFew):
        cycle_test(null_cells(NULL, 0, np.random.default_rng(14)), NULL)


@pytest.mark.parametrize("shape", [(2, 5), (4, 2), (4, 4), (6, 4)])
def test_no_cycle_test_where_cycles_are_impossible(shape):
    null = exact_null(*shape)
    with pytest.raises(NotIdentified, match="cycles"):
        cycle_test(null_cells(null, 50, np.random.default_rng(15)), null)


def test_shapes_left_out_are_named():
    rng = np.random.default_rng(16)
    even = exact_null(4, 4)
    shapes = [(null_cells(NULL, 40, rng), NULL), (null_cells(even, 7, rng), even)]
    test = cycle_test(shapes)
    assert test.n == 40
    assert test.law.endswith("; 7 prompts in shapes that cannot be tested left out")
    one = exact_null(5, 5)
    assert "1 prompts" in t_test([shapes[0], (null_cells(one, 1, rng), one)]).law


def test_the_null_of_another_shape_is_refused():
    cells = null_cells(NULL, 80, np.random.default_rng(17))
    with pytest.raises(BadValue, match="4 items and 5 raters"):
        t_test(cells, exact_null(4, 3))
    with pytest.raises(BadValue):
        t_test(cells)


def test_a_million_prompts():
    cells = null_cells(NULL, 1_000_000, np.random.default_rng(18))
    assert min(t_test(cells, NULL).p, pmax_test(cells, NULL).p, cycle_test(cells, NULL).p) > 1e-3
    none = SignalCells(4, 5, np.array([[6, 0, 0]]), np.array([False]), np.array([1_000_000]))
    assert cycle_test(none, NULL).p == 0.0


# --- Holm


def test_holm_by_hand():
    # Sorted .01 .03 .04 times 3 2 1 = .03 .06 .04; running maximum .03 .06 .06.
    assert holm([0.04, 0.01, 0.03]).tolist() == pytest.approx([0.06, 0.03, 0.06])


def test_holm_against_statsmodels():
    p = np.random.default_rng(19).uniform(size=30) ** 3
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])


@pytest.mark.parametrize("p", [[0.5, np.nan], [1.5], [-0.1], [[0.1]]])
def test_holm_refuses(p):
    with pytest.raises(BadValue):
        holm(p)


def test_holm_of_nothing():
    assert holm([]).tolist() == []
