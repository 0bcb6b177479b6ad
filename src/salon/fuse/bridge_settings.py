"""Everything a bridge can be told, described once: flags, help, docs and signatures read it here."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from salon.errors import BadValue
from salon.study.noun import Noun


class BridgeSettings(Noun):
    """How `salon bridge` asks and scores."""

    pool: int = Field(50, ge=2, le=2000, description="Items compared with each other exhaustively (N).")
    opponents: int = Field(10, ge=1, le=2000, description="Pool items that every other item meets, at most (K).")
    both_orders: bool = Field(False, description="Ask every pair twice, each item shown first once.")
    adaptive: bool = Field(
        False,
        description="Choose opponents by what their answers are expected to tell, given the answers so far, instead of "
        "at random.",
    )
    batch: int = Field(
        1, ge=1, le=100, description="With --adaptive: opponents asked at once for every item that waits."
    )
    target_sd: float | None = Field(
        None,
        gt=0,
        description="With --adaptive: no more questions about an item whose score is this certain (standard deviation "
        "in logits, every criterion).",
    )
    method: Literal["davidson", "bradley-terry", "elo"] = Field(
        "davidson",
        description="The pool's scale: davidson (ties have a probability of their own), bradley-terry (a tie is half a "
        "win) or elo (the same with Elo's scores, as in the papers: no errors of the pool).",
    )
    prior: float = Field(
        10.0,
        gt=0,
        le=100,
        description="Standard deviation of the normal prior on the pool's scores, in logits (not with elo): wide, so "
        "that it holds undefeated items without squeezing the scale.",
    )
    pool_errors: bool = Field(
        True, description="Fold the errors of the pool's scores into the placements (not with elo, which has none)."
    )
    low: float = Field(1.0, description="Lower end of the calibrated scale.")
    high: float = Field(5.0, description="Upper end of the calibrated scale.")
    steepness: float = Field(6.0, gt=0, le=50, description="Logits that the range from worst to best item covers.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Level of the intervals.")
    criterion: tuple[str, ...] = Field((), description="Only the criterion with this id (repeatable).")
    rater: tuple[str, ...] = Field((), description="Only answers of the rater with this id (repeatable).")
    seed: int = Field(42, ge=0, description="Seed of the pool, the opponents and which item is shown first.")

    @model_validator(mode="after")
    def _is_possible(self) -> BridgeSettings:
        if self.opponents > self.pool:
            raise BadValue(
                f"--opponents come from the pool (--pool {self.pool}): at most as many", found=self.opponents
            )
        if not self.low < self.high:
            raise BadValue("--low must lie below --high", found=f"{self.low:g} and {self.high:g}")
        return self

    @property
    def orders(self) -> int:
        """Calls for one pair."""
        return 2 if self.both_orders else 1
