"""What a run of generators reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from salon.generate.record import Generation
from salon.study.noun import Noun

FORMAT: Final = "salon-generate-1"
GONE = "its picture is gone, and another one may not take its place: the item was judged"


class Failure(Noun):
    """A picture that was wanted and is not there."""

    item: str = Field(description="Id the item would have.")
    prompt: str = Field(description="Id of the prompt.")
    generator: str = Field(description="Name of the generator.")
    seed: int = Field(description="Seed of the ask.")
    kind: str = Field(description="A word to count by: refused, broken-image, timeout, budget, missing, error.")
    reason: str = Field(description="Why, in one sentence.")

    @classmethod
    def of(cls, line: Generation) -> Failure:
        """The failure that a line of the record tells."""
        names = ("item", "prompt", "generator", "seed")
        told = {name: getattr(line, name) for name in names}
        if line.ok:
            return cls(**told, kind="gone", reason=GONE)
        return cls(**told, kind=line.kind or "error", reason=line.reason or "no reason was given")


class GeneratorRun(Noun):
    """What one generator did."""

    generator: str = Field(description="Name of the generator.")
    signature: str = Field(description="What would have to be equal for the same pictures.")
    wanted: int = Field(description="Pictures asked of it.")
    made: int = Field(description="Pictures made in this run.")
    reused: int = Field(description="Pictures that were there already.")
    failed: int = Field(description="Pictures that are not there.")


class GenerateReport(Noun):
    """What a run did, and what is there after it."""

    format: Literal["salon-generate-1"] = Field(FORMAT, description="Name and version of this shape.")
    study: str = Field(description="The study folder.")
    wanted: int = Field(description="Prompts x generators x seeds.")
    made: int = Field(description="Pictures made in this run.")
    reused: int = Field(description="Pictures that were there already.")
    failed: int = Field(description="Pictures that are not there.")
    cost: float | None = Field(description="What the generators said the run has cost, in their price file's currency.")
    seconds: float = Field(description="How long the run took.")
    generators: tuple[GeneratorRun, ...] = Field(description="The same for each generator.")
    failures: tuple[Failure, ...] = Field(description="Every picture that is not there, and why.")
    notes: tuple[str, ...] = Field(description="What else should be known.")

    @property
    def is_complete(self) -> bool:
        """Is every wanted picture there?"""
        return self.made + self.reused == self.wanted

    def kinds(self) -> list[tuple[str, int]]:
        """Failures by kind, the most frequent first."""
        return Counter(failure.kind for failure in self.failures).most_common()


@dataclass(frozen=True)
class Progress:
    """How far a run has come; given to its callback after every picture."""

    wanted: int
    made: int = 0
    reused: int = 0
    failed: int = 0
    cost: float | None = None
    last: Generation | None = None

    @property
    def done(self) -> int:
        """Pictures whose fate is known."""
        return self.made + self.reused + self.failed
