r"""Templates of chat scorers: what a VLM is asked about one picture, and how its answer becomes numbers.

    chat:FILE@openai:MODEL@URL             FILE is a template, or the name of one that comes with Salon
    chat:FILE@anthropic:MODEL@SCORE        one of several scores; without it, all of them

A template is a TOML file:

    title = "Alignment"
    text = "{image} Is it an image of {prompt}? Answer such as {example}"
    system = "..."                         if there is to be a system message
    answer = "json"                        json: numbers in one object, under the ids of the scores
                                           pattern: the first group of each score's pattern
                                           yes: the probability of `yes`, from log-probabilities
    max_tokens = 256

    [[scores]]
    id = "alignment"
    measures = "One sentence."
    low = 1                                numbers off the scale are not scores
    high = 5
    whole = true                           only whole numbers
    higher_is_better = true
    pattern = 'Alignment: (\d+)'           with answer = "pattern"

Nothing is guessed. In an answer, thoughts between <think> and </think> do not count. Of several JSON objects the last
that names the score binds. A number in quotes, a word, NaN, a number off the scale and two matches of a pattern that
differ are no scores. The probability of yes is that of all tokens which begin `yes` at the answer's place, as in
VQAScore: it is not divided by that of yes and no, and is missing where the server does not list it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from salon.errors import BadFile, BadValue
from salon.judge.native_protocols import HOME
from salon.judge.vlm import Conversation, Decoding, Reply, Sight
from salon.study import Noun, ScorerCard, strip_reasoning

CHAT = "chat"
"""Begins the name of a chat scorer."""
_PLACEHOLDER = re.compile(r"\{(image|prompt|example)\}")
_ENDPOINT = re.compile(rf"@(?=(?:{'|'.join(HOME)}):)")


class ChatScore(Noun):
    """One number that an answer gives."""

    id: str = Field(pattern=r"^[^@\s/\\:]+$")
    measures: str = ""
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    higher_is_better: bool = True
    pattern: str | None = None
    """A regular expression whose first group is the number; letter case does not matter."""

    @model_validator(mode="after")
    def _can_be_read(self) -> ChatScore:
        if not self.low < self.high:
            raise ValueError(f"low must be below high, found {self.low:g} and {self.high:g}")
        if self.pattern is not None:
            try:
                groups = re.compile(self.pattern).groups
            except re.error as error:
                raise ValueError(f"the pattern is no regular expression: {error}") from None
            if groups < 1:
                raise ValueError("the pattern needs a group around the number: (...)")
        return self


class ChatTemplate(Noun):
    """What is asked about a picture, and how its answer is read."""

    title: str = ""
    text: str = Field(min_length=1)
    system: str | None = None
    answer: Literal["json", "pattern", "yes"] = "json"
    yes: str = Field("Yes", min_length=1)
    no: str = Field("No", min_length=1)
    max_tokens: int = Field(256, ge=1, le=1_000_000)
    scores: tuple[ChatScore, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _asks_what_it_reads(self) -> ChatTemplate:
        ids = [score.id for score in self.scores]
        if len(set(ids)) < len(ids):
            raise ValueError(f"scores are named once each, found {', '.join(ids)}")
        if self.text.count("{image}") != 1:
            raise ValueError("the text must hold {image} once: there stands the picture")
        if self.answer == "pattern" and any(score.pattern is None for score in self.scores):
            raise ValueError('answer = "pattern" needs a pattern in every score')
        if self.answer == "yes":
            if len(ids) > 1 or (self.scores[0].low, self.scores[0].high) != (0, 1):
                raise ValueError('answer = "yes" gives one score from 0 to 1')
            if self.yes.startswith(self.no) or self.no.startswith(self.yes):
                raise ValueError(f"yes and no must begin differently, found {self.yes!r} and {self.no!r}")
        return self

    @property
    def hash(self) -> str:
        """Twelve hex digits that change when what is asked, or how it is read, does."""
        record = self.model_dump(mode="json", exclude={"title"})
        return hashlib.sha256(json.dumps(record, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:12]

    @property
    def reads_prompt(self) -> bool:
        """Whether the prompt of a picture is shown."""
        return "{prompt}" in self.text

    def score(self, id: str | None, *, where: str) -> ChatScore:
        """The score called `id`; BadValue where there is none, or where one of several has to be named."""
        by_id = {score.id: score for score in self.scores}
        if id is None and len(by_id) == 1:
            return self.scores[0]
        if id not in by_id:
            raise BadValue(
                "one of the template's scores is needed",
                found="none named" if id is None else repr(id),
                where=where,
                remedy="put one of them at the end: " + ", ".join(f"@{name}" for name in by_id),
            )
        return by_id[id]

    def card(self, score: ChatScore, source: str) -> ScorerCard:
        """What users of the numbers have to know."""
        return ScorerCard(
            reads="image and prompt" if self.reads_prompt else "image",
            higher_is_better=score.higher_is_better,
            low=score.low,
            high=score.high,
            source=source,
            measures=score.measures or f"{self.title or score.id}, as a VLM says.",
            criterion=score.id,
        )

    def conversation(self, sight: Sight, prompt: str) -> Conversation:
        """What the VLM gets; braces in a prompt are only text."""
        example = json.dumps({score.id: int(score.high) if score.whole else score.high for score in self.scores})
        values = {"prompt": prompt, "example": example}
        parts: list[str | Sight] = [""]
        for number, piece in enumerate(_PLACEHOLDER.split(self.text.strip())):
            if number % 2 and piece == "image":
                parts += [sight, ""]
            else:
                parts[-1] = f"{parts[-1]}{values[piece] if number % 2 else piece}"
        return Conversation(
            parts=tuple(part.strip() if isinstance(part, str) else part for part in parts if part != ""),
            system=self.system,
            options=(self.yes, self.no) if self.answer == "yes" else (),
            shape=self._shape() if self.answer == "json" else None,
            decoding=Decoding(max_tokens=self.max_tokens),
            about=tuple(score.id for score in self.scores),
        )

    def _shape(self) -> dict[str, Any]:
        numbers = {score.id: {"type": "integer" if score.whole else "number"} for score in self.scores}
        return {"type": "object", "properties": numbers, "required": list(numbers), "additionalProperties": False}

    def read(self, reply: Reply, score: ChatScore) -> float | str:
        """The number that a reply gives, or why it gives none."""
        if self.answer == "yes":
            return self._chance_of_yes(reply)
        text = strip_reasoning(reply.text)
        if text is None or not text.strip():
            return "cut off before the answer" if reply.cut else "no answer after the thoughts"
        number = _number_in_object(text, score.id) if self.answer == "json" else _number_by_pattern(text, score)
        if isinstance(number, str):
            return f"{number}, and cut off" if reply.cut else number
        if not score.low <= number <= score.high:
            return f"off the scale of {score.low:g} to {score.high:g}"
        if score.whole and number != int(number):
            return "not a whole number"
        return number

    def _chance_of_yes(self, reply: Reply) -> float | str:
        if reply.chances is None:
            return f"no log-probabilities of {self.yes} and {self.no}"
        if self.yes not in reply.chances:
            return f"the server does not list the log-probability of {self.yes}"
        return min(1.0, math.exp(reply.chances[self.yes]))


def _number_in_object(text: str, key: str) -> float | str:
    """The number under `key` in the last JSON object that names it, none of them inside another."""
    twice: list[bool] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.append([name for name, _ in pairs].count(key) > 1)
        return dict(pairs)

    decoder = json.JSONDecoder(object_pairs_hook=once)
    values: list[tuple[Any, bool]] = []
    objects, at = 0, text.find("{")
    while at >= 0:
        twice.clear()
        try:
            record, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        objects += 1
        if key in record:
            values.append((record[key], any(twice)))
        at = text.find("{", end)
    if not values:
        return "score missing" if objects else "not JSON"
    value, repeated = values[-1]
    if repeated:
        return "score given twice"
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "not a number"
    return float(value)


def _number_by_pattern(text: str, score: ChatScore) -> float | str:
    """What the pattern finds; several matches must say the same."""
    matches = {match[1] for match in re.finditer(score.pattern or "", text, re.IGNORECASE)}
    try:
        numbers = {float(match) for match in matches}
    except (TypeError, ValueError):
        return "not a number"
    if not numbers:
        return "score missing"
    if len(numbers) > 1:
        return "several scores that differ"
    number = numbers.pop()
    return number if math.isfinite(number) else "not a number"


# -- names and files ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChatName:
    """A chat scorer in the name of a scorer."""

    file: str
    endpoint: str
    """openai:MODEL@URL, or that of another protocol."""
    score: str | None

    @property
    def title(self) -> str:
        """What its scores are called: the template and the model."""
        model = self.endpoint.partition(":")[2].partition("@http")[0]
        name = f"{Path(self.file).stem}-{model}"
        return "".join("-" if letter in "/\\:\0" else letter for letter in name)


def split_chat_name(text: str) -> ChatName | None:
    """The template, endpoint and score that `text` names; None where it names no chat scorer."""
    kind, _, place = text.partition(":")
    if kind != CHAT or not place:
        return None
    parts = _ENDPOINT.split(place, maxsplit=1)
    if len(parts) < 2 or not parts[0] or not parts[1].partition(":")[2]:
        raise BadValue(
            "a chat scorer names a template and an endpoint",
            found=repr(text),
            remedy="chat:FILE@openai:MODEL@URL, chat:FILE@anthropic:MODEL or chat:FILE@gemini:MODEL",
        )
    file, endpoint = parts
    model, mark, rest = endpoint.rpartition("@http")
    if mark:
        url, _, score = rest.partition("@")
        return ChatName(file, f"{model}@http{url}", score or None)
    name, _, score = endpoint.partition("@")
    return ChatName(file, name, score or None)


def expand_chat(text: str) -> list[str]:
    """A chat scorer without a score stands for one scorer of each of its template's; any other text for itself."""
    name = split_chat_name(text)
    if name is None or name.score is not None:
        return [text]
    scores = read_chat_template(name.file).scores
    return [text] if len(scores) == 1 else [f"{text}@{score.id}" for score in scores]


def shipped_templates() -> list[str]:
    """The names of the templates that come with Salon."""
    folder = resources.files("salon.judge").joinpath("templates", "chat")
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def read_chat_template(file: str) -> ChatTemplate:
    """The template in a file, or the one of this name that comes with Salon."""
    shipped = file in shipped_templates() and not Path(file).is_file()
    source = resources.files("salon.judge").joinpath("templates", "chat", f"{file}.toml") if shipped else Path(file)
    try:
        content = tomllib.loads(source.read_text(encoding="utf-8").removeprefix("\ufeff"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadFile(
            "a template of a chat scorer, TOML, is needed",
            found=str(error),
            where=file,
            remedy="your own file, or one of " + ", ".join(shipped_templates()),
        ) from None
    return ChatTemplate.parse(content, where=file)
