"""What an endpoint understands: how it is told the shape of an answer, its length, and how to choose words.

Servers that speak one protocol differ in the fields they take. The fullest request is tried first; a 400 that names a
field makes the next requests do without it (an error costs nothing), and what was learnt is remembered:

    response_format   a JSON schema, then any JSON object, then nothing
    logprobs          of the 20 likeliest tokens, then of 5, then none
    max_tokens        under its old name, then as max_completion_tokens
    temperature       as set, then left to the server, which is noted: its answers are then not greedy
    seed              as set, one further for each sample; then left out

The answer is kept under the key of the question, not of the request, so learning never buys anything twice.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from salon.calls.answer import Refusal
from salon.judge.vlm import Conversation
from salon.study.noun import Noun

Structured = Literal["auto", "schema", "json", "none"]
_TURNED_DOWN = {400, 415, 422, 501}
_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|too (long|many (input )?tokens)|prompt is too", re.I
)
_SHAPE = re.compile(r"response_?format|json_?schema|json_?object|structured|guided|grammar|\bschema\b", re.I)
_LOGPROBS = re.compile(r"log_?prob", re.I)
_LIMIT = re.compile(r"max_completion_tokens", re.I)
_TEMPERATURE = re.compile(r"\btemperature\b", re.I)
_SEED = re.compile(r"\bseed\b", re.I)


class Dialect(Noun):
    """The fields an endpoint is believed to take."""

    structured: Literal["schema", "json", "none"] = "schema"
    firm: bool = False
    """Whether `structured` was the user's choice, which is never given up."""
    logprobs: Literal[20, 5, 0] = 20
    """Likeliest tokens that are told of at each place."""
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    seed: bool = True

    @classmethod
    def first(cls, structured: Structured) -> Dialect:
        """What is tried first under the setting `structured`."""
        return cls() if structured == "auto" else cls(structured=structured, firm=True)

    def fields(self, conversation: Conversation) -> dict[str, Any]:
        """The fields of a request, beside its model and messages."""
        decoding = conversation.decoding
        told: dict[str, Any] = {self.limit: decoding.max_tokens}
        if self.temperature:
            told["temperature"] = decoding.temperature
        if self.seed and decoding.seed is not None:
            told["seed"] = (decoding.seed + conversation.sample) % 2**31
        if self.logprobs and conversation.options:
            told |= {"logprobs": True, "top_logprobs": self.logprobs}
        if conversation.shape is not None and self.structured != "none":
            told["response_format"] = self._shape(conversation.shape)
        return told

    def _shape(self, shape: dict[str, Any]) -> dict[str, Any]:
        if self.structured == "json":
            return {"type": "json_object"}
        return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": shape}}

    def after(self, refusal: Refusal) -> Dialect | None:
        """What to try next when a request in this dialect was refused; None when the refusal is about no field."""
        if refusal.status not in _TURNED_DOWN or is_too_long(refusal):
            return None
        words = f"{refusal.code} {refusal.reason}"
        if self.structured != "none" and not self.firm and _SHAPE.search(words):
            return self._with(structured="json" if self.structured == "schema" else "none")
        if self.logprobs and _LOGPROBS.search(words):
            return self._with(logprobs=5 if self.logprobs == 20 else 0)
        if self.limit == "max_tokens" and _LIMIT.search(words):
            return self._with(limit="max_completion_tokens")
        if self.temperature and _TEMPERATURE.search(words):
            return self._with(temperature=False)
        if self.seed and _SEED.search(words):
            return self._with(seed=False)
        return None

    def _with(self, **change: Any) -> Dialect:
        return self.model_copy(update=change)

    def notes(self) -> list[str]:
        """What a report should say: where this differs from what was wanted."""
        said = []
        if not self.firm and self.structured != "schema":
            how = {"json": "any JSON object", "none": "free text"}[self.structured]
            said.append(f"the endpoint takes no JSON schema: answers were asked for as {how}")
        if not self.logprobs:
            said.append("the endpoint gives no log-probabilities")
        if not self.temperature:
            said.append("the endpoint takes no temperature: answers are sampled as it pleases, not greedy")
        if not self.seed:
            said.append("the endpoint takes no seed")
        return said


def is_too_long(refusal: Refusal) -> bool:
    """Whether a refusal says that the question is over the context limit."""
    return refusal.kind == "rejected" and bool(_TOO_LONG.search(f"{refusal.code} {refusal.reason}"))
