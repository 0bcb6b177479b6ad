"""The scores of a fusion's page: boards, tiers, items that cannot be told apart, and agreement between methods.

A board is the scores of one criterion in one group, best first. A page must stay light: what it leaves out is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from salon.fuse.results import (
    AnchorFigure,
    CompareFigures,
    CurveFigures,
    FuseReport,
    GapRow,
    GroupFigures,
    MethodPair,
    ScoreRow,
)
from salon.report import (
    LONGEST_NAME,
    SIMULATED,
    SMALL,
    WIDE,
    Block,
    Cell,
    Chart,
    ChartRow,
    Column,
    Details,
    Note,
    Prose,
    Section,
    Table,
    brief,
    charts,
    columns_of,
    count_noun,
    distinct_names,
    domain,
    join_names,
    level_words,
    numbers,
    sentence,
    without_shared_start,
)
from salon.report.words import fixed

PLACE = Column("place", "Group")
MOST_ROWS = 60
"""Rows of a table about groups; more are in the JSON."""


@dataclass(frozen=True)
class ScoreNames:
    """How items, criteria and groups are printed; a group is named only where there are several."""

    items: dict[str, str]
    criteria: dict[str, str]
    groups: dict[str, str]
    start: str
    """What the names of all criteria begin with: `taste/`. Said once, and cut from each."""

    @classmethod
    def of(cls, report: FuseReport, prompts: Mapping[str, str] | None = None) -> ScoreNames:
        """The names of a report; `prompts`: the text of each prompt by its id, where a group is a prompt."""
        places: list[ScoreRow | GroupFigures] = [*report.scores, *report.groups]
        criteria = distinct_names((place.criterion for place in places), 48)
        short, start = without_shared_start(list(criteria.values()))
        titles = {}  # a group by its id; a prompt also by its words, as on the terminal: `p1: A jazz night`
        for group in (place.group for place in places):
            text = (prompts or {}).get(group, "").strip()
            titles[group] = f"{group}: {text}" if text and text != group else group
        printed = distinct_names(titles.values(), LONGEST_NAME if prompts else 48)
        return cls(
            items=distinct_names(item_label(row) for row in report.scores),
            criteria=dict(zip(criteria, short)),
            groups={group: printed[title] for group, title in titles.items()},
            start=start,
        )

    def item(self, label: str) -> str:
        """An item's name as printed."""
        return self.items.get(label) or distinct_names([label])[label]

    def place(self, part: ScoreRow | GroupFigures | CurveFigures | AnchorFigure) -> str:
        """`Mood · posters`; what the whole report shares is left out, unless nothing would remain."""
        parts = [(part.criterion, self.criteria), (part.group, self.groups)]
        words = [printed[name] for name, printed in parts if name is not None and len(printed) > 1]
        return " · ".join(words) or (self.criteria[part.criterion] if part.criterion is not None else "all groups")


@dataclass(frozen=True)
class ScoreBoard:
    """Scores of one criterion in one group, best first."""

    name: str
    group: str
    criterion: str
    rows: tuple[ScoreRow, ...]
    figures: GroupFigures | None

    @property
    def first_tier(self) -> int | None:
        """How many cannot be told from the best; None where there are no tiers."""
        tiers = [row.tier for row in self.rows]
        return tiers.count(1) if 1 in tiers else None

    def ends(self, most: int) -> tuple[tuple[ScoreRow, ...], int, int]:
        """The best and the worst rows where all would be too many, where the cut is, and how many are cut."""
        if len(self.rows) <= most:
            return self.rows, len(self.rows), 0
        head = (most + 1) // 2
        tail = most - head
        return self.rows[:head] + self.rows[len(self.rows) - tail :], head, len(self.rows) - most


def item_label(row: ScoreRow) -> str:
    """The item, or the generator where those are scored."""
    return row.item or row.generator or ""


def scale_words(report: FuseReport) -> str:
    """The scale's name, with hyphens that do not break: 1‑5."""
    return brief(report.scale, 24).replace("-", "\u2011")


def list_boards(report: FuseReport, names: ScoreNames) -> list[ScoreBoard]:
    """All boards, criterion by criterion in the report's order."""
    rows_by_place: dict[tuple[str, str], list[ScoreRow]] = {}
    for row in report.scores:
        rows_by_place.setdefault((row.criterion, row.group), []).append(row)
    figures = {(group.criterion, group.group): group for group in report.groups}
    order = list(names.criteria)
    return [
        ScoreBoard(
            names.place(rows[0]),
            names.groups[key[1]],
            key[0],
            tuple(sorted(rows, key=lambda row: row.rank)),
            figures.get(key),
        )
        for key, rows in sorted(rows_by_place.items(), key=lambda pair: order.index(pair[0][0]))
    ]


def cut_note(rows: Sequence[object], most: int = MOST_ROWS, noun: str = "group") -> Markup:
    """` 12 more groups in the JSON.` for a caption; nothing where all are shown."""
    left = len(rows) - most
    return Markup(" {} in the JSON.").format(count_noun(left, f"more {noun}")) if left > 0 else Markup("")


def fold_table(table: Table, summary: str) -> Block:
    """A table behind a click."""
    return Details(summary, [table])


# -- scores ------------------------------------------------------------------------------------------------------------

MOST_WARNINGS = 5
FEW_BOARDS = 4
"""Small boards beyond this number are drawn side by side."""
MOST_MULTIPLES = 6
"""Small multiples that stand open; more are behind a click."""
FIRST_ROWS = 14
"""Rows of the chart of the first screen."""
SMALL_BOARD = 8
"""Items up to which a board is one of several small multiples."""
MOST_SMALL = 12
MOST_BOARDS = 16
DRAWN_ROWS, DRAWN_EACH = 360, (10, 60)
"""Rows drawn over all boards, and the least and the most for one."""
LISTED_ROWS = 1000
MOST_RUNS, RUN_NAMES = 4, 8
NO_ERROR = "no error can be given"
NO_TIER = "tiers need errors"


@dataclass(frozen=True)
class BoardAxis:
    """What boards side by side share."""

    ends: tuple[float, float] | None
    decimals: int


def score_section(report: FuseReport, names: ScoreNames, boards: Sequence[ScoreBoard]) -> Section:
    """Warnings first; then every board, or as many as a page can hold."""
    summary = "From best to worst, with what is not known about each."
    if not boards:
        return Section("Scores", [*score_warnings(report), "No item could be scored."], summary)
    small = len(boards) > FEW_BOARDS and max(len(board.rows) for board in boards) <= SMALL_BOARD
    blocks = _small_boards(report, names, boards) if small else _wide_boards(report, names, boards)
    return Section(
        "Scores",
        [*score_warnings(report), _how_to_read(report, names), *_overview(report, names, boards), *blocks],
        summary,
    )


def first_figure(report: FuseReport, names: ScoreNames, boards: Sequence[ScoreBoard]) -> Chart | None:
    """The first board, best and worst rows only where it is long."""
    if not boards:
        return None
    board = boards[0]
    figure = _board_figure(report, names, board, FIRST_ROWS, _axis(report, [board], FIRST_ROWS))
    if len(boards) > 1:
        words = Markup("{} The first of {}; the others are under Scores.")
        figure = replace(figure, caption=words.format(figure.caption, count_noun(len(boards), "group")))
    return figure


def alike_section(names: ScoreNames, boards: Sequence[ScoreBoard]) -> Section | None:
    """Runs of items of whom no two differ by more than chance allows."""
    runs = [
        (board, run) for board in boards if board.figures for run in board.figures.alike[:MOST_RUNS] if len(run) > 1
    ]
    if not runs:
        return None
    several = len(boards) > 1
    columns = [
        PLACE,
        Column("size", "Items", "count"),
        Column("names", "No two differ significantly"),
    ]
    rows = [
        {"place": board.name, "size": len(run), "names": _run_words(run, board, names)}
        for board, run in runs[:MOST_ROWS]
    ]
    caption = Markup("Runs of items in order of score; no two items of a run differ significantly. Runs may overlap.")
    if any(board.figures and len(board.figures.alike) > MOST_RUNS for board in boards):
        caption += Markup(" The best {} of each group; the others are in the JSON.").format(
            count_noun(MOST_RUNS, "run")
        )
    table = Table(columns if several else columns[1:], rows, caption + cut_note(runs, noun="run"), sortable=several)
    return Section(
        "Alike",
        [*_first_run(runs[0], names, several), fold_table(table, count_noun(len(rows), "run") + " of such items")],
        "Which items do not differ significantly.",
    )


def _first_run(run: tuple[ScoreBoard, Sequence[str]], names: ScoreNames, several: bool) -> list[Block]:
    """The best run of the first board that has one."""
    board, items = run
    place = Markup(" on {}").format(board.name) if several else Markup("")
    words = Markup("{}{} do not differ significantly: {}.")
    return [Prose(words.format(count_noun(len(items), "item"), place, _run_words(items, board, names)))]


def score_warnings(report: FuseReport) -> list[Block]:
    """Warnings as notes; more than a few are behind a click."""
    notes = [Note(sentence(words), "alert", "Warning.") for words in report.warnings if sentence(words) != SIMULATED]
    if len(notes) <= MOST_WARNINGS:
        return [*notes]
    more = Details(count_noun(len(notes) - MOST_WARNINGS, "more warning"), notes[MOST_WARNINGS:])
    return [*notes[:MOST_WARNINGS], more]


def _how_to_read(report: FuseReport, names: ScoreNames) -> Prose:
    words = (
        "Brackets are {} intervals; around a rank they give the places it may hold. No item of the first tier is "
        "significantly worse than the best one; the next tier holds the best of the rest, and so on."
    )
    anchors = " Diamonds are rating anchors." if any(row.rating_anchor for row in report.scores) else ""
    start = Markup(" Names of criteria start with {}.").format(names.start) if names.start else Markup("")
    return Prose(Markup(words).format(level_words(report)) + anchors + start)


def _overview(report: FuseReport, names: ScoreNames, boards: Sequence[ScoreBoard]) -> list[Block]:
    """One line for each board, where there are several."""
    if len(boards) < 2:
        return []
    columns = [
        PLACE,
        Column("items", "Scored", "count"),
        Column("first", "First"),
        Column("score", f"Score ({scale_words(report)})", "estimate"),
        Column("tier", "Tier 1 holds", "count", hint="How many do not differ significantly from the best"),
    ]
    rows = [
        {
            "place": board.name,
            "items": len(board.rows),
            "first": names.item(item_label(board.rows[0])),
            "score": _score_cell(board.rows[0]),
            "tier": Cell(board.first_tier, "" if board.first_tier is not None else NO_TIER),
        }
        for board in boards[:MOST_ROWS]
    ]
    caption = Markup("The first of each group, with {} intervals.").format(level_words(report)) + cut_note(boards)
    return [
        fold_table(Table(columns, rows, caption), Markup("The first of {}").format(count_noun(len(boards), "group")))
    ]


def _wide_boards(report: FuseReport, names: ScoreNames, boards: Sequence[ScoreBoard]) -> list[Block]:
    """Each board as a caterpillar above its table, behind a click."""
    first_boards = boards[:MOST_BOARDS]
    least, most = DRAWN_EACH
    drawn_rows = min(most, max(least, DRAWN_ROWS // len(first_boards)))
    listed_rows = LISTED_ROWS // len(first_boards)
    axis = _axis(report, first_boards, drawn_rows)
    blocks: list[Block] = []
    for board in first_boards:
        figure = _board_figure(report, names, board, drawn_rows, axis)
        rows, _, left = board.ends(listed_rows)
        size = Markup("{}: {}").format(board.name, count_noun(len(rows), "row"))
        all_words = Markup("{} {}").format("Best and worst scores" if left else "All scores", _soft(size))
        table = Details(all_words, [_score_table(report, names, [board], listed_rows)])
        first = Markup("{} scored; first: {}").format(fixed(len(board.rows), 0), names.item(item_label(board.rows[0])))
        board_words = Markup("{} {}").format(board.name, _soft(first))
        blocks.append(Details(board_words, [replace(figure, heading=""), table]))
    if len(boards) > len(first_boards):
        blocks.append(Prose(Markup("Not drawn, to keep the page light:") + cut_note(boards, len(first_boards))))
    return blocks


def _small_boards(report: FuseReport, names: ScoreNames, boards: Sequence[ScoreBoard]) -> list[Block]:
    """Small multiples and one table for each criterion, or for all where a criterion is one board."""
    by_criterion: dict[str, list[ScoreBoard]] = {}
    for board in boards:
        by_criterion.setdefault(board.criterion, []).append(board)
    if len(names.groups) == 1 or len(by_criterion) == 1:
        charts_row, table = _multiples(report, names, boards, LISTED_ROWS)
        if len(boards) <= MOST_MULTIPLES:
            return [charts_row, table]
        return [Details(Markup("Scores in {}").format(count_noun(len(boards), "group")), [charts_row]), table]
    return [
        Details(
            Markup("{} {}").format(names.criteria[criterion], _soft(count_noun(len(mine), "group"))),
            _multiples(report, names, [replace(b, name=b.group) for b in mine], LISTED_ROWS // len(by_criterion)),
        )
        for criterion, mine in by_criterion.items()
    ]


def _multiples(report: FuseReport, names: ScoreNames, boards: Sequence[ScoreBoard], most: int) -> list[Block]:
    axis = _axis(report, boards[:MOST_SMALL], SMALL_BOARD)
    figures = [_board_figure(report, names, board, SMALL_BOARD, axis, SMALL) for board in boards[:MOST_SMALL]]
    caption = Markup("Scores on the scale {}, best first; names without a beginning that all of a group share.")
    caption = caption.format(scale_words(report))
    if len(boards) > MOST_SMALL:
        caption += Markup(" The first {} of {}.").format(fixed(MOST_SMALL, 0), count_noun(len(boards), "group"))
    listed_boards = _whole_boards(boards, most)
    words = Markup("All scores" if len(listed_boards) == len(boards) else "Scores of {}").format(
        count_noun(len(listed_boards), "group")
    )
    return [ChartRow(figures, caption), Details(words, [_score_table(report, names, boards, most)])]


def _axis(report: FuseReport, boards: Sequence[ScoreBoard], most: int) -> BoardAxis:
    """One axis for boards on one rating scale, and for small multiples; else each board has its own."""
    rows = [row for board in boards for row in board.ends(most)[0]]
    decimals = numbers.common_decimals((row.low, row.high) for row in rows)
    if report.scale_low is None and most > SMALL_BOARD:
        return BoardAxis(None, decimals)
    return BoardAxis(domain(v for row in rows for v in (row.value, row.low, row.high)), decimals)


def _board_figure(
    report: FuseReport, names: ScoreNames, board: ScoreBoard, most: int, axis: BoardAxis, width: int = WIDE
) -> Chart:
    rows, at, left = board.ends(most)
    small = width == SMALL
    labels, start = without_shared_start([names.item(item_label(row)) for row in rows])
    marks = []
    for row, label in zip(rows, labels):
        note = f"rank {numbers.estimate(row.rank, row.rank_low, row.rank_high, 0)}, n {numbers.count(row.n)}"
        name = brief(label, 18 if small else 30)
        marks.append(charts.ScoreMark(name, row.value, row.low, row.high, row.tier, row.rating_anchor, note))
    drawing = charts.caterpillar(
        marks,
        title=f"Scores: {board.name}",
        x_label="" if small else f"score ({scale_words(report)})",
        x_range=axis.ends,
        decimals=axis.decimals,
        left_out=(at, f"… {numbers.count(left)} more …") if left else None,
        width=width,
    )
    words = Markup("Names start with {}.").format(start) if start and not small else Markup("")
    if left:
        words += Markup(" Drawn are the best and the worst; {} between them not.").format(count_noun(left, "score"))
    return Chart(drawing, words, board.name)


def _score_table(report: FuseReport, names: ScoreNames, boards: Sequence[ScoreBoard], most: int) -> Table:
    """Best and worst of one board; of several boards whole ones until the page would be too heavy."""
    if len(boards) == 1:
        rows = boards[0].ends(most)[0]
        left = len(boards[0].rows) - len(rows)
        where = Markup(" Best and worst; {} between them in the JSON.").format(count_noun(left, "score"))
    else:
        listed_boards = _whole_boards(boards, most)
        rows = tuple(row for board in listed_boards for row in board.rows)
        left = len(boards) - len(listed_boards)
        where = Markup(" {} in the JSON.").format(count_noun(left, "more group"))
    columns = [
        Column("item", report.by.capitalize()),
        *([PLACE] if len(boards) > 1 else []),
        Column("rank", "Rank", "estimate", 0, "With the places it may hold"),
        *columns_of(ScoreRow, "tier"),
        Column("score", f"Score ({scale_words(report)})", "estimate"),
        *columns_of(ScoreRow, "n"),
    ]
    caption = Markup("Scores with {} intervals.").format(level_words(report)) + (where if left else Markup(""))
    return Table(
        columns,
        [
            (
                {
                    "item": Cell(names.item(item_label(row)), under="rating anchor" if row.rating_anchor else ""),
                    "place": names.place(row),
                    "rank": (row.rank, row.rank_low, row.rank_high),
                    "tier": Cell(row.tier, "" if row.tier is not None else NO_TIER),
                    "score": _score_cell(row),
                    "n": row.n,
                }
            )
            for row in rows
        ],
        caption,
    )


def _whole_boards(boards: Sequence[ScoreBoard], most: int) -> list[ScoreBoard]:
    selected: list[ScoreBoard] = []
    used = 0
    for board in boards:
        used += len(board.rows)
        if selected and used > most:
            break
        selected.append(board)
    return selected


def _score_cell(row: ScoreRow) -> Cell:
    return Cell((row.value, row.low, row.high), "" if row.low is not None else NO_ERROR)


def _soft(words: str) -> Markup:
    return Markup('<span class="soft">{}</span>').format(words)


def _run_words(run: Sequence[str], board: ScoreBoard, names: ScoreNames) -> Markup:
    if len(run) == len(board.rows):
        return Markup("all of them")
    more = [count_noun(len(run) - RUN_NAMES, "other")] if len(run) > RUN_NAMES else []
    return join_names([*(names.item(item) for item in run[:RUN_NAMES]), *more])


# -- other methods -----------------------------------------------------------------------------------------------------

AGREEMENT = columns_of(MethodPair, "srcc", "plcc", "mae", "decisions")
KS = Column("ks", "KS pass", hint="Groups whose two distributions of scores pass Kolmogorov-Smirnov at p > .05")
CALIBRATIONS = {"pooled": "pooled", "group": "by group"}


def method_section(report: FuseReport, names: ScoreNames) -> Section | None:
    """The cross-method table of `salon fuse --compare`."""
    if report.compare is None:
        return None
    compare = report.compare
    columns = [*columns_of(MethodPair, "first", "second"), *AGREEMENT, KS, *columns_of(MethodPair, "srcc_low")]
    rows = [{"first": pair.first, "second": pair.second, **_agreement_cells(pair)} for pair in compare.pairs]
    near = Markup("Scores closer than {} count as ties.").format(fixed(compare.tie_margin, 2))
    ties = near if compare.tie_margin else Markup("Only equal scores count as ties.")
    method_pairs = Table(columns, rows, Markup("Agreement between methods, averaged over groups. ") + ties)
    blocks = [
        *_compared_words(compare),
        Details("Agreement between methods", [method_pairs]),
        *_group_blocks(compare, names),
        *_gap_blocks(compare),
    ]
    return Section("Methods", blocks, "Do other methods give the same scores?")


def _compared_words(compare: CompareFigures) -> list[Block]:
    """The two methods that agree least."""
    pairs = [pair for pair in compare.pairs if pair.srcc is not None]
    if not pairs:
        return []
    least = min(pairs, key=lambda pair: pair.srcc or 0.0)
    words = "{} compared. The two that agree least are {} and {}: SRCC {}, MAE {}."
    numbers_of = fixed(least.srcc, 3), "–" if least.mae is None else fixed(least.mae, 3)
    methods = count_noun(len({name for pair in compare.pairs for name in (pair.first, pair.second)}), "method")
    return [Prose(Markup(words).format(methods, least.first, least.second, *numbers_of))]


def _agreement_cells(pair: MethodPair) -> dict[str, object]:
    why = "all scores of a group are equal"
    figures = {name: getattr(pair, name) for name in ("srcc", "plcc", "mae", "decisions", "srcc_low")}
    cells = {name: Cell(number, why if number is None else "") for name, number in figures.items()}
    passed = Markup("{} of {}").format(fixed(pair.ks_pass, 0), fixed(pair.groups, 0))
    return {**cells, "ks": passed}


def _group_blocks(compare: CompareFigures, names: ScoreNames) -> list[Block]:
    if not compare.by_group:
        return []
    criteria, groups = (len(set(parts)) > 1 for parts in zip(*compare.group_names))
    columns = [
        *([Column("criterion", "Criterion")] if criteria or not groups else []),
        *([Column("group", "Group")] if groups else []),
        *AGREEMENT,
        Column("ks", "KS", hint="Kolmogorov-Smirnov at p > .05"),
    ]
    rows = [
        {
            "criterion": names.criteria.get(criterion, criterion),
            "group": names.groups.get(group, group),
            **_agreement_cells(pair),
            "ks": "pass" if pair.ks_pass else "fail",
        }
        for pair, (criterion, group) in list(zip(compare.by_group, compare.group_names))[:MOST_ROWS]
    ]
    caption = Markup("Anchored Elo against anchored Davidson, group by group.") + cut_note(compare.by_group)
    return [fold_table(Table(columns, rows, caption), "Anchored Elo against anchored Davidson, group by group")]


def _gap_blocks(compare: CompareFigures) -> list[Block]:
    """How much depends on the Elo points between adjacent rating levels?"""
    if not compare.gaps:
        return []
    columns = [*columns_of(GapRow, "gap", "calibration"), *AGREEMENT, KS]
    rows = [
        {"gap": row.gap, "calibration": CALIBRATIONS[row.calibration], **_agreement_cells(row.agreement)}
        for row in compare.gaps
    ]
    words = "Anchored Elo against anchored Davidson as the gap changes: Elo points between adjacent rating levels, and "
    table = Table(columns, rows, words + "one curve for all groups or one for each.")
    figures = ChartRow(_gap_figures(compare.gaps), "The gap between rating levels, in Elo points.")
    return [Details("What changes with the gap between rating levels", [figures, table])]


def _gap_figures(gaps: tuple[GapRow, ...]) -> list[Chart]:
    figures = []
    for name, heading in (("srcc", "SRCC"), ("mae", "MAE"), ("decisions", "Decisions")):
        curves = [
            charts.Curve(words, [row.gap for row in rows], [getattr(row.agreement, name) for row in rows])
            for kind, words in CALIBRATIONS.items()
            if (rows := [r for r in gaps if r.calibration == kind and getattr(r.agreement, name) is not None])
        ]
        if curves:
            drawing = charts.line_curves(
                curves, title=f"{heading} over the gap", percent=name == "decisions", height=180, width=SMALL
            )
            figures.append(Chart(drawing, heading=heading))
    return figures
