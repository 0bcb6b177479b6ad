"""One request on the wire: whole, in time, not too large, with the keys put in at the last moment."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from salon.errors import MissingExtra

try:
    import httpx2
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("generate") from None

from salon.calls.answer import KEPT_HEADERS
from salon.calls.call import Call
from salon.calls.retry import Again
from salon.calls.secret import redact
from salon.calls.service import Service
from salon.study.signature import salon_version


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

    Every request under way has an httpx client of its own, with one connection: a shared one looks at each of its
    connections for every request, which at 32 of them takes longer than the request.
    """

    def __init__(self, service: Service, transport: httpx2.AsyncBaseTransport | None) -> None:
        self._service, self._transport = service, transport
        self._agent = f"salon/{salon_version()}"
        self._idle: list[httpx2.AsyncClient] = []

    @contextmanager
    def _lane(self) -> Iterator[httpx2.AsyncClient]:
        lane = self._idle.pop() if self._idle else self._new_lane()
        try:
            yield lane
        finally:
            self._idle.append(lane)

    def _new_lane(self) -> httpx2.AsyncClient:
        limits = self._service.limits
        return httpx2.AsyncClient(
            transport=self._transport,
            verify=_certificates(),
            timeout=httpx2.Timeout(limits.read, connect=limits.connect),
            headers={"user-agent": self._agent},
            follow_redirects=False,
        )

    async def send(self, call: Call) -> Reply:
        """The reply; Again when there is none but another attempt may bring one; TooLarge."""
        started = time.perf_counter()
        try:
            with self._lane() as lane:
                async with asyncio.timeout(self._service.limits.total):
                    response = await lane.send(self._request(lane, call), stream=True)
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

    def _request(self, lane: httpx2.AsyncClient, call: Call) -> httpx2.Request:
        headers = {**call.headers, **self._service.secret_headers(call.url)}
        content: dict[str, Any] = {}
        if call.content is not None:
            headers.setdefault("content-type", "application/json")
            content["content"] = call.content
        elif call.form or call.uploads:
            files = [(part.field, (part.filename, part.data, part.media_type)) for part in call.uploads]
            content = {"data": call.form, "files": files}
        return lane.build_request(call.method, call.url, headers=headers, **content)

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
        for lane in self._idle:
            await lane.aclose()


@cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust, read once: it takes a quarter of a second."""
    return httpx2.create_ssl_context()
