"""What the sections of a judge report share: names that fit, the judges of each kind, badges, ceilings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from salon.evaluate.results import (
    AccuracyFigures,
    JudgeFigures,
    JudgeReport,
    PanelFigures,
    TickJudgeFigures,
    TickPanelFigures,
    WorstCase,
    WorstTick,
)
from salon.report import Badge, Block, Card, Cell, Details, Section, numbers
from salon.report.charts.curves import names_beside
from salon.report.filmstrip import film_grid, picture_or_note
from salon.report.svg import (
    LINE,
    LinearScale,
    Rows,
    canvas,
    domain,
    element,
    group,
    line,
    redrawable,
    spread,
    text,
    text_width,
    x_axis,
    y_grid,
    y_ticks_width,
)
from salon.report.values import number_marks
from salon.report.words import brief, count_noun, distinct_names, fixed, law_range, law_range_note
from salon.stats.result import Estimate

NAME = 44
NEXT = "Next rater ceiling"
CEILING_LINES = "Next rater and oracle: the points of a beta law; their ranges are in the table of the people."
CHANCE = 0.5
NO_ORDER = "one order, or none: no position bias can be given"
NONE_READ = "no pair was read"
NO_CLEAR = "no pair with the same answer in both orders"


@dataclass(frozen=True)
class JudgeNames:
    """How judges and items are printed."""

    judges: dict[str, str]

    @classmethod
    def of(cls, report: JudgeReport) -> JudgeNames:
        """Brief, and numbered where two would read alike."""
        flagging = (one.judge for panel in report.flags for one in panel.judges)
        names = dict.fromkeys((*(one.judge for one in every_judge(report)), *flagging))
        return cls(distinct_names(names, NAME))

    def __call__(self, judge: str | JudgeFigures | TickJudgeFigures) -> str:
        return self.judges[judge if isinstance(judge, str) else judge.judge]


def every_judge(report: JudgeReport) -> list[JudgeFigures | TickJudgeFigures]:
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


# --------------------------------------------------------------------------------------------------
# Bias against perception: one dot a judge, with the curves along which accuracy is the same.
# --------------------------------------------------------------------------------------------------

COMPACT = 520
LABEL_LINE = 15.0
HEIGHT = 360
CURVE_NAME = 34.0
"""Pixels at the left that belong to the names of the curves."""
LEVELS = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)


@dataclass(frozen=True)
class Dot:
    """A judge: b, c, and their intervals (low, high)."""

    label: str
    b: float
    c: float
    b_ends: tuple[float | None, float | None] = (None, None)
    c_ends: tuple[float | None, float | None] = (None, None)


def _bias_data(dots: Sequence[Dot], **_: object) -> Rows:
    return [
        {"judge": dot.label, "b": dot.b, "b low": dot.b_ends[0], "b high": dot.b_ends[1], "c": dot.c,
         "c low": dot.c_ends[0], "c high": dot.c_ends[1]}
        for dot in dots
    ]  # fmt: skip


@redrawable(_bias_data)
def bias_plot(dots: Sequence[Dot], *, width: int) -> Markup:
    """Position bias to the right, accuracy on order-consistent pairs upwards; names beside their dots, or, where not
    all have room there, at the right edge with a line to each.
    """
    x, y, top, bottom = _scales(dots, width - 12.0)
    frame = (x.start + CURVE_NAME, top, width - 2.0, bottom)
    names = names_beside([(x(dot.b), y(dot.c)) for dot in dots], [dot.label for dot in dots], frame)
    if None in names:
        room = min(max(text_width(dot.label) for dot in dots) + 26, width * (0.42 if width < COMPACT else 0.3))
        x, y, top, bottom = _scales(dots, width - room)
        levels = spread([y(dot.c) + 4 for dot in dots], LABEL_LINE, top + 6, bottom)
        names = [_led(dot, x, y, level, room) for dot, level in zip(dots, levels)]
    return canvas(
        width,
        bottom + 2 * LINE + 10,
        "Position bias and perception",
        "; ".join(f"{d.label}: b {numbers.fixed(d.b)}, c {numbers.fixed(d.c)}" for d in dots) + ".",
        text(0, 12, "c: accuracy where both orders agree", "axis-label", room=width),
        y_grid(y, x.start, x.stop),
        *(_curve(level, x, y) for level in LEVELS),
        *names,
        *(_bias_dot(dot, x, y) for dot in dots),
        x_axis(x, bottom, width, label="b: follows the position"),
    )


def _scales(dots: Sequence[Dot], right: float) -> tuple[LinearScale, LinearScale, float, float]:
    """Across, up, and the top and bottom of the plot."""
    top, bottom = 24.0, max(HEIGHT, 40 + LABEL_LINE * len(dots)) - 2 * LINE - 10
    ends = [end for dot in dots for end in (dot.c, *dot.c_ends)]
    y = LinearScale(*domain(ends, include=[0.5], pad=0.08, within=(0.0, 1.0)), bottom, top)
    known = [end for dot in dots for end in (dot.b, *dot.b_ends)]
    x = LinearScale(0.0, domain(known, include=[0.2], pad=0.06, within=(0.0, 1.0))[1], y_ticks_width(y), right)
    return x, y, top, bottom


def _led(dot: Dot, x: LinearScale, y: LinearScale, level: float, room: float) -> Markup:
    """A name at the right edge, and a line that leads to it."""
    line_ = line(x(dot.b) + 6, y(dot.c), x.stop + 10, level - 4, "axis")
    return group(line_, text(x.stop + 14, level, dot.label, "label haloed", room=room - 16))


def _curve(accuracy: float, x: LinearScale, y: LinearScale) -> Markup | None:
    """Where (1 - b) c + b/2 is `accuracy`, inside the plot; named at its left end."""
    b = np.linspace(x.low, x.high, 60)
    c = (accuracy - b / 2) / np.maximum(1 - b, 1e-9)
    inside = (c >= y.low) & (c <= y.high)
    if inside.sum() < 2:
        return None
    points = [f"{x(u):.2f} {y(v):.2f}" for u, v in zip(b[inside], c[inside])]
    path = element("path", d="M" + "L".join(points), class_="null-line" + ("" if accuracy == 0.5 else " dashed"))
    at = y(float(c[inside][0])) - 4
    name = text(x(float(b[inside][0])) + 4, at, numbers.fixed(accuracy, 2), "tick")
    return group(path, name if at > y.stop + 8 else None)


def _bias_dot(dot: Dot, x: LinearScale, y: LinearScale) -> Markup:
    whiskers = []
    if None not in dot.b_ends:
        ends = [end for end in dot.b_ends if end is not None]
        whiskers += [line(x(end), y(dot.c), x(dot.b), y(dot.c), "cohort-1 marker", **number_marks(end)) for end in ends]
    if None not in dot.c_ends:
        ends = [end for end in dot.c_ends if end is not None]
        whiskers += [line(x(dot.b), y(end), x(dot.b), y(dot.c), "cohort-1 marker", **number_marks(end)) for end in ends]
    tip = f"{dot.label}: b {numbers.fixed(dot.b)}, c {numbers.fixed(dot.c)}"
    center = element("circle", cx=x(dot.b), cy=y(dot.c), r=5, class_="cohort-1 dot", **number_marks(dot.c))
    return group(*whiskers, center, tip=tip, class_="mark")


# --------------------------------------------------------------------------------------------------
# Worst disagreements as a gallery: the panel's choice beside the judge's, with the votes and the judge's words.
# --------------------------------------------------------------------------------------------------

FEWEST_WORDS = 3
"""A judge that says no more than its verdict is not quoted."""


@dataclass(frozen=True)
class PairGallery(Block):
    """Cases side by side; pictures are data URLs by item."""

    cases: tuple[WorstCase, ...]
    criteria: Mapping[str, str]
    pictures: Mapping[str, str]

    def __html__(self) -> str:
        return film_grid(*(self._case(case) for case in self.cases), size="pairs")

    def _case(self, case: WorstCase) -> Markup:
        votes = Markup("{} to {}").format(fixed(case.votes[0], 0), fixed(case.votes[1], 0))
        if case.votes[2]:
            votes += Markup(", {}").format(count_noun(case.votes[2], "tie"))
        liked = self._side(case.panel_choice, Markup("People, {}").format(votes))
        other = self._side(case.judge_choice, Markup("Judge"))
        head = brief(self.criteria.get(case.criterion, case.criterion), 40)
        about = Markup("{}{}").format(head, f" · {brief(case.prompt, 60)}" if case.prompt else "")
        said = _quoted(case.said)
        gap = None
        if case.margin is not None:
            words = Markup("Its two numbers are {} standard deviations apart.").format(fixed(case.margin, 2))
            gap = element("p", words, class_="told")
        title = element("p", element("strong", about), class_="frame-head")
        return element("div", title, element("div", liked, other, class_="beside"), said, gap)

    def _side(self, item: str, words: Markup, more: Markup | None = None) -> Markup:
        label = element("p", element("strong", words), Markup("<br>"), more,
                        element("span", brief(item, 40), class_="soft"), class_="told")  # fmt: skip
        return element("div", picture_or_note(self.pictures.get(item, ""), item), label)


@dataclass(frozen=True)
class TickGallery(PairGallery):
    """Items side by side, each with the point on which the judge is against people."""

    cases: tuple[WorstTick, ...]  # type: ignore[assignment]  # its cases are of its own kind

    def __html__(self) -> str:
        return film_grid(*(self._case(case) for case in self.cases), size="small")

    def _case(self, case: WorstTick) -> Markup:  # type: ignore[override]  # its cases are of its own kind
        people, judge = ("yes", "no") if case.people else ("no", "yes")
        votes = Markup("People {}, {} to {}").format(people, fixed(case.votes[0], 0), fixed(case.votes[1], 0))
        answers = Markup("{}<br>Judge {}<br>").format(votes, judge)
        said = _quoted(case.said)
        return element("div", self._side(case.item, Markup.escape(brief(case.point, 120)), answers), said)


def _quoted(said: str | None) -> Markup | None:
    """What the judge said, where it is more than its answer."""
    if said is None or len(said.split()) < FEWEST_WORDS:
        return None
    return element("p", element("q", brief(said, 240)), class_="told")


def tick_gallery_section(report: JudgeReport, names: JudgeNames, pictures: Mapping[str, str]) -> Section | None:
    """The best judge's cases open, the others' behind a line."""
    judges = [one for one in (report.ticks.judges if report.ticks is not None else ()) if one.worst]
    if not judges:
        return None
    blocks = [
        Details(_summary(one, names, "tick"), [TickGallery(one.worst, _titles(one), pictures)], open=number == 0)
        for number, one in enumerate(judges)
    ]
    return Section("Worst ticks", blocks, "People were clear about a point, and the judge said the other.")


def gallery_section(report: JudgeReport, names: JudgeNames, pictures: Mapping[str, str]) -> Section | None:
    """The best judge's cases open, the others' behind a line."""
    judges = [one for one in report.judges if one.worst]
    if not judges:
        return None
    blocks = [
        Details(_summary(one, names, "pair"), [PairGallery(one.worst, _titles(one), pictures)], open=number == 0)
        for number, one in enumerate(judges)
    ]
    return Section("Worst disagreements", blocks, "People were clear, the judge was clear, each the other way.")


def _summary(one: JudgeFigures | TickJudgeFigures, names: JudgeNames, what: str) -> Markup:
    soft = Markup('<span class="soft">{} of {}</span>').format(
        fixed(len(one.worst), 0),
        count_noun(one.worst_of, f"{what} against the majority", f"{what}s against the majority"),
    )
    return Markup("{} {}").format(names(one), soft)


def _titles(one: JudgeFigures | TickJudgeFigures) -> dict[str, str]:
    return {part.criterion: part.name for part in one.criteria}
