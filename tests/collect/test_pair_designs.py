"""Designs of pairs: by hand, by property, and as good as the paper's."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import expit
from scipy.stats import spearmanr
from studios import Walker, left, studio, study

from salon.collect.design import balanced_fraction, complete_pairs, next_adaptive_pair
from salon.collect.plan import make_plan
from salon.collect.tallies import CountedTallies
from salon.errors import DesignError, TooFew
from salon.stats import PairCounts, connectivity, pair_posterior


@given(items=st.integers(2, 25), share=st.floats(0, 1), seed=st.integers(0, 2**32))
@settings(max_examples=150)
def test_a_fraction_is_connected_and_balanced(items: int, share: float, seed: int) -> None:
    least, most = items - 1, items * (items - 1) // 2
    pairs = round(least + share * (most - least))
    found = balanced_fraction(items, pairs, rng=np.random.default_rng(seed))
    assert len(set(found)) == len(found) == pairs
    assert all(0 <= a < b < items for a, b in found)
    degree = Counter(item for pair in found for item in pair)
    assert max(degree.values()) - min(degree[item] for item in range(items)) <= 1
    assert connectivity(items, found, paths=False).connected


@pytest.mark.parametrize("seed", range(20))
def test_612_pairs_of_50_items_are_as_in_the_paper(seed: int) -> None:
    found = connectivity(50, balanced_fraction(50, 612, rng=np.random.default_rng(seed)))
    assert (found.edges, found.degree_min, found.degree_max, found.diameter) == (612, 24, 25, 2)
    assert found.mean_path == pytest.approx(2 - 612 / 1225)


def test_every_pair_is_as_likely_as_any_other() -> None:
    """8 items, 14 of 28 pairs: over 400 designs each pair stands in 200 of them, give or take 10 (one sd)."""
    rng = np.random.default_rng(0)
    seen = Counter(pair for _ in range(400) for pair in balanced_fraction(8, 14, rng=rng))
    assert len(seen) == 28
    assert max(abs(n - 200) for n in seen.values()) < 5 * 10


@pytest.mark.parametrize(("items", "pairs"), [(5, 3), (5, 11)])
def test_too_few_or_too_many_pairs_are_refused(items: int, pairs: int) -> None:
    with pytest.raises(DesignError):
        balanced_fraction(items, pairs, rng=np.random.default_rng(0))
    with pytest.raises(TooFew):
        balanced_fraction(1, 0, rng=np.random.default_rng(0))


def adaptive(votes: list[list[float]], awaited: list[int], allowed: list[bool]) -> int | None:
    pairs = np.array(complete_pairs(3))  # 01 02 12
    return next_adaptive_pair(
        3, pairs, np.array(votes, float), np.array(awaited), np.array(allowed), rng=np.random.default_rng(0)
    )


def test_the_adaptive_pair_is_the_one_still_in_doubt() -> None:
    """0 beat 1 and 2 nine times each; 1 and 2 never met: their order is what is not known."""
    decided = [[9, 0, 0], [9, 0, 0], [0, 0, 0]]
    assert adaptive(decided, [0, 0, 0], [True] * 3) == 2
    assert adaptive(decided, [0, 0, 0], [True, True, False]) in (0, 1)
    assert adaptive(decided, [0, 0, 0], [False] * 3) is None


def test_an_awaited_answer_counts_as_given() -> None:
    nothing = [[0, 0, 0]] * 3
    assert adaptive(nothing, [0, 1, 1], [True] * 3) == 0
    assert adaptive(nothing, [1, 0, 1], [True] * 3) == 1


def test_a_rater_is_asked_about_items_they_know_less() -> None:
    """Nothing is known yet, but this rater answered two questions about items 0 and 1 more than the others."""
    nothing, nobody, rng = np.zeros((6, 3)), np.zeros(6, np.int64), np.random.default_rng(0)
    pairs, surplus = np.array(complete_pairs(4)), np.array([2.0, 2.0, -2.0, -2.0])
    chosen = next_adaptive_pair(4, pairs, nothing, nobody, np.ones(6, bool), surplus=surplus, rng=rng)
    assert pairs[chosen].tolist() == [2, 3]


def test_pairs_may_stand_in_any_order_and_either_way_round() -> None:
    """As in a studio whose items are numbered otherwise than its pairs."""
    rng = np.random.default_rng(0)
    pairs, votes = np.array(complete_pairs(6)), rng.integers(0, 3, (15, 3)).astype(float)
    nobody, everything = np.zeros(15, np.int64), np.ones(15, bool)
    straight = next_adaptive_pair(6, pairs, votes, nobody, everything, rng=rng)
    order, turned = rng.permutation(15), rng.random(15) < 0.5
    mixed = np.where(turned[:, None], pairs[:, ::-1], pairs)[order]
    counted = np.where(turned[:, None], votes[:, [1, 0, 2]], votes)[order]
    assert order[next_adaptive_pair(6, mixed, counted, nobody, everything, rng=rng)] == straight


def test_adaptive_pairs_find_the_order_sooner_than_balanced_ones() -> None:
    """12 items 1.5 logits apart, 33 answers: half of all pairs once, or the most telling pairs, over 8 studies."""
    rng, pairs, won = np.random.default_rng(5), np.array(complete_pairs(12)), {True: 0.0, False: 0.0}
    for _ in range(8):
        truth = rng.permutation(12) * 1.5
        chance = expit(truth[pairs[:, 0]] - truth[pairs[:, 1]])
        balanced = set(balanced_fraction(12, 33, rng=rng))
        for chosen in (True, False):
            votes, nobody = np.zeros((66, 3)), np.zeros(66, np.int64)
            for k in range(33) if chosen else [k for k, pair in enumerate(pairs) if tuple(pair) in balanced]:
                pair = next_adaptive_pair(12, pairs, votes, nobody, np.ones(66, bool), rng=rng) if chosen else k
                votes[pair, int(rng.random() > chance[pair])] += 1
            met = votes.sum(axis=1) > 0
            scores = pair_posterior(PairCounts(12, *pairs[met].T, *votes[met].T)).scores
            won[chosen] += float(spearmanr(scores, truth).statistic) / 8
    assert won[True] > won[False] + 0.01


def test_two_raters_of_an_adaptive_studio_see_a_pair_from_both_sides() -> None:
    """12 items: their ids in the order of the alphabet (p0-0, p0-1, p0-10, ...) are not in the order of the study."""
    phase = {"design": {"kind": "adaptive", "fraction": 1.0}, "stop": {"kind": "fixed", "raters_each": 2}}
    plan, tallies = make_plan(study(1, 12), studio(phase, raters=2)), CountedTallies()
    walkers = [Walker(plan, f"r{n}", n, tallies) for n in range(2)]
    for _ in range(66):  # one screen each, in turn
        for walker in walkers:
            walker.step(left)
    first, second = ({shown.question.key: shown.order for shown in walker.shown} for walker in walkers)
    assert len(first) == len(second) == 66
    assert all(first[key] == second[key][::-1] for key in first)
