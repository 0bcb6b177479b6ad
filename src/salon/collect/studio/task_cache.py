"""The tasks of raters at work, remembered by a worker so that the thousandth answer costs no more than the first.

The database decides. Each change of a rater's tasks raises their number there (`turn_number`): what is remembered under
another number is read again, and a change that was begun under another number is refused as `TasksMoved`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock, RLock

from salon.collect.assignment import AskedQuestion
from salon.collect.questions import RaterQuestion, RaterScreen
from salon.collect.studio.rater_side import known_answer_hits, task_question
from salon.store import Database, RaterTask

MOST_RATERS = 2000
"""Raters remembered at once; the tasks of a rater who comes back later are read again."""


@dataclass
class RaterTasks:
    """The tasks of one rater by position, and what was asked in them."""

    rater: str
    tasks: list[RaterTask] = field(default_factory=list)
    history: list[AskedQuestion] = field(default_factory=list)
    entered: bool = False
    """Everything that comes before the first question is done."""
    turn_number: int = 0
    """What the database calls the state of these tasks; another worker's change raises it."""
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

    def shown(self, place: int) -> RaterScreen:
        """The screen of a task, as it was shown."""
        screen = self.tasks[place].screen
        return RaterScreen(
            question=self.history[place].question, order=screen["order"], code_names=screen["code_names"]
        )

    def add(self, task: RaterTask, question: RaterQuestion) -> None:
        """A task was put to the rater."""
        self.tasks.append(task)
        self.history.append(AskedQuestion(question, task.answered_at))

    def close(self, place: int, at: int, right: bool | None) -> None:
        """A task was answered."""
        self.tasks[place] = replace(self.tasks[place], answered_at=at)
        self.history[place] = replace(self.history[place], answered=at, right=right)


class TaskCache:
    """The tasks of all raters at work, and a lock for each rater."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._by_rater: OrderedDict[str, RaterTasks] = OrderedDict()
        self._turn = Lock()

    @contextmanager
    def at(self, rater: str, turn_number: int | None = None) -> Iterator[RaterTasks]:
        """The tasks of a rater, for this thread alone; read again after an error, or for another `turn_number`."""
        rater_tasks = self._remember(rater)
        with rater_tasks.turn:
            if rater_tasks.stale or turn_number not in (None, rater_tasks.turn_number):
                self._read(rater_tasks)
            try:
                yield rater_tasks
            except BaseException:
                rater_tasks.stale = True
                raise

    def find(self, rater_tasks: RaterTasks, task: int) -> int:
        """The position of a task; NotYours when the database does not know it as this rater's either."""
        place = rater_tasks.place(task)
        if place is None:
            self._database.task(task, rater_tasks.rater)
            self._read(rater_tasks)
            place = rater_tasks.place(task)
        assert place is not None
        return place

    def _remember(self, rater: str) -> RaterTasks:
        with self._turn:
            rater_tasks = self._by_rater.setdefault(rater, RaterTasks(rater))
            self._by_rater.move_to_end(rater)
            if len(self._by_rater) > MOST_RATERS:
                self._by_rater.popitem(last=False)
        return rater_tasks

    def _read(self, rater_tasks: RaterTasks) -> None:
        rater_tasks.turn_number = self._database.rater(rater_tasks.rater).turn  # first: what comes after is newer
        right = known_answer_hits(self._database, rater_tasks.rater)
        rater_tasks.tasks = self._database.tasks_of(rater_tasks.rater)
        rater_tasks.history = [
            AskedQuestion(task_question(task), task.answered_at, right.get(task.id)) for task in rater_tasks.tasks
        ]
        rater_tasks.entered = rater_tasks.stale = False
