"""The adjudicator's pages: what raters are split on, one question after the other, and what was ruled.

Pictures stand under numbers in an order that no id decides; nothing here names a generator, a file or a rater. The
owner may look on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from salon.collect import (
    Agreement,
    Disagreement,
    Disputes,
    StoredRuling,
    Studio,
    adjudicator_name,
    dispute_key,
    list_rulings,
    screen_order,
)
from salon.errors import BadValue
from salon.report import percent, with_interval
from salon.store import now_ms
from salon.web.auth import Session, get_studio, require_session
from salon.web.errors import NoSuchPage, NotAllowed
from salon.web.images import Images
from salon.web.pages.owner import age
from salon.web.pages.owner_forms import Fields, FormKeys, form_text
from salon.web.rendering import PageWords, render_page

router = APIRouter(include_in_schema=False)

NOTES = {"saved": "settle.saved", "undone": "settle.undone"}
MOST_SHOWN = 24
"""Disputes on the first page."""


def _may_look(session: Annotated[Session, Depends(require_session)]) -> Session:
    if session.role not in ("adjudicator", "owner"):
        raise NotAllowed("an adjudicator's link is needed for this", found=f"the link of a {session.role}")
    return session


def _may_rule(session: Annotated[Session, Depends(_may_look)]) -> Session:
    if session.role != "adjudicator":
        raise NotAllowed("an adjudicator's link is needed to rule", found=f"the link of the {session.role}")
    return session


LookingSession = Annotated[Session, Depends(_may_look)]
RulingSession = Annotated[Session, Depends(_may_rule)]
Key = Annotated[str, Query(pattern="^[0-9a-f]{20}$")]


@dataclass(frozen=True)
class RulingOption:
    """One answer that may be ruled."""

    value: str
    """What the form sends: a place on the screen, a word, or a value."""
    label: str
    votes: int


@dataclass(frozen=True)
class DisputeCase:
    """A disputed question as the page shows it."""

    key: str
    criterion: str
    question: str
    prompt: str | None
    pictures: list[dict[str, str | None]]
    options: list[RulingOption]
    all: int


# -- looking --------------------------------------------------------------------------------------------------


@router.get("/adjudicate")
def disputes(session: LookingSession, request: Request, note: str = "") -> HTMLResponse:
    """All disputed questions, and agreement before and after the rulings."""
    studio, t = get_studio(request), _words(request)
    live, rulings = studio.live_check(), list_rulings(studio.database)
    all_disputes = live.figures.disputes if live.figures else Disputes()
    left = _open(all_disputes, rulings)
    after = {row.criterion: row for row in all_disputes.after}
    agreement = [
        {
            "criterion": studio.criteria[row.criterion].title,
            "questions": row.questions,
            "answers": row.answers,
            "kappa": [_kappa(row), _kappa(after.get(row.criterion))],
            "final": [_share(row), _share(after.get(row.criterion))],
        }
        for row in all_disputes.before
    ]
    return _page(
        "disputes",
        session,
        request,
        said=t(NOTES[note]) if note in NOTES else "",
        cases=[_case(dispute, request, t, "thumbnail") for dispute in left[:MOST_SHOWN]],
        left=len(left) + all_disputes.found - len(all_disputes.open),
        found=all_disputes.found,
        ready=live.figures is not None,
        rows=agreement,
        rulings=[_ruling_values(dispute, request, t, session) for dispute in reversed(rulings)],
        age=age(live, now_ms()),
    )


@router.get("/adjudicate/case")
def case(session: LookingSession, request: Request, key: Key) -> HTMLResponse:
    """One disputed question, with the answers it may be given."""
    dispute = _dispute(request, key)
    return _page("case", session, request, case=_case(dispute, request, _words(request), "screen"), once=FormKeys.new())


# -- ruling ---------------------------------------------------------------------------------------------------


@router.post("/adjudicate/settle")
def settle(session: RulingSession, request: Request, fields: Fields) -> Response:
    """Give a disputed question its final answer."""
    dispute = _dispute(request, form_text(fields, "key"))
    answer = _item(dispute, form_text(fields, "answer"))
    get_studio(request).settle(_name(session), dispute, answer, key=_form_key(fields))
    return _redirect_to_next(request)


@router.post("/adjudicate/drop")
def drop(session: RulingSession, request: Request, fields: Fields) -> Response:
    """Take an item out of what is exported."""
    dispute = _dispute(request, form_text(fields, "key"))
    place = form_text(fields, "place")
    item = _item(dispute, place)
    if item not in dispute.items:
        raise BadValue("a picture of this question is needed", found=repr(place))
    get_studio(request).drop(_name(session), dispute.criterion, item, key=_form_key(fields))
    return _redirect_to_next(request)


@router.post("/adjudicate/undo")
def undo(session: RulingSession, request: Request, fields: Fields) -> Response:
    """Take a ruling of one's own back."""
    number = form_text(fields, "ruling")
    if not number.isascii() or not number.isdigit() or len(number) > 9:
        raise BadValue("the number of a ruling is needed", found=repr(number))
    get_studio(request).take_ruling_back(_name(session), int(number))
    return RedirectResponse("/adjudicate?note=undone", 303)


def _form_key(fields: Fields) -> str:
    """The form's own key: sent twice, it rules once."""
    return f"ruling-{form_text(fields, 'once', most=40)}"


def _redirect_to_next(request: Request) -> RedirectResponse:
    """To the next open question, or back to all."""
    studio = get_studio(request)
    figures = studio.live_check().figures
    left = _open(figures.disputes if figures else Disputes(), list_rulings(studio.database))
    if not left:
        return RedirectResponse("/adjudicate?note=saved", 303)
    return RedirectResponse(f"/adjudicate/case?key={dispute_key(left[0].criterion, left[0].items)}", 303)


# -- from figures to pages ------------------------------------------------------------------------------------


def _open(all_disputes: Disputes, rulings: list[StoredRuling]) -> list[Disagreement]:
    """Disputes that no ruling settles and whose items are all still in the study."""
    settled = {
        dispute_key(entry.ruling.criterion, entry.ruling.items) for entry in rulings if entry.ruling.answer is not None
    }
    dropped = {item for entry in rulings if entry.ruling.answer is None for item in entry.ruling.items}
    return [
        entry
        for entry in all_disputes.open
        if dispute_key(entry.criterion, entry.items) not in settled and not dropped.intersection(entry.items)
    ]


def _dispute(request: Request, key: str) -> Disagreement:
    studio = get_studio(request)
    figures = studio.live_check().figures
    open_ones = _open(figures.disputes if figures else Disputes(), list_rulings(studio.database))
    match = next((dispute for dispute in open_ones if dispute_key(dispute.criterion, dispute.items) == key), None)
    if match is None:
        raise NoSuchPage(
            "an open question is needed", found="none, or one that is settled", remedy="look at all of them"
        )
    return match


def _item(dispute: Disagreement, form_value: str) -> str:
    """What a form sent as an answer: a place on the screen stands for its item, and ids are not known here."""
    order = screen_order(dispute)
    if form_value in order:
        raise BadValue("a place on the screen is needed", found=repr(form_value))
    places = {str(place): item for place, item in enumerate(order)} if len(order) > 1 else {}
    if form_value in places:
        return places[form_value]
    return order[0] if form_value == "item" and len(order) == 1 else form_value


def _case(dispute: Disagreement, request: Request, t: PageWords, size: Any) -> DisputeCase:
    studio = get_studio(request)
    images: Images = request.app.state.images
    order, criterion = screen_order(dispute), studio.criteria[dispute.criterion]
    alone = len(order) == 1
    prompts = {studio.items[item].prompt for item in order if item in studio.items}
    prompt = prompts.pop() if len(prompts) == 1 else None
    return DisputeCase(
        key=dispute_key(dispute.criterion, dispute.items),
        criterion=criterion.title,
        question=(criterion.rate_question if alone else criterion.question) or criterion.title,
        prompt=studio.prompts[prompt].view(()) if prompt in studio.prompts else None,
        pictures=[
            {"name": t("settle.picture", number=place + 1), "shown": images.address(item, size)}
            | {"full": images.address(item, "full")}
            for place, item in enumerate(order)
        ],
        options=[_option(dispute, answer, order, studio, t) for answer in studio.options(dispute)],
        all=sum(dispute.votes.values()),
    )


def _option(dispute: Disagreement, answer: str, order: tuple[str, ...], studio: Studio, t: PageWords) -> RulingOption:
    votes = dispute.votes.get(answer, 0)
    if answer in order and len(order) > 1:
        place = order.index(answer)
        return RulingOption(str(place), t("settle.picture", number=place + 1), votes)
    if answer in ("tie", "both_bad"):
        return RulingOption(answer, t("settle.tie") if answer == "tie" else t("settle.both_bad"), votes)
    scale = studio.criteria[dispute.criterion].scale
    labels = dict(zip((f"{level:g}" for level in scale.levels), scale.labels)) if scale and scale.labels else {}
    return RulingOption(answer, f"{answer} {labels.get(answer, '')}".strip(), votes)


def _kappa(row: Agreement | None) -> str:
    return with_interval(row.kappa if row else None, None)


def _share(row: Agreement | None) -> str:
    return "–" if row is None else percent(row.with_final)


def _ruling_values(entry: StoredRuling, request: Request, t: PageWords, session: Session) -> dict[str, Any]:
    studio, images = get_studio(request), request.app.state.images
    ruling = entry.ruling
    dispute = Disagreement(ruling.criterion, ruling.items, {}, 0.0)
    order = screen_order(dispute)
    label = t("settle.dropped")
    if ruling.answer is not None:
        label = _option(dispute, ruling.answer, order, studio, t).label
    return {
        "id": entry.id,
        "by": entry.by,
        "at": datetime.fromtimestamp(entry.at / 1000, UTC).strftime("%Y-%m-%d %H:%M"),
        "criterion": studio.criteria[ruling.criterion].title,
        "said": label,
        "shown": [images.address(item, "thumbnail") for item in order],
        "own": session.role == "adjudicator" and entry.by == _name(session),
    }


def _page(name: str, session: Session, request: Request, **values: object) -> HTMLResponse:
    studio = get_studio(request)
    shared = {"study": studio.name, "csrf": session.csrf, "rules": session.role == "adjudicator"}
    return render_page(f"adjudicate/{name}.html", language=studio.settings.language, status=200, **(shared | values))


def _name(session: Session) -> str:
    return adjudicator_name(session.who.link)


def _words(request: Request) -> PageWords:
    return PageWords(get_studio(request).settings.language)
