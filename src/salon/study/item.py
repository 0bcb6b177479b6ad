"""One image, or anything else that can be preferred."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study.noun import Noun

Tier = Literal["high", "medium", "low"]
Source = Literal["generated", "photograph"]


class Item(Noun):
    """One image made for one prompt. Only the id is required: sushi have no image, paintings no prompt."""

    id: str = Field(min_length=1)
    prompt: str | None = None
    generator: str | None = None
    image: str | None = None
    """Path inside the study folder, or the content hash of a stored image."""
    category: str | None = None
    tier: Tier | None = None
    """Weak quality tier, where experts gave one."""
    source: Source | None = None
