"""What comes back for a call: an answer, kept and paid once, or a refusal with its reason."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

KEPT_HEADERS = ("content-type", "date", "retry-after", "x-request-id", "openai-version", "openai-processing-ms")
"""Headers worth keeping; all others, cookies above all, are dropped."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with a status of 2xx that was found usable. It is in the store before anyone sees it."""

    key: str
    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)
    seconds: float
    """From sending the request that succeeded to its last byte."""
    attempts: int
    at: str
    """When it came, UTC, ISO 8601."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    """By the price list; None where the list does not know the model."""
    stored: bool = False
    """True when it was in the store already and nothing was sent."""

    def data(self) -> Any:
        """The body as JSON; ValueError when it is none."""
        return read_json(self.body)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call without an answer."""

    key: str
    kind: str
    """rejected (4xx), redirect (3xx, not followed); or, at every attempt: busy (429), server (5xx), timeout, broken
    (the connection), too-large (more bytes than the limit), unusable (2xx, with nothing that can be used)."""
    reason: str
    """One sentence for people, without secrets."""
    status: int | None = None
    code: str | None = None
    """The server's own word for the error (`moderation_blocked`)."""
    attempts: int = 1


def read_json(body: bytes) -> Any:
    """`body` as JSON that can be kept anywhere; ValueError when it is none, or nested deeper than anyone means.

    Halves of characters, which servers leave where they cut a text, become question marks, and NaN becomes None.
    """
    try:
        content = json.loads(body, parse_constant=lambda _: None)
        if b"\\ud" in body.lower():
            content = json.loads(json.dumps(content, ensure_ascii=False).encode(errors="replace"))
    except RecursionError:
        raise ValueError("JSON that is nested too deep") from None
    return content


def read_error(body: bytes) -> tuple[str | None, str]:
    """(code, message) of an error body in any of the usual shapes; else the beginning of its text."""
    try:
        content = read_json(body)
    except ValueError:
        return None, " ".join(body[:300].decode("utf-8", "replace").split())
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return None, str(error)[:300]
    code = next((str(error[name]) for name in ("code", "type") if error.get(name)), None)
    message = next((error[name] for name in ("message", "detail", "error") if error.get(name)), error)
    return code, str(message)[:300]
