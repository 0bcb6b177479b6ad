"""The interface of what gives numbers to items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from salon.study.item import Item
from salon.study.noun import Noun
from salon.study.prompt import Part, Prompt
from salon.study.signature import Signature


class ScorerCard(Noun):
    """What one has to know before using a scorer's numbers."""

    reads: Literal["image", "image and prompt", "prompt"] = "image"
    view: tuple[Part, ...] = ()
    """Parts of the prompt it is given; all of them when none are named."""
    higher_is_better: bool = True
    low: float | None = None
    high: float | None = None
    is_logit: bool = False
    """Whether the logistic function of a difference of two scores is a probability."""
    transform: str | None = None
    """What was done to the network's own number, in words or as a formula."""
    measures: str = ""
    """One sentence."""
    licence: str = ""
    """Of weights and method."""
    source: str = ""
    notes: tuple[str, ...] = ()
    """What users of the numbers must know beyond that, a sentence each."""
    criterion: str | None = None
    """Id of the one criterion it speaks about; None where it was made for none in particular."""


@runtime_checkable
class RewardFunction(Protocol):
    """A function as trainers call it; wherever a scorer is named, a plugin of this form is one too."""

    def __call__(self, pictures: Sequence[Any], prompts: Sequence[str]) -> Sequence[float | None]:
        """One number for each picture (of Pillow) and its prompt, higher being better; None where it has none."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """Anything that gives numbers to items."""

    name: str
    signature: Signature

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """One number per item, None where it could not be scored (never a made-up value)."""
        ...
