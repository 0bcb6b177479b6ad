"""Rater diagnostics: by hand, by definition, against other tools, false-alarm rates, edges."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from salon.errors import TooFew
from salon.stats import longest_run, outliers, split_pattern, wilson


@pytest.mark.parametrize(("k", "n"), [(0, 7), (3, 10), (50, 50), (499, 1000)])
def test_wilson_is_statsmodels(k, n):
    e = wilson(k, n)
    assert (e.low, e.high) == pytest.approx(proportion_confint(k, n, method="wilson"))
    assert e.low < e.high


def test_a_share_of_no_judgments_is_unknown():
    none = wilson(0, 0)
    assert np.isnan(none.value)
    assert (none.low, none.high, none.n) == (None, None, 0)


class TestRuns:
    def test_by_hand(self):
        rng = np.random.default_rng(2)
        assert longest_run([1, 1, 2, 2, 2, 1], rng=rng)[:2] == (3, 6)
        # Two 1s and two 2s: 6 orders, of which 1122 2211 1221 2112 hold a run of 2: 4/6.
        assert longest_run([1, 1, 2, 2], rng=rng, shuffles=20_000).p == pytest.approx(4 / 6, abs=0.015)

    def test_a_straight_line_is_found_and_a_constant_rater_is_not_accused(self):
        rng = np.random.default_rng(3)
        mixed = np.append(rng.integers(1, 6, 60), np.full(12, 3))
        assert longest_run(mixed, rng=rng).p < 0.01
        assert longest_run(np.zeros(50), rng=rng).p == 1
        assert longest_run(np.repeat([0, 1], 40), rng=rng).p == 1 / 1000  # 999 shuffles never give 0

    def test_size(self):
        rng = np.random.default_rng(4)
        p = np.array([longest_run(rng.integers(0, 3, 40), rng=rng, shuffles=99).p for _ in range(400)])
        assert np.mean(p <= 0.05) <= 0.08

    def test_empty(self):
        with pytest.raises(TooFew):
            longest_run([], rng=np.random.default_rng(0))


def test_split_pattern():
    counts = [[5, 0, 0], [3, 2, 0], [4, 1, 0], [2, 2, 1], [0, 0, 0]]
    assert split_pattern(counts) == {(0,): 1, (0, 1): 2, (0, 1, 2): 1}


class TestOutliers:
    def test_by_hand(self):
        # Rater 1 is lowest in 4 of 4 criteria: 5 (1/5)^4 = .008. Rater 0 never.
        t = np.tile([0.2, 0.05, 0.2, 0.3, 0.25], (4, 1))
        found = outliers(t)
        assert [o.flagged for o in found] == [False, True, False, False, False]
        assert found[1].p == pytest.approx(5 / 5**4)
        assert (found[0].p, found[1].lowest_in) == (1.0, 4)

    def test_two_criteria_flag_nobody_and_three_need_all(self):
        low = [0.0, 0.2, 0.2, 0.2, 0.3]
        assert not any(o.flagged for o in outliers([low, low]))
        assert outliers([low, low, low])[0].flagged
        assert not any(o.flagged for o in outliers([low, low, low[::-1]]))

    @pytest.mark.parametrize("criteria", [3, 5, 9])
    def test_false_alarm_rate(self, criteria):
        rng = np.random.default_rng(5)
        alarms = [any(o.flagged for o in outliers(rng.normal(size=(criteria, 5)))) for _ in range(2000)]
        assert np.mean(alarms) <= 0.06

    def test_edges(self):
        with pytest.raises(TooFew):
            outliers([[0.1, 0.2]])
        with_gap = outliers([[0.1, 0.2, np.nan], [0.1, 0.2, 0.3]])
        assert with_gap[0].criteria == 1
