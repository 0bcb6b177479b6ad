"""What is to be done: the interface of work that can run anywhere, and where it is to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import pyarrow as pa
from pydantic import Field

from salon.study.noun import Noun

Row = dict[str, Any]


class Task(NamedTuple):
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
class Lost:
    """A task that took its worker down each time it was tried alone."""

    key: str
    reason: str


@dataclass(frozen=True)
class Done:
    """What a run did."""

    made: int
    """Results computed now."""
    kept: int
    """Results that were there already."""
    deaths: int
    """Workers that ended before their batch was done."""
    lost: tuple[Lost, ...] = ()
