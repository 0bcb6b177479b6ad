"""Plain words for an accuracy that rests on too little, or is no better than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from salon.stats.result import Estimate

if TYPE_CHECKING:
    from salon.evaluate.validation import HeadFigures

FEW_PAIRS, FEW_PROMPTS = 30, 5
"""Fewer than these say nothing about a model."""


def validation_warnings(figures: Sequence[HeadFigures], *, chance: float = 0.5) -> list[str]:
    """Plain words where validation is too small to say anything, or says that nothing was learned."""
    if not figures or figures[0].accuracy is None:
        return ["no validation pair has a majority: nothing says what these weights are worth"] if figures else []
    found, pairs = figures[0].accuracy, figures[0].pairs
    if found.n == 1:
        few = [
            "validation holds one prompt, so its numbers have no interval and may be luck: more prompts, or a larger "
            "--validation"
        ]
    else:
        few = [f"validation: {words}" for words in few_warnings(pairs, found.n)]
    return [*few, *(f"validation: {words}" for words in chance_warnings(found, chance))]


def few_warnings(pairs: int, prompts: int) -> list[str]:
    """Too few pairs or prompts to tell a good model from a lucky one."""
    if pairs >= FEW_PAIRS and prompts >= FEW_PROMPTS:
        return []
    sizes = f"{pairs:,} pair{'s' * (pairs != 1)} of {prompts:,} prompt{'s' * (prompts != 1)}"
    return [f"{sizes} are too few to say how good a model is: {FEW_PAIRS} pairs of {FEW_PROMPTS} prompts are the least"]


def chance_warnings(accuracy: Estimate, chance: float = 0.5) -> list[str]:
    """An accuracy that cannot be told from chance, or is below it."""
    low, high = accuracy.low, accuracy.high
    if high is not None and high < chance:
        return [f"accuracy {accuracy.value:.3f} is below chance ({chance:g}): are answers or pictures swapped?"]
    if accuracy.value < chance:
        return [f"accuracy {accuracy.value:.3f} is below chance ({chance:g}): nothing shows that anything was learned"]
    if low is not None and high is not None and low <= chance:
        return [f"accuracy {low:.3f} to {high:.3f} spans chance ({chance:g}): it may be luck"]
    return []
