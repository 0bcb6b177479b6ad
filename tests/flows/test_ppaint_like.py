"""The matched study: its shape, its truth, and the published figures it was fitted to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from salon.collect import ppaint_like_planted, ppaint_like_study
from salon.collect.simulate.ppaint_like import (
    PpaintSettings,
    Profiles,
    draw_comparisons,
    draw_latent,
    draw_pairs,
    draw_ratings,
    expected_ratings,
    ppaint_like_truth,
    ppaint_plan,
    profiles,
    tiers,
)
from salon.errors import BadValue
from salon.stats import connectivity
from salon.study import Study


@pytest.fixture(scope="module")
def study() -> Study:
    return ppaint_like_study()


def test_has_the_published_shape(study: Study) -> None:
    assert study.simulated
    assert study.compare_within == "category"
    first = study.comparisons.repeat == 0
    assert first.sum() == 45_900  # 3 categories x 612 pairs x 5 raters x 5 criteria
    assert (~first).sum() == 15 * 30 * 5
    rated = study.ratings.repeat == 0
    assert rated.sum() == 3_750
    assert (~rated).sum() == 15 * 10 * 5
    assert set(study.table("items").column("tier").to_pylist()) == {"high", "medium", "low"}


def test_every_rater_and_criterion_of_a_category_gets_the_same_pairs(study: Study) -> None:
    view = study.comparisons
    for group in range(3):
        rows = (view.group == group) & (view.repeat == 0)
        tables = {
            frozenset(zip(view.a[rows & here].tolist(), view.b[rows & here].tolist()))
            for rater in np.unique(view.rater[rows])
            for here in [(view.rater == rater) & (view.criterion == c) for c in range(5)]
        }
        assert len(tables) == 1
        pairs = np.array(sorted(tables.pop())) - 50 * group
        health = connectivity(50, pairs)
        assert (health.edges, health.diameter) == (612, 2)
        assert health.degree_max - health.degree_min <= 2
        left = np.bincount(pairs[:, 0], minlength=50)
        assert np.abs(2 * left - np.bincount(pairs.ravel(), minlength=50)).max() <= 4


def test_the_same_seed_gives_the_same_study_and_its_truth_stays_when_only_answers_change(study: Study) -> None:
    assert ppaint_like_study(ppaint_plan()["seed"]).hash == study.hash != ppaint_like_study(1).hash
    quiet, loud = ppaint_like_truth(3), ppaint_like_truth(3, ties=2.0, sides=0.0)
    assert np.array_equal(quiet.latent, loud.latent)
    assert np.array_equal(quiet.panel_rating, loud.panel_rating)


def test_truth_lines_up_with_the_study(study: Study) -> None:
    truth = ppaint_like_truth()
    assert list(truth.items) == study.ids("items").to_pylist()
    assert list(truth.criteria) == study.ids("criteria").to_pylist()
    assert list(truth.category) == study.table("items").column("category").to_pylist()
    assert np.allclose(truth.score, 1 + 4 * expit(ppaint_plan()["law"]["steepness"] * truth.latent))
    view = study.ratings
    total, count = np.zeros((150, 5)), np.zeros((150, 5))
    np.add.at(total, (view.item, view.criterion), view.value)
    np.add.at(count, (view.item, view.criterion), 1)
    means = total / count
    gap = means - truth.panel_rating  # noise of five answers only: about .6 / sqrt 5
    assert abs(gap.mean()) < 0.03
    assert np.abs(gap).mean() < 0.3 < np.abs(means - truth.score).mean() < 0.6


def test_overall_is_the_mean_of_the_other_four() -> None:
    truth = ppaint_like_truth(0)
    ratio = truth.latent[:, 4] / truth.latent[:, :4].mean(axis=1)
    assert np.ptp(ratio) < 1e-9


def test_expected_ratings_are_those_of_endless_answers() -> None:
    settings = PpaintSettings(categories=1, items=4, raters=2)
    profile = Profiles(*(np.array([pair]) for pair in ((0.0, 0.0), (0.0, 0.0), (0.4, -0.8), (0.7, 2.5))))
    seen = np.linspace(-3, 3, 8).reshape(1, 2, 4, 1)
    many = draw_ratings(settings, np.broadcast_to(seen, (1, 2, 4, 40_000)), profile, np.random.default_rng(0))
    offset, gain = (value[..., None, None] for value in (profile.offset, profile.gain))
    mean = expected_ratings(seen, offset, gain, steepness=settings.steepness, noise=settings.rating_noise)
    assert np.allclose(many.mean(axis=-1, keepdims=True), mean, atol=0.02)


def test_comparisons_follow_rao_and_kupper_with_a_side() -> None:
    """P(left) = logistic(d + side - threshold), P(right) = logistic(-d - side - threshold)."""
    profile = Profiles(*(np.array([[value]]) for value in (0.7, 0.4, 0.0, 1.0)))
    seen = np.broadcast_to(np.array([1.0, 0.0])[None, None, :, None], (1, 1, 2, 200_000))
    answer = draw_comparisons(seen, np.array([[[0, 1]]]), profile, np.random.default_rng(0)).ravel()
    shares = np.bincount(answer, minlength=3) / answer.size
    left, right = expit(1 + 0.4 - 0.7), expit(-1 - 0.4 - 0.7)
    assert shares == pytest.approx([left, right, 1 - left - right], abs=0.005)


def test_raters_do_what_they_were_fitted_to_do() -> None:
    """Rates of a study of many items against each rater's targets in the settings file."""
    settings = PpaintSettings(items=1500, pairs=3000)
    rng = np.random.default_rng(0)
    q, u = draw_latent(settings, rng)
    seen = q[:, None] + u
    pairs, profile = draw_pairs(settings, rng), profiles(settings)
    outcome = draw_comparisons(seen, pairs, profile, rng)
    ratings = draw_ratings(settings, seen, profile, rng)
    goal = {
        name: np.array([rater[name] for rater in ppaint_plan()["rater"]]).reshape(3, 5)
        for name in ("tie_rate", "left_wins", "mean_rating", "extreme_share")
    }
    decided = (outcome != 2).sum(axis=(2, 3))
    assert np.allclose((outcome == 2).mean(axis=(2, 3)), goal["tie_rate"], atol=0.02)
    assert np.allclose((outcome == 0).sum(axis=(2, 3)) / decided, goal["left_wins"], atol=0.025)
    assert np.allclose(ratings.mean(axis=(2, 3)), goal["mean_rating"], atol=0.1)
    assert np.allclose(np.isin(ratings, (1, 5)).mean(axis=(2, 3)), goal["extreme_share"], atol=0.03)


def test_what_was_fitted_matches_and_misses_are_written_down() -> None:
    figures = ppaint_plan()["figures"]
    fitted = (("fleiss_kappa", 0), ("rater_spearman", 0), ("rater_spearman", 1), ("triplets", 0))
    for name, protocol in fitted:
        assert figures[name]["large_n"][protocol] == pytest.approx(figures[name]["paper"][protocol], abs=0.01)
    for name in ("tie_rate", "left_wins", "mean_rating", "extreme_share"):
        ends = ppaint_plan()["ranges"][name]
        assert ends["large_n"] == pytest.approx(ends["paper"], abs=0.06)


def test_criteria_share_the_tier() -> None:
    settings = PpaintSettings(categories=20, items=300)
    q, u = draw_latent(settings, np.random.default_rng(0))
    correlation = np.corrcoef(q.reshape(-1, 5).T)
    assert correlation[np.triu_indices(4, 1)] == pytest.approx(settings.shared, abs=0.02)
    assert q.reshape(-1, 5).std(axis=0) == pytest.approx(settings.spread, abs=0.05)
    assert u.std() == pytest.approx(settings.taste, abs=0.01)
    means = [q[:, tiers(settings) == tier].mean() for tier in (0, 1, 2)]
    step = settings.spread * np.sqrt(1.5 * settings.shared)  # of the first four; the mean of them a little more
    assert np.subtract(means[:2], means[1:]) == pytest.approx([step, step], abs=0.1)


def test_a_grid_can_change_size_and_law() -> None:
    small = ppaint_like_study(0, categories=4, items=8, pairs=12, raters=6, taste=0.0, scale_use=0.0)
    assert small.ids("groups").to_pylist()[-1] == "category-4"
    assert (small.comparisons.repeat == 0).sum() == 4 * 12 * 6 * 5
    truth = ppaint_like_truth(0, categories=4, items=8, pairs=12, raters=6, taste=0.0, scale_use=0.0)
    assert np.allclose(truth.latent, truth.panel_latent)
    assert ppaint_like_planted(0, taste=0.0)[0].tau == pytest.approx(1.0)


@pytest.mark.parametrize("change", [{"pairs": 5}, {"items": 1}, {"spread": -1.0}, {"colour": 1}])
def test_refuses_what_cannot_be_drawn(change: dict[str, float]) -> None:
    with pytest.raises(BadValue):
        ppaint_like_study(0, **change)
