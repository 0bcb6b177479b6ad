"""What a one-pass scorer learns from: pictures and questions in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from salon.errors import BadValue, TooFew, UnknownReference
from salon.evaluate.pseudo_scores import PseudoScores
from salon.store.pictures import read_picture, within
from salon.train.distill_reward import Read


@dataclass(frozen=True)
class Asking:
    """How items are asked about and how answers are read: given from outside, training knows no wording."""

    question: Callable[[str], str]
    """The text that goes with the picture of an item."""
    read: Read
    random_answer: Callable[[np.random.Generator], str]
    """An answer in the right form with scores drawn at random."""
    think: bool = False


@dataclass(frozen=True)
class OnePassData:
    """Labels, pictures and questions, split."""

    labels: PseudoScores
    pictures: Mapping[str, Path]
    asking: Asking
    train: tuple[str, ...]
    validation: tuple[str, ...] = ()
    pixels: int = 1024 * 1024
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The prompt of each item that has one: items of one prompt are no independent evidence."""

    def __post_init__(self) -> None:
        known = set(self.labels.items)
        for item in (*self.train, *self.validation):
            if item not in known or item not in self.pictures:
                what = "label" if item not in known else "picture"
                raise UnknownReference(f"every item to learn from needs a {what}", found=repr(item))
        both = set(self.train) & set(self.validation)
        if both:
            raise BadValue("an item is trained on or validated on, not both", found=sorted(both)[0])

    def picture(self, item: str) -> Image.Image:
        """An item's picture, within the budget of pixels."""
        return self._read(item)

    @cached_property
    def _read(self) -> Callable[[str], Image.Image]:
        return lru_cache(256)(lambda item: within(read_picture(self.pictures[item]).image, self.pixels))

    def order(self, images: int, steps: int, seed: int) -> list[str]:
        """The items of all steps one after the other: every item once before any comes again, then anew.

        Each round is in a random order. With labels of pairs it is a random walk along them: two items drawn from
        thousands were hardly ever compared, and without a partner in its step an answer has no rank reward.
        """
        if len(self.train) < images:
            raise TooFew(
                f"a step of {images} images needs as many to train on",
                found=f"{len(self.train)} items with labels and pictures on the training side",
                remedy=f"--images {max(2, len(self.train))}" if len(self.train) > 1 else "label more items",
            )
        rounds = -(-images * steps // len(self.train))
        drawn = [self._round(np.random.default_rng([seed, number])) for number in range(rounds)]
        return [item for one in drawn for item in one][: images * steps]

    def _round(self, rng: np.random.Generator) -> list[str]:
        mixed = [self.train[place] for place in rng.permutation(len(self.train))]
        return mixed if self.labels.pairs is None else walk(mixed, self._compared, rng)

    @cached_property
    def _compared(self) -> dict[str, list[str]]:
        """With which other training items each was compared."""
        items, own = self.labels.items, set(self.train)
        near: dict[str, set[str]] = {item: set() for item in self.train}
        pairs = self.labels.pairs
        for a, b in () if pairs is None else zip(pairs.a.tolist(), pairs.b.tolist()):
            if items[a] in own and items[b] in own:
                near[items[a]].add(items[b])
                near[items[b]].add(items[a])
        return {item: sorted(others) for item, others in near.items()}

    def rows(self, batch: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
        """What TRL reads of items: their chat, their picture, their id."""
        items = list(batch["item"])
        return {
            "item": items,
            "prompt": [[{"role": "user", "content": self.asking.question(item)}] for item in items],
            "images": [[self.picture(item)] for item in items],
        }


def walk(items: Sequence[str], near: Mapping[str, Sequence[str]], rng: np.random.Generator) -> list[str]:
    """All items once, each next to one it was compared with where there is one left: depth first, by chance."""
    found: dict[str, None] = {}
    for start in items:
        waiting = [start]
        while waiting:
            item = waiting.pop()
            if item not in found:
                found[item] = None
                open_ = [other for other in near[item] if other not in found]
                waiting += [open_[place] for place in rng.permutation(len(open_))]
    return list(found)
