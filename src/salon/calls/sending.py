"""One request on the wire: whole, in time, not too large, with the keys put in at the last moment."""

from __future__ import annotations

import asyncio
import itertools
import ssl
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from salon.calls.address import origin
from salon.calls.answer import KEPT_HEADERS
from salon.calls.call import Call
from salon.calls.retry import Again
from salon.calls.secret import redact
from salon.calls.service import Service
from salon.errors import BadValue
from salon.study.signature import salon_version

PROXIES = ("http", "https", "socks5", "socks5h")
"""Kinds of proxies that requests can go through."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server sent, whatever its status; secrets redacted."""

    status: int
    headers: dict[str, str]
    body: bytes = field(repr=False)
    seconds: float


class TooLarge(Exception):
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
        lane = idle.pop() if idle else self._transport or _new_lane(proxy)
        try:
            yield lane
        finally:
            idle.append(lane)

    async def send(self, call: Call) -> Reply:
        """The reply; Again when there is none but another attempt may bring one; TooLarge."""
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
            raise Again("unreachable", f"no connection: {error or 'timed out'}") from None
        except (TimeoutError, httpx2.TimeoutException):
            raise Again("timeout", f"no whole answer after {time.perf_counter() - started:.3g} seconds") from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise Again("broken", f"the connection broke: {error or type(error).__name__}") from None
        secrets = self._service.secrets
        told = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        headers = {name: redact(value.encode(), secrets).decode() for name, value in told.items()}
        body = redact(body, secrets)
        return Reply(response.status_code, headers, body, time.perf_counter() - started)

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
        return httpx2.Request(call.method, _parsed(call.url), headers=headers, extensions=extensions, **content)

    async def _read(self, response: httpx2.Response) -> bytes:
        largest = self._service.limits.largest
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > largest:
                raise TooLarge(f"more than {largest:,} bytes")
        return bytes(body)

    async def close(self) -> None:
        """Close all connections."""
        for lane in itertools.chain.from_iterable(self._idle.values()):
            await lane.aclose()


def _new_lane(proxy: str | None) -> httpx2.AsyncHTTPTransport:
    return httpx2.AsyncHTTPTransport(verify=_certificates(), proxy=proxy)


@lru_cache(maxsize=256)
def _parsed(url: str) -> httpx2.URL:
    return httpx2.URL(url)


def _proxy(place: str) -> str | None:
    """The proxy that the environment names for an origin: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, but for NO_PROXY."""
    parts = urlsplit(place)
    named = getproxies()
    found = named.get(parts.scheme) or named.get("all")
    if not found or proxy_bypass(parts.netloc):
        return None
    return _usable_proxy(found if "://" in found else f"http://{found}")


def _usable_proxy(url: str) -> str:
    """`url`, or BadValue where no request could go that way; what stands before its @ is not told."""
    scheme = url.partition("://")[0].lower()
    try:
        parts = urlsplit(url)
        usable = scheme in PROXIES and bool(parts.hostname) and parts.port != 0
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
