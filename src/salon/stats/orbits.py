"""The exact joint law of (p_max histogram, cycle flag) for random raters, by orbits of vote vectors.

Problem. R raters rank p items uniformly and independently: p!^R equally likely outcomes. All statistics are functions
of the votes k[a,b] (`signal`), so only the law of the vote vector is needed; but there are far too many of these.

Orbits. Relabelling the items, or reversing all rankings, changes neither the law nor the statistics. So states that
these 2 p! operations turn into each other are kept as one, by a canonical form (`orbit_kernels`): items sorted by a
score that does not depend on labels, then the votes read off. Where scores leave the order open, all orders left are
tried and the smallest packed vector taken: the form is unique.

Layers. Layer r holds each state of r raters with its ways: the number of rankings of raters 2..r that lead to it when
rater 1 is fixed (by relabelling) to the identity. Layer r+1 comes from layer r by adding each of the p! rankings. The
last rater is added on the fly and only the statistics are kept (`tally_streamed`), so the largest layer never exists.

Witnesses. Let s be a state of r raters in which "a above b" was voted by f of them, f > 0. In each way to s any of the
r raters is equally often the last, so in exactly f/r of all (weighted) ways the last rater cast this vote. It is
enough to follow those: ways(s) = r/f * (ways in which the last rater cast it). The vote with the smallest f > 0 is
taken; among several, the one whose items differ most in score; if e of these are equal, each is counted and the sum
divided by e. That saves about 60% of the canonical forms and table accesses, and the division must leave no remainder,
which checks the counts.

Proof of the total. The ways of layer r sum to p!^(r-1), verified in Python integers: nothing wrapped, nothing is lost.

Cost. About p! * (sum of layer sizes); see `cost`. Source: Salon's own; docs/methods/exact-nulls.md works p = 3 by hand.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import combinations
from math import comb, factorial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, uint64

from salon.errors import BadValue
from salon.stats import orbit_kernels as kernels
from salon.stats.jit import compiled
from salon.stats.orbit_kernels import Arrivals, Geometry, SmallInts, Words, lowest_bit
from salon.stats.signal import cycles_possible, distinct_rows, item_pairs, pmax_bins, tally_votes

Joint = dict[tuple[tuple[int, ...], int], int]

BATCH = 1 << 17  # arrivals between two visits to the table
STREAMED_CODES = 1 << 22  # largest dense tally; beyond it (many raters, few items) the last layer is stored


class OrbitLayer(NamedTuple):
    """The states of r raters up to relabelling and reversal."""

    raters: int
    keys: Words
    """(n,) packed votes in canonical form."""
    ways: Words
    """(n, columns) exact counts (`CountTable`)."""


class Cost(NamedTuple):
    """What an enumeration is expected to take on one core."""

    seconds: float
    gibibytes: float


def joint_law(items: int, raters: int) -> Joint:
    """Counts of each (p_max histogram, cycle flag) over the p!^(R-1) rankings of raters 2..R, rater 1 fixed."""
    if items == 2:
        # one pair: C(R, k) ways for k votes, folded, with rater 1 fixed
        bins = pmax_bins(raters).tolist()
        histogram = {v: tuple(int(v == b) for b in bins) for v in bins}
        return {(histogram[v], 0): comb(raters, v) // (2 if 2 * v == raters else 1) for v in bins}
    if raters == 2:
        return _two_raters(items)
    if not packable(items, raters):
        raise BadValue(
            "the exact null needs votes that fit 64 bits",
            found=f"{items} items and {raters} raters",
            remedy="use the Monte Carlo null",
        )
    g = geometry(items)
    layer = first_layer(g)
    stored = _codes(items, raters) > STREAMED_CODES
    while layer.raters < (raters if stored else raters - 1):
        layer = next_layer(g, layer)
    joint = tally_stored(g, layer) if stored else tally_streamed(g, layer)
    _verify(sum(joint.values()), items, raters)
    return joint


def packable(items: int, raters: int) -> bool:
    """Do the votes of the largest stored layer fit one word?"""
    if items == 2 or raters == 2:
        return True
    largest = raters if _codes(items, raters) > STREAMED_CODES else raters - 1
    return items <= 8 and largest < 1 << _width(items)


def cost(items: int, raters: int) -> Cost:
    """Expected cost of `joint_law`, from layer sizes and the time per added ranking."""
    if items == 2 or raters == 2:
        return Cost(0.0, 0.0)
    if not packable(items, raters):
        return Cost(float("inf"), float("inf"))
    sizes = [layer_size(items, r) for r in range(1, raters)]
    columns = columns_for(factorial(items) ** (raters - 2))
    seconds = factorial(items) * (50e-9 * sum(sizes[:-1]) + 3e-9 * columns * sizes[-1])
    return Cost(seconds, sizes[-1] * (1 + columns) * 40 / 2**30)


LAYER_SIZES = {
    5: (1, 39, 295, 2561, 13658, 62904, 228686, 737983, 2078739, 5372431),
    6: (1, 182, 5147, 129056, 1737407, 16860902),
    7: (1, 1033, 155212),
    8: (1, 7605),
}
"""Measured numbers of states. Beyond these the next layer is taken as larger by the last ratio."""


def layer_size(items: int, raters: int) -> float:
    """States of r raters: measured, else extrapolated (for p <= 4 by the volume of the votes they can reach)."""
    if items <= 4:
        scale, power = {3: (0.06, 3), 4: (0.0068, 6)}[items]
        return float(1 + scale * raters**power)
    sizes = LAYER_SIZES[items]
    if raters <= len(sizes):
        return float(sizes[raters - 1])
    return float(sizes[-1] * (sizes[-1] / sizes[-2]) ** (raters - len(sizes)))


@lru_cache(maxsize=8)
def geometry(items: int) -> Geometry:
    """The tables of p items: rankings, their votes, and the swaps that lead from each to the next."""
    pairs = item_pairs(items)
    m = len(pairs)
    column = {(a, b): e for e, (a, b) in enumerate(combinations(range(items), 2))}
    directed = column | {(b, a): m + e for (a, b), e in column.items()}
    orders, swaps = adjacent_swaps(items)
    place = np.argsort(np.array(orders), axis=1)
    votes = place[:, pairs[:, 0]] < place[:, pairs[:, 1]]
    votes = np.concatenate([votes, ~votes], axis=1)
    shifts = (_width(items) * np.arange(m)).astype(np.uint64)
    cycles = [
        (directed[a, b], directed[b, c], directed[c, a])
        for x, y, z in combinations(range(items), 3)
        for a, b, c in ((x, y, z), (x, z, y))
    ]
    return Geometry(
        items,
        _width(items),
        pairs[:, 0].copy(),
        pairs[:, 1].copy(),
        (votes[:, :m].astype(np.uint64) << shifts).sum(axis=1, dtype=np.uint64),
        _bit_sets(votes)[:, 0].copy(),
        _bit_sets(votes.T),
        np.array([0] + [directed[swap] for swap in swaps], dtype=np.int64),
        np.array(cycles, dtype=np.int64).reshape(-1, 3),
    )


def adjacent_swaps(items: int) -> tuple[list[tuple[int, ...]], list[tuple[int, int]]]:
    """All p! orders from the identity on, each made from the one before by swapping two neighbours (x, y): x was
    directly above y and is now directly below (Steinhaus, Johnson and Trotter)."""
    order, step = list(range(items)), [-1] * items
    orders: list[tuple[int, ...]] = [tuple(order)]
    swaps: list[tuple[int, int]] = []
    while True:
        movable = [
            item
            for place, item in enumerate(order)
            if 0 <= place + step[item] < items and order[place + step[item]] < item
        ]
        if not movable:
            return orders, swaps
        item = max(movable)
        place = order.index(item)
        target = place + step[item]
        upper, lower = min(place, target), max(place, target)
        swaps.append((order[upper], order[lower]))
        order[upper], order[lower] = order[lower], order[upper]
        orders.append(tuple(order))
        for larger in range(item + 1, items):
            step[larger] = -step[larger]


def first_layer(g: Geometry) -> OrbitLayer:
    """One rater, the identity: every a < b has one vote."""
    key = sum(1 << (g.width * e) for e in range(len(g.first)))
    return OrbitLayer(1, np.array([key], dtype=np.uint64), np.ones((1, 1), dtype=np.uint64))


def next_layer(g: Geometry, layer: OrbitLayer) -> OrbitLayer:
    """Add one rater to every state, merge what has the same canonical form, and verify the total."""
    raters, rankings = layer.raters + 1, len(g.casts)
    odd = odd_function(raters)
    # a witness count exceeds the ways by at most a factor m, see `settle`
    table = CountTable(columns_for(rankings ** (raters - 1) * len(g.first)))
    ways = widen(layer.ways, table.rows.shape[1] - 1)
    batch = max(1, BATCH // rankings)
    arrivals = Arrivals(
        np.zeros(batch * rankings, dtype=np.uint64),
        np.zeros(batch * rankings, dtype=np.int64),
        np.zeros(batch * rankings, dtype=np.int32),
    )
    for start in range(0, len(layer.keys), batch):
        stop = min(len(layer.keys), start + batch)
        n = kernels.grow(g, layer.keys, start, stop, layer.raters, odd, arrivals)
        table.add(arrivals, n, ways)
    rows = table.packed()
    if not kernels.settle(g, rows, raters, odd):
        raise ArithmeticError(f"witness counts of {raters} raters on {g.items} items do not divide")
    grown = OrbitLayer(raters, rows[:, 0].copy(), rows[:, 1:].copy())
    _verify(total_count(grown.ways), g.items, raters)
    return grown


def odd_function(raters: int) -> SmallInts:
    """odd[k] = -odd[R - k] for k votes, otherwise arbitrary: scores made of it are negated by reversal.

    Values stay below 2^27 so that sums over items fit 32 bits. Unlucky equalities only cost time.
    """
    lead = 2 * np.arange(raters + 1) - raters
    size = np.array([(2654435761 * (d + 1) ** 3 >> 5) % 2**27 for d in range(raters + 1)], dtype=np.int64)
    odd: SmallInts = (np.sign(lead) * size[np.abs(lead)]).astype(np.int32)
    return odd


def tally_streamed(g: Geometry, layer: OrbitLayer) -> Joint:
    """The joint law of R = r + 1 raters from layer r, the last rater never stored."""
    raters, pairs = layer.raters + 1, len(g.first)
    bins = pmax_bins(raters)
    place = np.array([0, *((pairs + 1) ** i for i in range(len(bins) - 1))], dtype=np.int64)
    k = np.arange(raters + 1)
    worth = place[np.maximum(k, raters - k) - bins[0]]
    cycles = g.cycles if cycles_possible(g.items, raters) else g.cycles[:0]
    ways = layer.ways if len(g.casts) ** layer.raters < 2**64 else widen(layer.ways, max(2, layer.ways.shape[1]))
    codes: Counter[tuple[int, int]] = Counter()
    most = 2**31 // len(g.casts)  # states at a time, so that sums of 32-bit digits cannot wrap
    for column in range(ways.shape[1]):
        for start in range(0, len(layer.keys), most):
            part = slice(start, start + most)
            tally = np.zeros((_codes(g.items, raters), 2), dtype=np.uint64)
            digits = np.ascontiguousarray(ways[part, column])
            kernels.add_last_rater(g, layer.keys[part], digits, layer.raters, worth, cycles, tally)
            for code, flag in np.argwhere(tally).tolist():
                codes[code, flag] += int(tally[code, flag]) << (32 * column)
    return {(_histogram(code, pairs, len(bins)), flag): count for (code, flag), count in codes.items()}


def tally_stored(g: Geometry, layer: OrbitLayer) -> Joint:
    """The joint law of R raters from layer R itself: for few items and many raters."""
    votes = unpack(g, layer.keys)
    histograms, cyclic = tally_votes(votes, layer.raters, g.items)
    cells, _, which = distinct_rows(np.column_stack([histograms, cyclic]), radix=len(g.first) + 1)
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(len(cells)))
    digits = widen(layer.ways, max(2, layer.ways.shape[1]))[order]
    sums = np.add.reduceat(digits, starts, axis=0).tolist()
    counts = [sum(digit << (32 * c) for c, digit in enumerate(row)) for row in sums]
    return {(tuple(cell[:-1]), cell[-1]): count for cell, count in zip(cells.tolist(), counts)}


def unpack(g: Geometry, keys: Words) -> npt.NDArray[np.int32]:
    """Votes (n, m) of packed states."""
    shifts = (g.width * np.arange(len(g.first))).astype(np.uint64)
    field = np.uint64((1 << g.width) - 1)
    return ((keys[:, None] >> shifts) & field).astype(np.int32)


def _two_raters(items: int) -> Joint:
    """Rankings with d discordant pairs (Mahonian numbers): coefficients of prod (1 + x + ... + x^i)."""
    counts = [1]
    for i in range(1, items):
        longer = [0] * (len(counts) + i)
        for d, ways in enumerate(counts):
            for extra in range(i + 1):
                longer[d + extra] += ways
        counts = longer
    return {((d, len(counts) - 1 - d), 0): ways for d, ways in enumerate(counts)}


def _width(items: int) -> int:
    return min(21, 64 // comb(items, 2))


def _codes(items: int, raters: int) -> int:
    """Size of a dense tally: a digit to base m + 1 for every bin of the histogram but the first."""
    return int((comb(items, 2) + 1) ** (raters // 2))


def _histogram(code: int, pairs: int, bins: int) -> tuple[int, ...]:
    digits = []
    for _ in range(bins - 1):
        code, digit = divmod(code, pairs + 1)
        digits.append(digit)
    return (pairs - sum(digits), *digits)


def _bit_sets(flags: npt.NDArray[np.bool_]) -> Words:
    """Each row of flags as words of 64 bits, first flag in the lowest bit."""
    padded = np.zeros((len(flags), -(-flags.shape[1] // 64) * 64), dtype=np.bool_)
    padded[:, : flags.shape[1]] = flags
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _verify(mass: int, items: int, raters: int) -> None:
    if mass != factorial(items) ** (raters - 1):
        raise ArithmeticError(f"the ways of {raters} raters on {items} items sum to {mass}: a count was lost")


# -- a hash table of exact counts --------------------------------------------------------------------------------------


DIGIT = np.uint64(32)
DIGIT_MASK = np.uint64(2**32 - 1)
FULL = 0.65  # share of rows in use at which a table doubles


class CountTable:
    """Rows (key, count...); key 0 marks a free row: no canonical state is 0, as its first item leads.

    A hash table from packed states to exact counts, for layers that outgrow the cache.

    A count is one word when it is known to fit, else as many digits of 32 bits as it needs, each in its own word so
    that carries can wait until the table is read.
    """

    def __init__(self, columns: int) -> None:
        self.rows: Words = np.zeros((1 << 12, 1 + columns), dtype=np.uint64)
        self.used = 0

    def add(self, arrivals: Arrivals, n: int, ways: Words) -> None:
        """Add times * ways[source] to the row of each of the first n arrivals."""
        start = 0
        while True:
            limit = int(FULL * len(self.rows))
            start, self.used, _ = _insert(self.rows, self.used, limit, arrivals, ways, start, n)
            if start == n:
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


def total_count(counts: Words) -> int:
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
