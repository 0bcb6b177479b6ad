"""Fused values with errors on a named scale."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from salon.study.noun import Noun
from salon.study.signature import Signature


class Score(Noun):
    """One value for one item or generator under one criterion."""

    of: str
    criterion: str
    group: str | None = None
    """The prompt, category or study whose items share one scale with it."""
    value: float
    error: float | None = None
    """Standard error; None where the data do not allow one."""
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """How many judgments it rests on."""


class Scores(Noun):
    """Scores on one scale, with the line that reproduces them."""

    scale: str
    """Named in words: 'logit', 'elo', '1-5'."""
    by: Literal["item", "generator"] = "item"
    values: tuple[Score, ...]
    signature: Signature

    @model_validator(mode="after")
    def _each_once(self) -> Scores:
        keys = [(score.of, score.criterion, score.group) for score in self.values]
        if len(set(keys)) != len(keys):
            raise ValueError("scores hold one value for each item (or generator), criterion and group")
        return self
