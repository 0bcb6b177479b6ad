"""The owner's pages: how the study goes, who is at work, what there is to look at, and who did what.

Every page is whole without JavaScript; with it, the parts marked `data-live` are fetched anew every few seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from salon.collect.studio.steps import RaterProgress
from salon.collect.studio.studio import Studio
from salon.report.numbers import count, duration
from salon.store.database import AuditLine
from salon.store.database.connected import now_ms
from salon.web.auth import OwnerSession, Session, studio_of
from salon.web.images import Images
from salon.web.pages.owner_figures import (
    BAR,
    GAP,
    HEIGHT,
    HOURS,
    age,
    criterion_lines,
    flag_lines,
    hour_bars,
    panel_lines,
)
from salon.web.pages.render import page

router = APIRouter(include_in_schema=False)

RECENT_MS = 15 * 60_000
"""Who answered within this is at work."""
MOST_ROWS = 100
"""Raters shown on the first page."""
PROMPTS_A_PAGE = 12
LINES_A_PAGE = 100


@router.get("/owner")
def overview(session: OwnerSession, request: Request) -> HTMLResponse:
    """How far everyone is, and what the answers say so far."""
    studio, now = studio_of(request), now_ms()
    live, progress = studio.live_check(), studio.progress()
    newest = sorted(progress, key=lambda one: -(one.last_at or 0))[:MOST_ROWS]
    return owner_page(
        "overview",
        session,
        request,
        totals=_totals(progress, now),
        criteria=[(criterion, studio.criteria[criterion].title) for criterion in _asked(studio)],
        judged=_judged(progress, _asked(studio)),
        rows=[_row(one, now) for one in newest],
        left_out=len(progress) - len(newest),
        live=live,
        age=age(live, now),
        measured=criterion_lines(live.report),
        panel=panel_lines(live.figures),
        flags=flag_lines(live.figures),
        bars=hour_bars(live.figures, now),
        chart={"width": HOURS * (BAR + GAP) - GAP, "height": HEIGHT, "bar": BAR},
        most_in_an_hour=max(live.figures.hours.values(), default=0) if live.figures else 0,
    )


def _asked(studio: Studio) -> list[str]:
    """Criteria that some phase asks about, in the study's order."""
    asked = {id for cohort in studio.settings.cohorts for phase in cohort.phases for id in phase.criteria}
    return [id for id in studio.criteria if id in asked]


def _totals(progress: Sequence[RaterProgress], now: int) -> dict[str, Any]:
    counted = [one for one in progress if one.status not in ("removed", "withdrawn")]
    answered, planned = sum(one.answered for one in counted), sum(max(one.total, one.answered) for one in counted)
    return {
        "judgments": count(sum(sum(one.judgments.values()) for one in counted)),
        "raters": len(counted),
        "done": sum(one.status == "done" for one in counted),
        "at_work": sum(now - (one.last_at or 0) < RECENT_MS for one in counted),
        "answered": answered,
        "planned": planned,
        "share": f"{count(answered)} of about {count(planned)}",
        "hours": f"{sum(one.hours for one in counted):.1f}",
    }


def _judged(progress: Sequence[RaterProgress], criteria: Sequence[str]) -> dict[str, str]:
    counted = [one for one in progress if one.status not in ("removed", "withdrawn")]
    return {id: count(sum(one.judgments.get(id, 0) for one in counted)) for id in criteria}


def _row(one: RaterProgress, now: int) -> dict[str, Any]:
    return vars(one) | {"total": max(one.total, one.answered), "last": ago(one.last_at, now)}


# -- what there is to look at ---------------------------------------------------------------------------------


@router.get("/owner/gallery")
def gallery(session: OwnerSession, request: Request, number: Annotated[int, Query(ge=1, le=10**6)] = 1) -> HTMLResponse:
    """The pictures of the study by prompt, and how often each was judged."""
    studio = studio_of(request)
    groups: dict[str | None, list[Any]] = {}
    for item in studio.items.values():
        groups.setdefault(item.prompt, []).append(item)
    pages = max(1, math.ceil(len(groups) / PROMPTS_A_PAGE))
    number = min(number, pages)
    shown = list(groups.items())[(number - 1) * PROMPTS_A_PAGE : number * PROMPTS_A_PAGE]
    live = studio.live_check()
    judged = live.figures.judged if live.figures else {}
    images: Images = request.app.state.images
    return owner_page(
        "gallery",
        session,
        request,
        prompts=[_prompt(studio, prompt, items, judged, images) for prompt, items in shown],
        number=number,
        pages=pages,
        items=count(len(studio.items)),
        age=age(live, now_ms()),
    )


def _prompt(
    studio: Studio, prompt: str | None, items: Sequence[Any], judged: dict[str, int], images: Images
) -> dict[str, Any]:
    text = studio.prompts[prompt].view(()) if prompt in studio.prompts else None
    made = [
        {
            "id": item.id,
            "generator": item.generator,
            "judged": judged.get(item.id),
            "thumbnail": images.address(item.id, "thumbnail"),
            "full": images.address(item.id, "full"),
        }
        for item in items
    ]
    return {"id": prompt, "text": text, "items": made}


# -- who did what ---------------------------------------------------------------------------------------------


@router.get("/owner/audit")
def audit(
    session: OwnerSession, request: Request, before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> HTMLResponse:
    """Who did what, newest first."""
    lines = studio_of(request).database.newest_audit(before=before, most=LINES_A_PAGE)
    older = lines[-1].number if len(lines) == LINES_A_PAGE else None
    return owner_page("audit", session, request, lines=[_said(line) for line in lines], older=older)


def _said(line: AuditLine) -> dict[str, Any]:
    told = ", ".join(f"{name} {value}" for name, value in line.detail.items() if value is not None)
    return {"number": line.number, "at": day(line.at), "who": line.who, "what": line.what, "told": told}


# -- what all of the owner's pages share ----------------------------------------------------------------------


def owner_page(name: str, session: Session, request: Request, status: int = 200, **values: object) -> HTMLResponse:
    """One of the owner's pages. They speak English, whatever raters read."""
    shared = {"study": studio_of(request).name, "csrf": session.csrf, "here": name}
    return page(f"owner/{name}.html", language="en", status=status, **(shared | values))


def ago(at: int | None, now: int) -> str:
    """12 min ago; nothing for never."""
    return "" if at is None else f"{duration(max(now - at, 0) // 1000)} ago"


def day(at: int) -> str:
    """A moment in UTC, to the second."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
