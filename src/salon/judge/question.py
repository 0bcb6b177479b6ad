"""One question to a judge: what is asked about which items, in which order and wording. No texts in here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Literal

from salon.judge.record import Asked
from salon.study.criterion import Criterion
from salon.study.noun import Noun

Order = Literal["a", "b"]
ORDERS: tuple[Order, ...] = ("a", "b")
"""A pair is always asked in both."""


class Question(Noun):
    """What one call asks."""

    protocol: Asked
    criteria: tuple[str, ...]
    """One, or all that are asked together."""
    prompt: str | None = None
    a: str
    """The item; of a pair the one with the smaller id."""
    b: str | None = None
    left: Order | None = None
    """Which of the pair is shown first, as Image A."""
    point: str | None = None
    paraphrase: int | None = None
    """Number of the wording; None where there is only one."""
    sample: int = 0

    @property
    def items(self) -> tuple[str, ...]:
        """The items in the order they are shown."""
        if self.b is None:
            return (self.a,)
        return (self.a, self.b) if self.left == "a" else (self.b, self.a)

    def outcome(self, option: str) -> Literal["a", "b", "tie"]:
        """What an option, which speaks of places, says about the items."""
        if option == "TIE":
            return "tie"
        return "a" if (option == "A") == (self.left == "a") else "b"


def wordings(criterion: Criterion) -> tuple[str, ...]:
    """The ways a comparison under this criterion may be asked."""
    return criterion.paraphrases or ((criterion.question,) if criterion.question else ())


def place(*parts: str | None) -> int:
    """A stable number for `parts`, spread evenly over 64 bits."""
    text = json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def paraphrase(wordings: int, prompt: str | None, *items: str) -> int | None:
    """Which of `wordings` texts asks about these items: the same in both orders, on every machine and in every run."""
    return place(prompt, *sorted(items)) % wordings if wordings > 1 else None


def every_order_and_sample(question: Question, samples: int) -> Iterator[Question]:
    """`question` in both orders, if it is about a pair, as often as it is to be asked."""
    orders: tuple[Order | None, ...] = (None,) if question.b is None else ORDERS
    for left in orders:
        for sample in range(samples):
            yield question.model_copy(update={"left": left, "sample": sample})
