"""What a scorer gives to generators: mean reward by generator and category, ranked (the table of HPSv3's benchmark).

With several scorers, such as the criteria of a model trained on a panel, the rows of one generator are its quality
report: where it is ahead of the others and where behind (TASTE, section 7.2, use iii).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.stats.result import Estimate
from salon.study.noun import Noun
from salon.study.signature import Signature

Verdict = Literal["ahead", "behind", "not told apart", "alone", "no mean"]


class RewardPlace(Noun):
    """One generator on a board of rewards."""

    generator: str
    mean: Estimate | None = Field(description="Mean over prompts of the mean of its pictures, on the scorer's scale.")
    lead: Estimate | None = Field(description="Its mean less the mean of all others on the same prompts.")
    beats: Estimate | None = Field(description="Share of the others that its picture exceeds, ties half; 0 to 1.")
    rank: int | None
    rank_low: int | None = Field(description="Best rank it may truly have; all intervals of a board hold at once.")
    rank_high: int | None
    tier: int | None = Field(description="1: cannot be told from the best.")
    pictures: int = Field(description="Scored pictures.")
    lacking: int = Field(description="Prompts of the board on which a picture or its score is missing.")

    @property
    def verdict(self) -> Verdict:
        """Whether the interval of its lead lies above 0, below it, or holds it."""
        if self.mean is None:
            return "no mean"
        if self.lead is None:
            return "alone"
        if self.lead.low is None or self.lead.high is None:
            return "not told apart"
        return "ahead" if self.lead.low > 0 else "behind" if self.lead.high < 0 else "not told apart"


class RewardBoard(Noun):
    """One scorer, in one category or in all."""

    scorer: str
    category: str | None = Field(description="Null: all categories together.")
    places: tuple[RewardPlace, ...] = Field(description="Best first, then those without a mean.")
    prompts: int = Field(description="Prompts behind every mean.")
    left_out: int = Field(description="Prompts left out because a generator lacks them; 0 unless missing = 'shared'.")
    reason: str | None = Field(default=None, description="Why there is no mean at all, or no rank intervals.")


class RewardScorer(Noun):
    """A table of scores."""

    name: str
    signature: str | None = Field(description="Of the scorer, where the table says it.")
    is_logit: bool = Field(description="Whether a difference of 1 is odds of e; else the scale is the scorer's own.")
    measures: str
    digest: str = Field(description="Hash of the scores used.")
    unscored: dict[str, int] = Field(
        default_factory=dict,
        description="Pictures without a number, by reason, where they were scored by this command.",
    )


class RewardOrder(Noun):
    """Do the means of one scorer put generators in the order that people do?"""

    scorer: str = Field(description="Name of the scorer.")
    people: str = Field(description="Name of the study of people's votes.")
    spearman: Estimate | None = Field(description="Spearman's correlation over generators.")
    kendall: Estimate | None = Field(description="Tau-b.")
    nmse: Estimate | None = Field(
        description="Normalised mean squared error: both sides stretched to [0, 1] over generators; 0 is best."
    )
    generators: tuple[str, ...] = Field(description="Those that both have.")
    left_out: tuple[str, ...] = Field(description="Generators that people voted on or that have a mean, but not both.")
    prompts: int = Field(description="Prompts behind the means.")
    pairs: int = Field(description="Pairs behind people's shares.")
    reason: str | None = Field(default=None, description="Why there is none.")


class RewardTables(Noun):
    """All scorers on one study."""

    format: Literal["salon.rewards/1"] = "salon.rewards/1"
    study: str
    study_hash: str
    simulated: bool
    level: float
    missing: Literal["refuse", "shared"]
    scorers: tuple[RewardScorer, ...]
    boards: tuple[RewardBoard, ...] = Field(description="By scorer; all categories together first.")
    generators: tuple[str, ...]
    orders: tuple[RewardOrder, ...] = Field(default=(), description="Beside people's order, where people were named.")
    policies: tuple[str, ...]
    signature: Signature
    signature_line: str

    def of(self, generator: str) -> list[tuple[RewardBoard, RewardPlace]]:
        """The quality report of one generator: its place on every board."""
        return [(board, place) for board in self.boards for place in board.places if place.generator == generator]
