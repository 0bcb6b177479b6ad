"""A budget that requests in flight at the same time cannot exceed: what one may cost is set aside before it is sent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from salon.calls.errors import BudgetSpent
from salon.errors import BadValue

_LOOK_AGAIN = 0.02
"""Seconds between looks for money that other requests give back; they may run on other threads."""
_REMEDY = "answers so far are kept: raise the budget and run again"


@dataclass
class Reservation:
    """Money set aside for one request. `cost` is what it came to; left None, all that was set aside counts as spent."""

    most: Decimal
    cost: Decimal | None = None


class Budget:
    """At most `money` and at most `calls` requests, retries included; None for no limit.

    One budget may serve several clients of a run. A request that ended without an answer (cut off, timed out) may
    have been charged: it counts with all that was set aside for it. One answered with an error counts as a request
    that cost nothing. Answers from the store count nothing at all.
    """

    def __init__(self, money: Decimal | float | str | None = None, calls: int | None = None) -> None:
        try:
            self.money = None if money is None else Decimal(str(money))
        except InvalidOperation:
            self.money = Decimal("nan")
        self.calls = calls
        if (self.money is not None and not (self.money.is_finite() and self.money >= 0)) or (calls or 0) < 0:
            raise BadValue("a budget must be a number of 0 or more", found=f"money {money}, calls {calls}")
        self.spent = Decimal(0)
        self.sent = 0
        self.reserved = Decimal(0)
        self._lock = threading.Lock()

    @asynccontextmanager
    async def reserve(self, most: Decimal | None) -> AsyncIterator[Reservation]:
        """Set `most` aside for one request; BudgetSpent when it cannot be had even after all others are settled."""
        reservation = Reservation(most or Decimal(0))
        while not self._take(reservation.most):
            await asyncio.sleep(_LOOK_AGAIN)
        try:
            yield reservation
        finally:
            with self._lock:
                self.reserved -= reservation.most
                self.spent += reservation.most if reservation.cost is None else reservation.cost

    def _take(self, most: Decimal) -> bool:
        with self._lock:
            if self.calls is not None and self.sent >= self.calls:
                raise BudgetSpent(f"the budget of {self.calls:,} calls is spent", remedy=_REMEDY)
            if self.money is not None and self.spent + self.reserved + most > self.money:
                if not self.reserved:
                    raise BudgetSpent(
                        f"the next call may cost {most:f}, more than the budget has left",
                        found=f"{self.spent:f} of {self.money:f} spent",
                        remedy=_REMEDY,
                    )
                return False
            self.reserved += most
            self.sent += 1
            return True
