"""Who judges, and under which conditions."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
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


def told_of_models(models: NDArray[np.bool_]) -> list[str]:
    """What a report must say where some of its raters, or all, are models."""
    if not models.any():
        return []
    if models.all():
        return [f"all {len(models)} raters are models: no person gave these answers"]
    return [
        f"{int(models.sum())} of {len(models)} raters are models, whose answers count here as those of people do: "
        "salon judge report tells them apart"
    ]
