"""Pictures from any server that takes JSON over HTTP: a small TOML template says what to send and where to look.

    name = "studio"
    url = "https://host/generate"           # placeholders work here too, for servers asked by GET
    [headers]
    Authorization = "Bearer ${STUDIO_KEY}"  # from the environment, when a request is sent; in headers only
    [body]
    prompt = "{prompt}"                     # alone in its quotes, a placeholder keeps its type: {seed} is a number
    seed = "{seed}"
    size = "{width}x{height}"
    [answer]
    image = "images[0].data"                # where the picture is; form: base64, url, or bytes for the whole body
    facts = { model = "meta.model" }
    [defaults]
    width = 1024
    height = 1024
    [limits]
    per_minute = 60

Placeholders: {prompt} {seed} {width} {height} {image} (base64) {strength}; {{ and }} for braces.
"""

from __future__ import annotations

import base64
import binascii
import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import parse_qsl, quote

from pydantic import Field

from salon.calls import (
    Budget,
    Call,
    CallAnswer,
    Caller,
    CallOrder,
    CallStore,
    Client,
    Limits,
    Prices,
    Refusal,
    Secret,
    Service,
    check_url,
    is_local,
    is_secret,
    resolves_to_private,
)
from salon.errors import BadFile, BadValue, InputError, shorten
from salon.store import read_picture
from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, Noun, Signature

if TYPE_CHECKING:
    import httpx2

PLACEHOLDERS = ("prompt", "seed", "width", "height", "image", "strength")
_PLACE = re.compile(r"\{\{|\}\}|\{(\w*)\}")
_HEADER = re.compile(r"[A-Za-z0-9_-]+")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_REMEDY = "docs/guide/generators.md shows a whole template"
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


class AnswerLocation(Noun):
    """Where in an answer the picture is."""

    form: Literal["base64", "url", "bytes"] = "base64"
    image: str = ""
    """A path such as `data[0].b64_json`; none for bytes."""
    facts: dict[str, str] = Field(default_factory=dict)
    """Paths of what else to keep, by the name to keep it under."""


class TemplateDefaults(Noun):
    """What stands in for a size or strength that an ask leaves open."""

    width: int | None = Field(default=None, ge=16, le=8192)
    height: int | None = Field(default=None, ge=16, le=8192)
    strength: float | None = Field(default=None, gt=0, le=1)


class HttpTemplate(Noun):
    """How one server is asked."""

    name: str
    url: str
    method: Literal["GET", "POST", "PUT"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    body: dict[str, Any] = Field(default_factory=dict)
    answer: AnswerLocation = Field(default_factory=AnswerLocation)
    defaults: TemplateDefaults = Field(default_factory=TemplateDefaults)
    limits: Limits = Field(default_factory=Limits)
    model: str | None = None
    """The name to look up in a price list."""
    allow_http: bool = False

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """The template in a TOML file, checked."""
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise BadFile("a template in TOML is needed", found=str(error), where=str(path)) from None
        try:
            template = cls.parse(content)
        except BadValue as error:  # without what was found: it may be a key that should not be in the file
            raise BadValue(error.needed, where=str(path), remedy=_REMEDY) from None
        template.check(where=str(path))
        return template

    def check(self, *, where: str | None = None) -> None:
        """Raise BadValue for what could only fail, or leak, once requests are sent."""
        if any(_VARIABLE.search(text) for text in (self.url, *_texts(self.body))):
            raise BadValue("${...} works in [headers] only", where=where, remedy="send the key in a header")
        used = self.placeholders()
        for name in sorted(used - set(PLACEHOLDERS)):
            near = difflib.get_close_matches(name, PLACEHOLDERS, n=1)
            remedy = f"{{{near[0]}}}" if near else "one of " + " ".join(f"{{{word}}}" for word in PLACEHOLDERS)
            raise BadValue("a known placeholder is needed", found=f"{{{name}}}", where=where, remedy=remedy)
        if "prompt" not in used:
            raise BadValue("the body or url needs {prompt}", found="none", where=where, remedy='prompt = "{prompt}"')
        if self.method == "GET" and self.body:
            raise BadValue("GET has no body", found="[body]", where=where, remedy="placeholders in url, or POST")
        if (self.answer.form == "bytes") == bool(self.answer.image):
            needed = "answer.image is needed, and only for base64 and url"
            raise BadValue(needed, found=self.answer.image or "none", where=where, remedy='image = "data[0].b64_json"')
        self._check_headers(where)
        self.secrets(where=where)

    def _check_headers(self, where: str | None) -> None:
        """Headers that a request can carry, and no key in the url, which is kept with every answer."""
        for name, value in self.headers.items():
            if not _HEADER.fullmatch(name) or not (value.isascii() and value.isprintable() and value == value.strip()):
                needed = "headers need a name in letters, digits and hyphens, and a value in plain ASCII"
                raise BadValue(needed, found=f"[headers] {name!r}", where=where)  # its value may be a key
        for name, _ in parse_qsl(self.url.partition("?")[2]):
            if is_secret(name):
                remedy = "send it in a header, from an environment variable"
                raise BadValue("a key may not stand in the url", found=f"{name}=...", where=where, remedy=remedy)

    def placeholders(self) -> set[str]:
        """The names in braces, in body and url."""
        searches = (_PLACE.finditer(text) for text in (self.url, *_texts(self.body)))
        return {match[1] for matches in searches for match in matches if match[1] is not None}

    def secrets(self, *, where: str | None = None) -> tuple[Secret, ...]:
        """The headers that take their value from the environment."""
        secrets = []
        for header, value in self.headers.items():
            names = _VARIABLE.findall(value)
            if len(names) > 1 or (not names and is_secret(header)):
                raise BadValue(
                    f"the header {header} must take its key from one environment variable",
                    found=f"{len(names)} variables" if names else "a value in the file",
                    where=where,
                    remedy=f'{header} = "Bearer ${{MY_KEY}}"',
                )
            if names:
                secrets.append(Secret(names[0], header, _VARIABLE.sub("{}", value)))
        return tuple(secrets)

    def plain_headers(self) -> dict[str, str]:
        """The headers that hold no secret."""
        return {name: value for name, value in self.headers.items() if not _VARIABLE.search(value)}


class HttpGenerator:
    """The server that a template describes."""

    def __init__(
        self,
        template: HttpTemplate,
        *,
        store: CallStore,
        prices: Prices | None = None,
        budget: Budget | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        template.check()
        self.template, self.name = template, template.name
        self._used = template.placeholders()
        self.abilities = Abilities(
            text_to_image="image" not in self._used,
            image_to_image="image" in self._used,
            strength="strength" in self._used,
            seeded="seed" in self._used,
            batch=template.limits.concurrency,
        )
        base_url = _PLACE.sub("x", template.url)
        self._service = Service(
            base_url, template.secrets(), template.limits, prices or Prices(), budget or Budget(), template.allow_http
        )
        self._client = Client(self._service, store, transport=transport)

    @property
    def signature(self) -> Signature:
        """The address, and a hash of what is sent and read; the key is no part of it."""
        content = self.template.model_dump(mode="json", include={"method", "headers", "body", "answer", "defaults"})
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        settings = {"url": self.template.url, "template": digest[:12]}
        return Signature(method="http", settings=settings)

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        """(index into `asks`, result) as the pictures come. What cannot work is raised before anything is sent."""
        for ask in asks:
            self._values(ask)
        if self._service.budget.money is not None:
            self._service.prices.need(self.template.model or self.name, pictures=True)
        self._service.secret_headers(self._service.base_url)
        return self._results(asks)

    def notes(self) -> list[str]:
        """What the report of a run should say about the calls."""
        return self._client.notes()

    def _results(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        with closing(self._client.over(asks, self._ask)) as results:
            yield from results

    def _values(self, ask: Ask) -> dict[str, Any]:
        """What each placeholder stands for; BadValue when the template needs what neither ask nor defaults have."""
        defaults = self.template.defaults
        values = {
            "prompt": ask.prompt.view(),
            "seed": ask.seed,
            "width": ask.width or defaults.width,
            "height": ask.height or defaults.height,
            "strength": ask.strength or defaults.strength,
            "image": None if ask.image is None else base64.b64encode(ask.image).decode(),
        }
        missing = sorted(name for name in self._used if values[name] is None)
        spare = [name for name in ("image", "strength") if getattr(ask, name) is not None and name not in self._used]
        if missing or spare:
            raise BadValue(
                f"the template of {self.name!r} and the ask must fit",
                found=f"no value for {{{missing[0]}}}" if missing else f"an ask with {spare[0]}, which is never sent",
                where=f"prompt {ask.prompt.id!r}",
                remedy="add it to [defaults], or to the ask" if missing else f"use {{{spare[0]}}} in the template",
            )
        return values

    def _call(self, ask: Ask) -> Call:
        values = self._values(ask)
        template = self.template
        order = CallOrder(
            model=template.model or self.name,
            images=1,
            size=f"{values['width']}x{values['height']}",
            input_images=ask.image is not None,
            input_tokens=len(values["prompt"].encode()),  # no token is shorter than a byte
        )
        return Call(
            url=str(_fill(template.url, {name: quote(str(value), safe="") for name, value in values.items()})),
            method=template.method,
            headers=template.plain_headers(),
            body=_fill(template.body, values) if template.body else None,
            repeat=0 if self.abilities.seeded else ask.seed,
            order=order,
        )

    async def _ask(self, caller: Caller, ask: Ask) -> GeneratedPicture | FailedPicture:
        answer = await caller.ask(self._call(ask), self._why_unusable)
        if isinstance(answer, Refusal):
            return picture_failed(answer)
        where = self.template.answer
        if where.form == "bytes":
            return picture_made(answer.body, answer, {})
        content = answer.data()
        source = value_at(content, where.image)
        data = await fetch_picture(caller, source, answer) if where.form == "url" else decode_base64(source)
        if isinstance(data, FailedPicture):
            return data
        facts = {}
        for name, path in where.facts.items():
            with suppress(LookupError):
                facts[name] = value_at(content, path)
        return picture_made(data, answer, facts)

    def _why_unusable(self, answer: CallAnswer) -> str | None:
        where = self.template.answer
        if where.form == "bytes":
            return why_broken(answer.body)
        try:
            source = value_at(answer.data(), where.image)
        except ValueError:
            return "the answer is not JSON"
        except LookupError as error:
            return f"the answer has no {where.image}: {error.args[0]}"
        return why_not_a_picture(source, is_address=where.form == "url")


def value_at(content: Any, path: str) -> Any:
    """The value at a path such as `data[0].b64_json`; LookupError says what is there instead."""
    for match in _STEP.finditer(path):
        step = int(match[2]) if match[2] else match[1]
        try:
            content = content[step]
        except (LookupError, TypeError):
            there = ", ".join(map(str, list(content)[:8])) if isinstance(content, dict) else type(content).__name__
            raise LookupError(f"{step!r} is not in {there or 'an empty object'}") from None
    return content


def _fill(part: Any, values: Mapping[str, Any]) -> Any:
    """`part` with every placeholder replaced; one that is alone in its text keeps its type."""
    if isinstance(part, dict):
        return {name: _fill(inner, values) for name, inner in part.items()}
    if isinstance(part, list):
        return [_fill(inner, values) for inner in part]
    if not isinstance(part, str):
        return part
    alone = _PLACE.fullmatch(part)
    if alone and alone[1]:
        return values[alone[1]]
    return _PLACE.sub(lambda match: str(values[match[1]]) if match[1] else match[0][0], part)


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _texts(inner)
    elif isinstance(part, str):
        yield part


# -- from an answer to a picture ---------------------------------------------------------------------------------------

MODERATION = {"moderation_blocked", "content_policy_violation", "content_filter", "safety_violation"}
_SAFETY = re.compile(r"safety system|content[ _]policy|moderation|content[ _]filter", re.IGNORECASE)
LONGEST_FACT = 4000
_LASTING_FAILURES = {"rejected", "redirect", "unusable", "too-large"}
"""Fetching failed in a way that will not pass by itself."""
_FAILURE_KINDS = {"timeout": "timeout", "unusable": "broken-image"}


def decode_base64(text: str) -> bytes:
    """The bytes in base64 text or in a data URL; ValueError when they are none."""
    if text.startswith("data:"):
        head, _, text = text.partition(",")
        if not head.endswith(";base64"):
            raise ValueError("a data URL that is not base64")
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("text that is not base64") from None


def why_broken(data: bytes) -> str | None:
    """What keeps `data` from being a whole picture; None when nothing does."""
    try:
        read_picture(data)
    except InputError as error:
        return f"the picture is broken: {error.found or error.needed}"
    return None


def why_not_a_picture(source: object, *, is_address: bool) -> str | None:
    """What is wrong with base64 text or an address as an answer names them; the address is not fetched here."""
    if not isinstance(source, str) or not source:
        return "the answer holds no picture"
    if is_address and not source.startswith("data:"):
        return None
    try:
        return why_broken(decode_base64(source))
    except ValueError as error:
        return f"the picture is broken: {error}"


async def fetch_picture(caller: Caller, url: str, answer: CallAnswer) -> bytes | FailedPicture:
    """The picture at the address that `answer` gave: kept like any answer, because such addresses expire.

    Only https and public hosts are followed; a server on this machine may also name this machine. Where the picture
    is gone, the answer is set aside, so that the next run asks for a new one; otherwise the next run fetches it.
    """
    if url.startswith("data:"):
        return decode_base64(url)
    home = caller.service.base_url
    try:
        check_url(url)
        if (
            not caller.service.is_home(url)
            and not (is_local(home) and is_local(url))
            and await resolves_to_private(url)
        ):
            raise BadValue("a public address is needed")
    except BadValue as error:
        await caller.set_aside(answer, "its address may not be followed")
        return FailedPicture(reason=f"the server names an address that is not followed: {error.needed}", kind="error")
    outcome = await caller.ask(Call(url=url, method="GET"), lambda picture: why_broken(picture.body))
    if isinstance(outcome, CallAnswer):
        return outcome.body
    if outcome.kind in _LASTING_FAILURES:
        await caller.set_aside(answer, f"its picture could not be fetched: {outcome.reason}")
    return picture_failed(outcome)


def picture_made(data: bytes, answer: CallAnswer, facts: dict[str, Any]) -> GeneratedPicture:
    """The picture with what its call cost and what the server told; facts that are None are left out."""
    call = {
        "seconds": round(answer.seconds, 3),
        "attempts": answer.attempts,
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
        "cost": answer.cost,
        "request_id": answer.headers.get("x-request-id"),
    }
    record = {name: value for name, value in (call | facts).items() if value is not None}
    for name, value in record.items():  # short, and without parts
        if not isinstance(value, bool | int | float):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            record[name] = shorten(text, LONGEST_FACT)
    return GeneratedPicture(image=data, facts=record)


def picture_failed(refusal: Refusal) -> FailedPicture:
    """A refusal as the record of a picture that was not made."""
    blocked = refusal.kind == "rejected" and (refusal.code in MODERATION or _SAFETY.search(refusal.reason))
    kind = "refused" if blocked else _FAILURE_KINDS.get(refusal.kind, "error")
    tries = f" (after {refusal.attempts} attempts)" if refusal.attempts > 1 else ""
    return FailedPicture(reason=refusal.reason + tries, kind=kind)
