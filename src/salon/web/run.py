"""The server under the application: it listens, and writes no address down, for addresses hold tokens."""

from __future__ import annotations

import socket
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from salon.errors import BadValue
from salon.web.protocol import bounded_protocol, limit_logging
from salon.web.settings import WebSettings

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


def run(app: FastAPI, settings: WebSettings, listening: socket.socket, *, graceful: int = 5) -> None:
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
