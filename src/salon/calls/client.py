"""Many calls at once, each asked at most once and paid for at most once; their answers come one by one.

    with CallStore("calls.sqlite") as store, Client(Service("https://host/v1", (Secret("MY_KEY"),)), store) as client:
        for index, outcome in client.each(calls):
            ...

`Client` is synchronous and runs an event loop on a thread. `Caller` asks one call on that loop:

    ask -> in the store? -> claim -> place, pause, rate -> budget -> send -> usable? -> store -> answer
                                └───────────── wait <── worth another attempt <──┘

`calls` is read lazily, only a little ahead of the results, so a consumer that pauses also pauses the run. When the
consumer leaves (break, an error, Ctrl-C), nothing more is sent. Requests in flight get `grace` seconds to finish and be
stored; the rest are cut off and recorded as lost.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2
import numpy as np

from salon.calls.call import Call, CallAnswer, Refusal, Usable, examine
from salon.calls.errors import CallsStopped, Unreachable
from salon.calls.service import Reservation, Service, check_url, origin
from salon.calls.store import CallStore, StoreWriter, utc_now
from salon.calls.transport import (
    OVERLOAD_STATUSES,
    RETRY_STATUSES,
    HttpReply,
    Pace,
    ReplyTooLarge,
    RetryableError,
    Sender,
    Slot,
    failure_of,
    fatal_error,
    retry_delay,
)


@dataclass
class Account:
    """Of one client; `CallStore.totals` tells of all."""

    asked: int = 0
    """Calls that came to an end, one way or the other."""
    from_store: int = 0
    """Of these, answered without sending anything."""
    sent: int = 0
    """Requests, retries included."""
    refused: int = 0
    lost: int = 0
    """Requests that ended without an answer and may have been charged."""
    unusable: int = 0
    """Answers bought that could not be used."""
    unusable_cost: Decimal = Decimal(0)
    tokens_in: int = 0
    tokens_out: int = 0
    cost: Decimal = Decimal(0)
    """Of answers, usable or not. Requests without an answer are in the budget, not here."""

    def bought(self, answer: CallAnswer, cost: Decimal | None) -> None:
        """Book an answer that was paid for."""
        self.tokens_in += answer.tokens_in or 0
        self.tokens_out += answer.tokens_out or 0
        self.cost += cost or 0

    def wasted(self, cost: Decimal | None) -> None:
        """Book an answer, already bought, as of no use."""
        self.unusable += 1
        self.unusable_cost += cost or 0


# -- asking one call ---------------------------------------------------------------------------------------------------

_LOOK_AGAIN = 0.05
"""Seconds before looking again for an answer that someone else is asking for; grows to 1."""


@dataclass
class CallAttempts:
    """What has been done for one call so far."""

    requests: int = 0
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
        self._ledger = StoreWriter(store)
        self._sender = Sender(service, transport)
        self._paces: defaultdict[str, Pace] = defaultdict(lambda: Pace(service.limits))
        self._asking: dict[str, asyncio.Future[None]] = {}
        self._answered = False

    async def close(self) -> None:
        """Close connections; write what is waiting."""
        await self._sender.close()
        self._ledger.close()

    async def ask(self, call: Call, usable: Usable | None = None) -> CallAnswer | Refusal:
        """The answer, from the store or fresh; or why there is none. CallsStopped when no call is worth sending."""
        check_url(call.url, allow_http=self.service.allow_http)
        while (pending := self._asking.get(call.key)) is not None:
            await asyncio.wait({pending})
        ours = self._asking[call.key] = asyncio.get_running_loop().create_future()
        try:
            outcome = self._store.find(call.key) or await self._attempts(call, usable)
        except CallsStopped as stop:
            self.stopped = stop
            raise
        finally:
            del self._asking[call.key]
            ours.set_result(None)
        self.account.asked += 1
        self.account.refused += isinstance(outcome, Refusal)
        self.account.from_store += isinstance(outcome, CallAnswer) and outcome.stored
        return outcome

    async def flush(self) -> None:
        """Wait until everything noted so far is on the disk.

        Twice: the first round grants the claims still waiting, and those of calls cancelled meanwhile are then given
        back, which the second round waits for.
        """
        await self._ledger(lambda: None)
        await self._ledger(lambda: None)

    async def set_aside(self, answer: CallAnswer, why: str) -> None:
        """An answer turned out to be of no use: its call is open again."""
        await self._ledger(self._store.set_aside, answer, why)

    async def _attempts(self, call: Call, usable: Usable | None) -> CallAnswer | Refusal:
        tries, attempt = CallAttempts(), 0
        while True:
            attempt += 1
            try:
                return await self._attempt(call, usable, tries)
            except RetryableError as failure:
                wait = retry_delay(attempt, failure.retry_after, self.limits, self._rng)
                spent = time.monotonic() - (tries.since or 0) + wait
                if attempt >= self.limits.attempts or spent >= self.limits.patience:
                    return self._give_up(call, failure, tries)
            await asyncio.sleep(wait)

    async def _attempt(self, call: Call, usable: Usable | None, tries: CallAttempts) -> CallAnswer | Refusal:
        """One request, or the answer to someone else's. Raises RetryableError when another request may fare better."""
        pace = self._paces[origin(call.url)]
        wait = _LOOK_AGAIN
        while True:
            async with pace.slot() as slot:
                if self.stopped is not None and (call.order is not None or call.method != "GET"):
                    raise self.stopped  # only what was bought and is yet to be fetched still is
                claim = await self._claim(call.key)
                if isinstance(claim, CallAnswer):
                    return claim
                if claim:
                    return await self._ask_claimed(call, slot, usable, tries)
            await asyncio.sleep(wait)
            wait = min(1.0, wait * 1.5)

    async def _claim(self, key: str) -> CallAnswer | bool:
        claim = self._ledger(self._store.claim, key)
        try:
            return await asyncio.shield(claim)
        except asyncio.CancelledError:
            claim.add_done_callback(lambda granted: self._give_back(key, granted))
            raise

    def _give_back(self, key: str, claim: asyncio.Future[CallAnswer | bool]) -> None:
        """End a claim that was granted after its call had been cancelled."""
        if claim.exception() is None and claim.result() is True:
            self._ledger.later(self._store.release, key)

    async def _ask_claimed(
        self, call: Call, slot: Slot, usable: Usable | None, tries: CallAttempts
    ) -> CallAnswer | Refusal:
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
        self, call: Call, slot: Slot, reservation: Reservation, usable: Usable | None, tries: CallAttempts
    ) -> CallAnswer | Refusal:
        """Send, and make of the reply what it is."""
        try:
            reply = await self._send(call, slot, reservation, tries)
        except ReplyTooLarge as error:
            self._record_loss(call, "too large")
            return Refusal(call.key, "too-large", str(error), attempts=tries.requests)
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

    async def _send(self, call: Call, slot: Slot, reservation: Reservation, tries: CallAttempts) -> HttpReply:
        tries.requests += 1
        tries.since = tries.since or time.monotonic()
        self.account.sent += 1
        try:
            return await self._sender.send(call)
        except RetryableError as failure:
            if failure.kind == "unreachable":
                reservation.cost = Decimal(0)
            else:
                self._record_loss(call, failure.kind)
            if failure.kind != "broken":
                slot.overloaded()
            raise
        except asyncio.CancelledError:
            self._record_loss(call, "cancelled")
            raise

    async def _answer(
        self, call: Call, reply: HttpReply, reservation: Reservation, usable: Usable | None, tries: CallAttempts
    ) -> CallAnswer | Refusal:
        """Look at a reply of 2xx, book it, and store it: as the answer, or apart when it cannot be used."""
        self._answered = True
        answer = CallAnswer(call.key, reply.status, reply.headers, reply.body, reply.seconds, tries.requests, utc_now())
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
            return Refusal(call.key, "unusable", why, reply.status, attempts=tries.requests)
        raise RetryableError("unusable", why, reply.status)

    def _error(self, call: Call, reply: HttpReply, slot: Slot, tries: CallAttempts) -> Refusal:
        """What a reply that is no 2xx means."""
        failure = failure_of(reply.status, reply.headers, reply.body)
        if self.service.is_home(call.url):
            keys = [secret.variable for secret in self.service.secrets]
            stop = fatal_error(failure, url=call.url, answered=self._answered, keys=keys)
            if stop is not None:
                raise stop
        if reply.status in OVERLOAD_STATUSES:
            slot.overloaded(failure.retry_after)
        else:
            slot.fine()
        if reply.status in RETRY_STATUSES:
            raise failure
        kind = "redirect" if 300 <= reply.status < 400 else "rejected"
        return Refusal(call.key, kind, failure.reason, reply.status, failure.code, tries.requests)

    def _give_up(self, call: Call, last: RetryableError, tries: CallAttempts) -> Refusal:
        """The end of all attempts."""
        if last.kind == "unreachable" and self.service.is_home(call.url) and not self._answered:
            raise Unreachable(
                "a server must answer", found=last.reason, where=call.url, remedy="check base_url, and that it runs"
            )
        kind = "broken" if last.kind == "unreachable" else last.kind
        return Refusal(call.key, kind, last.reason, last.status, last.code, tries.requests)

    def _record_loss(self, call: Call, why: str) -> None:
        """Note a request that may have been charged; not awaited, so that it is noted when we are cancelled too."""
        self.account.lost += 1
        self._ledger.later(self._store.lose, call.key, why)


# -- asking many -------------------------------------------------------------------------------------------------------

Item = TypeVar("Item")
Result = TypeVar("Result")
_AHEAD = 2
"""Calls begun and not yet delivered, in multiples of the most requests in flight."""


class Client:
    """Asks one service on a thread of its own, which learns the hosts' pace for as long as the client is open."""

    def __init__(
        self,
        service: Service,
        store: CallStore,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """`transport` replaces the network, for tests; `rng` draws the jitter of waits."""
        self.service, self.store, self.account = service, store, Account()
        self._transport = transport
        self._rng = np.random.default_rng() if rng is None else rng
        self._caller: Caller | None = None

    def each(
        self, calls: Iterable[Call], usable: Usable | None = None
    ) -> Generator[tuple[int, CallAnswer | Refusal], None, None]:
        """(index into `calls`, outcome) for each call exactly once, in the order they are finished.

        Raises CallsStopped when no further call is worth sending, after delivering those in flight.
        """
        return self.over(calls, lambda caller, call: caller.ask(call, usable))

    def over(
        self, items: Iterable[Item], work: Callable[[Caller, Item], Awaitable[Result]]
    ) -> Generator[tuple[int, Result], None, None]:
        """Like `each`, where one item may take several calls: `work` asks them of the caller it is given."""
        caller = self._open()
        caller.stopped = None
        flight = _Flight(caller, self._loop, work)
        numbered = enumerate(items)
        error: BaseException | None = None
        try:
            while True:
                while error is None and flight.size < _AHEAD * self.service.limits.concurrency:
                    if (pair := next(numbered, None)) is None:
                        break
                    flight.begin(*pair)
                if not flight.size:
                    break
                index, task = flight.landed.get()
                flight.size -= 1
                if task.exception() is None:
                    yield index, task.result()
                elif error is None:
                    error = task.exception()
                    caller.stopped = caller.stopped or CallsStopped("another call has ended the run", found=error)
        finally:
            flight.end(self.service.limits.grace)
        if error is not None:
            raise error

    def notes(self) -> list[str]:
        """What a report should say: what cost nothing, and what may have cost something without an answer."""
        notes = []
        account = self.account
        if account.from_store:
            notes.append(f"answers from {self.store.path.name}, at no cost: {account.from_store:,}")
        if account.unusable:
            notes.append(f"answers that could not be used: {account.unusable:,}, cost {account.unusable_cost:f}")
        if account.lost:
            notes.append(f"requests without an answer, which may have been charged: {account.lost:,}")
        return notes

    def _open(self) -> Caller:
        if self._caller is None:
            self._loop = asyncio.new_event_loop()
            thread = threading.Thread(target=self._loop.run_forever, name="salon-calls", daemon=True)
            thread.start()
            self._caller = self._on_loop(self._make_caller())
            self._finalizer = weakref.finalize(self, _close_loop, self._loop, thread, self._caller)
        return self._caller

    async def _make_caller(self) -> Caller:
        return Caller(self.service, self.store, self.account, transport=self._transport, rng=self._rng)

    def _on_loop(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        """End the thread and its connections. The store stays open: it is the caller's."""
        if self._caller is not None:
            self._finalizer()
            self._caller = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Flight:
    """The items of one `over` that are begun and not yet delivered."""

    def __init__(self, caller: Caller, loop: asyncio.AbstractEventLoop, work: Callable[[Caller, Any], Any]) -> None:
        self.size = 0
        self.landed: queue.SimpleQueue[tuple[int, asyncio.Task[Any]]] = queue.SimpleQueue()
        self._caller, self._loop, self._work = caller, loop, work
        self._tasks: set[asyncio.Task[Any]] = set()

    def begin(self, index: int, item: object) -> None:
        # The coroutine is made on the loop's thread: an interrupt here cannot leave an unawaited one.
        self._loop.call_soon_threadsafe(self._start, index, item)
        self.size += 1

    def _start(self, index: int, item: object) -> None:
        task = self._loop.create_task(self._run(item))
        self._tasks.add(task)
        task.add_done_callback(lambda finished: self._land(index, finished))

    def _land(self, index: int, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, even if the consumer has left
        self.landed.put((index, task))

    async def _run(self, item: object) -> Any:
        return await self._work(self._caller, item)

    def end(self, grace: float) -> None:
        asyncio.run_coroutine_threadsafe(self._wind_up(grace), self._loop).result()

    async def _wind_up(self, grace: float) -> None:
        """Cancel what is not under way at once, and what is after `grace` seconds; then the store may be closed."""
        deadline = self._loop.time() + grace
        while self._tasks:
            late = self._loop.time() >= deadline
            for task in self._tasks:
                if late or task not in self._caller.in_flight:
                    task.cancel()
            await asyncio.wait(set(self._tasks), timeout=_LOOK_AGAIN)
        await self._caller.flush()


def _close_loop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, caller: Caller) -> None:
    asyncio.run_coroutine_threadsafe(caller.close(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
