"""The owner's page for raters of a panel: the address to give to the panel, places, outcomes, and the payments."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from salon.collect import (
    Outcome,
    PanelSettings,
    Studio,
    bonus_lines,
    done_ending,
    entry_query,
    payment_lines,
    payments_csv,
    places_taken,
)
from salon.web.auth import OwnerSession, get_studio
from salon.web.pages.owner import owner_page
from salon.web.pages.panel import get_entry

router = APIRouter(include_in_schema=False)


@router.get("/owner/panel")
def panel(session: OwnerSession, request: Request) -> HTMLResponse:
    """Where visitors come in, how many there are, and how their visits ended."""
    studio = get_studio(request)
    settings = studio.panel
    if settings is None:
        return owner_page("panel", session, request, panel=None, currency=studio.settings.pay.currency)
    visitors = studio.database.visitors()
    ended = Counter(visitor.outcome or ("done" if visitor.status == "done" else "at work") for visitor in visitors)
    return owner_page(
        "panel",
        session,
        request,
        panel=settings,
        addresses=_addresses(request, studio, settings),
        visitors=len(visitors),
        at_work=ended["at work"],
        outcomes=[_outcome_row(studio, outcome, ended[outcome]) for outcome in get_args(Outcome)],
        quotas=_quota_rows(studio, settings),
        no_code=done_ending(studio.settings).code is None and done_ending(studio.settings).redirect is None,
        currency=studio.settings.pay.currency,
    )


@router.get("/owner/payments")
def payments(
    session: OwnerSession, request: Request, with_panel_ids: bool = False, bonus_only: bool = False
) -> Response:
    """What every rater has earned, as a CSV table; for bulk bonuses one line of participant,amount for each."""
    studio = get_studio(request)
    with_ids = with_panel_ids or bonus_only
    lines = payment_lines(studio.database, studio.settings, panel_ids=with_ids)
    text = bonus_lines(lines) if bonus_only else payments_csv(lines, panel_ids=with_ids)
    if with_ids:
        studio.database.note("owner", "panel ids listed", bonus_only=bonus_only)
    name = "bonus.csv" if bonus_only else "payments.csv"
    return Response(text, media_type="text/csv", headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _addresses(request: Request, studio: Studio, settings: PanelSettings) -> list[tuple[str, str]]:
    """The address for all cohorts, and that of each."""
    entry = f"{request.app.state.settings.address}/panel"
    query = entry_query(settings)
    behind = f"?{query}" if query else ""
    open_cohorts = [cohort.id for cohort in studio.settings.cohorts if cohort.id in (settings.cohorts or [cohort.id])]
    panel_entry = get_entry(request)
    every = [("every cohort, the emptiest first" if len(open_cohorts) > 1 else "", f"{entry}{behind}")]
    several = open_cohorts if len(open_cohorts) > 1 else []
    return every + [(f"only {cohort}", f"{entry}/{panel_entry.key(cohort)}{behind}") for cohort in several]


def _outcome_row(studio: Studio, outcome: Outcome, count: int) -> dict[str, object]:
    assert studio.panel is not None
    ending = done_ending(studio.settings) if outcome == "done" else studio.panel.ending(outcome)
    description = type(studio.panel).model_fields[outcome].description
    return {"name": outcome.replace("_", " "), "about": description, "count": count, "ending": ending}


def _quota_rows(studio: Studio, settings: PanelSettings) -> list[dict[str, object]]:
    """Each quota with the places taken now."""
    taken = studio.taken_places()
    rows: list[dict[str, object]] = []
    for quota in settings.quotas:
        parts = [f"cohort {quota.cohort}"] if quota.cohort else []
        parts += [f"{quota.question}: {' or '.join(quota.answers)}"] if quota.question else []
        rows.append(
            {"about": ", ".join(parts) or "everybody", "taken": places_taken(quota, taken), "places": quota.places}
        )
    return rows
