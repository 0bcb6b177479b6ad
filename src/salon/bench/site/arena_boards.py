"""One board of an arena: who stands where, who beats whom, what else moves answers. Each may have a page of its own.

A page holds one board, because a board may be large: a win matrix of 24 generators alone weighs a quarter of a MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from salon.bench.arena import ArenaBoard, ArenaSnapshot, Place
from salon.bench.site.frame import SitePage, Step
from salon.bench.site.material import Material
from salon.bench.site.places import places
from salon.bench.win_matrix import Duel
from salon.report import Block, Column, Details, Figure, Note, Section, Table, charts, numbers
from salon.report.words import SIMULATED, brief, sentence

ROWS = 40
"""Generators on a board's chart; of more, the best and the worst."""
MATRIX = 24
"""Generators of a win matrix; of more, the best."""
METHODS = {"plackett-luce": "Plackett-Luce", "bradley-terry": "Bradley-Terry", "mean": "mean of ratings"}
UNMET: tuple[float | None, int, str] = (None, 0, "")


def board_places(boards: Sequence[ArenaBoard]) -> list[str]:
    """The path of each board's page."""
    keys = ["--".join(filter(None, (board.criterion, board.category))) for board in boards]
    found = places(keys)
    return [f"arena/{found[key]}.html" for key in keys]


def board_pages(material: Material, snapshot: ArenaSnapshot, boards: Sequence[ArenaBoard]) -> Iterator[SitePage]:
    """A page for each of `boards`, with ways to its neighbours."""
    paths = board_places(boards)
    steps = [Step(brief(board.label, 40), path.removeprefix("arena/")) for board, path in zip(boards, paths)]
    for n, (board, path) in enumerate(zip(boards, paths)):
        yield SitePage(
            path=path,
            title=brief(board.label, 100).replace(" · ", "\u00a0· "),  # no line begins with the dot
            subtitle=coverage(board),
            head=material.head,
            kicker=Markup('<a href="../arena.html">Arena</a> · snapshot {}').format(snapshot.number),
            sections=[*_sections(board)],
            before=steps[n - 1] if n else None,
            after=steps[n + 1] if n + 1 < len(steps) else None,
            notes=snapshot.policies,
            signature=snapshot.signature_line,
            banner=SIMULATED if snapshot.simulated else "",
            wide=True,
        )


def _sections(board: ArenaBoard) -> Iterator[Section]:
    yield Section("Board", [*board_notes(board), *([scores_chart(board, ROWS)] if board.places else [])])
    if board.matrix and board.matrix.duels:
        yield Section("Who beats whom", [win_matrix_chart(board)])
    if board.adjusted:
        yield Section("What else moves answers", [*adjusted_blocks(board)])


def coverage(board: ArenaBoard) -> str:
    """What a board rests on, and how it was made."""
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


def board_notes(board: ArenaBoard) -> Iterator[Note]:
    """Why there is none, and what to beware of."""
    if board.reason:
        yield Note(sentence(board.reason), "thin", heading="No board.")
    warnings = [sentence(one) for one in board.warnings]
    yield from (Note(one, "open") for one in warnings if one != SIMULATED)  # the banner says it


def scores_chart(board: ArenaBoard, rows: int, heading: str = "") -> Figure:
    """Generators from best to worst; of more than `rows`, the best and the worst."""
    return Figure(_caterpillar(board, board.places, "Arena board", rows), heading=heading)


def _caterpillar(board: ArenaBoard, places: Sequence[Place], title: str, rows: int = ROWS) -> str:
    shown, left_out = [*places], None
    if len(shown) > rows:
        half = rows // 2
        left_out = half, f"{len(shown) - 2 * half} more"
        shown = [*shown[:half], *shown[-half:]]
    marks = [
        charts.ScoreMark(
            brief(place.generator, 40), place.score.value, place.score.low, place.score.high, place.tier,
            note=f"rank {place.rank}" + (f", may be {place.rank_low}–{place.rank_high}" if place.rank_low else "")
            + f"; {numbers.count(place.n)} answers",
        )
        for place in shown
    ]  # fmt: skip
    return charts.caterpillar(marks, title=f"{title}: {board.label}", x_label=_scale(board), left_out=left_out)


def _scale(board: ArenaBoard) -> str:
    return f"mean rating, scale {board.scale}" if board.method == "mean" else board.scale


def win_matrix_chart(board: ArenaBoard, heading: str = "") -> Figure:
    """Shares won, row against column, of the best generators."""
    matrix = board.matrix
    assert matrix is not None
    names = matrix.generators[:MATRIX]
    held = _duels(matrix.duels)
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
    cut = f" The best {MATRIX} of {len(matrix.generators)}." if len(matrix.generators) > MATRIX else ""
    never = matrix.never_met
    unmet = f" {numbers.count(never)} {'pair' if never == 1 else 'pairs'} never met." if never else ""
    return Figure(
        drawing,
        heading=heading,
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


def adjusted_blocks(board: ArenaBoard) -> Iterator[Block]:
    """Covariates, and the board without them."""
    adjusted = board.adjusted
    assert adjusted is not None
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
