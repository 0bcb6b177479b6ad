"""Everything a judge report can be told, described once: flags, help, docs and signatures read it here."""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np
from pydantic import Field

from salon.study.noun import Noun


class ReportSettings(Noun):
    """How `salon judge report` works."""

    missing: Literal["unparsed", "not-asked"] = Field(
        "unparsed",
        description="What an absent answer of a judge among the raters, or of a table of scores, means: files do not "
        "tell the two apart. unparsed counts 0; not-asked leaves the denominator.",
    )
    draws: int = Field(2000, ge=100, le=100_000, description="Bootstrap draws of prompts behind every interval.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    deals: int = Field(999, ge=99, le=100_000, description="Deals of wordings behind the paraphrase test.")
    worst: int = Field(12, ge=0, le=200, description="Worst disagreements to list for each judge.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")

    def rng(self, name: str) -> np.random.Generator:
        """Draws of their own for everything with a name: a judge's figures do not hang on the judges beside it."""
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return np.random.default_rng([self.seed, int.from_bytes(digest, "big")])
