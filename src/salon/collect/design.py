"""Which pairs are compared, in which order, on which side, and where planted questions stand.

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

Sides of pairs. The pairs of a design are edges of a graph. Walking along closed trails, with the item one comes from on
the left, gives every item as many left as right places, within one (an Eulerian orientation). Raters of a cohort are
taken two by two in the order they came: both get the same trails, the second walks backwards. So every pair is shown
as often one way as the other, within one over all such couples, and a lean to one side favours no item.

Places of several items. Each set of items has an order drawn at random, turned by one place from rater to rater: over p
raters every item stands once in every place. A repeat is shown the other way round: a rater who always takes the left
contradicts themselves every time.

Statistics are imported when a design needs them: complete pairs need none, and a studio starts faster.

Sources: the circle method, Kirkman 1847; PPaint A.3 (612 of 1,225 pairs, diameter 2).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from salon.collect.questions import Why
from salon.errors import DesignError, TooFew

if TYPE_CHECKING:
    from salon.stats import PairPosterior

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
    from salon.stats import connectivity

    draw = _rounds if items % 2 == 0 else _turns
    best: list[Pair] = []
    smallest = items  # no diameter is that large
    for _ in range(_DRAWS):
        drawn_pairs = draw(items, pairs, rng)
        roles = rng.permutation(items)  # the same design with items in other roles and pairs in another order
        renamed = [sorted((int(roles[a]), int(roles[b]))) for a, b in drawn_pairs]
        candidate = [(renamed[k][0], renamed[k][1]) for k in rng.permutation(len(renamed))]
        diameter = connectivity(items, candidate).diameter or items
        if diameter < smallest:
            best, smallest = candidate, diameter
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
    from salon.stats import expected_posterior, order_gains

    posterior = expected_posterior(_posterior(items, pairs, votes), np.repeat(pairs, awaited, axis=0))
    gains = order_gains(posterior)[pairs[:, 0], pairs[:, 1]]
    if surplus is not None:
        gains /= (1 + OWN * np.maximum(surplus, 0)[pairs]).prod(axis=1)
    best = np.flatnonzero(allowed & (gains >= gains[allowed].max() * (1 - 1e-9)))
    return int(rng.choice(best))


def _posterior(items: int, pairs: Ints, votes: NDArray[np.float64]) -> PairPosterior:
    """What the votes tell about the scores; pairs may stand in any order and either way round."""
    from salon.stats import PairCounts, pair_posterior, prior_posterior

    met = np.flatnonzero(votes.sum(axis=1) > 0)
    if not len(met):
        return prior_posterior(items)
    low, high = np.sort(pairs[met], axis=1).T
    turned = pairs[met, 0] > pairs[met, 1]
    counts = np.where(turned[:, None], votes[met][:, [1, 0, 2]], votes[met])
    order = np.lexsort((high, low))
    return pair_posterior(PairCounts(items, low[order], high[order], *counts[order].T))


def _rounds(items: int, pairs: int, rng: np.random.Generator) -> list[Pair]:
    """Even n: whole rounds of the circle method, then a part of one more."""
    whole, rest = divmod(pairs, items // 2)
    later = 2 + rng.permutation(max(items - 3, 0))
    order = [0, 1, *later.tolist()]
    pairs_so_far = [pair for number in order[:whole] for pair in _round(items, number)]
    return pairs_so_far + (_round(items, order[whole])[:rest] if rest else [])


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
    pairs_so_far = [(i, (i + d) % items) for d in distances[:whole] for i in range(items)]
    return pairs_so_far + _part_of_turn(items, 2, rest)


def _part_of_turn(items: int, distance: int, pairs: int) -> list[Pair]:
    """`pairs` steps of one closed path: none that touch while that is possible, else all but some that do not touch."""
    path = [(k * distance) % items for k in range(items)]
    steps = [(path[k], path[(k + 1) % items]) for k in range(items)]
    apart = steps[0 : items - 1 : 2]
    if pairs <= len(apart):
        return apart[:pairs]
    left_out = set(apart[: items - pairs])
    return [step for step in steps if step not in left_out]


# -- repeatable chance -------------------------------------------------------------------------------------------------


def seeded_rng(seed: int, *names: object) -> np.random.Generator:
    """A generator of its own for `names`, the same on every machine."""
    digest = hashlib.blake2b(json.dumps([seed, *map(str, names)]).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


# -- prompts and their order -------------------------------------------------------------------------------------------

Shares = Literal["proportional", "equal"]


def sample_prompts(
    categories: Sequence[str | None], number: int, shares: Shares, *, rng: np.random.Generator
) -> list[int]:
    """`number` different places in `categories`, drawn at random within each category.

    proportional: every category gives its share of all, rounded up or down (largest remainders first). equal: all give
    the same, within one, unless a category has no more to give.
    """
    left = _quotas(Counter(categories), number, shares, rng)
    chosen = []
    for place in rng.permutation(len(categories)).tolist():
        if left[categories[place]]:
            left[categories[place]] -= 1
            chosen.append(place)
    return sorted(chosen)


def shared_order(categories: Sequence[str | None], shares: Shares, *, rng: np.random.Generator) -> list[int]:
    """All places in random order, so mixed that every beginning holds each category in its share.

    Each category's places are shuffled and spread over the whole: the k-th of n stands at k (equal shares) or at
    k / n (proportional), and all of a category are moved by one random part of a step.
    """
    size = Counter(categories)
    start = {category: rng.random() for category in sorted(size, key=str)}
    count: Counter[str | None] = Counter()
    times = np.zeros(len(categories))
    for place in rng.permutation(len(categories)).tolist():
        category = categories[place]
        times[place] = count[category] + start[category]
        if shares == "proportional":
            times[place] /= size[category]
        count[category] += 1
    order: list[int] = np.argsort(times, kind="stable").tolist()
    return order


def _quotas(size: Counter[str | None], number: int, shares: Shares, rng: np.random.Generator) -> Counter[str | None]:
    names = sorted(size, key=str)
    lot: dict[str | None, int] = dict(zip(names, rng.permutation(len(names)).tolist()))
    if shares == "proportional":
        exact = {name: number * size[name] / size.total() for name in names}
        quota = Counter({name: int(exact[name]) for name in names})
        by_rest = sorted(names, key=lambda name: (quota[name] - exact[name], lot[name]))
        quota.update(by_rest[: number - quota.total()])
        return quota
    quota = Counter()
    while quota.total() < min(number, size.total()):
        open_ones = sorted((name for name in names if quota[name] < size[name]), key=lot.__getitem__)
        quota.update(open_ones[: number - quota.total()])
    return quota


# -- sides and places --------------------------------------------------------------------------------------------------


def balanced_sides(pairs: Sequence[tuple[str, str]], *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(m,) is the first of each pair on the left? Every item is left as often as right, within one."""
    edges: list[tuple[str | None, str | None]] = list(pairs)
    at: dict[str | None, list[int]] = defaultdict(list)
    for number in rng.permutation(len(edges)).tolist():
        for item in edges[number]:
            at[item].append(number)
    odd = [item for item, numbers in at.items() if len(numbers) % 2]
    closing: list[tuple[str | None, str | None]] = [
        (None, item) for item in odd
    ]  # to a place outside: all degrees even
    for number, (_, item) in enumerate(closing, len(edges)):
        at[item].append(number)
        at[None].append(number)
    ends = edges + closing
    first_left = np.zeros(len(ends), bool)
    used = np.zeros(len(ends), bool)
    for start in list(at):
        _walk(start, at, ends, used, first_left)
    return first_left[: len(edges)]


def _walk(
    start: str | None,
    at: dict[str | None, list[int]],
    ends: list[tuple[str | None, str | None]],
    used: NDArray[np.bool_],
    first_left: NDArray[np.bool_],
) -> None:
    """Closed trails from `start` until no edge is left there: each edge is left from where it is walked."""
    here = start
    while at[here]:
        number = at[here].pop()
        if used[number]:
            continue
        used[number] = True
        first, second = ends[number]
        first_left[number] = first == here
        here = second if first == here else first


def rotated_order(items: Sequence[str], by: int, *, rng: np.random.Generator) -> tuple[str, ...]:
    """`items` in an order drawn at random, turned by `by` places."""
    order = [items[k] for k in rng.permutation(len(items)).tolist()]
    shift = by % len(order)
    return tuple(order[shift:] + order[:shift])


# -- places of planted questions ---------------------------------------------------------------------------------------


def plan_slots(
    ordinary: int, *, repeats: int = 0, gap: int = 0, gold: int = 0, attention: int = 0, rng: np.random.Generator
) -> tuple[Why, ...]:
    """The kind of question at every place of a run with `ordinary` ordinary ones.

    Planted questions are spread: one at a random place of each of so many equal stretches. A repeat stands where at
    least one earlier ordinary question is free to be repeated with `gap` questions in between; repeats that fit
    nowhere are left out (a run of 4 questions has no place for a gap of 10), and no question is repeated twice.
    """
    repeats = min(repeats, ordinary)
    total = ordinary + repeats + gold + attention
    due = sorted(
        [(_spread(place, gold, 0, total), "gold") for place in rng.random(gold) + np.arange(gold)]
        + [(_spread(place, attention, 0, total), "attention") for place in rng.random(attention) + np.arange(attention)]
        + [(_spread(place, repeats, gap + 1, total), "repeat") for place in rng.random(repeats) + np.arange(repeats)]
    )
    planned: list[Why] = []
    left = ordinary
    while left or due:
        chosen = _first_possible(due, planned, gap, at_any_time=not left)
        if chosen is not None:
            planned.append(due.pop(chosen)[1])  # type: ignore[arg-type]  # one of the three words above
        elif left:
            planned.append("ordinary")
            left -= 1
        else:
            break
    return tuple(planned)


def free_to_repeat(history: Sequence[tuple[Why, int | None]], gap: int) -> list[int]:
    """Places of ordinary questions that may be repeated next, from (why, place repeated) of all asked so far."""
    repeated = {source for why, source in history if why == "repeat"}
    far = history[: max(len(history) - gap, 0)]
    return [place for place, (why, _) in enumerate(far) if why == "ordinary" and place not in repeated]


def _spread(place: float, number: int, start: int, stop: int) -> float:
    return start + (stop - start) * place / number


def _first_possible(due: list[tuple[float, str]], planned: list[Why], gap: int, *, at_any_time: bool) -> int | None:
    """Index of the first planted question whose time has come and that can stand here."""
    for index, (time, why) in enumerate(due):
        if time > len(planned) and not at_any_time:
            return None
        far = planned[: max(len(planned) - gap, 0)]
        if why != "repeat" or far.count("ordinary") > planned.count("repeat"):
            return index
    return None
