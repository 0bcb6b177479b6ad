"""The scoring service in the protocols of trainers, so that they can call it unchanged.

    flow-grpo      POST /                      a pickle {"images": [JPEG], "prompts"} -> a pickle {"outputs", "scores"}
    flow-factory   GET /health, POST /compute  JSON {"prompt", "image": [base64]} -> {"rewards"} or {"error"}
    unirl          GET /health, POST /score    JSON {"requests": [...]} -> {"results": [{name: {part: x}}], "errors"}
    cosmos         POST /api/reward/enqueue    a line of JSON and a .npy file -> {"uuid"}
                   POST /api/reward/pull       a form with uuid and type -> {"scores": {type: [...]}}; 400 while pending

Each was read in the trainer's own code: yifan123/flow_grpo at ac4c86e, X-GenGroup/Flow-Factory at a0b2bc5,
Tencent-Hunyuan/UniRL at 1a7b501, nvidia-cosmos/cosmos-rl at 89f2e5b.

A reward is higher for a better picture. `salon` is the reward of all criteria together (of those that
`--reward-weights` names; flags do not count unless named), against `--reference` where there is one, and the only one
that flow-grpo and flow-factory get. unirl and cosmos may also ask for each criterion by its name.

A picture without a number is an error in the protocol's own form, never a zero: flow-grpo gets {"error"} with status
422, which its client does not retry; flow-factory gets {"error"} with status 200, the only way its client shows the
words; unirl gets the reason under the name of the reward; cosmos gets {"message"} with status 422.
"""

from __future__ import annotations

import asyncio
import io
import math
import pickle
import time
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import numpy as np
from fastapi import APIRouter, Request
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from salon.errors import BadFile, BadValue, SalonError, TooFew, UnknownReference
from salon.judge import MissingScore
from salon.select import (
    Blend,
    ModelAnswer,
    QueueFull,
    ScorerColumn,
    ScoreReference,
    ScoringModel,
    SentPicture,
    as_png,
    blend_columns,
    read_weights,
    text_prompt,
)
from salon.study import Prompt
from salon.web.errors import ErrorForm
from salon.web.scoring.access import ScoreCaller, ServiceCaller
from salon.web.scoring.plain_pickle import read_plain_pickle
from salon.web.scoring.requests import check_picture, parse_record, picture_from_base64
from salon.web.scoring.settings import Protocol, ScoringSettings

ALL = "salon"
"""Name of the reward of all criteria together."""
UPLOAD_PATHS: dict[Protocol, str] = {
    "flow-grpo": "/",
    "flow-factory": "/compute",
    "unirl": "/score",
    "cosmos": "/api/reward/enqueue",
}
"""Where each protocol sends its pictures."""
_OCTETS = "application/octet-stream"


def trainer_routers(speak: Sequence[Protocol]) -> list[APIRouter]:
    """The routes of the protocols named."""
    routers = [_ROUTERS[protocol] for protocol in dict.fromkeys(speak)]
    return [*routers, _health] if {"flow-factory", "unirl"} & set(speak) else routers


def error_forms(speak: Sequence[Protocol]) -> dict[tuple[str, str], ErrorForm]:
    """How each protocol says an error, by method and path."""
    forms = {("POST", UPLOAD_PATHS[protocol]): _FORMS[protocol] for protocol in speak}
    if "cosmos" in speak:
        forms |= {("POST", f"/api/reward/{path}"): _message for path in ("pull", "ping")}
    return forms


# -- rewards of a model ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rewards:
    """How the numbers of a model become rewards, by name."""

    blends: dict[str, Blend]
    no_total: BadValue | None = None
    """Why there is no reward of all criteria together."""

    def names(self) -> list[str]:
        """All that may be asked for."""
        return list(self.blends)

    def blend(self, name: str) -> Blend:
        """UnknownReference where nothing of that name is served, BadValue where criteria cannot be added."""
        if name == ALL and self.no_total is not None:
            raise self.no_total
        if name not in self.blends:
            raise UnknownReference(
                "a reward that is served is needed", found=repr(name), remedy="there are " + ", ".join(self.blends)
            )
        return self.blends[name]

    def value(self, name: str, answer: ModelAnswer | BadFile) -> float | str:
        """The reward of a picture, or why it has none."""
        if isinstance(answer, BadFile):
            return error_text(answer)
        blend = self.blend(name)
        row = []
        for term in blend.terms:
            result = answer.results[term.criterion]
            if isinstance(result, MissingScore):
                if term.share > 0:
                    return f"{term.criterion}: {result.reason}"
                row.append(math.nan)
                continue
            row.append(result.value)
        total = float(blend.totals(np.array([row]))[0])
        return total if math.isfinite(total) else "the scorer gave no finite number"


def rewards_of(model: ScoringModel, weights: str | None, reference: ScoreReference | None) -> Rewards:
    """One reward for each criterion, and `salon` for all where their scales can be added."""
    columns = [
        ScorerColumn(criterion=item.criterion, scorer=item.scorer, signature=item.signature,
                    higher_is_better=item.card.higher_is_better, scale=item.scale)
        for item in model.criteria
    ]  # fmt: skip
    single = {column.criterion: blend_columns([column], reference=reference) for column in columns}
    counted = dict.fromkeys([item.criterion for item in model.criteria if not item.flag], 1.0) or None
    shares = read_weights(counted if weights is None else weights, [column.criterion for column in columns])
    try:
        return Rewards({**single, ALL: blend_columns(columns, shares, reference=reference)})
    except BadValue as error:
        return Rewards(single, no_total=error)


def served_rewards(request: Request, model: ScoringModel | None = None) -> Rewards:
    """The rewards of the active model."""
    state = request.app.state
    return rewards_of(model or state.service.active.model, state.settings.reward_weights, state.reference)


async def _each_reward(
    request: Request, caller: ServiceCaller, pictures: Sequence[SentPicture]
) -> tuple[list[float], dict[str, Any]]:
    """The reward `salon` of every picture; TooFew when one has none."""
    model, answers = await request.app.state.service.ask_each(pictures, caller=caller.name)
    rewards = served_rewards(request, model)
    values = [rewards.value(ALL, answer) for answer in answers]
    for place, value in enumerate(values):
        if isinstance(value, str):
            missing = sum(isinstance(other, str) for other in values)
            raise TooFew(
                "every picture needs a reward", found=f"{missing} of {len(values)} without; picture {place}: {value}"
            )
    return [float(value) for value in values], {"model": model.order.name, "version": model.version}


def _check_pictures(
    data: Sequence[bytes],
    prompts: Sequence[str | None],
    settings: ScoringSettings,
    categories: Sequence[str | None] | None = None,
) -> list[SentPicture]:
    _check_count(len(data), settings)
    if len(prompts) != len(data):
        raise BadValue("one prompt for each picture is needed", found=f"{len(prompts)} for {len(data)} pictures")
    return [
        check_picture(content, place, _prompt(text, category), settings)
        for place, (content, text, category) in enumerate(
            zip(data, prompts, categories or [None] * len(data), strict=True)
        )
    ]


def _check_count(count: int, settings: ScoringSettings) -> None:
    if not 1 <= count <= settings.most_images:
        raise BadValue(f"1 to {settings.most_images:,} pictures are needed", found=f"{count:,}")


def _prompt(text: str | None, category: str | None = None) -> Prompt | None:
    if text is None or not text.strip():
        return None
    prompt = text_prompt(text)
    return prompt if category is None else prompt.model_copy(update={"category": category})


# -- errors ------------------------------------------------------------------------------------------------------------


def error_text(error: SalonError) -> str:
    """An error in one line, for protocols that have room for one text."""
    found = "" if error.found is None else f"; found: {error.found}"
    where = "" if error.where is None else f" ({error.where})"
    return f"{error.needed}{found}{where}" + (f"; {error.remedy}" if error.remedy else "")


def _pickled(error: SalonError, status: int) -> Response:
    return Response(pickle.dumps({"error": error_text(error)}), status, media_type=_OCTETS)


def _error_field(error: SalonError, status: int) -> Response:
    """Flow-Factory's client shows the words of an answer of status 200 only, and tries others three times."""
    return JSONResponse({"error": error_text(error)}, 200 if status in (400, 404, 413, 422) else status)


def _detail(error: SalonError, status: int) -> Response:
    return JSONResponse({"detail": error_text(error)}, status)


def _message(error: SalonError, status: int) -> Response:
    return JSONResponse({"message": error_text(error)}, status)


_FORMS: dict[Protocol, ErrorForm] = {
    "flow-grpo": _pickled,
    "flow-factory": _error_field,
    "unirl": _detail,
    "cosmos": _message,
}

# -- flow_grpo ---------------------------------------------------------------------------------------------------------

_flow_grpo = APIRouter(include_in_schema=False)


@_flow_grpo.post("/")
async def flow_grpo(request: Request, caller: ScoreCaller) -> Response:
    """Rewards of pickled pictures; the answer is a pickle of lists of floats under texts."""
    body = await request.body()
    pictures, has_tags = await run_in_threadpool(_read_flow_grpo, body, request.app.state.settings)
    rewards, about = await _each_reward(request, caller, pictures)
    if has_tags:  # as GenEval's server; what is strict there no scorer here can say
        about |= {"rewards": rewards, "group_rewards": _by_category(pictures, rewards)}
    return Response(pickle.dumps({"outputs": rewards, "scores": rewards, **about}), media_type=_OCTETS)


def _by_category(pictures: Sequence[SentPicture], rewards: Sequence[float]) -> dict[str, list[float]]:
    groups: dict[str, list[float]] = {}
    for picture, reward in zip(pictures, rewards, strict=True):
        if picture.prompt is not None and picture.prompt.category is not None:
            groups.setdefault(picture.prompt.category, []).append(reward)
    return groups


def _category(metadata: object) -> str | None:
    """The kind of prompt that a trainer states of a picture, as GenEval's `tag` does."""
    tag = metadata.get("tag") if isinstance(metadata, dict) else None
    return tag if isinstance(tag, str) and tag.strip() else None


def _read_flow_grpo(body: bytes, settings: ScoringSettings) -> tuple[list[SentPicture], bool]:
    record = read_plain_pickle(body)
    if not isinstance(record, dict) or not isinstance(record.get("images"), list):
        raise BadValue("a record with a list of images is needed", found="another pickle")
    images: list[Any] = record["images"]
    if not all(isinstance(image, bytes) for image in images):
        raise BadValue("images as bytes of JPEG, PNG, WebP or GIF are needed", found="others", where="images")
    categories: list[str | None] | None = None
    if "meta_datas" in record:
        if not isinstance(record["meta_datas"], list):
            raise BadValue("a list with a record for each picture is needed", found="other", where="meta_datas")
        prompts = [entry.get("prompt") if isinstance(entry, dict) else None for entry in record["meta_datas"]]
        categories = [_category(entry) for entry in record["meta_datas"]]
    else:
        prompts = record.get("prompts") or [None] * len(images)
    if not isinstance(prompts, list) or not all(text is None or isinstance(text, str) for text in prompts):
        raise BadValue("prompts as texts are needed", found="others", where="prompts")
    return _check_pictures(images, prompts, settings, categories), categories is not None


# -- Flow-Factory ------------------------------------------------------------------------------------------------------


class _Lenient(BaseModel):
    """What a trainer sends; fields that later versions add are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class ComputeIn(_Lenient):
    """Body of Flow-Factory's /compute."""

    prompt: list[str]
    image: list[str] | None = None
    video: list[Any] | None = None
    condition_images: list[Any] | None = None
    condition_videos: list[Any] | None = None


_flow_factory = APIRouter(include_in_schema=False)


@_flow_factory.post("/compute")
async def flow_factory(request: Request, caller: ScoreCaller) -> JSONResponse:
    """Rewards of pictures with a prompt each."""
    body = await request.body()
    pictures = await run_in_threadpool(_read_compute, body, request.app.state.settings)
    rewards, about = await _each_reward(request, caller, pictures)
    return JSONResponse({"rewards": rewards, **about})


def _read_compute(body: bytes, settings: ScoringSettings) -> list[SentPicture]:
    record = parse_record(ComputeIn, body)
    if record.image is None or record.video or record.condition_images or record.condition_videos:
        found = "no image" if record.image is None else "a video, or pictures that an edit began with"
        raise BadValue("still pictures are needed", found=found)
    data = [picture_from_base64(text, f"image.{place}") for place, text in enumerate(record.image)]
    return _check_pictures(data, record.prompt, settings)


_health = APIRouter(include_in_schema=False)


@_health.get("/health")
async def health(request: Request) -> JSONResponse:
    """Whether the service is ready, and the names of its rewards; no token is needed, as for /readyz."""
    ready = request.app.state.service.ready
    rewards = {name: ["ready" if ready else "not ready"] for name in served_rewards(request).names()}
    return JSONResponse({"status": "ok" if ready else "not ready", "rewards": rewards}, 200 if ready else 503)


# -- UniRL -------------------------------------------------------------------------------------------------------------


class TurnIn(_Lenient):
    """A text with its picture."""

    text: str
    image_b64: str | None = None
    video_b64: str | None = None
    video_path: str | None = None


class SampleIn(_Lenient):
    """A picture and the rewards that are wanted of it."""

    history: list[TurnIn] = Field(min_length=1)
    required_rewards: list[str]
    metadata: Any = None


class SamplesIn(_Lenient):
    """Body of UniRL's /score."""

    requests: list[SampleIn]


_unirl = APIRouter(include_in_schema=False)


@_unirl.post("/score")
async def unirl(request: Request, caller: ScoreCaller) -> JSONResponse:
    """Each reward as {"reward", "value", "sigma"}; what has none is named in `errors` with its reason."""
    state = request.app.state
    samples = parse_record(SamplesIn, await request.body()).requests
    _check_count(len(samples), state.settings)
    read = await run_in_threadpool(lambda: [_read_sample(sample, state.settings) for sample in samples])
    pictures = [picture for picture in read if isinstance(picture, SentPicture)]
    model, answers = await state.service.ask_each(pictures, caller=caller.name)
    remaining, rewards = iter(answers), served_rewards(request, model)
    results: list[dict[str, dict[str, float]]] = []
    errors: list[dict[str, str]] = []
    for sample, picture in zip(samples, read, strict=True):
        answer = next(remaining) if isinstance(picture, SentPicture) else picture
        result: dict[str, dict[str, float]] = {}
        reasons: dict[str, str] = {}
        for name in sample.required_rewards:
            value = _sample_reward(rewards, name, answer)
            if isinstance(value, str):
                reasons[name] = value
            else:
                result[name] = value
        results.append(result)
        errors.append(reasons)
    return JSONResponse({"results": results, "errors": errors})


def _read_sample(sample: SampleIn, settings: ScoringSettings) -> SentPicture | str:
    turn = sample.history[-1]
    if len(sample.history) > 1:
        return "one turn is needed: scorers here look at one picture, not at an edit of another"
    if turn.image_b64 is None or turn.video_b64 or turn.video_path:
        return "a still picture is needed"
    try:
        return check_picture(
            picture_from_base64(turn.image_b64, "image_b64"),
            0,
            _prompt(turn.text, _category(sample.metadata)),
            settings,
        )
    except SalonError as error:
        return error_text(error)


def _sample_reward(rewards: Rewards, name: str, answer: ModelAnswer | BadFile | str) -> dict[str, float] | str:
    """`reward` stands first, since UniRL takes the first part."""
    if isinstance(answer, str):
        return answer
    try:
        reward = rewards.value(name, answer)
    except SalonError as error:
        return error_text(error)
    if isinstance(reward, str):
        return reward
    parts = {"reward": reward}
    result = answer.results.get(name) if isinstance(answer, ModelAnswer) and name != ALL else None
    if result is not None and not isinstance(result, MissingScore):
        parts["value"] = result.value
        if result.sigma is not None:
            parts["sigma"] = result.sigma
    return parts


# -- cosmos-rl ---------------------------------------------------------------------------------------------------------

_MOST_JOBS = 4096
_MOST_UNDER_WAY = 64
_KEPT_SECONDS = 3600.0
_MOST_JSON = 16 << 20
_MOST_NPY_HEADER = 10_000


class EnqueueIn(_Lenient):
    """First line of the body."""

    prompts: list[str]
    reward_fn: dict[str, float] = Field(min_length=1)
    media_type: str = "image"


@dataclass
class RewardJob:
    """Pictures that were enqueued, and what became of them."""

    owner: str
    task: asyncio.Task[dict[str, list[float] | str]]
    shape: tuple[int, ...]
    started: float = field(default_factory=time.monotonic)


class RewardJobs:
    """Jobs by their id; old ones are forgotten."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, RewardJob] = OrderedDict()

    def add(self, job: RewardJob) -> str:
        id = str(uuid.uuid4())
        self._jobs[id] = job
        return id

    def make_room(self) -> None:
        """QueueFull where too many are under way."""
        limit = time.monotonic() - _KEPT_SECONDS
        for id, job in list(self._jobs.items()):
            if job.task.done() and (job.started < limit or len(self._jobs) >= _MOST_JOBS):
                del self._jobs[id]
        under_way = sum(not job.task.done() for job in self._jobs.values())
        if under_way >= _MOST_UNDER_WAY:
            raise QueueFull(f"{under_way} requests under way", wait=1)

    def find(self, id: str, owner: str) -> RewardJob:
        job = self._jobs.get(id)
        if job is None or job.owner != owner:
            raise UnknownReference("the uuid of a request of yours is needed", found="another, or one too old")
        return job


_cosmos = APIRouter(include_in_schema=False, prefix="/api/reward")


@_cosmos.post("/ping")
async def cosmos_ping(request: Request, caller: ScoreCaller) -> JSONResponse:
    """The service answers."""
    return JSONResponse({"message": "ok", "rewards": served_rewards(request).names()})


@_cosmos.post("/enqueue")
async def cosmos_enqueue(request: Request, caller: ScoreCaller) -> JSONResponse:
    """Take pictures to be scored; the answer names the job."""
    jobs: RewardJobs = request.app.state.reward_jobs
    jobs.make_room()
    body, rewards = await request.body(), served_rewards(request)
    record, pictures, shape = await run_in_threadpool(_read_enqueue, body, request.app.state.settings)
    for name in record.reward_fn:
        rewards.blend(name)
    task = asyncio.create_task(_job_rewards(request, caller, list(record.reward_fn), pictures))
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # heard, also if nobody pulls it
    return JSONResponse({"uuid": jobs.add(RewardJob(caller.name, task, shape))})


async def _job_rewards(
    request: Request, caller: ServiceCaller, names: Sequence[str], pictures: Sequence[SentPicture]
) -> dict[str, list[float] | str]:
    """By reward: the numbers, or why there are none."""
    model, answers = await request.app.state.service.ask_each(pictures, caller=caller.name)
    rewards = served_rewards(request, model)
    results: dict[str, list[float] | str] = {}
    for name in names:
        values = [rewards.value(name, answer) for answer in answers]
        missing = [f"picture {place}: {value}" for place, value in enumerate(values) if isinstance(value, str)]
        numbers = [value for value in values if isinstance(value, float)]
        results[name] = f"{len(missing)} of {len(values)} without a reward; {missing[0]}" if missing else numbers
    return results


@_cosmos.post("/pull")
async def cosmos_pull(request: Request, caller: ScoreCaller) -> JSONResponse:
    """The numbers of a job; 400 while there are none yet, as cosmos-rl's own server has it."""
    try:
        form = parse_qs((await request.body()).decode("ascii"), max_num_fields=10)
    except ValueError:
        raise BadValue("a form with uuid and type is needed", found="another body") from None
    id, name = (form.get(key, [""])[0] for key in ("uuid", "type"))
    job = request.app.state.reward_jobs.find(id, caller.name)
    if not job.task.done():
        return JSONResponse({"message": f"Not found scores for {id}"}, 400)
    results = job.task.result()
    if name not in results:
        raise UnknownReference("a reward that was enqueued is needed", found=repr(name), remedy=", ".join(results))
    values = results[name]
    if isinstance(values, str):
        raise TooFew("every picture needs a reward", found=values)
    info = {"shape": list(job.shape), "dtype": "uint8"}
    return JSONResponse({"scores": {name: values}, "input_info": info, "type": name})


def _read_enqueue(body: bytes, settings: ScoringSettings) -> tuple[EnqueueIn, list[SentPicture], tuple[int, ...]]:
    end = body.find(b"\n", 0, _MOST_JSON)
    if end < 0:
        raise BadValue("a line of JSON and a .npy file are needed", found="a body without a line")
    record = parse_record(EnqueueIn, body[:end])
    if record.media_type != "image":
        raise BadValue("the media type image is needed", found=repr(record.media_type[:50]))
    pixels = read_npy(body[end + 1 :], settings)
    if len(record.prompts) != len(pixels):
        raise BadValue("one prompt for each picture is needed", found=f"{len(record.prompts)} for {len(pixels)}")
    data = [as_png(Image.fromarray(picture)) for picture in pixels]
    return record, _check_pictures(data, record.prompts, settings), pixels.shape


def read_npy(data: bytes, settings: ScoringSettings) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """(pictures, height, width, 3) of a .npy file of uint8, whose header is checked before memory is taken."""
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError("another version")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file, max_header_size=_MOST_NPY_HEADER)
    except (ValueError, EOFError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise BadValue("a .npy file is needed", found="other bytes") from None
    if dtype != np.uint8 or len(shape) != 4 or shape[3] != 3 or fortran or min(shape) < 1:
        raise BadValue("pictures as uint8 in the order BHWC are needed", found=f"{dtype} of shape {shape}"[:200])
    _check_count(shape[0], settings)
    content = memoryview(data)[file.tell() :]
    if len(content) != math.prod(shape):
        raise BadValue(f"{math.prod(shape):,} bytes of pixels are needed", found=f"{len(content):,}")
    return np.frombuffer(content, np.uint8).reshape(shape)


_ROUTERS: dict[Protocol, APIRouter] = {
    "flow-grpo": _flow_grpo,
    "flow-factory": _flow_factory,
    "unirl": _unirl,
    "cosmos": _cosmos,
}
