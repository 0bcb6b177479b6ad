"""What the benchmarks of comparisons share: the comparisons, the clock, the memory and the printed line.

Sizes are comparisons / items: 1e4/50, 1e6/1,000, 1e7/1,000 and 1e7/100,000; an argument keeps those of at most so
many comparisons (`python -m benchmarks.bt_1e7 1e6`). All who race get the same arrays, converted to the form they want
before the clock starts. A time is the fewest seconds of processor time (one core, so that a busy machine changes it
little) of up to three runs, one where a run takes long, after a warm-up that compiles ours. A peer that would take more
than about a minute is left out and the line says why.
"""

from __future__ import annotations

import ctypes
import json
import math
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

SIZES = ((10_000, 50), (1_000_000, 1_000), (10_000_000, 1_000), (10_000_000, 100_000))
RATERS = 500
Run = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Drawn:
    """Comparisons drawn from planted scores; outcome 0 a is better, 1 b is better, 2 tie."""

    a: np.ndarray
    b: np.ndarray
    outcome: np.ndarray
    rater: np.ndarray
    items: int

    @cached_property
    def names(self) -> tuple[list[str], list[str]]:
        """The items of both sides as text, in the order of their numbers when sorted."""
        labels = np.array([f"item-{number:06}" for number in range(self.items)])
        return labels[self.a].tolist(), labels[self.b].tolist()

    @property
    def input_mib(self) -> float:
        return (self.a.nbytes + self.b.nbytes + self.outcome.nbytes) / 2**20


def draw(comparisons: int, items: int, *, ties: float = 0.0, seed: int = 7) -> Drawn:
    """Random pairs; scores uniform on 3 logits, so that every item both wins and loses at every size."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(-1.5, 1.5, items)
    a = rng.integers(0, items, comparisons, dtype=np.int32)
    b = ((a + rng.integers(1, items, comparisons, dtype=np.int32)) % items).astype(np.int32)
    outcome = (rng.random(comparisons) > 1 / (1 + np.exp(truth[b] - truth[a]))).astype(np.int8)
    outcome[rng.random(comparisons) < ties] = 2
    return Drawn(a, b, outcome, rng.integers(0, RATERS, comparisons, dtype=np.int32), items)


@dataclass(frozen=True)
class Peer:
    """Another tool, and the largest size at which it is worth waiting for."""

    name: str
    prepare: Callable[[Drawn], Run]
    comparisons: int = 10_000_000
    items: int = 1_000
    why: str = "keeps a table of items x items"


def asked_sizes() -> list[tuple[int, int]]:
    """The sizes to run: all, or those of at most the number of comparisons in the first argument."""
    most = float(sys.argv[1]) if len(sys.argv) > 1 else math.inf
    return [size for size in SIZES if size[0] <= most]


def best_of(function: Callable[[], object], repeats: int = 3, patience: float = 6.0) -> tuple[object, float]:
    """The value and the fewest seconds; no further run once `patience` is used up."""
    seconds: list[float] = []
    while len(seconds) < repeats and sum(seconds) < patience:
        start = time.process_time()
        value = function()
        seconds.append(time.process_time() - start)
    return value, min(seconds)


def extra_mib(function: Callable[[], object]) -> float:
    """The most memory a run adds to what the process already holds, measured in a fork of it."""
    ctypes.CDLL(None).malloc_trim(0)  # memory that is free but still held would hide what the run needs
    reader, writer = multiprocessing.Pipe(duplex=False)

    def measure() -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        function()
        writer.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

    child = multiprocessing.get_context("fork").Process(target=measure)
    child.start()
    kibibytes = reader.recv()
    child.join()
    return kibibytes / 1024


def race_peers(peers: list[Peer], drawn: Drawn) -> tuple[dict[str, float | str], dict[str, np.ndarray]]:
    """Seconds (or why it was left out) and the scores of each peer."""
    seconds: dict[str, float | str] = {}
    scores: dict[str, np.ndarray] = {}
    for peer in peers:
        if len(drawn.a) > peer.comparisons or drawn.items > peer.items:
            seconds[peer.name] = f"skipped: {peer.why}"
            continue
        try:
            run = peer.prepare(drawn)
        except ImportError as error:
            seconds[peer.name] = f"skipped: {error}"
            continue
        found, best = best_of(run)
        seconds[peer.name], scores[peer.name] = round(best, 5), np.asarray(found)
    return seconds, scores


def centred_distance(q: np.ndarray, exact: np.ndarray) -> float:
    """The largest difference once both are centred, to three digits."""
    return float(f"{np.abs((q - q.mean()) - (exact - exact.mean())).max():.3g}")


def headline(seconds: dict[str, float | str], start: str) -> tuple[str | None, float | None]:
    """The faster of evalica's two plain calls, or the fastest of all where it was left out.

    Giving evalica an index made beforehand is faster than either and stands among the peers.
    """
    ran = {name: s for name, s in seconds.items() if isinstance(s, float)}
    plain = [name for form in ("integers", "strings") if (name := f"{start} ({form})") in ran]
    name = min(plain or ran, key=ran.__getitem__, default=None)
    return name, None if name is None else ran[name]


def print_line(name: str, drawn: Drawn, ours: float, peer: tuple[str | None, float | None], **rest: object) -> None:
    """One JSON line; `rest` holds limit, limit_name and whatever else is worth printing."""
    peer_name, seconds = peer
    line = {
        "name": name,
        "comparisons": len(drawn.a),
        "items": drawn.items,
        "ours": round(ours, 6),
        "peer_name": peer_name,
        "peer": seconds,
        "ratio": None if seconds is None else round(seconds / ours, 1),
        "unit": "s",
        "input_mib": round(drawn.input_mib, 1),
        **rest,
    }
    print(json.dumps(line), flush=True)


def pass_limit(drawn: Drawn) -> dict[str, object]:
    """The least any method on counts must do: one pass that bins the comparisons."""
    n = drawn.items
    if n <= 5_000:
        pairs, what = lambda: np.bincount(drawn.a.astype(np.int64) * n + drawn.b, minlength=n * n), "a * items + b"
    else:
        pairs, what = lambda: np.bincount(drawn.a, minlength=n), "a (a table of all pairs would not fit)"
    return {"limit": round(best_of(pairs)[1], 6), "limit_name": f"numpy.bincount over {what}"}
