"""The next pair of an adaptive design: which group is behind with its budget, and what its answers tell so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.collect.chance import seeded
from salon.collect.design import next_adaptive_pair
from salon.collect.runs import PairGroup, Run
from salon.collect.tally import Tallies


@dataclass(frozen=True)
class _Standing:
    """What is known about the m pairs of a group."""

    votes: NDArray[np.float64]
    """(m, 3) first better, second better, tie; all criteria of a screen together."""
    awaited: NDArray[np.int64]
    """(m,) asked and not answered yet."""
    answers: NDArray[np.int64]
    """(m,) raters who answered."""
    raters: int
    """Who answered anything."""


def budget(run: Run, group: PairGroup) -> int:
    """Answers an adaptive design spends on one group."""
    return run.phase.design.pairs_of(group.items) * run.phase.stop.raters_each


def most_telling(run: Run, tallies: Tallies, *, rater: str, number: int, now: int, seen: Iterable[int]) -> int | None:
    """The most telling unit of the group that has had the smallest part of its budget; None when all is spent."""
    seen = list(seen)
    rng = seeded(run.seed, "adaptive", *run.name, rater, len(seen))
    free = run.allowed(number).copy()
    free[seen] = False
    spent = []
    for place, group in enumerate(run.pair_groups):
        used = _spent(run, group, tallies, now) / budget(run, group)
        if used < 1 and free[group.units].any():
            spent.append((used, rng.random(), place))
    if not spent:
        return None
    group = run.pair_groups[min(spent)[2]]
    known = _standing(run, group, tallies, now)
    chosen = next_adaptive_pair(
        group.items,
        group.pairs,
        known.votes,
        known.awaited,
        free[group.units],
        surplus=_surplus(group, known, np.isin(group.units, seen)),
        rng=rng,
    )
    return None if chosen is None else int(group.units[chosen])


def _spent(run: Run, group: PairGroup, tallies: Tallies, now: int) -> int:
    """Answers a group has had, and those it awaits."""
    begun = tallies.begun(run.keys[unit] for unit in group.units)
    return sum(len(tally.raters) + tally.awaited(now) for _, tally in begun)


def _standing(run: Run, group: PairGroup, tallies: Tallies, now: int) -> _Standing:
    pairs = len(group.units)
    votes, awaited, answers = np.zeros((pairs, 3)), np.zeros(pairs, np.int64), np.zeros(pairs, np.int64)
    raters: set[str] = set()
    for row, tally in tallies.begun(run.keys[unit] for unit in group.units):
        first, second = run.units[group.units[row]].items
        for counted in tally.votes.values():
            votes[row] += counted[first], counted[second], counted["tie"] + counted["both_bad"]
        awaited[row], answers[row] = tally.awaited(now), len(tally.raters)
        raters |= tally.raters
    return _Standing(votes, awaited, answers, len(raters))


def _surplus(group: PairGroup, known: _Standing, mine: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(items,) how many more questions about each item this rater had than the others who answered, on average."""
    own = np.bincount(group.pairs[mine].ravel(), minlength=group.items)
    everybody = np.bincount(group.pairs.ravel(), np.repeat(known.answers, 2), group.items)
    return own - everybody / max(known.raters, 1)
