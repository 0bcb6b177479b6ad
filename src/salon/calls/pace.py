"""How many requests one host gets at a time: as many as it answers well, found as TCP finds its window.

Capacity grows by one with every success until the host first complains (it doubles per round trip), afterwards by one
per round trip; it halves when the host is overloaded (429, 503, 529, a timeout), once for all requests that were in
flight together. A Retry-After holds back every request to the host, not only the one that was told.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiolimiter import AsyncLimiter

from salon.calls.limits import Limits
from salon.calls.retry import Again


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
        """Wait for room, for the end of a pause the host asked for, and for the rate; then hold one place.

        Again when the pause is longer than anybody's patience: without that, one word of a server stops the run for
        ever.
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
        room = int(self.capacity) - self.in_flight
        while room > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1

    async def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        while (rest := self._resume_at - loop.time()) > 0:
            if rest > self.patience:
                raise Again("busy", f"the server asks for {rest:,.0f} seconds without requests", 429, retry_after=rest)
            await asyncio.sleep(rest)
