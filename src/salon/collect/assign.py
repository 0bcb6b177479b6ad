"""Which question a rater gets next.

`next_question(plan, state)` is a pure function: what a rater was asked so far, the tallies and the clock go in, a
question, a rest or the end comes out. Where everyone answers everything, the n-th question of a rater follows from
the studio's seed and the rater's name alone; where a question needs R raters, the next one is the question that has
the fewest answers so far (ties in the rater's own order), so that raters who drop out leave no holes; in an adaptive
design it is the most telling pair. Planted questions stand at places drawn beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from salon.collect.entry import entry_question
from salon.collect.planted import attention_question, gold_question, repeat_question
from salon.collect.question import Question, Why
from salon.collect.runs import Plan, Run
from salon.collect.tally import Tallies, is_open
from salon.collect.telling import budget, most_telling

HOUR_MS = 60 * 60 * 1000

Status = Literal["invited", "active", "paused", "removed", "withdrawn", "done"]


@dataclass(frozen=True)
class Asked:
    """One task of a rater."""

    question: Question
    answered: int | None = None
    """When it was answered, in milliseconds; None while it is open."""
    right: bool | None = None
    """Gold, attention and qualification: whether the answer was right."""


@dataclass(frozen=True)
class State:
    """All that decides what comes next for one rater."""

    rater: str
    number: int
    """0 for the first rater of the cohort, 1 for the second, and so on."""
    cohort: str
    now: int
    """Milliseconds since 1970."""
    status: Status = "active"
    asked: Sequence[Asked] = ()
    """Every task so far, by position."""
    tallies: Tallies = field(default_factory=Tallies)


@dataclass(frozen=True)
class Rest:
    """Come back later."""

    until: int
    """Milliseconds since 1970."""
    phase: str
    """The phase that begins then."""


@dataclass(frozen=True)
class Finished:
    """Nothing more to ask."""

    reason: Literal["done", "enough answers", "not qualified", "paused", "removed", "withdrawn"]
    """enough answers: no question needs this rater, though some were never asked of them."""


_PLANTED = {"repeat": repeat_question, "attention": attention_question, "gold": gold_question}

Step = Question | Rest | Finished


def next_question(plan: Plan, state: State) -> Step:
    """The open question, if there is one (after a reload or an undo); else what comes next."""
    if state.status in ("paused", "removed", "withdrawn"):
        return Finished(state.status)
    waiting = next((task.question for task in state.asked if task.answered is None), None)
    if waiting is not None:
        return waiting
    entry = entry_question(plan, state.rater, state.cohort, state.asked)
    if entry == "failed":
        return Finished("not qualified")
    return entry if isinstance(entry, Question) else _next_in_runs(plan, state)


def _next_in_runs(plan: Plan, state: State) -> Step:
    runs = plan.runs[state.cohort]
    questions = [task.question for task in state.asked]
    histories = [_history(run, questions) for run in runs]
    begun = max((k for k, history in enumerate(histories) if history), default=0)
    for run, history in zip(runs[begun:], histories[begun:]):
        question = _next_in_run(plan, run, state, history)
        if question is None:
            continue
        until = _rested(plan, run, state)
        return Rest(until, run.phase.id) if until > state.now else question
    asked = sum(question.why == "ordinary" for history in histories for question in history)
    return Finished("done" if asked >= sum(_quota(run, state.number) for run in runs) else "enough answers")


def _history(run: Run, asked: Sequence[Question]) -> list[Question]:
    return [question for question in asked if question.phase == run.phase.id and question.criteria == run.criteria]


def _rested(plan: Plan, run: Run, state: State) -> int:
    """When the rest before `run` is over; it counts from the last answer to an earlier phase."""
    earlier = set()
    for other in plan.runs[state.cohort]:
        if other.phase.id == run.phase.id:
            break
        earlier.add(other.phase.id)
    ended = [task.answered or 0 for task in state.asked if task.question.phase in earlier]
    return max(ended, default=0) + int(run.phase.rest_hours * HOUR_MS) if ended else 0


def _next_in_run(plan: Plan, run: Run, state: State, history: list[Question]) -> Question | None:
    """The next question of a run; None when it is over for this rater."""
    why = _slot(run, state, len(history))
    planted = None if why == "ordinary" else _PLANTED[why](plan, run, state.rater, history)
    return planted or _ordinary(run, state, history)


def _slot(run: Run, state: State, place: int) -> Why:
    """What stands at `place` of the run: planned for as many ordinary questions as the rater is expected to get."""
    planned = run.planned(state.rater, expected_questions(run, state.number))
    return planned[place] if place < len(planned) else "ordinary"


def _quota(run: Run, number: int) -> int:
    """Ordinary questions the rater with this `number` may be asked at most."""
    may = int(run.allowed(number).sum())
    return may if run.phase.questions_each is None else min(may, run.phase.questions_each)


def expected_questions(run: Run, number: int) -> int:
    """Ordinary questions the rater with this `number` will probably get: all, or a fair share of the answers wanted."""
    quota, stop = _quota(run, number), run.phase.stop
    if stop.kind == "everyone":
        return quota
    each = stop.raters_each if stop.kind == "fixed" else stop.most
    pairs = len(run.units)
    if run.phase.design.kind == "adaptive":
        pairs = sum(budget(run, group) for group in run.pair_groups) // each
    return min(quota, -(-pairs * each // max(run.cohort.raters, 1)))


def _ordinary(run: Run, state: State, history: list[Question]) -> Question | None:
    ordinary = [question for question in history if question.why == "ordinary"]
    if len(ordinary) >= _quota(run, state.number):
        return None
    seen = {run.place[question.key] for question in ordinary if question.key in run.place}
    if run.phase.design.kind == "adaptive":
        unit = most_telling(run, state.tallies, rater=state.rater, number=state.number, now=state.now, seen=seen)
    else:
        unit = _most_needed(run, state, seen, ordinary)
    return None if unit is None else run.question(unit)


def _most_needed(run: Run, state: State, seen: set[int], ordinary: list[Question]) -> int | None:
    """The unit with the fewest answers, in the rater's own order; a prompt once begun is finished first."""
    stop = run.phase.stop
    unseen = (unit for unit in run.order(state.rater, state.number) if unit not in seen)
    if stop.kind == "everyone":
        return next(unseen, None)
    order = list(unseen)
    tallies = {unit: state.tallies[run.keys[unit]] for unit in order}
    free = [unit for unit in order if is_open(tallies[unit], stop, state.now)]
    if ordinary and run.phase.prompt_in_a_row and ordinary[-1].prompt is not None:
        free = [unit for unit in free if run.units[unit].prompt == ordinary[-1].prompt] or free
    answers = [len(tallies[unit].raters) + tallies[unit].awaited(state.now) for unit in free]
    return free[int(np.argmin(answers))] if free else None
