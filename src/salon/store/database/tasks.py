"""Questions put to raters: each has its position once, is shown once, and belongs to one rater."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from salon.errors import BadValue
from salon.store.database import tables
from salon.store.database.connected import Connected, now_ms
from salon.store.database.errors import NotYours
from salon.store.database.links import rater_number
from salon.store.database.records import Asked, Task, as_json, plain
from salon.store.database.tables import tasks


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
        row = {
            "rater": rater,
            "position": position,
            "phase": plain(phase, where="phase", most=100),
            "about": plain(about, where="about", most=10_000),
            "question": as_json(question, where="question"),
            "screen": as_json(screen, where="screen"),
            "created_at": now_ms() if at is None else at,
        }
        dialect = sqlite if self.sqlite else postgresql
        with self.writing() as connection:
            rater_number(connection, rater)
            connection.execute(dialect.insert(tasks).on_conflict_do_nothing(), row)
            there = select(tasks).where(tasks.c.rater == rater, tasks.c.position == position)
            found = connection.execute(there).first()
        if found is None:
            raise BadValue("a rater is asked the same once", found=repr(about), where=f"rater {rater!r}")
        return task_of(found)

    def task(self, id: int, rater: str) -> Task:
        """One task of this rater; NotYours for any other."""
        with self.reading() as connection:
            return task_of(own_task(connection, id, rater))

    def tasks_of(self, rater: str) -> list[Task]:
        """All tasks of a rater in their order."""
        query = select(tasks).where(tasks.c.rater == rater).order_by(tasks.c.position)
        with self.reading() as connection:
            return [task_of(row) for row in connection.execute(query)]

    def mark_shown(self, id: int, rater: str, *, at: int | None = None) -> Task:
        """Note when a task was first on the screen; a reload changes nothing."""
        return self._mark("shown_at", id, rater, at)

    def mark_ready(self, id: int, rater: str, *, at: int | None = None) -> Task:
        """Note when the rater first said "I'm ready"."""
        return self._mark("ready_at", id, rater, at)

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

    def _mark(self, column: str, id: int, rater: str, at: int | None) -> Task:
        with self.writing() as connection:
            own_task(connection, id, rater)
            first = (tasks.c.id == id) & tasks.c[column].is_(None)
            connection.execute(update(tasks).where(first).values({column: now_ms() if at is None else at}))
            return task_of(own_task(connection, id, rater))


def own_task(connection: Connection, id: int, rater: str) -> Row[Any]:
    """The row of a task, or NotYours."""
    found = connection.execute(select(tasks).where(tasks.c.id == id, tasks.c.rater == rater)).first()
    if found is None:  # another's task and none at all sound alike
        raise NotYours("a task of your own is needed", found=f"task {id}", remedy="go back to the studio's first page")
    return found


def task_of(row: Row[Any]) -> Task:
    """A row as a record."""
    fields = row._asdict()
    return Task(**fields | {"question": json.loads(row.question), "screen": json.loads(row.screen)})
