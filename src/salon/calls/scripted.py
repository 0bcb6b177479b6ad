"""A network that is a list: for tests, and for trying out code that asks a server without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

Line = int | Mapping[str, Any] | httpx2.Response | Exception


class Scripted(httpx2.AsyncBaseTransport):
    """Answers each request with the next line, and the last line for ever: a status, a JSON body, a response, an error.

    `requests` holds what was sent.
    """

    def __init__(self, *lines: Line) -> None:
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
