"""How `salon evaluate` works, described once."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study.noun import Noun


class EvaluateSettings(Noun):
    """How models are held against the votes of people."""

    split: Literal["test", "validation", "train", "all"] = Field(
        "test", description="Which prompts of the study that a model was trained on; of other studies all are taken."
    )
    ceiling: bool = Field(
        True, description="Refuse to print an accuracy that no ceiling can be given for; without it, say so instead."
    )
    allow_leak: bool = Field(
        False, description="Go on although a model was trained on what it is tested on; the report is marked."
    )
    bins: int = Field(10, ge=1, le=100, description="Bins of the reliability diagram.")
    level: float = Field(0.95, gt=0, lt=1, description="Confidence level of all intervals.")
    draws: int = Field(2000, ge=100, description="Bootstrap draws of prompts, and sign patterns of paired tests.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")


class CurveSettings(Noun):
    """How a learning curve is made."""

    curve_shares: tuple[float, ...] = Field(
        (0.125, 0.25, 0.5, 1.0), description="A share of the training prompts on the learning curve (repeatable)."
    )
    curve_seeds: int = Field(3, ge=1, le=100, description="Trainings at each point of the learning curve.")
