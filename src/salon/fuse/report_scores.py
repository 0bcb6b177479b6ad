"""Scores with intervals, ranks and tiers: drawn, listed, and who cannot be told from whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from salon.fuse.report_boards import MOST_ROWS, Board, Names, cut, folded, item_of, scale_words
from salon.fuse.results import FuseReport, ScoreRow
from salon.report import SMALL, WIDE, Block, Cell, Column, Details, Figure, Figures, Note, Prose, Section, Table, charts
from salon.report import numbers as written
from salon.report.scale import domain
from salon.report.words import SIMULATED, brief, counted, fixed, level_words, listed, sentence, without_shared_start

MOST_WARNINGS = 5
FEW_BOARDS = 4
"""Boards up to which each is drawn in full width without a click."""
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
class Axis:
    """What boards side by side share."""

    ends: tuple[float, float] | None
    decimals: int


def score_section(report: FuseReport, names: Names, boards: Sequence[Board]) -> Section:
    """Warnings first; then every board, or as many as a page can hold."""
    summary = "From best to worst, with what is not known about each."
    if not boards:
        return Section("Scores", [*_warnings(report), "No item could be scored."], summary)
    small = len(boards) > FEW_BOARDS and max(len(board.rows) for board in boards) <= SMALL_BOARD
    drawn = _small_boards(report, names, boards) if small else _wide_boards(report, names, boards)
    return Section(
        "Scores", [*_warnings(report), _how_to_read(report, names), *_overview(report, names, boards), *drawn], summary
    )


def alike_section(names: Names, boards: Sequence[Board]) -> Section | None:
    """Runs of items of whom no two differ by more than chance allows."""
    runs = [
        (board, run) for board in boards if board.figures for run in board.figures.alike[:MOST_RUNS] if len(run) > 1
    ]
    if not runs:
        return None
    several = len(boards) > 1
    columns = [Column("place", "Group"), Column("size", "Items", "count"), Column("names", "No two can be told apart")]
    rows = [
        {"place": board.name, "size": len(run), "names": _run_words(run, board, names)}
        for board, run in runs[:MOST_ROWS]
    ]
    caption = Markup("Runs in order of score of whom no two can be told apart; runs may overlap.")
    if any(board.figures and len(board.figures.alike) > MOST_RUNS for board in boards):
        caption += Markup(" The best {} of each group; the others are in the JSON.").format(counted(MOST_RUNS, "run"))
    table = Table(columns if several else columns[1:], rows, caption + cut(runs, noun="run"), sortable=several)
    return Section(
        "Alike",
        [folded(table, Markup("{} of whom no two can be told apart").format(counted(len(rows), "run")))],
        "Who cannot be told from whom.",
    )


def _warnings(report: FuseReport) -> list[Block]:
    told = [Note(sentence(words), "alert", "Warning.") for words in report.warnings if sentence(words) != SIMULATED]
    if len(told) <= MOST_WARNINGS:
        return [*told]
    more = Details(counted(len(told) - MOST_WARNINGS, "more warning"), told[MOST_WARNINGS:])
    return [*told[:MOST_WARNINGS], more]


def _how_to_read(report: FuseReport, names: Names) -> Prose:
    words = (
        "Brackets are {} intervals; those around a rank say which places it may hold. An item of the first tier cannot "
        "be told from the best one; the next tier holds the best of the rest, and so on."
    )
    anchors = " Diamonds are rating anchors." if any(row.rating_anchor for row in report.scores) else ""
    start = Markup(" Names of criteria start with {}.").format(names.start) if names.start else Markup("")
    return Prose(Markup(words).format(level_words(report)) + anchors + start)


def _overview(report: FuseReport, names: Names, boards: Sequence[Board]) -> list[Block]:
    """One line for each board, where there are several."""
    if len(boards) < 2:
        return []
    columns = [
        Column("place", "Group"),
        Column("items", "Scored", "count"),
        Column("first", "First"),
        Column("score", f"Score ({scale_words(report)})", "estimate"),
        Column("tier", "Tier 1 holds", "count", hint="How many cannot be told from the best"),
    ]
    rows = [
        {
            "place": board.name,
            "items": len(board.rows),
            "first": names.item(item_of(board.rows[0])),
            "score": _score_cell(board.rows[0]),
            "tier": Cell(board.first_tier, "" if board.first_tier is not None else NO_TIER),
        }
        for board in boards[:MOST_ROWS]
    ]
    caption = Markup("The first of each group, with {} intervals.").format(level_words(report)) + cut(boards)
    return [folded(Table(columns, rows, caption), Markup("The first of {}").format(counted(len(boards), "group")))]


def _wide_boards(report: FuseReport, names: Names, boards: Sequence[Board]) -> list[Block]:
    """Each board as a caterpillar above its table; from the fifth on behind a click."""
    shown = boards[:MOST_BOARDS]
    least, most = DRAWN_EACH
    drawn = min(most, max(least, DRAWN_ROWS // len(shown)))
    listed_rows = LISTED_ROWS // len(shown)
    axis = _axis(report, shown, drawn)
    blocks: list[Block] = []
    for i, board in enumerate(shown):
        figure = _figure(report, names, board, drawn, axis)
        table = Details(_all_words(board, listed_rows), [_score_table(report, names, [board], listed_rows)])
        if len(boards) <= FEW_BOARDS:
            blocks += [figure, table]
        else:
            blocks.append(Details(_board_words(board, names), [replace(figure, heading=""), table], open=i == 0))
    if len(boards) > len(shown):
        blocks.append(Prose(Markup("Not drawn, to keep the page light:") + cut(boards, len(shown))))
    return blocks


def _small_boards(report: FuseReport, names: Names, boards: Sequence[Board]) -> list[Block]:
    """Small multiples and one table for each criterion, or for all where a criterion is one board."""
    by_criterion: dict[str, list[Board]] = {}
    for board in boards:
        by_criterion.setdefault(board.criterion, []).append(board)
    if len(names.groups) == 1 or len(by_criterion) == 1:
        return _multiples(report, names, boards, LISTED_ROWS)
    return [
        Details(
            Markup("{} {}").format(names.criteria[criterion], _soft(counted(len(mine), "group"))),
            _multiples(report, names, [replace(b, name=b.group) for b in mine], LISTED_ROWS // len(by_criterion)),
            open=i == 0,
        )
        for i, (criterion, mine) in enumerate(by_criterion.items())
    ]


def _multiples(report: FuseReport, names: Names, boards: Sequence[Board], most: int) -> list[Block]:
    axis = _axis(report, boards[:MOST_SMALL], SMALL_BOARD)
    figures = [_figure(report, names, board, SMALL_BOARD, axis, SMALL) for board in boards[:MOST_SMALL]]
    caption = Markup("Scores on the scale {}, best first; names without a beginning that all of a group share.")
    caption = caption.format(scale_words(report))
    if len(boards) > MOST_SMALL:
        caption += Markup(" The first {} of {}.").format(fixed(MOST_SMALL, 0), counted(len(boards), "group"))
    shown = _whole_boards(boards, most)
    words = Markup("All scores" if len(shown) == len(boards) else "Scores of {}").format(counted(len(shown), "group"))
    return [Figures(figures, caption), Details(words, [_score_table(report, names, boards, most)])]


def _axis(report: FuseReport, boards: Sequence[Board], most: int) -> Axis:
    """One axis for boards on one rating scale, and for small multiples; else each board has its own."""
    rows = [row for board in boards for row in board.ends(most)[0]]
    decimals = written.common_decimals((row.low, row.high) for row in rows)
    if report.scale_low is None and most > SMALL_BOARD:
        return Axis(None, decimals)
    return Axis(domain(v for row in rows for v in (row.value, row.low, row.high)), decimals)


def _figure(report: FuseReport, names: Names, board: Board, most: int, axis: Axis, width: int = WIDE) -> Figure:
    rows, at, left = board.ends(most)
    small = width == SMALL
    labels, start = without_shared_start([names.item(item_of(row)) for row in rows])
    drawing = charts.caterpillar(
        [_mark(row, brief(label, 18 if small else 30)) for row, label in zip(rows, labels)],
        title=f"Scores: {board.name}",
        x_label="" if small else f"score ({scale_words(report)})",
        x_range=axis.ends,
        decimals=axis.decimals,
        left_out=(at, f"… {written.count(left)} more …") if left else None,
        width=width,
    )
    words = Markup("Names start with {}.").format(start) if start and not small else Markup("")
    if left:
        words += Markup(" Drawn are the best and the worst; {} between them not.").format(counted(left, "score"))
    return Figure(drawing, words, board.name)


def _mark(row: ScoreRow, label: str) -> charts.ScoreMark:
    note = f"rank {written.estimate(row.rank, row.rank_low, row.rank_high, 0)}, n {written.count(row.n)}"
    return charts.ScoreMark(label, row.value, row.low, row.high, row.tier, row.rating_anchor, note)


def _score_table(report: FuseReport, names: Names, boards: Sequence[Board], most: int) -> Table:
    """Best and worst of one board; of several boards whole ones until the page would be too heavy."""
    if len(boards) == 1:
        rows = boards[0].ends(most)[0]
        left = len(boards[0].rows) - len(rows)
        where = Markup(" Best and worst; {} between them in the JSON.").format(counted(left, "score"))
    else:
        held = _whole_boards(boards, most)
        rows = tuple(row for board in held for row in board.rows)
        left = len(boards) - len(held)
        where = Markup(" {} in the JSON.").format(counted(left, "more group"))
    columns = [
        Column("item", report.by.capitalize()),
        *([Column("place", "Group")] if len(boards) > 1 else []),
        Column("rank", "Rank", "estimate", 0, "With the places it may hold"),
        Column("tier", "Tier", "count"),
        Column("score", f"Score ({scale_words(report)})", "estimate"),
        Column("n", "n", "count", hint="Judgments that name it"),
    ]
    caption = Markup("Scores with {} intervals.").format(level_words(report)) + (where if left else Markup(""))
    return Table(columns, [_score_row(row, names) for row in rows], caption)


def _whole_boards(boards: Sequence[Board], most: int) -> list[Board]:
    held: list[Board] = []
    used = 0
    for board in boards:
        used += len(board.rows)
        if held and used > most:
            break
        held.append(board)
    return held


def _score_row(row: ScoreRow, names: Names) -> dict[str, object]:
    return {
        "item": Cell(names.item(item_of(row)), under="rating anchor" if row.rating_anchor else ""),
        "place": names.place(row),
        "rank": (row.rank, row.rank_low, row.rank_high),
        "tier": Cell(row.tier, "" if row.tier is not None else NO_TIER),
        "score": _score_cell(row),
        "n": row.n,
    }


def _score_cell(row: ScoreRow) -> Cell:
    return Cell((row.value, row.low, row.high), "" if row.low is not None else NO_ERROR)


def _all_words(board: Board, most: int) -> Markup:
    rows, _, left = board.ends(most)
    size = Markup("{}: {}").format(board.name, counted(len(rows), "row"))
    return Markup("{} {}").format("Best and worst scores" if left else "All scores", _soft(size))


def _board_words(board: Board, names: Names) -> Markup:
    first = Markup("{} scored; first: {}").format(fixed(len(board.rows), 0), names.item(item_of(board.rows[0])))
    return Markup("{} {}").format(board.name, _soft(first))


def _soft(words: str) -> Markup:
    return Markup('<span class="soft">{}</span>').format(words)


def _run_words(run: Sequence[str], board: Board, names: Names) -> Markup:
    if len(run) == len(board.rows):
        return Markup("all of them")
    more = [counted(len(run) - RUN_NAMES, "other")] if len(run) > RUN_NAMES else []
    return listed([*(names.item(item) for item in run[:RUN_NAMES]), *more])
