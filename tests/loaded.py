"""Processes that find libraries loaded: forked from one that imports each library once for a whole test run.

    done = run_loaded("print(pyarrow.__version__)", load=["pyarrow"])       # as subprocess.run([sys.executable, ...])
    with start_loaded(Path("script.py"), "argument") as process: ...         # as subprocess.Popen

To import takes seconds, what such a process does for a test often less. It can be killed at any moment as any other.
What is loaded saw the environment of the test run; what the process itself reads is the environment of its caller.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from waiting import LONGEST

WIDTH = 12
"""Characters of a number that is told."""


class Started:
    """A running process: what of `subprocess.Popen` the tests need."""

    def __init__(self, pid: int, status: int, stdout: int, stderr: int) -> None:
        self.pid, self._status, self.returncode = pid, status, None
        self.stdout, self.stderr = os.fdopen(stdout), os.fdopen(stderr)

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float = LONGEST) -> int:
        """How it ended, as soon as it did."""
        if self._ended(timeout) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """At once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = LONGEST) -> tuple[str, str]:
        """All it still says until its end."""
        said: dict[str, str] = {}
        reading = [
            threading.Thread(target=lambda name=name: said.update({name: getattr(self, name).read()}), daemon=True)
            for name in ("stdout", "stderr")
        ]
        for one in reading:
            one.start()
        for one in reading:
            one.join(timeout)
        if any(one.is_alive() for one in reading):
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        self.wait()
        self.stdout.close()
        self.stderr.close()
        return said["stdout"], said["stderr"]

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()

    def _ended(self, seconds: float) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            self.returncode = int(os.read(self._status, WIDTH))
            os.close(self._status)
        return self.returncode


def start_loaded(
    script: str | Path, *arguments: object, load: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> Started:
    """Run a file, or lines of Python, in a process of its own; the modules in `load` are there already."""
    environment = dict(os.environ if env is None else env)
    told = {"script": str(script), "is_file": isinstance(script, Path), "arguments": [str(one) for one in arguments],
            "load": list(load), "env": environment, "folder": os.getcwd()}  # fmt: skip
    ours, theirs = zip(*(os.pipe() for _ in range(3)))
    message = json.dumps(told).encode()
    server = _server()
    socket.send_fds(server, [len(message).to_bytes(8, "big")], list(theirs))
    server.sendall(message)
    for one in theirs:
        os.close(one)
    heard = os.read(ours[0], WIDTH)
    if not heard:
        raise RuntimeError("the process from which others are forked has ended")
    return Started(int(heard), *ours)


def run_loaded(
    script: str | Path,
    *arguments: object,
    load: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: float = LONGEST,
) -> subprocess.CompletedProcess[str]:
    """As `start_loaded`, to its end."""
    with start_loaded(script, *arguments, load=load, env=env) as process:
        out, err = process.communicate(timeout)
        return subprocess.CompletedProcess([str(script), *map(str, arguments)], process.wait(), out, err)


def start_salon(*words: object, env: Mapping[str, str] | None = None, load: Sequence[str] = ()) -> Started:
    """The command `salon` with these words."""
    return start_loaded("from salon.cli.main import run; run()", *words, load=["salon.cli.main", *load], env=env)


@cache
def _server() -> socket.socket:
    """The way to the process from which all are forked; it ends with this one."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, __file__, str(theirs.fileno())]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL)
    theirs.close()

    @atexit.register
    def _end() -> None:
        process.kill()
        process.wait()
        ours.close()

    return ours


# -- over there --------------------------------------------------------------------------------------------------------


def _serve(connection: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait
    os.fsync = os.fstat  # as in conftest.py
    while True:
        size, ends, _, _ = socket.recv_fds(connection, 8, 3)
        if not size:
            return
        told = json.loads(_whole(connection, int.from_bytes(size, "big")))
        for name in told["load"]:
            importlib.import_module(name)
        if os.fork() == 0:
            connection.close()
            _mind(told, *ends)
        for one in ends:
            os.close(one)


def _whole(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        found += connection.recv(size - len(found))
    return found


def _mind(told: dict[str, Any], status: int, out: int, err: int) -> None:
    """Start it, say its number, wait for its end, and say that."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.close(status)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.close(out)
        os.close(err)
        os._exit(_run(told))
    os.close(out)
    os.close(err)
    os.write(status, f"{child:{WIDTH}}".encode())
    _, ended = os.waitpid(child, 0)
    os.write(status, f"{os.waitstatus_to_exitcode(ended):{WIDTH}}".encode())
    os._exit(0)


def _run(told: dict[str, Any]) -> int:
    """As a fresh Python would: the exit code."""
    code: Any = 0
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, errors="backslashreplace", buffering=1)  # noqa: SIM115
    try:
        os.environ.clear()
        os.environ.update(told["env"])
        os.chdir(told["folder"])
        script = told["script"]
        sys.argv = [script if told["is_file"] else "-c", *told["arguments"]]
        sys.path[:0] = [one for one in told["env"].get("PYTHONPATH", "").split(os.pathsep) if one not in sys.path]
        if told["is_file"]:
            sys.path.insert(0, str(Path(script).parent))
            runpy.run_path(script, run_name="__main__")
        else:
            exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
