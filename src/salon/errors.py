"""Every error Salon raises on purpose.

    SalonError
    ├── InputError                 the user's data or flags; exit code 2
    │   ├── BadFile                unreadable, empty, wrong encoding, wrong format
    │   ├── BadColumns             a column is missing; lists those found and the nearest match
    │   ├── BadValue               NaN, inf, outside its scale, an unknown word
    │   ├── UnknownReference       a judgment names an item, rater, prompt or criterion that is not there
    │   ├── DuplicateJudgment      the same answer twice
    │   ├── ConflictingJudgment    one rater, one question, two different answers
    │   ├── WrongPrompt            items of different prompts compared although the study forbids it
    │   └── TiesNotAllowed         equal ranks where a strict order is needed
    ├── StatsError                 the data are fine but cannot answer the question
    │   ├── NotIdentified          no unique answer exists
    │   ├── NotConverged           the iteration stopped before its tolerance
    │   └── TooFew                 not enough raters, items or prompts
    ├── DesignError                the way the answers were collected forbids this analysis
    └── MissingExtra               an optional part is not installed

Each message answers four questions: what was needed, what was found, where, and what to do.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable
from typing import Any


class SalonError(Exception):
    """Root of the tree. `needed`, `found`, `where` and `remedy` are kept as attributes for machines."""

    exit_code = 2

    def __init__(
        self, needed: str, *, found: object = None, where: str | None = None, remedy: str | None = None
    ) -> None:
        self.needed = shorten(needed)
        self.found = None if found is None else shorten(str(found))
        self.where = None if where is None else shorten(where)
        self.remedy = remedy
        super().__init__(self.message())

    def message(self) -> str:
        """The four answers as one text, each absent part left out."""
        text = self.needed
        if self.found is not None:
            text += f"\n  found: {self.found}"
        if self.where:
            text += f"\n  where: {self.where}"
        if self.remedy:
            text += f"\n  do:    {self.remedy}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        """An error reaches another process as it was raised; subclasses differ in what makes them."""
        return _restore_error, (type(self), self.args, dict(self.__dict__))

    def as_json(self) -> dict[str, str | None]:
        """The one error shape for `--json` and HTTP."""
        return {
            "error": type(self).__name__,
            "needed": self.needed,
            "found": self.found,
            "where": self.where,
            "remedy": self.remedy,
        }


class InputError(SalonError):
    """The user's data or flags are wrong."""


class BadFile(InputError):
    """A file cannot be read as what it should be."""


class BadColumns(InputError):
    """A table lacks a column."""

    @classmethod
    def missing(cls, name: str, columns: Iterable[str], *, where: str, option: str | None = None) -> BadColumns:
        """The error for column `name` absent from `columns`, with the nearest match as remedy."""
        names = list(columns)
        near = difflib.get_close_matches(name.lower(), [c.lower() for c in names], n=1, cutoff=0.5)
        close = next((c for c in names if near and c.lower() == near[0]), None)
        remedy = None
        if option:
            remedy = f"name the column with {option} {shlex.quote(close) if close else 'COLUMN'}"
            remedy += "" if close is None else f" (nearest match to {name!r})"
        elif close:
            remedy = f"nearest match: {close!r}"
        return cls(
            f"a column named {shorten(name)!r} is needed",
            found="columns " + ", ".join(repr(shorten(c, 40)) for c in names[:20]) if names else "no columns",
            where=where,
            remedy=remedy,
        )


class BadValue(InputError):
    """A value is not a number, not finite, off its scale or not a known word."""


class UnknownReference(InputError):
    """A judgment names something the study does not hold."""


class DuplicateJudgment(InputError):
    """The same rater gave the same answer to the same question twice."""


class ConflictingJudgment(InputError):
    """The same rater gave two different answers to the same question."""


class WrongPrompt(InputError):
    """Items that the study does not allow to be compared were compared."""


class TiesNotAllowed(InputError):
    """Equal ranks where a strict order is needed."""


class StatsError(SalonError):
    """The data are well formed but cannot answer the question asked of them."""


class NotIdentified(StatsError):
    """No unique answer exists for these data."""


class NotConverged(StatsError):
    """An iteration stopped before it met its tolerance."""


class TooFew(StatsError):
    """Too few raters, items, prompts or answers."""


class DesignError(SalonError):
    """The way the answers were collected forbids this analysis."""


class MissingExtra(SalonError):
    """An optional part of Salon is not installed."""

    def __init__(self, extra: str) -> None:
        self.extra = extra
        super().__init__(
            f"the optional part {extra!r} is needed for this",
            found="not installed",
            remedy=f"pip install 'salon[{extra}]'",
        )


def _restore_error(kind: type[SalonError], args: tuple[Any, ...], attributes: dict[str, Any]) -> SalonError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(attributes)
    return error


def shorten(text: str, width: int = 300) -> str:
    """`text` cut to `width` characters with its true length, so that a huge cell never floods a message."""
    return text if len(text) <= width else f"{text[:width]}... ({len(text):,} characters)"
