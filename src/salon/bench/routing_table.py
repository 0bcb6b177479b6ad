"""Which generator for which job: criteria weighed against each other, category by category."""

from __future__ import annotations

from pydantic import Field

from salon.report.estimate import Figure
from salon.study.noun import Noun


class Candidate(Noun):
    """A generator for a job."""

    generator: str
    score: Figure = Field(description="Weighted mean of its scores under the job's criteria, in logits.")
    rank: int
    rank_low: int | None
    rank_high: int | None
    tier: int | None = Field(description="1: cannot be told from the best.")


class Job(Noun):
    """What a picture is wanted for: weights of criteria, in one category or in all."""

    name: str = Field(description="'all criteria alike', the name of one criterion, or 'as weighed'.")
    weights: dict[str, float] = Field(description="By id of the criterion; they sum to 1.")
    category: str | None = Field(description="Null: all categories together.")
    candidates: tuple[Candidate, ...] = Field(description="Best first; empty where the job has no answer.")
    recommended: str | None = Field(description="The best by score; see `best` for those that it cannot be told from.")
    best: tuple[str, ...] = Field(description="Tier 1, best first.")
    margin: Figure | None = Field(description="Lead of the recommended over the second, in logits.")
    left_out: tuple[str, ...] = Field(default=(), description="Generators without a score under one of the criteria.")
    reason: str | None = Field(default=None, description="Why there is no answer.")


class RoutingTable(Noun):
    """All jobs: criteria alike, each criterion alone, and weights that were asked for; in each category."""

    jobs: tuple[Job, ...]
