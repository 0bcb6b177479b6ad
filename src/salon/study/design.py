"""How questions and raters were chosen: part of the study, because it decides which nulls apply."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study.noun import Noun


class Design(Noun):
    """Fixed-R nulls assume that nobody looked at the answers while choosing the questions."""

    kind: Literal["complete", "fraction", "adaptive", "merge_ranking", "unknown"] = "unknown"
    """complete: every rater sees every pair or ranks every item of a prompt. fraction: a fixed subset.
    adaptive: later questions depend on earlier answers. merge_ranking: each rater's order was found by
    asking only the pairs a merge sort needs. unknown: the source does not say."""
    stop: Literal["fixed", "until_confidence"] = "fixed"
    """Whether the number of answers was set beforehand or grew until the result looked certain."""
    fraction: float | None = Field(default=None, gt=0, le=1)
    order_randomized: bool | None = None
    note: str | None = None

    @property
    def adaptive(self) -> bool:
        """True when answers influenced which questions were asked, or how many."""
        return self.kind == "adaptive" or self.stop == "until_confidence"

    @property
    def transitive_by_construction(self) -> bool:
        """True when a rater's answers cannot be intransitive whatever the rater thinks."""
        return self.kind == "merge_ranking"
