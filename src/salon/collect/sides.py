"""Who stands left and who right.

Pairs. The pairs of a design are edges of a graph. Walking along closed trails and putting the item one comes from on
the left gives every item as many left as right places, within one (an Eulerian orientation). Raters of a cohort are
taken two by two in the order they came: both get the same trails, the second walks backwards. So every pair is shown
as often one way as the other, within one over all such couples, and a lean to one side favours no item.

Several items. Each set of items has an order drawn at random, turned by one place from rater to rater: over p raters
every item stands once in every place.

A repeat is shown the other way round: whoever always takes the left contradicts themselves every time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


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


def turned(items: Sequence[str], by: int, *, rng: np.random.Generator) -> tuple[str, ...]:
    """`items` in an order drawn at random, turned by `by` places."""
    drawn = [items[k] for k in rng.permutation(len(items)).tolist()]
    shift = by % len(drawn)
    return tuple(drawn[shift:] + drawn[:shift])
