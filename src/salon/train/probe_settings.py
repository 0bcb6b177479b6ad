"""Settings of `salon train probe`."""

from __future__ import annotations

from pydantic import Field

from salon.study import Noun


class ProbeSettings(Noun):
    """How `salon train probe` works."""

    items: int = Field(100, ge=2, description="Most items to alter; whole prompts, drawn by --seed.")
    margin: float = Field(0.1, gt=0, description="Largest mean change that counts as none, in spreads of a prompt.")
    level: float = Field(0.95, gt=0, lt=1, description="Level at which the intervals of one alteration hold together.")
    draws: int = Field(2000, ge=100, description="Times the prompts are drawn again for an interval.")
    seed: int = Field(0, ge=0, description="Seed of the items, the grain and the intervals.")
