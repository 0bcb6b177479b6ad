"""A judge's ticks against people's: by hand, by definition, by other tools, by property, by recovery, edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog
from scipy.stats import binom
from sklearn.metrics import accuracy_score, balanced_accuracy_score, cohen_kappa_score, recall_score
from statsmodels.stats.inter_rater import fleiss_kappa

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats import (
    NO,
    TICK_ODDS,
    UNREAD_TICK,
    YES,
    Estimate,
    leak_warnings,
    tick_accuracy,
    tick_ceilings,
    tick_difference,
    tick_identity_gap,
    tick_table,
)

SHARES = ("accuracy", "parsed_only", "balanced", "on_yes", "on_no", "pass_rate", "people_pass", "constant", "unread")


def measured(said, people, prompts=None, criteria=None, of=1, draws=100, seed=0):
    prompts = np.arange(len(said)) if prompts is None else prompts
    table = tick_table(said, people, prompts, criteria, of=of)
    return tick_accuracy(table, draws=draws, rng=np.random.default_rng(seed))


def ceiling(yes, raters, prompts=None, draws=100, seed=0):
    prompts = np.arange(len(yes)) if prompts is None else prompts
    return tick_ceilings(yes, raters, prompts, draws=draws, rng=np.random.default_rng(seed))


def values(found):
    return {name: None if (part := getattr(found, name)) is None else part.value for name in (*SHARES, "kappa", "lean")}


def random_ticks(rng, n=400, prompts=40, u=0.1):
    people = (rng.random(n) < 0.7).astype(int)
    right = rng.random(n) < 0.8
    said = np.where(rng.random(n) < u, UNREAD_TICK, np.where(right, people, 1 - people))
    return said, people, rng.integers(0, prompts, n)


def test_by_hand():
    """Ten ticks: people pass 6 of them. Of those the judge passes 4, fails 1, one is unread; of the other 4 it fails 2,
    passes 1, one is unread. Accuracy 6/10; read 8, so 6/8; on yes 4/5, on no 2/3, balanced 11/15; passes 5/8 and people
    5/8, lean 0; kappa: e = 25/64 + 9/64 = 34/64, (48 - 34)/(64 - 34) = 14/30; always yes 6/10, gain 0; unread 2/10.
    """
    said = [YES] * 4 + [NO, UNREAD_TICK] + [NO] * 2 + [YES, UNREAD_TICK]
    found = measured(said, [YES] * 6 + [NO] * 4).pooled
    assert values(found) == pytest.approx({
        "accuracy": 0.6, "parsed_only": 0.75, "balanced": 11 / 15, "on_yes": 0.8, "on_no": 2 / 3, "pass_rate": 5 / 8,
        "people_pass": 5 / 8, "constant": 0.6, "unread": 0.2, "kappa": 14 / 30, "lean": 0.0})  # fmt: skip
    assert (found.ticks, found.gain.value) == (10, 0)


def test_ceilings_by_hand():
    """Ticks of 3 answers, yes 3, 2, 0, 0: pi = 5/12, q = (6 + 2)/24 = 1/3; two people agree on (3 + 1 + 3 + 3)/12;
    rho = (1/3 - 25/144)/(35/144) = 23/35. A next rater, s = (1 - rho)/rho = 12/23, over R + s = 81/23: says yes with
    (3 + 5/23) / (81/23) = 74/81 and 51/81, no with (3 + 7/23)/(81/23) = 76/81 twice: mean 277/324.
    """
    found = ceiling([3, 2, 0, 0], [3] * 4)
    assert found.two_people.value == pytest.approx(10 / 12)
    assert found.kappa.value == pytest.approx(23 / 35)
    assert found.beta[0] == pytest.approx(277 / 324)
    assert found.next_rater.value == found.next_rater_range[0] > 277 / 324  # no beta law leaves out a single yes


def extremes(yes, raters, of):
    """Least and greatest accuracy over all laws of p that give these counts of yes, by a plain linear programme."""
    p = np.linspace(0, 1, 1001)
    chance = np.array([binom.pmf(k, raters, p) for k in range(raters + 1)])
    follows = chance[np.arange(raters + 1) > raters / 2].sum(axis=0)
    against = chance[np.arange(raters + 1) < raters / 2].sum(axis=0)
    value = p * follows + (1 - p) * against if of == "next_rater" else np.where(p > 0.5, follows, against)
    shares = np.bincount(yes, minlength=raters + 1) / len(yes)
    decided = 1 - (shares[raters // 2] if raters % 2 == 0 else 0)
    ends = [linprog(sign * value, A_eq=chance, b_eq=shares, bounds=(0, None)).fun for sign in (1, -1)]
    return ends[0] / decided, -ends[1] / decided


@pytest.mark.parametrize("raters", [3, 4, 5])
def test_ranges_by_definition(raters):
    p = np.linspace(0, 1, 1001)[np.random.default_rng(raters).choice(1001, 3)]  # a law that the plain grid has too
    chance = np.mean([binom.pmf(np.arange(raters + 1), raters, q) for q in p], axis=0)
    yes = np.repeat(np.arange(raters + 1), np.round(chance * 20_000).astype(int))
    law = 0.6 * np.eye(raters + 1)[0] + 0.4 * np.eye(raters + 1)[raters]  # unanimous ticks keep rounded counts possible
    yes = np.concatenate([yes, np.repeat(np.arange(raters + 1), (20_000 * law).astype(int))])
    found = ceiling(yes, np.full(len(yes), raters), np.arange(len(yes)) % 40)
    for name in ("next_rater", "oracle"):
        span = getattr(found, f"{name}_range")
        assert span == pytest.approx(extremes(yes, raters, name), abs=0.006)
        estimate = getattr(found, name)
        assert estimate.low <= span[0] <= estimate.value <= span[1] <= estimate.high


@pytest.mark.parametrize("points", [(0.7, 0.3), (0.95, 0.5), (0.5, 0.5)])
def test_ranges_hold_the_truth_under_laws_that_are_no_beta(points):
    """Studies of 40 prompts with six ticks: both intervals hold the truth; who knows every p is accused of no leak."""
    rng = np.random.default_rng(9)
    yes_wins = binom.sf(2, 5, points)
    knows = np.mean(np.where(np.array(points) >= 0.5, yes_wins, 1 - yes_wins))
    follows = np.mean(points * yes_wins + (1 - np.array(points)) * (1 - yes_wins))
    prompts = np.repeat(np.arange(40), 6)
    held, accused = np.zeros(2), 0
    for run in range(25):
        p = rng.choice(points, 240)
        yes = rng.binomial(5, p)
        found = ceiling(yes, np.full(240, 5), prompts, draws=400, seed=run)
        for i, (truth, made) in enumerate(((knows, found.oracle), (follows, found.next_rater))):
            held[i] += made.low - 1e-6 <= truth <= made.high + 1e-6
        right = measured((p >= 0.5).astype(int), (yes > 2).astype(int), prompts, draws=400, seed=run)
        accused += len(leak_warnings(right.pooled.accuracy, found.oracle, TICK_ODDS))
    assert held.min() >= 22  # 25 at 95% give fewer than 22 in four of a hundred
    assert accused == 0


def test_a_leak_is_named():
    yes = np.random.default_rng(10).binomial(5, 0.6, 600)
    found = ceiling(yes, np.full(600, 5), np.arange(600) % 60)
    above = found.oracle.high + 0.02
    (words,) = leak_warnings(Estimate(above + 0.02, above, above + 0.03, 60, "prompt"), found.oracle, TICK_ODDS)
    assert "suspect a leak" in words
    assert "the odds of ticks" in words
    assert leak_warnings(Estimate(above, found.oracle.high - 0.01, 1.0, 60, "prompt"), found.oracle, TICK_ODDS) == []


def test_by_definition_prompts_are_drawn_whole():
    """The interval is that of the slow loop over lists of ticks."""
    rng = np.random.default_rng(1)
    said, people, prompts = random_ticks(rng, 120, 12)
    rows = [np.flatnonzero(prompts == p) for p in range(12)]
    slow = []
    for _ in range(4000):
        picked = np.concatenate([rows[p] for p in rng.integers(0, 12, 12)])
        slow.append(np.mean(said[picked] == people[picked]))
    found = measured(said, people, prompts, draws=4000).pooled.accuracy
    # twelve prompts: percentiles of Phi(-+ 2.200985 sqrt(12/11)) = Phi(-+ 2.298848), .01076 and .98924
    assert (found.low, found.high) == pytest.approx(np.quantile(slow, [0.01076, 0.98924]), abs=0.012)
    assert (found.n, found.unit) == (12, "prompt")


def test_macro_is_the_mean_over_criteria():
    rng = np.random.default_rng(2)
    said, people, prompts = random_ticks(rng)
    criteria = rng.integers(0, 3, len(said))
    found = measured(said, people, prompts, criteria, of=4)
    assert found.by_criterion[3] is None
    for name in (*SHARES, "kappa", "lean", "gain"):
        parts = [getattr(part, name).value for part in found.by_criterion[:3]]
        assert getattr(found.macro, name).value == pytest.approx(np.mean(parts))


def test_by_another_tool():
    said, people, _ = random_ticks(np.random.default_rng(3), u=0.0)
    found = values(measured(said, people).pooled)
    assert found["accuracy"] == pytest.approx(accuracy_score(people, said))
    assert found["balanced"] == pytest.approx(balanced_accuracy_score(people, said))
    assert found["kappa"] == pytest.approx(cohen_kappa_score(people, said))
    assert found["on_yes"] == pytest.approx(recall_score(people, said))
    assert found["on_no"] == pytest.approx(recall_score(people, said, pos_label=0))
    yes = np.random.default_rng(4).integers(0, 6, 60)
    assert ceiling(yes, np.full(60, 5)).kappa.value == pytest.approx(fleiss_kappa(np.stack([5 - yes, yes], axis=1)))


@given(
    st.lists(st.tuples(st.sampled_from([NO, YES, UNREAD_TICK]), st.sampled_from([NO, YES])), min_size=1, max_size=30)
)
@settings(max_examples=25)
def test_properties(ticks):
    """The identity; turned answers turn the figures; a tick put right never hurts; all ticks twice change nothing."""
    said, people = (np.array(part) for part in zip(*ticks))
    found = measured(said, people).pooled
    assert tick_identity_gap(found) < 1e-12
    turned = values(measured(np.where(said == UNREAD_TICK, UNREAD_TICK, 1 - said), 1 - people).pooled)
    here = values(found)
    for name, other in {"accuracy": "accuracy", "on_yes": "on_no", "kappa": "kappa", "constant": "constant"}.items():
        assert here[name] == pytest.approx(turned[other])
    assert here["lean"] == pytest.approx(None if turned["lean"] is None else -turned["lean"])
    better = np.where(np.arange(len(said)) == 0, people, said)
    assert measured(better, people).pooled.accuracy.value >= here["accuracy"]
    assert values(measured(np.tile(said, 2), np.tile(people, 2)).pooled) == pytest.approx(here)


def test_a_constant_judge_has_no_eye():
    """Always yes where people pass 90%: accuracy .9 is chance, and every figure but accuracy says so."""
    people = np.array([YES] * 90 + [NO] * 10)
    found = measured(np.full(100, YES), people).pooled
    assert (found.accuracy.value, found.balanced.value, found.kappa.value, found.gain.value) == (0.9, 0.5, 0, 0)
    assert found.lean.value == pytest.approx(0.1)


def test_recovery_of_the_judge_and_of_the_next_rater():
    """p ~ Beta(2, 1), five people, a judge right on 80% of ticks: 95% intervals hold the truth about as often."""
    rng = np.random.default_rng(5)
    held = {"accuracy": 0, "next_rater": 0, "kappa": 0}
    for run in range(60):
        p = rng.beta(2, 1, (40, 6))
        yes = rng.binomial(5, p)
        people = (yes > 2).astype(int).ravel()
        said = np.where(rng.random(240) < 0.8, people, 1 - people)
        prompts = np.repeat(np.arange(40), 6)
        accuracy = measured(said, people, prompts, draws=300, seed=run).pooled.accuracy
        top = ceiling(yes.ravel(), np.full(240, 5), prompts, draws=300, seed=run)
        held["accuracy"] += accuracy.low <= 0.8 <= accuracy.high
        held["next_rater"] += top.next_rater.low <= 5 / 7 <= top.next_rater.high
        held["kappa"] += top.kappa.low <= 0.25 <= top.kappa.high  # 1/(a + b + 1)
    assert min(held.values()) >= 51  # 60 at 95% give fewer than 52 once in a hundred


def test_the_truth_of_that_recovery():
    """One more person against the majority of five, and an oracle, by a million draws from the same law."""
    rng = np.random.default_rng(6)
    p = rng.beta(2, 1, 1_000_000)
    yes = rng.binomial(5, p)
    assert np.mean((rng.random(len(p)) < p) == (yes > 2)) == pytest.approx(5 / 7, abs=0.0015)
    some = ceiling(yes[:50_000], np.full(50_000, 5), np.arange(50_000) % 50)
    assert some.next_rater.value == pytest.approx(5 / 7, abs=0.004)
    assert some.oracle.value == pytest.approx(np.mean((p > 0.5) == (yes > 2)), abs=0.006)


def test_the_difference_of_two_judges_on_the_same_ticks():
    rng = np.random.default_rng(7)
    said, people, prompts = random_ticks(rng)
    other = np.where(rng.random(400) < 0.3, 1 - people, people)
    first, second = (tick_table(one, people, prompts) for one in (said, other))
    found = tick_difference(first, second, draws=200, rng=rng)
    assert found.value == pytest.approx(np.mean(said == people) - np.mean(other == people))
    assert found.low < found.value < found.high
    same = tick_difference(first, first, draws=200, rng=rng)
    assert (same.value, same.low) == (0, None)


def test_edges():
    nothing = measured([UNREAD_TICK] * 3, [YES, NO, YES]).pooled
    assert (nothing.accuracy.value, nothing.parsed_only, nothing.kappa, nothing.unread.value) == (0, None, None, 1)
    perfect = measured([YES] * 8, [YES] * 8).pooled
    assert (perfect.accuracy.value, perfect.balanced, perfect.kappa, perfect.constant.value) == (1, None, None, 1)
    assert perfect.accuracy.low == pytest.approx(0.025 ** (1 / 8))
    parted = measured([YES] * 18 + [NO] * 12, [YES] * 18 + [NO] * 12, np.repeat(np.arange(10), 3)).pooled
    assert (parted.on_yes.low, parted.on_no.low) == pytest.approx((0.025 ** (1 / 6), 0.025 ** (1 / 4)))
    assert parted.balanced.low == parted.on_no.low  # no prompt has both: the four with a no bound it
    assert parted.accuracy.low == pytest.approx(0.025 ** (1 / 10))
    assert (perfect.lean.low, perfect.lean.method) == (None, "no interval: no width in bootstrap of prompts, 100 draws")
    assert measured([YES, NO], [YES, NO], [0, 0]).pooled.accuracy.low is None
    agreed = ceiling([3, 3, 3], [3, 3, 3])
    assert (agreed.two_people.value, agreed.kappa, agreed.next_rater.value) == (1, None, 1)
    assert agreed.oracle.value == pytest.approx(1)
    sizes = ceiling([1, 2, 1], [1, 4, 3])
    assert (sizes.ticks, sizes.tied, sizes.left_out) == (2, 1, 1)
    with pytest.raises(TooFew):
        tick_table([], [], [])
    with pytest.raises(TooFew):
        ceiling([1, 0], [1, 1])
    with pytest.raises(NotIdentified):
        ceiling([1, 2], [2, 4])
    for said, people in (([3], [YES]), ([YES], [UNREAD_TICK]), ([YES, NO], [YES])):
        with pytest.raises(BadValue):
            tick_table(said, people, np.arange(len(said)))
    with pytest.raises(BadValue):
        ceiling([4], [3])
