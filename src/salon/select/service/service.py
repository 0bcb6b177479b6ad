"""What serves scores: requests looked at together, the model that answers now, and the way from one model to the next.

    service = ScoringService(ServiceSettings())
    service.open(LoadOrder(scorers=("contrast",)))
    answer = await service.ask([SentPicture(...)], caller="team")

Batches. A batch is closed when it is full, or when its oldest picture has waited long enough for company. Its pictures
are decoded by threads while the batch before it is scored; at most two batches have their pixels in memory, what waits
is bytes. Callers take turns, and so do the requests of one caller: a request of sixty pictures does not hold up a
request of one. A picture that is asked for while it waits is looked at once; the last answers are remembered.

Models. A new model is loaded and warmed up beside the one that serves. `activate` puts it in its place between two
requests: earlier requests are answered by the old one, to the end, and every answer names its version. A model that
cannot be loaded changes nothing. `rollback` goes back to the version before.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from salon.engine import cores
from salon.errors import BadFile
from salon.judge import ScoreSettings
from salon.select.service.looking import LocalLooker, Looker, ReplicatedModel, SentPicture, load_replicas
from salon.select.service.model import (
    BadPicture,
    DeadlineExceeded,
    LoadInProgress,
    LoadOrder,
    ModelAnswer,
    QueueFull,
    ScoringModel,
    UnknownVersion,
    load_scoring,
)
from salon.select.settings import BatchSettings, ServiceSettings


@dataclass(frozen=True)
class BatchFacts:
    """What a finished batch took."""

    size: int
    decode_seconds: float
    score_seconds: float
    waited_seconds: float


@dataclass(eq=False)
class _QueuedPicture:
    """A picture that waits or is looked at, and those who wait for it."""

    picture: SentPicture
    since: float
    waiting: list[asyncio.Future[ModelAnswer | BadFile]] = field(default_factory=list)

    @property
    def is_awaited(self) -> bool:
        return any(not future.done() for future in self.waiting)

    def tell(self, result: ModelAnswer | BadFile) -> None:
        for future in self.waiting:
            if not future.done():
                future.set_result(result)


class FairQueue:
    """Pictures that wait: callers take turns, and so do the requests of one caller."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, deque[deque[_QueuedPicture]]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, caller: str, looks: Iterable[_QueuedPicture]) -> None:
        """The pictures of one request."""
        request = deque(looks)
        if request:
            self._callers.setdefault(caller, deque()).append(request)
            self._size += len(request)

    def take(self) -> _QueuedPicture:
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

    def put_back(self, caller: str, look: _QueuedPicture) -> None:
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
        looker: Looker,
        settings: BatchSettings,
        tell: Callable[[BatchFacts], None] = lambda facts: None,
    ) -> None:
        self.looker, self.settings, self._tell = looker, settings, tell
        self._queue = FairQueue()
        self._open: dict[tuple[str, str], _QueuedPicture] = {}
        self._known: OrderedDict[tuple[str, str], ModelAnswer] = OrderedDict()
        self._more = asyncio.Event()
        self._places = asyncio.Semaphore(looker.at_once)
        self._running: asyncio.Task[None] | None = None
        self._batches: set[asyncio.Task[None]] = set()
        self._pace = 0.0
        self.hits = 0

    @property
    def waiting(self) -> int:
        """Pictures in the queue."""
        return len(self._queue)

    @property
    def idle(self) -> bool:
        """Nothing waits, nothing is under way."""
        return not len(self._queue) and not self._batches and not self._open

    async def ask(
        self, pictures: Sequence[SentPicture], caller: str = "", seconds: float | None = None
    ) -> list[ModelAnswer | BadFile]:
        """What the model says of each picture; BadFile for one that cannot be decoded. QueueFull, TooLate."""
        loop = asyncio.get_running_loop()
        if self._running is None:
            self._running = loop.create_task(self._run())
        seconds = min(seconds or self.settings.deadline, self.settings.deadline)
        futures = self._join(pictures, caller, loop)
        try:
            async with asyncio.timeout(seconds):
                return [future if isinstance(future, ModelAnswer) else await future for future in futures]
        except TimeoutError:
            raise DeadlineExceeded(seconds) from None
        finally:
            for future in futures:
                if isinstance(future, asyncio.Future) and not future.cancel() and not future.cancelled():
                    future.exception()  # heard; what nobody waits for any more is cancelled, and not looked at

    def _join(
        self, pictures: Sequence[SentPicture], caller: str, loop: asyncio.AbstractEventLoop
    ) -> list[ModelAnswer | asyncio.Future[ModelAnswer | BadFile]]:
        """An answer that is known, or somebody's place in the line for each picture."""
        new = {picture.key for picture in pictures} - self._open.keys() - self._known.keys()
        if len(self._queue) + len(new) > self.settings.queue:
            found = (
                f"{len(self._queue):,} pictures waiting, {len(new):,} more asked for; {self.settings.queue:,} may wait"
            )
            raise QueueFull(found, wait=len(self._queue) * self._pace)
        places: list[ModelAnswer | asyncio.Future[ModelAnswer | BadFile]] = []
        looks: list[_QueuedPicture] = []
        for picture in pictures:
            if picture.key in self._known:
                self._known.move_to_end(picture.key)
                self.hits += 1
                places.append(self._known[picture.key])
                continue
            look = self._open.get(picture.key)
            if look is None:
                look = self._open[picture.key] = _QueuedPicture(picture, time.monotonic())
                looks.append(look)
            else:
                self.hits += 1
            future: asyncio.Future[ModelAnswer | BadFile] = loop.create_future()
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

    def _take(self) -> list[_QueuedPicture]:
        batch: list[_QueuedPicture] = []
        pixels = 0
        while len(self._queue) and len(batch) < self.settings.batch:
            caller = self._queue.next_caller()
            look = self._queue.take()
            if not look.is_awaited:
                del self._open[look.picture.key]
                continue
            if batch and pixels + look.picture.pixels > self.settings.batch_pixels:
                self._queue.put_back(caller, look)
                break
            batch.append(look)
            pixels += look.picture.pixels
        if len(self._queue):
            self._more.set()
        else:
            self._more.clear()
        return batch

    async def _work(self, batch: list[_QueuedPicture]) -> None:
        try:
            started = time.monotonic()
            looked = await self.looker.look([entry.picture for entry in batch])
            seconds = looked.score_seconds / self.looker.at_once * 2
            self._pace = 0.8 * self._pace + 0.2 * seconds / len(batch)
            self._hand_out(batch, looked.answers)
            waited = started - batch[0].since
            self._tell(BatchFacts(len(batch), looked.decode_seconds, looked.score_seconds, waited))
        except BaseException as error:  # also when the loop ends: nobody waits for ever
            for entry in (future for look in batch for future in look.waiting if not future.done()):
                entry.set_exception(RuntimeError(f"a batch failed: {error!r}"))
            raise
        finally:
            for look in batch:
                self._open.pop(look.picture.key, None)
            self._places.release()

    def _hand_out(self, batch: list[_QueuedPicture], answers: Sequence[ModelAnswer | BadFile]) -> None:
        for look, answer in zip(batch, answers, strict=True):
            if isinstance(answer, ModelAnswer):
                self._known[look.picture.key] = answer
            look.tell(answer)
        while len(self._known) > self.settings.cache:
            self._known.popitem(last=False)

    async def close(self) -> None:
        """Finish what is under way, and end."""
        if self._running is not None:
            self._running.cancel()
        if self._batches:
            await asyncio.wait(set(self._batches))


# -- models ------------------------------------------------------------------------------------------------------------

log = logging.getLogger("salon.scoring")


@dataclass(frozen=True)
class ServiceAnswer:
    """Answers to one request, all by one model."""

    model: ScoringModel
    looked: list[ModelAnswer]


@dataclass
class ServedModel:
    """A model with its queue."""

    model: ScoringModel
    batcher: Batcher

    @property
    def version(self) -> str:
        """The model's."""
        return self.model.version


class ScoringService:
    """Models, of which one is active."""

    def __init__(
        self,
        settings: ServiceSettings | None = None,
        scoring: ScoreSettings | None = None,
        *,
        tell: Callable[[BatchFacts], None] = lambda facts: None,
    ) -> None:
        self.settings, self.scoring = settings or ServiceSettings(), scoring or ScoreSettings()
        self.tell = tell
        self._decoders = ThreadPoolExecutor(self.settings.decoders or cores(), thread_name_prefix="salon-decode")
        self._loaded: OrderedDict[str, ServedModel] = OrderedDict()
        self._history: list[str] = []
        self._turn = asyncio.Lock()
        self._leaving: set[asyncio.Task[None]] = set()
        self._warned: set[str] = set()
        self.closing = False

    # -- models --------------------------------------------------------------------------------------------------------

    def open(self, order: LoadOrder) -> ScoringModel:
        """Load the first model, before anything is served."""
        model = self._load(order)
        self._keep(model)
        self._history.append(model.version)
        return model

    def _load(self, order: LoadOrder) -> ScoringModel:
        if self.settings.is_replicated:
            return load_replicas(order, self.scoring, self.settings)
        return load_scoring(order, self.scoring)

    @property
    def active(self) -> ServedModel:
        """The model that answers now."""
        return self._loaded[self._history[-1]]

    def changed_files(self) -> tuple[str, ...]:
        """Files of the active model that are not what was loaded; said once in the log."""
        active = self.active
        changed = active.model.changed_files()
        if changed and active.version not in self._warned:
            self._warned.add(active.version)
            log.warning("files of model %s changed since it was loaded: %s", active.version, ", ".join(changed[:5]))
        return changed

    @property
    def versions(self) -> list[ServedModel]:
        """All models in memory, in the order they were loaded."""
        return list(self._loaded.values())

    @property
    def before(self) -> str | None:
        """The version that `rollback` goes back to."""
        return next((version for version in reversed(self._history[:-1]) if version != self._history[-1]), None)

    async def load(self, order: LoadOrder) -> ScoringModel:
        """Load and warm up a model beside the active one; LoadFailed leaves everything as it was."""
        if self._turn.locked():
            raise LoadInProgress(
                "one model at a time can be loaded", found="another is being loaded", remedy="try again soon"
            )
        async with self._turn:
            model = await asyncio.to_thread(self._load, order)
            if model.version in self._loaded:
                await asyncio.to_thread(model.close)  # the same numbers: the one that is there serves on
                return self._loaded[model.version].model
            self._keep(model)
            self._drop_oldest()
            return model

    def activate(self, version: str) -> ServedModel:
        """From now on requests are answered by this version; those under way by the one that has them."""
        model = self._find(version)
        if version != self._history[-1]:
            self._history.append(version)
            del self._history[:-8]
        return model

    def rollback(self) -> ServedModel:
        """Back to the version before."""
        earlier = self.before
        if earlier is None or earlier not in self._loaded:
            raise UnknownVersion("a version that served before is needed", found="none", remedy="activate another")
        while self._history[-1] != earlier:
            self._history.pop()
        return self.active

    def _find(self, version: str) -> ServedModel:
        if version not in self._loaded:
            raise UnknownVersion(
                "the version of a loaded model is needed",
                found=repr(version),
                remedy="one of " + ", ".join(self._loaded),
            )
        return self._loaded[version]

    def _keep(self, model: ScoringModel) -> None:
        local = model.looker if isinstance(model, ReplicatedModel) else None
        looker = local or LocalLooker(model, self._decoders)
        batcher = Batcher(looker, self.settings, lambda facts: self.tell(facts))
        self._loaded[model.version] = ServedModel(model, batcher)

    def _drop_oldest(self) -> None:
        """Models beyond the number allowed leave once they have answered; never the active one or the one before."""
        protected = {self._history[-1], self.before, next(reversed(self._loaded))}
        for version in list(self._loaded):
            if len(self._loaded) <= self.settings.loaded:
                return
            if version not in protected:
                task = asyncio.create_task(self._leave(self._loaded.pop(version)))
                self._leaving.add(task)
                task.add_done_callback(self._leaving.discard)

    async def _leave(self, loaded: ServedModel) -> None:
        while not loaded.batcher.idle:
            await asyncio.sleep(0.05)
        await loaded.batcher.close()
        await asyncio.to_thread(loaded.model.close)

    # -- answers -------------------------------------------------------------------------------------------------------

    async def ask(
        self, pictures: Sequence[SentPicture], *, caller: str = "", seconds: float | None = None
    ) -> ServiceAnswer:
        """What the active model says of each picture; BadPicture names the first that cannot be read."""
        model, results = await self.ask_each(pictures, caller=caller, seconds=seconds)
        looked = []
        for place, result in enumerate(results):
            if isinstance(result, BadFile):
                raise BadPicture(result.needed, found=result.found, where=f"images.{place}", remedy=result.remedy)
            looked.append(result)
        return ServiceAnswer(model, looked)

    async def ask_each(
        self, pictures: Sequence[SentPicture], *, caller: str = "", seconds: float | None = None
    ) -> tuple[ScoringModel, list[ModelAnswer | BadFile]]:
        """What the active model says of each picture, and why one cannot be read."""
        loaded = self.active
        return loaded.model, await loaded.batcher.ask(pictures, caller, seconds)

    @property
    def waiting(self) -> int:
        """Pictures in all queues."""
        return sum(model.batcher.waiting for model in self._loaded.values())

    @property
    def ready(self) -> bool:
        """Is there a model, and does it get on with its work?"""
        if self.closing or not self._history:
            return False
        return self.active.batcher.looker.moves(self.settings.stuck)

    def end(self) -> None:
        """End models that `close` did not, such as when nothing was ever served."""
        for loaded in self._loaded.values():
            loaded.model.close()

    async def close(self) -> None:
        """Finish what is under way, and end all threads and replicas."""
        self.closing = True
        for loaded in self._loaded.values():
            await loaded.batcher.close()
            await asyncio.to_thread(loaded.model.close)
        self._decoders.shutdown(wait=False)
