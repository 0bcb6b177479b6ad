"""From a study's judgments to complete orders: who put the items of a group in which order.

Rankings, complete comparisons and ratings all become the same thing: for every answer (one rater, one group)
a row of scores, one per item of the group, higher = better, equal = tie. Everything the signal check computes
starts from these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.stats.compiled import compiled
from salon.study import Study

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Scores = NDArray[np.float32]
Bools = NDArray[np.bool_]
Filled = NDArray[np.uint8]
Protocol = Literal["rankings", "comparisons", "ratings"]
MOST_ITEMS = 60
"""Groups with more items than this are not turned into orders: C(p,2) votes a prompt would no longer fit."""


@dataclass(frozen=True)
class Answers:
    """Complete answers under one criterion and protocol, sorted by group and rater."""

    protocol: Protocol
    group: Ints
    """(N,) group of each answer."""
    rater: Ints
    """(N,) rater of each answer."""
    size: Ints
    """(N,) number of items in the answer's group."""
    scores: Scores
    """(N, largest size) higher = better; NaN beyond the group's size."""
    incomplete: int
    """Answers left out because they do not cover every item of their group."""
    intransitive: int
    """Complete sets of comparisons that are no order; wins rank the items and equal wins are ties."""
    too_large: int
    """Groups left out because they hold more than MOST_ITEMS items."""
    skipped: int
    """Judgments under this criterion the raters skipped with a reason."""
    ungrouped: int = 0
    """Ratings left out because their item belongs to no group."""

    def __len__(self) -> int:
        return len(self.group)

    @cached_property
    def ties(self) -> Ints:
        """(N,) item pairs of each answer that tie. NaN, beyond a group's size, ties with nothing."""
        ties = np.zeros(len(self), np.int32)
        _count_ties(self.scores, ties)
        return ties

    @cached_property
    def starts(self) -> Longs:
        """Where the answers of each group begin."""
        return np.flatnonzero(np.concatenate(([True], self.group[1:] != self.group[:-1])))[: len(self)]

    @property
    def tied(self) -> Bools:
        """(N,) does the answer hold at least one tie?"""
        return self.ties > 0

    @cached_property
    def tie_rate(self) -> float:
        """Share of item pairs within an answer that tie."""
        size = self.size.astype(np.int64)
        pairs = int((size * (size - 1) // 2).sum())
        return int(self.ties.sum(dtype=np.int64)) / pairs if pairs else 0.0


@dataclass(frozen=True)
class Shape:
    """Groups of p items answered by R raters, as strict ranks."""

    items: int
    raters: int
    ranks: NDArray[np.int8]
    """(n, R, p), 0 = best."""
    group: Ints
    """(n,)"""
    rater: Ints
    """(n, R)"""

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.group)

    @cached_property
    def panel(self) -> Ints | None:
        """The raters, in rising order, if the same ones answered for every group; else None."""
        return self.rater[0] if (self.rater == self.rater[0]).all() else None


def answers_rankings(study: Study, criterion: int) -> Answers:
    """Rankings that cover all judged items of their group."""
    view = study.rankings
    asked = (view.criterion == criterion) & (view.repeat == 0)
    if study.crowds.any():
        asked &= ~study.crowds[view.rater]
    every = bool(asked.all())
    rows: slice | Longs = slice(None) if every else np.flatnonzero(asked)
    starts, ends = view.offsets[:-1][rows], view.offsets[1:][rows]
    judged = view.items if every else view.items[np.repeat(asked, np.diff(view.offsets))]

    def fill(scores: Scores, filled: Filled, fits: Bools, position: Ints) -> None:
        _lay_rankings(scores, filled, fits, starts, ends, position, view.items, view.ranks)

    skipped = skipped_of(study, "rankings", criterion)
    return _complete(study, "rankings", view.group[rows], view.rater[rows], judged, fill, skipped)


def answers_ratings(study: Study, criterion: int) -> Answers:
    """Ratings of all judged items of a group by one rater, turned so that higher is better."""
    view = study.ratings
    asked = (view.criterion == criterion) & (view.repeat == 0) & ~study.crowds[view.rater]
    keep = np.flatnonzero(asked & (view.group >= 0))
    scale = study.criteria[criterion].scale
    sign = -1.0 if scale is not None and not scale.higher_is_better else 1.0
    group, rater, row = _rows(view.group[keep], view.rater[keep])
    item = view.item[keep]

    def fill(scores: Scores, filled: Filled, fits: Bools, position: Ints) -> None:
        _lay_single(scores, filled, fits, row, position, item, sign * view.value[keep])

    made = _complete(study, "ratings", group, rater, item, fill, skipped_of(study, "ratings", criterion))
    return replace(made, ungrouped=int(asked.sum()) - len(keep))


def answers_comparisons(study: Study, criterion: int) -> Answers:
    """Wins (ties half) of every item in one rater's comparisons, where the rater met every pair of the group."""
    view = study.comparisons
    keep = np.flatnonzero((view.criterion == criterion) & (view.repeat == 0) & ~study.crowds[view.rater])
    group, rater, row = _rows(view.group[keep], view.rater[keep])
    half = np.where(view.outcome[keep] > 1, np.float32(0.5), np.float32(0))
    a_wins = half + (view.outcome[keep] == 0)
    item = np.concatenate([view.a[keep], view.b[keep]])
    once, entry = np.unique(np.concatenate([row, row]) * np.int64(len(study.item_groups)) + item, return_inverse=True)
    wins = np.bincount(entry, weights=np.concatenate([a_wins, 1 - a_wins]), minlength=len(once))
    seen = np.bincount(entry, minlength=len(once))
    size = np.bincount((once // len(study.item_groups)).astype(np.int64), minlength=len(group))
    answer = (once // len(study.item_groups)).astype(np.int64)
    met_all = np.bincount(answer, weights=seen != size[answer] - 1, minlength=len(group)) == 0
    whole = met_all[answer]

    def fill(scores: Scores, filled: Filled, fits: Bools, position: Ints) -> None:
        met = (once % len(study.item_groups)).astype(np.int32)[whole]
        _lay_single(scores, filled, fits, answer[whole], position, met, wins[whole])

    made = _complete(study, "comparisons", group, rater, item, fill, skipped_of(study, "comparisons", criterion))
    tied_answers = set(np.unique(row[half > 0]).tolist())
    return _count_intransitive(made, group, rater, tied_answers)


def _count_intransitive(made: Answers, group: Ints, rater: Ints, tied: set[int]) -> Answers:
    """Answers without a single tied comparison whose wins still tie are intransitive."""
    stated = {(int(group[row]), int(rater[row])) for row in tied}
    loops = [
        1
        for g, r, bad in zip(made.group.tolist(), made.rater.tolist(), made.tied.tolist())
        if bad and (g, r) not in stated
    ]
    return replace(made, intransitive=len(loops))


def skipped_of(study: Study, kind: str, criterion: int) -> int:
    """Judgments of one kind and criterion that raters skipped with a reason."""
    table = study.table(kind)
    if "skipped" not in table.column_names:
        return 0
    named = study.codes("criteria", table.filter(pc.is_valid(table.column("skipped"))).column("criterion"))
    return int((named == criterion).sum())


def _rows(group: Ints, rater: Ints) -> tuple[Ints, Ints, Longs]:
    """Judgments of single items or pairs gathered into answers: group and rater of each answer, and each
    judgment's answer."""
    most = np.int64(rater.max()) + 1 if len(rater) else np.int64(1)
    once, row = np.unique(group.astype(np.int64) * most + rater, return_inverse=True)
    return (once // most).astype(np.int32), (once % most).astype(np.int32), row.astype(np.int64)


def _complete(
    study: Study,
    protocol: Protocol,
    group: Ints,
    rater: Ints,
    judged: Ints,
    fill: Callable[[Scores, Filled, Bools, Ints], None],
    skipped: int,
) -> Answers:
    """Lay the answers out as rows, one column for each judged item of their group, and keep the rows without a gap.

    `fill(scores, filled, fits, position)` writes answer a's score of item i to scores[a, position[i]] and counts it in
    filled[a], where fits[a].
    """
    position, sizes = _positions(study.item_groups, judged)
    size = sizes[group] if len(group) else np.zeros(0, np.int32)
    fits = (size <= MOST_ITEMS) & (size > 1)
    scores = np.full((len(group), int(size.max(where=fits, initial=1))), np.nan, np.float32)
    filled = np.zeros(len(group), np.uint8)
    fill(scores, filled, fits, position)
    full = fits & (filled == size)
    large = int((size > MOST_ITEMS).sum())
    if not full.all():
        group, rater, size = group[full], rater[full], size[full]
        scores = scores[full, : int(size.max(initial=1))]  # nobody may have answered the widest group in full
    order = _by_group_and_rater(group, rater)
    if order is not None:
        group, rater, size, scores = group[order], rater[order], size[order], scores[order]
    return Answers(
        protocol=protocol,
        group=group,
        rater=rater,
        size=size,
        scores=scores,
        incomplete=len(full) - len(group) - large,
        intransitive=0,
        too_large=int((sizes > MOST_ITEMS).sum()),
        skipped=skipped,
    )


def _positions(item_groups: Ints, judged: Ints) -> tuple[Ints, Ints]:
    """For every item its place among the judged items of its group (-1 if unjudged); and each group's size."""
    marked = np.zeros(len(item_groups), bool)
    marked[judged] = True
    items = np.flatnonzero(marked)
    groups = item_groups[items]
    if (groups[1:] < groups[:-1]).any():
        order = np.argsort(groups, kind="stable")
        items, groups = items[order], groups[order]
    sizes = np.bincount(groups, minlength=int(item_groups.max()) + 1 if len(item_groups) else 1).astype(np.int32)
    position = np.full(len(item_groups), -1, np.int32)
    position[items] = np.arange(len(items)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return position, sizes


@compiled
def _lay_rankings(scores, filled, fits, starts, ends, position, items, ranks):  # type: ignore[no-untyped-def]  # numba knows the types
    for a in range(len(fits)):
        if fits[a]:
            for e in range(starts[a], ends[a]):
                scores[a, position[items[e]]] = -ranks[e]
                filled[a] += 1


@compiled
def _lay_single(scores, filled, fits, answer, position, item, score):  # type: ignore[no-untyped-def]  # numba knows the types
    for e in range(len(item)):
        a = answer[e]
        if fits[a]:
            scores[a, position[item[e]]] = score[e]
            filled[a] += 1


@compiled
def _count_ties(scores, ties):  # type: ignore[no-untyped-def]  # numba knows the types
    for a in range(len(scores)):
        for i in range(scores.shape[1]):
            for j in range(i):
                ties[a] += scores[a, i] == scores[a, j]


def _by_group_and_rater(group: Ints, rater: Ints) -> Longs | None:
    """The order that sorts answers by group then rater, or None when they already stand so."""
    rising = (group[1:] > group[:-1]) | ((group[1:] == group[:-1]) & (rater[1:] >= rater[:-1]))
    return None if rising.all() else np.lexsort((rater, group))


def shapes(answers: Answers, *, ties: Literal["random", "stable"], rng: np.random.Generator) -> list[Shape]:
    """The groups by (items, raters), as strict ranks. Ties are broken at random, or (`stable`) by item order:
    the same for every rater, which manufactures agreement and is offered only to reproduce papers that did so."""
    if not len(answers):
        return []
    ranks = rank_rows(answers, ties=ties, rng=rng)
    first = np.flatnonzero(np.concatenate(([True], answers.group[1:] != answers.group[:-1])))
    raters = np.diff(np.append(first, len(answers)))
    sizes = answers.size[first].astype(np.int64)
    made = []
    for p, R in sorted({(int(code >> 32), int(code & 0xFFFFFFFF)) for code in np.unique(sizes << 32 | raters)}):
        if R < 2:
            continue
        of_shape = first[(sizes == p) & (raters == R)]
        if len(of_shape) * R == len(answers):  # all groups have this shape: nothing to pick out
            ranked, who = ranks.reshape(-1, R, p), answers.rater.reshape(-1, R)
        else:
            rows = of_shape[:, None] + np.arange(R)
            ranked, who = ranks[rows][:, :, :p], answers.rater[rows]
        made.append(Shape(items=p, raters=R, ranks=ranked, group=answers.group[of_shape], rater=who))
    return made


def rank_rows(answers: Answers, *, ties: Literal["random", "stable"], rng: np.random.Generator) -> NDArray[np.int8]:
    """(N, p) strict ranks of the scores, 0 = best."""
    return _ranks(answers.scores, answers.size, ties, rng)


def rank_scores(scores: Scores, *, ties: Literal["random", "stable"], rng: np.random.Generator) -> NDArray[np.int8]:
    """(N, p) strict ranks of score rows without gaps, 0 = best."""
    return _ranks(scores, np.full(len(scores), scores.shape[1], np.int32), ties, rng)


def _ranks(scores: Scores, size: Ints, ties: Literal["random", "stable"], rng: np.random.Generator) -> NDArray[np.int8]:
    ranks = np.empty(scores.shape, np.int8)
    seed = np.uint64(rng.integers(1, 2**63)) if ties == "random" else np.uint64(0)
    _rank(scores, size, seed, ranks)
    return ranks


@compiled
def _rank(scores, size, seed, ranks):  # type: ignore[no-untyped-def]  # numba knows the types
    """Rank = number of items above. Equal scores go by a key: random (xorshift) with a seed, else the item's place."""
    state = seed
    key = np.zeros(scores.shape[1], np.uint64)
    for r in range(len(scores)):
        for i in range(size[r]):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            key[i] = state if seed else np.uint64(i)
        for i in range(size[r]):
            above = 0
            for j in range(size[r]):
                if scores[r, j] > scores[r, i] or (scores[r, j] == scores[r, i] and key[j] < key[i]):
                    above += 1
            ranks[r, i] = above
