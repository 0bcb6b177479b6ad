"""What a run of a suite reports: entry by entry, judge by judge, and why something is still open."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study.noun import Noun


class RoleRun(Noun):
    """What one judge did for one entry."""

    role: str = Field(description="Name of the judge in the suite's routes.")
    questions: int = Field(description="Points of pictures it was to answer.")
    stored: int = Field(description="Of these, answered before: they cost nothing in this run.")
    unread: int = Field(description="Answers that cannot be read: they count as failures.")
    failed: dict[str, int] = Field(description="Questions without an answer, by kind.")
    cost: float | None = Field(description="Of all answers, by the price list; null without a price.")
    signature: str


class EntryRun(Noun):
    """What was done for one entry, and what it is worth now."""

    entry: str
    made: int = Field(default=0, description="Pictures made in this run.")
    missing: dict[str, int] = Field(default_factory=dict, description="Pictures that are not there, by kind.")
    judges: tuple[RoleRun, ...] = ()
    status: Literal["published", "provisional", "retracted"]
    before: bool = Field(default=False, description="True where it was published before this run, and is as it was.")
    open: tuple[str, ...] = Field(default=(), description="Why it is provisional, a sentence each.")


class SuiteRun(Noun):
    """What a run did."""

    format: Literal["salon.run/1"] = "salon.run/1"
    board: str
    suite: str = Field(description="Name and version of the suite.")
    suite_hash: str
    entries: tuple[EntryRun, ...]
    cost: float | None = Field(description="Of all judges' answers, by the price list; null without a price.")
    stopped: dict[str, str] = Field(description="Judges that could not go on, and why.")
    seconds: float

    @property
    def is_complete(self) -> bool:
        """Whether everything that was to be finished is published."""
        return all(entry.status != "provisional" for entry in self.entries)
