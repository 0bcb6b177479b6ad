"""Answers saved per second and their 99th percentile, on SQLite and on a PostgreSQL that flushes to the disk.

Ours: `Database.submit` with everything it owes: whose task it is, whether it was answered, whether the judgment fits
the study, the answer under its key, the task closed, committed. Peer: the bare driver that writes the same text as one
row and commits, with the same durability (SQLite: write-ahead, synchronous=FULL; PostgreSQL: synchronous_commit=on).
The limit is the peer too: nothing that is durable does less. In turns, so that both see the same machine; by one
writer, and by eight at once. `ratio` is our answers per second divided by the peer's; the aim is 0.5. Wall-clock time,
for the disk counts.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from sqlalchemy import insert

from salon.store import open_database
from salon.store.database import tables
from salon.study import Comparison, Criterion, Item, Rater, Study
from tests.postgres import cluster

ANSWERS = 200
ROUNDS = 5
WRITERS = (1, 8)
ITEMS = [f"item-{number:03d}" for number in range(50)]

Save = Callable[[int], None]


def study() -> Study:
    """Fifty items of one prompt's size, one criterion, eight raters."""
    raters = [Rater(id=f"rater-{number}") for number in range(max(WRITERS))]
    tables = {"items": [Item(id=id) for id in ITEMS], "raters": raters}
    return Study.build("speed", [Criterion(id="overall")], compare_within="all", tables=tables)


def judgment(number: int, rater: str) -> Comparison:
    """One ordinary answer."""
    a, b = ITEMS[number % 50], ITEMS[(number // 50 + 1 + number) % 50]
    facts = {"outcome": "a", "left": "b", "seconds": 12.345, "at": "2026-03-01T09:30:00Z", "repeat": number}
    return Comparison(criterion="overall", rater=rater, a=a, b=b if a != b else ITEMS[(number + 7) % 50], **facts)


@contextmanager
def ours(url: str) -> Iterator[Callable[[int], Save]]:
    """For each writer a function that saves one answer; its tasks are made beforehand."""
    numbers = count()
    with open_database(url, create=True) as database:
        database.put_study(study())

        def prepared(writer: int) -> Save:
            rater = f"rater-{writer}"
            start = next(numbers) * ANSWERS
            blank = {"rater": rater, "phase": "main", "question": "{}", "screen": "{}", "created_at": 1}
            asked = [blank | {"position": start + n, "about": str(start + n)} for n in range(ANSWERS)]
            with database.writing() as connection:
                ids = connection.scalars(insert(tables.tasks).returning(tables.tasks.c.id), asked).all()

            def save(n: int) -> None:
                answer = judgment(start + n, rater)
                database.submit(ids[n], rater, [answer], key=f"{start + n}", started_at=1, answered_at=2)

            return save

        yield prepared


@contextmanager
def bare_sqlite(path: Path) -> Iterator[Callable[[int], Save]]:
    """One row and a commit by Python's own driver."""
    opened: list[sqlite3.Connection] = []

    def prepared(writer: int) -> Save:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        opened.append(connection)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS answers (id INTEGER PRIMARY KEY, payload TEXT)")

        def save(n: int) -> None:
            text = judgment(n, f"rater-{writer}").model_dump_json(exclude_defaults=True)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO answers (payload) VALUES (?)", (text,))
            connection.execute("COMMIT")

        return save

    yield prepared
    for connection in opened:
        connection.close()


@contextmanager
def bare_postgresql(url: str) -> Iterator[Callable[[int], Save]]:
    """One row and a commit by psycopg."""
    opened: list[psycopg.Connection[Any]] = []

    def prepared(writer: int) -> Save:
        connection = psycopg.connect(url)
        opened.append(connection)
        connection.execute("SET synchronous_commit TO on")
        connection.execute("CREATE TABLE IF NOT EXISTS answers (id SERIAL PRIMARY KEY, payload TEXT)")
        connection.commit()

        def save(n: int) -> None:
            text = judgment(n, f"rater-{writer}").model_dump_json(exclude_defaults=True)
            connection.execute("INSERT INTO answers (payload) VALUES (%s)", (text,))
            connection.commit()

        return save

    yield prepared
    for connection in opened:
        connection.close()


def run(prepared: Callable[[int], Save], writers: int) -> tuple[float, list[float]]:
    """Answers per second of `writers` at once, and the seconds of each answer."""
    saves = [prepared(writer) for writer in range(writers)]

    def work(save: Save) -> list[float]:
        times = []
        for n in range(ANSWERS // writers):
            started = time.perf_counter()
            save(n)
            times.append(time.perf_counter() - started)
        return times

    with ThreadPoolExecutor(writers) as pool:
        started = time.perf_counter()
        taken = list(pool.map(work, saves))
        seconds = time.perf_counter() - started
    return ANSWERS / seconds, [one for times in taken for one in times]


def race(name: str, mine: Callable[[int], Save], bare: Callable[[int], Save], peer: str, writers: int) -> None:
    """Print the line of one database and one number of writers: medians over rounds, taken in turns."""
    rounds = [(run(mine, writers), run(bare, writers)) for _ in range(ROUNDS)]
    rates = [float(np.median([one[side][0] for one in rounds])) for side in (0, 1)]
    p99 = [float(np.percentile([seconds for one in rounds for seconds in one[side][1]], 99)) * 1000 for side in (0, 1)]
    line = {
        "name": "submit",
        "database": name,
        "writers": writers,
        "ours": round(rates[0]),
        "peer_name": peer,
        "peer": round(rates[1]),
        "ratio": round(float(np.median([mine[0] / bare[0] for mine, bare in rounds])), 2),
        "limit": round(rates[1]),
        "unit": "answers per second",
        "p99_ms": {"ours": round(p99[0], 2), "peer": round(p99[1], 2)},
    }
    print(json.dumps(line), flush=True)


def main(names: list[str]) -> None:
    """Both databases, or the one named."""
    with tempfile.TemporaryDirectory() as folder:
        if "sqlite" in names:
            with ours(f"sqlite:///{folder}/ours.db") as mine, bare_sqlite(Path(folder) / "bare.db") as bare:
                for writers in WRITERS:
                    race("SQLite", mine, bare, "sqlite3, one row and a commit", writers)
        if "postgresql" in names:
            server = cluster(fsync=True)
            with ours(server.database()) as mine, bare_postgresql(server.database()) as bare:
                for writers in WRITERS:
                    race("PostgreSQL", mine, bare, "psycopg, one row and a commit", writers)


if __name__ == "__main__":
    main(sys.argv[1:] or ["sqlite", "postgresql"])
