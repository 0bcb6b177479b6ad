"""Judgments per second over HTTP, and how long each takes, beside a bare FastAPI route that writes one row.

Ours: POST /api/tasks/N/answer of a studio: who asks, their limits, whose task it is, whether the answer fits, the
answer under its key, the task closed, the next question chosen, written and told. Peer: a FastAPI route that writes the
same JSON as one row and commits: the same server with the same settings, the same client, the same database, driver,
pool and durability (SQLite: write-ahead, synchronous=FULL, one writer at a time; PostgreSQL: synchronous_commit=on).
Both run at once and are asked in turns, so that both see the same machine.

`answers`: raters answer as fast as they can; `ratio` is our judgments per second divided by the peer's, median over
rounds; the aim is 0.5. `think`: 200 raters think 2 to 5 seconds before each answer; ours and peer are the 99th
percentile of the reply, `ratio` how many times longer ours takes. `cpu_ms` are processor milliseconds of the server for
each answer: on a busy machine the steadier figure. The limit is the disk: flushes per second of one writer that appends
a page and calls fsync, in the same round (writers who come together share one).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._load_study import make_study
from benchmarks._rater_http import Wire
from tests.postgres import cluster

ROUNDS, SECONDS, RATERS = 5, 4.0, 20
THINKERS, THINK, THINK_SECONDS = 200, (2.0, 5.0), 20.0
LEFT = {"answers": {"overall": "left"}}
_OPEN = {"session_rate": 1e6, "session_burst": 10**6, "address_rate": 1e6, "address_burst": 10**6}
_STUDIO = f"""
import json, sys
from pathlib import Path
from salon.collect.studio.setup import open_studio
from salon.web.app import create_app
from salon.web.server import listen, serve_app
from salon.web.settings import WebSettings

folder = Path(sys.argv[1])
with open_studio(folder, sys.argv[2]) as studio, listen("127.0.0.1", 0) as listening:
    tokens = [invitation.token for invitation in studio.invite("raters", int(sys.argv[3]))]
    settings = WebSettings(folder=folder, port=listening.getsockname()[1], **{_OPEN!r})
    print(json.dumps([settings.port, tokens]), flush=True)
    serve_app(create_app(studio, settings), settings, listening)
"""
_BARE = """
import json, sys
from pathlib import Path
from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import Column, Integer, MetaData, Table, Text, insert
from salon.store.database import open_database
from salon.web.server import listen, serve_app
from salon.web.settings import WebSettings

database = open_database(sys.argv[1], create=True)
metadata = MetaData()
rows = Table("answers", metadata, Column("id", Integer, primary_key=True), Column("payload", Text))
metadata.create_all(database.engine)
app = FastAPI()

class Given(BaseModel):
    answers: dict[str, str]

@app.post("/answer")
def answer(given: Given) -> dict[str, int]:
    with database.writing() as connection:
        connection.execute(insert(rows), {"payload": given.model_dump_json()})
    return {"saved": 1}

with listen("127.0.0.1", 0) as listening:
    print(json.dumps([listening.getsockname()[1], []]), flush=True)
    serve_app(app, WebSettings(folder=Path(".")), listening)
"""

Answer = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Served:
    """A server under measurement."""

    process: subprocess.Popen[str]
    port: int
    tokens: list[str]

    @property
    def cpu(self) -> float:
        """Processor seconds so far, all threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def rater(self, number: int) -> Answer:
        """A function that gives one answer and waits for the reply, for a rater who has given one already."""
        token = self.tokens[number] if self.tokens else None
        wire = Wire(self.port, token=token, address=f"127.0.1.{number % 250 + 1}")
        answer = _studio_answer(wire, number) if self.tokens else _bare_answer(wire)
        await answer()
        return answer


def _bare_answer(wire: Wire) -> Answer:
    async def answer() -> None:
        assert (await wire.ask("POST", "/answer", LEFT)).status == 200

    return answer


def _studio_answer(wire: Wire, number: int) -> Answer:
    step: dict[str, object] = {}

    async def answer() -> None:
        nonlocal step
        step = step or (await wire.ask("GET", "/api/next")).json
        key = f"{number:04}-{step['id']:09}"
        reply = await wire.ask("POST", f"/api/tasks/{step['id']}/answer", LEFT, Idempotency_Key=key)
        assert reply.status == 200, reply.body
        step = reply.json["next"]

    return answer


@contextmanager
def served(code: str, *arguments: str) -> Iterator[Served]:
    """A server in a process of its own."""
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Served(process, *json.loads(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()


async def work(answers: list[Answer], seconds: float, think: tuple[float, float] | None) -> list[float]:
    """The seconds of every answer that raters give in so much time."""
    taken: list[float] = []
    ends = time.perf_counter() + seconds
    rng = random.Random(len(answers))

    async def one(answer: Answer) -> None:
        if think:
            await asyncio.sleep(rng.uniform(0, think[1]))
        while time.perf_counter() < ends:
            started = time.perf_counter()
            await answer()
            taken.append(time.perf_counter() - started)
            await asyncio.sleep(rng.uniform(*think) if think else 0)

    await asyncio.gather(*map(one, answers))
    return taken


@dataclass(frozen=True)
class Round:
    """What one server did in one round."""

    per_second: float
    p50: float
    p99: float
    cpu_ms: float


async def measure(server: Served, answers: list[Answer], seconds: float, think: tuple[float, float] | None) -> Round:
    """One round; milliseconds."""
    cpu, started = server.cpu, time.perf_counter()
    taken = await work(answers, seconds, think)
    elapsed = time.perf_counter() - started
    p50, p99 = np.percentile(taken, [50, 99]) * 1000
    return Round(len(taken) / elapsed, float(p50), float(p99), (server.cpu - cpu) * 1000 / len(taken))


def flushes(folder: Path, seconds: float = 1.0) -> float:
    """How often a second one writer can append a page and have it on the disk."""
    count, ends = 0, time.perf_counter() + seconds
    with open(folder / "flushed", "ab", buffering=0) as file:
        while time.perf_counter() < ends:
            file.write(bytes(4096))
            os.fsync(file.fileno())
            count += 1
    return count / seconds


async def race(database: str, ours: Served, bare: Served, folder: Path) -> None:
    """Print both lines of one database."""
    mine, theirs = [await asyncio.gather(*map(server.rater, range(THINKERS))) for server in (ours, bare)]
    rounds, disk = [], []
    for _ in range(ROUNDS):
        disk.append(flushes(folder))
        both = [await measure(*one, SECONDS, None) for one in ((ours, mine[:RATERS]), (bare, theirs[:RATERS]))]
        rounds.append(both)
    rates = [_median([one[side].per_second for one in rounds]) for side in (0, 1)]
    ratio = _median([one[0].per_second / one[1].per_second for one in rounds])
    facts = {"raters": RATERS, "ours": round(rates[0]), "peer": round(rates[1]), "ratio": round(ratio, 2)}
    _print("answers", database, facts | {"limit": round(_median(disk)), "unit": "judgments per second"}, rounds)
    thought = [await measure(*one, THINK_SECONDS, THINK) for one in ((ours, mine), (bare, theirs))]
    facts = {"raters": THINKERS, "ours": round(thought[0].p99, 1), "peer": round(thought[1].p99, 1)}
    facts |= {"ratio": round(thought[0].p99 / thought[1].p99, 2), "limit": round(1000 / _median(disk), 1)}
    _print("think", database, facts | {"unit": "ms, 99th percentile"}, [thought])


def _median(values: list[float]) -> float:
    return float(np.median(values))


def _print(what: str, database: str, facts: dict[str, object], rounds: list[list[Round]]) -> None:
    """One JSON line."""
    line: dict[str, object] = {"name": f"serve {what}", "database": database, "peer_name": "a bare FastAPI route"}
    for name in ("per_second", "p50", "p99", "cpu_ms"):
        both = (_median([getattr(one[side], name) for one in rounds]) for side in (0, 1))
        line[name] = dict(zip(("ours", "peer"), (round(value, 1) for value in both)))
    print(json.dumps(line | facts | {"rounds": len(rounds), "load": round(os.getloadavg()[0], 1)}), flush=True)


def main(names: list[str]) -> None:
    """Both databases, or those named."""
    for kind in names:
        with tempfile.TemporaryDirectory() as room:
            folder = Path(room) / "study"
            make_study(folder)
            server = cluster(fsync=True) if kind == "postgresql" else None
            urls = [server.database() if server else f"sqlite:///{room}/{name}.db" for name in ("ours", "bare")]
            with served(_STUDIO, str(folder), urls[0], str(THINKERS)) as ours, served(_BARE, urls[1]) as bare:
                asyncio.run(race(kind, ours, bare, folder))


if __name__ == "__main__":
    main(sys.argv[1:] or ["sqlite", "postgresql"])
