"""The information matrix of a comparison model, kept as one weight per pair, and its linear systems.

In the parameters (q, t) the matrix is

    [ L + diag(ridge)   c   ]        L = sum over pairs of edge * (e_i - e_j)(e_i - e_j)',
    [ c'                tie ]        c = sum over pairs of cross * (e_i - e_j),

a graph Laplacian with a border for the tie parameter (absent in models without one). Without a ridge it is
singular along (1, ..., 1; 0): a shift of all scores. Systems are solved on the complement, which gives the
solution whose scores sum to zero.

Few items: Cholesky. Many: conjugate gradients with a diagonal preconditioner, one compiled pass over the pairs
for each iteration; comparison graphs drawn at random are expanders and need about ten. Where that stalls (long
chains of items), Cholesky again, or a sparse LU factorisation above `DENSE_ITEMS`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu

from salon.errors import NotConverged
from salon.stats.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DENSE_ITEMS = 5_000
"""Above this many items no n x n matrix is made."""
FEW_ITEMS = 32
"""Up to this many items a system is solved by elimination, above by conjugate gradients."""
_CG_STEPS = 400
_TREE_LIKE = 4  # pairs per item up to which a sparse factor stays sparse


@dataclass(frozen=True, slots=True)
class Information:
    """A symmetric matrix of the parameters (q, t), see the module's text."""

    items: int
    i: Ints
    j: Ints
    edge: Floats
    own: Floats
    """(items,) sums of edge by item: the diagonal of L."""
    cross: Floats
    """(items,), zero in models without a tie parameter."""
    tie: float | None
    ridge: Floats
    """(items,) added to the diagonal by a prior or by rating anchors."""

    @property
    def floating(self) -> bool:
        """Whether a shift of all scores costs nothing."""
        return not self.ridge.any()

    @property
    def parameters(self) -> int:
        return self.items + (self.tie is not None)

    def diagonal(self) -> Floats:
        """The diagonal, (parameters,)."""
        own = self.own + self.ridge
        return own if self.tie is None else np.append(own, self.tie)

    def dense(self) -> Floats:
        """The matrix, (parameters, parameters)."""
        matrix = np.zeros((self.parameters, self.parameters))
        _fill(self.i, self.j, self.edge, matrix)
        matrix[np.arange(self.items), np.arange(self.items)] += self.ridge
        if self.tie is not None:
            matrix[:-1, -1] = matrix[-1, :-1] = self.cross
            matrix[-1, -1] = self.tie
        return matrix

    def quadratic(self, x: Floats) -> float:
        """x' matrix x."""
        n = self.items
        value = float(self.edge @ (x[self.i] - x[self.j]) ** 2 + self.ridge @ x[:n] ** 2)
        return value if self.tie is None else value + float(x[n] * (2 * self.cross @ x[:n] + self.tie * x[n]))

    def solve(self, rhs: Floats, tolerance: float = 1e-12) -> Floats:
        """x with matrix @ x = rhs, (parameters,); with free location the scores of x sum to zero."""
        if self.items > FEW_ITEMS:
            x, settled = self._conjugate_gradients(rhs, tolerance)
            if settled or not factorable(self.items, len(self.i)):
                return x
        return self.factor().solve(rhs)

    def factor(self) -> Factor:
        """A factorisation for many right-hand sides."""
        return Factor(self)

    def _conjugate_gradients(self, rhs: Floats, tolerance: float) -> tuple[Floats, bool]:
        n = self.items
        totals = np.ones((n + 1, 3))  # slopes are not used; without a tie parameter its row is a dummy
        totals[:n, 1], totals[:n, 2], totals[n, 1] = self.own, self.cross, self.tie or 1.0
        wide = rhs if self.tie is not None else np.append(rhs, 0.0)
        starts = row_starts(self.i, n)
        x, settled = conjugate_gradients(starts, self.j, self.edge, totals, self.ridge, wide, tolerance)
        return x[: self.parameters], settled


class Factor:
    """An information matrix factored once: dense Cholesky up to DENSE_ITEMS items, sparse LU above."""

    def __init__(self, information: Information) -> None:
        self._items, self._floating = information.items, information.floating
        shift = information.own.mean() / self._items if self._floating else 0.0
        if self._items <= DENSE_ITEMS:
            matrix = information.dense()
            matrix[: self._items, : self._items] += shift  # fixes the sum, leaves every contrast as it is
            # LAPACK itself: its wrappers cost more than a small matrix.
            self._factor, failed = dpotrf(matrix.T, lower=True, clean=False, overwrite_a=True)
            if failed:
                raise NotConverged("an information matrix must be positive definite", found=f"minor {failed} is not")
        else:
            self._factor = splu(_sparse(information, shift))

    def solve(self, rhs: Floats) -> Floats:
        """Solutions for the columns of rhs, (parameters,) or (parameters, k)."""
        if self._items <= DENSE_ITEMS:
            x: Floats = dpotrs(self._factor, rhs, lower=True)[0]
        else:
            x = self._factor.solve(rhs)
        return centered(x, self._items) if self._floating else x


def factorable(items: int, pairs: int) -> bool:
    """Whether a factor fits in memory: few items, or so few pairs for each that it stays sparse."""
    return items <= DENSE_ITEMS or pairs <= _TREE_LIKE * items


def row_starts(i: Ints, items: int) -> Ints:
    """Where the rows of each item begin in pairs sorted by i, (items + 1,)."""
    return np.searchsorted(i, np.arange(items + 1)).astype(np.int64)


def centered(x: Floats, items: int) -> Floats:
    """x with its first `items` rows shifted to mean zero."""
    x = x.copy()
    x[:items] -= x[:items].mean(axis=0)
    return x


def _sparse(information: Information, shift: float) -> csc_array:
    """The sparse matrix; a free location is fixed at item 0 (any contrast of scores is the same)."""
    n, i, j, edge = information.items, information.i, information.j, information.edge
    diagonal = information.diagonal()
    diagonal[0] += shift * n
    rows, columns, values = [i, j], [j, i], [-edge, -edge]
    if information.tie is not None:
        rows += [np.arange(n), np.full(n, n)]
        columns += [np.full(n, n), np.arange(n)]
        values += [information.cross, information.cross]
    rows, columns = rows + [np.arange(len(diagonal))], columns + [np.arange(len(diagonal))]
    entries = np.concatenate(values + [diagonal]), (np.concatenate(rows), np.concatenate(columns))
    return coo_array(entries, shape=(len(diagonal), len(diagonal))).tocsc()


@compiled
def _fill(i: Ints, j: Ints, edge: Floats, matrix: Floats) -> None:
    for k in range(len(i)):
        matrix[i[k], j[k]] = matrix[j[k], i[k]] = -edge[k]
        matrix[i[k], i[k]] += edge[k]
        matrix[j[k], j[k]] += edge[k]


@compiled
def dot(x: Floats, y: Floats) -> float:
    """The sum of products. Loops as plain as this compile in a fraction of the time that expressions of arrays take."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@compiled
def _multiply(start: Ints, j: Ints, edge: Floats, totals: Floats, ridge: Floats, x: Floats, out: Floats) -> None:
    n = len(ridge)
    out[n] = totals[n, 1] * x[n]
    for i in range(n):
        out[i] = ridge[i] * x[i] + totals[i, 2] * x[n]
        out[n] += totals[i, 2] * x[i]
    for i in range(n):
        own, at = 0.0, x[i]
        for k in range(start[i], start[i + 1]):
            flow = edge[k] * (at - x[j[k]])
            own += flow
            out[j[k]] -= flow
        out[i] += own


@compiled
def conjugate_gradients(
    start: Ints, j: Ints, edge: Floats, totals: Floats, ridge: Floats, rhs: Floats, tolerance: float
) -> tuple[Floats, bool]:
    """Solve the system until the preconditioned residual has shrunk by `tolerance`; did it?

    Rows of pairs by item at start[i]:start[i+1]; columns 1 and 2 of totals (items + 1,) are diagonal and border, the
    last row that of the tie parameter.
    """
    n = len(ridge)
    inverse, residual = totals[:, 1].copy(), rhs.copy()
    for i in range(n):
        inverse[i] += ridge[i]
    inverse = 1.0 / inverse
    floating = not ridge.any()
    if floating:  # rounding along the free direction would never shrink
        _center(residual)
    x, along, image = np.zeros(n + 1), np.empty(n + 1), np.empty(n + 1)
    for i in range(n + 1):
        along[i] = inverse[i] * residual[i]
    size = dot(residual, along)
    goal = size * tolerance**2
    for _ in range(_CG_STEPS):
        if size <= goal:
            break
        _multiply(start, j, edge, totals, ridge, along, image)
        curve = dot(along, image)
        if not curve > 0:
            break
        share, fresh = size / curve, 0.0
        for i in range(n + 1):
            x[i] += share * along[i]
            residual[i] -= share * image[i]
            fresh += residual[i] * inverse[i] * residual[i]
        for i in range(n + 1):
            along[i] = inverse[i] * residual[i] + (fresh / size) * along[i]
        size = fresh
    if floating:
        _center(x)
    return x, size <= goal


@compiled
def _center(x: Floats) -> None:
    """Shift all but the last, which is the tie parameter's, to mean zero."""
    mean = 0.0
    for i in range(len(x) - 1):
        mean += x[i] / (len(x) - 1)
    for i in range(len(x) - 1):
        x[i] -= mean
