"""Everything a judge can be told, described once: flags, help, docs and signatures read it here."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from salon.judge.record import Asked
from salon.judge.vlm import Decoding
from salon.study.noun import Noun

Which = Literal["judged", "all"]
Words = Literal["pass-fail", "yes-no"]
ANSWERING, THINKING = 512, 2048
"""The longest answer in tokens, without and with reasoning before it."""


class JudgeSettings(Noun):
    """How `salon judge` asks."""

    protocol: Asked = Field(
        "compare",
        description="compare: which of two items is better, in both orders; rate: a number for each item; checklist: "
        "yes or no to each point.",
    )
    together: bool = Field(
        False, description="Ask about all criteria in one call; reasoning first, then one JSON object for all of them."
    )
    criterion: tuple[str, ...] = Field((), description="Only the criterion with this id (repeatable).")
    pairs: Which = Field(
        "judged", description="Compare the pairs that people judged, or all pairs within a prompt or category."
    )
    ties: bool = Field(False, description="Offer TIE beside A and B; with --together it is always offered.")
    words: Words = Field("pass-fail", description="The two answers to a point of a checklist.")
    samples: int = Field(1, ge=1, le=1000, description="Ask each question this often; the answers are kept apart.")
    temperature: float = Field(0.0, ge=0, le=10, description="0: the likeliest words, the same every time.")
    max_tokens: int | None = Field(
        None, ge=1, le=1_000_000, description="The longest answer, in tokens  [default: 512; 2048 with --together]"
    )
    cohort: str | None = Field(
        None, description="Show the prompt as this cohort saw it  [default: as the raters of each criterion did]"
    )
    limit: int | None = Field(
        None, ge=1, description="Only this many pairs (items, for rate and checklist); a larger number adds to them."
    )
    seed: int | None = Field(None, ge=0, lt=2**31, description="Seed of the sampling, where the model takes one.")

    @model_validator(mode="after")
    def _samples_differ(self) -> JudgeSettings:
        if self.samples > 1 and self.temperature == 0:
            raise ValueError("several samples need a temperature above 0: at 0 all of them are the same answer")
        if self.together and self.protocol == "checklist":
            raise ValueError("a checklist asks about one point at a time: leave together out")
        return self

    @property
    def decoding(self) -> Decoding:
        """How the VLM is to choose its words."""
        longest = self.max_tokens or (THINKING if self.together else ANSWERING)
        return Decoding(temperature=self.temperature, max_tokens=longest, seed=self.seed)

    @property
    def options(self) -> tuple[str, ...]:
        """The answers on the menu; none where a number is asked for."""
        if self.protocol == "compare":
            return ("A", "B", "TIE") if self.ties or self.together else ("A", "B")
        if self.protocol == "checklist":
            return ("PASS", "FAIL") if self.words == "pass-fail" else ("YES", "NO")
        return ()
