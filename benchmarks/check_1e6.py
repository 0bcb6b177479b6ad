"""Seconds to check the signal of a million prompts, four items and five raters each.

Ours: what `salon check STUDY --json` says it took to compute everything in its report, from the study in memory, the
whole command in a fresh process; the better of two runs. Reading and validating the study is measured apart. Peer:
scipy's kendalltau over the ten pairs of raters of as many prompts as fit in five seconds, multiplied up: it gives the
mean tau and nothing else of the report. Limit: the compiled kernels alone, from ranks to all four statistics.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

PROMPTS, ITEMS, RATERS = 1_000_000, 4, 5
PEER_SECONDS = 5.0
SALON = [sys.executable, "-c", "from salon.cli.main import run; run()"]


def make(folder: Path) -> float:
    """Simulate and save; a small study beside it warms the caches of compiled code."""
    from salon.collect import SimulateSettings, simulate_study
    from salon.store import save_study

    save_study(simulate_study(SimulateSettings(prompts=200)), folder / "small")
    return timed(lambda: save_study(simulate_study(SimulateSettings(prompts=PROMPTS, seed=7)), folder / "study"))


def load(folder: Path) -> float:
    """Read and validate."""
    from salon.store import open_study

    open_study(folder / "small")
    return timed(lambda: open_study(folder / "study"))


def limit(folder: Path) -> float:
    """The kernels alone, best of three."""
    import numpy as np

    from salon.stats.simulate import uniform_rankings

    ranks = uniform_rankings(PROMPTS, RATERS, ITEMS, rng=np.random.default_rng(7))
    statistics(ranks[:10])
    return min(timed(lambda: statistics(ranks)) for _ in range(3))


def statistics(ranks: object) -> tuple[float, ...]:
    """The four statistics of agreement."""
    from salon.stats import cells_votes, votes_rankings

    cells = cells_votes(votes_rankings(ranks), RATERS, ITEMS)
    return cells.median_T, cells.mean_tau, cells.mean_pmax, cells.cycle_rate


def peer(folder: Path) -> float:
    """kendalltau in a loop, multiplied up to all prompts."""
    import numpy as np
    from scipy.stats import kendalltau

    from salon.stats.simulate import uniform_rankings

    ranks = uniform_rankings(20_000, RATERS, ITEMS, rng=np.random.default_rng(7))
    pairs = list(combinations(range(RATERS), 2))
    kendalltau(ranks[0, 0], ranks[0, 1])
    done, start = 0, time.perf_counter()
    while done < len(ranks) and time.perf_counter() - start < PEER_SECONDS:
        prompt = ranks[done]
        float(np.mean([kendalltau(prompt[one], prompt[other]).statistic for one, other in pairs]))
        done += 1
    return (time.perf_counter() - start) * PROMPTS / done


def timed(action: Callable[[], object]) -> float:
    """Seconds that `action` takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def apart(what: str, folder: Path) -> tuple[float, float]:
    """Seconds and peak memory (GiB) of one of the above in a process of its own."""
    run = subprocess.run([sys.executable, "-m", "benchmarks.check_1e6", what, str(folder)], capture_output=True)
    if run.returncode:
        raise SystemExit(run.stderr.decode())
    seconds, peak = json.loads(run.stdout)
    return seconds, peak


def check(study: Path) -> dict[str, float]:
    """`salon check STUDY --json` in a fresh process: seconds it says, seconds in all, peak memory."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        process = subprocess.Popen([*SALON, "check", str(study), "--json"], stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        if status:
            raise SystemExit(f"salon check failed with status {status}")
        out.seek(0)
        report = json.load(out)
    cpu = usage.ru_utime + usage.ru_stime
    return {"compute": report["seconds"], "wall": wall, "cpu": cpu, "peak": usage.ru_maxrss / 2**20}


def main() -> None:
    """Print the one JSON line. This process stays small: a child's peak counts what its parent held at the fork."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made, made_peak = apart("make", folder)
        check(folder / "small")
        runs = [check(folder / "study") for _ in range(2)]
        loaded, _ = apart("load", folder)
        kernels, _ = apart("limit", folder)
        loop, _ = apart("peer", folder)
    best = min(runs, key=lambda run: run["compute"])
    line = {
        "name": "check_1e6",
        "ours": round(best["compute"], 2),
        "peer_name": "scipy.stats.kendalltau in a loop (extrapolated linearly from 5 s)",
        "peer": round(loop, 1),
        "ratio": round(loop / best["compute"], 1),
        "limit": round(kernels, 3),
        "limit_name": "the compiled kernels alone: votes, T, p_max and cycles from ranks in memory",
        "unit": "s",
        "peak_gib": round(max(run["peak"] for run in runs), 2),
        "load_seconds": round(loaded, 2),
        "wall_seconds": round(best["wall"], 2),
        "cpu_seconds": round(best["cpu"], 2),
        "simulate_and_save_seconds": round(made, 2),
        "simulate_peak_gib": round(made_peak, 2),
        "prompts": PROMPTS,
        "items": ITEMS,
        "raters": RATERS,
    }
    print(json.dumps(line))


def run(what: str, folder: Path) -> None:
    """Do one thing in this process and print its seconds and peak memory."""
    seconds = {"make": make, "load": load, "limit": limit, "peer": peer}[what](folder)
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]))


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2])) if len(sys.argv) == 3 else main()
