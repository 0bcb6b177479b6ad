"""Accuracy of judges: by hand, by definition, by property, by recovery, at the edge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from salon.errors import BadValue, TooFew
from salon.stats import (
    AGAINST,
    TIE,
    UNREAD,
    WITH,
    accuracy_difference,
    identity_gap,
    judge_accuracy,
    kind_table,
    match_rate,
    pair_kinds,
    pair_scores,
)
from salon.stats.judge_rates import RIGHT, TIED, TOOK_FIRST, TOOK_SECOND, UNSEEN, WRONG, macro_difference

CODES = (WITH, AGAINST, TIE, UNREAD)
verdict_pairs = st.lists(st.tuples(st.sampled_from(CODES), st.sampled_from(CODES)), min_size=1, max_size=60)


def figures(verdicts, prompts=None, criteria=None, of=1, seed=0, draws=200):
    verdicts = np.asarray(verdicts)
    prompts = np.arange(len(verdicts)) if prompts is None else prompts
    table = kind_table(verdicts, prompts, criteria, of=of)
    return judge_accuracy(table, draws=draws, rng=np.random.default_rng(seed))


def simulated(pairs, c, b, rng, t=0.0, u=0.0):
    """(pairs, 2) verdicts: with chance b it follows a position, else it is right in both orders with chance c."""
    side = np.where(rng.random(pairs) < c, WITH, AGAINST)
    verdicts = np.column_stack([side, side])
    first = rng.random(pairs) < 0.5
    follows = rng.random(pairs) < b
    verdicts[follows & first] = (WITH, AGAINST)
    verdicts[follows & ~first] = (AGAINST, WITH)
    verdicts[rng.random(pairs) < t] = TIE
    verdicts[rng.random(verdicts.shape) < u] = UNREAD
    return verdicts


def test_by_hand():
    """Ten pairs: 4 right, 1 wrong, 2 first, 1 second, 1 tied, 1 unread.

    accuracy (4 + 4/2)/10 = .6; read 9: .6/.9 = 2/3; c = 4/5; b = 3/9; t = 1/9; u = .1; took first 2/3.
    (1 - .1)((1 - 4/9) 4/5 + 4/18) = .9 (4/9 + 2/9) = .6.
    """
    verdicts = [(WITH, WITH)] * 4 + [(AGAINST, AGAINST)] + [(WITH, AGAINST)] * 2
    verdicts += [(AGAINST, WITH), (WITH, TIE), (WITH, UNREAD)]
    one = figures(verdicts).pooled
    found = (
        one.accuracy,
        one.parsed_only,
        one.conditional,
        one.position_bias,
        one.took_first,
        one.tie_rate,
        one.unseen,
    )
    assert [round(f.value, 9) for f in found] == [0.6, *(round(x, 9) for x in (2 / 3, 0.8, 1 / 3, 2 / 3, 1 / 9, 0.1))]
    assert one.pairs == 10


def test_all_sixteen_pairs_of_verdicts():
    """By definition, each combination spelled out."""
    said = {
        (WITH, WITH): RIGHT,
        (AGAINST, AGAINST): WRONG,
        (WITH, AGAINST): TOOK_FIRST,
        (AGAINST, WITH): TOOK_SECOND,
        (TIE, TIE): TIED,
        (TIE, WITH): TIED,
        (TIE, AGAINST): TIED,
        (WITH, TIE): TIED,
        (AGAINST, TIE): TIED,
    }
    every = [(x, y) for x in CODES for y in CODES]
    assert pair_kinds(every).tolist() == [said.get(pair, UNSEEN) for pair in every]


@settings(max_examples=30)
@given(verdict_pairs)
def test_by_definition_and_identity(verdicts):
    """The slow way, pair by pair; the identity holds on any answers, read or not."""
    scores = []
    for first, second in verdicts:
        if UNREAD in (first, second):
            scores.append(0)
        elif first == second != TIE:
            scores.append(1 if first == WITH else 0)
        else:
            scores.append(0.5)
    one = figures(verdicts, draws=100).pooled
    assert one.accuracy.value == pytest.approx(np.mean(scores))
    assert pair_scores(pair_kinds(verdicts)).tolist() == scores
    assert identity_gap(one) < 1e-12


@settings(max_examples=30)
@given(verdict_pairs, st.integers(2, 4))
def test_relabel_swap_and_weight(verdicts, times):
    """The order of pairs and the names of prompts do not matter; all pairs twice change nothing but n; with the two
    orders exchanged only first and second change places."""
    given_, prompts = np.asarray(verdicts), np.arange(len(verdicts)) % 5
    plain = figures(given_, prompts, draws=100).pooled
    shuffled = figures(given_[::-1], 10 - prompts[::-1], draws=100).pooled
    repeated = figures(np.repeat(given_, times, axis=0), np.repeat(prompts, times), draws=100).pooled
    swapped = figures(given_[:, ::-1], prompts, draws=100).pooled
    for other in (shuffled, repeated, swapped):
        for name in ("accuracy", "parsed_only", "conditional", "position_bias", "tie_rate", "unseen"):
            a, b = getattr(plain, name), getattr(other, name)
            assert (a is None and b is None) or a.value == pytest.approx(b.value)
    if plain.took_first is not None:
        assert swapped.took_first.value == pytest.approx(1 - plain.took_first.value)


@settings(max_examples=30)
@given(verdict_pairs)
def test_one_more_right_verdict_never_hurts(verdicts):
    better = [list(pair) for pair in verdicts]
    for pair in better:
        if pair[0] != WITH:
            pair[0] = WITH
            break
    assert figures(better, draws=100).pooled.accuracy.value >= figures(verdicts, draws=100).pooled.accuracy.value


def test_one_order_has_no_position_bias():
    one = figures([WITH, WITH, AGAINST, TIE, UNREAD]).pooled
    assert one.position_bias is None
    assert one.took_first is None
    assert one.accuracy.value == pytest.approx(2.5 / 5)
    assert identity_gap(one) < 1e-12


def test_macro_is_the_mean_of_criteria_and_breaks_the_identity():
    verdicts = [(WITH, WITH)] * 3 + [(WITH, AGAINST)] + [(AGAINST, AGAINST)] + [(AGAINST, WITH)] * 3
    found = figures(verdicts, np.arange(8), [0] * 4 + [2] * 4, of=3)
    assert found.by_criterion[1] is None
    values = [found.by_criterion[k].accuracy.value for k in (0, 2)]
    assert values == [3.5 / 4, 1.5 / 4]
    assert found.macro.accuracy.value == np.mean(values)
    assert identity_gap(found.macro) > 0.05, "b and c vary together over criteria"
    assert max(identity_gap(found.pooled), identity_gap(found.by_criterion[0])) < 1e-12


@pytest.mark.parametrize(("c", "b", "t", "u"), [(0.7, 0.3, 0.1, 0.0), (0.55, 0.8, 0.0, 0.05)])
def test_recovery_and_coverage(c, b, t, u):
    """200 judges of 300 pairs in 50 prompts that share an ease: 95% intervals hold the planted figures."""
    rng = np.random.default_rng(7)
    held = np.zeros(3)
    for _ in range(200):
        prompts = np.repeat(np.arange(50), 6)
        found = figures(simulated(300, c, b, rng, t, u), prompts, seed=rng.integers(2**31), draws=300).pooled
        aim = (c, b * (1 - t), t)
        for i, figure in enumerate((found.conditional, found.position_bias, found.tie_rate)):
            held[i] += figure.low <= aim[i] <= figure.high if aim[i] else figure.low == 0
    assert (held / 200 > 0.90).all(), held / 200


def test_intervals_know_that_pairs_of_a_prompt_go_together():
    """Six equal verdicts per prompt are one piece of evidence: the interval of 40 prompts, not of 240 pairs."""
    side = np.where(np.random.default_rng(0).random(40) < 0.6, WITH, AGAINST)
    alone = figures(np.column_stack([side, side]), draws=2000).pooled.accuracy
    six = figures(np.repeat(np.column_stack([side, side]), 6, axis=0), np.repeat(np.arange(40), 6), draws=2000)
    width = six.pooled.accuracy.high - six.pooled.accuracy.low
    assert width == pytest.approx(alone.high - alone.low, rel=0.1)


def test_difference_of_two_judges_is_paired():
    """Judges alike but for 10 of 200 prompts: the difference is far surer than either accuracy."""
    rng = np.random.default_rng(1)
    one = simulated(200, 0.6, 0.0, rng)
    other = one.copy()
    other[:10] = AGAINST
    one[:10] = WITH
    tables = [kind_table(v, np.arange(200)) for v in (one, other)]
    found = accuracy_difference(*tables, draws=1000, rng=rng)
    assert found.value == pytest.approx(0.05)
    assert 0.02 < found.low < 0.05 < found.high < 0.09
    same = accuracy_difference(tables[0], tables[0], draws=200, rng=rng)
    assert (same.value, same.low, same.high) == (0, None, None)  # never differing is no proof of being alike


def test_difference_is_over_the_criteria_that_both_judges_met():
    """Alike on criterion 0; the first alone met criterion 1 and was wrong: that is no difference between them."""
    prompts, criteria = np.tile(np.arange(6), 2), np.repeat([0, 1], 6)
    both = kind_table([(WITH, WITH)] * 6 + [(AGAINST, AGAINST)] * 6, prompts, criteria, of=2)
    one = kind_table([(WITH, WITH)] * 6, np.arange(6), np.zeros(6, int), of=2)
    assert accuracy_difference(both, one, draws=100, rng=np.random.default_rng(0)).value == 0


def test_against_another_tool():
    """Percentile bootstrap of independent pairs: scipy's, on asymmetric data."""
    from scipy.stats import bootstrap

    hits = np.repeat([1.0, 0.0], [90, 30])
    ours = match_rate(hits, np.arange(120), draws=4000, rng=np.random.default_rng(0))
    theirs = bootstrap((hits,), np.mean, method="percentile", n_resamples=4000, rng=np.random.default_rng(1))
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.012)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.012)


def test_at_the_edge():
    with pytest.raises(TooFew, match="majority"):
        kind_table(np.zeros((0, 2)), [])
    with pytest.raises(BadValue, match="WITH"):
        pair_kinds([(1, 3)])
    with pytest.raises(BadValue, match="shape"):
        pair_kinds(np.zeros((2, 3)))
    with pytest.raises(BadValue, match="one prompt"):
        kind_table([(1, 1)], [0, 1])
    with pytest.raises(TooFew):
        match_rate([], [], draws=100, rng=np.random.default_rng(0))
    with pytest.raises(BadValue, match="same prompts"):
        accuracy_difference(kind_table([(1, 1)], [0]), kind_table([(1, 1)] * 2, [0, 1]), draws=100, rng=None)


def test_nothing_read_nothing_claimed():
    one = figures([(UNREAD, WITH)] * 3).pooled
    assert one.accuracy.value == 0
    assert (one.parsed_only, one.conditional, one.position_bias, one.tie_rate) == (None,) * 4
    assert identity_gap(one) == 0


def test_a_rate_of_none_is_not_sure():
    """No tie on 20 pairs: up to 1 - .025^(1/20) = .168 is not excluded."""
    one = figures([(WITH, WITH)] * 20).pooled
    assert (one.tie_rate.low, one.tie_rate.high) == (0, pytest.approx(1 - 0.025 ** (1 / 20)))
    assert (one.accuracy.low, one.accuracy.high) == (pytest.approx(0.025 ** (1 / 20)), 1)


def test_the_bound_counts_the_prompts_that_a_share_rests_on():
    """Six pairs a prompt are no six prompts; a mean over criteria is no surer than the criterion with the fewest."""
    prompts = np.repeat(np.arange(10), 6)
    found = figures([(WITH, WITH)] * 60, prompts).pooled
    assert (found.accuracy.low, found.accuracy.method) == (
        pytest.approx(0.025 ** (1 / 10)), "exact bound for 10 prompts alike"
    )  # fmt: skip
    rows = [(WITH, WITH)] * 60 + [(WITH, AGAINST)] * 6  # took_first rests on prompts 8 and 9 alone
    table = kind_table(rows, [*prompts, *[8] * 3, *[9] * 3])
    took = judge_accuracy(table, draws=2000, rng=np.random.default_rng(0)).pooled.took_first
    assert (took.value, took.low) == (1, None)  # too many draws miss both
    criteria = np.repeat([0, 1], [54, 6])
    both = judge_accuracy(
        kind_table([(WITH, WITH)] * 60, prompts, criteria, of=2), draws=200, rng=np.random.default_rng(0)
    )
    assert both.macro.accuracy.low is None
    assert both.macro.unseen.high is None


def test_one_prompt_has_no_interval():
    one = figures([(WITH, WITH), (WITH, AGAINST)], [3, 3]).pooled
    assert (one.accuracy.value, one.accuracy.low, one.accuracy.high) == (0.75, None, None)


def test_a_criterion_counts_its_own_prompts():
    """Nine criteria on prompts of their own: each rests on 8 prompts, not on all 72, and their mean on all."""
    prompts = np.repeat(np.arange(72), 6)
    criteria = prompts // 8
    verdicts = np.random.default_rng(0).choice([1, -1], size=(len(prompts), 2))
    found = judge_accuracy(
        kind_table(verdicts, prompts, criteria, of=9), draws=200, rng=np.random.default_rng(1), level=0.95
    )
    assert {part.accuracy.n for part in found.by_criterion} == {8}
    assert found.pooled.accuracy.n == found.macro.accuracy.n == 72


def test_prompts_without_an_answer_do_not_count():
    """A difference rests on prompts that one of the two answered."""
    first = np.zeros((10, 1, 6), np.int64)
    first[:4, 0, 0] = 3
    second = np.zeros_like(first)
    second[:4, 0, 1] = 3
    made = macro_difference(
        lambda t: t[:, 0] / t.sum(axis=1), first, second, draws=200, rng=np.random.default_rng(0), level=0.95
    )
    assert made.n == 4
