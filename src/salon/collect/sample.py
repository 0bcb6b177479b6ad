"""Prompts drawn at random by category, and orders in which categories keep their shares from the start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

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
    seen: Counter[str | None] = Counter()
    times = np.zeros(len(categories))
    for place in rng.permutation(len(categories)).tolist():
        category = categories[place]
        times[place] = seen[category] + start[category]
        if shares == "proportional":
            times[place] /= size[category]
        seen[category] += 1
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
