"""Wordings, samples, bands and separation: by hand, by definition, by another tool, by recovery, at the edge."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from salon.errors import BadValue, TooFew
from salon.stats import band, self_agreement, separation, wording_spread


def test_wording_spread_by_hand():
    """Wording 0: mean 1, wording 3: mean .5; sd over two values of distance .5 is .5/sqrt(2)."""
    found = wording_spread([1, 1, 1, 0], [0, 0, 3, 3], range(4), deals=99, rng=np.random.default_rng(0))
    assert (found.wordings, found.means, found.pairs) == ((0, 3), (1.0, 0.5), (2, 2))
    assert found.sd == pytest.approx(0.5 / np.sqrt(2))
    assert found.p == pytest.approx(1, abs=0.01), "every deal of one zero gives this spread"


def test_wordings_that_do_nothing_are_not_blamed():
    """Under the null p is uniform, and the expected sd is that of chance: sqrt(.25/30) for 30 pairs a wording."""
    rng = np.random.default_rng(3)
    found = [
        wording_spread(rng.random(240) < 0.5, np.arange(240) % 8, range(240), np.arange(240) // 120, deals=99, rng=rng)
        for _ in range(150)
    ]
    assert np.mean([one.p <= 0.1 for one in found]) == pytest.approx(0.1, abs=0.06)
    assert np.mean([one.expected for one in found]) == pytest.approx(np.sqrt(0.25 / 30), rel=0.1)


def test_a_bad_wording_is_found():
    rng = np.random.default_rng(4)
    wording = np.arange(800) % 8
    scores = rng.random(800) < np.where(wording == 5, 0.3, 0.7)
    found = wording_spread(scores, wording, range(800), deals=199, rng=rng)
    assert found.p < 0.02
    assert found.sd > 2 * found.expected
    assert np.argmin(found.means) == 5


def test_strata_are_dealt_apart():
    """A hard criterion that only wording 1 met explains the spread: within criteria nothing is left to deal."""
    scores, wordings = [1] * 20 + [0] * 20, [0] * 20 + [1] * 20
    rng = np.random.default_rng(0)
    assert wording_spread(scores, wordings, range(40), wordings, deals=99, rng=rng).p == 1
    assert wording_spread(scores, wordings, range(40), deals=99, rng=rng).p == 0.01


def test_the_spread_is_within_criteria():
    """Two criteria of two wordings each: the sds .5/sqrt(2) and 0 average; pooled by number they would cancel."""
    scores = [1, 1, 1, 0, 0, 0, 1, 1, 0, 0]
    wording = [0, 0, 1, 1, 0, 0, 1, 1, 0, 0]
    criteria = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]  # the third has one wording, and no spread
    rng = np.random.default_rng(0)
    found = wording_spread(scores, wording, range(10), criteria=criteria, deals=99, rng=rng)
    assert found.sd == pytest.approx((0.5 / np.sqrt(2) + 1 / np.sqrt(2)) / 2)
    assert (found.wordings, found.means, found.pairs) == ((), (), ())
    with pytest.raises(TooFew, match="under one criterion"):
        wording_spread([1, 0], [0, 1], range(2), criteria=[0, 1], deals=99, rng=rng)


def test_the_mean_spread_is_that_of_each_criterion_alone():
    rng = np.random.default_rng(1)
    score, wording, criteria = rng.random(720) < 0.6, rng.integers(0, 8, 720), np.arange(720) % 9
    each = [np.std([score[(criteria == c) & (wording == w)].mean() for w in range(8)], ddof=1) for c in range(9)]
    found = wording_spread(score, wording, range(720), criteria, criteria=criteria, deals=99, rng=rng)
    assert found.sd == pytest.approx(np.mean(each))
    assert found.sd == pytest.approx(found.expected, rel=0.25)
    pooled = wording_spread(score, wording, range(720), criteria, deals=99, rng=rng)
    assert pooled.sd < found.sd / 2  # what pooling by number hid


def test_a_pair_keeps_its_wording_in_all_criteria():
    """Each pair has the same score under nine criteria: 40 pieces of evidence, not 360.

    By definition: as the test of one criterion, where dealing the 360 apart would see a spread a third as wide.
    """
    rng = np.random.default_rng(6)
    score, wording = rng.random(40) < 0.5, np.arange(40) % 4
    nine = [np.tile(x, 9) for x in (score, wording, np.arange(40))]
    alone = wording_spread(score, wording, range(40), deals=2000, rng=rng)
    together = wording_spread(*nine, deals=2000, rng=rng)
    apart = wording_spread(*nine[:2], range(360), deals=2000, rng=rng)
    assert together.sd == pytest.approx(alone.sd)
    assert together.expected == pytest.approx(alone.expected, rel=0.05)
    assert apart.expected < 0.5 * alone.expected


def test_self_agreement_by_definition():
    """Over all pairs of samples, one question at a time."""
    samples = ["aab", "abt", "bbb", "a"]
    pairs = [np.mean([x == y for x, y in combinations(s, 2)]) for s in samples if len(s) > 1]
    counts = [[s.count(option) for option in "abt"] for s in samples]
    found = self_agreement(counts, [0, 1, 2, 3], draws=200, rng=np.random.default_rng(0))
    assert found.value == pytest.approx(np.mean(pairs)) == pytest.approx((1 / 3 + 0 + 1) / 3)
    assert found.n == 3


@pytest.mark.parametrize("k", [2, 5])
def test_self_agreement_does_not_depend_on_the_number_of_samples(k):
    """A judge that says a with chance .8: .8^2 + .2^2 = .68 whatever k."""
    counts = np.random.default_rng(k).multinomial(k, [0.8, 0.2], size=4000)
    found = self_agreement(counts, np.arange(4000), draws=200, rng=np.random.default_rng(0))
    assert found.low < 0.68 < found.high


def test_band_by_hand():
    found = band([7, 7, 7, 8], low=0, high=10)
    assert (found.median, found.commonest, found.n) == (7, 0.75, 4)
    assert found.levels == pytest.approx(4 / 3**0.75), "exp of the entropy of 3/4 and 1/4"
    assert found.width == pytest.approx((7.7 - 7) / 10)
    assert band(np.arange(10)).width is None
    assert band(np.arange(10)).levels == pytest.approx(10)


def test_separation_agrees_with_mann_whitney_in_one_group_and_counts_pairs_over_groups():
    rng = np.random.default_rng(2)
    values, strong = np.round(rng.normal(size=30), 1), rng.choice([1, 0, -1], 30)
    found = separation(values, strong, [0] * 30, draws=100, rng=rng)
    up, down = values[strong == 1], values[strong == -1]
    assert found.value == pytest.approx(mannwhitneyu(up, down).statistic / (len(up) * len(down)))
    groups = np.arange(30) % 3
    wins = [
        (x > y) + (x == y) / 2
        for g in range(3)
        for x in values[(strong == 1) & (groups == g)]
        for y in values[(strong == -1) & (groups == g)]
    ]
    assert separation(values, strong, groups, draws=100, rng=rng).value == pytest.approx(np.mean(wins))


def test_separation_of_a_constant_judge_is_a_half():
    found = separation(np.ones(40), [1, -1] * 20, np.arange(40) // 2, draws=100, rng=np.random.default_rng(0))
    assert found.value == 0.5


def test_separation_turns_with_the_scale():
    rng = np.random.default_rng(5)
    values, strong, groups = rng.normal(size=60), [1, -1, 0] * 20, np.arange(60) // 6
    up = separation(values, strong, groups, draws=100, rng=np.random.default_rng(1))
    down = separation(-values, strong, groups, draws=100, rng=np.random.default_rng(1))
    assert up.value == pytest.approx(1 - down.value)


def test_at_the_edge():
    rng = np.random.default_rng(0)
    with pytest.raises(TooFew, match="wordings"):
        wording_spread([1, 0], [2, 2], [0, 1], deals=99, rng=rng)
    with pytest.raises(BadValue, match="deals"):
        wording_spread([1, 0], [1, 2], [0, 1], deals=9, rng=rng)
    with pytest.raises(BadValue, match="stratum"):
        wording_spread([1, 0], [1, 2], [0], deals=99, rng=rng)
    with pytest.raises(BadValue, match="one wording and one stratum"):
        wording_spread([1, 0], [1, 2], [0, 0], deals=99, rng=rng)
    with pytest.raises(TooFew, match="twice"):
        self_agreement([[1, 0], [0, 1]], [0, 1], draws=100, rng=rng)
    with pytest.raises(TooFew, match="strong"):
        separation([1, 2], [1, 1], [0, 0], draws=100, rng=rng)
    for bad in ([], [np.nan]):
        with pytest.raises(TooFew, match="finite"):
            band(bad)
