"""The client of a scoring service, synchronous and asynchronous, with typed answers.

    with ScoresClient("https://scores.example.org") as scores:       token from SALON_SCORES_TOKEN
        answer = scores.score([Path("a.png"), Path("b.png")], prompt="A poster for a jazz night")
        answer.images[0].scores["taste/mood"].value
        scores.pick([...], weights={"typography": 3, "*": 1}).chosen

    async with AsyncScoresClient("https://scores.example.org") as scores:
        answers = await asyncio.gather(*(scores.score([one]) for one in pictures))

A picture is bytes, a file, a Pillow image, or `Below("posters/1.png")`: a path below a root of the service. What the
service has no time for now (429, 503, a connection that broke) is sent again after the wait it asks for; everything
else that it refuses is raised in its own words.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

import numpy as np

from salon.calls.call import Call, Upload
from salon.calls.errors import Unreachable, WrongKey
from salon.calls.scores_schema import CompareAnswer, GateAnswer, ModelsAnswer, PickAnswer, ScoreAnswer
from salon.calls.service import Limits, Secret, Service, base_address
from salon.calls.transport import ReplyTooLarge, RetryableError, Sender, retry_after, retry_delay
from salon.errors import SalonError
from salon.store import read_bytes
from salon.study import Noun

if TYPE_CHECKING:
    import httpx2
    from PIL import Image

TOKEN_VARIABLE = "SALON_SCORES_TOKEN"
"""The environment variable that holds the token by default."""
_BUSY = (429, 502, 503)
_LIMITS = Limits(attempts=6, first_wait=0.2, longest_wait=10, patience=120, total=120)
N = TypeVar("N", bound=Noun)
T = TypeVar("T")


class ScoresRefused(SalonError):
    """The service refused, for the reason it gives."""

    def __init__(self, status: int, record: Mapping[str, Any]) -> None:
        self.status, self.kind = status, str(record.get("error") or "")
        self.request = str(record.get("request") or "")
        super().__init__(
            str(record.get("needed") or f"the service answered {status}"),
            found=record.get("found"),
            where=record.get("where"),
            remedy=record.get("remedy"),
        )


@dataclass(frozen=True)
class Below:
    """A picture that the service finds below one of its roots."""

    path: str


if TYPE_CHECKING:
    PictureInput = bytes | Path | Below | Image.Image
PromptInput = str | Mapping[str, str] | None
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class QuestionOptions(TypedDict, total=False):
    """What any question may say."""

    criteria: Sequence[str] | None
    seconds: float | None


class GateOptions(TypedDict, total=False):
    """What is said to a gate."""

    gate: str | None
    seconds: float | None


class PickOptions(QuestionOptions, total=False):
    """What else the best of several is chosen by; see the service's schema."""

    weights: Mapping[str, float] | None
    k: float
    least: float | None
    level: float
    equal_scales: bool


class ExplainOptions(QuestionOptions, total=False):
    """What else an explanation is asked with; see the service's schema."""

    weights: Mapping[str, float] | None
    neighbours: int
    measure: bool
    equal_scales: bool


class LoadOptions(TypedDict, total=False):
    """What a service is to load."""

    scorers: Sequence[str]
    models: Sequence[str]
    name: str
    activate: bool


class ClientOptions(TypedDict, total=False):
    """How a service is reached."""

    key: str
    limits: Limits
    allow_http: bool
    transport: httpx2.AsyncBaseTransport | None
    rng: np.random.Generator | None


class AsyncScoresClient:
    """A scoring service, asked from a running loop."""

    def __init__(
        self,
        base_url: str,
        *,
        key: str = TOKEN_VARIABLE,
        limits: Limits = _LIMITS,
        allow_http: bool = False,
        transport: httpx2.AsyncBaseTransport | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """`key` names the environment variable with the token; `allow_http` is for networks that you trust."""
        secrets = (Secret(key),) if os.environ.get(key) else ()
        self._service = Service(base_address(base_url), secrets, limits=limits, allow_http=allow_http)
        self._sender = Sender(self._service, transport)
        self._rng = np.random.default_rng() if rng is None else rng

    async def score(
        self, images: Sequence[PictureInput], prompt: PromptInput = None, **options: Unpack[QuestionOptions]
    ) -> ScoreAnswer:
        """The number of each picture under each criterion."""
        return await self._ask_about("score", ScoreAnswer, images, prompt, **options)

    async def compare(
        self, first: PictureInput, second: PictureInput, prompt: PromptInput = None, **options: Unpack[QuestionOptions]
    ) -> CompareAnswer:
        """The chance that the first picture is preferred, under each criterion whose scorer can say."""
        return await self._ask_about("compare", CompareAnswer, [first, second], prompt, **options)

    async def pick(
        self, images: Sequence[PictureInput], prompt: PromptInput = None, **options: Unpack[PickOptions]
    ) -> PickAnswer:
        """The best of several pictures."""
        return await self._ask_about("pick", PickAnswer, images, prompt, **options)

    async def gate(
        self, images: Sequence[PictureInput], prompt: PromptInput = None, **options: Unpack[GateOptions]
    ) -> GateAnswer:
        """Which pictures pass a gate of the service."""
        return await self._ask_about("gate", GateAnswer, images, prompt, **options)

    async def explain(
        self, images: Sequence[PictureInput], prompt: PromptInput = None, **options: Unpack[ExplainOptions]
    ) -> dict[str, Json]:
        """Why a picture has its score, or one of two stands above the other: the record as the schema has it."""
        record: dict[str, Json] = await self._send("explain", images, prompt, **options)
        return record

    async def models(self) -> ModelsAnswer:
        """What is loaded, and which of it answers."""
        return _read(ModelsAnswer, await self._ask("GET", "/v1/models"))

    async def load(
        self,
        *,
        scorers: Sequence[str] = (),
        models: Sequence[str] = (),
        name: str = "model",
        activate: bool = False,
    ) -> ModelsAnswer:
        """Load a model beside the active one; needs a token with the scope admin, as do the next two."""
        request = {"name": name, "scorers": list(scorers), "models": list(models), "activate": activate}
        return _read(ModelsAnswer, await self._ask("POST", "/v1/models/load", request))

    async def activate(self, version: str) -> ModelsAnswer:
        """Answer with this version from now on."""
        return _read(ModelsAnswer, await self._ask("POST", "/v1/models/activate", {"version": version}))

    async def rollback(self) -> ModelsAnswer:
        """Back to the version before."""
        return _read(ModelsAnswer, await self._ask("POST", "/v1/models/rollback", {}))

    async def feedback(
        self, decision: str, chosen: str | int, *, rater: str, criterion: str, reason: str | None = None
    ) -> dict[str, Json]:
        """Tell which picture of a decision a person chose later, and the person's reason."""
        request = {"decision": decision, "chosen": chosen, "rater": rater, "criterion": criterion}
        request |= {} if reason is None else {"reason": reason}
        record: dict[str, Json] = await self._ask("POST", "/v1/feedback", request)
        return record

    async def _ask_about(
        self, route: str, shape: type[N], images: Sequence[PictureInput], prompt: PromptInput, **more: Any
    ) -> N:
        return _read(shape, await self._send(route, images, prompt, **more))

    async def _send(self, route: str, images: Sequence[PictureInput], prompt: PromptInput, **more: Any) -> Any:
        request = {name: value for name, value in more.items() if value is not None}
        if "weights" in request:
            request["weights"] = dict(request["weights"])
        if prompt is not None:
            request["prompt"] = prompt if isinstance(prompt, str) else dict(prompt)
        pictures = await asyncio.to_thread(
            lambda: [image if isinstance(image, Below) else _bytes(image) for image in images]
        )
        if any(isinstance(image, Below) for image in pictures):
            request["images"] = [
                ({"path": image.path} if isinstance(image, Below) else {"base64": base64.b64encode(image).decode()})
                for image in pictures
            ]
            return await self._ask("POST", f"/v1/{route}", request)
        uploads = tuple(
            (Upload(field="images", data=data, media_type="application/octet-stream", filename=f"{place}"))
            for place, data in enumerate(pictures)
            if isinstance(data, bytes)
        )
        return await self._ask("POST", f"/v1/{route}", request, uploads)

    async def _ask(self, method: str, path: str, record: Any = None, uploads: tuple[Upload, ...] = ()) -> Any:
        """The answer, after as many attempts as the limits allow."""
        url = f"{self._service.base_url}{path}"
        content = {"form": {"request": json.dumps(record)}, "uploads": uploads} if uploads else {"body": record}
        call, limits = Call(url=url, method=method, **content), self._service.limits
        for attempt in range(1, limits.attempts + 1):
            try:
                reply = await self._sender.send(call)
            except RetryableError as failure:
                if attempt == limits.attempts:
                    raise Unreachable("a scoring service is needed", found=failure.reason, where=url) from None
                await asyncio.sleep(retry_delay(attempt, failure.retry_after, limits, self._rng))
                continue
            except ReplyTooLarge as error:
                raise Unreachable("an answer of a scoring service is needed", found=str(error), where=url) from None
            if reply.status not in _BUSY or attempt == limits.attempts:
                try:
                    record = json.loads(reply.body)
                except ValueError:
                    raise Unreachable("an answer of a scoring service is needed", found="no JSON", where=url) from None
                if reply.status == 200:
                    return record
                fields = record if isinstance(record, dict) else {}
                if reply.status == 401:
                    remedy = str(fields.get("remedy") or f"put it into the environment variable {TOKEN_VARIABLE}")
                    raise WrongKey(
                        str(fields.get("needed") or "a token is needed"),
                        found=fields.get("found"),
                        where=url,
                        remedy=remedy,
                    )
                raise ScoresRefused(reply.status, fields)
            await asyncio.sleep(retry_delay(attempt, retry_after(reply.headers), limits, self._rng))
        raise AssertionError("the last attempt answers or raises")  # pragma: no cover

    async def aclose(self) -> None:
        """Close all connections."""
        await self._sender.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class ScoresClient:
    """The same for programs without a loop: every method of AsyncScoresClient that answers, waited for."""

    def __init__(self, base_url: str, **options: Unpack[ClientOptions]) -> None:
        """Options are those of AsyncScoresClient."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="salon-scores", daemon=True)
        self._thread.start()
        try:
            self._client = AsyncScoresClient(base_url, **options)
        except BaseException:
            self._end()
            raise

    def score(
        self, images: Sequence[PictureInput], prompt: PromptInput = None, **options: Unpack[QuestionOptions]
    ) -> ScoreAnswer:
        """The number of each picture under each criterion."""
        return self._wait(self._client.score(images, prompt, **options))

    def compare(
        self, first: PictureInput, second: PictureInput, prompt: PromptInput = None, **options: Unpack[QuestionOptions]
    ) -> CompareAnswer:
        """The chance that the first picture is preferred."""
        return self._wait(self._client.compare(first, second, prompt, **options))

    def pick(
        self, images: Sequence[PictureInput], prompt: PromptInput = None, **options: Unpack[PickOptions]
    ) -> PickAnswer:
        """The best of several pictures."""
        return self._wait(self._client.pick(images, prompt, **options))

    def gate(
        self, images: Sequence[PictureInput], prompt: PromptInput = None, **options: Unpack[GateOptions]
    ) -> GateAnswer:
        """Which pictures pass a gate of the service."""
        return self._wait(self._client.gate(images, prompt, **options))

    def explain(
        self, images: Sequence[PictureInput], prompt: PromptInput = None, **options: Unpack[ExplainOptions]
    ) -> dict[str, Json]:
        """Why a picture has its score, or one of two stands above the other."""
        return self._wait(self._client.explain(images, prompt, **options))

    def models(self) -> ModelsAnswer:
        """What is loaded, and which of it answers."""
        return self._wait(self._client.models())

    def load(self, **loaded: Unpack[LoadOptions]) -> ModelsAnswer:
        """Load a model beside the active one."""
        return self._wait(self._client.load(**loaded))

    def activate(self, version: str) -> ModelsAnswer:
        """Answer with this version from now on."""
        return self._wait(self._client.activate(version))

    def rollback(self) -> ModelsAnswer:
        """Back to the version before."""
        return self._wait(self._client.rollback())

    def feedback(
        self, decision: str, chosen: str | int, *, rater: str, criterion: str, reason: str | None = None
    ) -> dict[str, Json]:
        """Tell which picture of a decision a person chose later, and the person's reason."""
        answer = self._client.feedback(decision, chosen, rater=rater, criterion=criterion, reason=reason)
        return self._wait(answer)

    def _wait(self, answer: Coroutine[Any, Any, T]) -> T:
        waiting = asyncio.run_coroutine_threadsafe(answer, self._loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()
            raise

    def close(self) -> None:
        """Close all connections and end the thread."""
        if not self._loop.is_closed():
            self._wait(self._client.aclose())
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _bytes(picture: Any) -> bytes:
    if isinstance(picture, bytes):
        return picture
    if isinstance(picture, str | Path):
        return read_bytes(Path(picture))
    target = io.BytesIO()
    picture.save(target, "PNG", compress_level=1)
    return target.getvalue()


def _read(shape: type[N], record: Any) -> N:
    """An answer as a noun; fields of a newer service are left out."""
    fields = {name: value for name, value in record.items() if name in shape.model_fields}
    return shape.parse(fields, where=f"answer of the service as {shape.__name__}")
