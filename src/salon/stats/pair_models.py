"""Models of a comparison (Bradley-Terry, Thurstone, Davidson, Rao-Kupper) and their information matrix.

    Bradley-Terry  P(i) = 1 / (1 + e^-d)                                         a tie is half a win for each
    Thurstone V    P(i) = Phi(d / sqrt 2)                                        a tie is half a win for each
    Davidson       P(i) = e^(d/2) / Z, P(tie) = nu / Z, Z = e^(d/2) + e^(-d/2) + nu,             nu = e^t > 0
    Rao-Kupper     P(i) = 1 / (1 + theta e^-d), P(j) = 1 / (1 + theta e^d), the rest a tie,      theta = e^t > 1

All four log-likelihoods are concave in (q, t), so every fit is one Newton iteration on these derivatives. Each
model gives, for one pair, the slope of the log-likelihood of each outcome in d and in t, and the curvature
(minus the second derivatives) of the pair's counts.

Assumptions: answers depend on the two items only through d; no position bias, no rater effects (clustered errors
repair the intervals, not the estimate). Davidson and Rao-Kupper assume one tie parameter for all pairs. With nu = 0
and theta = 1 both are Bradley-Terry.

Source: Bradley & Terry 1952; Thurstone 1927; Davidson 1970, On extending the Bradley-Terry model to accommodate
ties; Rao & Kupper 1967. Davidson's nu is twice the v of Newman 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, NotConverged
from salon.stats.comparisons import PairCounts
from salon.stats.jit import compiled, compiled_above

if TYPE_CHECKING:
    from scipy.sparse import csc_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MODELS = ("bradley-terry", "davidson", "rao-kupper", "thurstone")
TIE_MODELS = ("davidson", "rao-kupper")
_BRADLEY_TERRY, _DAVIDSON, _RAO_KUPPER, THURSTONE, LOGISTIC = range(5)
"""LOGISTIC is Bradley-Terry on its sufficient counts, the answers of a pair and the points of an item (`pair_fit`)."""
NEAR_ITEMS = 60.0  # logits between the best and the worst item up to which sums of their odds may be multiplied
_LARGE, _TINY = 1e100, 1e-100  # seven sums of such odds may be multiplied before a look


def model_code(model: str, tie: float | None) -> tuple[int, float]:
    """The number of a model for the compiled code, and its tie parameter; without ties a tie model is Bradley-Terry."""
    if model not in MODELS:
        raise BadValue(f"a model of comparisons is one of {', '.join(MODELS)}", found=model)
    lowest = {"davidson": 0.0, "rao-kupper": 1.0}.get(model)
    if lowest is None:
        return MODELS.index(model), 1.0
    if tie is None or not lowest <= tie < np.inf:
        raise BadValue(f"the tie parameter of {model} is a number from {lowest:g} up", found=tie)
    return (MODELS.index(model), tie) if tie > lowest else (_BRADLEY_TERRY, 1.0)


def has_tie(code: int) -> bool:
    """Whether the compiled model `code` has a tie parameter."""
    return code in (_DAVIDSON, _RAO_KUPPER)


def pair_probabilities(model: str, d: ArrayLike, tie: float | None) -> tuple[Floats, Floats, Floats]:
    """P(i wins), P(tie), P(j wins) at differences d = q_i - q_j; `tie` is None for models without ties."""
    differences = np.asarray(d, dtype=np.float64)
    wins, ties, losses = _probabilities(*model_code(model, tie), differences.ravel())
    return wins.reshape(differences.shape), ties.reshape(differences.shape), losses.reshape(differences.shape)


def pair_log_likelihood(counts: PairCounts, model: str, scores: Floats, tie: float | None) -> float:
    """Log-likelihood of counts at given scores; models without a tie parameter count a tie as two half wins."""
    code, at = model_code(model, tie)
    return float(_log_likelihood(code, at, scores, counts.i, counts.j, counts.wins, counts.losses, counts.ties))


_FEW = 200_000
"""Elements from which the loops of models are compiled.

A handful of pairs is fitted by numpy: chances, slopes, curvature and logs of a model take numbers and arrays alike, in
the loops and out of them. Thurstone's is always compiled, for its ratio of normal laws has two cases.
"""


@compiled
def mills(x: float) -> float:
    """phi(x) / Phi(x); by its series where Phi underflows."""
    if x > -25.0:
        return math.exp(-0.5 * x * x) / (math.sqrt(math.pi / 2) * math.erfc(-x / math.sqrt(2.0)))
    y = 1.0 / (x * x)
    return -x * (1.0 + y * (1.0 - y * (2.0 - y * (10.0 - 74.0 * y))))


@compiled
def _log_normal_cdf(x: float) -> float:
    if x > -25.0:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2.0)))
    return -0.5 * x * x - 0.5 * math.log(2 * math.pi) - math.log(mills(x))


@compiled
def _logs(code: int, d: Any, tie: float) -> tuple[Any, Any, Any]:
    """log P(i), log P(j), log P(tie); half the sum of the first two stands for a tie where the model has none."""
    if code == _DAVIDSON:
        near = np.exp(-abs(d) / 2)
        log_z = abs(d) / 2 + np.log(1.0 + near * (near + tie))
        return d / 2 - log_z, -d / 2 - log_z, math.log(tie) - log_z
    if code == _RAO_KUPPER:
        x, y = d - math.log(tie), -d - math.log(tie)
        i, j = np.minimum(x, 0.0) - np.log1p(np.exp(-abs(x))), np.minimum(y, 0.0) - np.log1p(np.exp(-abs(y)))
        return i, j, i + j + math.log(tie * tie - 1.0)
    if code == THURSTONE:
        i, j = _log_normal_cdf(d / math.sqrt(2.0)), _log_normal_cdf(-d / math.sqrt(2.0))
    else:
        i = np.minimum(d, 0.0) - np.log1p(np.exp(-abs(d)))
        j = i - d
    return i, j, (i + j) / 2


@compiled
def chances(code: int, d: Any, tie: float) -> tuple[Any, Any]:
    """The two numbers all derivatives are made of, so that a pair costs one exponential.

    P(i) and P(j); in Davidson (P(i) - P(j))/2 and P(tie); in Thurstone phi/Phi at d/sqrt 2 and at -d/sqrt 2.
    """
    if code == _DAVIDSON:
        near = np.exp(-abs(d) / 2)
        z = 1.0 + near * (near + tie)
        return np.copysign((1.0 - near * near) / (2.0 * z), d), near * tie / z
    if code == _RAO_KUPPER:
        odds = np.exp(d)
        return odds / (odds + tie), 1.0 / (1.0 + tie * odds)
    if code == THURSTONE:
        return mills(d / math.sqrt(2.0)), mills(-d / math.sqrt(2.0))
    p = 1.0 / (1.0 + np.exp(-d))
    return p, 1.0 - p


@compiled
def slopes(code: int, tie: float, u: Any, v: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Slopes in d of log P(i), log P(j), log P(tie), then in t = log tie of the same three; u, v from `chances`."""
    if code == _DAVIDSON:
        return 0.5 - u, -0.5 - u, -u, -v, -v, 1.0 - v
    if code == _RAO_KUPPER:
        return 1.0 - u, v - 1.0, v - u, u - 1.0, v - 1.0, u + v - 2.0 + 2.0 / (1.0 - 1.0 / tie**2)
    if code == THURSTONE:
        return u / math.sqrt(2.0), -v / math.sqrt(2.0), (u - v) / math.sqrt(8.0), 0.0, 0.0, 0.0
    return v, -u, 0.5 - u, 0.0, 0.0, 0.0


@compiled
def curvature(code: int, d: Any, tie: float, u: Any, v: Any, w: Any, l: Any, s: Any) -> tuple[Any, Any, Any]:
    """Minus the second derivatives (dd, dt, tt) of the log-likelihood of w wins, l losses and s ties."""
    if code == _DAVIDSON:
        n = w + l + s
        return n * ((1.0 - v) / 4 - u * u), -n * u * v, n * v * (1.0 - v)
    if code == _RAO_KUPPER:
        i, j = (w + s) * u * (1.0 - u), (l + s) * v * (1.0 - v)
        return i + j, j - i, i + j + 4.0 * s / (tie - 1.0 / tie) ** 2
    if code == THURSTONE:
        x = d / math.sqrt(2.0)
        return ((w + s / 2) * u * (u + x) + (l + s / 2) * v * (v - x)) / 2, 0.0, 0.0
    return (w + l + s) * u * v, 0.0, 0.0


@compiled
def answer_slope(code: int, d: float, tie: float, outcome: int) -> tuple[float, float]:
    """Slopes in d and in t of the log-likelihood of one answer: 0 = i is better, 1 = j is better, 2 = tie."""
    win, loss, draw, win_t, loss_t, draw_t = slopes(code, tie, *chances(code, d, tie))
    if outcome == 0:
        return win, win_t
    return (loss, loss_t) if outcome == 1 else (draw, draw_t)


@compiled_above(_FEW)
def bend(code: int, d: float, tie: float, dd: float, dt: float) -> float:
    """Bound on how fast the log of the curvature changes along a step (dd, dt) that `step_cap` allows.

    The third derivative is at most `bend` times the second: by the range of the exponents in the exponential
    families, by the slope of the log curvature in the other two. Rises with |d|, |dd| and |dt|.
    """
    if code == _DAVIDSON:
        return max(abs(dd), abs(dd) / 2 + abs(dt))
    if code == _RAO_KUPPER:
        return max(abs(dd) + abs(dt), 2.0 * abs(dt) * (tie + 1.0) / (tie - 1.0))
    if code == THURSTONE:
        return (abs(d) / 2 + 1.0) * abs(dd)
    return abs(dd)


@compiled_above(_FEW)
def step_cap(code: int, tie: float, largest: float, dt: float) -> float:
    """The share of a step for which `bend` holds: t of Rao-Kupper at most halves, d of Thurstone moves by at most 1."""
    if code == _RAO_KUPPER and dt < 0:
        return min(1.0, math.log(tie) / (-2.0 * dt))
    if code == THURSTONE and largest > 1:
        return 1.0 / largest
    return 1.0


def _probabilities(code: int, tie: float, d: Floats) -> tuple[Floats, Floats, Floats]:
    """P(i), P(tie) and P(j), small chances to their last digit."""
    if code == THURSTONE:
        from scipy.special import ndtr

        return ndtr(d / math.sqrt(2.0)), np.zeros(len(d)), ndtr(-d / math.sqrt(2.0))
    with np.errstate(over="ignore"):  # the chance of a pair this far apart is 0
        if code == _DAVIDSON:
            near = np.exp(-abs(d) / 2)
            z = 1.0 + near * (near + tie)
            larger, smaller = 1.0 / z, near * near / z
            return np.where(d > 0, larger, smaller), near * tie / z, np.where(d > 0, smaller, larger)
        if code == _RAO_KUPPER:
            i, j = 1.0 / (1.0 + tie * np.exp(-d)), 1.0 / (1.0 + tie * np.exp(d))
            return i, i * j * (tie * tie - 1.0), j
        return 1.0 / (1.0 + np.exp(-d)), np.zeros(len(d)), 1.0 / (1.0 + np.exp(d))


@compiled
def _logistic_likelihood(q: Floats, i: Ints, j: Ints, wins: Floats, losses: Floats, ties: Floats) -> float:
    """Bradley-Terry's, sum of points_i q_i - n_ij log(e^q_i + e^q_j): one logarithm of the product of many pairs."""
    odds = np.exp(q)
    total, product = 0.0, 1.0
    for k in range(len(i)):
        x, y, half, n = i[k], j[k], ties[k] / 2, wins[k] + losses[k] + ties[k]
        z = odds[x] + odds[y]
        total += (wins[k] + half) * q[x] + (losses[k] + half) * q[y]
        whole = int(n)
        if n < 8 and n == whole:
            square = z * z
            power = (z if whole & 1 else 1.0) * (square if whole & 2 else 1.0) * (square * square if whole & 4 else 1.0)
            product *= power
            if not _TINY < product < _LARGE:
                total -= math.log(product)
                product = 1.0
        else:
            total -= n * math.log(z)
    return total - math.log(product)


def _log_likelihood_arrays(
    code: int, tie: float, q: Floats, i: Ints, j: Ints, wins: Floats, losses: Floats, ties: Floats
) -> float:
    if code == THURSTONE:
        return _log_likelihood.machine(code, tie, q, i, j, wins, losses, ties)  # type: ignore[no-any-return]  # machine code
    win, loss, draw = _logs.loop(code, q[i] - q[j], tie)
    return float((wins * win + losses * loss + ties * draw).sum())


@compiled_above(_FEW, _log_likelihood_arrays)
def _log_likelihood(
    code: int, tie: float, q: Floats, i: Ints, j: Ints, wins: Floats, losses: Floats, ties: Floats
) -> float:
    total = 0.0
    if code == _BRADLEY_TERRY and q.max() - q.min() < NEAR_ITEMS:
        return float(_logistic_likelihood(q, i, j, wins, losses, ties))
    for k in range(len(i)):
        win, loss, draw = _logs(code, q[i[k]] - q[j[k]], tie)
        total += wins[k] * win + losses[k] * loss + ties[k] * draw
    return total


# -- the information matrix --------------------------------------------------------------------------------------------


DENSE_ITEMS = 5_000
"""Above this many items no n x n matrix is made."""
FEW_ITEMS = 32
"""Up to this many items a system is solved by elimination, above by conjugate gradients."""
_CG_STEPS = 400
_TREE_LIKE = 4  # pairs per item up to which a sparse factor stays sparse


@dataclass(frozen=True, slots=True)
class Information:
    """A symmetric matrix of the parameters (q, t).

    The information matrix of a comparison model, kept as one weight per pair, and its linear systems.

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
        from scipy.linalg.lapack import dpotrf
        from scipy.sparse.linalg import splu

        self._items, self._floating = information.items, information.floating
        self._parameters = information.parameters
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
        from scipy.linalg.lapack import dpotrs

        if self._items <= DENSE_ITEMS:
            x: Floats = dpotrs(self._factor, rhs, lower=True)[0]
        else:
            x = self._factor.solve(rhs)
        return centered(x, self._items) if self._floating else x

    def inverse(self) -> Floats:
        """The solutions for all unit vectors, (parameters, parameters)."""
        from scipy.linalg.lapack import dpotri

        if self._items > DENSE_ITEMS:
            return self.solve(np.eye(self._parameters))
        below = np.tril(dpotri(self._factor, lower=True)[0])
        full = below + below.T
        full.flat[:: len(full) + 1] /= 2
        return centered(full, self._items) if self._floating else full


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
    from scipy.sparse import coo_array

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


def _fill_arrays(i: Ints, j: Ints, edge: Floats, matrix: Floats) -> None:
    matrix[i, j] = matrix[j, i] = -edge
    np.add.at(matrix, (i, i), edge)
    np.add.at(matrix, (j, j), edge)


@compiled_above(_FEW, _fill_arrays)
def _fill(i: Ints, j: Ints, edge: Floats, matrix: Floats) -> None:
    for k in range(len(i)):
        matrix[i[k], j[k]] = matrix[j[k], i[k]] = -edge[k]
        matrix[i[k], i[k]] += edge[k]
        matrix[j[k], j[k]] += edge[k]


@compiled_above(100 * _FEW, np.dot)
def dot(x: Floats, y: Floats) -> float:
    """The sum of products. Loops as plain as this compile in a fraction of the time that expressions of arrays take."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


def _multiply_arrays(start: Ints, j: Ints, edge: Floats, totals: Floats, ridge: Floats, x: Floats, out: Floats) -> None:
    n = len(ridge)
    i = np.repeat(np.arange(n), np.diff(start))
    flow = edge * (x[i] - x[j])
    out[n] = totals[n, 1] * x[n] + totals[:n, 2] @ x[:n]
    out[:n] = ridge * x[:n] + totals[:n, 2] * x[n] + np.bincount(i, flow, n) - np.bincount(j, flow, n)


@compiled_above(100 * _FEW, _multiply_arrays)
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


@compiled_above(_FEW // 2)
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


@compiled_above(_FEW)
def _center(x: Floats) -> None:
    """Shift all but the last, which is the tie parameter's, to mean zero."""
    mean = 0.0
    for i in range(len(x) - 1):
        mean += x[i] / (len(x) - 1)
    for i in range(len(x) - 1):
        x[i] -= mean
