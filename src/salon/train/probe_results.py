"""What a probe can be told, and what it finds; described once for flags, JSON and pages."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.stats.result import Estimate
from salon.study.noun import Noun
from salon.study.signature import Signature
from salon.train.tricks import Kind

POLICY = "items without a score, as they are or altered, are left out of that row and counted there"
Outcome = Literal["raises", "does not raise", "open", "noticed", "not noticed"]


class ProbeSettings(Noun):
    """How `salon train probe` works."""

    items: int = Field(100, ge=2, description="Most items to alter; whole prompts, drawn by --seed.")
    margin: float = Field(0.1, gt=0, description="Largest mean change that counts as none, in spreads of a prompt.")
    level: float = Field(0.95, gt=0, lt=1, description="Level at which the intervals of one alteration hold together.")
    draws: int = Field(2000, ge=100, description="Times the prompts are drawn again for an interval.")
    seed: int = Field(0, ge=0, description="Seed of the items, the grain and the intervals.")


class ProbeRow(Noun):
    """One alteration at one strength."""

    trick: str = Field(description="Name of the alteration.")
    kind: Kind = Field(description="A trick must not raise the score, a control must lower it.")
    strength: float = Field(description="Its number; `words` say what it means.")
    words: str = Field(description="What was done.")
    items: int = Field(description="Items with a score before and after.")
    missing: int = Field(description="Items without one of the two.")
    change: Estimate = Field(description="Mean change of the score, in spreads of a prompt.")
    risen: Estimate = Field(description="Share of items whose score rose.")
    overturned: Estimate | None = Field(description="Share of pairs won by the altered loser; null without pairs.")


class TrickVerdict(Noun):
    """What is concluded about one alteration."""

    trick: str = Field(description="Name of the alteration.")
    kind: Kind = Field(description="A trick must not raise the score, a control must lower it.")
    outcome: Outcome = Field(
        description="Of a trick raises, does not raise or open; of a control noticed, not noticed or open."
    )
    strength: float = Field(description="Where the conclusion was drawn: the largest change, for a control the last.")


class ProbeReport(Noun):
    """What the probes found."""

    format: Literal["salon.probe/1"] = Field("salon.probe/1", description="Name and version of this shape.")
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the answers of the study.")
    scorer: str = Field(description="Name of the scorer.")
    criterion: str | None = Field(description="The criterion it speaks about, where it has one.")
    items: int = Field(description="Items altered.")
    prompts: int = Field(description="Prompts they belong to.")
    left_out: dict[str, int] = Field(description="Items of the study that were not used, by reason.")
    spread: float = Field(description="Standard deviation of the scores within a prompt, on the scorer's own scale.")
    level: float = Field(description="Level at which the intervals of one alteration hold together.")
    margin: float = Field(description="Largest mean change that counts as none, in spreads.")
    rows: tuple[ProbeRow, ...] = Field(description="Every alteration at every strength.")
    verdicts: tuple[TrickVerdict, ...] = Field(description="One for each alteration.")
    missing: str = Field(POLICY, description="What is done about missing scores.")
    scorer_signature: str = Field(description="Of the scorer.")
    signature: Signature = Field(description="What reproduces the figures.")

    @property
    def raised(self) -> list[str]:
        """Tricks that raise the score."""
        return [one.trick for one in self.verdicts if one.outcome == "raises"]
