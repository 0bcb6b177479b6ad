"""The owner's API: progress, raters, invitations, the audit and the study itself."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from salon.flows.studio import Studio
from salon.store.export import export_study
from salon.web.api.rater import ERRORS
from salon.web.api.shapes import AuditShape, InvitationShape, RaterShape, Shape, rater_shape
from salon.web.auth import OwnerSession

router = APIRouter(prefix="/api/owner", tags=["owner"], responses=ERRORS)


class Invite(Shape):
    """Who is to be invited."""

    cohort: str = Field(min_length=1, max_length=200)
    count: int = Field(1, ge=1, le=1000)


class Order(Shape):
    """What is to happen to one rater."""

    rater: str = Field(min_length=1, max_length=200)
    do: Literal["pause", "remove", "reinvite", "erase"]


@router.get("/progress")
def progress(session: OwnerSession, request: Request) -> list[RaterShape]:
    """How far every rater is."""
    return [rater_shape(one) for one in _studio(request).progress()]


@router.post("/invite")
def invite(wanted: Invite, session: OwnerSession, request: Request) -> list[InvitationShape]:
    """New raters, each with a link that is told only now."""
    made = _studio(request).invite(wanted.cohort, wanted.count)
    return [InvitationShape(rater=one.rater, link=_link(request, one.token)) for one in made]


@router.post("/raters")
def change_rater(order: Order, session: OwnerSession, request: Request) -> InvitationShape | None:
    """Pause, remove or erase a rater; or give one a new link, which brings whoever was out back to work."""
    studio = _studio(request)
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
    lines = _studio(request).database.audit(after=after, most=most)
    return [AuditShape(**vars(line)) for line in lines]


@router.get("/export", response_class=FileResponse)
def export(
    session: OwnerSession, request: Request, to: Literal["parquet", "csv", "jsonl", "huggingface"] = "parquet"
) -> FileResponse:
    """The study as it stands now, without its pictures, as a zip."""
    room = Path(tempfile.mkdtemp(prefix="salon-export-"))
    try:
        export_study(_studio(request).database.read_study(), room / "study", to)
        packed = shutil.make_archive(str(room / "packed"), "zip", room / "study")
    except BaseException:
        shutil.rmtree(room, ignore_errors=True)
        raise
    sweep = BackgroundTask(shutil.rmtree, room, ignore_errors=True)
    return FileResponse(packed, media_type="application/zip", filename="study.zip", background=sweep)


def _link(request: Request, token: str) -> str:
    address: str = request.app.state.settings.address
    return f"{address}/enter/{token}"


def _studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio
