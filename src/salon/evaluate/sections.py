"""The sections of an evaluation's page: pairs, checklists, flags and scores, each where there is something to say."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.check import CeilingFigures
from salon.evaluate import part_tables, tables
from salon.evaluate.pair_results import CHANCE, KIND_WORDS, JudgeFigures, PanelFigures
from salon.evaluate.part_tables import paper_table
from salon.evaluate.plots import BiasDot, bias_plot, reliability_plot
from salon.evaluate.results import KINDS, Evaluation, ScoreAgreement, TargetFigures, TickPanelFigures, TickReport
from salon.evaluate.tables import Names, headline
from salon.report import (
    SMALL,
    Badge,
    Block,
    Chart,
    ChartRow,
    Column,
    Curve,
    Details,
    Note,
    Prose,
    Section,
    Table,
    Tone,
    brief,
    charts,
    count_noun,
    fold,
    level_words,
    sentence,
)
from salon.report.words import fixed
from salon.stats import Estimate

NOT_RANKED = (
    "Flags say what is wrong with an item, so they enter no accuracy, mean or ceiling of this report; "
    "name a flag with --criterion to rank items by it."
)
CEILING_LINES = "Next rater and oracle: the points of a beta law; their ranges are in the tables."
SCALE_TONES: dict[str, Tone] = {
    "keeps": "clear", "collapsed": "alert", "collapsed and shifted": "alert", "shifted": "alert", "stretched": "open",
    "own scale": "thin", "none": "thin",
}  # fmt: skip
MOST_DRAWN, MOST_CRITERIA, MOST_DETAILS, MOST_IN_MATRIX, MOST_DIAGRAMS, MOST_HISTOGRAMS = 40, 12, 30, 24, 6, 12
FEW_HISTOGRAMS = 3
"""Histograms that stand open."""


def section(title: str, blocks: Sequence[Block | str | None], words: str) -> Section | None:
    """A section with the blocks there are; None without any."""
    present = [block for block in blocks if block is not None]
    return Section(title, present, words) if present else None


SHORT = 6
"""Rows of a section's main table that stand open; a longer one is behind a click."""


def short_or_folded(summary: str, table: Table | None, *more: Block | str | None) -> list[Block]:
    """A short table, and more behind a click; a long table is behind the same click."""
    if table is None or len(table.rows) > SHORT:
        return fold(summary, table, *more)
    return [table, *fold(f"{summary}: more", *more)]


# -- pairs -------------------------------------------------------------------------------------------------------------


def pair_sections(report: Evaluation, names: Names) -> list[Section | None]:
    """Everything about pairs but worst disagreements and cost; nothing where there are none."""
    if not report.judges:
        return []
    steady = [*tables.wording_tables(report, names), tables.sample_table(report, names)]
    generators = tables.generator_tables(report, names)
    return [
        _accuracy_section(report, names),
        section(
            "Across studies",
            short_or_folded("Accuracy in each study", tables.study_table(report, names)),
            "The same judges elsewhere.",
        ),
        _bias_section(report, names),
        _criterion_section(report, names),
        _panel_section(report, names),
        section(
            "Between judges",
            [
                *_agreement_words(report, names),
                *short_or_folded("Differences in accuracy", tables.comparison_table(report, names)),
                *fold(
                    "Agreement between judges",
                    _agreement_chart(report, names),
                    tables.agreement_table(report, names),
                ),
            ],
            "Is one better than another, and do they make the same mistakes?",
        ),
        _calibration_section(report, names),
        section(
            "Order of generators",
            short_or_folded("Generators by judge", *generators) if generators else [],
            "Would it rank generators as people do?",
        ),
        section(
            "Steadiness",
            short_or_folded("Wordings and repeated answers", *steady),
            "Does the answer depend on the wording, or on chance?",
        ),
        section(
            "Sensitivity",
            short_or_folded("Spread of the numbers", tables.band_table(report, names)),
            "Do the numbers tell strong from weak, or collapse into a band?",
        ),
        section(
            "Growth and chance",
            [
                _curve_chart(report),
                *fold("Learning curve and seeds", tables.curve_table(report), tables.seed_table(report, names)),
            ],
            "What would more data bring?",
        ),
    ]


def first_chart(report: Evaluation, names: Names) -> Chart | None:
    """The chart of the first screen: accuracy of judges, on pairs or checklists, or order of scorers."""
    if report.judges:
        return _accuracy_chart(report, names)
    if report.ticks is not None:
        return _tick_chart(report.ticks, names)
    return _target_chart(report, report.targets[0], names) if report.targets else None


def _accuracy_chart(report: Evaluation, names: Names) -> Chart:
    judges = report.judges[:MOST_DRAWN]
    rows = [
        (names[judge.name], a.value, a.low, a.high, KIND_WORDS[judge.kind])
        for judge in judges
        for a in [headline(report, judge).accuracy]
    ]
    tops = report.judges[0].pooled.ceilings if tables.is_pooled(report) or len(report.panel) == 1 else None
    lines = _ceiling_lines(tops)
    x_label = "accuracy" if tables.is_pooled(report) else "accuracy, mean over criteria"
    drawing = charts.dot_intervals(
        rows, CHANCE, lines, title="Accuracy by judge", null_label="chance", sort=False, x_label=x_label,
        within=(0.0, 1.0),
    )  # fmt: skip
    words = Markup("Accuracy; pairs without an answer count 0. Line: a coin, or always the first picture.")
    if lines:
        words += Markup(" ") + CEILING_LINES
    left = len(report.judges) - len(judges)
    more = Markup(" {} not drawn; see Accuracy.").format(count_noun(left, "judge")) if left else Markup("")
    return Chart(drawing, words + more)


def _accuracy_section(report: Evaluation, names: Names) -> Section | None:
    bare = [Note(sentence(f"No ceiling can be given: {report.judges[0].pooled.no_ceiling}"), "alert")]
    ceilings = tables.ceiling_table(report, names)
    words = Markup("From {} to {}; a coin would reach {}.").format(*_ends(report, names), fixed(CHANCE, 1))
    alone = Markup("{}; a coin would reach {}.").format(_ends(report, names)[1], fixed(CHANCE, 1))
    blocks = [
        Prose(words if len(report.judges) > 1 else alone),
        *(bare if ceilings is None else []),
        *fold("Accuracy of each judge", tables.accuracy_table(report, names)),
        *fold("Ceilings of each judge", ceilings),
    ]
    return section("Accuracy", blocks, "Agreement with the majority of people, and what could be reached.")


def _ends(report: Evaluation, names: Names) -> list[Markup]:
    """The lowest and the highest accuracy, with their judges."""
    ordered = sorted(report.judges, key=lambda judge: headline(report, judge).accuracy.value)
    return [
        Markup("{} ({})").format(fixed(headline(report, judge).accuracy.value), names[judge.name])
        for judge in (ordered[0], ordered[-1])
    ]


def _ceiling_lines(ceilings: CeilingFigures | None) -> list[tuple[str, float]]:
    if ceilings is None:
        return []
    return [("next rater", ceilings.next_rater.value), ("oracle", ceilings.oracle.value)]


def two_orders(report: Evaluation) -> list[tuple[JudgeFigures, Estimate, Estimate]]:
    """Judges that have a position bias and a conditional accuracy, with both."""
    return [
        (judge, judge.macro.position_bias, judge.macro.conditional)
        for judge in report.judges
        if judge.macro.position_bias is not None and judge.macro.conditional is not None
    ]


def _bias_section(report: Evaluation, names: Names) -> Section | None:
    judges = two_orders(report)
    if not judges:
        return None
    dots = [
        BiasDot(names[judge.name], b.value, c.value, (b.low, b.high), (c.low, c.high))
        for judge, b, c in judges[:MOST_DRAWN]
    ]
    words = (
        "Right: answers by position. Up: sees what people see, where position does not decide. Along a curve "
        "accuracy is the same, without ties; the line is chance."
    )
    blocks = [
        Chart(bias_plot(dots), words),
        *fold("Position bias of each judge", tables.first_table(report, names), tables.correlation_table(report)),
    ]
    return section("Bias and perception", blocks, "A low accuracy may be a poor eye or a strong lean: which is it?")


def _criterion_section(report: Evaluation, names: Names) -> Section | None:
    """A map of judges by criteria, then every figure of each judge."""
    criteria = {part.criterion: part.name for judge in report.judges for part in judge.criteria}
    judges = report.judges[:MOST_DETAILS]
    if len(criteria) < 2 and all(judge.macro.position_bias is None for judge in judges):
        return None
    blocks: list[Block | str] = []
    if 1 < len(criteria) <= MOST_CRITERIA:
        parts = [{part.criterion: part.figures for part in judge.criteria if part.figures} for judge in judges]
        drawing = charts.heat_map(
            [[own[id].accuracy.value if id in own else None for id in criteria] for own in parts],
            [names[judge.name] for judge in judges], [brief(name, 30) for name in criteria.values()],
            n=[[own[id].pairs if id in own else 0 for id in criteria] for own in parts],
            center=CHANCE, title="Accuracy by judge and criterion", value_name="accuracy", decimals=2,
        )  # fmt: skip
        blocks.append(
            Chart(drawing, "Accuracy by judge and criterion; blue above chance, orange below, pairs beneath.")
        )
    blocks += [
        Details(
            Markup("{} by criterion").format(names[judge.name]),
            [tables.criterion_table(report, judge)],
        )
        for judge in judges
    ]
    if len(report.judges) > MOST_DETAILS:
        blocks.append("The other judges' criteria are in the JSON.")
    return Section("By criterion", blocks, "Where a judge sees what people see, and where it does not.")


def _panel_section(report: Evaluation, names: Names) -> Section:
    """The people: how many votes, how good one more of them would be, and judges by how they split."""
    every = Details("All ceilings by criterion", [tables.panel_table(report, tables.CEILINGS)])
    panel = short_or_folded("Votes and ceilings by criterion", tables.panel_table(report))
    words = Markup("People gave {} on {}.").format(count_noun(report.votes, "vote"), count_noun(report.pairs, "pair"))
    blocks: list[Block | str] = [words, *panel, *_no_ceilings(report.panel), every]
    judges = report.judges[:MOST_DETAILS]
    over_all = tables.split_table([(names[judge.name], judge.buckets) for judge in judges], "All criteria")
    if over_all is not None:
        blocks += fold("Accuracy by how people split", over_all)
        criteria = {part.criterion: part.name for judge in judges for part in judge.criteria}
        each = [
            tables.split_table(
                [
                    (names[judge.name], part.buckets)
                    for judge in judges
                    for part in judge.criteria
                    if part.criterion == id
                ],
                brief(name),
            )
            for id, name in criteria.items()
        ]
        if len(criteria) > 1:
            splits = [table for table in each if table is not None]
            blocks.append(Details("Accuracy by split, for each criterion", splits))
    return Section("The panel", blocks, "The people the judges are held against, and how good one could get.")


def _no_ceilings(panel: Sequence[PanelFigures | TickPanelFigures]) -> list[Note]:
    absent = [row for row in panel if row.no_ceiling]
    names = ", ".join(brief(row.name) for row in absent)
    return [Note(f"No ceilings for {names}: {absent[0].no_ceiling}.", "thin")] if absent else []


def _agreement_words(report: Evaluation, names: Names) -> list[Prose]:
    """The two judges that agree most, and the two that agree least."""
    pairs = [(pair, pair.agreement) for pair in report.agreement if pair.agreement is not None]
    if not pairs:
        return []
    ordered = sorted(pairs, key=lambda entry: entry[1].value)
    most, least = (
        Markup("{} and {} ({})").format(names[pair.first], names[pair.second], fixed(agreement.value))
        for pair, agreement in (ordered[-1], ordered[0])
    )
    if len(pairs) == 1:
        return [Prose(Markup("How often they name the same item: {}.").format(most))]
    return [Prose(Markup("Most often of one opinion: {}. Least often: {}.").format(most, least))]


def _agreement_chart(report: Evaluation, names: Names) -> Chart | None:
    judges = [judge.name for judge in report.judges]
    by_pair = {frozenset((pair.first, pair.second)): pair for pair in report.agreement if pair.agreement is not None}
    if not 2 < len(judges) <= MOST_IN_MATRIX or not by_pair:
        return None
    pairs = [[by_pair.get(frozenset((x, y))) if x != y else None for y in judges] for x in judges]
    labels = [names[name] for name in judges]
    drawing = charts.heat_map(
        [[pair.agreement.value if pair and pair.agreement else None for pair in row] for row in pairs], labels, labels,
        n=[[pair.pairs if pair else 0 for pair in row] for row in pairs],
        center=CHANCE, limit=0.5, title="Agreement between judges", value_name="same item", decimals=2,
    )  # fmt: skip
    return Chart(drawing, "Share of pairs on which both name the same item; a half by chance.")


def _calibration_section(report: Evaluation, names: Names) -> Section | None:
    table = tables.calibration_table(report, names)
    if table is None:
        return None
    calibrated = [(names[judge.name], judge.calibration) for judge in report.judges if judge.calibration is not None]
    drawings = [
        Chart(reliability_plot(figures.bins, title=f"Reliability of {name}", width=SMALL), "", name)
        for name, figures in calibrated[:MOST_DIAGRAMS]
    ]
    words = "A dot for each bin of equally many pairs, by the chance given to the predicted winner. Below: too sure."
    blocks = [
        *short_or_folded("Calibration of each judge", table),
        *fold("Reliability diagrams", ChartRow(drawings, words)),
    ]
    return Section("Calibration", blocks, "Do the stated chances come true?")


def _curve_chart(report: Evaluation) -> Chart | None:
    curve = report.learning_curve
    if curve is None or len(curve.points) < 2:
        return None
    line = Curve(
        "accuracy",
        [point.prompts for point in curve.points],
        *([getattr(point.accuracy, end) for point in curve.points] for end in ("value", "low", "high")),
    )
    lines = [("chance", CHANCE), *_ceiling_lines(curve.ceiling)]
    drawing = charts.line_curves(
        [line], title="Learning curve", x_label="training prompts", y_label="accuracy", reference_lines=lines
    )
    return Chart(drawing, Markup("{}: accuracy on the same test pairs.").format(brief(curve.model)))


# -- checklists and flags ----------------------------------------------------------------------------------------------


def tick_sections(report: Evaluation, names: Names) -> list[Section | None]:
    """Everything about checklists but worst disagreements and cost; nothing where there are none."""
    ticks = report.ticks
    if ticks is None:
        return []
    points = part_tables.point_table(ticks, names)
    more = len(ticks.judges) > part_tables.MOST_COLUMNS or any(
        len(judge.points) > part_tables.MOST_POINTS for judge in ticks.judges
    )
    return [
        _tick_accuracy_section(report, ticks, names),
        section(
            "Point by point",
            fold(
                "Every point, by judge",
                points,
                "All points of all judges are in the JSON." if points is not None and more else None,
            ),
            "Which points a judge can see, and which it cannot.",
        ),
        section(
            "The people who ticked",
            [
                *short_or_folded("Ticks and ceilings by criterion", part_tables.tick_panel_table(report, ticks)),
                *_no_ceilings(ticks.panel),
                *fold("Accuracy by how people split", part_tables.tick_split_table(ticks, names)),
            ],
            "Whom the judges are held against, and how good one could get.",
        ),
        section(
            "Judges together",
            fold("Majorities and contradictions", *part_tables.joint_tables(report, ticks, names)),
            "What several judges say as one, and where they contradict each other.",
        ),
    ]


def _tick_chart(ticks: TickReport, names: Names) -> Chart:
    judges = ticks.judges[:MOST_DRAWN]
    rows = [(names[judge.name], a.value, a.low, a.high, "") for judge in judges for a in [judge.macro.accuracy]]
    lines = _ceiling_lines(ticks.panel[0].ceilings) if len(ticks.panel) == 1 else []
    drawing = charts.dot_intervals(
        rows, None, lines, title="Accuracy on checklists by judge", null_label="fixed answer", sort=False,
        x_label="accuracy, mean over criteria", row_nulls=[judge.macro.constant.value for judge in judges],
        within=(0.0, 1.0),
    )  # fmt: skip
    words = "Accuracy on checklists, unread answers counted as 0. Mark: the better of always yes and always no."
    return Chart(drawing, f"{words} {CEILING_LINES}" if lines else words)


def _tick_accuracy_section(report: Evaluation, ticks: TickReport, names: Names) -> Section:
    blocks: list[Block | str] = [_tick_chart(ticks, names)] if report.judges else []
    caption = Markup("Means over criteria, with {} intervals.").format(level_words(report))
    blocks += short_or_folded(
        "Accuracy of each judge", part_tables.tick_table(ticks, part_tables.TICK_ACCURACY, names, caption)
    )
    blocks += fold(
        "Which way each judge errs",
        part_tables.tick_table(ticks, part_tables.TICK_ERRORS, names, "Which way it errs: ticks that were read."),
    )
    if len({part.criterion for judge in ticks.judges for part in judge.criteria}) > 1:
        blocks += [
            Details(Markup("{} by criterion").format(names[judge.name]), [part_tables.tick_criterion_table(judge)])
            for judge in ticks.judges
        ]
    return Section("Checklists", blocks, "Agreement with the majority of people, point by point of every item.")


def flag_section(report: Evaluation, names: Names) -> Section | None:
    """What people flagged, and the judges that were asked for flags."""
    if not report.flags:
        return None
    blocks = [Note(NOT_RANKED, "plain"), *fold("Flags of people and judges", *part_tables.flag_tables(report, names))]
    return Section("Flags", blocks, "What people flagged, and whether judges flag the same items.")


# -- scores ------------------------------------------------------------------------------------------------------------


def score_sections(report: Evaluation, names: Names) -> list[Section | None]:
    """Everything about scores; nothing where there are none."""
    if not report.targets:
        return []
    first = report.targets[0]
    choice = report.choice
    words = None
    if choice is not None:
        words = Prose.of(
            "By {target} on {items}, none of them in the test; the others never saw it.",
            target=choice.target,
            items=count_noun(choice.items, "validation item"),
        )
    return [
        *(_target_section(report, target, names) for target in report.targets),
        _spread_section(first, names),
        _part_section(first, names, "categories", "category"),
        _part_section(first, names, "criteria", "criterion"),
        *_paper_sections(report, names),
        section(
            "Side by side",
            short_or_folded("Differences between scorers", part_tables.difference_table(report, first, names)),
            "Is one of them better, or was it luck?",
        ),
        section(
            "Which checkpoint",
            [words, *fold("Candidates on the validation items", part_tables.choice_table(report))],
            "Chosen before the test.",
        ),
        section(
            "Calls and passes",
            short_or_folded("Calls of each scorer", part_tables.cost_table(report)),
            "Calls to a model, beforehand and here.",
        ),
    ]


def _target_chart(report: Evaluation, target: TargetFigures, names: Names) -> Chart | None:
    rows = [
        (names[scorer.name], srcc.value, srcc.low, srcc.high, "")
        for scorer in target.scorers
        if (srcc := scorer.overall.srcc) is not None
    ]
    level = target.rater_level
    lines = [("one rater", level.srcc.value)] if level is not None and level.srcc is not None else []
    if not rows:
        return None
    drawing = charts.dot_intervals(
        rows[:MOST_DRAWN], 0.0, lines, title=f"SRCC against {target.name}", x_label="SRCC", null_label="no order"
    )
    return Chart(drawing, Markup("SRCC with {} intervals.").format(level_words(report)))


def _target_section(report: Evaluation, target: TargetFigures, names: Names) -> Section | None:
    chart = None if target is report.targets[0] else _target_chart(report, target, names)
    table = short_or_folded("Every figure of each scorer", part_tables.target_table(target, names))
    words = "Order, linear fit and distance, all criteria together."
    return section(f"Against {brief(target.name)}", [chart, *table], words)


def _spread_section(target: TargetFigures, names: Names) -> Section | None:
    scorers = [(scorer, scorer.histogram) for scorer in target.scorers if scorer.histogram is not None][
        :MOST_HISTOGRAMS
    ]
    row = None
    if scorers:
        top = max(
            max(part) / max(sum(part), 1)
            for _, histogram in scorers
            for part in (histogram.target, histogram.predicted)
        )
        drawings = []
        for scorer, histogram in scorers:
            total = max(sum(histogram.target), 1)
            drawing = charts.histogram_over_null(
                histogram.centers, histogram.predicted, [count / total for count in histogram.target],
                title=f"Scores of {scorer.name} and of the target", unit="scores", names=("predicted", "target"),
                top_share=top, medians=(None, None), decimals=2, height=170, width=SMALL,
            )  # fmt: skip
            badge = Badge(scorer.scale, SCALE_TONES[scorer.scale])
            drawings.append(Chart(drawing, heading=names[scorer.name], badge=badge))
        caption = "Bars: the scorer. Outline: the target. The same axes throughout."
        row = ChartRow(drawings, caption, legend=[("cohort-1", "predicted"), ("null-line", "target")])
    table = part_tables.spread_table(target, names)
    few = row is not None and len(row.figures) <= FEW_HISTOGRAMS
    blocks = [row if few else None, *fold("Level and spread of each scorer", None if few else row, table)]
    return section("Level and spread", blocks, "Where do the numbers lie, and where should they?")


def _part_section(target: TargetFigures, names: Names, of: str, word: str) -> Section | None:
    """A map of scorers by categories or criteria, then every figure of each scorer."""
    parts = {part.id: part.name for scorer in target.scorers for part in getattr(scorer, of)}
    if len(parts) < 2:
        return None
    blocks: list[Block | str] = []
    if len(parts) <= MOST_CRITERIA:
        each: list[dict[str, ScoreAgreement]] = [
            {part.id: part.agreed for part in getattr(scorer, of)} for scorer in target.scorers
        ]
        drawing = charts.heat_map(
            [[srcc.value if (srcc := own[id].srcc if id in own else None) else None for id in parts] for own in each],
            [names[scorer.name] for scorer in target.scorers], [brief(name, 30) for name in parts.values()],
            n=[[own[id].wanted if id in own else 0 for id in parts] for own in each],
            center=0.0, title=f"SRCC by scorer and {word}", value_name="SRCC", decimals=2,
        )  # fmt: skip
        blocks.append(Chart(drawing, f"SRCC by {word}; targets beneath. Intervals are in the tables."))
    for scorer in target.scorers:
        rows = [(part.name, part.agreed) for part in getattr(scorer, of)]
        table = part_tables.score_table(rows, word.capitalize(), names[scorer.name])
        blocks.append(Details(Markup("{} by {}").format(names[scorer.name], word), [table]))
    return Section(f"By {word}", blocks, "Where it goes with people, and where it does not.")


def _paper_sections(report: Evaluation, names: Names) -> list[Section]:
    """The paper's tables with the interval of every number; only where an untrained VLM is among the scorers."""
    if all(scorer.group != "base" for target in report.targets for scorer in target.scorers):
        return []
    sections = []
    for kind in KINDS:
        paper = paper_table(report, kind)
        columns = [
            Column("method", "Method"), *([Column("labels", "Labels")] if paper.has_labels else []),
            *(Column(f"f{n}", column.head, "estimate", column.decimals) for n, column in enumerate(paper.columns)),
            *([Column("scale", "Scale")] if paper.has_notes else []),
        ]  # fmt: skip
        blocks: list[Block] = []
        for block in paper.blocks:
            rows = [
                {"method": names.get(row.method, row.method), "labels": row.labels, "scale": row.note}
                | {f"f{n}": figure for n, figure in enumerate(row.figures)}
                for row in block.rows
            ]
            table = Table(columns, rows, f"{block.heading}. Against {brief(block.target)}.")
            blocks += fold(f"{block.heading}, against {brief(block.target)}", table)
        sections.append(Section(f"In one table: {paper.title}", blocks, "Untrained VLMs beside trained ones."))
    return sections
