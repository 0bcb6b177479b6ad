"""arena.html: what raters say of the generators, from the newest snapshot.

Boards over all categories stand here; those of a category, and all that are too large, have pages of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from salon.bench.arena import ArenaBoard, ArenaSnapshot
from salon.bench.routing_table import Job
from salon.bench.site.arena_boards import (
    ROWS,
    adjusted_blocks,
    board_notes,
    board_pages,
    board_places,
    coverage,
    scores_chart,
    win_matrix_chart,
)
from salon.bench.site.frame import SitePage
from salon.bench.site.listing import Listing, ListRow
from salon.bench.site.material import Material
from salon.report import Badge, Block, Cell, Column, Note, Section, Table, numbers
from salon.report.page import anchors
from salon.report.svg import element
from salon.report.words import SIMULATED, brief, listed

CELLS = 500
"""Cells of win matrices that arena.html holds; of more, every matrix stands on the page of its board."""
ALL_ROWS, LEAST_ROWS = 240, 8
"""Rows of all charts of arena.html together, and of each at least."""
NAMED = 4
EVERY = "all"
"""What stands for all categories together."""
JOBS = [
    Column("job", "Wanted"),
    Column("category", "Category"),
    Column("best", "Tier 1, best first"),
    Column("margin", "Lead, logits", "estimate", 2),
    Column("alone", "Alone", "badge"),
]


@dataclass(frozen=True)
class ArenaPages:
    """arena.html and the pages of boards; only where there is a snapshot."""

    material: Material

    @cached_property
    def snapshot(self) -> ArenaSnapshot:
        """The newest."""
        return self.material.arenas[-1]

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
        found = [*zip(self.together, sections), *zip(self.apart, board_places(self.apart))]
        return {(board.criterion, board.category): path for board, path in found}

    @property
    def count(self) -> int:
        """How many pages there are."""
        return 1 + len(self.apart)

    def pages(self) -> Iterator[SitePage]:
        """arena.html first."""
        yield self._first()
        yield from board_pages(self.material, self.snapshot, self.apart)

    def _first(self) -> SitePage:
        earlier = len(self.material.arenas) - 1
        told = f" {earlier} earlier ones are among the downloads." if earlier else ""
        return SitePage(
            path="arena.html",
            title="Arena",
            subtitle=f"What raters say of the generators, in {_boards(self.snapshot)}. Snapshot "
            f"{self.snapshot.number}: a fit that no later one changes.{told}",
            head=self.material.head,
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
            jobs = Listing(JOBS, rows, "jobs", "criterion, category, generator", "all categories")
            yield Section("Which generator for which job", [jobs], "Tier 1 cannot be told apart.")

    def _jobs(self) -> Iterator[ListRow]:
        """Every job with the way to its board, and every board of a category that is no job."""
        told = set()
        for job in self.snapshot.routing.jobs:
            key = (*[id for id, share in job.weights.items() if share], job.category)
            told.add(key)
            yield _job_row(job, self.paths.get(key, ""))
        for board in self.apart:
            if board.category is not None and (board.criterion, board.category) not in told:
                yield _board_row(board, self.paths[board.criterion, board.category])

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


def _job_row(job: Job, path: str) -> ListRow:
    alone = Badge("yes", "clear") if len(job.best) == 1 else None
    words = f"{job.name} {job.category or EVERY} {' '.join(job.best)}"
    return _row(path, job.name, job.category, job.reason, words, (_names(job.best), job.margin, alone))


def _board_row(board: ArenaBoard, path: str) -> ListRow:
    first = [place.generator for place in board.places if place.tier in (1, None)]
    return _row(path, board.name, board.category, board.reason, board.label, (_names(first), None, None))


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
    more = len(names) - NAMED
    return str(
        listed([*(brief(name, 40) for name in names[:NAMED]), *([f"{more} more"] if more > 0 else [])]).unescape()
    )
