"""What workers of one study tell each other through PostgreSQL: locks, news, values they share, and limits.

    with database.alone("figures"):                 one worker of all is in here; a killed one leaves
        database.share("figures", text)             kept, and announced to all workers
    database.shared("figures")                      the newest text, and when it was shared
    database.take_tokens("key", 20.0, 200, 10)      how many of 10 requests are free now, and seconds until the next is
    with listen_for_news(database, on_news): ...    `on_news("figures")` in a thread of its own, within moments

SQLite has one process, which needs none of it: `alone` lets everybody in, and there is no news.
"""

from __future__ import annotations

import logging
import math
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, text, update
from sqlalchemy.dialects import postgresql

from salon.store.database.connection import DatabaseConnection, DatabaseError
from salon.store.database.tables import rate_limits, shared_state
from salon.store.database.tallies import put_state

CHANNEL = "salon_news"
_LOCKS = 0x5A13
_POLL_S, _AGAIN_S = 0.5, 1.0
_FORGET_S = 3600
"""Limits that nobody asked about for so long are full again, and forgotten."""
_NOW = text("SELECT extract(epoch FROM clock_timestamp())::float")

log = logging.getLogger("salon.store")


def announce(connection: Connection, what: str) -> None:
    """Tell all workers when this transaction is committed."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_notify(:channel, :what)"), {"channel": CHANNEL, "what": what})


class CoordinationMethods(DatabaseConnection):
    """Locks, shared values and limits."""

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Wait until no other worker is in a block of this name; the lock goes with the connection."""
        if self.sqlite:
            yield
            return
        key = {"kind": _LOCKS, "name": zlib.crc32(name.encode()) - (1 << 31)}
        with self.reading() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:kind, :name)"), key)
            try:
                yield
            finally:
                connection.execute(text("SELECT pg_advisory_unlock(:kind, :name)"), key)

    def share(self, name: str, value: str) -> None:
        """Keep a value for all workers, and tell them."""
        with self.writing() as connection:
            put_state(connection, name, value)
            announce(connection, name)

    def shared(self, name: str) -> tuple[str, int] | None:
        """The value kept under `name`, and when it was; None where there is none."""
        query = select(shared_state.c.value, shared_state.c.at).where(shared_state.c.name == name)
        with self.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else (row.value, row.at)

    def take_tokens(self, name: str, rate: float, burst: int, wanted: int) -> tuple[int, float]:
        """Up to `wanted` tokens of a bucket that holds `burst` and gains `rate` a second; seconds to wait for one.

        Every bucket starts full. With `wanted` -1 a token is given back.
        """
        with self.writing() as connection:
            connection.execute(text("SET LOCAL synchronous_commit TO off"))  # a limit need not survive a crash
            now: float = connection.execute(_NOW).scalar_one()
            full = {"name": name, "tokens": float(burst), "at": now}
            connection.execute(postgresql.insert(rate_limits).on_conflict_do_nothing(), full)
            row = connection.execute(_BUCKET, {"this": name}).one()
            tokens = min(float(burst), row.tokens + max(0.0, now - row.at) * rate)
            granted = wanted if wanted < 0 else min(wanted, math.floor(tokens))
            connection.execute(_SET_BUCKET, {"this": name, "left": min(float(burst), tokens - granted), "now": now})
        return granted, max(0.0, (1 - tokens) / rate)

    def forget_limits(self) -> None:
        """Delete the limits that are full again."""
        with self.writing() as connection:
            now: float = connection.execute(_NOW).scalar_one()
            connection.execute(delete(rate_limits).where(rate_limits.c.at < now - _FORGET_S))


_THIS = rate_limits.c.name == bindparam("this")
_BUCKET = select(rate_limits.c.tokens, rate_limits.c.at).where(_THIS).with_for_update()
_SET_BUCKET = update(rate_limits).where(_THIS).values(tokens=bindparam("left"), at=bindparam("now"))


# -- news ----------------------------------------------------------------------------------------------------------


@contextmanager
def listen_for_news(database: DatabaseConnection, on_news: Callable[[str], None]) -> Iterator[None]:
    """While the block runs, `on_news` hears what workers announce; "" when something may have been missed."""
    if database.sqlite:
        yield
        return
    stop, listening = threading.Event(), threading.Event()
    thread = threading.Thread(target=_listen, args=(database, on_news, stop, listening), name="news", daemon=True)
    thread.start()
    listening.wait(_AGAIN_S)
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _listen(
    database: DatabaseConnection, on_news: Callable[[str], None], stop: threading.Event, listening: threading.Event
) -> None:
    import psycopg

    while not stop.is_set():
        try:
            with database.reading() as connection:
                driver: Any = connection.connection.driver_connection
                driver.execute(f"LISTEN {CHANNEL}")
                listening.set()
                _tell(on_news, "")
                try:
                    while not stop.is_set():
                        for news in driver.notifies(timeout=_POLL_S):
                            _tell(on_news, news.payload)
                finally:
                    connection.invalidate()  # no other use of it is to hear the news
        except (DatabaseError, psycopg.Error):  # the server was restarted: listen again, and look for what was missed
            stop.wait(_AGAIN_S)


def _tell(on_news: Callable[[str], None], what: str) -> None:
    try:
        on_news(what)
    except Exception:
        log.exception("what another worker changed could not be followed")
