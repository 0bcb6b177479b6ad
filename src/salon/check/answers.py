"""From a study's judgments to complete orders: who put the items of a group in which order.

Rankings, complete comparisons and ratings all become the same thing: for every answer (one rater, one group)
a row of scores, one per item of the group, higher = better, equal = tie. Everything the signal check computes
starts from these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray

from salon.study import Study
from salon.study.views import Comparisons, Rankings, Ratings

Protocol = Literal["rankings", "comparisons", "ratings"]
PROTOCOLS: tuple[Protocol, ...] = ("rankings", "comparisons", "ratings")
MOST_ITEMS = 60
"""Groups with more items than this are not turned into orders: C(p,2) votes a prompt would no longer fit."""


@dataclass(frozen=True)
class Answers:
    """Complete answers under one criterion and protocol, sorted by group and rater."""

    protocol: Protocol
    group: NDArray[np.int32]
    """(N,) group of each answer."""
    rater: NDArray[np.int32]
    """(N,) rater of each answer."""
    size: NDArray[np.int32]
    """(N,) number of items in the answer's group."""
    scores: NDArray[np.float32]
    """(N, largest size) higher = better; NaN beyond the group's size."""
    incomplete: int
    """Answers left out because they do not cover every item of their group."""
    intransitive: int
    """Complete sets of comparisons that are no order; wins rank the items and equal wins are ties."""
    too_large: int
    """Groups left out because they hold more than MOST_ITEMS items."""
    skipped: int
    """Judgments the raters skipped with a reason."""

    def __len__(self) -> int:
        return len(self.group)

    @cached_property
    def tied(self) -> NDArray[np.bool_]:
        """(N,) does the answer hold at least one tie?"""
        return _has_ties(self.scores, self.size)

    @cached_property
    def tie_rate(self) -> float:
        """Share of item pairs within an answer that tie."""
        tied, pairs = _tied_pairs(self.scores, self.size)
        return tied / pairs if pairs else 0.0


@dataclass(frozen=True)
class Shape:
    """Groups of p items answered by R raters, as strict ranks."""

    items: int
    raters: int
    ranks: NDArray[np.int8]
    """(n, R, p), 0 = best."""
    group: NDArray[np.int32]
    """(n,)"""
    rater: NDArray[np.int32]
    """(n, R)"""

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.group)


def answers_rankings(study: Study, criterion: int) -> Answers:
    """Rankings that cover all judged items of their group."""
    view = study.rankings
    rows = np.flatnonzero((view.criterion == criterion) & (view.repeat == 0) & ~study.crowds[view.rater])
    lengths = np.diff(view.offsets)[rows]
    entry = _entries(view, rows, lengths)
    return _complete(
        study,
        "rankings",
        group=view.group[rows],
        rater=view.rater[rows],
        row=np.repeat(np.arange(len(rows), dtype=np.int32), lengths),
        item=view.items[entry],
        score=-view.ranks[entry],
        skipped=view.skipped,
    )


def _entries(view: Rankings, rows: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """Where the items of `rows` stand in the view's flat arrays."""
    if len(rows) == len(view):
        return slice(None)
    starts = np.repeat(view.offsets[rows] - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return starts + np.arange(len(starts))


def answers_ratings(study: Study, criterion: int) -> Answers:
    """Ratings of all judged items of a group by one rater, turned so that higher is better."""
    view: Ratings = study.ratings
    keep = np.flatnonzero((view.criterion == criterion) & (view.repeat == 0) & ~study.crowds[view.rater])
    scale = study.criteria[criterion].scale
    sign = -1.0 if scale is not None and not scale.higher_is_better else 1.0
    group, rater, row = _rows(view.group[keep], view.rater[keep])
    return _complete(
        study,
        "ratings",
        group=group,
        rater=rater,
        row=row,
        item=view.item[keep],
        score=(sign * view.value[keep]).astype(np.float32),
        skipped=view.skipped,
    )


def answers_comparisons(study: Study, criterion: int) -> Answers:
    """Wins (ties half) of every item in one rater's comparisons, where the rater met every pair of the group."""
    view: Comparisons = study.comparisons
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
    made = _complete(
        study,
        "comparisons",
        group=group,
        rater=rater,
        row=answer[whole],
        item=(once % len(study.item_groups)).astype(np.int32)[whole],
        score=wins[whole].astype(np.float32),
        skipped=view.skipped,
        judged=item,
    )
    tied_answers = set(np.unique(row[half > 0]).tolist())
    return _count_intransitive(made, group, rater, tied_answers)


def _count_intransitive(made: Answers, group: NDArray[np.int32], rater: NDArray[np.int32], tied: set[int]) -> Answers:
    """Answers without a single tied comparison whose wins still tie are intransitive."""
    stated = {(int(group[row]), int(rater[row])) for row in tied}
    loops = [
        1
        for g, r, bad in zip(made.group.tolist(), made.rater.tolist(), made.tied.tolist())
        if bad and (g, r) not in stated
    ]
    return replace(made, intransitive=len(loops))


def _rows(
    group: NDArray[np.int32], rater: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Judgments of single items or pairs gathered into answers: group and rater of each answer, and each
    judgment's answer."""
    most = np.int64(rater.max()) + 1 if len(rater) else np.int64(1)
    once, row = np.unique(group.astype(np.int64) * most + rater, return_inverse=True)
    return (once // most).astype(np.int32), (once % most).astype(np.int32), row.astype(np.int64)


def _complete(
    study: Study,
    protocol: Protocol,
    *,
    group: NDArray[np.int32],
    rater: NDArray[np.int32],
    row: NDArray[np.int64] | NDArray[np.int32],
    item: NDArray[np.int32],
    score: NDArray[np.float32] | NDArray[np.int32],
    skipped: int,
    judged: NDArray[np.int32] | None = None,
) -> Answers:
    """Lay the entries out as one row per answer and keep the rows without a gap."""
    position, sizes = _positions(study.item_groups, item if judged is None else judged)
    large = int((sizes > MOST_ITEMS).sum())
    fits = np.flatnonzero((sizes[group] <= MOST_ITEMS) & (sizes[group] > 1)) if len(group) else np.zeros(0, np.int64)
    width = int(sizes[group[fits]].max()) if len(fits) else 1
    place = np.full(len(group), -1, np.int64)
    place[fits] = np.arange(len(fits))
    scores = np.full((len(fits), width), np.nan, np.float32)
    filled = np.zeros(len(fits), np.int32)
    _scatter(scores, filled, place, row, position, item, score)
    size = sizes[group[fits]].astype(np.int32)
    full = filled == size
    order = _by_group_and_rater(group[fits][full], rater[fits][full])
    chosen = np.flatnonzero(full) if order is None else np.flatnonzero(full)[order]
    return Answers(
        protocol=protocol,
        group=group[fits][chosen],
        rater=rater[fits][chosen],
        size=size[chosen],
        scores=scores if len(chosen) == len(scores) and order is None else scores[chosen],
        incomplete=len(group) - int(full.sum()) - int((sizes[group] > MOST_ITEMS).sum()) if len(group) else 0,
        intransitive=0,
        too_large=large,
        skipped=skipped,
    )


def _positions(
    item_groups: NDArray[np.int32], judged: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For every item its place among the judged items of its group (-1 if unjudged); and each group's size."""
    position = np.full(len(item_groups), -1, np.int32)
    sizes = np.zeros(int(item_groups.max()) + 1 if len(item_groups) else 1, np.int32)
    _number_items(item_groups, judged, position, sizes)
    return position, sizes


@numba.njit(cache=True)
def _number_items(item_groups, judged, position, sizes):  # type: ignore[no-untyped-def]
    for i in judged:
        position[i] = 0
    for i in range(len(item_groups)):
        if position[i] == 0:
            position[i] = sizes[item_groups[i]]
            sizes[item_groups[i]] += 1


@numba.njit(cache=True)
def _scatter(scores, filled, place, row, position, item, score):  # type: ignore[no-untyped-def]
    for e in range(len(item)):
        r = place[row[e]]
        if r >= 0:
            scores[r, position[item[e]]] = score[e]
            filled[r] += 1


def _by_group_and_rater(group: NDArray[np.int32], rater: NDArray[np.int32]) -> NDArray[np.int64] | None:
    """The order that sorts answers by group then rater, or None when they already stand so."""
    key = group.astype(np.int64) * (int(rater.max()) + 1 if len(rater) else 1) + rater
    return None if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")


@numba.njit(cache=True)
def _has_ties(scores, size):  # type: ignore[no-untyped-def]
    tied = np.zeros(len(scores), np.bool_)
    for r in range(len(scores)):
        for i in range(size[r]):
            for j in range(i):
                if scores[r, i] == scores[r, j]:
                    tied[r] = True
    return tied


@numba.njit(cache=True)
def _tied_pairs(scores, size):  # type: ignore[no-untyped-def]
    tied = 0
    pairs = 0
    for r in range(len(scores)):
        for i in range(size[r]):
            for j in range(i):
                tied += scores[r, i] == scores[r, j]
                pairs += 1
    return tied, pairs


def shapes(answers: Answers, *, ties: Literal["random", "stable"], rng: np.random.Generator) -> list[Shape]:
    """The groups by (items, raters), as strict ranks. Ties are broken at random, or (`stable`) by item order:
    the same for every rater, which manufactures agreement and is offered only to reproduce papers that did so."""
    if not len(answers):
        return []
    ranks = rank_rows(answers, ties=ties, rng=rng)
    first = np.flatnonzero(np.concatenate(([True], answers.group[1:] != answers.group[:-1])))
    raters = np.diff(np.append(first, len(answers)))
    made = []
    for p, R in sorted(set(zip(answers.size[first].tolist(), raters.tolist()))):
        if R < 2:
            continue
        of_shape = first[(answers.size[first] == p) & (raters == R)]
        rows = of_shape[:, None] + np.arange(R)
        whole = len(of_shape) * R == len(answers) and ranks.shape[1] == p
        made.append(
            Shape(
                items=p,
                raters=R,
                ranks=ranks.reshape(len(of_shape), R, p) if whole else ranks[rows][:, :, :p],
                group=answers.group[of_shape],
                rater=answers.rater[rows],
            )
        )
    return made


def rank_rows(answers: Answers, *, ties: Literal["random", "stable"], rng: np.random.Generator) -> NDArray[np.int8]:
    """(N, p) strict ranks of the scores, 0 = best."""
    return _ranks(answers.scores, answers.size, ties, rng)


def rank_scores(
    scores: NDArray[np.float32], *, ties: Literal["random", "stable"], rng: np.random.Generator
) -> NDArray[np.int8]:
    """(N, p) strict ranks of score rows without gaps, 0 = best."""
    return _ranks(scores, np.full(len(scores), scores.shape[1], np.int32), ties, rng)


def _ranks(scores, size, ties, rng):  # type: ignore[no-untyped-def]
    ranks = np.empty(scores.shape, np.int8)
    seed = np.uint64(rng.integers(1, 2**63)) if ties == "random" else np.uint64(0)
    _rank(scores, size, seed, ranks)
    return ranks


@numba.njit(cache=True)
def _rank(scores, size, seed, ranks):  # type: ignore[no-untyped-def]
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
