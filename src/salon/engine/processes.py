"""One function over many tasks in several processes: results as they finish, and no task lost without a word.

Drawing holds Python's lock, so threads do not help: a process for each core does. Each worker has a pipe of its own and
one task at a time; the next task is taken from the caller only when a worker is free. A worker that the system kills
costs its task an error and is replaced. Workers ignore Ctrl-C, their caller does not, and they end when it does.

A fresh worker imports for seconds, so those of a finished call rest for a while: the next call of the same function, in
the same folder and environment, takes them up again.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from threading import Lock
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar, cast

from salon.errors import BadValue, SalonError

Task = TypeVar("Task")
Result = TypeVar("Result")

JOIN_SECONDS = 3.0
"""Seconds a worker is given to end by itself."""
REUSE_SECONDS = 20.0
"""Seconds after which a resting worker is not taken up any more."""
EXIT_SECONDS = 3 * REUSE_SECONDS
"""Seconds after which a worker without a task ends by itself; later, so that none is on its way out when taken up."""


class WorkerDied(SalonError):
    """The process that worked on a task ended before it answered."""


def map_processes(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, processes: int | None = None
) -> Iterator[tuple[int, Result | Exception]]:
    """(index of the task, what `function` gave for it), in the order they finish.

    What a task raised comes as its result, with the traceback as a note. `function` is one that a fresh process can
    import; with one process everything runs here. By default there is one process for each core this one may use.
    """
    count = cores() if processes is None else processes
    if count < 1:
        raise BadValue("at least one process", found=count)
    if count == 1:
        return ((index, _attempt(function, task)) for index, task in enumerate(tasks))
    return _run_parallel(function, enumerate(tasks), count)


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Worker(NamedTuple):
    process: Any
    pipe: Connection


class _IdleWorkers:
    """Workers of the last call that are free, and for whom: they remember the environment they began in."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._workers: list[_Worker] = []
        self._of: Any = None
        self._since = 0.0

    def take(self, function: Callable[..., Any]) -> list[_Worker]:
        """Those that can go on with `function`; the others end."""
        with self._lock:
            idle, self._workers = self._workers, []
        fits = self._of == _worker_context(function) and time.monotonic() - self._since < REUSE_SECONDS
        fit = [worker for worker in idle if fits and worker.process.is_alive()]
        _end([worker for worker in idle if worker not in fit])
        return fit

    def add(self, function: Callable[..., Any], workers: list[_Worker]) -> None:
        """Let `workers` rest, in the place of any others; not those of an object, which may hold a large model."""
        if not isinstance(function, FunctionType):
            _end(workers)
            return
        for worker in workers:
            _send(worker, (False, None))
        with self._lock:
            before, self._workers = self._workers, workers
            self._of, self._since = _worker_context(function), time.monotonic()
        _end(before)


_idle_workers = _IdleWorkers()


def _worker_context(function: Callable[..., Any]) -> Any:
    """All of which must be equal for a worker to go on; a fork must not talk through its parent's pipes."""
    return function, os.getpid(), os.getcwd(), dict(os.environ)


def _run_parallel(
    function: Callable[..., Any], tasks: Iterator[tuple[int, Any]], count: int
) -> Iterator[tuple[int, Any]]:
    idle: list[_Worker] = _idle_workers.take(function)
    busy: dict[Connection, tuple[_Worker, int]] = {}
    try:
        for index, task in tasks:
            if idle:
                worker = idle.pop()
            else:
                context = get_context("spawn")
                ours, theirs = context.Pipe()
                process = context.Process(target=_work, args=(function, theirs), daemon=True)
                with hide_main():
                    process.start()
                theirs.close()
                worker = _Worker(process, ours)
            try:
                _send(worker, (True, task))
            except Exception as error:
                idle.append(worker)
                yield index, error
                continue
            busy[worker.pipe] = (worker, index)
            while len(busy) == count:
                yield from _finished(busy, idle)
        while busy:
            yield from _finished(busy, idle)
    except BaseException:
        for worker, _ in busy.values():
            worker.process.terminate()
        _end([*idle, *(worker for worker, _ in busy.values())])
        raise
    _idle_workers.add(function, idle)


@contextmanager
def hide_main() -> Iterator[None]:
    """Hide the caller's main module: a worker would run it again, and a script without a guard would start anew."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _send(worker: _Worker, message: tuple[bool, Any]) -> None:
    """Whether there is a task, and the task; without one it may rest.

    A worker that died while idle is met again, and reported, when its answer is awaited.
    """
    with suppress(ConnectionError):
        worker.pipe.send(message)


def _finished(busy: dict[Connection, tuple[_Worker, int]], idle: list[_Worker]) -> Iterator[tuple[int, Any]]:
    """Wait until some worker is done, and give what is there."""
    for pipe in cast("list[Connection]", wait(list(busy))):
        worker, index = busy.pop(pipe)
        try:
            good, answer = pipe.recv()
        except (EOFError, OSError):
            worker.pipe.close()
            worker.process.join(JOIN_SECONDS)
            code = worker.process.exitcode
            reason = f"exit code {code}" if code is None or code >= 0 else f"killed by {signal.Signals(-code).name}"
            yield (
                index,
                WorkerDied(
                    "a worker process ended before its task was done",
                    found=reason,
                    where=f"task {index}",
                    remedy="run it again; if memory ran out, with fewer processes",
                ),
            )
            continue
        idle.append(worker)
        yield index, answer if good else unpack_error(*answer)


def _end(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.pipe.close()  # which is a worker's sign to end
    for worker in workers:
        worker.process.join(JOIN_SECONDS)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _work(function: Callable[..., Any], pipe: Connection) -> None:
    """A worker's life: a task in, an answer out, until the pipe closes or it rested too long."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    there = True
    with suppress(EOFError, ConnectionError):
        while there or pipe.poll(EXIT_SECONDS):
            there, task = pipe.recv()
            if not there:
                continue
            answer = _attempt(function, task)
            try:
                pipe.send((False, pack_error(answer)) if isinstance(answer, Exception) else (True, answer))
            except (TypeError, AttributeError, ValueError) as error:  # what pickle says of what it cannot send
                pipe.send((False, pack_error(TypeError(f"{type(answer).__name__} cannot be sent back: {error}"))))


def _attempt(function: Callable[[Task], Result], task: Task) -> Result | Exception:
    try:
        return function(task)
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))
        return error


def pack_error(error: Exception) -> tuple[type[Exception], tuple[Any, ...], dict[str, Any]]:
    """An exception taken apart: pickle would call its class again, with arguments it may not take."""
    return type(error), error.args, dict(error.__dict__)


def unpack_error(kind: type[Exception], args: tuple[Any, ...], attributes: dict[str, Any]) -> Exception:
    """The exception again."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error
