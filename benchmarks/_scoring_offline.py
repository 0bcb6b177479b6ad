"""The same scoring model without a service: pictures from memory, decoded by threads, looked at in batches.

    python -m benchmarks._scoring_offline MODEL PICTURES      one line "BATCH COUNT" in, one JSON line out

While a batch is scored the next one is decoded, as whoever writes an offline run with care would do it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from salon.engine import cores
from salon.select import LoadOrder, ScoringModel
from salon.select.service.model import DecodedPicture, load_scoring
from salon.store import read_picture
from salon.study import Prompt


def prompt_of(number: int) -> str:
    """Every picture has a prompt of its own."""
    return f"A poster for the opening night of concert number {number}, with the date in large letters"


def opened(data: bytes, number: int) -> DecodedPicture:
    """What the service does with a picture before it is scored: hash, decode, prompt."""
    picture = read_picture(data)
    prompt = Prompt(id="request", text=prompt_of(number))
    return DecodedPicture(picture.image, hashlib.sha256(data).hexdigest(), prompt, picture.width, picture.height)


def run(model: ScoringModel, pictures: Sequence[bytes], batch: int, first: int, threads: ThreadPoolExecutor) -> None:
    """Score all pictures; decoding is one batch ahead."""

    def decode(start: int) -> list[Future[DecodedPicture]]:
        part = pictures[start : start + batch]
        return [threads.submit(opened, data, first + start + place) for place, data in enumerate(part)]

    ahead = decode(0)
    for start in range(0, len(pictures), batch):
        ready, ahead = [one.result() for one in ahead], decode(start + batch)
        model.thread.submit(model.look, ready).result()


def main(folder: str, pictures: str) -> None:
    """Load once, then run as often as told; idle threads do not spin, as in the service."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    model = load_scoring(LoadOrder(models=(folder,)))
    known = [path.read_bytes() for path in sorted(Path(pictures).glob("*.png"))]
    print("ready", flush=True)
    first = 1_000_000
    with ThreadPoolExecutor(cores()) as threads:
        for line in sys.stdin:
            batch, count = map(int, line.split())
            some = [known[number % len(known)] for number in range(count)]
            wall, cpu = time.perf_counter(), time.process_time()
            run(model, some, batch, first, threads)
            first += count
            print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
