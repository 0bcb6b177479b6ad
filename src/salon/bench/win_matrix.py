"""Who beats whom: for every two generators the share of answers won, and the chance that a fit gives it.

A share weighs every answer alike (a tie is half an answer for each side); its interval is the score interval over
prompts of `stats.prompt_means`, or Wilson's over answers where there are no two prompts. Neither is ever of zero width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.stats.behavior import wilson
from salon.stats.prompt_means import score_interval
from salon.stats.result import Estimate
from salon.study.noun import Noun

Ints = NDArray[np.int64]
TIE = 2


class Duel(Noun):
    """Two generators that met."""

    first: str
    second: str
    share: Estimate = Field(description="Share of answers that preferred the first; a tie is half an answer for each.")
    fitted: Estimate | None = Field(
        description="The chance that the board's scores give it, ties half; null where scores are no log-odds."
    )
    wins: int = Field(description="Answers for the first.")
    losses: int = Field(description="Answers for the second.")
    ties: int
    prompts: int


class WinMatrix(Noun):
    """All duels of one board. Each pair stands once, the generator that is better on the board first."""

    generators: tuple[str, ...] = Field(description="Best first: rows and columns of the matrix.")
    duels: tuple[Duel, ...]
    never_met: int = Field(description="Pairs of generators without an answer.")

    def duel(self, row: str, column: str) -> Duel | None:
        """The duel of two generators seen from `row`: shares turned where it stands the other way round."""
        for one in self.duels:
            if (one.first, one.second) == (row, column):
                return one
            if (one.first, one.second) == (column, row):
                return _turned(one)
        return None


def _turned(one: Duel) -> Duel:
    return Duel(
        first=one.second,
        second=one.first,
        share=_other(one.share),
        fitted=None if one.fitted is None else _other(one.fitted),
        wins=one.losses,
        losses=one.wins,
        ties=one.ties,
        prompts=one.prompts,
    )


def _other(share: Estimate) -> Estimate:
    return share.transform(lambda end: 1 - end)


def win_matrix(
    first: Ints,
    second: Ints,
    outcome: Ints,
    prompt: Ints,
    generators: Sequence[str],
    fitted: Callable[[int, int], Estimate | None],
    *,
    level: float = 0.95,
) -> WinMatrix | None:
    """All duels in answers about generators `first` and `second` (0: first, 1: second, 2: tie), None without any.

    Generators are numbered by their place among `generators`, best first; a prompt of -1 is a cluster of its own.
    """
    if not len(first):
        return None
    turned = first > second
    low, high = np.where(turned, second, first), np.where(turned, first, second)
    points = np.where(outcome == TIE, 0.5, ((outcome == 0) != turned).astype(float))
    keys, place = np.unique(low * len(generators) + high, return_inverse=True)
    order = np.argsort(place, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(place)))
    duels = tuple(
        _duel(divmod(int(key), len(generators)), points[rows], prompt[rows], generators, fitted, level)
        for key, rows in zip(keys, (order[s:e] for s, e in pairwise(ends)))
    )
    pairs = len(generators) * (len(generators) - 1) // 2
    return WinMatrix(generators=tuple(generators), duels=duels, never_met=pairs - len(duels))


def _duel(
    pair: tuple[int, int],
    points: NDArray[np.float64],
    prompt: Ints,
    generators: Sequence[str],
    fitted: Callable[[int, int], Estimate | None],
    level: float,
) -> Duel:
    alone = prompt < 0
    clusters, row = np.unique(np.where(alone, -1 - np.arange(len(prompt)), prompt), return_inverse=True)
    n = np.bincount(row)
    if len(clusters) > 1:
        share = score_interval(np.bincount(row, points) / n, n, level=level)
    else:
        share = wilson(points.sum(), len(points), level=level)
    return Duel(
        first=generators[pair[0]],
        second=generators[pair[1]],
        share=share,
        fitted=fitted(*pair),
        wins=int((points == 1).sum()),
        losses=int((points == 0).sum()),
        ties=int((points == 0.5).sum()),
        prompts=len(clusters) if not alone.all() else 0,
    )
