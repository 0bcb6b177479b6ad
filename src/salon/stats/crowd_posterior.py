"""The log-posterior of crowd Bradley-Terry: slopes, Newton steps and errors.

A point is one vector (q, u, b) of items + 2 raters numbers, u = logit(eta). Its curvature (minus the second
derivatives) has an (items, items) block A, a 2 x 2 block D_r for each rater and a 2 x items block C_r between them;
raters do not touch each other. So they are eliminated one by one: with

    S = A - sum_r C_r' D_r^-1 C_r

the inverse of S is the covariance of q with the raters' terms unknown, and D_r^-1 + K_r S^-1 K_r' that of (u_r, b_r),
K_r = D_r^-1 C_r. Cost: items^2 x 2 raters multiplications in blocks of raters, plus one Cholesky factor of S.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit, log_expit

from salon.errors import BadValue, NotConverged
from salon.stats.crowd_passes import Answers

Floats = NDArray[np.float64]

_BLOCK = 20_000_000  # cells of raters x items held at once: 160 MB


@dataclass(frozen=True, slots=True)
class CrowdPrior:
    """What is believed before the answers."""

    scores: float = 3.0
    """Standard deviation of q around 0."""
    right: float = 4.0
    """eta ~ Beta(right, wrong): as if the rater had been right four times before..."""
    wrong: float = 0.5
    """...and wrong half a time: weak, peak at 8/9."""
    bias: float = 1.0
    """b ~ Cauchy(0, bias): near 0 as tight as a normal, yet it lets a rater who always answers left go."""

    def __post_init__(self) -> None:
        for name in ("scores", "right", "wrong", "bias"):
            if not 0 < getattr(self, name) < np.inf:
                raise BadValue(f"the prior's {name!r} is a positive number", found=getattr(self, name))
        if self.right <= self.wrong:
            raise BadValue(
                "a prior with right > wrong is needed: it chooses between q and -q",
                found=f"Beta({self.right:g}, {self.wrong:g})",
            )


@dataclass(frozen=True, slots=True)
class Posterior:
    """Answers and priors together."""

    answers: Answers
    prior: CrowdPrior

    @property
    def seen(self) -> Floats:
        """How much is known of each number of a point: answers about the item or of the rater, and the prior."""
        rows, prior = self.answers, self.prior
        about = np.bincount(rows.a, minlength=rows.items) + np.bincount(rows.b, minlength=rows.items)
        by = np.diff(rows.starts)
        return np.concatenate([about + prior.scores**-2, by + prior.right + prior.wrong, by + prior.bias**-2])

    def peak(self) -> Floats:
        """The point that the priors favour."""
        point = np.zeros(self.answers.items + 2 * self.answers.raters)
        self.split(point)[1][:] = np.log(self.prior.right / self.prior.wrong)
        return point

    def split(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """q, u and b: views of the point."""
        n, m = self.answers.items, self.answers.raters
        return point[:n], point[n : n + m], point[n + m :]

    def slopes(self, point: Floats) -> tuple[float, Floats]:
        """Log-posterior up to a constant, and its gradient."""
        q, u, bias = self.split(point)
        prior, eta = self.prior, expit(u)
        value, in_q, in_u, in_b = self.answers.slopes(q, u, bias)
        value -= float(q @ q) / (2 * prior.scores**2) + float(np.sum(np.log1p((bias / prior.bias) ** 2)))
        value += float(np.sum(prior.right * log_expit(u) + prior.wrong * log_expit(-u)))
        in_q -= q / prior.scores**2
        in_u += prior.right * (1 - eta) - prior.wrong * eta
        in_b -= 2 * bias / (prior.bias**2 + bias**2)
        return value, np.concatenate([in_q, in_u, in_b])

    def steepest(self, gradient: Floats) -> float:
        """The largest slope per answer."""
        return float(np.max(np.abs(gradient) / self.seen))

    def newton_step(self, point: Floats, gradient: Floats) -> Floats:
        """A step uphill: Newton's where the curvature is that of a maximum, else with the curvature lifted."""
        in_q, in_u, in_b = self.split(gradient)
        in_rater = np.stack([in_u, in_b], axis=1)
        right = in_q.copy()
        for raters, inverse, cross in self._blocks(point, lift=True):
            pull = np.einsum("rij,rj->ri", inverse, in_rater[raters])
            right -= np.einsum("ri,rin->n", pull, cross)
        to_q = _solve_lifted(self._eliminated(point, lift=True), right)
        to_rater = np.empty_like(in_rater)
        for raters, inverse, cross in self._blocks(point, lift=True):
            to_rater[raters] = np.einsum("rij,rj->ri", inverse, in_rater[raters] - cross @ to_q)
        return np.concatenate([to_q, to_rater[:, 0], to_rater[:, 1]])

    def errors(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Covariance of q - mean(q), and standard errors of u and b."""
        try:
            factor = cho_factor(self._eliminated(point, lift=False))
        except LinAlgError:
            raise NotConverged(
                "a maximum of the posterior is needed", found="a saddle", remedy="start elsewhere"
            ) from None
        covariance = cho_solve(factor, np.eye(self.answers.items))
        variance = np.empty((self.answers.raters, 2))
        for raters, inverse, cross in self._blocks(point, lift=False):
            k = inverse @ cross
            spread = (k.reshape(-1, k.shape[2]) @ covariance).reshape(k.shape)
            variance[raters] = np.diagonal(inverse, axis1=1, axis2=2) + np.einsum("rin,rin->ri", spread, k)
        covariance = covariance - covariance.mean(axis=0)
        covariance = covariance - covariance.mean(axis=1)[:, None]
        error = np.sqrt(variance)
        return covariance, error[:, 0], error[:, 1]

    def _eliminated(self, point: Floats, *, lift: bool) -> Floats:
        """S: the curvature in q once every rater's terms have followed."""
        matrix = self.answers.item_curvature(*self.split(point))
        matrix[np.diag_indices_from(matrix)] += self.prior.scores**-2
        for _, inverse, cross in self._blocks(point, lift=lift):
            flat = (-1, cross.shape[2])
            matrix -= cross.reshape(flat).T @ (inverse @ cross).reshape(flat)
        return matrix

    def _blocks(self, point: Floats, *, lift: bool) -> Iterator[tuple[slice, Floats, Floats]]:
        """Raters a block at a time: D_r^-1 and C_r."""
        q, u, bias = self.split(point)
        size = max(1, _BLOCK // (2 * self.answers.items))
        for first in range(0, self.answers.raters, size):
            raters = slice(first, min(first + size, self.answers.raters))
            own, cross = self.answers.rater_curvature(q, u, bias, raters.start, raters.stop)
            eta = expit(u[raters])
            own[:, 0, 0] += (self.prior.right + self.prior.wrong) * eta * (1 - eta)
            own[:, 1, 1] += _cauchy_curvature(bias[raters], self.prior.bias)
            yield raters, np.asarray(np.linalg.inv(_lifted(own) if lift else own), dtype=np.float64), cross


def _cauchy_curvature(b: Floats, scale: float) -> Floats:
    """Minus the second derivative of the log-density; negative in the tails."""
    return np.asarray(2 * (scale**2 - b**2) / (scale**2 + b**2) ** 2)


def _lifted(own: Floats) -> Floats:
    """The 2 x 2 blocks with eigenvalues raised to a small positive number."""
    values, vectors = np.linalg.eigh(own)
    floor = 1e-3 * np.abs(values).max(axis=1, keepdims=True)
    return np.asarray((vectors * np.maximum(np.abs(values), floor)[:, None, :]) @ vectors.transpose(0, 2, 1))


def _solve_lifted(matrix: Floats, right: Floats) -> Floats:
    """Solve with the least ridge, in powers of ten, that makes the matrix positive definite."""
    ridge = 0.0
    while True:
        try:
            return np.asarray(cho_solve(cho_factor(matrix + ridge * np.eye(len(matrix))), right))
        except LinAlgError:
            ridge = max(10 * ridge, 1e-3 * float(np.abs(np.diag(matrix)).mean()))
