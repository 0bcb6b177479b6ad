"""Kendall's W of many groups equals W of each."""

from __future__ import annotations

import numpy as np
import pytest

from salon.stats import Estimate, alpha_from_w, group_concordances, krippendorff_alpha
from salon.stats.agreement import kendall_w
from salon.stats.simulate import mallows_rankings


def test_by_hand() -> None:
    """Two raters, three items, orders 1 2 3 and 1 3 2: rank sums 2, 5, 5, mean 4, S = 4 + 1 + 1 = 6;
    W = 12 * 6 / (4 * 24) = 0.75."""
    scores = np.array([[3, 2, 1], [3, 1, 2]], np.float32)
    assert group_concordances(scores, np.array([3, 3], np.int32), np.array([0]))[0] == pytest.approx(0.75)


def test_equals_the_single_group_kernel_also_with_ties_and_gaps() -> None:
    rng = np.random.default_rng(0)
    sizes = np.repeat(np.array([3, 5, 4], np.int32), [2, 4, 3])
    scores = np.full((9, 5), np.nan, np.float32)
    for row, size in enumerate(sizes):
        scores[row, :size] = rng.integers(0, 4, size)
    starts = np.array([0, 2, 6])
    made = group_concordances(scores, sizes, starts)
    for start, end, w in zip(starts, [2, 6, 9], made):
        assert w == pytest.approx(kendall_w(-scores[start:end, : sizes[start]]).w)


def test_alpha_of_strict_rankings_follows_from_w() -> None:
    ranks = mallows_rankings(30, 5, 4, 0.3, rng=np.random.default_rng(1))
    scores = -ranks.reshape(150, 4).astype(np.float32)
    w = group_concordances(scores, np.full(150, 4, np.int32), np.arange(0, 150, 5)).mean()
    units = ranks.transpose(0, 2, 1).reshape(120, 5).astype(float)
    fast = alpha_from_w(Estimate(float(w), None, None, 30, "prompt"), 600, 5)
    assert fast.value == pytest.approx(krippendorff_alpha(units, level="ordinal").value, abs=1e-12)


def test_no_w_for_one_rater_or_ties_only() -> None:
    one = group_concordances(np.array([[1, 2]], np.float32), np.array([2], np.int32), np.array([0]))
    ties = group_concordances(np.ones((2, 3), np.float32), np.array([3, 3], np.int32), np.array([0]))
    assert np.isnan(one[0])
    assert np.isnan(ties[0])
