"""Scorers that are simple enough to check by hand, and pictures for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from salon.errors import BadFile
from salon.select import ScoreReference
from salon.select.weights import ReferenceLevel
from salon.store import read_picture
from salon.study import Item, Prompt, ScorerCard, Signature


class Channel:
    """The mean of one color channel, 0 to 1; a picture that is black there has no number."""

    def __init__(self, channel: int, name: str, **card: object) -> None:
        self.name, self.channel, self.card = name, channel, ScorerCard(**card)
        self.signature = Signature(method="channel", settings={"channel": channel}, version="test")
        self.asked: list[int] = []
        self.prompts: list[Prompt | None] = []

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        self.asked.append(len(items))
        self.prompts += prompts
        return [self._mean(item) for item in items]

    def _mean(self, item: Item) -> float | None:
        try:
            return float(np.asarray(read_picture(Path(item.image or "")).image)[..., self.channel].mean() / 255) or None
        except BadFile:
            return None


class Company(Channel):
    """A network as they are: the last digits hang on how many pictures it looks at together."""

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        return [None if one is None else one + 1e-9 * len(items) for one in super().score(items, prompts)]


class Value(NamedTuple):
    """A number of a scorer that gives results."""

    value: float


class Gap(NamedTuple):
    """No number, and why."""

    reason: str


def red(**card: object) -> Channel:
    return Channel(0, "red", **card)


def blue(**card: object) -> Channel:
    return Channel(2, "blue", **card)


def reference(*scorers: Channel, mean: float = 0.5, sd: float = 0.25) -> ScoreReference:
    """The same level for all of them."""
    levels = [
        ReferenceLevel(criterion=one.name, mean=mean, sd=sd, n=20, signature=str(one.signature)) for one in scorers
    ]
    return ScoreReference(name="swatches", data="0" * 12, levels=tuple(levels))


def swatch(r: int, g: int, b: int, size: int = 4) -> np.ndarray:
    """A plain picture, HWC in bytes."""
    return np.full((size, size + 1, 3), (r, g, b), np.uint8)
