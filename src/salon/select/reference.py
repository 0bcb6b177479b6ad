"""A frozen reference: mean and standard deviation of every criterion over a stated set of items, kept in a file.

Scores of different scorers cannot be added as they stand. They can be once each is measured in standard deviations of
the same, stated set of items. The set is chosen once and its numbers are written down with a hash; the items that are
picked among never enter it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import BadValue, NotIdentified, TooFew, UnknownReference
from salon.select.sealed import Sealed, read_sealed
from salon.study.noun import Noun

FORMAT: Final = "salon.reference/1"
LEAST = 10
"""Items a mean and a standard deviation are made from; the sd of fewer is off by a quarter and more."""


FARTHEST = 1e60
"""Numbers beyond this, and units below its inverse, are refused: their squares must be numbers too."""


class Level(Noun):
    """Where one criterion's scores lie on the reference set."""

    criterion: str
    mean: float = Field(ge=-FARTHEST, le=FARTHEST)
    sd: float = Field(ge=1e-60, le=FARTHEST)
    n: int = Field(ge=2)
    missing: int = Field(0, ge=0, description="Items of the set without a score: left out.")
    signature: str = Field("", description="Of the scorer; scores of another one do not fit.")


class ScoreReference(Sealed):
    """Levels of several criteria over one set of items."""

    format: Literal["salon.reference/1"] = FORMAT
    name: str = Field(description="Of the set of items, in words.")
    data: str = Field("", description="Content hash of the set.")
    levels: tuple[Level, ...] = Field(min_length=1)

    def level(self, criterion: str, signature: str = "") -> Level:
        """The level of a criterion; refused where it is another scorer's."""
        found = next((one for one in self.levels if one.criterion == criterion), None)
        if found is None:
            raise UnknownReference(
                "a reference that knows the criterion is needed", found=f"none for {criterion!r}",
                where=f"reference {self.name}", remedy="it knows " + ", ".join(one.criterion for one in self.levels),
            )  # fmt: skip
        if signature and found.signature and signature != found.signature:
            raise BadValue(
                "a reference made with the same scorer is needed", found=signature,
                where=f"reference {self.name}, {criterion}, made with {found.signature}",
                remedy="make the reference again with this scorer",
            )  # fmt: skip
        return found


def make_reference(
    name: str,
    criteria: Sequence[str],
    values: NDArray[np.float64],
    *,
    signatures: Sequence[str] | None = None,
    data: str = "",
) -> ScoreReference:
    """The reference of `values` (items, criteria), NaN where an item has no score."""
    if values.ndim != 2 or values.shape[1] != len(criteria):
        raise BadValue("a table of items by criteria is needed", found=f"shape {values.shape} for {len(criteria)}")
    told = signatures or [""] * len(criteria)
    return ScoreReference(
        name=name,
        data=data,
        levels=tuple(_level(id, values[:, number], told[number]) for number, id in enumerate(criteria)),
    )


def _level(criterion: str, column: NDArray[np.float64], signature: str) -> Level:
    known = column[np.abs(column) <= FARTHEST]  # False for NaN
    if len(known) < LEAST:
        raise TooFew(
            f"at least {LEAST} scored items are needed for a reference", found=len(known), where=criterion,
            remedy="choose a larger set of items",
        )  # fmt: skip
    sd = float(known.std(ddof=1))
    if not (math.isfinite(sd) and sd > 1e-12 * max(1.0, float(np.abs(known).max()))):
        raise NotIdentified(
            "scores that differ are needed for a reference", found=f"{len(known)} equal to {known[0]:g}",
            where=criterion, remedy="leave this scorer out: it tells no item from another",
        )  # fmt: skip
    return Level(
        criterion=criterion, mean=float(known.mean()), sd=sd, n=len(known), missing=len(column) - len(known),
        signature=signature,
    )  # fmt: skip


def read_reference(path: Path) -> ScoreReference:
    """The reference in a file; BadFile where it is none, or was changed after it was written."""
    return read_sealed(
        ScoreReference, path, name="a reference", make="make one with salon select reference",
        changed="it was changed after it was written: make it again",
    )  # fmt: skip
