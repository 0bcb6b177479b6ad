"""Questions put to raters: each has its position once, is shown once, and belongs to one rater."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from salon.errors import BadValue
from salon.store.database import tables
from salon.store.database.connected import Connected, now_ms
from salon.store.database.errors import NotYours
from salon.store.database.links import rater_number
from salon.store.database.ready import Ready
from salon.store.database.records import Asked, NewTask, Task, as_json, plain
from salon.store.database.tables import tasks

_COLUMNS = ("rater", "position", "phase", "about", "question", "screen", "created_at")
_ADD = {
    name: Ready(dialect.insert(tasks).on_conflict_do_nothing().returning(tasks.c.id), _COLUMNS)
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
}
_OWN = Ready(select(tasks).where(tasks.c.id == bindparam("this"), tasks.c.rater == bindparam("own")))
_ALL = Ready(select(tasks).where(tasks.c.rater == bindparam("own")).order_by(tasks.c.position))
_THERE = Ready(select(tasks).where(tasks.c.rater == bindparam("own"), tasks.c.position == bindparam("place")))


class Tasks(Connected):
    """The questions of a studio, rater by rater."""

    def add_task(
        self,
        rater: str,
        position: int,
        *,
        about: str,
        question: dict[str, Any],
        screen: dict[str, Any],
        phase: str = "main",
        at: int | None = None,
    ) -> Task:
        """The task at `position` of the rater's sequence: this one, or the one that was put there first.

        Two devices that ask for the next question at once therefore see the same one. BadValue when the rater was
        asked the same (`about`) at another position.
        """
        new = NewTask(position, about, question, screen, phase, now_ms() if at is None else at)
        row = task_row(rater, new)

        def put(connection: Connection) -> Task | None:
            rater_number(connection, rater)
            return insert_task(connection, row, new) or _task_at(connection, rater, position)

        found = self.write(put)
        if found is None:
            raise BadValue("a rater is asked the same once", found=repr(about), where=f"rater {rater!r}")
        return found

    def task(self, id: int, rater: str) -> Task:
        """One task of this rater; NotYours for any other."""
        with self.reading() as connection:
            return own_task(connection, id, rater)

    def tasks_of(self, rater: str) -> list[Task]:
        """All tasks of a rater in their order."""
        with self.reading() as connection:
            return [task_of(row) for row in _ALL.rows(connection, {"own": rater})]

    def mark_ready(self, id: int, rater: str, *, at: int | None = None) -> Task:
        """Note when the rater first said "I'm ready"; saying it again changes nothing."""
        with self.writing() as connection:
            own_task(connection, id, rater)
            first = (tasks.c.id == id) & tasks.c.ready_at.is_(None)
            connection.execute(update(tasks).where(first).values(ready_at=now_ms() if at is None else at))
            return own_task(connection, id, rater)

    def asked(self) -> list[Asked]:
        """How often each question was answered or lies open, raters left out of reading left out here too."""
        answered = func.count(tasks.c.answered_at)
        query = (
            select(tasks.c.about, answered, func.count() - answered)
            .join(tables.raters, tables.raters.c.id == tasks.c.rater)
            .where(tables.raters.c.status.not_in(tables.LEFT_OUT))
            .group_by(tasks.c.about)
            .order_by(tasks.c.about)
        )
        with self.reading() as connection:
            return [Asked(*row) for row in connection.execute(query)]


def task_row(rater: str, new: NewTask) -> dict[str, Any]:
    """The columns of a new task."""
    return {
        "rater": rater,
        "position": new.position,
        "phase": plain(new.phase, where="phase", most=100),
        "about": plain(new.about, where="about", most=10_000),
        "question": as_json(new.question, where="question"),
        "screen": as_json(new.screen, where="screen"),
        "created_at": new.at,
    }


def insert_task(connection: Connection, row: dict[str, Any], new: NewTask) -> Task | None:
    """Write a new task; None when its position, or what it is about, was taken before."""
    made = _ADD[connection.dialect.name].first(connection, row)
    if made is None:
        return None
    return Task(made[0], row["rater"], new.position, new.phase, new.about, new.question, new.screen, new.at)


def _task_at(connection: Connection, rater: str, position: int) -> Task | None:
    found = _THERE.first(connection, {"own": rater, "place": position})
    return None if found is None else task_of(found)


def own_task(connection: Connection, id: int, rater: str) -> Task:
    """A task of this rater, or NotYours."""
    found = _OWN.first(connection, {"this": id, "own": rater})
    if found is None:  # another's task and none at all sound alike
        raise NotYours("a task of your own is needed", found=f"task {id}", remedy="go back to the studio's first page")
    return task_of(found)


def task_of(row: tuple[Any, ...]) -> Task:
    """A row as a record."""
    id, rater, position, phase, about, question, screen, *moments = row
    return Task(id, rater, position, phase, about, json.loads(question), json.loads(screen), *moments)
