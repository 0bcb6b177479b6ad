"""Alpha, kappa, W and tau: by hand, by definition, by other tools, by property, by recovery, at the edge."""

import itertools

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats import inter_rater

from salon.errors import BadValue, NotIdentified, TiesNotAllowed, TooFew
from salon.stats import (
    alpha_bootstrap,
    fleiss_kappa,
    krippendorff_alpha,
    pair_tau,
    supermajority_share,
    unanimous_share,
)
from salon.stats.agreement import kendall_w
from salon.stats.alpha import alpha_counts, alpha_totals

LEVELS = ["nominal", "ordinal", "interval"]
_ = np.nan
# The worked example of Krippendorff 2011: 4 raters, 12 units, missing answers.
BOOK = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
).T


def slow_alpha(x, level):
    """The definition: every ordered pair of answers within units over every pair overall."""
    units = [row[~np.isnan(row)] for row in x]
    units = [u for u in units if len(u) >= 2]
    pooled = np.concatenate(units)
    n = len(pooled)

    def d2(a, b):
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = np.sum((pooled >= low) & (pooled <= high))
        return (between - (np.sum(pooled == a) + np.sum(pooled == b)) / 2) ** 2 if a != b else 0.0

    observed = sum(d2(a, b) / (len(u) - 1) for u in units for a, b in itertools.permutations(u, 2)) / n
    expected = sum(d2(a, b) for a, b in itertools.permutations(pooled, 2)) / (n * (n - 1))
    return 1 - observed / expected


def ragged(seed, units=40, raters=5, categories=5):
    rng = np.random.default_rng(seed)
    x = np.clip(np.round(3 + rng.normal(size=(units, 1)) + rng.normal(size=(units, raters))), 1, categories)
    x[rng.random(x.shape) < 0.2] = np.nan
    return x


class TestAlpha:
    def test_by_hand(self):
        # Units (1,1), (2,2), (1,2): n = 6, n_1 = n_2 = 3. D_o = 2/6. D_e = 2*3*3/(6*5) = 18/30. 1 -
        # (1/3)/(3/5) = 4/9.
        # Two categories: interval and ordinal distances are constants, so all levels agree.
        for level in LEVELS:
            a = krippendorff_alpha([[1, 1], [2, 2], [1, 2]], level=level)
            assert a.value == pytest.approx(4 / 9)
            assert (a.n, a.low) == (3, None)

    @pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
    def test_the_book(self, level, value):
        a = krippendorff_alpha(BOOK, level=level)
        assert a.value == pytest.approx(value, abs=6e-4)
        assert a.n == 11  # the twelfth unit has one answer

    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("seed", range(3))
    def test_by_definition_and_by_the_krippendorff_package(self, level, seed):
        x = ragged(seed)
        ours = krippendorff_alpha(x, level=level).value
        assert ours == pytest.approx(slow_alpha(x, level), abs=1e-12)
        assert ours == pytest.approx(krippendorff.alpha(x.T, level_of_measurement=level), abs=1e-12)

    @pytest.mark.parametrize("level", LEVELS)
    def test_answers_that_are_not_whole_numbers_or_leave_gaps(self, level):
        for x in (ragged(4) / 3, ragged(4) * 1000, ragged(4) * 1e6):
            theirs = krippendorff.alpha(x.T, level_of_measurement=level)
            assert krippendorff_alpha(x, level=level).value == pytest.approx(theirs, abs=1e-9)

    def test_interval_keeps_its_digits_under_a_large_mean(self):
        x = ragged(5)
        plain = krippendorff_alpha(x, level="interval").value
        assert krippendorff_alpha(x + 1e8, level="interval").value == pytest.approx(plain, abs=1e-8)

    @pytest.mark.parametrize("level", LEVELS)
    def test_counts_give_the_same(self, level):
        x = ragged(6)
        counts = np.stack([(x == c).sum(axis=1) for c in range(1, 6)], axis=1)
        expected = krippendorff_alpha(x, level=level)
        ours = alpha_counts(counts, range(1, 6), level=level)
        assert (ours.value, ours.n) == (pytest.approx(expected.value), expected.n)

    @settings(max_examples=60)
    @given(
        hnp.arrays(float, st.tuples(st.integers(2, 8), st.integers(2, 5)), elements=st.sampled_from([1, 2, 3, np.nan])),
        st.randoms(use_true_random=False),
    )
    def test_properties(self, x, chance):
        paired = x[(~np.isnan(x)).sum(axis=1) >= 2]
        assume(len(paired) and len(np.unique(paired[~np.isnan(paired)])) >= 2)
        for level in LEVELS:
            value = krippendorff_alpha(x, level=level).value
            assert value <= 1 + 1e-12
            units, raters = list(range(len(x))), list(range(x.shape[1]))
            chance.shuffle(units)
            chance.shuffle(raters)
            assert krippendorff_alpha(x[units][:, raters], level=level).value == pytest.approx(value)
            assert krippendorff_alpha(-x, level=level).value == pytest.approx(value)  # reverse
            alone = np.vstack([x, np.full((1, x.shape[1]), np.nan)])
            alone[-1, 0] = 2  # a unit with one answer changes nothing
            assert krippendorff_alpha(alone, level=level).value == pytest.approx(value)
        stretched = np.where(x == 3, 50, x)
        ordinal = krippendorff_alpha(x, level="ordinal").value
        assert krippendorff_alpha(stretched, level="ordinal").value == pytest.approx(ordinal)

    def test_recovers_the_reliability_of_a_normal_model(self):
        # x = unit + noise with equal variances: interval alpha estimates the intraclass correlation 1/2.
        rng = np.random.default_rng(7)
        x = rng.normal(size=(40_000, 1)) + rng.normal(size=(40_000, 5))
        assert krippendorff_alpha(x, level="interval").value == pytest.approx(0.5, abs=0.01)
        assert krippendorff_alpha(rng.normal(size=(20_000, 3)), level="interval").value == pytest.approx(0, abs=0.02)

    @pytest.mark.parametrize("level", LEVELS)
    def test_totals_decompose_alpha(self, level):
        x = ragged(8, units=60)
        clusters = np.arange(60) // 4
        table, alpha = alpha_totals(x, clusters, level=level)
        assert alpha(table.sum(axis=0)[None])[0] == pytest.approx(krippendorff_alpha(x, level=level).value)
        weights = np.random.default_rng(9).multinomial(15, np.full(15, 1 / 15))
        again = np.repeat(x, weights[clusters], axis=0)  # the sample the weights stand for
        assert alpha((weights @ table)[None])[0] == pytest.approx(krippendorff_alpha(again, level=level).value)

    def test_bootstrap_covers_with_answers_clustered_in_prompts(self):
        # Unit variance 1 (half of it shared by the 4 units of a prompt), noise variance 1: reliability .5.
        rng = np.random.default_rng(11)
        clusters = np.repeat(np.arange(60), 4)
        hits = 0
        for _i in range(300):
            unit = np.repeat(rng.normal(size=60), 4) * 0.5**0.5 + rng.normal(size=240) * 0.5**0.5
            x = unit[:, None] + rng.normal(size=(240, 4))
            e = alpha_bootstrap(x, clusters, level="interval", draws=400, rng=rng)
            hits += e.low <= 0.5 <= e.high
        # About .935 at 60 prompts (800 studies); 300 studies have a standard error of .014.
        assert 0.895 <= hits / 300 <= 0.975

    def test_edges(self):
        with pytest.raises(TooFew, match="two answers"):
            krippendorff_alpha([[1, _], [_, 2]], level="nominal")
        with pytest.raises(TooFew):
            krippendorff_alpha(np.full((3, 2), np.nan), level="ordinal")
        for level in LEVELS:
            with pytest.raises(NotIdentified, match="every answer is the same"):
                krippendorff_alpha([[2, 2], [2, 2]], level=level)
            with pytest.raises(NotIdentified):
                alpha_counts([[2, 0], [3, 0]], None, level=level)
        with pytest.raises(BadValue, match="finite"):
            krippendorff_alpha([[1, np.inf], [1, 2]], level="nominal")
        with pytest.raises(BadValue, match="units, raters"):
            krippendorff_alpha([1, 2, 3], level="nominal")
        with pytest.raises(BadValue, match="nominal, ordinal or interval"):
            krippendorff_alpha([[1, 2]], level="ratio")
        with pytest.raises(BadValue, match="not negative"):
            alpha_counts([[1, -1], [2, 0]], None, level="nominal")
        with pytest.raises(BadValue, match="one finite value"):
            alpha_counts([[1, 1], [2, 0]], [1, 2, 3], level="interval")
        with pytest.raises(BadValue, match="one cluster for each"):
            alpha_totals([[1, 2], [1, 1]], [0], level="nominal")
        with pytest.raises(BadValue, match="64 categories"):
            alpha_totals(np.arange(200.0).reshape(100, 2), np.arange(100), level="ordinal")


class TestKappa:
    def test_by_hand(self):
        # (2,0), (0,2), (1,1): P_o = 2/3, q = 1/2 each, P_e = 1/2, kappa = (2/3 - 1/2)/(1/2) = 1/3.
        k = fleiss_kappa([[2, 0], [0, 2], [1, 1]])
        assert k.kappa.value == pytest.approx(1 / 3)
        assert (k.observed, k.expected) == (pytest.approx(2 / 3), pytest.approx(1 / 2))

    def test_statsmodels(self):
        rng = np.random.default_rng(0)
        q = rng.dirichlet([3, 1, 0.5], size=50)
        counts = np.array([rng.multinomial(5, row) for row in q])
        assert fleiss_kappa(counts).kappa.value == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)

    def test_equal_counts_make_it_alpha_in_the_limit(self):
        rng = np.random.default_rng(1)
        counts = np.array([rng.multinomial(5, row) for row in rng.dirichlet([1, 1, 1], size=5000)])
        alpha = alpha_counts(counts, None, level="nominal").value
        assert fleiss_kappa(counts).kappa.value == pytest.approx(alpha, abs=1e-4)

    def test_unequal_counts_by_definition(self):
        counts = np.array([[3, 0], [1, 1], [0, 1], [0, 4], [2, 1], [0, 0]])
        used = counts[:5]
        m = used.sum(axis=1)
        q = np.mean(used / m[:, None], axis=0)
        p_o = np.mean([(c * (c - 1)).sum() / (c.sum() * (c.sum() - 1)) for c in used if c.sum() >= 2])
        assert fleiss_kappa(counts).kappa.value == pytest.approx((p_o - q @ q) / (1 - q @ q))

    def test_interval_covers_and_null_test_keeps_its_size(self):
        rng = np.random.default_rng(2)
        # Units whose first-category chance is Beta(2,2): pair agreement correlation 1/(1+4) = .2 = kappa.
        hits = rejections = 0
        for _i in range(500):
            counts = rng.binomial(5, rng.beta(2, 2, size=150))
            e = fleiss_kappa(np.stack([counts, 5 - counts], 1)).kappa
            hits += e.low <= 0.2 <= e.high
            null = rng.binomial(5, 0.3, size=150)
            rejections += fleiss_kappa(np.stack([null, 5 - null], 1)).test.p < 0.05
        assert 0.925 <= hits / 500 <= 0.975
        assert 0.03 <= rejections / 500 <= 0.075

    def test_interval_covers_on_few_units(self):
        rng = np.random.default_rng(3)
        counts = rng.binomial(5, rng.beta(2, 2, size=(1500, 20)))
        found = [fleiss_kappa(np.stack([row, 5 - row], 1)).kappa for row in counts]
        covered = np.mean([one.low <= 0.2 <= one.high for one in found])
        assert 0.92 <= covered <= 0.965  # Gwet's linearised variance with normal quantiles: .91

    def test_the_error_is_the_jackknife_by_definition(self):
        counts = np.random.default_rng(4).multinomial(4, [0.5, 0.3, 0.2], size=12)
        left_out = [fleiss_kappa(np.delete(counts, i, axis=0)).kappa.value for i in range(12)]
        error = np.sqrt(11 / 12 * ((left_out - np.mean(left_out)) ** 2).sum())
        others = int((counts.sum(axis=1) > counts[:, counts.sum(axis=0).argmax()]).sum())
        one = fleiss_kappa(counts).kappa
        assert one.high - one.value == pytest.approx(stats.t.ppf(0.975, others - 1) * error)

    def test_edges(self):
        with pytest.raises(NotIdentified):
            fleiss_kappa([[3, 0], [3, 0]])
        with pytest.raises(TooFew):
            fleiss_kappa([[1, 0], [0, 1]])
        with pytest.raises(BadValue):
            fleiss_kappa([1, 2])
        assert fleiss_kappa([[1, 2]]).kappa.low is None  # one unit: no spread
        alike = fleiss_kappa([[3, 0], [0, 3], [3, 0], [0, 3]]).kappa  # four unanimous units: none either
        assert (alike.value, alike.low, alike.high) == (1, None, None)


class TestW:
    def test_by_hand(self):
        # Ranks (1,2,3), (1,2,3), (2,1,3): sums 4,5,9, mean 6, S = 4+1+9 = 14. W = 12*14/(9*24) = 7/9.
        w = kendall_w([[1, 2, 3], [1, 2, 3], [2, 1, 3]])
        assert w.w == pytest.approx(7 / 9)
        assert w.test.statistic == pytest.approx(3 * 2 * 7 / 9)

    def test_ties_by_hand(self):
        # Mid-ranks (1.5,1.5,3), (1,2,3): sums 2.5,3.5,6, S = 2.25+.25+4 = 6.5; sum T = 6. W = 78/(4*24 -
        # 2*6) = 78/84.
        assert kendall_w([[5, 5, 9], [1, 2, 3]]).w == pytest.approx(78 / 84)

    def test_friedman_in_scipy(self):
        x = np.random.default_rng(0).integers(0, 6, size=(5, 12))
        ours = kendall_w(x).test
        theirs = stats.friedmanchisquare(*x.T)
        assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))

    def test_mean_spearman(self):
        # Without ties W = (1 + (R-1) mean rho)/R.
        x = np.random.default_rng(1).normal(size=(4, 9))
        rho = [stats.spearmanr(x[a], x[b]).statistic for a, b in itertools.combinations(range(4), 2)]
        assert kendall_w(x).w == pytest.approx((1 + 3 * np.mean(rho)) / 4)

    def test_null_size(self):
        rng = np.random.default_rng(2)
        p = [kendall_w(rng.normal(size=(5, 20))).test.p for _i in range(2000)]
        assert 0.03 <= np.mean(np.array(p) < 0.05) <= 0.065

    def test_edges(self):
        assert kendall_w([[1, 2], [1, 2]]).w == pytest.approx(1)
        with pytest.raises(BadValue, match="rater 1, item 0"):
            kendall_w([[1, 2], [np.nan, 2]])
        with pytest.raises(TooFew):
            kendall_w([[1, 2, 3]])
        with pytest.raises(NotIdentified):
            kendall_w([[1, 1], [2, 2]])


class TestTau:
    def test_by_hand(self):
        # Prompt 0: raters 0,1 equal (tau 1), rater 2 reversed (-1). Prompt 1: rater 1 absent; 0 and 2: one
        # swap of 3 pairs.
        ranks = np.array([[[0, 1, 2], [0, 1, 2], [2, 1, 0]], [[0, 1, 2], [-1, -1, -1], [1, 0, 2]]])
        t = pair_tau(ranks)
        assert t.mean[0, 1] == 1
        assert t.mean[0, 2] == pytest.approx((-1 + 1 / 3) / 2)
        assert t.prompts.tolist() == [[2, 1, 2], [1, 1, 1], [2, 1, 2]]
        assert np.isnan(t.error[0, 1])
        assert t.error[0, 2] == pytest.approx(np.std([-1, 1 / 3], ddof=1) / 2**0.5)

    def test_scipy(self):
        rng = np.random.default_rng(0)
        ranks = np.argsort(rng.random((30, 4, 6)), axis=2)
        ours = pair_tau(ranks).mean
        for a, b in itertools.combinations(range(4), 2):
            assert ours[a, b] == pytest.approx(np.mean([stats.kendalltau(r[a], r[b]).statistic for r in ranks]))

    def test_properties(self):
        rng = np.random.default_rng(1)
        ranks = np.argsort(rng.random((20, 4, 5)), axis=2)
        mean = pair_tau(ranks).mean
        np.testing.assert_allclose(mean, mean.T)
        np.testing.assert_allclose(np.diag(mean), 1)
        np.testing.assert_allclose(pair_tau(4 - ranks).mean, mean)  # reverse
        relabelled = ranks[:, :, rng.permutation(5)]
        np.testing.assert_allclose(pair_tau(relabelled).mean, mean)
        doubled = pair_tau(np.concatenate([ranks, ranks]))
        np.testing.assert_allclose(doubled.mean, mean)
        flipped = ranks.copy()
        flipped[:, 0] = 4 - flipped[:, 0]
        np.testing.assert_allclose(pair_tau(flipped).mean[0, 1:], -mean[0, 1:], atol=1e-12)

    def test_edges(self):
        with pytest.raises(TiesNotAllowed, match="prompt 1, rater 0"):
            pair_tau(np.array([[[0, 1], [1, 0]], [[1, 1], [0, 1]]]))
        with pytest.raises(TiesNotAllowed):
            pair_tau(np.array([[[0, -1, 1], [1, 0, 2]]]))
        with pytest.raises(BadValue, match="integers"):
            pair_tau(np.zeros((1, 2, 3)))
        with pytest.raises(BadValue, match="prompts, raters, items"):
            pair_tau(np.zeros((2, 3), int))
        never = pair_tau(np.array([[[0, 1], [-1, -1]]]))
        assert np.isnan(never.mean[0, 1])
        assert never.prompts[0, 1] == 0


def test_shares_of_agreement():
    counts = [[5, 0, 0], [4, 1, 0], [3, 1, 1], [1, 0, 0]]  # the last has one answer: left out
    assert unanimous_share(counts) == pytest.approx(1 / 3)
    assert supermajority_share(counts) == pytest.approx(2 / 3)
    with pytest.raises(TooFew):
        unanimous_share([[1, 0]])


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_and_its_interval_are_never_below_minus_one(level: str) -> None:
    """Two raters who always disagree, on two prompts: two sides of a coin, and the ends of a scale."""
    opposed = np.tile([[1.0, 5.0], [5.0, 1.0]], (50, 1))
    assert -1 <= krippendorff_alpha(opposed, level=level).value < -0.98
    mixed = np.array([[1.0, 5.0], [5.0, 1.0], [3.0, 3.0], [1.0, 2.0]])
    found = alpha_bootstrap(mixed, [0, 0, 1, 1], level=level, draws=300, rng=np.random.default_rng(0))
    assert -1 <= found.low < found.value < found.high <= 1
