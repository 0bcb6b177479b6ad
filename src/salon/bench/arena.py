"""What raters say of generators: boards by criterion and category, as one numbered snapshot.

BOARD/arena/0001.json     the first snapshot; a later fit is a later number, and none is ever changed
"""

from __future__ import annotations

import math
from typing import Final, Literal

from pydantic import Field

from salon.bench.routing_table import RoutingTable
from salon.bench.win_matrix import WinMatrix
from salon.stats.result import Estimate
from salon.study.noun import Noun
from salon.study.signature import Signature

FORMAT: Final = "salon.arena/1"
FOLDER = "arena"
MEAN_POINTS, POINTS_PER_LOGIT = 1000.0, 400 / math.log(10)


class RaterKinds(Noun):
    """Who answered."""

    people: int
    crowds: int = Field(description="Groups of people that the source cannot tell apart.")
    models: int
    simulated: bool = Field(description="True when no person gave the study's answers.")

    @property
    def words(self) -> str:
        """For a line of a table: '12 people, 1 model', '5 simulated people'."""
        named = ((self.people, "person", "people"), (self.crowds, "crowd", "crowds"), (self.models, "model", "models"))
        how = "simulated " if self.simulated else ""
        return ", ".join(f"{n:,} {how}{one if n == 1 else many}" for n, one, many in named if n) or "nobody"


class ArenaCoverage(Noun):
    """What a board rests on, and what was left out of it."""

    comparisons: int
    rankings: int
    ratings: int
    unused: int = Field(description="Answers of kinds that the method does not read.")
    both_bad: int = Field(description="Comparisons answered 'both bad': they order nothing and are left out.")
    repeats: int = Field(description="Repeated answers: left out, they measure a rater.")
    same: int = Field(description="Answers about two pictures of one generator: left out.")
    generators: int
    pairs_met: int = Field(description="Pairs of generators with an answer.")
    pairs: int = Field(description="All pairs of generators.")
    prompts: int
    raters: RaterKinds


class Place(Noun):
    """One generator on a board."""

    generator: str
    score: Estimate = Field(description="On the board's scale; logits around the mean of its generators.")
    points: Estimate | None = Field(
        description="The same as on arenas: 1000 + 400/ln 10 a logit; null where scores are no logits."
    )
    n: int = Field(description="Answers that name it.")
    rank: int
    rank_low: int | None = Field(description="Best rank it may hold; null where there are no intervals.")
    rank_high: int | None
    tier: int | None = Field(description="1: cannot be told from the best; then the best of the rest.")
    error: float | None = Field(default=None, description="Standard error of the score; null where there is none.")


class Effect(Noun):
    """What one covariate does to an answer."""

    covariate: str = Field(description="Name of a table of scores, or 'position'.")
    beta: Estimate = Field(description="Logits for one more `unit` of it.")
    unit: str = Field(description="'one standard deviation (0.12)', or 'shown on the left'.")
    p: float | None = Field(description="Two-sided, of no effect.")


class AdjustedBoard(Noun):
    """The board if all pictures had the same covariates: q_a - q_b + beta (x_a - x_b)."""

    places: tuple[Place, ...]
    plain: tuple[Place, ...] = Field(
        description="The same answers by the same model without covariates: what the adjustment changed."
    )
    effects: tuple[Effect, ...]
    method: str
    answers: int = Field(description="Answers with all covariates known.")
    left_out: int = Field(description="Answers about a picture without a number: left out.")
    reason: str | None = Field(default=None, description="Why there are no places.")


class ArenaBoard(Noun):
    """One criterion, in one category or in all."""

    criterion: str
    name: str = Field(description="Of the criterion.")
    category: str | None = Field(description="Null: all categories together.")
    method: str = Field(description="How answers became scores: davidson, bradley-terry, plackett-luce, mean.")
    scale: str = Field(description="'logit', or the scale of the ratings.")
    places: tuple[Place, ...] = Field(description="Best first; empty where the answers identify no scores.")
    alike: tuple[tuple[str, ...], ...] = Field(default=(), description="Runs that cannot be told from each other.")
    tie: float | None = Field(default=None, description="Davidson's nu; null without ties.")
    matrix: WinMatrix | None = Field(description="Null where nobody met.")
    adjusted: AdjustedBoard | None = Field(default=None, description="Null unless covariates were asked for.")
    coverage: ArenaCoverage
    errors: str = Field(description="How intervals were made.")
    warnings: tuple[str, ...] = ()
    reason: str | None = Field(default=None, description="Why there are no places, and what to do.")

    @property
    def label(self) -> str:
        """Criterion and category."""
        return self.name if self.category is None else f"{self.name} · {self.category}"


class ArenaSnapshot(Noun):
    """All boards of one study, as they were fitted once."""

    format: Literal["salon.arena/1"] = FORMAT
    number: int = Field(default=0, description="0: not published.")
    study: str
    study_hash: str
    revision: int
    simulated: bool
    level: float
    covariates: tuple[str, ...] = ()
    boards: tuple[ArenaBoard, ...] = Field(description="By criterion; all categories together first.")
    routing: RoutingTable
    policies: tuple[str, ...]
    signature: Signature
    signature_line: str

    @property
    def criteria(self) -> tuple[str, ...]:
        """Ids of the criteria with a board, in the study's order."""
        return tuple(dict.fromkeys(board.criterion for board in self.boards))

    @property
    def categories(self) -> tuple[str, ...]:
        """Categories with boards of their own."""
        return tuple(dict.fromkeys(board.category for board in self.boards if board.category is not None))

    def board(self, criterion: str, category: str | None = None) -> ArenaBoard | None:
        """One board."""
        wanted = (one for one in self.boards if (one.criterion, one.category) == (criterion, category))
        return next(wanted, None)


def board_points(score: Estimate) -> Estimate:
    """Logits as the points of arenas: 400 points are odds of ten to one, and a board's mean is 1000."""
    return score.transform(_points)


def _points(logit: float) -> float:
    return MEAN_POINTS + POINTS_PER_LOGIT * logit
