"""What an evaluation says of one study: criteria, splits of the panel, comparisons, chances, generators."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.evaluate.pairs.evaluate_parts import CEILINGS, CHANCE, SURE, Names, ceiling_cells, ceiling_columns
from salon.evaluate.pairs.evaluate_results import (
    BucketReached,
    CalibrationFigures,
    ContestantFigures,
    CriterionReached,
    EvaluateReport,
    StudyFigures,
)
from salon.evaluate.pairs.reliability_plot import reliability_plot
from salon.report import SMALL, Badge, Block, Cell, Column, Details, Figure, Figures, Section, Table, charts
from salon.report.words import brief, counted, law_range, level_words
from salon.stats.result import Estimate

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


def _map(contestants: Sequence[ContestantFigures], criteria: dict[str, str], names: Names) -> Figure:
    rows, n = [], []
    for one in contestants:
        found = {part.criterion: part.reached for part in one.criteria}
        rows.append([found[id].accuracy.value if id in found else None for id in criteria])
        n.append([found[id].pairs if id in found else 0 for id in criteria])
    drawing = charts.heat_map(
        rows, [names[one.name] for one in contestants], [brief(name, 30) for name in criteria.values()], n=n,
        center=CHANCE, title="Accuracy by contestant and criterion", value_name="accuracy", decimals=2,
    )  # fmt: skip
    return Figure(drawing, "Accuracy by criterion; blue above chance, orange below, pairs beneath. Ceilings below.")


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


def _top_cell(bucket: BucketReached, name: str) -> Cell:
    span = getattr(bucket, f"{name}_range", None)
    return Cell(getattr(bucket, name), CEILINGS[name][1], "" if span is None else law_range(span))


def _bucket_cells(buckets: Sequence[BucketReached], splits: Sequence[str]) -> dict[str, Cell]:
    found = {bucket.split: bucket for bucket in buckets}
    return {
        str(i): Cell(found[s].accuracy, found[s].accuracy.method, counted(found[s].pairs, "pair"))
        if s in found
        else Cell(None, "no pair split so")
        for i, s in enumerate(splits)
    }


def _one_bucket_table(part: CriterionReached) -> Table:
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
        Figure(
            reliability_plot(found.bins, title=f"Reliability of {names[one.name]}", width=SMALL), "", names[one.name]
        )
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
    return Section("Calibration", [Figures(drawings, words), table], "Are its chances honest?")


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
            "people": Cell(one.people, "", counted(one.pairs, "pair")),
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
