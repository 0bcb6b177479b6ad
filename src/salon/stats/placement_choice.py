"""Which pool item should a new item meet next? The one whose answer is expected to tell most about its score.

Gain of a meeting = mutual information, in nats, between the item's score q and the outcome y, given the answers so far:

    I = H(y) - E_q[H(y | q)],    H(y) = -sum_y P(y) ln P(y),   P(y) = E_q[P(y | q)]

both as sums over the grid of the placement (stats/placement.py), for all waiting items and all opponents at once: two
matrix products. With ties as halves there is no probability of a tie, so y is win or loss; with Davidson's ties y has
three values. Errors of the pool's scores are in P(y | q): a badly known opponent tells less.

A batch of b opponents (judges are asked in parallel) is the b best; no opponent is met twice. Equal gains, that is
within 1e-9 nats, are broken at random, so that a seed means the same questions on every machine. Choosing by gain is
greedy, one step ahead, which for a log-concave posterior loses little against planning.

Source: Lindley 1956; MacKay 1992.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue
from salon.stats.placement import Answers, Floats, Ints, Pool, posterior_weights

_ITEMS_AT_ONCE = 4096
_DIGITS = 9
"""Gains that differ by less are the same: sums of floats in another order differ in their last digits."""


def expected_gains(pool: Pool, answers: Answers, items: Ints) -> Floats:
    """(len(items), pool) expected information, in nats, of the next meeting of each item with each pool item."""
    outcomes = 2 if pool.tie is None else 3
    chance = np.exp(pool.log_likelihood[:, :outcomes])
    left = _entropy(chance).T
    gains = np.empty((len(items), len(pool.scores)))
    for start in range(0, len(items), _ITEMS_AT_ONCE):
        some = slice(start, start + _ITEMS_AT_ONCE)
        w = posterior_weights(pool, answers, items[some])
        expected = np.stack([w @ chance[:, y].T for y in range(outcomes)], axis=1)
        gains[some] = _entropy(expected) - w @ left
    return gains


def choose_opponents(gains: Floats, met: NDArray[np.bool_], *, batch: int, rng: np.random.Generator) -> Ints:
    """(items, batch) the opponents of highest gain that an item has not met, best first; -1 where none is left."""
    if batch < 1:
        raise BadValue("a batch holds at least one opponent", found=batch)
    shuffled = rng.permutation(gains.shape[1])
    open_gains = np.where(met, -np.inf, np.round(gains, _DIGITS))[:, shuffled]
    best = np.argsort(-open_gains, axis=1, kind="stable")[:, :batch]
    chosen = shuffled[best].astype(np.int64)
    chosen[np.isneginf(np.take_along_axis(open_gains, best, axis=1))] = -1
    return chosen


def _entropy(p: Floats) -> Floats:
    """Entropy over axis 1; outcomes that cannot happen add nothing."""
    return np.asarray(-(p * np.log(np.maximum(p, np.finfo(float).tiny))).sum(axis=1))
