"""Rankings cut into stages, and compiled passes over them: likelihood, slopes and information of Plackett-Luce.

A *run* is a list of items of which the first `stages` are chosen one after the other, each from itself and all
items behind it. A ranking without ties is one run. Equal ranks become several runs of equal weight: tied items
in every order (two or three of them), or in 2d balanced orders (d >= 4), followed by the items ranked lower. The
balanced orders are the d rotations of one shuffled order and the d of its reverse: every item takes every place
equally often and every pair stands both ways equally often, so the first two stages and the last are averaged exactly,
the stages between over d of the possible sets of items left. The shuffle is fixed (the same data give the same fit)
and differs from ranking to ranking, so that the order in which tied items happen to be listed carries no weight.

Letters: e_i = exp(q_i), D_s = sum of e over the items left at stage s, A1 = sum of 1/D and A2 = sum of 1/D^2 over
the stages that item i took part in. Then for one run of weight w

    log-likelihood  sum_s (q_s - log D_s)
    slope           [i was chosen] - e_i A1
    information     e_i A1 [i = j] - e_i e_j A2(the stages of both)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.stats.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Runs:
    """Rankings as runs of stages."""

    items: int
    offsets: Ints
    """(runs + 1,): run s holds the entries offsets[s]..offsets[s + 1] of `entry`."""
    entry: Ints
    stages: Ints
    weight: Floats
    owner: Ints
    """The ranking that each run comes from."""

    def slopes(self, q: Floats) -> tuple[float, Floats]:
        """Log-likelihood, and the slope that each entry adds to its item."""
        shifted = q - q.max()
        slope = np.empty(len(self.entry))
        value = _slopes(shifted, np.exp(shifted), self.offsets, self.entry, self.stages, self.weight, slope)
        return float(value), slope

    def gradient(self, slope: Floats) -> Floats:
        """The slopes of entries summed over items."""
        return np.bincount(self.entry, weights=slope, minlength=self.items).astype(np.float64)

    def seen(self) -> Floats:
        """The weight of the runs that hold each item."""
        weight = np.repeat(self.weight, np.diff(self.offsets))
        return np.bincount(self.entry, weights=weight, minlength=self.items).astype(np.float64)

    def information(self, q: Floats) -> Floats:
        """Minus the second derivatives of the log-likelihood, (items, items)."""
        matrix = np.zeros((self.items, self.items))
        _information(np.exp(q - q.max()), self.offsets, self.entry, self.stages, self.weight, matrix)
        return matrix + np.triu(matrix, 1).T

    def information_diagonal(self, q: Floats) -> Floats:
        """The diagonal of `information`."""
        diagonal = np.zeros(self.items)
        _diagonal(np.exp(q - q.max()), self.offsets, self.entry, self.stages, self.weight, diagonal)
        return diagonal

    def information_times(self, q: Floats, v: Floats) -> Floats:
        """`information` @ v without the matrix."""
        product = np.zeros(self.items)
        _product(np.exp(q - q.max()), v, self.offsets, self.entry, self.stages, self.weight, product)
        return product


def runs_of_rankings(offsets: Ints, entry: Ints, ranks: NDArray[np.generic], items: int, weight: Floats) -> Runs:
    """Cut checked rankings (best first, equal ranks tied) into runs."""
    runs, entries = _runs_needed(offsets, ranks)
    made = Runs(
        items=items,
        offsets=np.zeros(runs + 1, np.int64),
        entry=np.empty(entries, np.int64),
        stages=np.empty(runs, np.int64),
        weight=np.empty(runs),
        owner=np.empty(runs, np.int64),
    )
    _fill_runs(offsets, entry, ranks, weight, made.offsets, made.entry, made.stages, made.weight, made.owner)
    return made


@compiled
def _orders(tied: int) -> int:
    """How many orders of tied items are averaged: all of them up to three."""
    return tied if tied < 3 else 2 * tied


@compiled
def _block_end(ranks: NDArray[np.generic], start: int, stop: int) -> int:
    """The end of the next block: all items tied with the first, or all untied items before the next tie."""
    end = start + 1
    if end < stop and ranks[end] == ranks[start]:
        while end < stop and ranks[end] == ranks[start]:
            end += 1
        return end
    while end < stop and not (end + 1 < stop and ranks[end + 1] == ranks[end]):
        end += 1
    return end


@compiled
def _is_tied(ranks: NDArray[np.generic], start: int, end: int) -> bool:
    return end - start > 1 and ranks[start] == ranks[start + 1]


@compiled
def _runs_needed(offsets: Ints, ranks: NDArray[np.generic]) -> tuple[int, int]:
    runs, entries = 0, 0
    for r in range(len(offsets) - 1):
        start, stop = offsets[r], offsets[r + 1]
        while start < stop - 1:  # a single item left over is no choice
            end = _block_end(ranks, start, stop)
            orders = _orders(end - start) if _is_tied(ranks, start, end) else 1
            runs += orders
            entries += orders * (stop - start)
            start = end
    return runs, entries


@compiled
def _shuffled(entry: Ints, start: int, end: int, state: int) -> tuple[Ints, int]:
    """The tied items in a fixed pseudo-random order (Park & Miller's generator), and its next state."""
    block = entry[start:end].copy()
    for t in range(len(block) - 1, 0, -1):
        state = state * 48271 % 2147483647
        k = state % (t + 1)
        block[t], block[k] = block[k], block[t]
    return block, state


@compiled
def _fill_runs(
    offsets: Ints,
    entry: Ints,
    ranks: NDArray[np.generic],
    weight: Floats,
    run_offsets: Ints,
    run_entry: Ints,
    stages: Ints,
    run_weight: Floats,
    owner: Ints,
) -> None:
    s, at, state = 0, 0, 1
    for r in range(len(offsets) - 1):
        start, stop = offsets[r], offsets[r + 1]
        while start < stop - 1:
            end = _block_end(ranks, start, stop)
            size = end - start
            orders, block = 1, entry[start:end]
            if _is_tied(ranks, start, end):
                orders = _orders(size)
                block, state = _shuffled(entry, start, end, state)
            for k in range(orders):
                for t in range(size):
                    place = (k + t) % size if k < size else (k - t) % size
                    run_entry[at + t] = block[place]
                for t in range(size, stop - start):
                    run_entry[at + t] = entry[start + t]
                at += stop - start
                run_offsets[s + 1] = at
                stages[s] = size if end < stop else size - 1
                run_weight[s] = weight[r] / orders
                owner[s] = r
                s += 1
            start = end


@compiled
def _slopes(q: Floats, e: Floats, offsets: Ints, entry: Ints, stages: Ints, weight: Floats, slope: Floats) -> float:
    value = 0.0
    for s in range(len(stages)):
        start, stop = offsets[s], offsets[s + 1]
        left = 0.0
        for t in range(stop - 1, start - 1, -1):
            left += e[entry[t]]
            slope[t] = left  # D, until it is used below
        run, a1 = 0.0, 0.0
        for t in range(start, stop):
            chosen = t < start + stages[s]
            if chosen:
                run += q[entry[t]] - np.log(slope[t])
                a1 += 1.0 / slope[t]
            slope[t] = weight[s] * ((1.0 if chosen else 0.0) - e[entry[t]] * a1)
        value += weight[s] * run
    return value


@compiled
def _sum_left(e: Floats, entry: Ints, start: int, size: int, left: Floats) -> None:
    """D of every stage, summed from the back: subtracting from the front would lose the small ones."""
    left[size] = 0.0
    for t in range(size - 1, -1, -1):
        left[t] = left[t + 1] + e[entry[start + t]]


@compiled
def _information(e: Floats, offsets: Ints, entry: Ints, stages: Ints, weight: Floats, matrix: Floats) -> None:
    """Fills the diagonal and what is above it."""
    left = np.empty(np.max(np.diff(offsets)) + 1)
    for s in range(len(stages)):
        start, size = offsets[s], offsets[s + 1] - offsets[s]
        _sum_left(e, entry, start, size, left)
        a1, a2 = 0.0, 0.0
        for t in range(size):
            if t < stages[s]:
                a1 += 1.0 / left[t]
                a2 += 1.0 / left[t] ** 2
            i = entry[start + t]
            matrix[i, i] += weight[s] * e[i] * (a1 - e[i] * a2)
            for u in range(t + 1, size):
                j = entry[start + u]
                matrix[min(i, j), max(i, j)] -= weight[s] * e[i] * e[j] * a2


@compiled
def _diagonal(e: Floats, offsets: Ints, entry: Ints, stages: Ints, weight: Floats, diagonal: Floats) -> None:
    left = np.empty(np.max(np.diff(offsets)) + 1)
    for s in range(len(stages)):
        start, size = offsets[s], offsets[s + 1] - offsets[s]
        _sum_left(e, entry, start, size, left)
        a1, a2 = 0.0, 0.0
        for t in range(size):
            if t < stages[s]:
                a1 += 1.0 / left[t]
                a2 += 1.0 / left[t] ** 2
            i = entry[start + t]
            diagonal[i] += weight[s] * e[i] * (a1 - e[i] * a2)


@compiled
def _product(e: Floats, v: Floats, offsets: Ints, entry: Ints, stages: Ints, weight: Floats, product: Floats) -> None:
    longest = np.max(np.diff(offsets)) + 1
    left, moved = np.empty(longest), np.empty(longest)  # sums of e and of e v over the items left
    ev = e * v
    for s in range(len(stages)):
        start, size = offsets[s], offsets[s + 1] - offsets[s]
        _sum_left(e, entry, start, size, left)
        _sum_left(ev, entry, start, size, moved)
        a1, pulled = 0.0, 0.0
        for t in range(size):
            i = entry[start + t]
            if t < stages[s]:
                a1 += 1.0 / left[t]
                pulled += moved[t] / left[t] ** 2
            product[i] += weight[s] * e[i] * (v[i] * a1 - pulled)
