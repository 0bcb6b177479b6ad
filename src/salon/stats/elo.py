"""Elo, compiled: points that move with every comparison, in the order the comparisons come.

Update, for a comparison of i and j with o points for i (1 won, 1/2 tied, 0 lost):

    E = s((q_i - q_j) / tau),   q_i += K (o - E),   q_j -= K (o - E),   s(x) = 1 / (1 + exp(-x))

tau = scale / ln 10, so that `scale` points are a factor of ten in the odds: 400 is chess's habit.

* `sequential_elo`: one pass in the given order (arena style). The order matters: the last comparisons weigh most.
* `averaged_elo`: the mean of one pass over many seeded shuffles, and the standard deviation over them.
* `elo_scores`: many shuffled passes, K falling by `decay` after each. The scores settle near the Bradley-Terry fit.
* `anchored_elo`: the same, with items of known rating (rating anchors): a comparison that holds one moves by
  `k_anchor` instead of `k`, and after each pass every rating anchor moves q <- q + pull (target - q).

The last pass is a poor estimate twice over: its scores still jump by about K (15 points after 150 passes), and a pull
that stays while K falls drags rating anchors ever closer to their targets, whatever the comparisons say, so that more
passes give another answer. `settled` mends both: the pull falls with K, so both keep one balance, and the result is the
mean over the second half of the passes (Polyak and Juditsky 1992).

Elo maximises no likelihood and has no standard error of its own. It is here because the papers rank that way; for
scores with errors use Bradley-Terry. `spread` is the chance of the order alone, not of the sample.

Assumptions: comparisons are exchangeable (all but `sequential_elo` shuffle them). Edges: an item without comparisons
keeps the start (a rating anchor moves to its target); NaN, unknown outcomes, items out of range and an item compared
with itself raise BadValue; no comparisons raise TooFew. An undefeated item is finite, because passes are.
Defaults of EloSettings are PPaint's Table 11; it gives no tau, so 400/ln 10 stands in. Source: Elo 1978; PPaint C.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.jit import compiled, inlined

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Comparisons = tuple[IntArray, IntArray, IntArray]

POINTS = np.array([1.0, 0.0, 0.5])
"""Points of the first item by outcome code: 0 it is better, 1 the second is better, 2 tie."""

_LN10 = math.log(10.0)
_REACH, _STEPS = 10, 64  # the table of s(x) spans -10 to 10 in steps of 1/64: 10 kB, at home in the nearest cache
_TABLE = 1 / (1 + np.exp(-np.arange(-_REACH * _STEPS, _REACH * _STEPS + 1) / _STEPS))


@dataclass(frozen=True, slots=True)
class EloSettings:
    """How many-pass Elo runs; the defaults are PPaint's, with the usual tau where it gives none."""

    start: float = 1500.0
    k: float = 32.0
    k_anchor: float = 6.0
    """Step of a comparison that holds a rating anchor."""
    decay: float = 0.995
    """Both steps shrink by this factor after each pass."""
    passes: int = 150
    pull: float = 0.15
    """Share of the way to its target that a rating anchor moves after each pass."""
    gap: float = 400.0
    """Points between neighbouring rating levels."""
    tau: float = 400.0 / _LN10
    """Points per logit."""
    settled: bool = False
    """The pull falls with the steps, and scores are the mean over the second half of the passes; False is PPaint's
    rule: a constant pull, and the last pass."""

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if not low < value <= high:  # also refuses NaN
                raise BadValue(f"{name} lies above {low:g} and is at most {high:g}", found=value)
        if not 0 <= self.pull <= 1:
            raise BadValue("pull lies between 0 and 1", found=self.pull)
        if not (math.isfinite(self.start) and math.isfinite(self.gap)):
            raise BadValue("start and gap are finite", found=f"{self.start}, {self.gap}")

    def targets(self, levels: ArrayLike, *, middle: float = 3.0) -> FloatArray:
        """Where rating anchors of these rating levels are pulled: start + gap (level - middle)."""
        return np.asarray(self.start + self.gap * (np.asarray(levels, dtype=np.float64) - middle), dtype=np.float64)


_LARGEST = float(np.finfo(np.float64).max)
_RANGES = (
    ("k", 0.0, _LARGEST),
    ("k_anchor", 0.0, _LARGEST),
    ("decay", 0.0, 1.0),
    ("passes", 0, 10**9),
    ("tau", 0.0, _LARGEST),
)


@dataclass(frozen=True, slots=True)
class EloFit:
    """Elo averaged over orders of the comparisons."""

    scores: FloatArray
    """Mean over the shuffles."""
    spread: FloatArray
    """Standard deviation over the shuffles: how far one order may lie from another."""
    shuffles: int

    @property
    def error(self) -> FloatArray:
        """Standard error of the mean that is left because the shuffles are finitely many."""
        return self.spread / math.sqrt(self.shuffles)


def sequential_elo(
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    items: int,
    *,
    k: float = 4.0,
    scale: float = 400.0,
    start: float = 1000.0,
    order: ArrayLike | None = None,
) -> FloatArray:
    """Scores (items,) after one pass in the rows' own order, or in `order` (row numbers).

    Outcome codes: 0 a is better, 1 b is better, 2 tie.
    """
    first, second, codes = _columns(a, b, outcome)
    if order is not None:
        rows = _rows(np.asarray(order), len(first))
        first, second, codes = first[rows], second[rows], codes[rows]
    settings = EloSettings(start=start, k=k, tau=scale / _LN10)
    scores = np.full(items, settings.start, dtype=np.float64)
    bad = _checked_pass(first, second, codes, float(settings.k), 1 / settings.tau, scores)
    if bad >= 0:
        raise _complaint(first, second, codes, bad, items)
    return scores


def averaged_elo(
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    items: int,
    *,
    shuffles: int = 100,
    rng: np.random.Generator,
    k: float = 4.0,
    scale: float = 400.0,
    start: float = 1000.0,
) -> EloFit:
    """One pass over each of `shuffles` random orders: mean and standard deviation of the scores."""
    if shuffles < 2:
        raise TooFew("the spread over orders needs at least two shuffles", found=shuffles)
    settings = EloSettings(start=start, k=k, tau=scale / _LN10)
    packed = _pack(*_columns(a, b, outcome), items)
    nobody = np.zeros(items, dtype=np.bool_)
    mean, squares = np.zeros(items), np.zeros(items)
    for shuffle in range(1, shuffles + 1):
        rng.shuffle(packed)  # in place: ten million comparisons cost no second array
        scores = np.full(items, settings.start, dtype=np.float64)
        _pass(packed, float(settings.k), float(settings.k), nobody, 1 / settings.tau, scores)
        away = scores - mean
        mean += away / shuffle
        squares += away * (scores - mean)
    return EloFit(mean, np.sqrt(squares / (shuffles - 1)), shuffles)


def anchored_elo(
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    items: int,
    *,
    anchors: ArrayLike,
    targets: ArrayLike,
    rng: np.random.Generator,
    settings: EloSettings | None = None,
    rows: ArrayLike | None = None,
    total: int | None = None,
) -> FloatArray:
    """Scores (items,) held to the rating scale by `anchors`, the items pulled to `targets` (in points).

    Outcome codes: 0 the first is better, 1 the second is better, 2 tie. Without anchors this is `elo_scores`.
    `rows`: these are rows of a longer list of `total` comparisons, and come in the order that list would be shuffled
    to; two parts of a list then differ by their comparisons alone, not by the luck of the shuffle.
    """
    anchor_items, goal = _check_anchors(np.asarray(anchors), np.asarray(targets, dtype=np.float64), items)
    chosen = settings or EloSettings()
    packed = _pack(*_columns(first, second, outcome), items)
    place = None if rows is None else _places(np.asarray(rows), len(packed), total)
    slow = np.zeros(items, dtype=np.bool_)
    slow[anchor_items] = True
    scores = np.full(items, chosen.start, dtype=np.float64)
    total_scores = np.zeros(items)
    first_kept = chosen.passes // 2 if chosen.settled else chosen.passes - 1
    for number in range(chosen.passes):
        shrunk = chosen.decay**number
        pull = chosen.pull * (shrunk if chosen.settled else 1.0)
        order = rng.permutation(len(packed) if place is None else len(place))  # one order in memory, never all passes'
        if place is not None:
            order = place[order]
            order = order[order >= 0]
        _pass(packed[order], chosen.k * shrunk, chosen.k_anchor * shrunk, slow, 1 / chosen.tau, scores)
        scores[anchor_items] += pull * (goal - scores[anchor_items])
        if number >= first_kept:
            total_scores += scores
    return total_scores / (chosen.passes - first_kept)


def elo_scores(
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    items: int,
    *,
    rng: np.random.Generator,
    decay: float = 0.995,
    passes: int = 150,
) -> FloatArray:
    """Scores (items,) after many shuffled passes; outcome in points of the first item: 1, 1/2 or 0."""
    settings = EloSettings(decay=decay, passes=passes)
    # outcome codes of the first item's points
    o = np.asarray(outcome, dtype=np.float64)
    valid = (o == 1) | (o == 0) | (o == 0.5)
    if not valid.all():
        raise BadValue("an outcome is 1, 0.5 or 0", found=o[~valid][0])
    return anchored_elo(
        first,
        second,
        np.where(o == 0.5, 2, o == 0).astype(np.int64),
        items,
        anchors=(),
        targets=(),
        rng=rng,
        settings=settings,
    )


# -- compiled passes -------------------------------------------------------------------------------------------------
# The small ones are inlined by name: left to itself the compiler calls them, and a pass takes half as long again.


@inlined
def _logistic(x: float) -> float:
    """s(x) to 1e-13 without an exponential or a division: Taylor's series to h^4 about the nearest entry of a table.

    All derivatives are polynomials of s: with u = s (1 - s), s' = u, s'' = u (1 - 2s), s''' = u (1 - 6u), and so on.
    """
    if not abs(x) < _REACH:
        return 1.0 / (1.0 + math.exp(-x))
    nearest = np.int64(x * _STEPS + (_REACH * _STEPS + 0.5))
    h = x - (nearest - _REACH * _STEPS) * (1.0 / _STEPS)
    s = float(_TABLE[np.uint64(nearest)])
    u, away = s * (1.0 - s), 0.5 - s
    return s + h * u * (1.0 + h * (away + h * (1 / 6 - u + h * away * (1 / 12 - u))))


@inlined
def _update(i: np.int64, j: np.int64, code: np.int64, k: float, per_point: float, scores: FloatArray) -> None:
    change = k * (POINTS[code] - _logistic((scores[i] - scores[j]) * per_point))
    scores[i] += change
    scores[j] -= change


@inlined
def _valid(i: np.int64, j: np.int64, code: np.int64, items: int) -> bool | np.bool_:
    return 0 <= i < items and 0 <= j < items and i != j and 0 <= code <= 2


@compiled
def _checked_pass(a: IntArray, b: IntArray, codes: IntArray, k: float, per_point: float, scores: FloatArray) -> int:
    """One pass over three columns, checked on the way; the row of the first bad comparison, or -1.

    A comparison costs about 7 ns; the columns are read once.
    """
    for row in range(len(a)):
        i, j, code = np.int64(a[row]), np.int64(b[row]), np.int64(codes[row])
        if not _valid(i, j, code, len(scores)):
            return row
        _update(i, j, code, k, per_point, scores)
    return -1


@compiled
def _pass(
    packed: IntArray,
    k: float,
    k_anchor: float,
    is_anchor: NDArray[np.bool_],
    per_point: float,
    scores: FloatArray,
) -> None:
    for row in range(len(packed)):
        key = packed[row]
        i, j = key >> 33, (key >> 2) & 0x7FFFFFFF
        _update(i, j, key & 3, k_anchor if is_anchor[i] or is_anchor[j] else k, per_point, scores)


@compiled
def _fill(a: IntArray, b: IntArray, codes: IntArray, items: int, packed: IntArray) -> int:
    for row in range(len(a)):
        i, j, code = np.int64(a[row]), np.int64(b[row]), np.int64(codes[row])
        if not _valid(i, j, code, items):
            return row
        packed[row] = i << 33 | j << 2 | code
    return -1


def _pack(a: IntArray, b: IntArray, codes: IntArray, items: int) -> IntArray:
    """Each comparison in one integer, so that shuffling moves one array and a pass reads it from end to end."""
    packed = np.empty(len(a), dtype=np.int64)
    bad = _fill(a, b, codes, items, packed)
    if bad >= 0:
        raise _complaint(a, b, codes, bad, items)
    return packed


# -- what is refused -------------------------------------------------------------------------------------------------


def _columns(a: ArrayLike, b: ArrayLike, outcome: ArrayLike) -> Comparisons:
    """The three columns as integer arrays of one length, not copied."""
    first, second, codes = np.asarray(a), np.asarray(b), np.asarray(outcome)
    if not first.shape == second.shape == codes.shape or first.ndim != 1:
        lengths = ", ".join(str(column.shape) for column in (first, second, codes))
        raise BadValue("first, second and outcome must be equally long columns", found=lengths)
    if not len(first):
        raise TooFew("Elo needs at least one comparison", found="none")
    for name, column in (("items", first), ("items", second), ("outcome codes", codes)):
        if column.dtype.kind not in "iu":
            raise BadValue(f"{name} are integers", found=f"{column.dtype}: {column[0]}")
    return first, second, codes


def _rows(order: NDArray[np.generic], comparisons: int) -> IntArray:
    if order.dtype.kind not in "iu" or order.ndim != 1 or not len(order):
        raise BadValue("order is a column of row numbers", found=f"{order.dtype}, shape {order.shape}")
    rows = order.astype(np.int64)
    if rows.min() < 0 or rows.max() >= comparisons:
        raise BadValue(f"rows are numbered 0 to {comparisons - 1}", found=f"{rows.min()} to {rows.max()}")
    return rows


def _places(rows: NDArray[np.generic], comparisons: int, total: int | None) -> IntArray:
    """Where row k of the longer list stands here; -1 where it was left out."""
    if total is None or len(rows) != comparisons:
        raise BadValue("every comparison needs its row, and the list its length", found=f"{len(rows)} rows, {total}")
    place = np.full(total, -1, dtype=np.int64)
    place[_rows(rows, total)] = np.arange(comparisons)
    return place


def _complaint(a: IntArray, b: IntArray, codes: IntArray, row: int, items: int) -> BadValue:
    i, j, code = int(a[row]), int(b[row]), int(codes[row])
    where = f"comparison {row}"
    for item in (i, j):
        if not 0 <= item < items:
            return BadValue(f"items are numbered 0 to {items - 1}", found=item, where=where)
    if i == j:
        return BadValue("an item cannot be compared with itself", found=f"item {i}", where=where)
    return BadValue("an outcome is 0 (first better), 1 (second better) or 2 (tie)", found=code, where=where)


def _check_anchors(anchors: NDArray[np.generic], targets: FloatArray, items: int) -> tuple[IntArray, FloatArray]:
    if anchors.shape != targets.shape or anchors.ndim != 1:
        raise BadValue("every rating anchor needs one target", found=f"{anchors.shape} and {targets.shape}")
    if not len(anchors):
        return np.empty(0, dtype=np.int64), targets
    if anchors.dtype.kind not in "iu":
        raise BadValue("rating anchors are item numbers", found=f"{anchors.dtype}: {anchors[0]}")
    items_of_anchors = anchors.astype(np.int64)
    outside = (items_of_anchors < 0) | (items_of_anchors >= items)
    if outside.any():
        raise BadValue(f"rating anchors are items 0 to {items - 1}", found=int(items_of_anchors[outside][0]))
    if len(np.unique(items_of_anchors)) < len(items_of_anchors):
        raise BadValue("an item is a rating anchor once", found=items_of_anchors.tolist())
    if not np.isfinite(targets).all():
        raise BadValue("targets of rating anchors are finite", found=targets[~np.isfinite(targets)][0])
    return items_of_anchors, targets
