"""Who may come in, and who did what: links, the audit, and every version of the studio's settings.

A link holds a random token of 256 bits; the database holds its SHA-256, which needs no salt. Nobody's link can be read
from the database or from a backup of it. A link that was never given, was revoked or has expired gives the same error.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import Any

from sqlalchemy import Connection, Select, bindparam, desc, insert, select, update

from salon.errors import BadValue
from salon.store.database import tables
from salon.store.database.connection import BadLink, DatabaseConnection, PreparedStatement, UnknownRater, now_ms
from salon.store.database.coordination import announce
from salon.store.database.records import AccessLink, AuditLine, LinkHolder, as_json, check_text
from salon.store.database.tables import ROLES, links, raters

_LINES = tables.audit


def add_audit_line(connection: Connection, who: str, what: str, at: int | None = None, **detail: Any) -> None:
    """One more line of the audit, in the transaction of what it tells."""
    connection.execute(
        insert(tables.audit),
        {
            "at": now_ms() if at is None else at,
            "who": check_text(who, where="who"),
            "what": check_text(what, where="what"),
            "detail": as_json(detail, where="the audit"),
        },
    )


class AuditMethods(DatabaseConnection):
    """Lines that are only added."""

    def note(self, who: str, what: str, *, at: int | None = None, **detail: Any) -> None:
        """Write down that `who` did `what`."""
        with self.writing() as connection:
            add_audit_line(connection, who, what, at, **detail)

    def audit(self, *, after: int = 0, most: int = 1000) -> list[AuditLine]:
        """Up to `most` lines that follow number `after`, oldest first."""
        return self._lines(select(_LINES).where(_LINES.c.number > after).order_by(_LINES.c.number).limit(most))

    def newest_audit(self, *, before: int | None = None, most: int = 100) -> list[AuditLine]:
        """Up to `most` lines, newest first; with `before`, those older than that number."""
        lines = select(_LINES).order_by(desc(_LINES.c.number)).limit(most)
        return self._lines(lines if before is None else lines.where(_LINES.c.number < before))

    def _lines(self, query: Select[Any]) -> list[AuditLine]:
        with self.reading() as connection:
            return [
                AuditLine(row.number, row.at, row.who, row.what, json.loads(row.detail))
                for row in connection.execute(query)
            ]

    def put_settings(self, text: str, *, by: str = "owner", at: int | None = None) -> int:
        """Keep a new version of studio.toml; its number."""
        at = now_ms() if at is None else at
        with self.writing() as connection:
            row = {"text": check_text(text, where="settings", most=1_000_000), "at": at}
            version: int = connection.execute(
                insert(tables.settings).returning(tables.settings.c.version), row
            ).scalar_one()
            add_audit_line(connection, by, "settings changed", at, version=version)
            announce(connection, "settings")
            return version

    def settings(self) -> str | None:
        """The newest studio.toml, or None when there is none yet."""
        newest = select(tables.settings.c.text).order_by(desc(tables.settings.c.version)).limit(1)
        with self.reading() as connection:
            return connection.execute(newest).scalar()


# -- links -------------------------------------------------------------------------------------------------------------

TOKEN_BYTES = 32
_LONGEST = 200
_HOLDER_QUERY = (
    select(links.c.hash, links.c.number, links.c.role, links.c.rater, links.c.expires_at, links.c.revoked_at)
    .add_columns(raters.c.status)
    .outerjoin(raters, raters.c.id == links.c.rater)
)
_BY_HASH = PreparedStatement(_HOLDER_QUERY.where(links.c.hash == bindparam("wanted")))
_BY_NUMBER = PreparedStatement(_HOLDER_QUERY.where(links.c.number == bindparam("wanted")))


class LinkMethods(DatabaseConnection):
    """Who may come in, and as whom."""

    def new_link(
        self,
        role: str = "rater",
        rater: str | None = None,
        *,
        expires_at: int | None = None,
        by: str = "owner",
        at: int | None = None,
    ) -> str:
        """A new token for a rater, an owner or an adjudicator. It is given out now and can never be read again."""
        if role not in ROLES:
            raise BadValue(f"a role is needed: {', '.join(ROLES)}", found=repr(role))
        if (role == "rater") != (rater is not None):
            raise BadValue("a rater's link names its rater, and no other does", found=f"{role}, rater {rater!r}")
        with self.writing() as connection:
            token, _ = add_link(connection, role, rater, expires_at=expires_at, by=by, at=at)
        return token

    def who(self, token: str, *, at: int | None = None) -> LinkHolder:
        """Whom a token stands for; BadLink if it is not valid, or not any more."""
        token_hash = _hash(token[:_LONGEST])
        with self.reading() as connection:
            row = _BY_HASH.first(connection, {"wanted": token_hash})
        if row is None or not hmac.compare_digest(row[0], token_hash):
            raise _bad_link()
        return _holder(row, now_ms() if at is None else at)

    def who_of_link(self, number: int, *, at: int | None = None) -> LinkHolder:
        """Whom the link of this number stands for; BadLink if it is not valid, or not any more."""
        with self.reading() as connection:
            row = _BY_NUMBER.first(connection, {"wanted": number})
        if row is None:
            raise _bad_link()
        return _holder(row, now_ms() if at is None else at)

    def links(self) -> list[AccessLink]:
        """Every link ever given, without its token."""
        names = ("number", "role", "rater", "created_at", "expires_at", "revoked_at")
        query = select(*(links.c[name] for name in names)).order_by(links.c.number)
        with self.reading() as connection:
            return [AccessLink(*row) for row in connection.execute(query)]

    def revoke(self, link: int, *, by: str = "owner", at: int | None = None) -> None:
        """Make a link worthless from now on."""
        at = now_ms() if at is None else at
        with self.writing() as connection:
            living = (links.c.number == link) & links.c.revoked_at.is_(None)
            if connection.execute(update(links).where(living).values(revoked_at=at)).rowcount:
                add_audit_line(connection, by, "link revoked", at, link=link)


def _holder(row: tuple[Any, ...], now: int) -> LinkHolder:
    _, number, role, rater, expires_at, revoked_at, status = row
    if revoked_at is not None or (expires_at is not None and expires_at <= now):
        raise _bad_link()
    return LinkHolder(number, role, rater, status)


def _bad_link() -> BadLink:
    return BadLink(
        "a link that was given to you is needed",
        found="one that is not valid, or not any more",
        remedy="ask whoever invited you for a new link",
    )


def add_link(
    connection: Connection,
    role: str,
    rater: str | None,
    *,
    expires_at: int | None = None,
    by: str = "owner",
    at: int | None = None,
) -> tuple[str, int]:
    """The token and the number of a new link, in the transaction of whoever needs it."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    at = now_ms() if at is None else at
    row = {"hash": _hash(token), "role": role, "rater": rater, "created_at": at, "expires_at": expires_at}
    number = None if rater is None else rater_number(connection, rater)
    link: int = connection.execute(insert(links).returning(links.c.number), row).scalar_one()
    add_audit_line(connection, by, "link given", at, link=link, role=role, rater=number)
    return token, link


def revoke_links(connection: Connection, rater: str, at: int) -> None:
    """Make every link of a rater worthless."""
    living = (links.c.rater == rater) & links.c.revoked_at.is_(None)
    connection.execute(update(links).where(living).values(revoked_at=at))


def rater_number(connection: Connection, rater: str) -> int:
    """The number of a rater, who then stays until the transaction ends; UnknownRater when there is none."""
    query = select(raters.c.number).where(raters.c.id == rater).with_for_update(read=True)
    number: int | None = connection.execute(query).scalar()
    if number is None:
        raise UnknownRater.named(rater)
    return number


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
