"""Every answer ever bought, in one SQLite file: written before it is used, found by its call's key, never bought again.

    answers    what came back, one row per key
    claims     calls in flight, each with its owner: two runs at once never send the same one
    lost       requests that may have been charged without an answer: killed, cut off, timed out
    unusable   answers that were paid for but could not be used, and why

Journal in WAL mode: readers never wait. `synchronous=FULL`: an answer is on the disk before `keep` returns.
Secrets never get here: a `Call` has none, and what a server echoes is redacted first.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from salon.calls.answer import Answer
from salon.calls.owners import Owner
from salon.errors import BadFile
from salon.store.atomic import whole_file

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
            self._reader = self._connect()  # of its own: whoever looks for an answer does not wait for the disk
            self.owner = Owner(self.path)
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from None
        self._leave = weakref.finalize(
            self, _leave, (self._connection, self._reader), self.owner
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

    def find(self, key: str) -> Answer | None:
        """The answer kept under `key`."""
        with self._reading:
            return _kept(self._reader, key)

    def claim(self, key: str) -> Answer | bool:
        """The answer if there is one; else True when the caller may ask now, False while someone else is asking.

        A claim whose owner died is taken over, and its request noted as lost: the server may have charged it.
        """
        with self.transaction():
            found = _kept(self._connection, key)
            if found is not None:
                return found
            held = self._connection.execute("SELECT owner, since FROM claims WHERE key = ?", (key,)).fetchone()
            if held is not None:
                if self.owner.lives(*held):
                    return False
                self.lose(key, "killed")
            row = (key, self.owner.name, time.time())
            self._connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", row)
            return True

    def keep(self, answer: Answer, url: str) -> None:
        """Write an answer and end its claim. Of two for the same key the first stays."""
        row = (*_row(answer), url)
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
            self._connection.execute("INSERT INTO lost VALUES (?, ?, ?)", (key, why, now()))

    def set_aside(self, answer: Answer, why: str) -> None:
        """Keep an answer that cannot be used apart, so that its call is open again and its cost not forgotten."""
        row = (answer.key, why, answer.body, answer.cost, now())
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
            one = self._connection.execute
            answers = one(
                "SELECT count(*), total(seconds), total(tokens_in), total(tokens_out), total(cost) FROM answers"
            ).fetchone()
            lost, claims = (one(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("lost", "claims"))
            unusable, wasted = one("SELECT count(*), total(cost) FROM unusable").fetchone()
        count, seconds, tokens_in, tokens_out, cost = answers
        return Totals(count, seconds, int(tokens_in), int(tokens_out), cost + wasted, lost, unusable, claims)

    def __len__(self) -> int:
        with self._lock:
            return int(self._connection.execute("SELECT count(*) FROM answers").fetchone()[0])

    def __iter__(self) -> Iterator[Answer]:
        """All answers in the order they came, read one at a time."""
        for row in self._rows(_COLUMNS):
            yield _answer(row)

    def export(self, path: Path | str) -> int:
        """Write all answers as JSONL, whole or not at all; bodies that are no UTF-8 text as base64. How many."""
        count = 0
        with whole_file(Path(path)) as file:
            for *row, url in self._rows(f"{_COLUMNS}, url"):
                file.write(json.dumps(_record(_answer(row), url), ensure_ascii=False).encode() + b"\n")
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
            held = self._connection.execute("SELECT key FROM claims WHERE owner = ?", (self.owner.name,)).fetchall()
            with self.transaction():
                for (key,) in held:
                    self.lose(key, "closed")
                    self.release(key)
            self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _leave(connections: tuple[sqlite3.Connection, ...], owner: Owner) -> None:
    for connection in connections:
        connection.close()
    owner.close()


def _kept(connection: sqlite3.Connection, key: str) -> Answer | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM answers WHERE key = ?", (key,)).fetchone()
    return None if row is None else _answer(row)


def now() -> str:
    """The time as it is kept: UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _row(answer: Answer) -> tuple[Any, ...]:
    return (
        *(answer.key, answer.status, json.dumps(answer.headers), answer.body, answer.seconds, answer.attempts),
        *(answer.at, answer.tokens_in, answer.tokens_out, answer.cost),
    )


def _answer(row: Any) -> Answer:
    key, status, headers, body, seconds, attempts, at, tokens_in, tokens_out, cost = row
    return Answer(
        *(key, status, json.loads(headers), bytes(body), seconds, attempts, at, tokens_in, tokens_out, cost),
        stored=True,
    )


def _record(answer: Answer, url: str) -> dict[str, Any]:
    record = {name: getattr(answer, name) for name in Answer.__slots__ if name not in {"body", "stored"}}
    try:
        return record | {"url": url, "body": answer.body.decode()}
    except UnicodeDecodeError:
        return record | {"url": url, "body_base64": base64.b64encode(answer.body).decode()}
