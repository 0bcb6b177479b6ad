"""Every table of an evaluation, once: terminal and page print the same `Table`.

Columns come from the fields of the results. A column that is empty in all rows is left out, so that one table serves
judges, scorers and models alike. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from salon.check import CeilingFigures
from salon.evaluate.pair_results import (
    CHANCE,
    KIND_WORDS,
    AccuracyFigures,
    BandFigures,
    BucketFigures,
    FigureCorrelation,
    GeneratorFigures,
    GeneratorOrder,
    JudgeAgreement,
    JudgeCriterion,
    JudgeFigures,
    LearningPoint,
    PairedFigures,
    PanelFigures,
    SeedSpread,
    UsageFigures,
)
from salon.evaluate.results import (
    Evaluation,
    FlagJudge,
    ScorerFigures,
    TickAgreement,
    TickJudgeFigures,
)
from salon.report import (
    Badge,
    Cell,
    Column,
    Table,
    Tone,
    brief,
    columns_of,
    count_noun,
    distinct_names,
    join_names,
    law_range,
    law_range_note,
    level_words,
    numbers,
    sentence,
    value,
)
from salon.report.words import fixed
from salon.stats import Estimate, PairCalibration, WordingSpread

Names = Mapping[str, str]
"""How each judge is printed."""
Part = tuple[type, Sequence[str]] | Column
"""Some fields of a result class, or one column of its own."""
NAME = 44
SURE = 0.05
"""Adjusted p below which two models are told apart."""
MOST, MOST_COMPARISONS, MOST_REASONS = 40, 200, 60
ACCURACY = ("accuracy", "parsed_only", "position_bias", "tie_rate", "conditional", "unseen")
QUOTED = ("next_rater", "oracle")
"""Ceilings that votes do not fix: ranges over all laws of the odds that fit."""
CEILINGS = (*QUOTED, "leave_one_out", "leave_one_out_dropped", "panel", "cap")
JUDGE: Part = (JudgeFigures, ("name",))
JUDGE_NAME = columns_of(JudgeFigures, "name")[0]
WITH_JUDGES = (JudgeFigures, TickJudgeFigures, ScorerFigures, PairedFigures, JudgeAgreement, TickAgreement, FlagJudge)
"""Results whose `name`, `judge`, `first` and `second` are judges."""
WHY = {
    "tau": "no prompt with an order of all its items",
    "to_best": "the best itself, or nothing in common",
    "separation": "no group with strong and weak items",
    "width": "the scale has no ends",
    "alpha": "it needs two answers on an item, and two levels in use",
    "kappa": "people, or a judge, only ever say one thing here",
    "srcc": "no group has a correlation",
    "mae": "not on the target's scale",
    "rmse": "not on the target's scale",
    "cost": "no cost is known",
    "cost_per_1000": "no cost is known",
    "cost_per_point": "no cost is known, or no accuracy above chance",
}
"""Why a figure may be missing."""
FIGURE_WORDS = {
    "accuracy": "accuracy",
    "position_bias": "position bias b",
    "conditional": "conditional accuracy c",
    "tie_rate": "tie rate t",
    "unseen": "unread pairs u",
}
SIGNAL_TONES: dict[str, Tone] = {
    "yes, one taste": "clear",
    "yes; one taste or camps: cannot tell": "clear",
    "yes, in camps": "split",
    "no, opposed camps": "split",
    "no": "none",
    "cannot tell": "thin",
}


def judge_names(report: Evaluation) -> dict[str, str]:
    """How each judge is printed: brief, and numbered where two would read alike."""
    names = [judge.name for study in (report, *report.also) for judge in study.every_judge]
    names += [judge.judge for panel in report.flags for judge in panel.judges]
    names += [scorer.name for target in report.targets for scorer in target.scorers]
    return distinct_names(dict.fromkeys(names), NAME)


def is_pooled(report: Evaluation) -> bool:
    """Whether the headline is the accuracy on all pairs, as of models; of judges it is the mean over criteria."""
    return report.signature.method == "evaluate"


def answerer_noun(report: Evaluation) -> str:
    """What the report's judges are called: raters where all are people, models where all are models or scorers."""
    people = [judge.kind == "person" for judge in report.judges]
    if people and all(people):
        return "rater"
    return "model" if is_pooled(report) and not any(people) else "judge"


def headline(report: Evaluation, judge: JudgeFigures) -> AccuracyFigures:
    """The accuracy that judges are ordered by."""
    return judge.pooled if is_pooled(report) else judge.macro


# -- how a table is made -----------------------------------------------------------------------------------------------


def make_table(
    parts: Sequence[Part],
    rows: Sequence[Sequence[object]],
    caption: str = "",
    names: Names | None = None,
    label: str = "",
) -> Table:
    """A table of the fields that `parts` name; each row holds a result (or the value) for each part.

    A word in the place of a result is the reason why there is none.
    """
    columns: list[Column] = []
    cells: list[dict[str, Cell]] = [{} for _ in rows]
    for place, part in enumerate(parts):
        for column in [part] if isinstance(part, Column) else columns_of(part[0], *part[1]):
            for row, cell in zip(rows, cells):
                value_or_result = row[place]
                if isinstance(part, Column):
                    cell[column.path] = value_or_result if isinstance(value_or_result, Cell) else Cell(value_or_result)
                else:
                    cell[column.path] = _cell(value_or_result, column.path, names or {})
            if any(cell[column.path].raw not in (None, "") for cell in cells):
                ranged = not isinstance(part, Column) and part[0] is CeilingFigures and column.path in QUOTED
                columns.append(Column(column.path, column.header, "text", None, column.hint) if ranged else column)
    return Table(columns, cells, caption, label=label)


def _cell(result: object, path: str, names: Names) -> Cell:
    """One field of a result, with the reason where it is missing."""
    if result is None or isinstance(result, str):
        return Cell(None, result or "")
    field: Any = getattr(result, path, None)
    if isinstance(result, WITH_JUDGES) and path in ("name", "judge", "first", "second"):
        return Cell(names[field])
    if isinstance(result, CeilingFigures) and path in QUOTED:
        return Cell(law_range(getattr(result, f"{path}_range")), field.method, law_range_note(field))
    if field is not None:
        return Cell(field, field.method if isinstance(result, BucketFigures) and isinstance(field, Estimate) else "")
    return Cell(None, _why_no_accuracy(result, path) if isinstance(result, AccuracyFigures) else WHY.get(path, ""))


def judge_cell(judge: JudgeFigures | TickJudgeFigures, names: Names) -> Cell:
    """A judge with its signature, what it is, and on how many pairs or ticks it was measured."""
    simulated = ", simulated" if judge.simulated else ""
    if isinstance(judge, TickJudgeFigures):
        words = Markup("{}{}").format(count_noun(judge.macro.ticks, "tick"), simulated)
    else:
        kind = "" if judge.kind in ("pairs", "rater") else f"{KIND_WORDS[judge.kind]}, "
        form = f"{judge.form}, " if judge.form else ""
        words = Markup("{}{}{}{}").format(kind, form, count_noun(judge.pooled.pairs, "pair"), simulated)
    return Cell(names[judge.name], judge.signature or "", words)


def _why_no_accuracy(figures: AccuracyFigures, path: str) -> str:
    if figures.parsed_only is None:
        return "no pair was read"
    if path in ("position_bias", "took_first") and figures.position_bias is None:
        return "one order, or none: no position bias can be given"
    return "no pair with the same answer in both orders"


def at_level(words: str, report: Evaluation) -> Markup:
    """Words with the level of the intervals in them."""
    return Markup(words).format(level_words(report))


# -- pairs -------------------------------------------------------------------------------------------------------------


def accuracy_table(report: Evaluation, names: Names) -> Table:
    """All judges: accuracy and what it is made of, beside its ceilings."""
    pooled = is_pooled(report)
    parts: list[Part] = [
        JUDGE_NAME, (AccuracyFigures, ACCURACY[:2] if pooled else ACCURACY),
        (CeilingFigures, QUOTED),
        (JudgeFigures, ("tau", "to_best", "order_flips") if pooled else ("with_ties", "to_best")),
        (JudgeFigures, ("says_first",)), (PairCalibration, ("slope",)),
        Column("generators", "Generators", "estimate", 2, "Spearman's correlation with people over generators"),
        (AccuracyFigures, ("pairs", "unscored")), (UsageFigures, ("cost_per_point",)),
    ]  # fmt: skip
    rows = []
    for judge in report.judges:
        figures, order = headline(report, judge), judge.generators
        ceilings = figures.ceilings or figures.no_ceiling
        spearman = Cell(order.spearman, order.reason or "") if order and pooled else None
        person = judge if judge.kind == "person" else None
        start = (judge_cell(judge, names), figures, ceilings, judge, person)
        rows.append((*start, judge.calibration, spearman, figures, judge.usage))
    which = "All pairs of all criteria" if pooled else "Means over criteria (ties counted: over all pairs)"
    return make_table(parts, rows, at_level(f"{which}, with {{}} intervals; chance is {CHANCE}.", report), names)


def ceiling_table(report: Evaluation, names: Names) -> Table | None:
    """Every ceiling of the pairs that judges were measured on; once where all were measured on the same."""
    measured: dict[tuple[str, ...], tuple[str, CeilingFigures]] = {}
    for judge in report.judges:
        if judge.pooled.ceilings is not None:
            criteria = tuple(part.criterion for part in judge.criteria)
            key = (*criteria, judge.name) if judge.kind == "person" else criteria
            measured.setdefault(key, (names[judge.name], judge.pooled.ceilings))
    rows = [("all judges" if len(measured) == 1 else f"pairs of {name}", tops) for name, tops in measured.values()]
    parts: list[Part] = [Column("of", "On the pairs of"), (CeilingFigures, (*CEILINGS, "tied_share"))]
    caption = (
        "Ceilings over all criteria, with {} intervals. Quote the ranges of next rater and oracle; cap is no bound."
    )
    return make_table(parts, rows, at_level(caption, report)) if rows else None


def criterion_table(report: Evaluation, judge: JudgeFigures) -> Table:
    """Every figure of a judge, criterion by criterion."""
    parts: list[Part] = [
        *columns_of(JudgeCriterion, "name"), (AccuracyFigures, ACCURACY[:2] if is_pooled(report) else ACCURACY),
        (CeilingFigures, QUOTED), (JudgeCriterion, ("with_ties", "tau", "decided", "asked", "panel_pairs")),
    ]  # fmt: skip
    rows = [
        (
            Cell(part.name, " ".join(part.warnings)),
            part.figures or "no pair with a majority",
            part.figures.ceilings if part.figures else None,
            part,
        )
        for part in judge.criteria
    ]
    return make_table(parts, rows, at_level("With {} intervals.", report))


def matrix_table(report: Evaluation, names: Names) -> Table | None:
    """Accuracy of judges by criteria, ceilings in italics; None for one criterion."""
    criteria = {part.criterion: part.name for judge in report.judges for part in judge.criteria}
    if len(criteria) < 2:
        return None
    columns = [
        JUDGE_NAME,
        *(Column(str(i), name, "estimate", 3) for i, name in enumerate(criteria.values())),
    ]
    rows: list[tuple[object, ...]] = []
    for judge in report.judges:
        figures = {part.criterion: part.figures for part in judge.criteria if part.figures}
        rows.append((names[judge.name], *(figures[id].accuracy if id in figures else None for id in criteria)))
    tops = {panel.criterion: panel.ceilings for panel in report.panel}
    for column in columns_of(CeilingFigures, *QUOTED):
        cells = (getattr(tops.get(id), column.path, None) for id in criteria)
        rows.append((Markup("<em>{}</em>").format(column.header.lower()), *cells))
    return make_table(columns, rows, at_level("Accuracy by criterion, with {} intervals; ceilings last.", report))


def panel_table(report: Evaluation, ceilings: Sequence[str] = QUOTED) -> Table:
    """The people, criterion by criterion: votes, some ceilings, and whether they agree at all."""
    signal = columns_of(PanelFigures, "signal")[0]
    parts: list[Part] = [
        (PanelFigures, ("name", "pairs", "tied", "raters")), (CeilingFigures, ceilings),
        Column("signal", signal.header, "badge", None, signal.hint),
    ]  # fmt: skip
    rows = [
        (
            panel,
            panel.ceilings or panel.no_ceiling,
            Cell(Badge(panel.signal, SIGNAL_TONES.get(panel.signal, "open")), panel.sentence or "")
            if panel.signal
            else None,
        )
        for panel in report.panel
    ]
    caption = (
        "Votes of people and the ceilings they set: next rater and oracle as ranges over all laws of pair odds that "
        "fit the votes, below each its {} interval and the point of a beta law."
    )
    if len(ceilings) > len(QUOTED):
        caption = "All ceilings by criterion, with {} intervals; cap is no bound."
    return make_table(parts, rows, at_level(caption, report))


def split_table(parts: Sequence[tuple[str, Sequence[BucketFigures]]], about: str) -> Table | None:
    """Judges by how the panel split, ceilings in italics; None where all panels split one way."""
    splits = list(dict.fromkeys(bucket.split for _, buckets in parts for bucket in buckets))
    first = {bucket.split: bucket for _, buckets in reversed(parts) for bucket in buckets}
    if len(splits) < 2:
        return None
    columns = [JUDGE_NAME, *(Column(str(i), s, "estimate", 3) for i, s in enumerate(splits))]
    rows: list[dict[str, object]] = []
    for name, buckets in parts:
        by_split = {bucket.split: bucket for bucket in buckets}
        rows.append({"name": name} | {str(i): split_cell(by_split.get(s), "pair") for i, s in enumerate(splits)})
    for column in columns_of(BucketFigures, *QUOTED, "leave_one_out", "panel"):
        spans = [getattr(first[s], f"{column.path}_range", None) for s in splits]
        tops = [
            Cell(getattr(first[s], column.path), column.hint, "" if span is None else law_range(span))
            for s, span in zip(splits, spans)
        ]
        if any(top.raw is not None for top in tops):
            name = Markup("<em>{}</em>").format(column.header.lower())
            rows.append({"name": name} | {str(i): top for i, top in enumerate(tops)})
    words = "accuracy by split of the panel (larger camp - smaller camp - ties), clearest first; pairs beneath"
    ceilings = ". Ceilings in italics follow from the law of the odds of all pairs" if len(rows) > len(parts) else ""
    return Table(columns, rows, f"{about}: {words}{ceilings}.", sortable=False)


def split_cell(bucket: Any, noun: str) -> Cell:
    """Accuracy where people split so, with its count beneath."""
    if bucket is None:
        return Cell(None, f"no {noun} split so")
    accuracy: Estimate = bucket.accuracy
    return Cell(accuracy, accuracy.method, count_noun(getattr(bucket, f"{noun}s"), noun))


def first_table(report: Evaluation, names: Names) -> Table:
    """Which position wins, of the judges that were shown both orders."""
    parts: list[Part] = [JUDGE, (AccuracyFigures, ("position_bias", "took_first")), (JudgeFigures, ("says_first",))]
    rows = [(judge, judge.macro, judge) for judge in report.judges if judge.macro.position_bias is not None]
    return make_table(parts, rows, "Which position wins.", names)


def correlation_table(report: Evaluation) -> Table | None:
    """Which figures of judges go together."""
    parts: list[Part] = [
        Column("x", "Figure"), Column("y", "With"), Column("value", "Spearman", "estimate", 2),
        (FigureCorrelation, ("p", "n")),
    ]  # fmt: skip
    rows = [
        (FIGURE_WORDS[pair.x], FIGURE_WORDS[pair.y], Cell((pair.value, pair.low, pair.high), pair.reason or ""), pair)
        for pair in report.correlations
        if pair.value is not None
    ]
    words = "Over judges of pairs, scorers left out: which figures go together. Few judges make wide intervals."
    return make_table(parts, rows, words) if rows else None


def comparison_table(report: Evaluation, names: Names) -> Table | None:
    """Every two models on the same pairs."""
    parts: list[Part] = [
        (PairedFigures, ("first", "second", "difference", "p", "p_holm")), Column("verdict", "Verdict", "badge"),
        (PairedFigures, ("first_only", "second_only", "pairs")),
    ]  # fmt: skip
    rows = [
        (pair, Badge("clear difference", "clear") if pair.p_holm < SURE else Badge("no clear difference", "open"), pair)
        for pair in report.comparisons[:MOST_COMPARISONS]
    ]
    caption = "Differences of accuracy on the same pairs, prompts drawn together, with {} intervals."
    return make_table(parts, rows, at_level(caption, report), names) if rows else None


def agreement_table(report: Evaluation, names: Names) -> Table | None:
    """Every two judges: how often they name the same item where both name one."""
    rates = [(pair.agreement.value, pair) for pair in report.agreement if pair.agreement is not None]
    rows = [(pair,) for _, pair in sorted(rates, key=lambda entry: -entry[0])[:MOST]]
    caption = "Most agreeing first, with {} intervals. Pairs on which one names no item are left out."
    parts: list[Part] = [(JudgeAgreement, ("first", "second", "agreement", "pairs"))]
    return make_table(parts, rows, at_level(caption, report), names) if rows else None


def wording_tables(report: Evaluation, names: Names) -> list[Table]:
    """Spread of accuracy over the wordings of a question, over all criteria and for each."""
    judges = [judge for judge in report.judges if judge.wordings is not None]
    spreads = [{part.criterion: part.wordings for part in judge.criteria if part.wordings} for judge in judges]
    criteria = {part.criterion: part.name for judge in judges for part in judge.criteria if part.wordings}
    worst = [max(own, key=lambda id: own[id].sd, default=None) for own in spreads]
    if not judges:
        return []
    parts: list[Part] = [
        JUDGE, (WordingSpread, ("sd", "expected", "p")), Column("worst", "Criterion with the largest sd"),
        (WordingSpread, ("deals",)),
    ]  # fmt: skip
    rows = [
        (judge, judge.wordings, "–" if id is None else brief(criteria[id]), judge.wordings)
        for judge, id in zip(judges, worst)
    ]
    words = (
        "Wordings of the question: spread of accuracy within a criterion, mean over criteria, against wordings dealt "
        "to the pairs by lot."
    )
    columns = [Column(f"c{n}", brief(name), "number", 3) for n, name in enumerate(criteria.values())]
    by_criterion = [
        (judge, *(
            Cell(own[id].sd, "", Markup("p {}").format(value(own[id].p, None, numbers.p_value(own[id].p))))
            if id in own else None
            for id in criteria
        ))
        for judge, own in zip(judges, spreads)
    ]  # fmt: skip
    return [
        make_table(parts, rows, words, names),
        make_table([JUDGE, *columns], by_criterion, "Paraphrase sd by criterion.", names),
    ]


def sample_table(report: Evaluation, names: Names) -> Table | None:
    """Judges of pairs or checklists that were asked the same question again."""
    rows = [(judge,) for judge in report.every_judge if judge.self_agreement is not None]
    parts: list[Part] = [(JudgeFigures, ("name", "samples", "self_agreement"))]
    return make_table(parts, rows, "Self-consistency: the same question asked again.", names) if rows else None


def band_table(report: Evaluation, names: Names) -> Table | None:
    """Do judges that give numbers tell strong from weak, or collapse into a band?"""
    titles = {part.criterion: part.name for judge in report.judges for part in judge.criteria}
    parts: list[Part] = [
        JUDGE, Column("of", "Criterion"), (BandFigures, ("separation",)), Column("middle", "Middle 80%"),
        (BandFigures, ("width", "levels", "commonest", "n", "missing")),
    ]  # fmt: skip
    bands = [(judge, band) for judge in report.judges for band in judge.bands]
    rows = []
    for judge, band in bands:
        of = "all" if band.criterion is None else titles.get(band.criterion, band.criterion)
        ends = (value(x, None, numbers.significant(x)) for x in (band.low, band.high))
        rows.append((judge, of, band, Markup("{} – {}").format(*ends), band))
    strong = join_names(dict.fromkeys(band.strong_is for _, band in bands))
    caption = Markup("Numbers and what they tell, with {} intervals. Strong and weak: {}.")
    return make_table(parts, rows, caption.format(level_words(report), strong), names) if rows else None


def calibration_table(report: Evaluation, names: Names) -> Table | None:
    """One line of figures for each judge that gives chances."""
    parts: list[Part] = [
        JUDGE, (PairCalibration, ("brier", "ece", "expected_ece", "slope")), Column("verdict", "Verdict", "badge"),
        (PairCalibration, ("pairs",)),
    ]  # fmt: skip
    calibrated = [(judge, judge.calibration) for judge in report.judges if judge.calibration is not None]
    rows = [(judge, figures, honesty(figures), figures) for judge, figures in calibrated]
    caption = at_level("Chances against single votes, with {} intervals.", report)
    return make_table(parts, rows, caption, names) if rows else None


def honesty(figures: PairCalibration) -> Badge:
    """What the slope says."""
    slope = figures.slope
    if slope is None or slope.low is None or slope.high is None:
        return Badge("cannot tell", "open")
    if slope.low <= 0 and slope.high >= 1:  # chances that say nothing, and honest ones: neither is told from the other
        return Badge("cannot tell", "open")
    if slope.high < 1:
        return Badge("too sure", "alert")
    return Badge("too shy", "split") if slope.low > 1 else Badge("honest", "clear")


def generator_tables(report: Evaluation, names: Names, most: int = 30) -> list[Table]:
    """Correlation with people over generators, and the share of pairs that each generator wins."""
    orders = [(judge, order) for judge in report.judges if (order := judge.generators) and order.generators][:most]
    if not orders:
        return []
    columns = columns_of(GeneratorOrder, "spearman", "kendall")
    rows = [
        (judge, *(Cell(figure, order.reason or (figure.method if figure else "")) for figure in figures))
        for judge, order in orders
        for figures in [(order.spearman, order.kendall)]
    ]
    caption = "Correlation with people over generators, with {} intervals; none where no draw changes the order."
    shares = columns_of(GeneratorFigures, "generator", "people")
    shares += [Column(str(i), names[judge.name], "estimate", 3) for i, (judge, _) in enumerate(orders)]
    by_name = [{row.generator: row.predicted for row in order.generators} for _, order in orders]
    won = [
        (
            brief(row.generator),
            Cell(row.people, "", count_noun(row.pairs, "pair")),
            *(own.get(row.generator) for own in by_name),
        )
        for row in orders[0][1].generators
    ]
    words = "Share of votes (people) and of pairs (judges) that a generator's items won."
    return [make_table([JUDGE, *columns], rows, at_level(caption, report), names), make_table(shares, won, words)]


def usage_tables(report: Evaluation, names: Names) -> list[Table]:
    """Answers, unread ones and why, tokens, money, time, and what a point of accuracy costs."""
    used = [(judge, judge.usage) for judge in report.every_judge if judge.usage is not None]
    if not used:
        return []
    parts: list[Part] = [
        JUDGE, (UsageFigures, ("answers", "unread", "tokens_in", "tokens_out", "seconds_median", "seconds_95")),
        Column("given", "Given", hint="Days of the first and the last answer, UTC"),
        (UsageFigures, ("cost", "cost_unknown", "cost_per_1000", "cost_per_point")),
    ]  # fmt: skip
    rows = []
    for judge, usage in used:
        days = " – ".join(dict.fromkeys(at[:10] for at in (usage.first_at, usage.last_at) if at))
        rows.append((judge, usage, Cell(days or None, "" if days else "when is not known"), usage))
    reasons = [
        (judge, sentence(reason), count)
        for judge, usage in used
        for reason, count in [*usage.failed.items(), *usage.reasons.items()]
    ]
    why = [JUDGE, Column("why", "Why it could not be read"), Column("n", "Answers", "count")]
    words = "What the answers took; costs in the currency of the price file."
    unread = [make_table(why, reasons[:MOST_REASONS], "Unread answers.", names)] if reasons else []
    return [make_table(parts, rows, words, names), *unread]


def curve_table(report: Evaluation) -> Table | None:
    """Heads trained on growing parts of the training prompts."""
    if report.learning_curve is None:
        return None
    caption = Markup("{}: heads trained on a part of the prompts, with {} intervals over test prompts.")
    parts: list[Part] = [(LearningPoint, ("prompts", "pairs", "accuracy", "sd", "seeds"))]
    words = caption.format(brief(report.learning_curve.model), level_words(report))
    return make_table(parts, [(point,) for point in report.learning_curve.points], words)


def seed_table(report: Evaluation, names: Names) -> Table | None:
    """Models that differ in the seed of their training alone."""
    parts: list[Part] = [Column("names", "Models"), (SeedSpread, ("mean", "sd", "low", "high", "n"))]
    rows = [(", ".join(names[name] for name in spread.names), spread) for spread in report.seeds]
    return make_table(parts, rows, "Models that differ in the seed of their training alone.") if rows else None


def study_table(report: Evaluation, names: Names) -> Table | None:
    """Preference accuracy on several studies, a row for each judge and the ceilings below, in per cent."""
    studies = (report, *report.also)
    if len(studies) < 2:
        return None
    columns = [JUDGE_NAME, *(Column(str(i), brief(s.study, 30), "text") for i, s in enumerate(studies))]
    by_name = [{judge.name: judge.pooled for judge in study.judges} for study in studies]
    rows: list[tuple[object, ...]] = []
    for name in dict.fromkeys(judge.name for study in studies for judge in study.judges):
        cells = (_percent_cell(own.get(name), name == study.judges[0].name) for own, study in zip(by_name, studies))
        rows.append((names[name], *cells))
    for column in columns_of(CeilingFigures, *QUOTED):
        tops = (getattr(study.judges[0].pooled.ceilings, column.path, None) for study in studies)
        rows.append((Markup("<em>{}</em>").format(column.header.lower()), *(_percent(top) for top in tops)))
    caption = "Preference accuracy (%) with {} intervals; the best is bold, ceilings in italics, chance is 50.0."
    table_rows = [dict(zip((column.path for column in columns), row)) for row in rows]
    return Table(columns, table_rows, at_level(caption, report), sortable=False)


def _percent_cell(figures: AccuracyFigures | None, is_best: bool) -> Cell:
    if figures is None:
        return Cell(Markup("–"), "speaks about none of its criteria")
    words = _percent(figures.accuracy)
    return Cell(
        Markup("<strong>{}</strong>").format(words) if is_best else words, "", count_noun(figures.pairs, "pair")
    )


def _percent(figure: Estimate | None) -> Markup:
    if figure is None:
        return Markup("–")
    words = fixed(100 * figure.value, 1)
    if figure.low is None or figure.high is None:
        return words
    ends = (fixed(100 * end, 1) for end in (figure.low, figure.high))
    return words + Markup(' <span class="interval">[{}, {}]</span>').format(*ends)
