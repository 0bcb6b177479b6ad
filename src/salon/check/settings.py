"""Settings of `salon anchor`, `plan` and `plan budget`; those of `salon check` stand with its results."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study import Noun


class AnchorSettings(Noun):
    """How `salon anchor` draws."""

    items: int = Field(4, ge=2, le=12, description="Items per draw (p).")
    raters: int = Field(5, ge=2, le=100, description="Raters per draw (R).")
    ties: Literal["random", "stable"] = Field(
        "random",
        description="How ties become strict orders: at random, afresh in every draw; or by item order, the same for "
        "every rater, which creates agreement (only to reproduce papers that did so).",
    )
    draws: int = Field(20_000, ge=100, le=2_000_000, description="Draws of R raters and p items.")
    draw_by: Literal["panels", "items"] = Field(
        "panels",
        description="In a catalogue without prompts: raters first, then items they share; or items first, then raters "
        "who judged them all. The same where every rater judged every item.",
    )
    top_items: int = Field(100, ge=2, description="In a catalogue without prompts, only the most judged items.")
    top_generators: int | None = Field(None, ge=2, description="Keep only this many generators, the best by mean rank.")
    photographs: Literal["drop", "keep"] = Field(
        "drop", description="Photographs among generated pictures, as in the test set of HPDv2: left out, or kept."
    )
    drop: tuple[str, ...] = Field((), description="Leave out items of this generator or source (repeatable).")
    criterion: str | None = Field(None, description="Which criterion, when the file holds several.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")


class PlanSettings(Noun):
    """What `salon plan` is asked."""

    items: int = Field(4, ge=2, le=12, description="Items per prompt (p).")
    raters: int = Field(5, ge=2, le=60, description="Raters per prompt (R).")
    prompts: int = Field(80, ge=2, le=1_000_000, description="Prompts per criterion (n).")
    criteria: int = Field(1, ge=1, le=1000, description="Criteria that share Holm's adjustment.")
    model: Literal["mallows", "thurstone", "plackett_luce"] = Field("mallows", description="How raters rank.")
    tau: float | None = Field(None, gt=0, lt=1, description="Effect: mean tau between two raters  [default: 0.1]")
    theta: float | None = Field(None, gt=0, description="Effect as Mallows theta, instead of --tau.")
    alpha: float = Field(0.05, gt=0, lt=0.5, description="Level of the tests.")
    sims: int = Field(2000, ge=100, le=100_000, description="Simulated studies behind every power figure.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")


class SimulatedBudgetSettings(Noun):
    """What `salon plan budget` is asked without a study."""

    items: int = Field(50, ge=4, le=400, description="Without STUDY: items to be compared.")
    raters: int = Field(5, ge=1, le=1000, description="Without STUDY: raters who answer every pair.")
    spread: float = Field(2.0, gt=0, le=20, description="Without STUDY: standard deviation of true scores, in logits.")
    target: float = Field(0.98, gt=0, lt=1, description="Without STUDY: rank correlation with the full design to keep.")
    studies: int = Field(100, ge=10, le=5000, description="Without STUDY: simulated studies behind every figure.")


class ThinSettings(Noun):
    """What `salon plan budget STUDY` is asked."""

    fraction: tuple[float, ...] = Field(
        (), description="With STUDY: share of its compared pairs to keep (repeatable)  [default: 0.1, 0.2, ... 1]"
    )
    repeats: int = Field(10, ge=2, le=1000, description="With STUDY: random choices of the pairs for each fraction.")
    prior: float = Field(
        3.0, gt=0, description="With STUDY: sd of the normal prior of Bradley-Terry scores, in logits."
    )
