"""Compiled passes over the answers of a crowd: likelihood, slopes and curvature of crowd Bradley-Terry.

Letters as in `crowd`: d = q_a - q_b, eta = s(u), x the side (+1 a left, -1 b left, 0 unknown), y = 1, 1/2, 0 when a
wins, ties, loses. With p1 = s(d + b x), p2 = s(-d + b x), P = eta p1 + (1 - eta) p2 and Q = 1 - P,

    l = y log P + (1 - y) log Q,   l_i = L1 P_i,   l_ij = L1 P_ij + L2 P_i P_j
    L1 = y/P - (1 - y)/Q,          L2 = -(y/P^2 + (1 - y)/Q^2)

and, writing s' = s(1 - s), s'' = s'(1 - 2s), e' = eta (1 - eta),

    P_d = eta p1' - (1-eta) p2'      P_dd = eta p1'' + (1-eta) p2''     P_du = e' (p1' + p2')
    P_u = e' (p1 - p2)               P_uu = e' (1 - 2 eta)(p1 - p2)     P_ub = x e' (p1' - p2')
    P_b = x (eta p1' + (1-eta) p2')  P_bb = x^2 P_dd                    P_db = x (eta p1'' - (1-eta) p2'')
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.stats.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answers:
    """Comparisons sorted by rater: rater r gave starts[r]..starts[r + 1]."""

    items: int
    raters: int
    starts: Ints
    a: Ints
    b: Ints
    y: Floats
    x: Floats

    def slopes(self, q: Floats, u: Floats, bias: Floats) -> tuple[float, Floats, Floats, Floats]:
        """Log-likelihood and its slopes in q, u and b."""
        in_q, in_u, in_b = np.zeros(self.items), np.zeros(self.raters), np.zeros(self.raters)
        value = _slopes(q, u, bias, self.starts, self.a, self.b, self.y, self.x, in_q, in_u, in_b)
        return float(value), in_q, in_u, in_b

    def item_curvature(self, q: Floats, u: Floats, bias: Floats) -> Floats:
        """Minus the second derivatives in q, (items, items)."""
        above = np.zeros((self.items, self.items))
        _item_curvature(q, u, bias, self.starts, self.a, self.b, self.y, self.x, above)
        matrix = above + above.T
        np.fill_diagonal(matrix, -matrix.sum(axis=1))  # every answer depends on q_a - q_b only
        return matrix

    def rater_curvature(self, q: Floats, u: Floats, bias: Floats, first: int, last: int) -> tuple[Floats, Floats]:
        """Minus the second derivatives of raters first..last: in (u, b) twice, (m, 2, 2), and with q, (m, 2, items)."""
        own, cross = np.zeros((last - first, 2, 2)), np.zeros((last - first, 2, self.items))
        _rater_curvature(q, u, bias, self.starts, self.a, self.b, self.y, self.x, first, own, cross)
        return own, cross


@compiled
def _s(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z))


@compiled
def _chances(d: float, shift: float, eta: float) -> tuple[float, float, float, float]:
    """p1, p2, P and Q; Q is summed by itself so that it keeps its digits near 0."""
    p1, p2 = _s(d + shift), _s(shift - d)
    return p1, p2, eta * p1 + (1 - eta) * p2, eta * _s(-d - shift) + (1 - eta) * _s(d - shift)


@compiled
def _slopes(
    q: Floats,
    u: Floats,
    bias: Floats,
    starts: Ints,
    a: Ints,
    b: Ints,
    y: Floats,
    x: Floats,
    in_q: Floats,
    in_u: Floats,
    in_b: Floats,
) -> float:
    value = 0.0
    for r in range(len(u)):
        eta = _s(u[r])
        for c in range(starts[r], starts[r + 1]):
            p1, p2, p, other = _chances(q[a[c]] - q[b[c]], bias[r] * x[c], eta)
            if y[c] == 1.0:
                value += np.log(p)
            elif y[c] == 0.0:
                value += np.log(other)
            else:
                value += 0.5 * np.log(p * other)
            first = y[c] / p - (1 - y[c]) / other
            right, wrong = eta * p1 * (1 - p1), (1 - eta) * p2 * (1 - p2)
            in_q[a[c]] += first * (right - wrong)
            in_q[b[c]] -= first * (right - wrong)
            in_u[r] += first * eta * (1 - eta) * (p1 - p2)
            in_b[r] += first * x[c] * (right + wrong)
    return value


@compiled
def _item_curvature(
    q: Floats, u: Floats, bias: Floats, starts: Ints, a: Ints, b: Ints, y: Floats, x: Floats, above: Floats
) -> None:
    for r in range(len(u)):
        eta = _s(u[r])
        for c in range(starts[r], starts[r + 1]):
            p1, p2, p, other = _chances(q[a[c]] - q[b[c]], bias[r] * x[c], eta)
            first = y[c] / p - (1 - y[c]) / other
            second = -(y[c] / p**2 + (1 - y[c]) / other**2)
            right, wrong = eta * p1 * (1 - p1), (1 - eta) * p2 * (1 - p2)
            bent = right * (1 - 2 * p1) + wrong * (1 - 2 * p2)
            above[min(a[c], b[c]), max(a[c], b[c])] += first * bent + second * (right - wrong) ** 2


@compiled
def _rater_curvature(
    q: Floats,
    u: Floats,
    bias: Floats,
    starts: Ints,
    a: Ints,
    b: Ints,
    y: Floats,
    x: Floats,
    first_rater: int,
    own: Floats,
    cross: Floats,
) -> None:
    for k in range(len(own)):
        r = first_rater + k
        eta = _s(u[r])
        flat = eta * (1 - eta)
        for c in range(starts[r], starts[r + 1]):
            p1, p2, p, other = _chances(q[a[c]] - q[b[c]], bias[r] * x[c], eta)
            first = y[c] / p - (1 - y[c]) / other
            second = -(y[c] / p**2 + (1 - y[c]) / other**2)
            up, down = p1 * (1 - p1), p2 * (1 - p2)
            right, wrong = eta * up * (1 - 2 * p1), (1 - eta) * down * (1 - 2 * p2)
            by_d = eta * up - (1 - eta) * down
            by_u = flat * (p1 - p2)
            by_b = x[c] * (eta * up + (1 - eta) * down)
            own[k, 0, 0] -= first * (1 - 2 * eta) * by_u + second * by_u**2
            own[k, 0, 1] -= first * x[c] * flat * (up - down) + second * by_u * by_b
            own[k, 1, 1] -= first * x[c] ** 2 * (right + wrong) + second * by_b**2
            with_u = first * flat * (up + down) + second * by_d * by_u
            with_b = first * x[c] * (right - wrong) + second * by_d * by_b
            cross[k, 0, a[c]] -= with_u
            cross[k, 0, b[c]] += with_u
            cross[k, 1, a[c]] -= with_b
            cross[k, 1, b[c]] += with_b
        own[k, 1, 0] = own[k, 0, 1]
