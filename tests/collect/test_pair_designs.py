"""Designs of pairs: by hand, by property, and as good as the paper's."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon.collect.design import balanced_fraction, complete_pairs, next_adaptive_pair
from salon.errors import DesignError, TooFew
from salon.stats.graph import connectivity


@given(items=st.integers(2, 25), share=st.floats(0, 1), seed=st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
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


def test_an_awaited_answer_is_half_the_news() -> None:
    nothing = [[0, 0, 0]] * 3
    assert adaptive(nothing, [0, 1, 1], [True] * 3) == 0
    assert adaptive(nothing, [1, 0, 1], [True] * 3) == 1
