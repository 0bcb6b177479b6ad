"""Judges criterion by criterion, and the panel they are held against: ceilings, splits, signal."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.evaluate.judges.report_parts import CHANCE, Names, criteria_of, range_cell, why_missing
from salon.evaluate.judges.results import BucketFigures, CriterionJudged, JudgeFigures, JudgeReport, PanelFigures
from salon.report import Badge, Block, Cell, Column, Details, Figure, Note, Section, Table, charts
from salon.report.block import Tone
from salon.report.words import brief, counted, level_words

MOST_CRITERIA = 12
MOST_DETAILS = 30
SHOWN = {
    "accuracy": ("Accuracy", "Unread pairs count 0"),
    "parsed_only": ("Parsed only", "Over pairs that were read"),
    "position_bias": ("b", "Follows the position"),
    "tie_rate": ("t", "A tie in one order or both"),
    "conditional": ("c", "Accuracy where both orders agree"),
    "unseen": ("Unread", "Pairs with an unread verdict"),
}
SIGNAL: dict[str, Tone] = {
    "yes, one taste": "clear",
    "yes; one taste or camps: cannot tell": "clear",
    "yes, in camps": "split",
    "no, opposed camps": "split",
    "no": "none",
    "cannot tell": "thin",
}


def criterion_section(report: JudgeReport, names: Names) -> Section | None:
    """A map of judges by criteria, then every figure of each judge."""
    criteria = criteria_of(report.judges)
    if len(criteria) < 2 and all(one.orders == 1 for one in report.judges):
        return None
    blocks: list[Block | str] = []
    if 1 < len(criteria) <= MOST_CRITERIA and len(report.judges) <= MOST_DETAILS:
        blocks.append(_map(report.judges, criteria, names))
    blocks += [
        Details(Markup("{} by criterion").format(names(one)), [_table(report, one)], open=len(report.judges) == 1)
        for one in report.judges[:MOST_DETAILS]
    ]
    if len(report.judges) > MOST_DETAILS:
        blocks.append("The other judges' criteria are in the JSON.")
    return Section("By criterion", blocks, "Where a judge sees what people see, and where it does not.")


def _map(judges: Sequence[JudgeFigures], criteria: dict[str, str], names: Names) -> Figure:
    rows, n = [], []
    for one in judges:
        found = {part.criterion: part.figures for part in one.criteria if part.figures is not None}
        rows.append([found[id].accuracy.value if id in found else None for id in criteria])
        n.append([found[id].pairs if id in found else 0 for id in criteria])
    drawing = charts.heat_map(
        rows, [names(one) for one in judges], [brief(name, 30) for name in criteria.values()], n=n, center=CHANCE,
        title="Accuracy by judge and criterion", value_name="accuracy", decimals=2,
    )  # fmt: skip
    return Figure(drawing, "Accuracy by judge and criterion; blue above chance, orange below, pairs beneath.")


def _table(report: JudgeReport, one: JudgeFigures) -> Table:
    columns = [Column("name", "Criterion")]
    columns += [Column(name, header, "estimate", 3, hint) for name, (header, hint) in SHOWN.items()]
    columns += [
        Column("with_ties", "Ties counted", "estimate", 3, "Same of first, second or tie; tied panels stay"),
        Column("pairs", "Pairs", "count"),
        Column("asked", "Asked", "count", hint="With votes, tied panels too"),
        Column("there", "of", "count", hint="Pairs with a majority in the study"),
    ]
    caption = Markup("With {} intervals.").format(level_words(report))
    return Table(columns, [_row(part) for part in one.criteria], caption)


def _row(part: CriterionJudged) -> dict[str, object]:
    cells: dict[str, object] = {name: Cell(None, "no pair with a majority") for name in SHOWN}
    if part.figures is not None:
        cells = {name: Cell(getattr(part.figures, name), why_missing(part.figures, name)) for name in SHOWN}
    return {
        "name": Cell(part.name, " ".join(part.warnings)),
        **cells,
        "with_ties": part.with_ties,
        "pairs": part.decided,
        "asked": part.asked,
        "there": part.panel_pairs,
    }


def panel_section(report: JudgeReport, names: Names) -> Section:
    """The people: how many votes, how good one more of them would be, and judges by how they split."""
    absent = [one.name for one in report.panel if one.no_ceiling]
    blocks: list[Block | str] = [_panel_table(report)]
    if absent:
        blocks.append(Note(f"No ceilings for {', '.join(absent)}: {report_reason(report.panel)}.", "thin"))
    blocks += _buckets(report, names)
    return Section("The panel", blocks, "The people the judges are held against, and how good one could get.")


def report_reason(panel: Sequence[PanelFigures]) -> str:
    """Why there are no ceilings."""
    return next(one.no_ceiling for one in panel if one.no_ceiling) or ""


def _panel_table(report: JudgeReport) -> Table:
    columns = [
        Column("name", "Criterion"),
        Column("pairs", "Pairs", "count"),
        Column("tied", "Tied", "count", hint="No majority: out of the denominators"),
        Column("raters", "Votes a pair"),
        Column("next_rater", "Next rater", "text", hint="Accuracy of one more person against this panel"),
        Column("oracle", "Oracle", "text", hint="Accuracy of a predictor that knows every pair's odds"),
    ]
    signals = any(one.signal for one in report.panel)
    columns += (
        [Column("signal", "Do people agree?", "badge", hint="What salon check says of these people")] if signals else []
    )
    rows = [
        {
            "name": one.name,
            "pairs": one.pairs,
            "tied": one.tied,
            "raters": one.raters,
            "next_rater": range_cell(one.next_rater, one.next_rater_range, one.no_ceiling),
            "oracle": range_cell(one.oracle, one.oracle_range, one.no_ceiling),
            "signal": _signal(one),
        }
        for one in report.panel
    ]
    caption = Markup(
        "Votes of people and the ceilings they set: ranges over all laws of pair odds that fit the votes. Below each "
        "its {} interval and the point of a beta law."
    ).format(level_words(report))
    return Table(columns, rows, caption)


def _signal(one: PanelFigures) -> Cell:
    if one.signal is None:
        return Cell(None)
    return Cell(Badge(one.signal, SIGNAL.get(one.signal, "open")), one.sentence or "")


def _buckets(report: JudgeReport, names: Names) -> list[Block]:
    """Accuracy by split over all criteria, then one table a criterion; nothing where all panels split one way."""
    over_all = _split_table([(names(one), one.buckets) for one in report.judges], "All criteria")
    criteria = criteria_of(report.judges)
    if over_all is None or len(criteria) < 2:
        return [] if over_all is None else [over_all]
    tables = []
    for id, name in criteria.items():
        parts = [(names(one), part.buckets) for one in report.judges for part in one.criteria if part.criterion == id]
        tables.append(_split_table(parts, brief(name)))
    return [over_all, Details("Accuracy by split, for each criterion", [one for one in tables if one is not None])]


def _split_table(parts: Sequence[tuple[str, Sequence[BucketFigures]]], name: str) -> Table | None:
    splits = list(dict.fromkeys(bucket.split for _, found in parts for bucket in found))
    if len(splits) < 2:
        return None
    columns = [Column("judge", "Judge"), *(Column(str(i), s, "estimate", 3) for i, s in enumerate(splits))]
    rows = [{"judge": judge, **_cells(found, splits)} for judge, found in parts]
    return Table(columns, rows, f"{name}: accuracy by split of the panel, clearest first; pairs beneath.")


def _cells(buckets: Sequence[BucketFigures], splits: Sequence[str]) -> dict[str, Cell]:
    found = {bucket.split: bucket for bucket in buckets}
    return {
        str(i): Cell(found[s].accuracy, found[s].accuracy.method, counted(found[s].pairs, "pair"))
        if s in found
        else Cell(None, "no pair split so")
        for i, s in enumerate(splits)
    }
