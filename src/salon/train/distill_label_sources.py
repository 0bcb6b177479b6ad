"""Four sources of labels: the bridge, majority votes, single answers, all pairs. Each asks, and scores the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.errors import BadValue, TooFew
from salon.evaluate.pseudo_scores import PseudoPairs
from salon.fuse.bridge_answers import BridgeAnswers, no_answers
from salon.fuse.bridge_ask import next_round, random_placements
from salon.fuse.bridge_plan import BridgePlan, plan_group
from salon.fuse.bridge_report import bridge_report, score_group
from salon.fuse.bridge_scale import curve
from salon.fuse.bridge_settings import BridgeSettings
from salon.study import Signature
from salon.train.distill_label_ask import Asker
from salon.train.distill_label_settings import Budget, LabelSettings, bridge_settings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Outcomes = NDArray[np.int8]
OUTCOMES = ("first", "second", "tie")
FEW, ONE_SIDED = 10, 0.2
"""Answers from which a judge that always names the same side is known as one; and how far from half is told."""


@dataclass
class Labelled:
    """Labels of the items asked about, before they are joined with those that were left out."""

    values: Floats
    sd: Floats
    n: Ints
    pairs: PseudoPairs | None = None
    answers: pa.Table | None = None
    """Every call: what was shown, and what was said under each criterion."""
    dead: tuple[str, ...] = ()
    ties: dict[str, float] = field(default_factory=dict)
    policies: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


# -- the bridge ------------------------------------------------------------------------------------------------------


def bridge_labels(asker: Asker, settings: LabelSettings, budget: Budget, low: float, high: float) -> Labelled:
    """Pool pairs first, then placements until the plan or the budget is done; posterior means with their sd."""
    asked = bridge_settings(settings, budget, low, high)
    most = np.iinfo(np.int64).max if settings.max_calls is None else settings.max_calls
    alive, told = _living_pool(asker, asked, most)
    plan = plan_group([asker.items[item] for item in alive], asked)
    usable = _usable(asker, _local(told, alive, plan))
    while True:
        local = _local(told, alive, plan)
        pairs = next_round(plan, BridgeAnswers(local.pairs, local.outcomes[:, usable]), asked)[: most - len(told)]
        if not len(pairs):
            break
        told = _more(asker, told, alive[pairs])
    return _scored(asker, plan, alive, told, usable, asked)


def bridge_pairs(items: Sequence[str], settings: BridgeSettings) -> Ints:
    """Every pair of the plan; with adaptive opponents, as many random ones in their place."""
    plan = plan_group(items, settings)
    placed = random_placements(plan, settings) if len(plan.rest) else np.empty((0, 2), np.int64)
    return np.concatenate([plan.pool_pairs, placed])


def _living_pool(asker: Asker, settings: BridgeSettings, most: int) -> tuple[Ints, BridgeAnswers]:
    """Items with the dead of the pool left out, and the answers of a complete pool.

    A pool item without a single answer leaves, and the next one in the order of the seed takes its place.
    """
    alive, gone, told = np.arange(len(asker.items)), 0, no_answers(len(asker.plan.criteria))
    while True:
        if len(alive) < 2:
            raise _silent(asker, gone)
        plan = plan_group([asker.items[item] for item in alive], settings)
        pairs = plan.unasked(plan.pool_pairs, _local(told, alive, plan))
        told = _more(asker, told, alive[pairs[: most - len(told)]])
        local = _local(told, alive, plan)
        answered = np.zeros(plan.items, bool)
        answered[local.pairs[(local.outcomes >= 0).any(axis=1)].ravel()] = True
        dead = plan.pool[~answered[plan.pool]]
        if not len(dead):
            return alive, told
        gone += len(dead)
        if 2 * len(dead) > len(plan.pool) or len(told) >= most:
            raise _silent(asker, gone)
        alive = np.delete(alive, dead)


def _silent(asker: Asker, gone: int) -> TooFew:
    told = {"no reply": asker.tally.failed, "not read": asker.tally.problems}
    kinds = [f"; {why}: " + ", ".join(f"{kind} {n:,}" for kind, n in of.items()) for why, of in told.items() if of]
    return TooFew(
        "items that get answers are needed",
        found=f"{gone:,} items without a single answer" + "".join(kinds),
        remedy="look at what the judge says with salon judge run --limit 5, and at the pictures; then run this again",
    )


def _usable(asker: Asker, pool: BridgeAnswers) -> list[int]:
    """Criteria whose pool answers tell items apart; one that nobody answers is an error."""
    _check_answered(asker, pool.outcomes >= 0)
    usable = [number for number, outcomes in enumerate(pool.outcomes.T) if _tells(outcomes)]
    if not usable:
        raise _indifferent(f"nothing but ties, or one side alone, in {len(pool):,} answers")
    return usable


def _check_answered(asker: Asker, said: NDArray[np.bool_]) -> None:
    """BadValue for a criterion under which none of the questions (rows of `said`) was answered."""
    for number, criterion in enumerate(asker.plan.criteria):
        if not said[:, number].any():
            raise BadValue(
                "the judge must answer under every criterion",
                found=f"no answer to any of {len(said):,} questions",
                where=f"criterion {criterion!r}",
                remedy="leave it out by naming the others with --criterion, or ask another judge",
            )


def _tells(outcomes: Outcomes) -> bool:
    """Whether answers name items at all, and not the same side every time: which item is shown first is chance."""
    first, decided = int((outcomes == 0).sum()), int(np.isin(outcomes, (0, 1)).sum())
    return decided > 0 and (decided < FEW or 0 < first < decided)


def _indifferent(found: str) -> BadValue:
    return BadValue(
        "a judge that tells items apart is needed",
        found=found,
        remedy="ask another judge: such answers order nothing, and no score can be made of them",
    )


def _scored(
    asker: Asker, plan: BridgePlan, alive: Ints, told: BridgeAnswers, usable: list[int], settings: BridgeSettings
) -> Labelled:
    names, criteria = asker.items, asker.plan.criteria
    local = _local(told, alive, plan)
    kept = BridgeAnswers(local.pairs, local.outcomes[:, usable])
    asked = tuple(criteria[number] for number in usable)
    scored = score_group("all", [names[item] for item in alive], plan, kept, asked, settings)
    report = bridge_report([scored], settings, study="", simulated=False, signature=Signature(method="bridge"))
    made = _empty(len(names), len(criteria))
    rows = len(alive)
    for place, number in enumerate(usable):
        part = report.rows[place * rows : (place + 1) * rows]
        mean, value = (np.array([getattr(row, name) for row in part]) for name in ("mean", "value"))
        sd = np.array([np.nan if row.sd is None else row.sd for row in part])
        count = np.array([row.calls for row in part])
        made.values[alive, number] = np.where(count > 0, value, np.nan)
        made.sd[alive, number] = np.where(count > 0, curve(mean, settings).slope(mean) * sd, np.nan)
        made.n[alive, number] = count
    made.answers = _table(asker, told.pairs, np.zeros(len(told), np.int64), told.outcomes)
    made.ties = _tie_shares(criteria, told.outcomes)
    asked_about = np.isin(np.arange(len(names)), told.pairs)
    silent, unasked = asked_about & ~_answered(len(names), told), int((~asked_about).sum())
    made.dead = tuple(names[item] for item in np.flatnonzero(silent))
    made.policies = (
        "A pool item without a single answer leaves, and the next one in the order of the seed takes its place.",
        "An item without any answer under a criterion has no value there. Ties alone, or one side alone, give none.",
        "An item with fewer answers than planned keeps a wider posterior.",
        "The range from the worst to the best item fixes the calibrated scale, and errors take it as exact.",
    )
    left = [f"{unasked:,} items were not asked about: the budget ended before."] if unasked else []
    told_here = [told for told in report.warnings if "prior's mean" not in told]  # such items have no value here
    sides = [] if settings.both_orders else _side_words(criteria, told.outcomes)
    made.warnings = (*_tied_words(criteria, usable), *sides, *left, *told_here)
    return made


# -- all pairs -------------------------------------------------------------------------------------------------------


def elo_labels(asker: Asker, settings: LabelSettings, budget: Budget, low: float, high: float) -> Labelled:
    """Every pair, or as many as the budget allows, each item in as many as any other; scored all at once."""
    n = len(asker.items)
    pairs = elo_pairs(n, settings, budget)
    told = _more(asker, no_answers(len(asker.plan.criteria)), pairs)
    alive = np.flatnonzero(_answered(n, told))
    if len(alive) < 2:
        raise _silent(asker, n - len(alive))
    plan = BridgePlan(len(alive), np.zeros(len(alive), np.uint64), np.arange(len(alive)), alive[:0], False)
    usable = _usable(asker, told)
    return _scored(asker, plan, alive, told, usable, bridge_settings(settings, budget, low, high))


def elo_pairs(n: int, settings: LabelSettings, budget: Budget) -> Ints:
    """Pairs spread evenly over items, in one order or both."""
    rng = np.random.default_rng(settings.seed)
    pairs = ring_pairs(n, budget.pairs, rng)
    swap = rng.random(len(pairs)) < 0.5
    pairs = np.where(swap[:, None], pairs[:, ::-1], pairs)
    return np.concatenate([pairs, pairs[:, ::-1]]) if settings.both_orders else pairs


# -- majority votes --------------------------------------------------------------------------------------------------


def majority_labels(asker: Asker, settings: LabelSettings, budget: Budget, low: float, high: float) -> Labelled:
    """What most answers about a pair say: 1, 0, or 1/2 where neither item has more. No values: votes fix no scale."""
    pairs, shown, sample = majority_questions(len(asker.items), settings, budget)
    outcomes = asker.compare(shown, sample)
    criteria, votes = asker.plan.criteria, budget.each
    swapped = shown[:, 0] != np.repeat(pairs[:, 0], votes)
    for_a = np.where(swapped[:, None], outcomes == 1, outcomes == 0).reshape(len(pairs), votes, -1).sum(axis=1)
    for_b = np.where(swapped[:, None], outcomes == 0, outcomes == 1).reshape(len(pairs), votes, -1).sum(axis=1)
    said = (outcomes >= 0).reshape(len(pairs), votes, -1).sum(axis=1)
    if not said.any():
        raise _silent(asker, len(asker.items))
    _check_answered(asker, said > 0)
    decided = (for_a != for_b).any(axis=0)
    if not decided.any():
        raise _indifferent(f"as many votes for either item of all {len(pairs):,} pairs: ties, or one side alone")
    row, column = np.nonzero(said * decided)
    made = _empty(len(asker.items), len(criteria))
    p = ((1 + np.sign(for_a - for_b)) / 2)[row, column]
    made.pairs = PseudoPairs(pairs[row, 0], pairs[row, 1], column, p, said[row, column])
    for end in (0, 1):
        np.add.at(made.n, pairs[:, end], said)
    made.answers = _table(asker, shown, sample, outcomes)
    made.ties = _tie_shares(criteria, outcomes)
    made.dead = tuple(asker.items[item] for item in np.flatnonzero(~(made.n > 0).any(axis=1)))
    made.policies = (
        "A pair goes to the item with more votes, by however little; equal votes, and ties alone, give p = 1/2.",
        "Answers that were not read are no votes. A pair without any vote under a criterion has no label there.",
        "Votes order pairs and fix no scale: items have no values.",
        "A criterion whose votes decide no pair has no labels.",
    )
    made.warnings = tuple(_tied_words(criteria, np.flatnonzero(decided).tolist()))
    return made


def majority_questions(n: int, settings: LabelSettings, budget: Budget) -> tuple[Ints, Ints, Ints]:
    """Pairs (m, 2); and for every vote the pair as it is shown, and the number of the sample in that order."""
    pairs = ring_pairs(n, budget.pairs, np.random.default_rng(settings.seed))
    vote = np.tile(np.arange(budget.each), len(pairs))
    shown = np.repeat(pairs, budget.each, axis=0)
    return pairs, np.where((vote % 2 == 1)[:, None], shown[:, ::-1], shown), vote // 2


def ring_pairs(n: int, count: int, rng: np.random.Generator) -> Ints:
    """(count, 2) different pairs of n items, every item in about as many; the first n join all items in one ring."""
    order, steps = rng.permutation(n), [1, *(1 + rng.permutation(np.arange(1, n // 2)))] if n > 2 else [1]
    found: list[Ints] = []
    for step in steps:
        whole = np.arange(n // 2 if 2 * step == n else n)
        found.append(np.stack([order[whole], order[(whole + step) % n]], axis=1))
    return np.concatenate(found)[:count]


# -- single answers --------------------------------------------------------------------------------------------------


def pointwise_labels(asker: Asker, settings: LabelSettings, budget: Budget, low: float, high: float) -> Labelled:
    """The mean of an item's answers, moved to the labels' scale; sd of that mean where there are several, never 0."""
    n, each = len(asker.items), budget.each
    item, sample = pointwise_questions(n, each)
    said = asker.rate(item, sample)
    scales = [asker.plan.study.criterion(id).scale for id in asker.plan.criteria]
    for column, scale in enumerate(scales):
        assert scale is not None  # a one-pass question has one for each criterion
        share = (said[:, column] - scale.low) / (scale.high - scale.low)
        said[:, column] = low + (high - low) * (share if scale.higher_is_better else 1 - share)
    grid = said.reshape(n, each, -1)
    count = np.isfinite(grid).sum(axis=1)
    if not count.any():
        raise _silent(asker, n)
    made = _empty(n, grid.shape[2])
    made.n = count
    total = np.nansum(grid, axis=1)
    made.values = np.clip(np.divide(total, count, out=made.values, where=count > 0), low, high)
    same = np.nanmax(made.values, axis=0) == np.nanmin(made.values, axis=0)
    if same.all():
        raise _indifferent(f"the same numbers for all {n:,} items")
    square = np.nansum((grid - made.values[:, None, :]) ** 2, axis=1)
    spread = np.divide(square, count - 1, out=np.full_like(square, np.nan), where=count > 1)
    pooled = square.sum(axis=0) / np.maximum(np.maximum(count - 1, 0).sum(axis=0), 1)
    spread = np.where(spread > 0, spread, np.where((count > 1) & (pooled > 0), pooled, np.nan))
    made.sd = np.sqrt(spread / np.maximum(count, 1))
    made.values[:, same] = made.sd[:, same] = np.nan
    columns = {"item": pa.array([asker.items[one] for one in item]), "sample": pa.array(sample)}
    for column, id in enumerate(asker.plan.criteria):
        columns[id] = pa.array(said[:, column], pa.float64(), from_pandas=True)
    made.answers = pa.table(columns)
    made.dead = tuple(asker.items[one] for one in np.flatnonzero(~(count > 0).any(axis=1)))
    made.policies = (
        "An answer counts whole or not at all: a missing criterion, a word or a number off its scale makes it unread.",
        "An item without a read answer has no value. One answer has no sd: a single number does not show its error. "
        "Answers that are all alike do not make a value exact: its sd is that of answers about all items.",
        "A criterion with the same number for every item has no values.",
    )
    alike = [id for id, is_same in zip(asker.plan.criteria, same) if is_same]
    made.warnings = tuple(f"{id}: the same number for every item: no order, its values are left empty." for id in alike)
    return made


def pointwise_questions(n: int, each: int) -> tuple[Ints, Ints]:
    """The item and the number of the sample of every question."""
    return np.repeat(np.arange(n), each), np.tile(np.arange(each), n)


SOURCE_LABELS: dict[str, Callable[[Asker, LabelSettings, Budget, float, float], Labelled]] = {
    "bridge": bridge_labels,
    "majority": majority_labels,
    "pointwise": pointwise_labels,
    "elo": elo_labels,
}


# -- parts -----------------------------------------------------------------------------------------------------------


def _empty(items: int, criteria: int) -> Labelled:
    values = np.full((items, criteria), np.nan)
    return Labelled(values, values.copy(), np.zeros((items, criteria), np.int64))


def _more(asker: Asker, told: BridgeAnswers, pairs: Ints) -> BridgeAnswers:
    return told.plus(pairs, asker.compare(pairs, np.zeros(len(pairs), np.int64))) if len(pairs) else told


def _local(told: BridgeAnswers, alive: Ints, plan: BridgePlan) -> BridgeAnswers:
    """Answers about living items, numbered among them."""
    place = np.full(int(max(alive.max(initial=-1), told.pairs.max(initial=-1))) + 1, -1)
    place[alive] = np.arange(plan.items)
    pairs = place[told.pairs]
    kept = (pairs >= 0).all(axis=1)
    return BridgeAnswers(pairs[kept], told.outcomes[kept])


def _answered(items: int, told: BridgeAnswers) -> NDArray[np.bool_]:
    found = np.zeros(items, bool)
    found[told.pairs[(told.outcomes >= 0).any(axis=1)].ravel()] = True
    return found


def _table(asker: Asker, shown: Ints, sample: Ints, outcomes: Outcomes) -> pa.Table:
    """Calls as a table: the two items as they were shown, and which was said to be better under each criterion."""
    ids = np.array(asker.items, dtype=object)
    words = np.array([*OUTCOMES, None], dtype=object)
    columns = {
        "first": pa.array(ids[shown[:, 0]], pa.string()),
        "second": pa.array(ids[shown[:, 1]], pa.string()),
        "sample": pa.array(sample, pa.int64()),
    }
    said = {id: pa.array(words[outcomes[:, number]], pa.string()) for number, id in enumerate(asker.plan.criteria)}
    return pa.table(columns | said)


def _tie_shares(criteria: Sequence[str], outcomes: Outcomes) -> dict[str, float]:
    read = (outcomes >= 0).sum(axis=0)
    return {id: float((outcomes[:, k] == 2).sum() / read[k]) for k, id in enumerate(criteria) if read[k]}


def _side_words(criteria: Sequence[str], outcomes: Outcomes) -> list[str]:
    """Which item is shown first is drawn by chance, so a judge that looks names it about as often as the other."""
    said = []
    for number, id in enumerate(criteria):
        decided = np.isin(outcomes[:, number], (0, 1)).sum()
        share = (outcomes[:, number] == 0).sum() / max(decided, 1)
        if decided >= FEW and abs(share - 0.5) > ONE_SIDED:
            said.append(f"{id}: {share:.0%} of the answers name the picture shown first; --both-orders cancels that.")
    return said


def _tied_words(criteria: Sequence[str], usable: list[int]) -> list[str]:
    tied = [id for number, id in enumerate(criteria) if number not in usable]
    return [f"{id}: nothing but ties, or one side alone: no information, its labels are left empty." for id in tied]
