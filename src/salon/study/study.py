"""A study: who was asked what about which items, and every answer.

For computing, a study gives its judgments as arrays (`ComparisonView` and its like). A view numbers items, raters,
criteria and groups by their place in the study's own lists. A group is what items may be compared within: a prompt, a
category, or the whole study. Skipped judgments are left out of a view and counted in `skipped`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self, TypedDict, Unpack, get_args, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadValue, InputError, UnknownReference
from salon.study.nouns import (
    Checklist,
    Choice,
    Cohort,
    Comparison,
    Criterion,
    Design,
    Item,
    Noun,
    Prompt,
    Ranking,
    Rater,
    RaterKind,
    Rating,
)
from salon.study.tables import KINDS, conform, empty_table, fingerprint, nouns_from_table, table_from_nouns
from salon.study.validation import check_columns, check_judgments, check_named_tables

# Arrow's own allocator keeps what it freed; the system's gives it back, and a large study needs that room.
pa.set_memory_pool(pa.system_memory_pool())

Ints = NDArray[np.int32]

OUTCOMES = ("a", "b", "tie", "both_bad")
LEFTS = ("a", "b", "unknown")


@dataclass(frozen=True)
class ComparisonView:
    """One entry per comparison."""

    criterion: Ints
    rater: Ints
    group: Ints
    a: Ints
    b: Ints
    outcome: NDArray[np.int8]
    """0 a is better, 1 b is better, 2 tie, 3 both bad."""
    left: NDArray[np.int8]
    """0 a was left, 1 b was left, 2 unknown."""
    repeat: NDArray[np.int16]
    seconds: NDArray[np.float64] | None
    skipped: int

    def __len__(self) -> int:
        return len(self.rater)


@dataclass(frozen=True)
class RankingView:
    """One entry per ranking; ranking r holds items[offsets[r]:offsets[r+1]], best first."""

    criterion: Ints
    rater: Ints
    group: Ints
    offsets: NDArray[np.int64]
    items: Ints
    ranks: Ints
    """1 = best; equal within a ranking = tie."""
    repeat: NDArray[np.int16]
    seconds: NDArray[np.float64] | None
    skipped: int

    def __len__(self) -> int:
        return len(self.rater)


@dataclass(frozen=True)
class RatingView:
    """One entry per rating."""

    criterion: Ints
    rater: Ints
    group: Ints
    item: Ints
    value: NDArray[np.float64]
    repeat: NDArray[np.int16]
    seconds: NDArray[np.float64] | None
    skipped: int

    def __len__(self) -> int:
        return len(self.rater)


JudgmentView = ComparisonView | RankingView | RatingView
"""Any of the three."""


# -- the study ---------------------------------------------------------------------------------------------------------


CompareWithin = Literal["prompt", "category", "all"]


class Revision(Noun):
    """A state of the study that a signature can name."""

    number: int
    reason: str
    at: str | None = None


FIRST = Revision(number=1, reason="first")


class StudyMetadata(TypedDict, total=False):
    """What else a study is built with; each is a field of `Study`."""

    cohorts: tuple[Cohort, ...]
    compare_within: CompareWithin
    design: Design
    revisions: tuple[Revision, ...]
    simulated: bool
    note: str | None


class StudyChanges(StudyMetadata, total=False):
    """What a revision may change."""

    name: str
    criteria: tuple[Criterion, ...]
    tables: Mapping[str, pa.Table]


@dataclass(frozen=True)
class Study:
    """Metadata, and one Arrow table per kind of record. Build one with `Study.build`, which validates."""

    name: str
    criteria: tuple[Criterion, ...]
    cohorts: tuple[Cohort, ...] = ()
    compare_within: CompareWithin = "prompt"
    design: Design = field(default_factory=Design)
    revisions: tuple[Revision, ...] = (FIRST,)
    simulated: bool = False
    """True when no person gave these answers; every report then says so."""
    note: str | None = None
    tables: Mapping[str, pa.Table] = field(default_factory=dict, repr=False)

    @classmethod
    def build(
        cls,
        name: str,
        criteria: Iterable[Criterion],
        *,
        tables: Mapping[str, pa.Table | Iterable[Noun]],
        where: str | None = None,
        conformed: bool = False,
        **metadata: Unpack[StudyMetadata],
    ) -> Self:
        """A validated study. A table is Arrow columns or any iterable of its nouns; raters, items and prompts
        that judgments name but no table lists are an error. `conformed` tables have the right columns already."""
        unknown = set(tables) - set(KINDS)
        if unknown:
            raise InputError(
                f"tables named {', '.join(KINDS)} are needed", found=", ".join(sorted(unknown)), where=where
            )
        conformed_tables = {
            kind: table
            if conformed
            else (conform(kind, table, where=where) if isinstance(table, pa.Table) else table_from_nouns(kind, table))
            for kind, table in tables.items()
        }
        study = cls(name=name, criteria=tuple(criteria), tables=conformed_tables, **metadata)
        study._validate()
        return study

    def _validate(self) -> None:
        if self.compare_within not in get_args(CompareWithin):
            raise BadValue(
                "compare_within must be prompt, category or all",
                found=self.compare_within,
                where="study.toml",
            )
        ids = [criterion.id for criterion in self.criteria]
        if len(set(ids)) != len(ids):
            raise BadValue("each criterion may stand once", found=", ".join(ids), where="study.toml")
        check_named_tables(self)
        check_columns(self)
        check_judgments(self)

    def table(self, kind: str) -> pa.Table:
        """The table of `kind`; empty when the study has none."""
        return self.tables[kind] if kind in self.tables else empty_table(kind)

    @overload
    def nouns(self, kind: Literal["prompts"]) -> Iterator[Prompt]: ...
    @overload
    def nouns(self, kind: Literal["items"]) -> Iterator[Item]: ...
    @overload
    def nouns(self, kind: Literal["raters"]) -> Iterator[Rater]: ...
    @overload
    def nouns(self, kind: Literal["comparisons"]) -> Iterator[Comparison]: ...
    @overload
    def nouns(self, kind: Literal["rankings"]) -> Iterator[Ranking]: ...
    @overload
    def nouns(self, kind: Literal["ratings"]) -> Iterator[Rating]: ...
    @overload
    def nouns(self, kind: Literal["checklists"]) -> Iterator[Checklist]: ...
    @overload
    def nouns(self, kind: Literal["choices"]) -> Iterator[Choice]: ...
    @overload
    def nouns(self, kind: str) -> Iterator[Noun]: ...
    def nouns(self, kind: str) -> Iterator[Noun]:
        """The rows of a table as nouns, one at a time."""
        return iter(nouns_from_table(kind, self.table(kind)))

    @property
    def revision(self) -> int:
        """Number of the current revision."""
        return self.revisions[-1].number

    @property
    def counts(self) -> dict[str, int]:
        """Rows per table, empty tables left out."""
        return {kind: table.num_rows for kind in KINDS if (table := self.table(kind)).num_rows}

    @cached_property
    def hash(self) -> str:
        """Content hash: the same study in any file format gives the same 64 hex digits."""
        meta = {
            "criteria": [criterion.record() for criterion in self.criteria],
            "cohorts": [cohort.record() for cohort in self.cohorts],
            "compare_within": self.compare_within,
            "design": self.design.record(),
            "simulated": self.simulated,
        }
        return fingerprint(meta, {kind: self.table(kind) for kind in KINDS})

    # -- numbering -----------------------------------------------------------------------------------------

    def ids(self, kind: str) -> pa.Array:
        """Labels by number: item i of a view is `ids('items')[i]`. Also 'criteria' and 'groups'."""
        if kind == "criteria":
            return pa.array([criterion.id for criterion in self.criteria], pa.string())
        if kind == "groups":
            return self._groups[0]
        return self.table(kind).column("id").combine_chunks()

    def label(self, kind: str, number: int) -> str:
        """The id behind one number of a view."""
        return str(self.ids(kind)[int(number)].as_py())

    def criterion(self, id: str) -> Criterion:
        """One of the study's criteria by id."""
        for criterion in self.criteria:
            if criterion.id == id:
                return criterion
        raise UnknownReference(
            "a criterion of the study is needed",
            found=repr(id),
            where=f"study {self.name!r}",
            remedy="one of " + ", ".join(criterion.id for criterion in self.criteria),
        )

    def ranking_criteria(self, ids: Collection[str] = ()) -> tuple[int, ...]:
        """Numbers of the criteria that order items: those with these `ids`, or else all but flags.

        A flag says what is wrong with an item, not which of two is better. It orders items only where raters compared
        or ranked them by it, or where it is named.
        """
        chosen = {self.criterion(id).id for id in ids}
        ordered = set(np.unique(np.concatenate([self.comparisons.criterion, self.rankings.criterion])).tolist())
        return tuple(
            number
            for number, criterion in enumerate(self.criteria)
            if (criterion.id in chosen if chosen else not criterion.is_flag or number in ordered)
        )

    @cached_property
    def _groups(self) -> tuple[pa.Array, NDArray[np.int32]]:
        """Group labels, and the group of every item (-1 where an item has none)."""
        items = self.table("items")
        if self.compare_within == "all":
            return pa.array([self.name], pa.string()), np.zeros(items.num_rows, np.int32)
        if self.compare_within not in items.column_names:
            return pa.array([], pa.string()), np.full(items.num_rows, -1, np.int32)
        column = items.column(self.compare_within).combine_chunks()
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return column.dictionary, codes.astype(np.int32, copy=False)

    @property
    def item_groups(self) -> NDArray[np.int32]:
        """The group (prompt, category or whole study) of every item; -1 where it has none."""
        return self._groups[1]

    @cached_property
    def crowds(self) -> NDArray[np.bool_]:
        """For every rater: is it a crowd, that is, people the source cannot tell apart?"""
        return self._raters_of("crowd")

    @cached_property
    def models(self) -> NDArray[np.bool_]:
        """For every rater: is it a model, and no person?"""
        return self._raters_of("model")

    def _raters_of(self, kind: RaterKind) -> NDArray[np.bool_]:
        raters = self.table("raters")
        if "kind" not in raters.column_names:
            return np.zeros(raters.num_rows, bool)
        mask: NDArray[np.bool_] = pc.equal(raters.column("kind").cast(pa.string()), kind).fill_null(False).to_numpy()
        return mask

    def codes(self, kind: str, column: pa.ChunkedArray | pa.Array) -> NDArray[np.int32]:
        """A reference column as numbers into `ids(kind)`; -1 for null or unknown."""
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if not len(array):
            return np.zeros(0, np.int32)
        ids = self.ids(kind)
        lookup = (
            np.arange(len(ids), dtype=np.int32)
            if array.dictionary.equals(ids)
            else pc.index_in(array.dictionary, value_set=ids).fill_null(-1).to_numpy(zero_copy_only=False)
        )
        lookup = np.append(lookup.astype(np.int32, copy=False), np.int32(-1))  # index -1 (null) stays -1
        indices = array.indices if array.indices.null_count == 0 else array.indices.fill_null(-1)
        numbers: NDArray[np.int32] = lookup[indices.to_numpy(zero_copy_only=False)]
        return numbers

    # -- columnar views ------------------------------------------------------------------------------------

    @cached_property
    def comparisons(self) -> ComparisonView:
        """All comparisons as arrays."""
        table, skipped = self._answered("comparisons")
        a = self.codes("items", table.column("a"))
        left = table.column("left") if "left" in table.column_names else None
        return ComparisonView(
            **self._by(table),
            group=self.item_groups[a],
            a=a,
            b=self.codes("items", table.column("b")),
            outcome=_words(table.column("outcome"), OUTCOMES, default=-1),
            left=np.full(len(a), 2, np.int8) if left is None else _words(left, LEFTS, default=2),
            skipped=skipped,
        )

    @cached_property
    def rankings(self) -> RankingView:
        """All rankings as arrays."""
        table, skipped = self._answered("rankings")
        lists, ranks = (table.column(name).combine_chunks() for name in ("items", "ranks"))
        offsets = lists.offsets.to_numpy().astype(np.int64)
        items = self.codes("items", lists.values)[offsets[0] : offsets[-1]]
        offsets = offsets - offsets[0]
        first = items[offsets[:-1]] if len(lists) else np.zeros(0, np.int32)
        return RankingView(
            **self._by(table),
            group=self.item_groups[first],
            offsets=offsets,
            items=items,
            ranks=ranks.values.to_numpy(zero_copy_only=False)[ranks.offsets[0].as_py() : ranks.offsets[-1].as_py()],
            skipped=skipped,
        )

    @cached_property
    def ratings(self) -> RatingView:
        """All ratings as arrays."""
        table, skipped = self._answered("ratings")
        item = self.codes("items", table.column("item"))
        value = table.column("value").to_numpy()
        return RatingView(**self._by(table), group=self.item_groups[item], item=item, value=value, skipped=skipped)

    def _answered(self, kind: str) -> tuple[pa.Table, int]:
        """The rows that hold an answer, and how many were skipped instead."""
        table = self.table(kind)
        if "skipped" not in table.column_names:
            return table, 0
        answered = table.filter(pc.is_null(table.column("skipped")))
        return answered, table.num_rows - answered.num_rows

    def _by(self, table: pa.Table) -> dict[str, Any]:
        names = table.column_names
        seconds = table.column("seconds").to_numpy() if "seconds" in names else None
        repeat = (
            table.column("repeat").fill_null(0).to_numpy() if "repeat" in names else np.zeros(table.num_rows, np.int16)
        )
        return {
            "criterion": self.codes("criteria", table.column("criterion")),
            "rater": self.codes("raters", table.column("rater")),
            "repeat": repeat,
            "seconds": seconds,
        }

    # -- new studies from old ------------------------------------------------------------------------------

    def revised(self, reason: str, *, at: str | None = None, **changes: Unpack[StudyChanges]) -> Study:
        """This study with `changes`, as a new revision."""
        revision = Revision(number=self.revision + 1, reason=reason, at=at)
        study = replace(replace(self, **changes), revisions=(*self.revisions, revision))
        study._validate()
        return study


def _words(column: pa.ChunkedArray, words: tuple[str, ...], *, default: int) -> NDArray[np.int8]:
    """A column of known words as their numbers."""
    array = column.combine_chunks()
    lookup = [words.index(word) if word in words else default for word in array.dictionary.to_pylist()]
    table = np.array([*lookup, default], np.int8)
    indices = array.indices if array.indices.null_count == 0 else array.indices.fill_null(-1)
    numbers: NDArray[np.int8] = table[indices.to_numpy(zero_copy_only=False)]
    return numbers
