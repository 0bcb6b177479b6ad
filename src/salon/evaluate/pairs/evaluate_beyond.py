"""What an evaluation says beyond one study and one training: other studies, other seeds, less data."""

from __future__ import annotations

from markupsafe import Markup

from salon.evaluate.pairs.evaluate_parts import CEILINGS, CHANCE, Names
from salon.evaluate.pairs.evaluate_results import ContestantFigures, EvaluateReport, LearningCurve
from salon.report import Block, Cell, Column, Figure, Section, Table, charts
from salon.report.charts.curves import Curve
from salon.report.words import brief, counted, fixed, level_words
from salon.stats.result import Estimate


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
        blocks.append(Figure(drawing, Markup("{}: accuracy on the same test pairs.").format(brief(curve.model))))
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
    return Cell(_percent_of(one.overall.accuracy, bold=one.name == best), "", counted(one.overall.pairs, "pair"))


def _percent_of(figure: Estimate | None, *, bold: bool = False) -> Markup:
    if figure is None:
        return Markup("–")
    shown = Markup("<strong>{}</strong>" if bold else "{}").format(fixed(100 * figure.value, 1))
    if figure.low is None or figure.high is None:
        return shown
    ends = (fixed(100 * end, 1) for end in (figure.low, figure.high))
    return shown + Markup(' <span class="interval">[{}, {}]</span>').format(*ends)
