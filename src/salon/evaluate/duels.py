"""The answers behind an arena: parts of a study by criterion and category, and every answer as a duel of generators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import DesignError
from salon.study import Study
from salon.study.tables import JUDGMENTS
from salon.study.votes import BOTH_BAD, TIE, study_votes

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
READ = ("comparisons", "rankings", "ratings")
"""Kinds of judgments that order generators."""


@dataclass(frozen=True)
class Part:
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


def study_parts(study: Study, criteria: Sequence[str], *, by_category: bool) -> Iterator[Part]:
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
        whole = _part(study, number, None, None, "")
        if whole is None:
            continue
        yield whole
        for code, label in enumerate(labels if by_category else ()):
            part = _part(study, number, categories == code, label, whole.protocol)
            if part is not None:
                yield part


def study_duels(part: Part, *, both_bad: str) -> Duels:
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
    return _codes(study, "generator")


def item_prompts(study: Study) -> Ints:
    """The number of the prompt of every item; -1 where it has none."""
    return _codes(study, "prompt")[1]


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


def _codes(study: Study, name: str) -> tuple[tuple[str, ...], Ints]:
    labels = _strings(study.table("items"), name)
    known = tuple(sorted({label for label in labels if label is not None}))
    place: dict[str | None, int] = {label: number for number, label in enumerate(known)}
    return known, np.array([place.get(label, -1) for label in labels], np.int64)


def _part(study: Study, number: int, among: Bools | None, category: str | None, protocol: str) -> Part | None:
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
    return Part(number, category, protocol, replace(study, tables=read), unused)


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
