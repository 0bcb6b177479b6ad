"""Several judges of one checklist, on the page of a judge report: as one, two by two, and where they disagree."""

from __future__ import annotations

from markupsafe import Markup

from salon.evaluate.judges.report_parts import Names
from salon.evaluate.judges.report_tick_results import TickReport
from salon.evaluate.judges.results import JudgeReport
from salon.report import Block, Cell, Column, Section, Table
from salon.report.words import brief, counted, level_words, listed

MOST = 40
RULES = {
    "majority": "majority of all",
    "unanimous": "yes only if all say yes",
    "routes": "by the routes given",
}


def together_section(report: JudgeReport, ticks: TickReport, names: Names) -> Section | None:
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


def _together_table(report: JudgeReport, ticks: TickReport, names: Names) -> Table:
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
            "rule": Cell(RULES[one.rule], "", Markup("{}, {}").format(
                listed(names(judge) for judge in one.judges), counted(one.macro.ticks, "tick"))),
            **{name: getattr(one.macro, name) for name in ("accuracy", "parsed_only", "unread", "lean")},
            "disputed": one.disputed,
            "settled": one.settled_accuracy,
            "split": one.disputed_accuracy,
        }
        for one in ticks.together
    ]  # fmt: skip
    caption = Markup("Several judges as one, against people: means over criteria, with {} intervals.")
    return Table(columns, rows, caption.format(level_words(report)))


def _agreement_table(ticks: TickReport, names: Names) -> Table:
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
