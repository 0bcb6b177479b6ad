"""An estimate as a part of a report's JSON: the number, its interval, and how both were made."""

from __future__ import annotations

from salon.stats.result import Estimate
from salon.study.noun import Noun


class Figure(Noun):
    """A number with its interval."""

    value: float
    low: float | None
    high: float | None
    n: int
    unit: str
    level: float
    method: str

    @classmethod
    def of(cls, estimate: Estimate) -> Figure:
        """A kernel's estimate as part of a report."""
        return cls(**{name: getattr(estimate, name) for name in cls.model_fields})

    @classmethod
    def maybe(cls, estimate: Estimate | None) -> Figure | None:
        """The same, None where there is none."""
        return None if estimate is None else cls.of(estimate)
