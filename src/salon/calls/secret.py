"""Keys come from the environment when a request is sent, and from nowhere else; they are never stored or shown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from salon.calls.errors import WrongKey

SHORTEST = 8
"""Characters that a key must have to be a secret."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A header whose value holds the contents of an environment variable. Its repr shows names only."""

    variable: str
    header: str = "Authorization"
    form: str = "Bearer {}"

    def value(self) -> str:
        """What the variable holds; WrongKey when that is nothing, or no header could carry it."""
        value = os.environ.get(self.variable, "").strip()
        if not value or not value.isascii() or not value.isprintable():
            raise WrongKey(
                f"the key must be in the environment variable {self.variable}",
                found="nothing" if not value else "characters that a header cannot carry",
                remedy=f"export {self.variable}=... in the shell that runs Salon",
            )
        return value

    def filled(self) -> tuple[str, str]:
        """The header and its value, for the moment of sending."""
        return self.header, self.form.replace("{}", self.value())


def redact(text: bytes, secrets: Iterable[Secret]) -> bytes:
    """`text` with every secret a server may have echoed replaced by the name of its variable.

    Not what is shorter than `SHORTEST`: servers that need no key are sent words like EMPTY, which pictures contain.
    """
    for secret in secrets:
        value = os.environ.get(secret.variable, "").strip()
        if len(value) >= SHORTEST:
            shown = f"[{secret.variable}]".encode()
            escaped = json.dumps(value)[1:-1]
            for form in (escaped.replace("/", "\\/"), escaped, value):
                text = text.replace(form.encode(), shown)
            if b"\\u00" in text:  # some servers write + and & so; no picture does, and looking for that is slow
                text = re.sub(_escaped_anyhow(value), shown.replace(b"\\", rb"\\"), text)
    return text


def _escaped_anyhow(value: str) -> bytes:
    """A pattern of `value` in which JSON may have escaped any character, or none."""
    letters = (rf"(?:\\?{re.escape(letter)}|\\u00(?i:{ord(letter):02x}))" for letter in value)
    return "".join(letters).encode()
