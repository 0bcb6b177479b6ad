"""The interface of what gives numbers to items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from salon.study.item import Item
from salon.study.prompt import Prompt
from salon.study.signature import Signature


@runtime_checkable
class Scorer(Protocol):
    """Anything that gives numbers to items."""

    name: str
    signature: Signature

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """One number per item, None where it could not be scored (never a made-up value)."""
        ...
