"""The HTML of `salon distill evaluate`, composed from its ScoreEvaluation alone: it prints numbers and computes none.

Every number of the page carries its path in the JSON of the same evaluation. Details are those of the first target.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.evaluate.scores.score_evaluation_results import (
    Agreed,
    Part,
    ScoreEvaluation,
    ScorerFigures,
    TargetFigures,
)
from salon.evaluate.scores.score_evaluation_tables import KINDS, TableKind, TableRow, paper_table
from salon.report import (
    SMALL,
    Badge,
    Block,
    Card,
    Cell,
    Column,
    Details,
    Figure,
    Figures,
    Page,
    Prose,
    Section,
    Table,
    Verdict,
    Verdicts,
    charts,
    estimate_value,
    located,
)
from salon.report.block import Tone
from salon.report.words import SIMULATED, brief, counted, fixed, level_words, one_way, sentence, told_apart

LEAK = "LEAK: a model was trained on a test picture. These numbers say nothing about new pictures."
TONES: dict[str, Tone] = {
    "keeps": "clear", "collapsed": "alert", "collapsed and shifted": "alert", "shifted": "alert", "stretched": "open",
    "own scale": "thin", "none": "thin",
}  # fmt: skip
_NAME = 40
_MOST_HISTOGRAMS = 12
_MOST_MAPPED = 12
Names = dict[str, str]


def score_evaluation_page(report: ScoreEvaluation) -> Page:
    """The whole report as one self-contained page."""
    here = located(report)
    first = here.targets[0]
    names = told_apart((one.name for target in report.targets for one in target.scorers), _NAME)
    sections = [
        _verdicts(first, names),
        *(_figures_section(here, target, names) for target in here.targets),
        _spread_section(first, names),
        _parts_section(first, names, "categories", "category"),
        _parts_section(first, names, "criteria", "criterion"),
        *(_paper_section(here, kind, names) for kind in KINDS),
        _difference_section(here, first, names),
        _choice_section(here),
        _cost_section(here),
        _method_section(here),
    ]
    banner = [LEAK] if report.leaking else []
    return Page(
        title="Do these scores say what people say?",
        tab=f"Scores: {brief(report.study)}",
        subtitle=_subtitle(here, first),
        kicker=f"Salon distill evaluate · {brief(report.study)}" + (" · simulated" if report.simulated else ""),
        banner=" ".join([*banner, *([SIMULATED] if report.simulated else [])]),
        cards=_cards(first, names),
        sections=[section for section in sections if section is not None],
        notes=[Markup("Intervals in brackets are at the {} level: {}.").format(level_words(here), report.drawn)],
        signature=one_way(report.signature_line),
    )


def _subtitle(report: ScoreEvaluation, target: TargetFigures) -> Markup:
    return Markup("{} against {}: {}, order within each {}.").format(
        counted(len(target.scorers), "scorer"), brief(target.name), counted(target.items, "item"), report.within
    )


def _cards(target: TargetFigures, names: Names) -> list[Card]:
    best = target.scorers[0]
    cards = [Card("Best order", names[best.name], _told("SRCC", best.overall.srcc))]
    level = target.rater_level
    if level is not None and level.srcc is not None:
        cards.append(
            Card("One rater against the others", estimate_value(level.srcc, None, 3), "SRCC, mean over raters")
        )
    spread = best.overall.spread
    told = "no spread to compare" if spread is None else _told("spread over the target's", spread)
    cards.append(Card("Its scale", best.scale, told, TONES[best.scale]))
    known = Markup("{} of {}").format(fixed(best.overall.scored, 0), fixed(best.overall.wanted, 0))
    cards.append(Card("Its coverage", known, "items times criteria with a prediction"))
    return cards


def _told(words: str, figure: object) -> Markup:
    return Markup("{} {}").format(words, "–" if figure is None else estimate_value(figure, None, 3))


def _verdicts(target: TargetFigures, names: Names) -> Section:
    rows = [Verdict(names[one.name], Badge(one.scale, TONES[one.scale]), sentence(one.words)) for one in target.scorers]
    return Section("What became of the scale", [Verdicts(rows)], "A right order on a collapsed scale is half a score.")


def _figures_section(report: ScoreEvaluation, target: TargetFigures, names: Names) -> Section:
    rows = [(names[one.name], *_ends(one.overall), "") for one in target.scorers if one.overall.srcc]
    level = target.rater_level
    lines = [("one rater", level.srcc.value)] if level is not None and level.srcc is not None else []
    blocks: list[Block | str] = []
    if rows:
        chart = charts.dot_intervals(rows, 0.0, lines, title=f"SRCC against {target.name}", x_label="SRCC",
                                     null_label="no order")  # fmt: skip
        blocks.append(Figure(chart, Markup("SRCC with {} intervals.").format(level_words(report))))
    blocks.append(_table([("name", "Scorer", names[one.name], one.overall) for one in target.scorers], target.name))
    return Section(f"Against {brief(target.name)}", blocks, "Order, line and distance, all criteria together.")


def _ends(agreed: Agreed) -> tuple[float, float | None, float | None]:
    assert agreed.srcc is not None  # only scorers with an order are drawn
    return agreed.srcc.value, agreed.srcc.low, agreed.srcc.high


def _table(rows: Sequence[tuple[str, str, object, Agreed]], label: str) -> Table:
    columns = [
        Column("name", rows[0][1]),
        Column("srcc", "SRCC", "estimate", 3, "Spearman, mean over groups and criteria"),
        Column("plcc", "PLCC", "estimate", 3, "Pearson"),
        Column("krcc", "KRCC", "estimate", 3, "Kendall's tau-b"),
        Column("mae", "MAE", "estimate", 3, "Mean absolute error"),
        Column("rmse", "RMSE", "estimate", 3, "Root mean squared error"),
        Column("alone", "SRCC, scored only", "number", 3, "Over items with a prediction alone"),
        Column("scored", "Scored", "count", None, "Items times criteria with a prediction"),
        Column("wanted", "Of", "count"),
    ]
    told = [{"name": name, **_cells(agreed)} for _, _, name, agreed in rows]
    return Table(columns, told, label=f"{rows[0][1]}: {label}")


def _cells(agreed: Agreed) -> dict[str, object]:
    why = "not on the target's scale" if agreed.shift is None else ""
    return {
        "srcc": Cell(agreed.srcc, "no group has a correlation" if agreed.srcc is None else ""),
        "plcc": agreed.plcc, "krcc": agreed.krcc, "mae": Cell(agreed.mae, why), "rmse": Cell(agreed.rmse, why),
        "alone": agreed.scored_srcc, "scored": agreed.scored, "wanted": agreed.wanted,
    }  # fmt: skip


# -- how scores are spread ---------------------------------------------------------------------------------------------


def _spread_section(target: TargetFigures, names: Names) -> Section:
    shown = [one for one in target.scorers if one.histogram is not None][:_MOST_HISTOGRAMS]
    blocks: list[Block | str] = []
    if shown:
        top = max(_tallest(one) for one in shown)
        figures = [_histogram(one, names, top) for one in shown]
        caption = "Bars: the scorer. Outline: the target. The same axes throughout."
        blocks.append(Figures(figures, caption, legend=[("cohort-1", "predicted"), ("null-line", "target")]))
    columns = [
        Column("name", "Scorer"),
        Column("mean", "Mean", "estimate", 2), Column("target_mean", "Target's mean", "estimate", 2),
        Column("shift", "Shift", "estimate", 2, "Mean prediction less mean target"),
        Column("sd", "Spread", "estimate", 2, "Standard deviation"),
        Column("target_sd", "Target's spread", "estimate", 2), Column("spread", "Ratio", "estimate", 2),
    ]  # fmt: skip
    rows = [
        {"name": names[one.name], **{column.path: getattr(one.overall, column.path) for column in columns[1:]}}
        for one in target.scorers
    ]
    blocks.append(Table(columns, rows, label="Level and spread"))
    return Section("Level and spread", blocks, "Where do the numbers lie, and where should they?")


def _tallest(one: ScorerFigures) -> float:
    assert one.histogram is not None
    parts = (one.histogram.target, one.histogram.predicted)
    return max(max(part) / max(sum(part), 1) for part in parts)


def _histogram(one: ScorerFigures, names: Names, top: float) -> Figure:
    found = one.histogram
    assert found is not None
    total = max(sum(found.target), 1)
    drawing = charts.histogram_over_null(
        found.centers, found.predicted, [count / total for count in found.target],
        title=f"Scores of {one.name} and of the target", unit="scores", names=("predicted", "target"),
        top_share=top, medians=(None, None), decimals=2, height=170, width=SMALL,
    )  # fmt: skip
    return Figure(drawing, heading=names[one.name], badge=Badge(one.scale, TONES[one.scale]))


# -- parts -------------------------------------------------------------------------------------------------------------


def _parts_section(target: TargetFigures, names: Names, of: str, word: str) -> Section | None:
    """A map of scorers by categories or criteria, then every figure of each scorer."""
    parts = {part.id: part.name for one in target.scorers for part in getattr(one, of)}
    if len(parts) < 2:
        return None
    blocks: list[Block | str] = []
    if len(parts) <= _MOST_MAPPED:
        blocks.append(_map(target.scorers, parts, of, word, names))
    for place, one in enumerate(target.scorers):
        own: Sequence[Part] = getattr(one, of)
        table = _table([("name", word.capitalize(), part.name, part.agreed) for part in own], names[one.name])
        blocks.append(Details(Markup("{} by {}").format(names[one.name], word), [table], open=place == 0))
    return Section(f"By {word}", blocks, "Where it goes with people, and where it does not.")


def _map(scorers: Sequence[ScorerFigures], parts: dict[str, str], of: str, word: str, names: Names) -> Figure:
    rows, n = [], []
    for one in scorers:
        found = {part.id: part.agreed for part in getattr(one, of)}
        rows.append([found[id].srcc.value if id in found and found[id].srcc else None for id in parts])
        n.append([found[id].wanted if id in found else 0 for id in parts])
    drawing = charts.heat_map(
        rows, [names[one.name] for one in scorers], [brief(name, 30) for name in parts.values()], n=n, center=0.0,
        title=f"SRCC by scorer and {word}", value_name="SRCC", decimals=2,
    )  # fmt: skip
    return Figure(drawing, f"SRCC by {word}; targets beneath. Intervals are in the tables.")


def _paper_section(report: ScoreEvaluation, kind: TableKind, names: Names) -> Section | None:
    """One of the paper's tables with the interval of every number; only where an untrained VLM is among the scorers."""
    table = paper_table(report, kind)
    if all(one.group != "base" for target in report.targets for one in target.scorers):
        return None
    columns = [
        Column("method", "Method"), *([Column("labels", "Labels")] if table.has_labels else []),
        *(Column(f"f{n}", one.head, "estimate", one.decimals) for n, one in enumerate(table.columns)),
        *([Column("scale", "Scale")] if table.has_notes else []),
    ]  # fmt: skip
    blocks: list[Block | str] = []
    for block in table.blocks:
        rows = [
            {"method": _method(row, names), "labels": row.labels, "scale": row.note}
            | {f"f{n}": figure for n, figure in enumerate(row.figures)}
            for row in block.rows
        ]
        blocks.append(Table(columns, rows, f"{block.heading}. Against {brief(block.target)}."))
    return Section(f"In one table: {table.title}", blocks, "Untrained VLMs beside trained ones.")


def _method(row: TableRow, names: Names) -> str:
    return names.get(row.method, row.method)


# -- the rest ----------------------------------------------------------------------------------------------------------


def _difference_section(report: ScoreEvaluation, target: TargetFigures, names: Names) -> Section | None:
    if not target.differences:
        return None
    columns = [
        Column("pair", "First less second"), Column("srcc", "SRCC", "estimate", 3), Column("mae", "MAE", "estimate", 3),
        Column("apart", "Told apart", "badge"),
    ]  # fmt: skip
    rows = [
        {
            "pair": f"{names[one.first]} − {names[one.second]}",
            "srcc": one.srcc,
            "mae": one.mae,
            "apart": Badge("yes", "clear") if one.apart else Badge("no", "open"),
        }
        for one in target.differences
    ]
    caption = Markup("Drawn together, so that what is hard for both cancels; {} intervals.").format(level_words(report))
    return Section("Side by side", [Table(columns, rows, caption)], "Is one of them better, or was it luck?")


def _choice_section(report: ScoreEvaluation) -> Section | None:
    choice = report.choice
    if choice is None:
        return None
    columns = [Column("name", "Checkpoint"), Column("srcc", "SRCC", "estimate", 3), Column("chosen", "Choice", "badge")]
    rows = [
        {"name": one.name, "srcc": one.srcc, "chosen": Badge("chosen", "clear") if one.name == choice.chosen else ""}
        for one in choice.candidates
    ]
    words = Prose.of("By {target} on {items}, none of them in the test; the others never saw it.",
                     target=choice.target, items=counted(choice.items, "validation item"))  # fmt: skip
    return Section("Which checkpoint", [words, Table(columns, rows, label="Checkpoints")], "Chosen before the test.")


def _cost_section(report: ScoreEvaluation) -> Section:
    columns = [
        Column("name", "Scorer"), Column("label_calls", "Label calls, once", "count"),
        Column("passes", "Passes an item", "number", 1), Column("total", "Passes here", "count"),
        Column("note", "Note"),
    ]  # fmt: skip
    rows = [{name: getattr(one, name) for name in ("name", "label_calls", "passes", "total", "note")}
            for one in report.cost]  # fmt: skip
    return Section("Cost", [Table(columns, rows, label="Calls and passes")], "Calls to a model, beforehand and here.")


def _method_section(report: ScoreEvaluation) -> Section:
    leaks = [words for words in report.warnings if words.startswith("LEAK")]
    words = "\n\n".join([*leaks, *report.policies])
    return Section("How it was done", [Prose(words)], "What left which denominator.")
