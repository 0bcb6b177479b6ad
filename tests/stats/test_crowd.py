"""Crowd Bradley-Terry: by hand, by definition, against scipy, by property, by recovery, at the edge."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from scipy.stats import spearmanr

import salon.stats.crowd as module
from salon.errors import BadValue, NotConverged, TooFew
from salon.stats import CrowdPrior, count_pairs, fit_crowd, fit_pairs
from salon.stats.crowd import CrowdAnswers


def simulate(rng, *, items, each, reliability, bias=0.5):
    """Random pairs answered by raters of the given reliability: truth, position biases and the columns of a fit."""
    q = rng.normal(0, 1.5, items)
    raters = len(reliability)
    rater = np.repeat(np.arange(raters), each)
    a = rng.integers(0, items, raters * each)
    b = (a + rng.integers(1, items, raters * each)) % items
    left = rng.integers(0, 2, raters * each)
    pull = rng.normal(0, bias, raters)
    seen = np.where(rng.random(raters * each) < reliability[rater], q[a] - q[b], q[b] - q[a])
    outcome = (rng.random(raters * each) > expit(seen + pull[rater] * (1 - 2 * left))).astype(int)
    return q - q.mean(), pull, (a, b, outcome, rater), left


def small(seed=0, ties=True):
    """8 items, 5 raters (the last an adversary), 60 answers each, some ties and unknown sides."""
    rng = np.random.default_rng(seed)
    reliability = np.array([0.95, 0.95, 0.9, 0.5, 0.1])
    _, _, (a, b, outcome, rater), left = simulate(rng, items=8, each=60, reliability=reliability)
    outcome[::7], left[::5] = (2 if ties else outcome[::7]), 2
    return (a, b, outcome, rater), left


def log_posterior(point, data, left, prior, items, raters):
    """The model as written, one answer at a time in numpy."""
    a, b, outcome, rater = data
    q, u, bias = np.split(point, [items, items + raters])
    d, side, eta = q[a] - q[b], bias[rater] * np.array([1, -1, 0])[left], expit(u[rater])
    p = eta * expit(d + side) + (1 - eta) * expit(-d + side)
    y = np.array([1, 0, 0.5])[outcome]
    believed = -q @ q / 2 / prior.scores**2 - np.log1p((bias / prior.bias) ** 2).sum()
    believed += np.sum(prior.right * log_expit(u) + prior.wrong * log_expit(-u))
    return np.sum(y * np.log(p) + (1 - y) * np.log(1 - p)) + believed


def point_of(fit):
    return np.concatenate([fit.scores, logit(fit.reliability), fit.position_bias])


def hessian(f, x, h=1e-4):
    """Second differences of a function of a vector."""
    steps = h * np.eye(len(x))
    return np.array(
        [[(f(x + i + j) - f(x + i - j) - f(x - i + j) + f(x - i - j)) / 4 / h**2 for j in steps] for i in steps]
    )


@pytest.mark.parametrize(("left", "chance"), [(2, 0.625), (0, 0.8), (1, 0.4)])
def test_by_hand(left, chance):
    # d = log 3, eta = 3/4, b = log 3. Side unknown: 3/4 s(log 3) + 1/4 s(-log 3) = 9/16 + 1/16 = .625.
    # a left: s(log 9) = .9 and s(0) = .5 give 3/4 * .9 + 1/4 * .5 = .8. b left: 3/4 * .5 + 1/4 * .1 = .4.
    side = np.array([[1.0, -1.0, 0.0][left]])
    one = CrowdAnswers(2, 1, np.array([0, 1]), np.array([0]), np.array([1]), np.ones(1), side)
    value = one.slopes(np.array([np.log(3), 0.0]), np.array([np.log(3)]), np.array([np.log(3)]))[0]
    assert value == pytest.approx(np.log(chance))


def test_scipy_finds_the_same_maximum_and_errors():
    data, left = small()
    prior = CrowdPrior(scores=2, right=5, wrong=1, bias=0.8)
    fit = fit_crowd(*data, 8, 5, left=left, prior=prior)

    def up(point):
        return log_posterior(point, data, left, prior, 8, 5)

    start = np.concatenate([np.zeros(8), np.full(5, np.log(5)), np.zeros(5)])
    theirs = minimize(lambda p: -up(p), start, tol=1e-9)
    np.testing.assert_allclose(point_of(fit), theirs.x, atol=2e-5)
    assert fit.log_posterior == pytest.approx(up(point_of(fit)))
    covariance = np.linalg.inv(-hessian(up, point_of(fit)))
    centre = np.eye(8) - 1 / 8
    np.testing.assert_allclose(fit.errors.covariance, centre @ covariance[:8, :8] @ centre, atol=1e-5)
    np.testing.assert_allclose(fit.position_bias_se, np.sqrt(np.diag(covariance)[13:]), atol=1e-5)
    slope = fit.reliability * (1 - fit.reliability)
    np.testing.assert_allclose(fit.reliability_se, np.sqrt(np.diag(covariance)[8:13]) * slope, atol=1e-5)


def test_slopes_and_curvature_by_finite_differences():
    data, left = small(1)
    crowd = module.CrowdPosterior(module._check_answers(*data, 8, 5, left), CrowdPrior())
    point = np.random.default_rng(2).normal(size=18)
    steps = 1e-5 * np.eye(18)
    slopes = [(crowd.slopes(point + h)[0] - crowd.slopes(point - h)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(crowd.slopes(point)[1], slopes, atol=1e-6)
    curved = -np.array([(crowd.slopes(point + h)[1] - crowd.slopes(point - h)[1]) / 2e-5 for h in steps])
    np.testing.assert_allclose(
        crowd.answers.item_curvature(*crowd.split(point)) + np.eye(8) / 9, curved[:8, :8], atol=1e-6
    )
    own, cross = crowd.answers.rater_curvature(*crowd.split(point), 0, 5)
    np.testing.assert_allclose(cross[:, 0], curved[8:13, :8], atol=1e-6)
    np.testing.assert_allclose(cross[:, 1], curved[13:, :8], atol=1e-6)
    np.testing.assert_allclose(own[:, 0, 1], np.diag(curved[8:13, 13:]), atol=1e-6)
    eta, b = expit(point[8:13]), point[13:]
    own_u, own_b = 4.5 * eta * (1 - eta), 2 * (1 - b**2) / (1 + b**2) ** 2  # of the priors
    np.testing.assert_allclose(own[:, 0, 0] + own_u, np.diag(curved[8:13, 8:13]), atol=1e-6)
    np.testing.assert_allclose(own[:, 1, 1] + own_b, np.diag(curved[13:, 13:]), atol=1e-6)


def test_reliable_raters_without_sides_are_bradley_terry():
    data, _ = small(3)
    sure = CrowdPrior(right=1e9, wrong=1.0)
    plain = fit_pairs(count_pairs(*data[:3], 8), prior=3.0)
    np.testing.assert_allclose(fit_crowd(*data, 8, 5, prior=sure).scores, plain.scores, atol=1e-6)


def test_labels_and_sides_do_not_matter():
    (a, b, outcome, rater), left = small(4)
    base = fit_crowd(a, b, outcome, rater, 8, 5, left=left)
    turned = fit_crowd(b, a, np.array([1, 0, 2])[outcome], rater, 8, 5, left=np.array([1, 0, 2])[left])
    np.testing.assert_allclose(turned.scores, base.scores, atol=1e-6)
    np.testing.assert_allclose(turned.position_bias, base.position_bias, atol=1e-6)
    opposite = fit_crowd(a, b, np.array([1, 0, 2])[outcome], rater, 8, 5, left=left)
    np.testing.assert_allclose(opposite.scores, -base.scores, atol=1e-6)
    np.testing.assert_allclose(opposite.reliability, base.reliability, atol=1e-6)
    swap, order = np.random.default_rng(5).permutation(8), np.random.default_rng(6).permutation(len(a))
    moved = fit_crowd(swap[a[order]], swap[b[order]], outcome[order], 4 - rater[order], 8, 5, left=left[order])
    np.testing.assert_allclose(moved.scores[swap], base.scores, atol=1e-6)
    np.testing.assert_allclose(moved.reliability[::-1], base.reliability, atol=1e-6)


def test_other_starts_do_no_better():
    data, left = small(7)
    base = fit_crowd(*data, 8, 5, left=left)
    rng = np.random.default_rng(8)
    others = [fit_crowd(*data, 8, 5, left=left, start=s) for s in (-base.scores, *rng.normal(size=(4, 8)))]
    assert max(fit.log_posterior for fit in others) <= base.log_posterior + 1e-6


def habits(seed=9):
    """Seven good raters, one who always answers left, one spammer, one adversary; 150 answers each."""
    rng = np.random.default_rng(seed)
    reliability = np.array([0.95] * 7 + [0.5, 0.5, 0.05])
    truth, _, (a, b, outcome, rater), left = simulate(rng, items=12, each=150, reliability=reliability, bias=0.0)
    outcome[rater == 7] = left[rater == 7]
    return truth, (a, b, outcome, rater), left


def test_habits_of_raters():
    truth, data, left = habits()
    fit = fit_crowd(*data, 12, 10, left=left)
    assert fit.reliability[:7].min() > 0.8
    assert fit.position_bias[7] > 3
    assert np.abs(fit.position_bias[[*range(7), 8, 9]]).max() < 1
    assert fit.reliability[8] == pytest.approx(0.5, abs=0.12)
    assert fit.reliability[9] < 0.2
    assert spearmanr(fit.scores, truth)[0] > 0.95


def test_who_always_answers_left_hardly_moves_the_scores():
    _, data, left = habits()
    without = data[3] != 7
    full = fit_crowd(*data, 12, 10, left=left)
    less = fit_crowd(*(column[without] for column in data), 12, 10, left=left[without])
    assert (np.abs(full.scores - less.scores) / full.errors.se).max() < 0.25
    plain = [fit_pairs(count_pairs(*(c[keep] for c in data[:3]), 12)).scores for keep in (without, data[3] >= 0)]
    assert np.abs(plain[0] - plain[1]).max() > 2 * np.abs(full.scores - less.scores).max()


def test_thirty_percent_spammers():
    """25 studies: better order and distances than plain Bradley-Terry, and intervals that cover."""
    rng = np.random.default_rng(10)
    reliability = np.where(np.arange(30) < 9, 0.5, 0.9)
    rows = []
    for _ in range(25):
        truth, pull, data, left = simulate(rng, items=25, each=100, reliability=reliability)
        fit = fit_crowd(*data, 25, 30, left=left)
        plain = fit_pairs(count_pairs(*data[:3], 25), prior=3.0).scores
        off, plain_off = np.abs(fit.scores - truth), np.abs(plain - truth)
        order = spearmanr(fit.scores, truth)[0] - spearmanr(plain, truth)[0]
        held = np.mean(np.abs(fit.position_bias - pull) < 1.96 * fit.position_bias_se)
        rows.append([order, off.mean() / plain_off.mean(), np.mean(off < 1.96 * fit.errors.se), held])
    order, distance, covered, bias_covered = np.mean(rows, axis=0)
    assert order > 0.005
    assert distance < 0.5
    assert covered == pytest.approx(0.945, abs=0.025)
    assert bias_covered == pytest.approx(0.95, abs=0.025)


def test_many_items_go_without_second_derivatives(monkeypatch):
    data, left = small(11)
    base = fit_crowd(*data, 8, 5, left=left)
    monkeypatch.setattr(module, "DENSE_ITEMS", 2)
    plain = fit_crowd(*data, 8, 5, left=left, tolerance=1e-6)
    assert plain.errors is None
    assert plain.reliability_se is None
    np.testing.assert_allclose(plain.scores, base.scores, atol=1e-4)


def test_raters_in_blocks(monkeypatch):
    data, left = small(12)
    base = fit_crowd(*data, 8, 5, left=left)
    monkeypatch.setattr("salon.stats.crowd._BLOCK", 32)  # two raters at a time
    again = fit_crowd(*data, 8, 5, left=left)
    np.testing.assert_allclose(again.errors.covariance, base.errors.covariance, atol=1e-9)
    np.testing.assert_allclose(again.reliability_se, base.reliability_se, atol=1e-9)


def test_priors_serve_every_graph():
    silent = fit_crowd([0, 2], [1, 3], [0, 0], [0, 0], 5, 2)  # islands, undefeated and unseen items, a silent rater
    np.testing.assert_allclose(silent.scores[[0, 2]], -silent.scores[[1, 3]])
    assert silent.scores[0] > 0 == pytest.approx(silent.scores[4], abs=1e-9)
    assert silent.reliability[1] == pytest.approx(4 / 4.5)
    np.testing.assert_allclose(silent.position_bias, 0)
    np.testing.assert_allclose(silent.position_bias_se, np.sqrt(1 / 2))  # the curvature of a Cauchy at 0 is 2
    ties = fit_crowd([0, 1, 2], [1, 2, 0], [2, 2, 2], [0, 0, 0], 3, 1)
    np.testing.assert_allclose(ties.scores, 0, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": [0, 3]}, "a takes the numbers 0 to 2"),
        ({"b": [-1, 1]}, "b takes"),
        ({"outcome": [0, 3]}, "outcome takes the numbers 0 to 2"),
        ({"rater": [0, 2]}, "rater takes"),
        ({"left": [0, 3]}, "left takes"),
        ({"outcome": [0.0, np.nan]}, "integers"),
        ({"b": [0, 2]}, "itself"),
        ({"outcome": [0]}, "equally long"),
        ({"start": [0.0, np.nan, 0.0]}, "finite scores"),
    ],
)
def test_bad_values(change, message):
    good = {"a": [0, 1], "b": [1, 2], "outcome": [0, 1], "rater": [0, 1], "left": [0, 1]}
    with pytest.raises(BadValue, match=message):
        fit_crowd(**(good | change), items=3, raters=2)


def test_too_few_and_not_converged(monkeypatch):
    with pytest.raises(TooFew):
        fit_crowd([], [], [], [], 3, 1)
    with pytest.raises(TooFew):
        fit_crowd([0], [0], [0], [0], 1, 1)
    monkeypatch.setattr(module, "_NEWTON", 1)
    data, left = small(13)
    with pytest.raises(NotConverged, match="settle"):
        fit_crowd(*data, 8, 5, left=left, max_iterations=1)


@pytest.mark.parametrize("settings", [{"right": 1, "wrong": 1}, {"scores": 0}, {"bias": np.nan}, {"wrong": -1}])
def test_bad_priors(settings):
    with pytest.raises(BadValue, match="prior"):
        CrowdPrior(**settings)
