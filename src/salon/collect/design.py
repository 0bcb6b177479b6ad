"""Which pairs of a prompt's or a category's items are compared.

Balanced fraction. With n even, the pairs of n items fall into n - 1 rounds in which everybody meets one partner (the
circle method); with n odd, into (n - 1) / 2 turns in which everybody meets two (i with i + d, for each distance d).
Whole rounds or turns, drawn at random, and a part of one more without a shared item, give degrees that differ by at
most 1. The first two rounds, and the turn d = 1, are one closed path through all items, so the design is connected
whatever else is drawn. Of several draws the one with the smallest diameter is kept: 50 items and 612 pairs have
diameter 2, the least there is short of all pairs.

Adaptive. The pair whose answer is expected to bring the order nearest to the right one (`stats.order_gain`), answers
that are still awaited counted as given. A rater's own taste about an item is in all their answers about it, so the n-th
of them tells less about what raters share: the gain is divided by 1 + OWN n for each of the two items, n being the
answers this rater gave beyond the average rater's. Adaptive answers depend on earlier ones: the study's design must say
so.

Statistics are imported when a design needs them: complete pairs need none, and a studio starts faster.

Sources: the circle method, Kirkman 1847; PPaint A.3 (612 of 1,225 pairs, diameter 2).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from salon.errors import DesignError, TooFew

if TYPE_CHECKING:
    from salon.stats.active import PairPosterior

Ints = NDArray[np.int64]
Pair = tuple[int, int]

_DRAWS = 8
OWN = 0.3
"""Information of an answer (about .15) times the variance of a rater's own taste (about 2 in PPaint's panel)."""


def complete_pairs(items: int) -> list[Pair]:
    """Every pair of `items` items."""
    return list(combinations(range(items), 2))


def balanced_fraction(items: int, pairs: int, *, rng: np.random.Generator) -> list[Pair]:
    """`pairs` different pairs in random order: connected, degrees within 1 of each other, small diameter."""
    everything = items * (items - 1) // 2
    if items < 2:
        raise TooFew("a design needs at least 2 items", found=items)
    if not items - 1 <= pairs <= everything:
        raise DesignError(
            f"{items} items need between {items - 1} pairs (one path) and {everything} (all)",
            found=pairs,
            remedy="raise the fraction, or compare fewer items",
        )
    from salon.stats.graph import connectivity

    draw = _rounds if items % 2 == 0 else _turns
    best: list[Pair] = []
    smallest = items  # no diameter is that large
    for _ in range(_DRAWS):
        found = _relabelled(draw(items, pairs, rng), items, rng)
        diameter = connectivity(items, found).diameter or items
        if diameter < smallest:
            best, smallest = found, diameter
        if smallest <= 2:
            break
    return best


def next_adaptive_pair(
    items: int,
    pairs: Ints,
    votes: NDArray[np.float64],
    awaited: Ints,
    allowed: NDArray[np.bool_],
    *,
    surplus: NDArray[np.float64] | None = None,
    rng: np.random.Generator,
) -> int | None:
    """Index into `pairs` (m, 2) of the most telling one that is `allowed` (m,); None when none is.

    `votes` (m, 3): first better, second better, tie. `awaited` (m,): asked of others and not answered yet. `surplus`
    (items,): how many more answers about each item this rater gave than the average rater. Pairs that tell the same are
    drawn by lot.
    """
    if not allowed.any():
        return None
    from salon.stats.order_gain import expecting, order_gains

    known = expecting(_posterior(items, pairs, votes), np.repeat(pairs, awaited, axis=0))
    gains = order_gains(known)[pairs[:, 0], pairs[:, 1]]
    if surplus is not None:
        gains /= (1 + OWN * np.maximum(surplus, 0)[pairs]).prod(axis=1)
    best = np.flatnonzero(allowed & (gains >= gains[allowed].max() * (1 - 1e-9)))
    return int(rng.choice(best))


def _posterior(items: int, pairs: Ints, votes: NDArray[np.float64]) -> PairPosterior:
    """What the votes tell about the scores; pairs may stand in any order and either way round."""
    from salon.stats.active import pair_posterior, prior_posterior
    from salon.stats.pair_counts import PairCounts

    met = np.flatnonzero(votes.sum(axis=1) > 0)
    if not len(met):
        return prior_posterior(items)
    low, high = np.sort(pairs[met], axis=1).T
    turned = pairs[met, 0] > pairs[met, 1]
    counted = np.where(turned[:, None], votes[met][:, [1, 0, 2]], votes[met])
    order = np.lexsort((high, low))
    return pair_posterior(PairCounts(items, low[order], high[order], *counted[order].T))


def _relabelled(pairs: list[Pair], items: int, rng: np.random.Generator) -> list[Pair]:
    """The same design with items in other roles and pairs in another order."""
    roles = rng.permutation(items)
    made = [tuple(sorted((int(roles[a]), int(roles[b])))) for a, b in pairs]
    return [(made[k][0], made[k][1]) for k in rng.permutation(len(made))]


def _rounds(items: int, pairs: int, rng: np.random.Generator) -> list[Pair]:
    """Even n: whole rounds of the circle method, then a part of one more."""
    whole, rest = divmod(pairs, items // 2)
    later = 2 + rng.permutation(max(items - 3, 0))
    order = [0, 1, *later.tolist()]
    made = [pair for number in order[:whole] for pair in _round(items, number)]
    return made + (_round(items, order[whole])[:rest] if rest else [])


def _round(items: int, number: int) -> list[Pair]:
    """Round `number` of n - 1: the last item meets `number`, the others pair up around it."""
    n = items - 1
    across = [((number + k) % n, (number - k) % n) for k in range(1, items // 2)]
    return [(number, n), *across]


def _turns(items: int, pairs: int, rng: np.random.Generator) -> list[Pair]:
    """Odd n: whole turns i with i + d, then a part of the turn d = 2 (or d = 1 while there is none)."""
    whole, rest = divmod(pairs, items)
    if whole == 0:
        return _part_of_turn(items, 1, rest)
    distances = [1, *(3 + rng.permutation(max((items - 1) // 2 - 2, 0))).tolist()]
    if whole == (items - 1) // 2:
        distances = list(range(1, whole + 1))
    made = [(i, (i + d) % items) for d in distances[:whole] for i in range(items)]
    return made + _part_of_turn(items, 2, rest)


def _part_of_turn(items: int, distance: int, pairs: int) -> list[Pair]:
    """`pairs` steps of one closed path: none that touch while that is possible, else all but some that do not touch."""
    path = [(k * distance) % items for k in range(items)]
    steps = [(path[k], path[(k + 1) % items]) for k in range(items)]
    apart = steps[0 : items - 1 : 2]
    if pairs <= len(apart):
        return apart[:pairs]
    left_out = set(apart[: items - pairs])
    return [step for step in steps if step not in left_out]
