"""Answers come in: each exactly once, on the disk before anyone hears that it was saved.

A submission carries a key that the browser made up. The same key again gives back what was saved under it and writes
nothing, however often and from wherever it comes. Closing the task comes first: one statement that finds it open, the
rater's own and the rater at work, or finds nothing; it holds the row (SQLite: the whole database) until the commit. And
(rater, key, part) is unique. So of two submissions at once one is written, and the other hears what became of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from sqlalchemy import Connection, bindparam, desc, insert, literal_column, select, update
from sqlalchemy.exc import IntegrityError

from salon.errors import BadValue
from salon.store.database.connected import now_ms
from salon.store.database.errors import AlreadyAnswered, KeyReused, NotActive, NothingToUndo
from salon.store.database.ready import Ready
from salon.store.database.records import Answer, Given, NewTask, Saved, Task, plain
from salon.store.database.study_tables import Studies
from salon.store.database.tables import judgments, raters, tasks, undos
from salon.store.database.tasks import insert_task, own_task, task_row
from salon.study import Judgment

STOPPED = ("paused", "removed", "withdrawn")
"""Raters in these states may not answer."""
_TIMES = ("seconds", "at")
"""What may differ between an answer and its repetition."""
_LATEST = 2**53

_COLUMNS = (
    *("task", "rater", "kind", "criterion", "prompt", "payload", "counted", "started_at", "answered_at"),
    *("key", "part", "interface", "client"),
)
_AT_WORK = select(raters.c.id).where(
    raters.c.id == bindparam("own"), raters.c.status.not_in([literal_column(f"'{word}'") for word in STOPPED])
)
_CLOSE = Ready(
    update(tasks)
    .where(tasks.c.id == bindparam("this"), tasks.c.rater.in_(_AT_WORK), tasks.c.answered_at.is_(None))
    .values(answered_at=bindparam("at"))
)
_WRITE = Ready(insert(judgments).returning(judgments.c.id), _COLUMNS)
_LIVE = ~select(undos.c.judgment).where(undos.c.judgment == judgments.c.id).exists()


class Answers(Studies):
    """Answers given, and taken back."""

    def submit(
        self,
        task: int,
        rater: str,
        answers: Sequence[Judgment | Answer],
        *,
        key: str,
        started_at: int,
        answered_at: int,
        interface: str | None = None,
        client: str | None = None,
        counted: bool = True,
        following: NewTask | None = None,
    ) -> Saved:
        """Save the answers to one task.

        counted     whether `read_study` reads them; no for qualification, gold and attention questions
        client      a class such as "phone" or "desktop", never who
        following   the rater's next task, put to them in the same transaction

        Raises NotYours, AlreadyAnswered, KeyReused, NotActive, or says what is wrong with an answer; nothing is
        written then.
        """
        shared = {
            "task": task,
            "rater": rater,
            "key": plain(key, where="key", most=200),
            "counted": counted,
            "started_at": _time(started_at, "started_at"),
            "answered_at": _time(answered_at, "answered_at"),
            "interface": interface,
            "client": client,
        }
        if not answers:
            raise BadValue("at least one answer is needed", found="none", where=f"task {task}")
        frame = self.frame()
        rows = [shared | frame.row(answer, rater) | {"part": part} for part, answer in enumerate(answers)]
        task_after = None if following is None else (task_row(rater, following), following)
        try:
            return self.write(lambda connection: _save(connection, rows, task_after))
        except IntegrityError:  # the key is known, or the rater was erased meanwhile: look again and say which
            return self.write(lambda connection: _saved_before(connection, rows) or _save(connection, rows, task_after))

    def undo_last(self, rater: str, *, since: int = 0, at: int | None = None) -> Task:
        """Take back the rater's last answer, unless it was given before `since`; the task is open again.

        The judgments stay in the table as history and are left out of every reading. NotActive for a rater who may not
        answer: what was given before a pause stays.
        """
        with self.writing() as connection:
            status = connection.scalar(select(raters.c.status).where(raters.c.id == rater).with_for_update())
            if status in STOPPED:
                raise _not_active(status)
            last = connection.execute(
                select(tasks.c.id)
                .where(tasks.c.rater == rater, tasks.c.answered_at >= since)
                .order_by(desc(tasks.c.answered_at), desc(tasks.c.position))
                .limit(1)
                .with_for_update()
            ).scalar()
            if last is None:
                raise NothingToUndo("an answer that may be taken back is needed", found="none")
            _undo(connection, last, now_ms() if at is None else at)
            return own_task(connection, last, rater)

    def given(self, rater: str | None = None, *, kind: str | None = None) -> list[Given]:
        """Stored answers with their circumstances, undone ones too; all, or those of a rater or a kind."""
        columns = [column for column in judgments.c if column.name not in ("payload", "key", "part")]
        query = (
            select(*columns, judgments.c.payload, (~_LIVE).label("undone"))
            .where(*[judgments.c[name] == value for name, value in (("rater", rater), ("kind", kind)) if value])
            .order_by(judgments.c.id)
        )
        with self.reading() as connection:
            return [_given(row._asdict()) for row in connection.execute(query)]


def _save(
    connection: Connection, rows: list[dict[str, Any]], after: tuple[dict[str, Any], NewTask] | None = None
) -> Saved:
    """Close the task and write the rows of one submission, or find that it was done before."""
    first = rows[0]
    closing = {"this": first["task"], "own": first["rater"], "at": first["answered_at"]}
    if _CLOSE.changes(connection, closing) != 1:
        return _saved_before(connection, rows) or _refuse(connection, first["task"], first["rater"])
    ids = [id for row in rows for (id,) in _WRITE.rows(connection, row)]
    return Saved(tuple(ids), repeated=False, following=None if after is None else insert_task(connection, *after))


def _refuse(connection: Connection, task: int, rater: str) -> NoReturn:
    """Say why a task could not be closed."""
    if own_task(connection, task, rater).answered_at is not None:
        raise AlreadyAnswered(
            "a task without an answer is needed",
            found="an answer given before, perhaps on another device",
            where=f"task {task}",
            remedy="go on to the next task",
        )
    status = connection.execute(select(raters.c.status).where(raters.c.id == rater)).scalar()
    raise _not_active(status)


def _not_active(status: str | None) -> NotActive:
    return NotActive("a rater at work is needed", found=status, remedy="ask the owner of the study")


def _saved_before(connection: Connection, rows: list[dict[str, Any]]) -> Saved | None:
    """What stands under the key; KeyReused when that is another answer."""
    first = rows[0]
    there = connection.execute(
        select(judgments.c.id, judgments.c.task, judgments.c.kind, judgments.c.payload)
        .where(judgments.c.rater == first["rater"], judgments.c.key == first["key"])
        .order_by(judgments.c.part)
    ).all()
    if not there:
        return None
    before = [(row.task, row.kind, _said(row.payload)) for row in there]
    if before != [(row["task"], row["kind"], _said(row["payload"])) for row in rows]:
        raise KeyReused(
            "a new key is needed for each answer", found="the key of another answer", where=f"task {first['task']}"
        )
    return Saved(tuple(row.id for row in there), repeated=True)


def _said(payload: str) -> dict[str, Any]:
    """An answer without its times."""
    return {name: value for name, value in json.loads(payload).items() if name not in _TIMES}


def _undo(connection: Connection, task: int, at: int) -> None:
    live = connection.scalars(select(judgments.c.id).where(judgments.c.task == task, _LIVE)).all()
    connection.execute(insert(undos), [{"judgment": id, "at": at} for id in live])
    connection.execute(update(tasks).where(tasks.c.id == task).values(answered_at=None))


def _given(fields: dict[str, Any]) -> Given:
    return Given(record=json.loads(fields.pop("payload")), **fields | {"undone": bool(fields["undone"])})


def _time(at: int, where: str) -> int:
    if not isinstance(at, int) or not 0 <= at < _LATEST:
        raise BadValue("a time in milliseconds since 1970 is needed", found=repr(at), where=where)
    return at
