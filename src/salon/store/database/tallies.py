"""How often each question was answered and lies open, changed in the transaction of the answer or of the new task.

A row of `question_tallies` is one question. Whoever answers it, is asked it or takes an answer back holds its row until
the commit; whoever chooses a question besides that skips rows that others hold. A transaction holds its rater's row
first, then at most one row of a question that it waits for, then rows that it does not wait for: no two ever wait for
each other.

A worker keeps a copy of the tallies and reads what changed since. On PostgreSQL a row names the transaction that
changed it, and a reader asks for all rows of transactions that were not over when it last looked; so none is missed,
whatever order they commit in. SQLite has one writer at a time, and counts.

`sync_tallies` compares the rows with the tasks they come from, and counts again where they differ: after an upgrade, a
restore, or new settings.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Connection,
    Text,
    bindparam,
    cast,
    func,
    insert,
    literal_column,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from salon.store.database.connection import DatabaseConnection, PreparedStatement, now_ms
from salon.store.database.tables import (
    LEFT_OUT,
    group_raters,
    judgments,
    question_tallies as rows,
    raters,
    shared_state,
    tasks,
    undos,
)
from salon.study import JUDGMENTS, KINDS, Judgment, vote_word

GroupOf = Callable[[str], str | None]
"""Of what a task is about: "" where its answers are counted, a group's name where they are chosen among in a group, and
None where nothing is counted."""


@dataclass
class StoredTally:
    """One question, as all raters' answers leave it. Times are milliseconds since 1970."""

    key: str
    answers: int = 0
    skipped: int = 0
    votes: dict[str, dict[str, int]] = field(default_factory=dict)
    """By criterion: what was answered how often."""
    pending: dict[str, int] = field(default_factory=dict)
    """Who was asked and has not answered, and when."""

    def count(self, rater: str, answer: Sequence[Judgment], by: int) -> bool:
        """Add an answer, or take it back with `by` -1; False where the question was skipped."""
        self.pending.pop(rater, None)
        given = [judgment for judgment in answer if judgment.skipped is None]
        if not given:
            self.skipped += by
            return False
        self.answers += by
        for judgment in given:
            word = vote_word(judgment)
            if word is not None:
                words = self.votes.setdefault(judgment.criterion, {})
                words[word] = words.get(word, 0) + by
        return True


@dataclass(frozen=True)
class QuestionHold:
    """What must hold for a question when it is given to a rater."""

    accept: Callable[[StoredTally], bool]
    """May one more rater be asked? Called while the question's row is held."""
    group: str = ""
    """Adaptive designs: the group whose answers are limited together."""
    accept_group: Callable[[Sequence[StoredTally]], bool] | None = None
    """May one more question of the group be asked? Called while no other worker reserves in the group."""


# -- in the transaction of an answer or a task ---------------------------------------------------------------------

_COLUMNS = (rows.c.key, rows.c.answers, rows.c.skipped, rows.c.votes, rows.c.pending)
_ONE = select(*_COLUMNS).where(rows.c.key == bindparam("this"))
_HELD = PreparedStatement(_ONE.with_for_update())
_IS_THERE = PreparedStatement(select(rows.c.key).where(rows.c.key == bindparam("this")))
_FREE = PreparedStatement(_ONE.with_for_update(skip_locked=True))
_ONE_MORE: ColumnElement[int] = literal_column("1")
_NEXT_ON_SQLITE = select(func.coalesce(func.max(rows.c.changed), literal_column("0")) + _ONE_MORE).scalar_subquery()
_THIS_TRANSACTION = cast(cast(func.pg_current_xact_id(), Text), BigInteger)
_CHANGED = {"sqlite": _NEXT_ON_SQLITE, "postgresql": _THIS_TRANSACTION}
_NAMES = ("answers", "skipped", "votes", "pending")
_ADD = {
    name: PreparedStatement(
        dialect.insert(rows)
        .values({column: bindparam(column) for column in ("key", "group_name", *_NAMES)} | {"changed": _CHANGED[name]})
        .on_conflict_do_nothing()
    )
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
}
_SET = {
    name: PreparedStatement(
        update(rows)
        .where(rows.c.key == bindparam("this"))
        .values({column: bindparam(column) for column in _NAMES} | {"changed": changed})
    )
    for name, changed in _CHANGED.items()
}
_MEET = {
    name: PreparedStatement(
        (added := dialect.insert(group_raters).values({"group_name": bindparam("group"), "rater": bindparam("own")}
            | {"answers": bindparam("by")})).on_conflict_do_update(
            index_elements=["group_name", "rater"], set_={"answers": group_raters.c.answers + added.excluded.answers}
        )
    )
    for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
}  # fmt: skip
_GROUP_LOCK = 0x5A11


def reserve(connection: Connection, key: str, rater: str, at: int, wish: QuestionHold, *, wait: bool) -> bool:
    """Give the question `key` to `rater`; False where it is not to be had, or not without waiting for another."""
    if wish.accept_group is not None:
        if connection.dialect.name == "postgresql":
            lock = text("SELECT pg_advisory_xact_lock(:kind, hashtext(:group))")
            connection.execute(lock, {"kind": _GROUP_LOCK, "group": wish.group})
        group = connection.execute(select(*_COLUMNS).where(rows.c.group_name == wish.group))
        if not wish.accept_group([_parse(row) for row in group]):
            return False
    tally = _hold(connection, key, wish.group, wait=wait)
    if tally is None or not wish.accept(tally):
        return False
    tally.pending[rater] = at
    _write(connection, tally)
    return True


def count_answer(connection: Connection, key: str, group: str, rater: str, answer: Sequence[Judgment], by: int) -> None:
    """Add an answer to a question's tally, or with `by` -1 take it back."""
    tally = _hold(connection, key, group, wait=True)
    assert tally is not None  # it was waited for
    _count(connection, tally, group, rater, answer, by)
    _write(connection, tally)


def reopen(connection: Connection, key: str, group: str, rater: str, answer: Sequence[Judgment], at: int) -> None:
    """Take an answer back: its rater is asked again."""
    tally = _hold(connection, key, group, wait=True)
    assert tally is not None
    _count(connection, tally, group, rater, answer, -1)
    tally.pending[rater] = at
    _write(connection, tally)


def count_rater(connection: Connection, rater: str, group_of: GroupOf, by: int) -> None:
    """Add everything a rater was asked and answered to the tallies, or with `by` -1 take it out of them."""
    answers = _answers_of(connection, rater)
    query = select(tasks.c.id, tasks.c.about, tasks.c.created_at, tasks.c.answered_at).where(tasks.c.rater == rater)
    for task in connection.execute(query.order_by(tasks.c.about)).all():
        group = group_of(task.about)
        if group is None:
            continue
        tally = _hold(connection, task.about, group, wait=True)
        assert tally is not None
        if task.answered_at is not None:
            _count(connection, tally, group, rater, answers[task.id], by)
        elif by > 0:
            tally.pending[rater] = task.created_at
        else:
            tally.pending.pop(rater, None)
        _write(connection, tally)


def live_answer(connection: Connection, task: int) -> list[Judgment]:
    """The judgments that stand as the answer to a task."""
    return _nouns(connection.execute(_ANSWERS.where(judgments.c.task == task)))


def _hold(connection: Connection, key: str, group: str, *, wait: bool) -> StoredTally | None:
    statement = _HELD if wait else _FREE
    row = statement.first(connection, {"this": key})
    if row is None and _IS_THERE.first(connection, {"this": key}) is None:  # adding would wait for who holds the row
        new = {"key": key, "group_name": group or None, "answers": 0, "skipped": 0, "votes": "{}", "pending": "{}"}
        _ADD[connection.dialect.name].changes(connection, new)
        row = statement.first(connection, {"this": key})
    return None if row is None else _parse(row)


def _write(connection: Connection, tally: StoredTally) -> None:
    values = {"this": tally.key, "answers": tally.answers, "skipped": tally.skipped}
    values |= {"votes": json.dumps(tally.votes), "pending": json.dumps(tally.pending)}
    _SET[connection.dialect.name].changes(connection, values)


def _count(
    connection: Connection, tally: StoredTally, group: str, rater: str, answer: Sequence[Judgment], by: int
) -> None:
    if tally.count(rater, answer, by) and group:
        _MEET[connection.dialect.name].changes(connection, {"group": group, "own": rater, "by": by})


def _parse(row: Sequence[Any]) -> StoredTally:
    key, answers, skipped, votes, pending = row
    return StoredTally(key, answers, skipped, json.loads(votes), json.loads(pending))


_LIVE = ~select(undos.c.judgment).where(undos.c.judgment == judgments.c.id).correlate(judgments).exists()
_ANSWERS = (
    select(judgments.c.task, judgments.c.kind, judgments.c.payload)
    .where(_LIVE, judgments.c.kind.in_([literal_column(f"'{kind}'") for kind in JUDGMENTS]))
    .order_by(judgments.c.id)
)


def _answers_of(connection: Connection, rater: str) -> dict[int, list[Judgment]]:
    answers: dict[int, list[Any]] = defaultdict(list)
    for row in connection.execute(_ANSWERS.where(judgments.c.rater == rater, judgments.c.task.is_not(None))):
        answers[row.task].append(row)
    return defaultdict(list, {task: _nouns(some) for task, some in answers.items()})


def _nouns(some: Iterable[Sequence[Any]]) -> list[Judgment]:
    """Judgments from rows that end with a kind and a payload."""
    parsed = (KINDS[row[-2]].noun.parse(json.loads(row[-1])) for row in some)
    return [noun for noun in parsed if isinstance(noun, Judgment)]


# -- reading and checking ------------------------------------------------------------------------------------------

_HORIZON: ColumnElement[int] = literal_column("pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
_FIRST_TO_COME: ColumnElement[int] = literal_column("pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
_NOW = select(_HORIZON.label("horizon")).cte("now")
_CHANGES = {
    "postgresql": PreparedStatement(
        select(_NOW.c.horizon, *_COLUMNS).select_from(_NOW.outerjoin(rows, rows.c.changed >= bindparam("since")))
    ),
    "sqlite": PreparedStatement(
        select(rows.c.changed + _ONE_MORE, *_COLUMNS).where(rows.c.changed >= bindparam("since"))
    ),
}
_TALLY_LOCK = 0x5A12
_BUILT_FOR = "tallies built for"


class TallyMethods(DatabaseConnection):
    """The tallies of all questions."""

    def changed_tallies(self, since: int) -> tuple[list[StoredTally], int]:
        """Tallies that changed since a former call gave this number, 0 for all; and the number for the next call."""
        with self.reading() as connection:
            found = _CHANGES[connection.dialect.name].rows(connection, {"since": since})
        horizon = max((row[0] for row in found), default=since)
        return [_parse(row[1:]) for row in found if row[1] is not None], horizon

    def group_rater_count(self, group: str) -> int:
        """How many raters answered anything in a group."""
        there = (group_raters.c.group_name == group) & (group_raters.c.answers > 0)
        with self.reading() as connection:
            return connection.execute(select(func.count()).select_from(group_raters).where(there)).scalar_one()

    def sync_tallies(self, group_of: GroupOf, built_for: str) -> bool:
        """Count all answers again where the tallies are not what the tasks say, or not `built_for` these questions.

        True when they were counted again. Whoever answers meanwhile waits.
        """
        with self.snapshot() as connection:
            if self._is_whole(connection, built_for):
                return False
        with self.writing() as connection:
            if not self.sqlite:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_TALLY_LOCK})"))
                connection.execute(text(f"LOCK TABLE {rows.name}, {group_raters.name} IN SHARE ROW EXCLUSIVE MODE"))
            if self._is_whole(connection, built_for):
                return False  # another worker counted meanwhile
            tallies, met = _count_all(connection, group_of)
            former = connection.scalars(select(rows.c.key)).all()  # copies of workers hold them: they become 0
            new = [*tallies.values(), *(StoredTally(key) for key in former if key not in tallies)]
            changed = connection.scalar(select(_CHANGED[connection.dialect.name]))
            connection.execute(group_raters.delete())
            connection.execute(rows.delete())
            if new:
                connection.execute(insert(rows), [_row(tally, group_of(tally.key), changed) for tally in new])
            if met:
                people = [
                    {"group_name": group, "rater": rater, "answers": n} for (group, rater), n in sorted(met.items())
                ]
                connection.execute(insert(group_raters), people)
            put_state(connection, _BUILT_FOR, built_for)
        return True

    @staticmethod
    def _is_whole(connection: Connection, built_for: str) -> bool:
        if get_state(connection, _BUILT_FOR) != built_for:
            return False
        closed = (
            select(tasks.c.about, func.count().label("n"))
            .join(raters, raters.c.id == tasks.c.rater)
            .where(tasks.c.answered_at.is_not(None), raters.c.status.not_in(LEFT_OUT))
            .group_by(tasks.c.about)
            .subquery()
        )
        differs = rows.c.answers + rows.c.skipped != func.coalesce(closed.c.n, 0)
        if connection.dialect.name == "postgresql":  # a copy of another server's tables names transactions to come
            differs = or_(differs, rows.c.changed >= _FIRST_TO_COME)
        query = select(rows.c.key).outerjoin(closed, closed.c.about == rows.c.key).where(differs).limit(1)
        return connection.execute(query).first() is None


def _row(tally: StoredTally, group: str | None, changed: int | None) -> dict[str, Any]:
    record = {"key": tally.key, "group_name": group or None, "answers": tally.answers, "skipped": tally.skipped}
    return record | {"votes": json.dumps(tally.votes), "pending": json.dumps(tally.pending), "changed": changed}


def _count_all(connection: Connection, group_of: GroupOf) -> tuple[dict[str, StoredTally], Counter[tuple[str, str]]]:
    """Every tally, from the tasks and judgments; and how many questions of each group each rater answered."""
    tallies: dict[str, StoredTally] = {}
    given: defaultdict[str, set[str]] = defaultdict(set)
    skipped: defaultdict[str, set[str]] = defaultdict(set)
    for about, kind, people, payload in _like_answers(connection):
        if group_of(about) is None:
            continue
        (judgment,) = _nouns([(kind, payload)])
        names = json.loads(people)
        (given if judgment.skipped is None else skipped)[about].update(names)
        word = vote_word(judgment)
        words = tallies.setdefault(about, StoredTally(about)).votes.setdefault(judgment.criterion, {})
        if word is not None and judgment.skipped is None:
            words[word] = words.get(word, 0) + len(names)
    for about, tally in tallies.items():
        tally.answers, tally.skipped = len(given[about]), len(skipped[about])
    for about, rater, created in connection.execute(_OPEN_TASKS):
        if group_of(about) is not None:
            tallies.setdefault(about, StoredTally(about)).pending[rater] = created
    groups = {about: group_of(about) for about in given}
    return tallies, Counter((group, rater) for about, group in groups.items() if group for rater in given[about])


_OPEN_TASKS = (
    select(tasks.c.about, tasks.c.rater, tasks.c.created_at)
    .join(raters, raters.c.id == tasks.c.rater)
    .where(tasks.c.answered_at.is_(None), raters.c.status.not_in(LEFT_OUT))
    .order_by(tasks.c.id)
)
_SAID = ("outcome", "a", "b", "chosen", "value", "skipped")
"""Fields of an answer that are its vote."""


def _like_answers(connection: Connection) -> Iterator[Any]:
    """All live answers to tasks, those that say the same as one row: few rows, however many raters answered."""
    on_sqlite = connection.dialect.name == "sqlite"
    together = func.json_group_array(tasks.c.rater) if on_sqlite else cast(func.json_agg(tasks.c.rater), Text)
    query = (
        select(tasks.c.about, judgments.c.kind, together, func.min(judgments.c.payload))
        .join(judgments, judgments.c.task == tasks.c.id)
        .join(raters, raters.c.id == tasks.c.rater)
        .where(tasks.c.answered_at.is_not(None), raters.c.status.not_in(LEFT_OUT), _LIVE)
        .where(judgments.c.kind.in_(JUDGMENTS))
        .group_by(tasks.c.about, judgments.c.kind, judgments.c.criterion, _what_is_said(on_sqlite=on_sqlite))
        .order_by(func.min(judgments.c.id))
    )
    return iter(connection.execute(query))


def _what_is_said(*, on_sqlite: bool) -> ColumnElement[str]:
    """The fields of a payload that votes are counted by, as one text."""
    if on_sqlite:
        return func.json_extract(judgments.c.payload, *(literal_column(f"'$.{name}'") for name in _SAID))
    payload = cast(judgments.c.payload, JSON)
    fields = (payload.op("->>")(literal_column(f"'{name}'")) for name in _SAID)
    return cast(func.json_build_array(*fields), Text)


# -- what workers tell each other ----------------------------------------------------------------------------------


def get_state(connection: Connection, name: str) -> str | None:
    """What is kept under `name`."""
    return connection.execute(select(shared_state.c.value).where(shared_state.c.name == name)).scalar()


def put_state(connection: Connection, name: str, value: str) -> None:
    """Keep `value` under `name`."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    row = {"name": name, "value": value, "at": now_ms()}
    new = dialect.insert(shared_state).values(row)
    connection.execute(new.on_conflict_do_update(index_elements=["name"], set_={"value": value, "at": row["at"]}))
