"""Latent scores on the rating scale: the fitted curve, the min-max curve, their slopes and errors."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, curve_fit
from scipy.special import expit

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats import Sigmoid, fit_sigmoid, min_max_sigmoid


def anchors(rng, n=30, a=1.2, b=-0.4, low=1.0, high=5.0, noise=0.2):
    q = rng.normal(0, 1, n)
    return q, np.clip(low + (high - low) * (expit(a * q + b) + noise / 4 * rng.normal(size=n)), low, high)


def test_two_points_by_hand():
    # Scores 2 and 4 on 1-5 are shares 1/4 and 3/4, logits -ln 3 and ln 3: a = 2 ln 3 / 2, b = 0.
    curve = fit_sigmoid([-1, 1], [2, 4], low=1, high=5)
    assert curve.a == pytest.approx(np.log(3))
    assert curve.b == pytest.approx(0, abs=1e-9)
    assert curve.residual == pytest.approx(0, abs=1e-7)
    assert curve.covariance is None
    np.testing.assert_allclose(curve.apply([-1, 0, 1]), [2, 3, 4])
    np.testing.assert_allclose(curve.inverse([2, 3, 4]), [-1, 0, 1], atol=1e-8)
    # d score/dq at 0: 4 * ln 3 * 1/4.
    assert curve.slope(0) == pytest.approx(np.log(3))


@pytest.mark.parametrize(("low", "high"), [(1, 5), (1, 10), (0, 100)])
def test_equals_scipys_curve_fit(low, high):
    q, t = anchors(np.random.default_rng(1), low=low, high=high)
    curve = fit_sigmoid(1500 + 400 * q, t, low=low, high=high)  # on the Elo scale
    peer, _ = curve_fit(lambda x, a, b: low + (high - low) * expit(a * x + b), q, t, p0=[1, 0], ftol=1e-14, xtol=1e-14)
    assert 400 * curve.a == pytest.approx(peer[0], rel=1e-6)
    assert curve.b + 1500 * curve.a == pytest.approx(peer[1], rel=1e-5)


def test_least_squares_by_definition():
    q, t = anchors(np.random.default_rng(2), n=12, noise=0.8)
    curve = fit_sigmoid(q, t, low=1, high=5)
    a, b = np.meshgrid(np.linspace(0.02, 6, 300), np.linspace(-3, 3, 301))
    cost = ((1 + 4 * expit(a[..., None] * q + b[..., None]) - t) ** 2).sum(axis=-1)
    assert curve.n * curve.residual**2 <= cost.min() + 1e-12


def test_slopes_by_finite_differences():
    curve = Sigmoid(0.8, -0.3, 0, 100, None, 0)
    for q in (-2.0, 0.1, 3.0):
        assert curve.slope(q) == pytest.approx(
            approx_fprime(np.array([q]), lambda x: curve.apply(x)[0], 1e-7)[0], rel=1e-4
        )

        def score(ab, q=q):
            return float(Sigmoid(ab[0], ab[1], 0, 100, None, 0).apply(q))

        np.testing.assert_allclose(curve.gradient(q), approx_fprime(np.array([0.8, -0.3]), score, 1e-7), rtol=1e-4)


def test_properties():
    q, t = anchors(np.random.default_rng(3))
    curve = fit_sigmoid(q, t, low=1, high=5)
    twice = fit_sigmoid(np.tile(q, 2), np.tile(t, 2), low=1, high=5)
    assert (twice.a, twice.b) == pytest.approx((curve.a, curve.b), rel=1e-7)
    turned = fit_sigmoid(-q, 6 - t, low=1, high=5)
    assert (turned.a, turned.b) == pytest.approx((curve.a, -curve.b), rel=1e-6)
    assert (np.diff(curve.apply(np.sort(q))) > 0).all()


def test_recovers_and_covers():
    rng = np.random.default_rng(4)
    inside, a = [], []
    for _ in range(250):
        curve = fit_sigmoid(*anchors(rng, n=60), low=1, high=5)
        a.append(curve.a)
        inside.append(np.abs([curve.a - 1.2, curve.b + 0.4]) < 2 * np.sqrt(np.diag(curve.covariance)))
    assert np.mean(a) == pytest.approx(1.2, abs=0.02)
    assert (np.mean(inside, axis=0) > 0.91).all()
    assert (np.mean(inside, axis=0) < 0.98).all()


def test_min_max_by_hand():
    # q from 1300 to 1700: the ends at s(-3) = .04743 and s(3), the middle at 3.
    curve = min_max_sigmoid([1300, 1400, 1700], low=1, high=5)
    np.testing.assert_allclose(curve.apply([1300, 1500, 1700]), [1.18970, 3, 4.81030], atol=1e-5)
    q = np.array([1300.0, 1400.0, 1700.0])
    np.testing.assert_allclose(curve.apply(q), 1 + 4 / (1 + np.exp(-(6 * (q - 1300) / 400 - 3))))
    assert curve.residual is None


@pytest.mark.parametrize(
    ("q", "target", "match"),
    [
        ([], [], "two different latent"),
        ([1], [3], "two different latent"),
        ([1, 1, 1], [2, 3, 4], "two different latent"),
        ([1, 2, 3], [3, 3, 3], "two different targets"),
        ([1, 2, 3], [4, 3, 2], "must rise"),
        ([1, 2, 3, 4], [1, 1, 5, 5], "only a step fits"),
        ([1, 2, 3], [1, 3, 5], "only a step fits"),
    ],
)
def test_what_no_curve_fits(q, target, match):
    with pytest.raises(NotIdentified, match=match):
        fit_sigmoid(q, target, low=1, high=5)


def test_ends_that_overlap_still_fit():
    # All targets at the ends, but not in order: no step fits, the curve is finite.
    curve = fit_sigmoid([1, 2, 3, 4, 5, 6], [1, 5, 1, 5, 1, 5], low=1, high=5)
    assert 0 < curve.a < 2


def test_edges():
    with pytest.raises(BadValue, match="scale from 1 to 5"):
        fit_sigmoid([1, 2], [0, 4], low=1, high=5)
    with pytest.raises(BadValue, match="low end"):
        fit_sigmoid([1, 2], [3, 4], low=5, high=1)
    with pytest.raises(BadValue, match="finite"):
        fit_sigmoid([1, np.nan], [3, 4], low=1, high=5)
    with pytest.raises(BadValue, match="equally long"):
        fit_sigmoid([1, 2, 3], [3, 4], low=1, high=5)
    with pytest.raises(BadValue, match="ends excluded"):
        Sigmoid(1, 0, 1, 5, None, 0).inverse([3, 5])
    with pytest.raises(NotIdentified, match="two different latent"):
        min_max_sigmoid([2, 2], low=1, high=5)
    with pytest.raises(TooFew):
        min_max_sigmoid([], low=1, high=5)
    with pytest.raises(BadValue, match="steepness"):
        min_max_sigmoid([1, 2], low=1, high=5, steepness=0)
    with pytest.raises(BadValue, match="finite"):
        min_max_sigmoid([1, np.inf], low=1, high=5)


def test_the_residual_is_on_the_rating_scale():
    q, target = np.array([-2.0, -1, 0, 1, 2]), np.array([1.4, 2.6, 2.7, 4.1, 4.4])
    curve = fit_sigmoid(q, target, low=1, high=5)
    assert curve.residual == pytest.approx(np.sqrt(np.mean((curve.apply(q) - target) ** 2)))
