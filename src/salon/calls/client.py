"""The synchronous door: many calls at once, their answers one by one as they come.

    with CallStore("calls.sqlite") as store, Client(Service("https://host/v1", (Secret("MY_KEY"),)), store) as client:
        for index, outcome in client.each(calls):
            ...

`calls` is read lazily, on the thread that asks for results, and only a little ahead of them: a consumer that stops for
a while stops the run for a while. One that leaves (break, an error, Ctrl-C) ends it: nothing more is sent, requests in
flight get `grace` seconds to come home and be stored, and what is still out then is cut off and noted as lost.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from salon.calls.account import Account
from salon.calls.answer import Answer, Refusal
from salon.calls.call import Call
from salon.calls.caller import Caller
from salon.calls.errors import CallsStopped
from salon.calls.service import Service
from salon.calls.store import CallStore
from salon.calls.usage import Usable

if TYPE_CHECKING:
    import httpx2

Item = TypeVar("Item")
Result = TypeVar("Result")
_AHEAD = 2
"""Calls begun and not yet delivered, in multiples of the most requests in flight."""
_LOOK_AGAIN = 0.05


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
    ) -> Generator[tuple[int, Answer | Refusal], None, None]:
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
                index, done = flight.landed.get()
                flight.size -= 1
                if done.exception() is None:
                    yield index, done.result()
                elif error is None:
                    error = done.exception()
                    caller.stopped = caller.stopped or CallsStopped("another call has ended the run", found=error)
        finally:
            flight.end(self.service.limits.grace)
        if error is not None:
            raise error

    def notes(self) -> list[str]:
        """What a report should say: what cost nothing, and what may have cost something without an answer."""
        said = []
        account = self.account
        if account.from_store:
            said.append(f"answers from {self.store.path.name}, at no cost: {account.from_store:,}")
        if account.unusable:
            said.append(f"answers that could not be used: {account.unusable:,}, cost {account.unusable_cost:f}")
        if account.lost:
            said.append(f"requests without an answer, which may have been charged: {account.lost:,}")
        return said

    def _open(self) -> Caller:
        if self._caller is None:
            self._loop = asyncio.new_event_loop()
            thread = threading.Thread(target=self._loop.run_forever, name="salon-calls", daemon=True)
            thread.start()
            self._caller = self._on_loop(self._make_caller())
            self._finalizer = weakref.finalize(self, _shut, self._loop, thread, self._caller)
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
        # The coroutine is made on the loop's thread: an interrupt here cannot leave one that nobody awaits.
        self._loop.call_soon_threadsafe(self._start, index, item)
        self.size += 1

    def _start(self, index: int, item: object) -> None:
        task = self._loop.create_task(self._run(item))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._land(index, done))

    def _land(self, index: int, done: asyncio.Task[Any]) -> None:
        self._tasks.discard(done)
        if not done.cancelled():
            done.exception()  # seen, even if nobody stays to hear of it
        self.landed.put((index, done))

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


def _shut(loop: asyncio.AbstractEventLoop, thread: threading.Thread, caller: Caller) -> None:
    asyncio.run_coroutine_threadsafe(caller.close(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
