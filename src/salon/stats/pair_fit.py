"""Scores from comparisons: one Newton iteration for Bradley-Terry, Davidson, Rao-Kupper and Thurstone.

Maximises  sum over pairs of the log-likelihood of its counts (see pair_models)
           - sum_i q_i^2 / (2 prior^2)                              a normal prior, where one is given
           - strength sum_k (q[item_k] - target_k)^2                rating anchors, where given
over the scores q and, in Davidson and Rao-Kupper, the log t of the tie parameter. Without rating anchors only
differences of scores count, and they are centred: mean(q) = 0.

The objective is concave; the iteration is Newton's, and no step goes down (pair_newton).

Identification is checked before anything is fitted (pair_identified). Convergence is measured in shares: the
largest |slope| of a score divided by the number of comparisons of its item, i.e. the largest gap between observed
and fitted win share. Not reaching `tolerance` raises NotConverged.

Edges: in Davidson and Rao-Kupper no ties at all put the tie parameter on its boundary (nu = 0, theta = 1), where
both are Bradley-Terry: the fit is that, `boundary` says so. Only ties: NotIdentified.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue, NotConverged
from salon.stats.pair_counts import PairCounts
from salon.stats.pair_identified import check_identified
from salon.stats.pair_information import FEW_ITEMS, Information, factorable, row_starts
from salon.stats.pair_models import TIE_MODELS, has_tie, model_code, pair_log_likelihood
from salon.stats.pair_newton import Pairs, advance, climb, derivatives

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pull:
    """Rating anchors: the penalty - strength * sum_k (q[items_k] - targets_k)^2 on the log-likelihood."""

    items: Ints
    targets: Floats
    strength: float


@dataclass(frozen=True, slots=True)
class Convergence:
    """How an iteration ended: always below its tolerance, or it would have raised."""

    solver: str
    iterations: int
    gradient: float
    """The largest slope left, in the unit of `tolerance`."""
    tolerance: float


@dataclass(frozen=True, slots=True)
class PairFit:
    """Scores of the items of a comparison study."""

    model: str
    scores: Floats
    """(items,) on the model's latent scale; mean zero unless rating anchors fix the location."""
    tie: float | None
    """nu (Davidson), theta (Rao-Kupper), None for models without a tie parameter."""
    log_likelihood: float
    """Of the data alone, without prior and rating anchors."""
    prior: float | None
    """Standard deviation of the normal prior; None: maximum likelihood."""
    convergence: Convergence
    pull: Pull | None = None

    @property
    def boundary(self) -> bool:
        """Whether a tie parameter was wanted but no answer was a tie, so that it sits on its boundary."""
        return self.tie is not None and self.tie == (0.0 if self.model == "davidson" else 1.0)


def fit_pairs(
    counts: PairCounts,
    model: str = "bradley-terry",
    *,
    prior: float | None = None,
    pull: Pull | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
) -> PairFit:
    """Fit `model` to counts of comparisons by maximum likelihood, or its mode under a prior or rating anchors."""
    _check_settings(counts, prior, pull, tolerance)
    first = _first_tie(counts, model)
    code, tie = model_code(model, first)
    check_identified(counts, tie_parameter=first is not None, prior=prior is not None, anchored=_anchored(pull))
    ridge, goal = penalty(counts.items, prior, pull)
    q, tie, convergence = _newton(counts, code, tie, ridge, goal, tolerance, max_iterations)
    fitted = tie if has_tie(code) else first
    value = pair_log_likelihood(counts, model, q, fitted)
    return PairFit(model, q, fitted, value, prior, convergence, pull)


def penalty(items: int, prior: float | None, pull: Pull | None) -> tuple[Floats, Floats]:
    """The quadratic penalty 1/2 sum ridge_i q_i^2 - goal_i q_i of a prior and rating anchors."""
    ridge = np.full(items, 0.0 if prior is None else prior**-2)
    goal = np.zeros(items)
    if pull is not None:
        np.add.at(ridge, pull.items, 2 * pull.strength)
        np.add.at(goal, pull.items, 2 * pull.strength * pull.targets)
    return ridge, goal


def fit_information(fit: PairFit, counts: PairCounts) -> Information:
    """The information matrix at a fit, with the ridge of its prior and rating anchors."""
    code, tie = model_code(fit.model, fit.tie)
    ridge, _ = penalty(counts.items, fit.prior, fit.pull)
    return information(counts, code, tie, fit.scores, ridge)[0]


def information(counts: PairCounts, code: int, tie: float, q: Floats, ridge: Floats) -> tuple[Information, Floats]:
    """Minus the second derivatives at (q, log tie), and the slopes of the log-likelihood (items + 1,), tie last."""
    n = counts.items
    edge, totals = np.empty(len(counts.i)), np.empty((n + 1, 3))
    derivatives(code, _pairs(counts), q, tie, edge, totals)
    slope, own, cross = totals.T.copy()
    corner = float(own[n]) if has_tie(code) else None
    return Information(n, counts.i, counts.j, edge, own[:n], cross[:n], corner, ridge), slope


def _newton(
    counts: PairCounts, code: int, tie: float, ridge: Floats, goal: Floats, tolerance: float, max_iterations: int
) -> tuple[Floats, float, Convergence]:
    """Climb from q = 0 to the maximum."""
    pairs, scale = _pairs(counts), np.append(_games(counts) + ridge, counts.comparisons)
    few, strict = counts.items <= FEW_ITEMS, factorable(counts.items, len(counts.i))
    q, size, done, stalled = np.zeros(counts.items), np.inf, 0, False
    while done < max_iterations and not size <= tolerance:
        if stalled:
            q, tie = _factored_step(counts, code, q, tie, ridge, goal)
            done += 1
        left = 0 if stalled else max_iterations
        q, tie, steps, size, now = climb(code, pairs, ridge, goal, scale, q, tie, tolerance, left, few, strict)
        done, stalled = done + steps, stalled or now
    if not size <= tolerance:
        raise NotConverged(
            f"scores must settle to a gap of {tolerance:g} between observed and fitted win share",
            found=f"{size:.3g} after {done} iterations",
            remedy="raise tolerance or max_iterations, or give a prior (--prior 3)",
        )
    solver = "elimination" if few else "factors" if stalled else "conjugate gradients"
    return q, tie, Convergence(f"Newton, {solver}", done, size, tolerance)


def _factored_step(
    counts: PairCounts, code: int, q: Floats, tie: float, ridge: Floats, goal: Floats
) -> tuple[Floats, float]:
    """One step by a factor of the matrix, for graphs on which conjugate gradients stall."""
    matrix, slope = information(counts, code, tie, q, ridge)
    slope[:-1] += goal - ridge * q
    step = np.append(matrix.factor().solve(slope[: matrix.parameters]), 0.0)[: counts.items + 1]
    room = np.empty(len(counts.i)), np.empty((counts.items + 1, 3))
    moved: tuple[Floats, float] = advance(code, _pairs(counts), ridge, goal, q, tie, step, *room)
    return moved


def _pairs(counts: PairCounts) -> Pairs:
    return row_starts(counts.i, counts.items), counts.j, counts.wins, counts.losses, counts.ties


def _first_tie(counts: PairCounts, model: str) -> float | None:
    """The tie parameter that gives equal items the observed share of ties."""
    if model not in TIE_MODELS:
        return None
    share = float(counts.ties.sum()) / max(counts.comparisons, 1e-300)
    share = min(share, 0.99)  # only ties is refused later, by name
    return 2 * share / (1 - share) if model == "davidson" else (1 + share) / (1 - share)


def _games(counts: PairCounts) -> Floats:
    each = counts.wins + counts.losses + counts.ties
    return np.asarray(np.bincount(counts.i, each, counts.items) + np.bincount(counts.j, each, counts.items), np.float64)


def _anchored(pull: Pull | None) -> Ints:
    return np.empty(0, np.int64) if pull is None else np.asarray(pull.items, np.int64)


def _check_settings(counts: PairCounts, prior: float | None, pull: Pull | None, tolerance: float) -> None:
    if prior is not None and not 0 < prior < np.inf:
        raise BadValue("the standard deviation of a prior is a positive number", found=prior, remedy="--prior 3")
    if np.any(counts.i[1:] < counts.i[:-1]):
        raise BadValue(
            "counts must be sorted by (i, j)", found="pairs out of order", remedy="make them with count_pairs"
        )
    if not 0 < tolerance < np.inf:
        raise BadValue("a tolerance is a positive number", found=tolerance)
    if pull is None:
        return
    if not 0 < pull.strength < np.inf:
        raise BadValue("the strength of a pull is a positive number", found=pull.strength)
    if not len(pull.items) or len(pull.items) != len(pull.targets) or not np.isfinite(pull.targets).all():
        raise BadValue("rating anchors need one finite target each", found=f"{pull.items} with {pull.targets}")
    if min(pull.items) < 0 or max(pull.items) >= counts.items:
        raise BadValue(f"rating anchors are items 0 to {counts.items - 1}", found=pull.items)
