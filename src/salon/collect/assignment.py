"""Which question a rater gets next, and the screen it becomes.

`next_question(plan, state)` is a pure function of what a rater was asked so far, the tallies and the clock. It gives a
question, a rest or the end. Where everyone answers everything, the n-th question of a rater depends on the studio's
seed and the rater's name alone. Where a question needs R raters, the next one is the question with the fewest answers
(ties in the rater's own order), so that raters who drop out leave no gaps. In an adaptive design it is the pair that is
expected to tell most. Planted questions stand at places drawn beforehand.

This module is the only rule. `Tallies` say what others answered, wherever they come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from salon.collect.design import free_to_repeat, next_adaptive_pair, rotated_order, seeded_rng
from salon.collect.plan import PhaseRun, StudioPlan
from salon.collect.questions import RaterQuestion, RaterScreen, Why, code_names
from salon.collect.settings import SEVERAL_ITEMS, Qualification, StudioSettings
from salon.collect.tallies import CountedTallies, Tallies, most_answers
from salon.errors import BadValue

# -- planted questions -------------------------------------------------------------------------------------------------


def repeat_question(
    plan: StudioPlan, run: PhaseRun, rater: str, history: Sequence[RaterQuestion]
) -> RaterQuestion | None:
    """One of the run's ordinary questions again; None when none is far enough back. `repeat_of` counts in the run."""
    places = free_to_repeat([(question.why, question.repeat_of) for question in history], run.phase.gap)
    if not places:
        return None
    chosen = places[int(seeded_rng(run.seed, "repeat", *run.name, rater, len(history)).integers(len(places)))]
    return history[chosen].model_copy(update={"why": "repeat", "repeat_of": chosen})


def attention_question(
    plan: StudioPlan, run: PhaseRun, rater: str, history: Sequence[RaterQuestion]
) -> RaterQuestion | None:
    """Items seen before, under an instruction. None before the first question, or where no answer can be asked for."""
    ordinary = [question for question in history if question.why == "ordinary"]
    if not ordinary:
        return None
    rng = seeded_rng(run.seed, "attention", *run.name, rater, len(history))
    chosen = ordinary[int(rng.integers(len(ordinary)))]
    if run.phase.protocol in SEVERAL_ITEMS:
        item = chosen.items[int(rng.integers(len(chosen.items)))]
        return chosen.model_copy(update={"why": "attention", "expected_item": item})
    if run.phase.protocol not in ("rate", "flag") or not run.levels:
        return None
    value = run.levels[int(rng.integers(len(run.levels)))]
    return chosen.model_copy(update={"why": "attention", "expected_value": value})


def gold_question(
    plan: StudioPlan, run: PhaseRun, rater: str, history: Sequence[RaterQuestion]
) -> RaterQuestion | None:
    """A gold question of the run's protocol that the rater has not met in this run; None without one.

    On a screen of several criteria all are asked, so that gold looks like any question; only its own is checked.
    """
    met = {question.items for question in history if question.why == "gold"}
    free = [
        number
        for number, gold in enumerate(plan.settings.gold)
        if gold.protocol == run.phase.protocol and gold.criterion in run.criteria and gold.items not in met
    ]
    if not free:
        return None
    chosen = free[int(seeded_rng(run.seed, "gold", *run.name, rater, len(history)).integers(len(free)))]
    about = {"phase": run.phase.id, "criteria": run.criteria, "view": run.view}
    return ask_gold(plan, chosen, run.cohort.id, "gold", **about)


def ask_gold(plan: StudioPlan, number: int, cohort: str, why: Why, **more: Any) -> RaterQuestion:
    """Gold `number` as it is asked."""
    gold = plan.settings.gold[number]
    return RaterQuestion(
        kind=gold.protocol,
        cohort=cohort,
        items=gold.items,
        prompt=plan.gold_prompts[number],
        why=why,
        expected_item=gold.better,
        expected_value=gold.value,
        expected_within=gold.within,
        expected_for=(gold.criterion,),
        **more,
    )


# -- screener and qualification ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AskedQuestion:
    """One task of a rater."""

    question: RaterQuestion
    answered: int | None = None
    """When it was answered, in milliseconds; None while it is open."""
    right: bool | None = None
    """Gold, attention and qualification: whether the answer was right."""


@dataclass(frozen=True)
class Attempt:
    """One try at the qualification."""

    answered: int
    right: int
    passed: bool
    """Known only once all its questions are answered."""


def is_eligible(settings: StudioSettings, answers: Mapping[str, str]) -> bool:
    """Does the screener let a rater with these answers in? Every question needs one of its options."""
    for question in settings.screener:
        if answers.get(question.id) not in question.options:
            raise BadValue(
                f"one of {', '.join(question.options)} is needed",
                found=repr(answers.get(question.id)),
                where=f"screener question {question.id!r}",
            )
    return all(answers[question.id] in question.accept for question in settings.screener)


def attempts(test: Qualification, tasks_so_far: Sequence[AskedQuestion]) -> list[Attempt]:
    """The tries so far, the one under way included."""
    tasks = [task for task in tasks_so_far if task.question.why == "qualification"]
    attempts_so_far = []
    for start in range(0, len(tasks), test.questions):
        part = tasks[start : start + test.questions]
        right = sum(task.right is True for task in part)
        attempts_so_far.append(Attempt(len(part), right, len(part) == test.questions and right >= test.right))
    return attempts_so_far


def entry_question(
    plan: StudioPlan, rater: str, cohort: str, tasks_so_far: Sequence[AskedQuestion]
) -> RaterQuestion | Literal["failed"] | None:
    """The next question of the qualification; None when there is none or it is passed.

    Every try asks its full number: one right answer more or less must not tell which answers were right. A second try
    draws first from gold that the first did not show.
    """
    test = plan.settings.qualification
    if test is None:
        return None
    attempts_so_far = attempts(test, tasks_so_far)
    if any(attempt.passed for attempt in attempts_so_far):
        return None
    answered = sum(attempt.answered for attempt in attempts_so_far)
    if answered >= test.questions * test.attempts:
        return "failed"
    return _qualification_question(plan, rater, cohort, answered)


def _qualification_question(plan: StudioPlan, rater: str, cohort: str, place: int) -> RaterQuestion:
    """Gold number `place` of the rater's own order; each try begins where the one before ended."""
    assert plan.settings.qualification is not None
    size, gold = plan.settings.qualification.questions, len(plan.settings.gold)
    order = seeded_rng(plan.settings.seed, "qualification", rater).permutation(gold).tolist()
    attempt, within = divmod(place, size)
    again = [order[(attempt * size + k) % gold] for k in range(size)]
    mixed = seeded_rng(plan.settings.seed, "qualification", rater, attempt).permutation(size).tolist()
    number = again[mixed[within]]
    criterion = plan.settings.gold[number].criterion
    return ask_gold(plan, number, cohort, "qualification", phase="", criteria=(criterion,))


# -- adaptive pairs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PairStanding:
    """What is known about the m pairs of a group."""

    votes: NDArray[np.float64]
    """(m, 3) first better, second better, tie; all criteria of a screen together."""
    awaited: NDArray[np.int64]
    """(m,) asked and not answered yet."""
    answers: NDArray[np.int64]
    """(m,) raters who answered."""
    raters: int
    """Who answered anything."""


def choose_adaptive_unit(
    run: PhaseRun, tallies: Tallies, *, rater: str, number: int, now: int, seen_units: Iterable[int]
) -> int | None:
    """The most telling unit of the group that has had the smallest part of its budget; None when all is spent."""
    seen_units = list(seen_units)
    rng = seeded_rng(run.seed, "adaptive", *run.name, rater, len(seen_units))
    free = run.allowed(number).copy()
    free[seen_units] = False
    groups = len(run.pair_groups)
    used = np.bincount(run.group_of_unit, tallies.load(run, now), groups) / run.group_budgets
    eligible = np.flatnonzero((used < 1) & (np.bincount(run.group_of_unit[free], minlength=groups) > 0))
    if not len(eligible):
        return None
    lots = rng.random(len(eligible))
    place = int(eligible[np.lexsort((lots, used[eligible]))[0]])
    group = run.pair_groups[place]
    standing = _pair_standing(run, place, tallies, now)
    mine = np.isin(group.units, seen_units)
    own = np.bincount(group.pairs[mine].ravel(), minlength=group.items)
    everybody = np.bincount(group.pairs.ravel(), np.repeat(standing.answers, 2), group.items)
    surplus = own - everybody / max(standing.raters, 1)
    chosen = next_adaptive_pair(
        group.items,
        group.pairs,
        standing.votes,
        standing.awaited,
        free[group.units],
        surplus=surplus,
        rng=rng,
    )
    return None if chosen is None else int(group.units[chosen])


def _pair_standing(run: PhaseRun, place: int, tallies: Tallies, now: int) -> _PairStanding:
    group = run.pair_groups[place]
    pairs = len(group.units)
    votes, awaited, answers = np.zeros((pairs, 3)), np.zeros(pairs, np.int64), np.zeros(pairs, np.int64)
    for row, unit in enumerate(group.units.tolist()):
        tally = tallies[run.keys[unit]]
        first, second = run.units[unit].items
        for words in tally.votes.values():
            ties = words.get("tie", 0) + words.get("both_bad", 0)
            votes[row] += words.get(first, 0), words.get(second, 0), ties
        awaited[row], answers[row] = tally.awaited(now), tally.answers
    return _PairStanding(votes, awaited, answers, tallies.raters(run, place))


# -- the next question -------------------------------------------------------------------------------------------------

HOUR_MS = 60 * 60 * 1000

Status = Literal["invited", "active", "paused", "removed", "withdrawn", "done"]


@dataclass(frozen=True)
class AssignmentState:
    """All that decides what comes next for one rater."""

    rater: str
    number: int
    """0 for the first rater of the cohort, 1 for the second, and so on."""
    cohort: str
    now: int
    """Milliseconds since 1970."""
    status: Status = "active"
    history: Sequence[AskedQuestion] = ()
    """Every task so far, by position."""
    tallies: Tallies = field(default_factory=CountedTallies)


@dataclass(frozen=True)
class Rest:
    """Come back later."""

    until: int
    """Milliseconds since 1970."""
    phase: str
    """The phase that begins then."""


@dataclass(frozen=True)
class NoMoreQuestions:
    """Nothing more to ask."""

    reason: Literal["done", "enough answers", "not qualified", "paused", "removed", "withdrawn"]
    """enough answers: no question needs this rater, though some were never asked of them."""


_PLANTED_QUESTIONS = {"repeat": repeat_question, "attention": attention_question, "gold": gold_question}

NextStep = RaterQuestion | Rest | NoMoreQuestions


def next_question(plan: StudioPlan, state: AssignmentState) -> NextStep:
    """The open question, if there is one (after a reload or an undo); else what comes next."""
    if state.status in ("paused", "removed", "withdrawn"):
        return NoMoreQuestions(state.status)
    waiting = next((task.question for task in state.history if task.answered is None), None)
    if waiting is not None:
        return waiting
    entry = entry_question(plan, state.rater, state.cohort, state.history)
    if entry == "failed":
        return NoMoreQuestions("not qualified")
    return entry if isinstance(entry, RaterQuestion) else _next_in_runs(plan, state)


def _next_in_runs(plan: StudioPlan, state: AssignmentState) -> NextStep:
    runs = plan.runs[state.cohort]
    questions = [task.question for task in state.history]
    histories = [
        [question for question in questions if question.phase == run.phase.id and question.criteria == run.criteria]
        for run in runs
    ]
    current = max((k for k, history in enumerate(histories) if history), default=0)
    for run, history in zip(runs[current:], histories[current:]):
        place = len(history)
        planned = run.planned(state.rater, expected_questions(run, state.number))
        why = planned[place] if place < len(planned) else "ordinary"
        planted = None if why == "ordinary" else _PLANTED_QUESTIONS[why](plan, run, state.rater, history)
        question = planted or _ordinary(run, state, history)
        if question is None:
            continue
        earlier = set()
        for earlier_run in plan.runs[state.cohort]:
            if earlier_run.phase.id == run.phase.id:
                break
            earlier.add(earlier_run.phase.id)
        ended = [task.answered or 0 for task in state.history if task.question.phase in earlier]
        until = max(ended, default=0) + int(run.phase.rest_hours * HOUR_MS) if ended else 0
        return Rest(until, run.phase.id) if until > state.now else question
    ordinary = sum(question.why == "ordinary" for history in histories for question in history)
    return NoMoreQuestions("done" if ordinary >= sum(_quota(run, state.number) for run in runs) else "enough answers")


def _quota(run: PhaseRun, number: int) -> int:
    """Ordinary questions the rater with this `number` may be asked at most."""
    may = int(run.allowed(number).sum())
    return may if run.phase.questions_each is None else min(may, run.phase.questions_each)


def expected_questions(run: PhaseRun, number: int) -> int:
    """Ordinary questions the rater with this `number` will probably get: all, or a fair share of the answers wanted."""
    quota, stop = _quota(run, number), run.phase.stop
    if stop.kind == "everyone":
        return quota
    each = stop.raters_each if stop.kind == "fixed" else stop.most
    pairs = len(run.units)
    if run.phase.design.kind == "adaptive":
        pairs = int(run.group_budgets.sum()) // each
    return min(quota, -(-pairs * each // max(run.cohort.raters, 1)))


def _ordinary(run: PhaseRun, state: AssignmentState, history: list[RaterQuestion]) -> RaterQuestion | None:
    ordinary = [question for question in history if question.why == "ordinary"]
    if len(ordinary) >= _quota(run, state.number):
        return None
    seen_units = {run.place[question.key] for question in ordinary if question.key in run.place}
    if run.phase.design.kind == "adaptive":
        unit = choose_adaptive_unit(
            run, state.tallies, rater=state.rater, number=state.number, now=state.now, seen_units=seen_units
        )
    else:
        unit = _most_needed(run, state, seen_units, ordinary)
    return None if unit is None else run.question(unit)


def _most_needed(
    run: PhaseRun, state: AssignmentState, seen_units: set[int], ordinary: list[RaterQuestion]
) -> int | None:
    """The unit with the fewest answers, in the rater's own order; a prompt once begun is finished first."""
    order, stop = run.order(state.rater, state.number), run.phase.stop
    is_free = np.ones(len(run.units), bool)
    is_free[list(seen_units)] = False
    if stop.kind == "everyone":
        unseen = order[is_free[order]]
        return int(unseen[0]) if len(unseen) else None
    load = state.tallies.load(run, state.now)
    is_free &= ~state.tallies.settled(run) & (load < most_answers(stop))
    free = order[is_free[order]]
    if ordinary and run.phase.prompt_in_a_row and ordinary[-1].prompt is not None:
        begun = free[run.prompt_codes[free] == run.code_of_prompt[ordinary[-1].prompt]]
        free = begun if len(begun) else free
    return int(free[np.argmin(load[free])]) if len(free) else None


# -- the screen --------------------------------------------------------------------------------------------------------


def make_screen(plan: StudioPlan, question: RaterQuestion, *, rater: str, number: int, position: int) -> RaterScreen:
    """The screen for task `position` of a rater, the same whenever it is made; `number` as in `AssignmentState`."""
    if not question.counts:
        order = rotated_order(question.items, 0, rng=seeded_rng(plan.settings.seed, "planted", rater, position))
    else:
        run = plan.find_run(question)
        if question.kind == "compare":
            couple, second = divmod(number, 2)
            first_left = bool(run.first_left(couple)[run.place[question.key]]) != bool(second)
            order = question.items if first_left else question.items[::-1]
        else:
            order = rotated_order(question.items, number, rng=seeded_rng(run.seed, "places", *run.name, question.key))
        if question.why == "repeat":
            order = order[::-1]
    return RaterScreen(
        question=question,
        order=order,
        code_names=code_names(len(order), plan.settings.seed, "names", rater, position),
    )
