"""Is every result there exactly once, whoever dies? A million scorings on Ray and in a pool, workers killed at random.

python -m prove.engine [tasks]

Writes docs/methods/engine.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from prove._page import table
from prove._scorings import Scorings, scores
from salon.engine import EngineSettings, WorkSummary, WorkTask, read_results, run_work

OUT = Path(__file__).parents[1] / "docs/methods/engine.md"
TASKS = 1_000_000
BATCH = 5_000


def attempt(engine: str, tasks: int) -> tuple[WorkSummary, float, bool]:
    """One run, and whether its results are each there once and right."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "marks").mkdir()
        work = Scorings(home / "marks")
        settings = EngineSettings(engine=engine, workers=2, batch=BATCH)  # type: ignore[arg-type]
        started = time.perf_counter()
        done = run_work(work, (WorkTask(f"{n:09d}", n) for n in range(tasks)), home / "out", settings)
        seconds = time.perf_counter() - started
        found = read_results(work, home / "out")
        right = found.column("key").to_pylist() == [f"{n:09d}" for n in range(tasks)]
        same = np.array_equal(found.column("score").to_numpy(), scores(np.arange(tasks)))
        return done, seconds, right and same


def main() -> None:
    """Run both engines and write the page."""
    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else TASKS
    rows = []
    for engine in ("pool", "ray"):
        done, seconds, right = attempt(engine, tasks)
        counts = [f"{count:,}" for count in (tasks, done.computed, done.deaths, len(done.lost))]
        rows.append((engine, *counts, "yes" if right else "NO", f"{seconds:.0f}"))
        print(*rows[-1], flush=True)
    text = PAGE.format(table=table(("engine", "tasks", "made", "deaths", "lost", "each once and right", "s"), rows))
    OUT.write_text(text, encoding="utf-8")
    if any(row[5] == "NO" for row in rows):
        sys.exit(1)


PAGE = """# The engine: work done exactly once

Written by `python -m prove.engine`; do not edit.

Scorers and judges that run in a process of ours go through one function, `salon.engine.work.run_work`: tasks with keys
in, Parquet shards out. It runs in this process (`--engine here`), in several (`pool`) or on Ray (`ray`; `--address`
names a cluster that is there already).

- A shard is named by the keys of its batch and appears whole. A batch that was finished twice is there once.
- A worker that dies costs its batch an attempt. After three it is halved, and halved again, until the one task that
  kills is alone; that one is left out, and named with its reason.
- The run itself may be killed: the same call reads which keys are there and makes the rest.
- What the work raises (a missing file, a wrong setting) is no death: it ends the run, and what is done stays.
- Results of other work or other settings in the same folder are refused.

## A fleet of vLLM servers

A VLM of your own that is too large or too slow for one process is best served, not spread: start `vllm serve MODEL` on
as many machines as there are, put one address in front of them (any HTTP load balancer; vLLM's own data-parallel mode
has one built in), and give that address to `salon judge run --endpoint`. The client finds the concurrency the fleet can
bear by itself, every answer is stored before it is used, and a server that dies costs a retry. `--engine ray` is for
networks that run inside Salon's own workers: scorers, and `--transformers`.

## Evidence

A synthetic scorer; in every twentieth batch its worker is killed with SIGKILL. "Each once and right": the keys of the
results are exactly those of the tasks, in order, and every value equals the one computed apart.

{table}

Two workers; the seconds are of a machine with two cores, other work beside it, and mean little: a task here is a sine.
Ray needs some seconds to start. Shards are not flushed one by one: after a power cut (not after a kill) a torn shard is
refused with its name; removing it makes its tasks again.
"""


if __name__ == "__main__":
    main()
