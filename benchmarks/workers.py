"""Several workers on one PostgreSQL: what kills leave behind, and how many answers a second they take.

    python -m benchmarks workers                           2, 4, 8 workers: kills first, then throughput
    python -m benchmarks.workers kills 4 200 20 3          workers, raters, kills of workers, of the database
    python -m benchmarks.workers throughput 1 2 4 8        answers a second, for each number of workers

`kills`: 200 raters answer over HTTP as fast as they are let; workers are killed with SIGKILL at random moments, and so
is the database, which recovers from its log. Whoever hears nothing sends the same answer again under the same key; one
in four gives up instead. Afterwards the database is counted: `ours` acknowledged answers that are there exactly once
and as they were given, `peer` all acknowledged answers; `lost`, `twice`, `wrong` and `half` must be 0. `spread` is how
many more raters one question was dealt to than another, `most_dealt` how many at most, and `tallies_differ` how many
tallies are not what a new count of all answers gives.

`throughput`: `ours` answers a second of 200 raters who never pause; `peer` rows a second of a bare loop that inserts
one row and commits, on as many connections as there are workers, in the same run and on the same server. `cpu_ms` are
processor milliseconds of all workers for an answer, `database_ms` those of PostgreSQL, `raters_ms` those of the script
that plays the raters: on two cores it takes its share.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
from sqlalchemy import func, select

from benchmarks._load_study import invite, make_study
from benchmarks._rater_http import Wire
from benchmarks.studio_load import Heard, Outcome, at_work, count
from salon.collect import open_studio
from salon.store.database import tables
from tests.postgres import Cluster, cluster

RATERS, KILLS, CRASHES, SECONDS = 200, 20, 3, 12.0
_WITHIN = 120.0
_SERVE = "from salon.cli.main import run; run()"


@dataclass(frozen=True)
class WorkersOutcome(Outcome):
    """The count after kills of workers and of the database."""

    workers: int
    crashes: int
    dealt: int
    most_dealt: int
    raters_each: int
    spread: int
    tallies_differ: int


class Service:
    """`salon serve --workers N` in a process of its own."""

    def __init__(self, folder: Path, url: str, workers: int) -> None:
        self.workers = workers
        self._log = open(folder.parent / "server.log", "ab")  # noqa: SIM115 - closed with the service
        command = [sys.executable, "-c", _SERVE, "serve", str(folder), "--db", url, "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--workers", str(workers), "--json"], stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        lines = []
        while "}" not in (line := self.process.stdout.readline()):  # type: ignore[union-attr]  # it is a pipe
            lines.append(line)
            if not line:
                raise RuntimeError(f"the studio did not open: {Path(self._log.name).read_text()[-2000:]}")
        self.port = int(json.loads("".join([*lines, line]))["address"].rpartition(":")[2])

    async def wait(self) -> None:
        """Until it answers."""
        wire, ends = Wire(self.port), time.monotonic() + _WITHIN
        while time.monotonic() < ends:
            with suppress(OSError):
                if (await wire.ask("GET", "/healthz")).status == 200 and len(self.pids) == self.workers:
                    wire.close()
                    return
            await asyncio.sleep(0.05)
        raise RuntimeError(f"the studio did not open: {Path(self._log.name).read_text()[-2000:]}")

    @property
    def pids(self) -> list[int]:
        """The workers at work."""
        return [self.process.pid] if self.workers == 1 else working_pids(self.process.pid)

    def close(self) -> int:
        """Tell it to stop; how it ended."""
        self.process.terminate()
        self.process.communicate(timeout=60)
        self._log.close()
        return self.process.returncode


def working_pids(supervisor: int) -> list[int]:
    """The grandchildren of a supervisor: its workers are forked by a server process of its own."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return sorted(pid for pid, parent in parents.items() if parents.get(parent) == supervisor)


# -- kills -------------------------------------------------------------------------------------------------------------


def run(folder: Path, *, workers: int, raters: int, kills: int, crashes: int, seed: int) -> WorkersOutcome:
    """The whole experiment on a server of its own."""
    server = cluster(fsync=True)
    url = server.database()
    make_study(folder, stop="fixed")
    tokens = invite(folder, url, raters)
    service = Service(folder, url, workers)
    try:
        killing = _kill_again_and_again(service, server, tokens, kills, crashes, random.Random(seed))
        with ThreadPoolExecutor(1) as own:  # whoever calls may have a loop running
            heard = own.submit(asyncio.run, killing).result()
    finally:
        assert service.close() == 0
    return _count(folder, url, heard, workers, kills, crashes)


async def _kill_again_and_again(
    service: Service, server: Cluster, tokens: list[str], kills: int, crashes: int, rng: random.Random
) -> Heard:
    heard = Heard()
    await service.wait()
    orders = ["worker"] * kills + ["database"] * crashes
    rng.shuffle(orders)
    async with at_work(service.port, tokens, heard):
        for order in orders:
            await _until_answers_come(heard)
            await asyncio.sleep(rng.uniform(0, 0.5))
            if order == "database":
                await asyncio.to_thread(server.crash)
            elif pids := service.pids:
                os.kill(rng.choice(pids), signal.SIGKILL)
        await _until_answers_come(heard)
    return heard


async def _until_answers_come(heard: Heard) -> None:
    before, ends = len(heard.acknowledged), time.monotonic() + _WITHIN
    while len(heard.acknowledged) < before + 10:
        if time.monotonic() > ends:
            raise RuntimeError(f"no ten answers in {_WITHIN:.0f} s; refused: {dict(heard.refused)}")
        await asyncio.sleep(0.02)


def _count(folder: Path, url: str, heard: Heard, workers: int, kills: int, crashes: int) -> WorkersOutcome:
    outcome = count(url, heard, kills)
    with open_studio(folder, url) as studio:
        (run,) = studio.plan.runs["raters"]
        database, tallied = studio.database, studio.tallied
        before = {tally.key: (tally.answers, set(tally.pending)) for tally in database.changed_tallies(0)[0]}
        with database.writing() as connection:
            connection.execute(tables.shared_state.update().values(value="other"))
        database.sync_tallies(tallied.group_of, tallied.name)
        after = {tally.key: (tally.answers, set(tally.pending)) for tally in database.changed_tallies(0)[0]}
        with database.reading() as connection:
            query = select(tables.tasks.c.about, func.count()).group_by(tables.tasks.c.about)
            dealt = dict(connection.execute(query).all())  # type: ignore[arg-type]  # rows of two
        times = [dealt.get(key, 0) for key in run.keys]
        differ = sum(before.get(key) != after.get(key) for key in before.keys() | after.keys())
        limits = {"dealt": sum(times), "most_dealt": max(times), "spread": max(times) - min(times)}
        facts = limits | {"raters_each": run.phase.stop.raters_each, "tallies_differ": differ}
    return WorkersOutcome(**asdict(outcome), workers=workers, crashes=crashes, **facts)


# -- throughput --------------------------------------------------------------------------------------------------------


def throughput(workers: int, raters: int, seconds: float) -> dict[str, object]:
    """Answers a second, beside a bare insert loop."""
    server = cluster(fsync=True)
    with tempfile.TemporaryDirectory() as room:
        folder, url = Path(room) / "study", server.database()
        make_study(folder, stop="fixed")
        tokens = invite(folder, url, raters)
        service = Service(folder, url, workers)
        try:
            with ThreadPoolExecutor(1) as own:
                facts = own.submit(asyncio.run, _measure(service, tokens, seconds)).result()
        finally:
            service.close()
        peer = bare_inserts(url, workers, seconds / 2)
    return facts | {"peer": round(peer), "ratio": round(float(facts["ours"]) / peer, 3)}  # type: ignore[arg-type]


async def _measure(service: Service, tokens: list[str], seconds: float) -> dict[str, object]:
    heard = Heard()
    await service.wait()
    async with at_work(service.port, tokens, heard):
        await _until_answers_come(heard)
        await asyncio.sleep(2)  # everybody has connected
        pids = service.pids
        before, started = len(heard.acknowledged), time.perf_counter()
        cpu, database, own = sum(map(_cpu, pids)), _postgres_cpu(), time.process_time()
        await asyncio.sleep(seconds)
        answers, elapsed = len(heard.acknowledged) - before, time.perf_counter() - started
        spent = (sum(map(_cpu, pids)) - cpu, _postgres_cpu() - database, time.process_time() - own)
    each = [round(1000 * part / max(answers, 1), 2) for part in spent]
    facts = {"ours": round(answers / elapsed, 1), "refused": dict(heard.refused)}
    return facts | dict(zip(("cpu_ms", "database_ms", "raters_ms"), each))


def _cpu(pid: int) -> float:
    """Processor seconds so far."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _postgres_cpu() -> float:
    """Processor seconds of all processes of PostgreSQL on the machine that live now."""
    total = 0.0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if (entry / "comm").read_text().strip() == "postgres":
                    total += _cpu(int(entry.name))
    return total


def bare_inserts(url: str, connections: int, seconds: float) -> float:
    """Rows a second that so many connections insert and commit, one at a time."""
    address = url.replace("+psycopg", "")
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bare (id serial PRIMARY KEY, payload text)")
    counts = [0] * connections
    ends = time.perf_counter() + seconds

    def work(number: int) -> None:
        with psycopg.connect(address) as connection:
            while time.perf_counter() < ends:
                connection.execute("INSERT INTO bare (payload) VALUES (%s)", (json.dumps({"answers": "left"}),))
                connection.commit()
                counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


# -- both --------------------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> None:
    """One JSON line for each measurement."""
    what, *numbers = arguments or ["all"]
    given = [int(number) for number in numbers]
    if what in ("all", "kills"):
        workers, raters, kills, crashes = (given + [0, RATERS, KILLS, CRASHES][len(given) :])[:4]
        for number in [workers] if workers else [2, 4, 8]:
            with tempfile.TemporaryDirectory() as room:
                started = time.monotonic()
                experiment = {"workers": number, "raters": raters, "kills": kills, "crashes": crashes}
                found = asdict(run(Path(room) / "study", **experiment, seed=number))
            line = {"name": "workers kills", "ours": found.pop("once"), "peer_name": "acknowledged answers"}
            line |= {"peer": found["acknowledged"], "ratio": line["ours"] / max(found.pop("acknowledged"), 1)}
            line |= {"limit": 1.0, "unit": "answers", "raters": raters}
            print(json.dumps(line | found | {"seconds": round(time.monotonic() - started)}), flush=True)
    if what in ("all", "throughput"):
        for number in given or [1, 2, 4, 8]:
            facts = throughput(number, RATERS, SECONDS)
            line = {"name": "workers throughput", "workers": number, "peer_name": "a bare insert loop"}
            line |= {"limit": "two cores", "unit": "answers a second", "load": round(os.getloadavg()[0], 1)}
            print(json.dumps(line | facts), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
