"""A rater's pages: one address, `/`, that always shows what comes next; forms that post and come back to it.

Everything works with plain forms. JavaScript adds countdowns, keys, zoom, and an answer that is sent again, under the
same key, until the studio has said that it is saved.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, RedirectResponse, Response

from salon.collect.assign import Finished, Rest
from salon.collect.merge_ranking import NextPair, Settled, most_questions
from salon.errors import BadValue
from salon.flows.studio import Studio
from salon.flows.studio_steps import Needs, ShownTask, Step, TooEarly
from salon.store.database.errors import AlreadyAnswered, KeyReused, NothingToUndo
from salon.study import Criterion
from salon.web.api.rater import client_class
from salon.web.auth import RaterSession
from salon.web.images import Images
from salon.web.pages.rater_form import given_of, merge_step, texts
from salon.web.pages.render import page
from salon.web.words import PageWords

NOTES = ("not_accepted", "undone")
"""What a page may be asked to say above the question, besides `wait` and `missing`."""
_NUMBERED = 7
"""Scales with more levels stand in one narrow row."""
TaskId = Annotated[int, Path(ge=1, le=2**31 - 1)]

router = APIRouter(include_in_schema=False)


async def _fields(request: Request) -> FormData:
    return await request.form(max_files=0)


Fields = Annotated[FormData, Depends(_fields)]


@dataclass(frozen=True)
class Picture:
    """One place on the screen."""

    name: str
    alt: str
    screen: str | None
    full: str | None


# -- what comes next ------------------------------------------------------------------------------------------


@router.get("/")
def home(session: RaterSession, request: Request, note: str = "", pairs: str = "") -> HTMLResponse:
    """What comes next for this rater; `pairs` are the pairs of a ranking answered so far."""
    studio = _studio(request)
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
    return page("rater/task.html", **shared, **_screen(step, request, session.rater, pairs))


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


def _screen(task: ShownTask, request: Request, rater: str, pairs: str) -> dict[str, Any]:
    """All that the page of a question tells."""
    words = PageWords(_studio(request).settings.language)
    question, phase = task.shown.question, task.phase
    rationale = phase.rationale if phase else "none"
    merging = _merging(task, pairs)
    return {
        "task": task,
        "kind": "merge" if isinstance(merging, NextPair) else question.kind,
        "key": secrets.token_urlsafe(18),
        "pictures": _pictures(task, request.app.state.images, rater, words),
        "asked": [
            _asked(criterion, question.kind, words) | {"references": _references(criterion.id, request)}
            for criterion in task.criteria
        ],
        "ties": bool(phase and phase.ties),
        "both_bad": bool(phase and phase.both_bad),
        "rationale": rationale,
        "direct": len(task.criteria) == 1 and rationale == "none",
        "instructed": _instructed(task, words),
        "merging": merging,
        "sides": _sides(merging, task.id + len(pairs)),
        "ranks": _ranks(merging, len(question.items)),
        "pairs": pairs,
        "most_pairs": most_questions(len(question.items)),
    }


def _merging(task: ShownTask, pairs: str) -> NextPair | Settled | None:
    """The next pair of a ranking by pairs, or the order they settle; None for all other screens."""
    if task.shown.question.kind != "rank" or task.phase is None or task.phase.ranking != "merge":
        return None
    if len(task.criteria) > 1:
        return None
    return merge_step(pairs[:1000], len(task.shown.order))


def _sides(merging: NextPair | Settled | None, turn: int) -> list[tuple[int, str]]:
    """The two places of a pair and what choosing each says, left and right by turns: sides must not tell."""
    if not isinstance(merging, NextPair):
        return []
    sides = [(merging.first, "1"), (merging.second, "2")]
    return sides[::-1] if turn % 2 else sides


def _ranks(merging: NextPair | Settled | None, places: int) -> list[int]:
    """The rank that stands beside each place at first."""
    if not isinstance(merging, Settled):
        return list(range(1, places + 1))
    found = {place: rank for rank, tier in enumerate(merging.tiers, 1) for place in tier}
    return [found[place] for place in range(places)]


def _pictures(task: ShownTask, images: Images, rater: str, words: PageWords) -> list[Picture]:
    sides = ("compare.picture_left", "compare.picture_right") if task.shown.question.kind == "compare" else ()
    made = []
    for place, (item, name) in enumerate(zip(task.shown.order, task.shown.code_names)):
        alt = words(sides[place], name=name) if sides else name
        screen, full = (images.address(item, size, to=rater) for size in ("screen", "full"))
        made.append(Picture(name, alt, screen, full))
    return made


def _asked(criterion: Criterion, kind: str, words: PageWords) -> dict[str, Any]:
    """A criterion as it is asked: its question, and a key on the keyboard for each level."""
    scale = criterion.scale
    levels = scale.levels if scale else ()
    labels = scale.labels if scale and scale.labels else ("",) * len(levels)
    alone = kind in ("rate", "flag", "checklist", "regions", "text")
    question = criterion.rate_question if alone else criterion.question
    return {
        "title": criterion.title,
        "question": question or words(f"{kind}.{'drag' if kind == 'rank' else 'which'}"),
        "rubric": criterion.rubric,
        "scale": scale,
        "levels": [
            {"value": f"{value:g}", "label": label, "key": _key(value, place)}
            for place, (value, label) in enumerate(zip(levels, labels))
        ],
        "row": len(levels) > _NUMBERED,
    }


def _references(criterion: str, request: Request) -> list[dict[str, Any]]:
    """The pictures of the reference panel for a criterion, lowest level first."""
    images: Images = request.app.state.images
    found = [one for one in _studio(request).settings.references if one.criterion == criterion]
    return [
        {"address": images.reference_address(one.image, "thumbnail"), "level": f"{one.level:g}", "note": one.note}
        for one in sorted(found, key=lambda one: one.level)
    ]


def _key(value: float, place: int) -> str:
    """The digit that stands for a level: its own value, 0 for ten; else its place."""
    if value == 10:
        return "0"
    number = int(value) if value == int(value) and 0 <= value <= 9 else place + 1
    return str(number) if number <= 9 else ""


def _instructed(task: ShownTask, words: PageWords) -> str:
    """What an attention check says."""
    wanted = task.shown.screen().get("instructed")
    if wanted is None:
        return ""
    if task.shown.question.expected_item is None:
        return words("attention.choose_value", value=f"{wanted:g}")
    return words("attention.choose_picture", name=task.shown.code_names[wanted])


# -- what raters do -------------------------------------------------------------------------------------------


@router.post("/consent")
def consent(session: RaterSession, request: Request, fields: Fields) -> Response:
    """Agree to the consent text."""
    _studio(request).consent(session.rater, texts(fields, ["version"])["version"])
    return _back()


@router.post("/screener")
def screener(session: RaterSession, request: Request, fields: Fields) -> Response:
    """Answer the screener."""
    studio = _studio(request)
    questions = studio.settings.screener
    given = texts(fields, [f"question{k}" for k in range(len(questions))])
    try:
        studio.screener(session.rater, {question.id: text for question, text in zip(questions, given.values())})
    except BadValue:
        return _back("missing")
    return _back()


@router.post("/profile")
def profile(session: RaterSession, request: Request, fields: Fields) -> Response:
    """Say something about oneself."""
    studio = _studio(request)
    names = studio.settings.profile
    given = texts(fields, [f"field{k}" for k in range(len(names))])
    studio.profile(session.rater, dict(zip(names, given.values())))
    return _back()


@router.post("/guidelines")
def guidelines(session: RaterSession, request: Request) -> Response:
    """The guidelines are read."""
    try:
        _studio(request).read_guidelines(session.rater)
    except TooEarly:
        return _back("wait")
    return _back()


@router.post("/tasks/{task}/ready")
def ready(task: TaskId, session: RaterSession, request: Request) -> Response:
    """The prompt is read."""
    try:
        _studio(request).ready(session.rater, task)
    except TooEarly:
        return _back("wait")
    return _back()


@router.post("/tasks/{task}/answer")
def answer(task: TaskId, session: RaterSession, request: Request, fields: Fields) -> Response:
    """Save an answer, and come back to what is next. A form that was sent before changes nothing."""
    studio = _studio(request)
    try:
        given = given_of(fields, studio.question(session.rater, task))
        key = texts(fields, ["key"])["key"]
        studio.submit(session.rater, task, given, key=key, client=client_class(request.headers))
    except TooEarly:
        return _back("wait")
    except BadValue:
        return _back("not_accepted")
    except (AlreadyAnswered, KeyReused):
        return _back()
    return _back()


@router.post("/undo")
def undo(session: RaterSession, request: Request) -> Response:
    """Take the last answer back."""
    try:
        _studio(request).undo(session.rater)
    except NothingToUndo:
        return _back()
    return _back("undone")


@router.get("/withdraw")
def withdraw_page(session: RaterSession, request: Request) -> HTMLResponse:
    """Ask once more."""
    return page("rater/withdraw.html", **_shared(_studio(request), session.csrf))


@router.post("/withdraw")
def withdraw(session: RaterSession, request: Request) -> HTMLResponse:
    """Leave the study; the link ends with it."""
    studio = _studio(request)
    studio.withdraw(session.rater)
    return _end(studio, session.rater, Finished("withdrawn"), _shared(studio, session.csrf))


def _shared(studio: Studio, csrf: str) -> dict[str, Any]:
    settings = studio.settings
    return {"language": settings.language, "study": studio.name, "settings": settings, "csrf": csrf, "said": ""}


def _back(note: str = "") -> RedirectResponse:
    return RedirectResponse(f"/?note={note}" if note else "/", status_code=303)


def _studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio
