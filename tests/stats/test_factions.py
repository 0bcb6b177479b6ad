"""Factions: the one-order model against definitions, the size and power of its test, and the edges."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kendalltau

from salon.errors import BadValue, TiesNotAllowed, TooFew
from salon.stats import mallows_panels
from salon.stats.agreement import pair_tau
from salon.stats.factions import (
    FACTIONS,
    NOT_DISTINGUISHABLE,
    ONE_ORDER,
    best_split,
    faction_power,
    faction_test,
)
from salon.stats.mallows_panels import simulated_fits
from salon.stats.one_order import (
    fit_one_order,
    gaussian_law,
    mallows_law,
    mallows_signs,
    one_order_test,
    prompt_taus,
    redrawn_shifts,
)

SHARE = np.array([3, 2, 1]) / 6  # item pairs at distance 1, 2, 3 among four items


def gaussian(rng, prompts, sizes, noise, items=4):
    """Ranks by utility plus Gaussian noise; each faction has its own utilities."""
    utility = np.repeat(rng.normal(size=(prompts, len(sizes), items)), sizes, axis=1)
    sd = np.broadcast_to(noise, (sum(sizes),))[:, None]
    seen = utility + sd * rng.normal(size=utility.shape)
    return np.argsort(np.argsort(-seen, axis=2), axis=2)


class TestOneOrder:
    @pytest.mark.parametrize("theta", [0.0, 0.3, 1.0, 4.0])
    def test_expected_signs_by_enumeration(self, theta):
        weight, signs = 0.0, np.zeros(3)
        for order in itertools.permutations(range(4)):
            rank = np.argsort(order)
            inversions = sum(rank[x] > rank[y] for x in range(4) for y in range(x + 1, 4))
            w = np.exp(-theta * inversions)
            weight += w
            signs += w * np.array([np.sign(rank[d] - rank[0]) for d in (1, 2, 3)])
        np.testing.assert_allclose(mallows_signs(np.array([theta]), 4)[0], signs / weight, atol=1e-9)

    def test_adjacent_items_by_hand(self):
        # Two items: P(kept) = 1/(1 + e^-theta), so the sign is tanh(theta/2).
        assert mallows_signs(np.array([1.2]), 2)[0, 0] == pytest.approx(np.tanh(0.6))

    @pytest.mark.parametrize("items", [2, 4, 10, 40])
    def test_features_keep_the_inner_products(self, items):
        thetas, features = mallows_law(items)
        share = (items - np.arange(1, items)) / (items * (items - 1) / 2)
        exact = mallows_signs(thetas, items) * np.sqrt(share)
        np.testing.assert_allclose(features @ features[::400].T, exact @ exact[::400].T, atol=2e-4)

    def test_the_fit_gives_back_its_own_matrix(self):
        thetas, features = mallows_law(4)
        place = np.array([300, 900, 1500, 2200, 100])
        tau = features[place] @ features[place].T
        found, q = fit_one_order(tau, np.full((5, 5), 80.0), features)
        np.testing.assert_allclose(thetas[found], thetas[place], atol=0.01)
        assert q < 1e-3

    def test_gaussian_taus_are_sheppards(self):
        # Two raters of noise 1 and 2: a = 1/sqrt(2) and 1/sqrt(5).
        features = gaussian_law()
        alike = (features**2).sum(axis=1)  # (2/pi) arcsin(a^2)
        one, two = (np.argmin(np.abs(alike - 2 / np.pi * np.arcsin(1 / (1 + v)))) for v in (1, 4))
        assert features[one] @ features[two] == pytest.approx(2 / np.pi * np.arcsin(1 / np.sqrt(2 * 5)), abs=1e-3)
        ranks = gaussian(np.random.default_rng(24), 20_000, [2], [1, 2])
        assert pair_tau(ranks).mean[0, 1] == pytest.approx(features[one] @ features[two], abs=0.01)

    @pytest.mark.parametrize("seed", range(4))
    def test_scipy_finds_no_better_fit(self, seed):
        rng = np.random.default_rng(seed)
        ranks = gaussian(rng, 60, [3, 2], 1.0) if seed % 2 else gaussian(rng, 60, [5], [0.5, 1, 2, 3, 9])
        tau, (grid, features) = pair_tau(ranks).mean, mallows_law(4)
        place, q = fit_one_order(tau, np.full((5, 5), 60.0), features)
        upper = np.triu_indices(5, 1)

        def loss(thetas):
            f = mallows_signs(thetas, 4) * np.sqrt(SHARE)
            return 60 * ((tau - f @ f.T)[upper] ** 2).sum()

        starts = [grid[place], np.full(5, 0.5), rng.random(5) * 2]
        best = min(minimize(loss, x, bounds=[(0, 7)] * 5, method="L-BFGS-B").fun for x in starts)
        assert q == pytest.approx(best, abs=2e-3)

    def test_simulated_panels_have_the_expected_taus(self):
        thetas = np.array([0.5, 1.0, 2.0, 0.0])
        everyone = np.ones((50, 4), bool)
        camps, rng = np.array([0, 0, 1, 1]), np.random.default_rng(1)
        taus = mallows_panels._draw_taus(thetas, camps, everyone, 4, 400, rng)[0].mean(axis=0)
        f = mallows_signs(thetas, 4) * np.sqrt(SHARE)
        expected = (f @ f.T) * np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
        np.testing.assert_allclose(taus, expected, atol=0.015)

    def test_the_normal_limit_equals_the_exact_simulation(self, monkeypatch):
        everyone = np.ones((150, 5), bool)
        everyone[:50, 0] = False
        thetas, camps = np.array([0.3, 0.5, 0.8, 1.0, 1.5]), np.array([0, 0, 0, 1, 1])
        settings = {"simulations": 800, "rng": np.random.default_rng(2)}
        exact = simulated_fits(thetas, camps, everyone, 4, **settings)
        monkeypatch.setattr(mallows_panels, "_EXACT_PROMPTS", 10)
        limit = simulated_fits(thetas, camps, everyone, 4, **settings)
        for one, other in zip(limit, exact):  # of the panels, and of their redraws
            np.testing.assert_allclose(np.quantile(one, [0.5, 0.9]), np.quantile(other, [0.5, 0.9]), rtol=0.12)


class TestRedraws:
    """Prompts drawn again, around the fit."""

    def test_taus_of_single_prompts_by_another_tool(self):
        ranks = gaussian(np.random.default_rng(20), 6, [4], 1.0, items=5)
        ranks[2, 1] = -1
        taus = prompt_taus(ranks)
        for prompt, r, s in itertools.product(range(6), range(4), range(4)):
            absent = prompt == 2 and 1 in (r, s)
            expected = 0.0 if absent else kendalltau(ranks[prompt, r], ranks[prompt, s]).statistic
            assert taus[prompt, r, s] == pytest.approx(expected)

    def test_shifts_have_the_mean_and_the_spread_of_a_mean_tau(self):
        # The variance of a mean is the variance of its prompts over n, each pair by the prompts both answered.
        ranks = gaussian(np.random.default_rng(21), 40, [4], 1.0)
        ranks[:25, 0] = -1
        ranks[1:, 3] = -1  # rater 3 meets the others once: no spread can be had
        shifts = redrawn_shifts(prompt_taus(ranks), ranks[:, :, 0] >= 0, redraws=20_000, rng=np.random.default_rng(22))
        error = pair_tau(ranks).error
        assert shifts[:, 0, 1].std() == pytest.approx(error[0, 1], rel=0.03)  # 15 prompts
        assert shifts[:, 1, 2].std() == pytest.approx(error[1, 2], rel=0.03)  # 40
        assert shifts[:, 1, 2].mean() == pytest.approx(0, abs=0.002)
        assert not shifts[:, 3].any()

    def test_power_redraws_the_prompts_it_simulates(self):
        # The shifts that the simulation adds up as it goes are those of its own panels: same spread, either way.
        thetas, camps, everyone = np.full(4, 1.0), np.zeros(4, np.int64), np.ones((30, 4), bool)
        means, shifts, _ = mallows_panels._draw_taus(thetas, camps, everyone, 4, 4000, np.random.default_rng(23))
        assert shifts[:, 0, 1].std() == pytest.approx(means[:, 0, 1].std(), rel=0.05)
        assert abs(np.corrcoef(shifts[:, 0, 1], means[:, 0, 1])[0, 1]) < 0.05


class TestVerdicts:
    def test_two_factions_that_T_pmax_and_cycles_cannot_see(self):
        # Gaussian noise 1.0 in two factions of 3 and 2 gives the same T, p_max and cycles as noise 1.9 in
        # one order.
        rng = np.random.default_rng(3)
        two = faction_test(gaussian(rng, 80, [3, 2], 1.0), rng=rng, redraws=299)
        one = faction_test(gaussian(rng, 80, [5], 1.9), rng=rng, redraws=299)
        assert two.verdict == FACTIONS
        assert (two.split.first, two.split.second) == ((0, 1, 2), (3, 4))
        # Within a faction tau = (2/pi) asin(1/2) = 1/3, between 0.
        assert two.split.within == pytest.approx(1 / 3, abs=0.08)
        assert two.split.between == pytest.approx(0, abs=0.08)
        assert one.verdict == ONE_ORDER
        assert one.power > 0.9

    def test_a_careless_rater_is_not_a_faction(self):
        rng = np.random.default_rng(4)
        found = faction_test(gaussian(rng, 80, [5], [1, 1, 1, 1, 1000]), rng=rng, redraws=299)
        assert found.verdict == ONE_ORDER
        alike = np.diag(found.fitted)  # the tau of two raters like this one
        assert alike[4] < 0.05 < 0.2 < alike[:4].min()

    def test_opposite_orders_are_factions_not_negative_noise(self):
        rng = np.random.default_rng(5)
        ranks = gaussian(rng, 40, [5], 0.7)
        ranks[:, 3:] = 3 - ranks[:, 3:]
        assert faction_test(ranks, rng=rng, redraws=299).verdict == FACTIONS

    def test_few_prompts_are_not_distinguishable(self):
        rng = np.random.default_rng(6)
        found = faction_test(gaussian(rng, 8, [5], 1.9), rng=rng, redraws=299)
        assert found.power < 0.8
        assert found.verdict == NOT_DISTINGUISHABLE

    def test_absent_raters(self):
        rng = np.random.default_rng(7)
        ranks = gaussian(rng, 160, [3, 3], 1.0)
        ranks[np.arange(160), rng.integers(0, 6, 160)] = -1
        found = faction_test(ranks, rng=rng, redraws=299)
        assert found.verdict == FACTIONS
        assert (found.split.first, found.split.second) == ((0, 1, 2), (3, 4, 5))

    def test_relabelled_raters_and_items_change_no_statistic(self):
        rng = np.random.default_rng(8)
        ranks = gaussian(rng, 30, [3, 2], 1.0)
        order = rng.permutation(5)
        one = faction_test(ranks, rng=rng, redraws=199)
        two = faction_test(ranks[:, order][:, :, rng.permutation(4)], rng=rng, redraws=199)
        assert two.test.statistic == pytest.approx(one.test.statistic, abs=2e-3)
        back = {frozenset(order[list(camp)].tolist()) for camp in (two.split.first, two.split.second)}
        assert back == {frozenset(one.split.first), frozenset(one.split.second)}

    def test_same_seed_same_answer(self):
        ranks = gaussian(np.random.default_rng(9), 20, [4], 1.0)
        one, two = (faction_test(ranks, rng=np.random.default_rng(1), redraws=199) for _ in range(2))
        assert (one.test, one.power) == (two.test, two.power)


def rejects(rng, studies, prompts, camps, noise, items=4):
    """Share of simulated studies in which one order is rejected at 5%."""
    drawn = (gaussian(rng, prompts, camps, noise, items) for _ in range(studies))
    return np.mean([one_order_test(ranks, rng=rng, redraws=59).test.p <= 0.05 for ranks in drawn])


@pytest.mark.parametrize(
    ("items", "prompts", "raters", "noise"), [(3, 20, 5, 0.5), (3, 60, 5, 1.0), (3, 20, 8, 1.0), (4, 20, 5, 1.0)]
)
def test_size_where_raters_agree_on_few_items(items, prompts, raters, noise):
    # Panels simulated from the fitted Mallows model rejected .18 of the first and .13 of the third.
    assert rejects(np.random.default_rng(10), 100, prompts, [raters], noise, items) <= 0.06


def test_careful_and_careless_raters_are_one_order_however_many_prompts():
    # Mallows alone cannot give this matrix, and rejected it in four studies of five.
    assert rejects(np.random.default_rng(25), 20, 2000, [5], [0.2, 0.2, 2, 2, 2]) <= 0.2


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1.9, [0.8, 1.2, 1.9, 2.5, 6.0], [1, 1, 1, 1, 1000]])
@pytest.mark.parametrize("items", [3, 4])
def test_size_under_one_order(noise, items):
    # 2,000 studies: the standard error of a rate of .06, which one careless rater of five has, is .005.
    assert rejects(np.random.default_rng(10), 2000, 80, [5], noise, items) <= 0.07


def test_stated_power_is_the_power():
    # The power named for 20 prompts is met by panels simulated from the alternative with Gaussian noise 1.0.
    rng = np.random.default_rng(11)
    stated, words = faction_power(0.4 / 3, np.ones((20, 5), bool), 4, rng=rng)
    assert "factions of 3 and 2, tau 0.33 within" in words
    assert stated == pytest.approx(rejects(rng, 200, 20, [3, 2], 1.0), abs=0.12)


def test_power_at_its_ends():
    rng, everyone = np.random.default_rng(12), np.ones((20, 5), bool)
    assert faction_power(-0.1, everyone, 4, rng=rng)[0] == 0.05
    power, words = faction_power(0.9, everyone, 4, rng=rng)
    assert power == 1
    assert "impossible" in words


def test_many_raters_split_without_enumeration():
    camp = np.repeat([0, 1], [9, 7])
    tau = np.where(camp[:, None] == camp[None, :], 0.4, 0.0)
    split = best_split(tau, np.full((16, 16), 50.0), np.zeros((16, 16)))
    assert split.first == tuple(range(9))
    assert (split.within, split.between) == (pytest.approx(0.4), pytest.approx(0))


def test_split_by_hand():
    # Camps {0,1} and {2,3}: tau .5 within, .1 between, and rater 3 agrees .1 less with everybody: contrast
    # .4.
    tau = np.array([[1, 0.5, 0.1, 0.0], [0.5, 1, 0.1, 0.0], [0.1, 0.1, 1, 0.4], [0.0, 0.0, 0.4, 1]])
    split = best_split(tau, np.full((4, 4), 20.0), np.zeros((4, 4)))
    assert (split.first, split.second) == ((0, 1), (2, 3))
    assert split.contrast == pytest.approx(0.4)
    assert (split.within, split.between) == (pytest.approx(0.45), pytest.approx(0.05))


def test_equal_splits_do_not_hang_on_the_last_digit() -> None:
    """r0 + r1 against r2 + r3 explains as much as r0 + r2 against r1 + r3: no rounding may decide between them."""
    tau = np.full((4, 4), 0.1)
    tau[0, 1] = tau[2, 3] = tau[0, 2] = tau[1, 3] = 0.3
    tau = np.triu(tau, 1) + np.triu(tau, 1).T
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(40):
        noise = np.triu(rng.normal(0, 1e-14, (4, 4)), 1)
        split = best_split(tau + noise + noise.T, np.full((4, 4), 20.0), np.zeros((4, 4)))
        found.add((split.first, split.second))
    assert found == {((0, 1), (2, 3))}


class TestEdges:
    rng = np.random.default_rng(13)

    @pytest.mark.parametrize("raters", [2, 3])
    def test_three_raters_cannot_tell(self, raters):
        with pytest.raises(TooFew, match="at least four raters"):
            faction_test(gaussian(self.rng, 30, [raters], 1.0), rng=self.rng)

    def test_raters_who_never_meet(self):
        ranks = gaussian(self.rng, 30, [4], 1.0)
        ranks[:15, :2] = -1
        ranks[15:, 2:] = -1
        with pytest.raises(TooFew, match="share prompts"):
            faction_test(ranks, rng=self.rng)

    def test_other_named_errors(self):
        ranks = gaussian(self.rng, 30, [4], 1.0)
        with pytest.raises(BadValue, match="199 redraws"):
            faction_test(ranks, rng=self.rng, redraws=10)
        ranks[0, 0] = 0
        with pytest.raises(TiesNotAllowed):
            faction_test(ranks, rng=self.rng)
        with pytest.raises(TooFew):
            faction_test(gaussian(self.rng, 1, [5], 1.0), rng=self.rng)
