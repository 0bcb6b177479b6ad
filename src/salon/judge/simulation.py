"""Judges without a model: simulated from a known truth, or scripted.

A simulated judge answers by a given truth, with chosen accuracy and position bias. For each question about a pair, in
both orders together, one of three things is drawn:

    with chance b       the answer follows the position: the first picture, whichever it is
    with chance t       a tie, in both orders
    otherwise           the same item in both orders: the better one with chance c, else the other

so a report on many pairs must find b, t, c and the accuracy (1 - b - t) c + (b + t) / 2. The draw depends on the seed,
the criterion, the two items and the number of the sample alone, never on the order of the questions. Each answer is
also, with a chance of its own, unreadable. A question about one picture is answered by the truth with chance c, else by
another option or any number of the scale.

A script is a function of the conversation, a list that is read from the top, or a file with one JSON object a line:

    {"text": "{\\"verdict\\": \\"A\\"}", "items": ["cat-1", "cat-2"], "about": "taste/mood"}
    {"text": "B", "items": ["cat-2", "cat-1"]}
    {"none": "refused", "text": "not this picture", "point": "has-title"}
    {"text": "A"}

The first line that fits answers: `items` are the pictures in the order they are shown, `about` the criterion, `point`
the point of a checklist, `sample` the number of the sample; a line that names none of them fits every question.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from salon.errors import BadFile, BadValue
from salon.judge.vlm import Conversation, NoReply, Reply
from salon.study import Noun, Signature, Study

Truth = Mapping[str, float] | Callable[[str, tuple[str, ...]], float]
"""How good each item is; or, from the criterion (or the point of a checklist) and the items as they are shown:
of a pair, above 0 where the first is better and 0 where neither is; of one item its value, above 0 for yes."""
UNREADABLE = "I would rather not say."


class SimulatedVlm:
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
            rate_sum = f"{position_bias:g} + {tie_rate:g}"
            raise BadValue("bias and ties are shares of the same pairs: at most 1 together", found=rate_sum)
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

    def _answer(self, topic: str, items: tuple[str, ...], conversation: Conversation) -> str | float:
        draw = self._chance("answer", topic, *sorted(items), sample=conversation.sample)
        if len(items) == 2:
            return self._preferred(topic, items, conversation.options, draw)
        value = self._truth(topic, items)
        right = draw.random() < self.accuracy
        if conversation.options:
            yes, no = conversation.options[:2]
            return yes if (value > 0) == right else no
        levels, low, high = (_find_in_schema(conversation.shape, name) for name in ("enum", "minimum", "maximum"))
        if levels is not None:
            nearest = min(levels, key=lambda level: abs(level - value))
            return float(nearest if right else draw.choice(levels))
        return value if right or low is None or high is None else round(float(draw.uniform(low, high)), 3)

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


def _find_in_schema(shape: Any, name: str) -> Any:
    """What stands under `name` in a schema, at any depth."""
    if not isinstance(shape, dict):
        return None
    if name in shape:
        return shape[name]
    return next((value for part in shape.values() if (value := _find_in_schema(part, name)) is not None), None)


# -- the truth of a panel ----------------------------------------------------------------------------------------------

Vote = tuple[str, str, str, str, int]
"""criterion, rater, one item, another, and 1 where the first is better, -1 where the second is, 0 for a tie."""


def panel_truth(study: Study) -> Callable[[str, tuple[str, ...]], float]:
    """Of a criterion and a pair as shown: people for the first minus people for the second.

    Each has one voice on a pair: what they said when they compared it, or else ranked, chose or rated. Of one item: the
    mean of its ratings under the criterion; of a checklist's point, its share of ticks above one half. 0 where nobody
    answered.
    """
    votes: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    people = {rater.id for rater in study.nouns("raters") if rater.kind != "model"}
    for criterion, rater, left, right, sign in _votes(study):
        if rater in people:
            first, second = sorted((left, right))
            votes[criterion, first, second].setdefault(rater, sign if first == left else -sign)
    ratings = _ratings_and_ticks(study, people)
    worse = {left.id for left in study.criteria if left.scale is not None and not left.scale.higher_is_better}

    def truth(topic: str, items: tuple[str, ...]) -> float:
        values = [ratings.get((topic, item), {}) for item in items]
        if len(items) == 1:
            return sum(values[0].values()) / len(values[0]) if values[0] else 0.0
        first, second = sorted(items)
        flip = 1 if first == items[0] else -1
        both = values[0].keys() & values[1].keys()
        rated = {rater: _sign(values[0][rater] - values[1][rater]) * (-1 if topic in worse else 1) for rater in both}
        voices = rated | {rater: flip * sign for rater, sign in votes.get((topic, first, second), {}).items()}
        return float(sum(voices.values()))

    return truth


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _votes(study: Study) -> Iterator[Vote]:
    """Everything said about pairs, comparisons first; planted repeats are no second voice."""
    for comparison in study.nouns("comparisons"):
        if comparison.outcome is not None and comparison.repeat == 0:
            yield (
                comparison.criterion,
                comparison.rater,
                comparison.a,
                comparison.b,
                {"a": 1, "b": -1}.get(comparison.outcome, 0),
            )
    for ranking in study.nouns("rankings"):
        for (better, rank), (worse, worse_rank) in combinations(zip(ranking.items, ranking.ranks), 2):
            yield ranking.criterion, ranking.rater, better, worse, _sign(worse_rank - rank)
    for choice in study.nouns("choices"):
        for item in choice.items:
            if choice.chosen is not None and item != choice.chosen:
                yield choice.criterion, choice.rater, choice.chosen, item, 1


def _ratings_and_ticks(study: Study, people: set[str]) -> dict[tuple[str, str], dict[str, float]]:
    """(criterion or point, item) -> what each of `people` said of it, the first time."""
    answers: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for rating in study.nouns("ratings"):
        if rating.rater in people and rating.value is not None:
            answers[rating.criterion, rating.item].setdefault(rating.rater, rating.value)
    for checklist in study.nouns("checklists"):
        for point, answer in zip(checklist.points, checklist.answers):
            if checklist.rater in people and answer is not None:
                answers[point, checklist.item].setdefault(checklist.rater, answer - 0.5)
    return answers


# -- scripts -----------------------------------------------------------------------------------------------------------

ScriptAnswer = str | Reply | NoReply
Script = Callable[[Conversation], ScriptAnswer] | Sequence[ScriptAnswer] | Path


class ScriptLine(Noun):
    """One line of a script in a file."""

    text: str
    none: str | None = None
    """The kind of NoReply; `text` is then its reason."""
    items: tuple[str, ...] | None = None
    about: str | None = None
    point: str | None = None
    sample: int | None = None

    def fits(self, conversation: Conversation) -> bool:
        """Whether this line answers what is asked."""
        items = tuple(sight.item for sight in conversation.sights)
        return (
            self.items in (None, items)
            and (self.about is None or self.about in conversation.about)
            and self.point in (None, conversation.point)
            and self.sample in (None, conversation.sample)
        )

    def said(self) -> ScriptAnswer:
        """The answer of this line."""
        return self.text if self.none is None else NoReply(kind=self.none, reason=self.text)


class ScriptedVlm:
    """Answers from a script; a question the script has nothing for gets no reply, and says so."""

    def __init__(self, name: str, answers: Script) -> None:
        self.name = name
        self._said, content = _script(answers)
        data = hashlib.sha256(content.encode()).hexdigest()[:12]
        self.signature = Signature(method="scripted-judge", data=data)

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, answer), one after the other."""
        for index, conversation in enumerate(conversations):
            answer = self._said(conversation)
            yield index, Reply(text=answer, model="scripted") if isinstance(answer, str) else answer


def _script(answers: Script) -> tuple[Callable[[Conversation], ScriptAnswer], str]:
    """What is said to a conversation, and the text that stands for the script in a signature."""
    if callable(answers):
        return answers, f"{answers.__module__}.{getattr(answers, '__qualname__', type(answers).__qualname__)}"
    if isinstance(answers, Path):
        lines = read_script(answers)
        nothing = _script_has_nothing("has no line for this question")

        def first_line(conversation: Conversation) -> ScriptAnswer:
            return next((line.said() for line in lines if line.fits(conversation)), nothing)

        return first_line, json.dumps([line.record() for line in lines])
    rest = iter(list(answers))
    return lambda _: next(rest, _script_has_nothing("is at its end")), json.dumps([str(answer) for answer in answers])


def read_script(path: Path) -> list[ScriptLine]:
    """The lines of a script file; BadFile or BadValue names the line that is none."""
    try:
        texts = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a script, one JSON object a line, is needed", found=str(error), where=str(path)) from None
    lines = []
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(text)
        except ValueError as error:
            raise BadFile("a JSON object is needed", found=str(error), where=where) from None
        if not isinstance(record, dict):
            raise BadFile("a JSON object is needed", found=type(record).__name__, where=where)
        lines.append(ScriptLine.parse(record, where=where))
    return lines


def _script_has_nothing(why: str) -> NoReply:
    return NoReply(kind="error", reason=f"the script {why}")
