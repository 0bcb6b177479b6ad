"""How a public arena deals, counts and publishes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study import Noun


class PublicArenaSettings(Noun):
    """What every process of one arena must be given alike."""

    criterion: str | None = Field(None, description="What voters are asked  [default: the study's first criterion]")
    ballots: Literal["pairs", "fours", "both"] = Field(
        "pairs", description="Two pictures to choose from, four to put in order, or both in turn."
    )
    random: float = Field(
        0.2, gt=0, le=1,
        description="Share of ballots whose generators are drawn evenly; the rest go where intervals shrink most.",
    )  # fmt: skip
    covariates: tuple[str, ...] = Field(
        (),
        json_schema_extra={"flag": "covariate"},
        description="Adjust scores for this: a table of scores in STUDY/scores, size, brightness, color, or position "
        "(repeatable).",
    )
    least_votes: int = Field(50, ge=1, description="Votes that a generator needs before its row is shown.")
    refit_seconds: float = Field(10, ge=0.1, description="Seconds between two fits of the board, where votes came in.")
    prior: float = Field(3.0, gt=0, le=100, description="Standard deviation of a normal prior on scores, in logits.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    even: bool = Field(
        True, description="Weigh votes by the inverse chance of their pair, as if all pairs had been dealt alike."
    )
    most_weight: int | None = Field(
        None, ge=1, description="Votes of one voter beyond so many share the weight of so many  [default: no weighting]"
    )
    exclude: Literal["flagged", "nobody"] = Field(
        "flagged", description="Set aside what the anomaly report flags, or nobody; both boards are shown."
    )
    false_alarms: float = Field(
        0.05, gt=0, lt=0.5, description="Chance of a flag where nobody attacks, and largest share of wrong flags."
    )
    window_minutes: int = Field(60, ge=1, description="Length of the windows in which floods are looked for.")
    seed: int = Field(42, ge=0, description="Seed of the rank intervals.")
