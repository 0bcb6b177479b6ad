"""Draws of R raters and p items for a reference anchor, from the answers of a study.

A catalogue is one group of items (ten sushi, the films of a site). A draw is a panel of R different raters and p items
that all of them judged. `panels` draws raters first and takes p of the items they share; panels that share too few are
drawn again. `items` draws p items first and takes R of the raters who judged them all. Without gaps the two are the
same law; with gaps the first favors raters who judged much, the second asks about every set of items alike.

With several groups (prompts) raters and items are drawn inside a group, and draws of a group belong together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.check.settings import AnchorSettings
from salon.errors import TooFew, UnknownReference
from salon.study import Study


@dataclass(frozen=True)
class AnchorGroup:
    """One group's answers: (raters, items), higher = better, NaN where a rater did not judge an item."""

    group: int
    scores: NDArray[np.float32]


Codes = NDArray[np.int32]
ScoreColumn = NDArray[np.int32] | NDArray[np.float64]
"""Scores: places are whole numbers, ratings need not be."""
Entries = tuple[Codes, Codes, Codes, ScoreColumn]


def score_groups(study: Study, criterion: int, settings: AnchorSettings) -> list[AnchorGroup]:
    """Score matrices of every group, from whichever protocol the criterion has (rankings before ratings)."""
    group, rater, item, score = _score_entries(study, criterion)
    keep = ~np.isin(item, _dropped_items(study, settings)) & ~study.crowds[rater] & (group >= 0)
    group, rater, item, score = group[keep], rater[keep], item[keep], score[keep]
    if settings.top_generators is not None and len(group):
        keep = np.isin(item, _top_generators(study, item, group, rater, score, settings.top_generators))
        group, rater, item, score = group[keep], rater[keep], item[keep], score[keep]
    order = np.lexsort((item, rater, group))
    group, rater, item, score = group[order], rater[order], item[order], score[order]
    starts = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1]))) if len(group) else np.zeros(0, int)
    groups = []
    for start, end in zip(starts, np.append(starts[1:], len(group))):
        part = slice(start, end)
        groups.append(AnchorGroup(int(group[start]), _matrix(rater[part], item[part], score[part], settings)))
    return groups


def _score_entries(study: Study, criterion: int) -> Entries:
    """group, rater, item and score (higher = better) of every judged item."""
    rankings = study.rankings
    rows = np.flatnonzero((rankings.criterion == criterion) & (rankings.repeat == 0))
    if len(rows):
        lengths = np.diff(rankings.offsets)
        chosen = np.repeat(np.isin(np.arange(len(rankings)), rows), lengths)
        row = np.repeat(np.arange(len(rankings)), lengths)[chosen]
        return rankings.group[row], rankings.rater[row], rankings.items[chosen], -rankings.ranks[chosen]
    ratings = study.ratings
    rows = np.flatnonzero((ratings.criterion == criterion) & (ratings.repeat == 0))
    scale = study.criteria[criterion].scale
    sign = -1 if scale is not None and not scale.higher_is_better else 1
    if len(rows):
        return ratings.group[rows], ratings.rater[rows], ratings.item[rows], sign * ratings.value[rows]
    raise TooFew(
        "an anchor needs rankings or ratings",
        found="only comparisons or other judgments",
        where=f"study {study.name!r}",
        remedy="run salon check on the study itself",
    )


def _matrix(rater: Codes, item: Codes, score: ScoreColumn, settings: AnchorSettings) -> NDArray[np.float32]:
    raters, row = np.unique(rater, return_inverse=True)
    items, column, judgments = np.unique(item, return_inverse=True, return_counts=True)
    most = np.argsort(-judgments, kind="stable")[: settings.top_items]
    place = np.full(len(items), -1)
    place[np.sort(most)] = np.arange(len(most))  # item order is kept: `stable` breaks ties by it
    in_matrix = place[column] >= 0
    matrix = np.full((len(raters), len(most)), np.nan, np.float32)
    matrix[row[in_matrix], place[column[in_matrix]]] = score[in_matrix]
    return matrix


def _dropped_items(study: Study, settings: AnchorSettings) -> NDArray[np.int64]:
    """Items of the generators or sources to leave out."""
    table = study.table("items")
    hit = np.zeros(table.num_rows, bool)
    for name in ("generator", "source") if settings.drop else ():
        if name in table.column_names:
            hit |= np.isin(np.array(table.column(name).cast("string").to_pylist(), object), settings.drop)
    if settings.drop and not hit.any():
        raise UnknownReference("items to drop must exist", found=", ".join(settings.drop), where="generator or source")
    if settings.photographs == "drop":
        hit |= photographs(study)
    return np.flatnonzero(hit)


def photographs(study: Study) -> NDArray[np.bool_]:
    """Items that are photographs, in a study that has other pictures too."""
    table = study.table("items")
    if "source" not in table.column_names:
        return np.zeros(table.num_rows, bool)
    is_photograph = np.array(
        [source == "photograph" for source in table.column("source").cast("string").to_pylist()], bool
    )
    return is_photograph & ~is_photograph.all()


def _top_generators(
    study: Study, item: Codes, group: Codes, rater: Codes, score: ScoreColumn, most: int
) -> NDArray[np.int64]:
    """Items of the `most` generators with the best mean rank within a rater's answer."""
    table = study.table("items")
    if "generator" not in table.column_names:
        raise UnknownReference("--top-generators needs items that name their generator", found="none do")
    column = table.column("generator").combine_chunks()
    code = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    order = np.lexsort((-score, rater, group))
    starts = np.concatenate(([True], (np.diff(group[order]) != 0) | (np.diff(rater[order]) != 0)))
    first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
    rank = np.arange(len(order)) - first
    of = code[item[order]]
    has_generator = of >= 0
    counts = np.bincount(of[has_generator], minlength=len(column.dictionary))
    mean = np.bincount(of[has_generator], weights=rank[has_generator], minlength=len(column.dictionary)) / np.maximum(
        counts, 1
    )
    mean[counts == 0] = np.inf
    return np.flatnonzero(np.isin(code, np.argsort(mean, kind="stable")[:most]))


# -- draws -------------------------------------------------------------------------------------------------------------

ScoreMatrix = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_TRIES = 4_000_000
"""Panels, or sets of items, that are tried before the usable ones have to do."""
MOST_CELLS = 20_000_000
MOST_PROMPT_TRIES = 50
"""Panels of a prompt that share too few items are drawn again this often before the prompt is given up."""


@dataclass(frozen=True)
class AnchorDraws:
    """What was drawn."""

    scores: ScoreMatrix
    """(n, R, p), higher = better."""
    cluster: Ints
    """(n,) the prompt of each draw; zeros in a catalogue."""
    raters: Ints | None
    """(n, R) who was drawn, in a catalogue; None with prompts."""
    tried: int
    """Panels or sets of items that were drawn, usable or not; prompts, where there are several."""
    usable: int
    """Of those, how many could give a draw."""

    @property
    def panels(self) -> int:
        """Different panels of raters; 0 where they were not followed."""
        return 0 if self.raters is None else len(np.unique(np.sort(self.raters, axis=1), axis=0))


def draw_catalogue(
    scores: ScoreMatrix, draws: int, R: int, p: int, by: str, rng: np.random.Generator, most_tries: int = MOST_TRIES
) -> AnchorDraws | None:
    """`draws` draws from one group's scores (raters, items), NaN where there is none; None where no draw can be."""
    has_score = np.isfinite(scores)
    count, size = has_score.shape
    if count < R or size < p:
        return None
    if has_score.all():
        raters, items = choose(rng, count, R, draws), np.sort(choose(rng, size, p, draws), axis=1)
        return _draws(scores, raters, items, draws, draws)
    if by == "panels":
        panels, tried = _usable_rows(has_score, R, p, draws, rng, most_tries)
    else:
        panels, tried = _usable_rows(has_score.T, p, R, draws, rng, most_tries)
    usable = len(panels)
    if not usable:
        return None
    panels = np.resize(panels, (draws, panels.shape[1]))  # too few usable ones are used again
    if by == "items":
        sets = np.sort(panels, axis=1)
        return _draws(scores, _raters_of(has_score, sets, R, rng), sets, tried, usable)
    parts = []
    for rows in np.array_split(panels, -(-panels.size * size // MOST_CELLS)):
        shared = has_score[rows].all(axis=1)
        keys = np.where(shared, rng.random(shared.shape), 2.0)  # every set of p shared items is as likely
        parts.append(np.sort(np.argpartition(keys, p - 1, axis=1)[:, :p], axis=1))
    return _draws(scores, panels, np.concatenate(parts), tried, usable)


def _raters_of(has_score: Bools, sets: Ints, R: int, rng: np.random.Generator) -> Ints:
    """(n, R): for each set of items R of the raters who judged them all."""
    columns = np.ascontiguousarray(has_score.T)
    different, of = np.unique(sets, axis=0, return_inverse=True)
    panels = np.empty((len(sets), R), np.int64)
    rows = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    for items, members in zip(different, rows):
        raters = np.flatnonzero(columns[items].all(axis=0))
        panels[members] = raters[choose(rng, len(raters), R, len(members))]
    return panels


def _draws(scores: ScoreMatrix, raters: Ints, items: Ints, tried: int, usable: int) -> AnchorDraws:
    panels = scores[raters[:, :, None], items[:, None, :]]
    return AnchorDraws(panels, np.zeros(len(panels), np.int64), raters, tried, usable)


def _usable_rows(
    has_score: Bools, size: int, least: int, draws: int, rng: np.random.Generator, most_tries: int
) -> tuple[Ints, int]:
    """Up to `draws` sets of `size` rows that share `least` columns or more, and how many were tried."""
    bits = np.packbits(has_score, axis=1)
    batches: list[Ints] = []
    collected = tried = 0
    while collected < draws and tried < most_tries:
        batch = choose(rng, len(has_score), size, min(20_000, most_tries - tried))
        shared = np.bitwise_count(np.bitwise_and.reduce(bits[batch], axis=1)).sum(axis=1, dtype=np.int64)
        good = np.flatnonzero(shared >= least)
        if collected + len(good) >= draws:
            good = good[: draws - collected]
            tried += int(good[-1]) + 1
        else:
            tried += len(batch)
        batches.append(batch[good])
        collected += len(good)
    return np.concatenate(batches), tried


def draw_prompts(
    groups: Sequence[ScoreMatrix], draws: int, R: int, p: int, rng: np.random.Generator
) -> AnchorDraws | None:
    """As many draws from every prompt; None where no prompt can give one.

    As in a check, a rater counts in a prompt when they judged all of it; where that leaves no prompt, whatever items a
    panel shares are taken.
    """
    whole = [scores[np.isfinite(scores).all(axis=1)] for scores in groups]
    fit = [scores for scores in whole if len(scores) >= R and scores.shape[1] >= p]
    per_prompt = -(-draws // max(len(fit), 1))
    parts = [_draw_complete(scores, per_prompt, R, p, rng) for scores in fit]
    if not parts:
        per_prompt = -(-draws // max(len(groups), 1))
        parts = [np.array(list(_draw_shared(scores, per_prompt, R, p, rng)), np.float32) for scores in groups]
    parts = [part for part in parts if len(part)]
    if not parts:
        return None
    cluster = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return AnchorDraws(np.concatenate(parts), cluster, None, len(groups), len(parts))


def _draw_complete(scores: ScoreMatrix, count: int, R: int, p: int, rng: np.random.Generator) -> ScoreMatrix:
    """`count` draws from a matrix without gaps; items keep their order."""
    raters = choose(rng, scores.shape[0], R, count)
    items = np.sort(choose(rng, scores.shape[1], p, count), axis=1)
    return scores[raters[:, :, None], items[:, None, :]]


def _draw_shared(scores: ScoreMatrix, count: int, R: int, p: int, rng: np.random.Generator) -> Iterator[ScoreMatrix]:
    """Up to `count` draws of R raters and p of the items they share."""
    for _ in range(count * (len(scores) >= R)):
        for _ in range(MOST_PROMPT_TRIES):
            panel = scores[rng.permutation(len(scores))[:R]]
            shared = panel[:, np.isfinite(panel).all(axis=0)]
            if shared.shape[1] >= p:
                yield _draw_complete(shared, 1, R, p, rng)[0]
                break
        else:
            return


def choose(rng: np.random.Generator, of: int, k: int, times: int) -> Ints:
    """(times, k): k different numbers below `of`, in random order, `times` times."""
    if of <= 8 * k:
        return rng.random((times, of)).argsort(axis=1)[:, :k]
    numbers = rng.integers(0, of, (times, k))
    while True:
        ordered = np.sort(numbers, axis=1)
        again = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(again):
            return numbers
        numbers[again] = rng.integers(0, of, (len(again), k))
