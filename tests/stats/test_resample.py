"""The clustered bootstrap: same law by both doors, right coverage, honest edges."""

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats import SHARE, bootstrap_totals, interval
from salon.stats.intervals import draw_totals, expanded_quantile, row_kinds


def ratio(totals):
    """Mean of a variable from totals (sum, count)."""
    return totals[:, 0] / totals[:, 1]


def test_kinds_of_rows_by_hand():
    rows, counts = row_kinds([[1, 0], [0, 2], [1, 0]])
    assert {tuple(r): c for r, c in zip(rows.tolist(), counts.tolist())} == {(1.0, 0.0): 2, (0.0, 2.0): 1}


@pytest.mark.parametrize("scale", [1, 0.5, 2**40])
def test_kinds_of_rows_keep_the_totals(scale):
    rng = np.random.default_rng(1)
    table = rng.integers(-3, 4, size=(500, 4)) * scale
    rows, counts = row_kinds(table)
    assert counts.sum() == 500
    assert len(np.unique(rows, axis=0)) == len(rows)
    np.testing.assert_allclose(counts @ rows, table.sum(axis=0))


def test_wide_rows_that_fit_no_integer_key():
    table = np.random.default_rng(2).integers(0, 50, size=(40, 30))
    rows, counts = row_kinds(table)
    assert (len(rows), counts.sum()) == (40, 40)


@pytest.mark.parametrize("distinct", [4, 60])
def test_drawn_totals_have_the_bootstrap_law(distinct):
    # A bootstrap total of n draws has mean sum(x) and variance n * var(x) with denominator n.
    rng = np.random.default_rng(3)
    x = np.tile(rng.normal(size=distinct), 60 // distinct * 4)
    rows, counts = row_kinds(x)
    drawn = draw_totals(rows, counts, draws=20_000, rng=rng)[:, 0]
    n = len(x)
    error = np.sqrt(n * x.var() / 20_000)
    assert abs(drawn.mean() - x.sum()) < 4 * error
    assert drawn.var() == pytest.approx(n * x.var(), rel=0.05)


def test_by_definition():
    rng = np.random.default_rng(4)
    x = rng.normal(2, 1, size=60)
    table = np.stack([x, np.ones(60)], axis=1)
    means = [rng.choice(x, 60).mean() for _ in range(4000)]
    fast = bootstrap_totals(ratio, table, draws=4000, rng=rng)
    assert fast.value == pytest.approx(x.mean())
    assert (fast.low, fast.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.03)


@pytest.mark.parametrize("kind", ["percentile", "BCa"])
def test_scipy_gives_the_same_interval(kind):
    rng = np.random.default_rng(5)
    x = rng.exponential(size=50)
    table = np.stack([x, np.ones(50)], axis=1)
    ours = bootstrap_totals(ratio, table, draws=20_000, rng=rng, kind="bca" if kind == "BCa" else "percentile")
    theirs = stats.bootstrap((x,), np.mean, n_resamples=20_000, method=kind, rng=rng).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_bca_by_rows_equals_bca_by_totals():
    rng = np.random.default_rng(6)
    x = np.repeat(rng.exponential(size=10), 4)
    drawn = np.array([rng.choice(x, 40).mean() for _ in range(8000)])
    by_rows = interval(x.mean(), drawn, n=40, unit="prompt", folds=(x.sum() - x) / 39)
    by_totals = bootstrap_totals(ratio, np.stack([x, np.ones(40)], 1), draws=8000, rng=rng, kind="bca")
    assert (by_rows.low, by_rows.high) == pytest.approx((by_totals.low, by_totals.high), abs=0.05)


@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_intervals_cover_at_their_rate_when_answers_cluster(kind):
    # 40 prompts of 6 answers with a shared prompt effect. Target .95; 300 studies have a standard error of
    # .012, and skewed clusters take about .01.
    rng = np.random.default_rng(7)
    covered, naive = 0, 0
    for _ in range(300):
        x = rng.exponential(size=(40, 1)) - 1 + 0.5 * rng.normal(size=(40, 6))
        table = np.stack([x.sum(axis=1), np.full(40, 6.0)], axis=1)
        e = bootstrap_totals(ratio, table, draws=400, rng=rng, kind=kind)
        covered += e.low <= 0 <= e.high
        half = 1.96 * x.std() / np.sqrt(x.size)
        naive += abs(x.mean()) < half
    assert 0.90 <= covered / 300 <= 0.975
    assert naive / 300 < 0.75  # the test can fail: forgetting the clusters is far from .95


def test_undefined_draws_are_counted_or_refuse_an_interval():
    drawn = np.arange(100.0)
    few = drawn.copy()
    few[:3] = np.nan
    assert "3 undefined" in interval(50.0, few, n=9, unit="prompt").method
    many = drawn.copy()
    many[:10] = np.nan
    assert interval(50.0, many, n=9, unit="prompt").low is None


def test_one_cluster_has_no_interval():
    alone = bootstrap_totals(ratio, [[3.0, 1.0]], draws=100, rng=np.random.default_rng(8))
    assert (alone.value, alone.low, alone.high, alone.n) == (3.0, None, None, 1)


def test_bad_settings_are_named():
    rng = np.random.default_rng(9)
    with pytest.raises(BadValue, match="100 draws"):
        bootstrap_totals(ratio, np.ones((5, 2)), draws=10, rng=rng)
    with pytest.raises(BadValue, match="between 0 and 1"):
        bootstrap_totals(ratio, np.ones((5, 2)), draws=100, rng=rng, level=95)
    with pytest.raises(TooFew):
        bootstrap_totals(ratio, np.empty((0, 2)), draws=100, rng=rng)


def test_same_seed_same_interval():
    table = np.random.default_rng(10).normal(size=(30, 2)) + 5
    one, two = (bootstrap_totals(ratio, table, draws=200, rng=np.random.default_rng(11)) for _ in range(2))
    assert one == two


def test_clusters_that_are_all_alike_have_no_interval_of_no_width():
    told = bootstrap_totals(ratio, [[0.3, 3]] * 8, draws=200, rng=np.random.default_rng(0))  # not alike to the last bit
    assert (told.value, told.low, told.high, told.n) == (pytest.approx(0.1), None, None, 8)
    assert told.method == "no interval: no width in bootstrap of prompts, 200 draws"
    inside = bootstrap_totals(ratio, [[0.3, 3]] * 8, draws=200, rng=np.random.default_rng(0), ends=SHARE)
    assert (inside.low, inside.high) == (None, None)  # the bound is for the ends alone


@pytest.mark.parametrize(("value", "ends"), [(0, SHARE), (1, SHARE), (-1, (-1.0, 1.0)), (1, (0.5, 1.0))])
def test_a_mean_at_its_end_has_the_bound_of_clopper_and_pearson(value, ends):
    # six answers a prompt: the bound knows the eight prompts, not the 48 answers
    made = bootstrap_totals(ratio, [[6 * value, 6]] * 8, draws=200, rng=np.random.default_rng(0), level=0.9, ends=ends)
    exact = stats.binomtest(8 if value == ends[1] else 0, 8).proportion_ci(0.9, method="exact")
    width = ends[1] - ends[0]
    assert (made.low, made.high) == pytest.approx((ends[0] + width * exact.low, ends[0] + width * exact.high))
    assert (made.value, made.n, made.method) == (value, 8, "exact bound for 8 prompts alike")


def test_the_bound_knows_how_many_clusters_are_behind_a_share():
    drawn = np.ones(200)
    drawn[:4] = np.nan
    made = interval(1.0, drawn, n=100, unit="prompt", ends=SHARE, behind=4)
    assert (made.low, made.high, made.n) == (pytest.approx(0.025**0.25), 1, 100)


def test_shares_near_their_end_are_covered_however_answers_cluster():
    # a refusal takes all six answers of a prompt: 5% of 30 prompts, none seen in .95^30 = 21% of studies. A bound for
    # 180 independent answers, 1 - .025^(1/180) = .020, would miss .05 in all of these.
    rng = np.random.default_rng(12)
    held = []
    for _ in range(200):
        lost = 6 * (rng.random(30) < 0.05)
        made = bootstrap_totals(ratio, np.stack([lost, np.full(30, 6)], 1), draws=200, rng=rng, ends=SHARE)
        held.append(made.low <= 0.05 <= made.high)
    assert np.mean(held) > 0.93


def test_bca_percentiles_by_hand():
    # 700 of 1,000 draws lie below the value: z0 = .5244; folds 0 (six times), 7: away 1 (six times), -6
    drawn, folds = np.arange(1000) / 1000, np.array([0.0] * 6 + [7.0])
    z0, a = stats.norm.ppf(0.7), (6 - 216) / (6 * 42**1.5)
    q = 1.943180 * np.sqrt(7 / 6)  # t with 6 degrees of freedom
    ends = [stats.norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))) for z in (-q, q)]
    made = interval(0.6999, drawn, n=7, unit="prompt", level=0.9, folds=folds)
    assert (made.low, made.high) == pytest.approx(ends, abs=0.0011)
    assert 0.06 < made.low < 0.5  # well above the percentile without BCa, .018


def test_percentiles_are_expanded_by_hand():
    # ten clusters: t = 2.262157, q = t sqrt(10/9) = 2.384518; Phi(-q) = .0085507
    made = interval(0.5, np.arange(1, 10_001) / 10_000, n=10, unit="prompt")
    assert (made.low, made.high) == pytest.approx((0.0086, 0.9915), abs=1e-4)
    assert expanded_quantile(10, 0.95) == pytest.approx(2.384518, abs=1e-5)
    assert expanded_quantile(10**7, 0.95) == pytest.approx(1.959964, abs=1e-5)  # many clusters: the plain percentiles


def test_a_tail_that_the_draws_cannot_show_is_student_s():
    # four clusters: the mean 2.5 of 1, 2, 3, 4 has s = 1.29099, so 2.5 -+ 3.182446 s/2 = 2.5 -+ 2.05427
    table = [[1, 1], [2, 1], [3, 1], [4, 1]]
    made = bootstrap_totals(ratio, table, draws=40_000, rng=np.random.default_rng(1))
    assert (made.low, made.high) == pytest.approx((0.4457, 4.5543), abs=0.03)
    assert made.method == "t interval of the bootstrap of prompts, 40000 draws"
    cut = bootstrap_totals(ratio, table, draws=1000, rng=np.random.default_rng(1), within=(1.0, 4.0))
    assert (cut.low, cut.high) == (1.0, 4.0)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20])
def test_intervals_of_few_clusters_cover_at_their_rate(n):
    # 1,000 studies have a standard error of .007. Plain percentiles cover 50, 75, 85, 90 and 92%.
    rng = np.random.default_rng([12, n])
    covered = plain = 0
    for _ in range(1000):
        x = rng.normal(size=n)
        drawn = x[rng.integers(0, n, (1000, n))].mean(axis=1)
        made = interval(x.mean(), drawn, n=n, unit="prompt")
        covered += made.low is not None and made.low <= 0 <= made.high
        low, high = np.quantile(drawn, [0.025, 0.975])
        plain += low <= 0 <= high
    assert 0.925 <= covered / 1000 <= 0.975
    assert plain / 1000 < 0.935
