"""Settings of arenas, judges of a suite and tables of rewards, and how a bundle's name ends."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from salon.fuse import Cluster, FuseSettings
from salon.judge import JudgeSpec
from salon.study import Noun


class ArenaSettings(Noun):
    """How `salon bench arena` works."""

    prior: float | None = Field(
        None,
        gt=0,
        le=100,
        description="Standard deviation of a normal prior on scores, in logits: generators that never lost get finite "
        "scores. Without it their board says so and has none.",
    )
    cluster: Literal["auto", Cluster] = Field(
        "auto",
        description="What intervals take as drawn anew; auto: prompts from five on, and raters too from three "
        "with names on; else raters or answers.",
    )
    both_bad: Literal["exclude", "tie"] = Field(
        "exclude", description="'Both bad' answers order nothing: left out and counted, or taken as ties."
    )
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    seed: int = Field(42, ge=0, description="Seed of everything drawn by chance.")

    @property
    def fuse(self) -> FuseSettings:
        """The same for `salon fuse`."""
        return FuseSettings(**dict(self), by="generator")


ENDING = ".salon.zip"


_HERE = {
    "calls": "File that keeps bought answers  [default: BOARD.calls.sqlite]",
    "device": "Of judges transformers:FOLDER: cpu, cuda, mps.",
    "dtype": "Of judges transformers:FOLDER: float32, bfloat16, float16.",
    "batch_size": "Of judges transformers:FOLDER: questions at a time.",
}


def _term(name: str) -> Any:
    """The field of that name of `Named`, as `pydantic.Field` gives it."""
    field = copy(JudgeSpec.model_fields[name])
    field.description = _HERE.get(name, field.description)
    return field


class JudgeTerms(Noun):
    """On which terms the judges of a run answer: of `salon judge run`, what does not say who they are."""

    key_env: str = _term("key_env")
    allow_http: bool = _term("allow_http")
    structured: Literal["auto", "schema", "json", "none"] = _term("structured")
    pixels: int = _term("pixels")
    most_tokens: int = _term("most_tokens")
    concurrency: int = _term("concurrency")
    per_minute: float | None = _term("per_minute")
    prices: Path | None = _term("prices")
    budget: float | None = _term("budget")
    calls: Path | None = _term("calls")
    device: str = _term("device")
    dtype: str = _term("dtype")
    batch_size: int = _term("batch_size")


class RewardTableSettings(Noun):
    """How `salon bench rewards` works."""

    missing: Literal["refuse", "shared"] = Field(
        "refuse",
        description="Of a generator that lacks a prompt: refuse gives it no mean, shared drops the prompt for all.",
    )
    overall: Literal["prompts", "categories"] = Field(
        "prompts",
        description="What the mean of all categories is: over all prompts, or of the categories' means, as HPSv3's "
        "released benchmark has it.",
    )
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")
