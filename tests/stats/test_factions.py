"""Factions: the one-order model against definitions, the size and power of its test, and the edges."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from salon.errors import BadValue, TiesNotAllowed, TooFew
from salon.stats import one_order
from salon.stats.agreement import pair_tau
from salon.stats.factions import (
    FACTIONS,
    NOT_DISTINGUISHABLE,
    ONE_ORDER,
    best_split,
    faction_power,
    faction_test,
)
from salon.stats.one_order import fit_one_order, mallows_signs, noise_grid, simulated_lack_of_fit

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
        grid = noise_grid(items)
        share = (items - np.arange(1, items)) / (items * (items - 1) / 2)
        exact = mallows_signs(grid.thetas, items) * np.sqrt(share)
        np.testing.assert_allclose(grid.features @ grid.features[::400].T, exact @ exact[::400].T, atol=2e-4)

    def test_the_fit_gives_back_its_own_matrix(self):
        grid = noise_grid(4)
        place = np.array([300, 900, 1500, 2200, 100])
        tau = grid.features[place] @ grid.features[place].T
        found, q = fit_one_order(tau, np.full((5, 5), 80.0), grid.features)
        np.testing.assert_allclose(grid.thetas[found], grid.thetas[place], atol=0.01)
        assert q < 1e-3

    @pytest.mark.parametrize("seed", range(4))
    def test_scipy_finds_no_better_fit(self, seed):
        rng = np.random.default_rng(seed)
        ranks = gaussian(rng, 60, [3, 2], 1.0) if seed % 2 else gaussian(rng, 60, [5], [0.5, 1, 2, 3, 9])
        tau, grid = pair_tau(ranks).mean, noise_grid(4)
        place, q = fit_one_order(tau, np.full((5, 5), 60.0), grid.features)
        upper = np.triu_indices(5, 1)

        def loss(thetas):
            f = mallows_signs(thetas, 4) * np.sqrt(SHARE)
            return 60 * ((tau - f @ f.T)[upper] ** 2).sum()

        starts = [grid.thetas[place], np.full(5, 0.5), rng.random(5) * 2]
        best = min(minimize(loss, x, bounds=[(0, 7)] * 5, method="L-BFGS-B").fun for x in starts)
        assert q == pytest.approx(best, abs=2e-3)

    def test_simulated_panels_have_the_expected_taus(self):
        thetas = np.array([0.5, 1.0, 2.0, 0.0])
        everyone = np.ones((50, 4), bool)
        taus = one_order._draw_taus(thetas, np.array([0, 0, 1, 1]), everyone, 4, 400, np.random.default_rng(1)).mean(
            axis=0
        )
        f = mallows_signs(thetas, 4) * np.sqrt(SHARE)
        expected = (f @ f.T) * np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
        np.testing.assert_allclose(taus, expected, atol=0.015)

    def test_the_normal_limit_equals_the_exact_simulation(self, monkeypatch):
        everyone, grid = np.ones((300, 5), bool), noise_grid(4)
        everyone[:100, 0] = False
        settings = {"simulations": 1500, "rng": np.random.default_rng(2)}
        thetas, together = np.array([0.3, 0.5, 0.8, 1.0, 1.5]), np.zeros(5, np.int64)
        exact = simulated_lack_of_fit(thetas, together, everyone, grid, **settings)
        monkeypatch.setattr(one_order, "_EXACT_PROMPTS", 10)
        limit = simulated_lack_of_fit(thetas, together, everyone, grid, **settings)
        np.testing.assert_allclose(np.quantile(limit, [0.5, 0.9]), np.quantile(exact, [0.5, 0.9]), rtol=0.12)


class TestVerdicts:
    def test_two_factions_that_T_pmax_and_cycles_cannot_see(self):
        # Gaussian noise 1.0 in two factions of 3 and 2 gives the same T, p_max and cycles as noise 1.9 in
        # one order.
        rng = np.random.default_rng(3)
        two = faction_test(gaussian(rng, 80, [3, 2], 1.0), rng=rng, simulations=299)
        one = faction_test(gaussian(rng, 80, [5], 1.9), rng=rng, simulations=299)
        assert two.verdict == FACTIONS
        assert (two.split.first, two.split.second) == ((0, 1, 2), (3, 4))
        # Within a faction tau = (2/pi) asin(1/2) = 1/3, between 0.
        assert two.split.within == pytest.approx(1 / 3, abs=0.08)
        assert two.split.between == pytest.approx(0, abs=0.08)
        assert one.verdict == ONE_ORDER
        assert one.power > 0.9

    def test_a_careless_rater_is_not_a_faction(self):
        rng = np.random.default_rng(4)
        found = faction_test(gaussian(rng, 80, [5], [1, 1, 1, 1, 1000]), rng=rng, simulations=299)
        assert found.verdict == ONE_ORDER
        assert found.thetas[4] < 0.4 < found.thetas[:4].min()

    def test_opposite_orders_are_factions_not_negative_noise(self):
        rng = np.random.default_rng(5)
        ranks = gaussian(rng, 40, [5], 0.7)
        ranks[:, 3:] = 3 - ranks[:, 3:]
        assert faction_test(ranks, rng=rng, simulations=299).verdict == FACTIONS

    def test_few_prompts_are_not_distinguishable(self):
        rng = np.random.default_rng(6)
        found = faction_test(gaussian(rng, 8, [5], 1.9), rng=rng, simulations=299)
        assert found.power < 0.8
        assert found.verdict == NOT_DISTINGUISHABLE

    def test_absent_raters(self):
        rng = np.random.default_rng(7)
        ranks = gaussian(rng, 160, [3, 3], 1.0)
        ranks[np.arange(160), rng.integers(0, 6, 160)] = -1
        found = faction_test(ranks, rng=rng, simulations=299)
        assert found.verdict == FACTIONS
        assert (found.split.first, found.split.second) == ((0, 1, 2), (3, 4, 5))

    def test_relabelled_raters_and_items_change_no_statistic(self):
        rng = np.random.default_rng(8)
        ranks = gaussian(rng, 30, [3, 2], 1.0)
        order = rng.permutation(5)
        one = faction_test(ranks, rng=rng, simulations=199)
        two = faction_test(ranks[:, order][:, :, rng.permutation(4)], rng=rng, simulations=199)
        assert two.test.statistic == pytest.approx(one.test.statistic, abs=2e-3)
        back = {frozenset(order[list(camp)].tolist()) for camp in (two.split.first, two.split.second)}
        assert back == {frozenset(one.split.first), frozenset(one.split.second)}

    def test_same_seed_same_answer(self):
        ranks = gaussian(np.random.default_rng(9), 20, [4], 1.0)
        one, two = (faction_test(ranks, rng=np.random.default_rng(1), simulations=199) for _ in range(2))
        assert (one.test, one.power) == (two.test, two.power)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1.9, [0.8, 1.2, 1.9, 2.5, 6.0], [1, 1, 1, 1, 1000]])
def test_size_under_one_order(noise):
    # 150 studies: the standard error of a rate of .05 is .018. Longer runs (400 studies each) gave .043 to
    # .072.
    rng = np.random.default_rng(10)
    grid, together, everyone = noise_grid(4), np.zeros(5, np.int64), np.ones((80, 5), bool)
    rejected = 0
    for _ in range(150):
        tau = pair_tau(gaussian(rng, 80, [5], noise)).mean
        place, q = fit_one_order(tau, np.full((5, 5), 80.0), grid.features)
        null = simulated_lack_of_fit(grid.thetas[place], together, everyone, grid, simulations=99, rng=rng)
        rejected += (1 + (null >= q).sum()) / 100 <= 0.05
    assert rejected / 150 <= 0.11


def test_stated_power_is_the_power():
    # The power named for 20 prompts is met by panels simulated from the alternative with Gaussian noise 1.0.
    rng = np.random.default_rng(11)
    everyone, grid, together = np.ones((20, 5), bool), noise_grid(4), np.zeros(5, np.int64)
    stated, words = faction_power(0.4 / 3, everyone, 4, rng=rng, simulations=400)
    assert "factions of 3 and 2, tau 0.33 within" in words
    rejected = 0
    for _ in range(120):
        tau = pair_tau(gaussian(rng, 20, [3, 2], 1.0)).mean
        place, q = fit_one_order(tau, np.full((5, 5), 20.0), grid.features)
        null = simulated_lack_of_fit(grid.thetas[place], together, everyone, grid, simulations=99, rng=rng)
        rejected += (1 + (null >= q).sum()) / 100 <= 0.05
    assert stated == pytest.approx(rejected / 120, abs=0.14)


def test_power_at_its_ends():
    rng, everyone = np.random.default_rng(12), np.ones((20, 5), bool)
    assert faction_power(-0.1, everyone, 4, rng=rng)[0] == 0.05
    power, words = faction_power(0.9, everyone, 4, rng=rng)
    assert power == 1
    assert "impossible" in words


def test_many_raters_split_without_enumeration():
    camp = np.repeat([0, 1], [9, 7])
    tau = np.where(camp[:, None] == camp[None, :], 0.4, 0.0)
    split = best_split(tau, np.full((16, 16), 50.0))
    assert split.first == tuple(range(9))
    assert (split.within, split.between) == (pytest.approx(0.4), pytest.approx(0))


def test_split_by_hand():
    # Camps {0,1} and {2,3}: tau .5 within, .1 between, and rater 3 agrees .1 less with everybody: contrast
    # .4.
    tau = np.array([[1, 0.5, 0.1, 0.0], [0.5, 1, 0.1, 0.0], [0.1, 0.1, 1, 0.4], [0.0, 0.0, 0.4, 1]])
    split = best_split(tau, np.full((4, 4), 20.0))
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
        split = best_split(tau + noise + noise.T, np.full((4, 4), 20.0))
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
        with pytest.raises(BadValue, match="199 simulations"):
            faction_test(ranks, rng=self.rng, simulations=10)
        ranks[0, 0] = 0
        with pytest.raises(TiesNotAllowed):
            faction_test(ranks, rng=self.rng)
        with pytest.raises(TooFew):
            faction_test(gaussian(self.rng, 1, [5], 1.0), rng=self.rng)
