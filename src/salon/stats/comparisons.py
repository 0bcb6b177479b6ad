"""Comparisons as counts, the graph that they form, and whether they identify scores.

`count_pairs` counts comparisons by pair; `connectivity` and `dominance` describe the graph of items; `check_identified`
runs before every fit.

Every model of comparisons here depends on the data only through, for each pair i < j, the number of answers
that preferred i, that preferred j, and that called a tie. Ten million comparisons of a thousand items become at
most 499,500 rows, so everything after this one pass costs the same for any number of raters.

Outcome codes: 0 = a is better, 1 = b is better, 2 = tie. A weight w counts an answer as w equal answers.

Two ways to the same rows: a table with one place per pair where items are few (one pass, random access in a
table that fits a cache), sorted keys where they are many (at most 24 bytes of working memory per comparison).
Unweighted counts are integers and exact; weighted ones are sums in the order of the comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats.jit import compiled, compiled_above
from salon.stats.result import described, result

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEW = 200_000  # elements that numpy counts in less time than it takes to load machine code
_TABLE_PAIRS = 5_000_000  # about 3,160 items: 160 MB of tables
_BLOCK = 4096
_BITS = 21  # three counts share 64 bits; they are emptied before any can overflow
_FULL = (1 << _BITS) - 1


@dataclass(frozen=True, slots=True)
class PairCounts:
    """One row for each pair of items that met: i < j, sorted by (i, j), each pair once."""

    items: int
    i: Ints
    j: Ints
    wins: Floats
    """Answers (or their weight) that preferred i."""
    losses: Floats
    """Answers that preferred j."""
    ties: Floats

    def __post_init__(self) -> None:
        """Every array in one piece: for another layout all that is compiled for counts would be compiled once more."""
        for name in ("i", "j", "wins", "losses", "ties"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))

    @property
    def comparisons(self) -> float:
        """All answers, or their weight."""
        return float(self.wins.sum() + self.losses.sum() + self.ties.sum())


def count_pairs(
    a: ArrayLike, b: ArrayLike, outcome: ArrayLike, items: int, *, weight: ArrayLike | None = None
) -> PairCounts:
    """Counts of the comparisons of items `a` with items `b`; outcome 0 (a), 1 (b) or 2 (tie)."""
    arrays = check_comparisons(a, b, outcome, items, weight)
    pairs = items * (items - 1) // 2
    count = _by_table if pairs <= min(_TABLE_PAIRS, 4 * len(arrays[0])) else _by_sorting
    return PairCounts(items, *count(*arrays, items))


def check_comparisons(
    a: ArrayLike, b: ArrayLike, outcome: ArrayLike, items: int, weight: ArrayLike | None = None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Floats]:
    """a, b, outcome as they came (no copies of integer arrays) and the weights, empty when there are none."""
    first, second, won = (_integers(x, name) for x, name in ((a, "a"), (b, "b"), (outcome, "outcome")))
    heavy = np.empty(0) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    if items < 2:
        raise TooFew("comparisons need at least 2 items", found=items)
    shapes = [x.shape for x in (first, second, won)] + ([] if weight is None else [heavy.shape])
    if len(set(shapes)) > 1 or first.ndim != 1:
        raise BadValue("a, b, outcome and weight must be equally long", found=", ".join(map(str, shapes)))
    if not len(first):
        raise TooFew("at least one comparison is needed", found="none")
    if not _all_valid(first, second, won, items):
        raise _comparison_error(first, second, won, items)
    wrong = ~((heavy > 0) & (heavy < np.inf))
    if wrong.any():
        k = int(np.argmax(wrong))
        raise BadValue("a weight must be a positive number", found=heavy[k], where=f"comparison {k}")
    return first, second, won, heavy


def _integers(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.ascontiguousarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise BadValue(f"{name} must hold integers", found=f"{array.dtype}")
    return array if array.size else array.astype(np.int64)


def _all_valid_arrays(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int) -> bool:
    items_fine = min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) < items and not (a == b).any()
    return bool(items_fine and outcome.min() >= 0 and outcome.max() <= 2)


@compiled_above(_FEW, _all_valid_arrays)
def _all_valid(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int) -> bool:
    fine = True
    for k in range(len(a)):
        x, y, o = a[k], b[k], outcome[k]
        fine &= (x >= 0) & (y >= 0) & (x < items) & (y < items) & (x != y) & (o >= 0) & (o <= 2)
    return fine


def _comparison_error(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int) -> BadValue:
    """The error that names the first comparison that is not fine."""
    outside = (a < 0) | (b < 0) | (a >= items) | (b >= items)
    k = int(np.argmax(outside | (a == b) | (outcome < 0) | (outcome > 2)))
    where = f"comparison {k}"
    if outside[k]:
        return BadValue(f"items are numbered 0 to {items - 1}", found=f"{a[k]} and {b[k]}", where=where)
    if a[k] == b[k]:
        return BadValue("an item cannot be compared with itself", found=a[k], where=where)
    return BadValue("an outcome is 0 (a is better), 1 (b is better) or 2 (tie)", found=outcome[k], where=where)


@compiled
def _outcome_from_lower(a: Any, b: Any, outcome: Any) -> Any:
    """The outcome seen from the lower item: 0 and 1 change places when that is b."""
    return outcome ^ ((b < a) & (outcome < 2))


# ---------------------------------------------------------------------------------------------- few items: a table
def _by_table(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats, items: int
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    table = np.zeros((items * (items - 1) // 2, 3))
    if len(weight):
        _add_weights(a, b, outcome, weight, items, table)
    else:
        for start in range(0, len(a), _FULL):
            part = slice(start, start + _FULL)
            _add_counts(a[part], b[part], outcome[part], items, table)
    rows: tuple[Ints, Ints, Floats, Floats, Floats] = _met_pairs(table, items)
    return rows


@compiled
def _place(low: Any, high: Any, items: int) -> Any:
    """Place of the pair low < high among all pairs sorted by (low, high)."""
    return low * (2 * items - low - 3) // 2 + high - 1


def _add_counts_arrays(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int, table: Floats) -> None:
    _add_weights_arrays(a, b, outcome, None, items, table)


@compiled_above(_FEW, _add_counts_arrays)
def _add_counts(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int, table: Floats) -> None:
    """At most _FULL comparisons: the small packed table stays in the cache, and blocks keep its accesses apart."""
    packed = np.zeros(len(table), np.uint64)
    places, increments = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint64)
    for start in range(0, len(a), _BLOCK):
        size = min(_BLOCK, len(a) - start)
        for k in range(size):
            x, y = np.int64(a[start + k]), np.int64(b[start + k])
            places[k] = _place(min(x, y), max(x, y), items)
            increments[k] = np.uint64(1) << np.uint64(_BITS * _outcome_from_lower(x, y, np.int64(outcome[start + k])))
        for k in range(size):
            packed[places[k]] += increments[k]
    for row in range(len(table)):
        table[row, 0] += packed[row] & np.uint64(_FULL)
        table[row, 1] += (packed[row] >> np.uint64(_BITS)) & np.uint64(_FULL)
        table[row, 2] += packed[row] >> np.uint64(2 * _BITS)


def _add_weights_arrays(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats | None, items: int, table: Floats
) -> None:
    x, y, won = a.astype(np.int64), b.astype(np.int64), outcome.astype(np.int64)
    place = _place.loop(np.minimum(x, y), np.maximum(x, y), items)
    table += np.bincount(3 * place + _outcome_from_lower.loop(x, y, won), weight, table.size).reshape(table.shape)


@compiled_above(_FEW, _add_weights_arrays)
def _add_weights(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats, items: int, table: Floats
) -> None:
    for k in range(len(a)):
        x, y = np.int64(a[k]), np.int64(b[k])
        table[_place(min(x, y), max(x, y), items), _outcome_from_lower(x, y, np.int64(outcome[k]))] += weight[k]


def _met_pairs_arrays(table: Floats, items: int) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    met = np.flatnonzero(table.any(axis=1))
    wins, losses, ties = table[met].T.copy()
    before = np.cumsum(np.arange(items - 1, 0, -1))  # pairs whose lower item is 0, or at most 1, ...
    low = np.searchsorted(before, met, side="right")
    return low, met - _place.loop(low, 0, items), wins, losses, ties


@compiled_above(_FEW, _met_pairs_arrays)
def _met_pairs(table: Floats, items: int) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """The rows of the table that hold anything."""
    rows = 0
    for k in range(len(table)):
        rows += table[k, 0] + table[k, 1] + table[k, 2] > 0
    i, j = np.empty(rows, np.int64), np.empty(rows, np.int64)
    wins, losses, ties = np.empty(rows), np.empty(rows), np.empty(rows)
    k, row = 0, 0
    for low in range(items - 1):
        for high in range(low + 1, items):
            if table[k, 0] + table[k, 1] + table[k, 2] > 0:
                i[row], j[row] = low, high
                wins[row], losses[row], ties[row] = table[k, 0], table[k, 1], table[k, 2]
                row += 1
            k += 1
    return i, j, wins, losses, ties


# -------------------------------------------------------------------------------------------- many items: sorted keys
def _by_sorting(
    a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], weight: Floats, items: int
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    keys = _keys(a, b, outcome, items)
    if len(weight):
        order = np.argsort(keys, kind="stable")
        keys, weight = keys[order], weight[order]
    else:
        keys.sort()
    rows: tuple[Ints, Ints, Floats, Floats, Floats] = _runs(keys, weight, items)
    return rows


def _keys_arrays(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int) -> Ints:
    x, y, won = a.astype(np.int64), b.astype(np.int64), outcome.astype(np.int64)
    keys = (np.minimum(x, y) * items + np.maximum(x, y)) * 4 + _outcome_from_lower.loop(x, y, won)
    return np.asarray(keys, np.int64)


@compiled_above(_FEW, _keys_arrays)
def _keys(a: NDArray[Any], b: NDArray[Any], outcome: NDArray[Any], items: int) -> Ints:
    """(lower item, higher item, outcome seen from the lower) packed into one sortable integer each."""
    keys = np.empty(len(a), np.int64)
    for k in range(len(a)):
        x, y = np.int64(a[k]), np.int64(b[k])
        keys[k] = (min(x, y) * items + max(x, y)) * 4 + _outcome_from_lower(x, y, np.int64(outcome[k]))
    return keys


def _runs_arrays(keys: Ints, weight: Floats, items: int) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    pairs, row = np.unique(keys >> 2, return_inverse=True)
    places = 3 * row + (keys & 3)
    table = np.bincount(places, weight if len(weight) else None, 3 * len(pairs)).astype(np.float64).reshape(-1, 3)
    return pairs // items, pairs % items, *table.T.copy()


@compiled_above(_FEW, _runs_arrays)
def _runs(keys: Ints, weight: Floats, items: int) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Sums over equal pairs in sorted keys."""
    rows = 1
    for k in range(1, len(keys)):
        rows += keys[k] >> 2 != keys[k - 1] >> 2
    i, j = np.empty(rows, np.int64), np.empty(rows, np.int64)
    wins, losses, ties = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    row = -1
    for k in range(len(keys)):
        pair, outcome = keys[k] >> 2, keys[k] & 3
        if k == 0 or pair != keys[k - 1] >> 2:
            row += 1
            i[row], j[row] = pair // items, pair % items
        w = weight[k] if len(weight) else 1.0
        if outcome == 0:
            wins[row] += w
        elif outcome == 1:
            losses[row] += w
        else:
            ties[row] += w
    return i, j, wins, losses, ties


# -- the comparison graph ----------------------------------------------------------------------------------------------


_MUCH_WALKING, _SQUARABLE = 10_000_000, 4_000  # steps of a search worth a product, items whose product fits
_SOURCES_AT_ONCE = 256  # sources per shortest-path call: N x 256 distances in memory, never N x N


@result
class GraphShape:
    """The undirected graph: an edge joins two items that were compared at least once."""

    items: int = described("Items of the group.")
    edges: int = described("Pairs of items that met.")
    fraction: float = described("Of all pairs.")
    components: int = described("Islands: sets of items that no comparison joins.")
    degree_min: int = described("Fewest opponents of an item.")
    degree_max: int = described("Most opponents of an item.")
    degree_mean: float = described("Mean number of opponents.")
    diameter: int | None = described("Longest shortest path between two items; null with islands or too many items.")
    mean_path: float | None = described("Mean shortest path; null like the diameter.")


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
    from scipy.sparse.csgraph import connected_components

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
    from scipy.sparse.csgraph import connected_components

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
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(len(rows)), (rows[:, 0], rows[:, 1])), shape=(items, items))
    matrix.sum_duplicates()
    return matrix


def _paths(matrix: csr_array) -> tuple[int, float]:
    """Diameter and mean shortest path of a connected graph: at a glance where every two items are neighbours or share
    one (dense designs are like that), else breadth first, a block of sources at a time."""
    from scipy.sparse.csgraph import shortest_path

    items = matrix.shape[0]
    if matrix.nnz * items > _MUCH_WALKING and items <= _SQUARABLE and _within_two(matrix):
        return (1 if matrix.nnz == items * (items - 1) else 2), 2 - matrix.nnz / (items * (items - 1))
    longest, total = 0, 0
    for start in range(0, items, _SOURCES_AT_ONCE):
        sources = np.arange(start, min(start + _SOURCES_AT_ONCE, items))
        distance = shortest_path(matrix, directed=False, unweighted=True, indices=sources)
        longest = max(longest, int(distance.max()))
        total += int(distance.sum())
    return longest, total / (items * (items - 1))


def _within_two(matrix: csr_array) -> bool:
    """Is every item a neighbour, or a neighbour's neighbour, of every other? One product of dense matrices."""
    near = (matrix.toarray() > 0).astype(np.float32) + np.eye(matrix.shape[0], dtype=np.float32)
    return bool((near @ near > 0).all())


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
    # A quick yes: a few sweeps over the pairs reach every item from item 0, and item 0 from every item.
    all_reached = all(
        _reach(counts.items, counts.i, counts.j, *way, counts.ties, holds, _SWEEPS)
        for way in ((counts.wins, counts.losses), (counts.losses, counts.wins))
    )
    if not all_reached:
        _name_the_unidentified(counts, holds)
    if tie_parameter and np.any(counts.ties > 0) and not np.any((counts.wins > 0) & (counts.losses > 0)):
        _check_tie_parameter(counts, holds)


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
