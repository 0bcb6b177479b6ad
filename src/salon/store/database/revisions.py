"""Which revision of the study a reader gets.

The number grows with every rater, answer and undo, so that a signature made from a running study names one state of it.
Only what takes answers away (a rater removed, withdrawn, brought back or erased) is a line of its own; what came since
the last line is counted.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, func, insert, select

from salon.store.database import tables
from salon.study import Revision


def changes(connection: Connection) -> int:
    """Raters, judgments and undos in the tables: between two lines of the revisions it only grows."""
    counts = [select(func.count()).select_from(table) for table in (tables.raters, tables.judgments, tables.undos)]
    return sum(connection.execute(count).scalar_one() for count in counts)


def revisions_now(connection: Connection) -> list[Revision]:
    """Every line, and one more for what came since the last."""
    rows = connection.execute(select(tables.revisions).order_by(tables.revisions.c.number)).all()
    found = [Revision(number=row.number, reason=row.reason, at=row.at) for row in rows]
    since = changes(connection) - rows[-1].changes
    if since > 0:
        found.append(Revision(number=found[-1].number + since, reason="answers collected"))
    return found


def lock_revisions(connection: Connection) -> None:
    """Wait for whoever else is taking answers away."""
    connection.execute(select(tables.study.c.one).with_for_update())


def add_revision(connection: Connection, reason: str, at: int, number: int) -> None:
    """A line of its own for a change, numbered `number`; call it when the change is made."""
    day = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds")
    row = {"number": number, "reason": reason, "at": day, "changes": changes(connection)}
    connection.execute(insert(tables.revisions), row)
