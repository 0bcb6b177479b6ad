"""Who may begin: the eligibility screener and the qualification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from salon.collect.chance import seeded
from salon.collect.planted import known_question
from salon.collect.question import Question
from salon.collect.runs import Plan
from salon.collect.settings import Qualification, StudioSettings
from salon.errors import BadValue


class Task(Protocol):
    """A question a rater was asked, and whether its known answer was hit."""

    @property
    def question(self) -> Question: ...
    @property
    def right(self) -> bool | None: ...


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


def attempts(test: Qualification, asked: Sequence[Task]) -> list[Attempt]:
    """The tries so far, the one under way included."""
    tasks = [task for task in asked if task.question.why == "qualification"]
    made = []
    for start in range(0, len(tasks), test.questions):
        part = tasks[start : start + test.questions]
        right = sum(task.right is True for task in part)
        made.append(Attempt(len(part), right, len(part) == test.questions and right >= test.right))
    return made


def entry_question(plan: Plan, rater: str, cohort: str, asked: Sequence[Task]) -> Question | Literal["failed"] | None:
    """The next question of the qualification; None when there is none or it is passed.

    Every try asks its full number: one right answer more or less must not tell which answers were right. A second try
    draws first from gold that the first did not show.
    """
    test = plan.settings.qualification
    if test is None:
        return None
    made = attempts(test, asked)
    if any(attempt.passed for attempt in made):
        return None
    done = sum(attempt.answered for attempt in made)
    if done >= test.questions * test.attempts:
        return "failed"
    return _known(plan, rater, cohort, done)


def _known(plan: Plan, rater: str, cohort: str, place: int) -> Question:
    """Gold number `place` of the rater's own order; each try begins where the one before ended."""
    assert plan.settings.qualification is not None
    size, gold = plan.settings.qualification.questions, len(plan.settings.gold)
    order = seeded(plan.settings.seed, "qualification", rater).permutation(gold).tolist()
    attempt, within = divmod(place, size)
    again = [order[(attempt * size + k) % gold] for k in range(size)]
    mixed = seeded(plan.settings.seed, "qualification", rater, attempt).permutation(size).tolist()
    number = again[mixed[within]]
    criterion = plan.settings.gold[number].criterion
    return known_question(plan, number, cohort, "qualification", phase="", criteria=(criterion,))
