"""How often somebody may come: token buckets in memory, and for several workers in the database.

A worker takes tokens of a shared bucket a few at a time and uses them up itself, so that most requests ask nobody. What
it took and does not use is lost to its owner, never gained: all workers together let no more through than one would.
The database holds keyed hashes of addresses and sessions, never these themselves.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from starlette.concurrency import run_in_threadpool

from salon.store import Database
from salon.web.errors import TooMany


class MakeBuckets(Protocol):
    """Makes the buckets of one kind of limit."""

    def __call__(self, name: str, rate: float, burst: int) -> Buckets: ...


class Buckets:
    """How often each key may come: `burst` at once, then `rate` a second. The least recently seen are forgotten."""

    def __init__(
        self, rate: float, burst: int, *, most: int = 20_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate, self.burst, self.most, self.clock = rate, burst, most, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._turn = threading.Lock()

    def take(self, key: str) -> None:
        """One more of `key`; TooMany when it has none left."""
        with self._turn:
            left = self._now(key)
            if left < 1:
                raise TooMany((1 - left) / self.rate)
            self._left[key] = (left - 1, self.clock())
            self._left.move_to_end(key)
            if len(self._left) > self.most:
                self._left.popitem(last=False)

    def take_at_once(self, key: str) -> bool:
        """`take` without waiting for a database; False, and nothing taken, where that cannot be."""
        self.take(key)
        return True

    def give_back(self, key: str) -> None:
        """One of `key` that does not count."""
        with self._turn:
            if key in self._left:
                self._left[key] = (min(self.burst, self._now(key) + 1), self.clock())

    def _now(self, key: str) -> float:
        left, then = self._left.get(key, (float(self.burst), self.clock()))
        return min(self.burst, left + (self.clock() - then) * self.rate)


def make_buckets(name: str, rate: float, burst: int) -> Buckets:
    """Buckets for one process."""
    return Buckets(rate, burst)


async def take_in_loop(buckets: Buckets, key: str) -> None:
    """`take` in an event loop, which never waits for a database."""
    if not buckets.take_at_once(key):
        await run_in_threadpool(buckets.take, key)


# -- several workers ---------------------------------------------------------------------------------------------------

_PART = 20
"""A worker takes one in so many tokens of a full bucket at a time."""
_KEEPS_S = 60.0
"""Tokens that a worker took and did not use for so long are void: the bucket has filled up meanwhile."""
_FORGETS_EVERY = 10_000


class SharedLimits:
    """Limits of one studio, whichever worker a request comes to."""

    def __init__(self, database: Database, secret: bytes) -> None:
        self.database, self._secret = database, secret
        self._taken = 0

    def make_buckets(self, name: str, rate: float, burst: int) -> Buckets:
        """Buckets that all workers share."""
        return SharedBuckets(self, name, rate, burst)

    def take(self, name: str, key: str, buckets: Buckets, wanted: int) -> tuple[int, float]:
        """Tokens from the database, and seconds to wait for one."""
        hidden = hmac.new(self._secret, f"limit\0{name}\0{key}".encode(), hashlib.sha256).hexdigest()
        self._taken += 1
        if self._taken % _FORGETS_EVERY == 0:
            self.database.forget_limits()
        return self.database.take_tokens(f"{name} {hidden}", buckets.rate, buckets.burst, wanted)


class SharedBuckets(Buckets):
    """Buckets in the database, from which this worker takes a few tokens at a time."""

    def __init__(
        self,
        limits: SharedLimits,
        name: str,
        rate: float,
        burst: int,
        *,
        most: int = 20_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(rate, burst, most=most, clock=clock)
        self._limits, self._name, self._part = limits, name, max(1, burst // _PART)

    def take(self, key: str) -> None:
        if self.take_at_once(key):
            return
        granted, wait = self._limits.take(self._name, key, self, self._part)
        if granted < 1:
            raise TooMany(wait)
        with self._turn:
            self._left[key] = (granted - 1 + self._fresh(key), self.clock())
            self._left.move_to_end(key)
            if len(self._left) > self.most:
                self._left.popitem(last=False)

    def take_at_once(self, key: str) -> bool:
        with self._turn:
            left = self._fresh(key)
            if left < 1:
                return False
            self._left[key] = (left - 1, self._left[key][1])
            return True

    def give_back(self, key: str) -> None:
        self._limits.take(self._name, key, self, -1)

    def _fresh(self, key: str) -> float:
        """Tokens this worker has already, and may still use."""
        left, at = self._left.get(key, (0.0, 0.0))
        return left if self.clock() - at < _KEEPS_S else 0.0
