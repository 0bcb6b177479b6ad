"""The processes that torchrun or accelerate started, and how they agree.

Whatever only one process can know (what a folder holds, which checkpoint is the last, whether a file can be read) is
found out by one and told to all: processes that decide for themselves wait for each other forever, once they differ.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from salon.errors import MissingExtra, SalonError

try:
    import torch.distributed
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

T = TypeVar("T")


@dataclass(frozen=True)
class TorchProcesses:
    """All processes of torch.distributed; one where it was not started."""

    @property
    def number(self) -> int:
        """The rank of this one."""
        return torch.distributed.get_rank() if _several() else 0

    @property
    def count(self) -> int:
        """How many there are."""
        return torch.distributed.get_world_size() if _several() else 1

    def gather(self, mine: Any) -> list[Any]:
        """What each process has, in the order of ranks."""
        if not _several():
            return [mine]
        everyone: list[Any] = [None] * self.count
        torch.distributed.all_gather_object(everyone, mine)
        return everyone

    def decide(self, decision: Callable[[], T]) -> T:
        """What `decision` gives in the first process, in all of them; its error is raised in all of them."""
        if not _several():
            return decision()
        result, error = _attempt(decision) if self.number == 0 else (None, None)
        message: list[Any] = [(result, _packed(error))]
        torch.distributed.broadcast_object_list(message, src=0)
        return cast(T, self._unless_failed(message[0][0], error, [message[0][1]]))

    def together(self, work: Callable[[], T]) -> T:
        """What `work` gives in each process; where it fails in one, all raise the error of the first that failed.

        `work` must not wait for another process: one that failed would be waited for forever.
        """
        if not _several():
            return work()
        result, error = _attempt(work)
        return cast(T, self._unless_failed(result, error, self.gather(_packed(error))))

    def _unless_failed(self, result: Any, mine: Exception | None, errors: list[bytes | None]) -> Any:
        failed = next(((rank, error) for rank, error in enumerate(errors) if error is not None), None)
        if failed is None:
            return result
        rank, packed = failed
        if rank == self.number and mine is not None:
            raise mine
        raise pickle.loads(packed)


def _attempt(work: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return work(), None
    except Exception as error:
        return None, error


def _packed(error: Exception | None) -> bytes | None:
    """An error as it can be sent: Salon's and the system's whole, any other by its words."""
    if error is None:
        return None
    if isinstance(error, SalonError | OSError):
        return pickle.dumps(error)
    return pickle.dumps(RuntimeError(f"another process failed: {type(error).__name__}: {error}"))


def _several() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()
