"""Health of a comparison graph: what a set of comparisons can and cannot tell about its items.

Items are the nodes 0..N-1. `connectivity` looks at who was compared with whom (no direction): scores of items
in different components share no scale, and long paths carry errors. `dominance` looks at who beat whom: the
maximum-likelihood scores of Bradley-Terry are finite and unique exactly when the beats graph is one strongly
connected component (Ford 1957), so an item that never lost, or never won, has no finite score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from salon.errors import BadValue, TooFew

Ints = NDArray[np.int64]

_MUCH_WALKING, _SQUARABLE = 10_000_000, 4_000  # steps of a search worth a product, items whose product fits
_BLOCK = 256  # sources per shortest-path call: N x 256 distances in memory, never N x N


@dataclass(frozen=True, slots=True)
class Connectivity:
    """The undirected graph: an edge joins two items that were compared at least once."""

    items: int
    edges: int
    fraction: float
    """Edges / all N(N-1)/2 pairs."""
    components: int
    labels: Ints
    """The component of each item."""
    degree_min: int
    degree_max: int
    degree_mean: float
    diameter: int | None
    """The longest shortest path; None where the graph falls apart or paths were not asked for."""
    mean_path: float | None
    """Mean shortest path over all pairs of items; None as for the diameter."""

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
    matrix = _matrix(items, np.vstack([rows, rows[:, ::-1]]))
    components, labels = connected_components(matrix, directed=False)
    degree = np.diff(matrix.indptr)
    edges = matrix.nnz // 2
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
    won, tied = _edges(items, wins), _edges(items, ties)
    matrix = _matrix(items, np.vstack([won, tied, tied[:, ::-1]]))
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


def _matrix(items: int, rows: Ints) -> csr_array:
    matrix = csr_array((np.ones(len(rows)), (rows[:, 0], rows[:, 1])), shape=(items, items))
    matrix.sum_duplicates()
    return matrix


def _paths(matrix: csr_array) -> tuple[int, float]:
    """Diameter and mean shortest path of a connected graph: at a glance where every two items are neighbours or share
    one (dense designs are like that), else breadth first, a block of sources at a time."""
    items = matrix.shape[0]
    if matrix.nnz * items > _MUCH_WALKING and items <= _SQUARABLE and _within_two(matrix):
        return (1 if matrix.nnz == items * (items - 1) else 2), 2 - matrix.nnz / (items * (items - 1))
    longest, total = 0, 0
    for start in range(0, items, _BLOCK):
        sources = np.arange(start, min(start + _BLOCK, items))
        distance = shortest_path(matrix, directed=False, unweighted=True, indices=sources)
        longest = max(longest, int(distance.max()))
        total += int(distance.sum())
    return longest, total / (items * (items - 1))


def _within_two(matrix: csr_array) -> bool:
    """Is every item a neighbour, or a neighbour's neighbour, of every other? One product of dense matrices."""
    near = (matrix.toarray() > 0).astype(np.float32) + np.eye(matrix.shape[0], dtype=np.float32)
    return bool((near @ near > 0).all())
