"""Pictures from any server that speaks the OpenAI images protocol: `images/generations`, and `images/edits` for asks
that bring a picture.

The protocol has no seed: each seed is one sample of its own, kept under its own key. With n pictures per call, seed s
is picture s mod n of call number s div n, so a resumed run finds what was paid for whichever seeds it asks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
    Upload,
    base_address,
)
from salon.errors import BadValue
from salon.generate.http import decode_base64, fetch_picture, picture_failed, picture_made, why_not_a_picture
from salon.store import MEDIA_TYPES, open_header
from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, Signature

if TYPE_CHECKING:
    import httpx2

BASE_URL = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
_OWN = {"model", "prompt", "n", "size", "quality", "image"}
"""Fields of the request that have a setting of their own, or belong to the ask."""


@dataclass
class _CallShare:
    """The asks that one call answers, each with its place among the pictures."""

    ask: Ask
    number: int
    places: list[tuple[int, int]] = field(default_factory=list)


class OpenAIImages:
    """A hosted or local image model behind the OpenAI images protocol.

    The key is read from the environment variable `key` when a request is sent; None for a server that needs none.
    `options` are sent as they are (background, moderation, output_format, response_format, style ...).
    """

    def __init__(
        self,
        model: str,
        *,
        store: CallStore,
        name: str | None = None,
        base_url: str = BASE_URL,
        key: str | None = KEY,
        size: str | None = None,
        quality: str | None = None,
        n: int = 1,
        options: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        prices: Prices | None = None,
        budget: Budget | None = None,
        allow_http: bool = False,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = name or model
        self.model, self.size, self.quality, self.n = model, size, quality, n
        self.options = dict(options or {})
        if clash := _OWN & self.options.keys():
            raise BadValue(f"{clash.pop()!r} is no further option: it has a setting of its own", where=self.name)
        if n < 1:
            raise BadValue("n must be 1 or more pictures per call", found=n, where=self.name)
        self._base_url = base_address(base_url)
        self._service = Service(
            self._base_url,
            () if key is None else (Secret(key),),
            limits or Limits(),
            prices or Prices(),
            budget or Budget(),
            allow_http,
        )
        self.abilities = Abilities(image_to_image=True, strength=False, batch=self._service.limits.concurrency * n)
        self._client = Client(self._service, store, transport=transport)

    @property
    def signature(self) -> Signature:
        """Everything that is sent but the ask; the key is no part of it."""
        settings = {"model": self.model, "base_url": self._base_url, "size": self.size, "quality": self.quality}
        further = {
            name: (
                value
                if value is None or isinstance(value, str | int | float | bool)
                else json.dumps(value, sort_keys=True)
            )
            for name, value in self.options.items()
        }
        return Signature(method="openai-images", settings=settings | {"n": self.n} | further)

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        """(index into `asks`, result) as the pictures come. What cannot work is raised before anything is sent."""
        for ask in asks:
            self._check(ask)
        if self._service.budget.money is not None:
            self._service.prices.need(self.model, pictures=True)
        self._service.secret_headers(self._base_url)
        return self._results(asks)

    def notes(self) -> list[str]:
        """What the report of a run should say about the calls."""
        return self._client.notes()

    def _results(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        with closing(self._client.over(self._shares(asks), self._ask)) as shares:
            for _, results in shares:
                yield from results

    def _check(self, ask: Ask) -> None:
        where = f"prompt {ask.prompt.id!r}"
        if (ask.width is None) != (ask.height is None):
            raise BadValue("width and height are needed together", found="one of them", where=where)
        if ask.strength is not None:
            raise BadValue(
                f"{self.name} cannot be told a strength",
                found=ask.strength,
                where=where,
                remedy="leave it out: images/edits decides itself how far to leave the picture",
            )
        if ask.image is not None:
            open_header(ask.image, where)

    def _shares(self, asks: Sequence[Ask]) -> list[_CallShare]:
        shares: dict[tuple[object, ...], _CallShare] = {}
        for index, ask in enumerate(asks):
            start = None if ask.image is None else hashlib.sha256(ask.image).digest()
            number, place = divmod(ask.seed, self.n)
            identity = (ask.prompt.view(), ask.width, ask.height, start, number)
            shares.setdefault(identity, _CallShare(ask, number)).places.append((index, place))
        return list(shares.values())

    def _call(self, share: _CallShare) -> Call:
        ask = share.ask
        size = self.size if ask.width is None else f"{ask.width}x{ask.height}"
        prompt = ask.prompt.view()
        fields = {"model": self.model, "prompt": prompt, "n": self.n, "size": size, "quality": self.quality}
        body = {name: value for name, value in (fields | self.options).items() if value is not None}
        order = CallOrder(
            model=self.model,
            images=self.n,
            size=size,
            quality=self.quality,
            input_images=ask.image is not None,
            input_tokens=len(prompt.encode()),  # no token is shorter than a byte
        )
        if ask.image is None:
            return Call(url=f"{self._base_url}/images/generations", body=body, repeat=share.number, order=order)
        media_type = MEDIA_TYPES[open_header(ask.image).format]
        upload = Upload(field="image", data=ask.image, media_type=media_type)
        form = {name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()}
        url = f"{self._base_url}/images/edits"
        return Call(url=url, form=form, uploads=(upload,), repeat=share.number, order=order)

    async def _ask(self, caller: Caller, share: _CallShare) -> list[tuple[int, GeneratedPicture | FailedPicture]]:
        outcome = await caller.ask(self._call(share), self._why_unusable)
        if isinstance(outcome, Refusal):
            return [(index, picture_failed(outcome)) for index, _ in share.places]
        return [(index, await self._picture(caller, outcome, place)) for index, place in share.places]

    def _why_unusable(self, answer: CallAnswer) -> str | None:
        """Why an answer does not hold the pictures asked for: every one is decoded before it counts as an answer."""
        try:
            entries = answer.data()["data"]
            sources = [_source(entry) for entry in entries]
        except (ValueError, LookupError, TypeError, AttributeError):
            return "the answer is not of the images protocol"
        if len(sources) < self.n:
            return f"the answer holds {len(sources)} of {self.n} pictures"
        problems = (why_not_a_picture(source, is_address=is_address) for source, is_address in sources[: self.n])
        return next((why for why in problems if why), None)

    async def _picture(self, caller: Caller, answer: CallAnswer, place: int) -> GeneratedPicture | FailedPicture:
        content = answer.data()
        entry = content["data"][place]
        source, is_address = _source(entry)
        data = await fetch_picture(caller, source, answer) if is_address else decode_base64(source)
        if isinstance(data, FailedPicture):
            return data
        cost = None if answer.cost is None else answer.cost / self.n
        revised = entry.get("revised_prompt") or None
        return picture_made(data, answer, {"cost": cost, "revised_prompt": revised, "model": self.model})


def _source(entry: dict[str, Any]) -> tuple[Any, bool]:
    """Where a picture is: (base64 text, False) or (address, True)."""
    return (entry["b64_json"], False) if entry.get("b64_json") else (entry.get("url"), True)
