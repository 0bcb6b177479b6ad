"""What a fit explains worst: pairs, raters and the whole (stats/residuals.py)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from salon.errors import BadValue, TooFew
from salon.stats import goodness_of_fit, pair_residuals, rater_residuals, spread_ties


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def davidson(d, nu: float):
    """P(win), P(tie), P(loss) at a difference of scores d."""
    up, down = np.exp(np.asarray(d) / 2), np.exp(-np.asarray(d) / 2)
    whole = up + down + nu
    return up / whole, nu / whole, down / whole


# ----------------------------------------------------------------------------------------------- by hand
def test_a_pair_by_hand():
    # Chances .5 .2 .3: mu = .6, v = .5 + .05 - .36 = .19. Six wins, two ties, two losses: S = 7, n mu = 6,
    # z = 1 / sqrt(1.9) = .7255.
    got = pair_residuals([6], [2], [2], [0.5], [0.2], [0.3])
    assert (got.n[0], got.observed[0], got.expected[0]) == (10, 0.7, 0.6)
    assert got.z[0] == pytest.approx(0.725476)


def test_a_rater_by_hand():
    # Two answers on a pair with chances .5 .25 .25 in log 2 units: l = -1 (win) and -2 (tie), sum -3.
    # E l = -.5 - .5 - .5 = -1.5 each; E l^2 = .5 + 1 + 1 = 2.5, Var l = 2.5 - 2.25 = .25 each.
    # z = (-3 + 3) / sqrt(.5) = 0; with two ties (-4 + 3) / sqrt(.5) = -1.4142.
    got = rater_residuals([0, 0, 1, 1], [0, 0, 0, 0], [0, 2, 2, 2], [0.5], [0.25], [0.25], 3)
    assert got.z[:2] == pytest.approx([0, -np.sqrt(2)])
    assert got.log_likelihood[:2] == pytest.approx(np.log(2) * np.array([-1.5, -2]))
    assert got.expected[:2] == pytest.approx(-1.5 * np.log(2))
    # One decided answer, with the favourite; the model expects .5/.75 of the decided ones there.
    assert got.agreement[0] == 1
    assert got.expected_agreement[0] == pytest.approx(2 / 3)
    assert got.n.tolist() == [2, 2, 0]
    assert got.decided.tolist() == [1, 0, 0]
    assert np.isnan(got.agreement[1:]).all()
    assert np.isnan([got.z[2], got.log_likelihood[2]]).all()


def test_ties_are_spread_by_hand():
    # p = .5 and .8 leave room for ties of 1 and .4; 10 answers each and 7 ties: k = 7 / 14 = .5.
    win, tie, loss = spread_ties([0.5, 0.8], [4, 3], [10, 10])
    assert tie == pytest.approx([0.5, 0.2])
    assert win + tie / 2 == pytest.approx([0.5, 0.8])
    assert loss == pytest.approx([0.25, 0.1])


# ------------------------------------------------------------------------- by definition, by another tool
def test_pairs_and_raters_are_their_moments():
    """z is (value - mean) / sd, with moments over all 3^2 ways to answer a pair twice."""
    p = np.array([0.6, 0.1, 0.3])
    ways = [(a, b) for a in range(3) for b in range(3)]  # win, tie, loss
    chance = np.array([p[a] * p[b] for a, b in ways])
    score = np.array([(2 - a) / 2 + (2 - b) / 2 for a, b in ways])
    surprise = np.array([np.log(p[a]) + np.log(p[b]) for a, b in ways])
    for values, z in ((score, _pair_z), (surprise, _rater_z)):
        mean = chance @ values
        sd = np.sqrt(chance @ values**2 - mean**2)
        assert [z(p, way) for way in ways] == pytest.approx(((values - mean) / sd).tolist())


def _pair_z(p, way) -> float:
    counts = np.bincount(way, minlength=3)
    return pair_residuals([counts[0]], [counts[2]], [counts[1]], *p[:, None]).z[0]


def _rater_z(p, way) -> float:
    return rater_residuals([0, 0], [0, 0], np.array([0, 2, 1])[list(way)], *p[:, None], 1).z[0]


def test_large_counts_have_scipys_chi_square():
    p = np.array([davidson(d, 0.7) for d in (0.2, -1.0, 0.4, 0.0)]).T
    counts = rng(1).multinomial(200, p.T).T
    got = goodness_of_fit(counts[0], counts[2], counts[1], *p, parameters=0, rng=rng())
    parts = [stats.chisquare(counts[:, k], 200 * p[:, k]) for k in range(4)]
    assert got.statistic == pytest.approx(sum(part.statistic for part in parts))
    assert got.p == pytest.approx(stats.chi2.sf(got.statistic, 8))
    assert (got.law, got.n) == ("chi-square, 8 degrees of freedom", 4)


# --------------------------------------------------------------------------------------------- by property
def test_seen_from_the_other_item():
    win, tie, loss = davidson(np.array([0.3, 1.2]), 0.5)
    one = pair_residuals([3, 1], [2, 4], [1, 0], win, tie, loss)
    other = pair_residuals([2, 4], [3, 1], [1, 0], loss, tie, win)
    np.testing.assert_allclose(one.z, -other.z)
    fit = (np.array([0, 0, 1]), np.array([0, 1, 1]))
    here = rater_residuals(*fit, [0, 1, 2], win, tie, loss, 2)
    there = rater_residuals(*fit, [1, 0, 2], loss, tie, win, 2)
    np.testing.assert_allclose(here.z, there.z)
    np.testing.assert_array_equal(here.agreement, there.agreement)


def test_more_wins_raise_the_residual_and_repeats_are_weights():
    p = davidson(np.array([0.3]), 0.5)
    z = [pair_residuals([k], [10 - k], [0], *p).z[0] for k in range(11)]
    assert (np.diff(z) > 0).all()
    once, often = pair_residuals([2.5], [1], [0.5], *p), pair_residuals([10], [4], [2], *p)
    assert often.z[0] == pytest.approx(2 * once.z[0])


def test_without_ties_nothing_is_spread():
    win, tie, loss = spread_ties([0.3, 0.9], [0, 0], [5, 5])
    assert tie.tolist() == [0, 0]
    np.testing.assert_allclose((win, loss), ([0.3, 0.9], [0.7, 0.1]))
    assert spread_ties([0.9], [5], [5])[1] == pytest.approx([0.2])  # more ties than the mean allows


# --------------------------------------------------------------------------------------------- by recovery
def simulated(seed: int, raters: int = 40, answers: int = 300):
    """Answers of raters on the pairs of 8 items under a Davidson model."""
    generator = rng(seed)
    q = np.linspace(-1.5, 1.5, 8)
    i, j = np.array(list(combinations(range(8), 2))).T
    p = np.stack(davidson(q[i] - q[j], 0.6))
    who = np.repeat(np.arange(raters), answers)
    pair = generator.integers(len(i), size=len(who))
    drawn = (generator.random(len(who)) > p.cumsum(axis=0)[:2, pair]).sum(axis=0)
    return p, who, pair, np.array([0, 2, 1])[drawn]


def test_residuals_are_standard_under_the_model():
    p, who, pair, outcome = simulated(3, raters=400, answers=100)
    got = rater_residuals(who, pair, outcome, *p, 400)
    assert abs(got.z.mean()) < 4 / np.sqrt(400)
    assert got.z.std() == pytest.approx(1, abs=0.12)
    assert np.mean(got.agreement - got.expected_agreement) == pytest.approx(0, abs=0.01)


def test_easy_pairs_do_not_flatter():
    """A rater who only met lopsided pairs has a high likelihood and an ordinary z; a careless one has neither."""
    p, who, pair, outcome = simulated(4)
    lopsided = np.flatnonzero(np.abs(p[0] - p[2]) > 0.7)
    generator = rng(5)
    pair[who == 0] = generator.choice(lopsided, (who == 0).sum())
    drawn = (generator.random((who == 0).sum()) > p.cumsum(axis=0)[:2, pair[who == 0]]).sum(axis=0)
    outcome[who == 0] = np.array([0, 2, 1])[drawn]
    outcome[who == 1] = generator.integers(3, size=(who == 1).sum())
    got = rater_residuals(who, pair, outcome, *p, 40)
    assert got.log_likelihood.argmax() == 0
    assert abs(got.z[0]) < 3
    assert got.z.argmin() == 1
    assert got.z[1] < -5
    assert got.agreement[1] < got.expected_agreement[1] - 0.1


def test_the_pair_that_was_turned_round_stands_out():
    p, _, pair, outcome = simulated(6)
    outcome = np.where((pair == 11) & (outcome < 2), 1 - outcome, outcome)
    wins, losses, ties = (np.bincount(pair[outcome == o], minlength=28) for o in range(3))
    z = np.abs(pair_residuals(wins, losses, ties, *p).z)
    assert z.argmax() == 11
    assert np.delete(z, 11).max() < 4


def fitted_bradley_terry(i, j, wins, each):
    """Eight scores by Newton's method, with a prior too weak to matter."""
    q = np.zeros(8)
    for _ in range(30):
        p = expit(q[i] - q[j])
        side = np.eye(8)[i] - np.eye(8)[j]
        information = side.T @ (side * (each * p * (1 - p))[:, None]) + 1e-3 * np.eye(8)
        q += np.linalg.solve(information, side.T @ (wins - each * p) - 1e-3 * q)
    return q


@pytest.mark.parametrize(("each", "law"), [(3, "draws"), (40, "chi-square")])
def test_a_fitted_true_model_passes(each, law):
    """Size of the test after fitting, with few answers per pair and with many."""
    generator = rng(each)
    i, j = np.array(list(combinations(range(8), 2))).T
    q = np.linspace(-0.8, 0.8, 8)
    none, p = np.zeros(28), []
    for _ in range(200):
        wins = generator.binomial(each, expit(q[i] - q[j]))
        q_hat = fitted_bradley_terry(i, j, wins, each)
        win = expit(q_hat[i] - q_hat[j])
        test = goodness_of_fit(wins, each - wins, none, win, none, 1 - win, parameters=7, rng=generator, draws=199)
        assert law in test.law
        p.append(test.p)
    assert np.mean(p) == pytest.approx(0.5, abs=0.07)
    assert np.mean(np.array(p) <= 0.05) <= 0.09


def test_an_intransitive_truth_is_noticed():
    # a beats b beats c beats a, 9 of 12 each: Bradley-Terry can only say 1/2.
    half, none = np.full(3, 0.5), np.zeros(3)
    many = goodness_of_fit([9, 9, 3], [3, 3, 9], none, half, none, half, parameters=2, rng=rng())
    assert many.statistic == pytest.approx(9)  # 3 pairs x 2 outcomes x 3^2/6 = 9
    assert many.p == pytest.approx(stats.chi2.sf(9, 1))


# --------------------------------------------------------------------------------------------- at the edge
def test_pairs_without_answers_or_without_surprise_have_no_residual():
    got = pair_residuals([0, 4], [0, 0], [0, 0], [0.5, 1.0], [0, 0], [0.5, 0.0])
    assert np.isnan(got.z).all()
    assert np.isnan(got.observed[0])
    even = rater_residuals([0], [0], [0], [0.5], [0.0], [0.5], 1)
    assert np.isnan(even.z[0])
    assert np.isnan(even.agreement[0])  # no favourite to agree with


@pytest.mark.parametrize(
    ("wins", "ties", "p", "words"),
    [
        ([1], [1], ([0.5], [0.0], [0.5]), "spread_ties"),
        ([1], [0], ([0.0], [0.0], [1.0]), "a win to which it gives none"),
        ([np.nan], [0], ([0.5], [0.0], [0.5]), "finite"),
        ([-1], [0], ([0.5], [0.0], [0.5]), "0 or more"),
        ([1], [0], ([0.5], [0.1], [0.5]), "sum to 1"),
        ([1, 1], [0], ([0.5], [0.0], [0.5]), "equally long"),
        ([1], [0], ([0.5, 0.5], [0.0, 0.0], [0.5, 0.5]), "same pairs"),
    ],
)
def test_bad_counts_and_chances_are_named(wins, ties, p, words):
    with pytest.raises(BadValue, match=words):
        pair_residuals(wins, [0], ties, *p)


@pytest.mark.parametrize(
    ("rater", "pair", "outcome", "words"),
    [
        ([2], [0], [0], "raters are numbered 0 to 1"),
        ([0], [1], [0], "pairs are numbered"),
        ([0], [0], [3], "outcomes are numbered"),
        ([0, 1], [0], [0], "equally long"),
        ([0], [0], [2], "spread_ties"),
    ],
)
def test_bad_answers_are_named(rater, pair, outcome, words):
    with pytest.raises(BadValue, match=words):
        rater_residuals(rater, pair, outcome, [0.5], [0.0], [0.5], 2)


def test_goodness_needs_room_and_plain_counts():
    half, none = [0.5], [0.0]
    with pytest.raises(TooFew, match="0 degrees of freedom"):
        goodness_of_fit([3], [3], [0], half, none, half, parameters=1, rng=rng())
    with pytest.raises(BadValue, match="plain counts"):
        goodness_of_fit([2.5], [3], [0], half, none, half, parameters=0, rng=rng())
