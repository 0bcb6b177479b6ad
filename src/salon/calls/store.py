"""Every answer ever bought, in one SQLite file: written before it is used, found by its call's key, never bought again.

    answers    what came back, one row per key
    claims     calls in flight, each with its owner: two runs at once never send the same one
    lost       requests that may have been charged without an answer: killed, cut off, timed out
    unusable   answers that were paid for but could not be used, and why

The journal is in WAL mode, so readers never wait; with `synchronous=FULL` an answer is on the disk before `keep`
returns. Secrets never get here: a `Call` has none, and what a server echoes is redacted first.

Every open store holds a lock file (`Owner`). The system frees the lock of a process however it ends, kill -9 included,
so a claim of a dead process is recognized at once. Where there are no such locks (Windows), an owner counts as alive
for `LEASE` seconds after its last claim.

`StoreWriter` writes from a thread beside the event loop: all answers that came while the last transaction was being
written share one flush (`benchmarks/calls.py`).
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import queue
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from salon.calls.call import CallAnswer
from salon.errors import BadFile
from salon.store import whole_file

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]  # Windows has none

VERSION = 1
APPLICATION = 0x53414C4F  # "SALO"
BUSY_SECONDS = 60.0
_COLUMNS = "key, status, headers, body, seconds, attempts, at, tokens_in, tokens_out, cost"
_SCHEMA = """
CREATE TABLE answers (
  key TEXT PRIMARY KEY, status INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL, seconds REAL NOT NULL,
  attempts INTEGER NOT NULL, at TEXT NOT NULL, tokens_in INTEGER, tokens_out INTEGER, cost REAL, url TEXT NOT NULL);
CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, since REAL NOT NULL);
CREATE TABLE lost (key TEXT NOT NULL, why TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE unusable (key TEXT NOT NULL, why TEXT NOT NULL, body BLOB NOT NULL, cost REAL, at TEXT NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Totals:
    """A store in figures."""

    answers: int
    seconds: float
    tokens_in: int
    tokens_out: int
    cost: float
    """Of answers, usable or not, by the price lists of their day; those without a price count nothing."""
    lost: int
    """Requests that may have been charged without an answer."""
    unusable: int
    in_flight: int


class CallStore:
    """The answers kept in one file. Any number of processes may have it open; methods may be called on any thread."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock, self._reading = threading.RLock(), threading.Lock()
        try:
            self._connection = self._connect()
            self._prepare()
            self._reader = self._connect()  # separate, so that lookups do not wait for the disk
            self.owner = Owner(self.path)
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from None
        self._leave = weakref.finalize(
            self, _close_all, (self._connection, self._reader), self.owner
        )  # for one that is never closed
        self.recover()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    def _prepare(self) -> None:
        """Make the tables of a new file; refuse one of another program or version."""
        (journal,) = self._connection.execute("PRAGMA journal_mode=WAL").fetchone()
        if journal != "wal":
            raise sqlite3.OperationalError(f"the file system allows no WAL journal, only {journal!r}")
        self._connection.execute("PRAGMA synchronous=FULL")
        with self.transaction():
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not tables:
                for statement in _SCHEMA.split(";"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id={APPLICATION}")
                self._connection.execute(f"PRAGMA user_version={VERSION}")
            elif version != VERSION or self._connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
                raise sqlite3.DatabaseError(f"a file of another program, or of version {version} and not {VERSION}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is written together, or not at all; on the disk when the block ends."""
        with self._lock:
            if self._connection.in_transaction:
                yield
                return
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise self._unusable(error) from None
                raise

    def _unusable(self, error: Exception) -> BadFile:
        return BadFile(
            "a store of answers that can be written is needed",
            found=str(error),
            where=str(self.path),
            remedy="name a file in a folder that can be written and has room, or move the damaged file away",
        )

    def find(self, key: str) -> CallAnswer | None:
        """The answer kept under `key`."""
        with self._reading:
            return _select_answer(self._reader, key)

    def claim(self, key: str) -> CallAnswer | bool:
        """The answer if there is one; else True when the caller may ask now, False while someone else is asking.

        A claim whose owner died is taken over, and its request noted as lost: the server may have charged it.
        """
        with self.transaction():
            answer = _select_answer(self._connection, key)
            if answer is not None:
                return answer
            claim = self._connection.execute("SELECT owner, since FROM claims WHERE key = ?", (key,)).fetchone()
            if claim is not None:
                if self.owner.lives(*claim):
                    return False
                self.lose(key, "killed")
            row = (key, self.owner.name, time.time())
            self._connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", row)
            return True

    def keep(self, answer: CallAnswer, url: str) -> None:
        """Write an answer and end its claim. Of two for the same key the first stays."""
        row = (
            *(
                (
                    *(
                        answer.key,
                        answer.status,
                        json.dumps(answer.headers),
                        answer.body,
                        answer.seconds,
                        answer.attempts,
                    ),
                    *(answer.at, answer.tokens_in, answer.tokens_out, answer.cost),
                )
            ),
            url,
        )
        with self.transaction():
            self._connection.execute(f"INSERT OR IGNORE INTO answers VALUES ({', '.join('?' * len(row))})", row)
            self.release(answer.key)

    def release(self, key: str) -> None:
        """End our claim of a call that got no answer."""
        with self.transaction():
            self._connection.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self.owner.name))

    def lose(self, key: str, why: str) -> None:
        """Note a request that may have been charged without an answer."""
        with self.transaction():
            self._connection.execute("INSERT INTO lost VALUES (?, ?, ?)", (key, why, utc_now()))

    def set_aside(self, answer: CallAnswer, why: str) -> None:
        """Keep an answer that cannot be used apart, so that its call is open again and its cost not forgotten."""
        row = (answer.key, why, answer.body, answer.cost, utc_now())
        with self.transaction():
            self._connection.execute("INSERT INTO unusable VALUES (?, ?, ?, ?, ?)", row)
            self._connection.execute("DELETE FROM answers WHERE key = ?", (answer.key,))

    def recover(self) -> int:
        """End the claims of owners who died; how many requests were in flight when they did."""
        with self.transaction():
            claims = self._connection.execute("SELECT key, owner, since FROM claims").fetchall()
            dead = [key for key, owner, since in claims if not self.owner.lives(owner, since)]
            for key in dead:
                self.lose(key, "killed")
                self._connection.execute("DELETE FROM claims WHERE key = ?", (key,))
        self.owner.sweep()
        return len(dead)

    def totals(self) -> Totals:
        """What has been bought so far, by every process that ever used this file."""
        with self._lock:
            execute = self._connection.execute
            answers = execute(
                "SELECT count(*), total(seconds), total(tokens_in), total(tokens_out), total(cost) FROM answers"
            ).fetchone()
            lost, claims = (execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("lost", "claims"))
            unusable, wasted = execute("SELECT count(*), total(cost) FROM unusable").fetchone()
        count, seconds, tokens_in, tokens_out, cost = answers
        return Totals(count, seconds, int(tokens_in), int(tokens_out), cost + wasted, lost, unusable, claims)

    def __len__(self) -> int:
        with self._lock:
            return int(self._connection.execute("SELECT count(*) FROM answers").fetchone()[0])

    def __iter__(self) -> Iterator[CallAnswer]:
        """All answers in the order they came, read one at a time."""
        for row in self._rows(_COLUMNS):
            yield _answer_from_row(row)

    def export(self, path: Path | str) -> int:
        """Write all answers as JSONL, whole or not at all; bodies that are no UTF-8 text as base64. How many."""
        count = 0
        with whole_file(Path(path)) as file:
            for *row, url in self._rows(f"{_COLUMNS}, url"):
                answer = _answer_from_row(row)
                record = {
                    name: getattr(answer, name) for name in CallAnswer.__slots__ if name not in {"body", "stored"}
                }
                try:
                    record |= {"url": url, "body": answer.body.decode()}
                except UnicodeDecodeError:
                    record |= {"url": url, "body_base64": base64.b64encode(answer.body).decode()}
                file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
                count += 1
        return count

    def _rows(self, columns: str) -> Iterator[list[Any]]:
        with self._lock:
            numbers = [number for (number,) in self._connection.execute("SELECT rowid FROM answers ORDER BY rowid")]
        for number in numbers:
            with self._lock:
                query = f"SELECT {columns} FROM answers WHERE rowid = ?"
                row = self._connection.execute(query, (number,)).fetchone()
            if row is not None:
                yield list(row)

    def close(self) -> None:
        """Close the file; claims still held are noted as lost."""
        with self._lock:
            if not self._leave.alive:
                return
            keys = self._connection.execute("SELECT key FROM claims WHERE owner = ?", (self.owner.name,)).fetchall()
            with self.transaction():
                for (key,) in keys:
                    self.lose(key, "closed")
                    self.release(key)
            self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _close_all(connections: tuple[sqlite3.Connection, ...], owner: Owner) -> None:
    for connection in connections:
        connection.close()
    owner.close()


def _select_answer(connection: sqlite3.Connection, key: str) -> CallAnswer | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM answers WHERE key = ?", (key,)).fetchone()
    return None if row is None else _answer_from_row(row)


def utc_now() -> str:
    """The time as it is kept: UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _answer_from_row(row: Any) -> CallAnswer:
    key, status, headers, body, seconds, attempts, at, tokens_in, tokens_out, cost = row
    return CallAnswer(
        *(key, status, json.loads(headers), bytes(body), seconds, attempts, at, tokens_in, tokens_out, cost),
        stored=True,
    )


# -- owners ------------------------------------------------------------------------------------------------------------

LEASE = 900.0


class Owner:
    """This process among those that share a store. Its lock files stand in `<store>-owners/`."""

    def __init__(self, store: Path) -> None:
        self.folder = store.with_name(f"{store.name}-owners")
        self.name = secrets.token_hex(8)
        self._file = self._hold(self.folder / self.name)

    @staticmethod
    def _hold(path: Path) -> int:
        """Make and lock the file; again when someone who found it not yet locked has taken it for a leftover, or when
        the last one out took the folder along just before.
        """
        while True:
            path.parent.mkdir(exist_ok=True)
            try:
                number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                continue
            if fcntl is None:  # pragma: no cover
                return number
            fcntl.flock(number, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.stat(path).st_ino == os.fstat(number).st_ino:
                    return number
            os.close(number)

    def lives(self, name: str, since: float) -> bool:
        """Whether the owner called `name`, who last claimed a call at `since`, is still there."""
        if name == self.name:
            return True
        if fcntl is None:  # pragma: no cover
            return time.time() - since < LEASE
        try:
            number = os.open(self.folder / name, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        else:
            (self.folder / name).unlink(missing_ok=True)  # while it is ours, so nobody else can be holding it
            return False
        finally:
            os.close(number)

    def sweep(self) -> None:
        """Remove the files of owners who died."""
        if fcntl is not None:
            for path in self.folder.iterdir():
                self.lives(path.name, 0.0)

    def close(self) -> None:
        """Go."""
        (self.folder / self.name).unlink(missing_ok=True)
        os.close(self._file)
        with suppress(OSError):
            self.folder.rmdir()  # the last one out


# -- writing beside an event loop --------------------------------------------------------------------------------------

T = TypeVar("T")
_GATHER = 0.005
"""Seconds to wait for company: every commit costs a flush, and requests take far longer than this."""
_Work = tuple[Callable[[], Any], "asyncio.Future[Any] | None"]


class StoreWriter:
    """Runs functions of a store on a thread of its own, many to a transaction; made and used inside a running loop."""

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="salon-ledger", daemon=True)
        self._thread.start()

    def __call__(self, function: Callable[..., T], *arguments: object) -> asyncio.Future[T]:
        """`function(*arguments)`, to be awaited; done when it is on the disk."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting.put((lambda: function(*arguments), future))
        return future

    def later(self, function: Callable[..., object], *arguments: object) -> None:
        """`function(*arguments)`, in its turn, which is not awaited: for what a cancelled call still has to record."""
        self._waiting.put((lambda: function(*arguments), None))

    def close(self) -> None:
        """Write what is waiting, and end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _write(self) -> None:
        open_ = True
        while open_:
            batch = [self._waiting.get()]
            time.sleep(_GATHER)
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            open_ = None not in batch
            self._commit([work for work in batch if work is not None])

    def _commit(self, batch: list[_Work]) -> None:
        try:
            with self._store.transaction():
                results = [function() for function, _ in batch]
        except Exception as error:
            if len(batch) > 1:  # what is wrong with one must not cost the others their answers
                for work in batch:
                    self._commit([work])
                return
            self._loop.call_soon_threadsafe(_settle, batch, [error])
        else:
            self._loop.call_soon_threadsafe(_settle, batch, results)


def _settle(batch: list[_Work], outcomes: list[Any]) -> None:
    for (_, future), outcome in zip(batch, outcomes):
        if future is None or future.done():  # a cancelled caller does not wait any more
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
