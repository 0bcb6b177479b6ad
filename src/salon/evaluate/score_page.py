"""The figures of `salon distill evaluate` in the shape of PSDistill's tables: a row for each method, in groups.

    category     SRCC and PLCC by category and their mean, a block for each target (Tables 3, 4 and 21)
    scale        MAE and RMSE against each target, mean prediction, its distance from the first target's (Table 22)
    criterion    SRCC and PLCC by criterion and their mean, a block for each target (Table 23)

Nothing is computed here: every cell is a figure of the report, with its interval.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import pyarrow as pa
from markupsafe import Markup

from salon.evaluate.score_results import (
    OverBase,
    PartDifference,
    ScoreAgreement,
    ScoreEvaluation,
    ScorePart,
    ScorerFigures,
    ScorerGroup,
    TargetFigures,
)
from salon.report import (
    SMALL,
    Badge,
    Block,
    Card,
    Cell,
    Chart,
    ChartRow,
    Column,
    Details,
    Page,
    Prose,
    Section,
    Table,
    VerdictLine,
    Verdicts,
    charts,
    estimate_value,
    located,
)
from salon.report.blocks import Tone
from salon.report.numbers import MISSING, fixed, with_interval
from salon.report.words import (
    SIMULATED,
    brief,
    count_noun,
    distinct_names,
    level_words,
    number_repeats,
    one_way,
    sentence,
)
from salon.report.words import fixed as words_fixed
from salon.stats.result import Estimate
from salon.store.data_card import escape_md

TableKind = Literal["category", "scale", "criterion"]
KINDS: tuple[TableKind, ...] = get_args(TableKind)
GROUPS: dict[ScorerGroup, str] = {
    "base": "Untrained VLMs, one pass",
    "trained": "Trained",
    "baseline": "Other scorers",
}
LESS_BASE = "Trained less its base"
TITLES: dict[TableKind, str] = {
    "category": "SRCC and PLCC by category",
    "scale": "Errors and level",
    "criterion": "SRCC and PLCC by criterion",
}
_MEAN = "Mean"


@dataclass(frozen=True)
class ScoreColumn:
    """A column of figures."""

    metric: str
    part: str
    """A category, a criterion, a target, or Mean."""
    decimals: int = 3
    signed: bool = False
    interval: bool = False
    """Whether differences are printed with their intervals."""

    @property
    def head(self) -> str:
        """What stands above it."""
        return f"{self.metric} {self.part}".strip()


@dataclass(frozen=True)
class ScoreRow:
    """A method, or a trained one less its base."""

    method: str
    labels: str
    figures: tuple[Estimate | None, ...]
    is_difference: bool = False
    note: str = ""
    """A last column of words: what became of the scale."""


@dataclass(frozen=True)
class ScoreBlock:
    """Rows of one kind, under one heading."""

    target: str
    heading: str
    rows: tuple[ScoreRow, ...]


@dataclass(frozen=True)
class ScorePaperTable:
    """One table in the shape of the paper's."""

    kind: TableKind
    title: str
    columns: tuple[ScoreColumn, ...]
    blocks: tuple[ScoreBlock, ...]

    @property
    def has_labels(self) -> bool:
        """Whether a row says what it was trained on."""
        return any(row.labels for block in self.blocks for row in block.rows)

    @property
    def has_notes(self) -> bool:
        """Whether rows end with words."""
        return any(row.note for block in self.blocks for row in block.rows)

    def heads(self) -> list[str]:
        """What stands above the columns, words among them."""
        words = ["Method", *(["Labels"] if self.has_labels else [])]
        return [*words, *(one.head for one in self.columns), *(["Scale"] if self.has_notes else [])]

    def cells(self, row: ScoreRow) -> list[str]:
        """A row as texts; a difference has a sign, and in the columns of means its interval."""
        words = [row.method, *([row.labels] if self.has_labels else [])]
        texts = [_text(figure, column, row) for figure, column in zip(row.figures, self.columns, strict=True)]
        return [*words, *texts, *([row.note] if self.has_notes else [])]


def paper_table(report: ScoreEvaluation, kind: TableKind) -> ScorePaperTable:
    """The figures of a report as one of the tables."""
    if kind == "scale":
        return _scale_table(report)
    names = _part_names(report, kind)
    columns = tuple(
        ScoreColumn(metric, part, interval=part == _MEAN)
        for metric in ("SRCC", "PLCC")
        for part in (*names.values(), _MEAN)
    )
    blocks: list[ScoreBlock] = []
    for target in report.targets:
        rows = {one.name: _part_row(one, names, kind) for one in target.scorers}
        less = [_part_difference(one, names, kind) for one in target.over_base]
        blocks += _blocks(target.name, target, rows, less)
    return ScorePaperTable(kind, TITLES[kind], columns, tuple(blocks))


# -- rows --------------------------------------------------------------------------------------------------------------


def _part_names(report: ScoreEvaluation, kind: TableKind) -> dict[str, str]:
    parts = [part for target in report.targets for one in target.scorers for part in _parts(one, kind)]
    return {part.id: part.name for part in parts}


def _parts(one: ScorerFigures, kind: TableKind) -> tuple[ScorePart, ...]:
    return one.categories if kind == "category" else one.criteria


def _part_row(one: ScorerFigures, names: dict[str, str], kind: TableKind) -> ScoreRow:
    found = {part.id: part.agreed for part in _parts(one, kind)}
    figures = [
        *(found[id].srcc if id in found else None for id in names), one.overall.srcc,
        *(found[id].plcc if id in found else None for id in names), one.overall.plcc,
    ]  # fmt: skip
    return ScoreRow(one.name, one.labels, tuple(figures))


def _part_difference(one: OverBase, names: dict[str, str], kind: TableKind) -> ScoreRow:
    parts: Sequence[PartDifference] = one.categories if kind == "category" else one.criteria
    found = {part.id: part for part in parts}
    figures = [
        *(found[id].srcc if id in found else None for id in names), one.srcc,
        *(found[id].plcc if id in found else None for id in names), one.plcc,
    ]  # fmt: skip
    return ScoreRow(f"{one.scorer} - {one.base}", "", tuple(figures), is_difference=True)


def _scale_table(report: ScoreEvaluation) -> ScorePaperTable:
    first = report.targets[0]
    short = number_repeats(_short(target.name) for target in report.targets)
    columns = (
        *(ScoreColumn(metric, name, 2, interval=True) for metric in ("MAE", "RMSE") for name in short),
        ScoreColumn("Predicted mean", "", 2, interval=True),
        ScoreColumn("Less target's", "", 2, signed=True),
    )
    by_target = [{one.name: one.overall for one in target.scorers} for target in report.targets]
    rows = {}
    for one in first.scorers:
        errors = [getattr(known[one.name], metric) for metric in ("mae", "rmse") for known in by_target]
        figures = (*errors, one.overall.mean, one.overall.shift)
        rows[one.name] = ScoreRow(one.name, one.labels, figures, note=one.scale)
    less = []
    for difference in first.over_base:
        each = [{one.scorer: one for one in target.over_base}.get(difference.scorer) for target in report.targets]
        errors = [getattr(one, metric, None) for metric in ("mae", "rmse") for one in each]
        name = f"{difference.scorer} - {difference.base}"
        less.append(ScoreRow(name, "", (*errors, difference.mean, None), is_difference=True))
    return ScorePaperTable("scale", TITLES["scale"], columns, tuple(_blocks(first.name, first, rows, less)))


def _short(target: str) -> str:
    """A target in a word, as --against names it."""
    words = {"fused scores": "fused", "mean of the ratings": "ratings", "median of the ratings": "medians"}
    return next((word for start, word in words.items() if target.startswith(start)), target)


def _blocks(name: str, target: TargetFigures, rows: dict[str, ScoreRow], less: Sequence[ScoreRow]) -> list[ScoreBlock]:
    """Base, trained, the two held against each other, and the others; empty groups are left out."""
    made = []
    for group, heading in GROUPS.items():
        own = tuple(rows[one.name] for one in target.scorers if one.group == group)
        made += [ScoreBlock(name, heading, own)] if own else []
        made += [ScoreBlock(name, LESS_BASE, tuple(less))] if group == "trained" and less else []
    return made


def _text(figure: Estimate | None, column: ScoreColumn, row: ScoreRow) -> str:
    if figure is None:
        return "" if row.is_difference else MISSING
    if not row.is_difference:
        return _signed(figure.value, column.decimals) if column.signed else fixed(figure.value, column.decimals)
    text = with_interval(figure, column.decimals) if column.interval else fixed(figure.value, column.decimals)
    return f"+{text}" if figure.value > 0 else text


def _signed(value: float, decimals: int) -> str:
    text = fixed(value, decimals)
    return f"+{text}" if value > 0 else text


# -- files -------------------------------------------------------------------------------------------------------------


def table_records(table: ScorePaperTable) -> pa.Table:
    """A row for every figure, with its interval: for scripts."""
    records = [
        {
            "target": block.target, "group": block.heading, "method": row.method, "labels": row.labels,
            "metric": column.metric, "part": column.part, "value": figure.value, "low": figure.low,
            "high": figure.high, "n": figure.n,
        }
        for block in table.blocks
        for row in block.rows
        for column, figure in zip(table.columns, row.figures, strict=True)
        if figure is not None
    ]  # fmt: skip
    words = [(name, pa.string()) for name in ("target", "group", "method", "labels", "metric", "part")]
    numbers = [(name, pa.float64()) for name in ("value", "low", "high")]
    return pa.Table.from_pylist(records, pa.schema([*words, *numbers, ("n", pa.int64())]))


def table_markdown(table: ScorePaperTable) -> str:
    """The table in Markdown, for people."""
    heads = table.heads()
    words = 2 if table.has_labels else 1
    rule = ["---"] * words + ["---:"] * len(table.columns) + (["---"] if table.has_notes else [])
    lines = [_line(heads), _line(rule)]
    for place, block in enumerate(table.blocks):
        if _opens_target(table, place):
            lines.append(_line([f"**Against {escape_md(block.target)}**", *[""] * (len(heads) - 1)]))
        lines.append(_line([f"*{escape_md(block.heading)}*", *[""] * (len(heads) - 1)]))
        lines += [_line([escape_md(cell) for cell in table.cells(row)]) for row in block.rows]
    return "\n".join(lines) + "\n"


def table_latex(table: ScorePaperTable) -> str:
    """The table as a LaTeX tabular (booktabs)."""
    heads = table.heads()
    words = 2 if table.has_labels else 1
    shape = "l" * words + "r" * len(table.columns) + ("l" if table.has_notes else "")
    out = io.StringIO()
    out.write(f"\\begin{{tabular}}{{{shape}}}\n\\toprule\n{_tex_line(heads)}\n\\midrule\n")
    for place, block in enumerate(table.blocks):
        if _opens_target(table, place):
            out.write("\\midrule\n" if place else "")
            out.write(f"\\multicolumn{{{len(heads)}}}{{l}}{{\\textbf{{Against {_tex(block.target)}}}}} \\\\\n")
        out.write(f"\\multicolumn{{{len(heads)}}}{{l}}{{\\emph{{{_tex(block.heading)}}}}} \\\\\n")
        out.writelines(f"{_tex_line(table.cells(row))}\n" for row in block.rows)
    out.write("\\bottomrule\n\\end{tabular}\n")
    return out.getvalue()


def _opens_target(table: ScorePaperTable, place: int) -> bool:
    return place == 0 or table.blocks[place - 1].target != table.blocks[place].target


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _tex_line(cells: Sequence[str]) -> str:
    return " & ".join(_tex(cell) for cell in cells) + r" \\"


def _tex(text: str) -> str:
    marks = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--"}
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return "".join(marks.get(letter, f"\\{letter}" if letter in "&%$#_{}" else letter) for letter in plain)


# --------------------------------------------------------------------------------------------------
# The HTML of `salon distill evaluate`, composed from its ScoreEvaluation alone: it prints numbers and computes none.
#
# Every number of the page carries its path in the JSON of the same evaluation. Details are those of the first target.
# --------------------------------------------------------------------------------------------------

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
    names = distinct_names((one.name for target in report.targets for one in target.scorers), _NAME)
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
        count_noun(len(target.scorers), "scorer"), brief(target.name), count_noun(target.items, "item"), report.within
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
    known = Markup("{} of {}").format(words_fixed(best.overall.scored, 0), words_fixed(best.overall.wanted, 0))
    cards.append(Card("Its coverage", known, "items times criteria with a prediction"))
    return cards


def _told(words: str, figure: object) -> Markup:
    return Markup("{} {}").format(words, "–" if figure is None else estimate_value(figure, None, 3))


def _verdicts(target: TargetFigures, names: Names) -> Section:
    rows = [
        VerdictLine(names[one.name], Badge(one.scale, TONES[one.scale]), sentence(one.words)) for one in target.scorers
    ]
    return Section("What became of the scale", [Verdicts(rows)], "A right order on a collapsed scale is half a score.")


def _figures_section(report: ScoreEvaluation, target: TargetFigures, names: Names) -> Section:
    rows = [(names[one.name], *_ends(one.overall), "") for one in target.scorers if one.overall.srcc]
    level = target.rater_level
    lines = [("one rater", level.srcc.value)] if level is not None and level.srcc is not None else []
    blocks: list[Block | str] = []
    if rows:
        chart = charts.dot_intervals(rows, 0.0, lines, title=f"SRCC against {target.name}", x_label="SRCC",
                                     null_label="no order")  # fmt: skip
        blocks.append(Chart(chart, Markup("SRCC with {} intervals.").format(level_words(report))))
    blocks.append(_table([("name", "Scorer", names[one.name], one.overall) for one in target.scorers], target.name))
    return Section(f"Against {brief(target.name)}", blocks, "Order, line and distance, all criteria together.")


def _ends(agreed: ScoreAgreement) -> tuple[float, float | None, float | None]:
    assert agreed.srcc is not None  # only scorers with an order are drawn
    return agreed.srcc.value, agreed.srcc.low, agreed.srcc.high


def _table(rows: Sequence[tuple[str, str, object, ScoreAgreement]], label: str) -> Table:
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


def _cells(agreed: ScoreAgreement) -> dict[str, object]:
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
        blocks.append(ChartRow(figures, caption, legend=[("cohort-1", "predicted"), ("null-line", "target")]))
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


def _histogram(one: ScorerFigures, names: Names, top: float) -> Chart:
    found = one.histogram
    assert found is not None
    total = max(sum(found.target), 1)
    drawing = charts.histogram_over_null(
        found.centers, found.predicted, [count / total for count in found.target],
        title=f"Scores of {one.name} and of the target", unit="scores", names=("predicted", "target"),
        top_share=top, medians=(None, None), decimals=2, height=170, width=SMALL,
    )  # fmt: skip
    return Chart(drawing, heading=names[one.name], badge=Badge(one.scale, TONES[one.scale]))


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
        own: Sequence[ScorePart] = getattr(one, of)
        table = _table([("name", word.capitalize(), part.name, part.agreed) for part in own], names[one.name])
        blocks.append(Details(Markup("{} by {}").format(names[one.name], word), [table], open=place == 0))
    return Section(f"By {word}", blocks, "Where it goes with people, and where it does not.")


def _map(scorers: Sequence[ScorerFigures], parts: dict[str, str], of: str, word: str, names: Names) -> Chart:
    rows, n = [], []
    for one in scorers:
        found = {part.id: part.agreed for part in getattr(one, of)}
        rows.append([found[id].srcc.value if id in found and found[id].srcc else None for id in parts])
        n.append([found[id].wanted if id in found else 0 for id in parts])
    drawing = charts.heat_map(
        rows, [names[one.name] for one in scorers], [brief(name, 30) for name in parts.values()], n=n, center=0.0,
        title=f"SRCC by scorer and {word}", value_name="SRCC", decimals=2,
    )  # fmt: skip
    return Chart(drawing, f"SRCC by {word}; targets beneath. Intervals are in the tables.")


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


def _method(row: ScoreRow, names: Names) -> str:
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
                     target=choice.target, items=count_noun(choice.items, "validation item"))  # fmt: skip
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
