"""What the people of a study say about pairs: the votes judges are held against.

Comparisons and rankings are votes on pairs, one of each rater; where a criterion has neither, two ratings of one rater
are (`study.votes`). Answers of models, and repeats of a question, are left out. Pairs are named as verdicts name them:
`a` is the smaller id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import DesignError
from salon.study import Study
from salon.study.tables import JUDGMENTS
from salon.study.votes import BOTH_BAD, TIE, Votes, pair_votes, study_votes

Ints = NDArray[np.int64]
Index = NDArray[np.integer]
"""Numbers of items, as wide as they come."""


@dataclass(frozen=True)
class ItemOrder:
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
class VotePanel:
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


def is_person(study: Study) -> NDArray[np.bool_]:
    """For every rater: is it a person or a crowd of them?"""
    raters = study.table("raters")
    if "kind" not in raters.column_names:
        return np.ones(raters.num_rows, bool)
    model = pc.equal(raters.column("kind").cast(pa.string()), "model").fill_null(False)
    mask: NDArray[np.bool_] = ~model.to_numpy(zero_copy_only=False)
    return mask


def vote_panels(study: Study, places: ItemOrder, criteria: Collection[str] = ()) -> list[VotePanel]:
    """The votes of the people of `study`: a panel for each criterion that orders items, or for each of `criteria`.

    A panel is empty where nobody voted. Flags are left out unless they are named (`Study.ranking_criteria`).
    """
    asked = is_person(study)
    numbers = study.ranking_criteria(criteria)
    return [_vote_panel(study, places, number, pair_votes(study, number, asked)) for number in numbers]


def _vote_panel(study: Study, places: ItemOrder, number: int, given: Votes) -> VotePanel:
    keys, row = np.unique(places.keys(given.a, given.b), return_inverse=True)
    turned = places.turned(given.a, given.b) & (given.outcome < TIE)
    outcome = np.where(turned, 1 - given.outcome, np.minimum(given.outcome, TIE))
    votes = np.stack([np.bincount(row, weights=outcome == side, minlength=len(keys)) for side in (0, 1, TIE)], axis=1)
    cluster = keys if study.compare_within == "all" else study.item_groups[places.items(keys)[0]].astype(np.int64)
    return VotePanel(number, keys, votes.astype(np.int64), cluster)


# --------------------------------------------------------------------------------------------------
# The answers behind an arena: parts of a study by criterion and category, and every answer as a duel of generators.
# --------------------------------------------------------------------------------------------------

Bools = NDArray[np.bool_]
READ = ("comparisons", "rankings", "ratings")
"""Kinds of judgments that order generators."""


@dataclass(frozen=True)
class StudyPart:
    """The answers under one criterion, in one category or in all."""

    number: int
    """Of the criterion in the study."""
    category: str | None
    protocol: str
    """The kind of answers that scores are made of: the most frequent one under the criterion."""
    study: Study
    """Only with these answers."""
    unused: int
    """Answers of other kinds."""

    @property
    def criterion(self) -> str:
        """Id of the criterion."""
        return self.study.criteria[self.number].id


@dataclass(frozen=True)
class Duels:
    """Answers about two pictures of different generators. Rankings and ratings give one for each pair they order."""

    a: Ints
    """Items, as everywhere below numbers of the study."""
    b: Ints
    outcome: Ints
    """0 a is better, 1 b is better, 2 tie."""
    rater: Ints
    left: Ints
    """0 a was left, 1 b was left, 2 unknown."""

    def __len__(self) -> int:
        return len(self.a)


def study_parts(study: Study, criteria: Sequence[str], *, by_category: bool) -> Iterator[StudyPart]:
    """The parts with answers that order something: each criterion over all categories, then in each."""
    categories = item_categories(study)
    if by_category and (categories < 0).all():
        raise DesignError(
            "items or their prompts must name a category to be split by it",
            found="no category",
            where=f"study {study.name!r}",
            remedy="leave out --by-category",
        )
    labels = category_labels(study)
    for number in study.ranking_criteria(criteria):
        whole = _study_part(study, number, None, None, "")
        if whole is None:
            continue
        yield whole
        for code, label in enumerate(labels if by_category else ()):
            part = _study_part(study, number, categories == code, label, whole.protocol)
            if part is not None:
                yield part


def study_duels(part: StudyPart, *, both_bad: str) -> Duels:
    """The duels of a part; 'both bad' left out, or a tie where that is asked for."""
    study = part.study
    if part.protocol == "comparisons":
        view = study.comparisons
        columns = (view.a, view.b, view.outcome, view.rater, view.left)
        kept = view.repeat == 0
    else:
        votes = study_votes(study, [part.number], rating_pairs=True)
        columns = (votes.a, votes.b, votes.outcome, votes.rater, np.full(len(votes), 2))
        kept = np.ones(len(votes), bool)
    a, b, outcome, rater, left = (column.astype(np.int64) for column in columns)
    made = item_generators(study)[1]
    kept = kept & (made[a] >= 0) & (made[b] >= 0) & (made[a] != made[b])
    if both_bad == "tie":
        outcome = np.where(outcome == BOTH_BAD, TIE, outcome)
    kept &= outcome != BOTH_BAD
    return Duels(*(column[kept] for column in (a, b, outcome, rater, left)))


def item_generators(study: Study) -> tuple[tuple[str, ...], Ints]:
    """Names of the generators, and the number of that of every item; -1 where it has none."""
    return _item_codes(study, "generator")


def item_prompts(study: Study) -> Ints:
    """The number of the prompt of every item; -1 where it has none."""
    return _item_codes(study, "prompt")[1]


def item_categories(study: Study) -> Ints:
    """The number of the category of every item among `category_labels`; -1 where neither it nor its prompt has one."""
    labels = category_labels(study)
    place: dict[str | None, int] = {label: number for number, label in enumerate(labels)}
    return np.array([place.get(label, -1) for label in _categories(study)], np.int64)


def category_labels(study: Study) -> tuple[str, ...]:
    """Names of all categories, sorted."""
    return tuple(sorted({label for label in _categories(study) if label is not None}))


def _categories(study: Study) -> list[str | None]:
    """Of every item: its own category, or that of its prompt."""
    items, prompts = study.table("items"), study.table("prompts")
    own = _strings(items, "category")
    of_prompt = dict(zip(_strings(prompts, "id"), _strings(prompts, "category")))
    return [label or of_prompt.get(prompt) for label, prompt in zip(own, _strings(items, "prompt"))]


def _strings(table: pa.Table, name: str) -> list[str | None]:
    if name not in table.column_names:
        return [None] * table.num_rows
    result: list[str | None] = table.column(name).cast(pa.string()).to_pylist()
    return result


def _item_codes(study: Study, name: str) -> tuple[tuple[str, ...], Ints]:
    labels = _strings(study.table("items"), name)
    known = tuple(sorted({label for label in labels if label is not None}))
    place: dict[str | None, int] = {label: number for number, label in enumerate(known)}
    return known, np.array([place.get(label, -1) for label in labels], np.int64)


def _study_part(
    study: Study, number: int, among: Bools | None, category: str | None, protocol: str
) -> StudyPart | None:
    """The answers under a criterion about the items `among`; None where there are none that order anything."""
    tables = {kind: table for kind, table in study.tables.items() if kind not in JUDGMENTS}
    for kind in READ:
        if kind in study.tables:
            rows = _rows(study, kind, number, among)
            tables[kind] = study.tables[kind].filter(pa.array(rows))
    sizes = {kind: tables[kind].num_rows if kind in tables else 0 for kind in READ}
    protocol = protocol or max(sizes, key=lambda kind: sizes[kind])
    if not sizes[protocol]:
        return None
    unused = sum(size for kind, size in sizes.items() if kind != protocol)
    read = {kind: table for kind, table in tables.items() if kind not in READ or kind == protocol}
    return StudyPart(number, category, protocol, replace(study, tables=read), unused)


def _rows(study: Study, kind: str, number: int, among: Bools | None) -> Bools:
    """Which judgments of a table are under the criterion and about items of the category."""
    table = study.tables[kind]
    rows: Bools = study.codes("criteria", table.column("criterion")) == number
    if among is None:
        return rows
    inside = np.append(among, False)  # -1: a skipped ranking names no item
    if kind == "rankings":
        lists = table.column("items")
        first = pc.list_slice(lists, 0, 1)
        size = pc.list_value_length(first).fill_null(0).to_numpy(zero_copy_only=False)
        item = np.full(len(rows), -1)
        item[size > 0] = study.codes("items", pc.list_flatten(first))
    else:
        item = study.codes("items", table.column("a" if kind == "comparisons" else "item"))
    mask: Bools = rows & inside[item]
    return mask
