"""Crowd Bradley-Terry: scores of items, with each rater's reliability and pull to the left as nuisance terms.

Model (Chen et al. 2013, with a position term). For items a, b put d = q_a - q_b; x = +1 where a was shown left, -1
where b was, 0 where nobody knows. Rater r reports a with probability

    P = eta_r s(d + b_r x) + (1 - eta_r) s(-d + b_r x),        s(z) = 1 / (1 + e^-z)

With probability eta_r the rater sees the difference as it is, otherwise turned round; b_r is added to the logit of
what is *reported*, after the turn, so it always pulls to the left side. eta = 1: Bradley-Terry; eta = 1/2: the answer
does not depend on the items (a spammer, with b free to be a left-clicker); eta < 1/2: an adversary. Ties are half a win
each. Raters with eta near 1/2 or large b add next to nothing to the slopes of q: they lose their influence.

Identification comes from priors, so every graph fits:

    q ~ N(0, scores^2)    eta ~ Beta(right, wrong)    b ~ Cauchy(0, bias)

* (q, eta) and (-q, 1 - eta) have the same likelihood. A prior with right > wrong, and a start with eta > 1/2, choose
  the sense in which most raters are right. If most are adversaries, all scores come out reversed.
* For small d, P = 1/2 + (2 eta - 1) d/4: only the product is seen, so the *scale* of q rests partly on the prior of eta
  unless clear pairs (|d| > 2) were asked often. Order and relative distances do not.
* The long tails of b's prior let a rater who always answers left go (b near 9). A normal prior holds b back, and all
  scores shrink to make room for that rater's answers.
* The mode is taken in u = logit(eta), where Beta(right, wrong) peaks at right / (right + wrong) and never at 0 or 1.

Fit. L-BFGS on the log-posterior (which is not concave) from q = `start` or 0, then Newton steps in which each
rater's (u, b) is eliminated, to `tolerance`. A maximum found is a local one; compare `log_posterior` over starts.

Errors. The inverse of minus the second derivatives at the mode, all parameters jointly: q's errors carry what is not
known of eta and b. They take answers as independent given q, eta and b, and are too wide where many answers are
ties (half wins vary less than wins). Above 5,000 items there are scores but no errors.

Source: Chen, Bennett, Collins-Thompson & Horvitz 2013, Pairwise ranking aggregation in a crowdsourced setting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

from salon.errors import BadValue, NotConverged, TooFew
from salon.stats.jit import compiled
from salon.stats.pair_errors import Errors
from salon.stats.pair_fit import Convergence
from salon.stats.pair_models import DENSE_ITEMS

Floats = NDArray[np.float64]

_ROUGH = 0.01  # L-BFGS hands over to Newton at slopes of about this many standard errors
_NEWTON = 50  # more steps than a maximum needs


@dataclass(frozen=True, slots=True)
class CrowdFit:
    """Scores of items and habits of raters."""

    scores: Floats
    """(items,), logits, mean 0."""
    errors: Errors | None
    """Of the centred scores; None above 5,000 items."""
    reliability: Floats
    """(raters,), eta."""
    reliability_se: Floats | None
    """By the delta method; intervals belong on the logit scale, where the error is se / (eta (1 - eta))."""
    position_bias: Floats
    """(raters,), b: logits towards the left; 0 where no side is known."""
    position_bias_se: Floats | None
    log_likelihood: float
    log_posterior: float
    """With the priors, up to a constant: the number to compare fits from different starts by."""
    prior: CrowdPrior
    convergence: Convergence


def fit_crowd(
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    rater: ArrayLike,
    items: int,
    raters: int,
    *,
    left: ArrayLike | None = None,
    prior: CrowdPrior | None = None,
    start: ArrayLike | None = None,
    tolerance: float = 1e-8,
    max_iterations: int = 2000,
) -> CrowdFit:
    """Fit comparisons of items a and b by raters; outcome 0 (a better), 1 (b better), 2 (tie).

    `left`: 0 where a was shown left, 1 where b was, 2 where unknown (all unknown when None). `tolerance` bounds every
    slope of the log-posterior, divided by the number of answers about the item or of the rater.
    """
    believed = prior or CrowdPrior()
    posterior = CrowdPosterior(_check_answers(a, b, outcome, rater, items, raters, left), believed)
    point, steps = _climb(posterior, _start(start, posterior), tolerance, max_iterations)
    if items <= DENSE_ITEMS:
        point, polish = _polish(posterior, point, tolerance)
        steps += polish
    steepest = posterior.steepest(posterior.slopes(point)[1])
    if steepest > tolerance:
        raise NotConverged(
            f"the crowd model must settle to slopes of {tolerance:g} per answer",
            found=f"{steepest:.3g} after {steps} iterations",
            remedy="raise tolerance or max_iterations, or start from other scores",
        )
    solver = "L-BFGS" if items > DENSE_ITEMS else "L-BFGS, then Newton"
    convergence = Convergence(solver, steps, steepest, tolerance)
    q, u, bias = posterior.split(point)
    eta = expit(u)
    errors, eta_se, bias_se = None, None, None
    if posterior.answers.items <= DENSE_ITEMS:
        covariance, u_se, bias_se = posterior.errors(point)
        errors = Errors(np.sqrt(np.diag(covariance)), covariance, np.inf, "observed information of the crowd model")
        eta_se = u_se * eta * (1 - eta)
    return CrowdFit(
        scores=q - q.mean(),
        errors=errors,
        reliability=eta,
        reliability_se=eta_se,
        position_bias=bias,
        position_bias_se=bias_se,
        log_likelihood=posterior.answers.slopes(q, u, bias)[0],
        log_posterior=posterior.slopes(point)[0],
        prior=posterior.prior,
        convergence=convergence,
    )


def _climb(posterior: CrowdPosterior, point: Floats, tolerance: float, limit: int) -> tuple[Floats, int]:
    """L-BFGS in units of one standard error or so: to the top, or near enough for Newton."""
    from scipy.optimize import minimize

    unit = np.sqrt(posterior.seen)

    def minus(scaled: Floats) -> tuple[float, Floats]:
        value, gradient = posterior.slopes(scaled / unit)
        return -value, -gradient / unit

    stop = _ROUGH if posterior.answers.items <= DENSE_ITEMS else tolerance * float(unit.min())
    options = {"maxiter": limit, "maxfun": 2 * limit, "maxcor": 20, "gtol": stop, "ftol": 0.0}
    optimum = minimize(minus, point * unit, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(optimum.x / unit), int(optimum.nit)


def _polish(posterior: CrowdPosterior, point: Floats, tolerance: float) -> tuple[Floats, int]:
    value, gradient = posterior.slopes(point)
    for iteration in range(_NEWTON):
        if posterior.steepest(gradient) <= tolerance:
            return point, iteration
        step = posterior.newton_step(point, gradient)
        for halving in range(40):
            trial = point + step * 0.5**halving
            higher, gradient = posterior.slopes(trial)
            # Near the top a step may change the value by less than its rounding error.
            if higher >= value - 1e-12 * abs(value):
                break
        point, value = trial, higher
    return point, _NEWTON


def _start(scores: ArrayLike | None, posterior: CrowdPosterior) -> Floats:
    """Given scores or zeros, every rater at the prior's peak and without bias."""
    point = posterior.peak()
    if scores is None:
        return point
    q = np.asarray(scores, dtype=np.float64)
    if q.shape != (posterior.answers.items,) or not np.isfinite(q).all():
        raise BadValue(f"a start needs {posterior.answers.items} finite scores", found=f"shape {q.shape}")
    point[: len(q)] = q
    return point


def _check_answers(
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    rater: ArrayLike,
    items: int,
    raters: int,
    left: ArrayLike | None,
) -> CrowdAnswers:
    """Checked columns, sorted by rater."""
    columns = {"a": a, "b": b, "outcome": outcome, "rater": rater, "left": left}
    arrays = {name: _integers(name, values) for name, values in columns.items() if values is not None}
    if items < 2 or raters < 1 or not arrays["a"].size:
        raise TooFew(
            "at least 2 items, 1 rater and 1 comparison are needed",
            found=f"{items} items, {raters} raters, {arrays['a'].size} comparisons",
        )
    lengths = {column.shape for column in arrays.values()}
    if len(lengths) > 1 or arrays["a"].ndim != 1:
        raise BadValue("columns must be equally long", found=", ".join(f"{n}: {len(c)}" for n, c in arrays.items()))
    for name, count in (("a", items), ("b", items), ("rater", raters), ("outcome", 3), ("left", 3)):
        if name in arrays:
            column = arrays[name]
            wrong = (column < 0) | (column >= count)
            if wrong.any():
                at = int(np.argmax(wrong))
                raise BadValue(
                    f"{name} takes the numbers 0 to {count - 1}", found=int(column[at]), where=f"comparison {at}"
                )
    if (same := arrays["a"] == arrays["b"]).any():
        raise BadValue("an item cannot be compared with itself", where=f"comparison {int(np.argmax(same))}")
    order = np.argsort(arrays["rater"], kind="stable")
    side = np.array([1.0, -1.0, 0.0])
    return CrowdAnswers(
        items=items,
        raters=raters,
        starts=np.concatenate([[0], np.cumsum(np.bincount(arrays["rater"], minlength=raters))]),
        a=arrays["a"][order].astype(np.int64),
        b=arrays["b"][order].astype(np.int64),
        y=np.array([1.0, 0.0, 0.5])[arrays["outcome"][order]],
        x=side[arrays["left"][order]] if "left" in arrays else np.zeros(len(order)),
    )


def _integers(name: str, values: ArrayLike) -> NDArray[Any]:
    column = np.asarray(values)
    if column.size and column.dtype.kind not in "iu":
        raise BadValue(f"{name} must hold integers", found=f"{column.dtype}")
    return column


# -- the log-posterior -------------------------------------------------------------------------------------------------


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
class CrowdPosterior:
    """Answers and priors together.

    The log-posterior of crowd Bradley-Terry: slopes, Newton steps and errors.

    A point is one vector (q, u, b) of items + 2 raters numbers, u = logit(eta). Its curvature (minus the second
    derivatives) has an (items, items) block A, a 2 x 2 block D_r for each rater and a 2 x items block C_r between them;
    raters do not touch each other. So they are eliminated one by one: with

        S = A - sum_r C_r' D_r^-1 C_r

    the inverse of S is the covariance of q with the raters' terms unknown, and D_r^-1 + K_r S^-1 K_r' that of (u_r,
    b_r), K_r = D_r^-1 C_r. Cost: items^2 x 2 raters multiplications in blocks of raters, plus one Cholesky factor of S.
    """

    answers: CrowdAnswers
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
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

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
            yield raters, np.asarray(np.linalg.inv(_lift_eigenvalues(own) if lift else own), dtype=np.float64), cross


def _cauchy_curvature(b: Floats, scale: float) -> Floats:
    """Minus the second derivative of the log-density; negative in the tails."""
    return np.asarray(2 * (scale**2 - b**2) / (scale**2 + b**2) ** 2)


def _lift_eigenvalues(own: Floats) -> Floats:
    """The 2 x 2 blocks with eigenvalues raised to a small positive number."""
    values, vectors = np.linalg.eigh(own)
    floor = 1e-3 * np.abs(values).max(axis=1, keepdims=True)
    return np.asarray((vectors * np.maximum(np.abs(values), floor)[:, None, :]) @ vectors.transpose(0, 2, 1))


def _solve_lifted(matrix: Floats, right: Floats) -> Floats:
    """Solve with the least ridge, in powers of ten, that makes the matrix positive definite."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    ridge = 0.0
    while True:
        try:
            return np.asarray(cho_solve(cho_factor(matrix + ridge * np.eye(len(matrix))), right))
        except LinAlgError:
            ridge = max(10 * ridge, 1e-3 * float(np.abs(np.diag(matrix)).mean()))


# -- compiled passes over the answers ----------------------------------------------------------------------------------


Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CrowdAnswers:
    """Comparisons sorted by rater: rater r gave starts[r]..starts[r + 1].

    Compiled passes over the answers of a crowd: likelihood, slopes and curvature of crowd Bradley-Terry.

    Letters as in `crowd`: d = q_a - q_b, eta = s(u), x the side (+1 a left, -1 b left, 0 unknown), y = 1, 1/2, 0 when a
    wins, ties, loses. With p1 = s(d + b x), p2 = s(-d + b x), P = eta p1 + (1 - eta) p2 and Q = 1 - P,

        l = y log P + (1 - y) log Q,   l_i = L1 P_i,   l_ij = L1 P_ij + L2 P_i P_j
        L1 = y/P - (1 - y)/Q,          L2 = -(y/P^2 + (1 - y)/Q^2)

    and, writing s' = s(1 - s), s'' = s'(1 - 2s), e' = eta (1 - eta),

        P_d = eta p1' - (1-eta) p2'      P_dd = eta p1'' + (1-eta) p2''     P_du = e' (p1' + p2')
        P_u = e' (p1 - p2)               P_uu = e' (1 - 2 eta)(p1 - p2)     P_ub = x e' (p1' - p2')
        P_b = x (eta p1' + (1-eta) p2')  P_bb = x^2 P_dd                    P_db = x (eta p1'' - (1-eta) p2'')
    """

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
        value = _crowd_slopes(q, u, bias, self.starts, self.a, self.b, self.y, self.x, in_q, in_u, in_b)
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
def _crowd_slopes(
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
            p1, p2, p, p_b = _chances(q[a[c]] - q[b[c]], bias[r] * x[c], eta)
            if y[c] == 1.0:
                value += np.log(p)
            elif y[c] == 0.0:
                value += np.log(p_b)
            else:
                value += 0.5 * np.log(p * p_b)
            first = y[c] / p - (1 - y[c]) / p_b
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
            p1, p2, p, p_b = _chances(q[a[c]] - q[b[c]], bias[r] * x[c], eta)
            first = y[c] / p - (1 - y[c]) / p_b
            second = -(y[c] / p**2 + (1 - y[c]) / p_b**2)
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
            p1, p2, p, p_b = _chances(q[a[c]] - q[b[c]], bias[r] * x[c], eta)
            first = y[c] / p - (1 - y[c]) / p_b
            second = -(y[c] / p**2 + (1 - y[c]) / p_b**2)
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
