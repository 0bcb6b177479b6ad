"""Requests that come one by one, looked at together: dynamic batching with a bounded, fair queue.

A batch is closed when it is full, or when its oldest picture has waited long enough for company. Its pictures are
decoded by threads while the batch before it is scored; at most two batches have their pixels in memory, what waits is
bytes. The next place in a batch goes to the next caller in turn, and of one caller's requests to the next in turn: a
request of sixty pictures does not hold up a request of one. A picture that is asked for while it waits or is looked at
is looked at once; the last answers are remembered.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

from pydantic import Field

from salon.errors import BadFile
from salon.select.service.errors import QueueFull, TooLate
from salon.select.service.model import ScoringModel
from salon.select.service.parts import Looked, Opened
from salon.store.pictures import read_picture
from salon.study.noun import Noun
from salon.study.prompt import Prompt

_AT_WORK = 2
"""Batches under way: one is decoded while the other is scored."""


class BatchSettings(Noun):
    """How requests become batches."""

    batch: int = Field(16, ge=1, le=1024, description="Pictures that are looked at together at most.")
    batch_wait: float = Field(0.01, ge=0, le=10, description="Seconds that a picture waits for company at most.")
    batch_pixels: int = Field(1 << 26, ge=1, description="Pixels of one batch at most; a larger picture goes alone.")
    queue: int = Field(1024, ge=1, description="Pictures that may wait; more are refused until there are fewer.")
    deadline: float = Field(30.0, gt=0, le=3600, description="Seconds within which a request is answered, or refused.")
    cache: int = Field(2048, ge=0, description="Answers remembered, by content of picture and prompt; 0 for none.")


@dataclass(frozen=True)
class Asked:
    """A picture as it was sent: bytes whose header was read, and its prompt."""

    data: bytes = field(repr=False)
    sha256: str
    pixels: int
    prompt: Prompt | None = None

    @property
    def key(self) -> tuple[str, str]:
        """All that the answer depends on, beside the model."""
        return self.sha256, "" if self.prompt is None else self.prompt.model_dump_json()


@dataclass(frozen=True)
class BatchFacts:
    """What a finished batch took."""

    size: int
    decode_seconds: float
    score_seconds: float
    waited_seconds: float


@dataclass(eq=False)
class _Look:
    """A picture that waits or is looked at, and those who wait for it."""

    asked: Asked
    since: float
    waiting: list[asyncio.Future[Looked | BadFile]] = field(default_factory=list)

    @property
    def wanted(self) -> bool:
        return any(not one.done() for one in self.waiting)

    def tell(self, found: Looked | BadFile) -> None:
        for one in self.waiting:
            if not one.done():
                one.set_result(found)


class FairQueue:
    """Pictures that wait: callers take turns, and so do the requests of one caller."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, deque[deque[_Look]]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, caller: str, looks: Iterable[_Look]) -> None:
        """The pictures of one request."""
        request = deque(looks)
        if request:
            self._callers.setdefault(caller, deque()).append(request)
            self._size += len(request)

    def take(self) -> _Look:
        """The next in turn."""
        caller, requests = self._callers.popitem(last=False)
        request = requests.popleft()
        look = request.popleft()
        if request:
            requests.append(request)
        if requests:
            self._callers[caller] = requests
        self._size -= 1
        return look

    def put_back(self, caller: str, look: _Look) -> None:
        """One that did not fit: it is the next again."""
        self._callers.setdefault(caller, deque()).appendleft(deque([look]))
        self._callers.move_to_end(caller, last=False)
        self._size += 1

    def next_caller(self) -> str:
        """Whose turn it is."""
        return next(iter(self._callers))


class Batcher:
    """The queue before one model, on the loop it is first asked on."""

    def __init__(
        self,
        model: ScoringModel,
        settings: BatchSettings,
        decoders: Executor,
        tell: Callable[[BatchFacts], None] = lambda facts: None,
    ) -> None:
        self.model, self.settings = model, settings
        self._decoders, self._tell = decoders, tell
        self._queue = FairQueue()
        self._open: dict[tuple[str, str], _Look] = {}
        self._known: OrderedDict[tuple[str, str], Looked] = OrderedDict()
        self._more = asyncio.Event()
        self._places = asyncio.Semaphore(_AT_WORK)
        self._running: asyncio.Task[None] | None = None
        self._batches: set[asyncio.Task[None]] = set()
        self._score_turn = asyncio.Lock()
        self._pace = 0.0
        self.hits = 0
        self.busy_since: float | None = None
        """Since when a batch has been with the model; None while it has none."""

    @property
    def waiting(self) -> int:
        """Pictures in the queue."""
        return len(self._queue)

    @property
    def idle(self) -> bool:
        """Nothing waits, nothing is under way."""
        return not len(self._queue) and not self._batches and not self._open

    async def ask(
        self, asked: Sequence[Asked], caller: str = "", seconds: float | None = None
    ) -> list[Looked | BadFile]:
        """What the model says of each picture; BadFile for one that cannot be decoded. QueueFull, TooLate."""
        loop = asyncio.get_running_loop()
        if self._running is None:
            self._running = loop.create_task(self._run())
        seconds = min(seconds or self.settings.deadline, self.settings.deadline)
        futures = self._join(asked, caller, loop)
        try:
            async with asyncio.timeout(seconds):
                return [one if isinstance(one, Looked) else await one for one in futures]
        except TimeoutError:
            raise TooLate(seconds) from None
        finally:
            for one in futures:
                if isinstance(one, asyncio.Future) and not one.cancel() and not one.cancelled():
                    one.exception()  # heard; what nobody waits for any more is cancelled, and not looked at

    def _join(
        self, asked: Sequence[Asked], caller: str, loop: asyncio.AbstractEventLoop
    ) -> list[Looked | asyncio.Future[Looked | BadFile]]:
        """An answer that is known, or somebody's place in the line for each picture."""
        new = {one.key for one in asked} - self._open.keys() - self._known.keys()
        if len(self._queue) + len(new) > self.settings.queue:
            found = (
                f"{len(self._queue):,} pictures waiting, {len(new):,} more asked for; {self.settings.queue:,} may wait"
            )
            raise QueueFull(found, wait=len(self._queue) * self._pace)
        places: list[Looked | asyncio.Future[Looked | BadFile]] = []
        looks: list[_Look] = []
        for one in asked:
            if one.key in self._known:
                self._known.move_to_end(one.key)
                self.hits += 1
                places.append(self._known[one.key])
                continue
            look = self._open.get(one.key)
            if look is None:
                look = self._open[one.key] = _Look(one, time.monotonic())
                looks.append(look)
            else:
                self.hits += 1
            future: asyncio.Future[Looked | BadFile] = loop.create_future()
            look.waiting.append(future)
            places.append(future)
        self._queue.add(caller, looks)
        self._more.set()
        return places

    # -- batches -------------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            await self._more.wait()
            await self._places.acquire()
            await self._gather()
            batch = self._take()
            if not batch:
                self._places.release()
                continue
            task = asyncio.create_task(self._work(batch))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)

    async def _gather(self) -> None:
        """Wait until the batch is full, or has waited long enough."""
        ends = time.monotonic() + self.settings.batch_wait
        while 0 < len(self._queue) < self.settings.batch and (left := ends - time.monotonic()) > 0:
            self._more.clear()
            try:
                async with asyncio.timeout(left):
                    await self._more.wait()
            except TimeoutError:
                break

    def _take(self) -> list[_Look]:
        batch: list[_Look] = []
        pixels = 0
        while len(self._queue) and len(batch) < self.settings.batch:
            caller = self._queue.next_caller()
            look = self._queue.take()
            if not look.wanted:
                del self._open[look.asked.key]
                continue
            if batch and pixels + look.asked.pixels > self.settings.batch_pixels:
                self._queue.put_back(caller, look)
                break
            batch.append(look)
            pixels += look.asked.pixels
        if len(self._queue):
            self._more.set()
        else:
            self._more.clear()
        return batch

    async def _work(self, batch: list[_Look]) -> None:
        try:
            started = time.monotonic()
            loop = asyncio.get_running_loop()
            opened = await asyncio.gather(*(loop.run_in_executor(self._decoders, _decoded, one.asked) for one in batch))
            decoded = time.monotonic()
            found, seconds = await self._scored([one for one in opened if isinstance(one, Opened)])
            self._pace = 0.8 * self._pace + 0.2 * seconds / len(batch)
            self._hand_out(batch, opened, found)
            self._tell(BatchFacts(len(batch), decoded - started, seconds, started - batch[0].since))
        except BaseException as error:  # also when the loop ends: nobody waits for ever
            for one in (future for look in batch for future in look.waiting if not future.done()):
                one.set_exception(RuntimeError(f"a batch failed: {error!r}"))
            raise
        finally:
            for look in batch:
                self._open.pop(look.asked.key, None)
            self._places.release()

    async def _scored(self, opened: Sequence[Opened]) -> tuple[list[Looked], float]:
        """What the model says, and how long it took."""
        if not opened:
            return [], 0.0
        async with self._score_turn:
            started = self.busy_since = time.monotonic()
            try:
                loop = asyncio.get_running_loop()
                found = await loop.run_in_executor(self.model.thread, self.model.look, opened)
            finally:
                self.busy_since = None
            return found, time.monotonic() - started

    def _hand_out(self, batch: list[_Look], opened: Sequence[Opened | BadFile], found: Sequence[Looked]) -> None:
        given = iter(found)
        for look, one in zip(batch, opened, strict=True):
            if isinstance(one, BadFile):
                look.tell(one)
                continue
            answer = next(given)
            self._known[look.asked.key] = answer
            look.tell(answer)
        while len(self._known) > self.settings.cache:
            self._known.popitem(last=False)

    async def close(self) -> None:
        """Finish what is under way, and end."""
        if self._running is not None:
            self._running.cancel()
        if self._batches:
            await asyncio.wait(set(self._batches))


def _decoded(asked: Asked) -> Opened | BadFile:
    try:
        picture = read_picture(asked.data)
    except BadFile as error:
        return error
    return Opened(picture.image, asked.sha256, asked.prompt, picture.width, picture.height, picture.notes)
