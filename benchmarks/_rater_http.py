"""A rater's side of the wire: one kept-alive HTTP/1.1 connection, no more work than a load script can afford."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_IDLE = 30.0
"""Seconds after which a connection is not trusted any more."""


@dataclass(frozen=True)
class Reply:
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One connection, opened when it is needed; a broken one raises OSError and is opened anew next time."""

    def __init__(
        self, port: int, *, token: str | None = None, address: str = "127.0.0.1", content: str = "application/json"
    ) -> None:
        self.port, self.address = port, address
        known = f"Authorization: Bearer {token}\r\n" if token else ""
        self._head = f"HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{known}Content-Type: {content}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._used = time.monotonic()

    async def ask(self, method: str, path: str, record: object = None, **more: str) -> Reply:
        """Send a request (bytes as they are) and read the reply; OSError when the server is gone before it was read."""
        body = record if isinstance(record, bytes) else b"" if record is None else json.dumps(record).encode()
        extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in more.items())
        head = f"{method} {path} {self._head}{extra}Content-Length: {len(body)}\r\n\r\n"
        try:
            reader, writer = await self._open()
            writer.write(head.encode() + body)
            return await _read(reader)
        except (OSError, EOFError) as error:
            self.close()
            raise OSError("the connection broke") from error

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if time.monotonic() - self._used > _IDLE or (self._streams is not None and self._streams[0].at_eof()):
            self.close()  # the server hung up while the rater thought, or is about to
        self._used = time.monotonic()
        if self._streams is None:
            here = (self.address, 0)  # its own address: a rater is not an office
            self._streams = await asyncio.open_connection("127.0.0.1", self.port, local_addr=here)
        return self._streams

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _read(reader: asyncio.StreamReader) -> Reply:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Reply(int(head[0].split(" ")[1]), headers, body)
