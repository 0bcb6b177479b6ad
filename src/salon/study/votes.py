"""Votes on pairs: who preferred which of two items, from comparisons, rankings and, if asked for, ratings.

A rater has one vote on a pair under a criterion. If they judged it more than once, the most direct judgment counts: a
comparison before a ranking, a ranking before two ratings; the rest are counted in `twice`. A crowd is many people: all
its answers count. Repeats planted to measure raters (repeat > 0) are not second votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue
from salon.study.nouns import Choice, Comparison, Judgment, Rating
from salon.study.study import Study

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Outcomes = NDArray[np.int8]
Bools = NDArray[np.bool_]

TIE, BOTH_BAD = 2, 3


@dataclass(frozen=True)
class Votes:
    """One entry per vote; a stands before b in the study's list of items."""

    criterion: Ints
    rater: Ints
    a: Ints
    b: Ints
    outcome: Outcomes
    """0 a is better, 1 b is better, 2 tie, 3 both bad."""
    twice: int = 0
    """Votes left out because the same rater judged the pair more directly."""

    def __len__(self) -> int:
        return len(self.rater)


def study_votes(
    study: Study, criteria: Sequence[int], *, rating_pairs: bool = False, items: Bools | None = None
) -> Votes:
    """All votes under these criteria; with `rating_pairs` also those that a rater's ratings of a group imply, of these
    `items` (default: all)."""
    parts = [_votes_from_comparisons(study, criteria), _votes_from_rankings(study, criteria)]
    if rating_pairs:
        parts.append(_votes_from_ratings(study, criteria, items))
    columns = [np.concatenate(column) for column in zip(*parts)]
    criterion, rater, a, b, outcome = columns
    turned = a > b
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    outcome = np.where(turned & (outcome < TIE), 1 - outcome, outcome).astype(np.int8)
    chosen = _one_vote_each(study, criterion, rater, a, b)
    return Votes(
        criterion[chosen], rater[chosen], a[chosen], b[chosen], outcome[chosen], twice=len(rater) - len(chosen)
    )


def pair_votes(study: Study, criterion: int, among: Bools | None = None, *, items: Bools | None = None) -> Votes:
    """The votes that accuracies and ceilings of a criterion count: comparisons and rankings of the raters `among` whom
    to look (default: all), and where they gave neither, what their ratings of a group (of `items` of it) imply."""
    votes = _of_raters(study_votes(study, [criterion]), among)
    return votes if len(votes) else _of_raters(study_votes(study, [criterion], rating_pairs=True, items=items), among)


def _of_raters(votes: Votes, among: Bools | None) -> Votes:
    if among is None:
        return votes
    of = among[votes.rater]
    return Votes(votes.criterion[of], votes.rater[of], votes.a[of], votes.b[of], votes.outcome[of], twice=votes.twice)


def _first_answers(view: Any, criteria: Sequence[int]) -> Bools:
    mask: Bools = np.isin(view.criterion, criteria) & (view.repeat == 0)
    return mask


def _votes_from_comparisons(study: Study, criteria: Sequence[int]) -> tuple[NDArray[Any], ...]:
    view = study.comparisons
    rows = np.flatnonzero(_first_answers(view, criteria))
    return view.criterion[rows], view.rater[rows], view.a[rows], view.b[rows], view.outcome[rows]


def _votes_from_rankings(study: Study, criteria: Sequence[int]) -> tuple[NDArray[Any], ...]:
    view = study.rankings
    rows = np.flatnonzero(_first_answers(view, criteria))
    row, a, b, outcome = _pairs_of(view.offsets[rows], view.offsets[rows + 1], view.items, view.ranks)
    return view.criterion[rows][row], view.rater[rows][row], a, b, outcome


def _votes_from_ratings(study: Study, criteria: Sequence[int], items: Bools | None) -> tuple[NDArray[Any], ...]:
    """Ratings of one group by one rater are an order of its items; a crowd's are of many people and are none."""
    view = study.ratings
    rows = np.flatnonzero(_first_answers(view, criteria) & (view.group >= 0) & ~study.crowds[view.rater])
    rows = rows if items is None else rows[items[view.item[rows]]]
    rows = rows[np.lexsort((view.rater[rows], view.group[rows], view.criterion[rows]))]
    who = np.stack([view.criterion[rows], view.group[rows], view.rater[rows]])
    starts = np.flatnonzero(np.append(True, (who[:, 1:] != who[:, :-1]).any(axis=0))[: len(rows)])
    down = [scale is None or scale.higher_is_better for scale in (criterion.scale for criterion in study.criteria)]
    rank = np.where(np.array(down)[view.criterion[rows]], -view.value[rows], view.value[rows])
    row, a, b, outcome = _pairs_of(starts, np.append(starts, len(rows))[1:], view.item[rows], rank)
    return who[0][starts][row], who[2][starts][row], a, b, outcome


def _pairs_of(
    starts: Longs, ends: Longs, items: Ints, ranks: NDArray[Any]
) -> tuple[Longs, NDArray[Any], NDArray[Any], Outcomes]:
    """All pairs of each order: its number, the two items, and the outcome (lower rank = better, equal = tie)."""
    sizes = ends - starts
    parts = []
    for size in np.unique(sizes[sizes > 1]).tolist():
        orders = np.flatnonzero(sizes == size)
        first, second = np.triu_indices(size, 1)
        here, there = starts[orders][:, None] + first, starts[orders][:, None] + second
        outcome = np.where(ranks[here] == ranks[there], TIE, ranks[here] > ranks[there])
        parts.append((np.repeat(orders, len(first)), items[here].ravel(), items[there].ravel(), outcome.ravel()))
    if not parts:
        empty = np.zeros(0, np.int32)
        return empty.astype(np.int64), empty, empty, empty.astype(np.int8)
    row, a, b, outcome = (np.concatenate(column) for column in zip(*parts))
    return row, a, b, outcome.astype(np.int8)


def _one_vote_each(study: Study, criterion: Ints, rater: Ints, a: Ints, b: Ints) -> Longs:
    """Rows to keep, in order: the first vote of each rater on each pair, and every vote of a crowd."""
    items, raters = len(study.item_groups), len(study.crowds)
    _, pair = np.unique(a.astype(np.int64) * items + b, return_inverse=True)
    key = (pair * raters + rater) * len(study.criteria) + criterion
    crowd = study.crowds[rater]
    persons = np.flatnonzero(~crowd)
    _, first = np.unique(key[persons], return_index=True)
    return np.sort(np.concatenate([persons[first], np.flatnonzero(crowd)]))


# -- splits ------------------------------------------------------------------------------------------------------------

SPLITS = ("train", "validation", "test")


def check_shares(shares: tuple[float, float, float]) -> None:
    """BadValue unless the shares of train, validation and test make a whole."""
    if abs(sum(shares) - 1) > 1e-9:
        total = " + ".join(f"{share:g}" for share in shares) + f" = {sum(shares):g}"
        raise BadValue("--train, --validation and --test must sum to 1", found=total)


def vote_word(judgment: Judgment) -> str | None:
    """What a judgment says, as a word to count by; None for rankings and checklists, which say too much for one."""
    if isinstance(judgment, Comparison):
        return {"a": judgment.a, "b": judgment.b}.get(str(judgment.outcome), judgment.outcome)
    if isinstance(judgment, Choice):
        return judgment.chosen
    return f"{judgment.value:g}" if isinstance(judgment, Rating) and judgment.value is not None else None
