"""One function over many tasks on Ray: the same as `over_processes`, on a machine or a cluster.

Each worker is an actor with one task at a time and one waiting. An actor that dies costs its tasks a WorkerDied and is
replaced; which of the two killed it cannot be known, so both are reported as dead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from salon.engine.processes import WorkerDied, cores
from salon.errors import BadValue, MissingExtra

try:
    import ray
    from ray.exceptions import RayActorError, RayTaskError
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("ray") from None

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


_QUIET = {"log_to_driver": False, "configure_logging": False}
_QUEUED = 2
"""Tasks at an actor: one under way, one that is there already when it is done."""


MapTasks = Callable[[Iterable[Any]], Iterator[tuple[int, Any]]]


@contextmanager
def ray_crew(
    function: Callable[[Any], Any], *, workers: int | None = None, address: str | None = None
) -> Iterator[MapTasks]:
    """Gives a function over tasks: (index of the task, what `function` gave for it, or what it raised, or WorkerDied),
    in the order they finish. Workers live, with what they have loaded, until the block ends.
    """
    with open_cluster(address):
        count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        crew = _RayWorkers(function, count)
        yield lambda tasks: crew.over(enumerate(tasks))


@contextmanager
def open_cluster(address: str | None) -> Iterator[None]:
    """A cluster that is there, or one on this machine for as long as it is needed."""
    if ray.is_initialized():
        yield
        return
    try:
        if address is None:
            paths = {"env_vars": {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}}  # as we import
            ray.init(num_cpus=cores(), include_dashboard=False, runtime_env=paths, **_QUIET)
        else:
            ray.init(address=address, **_QUIET)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise BadValue(
            "a Ray cluster is needed",
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            where=address or "this machine",
            remedy="see --address; ray status tells whether one runs",
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


class _RayWorkers:
    """Actors, and what each has been given."""

    def __init__(self, function: Callable[[Any], Any], count: int) -> None:
        self._function = ray.put(ray.cloudpickle.dumps(function))
        self._count = count
        self._actors: list[Any] = []
        self._given: dict[Any, tuple[int, Any]] = {}

    def over(self, tasks: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        for index, task in tasks:
            while len(self._given) >= self._count * _QUEUED:
                yield self._next()
            actor = self._freest()
            self._given[actor.do.remote(task)] = (index, actor)
        while self._given:
            yield self._next()

    def _freest(self) -> Any:
        if len(self._actors) < self._count:
            self._actors.append(_Actor.remote(self._function))  # type: ignore[attr-defined]  # Ray makes it an actor
            return self._actors[-1]
        load = {id(actor): 0 for actor in self._actors}
        for _, actor in self._given.values():
            load[id(actor)] = load.get(id(actor), 0) + 1
        return min(self._actors, key=lambda actor: load[id(actor)])

    def _next(self) -> tuple[int, Any]:
        (finished,), _ = ray.wait(list(self._given), num_returns=1)
        index, actor = self._given.pop(finished)
        try:
            return index, ray.get(finished)
        except RayActorError as error:
            self._actors = [survivor for survivor in self._actors if survivor is not actor]
            return index, WorkerDied(
                "a worker must live until its task is done",
                found=(str(error).splitlines() or ["it died"])[0],
                where=f"task {index}",
                remedy="run it again; if memory ran out, with fewer workers",
            )
        except RayTaskError as error:
            return index, error.cause if isinstance(error.cause, Exception) else error


@ray.remote(max_restarts=0, max_task_retries=0)
class _Actor:
    """A worker: holds the function, and whatever it loads, for as long as it lives."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        self._function: Callable[[Any], Any] | None = None

    def do(self, task: Any) -> Any:
        if self._function is None:  # not in __init__: what cannot be unpacked is an error to show, not a death
            self._function = ray.cloudpickle.loads(self._packed)
        return self._function(task)
