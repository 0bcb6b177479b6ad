"""Slopes of their own: by hand, by definition, by property, by recovery, at the edge."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from salon.errors import BadValue
from salon.stats import flag_cells, flag_groups, pair_probabilities, slope_tests, step_up
from salon.stats.own_slopes import spread_of_slopes

NU = 0.4


def honest(voters, each, rng, *, taste=0.0, style=0.0, items=8):
    """Votes of voters who differ in how much they like each item and one style."""
    group = np.repeat(np.arange(voters), each)
    a = rng.integers(items, size=len(group))
    b = (a + rng.integers(1, items, size=len(group))) % items
    q = np.linspace(-1, 1, items)
    x = rng.standard_normal(len(group))
    base = q[a] - q[b]
    own = taste * rng.standard_normal((voters, items))
    d = base + own[group, a] - own[group, b] + style * rng.standard_normal(voters)[group] * x
    win, tie, _ = pair_probabilities("davidson", d, NU)
    u = rng.random(len(group))
    y = np.where(u < win, 1.0, np.where(u < win + tie, 0.5, 0.0))
    win, tie, _ = pair_probabilities("davidson", base, NU)
    return group, y, win, tie, np.stack([base, x], axis=1), a, b


def test_ten_wins_of_ten_by_hand():
    """All ten even votes for one item: the bound is the chance itself, 2^-10, and twice that for two sides."""
    group = np.zeros(10, np.int64)
    a, b = np.array([0] * 5 + [1] * 5), np.array([1] * 5 + [0] * 5)
    y = (a == 0).astype(float)
    tests = slope_tests(group, y, np.full(10, 0.5), np.zeros(10), np.empty((10, 0)), a=a, b=b, items=2)
    assert tests.group.tolist() == [0, 0]
    assert tests.direction.tolist() == [0, 1]
    assert tests.slope.tolist() == [25.0, -25.0]
    assert tests.p == pytest.approx([2 / 1024] * 2, rel=1e-6)
    assert tests.votes.tolist() == [10, 10]


def test_the_bound_is_never_below_the_exact_chance():
    """By definition: every outcome of nine votes with ties, enumerated."""
    rng = np.random.default_rng(3)
    n = 9
    d = rng.normal(size=n)
    x = rng.choice([-1.5, 1.0, 0.5], n)
    win, tie, lose = pair_probabilities("davidson", d, NU)
    table = np.stack([win, tie, lose])
    outcomes = np.array(list(product(range(3), repeat=n)))
    chance = table[outcomes, np.arange(n)].prod(axis=1)
    totals = (np.array([1.0, 0.5, 0.0])[outcomes] * x).sum(axis=1)
    for y in (np.where(x > 0, 1.0, 0.0), np.where(x > 0, 0.0, 1.0)):
        tests = slope_tests(np.zeros(n, np.int64), y, win, tie, x[:, None])
        above, below = chance[totals >= x @ y - 1e-9].sum(), chance[totals <= x @ y + 1e-9].sum()
        exact = min(above, below)
        assert len(tests.p) == 1
        assert 2 * exact <= tests.p[0] * (1 + 1e-9)
        assert tests.p[0] < 60 * exact


def test_turning_pictures_and_renaming_voters_changes_nothing():
    rng = np.random.default_rng(1)
    group, y, win, tie, x, a, b = honest(60, 40, rng, taste=0.5)
    group[:40] = 0
    y[:40] = np.where(a[:40] == 3, 1.0, np.where(b[:40] == 3, 0.0, y[:40]))
    plain = slope_tests(group, y, win, tie, x, a=a, b=b, items=8)
    turned = slope_tests(group, 1 - y, 1 - win - tie, tie, -x, a=b, b=a, items=8)
    assert turned.p == pytest.approx(plain.p)
    assert turned.slope == pytest.approx(plain.slope, abs=1e-6)
    names = rng.permutation(60)
    renamed = slope_tests(names[group], y, win, tie, x, a=a, b=b, items=8)
    assert sorted(renamed.p) == pytest.approx(sorted(plain.p))
    assert {names[g] for g in plain.group} == set(renamed.group.tolist())


def test_the_spread_of_honest_groups_is_recovered_with_attackers_among_them():
    rng = np.random.default_rng(5)
    V = rng.uniform(2, 12, 4000)
    for tau in (0.0, 0.4, 1.0):
        S = rng.normal(size=4000) * np.sqrt(V + tau**2 * V**2)
        S[:200] = V[:200] * 3
        assert spread_of_slopes(S, V) == pytest.approx(tau, abs=0.2)


def test_honest_voters_are_left_alone_however_their_tastes_differ():
    flagged = 0
    for seed in range(40):
        group, y, win, tie, x, a, b = honest(150, 60, np.random.default_rng(seed), taste=0.6, style=0.5)
        flagged += flag_groups(slope_tests(group, y, win, tie, x, a=a, b=b, items=8)).any()
    assert flagged <= 4


@pytest.mark.parametrize("way", ["one item", "style", "random"])
def test_who_follows_something_else_is_found(way):
    rng = np.random.default_rng(8)
    group, y, win, tie, x, a, b = honest(200, 80, rng, taste=0.2, style=0.3)
    liars = group < 8
    if way == "one item":
        y = np.where(liars & (a == 2), 1.0, np.where(liars & (b == 2), 0.0, y))
    elif way == "style":
        y = np.where(liars, (x[:, 1] > 0).astype(float), y)
    else:
        again = np.repeat(np.arange(8), 80)  # four times the votes, by chance
        many = np.concatenate([group, *[again] * 3])
        group, liars = many, np.concatenate([liars, np.ones(3 * len(again), bool)])
        extra = rng.integers(len(a), size=3 * len(again))
        y, win, tie, x, a, b = (np.concatenate([part, part[extra]]) for part in (y, win, tie, x, a, b))
        y = np.where(liars, rng.integers(2, size=len(y)), y)
    flags = flag_groups(slope_tests(group, y, win, tie, x, a=a, b=b, items=8))
    assert flags[:8].sum() >= 6
    assert flags[8:].sum() <= 1


def test_a_flood_stands_out_of_all_hours():
    rng = np.random.default_rng(9)
    group, y, win, tie, x, a, b = honest(100, 200, rng)
    flood = (group == 40) & (rng.random(len(group)) < 0.7)
    y = np.where(flood & (a == 1), 1.0, np.where(flood & (b == 1), 0.0, y))
    tests = slope_tests(group, y, win, tie, x[:, :0], a=a, b=b, items=8)
    cells = flag_cells(tests)
    assert (40, 1) in {(g, i) for g, i, bad in zip(tests.group, tests.direction, cells) if bad}
    assert set(tests.group[cells]) == {40}


def test_an_address_of_honest_voters_may_differ_as_its_voters_do():
    """Five addresses of ten voters: too few to tell how much addresses differ, so the spread of voters bounds it."""
    alarms = [0, 0]
    for seed in range(12):
        group, y, win, tie, x, a, b = honest(50, 300, np.random.default_rng(seed), taste=0.6)
        voters = slope_tests(group, y, win, tie, x, a=a, b=b, items=8)
        known = {"parts": group, "known": voters.spread}
        for at, more in enumerate((known, {})):
            tests = slope_tests(group // 10, y, win, tie, x, a=a, b=b, items=8, **more)
            alarms[at] += flag_groups(tests).any()
    assert alarms[0] <= 1
    assert alarms[1] >= 4


def test_what_nobody_knows_yet_is_taken_to_differ():
    group = np.zeros(24, np.int64)
    x = np.ones((24, 1))
    bold, shy = (slope_tests(group, np.ones(24), np.full(24, 0.5), np.zeros(24), x, unknown=u) for u in (0.0, 0.5))
    assert bold.spread.tolist() == [0.0]
    assert shy.spread.tolist() == [0.5]
    assert shy.p[0] > 2 * bold.p[0]


def test_benjamini_and_hochberg_by_hand():
    assert step_up([0.01, 0.04, 0.03, 0.9], 4, level=0.05).tolist() == [True, False, False, False]
    assert step_up([0.01, 0.02, 0.03, 0.9], 4, level=0.05).tolist() == [True, True, True, False]
    assert step_up([0.01, 0.02, 0.03], 400, level=0.05).tolist() == [False] * 3


def test_edges():
    with pytest.raises(BadValue, match="votes with a group"):
        slope_tests([], [], [], [], np.empty((0, 1)))
    with pytest.raises(BadValue, match="none of 1"):
        slope_tests([0, 2], [1, 1], [0.5, 0.5], [0, 0], np.ones((2, 1)))
    with pytest.raises(BadValue, match="chances between 0 and 1"):
        slope_tests([0], [1], [1.0], [0], np.ones((1, 1)))
    lonely = slope_tests([0], [1.0], [0.5], [0.2], np.ones((1, 1)))
    assert lonely.p.size == 0
    assert not flag_groups(lonely).any()
