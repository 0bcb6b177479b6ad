"""The owner's pages that show things: progress and figures, the gallery, the audit.

Every page works without JavaScript; with it, the parts marked `data-live` are fetched anew every few seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from salon.check import CheckReport, CriterionFigures
from salon.collect import PANEL, LiveCheck, LiveFigures, QualityFinding, RaterProgress, Studio
from salon.report import THIN, count, duration, estimate, p_value, significant, with_interval
from salon.stats import Estimate
from salon.store import AuditLine, now_ms
from salon.web.auth import OwnerSession, Session, get_studio
from salon.web.images import Images
from salon.web.rendering import render_page

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
    studio, now = get_studio(request), now_ms()
    live, progress = studio.live_check(), studio.progress()
    newest = sorted(progress, key=lambda rater: -(rater.last_at or 0))[:MOST_ROWS]
    return owner_page(
        "overview",
        session,
        request,
        totals=_totals(progress, now),
        criteria=[(criterion, studio.criteria[criterion].title) for criterion in _asked_criteria(studio)],
        judged=_judgment_counts(progress, _asked_criteria(studio)),
        rows=[
            vars(rater) | {"total": max(rater.total, rater.answered), "last": ago(rater.last_at, now)}
            for rater in newest
        ],
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


def _asked_criteria(studio: Studio) -> list[str]:
    """Criteria that some phase asks about, in the study's order."""
    ids = {id for cohort in studio.settings.cohorts for phase in cohort.phases for id in phase.criteria}
    return [id for id in studio.criteria if id in ids]


def _totals(progress: Sequence[RaterProgress], now: int) -> dict[str, Any]:
    active = [rater for rater in progress if rater.status not in ("removed", "withdrawn")]
    answered, planned = (
        sum(rater.answered for rater in active),
        sum(max(rater.total, rater.answered) for rater in active),
    )
    return {
        "judgments": count(sum(sum(rater.judgments.values()) for rater in active)),
        "raters": len(active),
        "done": sum(rater.status == "done" for rater in active),
        "at_work": sum(now - (rater.last_at or 0) < RECENT_MS for rater in active),
        "answered": answered,
        "planned": planned,
        "share": f"{count(answered)} of about {count(planned)}",
        "hours": f"{sum(rater.hours for rater in active):.1f}",
    }


def _judgment_counts(progress: Sequence[RaterProgress], criteria: Sequence[str]) -> dict[str, str]:
    active = [rater for rater in progress if rater.status not in ("removed", "withdrawn")]
    return {id: count(sum(rater.judgments.get(id, 0) for rater in active)) for id in criteria}


# -- what there is to look at ---------------------------------------------------------------------------------


@router.get("/owner/gallery")
def gallery(session: OwnerSession, request: Request, number: Annotated[int, Query(ge=1, le=10**6)] = 1) -> HTMLResponse:
    """The pictures of the study by prompt, and how often each was judged."""
    studio = get_studio(request)
    groups: dict[str | None, list[Any]] = {}
    for item in studio.items.values():
        groups.setdefault(item.prompt, []).append(item)
    pages = max(1, math.ceil(len(groups) / PROMPTS_A_PAGE))
    number = min(number, pages)
    page_groups = list(groups.items())[(number - 1) * PROMPTS_A_PAGE : number * PROMPTS_A_PAGE]
    live = studio.live_check()
    judgment_counts = live.figures.judged if live.figures else {}
    images: Images = request.app.state.images
    return owner_page(
        "gallery",
        session,
        request,
        prompts=[_prompt(studio, prompt, items, judgment_counts, images) for prompt, items in page_groups],
        number=number,
        pages=pages,
        items=count(len(studio.items)),
        age=age(live, now_ms()),
    )


def _prompt(
    studio: Studio, prompt: str | None, items: Sequence[Any], judgment_counts: dict[str, int], images: Images
) -> dict[str, Any]:
    text = studio.prompts[prompt].view(()) if prompt in studio.prompts else None
    pictures = [
        {
            "id": item.id,
            "generator": item.generator,
            "judged": judgment_counts.get(item.id),
            "thumbnail": images.address(item.id, "thumbnail"),
            "full": images.address(item.id, "full"),
        }
        for item in items
    ]
    return {"id": prompt, "text": text, "items": pictures}


# -- who did what ---------------------------------------------------------------------------------------------


@router.get("/owner/audit")
def audit(
    session: OwnerSession, request: Request, before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> HTMLResponse:
    """Who did what, newest first."""
    lines = get_studio(request).database.newest_audit(before=before, most=LINES_A_PAGE)
    older = lines[-1].number if len(lines) == LINES_A_PAGE else None
    return owner_page("audit", session, request, lines=[_audit_values(line) for line in lines], older=older)


def _audit_values(line: AuditLine) -> dict[str, Any]:
    detail = ", ".join(f"{name} {value}" for name, value in line.detail.items() if value is not None)
    return {"number": line.number, "at": day(line.at), "who": line.who, "what": line.what, "told": detail}


# -- what all of the owner's pages share ----------------------------------------------------------------------


def owner_page(name: str, session: Session, request: Request, status: int = 200, **values: object) -> HTMLResponse:
    """One of the owner's pages. They speak English, whatever raters read."""
    shared = {"study": get_studio(request).name, "csrf": session.csrf, "here": name}
    return render_page(f"owner/{name}.html", language="en", status=status, **(shared | values))


def ago(at: int | None, now: int) -> str:
    """12 min ago; nothing for never."""
    return "" if at is None else f"{duration(max(now - at, 0) // 1000)} ago"


def day(at: int) -> str:
    """A moment in UTC, to the second."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


# -- figures in words -----------------------------------------------------------------------------------------------

HOURS = 48
"""Hours of the chart."""
BAR, GAP, HEIGHT = 8, 3, 72
TOO_FEW = "too few yet"
_PLURAL = {"rater": "raters", "prompt": "prompts", "pair": "pairs", "judgment": "judgments", "item": "items"}


@dataclass(frozen=True)
class FigureLine:
    """One figure in a table."""

    name: str
    value: str
    n: str
    note: str = ""


@dataclass(frozen=True)
class CriterionLine:
    """What is known of one criterion."""

    name: str
    protocol: str
    verdict: str
    sentence: str
    tau: FigureLine
    alpha: FigureLine


@dataclass(frozen=True)
class FlagLine:
    """A rater to look at."""

    rater: str
    screens: int
    reasons: tuple[tuple[str, str], ...]
    """Words, and the statistic behind them."""


@dataclass(frozen=True)
class HourBar:
    """One hour of the chart, in its coordinates."""

    x: int
    y: float
    height: float
    title: str


def criterion_lines(report: CheckReport | None) -> list[CriterionLine]:
    """One line for each criterion of a check."""
    return [
        CriterionLine(
            name=criterion.name,
            protocol=criterion.protocol,
            verdict=criterion.answer,
            sentence=criterion.sentence,
            tau=_tau(criterion),
            alpha=_figure_line("alpha", criterion.alpha),
        )
        for criterion in (report.criteria if report else ())
    ]


def _tau(criterion: CriterionFigures) -> FigureLine:
    """Mean Kendall tau over prompts; where no complete orders exist, the mean agreement of two votes on a pair."""
    value = criterion.statistics.mean_tau
    if value is None:
        return _figure_line("two votes on a pair", criterion.pair_agreement)
    ends = criterion.statistics.intervals.get("mean_tau")
    low, high = (ends.low, ends.high) if ends else (None, None)
    return FigureLine("tau", estimate(value, low, high), _n(criterion.prompts, "prompt"), "bootstrap of prompts")


def panel_lines(figures: LiveFigures | None) -> list[FigureLine]:
    """The figures that are averaged over raters."""
    panel = {} if figures is None else figures.panel
    return [_figure_line(name, panel.get(key), in_seconds=key == "median_seconds") for key, name in PANEL.items()]


def _figure_line(name: str, figure: Estimate | None, *, in_seconds: bool = False) -> FigureLine:
    """`in_seconds`: people's times, of which no more than a tenth of a second means anything."""
    if figure is None:
        return FigureLine(name, TOO_FEW, "", "")
    text = with_interval(figure, 1) + f"{THIN}s" if in_seconds else with_interval(figure, None)
    return FigureLine(name, text, _n(figure.n, figure.unit), figure.method)


def _n(n: int, unit: str) -> str:
    return f"{count(n)} {unit if n == 1 else _PLURAL.get(unit, unit + 's')}"


def flag_lines(figures: LiveFigures | None) -> list[FlagLine]:
    """Raters with at least one flag, the surest first."""
    flagged = [rater for rater in figures.flags if rater.flags] if figures else []
    ordered = sorted(flagged, key=lambda rater: rater.flags[0].p)
    return [FlagLine(rater.rater, rater.screens, tuple((f.words, _why(f)) for f in rater.flags)) for rater in ordered]


def _why(finding: QualityFinding) -> str:
    chance = p_value(finding.p)
    return (
        f"{finding.reason}: {significant(finding.value, 2)} on n = {count(finding.n)}, "
        f"honest at worst {significant(finding.limit, 2)}, p {chance if chance.startswith('<') else '= ' + chance}"
    )


def age(live: LiveCheck, now: int) -> str:
    """How old the figures are."""
    figures = live.figures
    if figures is None:
        return "The first figures could not be computed." if live.failed else "The first figures are on their way."
    seconds = round(max(now - figures.at, 0) / 1000)
    old = duration(seconds) if seconds >= 60 else f"{seconds}{THIN}s"
    words = f"Figures of revision {count(figures.revision)}, {old} old"
    words += f", computed in {duration(figures.took)} beside the studio"
    if live.failed:
        return f"{words}. Newer ones could not be computed: see the log."
    return f"{words}; newer ones are on their way." if live.newer else f"{words}."


def hour_bars(figures: LiveFigures | None, now: int) -> list[HourBar]:
    """The last two days, hour by hour; the highest bar fills the chart."""
    latest = datetime.fromtimestamp(now / 1000, UTC)
    hours = [latest - timedelta(hours=HOURS - 1 - k) for k in range(HOURS)]
    by_hour = figures.hours if figures else {}
    counts = [by_hour.get(hour.strftime("%Y-%m-%dT%H"), 0) for hour in hours]
    most = max(counts, default=0) or 1
    bars = []
    for k, (hour, n) in enumerate(zip(hours, counts)):
        height = round(max(HEIGHT * n / most, 2.0 if n else 1.0), 1)
        title = f"{hour:%d %b %H}:00 UTC: {count(n)}"
        bars.append(HourBar(k * (BAR + GAP), round(HEIGHT - height, 1), height, title))
    return bars
