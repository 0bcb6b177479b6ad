"""One taste or camps: the bound by hand and by search, size under unequal care, power, and the edges."""

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau

from salon.errors import TiesNotAllowed, TooFew
from salon.stats import faction_test, pair_tau
from salon.stats.factions import (
    CAMPS,
    CANNOT_TELL,
    ONE_TASTE,
    _all_sides,
    _choose_camps,
    _cut,
    _gap,
    _norms,
    _parts,
    _signs,
    faction_power,
    least_between,
)


def ranked(seen):
    return np.argsort(np.argsort(-seen, axis=2), axis=2)


def gaussian(rng, prompts, sizes, noise, items=4):
    """Ranks by utility plus Gaussian noise; each camp has its own utilities."""
    utility = np.repeat(rng.normal(size=(prompts, len(sizes), items)), sizes, axis=1)
    sd = np.broadcast_to(noise, (sum(sizes),))[:, None]
    return ranked(utility + sd * rng.normal(size=utility.shape))


def lazy_and_noisy(rng, prompts):
    """One order; a plainly bad item; two careful raters who sleep on a fifth of the prompts, three noisy ones."""
    utility = rng.normal(size=(prompts, 1, 4))
    utility[:, :, 3] -= 4
    seen = utility + np.array([0.2, 0.2, 2, 2, 2])[:, None] * rng.normal(size=(prompts, 5, 4))
    asleep = rng.random((prompts, 5)) < [0.2, 0.2, 0, 0, 0]
    seen[asleep] = rng.normal(size=(int(asleep.sum()), 4))
    return ranked(seen)


def easy_and_hard(rng, prompts):
    """One order; half of the prompts have items that hardly differ; unequal noise."""
    utility = rng.normal(size=(prompts, 1, 4)) * rng.choice([0.1, 2.5], (prompts, 1, 1))
    return ranked(utility + np.array([0.2, 0.3, 1, 2, 3])[:, None] * rng.normal(size=(prompts, 5, 4)))


class TestBound:
    """One order keeps the tau between camps at or above least_between of the taus within."""

    def test_by_hand(self):
        # F is 1 on a quarter of the pairs and 0 elsewhere, G is 1/2 everywhere: E F^2 = E G^2 = 1/4, E FG = 1/8.
        assert least_between(0.25, 0.25) == pytest.approx(1 / 8)
        assert least_between(0.25, 1.0) == least_between(1.0, 0.25) == pytest.approx(0.25)
        assert least_between(-0.1, 0.5) == 0

    def test_no_rising_strengths_fall_below_it(self):
        # The extremes are mixtures of steps: E F^2 is convex, and convex functions are largest at extreme points.
        rng = np.random.default_rng(0)
        ease = (np.arange(200) + 0.5) / 200
        lowest = 9.0
        for _ in range(20_000):
            f, g = (
                (ease[:, None] >= rng.random(3) * (rng.random(3) > 0.3)) @ rng.dirichlet([0.4] * 4)[:3]
                for _ in range(2)
            )
            x, y = (f * f).mean(), (g * g).mean()
            if min(x, y) > 1e-3:
                lowest = min(lowest, (f * g).mean() / least_between(x, y))
        assert 1 - 1e-9 <= lowest < 1.1

    def test_unequal_members_only_lower_the_tau_within(self):
        rng = np.random.default_rng(1)
        f = np.sort(rng.random((5, 400)), axis=1) ** rng.uniform(0.2, 5, (5, 1))
        products = f @ f.T / 400
        within = (products.sum() - np.trace(products)) / 20
        assert within <= (f.mean(axis=0) ** 2).mean()


class TestParts:
    def test_taus_within_and_between_by_another_tool(self):
        ranks = gaussian(np.random.default_rng(2), 6, [5], 1.0, items=5)
        ranks[2, 1] = ranks[4, 3] = -1
        camp = np.array([True, True, True, False, False])
        parts = _parts(_signs(ranks), np.tile(camp, (6, 1)))
        for prompt in range(6):
            there = [r for r in range(5) if ranks[prompt, r, 0] >= 0]
            expected = np.zeros(6)
            for r, s in itertools.combinations(there, 2):
                column = 4 if camp[r] != camp[s] else 0 if camp[r] else 2
                expected[column] += kendalltau(ranks[prompt, r], ranks[prompt, s]).statistic
                expected[column + 1] += 1
            np.testing.assert_allclose(parts[prompt], expected, atol=1e-6)

    def test_the_error_is_that_of_the_bootstrap(self):
        rng = np.random.default_rng(3)
        parts = _parts(_signs(gaussian(rng, 300, [3, 3], 0.8)), np.tile([True] * 3 + [False] * 3, (300, 1)))
        gap, error, x, y, between, used = _gap(parts)
        assert gap == pytest.approx(least_between(x, y) - between)
        assert used == 300
        drawn = [_gap(parts[rng.integers(0, 300, 300)])[0] for _ in range(2000)]
        assert error == pytest.approx(np.std(drawn), rel=0.06)


class TestCamps:
    def test_norms_by_least_squares(self):
        for raters in (4, 5, 7):
            rows, columns = np.triu_indices(raters, 1)
            effects = np.zeros((len(rows), raters))
            effects[np.arange(len(rows)), rows] = effects[np.arange(len(rows)), columns] = 1
            free = np.eye(len(rows)) - effects @ np.linalg.pinv(effects)
            sides = _all_sides(raters)
            same = (sides[:, rows] == sides[:, columns]).astype(float) @ free
            np.testing.assert_allclose(_norms(sides), np.sqrt((same**2).sum(axis=1)), atol=1e-9)

    def test_camps_by_hand(self):
        # tau .5 within {0,1} and {2,3}, .1 between, and rater 3 agrees .1 less with everybody.
        tau = np.array([[0, 0.5, 0.1, 0.0], [0.5, 0, 0.1, 0.0], [0.1, 0.1, 0, 0.4], [0.0, 0.0, 0.4, 0]])
        (camp,) = _choose_camps(tau[None] * 20, np.full((1, 4, 4), 20.0))
        assert camp.tolist() in ([True, True, False, False], [False, False, True, True])

    def test_many_raters_are_cut_as_enumeration_would(self):
        rng = np.random.default_rng(4)
        for _ in range(20):
            camp = np.array([1] * 6 + [-1] * 5)
            left = np.outer(camp, camp) * 0.2 + np.triu(rng.normal(0, 0.15, (11, 11)), 1)
            left = np.triu(left, 1) + np.triu(left, 1).T
            sides = _all_sides(11)
            values = np.einsum("cr,rs,cs->c", sides, left, sides) / _norms(sides)
            side = np.where(_cut(left), 1, -1)
            assert side @ left @ side / _norms(side[None])[0] == pytest.approx(values.max())

    def test_equal_camps_do_not_hang_on_the_last_digit(self):
        # 0 + 1 against 2 + 3 explains as much as 0 + 2 against 1 + 3: no rounding may decide between them.
        tau = np.full((4, 4), 0.1)
        tau[0, 1] = tau[2, 3] = tau[0, 2] = tau[1, 3] = 0.3
        tau = np.triu(tau, 1) + np.triu(tau, 1).T
        noise = np.triu(np.random.default_rng(0).normal(0, 1e-14, (40, 4, 4)), 1)
        camps = _choose_camps(tau + noise + noise.transpose(0, 2, 1), np.ones((40, 4, 4)))
        assert (camps == camps[0]).all()


class TestAnswers:
    def test_two_camps_that_T_pmax_and_cycles_cannot_see(self):
        # Noise 1.0 in two camps of 3 and 2 gives the same T, p_max and cycles as noise 1.9 in one order.
        rng = np.random.default_rng(3)
        two = faction_test(gaussian(rng, 120, [3, 2], 1.0), rng=rng)
        one = faction_test(gaussian(rng, 120, [5], 1.9), rng=rng)
        assert two.answer == CAMPS
        assert two.camps == ((0, 1, 2), (3, 4))
        # Within a camp tau = (2/pi) asin(1/2) = 1/3, between 0: the gap is 3^-1.5 = .192.
        assert np.mean(two.within) == pytest.approx(1 / 3, abs=0.08)
        assert two.between == pytest.approx(0, abs=0.08)
        assert two.gap.low < 3**-1.5 < two.gap.high
        assert two.gap.value == pytest.approx(two.least - two.between)
        assert two.gap.low > 0
        assert one.answer == ONE_TASTE
        assert one.gap.high < 0
        assert one.power > 0.9

    def test_a_careless_rater_is_no_camp(self):
        rng = np.random.default_rng(4)
        assert faction_test(gaussian(rng, 80, [5], [1, 1, 1, 1, 1000]), rng=rng).answer == ONE_TASTE

    def test_opposite_orders_are_camps(self):
        rng = np.random.default_rng(5)
        ranks = gaussian(rng, 40, [5], 0.7)
        ranks[:, 3:] = 3 - ranks[:, 3:]
        assert faction_test(ranks, rng=rng).answer == CAMPS

    def test_perfect_camps_and_perfect_agreement_show_no_spread(self):
        rng = np.random.default_rng(14)
        order = ranked(rng.normal(size=(20, 1, 4)))
        assert faction_test(np.repeat(order, 5, axis=1), rng=rng).answer == ONE_TASTE
        opposed = np.concatenate([np.repeat(order, 3, axis=1), np.repeat(3 - order, 2, axis=1)], axis=1)
        assert faction_test(opposed, rng=rng).answer == CAMPS

    def test_few_prompts_cannot_tell(self):
        rng = np.random.default_rng(6)
        found = faction_test(gaussian(rng, 10, [5], 1.9), rng=rng)
        assert found.power < 0.8
        assert found.answer == CANNOT_TELL

    def test_absent_raters(self):
        rng = np.random.default_rng(7)
        ranks = gaussian(rng, 160, [3, 3], 1.0)
        ranks[np.arange(160), rng.integers(0, 6, 160)] = -1
        found = faction_test(ranks, rng=rng)
        assert found.answer == CAMPS
        assert found.camps == ((0, 1, 2), (3, 4, 5))

    def test_prompts_of_different_sizes_are_put_together(self):
        rng = np.random.default_rng(8)
        shapes = [gaussian(rng, 40, [3, 2], 0.7, items) for items in (3, 4, 6)]
        assert faction_test(shapes, rng=rng).camps == ((0, 1, 2), (3, 4))

    def test_relabelled_items_change_nothing(self):
        rng = np.random.default_rng(8)
        ranks = gaussian(rng, 30, [3, 2], 1.0)
        one, two = (faction_test(r, rng=np.random.default_rng(1)) for r in (ranks, ranks[:, :, rng.permutation(4)]))
        assert two.gap.value == pytest.approx(one.gap.value)
        assert two.test.p == pytest.approx(one.test.p)

    def test_relabelled_raters_find_the_same_camps(self):
        rng = np.random.default_rng(8)
        ranks, order = gaussian(rng, 60, [3, 2], 0.5), rng.permutation(5)
        found = faction_test(ranks[:, order], rng=rng)
        assert {frozenset(order[list(camp)].tolist()) for camp in found.camps} == {
            frozenset({0, 1, 2}),
            frozenset({3, 4}),
        }

    def test_same_seed_same_answer(self):
        ranks = gaussian(np.random.default_rng(9), 20, [4], 1.0)
        one, two = (faction_test(ranks, rng=np.random.default_rng(1)) for _ in range(2))
        assert (one.test, one.power) == (two.test, two.power)

    def test_taus_are_those_of_the_matrix(self):
        rng = np.random.default_rng(10)
        ranks = gaussian(rng, 400, [3, 2], 0.5)
        tau, found = pair_tau(ranks).mean, faction_test(ranks, rng=rng)
        assert found.within[0] == pytest.approx((tau[0, 1] + tau[0, 2] + tau[1, 2]) / 3, abs=0.01)
        assert found.within[1] == pytest.approx(tau[3, 4], abs=0.01)
        assert found.between == pytest.approx(tau[:3, 3:].mean(), abs=0.01)


@pytest.mark.parametrize("draw", [lazy_and_noisy, easy_and_hard])
@pytest.mark.parametrize("prompts", [300, 1000])
def test_unequal_care_is_one_taste(draw, prompts):
    # A model of Mallows or Gaussian noise, the same on all prompts, called up to 32% of such studies factions.
    rng = np.random.default_rng(5)
    results = [faction_test(draw(rng, prompts), rng=rng) for _ in range(6)]
    assert {result.answer for result in results} == {ONE_TASTE}


def test_random_raters_are_seldom_camps():
    rng = np.random.default_rng(6)
    p = [faction_test(ranked(rng.normal(size=(30, 5, 4))), rng=rng).test.p for _ in range(100)]
    assert np.mean(np.array(p) <= 0.05) <= 0.1  # the rate is .02; 11 and more of 100 have chance 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "sizes", "noise"), [(40, [3, 2], 1.0), (300, [3, 2], 1.9), (40, [5, 5], 1.2)])
def test_stated_power_is_the_power(prompts, sizes, noise):
    rng = np.random.default_rng(11)
    results = [faction_test(gaussian(rng, prompts, sizes, noise), rng=rng) for _ in range(200)]
    found = np.mean([result.test.p <= 0.05 for result in results])
    assert np.median([result.power for result in results]) <= found + 0.1


def test_power_at_its_ends():
    rng, everyone = np.random.default_rng(12), np.ones((20, 5), bool)
    assert faction_power(-0.1, everyone, 4, rng=rng)[0] == 0.05
    power, words = faction_power(0.9, everyone, 4, rng=rng)
    assert power == 1
    assert "impossible" in words
    assert "camps of 8 and 2" in faction_power(0.2, np.ones((20, 10), bool), 4, rng=rng)[1]  # the harder one to find


class TestEdges:
    rng = np.random.default_rng(13)

    @pytest.mark.parametrize("raters", [2, 3])
    def test_three_raters_cannot_tell(self, raters):
        with pytest.raises(TooFew, match="at least four raters"):
            faction_test(gaussian(self.rng, 30, [raters], 1.0), rng=self.rng)

    @pytest.mark.parametrize("prompts", [1, 9])
    def test_few_prompts_cannot_tell(self, prompts):
        with pytest.raises(TooFew, match="at least 10 prompts"):
            faction_test(gaussian(self.rng, prompts, [50], 1.0), rng=self.rng)

    def test_raters_who_never_meet(self):
        ranks = gaussian(self.rng, 30, [4], 1.0)
        ranks[:15, :2] = -1
        ranks[15:, 2:] = -1
        with pytest.raises(TooFew, match="share prompts"):
            faction_test(ranks, rng=self.rng)

    def test_ties_are_refused(self):
        ranks = gaussian(self.rng, 30, [4], 1.0)
        ranks[0, 0] = 0
        with pytest.raises(TiesNotAllowed):
            faction_test(ranks, rng=self.rng)
