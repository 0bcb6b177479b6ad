"""Who decodes and scores a batch of the scoring service: this process, or replicas of the model.

A `Looker` takes batches, up to `at_once` of them. In this process threads decode a batch while the one before it is
scored. Replicas are processes, or actors of a Ray cluster, that each hold the whole model: a batch goes to the one with
least to do, which decodes one batch while it scores another. A batch whose replica died goes to another. If that dies
too, its pictures are looked at one by one, and a picture that three replicas die over has no number, with the reason.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from salon.engine import CallsReplicas, ReplicaDied, Replicas, ReplicaStatus, cores
from salon.errors import BadFile, BadValue, SalonError
from salon.judge import MissingScore, ScoreSettings
from salon.models import FileStamp
from salon.select.service.model import (
    DecodedPicture,
    LoadFailed,
    LoadOrder,
    ModelAnswer,
    ScoringModel,
    ServedCriterion,
    load_scoring,
)
from salon.select.settings import ServiceSettings
from salon.store import read_picture
from salon.study import Prompt

_BATCHES_AT_WORK = 2
"""Batches under way in one process: one is decoded while the other is scored."""

_ATTEMPTS_TOGETHER, _ATTEMPTS_ALONE = 2, 3
"""Replicas that may die over a batch, and over one picture."""

log = logging.getLogger("salon.scoring")


@dataclass(frozen=True)
class SentPicture:
    """A picture as it was sent: bytes whose header was read, and its prompt."""

    data: bytes = field(repr=False)
    sha256: str
    pixels: int
    prompt: Prompt | None = None

    @property
    def key(self) -> tuple[str, str]:
        """All that the answer depends on, beside the model."""
        return self.sha256, "" if self.prompt is None else self.prompt.model_dump_json()


class LookedBatch(NamedTuple):
    """What a model says of a batch, or why a picture cannot be read; and what it took."""

    answers: list[ModelAnswer | BadFile]
    decode_seconds: float = 0.0
    score_seconds: float = 0.0
    version: str | None = None
    """Of the replica's model."""


class Looker(Protocol):
    """Decodes and scores batches."""

    at_once: int

    async def look(self, batch: Sequence[SentPicture]) -> LookedBatch:
        """What the model says of each picture."""
        ...

    def moves(self, seconds: float) -> bool:
        """Whether no batch takes longer than `seconds`."""
        ...

    def status(self) -> list[ReplicaStatus]:
        """Its replicas; none where this process does the work."""
        ...


# -- this process ------------------------------------------------------------------------------------------------------


class LocalLooker:
    """Threads of this process decode, and the model's own thread scores."""

    at_once = _BATCHES_AT_WORK

    def __init__(self, model: ScoringModel, decoders: Executor) -> None:
        self.model, self._decoders = model, decoders
        self._turn = asyncio.Lock()
        self._busy_since: float | None = None

    async def look(self, batch: Sequence[SentPicture]) -> LookedBatch:
        """What the model says of each picture."""
        loop = asyncio.get_running_loop()
        started = time.monotonic()
        opened = await asyncio.gather(*(loop.run_in_executor(self._decoders, decode, picture) for picture in batch))
        decode_seconds = time.monotonic() - started
        good = [entry for entry in opened if isinstance(entry, DecodedPicture)]
        if not good:
            return LookedBatch(_merge(opened, []), decode_seconds)
        async with self._turn:
            started = self._busy_since = time.monotonic()
            try:
                answers = await loop.run_in_executor(self.model.thread, self.model.look, good)
            finally:
                self._busy_since = None
            return LookedBatch(_merge(opened, answers), decode_seconds, time.monotonic() - started)

    def moves(self, seconds: float) -> bool:
        """Whether no batch takes longer than `seconds`."""
        since = self._busy_since
        return since is None or time.monotonic() - since < seconds

    def status(self) -> list[ReplicaStatus]:
        """None: this process does the work."""
        return []


def decode(sent: SentPicture) -> DecodedPicture | BadFile:
    """The pixels of a picture, or why there are none."""
    try:
        picture = read_picture(sent.data)
    except BadFile as error:
        return error
    return DecodedPicture(picture.image, sent.sha256, sent.prompt, picture.width, picture.height, picture.notes)


def _merge(opened: Sequence[DecodedPicture | BadFile], answers: Sequence[ModelAnswer]) -> list[ModelAnswer | BadFile]:
    remaining = iter(answers)
    return [entry if isinstance(entry, BadFile) else next(remaining) for entry in opened]


# -- replicas ----------------------------------------------------------------------------------------------------------


class ReplicaFacts(NamedTuple):
    """What is known of the model of a replica."""

    version: str
    criteria: tuple[ServedCriterion, ...]
    loaded_at: str
    files: Mapping[Path, FileStamp | None]


class ChanceQuestion(NamedTuple):
    """The chance that the first picture is preferred."""

    criterion: str
    first: ModelAnswer
    second: ModelAnswer
    prompt: Prompt | None


class ReplicaScorer:
    """The model inside a replica: decodes batches by threads and scores them one after the other."""

    def __init__(self, order: LoadOrder, scoring: ScoreSettings, decoders: int) -> None:
        self.model = load_scoring(order, scoring)
        self._decoders = ThreadPoolExecutor(decoders, thread_name_prefix="salon-decode")
        self._turn = threading.Lock()

    @property
    def facts(self) -> ReplicaFacts:
        """What the service has to know of it."""
        return ReplicaFacts(self.model.version, self.model.criteria, self.model.loaded_at, self.model.files)

    def __call__(self, task: Sequence[SentPicture] | ChanceQuestion) -> LookedBatch | float | str:
        """Answers to a batch, or a chance."""
        if isinstance(task, ChanceQuestion):
            with self._turn:
                return self.model.thread.submit(self.model.chance, *task).result()
        started = time.monotonic()
        opened = list(self._decoders.map(decode, task))
        decode_seconds = time.monotonic() - started
        with self._turn:
            started = time.monotonic()
            good = [entry for entry in opened if isinstance(entry, DecodedPicture)]
            answers = self.model.thread.submit(self.model.look, good).result() if good else []
            seconds = time.monotonic() - started
        return LookedBatch(_merge(opened, answers), decode_seconds, seconds, self.model.version)


def make_replica(order: LoadOrder, scoring: ScoreSettings, decoders: int) -> tuple[ReplicaScorer, ReplicaFacts]:
    """Called in the process of a replica."""
    scorer = ReplicaScorer(order, scoring, decoders)
    return scorer, scorer.facts


@dataclass
class ReplicatedModel(ScoringModel):
    """A model whose replicas look at pictures; this process knows its criteria alone."""

    looker: ReplicaLooker | None = field(default=None, repr=False)

    def chance(self, criterion: str, a: ModelAnswer, b: ModelAnswer, prompt: Prompt | None) -> float | str:
        """The chance that the first picture is preferred, or why there is none; by a replica."""
        assert self.looker is not None
        chance: float | str = self.looker.replicas.call(ChanceQuestion(criterion, a, b, prompt), 0)
        return chance

    def close(self) -> None:
        """End the replicas, after what they have."""
        super().close()
        assert self.looker is not None
        self.looker.close()


class ReplicaLooker:
    """Gives batches to replicas."""

    def __init__(self, replicas: CallsReplicas, facts: ReplicaFacts) -> None:
        self.replicas, self.criteria, self.version = replicas, facts.criteria, facts.version
        self.at_once = replicas.at_once
        self._callers = ThreadPoolExecutor(self.at_once, thread_name_prefix="salon-ask")

    async def look(self, batch: Sequence[SentPicture]) -> LookedBatch:
        """What a replica says of each picture."""
        return await asyncio.get_running_loop().run_in_executor(self._callers, self._look, list(batch))

    def _look(self, batch: list[SentPicture]) -> LookedBatch:
        attempts = _ATTEMPTS_TOGETHER if len(batch) > 1 else _ATTEMPTS_ALONE
        try:
            looked: LookedBatch = self.replicas.call(batch, len(batch), attempts)
        except ReplicaDied as death:
            if self.replicas.closing:
                raise
            if len(batch) == 1:
                log.error("replicas died on the picture %s: %s", batch[0].sha256, death.found)
                picture = batch[0]
                lost = MissingScore("each replica that looked at this picture died")
                return LookedBatch(
                    [
                        ModelAnswer(
                            {entry.criterion: lost for entry in self.criteria},
                            {},
                            DecodedPicture(None, picture.sha256, picture.prompt),
                        )
                    ]
                )
        else:
            if looked.version != self.version:
                raise RuntimeError(f"a replica of version {looked.version} answered in place of {self.version}")
            return looked
        looks = [self._look([picture]) for picture in batch]
        answers = [answer for look in looks for answer in look.answers]
        return LookedBatch(
            answers, sum(look.decode_seconds for look in looks), sum(look.score_seconds for look in looks)
        )

    def moves(self, seconds: float) -> bool:
        """Whether one replica at least takes batches and has none that takes longer than `seconds`."""
        return self.replicas.moves(seconds)

    def status(self) -> list[ReplicaStatus]:
        """Each replica."""
        return self.replicas.status()

    def close(self) -> None:
        """End the replicas, after what they have."""
        self.replicas.close()
        self._callers.shutdown(wait=False)


def load_replicas(order: LoadOrder, scoring: ScoreSettings, settings: ServiceSettings) -> ReplicatedModel:
    """Load the model in each replica; LoadFailed says why it cannot be done."""
    devices = settings.replica_devices
    _check_order(order, devices, on_ray=settings.ray is not None)
    decoders = settings.decoders or max(1, cores() // len(devices))
    makes = [
        partial(make_replica, order, scoring.model_copy(update={"device": device or scoring.device}), decoders)
        for device in devices
    ]
    first: list[ReplicaFacts] = []

    def refuse(facts: ReplicaFacts) -> str | None:
        if first and facts.version != first[0].version:
            return f"its weights are those of version {facts.version} now; version {first[0].version} is served"
        return None

    replicas: CallsReplicas
    if settings.ray is not None:
        from salon.engine.ray_replicas import RayReplicas  # Ray only for those who ask for it

        replicas = RayReplicas(makes[0], len(makes), address=settings.ray_address, gpus=_gpus(devices[0]))
    else:
        replicas = Replicas(makes, places=[device or scoring.device or "default" for device in devices], refuse=refuse)
    try:
        facts = replicas.start()
    except LoadFailed:
        raise
    except SalonError as error:
        raise LoadFailed(
            f"the model {order.name!r} was not loaded: {error.needed}", found=error.found, where=error.where,
            remedy=error.remedy,
        ) from error  # fmt: skip
    first.append(facts[0])
    if others := {entry.version for entry in facts} - {facts[0].version}:
        replicas.close()
        raise LoadFailed("replicas of one version are needed", found=", ".join([facts[0].version, *others]),
                         remedy="start again when nobody changes the weights")  # fmt: skip
    looker = ReplicaLooker(replicas, facts[0])
    thread = ThreadPoolExecutor(1, thread_name_prefix="salon-model")
    return ReplicatedModel(order, (), facts[0].criteria, thread, facts[0].loaded_at, (), facts[0].files, looker)


def _gpus(device: str | None) -> int:
    return int(device is not None and device.startswith("cuda"))


def _check_order(order: LoadOrder, devices: Sequence[str | None], *, on_ray: bool) -> None:
    """A scorer at an endpoint has a budget, which processes cannot share; Ray gives out devices itself."""
    if on_ray and (len(set(devices)) > 1 or ":" in (devices[0] or "")):
        raise BadValue("--devices: on Ray, one kind of device is needed", found=", ".join(map(str, devices)),
                       remedy="--devices cuda: every replica gets a GPU of its own")  # fmt: skip
    remote = [name for name in order.scorers if name.startswith("chat:")]
    if remote:
        raise BadValue(
            "scorers that compute here are needed for replicas", found=remote[0],
            remedy="serve it without replicas; --concurrency lets it ask for several pictures at once",
        )  # fmt: skip
