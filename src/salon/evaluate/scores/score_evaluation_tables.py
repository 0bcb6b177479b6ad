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

from salon.evaluate.scores.score_evaluation_results import (
    Group,
    OverBase,
    Part,
    PartDifference,
    ScoreEvaluation,
    ScorerFigures,
    TargetFigures,
)
from salon.report.numbers import MISSING, fixed, with_interval
from salon.report.words import numbered
from salon.stats.result import Estimate
from salon.store.markdown import inert

TableKind = Literal["category", "scale", "criterion"]
KINDS: tuple[TableKind, ...] = get_args(TableKind)
GROUPS: dict[Group, str] = {
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
class TableColumn:
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
class TableRow:
    """A method, or a trained one less its base."""

    method: str
    labels: str
    figures: tuple[Estimate | None, ...]
    is_difference: bool = False
    note: str = ""
    """A last column of words: what became of the scale."""


@dataclass(frozen=True)
class TableBlock:
    """Rows of one kind, under one heading."""

    target: str
    heading: str
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class PaperTable:
    """One table in the shape of the paper's."""

    kind: TableKind
    title: str
    columns: tuple[TableColumn, ...]
    blocks: tuple[TableBlock, ...]

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

    def cells(self, row: TableRow) -> list[str]:
        """A row as texts; a difference has a sign, and in the columns of means its interval."""
        words = [row.method, *([row.labels] if self.has_labels else [])]
        texts = [_text(figure, column, row) for figure, column in zip(row.figures, self.columns, strict=True)]
        return [*words, *texts, *([row.note] if self.has_notes else [])]


def paper_table(report: ScoreEvaluation, kind: TableKind) -> PaperTable:
    """The figures of a report as one of the tables."""
    if kind == "scale":
        return _scale_table(report)
    names = _part_names(report, kind)
    columns = tuple(
        TableColumn(metric, part, interval=part == _MEAN)
        for metric in ("SRCC", "PLCC")
        for part in (*names.values(), _MEAN)
    )
    blocks: list[TableBlock] = []
    for target in report.targets:
        rows = {one.name: _part_row(one, names, kind) for one in target.scorers}
        less = [_part_difference(one, names, kind) for one in target.over_base]
        blocks += _blocks(target.name, target, rows, less)
    return PaperTable(kind, TITLES[kind], columns, tuple(blocks))


# -- rows --------------------------------------------------------------------------------------------------------------


def _part_names(report: ScoreEvaluation, kind: TableKind) -> dict[str, str]:
    parts = [part for target in report.targets for one in target.scorers for part in _parts(one, kind)]
    return {part.id: part.name for part in parts}


def _parts(one: ScorerFigures, kind: TableKind) -> tuple[Part, ...]:
    return one.categories if kind == "category" else one.criteria


def _part_row(one: ScorerFigures, names: dict[str, str], kind: TableKind) -> TableRow:
    found = {part.id: part.agreed for part in _parts(one, kind)}
    figures = [
        *(found[id].srcc if id in found else None for id in names), one.overall.srcc,
        *(found[id].plcc if id in found else None for id in names), one.overall.plcc,
    ]  # fmt: skip
    return TableRow(one.name, one.labels, tuple(figures))


def _part_difference(one: OverBase, names: dict[str, str], kind: TableKind) -> TableRow:
    parts: Sequence[PartDifference] = one.categories if kind == "category" else one.criteria
    found = {part.id: part for part in parts}
    figures = [
        *(found[id].srcc if id in found else None for id in names), one.srcc,
        *(found[id].plcc if id in found else None for id in names), one.plcc,
    ]  # fmt: skip
    return TableRow(f"{one.scorer} - {one.base}", "", tuple(figures), is_difference=True)


def _scale_table(report: ScoreEvaluation) -> PaperTable:
    first = report.targets[0]
    short = numbered(_short(target.name) for target in report.targets)
    columns = (
        *(TableColumn(metric, name, 2, interval=True) for metric in ("MAE", "RMSE") for name in short),
        TableColumn("Predicted mean", "", 2, interval=True),
        TableColumn("Less target's", "", 2, signed=True),
    )
    by_target = [{one.name: one.overall for one in target.scorers} for target in report.targets]
    rows = {}
    for one in first.scorers:
        errors = [getattr(known[one.name], metric) for metric in ("mae", "rmse") for known in by_target]
        figures = (*errors, one.overall.mean, one.overall.shift)
        rows[one.name] = TableRow(one.name, one.labels, figures, note=one.scale)
    less = []
    for difference in first.over_base:
        each = [{one.scorer: one for one in target.over_base}.get(difference.scorer) for target in report.targets]
        errors = [getattr(one, metric, None) for metric in ("mae", "rmse") for one in each]
        name = f"{difference.scorer} - {difference.base}"
        less.append(TableRow(name, "", (*errors, difference.mean, None), is_difference=True))
    return PaperTable("scale", TITLES["scale"], columns, tuple(_blocks(first.name, first, rows, less)))


def _short(target: str) -> str:
    """A target in a word, as --against names it."""
    words = {"fused scores": "fused", "mean of the ratings": "ratings", "median of the ratings": "medians"}
    return next((word for start, word in words.items() if target.startswith(start)), target)


def _blocks(name: str, target: TargetFigures, rows: dict[str, TableRow], less: Sequence[TableRow]) -> list[TableBlock]:
    """Base, trained, the two held against each other, and the others; empty groups are left out."""
    made = []
    for group, heading in GROUPS.items():
        own = tuple(rows[one.name] for one in target.scorers if one.group == group)
        made += [TableBlock(name, heading, own)] if own else []
        made += [TableBlock(name, LESS_BASE, tuple(less))] if group == "trained" and less else []
    return made


def _text(figure: Estimate | None, column: TableColumn, row: TableRow) -> str:
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


def table_records(table: PaperTable) -> pa.Table:
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


def table_markdown(table: PaperTable) -> str:
    """The table in Markdown, for people."""
    heads = table.heads()
    words = 2 if table.has_labels else 1
    rule = ["---"] * words + ["---:"] * len(table.columns) + (["---"] if table.has_notes else [])
    lines = [_line(heads), _line(rule)]
    for place, block in enumerate(table.blocks):
        if _opens_target(table, place):
            lines.append(_line([f"**Against {inert(block.target)}**", *[""] * (len(heads) - 1)]))
        lines.append(_line([f"*{inert(block.heading)}*", *[""] * (len(heads) - 1)]))
        lines += [_line([inert(cell) for cell in table.cells(row)]) for row in block.rows]
    return "\n".join(lines) + "\n"


def table_latex(table: PaperTable) -> str:
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


def _opens_target(table: PaperTable, place: int) -> bool:
    return place == 0 or table.blocks[place - 1].target != table.blocks[place].target


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _tex_line(cells: Sequence[str]) -> str:
    return " & ".join(_tex(cell) for cell in cells) + r" \\"


def _tex(text: str) -> str:
    marks = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--"}
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return "".join(marks.get(letter, f"\\{letter}" if letter in "&%$#_{}" else letter) for letter in plain)
