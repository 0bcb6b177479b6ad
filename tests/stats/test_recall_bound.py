"""The recall that a threshold promises is held at its rate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats import RecallThreshold, positives_needed, recall_threshold
from salon.stats.recall_bound import recall_interval, recall_rank


def test_positives_needed_by_hand() -> None:
    # .9^n <= .05: n >= ln .05 / ln .9 = 28.4; .95: 58.4; .8: 13.4 (Wilks)
    assert [positives_needed(r, 0.95) for r in (0.8, 0.9, 0.95, 0.99)] == [14, 29, 59, 299]
    # on average: 1 / (1 - r) - 1
    assert [positives_needed(r, None) for r in (0.5, 0.8, 0.9, 0.95)] == [1, 4, 9, 19]


def test_the_rank_by_definition() -> None:
    """The promise fails when at least j of n positives lie below the level that a recall of r cuts off: binomial."""
    for n, r, c in ((29, 0.9, 0.95), (60, 0.8, 0.9), (100, 0.9, 0.95), (200, 0.5, 0.99)):
        j = recall_rank(n, r, c)
        kept = [i for i in range(1, n + 1) if stats.binom.sf(i - 1, n, 1 - r) >= c]
        assert j == max(kept)
    assert recall_rank(29, 0.9, 0.95) == 1
    assert recall_rank(99, 0.9, None) == 10


def test_too_few_positives_say_how_many_are_needed() -> None:
    with pytest.raises(TooFew, match="at least 29 positives"):
        recall_rank(28, 0.9, 0.95)
    with pytest.raises(TooFew, match="at least 9 positives"):
        recall_rank(8, 0.9, None)


@pytest.mark.parametrize("law", ["normal", "coarse"])
@pytest.mark.parametrize("confidence", [0.9, None])
def test_the_promise_is_held_at_its_rate(law: str, confidence: float | None) -> None:
    """20,000 gates on fresh positives: the share with a true recall below .8 stays within what was allowed."""
    rng = np.random.default_rng(5)
    rounds, n = 20_000, 40
    x = rng.normal(1.5, 1, (rounds, n))
    x = np.round(x) if law == "coarse" else x
    t = np.sort(x, axis=1)[:, recall_rank(n, 0.8, confidence) - 1]
    true = stats.norm.sf(t - (0.5 if law == "coarse" else 0), 1.5, 1)
    if confidence is None:
        assert true.mean() >= 0.8 - 4 * true.std() / np.sqrt(rounds)
        return
    broken = (true < 0.8).mean()
    assert broken <= 0.1 + 4 * np.sqrt(0.09 / rounds)
    if law == "normal":  # and the bound is no tighter than it must be: one rank higher breaks it
        higher = np.sort(x, axis=1)[:, recall_rank(n, 0.8, confidence)]
        assert (stats.norm.sf(higher, 1.5, 1) < 0.8).mean() > 0.1


def _covered(made: RecallThreshold, true: dict[str, float]) -> list[bool]:
    found = ((getattr(made, name), at) for name, at in true.items())
    return [(one.low or 0) <= at <= (one.high or 1) for one, at in found]


@pytest.mark.parametrize("step", [None, 2.0])
def test_intervals_cover(step: float | None) -> None:
    """Also where scores are coarse: with many positives at the threshold more of them are found than j says."""
    rng = np.random.default_rng(6)
    covered = []
    for _ in range(300):
        positive = rng.random(150) < 1 / 3
        danger = rng.normal(positive * 1.5, 1)
        danger = danger if step is None else np.round(danger / step) * step
        made = recall_threshold(danger, positive, recall=0.8, confidence=None, rng=rng)
        true, f = stats.norm.sf(made.threshold - (step or 0) / 2, (1.5, 0), 1)
        right = {"recall": true, "precision": true / (true + 2 * f), "held": (true + 2 * f) / 3}
        covered.append(_covered(made, right))
        for one in (made.precision, made.held):
            assert one.low <= one.value <= one.high
    assert (np.mean(covered, axis=0) > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 300)).all()


def test_intervals_cover_where_items_of_a_unit_go_together() -> None:
    """A unit is found when all of its ten items are: far more items are found than units."""
    rng = np.random.default_rng(7)
    covered, units = [], np.repeat(np.arange(60), 10)
    for _ in range(200):
        positive = rng.random(600) < 0.8
        danger = rng.normal(positive * 1.5, 0.6) + np.repeat(rng.normal(0, 0.8, 60), 10)
        made = recall_threshold(danger, positive, recall=0.8, confidence=None, rng=rng, units=units)
        true, f = stats.norm.sf(made.threshold, (1.5, 0), 1)
        covered.append(_covered(made, {"precision": 4 * true / (4 * true + f), "held": (4 * true + f) / 5}))
    assert (np.mean(covered, axis=0) > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 200)).all()
    assert made.precision.unit == "unit"
    alone = recall_threshold([1.0, 2.0], [True, False], recall=0.5, confidence=None, rng=rng, units=[0, 0])
    assert (alone.precision.low, alone.held.low) == (None, None)


def test_a_unit_is_found_when_all_of_it_is() -> None:
    danger = np.array([5.0, 1.0, 4.0, 3.0, 0.0, 9.0])
    positive = np.array([True, True, True, True, False, False])
    units = np.array([0, 0, 1, 1, 0, 1])
    made = recall_threshold(danger, positive, recall=0.5, confidence=None, rng=np.random.default_rng(0), units=units)
    assert made.threshold == 1.0  # least dangers are 1 and 3; j = floor(3 x .5) = 1
    assert (made.found, made.held_negatives) == (4, 1)
    assert made.precision.value == pytest.approx(4 / 5)


def test_only_the_order_of_dangers_counts_and_more_recall_holds_more() -> None:
    rng = np.random.default_rng(8)
    positive = rng.random(200) < 0.4
    danger = rng.normal(positive, 1)

    def made(x: np.ndarray, recall: float) -> RecallThreshold:
        return recall_threshold(x, positive, recall=recall, confidence=0.9, rng=np.random.default_rng(0))

    one, bent = made(danger, 0.8), made(np.exp(danger), 0.8)
    assert bent.threshold == pytest.approx(np.exp(one.threshold))
    assert (bent.found, bent.held_negatives, bent.precision) == (one.found, one.held_negatives, one.precision)
    steps = [made(danger, recall) for recall in (0.5, 0.7, 0.8, 0.9)]
    assert (np.diff([step.threshold for step in steps]) <= 0).all()
    assert (np.diff([step.held.value for step in steps]) >= 0).all()
    mixed = rng.permutation(200)
    assert recall_threshold(danger[mixed], positive[mixed], recall=0.8, confidence=0.9,
                            rng=np.random.default_rng(0)) == one  # fmt: skip


def test_the_law_of_the_recall() -> None:
    found = recall_interval(29, 29, 0.9)
    assert found.value == pytest.approx(29 / 30)
    assert found.low == pytest.approx(0.05 ** (1 / 29))  # of R = max of 29 uniforms
    assert found.high == pytest.approx(0.95 ** (1 / 29))


def test_equal_scores_at_the_threshold_raise_the_recall() -> None:
    # 30 positives, all at one score: all are found, whatever rank was asked for; R is near 1 and may be 1
    rng = np.random.default_rng(0)
    made = recall_threshold(np.ones(60), np.arange(60) < 30, recall=0.5, confidence=0.9, rng=rng)
    assert made.rank > 1
    assert made.recall.value == pytest.approx(30.5 / 31)
    assert made.recall.low == pytest.approx(0.025 ** (1 / 30))  # Clopper and Pearson, 30 of 30
    assert made.recall.high == 1
    # 20 of 30 at 2, 10 at 1: between Beta(20, 11) and Beta(21, 10)
    coarse = recall_interval(20, 30, 0.95, tied=True)
    exact = stats.binomtest(20, 30).proportion_ci(0.95, "exact")
    assert (coarse.low, coarse.high) == pytest.approx((exact.low, exact.high))
    assert "equal scores" in coarse.method


def test_an_interval_holds_what_was_counted() -> None:
    """Where everything is held the share is 1, which Jeffreys' middle of the law leaves out."""
    flagged, rng = [True] * 14 + [False] * 58, np.random.default_rng(0)
    got = recall_threshold([1.0] * 72, flagged, recall=0.9, confidence=None, rng=rng)
    assert (got.held.value, got.held.high) == (1.0, 1.0)
    assert got.held.low < 0.97
    assert got.precision.low <= got.precision.value <= got.precision.high


def test_always_held_and_edges() -> None:
    rng = np.random.default_rng(0)
    danger = np.r_[np.full(10, np.inf), np.arange(20.0)]
    made = recall_threshold(danger, np.arange(30) < 20, recall=0.5, confidence=0.9, rng=rng)
    assert made.threshold <= 9
    with pytest.raises(BadValue, match="NaN"):
        recall_threshold([np.nan], [True], recall=0.5, confidence=None, rng=rng)
    with pytest.raises(BadValue, match="each item"):
        recall_threshold([1.0, 2.0], [True], recall=0.5, confidence=None, rng=rng)
    for recall, confidence in ((1.0, 0.9), (0.0, 0.9), (0.9, 1.0)):
        with pytest.raises(BadValue):
            positives_needed(recall, confidence)
    only = recall_threshold([1.0, 2.0], [True, True], recall=0.5, confidence=None, rng=rng)
    assert (only.precision.value, only.precision.low) == (1.0, None)
