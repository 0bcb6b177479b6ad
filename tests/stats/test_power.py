"""Power of the signal tests (stats/power.py)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from salon.errors import BadValue, TooFew
from salon.stats import (
    Estimate,
    RankingLaw,
    SignalCells,
    cells_votes,
    cycle_test,
    exact_null,
    expected_tau,
    fit_tau,
    holm,
    monte_carlo_null,
    pmax_test,
    power_signal,
    smallest_prompts,
    smallest_raters,
    t_test,
    votes_rankings,
)
from salon.stats.power import (
    TESTS,
    SmallestDesign,
    _holm_rows,
    _past_dips,
    _weighted_tails,
    _wilson,
    p_values_counts,
    simulate_cells,
)
from salon.stats.signal_tests import weighted_chi2_sf
from salon.stats.simulate import noise_for_tau

PLAIN = {"T": t_test, "p_max": pmax_test, "cycles": cycle_test}


@pytest.fixture(scope="module")
def null():
    return exact_null(4, 5)


def weak(tau: float) -> RankingLaw:
    return RankingLaw("mallows", noise_for_tau(tau, 4, "mallows"))


# ----------------------------------------------------------------------------------------------- by hand
def test_wilson_by_hand():
    # 8 of 10, z² = 3.8415: middle (.8 + .19207) / 1.38415 = .71674; half = sqrt(.061459 + .036891) / 1.38415.
    got = _wilson(np.arange(10) < 8)
    assert got.value == 0.8
    assert (got.low, got.high) == pytest.approx((0.49016, 0.94332), abs=1e-5)


# ----------------------------------------------------------------------- by definition, by another tool
def test_power_of_the_cycle_test_is_a_sum_of_binomials(null):
    """Reject where scipy's exact test does; the chance of those counts at the alternative's rate is the power."""
    n, law = 60, weak(0.2)
    rate = simulate_cells(law, 4, 5, 2_500, rng=np.random.default_rng(1)).cycle_rate
    null_rate = float(null.cycle_rate)
    rejects = [c for c in range(n + 1) if stats.binomtest(c, n, null_rate).pvalue <= 0.05]
    exact = stats.binom.pmf(rejects, n, rate).sum()
    got = power_signal(null, law, n, sims=8_000, rng=np.random.default_rng(2)).plain["cycles"]
    assert got.value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 8_000) + 0.01)


def test_wilson_agrees_with_statsmodels():
    for hits, n in [(0, 30), (7, 50), (49, 50), (50, 50)]:
        got = _wilson(np.arange(n) < hits)
        assert (got.low, got.high) == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-9)


@pytest.mark.parametrize(
    ("items", "raters", "n", "draws"),
    [(4, 5, 80, None), (3, 3, 40, None), (5, 3, 33, None), (4, 4, 60, None), (4, 5, 500, None), (4, 5, 80, 20_000)],
)
def test_vectorised_tests_equal_the_tests(items, raters, n, draws):
    rng = np.random.default_rng(3)
    law = RankingLaw("thurstone", 2.0)
    null = exact_null(items, raters) if draws is None else monte_carlo_null(items, raters, draws=draws, rng=rng)
    pool = simulate_cells(law, items, raters, n, rng=rng)
    counts = rng.multinomial(n, pool.counts / pool.n, size=25)
    p = p_values_counts(pool, null, counts)
    assert set(p) == ({"T", "p_max"} if raters == 4 else set(TESTS))
    for row, drawn in enumerate(counts):
        cells = SignalCells(items, raters, pool.histograms, pool.cyclic, drawn)
        for name, values in p.items():
            assert values[row] == pytest.approx(PLAIN[name](cells, null).p, rel=1e-5), name


def test_weighted_tails_equal_the_series_far_out():
    weights = np.array([13 / 9, 85 / 81])
    x = np.array([0.0, 0.3, 2.0, 9.7, 80.0, 400.0, 5_000.0])
    ours = _weighted_tails(x, weights)
    assert ours[:-1] == pytest.approx([weighted_chi2_sf(v, weights) for v in x[:-1]], rel=1e-5)
    assert ours[-1] == 0.0


def test_holm_of_rows_is_holm():
    p = np.random.default_rng(4).random((50, 7)) ** 3
    assert np.array_equal(_holm_rows(p), np.stack([holm(row) for row in p]))


def test_power_agrees_with_raw_rankings(null):
    """The long way round: simulate every ranking of every set, run the three tests on it, count rejections."""
    n, sets, law = 40, 500, RankingLaw("thurstone", 2.0, pattern=(2.0, 1, 1, 1, 1))
    rng = np.random.default_rng(5)
    ranks = law.draw(n * sets, 5, 4, rng=rng).reshape(sets, n, 5, 4)
    hits = dict.fromkeys(TESTS, 0.0)
    after = dict.fromkeys(TESTS, 0.0)
    for one in ranks:
        cells = cells_votes(votes_rankings(one), 5, 4)
        p = np.array([PLAIN[name](cells, null).p for name in TESTS])
        for name, alone, adjusted in zip(TESTS, p, holm(p)):
            hits[name] += (alone <= 0.05) / sets
            after[name] += (adjusted <= 0.05) / sets
    got = power_signal(null, law, n, sims=8_000, rng=rng)
    for name in TESTS:
        for brute, fast in ((hits[name], got.plain[name].value), (after[name], got.holm[name].value)):
            assert abs(brute - fast) < 4 * np.sqrt(fast * (1 - fast) * (1 / sets + 1 / 8_000)) + 0.005, name
    assert got.tau == pytest.approx(expected_tau(law, 5, 4))


def test_power_of_holm_over_criteria_agrees_with_raw_rankings(null):
    n, sets, criteria, law = 40, 150, 4, weak(0.1)
    rng = np.random.default_rng(6)
    ranks = law.draw(n * sets * criteria, 5, 4, rng=rng).reshape(sets, criteria, n, 5, 4)
    hits = 0
    for study in ranks:
        cells = [cells_votes(votes_rankings(one), 5, 4) for one in study]
        adjusted = holm([PLAIN[name](one, null).p for one in cells for name in TESTS])
        hits += adjusted[TESTS.index("p_max")] <= 0.05
    fast = power_signal(null, law, n, criteria=criteria, sims=4_000, rng=rng).holm["p_max"].value
    assert abs(hits / sets - fast) < 4 * np.sqrt(fast * (1 - fast) / sets)


# -------------------------------------------------------------------------------------------- by property
def test_random_raters_are_rejected_at_the_nominal_rate(null):
    got = power_signal(null, RankingLaw("uniform"), 80, sims=6_000, rng=np.random.default_rng(7))
    assert 0.04 < got.plain["T"].value < 0.06
    assert 0.04 < got.plain["p_max"].value < 0.06
    assert 0.02 < got.plain["cycles"].value < 0.06
    assert got.any_holm.value < 0.06


def test_power_grows_with_prompts_and_with_agreement(null):
    rng = np.random.default_rng(8)
    for name in ("T", "p_max"):
        by_n = [power_signal(null, weak(0.08), n, rng=rng).plain[name].value for n in (20, 60, 180)]
        by_tau = [power_signal(null, weak(tau), 60, rng=rng).plain[name].value for tau in (0.03, 0.08, 0.15)]
        assert by_n == sorted(by_n)
        assert by_tau == sorted(by_tau)
        assert by_n[2] - by_n[0] > 0.3


def test_holm_over_more_criteria_costs_power(null):
    rng = np.random.default_rng(9)
    one, nine = (power_signal(null, weak(0.08), 60, criteria=k, rng=rng) for k in (1, 9))
    assert nine.holm["T"].value < one.holm["T"].value < one.plain["T"].value
    assert abs(nine.plain["T"].value - one.plain["T"].value) < 0.06


# -------------------------------------------------------------------------------------------- by recovery
def test_smallest_prompts_has_the_power_asked_for(null):
    rng = np.random.default_rng(10)
    found = smallest_prompts(null, weak(0.1), target=0.8, high=400, rng=rng)
    assert found.reached
    power = {
        n: power_signal(null, weak(0.1), n, sims=6_000, rng=rng).holm["T"].value
        for n in (round(0.75 * found.value), found.value, found.value + 3, found.value + 6)
    }
    # Bins regroup as n grows: power falls by up to .05 from one n to the next, so neighbours may reach it too.
    fewer, *held = power.values()
    assert fewer < 0.79
    assert min(held) > 0.77
    assert max(held) < 0.95
    alone = smallest_prompts(null, weak(0.1), target=0.8, high=400, holm=False, rng=rng)
    assert alone.value < found.value


def test_power_is_a_saw_tooth_and_the_search_climbs_past_its_dips():
    """A made-up test with power .81 at n = 40 and .70 up to n = 44: the answer must not be 40."""

    def power_at(n):
        return Estimate({40: 0.81}.get(n, 0.7 if n < 45 else 0.9), 0.0, 0.71 if 40 < n < 45 else 1.0, 100, "sets")

    found = SmallestDesign(40, 0.8, "T", 5, 400, power_at(40))
    assert _past_dips(found, power_at).value == 45
    assert _past_dips(found, power_at).power.value == 0.9


def test_smallest_raters_is_the_first_that_reaches(null):
    nulls = {r: exact_null(3, r) for r in (3, 5, 7)}
    law, rng = RankingLaw("mallows", 0.6), np.random.default_rng(11)
    found = smallest_raters(nulls.__getitem__, law, 60, raters=(3, 5, 7), rng=rng)
    power = {r: power_signal(nulls[r], law, 60, sims=4_000, rng=rng).holm["T"].value for r in nulls}
    assert found.value == min(r for r in nulls if power[r] >= 0.8) == 5


def test_a_goal_out_of_reach_is_said(null):
    found = smallest_prompts(null, weak(0.01), high=50, rng=np.random.default_rng(12))
    assert not found.reached
    assert (found.low, found.high) == (5, 50)
    assert found.power.value < 0.3


# --------------------------------------------------------------------------------------------- at the edge
def test_tests_that_a_design_cannot_do_have_no_power():
    rng = np.random.default_rng(13)
    even = power_signal(exact_null(3, 4), RankingLaw("mallows", 1.0), 60, rng=rng)
    assert even.plain["cycles"] is None
    assert even.plain["T"].value > 0.9
    tiny = power_signal(exact_null(3, 3), RankingLaw("mallows", 1.0), 2, sims=500, rng=rng)
    assert tiny.plain["T"] is None
    assert tiny.holm["T"] is None
    nothing = power_signal(exact_null(2, 2), RankingLaw("mallows", 1.0), 2, sims=500, rng=rng)
    assert nothing.any_holm.value == 0.0
    never = smallest_prompts(exact_null(3, 4), RankingLaw("mallows", 1.0), test="cycles", high=60, rng=rng)
    assert (never.value, never.power) == (None, None)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"prompts": 0}, TooFew),
        ({"prompts": 10, "sims": 0}, TooFew),
        ({"prompts": 10, "criteria": 0}, TooFew),
        ({"prompts": 10, "alpha": 1.0}, BadValue),
    ],
)
def test_wrong_settings_are_named(null, settings, error):
    with pytest.raises(error):
        power_signal(null, weak(0.1), **settings, rng=np.random.default_rng(0))


def test_wrong_searches_are_named(null):
    rng = np.random.default_rng(0)
    with pytest.raises(BadValue):
        smallest_prompts(null, weak(0.1), target=1.0, rng=rng)
    with pytest.raises(BadValue):
        smallest_prompts(null, weak(0.1), low=50, high=50, rng=rng)
    with pytest.raises(BadValue):
        smallest_raters(exact_null, weak(0.1), 80, raters=(5, 3), rng=rng)
    five = fit_tau(RankingLaw("thurstone", pattern=(2.0, 1, 1, 1, 1)), 0.1, 5, 4)
    with pytest.raises(BadValue):
        smallest_raters(lambda r: exact_null(3, r), five, 20, raters=(2, 3), rng=rng)
