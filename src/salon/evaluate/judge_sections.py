"""Judges criterion by criterion, and the panel they are held against: ceilings, splits, signal."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.evaluate.page_parts import CHANCE, JudgeNames, criteria_of, every_judge, range_cell, why_missing
from salon.evaluate.results import (
    BandFigures,
    BucketFigures,
    JudgeCriterion,
    JudgeFigures,
    JudgeReport,
    PanelFigures,
    TickJudgeFigures,
    UsageFigures,
)
from salon.report import Badge, Block, Cell, Chart, Column, Details, Note, Section, Table, charts, numbers, value
from salon.report.blocks import Tone
from salon.report.words import brief, count_noun, join_names, level_words, sentence

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


def criterion_section(report: JudgeReport, names: JudgeNames) -> Section | None:
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


def _map(judges: Sequence[JudgeFigures], criteria: dict[str, str], names: JudgeNames) -> Chart:
    rows, n = [], []
    for one in judges:
        found = {part.criterion: part.figures for part in one.criteria if part.figures is not None}
        rows.append([found[id].accuracy.value if id in found else None for id in criteria])
        n.append([found[id].pairs if id in found else 0 for id in criteria])
    drawing = charts.heat_map(
        rows, [names(one) for one in judges], [brief(name, 30) for name in criteria.values()], n=n, center=CHANCE,
        title="Accuracy by judge and criterion", value_name="accuracy", decimals=2,
    )  # fmt: skip
    return Chart(drawing, "Accuracy by judge and criterion; blue above chance, orange below, pairs beneath.")


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


def _row(part: JudgeCriterion) -> dict[str, object]:
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


def panel_section(report: JudgeReport, names: JudgeNames) -> Section:
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


def _buckets(report: JudgeReport, names: JudgeNames) -> list[Block]:
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
        str(i): Cell(found[s].accuracy, found[s].accuracy.method, count_noun(found[s].pairs, "pair"))
        if s in found
        else Cell(None, "no pair split so")
        for i, s in enumerate(splits)
    }


# --------------------------------------------------------------------------------------------------
# How steady judges are, what their numbers tell, whom they agree with, and what they cost.
# --------------------------------------------------------------------------------------------------

MOST_IN_MATRIX = 24


def steady_section(report: JudgeReport, names: JudgeNames) -> Section | None:
    """Wordings of the question, and samples of the same one."""
    blocks: list[Block | str] = []
    worded = [one for one in report.judges if one.wordings is not None]
    if worded:
        blocks.append(_wording_table(worded, names))
        blocks.append(_by_criterion(worded, names))
    sampled = [one for one in every_judge(report) if one.self_agreement is not None]
    if sampled:
        columns = [
            Column("judge", "Judge"),
            Column("samples", "Samples", "count"),
            Column("agreement", "Two samples agree", "estimate", 3),
        ]
        rows = [{"judge": names(one), "samples": one.samples, "agreement": one.self_agreement} for one in sampled]
        blocks.append(Table(columns, rows, "Self-consistency: the same question asked again."))
    if not blocks:
        return None
    return Section("Steadiness", blocks, "Does the answer hang on the wording, or on chance?")


def _wording_table(judges: Sequence[JudgeFigures], names: JudgeNames) -> Table:
    columns = [
        Column("judge", "Judge"),
        Column(
            "sd", "Paraphrase sd", "number", 3, "Standard deviation over wordings of a criterion, mean over criteria"
        ),
        Column("expected", "By chance", "number", 3, "The same if the wording made no difference"),
        Column("p", "p", "p", hint="Share of random deals of wordings with as large a spread"),
        Column("worst", "Criterion with the largest sd"),
        Column("deals", "Deals", "count"),
    ]
    rows = []
    for one in judges:
        parts = [(part.wordings.sd, part.name) for part in one.criteria if part.wordings is not None]
        top = max(parts, key=lambda part: part[0], default=None)
        rows.append(
            {
                "judge": names(one),
                **{name: getattr(one.wordings, name) for name in ("sd", "expected", "p", "deals")},
                "worst": "–" if top is None else brief(top[1]),
            }
        )
    return Table(
        columns,
        rows,
        "Wordings of the question: spread of accuracy within a criterion, mean over criteria, against wordings dealt "
        "to the pairs by lot.",
    )


def _by_criterion(judges: Sequence[JudgeFigures], names: JudgeNames) -> Table:
    """Each criterion has wordings of its own, so spreads stand beside each other, not accuracies."""
    criteria = {part.criterion: part.name for one in judges for part in one.criteria if part.wordings is not None}
    columns = [Column("judge", "Judge")]
    columns += [Column(f"c{n}", brief(name), "number", 3) for n, name in enumerate(criteria.values())]
    rows = []
    for one in judges:
        found = {part.criterion: part.wordings for part in one.criteria if part.wordings is not None}
        cells = {
            f"c{n}": Cell(
                found[id].sd, "", Markup("p {}").format(value(found[id].p, None, numbers.p_value(found[id].p)))
            )
            if id in found
            else None
            for n, id in enumerate(criteria)
        }
        rows.append({"judge": names(one), **cells})
    return Table(columns, rows, "Paraphrase sd by criterion.")


def number_section(report: JudgeReport, names: JudgeNames) -> Section | None:
    """Do judges that give numbers tell strong from weak, or collapse into a band?"""
    held = [(one, band) for one in report.judges for band in one.bands]
    if not held:
        return None
    titles = {part.criterion: part.name for one in report.judges for part in one.criteria}
    columns = [
        Column("judge", "Judge"),
        Column("of", "Criterion"),
        Column("separation", "Strong above weak", "estimate", 3, "A half: cannot tell them apart"),
        Column("middle", "Middle 80%", "text"),
        Column("width", "Of the scale", "percent", 0),
        Column("levels", "Values in use", "number", 1, "Effective number: exp of the entropy"),
        Column("commonest", "Commonest", "percent", 0, "Share of the most frequent value"),
        Column("n", "Items", "count"),
        Column("missing", "Missing", "count"),
    ]
    rows = [_band_row(names(one), band, titles) for one, band in held]
    told = join_names(dict.fromkeys(band.strong_is for _, band in held))
    caption = Markup("Numbers and what they tell, with {} intervals. Strong and weak: {}.")
    table = Table(columns, rows, caption.format(level_words(report), told))
    return Section("Sensitivity", [table], "Do the numbers tell strong from weak, or collapse into a band?")


def _band_row(name: str, band: BandFigures, titles: dict[str, str]) -> dict[str, object]:
    return {
        "judge": name,
        "of": "all" if band.criterion is None else titles.get(band.criterion, band.criterion),
        "separation": Cell(band.separation, "" if band.separation else band.strong_is),
        "middle": Markup("{} – {}").format(*(value(x, None, numbers.significant(x)) for x in (band.low, band.high))),
        "width": Cell(band.width, "" if band.width is not None else "the scale has no ends"),
        "levels": band.levels,
        "commonest": band.commonest,
        "n": band.n,
        "missing": band.missing,
    }


def agreement_section(report: JudgeReport, names: JudgeNames) -> Section | None:
    """Every two judges: how often they name the same item where both name one."""
    known = [(one, one.agreement.value) for one in report.agreement if one.agreement is not None]
    if not known:
        return None
    judges = [one.judge for one in report.judges]
    found = {frozenset((one.first, one.second)): (one, value) for one, value in known}
    blocks: list[Block | str] = []
    if len(judges) <= MOST_IN_MATRIX and len(judges) > 2:
        pairs = [[found.get(frozenset((x, y))) if x != y else None for y in judges] for x in judges]
        drawing = charts.heat_map(
            [[None if entry is None else entry[1] for entry in row] for row in pairs],
            [names(x) for x in judges], [names(x) for x in judges],
            n=[[0 if entry is None else entry[0].pairs for entry in row] for row in pairs],
            center=CHANCE, limit=0.5, title="Agreement between judges", value_name="same item", decimals=2,
        )  # fmt: skip
        blocks.append(Chart(drawing, "Share of pairs on which both name the same item; a half by chance."))
    ranked = [one for one, _ in sorted(known, key=lambda entry: -entry[1])]
    columns = [
        Column("first", "Judge"),
        Column("second", "And"),
        Column("agreement", "Same item", "estimate", 3),
        Column("pairs", "Pairs", "count"),
    ]
    rows = [
        {"first": names(one.first), "second": names(one.second), "agreement": one.agreement, "pairs": one.pairs}
        for one in ranked[:40]
    ]
    caption = Markup("Most agreeing first, with {} intervals. Pairs on which one names no item are left out.")
    blocks.append(Table(columns, rows, caption.format(level_words(report))))
    return Section("Agreement between judges", blocks, "Do judges make the same mistakes?")


def cost_section(report: JudgeReport, names: JudgeNames) -> Section | None:
    """Answers, unread ones and why, tokens, money, time, and what a point of accuracy costs."""
    used = [(one, one.usage) for one in every_judge(report) if one.usage is not None]
    if not used:
        return None
    columns = [
        Column("judge", "Judge"),
        Column("answers", "Answers", "count"),
        Column("unread", "Unread", "count"),
        Column("tokens_in", "Tokens in", "count"),
        Column("tokens_out", "Tokens out", "count"),
        Column("seconds_median", "Median time", "duration"),
        Column("seconds_95", "95th", "duration", hint="95th percentile"),
        Column("given", "Given", hint="Days of the first and the last answer, UTC"),
        Column("cost", "Cost", "number", 4),
        Column("cost_per_1000", "a thousand", "number", 4, "Cost of a thousand pairs (items, ticks) on one criterion"),
        Column("cost_per_point", "a point", "estimate", 4, "That cost for each hundredth of accuracy above chance"),
    ]
    days = {one.judge: _days(usage) for one, usage in used}
    columns = [
        column
        for column in columns
        if column.path == "judge"
        or any(days.values() if column.path == "given" else (getattr(u, column.path) is not None for _, u in used))
    ]
    plain = [column.path for column in columns if column.path not in ("judge", "given")]
    rows = [
        {
            "judge": names(one),
            "given": Cell(days[one.judge] or None, "when is not known" if not days[one.judge] else ""),
            **{name: Cell(getattr(usage, name), _why(usage, name)) for name in plain},
        }
        for one, usage in used
    ]
    table = Table(columns, rows, "What the answers took; costs in the currency of the price file.")
    return Section("Cost", [table, *_reasons(used, names)], "What a judge costs, and what a point of accuracy does.")


def _days(usage: UsageFigures) -> str:
    """The days between the first and the last answer; empty where they are not told."""
    ends = [at[:10] for at in (usage.first_at, usage.last_at) if at]
    return " – ".join(dict.fromkeys(ends))


def _why(usage: UsageFigures, name: str) -> str:
    if name == "cost_per_point" and usage.cost and usage.cost_per_point is None:
        return "no accuracy above chance"
    if name.startswith("cost") and usage.cost is None:
        return "no cost is known"
    return f"{usage.cost_unknown} answers without a known cost" if name == "cost" and usage.cost_unknown else ""


def _reasons(judges: Sequence[tuple[JudgeFigures | TickJudgeFigures, UsageFigures]], names: JudgeNames) -> list[Block]:
    rows = [
        {"judge": names(one), "why": sentence(reason), "n": n}
        for one, usage in judges
        for reason, n in [*usage.failed.items(), *usage.reasons.items()]
    ]
    if not rows:
        return []
    columns = [Column("judge", "Judge"), Column("why", "Why it could not be read"), Column("n", "Answers", "count")]
    return [Table(columns, rows[:60], "Unread answers.")]
