"""Comparisons as counts: how often each pair of items met, and how it ended.

Every model of comparisons here depends on the data only through, for each pair i < j, the number of answers
that preferred i, that preferred j, and that called a tie. Ten million comparisons of a thousand items become at
most 499,500 rows, so everything after this one pass costs the same for any number of raters.

Outcome codes: 0 = a is better, 1 = b is better, 2 = tie. A weight w counts an answer as w equal answers.

Two ways to the same rows: a table with one place per pair where items are few (one pass, random access in a
table that fits a cache), sorted keys where they are many (at most 24 bytes of working memory per comparison).
Unweighted counts are integers and exact; weighted ones are sums in the order of the comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TABLE_PAIRS = 5_000_000  # about 3,160 items: 160 MB of tables
_BLOCK = 4096
_BITS = 21  # three counts share 64 bits; they are emptied before any can overflow
_FULL = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class PairCounts:
    """One row for each pair of items that met: i < j, sorted by (i, j), each pair once."""

    items: int
    i: Ints
    j: Ints
    wins: Floats
    """Answers (or their weight) that preferred i."""
    losses: Floats
    """Answers that preferred j."""
    ties: Floats

    def __post_init__(self) -> None:
        """Every array in one piece: for another layout all that is compiled for counts would be compiled once more."""
        for name in ("i", "j", "wins", "losses", "ties"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))

    @property
    def comparisons(self) -> float:
        """All answers, or their weight."""
        return float(self.wins.sum() + self.losses.sum() + self.ties.sum())


def count_pairs(
    a: ArrayLike, b: ArrayLike, outcome: ArrayLike, items: int, *, weight: ArrayLike | None = None
) -> PairCounts:
    """Counts of the comparisons of items `a` with items `b`; outcome 0 (a), 1 (b) or 2 (tie)."""
    arrays = checked_comparisons(a, b, outcome, items, weight)
    pairs = items * (items - 1) // 2
    count = _by_table if pairs <= min(_TABLE_PAIRS, 4 * len(arrays[0])) else _by_sorting
    return PairCounts(items, *count(*arrays, items))


def checked_comparisons(
    a: ArrayLike, b: ArrayLike, outcome: ArrayLike, items: int, weight: ArrayLike | None = None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Floats]:
    """a, b, outcome as they came (no copies of integer arrays) and the weights, empty when there are none."""
    first, second, won = (_integers(x, name) for x, name in ((a, "a"), (b, "b"), (outcome, "outcome")))
    heavy = np.empty(0) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    if items < 2:
        raise TooFew("comparisons need at least 2 items", found=items)
    shapes = [x.shape for x in (first, second, won)] + ([] if weight is None else [heavy.shape])
    if len(set(shapes)) > 1 or first.ndim != 1:
        raise BadValue("a, b, outcome and weight must be equally long", found=", ".join(map(str, shapes)))
    if not len(first):
        raise TooFew("at least one comparison is needed", found="none")
    if not _all_fine(first, second, won, items):
        raise _explained(first, second, won, items)
    wrong = ~((heavy > 0) & (heavy < np.inf))
    if wrong.any():
        k = int(np.argmax(wrong))
        raise BadValue("a weight must be a positive number", found=heavy[k], where=f"comparison {k}")
    return first, second, won, heavy


def _integers(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.ascontiguousarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise BadValue(f"{name} must hold integers", found=f"{array.dtype}")
    return array if array.size else array.astype(np.int64)


@compiled
def _all_fine(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int) -> bool:
    fine = True
    for k in range(len(a)):
        x, y, o = a[k], b[k], outcome[k]
        fine &= (x >= 0) & (y >= 0) & (x < items) & (y < items) & (x != y) & (o >= 0) & (o <= 2)
    return fine


def _explained(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int) -> BadValue:
    """The error that names the first comparison that is not fine."""
    outside = (a < 0) | (b < 0) | (a >= items) | (b >= items)
    k = int(np.argmax(outside | (a == b) | (outcome < 0) | (outcome > 2)))
    where = f"comparison {k}"
    if outside[k]:
        return BadValue(f"items are numbered 0 to {items - 1}", found=f"{a[k]} and {b[k]}", where=where)
    if a[k] == b[k]:
        return BadValue("an item cannot be compared with itself", found=a[k], where=where)
    return BadValue("an outcome is 0 (a is better), 1 (b is better) or 2 (tie)", found=outcome[k], where=where)


@compiled
def _seen(a: Any, b: Any, outcome: Any) -> Any:
    """The outcome seen from the lower item: 0 and 1 change places when that is b."""
    return outcome ^ ((b < a) & (outcome < 2))


# ---------------------------------------------------------------------------------------------- few items: a table
def _by_table(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats, items: int
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    table = np.zeros((items * (items - 1) // 2, 3))
    if len(weight):
        _add_weights(a, b, outcome, weight, items, table)
    else:
        for start in range(0, len(a), _FULL):
            part = slice(start, start + _FULL)
            _add_counts(a[part], b[part], outcome[part], items, table)
    rows: tuple[Ints, Ints, Floats, Floats, Floats] = _met(table, items)
    return rows


@compiled
def _place(low: Any, high: Any, items: int) -> Any:
    """Place of the pair low < high among all pairs sorted by (low, high)."""
    return low * (2 * items - low - 3) // 2 + high - 1


@compiled
def _add_counts(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int, table: Floats) -> None:
    """At most _FULL comparisons: the small packed table stays in the cache, and blocks keep its accesses apart."""
    packed = np.zeros(len(table), np.uint64)
    places, ones = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint64)
    for start in range(0, len(a), _BLOCK):
        size = min(_BLOCK, len(a) - start)
        for k in range(size):
            x, y = np.int64(a[start + k]), np.int64(b[start + k])
            places[k] = _place(min(x, y), max(x, y), items)
            ones[k] = np.uint64(1) << np.uint64(_BITS * _seen(x, y, np.int64(outcome[start + k])))
        for k in range(size):
            packed[places[k]] += ones[k]
    for row in range(len(table)):
        table[row, 0] += packed[row] & np.uint64(_FULL)
        table[row, 1] += (packed[row] >> np.uint64(_BITS)) & np.uint64(_FULL)
        table[row, 2] += packed[row] >> np.uint64(2 * _BITS)


@compiled
def _add_weights(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats, items: int, table: Floats
) -> None:
    for k in range(len(a)):
        x, y = np.int64(a[k]), np.int64(b[k])
        table[_place(min(x, y), max(x, y), items), _seen(x, y, np.int64(outcome[k]))] += weight[k]


@compiled
def _met(table: Floats, items: int) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """The rows of the table that hold anything."""
    rows = 0
    for k in range(len(table)):
        rows += table[k, 0] + table[k, 1] + table[k, 2] > 0
    i, j = np.empty(rows, np.int64), np.empty(rows, np.int64)
    wins, losses, ties = np.empty(rows), np.empty(rows), np.empty(rows)
    k, row = 0, 0
    for low in range(items - 1):
        for high in range(low + 1, items):
            if table[k, 0] + table[k, 1] + table[k, 2] > 0:
                i[row], j[row] = low, high
                wins[row], losses[row], ties[row] = table[k, 0], table[k, 1], table[k, 2]
                row += 1
            k += 1
    return i, j, wins, losses, ties


# -------------------------------------------------------------------------------------------- many items: sorted keys
def _by_sorting(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats, items: int
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    keys = _keys(a, b, outcome, items)
    if len(weight):
        order = np.argsort(keys, kind="stable")
        keys, weight = keys[order], weight[order]
    else:
        keys.sort()
    rows: tuple[Ints, Ints, Floats, Floats, Floats] = _runs(keys, weight, items)
    return rows


@compiled
def _keys(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int) -> Ints:
    """(lower item, higher item, outcome seen from the lower) packed into one sortable integer each."""
    keys = np.empty(len(a), np.int64)
    for k in range(len(a)):
        x, y = np.int64(a[k]), np.int64(b[k])
        keys[k] = (min(x, y) * items + max(x, y)) * 4 + _seen(x, y, np.int64(outcome[k]))
    return keys


@compiled
def _runs(keys: Ints, weight: Floats, items: int) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Sums over equal pairs in sorted keys."""
    rows = 1
    for k in range(1, len(keys)):
        rows += keys[k] >> 2 != keys[k - 1] >> 2
    i, j = np.empty(rows, np.int64), np.empty(rows, np.int64)
    wins, losses, ties = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    row = -1
    for k in range(len(keys)):
        pair, seen = keys[k] >> 2, keys[k] & 3
        if k == 0 or pair != keys[k - 1] >> 2:
            row += 1
            i[row], j[row] = pair // items, pair % items
        w = weight[k] if len(weight) else 1.0
        if seen == 0:
            wins[row] += w
        elif seen == 1:
            losses[row] += w
        else:
            ties[row] += w
    return i, j, wins, losses, ties
