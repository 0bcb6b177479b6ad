"""One request, the key its answer is stored under, and the answer: its tokens, and whether it can be used."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, model_validator

from salon.calls.service import CallOrder
from salon.study import Noun

FORM = 1
"""Written into every key: a change of what a key covers never matches older answers by accident."""
_SECRET = re.compile(
    r"(?:^|[-_.])(?:(?:api|access|auth|bearer|client|private|secret|session|subscription|user)?(?:key|token|secret)"
    r"|auth|authorization|cookie|credentials?|jwt|passphrase|passwd|password|pwd|sig|signature)$",
    re.I,
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_secret(name: str) -> bool:
    """Whether a header or a parameter called `name` holds a key, going by its last word, as in authToken."""
    return _SECRET.search(_HUMP.sub("-", name)) is not None


class Upload(Noun):
    """A file sent as one part of a multipart form."""

    field: str
    data: bytes = Field(repr=False)
    media_type: str = "image/png"
    filename: str = "image.png"


class Call(Noun):
    """A request without its secrets: they are added by the client when it is sent, and are no part of the key."""

    url: str
    method: Literal["GET", "POST", "PUT"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = Field(default=None, repr=False)
    """Sent as JSON, its keys in the order given: inside a JSON schema their order can change an answer."""
    form: dict[str, str] = Field(default_factory=dict)
    """Fields of a multipart form, beside `uploads`."""
    uploads: tuple[Upload, ...] = ()
    repeat: int = Field(default=0, ge=0)
    """Number of the sample where one question is asked several times; part of the key, never sent."""
    order: CallOrder | None = None
    """What is bought, for the price list; no part of the key."""

    @model_validator(mode="after")
    def _one_kind_of_content_and_no_secrets(self) -> Call:
        if self.body is not None and (self.form or self.uploads):
            raise ValueError("a call has a JSON body or a form, not both")
        secret_headers = [name for name in self.headers if is_secret(name)]
        if secret_headers:
            raise ValueError(f"{secret_headers[0]} is a secret: name it as a Secret of the client, not in a call")
        return self

    @cached_property
    def content(self) -> bytes | None:
        """The JSON body as it is sent."""
        return None if self.body is None else _json(self.body)

    @cached_property
    def key(self) -> str:
        """SHA-256 over method, address, headers, content and `repeat`; files count by their own hash."""
        head = {
            "form": FORM,
            "method": self.method,
            "url": self.url,
            "headers": sorted((name.lower(), value) for name, value in self.headers.items()),
            "fields": sorted(self.form.items()),
            "files": [(part.field, part.media_type, hashlib.sha256(part.data).hexdigest()) for part in self.uploads],
            "repeat": self.repeat,
        }
        digest = hashlib.sha256(_json(head))
        digest.update(b"\n" if self.content is None else b"\n\n" + self.content)
        return digest.hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


# -- answers -----------------------------------------------------------------------------------------------------------

STORED_HEADERS = ("content-type", "date", "retry-after", "x-request-id", "openai-version", "openai-processing-ms")
"""Headers worth keeping; all others, cookies above all, are dropped."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
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


# -- tokens and use ----------------------------------------------------------------------------------------------------

Usable = Callable[[CallAnswer], str | None]
"""Why an answer cannot be used, or None when it can. Called before the answer is stored."""
MOST_TOKENS = 10**12
"""A server that counts more of them is not believed."""
_QUICK = 1 << 16
"""Bodies of more bytes are looked at on another thread: decoding a picture must not hold up other calls."""


async def examine(answer: CallAnswer, usable: Usable | None) -> tuple[CallAnswer, str | None]:
    """`answer` with its tokens, and why it cannot be used, if it cannot."""
    if len(answer.body) <= _QUICK:
        return _examine(answer, usable)
    return await asyncio.to_thread(_examine, answer, usable)


def _examine(answer: CallAnswer, usable: Usable | None) -> tuple[CallAnswer, str | None]:
    if "json" in answer.headers.get("content-type", ""):
        try:
            tokens_in, tokens_out = read_usage(read_json(answer.body))
        except ValueError:
            return answer, "the body is not the JSON it is said to be"
        answer = replace(answer, tokens_in=tokens_in, tokens_out=tokens_out)
    return answer, None if usable is None else usable(answer)


def read_usage(content: Any) -> tuple[int | None, int | None]:
    """(tokens read, tokens written) from `usage`, under either pair of names in use; None where it is missing.

    Gemini has them under names of its own, with those of thoughts, which are paid like any other, apart.
    """
    if isinstance(content, dict) and isinstance(gemini := content.get("usageMetadata"), dict):
        written = [_count(gemini, name) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
        known = [count for count in written if count is not None]
        return _count(gemini, "promptTokenCount"), sum(known) if known else None
    usage = content.get("usage") if isinstance(content, dict) else None
    if not isinstance(usage, dict):
        return None, None
    return _count(usage, "input_tokens", "prompt_tokens"), _count(usage, "output_tokens", "completion_tokens")


def _count(usage: dict[str, Any], *names: str) -> int | None:
    counts = [usage[name] for name in names if isinstance(usage.get(name), int)]
    return max(0, counts[0]) if counts and counts[0] <= MOST_TOKENS else None
