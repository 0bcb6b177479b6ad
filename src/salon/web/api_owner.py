"""The owner's JSON API: progress, raters, invitations, the audit and the study as a download."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field, JsonValue
from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from salon.collect import RaterProgress, Studio
from salon.errors import BadFile, BadValue
from salon.store import EXPORTS, FIELD_FILES, AuditLine
from salon.web.api_rater import ERRORS, ApiModel, InvitationShape
from salon.web.auth import OwnerSession, get_studio

router = APIRouter(prefix="/api/owner", tags=["owner"], responses=ERRORS)


Form = Literal["parquet", "csv", "jsonl", "huggingface", "hpdv2", "hpdv3", "pickapic", "arena", "preflib"]


class LiveShape(ApiModel):
    """What the answers say so far."""

    revision: int | None = Field(description="The revision the figures are about; null before the first.")
    at: int | None = Field(description="When the answers were read, in milliseconds since 1970.")
    newer: bool = Field(description="Newer figures are on their way.")
    report: dict[str, JsonValue] | None = Field(description="As `salon check --json`, with fewer draws.")
    words: str | None = Field(description="Why there is no report.")
    flagged: dict[str, list[str]] = Field(description="Raters to look at, with the reasons.")


class Invite(ApiModel):
    """Who is to be invited."""

    cohort: str = Field(min_length=1, max_length=200)
    count: int = Field(1, ge=1, le=1000)


class RaterOrder(ApiModel):
    """What is to happen to one rater."""

    rater: str = Field(min_length=1, max_length=200)
    do: Literal["pause", "resume", "remove", "reinvite", "erase"]


@router.get("/progress")
def progress(session: OwnerSession, request: Request) -> list[RaterProgress]:
    """How far every rater is."""
    return get_studio(request).progress()


@router.post("/invite")
def invite(order: Invite, session: OwnerSession, request: Request) -> list[InvitationShape]:
    """New raters, each with a link that is told only now."""
    invitations = get_studio(request).invite(order.cohort, order.count)
    return [
        InvitationShape(rater=invitation.rater, link=_link(request, invitation.token)) for invitation in invitations
    ]


@router.post("/raters")
def change_rater(order: RaterOrder, session: OwnerSession, request: Request) -> InvitationShape | None:
    """Pause, remove or erase a rater; or give one a new link, which brings whoever was out back to work."""
    studio = get_studio(request)
    if order.do == "reinvite":
        invitation = studio.reinvite(order.rater)
        return InvitationShape(rater=invitation.rater, link=_link(request, invitation.token))
    getattr(studio, order.do)(order.rater)
    return None


@router.get("/audit")
def audit(
    session: OwnerSession,
    request: Request,
    after: int = Query(0, ge=0, le=2**31 - 1),
    most: int = Query(100, ge=1, le=1000),
) -> list[AuditLine]:
    """Who did what, oldest first."""
    return get_studio(request).database.audit(after=after, most=most)


@router.get("/export", response_class=FileResponse)
def export(session: OwnerSession, request: Request, to: Form = "parquet", images: bool = False) -> FileResponse:
    """The study as it stands now, as a zip; formats of the field say in LEFT-OUT.json what they could not hold."""
    return pack_study(get_studio(request), to, images=images)


@router.get("/live")
def live(session: OwnerSession, request: Request) -> LiveShape:
    """The newest figures of the answers so far; newer ones are begun when there are any."""
    live_check = get_studio(request).live_check()
    figures = live_check.figures
    flags = figures.flags if figures else ()
    report = None if figures is None or figures.report is None else figures.report.model_dump(mode="json")
    return LiveShape(
        revision=live_check.revision,
        at=None if figures is None else figures.at,
        newer=live_check.newer,
        report=report,
        words=live_check.words,
        flagged={rater.rater: [flag.words for flag in rater.flags] for rater in flags if rater.flags},
    )


def _link(request: Request, token: str) -> str:
    address: str = request.app.state.settings.address
    return f"{address}/enter/{token}"


# -- downloads ------------------------------------------------------------------------------------------------------

EXPORT_FORMS = {
    "parquet": "Parquet tables: a study folder that every command takes.",
    "csv": "CSV tables, for a spreadsheet: no cell of them is run as a formula.",
    "jsonl": "JSON, one record on each line.",
    "huggingface": "A dataset for the Hugging Face hub, with its data card.",
    "hpdv2": "HPDv2: comparisons and rankings as JSON.",
    "hpdv3": "HPDv3: pairs, the preferred image first.",
    "pickapic": "Pick-a-Pic: its columns as Parquet.",
    "arena": "Votes as FastChat and LMSYS write them.",
    "preflib": "PrefLib ballots, one file for each group of items.",
}
"""What can be downloaded, and what it is."""


def pack_study(studio: Studio, to: str, *, images: bool = False) -> FileResponse:
    """The study as it stands now, as a zip; formats of the field say in LEFT-OUT.json what they could not hold."""
    if to not in (*EXPORTS, *FIELD_FILES):
        raise BadValue("a known form is needed", found=repr(to), remedy="one of " + ", ".join(EXPORT_FORMS))
    room = Path(tempfile.mkdtemp(prefix="salon-export-"))
    try:
        left_out = studio.export(room / "study", to, images=images, excel_safe=to == "csv")
        if left_out:
            (room / "study" / "LEFT-OUT.json").write_text(json.dumps(left_out, indent=2), encoding="utf-8")
        zipped = shutil.make_archive(str(room / "packed"), "zip", room / "study")
    except BadFile as error:  # its place is a folder of ours, of no use to anybody
        shutil.rmtree(room, ignore_errors=True)
        raise BadValue(error.needed, found=error.found) from None
    except BaseException:
        shutil.rmtree(room, ignore_errors=True)
        raise
    sweep = BackgroundTask(shutil.rmtree, room, ignore_errors=True)
    return FileResponse(zipped, media_type="application/zip", filename="study.zip", background=sweep)
