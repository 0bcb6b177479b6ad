"""How far exact nulls reach: seconds and peak memory of each shape, computed afresh in a fresh process after compiling.

python -m benchmarks.reach [items,raters ...]

The peer is the figure recorded for the first prototype of this method on a quiet machine, not rerun. The limit is what
a shape may take: 60 s (and 4 GiB). One core, processor time.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

RECORDED = {
    (5, 5): 0.010,
    (5, 7): 0.15,
    (5, 9): 2.1,
    (6, 5): 0.5,
    (6, 6): 12.0,
    (7, 4): 2.2,
    (4, 25): 7.5,
    (5, 11): None,
    (6, 7): None,
}
LIMIT = 60.0


def one(items: int, raters: int) -> None:
    """Measure one shape in this process and print its line."""
    from salon.stats.orbits import joint_law

    joint_law(items, min(raters, 4))  # compile, or load what was compiled
    joint_law(3, 25)
    start = time.process_time()
    joint = joint_law(items, raters)
    seconds = time.process_time() - start
    peer = RECORDED.get((items, raters))
    line = {
        "name": f"reach_{items}_{raters}",
        "ours": round(seconds, 4),
        "peer_name": "recorded figure of the first prototype",
        "peer": peer,
        "ratio": round(peer / seconds, 2) if peer else None,
        "limit": LIMIT,
        "unit": "s",
        "limit_name": "seconds a shape may take",
        "mebibytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "cells": len(joint),
    }
    print(json.dumps(line), flush=True)


def main(shapes: list[tuple[int, int]]) -> None:
    """Each shape in its own process, so that peak memory is its own."""
    if len(shapes) == 1:
        one(*shapes[0])
        return
    for items, raters in shapes:
        subprocess.run([sys.executable, "-m", "benchmarks.reach", f"{items},{raters}"], check=True)


if __name__ == "__main__":
    named = [tuple(map(int, shape.split(","))) for shape in sys.argv[1:]]
    main([(items, raters) for items, raters in named] or list(RECORDED))
