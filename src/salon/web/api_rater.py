"""The rater's JSON API: what comes next, ready, answer, undo. The schema is at /api/openapi.json.

Items have no ids here, only places and code names.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response

from salon.calls import ServiceError
from salon.collect import EntryStep, NoMoreQuestions, RawAnswer, Rest, ShownTask, Studio, StudioStep
from salon.errors import BadValue
from salon.study import Criterion
from salon.web.auth import Anyone, require_session
from salon.web.images import Images

# -- shapes ---------------------------------------------------------------------------------------------------------


class ApiModel(BaseModel):
    """One JSON object; nothing but what is named here."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Me(ApiModel):
    """Whom the session stands for."""

    role: Literal["rater", "owner", "adjudicator"]
    rater: str | None
    csrf: str = Field(description="Send it as X-CSRF-Token with every POST; empty for a bearer token.")


class LevelShape(ApiModel):
    """One value of a scale."""

    value: float
    label: str | None


class CriterionShape(ApiModel):
    """A criterion on the screen."""

    id: str
    name: str
    question: str | None
    rubric: str | None
    levels: list[LevelShape]


class PictureShape(ApiModel):
    """One place on the screen, left to right or top to bottom."""

    code_name: str
    thumbnail: str | None
    screen: str | None
    full: str | None


class TaskShape(ApiModel):
    """A question to answer."""

    step: Literal["task"] = "task"
    id: int
    stage: Literal["prompt", "question"] = Field(description="prompt: read first, pictures follow.")
    kind: str
    prompt: str | None
    criteria: list[CriterionShape]
    pictures: list[PictureShape] = Field(description="Empty while the prompt is read.")
    points: list[str] = Field(description="checklist: points to answer.")
    grid: tuple[int, int] = Field(description="regions: rows and columns.")
    instructed: float | None = Field(None, description="Attention check: the place or value to answer.")
    ties: bool
    both_bad: bool
    rationale: Literal["none", "optional", "required"]
    prompt_left: float = Field(description="Seconds left of the prompt's countdown.")
    ready_left: float = Field(description='Seconds until "ready" is accepted.')
    wait: float = Field(description="Seconds until an answer is accepted.")
    done: int
    total: int
    can_undo: bool


class RestShape(ApiModel):
    """Come back later."""

    step: Literal["rest"] = "rest"
    until: int = Field(description="Milliseconds since 1970.")


class FinishedShape(ApiModel):
    """Nothing more to ask."""

    step: Literal["finished"] = "finished"
    reason: str
    completion_code: str | None = None


class NeedsShape(ApiModel):
    """Something to do first, on the studio's pages."""

    step: Literal["needs"] = "needs"
    what: Literal["consent", "screener", "profile", "guidelines"]
    seconds_left: float
    again: bool


StepShape = Annotated[TaskShape | RestShape | FinishedShape | NeedsShape, Field(discriminator="step")]


class SavedShape(ApiModel):
    """An answer that is on the disk."""

    saved: int = Field(description="Judgments saved.")
    repeated: bool = Field(description="True when the same key had saved them before.")
    next: StepShape = Field(description="What comes next, as /api/next would say.")


class InvitationShape(ApiModel):
    """A new link; it is told only now."""

    rater: str
    link: str


def step_shape(step: StudioStep, *, rater: str, images: Images, code: str | None) -> StepShape:
    """What comes next, as JSON may tell it."""
    if isinstance(step, ShownTask):
        return _task_shape(step, rater, images)
    if isinstance(step, Rest):
        return RestShape(until=step.until)
    if isinstance(step, EntryStep):
        return NeedsShape(what=step.what, seconds_left=step.seconds_left, again=step.again)
    is_complete = isinstance(step, NoMoreQuestions) and step.reason in ("done", "enough answers")
    return FinishedShape(reason=step.reason, completion_code=code if is_complete else None)


def _task_shape(task: ShownTask, rater: str, images: Images) -> TaskShape:
    screen, phase = task.shown.screen(), task.phase
    pictures = [
        PictureShape(
            code_name=name,
            thumbnail=images.rater_address(item, "thumbnail", rater=rater, task=task.id),
            screen=images.rater_address(item, "screen", rater=rater, task=task.id),
            full=images.rater_address(item, "full", rater=rater, task=task.id),
        )
        for item, name in zip(task.shown.order, task.shown.code_names)
        if task.stage != "prompt"
    ]
    return TaskShape(
        id=task.id,
        stage=task.stage,
        kind=screen["kind"],
        prompt=task.prompt,
        criteria=[_criterion_shape(criterion, screen["kind"]) for criterion in task.criteria],
        pictures=pictures,
        points=screen["points"],
        grid=screen["grid"],
        instructed=screen.get("instructed"),
        ties=bool(phase and phase.ties),
        both_bad=bool(phase and phase.both_bad),
        rationale=phase.rationale if phase else "none",
        prompt_left=task.prompt_left,
        ready_left=task.ready_left,
        wait=task.wait,
        done=task.done,
        total=task.total,
        can_undo=task.can_undo,
    )


def _criterion_shape(criterion: Criterion, kind: str) -> CriterionShape:
    scale = criterion.scale
    levels = scale.levels if scale else ()
    labels = scale.labels if scale and scale.labels else [None] * len(levels)
    question = criterion.rate_question if kind in ("rate", "flag") else criterion.question
    return CriterionShape(
        id=criterion.id,
        name=criterion.title,
        question=question,
        rubric=criterion.rubric,
        levels=[LevelShape(value=value, label=label) for value, label in zip(levels, labels)],
    )


# -- routes ---------------------------------------------------------------------------------------------------------

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ServiceError} for status in (400, 401, 403, 404, 409, 413, 421, 422, 425, 429, 500, 503)
}


class _SessionFirstRoute(APIRoute):
    """A route that tells strangers that they are strangers, not what is wrong with their request."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def known_first(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError:
                await run_in_threadpool(lambda: require_session(request).rater)
                raise

        return known_first


router = APIRouter(prefix="/api", tags=["rater"], responses=ERRORS, route_class=_SessionFirstRoute)

TaskId = Annotated[int, Path(ge=1, le=2**31 - 1)]
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=8, max_length=200, pattern=r"^[A-Za-z0-9._~-]+$")]


@router.get("/me")
def me(session: Anyone) -> Me:
    """Whom this session stands for, and its CSRF token."""
    return Me(role=session.role, rater=session.who.rater, csrf=session.csrf)


@router.get("/next", response_model=StepShape)
async def next_step(request: Request) -> Response:
    """What comes next: a question, a rest, the end, or something to do first. The same until it is answered."""
    return await _answer_rater(request, lambda studio, rater: _shape(studio.next(rater), rater, request))


@router.post("/tasks/{task}/ready", response_model=StepShape)
async def ready(task: TaskId, request: Request) -> Response:
    """The prompt was read; the pictures come."""

    def work(studio: Studio, rater: str) -> StepShape:
        studio.ready(rater, task)
        return _shape(studio.next(rater), rater, request)

    return await _answer_rater(request, work)


@router.post("/tasks/{task}/answer", response_model=SavedShape)
async def answer(task: TaskId, sent_answer: RawAnswer, key: Key, request: Request) -> Response:
    """Save an answer and say what comes next. It is on the disk when this says so; the same key never saves two."""

    def work(studio: Studio, rater: str) -> SavedShape:
        if any(value is None for value in sent_answer.answers.values()):
            raise BadValue("an answer, or a reason to skip, is needed", found="null", where="the answer")
        saved, step = studio.answer(rater, task, sent_answer, key=key, client=client_class(request.headers))
        return SavedShape(saved=len(saved.ids), repeated=saved.repeated, next=_shape(step, rater, request))

    return await _answer_rater(request, work)


@router.post("/undo", response_model=StepShape)
async def undo(request: Request) -> Response:
    """Take back the last answer of this visit; its question comes again."""

    def work(studio: Studio, rater: str) -> StepShape:
        studio.undo(rater)
        return _shape(studio.next(rater), rater, request)

    return await _answer_rater(request, work)


async def _answer_rater(request: Request, work: Callable[[Studio, str], ApiModel]) -> Response:
    """The answer to a rater's request, made in one trip to a thread: who it is, the work and its JSON.

    As dependencies and a returned model these would be four trips, and each takes longer than the question it asks.
    """

    def done() -> bytes:
        rater = require_session(request).rater
        return work(request.app.state.studio, rater).model_dump_json().encode()

    return Response(await run_in_threadpool(done), media_type="application/json")


def client_class(headers: Headers) -> str:
    """What kind of machine answers, and nothing that tells one from another."""
    agent = headers.get("user-agent", "")
    if "Mozilla/" not in agent:
        return "script"
    return "phone" if "Mobi" in agent else "desktop"


def _shape(step: StudioStep, rater: str, request: Request) -> StepShape:
    state = request.app.state
    end = state.studio.end_of_visit(rater, step.reason) if isinstance(step, NoMoreQuestions) else None
    if end is not None:
        return FinishedShape(reason=end.outcome.replace("_", " "), completion_code=end.code)
    return step_shape(step, rater=rater, images=state.images, code=state.studio.settings.completion_code)
