"""The drift tests: by hand, by scipy, by property, by simulation (long watches, planted shifts), at the edges."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import fisher_exact, ks_2samp

from salon.errors import BadValue, TooFew
from salon.stats import agreement_look, drift_look
from salon.stats.drift import ks_distance, ks_tail, look_level, stability_index


def test_shares_of_the_level_sum_to_it():
    # 1/2 + 1/6 + 1/12 = 3/4 of the level after three looks; n/(n+1) after n
    assert sum(look_level(0.06, k) for k in (1, 2, 3)) == pytest.approx(0.045)
    assert sum(look_level(0.05, k) for k in range(1, 10_000)) < 0.05


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (4, 3), (4, 4)])
def test_the_tail_by_definition(n, m):
    """All orders of two samples, one by one."""
    found: dict[int, int] = {}
    for places in combinations(range(n + m), n):
        x = np.array(places, float)
        y = np.array([place for place in range(n + m) if place not in places], float)
        h = ks_distance(x, y)[1]
        found[h] = found.get(h, 0) + 1
    total = sum(found.values())
    for h in range(max(found) + 2):
        exact = Fraction(sum(count for other, count in found.items() if other >= h), total)
        assert ks_tail(h, n, m) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(("n", "m", "shift"), [(30, 20, 0.0), (41, 27, 0.8), (60, 60, 1.5)])
def test_the_test_is_that_of_scipy(n, m, shift):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=n), rng.normal(size=m) + shift
    theirs = ks_2samp(x, y, method="exact")
    ours = drift_look(x, y, look=1, alpha=0.05)
    assert ours.distance == pytest.approx(theirs.statistic)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_a_small_p_is_exact():
    # every value of one sample below all of the other: two of the C(40, 20) orders
    assert ks_tail(20, 20, 20) == pytest.approx(2 / 137846528820, rel=1e-12)


def test_the_index_by_hand():
    # reference 1..40 in two bins, 20 each: with a half 20.5/41; window 5 and 15 of 20: 5.5/21 and 15.5/21
    x, y = np.arange(1, 41), np.array([1] * 5 + [40] * 15)
    p, q = 0.5, 5.5 / 21
    by_hand = (q - p) * np.log(q / p) + (p - q) * np.log((1 - q) / (1 - p))
    assert stability_index(x, y, bins=2) == pytest.approx(by_hand)
    assert stability_index(x, x, bins=10) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("draw", [lambda rng, n: rng.normal(size=n), lambda rng, n: rng.integers(0, 2, n)])
def test_the_index_without_drift_is_about_what_is_expected(draw):
    """Also where values tie and bins are fewer than asked for: two answers make two bins."""
    rng = np.random.default_rng(4)
    looks = [drift_look(draw(rng, 400), draw(rng, 200), look=1, alpha=0.05) for _ in range(200)]
    psi = np.array([one.psi for one in looks])
    assert psi.mean() == pytest.approx(looks[0].psi_expected, abs=4 * psi.std() / np.sqrt(200) + 0.002)
    above = drift_look([1.0] * 30, [2.0] * 30, look=1, alpha=0.05)  # beyond all that the reference has
    assert above.psi > 1
    assert above.psi_expected == 0


def test_agreement_is_fishers_test():
    ours = agreement_look(12, 30, 40, 50, look=2, alpha=0.05)
    assert ours.p == pytest.approx(fisher_exact([[12, 18], [40, 10]], alternative="less")[1])
    assert ours.alarm
    assert not agreement_look(25, 30, 40, 50, look=1, alpha=0.05).alarm


@settings(max_examples=50)
@given(st.integers(0, 2**31), st.floats(0.1, 10), st.floats(-5, 5))
def test_a_rising_change_of_scale_changes_nothing(seed, factor, offset):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-30, 30, 25).astype(float), rng.integers(-30, 30, 22).astype(float)
    one = drift_look(x, y, look=1, alpha=0.05)
    other = drift_look(np.exp(x / 10) * factor + offset, np.exp(y / 10) * factor + offset, look=1, alpha=0.05)
    assert (one.distance, one.p) == (other.distance, other.p)


def alarms(rng, *, runs, looks, n=200, m=50, shift=0.0, after=0):
    """(runs,) the first look that alarms, 0 where none does."""
    first = np.zeros(runs, int)
    for run in range(runs):
        x = rng.normal(size=n)
        for look in range(1, looks + 1):
            y = rng.normal(size=m) + (shift if look > after else 0.0)
            if ks_tail(ks_distance(x, y)[1], n, m) <= look_level(0.05, look):
                first[run] = look
                break
    return first


def test_long_watches_without_drift_hold_the_level_and_repeated_plain_tests_do_not():
    rng = np.random.default_rng(1)
    share = (alarms(rng, runs=300, looks=60) > 0).mean()
    assert share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    x = rng.normal(size=200)
    plain = [ks_tail(ks_distance(x, rng.normal(size=50))[1], 200, 50) <= 0.05 for _ in range(300)]
    assert sum(plain) >= 3  # one look in some twenty: a watch of sixty would nearly always alarm


def test_a_planted_shift_is_found_soon():
    first = alarms(np.random.default_rng(2), runs=60, looks=14, shift=1.0, after=10)
    assert ((first == 0) | (first > 10)).mean() > 0.9
    assert (first > 0).mean() > 0.95


def test_edges():
    with pytest.raises(TooFew, match="20 values"):
        drift_look(range(30), range(5), look=1, alpha=0.05)
    with pytest.raises(BadValue, match="finite"):
        drift_look([*range(30), np.nan], range(30), look=1, alpha=0.05)
    with pytest.raises(BadValue, match="level"):
        look_level(0.0, 1)
    with pytest.raises(BadValue, match="agreement"):
        agreement_look(3, 2, 1, 1, look=1, alpha=0.05)
    same = drift_look([1.0] * 30, [1.0] * 30, look=1, alpha=0.05)
    assert (same.distance, same.p, same.alarm, same.psi, same.shift) == (0, 1, False, 0, None)
