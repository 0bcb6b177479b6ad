"""Scores of many items under several criteria, as the decisions of this stage take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from salon.errors import UnknownReference
from salon.select.weights import ScoreColumn

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreTable:
    """Items by criteria; NaN where there is no score, or where a scorer states no standard deviation."""

    items: tuple[str, ...]
    columns: tuple[ScoreColumn, ...]
    values: Floats
    """(items, criteria) as the scorers gave them."""
    sds: Floats
    """(items, criteria)."""
    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(item, criterion) without a score: why."""
    data: str = ""
    """Content hash of what was scored."""

    @property
    def criteria(self) -> tuple[str, ...]:
        """Ids of the columns."""
        return tuple(column.criterion for column in self.columns)

    def rows(self, items: Sequence[str]) -> tuple[Floats, Floats]:
        """Values and standard deviations of some items, in their order."""
        missing = [item for item in items if item not in self._places]
        if missing:
            raise UnknownReference("items that were scored are needed", found=repr(missing[0]))
        numbers = [self._places[item] for item in items]
        return self.values[numbers], self.sds[numbers]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {item: number for number, item in enumerate(self.items)}
