"""The arithmetic of a bridge for one group and one criterion: the pool's scale, placements, calibrated scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from salon.errors import TooFew
from salon.fuse.bridge_answers import BridgeAnswers, Ints
from salon.fuse.bridge_plan import BridgePlan
from salon.fuse.bridge_settings import BridgeSettings
from salon.stats.calibration import Sigmoid, min_max_sigmoid
from salon.stats.elo import anchored_elo
from salon.stats.pair_counts import count_pairs
from salon.stats.pair_errors import hessian_errors
from salon.stats.pair_fit import fit_pairs
from salon.stats.placement import Answers, Placement, Pool, place, placement_pool, sort_answers

Floats = NDArray[np.float64]

POINTS = 400 / np.log(10)
"""Elo points to a logit."""


@dataclass(frozen=True)
class Meetings:
    """Answers of one criterion, sorted out: within the pool, and of other items with the pool."""

    pool: tuple[Ints, Ints, Ints]
    """First, second (places in the pool) and outcome."""
    others: tuple[Ints, Ints, Ints]
    """Item (place in the rest), opponent (place in the pool), outcome seen from the item."""


@dataclass(frozen=True)
class Scale:
    """A measured pool, in the units of its method."""

    pool: Pool
    errors: Floats | None
    """Of the pool's scores; None for Elo."""
    unit: float
    """Size of a logit: 1, or Elo's points."""


@dataclass(frozen=True)
class Latent:
    """Scores of all items of a group before calibration; sd and interval are NaN where none can be given."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    answers: Ints
    """Answers that each item's score rests on."""


def meetings(plan: BridgePlan, answers: BridgeAnswers, criterion: int) -> Meetings:
    """Decided answers and ties of one criterion; 'both bad' and pairs without a pool item order nothing here."""
    outcome = answers.outcomes[:, criterion].astype(np.int64)
    places = plan.place[answers.pairs]
    inside, answered = places >= 0, (outcome >= 0) & (outcome <= 2)
    both = answered & inside.all(axis=1)
    one = answered & (inside.sum(axis=1) == 1)
    first_is_pool = inside[one, 0]
    seen = np.where(first_is_pool & (outcome[one] < 2), 1 - outcome[one], outcome[one])
    item = np.where(first_is_pool, answers.pairs[one, 1], answers.pairs[one, 0])
    opponent = places[one].max(axis=1, initial=-1)
    pool = (places[both, 0], places[both, 1], outcome[both])
    return Meetings(pool, (np.searchsorted(plan.rest, item), opponent, seen))


def measure_pool(met: Meetings, size: int, settings: BridgeSettings) -> Scale:
    """The pool's scores, and the likelihoods that place other items on their scale."""
    a, b, outcome = met.pool
    if not len(a):
        raise TooFew("a bridge needs answers on pairs of the pool", found="none", remedy="ask the pairs of the plan")
    most = 2 * settings.opponents
    if settings.method == "elo":
        rng = np.random.default_rng(settings.seed)
        scores = anchored_elo(a, b, outcome, size, anchors=(), targets=(), rng=rng)
        return Scale(placement_pool(scores, scale=POINTS, most=most), None, POINTS)
    counts = count_pairs(a, b, outcome, size)
    fit = fit_pairs(counts, settings.method, prior=settings.prior)
    errors = hessian_errors(fit, counts).se
    folded = errors if settings.pool_errors else None
    return Scale(placement_pool(fit.scores, errors=folded, tie=fit.tie or None, most=most), errors, 1.0)


def sorted_meetings(scale: Scale, met: Meetings, rest: int) -> Answers:
    """The answers of the items outside the pool, as the choice of opponents wants them."""
    return sort_answers(scale.pool, *met.others, rest)


def latent_scores(plan: BridgePlan, scale: Scale, met: Meetings, level: float) -> Latent:
    """Pool items keep the pool's fit; every other item is placed by its posterior."""
    placed = place(scale.pool, *met.others, len(plan.rest), level=level)
    n = np.bincount(np.concatenate(met.pool[:2]), minlength=len(plan.pool))
    sd = np.full(len(plan.pool), np.nan) if scale.errors is None else scale.errors
    reach = ndtri((1 + level) / 2) * sd
    own = Placement(scale.pool.scores, sd, scale.pool.scores - reach, scale.pool.scores + reach, n, level)
    return Latent(*(_joined(plan, own, placed, name) for name in ("mean", "sd", "low", "high", "answers")))


def curve(q: Floats, settings: BridgeSettings) -> Sigmoid:
    """From latent to calibrated scores: the range from the worst to the best item covers `steepness` logits."""
    return min_max_sigmoid(q, low=settings.low, high=settings.high, steepness=settings.steepness)


def outlier_shift(q: Floats, settings: BridgeSettings) -> float | None:
    """Largest change of any score when the single lowest or highest item is left out; None for fewer than 4 items."""
    ranked = np.sort(q)
    if len(q) < 4 or not ranked[1] < ranked[-2]:
        return None
    now = curve(ranked, settings).apply(ranked)
    without_low, without_high = (curve(part, settings).apply(part) for part in (ranked[1:], ranked[:-1]))
    return float(max(np.abs(without_low - now[1:]).max(), np.abs(without_high - now[:-1]).max()))


def _joined(plan: BridgePlan, pool: Placement, rest: Placement, name: str) -> NDArray[Any]:
    values = np.zeros(plan.items, dtype=getattr(rest, name).dtype)
    values[plan.pool], values[plan.rest] = getattr(pool, name), getattr(rest, name)
    return values
