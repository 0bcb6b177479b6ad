"""Work over many tasks, each exactly once in the results, wherever it runs and whichever worker dies.

    summary = run_work(work, tasks, folder, EngineSettings(engine="pool"))
    table = read_results(work, folder)

Batches go to workers; each result is stored as a Parquet shard before the next batch is requested. A batch whose worker
died is tried again. After `attempts` deaths it is halved, so in the end only the task that kills its worker is left
out, and named. The process itself may be killed too: the same call continues with what is missing.

A shard is named by the keys of its tasks and appears whole or not at all. If two workers finish the same batch, they
write the same file, so its rows exist once.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from salon.engine.processes import WorkerDied, map_processes
from salon.errors import BadFile, BadValue
from salon.store import put_file
from salon.study import Noun

Row = dict[str, Any]


class WorkTask(NamedTuple):
    """One thing to be worked on. Its key says what it is: tasks with the same key have the same result."""

    key: str
    value: Any


class Work(Protocol):
    """Something done to many tasks. It travels to other processes, so it must be possible to pickle it."""

    signature: str
    """What would have to be equal for the same task to have the same result."""
    schema: pa.Schema
    """Columns of a result, without the task's key."""

    def open(self) -> Callable[[Sequence[Any]], list[Row]]:
        """Load what the work needs, once in each worker; then results for a batch of values, in their order."""
        ...


class EngineSettings(Noun):
    """Where work runs."""

    engine: Literal["here", "pool", "ray"] = Field(
        "here", description="Where the work runs: in this process, in several processes, or on Ray."
    )
    workers: int | None = Field(None, ge=1, description="Workers of a pool or on Ray; one for each core when left out.")
    address: str | None = Field(None, description="Address of a Ray cluster; one on this machine when left out.")
    batch: int = Field(32, ge=1, description="Tasks given to a worker at once, and rows of a shard.")
    attempts: int = Field(3, ge=1, description="Deaths of workers that a batch survives before it is divided.")


@dataclass(frozen=True)
class LostTask:
    """A task that took its worker down each time it was tried alone."""

    key: str
    reason: str


@dataclass(frozen=True)
class WorkSummary:
    """What a run did."""

    computed: int
    """Results computed now."""
    reused: int
    """Results that were there already."""
    deaths: int
    """Workers that ended before their batch was done."""
    lost: tuple[LostTask, ...] = ()


# -- running -----------------------------------------------------------------------------------------------------------

Batch = tuple[WorkTask, ...]
MapTasks = Callable[[Iterable[Any]], Iterator[tuple[int, Any]]]


def run_work(
    work: Work,
    tasks: Iterable[WorkTask],
    folder: Path | str,
    settings: EngineSettings | None = None,
    progress: Callable[[int], None] | None = None,
) -> WorkSummary:
    """Results of `work` for all `tasks`, as shards in `folder`; those that are there are not made again.

    `tasks` is read lazily. `progress` is called with the number of results that each step added. What the work raises
    ends the run.
    """
    steps = run_batches(work, tasks, folder, settings, progress)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            summary: WorkSummary = end.value
            return summary


def run_batches(
    work: Work,
    tasks: Iterable[WorkTask],
    folder: Path | str,
    settings: EngineSettings | None = None,
    progress: Callable[[int], None] | None = None,
) -> Generator[tuple[Batch, list[Row]], None, WorkSummary]:
    """As `run_work`, one batch with its results at a time, each in its shard already."""
    settings = settings or EngineSettings()
    run = _WorkRun(Shards(Path(folder), work.signature, work.schema), settings, progress or (lambda count: None))
    batches: Iterable[Batch] = run.missing(tasks)
    with _open_workers(_LazyWork(work), settings) as over:
        yield from run.round(over, batches)
        while run.again:
            batches, run.again = run.again, []
            yield from run.round(over, batches)
    return WorkSummary(run.computed, run.reused, run.deaths, tuple(run.lost))


def read_results(work: Work, folder: Path | str) -> pa.Table:
    """What `run_work` kept: the columns of the work beside `key`, one row a task, in the order of the keys."""
    return Shards(Path(folder), work.signature, work.schema).read()


class _WorkRun:
    """The state of one `run_work`."""

    def __init__(self, shards: Shards, settings: EngineSettings, progress: Callable[[int], None]) -> None:
        self.shards, self.settings, self.progress = shards, settings, progress
        self.computed = self.reused = self.deaths = 0
        self.lost: list[LostTask] = []
        self.again: list[Batch] = []
        self._deaths: dict[tuple[str, ...], int] = {}

    def missing(self, tasks: Iterable[WorkTask]) -> Iterator[Batch]:
        """Batches of the tasks without a result; BadValue for a key that comes twice."""
        there, keys = self.shards.keys(), set[str]()

        def fresh() -> Iterator[WorkTask]:
            for task in tasks:
                if task.key in keys:
                    raise BadValue("each task needs a key of its own", found=f"two with {task.key!r}")
                keys.add(task.key)
                if task.key in there:
                    self.reused += 1
                    self.progress(1)
                else:
                    yield task

        rest = fresh()
        while batch := tuple(itertools.islice(rest, self.settings.batch)):
            yield batch

    def round(self, over: MapTasks, batches: Iterable[Batch]) -> Iterator[tuple[Batch, list[Row]]]:
        """Give every batch to a worker once."""
        in_progress: dict[int, Batch] = {}

        def values() -> Iterator[list[Any]]:
            for number, batch in enumerate(batches):
                in_progress[number] = batch
                yield [task.value for task in batch]

        for number, outcome in over(values()):
            batch = in_progress.pop(number)
            if isinstance(outcome, WorkerDied):
                self._retry_or_lose(batch, outcome)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                self.shards.write(batch, outcome)
                self.computed += len(batch)
                self.progress(len(batch))
                yield batch, outcome

    def _retry_or_lose(self, batch: Batch, death: WorkerDied) -> None:
        """Try again; too often the same batch: its halves; a single task: lost."""
        self.deaths += 1
        keys = tuple(task.key for task in batch)
        died = self._deaths.pop(keys, 0) + 1
        if died < self.settings.attempts:
            self._deaths[keys] = died
            self.again.append(batch)
        elif len(batch) > 1:
            half = len(batch) // 2
            self.again += [batch[:half], batch[half:]]
        else:
            self.lost.append(LostTask(batch[0].key, str(death.found)))
            self.progress(1)


class _LazyWork:
    """Work that is opened by the worker that does it, when it gets its first batch."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._do: Callable[[Sequence[Any]], list[Row]] | None = None

    def __call__(self, values: Sequence[Any]) -> list[Row]:
        if self._do is None:
            self._do = self.work.open()
        return self._do(values)

    def __reduce__(self) -> Any:
        return _LazyWork, (self.work,)


@contextmanager
def _open_workers(work: Callable[[Any], list[Row]], settings: EngineSettings) -> Iterator[MapTasks]:
    """Who does the work, until the block ends."""
    if settings.engine == "ray":
        from salon.engine import ray_workers as rays  # Ray only for those who ask for it

        with rays.ray_crew(work, workers=settings.workers, address=settings.address) as over:
            yield over
        return
    processes = 1 if settings.engine == "here" else settings.workers
    yield lambda values: map_processes(work, values, processes=processes)


# -- shards ------------------------------------------------------------------------------------------------------------

KEY_COLUMN = "key"
_SIGNATURE = b"salon.work"
_PARTS = "part-*.parquet"


class Shards:
    """The results of one work in a folder of its own."""

    def __init__(self, folder: Path, signature: str, schema: pa.Schema) -> None:
        self.folder = folder
        fields = [pa.field(KEY_COLUMN, pa.string()), *schema]
        self.schema = pa.schema(fields, metadata={_SIGNATURE: signature.encode()})

    def keys(self) -> set[str]:
        """Keys of the tasks whose results are there; BadFile when a shard is broken or of another work."""
        keys: set[str] = set()
        for path in self._paths():
            self._check(path)
            keys.update(pq.read_table(path, columns=[KEY_COLUMN]).column(KEY_COLUMN).to_pylist())
        return keys

    def write(self, tasks: Sequence[WorkTask], rows: Sequence[Row]) -> None:
        """Keep the results of a batch."""
        if len(rows) != len(tasks):
            raise ValueError(f"{len(tasks)} tasks have {len(rows)} results")
        keys = [task.key for task in tasks]
        name = hashlib.sha256("\0".join(keys).encode()).hexdigest()[:32]
        table = pa.Table.from_pylist([{KEY_COLUMN: key, **row} for key, row in zip(keys, rows)], schema=self.schema)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        put_file(self.folder / f"part-{name}.parquet", sink.getvalue().to_pybytes())

    def read(self) -> pa.Table:
        """All results, by key; each key once."""
        tables = [self._read(path) for path in self._paths()]
        whole = pa.concat_tables([self.schema.empty_table(), *tables]).sort_by(KEY_COLUMN)
        keys = whole.column(KEY_COLUMN).to_numpy(zero_copy_only=False)
        return whole.filter(pa.array([True, *(keys[1:] != keys[:-1])])) if len(keys) else whole

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob(_PARTS))

    def _read(self, path: Path) -> pa.Table:
        self._check(path)
        return pq.read_table(path, schema=self.schema)

    def _check(self, path: Path) -> None:
        try:
            schema = pq.read_schema(path)
        except (pa.ArrowException, OSError) as error:
            raise BadFile(
                "a shard of results is needed",
                found=f"a broken file: {error}",
                where=str(path),
                remedy="remove it: its tasks are done again",
            ) from None
        if not schema.equals(self.schema, check_metadata=True):
            raise BadFile(
                "results of the same work are needed",
                found="those of another work, or of other settings",
                where=str(path),
                remedy="choose another folder, or remove this one",
            )
