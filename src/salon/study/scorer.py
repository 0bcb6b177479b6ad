"""The two interfaces that stages meet in: what gives numbers to items, and what makes them."""

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


@runtime_checkable
class Generator(Protocol):
    """A system that makes images from prompts."""

    name: str
    signature: Signature

    def generate(self, prompts: Sequence[Prompt], *, seed: int) -> list[Item]:
        """One item per prompt, in order."""
        ...
