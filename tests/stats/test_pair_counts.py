"""Comparisons as counts (stats/comparisons.py)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from salon.errors import BadValue, TooFew
from salon.stats import PairCounts, count_pairs
from salon.stats.comparisons import _by_sorting, _by_table, check_comparisons


def drawn(items: int, comparisons: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, items, comparisons)
    b = (a + rng.integers(1, items, comparisons)) % items
    return a, b, rng.integers(0, 3, comparisons)


def rows(counts: PairCounts) -> list[tuple[float, ...]]:
    return list(zip(counts.i, counts.j, counts.wins, counts.losses, counts.ties))


# ------------------------------------------------------------------------------------------- by hand
def test_four_comparisons_by_hand():
    # 2 beats 0; 0 loses to 2; 0 ties 1; 1 beats 2. Seen from the lower item: (0,2) lost twice.
    counts = count_pairs([2, 0, 1, 1], [0, 2, 0, 2], [0, 1, 2, 0], 3)
    assert rows(counts) == [(0, 1, 0, 0, 1), (0, 2, 0, 2, 0), (1, 2, 1, 0, 0)]
    assert counts.comparisons == 4


# ------------------------------------------------------------------------------------- by definition
@settings(max_examples=60)
@given(st.integers(2, 30), st.integers(1, 300), st.booleans(), st.integers(0, 2**31))
def test_both_ways_equal_a_plain_loop(items, comparisons, weighted, seed):
    a, b, outcome = drawn(items, comparisons, seed)
    weight = np.random.default_rng(seed).integers(1, 9, comparisons) / 8 if weighted else None
    table = {}
    for k, (x, y, o) in enumerate(zip(a.tolist(), b.tolist(), outcome.tolist())):
        row = table.setdefault((min(x, y), max(x, y)), [0.0, 0.0, 0.0])
        row[o if x < y or o == 2 else 1 - o] += 1.0 if weight is None else weight[k]
    expected = [(*pair, *table[pair]) for pair in sorted(table)]
    arrays = check_comparisons(a, b, outcome, items, weight)
    for way in (_by_table, _by_sorting):
        assert rows(PairCounts(items, *way(*arrays, items))) == expected
    assert rows(count_pairs(a, b, outcome, items, weight=weight)) == expected


# --------------------------------------------------------------------------------------- by property
@pytest.mark.parametrize("kind", [np.uint16, np.int32])
def test_any_integers_count_alike(kind):
    a, b, outcome = drawn(9, 200, 1)
    assert rows(count_pairs(a.astype(kind), b.astype(kind), outcome.astype(np.int8), 9)) == rows(
        count_pairs(a, b, outcome, 9)
    )


def test_sides_do_not_matter():
    a, b, outcome = drawn(9, 200, 2)
    turned = np.array([1, 0, 2])[outcome]
    assert rows(count_pairs(b, a, turned, 9)) == rows(count_pairs(a, b, outcome, 9))


def test_more_answers_on_one_pair_than_a_packed_count_holds():
    many = 2**21 + 5
    ends = np.zeros(many, np.int8), np.ones(many, np.int8)
    for outcome in range(3):
        counts = count_pairs(*ends, np.full(many, outcome, np.int8), 2)
        assert [counts.wins[0], counts.losses[0], counts.ties[0]][outcome] == counts.comparisons == many


def test_few_comparisons_of_many_items_need_no_table():
    counts = count_pairs([10**9 - 1, 3], [5, 4], [0, 2], 10**9)
    assert rows(counts) == [(3, 4, 0, 0, 1), (5, 10**9 - 1, 0, 1, 0)]


# ---------------------------------------------------------------------------------------- at the edge
@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: count_pairs([], [], [], 3), TooFew, "at least one comparison"),
        (lambda: count_pairs([0], [1], [0], 1), TooFew, "2 items"),
        (lambda: count_pairs([0, 1], [1, 1], [0, 0], 3), BadValue, "with itself"),
        (lambda: count_pairs([0, 3], [1, 1], [0, 0], 3), BadValue, "comparison 1"),
        (lambda: count_pairs([0, -1], [1, 1], [0, 0], 3), BadValue, "0 to 2"),
        (lambda: count_pairs([0, 1], [1, 0], [0, 3], 3), BadValue, "2 \\(tie\\)"),
        (lambda: count_pairs([0, 1], [1, 0], [0, -1], 3), BadValue, "comparison 1"),
        (lambda: count_pairs([0, 1], [1, 0], [0], 3), BadValue, "equally long"),
        (lambda: count_pairs([0.0], [1.0], [0], 3), BadValue, "integers"),
        (lambda: count_pairs([0, 1], [1, 0], [0, 0], 3, weight=[1.0, 0.0]), BadValue, "positive"),
        (lambda: count_pairs([0, 1], [1, 0], [0, 0], 3, weight=[-1.0, 1.0]), BadValue, "comparison 0"),
        (lambda: count_pairs([0, 1], [1, 0], [0, 0], 3, weight=[1.0, np.nan]), BadValue, "positive"),
        (lambda: count_pairs([0, 1], [1, 0], [0, 0], 3, weight=[1.0, np.inf]), BadValue, "positive"),
    ],
)
def test_bad_comparisons_are_named(call, error, word):
    with pytest.raises(error, match=word):
        call()
