"""Judgments as plain integer arrays, for computing.

A view numbers items, raters, criteria and groups by their place in the study's own lists, so labels stay
outside the maths. A group is what items may be compared within: a prompt, a category, or the whole study.
Skipped judgments are left out of a view and counted in `skipped`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]

OUTCOMES = ("a", "b", "tie", "both_bad")
LEFTS = ("a", "b", "unknown")


@dataclass(frozen=True)
class Comparisons:
    """One entry per comparison."""

    criterion: Ints
    rater: Ints
    group: Ints
    a: Ints
    b: Ints
    outcome: NDArray[np.int8]
    """0 a is better, 1 b is better, 2 tie, 3 both bad."""
    left: NDArray[np.int8]
    """0 a was left, 1 b was left, 2 unknown."""
    repeat: NDArray[np.int16]
    seconds: NDArray[np.float64] | None
    skipped: int

    def __len__(self) -> int:
        return len(self.rater)


@dataclass(frozen=True)
class Rankings:
    """One entry per ranking; ranking r holds items[offsets[r]:offsets[r+1]], best first."""

    criterion: Ints
    rater: Ints
    group: Ints
    offsets: NDArray[np.int64]
    items: Ints
    ranks: Ints
    """1 = best; equal within a ranking = tie."""
    repeat: NDArray[np.int16]
    seconds: NDArray[np.float64] | None
    skipped: int

    def __len__(self) -> int:
        return len(self.rater)


@dataclass(frozen=True)
class Ratings:
    """One entry per rating."""

    criterion: Ints
    rater: Ints
    group: Ints
    item: Ints
    value: NDArray[np.float64]
    repeat: NDArray[np.int16]
    seconds: NDArray[np.float64] | None
    skipped: int

    def __len__(self) -> int:
        return len(self.rater)


View = Comparisons | Rankings | Ratings
"""Any of the three."""
