"""Simulators and the closed forms of their agreement (stats/simulate.py)."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from itertools import permutations

import krippendorff
import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings, strategies as st
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats import RankingLaw, cells_votes, expected_tau, fit_tau, ratings_from_utilities, votes_rankings
from salon.stats.simulate import (
    TIE,
    bradley_terry_comparisons,
    expected_taus,
    faction_rankings,
    mallows_rankings,
    noise_for_tau,
    plackett_luce_rankings,
    thurstone_rankings,
    uniform_rankings,
)

LAWS = [
    RankingLaw("uniform"),
    RankingLaw("mallows", 0.5),
    RankingLaw("mallows", 0.8, pattern=(0.2, 1, 1, 1, 1.5)),
    RankingLaw("mallows", 0.8, careless=(1.0, 0.0, 0.0, 0.3, 0.0)),
    RankingLaw("thurstone", 1.9),
    RankingLaw("thurstone", 1.5, pattern=(2.5, 1, 1, 1, 1), careless=(0.2,)),
    RankingLaw("plackett_luce", 1.2),
    RankingLaw("factions", 1.0, shares=(0.6, 0.4)),
]


def pair_tau(ranks: np.ndarray, r: int, s: int) -> np.ndarray:
    """Kendall's tau of raters r and s for every prompt, from its definition."""
    i, j = np.triu_indices(ranks.shape[2], 1)
    order = np.sign(ranks[:, :, i].astype(int) - ranks[:, :, j])
    return (order[:, r] * order[:, s]).mean(axis=1)


def mallows_table(theta: float, items: int) -> dict[tuple[int, ...], float]:
    """P of every ranking around the identity, by writing all of them down."""
    i, j = np.triu_indices(items, 1)
    weight = {
        ranks: np.exp(-theta * np.sum(np.array(ranks)[i] > np.array(ranks)[j])) for ranks in permutations(range(items))
    }
    total = sum(weight.values())
    return {ranks: w / total for ranks, w in weight.items()}


def each_rater(pairs: np.ndarray | list[tuple[int, int]], raters: int) -> tuple[np.ndarray, np.ndarray]:
    """Every rater on every pair: `pairs` repeated, and the rater of each row."""
    return np.tile(pairs, (raters, 1)), np.repeat(np.arange(raters), len(pairs))


# ----------------------------------------------------------------------------------------------- by hand
def test_closed_forms_by_hand():
    # Two items: P(as the centre) = 1/(1+e^-1), lean = tanh(1/2) = 0.46212, tau = its square = 0.21355.
    assert expected_tau(RankingLaw("mallows", 1.0), 2, 2) == pytest.approx(np.tanh(0.5) ** 2, abs=1e-14)
    # Equal noise 1: correlation of two impressions 1/2, arcsin(1/2) = pi/6, tau = 2/pi * pi/6 = 1/3.
    assert expected_tau(RankingLaw("thurstone", 1.0), 5, 4) == pytest.approx(1 / 3, abs=1e-14)
    # Factions of 3 and 2: 3 + 1 of the 10 pairs of raters share an order: 4/10 * 1/3 = 2/15.
    factions = RankingLaw("factions", 1.0, shares=(0.6, 0.4))
    assert factions.faction_sizes(5) == (3, 2)
    assert expected_tau(factions, 5, 4) == pytest.approx(2 / 15, abs=1e-14)
    # One of five raters always careless: 6 of 10 pairs of raters are untouched.
    one_asleep = RankingLaw("thurstone", 1.0, careless=(1.0, 0, 0, 0, 0))
    assert expected_tau(one_asleep, 5, 4) == pytest.approx(0.6 / 3, abs=1e-14)


def test_davidson_shares_by_hand(rng):
    # Equal items, tie weight 1: left, right, tie each 1/3. With bias ln 2 for the left and no ties: 2/3.
    pairs, raters = each_rater([(0, 1)], 60_000)
    tied = bradley_terry_comparisons([0.0, 0.0], pairs, raters, tie=1.0, rng=rng)
    assert np.mean(tied.outcome == TIE) == pytest.approx(1 / 3, abs=0.008)
    biased = bradley_terry_comparisons([0.0, 0.0], pairs, raters, bias=np.log(2), rng=rng)
    assert np.mean(biased.outcome == biased.left) == pytest.approx(2 / 3, abs=0.008)


def test_rating_levels_by_hand():
    # No noise: impressions 1 + 2u = -1, 1, 3 against thresholds 0 and 2 are levels 0, 1, 2.
    levels = ratings_from_utilities(
        [-1, 0, 1], 2, [0, 2], offset=[1, 1], scale=2, noise=0, rng=np.random.default_rng(0)
    )
    assert levels.tolist() == [[0, 1, 2], [0, 1, 2]]


# ----------------------------------------------------------------------------------------- by definition
@pytest.mark.parametrize(("one", "other"), [(0.3, 0.3), (0.2, 1.4), (1e-4, 0.7), (5e-4, 5e-4)])
def test_mallows_tau_is_the_sum_over_all_rankings(one, other):
    i, j = np.triu_indices(4, 1)
    lean = [
        sum(p * np.sign(np.array(ranks)[j] - np.array(ranks)[i]) for ranks, p in mallows_table(t, 4).items())
        for t in (one, other)
    ]
    law = RankingLaw("mallows", 1.0, pattern=(one, other))
    assert expected_taus(law, 2, 4)[0, 1] == pytest.approx(np.mean(lean[0] * lean[1]), rel=1e-9)


@pytest.mark.parametrize("theta", [0.0, 0.4, 1.3, np.inf])
def test_mallows_draws_follow_the_table(theta, rng):
    centers = np.tile([2, 0, 3, 1], (40_000, 1))
    ranks = mallows_rankings(40_000, 1, 4, theta, centers=centers, rng=rng)[:, 0]
    if theta == np.inf:
        assert np.all(ranks == centers)
        return
    table = mallows_table(theta, 4)
    relative = ranks[:, np.argsort([2, 0, 3, 1])]  # columns in the order of the centre
    seen = dict.fromkeys(table, 0)
    for key, count in zip(*np.unique(relative, axis=0, return_counts=True)):
        seen[tuple(int(k) for k in key)] = int(count)
    expected = np.array(list(table.values())) * 40_000
    assert stats.chisquare(list(seen.values()), expected).pvalue > 1e-4


def test_plackett_luce_draws_follow_the_choice_model(rng):
    u = np.array([0.9, 0.0, -0.7])
    ranks = plackett_luce_rankings(60_000, 1, 3, 1.0, utilities=u, rng=rng)[:, 0]
    for order in permutations(range(3)):
        w = np.exp(u[list(order)])
        p = w[0] / w.sum() * w[1] / (w[1] + w[2])  # choose the best of three, then of the two left
        share = np.mean(np.all(np.argsort(ranks, axis=1) == order, axis=1))
        assert share == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 60_000))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.kind}-{law.parameter}-{law.careless[0]}")
def test_drawn_tau_matches_the_closed_form_for_every_pair_of_raters(law, rng):
    ranks = law.draw(40_000, 5, 4, rng=rng)
    expected = expected_taus(law, 5, 4)
    for r, s in zip(*np.triu_indices(5, 1)):
        taus = pair_tau(ranks, r, s)
        assert abs(taus.mean() - expected[r, s]) < 4.5 * taus.std() / 200


# ---------------------------------------------------------------------------------------- by another tool
def test_thurstone_tau_agrees_with_scipy_orthants():
    for a, b in [(0.5, 0.5), (1.9, 3.0)]:
        rho = 1 / np.sqrt((1 + a**2) * (1 + b**2))
        orthant = stats.multivariate_normal(cov=[[1, rho], [rho, 1]]).cdf([0, 0])
        law = RankingLaw("thurstone", 1.0, pattern=(a, b))
        assert expected_tau(law, 2, 4) == pytest.approx(4 * orthant - 1, abs=1e-6)


def test_pair_tau_of_draws_agrees_with_scipy(rng):
    ranks = thurstone_rankings(5, 2, 6, 1.0, rng=rng)
    ours = pair_tau(ranks, 0, 1)
    assert ours == pytest.approx([stats.kendalltau(a, b).statistic for a, b in ranks])


def test_comparisons_are_a_logistic_regression_for_statsmodels(rng):
    q, bias = np.array([1.0, 0.2, -0.4, -0.8]), 0.5
    pairs, raters = each_rater(np.stack(np.triu_indices(4, 1), axis=1), 4_000)
    got = bradley_terry_comparisons(q, pairs, raters, bias=bias, rng=rng)
    sign = 1 - 2 * got.left
    design = np.zeros((len(pairs), 4))
    rows = np.arange(len(pairs))
    design[rows, got.a] += sign
    design[rows, got.b] -= sign
    design[:, 3] = 1.0  # the last item is the reference; its column becomes the bias
    fit = sm.Logit((got.outcome == got.left).astype(float), design).fit(disp=0)
    truth = np.append(q[:3] - q[3], bias)
    assert np.all(np.abs(fit.params - truth) < 4 * fit.bse)


# -------------------------------------------------------------------------------------------- by property
@settings(max_examples=40)
@given(
    st.sampled_from(["uniform", "mallows", "thurstone", "plackett_luce", "factions"]),
    st.integers(1, 9),
    st.integers(2, 7),
    st.integers(2, 9),
    st.floats(0, 5),
    st.integers(0, 2**32),
)
def test_every_answer_is_a_ranking_and_a_seed_repeats_it(kind, prompts, raters, items, parameter, seed):
    law = RankingLaw(kind, parameter)
    ranks = law.draw(prompts, raters, items, rng=np.random.default_rng(seed))
    assert ranks.dtype == np.int8
    assert ranks.shape == (prompts, raters, items)
    assert np.all(np.sort(ranks, axis=2) == np.arange(items))
    assert np.array_equal(ranks, law.draw(prompts, raters, items, rng=np.random.default_rng(seed)))


@pytest.mark.parametrize(("kind", "sign"), [("mallows", 1), ("plackett_luce", 1), ("thurstone", -1)])
def test_tau_moves_one_way_with_the_parameter(kind, sign):
    taus = [expected_tau(RankingLaw(kind, x), 3, 5) for x in np.geomspace(1e-3, 20, 60)]
    assert np.all(sign * np.diff(taus) > 0)


def test_centres_hold_no_preference_for_any_item(rng):
    ranks = mallows_rankings(40_000, 1, 4, 2.0, rng=rng)[:, 0]
    assert np.allclose(ranks.mean(axis=0), 1.5, atol=4 * 1.118 / 200)


def test_factions_share_nothing(rng):
    ranks = faction_rankings(40_000, (2, 2), 4, 0.3, rng=rng)
    assert abs(pair_tau(ranks, 0, 2).mean()) < 4 * 0.5 / 200
    assert pair_tau(ranks, 0, 1).mean() > 0.6


def test_renaming_items_changes_no_answer():
    q, name = np.array([1.0, 0.3, -0.2]), np.array([2, 0, 1])
    renamed = np.empty(3)
    renamed[name] = q
    pairs, raters = each_rater([(0, 1), (1, 2), (2, 0)], 50)
    plain = bradley_terry_comparisons(q, pairs, raters, tie=0.4, rng=np.random.default_rng(5))
    other = bradley_terry_comparisons(renamed, name[pairs], raters, tie=0.4, rng=np.random.default_rng(5))
    assert np.array_equal(plain.outcome, other.outcome)


def test_a_careless_rater_looks_at_no_item(rng):
    pairs, raters = each_rater([(0, 1)], 2)
    pairs, raters = np.tile(pairs, (20_000, 1)), np.tile(raters, 20_000)
    got = bradley_terry_comparisons([4.0, 0.0], pairs, raters, careless=[0.0, 1.0], rng=rng)
    assert np.mean(got.outcome[raters == 0] == 0) > 0.97
    assert np.mean(got.outcome[raters == 1] == 0) == pytest.approx(0.5, abs=0.02)


# -------------------------------------------------------------------------------------------- by recovery
@pytest.mark.parametrize("kind", ["mallows", "thurstone", "plackett_luce"])
def test_noise_for_tau_gives_the_tau_asked_for(kind, rng):
    law = RankingLaw(kind, noise_for_tau(0.2, 5, kind))
    assert expected_tau(law, 3, 5) == pytest.approx(0.2, abs=1e-9)
    taus = pair_tau(law.draw(30_000, 2, 5, rng=rng), 0, 1)
    assert abs(taus.mean() - 0.2) < 4 * taus.std() / np.sqrt(30_000)


def test_fit_tau_keeps_pattern_and_carelessness():
    law = fit_tau(RankingLaw("thurstone", pattern=(2, 1, 1, 1, 1), careless=(0.1,)), 0.15, 5, 4)
    assert law.pattern == (2, 1, 1, 1, 1)
    assert expected_tau(law, 5, 4) == pytest.approx(0.15, abs=1e-9)


def test_mallows_theta_is_recovered_and_its_interval_covers(rng):
    """Exponential family: the likelihood equation sets the mean distance to the centre to its expectation."""
    theta, n, sets = 0.6, 100, 400
    grid = np.linspace(0.01, 2, 2_000)
    j = np.arange(2, 5)  # insertions of 2nd, 3rd, 4th item: truncated geometric on 0..j-1
    v = np.arange(4)
    law = np.exp(-grid[:, None, None] * v) * (v < j[:, None])
    law /= law.sum(axis=2, keepdims=True)
    mean = (law * v).sum(axis=(1, 2))
    variance = ((law * v**2).sum(axis=2) - (law * v).sum(axis=2) ** 2).sum(axis=1)
    centers = np.tile(np.arange(4), (n * sets, 1))
    ranks = mallows_rankings(n * sets, 1, 4, theta, centers=centers, rng=rng)[:, 0].astype(int)
    a, b = np.triu_indices(4, 1)
    distance = (ranks[:, a] > ranks[:, b]).sum(axis=1).reshape(sets, n).mean(axis=1)
    estimate = np.interp(-distance, -mean, grid)
    error = 1 / np.sqrt(n * np.interp(estimate, grid, variance))
    assert estimate.mean() == pytest.approx(theta, abs=0.03)
    covered = np.mean(np.abs(estimate - theta) < 1.96 * error)
    assert 0.92 < covered < 0.98


def test_thresholds_at_normal_quantiles_give_their_prevalence(rng):
    # Impression variance 1 + 1 = 2: thresholds sqrt(2) z(.55) and sqrt(2) z(.9) give 55 / 35 / 10 %.
    cuts = np.sqrt(2) * stats.norm.ppf([0.55, 0.90])
    levels = ratings_from_utilities(rng.standard_normal(40_000), 3, cuts, rng=rng)
    assert np.bincount(levels.ravel()) / levels.size == pytest.approx([0.55, 0.35, 0.10], abs=0.01)


# ---------------------------------------------------------------------------------- the fitted settings
def taste_like() -> dict:
    return tomllib.loads((files("salon.collect.simulate") / "taste_like.toml").read_text(encoding="utf-8"))


def test_the_simulated_designer_study_has_the_published_tau_and_shape():
    study = taste_like()
    cohorts = {cohort["id"]: cohort for cohort in study["cohort"]}
    assert study["simulated"] is True
    assert [sum(c["cohort"] == name for c in study["criterion"]) for name in cohorts] == [5, 4]
    for criterion in study["criterion"]:
        law = RankingLaw(criterion["law"], criterion["noise"], pattern=tuple(cohorts[criterion["cohort"]]["pattern"]))
        assert expected_tau(law, 5, study["items"]) == pytest.approx(criterion["paper"]["mean_tau"], abs=1e-5)
        taus = expected_taus(law, 5, study["items"])
        assert taus[0, 1:].max() < taus[1, 2]  # the planted designer agrees least
        for figure, margin in (("mean_pmax", 0.004), ("median_T", 0.068)):
            assert criterion["large_n"][figure] == pytest.approx(criterion["paper"][figure], abs=margin)


def test_the_simulated_study_repeats_its_large_n_figures(rng):
    study = taste_like()
    laws = {
        "taste/color-harmony": RankingLaw("thurstone", study["criterion"][3]["noise"], pattern=(2.0, 1, 1, 1, 1)),
        "control/random": RankingLaw("uniform"),
        "control/factions": RankingLaw("factions", 1.0, shares=(0.6, 0.4)),
    }
    printed = {entry["id"]: entry["large_n"] for entry in study["criterion"] + study["control"]}
    for name, law in laws.items():
        cells = cells_votes(votes_rankings(law.draw(60_000, 5, 4, rng=rng)), 5, 4)
        for figure in ("median_T", "mean_tau", "mean_pmax", "cycle_rate"):
            assert getattr(cells, figure) == pytest.approx(printed[name][figure], abs=0.006), (name, figure)


def test_the_simulated_flags_have_the_published_shares_and_alpha(rng):
    for flag in taste_like()["flag"]:
        levels = ratings_from_utilities(
            rng.standard_normal(60_000), 5, flag["thresholds"], offset=flag["offset"], scale=flag["stretch"], rng=rng
        )
        assert np.bincount(levels.ravel()) / levels.size == pytest.approx([0.55, 0.35, 0.10], abs=0.006)
        alpha = krippendorff.alpha(levels[:, :4_000], level_of_measurement="ordinal")
        assert alpha == pytest.approx(flag["paper"]["alpha_ordinal"], abs=0.03)
        assert np.mean(levels == 2, axis=1).max() > 0.17


# --------------------------------------------------------------------------------------------- at the edge
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda rng: uniform_rankings(0, 5, 4, rng=rng), TooFew),
        (lambda rng: uniform_rankings(3, 5, 1, rng=rng), TooFew),
        (lambda rng: uniform_rankings(3, 5, 128, rng=rng), BadValue),
        (lambda rng: mallows_rankings(3, 5, 4, -0.1, rng=rng), BadValue),
        (lambda rng: mallows_rankings(3, 5, 4, float("nan"), rng=rng), BadValue),
        (lambda rng: mallows_rankings(3, 5, 4, [1.0, 2.0], rng=rng), BadValue),
        (lambda rng: mallows_rankings(1, 2, 3, 1.0, centers=[[0, 0, 1]], rng=rng), BadValue),
        (lambda rng: thurstone_rankings(3, 5, 4, float("inf"), rng=rng), BadValue),
        (lambda rng: thurstone_rankings(3, 5, 4, 1, utilities=[[1, 2]], rng=rng), BadValue),
        (lambda rng: thurstone_rankings(3, 5, 4, 1.0, careless=1.2, rng=rng), BadValue),
        (lambda rng: faction_rankings(3, (5, 0), 4, 1.0, rng=rng), BadValue),
        (lambda rng: bradley_terry_comparisons([0, 1], [(0, 2)], [0], rng=rng), BadValue),
        (lambda rng: bradley_terry_comparisons([0, 1], [(1, 1)], [0], rng=rng), BadValue),
        (lambda rng: bradley_terry_comparisons([0, 1], [(0, 1)], [0, 1], rng=rng), BadValue),
        (lambda rng: bradley_terry_comparisons([0, 1], [(0, 1)], [0], tie=-1, rng=rng), BadValue),
        (lambda rng: ratings_from_utilities([0, 1], 2, [1, 0], rng=rng), BadValue),
        (lambda rng: ratings_from_utilities([0, np.nan], 2, [0, 1], rng=rng), BadValue),
        (lambda rng: RankingLaw("anything"), BadValue),
        (lambda rng: RankingLaw("plackett_luce", 1.0, pattern=(1.0, 2.0)), BadValue),
        (lambda rng: expected_tau(RankingLaw("mallows", 1.0), 1, 4), TooFew),
        (lambda rng: noise_for_tau(1.5, 4, "mallows"), BadValue),
        (lambda rng: noise_for_tau(0.1, 4, "uniform"), BadValue),
        (lambda rng: fit_tau(RankingLaw("factions", shares=(0.6, 0.4)), 0.5, 5, 4), BadValue),
    ],
)
def test_wrong_settings_are_named(call, error, rng):
    with pytest.raises(error):
        call(rng)


@pytest.fixture
def rng():
    return np.random.default_rng(20240)
