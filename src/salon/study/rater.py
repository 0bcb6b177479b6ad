"""Who judges, and under which conditions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study.noun import Noun
from salon.study.prompt import Part

Protocol = Literal["compare", "rank", "rate", "flag", "checklist", "choose"]
RaterKind = Literal["person", "model", "crowd"]


class Rater(Noun):
    """A person or a model: both answer with the same judgments. Or a crowd: people the source cannot tell apart."""

    id: str = Field(min_length=1)
    kind: RaterKind = "person"
    """A crowd may answer a question many times, and no per-rater figure is ever made of it."""
    cohort: str | None = None


class Cohort(Noun):
    """Raters who answered under one protocol, seeing one view of the prompt."""

    id: str = Field(min_length=1)
    protocol: Protocol | None = None
    view: tuple[Part, ...] = ()
    note: str | None = None
