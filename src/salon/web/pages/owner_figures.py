"""The live figures in words: every number with its interval, its n, and how it was made; "too few yet" where so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from salon.check.results import CheckReport, CriterionFigures
from salon.collect.quality import Finding
from salon.collect.studio.figures import PANEL, Figures
from salon.collect.studio.owner import LiveCheck
from salon.report.numbers import THIN, count, duration, estimate, p_value, significant, with_interval
from salon.stats.result import Estimate

HOURS = 48
"""Hours of the chart."""
BAR, GAP, HEIGHT = 8, 3, 72
TOO_FEW = "too few yet"
_PLURAL = {"rater": "raters", "prompt": "prompts", "pair": "pairs", "judgment": "judgments", "item": "items"}


@dataclass(frozen=True)
class Line:
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
    tau: Line
    alpha: Line


@dataclass(frozen=True)
class FlagLine:
    """A rater to look at."""

    rater: str
    screens: int
    reasons: tuple[tuple[str, str], ...]
    """Words, and the statistic behind them."""


@dataclass(frozen=True)
class Bar:
    """One hour of the chart, in its coordinates."""

    x: int
    y: float
    height: float
    title: str


def criterion_lines(report: CheckReport | None) -> list[CriterionLine]:
    """One line for each criterion of a check."""
    return [] if report is None else [_criterion(one) for one in report.criteria]


def _criterion(one: CriterionFigures) -> CriterionLine:
    return CriterionLine(
        name=one.name,
        protocol=one.protocol,
        verdict=one.answer,
        sentence=one.sentence,
        tau=_tau(one),
        alpha=_line("alpha", one.alpha),
    )


def _tau(one: CriterionFigures) -> Line:
    """Mean Kendall tau over prompts; where no complete orders exist, the mean agreement of two votes on a pair."""
    value = one.statistics.mean_tau
    if value is None:
        return _line("two votes on a pair", one.pair_agreement)
    ends = one.statistics.intervals.get("mean_tau")
    low, high = (ends.low, ends.high) if ends else (None, None)
    return Line("tau", estimate(value, low, high), _n(one.prompts, "prompt"), "bootstrap of prompts")


def panel_lines(figures: Figures | None) -> list[Line]:
    """The figures that are averaged over raters."""
    found = {} if figures is None else figures.panel
    return [_line(name, found.get(key), in_seconds=key == "median_seconds") for key, name in PANEL.items()]


def _line(name: str, figure: Estimate | None, *, in_seconds: bool = False) -> Line:
    """`in_seconds`: people's times, of which no more than a tenth of a second means anything."""
    if figure is None:
        return Line(name, TOO_FEW, "", "")
    text = with_interval(figure, 1) + f"{THIN}s" if in_seconds else with_interval(figure, None)
    return Line(name, text, _n(figure.n, figure.unit), figure.method)


def _n(n: int, unit: str) -> str:
    return f"{count(n)} {unit if n == 1 else _PLURAL.get(unit, unit + 's')}"


def flag_lines(figures: Figures | None) -> list[FlagLine]:
    """Raters with at least one flag, the surest first."""
    flagged = [one for one in figures.flags if one.flags] if figures else []
    ordered = sorted(flagged, key=lambda one: one.flags[0].p)
    return [FlagLine(one.rater, one.screens, tuple((f.words, _why(f)) for f in one.flags)) for one in ordered]


def _why(finding: Finding) -> str:
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


def hour_bars(figures: Figures | None, now: int) -> list[Bar]:
    """The last two days, hour by hour; the highest bar fills the chart."""
    latest = datetime.fromtimestamp(now / 1000, UTC)
    hours = [latest - timedelta(hours=HOURS - 1 - k) for k in range(HOURS)]
    given = figures.hours if figures else {}
    counts = [given.get(hour.strftime("%Y-%m-%dT%H"), 0) for hour in hours]
    most = max(counts, default=0) or 1
    bars = []
    for k, (hour, n) in enumerate(zip(hours, counts)):
        height = round(max(HEIGHT * n / most, 2.0 if n else 1.0), 1)
        title = f"{hour:%d %b %H}:00 UTC: {count(n)}"
        bars.append(Bar(k * (BAR + GAP), round(HEIGHT - height, 1), height, title))
    return bars
