"""Tasks put to raters, and their answers: each saved exactly once, on the disk before the rater is told so.

A submission carries a key that the browser made up. The same key again gives back what was saved under it and writes
nothing. Closing the task comes first: one statement that finds it open, the rater's own and the rater active, or finds
nothing; it holds the row (SQLite: the whole database) until the commit. And (rater, key, part) is unique. So of two
submissions at once one is written, and the other gets what became of it.

Every change of a rater's tasks is a turn of that rater: it holds the rater's row and raises its number. A worker that
remembers the tasks names the number they had; if another worker was there meanwhile, that is `TasksMoved`, nothing is
written, and the worker reads them again. The tallies of questions change in the same transaction.

Imported judgments and an adjudicator's rulings belong to no task. They are read with the others and taken back as those
are: the row stays as history.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn

from sqlalchemy import Connection, bindparam, delete, desc, func, insert, literal_column, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from salon.errors import BadValue
from salon.store.database import tables
from salon.store.database.access import add_audit_line, rater_number
from salon.store.database.connection import (
    AlreadyAnswered,
    DatabaseConnection,
    KeyReused,
    NotActive,
    NothingToUndo,
    NotYours,
    PreparedStatement,
    TasksMoved,
    now_ms,
)
from salon.store.database.records import (
    NewTask,
    OtherAnswer,
    QuestionCount,
    RaterTask,
    SavedSubmission,
    StoredAnswer,
    as_json,
    check_text,
)
from salon.store.database.studies import StudyMethods
from salon.store.database.tables import judgments, raters, tasks, undos
from salon.store.database.tallies import GroupOf, count_answer, live_answer, reopen, reserve
from salon.study import Judgment, Rater

_TASK_COLUMNS = ("rater", "position", "phase", "about", "question", "screen", "created_at")
_INSERT_TASK = {
    name: PreparedStatement(dialect.insert(tasks).on_conflict_do_nothing().returning(tasks.c.id), _TASK_COLUMNS)
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
}
_TASK_OF_RATER = PreparedStatement(
    select(tasks).where(tasks.c.id == bindparam("this"), tasks.c.rater == bindparam("own"))
)
_TASKS_OF_RATER = PreparedStatement(select(tasks).where(tasks.c.rater == bindparam("own")).order_by(tasks.c.position))
_TASK_AT = PreparedStatement(
    select(tasks).where(tasks.c.rater == bindparam("own"), tasks.c.position == bindparam("place"))
)


_TURN = update(raters).where(raters.c.id == bindparam("own")).values(turn=raters.c.turn + literal_column("1"))
_NEXT_TURN = PreparedStatement(_TURN)
_THIS_TURN = PreparedStatement(_TURN.where(raters.c.turn == bindparam("seen")))


def take_turn(connection: Connection, rater: str, turn: int | None) -> None:
    """Hold a rater's tasks until the commit; TasksMoved when they are no longer what they were at `turn`."""
    if turn is None:
        _NEXT_TURN.changes(connection, {"own": rater})
    elif _THIS_TURN.changes(connection, {"own": rater, "seen": turn}) != 1:
        raise TasksMoved("the newest tasks of a rater are needed", found="older ones", remedy="read them again")


class TaskMethods(DatabaseConnection):
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
    ) -> RaterTask:
        """The task at `position` of the rater's sequence: this one, or the one that was put there first.

        Two devices that ask for the next question at once therefore see the same one. BadValue when the rater was
        asked the same (`about`) at another position.
        """
        new = NewTask(position, about, question, screen, phase, now_ms() if at is None else at)
        task = self.put_task(rater, new)
        if task is None:
            raise BadValue("a rater is asked the same once", found=repr(about), where=f"rater {rater!r}")
        return task

    def put_task(self, rater: str, new: NewTask, *, turn: int | None = None) -> RaterTask | None:
        """Put a task to a rater, or find the one at its position; None where its question is not to be had.

        TasksMoved where the rater's tasks are no longer those of `turn`.
        """
        row = task_row(rater, new)

        def put(connection: Connection) -> RaterTask | None:
            take_turn(connection, rater, turn)
            rater_number(connection, rater)
            before = _TASK_AT.first(connection, {"own": rater, "place": new.position})
            return parse_task(before) if before else _put_reserved(connection, row, new, wait=True)

        return self.write(put)

    def task(self, id: int, rater: str) -> RaterTask:
        """One task of this rater; NotYours for any other."""
        with self.reading() as connection:
            return own_task(connection, id, rater)

    def tasks_of(self, rater: str) -> list[RaterTask]:
        """All tasks of a rater in their order."""
        with self.reading() as connection:
            return [parse_task(row) for row in _TASKS_OF_RATER.rows(connection, {"own": rater})]

    def mark_ready(self, id: int, rater: str, *, at: int | None = None, turn: int | None = None) -> RaterTask:
        """Note when the rater first said "I'm ready"; saying it again changes nothing."""
        with self.writing() as connection:
            take_turn(connection, rater, turn)
            own_task(connection, id, rater)
            first = (tasks.c.id == id) & tasks.c.ready_at.is_(None)
            connection.execute(update(tasks).where(first).values(ready_at=now_ms() if at is None else at))
            return own_task(connection, id, rater)

    def asked(self) -> list[QuestionCount]:
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
            return [QuestionCount(*row) for row in connection.execute(query)]


def task_row(rater: str, new: NewTask) -> dict[str, Any]:
    """The columns of a new task."""
    return {
        "rater": rater,
        "position": new.position,
        "phase": check_text(new.phase, where="phase", most=100),
        "about": check_text(new.about, where="about", most=10_000),
        "question": as_json(new.question, where="question"),
        "screen": as_json(new.screen, where="screen"),
        "created_at": new.at,
    }


def insert_task(connection: Connection, row: dict[str, Any], new: NewTask) -> RaterTask | None:
    """Write a new task; None when its position, or what it is about, was taken before."""
    inserted = _INSERT_TASK[connection.dialect.name].first(connection, row)
    if inserted is None:
        return None
    return RaterTask(inserted[0], row["rater"], new.position, new.phase, new.about, new.question, new.screen, new.at)


def _put_reserved(connection: Connection, row: dict[str, Any], new: NewTask, *, wait: bool) -> RaterTask | None:
    """Write a new task and its reservation; None, and neither written, where one cannot be."""
    task = insert_task(connection, row, new)
    if task is None or new.reservation is None:
        return task
    if reserve(connection, new.about, row["rater"], new.at, new.reservation, wait=wait):
        return task
    connection.execute(delete(tasks).where(tasks.c.id == task.id))
    return None


def own_task(connection: Connection, id: int, rater: str) -> RaterTask:
    """A task of this rater, or NotYours."""
    row = _TASK_OF_RATER.first(connection, {"this": id, "own": rater})
    if row is None:  # another's task and none at all sound alike
        raise NotYours("a task of your own is needed", found=f"task {id}", remedy="go back to the studio's first page")
    return parse_task(row)


def parse_task(row: tuple[Any, ...]) -> RaterTask:
    """A row as a record."""
    id, rater, position, phase, about, question, screen, *moments = row
    return RaterTask(id, rater, position, phase, about, json.loads(question), json.loads(screen), *moments)


# -- submitting answers ------------------------------------------------------------------------------------------------

STOPPED = ("paused", "removed", "withdrawn")
"""Raters in these states may not answer."""
_TIMES = ("seconds", "at")
"""What may differ between an answer and its repetition."""
_LATEST = 2**53

_COLUMNS = (
    *("task", "rater", "kind", "criterion", "prompt", "payload", "counted", "started_at", "answered_at"),
    *("key", "part", "interface", "client"),
)
_ACTIVE_RATER = select(raters.c.id).where(
    raters.c.id == bindparam("own"), raters.c.status.not_in([literal_column(f"'{word}'") for word in STOPPED])
)
_CLOSE = PreparedStatement(
    update(tasks)
    .where(tasks.c.id == bindparam("this"), tasks.c.rater.in_(_ACTIVE_RATER), tasks.c.answered_at.is_(None))
    .values(answered_at=bindparam("at"))
    .returning(tasks.c.about)
)
_WRITE = PreparedStatement(insert(judgments).returning(judgments.c.id), _COLUMNS)
_IS_LIVE = ~select(undos.c.judgment).where(undos.c.judgment == judgments.c.id).exists()


def uncounted(about: str) -> None:
    """No question is tallied."""


class AnswerMethods(StudyMethods):
    """Answers given, and taken back."""

    def submit(
        self,
        task: int,
        rater: str,
        answers: Sequence[Judgment | OtherAnswer],
        *,
        key: str,
        started_at: int,
        answered_at: int,
        interface: str | None = None,
        client: str | None = None,
        counted: bool = True,
        following: NewTask | None = None,
        turn: int | None = None,
        group_of: GroupOf = uncounted,
    ) -> SavedSubmission:
        """Save the answers to one task.

        counted     whether `read_study` reads them; no for qualification, gold and attention questions
        client      a class such as "phone" or "desktop", never who
        following   the rater's next task, put to them in the same transaction if it can be had without waiting
        turn        what the rater's tasks were read at
        group_of    which questions are tallied

        Raises NotYours, AlreadyAnswered, KeyReused, NotActive, TasksMoved, or says what is wrong with an answer;
        nothing is written then.
        """
        shared = {
            "task": task,
            "rater": rater,
            "key": check_text(key, where="key", most=200),
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
        nouns = [answer for answer in answers if isinstance(answer, Judgment)]

        def save(connection: Connection) -> SavedSubmission:
            take_turn(connection, rater, turn)
            return _save(connection, rows, nouns, group_of, task_after)

        def save_or_find(connection: Connection) -> SavedSubmission:
            return _saved_before(connection, rows) or save(connection)

        try:
            return self.write(save)
        except IntegrityError:  # the key is known, or the rater was erased meanwhile: look again and say which
            return self.write(save_or_find)

    def undo_last(
        self, rater: str, *, since: int = 0, at: int | None = None, group_of: GroupOf = uncounted
    ) -> RaterTask:
        """Take back the rater's last answer, unless it was given before `since`; the task is open again.

        The judgments stay in the table as history and are left out of every reading. NotActive for a rater who may not
        answer: what was given before a pause stays.
        """
        with self.writing() as connection:
            status = connection.scalar(select(raters.c.status).where(raters.c.id == rater).with_for_update())
            if status in STOPPED:
                raise _not_active(status)
            last = connection.execute(
                select(tasks.c.id, tasks.c.about)
                .where(tasks.c.rater == rater, tasks.c.answered_at >= since)
                .order_by(desc(tasks.c.answered_at), desc(tasks.c.position))
                .limit(1)
                .with_for_update()
            ).first()
            if last is None:
                raise NothingToUndo("an answer that may be taken back is needed", found="none")
            moment, group = now_ms() if at is None else at, group_of(last.about)
            take_turn(connection, rater, None)
            if group is not None:
                reopen(connection, last.about, group, rater, live_answer(connection, last.id), moment)
            live = connection.scalars(select(judgments.c.id).where(judgments.c.task == last.id, _IS_LIVE)).all()
            connection.execute(insert(undos), [{"judgment": id, "at": moment} for id in live])
            connection.execute(update(tasks).where(tasks.c.id == last.id).values(answered_at=None))
            return own_task(connection, last.id, rater)

    def given(self, rater: str | None = None, *, kind: str | None = None) -> list[StoredAnswer]:
        """Stored answers with their circumstances, undone ones too; all, or those of a rater or a kind."""
        columns = [column for column in judgments.c if column.name not in ("payload", "key", "part")]
        query = (
            select(*columns, judgments.c.payload, (~_IS_LIVE).label("undone"))
            .where(*[judgments.c[name] == value for name, value in (("rater", rater), ("kind", kind)) if value])
            .order_by(judgments.c.id)
        )
        with self.reading() as connection:
            rows = [row._asdict() for row in connection.execute(query)]
        return [
            StoredAnswer(record=json.loads(row.pop("payload")), **row | {"undone": bool(row["undone"])}) for row in rows
        ]


def _save(
    connection: Connection,
    rows: list[dict[str, Any]],
    nouns: Sequence[Judgment],
    group_of: GroupOf,
    after: tuple[dict[str, Any], NewTask] | None,
) -> SavedSubmission:
    """Close the task and write the rows of one submission, or find that it was done before."""
    first = rows[0]
    closing = {"this": first["task"], "own": first["rater"], "at": first["answered_at"]}
    closed = _CLOSE.first(connection, closing)
    if closed is None:
        return _saved_before(connection, rows) or _refuse(connection, first["task"], first["rater"])
    ids = [id for row in rows for (id,) in _WRITE.rows(connection, row)]
    group = group_of(closed[0])
    if group is not None:
        count_answer(connection, closed[0], group, first["rater"], nouns, 1)
    following = None if after is None else _put_reserved(connection, *after, wait=False)
    return SavedSubmission(tuple(ids), repeated=False, following=following)


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


def _saved_before(connection: Connection, rows: list[dict[str, Any]]) -> SavedSubmission | None:
    """What stands under the key; KeyReused when that is another answer."""
    first = rows[0]
    there = connection.execute(
        select(judgments.c.id, judgments.c.task, judgments.c.kind, judgments.c.payload)
        .where(judgments.c.rater == first["rater"], judgments.c.key == first["key"])
        .order_by(judgments.c.part)
    ).all()
    if not there:
        return None
    before = [(row.task, row.kind, _without_times(row.payload)) for row in there]
    if before != [(row["task"], row["kind"], _without_times(row["payload"])) for row in rows]:
        raise KeyReused(
            "a new key is needed for each answer", found="the key of another answer", where=f"task {first['task']}"
        )
    return SavedSubmission(tuple(row.id for row in there), repeated=True)


def _without_times(payload: str) -> dict[str, Any]:
    """An answer without its times."""
    return {name: value for name, value in json.loads(payload).items() if name not in _TIMES}


def _time(at: int, where: str) -> int:
    if not isinstance(at, int) or not 0 <= at < _LATEST:
        raise BadValue("a time in milliseconds since 1970 is needed", found=repr(at), where=where)
    return at


# -- judgments without a task ------------------------------------------------------------------------------------------


class ImportMethods(AnswerMethods):
    """Answers without a task."""

    def add_judgments(
        self,
        answers: Sequence[tuple[str, Judgment | OtherAnswer]],
        *,
        key: str,
        what: str,
        new: Sequence[Rater] = (),
        by: str = "owner",
        at: int | None = None,
    ) -> SavedSubmission:
        """Write answers, each with its rater, and the `new` raters among them: all in one transaction, or nothing.

        key     the same one again writes nothing, whoever sends it
        what    what the audit says was done
        """
        at = now_ms() if at is None else at
        frame, key = self.frame(), check_text(key, where="key", most=200)
        shared = {"counted": True, "answered_at": at, "key": key}
        rows = [
            shared | frame.row(answer, rater) | {"rater": rater, "part": part}
            for part, (rater, answer) in enumerate(answers)
        ]
        if not rows:
            raise BadValue("at least one judgment is needed", found="none", where=what)
        people = [
            {
                "id": check_text(person.id, where="the id of a rater", most=200),
                "kind": person.kind,
                "cohort": person.cohort,
            }
            | {"status": "active", "created_at": at}
            for person in new
        ]
        with self.writing() as connection:
            there = connection.scalars(select(judgments.c.id).where(judgments.c.key == key)).all()
            if there:
                return SavedSubmission(tuple(there), repeated=True)
            if people:
                connection.execute(insert(raters), people)
            statement = insert(judgments).returning(judgments.c.id, sort_by_parameter_order=True)
            ids = connection.scalars(statement, rows).all()
            add_audit_line(connection, by, what, at, judgments=len(ids), raters=len({row["rater"] for row in rows}))
            return SavedSubmission(tuple(ids), repeated=False)

    def has_key(self, key: str) -> bool:
        """Was something written under this key before?"""
        with self.reading() as connection:
            return connection.execute(select(judgments.c.id).where(judgments.c.key == key).limit(1)).first() is not None

    def take_back(self, rater: str, id: int, *, what: str, by: str, at: int | None = None) -> None:
        """Take back one answer of a rater that no task asked for; NothingToUndo when there is none such."""
        at = now_ms() if at is None else at
        with self.writing() as connection:
            undone = select(undos.c.judgment).where(undos.c.judgment == judgments.c.id).exists()
            own = (judgments.c.id == id) & (judgments.c.rater == rater) & judgments.c.task.is_(None) & ~undone
            if connection.execute(select(judgments.c.id).where(own)).first() is None:
                raise NothingToUndo("an answer that may be taken back is needed", found="none")
            connection.execute(insert(undos), {"judgment": id, "at": at})
            add_audit_line(connection, by, what, at)
