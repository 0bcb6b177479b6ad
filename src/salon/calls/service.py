"""A server and the terms on which it is asked: addresses, keys, limits, prices and a budget.

Addresses are https, or plain http on this machine. Keys come from environment variables at the moment of sending; they
are never stored or shown. Prices are a TOML file that the user keeps, because they change and differ by contract:

    currency = "USD"

    [models.painter-1]            # what is listed is added up
    input = 5.00                  # per million tokens
    output = 40.00
    call = 0.001                  # per request
    image = 0.04                  # per picture, whatever its size and quality; or by size and quality:

    [models.painter-2.images]
    "1024x1024" = 0.04
    "1024x1536" = { low = 0.016, high = 0.25 }

A budget sets aside what a request may cost before it is sent, so requests in flight cannot exceed it together.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import re
import threading
import tomllib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, NonNegativeInt

from salon.calls.errors import BudgetSpent, WrongKey
from salon.errors import BadFile, BadValue
from salon.study import Noun


class Limits(Noun):
    """Times are seconds. Each field holds for one client; concurrency and rate hold for each host by itself."""

    concurrency: int = Field(default=32, ge=1, le=1000)
    """Most requests in flight."""
    start: int = Field(default=4, ge=1)
    """Requests in flight at first; the number then follows the server."""
    per_minute: float | None = Field(default=None, gt=0)
    """Most requests begun in any minute, evenly spaced; None for no limit."""
    connect: float = Field(default=10, gt=0)
    """For the connection to be made."""
    read: float = Field(default=120, gt=0)
    """For the next byte to come."""
    total: float = Field(default=300, gt=0)
    """For one request as a whole."""
    attempts: int = Field(default=6, ge=1)
    """Most requests for one call."""
    unusable: int = Field(default=2, ge=1)
    """Most answers bought for one call when none of them can be used."""
    patience: float = Field(default=900, gt=0)
    """For one call with all its attempts and waits."""
    first_wait: float = Field(default=0.5, gt=0)
    """Longest wait before the second attempt; it doubles with every further one."""
    longest_wait: float = Field(default=60, gt=0)
    """Longest wait of our own choice; a server's Retry-After is honoured whatever it says, within `patience`."""
    largest: int = Field(default=64 * 2**20, ge=1)
    """Most bytes of one answer, unpacked."""
    grace: float = Field(default=5, ge=0)
    """For requests in flight to come home when the run is stopped; what they bring is stored."""


# -- addresses ---------------------------------------------------------------------------------------------------------

MAX_URL_LENGTH = 16_000
"""Characters of the longest address that is asked."""


@lru_cache(maxsize=256)
def check_url(url: str, *, allow_http: bool = False) -> str:
    """`url`, or BadValue when it is no address that a key may be sent to."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in {"http", "https"} or not url.isprintable() or len(url) > MAX_URL_LENGTH:
        raise BadValue("an http or https address is needed", found=_without_login(url), remedy="https://host/v1")
    if parts.username or parts.password:
        raise BadValue(
            "an address must not hold a name or password",
            found=f"one before @{host}",
            remedy="put the key into an environment variable",
        )
    if parts.scheme == "http" and not allow_http and not is_local(url):
        raise BadValue(
            "a key and a prompt only travel by https",
            found=f"http://{host}",
            remedy="use https, or allow_http = true for a network you trust",
        )
    return url


def base_address(url: str) -> str:
    """An address that more is put behind, without a slash at its end; BadValue with a query: a key might hide there."""
    if "?" in url or "#" in url:
        raise BadValue(
            "an address without ? and # is needed: what is asked for stands behind it",
            found=f"{_without_login(url.partition('?')[0].partition('#')[0])} and more",
            remedy="https://host/v1; a key goes into an environment variable",
        )
    return url.rstrip("/")


@lru_cache(maxsize=256)
def origin(url: str) -> str:
    """Scheme, host and port: what a key belongs to."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return f"{parts.scheme}://{parts.hostname}:{port}"


def is_local(url: str) -> bool:
    """Whether `url` is on this machine by its name alone."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def resolves_to_private(url: str) -> bool:
    """Whether any address of the host is not a public one: where a server must not be able to send us.

    A name that cannot be resolved here is left to fail, or to a proxy that can.
    """
    host = urlsplit(url).hostname or ""
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(host, None)
    except UnicodeError:  # a name that no server can have
        return True
    except OSError:
        return False
    return any(not ipaddress.ip_address(str(address[4][0]).partition("%")[0]).is_global for address in addresses)


def _without_login(url: str) -> str:
    """`url` without what stands before an @."""
    return url.rpartition("@")[2]


# -- keys --------------------------------------------------------------------------------------------------------------

MIN_SECRET_LENGTH = 8
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
        if len(value) >= MIN_SECRET_LENGTH:
            placeholder = f"[{secret.variable}]".encode()
            escaped = json.dumps(value)[1:-1]
            for form in (escaped.replace("/", "\\/"), escaped, value):
                text = text.replace(form.encode(), placeholder)
            if b"\\u00" in text:  # some servers write + and & so; no picture does, and looking for that is slow
                letters = (rf"(?:\\?{re.escape(letter)}|\\u00(?i:{ord(letter):02x}))" for letter in value)
                escape_pattern = "".join(letters).encode()
                text = re.sub(escape_pattern, placeholder.replace(b"\\", rb"\\"), text)
    return text


# -- prices ------------------------------------------------------------------------------------------------------------

MILLION = 1_000_000

Price = Annotated[Decimal, Field(ge=0)]


class CallOrder(Noun):
    """What one call buys. Tokens are what it may use at most, without pictures: the budget holds as far as they do."""

    model: str
    images: NonNegativeInt = 0
    size: str | None = None
    quality: str | None = None
    input_images: NonNegativeInt = 0
    """Pictures it sends."""
    input_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0


class ModelPrice(Noun):
    """The prices of one model; what is listed is added up."""

    input: Decimal = Field(default=Decimal(0), ge=0)
    """Per million tokens read."""
    output: Decimal = Field(default=Decimal(0), ge=0)
    """Per million tokens written."""
    call: Decimal = Field(default=Decimal(0), ge=0)
    image_tokens: NonNegativeInt = 0
    """The most tokens that one picture takes, read or written."""
    image: Decimal | None = Field(default=None, ge=0)
    images: dict[str, Price | dict[str, Price]] = Field(default_factory=dict)
    """By size, or by size and quality."""

    def per_image(self, order: CallOrder) -> Decimal:
        """The price of one picture; the dearest listed one where size or quality are left to the server."""
        if not order.images:
            return Decimal(0)
        listed = self.images.get(order.size or "")
        dearest = max((_dearest(price) for price in self.images.values()), default=None)
        price: Decimal | None
        if isinstance(listed, dict):
            price = listed.get(order.quality or "", _dearest(listed))
        else:
            price = listed if listed is not None else self.image if self.image is not None else dearest
        return Decimal(0) if price is None else price


class Prices(Noun):
    """A price list."""

    currency: str = "USD"
    models: dict[str, ModelPrice] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """The price list in a TOML file."""
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"), parse_float=Decimal)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise BadFile("a price list in TOML is needed", found=str(error), where=str(path)) from None
        return cls.parse(content, where=str(path))

    def most(self, order: CallOrder | None) -> Decimal | None:
        """The most `order` can cost; None where the list does not know its model."""
        return None if order is None else self.cost(order, None, None)

    def cost(self, order: CallOrder, tokens_in: int | None, tokens_out: int | None) -> Decimal | None:
        """What `order` cost once its tokens are known; those a server does not tell are taken as the most."""
        price = self.models.get(order.model)
        if price is None:
            return None
        tokens_read = order.input_tokens + order.input_images * price.image_tokens if tokens_in is None else tokens_in
        tokens_written = order.output_tokens + order.images * price.image_tokens if tokens_out is None else tokens_out
        tokens = (price.input * tokens_read + price.output * tokens_written) / MILLION
        return tokens + price.call + price.per_image(order) * order.images

    def need(self, model: str, *, pictures: bool = False) -> None:
        """Raise BadValue unless the most that a call to `model` can cost is known: a budget needs it."""
        price = self.models.get(model)
        if price is None:
            raise BadValue(
                f"a budget in money needs a price for {model!r}",
                found="prices of " + (", ".join(map(repr, self.models)) or "no model"),
                remedy=f'add [models."{model}"] to the price list, or limit the number of calls instead',
            )
        if pictures and price.output and not price.image_tokens:
            raise BadValue(
                f"a budget in money needs image_tokens for {model!r}, the most tokens that one picture takes",
                found="a price per token without",
                remedy=f'add image_tokens = ... to [models."{model}"]',
            )


def _dearest(price: Decimal | dict[str, Decimal]) -> Decimal:
    return max(price.values(), default=Decimal(0)) if isinstance(price, dict) else price


# -- budget ------------------------------------------------------------------------------------------------------------

_LOOK_AGAIN = 0.02
"""Seconds between looks for money that other requests give back; they may run on other threads."""
_REMEDY = "answers so far are kept: raise the budget and run again"


@dataclass
class Reservation:
    """Money set aside for one request. `cost` is what it came to; left None, all that was set aside counts as spent."""

    most: Decimal
    cost: Decimal | None = None


class Budget:
    """At most `money` and at most `calls` requests, retries included; None for no limit.

    One budget may serve several clients of a run. A request that ended without an answer (cut off, timed out) may
    have been charged: it counts with all that was set aside for it. One answered with an error counts as a request
    that cost nothing. Answers from the store count nothing at all.
    """

    def __init__(self, money: Decimal | float | str | None = None, calls: int | None = None) -> None:
        try:
            self.money = None if money is None else Decimal(str(money))
        except InvalidOperation:
            self.money = Decimal("nan")
        self.calls = calls
        if (self.money is not None and not (self.money.is_finite() and self.money >= 0)) or (calls or 0) < 0:
            raise BadValue("a budget must be a number of 0 or more", found=f"money {money}, calls {calls}")
        self.spent = Decimal(0)
        self.sent = 0
        self.reserved = Decimal(0)
        self._lock = threading.Lock()

    @asynccontextmanager
    async def reserve(self, most: Decimal | None) -> AsyncIterator[Reservation]:
        """Set `most` aside for one request; BudgetSpent when it cannot be had even after all others are settled."""
        reservation = Reservation(most or Decimal(0))
        while not self._take(reservation.most):
            await asyncio.sleep(_LOOK_AGAIN)
        try:
            yield reservation
        finally:
            with self._lock:
                self.reserved -= reservation.most
                self.spent += reservation.most if reservation.cost is None else reservation.cost

    def _take(self, most: Decimal) -> bool:
        with self._lock:
            if self.calls is not None and self.sent >= self.calls:
                raise BudgetSpent(f"the budget of {self.calls:,} calls is spent", remedy=_REMEDY)
            if self.money is not None and self.spent + self.reserved + most > self.money:
                if not self.reserved:
                    raise BudgetSpent(
                        f"the next call may cost {most:f}, more than the budget has left",
                        found=f"{self.spent:f} of {self.money:f} spent",
                        remedy=_REMEDY,
                    )
                return False
            self.reserved += most
            self.sent += 1
            return True


# -- the service -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Service:
    """`base_url` names the host that secrets are sent to, and no other host gets them."""

    base_url: str
    secrets: tuple[Secret, ...] = ()
    limits: Limits = field(default_factory=Limits)
    prices: Prices = field(default_factory=Prices)
    budget: Budget = field(default_factory=Budget)
    allow_http: bool = False
    """Whether plain http is allowed beyond this machine."""

    def __post_init__(self) -> None:
        check_url(self.base_url, allow_http=self.allow_http)

    def is_home(self, url: str) -> bool:
        """Whether `url` is on the host of `base_url`."""
        return origin(url) == origin(self.base_url)

    def secret_headers(self, url: str) -> dict[str, str]:
        """The headers with keys, for this very moment; none for another host."""
        return dict(secret.filled() for secret in self.secrets) if self.is_home(url) else {}
