"""Several judges of one checklist, on the page of a judge report: as one, two by two, and where they disagree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from salon.evaluate.page_parts import CEILING_LINES, CHANCE, JudgeNames, ceiling_lines, next_rater_card, range_cell
from salon.evaluate.results import (
    JudgeReport,
    TickCriterion,
    TickFigures,
    TickJudgeFigures,
    TickPanelFigures,
    TickPoint,
    TickReport,
)
from salon.report import (
    Badge,
    Block,
    Card,
    Cell,
    Chart,
    Column,
    Details,
    Note,
    Section,
    Table,
    VerdictLine,
    charts,
    estimate_value,
)
from salon.report.words import LONGEST_NAME, brief, count_noun, fixed, join_names, level_words, one_way

MOST = 40
RULE_WORDS = {
    "majority": "majority of all",
    "unanimous": "yes only if all say yes",
    "routes": "by the routes given",
}


def together_section(report: JudgeReport, ticks: TickReport, names: JudgeNames) -> Section | None:
    """Several judges as one, every two of them, and the points they dispute; None for a judge alone."""
    if not ticks.agreement and not ticks.together:
        return None
    blocks: list[Block | str] = []
    if ticks.together:
        blocks.append(_together_table(report, ticks, names))
    if ticks.agreement:
        blocks.append(_agreement_table(ticks, names))
    if ticks.disputed:
        blocks.append(_disputed_table(ticks))
    return Section("Judges together", blocks, "What several judges say as one, and where they contradict each other.")


def _together_table(report: JudgeReport, ticks: TickReport, names: JudgeNames) -> Table:
    columns = [
        Column("rule", "Rule"),
        Column("accuracy", "Accuracy", "estimate", 3, "Ticks left open count 0"),
        Column("parsed_only", "Where decided", "estimate", 3, "Over ticks that the rule decides"),
        Column("unread", "Open", "estimate", 3, "Share of ticks that the rule leaves open"),
        Column("lean", "Lean", "estimate", 3, "Pass rate less that of people"),
        Column("disputed", "Disputed", "estimate", 3, "Some say yes and some no"),
        Column("settled", "When they agree", "estimate", 3, "Accuracy where all who could be read say the same"),
        Column("split", "When they do not", "estimate", 3),
    ]
    rows = [
        {
            "rule": Cell(RULE_WORDS[one.rule], "", Markup("{}, {}").format(
                join_names(names(judge) for judge in one.judges), count_noun(one.macro.ticks, "tick"))),
            **{name: getattr(one.macro, name) for name in ("accuracy", "parsed_only", "unread", "lean")},
            "disputed": one.disputed,
            "settled": one.settled_accuracy,
            "split": one.disputed_accuracy,
        }
        for one in ticks.together
    ]  # fmt: skip
    caption = Markup("Several judges as one, against people: means over criteria, with {} intervals.")
    return Table(columns, rows, caption.format(level_words(report)))


def _agreement_table(ticks: TickReport, names: JudgeNames) -> Table:
    columns = [
        Column("first", "Judge"),
        Column("second", "And"),
        Column("agreement", "Say the same", "estimate", 3),
        Column("kappa", "κ", "estimate", 3, "The same beyond chance"),
        Column("ticks", "Ticks", "count"),
    ]
    ranked = sorted(ticks.agreement, key=lambda one: -one.agreement.value)
    rows = [
        {
            "first": names(one.first),
            "second": names(one.second),
            "agreement": one.agreement,
            "kappa": Cell(one.kappa, "" if one.kappa else "both always say one thing"),
            "ticks": one.ticks,
        }
        for one in ranked[:MOST]
    ]
    return Table(columns, rows, "Every two judges, over the ticks on which both could be read; most agreeing first.")


def _disputed_table(ticks: TickReport) -> Table:
    criteria = {part.criterion: part.name for one in ticks.judges for part in one.criteria}
    several = len(criteria) > 1
    columns = [
        Column("point", "Point"),
        *([Column("criterion", "Criterion")] if several else []),
        Column("disputed", "Disputed", "count", hint="Items on which some judges say yes and some no"),
        Column("ticks", "of", "count", hint="Items on which two judges or more were asked"),
    ]
    rows = [
        {
            "point": brief(one.point),
            "criterion": criteria.get(one.criterion, one.criterion),
            "disputed": one.disputed,
            "ticks": one.ticks,
        }
        for one in ticks.disputed[:MOST]
    ]
    return Table(columns, rows, "Points on which judges contradict each other, most disputed first.")


# --------------------------------------------------------------------------------------------------
# Checklists on the page of a judge report: what each judge is worth, which way it errs, point by point.
# --------------------------------------------------------------------------------------------------

MOST_DRAWN = 40
MOST_POINTS = 40
MOST_COLUMNS = 6
ONE_SIDED = "people, or the judge, only ever say one thing here"
ACCURACY = {
    "accuracy": ("Accuracy", "Mean over criteria; unread answers count 0"),
    "parsed_only": ("Parsed only", "Over ticks that were read"),
    "constant": ("Fixed answer", "The better of always yes and always no: chance"),
    "gain": ("Gain", "Accuracy less that of the fixed answer"),
    "balanced": ("Balanced", "Mean of accuracy where people say yes and where they say no; a half by chance"),
    "kappa": ("κ", "Cohen's kappa with the majority; 0 by chance"),
    "unread": ("Unread", "Share of ticks without a readable answer"),
}
ERRORS = {
    "on_yes": ("Right on yes", "Where people say yes"),
    "on_no": ("Right on no", "Where people say no"),
    "pass_rate": ("Passes", "Share of the read ticks that the judge passes"),
    "people_pass": ("People pass", "Share of the same ticks that people pass"),
    "lean": ("Lean", "The judge's pass rate less that of people: above 0 it is too kind"),
}


def tick_sections(report: JudgeReport, names: JudgeNames) -> list[Section]:
    """Everything about checklists but worst disagreements and cost; nothing where there are none."""
    if report.ticks is None:
        return []
    sections = [
        _worth_section(report, report.ticks, names),
        _point_section(report.ticks, names),
        _people_section(report, report.ticks, names),
        together_section(report, report.ticks, names),
    ]
    return [section for section in sections if section is not None]


def tick_standing(figures: TickFigures) -> tuple[str, Badge]:
    """Can it tell yes from no? By balanced accuracy, which is a half for a coin and for a fixed answer."""
    balanced = figures.balanced
    if balanced is None and figures.parsed_only is None:
        return "unread", Badge("never read", "open")
    if balanced is None or balanced.low is None or balanced.high is None:
        return "thin", Badge("too little data", "thin")
    if balanced.low > CHANCE:
        return "above", Badge("tells yes from no", "clear")
    if balanced.high >= CHANCE:
        return "chance", Badge("cannot tell yes from no", "none")
    return "below", Badge("worse than chance", "alert")


def tick_verdicts(ticks: TickReport, names: JudgeNames, group: str = "") -> list[VerdictLine]:
    """Each judge in plain words."""
    return [
        VerdictLine(names(one), tick_standing(one.macro)[1], _tick_verdict_words(one), group) for one in ticks.judges
    ]


def _tick_verdict_words(one: TickJudgeFigures) -> Markup:
    figures = one.macro
    parts = [
        Markup("Agrees with people on {}, {} a fixed answer ({})").format(
            estimate_value(figures.accuracy, None), _against_fixed(figures), fixed(figures.constant.value)
        )
    ]
    lean = figures.lean
    if lean is not None and lean.low is not None and lean.high is not None and not lean.low <= 0 <= lean.high:
        words = "passes more than people do" if lean.value > 0 else "passes less than people do"
        parts.append(Markup("{}, by {}").format(words, estimate_value(lean, None)))
    if figures.unread.value > 0:
        parts.append(Markup("could not be read on {}").format(estimate_value(figures.unread, None)))
    if one.to_best is not None:
        apart = one.to_best.high is not None and one.to_best.high < 0
        parts.append(Markup("{} the best judge").format("below" if apart else "not told apart from"))
    return Markup(", ").join(parts) + Markup(".")


def _against_fixed(figures: TickFigures) -> str:
    low, high = figures.gain.low, figures.gain.high
    if low is None or high is None or low <= 0 <= high:
        return "not told apart from"
    return "above" if low > 0 else "below"


def tick_cards(ticks: TickReport, names: JudgeNames) -> list[Card]:
    """The few numbers at the head of a page about checklists."""
    best = ticks.judges[0]
    above = sum(tick_standing(one.macro)[0] == "above" for one in ticks.judges)
    words = Markup("{} of {}").format(fixed(above, 0), fixed(len(ticks.judges), 0))
    cards = [
        Card("Best on checklists", estimate_value(best.macro.accuracy, None), names(best)),
        Card("Tell yes from no", words, "balanced accuracy above a half", "clear" if above else "none"),
    ]
    cards += next_rater_card(ticks.panel, "accuracy of one more person on these points")
    leaning = [(one, one.macro.lean) for one in ticks.judges if one.macro.lean is not None]
    if leaning:
        most, lean = max(leaning, key=lambda entry: abs(entry[1].value))
        kind = "passes more than people" if lean.value > 0 else "passes less than people"
        cards.append(Card("Strongest lean", estimate_value(lean, None), f"{names(most)}: {kind}"))
    return cards


# -- worth -------------------------------------------------------------------------------------------------------------


def _worth_section(report: JudgeReport, ticks: TickReport, names: JudgeNames) -> Section:
    blocks: list[Block | str] = []
    if len(ticks.judges) <= MOST_DRAWN:
        blocks.append(_figure(ticks, names))
    caption = Markup("Means over criteria, with {} intervals.").format(level_words(report))
    blocks.append(_table(ticks.judges, ACCURACY, names, caption))
    blocks.append(_table(ticks.judges, ERRORS, names, Markup("Which way it errs: ticks that were read.")))
    if len({part.criterion for one in ticks.judges for part in one.criteria}) > 1:
        blocks += [Details(Markup("{} by criterion").format(names(one)), [_criteria(one)]) for one in ticks.judges]
    words = "Agreement with the majority of people, point by point of every item."
    return Section("Checklists", blocks, words)


def _figure(ticks: TickReport, names: JudgeNames) -> Chart:
    rows = [
        (names(one), one.macro.accuracy.value, one.macro.accuracy.low, one.macro.accuracy.high, "")
        for one in ticks.judges
    ]
    lines = ceiling_lines(ticks.panel)
    drawing = charts.dot_intervals(
        rows, None, lines, title="Accuracy on checklists by judge", null_label="fixed answer", sort=False,
        x_label="accuracy, mean over criteria", row_nulls=[one.macro.constant.value for one in ticks.judges],
        within=(0.0, 1.0),
    )  # fmt: skip
    words = "Accuracy on checklists, unread answers counted as 0. Mark: the better of always yes and always no."
    return Chart(drawing, f"{words} {CEILING_LINES}" if lines else words)


def _table(
    judges: Sequence[TickJudgeFigures], shown: Mapping[str, tuple[str, str]], names: JudgeNames, caption: Markup
) -> Table:
    columns = [Column("judge", "Judge")]
    columns += [Column(name, header, "estimate", 3, hint) for name, (header, hint) in shown.items()]
    if "accuracy" in shown:
        columns.append(Column("to_best", "To the best", "estimate", 3, "On the ticks both met, drawn together"))
    rows = [
        {
            "judge": Cell(names(one), one.signature or "", _on_ticks(one)),
            **_cells(one.macro, shown),
            "to_best": Cell(one.to_best, "" if one.to_best else "the best judge itself, or no tick in common"),
        }
        for one in judges
    ]
    return Table(columns, rows, caption)


def _on_ticks(one: TickJudgeFigures) -> Markup:
    return Markup("{}{}").format(count_noun(one.macro.ticks, "tick"), ", simulated" if one.simulated else "")


def _cells(figures: TickFigures, shown: Mapping[str, object]) -> dict[str, Cell]:
    missing = "no tick was read" if figures.parsed_only is None else ONE_SIDED
    return {
        name: Cell(held, "" if held is not None else missing)
        for name, held in ((name, getattr(figures, name)) for name in shown)
    }


def _criteria(one: TickJudgeFigures) -> Table:
    shown = {**ACCURACY, **ERRORS}
    columns = [Column("name", "Criterion")]
    columns += [Column(name, header, "estimate", 3, hint) for name, (header, hint) in shown.items()]
    columns += [Column("decided", "Ticks", "count"), Column("asked", "Asked", "count", hint="Evenly split ones too")]
    columns += [Column("there", "of", "count", hint="Ticks with a majority in the study")]
    return Table(columns, [_criterion_row(part, shown) for part in one.criteria], "Criterion by criterion.")


def _criterion_row(part: TickCriterion, shown: Mapping[str, object]) -> dict[str, object]:
    cells: dict[str, object] = {name: Cell(None, "no tick with a majority") for name in shown}
    if part.figures is not None:
        cells = {**_cells(part.figures, shown)}
    name = Cell(part.name, " ".join(part.warnings))
    return {"name": name, **cells, "decided": part.decided, "asked": part.asked, "there": part.panel_ticks}


# -- points ------------------------------------------------------------------------------------------------------------


def _point_section(ticks: TickReport, names: JudgeNames) -> Section | None:
    """Points by judges, the hardest first; a list of one point says no more than the figures above."""
    judges = ticks.judges[:MOST_COLUMNS]
    found: dict[tuple[str, str], dict[str, TickPoint]] = {}
    for one in judges:
        for point in one.points:
            found.setdefault((point.criterion, point.point), {})[one.judge] = point
    if len(found) < 2:
        return None
    criteria = {part.criterion: part.name for one in judges for part in one.criteria}
    several = len({criterion for criterion, _ in found}) > 1
    columns = [Column("point", "Point")] + ([Column("criterion", "Criterion")] if several else [])
    columns += [Column("people", "People pass", "text")]
    columns += [Column(str(i), names(one), "estimate", 2) for i, one in enumerate(judges)]
    ranked = sorted(found.items(), key=lambda entry: _mean(entry[1].values()))
    rows = [
        {
            "point": Cell(brief(point), one_way(point) if len(point) > LONGEST_NAME else ""),
            "criterion": criteria.get(criterion, criterion),
            "people": _passed(next(iter(held.values()))),
            **{str(i): _point_cell(held.get(one.judge)) for i, one in enumerate(judges)},
        }
        for (criterion, point), held in ranked[:MOST_POINTS]
    ]
    caption = "Accuracy point by point, hardest first; beneath, the items that the judge passes."
    blocks: list[Block | str] = [Table(columns, rows, caption)]
    if len(ranked) > MOST_POINTS or len(ticks.judges) > MOST_COLUMNS:
        blocks.append("All points of all judges are in the JSON.")
    return Section("Point by point", blocks, "Which points a judge can see, and which it cannot.")


def _mean(points: Iterable[TickPoint]) -> float:
    values = [one.accuracy.value for one in points]
    return sum(values) / len(values)


def _passed(one: TickPoint) -> Markup:
    return Markup("{} of {}").format(fixed(one.people_yes, 0), fixed(one.ticks, 0))


def _point_cell(one: TickPoint | None) -> Cell:
    if one is None:
        return Cell(None, "not asked")
    under = Markup("passes {}").format(fixed(one.judge_yes, 0))
    if one.unread:
        under += Markup(", {} unread").format(fixed(one.unread, 0))
    return Cell(one.accuracy, one.accuracy.method, under)


# -- people ------------------------------------------------------------------------------------------------------------


def _people_section(report: JudgeReport, ticks: TickReport, names: JudgeNames) -> Section:
    columns = [
        Column("name", "Criterion"),
        Column("ticks", "Ticks", "count", hint="Points, each counted once an item"),
        Column("points", "Points", "count"),
        Column("tied", "Tied", "count", hint="No majority: out of the denominators"),
        Column("raters", "Answers a tick"),
        Column("pass_rate", "Pass", "estimate", 3, "Share of ticks with a majority that people pass"),
        Column("two_people", "Two people agree", "estimate", 3),
        Column("kappa", "κ", "estimate", 3, "The same beyond chance; 0: people answer at random"),
        Column("next_rater", "Next rater", "text", hint="Accuracy of one more person against this panel"),
        Column("oracle", "Oracle", "text", hint="Accuracy of one who knows every tick's odds"),
    ]
    caption = Markup(
        "Answers of people, and the ceilings they set: ranges over all laws of the ticks' odds that fit the answers. "
        "Below each range its {} interval and the point of a beta law."
    ).format(level_words(report))
    blocks: list[Block | str] = [Table(columns, [_person_row(one) for one in ticks.panel], caption)]
    absent = [one for one in ticks.panel if one.no_ceiling]
    if absent:
        words = f"No ceilings for {', '.join(brief(one.name) for one in absent)}: {absent[0].no_ceiling}."
        blocks.append(Note(words, "thin"))
    blocks += _splits(ticks, names)
    return Section("The people who ticked", blocks, "Whom the judges are held against, and how good one could get.")


def _person_row(one: TickPanelFigures) -> dict[str, object]:
    plain = {name: getattr(one, name) for name in ("name", "ticks", "points", "tied", "raters", "pass_rate")}
    agreement = {name: Cell(getattr(one, name), one.no_ceiling or "") for name in ("two_people", "kappa")}
    return {
        **plain,
        **agreement,
        "next_rater": range_cell(one.next_rater, one.next_rater_range, one.no_ceiling),
        "oracle": range_cell(one.oracle, one.oracle_range, one.no_ceiling),
    }


def _splits(ticks: TickReport, names: JudgeNames) -> list[Block]:
    found = list(dict.fromkeys(part.split for one in ticks.judges for part in one.splits))
    if len(found) < 2:
        return []
    columns = [Column("judge", "Judge"), *(Column(str(i), split, "estimate", 3) for i, split in enumerate(found))]
    rows = []
    for one in ticks.judges:
        held = {part.split: part for part in one.splits}
        cells = {
            str(i): Cell(held[s].accuracy, held[s].accuracy.method, count_noun(held[s].ticks, "tick"))
            for i, s in enumerate(found)
            if s in held
        }
        rows.append({"judge": names(one), **dict.fromkeys(map(str, range(len(found)))), **cells})
    return [Table(columns, rows, "Accuracy by split of the people, clearest first; ticks beneath.")]
