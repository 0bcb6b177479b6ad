"""Can these comparisons identify scores? Asked before every fit, answered by name.

Bradley-Terry and Thurstone: finite, unique scores exist exactly when every item can be reached from every other
along wins (a tie counts both ways): Ford 1957. Rating anchors hold their items together as if tied. A prior
identifies everything.

Davidson and Rao-Kupper need besides at least one tie (none: the boundary, where they are Bradley-Terry) and that the
tie parameter cannot run away: scores v and tau > 0 with v_i - v_j >= 2 tau for each win of i over j and
|v_i - v_j| <= 2 tau for each tied pair would raise the likelihood forever. Such v exist exactly when no cycle of the
graph holds more wins than ties (difference constraints; Bellman-Ford finds the cycle). One pair with a win each
way is such a cycle, so this bites only tiny studies, e.g. {A beats B, B ties C, C ties A}.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import NegativeCycleError, bellman_ford

from salon.errors import NotIdentified
from salon.stats.compiled import compiled
from salon.stats.graph import connectivity, dominance
from salon.stats.pair_counts import PairCounts

Ints = NDArray[np.int64]

_SWEEPS = 12
_SHOWN = 8
_REMEDY = "give a prior (--prior 3), collect comparisons that join them, or leave these items out"


def check_identified(counts: PairCounts, *, tie_parameter: bool, prior: bool, anchored: Ints) -> None:
    """Raise NotIdentified, naming items, where the maximum does not exist or is not unique."""
    decided = bool(np.any(counts.wins + counts.losses > 0))
    if tie_parameter and not decided:
        raise NotIdentified(
            "a tie parameter needs at least one answer that is not a tie",
            found=f"{counts.comparisons:g} ties and nothing else",
            remedy="fit bradley-terry, where every item then scores the same",
        )
    if prior:
        return
    holds = np.stack([anchored[:-1], anchored[1:]], axis=1)
    if not _all_reached(counts, holds):
        _name_the_unidentified(counts, holds)
    if tie_parameter and np.any(counts.ties > 0) and not np.any((counts.wins > 0) & (counts.losses > 0)):
        _check_tie_parameter(counts, holds)


def _all_reached(counts: PairCounts, holds: Ints) -> bool:
    """A quick yes: a few sweeps over the pairs reach every item from item 0, and item 0 from every item."""
    up, down = (counts.wins > 0) | (counts.ties > 0), (counts.losses > 0) | (counts.ties > 0)
    return all(_reach(counts.items, counts.i, counts.j, *way, holds, _SWEEPS) for way in ((up, down), (down, up)))


def _name_the_unidentified(counts: PairCounts, holds: Ints) -> None:
    """The full search for strong components, for graphs the sweeps did not settle."""
    won, lost, tied = counts.wins > 0, counts.losses > 0, counts.ties > 0
    pairs = np.stack([counts.i, counts.j], axis=1)
    ties = np.vstack([pairs[tied], holds])
    found = dominance(counts.items, np.vstack([pairs[won], pairs[lost][:, ::-1]]), ties)
    if found.identified:
        return
    islands = connectivity(counts.items, np.vstack([pairs, holds]), paths=False)
    parts = [
        _named("not compared", found.uncompared),
        _named("undefeated (score +infinity)", found.undefeated),
        _named("winless (score -infinity)", found.winless),
        "" if islands.connected else f"{islands.components} islands that share no scale: " + _members(islands.labels),
    ]
    if not any(parts):
        parts = [f"{found.components} sets of items of which one never lost to the other: " + _members(found.labels)]
    raise NotIdentified(
        "scores without a prior need every item to be reachable from every other by wins or ties",
        found="; ".join(part for part in parts if part),
        remedy=_REMEDY,
    )


def _named(what: str, items: Ints) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return f"{what}: items {', '.join(map(str, items[:_SHOWN]))}{more}" if len(items) else ""


def _members(labels: Ints) -> str:
    """The sets but the largest, which is the rest."""
    sizes = np.bincount(labels)
    small = np.argsort(-sizes, kind="stable")[1:4]
    return "; ".join(_named(f"one of {sizes[k]}", np.flatnonzero(labels == k)) for k in small)


def _check_tie_parameter(counts: PairCounts, holds: Ints) -> None:
    """Bellman-Ford on v_j - v_i <= -1 for a win of i over j, <= 1 for a tie (both ways), <= 0 for rating anchors."""
    won, lost, tied = counts.wins > 0, counts.losses > 0, counts.ties > 0
    i, j, a, b = counts.i, counts.j, holds[:, 0], holds[:, 1]
    start = np.concatenate([i[won], j[lost], a, b, i[tied], j[tied]])
    end = np.concatenate([j[won], i[lost], b, a, j[tied], i[tied]])
    bound = np.repeat([-1.0, 0.0, 1.0], [won.sum() + lost.sum(), 2 * len(holds), 2 * tied.sum()])
    _, tightest = np.unique(start * counts.items + end, return_index=True)  # the first of equals, and bounds rise
    graph = csr_array((bound[tightest], (start[tightest], end[tightest])), shape=(counts.items, counts.items))
    try:
        bellman_ford(graph, indices=0)
    except NegativeCycleError:
        return
    raise NotIdentified(
        "the tie parameter needs a cycle of answers with more wins than ties, e.g. a pair with a win each way",
        found="wins that all point one way: the likelihood rises as scores and tie parameter grow without end",
        remedy="give a prior (--prior 3), or fit bradley-terry",
    )


@compiled
def _reach(
    items: int, i: Ints, j: Ints, forward: NDArray[np.bool_], backward: NDArray[np.bool_], holds: Ints, sweeps: int
) -> bool:
    reached = np.zeros(items, np.bool_)
    reached[0] = True
    count = 1
    for _ in range(sweeps):
        before = count
        for k in range(len(i)):
            if forward[k] and reached[i[k]] and not reached[j[k]]:
                reached[j[k]] = True
                count += 1
            elif backward[k] and reached[j[k]] and not reached[i[k]]:
                reached[i[k]] = True
                count += 1
        for k in range(len(holds)):
            if reached[holds[k, 0]] != reached[holds[k, 1]]:
                reached[holds[k, 0]] = reached[holds[k, 1]] = True
                count += 1
        if count == items:
            return True
        if count == before:
            return False
    return False
