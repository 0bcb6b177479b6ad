"""What the people of a study say about pairs: the votes judges are held against.

Comparisons and rankings are votes on pairs; where a criterion has neither, two ratings of one rater are. Answers of
models, and repeats of a question, are left out. Pairs are named as verdicts name them: `a` is the smaller id.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.study import Study

Ints = NDArray[np.int64]
Votes = tuple[Ints, Ints, Ints, Ints]
"""Criterion, the two items, and who won: 1 the first, -1 the second, 0 neither."""


@dataclass(frozen=True)
class Places:
    """The items of a study by the order of their ids."""

    study: Study

    @cached_property
    def of_item(self) -> Ints:
        """Place of each item of the study among the sorted ids."""
        order = np.argsort(np.array(self.study.ids("items").to_pylist(), dtype=object), kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return place

    @cached_property
    def item_at(self) -> Ints:
        """The item at each place."""
        return np.argsort(self.of_item)

    def keys(self, a: Ints, b: Ints) -> Ints:
        """One number for each pair, whichever way round it is given."""
        first, second = self.of_item[a], self.of_item[b]
        return np.minimum(first, second) * len(self.of_item) + np.maximum(first, second)

    def turned(self, a: Ints, b: Ints) -> NDArray[np.bool_]:
        """Is `a` the larger id?"""
        return self.of_item[a] > self.of_item[b]

    def items(self, keys: Ints) -> tuple[Ints, Ints]:
        """The two items of each key, smaller id first."""
        return self.item_at[keys // len(self.of_item)], self.item_at[keys % len(self.of_item)]


@dataclass(frozen=True)
class Panel:
    """People's votes on the pairs of one criterion."""

    number: int
    """Of the criterion in the study."""
    keys: Ints
    """Pairs, rising."""
    votes: Ints
    """(pairs, 3): for the item with the smaller id, for the other, ties."""
    cluster: Ints
    """The prompt (group) of each pair; the pair itself where the whole study is one group."""

    @cached_property
    def winner(self) -> Ints:
        """1 the smaller id, -1 the other, 0 no majority."""
        return np.sign(self.votes[:, 0] - self.votes[:, 1])

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """Pairs with a majority."""
        return self.winner != 0

    def find(self, keys: Ints) -> Ints:
        """The row of each key, -1 where nobody voted."""
        if not len(self.keys):
            return np.full(len(keys), -1)
        row = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[row] == keys, row, -1)


def people(study: Study) -> NDArray[np.bool_]:
    """For every rater: is it a person or a crowd of them?"""
    raters = study.table("raters")
    if "kind" not in raters.column_names:
        return np.ones(raters.num_rows, bool)
    model = pc.equal(raters.column("kind").cast(pa.string()), "model").fill_null(False)
    return ~model.to_numpy(zero_copy_only=False)


def panels(study: Study, places: Places) -> list[Panel]:
    """The votes of the people of `study`, one panel for each criterion; empty where nobody voted."""
    asked = people(study)
    direct = [np.concatenate(parts) for parts in zip(_compared(study, asked), _ranked(study, asked))]
    rated = _rated(study, asked)
    lacking = ~np.isin(rated[0], direct[0])
    criterion, a, b, won = (np.concatenate([x, y[lacking]]) for x, y in zip(direct, rated))
    return [_panel(study, places, number, criterion, a, b, won) for number in range(len(study.criteria))]


def _panel(study: Study, places: Places, number: int, criterion: Ints, a: Ints, b: Ints, won: Ints) -> Panel:
    here = criterion == number
    a, b, won = a[here], b[here], won[here]
    won = np.where(places.turned(a, b), -won, won)
    keys, row = np.unique(places.keys(a, b), return_inverse=True)
    votes = np.stack([np.bincount(row, weights=won == side, minlength=len(keys)) for side in (1, -1, 0)], axis=1)
    cluster = keys if study.compare_within == "all" else study.item_groups[places.items(keys)[0]].astype(np.int64)
    return Panel(number, keys, votes.astype(np.int64), cluster)


def _compared(study: Study, asked: NDArray[np.bool_]) -> Votes:
    view = study.comparisons
    rows = asked[view.rater] & (view.repeat == 0)
    won = np.where(view.outcome == 0, 1, np.where(view.outcome == 1, -1, 0))
    return tuple(part[rows].astype(np.int64) for part in (view.criterion, view.a, view.b, won))  # type: ignore[return-value]


def _ranked(study: Study, asked: NDArray[np.bool_]) -> Votes:
    """Every pair of a ranking, rankings of one length at a time."""
    view = study.rankings
    length = np.diff(view.offsets)
    found: list[Votes] = []
    for size in np.unique(length[length > 1]):
        rows = np.flatnonzero((length == size) & asked[view.rater] & (view.repeat == 0))
        cells = view.offsets[rows][:, None] + np.arange(size)
        items, ranks = view.items[cells].astype(np.int64), view.ranks[cells].astype(np.int64)
        i, j = np.triu_indices(int(size), 1)
        criterion = np.repeat(view.criterion[rows].astype(np.int64), len(i))
        won = np.sign(ranks[:, j] - ranks[:, i]).ravel()
        found.append((criterion, items[:, i].ravel(), items[:, j].ravel(), won))
    return _joined(found)


def _rated(study: Study, asked: NDArray[np.bool_]) -> Votes:
    """Two ratings of one rater within a group; crowds cannot be followed from item to item and give none."""
    view = study.ratings
    rows = np.flatnonzero(asked[view.rater] & ~study.crowds[view.rater] & (view.repeat == 0) & (view.group >= 0))
    better = np.array([1 if c.scale is None or c.scale.higher_is_better else -1 for c in study.criteria])
    order = rows[np.lexsort((view.rater[rows], view.group[rows], view.criterion[rows]))]
    parts = np.stack([view.criterion[order], view.group[order], view.rater[order]])
    starts = np.flatnonzero((np.diff(parts, axis=1) != 0).any(axis=0)) + 1
    found: list[Votes] = []
    for block in np.split(order, starts):
        i, j = np.triu_indices(len(block), 1)
        criterion = view.criterion[block][i].astype(np.int64)
        won = np.sign(view.value[block][i] - view.value[block][j]).astype(np.int64) * better[criterion]
        found.append((criterion, view.item[block][i].astype(np.int64), view.item[block][j].astype(np.int64), won))
    return _joined(found)


def _joined(found: list[Votes]) -> Votes:
    if not found:
        none = np.zeros(0, np.int64)
        return none, none, none, none
    return tuple(np.concatenate(part) for part in zip(*found))  # type: ignore[return-value]
