"""The clustered bootstrap: same law by both doors, right coverage, honest edges."""

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats.resample import bootstrap_totals, draw_totals, interval, row_kinds, with_width


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
    # .009,
    # and percentile intervals of 40 clusters are known to run about .01 low.
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
    alike = bootstrap_totals(ratio, [[1, 1]] * 8, draws=200, rng=np.random.default_rng(0))
    assert (alike.low, alike.high) == (1, 1)
    told = with_width(alike, 200)
    assert (told.value, told.low, told.high, told.n) == (1, None, None, 8)
    assert told.method == "no interval: the same in 200 draws of prompts"
    spread = bootstrap_totals(ratio, [[1, 1], [0, 1]] * 4, draws=200, rng=np.random.default_rng(0))
    assert with_width(spread, 200) == spread


def test_bca_percentiles_by_hand():
    # 700 of 1,000 draws lie below the value: z0 = .5244; folds 0, 0, 0, 4: away 1, 1, 1, -3, a = -24 / (6 12^1.5)
    drawn, folds = np.arange(1000) / 1000, np.array([0.0, 0.0, 0.0, 4.0])
    z0, a = stats.norm.ppf(0.7), -24 / (6 * 12**1.5)
    ends = [stats.norm.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))) for z in stats.norm.ppf([0.05, 0.95])]
    made = interval(0.6999, drawn, n=4, unit="prompt", level=0.9, folds=folds)
    assert (made.low, made.high) == pytest.approx(ends, abs=0.0011)
    assert 0.15 < made.low < 0.5  # well above the plain fifth percentile
