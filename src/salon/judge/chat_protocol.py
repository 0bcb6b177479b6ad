"""The chat protocol of OpenAI-style servers: requests, their keys, pictures, and how replies are read.

Anthropic and Gemini may be asked in their own protocols (`salon.judge.native_protocols`): the same questions and keys,
other bodies.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field, model_validator

from salon.calls import Call, CallAnswer, CallOrder, Refusal, check_url, read_json
from salon.judge.native_protocols import HEADERS, Api, as_chat, native_body, request_url, with_fields
from salon.judge.vlm import Conversation, NoReply, Reply, Sight
from salon.store import MEDIA_TYPES, Picture, fit_within, read_bytes, read_picture
from salon.study import Noun


def verdict_place(text: bytes, options: Sequence[str]) -> int | None:
    """Where in `text`, in bytes, the verdict begins; None when no option is in it.

    The last option that stands as a whole JSON string (`"A"`), else the last one that stands as a word of its own.
    """
    for pattern in _patterns(tuple(options)):
        matches = list(pattern.finditer(text))
        if matches:
            return matches[-1].start(1)
    return None


@cache
def _patterns(options: tuple[str, ...]) -> tuple[re.Pattern[bytes], ...]:
    """An option as a whole JSON string, and as a word of its own."""
    if not options:
        return ()
    words = b"|".join(re.escape(option.encode()) for option in sorted(options, key=len, reverse=True))
    alone = rb"(?<![0-9A-Za-z_\x80-\xff])(%b)(?![0-9A-Za-z_\x80-\xff])" % words
    return re.compile(rb'"(%b)"(?!\s*:)' % words), re.compile(alone)


def option_chances(
    tokens: Sequence[bytes], likely: Callable[[int], Mapping[bytes, float]], options: Sequence[str]
) -> dict[str, float] | None:
    """Log-probability of each option at the verdict's place, from the texts of the reply's tokens.

    Given everything said before it, the chance of an option is that of all tokens that begin it and no other option.
    `likely` gives the log-probabilities of the tokens that might have stood at a place, as far as they are known; an
    option that none of them begins is left out.
    """
    place = verdict_place(b"".join(tokens), options)
    if place is None:
        return None
    start = 0
    for number, text in enumerate(tokens):
        if start + len(text) > place:
            by_option: dict[str, list[float]] = {}
            for token, chance in likely(number).items():
                option = option_begun(token, text[: place - start], options)
                if option is not None:
                    by_option.setdefault(option, []).append(chance)
            return {option: _log_sum(by_option[option]) for option in options if option in by_option} or None
        start += len(text)
    return None


def option_begun(text: bytes, before: bytes, options: Sequence[str]) -> str | None:
    """The one option that a token begins, after `before` (a space, a quotation mark) which shares the token with it."""
    if len(text) <= len(before) or not text.startswith(before):
        return None
    rest = text[len(before) :]
    fits = []
    for option in options:  # all of it, a part of it, or it with a quotation mark behind
        word = option.encode()
        if word.startswith(rest) or (rest.startswith(word) and not rest[len(word) :].strip(b'" \t\r\n},.')):
            fits.append(option)
    return fits[0] if len(fits) == 1 else None


def _log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top if math.isinf(top) else top + math.log(sum(math.exp(value - top) for value in values))


# -- what an endpoint understands --------------------------------------------------------------------------------------

Structured = Literal["auto", "schema", "json", "none"]
_TURNED_DOWN = {400, 415, 422, 501}
_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|too (long|many (input )?tokens)|prompt is too", re.I
)
_SHAPE = re.compile(
    r"response_?format|json_?schema|json_?object|structured|guided|grammar|\bschema\b|output_?(config|format)"
    r"|response_?mime",
    re.I,
)
_LOGPROBS = re.compile(r"log_?prob", re.I)
_LIMIT = re.compile(r"max_completion_tokens", re.I)
_TEMPERATURE = re.compile(r"\btemperature\b", re.I)
_SEED = re.compile(r"\bseed\b", re.I)


class Dialect(Noun):
    """The fields an endpoint is believed to take.

    Servers of one protocol differ in the fields they take. The fullest request is tried first. A 400 that names a field
    makes the next requests do without it (an error costs nothing), and what was learnt is remembered:

        response_format   a JSON schema, then any JSON object, then nothing
        logprobs          of the 20 likeliest tokens, then of 5, then none
        max_tokens        under its old name, then as max_completion_tokens
        temperature       as set, then left to the server, which is noted: its answers are then not greedy
        seed              as set, one further for each sample; then left out

    Answers are kept under the key of the question, not of the request, so learning never buys anything twice.
    """

    structured: Literal["schema", "json", "none"] = "schema"
    firm: bool = False
    """Whether `structured` was the user's choice, which is never given up."""
    logprobs: Literal[20, 5, 0] = 20
    """Likeliest tokens that are told of at each place."""
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    seed: bool = True

    @classmethod
    def first(cls, structured: Structured, api: Api = "openai") -> Dialect:
        """What is tried first under the setting `structured`; Anthropic's protocol has no seed and no logprobs."""
        known: dict[str, Any] = {"logprobs": 0, "seed": False} if api == "anthropic" else {}
        return cls(**known) if structured == "auto" else cls(structured=structured, firm=True, **known)

    def fields(self, conversation: Conversation) -> dict[str, Any]:
        """The fields of a request, beside its model and messages."""
        decoding = conversation.decoding
        fields: dict[str, Any] = {self.limit: decoding.max_tokens}
        if self.temperature:
            fields["temperature"] = decoding.temperature
        if self.seed and decoding.seed is not None:
            fields["seed"] = (decoding.seed + conversation.sample) % 2**31
        if self.logprobs and conversation.options:
            fields |= {"logprobs": True, "top_logprobs": self.logprobs}
        if conversation.shape is not None and self.structured != "none":
            fields["response_format"] = self._shape(conversation.shape)
        return fields

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
        notes = []
        if not self.firm and self.structured != "schema":
            how = {"json": "any JSON object", "none": "free text"}[self.structured]
            notes.append(f"the endpoint takes no JSON schema: answers were asked for as {how}")
        if not self.logprobs:
            notes.append("the endpoint gives no log-probabilities")
        if not self.temperature:
            notes.append("the endpoint takes no temperature: answers are sampled as it pleases, not greedy")
        if not self.seed:
            notes.append("the endpoint takes no seed")
        return notes


def is_too_long(refusal: Refusal) -> bool:
    """Whether a refusal says that the question is over the context limit."""
    return refusal.kind == "rejected" and bool(_TOO_LONG.search(f"{refusal.code} {refusal.reason}"))


# -- pictures ----------------------------------------------------------------------------------------------------------

_PICTURES_READY = 64
"""Pictures kept ready to be sent: those of one prompt meet again and again."""
_HASHES = 1 << 20


class PictureSettings(Noun):
    """How pictures are sent."""

    pixels: int = Field(default=1024 * 1024, ge=64)
    """The most pixels of one; larger ones are made smaller, their shape kept."""
    format: Literal["png", "jpeg"] = "png"
    """Of pictures that cannot go as they are."""
    quality: int = Field(default=95, ge=1, le=100)
    """Of such a JPEG."""
    detail: Literal["low", "high", "auto"] | None = None
    """How closely the server is told to look; not told by default."""
    address: str | None = None
    """Where the server finds the pictures itself, for instance https://host/{item}.png or https://host/{file};
    they are then not sent, and the budget of pixels is the server's."""

    @model_validator(mode="after")
    def _address_can_be_filled(self) -> PictureSettings:
        if self.address is not None:
            check_url(self.address.replace("{item}", "x").replace("{file}", "x"))
            if "{item}" not in self.address and "{file}" not in self.address:
                raise ValueError("an address of pictures names {item} or {file}, or all of them are the same picture")
        return self


class PictureEncoder:
    """Encodes pictures within a budget of pixels, as bytes that are the same every time.

    A picture that is small enough, upright and a PNG or JPEG goes as the bytes of its file. Any other is decoded, made
    smaller with a Lanczos filter and written in the format that is set. Its identity is the hash of its file with these
    settings: known before anything is decoded, and the same under every version of the libraries.
    """

    def __init__(self, settings: PictureSettings) -> None:
        self.settings = settings
        self.digest = lru_cache(_HASHES)(_digest)
        self._inline = lru_cache(_PICTURES_READY)(self._written)

    def identity(self, sight: Sight) -> dict[str, object]:
        """What decides which pixels are seen; BadFile where there is no file."""
        return {"sha256": self.digest(sight.path)} | self.settings.record()

    def part(self, sight: Sight) -> dict[str, object]:
        """The picture as a part of a message; BadFile when it is broken."""
        image_url = {"url": self._url(sight)} | ({"detail": self.settings.detail} if self.settings.detail else {})
        return {"type": "image_url", "image_url": image_url}

    def _url(self, sight: Sight) -> str:
        if self.settings.address is None:
            return self._inline(sight.path)
        filled = self.settings.address.replace("{item}", quote(sight.item, safe=""))
        return filled.replace("{file}", quote(sight.path.name, safe=""))

    def _written(self, path: Path) -> str:
        picture = read_picture(path)
        data, format = self._as_it_is(picture) or self._again(picture)
        return f"data:{MEDIA_TYPES[format]};base64,{base64.b64encode(data).decode()}"

    def _as_it_is(self, picture: Picture) -> tuple[bytes, str] | None:
        fits = picture.width * picture.height <= self.settings.pixels
        return (picture.data, picture.format) if fits and picture.is_plain and picture.format in _SENT_FORMATS else None

    def _again(self, picture: Picture) -> tuple[bytes, str]:
        target = io.BytesIO()
        image = fit_within(picture.image, self.settings.pixels)
        if self.settings.format == "jpeg":
            image.save(target, "JPEG", quality=self.settings.quality, subsampling=0)
            return target.getvalue(), "JPEG"
        image.save(target, "PNG", compress_level=4)
        return target.getvalue(), "PNG"


_SENT_FORMATS = ("PNG", "JPEG")
"""Formats that every server reads."""


def _digest(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


# -- requests and their keys -------------------------------------------------------------------------------------------

KEY_VERSION = 1
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
    api: Api = "openai"
    """The protocol that the server speaks."""

    @property
    def url(self) -> str:
        """Where questions go."""
        return request_url(self.api, self.base_url, self.model)

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every request, beside the key."""
        return HEADERS[self.api]

    @cached_property
    def _pictures(self) -> PictureEncoder:
        return PictureEncoder(self.pictures)

    def key(self, conversation: Conversation) -> str:
        """SHA-256 over the question; BadFile where one of its pictures is missing.

        It covers what is asked: address, model, texts, pictures (hash of the file and how they are sent), decoding, the
        shape of the answer and the number of the sample. It does not cover how a server is told all that (`Dialect`),
        nor the bytes of pictures that were made smaller. So an answer is found again whatever fields the server takes.
        """
        parts = [part if isinstance(part, str) else self._pictures.identity(part) for part in conversation.parts]
        covered = {
            "form": KEY_VERSION,
            "url": self.url,
            "model": self.model,
            "fields": dict(self.fields),
            "system": conversation.system,
            "parts": parts,
            "decoding": conversation.decoding.record(),
            "chances": bool(conversation.options),
            "structured": self.structured,
            "shape": conversation.shape,
            "sample": conversation.sample,
        }
        text = json.dumps(covered, ensure_ascii=False, separators=(",", ":"), sort_keys=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def messages(self, conversation: Conversation) -> list[dict[str, Any]]:
        """The conversation with its pictures, decoded and written; BadFile when one is broken."""
        parts = [
            {"type": "text", "text": part} if isinstance(part, str) else self._pictures.part(part)
            for part in conversation.parts
        ]
        system = [] if conversation.system is None else [{"role": "system", "content": conversation.system}]
        return [*system, {"role": "user", "content": parts}]

    def body(self, conversation: Conversation, messages: list[dict[str, Any]], dialect: Dialect) -> dict[str, Any]:
        """The request as it is sent."""
        body = native_body(self.api, self.model, messages, dialect.fields(conversation))
        return with_fields(body, self.fields)

    def order(self, conversation: Conversation) -> CallOrder:
        """What the question may use at most, for the price list: no token is shorter than a byte."""
        texts = [part for part in (conversation.system, *conversation.parts) if isinstance(part, str)]
        return CallOrder(
            model=self.model,
            input_images=len(conversation.sights),
            input_tokens=sum(len(text.encode("utf-8", "surrogatepass")) for text in texts),
            output_tokens=conversation.decoding.max_tokens,
        )


# -- replies -----------------------------------------------------------------------------------------------------------

FROM_BATCH = "x-batch-id"
"""Header of answers that came in a batch file: the time they took is not known."""
LONGEST_REPLY = 1_000_000
"""Characters of the longest text that is taken for an answer: as many as a record holds."""
_CONTENT_FILTER = re.compile(
    r"content[ _-]?(filter|policy|management)|moderation|safety (system|policy)|responsible ?ai", re.I
)
_PICTURE = re.compile(
    r"(?=.*\bimage)(invalid|corrupt|cannot|could not|unable|failed|unsupported|decode|download)", re.I
)


def why_unusable(answer: CallAnswer) -> str | None:
    """Why an answer is none of the chat protocol; None when it is, whatever it says."""
    try:
        message = _content(answer.body)["choices"][0]["message"]
        content = message.get("content")
    except (ValueError, LookupError, TypeError, AttributeError):
        return "the answer is not of the chat protocol"
    if content is not None and not isinstance(content, str | list):
        return "the answer's content is no text"
    return f"the answer has more than {LONGEST_REPLY:,} characters" if len(_text(content)) > LONGEST_REPLY else None


def read_reply(answer: CallAnswer, conversation: Conversation) -> Reply | NoReply:
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
        chances=_chances(choice.get("logprobs"), conversation.options),
        model=data["model"][:200] if isinstance(data.get("model"), str) else None,
        tokens_in=answer.tokens_in,
        tokens_out=answer.tokens_out,
        cost=answer.cost,
        seconds=None if FROM_BATCH in answer.headers else answer.seconds,
        at=answer.at,
        stored=answer.stored,
    )


def is_cut_off(reply: Reply | NoReply, conversation: Conversation) -> bool:
    """Whether the token limit ended a reply before its answer: it is no answer, and worth asking with more tokens.

    A reply with the options' chances is whole: the first word is all that is wanted. So is one that was asked for an
    object, gave it, and was stopped only in what it went on to say.
    """
    if not isinstance(reply, Reply) or not reply.cut or reply.chances is not None:
        return False
    return not ((conversation.shape is not None or conversation.options) and _has_object(reply.text))


def with_cost_of(reply: Reply | NoReply, cut_off: Sequence[CallAnswer]) -> Reply | NoReply:
    """The reply with the tokens and the cost of those before it that were cut off."""
    if not isinstance(reply, Reply) or not cut_off:
        return reply
    fields = ("tokens_in", "tokens_out", "cost")
    counts = {name: [getattr(source, name) for source in (reply, *cut_off)] for name in fields}
    numbers = {name: [value for value in values if value is not None] for name, values in counts.items()}
    return reply.model_copy(update={name: sum(values) if values else None for name, values in numbers.items()})


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
    return as_chat(read_json(body))


def no_reply(refusal: Refusal) -> NoReply:
    """A refusal of the server as the fate of a question."""
    tries = f" (after {refusal.attempts} attempts)" if refusal.attempts > 1 else ""
    words = f"{refusal.code} {refusal.reason}"
    kind = "timeout" if refusal.kind == "timeout" else "error"
    if is_too_long(refusal):
        kind = "too-long"
    elif refusal.kind == "rejected" and _CONTENT_FILTER.search(words):
        kind = "refused"
    elif refusal.kind == "rejected" and _PICTURE.search(words):
        kind = "broken-image"
    return NoReply(kind=kind, reason=refusal.reason + tries)


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

        def likely(place: int) -> dict[bytes, float]:
            listed = [*(entries[place].get("top_logprobs") or []), entries[place]]
            chances = {_bytes(token): float(token["logprob"]) for token in listed}
            return {text: value for text, value in chances.items() if math.isfinite(value)}

        return option_chances([_bytes(entry) for entry in entries], likely, options)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _bytes(entry: Any) -> bytes:
    """The bytes of a token, which may be a part of a character; servers that do not tell them tell its text."""
    codes = entry.get("bytes")
    return bytes(codes) if isinstance(codes, list) and codes else str(entry["token"]).encode("utf-8", "replace")
