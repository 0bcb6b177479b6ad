"""The next pair of an adaptive design: which group is behind with its budget, and what its answers tell so far."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from salon.collect.chance import seeded
from salon.collect.design import next_adaptive_pair
from salon.collect.runs import PairGroup, Run
from salon.collect.tally import Tallies


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
        used = _answers(run, group, tallies, now) / budget(run, group)
        if used < 1 and free[group.units].any():
            spent.append((used, rng.random(), place))
    if not spent:
        return None
    group = run.pair_groups[min(spent)[2]]
    votes, awaited = _votes(run, group, tallies, now)
    chosen = next_adaptive_pair(group.items, group.pairs, votes, awaited, free[group.units], rng=rng)
    return None if chosen is None else int(group.units[chosen])


def _answers(run: Run, group: PairGroup, tallies: Tallies, now: int) -> int:
    """Answers a group has had, and those it awaits."""
    begun = tallies.begun(run.keys[unit] for unit in group.units)
    return sum(len(tally.raters) + tally.awaited(now) for _, tally in begun)


def _votes(run: Run, group: PairGroup, tallies: Tallies, now: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(m, 3) votes, all criteria of a screen together, and (m,) awaited answers of a group's pairs."""
    votes, awaited = np.zeros((len(group.units), 3)), np.zeros(len(group.units), np.int64)
    for row, tally in tallies.begun(run.keys[unit] for unit in group.units):
        first, second = run.units[group.units[row]].items
        for counted in tally.votes.values():
            votes[row] += counted[first], counted[second], counted["tie"] + counted["both_bad"]
        awaited[row] = tally.awaited(now)
    return votes, awaited
