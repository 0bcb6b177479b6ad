"""What a bridge asks next, given the answers so far: the pool's pairs first, then the other items' opponents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from salon.fuse.bridge_answers import BridgeAnswers, Ints
from salon.fuse.bridge_plan import BridgePlan
from salon.fuse.bridge_scale import measure_pool, meetings, sorted_meetings
from salon.fuse.bridge_settings import BridgeSettings
from salon.stats.placement import place
from salon.stats.placement_choice import choose_opponents, expected_gains

Table = NDArray[np.bool_]


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
    met = _met(plan, answers)
    room = np.minimum(settings.opponents, len(plan.pool)) - met.sum(axis=1)
    gains, certain = np.zeros(met.shape), np.ones(len(plan.rest), bool)
    for criterion in range(answers.outcomes.shape[1]):
        found = meetings(plan, answers, criterion)
        scale = measure_pool(found, len(plan.pool), settings)
        placed = place(scale.pool, *found.others, len(plan.rest))
        certain &= placed.sd < (0.0 if settings.target_sd is None else settings.target_sd * scale.unit)
        gains += expected_gains(scale.pool, sorted_meetings(scale, found, len(plan.rest)), np.arange(len(plan.rest)))
    waiting = np.flatnonzero((room > 0) & ~certain)
    rng = np.random.default_rng([settings.seed, len(answers)])
    opponents = choose_opponents(gains[waiting], met[waiting], batch=settings.batch, rng=rng)
    wanted = (opponents >= 0) & (np.arange(opponents.shape[1]) < room[waiting][:, None])
    who = np.broadcast_to(plan.rest[waiting][:, None], opponents.shape)
    fresh = plan.questions(who[wanted], plan.pool[opponents[wanted]])
    # With both orders, a round that was cut short left single orders: they go first.
    half = plan.questions(*_met_pairs(plan, met)) if settings.both_orders else fresh[:0]
    return plan.unasked(np.concatenate([half, fresh]), answers)


def _met(plan: BridgePlan, answers: BridgeAnswers) -> Table:
    """(rest, pool) was the item shown with the pool item, whatever the answer?"""
    places = plan.place[answers.pairs]
    one = (places >= 0).sum(axis=1) == 1
    item = np.where(places[one, 0] >= 0, answers.pairs[one, 1], answers.pairs[one, 0])
    met = np.zeros((len(plan.rest), len(plan.pool)), bool)
    met[np.searchsorted(plan.rest, item), places[one].max(axis=1, initial=-1)] = True
    return met


def _met_pairs(plan: BridgePlan, met: Table) -> tuple[Ints, Ints]:
    item, opponent = np.nonzero(met)
    return plan.rest[item], plan.pool[opponent]
