"""The owner's API: progress, raters, invitations, the audit and the study itself."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field, JsonValue
from starlette.responses import FileResponse

from salon.web.api.rater import ERRORS
from salon.web.api.shapes import AuditShape, InvitationShape, RaterShape, Shape, rater_shape
from salon.web.auth import OwnerSession, studio_of
from salon.web.packing import packed

router = APIRouter(prefix="/api/owner", tags=["owner"], responses=ERRORS)


Form = Literal["parquet", "csv", "jsonl", "huggingface", "hpdv2", "hpdv3", "pickapic", "arena", "preflib"]


class LiveShape(Shape):
    """What the answers say so far."""

    revision: int | None = Field(description="The revision the figures are about; null before the first.")
    at: int | None = Field(description="When the answers were read, in milliseconds since 1970.")
    newer: bool = Field(description="Newer figures are on their way.")
    report: dict[str, JsonValue] | None = Field(description="As `salon check --json`, with fewer draws.")
    words: str | None = Field(description="Why there is no report.")
    flagged: dict[str, list[str]] = Field(description="Raters to look at, with the reasons.")


class Invite(Shape):
    """Who is to be invited."""

    cohort: str = Field(min_length=1, max_length=200)
    count: int = Field(1, ge=1, le=1000)


class Order(Shape):
    """What is to happen to one rater."""

    rater: str = Field(min_length=1, max_length=200)
    do: Literal["pause", "resume", "remove", "reinvite", "erase"]


@router.get("/progress")
def progress(session: OwnerSession, request: Request) -> list[RaterShape]:
    """How far every rater is."""
    return [rater_shape(one) for one in studio_of(request).progress()]


@router.post("/invite")
def invite(wanted: Invite, session: OwnerSession, request: Request) -> list[InvitationShape]:
    """New raters, each with a link that is told only now."""
    made = studio_of(request).invite(wanted.cohort, wanted.count)
    return [InvitationShape(rater=one.rater, link=_link(request, one.token)) for one in made]


@router.post("/raters")
def change_rater(order: Order, session: OwnerSession, request: Request) -> InvitationShape | None:
    """Pause, remove or erase a rater; or give one a new link, which brings whoever was out back to work."""
    studio = studio_of(request)
    if order.do == "reinvite":
        made = studio.reinvite(order.rater)
        return InvitationShape(rater=made.rater, link=_link(request, made.token))
    getattr(studio, order.do)(order.rater)
    return None


@router.get("/audit")
def audit(
    session: OwnerSession,
    request: Request,
    after: int = Query(0, ge=0, le=2**31 - 1),
    most: int = Query(100, ge=1, le=1000),
) -> list[AuditShape]:
    """Who did what, oldest first."""
    lines = studio_of(request).database.audit(after=after, most=most)
    return [AuditShape(**vars(line)) for line in lines]


@router.get("/export", response_class=FileResponse)
def export(session: OwnerSession, request: Request, to: Form = "parquet", images: bool = False) -> FileResponse:
    """The study as it stands now, as a zip; formats of the field say in LEFT-OUT.json what they could not hold."""
    return packed(studio_of(request), to, images=images)


@router.get("/live")
def live(session: OwnerSession, request: Request) -> LiveShape:
    """The newest figures of the answers so far; newer ones are begun when there are any."""
    found = studio_of(request).live_check()
    figures = found.figures
    flags = figures.flags if figures else ()
    report = None if figures is None or figures.report is None else figures.report.model_dump(mode="json")
    return LiveShape(
        revision=found.revision,
        at=None if figures is None else figures.at,
        newer=found.newer,
        report=report,
        words=found.words,
        flagged={one.rater: [flag.words for flag in one.flags] for one in flags if one.flags},
    )


def _link(request: Request, token: str) -> str:
    address: str = request.app.state.settings.address
    return f"{address}/enter/{token}"
