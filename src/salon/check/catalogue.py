"""Ratings of a whole catalogue make more votes on pairs than can be compared: then items are drawn, and that is said.

A rater of 2,000 films orders two million pairs of them. Films are drawn at random, before anyone looks at a rating, and
all ratings of these films count: two votes on a pair agree as often among them as among all.
"""

from __future__ import annotations

import numpy as np

from salon.check.settings import CheckSettings
from salon.errors import StatsError
from salon.stats.ceilings import VoteTable, vote_table
from salon.study import Study
from salon.study.votes import TIE, Bools, Votes, pair_votes


def catalogue_votes(study: Study, criterion: int, settings: CheckSettings) -> Votes:
    """The votes on pairs of a criterion, of the items drawn where all would be too many."""
    return pair_votes(study, criterion, items=drawn_items(study, criterion, settings))


def catalogue_table(study: Study, number: int, settings: CheckSettings, *, by_pair: bool = False) -> VoteTable | None:
    """All votes on pairs under a criterion, by prompt or each pair for itself; None where no pair has two."""
    votes = catalogue_votes(study, number, settings)
    pair, at = np.unique(votes.a.astype(np.int64) * len(study.item_groups) + votes.b, return_inverse=True)
    first, decided = (np.bincount(at[rows], minlength=len(pair)) for rows in (votes.outcome == 0, votes.outcome < TIE))
    try:
        if by_pair:
            return vote_table(first, decided)
        return vote_table(first, decided, study.item_groups[pair // len(study.item_groups)])
    except StatsError:
        return None


def drawn_items(study: Study, criterion: int, settings: CheckSettings) -> Bools | None:
    """Which items of a catalogue are compared; None: all.

    The votes of a share s of the items are about s^2 of all votes. Where the draw makes more than asked for, the last
    items drawn are left out.
    """
    views = (study.comparisons, study.rankings)
    if study.compare_within == "prompt" or any((view.criterion == criterion).any() for view in views):
        return None
    view = study.ratings
    rows = np.flatnonzero(
        (view.criterion == criterion) & (view.repeat == 0) & (view.group >= 0) & ~study.crowds[view.rater]
    )
    answer = view.group[rows].astype(np.int64) * len(study.crowds) + view.rater[rows]
    _, answer = np.unique(answer, return_inverse=True)
    item = view.item[rows]
    items = len(study.item_groups)
    shared = np.flatnonzero(np.bincount(item, minlength=items) > 1)
    if not len(shared) or _votes(answer) <= settings.most_votes:
        return None
    order = np.random.default_rng([settings.seed, criterion, 5]).permutation(shared)
    place = np.full(items, len(order))
    place[order] = np.arange(len(order))
    fewest, most = 2, len(order)
    while fewest < most:  # the largest draw whose votes are few enough
        middle = (fewest + most + 1) // 2
        if _votes(answer[place[item] < middle]) <= settings.most_votes:
            fewest = middle
        else:
            most = middle - 1
    return place < fewest


def catalogue_policy(study: Study, criterion: int, settings: CheckSettings) -> tuple[str, ...]:
    """What was drawn, in words."""
    drawn = drawn_items(study, criterion, settings)
    if drawn is None:
        return ()
    rated = len(np.unique(study.ratings.item[study.ratings.criterion == criterion]))
    return (
        f"{int(drawn.sum()):,} of {rated:,} items are compared, drawn at random from those with two ratings: all would "
        f"make more than {settings.most_votes:,} votes on pairs (--most-votes)",
    )


def _votes(answer: np.ndarray) -> int:
    """Pairs of items within the answers."""
    size = np.bincount(answer).astype(np.int64)
    return int((size * (size - 1) // 2).sum())
