"""The processes that torchrun or accelerate started, as the reward sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from salon.errors import MissingExtra

try:
    import torch.distributed
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None


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


def _several() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()
