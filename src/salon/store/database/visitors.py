"""Raters who come through a panel of others, such as Prolific: which id the panel knows them by, and how it ended.

The ids stand in a table of their own. No reading of the study, no audit line and no error names them; erasing a rater
deletes them. Whoever comes twice under one id is one rater, also when both requests come at once: everybody who comes
in or takes a place waits for the one before.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, text, true, update

from salon.store.database import tables
from salon.store.database.access import add_audit_line, add_link
from salon.store.database.connection import DatabaseConnection, UnknownRater, now_ms
from salon.store.database.records import check_text
from salon.store.database.tables import LEFT_OUT, raters, visitors
from salon.study import Rater

_LOCK = 0x5A13
"""PostgreSQL's number for "somebody comes in from a panel, or takes a place"."""


@dataclass(frozen=True)
class PanelIds:
    """Who somebody is to the panel that sent them."""

    participant: str = field(repr=False)
    study: str | None = field(default=None, repr=False)
    """The panel's own number of this study."""
    session: str | None = field(default=None, repr=False)
    """This one participation of the participant."""
    submit_to: str | None = field(default=None, repr=False)
    """MTurk: where the assignment is submitted."""


@dataclass(frozen=True)
class Visitor:
    """A rater who came through a panel."""

    rater: str
    ids: PanelIds
    link: int
    """Number of the link that stands for the visitor's sessions."""
    personal: str
    """A random word of this visitor alone, for completion codes that nobody can share."""
    joined_at: int
    has_place: bool
    """The screener let the visitor in, and a place was free."""
    outcome: str | None
    ended_at: int | None
    status: str
    """The rater's."""
    cohort: str | None


@dataclass(frozen=True)
class TakenPlace:
    """A visitor who is done, or may still be."""

    cohort: str | None
    answers: dict[str, str]
    """To the screener, where it let the visitor in; only where they were asked for."""


class VisitorMethods(DatabaseConnection):
    """Who came through a panel."""

    def admit(
        self,
        ids: PanelIds,
        choose: Callable[[Sequence[TakenPlace]], str | None],
        *,
        name: Callable[[str], str],
        late: int | None = None,
        at: int | None = None,
    ) -> Visitor | None:
        """The visitor of these ids: the one there is, or a new rater in the cohort that `choose` names.

        None, and nothing kept, where `choose` finds no place free. `name` makes a rater's id for a cohort. Who joined
        at `late` or before and is not done holds no place.
        """
        at = now_ms() if at is None else at
        with self.writing() as connection:
            self._wait_turn(connection)
            visitor = _one(connection, visitors.c.participant == ids.participant)
            if visitor is not None:
                latest = {"study": ids.study, "session": ids.session, "submit_to": ids.submit_to}
                connection.execute(update(visitors).where(visitors.c.rater == visitor.rater).values(**latest))
                return _one(connection, visitors.c.rater == visitor.rater)
            cohort = choose(_taken(connection, late, with_answers=False))
            if cohort is None:
                return None
            rater = Rater(id=check_text(name(cohort), where="the id of a rater", most=200), cohort=cohort)
            row = {"id": rater.id, "kind": rater.kind, "cohort": cohort, "status": "invited", "created_at": at}
            number = connection.scalar(insert(raters).returning(raters.c.number), row)
            add_audit_line(connection, "panel", "rater added", at, rater=number)
            _, link = add_link(connection, "rater", rater.id, by="panel", at=at)
            row = {"participant": ids.participant, "rater": rater.id, "link": link, "joined_at": at}
            row |= {"study": ids.study, "session": ids.session, "submit_to": ids.submit_to}
            connection.execute(insert(visitors), row | {"personal": secrets.token_hex(4)})
            return _one(connection, visitors.c.rater == rater.id)

    def take_place(
        self,
        rater: str,
        fits: Callable[[Sequence[TakenPlace]], bool],
        *,
        late: int | None = None,
        at: int | None = None,
    ) -> bool:
        """Whether a visitor who passed the screener has a place; with none free the visit ends as over quota."""
        at = now_ms() if at is None else at
        with self.writing() as connection:
            self._wait_turn(connection)
            visitor = _one(connection, visitors.c.rater == rater)
            if visitor is None or visitor.has_place:
                return True
            if fits(_taken(connection, late, with_answers=True)):
                connection.execute(update(visitors).where(visitors.c.rater == rater).values(placed_at=at))
                return True
            _end(connection, visitor, "over_quota", at, pause=True)
            return False

    def end_visit(self, rater: str, outcome: str, *, pause: bool = False, at: int | None = None) -> None:
        """Keep how the visit of a rater ended; with `pause` nothing more is asked of them."""
        at = now_ms() if at is None else at
        with self.writing() as connection:
            self._wait_turn(connection)
            visitor = _one(connection, visitors.c.rater == rater)
            if visitor is not None:
                _end(connection, visitor, outcome, at, pause=pause)

    def reopen_visit(self, rater: str, *, at: int | None = None) -> None:
        """The rater goes on: how the visit ended no longer counts, and its time begins anew."""
        at = now_ms() if at is None else at
        with self.writing() as connection:
            ended = (visitors.c.rater == rater) & visitors.c.outcome.is_not(None)
            connection.execute(update(visitors).where(ended).values(outcome=None, ended_at=None, joined_at=at))

    def renew_visit(self, rater: str, *, at: int | None = None) -> int:
        """A new link for the sessions of a visitor whose own has ended; its number."""
        with self.writing() as connection:
            _, link = add_link(connection, "rater", rater, by="panel", at=at)
            connection.execute(update(visitors).where(visitors.c.rater == rater).values(link=link))
            return link

    def visitor(self, rater: str) -> Visitor | None:
        """The visitor that a rater is; None for who came by a link."""
        with self.reading() as connection:
            return _one(connection, visitors.c.rater == rater)

    def visitor_of(self, participant: str) -> Visitor | None:
        """The visitor whom the panel knows by this id."""
        with self.reading() as connection:
            return _one(connection, visitors.c.participant == participant)

    def visitors(self) -> list[Visitor]:
        """Everybody who came through a panel, in the order they came."""
        with self.reading() as connection:
            return [_visitor(row) for row in connection.execute(_VISITORS.order_by(visitors.c.number))]

    def taken_places(self, *, late: int | None = None) -> list[TakenPlace]:
        """The places taken now, with answers to the screener."""
        with self.reading() as connection:
            return _taken(connection, late, with_answers=True)

    def _wait_turn(self, connection: Connection) -> None:
        """On SQLite every writer waits for the one before anyway."""
        if not self.sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


_VISITORS: Select[Any] = select(visitors, raters.c.status, raters.c.cohort).join(
    raters, raters.c.id == visitors.c.rater
)


def _one(connection: Connection, condition: Any) -> Visitor | None:
    row = connection.execute(_VISITORS.where(condition)).first()
    return None if row is None else _visitor(row)


def _visitor(row: Row[Any]) -> Visitor:
    return Visitor(
        rater=row.rater,
        ids=PanelIds(row.participant, row.study, row.session, row.submit_to),
        link=row.link,
        personal=row.personal,
        joined_at=row.joined_at,
        has_place=row.placed_at is not None,
        outcome=row.outcome,
        ended_at=row.ended_at,
        status=row.status,
        cohort=row.cohort,
    )


def _taken(connection: Connection, late: int | None, *, with_answers: bool) -> list[TakenPlace]:
    """Visitors who are done, or at work and not too late, and whose answers are read."""
    in_time = true() if late is None else (raters.c.status == "done") | (visitors.c.joined_at > late)
    at_work = visitors.c.outcome.is_(None) & in_time
    holds = ((visitors.c.outcome == "done") | at_work) & raters.c.status.not_in(LEFT_OUT)
    columns = [raters.c.cohort, visitors.c.placed_at, *([tables.profiles.c.record] if with_answers else [])]
    query = select(*columns).join(raters, raters.c.id == visitors.c.rater).where(holds)
    if with_answers:
        query = query.outerjoin(tables.profiles, tables.profiles.c.rater == visitors.c.rater)
    places = []
    for row in connection.execute(query):
        profile = json.loads(row.record) if with_answers and row.placed_at is not None and row.record else {}
        places.append(TakenPlace(row.cohort, profile.get("screener", {})))
    return places


def _end(connection: Connection, visitor: Visitor, outcome: str, at: int, *, pause: bool) -> None:
    if visitor.outcome != outcome:
        values = {"outcome": outcome, "ended_at": at}
        connection.execute(update(visitors).where(visitors.c.rater == visitor.rater).values(**values))
    if pause and visitor.status not in ("paused", *LEFT_OUT):
        number = connection.scalar(
            update(raters).where(raters.c.id == visitor.rater).values(status="paused").returning(raters.c.number)
        )
        if number is None:
            raise UnknownRater.named(visitor.rater)
        add_audit_line(
            connection, "panel", f"visit ended: {outcome.replace('_', ' ')}", at, rater=number, before=visitor.status
        )
