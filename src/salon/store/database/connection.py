"""Connections to a studio's database: its errors, its transactions and its prepared statements.

    SalonError
    └── DatabaseError             the database cannot do this now
        ├── Unavailable           it cannot be opened, read or written: absent, locked, no room, wrong password
        │   ├── LostConnection    the server went away or is starting: what is idempotent may be done again
        │   └── DamagedDatabase   its file is no whole SQLite database: restore a backup
        ├── WrongSchema           made by another version of Salon, or not by Salon at all
        ├── StudyThere            it holds a study already
        ├── NoStudy               it holds no study yet
        ├── NotYours              a task that is not this rater's, or not there
        ├── AlreadyAnswered       the task has an answer under another key
        ├── KeyReused             the key stands for another answer
        ├── TasksMoved            another worker changed the rater's tasks meanwhile: read them again
        ├── NotActive             the rater is paused, removed or withdrawn
        ├── UnknownRater          no rater has this id
        ├── NothingToUndo         no answer may be taken back
        └── BadLink               a link that was never given, was revoked or has expired

Messages never hold a password, a token, or whether somebody else's task exists.

SQLite runs in write-ahead mode with `synchronous=FULL`: a commit is flushed before it returns, readers see the last
commit and wait for nobody. Python's driver is kept from opening transactions of its own (`isolation_level=None`);
SQLAlchemy's `begin` event says BEGIN for readers and BEGIN IMMEDIATE for writers, so that no writer finds out half-way
that another was first. Writers of one process queue for a lock; those of other processes wait in SQLite, up to 30 s.
The first in the queue writes for all that wait (`write`): each in a savepoint of its own, one flush for everyone.

PostgreSQL runs READ COMMITTED, `synchronous_commit=on` whatever the server's default; a task is locked by its row while
it is answered, and the server itself lets commits share a flush. Single reads are not wrapped in a transaction, which
under READ COMMITTED would change nothing but take two more round trips. Both databases have a `snapshot`: several reads
that see one moment.

Statements that run for every answer are compiled once for each kind of database and run by its driver alone: what
SQLAlchemy does anew for each execution takes several times as long as the statement itself.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Dialect, Engine, create_engine, event
from sqlalchemy.exc import DataError, DBAPIError, DisconnectionError, IntegrityError, OperationalError, TimeoutError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.sql.expression import ClauseElement

from salon.errors import BadValue, SalonError


class DatabaseError(SalonError):
    """The database cannot do this now."""


class Unavailable(DatabaseError):
    """The database cannot be opened, read or written."""


class LostConnection(Unavailable):
    """The server went away, or is not up yet: what is idempotent may be done again."""


class DamagedDatabase(Unavailable):
    """The file is no whole SQLite database."""


class WrongSchema(DatabaseError):
    """The tables were made by another version of Salon, or not by Salon at all."""


class StudyThere(DatabaseError):
    """The database holds a study already."""


class NoStudy(DatabaseError):
    """The database holds no study yet."""


class NotYours(DatabaseError):
    """A task that is not this rater's, or not there at all: the two are not told apart."""


class AlreadyAnswered(DatabaseError):
    """The task has an answer under another key."""


class KeyReused(DatabaseError):
    """The idempotency key stands for another answer of this rater."""


class TasksMoved(DatabaseError):
    """Another worker changed the rater's tasks meanwhile."""


class NotActive(DatabaseError):
    """The rater is paused, removed or withdrawn."""


class UnknownRater(DatabaseError):
    """No rater has this id."""

    @classmethod
    def named(cls, rater: str) -> UnknownRater:
        """The error for the id `rater`."""
        return cls("a rater of the study is needed", found=repr(rater), remedy="invite the rater first")


class NothingToUndo(DatabaseError):
    """No answer may be taken back."""


class BadLink(DatabaseError):
    """A link that was never given, was revoked or has expired."""


# -- transactions ------------------------------------------------------------------------------------------------------

T = TypeVar("T")

WAIT_MS = 30_000
"""How long a writer waits for others."""
CONNECTIONS = 20
IDLE_S = 1.0
"""After so many seconds without use a connection to a server is tried before it is trusted."""


def damaged_error(why: str, where: str) -> DamagedDatabase:
    """The error for a SQLite file that is not whole, with the way to restore it."""
    return DamagedDatabase(
        "a SQLite database that is whole is needed",
        found=f"a damaged file: {why}",
        where=where,
        remedy="stop the studio, move the file and its -wal and -shm away, then put a backup in its place: "
        "salon restore STUDY BACKUP.db; without a backup, sqlite3 FILE .recover saves what can be read",
    )


_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class DatabaseConnection:
    """An engine and its three kinds of transaction."""

    def __init__(self, url: URL) -> None:
        self.url = url
        plain = url.database and os.fsencode(url.database).decode(errors="replace")  # a file's name need not be UTF-8
        self.name = url.set(query={}, database=plain).render_as_string()  # a query may hold a password too
        self.sqlite = url.get_backend_name() == "sqlite"
        self.engine = _engine(url)
        self._writers = self.engine.execution_options(writing=True)
        self._snapshots = self.engine if self.sqlite else self.engine.execution_options(**_SNAPSHOT)
        self._readers = self.engine if self.sqlite else self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._turn = threading.Lock() if self.sqlite else nullcontext()
        self._queue, self._waiting, self._led = threading.Lock(), list[_PendingWrite](), False

    def close(self) -> None:
        """Give every connection back."""
        self.engine.dispose()

    def write_ahead(self) -> None:
        """Put SQLite into write-ahead mode, which its file then remembers."""
        self.outside("PRAGMA journal_mode=WAL")

    def outside(self, statement: str, *values: object) -> None:
        """Run one of SQLite's statements that no transaction may hold; nothing on PostgreSQL."""
        if not self.sqlite:
            return
        with self._named_errors(), self._turn, self.engine.connect() as connection:
            _run_bare(connection, statement, *values)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Reads of what is committed; several of them may see several moments (`snapshot` sees one)."""
        with self._named_errors(), self._readers.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Several reads of one moment, however long they take and whatever is written meanwhile."""
        with self._named_errors(), self._snapshots.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on the disk when the block ends well, and never was when it does not."""
        with self._named_errors(), self._turn, self._writers.begin() as connection:
            yield connection

    def write(self, work: Callable[[Connection], T]) -> T:
        """What `work` gives back, its writes on the disk; nothing of it is when it raises.

        `work` touches nothing but its connection: on SQLite another thread may run it, among others' in one flush.
        """
        if not self.sqlite:
            with self.writing() as connection:
                return work(connection)
        mine = _PendingWrite(work)
        with self._queue:
            self._waiting.append(mine)
            mine.leads, self._led = not self._led, True
        if not mine.leads:
            mine.called.wait()  # written by another, or the next to write
        with self._named_errors():
            if mine.leads:
                self._write_all()
            return mine.outcome()  # type: ignore[no-any-return]  # what `work` gave

    def _write_all(self) -> None:
        """Write for all who wait, in one transaction; then call the first of those who came meanwhile to do so."""
        with self._turn:
            with self._queue:
                batch, self._waiting = self._waiting, []
            try:
                with self._writers.begin() as connection:
                    for pending in batch:
                        pending.run(connection)
            except BaseException as error:  # none of the writes is on the disk
                for pending in batch:
                    pending.error = pending.error or error
        with self._queue:
            self._led = bool(self._waiting)
            if self._led:
                self._waiting[0].leads = True
                self._waiting[0].called.set()
        for pending in batch:
            pending.called.set()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise  # two writers at once: the caller knows what it means
        except DataError:
            raise BadValue("a value that the database can hold is needed", found="another: NUL, or too large") from None
        except (DBAPIError, TimeoutError) as error:
            if getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise damaged_error(str(getattr(error, "orig", error)), self.name) from error
            lost = _is_lost(error)
            if lost:
                self.engine.dispose()  # what else is in the pool is cut too
            raise (LostConnection if lost else Unavailable)(
                "a database that can be read and written is needed",
                found=getattr(error, "orig", None) or error,
                where=self.name,
                remedy="see that it is there, not locked by another program, and that its disk has room",
            ) from error


def _is_lost(error: Exception) -> bool:
    """Did a server go away, or is it starting or stopping?"""
    import psycopg

    cause = getattr(error, "orig", None)
    if not isinstance(cause, psycopg.Error):
        return False
    return isinstance(cause, psycopg.OperationalError) and (cause.sqlstate or "57P").startswith(("08", "57P"))


class _PendingWrite:
    """A write that waits in the queue, and its outcome."""

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.work, self.called, self.leads = work, threading.Event(), False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self, connection: Connection) -> None:
        """Do it; what it wrote is taken back when it fails. Raises only when that cannot be done: nothing counts then.

        SQLite ends a whole transaction over some errors (a full disk); the savepoint is gone then, and that raises.
        """
        _run_bare(connection, "SAVEPOINT one")
        try:
            self.result = self.work(connection)
        except BaseException as error:
            _run_bare(connection, "ROLLBACK TO one")
            self.error = error
        _run_bare(connection, "RELEASE one")

    def outcome(self) -> Any:
        """What it gave, or its error."""
        if self.error is not None:
            raise self.error
        return self.result


_SNAPSHOT: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, hide_parameters=True, pool_size=CONNECTIONS, max_overflow=CONNECTIONS)
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    engine = create_engine(url, hide_parameters=True, pool_size=CONNECTIONS, max_overflow=CONNECTIONS)
    event.listen(engine, "connect", _set_up_postgresql)
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", _check_after_rest)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout={WAIT_MS}",
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",  # what was erased is overwritten, not only forgotten
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing")
    _run_bare(connection, "BEGIN IMMEDIATE" if writing else "BEGIN")


def _run_bare(connection: Connection, statement: str, *values: object) -> None:
    """Run a statement by SQLite's driver alone, which takes a tenth of the time; its errors sound like all others."""
    driver: Any = connection.connection.driver_connection
    try:
        driver.execute(statement, values).close()
    except sqlite3.Error as error:
        raise OperationalError(statement, values, error) from error


def _set_up_postgresql(connection: Any, _: object) -> None:
    connection.execute("SET synchronous_commit TO on")
    connection.commit()


def _note_use(_: object, record: ConnectionPoolEntry) -> None:
    record.info["used"] = time.monotonic()


def _check_after_rest(connection: Any, record: ConnectionPoolEntry, _: object) -> None:
    """A connection that rested may have been cut meanwhile: the pool then opens another."""
    if time.monotonic() - record.info.get("used", math.inf) < IDLE_S:
        return
    import psycopg

    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except psycopg.Error as error:
        raise DisconnectionError() from error


# -- prepared statements -----------------------------------------------------------------------------------------------


class PreparedStatement:
    """A statement whose every value is a `bindparam`, or a column of an insert named in `columns`."""

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        self._statement, self._columns = statement, columns
        self._compiled: dict[str, tuple[str, tuple[str, ...] | None]] = {}

    def rows(self, connection: Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """All rows it gives."""
        cursor = self._run(connection, values)
        try:
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        finally:
            cursor.close()
        return rows

    def first(self, connection: Connection, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Its first row, or None."""
        return next(iter(self.rows(connection, values)), None)

    def changes(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """How many rows it changes."""
        cursor = self._run(connection, values)
        count: int = cursor.rowcount
        cursor.close()
        return count

    def _run(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        text, order = self._text(connection.dialect)
        driver: Any = connection.connection.driver_connection
        try:
            return driver.execute(text, values if order is None else [values[name] for name in order])
        except connection.dialect.loaded_dbapi.Error as error:
            kind = connection.dialect.loaded_dbapi.Error
            if getattr(driver, "broken", False):  # the server went away
                connection.invalidate(error)
            raise DBAPIError.instance(text, None, error, kind, dialect=connection.dialect) from error

    def _text(self, dialect: Dialect) -> tuple[str, tuple[str, ...] | None]:
        """The SQL, and the order of its values where they have no names."""
        compiled_text = self._compiled.get(dialect.name)
        if compiled_text is None:
            compiled: Any = self._statement.compile(dialect=dialect, column_keys=self._columns)
            order = tuple(compiled.positiontup) if compiled.positional else None
            compiled_text = self._compiled[dialect.name] = (str(compiled), order)
        return compiled_text
