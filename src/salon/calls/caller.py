"""Ask one call, with everything that can go wrong on the way: the asynchronous heart of this room.

ask ─▶ in the store? ─▶ claim ─▶ room, pause, rate ─▶ budget ─▶ send ─▶ usable? ─▶ store ─▶ answer
                            └──────────────── wait ◀── worth another attempt ◀──┘
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal

import httpx2
import numpy as np

from salon.calls.account import Account
from salon.calls.address import checked_url, origin
from salon.calls.answer import Answer, Refusal
from salon.calls.budget import Reservation
from salon.calls.call import Call
from salon.calls.errors import CallsStopped, Unreachable
from salon.calls.ledger import Ledger
from salon.calls.pace import Pace, Slot
from salon.calls.retry import OVERLOADED, RETRIED, Again, complaint, stop_for, wait_before
from salon.calls.sending import Reply, Sender, TooLarge
from salon.calls.service import Service
from salon.calls.store import CallStore, now
from salon.calls.usage import Usable, examine

_LOOK_AGAIN = 0.05
"""Seconds before looking again for an answer that someone else is asking for; grows to 1."""


@dataclass
class Tries:
    """What has been done for one call so far."""

    sent: int = 0
    unusable: int = 0
    since: float | None = None
    """When the first request was sent: time spent queueing is not held against a call."""


class Caller:
    """Asks a service, keeping what it learns about each host's pace. Made and used inside one running loop."""

    def __init__(
        self,
        service: Service,
        store: CallStore,
        account: Account,
        *,
        transport: httpx2.AsyncBaseTransport | None,
        rng: np.random.Generator,
    ) -> None:
        self.service, self.limits, self.account = service, service.limits, account
        self.in_flight: set[asyncio.Task[object] | None] = set()
        """Tasks with a request under way, until its answer is stored."""
        self.stopped: CallsStopped | None = None
        """Why nothing more is sent."""
        self._store, self._rng = store, rng
        self._ledger = Ledger(store)
        self._sender = Sender(service, transport)
        self._paces: defaultdict[str, Pace] = defaultdict(lambda: Pace(service.limits))
        self._asking: dict[str, asyncio.Future[None]] = {}
        self._answered = False

    async def close(self) -> None:
        """Close connections; write what is waiting."""
        await self._sender.close()
        self._ledger.close()

    async def ask(self, call: Call, usable: Usable | None = None) -> Answer | Refusal:
        """The answer, from the store or fresh; or why there is none. CallsStopped when no call is worth sending."""
        checked_url(call.url, allow_http=self.service.allow_http)
        while (other := self._asking.get(call.key)) is not None:
            await asyncio.wait({other})
        ours = self._asking[call.key] = asyncio.get_running_loop().create_future()
        try:
            outcome = await self._asked(call, usable)
        except CallsStopped as stop:
            self.stopped = stop
            raise
        finally:
            del self._asking[call.key]
            ours.set_result(None)
        self.account.asked += 1
        self.account.refused += isinstance(outcome, Refusal)
        self.account.from_store += isinstance(outcome, Answer) and outcome.stored
        return outcome

    async def flush(self) -> None:
        """Wait until everything noted so far is on the disk.

        Twice: the first round grants the claims still waiting, and those of calls cancelled meanwhile are then given
        back, which the second round waits for.
        """
        await self._ledger(lambda: None)
        await self._ledger(lambda: None)

    async def set_aside(self, answer: Answer, why: str) -> None:
        """An answer turned out to be of no use: its call is open again."""
        await self._ledger(self._store.set_aside, answer, why)

    async def _asked(self, call: Call, usable: Usable | None) -> Answer | Refusal:
        return self._store.find(call.key) or await self._attempts(call, usable)

    async def _attempts(self, call: Call, usable: Usable | None) -> Answer | Refusal:
        tries, attempt = Tries(), 0
        while True:
            attempt += 1
            try:
                return await self._attempt(call, usable, tries)
            except Again as failure:
                wait = wait_before(attempt, failure.retry_after, self.limits, self._rng)
                spent = time.monotonic() - (tries.since or 0) + wait
                if attempt >= self.limits.attempts or spent >= self.limits.patience:
                    return self._given_up(call, failure, tries)
            await asyncio.sleep(wait)

    async def _attempt(self, call: Call, usable: Usable | None, tries: Tries) -> Answer | Refusal:
        """One request, or the answer to someone else's. Raises Again when another request may fare better."""
        pace = self._paces[origin(call.url)]
        wait = _LOOK_AGAIN
        while True:
            async with pace.slot() as slot:
                if self.stopped is not None and (call.order is not None or call.method != "GET"):
                    raise self.stopped  # only what was bought and is yet to be fetched still is
                held = await self._claim(call.key)
                if isinstance(held, Answer):
                    return held
                if held:
                    return await self._claimed(call, slot, usable, tries)
            await asyncio.sleep(wait)
            wait = min(1.0, wait * 1.5)

    async def _claim(self, key: str) -> Answer | bool:
        claim = self._ledger(self._store.claim, key)
        try:
            return await asyncio.shield(claim)
        except asyncio.CancelledError:
            claim.add_done_callback(lambda done: self._give_back(key, done))
            raise

    def _give_back(self, key: str, claim: asyncio.Future[Answer | bool]) -> None:
        """End a claim that was granted after its call had been cancelled."""
        if claim.exception() is None and claim.result() is True:
            self._ledger.later(self._store.release, key)

    async def _claimed(self, call: Call, slot: Slot, usable: Usable | None, tries: Tries) -> Answer | Refusal:
        """Ask while the claim is ours. It ends with the request, so claims are exactly what is in flight."""
        try:
            async with self.service.budget.reserve(self.service.prices.most(call.order)) as reservation:
                with self._under_way():
                    outcome = await self._outcome(call, slot, reservation, usable, tries)
        except BaseException:
            self._ledger.later(self._store.release, call.key)
            raise
        if isinstance(outcome, Refusal):
            await self._ledger(self._store.release, call.key)
        return outcome

    async def _outcome(
        self, call: Call, slot: Slot, reservation: Reservation, usable: Usable | None, tries: Tries
    ) -> Answer | Refusal:
        """Send, and make of the reply what it is."""
        try:
            reply = await self._sent(call, slot, reservation, tries)
        except TooLarge as error:
            self._lost(call, "too large")
            return Refusal(call.key, "too-large", str(error), attempts=tries.sent)
        if 200 <= reply.status < 300:
            slot.fine()
            return await self._answer(call, reply, reservation, usable, tries)
        reservation.cost = Decimal(0)
        return self._error(call, reply, slot, tries)

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        task = asyncio.current_task()
        self.in_flight.add(task)
        try:
            yield
        finally:
            self.in_flight.discard(task)

    async def _sent(self, call: Call, slot: Slot, reservation: Reservation, tries: Tries) -> Reply:
        tries.sent += 1
        tries.since = tries.since or time.monotonic()
        self.account.sent += 1
        try:
            return await self._sender.send(call)
        except Again as failure:
            if failure.kind == "unreachable":
                reservation.cost = Decimal(0)
            else:
                self._lost(call, failure.kind)
            if failure.kind != "broken":
                slot.overloaded()
            raise
        except asyncio.CancelledError:
            self._lost(call, "cancelled")
            raise

    async def _answer(
        self, call: Call, reply: Reply, reservation: Reservation, usable: Usable | None, tries: Tries
    ) -> Answer | Refusal:
        """Look at a reply of 2xx, book it, and store it: as the answer, or apart when it cannot be used."""
        self._answered = True
        answer = Answer(call.key, reply.status, reply.headers, reply.body, reply.seconds, tries.sent, now())
        answer, why = await examine(answer, usable)
        if call.order is not None:
            reservation.cost = self.service.prices.cost(call.order, answer.tokens_in, answer.tokens_out)
        if reservation.cost is not None:
            answer = replace(answer, cost=float(reservation.cost))
        self.account.bought(answer, reservation.cost)
        if why is None:
            await self._ledger(self._store.keep, answer, call.url)
            return answer
        await self._ledger(self._store.set_aside, answer, why)
        self.account.wasted(reservation.cost)
        tries.unusable += 1
        if tries.unusable >= self.limits.unusable:
            return Refusal(call.key, "unusable", why, reply.status, attempts=tries.sent)
        raise Again("unusable", why, reply.status)

    def _error(self, call: Call, reply: Reply, slot: Slot, tries: Tries) -> Refusal:
        """What a reply that is no 2xx means."""
        failure = complaint(reply.status, reply.headers, reply.body)
        if self.service.is_home(call.url):
            keys = [secret.variable for secret in self.service.secrets]
            stop = stop_for(failure, url=call.url, answered=self._answered, keys=keys)
            if stop is not None:
                raise stop
        if reply.status in OVERLOADED:
            slot.overloaded(failure.retry_after)
        else:
            slot.fine()
        if reply.status in RETRIED:
            raise failure
        kind = "redirect" if 300 <= reply.status < 400 else "rejected"
        return Refusal(call.key, kind, failure.reason, reply.status, failure.code, tries.sent)

    def _given_up(self, call: Call, last: Again, tries: Tries) -> Refusal:
        """The end of all attempts."""
        if last.kind == "unreachable" and self.service.is_home(call.url) and not self._answered:
            raise Unreachable(
                "a server must answer", found=last.reason, where=call.url, remedy="check base_url, and that it runs"
            )
        kind = "broken" if last.kind == "unreachable" else last.kind
        return Refusal(call.key, kind, last.reason, last.status, last.code, tries.sent)

    def _lost(self, call: Call, why: str) -> None:
        """Note a request that may have been charged; not awaited, so that it is noted when we are cancelled too."""
        self.account.lost += 1
        self._ledger.later(self._store.lose, call.key, why)
