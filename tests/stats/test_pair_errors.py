"""Errors of scores from comparisons (stats/pair_errors.py)."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import norm, t as student

from salon.errors import BadValue, TooFew
from salon.stats import (
    Errors,
    PairCounts,
    Pull,
    bootstrap_scores,
    cluster_scores,
    clustered_errors,
    count_pairs,
    fit_pairs,
    hessian_errors,
    independent_errors,
    pair_errors,
    pair_probabilities,
)
from salon.stats.pair_models import MODELS

TIES = {"davidson": 0.8, "rao-kupper": 1.7}


def pairs_of(items: int, comparisons: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a = rng.integers(0, items, comparisons)
    return a, (a + rng.integers(1, items, comparisons)) % items


def answers(model: str, d: np.ndarray, rng: np.random.Generator, tie: float | None = None) -> np.ndarray:
    wins, _, losses = pair_probabilities(model, d, TIES.get(model, tie))
    u = rng.random(len(d))
    return np.where(u < wins, 0, np.where(u < wins + losses, 1, 2))


def study(model: str, items: int, comparisons: int, seed: int):
    """a, b, outcome of a study with ties, whatever the model."""
    rng = np.random.default_rng(seed)
    a, b = pairs_of(items, comparisons, rng)
    q = rng.normal(size=items)
    law = model if model in TIES else "davidson"
    return a, b, answers(law, q[a] - q[b], rng)


def slopes_by_answer(fit, a, b, outcome) -> np.ndarray:
    """(comparisons, parameters): the slow way, by finite differences of log P."""

    def log_p(q, tie):
        wins, ties, losses = pair_probabilities(fit.model, q[a] - q[b], tie)
        draw = np.sqrt(wins * losses) if tie is None else ties
        return np.log(np.choose(outcome, [wins, losses, draw]))

    columns = []
    for step in 1e-5 * np.eye(len(fit.scores)):
        columns.append((log_p(fit.scores + step, fit.tie) - log_p(fit.scores - step, fit.tie)) / 2e-5)
    if fit.tie is not None:
        up, down = fit.tie * np.exp(1e-5), fit.tie * np.exp(-1e-5)
        columns.append((log_p(fit.scores, up) - log_p(fit.scores, down)) / 2e-5)
    return np.array(columns).T


# ------------------------------------------------------------------------------------------------- by hand
def test_two_items_with_ties_as_half_wins():
    # 3 wins, 1 loss, 2 ties: p = 4/6, H = 6 * 2/9 = 4/3; slopes 1/3, -2/3, -1/6: meat 3/9 + 4/9 + 2/36 = 5/6.
    counts = count_pairs([0] * 6, [1] * 6, [0, 0, 0, 1, 2, 2], 2)
    fit = fit_pairs(counts)
    assert hessian_errors(fit, counts).se == pytest.approx([np.sqrt(3 / 4) / 2] * 2)
    assert independent_errors(fit, counts).se == pytest.approx([np.sqrt(5 / 6) * (3 / 4) / 2] * 2)


@pytest.mark.parametrize("errors", [hessian_errors, independent_errors])
def test_two_items_under_davidson(errors):
    # Saturated: d = log(w/l) has variance 1/w + 1/l; log nu = log s - (log w + log l)/2 has 1/s + 1/4w + 1/4l.
    w, l, s = 9, 4, 5
    counts = PairCounts(2, np.array([0]), np.array([1]), *(np.array([float(x)]) for x in (w, l, s)))
    fit = fit_pairs(counts, "davidson")
    found = errors(fit, counts)
    assert found.se == pytest.approx([np.sqrt(1 / w + 1 / l) / 2] * 2)
    assert found.tie_se == pytest.approx(fit.tie * np.sqrt(1 / s + 1 / (4 * w) + 1 / (4 * l)))
    assert found.covariance == pytest.approx((1 / w + 1 / l) / 4 * np.array([[1, -1], [-1, 1]]))


# ------------------------------------------------------------------------------------------- by definition
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [None, 1.5])
def test_sandwiches_are_their_formulas(model, prior):
    a, b, outcome = study(model, 6, 400, 1)
    cluster = np.random.default_rng(2).integers(0, 9, 400)
    counts = count_pairs(a, b, outcome, 6)
    fit = fit_pairs(counts, model, prior=prior)
    s = slopes_by_answer(fit, a, b, outcome)
    sums = np.array([s[cluster == c].sum(axis=0) for c in range(9)])
    assert cluster_scores(fit, a, b, outcome, cluster, 9) == pytest.approx(sums, abs=1e-7)
    hessian = hessian_errors(fit, counts)
    size = s.shape[1]
    information = pair_errors.fit_information(fit, counts).dense()
    inverse = np.linalg.pinv(information, hermitian=True)
    center = np.eye(6) - 1 / 6
    away = sums - sums.mean(axis=0)
    for found, meat in (
        (hessian, information),
        (independent_errors(fit, counts), s.T @ s),
        (clustered_errors(fit, counts, sums), away.T @ away * 9 / 8),
    ):
        wanted = inverse @ meat @ inverse
        assert found.covariance == pytest.approx(center @ wanted[:6, :6] @ center, abs=1e-7)
        assert found.se == pytest.approx(np.sqrt(np.diag(found.covariance)))
        if size == 7:
            assert found.tie_se == pytest.approx(fit.tie * np.sqrt(wanted[6, 6]), rel=1e-6)


def test_rating_anchors_fix_the_location_of_errors():
    a, b, outcome = study("davidson", 6, 400, 3)
    counts = count_pairs(a, b, outcome, 6)
    fit = fit_pairs(counts, pull=Pull(np.array([0, 3]), np.array([0.0, 1.0]), 5.0))
    found = hessian_errors(fit, counts)
    assert found.covariance == pytest.approx(np.linalg.inv(pair_errors.fit_information(fit, counts).dense()))


# --------------------------------------------------------------------------------------- by another tool
def test_errors_equal_statsmodels():
    """A logit on +1/-1 columns without the first item: robust and clustered covariances of q_i - q_0."""
    rng = np.random.default_rng(4)
    a, b = pairs_of(6, 500, rng)
    q, cluster = rng.normal(size=6), rng.integers(0, 20, 500)
    outcome = answers("bradley-terry", q[a] - q[b], rng)
    design = np.zeros((500, 6))
    design[np.arange(500), a] += 1
    design[np.arange(500), b] -= 1
    model = sm.Logit(1 - outcome, design[:, 1:])
    counts = count_pairs(a, b, outcome, 6)
    fit = fit_pairs(counts)
    sums = cluster_scores(fit, a, b, outcome, cluster, 20)
    contrast = np.hstack([-np.ones((5, 1)), np.eye(5)])
    plain = {"cov_type": "nonrobust"}
    robust = {"cov_type": "HC0"}
    grouped = {"cov_type": "cluster", "cov_kwds": {"groups": cluster, "use_correction": False}}
    for found, kind, factor in (
        (hessian_errors(fit, counts), plain, 1),
        (independent_errors(fit, counts), robust, 1),
        (clustered_errors(fit, counts, sums), grouped, 20 / 19),
    ):
        theirs = model.fit(disp=0, tol=1e-12, **kind)
        assert contrast @ fit.scores == pytest.approx(theirs.params, abs=1e-7)
        assert contrast @ found.covariance @ contrast.T == pytest.approx(theirs.cov_params() * factor, rel=1e-5)


# -------------------------------------------------------------------------------------------- by property
@pytest.mark.parametrize("model", MODELS)
def test_answers_alone_in_their_clusters_are_independent(model):
    a, b, outcome = study(model, 8, 500, 5)
    counts = count_pairs(a, b, outcome, 8)
    fit = fit_pairs(counts, model)
    alone = clustered_errors(fit, counts, cluster_scores(fit, a, b, outcome, np.arange(500), 500))
    assert alone.covariance == pytest.approx(independent_errors(fit, counts).covariance * 500 / 499, abs=1e-9)
    assert alone.df == 499


def test_empty_clusters_do_not_count_and_weights_are_copies():
    a, b, outcome = study("davidson", 8, 500, 6)
    cluster = np.random.default_rng(7).integers(0, 6, 500)
    weight = np.random.default_rng(8).integers(1, 4, 500)
    counts = count_pairs(a, b, outcome, 8, weight=weight)
    fit = fit_pairs(counts, "davidson")
    sums = cluster_scores(fit, a, b, outcome, 3 * cluster, 40, weight=weight)
    copies = cluster_scores(fit, *(np.repeat(x, weight) for x in (a, b, outcome, cluster)), 6)
    assert sums[:18:3] == pytest.approx(copies)
    found = clustered_errors(fit, counts, sums)
    assert found.df == 5
    assert found.covariance == pytest.approx(clustered_errors(fit, counts, copies).covariance)


@pytest.mark.parametrize("model", ["bradley-terry", "davidson"])
def test_sparse_sums_equal_the_table(model, monkeypatch):
    a, b, outcome = study("davidson", 8, 300, 9)
    cluster = np.random.default_rng(10).integers(0, 30, 300)
    counts = count_pairs(a, b, outcome, 8)
    fit = fit_pairs(counts, model)
    table = cluster_scores(fit, a, b, outcome, cluster, 30)
    monkeypatch.setattr(pair_errors, "_TABLE_CELLS", 0)
    sparse = cluster_scores(fit, a, b, outcome, cluster, 30)
    assert sparse.toarray() == pytest.approx(table, abs=1e-12)
    assert clustered_errors(fit, counts, sparse).se == pytest.approx(clustered_errors(fit, counts, table).se)
    drawn = [bootstrap_scores(fit, counts, s, draws=50, rng=np.random.default_rng(11)) for s in (table, sparse)]
    assert drawn[0] == pytest.approx(drawn[1])


def test_one_step_follows_the_refit():
    """Each draw's single Newton step against the fit of the reweighted comparisons."""
    a, b, outcome = study("davidson", 8, 6000, 12)
    cluster = np.random.default_rng(13).integers(0, 60, 6000)
    counts = count_pairs(a, b, outcome, 8)
    fit = fit_pairs(counts, "davidson")
    sums = cluster_scores(fit, a, b, outcome, cluster, 60)
    drawn = bootstrap_scores(fit, counts, sums, draws=400, rng=np.random.default_rng(14))
    clustered = clustered_errors(fit, counts, sums)
    assert drawn.mean(axis=0) == pytest.approx(fit.scores, abs=5 * clustered.se.max() / np.sqrt(400))
    assert drawn.std(axis=0) == pytest.approx(clustered.se, rel=0.2)
    rng = np.random.default_rng(14)
    for row in drawn[:10]:
        weight = np.bincount(rng.integers(0, 60, 60), minlength=60)[cluster]
        kept = weight > 0
        again = fit_pairs(count_pairs(a[kept], b[kept], outcome[kept], 8, weight=weight[kept]), "davidson")
        assert row == pytest.approx(again.scores, abs=0.25 * clustered.se.max())


# --------------------------------------------------------------------------------------------- very many items
def exact_and_near(counts: PairCounts, monkeypatch, **settings) -> list[tuple[Errors, Errors]]:
    """Dense errors, and those from neighbourhoods, of the same fit."""
    fit = fit_pairs(counts, **settings)
    dense = [errors(fit, counts) for errors in (hessian_errors, independent_errors)]
    monkeypatch.setattr(pair_errors, "DENSE_ITEMS", 1)
    return list(zip(dense, (errors(fit, counts) for errors in (hessian_errors, independent_errors))))


@pytest.mark.parametrize(("each", "within"), [(20, 0.02), (100, 0.006)])
@pytest.mark.parametrize("pull", [None, Pull(np.array([3, 9]), np.array([0.0, 1.0]), 2.0)])
def test_neighbourhoods_give_the_errors_of_random_designs(each, within, pull, monkeypatch):
    rng = np.random.default_rng(15)
    a, b = pairs_of(400, 400 * each // 2, rng)
    q = rng.normal(size=400)
    outcome = answers("davidson", q[a] - q[b], rng)
    for dense, near in exact_and_near(
        count_pairs(a, b, outcome, 400), monkeypatch, prior=None if pull else 5.0, pull=pull
    ):
        assert near.covariance is None
        assert "opponents" in near.method
        ratio = np.delete(near.se / dense.se, [] if pull is None else pull.items)  # too wide there, as stated
        assert np.mean(np.abs(ratio - 1)) < within
        assert 1 - 2 * within < ratio.min() < ratio.max() < 1 + 6 * within


def test_neighbourhoods_of_a_chain_are_widened_by_the_check(monkeypatch):
    i = np.arange(299)
    counts = PairCounts(300, i, i + 1, np.full(299, 6.0), np.full(299, 6.0), np.zeros(299))
    for dense, near in exact_and_near(counts, monkeypatch):
        assert np.all(near.se > 0.9 * dense.se)  # without the check they are nine times too small


def test_clustered_errors_of_many_items(monkeypatch):
    rng = np.random.default_rng(16)
    a, b = pairs_of(100, 3000, rng)
    q, cluster = rng.normal(size=100), rng.integers(0, 40, 3000)
    outcome = answers("davidson", q[a] - q[b], rng)
    counts = count_pairs(a, b, outcome, 100)
    fit = fit_pairs(counts, "davidson")
    sums = cluster_scores(fit, a, b, outcome, cluster, 40)
    dense = clustered_errors(fit, counts, sums)
    steps = bootstrap_scores(fit, counts, sums, draws=20, rng=np.random.default_rng(1))
    monkeypatch.setattr(pair_errors, "DENSE_ITEMS", 1)
    near = clustered_errors(fit, counts, sums)
    assert near.df == dense.df == 39
    assert np.mean(np.abs(near.se / dense.se - 1)) < 0.08
    assert bootstrap_scores(fit, counts, sums, draws=20, rng=np.random.default_rng(1)) == pytest.approx(steps)


# -------------------------------------------------------------------------------------------- by recovery
def covered(fits: list, truth: np.ndarray) -> float:
    """Share of 95% intervals that hold the truth."""
    held = [
        np.abs(fit.scores - truth) <= errors.se * (student.ppf(0.975, errors.df) if errors.df < np.inf else 1.959964)
        for fit, errors in fits
    ]
    return float(np.mean(held))


def test_half_wins_need_the_sandwich():
    """Equal items, 28% ties: the Hessian is 1/sqrt(1 - .28) = 1.18 times too wide, the sandwich right."""
    rng = np.random.default_rng(17)
    found = []
    for _ in range(400):
        a, b = pairs_of(8, 400, rng)
        outcome = rng.choice(3, 400, p=[0.36, 0.36, 0.28])
        counts = count_pairs(a, b, outcome, 8)
        fit = fit_pairs(counts)
        found.append((fit, hessian_errors(fit, counts), independent_errors(fit, counts)))
    spread = np.std([fit.scores for fit, _, _ in found])
    assert np.mean([h.se for _, h, _ in found]) / spread == pytest.approx(1.18, abs=0.04)
    assert np.mean([s.se for _, _, s in found]) / spread == pytest.approx(1.0, abs=0.035)
    assert covered([(fit, h) for fit, h, _ in found], np.zeros(8)) > 0.965
    assert 0.93 < covered([(fit, s) for fit, _, s in found], np.zeros(8)) < 0.965


@pytest.mark.parametrize("model", MODELS)
def test_intervals_of_a_true_model_cover(model):
    """200 studies of 8 items: 1,600 intervals of scores, 200 of the tie parameter."""
    rng = np.random.default_rng(18)
    q = np.linspace(-1, 1, 8)
    fits, ties = [], []
    for _ in range(200):
        a, b = pairs_of(8, 600, rng)
        counts = count_pairs(a, b, answers(model, q[a] - q[b], rng), 8)
        fit = fit_pairs(counts, model)
        errors = independent_errors(fit, counts)
        fits.append((fit, errors))
        if model in TIES:
            ties.append(abs(fit.tie - TIES[model]) <= norm.ppf(0.975) * errors.tie_se)
    assert 0.93 < covered(fits, q) < 0.97
    if ties:
        assert 0.90 < np.mean(ties) < 0.985


def test_five_raters_with_tastes_of_their_own_need_clusters():
    """Rater r answers by q_i + u_ri. Clustered t intervals cover the marginal scores, independent ones do not."""
    rng = np.random.default_rng(19)
    items, raters, each, taste = 8, 5, 300, 0.6
    q = np.linspace(-1.2, 1.2, items)
    i, j = np.triu_indices(items, 1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)  # E s(d + taste sqrt(2) z), the average rater
    p = (1 / (1 + np.exp(-(q[i] - q[j])[:, None] - taste * np.sqrt(2) * nodes))) @ (weights / weights.sum())
    marginal = fit_pairs(PairCounts(items, i, j, p, 1 - p, np.zeros(len(p)))).scores
    clustered, independent = [], []
    for _ in range(300):
        own = q + taste * rng.normal(size=(raters, items))
        rater = np.repeat(np.arange(raters), each)
        a, b = pairs_of(items, raters * each, rng)
        outcome = answers("bradley-terry", own[rater, a] - own[rater, b], rng)
        counts = count_pairs(a, b, outcome, items)
        fit = fit_pairs(counts)
        clustered.append((fit, clustered_errors(fit, counts, cluster_scores(fit, a, b, outcome, rater, raters))))
        independent.append((fit, independent_errors(fit, counts)))
    assert clustered[0][1].df == 4
    assert 0.925 < covered(clustered, marginal) < 0.975
    assert covered(independent, marginal) < 0.6


# --------------------------------------------------------------------------------------------- at the edge
def test_answers_without_spread_have_no_error():
    counts = count_pairs([0, 1, 0], [1, 2, 2], [2, 2, 2], 3)
    fit = fit_pairs(counts)
    with pytest.raises(TooFew, match="vary"):
        independent_errors(fit, counts)
    assert np.all(hessian_errors(fit, counts).se > 0)


def test_clusters_must_cross_items():
    a, b, outcome = study("davidson", 5, 200, 20)
    counts = count_pairs(a, b, outcome, 5)
    for prior in (None, 2.0):
        fit = fit_pairs(counts, prior=prior)
        with pytest.raises(TooFew, match="at least 2 clusters"):
            clustered_errors(fit, counts, cluster_scores(fit, a, b, outcome, np.zeros(200, int), 3))
        lonely = np.where((a == 4) | (b == 4), 0, 1 + np.arange(200) % 3)  # item 4 is seen by cluster 0 alone
        sums = cluster_scores(fit, a, b, outcome, lonely, 4)
        for use in (clustered_errors, lambda *x: bootstrap_scores(*x, draws=10, rng=np.random.default_rng(0))):
            with pytest.raises(TooFew, match=r"items \[4\] answered by one cluster"):
                use(fit, counts, sums)


def test_a_tie_model_without_ties_has_no_tie_error():
    counts = count_pairs([0, 0, 1, 2, 0, 2], [1, 1, 2, 1, 2, 0], [0, 1, 0, 0, 0, 0], 3)
    fit = fit_pairs(counts, "davidson")
    found = independent_errors(fit, counts)
    assert found.tie_se is None
    assert found.se == pytest.approx(independent_errors(fit_pairs(counts), counts).se)


@pytest.mark.parametrize(
    "call",
    [
        lambda fit, counts: cluster_scores(fit, [0], [1], [0], [3], 3),
        lambda fit, counts: cluster_scores(fit, [0], [1], [0], [-1], 3),
        lambda fit, counts: cluster_scores(fit, [0], [1], [0], [0, 1], 3),
        lambda fit, counts: cluster_scores(fit, [0], [1], [0], [0.5], 3),
        lambda fit, counts: cluster_scores(fit, [0], [0], [0], [0], 3),
        lambda fit, counts: clustered_errors(fit, counts, np.ones((4, 9))),
        lambda fit, counts: bootstrap_scores(fit, counts, np.ones((4, 2)), draws=0, rng=np.random.default_rng(0)),
    ],
)
def test_wrong_input_is_named(call):
    counts = count_pairs([0, 0], [1, 1], [0, 1], 2)
    with pytest.raises(BadValue):
        call(fit_pairs(counts), counts)
