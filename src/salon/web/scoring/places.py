"""How many requests with pictures may be under way, and how many bytes: known before a body is read."""

from __future__ import annotations

import threading

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from salon.select.service.errors import QueueFull
from salon.web.scoring.settings import ScoringSettings
from salon.web.scoring.tokens import caller_of

_WAIT = 1.0


class Places:
    """Places of requests under way."""

    def __init__(self, settings: ScoringSettings) -> None:
        self.settings = settings
        self.taken = self.bytes = 0
        self._turn = threading.Lock()

    def enter(self, scope: Scope) -> bool:
        """A place for a request, whose caller is let in first; QueueFull where there is none."""
        caller = caller_of(Request(scope), "score")
        stated = Headers(scope=scope).get("content-length", "")
        size = int(stated) if stated.isdecimal() and len(stated) < 15 else self.settings.most_upload
        size = min(size, self.settings.most_upload)
        with self._turn:
            full = self.taken >= self.settings.most_at_once
            if full or self.bytes + size > max(self.settings.most_bytes_at_once, size if not self.taken else 0):
                raise QueueFull(f"{self.taken:,} requests of {self.bytes:,} bytes under way", wait=_WAIT)
            self.taken, self.bytes = self.taken + 1, self.bytes + size
        scope["state"] |= {"caller": caller, "place": size}
        return True

    def leave(self, scope: Scope) -> None:
        """Give a place back, where one was taken."""
        size = scope.get("state", {}).pop("place", None)
        if size is not None:
            with self._turn:
                self.taken, self.bytes = self.taken - 1, self.bytes - size


class Leaving:
    """The outermost layer: whatever becomes of a request, its place is free afterwards."""

    def __init__(self, app: ASGIApp, places: Places) -> None:
        self.app, self.places = app, places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        finally:
            self.places.leave(scope)
