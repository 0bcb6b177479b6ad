"""One request on the wire: whole, in time, not too large, with the keys put in at the last moment."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
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
    """Connections to a service and to the hosts its answers point to. Redirects are never followed."""

    def __init__(self, service: Service, transport: httpx2.AsyncBaseTransport | None) -> None:
        limits = service.limits
        self._service = service
        self._client = httpx2.AsyncClient(
            transport=transport,
            timeout=httpx2.Timeout(limits.read, connect=limits.connect),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=limits.concurrency),
            headers={"user-agent": f"salon/{salon_version()}"},
            follow_redirects=False,
        )

    async def send(self, call: Call) -> Reply:
        """The reply; Again when there is none but another attempt may bring one; TooLarge."""
        request = self._request(call)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._service.limits.total):
                response = await self._client.send(request, stream=True)
                try:
                    body = await self._read(response)
                finally:
                    await response.aclose()
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise Again("unreachable", f"no connection: {error or 'timed out'}") from None
        except (TimeoutError, httpx2.TimeoutException):
            raise Again("timeout", f"no whole answer after {time.perf_counter() - started:.3g} seconds") from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise Again("broken", f"the connection broke: {error or type(error).__name__}") from None
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        body = redact(body, self._service.secrets)
        return Reply(response.status_code, headers, body, time.perf_counter() - started)

    def _request(self, call: Call) -> httpx2.Request:
        headers = {**call.headers, **self._service.secret_headers(call.url)}
        content: dict[str, Any] = {}
        if call.content is not None:
            headers.setdefault("content-type", "application/json")
            content["content"] = call.content
        elif call.form or call.uploads:
            files = [(part.field, (part.filename, part.data, part.media_type)) for part in call.uploads]
            content = {"data": call.form, "files": files}
        return self._client.build_request(call.method, call.url, headers=headers, **content)

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
        await self._client.aclose()
