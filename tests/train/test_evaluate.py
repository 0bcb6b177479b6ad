"""Figures of models and scorers on planted pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from trial_example import contestant, planted_trial

from salon.errors import TooFew
from salon.evaluate import EvaluateSettings, TestPairs, evaluate
from salon.evaluate.accuracy import drawing, tau
from salon.evaluate.leaks import Leaks

QUICK = EvaluateSettings(draws=100)


def figures(trial, *contestants, settings=QUICK):
    return evaluate([(trial, contestants)], settings)


@pytest.fixture(scope="module")
def planted():
    return planted_trial(prompts=40)


@pytest.fixture(scope="module")
def report(planted):
    """One that knows the odds, one that is twice too sure of noisy ones, and a coin."""
    trial, z = planted
    rng = np.random.default_rng(1)
    noisy = z + rng.normal(0, 1, len(z))
    return evaluate(
        [(trial, [contestant(trial, noisy, "noisy"), contestant(trial, z, "knows"),
                  contestant(trial, rng.normal(size=len(z)), "coin", "scorer")])],
        QUICK,
    )  # fmt: skip


def small_trial(votes) -> TestPairs:
    """One prompt of three items, pairs 01 02 12."""
    n = len(votes)
    items = [("x", "y"), ("x", "z"), ("y", "z")] * (n // 3)
    prompt = np.arange(n) // 3
    return TestPairs(
        study="small", data="d", split="all", criteria=(("c", "C"),), criterion=np.zeros(n, np.int64), group=prompt,
        item_a=np.array([f"{g}{a}" for g, (a, _) in zip(prompt, items)], object),
        item_b=np.array([f"{g}{b}" for g, (_, b) in zip(prompt, items)], object),
        votes=np.array(votes), text=np.array([""] * n, object),
    )  # fmt: skip


def test_by_hand():
    # majorities: x>y 3-0, x>z 2-1, y=z 1-1-1 (no majority); then x<y 0-3, x>z 3-0, y>z 2-1
    trial = small_trial([[3, 0, 0], [2, 1, 0], [1, 1, 1], [0, 3, 0], [3, 0, 0], [2, 1, 0]])
    one = contestant(trial, [1, -1, 5, -2, np.nan, 0])
    (found,) = figures(trial, one).judges
    # right, wrong, -, right, no number (0), tie (1/2): 2.5 of 5
    assert found.pooled.accuracy.value == pytest.approx(2.5 / 5)
    assert (found.pooled.pairs, found.pooled.unscored) == (5, 1)
    assert found.pooled.parsed_only.value == pytest.approx(2.5 / 4)
    assert {bucket.split: (bucket.accuracy.value, bucket.pairs) for bucket in found.buckets} == {
        "3-0": (pytest.approx(2 / 3), 3),
        "2-1": (pytest.approx(0.25), 2),
    }


def test_numbers_without_an_interval_say_why():
    votes = [[3, 0, 0], [2, 1, 0], [2, 1, 0]]
    one, two = small_trial(votes), small_trial(votes * 2)
    alone, alike, apart = (
        figures(trial, contestant(trial, margins))
        for trial, margins in ((one, [1, -1, 1]), (two, [1, -1, 1] * 2), (two, [1, -1, 1, 1, 1, 1]))
    )
    told = ", so these numbers have none: they may be luck"
    assert alone.judges[0].pooled.accuracy.low is None
    assert "intervals need two prompts or more" + told in alone.warnings
    assert "all prompts say the same" + told in alike.warnings
    assert not any(told in warning for warning in apart.warnings)


def test_tau_by_hand():
    trial = small_trial([[3, 0, 0], [3, 0, 0], [3, 0, 0], [3, 0, 0], [0, 3, 0], [3, 0, 0]])
    # prompt 0: people x y z. prompt 1: a cycle, no order. The contestant says x z y: one of three pairs turned.
    every, given = np.arange(6), lambda: drawing(QUICK, np.random.default_rng(0))
    one = contestant(trial, [1, 1, -1, 1, 1, 1])
    assert tau(one.on(trial), every, given()).value == pytest.approx(1 / 3)
    gap = contestant(trial, [1, np.nan, -1, 1, 1, 1])
    assert tau(gap.on(trial), every, given()) is None


def test_order_and_ceilings(report):
    study = report
    assert [one.name for one in study.judges] == ["knows", "noisy", "coin"]
    knows, noisy, coin = study.judges
    tops = knows.pooled.ceilings
    assert tops.oracle.low < knows.pooled.accuracy.value < tops.oracle.high + 0.02
    assert noisy.pooled.accuracy.value < knows.pooled.accuracy.value
    assert coin.pooled.accuracy.low < 0.5 < coin.pooled.accuracy.high
    assert all(part.figures.ceilings is not None for one in study.judges for part in one.criteria)
    for bucket in knows.buckets:
        assert bucket.accuracy.value == pytest.approx(bucket.oracle, abs=0.08)


def test_chances(report):
    knows, noisy, coin = report.judges
    assert knows.calibration.slope.low < 1 < knows.calibration.slope.high
    assert noisy.calibration.slope.high < 1
    assert noisy.calibration.ece.value > 2 * noisy.calibration.expected_ece
    assert coin.calibration is None


def test_comparisons(report):
    told = {(one.first, one.second): one for one in report.comparisons}
    assert set(told) == {("knows", "noisy"), ("knows", "coin"), ("noisy", "coin")}
    assert told["knows", "coin"].p_holm < 0.05
    assert told["knows", "coin"].difference.low > 0
    assert all(one.p_holm >= one.p for one in told.values())


def test_generators_are_ordered_as_planted(report):
    found = report.judges[0].generators
    assert [one.generator for one in found.generators] == ["dog", "cat", "bee", "ant"]
    assert found.spearman.value == 1.0
    # every pair of a prompt has two generators: each is in half of the pairs
    assert {one.pairs for one in found.generators} == {report.pairs // 2}
    assert sum(one.people.value for one in found.generators) == pytest.approx(2)


def test_figures_do_not_move_with_the_company(planted, report):
    trial, z = planted
    alone = evaluate([(trial, [contestant(trial, z, "knows")])], QUICK).judges[0]
    assert alone == report.judges[0]
    assert report == evaluate([(trial, _again(trial, z))], QUICK)


def _again(trial, z):
    rng = np.random.default_rng(1)
    noisy = z + rng.normal(0, 1, len(z))
    coin = contestant(trial, rng.normal(size=len(z)), "coin", "scorer")
    return [coin, contestant(trial, z, "knows"), contestant(trial, noisy, "noisy")]


def test_one_vote_a_pair_has_no_ceiling_and_no_accuracy():
    trial, z = planted_trial(prompts=5, raters=1)
    one = contestant(trial, z)
    with pytest.raises(TooFew, match="only beside its ceiling") as refused:
        figures(trial, one)
    assert "--no-ceiling" in refused.value.remedy
    bare = figures(trial, one, settings=EvaluateSettings(draws=100, ceiling=False))
    assert bare.judges[0].pooled.ceilings is None
    assert bare.judges[0].pooled.no_ceiling
    assert any("no ceiling" in words for words in bare.warnings)


def test_a_contestant_is_measured_on_what_it_speaks_about(planted):
    trial, z = planted
    half = contestant(trial, z, "half", speaks=trial.criterion == 0)
    (found,) = figures(trial, half).judges
    assert [part.criterion for part in found.criteria] == ["c0"]
    assert found.pooled.pairs == found.pooled.ceilings.pairs == 240
    with pytest.raises(TooFew, match="speaks about"):
        figures(trial, contestant(trial, z, speaks=np.zeros(len(z), bool)))


def test_order_flips_and_seeds():
    trial, z = planted_trial(prompts=16, criteria=1)
    turned = np.where(np.arange(len(z)) % 4 == 0, -z, z)  # a quarter turns over, and its mean is 0: a tie
    both = contestant(trial, (z + turned) / 2, "pairwise", turned=turned, settings={"width": 8, "seed": 0})
    again = contestant(trial, z, "again", settings={"width": 8, "seed": 1})
    other = contestant(trial, z, "other", settings={"width": 9, "seed": 1})
    report = evaluate([(trial, [both, again, other])], QUICK)
    named = {one.name: one for one in report.judges}
    assert named["pairwise"].order_flips.value == pytest.approx(0.25, abs=0.01)
    assert named["again"].order_flips is None
    (spread,) = report.seeds
    values = [named[name].pooled.accuracy.value for name in spread.names]
    assert (spread.n, spread.mean, spread.sd) == (2, np.mean(values), pytest.approx(np.std(values, ddof=1)))


def test_leaks_are_told():
    trial, z = planted_trial(prompts=4, criteria=1)
    leaking = contestant(trial, z, "leaky", leaks=Leaks(("p0-1",), (), ()))
    report = evaluate([(trial, [leaking])], QUICK)
    assert report.leaking
    assert report.judges[0].leak.pictures == 1
    assert any(words.startswith("LEAK") for words in report.warnings)
    unguarded = replace(leaking, leaks=None, guarded=False)
    assert evaluate([(trial, [unguarded])], QUICK).leaking
