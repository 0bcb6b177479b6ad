"""From a study to the groups that are fused: one criterion, and items that share a scale.

Items are scored within what they are compared within (a prompt, a category or the whole study); generators within the
whole study, or within each category. Inside a group, items (or generators) are numbered 0..n-1; raters and prompts
keep their numbers in the study. Repeated answers are left out and counted. So are answers of 'both bad', which order
nothing, unless they are to be taken as ties.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salon.errors import DesignError
from salon.fuse.results import FuseSettings
from salon.stats import Errors, PairCounts, PairFit, count_pairs
from salon.study import Scale, Study

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TIE, BOTH_BAD = 2, 3


@dataclass(frozen=True)
class GroupComparisons:
    """Comparisons of one group."""

    a: Codes
    b: Codes
    outcome: NDArray[np.int8]
    """0 a is better, 1 b is better, 2 tie."""
    rater: Codes
    left: NDArray[np.int8]
    prompt: Codes
    row: Codes
    """Place among all comparisons of the group, kept when some are left out: Elo's shuffles follow it."""

    def __len__(self) -> int:
        return len(self.a)

    @property
    def named(self) -> Codes:
        """Every item that a judgment names, as often as it does; so for rankings and ratings."""
        return np.concatenate([self.a, self.b])


@dataclass(frozen=True)
class GroupRankings:
    """Rankings of one group; ranking r holds items[offsets[r]:offsets[r+1]], best first."""

    offsets: Ints
    items: Codes
    ranks: Codes
    rater: Codes
    prompt: Codes

    def __len__(self) -> int:
        return len(self.rater)

    @property
    def named(self) -> Codes:
        return self.items


@dataclass(frozen=True)
class GroupRatings:
    """Ratings of one group, turned so that higher is better."""

    item: Codes
    value: Floats
    rater: Codes
    prompt: Codes

    def __len__(self) -> int:
        return len(self.item)

    @property
    def named(self) -> Codes:
        return self.item


@dataclass(frozen=True)
class FuseGroup:
    """What is fused together."""

    criterion: str
    label: str
    members: tuple[str, ...]
    """Labels of the items (or generators) by their number here."""
    scale: Scale | None
    compared: GroupComparisons
    ranked: GroupRankings
    rated: GroupRatings
    both_bad: int
    repeats: int
    asked: int
    """Comparisons of the whole group, before any were left out for an error."""
    same: int
    """Comparisons of a generator with itself, and rankings that hold one twice: left out."""
    single: int = 0
    """Rankings of one item, which order nothing: left out."""
    rater_labels: Sequence[str] = ()
    """Of all raters of the study, for messages."""

    @property
    def items(self) -> int:
        return len(self.members)

    @cached_property
    def pair_counts(self) -> PairCounts:
        """Its comparisons as counts; the fit, its errors and its residuals all start from them."""
        return count_pairs(self.compared.a, self.compared.b, self.compared.outcome, self.items)

    @property
    def where(self) -> str:
        """For messages."""
        return f"criterion {self.criterion!r}, group {self.label!r}"

    @property
    def by_kind(self) -> dict[str, GroupComparisons | GroupRankings | GroupRatings]:
        """Its judgments by the name of their table."""
        return {"comparisons": self.compared, "rankings": self.ranked, "ratings": self.rated}

    @property
    def raters(self) -> Codes:
        """Numbers of the raters who answered here."""
        size = max(int(part.rater.max(initial=-1)) for part in self.by_kind.values()) + 1
        answers = sum(np.bincount(part.rater, minlength=size) for part in self.by_kind.values())
        return np.flatnonzero(answers).astype(np.int32)

    def counts(self) -> Ints:
        """Judgments that name each item."""
        return np.bincount(np.concatenate([part.named for part in self.by_kind.values()]), minlength=self.items)

    def keeping(self, compared: Bools, ranked: Bools, rated: Bools) -> FuseGroup:
        """The group with only some of its judgments; its items stay. The group itself when all do."""
        if compared.all() and ranked.all() and rated.all():
            return self
        return replace(
            self,
            compared=select_rows(self.compared, compared),
            ranked=self.ranked if ranked.all() else _ranked_rows(self.ranked, np.flatnonzero(ranked)),
            rated=select_rows(self.rated, rated),
        )

    def reading(self, protocols: Sequence[str]) -> FuseGroup:
        """The group with only its judgments of these kinds; its items stay."""
        return self.keeping(*(np.full(len(part), name in protocols) for name, part in self.by_kind.items()))

    def among(self, mask: Bools) -> FuseGroup:
        """The group with only some of its items, and the judgments that are about them alone."""
        number = np.cumsum(mask, dtype=np.int32) - np.int32(1)
        c, k, r = self.compared, self.ranked, self.rated
        whole = np.array([mask[k.items[s:e]].all() for s, e in zip(k.offsets[:-1], k.offsets[1:])], bool)
        part = self.keeping(mask[c.a] & mask[c.b], whole, mask[r.item])
        return replace(
            part,
            members=tuple(label for label, keep in zip(self.members, mask) if keep),
            compared=replace(part.compared, a=number[part.compared.a], b=number[part.compared.b]),
            ranked=replace(part.ranked, items=number[part.ranked.items]),
            rated=replace(part.rated, item=number[part.rated.item]),
        )


def cluster_codes(part: GroupComparisons | GroupRankings | GroupRatings, cluster: str) -> Ints:
    """The rater, the prompt or the cell (one rater on one prompt) of each judgment; -1: no prompt."""
    rater, prompt = part.rater.astype(np.int64), part.prompt.astype(np.int64)
    return {"rater": rater, "prompt": prompt, "cell": (rater << 32) + prompt + 1}[cluster]


def number_clusters(codes: Ints) -> tuple[Ints, Ints]:
    """The codes that occur, in rising order, and the place of each judgment's among them."""
    low, high = int(codes.min(initial=0)), int(codes.max(initial=0))
    if high - low > 4 * len(codes):
        present, place = np.unique(codes, return_inverse=True)
        return present, place
    used = np.zeros(high - low + 1, np.bool_)
    used[codes - low] = True
    return np.flatnonzero(used) + low, (np.cumsum(used) - 1)[codes - low]


def average_repeated_ratings(rated: GroupRatings) -> tuple[Codes, Codes, Floats]:
    """Item, rater and value of one rating for each pair of them: a rater's several ratings of a generator averaged."""
    key = rated.item.astype(np.int64) * (int(rated.rater.max(initial=0)) + 1) + rated.rater
    unique, first, place, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    if len(unique) == len(key):
        return rated.item, rated.rater, rated.value
    return rated.item[first], rated.rater[first], np.bincount(place, rated.value) / count


def select_rows(part: Any, keep: Any) -> Any:
    """A part with some of its rows; the same object when all stay."""
    if isinstance(keep, np.ndarray) and keep.dtype == bool and keep.all():
        return part
    return replace(part, **{name: getattr(part, name)[keep] for name in part.__dataclass_fields__})


@dataclass(frozen=True)
class _Units:
    """What is scored, and where each item of the study belongs."""

    labels: tuple[str, ...]
    of_item: Codes
    """The item itself, or its generator; -1 where it has none."""
    group_labels: tuple[str, ...]
    group_of: Codes
    """The group of each item of the study; -1 where it has none."""
    prompt_of: Codes


def study_groups(study: Study, settings: FuseSettings, criteria: Sequence[str]) -> Iterator[FuseGroup]:
    """Every group of the study that holds judgments under one of `criteria`."""
    units = _units(study, settings)
    numbers = [n for n, criterion in enumerate(study.criteria) if not criteria or criterion.id in criteria]
    raters = study.ids("raters").to_pylist()
    for number in numbers:
        criterion = study.criteria[number]
        compared, both_bad, same, again = _read_comparisons(study, settings, units, number)
        ranked, doubled, again_ranked, single = _read_rankings(study, units, number)
        rated, again_rated = _read_ratings(study, units, number, criterion.scale)
        repeats, same = again + again_ranked + again_rated, same + doubled
        parts = [_by_group(part, code, len(units.group_labels)) for part, code in (compared, ranked, rated)]
        for group, label in enumerate(units.group_labels):
            mine = [part[group] for part in parts]
            if any(len(part) for part in mine):
                yield _renumbered(
                    units, criterion.id, label, criterion.scale, *mine,
                    both_bad=int(both_bad[group]), repeats=int(repeats[group]), same=int(same[group]),
                    single=int(single[group]), rater_labels=raters,
                )  # fmt: skip


def _units(study: Study, settings: FuseSettings) -> _Units:
    prompt_of = item_column(study, "prompt")[1]
    if settings.by != "generator":
        labels = tuple(study.ids("items").to_pylist())
        groups = tuple(str(label) for label in study.ids("groups").to_pylist())
        return _Units(labels, np.arange(len(labels), dtype=np.int32), groups, study.item_groups, prompt_of)
    generators, of_item = item_column(study, "generator")
    if not generators:
        raise DesignError(
            "items must name their generator to score generators",
            found="no item with a generator",
            where=f"study {study.name!r}",
            remedy="leave out --by generator, or add the column 'generator' to the items",
        )
    if settings.split == "none":
        return _Units(generators, of_item, (study.name,), np.zeros(len(of_item), np.int32), prompt_of)
    categories, group_of = item_column(study, "category")
    if not categories:
        raise DesignError(
            "items must name their category to be split by it", found="no item with a category", remedy="--split none"
        )
    return _Units(generators, of_item, categories, group_of, prompt_of)


def item_column(study: Study, name: str) -> tuple[tuple[str, ...], Codes]:
    """The labels of an item column and the code of every item; -1 where it has none."""
    items = study.table("items")
    if name not in items.column_names:
        return (), np.full(items.num_rows, -1, np.int32)
    column = items.column(name).combine_chunks().dictionary_encode()
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return tuple(column.dictionary.to_pylist()), codes


def _renumbered(
    units: _Units,
    criterion: str,
    label: str,
    scale: Scale | None,
    compared: GroupComparisons,
    ranked: GroupRankings,
    rated: GroupRatings,
    **more: Any,
) -> FuseGroup:
    """The members of a group are those that some judgment names."""
    judged_items = np.zeros(len(units.labels), bool)
    for codes in (compared.a, compared.b, ranked.items, rated.item):
        judged_items[codes] = True
    members = np.flatnonzero(judged_items)
    local = np.cumsum(judged_items, dtype=np.int32) - np.int32(1)
    return FuseGroup(
        criterion=criterion,
        label=label,
        members=tuple(units.labels[m] for m in members),
        scale=scale,
        compared=replace(
            compared, a=local[compared.a], b=local[compared.b], row=np.arange(len(compared), dtype=np.int32)
        ),
        ranked=replace(ranked, items=local[ranked.items]),
        rated=replace(rated, item=local[rated.item]),
        asked=len(compared),
        **more,
    )


def _by_group(part: Any, code: Codes, groups: int) -> list[Any]:
    """The rows of each group."""
    if groups == 1:
        return [part]
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(groups + 1))
    if isinstance(part, GroupRankings):
        return [_ranked_rows(part, order[ends[g] : ends[g + 1]]) for g in range(groups)]
    return [select_rows(part, order[ends[g] : ends[g + 1]]) for g in range(groups)]


def _ranked_rows(part: GroupRankings, rows: Ints) -> GroupRankings:
    starts, lengths = part.offsets[rows], np.diff(part.offsets)[rows]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - starts, lengths)
    return GroupRankings(offsets, part.items[inside], part.ranks[inside], part.rater[rows], part.prompt[rows])


def _read_comparisons(
    study: Study, settings: FuseSettings, units: _Units, number: int
) -> tuple[tuple[GroupComparisons, Codes], Ints, Ints, Ints]:
    """The usable comparisons with their groups, and per group: both bad, generator with itself, repeats."""
    view, groups = study.comparisons, len(units.group_labels)
    rows = np.flatnonzero(view.criterion == number)
    a, b = units.of_item[view.a[rows]], units.of_item[view.b[rows]]
    code = units.group_of[view.a[rows]]
    there = (code >= 0) & (a >= 0) & (b >= 0)
    first = view.repeat[rows] == 0
    bad = view.outcome[rows] == BOTH_BAD
    use = there & first & (a != b) & (~bad | (settings.both_bad == "tie"))
    usable = rows[use]
    part = GroupComparisons(
        a=a[use],
        b=b[use],
        outcome=np.where(view.outcome[usable] == BOTH_BAD, np.int8(TIE), view.outcome[usable]),
        rater=view.rater[usable],
        left=view.left[usable],
        prompt=units.prompt_of[view.a[usable]],
        row=np.zeros(len(usable), np.int32),
    )

    def count(which: Bools) -> Ints:
        return np.bincount(code[there & which], minlength=groups)

    return (part, code[use]), count(bad & first), count((a == b) & first), count(~first)


def _read_rankings(study: Study, units: _Units, number: int) -> tuple[tuple[GroupRankings, Codes], Ints, Ints, Ints]:
    """The usable rankings with their groups, and per group: those that hold a generator twice, repeats, single ones."""
    view, groups = study.rankings, len(units.group_labels)
    if not len(view):
        empty, none = np.zeros(0, np.int32), np.zeros(groups, np.int64)
        return (GroupRankings(np.zeros(1, np.int64), empty, empty, empty, empty), empty), none, none, none
    first = view.items[view.offsets[:-1]]
    unit = units.of_item[view.items]
    code = units.group_of[first]
    complete = np.add.reduceat((unit < 0).astype(np.int64), view.offsets[:-1]) == 0
    mine = (view.criterion == number) & (code >= 0) & complete
    row = np.repeat(np.arange(len(view.offsets) - 1), np.diff(view.offsets))
    order = np.lexsort((unit, row))
    equal = (np.diff(row[order]) == 0) & (np.diff(unit[order]) == 0)
    twice = np.zeros(len(view.offsets) - 1, bool)
    twice[row[order][1:][equal]] = True
    double = mine & twice
    fresh, alone = view.repeat == 0, np.diff(view.offsets) == 1
    rows = np.flatnonzero(mine & fresh & ~double & ~alone)
    whole = GroupRankings(view.offsets, unit, view.ranks, view.rater, units.prompt_of[first])
    left_out = (double & fresh, mine & ~fresh, mine & fresh & alone)
    counts = [np.bincount(code[which], minlength=groups) for which in left_out]
    return (_ranked_rows(whole, rows), code[rows]), counts[0], counts[1], counts[2]


def _read_ratings(
    study: Study, units: _Units, number: int, scale: Scale | None
) -> tuple[tuple[GroupRatings, Codes], Ints]:
    view, groups = study.ratings, len(units.group_labels)
    rows = np.flatnonzero(view.criterion == number)
    unit, code = units.of_item[view.item[rows]], units.group_of[view.item[rows]]
    there, first = (code >= 0) & (unit >= 0), view.repeat[rows] == 0
    usable = rows[there & first]
    value = view.value[usable]
    if scale is not None and not scale.higher_is_better:
        value = scale.low + scale.high - value
    part = GroupRatings(unit[there & first], value, view.rater[usable], units.prompt_of[view.item[usable]])
    return (part, code[there & first]), np.bincount(code[there & ~first], minlength=groups)


# -- fits --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupFit:
    """Latent scores of one group."""

    latent: Floats
    solver: str
    iterations: int
    gradient: float | None = None
    log_likelihood: float | None = None
    model: str | None = None
    """The model of comparisons whose probabilities the scores give; None where there is none."""
    per_logit: float = 1.0
    """Latent points per logit of that model."""
    tie: float | None = None
    tie_error: float | None = None
    errors: Errors | None = None
    """Of differences between items; None for methods without a likelihood."""
    unknown: str = "the method has none of its own"
    """Why there are no errors, where there are none."""
    value_se: Floats | None = None
    """Of the scores themselves, where their level is uncertain too (ratings); None: as `errors`."""
    value_df: Floats | None = None
    rated: bool = False
    """Whether the scores lie on the rating scale."""
    pairs: PairFit | None = None
    """The fit of a model of comparisons, from which a fit with fewer of them is one Newton step away."""
    plain: PairFit | None = None
    """The same without rating anchors, where a prior needs to know the group's level."""
    raters: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """What the method learned of each rater, by the names of RaterFigures."""
