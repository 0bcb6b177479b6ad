"""Kill -9 while fifty raters answer: is every acknowledged judgment there exactly once?

    python -m benchmarks studio_load                       20 kills on each database
    python -m benchmarks.studio_load sqlite 50 20          one database, raters, kills

`salon serve` runs as a process of its own and is killed at random moments and started again (forked from a process that
has imported everything, so that most of the time goes into answers). Raters answer over HTTP as fast as its limits
allow. Whoever hears nothing sends the same answer again under the same key, as a browser does; one in four gives up
instead, as somebody who closes the tab. Afterwards the database is counted: `ours` acknowledged answers that are there
exactly once and as they were given, `peer` all acknowledged answers; the aim is a ratio of 1. `lost`, `twice`, `wrong`
and `half` (a task closed without its answer, or the other way round) must be 0; `unheard` answers were saved although
nobody heard it, which is allowed: each counts once.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sqlalchemy import select

from benchmarks._load_study import invite, make_study
from benchmarks._rater_http import Reply, Wire
from salon.store import open_database
from salon.store.database import tables
from tests.postgres import cluster

RATERS, KILLS = 50, 20
_STEM = """
import os, sys, threading
from salon.cli.studio import serve

def end_with_the_load():
    sys.stdin.read(1)
    os._exit(1)

for line in sys.stdin:
    child = os.fork()
    if not child:
        threading.Thread(target=end_with_the_load, daemon=True).start()
        serve(sys.argv[1:])
    print(child, flush=True)
    os.waitpid(child, 0)
    print("gone", flush=True)
"""
_STARTS_WITHIN = 120.0
_GIVES_UP = 0.25


@dataclass
class Heard:
    """What the raters know: which answers were acknowledged, which were sent and never heard of again."""

    acknowledged: dict[str, tuple[int, str]] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)
    retried: int = 0
    refused: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Outcome:
    """The count afterwards."""

    acknowledged: int
    once: int
    lost: int
    twice: int
    wrong: int
    half: int
    unheard: int
    retried: int
    kills: int
    refused: dict[str, int]


class Server:
    """`salon serve` on one port, as often as it is started."""

    def __init__(self, folder: Path, url: str) -> None:
        self._held = socket.socket()  # bound, never listened on: between two servers nobody else is given their port
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self.port = self._held.getsockname()[1]
        self._log = folder.parent / "server.log"
        command = [sys.executable, "-c", _STEM, str(folder), "--db", url, "--port", str(self.port)]
        with open(self._log, "ab") as log:
            self._stem = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, bufsize=1
            )

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        self._pid = int(self._said("start"))
        wire = Wire(self.port)
        deadline = time.monotonic() + _STARTS_WITHIN
        while time.monotonic() < deadline:
            with suppress(OSError):
                if (await wire.ask("GET", "/healthz")).status == 200:
                    wire.close()
                    return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"the studio did not open: {self._log.read_text()[-2000:]}")

    def kill(self) -> None:
        """SIGKILL."""
        os.kill(self._pid, signal.SIGKILL)
        self._said()

    def close(self) -> None:
        """End the process that starts servers, and the server with it."""
        self._stem.communicate()
        self._held.close()

    def _said(self, order: str | None = None) -> str:
        """The next line that is no server's: whose process was started, or that it is gone."""
        assert self._stem.stdin is not None
        assert self._stem.stdout is not None
        if order is not None:
            self._stem.stdin.write(f"{order}\n")
        while True:
            line = self._stem.stdout.readline()
            if not line:
                raise RuntimeError(f"no studio can be started: {self._log.read_text()[-2000:]}")
            if line.strip() == "gone" or line.strip().isdigit():
                return line


async def rater(number: int, port: int, token: str, heard: Heard, stop: asyncio.Event) -> None:
    """Answer until told to stop, whatever becomes of the server meanwhile."""
    rng = random.Random(number)
    wire = Wire(port, token=token, address=f"127.0.1.{number % 250 + 1}")
    step = None
    while not stop.is_set():
        if step is None:
            reply = await _ask(wire, "GET", "/api/next")
            step = reply.json if reply and reply.status == 200 else None
            continue
        if step["step"] != "task":
            break
        step = await _answer(wire, step["id"], f"{number:04}-{rng.getrandbits(64):016x}", rng, heard, stop)
    wire.close()


async def _answer(
    wire: Wire, task: int, key: str, rng: random.Random, heard: Heard, stop: asyncio.Event
) -> dict[str, object] | None:
    """Send an answer until it is acknowledged; what comes next, or None where the rater has to ask."""
    side = rng.choice(["left", "right"])
    while not stop.is_set():
        reply = await _ask(
            wire, "POST", f"/api/tasks/{task}/answer", {"answers": {"overall": side}}, Idempotency_Key=key
        )
        if reply is not None and reply.status == 200:
            heard.acknowledged[key] = (task, side)
            return reply.json["next"]  # type: ignore[no-any-return]
        if reply is not None:
            heard.refused[f"{reply.status} {reply.json['error']}"] += 1
            return None
        if rng.random() < _GIVES_UP:
            break
        heard.retried += 1
    heard.given_up.add(key)
    return None


async def _ask(wire: Wire, method: str, path: str, record: object = None, **more: str) -> Reply | None:
    """The reply; None when the server is gone. Who is told to wait waits."""
    while True:
        try:
            reply = await wire.ask(method, path, record, **more)
        except OSError:
            await asyncio.sleep(0.05)
            return None
        if reply.status not in (429, 503):
            return reply
        await asyncio.sleep(float(reply.headers.get("retry-after", 1)))


@asynccontextmanager
async def at_work(port: int, tokens: list[str], heard: Heard) -> AsyncIterator[None]:
    """All raters, answering."""
    stop = asyncio.Event()
    working = [asyncio.create_task(rater(number, port, token, heard, stop)) for number, token in enumerate(tokens)]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*working)


async def kill_again_and_again(server: Server, tokens: list[str], kills: int, rng: random.Random) -> Heard:
    """Start the server, kill it while raters answer, `kills` times; end with one more kill."""
    heard = Heard()
    await server.start()
    async with at_work(server.port, tokens, heard):
        for _ in range(kills):
            await _until_answers_come(heard)
            await asyncio.sleep(rng.uniform(0, 0.5))
            server.kill()
            await server.start()
        await _until_answers_come(heard)
    server.kill()
    return heard


async def _until_answers_come(heard: Heard) -> None:
    before, deadline = len(heard.acknowledged), time.monotonic() + _STARTS_WITHIN
    while len(heard.acknowledged) < before + 10:
        if time.monotonic() > deadline:
            raise RuntimeError(f"no ten answers in {_STARTS_WITHIN:.0f} s; refused: {dict(heard.refused)}")
        await asyncio.sleep(0.02)


def count(url: str, heard: Heard, kills: int) -> Outcome:
    """Hold what the database has against what the raters heard."""
    table = tables.judgments
    with open_database(url) as database, database.snapshot() as connection:
        rows = connection.execute(select(table.c.key, table.c.task, table.c.payload)).all()
        closed = connection.scalars(select(tables.tasks.c.id).where(tables.tasks.c.answered_at.is_not(None))).all()
    keys = Counter(row.key for row in rows)
    stored = {row.key: (row.task, _side(json.loads(row.payload))) for row in rows}
    per_task = Counter(row.task for row in rows)
    once = [key for key, given in heard.acknowledged.items() if keys[key] == 1 and stored[key] == given]
    return Outcome(
        acknowledged=len(heard.acknowledged),
        once=len(once),
        lost=sum(key not in keys for key in heard.acknowledged),
        twice=sum(n > 1 for n in keys.values()) + sum(n > 1 for n in per_task.values()),
        wrong=sum(keys[key] == 1 and stored[key] != given for key, given in heard.acknowledged.items()),
        half=len(set(closed) ^ set(per_task)),
        unheard=sum(key in keys for key in heard.given_up - heard.acknowledged.keys()),
        retried=heard.retried,
        kills=kills,
        refused=dict(heard.refused),
    )


def _side(payload: dict[str, object]) -> str:
    return "left" if payload["outcome"] == payload["left"] else "right"


def run(url: str, folder: Path, *, raters: int, kills: int, seed: int) -> Outcome:
    """The whole experiment on an empty database."""
    make_study(folder)
    tokens = invite(folder, url, raters)
    server = Server(folder, url)
    try:
        killing = kill_again_and_again(server, tokens, kills, random.Random(seed))
        with ThreadPoolExecutor(1) as own:  # whoever calls may have a loop running
            heard = own.submit(asyncio.run, killing).result()
    finally:
        server.close()
    return count(url, heard, kills)


def main(arguments: list[str]) -> None:
    """One JSON line for each database."""
    kinds = arguments[:1] or ["sqlite", "postgresql"]
    raters, kills = (int(text) for text in arguments[1:3] or (RATERS, KILLS))
    for kind in kinds:
        with tempfile.TemporaryDirectory() as room:
            url = f"sqlite:///{room}/studio.db" if kind == "sqlite" else cluster(fsync=True).database()
            started = time.monotonic()
            found = asdict(run(url, Path(room) / "study", raters=raters, kills=kills, seed=os.getpid()))
        line = {"name": "studio_load", "database": kind, "raters": raters, "ours": found.pop("once")}
        line |= {"peer_name": "acknowledged answers", "peer": found["acknowledged"]}
        line |= {"ratio": line["ours"] / max(found.pop("acknowledged"), 1), "limit": 1.0, "unit": "answers"}
        print(json.dumps(line | found | {"seconds": round(time.monotonic() - started)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
