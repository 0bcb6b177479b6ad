"""What a kernel gives back: frozen, with its error, its n and how it was made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, dataclass_transform

R = TypeVar("R")

CHECKED = {"extra": "forbid", "allow_inf_nan": False, "revalidate_instances": "always"}
"""Of a result that a report holds as it is: there it is checked like every field; a number must be finite."""


def described(
    description: str, *, title: str | None = None, kind: str | None = None, decimals: int | None = None, **default: Any
) -> Any:
    """A field of a result that reports hold as it is: its description, and its header and format in tables."""
    metadata: dict[str, Any] = {"description": description}
    if title is not None:
        metadata["title"] = title
    if kind is not None:
        metadata["format"] = (kind, decimals)
    return field(metadata=metadata, **default)


@dataclass_transform(frozen_default=True, field_specifiers=(described,))
def result(cls: type[R]) -> type[R]:
    """A kernel's result that reports hold as it is: a frozen dataclass that is checked there like every field."""
    cls.__pydantic_config__ = CHECKED  # type: ignore[attr-defined]  # read by pydantic
    return dataclass(frozen=True, slots=True)(cls)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval. `low` and `high` are None where n does not allow one (never a zero width).

    Reports hold it as it is; there it is checked like every field, and a number that is not finite is refused.
    """

    __pydantic_config__ = CHECKED

    value: float
    """The estimate."""
    low: float | None
    """Lower end of its interval; null where n does not allow one."""
    high: float | None
    """Upper end of its interval."""
    n: int
    """How many independent units (prompts, pairs, raters: `unit` says which) it rests on."""
    unit: str
    """What n counts."""
    level: float = 0.95
    """Confidence level of the interval."""
    method: str = ""
    """How the interval was made, e.g. 'bootstrap of prompts, 2000 draws'."""

    def transform(self, function: Callable[[float], float]) -> Estimate:
        """The estimate of a rising or falling function of the number."""
        ends = [None if end is None else function(end) for end in (self.low, self.high)]
        if None not in ends and ends[0] > ends[1]:  # type: ignore[operator]  # neither is None
            ends.reverse()
        return replace(self, value=function(self.value), low=ends[0], high=ends[1])


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
