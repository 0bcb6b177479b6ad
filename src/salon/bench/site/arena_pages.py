"""arena.html and the pages of its boards: what raters say of the generators, from the newest snapshot.

Boards over all categories stand on arena.html. Boards of a category, and all that are too large, have pages of their
own: a win matrix of 24 generators alone takes a quarter of a MB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from salon.bench.arena import ArenaBoard, ArenaPlace, ArenaSnapshot, CovariateEffect, RoutingJob
from salon.bench.site.frame import Listing, ListRow, PageLink, SitePage
from salon.bench.site.site_data import SiteData, page_names
from salon.report import (
    SIMULATED,
    Badge,
    Block,
    Cell,
    Chart,
    Column,
    Details,
    Note,
    Section,
    Table,
    anchors,
    brief,
    charts,
    columns_of,
    element,
    join_names,
    numbers,
    sentence,
)

CELLS = 500
"""Cells of win matrices that arena.html holds; of more, every matrix stands on the page of its board."""
ALL_ROWS, LEAST_ROWS = 240, 8
"""Rows of all charts of arena.html together, and of each at least."""
MOST_NAMES = 4
EVERY = "all"
"""What stands for all categories together."""


@dataclass(frozen=True)
class ArenaPages:
    """arena.html and the pages of boards; only where there is a snapshot."""

    site: SiteData

    @cached_property
    def snapshot(self) -> ArenaSnapshot:
        """The newest."""
        return self.site.arenas[-1]

    @cached_property
    def together(self) -> list[ArenaBoard]:
        """Boards over all categories."""
        return [board for board in self.snapshot.boards if board.category is None]

    @cached_property
    def whole(self) -> bool:
        """Whether all that belongs to the boards over all categories has room on arena.html."""
        return sum(len(board.places) ** 2 for board in self.together) <= CELLS

    @cached_property
    def apart(self) -> list[ArenaBoard]:
        """Boards with a page of their own."""
        return [board for board in self.snapshot.boards if board.category is not None or not self.whole]

    @cached_property
    def paths(self) -> dict[tuple[str | None, ...], str]:
        """Where each board is, by criterion and category: on a page of its own, or in a section of arena.html."""
        sections = [f"#{name}" for name in anchors([board.name for board in self.together])]
        board_places = [*zip(self.together, sections), *zip(self.apart, board_paths(self.apart))]
        return {(board.criterion, board.category): path for board, path in board_places}

    @property
    def count(self) -> int:
        """How many pages there are."""
        return 1 + len(self.apart)

    def pages(self) -> Iterator[SitePage]:
        """arena.html first."""
        yield self._first()
        yield from board_pages(self.site, self.snapshot, self.apart)

    def _first(self) -> SitePage:
        earlier = len(self.site.arenas) - 1
        note = f" {earlier} earlier ones are among the downloads." if earlier else ""
        n = len(self.snapshot.boards)
        board_count = "one board" if n == 1 else f"{n} boards"
        return SitePage(
            path="arena.html",
            title="Arena",
            subtitle=f"What raters say of the generators, in {board_count}. Snapshot "
            f"{self.snapshot.number}: a fit that no later one changes.{note}",
            head=self.site.head,
            sections=[*self._sections()],
            notes=self.snapshot.policies,
            signature=self.snapshot.signature_line,
            banner=SIMULATED if self.snapshot.simulated else "",
            wide=True,
        )

    def _sections(self) -> Iterator[Section]:
        for board in self.together:
            yield Section(board.name, [*self._board(board)], coverage(board))
        rows = [*self._jobs()]
        if rows:
            columns = [*columns_of(RoutingJob, "name", "category", "best", "margin"), Column("alone", "Alone", "badge")]
            jobs = Listing(columns, rows, "jobs", "criterion, category, generator", "all categories")
            yield Section("Which generator for which job", [jobs], "Members of tier 1 do not differ significantly.")

    def _jobs(self) -> Iterator[ListRow]:
        """Every job with the way to its board, and every board of a category that is no job."""
        listed_keys = set()
        for job in self.snapshot.routing.jobs:
            key = (*[id for id, share in job.weights.items() if share], job.category)
            listed_keys.add(key)
            path = self.paths.get(key, "")
            alone = Badge("yes", "clear") if len(job.best) == 1 else None
            words = f"{job.name} {job.category or EVERY} {' '.join(job.best)}"
            yield _row(path, job.name, job.category, job.reason, words, (_names(job.best), job.margin, alone))
        for board in self.apart:
            if board.category is not None and (board.criterion, board.category) not in listed_keys:
                path = self.paths[board.criterion, board.category]
                first = _names([place.generator for place in board.places if place.tier in (1, None)])
                yield _row(path, board.name, board.category, board.reason, board.label, (first, None, None))

    def _board(self, board: ArenaBoard) -> Iterator[Block | str]:
        """All of a board, or its chart and the way to the rest."""
        yield from board_notes(board)
        if board.places:
            rows = ROWS if self.whole else min(ROWS, max(LEAST_ROWS, ALL_ROWS // len(self.together)))
            yield scores_chart(board, rows, "Board" if self.whole else "")
        if not self.whole:
            path = self.paths[board.criterion, board.category]
            yield Markup("Who beats whom, and all generators: {}.").format(element("a", board.name, href=path))
            return
        if board.matrix and board.matrix.duels:
            yield win_matrix_chart(board, "Who beats whom")
        if board.adjusted:
            yield from adjusted_blocks(board)


def arena_summary(site: SiteData) -> Iterator[Section]:
    """For the front page: who leads each criterion, with the way to the rest."""
    if not site.arenas:
        return
    snapshot = site.arenas[-1]
    rows = []
    for board in snapshot.boards:
        if board.category is None:
            first = [place.generator for place in board.places if place.tier in (1, None)]
            rows.append(
                {
                    "criterion": board.name,
                    "first": _names(first) if board.places else Cell(numbers.MISSING, board.reason or ""),
                    "answers": board.coverage.comparisons + board.coverage.rankings + board.coverage.ratings,
                    "raters": board.coverage.raters.words,
                }
            )
    columns = [Column("criterion", "Criterion"), Column("first", "Tied for the best"),
               Column("answers", "Answers", "count"), Column("raters", "Raters")]  # fmt: skip
    link = Markup("Boards, win matrices and a routing table: {}.").format(element("a", "Arena", href="arena.html"))
    badge = [Note(SIMULATED, "alert")] if snapshot.simulated else []
    yield Section(
        "What raters say",
        [*badge, Table(columns, rows, sortable=False, label="Leaders by criterion"), link],
        f"Snapshot {snapshot.number}.",
    )


def _row(
    path: str, name: str, category: str | None, reason: str | None, words: str, cells: tuple[object, object, object]
) -> ListRow:
    best, margin, alone = cells
    return ListRow(
        href=path,
        label=brief(name, 60),
        under=brief(reason or "", 120) if not best else "",
        words=words.lower(),
        group=brief(category or EVERY, 60),
        cells={
            "category": brief(category or EVERY, 60),
            "best": best or numbers.MISSING,
            "margin": margin,
            "alone": alone,
        },
    )


def _names(names: Sequence[str]) -> str:
    """The first few; nothing of none."""
    if not names:
        return ""
    more = len(names) - MOST_NAMES
    return str(
        join_names(
            [*(brief(name, 40) for name in names[:MOST_NAMES]), *([f"{more} more"] if more > 0 else [])]
        ).unescape()
    )


# -- one board ---------------------------------------------------------------------------------------------------------

ROWS = 40
"""Generators on a board's chart; of more, the best and the worst."""
MATRIX = 24
"""Generators of a win matrix; of more, the best."""
METHODS = {"plackett-luce": "Plackett-Luce", "bradley-terry": "Bradley-Terry", "mean": "mean of ratings"}
UNMET: tuple[float | None, int, str] = (None, 0, "")


def board_paths(boards: Sequence[ArenaBoard]) -> list[str]:
    """The path of each board's page."""
    keys = ["--".join(filter(None, (board.criterion, board.category))) for board in boards]
    names = page_names(keys)
    return [f"arena/{names[key]}.html" for key in keys]


def board_pages(site: SiteData, snapshot: ArenaSnapshot, boards: Sequence[ArenaBoard]) -> Iterator[SitePage]:
    """A page for each of `boards`, with ways to its neighbours."""
    paths = board_paths(boards)
    steps = [PageLink(brief(board.label, 40), path.removeprefix("arena/")) for board, path in zip(boards, paths)]
    for n, (board, path) in enumerate(zip(boards, paths)):
        yield SitePage(
            path=path,
            title=brief(board.label, 100).replace(" · ", "\u00a0· "),  # no line begins with the dot
            subtitle=coverage(board),
            head=site.head,
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
    """Why there is no board, and warnings."""
    if board.reason:
        yield Note(sentence(board.reason), "thin", heading="No board.")
    warnings = [sentence(warning) for warning in board.warnings]
    yield from (Note(warning, "open") for warning in warnings if warning != SIMULATED)  # the banner says it


def scores_chart(board: ArenaBoard, rows: int, heading: str = "") -> Chart:
    """Generators from best to worst; of more than `rows`, the best and the worst."""
    return Chart(_caterpillar(board, board.places, "Arena board", rows), heading=heading)


def _caterpillar(board: ArenaBoard, places: Sequence[ArenaPlace], title: str, rows: int = ROWS) -> str:
    rows_shown, left_out = [*places], None
    if len(rows_shown) > rows:
        half = rows // 2
        left_out = half, f"{len(rows_shown) - 2 * half} more"
        rows_shown = [*rows_shown[:half], *rows_shown[-half:]]
    marks = [
        charts.ScoreMark(
            brief(place.generator, 40), place.score.value, place.score.low, place.score.high, place.tier,
            note=f"rank {place.rank}" + (f", may be {place.rank_low}–{place.rank_high}" if place.rank_low else "")
            + f"; {numbers.count(place.n)} answers",
        )
        for place in rows_shown
    ]  # fmt: skip
    return charts.caterpillar(
        marks,
        title=f"{title}: {board.label}",
        x_label=f"mean rating, scale {board.scale}" if board.method == "mean" else board.scale,
        left_out=left_out,
    )


def win_matrix_chart(board: ArenaBoard, heading: str = "") -> Chart:
    """Shares won, row against column, of the best generators."""
    matrix = board.matrix
    assert matrix is not None
    names = matrix.generators[:MATRIX]
    duel_cells: dict[tuple[str, str], tuple[float | None, int, str]] = {}
    for duel in matrix.duels:
        n, share = duel.wins + duel.losses + duel.ties, duel.share
        low, high = (None if end is None else 1 - end for end in (share.high, share.low))
        duel_cells[duel.first, duel.second] = share.value, n, numbers.interval(share.low, share.high, 2)
        duel_cells[duel.second, duel.first] = 1 - share.value, n, numbers.interval(low, high, 2)
    cells = duel_cells
    shares, counts, notes = (
        [[cells.get((row, column), UNMET)[part] for column in names] for row in names] for part in range(3)
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
    return Chart(
        drawing,
        heading=heading,
        caption=f"Share of answers that prefer the row to the column; a tie is half an answer for each.{cut}{unmet}",
    )


def adjusted_blocks(board: ArenaBoard) -> Iterator[Block]:
    """Covariates, and the board without them."""
    adjusted = board.adjusted
    assert adjusted is not None
    if adjusted.effects:
        yield Table(
            columns_of(CovariateEffect, "covariate", "beta", "unit", "p"),
            adjusted.effects,
            caption=f"What else moves answers, {board.label}. {sentence(adjusted.method)}",
            sortable=False,
        )
    if adjusted.places:
        drawing = _caterpillar(board, adjusted.places, "Adjusted board")
        yield Details("The board if all pictures had the same covariates", [Chart(drawing)])
    elif adjusted.reason:
        yield Note(sentence(adjusted.reason), "thin", heading="No adjusted board.")
