"""The exact maximum of the Bradley-Terry and Davidson likelihoods, computed apart from `salon.stats` to judge all by.

With d = q_i - q_j, Z = e^(d/2) + e^(-d/2) + nu and n answers on a pair (w won by i, l by j, t tied), the log-likelihood
is (w - l) d/2 + t log nu - n log Z: Davidson; with nu = 0 it is Bradley-Terry with ties as half wins. Plain Newton
steps from a given start until the scores move by less than 1e-12, dense up to 2,000 items, conjugate gradients above.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import cg

from benchmarks._pairs import Drawn

Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def pair_rows(drawn: Drawn) -> Rows:
    """i, j, (w - l) and ties, and the number of answers, of every pair that met; numpy only."""
    low, high = np.minimum(drawn.a, drawn.b).astype(np.int64), np.maximum(drawn.a, drawn.b)
    pairs, which = np.unique(low * drawn.items + high, return_inverse=True)
    margin = np.where(drawn.outcome == 2, 0, np.where((drawn.outcome == 0) == (drawn.a < drawn.b), 1, -1))
    return (
        np.stack([pairs // drawn.items, pairs % drawn.items]),
        np.bincount(which, margin),
        np.bincount(which, drawn.outcome == 2),
        np.bincount(which).astype(float),
    )


def exact_scores(rows: Rows, q: np.ndarray, nu: float | None = None) -> tuple[np.ndarray, float | None]:
    """The scores (mean zero) and nu at the maximum; `nu=None` fits Bradley-Terry."""
    (i, j), margin, ties, n = rows
    q, eta = q - q.mean(), None if nu is None else np.log(nu)
    for _ in range(50):
        up, down = np.exp((q[i] - q[j]) / 2), np.exp((q[j] - q[i]) / 2)
        tied = 0.0 if eta is None else np.exp(eta)
        lean, even = (up - down) / (up + down + tied) / 2, tied / (up + down + tied)
        gradient = _spread(i, j, margin / 2 - n * lean, len(q))
        curve = n * ((1 - even) / 4 - lean**2)
        if eta is None:
            step, tie_step = _solve(i, j, curve, gradient), 0.0
        else:
            cross = _spread(i, j, -n * lean * even, len(q))
            plain, bent = _solve(i, j, curve, gradient), _solve(i, j, curve, cross)
            tie_step = ((ties - n * even).sum() - cross @ plain) / ((n * even * (1 - even)).sum() - cross @ bent)
            step, eta = plain - tie_step * bent, eta + tie_step
        q = q + step
        if max(np.abs(step).max(), abs(tie_step)) < 1e-12:
            return q, None if eta is None else float(np.exp(eta))
    raise SystemExit("the exact maximum was not reached")


def _spread(i: np.ndarray, j: np.ndarray, values: np.ndarray, items: int) -> np.ndarray:
    return np.bincount(i, values, items) - np.bincount(j, values, items)


def _solve(i: np.ndarray, j: np.ndarray, weight: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The centred solution of (Laplacian of the weighted pairs) x = right."""
    items = len(right)
    degree = np.bincount(i, weight, items) + np.bincount(j, weight, items)
    if items <= 2_000:
        table = np.diag(degree) + 1.0
        np.subtract.at(table, (i, j), weight)
        np.subtract.at(table, (j, i), weight)
        return np.linalg.solve(table, right - right.mean())
    half = csr_array((weight, (i, j)), shape=(items, items))
    laplacian = diags_array(degree) - half - half.T
    found, failed = cg(laplacian, right - right.mean(), rtol=1e-10, maxiter=2_000, M=diags_array(1 / degree))
    if failed:
        raise SystemExit("conjugate gradients stopped early")
    return found - found.mean()
