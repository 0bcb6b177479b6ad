"""What an answer says about itself: its tokens, and whether it can be used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from salon.calls.answer import Answer, read_json

Usable = Callable[[Answer], str | None]
"""Why an answer cannot be used, or None when it can. Called before the answer is stored."""
MOST_TOKENS = 10**12
"""A server that counts more of them is not believed."""
_QUICK = 1 << 16
"""Bodies of more bytes are looked at on another thread: decoding a picture must not hold up other calls."""


async def examine(answer: Answer, usable: Usable | None) -> tuple[Answer, str | None]:
    """`answer` with its tokens, and why it cannot be used, if it cannot."""
    if len(answer.body) <= _QUICK:
        return _examine(answer, usable)
    return await asyncio.to_thread(_examine, answer, usable)


def _examine(answer: Answer, usable: Usable | None) -> tuple[Answer, str | None]:
    if "json" in answer.headers.get("content-type", ""):
        try:
            tokens_in, tokens_out = read_usage(read_json(answer.body))
        except ValueError:
            return answer, "the body is not the JSON it is said to be"
        answer = replace(answer, tokens_in=tokens_in, tokens_out=tokens_out)
    return answer, None if usable is None else usable(answer)


def read_usage(content: Any) -> tuple[int | None, int | None]:
    """(tokens read, tokens written) from `usage`, under either pair of names in use; None where it is not told."""
    usage = content.get("usage") if isinstance(content, dict) else None
    if not isinstance(usage, dict):
        return None, None
    return _count(usage, "input_tokens", "prompt_tokens"), _count(usage, "output_tokens", "completion_tokens")


def _count(usage: dict[str, Any], *names: str) -> int | None:
    found = [usage[name] for name in names if isinstance(usage.get(name), int)]
    return max(0, found[0]) if found and found[0] <= MOST_TOKENS else None
