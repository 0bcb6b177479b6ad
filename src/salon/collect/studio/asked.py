"""From the database's rows back to what collecting works with: questions, screens, answers, tallies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from salon.collect.assign import expected_questions
from salon.collect.question import Question, Shown
from salon.collect.records import PairRow, Records, ScreenRow, ValueRow, rows_of
from salon.collect.runs import Plan
from salon.collect.tally import Tallies
from salon.collect.timing import least_seconds
from salon.store.database import Database, RaterState, Task
from salon.store.database import Given as Stored
from salon.store.database.tables import LEFT_OUT
from salon.study import Criterion, Judgment
from salon.study.tables import JUDGMENTS, KINDS

KNOWN = "known"
"""Kind of the record that says whether a known answer was hit; no judgment of the study."""


@dataclass(frozen=True)
class Answered:
    """One answered task with its live answers."""

    task: Task
    shown: Shown
    judgments: tuple[Judgment, ...]
    right: bool | None


def question_of(task: Task) -> Question:
    """The question of a task."""
    return Question.model_validate(task.question)


def shown_of(task: Task) -> Shown:
    """The screen of a task, as it was shown."""
    return Shown(question=question_of(task), order=task.screen["order"], code_names=task.screen["code_names"])


def known_answers(database: Database, rater: str) -> dict[int, bool]:
    """By task: whether its known answer was hit."""
    found = database.given(rater, kind=KNOWN)
    return {one.task: bool(one.record["right"]) for one in found if one.task is not None and not one.undone}


def about(question: Question, position: int) -> str:
    """What a task is about: the same for all who are asked it, and planted questions apart."""
    return question.key if question.why == "ordinary" else f"{question.key} {question.why} {position}"


def answered(database: Database, rater: str) -> Iterator[Answered]:
    """A rater's answered tasks, in order."""
    stored: dict[int, list[Stored]] = defaultdict(list)
    for one in database.given(rater):
        if one.task is not None and not one.undone:
            stored[one.task].append(one)
    for task in database.tasks_of(rater):
        rows = stored.get(task.id, [])
        if task.answered_at is not None and rows:
            right = [bool(one.record["right"]) for one in rows if one.kind == KNOWN]
            yield Answered(task, shown_of(task), judgments_of(rows), right[0] if right else None)


def judgments_of(rows: Sequence[Stored]) -> tuple[Judgment, ...]:
    """Stored answers as the study's nouns."""
    nouns = (KINDS[one.kind].noun.parse(one.record) for one in rows if one.kind in JUDGMENTS)
    return tuple(noun for noun in nouns if isinstance(noun, Judgment))


def tallies_of(database: Database) -> Tallies:
    """All answers and open questions, counted anew."""
    tallies = Tallies()
    for rater in _counted_raters(database):
        for task in database.tasks_of(rater.id):
            if task.answered_at is None:
                tallies.ask(question_of(task), rater.id, task.created_at)
        for one in answered(database, rater.id):
            tallies.answer(one.shown.question, rater.id, one.judgments)
    return tallies


def records_of(database: Database, plan: Plan, criteria: dict[str, Criterion]) -> Records:
    """All answers as quality control looks at them."""
    screens: list[ScreenRow] = []
    pairs: list[PairRow] = []
    values: list[ValueRow] = []
    for rater in _counted_raters(database):
        for one in answered(database, rater.id):
            number, question = len(screens), one.shown.question
            least = least_seconds(question.kind, plan.settings.times)
            seconds = max((judgment.seconds or 0 for judgment in one.judgments), default=0.0)
            screens.append(ScreenRow(rater.id, number, question.why, seconds, least, one.right))
            scale = criteria[question.criteria[0]].scale
            for row in rows_of(one.shown, one.judgments, number, step=scale.step or 1.0 if scale else 1.0):
                if isinstance(row, PairRow):
                    pairs.append(row)
                else:
                    values.append(row)
    return Records(tuple(screens), tuple(pairs), tuple(values))


def _counted_raters(database: Database) -> list[RaterState]:
    return [rater for rater in database.raters() if rater.status not in LEFT_OUT]


def questions_in_all(plan: Plan, cohort: str, rater: str, number: int) -> int:
    """Questions a rater will probably get: the qualification once, then every run with what is planted in it."""
    test = plan.settings.qualification
    runs = sum(len(run.planned(rater, expected_questions(run, number))) for run in plan.runs[cohort])
    return runs + (test.questions if test else 0)
