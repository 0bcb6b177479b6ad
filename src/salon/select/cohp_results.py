"""What a run of chains gave: every decision, every answer, and means by round.

Means are over prompts, with t intervals over prompts. A prompt without a number in a round (nothing was made, nothing
could be scored) is left out of that round's mean and counted.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from salon.select.cohp import Answer, CohpSettings, Decision
from salon.select.weights import ScoreColumn
from salon.stats.result import Estimate
from salon.study import Prompt
from salon.study.noun import Noun

FORMAT: Final = "salon.cohp/1"


class Level(Noun):
    """Where the chains stood after a round; stage 1 is round 0."""

    round: int
    best: Estimate | None = Field(description="Mean score of the best picture of the round.")
    so_far: Estimate | None = Field(description="Mean score of the best picture up to then.")
    true_best: Estimate | None = Field(None, description="Mean true quality of the best picture of the round.")
    true_so_far: Estimate | None = Field(None, description="Mean true quality of the best picture up to then.")
    missing: int = Field(description="Prompts without a scored picture in this round.")


class PromptChain(Noun):
    """The chain of one prompt."""

    prompt: Prompt
    decisions: tuple[Decision, ...]
    answer: Answer | None = Field(description="Null while the chain waits.")
    waits: str = Field("", description="What it waits for; empty when it is done.")


class CohpReport(Noun):
    """The whole run."""

    format: Literal["salon.cohp/1"] = Field(FORMAT, description="Name and version of this shape.")
    study: str
    settings: CohpSettings
    generators: tuple[str, ...]
    columns: tuple[ScoreColumn, ...]
    weights: dict[str, float]
    scale: str
    prompts: int
    asked: int = Field(description="Pictures asked for.")
    failed: dict[str, int] = Field(description="Pictures that were not made, by kind.")
    unscored: int = Field(description="Pictures that were made and have no score.")
    chosen: dict[str, int] = Field(description="Prompts by the generator that was chosen.")
    not_apart: int = Field(description="Prompts whose chosen generator cannot be told from another.")
    answers: dict[int, int] = Field(description="Prompts by the round that their answer comes from.")
    empty_rounds: int = Field(description="Rounds without a scored picture: the next had the same start.")
    redrawn: tuple[str, ...] = Field(description="Generators that could not start from a picture, and drew anew.")
    waiting: dict[str, int]
    levels: tuple[Level, ...]
    gain: Estimate | None = Field(description="Score of the answer less the best of stage 1, prompt by prompt.")
    true_gain: Estimate | None = Field(description="The same in true quality, where posters were drawn by houses.")
    images: dict[str, str] = Field(description="Item to its path inside the study folder.")
    values: dict[str, dict[str, float]] = Field(description="Item to its scores by criterion.")
    truth: dict[str, float] = Field(description="Item to its true quality, where it is known.")
    policies: tuple[str, ...]
    notes: tuple[str, ...]
    signature: str
    chains: tuple[PromptChain, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every chain went through all rounds."""
        return not self.waiting
