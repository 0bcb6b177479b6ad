"""What a kernel gives back: frozen, with its error, its n and how it was made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval. `low` and `high` are None where n does not allow one (never a zero width)."""

    value: float
    low: float | None
    high: float | None
    n: int
    """How many independent units (prompts, pairs, raters: `unit` says which) it rests on."""
    unit: str
    level: float = 0.95
    method: str = ""
    """How the interval was made, e.g. 'bootstrap of prompts, 2000 draws'."""


@dataclass(frozen=True, slots=True)
class Test:
    """A hypothesis test: statistic, p value, and the law it was compared with."""

    __test__ = False  # not a pytest class

    name: str
    statistic: float
    p: float
    law: str
    """The null law in words, e.g. 'chi-square, 8 degrees of freedom'."""
    n: int
    unit: str
    p_naive: float | None = None
    """The p value the usual but wrong law gives, kept beside the right one where a paper used it."""
    p_opposite: float | None = None
    """Of a one-sided test: the p value of the other side."""
