"""A conversation as a call of the chat protocol, and the key of the question in it.

The key covers what is asked: address, model, texts, pictures (by the hash of their file and how they are sent), how
words are chosen, the shape of the answer and the number of the sample. It does not cover how a server is told all that
(`structured`), nor the bytes of pictures that were made smaller. So it is known before any picture is decoded, and an
answer is found again whatever fields the server takes, and under every version of the libraries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from salon.calls.call import Call
from salon.calls.prices import Order
from salon.judge.chat_pictures import Pictures, PictureSettings
from salon.judge.structured import Dialect, Structured
from salon.judge.vlm import Conversation

FORM = 1
"""Written into every key: a change of what a key covers never matches older answers by accident."""


class ChatCall(Call):
    """A request of the chat protocol, kept under the key of the question it puts."""

    question: str

    @cached_property
    def key(self) -> str:
        """The key of the question."""
        return self.question


@dataclass(frozen=True)
class Endpoint:
    """Who is asked, and how conversations are put to it."""

    base_url: str
    model: str
    pictures: PictureSettings = field(default_factory=PictureSettings)
    structured: Structured = "auto"
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of every request, sent as they are."""

    @property
    def url(self) -> str:
        """Where questions go."""
        return f"{self.base_url}/chat/completions"

    @cached_property
    def _pictures(self) -> Pictures:
        return Pictures(self.pictures)

    def key(self, asked: Conversation) -> str:
        """SHA-256 over the question; BadFile where one of its pictures is missing."""
        parts = [part if isinstance(part, str) else self._pictures.identity(part) for part in asked.parts]
        covered = {
            "form": FORM,
            "url": self.url,
            "model": self.model,
            "fields": dict(self.fields),
            "system": asked.system,
            "parts": parts,
            "decoding": asked.decoding.record(),
            "chances": bool(asked.options),
            "structured": self.structured,
            "shape": asked.shape,
            "sample": asked.sample,
        }
        text = json.dumps(covered, ensure_ascii=False, separators=(",", ":"), sort_keys=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def messages(self, asked: Conversation) -> list[dict[str, Any]]:
        """The conversation with its pictures, decoded and written; BadFile when one is broken."""
        parts = [
            {"type": "text", "text": part} if isinstance(part, str) else self._pictures.part(part)
            for part in asked.parts
        ]
        system = [] if asked.system is None else [{"role": "system", "content": asked.system}]
        return [*system, {"role": "user", "content": parts}]

    def body(self, asked: Conversation, messages: list[dict[str, Any]], dialect: Dialect) -> dict[str, Any]:
        """The request as it is sent."""
        return {"model": self.model, "messages": messages, **dialect.fields(asked), **self.fields}

    def order(self, asked: Conversation) -> Order:
        """What the question may use at most, for the price list: no token is shorter than a byte."""
        texts = [part for part in (asked.system, *asked.parts) if isinstance(part, str)]
        return Order(
            model=self.model,
            input_images=len(asked.sights),
            input_tokens=sum(len(text.encode("utf-8", "surrogatepass")) for text in texts),
            output_tokens=asked.decoding.max_tokens,
        )
