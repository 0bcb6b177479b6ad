"""The scores of an evaluation in the shape of PSDistill's tables: a row for each method, in groups.

    category     SRCC and PLCC by category and their mean, a block for each target (Tables 3, 4 and 21)
    scale        MAE and RMSE against each target, mean prediction, its distance from the first target's (Table 22)
    criterion    SRCC and PLCC by criterion and their mean, a block for each target (Table 23)

Nothing is computed here: every cell is a figure of the report, with its interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import pyarrow as pa

from salon.evaluate.results import Evaluation, PartDifference, ScoreAgreement, ScorerGroup, TargetFigures
from salon.report.numbers import MISSING, fixed, with_interval
from salon.report.words import number_repeats
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
_SHORT = {"fused scores": "fused", "mean of the ratings": "ratings", "median of the ratings": "medians"}
"""How the name of a target begins, and how --against names it."""


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
    opens_target: bool = False
    """Whether it is the first block of its target."""


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
        return [*words, *(column.head for column in self.columns), *(["Scale"] if self.has_notes else [])]

    def cells(self, row: ScoreRow) -> list[str]:
        """A row as texts; a difference has a sign, and in the columns of means its interval."""
        words = [row.method, *([row.labels] if self.has_labels else [])]
        texts = [_text(figure, column, row) for figure, column in zip(row.figures, self.columns, strict=True)]
        return [*words, *texts, *([row.note] if self.has_notes else [])]


def paper_table(report: Evaluation, kind: TableKind) -> ScorePaperTable:
    """The scores of a report as one of the tables."""
    if kind == "scale":
        return _scale_table(report)
    of = "categories" if kind == "category" else "criteria"
    scorers = [scorer for target in report.targets for scorer in target.scorers]
    names = {part.id: part.name for scorer in scorers for part in getattr(scorer, of)}
    columns = tuple(
        ScoreColumn(metric, part, interval=part == _MEAN)
        for metric in ("SRCC", "PLCC")
        for part in (*names.values(), _MEAN)
    )
    blocks: list[ScoreBlock] = []
    for target in report.targets:
        rows = {}
        for scorer in target.scorers:
            parts = {part.id: part.agreed for part in getattr(scorer, of)}
            rows[scorer.name] = ScoreRow(scorer.name, scorer.labels, _part_figures(parts, names, scorer.overall))
        differences = [
            ScoreRow(
                f"{less.scorer} - {less.base}",
                "",
                _part_figures({part.id: part for part in getattr(less, of)}, names, less),
                is_difference=True,
            )
            for less in target.over_base
        ]
        blocks += _blocks(target, rows, differences)
    return ScorePaperTable(kind, TITLES[kind], columns, tuple(blocks))


def _part_figures(
    parts: Mapping[str, ScoreAgreement | PartDifference], ids: Iterable[str], overall: object
) -> tuple[Estimate | None, ...]:
    """SRCC of every part and over all, then PLCC."""
    return tuple(
        getattr(result, metric, None)
        for metric in ("srcc", "plcc")
        for result in (*(parts.get(id) for id in ids), overall)
    )


def _scale_table(report: Evaluation) -> ScorePaperTable:
    first = report.targets[0]
    starts = [
        next((word for start, word in _SHORT.items() if t.name.startswith(start)), t.name) for t in report.targets
    ]
    columns = (
        *(ScoreColumn(metric, name, 2, interval=True) for metric in ("MAE", "RMSE") for name in number_repeats(starts)),
        ScoreColumn("Predicted mean", "", 2, interval=True),
        ScoreColumn("Less target's", "", 2, signed=True),
    )

    def errors(of: Sequence[Mapping[str, object]], name: str) -> tuple[Estimate | None, ...]:
        return tuple(getattr(by_name.get(name), metric, None) for metric in ("mae", "rmse") for by_name in of)

    overall = [{scorer.name: scorer.overall for scorer in target.scorers} for target in report.targets]
    rows = {
        scorer.name: ScoreRow(
            scorer.name,
            scorer.labels,
            (*errors(overall, scorer.name), scorer.overall.mean, scorer.overall.shift),
            note=scorer.scale,
        )
        for scorer in first.scorers
    }
    over_base = [{less.scorer: less for less in target.over_base} for target in report.targets]
    differences = [
        ScoreRow(
            f"{less.scorer} - {less.base}", "", (*errors(over_base, less.scorer), less.mean, None), is_difference=True
        )
        for less in first.over_base
    ]
    return ScorePaperTable("scale", TITLES["scale"], columns, tuple(_blocks(first, rows, differences)))


def _blocks(target: TargetFigures, rows: Mapping[str, ScoreRow], differences: Sequence[ScoreRow]) -> list[ScoreBlock]:
    """Base, trained, the two held against each other, and the others; empty groups are left out."""
    blocks: list[ScoreBlock] = []
    for group, heading in GROUPS.items():
        own = tuple(rows[scorer.name] for scorer in target.scorers if scorer.group == group)
        if own:
            blocks.append(ScoreBlock(target.name, heading, own, opens_target=not blocks))
        if group == "trained" and differences:
            blocks.append(ScoreBlock(target.name, LESS_BASE, tuple(differences), opens_target=not blocks))
    return blocks


def _text(figure: Estimate | None, column: ScoreColumn, row: ScoreRow) -> str:
    if figure is None:
        return "" if row.is_difference else MISSING
    text = fixed(figure.value, column.decimals)
    if row.is_difference and column.interval:
        text = with_interval(figure, column.decimals)
    return f"+{text}" if figure.value > 0 and (row.is_difference or column.signed) else text


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

    def line(*cells: str) -> str:
        return f"| {' | '.join([*cells, *[''] * (len(heads) - len(cells))])} |"

    heads = table.heads()
    rule = ["---"] * (2 if table.has_labels else 1) + ["---:"] * len(table.columns) + ["---"] * table.has_notes
    lines = [line(*heads), line(*rule)]
    for block in table.blocks:
        lines += [line(f"**Against {escape_md(block.target)}**")] if block.opens_target else []
        lines.append(line(f"*{escape_md(block.heading)}*"))
        lines += [line(*(escape_md(cell) for cell in table.cells(row))) for row in block.rows]
    return "\n".join(lines) + "\n"


def table_latex(table: ScorePaperTable) -> str:
    """The table as a LaTeX tabular (booktabs)."""
    heads = table.heads()

    def line(cells: Sequence[str]) -> str:
        return " & ".join(_tex(cell) for cell in cells) + r" \\"

    def heading(style: str, words: str) -> str:
        return f"\\multicolumn{{{len(heads)}}}{{l}}{{\\{style}{{{_tex(words)}}}}} \\\\"

    shape = "l" * (2 if table.has_labels else 1) + "r" * len(table.columns) + "l" * table.has_notes
    lines = [f"\\begin{{tabular}}{{{shape}}}", "\\toprule", line(heads), "\\midrule"]
    for place, block in enumerate(table.blocks):
        if block.opens_target:
            lines += ["\\midrule"] if place else []
            lines.append(heading("textbf", f"Against {block.target}"))
        lines.append(heading("emph", block.heading))
        lines += [line(table.cells(row)) for row in block.rows]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _tex(text: str) -> str:
    marks = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--"}
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return "".join(marks.get(letter, f"\\{letter}" if letter in "&%$#_{}" else letter) for letter in plain)
