"""Processes that find their libraries loaded: forked from one that has imported them once for a whole test run.

    done = run_loaded("print(pyarrow.__version__)")                 # as subprocess.run([sys.executable, ...])
    with start_salon("generate", "prompts.txt") as process: ...      # as subprocess.Popen

To import takes seconds, what such a process does for a test often less. It can be killed at any moment as any other.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path

from waiting import LONGEST

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "salon.bench.bundle",
        "salon.cli.bench_posters_run",
        "salon.cli.bench_boards",
        "salon.cli.distill",
        "salon.cli.generate",
        "salon.cli.judge",
        "salon.cli.studio",
        "salon.collect.studio.figures",
        "salon.stats.agreement",
        "salon.web.app",
        "salon.web.server",
        "salon.store.database.database",
        "cohp_example",
        "refine_example",
        "suite_example",
    ]
)


class Started:
    """A running process: what of `subprocess.Popen` the tests need."""

    def __init__(self, script: str | Path, arguments: list[str], env: Mapping[str, str] | None) -> None:
        told, tells = zip(FORKS.Pipe(duplex=False), FORKS.Pipe(duplex=False))
        environment = dict(os.environ if env is None else env)
        self._process = FORKS.Process(target=_run, args=(script, arguments, environment, os.getcwd(), *tells))
        self._process.start()
        for end in tells:
            end.close()
        self.stdout, self.stderr = (os.fdopen(os.dup(end.fileno()), encoding="utf-8") for end in told)
        self.kill, self.pid = self._process.kill, self._process.pid

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.exitcode

    returncode = property(poll)

    def wait(self, timeout: float = LONGEST) -> int:
        """How it ended, as soon as it did."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return self._process.exitcode

    def communicate(self, timeout: float = LONGEST) -> tuple[str, str]:
        """All it still says until its end."""
        said: list[str] = []
        aside = threading.Thread(target=lambda: said.append(self.stderr.read()), daemon=True)
        aside.start()
        late = threading.Timer(timeout, self.kill)
        late.start()
        out = self.stdout.read()
        aside.join()
        late.cancel()
        self.wait()
        self.stdout.close()
        self.stderr.close()
        return out, *said

    def send_signal(self, number: int) -> None:
        """While it runs."""
        os.kill(self.pid, number)

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()


def start_loaded(script: str | Path, *arguments: object, env: Mapping[str, str] | None = None) -> Started:
    """Run a file, or lines of Python, in a process of its own."""
    return Started(script, [str(one) for one in arguments], env)


def run_loaded(script: str | Path, *arguments: object, timeout: float = LONGEST) -> subprocess.CompletedProcess[str]:
    """As `start_loaded`, to its end; killed when that does not come."""
    with start_loaded(script, *arguments) as process:
        out, err = process.communicate(timeout)
        return subprocess.CompletedProcess([str(script), *map(str, arguments)], process.wait(), out, err)


def start_salon(*words: object, env: Mapping[str, str] | None = None) -> Started:
    """The command `salon` with these words."""
    return start_loaded("from salon.cli.main import run; run()", *words, env=env)


def _run(
    script: str | Path, arguments: list[str], env: dict[str, str], folder: str, out: Connection, err: Connection
) -> None:
    """Over there, as a fresh Python would."""
    for end, number in ((out, 1), (err, 2)):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, "utf-8", closefd=False) for number in (1, 2))
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.path[:0] = [one for one in env.get("PYTHONPATH", "").split(os.pathsep) if one and one not in sys.path]
    sys.argv = [str(script) if isinstance(script, Path) else "-c", *arguments]
    try:
        if isinstance(script, Path):
            sys.path.insert(0, str(script.parent))
            runpy.run_path(str(script), run_name="__main__")
        else:
            exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})
    finally:
        atexit._run_exitfuncs()
