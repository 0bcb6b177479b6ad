"""Do work over many tasks, each exactly once in the results, wherever it runs and whoever dies.

    done = run_work(work, tasks, folder, EngineSettings(engine="pool"))
    table = results(work, folder)

Batches go to workers; what comes back is kept as a shard before the next is asked for. A batch whose worker died is
tried again; when it has cost `attempts` workers it is halved, so that in the end only the very task that kills is left
out, and named. The process itself may be killed too: the same call goes on with what is missing.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.engine.processes import WorkerDied, over_processes
from salon.engine.shards import Shards
from salon.engine.work import Done, EngineSettings, Lost, Row, Task, Work
from salon.errors import BadValue

Batch = tuple[Task, ...]
Over = Callable[[Iterable[Any]], Iterator[tuple[int, Any]]]


def run_work(
    work: Work,
    tasks: Iterable[Task],
    folder: Path | str,
    settings: EngineSettings | None = None,
    progress: Callable[[int], None] | None = None,
) -> Done:
    """Results of `work` for all `tasks`, as shards in `folder`; those that are there are not made again.

    `tasks` is read lazily. `progress` hears how many results each step added. What the work raises ends the run.
    """
    steps = each_batch(work, tasks, folder, settings, progress)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            done: Done = end.value
            return done


def each_batch(
    work: Work,
    tasks: Iterable[Task],
    folder: Path | str,
    settings: EngineSettings | None = None,
    progress: Callable[[int], None] | None = None,
) -> Generator[tuple[Batch, list[Row]], None, Done]:
    """As `run_work`, one batch with its results at a time, each in its shard already."""
    settings = settings or EngineSettings()
    run = _Run(Shards(Path(folder), work.signature, work.schema), settings, progress or (lambda count: None))
    batches: Iterable[Batch] = run.missing(tasks)
    with _crew(_Opened(work), settings) as over:
        yield from run.round(over, batches)
        while run.again:
            batches, run.again = run.again, []
            yield from run.round(over, batches)
    return Done(run.made, run.kept, run.deaths, tuple(run.lost))


def results(work: Work, folder: Path | str) -> pa.Table:
    """What `run_work` kept: the columns of the work beside `key`, one row a task, in the order of the keys."""
    return Shards(Path(folder), work.signature, work.schema).read()


class _Run:
    """The state of one `run_work`."""

    def __init__(self, shards: Shards, settings: EngineSettings, progress: Callable[[int], None]) -> None:
        self.shards, self.settings, self.progress = shards, settings, progress
        self.made = self.kept = self.deaths = 0
        self.lost: list[Lost] = []
        self.again: list[Batch] = []
        self._died: dict[tuple[str, ...], int] = {}

    def missing(self, tasks: Iterable[Task]) -> Iterator[Batch]:
        """Batches of the tasks without a result; BadValue for a key that comes twice."""
        there, seen = self.shards.keys(), set[str]()

        def fresh() -> Iterator[Task]:
            for task in tasks:
                if task.key in seen:
                    raise BadValue("each task needs a key of its own", found=f"two with {task.key!r}")
                seen.add(task.key)
                if task.key in there:
                    self.kept += 1
                    self.progress(1)
                else:
                    yield task

        rest = fresh()
        while batch := tuple(itertools.islice(rest, self.settings.batch)):
            yield batch

    def round(self, over: Over, batches: Iterable[Batch]) -> Iterator[tuple[Batch, list[Row]]]:
        """Give every batch to a worker once."""
        given: dict[int, Batch] = {}

        def values() -> Iterator[list[Any]]:
            for number, batch in enumerate(batches):
                given[number] = batch
                yield [task.value for task in batch]

        for number, outcome in over(values()):
            batch = given.pop(number)
            if isinstance(outcome, WorkerDied):
                self._mourn(batch, outcome)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                self.shards.write(batch, outcome)
                self.made += len(batch)
                self.progress(len(batch))
                yield batch, outcome

    def _mourn(self, batch: Batch, death: WorkerDied) -> None:
        """Try again; too often the same batch: its halves; a single task: lost."""
        self.deaths += 1
        keys = tuple(task.key for task in batch)
        died = self._died.pop(keys, 0) + 1
        if died < self.settings.attempts:
            self._died[keys] = died
            self.again.append(batch)
        elif len(batch) > 1:
            half = len(batch) // 2
            self.again += [batch[:half], batch[half:]]
        else:
            self.lost.append(Lost(batch[0].key, str(death.found)))
            self.progress(1)


class _Opened:
    """Work that is opened by the worker that does it, when it gets its first batch."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._do: Callable[[Sequence[Any]], list[Row]] | None = None

    def __call__(self, values: Sequence[Any]) -> list[Row]:
        if self._do is None:
            self._do = self.work.open()
        return self._do(values)

    def __reduce__(self) -> Any:
        return _Opened, (self.work,)


@contextmanager
def _crew(work: Callable[[Any], list[Row]], settings: EngineSettings) -> Iterator[Over]:
    """Who does the work, until the block ends."""
    if settings.engine == "ray":
        rays = importlib.import_module("salon.engine.on_ray")  # Ray only for those who ask for it
        with rays.ray_crew(work, workers=settings.workers, address=settings.address) as over:
            yield over
        return
    processes = 1 if settings.engine == "here" else settings.workers
    yield lambda values: over_processes(work, values, processes=processes)
