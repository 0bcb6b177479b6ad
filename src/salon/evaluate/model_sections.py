"""What the sections of an evaluation share: names of ceilings, their columns and cells, badges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from salon.evaluate.model_results import (
    AccuracyAndCeilings,
    BinFigures,
    BucketAndCeilings,
    CalibrationFigures,
    ContestantCriterion,
    ContestantFigures,
    EvaluateReport,
    LearningCurve,
    PairedFigures,
    StudyFigures,
)
from salon.report import SMALL, Badge, Block, Cell, Chart, ChartRow, Column, Details, Section, Table, charts, numbers
from salon.report.blocks import Kind
from salon.report.charts.curves import Curve
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
    text,
    x_axis,
    y_grid,
    y_ticks_width,
)
from salon.report.values import number_marks
from salon.report.words import brief, count_noun, fixed, law_range, law_range_note, level_words
from salon.stats.result import Estimate

CHANCE = 0.5
SURE = 0.05
"""Adjusted p below which two contestants are told apart."""
Names = dict[str, str]
"""How each contestant is printed."""
CEILINGS: dict[str, tuple[str, str]] = {
    "next_rater": ("Next rater", "Accuracy of one more person against this panel"),
    "oracle": ("Oracle", "Accuracy of a predictor that knows every pair's odds"),
    "leave_one_out": ("Leave one out", "A rater against the majority of the others; ties count half"),
    "leave_one_out_dropped": ("Ties dropped", "The same where the others are not tied"),
    "panel": ("Panel", "A rater against a majority that holds the rater: too high, as the rater is in it"),
    "cap": ("Cap", "1 for majorities of more than one vote, else a half; not a bound"),
}

RANGES = ("next_rater", "oracle")
"""Ceilings that votes do not fix: ranges over all laws of the odds that fit."""


def ceiling_columns(names: Iterable[str]) -> list[Column]:
    """A column for each ceiling."""
    kinds: dict[str, Kind] = {name: "text" if name in RANGES else "estimate" for name in names}
    return [Column(name, CEILINGS[name][0], kind, 3, CEILINGS[name][1]) for name, kind in kinds.items()]


def ceiling_cells(reached: AccuracyAndCeilings, names: Iterable[str]) -> dict[str, Cell]:
    """A cell for each ceiling, with the reason where there is none."""
    tops = reached.ceilings
    if tops is None:
        return {name: Cell(None, reached.no_ceiling or "") for name in names}
    cells = {}
    for name in names:
        figure = getattr(tops, name)
        cells[name] = Cell(figure)
        if name in RANGES:
            cells[name] = Cell(law_range(getattr(tops, f"{name}_range")), figure.method, law_range_note(figure))
    return cells


def standing(reached: AccuracyAndCeilings) -> Badge:
    """Against chance, and where it is told apart, against one more person."""
    accuracy, tops = reached.accuracy, reached.ceilings
    if accuracy.low is None or accuracy.high is None:
        return Badge("too little data", "thin")
    if tops is not None and tops.next_rater.high is not None and accuracy.low > tops.next_rater.high:
        return Badge("better than one more person", "clear")
    if accuracy.low > CHANCE:
        return Badge("better than chance", "clear")
    if accuracy.high < CHANCE:
        return Badge("worse than chance", "alert")
    return Badge("no better than chance", "none")


def best_only(study: StudyFigures) -> list[PairedFigures]:
    """The comparisons with the best contestant."""
    return [one for one in study.comparisons if one.first == study.contestants[0].name]


# --------------------------------------------------------------------------------------------------
# What an evaluation says beyond one study and one training: other studies, other seeds, less data.
# --------------------------------------------------------------------------------------------------


def growth_section(report: EvaluateReport, names: Names) -> Section | None:
    """What chance in training does, and what more data would do."""
    blocks: list[Block | str] = []
    if report.learning_curve is not None:
        blocks += _curve(report.learning_curve, report)
    if report.seeds:
        columns = [
            Column("names", "Models"),
            Column("mean", "Mean accuracy", "number", 3),
            Column("sd", "SD", "number", 3, "Over seeds, n - 1"),
            Column("low", "Lowest", "number", 3),
            Column("high", "Highest", "number", 3),
            Column("n", "Seeds", "count"),
        ]
        rows = [
            {**{name: getattr(one, name) for name in ("mean", "sd", "low", "high", "n")},
             "names": ", ".join(names[name] for name in one.names)}
            for one in report.seeds
        ]  # fmt: skip
        blocks.append(Table(columns, rows, "Models that differ in the seed of their training alone."))
    return Section("Growth and chance", blocks, "What would more data bring?") if blocks else None


def _curve(curve: LearningCurve, report: EvaluateReport) -> list[Block]:
    points = curve.points
    drawn = Curve(
        "accuracy",
        [p.prompts for p in points],
        [p.accuracy.value for p in points],
        [p.accuracy.low for p in points],
        [p.accuracy.high for p in points],
    )
    lines = [("chance", CHANCE)]
    if curve.ceiling is not None:
        lines += [("next rater", curve.ceiling.next_rater.value), ("oracle", curve.ceiling.oracle.value)]
    blocks: list[Block] = []
    if len(points) > 1:
        drawing = charts.line_curves(
            [drawn], title="Learning curve", x_label="training prompts", y_label="accuracy", reference_lines=lines
        )
        blocks.append(Chart(drawing, Markup("{}: accuracy on the same test pairs.").format(brief(curve.model))))
    columns = [
        Column("prompts", "Training prompts", "count"),
        Column("pairs", "Training pairs", "count"),
        Column("accuracy", "Accuracy", "estimate", 3, "Mean over seeds"),
        Column("sd", "SD over seeds", "number", 3),
        Column("seeds", "Seeds", "count"),
    ]
    caption = Markup("Heads trained on a part of the prompts, with {} intervals over test prompts.")
    return [*blocks, Table(columns, points, caption.format(level_words(report)))]


# -- several studies ---------------------------------------------------------------------------------------------------


def studies_section(report: EvaluateReport, names: Names) -> Section | None:
    """Preference accuracy on several studies, a row for each contestant and the ceilings below, in per cent."""
    if len(report.studies) < 2:
        return None
    columns = [Column("name", "Contestant")]
    columns += [Column(str(i), brief(study.study, 30), "text") for i, study in enumerate(report.studies)]
    everyone = dict.fromkeys(one.name for study in report.studies for one in study.contestants)
    found = [{one.name: one for one in study.contestants} for study in report.studies]
    best = [study.contestants[0].name for study in report.studies]
    rows = [
        {"name": names[name], **{str(i): _percent(known.get(name), best[i]) for i, known in enumerate(found)}}
        for name in everyone
    ]
    for top in ("next_rater", "oracle"):
        tops = [study.contestants[0].overall.ceilings for study in report.studies]
        cells = {str(i): _percent_of(getattr(one, top, None)) for i, one in enumerate(tops)}
        rows.append({"name": Markup("<em>{}</em>").format(CEILINGS[top][0].lower()), **cells})
    caption = Markup(
        "Preference accuracy (%) with {} intervals; the best is bold, ceilings in italics, chance is 50.0."
    )
    table = Table(columns, rows, caption.format(level_words(report)), sortable=False)
    return Section("Across studies", [table], "The same contestants elsewhere.")


def _percent(one: ContestantFigures | None, best: str) -> Cell:
    if one is None:
        return Cell(Markup("–"), "speaks about none of its criteria")
    return Cell(_percent_of(one.overall.accuracy, bold=one.name == best), "", count_noun(one.overall.pairs, "pair"))


def _percent_of(figure: Estimate | None, *, bold: bool = False) -> Markup:
    if figure is None:
        return Markup("–")
    shown = Markup("<strong>{}</strong>" if bold else "{}").format(fixed(100 * figure.value, 1))
    if figure.low is None or figure.high is None:
        return shown
    ends = (fixed(100 * end, 1) for end in (figure.low, figure.high))
    return shown + Markup(' <span class="interval">[{}, {}]</span>').format(*ends)


# --------------------------------------------------------------------------------------------------
# The reliability diagram: the chance a model gave to its winners, and the share of votes they got.
# --------------------------------------------------------------------------------------------------

_ROOM = 34
"""Pixels between two ticks of a small diagram."""
_HEIGHT = 250


def _reliability_data(bins: Sequence[BinFigures], **_: object) -> Rows:
    return [
        {"chance given": bin.predicted, "share of votes": bin.observed.value, "low": bin.observed.low,
         "high": bin.observed.high, "pairs": bin.pairs}
        for bin in bins
    ]  # fmt: skip


@redrawable(_reliability_data)
def reliability_plot(bins: Sequence[BinFigures], *, title: str, width: int) -> Markup:
    """A dot for each bin, its interval upwards and downwards; on the line chances are honest, below it too sure."""
    top, bottom = 26.0, _HEIGHT - 2 * LINE - 10
    ends = [end for bin in bins for end in (bin.observed.value, bin.observed.low, bin.observed.high)]
    low, high = domain([*ends, *(bin.predicted for bin in bins)], include=[0.5], pad=0.04)
    y = LinearScale(max(0.0, low), min(1.0, high), bottom, top)
    left = y_ticks_width(y, room=_ROOM)
    x = LinearScale(*domain([bin.predicted for bin in bins], include=[0.5, 0.55], pad=0.05), left, width - 10)
    return canvas(
        width,
        _HEIGHT,
        title,
        "; ".join(f"said {numbers.fixed(b.predicted)}, got {numbers.fixed(b.observed.value)}" for b in bins) + ".",
        text(0, 12, "share of votes", "axis-label", room=width),
        y_grid(y, left, width - 10, room=_ROOM),
        _honest(x, y),
        *(_reliability_dot(bin, x, y) for bin in bins),
        x_axis(x, bottom, width, label="chance given", room=46),
    )


def _honest(x: LinearScale, y: LinearScale) -> Markup:
    """The part of the diagonal that lies in the plot."""
    low, high = max(x.low, y.low), min(x.high, y.high)
    return line(x(low), y(low), x(high), y(high), "null-line")


def _reliability_dot(bin: BinFigures, x: LinearScale, y: LinearScale) -> Markup:
    at, seen = x(bin.predicted), bin.observed
    ends = [
        line(at, y(end), at, y(seen.value), "cohort-1 whisker", **number_marks(end))
        for end in (seen.low, seen.high)
        if end
    ]
    tip = f"chance {numbers.fixed(bin.predicted)}, share of votes {numbers.fixed(seen.value)}, {bin.pairs:,} pairs"
    dot = element("circle", cx=at, cy=y(seen.value), r=4.5, class_="cohort-1 dot", **number_marks(seen.value))
    return group(*ends, dot, tip=tip, class_="mark")


# --------------------------------------------------------------------------------------------------
# What an evaluation says of one study: criteria, splits of the panel, comparisons, chances, generators.
# --------------------------------------------------------------------------------------------------

_MOST_CRITERIA = 12
_MOST_DETAILS = 30
_MOST_DIAGRAMS = 6


def criterion_section(report: EvaluateReport, study: StudyFigures, names: Names) -> Section | None:
    """A map of contestants by criteria, then every figure of each contestant."""
    criteria = {part.criterion: part.name for one in study.contestants for part in one.criteria}
    if len(criteria) < 2:
        return None
    blocks: list[Block | str] = []
    shown = study.contestants[:_MOST_DETAILS]
    if len(criteria) <= _MOST_CRITERIA:
        blocks.append(_map(shown, criteria, names))
    blocks += [
        Details(Markup("{} by criterion").format(names[one.name]), [_criterion_table(report, one)], open=place == 0)
        for place, one in enumerate(shown)
    ]
    blocks.append(Details("All ceilings by criterion", [_ceiling_table(report, study)]))
    return Section("By criterion", blocks, "Where it sees what people see, and where it does not.")


def _map(contestants: Sequence[ContestantFigures], criteria: dict[str, str], names: Names) -> Chart:
    rows, n = [], []
    for one in contestants:
        found = {part.criterion: part.reached for part in one.criteria}
        rows.append([found[id].accuracy.value if id in found else None for id in criteria])
        n.append([found[id].pairs if id in found else 0 for id in criteria])
    drawing = charts.heat_map(
        rows, [names[one.name] for one in contestants], [brief(name, 30) for name in criteria.values()], n=n,
        center=CHANCE, title="Accuracy by contestant and criterion", value_name="accuracy", decimals=2,
    )  # fmt: skip
    return Chart(drawing, "Accuracy by criterion; blue above chance, orange below, pairs beneath. Ceilings below.")


def _criterion_table(report: EvaluateReport, one: ContestantFigures) -> Table:
    columns = [
        Column("name", "Criterion"),
        Column("accuracy", "Accuracy", "estimate", 3),
        *ceiling_columns(("next_rater", "oracle")),
        Column("tau", "Tau", "estimate", 3, "Kendall's tau-b to the modal rater, mean over prompts"),
        Column("pairs", "Pairs", "count"),
    ]
    rows = [
        {
            "name": Cell(part.name, " ".join(part.warnings)),
            "accuracy": part.reached.accuracy,
            **ceiling_cells(part.reached, ("next_rater", "oracle")),
            "tau": part.tau,
            "pairs": part.reached.pairs,
        }
        for part in one.criteria
    ]
    return Table(columns, rows, Markup("With {} intervals.").format(level_words(report)))


def _ceiling_table(report: EvaluateReport, study: StudyFigures) -> Table:
    """All ceilings of every criterion; they belong to the pairs, whoever is measured on them."""
    parts = {part.criterion: part for one in study.contestants for part in one.criteria}
    columns = [Column("name", "Criterion"), *ceiling_columns(CEILINGS), Column("pairs", "Pairs", "count")]
    rows = [
        {"name": part.name, **ceiling_cells(part.reached, CEILINGS), "pairs": part.reached.pairs}
        for part in parts.values()
    ]
    return Table(columns, rows, Markup("All ceilings by criterion, with {} intervals.").format(level_words(report)))


# -- how the panel split -----------------------------------------------------------------------------------------------


def bucket_section(report: EvaluateReport, study: StudyFigures, names: Names) -> Section | None:
    """Accuracy by how clear the panel was: a good model is best where people are sure."""
    first = study.contestants[0]
    if len(first.buckets) < 2:
        return None
    blocks: list[Block | str] = [_bucket_table(report, study, names)]
    if len(first.criteria) > 1:
        tables = [_one_bucket_table(part) for part in first.criteria]
        blocks.append(Details(Markup("{} by split, for each criterion").format(names[first.name]), tables))
    return Section("By agreement of the panel", blocks, "Is it right where people are sure?")


def _bucket_table(report: EvaluateReport, study: StudyFigures, names: Names) -> Table:
    shown = study.contestants[:_MOST_DETAILS]
    splits = {bucket.split: bucket for one in reversed(shown) for bucket in one.buckets}
    columns = [Column("name", "Contestant"), *(Column(str(i), s, "estimate", 3) for i, s in enumerate(splits))]
    rows = [{"name": names[one.name], **_bucket_cells(one.buckets, list(splits))} for one in shown]
    for name in ("next_rater", "oracle", "leave_one_out", "panel"):
        tops = {str(i): _top_cell(bucket, name) for i, bucket in enumerate(splits.values())}
        rows.append({"name": Markup("<em>{}</em>").format(CEILINGS[name][0].lower()), **tops})
    caption = Markup(
        "Accuracy by split of the panel (larger camp - smaller camp - ties), pairs beneath, with {} intervals. "
        "Ceilings in italics follow from the law of the odds of all pairs; beneath next rater and oracle what any "
        "law that fits the votes allows."
    )
    return Table(columns, rows, caption.format(level_words(report)), sortable=False)


def _top_cell(bucket: BucketAndCeilings, name: str) -> Cell:
    span = getattr(bucket, f"{name}_range", None)
    return Cell(getattr(bucket, name), CEILINGS[name][1], "" if span is None else law_range(span))


def _bucket_cells(buckets: Sequence[BucketAndCeilings], splits: Sequence[str]) -> dict[str, Cell]:
    found = {bucket.split: bucket for bucket in buckets}
    return {
        str(i): Cell(found[s].accuracy, found[s].accuracy.method, count_noun(found[s].pairs, "pair"))
        if s in found
        else Cell(None, "no pair split so")
        for i, s in enumerate(splits)
    }


def _one_bucket_table(part: ContestantCriterion) -> Table:
    columns = [
        Column("split", "Split"),
        Column("accuracy", "Accuracy", "estimate", 3),
        *(Column(name, CEILINGS[name][0], "number", 3) for name in ("next_rater", "oracle", "leave_one_out", "panel")),
        Column("pairs", "Pairs", "count"),
    ]
    return Table(columns, part.buckets, brief(part.name))


# -- between contestants -----------------------------------------------------------------------------------------------


def comparison_section(report: EvaluateReport, study: StudyFigures, names: Names) -> Section | None:
    """Every two contestants on the same pairs."""
    if not study.comparisons:
        return None
    columns = [
        Column("first", "Contestant"),
        Column("second", "Less"),
        Column("difference", "Difference", "estimate", 3),
        Column("p", "p", "p", hint="Signs flipped prompt by prompt"),
        Column("p_holm", "p, adjusted", "p", hint="For all comparisons (Holm)"),
        Column("verdict", "Verdict", "badge"),
        Column("first_only", "First better", "count", hint="Pairs on which the first did better"),
        Column("second_only", "Second better", "count"),
        Column("pairs", "Pairs", "count"),
    ]
    rows = [
        {
            "first": names[one.first],
            "second": names[one.second],
            "difference": one.difference,
            "p": Cell(one.p, one.law),
            "p_holm": one.p_holm,
            "verdict": Badge("told apart", "clear") if one.p_holm < SURE else Badge("not told apart", "open"),
            "first_only": one.first_only,
            "second_only": one.second_only,
            "pairs": one.pairs,
        }
        for one in study.comparisons[:200]
    ]
    caption = Markup("Differences of accuracy on shared pairs, prompts drawn together, with {} intervals.")
    table = Table(columns, rows, caption.format(level_words(report)))
    return Section("Between contestants", [table], "Is one better than another, or was it luck?")


# -- chances -----------------------------------------------------------------------------------------------------------


def calibration_section(report: EvaluateReport, study: StudyFigures, names: Names) -> Section | None:
    """Reliability diagrams, and one line of figures for each contestant that gives chances."""
    held = [(one, one.calibration) for one in study.contestants if one.calibration is not None]
    if not held:
        return None
    drawings = [
        Chart(reliability_plot(found.bins, title=f"Reliability of {names[one.name]}", width=SMALL), "", names[one.name])
        for one, found in held[:_MOST_DIAGRAMS]
    ]
    words = "A dot for each bin of equally many pairs, by the chance given to the predicted winner. Below: too sure."
    columns = [
        Column("name", "Contestant"),
        Column("brier", "Brier", "estimate", 4, "Mean squared distance of chance and vote; a coin: 0.25"),
        Column("ece", "ECE", "estimate", 4, "Mean distance of chance and share of votes over bins"),
        Column("expected_ece", "If honest", "number", 4, "ECE of honest chances with as few votes"),
        Column("slope", "Slope", "estimate", 2, "1 honest, below 1 too sure, above 1 too shy"),
        Column("verdict", "Verdict", "badge"),
        Column("pairs", "Pairs", "count"),
    ]
    names_of = ("brier", "ece", "expected_ece", "slope", "pairs")
    rows = [
        {"name": names[one.name], **{name: getattr(found, name) for name in names_of}, "verdict": honesty(found)}
        for one, found in held
    ]
    table = Table(columns, rows, Markup("Chances against single votes, with {} intervals.").format(level_words(report)))
    return Section("Calibration", [ChartRow(drawings, words), table], "Are its chances honest?")


def honesty(found: CalibrationFigures) -> Badge:
    """What the slope says."""
    slope = found.slope
    if slope is None or slope.low is None or slope.high is None:
        return Badge("cannot tell", "open")
    if slope.low <= 0 and slope.high >= 1:  # chances that say nothing, and honest ones: neither is told from the other
        return Badge("cannot tell", "open")
    if slope.high < 1:
        return Badge("too sure", "alert")
    return Badge("too shy", "split") if slope.low > 1 else Badge("honest", "clear")


# -- generators --------------------------------------------------------------------------------------------------------


def _correlation(figure: Estimate | None, reason: str | None) -> Cell:
    return Cell(figure, reason or ("" if figure is None else figure.method))


def generator_section(report: EvaluateReport, study: StudyFigures, names: Names) -> Section | None:
    """Do people and contestants put generators in the same order?"""
    held = [one for one in study.contestants if one.generators.generators][:_MOST_DETAILS]
    if not held:
        return None
    columns = [
        Column("name", "Contestant"),
        Column("spearman", "Spearman", "estimate", 2),
        Column("kendall", "Kendall", "estimate", 2),
    ]
    rows = [
        {
            "name": names[one.name],
            "spearman": _correlation(one.generators.spearman, one.generators.reason),
            "kendall": _correlation(one.generators.kendall, one.generators.reason),
        }
        for one in held
    ]
    caption = Markup(
        "Correlation with people over generators, with {} intervals; none where no draw changes the order."
    )
    shares = [Column("generator", "Generator"), Column("people", "People", "estimate", 3)]
    shares += [Column(str(i), names[one.name], "estimate", 3) for i, one in enumerate(held)]
    by_name = [{g.generator: g for g in one.generators.generators} for one in held]
    won = [
        {
            "generator": brief(one.generator),
            "people": Cell(one.people, "", count_noun(one.pairs, "pair")),
            **{
                str(i): known[one.generator].predicted if one.generator in known else None
                for i, known in enumerate(by_name)
            },
        }
        for one in held[0].generators.generators
    ]
    table = Table(shares, won, "Share of votes (people) and of pairs (contestants) that a generator's items won.")
    blocks = [Table(columns, rows, caption.format(level_words(report))), table]
    return Section("Order of generators", blocks, "Would it rank generators as people do?")
