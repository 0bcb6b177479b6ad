"""The graph that comparisons form, and whether they identify scores.

`connectivity` looks at who was compared with whom, `dominance` at who beat whom; `check_identified` runs before every
fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats.comparisons import PairCounts
from salon.stats.jit import compiled_above
from salon.stats.result import described, result

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEW = 200_000  # elements that numpy looks at in less time than it takes to load machine code
_MUCH_WALKING, _SQUARABLE = 10_000_000, 4_000  # steps of a search worth a product, items whose product fits
_SOURCES_AT_ONCE = 256  # sources per shortest-path call: N x 256 distances in memory, never N x N


@result
class GraphShape:
    """The undirected graph: an edge joins two items that were compared at least once."""

    items: int = described("Items of the group.", title="Items")
    edges: int = described("Pairs of items that met.", title="Pairs met")
    fraction: float = described("Of all pairs.", title="Of all pairs", kind="percent", decimals=1)
    components: int = described("Islands: sets of items that no comparison joins.", title="Parts")
    degree_min: int = described("Fewest opponents of an item.")
    degree_max: int = described("Most opponents of an item.")
    degree_mean: float = described("Mean number of opponents.")
    diameter: int | None = described(
        "Longest shortest path between two items; null with islands or too many items.", title="Diameter"
    )
    mean_path: float | None = described(
        "Mean shortest path; null like the diameter.", title="Mean path", kind="number", decimals=2
    )


@dataclass(frozen=True, slots=True)
class Connectivity(GraphShape):
    """Health of a comparison graph: what a set of comparisons can and cannot tell about its items.

    Items are the nodes 0..N-1. `connectivity` looks at who was compared with whom (no direction): scores of items
    in different components share no scale, and long paths carry errors. `dominance` looks at who beat whom: the
    maximum-likelihood scores of Bradley-Terry are finite and unique exactly when the beats graph is one strongly
    connected component (Ford 1957), so an item that never lost, or never won, has no finite score.
    """

    labels: Ints
    """The component of each item."""

    @property
    def connected(self) -> bool:
        return self.components == 1


@dataclass(frozen=True, slots=True)
class Dominance:
    """The directed graph: an edge goes from a winner to the loser."""

    items: int
    components: int
    """Strongly connected components; 1 means that every item can be reached from every other by wins."""
    labels: Ints
    undefeated: Ints
    """Compared items that never lost or tied: their maximum-likelihood score is +infinity."""
    winless: Ints
    """Compared items that never won or tied: -infinity."""
    uncompared: Ints

    @property
    def identified(self) -> bool:
        """Whether Bradley-Terry scores exist, finite and unique, without a prior."""
        return self.components == 1


def connectivity(items: int, pairs: ArrayLike, *, paths: bool = True) -> Connectivity:
    """Components, degrees and path lengths of the graph of compared `pairs` (m, 2); repeats count once.

    With diameter 2 the mean path follows from the counts alone: (E + 2 (C - E)) / C = 2 - E/C, C = N(N-1)/2.
    Paths cost N breadth-first searches, O(N E); `paths=False` leaves them out.
    """
    rows = _edges(items, pairs)
    keys = np.unique(rows.min(axis=1) * items + rows.max(axis=1))
    return _connectivity(items, keys // items, keys % items, paths)


def counts_connectivity(counts: PairCounts, *, paths: bool = True) -> Connectivity:
    """`connectivity` of the pairs that met, which are sorted already."""
    return _connectivity(counts.items, counts.i, counts.j, paths)


def _connectivity(items: int, low: Ints, high: Ints, paths: bool) -> Connectivity:
    """The same of distinct pairs low < high sorted by (low, high)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    starts = np.searchsorted(low, np.arange(items + 1))
    matrix = csr_array((np.ones(len(high)), high, starts), shape=(items, items))
    components, labels = connected_components(matrix, directed=False)
    degree = np.bincount(low, minlength=items) + np.bincount(high, minlength=items)
    edges = len(low)
    diameter, mean_path = _paths(matrix) if paths and components == 1 else (None, None)
    return Connectivity(
        items=items,
        edges=edges,
        fraction=edges / (items * (items - 1) / 2),
        components=int(components),
        labels=labels.astype(np.int64),
        degree_min=int(degree.min()),
        degree_max=int(degree.max()),
        degree_mean=float(degree.mean()),
        diameter=diameter,
        mean_path=mean_path,
    )


def dominance(items: int, wins: ArrayLike, ties: ArrayLike = ()) -> Dominance:
    """Strong components of the beats graph. `wins` (m, 2): winner, loser; `ties` (m, 2), a tie beats both ways."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    won, tied = _edges(items, wins), _edges(items, ties)
    rows = np.vstack([won, tied, tied[:, ::-1]])
    matrix = csr_array((np.ones(len(rows)), (rows[:, 0], rows[:, 1])), shape=(items, items))
    matrix.sum_duplicates()
    components, labels = connected_components(matrix, directed=True, connection="strong")
    wins_of = np.diff(matrix.indptr) > 0
    loses = np.bincount(matrix.indices, minlength=items) > 0
    return Dominance(
        items=items,
        components=int(components),
        labels=labels.astype(np.int64),
        undefeated=np.flatnonzero(wins_of & ~loses),
        winless=np.flatnonzero(loses & ~wins_of),
        uncompared=np.flatnonzero(~loses & ~wins_of),
    )


def _edges(items: int, pairs: ArrayLike) -> Ints:
    if items < 2:
        raise TooFew("a comparison graph needs at least 2 items", found=items)
    rows = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if rows.size and (rows.min() < 0 or rows.max() >= items):
        raise BadValue(f"items must be 0..{items - 1}", found=rows[np.any((rows < 0) | (rows >= items), axis=1)][0])
    if np.any(rows[:, 0] == rows[:, 1]):
        raise BadValue("an item cannot be compared with itself", found=rows[rows[:, 0] == rows[:, 1]][0])
    return rows


def _paths(matrix: csr_array) -> tuple[int, float]:
    """Diameter and mean shortest path of a connected graph, given by the upper triangle.

    At a glance where every two items are neighbours or share one (dense designs are like that), else breadth first, a
    block of sources at a time.
    """
    from scipy.sparse.csgraph import shortest_path

    items, edges = matrix.shape[0], matrix.nnz
    if 2 * edges * items > _MUCH_WALKING and items <= _SQUARABLE and _within_two(matrix.indptr, matrix.indices, items):
        return (1 if 2 * edges == items * (items - 1) else 2), 2 - 2 * edges / (items * (items - 1))
    longest, total = 0, 0
    for start in range(0, items, _SOURCES_AT_ONCE):
        sources = np.arange(start, min(start + _SOURCES_AT_ONCE, items))
        distance = shortest_path(matrix, directed=False, unweighted=True, indices=sources)
        longest = max(longest, int(distance.max()))
        total += int(distance.sum())
    return longest, total / (items * (items - 1))


def _within_two_arrays(starts: Ints, j: Ints, items: int) -> bool:
    near = np.eye(items, dtype=np.float32)
    i = np.repeat(np.arange(items), np.diff(starts))
    near[i, j] = near[j, i] = 1
    return bool((near @ near > 0).all())


@compiled_above(_FEW, _within_two_arrays)
def _within_two(starts: Ints, j: Ints, items: int) -> bool:
    """Is every item a neighbour, or a neighbour's neighbour, of every other? Neighbours are bits, 64 in a word."""
    words = (items + 63) // 64
    near = np.zeros((items, words), np.uint64)
    for x in range(items):
        near[x, x >> 6] |= np.uint64(1) << np.uint64(x & 63)
        for k in range(starts[x], starts[x + 1]):
            neighbor = np.int64(j[k])
            near[x, neighbor >> 6] |= np.uint64(1) << np.uint64(neighbor & 63)
            near[neighbor, x >> 6] |= np.uint64(1) << np.uint64(x & 63)
    for x in range(items):
        for y in range(x + 1, items):
            shared = False
            for word in range(words):
                if near[x, word] & near[y, word]:
                    shared = True
                    break
            if not shared:
                return False
    return True


# -- identification ----------------------------------------------------------------------------------------------------


_SWEEPS = 12
_LISTED_ITEMS = 8
_REMEDY = "give a prior (--prior 3), collect comparisons that join them, or leave these items out"


def check_identified(counts: PairCounts, *, tie_parameter: bool, prior: bool, anchored: Ints) -> None:
    """Raise NotIdentified, naming items, where the maximum does not exist or is not unique.

    Can these comparisons identify scores? Asked before every fit, answered by name.

    Bradley-Terry and Thurstone: finite, unique scores exist exactly when every item can be reached from every other
    along wins (a tie counts both ways): Ford 1957. Rating anchors hold their items together as if tied. A prior
    identifies everything.

    Davidson and Rao-Kupper need besides at least one tie (none: the boundary, where they are Bradley-Terry) and that
    the
    tie parameter cannot run away: scores v and tau > 0 with v_i - v_j >= 2 tau for each win of i over j and
    |v_i - v_j| <= 2 tau for each tied pair would raise the likelihood forever. Such v exist exactly when no cycle of
    the
    graph holds more wins than ties (difference constraints; Bellman-Ford finds the cycle). One pair with a win each
    way is such a cycle, so this bites only tiny studies, e.g. {A beats B, B ties C, C ties A}.
    """
    if tie_parameter and not np.any(counts.wins + counts.losses > 0):
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
    return all(
        _reach(counts.items, counts.i, counts.j, *way, counts.ties, holds, _SWEEPS)
        for way in ((counts.wins, counts.losses), (counts.losses, counts.wins))
    )


def counts_dominance(counts: PairCounts, anchored: Ints | None = None) -> Dominance:
    """`dominance` of the pairs that met; items `anchored` by ratings hold together as if tied."""
    items, none = counts.items, np.zeros(0, np.int64)
    holds = np.zeros((0, 2), np.int64) if anchored is None else np.stack([anchored[:-1], anchored[1:]], axis=1)
    if _all_reached(counts, holds):
        return Dominance(items, 1, np.zeros(items, np.int64), none, none, none)
    won, lost, tied = counts.wins > 0, counts.losses > 0, counts.ties > 0
    pairs = np.stack([counts.i, counts.j], axis=1)
    return dominance(items, np.vstack([pairs[won], pairs[lost][:, ::-1]]), np.vstack([pairs[tied], holds]))


def _name_the_unidentified(counts: PairCounts, holds: Ints) -> None:
    """The full search for strong components, for graphs the sweeps did not settle."""
    won, lost, tied = counts.wins > 0, counts.losses > 0, counts.ties > 0
    pairs = np.stack([counts.i, counts.j], axis=1)
    ties = np.vstack([pairs[tied], holds])
    wins_graph = dominance(counts.items, np.vstack([pairs[won], pairs[lost][:, ::-1]]), ties)
    if wins_graph.identified:
        return
    islands = connectivity(counts.items, np.vstack([pairs, holds]), paths=False)
    parts = [
        _list_items("not compared", wins_graph.uncompared),
        _list_items("undefeated (score +infinity)", wins_graph.undefeated),
        _list_items("winless (score -infinity)", wins_graph.winless),
        "" if islands.connected else f"{islands.components} islands that share no scale: " + _members(islands.labels),
    ]
    if not any(parts):
        parts = [
            f"{wins_graph.components} sets of items of which one never lost to the other: "
            + _members(wins_graph.labels)
        ]
    raise NotIdentified(
        "scores without a prior need every item to be reachable from every other by wins or ties",
        found="; ".join(part for part in parts if part),
        remedy=_REMEDY,
    )


def _list_items(what: str, items: Ints) -> str:
    more = f" and {len(items) - _LISTED_ITEMS} more" if len(items) > _LISTED_ITEMS else ""
    return f"{what}: items {', '.join(map(str, items[:_LISTED_ITEMS]))}{more}" if len(items) else ""


def _members(labels: Ints) -> str:
    """The sets but the largest, which is the rest."""
    sizes = np.bincount(labels)
    small = np.argsort(-sizes, kind="stable")[1:4]
    return "; ".join(_list_items(f"one of {sizes[k]}", np.flatnonzero(labels == k)) for k in small)


def _check_tie_parameter(counts: PairCounts, holds: Ints) -> None:
    """Bellman-Ford on v_j - v_i <= -1 for a win of i over j, <= 1 for a tie (both ways), <= 0 for rating anchors."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import NegativeCycleError, bellman_ford

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


def _reach_arrays(
    items: int, i: Ints, j: Ints, wins: Floats, losses: Floats, ties: Floats, holds: Ints, sweeps: int
) -> bool:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    forward, backward = (wins > 0) | (ties > 0), (losses > 0) | (ties > 0)
    start = np.concatenate([i[forward], j[backward], holds[:, 0], holds[:, 1]])
    end = np.concatenate([j[forward], i[backward], holds[:, 1], holds[:, 0]])
    graph = csr_array((np.ones(len(start)), (start, end)), shape=(items, items))
    return len(breadth_first_order(graph, 0, return_predecessors=False)) == items


@compiled_above(_FEW, _reach_arrays)
def _reach(items: int, i: Ints, j: Ints, wins: Floats, losses: Floats, ties: Floats, holds: Ints, sweeps: int) -> bool:
    """Whether a few sweeps over the pairs reach every item from item 0 along wins and ties."""
    reached = np.zeros(items, np.bool_)
    reached[0] = True
    count = 1
    for _ in range(sweeps):
        before = count
        for k in range(len(i)):
            if reached[i[k]] == reached[j[k]]:
                continue
            if reached[i[k]] and (wins[k] > 0 or ties[k] > 0):
                reached[j[k]] = True
                count += 1
            elif reached[j[k]] and (losses[k] > 0 or ties[k] > 0):
                reached[i[k]] = True
                count += 1
            if count == items:
                return True
        for k in range(len(holds)):
            if reached[holds[k, 0]] != reached[holds[k, 1]]:
                reached[holds[k, 0]] = reached[holds[k, 1]] = True
                count += 1
        if count == items:
            return True
        if count == before:
            return False
    return False
