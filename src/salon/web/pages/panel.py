"""The way in for raters of a panel, and their way back: `/panel?PROLIFIC_PID=...&STUDY_ID=...&SESSION_ID=...`.

The address decides only who somebody is. What a visit comes to is the studio's decision, and the page that tells it is
the only one with the code or the address of an outcome. After the way in no address holds an id of the panel.

MTurk shows the first page in a frame of its own. No page of a studio may be shown in a frame, but for this one: it
opens the study in a new tab and holds, once the visit has ended, the form that submits the assignment.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from salon.collect import BadPanelLink, Outcome, PanelSettings, Studio, VisitEnd, read_panel_ids, visit_end
from salon.store import BadLink, Visitor
from salon.store.database.tables import LEFT_OUT
from salon.web.auth import RaterSession, get_auth, get_studio, redirect_into
from salon.web.errors import NoSuchPage
from salon.web.guard import address_of, headers_for_sites
from salon.web.limits import MakeBuckets, make_buckets
from salon.web.rendering import PageWords, render_page
from salon.web.settings import WebSettings

router = APIRouter(include_in_schema=False)

OPEN = "open"
"""Parameter by which the page in MTurk's frame opens the study itself."""


class PanelEntry:
    """How many new visitors an address may bring, and the addresses that lead into one cohort."""

    def __init__(self, settings: WebSettings, secret: bytes, make_buckets: MakeBuckets = make_buckets) -> None:
        self._secret = secret
        self.newcomers = make_buckets("newcomer", settings.visitors_rate, settings.visitors_burst)

    def key(self, cohort: str) -> str:
        """What stands behind /panel/ for a cohort. It cannot be guessed: visitors do not choose their cohort."""
        return hmac.new(self._secret, f"panel cohort\0{cohort}".encode(), hashlib.sha256).hexdigest()[:20]

    def cohort(self, key: str, studio: Studio) -> str:
        """The cohort of a key; NoSuchPage for any other."""
        for cohort in studio.settings.cohorts:
            if hmac.compare_digest(self.key(cohort.id).encode(), key.encode("utf-8", "replace")):
                return cohort.id
        raise _closed()


@router.get("/panel")
def panel(request: Request) -> Response:
    """Somebody comes from the panel."""
    return _come_in(request, None)


@router.get("/panel/{key}")
def panel_of_cohort(key: str, request: Request) -> Response:
    """Somebody comes from the panel into one cohort."""
    return _come_in(request, get_entry(request).cohort(key, get_studio(request)))


@router.post("/panel/refuse")
def refuse(session: RaterSession, request: Request) -> Response:
    """A visitor does not agree to the consent text."""
    get_studio(request).refuse_consent(session.rater)
    return RedirectResponse("/", status_code=303)


def get_entry(request: Request) -> PanelEntry:
    """The way in from panels of the app."""
    entry: PanelEntry = request.app.state.panel_entry
    return entry


def _closed() -> NoSuchPage:
    return NoSuchPage("a page of this studio is needed", found="none here", remedy="open your link again")


def _come_in(request: Request, cohort: str | None) -> Response:
    studio = get_studio(request)
    settings = studio.panel
    if settings is None:
        raise _closed()
    try:
        ids = read_panel_ids(settings, request.query_params.multi_items())
    except BadPanelLink as error:
        return _bad_link(request, error, settings)
    if studio.database.visitor_of(ids.participant) is None:
        get_entry(request).newcomers.take(address_of(request.scope))
    visitor = studio.admit(ids, cohort)
    if visitor is None:
        return _leave(request, visit_end(studio.settings, "over_quota", ids))
    if settings.kind == "mturk" and ids.submit_to is not None and OPEN not in request.query_params:
        return _in_frame(request, studio, visitor, settings)
    auth = get_auth(request)
    try:
        return redirect_into(auth, auth.enter_link(visitor.link))
    except BadLink:
        if visitor.status not in LEFT_OUT:  # removed and brought back since
            return redirect_into(auth, auth.enter_link(studio.database.renew_visit(visitor.rater)))
        end = studio.end_of_visit(visitor.rater, visitor.status)
        if end is None:
            raise
        return _leave(request, end)


# -- pages -------------------------------------------------------------------------------------------------------------


def render_visit_end(request: Request, end: VisitEnd, **shared: Any) -> HTMLResponse:
    """The last page of a visit: how it ended, the code, and the way back."""
    studio = get_studio(request)
    if end.submit_to is not None and studio.panel is not None:
        request.state.own_headers |= headers_for_sites(studio.panel.submit_to)
    return render_page("rater/visit_end.html", end=end, tools=bool(shared.get("csrf")), **shared | _words(studio))


def _leave(request: Request, end: VisitEnd) -> HTMLResponse:
    """The last page, for somebody without a session."""
    studio = get_studio(request)
    return render_visit_end(request, end, csrf="", settings=studio.settings, said="")


def _in_frame(request: Request, studio: Studio, visitor: Visitor, settings: PanelSettings) -> HTMLResponse:
    """What MTurk shows in its frame: the way into the study, and then the form that submits the assignment."""
    request.state.own_headers |= headers_for_sites(settings.submit_to, framed=True)
    end = _ended(studio, visitor)
    address = f"{request.url.path}?{request.url.query}&{OPEN}=1"
    return render_page("rater/visit_frame.html", end=end, address=address, csrf="", said="", **_words(studio))


def _ended(studio: Studio, visitor: Visitor) -> VisitEnd | None:
    """How a visit ended, as far as it is settled already: nobody is asked anything here."""
    outcome: Outcome | None = visitor.outcome  # type: ignore[assignment]  # the database holds no other word
    return None if outcome is None else visit_end(studio.settings, outcome, visitor.ids, visitor.personal)


def _bad_link(request: Request, error: BadPanelLink, settings: PanelSettings) -> HTMLResponse:
    """What is wrong with the address, in the words of raters; a preview in MTurk's frame must be seen in it."""
    studio = get_studio(request)
    if settings.kind == "mturk":
        request.state.own_headers |= headers_for_sites(settings.submit_to, framed=True)
    words = PageWords(studio.settings.language)
    title, sentence = words(f"panel.{error.fault}_title"), words(f"panel.{error.fault}_words")
    if error.fault == "preview":
        return render_page("message.html", language=studio.settings.language, title=title, words=sentence)
    return render_page(
        "message.html",
        language=studio.settings.language,
        status=400,
        title=title,
        words=sentence,
        said=f"{error.needed[:1].upper()}{error.needed[1:]}; found {error.found}.",
        code=400,
        request_id=request.state.request_id,
    )


def _words(studio: Studio) -> dict[str, Any]:
    return {"language": studio.settings.language, "study": studio.name}
