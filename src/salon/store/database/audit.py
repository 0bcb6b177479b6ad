"""Who did what, kept for good; and the studio's settings, every version of them."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Select, desc, insert, select

from salon.store.database import tables
from salon.store.database.connected import Connected, now_ms
from salon.store.database.records import AuditLine, as_json, plain

_LINES = tables.audit


def note(connection: Connection, who: str, what: str, at: int | None = None, **detail: Any) -> None:
    """One more line of the audit, in the transaction of what it tells."""
    connection.execute(
        insert(tables.audit),
        {
            "at": now_ms() if at is None else at,
            "who": plain(who, where="who"),
            "what": plain(what, where="what"),
            "detail": as_json(detail, where="the audit"),
        },
    )


class Audit(Connected):
    """Lines that are only added."""

    def note(self, who: str, what: str, *, at: int | None = None, **detail: Any) -> None:
        """Write down that `who` did `what`."""
        with self.writing() as connection:
            note(connection, who, what, at, **detail)

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
            row = {"text": plain(text, where="settings", most=1_000_000), "at": at}
            version: int = connection.execute(
                insert(tables.settings).returning(tables.settings.c.version), row
            ).scalar_one()
            note(connection, by, "settings changed", at, version=version)
            return version

    def settings(self) -> str | None:
        """The newest studio.toml, or None when there is none yet."""
        newest = select(tables.settings.c.text).order_by(desc(tables.settings.c.version)).limit(1)
        with self.reading() as connection:
            return connection.execute(newest).scalar()
