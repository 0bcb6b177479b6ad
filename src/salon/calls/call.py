"""One question to a server, and the key under which its answer is kept."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, model_validator

from salon.calls.prices import Order
from salon.study.noun import Noun

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
    order: Order | None = None
    """What is bought, for the price list; no part of the key."""

    @model_validator(mode="after")
    def _one_kind_of_content_and_no_secrets(self) -> Call:
        if self.body is not None and (self.form or self.uploads):
            raise ValueError("a call has a JSON body or a form, not both")
        held = [name for name in self.headers if is_secret(name)]
        if held:
            raise ValueError(f"{held[0]} is a secret: name it as a Secret of the client, not in a call")
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
