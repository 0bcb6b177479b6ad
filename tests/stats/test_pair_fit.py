"""Scores from comparisons (stats/pair_fit.py, pair_models.py, comparisons.py)."""

from __future__ import annotations

import csv
from pathlib import Path

import choix
import evalica
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logit, ndtri

from salon.errors import BadValue, NotConverged, NotIdentified
from salon.stats import TIE_MODELS, PairCounts, PairFit, Pull, count_pairs, fit_pairs, pair_fit, pair_probabilities
from salon.stats.pair_fit import information
from salon.stats.pair_models import MODELS, bend, chances, curvature, model_code, pair_log_likelihood, step_cap

TIES = {"davidson": 0.8, "rao-kupper": 1.7}
WINNERS = (evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw)


def simulated(model: str, items: int, comparisons: int, seed: int, tie: float | None = None):
    """True scores, and comparisons of random pairs under `model`; with a `tie` parameter of Davidson for the others."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=items)
    a = rng.integers(0, items, comparisons)
    b = (a + rng.integers(1, items, comparisons)) % items
    wins, _, losses = pair_probabilities(model, q[a] - q[b], TIES.get(model, tie))
    u = rng.random(comparisons)
    return q - q.mean(), a, b, np.where(u < wins, 0, np.where(u < wins + losses, 1, 2))


def table(*rows: tuple[int, int, float, float, float], items: int | None = None) -> PairCounts:
    """Counts from rows (i, j, wins, losses, ties)."""
    i, j, *rest = (np.array(column) for column in zip(*sorted(rows)))
    return PairCounts(items or int(j.max()) + 1, i, j, *(column.astype(float) for column in rest))


# ------------------------------------------------------------------------------------------------- by hand
def test_two_items_have_closed_forms():
    # 3 wins, 1 loss, 2 ties of 6. The models are saturated: probabilities equal shares.
    counts = table((0, 1, 3, 1, 2))
    fits = {model: fit_pairs(counts, model) for model in MODELS}
    gaps = {model: fit.scores[0] - fit.scores[1] for model, fit in fits.items()}
    assert gaps["bradley-terry"] == pytest.approx(np.log(4 / 2))  # (3 + 1) : (1 + 1)
    assert gaps["thurstone"] == pytest.approx(np.sqrt(2) * ndtri(4 / 6))
    assert gaps["davidson"] == pytest.approx(np.log(3 / 1))
    assert fits["davidson"].tie == pytest.approx(2 / np.sqrt(3 * 1))
    assert gaps["rao-kupper"] == pytest.approx((logit(3 / 6) - logit(1 / 6)) / 2)
    assert np.log(fits["rao-kupper"].tie) == pytest.approx(-(logit(3 / 6) + logit(1 / 6)) / 2)
    assert fits["davidson"].log_likelihood == pytest.approx(3 * np.log(3 / 6) + np.log(1 / 6) + 2 * np.log(2 / 6))


def test_two_items_with_a_prior():
    # 3 : 1 under N(0, 3^2): q = (x, -x) solves 3 - 4 s(2x) = x/9.
    fit = fit_pairs(table((0, 1, 3, 1, 0)), prior=3.0)
    assert fit.scores[0] == pytest.approx(0.51206423, abs=1e-8)


def test_rating_anchors_fix_the_location():
    # A lone rating anchor is met exactly: it costs the likelihood nothing. 1 : 1 keeps the other beside it.
    fit = fit_pairs(table((0, 1, 1, 1, 0)), pull=Pull(np.array([1]), np.array([2.5]), 0.1))
    assert fit.scores == pytest.approx([2.5, 2.5])


# ------------------------------------------------------------------------------------------- by definition
@pytest.mark.parametrize("model", MODELS)
def test_derivatives_are_finite_differences(model):
    counts = count_pairs(*simulated("davidson", 5, 60, 1, 0.8)[1:], 5)
    code, tie = model_code(model, TIES.get(model))
    x = np.append(np.random.default_rng(2).normal(size=5), np.log(tie))

    def value(x):
        return pair_log_likelihood(counts, model, x[:5], np.exp(x[5]) if model in TIES else None)

    def slope(x):
        return information(counts, code, np.exp(x[5]), x[:5], np.zeros(5))[1]

    matrix, gradient = information(counts, code, tie, x[:5], np.zeros(5))
    size = matrix.parameters
    steps = 1e-5 * np.eye(6)[:size]
    assert gradient[:size] == pytest.approx([(value(x + h) - value(x - h)) / 2e-5 for h in steps], rel=1e-6, abs=1e-6)
    second = np.array([(slope(x + h) - slope(x - h))[:size] / 2e-5 for h in steps])
    assert matrix.dense() == pytest.approx(-second, rel=1e-6, abs=1e-6)
    assert matrix.quadratic(x[:size]) == pytest.approx(x[:size] @ matrix.dense() @ x[:size])


@pytest.mark.parametrize("model", MODELS)
def test_curvature_changes_no_faster_than_its_bound(model):
    """The bound that makes a line search needless, along random steps of random pairs."""
    rng = np.random.default_rng(3)
    code, _ = model_code(model, 2.0)
    for _ in range(500):
        d, dd, dt = rng.normal(size=3) * [3, 2, 1 if model in TIES else 0]
        tie = 1 + rng.exponential() if model == "rao-kupper" else rng.exponential() + 0.01
        counts = rng.exponential(size=3) * (rng.random(3) < 0.6)
        share = rng.random() * step_cap(code, tie, abs(dd), dt)

        def along(s, d=d, dd=dd, dt=dt, tie=tie, counts=counts):
            d, tie = d + s * dd, tie * np.exp(s * dt)
            h = curvature(code, d, tie, *chances(code, d, tie), *counts)
            return dd * dd * h[0] + 2 * dd * dt * h[1] + dt * dt * h[2]

        assert (
            abs(np.log(max(along(share), 1e-280) / max(along(0), 1e-280))) <= bend(code, d, tie, dd, dt) * share + 1e-6
        )


def test_probabilities_sum_to_one_even_far_out():
    d = np.array([-900.0, -30.0, -1.0, 0.0, 2.0, 60.0, 900.0])
    for model in MODELS:
        wins, ties, losses = pair_probabilities(model, d, TIES.get(model))
        assert wins + ties + losses == pytest.approx(np.ones(7))
        assert np.all(np.diff(wins) >= 0)
        assert np.all(np.diff(losses) <= 0)


# --------------------------------------------------------------------------------------- by another tool
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("case", ["maximum likelihood", "prior", "pull"])
def test_a_general_optimiser_finds_the_same_maximum(model, case):
    counts = count_pairs(*simulated("davidson", 8, 400, 4, 0.8)[1:], 8)
    prior = 0.7 if case == "prior" else None
    pull = Pull(np.array([2, 5]), np.array([-1.0, 2.0]), 0.3) if case == "pull" else None
    gap = counts.i, counts.j

    def loss(x):
        q, tie = x[:8], (1 if model == "rao-kupper" else 0) + np.exp(x[8]) if model in TIES else None
        wins, ties, losses = pair_probabilities(model, q[gap[0]] - q[gap[1]], tie)
        each = (counts.wins, counts.losses, counts.ties)
        if tie is None:
            each = (each[0] + each[2] / 2, each[1] + each[2] / 2, 0)
        value = each[0] @ np.log(wins) + each[1] @ np.log(losses) + (each[2] @ np.log(ties) if tie else 0)
        value -= 0 if prior is None else q @ q / (2 * prior**2)
        return -value + (0 if pull is None else pull.strength * np.sum((q[pull.items] - pull.targets) ** 2))

    best = minimize(loss, np.zeros(9), method="BFGS", jac="3-point", options={"gtol": 1e-8}).x
    fit = fit_pairs(counts, model, prior=prior, pull=pull)
    wanted = best[:8] - (0 if pull is not None else best[:8].mean())
    assert fit.scores == pytest.approx(wanted, abs=1e-6)
    assert loss(np.append(fit.scores, best[8])) <= loss(best) + 1e-6
    if model in TIES:
        assert fit.tie == pytest.approx((1 if model == "rao-kupper" else 0) + np.exp(best[8]), abs=1e-6)


def test_bradley_terry_equals_choix():
    _, a, b, outcome = simulated("bradley-terry", 15, 900, 5)
    wins = [(x, y) if o == 0 else (y, x) for x, y, o in zip(a, b, outcome)]
    ours = fit_pairs(count_pairs(a, b, outcome, 15)).scores
    for theirs in (
        choix.mm_pairwise(15, wins, alpha=0, tol=1e-12, max_iter=100_000),
        choix.opt_pairwise(15, wins, alpha=0, tol=1e-10),
    ):
        assert ours == pytest.approx(theirs - theirs.mean(), abs=1e-7)


def test_bradley_terry_with_half_wins_and_davidson_equal_evalica():
    """evalica counts a draw as half a win; Newman's model is Davidson's with nu = 2 v."""
    _, a, b, outcome = simulated("davidson", 12, 2000, 6)
    answers = a.tolist(), b.tolist(), [WINNERS[o] for o in outcome]
    counts = count_pairs(a, b, outcome, 12)
    for solve, model in ((evalica.bradley_terry, "bradley-terry"), (evalica.newman, "davidson")):
        theirs = solve(*answers, tolerance=1e-13, limit=100_000)
        logs = np.log(theirs.scores.sort_index().to_numpy())
        fit = fit_pairs(counts, model)
        assert fit.scores == pytest.approx(logs - logs.mean(), abs=1e-7)
    assert fit.tie == pytest.approx(2 * theirs.v, abs=1e-7)


# -------------------------------------------------------------------------------------------- by property
@pytest.mark.parametrize("model", MODELS)
def test_names_sides_and_weights(model):
    _, a, b, outcome = simulated("davidson", 7, 300, 7, 0.8)
    plain = fit_pairs(count_pairs(a, b, outcome, 7), model)
    order = np.random.default_rng(8).permutation(7)
    renamed = fit_pairs(count_pairs(order[a], order[b], outcome, 7), model)
    assert renamed.scores[order] == pytest.approx(plain.scores, abs=1e-8)
    turned = fit_pairs(count_pairs(a, b, np.array([1, 0, 2])[outcome], 7), model)
    assert turned.scores == pytest.approx(-plain.scores, abs=1e-8)
    weight = np.random.default_rng(9).integers(1, 4, 300)
    thrice = [np.repeat(x, weight) for x in (a, b, outcome)]
    weighted = fit_pairs(count_pairs(a, b, outcome, 7, weight=weight), model)
    assert weighted.scores == pytest.approx(fit_pairs(count_pairs(*thrice, 7), model).scores, abs=1e-8)
    assert (
        weighted.tie == pytest.approx(fit_pairs(count_pairs(*thrice, 7), model).tie, abs=1e-8) or weighted.tie is None
    )
    tiny = fit_pairs(count_pairs(a, b, outcome, 7, weight=np.full(300, 1e-9)), model)
    assert tiny.scores == pytest.approx(plain.scores, abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_one_more_win_never_hurts(model):
    _, a, b, outcome = simulated("davidson", 6, 200, 10, 0.8)
    before = fit_pairs(count_pairs(a, b, outcome, 6), model).scores[3]
    after = fit_pairs(count_pairs(np.append(a, 3), np.append(b, 1), np.append(outcome, 0), 6), model).scores[3]
    assert after > before


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [None, 2.0])
def test_conjugate_gradients_equal_elimination(model, prior, monkeypatch):
    counts = count_pairs(*simulated("davidson", 30, 3000, 11, 0.8)[1:], 30)
    dense = fit_pairs(counts, model, prior=prior, tolerance=1e-12)
    monkeypatch.setattr(pair_fit, "FEW_ITEMS", 0)
    sparse = fit_pairs(counts, model, prior=prior, tolerance=1e-12)
    assert [dense.convergence.solver, sparse.convergence.solver] == [
        "Newton, elimination",
        "Newton, conjugate gradients",
    ]
    assert sparse.scores == pytest.approx(dense.scores, abs=1e-8)
    assert sparse.convergence.gradient < 1e-9


@pytest.mark.parametrize(
    ("prior", "pull"), [(None, None), (2.0, None), (None, Pull(np.array([3, 9]), np.array([0.5, -0.4]), 2.0))]
)
def test_slopes_alone_lead_where_newtons_method_leads(prior, pull, monkeypatch):
    counts = count_pairs(*simulated("davidson", 60, 20_000, 11, 0.8)[1:], 60)
    newton = fit_pairs(counts, prior=prior, pull=pull, tolerance=1e-12)
    monkeypatch.setattr(pair_fit, "_MANY_PAIRS", 0)
    slopes = fit_pairs(counts, prior=prior, pull=pull)
    assert [newton.convergence.solver, slopes.convergence.solver] == [
        "Newton, conjugate gradients",
        "slopes, accelerated",
    ]
    assert slopes.scores == pytest.approx(newton.scores, abs=1e-9)
    assert slopes.log_likelihood == pytest.approx(newton.log_likelihood, rel=1e-12)
    assert slopes.convergence.gradient <= 1e-9


def test_where_slopes_alone_crawl_newtons_method_goes_on(monkeypatch):
    """A ring of 400 items: each pass moves news by one item. Weights that need all their digits are Newton's too."""
    rng = np.random.default_rng(15)
    i = np.arange(400)
    ring = table(*((k, k + 1, *rng.integers(1, 9, 2), 0) for k in i[:-1]), (0, 399, 3, 4, 0))
    _, a, b, outcome = simulated("bradley-terry", 40, 3000, 16)
    weighted = count_pairs(a, b, outcome, 40, weight=rng.uniform(0.5, 2, 3000))
    wanted = [fit_pairs(counts).scores for counts in (ring, weighted)]
    monkeypatch.setattr(pair_fit, "_MANY_PAIRS", 0)
    found = [fit_pairs(counts) for counts in (ring, weighted)]
    for fit, scores in zip(found, wanted):
        assert fit.convergence.solver.startswith("Newton")
        assert fit.scores == pytest.approx(scores, abs=1e-7)


def test_a_chain_of_six_thousand_items_is_exact():
    """Conjugate gradients stall here; the sparse factorisation does not. Each link alone gives its difference."""
    rng = np.random.default_rng(12)
    i = np.arange(5999)
    wins, losses = rng.integers(1, 9, (2, 5999)).astype(float)
    fit = fit_pairs(PairCounts(6000, i, i + 1, wins, losses, np.zeros(5999)))
    assert fit.convergence.solver == "Newton, factors"
    assert fit.scores[:-1] - fit.scores[1:] == pytest.approx(np.log(wins / losses), abs=1e-7)


def test_near_perfect_data_converge():
    """One upset among a thousand wins on each link: Newton's steps are long, and none may overshoot."""
    counts = table(*((k, k + 1, 1e3, 1, 0) for k in range(10)), (0, 10, 1e6, 1, 1))
    for model in MODELS:
        fit = fit_pairs(counts, model)
        assert fit.convergence.gradient < 1e-9
        assert np.all(np.diff(fit.scores) < 0)


# -------------------------------------------------------------------------------------------- by recovery
@pytest.mark.parametrize("model", MODELS)
def test_scores_and_tie_parameter_are_recovered(model):
    q, a, b, outcome = simulated(model, 10, 200_000, 13)
    fit = fit_pairs(count_pairs(a, b, outcome, 10), model)
    assert fit.scores == pytest.approx(q, abs=0.06)  # standard errors are about .013
    if model in TIES:
        assert fit.tie == pytest.approx(TIES[model], rel=0.03)


# --------------------------------------------------------------------------------------------- at the edge
UNDEFEATED = table((0, 1, 2, 0, 0), (1, 2, 1, 1, 0))
ISLANDS = table((0, 1, 1, 1, 0), (2, 3, 1, 1, 0))
ONE_WAY = table((0, 1, 1, 1, 0), (0, 2, 1, 0, 0), (1, 3, 1, 0, 0), (2, 3, 1, 1, 0))


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (UNDEFEATED, r"undefeated \(score \+infinity\): items 0"),
        (ISLANDS, "2 islands.*items 2, 3"),
        (ONE_WAY, "2 sets of items of which one never lost.*items"),
        (table((0, 1, 1, 1, 0), items=3), "not compared: items 2"),
        (table((0, 1, 1, 1, 0), (1, 2, 3, 0, 0)), "winless.*items 2"),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_unidentified_items_are_named_and_a_prior_helps(counts, words, model):
    with pytest.raises(NotIdentified, match=words) as caught:
        fit_pairs(counts, model)
    assert "--prior 3" in caught.value.remedy
    assert np.isfinite(fit_pairs(counts, model, prior=3.0).scores).all()


def test_rating_anchors_join_islands_but_not_the_undefeated():
    pull = Pull(np.array([0, 2]), np.array([0.0, 1.0]), 0.1)
    assert fit_pairs(ISLANDS, pull=pull).scores == pytest.approx([0, 0, 1, 1], abs=1e-6)
    with pytest.raises(NotIdentified, match="undefeated"):
        fit_pairs(UNDEFEATED, pull=Pull(np.array([1]), np.array([0.0]), 0.1))
    anchored = fit_pairs(UNDEFEATED, pull=Pull(np.array([0, 1]), np.array([1.0, 0.0]), 0.1))
    assert 1 < anchored.scores[0] < 20


@pytest.mark.parametrize("model", TIE_MODELS)
def test_tie_parameters_at_their_boundaries(model):
    none = table((0, 1, 3, 1, 0), (1, 2, 2, 1, 0))
    fit = fit_pairs(none, model)
    assert fit.boundary
    assert fit.tie == {"davidson": 0.0, "rao-kupper": 1.0}[model]
    assert fit.scores == pytest.approx(fit_pairs(none).scores)
    for prior in (None, 3.0):
        with pytest.raises(NotIdentified, match="not a tie"):
            fit_pairs(table((0, 1, 0, 0, 4)), model, prior=prior)


@pytest.mark.parametrize("model", TIE_MODELS)
def test_a_tie_parameter_that_runs_away_is_refused(model):
    """0 beats 1, both tie 2: strongly connected, but scores (2, 0, 1)s with log tie s raise the likelihood for ever."""
    away = table((0, 1, 1, 0, 0), (0, 2, 0, 0, 1), (1, 2, 0, 0, 1))
    values = [
        pair_log_likelihood(away, model, s * np.array([2.0, 0.0, 1.0]), np.exp(s if model == "davidson" else 2 * s))
        for s in (1, 2, 4, 8)
    ]
    assert np.all(np.diff(values) > 0)
    with pytest.raises(NotIdentified, match="more wins than ties"):
        fit_pairs(away, model)
    assert np.isfinite(fit_pairs(away, model, prior=3.0).tie)
    assert fit_pairs(table((0, 1, 1, 0, 0), (0, 2, 0, 1, 1), (1, 2, 1, 0, 1)), model).tie > 0  # a cycle of wins


def test_only_ties_make_equals_under_bradley_terry():
    assert fit_pairs(table((0, 1, 0, 0, 4), (1, 2, 0, 0, 1))).scores == pytest.approx(np.zeros(3))


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "elo"},
        {"prior": 0.0},
        {"prior": np.nan},
        {"tolerance": 0.0},
        {"pull": Pull(np.array([5]), np.array([0.0]), 0.1)},
        {"pull": Pull(np.array([0]), np.array([np.nan]), 0.1)},
        {"pull": Pull(np.array([0]), np.array([0.0]), 0.0)},
        {"pull": Pull(np.array([], int), np.array([]), 0.1)},
    ],
)
def test_wrong_settings_are_named(settings):
    with pytest.raises(BadValue):
        fit_pairs(table((0, 1, 3, 1, 0)), **settings)


def test_counts_out_of_order_are_refused():
    with pytest.raises(BadValue, match="sorted"):
        fit_pairs(PairCounts(3, np.array([1, 0]), np.array([2, 1]), np.ones(2), np.ones(2), np.zeros(2)))


def test_stopping_early_is_an_error():
    with pytest.raises(NotConverged, match="after 1 iterations"):
        fit_pairs(table((0, 1, 3, 1, 0)), max_iterations=1)


def test_tie_parameters_out_of_range_are_named():
    for model, tie in (("davidson", -1.0), ("rao-kupper", 0.5), ("davidson", None)):
        with pytest.raises(BadValue, match="tie parameter"):
            pair_probabilities(model, 0.0, tie)


# ---------------------------------------------------------------------------------------------- real data
def columns(path: Path, *names: str) -> list[np.ndarray]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [np.array([row[name] for row in rows]) for name in names]


def coded(*labels: np.ndarray) -> tuple[list[np.ndarray], int]:
    names, codes = np.unique(np.concatenate(labels), return_inverse=True)
    return np.split(codes, len(labels)), len(names)


@pytest.mark.data
def test_llmfao_order_equals_evalica_and_davidson_converges(salon_data: Path):
    x, y, winner = columns(salon_data / "llmfao" / "llmfao.csv", "model_x", "model_y", "winner")
    (a, b), items = coded(x, y)
    outcome = np.array([("left", "right", "tie").index(word) for word in winner])
    counts = count_pairs(a, b, outcome, items)
    assert (items, counts.comparisons) == (59, 8931)
    fit = fit_pairs(counts)
    theirs = evalica.bradley_terry(a.tolist(), b.tolist(), [WINNERS[o] for o in outcome], limit=10_000, tolerance=1e-12)
    logs = np.log(theirs.scores.sort_index().to_numpy())
    assert fit.scores == pytest.approx(logs - logs.mean(), abs=1e-6)
    assert np.argsort(fit.scores).tolist() == np.argsort(logs).tolist()
    davidson = fit_pairs(counts, "davidson")
    assert davidson.convergence.gradient < 1e-9
    assert davidson.tie == pytest.approx(1.48, abs=0.005)


@pytest.mark.data
def test_food_equals_the_published_bradley_terry(salon_data: Path):
    x, y, winner = columns(salon_data / "llmfao" / "food.csv", "left", "right", "winner")
    (a, b), items = coded(x, y)
    names = np.unique(np.concatenate([x, y])).tolist()
    outcome = np.array([("left", "right", "tie").index(word) for word in winner])
    fit = fit_pairs(count_pairs(a, b, outcome, items))
    method, item, score = columns(salon_data / "llmfao" / "food-golden.csv", "algorithm", "item", "score")
    golden = {name: float(s) for m, name, s in zip(method, item, score) if m == "bradley_terry"}
    shares = np.exp(fit.scores) / np.exp(fit.scores).sum()
    assert shares == pytest.approx([golden[name] for name in names], abs=1e-4)


@pytest.mark.data
def test_pwcmp_fits(salon_data: Path):
    path = salon_data / "pwcmp" / "ex3_tmo_cmp_data.csv"
    scene, x, y, first = columns(path, "scene", "condition_A", "condition_B", "is_A_selected")
    (a, b), items = coded(x, y)
    outcome = 1 - first.astype(int)
    fits: list[PairFit] = [
        fit_pairs(count_pairs(a, b, outcome, items), model) for model in ("bradley-terry", "thurstone")
    ]
    assert np.corrcoef(fits[0].scores, fits[1].scores)[0, 1] > 0.999
    for place in np.unique(scene):
        here = scene == place
        assert fit_pairs(count_pairs(a[here], b[here], outcome[here], items)).convergence.gradient < 1e-9


@pytest.mark.parametrize("size", [1, 2, 33])
def test_elimination_equals_lapack(size: int) -> None:
    rng = np.random.default_rng(size)
    root, right = rng.normal(size=(size, size)), rng.normal(size=size)
    matrix = root @ root.T + 0.1 * np.eye(size)
    found = right.copy()
    pair_fit._solve(matrix.copy(), found)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9)
    with pytest.raises(np.linalg.LinAlgError):
        pair_fit._solve(np.zeros((size, size)), right)


def test_a_slope_that_is_no_number_is_never_taken_for_none() -> None:
    for slope in ([np.nan, 1.0], [1.0, np.nan], [0.0, np.nan]):
        assert np.isnan(pair_fit._largest(np.array(slope), np.ones(2)))
    assert pair_fit._largest(np.array([-3.0, 2.0]), np.array([2.0, 1.0])) == 2


def test_arrays_of_any_layout_make_the_same_counts() -> None:
    """What is compiled for counts is compiled once."""
    table = np.array([[0.0, 1, 3, 1, 0], [0, 2, 2, 2, 1], [1, 2, 1, 0, 0]])
    i, j = table[:, :2].astype(np.int64).T
    counts = PairCounts(3, i, j, *table[:, 2:].T)
    for array in (counts.i, counts.j, counts.wins, counts.losses, counts.ties):
        assert array.flags.c_contiguous
    assert counts.wins.tolist() == [3, 2, 1]
