"""What one call gave: the record every figure about a judge is computed from.

A judge's answers live in `STUDY/judges/NAME/`: a study of its own (so `salon check` and `salon fuse` read it as they
read any other), with `verdicts.parquet`, one row a call and criterion, and `judge.json`, its settings and signature,
beside the tables.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study.judgment import Outcome
from salon.study.noun import Noun

Asked = Literal["compare", "rate", "checklist"]


class Verdict(Noun):
    """One answer of a judge to one question on one criterion, read or unread."""

    judge: str
    protocol: Asked
    criterion: str
    prompt: str | None = None
    a: str
    """The item; of a pair the one with the smaller id."""
    b: str | None = None
    left: Literal["a", "b"] | None = None
    """Which of the pair was shown first."""
    point: str | None = None
    """The point of a checklist that was asked about."""
    paraphrase: int | None = None
    """Number of the wording of the question."""
    sample: int = Field(default=0, ge=0)
    outcome: Outcome | None = None
    """Of a pair, by item and not by position."""
    value: float | None = None
    """Of a rating; of a checklist's point 1 for yes and 0 for no."""
    chance: float | None = None
    """Probability of `a` against `b` from the log-probabilities of the options, where they are known."""
    unparsed: str | None = None
    """Why no verdict could be read; None where one was. Never guessed."""
    failed: str | None = None
    """The kind of NoReply where there was no text at all."""
    text: str | None = None
    """What the judge said, as it said it."""
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    at: str | None = None
    """When the answer was given, UTC, ISO 8601; a run that finds it in the store keeps it."""
