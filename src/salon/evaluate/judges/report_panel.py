"""What the people of a study say about pairs: the votes judges are held against.

Comparisons and rankings are votes on pairs, one of each rater; where a criterion has neither, two ratings of one rater
are (`study.votes`). Answers of models, and repeats of a question, are left out. Pairs are named as verdicts name them:
`a` is the smaller id.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.study import Study
from salon.study.votes import TIE, Votes, pair_votes

Ints = NDArray[np.int64]
Index = NDArray[np.integer]
"""Numbers of items, as wide as they come."""


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

    def keys(self, a: Index, b: Index) -> Ints:
        """One number for each pair, whichever way round it is given."""
        first, second = self.of_item[a], self.of_item[b]
        return np.minimum(first, second) * len(self.of_item) + np.maximum(first, second)

    def turned(self, a: Index, b: Index) -> NDArray[np.bool_]:
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
        values: Ints = np.sign(self.votes[:, 0] - self.votes[:, 1])
        return values

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """Pairs with a majority."""
        mask: NDArray[np.bool_] = self.winner != 0
        return mask

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
    mask: NDArray[np.bool_] = ~model.to_numpy(zero_copy_only=False)
    return mask


def panels(study: Study, places: Places, criteria: Collection[str] = ()) -> list[Panel]:
    """The votes of the people of `study`: a panel for each criterion that orders items, or for each of `criteria`.

    A panel is empty where nobody voted. Flags are left out unless they are named (`Study.ranking_criteria`).
    """
    asked = people(study)
    numbers = study.ranking_criteria(criteria)
    return [_panel(study, places, number, pair_votes(study, number, asked)) for number in numbers]


def _panel(study: Study, places: Places, number: int, given: Votes) -> Panel:
    keys, row = np.unique(places.keys(given.a, given.b), return_inverse=True)
    turned = places.turned(given.a, given.b) & (given.outcome < TIE)
    outcome = np.where(turned, 1 - given.outcome, np.minimum(given.outcome, TIE))
    votes = np.stack([np.bincount(row, weights=outcome == side, minlength=len(keys)) for side in (0, 1, TIE)], axis=1)
    cluster = keys if study.compare_within == "all" else study.item_groups[places.items(keys)[0]].astype(np.int64)
    return Panel(number, keys, votes.astype(np.int64), cluster)
