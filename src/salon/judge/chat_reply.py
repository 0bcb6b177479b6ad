"""From an answer of the chat protocol to a reply: its text, what stopped it, the options' chances, tokens, cost."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from salon.calls.answer import Answer, Refusal, read_json
from salon.judge.chances import option_chances
from salon.judge.structured import is_too_long
from salon.judge.vlm import Conversation, NoReply, Reply

FROM_BATCH = "x-batch-id"
"""Header of answers that came in a batch file: the time they took is not known."""
LONGEST = 1_000_000
"""Characters of the longest text that is taken for an answer: as many as a record holds."""
_FILTERED = re.compile(
    r"content[ _-]?(filter|policy|management)|moderation|safety (system|policy)|responsible ?ai", re.I
)
_KINDS = {"timeout": "timeout"}
_PICTURE = re.compile(
    r"(?=.*\bimage)(invalid|corrupt|cannot|could not|unable|failed|unsupported|decode|download)", re.I
)


def why_unusable(answer: Answer) -> str | None:
    """Why an answer is none of the chat protocol; None when it is, whatever it says."""
    try:
        message = _content(answer.body)["choices"][0]["message"]
        content = message.get("content")
    except (ValueError, LookupError, TypeError, AttributeError):
        return "the answer is not of the chat protocol"
    if content is not None and not isinstance(content, str | list):
        return "the answer's content is no text"
    return f"the answer has more than {LONGEST:,} characters" if len(_text(content)) > LONGEST else None


def read_reply(answer: Answer, asked: Conversation) -> Reply | NoReply:
    """What the VLM said; or that it was kept from saying it."""
    data = _content(answer.body)
    choice = data["choices"][0]
    message, ended = choice["message"], choice.get("finish_reason")
    if ended == "content_filter" or message.get("refusal"):
        reason = message.get("refusal") or "the answer was held back by a content filter"
        return NoReply(kind="refused", reason=str(reason)[:1000])
    return Reply(
        text=_text(message.get("content")),
        cut=ended == "length",
        chances=_chances(choice.get("logprobs"), asked.options),
        model=data["model"][:200] if isinstance(data.get("model"), str) else None,
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        cost=answer.cost,
        seconds=None if FROM_BATCH in answer.headers else answer.seconds,
        at=answer.at,
        stored=answer.stored,
    )


def is_cut_off(reply: Reply | NoReply, asked: Conversation) -> bool:
    """Whether the token limit ended a reply before its answer: it is no answer, and worth asking with more tokens.

    A reply with the options' chances is whole: the first word is all that is wanted. So is one that was asked for an
    object, gave it, and was stopped only in what it went on to say.
    """
    if not isinstance(reply, Reply) or not reply.cut or reply.chances is not None:
        return False
    return not ((asked.shape is not None or asked.options) and _has_object(reply.text))


def with_cost_of(reply: Reply | NoReply, cut_off: Sequence[Answer]) -> Reply | NoReply:
    """The reply with the tokens and the cost of those before it that were cut off."""
    if not isinstance(reply, Reply) or not cut_off:
        return reply
    fields = ("tokens_in", "tokens_out", "cost")
    told = {name: [getattr(one, name) for one in (reply, *cut_off)] for name in fields}
    known = {name: [value for value in values if value is not None] for name, values in told.items()}
    return reply.model_copy(update={name: sum(values) if values else None for name, values in known.items()})


def _has_object(text: str) -> bool:
    decoder = json.JSONDecoder()
    for start in (at for at, letter in enumerate(text) if letter == "{"):
        try:
            decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        return True
    return False


@lru_cache(maxsize=64)
def _content(body: bytes) -> Any:
    """The body as JSON, to be looked at only: it is read once to be stored and once to be used."""
    return read_json(body)


def no_reply(refusal: Refusal) -> NoReply:
    """A refusal of the server as the fate of a question."""
    tries = f" (after {refusal.attempts} attempts)" if refusal.attempts > 1 else ""
    return NoReply(kind=_kind(refusal), reason=refusal.reason + tries)


def _kind(refusal: Refusal) -> str:
    if refusal.kind != "rejected":
        return _KINDS.get(refusal.kind, "error")
    if is_too_long(refusal):
        return "too-long"
    words = f"{refusal.code} {refusal.reason}"
    if _FILTERED.search(words):
        return "refused"
    return "broken-image" if _PICTURE.search(words) else "error"


def _text(content: Any) -> str:
    """The text of a message: a string, parts, or nothing where all tokens went into thoughts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content or ""


def _chances(logprobs: Any, options: tuple[str, ...]) -> dict[str, float] | None:
    """None where the server gives none, or in a form of its own."""
    if not options or not logprobs:
        return None
    try:
        entries = logprobs["content"]
        return option_chances([_bytes(entry) for entry in entries], lambda place: _likely(entries[place]), options)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _likely(entry: Any) -> dict[bytes, float]:
    listed = [*(entry.get("top_logprobs") or []), entry]
    likely = {_bytes(one): float(one["logprob"]) for one in listed}
    return {text: value for text, value in likely.items() if math.isfinite(value)}


def _bytes(entry: Any) -> bytes:
    """The bytes of a token, which may be a part of a character; servers that do not tell them tell its text."""
    told = entry.get("bytes")
    return bytes(told) if isinstance(told, list) and told else str(entry["token"]).encode("utf-8", "replace")
