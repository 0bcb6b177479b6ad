"""Links that let people in: a random token in the address, its SHA-256 in the database.

A token holds 256 random bits, so its hash cannot be guessed backwards and needs no salt. Who reads the database, or a
backup of it, gets nobody's link. A link that was never given, was revoked or has expired is one and the same error.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from salon.errors import BadValue
from salon.store.database.audit import note
from salon.store.database.connected import Connected, now_ms
from salon.store.database.errors import BadLink, UnknownRater
from salon.store.database.ready import Ready
from salon.store.database.records import Link, Who
from salon.store.database.tables import ROLES, links, raters

TOKEN_BYTES = 32
_LONGEST = 200
_HOLDER = (
    select(links.c.hash, links.c.number, links.c.role, links.c.rater, links.c.expires_at, links.c.revoked_at)
    .add_columns(raters.c.status)
    .outerjoin(raters, raters.c.id == links.c.rater)
)
_BY_HASH = Ready(_HOLDER.where(links.c.hash == bindparam("wanted")))
_BY_NUMBER = Ready(_HOLDER.where(links.c.number == bindparam("wanted")))


class Links(Connected):
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
        _check_role(role, rater)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        at = now_ms() if at is None else at
        row = {"hash": _hash(token), "role": role, "rater": rater, "created_at": at, "expires_at": expires_at}
        with self.writing() as connection:
            named = None if rater is None else rater_number(connection, rater)
            link = connection.scalar(insert(links).returning(links.c.number), row)
            note(connection, by, "link given", at, link=link, role=role, rater=named)
        return token

    def who(self, token: str, *, at: int | None = None) -> Who:
        """Whom a token stands for; BadLink when for nobody (any more)."""
        wanted = _hash(token[:_LONGEST])
        with self.reading() as connection:
            row = _BY_HASH.first(connection, {"wanted": wanted})
        if row is None or not hmac.compare_digest(row[0], wanted):
            raise _bad_link()
        return _holder(row, now_ms() if at is None else at)

    def who_of_link(self, number: int, *, at: int | None = None) -> Who:
        """Whom the link of this number stands for; BadLink when for nobody (any more)."""
        with self.reading() as connection:
            row = _BY_NUMBER.first(connection, {"wanted": number})
        if row is None:
            raise _bad_link()
        return _holder(row, now_ms() if at is None else at)

    def links(self) -> list[Link]:
        """Every link ever given, without its token."""
        names = ("number", "role", "rater", "created_at", "expires_at", "revoked_at")
        query = select(*(links.c[name] for name in names)).order_by(links.c.number)
        with self.reading() as connection:
            return [Link(*row) for row in connection.execute(query)]

    def revoke(self, link: int, *, by: str = "owner", at: int | None = None) -> None:
        """Make a link worthless from now on."""
        at = now_ms() if at is None else at
        with self.writing() as connection:
            living = (links.c.number == link) & links.c.revoked_at.is_(None)
            if connection.execute(update(links).where(living).values(revoked_at=at)).rowcount:
                note(connection, by, "link revoked", at, link=link)


def _holder(row: tuple[Any, ...], now: int) -> Who:
    _, number, role, rater, expires_at, revoked_at, status = row
    if revoked_at is not None or (expires_at is not None and expires_at <= now):
        raise _bad_link()
    return Who(number, role, rater, status)


def _bad_link() -> BadLink:
    return BadLink(
        "a link that was given to you is needed",
        found="one that is not valid, or not any more",
        remedy="ask whoever invited you for a new link",
    )


def revoke_links(connection: Connection, rater: str, at: int) -> None:
    """Make every link of a rater worthless."""
    living = (links.c.rater == rater) & links.c.revoked_at.is_(None)
    connection.execute(update(links).where(living).values(revoked_at=at))


def rater_number(connection: Connection, rater: str) -> int:
    """The number of a rater, who then stays until the transaction ends; UnknownRater when there is none."""
    known = select(raters.c.number).where(raters.c.id == rater).with_for_update(read=True)
    number: int | None = connection.execute(known).scalar()
    if number is None:
        raise UnknownRater.named(rater)
    return number


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _check_role(role: str, rater: str | None) -> None:
    if role not in ROLES:
        raise BadValue(f"a role is needed: {', '.join(ROLES)}", found=repr(role))
    if (role == "rater") != (rater is not None):
        raise BadValue("a rater's link names its rater, and no other does", found=f"{role}, rater {rater!r}")
