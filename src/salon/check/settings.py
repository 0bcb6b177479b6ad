"""Everything a signal check can be told, described once: flags, help, docs and signatures read it here."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study.noun import Noun


class CheckSettings(Noun):
    """How `salon check` works."""

    ties: Literal["random", "stable"] = Field(
        "random",
        description="How ties become strict orders: at random, averaged over repeats; or by item order, the same for "
        "every rater, which manufactures agreement (only to reproduce papers that did so).",
    )
    tie_repeats: int = Field(20, ge=1, le=1000, description="Random tie-breaks to average over.")
    draws: int = Field(2000, ge=100, le=100_000, description="Bootstrap draws behind every interval.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    alpha: float = Field(0.05, gt=0, lt=0.5, description="Level of the tests, after Holm's adjustment.")
    smallest_tau: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="The weakest mean tau worth seeing: without power for it, silence proves nothing.",
    )
    power: float = Field(0.8, gt=0, lt=1, description="Power a test needs before its silence counts.")
    null_draws: int = Field(200_000, ge=10_000, description="Monte Carlo prompts where no exact null is feasible.")
    flag_from: float = Field(1, description="A flag counts as positive from this level on (1 = at least Minor).")
    most_votes: int = Field(
        2_000_000,
        ge=1_000,
        description="Votes on pairs that ratings of a catalogue may make; where there are more, items are drawn at "
        "random, and the report says how many.",
    )
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")
