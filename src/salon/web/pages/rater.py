"""A rater's pages: `/` always shows what comes next; forms post and come back to it.

Everything works with plain forms. JavaScript adds countdowns, keys, zoom, and an answer that is sent again, under the
same key, until the studio has said that it is saved.

Names of form fields end in the number of their criterion: `answer0`; ranks and points add their own, `rank0.2`,
`point0.3`. Field values are checked where answers become judgments.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, RedirectResponse, Response

from salon.collect import (
    EntryStep,
    MergedOrder,
    NextPair,
    NoMoreQuestions,
    PairAnswer,
    RaterQuestion,
    RawAnswer,
    Rest,
    ShownTask,
    Studio,
    StudioStep,
    TooEarly,
    criterion_question,
    is_merge_ranking,
    most_questions,
    next_merge_step,
)
from salon.errors import BadValue
from salon.store import AlreadyAnswered, KeyReused, NothingToUndo
from salon.study import Criterion
from salon.web.api_rater import client_class
from salon.web.auth import RaterSession, get_auth, get_studio, read_form
from salon.web.images import Images
from salon.web.pages.panel import render_visit_end
from salon.web.rendering import PageWords, render_page

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
    studio = get_studio(request)
    if studio.is_new(session.rater):
        return _welcome(studio, session.rater, _shared(studio, session.csrf))
    step = studio.next(session.rater)
    shared = _shared(studio, session.csrf) | {"said": _note_words(note, step, PageWords(studio.settings.language))}
    if isinstance(step, EntryStep):
        from_panel = studio.panel is not None and studio.database.visitor(session.rater) is not None
        return render_page(f"rater/{step.what}.html", step=step, from_panel=from_panel, **shared)
    if isinstance(step, Rest):
        until = datetime.fromtimestamp(step.until / 1000, UTC)
        return render_page("rater/rest.html", until=until, **shared)
    if isinstance(step, NoMoreQuestions):
        return _end(request, session.rater, step, shared)
    if step.stage == "prompt":
        return render_page("rater/prompt.html", task=step, **shared)
    return render_page("rater/task.html", **shared, **screen_values(step, request, session.rater))


def _welcome(studio: Studio, rater: str, shared: dict[str, Any]) -> HTMLResponse:
    """What a rater is told who opens the link for the first time."""
    work = studio.workload(rater)
    cohort = studio.settings.cohort(work.cohort)
    criteria = dict.fromkeys(id for phase in cohort.phases for id in phase.criteria)
    protocols = {phase.protocol for phase in cohort.phases}
    paired = [
        phase
        for phase in cohort.phases
        if phase.protocol == "compare" or (phase.protocol, phase.ranking) == ("rank", "merge")
    ]
    offered = {
        ("←", "compare.left"): bool(paired),
        ("→", "compare.right"): bool(paired),
        ("↓", "compare.tie"): any(phase.ties for phase in paired),
        ("B", "compare.both_bad"): any(phase.both_bad for phase in paired),
        ("1", "welcome.digits"): bool(protocols & {"rate", "flag", "choose", "checklist"}),
        ("Z", "answer.zoom"): True,
        ("U", "answer.undo"): True,
    }
    keys = [key for key, is_offered in offered.items() if is_offered]
    return render_page(
        "rater/welcome.html",
        questions=work.questions,
        minutes=max(1, round(work.minutes)),
        titles=[studio.criteria[id].title for id in criteria],
        keys=keys,
        **shared,
    )


def _note_words(note: str, step: StudioStep, words: PageWords) -> str:
    """What the last form has to be told, in one sentence."""
    if note == "wait":
        left = (step.ready_left or step.wait) if isinstance(step, ShownTask) else getattr(step, "seconds_left", 0)
        return words("answer.wait", seconds=math.ceil(left)) if left > 0 else ""
    if isinstance(step, EntryStep):
        return words("screener.answer_all") if note == "missing" else ""
    return words(f"answer.{note}") if note in NOTES else ""


def _end(request: Request, rater: str, step: NoMoreQuestions, shared: dict[str, Any]) -> HTMLResponse:
    studio = get_studio(request)
    visit = studio.end_of_visit(rater, step.reason)
    if visit is not None:
        return render_visit_end(request, visit, **shared)
    whole = step.reason in ("done", "enough answers")
    pays = studio.settings.pay
    shows = whole and any((pays.per_hour, pays.per_answer, pays.flat))
    code = studio.settings.completion_code if whole else None
    earned = studio.earned(rater) if shows else None
    return render_page("rater/end.html", reason=step.reason, code=code, earned=earned, **shared)


# -- what raters do -------------------------------------------------------------------------------------------


@router.post("/welcome")
def welcome(session: RaterSession, request: Request) -> Response:
    """The welcome page is read."""
    get_studio(request).welcome(session.rater)
    return _redirect_home(request)


@router.post("/consent")
def consent(session: RaterSession, request: Request, fields: Fields) -> Response:
    """Agree to the consent text."""
    get_studio(request).consent(session.rater, form_texts(fields, ["version"])["version"])
    return _redirect_home(request)


@router.post("/screener")
def screener(session: RaterSession, request: Request, fields: Fields) -> Response:
    """Answer the screener. Fields bear the ids of questions: a form from before a change says nothing else by place."""
    studio = get_studio(request)
    ids = [question.id for question in studio.settings.screener]
    answers = form_texts(fields, [f"question.{id}" for id in ids])
    try:
        studio.screener(session.rater, dict(zip(ids, answers.values())))
    except BadValue:
        return _redirect_home(request, "missing")
    return _redirect_home(request)


@router.post("/profile")
def profile(session: RaterSession, request: Request, fields: Fields) -> Response:
    """Say something about oneself; a form that lacks a field, from before a change, is shown as it is now."""
    studio = get_studio(request)
    names = studio.settings.profile
    values = form_texts(fields, [f"field.{name}" for name in names])
    if any(name not in fields for name in values):
        return _redirect_home(request)
    studio.profile(session.rater, dict(zip(names, values.values())))
    return _redirect_home(request)


@router.post("/guidelines")
def guidelines(session: RaterSession, request: Request) -> Response:
    """The guidelines are read."""
    try:
        get_studio(request).read_guidelines(session.rater)
    except TooEarly:
        return _redirect_home(request, "wait")
    return _redirect_home(request)


@router.post("/tasks/{task}/ready")
def ready(task: TaskId, session: RaterSession, request: Request) -> Response:
    """The prompt is read."""
    try:
        get_studio(request).ready(session.rater, task)
    except TooEarly:
        return _redirect_home(request, "wait")
    return _redirect_home(request)


@router.post("/tasks/{task}/pair")
def pair(task: TaskId, session: RaterSession, request: Request, fields: Fields) -> Response:
    """Keep the answer to one pair of a ranking. A form that was sent before changes nothing."""
    try:
        before, pair_answer = read_pair(fields)
        get_studio(request).answer_pair(session.rater, task, before, pair_answer)
    except TooEarly:
        return _redirect_home(request, "wait")
    except BadValue:
        return _redirect_home(request, "not_accepted")
    return _redirect_home(request)


@router.post("/tasks/{task}/answer")
def answer(task: TaskId, session: RaterSession, request: Request, fields: Fields) -> Response:
    """Save an answer, and come back to what is next. A form that was sent before changes nothing."""
    studio = get_studio(request)
    try:
        form_answer = read_answer(fields, studio.question(session.rater, task))
        key = form_texts(fields, ["key"])["key"]
        studio.submit(session.rater, task, form_answer, key=key, client=client_class(request.headers))
    except TooEarly:
        return _redirect_home(request, "wait")
    except BadValue:
        return _redirect_home(request, "not_accepted")
    except (AlreadyAnswered, KeyReused):
        return _redirect_home(request)
    return _redirect_home(request)


@router.post("/undo")
def undo(session: RaterSession, request: Request) -> Response:
    """Take the last answer back."""
    try:
        get_studio(request).undo(session.rater)
    except NothingToUndo:
        return _redirect_home(request)
    return _redirect_home(request, "undone")


@router.get("/withdraw")
def withdraw_page(session: RaterSession, request: Request) -> HTMLResponse:
    """Ask once more."""
    return render_page("rater/withdraw.html", **_shared(get_studio(request), session.csrf))


@router.post("/withdraw")
def withdraw(session: RaterSession, request: Request) -> HTMLResponse:
    """Leave the study; the link ends with it."""
    studio = get_studio(request)
    studio.withdraw(session.rater)
    response = _end(request, session.rater, NoMoreQuestions("withdrawn"), _shared(studio, session.csrf))
    get_auth(request).take_cookie(response)
    return response


@router.post("/leave")
def leave(session: RaterSession, request: Request) -> HTMLResponse:
    """Stop for now: this browser forgets who was here and what it showed; the link stays good."""
    response = render_page("rater/left.html", **_shared(get_studio(request), session.csrf))
    get_auth(request).take_cookie(response)
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response


def _shared(studio: Studio, csrf: str) -> dict[str, Any]:
    settings = studio.settings
    return {"language": settings.language, "study": studio.name, "settings": settings, "csrf": csrf, "said": ""}


def _redirect_home(request: Request, note: str = "") -> Response:
    """Back to what comes next. Our own script is told where that is: a browser follows redirects without it."""
    there = f"/?note={note}" if note else "/"
    if SCRIPT in request.headers:
        return Response(status_code=204, headers={"X-Next": there})
    return RedirectResponse(there, status_code=303)


# -- answers from form fields ---------------------------------------------------------------------------------------

_SHORT: dict[str, PairAnswer] = {"1": "first", "2": "second", "t": "tie"}
_MOST_PAIRS = 1000
_POINTS = {"yes": True, "no": False, "unclear": None}


def read_answer(fields: FormData, question: RaterQuestion) -> RawAnswer:
    """The answer on a form."""
    skipped = _text(fields, "skip") or None
    rationale = _text(fields, "rationale") or None
    if skipped:
        return RawAnswer.parse({"skipped": skipped})
    read = _READERS[question.kind]
    answers = {criterion: read(fields, k, question) for k, criterion in enumerate(question.criteria)}
    return RawAnswer.parse({"answers": answers, "rationale": rationale})


def read_pair(fields: FormData) -> tuple[tuple[PairAnswer, ...], PairAnswer]:
    """The pairs answered before, and the answer to this one; each is one letter on the form: 1, 2, t."""
    before, answer = _text(fields, "pairs"), _text(fields, "pair")
    if not set(before) <= set(_SHORT) or answer not in _SHORT or len(before) > _MOST_PAIRS:
        raise BadValue("answers to pairs are needed", found=repr(before + answer)[:40], where="the ranking")
    return tuple(_SHORT[letter] for letter in before), _SHORT[answer]


def short_pairs(pairs: Sequence[PairAnswer]) -> str:
    """Answers to pairs as a form holds them."""
    return "".join(letter for pair in pairs for letter, answer in _SHORT.items() if answer == pair)


def _read_text(fields: FormData, k: int, question: RaterQuestion) -> str:
    return _text(fields, f"answer{k}")


def _read_number(fields: FormData, k: int, question: RaterQuestion) -> float:
    text = _text(fields, f"answer{k}")
    try:
        return float(text)
    except ValueError:
        raise BadValue("a number is needed", found=repr(text), where="the answer") from None


def _read_place(fields: FormData, k: int, question: RaterQuestion) -> int:
    text = _text(fields, f"answer{k}")
    if not text.isdecimal() or len(text) > 4:
        raise BadValue("a place is needed", found=repr(text), where="the answer")
    return int(text)


def _read_ranks(fields: FormData, k: int, question: RaterQuestion) -> list[list[int]]:
    """Places by the rank written beside them; equal ranks stand together."""
    ranks = [_text(fields, f"rank{k}.{place}") for place in range(len(question.items))]
    if not all(rank.isdecimal() and len(rank) < 4 for rank in ranks):
        raise BadValue("a rank for every picture is needed", found=", ".join(map(repr, ranks)), where="the answer")
    numbers = [int(rank) for rank in ranks]
    return [[place for place, rank in enumerate(numbers) if rank == level] for level in sorted(set(numbers))]


def _read_points(fields: FormData, k: int, question: RaterQuestion) -> list[bool | None]:
    chosen = [_text(fields, f"point{k}.{point}") for point in range(len(question.points))]
    if not all(choice in _POINTS for choice in chosen):
        raise BadValue("an answer for every point is needed", found=", ".join(map(repr, chosen)), where="the answer")
    return [_POINTS[choice] for choice in chosen]


def _read_cells(fields: FormData, k: int, question: RaterQuestion) -> list[int]:
    marked = [text for text in fields.getlist(f"cell{k}") if isinstance(text, str)]
    if not all(text.isdecimal() and len(text) < 4 for text in marked):
        raise BadValue("numbers of cells are needed", found=", ".join(map(repr, marked)), where="the answer")
    return sorted({int(text) for text in marked})


_READERS: dict[str, Any] = {
    "compare": _read_text,
    "rate": _read_number,
    "flag": _read_number,
    "choose": _read_place,
    "rank": _read_ranks,
    "checklist": _read_points,
    "regions": _read_cells,
    "text": _read_text,
}


def form_texts(fields: FormData, names: Sequence[str]) -> dict[str, str]:
    """Some fields as text; "" where one is missing or a file."""
    return {name: _text(fields, name) for name in names}


def _text(fields: FormData, name: str) -> str:
    value = fields.get(name, "")
    return value if isinstance(value, str) else ""


# -- the page of a question -----------------------------------------------------------------------------------------

_NUMBERED = 7
"""Scales with more levels stand in one narrow row."""


@dataclass(frozen=True)
class ScreenPicture:
    """One place on the screen."""

    name: str
    alt: str
    screen: str | None
    full: str | None


def screen_values(task: ShownTask, request: Request, rater: str) -> dict[str, Any]:
    """All that the page of a question tells."""
    studio: Studio = request.app.state.studio
    images: Images = request.app.state.images
    words = PageWords(studio.settings.language)
    question, phase = task.shown.question, task.phase
    rationale = phase.rationale if phase else "none"
    merging = _merge_step(task)
    return {
        "task": task,
        "kind": "merge" if isinstance(merging, NextPair) else question.kind,
        "key": secrets.token_urlsafe(18),
        "pictures": _pictures(task, images, rater, words),
        "asked": [
            _criterion_values(criterion, question.kind, words)
            | {"references": _references(criterion.id, studio, images, rater)}
            for criterion in task.criteria
        ],
        "ties": bool(phase and phase.ties),
        "both_bad": bool(phase and phase.both_bad),
        "rationale": rationale,
        "direct": len(task.criteria) == 1 and rationale == "none",
        "instructed": _instructed(task, words),
        "merging": merging,
        "sides": _sides(merging, task.id + len(task.pairs)),
        "ranks": _ranks(merging, len(question.items)),
        "pairs": short_pairs(task.pairs),
        "most_pairs": most_questions(len(question.items)),
    }


def _merge_step(task: ShownTask) -> NextPair | MergedOrder | None:
    """The next pair of a ranking by pairs, or the order they settle; None for all other screens."""
    if not is_merge_ranking(task.shown.question, task.phase):
        return None
    return next_merge_step(len(task.shown.order), task.pairs)


def _sides(merging: NextPair | MergedOrder | None, turn: int) -> list[tuple[int, str]]:
    """The two places of a pair and what choosing each says, left and right by turns: sides must not tell."""
    if not isinstance(merging, NextPair):
        return []
    sides = [(merging.first, "1"), (merging.second, "2")]
    return sides[::-1] if turn % 2 else sides


def _ranks(merging: NextPair | MergedOrder | None, places: int) -> list[int]:
    """The rank that stands beside each place at first."""
    if not isinstance(merging, MergedOrder):
        return list(range(1, places + 1))
    rank_of = {place: rank for rank, tier in enumerate(merging.tiers, 1) for place in tier}
    return [rank_of[place] for place in range(places)]


def _pictures(task: ShownTask, images: Images, rater: str, words: PageWords) -> list[ScreenPicture]:
    sides = ("compare.picture_left", "compare.picture_right") if task.shown.question.kind == "compare" else ()
    pictures = []
    for place, (item, name) in enumerate(zip(task.shown.order, task.shown.code_names)):
        alt = words(sides[place], name=name) if sides else name
        screen, full = (images.rater_address(item, size, rater=rater, task=task.id) for size in ("screen", "full"))
        pictures.append(ScreenPicture(name, alt, screen, full))
    return pictures


def _criterion_values(criterion: Criterion, kind: str, words: PageWords) -> dict[str, Any]:
    """A criterion as it is asked: its question, and a key on the keyboard for each level."""
    scale = criterion.scale
    levels = scale.levels if scale else ()
    labels = scale.labels if scale and scale.labels else ("",) * len(levels)
    return {
        "title": criterion.title,
        "question": criterion_question(criterion, kind, words),
        "rubric": criterion.rubric,
        "scale": scale,
        "levels": [
            {"value": f"{value:g}", "label": label, "key": _key(value, place)}
            for place, (value, label) in enumerate(zip(levels, labels))
        ],
        "row": len(levels) > _NUMBERED,
    }


def _references(criterion: str, studio: Studio, images: Images, rater: str) -> list[dict[str, Any]]:
    """The pictures of the reference panel for a criterion, lowest level first."""
    panel = [reference for reference in studio.settings.references if reference.criterion == criterion]
    return [
        {
            "address": images.reference_address(reference.image, "thumbnail", rater=rater),
            "level": f"{reference.level:g}",
            "note": reference.note,
        }
        for reference in sorted(panel, key=lambda reference: reference.level)
    ]


def _key(value: float, place: int) -> str:
    """The digit that stands for a level: its own value, 0 for ten; else its place."""
    if value == 10:
        return "0"
    number = int(value) if value == int(value) and 0 <= value <= 9 else place + 1
    return str(number) if number <= 9 else ""


def _instructed(task: ShownTask, words: PageWords) -> str:
    """What an attention check says."""
    instructed = task.shown.screen().get("instructed")
    if instructed is None:
        return ""
    if task.shown.question.expected_item is None:
        return words("attention.choose_value", value=f"{instructed:g}")
    return words("attention.choose_picture", name=task.shown.code_names[instructed])
