"""The rater's API: what comes next, ready, answer, undo."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response

from salon.calls.scores_shapes import ServiceError
from salon.collect.question import Given
from salon.collect.studio.steps import Step
from salon.collect.studio.studio import Studio
from salon.errors import BadValue
from salon.web.api.shapes import Me, SavedShape, Shape, StepShape, step_shape
from salon.web.auth import Anyone, signed_in

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ServiceError} for status in (400, 401, 403, 404, 409, 413, 421, 422, 425, 429, 500, 503)
}


class _KnownFirst(APIRoute):
    """A route that tells strangers that they are strangers, not what is wrong with their request."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def known_first(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError:
                await run_in_threadpool(lambda: signed_in(request).rater)
                raise

        return known_first


router = APIRouter(prefix="/api", tags=["rater"], responses=ERRORS, route_class=_KnownFirst)

TaskId = Annotated[int, Path(ge=1, le=2**31 - 1)]
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=8, max_length=200, pattern=r"^[A-Za-z0-9._~-]+$")]


@router.get("/me")
def me(session: Anyone) -> Me:
    """Whom this session stands for, and its CSRF token."""
    return Me(role=session.role, rater=session.who.rater, csrf=session.csrf)


@router.get("/next", response_model=StepShape)
async def next_step(request: Request) -> Response:
    """What comes next: a question, a rest, the end, or something to do first. The same until it is answered."""
    return await _for_rater(request, lambda studio, rater: _shape(studio.next(rater), rater, request))


@router.post("/tasks/{task}/ready", response_model=StepShape)
async def ready(task: TaskId, request: Request) -> Response:
    """The prompt was read; the pictures come."""

    def work(studio: Studio, rater: str) -> StepShape:
        studio.ready(rater, task)
        return _shape(studio.next(rater), rater, request)

    return await _for_rater(request, work)


@router.post("/tasks/{task}/answer", response_model=SavedShape)
async def answer(task: TaskId, given: Given, key: Key, request: Request) -> Response:
    """Save an answer and say what comes next. It is on the disk when this says so; the same key never saves two."""

    def work(studio: Studio, rater: str) -> SavedShape:
        if any(value is None for value in given.answers.values()):
            raise BadValue("an answer, or a reason to skip, is needed", found="null", where="the answer")
        saved, step = studio.answer(rater, task, given, key=key, client=client_class(request.headers))
        return SavedShape(saved=len(saved.ids), repeated=saved.repeated, next=_shape(step, rater, request))

    return await _for_rater(request, work)


@router.post("/undo", response_model=StepShape)
async def undo(request: Request) -> Response:
    """Take back the last answer of this visit; its question comes again."""

    def work(studio: Studio, rater: str) -> StepShape:
        studio.undo(rater)
        return _shape(studio.next(rater), rater, request)

    return await _for_rater(request, work)


async def _for_rater(request: Request, work: Callable[[Studio, str], Shape]) -> Response:
    """The answer to a rater's request, made in one trip to a thread: who it is, the work and its JSON.

    As dependencies and a returned model these would be four trips, and each takes longer than the question it asks.
    """

    def done() -> bytes:
        rater = signed_in(request).rater
        return work(request.app.state.studio, rater).model_dump_json().encode()

    return Response(await run_in_threadpool(done), media_type="application/json")


def client_class(headers: Headers) -> str:
    """What kind of machine answers, and nothing that tells one from another."""
    agent = headers.get("user-agent", "")
    if "Mozilla/" not in agent:
        return "script"
    return "phone" if "Mobi" in agent else "desktop"


def _shape(step: Step, rater: str, request: Request) -> StepShape:
    state = request.app.state
    return step_shape(step, rater=rater, images=state.images, code=state.studio.settings.completion_code)
