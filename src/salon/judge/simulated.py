"""A judge whose worth is known: it answers by a given truth, with chosen accuracy and position bias.

For each question about a pair, in both orders together, one of three things is drawn:

    with chance b       the answer follows the position: the first picture, whichever it is
    with chance t       a tie, in both orders
    otherwise           the same item in both orders: the better one with chance c, else the other

so a report on many pairs must find b, t, c and the accuracy (1 - b - t) c + (b + t) / 2. What is drawn depends on the
seed, the criterion, the two items and the number of the sample alone, never on the order in which questions come.
Apart from that each answer is, with a chance of its own, one that cannot be read.

A question about one picture is answered by the truth with chance c, else by another option or any number of the scale.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from salon.errors import BadValue
from salon.judge.vlm import Conversation, Reply
from salon.study.signature import Signature

Truth = Mapping[str, float] | Callable[[str, tuple[str, ...]], float]
"""How good each item is; or, from the criterion (or the point of a checklist) and the items as they are shown:
of a pair, above 0 where the first is better and 0 where neither is; of one item its value, above 0 for yes."""
UNREADABLE = "I would rather not say."


class Simulated:
    """A judge by chance and design. Never to be mistaken for a model: its signature says what it is."""

    def __init__(
        self,
        name: str,
        truth: Truth,
        *,
        accuracy: float,
        position_bias: float = 0.0,
        tie_rate: float = 0.0,
        unparsed_rate: float = 0.0,
        seed: int = 0,
    ) -> None:
        rates = {"accuracy": accuracy, "bias": position_bias, "ties": tie_rate, "unparsed": unparsed_rate}
        for rate, value in rates.items():
            if not 0 <= value <= 1:
                raise BadValue(f"{rate} is a share between 0 and 1", found=value, where=f"simulated judge {name!r}")
        if position_bias + tie_rate > 1:
            found = f"{position_bias:g} + {tie_rate:g}"
            raise BadValue("bias and ties are shares of the same pairs: at most 1 together", found=found)
        self.name = name
        self.accuracy, self.position_bias = accuracy, position_bias
        self.tie_rate, self.unparsed_rate = tie_rate, unparsed_rate
        self._seed, self._truth = seed, truth if callable(truth) else _differences(truth)
        self.signature = Signature(method="simulated-judge", settings=rates, seed=seed)

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply]]:
        """(index, answer), one after the other."""
        for index, conversation in enumerate(conversations):
            yield index, Reply(text=self._text(conversation), model="simulated")

    def _text(self, conversation: Conversation) -> str:
        topics = (conversation.point,) if conversation.point else conversation.about or ("",)
        items = tuple(sight.item for sight in conversation.sights)
        garbled = self._chance("garbled", *topics, *items, sample=conversation.sample)
        if garbled.random() < self.unparsed_rate:
            return UNREADABLE
        answers = {topic: self._answer(topic, items, conversation) for topic in topics}
        if len(answers) > 1:
            return f"<think>simulated</think><answer>{json.dumps(answers)}</answer>"
        return str(next(iter(answers.values())))

    def _answer(self, topic: str, items: tuple[str, ...], asked: Conversation) -> str | float:
        draw = self._chance("answer", topic, *sorted(items), sample=asked.sample)
        if len(items) == 2:
            return self._preferred(topic, items, asked.options, draw)
        value = self._truth(topic, items)
        right = draw.random() < self.accuracy
        if asked.options:
            yes, no = asked.options[:2]
            return yes if (value > 0) == right else no
        return _nearest_level(asked.shape, value) if right else _any_number(asked.shape, value, draw)

    def _preferred(
        self, topic: str, items: tuple[str, ...], options: tuple[str, ...], draw: np.random.Generator
    ) -> str:
        first, second = options[:2]
        kind, right, coin = draw.random(3)
        if kind < self.position_bias:
            return first
        if kind < self.position_bias + self.tie_rate:
            return self._tie(options)
        leads = self._truth(topic, items)
        if leads == 0:  # neither is better: the same item in both orders, by a coin
            leads = 1.0 if (coin < 0.5) == (items[0] == min(items)) else -1.0
        return first if (leads > 0) == (right < self.accuracy) else second

    def _tie(self, options: tuple[str, ...]) -> str:
        if len(options) < 3:
            raise BadValue(
                "a judge that ties must be offered a tie",
                found=f"options {', '.join(options)}",
                where=f"simulated judge {self.name!r}",
                remedy="allow ties, or set their rate to 0",
            )
        return options[2]

    def _chance(self, *parts: str, sample: int) -> np.random.Generator:
        """Numbers that hang on these words alone."""
        text = json.dumps([self._seed, sample, *parts]).encode()
        return np.random.default_rng(int.from_bytes(hashlib.sha256(text).digest()[:16], "big"))


def _differences(values: Mapping[str, float]) -> Callable[[str, tuple[str, ...]], float]:
    def truth(_: str, items: tuple[str, ...]) -> float:
        return values[items[0]] - (values[items[1]] if len(items) == 2 else 0.0)

    return truth


def _nearest_level(shape: Any, value: float) -> float:
    """`value`, or the level next to it where `shape`, the schema of the answer, has levels."""
    levels = _found(shape, "enum")
    return value if levels is None else float(min(levels, key=lambda level: abs(level - value)))


def _any_number(shape: Any, value: float, draw: np.random.Generator) -> float:
    """Any number that `shape`, the schema of the answer, allows; `value` where it has none."""
    levels = _found(shape, "enum")
    if levels is not None:
        return float(draw.choice(levels))
    low, high = _found(shape, "minimum"), _found(shape, "maximum")
    return value if low is None or high is None else round(float(draw.uniform(low, high)), 3)


def _found(shape: Any, name: str) -> Any:
    """What stands under `name` in a schema, at any depth."""
    if not isinstance(shape, dict):
        return None
    if name in shape:
        return shape[name]
    return next((found for part in shape.values() if (found := _found(part, name)) is not None), None)
