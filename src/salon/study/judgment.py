"""One answer of one rater. Five kinds, one set of optional facts on each."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from salon.study.noun import Noun

Outcome = Literal["a", "b", "tie", "both_bad"]
Left = Literal["a", "b", "unknown"]
Skipped = Literal["broken image", "cannot judge"]


class Judgment(Noun):
    """What all answers share. A skipped judgment has a reason and no answer."""

    criterion: str
    rater: str
    repeat: int = Field(default=0, ge=0, le=32_000)
    """0 for the first time a rater meets a question, 1 for its planted repeat, and so on."""
    rationale: str | None = None
    confidence: float | None = None
    seconds: float | None = Field(default=None, ge=0)
    at: str | None = None
    """When it was given, ISO 8601."""
    skipped: Skipped | None = None


class Comparison(Judgment):
    """Which of two items is better."""

    a: str
    b: str
    outcome: Outcome | None = None
    left: Left = "unknown"
    """Which item was shown on the left. Position bias is only ever computed where this is known."""

    @model_validator(mode="after")
    def _is_an_answer(self) -> Comparison:
        if self.a == self.b:
            raise ValueError("a comparison needs two different items")
        if (self.outcome is None) == (self.skipped is None):
            raise ValueError("a comparison has either an outcome or a reason why it was skipped")
        return self


class Ranking(Judgment):
    """An order of items, best first; equal ranks are ties. Items left out were not ranked."""

    items: tuple[str, ...]
    ranks: tuple[int, ...]
    """1 = best; one per item, never decreasing, equal for ties."""

    @model_validator(mode="after")
    def _is_an_order(self) -> Ranking:
        if len(self.items) != len(self.ranks):
            raise ValueError("a ranking needs one rank for each item")
        if len(set(self.items)) != len(self.items):
            raise ValueError("a ranking names an item twice")
        if any(later < earlier for earlier, later in zip(self.ranks, self.ranks[1:])):
            raise ValueError("a ranking lists items best first: ranks may not decrease")
        if any(rank < 1 for rank in self.ranks):
            raise ValueError("ranks start at 1 (best)")
        if (not self.items) == (self.skipped is None):
            raise ValueError("a ranking has either items or a reason why it was skipped")
        return self

    @property
    def strict(self) -> bool:
        """True when no two items share a rank."""
        return len(set(self.ranks)) == len(self.ranks)


class Rating(Judgment):
    """A number for one item on the criterion's scale. A flag is a rating on an ordinal scale."""

    item: str
    value: float | None = None

    @model_validator(mode="after")
    def _is_an_answer(self) -> Rating:
        if (self.value is None) == (self.skipped is None):
            raise ValueError("a rating has either a value or a reason why it was skipped")
        return self


class Checklist(Judgment):
    """Yes or no to each of several named points about one item; None where a point was not answered."""

    item: str
    points: tuple[str, ...]
    answers: tuple[bool | None, ...]

    @model_validator(mode="after")
    def _is_an_answer(self) -> Checklist:
        if len(self.points) != len(self.answers):
            raise ValueError("a checklist needs one answer (or null) for each point")
        if len(set(self.points)) != len(self.points):
            raise ValueError("a checklist names a point twice")
        if (not self.points) == (self.skipped is None):
            raise ValueError("a checklist has either points or a reason why it was skipped")
        return self


class Choice(Judgment):
    """The best one of n items."""

    items: tuple[str, ...]
    chosen: str | None = None

    @model_validator(mode="after")
    def _is_an_answer(self) -> Choice:
        if len(set(self.items)) != len(self.items) or len(self.items) < 2:
            raise ValueError("a choice needs at least two different items")
        if (self.chosen is None) == (self.skipped is None):
            raise ValueError("a choice has either a chosen item or a reason why it was skipped")
        if self.chosen is not None and self.chosen not in self.items:
            raise ValueError("the chosen item must be one of those shown")
        return self
