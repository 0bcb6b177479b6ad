"""Protocols compared: each measure by hand, by definition or by scipy; jackknife coverage; the edges."""

import itertools

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats import induced_outcomes, outcome_counts
from salon.stats.agreement import kendall_w, outcome_agreement
from salon.stats.stability import (
    consensus,
    consensus_accuracy,
    equal_judgments,
    half_splits,
    jackknife_mean,
    k_of_raters,
    kendall_ws,
    leave_one_rater_out,
    rank_displacement,
    rater_correlation,
    rater_elo,
    split_half,
    triplet_separation,
)


def panel(seed, raters=5, items=50, noise=1.0, steps=None):
    """Scores of a shared quality plus noise, rounded to `steps` levels if asked."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=items) + noise * rng.normal(size=(raters, items))
    return x if steps is None else np.clip(np.round(x * 1.2 + (steps + 1) / 2), 1, steps)


def every_pair(scores):
    """Complete comparisons of each rater, as their scores order them: (first, second, outcome, rater)."""
    raters, items = scores.shape
    a, b = np.triu_indices(items, 1)
    o = [(np.sign(row[a] - row[b]) + 1) / 2 for row in scores]
    return np.tile(a, raters), np.tile(b, raters), np.concatenate(o), np.repeat(np.arange(raters), len(a))


def folds(scores):
    """Kendall's W without each of the items."""
    return np.array([kendall_w(np.delete(scores, i, axis=1)).w for i in range(scores.shape[1])])


class TestMeasures:
    def test_consensus_by_hand(self):
        # Mid-ranks (1,2,3) and (1.5,1.5,3): means 1.25, 1.75, 3.
        np.testing.assert_allclose(consensus([[1, 2, 9], [4, 4, 5]]), [1.25, 1.75, 3])

    def test_rater_correlation_against_scipy(self):
        x = panel(7, steps=5)
        pairs = list(itertools.combinations(x, 2))
        found = rater_correlation(x)
        assert found.rho == pytest.approx(np.mean([stats.spearmanr(*pair).statistic for pair in pairs]))
        assert found.tau == pytest.approx(np.mean([stats.kendalltau(*pair).statistic for pair in pairs]))

    def test_rater_correlation_by_hand(self):
        # Ranks 1 2 3 against 2 1 3: rho = 1 - 6 x 2 / 24 = 1/2, tau = (2 - 1)/3. Against all ties: 0.
        assert rater_correlation([[1, 2, 3], [2, 1, 3]]) == pytest.approx((1 / 2, 1 / 3))
        assert rater_correlation([[1, 2, 3], [5, 5, 5]]) == (0.0, 0.0)

    def test_a_stack_is_its_tables_one_by_one(self):
        tables = np.stack([panel(seed, steps=5) for seed in range(3)]).reshape(3, 1, 5, 50)
        splits, rng = half_splits(5, rng=np.random.default_rng(0)), np.random.default_rng(0)
        measures = [
            kendall_ws,
            rater_correlation,
            rank_displacement,
            consensus_accuracy,
            lambda x: leave_one_rater_out(x)[:2],
            lambda x: split_half(x, splits),
            lambda x: k_of_raters(x, 3, rng=rng)[:2],
        ]
        for measure in measures:
            alone = [np.atleast_1d(measure(x[0])) for x in tables]
            stacked = np.asarray(measure(tables))[..., 0]
            np.testing.assert_allclose(np.atleast_2d(stacked).T, alone)

    def test_kendall_ws_is_kendall_w(self):
        assert kendall_ws(panel(3, steps=5)) == pytest.approx(kendall_w(panel(3, steps=5)).w)
        assert np.isnan(kendall_ws(np.ones((2, 4))))

    def test_half_splits(self):
        rng = np.random.default_rng(0)
        five = half_splits(5, rng=rng)
        assert len(five) == 10
        assert all(len(a) == 2 and len(b) == 3 and set(a) | set(b) == set(range(5)) for a, b in five)
        assert len(half_splits(6, rng=rng)) == 10  # 20 halves, each division counted once
        assert len(half_splits(30, rng=rng, at_most=40)) == 40

    def test_split_half_against_scipy(self):
        x = panel(1, steps=5)
        splits = half_splits(5, rng=np.random.default_rng(0))
        ranks = stats.rankdata(x, axis=1)
        rho = [stats.spearmanr(ranks[list(a)].mean(0), ranks[list(b)].mean(0)).statistic for a, b in splits]
        assert split_half(x, splits) == pytest.approx(np.mean(rho))

    def test_triplets_by_definition(self):
        x, tiers = panel(2, items=20, steps=5), np.random.default_rng(3).integers(-1, 3, 20)
        rank = consensus(x)
        groups = [np.flatnonzero(tiers == t) for t in (2, 1, 0)]
        right = [rank[h] > rank[m] > rank[low] for h, m, low in itertools.product(*groups)]
        assert triplet_separation(x, tiers) == pytest.approx(np.mean(right))

    def test_consensus_accuracy_by_hand(self):
        # Consensus of (1,2,3), (1,2,3), (2,1,3) is 1 < 2 < 3. Third rater: 2 of 3 pairs. (3 + 3 + 2)/9.
        assert consensus_accuracy([[1, 2, 3], [1, 2, 3], [2, 1, 3]]) == pytest.approx(8 / 9)
        # A rater who ties everything scores half on every pair.
        assert consensus_accuracy([[1, 2, 3], [1, 2, 3], [5, 5, 5]]) == pytest.approx((1 + 1 + 0.5) / 3)

    def test_displacement_by_hand(self):
        # Consensus ranks 1,2,3; the third rater is off by 1, 1, 0: mean 2/3. Over raters (0 + 0 + 2/3)/3 =
        # 2/9.
        d = rank_displacement([[1, 2, 3], [1, 2, 3], [2, 1, 3]])
        assert d.mean == pytest.approx(2 / 9)
        assert d.spread == pytest.approx(np.std([0, 0, 2 / 3], ddof=1))
        assert (d.rho_low, d.rho_high) == (pytest.approx(0.5), pytest.approx(1))

    def test_smaller_panels(self):
        x, rng = panel(4), np.random.default_rng(0)
        whole = k_of_raters(x, 5, rng=rng)
        assert whole == (pytest.approx(1), pytest.approx(1), 1)
        one, three, four = (k_of_raters(x, k, rng=rng) for k in (1, 3, 4))
        assert one.rho < three.rho < four.rho < 1
        assert (one.panels, three.panels) == (5, 10)
        left = leave_one_rater_out(x)
        assert left == pytest.approx(four)
        rho = [stats.spearmanr(consensus(np.delete(x, r, axis=0)), consensus(x)).statistic for r in range(5)]
        assert left.rho == pytest.approx(np.mean(rho))
        assert k_of_raters(panel(4, raters=20), 10, rng=rng, at_most=30).panels == 30

    def test_ties_at_the_edge_of_the_top_are_shared(self):
        # Top 1 of four tied items against a clear winner: a quarter of the overlap in expectation.
        x = np.array([[1, 1, 1, 1.0], [1, 2, 3, 4]])
        one = k_of_raters(x, 1, rng=np.random.default_rng(0), top=1)
        assert one.top_overlap == pytest.approx((1 / 4 + 1) / 2)
        assert one.rho == pytest.approx((0 + 1) / 2)  # a rater who ties everything has no correlation


class TestProtocols:
    def test_complete_comparisons_give_back_the_ratings_order(self):
        x = panel(5, items=12)
        elo = rater_elo(*every_pair(x), 12, rng=np.random.default_rng(0))
        assert elo.shape == x.shape
        assert all(stats.spearmanr(a, b).statistic > 0.98 for a, b in zip(elo, x))

    def test_coarse_ratings_agree_less_than_comparisons(self):
        # The same impressions, once rounded to five levels with each rater's own leniency, once compared.
        x = panel(6, items=30, noise=0.6)
        coarse = np.clip(np.round(x * [[0.3], [0.6], [1], [0.4], [0.8]] + 3), 1, 5)
        fine = rater_elo(*every_pair(x), 30, rng=np.random.default_rng(0))
        gap = kendall_w(fine).w - kendall_w(coarse).w
        assert jackknife_mean([gap], [folds(fine) - folds(coarse)]).low > 0

    def test_jackknife_by_hand(self):
        # Folds 1 2 3 4: 3/4 x (2.25 + .25 + .25 + 2.25) = 3.75; folds 0 0 0 4: 3/4 x (1 + 1 + 1 + 9) = 9.
        # Mean of the groups' 2 and 6 is 4, its error sqrt(3.75 + 9) / 2.
        found = jackknife_mean([2.0, 6.0], [np.array([1.0, 2, 3, 4]), np.array([0.0, 0, 0, 4])])
        assert (found.value, found.n) == (4.0, 8)
        assert found.high - found.value == pytest.approx(1.959964 * np.sqrt(12.75) / 2)
        assert jackknife_mean([2.0], [np.array([1.0, 2, 3, np.nan])]).low is None
        assert jackknife_mean([1.0, 1.0], [np.ones(5), np.ones(5)]).low is None  # moved by no item: not sure

    def test_equal_judgment_count_lowers_the_richer_protocol(self):
        x = panel(7, items=20, noise=0.6)
        comparisons, rng = every_pair(x), np.random.default_rng(0)
        full = kendall_w(rater_elo(*comparisons, 20, rng=rng)).w
        same = equal_judgments(lambda s: kendall_w(s).w, comparisons, 20, 20, repeats=30, rng=rng)
        assert same.shape == (30,)
        assert same.max() < full
        assert same.std() > 0
        with pytest.raises(TooFew, match="191 comparisons"):
            equal_judgments(lambda s: 0.0, comparisons, 20, 191, repeats=1, rng=rng)

    def test_jackknife_covers(self):
        # W of two scores with correlation 1/2 over many items is (1 + rho_s)/2, rho_s = (6/pi) asin(rho/2) =
        # .4826.
        truth = (1 + 6 / np.pi * np.arcsin(0.25)) / 2
        hits = 0
        for seed in range(200):
            x = panel(seed, raters=2, items=60)
            e = jackknife_mean([kendall_w(x).w], [folds(x)])
            hits += e.low <= truth <= e.high
        assert 0.905 <= hits / 200 <= 0.985


class TestOutcomes:
    def test_induced_by_hand(self):
        o = induced_outcomes([[1, 3, 3], [2, 1, np.nan]], [0, 1], [1, 2])
        np.testing.assert_array_equal(o, [[-1, 1], [0, np.nan]])
        wide = induced_outcomes([[1, 2, 4]], [0, 0], [1, 2], margin=1)
        np.testing.assert_array_equal(wide, [[0], [-1]])

    def test_agreement_by_hand(self):
        # Three raters on two pairs: (1,1,1) and (1,0,-1): agreeing rater pairs 3/3 and 0/3: convergence 1/2.
        a = outcome_agreement([[1, 1, 1], [1, 0, -1]])
        assert (a.unanimous, a.supermajority, a.convergence) == (0.5, 0.5, pytest.approx(0.5))
        assert a.majority.tolist() == [1, 0]  # three labels lead together: a tie
        # q = (1/6, 1/6, 4/6): P_e = 18/36. kappa = (1/2 - 1/2)/(1/2) = 0.
        assert a.fleiss.kappa.value == pytest.approx(0)

    def test_counts(self):
        assert outcome_counts([[1, 1, 0], [-1, np.nan, -1]]).tolist() == [[0, 1, 2], [2, 0, 0]]
        with pytest.raises(BadValue, match="1, 0, -1"):
            outcome_counts([[2, 1]])


class TestEdges:
    def test_named_errors(self):
        with pytest.raises(BadValue, match="rater 0, item 2"):
            consensus([[1, 2, np.nan], [1, 2, 3]])
        with pytest.raises(TooFew, match="three items"):
            consensus([[1, 2], [1, 2]])
        with pytest.raises(BadValue, match="raters, items"):
            consensus([1, 2, 3])
        with pytest.raises(TooFew, match="all three tiers"):
            triplet_separation(panel(8, items=4), [0, 1, 1, 0])
        with pytest.raises(BadValue, match="between 1"):
            k_of_raters(panel(8), 6, rng=np.random.default_rng(0))
        with pytest.raises(TooFew, match="tied"):
            consensus_accuracy([[1, 1, 1], [2, 2, 2]])

    def test_three_items_have_no_interval(self):
        e = jackknife_mean([0.5], [folds(panel(9, items=3))])
        assert (e.low, e.n) == (None, 3)
