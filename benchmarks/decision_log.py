"""Decisions kept by 64 threads at once, each on the disk before its thread goes on.

Peer: the same lines, each written and flushed on its own. Limit: one thread that writes without flushing. Ratios of one
run on one disk; how long a flush takes is the disk's.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from salon.select import Decision, DecisionLog, DecisionSettings

THREADS, DECISIONS = 64, 2000
ONE = Decision(
    endpoint="pick", owner="shop", model="taste@1f2e3d4c5b6a", chosen=1, why="highest bound of 4", prompt="Jazz",
    pictures=tuple(hashlib.sha256(bytes([n])).hexdigest() for n in range(4)),
    values=dict.fromkeys(("mood", "typography", "color"), (0.1, 0.4, -0.2, 0.3)),
)  # fmt: skip


def kept(folder: Path, threads: int, *, sync: bool) -> tuple[float, int]:
    """Seconds to keep all decisions, and flushes."""
    log = DecisionLog(DecisionSettings(folder=folder, sync=sync))
    with ThreadPoolExecutor(threads) as pool:
        start = time.perf_counter()
        list(pool.map(lambda number: log.record(ONE), range(DECISIONS)))
        seconds = time.perf_counter() - start
    log.close()
    return seconds, log._log.flushes


def one_by_one(folder: Path) -> float:
    """Seconds to write and flush the same lines on their own."""
    line = json.dumps(ONE.record()).encode() + b"\n"
    with open(folder / "plain.jsonl", "ab") as file:
        start = time.perf_counter()
        for _ in range(DECISIONS):
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        return time.perf_counter() - start


def main() -> None:
    """Print the line."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:  # a temporary folder may be in memory
        folder = Path(place)
        ours, flushes = kept(folder / "ours", THREADS, sync=True)
        peer = one_by_one(folder)
        limit, _ = kept(folder / "limit", 1, sync=False)
    line = {
        "name": "decision_log", "ours": round(ours, 4), "peer_name": "write and fsync, line by line",
        "peer": round(peer, 4), "ratio": round(peer / ours, 2), "limit": round(limit, 4),
        "limit_name": "one thread, no fsync", "unit": f"s for {DECISIONS:,} decisions", "flushes": flushes,
    }  # fmt: skip
    print(json.dumps(line))


if __name__ == "__main__":
    main()
