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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit

from salon.errors import BadValue, NotConverged, TooFew
from salon.stats.crowd_passes import Answers
from salon.stats.crowd_posterior import CrowdPrior, Posterior
from salon.stats.pair_errors import Errors
from salon.stats.pair_fit import Convergence
from salon.stats.pair_information import DENSE_ITEMS

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
    posterior = Posterior(_answers(a, b, outcome, rater, items, raters, left), believed)
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
    return _result(posterior, point, Convergence(solver, steps, steepest, tolerance))


def _result(posterior: Posterior, point: Floats, convergence: Convergence) -> CrowdFit:
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


def _climb(posterior: Posterior, point: Floats, tolerance: float, limit: int) -> tuple[Floats, int]:
    """L-BFGS in units of one standard error or so: to the top, or near enough for Newton."""
    unit = np.sqrt(posterior.seen)

    def minus(scaled: Floats) -> tuple[float, Floats]:
        value, gradient = posterior.slopes(scaled / unit)
        return -value, -gradient / unit

    stop = _ROUGH if posterior.answers.items <= DENSE_ITEMS else tolerance * float(unit.min())
    options = {"maxiter": limit, "maxfun": 2 * limit, "maxcor": 20, "gtol": stop, "ftol": 0.0}
    found = minimize(minus, point * unit, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x / unit), int(found.nit)


def _polish(posterior: Posterior, point: Floats, tolerance: float) -> tuple[Floats, int]:
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


def _start(scores: ArrayLike | None, posterior: Posterior) -> Floats:
    """Given scores or zeros, every rater at the prior's peak and without bias."""
    point = posterior.peak()
    if scores is None:
        return point
    q = np.asarray(scores, dtype=np.float64)
    if q.shape != (posterior.answers.items,) or not np.isfinite(q).all():
        raise BadValue(f"a start needs {posterior.answers.items} finite scores", found=f"shape {q.shape}")
    point[: len(q)] = q
    return point


def _answers(
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    rater: ArrayLike,
    items: int,
    raters: int,
    left: ArrayLike | None,
) -> Answers:
    """Checked columns, sorted by rater."""
    columns = {"a": a, "b": b, "outcome": outcome, "rater": rater, "left": left}
    given = {name: _integers(name, values) for name, values in columns.items() if values is not None}
    if items < 2 or raters < 1 or not given["a"].size:
        raise TooFew(
            "at least 2 items, 1 rater and 1 comparison are needed",
            found=f"{items} items, {raters} raters, {given['a'].size} comparisons",
        )
    lengths = {column.shape for column in given.values()}
    if len(lengths) > 1 or given["a"].ndim != 1:
        raise BadValue("columns must be equally long", found=", ".join(f"{n}: {len(c)}" for n, c in given.items()))
    for name, count in (("a", items), ("b", items), ("rater", raters), ("outcome", 3), ("left", 3)):
        if name in given:
            _check_range(name, given[name], count)
    if (same := given["a"] == given["b"]).any():
        raise BadValue("an item cannot be compared with itself", where=f"comparison {int(np.argmax(same))}")
    return _by_rater(given, items, raters)


def _by_rater(given: dict[str, NDArray[Any]], items: int, raters: int) -> Answers:
    order = np.argsort(given["rater"], kind="stable")
    side = np.array([1.0, -1.0, 0.0])
    return Answers(
        items=items,
        raters=raters,
        starts=np.concatenate([[0], np.cumsum(np.bincount(given["rater"], minlength=raters))]),
        a=given["a"][order].astype(np.int64),
        b=given["b"][order].astype(np.int64),
        y=np.array([1.0, 0.0, 0.5])[given["outcome"][order]],
        x=side[given["left"][order]] if "left" in given else np.zeros(len(order)),
    )


def _integers(name: str, values: ArrayLike) -> NDArray[Any]:
    column = np.asarray(values)
    if column.size and column.dtype.kind not in "iu":
        raise BadValue(f"{name} must hold integers", found=f"{column.dtype}")
    return column


def _check_range(name: str, column: NDArray[Any], count: int) -> None:
    wrong = (column < 0) | (column >= count)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise BadValue(f"{name} takes the numbers 0 to {count - 1}", found=int(column[at]), where=f"comparison {at}")
