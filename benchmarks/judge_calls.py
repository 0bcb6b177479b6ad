"""Questions per second of a judge behind the chat protocol, against a local server that echoes at once or after 20 ms.

Ours: everything a run has (keys by content, pictures read and written as data URLs, claims, budget, pace, answers
flushed to the disk before they are delivered, replies with the options' chances). Peer: a bare asyncio loop over the
same client library with a semaphore of the same width, its requests ready made, which keeps nothing. The limit is what
the peer's requests take on one connection after the other, without a loop over many. `stored` is a second run: nothing
is sent. Where inspect_ai is there, its runner is asked the same questions without pictures. Processor seconds of this
process, all its threads; the server is another.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from PIL import Image

from benchmarks._inspect_runner import inspect_seconds
from salon.calls import CallStore, Limits
from salon.judge import Conversation, OpenAIChat, Sight

WIDTH = 32
ROUNDS = 7
ITEMS = 40
SIZES = [(600, 0.0, 0), (600, 0.02, 0), (300, 0.02, 256)]
"""Questions, seconds the server takes, pixels of a picture's side (two pictures each; 0 for none)."""
INSPECT = importlib.util.find_spec("inspect_ai") is not None
"""Whether the runner of the field is there to be raced (`pip install inspect-ai openai`)."""


def serve(port: Any) -> None:
    """An HTTP/1.1 server that answers every request alike, as the chat protocol does, after so many seconds."""
    likely = [{"token": token, "logprob": -1.0} for token in ("A", "B")]
    content = [{"token": "A", "logprob": -1.0, "top_logprobs": likely}]
    choice = {"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}
    said = {"model": "echo", "choices": [choice | {"logprobs": {"content": content}}]}
    said |= {"id": "1", "object": "chat.completion", "created": 0}
    usage = {"prompt_tokens": 900, "completion_tokens": 1, "total_tokens": 901}
    body = json.dumps(said | {"usage": usage}).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            try:
                told = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(told.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]))
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            await asyncio.sleep(0.02 if b"/slow/" in told else 0)
            writer.write(head + body)
            await writer.drain()
        writer.close()

    async def forever() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


def questions(folder: Path, count: int, side: int) -> list[Conversation]:
    """Different texts, about pairs of the same few pictures."""
    rng = np.random.default_rng(0)
    sights = []
    for number in range(ITEMS if side else 0):
        path = folder / f"{side}-{number}.jpg"
        Image.fromarray(rng.integers(0, 255, (side, side, 3), dtype=np.uint8)).save(path)
        sights.append(Sight(item=path.stem, path=path))
    shown = [(sights[n % ITEMS], sights[(7 * n + 1) % ITEMS]) if side else () for n in range(count)]
    return [
        Conversation(parts=(f"Which of the two is better, asked for time {n}?", *shown[n]), options=("A", "B"))
        for n in range(count)
    ]


def chat(url: str, store: CallStore) -> OpenAIChat:
    """The judge."""
    return OpenAIChat("j", model="echo", base_url=url, store=store, limits=Limits(concurrency=WIDTH, start=WIDTH))


def ours(url: str, path: Path, asked: list[Conversation]) -> float:
    """Seconds through the judge."""
    with CallStore(path) as store, chat(url, store) as vlm:
        list(vlm.reply([]))  # the thread and its connections are there
        started = time.process_time()
        done = sum(reply.text == "A" for _, reply in vlm.reply(asked))
        seconds = time.process_time() - started
    assert done == len(asked)
    return seconds


def ready_made(url: str, path: Path, asked: list[Conversation]) -> list[dict[str, Any]]:
    """What ours would send, for the peer to send."""
    with CallStore(path) as store, chat(url, store) as vlm:
        return [vlm.endpoint.body(one, vlm.endpoint.messages(one), vlm.dialect) for one in asked]


async def peer(url: str, bodies: list[dict[str, Any]], width: int) -> float:
    """Seconds of plain httpx2 with a semaphore."""
    gate = asyncio.Semaphore(width)
    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=width)) as client:

        async def one(body: dict[str, Any]) -> None:
            async with gate:
                found = (await client.post(f"{url}/chat/completions", json=body)).json()
                assert found["choices"][0]["message"]["content"] == "A"

        started = time.process_time()
        await asyncio.gather(*(one(body) for body in bodies))
        return time.process_time() - started


def in_turns(*runs: Callable[[], float]) -> list[float]:
    """The mean time of each, taken in turns so that all see the same machine, however busy it is."""
    times = [[run() for run in runs] for _ in range(ROUNDS)]
    return [sum(column) / ROUNDS for column in zip(*times)]


def _inspect(url: str, asked: list[Conversation], folder: Path) -> float:
    texts = [str(one.parts[0]) for one in asked]
    inspect_seconds(url, texts[:64], WIDTH, folder)  # what it loads at first use
    return inspect_seconds(url, texts, WIDTH, folder)


def race(address: str, count: int, takes: float, side: int) -> None:
    """Print the line of one size."""
    url = f"{address}/slow/v1" if takes else f"{address}/v1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked = questions(folder, count, side)
        bodies = ready_made(url, folder / "made.sqlite", asked)
        places = (folder / f"{number}.sqlite" for number in range(100))
        kept = next(places)
        ours(url, kept, asked)
        mine, stored, theirs, limit = in_turns(
            lambda: ours(url, next(places), asked),
            lambda: ours(url, kept, asked),
            lambda: asyncio.run(peer(url, bodies, WIDTH)),
            lambda: asyncio.run(peer(url, bodies[: count // 10], 1)) * 10,
        )
        inspect = _inspect(url, asked, folder) if INSPECT and not side else None
    line = {
        "name": "judge_calls",
        "questions": count,
        "server_ms": takes * 1000,
        "kilobytes_sent": round(len(json.dumps(bodies[0])) / 1000, 1),
        "ours": round(mine, 3),
        "peer_name": "httpx2 with a semaphore, requests ready made, nothing kept",
        "peer": round(theirs, 3),
        "ratio": round(theirs / mine, 2),
        "limit": round(limit, 3),
        "unit": "processor s",
        "per_second": {"ours": round(count / mine), "peer": round(count / theirs), "stored": round(count / stored)},
        "inspect_ai": inspect and {"seconds": round(inspect, 3), "ratio": round(inspect / mine, 2)},
    }
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    base = f"http://127.0.0.1:{here.recv()}"
    for numbers in SIZES[: int(sys.argv[1]) if len(sys.argv) > 1 else None]:
        race(base, *numbers)
    server.terminate()
