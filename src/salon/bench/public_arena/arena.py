"""A public arena opened from its study and its database, and the process that fits its board.

The study folder holds the pictures and never changes; everything that voters do is in the database, `arena.db` in the
folder unless another is named. Any number of processes may open one arena; one of them at a time fits the board.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from salon.bench.arena_covariates import Covariates, study_covariates
from salon.bench.public_arena.ballots import ArenaField, arena_criterion, arena_field
from salon.bench.public_arena.live_board import LiveBoard, RefitResult, fit_live_board
from salon.bench.public_arena.settings import PublicArenaSettings
from salon.bench.public_arena.style import STYLES, record_styles
from salon.bench.public_arena.votes import VoteReader
from salon.errors import BadFile
from salon.study import Criterion, builtin_criteria

if TYPE_CHECKING:
    from salon.store import Database

ARENA_DATABASE = "arena.db"
UNNAMED = Criterion(id="preference", name="Preference", question="Which picture do you prefer?")
"""What voters are asked where a study has no criterion and none is named."""


@dataclass(frozen=True)
class PublicArena:
    """A study's pictures, the database of its votes, and the settings."""

    folder: Path
    database: Database
    field: ArenaField
    settings: PublicArenaSettings

    @property
    def criterion(self) -> str:
        """Id of what voters are asked."""
        return self.field.criterion.id

    @property
    def name(self) -> str:
        """Of the study."""
        return self.field.study.name


@contextmanager
def open_public_arena(
    folder: Path, db: str | None, settings: PublicArenaSettings, *, create: bool = False
) -> Iterator[PublicArena]:
    """The arena of the study in `folder`; `create` makes its database, or brings it up to date."""
    from salon.store import is_study, open_database, open_study

    if not is_study(folder):
        raise BadFile(
            "a study is needed: a folder with a study.toml in it",
            found="none there",
            where=str(folder),
            remedy="salon import pictures FOLDER makes one of folders of pictures, one folder for each generator",
        )
    study = open_study(folder)
    wanted = settings.criterion
    if wanted is None and not study.criteria:
        criterion = UNNAMED
    elif wanted is not None and wanted not in {known.id for known in study.criteria} and wanted in builtin_criteria():
        criterion = builtin_criteria()[wanted]
    else:
        criterion = arena_criterion(study, wanted)
    with open_database(db or folder / ARENA_DATABASE, create=create) as database:
        numbers = database.number_items([item.id for item in study.nouns("items")])
        yield PublicArena(folder, database, arena_field(study, criterion, numbers), settings)


# -- the board ---------------------------------------------------------------------------------------------------------


class BoardFitter:
    """Fits the board whenever votes came in."""

    def __init__(self, arena: PublicArena, *, progress: Callable[[str], None] = lambda step: None) -> None:
        self.arena = arena
        self._reader = VoteReader(arena.database, arena.criterion)
        self._covariates = _covariates(arena, progress)
        self._state: tuple[int, int] | None = None

    def fit(self) -> RefitResult:
        """The board of all votes there are now."""
        from salon.store import now_ms

        arena = self.arena
        return fit_live_board(
            self._reader.read(),
            arena.field,
            arena.settings,
            covariates=self._covariates,
            addresses=arena.database.voter_addresses(),
            at=now_ms(),
        )

    def refit(self) -> LiveBoard | None:
        """Fit and keep the board, unless nothing changed or another process is at it: then None."""
        database = self.arena.database
        state = database.count_votes(self.arena.criterion)
        if state == self._state:
            return None
        with database.fitting() as mine:
            if not mine:
                return None
            result = self.fit()
            database.put_board(self.arena.criterion, result.board.model_dump_json(), result.design)
        self._state = state
        return result.board


def _covariates(arena: PublicArena, progress: Callable[[str], None]) -> Covariates | None:
    names = arena.settings.covariates
    if not names:
        return None
    record_styles(arena.field.study, arena.folder, [name for name in names if name in STYLES], progress=progress)
    return study_covariates(arena.field.study, arena.folder, names)


def watch_board(
    folder: Path, db: str | None, settings: PublicArenaSettings, keep_days: float, parent: int | None = None
) -> None:
    """Fit the board again and again, until the process `parent` is gone; forget places when their time is over."""
    from salon.store import Unavailable, now_ms

    with open_public_arena(folder, db, settings) as arena:
        fitter = BoardFitter(arena)
        tidied = 0.0
        while parent is None or os.getppid() == parent:
            try:
                fitter.refit()
                if time.monotonic() - tidied > 3600 or not tidied:
                    arena.database.forget_places(now_ms() - int(keep_days * 86_400_000))
                    tidied = time.monotonic()
            except Unavailable:
                pass  # the database is away: the last board stays, and the next round tries again
            time.sleep(settings.refit_seconds)
