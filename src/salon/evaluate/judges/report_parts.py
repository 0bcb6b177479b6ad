"""What the sections of a judge report share: names that fit, the judges of each kind, badges, ceilings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from salon.evaluate.judges.report_tick_results import TickJudged, TickPanelFigures
from salon.evaluate.judges.results import AccuracyFigures, JudgeFigures, JudgeReport, PanelFigures
from salon.report import Badge, Card, Cell
from salon.report.words import law_range, law_range_note, told_apart
from salon.stats.result import Estimate

NAME = 44
NEXT = "Next rater ceiling"
CEILING_LINES = "Next rater and oracle: the points of a beta law; their ranges are in the table of the people."
CHANCE = 0.5
NO_ORDER = "one order, or none: no position bias can be given"
NONE_READ = "no pair was read"
NO_CLEAR = "no pair with the same answer in both orders"


@dataclass(frozen=True)
class Names:
    """How judges and items are printed."""

    judges: dict[str, str]

    @classmethod
    def of(cls, report: JudgeReport) -> Names:
        """Brief, and numbered where two would read alike."""
        flagging = (one.judge for panel in report.flags for one in panel.judges)
        names = dict.fromkeys((*(one.judge for one in every_judge(report)), *flagging))
        return cls(told_apart(names, NAME))

    def __call__(self, judge: str | JudgeFigures | TickJudged) -> str:
        return self.judges[judge if isinstance(judge, str) else judge.judge]


def every_judge(report: JudgeReport) -> list[JudgeFigures | TickJudged]:
    """Judges of pairs, then of checklists."""
    return [*report.judges, *(report.ticks.judges if report.ticks is not None else ())]


def next_rater_card(panel: Sequence[PanelFigures | TickPanelFigures], alone: str) -> list[Card]:
    """The accuracy of one more person, from the lowest criterion to the highest; `alone` says of what under one."""
    topped = [
        (one.name, one.next_rater, one.next_rater_range) for one in panel if one.next_rater and one.next_rater_range
    ]
    if len(topped) < 2:
        return [
            Card(NEXT, law_range(ends), Markup("{}; {}").format(alone, law_range_note(figure)))
            for _, figure, ends in topped
        ]
    low_name, _, low = min(topped, key=lambda entry: entry[2][0])
    high_name, _, high = max(topped, key=lambda entry: entry[2][1])
    shown = law_range((low[0], high[1]))
    return [Card(NEXT, shown, f"accuracy of one more person; lowest {low_name}, highest {high_name}")]


def ceiling_lines(panel: Sequence[PanelFigures | TickPanelFigures]) -> list[tuple[str, float]]:
    """Both ceilings as marks of a figure: a beta law's points, under one criterion."""
    if len(panel) != 1 or panel[0].next_rater is None or panel[0].oracle is None:
        return []
    return [("next rater", panel[0].next_rater.value), ("oracle", panel[0].oracle.value)]


def range_cell(figure: Estimate | None, span: tuple[float, float] | None, absent: str | None) -> Cell:
    """A ceiling's range, with its interval and its point beneath."""
    if figure is None or span is None:
        return Cell(None, absent or "")
    return Cell(law_range(span), figure.method, law_range_note(figure))


def standing(macro: AccuracyFigures) -> tuple[str, Badge]:
    """Against chance: above, below, not told apart; or below only because answers could not be read."""
    accuracy, read = macro.accuracy, macro.parsed_only
    if accuracy.low is None or accuracy.high is None:
        return "thin", Badge("too little data", "thin")
    if accuracy.low > CHANCE:
        return "above", Badge("better than chance", "clear")
    if accuracy.high >= CHANCE:
        return "chance", Badge("no better than chance", "none")
    if read is None or read.high is None or read.high >= CHANCE:
        return "unread", Badge("too often unread", "open")
    return "below", Badge("worse than chance", "alert")


def two_orders(judges: Iterable[JudgeFigures]) -> list[tuple[JudgeFigures, Estimate, Estimate]]:
    """Judges that have a position bias and a conditional accuracy, with both."""
    return [
        (judge, judge.macro.position_bias, judge.macro.conditional)
        for judge in judges
        if judge.macro.position_bias is not None and judge.macro.conditional is not None
    ]


def why_missing(figures: AccuracyFigures, name: str) -> str:
    """The reason behind a dash."""
    if figures.parsed_only is None:
        return NONE_READ
    if name in ("position_bias", "took_first") and figures.position_bias is None:
        return NO_ORDER
    return NO_CLEAR if getattr(figures, name) is None else ""


def criteria_of(judges: Sequence[JudgeFigures]) -> dict[str, str]:
    """Every criterion a judge met, id and name, in the study's order."""
    return {part.criterion: part.name for one in judges for part in one.criteria}
