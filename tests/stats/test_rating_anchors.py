"""The choice of rating anchors: levels, halves, ties, missing levels and scales."""

import numpy as np
import pytest

from salon.errors import BadValue, DuplicateJudgment, NotIdentified, TooFew
from salon.stats import choose_rating_anchors
from salon.stats.rating_scale import nearest_mark


def choose(table, low=1, high=5, **settings):
    """Rating anchors of a (raters, items) table; NaN is a missing rating."""
    table = np.asarray(table, dtype=float)
    rater, item = np.nonzero(~np.isnan(table))
    return choose_rating_anchors(item, rater, table[rater, item], table.shape[1], low=low, high=high, **settings)


def test_by_hand():
    # Item means 2, 2, 2, 3, 4, 5; sds of items 0-2: sqrt 2, 0, sqrt 2 (tie: the lower number). Item 5 is at the end.
    found = choose([[1, 2, 3, 2, 4, 5], [3, 2, 1, 4, 4, 5]])
    np.testing.assert_array_equal(found.items, [1, 0, 3, 4])
    np.testing.assert_array_equal(found.levels, [2, 2, 3, 4])
    np.testing.assert_allclose(found.sds, np.sqrt([0, 2, 2, 0]))
    np.testing.assert_array_equal(found.targets, [2, 2, 3, 4])
    assert found.missing_levels == ()


def test_halves_go_up():
    # Means 1.5, 2.5, 3.5, 4.5: levels 2, 3, 4 and 5 (out). Banker's rounding would say 2, 2, 4, 4.
    found = choose([[1, 2, 3, 4], [2, 3, 4, 5]])
    np.testing.assert_array_equal(found.items, [0, 1, 2])
    np.testing.assert_array_equal(found.levels, [2, 3, 4])


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [(1, 5, [1, 2, 3, 4, 5]), (0, 100, [0, 25, 50, 75, 100]), (1, 10, [1, 3.25, 5.5, 7.75, 10])],
)
def test_any_scale(low, high, marks):
    middle = np.array(marks[1:4], dtype=float)
    found = choose(np.stack([middle + 0.1, middle - 0.1]), low, high)
    np.testing.assert_allclose(found.levels, middle)
    step = marks[1] - marks[0]
    np.testing.assert_array_equal(nearest_mark([low + step / 2, low + step / 2 - 1e-6], marks), [1, 0])


def test_ties_by_distance_then_number():
    # Equal sds: means 3.25, 2.75, 3, 3.25 with two places: the nearest (item 2), then the lower number of the rest.
    table = [[4.25, 1.75, 2, 2.25], [2.25, 3.75, 4, 4.25]]
    np.testing.assert_array_equal(choose(table).items, [2, 0])
    np.testing.assert_array_equal(choose(table, each=9).items, [2, 0, 1, 3])


def test_mean_or_median():
    # Ratings 2, 2, 5: mean 3, median 2. Ratings 4, 4, 4: both 4.
    table = [[2, 4], [2, 4], [5, 4]]
    by_mean, by_median = choose(table), choose(table, center="median")
    np.testing.assert_array_equal(by_mean.levels, [3, 4])
    np.testing.assert_array_equal(by_median.levels, [2, 4])
    np.testing.assert_array_equal(by_mean.targets, [3, 4])
    np.testing.assert_array_equal(by_median.targets, [2, 4])
    assert by_mean.missing_levels == (2.0,)
    assert by_median.missing_levels == (3.0,)


def test_by_definition():
    # The plain loop of the spec on integer ratings of five raters.
    rng = np.random.default_rng(1)
    table = np.clip(np.round(rng.normal(3, 0.8, 50) + rng.normal(0, 0.7, (5, 50))), 1, 5)
    found = choose(table)
    expected = []
    for level in (2, 3, 4):
        at = [i for i in range(50) if int(np.floor(table[:, i].mean() + 0.5)) == level]
        at.sort(key=lambda i: (round(table[:, i].std(ddof=1), 9), round(abs(table[:, i].mean() - level), 9), i))
        expected += at[:2]
    np.testing.assert_array_equal(found.items, expected)


def test_relabelled_raters_and_turned_scale():
    rng = np.random.default_rng(2)
    table = np.clip(rng.normal(3, 0.8, 40) + rng.normal(0, 0.5, (5, 40)), 1, 5)
    found = choose(table)
    np.testing.assert_array_equal(choose(table[::-1]).items, found.items)
    assert set(choose(6 - table).items) == set(found.items)
    stretched = choose(25 * (table - 1), 0, 100)
    np.testing.assert_array_equal(stretched.items, found.items)


def test_single_ratings_are_passed_over():
    found = choose([[3, 3, 2], [np.nan, 4, 2]], each=1)
    np.testing.assert_array_equal(found.items, [2, 1])
    np.testing.assert_array_equal(found.n, [2, 2])
    assert found.missing_levels == (3.0,)  # item 0 has one rating; item 1 at 3.5 is level 4


def test_edges():
    with pytest.raises(NotIdentified, match="near 2, 3, 4"):
        choose([[1, 5], [1, 5]])
    with pytest.raises(NotIdentified, match="none among 0 items"):
        choose([[3, 3, 2]])
    with pytest.raises(TooFew):
        choose(np.full((2, 2), np.nan))
    with pytest.raises(BadValue, match="scale from 1 to 5"):
        choose([[0, 3], [2, 3]])
    with pytest.raises(BadValue, match="levels rise"):
        choose([[3, 3], [2, 3]], levels=(3, 2))
    with pytest.raises(BadValue, match="levels rise"):
        choose([[3, 3], [2, 3]], levels=(1, 3))
    with pytest.raises(BadValue, match="low end"):
        choose([[3, 3], [2, 3]], 5, 1)
    with pytest.raises(BadValue, match="at least one"):
        choose([[3, 3], [2, 3]], each=0)
    with pytest.raises(DuplicateJudgment):
        choose_rating_anchors([0, 0], [1, 1], [3, 3], 2, low=1, high=5)
