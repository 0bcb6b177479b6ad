"""How steady judges are, what their numbers tell, whom they agree with, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.evaluate.judges.report_parts import CHANCE, Names, every_judge
from salon.evaluate.judges.report_tick_results import TickJudged
from salon.evaluate.judges.results import BandFigures, JudgeFigures, JudgeReport
from salon.evaluate.judges.usage_results import UsageFigures
from salon.report import Block, Cell, Column, Figure, Section, Table, charts, numbers, value
from salon.report.words import brief, level_words, listed, sentence

MOST_IN_MATRIX = 24


def steady_section(report: JudgeReport, names: Names) -> Section | None:
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


def _wording_table(judges: Sequence[JudgeFigures], names: Names) -> Table:
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


def _by_criterion(judges: Sequence[JudgeFigures], names: Names) -> Table:
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


def number_section(report: JudgeReport, names: Names) -> Section | None:
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
    told = listed(dict.fromkeys(band.strong_is for _, band in held))
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


def agreement_section(report: JudgeReport, names: Names) -> Section | None:
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
        blocks.append(Figure(drawing, "Share of pairs on which both name the same item; a half by chance."))
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


def cost_section(report: JudgeReport, names: Names) -> Section | None:
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


def _reasons(judges: Sequence[tuple[JudgeFigures | TickJudged, UsageFigures]], names: Names) -> list[Block]:
    rows = [
        {"judge": names(one), "why": sentence(reason), "n": n}
        for one, usage in judges
        for reason, n in [*usage.failed.items(), *usage.reasons.items()]
    ]
    if not rows:
        return []
    columns = [Column("judge", "Judge"), Column("why", "Why it could not be read"), Column("n", "Answers", "count")]
    return [Table(columns, rows[:60], "Unread answers.")]
