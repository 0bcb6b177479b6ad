"""The pages of a public arena: consent, the vote, who made the pictures, the board.

/             consent, or on to the vote         /reveal     who made the pictures of a vote that is stored
/vote         the open ballot                    /board      the live board; /board.json the same for scripts
/leave        delete my votes                    /p/...      one picture of one of my ballots
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Request
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from salon.bench import ArenaPlace
from salon.store import Ballot
from salon.study import Item
from salon.web.app import Readiness
from salon.web.arena.state import ArenaState, arena_state
from salon.web.auth import read_form
from salon.web.errors import NoSuchPage
from salon.web.rendering import PageWords, render_page

router = APIRouter()
State = Annotated[ArenaState, Depends(arena_state)]
_PICTURE = re.compile(r"(\d{1,12})-([0-3])-([\w-]{22})\.webp", re.ASCII)
LETTERS = "ABCD"


@router.get("/")
def first_page(request: Request, state: State) -> Response:
    """Consent for who is new; the vote for who is not."""
    if state.voter(request) is not None:
        return RedirectResponse("/vote", status_code=303)
    newcomers = state.newcomers(state.place(request))
    return _page(
        state, "consent", consent=state.web.consent, widget=Markup(state.captcha.widget(newcomers)),
        question=_question(state), fours=state.arena.settings.ballots == "fours",
    )  # fmt: skip


@router.post("/consent")
async def consent(request: Request, state: State) -> Response:
    """Make a voter of who agrees and solved the puzzle."""
    form = {name: value for name, value in (await read_form(request)).items() if isinstance(value, str)}
    response = RedirectResponse("/vote", status_code=303)
    if await run_in_threadpool(state.voter, request) is None:
        state.give_cookie(response, await run_in_threadpool(state.admit, form, state.place(request)))
    return response


@router.get("/vote")
def vote_page(request: Request, state: State) -> Response:
    """The open ballot: nothing on this page tells who made what."""
    voter = state.voter(request)
    if voter is None:
        return RedirectResponse("/", status_code=303)
    ballot = state.next_ballot(voter)
    items = state.items(ballot)
    return _page(
        state, "vote", token=state.token(ballot), pictures=_pictures(state, ballot), prompt=_prompt(state, items),
        question=_question(state), fours=len(items) > 2,
    )  # fmt: skip


@router.post("/vote")
def vote(
    request: Request, state: State, ballot: Annotated[str, Form(max_length=100)],
    answer: Annotated[str, Form(max_length=20)],
) -> Response:  # fmt: skip
    """Store a vote, then show who made the pictures."""
    voter = state.require_voter(request)
    cast = state.cast(ballot, answer, voter, state.place(request))
    return RedirectResponse(f"/reveal?ballot={quote(state.token(cast))}", status_code=303)


@router.get("/reveal")
def reveal_page(request: Request, state: State, ballot: str = "") -> Response:
    """Who made the pictures of a ballot that was voted on; any other goes back to the vote."""
    voter = state.require_voter(request)
    own = state.ballot(ballot, voter)
    if own.voted_at is None or own.answer is None:
        return RedirectResponse("/vote", status_code=303)
    items = state.items(own)
    board = state.board()
    ranks = {} if board is None else {place.generator: place for place in board.places}
    pictures = [
        shown | {"name": item.generator, "alt": item.generator, "place": ranks.get(item.generator or "")}
        for shown, item in zip(_pictures(state, own), items)
    ]
    return _page(
        state, "reveal", pictures=pictures, prompt=_prompt(state, items), fours=len(items) > 2,
        said=_said(state, own.answer, items), question=_question(state),
    )  # fmt: skip


@router.get("/board")
def board_page(request: Request, state: State) -> Response:
    """The live board, for everybody."""
    board = state.board()
    rows = {} if board is None else {"rows": _board_rows(board.places), "others": _board_rows(board.everyone)}
    when = "" if board is None else datetime.fromtimestamp(board.at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    floods = [] if board is None else [(flood, _minute(flood.start)) for flood in board.floods]
    return _page(state, "board", board=board, when=when, floods=floods, voter=state.voter(request) is not None, **rows)


@router.get("/board.json")
def board_json(state: State) -> Response:
    """The live board for scripts."""
    record = state.board_record()
    if record is None:
        raise NoSuchPage("a board is needed", found="none yet", remedy="it is fitted after the first votes")
    return Response(record, media_type="application/json", headers={"Access-Control-Allow-Origin": "*"})


@router.get("/leave")
def leave_page(request: Request, state: State) -> Response:
    """Ask before votes are deleted."""
    return _page(state, "leave", voter=state.voter(request) is not None, gone=None)


@router.post("/leave")
def leave(request: Request, state: State) -> Response:
    """Delete the votes of who asks, and the cookie."""
    gone = state.withdraw(state.require_voter(request))
    response = _page(state, "leave", voter=False, gone=gone)
    response.delete_cookie(state.web.cookie, path="/", httponly=True, samesite="lax", secure=state.web.https)
    return response


@router.get("/p/{name}")
def picture(name: str, request: Request, state: State) -> Response:
    """One picture of one of the voter's ballots."""
    parts = _PICTURE.fullmatch(name)
    if parts is None:
        raise NoSuchPage("a picture of a ballot of yours is needed", found="none here", remedy="load the page again")
    data = state.picture(int(parts[1]), int(parts[2]), parts[3], state.require_voter(request))
    return Response(data, media_type="image/webp", headers={"Cache-Control": "private, max-age=86400, immutable"})


@router.get("/healthz")
def health(request: Request) -> JSONResponse:
    """Can a vote be saved? 503 while it cannot."""
    readiness: Readiness = request.app.state.readiness
    reason = readiness.reason()
    return JSONResponse({"ok": reason is None}, 200 if reason is None else 503)


@router.get("/{path:path}", include_in_schema=False)
def nothing(path: str) -> Response:
    """Whatever else is asked for."""
    raise NoSuchPage("a page of this arena is needed", found="none here", remedy="open the first page")


# -- what pages show ---------------------------------------------------------------------------------------------------


def _page(state: ArenaState, name: str, **values: Any) -> HTMLResponse:
    return render_page(f"arena/{name}.html", language=state.web.language, arena=state.title, **values)


def _question(state: ArenaState) -> str:
    criterion = state.arena.field.criterion
    return criterion.question or PageWords(state.web.language)("compare.which")


def _prompt(state: ArenaState, items: list[Item]) -> str:
    id = items[0].prompt
    prompt = next((prompt for prompt in state.arena.field.prompts if prompt.id == id), None)
    return "" if prompt is None else prompt.view()


def _pictures(state: ArenaState, ballot: Ballot) -> list[dict[str, Any]]:
    t = PageWords(state.web.language)
    two = len(ballot.items) == 2
    shown = []
    for place in range(len(ballot.items)):
        address = state.picture_address(ballot, place)
        side = "compare.picture_left" if place == 0 else "compare.picture_right"
        alt = t(side, name=LETTERS[place]) if two else t("arena.picture", name=LETTERS[place])
        shown.append({"screen": address, "full": address, "name": LETTERS[place], "alt": alt})
    return shown


def _said(state: ArenaState, answer: int, items: list[Item]) -> str:
    """What the voter said, with the names of generators."""
    t = PageWords(state.web.language)
    names = [item.generator or "" for item in items]
    if len(items) == 2:
        words = (t("arena.chose", name=names[0]), t("arena.chose", name=names[1]), t("arena.tied"), t("arena.bad"))
        return words[answer]
    order = [names[int(digit) - 1] for digit in str(answer)] if answer else []
    return t("arena.chose", name=", ".join(order)) if order else t("arena.bad")


def _minute(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _board_rows(places: tuple[ArenaPlace, ...]) -> list[dict[str, Any]]:
    """Rows with the places of their whiskers on a common scale of 0 to 100."""
    ends = [end for place in places for end in _ends(place)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    width = max(high - low, 1e-9)
    rows = []
    for place in places:
        left, right = _ends(place)
        middle = place.points.value if place.points is not None else place.score.value
        rows.append({
            "place": place,
            "points": f"{middle:,.0f}",
            "interval": f"{left:,.0f} to {right:,.0f}",
            "ranks": " to ".join(dict.fromkeys([f"{place.rank_low}", f"{place.rank_high}"])),
            "votes": f"{place.n:,}",
            "left": round(100 * (left - low) / width, 2),
            "right": round(100 * (right - low) / width, 2),
            "middle": round(100 * (middle - low) / width, 2),
        })  # fmt: skip
    return rows


def _ends(place: ArenaPlace) -> tuple[float, float]:
    figure = place.points if place.points is not None else place.score
    low, high = figure.low, figure.high
    return (figure.value if low is None else low, figure.value if high is None else high)
