"""The store beside an event loop: a thread that writes everything waiting in one transaction.

An answer must be on the disk before it is used, and the disk takes its time over that. One flush for all the answers
that came while the last one was being written keeps the loop free and the rate high (`benchmarks/calls.py`).
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from salon.calls.store import CallStore

T = TypeVar("T")
_GATHER = 0.005
"""Seconds to wait for company: every commit costs a flush, and requests take far longer than this."""
_Work = tuple[Callable[[], Any], "asyncio.Future[Any] | None"]


class Ledger:
    """Runs functions of a store on a thread of its own, many to a transaction; made and used inside a running loop."""

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="salon-ledger", daemon=True)
        self._thread.start()

    def __call__(self, function: Callable[..., T], *arguments: object) -> asyncio.Future[T]:
        """`function(*arguments)`, to be awaited; done when it is on the disk."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting.put((lambda: function(*arguments), future))
        return future

    def later(self, function: Callable[..., object], *arguments: object) -> None:
        """`function(*arguments)`, in its turn, with nobody waiting: for what a cancelled call still has to note."""
        self._waiting.put((lambda: function(*arguments), None))

    def close(self) -> None:
        """Write what is waiting, and end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _write(self) -> None:
        open_ = True
        while open_:
            batch = [self._waiting.get()]
            time.sleep(_GATHER)
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            open_ = None not in batch
            self._commit([work for work in batch if work is not None])

    def _commit(self, batch: list[_Work]) -> None:
        try:
            with self._store.transaction():
                results = [function() for function, _ in batch]
        except Exception as error:
            if len(batch) > 1:  # what is wrong with one must not cost the others their answers
                for work in batch:
                    self._commit([work])
                return
            self._loop.call_soon_threadsafe(_fail, batch, error)
        else:
            self._loop.call_soon_threadsafe(_settle, batch, results)


def _settle(batch: list[_Work], results: list[Any]) -> None:
    for (_, future), result in zip(batch, results):
        if future is not None and not future.done():  # one who was cancelled does not wait any more
            future.set_result(result)


def _fail(batch: list[_Work], error: Exception) -> None:
    for _, future in batch:
        if future is not None and not future.done():
            future.set_exception(error)
