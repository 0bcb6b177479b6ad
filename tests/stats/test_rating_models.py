"""Means, medians and z-scores of ratings: scores, their two errors, missing ratings and the edges."""

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue, DuplicateJudgment, NotIdentified, TooFew
from salon.stats import rating_mean, rating_median, rating_offset_scale, rating_sureal, rating_zscores

METHODS = [rating_mean, rating_median, rating_zscores]


def long(table):
    """Item, rater, value, items, raters from a (raters, items) table; NaN is a missing rating."""
    table = np.asarray(table, dtype=float)
    rater, item = np.nonzero(~np.isnan(table))
    return item, rater, table[rater, item], table.shape[1], table.shape[0]


def panel(rng, raters=5, items=30, offset=0.5, missing=0.0):
    q = rng.normal(3, 0.8, items)
    table = q + rng.normal(0, offset, (raters, 1)) + 0.6 * rng.normal(size=(raters, items))
    table[rng.random(table.shape) < missing] = np.nan
    return q, table


def test_mean_by_hand():
    # Raters (1, 2, 6) and (3, 4, 4): item means 2, 3, 5; rater means 3 and 11/3, so offsets -1/3 and 1/3.
    # Deviations of rater 1 from the item means: -1, -1, 1; less the offset: -2/3, -2/3, 4/3 (rater 2: the opposite).
    # Sums of squares 8/9, 8/9, 32/9 on 1 degree of freedom, se = sqrt(SS/2) = 2/3, 2/3, 4/3.
    fit = rating_mean(*long([[1, 2, 6], [3, 4, 4]]))
    np.testing.assert_allclose(fit.scores, [2, 3, 5])
    np.testing.assert_allclose(fit.se, [2 / 3, 2 / 3, 4 / 3])
    np.testing.assert_array_equal(fit.df, [1, 1, 1])
    # The level: sd of (3, 11/3) over sqrt 2 is 1/3, but raters without offsets would leave more: pooled deviations
    # (1+1+1) * 2 / 3 = 2 for a rating, over 6 ratings: sqrt(1/3).
    assert fit.location_se == pytest.approx(np.sqrt(1 / 3))
    np.testing.assert_allclose(fit.absolute_se, np.sqrt(fit.se**2 + 1 / 3))


def test_median_by_hand():
    # Even number: the middle two. Item 1 has one rating, and its error from the pooled sd of the others.
    fit = rating_median([0, 0, 0, 0, 1, 2, 2, 2], [0, 1, 2, 3, 0, 0, 1, 2], [1, 2, 4, 9, 7, 5, 1, 3], 3, 4)
    np.testing.assert_allclose(fit.scores, [3, 7, 3])
    # Item 0: sum of squares 38 on 3, item 2: 8 on 2; pooled 46/5.
    sd = np.sqrt([38 / 3, 46 / 5, 4])
    np.testing.assert_allclose(fit.se, sd / np.sqrt([4, 1, 3]) * np.sqrt([np.pi / 2, 1, np.pi / 2]))
    np.testing.assert_array_equal(fit.df, [3, 5, 2])
    np.testing.assert_array_equal(fit.borrowed, [False, True, False])


def test_zscores_by_definition():
    rng = np.random.default_rng(1)
    _, table = panel(rng)
    fit = rating_zscores(*long(table))
    z = stats.zscore(table, axis=1, ddof=1)
    np.testing.assert_allclose(fit.scores, table.mean() + table.std(ddof=1) * z.mean(axis=0))
    np.testing.assert_allclose(fit.se, table.std(ddof=1) * stats.sem(z, axis=0))
    np.testing.assert_allclose(fit.location_se, stats.sem(table.mean(axis=1)))


def test_complete_errors_are_those_of_rater_clusters():
    # By definition: score_i - mean is a mean over raters of (y_ri - rater mean), the raters independent.
    _, table = panel(np.random.default_rng(2))
    fit = rating_mean(*long(table))
    np.testing.assert_allclose(fit.se, stats.sem(table - table.mean(axis=1, keepdims=True), axis=0))
    np.testing.assert_allclose(fit.location_se, stats.sem(table.mean(axis=1)))
    assert set(fit.df) == {4}


def test_missing_ratings_keep_the_offsets_in_the_error():
    _, table = panel(np.random.default_rng(3), missing=0.2)
    fit = rating_mean(*long(table))
    np.testing.assert_allclose(fit.scores, np.nanmean(table, axis=0))
    own = fit.n > 1
    np.testing.assert_allclose(fit.se[own], stats.sem(table, axis=0, nan_policy="omit")[own])
    np.testing.assert_array_equal(fit.absolute_se, fit.se)
    assert "missing" in fit.errors


def test_zscores_agree_with_sureal():
    from sureal.subjective_model import ZscoringMosModel  # slow to load

    _, table = panel(np.random.default_rng(4))

    class Reader:
        opinion_score_3darray = table.T[:, :, None]

    peer = ZscoringMosModel._run_modeling(Reader(), zscore_mode=True)
    back = table.mean() + table.std(ddof=1) * np.asarray(peer["quality_scores"])
    np.testing.assert_allclose(rating_zscores(*long(table)).scores, back, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_properties(method):
    rng = np.random.default_rng(5)
    _, table = panel(rng, missing=0.1)
    table[:2] = np.where(np.isnan(table[:2]), 3.3, table[:2])
    fit = method(*long(table))
    order = rng.permutation(30)
    relabelled = method(*long(table[rng.permutation(5)][:, order]))
    np.testing.assert_allclose(relabelled.scores, fit.scores[order])
    np.testing.assert_allclose(relabelled.se, fit.se[order])
    moved = method(*long(7 - 2 * table))  # another scale, turned round
    np.testing.assert_allclose(moved.scores, 7 - 2 * fit.scores)
    np.testing.assert_allclose(moved.absolute_se, 2 * fit.absolute_se)
    higher = table.copy()
    higher[0, 4] += 1
    gain = method(*long(higher)).scores - fit.scores
    assert gain[4] >= 0
    assert gain[4] == gain.max()


@pytest.mark.parametrize("spread", ["item", "pooled"])
@pytest.mark.parametrize("method", METHODS)
def test_intervals_cover(method, spread):
    # 100 panels of 5 raters: the differences are covered at 95% (the median: at least), the level by t with 4 df.
    rng = np.random.default_rng(6)
    hits = []
    for _ in range(100):
        q, table = panel(rng)
        fit = method(*long(table), spread=spread)
        gap, shift = fit.scores - q, (fit.scores - q).mean()
        hits.append(
            [
                np.mean(np.abs(gap - shift) < stats.t.ppf(0.975, fit.df) * fit.se),
                np.abs(shift) < stats.t.ppf(0.975, fit.location_df) * fit.location_se,
                np.mean(np.abs(gap) < stats.t.ppf(0.975, fit.absolute_df) * fit.absolute_se),
            ]
        )
    differences, level, absolute = np.mean(hits, axis=0)
    assert 0.93 < differences < (1 if method is rating_median else 0.965)
    assert level > 0.90
    assert 0.92 < absolute < 0.985


def test_unanimous_and_single_items_borrow():
    fit = rating_mean([0, 0, 1, 2, 2], [0, 1, 0, 0, 1], [3, 3, 4, 2, 5], 3, 2)
    np.testing.assert_array_equal(fit.borrowed, [True, True, False])
    pooled = np.sqrt((0 + 4.5) / 2)  # 4.5 from item 2; degrees of freedom 1 + 1
    np.testing.assert_allclose(fit.se, [pooled / np.sqrt(2), pooled, np.sqrt(4.5 / 2)])
    np.testing.assert_array_equal(fit.df, [2, 2, 1])


def test_one_item():
    fit = rating_mean([0, 0, 0], [0, 1, 2], [2, 3, 5], 1, 3)
    assert fit.scores[0] == pytest.approx(10 / 3)
    assert fit.se[0] == pytest.approx(stats.sem([2, 3, 5]))
    assert fit.location_se == pytest.approx(stats.sem([2, 3, 5]))


@pytest.mark.parametrize("method", METHODS)
def test_edges(method):
    with pytest.raises(TooFew, match="at least one rating"):
        method(np.array([], int), np.array([], int), [], 2, 2)
    with pytest.raises(TooFew, match="two raters"):
        method([0, 1, 2], [0, 0, 0], [1, 2, 3], 3, 1)
    with pytest.raises(TooFew, match="none for item 1"):
        method([0, 0, 2, 2], [0, 1, 0, 1], [1, 2, 3, 4], 3, 2)
    with pytest.raises(TooFew, match="none for rater 2"):
        method([0, 0, 1, 1], [0, 1, 0, 1], [1, 2, 3, 5], 2, 3)
    with pytest.raises(TooFew, match="more ratings"):
        method([0, 1, 2, 3], [0, 0, 1, 1], [1, 2, 3, 5], 4, 2)
    with pytest.raises(DuplicateJudgment, match="item 1, rater 0"):
        method([0, 1, 1], [0, 0, 0], [1, 2, 3], 2, 2)
    with pytest.raises(BadValue, match="finite"):
        method([0, 0], [0, 1], [1, np.nan], 1, 2)
    with pytest.raises(BadValue, match="numbered 0 to 1"):
        method([0, 2], [0, 1], [1, 2], 2, 2)
    with pytest.raises(BadValue, match="integers"):
        method([0.0, 1.0], [0, 1], [1, 2], 2, 2)
    with pytest.raises(BadValue, match="equally long"):
        method([0, 1, 1], [0, 1], [1, 2], 2, 2)
    with pytest.raises(NotIdentified, match="agree exactly"):
        method(*long([[1, 2, 4, 4.5]] * 3))


def test_constant_rater_has_no_zscores():
    with pytest.raises(NotIdentified, match="rater 1"):
        rating_zscores(*long([[1, 2, 4, 3], [3, 3, 3, 3], [2, 2, 5, 4]]))
    with pytest.raises(TooFew, match="two ratings by every rater"):
        rating_zscores(*long([[1, 2, 4, 3], [np.nan, np.nan, 3, np.nan], [2, 2, 5, 4]]))


# ------------------------------------------------------------------------------------- differences of two items
def test_differences_of_means_are_paired_t_tests():
    y = np.random.default_rng(5).normal(size=(6, 4)).round(2)
    r, i = np.indices(y.shape)
    fit = rating_mean(i.ravel(), r.ravel(), y.ravel(), 4, 6)
    for a, b in [(0, 1), (1, 3)]:
        test = stats.ttest_rel(y[:, a], y[:, b])
        t = (fit.scores[a] - fit.scores[b]) / np.sqrt(fit.differences[a, b])
        assert t == pytest.approx(test.statistic)
        assert fit.difference_df[a, b] == test.df


def test_two_items_differ_by_twice_their_distance_from_the_mean():
    """Error of the difference = 2 x error of score - mean: the errors hang together fully."""
    y = np.random.default_rng(6).normal(size=(5, 2))
    r, i = np.indices(y.shape)
    fit = rating_mean(i.ravel(), r.ravel(), y.ravel(), 2, 5)
    assert np.sqrt(fit.differences[0, 1]) == pytest.approx(2 * fit.se[0])


@pytest.mark.parametrize("method", [rating_mean, rating_zscores, rating_sureal, rating_offset_scale])
def test_differences_have_the_spread_that_they_claim(method):
    """Twelve items, fifteen raters: the mean of the claimed variances is that of the differences over studies."""
    rng = np.random.default_rng(8)
    truth = np.linspace(-2, 2, 12)
    r, i = np.indices((15, 12))
    found, claimed = [], []
    for _ in range(120):
        y = truth + 0.5 * rng.normal(size=(15, 1)) + rng.normal(size=(15, 12))
        fit = method(i.ravel(), r.ravel(), y.ravel(), 12, 15)
        found.append(fit.scores[3:9] - fit.scores[:1])
        claimed.append(fit.differences[3:9, 0])
    assert np.mean(claimed) == pytest.approx(np.var(found, axis=0, ddof=1).mean(), rel=0.25)
