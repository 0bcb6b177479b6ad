"""One request on the wire: when to send it, how to send it, and what a failure means.

**Retries.** 408, 409, 425, 429 and 5xx (but 501 and 505), no connection, a broken connection, a timeout and an unusable
answer (twice at most) are tried again. Any other 4xx, a redirect and an answer that is too large end the call. 401, no
credit, and 403, 404, 405 or no connection before the first answer end the run. The wait after attempt k is drawn evenly
from 0 to first_wait * 2^(k-1), at most `longest_wait` ("full jitter" spreads calls that failed together); a server's
Retry-After, in seconds or as a date, is added.

**Pace.** The number of requests in flight to one host follows the host, as a TCP window does. It grows by one with
every success until the host first complains, afterwards by one per round trip. It halves when the host is overloaded
(429, 503, 529, a timeout), once for all requests that were in flight together. A Retry-After holds back every request
to the host.

**Sending.** Keys are added at the last moment, and redacted from whatever the server sends back.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import ssl
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import numpy as np
from aiolimiter import AsyncLimiter

from salon.calls.call import STORED_HEADERS, Call, read_error
from salon.calls.errors import CallsStopped, NotServed, QuotaSpent, WrongKey
from salon.calls.service import Limits, Service, origin, redact
from salon.errors import BadValue
from salon.study import salon_version

RETRY_STATUSES = {408, 409, 425, 429, *range(500, 600)} - {501, 505}
OVERLOAD_STATUSES = {429, 503, 529}
OUT_OF_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
NOT_SERVED_STATUSES = {403, 404, 405}


@dataclass
class RetryableError(Exception):
    """This attempt failed in a way that another may not."""

    kind: str
    reason: str
    status: int | None = None
    code: str | None = None
    retry_after: float | None = None


def failure_of(status: int, headers: Mapping[str, str], body: bytes) -> RetryableError:
    """An error status as the attempt's failure, with the server's own words."""
    code, message = read_error(body)
    kind = "busy" if status == 429 else "server" if status >= 500 else "rejected"
    return RetryableError(kind, f"{status}: {message or 'no reason given'}", status, code, retry_after(headers))


def fatal_error(failure: RetryableError, *, url: str, answered: bool, keys: Sequence[str] = ()) -> CallsStopped | None:
    """The error that ends the run, if `failure` means that no other call will fare better.

    `answered` tells whether the server has answered any call yet, `keys` which variables hold the keys it was sent.
    """
    details = {"found": failure.reason, "where": url}
    if failure.code in OUT_OF_CREDIT:
        return QuotaSpent("an account with credit is needed", **details, remedy="answers so far are kept: run again")
    if failure.status == 401:
        remedy = f"check the environment variable {' and '.join(keys)}" if keys else "name the variable with the key"
        return WrongKey("a key that the server accepts is needed", **details, remedy=remedy)
    if failure.status in NOT_SERVED_STATUSES and not answered:
        return NotServed(
            "an address and a model that the server knows are needed", **details, remedy="check base_url and model"
        )
    return None


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Seconds the server asks to wait, from `Retry-After` as a number or as an HTTP date; None when it does not."""
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - (time.time() if now is None else now)
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def retry_delay(attempt: int, requested: float | None, limits: Limits, rng: np.random.Generator) -> float:
    """Seconds to wait after attempt number `attempt`, of which the server asked for `asked`."""
    ceiling = min(limits.longest_wait, limits.first_wait * 2.0 ** min(attempt - 1, 60))
    return (requested or 0.0) + float(rng.uniform(0, ceiling))


# -- pace --------------------------------------------------------------------------------------------------------------


class Slot:
    """Leave to send one request; tells the pace how it went."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._complaints_before = pace.complaints

    def fine(self) -> None:
        """The host answered."""
        self._pace.grow()

    def overloaded(self, retry_after: float | None = None) -> None:
        """The host asked for less, or did not answer in time."""
        self._pace.shrink(self._complaints_before, retry_after)


class Pace:
    """The window, rate and pauses of one host, for one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.most = limits.concurrency
        self.patience = limits.patience
        self.capacity = float(min(limits.start, limits.concurrency))
        self.in_flight = 0
        self.complaints = 0
        self._resume_at = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._rate = None if limits.per_minute is None else AsyncLimiter(1, 60 / limits.per_minute)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Wait for a free place, for the end of a pause the host asked for, and for the rate; then hold one place.

        RetryableError when the pause is longer than `patience`: otherwise one reply of a server could stop the run
        forever.
        """
        await self._enter()
        try:
            await self._pause()
            if self._rate is not None:
                await self._rate.acquire()
            yield Slot(self)
        finally:
            self.in_flight -= 1
            self._wake()

    def grow(self) -> None:
        """One success."""
        step = 1.0 if not self.complaints else 1.0 / self.capacity
        self.capacity = min(float(self.most), self.capacity + step)

    def shrink(self, complaints_before: int, retry_after: float | None) -> None:
        """One complaint, about a request that began when `complaints_before` had been heard."""
        if complaints_before == self.complaints:
            self.complaints += 1
            self.capacity = max(1.0, self.capacity / 2)
        if retry_after is not None:
            self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + retry_after)

    async def _enter(self) -> None:
        while self.in_flight >= int(self.capacity):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()  # the place may have been meant for us
                raise
        self.in_flight += 1

    def _wake(self) -> None:
        free = int(self.capacity) - self.in_flight
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

    async def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        while (rest := self._resume_at - loop.time()) > 0:
            if rest > self.patience:
                raise RetryableError(
                    "busy", f"the server asks for {rest:,.0f} seconds without requests", 429, retry_after=rest
                )
            await asyncio.sleep(rest)


# -- sending -----------------------------------------------------------------------------------------------------------

PROXIES = ("http", "https", "socks5", "socks5h")
"""Kinds of proxies that requests can go through."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What a server sent, whatever its status; secrets redacted."""

    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)
    seconds: float


class ReplyTooLarge(Exception):
    """The server sends more than the limit; the rest was not read."""


class Sender:
    """Connections to a service and to the hosts its answers point to. Redirects are never followed.

    Every request under way has a transport of its own, with one connection: a shared one looks at each of its
    connections for every request, which at 32 of them takes longer than the request. What a client of the library adds
    to a transport (cookies, redirects, logins) is not wanted here and costs as much again as the transport.
    """

    def __init__(self, service: Service, transport: httpx2.AsyncBaseTransport | None) -> None:
        limits = service.limits
        self._service, self._transport = service, transport
        self._headers = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": f"salon/{salon_version()}"}
        self._timeout = {"connect": limits.connect, "read": limits.read, "write": limits.read, "pool": limits.read}
        self._proxies: dict[str, str | None] = {}
        self._idle: defaultdict[str | None, list[httpx2.AsyncBaseTransport]] = defaultdict(list)

    @contextmanager
    def _lane(self, url: str) -> Iterator[httpx2.AsyncBaseTransport]:
        place = origin(url)
        if place not in self._proxies:
            self._proxies[place] = _proxy(place)
        proxy = self._proxies[place]
        idle = self._idle[proxy]
        lane = idle.pop() if idle else self._transport
        lane = lane or httpx2.AsyncHTTPTransport(verify=_certificates(), proxy=proxy)
        try:
            yield lane
        finally:
            idle.append(lane)

    async def send(self, call: Call) -> HttpReply:
        """The reply; RetryableError when there is none but another attempt may bring one; ReplyTooLarge."""
        started = time.perf_counter()
        try:
            request = self._request(call)
            with self._lane(call.url) as lane:
                async with asyncio.timeout(self._service.limits.total):
                    response = await lane.handle_async_request(request)
                    try:
                        body = await self._read(response)
                    finally:
                        await response.aclose()
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.InvalidURL) as error:
            raise RetryableError("unreachable", f"no connection: {error or 'timed out'}") from None
        except (TimeoutError, httpx2.TimeoutException):
            raise RetryableError(
                "timeout", f"no whole answer after {time.perf_counter() - started:.3g} seconds"
            ) from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise RetryableError("broken", f"the connection broke: {error or type(error).__name__}") from None
        secrets = self._service.secrets
        stored_headers = {name: response.headers[name] for name in STORED_HEADERS if name in response.headers}
        headers = {name: redact(value.encode(), secrets).decode() for name, value in stored_headers.items()}
        body = redact(body, secrets)
        return HttpReply(response.status_code, headers, body, time.perf_counter() - started)

    def _request(self, call: Call) -> httpx2.Request:
        headers = {**self._headers, **call.headers, **self._service.secret_headers(call.url)}
        content: dict[str, Any] = {}
        if call.content is not None:
            headers.setdefault("content-type", "application/json")
            content["content"] = call.content
        elif call.form or call.uploads:
            files = [(part.field, (part.filename, part.data, part.media_type)) for part in call.uploads]
            content = {"data": call.form, "files": files}
        extensions = {"timeout": self._timeout}
        return httpx2.Request(call.method, _parse_url(call.url), headers=headers, extensions=extensions, **content)

    async def _read(self, response: httpx2.Response) -> bytes:
        largest = self._service.limits.largest
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > largest:
                raise ReplyTooLarge(f"more than {largest:,} bytes")
        return bytes(body)

    async def close(self) -> None:
        """Close all connections."""
        for lane in itertools.chain.from_iterable(self._idle.values()):
            await lane.aclose()


_parse_url = lru_cache(maxsize=256)(httpx2.URL)


def _proxy(place: str) -> str | None:
    """The proxy that the environment names for an origin: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, but for NO_PROXY.

    BadValue where no request could go that way; the login before its @ is not shown.
    """
    parts = urlsplit(place)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.netloc):
        return None
    url = proxy if "://" in proxy else f"http://{proxy}"
    scheme = url.partition("://")[0].lower()
    try:
        address = urlsplit(url)
        usable = scheme in PROXIES and bool(address.hostname) and address.port != 0
    except ValueError:  # a bracket that stays open, a port that is none
        usable = False
    if not usable or (scheme.startswith("socks") and find_spec("socksio") is None):
        raise BadValue(
            "a proxy of http:// or https:// is needed, or one of socks5:// and the package socksio",
            found=f"{scheme}://{url.rpartition('@')[2].rpartition('//')[2]}",
            where="the environment: HTTPS_PROXY, HTTP_PROXY or ALL_PROXY",
            remedy="name another proxy there, take the variable out, or list the host in NO_PROXY",
        )
    return url


@cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust, read once: it takes a quarter of a second."""
    return httpx2.create_ssl_context()


# -- a transport for tests ---------------------------------------------------------------------------------------------

ScriptLine = int | Mapping[str, Any] | httpx2.Response | Exception


class ScriptedTransport(httpx2.AsyncBaseTransport):
    """Answers each request with the next line, and the last line for ever: a status, a JSON body, a response, an error.

    `requests` holds what was sent.
    """

    def __init__(self, *lines: ScriptLine) -> None:
        self.lines = list(lines)
        self.requests: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The next line of the script."""
        await request.aread()
        self.requests.append(request)
        line = self.lines[min(len(self.requests), len(self.lines)) - 1]
        if isinstance(line, Exception):
            raise line
        if isinstance(line, int):
            return httpx2.Response(line, request=request)
        if isinstance(line, httpx2.Response):
            return httpx2.Response(line.status_code, headers=line.headers, content=line.content, request=request)
        return httpx2.Response(200, json=line, request=request)
