"""What a loop gave: every chain, every number, and what the rounds differ by.

All figures are means over prompts, each prompt the mean of its pictures in a round. Differences are paired: prompt by
prompt, with an interval over prompts and a p value by flipping signs (`salon.stats.paired`); Holm's adjustment is over
all differences of one scorer.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from salon.stats.result import Estimate
from salon.study import Prompt
from salon.study.diagnosis import Remark
from salon.study.noun import Noun

FORMAT: Final = "salon.refine/1"


class Shot(Noun):
    """One picture of a round, or why there is none."""

    item: str = Field(description="Id of the item in the study.")
    seed: int = Field(description="Seed it was drawn from.")
    image: str | None = Field(None, description="Path inside the study folder; null where it was not made.")
    failed: str | None = Field(None, description="Why it was not made.")
    scores: dict[str, float] = Field(default_factory=dict, description="Its numbers by scorer, where it has one.")
    sigmas: dict[str, float] = Field(default_factory=dict, description="How sure scorers are, where they say so.")


class Step(Noun):
    """One round of one prompt."""

    round: int
    prompt: Prompt | None = Field(description="What was drawn; null while the chain waits.")
    changed: bool = Field(description="Whether it differs from the round before.")
    shots: tuple[Shot, ...]
    seen: str | None = Field(None, description="The item that was looked at.")
    outcome: Literal["revised", "unread", "none"] | None = Field(None, description="What came of the look.")
    reason: str = Field("", description="Why there is no revision.")
    remarks: tuple[Remark, ...] = ()


class Chain(Noun):
    """All rounds of one prompt."""

    prompt: Prompt = Field(description="The original.")
    steps: tuple[Step, ...]
    control: tuple[Step, ...] = Field(description="The original drawn again, from round 1.")
    best: str | None = Field(description="The item chosen of all rounds.")
    best_round: int | None
    why: str = Field(description="By what it was chosen.")
    waits: str = Field(description="What the chain waits for; empty when it is done.")


class Level(Noun):
    """The mean of one round."""

    arm: Literal["round", "control"]
    round: int
    figure: Estimate | None = Field(description="Null where no prompt has a number.")
    missing: int = Field(description="Prompts without a number in this round.")


class Difference(Noun):
    """One thing less another, prompt by prompt."""

    first: str
    second: str
    figure: Estimate
    p: float = Field(description="Two-sided, by flipping signs.")
    holm: float = Field(description="Adjusted for all differences of this scorer.")
    law: str
    missing: int = Field(description="Prompts that lack one of the two.")


class Scored(Noun):
    """One scorer's numbers."""

    scorer: str
    signature: str
    higher_is_better: bool
    levels: tuple[Level, ...]
    best: tuple[Level, ...] = Field(description="Of the pictures chosen among all rounds, and among all controls.")
    differences: tuple[Difference, ...]
    unscored: dict[str, int] = Field(description="Pictures without a number, by reason.")


class RefineReport(Noun):
    """The whole loop."""

    format: Literal["salon.refine/1"] = Field(FORMAT, description="Name and version of this shape.")
    study: str
    generator: str
    vlm: str
    rounds: int
    images: int
    sees: Literal["original", "both"]
    prompts: int
    pick: str | None = Field(description="The scorer that chooses; null where nothing does.")
    replies: dict[str, int] = Field(description="Looks by outcome: revised, unread, none.")
    unread: dict[str, int] = Field(description="Answers that were not read and looks without an answer, by reason.")
    waiting: dict[str, int] = Field(description="Chains that wait, by what for.")
    failed: dict[str, int] = Field(description="Pictures that were not made, by kind.")
    cost: float | None = Field(description="Of all replies on record, where it is known.")
    level: float
    chains: tuple[Chain, ...]
    scores: tuple[Scored, ...]
    policies: tuple[str, ...]
    notes: tuple[str, ...]
    signature: str

    @property
    def is_complete(self) -> bool:
        """Whether every chain went through all rounds."""
        return not self.waiting
