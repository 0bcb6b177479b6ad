"""Which pairs a bridge asks: the pool, its pairs, and the opponents of every other item.

Everything drawn by chance follows from the seed and the items' ids alone (64-bit hashes, sorted), not from their order
or number: the same study planned twice gives the same questions, and an item added later rarely changes the pool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.errors import TooFew
from salon.fuse.bridge_answers import BridgeAnswers, Ints
from salon.fuse.bridge_settings import BridgeSettings

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class BridgePlan:
    """One group of items that share a scale: who is in the pool, and whom the others are to meet."""

    items: int
    keys: Keys
    """(items,) a random number for each item, from its id and the seed."""
    pool: Ints
    rest: Ints
    both_orders: bool

    @property
    def place(self) -> Ints:
        """(items,) the place in the pool of every item, or -1."""
        place = np.full(self.items, -1)
        place[self.pool] = np.arange(len(self.pool))
        return place

    @property
    def pool_pairs(self) -> Ints:
        """(C(N, 2) or twice, 2) every pair of the pool, first shown first."""
        i, j = np.triu_indices(len(self.pool), 1)
        return self.questions(self.pool[i], self.pool[j])

    def opponents(self, count: int) -> Ints:
        """(rest, count) places in the pool, drawn without replacement; fewer are the first of more."""
        drawn = _mixed(self.keys[self.rest][:, None], self.keys[self.pool][None, :])
        return np.argsort(drawn, axis=1, kind="stable")[:, :count]

    def questions(self, one: Ints, other: Ints) -> Ints:
        """Pairs to ask: which item is shown first is drawn by chance, or both are once."""
        a, b = self.keys[one], self.keys[other]
        swap = _mixed(~a, b) > _mixed(~b, a)  # not the numbers that chose the opponent: those are small
        pairs = np.stack([np.where(swap, other, one), np.where(swap, one, other)], axis=1)
        return np.concatenate([pairs, pairs[:, ::-1]]) if self.both_orders else pairs

    def unasked(self, pairs: Ints, answers: BridgeAnswers) -> Ints:
        """The pairs that no call has asked (in that order, where both orders are wanted)."""
        asked = self._names(answers.pairs)
        return pairs[~np.isin(self._names(pairs), asked)]

    def _names(self, pairs: Ints) -> Ints:
        named = pairs if self.both_orders else np.sort(pairs, axis=1)
        return np.asarray(named[:, 0] * self.items + named[:, 1])


def plan_group(ids: Sequence[str], settings: BridgeSettings) -> BridgePlan:
    """The pool of a group of items; a group no larger than the pool is compared exhaustively."""
    if len(ids) < 2:
        raise TooFew("a bridge needs at least 2 items that may be compared", found=len(ids))
    keys = np.array([_key(id, settings.seed) for id in ids], dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    pool, rest = np.sort(order[: settings.pool]), np.sort(order[settings.pool :])
    return BridgePlan(len(ids), keys, pool, rest, settings.both_orders)


def planned_calls(items: int, settings: BridgeSettings) -> int:
    """C(N, 2) + (n - N) K calls in one order."""
    pool = min(items, settings.pool)
    return pool * (pool - 1) // 2 + (items - pool) * min(settings.opponents, pool)


def _key(id: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}\0{id}".encode(), digest_size=8).digest())


def _mixed(x: Keys, y: Keys) -> Keys:
    """A random number for each ordered pair (splitmix64)."""
    z = x * np.uint64(0x9E3779B97F4A7C15) + y
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
