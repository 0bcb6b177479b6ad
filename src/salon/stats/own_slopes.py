"""Do some votes follow something of their own? Tests of groups of votes (a voter's, an address's, an hour's).

Model. Vote k is won by the first picture, tied or lost (y = 1, 1/2, 0) with probabilities that all votes together give
(Bradley-Terry or Davidson: `pair_models`). Group g may follow direction x_k besides, with a slope t of its own:

    P(y_k = y) proportional to base_k(y) exp(t x_k y)          t = 0: the group votes as all others do

which for these models is d_k + t x_k. Directions are columns of a table (what the score says of the pair: who clicks at
random has t < 0; side; brightness), or items: x = 1 where the first picture is the item's, -1 where the second is.

Honest groups differ: t ~ N(0, tau^2). With S = sum x_k (y_k - E y_k) and V = sum x_k^2 Var y_k, S has variance
V + tau^2 V^2. tau is the value at which the median of S^2/(V + tau^2 V^2) over groups with V >= LEAST_V is that of a
chi-square with one degree of freedom (0.455): attackers who are few do not move a median. All items share one tau. With
fewer than LEAST_GROUPS such groups it is `unknown`. Where groups are made of smaller ones whose spread is known (an
address of voters: `parts` and `known`), tau^2 is at least known^2 sum_v n_v^2 / n^2, n_v being the votes of part v.

The p of one group and direction. T = sum x_k y_k is sufficient for t, and l(t) = t T - A(t) its log-likelihood, with
A(t) = sum_k log sum_y base_k(y) exp(t x_k y). Chernoff's bound on the tail beyond T under slope u is the likelihood
ratio exp(l(u) - l(t')) for the best t' beyond u, so

    p = 2 E[ min(1, exp(l(u) - l(t'))) ],  u ~ N(0, tau^2),  t' the best slope on the side of T,

is never smaller than the exact p of the model, whatever the number of votes (no normal approximation: ten wins of ten
are ten wins of ten). Only directions with |S|/sqrt(V + tau^2 V^2) >= CANDIDATE are looked at; others have p = 1.

Multiplicity. `flag_groups`: a group's p is its smallest times its number of directions (Bonferroni), groups by
Benjamini and Hochberg at `level`: where nobody attacks, the chance of any flag is at most `level`. `flag_cells`: every
group and direction is a hypothesis of its own.

Edges: no votes, a group without a vote, probabilities that are none: BadValue. Votes of one group may depend on each
other beyond a slope (the same prompt twice): that is not covered; neither is looking every minute until something is
flagged. The probabilities come from all votes, the group's own among them: the test of a group that gave a large part
of all votes is weaker for it.

Source: Chernoff 1952; Benjamini & Hochberg 1995; Efron 2004 (an empirical null) for the median.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CANDIDATE = 3.0
"""Standard errors from which a slope is looked at closely."""
LEAST_V = 1.0
"""Information that a group needs before it helps to find how much groups differ: four even votes."""
LEAST_GROUPS = 20
"""Groups with that much, below which nobody knows how much groups differ."""
_MEDIAN = 0.454936423119572  # of chi-square, one degree of freedom
_STEEPEST = 25.0  # logits; a slope without an end (all votes one way) is taken to be this
_NODES = 21


@dataclass(frozen=True, slots=True)
class SlopeTests:
    """Groups and directions that stand out; all others have p = 1."""

    groups: int
    directions: int
    """Columns of the table first, then items."""
    group: Ints
    """(candidates,)"""
    direction: Ints
    slope: Floats
    """(candidates,) logits for one unit of the direction; at most 25 in size."""
    p: Floats
    votes: Ints
    """(candidates,) votes that the direction concerns."""
    spread: Floats
    """(directions,) tau: how much groups differ anyway, in logits."""


def slope_tests(
    group: ArrayLike,
    y: ArrayLike,
    win: ArrayLike,
    tie: ArrayLike,
    x: ArrayLike,
    *,
    a: ArrayLike | None = None,
    b: ArrayLike | None = None,
    items: int = 0,
    unknown: float = 0.0,
    parts: ArrayLike | None = None,
    known: ArrayLike | None = None,
) -> SlopeTests:
    """Test every group 0, 1, ... along every column of `x` (votes, m), and along `items` met as `a` and `b`.

    `y` is 1 where the first was preferred, 0 the second, 1/2 a tie; `win` and `tie` are the chances that all give.
    `known` (directions,) is the spread of the slopes of `parts` (votes,), the smaller groups that groups consist of.
    """
    votes = _check_votes(group, y, win, tie, x, a, b, items, parts, known, unknown)
    found = [*_column_candidates(votes), *_item_candidates(votes)]
    spread = np.concatenate([np.atleast_1d(part.spread) for part in found]) if found else np.zeros(0)
    rows = [row for part in found for row in part.rows(votes)]
    columns = list(zip(*rows)) if rows else [()] * 5
    return SlopeTests(
        groups=votes.groups,
        directions=votes.x.shape[1] + items,
        group=np.array(columns[0], np.int64),
        direction=np.array(columns[1], np.int64),
        slope=np.array(columns[2], np.float64),
        p=np.array(columns[3], np.float64),
        votes=np.array(columns[4], np.int64),
        spread=spread,
    )


def flag_groups(tests: SlopeTests, *, level: float = 0.05) -> Bools:
    """(groups,) which groups have a slope of their own; the share of wrong flags among all is at most `level`."""
    smallest = np.ones(tests.groups)
    np.minimum.at(smallest, tests.group, tests.p)
    return step_up(np.minimum(1.0, smallest * tests.directions), tests.groups, level=level)


def flag_cells(tests: SlopeTests, *, level: float = 0.05) -> Bools:
    """(candidates,) which cells of group and direction stand out among all cells."""
    return step_up(tests.p, tests.groups * tests.directions, level=level)


def step_up(p: ArrayLike, hypotheses: int, *, level: float) -> Bools:
    """Benjamini and Hochberg's rule over `hypotheses`, those that are not among `p` having p = 1."""
    values = np.asarray(p, np.float64)
    order = np.argsort(values, kind="stable")
    passed = values[order] <= level * np.arange(1, len(values) + 1) / max(hypotheses, 1)
    flagged = np.zeros(len(values), np.bool_)
    if passed.any():
        flagged[order[: int(np.flatnonzero(passed)[-1]) + 1]] = True
    return flagged


# -- what may come in --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Votes:
    """Checked votes, sorted by group."""

    groups: int
    starts: Ints
    group: Ints
    y: Floats
    win: Floats
    tie: Floats
    x: Floats
    a: Ints
    b: Ints
    items: int
    floor: Floats
    """(groups, directions) at least so large is tau."""
    unknown: float

    @property
    def residual(self) -> Floats:
        """y - E y."""
        return np.asarray(self.y - self.win - self.tie / 2, np.float64)

    @property
    def variance(self) -> Floats:
        """Var y."""
        mean = self.win + self.tie / 2
        return np.asarray(self.win + self.tie / 4 - mean**2, np.float64)


def _check_votes(
    group: ArrayLike,
    y: ArrayLike,
    win: ArrayLike,
    tie: ArrayLike,
    x: ArrayLike,
    a: ArrayLike | None,
    b: ArrayLike | None,
    items: int,
    parts: ArrayLike | None,
    known: ArrayLike | None,
    unknown: float,
) -> _Votes:
    codes = np.asarray(group, np.int64)
    values, won, tied = (np.asarray(part, np.float64) for part in (y, win, tie))
    table = np.asarray(x, np.float64)
    if not len(codes) or table.ndim != 2 or {len(part) for part in (values, won, tied, table)} != {len(codes)}:
        raise BadValue("votes with a group, an outcome, two chances and a row of the table each are needed",
                       found=f"{len(codes)} groups, {len(values)} outcomes, a table {table.shape}")  # fmt: skip
    if not ((won > 0) & (tied >= 0) & (won + tied < 1)).all() or not np.isfinite(table).all():
        raise BadValue("chances between 0 and 1 that leave the second picture some, and finite directions are needed")
    order = np.argsort(codes, kind="stable")
    count = np.bincount(codes[order])
    if (count == 0).any():
        raise BadValue("groups 0, 1, ... with a vote each are needed", found=f"none of {int(np.argmin(count))}")
    floor = np.zeros((len(count), table.shape[1] + items))
    if parts is not None and known is not None:
        size = int(np.max(parts)) + 1
        pairs, given = np.unique(codes * size + np.asarray(parts, np.int64), return_counts=True)
        share = np.sqrt(_sum(pairs // size, given.astype(np.float64) ** 2, len(count))) / count
        floor = share[:, None] * np.asarray(known, np.float64)[None, :]
    nobody = np.full(len(codes), -1, np.int64)
    first, second = (nobody if part is None else np.asarray(part, np.int64) for part in (a, b))
    return _Votes(len(count), np.concatenate([[0], np.cumsum(count)]), codes[order], values[order], won[order],
                  tied[order], table[order], first[order], second[order], items, floor, unknown)  # fmt: skip


# -- candidates --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Candidates:
    """What stands out along directions that share one spread."""

    group: Ints
    direction: Ints
    spread: Floats
    """(directions,) all the same."""
    columns: int

    def rows(self, votes: _Votes) -> Iterator[tuple[int, int, float, float, int]]:
        """Group, direction, slope, p and votes of each."""
        for group, direction in zip(self.group.tolist(), self.direction.tolist()):
            tau = max(float(self.spread[0]), float(votes.floor[group, direction]))
            rows = slice(votes.starts[group], votes.starts[group + 1])
            if direction < self.columns:
                along = votes.x[rows, direction]
            else:
                item = direction - self.columns
                along = (votes.a[rows] == item).astype(float) - (votes.b[rows] == item)
            slope, p = _bound(along, votes.y[rows], votes.win[rows], votes.tie[rows], tau)
            yield group, direction, slope, p, int((along != 0).sum())


def _column_candidates(votes: _Votes) -> Iterator[_Candidates]:
    residual, variance = votes.residual, votes.variance
    columns = votes.x.shape[1]
    for column in range(columns):
        along = votes.x[:, column]
        S = _sum(votes.group, along * residual, votes.groups)
        V = _sum(votes.group, along**2 * variance, votes.groups)
        tau = spread_of_slopes(S, V, votes.unknown)
        wide = np.maximum(tau, votes.floor[:, column])
        group = np.flatnonzero(np.abs(S) >= CANDIDATE * np.sqrt(V + wide**2 * V**2) + 1e-12)
        yield _Candidates(group, np.full(len(group), column), np.array([tau]), columns)


def _item_candidates(votes: _Votes) -> Iterator[_Candidates]:
    if not votes.items:
        return
    residual, variance, size = votes.residual, votes.variance, votes.groups * votes.items
    first, second = votes.group * votes.items + votes.a, votes.group * votes.items + votes.b
    S = _sum(first, residual, size) - _sum(second, residual, size)
    V = _sum(first, variance, size) + _sum(second, variance, size)
    columns, tau = votes.x.shape[1], spread_of_slopes(S, V, votes.unknown)
    wide = np.maximum(tau, votes.floor[:, columns:].ravel())
    cell = np.flatnonzero(np.abs(S) >= CANDIDATE * np.sqrt(V + wide**2 * V**2) + 1e-12)
    yield _Candidates(cell // votes.items, columns + cell % votes.items, np.full(votes.items, tau), columns)


def _sum(codes: Ints, values: Floats, size: int) -> Floats:
    return np.bincount(codes, values, size).astype(np.float64)


def spread_of_slopes(S: Floats, V: Floats, unknown: float = 0.0) -> float:
    """tau: how much groups differ, by the median of their squared slopes; `unknown` where they are too few."""
    told = V >= LEAST_V
    if told.sum() < LEAST_GROUPS:
        return unknown
    square, information = S[told] ** 2, V[told]

    def median(tau: float) -> float:
        return float(np.median(square / (information + tau**2 * information**2)))

    if median(0.0) <= _MEDIAN:
        return 0.0
    low, high = 0.0, 1.0
    while median(high) > _MEDIAN and high < 64:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if median(middle) > _MEDIAN else (low, middle)
    return (low + high) / 2


# -- Chernoff's bound, over the slopes that honest groups have ---------------------------------------------------------


def _bound(x: Floats, y: Floats, win: Floats, tie: Floats, tau: float) -> tuple[float, float]:
    """The best slope, and the bound on the chance of one as far out."""
    here = x != 0
    x, win, tie, total = x[here], win[here], tie[here], float(x[here] @ y[here])
    lose = 1 - win - tie

    def log_partition(t: float) -> tuple[float, float, float]:
        """A(t) with its two derivatives."""
        top = np.maximum(t * x, 0.0)
        for_win, for_tie, for_loss = win * np.exp(t * x - top), tie * np.exp(t * x / 2 - top), lose * np.exp(-top)
        total = for_win + for_tie + for_loss
        mean = (for_win + for_tie / 2) / total
        square = (for_win + for_tie / 4) / total
        return float((np.log(total) + top).sum()), float(x @ mean), float(x**2 @ (square - mean**2))

    slope = _best_slope(log_partition, total)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    best = slope * total - log_partition(slope)[0]
    p = 0.0
    for u, weight in zip(tau * nodes, weights / weights.sum()):
        beyond = u >= slope if slope > 0 else u <= slope
        p += weight * (1.0 if beyond else min(1.0, float(np.exp(u * total - log_partition(u)[0] - best))))
    return slope, min(1.0, 2 * p)


def _best_slope(log_partition: Callable[[float], tuple[float, float, float]], total: float) -> float:
    """Where A'(t) = T, by bisection: A is convex; votes that all go one way have no end."""
    low, high = -_STEEPEST, _STEEPEST
    for end in (low, high):
        if (log_partition(end)[1] - total) * end < 0:
            return end
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log_partition(middle)[1] < total else (low, middle)
    return (low + high) / 2
