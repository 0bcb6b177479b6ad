"""What lies before each rater, remembered by the one process that serves the studio.

A desk holds a rater's tasks with their questions, read from the database when the rater comes and kept up with every
task and answer since, so that an answer costs the same whether it is the first or the thousandth. The database stays
the judge: it closes a task only if it finds it open, and whatever it refuses makes the desk be read anew. One request
of a rater is at the desk at a time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock, RLock

from salon.collect.assign import Asked
from salon.collect.question import Question, Shown
from salon.collect.studio.asked import known_answers, question_of
from salon.store.database import Database, Task

MOST_DESKS = 2000
"""Raters remembered at once; who comes back after many others is read anew."""


@dataclass
class Desk:
    """The tasks of one rater by position, and what was asked in them."""

    rater: str
    tasks: list[Task] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    entered: bool = False
    """Everything that comes before the first question is done."""
    stale: bool = True
    turn: RLock = field(default_factory=RLock, repr=False)

    @property
    def number(self) -> int | None:
        """The rater's place in the cohort, as the first task says; None before it."""
        return self.tasks[0].screen["number"] if self.tasks else None

    @property
    def open(self) -> int | None:
        """Position of the first task that waits for its answer."""
        return next((place for place, task in enumerate(self.tasks) if task.answered_at is None), None)

    def place(self, task: int) -> int | None:
        """The position of a task, looked for from the newest; None when it is not this rater's."""
        return next((k for k in reversed(range(len(self.tasks))) if self.tasks[k].id == task), None)

    def shown(self, place: int) -> Shown:
        """The screen of a task, as it was shown."""
        screen = self.tasks[place].screen
        return Shown(question=self.asked[place].question, order=screen["order"], code_names=screen["code_names"])

    def add(self, task: Task, question: Question) -> None:
        """A task was put to the rater."""
        self.tasks.append(task)
        self.asked.append(Asked(question, task.answered_at))

    def close(self, place: int, at: int, right: bool | None) -> None:
        """A task was answered."""
        self.tasks[place] = replace(self.tasks[place], answered_at=at)
        self.asked[place] = replace(self.asked[place], answered=at, right=right)


class Desks:
    """The desks of all raters at work."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._desks: OrderedDict[str, Desk] = OrderedDict()
        self._turn = Lock()

    @contextmanager
    def at(self, rater: str) -> Iterator[Desk]:
        """The desk of a rater, for this thread alone; what fails there makes it be read anew."""
        desk = self._desk(rater)
        with desk.turn:
            if desk.stale:
                self._read(desk)
            try:
                yield desk
            except BaseException:
                desk.stale = True
                raise

    def find(self, desk: Desk, task: int) -> int:
        """The position of a task; NotYours when the database does not know it as this rater's either."""
        place = desk.place(task)
        if place is None:
            self._database.task(task, desk.rater)
            self._read(desk)
            place = desk.place(task)
        assert place is not None
        return place

    def forget(self) -> None:
        """Read every desk anew before it is used again."""
        with self._turn:
            for desk in self._desks.values():
                desk.stale = True

    def _desk(self, rater: str) -> Desk:
        with self._turn:
            desk = self._desks.setdefault(rater, Desk(rater))
            self._desks.move_to_end(rater)
            if len(self._desks) > MOST_DESKS:
                self._desks.popitem(last=False)
        return desk

    def _read(self, desk: Desk) -> None:
        right = known_answers(self._database, desk.rater)
        desk.tasks = self._database.tasks_of(desk.rater)
        desk.asked = [Asked(question_of(task), task.answered_at, right.get(task.id)) for task in desk.tasks]
        desk.entered = desk.stale = False
