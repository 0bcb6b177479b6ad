"""What serves scores: the model that answers now, those beside it, and the way from one to the next.

    service = ScoringService(ServiceSettings())
    service.open(LoadOrder(scorers=("contrast",)))
    answer = await service.ask([Asked(...)], caller="team")

A new model is loaded and warmed up beside the one that serves. `activate` puts it in its place between two requests:
whoever asked before is answered by the old one, to the end, and every answer names its version. A model that cannot be
loaded changes nothing. `rollback` goes back to the version before.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pydantic import Field

from salon.engine.processes import cores
from salon.errors import BadFile
from salon.judge.score import ScoreSettings
from salon.select.service.batch import Asked, Batcher, BatchFacts, BatchSettings
from salon.select.service.errors import BadPicture, Loading, UnknownVersion
from salon.select.service.model import LoadOrder, ScoringModel, load_scoring
from salon.select.service.parts import Looked

log = logging.getLogger("salon.scoring")


class ServiceSettings(BatchSettings):
    """How scores are served."""

    decoders: int = Field(0, ge=0, le=256, description="Threads that decode pictures; 0 for one for each core.")
    loaded: int = Field(3, ge=2, le=16, description="Models in memory at most: the active one, the one before, others.")
    stuck: float = Field(120.0, gt=0, description="Seconds that one batch may take before the service says not ready.")


@dataclass(frozen=True)
class Answered:
    """Answers to one request, all by one model."""

    model: ScoringModel
    looked: list[Looked]


@dataclass
class Loaded:
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
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._history: list[str] = []
        self._turn = asyncio.Lock()
        self._leaving: set[asyncio.Task[None]] = set()
        self._warned: set[str] = set()
        self.closing = False

    # -- models --------------------------------------------------------------------------------------------------------

    def open(self, order: LoadOrder) -> ScoringModel:
        """Load the first model, before anything is served."""
        model = load_scoring(order, self.scoring)
        self._keep(model)
        self._history.append(model.version)
        return model

    @property
    def active(self) -> Loaded:
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
    def versions(self) -> list[Loaded]:
        """All models in memory, in the order they were loaded."""
        return list(self._loaded.values())

    @property
    def before(self) -> str | None:
        """The version that `rollback` goes back to."""
        return next((one for one in reversed(self._history[:-1]) if one != self._history[-1]), None)

    async def load(self, order: LoadOrder) -> ScoringModel:
        """Load and warm up a model beside the active one; LoadFailed leaves everything as it was."""
        if self._turn.locked():
            raise Loading("one model at a time can be loaded", found="another is being loaded", remedy="try again soon")
        async with self._turn:
            model = await asyncio.to_thread(load_scoring, order, self.scoring)
            if model.version in self._loaded:
                model.close()  # the same numbers: the one that is there serves on
                return self._loaded[model.version].model
            self._keep(model)
            self._drop_oldest()
            return model

    def activate(self, version: str) -> Loaded:
        """From now on requests are answered by this version; those under way by the one that has them."""
        found = self._find(version)
        if version != self._history[-1]:
            self._history.append(version)
            del self._history[:-8]
        return found

    def rollback(self) -> Loaded:
        """Back to the version before."""
        earlier = self.before
        if earlier is None or earlier not in self._loaded:
            raise UnknownVersion("a version that served before is needed", found="none", remedy="activate another")
        while self._history[-1] != earlier:
            self._history.pop()
        return self.active

    def _find(self, version: str) -> Loaded:
        if version not in self._loaded:
            raise UnknownVersion(
                "the version of a loaded model is needed",
                found=repr(version),
                remedy="one of " + ", ".join(self._loaded),
            )
        return self._loaded[version]

    def _keep(self, model: ScoringModel) -> None:
        batcher = Batcher(model, self.settings, self._decoders, lambda facts: self.tell(facts))
        self._loaded[model.version] = Loaded(model, batcher)

    def _drop_oldest(self) -> None:
        """Models beyond the number allowed leave once they have answered; never the active one or the one before."""
        kept = {self._history[-1], self.before, next(reversed(self._loaded))}
        for version in list(self._loaded):
            if len(self._loaded) <= self.settings.loaded:
                return
            if version not in kept:
                task = asyncio.create_task(self._leave(self._loaded.pop(version)))
                self._leaving.add(task)
                task.add_done_callback(self._leaving.discard)

    async def _leave(self, loaded: Loaded) -> None:
        while not loaded.batcher.idle:
            await asyncio.sleep(0.05)
        await loaded.batcher.close()
        loaded.model.close()

    # -- answers -------------------------------------------------------------------------------------------------------

    async def ask(self, asked: Sequence[Asked], *, caller: str = "", seconds: float | None = None) -> Answered:
        """What the active model says of each picture; BadPicture names the first that cannot be read."""
        loaded = self.active
        found = await loaded.batcher.ask(asked, caller, seconds)
        looked = []
        for place, one in enumerate(found):
            if isinstance(one, BadFile):
                raise BadPicture(one.needed, found=one.found, where=f"images.{place}", remedy=one.remedy)
            looked.append(one)
        return Answered(loaded.model, looked)

    @property
    def waiting(self) -> int:
        """Pictures in all queues."""
        return sum(one.batcher.waiting for one in self._loaded.values())

    @property
    def ready(self) -> bool:
        """Is there a model, and does it get on with its work?"""
        if self.closing or not self._history:
            return False
        since = self.active.batcher.busy_since
        return since is None or time.monotonic() - since < self.settings.stuck

    async def close(self) -> None:
        """Finish what is under way, and end all threads."""
        self.closing = True
        for loaded in self._loaded.values():
            await loaded.batcher.close()
            loaded.model.close()
        self._decoders.shutdown(wait=False)
