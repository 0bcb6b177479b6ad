"""Raters come, pause and leave; what they agreed to, when they were here, and what is left of them when they go.

Removed (by the owner) and withdrawn (by themselves) raters stay in the tables, and no reading holds their answers.
Erasing deletes a rater with everything about them: judgments, tasks, profile, links, consents, visits, ids of a panel.
The audit keeps that a rater was erased and when, not who.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, delete, desc, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from salon.errors import BadValue
from salon.store.database import tables
from salon.store.database.access import add_audit_line, rater_number, revoke_links
from salon.store.database.answers import STOPPED, uncounted
from salon.store.database.connection import DatabaseConnection, UnknownRater, now_ms
from salon.store.database.records import JudgmentCount, RaterVisit, StoredRater, as_json, check_text
from salon.store.database.studies import add_revision, current_revisions, lock_revisions
from salon.store.database.tables import judgments, raters, tasks, undos, visits
from salon.store.database.tallies import GroupOf, count_rater
from salon.study import Rater

PAUSE_MS = 15 * 60_000
"""Longer without a sign of life, and the next one is a new visit."""


class RaterMethods(DatabaseConnection):
    """The people, and models, of a studio."""

    def add_rater(self, rater: Rater, *, status: str = "invited", by: str = "owner", at: int | None = None) -> None:
        """A new rater under a pseudonym."""
        at = now_ms() if at is None else at
        row = {
            "id": check_text(rater.id, where="the id of a rater", most=200),
            "kind": rater.kind,
            "cohort": None if rater.cohort is None else check_text(rater.cohort, where="cohort"),
            "status": _check_status(status),
            "created_at": at,
        }
        try:
            with self.writing() as connection:
                number = connection.scalar(insert(raters).returning(raters.c.number), row)
                add_audit_line(connection, by, "rater added", at, rater=number)
        except IntegrityError:
            raise BadValue("an id that no rater has yet is needed", found=repr(rater.id)) from None

    def raters(self) -> list[StoredRater]:
        """Every rater in the order they came."""
        with self.reading() as connection:
            return [_state(row) for row in connection.execute(_STATES.order_by(raters.c.number))]

    def rater(self, id: str) -> StoredRater:
        """One rater; UnknownRater when there is none of that id."""
        with self.reading() as connection:
            row = connection.execute(_STATES.where(raters.c.id == id)).first()
        if row is None:
            raise UnknownRater.named(id)
        return _state(row)

    def place_in_cohort(self, rater: StoredRater) -> int:
        """How many raters of the cohort came before."""
        before = (raters.c.cohort == rater.cohort) & (raters.c.number < rater.number)
        with self.reading() as connection:
            return connection.execute(select(func.count()).select_from(raters).where(before)).scalar_one()

    def set_status(
        self,
        id: str,
        status: str,
        *,
        by: str | None = "owner",
        at: int | None = None,
        group_of: GroupOf = uncounted,
    ) -> None:
        """Invite, activate, pause, remove, withdraw or finish a rater; `by` None is the rater.

        Where that changes whether the rater's answers are read, it makes a new revision. Who is removed or withdrawn
        loses every link; to be brought back takes a new one. Raters may leave, and never bring themselves back: a page
        that was under way when they left, or were paused, changes nothing.
        """
        at = now_ms() if at is None else at
        with self._leaving(at) as (connection, reasons):
            query = select(raters.c.number, raters.c.status).where(raters.c.id == id).with_for_update()
            row = connection.execute(query).first()
            if row is None:
                raise UnknownRater.named(id)
            if row.status == _check_status(status) or (by is None and row.status in STOPPED and status != "withdrawn"):
                return
            connection.execute(update(raters).where(raters.c.id == id).values(status=status))
            add_audit_line(
                connection, by or f"rater {row.number}", f"rater {status}", at, rater=row.number, before=row.status
            )
            gone, came_back = status in tables.LEFT_OUT, row.status in tables.LEFT_OUT
            if gone:
                revoke_links(connection, id, at)
            if gone != came_back:
                count_rater(connection, id, group_of, -1 if gone else 1)
                reasons.append(f"a rater was {status}" if gone else "a rater was brought back")

    def withdraw(self, id: str, *, by: str | None = None, at: int | None = None, group_of: GroupOf = uncounted) -> None:
        """The rater leaves the study: no reading holds their answers any more."""
        self.set_status(id, "withdrawn", by=by, at=at, group_of=group_of)

    def erase(self, id: str, *, by: str = "owner", at: int | None = None, group_of: GroupOf = uncounted) -> None:
        """Delete the rater and everything they gave, for good, as a new revision."""
        at = now_ms() if at is None else at
        with self._leaving(at) as (connection, reasons):
            status = connection.scalar(select(raters.c.status).where(raters.c.id == id).with_for_update())
            if status is None:
                raise UnknownRater.named(id)
            if status not in tables.LEFT_OUT:
                count_rater(connection, id, group_of, -1)
            theirs = select(judgments.c.id).where(judgments.c.rater == id)
            connection.execute(delete(undos).where(undos.c.judgment.in_(theirs)))
            about_them = (tables.group_raters, tables.profiles, tables.links, tables.consents, tables.visitors)
            for table in (judgments, tasks, visits, *about_them):
                connection.execute(delete(table).where(table.c.rater == id))
            connection.execute(delete(raters).where(raters.c.id == id))
            add_audit_line(connection, by, "rater erased", at)
            reasons.append("a rater was erased")
        self.outside("PRAGMA wal_checkpoint(TRUNCATE)")  # nothing of it stays in the write-ahead file

    @contextmanager
    def _leaving(self, at: int) -> Iterator[tuple[Connection, list[str]]]:
        """A transaction that may take answers away: a revision follows for the reason given, if any."""
        reasons: list[str] = []
        with self.writing() as connection:
            lock_revisions(connection)
            before = current_revisions(connection) if self._has_revisions(connection) else []
            yield connection, reasons
            if reasons and before:
                add_revision(connection, reasons[0], at, before[-1].number + 1)

    @staticmethod
    def _has_revisions(connection: Connection) -> bool:
        return connection.execute(select(tables.revisions.c.number)).first() is not None

    # -- what raters tell about themselves ------------------------------------------------------------------

    def put_profile(self, id: str, record: dict[str, Any], *, at: int | None = None) -> None:
        """Keep what a rater says about themselves, apart from their judgments; a new profile replaces the old."""
        row = {"rater": id, "record": as_json(record, where="profile"), "at": now_ms() if at is None else at}
        dialect = sqlite if self.sqlite else postgresql
        new = dialect.insert(tables.profiles).values(row)
        new = new.on_conflict_do_update(index_elements=["rater"], set_={"record": row["record"], "at": row["at"]})
        with self._of(id) as connection:
            connection.execute(new)

    def change_profile(
        self, id: str, change: Callable[[dict[str, Any]], dict[str, Any] | None], *, at: int | None = None
    ) -> dict[str, Any]:
        """Replace a rater's profile by what `change` makes of it, or leave it where that is None; what it is now.

        No other worker changes it meanwhile.
        """
        dialect = sqlite if self.sqlite else postgresql
        with self.writing() as connection:
            held = select(raters.c.number).where(raters.c.id == id).with_for_update(key_share=True)
            if connection.execute(held).scalar() is None:
                raise UnknownRater.named(id)
            text = connection.execute(select(tables.profiles.c.record).where(tables.profiles.c.rater == id)).scalar()
            before = {} if text is None else json.loads(text)
            after = change(before)
            if after is None:
                return before
            record, at = as_json(after, where="profile"), now_ms() if at is None else at
            row = {"record": record, "at": at}
            new = dialect.insert(tables.profiles).values({"rater": id} | row)
            connection.execute(new.on_conflict_do_update(index_elements=["rater"], set_=row))
            kept: dict[str, Any] = json.loads(record)
            return kept

    def profile(self, id: str) -> dict[str, Any] | None:
        """What the rater said, or None."""
        with self.reading() as connection:
            text = connection.execute(select(tables.profiles.c.record).where(tables.profiles.c.rater == id)).scalar()
        return None if text is None else json.loads(text)

    def consent(self, id: str, version: str, *, at: int | None = None) -> None:
        """The rater agreed to this version of the consent text; the first time counts."""
        row = {"rater": id, "version": check_text(version, where="version"), "at": now_ms() if at is None else at}
        dialect = sqlite if self.sqlite else postgresql
        with self._of(id) as connection:
            connection.execute(dialect.insert(tables.consents).on_conflict_do_nothing(), row)

    def consents(self, id: str) -> dict[str, int]:
        """When the rater agreed to which version."""
        table = tables.consents
        query = select(table.c.version, table.c.at).where(table.c.rater == id).order_by(table.c.number)
        with self.reading() as connection:
            return {row.version: row.at for row in connection.execute(query)}

    # -- hours ----------------------------------------------------------------------------------------------

    def seen(self, id: str, *, at: int | None = None, pause: int = PAUSE_MS) -> RaterVisit:
        """A sign of life: the current visit goes on, or a new one starts after `pause` ms of silence."""
        at = now_ms() if at is None else at

        def work(connection: Connection) -> RaterVisit:
            rater_number(connection, id)
            last = connection.execute(
                select(visits).where(visits.c.rater == id).order_by(desc(visits.c.number)).limit(1).with_for_update()
            ).first()
            if last is None or at - last.last_seen_at > pause:
                connection.execute(insert(visits), {"rater": id, "started_at": at, "last_seen_at": at})
                return RaterVisit(id, at, at)
            latest = max(at, last.last_seen_at)
            connection.execute(update(visits).where(visits.c.number == last.number).values(last_seen_at=latest))
            return RaterVisit(id, last.started_at, latest)

        return self.write(work)

    def visits(self, id: str | None = None) -> list[RaterVisit]:
        """Every visit, or those of one rater, in order."""
        query = select(visits.c.rater, visits.c.started_at, visits.c.last_seen_at).order_by(visits.c.number)
        with self.reading() as connection:
            return [
                RaterVisit(*row)
                for row in connection.execute(query if id is None else query.where(visits.c.rater == id))
            ]

    @contextmanager
    def _of(self, id: str) -> Iterator[Connection]:
        """A transaction about one rater; UnknownRater when there is none."""
        with self.writing() as connection:
            rater_number(connection, id)
            yield connection

    # -- progress -------------------------------------------------------------------------------------------

    def progress(self) -> list[JudgmentCount]:
        """Judgments per rater, phase and criterion; undone ones left out, raters who gave none with 0."""
        live = ~select(undos.c.judgment).where(undos.c.judgment == judgments.c.id).exists()
        by = (raters.c.number, raters.c.id, raters.c.cohort, raters.c.status, tasks.c.phase, judgments.c.criterion)
        query = (
            select(*by[1:], func.count(judgments.c.id), func.max(judgments.c.answered_at))
            .select_from(raters)
            .outerjoin(judgments, (judgments.c.rater == raters.c.id) & live)
            .outerjoin(tasks, tasks.c.id == judgments.c.task)
            .group_by(*by)
            .order_by(raters.c.number, tasks.c.phase, judgments.c.criterion)
        )
        with self.reading() as connection:
            return [JudgmentCount(*row) for row in connection.execute(query)]

    def answered(self) -> dict[str, int]:
        """Answered tasks of every rater who was asked anything."""
        query = select(tasks.c.rater, func.count(tasks.c.answered_at)).group_by(tasks.c.rater)
        with self.reading() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}


_STATES = select(*(raters.c[name] for name in ("number", "id", "kind", "cohort", "status", "created_at", "turn")))


def _state(row: Any) -> StoredRater:
    return StoredRater(*row)


def _check_status(status: str) -> str:
    if status not in tables.STATUSES:
        raise BadValue(f"a status is needed: {', '.join(tables.STATUSES)}", found=repr(status))
    return status
