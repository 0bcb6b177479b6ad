"""What an anchor is drawn from: the answers of a study as one matrix for each group of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import TooFew, UnknownReference
from salon.study import Study
from salon.study.noun import Noun


class AnchorSettings(Noun):
    """How `salon anchor` draws."""

    items: int = Field(4, ge=2, le=12, description="Items per draw (p).")
    raters: int = Field(5, ge=2, le=100, description="Raters per draw (R).")
    ties: Literal["random", "stable"] = Field(
        "random",
        description="How ties become strict orders: at random, afresh in every draw; or by item order, the same for "
        "every rater, which manufactures agreement (only to reproduce papers that did so).",
    )
    draws: int = Field(20_000, ge=100, le=2_000_000, description="Draws of R raters and p items.")
    draw_by: Literal["panels", "items"] = Field(
        "panels",
        description="In a catalogue without prompts: raters first, then items they share; or items first, then raters "
        "who judged them all. The same where every rater judged every item.",
    )
    top_items: int = Field(100, ge=2, description="In a catalogue without prompts, only the most judged items.")
    top_generators: int | None = Field(None, ge=2, description="Keep only this many generators, the best by mean rank.")
    photographs: Literal["drop", "keep"] = Field(
        "drop", description="Photographs among generated pictures, as in the test set of HPDv2: left out, or kept."
    )
    drop: tuple[str, ...] = Field((), description="Leave out items of this generator or source (repeatable).")
    criterion: str | None = Field(None, description="Which criterion, when the file holds several.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")


@dataclass(frozen=True)
class GroupScores:
    """One group's answers: (raters, items), higher = better, NaN where a rater did not judge an item."""

    group: int
    scores: NDArray[np.float32]


Ints = NDArray[np.int32]
Floats = NDArray[np.int32] | NDArray[np.float64]
"""Scores: places are whole numbers, ratings need not be."""
Entries = tuple[Ints, Ints, Ints, Floats]


def score_groups(study: Study, criterion: int, settings: AnchorSettings) -> list[GroupScores]:
    """Score matrices of every group, from whichever protocol the criterion has (rankings before ratings)."""
    group, rater, item, score = _entries(study, criterion)
    keep = ~np.isin(item, _dropped(study, settings)) & ~study.crowds[rater] & (group >= 0)
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
        groups.append(GroupScores(int(group[start]), _matrix(rater[part], item[part], score[part], settings)))
    return groups


def _entries(study: Study, criterion: int) -> Entries:
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


def _matrix(rater: Ints, item: Ints, score: Floats, settings: AnchorSettings) -> NDArray[np.float32]:
    raters, row = np.unique(rater, return_inverse=True)
    items, column, judged = np.unique(item, return_inverse=True, return_counts=True)
    most = np.argsort(-judged, kind="stable")[: settings.top_items]
    place = np.full(len(items), -1)
    place[np.sort(most)] = np.arange(len(most))  # item order is kept: `stable` breaks ties by it
    kept = place[column] >= 0
    matrix = np.full((len(raters), len(most)), np.nan, np.float32)
    matrix[row[kept], place[column[kept]]] = score[kept]
    return matrix


def _dropped(study: Study, settings: AnchorSettings) -> NDArray[np.int64]:
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
    found = np.array([source == "photograph" for source in table.column("source").cast("string").to_pylist()], bool)
    return found & ~found.all()


def _top_generators(study: Study, item: Ints, group: Ints, rater: Ints, score: Floats, most: int) -> NDArray[np.int64]:
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
    named = of >= 0
    counts = np.bincount(of[named], minlength=len(column.dictionary))
    mean = np.bincount(of[named], weights=rank[named], minlength=len(column.dictionary)) / np.maximum(counts, 1)
    mean[counts == 0] = np.inf
    return np.flatnonzero(np.isin(code, np.argsort(mean, kind="stable")[:most]))
