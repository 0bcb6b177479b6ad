"""The rater's API: what comes next, ready, answer, undo."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from starlette.datastructures import Headers

from salon.collect.question import Given
from salon.errors import BadValue
from salon.flows.studio import Studio
from salon.web.api.shapes import ErrorShape, Me, SavedShape, StepShape, step_shape
from salon.web.auth import Anyone, RaterSession

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorShape} for status in (400, 401, 403, 404, 409, 413, 421, 422, 425, 429, 500, 503)
}

router = APIRouter(prefix="/api", tags=["rater"], responses=ERRORS)

TaskId = Annotated[int, Path(ge=1, le=2**31 - 1)]
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=8, max_length=200, pattern=r"^[A-Za-z0-9._~-]+$")]


@router.get("/me")
def me(session: Anyone) -> Me:
    """Whom this session stands for, and its CSRF token."""
    return Me(role=session.role, rater=session.who.rater, csrf=session.csrf)  # type: ignore[arg-type]


@router.get("/next")
def next_step(session: RaterSession, request: Request) -> StepShape:
    """What comes next: a question, a rest, the end, or something to do first. The same until it is answered."""
    return _next(session.rater, request)


@router.post("/tasks/{task}/ready")
def ready(task: TaskId, session: RaterSession, request: Request) -> StepShape:
    """The prompt was read; the pictures come."""
    _studio(request).ready(session.rater, task)
    return _next(session.rater, request)


@router.post("/tasks/{task}/answer")
def answer(task: TaskId, given: Given, key: Key, session: RaterSession, request: Request) -> SavedShape:
    """Save an answer. It is on the disk when this says so; the same key never saves a second one."""
    if any(value is None for value in given.answers.values()):
        raise BadValue("an answer, or a reason to skip, is needed", found="null", where="the answer")
    saved = _studio(request).submit(session.rater, task, given, key=key, client=client_class(request.headers))
    return SavedShape(saved=len(saved.ids), repeated=saved.repeated)


@router.post("/undo")
def undo(session: RaterSession, request: Request) -> StepShape:
    """Take back the last answer of this visit; its question comes again."""
    _studio(request).undo(session.rater)
    return _next(session.rater, request)


def client_class(headers: Headers) -> str:
    """What kind of machine answers, and nothing that tells one from another."""
    agent = headers.get("user-agent", "")
    if "Mozilla/" not in agent:
        return "script"
    return "phone" if "Mobi" in agent else "desktop"


def _next(rater: str, request: Request) -> StepShape:
    studio = _studio(request)
    code = studio.settings.completion_code
    return step_shape(studio.next(rater), rater=rater, images=request.app.state.images, code=code)


def _studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio
