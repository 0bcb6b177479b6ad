"""A rater's pages: one address, `/`, that always shows what comes next; forms that post and come back to it.

Everything works with plain forms. JavaScript adds countdowns, keys, zoom, and an answer that is sent again, under the
same key, until the studio has said that it is saved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, RedirectResponse, Response

from salon.collect.assign import Finished, Rest
from salon.collect.settings_phase import Phase
from salon.collect.studio.steps import Needs, ShownTask, Step, TooEarly
from salon.collect.studio.studio import Studio
from salon.errors import BadValue
from salon.store.database.errors import AlreadyAnswered, KeyReused, NothingToUndo
from salon.web.api.rater import client_class
from salon.web.auth import RaterSession, door, read_form, studio_of
from salon.web.pages.rater_form import given_of, pair_of, texts
from salon.web.pages.rater_screen import screen_of
from salon.web.pages.render import page
from salon.web.words import PageWords

NOTES = ("not_accepted", "undone")
"""What a page may be asked to say above the question, besides `wait` and `missing`."""
SCRIPT = "x-salon-script"
"""Header by which rater.js says that it sends a form."""
TaskId = Annotated[int, Path(ge=1, le=2**31 - 1)]

router = APIRouter(include_in_schema=False)


Fields = Annotated[FormData, Depends(read_form)]


# -- what comes next ------------------------------------------------------------------------------------------


@router.get("/")
def home(session: RaterSession, request: Request, note: str = "") -> HTMLResponse:
    """What comes next for this rater."""
    studio = studio_of(request)
    if studio.is_new(session.rater):
        return _welcome(studio, session.rater, _shared(studio, session.csrf))
    step = studio.next(session.rater)
    shared = _shared(studio, session.csrf) | {"said": _said(note, step, PageWords(studio.settings.language))}
    if isinstance(step, Needs):
        return page(f"rater/{step.what}.html", step=step, **shared)
    if isinstance(step, Rest):
        until = datetime.fromtimestamp(step.until / 1000, UTC)
        return page("rater/rest.html", until=until, **shared)
    if isinstance(step, Finished):
        return _end(studio, session.rater, step, shared)
    if step.stage == "prompt":
        return page("rater/prompt.html", task=step, **shared)
    return page("rater/task.html", **shared, **screen_of(step, request, session.rater))


def _welcome(studio: Studio, rater: str, shared: dict[str, Any]) -> HTMLResponse:
    """What a rater is told who opens the link for the first time."""
    work = studio.workload(rater)
    cohort = studio.settings.cohort(work.cohort)
    criteria = dict.fromkeys(id for phase in cohort.phases for id in phase.criteria)
    return page(
        "rater/welcome.html",
        questions=work.questions,
        minutes=max(1, round(work.minutes)),
        titles=[studio.criteria[id].title for id in criteria],
        keys=_keys(cohort.phases),
        **shared,
    )


def _keys(phases: Sequence[Phase]) -> list[tuple[str, str]]:
    """The keys that help in these phases, each with the name of its sentence."""
    protocols = {phase.protocol for phase in phases}
    paired = [one for one in phases if one.protocol == "compare" or (one.protocol, one.ranking) == ("rank", "merge")]
    offered = {
        ("←", "compare.left"): bool(paired),
        ("→", "compare.right"): bool(paired),
        ("↓", "compare.tie"): any(phase.ties for phase in paired),
        ("B", "compare.both_bad"): any(phase.both_bad for phase in paired),
        ("1", "welcome.digits"): bool(protocols & {"rate", "flag", "choose", "checklist"}),
        ("Z", "answer.zoom"): True,
        ("U", "answer.undo"): True,
    }
    return [key for key, is_offered in offered.items() if is_offered]


def _said(note: str, step: Step, words: PageWords) -> str:
    """What the last form has to be told, in one sentence."""
    if note == "wait":
        left = (step.ready_left or step.wait) if isinstance(step, ShownTask) else getattr(step, "seconds_left", 0)
        return words("answer.wait", seconds=math.ceil(left)) if left > 0 else ""
    if isinstance(step, Needs):
        return words("screener.answer_all") if note == "missing" else ""
    return words(f"answer.{note}") if note in NOTES else ""


def _end(studio: Studio, rater: str, step: Finished, shared: dict[str, Any]) -> HTMLResponse:
    whole = step.reason in ("done", "enough answers")
    pays = studio.settings.pay
    shows = whole and any((pays.per_hour, pays.per_answer, pays.flat))
    code = studio.settings.completion_code if whole else None
    earned = studio.earned(rater) if shows else None
    return page("rater/end.html", reason=step.reason, code=code, earned=earned, **shared)


# -- what raters do -------------------------------------------------------------------------------------------


@router.post("/welcome")
def welcome(session: RaterSession, request: Request) -> Response:
    """The welcome page is read."""
    studio_of(request).welcome(session.rater)
    return _back(request)


@router.post("/consent")
def consent(session: RaterSession, request: Request, fields: Fields) -> Response:
    """Agree to the consent text."""
    studio_of(request).consent(session.rater, texts(fields, ["version"])["version"])
    return _back(request)


@router.post("/screener")
def screener(session: RaterSession, request: Request, fields: Fields) -> Response:
    """Answer the screener. Fields bear the ids of questions: a form from before a change says nothing else by place."""
    studio = studio_of(request)
    ids = [question.id for question in studio.settings.screener]
    given = texts(fields, [f"question.{id}" for id in ids])
    try:
        studio.screener(session.rater, dict(zip(ids, given.values())))
    except BadValue:
        return _back(request, "missing")
    return _back(request)


@router.post("/profile")
def profile(session: RaterSession, request: Request, fields: Fields) -> Response:
    """Say something about oneself; a form that lacks a field, from before a change, is shown as it is now."""
    studio = studio_of(request)
    names = studio.settings.profile
    given = texts(fields, [f"field.{name}" for name in names])
    if any(name not in fields for name in given):
        return _back(request)
    studio.profile(session.rater, dict(zip(names, given.values())))
    return _back(request)


@router.post("/guidelines")
def guidelines(session: RaterSession, request: Request) -> Response:
    """The guidelines are read."""
    try:
        studio_of(request).read_guidelines(session.rater)
    except TooEarly:
        return _back(request, "wait")
    return _back(request)


@router.post("/tasks/{task}/ready")
def ready(task: TaskId, session: RaterSession, request: Request) -> Response:
    """The prompt is read."""
    try:
        studio_of(request).ready(session.rater, task)
    except TooEarly:
        return _back(request, "wait")
    return _back(request)


@router.post("/tasks/{task}/pair")
def pair(task: TaskId, session: RaterSession, request: Request, fields: Fields) -> Response:
    """Keep the answer to one pair of a ranking. A form that was sent before changes nothing."""
    try:
        before, given = pair_of(fields)
        studio_of(request).answer_pair(session.rater, task, before, given)
    except TooEarly:
        return _back(request, "wait")
    except BadValue:
        return _back(request, "not_accepted")
    return _back(request)


@router.post("/tasks/{task}/answer")
def answer(task: TaskId, session: RaterSession, request: Request, fields: Fields) -> Response:
    """Save an answer, and come back to what is next. A form that was sent before changes nothing."""
    studio = studio_of(request)
    try:
        given = given_of(fields, studio.question(session.rater, task))
        key = texts(fields, ["key"])["key"]
        studio.submit(session.rater, task, given, key=key, client=client_class(request.headers))
    except TooEarly:
        return _back(request, "wait")
    except BadValue:
        return _back(request, "not_accepted")
    except (AlreadyAnswered, KeyReused):
        return _back(request)
    return _back(request)


@router.post("/undo")
def undo(session: RaterSession, request: Request) -> Response:
    """Take the last answer back."""
    try:
        studio_of(request).undo(session.rater)
    except NothingToUndo:
        return _back(request)
    return _back(request, "undone")


@router.get("/withdraw")
def withdraw_page(session: RaterSession, request: Request) -> HTMLResponse:
    """Ask once more."""
    return page("rater/withdraw.html", **_shared(studio_of(request), session.csrf))


@router.post("/withdraw")
def withdraw(session: RaterSession, request: Request) -> HTMLResponse:
    """Leave the study; the link ends with it."""
    studio = studio_of(request)
    studio.withdraw(session.rater)
    response = _end(studio, session.rater, Finished("withdrawn"), _shared(studio, session.csrf))
    door(request).take_cookie(response)
    return response


@router.post("/leave")
def leave(session: RaterSession, request: Request) -> HTMLResponse:
    """Stop for now: this browser forgets who was here and what it showed; the link stays good."""
    response = page("rater/left.html", **_shared(studio_of(request), session.csrf))
    door(request).take_cookie(response)
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response


def _shared(studio: Studio, csrf: str) -> dict[str, Any]:
    settings = studio.settings
    return {"language": settings.language, "study": studio.name, "settings": settings, "csrf": csrf, "said": ""}


def _back(request: Request, note: str = "") -> Response:
    """Back to what comes next. Our own script is told where that is: a browser follows redirects without it."""
    there = f"/?note={note}" if note else "/"
    if SCRIPT in request.headers:
        return Response(status_code=204, headers={"X-Next": there})
    return RedirectResponse(there, status_code=303)
