"""Offsets, scales and consistencies of raters: equal to sureal and to factor analysis, and covering the truth."""

import contextlib
import io

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime, minimize

from salon.errors import NotConverged, NotIdentified, TooFew
from salon.stats import rating_mean, rating_offset_scale, rating_sureal
from salon.stats.rater_effects import _Factor
from salon.stats.rating_models import RatingData

METHODS = [rating_sureal, rating_offset_scale]


def long(table):
    table = np.asarray(table, dtype=float)
    rater, item = np.nonzero(~np.isnan(table))
    return item, rater, table[rater, item], table.shape[1], table.shape[0]


def panel(rng, raters=6, items=40, scales=0.0, missing=0.0):
    q = rng.normal(3, 0.8, items)
    g = np.exp(scales * rng.normal(size=raters))
    g /= g.mean()
    b, v = rng.normal(0, 0.4, raters), rng.uniform(0.45, 1.0, raters)
    table = 3 + b[:, None] + g[:, None] * (q - 3) + v[:, None] * rng.normal(size=(raters, items))
    table[rng.random(table.shape) < missing] = np.nan
    return q, b - b.mean(), g, v, table


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_joint_likelihood_equals_sureal(missing):
    from sureal.subjective_model import SubjectMLEModelProjectionSolver  # slow to load

    *_, table = panel(np.random.default_rng(1), raters=18, items=60, missing=missing)

    class Reader:
        opinion_score_3darray = table.T[:, :, None]

    with contextlib.redirect_stdout(io.StringIO()):
        peer = SubjectMLEModelProjectionSolver._run_modeling(Reader())
    fit = rating_sureal(*long(table), likelihood="joint")
    np.testing.assert_allclose(fit.scores, peer["quality_scores"], atol=1e-6)
    np.testing.assert_allclose(fit.offset, peer["observer_bias"], atol=1e-6)
    np.testing.assert_allclose(fit.inconsistency, peer["observer_inconsistency"], atol=1e-6)
    # sureal's error takes the weights and the degrees of freedom for granted.
    assert (fit.se > np.asarray(peer["quality_scores_std"])).all()


def test_restricted_likelihood_by_definition():
    # -2 log REML of complete ratings: (I-1)(log|V| + log 1'V^-1 1) + trace(P S), S of ratings centred by rater.
    *_, table = panel(np.random.default_rng(2))
    centred = table - table.mean(axis=1, keepdims=True)

    def minus(log_v):
        w = np.exp(-2 * log_v)
        weighted = np.diag(w) - np.outer(w, w) / w.sum()
        return (table.shape[1] - 1) * (2 * log_v.sum() + np.log(w.sum())) + np.sum((weighted @ centred) * centred)

    best = minimize(minus, np.full(6, -0.5), tol=1e-10)
    fit = rating_sureal(*long(table))
    np.testing.assert_allclose(fit.inconsistency, np.exp(best.x), rtol=1e-4)
    assert minus(np.log(fit.inconsistency)) <= best.fun + 1e-9


def test_equal_raters_give_the_mean():
    # Three raters whose residuals are rotations of one another are equally consistent: the weighted mean is the mean.
    rest = np.array([1.0, -2.0, 1.0, 0.0, 0.5, -0.5])
    table = np.stack([np.roll(rest, 2 * k) for k in range(3)])
    table -= table.mean(axis=0)
    table += np.array([2.0, 4.0, 3.0, 1.0, 5.0, 3.0]) + np.array([[0.0], [1.0], [-1.0]])
    fit = rating_sureal(*long(table))
    np.testing.assert_allclose(fit.scores, table.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(fit.offset, [0, 1, -1], atol=1e-9)
    assert np.ptp(fit.inconsistency) < 1e-9


def test_offset_and_scale_equal_factor_analysis():
    from sklearn.decomposition import FactorAnalysis  # slow to load

    *_, table = panel(np.random.default_rng(3), scales=0.3)
    peer = FactorAnalysis(n_components=1, tol=1e-12, max_iter=20000, svd_method="lapack").fit(table.T)
    loading, noise = peer.components_[0], peer.noise_variance_
    fit = rating_offset_scale(*long(table))
    np.testing.assert_allclose(fit.scale, loading / loading.mean(), atol=1e-3)
    np.testing.assert_allclose(fit.inconsistency, np.sqrt(noise), atol=1e-3)
    # Scores by weighted least squares (Bartlett), on the panel's mean scale.
    g = loading / loading.mean()
    t = (g / noise) @ (table - table.mean(axis=1, keepdims=True)) / (g**2 / noise).sum()
    np.testing.assert_allclose(fit.scores, table.mean() + t, atol=1e-3)


def test_gauge():
    *_, table = panel(np.random.default_rng(4), scales=0.3, missing=0.1)
    fit = rating_offset_scale(*long(table))
    assert fit.scale.mean() == pytest.approx(1)
    assert fit.offset.mean() == pytest.approx(0, abs=1e-9)
    item, rater, value, *_ = long(table)
    q = fit.scores
    expected = q.mean() + fit.offset[rater] + fit.scale[rater] * (q[item] - q.mean())
    left = np.bincount(rater, value - expected) / np.bincount(rater)
    np.testing.assert_allclose(left, 0, atol=0.1)


def test_gradient_by_finite_differences():
    *_, table = panel(np.random.default_rng(5), raters=4, items=12, missing=0.2)
    factor = _Factor(RatingData.of(*long(table)))
    x = np.random.default_rng(6).normal(0.5, 0.4, 12)
    slow = approx_fprime(x, lambda z: factor.minus_log_likelihood(z)[0], 1e-7)
    np.testing.assert_allclose(factor.minus_log_likelihood(x)[1], slow, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_properties(method):
    rng = np.random.default_rng(7)
    *_, table = panel(rng, missing=0.1)
    fit = method(*long(table))
    items, raters = rng.permutation(40), rng.permutation(6)
    relabelled = method(*long(table[raters][:, items]))
    np.testing.assert_allclose(relabelled.scores, fit.scores[items], atol=1e-4)
    np.testing.assert_allclose(relabelled.offset, fit.offset[raters], atol=1e-4)
    np.testing.assert_allclose(relabelled.se, fit.se[items], atol=1e-4)
    moved = method(*long(20 * table - 20))  # 1-5 to 0-80
    np.testing.assert_allclose(moved.scores, 20 * fit.scores - 20, atol=2e-3)
    np.testing.assert_allclose(moved.se, 20 * fit.se, rtol=1e-3)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("method", METHODS)
def test_recovers_and_covers(method, missing):
    rng = np.random.default_rng(8)
    hits, worse, offsets = [], [], []
    for _ in range(50):
        q, b, _, _, table = panel(rng, raters=8, scales=0.2 if method is rating_offset_scale else 0, missing=missing)
        fit, plain = method(*long(table)), rating_mean(*long(table))
        gap = fit.scores - q
        hits.append(
            [
                np.mean(np.abs(gap - gap.mean()) < stats.t.ppf(0.975, fit.df) * fit.se),
                np.mean(np.abs(gap) < stats.t.ppf(0.975, fit.absolute_df) * fit.absolute_se),
            ]
        )
        worse.append(np.std(plain.scores - q) / np.std(gap))
        offsets.append(np.corrcoef(fit.offset, b)[0, 1])
    differences, absolute = np.mean(hits, axis=0)
    assert 0.93 < differences < 0.975
    assert 0.91 < absolute < 0.985
    assert np.mean(offsets) > 0.9
    assert np.mean(worse) > 1.03  # the plain mean errs 5 to 7% more


def test_scales_are_recovered():
    *_, g, v, table = panel(np.random.default_rng(9), raters=6, items=600, scales=0.3)
    fit = rating_offset_scale(*long(table))
    np.testing.assert_allclose(fit.scale, g, atol=0.12)
    np.testing.assert_allclose(fit.inconsistency, v, atol=0.08)


def test_five_raters_make_the_joint_likelihood_collapse():
    # The joint likelihood has no bound at q = y_r - b_r; the restricted one holds where it falls.
    rng = np.random.default_rng(10)
    collapsed = 0
    for _ in range(10):
        *_, table = panel(rng, raters=5, items=50)
        rating_sureal(*long(table))
        try:
            rating_sureal(*long(table), likelihood="joint")
        except NotIdentified as error:
            collapsed += "falls to 0" in str(error)
    assert collapsed >= 6


@pytest.mark.parametrize("method", METHODS)
def test_edges(method):
    *_, table = panel(np.random.default_rng(11), items=12)
    with pytest.raises(TooFew, match="3 raters"):
        method(*long(table[:2]))
    with pytest.raises(TooFew, match="3 items"):
        method(*long(table[:, :2]))
    islands = table.copy()
    islands[:3, :6] = islands[3:, 6:] = np.nan
    with pytest.raises(NotIdentified, match="2 islands"):
        method(*long(islands))
    with pytest.raises(NotIdentified, match="falls to 0"):
        method(*long(np.tile(np.arange(12.0), (4, 1))))


def test_more_edges():
    *_, table = panel(np.random.default_rng(12))
    with pytest.raises(NotConverged, match="3 rounds"):
        rating_sureal(*long(table), max_iterations=3)
    table[0, 2:] = np.nan
    with pytest.raises(TooFew, match="3 ratings by every rater"):
        rating_offset_scale(*long(table))
