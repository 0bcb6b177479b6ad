"""Pictures per second of `salon serve-scores` beside an offline run of the same model on the same pictures.

    python -m benchmarks scoring_service
    python -m benchmarks.scoring_service clients 1 4 16 64     how throughput grows with clients
    python -m benchmarks.scoring_service batch 1 4 16 64       ... and with the size of a batch

Heads for nine criteria over the default encoder, drawn posters of 1024 x 1448 as PNG, every picture with a prompt of
its own; the service's memory of answers is off. Ours: clients who each send one picture as a form and wait for the
answer, one kept-alive connection each, all in one process (bodies are made beforehand; it only writes and reads, and
takes `client_cpu_ms` of the two cores for a picture). Peer: no service, pictures from memory, the next batch decoded
while one is scored. Both are running processes of their own and work in turns. `ratio` is pictures per second, ours
over the peer's, median of rounds; the aim is 0.9. `cpu_ratio` is the peer's processor time for a picture over ours: on
a busy machine the steadier figure, which leaves the clients out. The peer does nothing but decode and score, so it is
the limit, 1. `2 replicas` are two processes on the two cores. `a killed replica`: one of them is ended by kill -9 while
64 clients ask; every request is answered, and the ratio is to rounds without a death. `one by one` is a single client,
who waits for each answer, against batches of one offline.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks._rater_http import Wire
from benchmarks._scoring_offline import prompt_of
from benchmarks.encode import draw
from salon.models import HeadShape, ModelCard, ModelCriterion, PreferenceHeads, save_heads
from salon.models.embedded_encoder import EmbeddedEncoder
from salon.study import Signature

ROUNDS, CLIENTS, BATCH, COUNT = 5, 64, 16, 96
CRITERIA = tuple(f"taste/{name}" for name in ("overall", "typography", "layout", "color", "mood", "craft", "text",
                                              "image", "idea"))  # fmt: skip
_EDGE = "salonbenchmark"
_OPEN = {"session-rate": 1e6, "session-burst": 10**6, "address-rate": 1e6, "address-burst": 10**6}


def save_model(folder: Path) -> None:
    """Heads over the default encoder that nobody trained: what they say does not matter here."""
    encoder = EmbeddedEncoder()
    shape = HeadShape(form="scalar", parts=encoder.parts, text_width=encoder.text_width, criteria=CRITERIA, axes=128)
    card = ModelCard(
        kind="heads", name="bench", criteria=tuple(ModelCriterion(id=id, name=id) for id in CRITERIA),
        backbone=encoder.signature, backbone_name=encoder.name, form="scalar", is_logit=True, study="none", data="0",
        signature=Signature(method="benchmark"),
    )  # fmt: skip
    save_heads(folder, PreferenceHeads(shape), card, readme="a benchmark's")


def form(data: bytes, number: int) -> bytes:
    """The body of one request; bytes after the picture's end make it one that was never sent before."""
    head = f'--{_EDGE}\r\nContent-Disposition: form-data; name="images"; filename="{number}.png"\r\n\r\n'
    tail = (
        f'\r\n--{_EDGE}\r\nContent-Disposition: form-data; name="prompt"\r\n\r\n{prompt_of(number)}\r\n--{_EDGE}--\r\n'
    )
    return head.encode() + data + f"{number:012}".encode() + tail.encode()


@dataclass
class Round:
    """What a round gave: pictures per second, processor milliseconds a picture, seconds of each reply."""

    per_second: float
    cpu_ms: float
    replies: list[float] = field(default_factory=list)
    client_cpu_ms: float = 0.0


class Service:
    """`salon serve-scores` in a process of its own."""

    def __init__(self, model: Path, room: Path, *, batch: int = BATCH, replicas: int = 0) -> None:
        flags = [f"--{name}={value}" for name, value in _OPEN.items()]
        command = ["serve-scores", "--model", str(model), "--no-token", "--port", "0", "--json", "--cache", "0",
                   "--deadline", "600", "--batch", str(batch), "--replicas", str(replicas),
                   "--folder", str(room / "tokens"), *flags]  # fmt: skip
        code = "import sys; from salon.cli.main import run; run(sys.argv[1:])"
        self.process = subprocess.Popen([sys.executable, "-c", code, *command], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        while not told.rstrip().endswith("}"):
            told += self.process.stdout.readline()
        self.port = int(json.loads(told)["address"].rpartition(":")[2])

    @property
    def replicas(self) -> list[int]:
        """Process ids of the replicas."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/models") as answer:
            return [one["pid"] for one in json.load(answer)["models"][0]["replicas"] if one["state"] == "ready"]

    @property
    def cpu(self) -> float:
        """Processor seconds so far, all threads, with replicas."""
        ticks = 0
        for pid in (self.process.pid, *self.replicas):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    @property
    def peak(self) -> int:
        """Megabytes of memory at the most, with replicas."""
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in (self.process.pid, *self.replicas)]
        return sum(int(text.partition("VmHWM:")[2].split()[0]) for text in texts) >> 10

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


class Offline:
    """The same model without a service."""

    def __init__(self, model: Path, pictures: Path) -> None:
        command = [sys.executable, "-m", "benchmarks._scoring_offline", str(model), str(pictures)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._said()

    def _said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def round(self, batch: int, count: int) -> Round:
        """One run."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{batch} {count}\n")
        wall, cpu = json.loads(self._said())
        return Round(count / wall, 1e3 * cpu / count)

    def close(self) -> None:
        """End it."""
        self.process.communicate()


async def asked(service: Service, bodies: list[bytes], clients: int) -> Round:
    """All bodies sent by so many clients, each of whom waits for its answer."""
    waiting, replies = iter(bodies), []

    async def client() -> None:
        wire = Wire(service.port, content=f"multipart/form-data; boundary={_EDGE}")
        for body in waiting:
            began = time.perf_counter()
            reply = await wire.ask("POST", "/v1/score", body)
            assert reply.status == 200, reply.body
            replies.append(time.perf_counter() - began)
        wire.close()

    wall, cpu, own = time.perf_counter(), service.cpu, time.process_time()
    await asyncio.gather(*(client() for _ in range(clients)))
    wall, cpu = time.perf_counter() - wall, service.cpu - cpu
    own = time.process_time() - own
    return Round(len(bodies) / wall, 1e3 * cpu / len(bodies), replies, 1e3 * own / len(bodies))


class Bench:
    """Model, pictures, and requests that were never sent before."""

    def __init__(self, room: Path) -> None:
        self.room, self.model, self.pictures = room, room / "model", room / "pictures"
        save_model(self.model)
        self.pictures.mkdir()
        draw(self.pictures)
        self._known = [path.read_bytes() for path in sorted(self.pictures.glob("*.png"))]
        self._numbers = itertools.count()

    def bodies(self, count: int) -> list[bytes]:
        """Bodies of `count` requests."""
        return [
            form(self._known[number % len(self._known)], number) for number in itertools.islice(self._numbers, count)
        ]

    @contextmanager
    def service(self, batch: int = BATCH, replicas: int = 0) -> Iterator[Service]:
        """A running service."""
        made = Service(self.model, self.room, batch=batch, replicas=replicas)
        try:
            asyncio.run(asked(made, self.bodies(8), 4))
            yield made
        finally:
            made.close()

    @contextmanager
    def offline(self) -> Iterator[Offline]:
        """A running peer."""
        made = Offline(self.model, self.pictures)
        try:
            made.round(BATCH, 8)
            yield made
        finally:
            made.close()


def _median(values: list[float]) -> float:
    return float(np.median(values))


def line(name: str, ours: list[Round], peer: list[Round], peer_name: str, **more: object) -> None:
    """One JSON line."""
    replies = [1e3 * one for part in ours for one in part.replies]
    facts = {
        "name": f"scoring_service {name}", "peer_name": peer_name,
        "ours": round(_median([one.per_second for one in ours]), 2),
        "peer": round(_median([one.per_second for one in peer]), 2),
        "ratio": round(_median([a.per_second / b.per_second for a, b in zip(ours, peer)]), 3),
        "limit": 1.0, "unit": "pictures per second",
        "cpu_ratio": round(_median([b.cpu_ms / a.cpu_ms for a, b in zip(ours, peer)]), 3),
        "cpu_ms": round(_median([one.cpu_ms for one in ours]), 1),
        "peer_cpu_ms": round(_median([one.cpu_ms for one in peer]), 1),
        "client_cpu_ms": round(_median([one.client_cpu_ms for one in ours]), 1),
        "p50_ms": round(float(np.percentile(replies, 50))), "p99_ms": round(float(np.percentile(replies, 99))),
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    print(json.dumps(facts | more), flush=True)


def race(bench: Bench, clients: int, rounds: int, count: int, batch: int = BATCH, replicas: int = 0) -> None:
    """Service and peer in turns."""
    with bench.offline() as offline, bench.service(batch, replicas) as service:
        ours, peer = [], []
        for _ in range(rounds):
            peer.append(offline.round(min(batch, clients), count))
            ours.append(asyncio.run(asked(service, bench.bodies(count), clients)))
        name = "one by one" if clients == 1 else f"{clients} clients"
        name += f", {replicas} replicas" if replicas else ""
        told = f"offline, batches of {min(batch, clients)}"
        line(name, ours, peer, told, clients=clients, batch=batch, rounds=rounds, peak_mb=service.peak)


def killed(bench: Bench, rounds: int, count: int) -> None:
    """Two replicas, of which one is killed while a round is under way, beside rounds without a death."""
    with bench.service(replicas=2) as service:
        ours, peer = [], []
        for _ in range(rounds):
            peer.append(asyncio.run(asked(service, bench.bodies(count), CLIENTS)))
            victim = service.replicas[0]
            death = threading.Timer(0.3 * count / peer[-1].per_second, os.kill, (victim, signal.SIGKILL))
            death.start()
            ours.append(asyncio.run(asked(service, bench.bodies(count), CLIENTS)))
            death.join()
            while victim in service.replicas or len(service.replicas) < 2:
                time.sleep(0.1)
        line("a killed replica", ours, peer, "the same without a death", clients=CLIENTS, rounds=rounds, replicas=2)


def main(arguments: list[str]) -> None:
    """64 clients and one; or a sweep."""
    kind, sizes = (arguments[0], [int(text) for text in arguments[1:]]) if arguments else ("", [])
    with tempfile.TemporaryDirectory() as room:
        bench = Bench(Path(room))
        if kind == "clients":
            for clients in sizes:
                race(bench, clients, 3, max(16, min(64, 4 * clients)))
        elif kind == "batch":
            for batch in sizes:
                race(bench, CLIENTS, 3, COUNT, batch)
        else:
            race(bench, CLIENTS, ROUNDS, COUNT)
            race(bench, 8, 3, COUNT)
            race(bench, 1, 3, 24)
            race(bench, CLIENTS, 3, COUNT, replicas=2)
            killed(bench, 3, COUNT)


if __name__ == "__main__":
    main(sys.argv[1:])
