"""Tables of the parts beside pairs: flags, checklists and scores; and scores in the shape of PSDistill's tables.

    category     SRCC and PLCC by category and their mean, a block for each target (Tables 3, 4 and 21)
    scale        MAE and RMSE against each target, mean prediction, its distance from the first target's (Table 22)
    criterion    SRCC and PLCC by criterion and their mean, a block for each target (Table 23)

A row of these is a method, in groups. Nothing is computed here: every cell is a figure of the report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from markupsafe import Markup

from salon.check import CeilingFigures
from salon.evaluate.results import (
    Checkpoint,
    CostRow,
    DisputedPoint,
    Evaluation,
    FlagJudge,
    FlagPanel,
    JointAnswers,
    PartDifference,
    ScoreAgreement,
    ScorerDifference,
    ScorerFigures,
    ScorerGroup,
    TableKind,
    TargetFigures,
    TickAgreement,
    TickCriterion,
    TickJudgeFigures,
    TickPanelFigures,
    TickPoint,
    TickReport,
)
from salon.evaluate.tables import (
    JUDGE,
    JUDGE_NAME,
    MOST,
    QUOTED,
    Names,
    Part,
    at_level,
    judge_cell,
    make_table,
    split_cell,
)
from salon.report import (
    LONGEST_NAME,
    Badge,
    Cell,
    Column,
    Table,
    brief,
    columns_of,
    count_noun,
    join_names,
    number_repeats,
    numbers,
    one_way,
)
from salon.report.words import fixed
from salon.stats import Estimate, TickRates
from salon.store import escape_md

MOST_POINTS, MOST_COLUMNS = 40, 6
TICK_ACCURACY = ("accuracy", "parsed_only", "constant", "gain", "balanced", "kappa", "unread")
TICK_ERRORS = ("on_yes", "on_no", "pass_rate", "people_pass", "lean")
RULE_WORDS = {"majority": "majority of all", "unanimous": "yes only if all say yes", "routes": "by the routes given"}


# -- flags and checklists ----------------------------------------------------------------------------------------------


def flag_tables(report: Evaluation, names: Names) -> list[Table]:
    """People's flags by cohort, and the judges that were asked for them."""
    people = [(panel,) for panel in report.flags]
    judges = [(judge, panel, judge) for panel in report.flags for judge in panel.judges]
    caption = at_level("What people flagged, with {} intervals.", report)
    tables = [make_table([(FlagPanel, ("name", "cohort", "items", "answers", "flagged", "alpha"))], people, caption)]
    if judges:
        parts: list[Part] = [
            (FlagJudge, ("judge",)), (FlagPanel, ("name", "cohort")),
            (FlagJudge, ("separation", "flagged", "items", "missing")),
        ]  # fmt: skip
        words = "Judges that were asked for flags: chance that an item most people flagged looks worse."
        tables.append(make_table(parts, judges, words, names))
    return tables


def tick_table(ticks: TickReport, figures: Sequence[str], names: Names, caption: str) -> Table:
    """Judges of checklists, by some of their figures."""
    parts: list[Part] = [JUDGE_NAME, (TickRates, figures)]
    parts += [(TickJudgeFigures, ("to_best",))] if "accuracy" in figures else []
    return make_table(parts, [(judge_cell(judge, names), judge.macro, judge) for judge in ticks.judges], caption)


def tick_criterion_table(judge: TickJudgeFigures) -> Table:
    """Every figure of a judge of checklists, criterion by criterion."""
    parts: list[Part] = [
        *columns_of(TickCriterion, "name"), (TickRates, (*TICK_ACCURACY, *TICK_ERRORS)),
        (TickCriterion, ("decided", "asked", "panel_ticks")),
    ]  # fmt: skip
    rows = [
        (Cell(part.name, " ".join(part.warnings)), part.figures or "no tick with a majority", part)
        for part in judge.criteria
    ]
    return make_table(parts, rows, "Criterion by criterion.")


def point_table(ticks: TickReport, names: Names, most: int = MOST_POINTS) -> Table | None:
    """Points by judges, the hardest first; a list of one point says no more than the figures above."""
    judges = ticks.judges[:MOST_COLUMNS]
    by_point: dict[tuple[str, str], dict[str, TickPoint]] = {}
    for judge in judges:
        for point in judge.points:
            by_point.setdefault((point.criterion, point.point), {})[judge.name] = point
    if len(by_point) < 2:
        return None
    criteria = {part.criterion: part.name for judge in judges for part in judge.criteria}
    several = len({criterion for criterion, _ in by_point}) > 1
    columns = [*columns_of(TickPoint, "point", "criterion"), Column("people", "People pass")]
    columns += [Column(str(i), names[judge.name], "estimate", 2) for i, judge in enumerate(judges)]
    hardest = sorted(
        by_point.items(), key=lambda entry: sum(p.accuracy.value for p in entry[1].values()) / len(entry[1])
    )
    rows = []
    for (criterion, name), by_judge in hardest[:most]:
        first = next(iter(by_judge.values()))
        people = Markup("{} of {}").format(fixed(first.people_yes, 0), fixed(first.ticks, 0))
        label = Cell(brief(name), one_way(name) if len(name) > LONGEST_NAME else "")
        cells = (_point_cell(by_judge.get(judge.name)) for judge in judges)
        rows.append((label, criteria.get(criterion, criterion) if several else None, people, *cells))
    return make_table(
        columns, rows, "Accuracy point by point, hardest first; beneath, the items that the judge passes."
    )


def _point_cell(point: TickPoint | None) -> Cell:
    if point is None:
        return Cell(None, "not asked")
    under = Markup("passes {}").format(fixed(point.judge_yes, 0))
    if point.unread:
        under += Markup(", {} unread").format(fixed(point.unread, 0))
    return Cell(point.accuracy, point.accuracy.method, under)


def tick_panel_table(report: Evaluation, ticks: TickReport) -> Table:
    """The people who ticked, and the ceilings they set."""
    plain = ("name", "ticks", "points", "tied", "raters", "pass_rate", "two_people", "kappa")
    rows = [(panel, panel.ceilings or panel.no_ceiling) for panel in ticks.panel]
    caption = (
        "Answers of people, and the ceilings they set: ranges over all laws of the ticks' odds that fit the answers. "
        "Below each range its {} interval and the point of a beta law."
    )
    return make_table([(TickPanelFigures, plain), (CeilingFigures, QUOTED)], rows, at_level(caption, report))


def tick_split_table(ticks: TickReport, names: Names) -> Table | None:
    """Judges of checklists by how people split."""
    splits = list(dict.fromkeys(part.split for judge in ticks.judges for part in judge.splits))
    columns = [Column(str(i), split, "estimate", 3) for i, split in enumerate(splits)]
    rows = []
    for judge in ticks.judges:
        by_split = {part.split: part for part in judge.splits}
        rows.append((judge, *(split_cell(by_split.get(split), "tick") for split in splits)))
    words = "Accuracy by split of the people, clearest first; ticks beneath."
    return make_table([JUDGE, *columns], rows, words, names) if len(splits) > 1 else None


def joint_tables(report: Evaluation, ticks: TickReport, names: Names) -> list[Table]:
    """Several judges as one, every two of them, and the points they dispute; nothing for a judge alone."""
    tables = []
    if ticks.together:
        parts: list[Part] = [
            Column("rule", "Rule"), (TickRates, ("accuracy", "parsed_only", "unread", "lean")),
            (JointAnswers, ("disputed", "settled_accuracy", "disputed_accuracy")),
        ]  # fmt: skip
        rows: list[tuple[object, ...]] = []
        for joint in ticks.together:
            judges = join_names(names[judge] for judge in joint.judges)
            under = Markup("{}, {}").format(judges, count_noun(joint.macro.ticks, "tick"))
            rows.append((Cell(RULE_WORDS[joint.rule], "", under), joint.macro, joint))
        caption = (
            "Several judges as one, against people: means over criteria, with {} intervals; open ticks are unread."
        )
        tables.append(make_table(parts, rows, at_level(caption, report)))
    if ticks.agreement:
        rows = [(pair,) for pair in sorted(ticks.agreement, key=lambda pair: -pair.agreement.value)[:MOST]]
        words = "Every two judges, over the ticks on which both could be read; most agreeing first."
        tables.append(
            make_table([(TickAgreement, ("first", "second", "agreement", "kappa", "ticks"))], rows, words, names)
        )
    if tables and ticks.disputed:
        criteria = {part.criterion: part.name for judge in ticks.judges for part in judge.criteria}
        parts = [*columns_of(TickPoint, "point", "criterion"), (DisputedPoint, ("disputed", "ticks"))]
        rows = [
            (brief(point.point), criteria.get(point.criterion, point.criterion) if len(criteria) > 1 else None, point)
            for point in ticks.disputed[:MOST]
        ]
        tables.append(make_table(parts, rows, "Points on which judges contradict each other, most disputed first."))
    return tables


# -- scores ------------------------------------------------------------------------------------------------------------


def score_table(rows: Sequence[tuple[str, object]], head: str, label: str) -> Table:
    """Order, line and distance; each row a scorer, a category or a criterion."""
    figures = ("srcc", "plcc", "krcc", "mae", "rmse", "scored_srcc", "scored", "wanted")
    return make_table([Column("name", head), (ScoreAgreement, figures)], rows, label=f"{head}: {label}")


def target_table(target: TargetFigures, names: Names) -> Table:
    """All scorers against one target, and what people reach in the same figures."""
    rows: list[tuple[str, object]] = [(names[scorer.name], scorer.overall) for scorer in target.scorers]
    rows += [("one rater against the others", target.rater_level)] if target.rater_level else []
    return score_table(rows, "Scorer", target.name)


def spread_table(target: TargetFigures, names: Names) -> Table:
    """Where predictions lie, and where they should."""
    figures = ("mean", "target_mean", "shift", "sd", "target_sd", "spread")
    parts: list[Part] = [(ScorerFigures, ("name",)), (ScoreAgreement, figures), (ScorerFigures, ("scale",))]
    rows = [(scorer, scorer.overall, scorer) for scorer in target.scorers]
    return make_table(parts, rows, names=names, label="Level and spread")


def difference_table(report: Evaluation, target: TargetFigures, names: Names) -> Table | None:
    """Every two scorers on the same items."""
    parts: list[Part] = [
        Column("pair", "First less second"), (ScorerDifference, ("srcc", "mae")),
        Column("apart", "Difference", "badge"),
    ]  # fmt: skip
    rows = [
        (
            f"{names[pair.first]} − {names[pair.second]}",
            pair,
            Badge("yes", "clear") if pair.apart else Badge("no", "open"),
        )
        for pair in target.differences
    ]
    caption = "On the same items, drawn together, so that what is hard for both cancels; {} intervals."
    return make_table(parts, rows, at_level(caption, report)) if rows else None


def choice_table(report: Evaluation) -> Table | None:
    """The checkpoints on the validation items."""
    if report.choice is None:
        return None
    chosen = report.choice.chosen
    rows = [
        (candidate, Badge("chosen", "clear") if candidate.name == chosen else "")
        for candidate in report.choice.candidates
    ]
    return make_table([(Checkpoint, ("name", "srcc")), Column("chosen", "Choice", "badge")], rows, label="Checkpoints")


def cost_table(report: Evaluation) -> Table:
    """Calls to a model, beforehand and here."""
    parts: list[Part] = [(CostRow, ("name", "label_calls", "passes", "total", "note"))]
    return make_table(parts, [(row,) for row in report.cost], label="Calls and passes")


# -- the tables of the paper -------------------------------------------------------------------------------------------

GROUPS: dict[ScorerGroup, str] = {"base": "Untrained VLMs, one pass", "trained": "Trained", "baseline": "Other scorers"}
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
class PaperTableRow:
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
    rows: tuple[PaperTableRow, ...]
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

    def cells(self, row: PaperTableRow) -> list[str]:
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
            rows[scorer.name] = PaperTableRow(scorer.name, scorer.labels, _part_figures(parts, names, scorer.overall))
        differences = [
            PaperTableRow(
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
        scorer.name: PaperTableRow(
            scorer.name,
            scorer.labels,
            (*errors(overall, scorer.name), scorer.overall.mean, scorer.overall.shift),
            note=scorer.scale,
        )
        for scorer in first.scorers
    }
    over_base = [{less.scorer: less for less in target.over_base} for target in report.targets]
    differences = [
        PaperTableRow(
            f"{less.scorer} - {less.base}", "", (*errors(over_base, less.scorer), less.mean, None), is_difference=True
        )
        for less in first.over_base
    ]
    return ScorePaperTable("scale", TITLES["scale"], columns, tuple(_blocks(first, rows, differences)))


def _blocks(
    target: TargetFigures, rows: Mapping[str, PaperTableRow], differences: Sequence[PaperTableRow]
) -> list[ScoreBlock]:
    """Base, trained, the two held against each other, and the others; empty groups are left out."""
    blocks: list[ScoreBlock] = []
    for group, heading in GROUPS.items():
        own = tuple(rows[scorer.name] for scorer in target.scorers if scorer.group == group)
        if own:
            blocks.append(ScoreBlock(target.name, heading, own, opens_target=not blocks))
        if group == "trained" and differences:
            blocks.append(ScoreBlock(target.name, LESS_BASE, tuple(differences), opens_target=not blocks))
    return blocks


def _text(figure: Estimate | None, column: ScoreColumn, row: PaperTableRow) -> str:
    if figure is None:
        return "" if row.is_difference else numbers.MISSING
    text = numbers.fixed(figure.value, column.decimals)
    if row.is_difference and column.interval:
        text = numbers.with_interval(figure, column.decimals)
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
    values = [(name, pa.float64()) for name in ("value", "low", "high")]
    return pa.Table.from_pylist(records, pa.schema([*words, *values, ("n", pa.int64())]))


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
