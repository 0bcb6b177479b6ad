"""What the people of a study said, as arrays: votes on pairs, and duels of generators.

Comparisons and rankings are votes on pairs, one of each rater; where a criterion has neither, two ratings of one rater
are (`study.votes`). Answers of models, and repeats of a question, are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadColumns, DesignError, TooFew
from salon.stats import ComparisonColumns
from salon.study import BOTH_BAD, JUDGMENTS, TIE, Study, pair_votes, study_votes

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Index = NDArray[np.integer]
"""Numbers of items, as wide as they come."""
COLUMNS = ("criterion", "group", "item_a", "item_b", "for_a", "for_b", "ties", "text")


def is_person(study: Study) -> Bools:
    """For every rater: is it a person or a crowd of them?"""
    raters = study.table("raters")
    if "kind" not in raters.column_names:
        return np.ones(raters.num_rows, bool)
    model = pc.equal(raters.column("kind").cast(pa.string()), "model").fill_null(False)
    mask: Bools = ~model.to_numpy(zero_copy_only=False)
    return mask


def people_only(study: Study) -> Study:
    """The study without the judgments of models."""
    persons = is_person(study)
    if persons.all():
        return study
    tables = dict(study.tables)
    for kind in JUDGMENTS:
        if kind in tables:
            tables[kind] = tables[kind].filter(pa.array(persons[study.codes("raters", tables[kind].column("rater"))]))
    return replace(study, tables=tables)


# -- votes on pairs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TestPairs:
    """The pairs that judges are held against, criterion after criterion; an entry of each array for each pair."""

    __test__ = False  # pytest: no test

    study: str
    data: str
    split: str
    criteria: tuple[tuple[str, str], ...]
    """Id and name of each criterion."""
    criterion: Ints
    """Place in `criteria`."""
    group: Ints
    """The prompt; the pair itself where the whole study is one group. Prompts are drawn again for intervals."""
    item_a: NDArray[np.object_]
    item_b: NDArray[np.object_]
    votes: Ints
    """(pairs, 3): for a, for b, ties."""
    text: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, object))
    """Whole text of the prompt; empty where the two items answer different ones."""
    generators: Mapping[str, str] = field(default_factory=dict)
    """By item, where it is known."""
    simulated: bool = False
    keys: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """`ItemOrder.keys` of the pairs, rising under each criterion; empty where nobody looks pairs up by items."""
    numbers: tuple[int, ...] = ()
    """Numbers of the criteria in the study (their places, where these are not known): they seed draws of ceilings."""
    both_bad_ties: bool = False
    """Whether 'both bad' is counted as a tie; else it is no vote."""

    def __post_init__(self) -> None:
        if not self.numbers:
            object.__setattr__(self, "numbers", tuple(range(len(self.criteria))))

    def __len__(self) -> int:
        return len(self.criterion)

    @cached_property
    def winner(self) -> Ints:
        """1 a, -1 b, 0 no majority."""
        values: Ints = np.sign(self.votes[:, 0] - self.votes[:, 1])
        return values

    @cached_property
    def decided(self) -> Bools:
        """Pairs with a majority."""
        mask: Bools = self.winner != 0
        return mask

    @property
    def counts(self) -> dict[str, int]:
        """Prompts, pairs, pairs without a majority, and votes."""
        tied, votes = int((~self.decided).sum()), int(self.votes.sum())
        return {"prompts": len(np.unique(self.group)), "pairs": len(self), "tied": tied, "votes": votes}

    @property
    def items(self) -> list[str]:
        """Items of all pairs, each once."""
        return list(dict.fromkeys([*self.item_a, *self.item_b]))

    def on(self, place: int) -> Ints:
        """Rows of one criterion."""
        return np.flatnonzero(self.criterion == place)

    def find(self, place: int, keys: Ints) -> Ints:
        """The row of each key under a criterion, -1 where nobody voted."""
        rows = self.on(place)
        if not len(rows):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self.keys[rows], keys), len(rows) - 1)
        return np.where(self.keys[rows][at] == keys, rows[at], -1)


@dataclass(frozen=True)
class ItemOrder:
    """The items of a study by the order of their ids: a pair is named by two places, the smaller id first."""

    study: Study

    @cached_property
    def of_item(self) -> Ints:
        """Place of each item of the study among the sorted ids."""
        return np.argsort(self.item_at)

    @cached_property
    def item_at(self) -> Ints:
        """The item at each place."""
        return np.argsort(np.array(self.study.ids("items").to_pylist(), dtype=object), kind="stable")

    def keys(self, a: Index, b: Index) -> Ints:
        """One number for each pair, whichever way round it is given."""
        first, second = self.of_item[a], self.of_item[b]
        return np.minimum(first, second) * len(self.of_item) + np.maximum(first, second)

    def is_turned(self, a: Index, b: Index) -> Bools:
        """Is `a` the larger id?"""
        return self.of_item[a] > self.of_item[b]

    def items(self, keys: Ints) -> tuple[Ints, Ints]:
        """The two items of each key, smaller id first."""
        return self.item_at[keys // len(self.of_item)], self.item_at[keys % len(self.of_item)]

    def clusters(self, keys: Ints) -> Ints:
        """The prompt (group) of each pair; the pair itself where the whole study is one group."""
        if self.study.compare_within == "all":
            return keys
        groups: Ints = self.study.item_groups[self.items(keys)[0]].astype(np.int64)
        return groups


def study_pairs(study: Study, order: ItemOrder, criteria: Collection[str] = ()) -> TestPairs:
    """The pairs that people of `study` voted on, under each criterion that orders items or each of `criteria`.

    Flags are left out unless they are named (`Study.ranking_criteria`).
    """
    persons = is_person(study)
    numbers = tuple(study.ranking_criteria(criteria))
    keys, votes = [np.empty(0, np.int64)], [np.empty((0, 3), np.int64)]
    for number in numbers:
        answers = pair_votes(study, number, persons)
        own, row = np.unique(order.keys(answers.a, answers.b), return_inverse=True)
        turned = order.is_turned(answers.a, answers.b) & (answers.outcome < TIE)
        outcome = np.where(turned, 1 - answers.outcome, np.minimum(answers.outcome, TIE))
        sides = [np.bincount(row, weights=outcome == side, minlength=len(own)) for side in (0, 1, TIE)]
        keys.append(own)
        votes.append(np.stack(sides, axis=1).astype(np.int64))
    pairs = np.concatenate(keys)
    ids = np.array(study.ids("items").to_pylist(), object)
    return TestPairs(
        study=study.name,
        data=study.hash,
        split="all",
        criteria=tuple((study.criteria[number].id, study.criteria[number].title) for number in numbers),
        criterion=np.repeat(np.arange(len(numbers)), [len(part) for part in keys[1:]]),
        group=order.clusters(pairs),
        item_a=ids[order.items(pairs)[0]],
        item_b=ids[order.items(pairs)[1]],
        votes=np.concatenate(votes),
        generators={item.id: item.generator for item in study.nouns("items") if item.generator},
        simulated=study.simulated,
        keys=pairs,
        numbers=numbers,
        both_bad_ties=True,
    )


def make_test_pairs(
    labels: pa.Table,
    *,
    study: str,
    data: str,
    split: str,
    names: Mapping[str, str],
    generators: Mapping[str, str] | None = None,
    simulated: bool = False,
) -> TestPairs:
    """The pairs of a table of labels, ties kept; `split` says in a word which part of the study they are."""
    for name in COLUMNS:
        if name not in labels.column_names:
            raise BadColumns.missing(name, labels.column_names, where="labels")
    if not labels.num_rows:
        raise TooFew(
            "pairs that people voted on are needed",
            found=f"none ({split})",
            where=f"study {study!r}",
            remedy="--split all takes every prompt; few prompts may leave a split empty",
        )

    def column(name: str) -> list[Any]:
        values: list[Any] = labels.column(name).cast(pa.string()).to_pylist()
        return values

    ids = list(dict.fromkeys(column("criterion")))
    _, group = np.unique(np.array([str(name) for name in column("group")]), return_inverse=True)
    return TestPairs(
        study=study,
        data=data,
        split=split,
        criteria=tuple((id, names.get(id, id)) for id in ids),
        criterion=np.array([ids.index(id) for id in column("criterion")], np.int64),
        group=group.astype(np.int64),
        item_a=np.array(column("item_a"), object),
        item_b=np.array(column("item_b"), object),
        votes=np.stack([np.asarray(labels.column(name), np.int64) for name in ("for_a", "for_b", "ties")], axis=1),
        text=np.array([text or "" for text in column("text")], object),
        generators=generators or {},
        simulated=simulated,
    )


# -- duels of generators -----------------------------------------------------------------------------------------------

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


def study_duels(part: StudyPart, *, both_bad: str) -> ComparisonColumns:
    """Answers about two pictures of different generators; rankings and ratings give one for each pair they order.

    Items are numbers of the study; 'both bad' left out, or a tie where that is asked for.
    """
    study = part.study
    if part.protocol == "comparisons":
        view = study.comparisons
        columns = (view.a, view.b, view.outcome, view.rater, view.left)
        usable = view.repeat == 0
    else:
        votes = study_votes(study, [part.number], rating_pairs=True)
        columns = (votes.a, votes.b, votes.outcome, votes.rater, np.full(len(votes), 2))
        usable = np.ones(len(votes), bool)
    a, b, outcome, rater, left = (column.astype(np.int64) for column in columns)
    generator = item_generators(study)[1]
    usable = usable & (generator[a] >= 0) & (generator[b] >= 0) & (generator[a] != generator[b])
    if both_bad == "tie":
        outcome = np.where(outcome == BOTH_BAD, TIE, outcome)
    usable &= outcome != BOTH_BAD
    return ComparisonColumns(*(column[usable] for column in (a, b, rater, left, outcome)))


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
    names = tuple(sorted({label for label in labels if label is not None}))
    place: dict[str | None, int] = {label: number for number, label in enumerate(names)}
    return names, np.array([place.get(label, -1) for label in labels], np.int64)


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
