"""Whether items or their generators are scored, where nobody said.

An arena shows two of many generators under each of many prompts, once. Scores of the items of one prompt then rest on a
vote or two, or do not hang together at all, while the generators met under hundreds of prompts: they are what such
votes can order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from salon.fuse.groups import BOTH_BAD, Codes, item_column
from salon.fuse.settings import FuseSettings
from salon.study import Study

FEWEST_PROMPTS = 5
"""Prompts from which generators can stand for their items: fewer say little about a generator."""


@dataclass(frozen=True)
class Unit:
    """What is scored, and in words why, where it was not asked for."""

    by: Literal["item", "generator"]
    reason: str = ""


def choose_by(study: Study, settings: FuseSettings, criteria: Sequence[str]) -> Unit:
    """What was asked for; else generators where comparisons hold most prompts too loosely to order their items."""
    if settings.by != "auto":
        return Unit(settings.by)
    item = Unit("item")
    if study.compare_within != "prompt" or len(study.rankings) or len(study.ratings):
        return item
    names, generator = item_column(study, "generator")
    view = study.comparisons
    wanted = [n for n, criterion in enumerate(study.criteria) if not criteria or criterion.id in criteria]
    rows = np.isin(view.criterion, wanted) & (view.repeat == 0) & (view.outcome != BOTH_BAD)
    a, b, criterion = view.a[rows], view.b[rows], view.criterion[rows]
    if len(names) < 2 or not len(a) or (generator[a] < 0).any() or (generator[b] < 0).any():
        return item
    loose = prompts = 0
    for number in np.unique(criterion):
        of = criterion == number
        first, second = generator[a[of]], generator[b[of]]
        if _parts(np.unique(np.concatenate([first, second])), first, second) > 1:
            return item  # generators would not share a scale either
        held = _held_prompts(study.item_groups, a[of], b[of])
        loose, prompts = loose + int((~held).sum()), prompts + len(held)
    met = len(np.unique(generator[np.concatenate([a, b])]))
    items = len(np.unique(np.concatenate([a, b])))
    if prompts < FEWEST_PROMPTS or loose * 2 <= prompts or items < 2 * met:
        return item
    return Unit(
        "generator",
        f"scores are of the {met} generators: under {loose:,} of {prompts:,} prompts the items were compared once or "
        "are not connected (--by item scores items all the same)",
    )


def _held_prompts(group_of: Codes, a: Codes, b: Codes) -> np.ndarray:
    """For each prompt with comparisons: do these connect its items, and are there as many as items?"""
    items = np.unique(np.concatenate([a, b]))
    place = np.searchsorted(items, a), np.searchsorted(items, b)
    graph = sparse.coo_array((np.ones(len(a)), place), shape=(len(items), len(items)))
    _, part = csgraph.connected_components(graph, directed=False)
    groups, of_item = np.unique(group_of[items], return_inverse=True)
    parts = np.bincount(np.unique(np.stack([of_item, part]), axis=1)[0], minlength=len(groups))
    votes = np.bincount(of_item[place[0]], minlength=len(groups))
    return np.asarray((parts == 1) & (votes >= np.bincount(of_item, minlength=len(groups))))


def _parts(units: Codes, a: Codes, b: Codes) -> int:
    """Into how many parts the comparisons a, b hold the units together."""
    place = np.searchsorted(units, a), np.searchsorted(units, b)
    graph = sparse.coo_array((np.ones(len(a)), place), shape=(len(units), len(units)))
    return int(csgraph.connected_components(graph, directed=False)[0])
