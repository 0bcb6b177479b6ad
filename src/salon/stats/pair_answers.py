"""Answers with covariates: what a fit needs of them, in compiled passes.

Parameters stand in the order q (items), beta (covariates), log nu; the last is idle without ties. See pair_covariates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.compiled import compiled
from salon.stats.pair_models import answer_slope, chances, curvature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answers:
    """Checked comparisons with their covariates."""

    items: int
    a: NDArray[Any]
    b: NDArray[Any]
    outcome: NDArray[Any]
    z: Floats
    weight: Floats

    def along(self, point: Floats) -> Floats:
        """q[a] - q[b] + beta . z of each answer."""
        n = self.items
        return np.asarray(point[self.a] - point[self.b] + self.z @ point[n : n + self.z.shape[1]], np.float64)


def derivatives(answers: Answers, code: int, point: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Slopes of the penalised log-likelihood at a point, and minus its second derivatives."""
    n = answers.items
    slope, matrix = np.zeros(len(point)), np.zeros((len(point), len(point)))
    _add_derivatives(
        code, float(np.exp(point[-1])), answers.along(point), answers.a, answers.b, answers.outcome, answers.z,
        answers.weight, n, slope, matrix,
    )  # fmt: skip
    slope[:n] -= ridge * point[:n]
    matrix[np.arange(n), np.arange(n)] += ridge
    return slope, np.triu(matrix) + np.triu(matrix, 1).T


def slope_sums(
    answers: Answers, code: int, tie: float, point: Floats, cluster: ArrayLike | None
) -> tuple[Floats, float, str]:
    """Sums of slopes by cluster (clusters, parameters), their degrees of freedom, and what they assume."""
    if cluster is None:
        root = _independent_root(answers, code, tie, point)
        return root, np.inf, "sandwich, independent answers"
    codes = np.ascontiguousarray(cluster)
    if codes.shape != answers.a.shape or codes.dtype.kind not in "iu" or codes.min() < 0:
        raise BadValue("every comparison needs the number of its cluster", found=f"{codes.dtype} {codes.shape}")
    present, number = np.unique(codes, return_inverse=True)
    if len(present) < 2:
        raise TooFew(
            "clustered errors need at least 2 clusters", found=len(present), remedy="treat answers as independent"
        )
    sums = np.zeros((len(present), len(point)))
    _add_sums(code, tie, answers.along(point), answers.a, answers.b, answers.outcome, answers.z, answers.weight,
              answers.items, number, sums)  # fmt: skip
    return sums, len(present) - 1.0, f"sandwich, {len(present)} clusters"


def _independent_root(answers: Answers, code: int, tie: float, point: Floats) -> Floats:
    """R with R'R = sum_k s_k s_k'; a weight counts as that many equal, separate answers."""
    square = np.zeros((len(point), len(point)))
    _add_squares(code, tie, answers.along(point), answers.a, answers.b, answers.outcome, answers.z, answers.weight,
                 answers.items, square)  # fmt: skip
    values, vectors = np.linalg.eigh(square)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T, np.float64)


# -- compiled passes over the answers ----------------------------------------------------------------------------------


@compiled
def _add_derivatives(
    code: int,
    tie: float,
    d: Floats,
    a: NDArray[Any],
    b: NDArray[Any],
    outcome: NDArray[Any],
    z: Floats,
    weight: Floats,
    n: int,
    slope: Floats,
    matrix: Floats,
) -> None:
    """Slopes, and the upper triangle of the matrix (both triangles among items)."""
    m = z.shape[1]
    t = n + m
    for k in range(len(a)):
        w = weight[k] if len(weight) else 1.0
        i, j, o = a[k], b[k], outcome[k]
        s, s_t = answer_slope(code, d[k], tie, o)
        u, v = chances(code, d[k], tie)
        dd, dt, tt = curvature(code, d[k], tie, u, v, w * (o == 0), w * (o == 1), w * (o == 2))
        slope[i] += w * s
        slope[j] -= w * s
        slope[t] += w * s_t
        matrix[i, i] += dd
        matrix[j, j] += dd
        matrix[i, j] -= dd
        matrix[j, i] -= dd
        matrix[i, t] += dt
        matrix[j, t] -= dt
        matrix[t, t] += tt
        for x in range(m):
            slope[n + x] += w * s * z[k, x]
            matrix[i, n + x] += dd * z[k, x]
            matrix[j, n + x] -= dd * z[k, x]
            matrix[n + x, t] += dt * z[k, x]
            for y in range(x, m):
                matrix[n + x, n + y] += dd * z[k, x] * z[k, y]


@compiled
def _add_sums(
    code: int,
    tie: float,
    d: Floats,
    a: NDArray[Any],
    b: NDArray[Any],
    outcome: NDArray[Any],
    z: Floats,
    weight: Floats,
    n: int,
    cluster: Ints,
    sums: Floats,
) -> None:
    """The slope of each answer, added to its cluster's."""
    for k in range(len(a)):
        w = weight[k] if len(weight) else 1.0
        s, s_t = answer_slope(code, d[k], tie, outcome[k])
        row = sums[cluster[k]]
        row[a[k]] += w * s
        row[b[k]] -= w * s
        row[-1] += w * s_t
        for x in range(z.shape[1]):
            row[n + x] += w * s * z[k, x]


@compiled
def _add_squares(
    code: int,
    tie: float,
    d: Floats,
    a: NDArray[Any],
    b: NDArray[Any],
    outcome: NDArray[Any],
    z: Floats,
    weight: Floats,
    n: int,
    square: Floats,
) -> None:
    """sum_k w_k s_k s_k', both triangles."""
    m = z.shape[1]
    place, value = np.empty(m + 3, np.int64), np.empty(m + 3)
    for k in range(len(a)):
        w = weight[k] if len(weight) else 1.0
        s, s_t = answer_slope(code, d[k], tie, outcome[k])
        place[0], value[0] = a[k], s
        place[1], value[1] = b[k], -s
        place[2], value[2] = n + m, s_t
        for x in range(m):
            place[3 + x], value[3 + x] = n + x, s * z[k, x]
        for x in range(m + 3):
            for y in range(m + 3):
                square[place[x], place[y]] += w * value[x] * value[y]
