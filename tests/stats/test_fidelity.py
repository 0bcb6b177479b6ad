"""The fidelity reward: every equation by hand, the policies, and what may never happen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm

from salon.errors import BadValue
from salon.stats import fidelity_rewards, score_rewards, targets_from_scores, targets_from_votes
from salon.stats.score_rewards import group_advantages

# -- targets ---------------------------------------------------------------------------------------------------------


def test_targets_by_hand() -> None:
    wins, weights = targets_from_scores([[3.0], [2.8], [1.0], [3.0]], tau=0.5)
    assert wins[:, :, 0].tolist() == [[0.5, 1, 1, 0.5], [0, 0.5, 1, 0], [0, 0, 0.5, 0], [0.5, 1, 1, 0.5]]
    # gaps .2 / .5 = .4; 2.0 and 1.8 beyond tau: 1; a tie and the diagonal: 0
    assert weights[:, :, 0] == pytest.approx(np.array([[0, 0.4, 1, 0], [0.4, 0, 1, 0.4], [1, 1, 0, 1], [0, 0.4, 1, 0]]))


def test_posterior_weights_are_how_much_surer_than_chance_the_order_is() -> None:
    _, weights = targets_from_scores([[3.0], [2.0], [2.0]], sd=[[0.6], [0.8], [0.0]], weigh="posterior")
    # sqrt(.36 + .64) = 1: 2 Phi(1) - 1 = .6827; sqrt(.36) = .6: 2 Phi(1/.6) - 1
    assert weights[0, 1, 0] == pytest.approx(0.682689, abs=1e-6)
    assert weights[0, 2, 0] == pytest.approx(2 * norm.cdf(1 / 0.6) - 1)
    assert weights[1, 2, 0] == 0
    assert np.allclose(weights, weights.transpose(1, 0, 2))
    exact = targets_from_scores([[1.0], [2.0], [2.0]], sd=np.zeros((3, 1)), weigh="posterior")[1]
    assert exact[0, 1, 0] == 1
    assert exact[1, 2, 0] == 0
    unsure = targets_from_scores([[1.0], [2.0]], sd=[[np.nan], [1.0]], weigh="posterior")[1]
    assert unsure[0, 1, 0] == 0


def test_without_weighing_ties_count_too_and_an_unknown_score_never_counts() -> None:
    wins, weights = targets_from_scores([[1.0], [1.0], [np.nan]], weigh="none")
    assert weights[:, :, 0].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert wins[0, 1, 0] == 0.5


def test_majority_of_votes_without_magnitude() -> None:
    # item 7 won 60% and then 100% of its votes against 3 (mean .8); 3 and 5 drew; 5 against 9, which is not asked for
    wins, weights = targets_from_votes(
        [7, 3, 3, 5], [3, 7, 5, 9], [[0.6], [0.0], [0.5], [1.0]], items=np.array([3, 5, 7])
    )
    assert wins[:, :, 0].tolist() == [[0.5, 0.5, 0], [0.5, 0.5, 0.5], [1, 0.5, 0.5]]
    assert weights[:, :, 0].tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    least = targets_from_votes([7, 3], [3, 5], [[0.8], [0.5]], items=np.array([3, 5, 7]), least=0.1)[1]
    assert least[2, 0, 0] == 1
    assert least[0, 1, 0] == 0
    assert targets_from_votes([0], [1], [[np.nan]], items=np.array([0, 1]))[1].sum() == 0
    even = targets_from_votes([0] * 3, [1] * 3, [[0.4], [0.8], [0.3]], items=np.array([0, 1]))[0]
    assert even[0, 1, 0] == even[1, 0, 0] == 0.5  # though (.4 + .8 + .3) / 3 is no 1/2 in binary


# -- rewards by hand -------------------------------------------------------------------------------------------------


def test_every_equation_by_hand() -> None:
    # image 0 answered 3 and 5: mean 4, variance 2; image 1 answered 1 and 2: mean 1.5, variance .5
    # 3 against 1.5: (3 - 1.5) / sqrt(2.5) = .948683, Phi = .828609; image 0 is the better: F = sqrt(Phi) = .910280
    # 5: 2.213594, Phi = .986572, F = .993264
    # 1 against 4: -1.897367, Phi = .028890, p_gt 0: F = sqrt(1 - Phi) = .985449; 2: -1.264911, Phi = .102952: .947126
    wins, weights = targets_from_scores([[4.0], [1.0]])
    found = fidelity_rewards([[3.0], [5.0], [1.0], [2.0]], [0, 0, 1, 1], wins, weights)
    assert found.mean[:, 0].tolist() == [4, 1.5]
    assert found.variance[:, 0].tolist() == [2, 0.5]
    assert found.rank == pytest.approx([0.910280, 0.993264, 0.985449, 0.947126], abs=2e-6)


def test_a_tie_in_the_target_wants_an_even_chance() -> None:
    # p_gt 1/2: F = sqrt(p/2) + sqrt((1-p)/2): 1 at p = 1/2; at p = .8413 (one sd above) .648591 + .281653 = .930244
    wins, weights = targets_from_scores([[2.0], [2.0]], weigh="none")
    found = fidelity_rewards([[3.0], [4.0], [3.0]], [0, 0, 1], wins, weights, eps=1e-12, variance=[[0.5], [0.5]])
    assert found.rank[0] == pytest.approx(1)
    assert found.rank[1] == pytest.approx(0.930244, abs=1e-5)


def test_weighted_mean_over_partners_then_mean_over_criteria() -> None:
    wins = np.full((3, 3, 2), 0.5)
    weights = np.zeros((3, 3, 2))
    wins[0, 1], wins[0, 2] = [1, 0], [1, 1]
    weights[0, 1], weights[0, 2] = [1, 0.5], [0.25, 0.5]
    scores = [[3.0, 3.0], [2.0, 3.5], [4.0, 1.0]]
    found = fidelity_rewards(scores, [0, 1, 2], wins, weights, eps=1e-12, variance=np.full((3, 2), 0.5))
    # criterion 0: (1 * sqrt(Phi(1)) + .25 * sqrt(Phi(-1))) / 1.25 ; criterion 1: (sqrt(Phi(.5)) + sqrt(Phi(2))) / 2
    first = (math.sqrt(norm.cdf(1)) + 0.25 * math.sqrt(norm.cdf(-1))) / 1.25
    second = (math.sqrt(norm.cdf(0.5)) + math.sqrt(norm.cdf(2))) / 2
    assert found.by_criterion[0] == pytest.approx([first, second])
    assert found.rank[0] == pytest.approx((first + second) / 2)
    assert np.isnan(found.rank[1:]).all()  # their rows of weights are all zero


def test_by_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    values, scores = rng.normal(size=(6, 3)), rng.normal(size=(24, 3))
    scores[5, 1], scores[11] = np.nan, np.nan
    image = np.repeat(np.arange(6), 4)
    wins, weights = targets_from_scores(values)
    expected = _slowly(scores, image, wins, weights)
    assert fidelity_rewards(scores, image, wins, weights).rank == pytest.approx(expected, nan_ok=True)
    other = _slowly(scores, image, wins, weights, eps=0.8, ddof=0)
    assert fidelity_rewards(scores, image, wins, weights, eps=0.8, ddof=0).rank == pytest.approx(other, nan_ok=True)
    weights[np.arange(6), np.arange(6)] = 5.0  # an image is no partner of its own, whatever its weight
    assert fidelity_rewards(scores, image, wins, weights).rank == pytest.approx(expected, nan_ok=True)
    monkeypatch.setattr(score_rewards, "_BLOCK", 60)  # a few rows at a time
    assert fidelity_rewards(scores, image, wins, weights).rank == pytest.approx(expected, nan_ok=True)


def _slowly(
    scores: np.ndarray, image: np.ndarray, wins: np.ndarray, weights: np.ndarray, eps: float = 1e-6, ddof: int = 1
) -> list[float]:
    told = []
    of = [scores[(image == i) & np.isfinite(scores).all(1)] for i in range(len(wins))]
    for row, i in zip(scores, image):
        if not np.isfinite(row).all():
            told.append(math.nan)
            continue
        parts = []
        for d in range(scores.shape[1]):
            above = below = 0.0
            for z in range(len(wins)):
                if z == i:
                    continue
                variance = of[i][:, d].var(ddof=ddof) + of[z][:, d].var(ddof=ddof)
                p = norm.cdf((row[d] - of[z][:, d].mean()) / math.sqrt(variance + eps))
                g, w = wins[i, z, d], weights[i, z, d]
                above += w * (math.sqrt(p * g) + math.sqrt((1 - p) * (1 - g)))
                below += w
            parts.append(above / below)
        told.append(sum(parts) / len(parts))
    return told


# -- policies --------------------------------------------------------------------------------------------------------


def test_unparsed_answers_have_no_reward_and_no_part_in_mean_and_variance() -> None:
    wins, weights = targets_from_scores([[4.0, 4.0], [1.0, 1.0]])
    scores = [[3.0, 3.0], [5.0, 5.0], [1.0, 1.0], [2.0, 2.0]]
    clean = fidelity_rewards(scores, [0, 0, 1, 1], wins, weights)
    marred = fidelity_rewards([*scores, [np.nan, np.nan], [9.0, np.nan]], [0, 0, 1, 1, 1, 0], wins, weights)
    assert marred.rank[:4] == pytest.approx(clean.rank)
    assert np.isnan(marred.rank[4:]).all()
    assert marred.parsed.tolist() == [True] * 4 + [False] * 2
    assert marred.variance == pytest.approx(clean.variance)


def test_one_parsed_answer_borrows_the_variance_of_the_others() -> None:
    wins, weights = targets_from_scores([[4.0], [1.0], [2.0]])
    found = fidelity_rewards([[3.0], [1.0], [2.0], [1.0], [4.0], [4.0]], [0, 1, 1, 2, 2, 2], wins, weights)
    # squares: .5 with 1 degree of freedom, 6 with 2: 6.5 / 3
    assert found.variance[:, 0] == pytest.approx([6.5 / 3, 0.5, 3])
    alone = fidelity_rewards([[3.0], [1.0]], [0, 1], *targets_from_scores([[4.0], [1.0]]))
    assert alone.variance.tolist() == [[0], [0]]
    assert alone.rank == pytest.approx([1, 1])


def test_one_image_alone_equal_targets_and_silent_partners_have_no_reward() -> None:
    assert np.isnan(fidelity_rewards([[3.0], [4.0]], [0, 0], *targets_from_scores([[2.0]])).rank).all()
    even = targets_from_scores([[2.0], [2.0]])
    assert np.isnan(fidelity_rewards([[3.0], [4.0]], [0, 1], *even).rank).all()
    silent = fidelity_rewards([[3.0], [4.0], [np.nan]], [0, 0, 1], *targets_from_scores([[2.0], [1.0]]))
    assert np.isnan(silent.rank).all()
    assert np.isnan(silent.mean[1]).all()


def test_a_criterion_without_weights_is_left_out_of_the_mean() -> None:
    wins, weights = targets_from_scores([[4.0, 2.0], [1.0, 2.0]])
    both = fidelity_rewards([[3.0, 9.0], [5.0, 1.0], [1.0, 4.0], [2.0, 2.0]], [0, 0, 1, 1], wins, weights)
    one = fidelity_rewards([[3.0], [5.0], [1.0], [2.0]], [0, 0, 1, 1], wins[..., :1], weights[..., :1])
    assert both.rank == pytest.approx(one.rank)
    assert np.isnan(both.by_criterion[:, 1]).all()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: targets_from_scores([[1.0]], tau=0), "tau"),
        (lambda: targets_from_scores([[1.0], [np.inf]]), "finite"),
        (lambda: targets_from_scores([1.0, 2.0]), "table"),
        (lambda: targets_from_scores([[1.0]], weigh="posterior"), "errors"),
        (lambda: targets_from_scores([[1.0]], sd=[[-1.0]], weigh="posterior"), "at least 0"),
        (lambda: targets_from_votes([0], [1], [[1.5]], items=[0, 1]), "share"),
        (lambda: targets_from_votes([0, 1], [1, 0], [[0.5], [-0.2]], items=[0, 1]), "found: -0.2"),
        (lambda: targets_from_votes([0], [1], [[1.0]], items=[0, 1, 0]), "once"),
        (lambda: fidelity_rewards([[1.0]], [0], *targets_from_scores([[1.0]]), variance=[[-1.0]]), "variances"),
        (lambda: fidelity_rewards([[1.0]], [0], *targets_from_scores([[1.0]]), variance=[[np.nan]]), "variances"),
        (lambda: fidelity_rewards([[1.0]], [0], *targets_from_scores([[1.0]]), variance=[[1.0], [1.0]]), "variances"),
        (lambda: targets_from_votes([0, 1], [1], [[1.0]], items=[0, 1]), "two items"),
        (lambda: fidelity_rewards([[1.0]], [1], *targets_from_scores([[1.0]])), "whole numbers from 0 to 0"),
        (lambda: fidelity_rewards([[1.0]], [0, 0], *targets_from_scores([[1.0]])), "its image"),
        (lambda: fidelity_rewards([[1.0, 2.0]], [0], *targets_from_scores([[1.0]])), "images x images x criteria"),
        (lambda: fidelity_rewards([[1.0]], [0], *targets_from_scores([[1.0]]), eps=0), "eps"),
        (lambda: fidelity_rewards([[1.0]], [0], [[[2.0]]], [[[1.0]]]), "from 0 to 1"),
        (lambda: group_advantages([1.0, 2.0], [0]), "its image"),
    ],
)
def test_wrong_tables_are_named(call, told: str) -> None:
    with pytest.raises(BadValue, match=told):
        call()


# -- properties ------------------------------------------------------------------------------------------------------

_NUMBERS = st.floats(1, 5).map(lambda x: round(x, 2))


@st.composite
def _answered(draw):
    n, answers, criteria = draw(st.integers(2, 5)), draw(st.integers(2, 4)), draw(st.integers(1, 3))
    table = lambda rows: np.array(draw(st.lists(_NUMBERS, min_size=rows * criteria, max_size=rows * criteria)))  # noqa: E731
    return table(n).reshape(n, -1), table(n * answers).reshape(n * answers, -1), np.repeat(np.arange(n), answers)


@given(_answered(), st.floats(0.05, 3))
@settings(max_examples=25)
def test_with_variances_held_a_better_order_never_lowers_the_reward(answered, step: float) -> None:
    values, scores, image = answered
    wins, weights = targets_from_scores(values)
    variance = np.full_like(values, 0.7)
    before = fidelity_rewards(scores, image, wins, weights, variance=variance)
    for d in range(values.shape[1]):
        top, bottom = (np.flatnonzero(values[:, d] == end) for end in (values[:, d].max(), values[:, d].min()))
        for row in range(len(scores)):
            direction = 1.0 if image[row] in top else -1.0 if image[row] in bottom else 0.0
            moved = scores.copy()
            moved[row, d] += direction * step
            after = fidelity_rewards(moved, image, wins, weights, variance=variance)
            assert not after.rank[row] < before.rank[row] - 1e-12
            # nor does a partner lose by it, as its margin to this image has only grown
            assert not (after.rank < before.rank - 1e-12).any()


@given(_answered(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_order_of_partners_and_of_answers_changes_nothing(answered, random) -> None:
    values, scores, image = answered
    plain = fidelity_rewards(scores, image, *targets_from_scores(values)).rank
    images, rows = list(range(len(values))), list(range(len(scores)))
    random.shuffle(images)
    random.shuffle(rows)
    place = np.argsort(images)
    mixed = fidelity_rewards(scores[rows], place[image[rows]], *targets_from_scores(values[images])).rank
    assert mixed == pytest.approx(plain[rows], nan_ok=True)


@given(_answered(), st.floats(-3, 3))
@settings(max_examples=25)
def test_rewards_lie_between_0_and_1_and_only_order_counts(answered, shift: float) -> None:
    values, scores, image = answered
    targets = targets_from_scores(values)
    plain = fidelity_rewards(scores, image, *targets).rank
    told = plain[np.isfinite(plain)]
    assert ((told >= 0) & (told <= 1 + 1e-12)).all()
    shifted = fidelity_rewards(scores + shift, image, *targets).rank
    assert shifted == pytest.approx(plain, nan_ok=True, abs=1e-4)  # eps sees the rounding of equal answers


def test_a_bold_answer_may_lose_when_variances_are_its_own() -> None:
    wins, weights = targets_from_scores([[4.0], [1.0]])
    calm = fidelity_rewards([[3.0], [3.2], [2.0], [2.1]], [0, 0, 1, 1], wins, weights).rank
    bold = fidelity_rewards([[3.0], [9.0], [2.0], [2.1]], [0, 0, 1, 1], wins, weights).rank
    assert bold[0] < calm[0]


def test_advantages_by_hand() -> None:
    # rewards 0, 1, 2: mean 1, sd 1; NaN stays outside; a lone reward has nothing to be better than
    found = group_advantages([0.0, 1.0, 2.0, np.nan, 5.0], [0, 0, 0, 0, 1], eps=0.25)
    assert found == pytest.approx([-0.8, 0, 0.8, 0, 0])
