"""Loops that small inputs run by numpy give what their machine code gives."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from salon.stats import PairCounts, comparison_graph, comparisons, pair_errors, pair_fit, pair_models, residuals
from salon.stats.jit import Loop, compiled_above
from salon.stats.pair_models import LOGISTIC, MODELS, THURSTONE

RNG = np.random.default_rng(5)
ITEMS, VOTES = 9, 400
A = RNG.integers(0, ITEMS, VOTES)
B = (A + RNG.integers(1, ITEMS, VOTES)) % ITEMS
WON = RNG.integers(0, 3, VOTES)
WEIGHT = RNG.uniform(0.5, 2, VOTES)
NO_WEIGHT = np.empty(0)
Q = RNG.normal(size=ITEMS)
CLUSTER = RNG.integers(0, 30, VOTES)
I, J, WINS, LOSSES, TIES = comparisons._by_table(A, B, WON, NO_WEIGHT, ITEMS)
PAIRS = pair_models.row_starts(I, ITEMS), J, WINS, LOSSES, TIES
EACH = WINS + LOSSES + TIES
POINTS = np.bincount(I, WINS + TIES / 2, ITEMS) + np.bincount(J, LOSSES + TIES / 2, ITEMS)
BRIEF = *PAIRS[:2], EACH, POINTS, POINTS
RIDGE, GOAL = np.full(ITEMS, 0.1), RNG.normal(size=ITEMS) / 10
SCALE = np.append(np.bincount(I, EACH, ITEMS) + np.bincount(J, EACH, ITEMS), VOTES)


def derived(code):
    edge, totals = np.empty(len(I)), np.empty((ITEMS + 1, 3))
    pair_fit.derivatives.machine(code, BRIEF if code == LOGISTIC else PAIRS, Q, 1.3, edge, totals)
    return edge, totals


def on_pairs():
    """Pair and outcome of each vote, and what the residuals of raters need of each pair."""
    rows = comparisons.pair_rows(PairCounts(ITEMS, I, J, WINS, LOSSES, TIES), A, B)
    win = 0.9 / (1 + np.exp(Q[J] - Q[I]))
    win[::5] = 0.45
    return (
        rows,
        np.where((B < A) & (WON < 2), 1 - WON, WON),
        residuals._pair_facts(np.stack([win, 0 * win + 0.1, 0.9 - win])),
    )


CODES = [code for code in range(len(MODELS)) if code != THURSTONE]
NO_HOLDS = np.empty((0, 2), np.int64)
CALLS = {
    "valid": (comparisons._all_valid, A, B, WON, ITEMS),
    "not valid": (comparisons._all_valid, A, B, WON, ITEMS - 1),
    "counts": (comparisons._add_counts, A, B, WON, ITEMS, np.zeros((ITEMS * (ITEMS - 1) // 2, 3))),
    "weights": (comparisons._add_weights, A, B, WON, WEIGHT, ITEMS, np.zeros((ITEMS * (ITEMS - 1) // 2, 3))),
    "keys": (comparisons._fill_keys, A, B, WON, ITEMS, np.empty(VOTES, np.int64)),
    "pair rows": (comparisons._fill_pair_rows, I, J, A, B, ITEMS, np.empty(VOTES, np.int64)),
    "within two": (comparison_graph._within_two, PAIRS[0], J, ITEMS),
    "not within two": (comparison_graph._within_two, np.array([0, 1, 2, 3, 3]), np.array([1, 2, 3]), 4),
    "raters": (residuals._rater_totals, CLUSTER, *on_pairs(), 30),
    "reach": (comparison_graph._reach, ITEMS, I, J, WINS, LOSSES, TIES, NO_HOLDS, 12),
    "out of reach": (comparison_graph._reach, ITEMS, I, J, WINS * (I > 0), LOSSES * (I > 0), 0 * TIES, NO_HOLDS, 12),
    "held": (comparison_graph._reach, 3, I[:1], J[:1], WINS[:1], LOSSES[:1], TIES[:1], np.array([[0, 1], [1, 2]]), 12),
    "answers": (pair_fit._add_answers, PAIRS, np.empty(len(I)), np.zeros(ITEMS), np.zeros(ITEMS)),
    "fill": (pair_models._fill, I, J, EACH, np.zeros((ITEMS + 1, ITEMS + 1))),
    "clusters": (pair_errors._count_clusters, RNG.normal(size=(20, ITEMS)) * (RNG.random((20, 1)) < 0.5), abs(Q)),
    "adding": (pair_errors._add, A, B, CLUSTER, WEIGHT, WEIGHT, ITEMS, np.zeros((30, ITEMS + 1))),
    "climbing": (pair_fit.climb, 1, PAIRS, RIDGE, GOAL, SCALE, Q, 1.3, 1e-9, 50, True, True),
    "climbing loosely": (pair_fit.climb, 1, PAIRS, RIDGE, GOAL, SCALE, Q, 1.3, 1e-9, 50, False, True),
    "climbing freely": (pair_fit.climb, LOGISTIC, BRIEF, 0 * RIDGE, 0 * GOAL, SCALE, Q, 1.0, 1e-9, 50, True, True),
}  # fmt: skip
for code in (*CODES, LOGISTIC):
    pairs, edge, totals = BRIEF if code == LOGISTIC else PAIRS, *derived(code)
    room = np.empty(len(I)), np.empty((ITEMS + 1, 3))
    CALLS |= {
        f"derivatives of {code}": (pair_fit.derivatives, code, pairs, Q, 1.3, *room),
        f"step of {code}": (pair_fit._eliminate, pairs, edge, totals, RIDGE, np.append(Q, 0.1)),
        f"free step of {code}": (pair_fit._eliminate, pairs, edge, totals, 0 * RIDGE, np.append(Q - Q.mean(), 0.1)),
        f"product of {code}": (
            pair_models._multiply, *pairs[:2], edge, totals, RIDGE, np.append(Q, 0.1), np.empty(ITEMS + 1)
        ),
        f"bend of {code}": (pair_fit._largest_bend, code, pairs, Q, 1.3, 5 * np.append(Q, 0.1)),
    }  # fmt: skip
for code in CODES:
    room = np.empty(len(I)), np.zeros(ITEMS), np.zeros(ITEMS)
    CALLS |= {
        f"likelihood of {code}": (pair_models._log_likelihood, code, 1.3, Q, I, J, WINS, LOSSES, TIES),
        f"far likelihood of {code}": (pair_models._log_likelihood, code, 1.3, 50 * Q, I, J, WINS, LOSSES, TIES),
        f"squares of {code}": (pair_errors._add_squares, code, 1.3, Q, I, J, WINS, LOSSES, TIES, *room),
        f"slopes of {code}": (pair_errors._answer_slopes, code, 1.3, Q, A, B, WON, WEIGHT),
    }


@pytest.mark.parametrize("name", CALLS)
def test_numpy_and_machine_code_agree(name: str) -> None:
    loop, *values = CALLS[name]
    by_numpy, by_machine = deepcopy(values), deepcopy(values)
    assert_same(loop.plain(*by_numpy), loop.machine(*by_machine))
    assert_same(by_numpy, by_machine)  # what was filled in place


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("weight", [NO_WEIGHT, WEIGHT])
def test_large_inputs_are_counted_like_small_ones(weight, many, monkeypatch) -> None:
    """By a table and by sorting."""
    count = comparisons._by_sorting if many else comparisons._by_table
    small = count(A, B, WON, weight, ITEMS)
    monkeypatch.setattr(comparisons, "_FEW", 0)
    assert_same(small, count(A, B, WON, weight, ITEMS))


def test_rows_of_pairs_are_found_by_bisection_where_no_table_fits(monkeypatch) -> None:
    counts = PairCounts(ITEMS, I, J, WINS, LOSSES, TIES)
    rows = comparisons.pair_rows(counts, A, B)
    assert np.array_equal(I[rows], np.minimum(A, B))
    assert np.array_equal(J[rows], np.maximum(A, B))
    found = np.empty(VOTES, np.int64)
    monkeypatch.setattr(comparisons, "_TABLE_PAIRS", 0)
    comparisons._fill_pair_rows.loop(I, J, A, B, ITEMS, found)
    assert np.array_equal(found, rows)


def assert_same(one, other) -> None:
    if isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for x, y in zip(one, other):
            assert_same(x, y)
    elif one is not None or other is not None:
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_bradley_terry_on_counts_is_bradley_terry_on_answers() -> None:
    for spread in (1.0, 300.0):
        rooms = [(np.empty(len(I)), np.empty((ITEMS + 1, 3))) for _ in range(2)]
        pair_fit.derivatives.machine(0, PAIRS, spread * Q, 1.0, *rooms[0])
        pair_fit.derivatives.machine(LOGISTIC, BRIEF, spread * Q, 1.0, *rooms[1])
        assert_same(rooms[0], rooms[1])


def test_a_loop_is_compiled_once_its_inputs_add_up() -> None:
    loop: Loop = compiled_above(1_000, lambda x: -1)(_one)
    assert [loop(np.zeros(300)), loop(np.zeros(300))] == [-1, -1]
    assert [loop(np.zeros(300)), loop(np.zeros(1))] == [1, 1]
    assert compiled_above(1_000, lambda x: -1)(_one)(np.zeros(1_000)) == 1


def _one(x: np.ndarray) -> int:
    return 1
