"""Settings of `salon labels` and `bridge simulate`; the others stand with their results."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from salon.fuse.bridge_plan import BridgeSettings
from salon.study import Noun, check_shares


class RehearsalSettings(Noun):
    """What `salon bridge simulate` is asked."""

    items: int = Field(3000, ge=4, le=200_000, description="Items to score (n).")
    pool: int = Field(50, ge=2, le=2000, description="Items compared with each other exhaustively (N).")
    opponents: int = Field(10, ge=1, le=2000, description="Pool items that every other item meets (K).")
    adaptive: bool = Field(False, description="Headline figures of adaptive opponents instead of random ones.")
    method: Literal["davidson", "bradley-terry", "elo"] = Field("davidson", description="The pool's scale.")
    spread: float = Field(
        3.9,
        gt=0,
        le=20,
        description="Sharpness of the judge: standard deviation of the items' true scores in its logits.",
    )
    ties: float = Field(0.2, ge=0, lt=1, description="Chance that the judge ties two items of equal quality.")
    lapses: float = Field(0.0, ge=0, le=1, description="Share of answers drawn at random.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")

    def bridge(self, *, adaptive: bool) -> BridgeSettings:
        """The bridge to rehearse."""
        return BridgeSettings(
            pool=min(self.pool, self.items),
            opponents=self.opponents,
            method=self.method,
            adaptive=adaptive,
            seed=self.seed,
        )


Rows = Literal["pairs", "raters", "ratings"]


class LabelSettings(Noun):
    """How `salon labels` works."""

    rows: Rows = Field(
        "pairs",
        description="One row for each pair of items; for each rater's vote on a pair; or for each rated item.",
    )
    ties: Literal["drop", "keep"] = Field(
        "drop", description="Pairs (or votes) without a winner: left out and counted, or kept with the label 'tie'."
    )
    rating_pairs: bool = Field(
        False, description="Also take votes from ratings, where a rater neither compared nor ranked the two items."
    )
    train: float = Field(0.8, ge=0, le=1, description="Share of the prompts to train on.")
    validation: float = Field(0.1, ge=0, le=1, description="Share of the prompts to choose settings by.")
    test: float = Field(0.1, ge=0, le=1, description="Share of the prompts kept for the final test.")
    seed: int = Field(0, ge=0, description="Seed of the split; each prompt falls by a hash of the seed and its id.")

    @property
    def shares(self) -> tuple[float, float, float]:
        """The shares in the order of SPLITS."""
        return self.train, self.validation, self.test

    @model_validator(mode="after")
    def _shares_make_a_whole(self) -> LabelSettings:
        check_shares(self.shares)
        return self
