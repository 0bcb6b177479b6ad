"""The arithmetic of a bridge for one group: the pool's scale, placements, calibrated scores, and what to ask next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from salon.errors import TooFew
from salon.fuse.bridge_plan import BridgeAnswers, BridgePlan, BridgeSettings, Ints
from salon.stats import (
    Placement,
    PlacementAnswers,
    Pool,
    Sigmoid,
    anchored_elo,
    choose_opponents,
    count_pairs,
    expected_gains,
    fit_pairs,
    hessian_errors,
    min_max_sigmoid,
    place,
    placement_pool,
    sort_answers,
)

Floats = NDArray[np.float64]

POINTS = 400 / np.log(10)
"""Elo points to a logit."""


@dataclass(frozen=True)
class PoolAnswers:
    """Answers of one criterion, sorted out: within the pool, and of other items with the pool."""

    pool: tuple[Ints, Ints, Ints]
    """First, second (places in the pool) and outcome."""
    placements: tuple[Ints, Ints, Ints]
    """Item (place in the rest), opponent (place in the pool), outcome seen from the item."""


@dataclass(frozen=True)
class PoolScale:
    """A measured pool, in the units of its method."""

    pool: Pool
    errors: Floats | None
    """Of the pool's scores; None for Elo."""
    unit: float
    """Size of a logit: 1, or Elo's points."""


def pool_answers(plan: BridgePlan, answers: BridgeAnswers, criterion: int) -> PoolAnswers:
    """Decided answers and ties of one criterion; 'both bad' and pairs without a pool item order nothing here."""
    outcome = answers.outcomes[:, criterion].astype(np.int64)
    places = plan.place[answers.pairs]
    inside, answered = places >= 0, (outcome >= 0) & (outcome <= 2)
    both = answered & inside.all(axis=1)
    placement = answered & (inside.sum(axis=1) == 1)
    first_is_pool = inside[placement, 0]
    from_item = np.where(first_is_pool & (outcome[placement] < 2), 1 - outcome[placement], outcome[placement])
    item = np.where(first_is_pool, answers.pairs[placement, 1], answers.pairs[placement, 0])
    opponent = places[placement].max(axis=1, initial=-1)
    pool = (places[both, 0], places[both, 1], outcome[both])
    return PoolAnswers(pool, (np.searchsorted(plan.rest, item), opponent, from_item))


def measure_pool(met: PoolAnswers, size: int, settings: BridgeSettings) -> PoolScale:
    """The pool's scores, and the likelihoods that place other items on their scale."""
    a, b, outcome = met.pool
    if not len(a):
        raise TooFew("a bridge needs answers on pairs of the pool", found="none", remedy="ask the pairs of the plan")
    most = 2 * settings.opponents
    if settings.method == "elo":
        rng = np.random.default_rng(settings.seed)
        scores = anchored_elo(a, b, outcome, size, anchors=(), targets=(), rng=rng)
        return PoolScale(placement_pool(scores, scale=POINTS, most=most), None, POINTS)
    counts = count_pairs(a, b, outcome, size)
    fit = fit_pairs(counts, settings.method, prior=settings.prior)
    errors = hessian_errors(fit, counts).se
    folded = errors if settings.pool_errors else None
    return PoolScale(placement_pool(fit.scores, errors=folded, tie=fit.tie or None, most=most), errors, 1.0)


def sort_pool_answers(scale: PoolScale, met: PoolAnswers, rest: int) -> PlacementAnswers:
    """The answers of the items outside the pool, as the choice of opponents wants them."""
    return sort_answers(scale.pool, *met.placements, rest)


def latent_scores(plan: BridgePlan, scale: PoolScale, met: PoolAnswers, level: float) -> Placement:
    """Scores of all items of a group before calibration: pool items keep the pool's fit, every other item is placed by
    its posterior. Errors and intervals are NaN where none can be given."""
    placed = place(scale.pool, *met.placements, len(plan.rest), level=level)
    n = np.bincount(np.concatenate(met.pool[:2]), minlength=len(plan.pool))
    sd = np.full(len(plan.pool), np.nan) if scale.errors is None else scale.errors
    reach = ndtri((1 + level) / 2) * sd
    own = Placement(scale.pool.scores, sd, scale.pool.scores - reach, scale.pool.scores + reach, n, level)
    joined: dict[str, NDArray[Any]] = {}
    for name in ("mean", "sd", "low", "high", "answers"):
        joined[name] = np.zeros(plan.items, dtype=getattr(placed, name).dtype)
        joined[name][plan.pool], joined[name][plan.rest] = getattr(own, name), getattr(placed, name)
    return Placement(**joined, level=level)


def calibration_curve(q: Floats, settings: BridgeSettings) -> Sigmoid:
    """From latent to calibrated scores: the range from the worst to the best item covers `steepness` logits."""
    return min_max_sigmoid(q, low=settings.low, high=settings.high, steepness=settings.steepness)


def outlier_shift(q: Floats, settings: BridgeSettings) -> float | None:
    """Largest change of any score when the single lowest or highest item is left out; None for fewer than 4 items."""
    ranked = np.sort(q)
    if len(q) < 4 or not ranked[1] < ranked[-2]:
        return None
    now = calibration_curve(ranked, settings).apply(ranked)
    without_low, without_high = (calibration_curve(part, settings).apply(part) for part in (ranked[1:], ranked[:-1]))
    return float(max(np.abs(without_low - now[1:]).max(), np.abs(without_high - now[:-1]).max()))


# -- the next questions ------------------------------------------------------------------------------------------------


def next_round(plan: BridgePlan, answers: BridgeAnswers, settings: BridgeSettings) -> Ints:
    """(m, 2) the questions of the next round of one group; none when all is done."""
    pool = plan.unasked(plan.pool_pairs, answers)
    if len(pool) or not len(plan.rest):
        return pool
    if not settings.adaptive:
        return plan.unasked(random_placements(plan, settings), answers)
    return _adaptive_placements(plan, answers, settings)


def random_placements(plan: BridgePlan, settings: BridgeSettings) -> Ints:
    """(m, 2) every item outside the pool with its opponents, drawn by chance."""
    opponents = plan.opponents(settings.opponents)
    return plan.questions(np.repeat(plan.rest, opponents.shape[1]), plan.pool[opponents.ravel()])


def _adaptive_placements(plan: BridgePlan, answers: BridgeAnswers, settings: BridgeSettings) -> Ints:
    """For every item that waits, the opponents with the highest gain, summed over criteria."""
    # (rest, pool) was the item shown with the pool item, whatever the answer?
    places = plan.place[answers.pairs]
    placement = (places >= 0).sum(axis=1) == 1
    item = np.where(places[placement, 0] >= 0, answers.pairs[placement, 1], answers.pairs[placement, 0])
    met = np.zeros((len(plan.rest), len(plan.pool)), bool)
    met[np.searchsorted(plan.rest, item), places[placement].max(axis=1, initial=-1)] = True
    room = np.minimum(settings.opponents, len(plan.pool)) - met.sum(axis=1)
    gains, certain = np.zeros(met.shape), np.ones(len(plan.rest), bool)
    for criterion in range(answers.outcomes.shape[1]):
        pool = pool_answers(plan, answers, criterion)
        scale = measure_pool(pool, len(plan.pool), settings)
        placed = place(scale.pool, *pool.placements, len(plan.rest))
        certain &= placed.sd < (0.0 if settings.target_sd is None else settings.target_sd * scale.unit)
        gains += expected_gains(scale.pool, sort_pool_answers(scale, pool, len(plan.rest)), np.arange(len(plan.rest)))
    waiting = np.flatnonzero((room > 0) & ~certain)
    rng = np.random.default_rng([settings.seed, len(answers)])
    opponents = choose_opponents(gains[waiting], met[waiting], batch=settings.batch, rng=rng)
    within_room = (opponents >= 0) & (np.arange(opponents.shape[1]) < room[waiting][:, None])
    who = np.broadcast_to(plan.rest[waiting][:, None], opponents.shape)
    fresh = plan.questions(who[within_room], plan.pool[opponents[within_room]])
    # With both orders, a round that was cut short left single orders: they go first.
    item, opponent = np.nonzero(met)
    half = plan.questions(plan.rest[item], plan.pool[opponent]) if settings.both_orders else fresh[:0]
    return plan.unasked(np.concatenate([half, fresh]), answers)
