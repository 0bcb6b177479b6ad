"""Ranking by pairwise questions: a merge sort that asks a person.

Items are inserted one after the other into the order so far, by halves: at most 5 questions for 4 items (6 would be
all pairs), 8 for 5 and, in general, the sum of ceil(log2(k)) for k = 2 ... p. Answers cannot contradict each other, so
no intransitive triple can be seen: the study's design is `merge_ranking`. "Equally good" puts an item into the rank of
the other, where ties are allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from salon.errors import BadValue

PairAnswer = Literal["first", "second", "tie"]


@dataclass(frozen=True)
class NextPair:
    """Which two places to ask about."""

    first: int
    second: int


@dataclass(frozen=True)
class Settled:
    """The order found: places by rank, best first."""

    tiers: tuple[tuple[int, ...], ...]


def most_questions(items: int) -> int:
    """Questions that are enough for any order of `items` items."""
    return sum(math.ceil(math.log2(k)) for k in range(2, items + 1))


def next_merge_step(items: int, answers: Sequence[PairAnswer]) -> NextPair | Settled:
    """What to ask after `answers`, or the order they settle. Places are 0 ... items - 1, as on the screen."""
    given = iter(answers)
    tiers: list[list[int]] = [[0]] if items else []
    for place in range(1, items):
        low, high = 0, len(tiers)
        while low < high:
            middle = (low + high) // 2
            pair = NextPair(place, tiers[middle][0])
            answer = next(given, None)
            if answer is None:
                return pair
            if answer == "tie":
                tiers[middle].append(place)
                break
            low, high = (low, middle) if answer == "first" else (middle + 1, high)
        else:
            tiers.insert(low, [place])
    if next(given, None) is not None:
        raise BadValue(
            "no more answers than questions are needed", found=f"{len(answers)} answers", where="the ranking"
        )
    return Settled(tuple(map(tuple, tiers)))
