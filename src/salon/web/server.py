"""The HTTP server: uvicorn with limits. It logs no addresses, because they contain tokens.

A connection must send the head of a request within `header_seconds`, counted from its first byte (or from the moment
it is opened). When `most_connections` are open, a new one replaces the one that has waited longest without a request.
Warnings that an attacker can provoke are written at most ten times a minute each, with the number left out.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from salon.errors import BadValue
from salon.web.settings import WebSettings

try:
    import resource
except ImportError:  # pragma: no cover - Windows has no such limit
    resource = None  # type: ignore[assignment]  # Windows has none

BACKLOG = 2048
"""Connections that may wait while the studio is busy or still starting."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; BadValue where there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise BadValue(
            "an address to listen on is needed",
            found=f"{host}, port {port}: {error.strerror or error}",
            remedy="choose another with --host and --port; --port 0 takes a free one",
        ) from None


def serve_app(app: FastAPI, settings: WebSettings, listening: socket.socket, *, graceful: int = 5) -> None:
    """Serve until the process is told to stop; requests under way have `graceful` seconds to be finished."""
    limit_logging()
    config = uvicorn.Config(
        app,
        http=bounded_protocol(settings),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=settings.base_url is not None,  # nobody but a proxy says for whom it asks
        forwarded_allow_ips=list(settings.trusted_proxies),
        ws="none",
        timeout_keep_alive=75,  # raters think: no new connection for every answer
        timeout_graceful_shutdown=graceful,
    )
    with suppress(KeyboardInterrupt):  # Ctrl-C is how a studio is closed, no failure
        uvicorn.Server(config).run(sockets=[listening])


# -- limits on connections and logging ------------------------------------------------------------------------------

log = logging.getLogger("salon.web")
_RESERVED_FILES = 128
"""Open files that are no connections: the database, pictures, libraries."""


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the head of a request and a limit on open connections."""

    header_seconds: ClassVar[float]
    most_connections: ClassVar[int]
    waiting: ClassVar[dict[BoundedProtocol, None]]
    """Connections without a request under way; the one that has waited longest is first."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn is given nothing else
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            log.warning("more than %d connections are open: one without a request is closed", self.most_connections)
            (next(iter(self.waiting), None) or self).transport.abort()
        self.waiting[self] = None
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._in_request and self._deadline is None:
            self._start_deadline()
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        if self._in_request:
            self._stop_deadline()
            self.waiting.pop(self, None)

    def on_response_complete(self) -> None:
        self.waiting[self] = None
        super().on_response_complete()

    @property
    def _in_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        log.warning("a connection sent no whole request within %g seconds: closed", self.header_seconds)
        self.transport.abort()


def bounded_protocol(settings: WebSettings) -> type[BoundedProtocol]:
    """The protocol class of one server, with the limits of its settings and no more connections than open files."""
    most = min(settings.most_connections, max(16, _raise_file_limit() - _RESERVED_FILES))
    limits = {"header_seconds": settings.header_seconds, "most_connections": most, "waiting": {}}
    return type("BoundedProtocol", (BoundedProtocol,), limits)


def _raise_file_limit() -> int:
    """The number of files this process may open, after raising it as far as the system lets it."""
    if resource is None:  # pragma: no cover
        return 1 << 16
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = max(soft, 1 << 16)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    except (OSError, ValueError):
        return soft
    return hard


class RepeatLimit(logging.Filter):
    """Lets each kind of warning pass `most` times a minute; the next minute's first one says how many were left out."""

    def __init__(self, most: int = 10, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.most, self.clock = most, clock
        self._seen: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR:  # a fault of ours: its number stands in the answer, so it is always written
            return True
        minute = int(self.clock() // 60)
        with self._lock:
            then, count = self._seen.get(record.msg, (minute, 0))
            left_out = max(0, count - self.most) if then != minute else 0
            count = 1 if then != minute else count + 1
            self._seen[record.msg] = (minute, count)
        if left_out:
            record.msg = f"{record.msg} ({left_out:,} more like it in the last minute of such)"
        return count <= self.most


def limit_logging() -> None:
    """Keep what an attacker can provoke from filling the disk."""
    for name in ("salon.web", "uvicorn.error"):
        logger = logging.getLogger(name)
        if not any(isinstance(log_filter, RepeatLimit) for log_filter in logger.filters):
            logger.addFilter(RepeatLimit())
