"""What a one-pass scorer learns from: pictures and questions in a fixed order; and how far it has come."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.stats import rankdata

from salon.errors import BadValue, TooFew, UnknownReference
from salon.store.pictures import read_picture, within
from salon.train.distill_reward import Read, vote_shares
from salon.train.pseudo_scores import PseudoScores

Floats = NDArray[np.float64]


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


# -- how far it has come ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Validation:
    """Greedy one-pass scores of the validation items against their labels.

    srcc is the mean over criteria of Spearman's correlation with the labels' values. An answer that cannot be read
    counts as the mean of those that can: it earns nothing, and leaving it out would reward silence. Scores that are all
    alike have the correlation 0. Labels of pairs alone: the share of pairs in the right order, less the share in the
    wrong one.
    """

    srcc: float
    by_criterion: dict[str, float]
    images: int
    read: int
    """Answers with scores on their scale."""
    mean: float | None
    """Of the scores that were read."""
    sd: float | None
    """Standard deviation between images, mean over criteria."""

    def figures(self) -> dict[str, float | None]:
        """For logs."""
        return {"srcc": self.srcc, "read": self.read / max(1, self.images), "mean": self.mean, "sd": self.sd}


def look(data: OnePassData, items: Sequence[str], answers: Sequence[str]) -> Validation:
    """What greedy `answers` about `items` are worth."""
    read = [data.asking.read(text).scores for text in answers]
    empty = (np.nan,) * len(data.labels.criteria)
    scores = np.array([one or empty for one in read], float).reshape(len(items), len(empty))
    found = [_criterion(data.labels, items, scores, number) for number in range(len(empty))]
    told = {id: value for id, value in zip(data.labels.criteria, found) if value is not None}
    kept = scores[np.isfinite(scores).all(1)]
    return Validation(
        srcc=float(np.mean(list(told.values()))) if told else 0.0,
        by_criterion=told,
        images=len(items),
        read=len(kept),
        mean=float(kept.mean()) if len(kept) else None,
        sd=float(kept.std(0).mean()) if len(kept) else None,
    )


def _criterion(labels: PseudoScores, items: Sequence[str], scores: Floats, number: int) -> float | None:
    column = scores[:, number]
    said = np.isfinite(column)
    if not said.any():
        return 0.0
    column = np.where(said, column, column[said].mean())
    place = {item: at for at, item in enumerate(labels.items)}
    codes = np.array([place[item] for item in items])
    if labels.pairs is not None:
        return _pairs_in_order(labels, codes, column, number)
    target = labels.values[codes, number]
    there = np.isfinite(target)
    return spearman(column[there], target[there]) if there.sum() > 1 else None


def _pairs_in_order(labels: PseudoScores, codes: NDArray[np.int64], column: Floats, number: int) -> float | None:
    assert labels.pairs is not None
    given = dict(zip(codes.tolist(), column))
    lead = vote_shares(labels.pairs, len(labels.criteria))[:, number] - 0.5
    told = [
        np.sign(lead[row]) * np.sign(given[a] - given[b])
        for row, (a, b) in enumerate(zip(labels.pairs.a.tolist(), labels.pairs.b.tolist()))
        if a in given and b in given and np.isfinite(lead[row]) and lead[row] != 0
    ]
    return float(np.mean(told)) if told else None


def spearman(a: Floats, b: Floats) -> float:
    """Spearman's correlation, ties at their mean rank; 0 where one side is all alike."""
    one, other = rankdata(a), rankdata(b)
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
