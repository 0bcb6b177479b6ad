"""The owner's page of raters: invite, pause, remove, erase; links that are shown once; hours and pay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from salon.collect.studio.adjudicate import ADJUDICATORS
from salon.collect.studio.steps import Invitation, RaterProgress
from salon.errors import BadValue
from salon.store.database.connected import now_ms
from salon.web.auth import OwnerSession, Session, studio_of
from salon.web.pages.owner import ago, owner_page
from salon.web.pages.owner_form import Fields, Once, number_of, text_of

router = APIRouter(include_in_schema=False)

MOST_LINKS = 200
"""Links made by one form."""
DEEDS = {"pause": "paused", "resume": "at work again", "remove": "removed"}
"""What a button does, and how that is told."""
_once = Once()


@dataclass(frozen=True)
class Shown:
    """A new link; it is shown on one page and never again."""

    name: str
    address: str


@router.get("/owner/raters")
def raters(session: OwnerSession, request: Request, done: str = "", rater: str = "") -> HTMLResponse:
    """Everyone who was invited."""
    known = any(one.id == rater for one in studio_of(request).database.raters())  # a link may say anything
    said = f"{rater} is {DEEDS[done]}." if done in DEEDS and known else ""
    said = "The rater and everything they gave is erased." if done == "erase" else said
    return _page(session, request, said=said)


@router.post("/owner/invite")
def invite(session: OwnerSession, request: Request, fields: Fields) -> HTMLResponse:
    """New raters of a cohort, each with a link."""
    cohort, number = text_of(fields, "cohort"), number_of(fields, "count", low=1, high=MOST_LINKS)
    studio_of(request).settings.cohort(cohort)
    if not _once.use(text_of(fields, "once")):
        return _shown_before(session, request)
    made = studio_of(request).invite(cohort, number)
    return _page(session, request, links=[_shown(one, request) for one in made])


@router.post("/owner/adjudicators")
def invite_adjudicator(session: OwnerSession, request: Request, fields: Fields) -> HTMLResponse:
    """A link for somebody who settles disputed questions."""
    if not _once.use(text_of(fields, "once")):
        return _shown_before(session, request)
    made = studio_of(request).invite_adjudicator()
    return _page(session, request, links=[_shown(made, request)])


@router.post("/owner/raters")
def change(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """Pause a rater, let one go on, remove one, or give one a new link."""
    studio, rater, do = studio_of(request), text_of(fields, "rater"), text_of(fields, "do")
    if do == "reinvite":
        if not _once.use(text_of(fields, "once")):
            return _shown_before(session, request)
        return _page(session, request, links=[_shown(studio.reinvite(rater), request)])
    if do not in DEEDS:
        raise BadValue(f"one of {', '.join(DEEDS)} is needed", found=repr(do))
    getattr(studio, do)(rater)
    return _back(done=do, rater=rater)


@router.get("/owner/erase")
def ask_erase(session: OwnerSession, request: Request, rater: str = "") -> HTMLResponse:
    """Ask once more, and say what goes."""
    state = studio_of(request).database.rater(rater)
    answers = studio_of(request).database.answered().get(state.id, 0)
    return owner_page("erase", session, request, here="raters", rater=state, answers=answers, said="")


@router.post("/owner/erase")
def erase(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """Erase a rater whose name was typed."""
    studio, rater = studio_of(request), text_of(fields, "rater")
    state = studio.database.rater(rater)
    if text_of(fields, "typed").strip() != rater:
        answers = studio.database.answered().get(rater, 0)
        said = "That is not the name. Nothing was erased."
        return owner_page("erase", session, request, 422, here="raters", rater=state, answers=answers, said=said)
    studio.erase(rater)
    return _back(done="erase")


# -- the page -------------------------------------------------------------------------------------------------


def _page(
    session: Session, request: Request, *, said: str = "", links: list[Shown] | None = None, status: int = 200
) -> HTMLResponse:
    studio, now = studio_of(request), now_ms()
    paid = studio.payments()
    rows = [_row(one, now) | {"paid": paid[one.rater]} for one in studio.progress()]
    return owner_page(
        "raters",
        session,
        request,
        status,
        said=said,
        links=links or [],
        rows=rows,
        cohorts=studio.settings.cohorts,
        wanted={cohort.id: cohort.raters for cohort in studio.settings.cohorts},
        invited={cohort.id: sum(row["cohort"] == cohort.id for row in rows) for cohort in studio.settings.cohorts},
        code=studio.settings.completion_code,
        pays=any((studio.settings.pay.per_hour, studio.settings.pay.per_answer, studio.settings.pay.flat)),
        sum_paid=sum((one.amount for one in paid.values()), start=0),
        currency=studio.settings.pay.currency,
        adjudicators=[one for one in studio.database.raters() if one.cohort == ADJUDICATORS],
        once=Once.new(),
        most=MOST_LINKS,
    )


def _row(one: RaterProgress, now: int) -> dict[str, Any]:
    return vars(one) | {"total": max(one.total, one.answered), "last": ago(one.last_at, now), "once": Once.new()}


def _shown(made: Invitation, request: Request) -> Shown:
    return Shown(made.rater, f"{request.app.state.settings.address}/enter/{made.token}")


def _shown_before(session: Session, request: Request) -> HTMLResponse:
    said = "These links were shown before, and a link is shown only once. Whoever has none can be given a new one."
    return _page(session, request, said=said, status=409)


def _back(**told: str) -> RedirectResponse:
    return RedirectResponse(f"/owner/raters?{urlencode(told)}", 303)
