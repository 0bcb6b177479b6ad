"""Comparisons as counts by pair.

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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.jit import compiled, compiled_above

if TYPE_CHECKING:
    pass

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEW = 200_000  # elements that numpy counts in less time than it takes to load machine code
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
    arrays = check_comparisons(a, b, outcome, items, weight)
    pairs = items * (items - 1) // 2
    count = _by_table if pairs <= min(_TABLE_PAIRS, 4 * len(arrays[0])) else _by_sorting
    return PairCounts(items, *count(*arrays, items))


def check_comparisons(
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
    if not _all_valid(first, second, won, items):
        # the error that names the first comparison that is not fine
        outside = (first < 0) | (second < 0) | (first >= items) | (second >= items)
        k = int(np.argmax(outside | (first == second) | (won < 0) | (won > 2)))
        where = f"comparison {k}"
        if outside[k]:
            raise BadValue(f"items are numbered 0 to {items - 1}", found=f"{first[k]} and {second[k]}", where=where)
        if first[k] == second[k]:
            raise BadValue("an item cannot be compared with itself", found=first[k], where=where)
        raise BadValue("an outcome is 0 (a is better), 1 (b is better) or 2 (tie)", found=won[k], where=where)
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


def _all_valid_arrays(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int) -> bool:
    items_fine = min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) < items and not (a == b).any()
    return bool(items_fine and outcome.min() >= 0 and outcome.max() <= 2)


@compiled_above(_FEW, _all_valid_arrays)
def _all_valid(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int) -> bool:
    fine = True
    for k in range(len(a)):
        x, y, o = a[k], b[k], outcome[k]
        fine &= (x >= 0) & (y >= 0) & (x < items) & (y < items) & (x != y) & (o >= 0) & (o <= 2)
    return fine


@compiled
def _outcome_from_lower(a: Any, b: Any, outcome: Any) -> Any:
    """The outcome seen from the lower item: 0 and 1 change places when that is b."""
    return outcome ^ ((b < a) & (outcome < 2))


# ---------------------------------------------------------------------------------------------- few items: a table
def _by_table(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats, items: int
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    pairs = items * (items - 1) // 2
    if len(weight) or len(a) > _FULL or len(a) + pairs < _FEW:
        table = np.zeros((pairs, 3))
        if len(weight):
            _add_weights(a, b, outcome, weight, items, table)
        for start in range(0, 0 if len(weight) else len(a), _FULL):
            part = slice(start, start + _FULL)
            _add_counts(a[part], b[part], outcome[part], items, table)
        met = np.flatnonzero(table.any(axis=1))
        before = np.cumsum(np.arange(items - 1, 0, -1))  # pairs whose lower item is 0, or at most 1, ...
        low = np.repeat(np.arange(items - 1), np.diff(np.searchsorted(met, before), prepend=0))
        wins, losses, ties = table[met].T.copy()
        return low, met - _place.loop(low, 0, items), wins, losses, ties
    packed = np.zeros(pairs, np.uint64)  # one block: no table of numbers, three times as large
    _pack_counts(a, b, outcome, items, packed)
    rows = np.count_nonzero(packed)
    i, j = np.empty(rows, np.int64), np.empty(rows, np.int64)
    wins, losses, ties = np.empty(rows), np.empty(rows), np.empty(rows)
    _unpack_counts(packed, items, i, j, wins, losses, ties)
    return i, j, wins, losses, ties


@compiled
def _place(low: Any, high: Any, items: int) -> Any:
    """Place of the pair low < high among all pairs sorted by (low, high)."""
    return low * (2 * items - low - 3) // 2 + high - 1


def _add_counts_arrays(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int, table: Floats) -> None:
    _add_weights_arrays(a, b, outcome, None, items, table)


@compiled_above(_FEW, _add_counts_arrays)
def _add_counts(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int, table: Floats) -> None:
    """At most _FULL comparisons."""
    packed = np.zeros(len(table), np.uint64)
    _pack_counts(a, b, outcome, items, packed)
    for row in range(len(table)):
        table[row, 0] += packed[row] & np.uint64(_FULL)
        table[row, 1] += (packed[row] >> np.uint64(_BITS)) & np.uint64(_FULL)
        table[row, 2] += packed[row] >> np.uint64(2 * _BITS)


@compiled
def _pack_counts(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int, packed: NDArray[np.uint64]
) -> None:
    """Three counts in each place: a small table stays in the cache, and blocks keep its accesses apart."""
    places, increments = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint64)
    for start in range(0, len(a), _BLOCK):
        size = min(_BLOCK, len(a) - start)
        for k in range(size):
            x, y = np.int64(a[start + k]), np.int64(b[start + k])
            places[k] = _place(min(x, y), max(x, y), items)
            increments[k] = np.uint64(1) << np.uint64(_BITS * _outcome_from_lower(x, y, np.int64(outcome[start + k])))
        for k in range(size):
            packed[places[k]] += increments[k]


@compiled
def _unpack_counts(
    packed: NDArray[np.uint64], items: int, i: Ints, j: Ints, wins: Floats, losses: Floats, ties: Floats
) -> None:
    """The pairs that met."""
    place, row = 0, 0
    for low in range(items - 1):
        for high in range(low + 1, items):
            counts = packed[place]
            place += 1
            if counts:
                i[row], j[row] = low, high
                wins[row] = counts & np.uint64(_FULL)
                losses[row] = (counts >> np.uint64(_BITS)) & np.uint64(_FULL)
                ties[row] = counts >> np.uint64(2 * _BITS)
                row += 1


def _add_weights_arrays(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats | None, items: int, table: Floats
) -> None:
    x, y, won = a.astype(np.int64), b.astype(np.int64), outcome.astype(np.int64)
    place = _place.loop(np.minimum(x, y), np.maximum(x, y), items)
    table += np.bincount(3 * place + _outcome_from_lower.loop(x, y, won), weight, table.size).reshape(table.shape)


@compiled_above(_FEW, _add_weights_arrays)
def _add_weights(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats, items: int, table: Floats
) -> None:
    for k in range(len(a)):
        x, y = np.int64(a[k]), np.int64(b[k])
        table[_place(min(x, y), max(x, y), items), _outcome_from_lower(x, y, np.int64(outcome[k]))] += weight[k]


# -------------------------------------------------------------------------------------------- many items: sorted keys
def _by_sorting(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats, items: int
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    keys = np.empty(len(a), np.int64)
    _fill_keys(a, b, outcome, items, keys)
    if len(weight):
        order = np.argsort(keys, kind="stable")
        keys, weight = keys[order], weight[order]
    else:
        keys.sort()
    rows: tuple[Ints, Ints, Floats, Floats, Floats] = _runs(keys, weight, items)
    return rows


def _fill_keys_arrays(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int, keys: Ints) -> None:
    x, y, won = a.astype(np.int64), b.astype(np.int64), outcome.astype(np.int64)
    keys[:] = (np.minimum(x, y) * items + np.maximum(x, y)) * 4 + _outcome_from_lower.loop(x, y, won)


@compiled_above(_FEW, _fill_keys_arrays)
def _fill_keys(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int, keys: Ints) -> None:
    """(lower item, higher item, outcome seen from the lower) packed into one sortable integer each."""
    for k in range(len(a)):
        x, y = np.int64(a[k]), np.int64(b[k])
        keys[k] = (min(x, y) * items + max(x, y)) * 4 + _outcome_from_lower(x, y, np.int64(outcome[k]))


def _runs(keys: Ints, weight: Floats, items: int) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Sums over equal pairs in sorted keys. Arrays are made by numpy, whose memory comes in large pages."""
    if len(keys) < _FEW:
        return _runs_arrays(keys, weight, items)
    rows = int(np.count_nonzero(np.diff(keys >> 2))) + 1
    i, j = np.empty(rows, np.int64), np.empty(rows, np.int64)
    wins, losses, ties = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    _fill_runs(keys, weight, items, i, j, wins, losses, ties)
    return i, j, wins, losses, ties


def _runs_arrays(keys: Ints, weight: Floats, items: int) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    pairs, row = np.unique(keys >> 2, return_inverse=True)
    places = 3 * row + (keys & 3)
    table = np.bincount(places, weight if len(weight) else None, 3 * len(pairs)).astype(np.float64).reshape(-1, 3)
    return pairs // items, pairs % items, *table.T.copy()


@compiled
def _fill_runs(
    keys: Ints, weight: Floats, items: int, i: Ints, j: Ints, wins: Floats, losses: Floats, ties: Floats
) -> None:
    row, low, first, last = -1, 0, 0, -1
    for k in range(len(keys)):
        pair, outcome = keys[k] >> 2, keys[k] & 3
        if pair != last:
            row, last = row + 1, pair
            while pair >= first + items:  # keys rise, so no division finds the lower item
                low, first = low + 1, first + items
            i[row], j[row] = low, pair - first
        w = weight[k] if len(weight) else 1.0
        if outcome == 0:
            wins[row] += w
        elif outcome == 1:
            losses[row] += w
        else:
            ties[row] += w


def pair_rows(counts: PairCounts, a: NDArray[Any], b: NDArray[Any]) -> Ints:
    """The row in `counts` of each comparison of items a and b, which must be among those counted."""
    rows = np.empty(len(a), np.int64)
    _fill_pair_rows(counts.i, counts.j, a, b, counts.items, rows)
    return rows


def _fill_pair_rows_arrays(i: Ints, j: Ints, a: NDArray[Any], b: NDArray[Any], items: int, rows: Ints) -> None:
    x, y = a.astype(np.int64), b.astype(np.int64)
    rows[:] = np.searchsorted(i * items + j, np.minimum(x, y) * items + np.maximum(x, y))


@compiled_above(_FEW, _fill_pair_rows_arrays)
def _fill_pair_rows(i: Ints, j: Ints, a: NDArray[Any], b: NDArray[Any], items: int, rows: Ints) -> None:
    """By a table of all pairs where it is small, else by bisection among the pairs of the lower item."""
    pairs = items * (items - 1) // 2
    if pairs <= _TABLE_PAIRS:
        table = np.zeros(pairs, np.int32)
        for row in range(len(i)):
            table[_place(i[row], j[row], items)] = row
        for k in range(len(a)):
            x, y = np.int64(a[k]), np.int64(b[k])
            rows[k] = table[_place(min(x, y), max(x, y), items)]
        return
    start = np.zeros(items + 1, np.int64)
    for row in range(len(i)):
        start[i[row] + 1] = row + 1
    for item in range(1, items + 1):
        start[item] = max(start[item], start[item - 1])
    for k in range(len(a)):
        x, y = np.int64(a[k]), np.int64(b[k])
        low, high, other = start[min(x, y)], start[min(x, y) + 1], max(x, y)
        while low < high:
            middle = (low + high) >> 1
            if j[middle] < other:
                low = middle + 1
            else:
                high = middle
        rows[k] = low
