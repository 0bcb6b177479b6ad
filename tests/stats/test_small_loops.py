"""Loops that small inputs run by numpy give what their machine code gives."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from salon.stats import comparisons, pair_errors, pair_fit, pair_models
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


def counts_table(weight):
    table = np.zeros((ITEMS * (ITEMS - 1) // 2, 3))
    comparisons._add_weights.plain(A, B, WON, weight, ITEMS, table)
    return table


def derived(code):
    edge, totals = np.empty(len(I)), np.empty((ITEMS + 1, 3))
    pair_fit.derivatives.machine(code, BRIEF if code == LOGISTIC else PAIRS, Q, 1.3, edge, totals)
    return edge, totals


CODES = [code for code in range(len(MODELS)) if code != THURSTONE]
NO_HOLDS = np.empty((0, 2), np.int64)
CALLS = {
    "valid": (comparisons._all_valid, A, B, WON, ITEMS),
    "not valid": (comparisons._all_valid, A, B, WON, ITEMS - 1),
    "counts": (comparisons._add_counts, A, B, WON, ITEMS, np.zeros((ITEMS * (ITEMS - 1) // 2, 3))),
    "weights": (comparisons._add_weights, A, B, WON, WEIGHT, ITEMS, np.zeros((ITEMS * (ITEMS - 1) // 2, 3))),
    "met pairs": (comparisons._met_pairs, counts_table(WEIGHT) * (RNG.random((36, 1)) < 0.5), ITEMS),
    "keys": (comparisons._keys, A, B, WON, ITEMS),
    "runs": (comparisons._runs, np.sort(comparisons._keys.plain(A, B, WON, ITEMS)), NO_WEIGHT, ITEMS),
    "weighed runs": (comparisons._runs, np.sort(comparisons._keys.plain(A, B, WON, ITEMS)), WEIGHT, ITEMS),
    "reach": (comparisons._reach, ITEMS, I, J, WINS, LOSSES, TIES, NO_HOLDS, 12),
    "out of reach": (comparisons._reach, ITEMS, I, J, WINS * (I > 0), LOSSES * (I > 0), 0 * TIES, NO_HOLDS, 12),
    "held": (comparisons._reach, 3, I[:1], J[:1], WINS[:1], LOSSES[:1], TIES[:1], np.array([[0, 1], [1, 2]]), 12),
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
        f"chances of {code}": (pair_models._probabilities, code, 1.3, np.linspace(-40, 40, 99)),
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
