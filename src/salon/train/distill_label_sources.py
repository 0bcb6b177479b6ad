"""Four sources of labels: the bridge, majority votes, single answers, all pairs. Each asks a judge, and scores answers.

`Asker` asks through the judge engine: pairs shown in a given order, or single items. The engine stores every reply
before it is used: an endpoint's in its call store, those of a model in this process in a file beside the study. Scripts
and simulations answer the same question the same way. So a run that was killed is simply run again, and asks only what
is not known yet.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.errors import BadFile, BadValue, InputError, TooFew
from salon.evaluate import PseudoPairs
from salon.fuse import (
    BridgeAnswers,
    BridgePlan,
    BridgeSettings,
    bridge_report,
    calibration_curve,
    next_round,
    no_answers,
    plan_group,
    random_placements,
    score_group,
)
from salon.judge import (
    Conversation,
    JudgePlan,
    JudgeQuestion,
    JudgeSettings,
    JudgeSpec,
    NoReply,
    OnePass,
    Reply,
    Sight,
    Templates,
    VerdictReader,
    Vlm,
    choose_paraphrase,
    order_pair,
    plan_run,
    wordings,
)
from salon.models import ROLE
from salon.store import is_inside, read_picture
from salon.study import Signature, Study
from salon.train.distill_label_settings import DistillLabelSettings, LabelBudget, bridge_settings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Outcomes = NDArray[np.int8]
OUTCOMES = ("first", "second", "tie")
FEW, ONE_SIDED = 10, 0.2
"""Answers needed to recognize a judge that always names the same side; and how far from half is reported."""


@dataclass
class ItemLabels:
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


def bridge_labels(
    asker: Asker, settings: DistillLabelSettings, budget: LabelBudget, low: float, high: float
) -> ItemLabels:
    """Pool pairs first, then placements until the plan or the budget is done; posterior means with their sd."""
    bridge = bridge_settings(settings, budget, low, high)
    most = np.iinfo(np.int64).max if settings.max_calls is None else settings.max_calls
    alive, answers = _living_pool(asker, bridge, most)
    plan = plan_group([asker.items[item] for item in alive], bridge)
    usable = _usable(asker, _renumber(answers, alive, plan))
    while True:
        local = _renumber(answers, alive, plan)
        pairs = next_round(plan, BridgeAnswers(local.pairs, local.outcomes[:, usable]), bridge)[: most - len(answers)]
        if not len(pairs):
            break
        answers = _ask_pairs(asker, answers, alive[pairs])
    return _score_bridge(asker, plan, alive, answers, usable, bridge)


def bridge_pairs(items: Sequence[str], settings: BridgeSettings) -> Ints:
    """Every pair of the plan; with adaptive opponents, as many random ones in their place."""
    plan = plan_group(items, settings)
    placed = random_placements(plan, settings) if len(plan.rest) else np.empty((0, 2), np.int64)
    return np.concatenate([plan.pool_pairs, placed])


def _living_pool(asker: Asker, settings: BridgeSettings, most: int) -> tuple[Ints, BridgeAnswers]:
    """Items with the dead of the pool left out, and the answers of a complete pool.

    A pool item without a single answer leaves, and the next one in the order of the seed takes its place.
    """
    alive, gone, answers = np.arange(len(asker.items)), 0, no_answers(len(asker.plan.criteria))
    while True:
        if len(alive) < 2:
            raise _no_answers_error(asker, gone)
        plan = plan_group([asker.items[item] for item in alive], settings)
        pairs = plan.unasked(plan.pool_pairs, _renumber(answers, alive, plan))
        answers = _ask_pairs(asker, answers, alive[pairs[: most - len(answers)]])
        local = _renumber(answers, alive, plan)
        answered = np.zeros(plan.items, bool)
        answered[local.pairs[(local.outcomes >= 0).any(axis=1)].ravel()] = True
        dead = plan.pool[~answered[plan.pool]]
        if not len(dead):
            return alive, answers
        gone += len(dead)
        if 2 * len(dead) > len(plan.pool) or len(answers) >= most:
            raise _no_answers_error(asker, gone)
        alive = np.delete(alive, dead)


def _no_answers_error(asker: Asker, gone: int) -> TooFew:
    reasons = {"no reply": asker.tally.failed, "not read": asker.tally.problems}
    kinds = [f"; {why}: " + ", ".join(f"{kind} {n:,}" for kind, n in of.items()) for why, of in reasons.items() if of]
    return TooFew(
        "items that get answers are needed",
        found=f"{gone:,} items without a single answer" + "".join(kinds),
        remedy="look at what the judge says with salon judge run --limit 5, and at the pictures; then run this again",
    )


def _usable(asker: Asker, pool: BridgeAnswers) -> list[int]:
    """Criteria whose pool answers tell items apart; one that nobody answers is an error."""
    _check_answered(asker, pool.outcomes >= 0)
    usable = []
    for number, outcomes in enumerate(pool.outcomes.T):
        first, decided = int((outcomes == 0).sum()), int(np.isin(outcomes, (0, 1)).sum())
        # Which item is shown first is chance: answers that always name the same side say nothing about items.
        if decided > 0 and (decided < FEW or 0 < first < decided):
            usable.append(number)
    if not usable:
        raise _no_order_error(f"nothing but ties, or one side alone, in {len(pool):,} answers")
    return usable


def _check_answered(asker: Asker, is_answered: NDArray[np.bool_]) -> None:
    """BadValue for a criterion under which none of the questions (rows of `said`) was answered."""
    for number, criterion in enumerate(asker.plan.criteria):
        if not is_answered[:, number].any():
            raise BadValue(
                "the judge must answer under every criterion",
                found=f"no answer to any of {len(is_answered):,} questions",
                where=f"criterion {criterion!r}",
                remedy="leave it out by naming the others with --criterion, or ask another judge",
            )


def _no_order_error(answers: str) -> BadValue:
    return BadValue(
        "a judge that tells items apart is needed",
        found=answers,
        remedy="ask another judge: such answers order nothing, and no score can be made of them",
    )


def _score_bridge(
    asker: Asker, plan: BridgePlan, alive: Ints, answers: BridgeAnswers, usable: list[int], settings: BridgeSettings
) -> ItemLabels:
    names, criteria = asker.items, asker.plan.criteria
    local = _renumber(answers, alive, plan)
    usable_answers = BridgeAnswers(local.pairs, local.outcomes[:, usable])
    usable_criteria = tuple(criteria[number] for number in usable)
    scored = score_group("all", [names[item] for item in alive], plan, usable_answers, usable_criteria, settings)
    report = bridge_report([scored], settings, study="", simulated=False, signature=Signature(method="bridge"))
    labels = _empty(len(names), len(criteria))
    rows = len(alive)
    for place, number in enumerate(usable):
        part = report.rows[place * rows : (place + 1) * rows]
        mean, value = (np.array([getattr(row, name) for row in part]) for name in ("mean", "value"))
        sd = np.array([np.nan if row.sd is None else row.sd for row in part])
        count = np.array([row.calls for row in part])
        labels.values[alive, number] = np.where(count > 0, value, np.nan)
        labels.sd[alive, number] = np.where(count > 0, calibration_curve(mean, settings).slope(mean) * sd, np.nan)
        labels.n[alive, number] = count
    labels.answers = _table(asker, answers.pairs, np.zeros(len(answers), np.int64), answers.outcomes)
    labels.ties = _tie_shares(criteria, answers.outcomes)
    asked_about = np.isin(np.arange(len(names)), answers.pairs)
    silent, unasked = asked_about & ~_answered_items(len(names), answers), int((~asked_about).sum())
    labels.dead = tuple(names[item] for item in np.flatnonzero(silent))
    labels.policies = (
        "A pool item without a single answer leaves, and the next one in the order of the seed takes its place.",
        "An item without any answer under a criterion has no value there. Ties alone, or one side alone, give none.",
        "An item with fewer answers than planned keeps a wider posterior.",
        "The range from the worst to the best item fixes the calibrated scale, and errors take it as exact.",
    )
    left = [f"{unasked:,} items were not asked about: the budget ended before."] if unasked else []
    # Items at the prior's mean have no value here.
    bridge_warnings = [warning for warning in report.warnings if "prior's mean" not in warning]
    sides = [] if settings.both_orders else _side_words(criteria, answers.outcomes)
    labels.warnings = (*_tied_words(criteria, usable), *sides, *left, *bridge_warnings)
    return labels


# -- all pairs -------------------------------------------------------------------------------------------------------


def elo_labels(
    asker: Asker, settings: DistillLabelSettings, budget: LabelBudget, low: float, high: float
) -> ItemLabels:
    """Every pair, or as many as the budget allows, each item in as many as any other; scored all at once."""
    n = len(asker.items)
    pairs = elo_pairs(n, settings, budget)
    answers = _ask_pairs(asker, no_answers(len(asker.plan.criteria)), pairs)
    alive = np.flatnonzero(_answered_items(n, answers))
    if len(alive) < 2:
        raise _no_answers_error(asker, n - len(alive))
    plan = BridgePlan(len(alive), np.zeros(len(alive), np.uint64), np.arange(len(alive)), alive[:0], False)
    usable = _usable(asker, answers)
    return _score_bridge(asker, plan, alive, answers, usable, bridge_settings(settings, budget, low, high))


def elo_pairs(n: int, settings: DistillLabelSettings, budget: LabelBudget) -> Ints:
    """Pairs spread evenly over items, in one order or both."""
    rng = np.random.default_rng(settings.seed)
    pairs = ring_pairs(n, budget.pairs, rng)
    swap = rng.random(len(pairs)) < 0.5
    pairs = np.where(swap[:, None], pairs[:, ::-1], pairs)
    return np.concatenate([pairs, pairs[:, ::-1]]) if settings.both_orders else pairs


# -- majority votes --------------------------------------------------------------------------------------------------


def majority_labels(
    asker: Asker, settings: DistillLabelSettings, budget: LabelBudget, low: float, high: float
) -> ItemLabels:
    """What most answers about a pair say: 1, 0, or 1/2 where neither item has more. No values: votes fix no scale."""
    pairs, shown_pairs, sample = majority_questions(len(asker.items), settings, budget)
    outcomes = asker.compare(shown_pairs, sample)
    criteria, votes = asker.plan.criteria, budget.each
    swapped = shown_pairs[:, 0] != np.repeat(pairs[:, 0], votes)
    for_a = np.where(swapped[:, None], outcomes == 1, outcomes == 0).reshape(len(pairs), votes, -1).sum(axis=1)
    for_b = np.where(swapped[:, None], outcomes == 0, outcomes == 1).reshape(len(pairs), votes, -1).sum(axis=1)
    counts = (outcomes >= 0).reshape(len(pairs), votes, -1).sum(axis=1)
    if not counts.any():
        raise _no_answers_error(asker, len(asker.items))
    _check_answered(asker, counts > 0)
    decided = (for_a != for_b).any(axis=0)
    if not decided.any():
        raise _no_order_error(f"as many votes for either item of all {len(pairs):,} pairs: ties, or one side alone")
    row, column = np.nonzero(counts * decided)
    labels = _empty(len(asker.items), len(criteria))
    p = ((1 + np.sign(for_a - for_b)) / 2)[row, column]
    labels.pairs = PseudoPairs(pairs[row, 0], pairs[row, 1], column, p, counts[row, column])
    for end in (0, 1):
        np.add.at(labels.n, pairs[:, end], counts)
    labels.answers = _table(asker, shown_pairs, sample, outcomes)
    labels.ties = _tie_shares(criteria, outcomes)
    labels.dead = tuple(asker.items[item] for item in np.flatnonzero(~(labels.n > 0).any(axis=1)))
    labels.policies = (
        "A pair goes to the item with more votes, by however little; equal votes, and ties alone, give p = 1/2.",
        "Answers that were not read are no votes. A pair without any vote under a criterion has no label there.",
        "Votes order pairs and fix no scale: items have no values.",
        "A criterion whose votes decide no pair has no labels.",
    )
    labels.warnings = tuple(_tied_words(criteria, np.flatnonzero(decided).tolist()))
    return labels


def majority_questions(n: int, settings: DistillLabelSettings, budget: LabelBudget) -> tuple[Ints, Ints, Ints]:
    """Pairs (m, 2); and for every vote the pair as it is shown, and the number of the sample in that order."""
    pairs = ring_pairs(n, budget.pairs, np.random.default_rng(settings.seed))
    vote = np.tile(np.arange(budget.each), len(pairs))
    shown_pairs = np.repeat(pairs, budget.each, axis=0)
    return pairs, np.where((vote % 2 == 1)[:, None], shown_pairs[:, ::-1], shown_pairs), vote // 2


def ring_pairs(n: int, count: int, rng: np.random.Generator) -> Ints:
    """(count, 2) different pairs of n items, every item in about as many; the first n join all items in one ring."""
    order, steps = rng.permutation(n), [1, *(1 + rng.permutation(np.arange(1, n // 2)))] if n > 2 else [1]
    rings: list[Ints] = []
    for step in steps:
        whole = np.arange(n // 2 if 2 * step == n else n)
        rings.append(np.stack([order[whole], order[(whole + step) % n]], axis=1))
    return np.concatenate(rings)[:count]


# -- single answers --------------------------------------------------------------------------------------------------


def pointwise_labels(
    asker: Asker, settings: DistillLabelSettings, budget: LabelBudget, low: float, high: float
) -> ItemLabels:
    """The mean of an item's answers, moved to the labels' scale; sd of that mean where there are several, never 0."""
    n, each = len(asker.items), budget.each
    item, sample = pointwise_questions(n, each)
    ratings = asker.rate(item, sample)
    scales = [asker.plan.study.criterion(id).scale for id in asker.plan.criteria]
    for column, scale in enumerate(scales):
        assert scale is not None  # a one-pass question has one for each criterion
        share = (ratings[:, column] - scale.low) / (scale.high - scale.low)
        ratings[:, column] = low + (high - low) * (share if scale.higher_is_better else 1 - share)
    grid = ratings.reshape(n, each, -1)
    count = np.isfinite(grid).sum(axis=1)
    if not count.any():
        raise _no_answers_error(asker, n)
    labels = _empty(n, grid.shape[2])
    labels.n = count
    total = np.nansum(grid, axis=1)
    labels.values = np.clip(np.divide(total, count, out=labels.values, where=count > 0), low, high)
    same = np.nanmax(labels.values, axis=0) == np.nanmin(labels.values, axis=0)
    if same.all():
        raise _no_order_error(f"the same numbers for all {n:,} items")
    square = np.nansum((grid - labels.values[:, None, :]) ** 2, axis=1)
    spread = np.divide(square, count - 1, out=np.full_like(square, np.nan), where=count > 1)
    pooled = square.sum(axis=0) / np.maximum(np.maximum(count - 1, 0).sum(axis=0), 1)
    spread = np.where(spread > 0, spread, np.where((count > 1) & (pooled > 0), pooled, np.nan))
    labels.sd = np.sqrt(spread / np.maximum(count, 1))
    labels.values[:, same] = labels.sd[:, same] = np.nan
    columns = {"item": pa.array([asker.items[number] for number in item]), "sample": pa.array(sample)}
    for column, id in enumerate(asker.plan.criteria):
        columns[id] = pa.array(ratings[:, column], pa.float64(), from_pandas=True)
    labels.answers = pa.table(columns)
    labels.dead = tuple(asker.items[number] for number in np.flatnonzero(~(count > 0).any(axis=1)))
    labels.policies = (
        "An answer counts whole or not at all: a missing criterion, a word or a number off its scale makes it unread.",
        "An item without a read answer has no value. One answer has no sd: a single number does not show its error. "
        "Answers that are all alike do not make a value exact: its sd is that of answers about all items.",
        "A criterion with the same number for every item has no values.",
    )
    alike = [id for id, is_same in zip(asker.plan.criteria, same) if is_same]
    labels.warnings = tuple(
        f"{id}: the same number for every item: no order, its values are left empty." for id in alike
    )
    return labels


def pointwise_questions(n: int, each: int) -> tuple[Ints, Ints]:
    """The item and the number of the sample of every question."""
    return np.repeat(np.arange(n), each), np.tile(np.arange(each), n)


SOURCE_LABELS: dict[str, Callable[[Asker, DistillLabelSettings, LabelBudget, float, float], ItemLabels]] = {
    "bridge": bridge_labels,
    "majority": majority_labels,
    "pointwise": pointwise_labels,
    "elo": elo_labels,
}


# -- parts -----------------------------------------------------------------------------------------------------------


def _empty(items: int, criteria: int) -> ItemLabels:
    values = np.full((items, criteria), np.nan)
    return ItemLabels(values, values.copy(), np.zeros((items, criteria), np.int64))


def _ask_pairs(asker: Asker, answers: BridgeAnswers, pairs: Ints) -> BridgeAnswers:
    return answers.plus(pairs, asker.compare(pairs, np.zeros(len(pairs), np.int64))) if len(pairs) else answers


def _renumber(answers: BridgeAnswers, alive: Ints, plan: BridgePlan) -> BridgeAnswers:
    """Answers about living items, numbered among them."""
    place = np.full(int(max(alive.max(initial=-1), answers.pairs.max(initial=-1))) + 1, -1)
    place[alive] = np.arange(plan.items)
    pairs = place[answers.pairs]
    is_alive = (pairs >= 0).all(axis=1)
    return BridgeAnswers(pairs[is_alive], answers.outcomes[is_alive])


def _answered_items(items: int, answers: BridgeAnswers) -> NDArray[np.bool_]:
    is_answered = np.zeros(items, bool)
    is_answered[answers.pairs[(answers.outcomes >= 0).any(axis=1)].ravel()] = True
    return is_answered


def _table(asker: Asker, pairs: Ints, sample: Ints, outcomes: Outcomes) -> pa.Table:
    """Calls as a table: the two items as they were shown, and which was said to be better under each criterion."""
    ids = np.array(asker.items, dtype=object)
    words = np.array([*OUTCOMES, None], dtype=object)
    columns = {
        "first": pa.array(ids[pairs[:, 0]], pa.string()),
        "second": pa.array(ids[pairs[:, 1]], pa.string()),
        "sample": pa.array(sample, pa.int64()),
    }
    outcome_columns = {
        id: pa.array(words[outcomes[:, number]], pa.string()) for number, id in enumerate(asker.plan.criteria)
    }
    return pa.table(columns | outcome_columns)


def _tie_shares(criteria: Sequence[str], outcomes: Outcomes) -> dict[str, float]:
    read = (outcomes >= 0).sum(axis=0)
    return {id: float((outcomes[:, k] == 2).sum() / read[k]) for k, id in enumerate(criteria) if read[k]}


def _side_words(criteria: Sequence[str], outcomes: Outcomes) -> list[str]:
    """Which item is shown first is drawn by chance, so a judge that looks names it about as often as the other."""
    warnings = []
    for number, id in enumerate(criteria):
        decided = np.isin(outcomes[:, number], (0, 1)).sum()
        share = (outcomes[:, number] == 0).sum() / max(decided, 1)
        if decided >= FEW and abs(share - 0.5) > ONE_SIDED:
            warnings.append(
                f"{id}: {share:.0%} of the answers name the picture shown first; --both-orders cancels that."
            )
    return warnings


def _tied_words(criteria: Sequence[str], usable: list[int]) -> list[str]:
    tied = [id for number, id in enumerate(criteria) if number not in usable]
    return [f"{id}: nothing but ties, or one side alone: no information, its labels are left empty." for id in tied]


# -- asking a judge ----------------------------------------------------------------------------------------------------

OnCall = Callable[[int, int], None]
"""Called with the number of calls done, and how many there will be."""
_FIRST = {"a": 0, "b": 1, "tie": 2}


@dataclass
class CallTally:
    """What was asked so far."""

    calls: int = 0
    stored: int = 0
    """Replies that were known already."""
    failed: dict[str, int] = field(default_factory=dict)
    """Calls without a reply, by kind."""
    unread: dict[str, int] = field(default_factory=dict)
    """Replies in which a criterion could not be read, by criterion."""
    problems: dict[str, int] = field(default_factory=dict)
    """Why replies about single items could not be read."""
    cost: float | None = None


class Asker:
    """A judge with the items of one study, numbered."""

    def __init__(
        self, plan: JudgePlan, vlm: Vlm, items: Sequence[str], watch: OnCall, planned: int, *, role: str | None = None
    ) -> None:
        self.role = role or ROLE
        self.plan, self.vlm, self.items, self.tally = plan, vlm, tuple(items), CallTally()
        self._watch, self._planned = watch, planned
        self._reader = VerdictReader(plan.study, plan.settings, vlm.name)
        self._prompts = {item.id: item.prompt for item in plan.study.nouns("items")}

    def compare(self, pairs: Ints, sample: Ints) -> NDArray[np.int8]:
        """(m, D) outcomes of pairs (m, 2), the first shown first: 0 it is better, 1 the other, 2 tie, -1 no answer."""
        outcomes = np.full((len(pairs), len(self.plan.criteria)), -1, np.int8)
        for index, reply in self._replies(self.pair_conversations(pairs, sample), len(pairs)):
            first, second = pairs[index].tolist()
            question = self._pair(first, second, int(sample[index]))
            for column, verdict in enumerate(self._reader.verdicts(question, reply)):
                if verdict.outcome is not None:
                    outcome = _FIRST[verdict.outcome]
                    outcomes[index, column] = outcome if outcome == 2 or question.left == "a" else 1 - outcome
                elif isinstance(reply, Reply):
                    self._unread(verdict.criterion)
        return outcomes

    def rate(self, items: Ints, sample: Ints) -> Floats:
        """(m, D) numbers for items (m,), each on its criterion's scale; NaN where none could be read."""
        ratings = np.full((len(items), len(self.plan.criteria)), np.nan)
        one_pass = self._one_pass()
        for index, reply in self._replies(self.item_conversations(items, sample), len(items)):
            if not isinstance(reply, Reply):
                continue
            read = one_pass.read(reply.text)
            if read.scores is None and len(one_pass.criteria) == 1:  # about one criterion, a bare number will do
                bare = one_pass.read(f'<answer>{{"{one_pass.ids[0]}": {reply.text.strip()}}}</answer>')
                read = read if bare.scores is None else bare
            if read.scores is not None:
                ratings[index] = read.scores
                continue
            self.tally.problems[str(read.problem)] = self.tally.problems.get(str(read.problem), 0) + 1
            for criterion in self.plan.criteria:
                self._unread(criterion)
        return ratings

    def pair_conversations(self, pairs: Ints, sample: Ints) -> Iterator[Conversation]:
        """What `compare` sends, made when asked for."""
        for (first, second), number in zip(pairs.tolist(), sample.tolist()):
            yield self.plan.messages.conversation(self._pair(first, second, number))

    def item_conversations(self, items: Ints, sample: Ints) -> Iterator[Conversation]:
        """What `rate` sends: the question a one-pass scorer is asked, without the prompt, as it is trained."""
        text = self._one_pass().question()
        for item, number in zip(items.tolist(), sample.tolist()):
            id = self.items[item]
            yield Conversation(
                parts=(Sight(item=id, path=self.plan.messages.picture(id)), text),
                decoding=self.plan.settings.decoding,
                sample=number,
                about=self.plan.criteria,
            )

    def _one_pass(self) -> OnePass:
        return OnePass(criteria=tuple(self.plan.study.criterion(id) for id in self.plan.criteria), role=self.role)

    def _replies(self, conversations: Iterator[Conversation], count: int) -> Iterator[tuple[int, Reply | NoReply]]:
        """Exactly one reply for each conversation, also from a VLM that forgets one or answers twice."""
        owed = set(range(count))
        replies = self.vlm.reply(conversations)
        try:
            for index, reply in replies:
                if index in owed:
                    owed.discard(index)
                    self._count(reply)
                    yield index, reply
        finally:
            if isinstance(replies, Generator):  # an interrupted run lets go of its connections at once
                replies.close()
        for index in sorted(owed):
            missing = NoReply(kind="error", reason=f"{self.vlm.name} gave no reply")
            self._count(missing)
            yield index, missing

    def _count(self, reply: Reply | NoReply) -> None:
        tally = self.tally
        tally.calls += 1
        if isinstance(reply, NoReply):
            tally.failed[reply.kind] = tally.failed.get(reply.kind, 0) + 1
        else:
            tally.stored += reply.stored
            tally.cost = tally.cost if reply.cost is None else (tally.cost or 0.0) + reply.cost
        self._watch(tally.calls, max(self._planned, tally.calls))

    def _unread(self, criterion: str) -> None:
        self.tally.unread[criterion] = self.tally.unread.get(criterion, 0) + 1

    def _pair(self, first: int, second: int, sample: int) -> JudgeQuestion:
        pair = self.items[first], self.items[second]
        a, b = order_pair(*pair)
        prompt = self._prompts[a] if self._prompts[a] == self._prompts[b] else None
        names = self.plan.criteria
        texts = 1 if self.plan.settings.together else len(wordings(self.plan.study.criterion(names[0])))
        return JudgeQuestion(
            protocol="compare",
            criteria=names,
            prompt=prompt,
            a=a,
            b=b,
            left="a" if pair[0] == a else "b",
            paraphrase=choose_paraphrase(texts, prompt, a, b),
            sample=sample,
        )


def asking_plan(
    study: Study, folder: Path, judge: JudgeSpec, settings: DistillLabelSettings, items: Sequence[str], *, repeats: bool
) -> JudgePlan:
    """How the judge is asked, with criteria and prompts checked. Its own question is only an example."""
    criteria = settings.criterion or tuple(criterion.id for criterion in settings.criteria(study))
    warm = settings.temperature if settings.temperature is not None else float(repeats)
    judge_settings = JudgeSettings(
        together=len(criteria) > 1,
        criterion=criteria,
        ties=True,
        temperature=warm,
        max_tokens=settings.max_tokens or 2048,
        cohort=settings.cohort,
    )
    looks = judge.looks and settings.source != "pointwise"  # a one-pass question says what it needs by itself
    texts = Templates.builtin()
    texts = texts if settings.role is None else texts.opened_by(settings.role)
    return plan_run(study, folder, judge_settings, templates=texts, pairs=[order_pair(*items[:2])], looks=looks)


def broken_pictures(study: Study, folder: Path, items: Iterable[str], step: Callable[[str], None]) -> dict[str, str]:
    """Items whose picture is missing, outside the study's folder or does not decode, and why."""
    images = {item.id: item.image for item in study.nouns("items")}
    broken = {}
    for item in items:
        step(item)
        try:
            path = Path(folder) / (images[item] or "")
            if not images[item] or not is_inside(path, Path(folder)):
                raise BadValue("a picture inside the study's folder", found="none inside the study's folder")
            read_picture(path, where=str(path))
        except InputError as error:
            broken[item] = error.found or error.needed
    return broken


def broken_pictures_error(broken: dict[str, str]) -> BadFile:
    """The error where nothing may be left out."""
    item, why = next(iter(broken.items()))
    return BadFile(
        "a judge needs a picture of every item that decodes",
        found=f"{len(broken):,} without; the first: {why}",
        where=f"item {item!r}",
        remedy="repair them, or leave their items out with --broken leave-out",
    )
