"""The recall that a threshold promises is held at its rate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats.recall_bound import positives_needed, recall_interval, recall_rank, recall_threshold


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


def test_intervals_of_precision_cover() -> None:
    rng = np.random.default_rng(6)
    covered = []
    for _ in range(300):
        positive = rng.random(150) < 1 / 3
        made = recall_threshold(rng.normal(positive * 1.5, 1), positive, recall=0.8, confidence=None, rng=rng)
        true, f = stats.norm.sf(made.threshold, (1.5, 0), 1)
        precision, held = true / (true + 2 * f), (true + 2 * f) / 3
        covered.append([(one.low or 0) <= at <= (one.high or 1)
                        for one, at in ((made.precision, precision), (made.held, held))])  # fmt: skip
    assert (np.mean(covered, axis=0) > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 300)).all()


def test_a_unit_is_found_when_all_of_it_is() -> None:
    danger = np.array([5.0, 1.0, 4.0, 3.0, 0.0, 9.0])
    positive = np.array([True, True, True, True, False, False])
    units = np.array([0, 0, 1, 1, 0, 1])
    made = recall_threshold(danger, positive, recall=0.5, confidence=None, rng=np.random.default_rng(0), units=units)
    assert made.threshold == 1.0  # least dangers are 1 and 3; j = floor(3 x .5) = 1
    assert (made.found, made.held_negatives) == (4, 1)
    assert made.precision.value == pytest.approx(4 / 5)


def test_the_law_of_the_recall() -> None:
    found = recall_interval(1, 29, 0.9)
    assert found.value == pytest.approx(29 / 30)
    assert found.low == pytest.approx(0.05 ** (1 / 29))  # of R = max of 29 uniforms


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
