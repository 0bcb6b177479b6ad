"""arena.html: what raters say of the generators, from the newest snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from salon.bench.arena import ArenaBoard, ArenaSnapshot, Place
from salon.bench.routing_table import Job
from salon.bench.site.frame import SitePage
from salon.bench.site.material import Material
from salon.bench.win_matrix import Duel
from salon.report import Badge, Cell, Column, Details, Figure, Note, Section, Table, charts, numbers
from salon.report.svg import element
from salon.report.words import SIMULATED, brief, listed, sentence

ROWS = 40
"""Generators on a board's chart; of more, the best and the worst."""
MATRIX = 24
"""Generators of a win matrix; of more, the best."""
NAMED = 4
METHODS = {"plackett-luce": "Plackett-Luce", "bradley-terry": "Bradley-Terry", "mean": "mean of ratings"}
UNMET: tuple[float | None, int, str] = (None, 0, "")


def arena_page(material: Material) -> SitePage:
    """arena.html; only where there is a snapshot."""
    snapshot = material.arenas[-1]
    earlier = f" {len(material.arenas) - 1} earlier ones are among the downloads." if len(material.arenas) > 1 else ""
    return SitePage(
        path="arena.html",
        title="Arena",
        subtitle=f"What raters say of the generators, in {_boards(snapshot)}. Snapshot {snapshot.number}: a fit that "
        f"no later one changes.{earlier}",
        head=material.head,
        sections=[*_sections(snapshot)],
        notes=snapshot.policies,
        signature=snapshot.signature_line,
        banner=SIMULATED if snapshot.simulated else "",
        wide=True,
    )


def arena_summary(material: Material) -> Iterator[Section]:
    """For the front page: who leads each criterion, with the way to the rest."""
    if not material.arenas:
        return
    snapshot = material.arenas[-1]
    rows = [_summary_row(board) for board in snapshot.boards if board.category is None]
    columns = [Column("criterion", "Criterion"), Column("first", "Not told from the best"),
               Column("answers", "Answers", "count"), Column("raters", "Raters")]  # fmt: skip
    link = Markup("Boards, win matrices and a routing table: {}.").format(element("a", "Arena", href="arena.html"))
    badge = [Note(SIMULATED, "alert")] if snapshot.simulated else []
    yield Section(
        "What raters say",
        [*badge, Table(columns, rows, sortable=False, label="Leaders by criterion"), link],
        f"Snapshot {snapshot.number}.",
    )


def _boards(snapshot: ArenaSnapshot) -> str:
    n = len(snapshot.boards)
    return "one board" if n == 1 else f"{n} boards"


def _summary_row(board: ArenaBoard) -> dict[str, object]:
    first = [place.generator for place in board.places if place.tier in (1, None)]
    return {
        "criterion": board.name,
        "first": _names(first) if board.places else Cell(numbers.MISSING, board.reason or ""),
        "answers": board.coverage.comparisons + board.coverage.rankings + board.coverage.ratings,
        "raters": board.coverage.raters.words,
    }


def _sections(snapshot: ArenaSnapshot) -> Iterator[Section]:
    for board in snapshot.boards:
        if board.category is None:
            yield Section(board.name, [*_board(board)], _coverage(board))
    categories = [board for board in snapshot.boards if board.category is not None]
    if categories:
        yield Section("By category", [Details(_summary(one), [*_board(one)]) for one in categories])
    if snapshot.routing.jobs:
        yield Section(
            "Which generator for which job", [_routing(snapshot.routing.jobs)], "Tier 1 cannot be told apart."
        )


def _coverage(board: ArenaBoard) -> str:
    cover = board.coverage
    left = [
        (cover.both_bad, "both bad"),
        (cover.repeats, "repeats"),
        (cover.same, "of one generator"),
        (cover.unused, "unused"),
    ]
    out = ", ".join(f"{numbers.count(n)} {why}" for n, why in left if n)
    answers = cover.comparisons + cover.rankings + cover.ratings
    method = METHODS.get(board.method, board.method)
    return (
        f"{numbers.count(answers)} answers by {cover.raters.words} on {numbers.count(cover.prompts)} prompts; "
        f"{numbers.share(cover.pairs_met, cover.pairs)} pairs of generators met. "
        f"{sentence(method)} {sentence(board.errors)}" + (f" Left out: {out}." if out else "")
    )


def _board(board: ArenaBoard) -> Iterator[object]:
    if board.reason:
        yield Note(sentence(board.reason), "thin", heading="No board.")
    warnings = [sentence(one) for one in board.warnings]
    yield from (Note(one, "open") for one in warnings if one != SIMULATED)  # the banner says it
    if board.places:
        yield Figure(_caterpillar(board, board.places, "Arena board"), heading="Board")
    if board.matrix and board.matrix.duels:
        yield _matrix(board)
    if board.adjusted:
        yield from _adjusted(board)


def _caterpillar(board: ArenaBoard, places: Sequence[Place], title: str) -> str:
    shown, left_out = [*places], None
    if len(shown) > ROWS:
        half = ROWS // 2
        left_out = half, f"{len(shown) - ROWS} more"
        shown = [*shown[:half], *shown[-half:]]
    rows = [
        charts.ScoreMark(
            brief(place.generator, 40), place.score.value, place.score.low, place.score.high, place.tier,
            note=f"rank {place.rank}" + (f", may be {place.rank_low}–{place.rank_high}" if place.rank_low else "")
            + f"; {numbers.count(place.n)} answers",
        )
        for place in shown
    ]  # fmt: skip
    return charts.caterpillar(rows, title=f"{title}: {board.label}", x_label=board.scale, left_out=left_out)


def _matrix(board: ArenaBoard) -> Figure:
    names = board.matrix.generators[:MATRIX]
    held = _duels(board.matrix.duels)
    shares, counts, notes = (
        [[held.get((row, column), UNMET)[part] for column in names] for row in names] for part in range(3)
    )
    labels = [brief(name, 28) for name in names]
    drawing = charts.heat_map(
        shares,
        labels,
        labels,
        n=counts,
        notes=notes,
        title=f"Win matrix: {board.label}",
        center=0.5,
        limit=0.5,
        value_name="share won",
    )
    cut = f" The best {MATRIX} of {len(board.matrix.generators)}." if len(board.matrix.generators) > MATRIX else ""
    never = board.matrix.never_met
    unmet = f" {numbers.count(never)} {'pair' if never == 1 else 'pairs'} never met." if never else ""
    return Figure(
        drawing,
        heading="Who beats whom",
        caption=f"Share of answers that prefer the row to the column; a tie is half an answer for each.{cut}{unmet}",
    )


def _duels(duels: Sequence[Duel]) -> dict[tuple[str, str], tuple[float | None, int, str]]:
    """Share, count and interval of each duel, from both sides."""
    found: dict[tuple[str, str], tuple[float | None, int, str]] = {}
    for one in duels:
        n, share = one.wins + one.losses + one.ties, one.share
        low, high = (None if end is None else 1 - end for end in (share.high, share.low))
        found[one.first, one.second] = share.value, n, numbers.interval(share.low, share.high, 2)
        found[one.second, one.first] = 1 - share.value, n, numbers.interval(low, high, 2)
    return found


def _adjusted(board: ArenaBoard) -> Iterator[object]:
    adjusted = board.adjusted
    rows = [{"covariate": one.covariate, "beta": one.beta, "unit": one.unit, "p": one.p} for one in adjusted.effects]
    if rows:
        columns = [
            Column("covariate", "Covariate"),
            Column("beta", "Logits", "estimate"),
            Column("unit", "For"),
            Column("p", "p", "p"),
        ]
        yield Table(
            columns,
            rows,
            caption=f"What else moves answers, {board.label}. {sentence(adjusted.method)}",
            sortable=False,
        )
    if adjusted.places:
        drawing = _caterpillar(board, adjusted.places, "Adjusted board")
        yield Details("The board if all pictures had the same covariates", [Figure(drawing)])
    elif adjusted.reason:
        yield Note(sentence(adjusted.reason), "thin", heading="No adjusted board.")


def _summary(board: ArenaBoard) -> Markup:
    first = [place.generator for place in board.places if place.tier in (1, None)]
    told = _names(first) if board.places else "no board"
    return Markup('{} <span class="soft">{}</span>').format(board.label, told)


def _routing(jobs: Sequence[Job]) -> Table:
    rows = [
        {
            "job": job.name,
            "category": job.category or "all",
            "best": _names(job.best) if job.best else Cell(numbers.MISSING, job.reason or ""),
            "margin": job.margin,
            "alone": Badge("yes", "clear") if len(job.best) == 1 else None,
        }
        for job in jobs
    ]
    columns = [
        Column("job", "Wanted"),
        Column("category", "Category"),
        Column("best", "Tier 1, best first"),
        Column("margin", "Lead, logits", "estimate", 2),
        Column("alone", "Alone", "badge"),
    ]
    return Table(columns, rows, label="Routing")


def _names(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return str(
        listed([*(brief(name, 40) for name in names[:NAMED]), *([f"{more} more"] if more > 0 else [])]).unescape()
    )
