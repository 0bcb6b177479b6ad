"""What a judge's answers took, as part of a judge report's JSON."""

from __future__ import annotations

from pydantic import Field

from salon.stats.result import Estimate
from salon.study.noun import Noun


class UsageFigures(Noun):
    """What the answers took."""

    answers: int = Field(description="One for each call and criterion.")
    unread: int = Field(description="Answers without a verdict.")
    failed: dict[str, int] = Field(default_factory=dict, description="Of those, without any reply, by kind.")
    reasons: dict[str, int] = Field(default_factory=dict, description="Why the others could not be read.")
    cost: float | None = Field(default=None, description="Sum of the known costs.")
    cost_unknown: int = Field(default=0, description="Answers whose cost is not known.")
    tokens_in: int | None = Field(default=None, description="Tokens read; null where not told.")
    tokens_out: int | None = Field(default=None, description="Tokens written.")
    seconds_median: float | None = Field(default=None, description="Median time of an answer.")
    seconds_95: float | None = Field(default=None, description="95th percentile.")
    cost_per_1000: float | None = Field(
        default=None, description="Cost of a thousand pairs (items, ticks) on one criterion."
    )
    first_at: str | None = Field(default=None, description="When the first answer was given, ISO 8601; null untold.")
    last_at: str | None = Field(default=None, description="When the last answer was given.")
    cost_per_point: Estimate | None = Field(
        default=None,
        description="That cost for each hundredth of macro accuracy (of checklists: balanced) above chance; ends from "
        "its interval.",
    )
