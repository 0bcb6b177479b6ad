"""Panels of raters with one taste and unequal care, and panels in camps: strict ranks (prompts, raters, items)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Draw = Callable[[np.random.Generator, int], Ints]

UNEQUAL = (0.2, 0.3, 1.0, 2.0, 3.0)
CAREFUL_AND_NOISY = (0.2, 0.2, 2.0, 2.0, 2.0)


def order_of(seen: Floats) -> Ints:
    """Ranks, the largest first."""
    ranks: Ints = np.argsort(np.argsort(-seen, axis=2), axis=2)
    return ranks


def utilities(rng: np.random.Generator, prompts: int, sizes: ArrayLike, items: int = 4) -> Floats:
    """One set of utilities for each camp and prompt, repeated for its raters."""
    camps = np.atleast_1d(sizes)
    own: Floats = np.repeat(rng.normal(size=(prompts, len(camps), items)), camps, axis=1)
    return own


def thurstone(rng: np.random.Generator, taste: Floats, noise: ArrayLike) -> Floats:
    """Utilities seen with Gaussian noise; `noise` by rater, or by prompt and rater."""
    sd = np.broadcast_to(noise, taste.shape[:2])[:, :, None]
    seen: Floats = taste + sd * rng.normal(size=taste.shape)
    return seen


def plackett_luce(rng: np.random.Generator, taste: Floats, noise: ArrayLike) -> Floats:
    """The same with Gumbel noise."""
    sd = np.broadcast_to(noise, taste.shape[:2])[:, :, None]
    seen: Floats = taste + sd * rng.gumbel(size=taste.shape)
    return seen


def mallows(rng: np.random.Generator, prompts: int, theta: Floats, items: int = 4) -> Ints:
    """Mallows around one order a prompt, `theta` by prompt and rater: repeated insertion."""
    raters = theta.shape[1]
    order = np.zeros((prompts, raters, 1), np.int64)
    for j in range(1, items):
        weight = np.exp(-theta[:, :, None] * np.arange(j + 1))
        back = (rng.random((prompts, raters, 1)) > np.cumsum(weight, axis=2) / weight.sum(axis=2, keepdims=True)).sum(2)
        place = j - back[:, :, None]
        longer = np.concatenate([order, np.full((prompts, raters, 1), j)], axis=2)
        at = np.arange(j + 1)
        before = np.take_along_axis(longer, np.maximum(np.broadcast_to(at - 1, longer.shape), 0), axis=2)
        order = np.where(at < place, longer, np.where(at == place, j, before))
    ranks: Ints = np.argsort(order, axis=2)
    return np.take_along_axis(ranks, np.argsort(rng.random((prompts, 1, items)), axis=2).repeat(raters, axis=1), axis=2)


def bad_item(taste: Floats, by: float = 4.0) -> Floats:
    """One item of every prompt that everybody sees to be bad."""
    worse = taste.copy()
    worse[:, :, -1] -= by
    return worse


def easy_and_hard(rng: np.random.Generator, taste: Floats, hard: float = 0.15) -> Floats:
    """Half of the prompts with items that hardly differ."""
    scale = np.where(rng.random(len(taste)) < 0.5, 2.5, hard)
    seen: Floats = taste * scale[:, None, None]
    return seen


def lazy(rng: np.random.Generator, ranks: Ints, shares: ArrayLike) -> Ints:
    """Each rater answers a share of the prompts at random."""
    idle = rng.random(ranks.shape[:2]) < np.broadcast_to(shares, ranks.shape[1])
    blind = np.argsort(rng.random(ranks.shape), axis=2)
    return np.where(idle[:, :, None], blind, ranks)


def five_levels(rng: np.random.Generator, seen: Floats) -> Floats:
    """Ratings on five levels, ties broken at random."""
    return np.digitize(seen, [-1.2, -0.4, 0.4, 1.2]) + 0.5 * rng.random(seen.shape)


def absent(rng: np.random.Generator, ranks: Ints, share: float) -> Ints:
    """Each rater is missing on a share of the prompts."""
    return np.where((rng.random(ranks.shape[:2]) < share)[:, :, None], -1, ranks)


def _levels(raters: int) -> Floats:
    return np.geomspace(0.2, 4.0, raters)


ONE_TASTE: dict[str, Draw] = {
    "random raters": lambda rng, n: order_of(rng.normal(size=(n, 5, 4))),
    "equal noise": lambda rng, n: order_of(thurstone(rng, utilities(rng, n, 5), 1.5)),
    "unequal noise": lambda rng, n: order_of(thurstone(rng, utilities(rng, n, 5), UNEQUAL)),
    "two careful, three noisy": lambda rng, n: order_of(thurstone(rng, utilities(rng, n, 5), CAREFUL_AND_NOISY)),
    "unequal noise, one plainly bad item": lambda rng, n: order_of(
        thurstone(rng, bad_item(utilities(rng, n, 5)), CAREFUL_AND_NOISY)
    ),
    "unequal noise, one plainly bad item, Plackett-Luce": lambda rng, n: order_of(
        plackett_luce(rng, bad_item(utilities(rng, n, 5)), CAREFUL_AND_NOISY)
    ),
    "unequal noise, easy and hard prompts": lambda rng, n: order_of(
        thurstone(rng, easy_and_hard(rng, utilities(rng, n, 5)), UNEQUAL)
    ),
    "unequal noise, easy and hard prompts, Mallows": lambda rng, n: mallows(
        rng, n, np.array([2.5, 2.0, 1.0, 0.5, 0.3]) * rng.choice([0.15, 2.0], (n, 1))
    ),
    "unequal noise, bad item, easy and hard prompts": lambda rng, n: order_of(
        thurstone(rng, bad_item(easy_and_hard(rng, utilities(rng, n, 5))), UNEQUAL)
    ),
    "lazy raters": lambda rng, n: lazy(
        rng, order_of(thurstone(rng, utilities(rng, n, 5), 0.5)), (0.0, 0.2, 0.4, 0.6, 0.9)
    ),
    "two careful and lazy, three noisy and diligent, bad item": lambda rng, n: lazy(
        rng, order_of(thurstone(rng, bad_item(utilities(rng, n, 5)), CAREFUL_AND_NOISY)), (0.2, 0.2, 0, 0, 0)
    ),
    "five levels with ties, unequal noise, bad item": lambda rng, n: order_of(
        five_levels(rng, thurstone(rng, bad_item(utilities(rng, n, 5), 2.0), UNEQUAL))
    ),
    "three items, two careful, three noisy, bad item": lambda rng, n: order_of(
        thurstone(rng, bad_item(utilities(rng, n, 5, 3)), CAREFUL_AND_NOISY)
    ),
    "eight items, unequal noise, easy and hard prompts": lambda rng, n: order_of(
        thurstone(rng, easy_and_hard(rng, utilities(rng, n, 5, 8)), UNEQUAL)
    ),
    "a fifth of the answers missing, unequal noise, bad item": lambda rng, n: absent(
        rng, order_of(thurstone(rng, bad_item(utilities(rng, n, 5)), CAREFUL_AND_NOISY)), 0.2
    ),
    "30 raters, unequal noise, bad item": lambda rng, n: order_of(
        thurstone(rng, bad_item(utilities(rng, n, 30)), _levels(30))
    ),
    "30 raters, half careful and lazy, half noisy, easy and hard prompts": lambda rng, n: lazy(
        rng,
        order_of(thurstone(rng, easy_and_hard(rng, utilities(rng, n, 30)), np.repeat([0.2, 1.5], 15))),
        np.repeat([0.4, 0.0], 15),
    ),
    "every rater with a taste of their own besides": lambda rng, n: order_of(
        thurstone(rng, utilities(rng, n, 5) + rng.normal(size=(n, 5, 4)), UNEQUAL)
    ),
}

CAMPS: dict[str, Draw] = {
    "camps of 3 and 2, noise .5": lambda rng, n: order_of(thurstone(rng, utilities(rng, n, (3, 2)), 0.5)),
    "camps of 3 and 2, noise 1": lambda rng, n: order_of(thurstone(rng, utilities(rng, n, (3, 2)), 1.0)),
    "camps of 3 and 2, noise .3 to 2": lambda rng, n: order_of(
        thurstone(rng, utilities(rng, n, (3, 2)), (0.3, 1.0, 2.0, 0.5, 1.5))
    ),
    "camps of 3 and 2, Plackett-Luce": lambda rng, n: order_of(plackett_luce(rng, utilities(rng, n, (3, 2)), 0.8)),
    "camps of 3 and 2 that oppose each other": lambda rng, n: order_of(
        thurstone(rng, utilities(rng, n, 5) * np.array([1, 1, 1, -1, -1])[:, None], 1.0)
    ),
    "camps of 3 and 2 that share half of their taste": lambda rng, n: order_of(
        thurstone(rng, (utilities(rng, n, 5) + utilities(rng, n, (3, 2))) / np.sqrt(2), 0.5)
    ),
    "camps of 5 and 5, noise 1": lambda rng, n: order_of(thurstone(rng, utilities(rng, n, (5, 5)), 1.0)),
    "camps of 8 and 2, noise 1": lambda rng, n: order_of(thurstone(rng, utilities(rng, n, (8, 2)), 1.0)),
    "camps of 15 and 15, noise 1.9": lambda rng, n: order_of(thurstone(rng, utilities(rng, n, (15, 15)), 1.9)),
    "camps of 24 and 6, noise 1.9": lambda rng, n: order_of(thurstone(rng, utilities(rng, n, (24, 6)), 1.9)),
}
