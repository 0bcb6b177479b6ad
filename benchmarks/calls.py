"""Calls per second through the client, against a local server that echoes at once or after 20 ms.

Ours: everything a real run has (keys, claims, budget, pace, answers flushed to the disk before they are delivered).
Peer: plain httpx2 with a semaphore of the same width, which keeps nothing. The limit is the same loop without HTTP: the
two writes per call that ours owes to SQLite (`synchronous=FULL`), in the batches that as many callers would give.
`stored` is a second run over the same calls: nothing is sent. Processor seconds of this process, all its threads; the
server is another. `per_second` is therefore what one core can do, whatever the server takes.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from salon.calls import Call, CallAnswer, CallStore, Client, Limits, Service
from salon.calls.store import StoreWriter

WIDTH = 32
ROUNDS = 3
SIZES = [(2000, 0.0, 200), (2000, 0.02, 200), (200, 0.02, 1_000_000)]
"""Calls, seconds the server takes, bytes of an answer."""


def serve(port: Any) -> None:
    """An HTTP/1.1 server that answers `{"takes": s, "bytes": n}` after s seconds with n bytes of JSON."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            asked = json.loads(await reader.readexactly(length))
            if asked["takes"]:
                await asyncio.sleep(asked["takes"])
            body = b'{"x":"' + b"x" * asked["bytes"] + b'"}'
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
            writer.write(head + body)
            await writer.drain()
        writer.close()

    async def forever() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


def bodies(count: int, takes: float, size: int) -> list[dict[str, Any]]:
    """What is asked, every time something else."""
    return [{"number": number, "takes": takes, "bytes": size} for number in range(count)]


def ours(url: str, path: Path, asked: list[dict[str, Any]]) -> float:
    """Seconds through the client."""
    service = Service(url, limits=Limits(concurrency=WIDTH, start=WIDTH))
    with CallStore(path) as store, Client(service, store) as client:
        list(client.each([]))  # the thread and its connections are there
        started = time.process_time()
        done = sum(1 for _ in client.each(Call(url=url, body=body) for body in asked))
        seconds = time.process_time() - started
    assert done == len(asked)
    return seconds


async def peer(url: str, asked: list[dict[str, Any]]) -> float:
    """Seconds of plain httpx2 with a semaphore."""
    gate = asyncio.Semaphore(WIDTH)
    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=WIDTH)) as client:

        async def one(body: dict[str, Any]) -> None:
            async with gate:
                (await client.post(url, json=body)).json()

        started = time.process_time()
        await asyncio.gather(*(one(body) for body in asked))
        return time.process_time() - started


async def writes(path: Path, count: int, size: int) -> float:
    """Seconds of the two writes that every call owes to the store."""
    body = b"x" * size
    with CallStore(path) as store:
        ledger = StoreWriter(store)
        gate = asyncio.Semaphore(WIDTH)

        async def one(number: int) -> None:
            key = f"{number:064d}"
            async with gate:
                await ledger(store.claim, key)
                await ledger(store.keep, CallAnswer(key, 200, {}, body, 0.0, 1, ""), "url")

        started = time.process_time()
        await asyncio.gather(*(one(number) for number in range(count)))
        seconds = time.process_time() - started
        ledger.close()
        return seconds


def best_of_each(*runs: Callable[[], float]) -> list[float]:
    """The shortest time of each, taken in turns so that all see the same machine."""
    times = [[run() for run in runs] for _ in range(ROUNDS)]
    return [min(column) for column in zip(*times)]


def race(url: str, count: int, takes: float, size: int) -> None:
    """Print the line of one size."""
    asked = bodies(count, takes, size)
    with tempfile.TemporaryDirectory() as folder:
        places = (Path(folder) / f"{number}.sqlite" for number in range(100))
        kept = next(places)
        ours(url, kept, asked)
        mine, stored, theirs, limit = best_of_each(
            lambda: ours(url, next(places), asked),
            lambda: ours(url, kept, asked),
            lambda: asyncio.run(peer(url, asked)),
            lambda: asyncio.run(writes(next(places), count, size)),
        )
    line = {
        "name": "calls",
        "calls": count,
        "server_ms": takes * 1000,
        "bytes": size,
        "ours": round(mine, 3),
        "peer_name": "httpx2 with a semaphore, nothing kept",
        "peer": round(theirs, 3),
        "ratio": round(theirs / mine, 2),
        "limit": round(limit, 3),
        "unit": "processor s",
        "per_second": {"ours": round(count / mine), "peer": round(count / theirs), "stored": round(count / stored)},
        "sqlite_ms_per_call": round(1000 * limit / count, 3),
    }
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    address = f"http://127.0.0.1:{here.recv()}/"
    for numbers in SIZES[: int(sys.argv[1]) if len(sys.argv) > 1 else None]:
        race(address, *numbers)
    server.terminate()
