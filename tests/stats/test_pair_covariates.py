"""Bradley-Terry and Davidson with covariates (stats/pair_covariates.py)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from statsmodels.discrete.discrete_model import Logit

from salon.errors import BadValue, NotConverged, NotIdentified, TooFew
from salon.stats import (
    cluster_scores,
    clustered_errors,
    count_pairs,
    covariate_errors,
    fit_covariates,
    fit_pairs,
    pair_probabilities,
)

NU = 0.7


def simulated(model: str, items: int, answers: int, beta: list[float], seed: int):
    """True scores, and answers whose covariates go with the scores; better items have more ink."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=items)
    q -= q.mean()
    a = rng.integers(0, items, answers)
    b = (a + rng.integers(1, items, answers)) % items
    z = rng.normal(size=(answers, len(beta))) + 0.7 * (q[a] - q[b])[:, None]
    wins, _, losses = pair_probabilities(model, q[a] - q[b] + z @ beta, NU)
    u = rng.random(answers)
    return q, a, b, np.where(u < wins, 0, np.where(u < wins + losses, 1, 2)), z


# ------------------------------------------------------------------------------------------------- by hand
def test_position_of_two_items_is_a_closed_form():
    # a left: 30 of 40 wins; b left: 10 of 20. Saturated: q + beta = log(30/10), q - beta = log(10/10).
    outcome = np.repeat([0, 1, 0, 1], [30, 10, 10, 10])
    side = np.repeat([1.0, -1.0], [40, 20])[:, None]
    zero, one = np.zeros(60, int), np.ones(60, int)
    fit = fit_covariates(zero, one, outcome, side, 2)
    assert fit.scores[0] - fit.scores[1] == pytest.approx(np.log(3) / 2)
    assert fit.beta[0] == pytest.approx(np.log(3) / 2)
    # Var log(30/10) = 1/30 + 1/10 and Var log(10/10) = 1/10 + 1/10; beta is half their difference.
    error = covariate_errors(fit, zero, one, outcome, side).beta[0]
    assert error == pytest.approx(np.sqrt(1 / 30 + 3 / 10) / 2)


# ------------------------------------------------------------------------------------------------- by definition
@pytest.mark.parametrize("model", ["bradley-terry", "davidson"])
def test_the_maximum_is_that_of_the_likelihood_as_it_is_written(model):
    _, a, b, outcome, z = simulated(model, 4, 300, [0.6, -0.4], seed=1)

    def loss(x: np.ndarray) -> float:
        d = np.append(x[:3], -x[:3].sum())
        d = d[a] - d[b] + z @ x[3:5]
        chances = pair_probabilities(model, d, np.exp(x[5]) if model == "davidson" else None)
        return -np.log(np.choose(outcome, [chances[0], chances[2], chances[1]])).sum()

    best = minimize(loss, np.zeros(6), tol=1e-12, options={"gtol": 1e-7}).x
    fit = fit_covariates(a, b, outcome, z, 4, model)
    assert np.append(fit.scores[:3], fit.beta) == pytest.approx(best[:5], abs=1e-5)
    assert fit.log_likelihood == pytest.approx(-loss(best), abs=1e-6)
    if model == "davidson":
        assert fit.tie == pytest.approx(np.exp(best[5]), abs=1e-4)


# ------------------------------------------------------------------------------------------------- by another tool
def test_scores_effects_and_errors_are_those_of_a_logistic_regression():
    _, a, b, outcome, z = simulated("bradley-terry", 5, 900, [0.5, 0.8], seed=2)
    prompt = np.arange(900) // 9
    rows = np.arange(900)
    design = np.zeros((900, 7))
    design[rows, a] += 1
    design[rows, b] -= 1
    design[:, 5:] = z
    peer = Logit(outcome == 0, design[:, 1:]).fit(disp=0, cov_type="cluster", cov_kwds={"groups": prompt})
    fit = fit_covariates(a, b, outcome, z, 5)
    assert fit.scores[1:] - fit.scores[0] == pytest.approx(peer.params[:4], abs=1e-6)
    assert fit.beta == pytest.approx(peer.params[4:], abs=1e-6)
    small = np.sqrt(899 / (900 - 6))  # statsmodels also corrects for the number of parameters
    errors = covariate_errors(fit, a, b, outcome, z, cluster=prompt)
    assert errors.beta * small == pytest.approx(peer.bse[4:], rel=1e-5)
    C = errors.scores.covariance
    assert np.sqrt(np.diag(C)[1:] + C[0, 0] - 2 * C[0, 1:]) * small == pytest.approx(peer.bse[:4], rel=1e-5)
    assert errors.scores.df == 99
    alone = Logit(outcome == 0, design[:, 1:]).fit(disp=0, cov_type="HC0")
    assert covariate_errors(fit, a, b, outcome, z).beta == pytest.approx(alone.bse[4:], rel=1e-5)


@pytest.mark.parametrize("model", ["bradley-terry", "davidson"])
@pytest.mark.parametrize("prior", [None, 1.5])
def test_without_covariates_it_is_the_plain_fit(model, prior):
    _, a, b, outcome, z = simulated("davidson", 6, 400, [0.0], seed=3)
    none = z[:, :0]
    fit, counts = fit_covariates(a, b, outcome, none, 6, model, prior=prior), count_pairs(a, b, outcome, 6)
    plain = fit_pairs(counts, model, prior=prior)
    assert fit.scores == pytest.approx(plain.scores, abs=1e-8)
    assert fit.tie == pytest.approx(plain.tie) if model == "davidson" else fit.tie is None
    if prior is None:
        cluster = np.arange(400) % 40
        wanted = clustered_errors(plain, counts, cluster_scores(plain, a, b, outcome, cluster, 40))
        found = covariate_errors(fit, a, b, outcome, none, cluster=cluster).scores
        assert found.se == pytest.approx(wanted.se, rel=1e-6)
        assert found.tie_se == (None if wanted.tie_se is None else pytest.approx(wanted.tie_se, rel=1e-6))


# ------------------------------------------------------------------------------------------------- by property
def test_units_sides_and_duplicates():
    _, a, b, outcome, z = simulated("davidson", 5, 500, [0.5, -0.3], seed=4)
    fit = fit_covariates(a, b, outcome, z, 5, "davidson")
    scaled = fit_covariates(a, b, outcome, z * [1000, 1e-6], 5, "davidson")
    assert scaled.beta * [1000, 1e-6] == pytest.approx(fit.beta, rel=1e-6)
    assert scaled.scores == pytest.approx(fit.scores, abs=1e-7)
    other = np.where(outcome == 2, 2, 1 - outcome)
    turned = fit_covariates(b, a, other, -z, 5, "davidson")
    assert turned.scores == pytest.approx(fit.scores, abs=1e-9)
    assert turned.beta == pytest.approx(fit.beta, abs=1e-9)
    twice = fit_covariates(np.tile(a, 2), np.tile(b, 2), np.tile(outcome, 2), np.tile(z, (2, 1)), 5, "davidson")
    heavy = fit_covariates(a, b, outcome, z, 5, "davidson", weight=np.full(500, 2.0))
    assert heavy.scores == pytest.approx(twice.scores, abs=1e-9)
    assert heavy.log_likelihood == pytest.approx(2 * fit.log_likelihood)
    errors = covariate_errors(heavy, a, b, outcome, z, weight=np.full(500, 2.0))
    assert errors.beta == pytest.approx(covariate_errors(fit, a, b, outcome, z).beta / np.sqrt(2), rel=1e-6)


def test_more_wins_never_hurt():
    _, a, b, outcome, z = simulated("bradley-terry", 4, 200, [0.5], seed=5)
    before = fit_covariates(a, b, outcome, z, 4)
    lost = int(np.flatnonzero((a == 0) & (outcome == 1))[0])
    outcome[lost] = 0
    assert fit_covariates(a, b, outcome, z, 4).scores[0] > before.scores[0]


# ------------------------------------------------------------------------------------------------- by recovery
def test_intervals_cover_scores_and_effects_when_prompts_matter():
    """Better items have more ink: plain scores count it twice, adjusted ones cover, though answers hang together."""
    inside, plain, runs = [], [], 120
    for seed in range(runs):
        rng = np.random.default_rng([7, seed])
        q, prompts = np.array([0.6, 0.1, -0.2, -0.5]), np.repeat(np.arange(60), 6)
        a, b = np.tile(np.array([[0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]]), 60)
        ink = 0.8 * q[None] + rng.normal(size=(60, 4))
        mood = 0.5 * rng.normal(size=(60, 4))  # of a generator on a prompt: shared by all its answers
        z = (ink[prompts, a] - ink[prompts, b])[:, None]
        d = q[a] - q[b] + 0.5 * z[:, 0] + mood[prompts, a] - mood[prompts, b]
        outcome = (rng.random(len(a)) > 1 / (1 + np.exp(-d))).astype(int)
        fit = fit_covariates(a, b, outcome, z, 4)
        errors = covariate_errors(fit, a, b, outcome, z, cluster=prompts)
        t = stats.t.ppf(0.975, errors.scores.df)
        shrunk = 1 / np.sqrt(1 + 2 * 0.25 * 0.346)  # noise of the prompts flattens a logistic by this
        gap = np.append(fit.scores - shrunk * q, fit.beta - shrunk * 0.5)
        inside.append(np.abs(gap) < t * np.append(errors.scores.se, errors.beta))
        plain.append(fit_pairs(count_pairs(a, b, outcome, 4)).scores[0])
    covered = np.mean(inside)
    assert 0.91 < covered < 0.985  # 600 intervals: two standard errors of .95 are 1.8%
    assert np.mean(plain) > 1.2 * shrunk * q[0]  # with the ink that goes with it


# ------------------------------------------------------------------------------------------------- at the edge
def answers(seed: int = 6):
    return simulated("bradley-terry", 4, 200, [0.5], seed)[1:]


def test_a_covariate_that_is_the_items_own_is_named():
    a, b, outcome, z = answers()
    own = np.array([3.0, 1.0, 4.0, 1.5])
    for table, why in (
        (np.column_stack([z[:, 0], own[a] - own[b]]), "covariate 1: the same in every meeting"),
        (np.zeros((200, 1)), "covariate 0: the same for both"),
        (np.column_stack([z, -2 * z]), "a sum of the other"),
    ):
        with pytest.raises(NotIdentified, match=why):
            fit_covariates(a, b, outcome, table, 4)


def test_answers_that_all_follow_a_covariate_are_at_infinity():
    a, b, outcome, z = answers()
    follows = np.abs(z) * np.where(outcome == 0, 1, -1)[:, None]
    with pytest.raises(NotIdentified, match="covariate 1: all answers"):
        fit_covariates(a, b, outcome, np.column_stack([z, follows]), 4)
    follows[np.argmax(np.abs(follows))] *= -1  # one clear answer against it is enough
    assert np.isfinite(fit_covariates(a, b, outcome, follows, 4).beta).all()


def test_undefeated_items_need_a_prior():
    a, b, outcome, z = answers()
    outcome = np.where(a == 0, 0, np.where(b == 0, 1, outcome))
    with pytest.raises(NotIdentified, match="undefeated"):
        fit_covariates(a, b, outcome, z, 4)
    fit = fit_covariates(a, b, outcome, z, 4, prior=3.0)
    assert fit.scores.argmax() == 0
    assert fit.scores.sum() == pytest.approx(0)


def test_bad_input_is_named():
    a, b, outcome, z = answers()
    with pytest.raises(NotIdentified, match="ties and nothing else"):
        fit_covariates(a, b, np.full(200, 2), z, 4, "davidson")
    with pytest.raises(BadValue, match="bradley-terry, davidson"):
        fit_covariates(a, b, outcome, z, 4, "thurstone")
    with pytest.raises(BadValue, match="answers, covariates"):
        fit_covariates(a, b, outcome, z[:-1], 4)
    with pytest.raises(BadValue, match="comparison 3, covariate 0"):
        fit_covariates(a, b, outcome, np.where(np.arange(200)[:, None] == 3, np.nan, z), 4)
    with pytest.raises(BadValue, match="prior"):
        fit_covariates(a, b, outcome, z, 4, prior=0.0)
    with pytest.raises(NotConverged, match="after 1 iterations"):
        fit_covariates(a, b, outcome, z, 4, max_iterations=1)
    fit = fit_covariates(a, b, outcome, z, 4)
    with pytest.raises(TooFew, match="2 clusters"):
        covariate_errors(fit, a, b, outcome, z, cluster=np.zeros(200, int))
    with pytest.raises(BadValue, match="number of its cluster"):
        covariate_errors(fit, a, b, outcome, z, cluster=np.zeros(7, int))
    with pytest.raises(TooFew, match="at least one comparison"):
        fit_covariates([], [], [], np.zeros((0, 1)), 4)
