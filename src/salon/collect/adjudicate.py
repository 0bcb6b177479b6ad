"""Disagreements for an adjudicator to settle or drop, and agreement before and after.

A ruling never changes what raters said. It gives a disputed question a final answer, or takes an item out of the study.
Agreement is told in two ways: Fleiss' kappa of the raters among themselves (dropped items left out afterwards), and the
share of their answers that equal the final one (the majority before, the ruling where there is one after).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from salon.collect.tally import vote_of
from salon.errors import StatsError
from salon.stats.result import Estimate
from salon.study import Checklist, Choice, Comparison, Judgment, Ranking, Rating

Asked = tuple[str, tuple[str, ...]]
"""A criterion and the items asked about, in the order of their ids."""


@dataclass(frozen=True)
class Disagreement:
    """A question on which raters are split."""

    criterion: str
    items: tuple[str, ...]
    votes: dict[str, int]
    """Answer: how often. A winning item by id, "tie", "both_bad", or a value."""
    share: float
    """Share of the commonest answer."""


@dataclass(frozen=True)
class Ruling:
    """What an adjudicator decided: a final answer (as in `Disagreement.votes`), or that the items leave the study."""

    criterion: str
    items: tuple[str, ...]
    answer: str | None
    """None: dropped."""


@dataclass(frozen=True)
class Agreement:
    """How well raters agree on one criterion."""

    criterion: str
    questions: int
    answers: int
    kappa: Estimate | None
    """None where it is not defined: one rater only, or one answer only."""
    with_final: float
    """Share of answers that equal the final one; a question without a majority counts with its largest side."""


def disagreements(judgments: Iterable[Judgment], *, least_raters: int = 2, below: float = 0.8) -> list[Disagreement]:
    """Questions with enough raters of whom fewer than a share `below` agree, the most disputed first."""
    found = []
    for (criterion, items), votes in _votes(judgments).items():
        share = max(votes.values()) / votes.total()
        if votes.total() >= least_raters and share < below:
            found.append(Disagreement(criterion, items, dict(votes.most_common()), share))
    return sorted(found, key=lambda one: (one.share, -sum(one.votes.values()), one.criterion, one.items))


def agreement(judgments: Iterable[Judgment], rulings: Sequence[Ruling] = ()) -> list[Agreement]:
    """One row for each criterion; with `rulings`, as it stands after them."""
    dropped = {item for ruling in rulings if ruling.answer is None for item in ruling.items}
    final = {_key(ruling): ruling.answer for ruling in rulings if ruling.answer is not None}
    by_criterion: dict[str, dict[Asked, Counter[str]]] = defaultdict(dict)
    for asked, votes in _votes(judgments).items():
        if not dropped.intersection(asked[1]):
            by_criterion[asked[0]][asked] = votes
    return [_row(criterion, asked, final) for criterion, asked in by_criterion.items()]


def _key(ruling: Ruling) -> Asked:
    return ruling.criterion, tuple(sorted(ruling.items))


def _row(criterion: str, asked: dict[Asked, Counter[str]], final: dict[Asked, str]) -> Agreement:
    answers = sum(votes.total() for votes in asked.values())
    hits = sum(votes[final[key]] if key in final else max(votes.values()) for key, votes in asked.items())
    return Agreement(criterion, len(asked), answers, _kappa(asked), hits / answers)


def _kappa(asked: dict[Asked, Counter[str]]) -> Estimate | None:
    """Answers are told apart by what they say: a value, or the place of the winner among the items' ids."""
    rows = [
        {str(key[1].index(vote)) if vote in key[1] else vote: n for vote, n in votes.items()}
        for key, votes in asked.items()
        if votes.total() > 1
    ]
    if not rows:
        return None
    from salon.stats.agreement import fleiss_kappa

    options = sorted({option for row in rows for option in row})
    counts = np.array([[row.get(option, 0) for option in options] for row in rows])
    try:
        return fleiss_kappa(counts).kappa
    except StatsError:
        return None


def _votes(judgments: Iterable[Judgment]) -> dict[Asked, Counter[str]]:
    """First answers only: a repeat tells about the rater."""
    found: dict[Asked, Counter[str]] = defaultdict(Counter)
    for judgment in judgments:
        vote = vote_of(judgment)
        if vote is not None and judgment.skipped is None and judgment.repeat == 0:
            found[judgment.criterion, _items(judgment)][vote] += 1
    return found


def _items(judgment: Judgment) -> tuple[str, ...]:
    if isinstance(judgment, Comparison):
        return tuple(sorted((judgment.a, judgment.b)))
    if isinstance(judgment, Choice | Ranking):
        return tuple(sorted(judgment.items))
    return (judgment.item,) if isinstance(judgment, Rating | Checklist) else ()
