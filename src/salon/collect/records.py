"""What quality control looks at: every answer of every rater as plain rows.

Answers about several items become pairs (a ranking of p items is p (p - 1) / 2 of them, a choice the chosen item
against each other one); answers about one item become values. Rows of one screen share its number, because answers
given together are not independent evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from salon.collect.question import Shown, Why
from salon.study import Choice, Comparison, Judgment, Ranking, Rating


@dataclass(frozen=True, slots=True)
class PairRow:
    """One rater's answer about two items under one criterion."""

    rater: str
    screen: int
    why: Why
    criterion: str
    low: str
    """The items in the order of their ids, so that the same pair is the same for everyone."""
    high: str
    outcome: int
    """1 low is better, -1 high is better, 0 neither."""
    left: int | None = None
    """1 the left one was preferred, -1 the right one, 0 neither; None where the items did not stand side by side."""


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One rater's value for one item under one criterion."""

    rater: str
    screen: int
    why: Why
    criterion: str
    item: str
    value: float
    step: float = 1.0
    """Distance of two levels of the scale."""


@dataclass(frozen=True, slots=True)
class ScreenRow:
    """One answered screen."""

    rater: str
    screen: int
    why: Why
    seconds: float
    least: float
    """Least seconds the server asks for on such a screen."""
    right: bool | None = None
    """Whether a known answer was hit."""


@dataclass(frozen=True)
class Records:
    """All answers of a studio, or of one phase."""

    screens: tuple[ScreenRow, ...]
    pairs: tuple[PairRow, ...] = ()
    values: tuple[ValueRow, ...] = ()


def rows_of(
    shown: Shown, judgments: Iterable[Judgment], screen: int, *, step: float = 1.0
) -> Iterator[PairRow | ValueRow]:
    """The rows of one answered screen; nothing for what was skipped, and for checklists."""
    why = shown.question.why
    for judgment in judgments:
        if judgment.skipped is not None:
            continue
        if isinstance(judgment, Rating) and judgment.value is not None:
            yield ValueRow(judgment.rater, screen, why, judgment.criterion, judgment.item, judgment.value, step)
        elif isinstance(judgment, Comparison):
            won = {"a": 1, "b": -1}.get(str(judgment.outcome), 0)
            left = won if judgment.left == "a" else -won
            yield _pair(judgment, screen, why, judgment.a, judgment.b, won, left)
        else:
            for a, b, won in _beaten(judgment):
                yield _pair(judgment, screen, why, a, b, won, None)


def _pair(judgment: Judgment, screen: int, why: Why, a: str, b: str, won: int, left: int | None) -> PairRow:
    low, high = sorted((a, b))
    return PairRow(judgment.rater, screen, why, judgment.criterion, low, high, won if low == a else -won, left)


def _beaten(judgment: Judgment) -> Iterator[tuple[str, str, int]]:
    """(better, worse, 1), or 0 where two items share a rank."""
    if isinstance(judgment, Ranking):
        ranked = list(zip(judgment.items, judgment.ranks))
        for (a, high), (b, low) in combinations(ranked, 2):
            yield a, b, int(high < low)
    elif isinstance(judgment, Choice) and judgment.chosen is not None:
        for other in judgment.items:
            if other != judgment.chosen:
                yield judgment.chosen, other, 1
