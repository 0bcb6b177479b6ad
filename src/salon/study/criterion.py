"""The quality being judged, with its rubric and scale."""

from __future__ import annotations

import math
import tomllib
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import Field, model_validator

from salon.errors import UnknownReference
from salon.study.noun import Noun
from salon.study.prompt import Part


class Scale(Noun):
    """The numbers a rating may take."""

    kind: Literal["interval", "ordinal"] = "interval"
    low: float
    high: float
    step: float | None = None
    """Distance between levels; None when any value between low and high is allowed."""
    labels: tuple[str, ...] = ()
    higher_is_better: bool = True

    @model_validator(mode="after")
    def _levels_make_sense(self) -> Scale:
        if not self.low < self.high:
            raise ValueError(f"a scale needs low < high, found {self.low} and {self.high}")
        if self.step is not None and self.step <= 0:
            raise ValueError(f"a scale's step must be positive, found {self.step}")
        if self.labels and len(self.labels) != len(self.levels):
            raise ValueError(f"{len(self.levels)} levels need as many labels, found {len(self.labels)}")
        return self

    @property
    def levels(self) -> tuple[float, ...]:
        """Every allowed value, or () on a continuous scale."""
        if self.step is None:
            return ()
        count = math.floor((self.high - self.low) / self.step + 1e-9) + 1
        return tuple(self.low + i * self.step for i in range(count))


MOST_FLAG_LEVELS = 10
"""A scale on which more is worse is that of a flag up to this many levels, unless the criterion says what it is."""


class Criterion(Noun):
    """One quality: what it is called, what raters are asked, how a close call is decided."""

    id: str = Field(min_length=1)
    name: str | None = None
    family: str | None = None
    question: str | None = None
    rate_question: str | None = None
    rubric: str | None = None
    paraphrases: tuple[str, ...] = ()
    view: tuple[Part, ...] = ()
    """Parts of the prompt that matter for this criterion; a cohort's own view goes first."""
    scale: Scale | None = None
    kind: Literal["ranking", "flag"] | None = None
    """Whether its answers order items or flag faults; None: by the scale, see `is_flag`."""

    @property
    def is_flag(self) -> bool:
        """Does it flag faults? Said by `kind`, else by the scale: a few levels, more is worse."""
        if self.kind is not None or self.scale is None:
            return self.kind == "flag"
        return not self.scale.higher_is_better and 2 <= len(self.scale.levels) <= MOST_FLAG_LEVELS

    @model_validator(mode="after")
    def _flags_have_levels(self) -> Criterion:
        if self.kind == "flag" and (self.scale is None or len(self.scale.levels) < 2 or self.scale.higher_is_better):
            raise ValueError("a flag needs a scale with a step, and higher_is_better = false")
        return self

    @property
    def title(self) -> str:
        """The name to print."""
        return self.name or self.id


@cache
def builtin_criteria() -> dict[str, Criterion]:
    """The criteria of the papers Salon builds on, in Salon's own words, by id."""
    text = resources.files("salon.study").joinpath("criteria.toml").read_text(encoding="utf-8")
    found = [Criterion.parse(record, where="criteria.toml") for record in tomllib.loads(text)["criterion"]]
    return {criterion.id: criterion for criterion in found}


def builtin_criterion(id: str) -> Criterion:
    """The built-in criterion `id`, or UnknownReference listing those there are."""
    criteria = builtin_criteria()
    if id not in criteria:
        raise UnknownReference(
            "the id of a built-in criterion is needed",
            found=repr(id),
            remedy="one of " + ", ".join(criteria),
        )
    return criteria[id]


def matching_criteria(pattern: str) -> list[Criterion]:
    """One built-in criterion, or all whose id starts with what stands before "..."; UnknownReference for none."""
    if not pattern.endswith("..."):
        return [builtin_criterion(pattern)]
    start = pattern.removesuffix("...")
    family = [criterion for id, criterion in builtin_criteria().items() if id.startswith(start)]
    return family or [builtin_criterion(pattern)]
