"""A hash table from packed states to exact counts, for layers that outgrow the cache.

A count is one word when it is known to fit, else as many digits of 32 bits as it needs, each in its own word so that
carries can wait until the table is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64

from salon.stats.compiled import compiled
from salon.stats.orbit_forms import Words
from salon.stats.orbit_kernels import Arrivals, lowest_bit

DIGIT = np.uint64(32)
DIGIT_MASK = np.uint64(2**32 - 1)
FULL = 0.65  # share of rows in use at which a table doubles


class Table:
    """Rows (key, count...); key 0 marks a free row: no canonical state is 0, as its first item leads."""

    def __init__(self, columns: int) -> None:
        self.rows: Words = np.zeros((1 << 12, 1 + columns), dtype=np.uint64)
        self.used = 0

    def add(self, arrivals: Arrivals, n: int, ways: Words) -> None:
        """Add times * ways[source] to the row of each of the first n arrivals."""
        done = 0
        while True:
            limit = int(FULL * len(self.rows))
            done, self.used, _ = _insert(self.rows, self.used, limit, arrivals, ways, done, n)
            if done == n:
                return
            larger = np.zeros((2 * len(self.rows), self.rows.shape[1]), dtype=np.uint64)
            _rehash(self.rows, larger)
            self.rows = larger

    def packed(self) -> Words:
        """The used rows, moved to the front of the table (which cannot grow after this)."""
        return self.rows[: _gather(self.rows)]


def columns_for(largest: int) -> int:
    """How many columns hold counts up to `largest`: one word, or digits of 32 bits."""
    bits = largest.bit_length()
    return 1 if bits <= 64 else (bits + 31) // 32


def widen(counts: Words, columns: int) -> Words:
    """The same counts in more columns."""
    have = counts.shape[1]
    if have == columns:
        return counts
    wide = np.zeros((len(counts), columns), dtype=np.uint64)
    if have == 1:
        wide[:, 0], wide[:, 1] = counts[:, 0] & DIGIT_MASK, counts[:, 0] >> DIGIT
    else:
        wide[:, :have] = counts
    return wide


def total(counts: Words) -> int:
    """Sum of all counts as a Python integer, which cannot wrap."""
    low = (counts & DIGIT_MASK).sum(axis=0)
    high = (counts >> DIGIT).sum(axis=0)
    return sum((int(x) + (int(y) << 32)) << (32 * c) for c, (x, y) in enumerate(zip(low, high)))


@njit(inline="always")
def _home(key: Any, shift: Any) -> Any:
    """First row to try for a key among 2^(64 - shift): multiply and fold, then the top bits."""
    key = (key ^ (key >> uint64(31))) * uint64(0x7FB5D329728EA185)
    key = (key ^ (key >> uint64(27))) * uint64(0x81DADEF4BC2DD44D)
    return (key ^ (key >> uint64(33))) >> shift


@compiled
def _insert(
    rows: Words, used: int, limit: int, arrivals: Arrivals, ways: Words, start: int, stop: int
) -> tuple[int, int, Any]:
    """Add arrivals start..stop-1 by linear probing; (where it stopped, rows in use, ignore).

    Homes are touched 64 at a time before use, so that the cache misses of a group overlap instead of queueing; the
    third result keeps the compiler from dropping these reads.
    """
    shift = uint64(64 - lowest_bit(uint64(len(rows))))
    wrap = uint64(len(rows) - 1)
    home = np.zeros(64, np.uint64)
    touched = uint64(0)
    for group in range(start, stop, 64):
        if used + 64 > limit:
            return group, used, touched
        end = min(group + 64, stop)
        for i in range(group, end):
            home[i - group] = _home(arrivals.keys[i], shift)
            touched ^= rows[home[i - group], 0]
        for i in range(group, end):
            key, row = arrivals.keys[i], home[i - group]
            while rows[row, 0] != key:
                if rows[row, 0] == uint64(0):
                    rows[row, 0] = key
                    used += 1
                    break
                row = (row + uint64(1)) & wrap
            for c in range(ways.shape[1]):
                rows[row, 1 + c] += uint64(arrivals.times[i]) * ways[arrivals.source[i], c]
    return stop, used, touched


@compiled
def _rehash(rows: Words, larger: Words) -> None:
    shift = uint64(64 - lowest_bit(uint64(len(larger))))
    wrap = uint64(len(larger) - 1)
    for i in range(len(rows)):
        if rows[i, 0]:
            row = _home(rows[i, 0], shift)
            while larger[row, 0]:
                row = (row + uint64(1)) & wrap
            for c in range(rows.shape[1]):
                larger[row, c] = rows[i, c]


@compiled
def _gather(rows: Words) -> int:
    n = 0
    for i in range(len(rows)):
        if rows[i, 0]:
            for c in range(rows.shape[1]):
                rows[n, c] = rows[i, c]
            n += 1
    return n
