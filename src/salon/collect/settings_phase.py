"""What one phase of a studio is told: its protocol, criteria, design, stop rule and planted checks."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from salon.study.noun import Noun
from salon.study.prompt import Part

Kind = Literal["compare", "rank", "rate", "flag", "checklist", "choose", "regions", "text"]
"""How a screen asks. The first six are the study's protocols; regions and text are kept as checklists."""
TOGETHER: tuple[Kind, ...] = ("compare", "rank", "choose")
"""Kinds that show several items at once."""


class PairDesign(Noun):
    """Which pairs are compared."""

    kind: Literal["complete", "fraction", "adaptive"] = Field(
        "complete",
        description="complete: every pair. fraction: a connected, balanced part. adaptive: the most telling pair next.",
    )
    fraction: float = Field(0.5, gt=0, le=1, description="Share of all pairs; with adaptive, of all pairs' answers.")
    pairs: int | None = Field(None, ge=1, description="Pairs in each prompt or category, instead of a fraction.")

    def pairs_of(self, items: int) -> int:
        """How many of the pairs of `items` are in the design: enough to connect them, at most all."""
        everything = items * (items - 1) // 2
        if self.kind == "complete":
            return everything
        wanted = round(self.fraction * everything) if self.pairs is None else self.pairs
        return min(max(wanted, items - 1), everything)


class Stop(Noun):
    """When a question has enough answers."""

    kind: Literal["everyone", "fixed", "agreement"] = Field(
        "everyone",
        description="everyone: each rater of the cohort answers all. fixed: `raters_each` answer it. agreement: from "
        "`least` to `most` raters, until a share `agreement` of them agrees.",
    )
    raters_each: int = Field(5, ge=1, le=10_000, description="fixed: raters for each question.")
    least: int = Field(9, ge=1, le=10_000, description="agreement: raters before it may stop.")
    most: int = Field(19, ge=1, le=10_000, description="agreement: raters after which it stops anyway.")
    agreement: float = Field(0.9, gt=0.5, le=1, description="agreement: share of raters on one side.")

    @model_validator(mode="after")
    def _least_is_least(self) -> Self:
        if self.least > self.most:
            raise ValueError(f"least ({self.least}) may not exceed most ({self.most})")
        return self


class Checks(Noun):
    """Questions planted to see how raters work."""

    repeats: int | None = Field(
        None, ge=0, le=10_000, description="Questions asked twice  [default: 30, and 10 with one item]"
    )
    gap: int | None = Field(
        None,
        ge=0,
        le=10_000,
        description="Least questions between the two  [default: 10, and 5 with one item]",
    )
    gold: int = Field(0, ge=0, le=1000, description="Gold questions spread over the phase.")
    attention: int = Field(0, ge=0, le=1000, description="Screens that say which answer to give.")


class PromptSample(Noun):
    """Which prompts a phase is about."""

    number: int | None = Field(None, ge=1, description="Prompts drawn at random; absent: all.")
    shares: Literal["proportional", "equal"] = Field(
        "proportional", description="How categories share the draw: by their size, or all the same."
    )
    fresh: bool = Field(False, description="Draw only prompts that no earlier phase of the cohort drew.")


class Phase(Noun):
    """A stretch of questions under one protocol."""

    id: str = Field(min_length=1, max_length=100, description="Name of the phase.")
    protocol: Kind = Field(description="How it asks.")
    criteria: tuple[str, ...] = Field(min_length=1, description="What it asks about, in this order.")
    together: bool = Field(False, description="All criteria on one screen, instead of one after the other.")
    view: tuple[Part, ...] | None = Field(None, description="Parts of the prompt shown; []: all. Absent: the cohort's.")
    rest_hours: float = Field(0, ge=0, le=24 * 365, description="Rest between the phase before and this one.")
    prompts: PromptSample = Field(PromptSample(), description="Which prompts.")
    design: PairDesign = Field(PairDesign(), description="compare: which pairs.")
    stop: Stop = Field(Stop(), description="When a question has enough answers.")
    questions_each: int | None = Field(None, ge=1, description="At most so many ordinary questions for one rater.")
    prompt_in_a_row: bool = Field(True, description="All questions about one prompt follow each other.")
    checks: Checks = Field(Checks(), description="Planted questions.")
    ties: bool = Field(True, description='compare, rank: "equally good" may be answered.')
    both_bad: bool = Field(False, description='compare: "both bad" may be answered; kept apart from ties.')
    rationale: Literal["none", "optional", "required"] = Field("none", description="A box for the reason.")
    ranking: Literal["merge", "drag"] = Field("merge", description="rank: pair by pair, or by dragging.")
    points: tuple[str, ...] = Field((), description="checklist: the points to answer yes or no.")
    grid: tuple[int, int] = Field((3, 3), description="regions: rows and columns of the grid.")

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.protocol == "checklist" and not self.points:
            raise ValueError("a checklist needs points")
        if len(set(self.points)) != len(self.points) or len(set(self.criteria)) != len(self.criteria):
            raise ValueError("each criterion and each point may stand once")
        if self.design.kind != "complete" and self.protocol != "compare":
            raise ValueError(f"only compare has a design of pairs, found protocol {self.protocol!r}")
        if self.stop.kind == "agreement" and self.protocol not in ("compare", "choose", "flag"):
            raise ValueError("stopping at an agreement needs compare, choose or flag")
        if self.design.kind == "adaptive" and self.stop.kind != "fixed":
            raise ValueError('an adaptive design needs stop.kind = "fixed": its budget is pairs x raters_each answers')
        if not all(1 <= side <= 20 for side in self.grid):
            raise ValueError("a grid has 1 to 20 rows and columns")
        return self

    @property
    def screens(self) -> tuple[tuple[str, ...], ...]:
        """The criteria on each screen: all at once, or one after the other."""
        return (self.criteria,) if self.together else tuple((criterion,) for criterion in self.criteria)

    @property
    def repeats(self) -> int:
        """Questions asked twice on each run through the phase."""
        default = 30 if self.protocol in TOGETHER else 10
        return default if self.checks.repeats is None else self.checks.repeats

    @property
    def gap(self) -> int:
        """Least questions between a question and its repeat."""
        default = 10 if self.protocol in TOGETHER else 5
        return default if self.checks.gap is None else self.checks.gap
