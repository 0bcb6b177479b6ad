"""Everything a run of generators can be told, described once: flags, help, docs and signatures read it here."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from salon.study.noun import Noun

SMALLEST, LARGEST = 16, 8192
MOST_SEEDS = 10_000


class GenerateSettings(Noun):
    """How `salon generate` works."""

    seeds: int = Field(1, ge=1, le=MOST_SEEDS, description="Pictures of each prompt by each generator.")
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of the first picture; the others count up from it.")
    size: str | None = Field(
        None, description="Width and height in pixels, such as 1024x1448  [default: the generator's own]"
    )
    strength: float | None = Field(
        None, gt=0, le=1, description="With --image: how far to leave it, up to 1  [default: the generator's own]"
    )
    retry: bool = Field(True, description="Try again what failed in an earlier run.")

    @field_validator("size")
    @classmethod
    def _size_is_width_by_height(cls, size: str | None) -> str | None:
        if size is None:
            return None
        found = re.fullmatch(r"(\d{1,5})\s*[x×]\s*(\d{1,5})", size.strip(), re.IGNORECASE | re.ASCII)
        if not found:
            raise ValueError("width x height is needed, such as 1024x1448")
        if not all(SMALLEST <= int(side) <= LARGEST for side in found.groups()):
            raise ValueError(f"each side needs {SMALLEST} to {LARGEST} pixels")
        return f"{int(found[1])}x{int(found[2])}"

    @property
    def width_height(self) -> tuple[int, int] | None:
        """The size as two numbers."""
        if self.size is None:
            return None
        width, height = self.size.split("x")
        return int(width), int(height)
