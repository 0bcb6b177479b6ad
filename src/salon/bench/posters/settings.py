"""How posters are scored, and what the flags of their commands allow."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study import Noun

Convention = Literal["share", "percent", "thousand", "pixel"]


class PosterScoreSettings(Noun):
    """How responses are scored."""

    boxes: Convention = Field(
        "share", description="How boxes are written in responses: 0-1, 0-100, 0-1000, or pixels of the picture."
    )
    shown_pixels: int | None = Field(
        None,
        ge=64,
        description="Most pixels of the pictures that were shown; larger ones were made smaller, and boxes in pixels "
        "refer to those  [default: what the run says, or pictures as they are]",
    )
    level: float = Field(0.95, gt=0, lt=1, description="Level of the intervals.")
    draws: int = Field(2000, ge=100, description="Times the items are drawn again for an interval.")
    seed: int = Field(0, ge=0, description="Seed of the intervals.")


MAX_TOKENS = 5000
"""Most tokens of an answer, as in the released runner: models that think need them."""
