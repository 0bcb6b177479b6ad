"""Groups of items that the same raters both rated and compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.check.answers import MOST_ITEMS
from salon.stats import stability
from salon.study import Study

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_ITEMS, LEAST_RATERS = 4, 2
BOTH_BAD = 3
TIERS = {"high": 2, "medium": 1, "low": 0}


@dataclass(frozen=True)
class Matched:
    """One group under one criterion and both protocols, by the raters who answered for all of its items."""

    criterion: int
    group: int
    items: Ints
    """Their numbers in the study."""
    raters: NDArray[np.int32]
    ratings: Floats
    """(raters, items) higher is better."""
    elo: Floats
    """(raters, items) each rater's own Elo ranking of the items they compared."""
    first: Ints
    second: Ints
    """Places of the compared items, 0 to n - 1."""
    outcome: Floats
    """1 first is better, 1/2 tie, 0 second is better."""
    rater: Ints
    """Who compared, 0 to R - 1."""
    tiers: Ints
    """2 high, 1 medium, 0 low, -1 none."""


def matched_groups(study: Study, *, seed: int) -> Iterator[Matched]:
    """Every matched group of every criterion: first answers only, crowds and "both bad" left out."""
    ratings, comparisons = study.ratings, study.comparisons
    tiers = _tiers(study)
    for criterion in range(len(study.criteria)):
        rng = np.random.default_rng([seed, criterion])
        rated = np.flatnonzero((ratings.criterion == criterion) & (ratings.repeat == 0))
        first = (comparisons.criterion == criterion) & (comparisons.repeat == 0)
        compared = np.flatnonzero(first & (comparisons.outcome != BOTH_BAD))
        for group in np.intersect1d(ratings.group[rated], comparisons.group[compared]).tolist():
            rows = rated[ratings.group[rated] == group], compared[comparisons.group[compared] == group]
            one = _match(study, criterion, group, *rows, tiers, rng)
            if one is not None:
                yield one


def _match(
    study: Study, criterion: int, group: int, rated: Ints, compared: Ints, tiers: Ints, rng: np.random.Generator
) -> Matched | None:
    """The group's items and those of its raters who answered for all of them under both protocols."""
    r, c = study.ratings, study.comparisons
    items = np.intersect1d(r.item[rated], np.concatenate([c.a[compared], c.b[compared]]))
    raters = np.intersect1d(r.rater[rated], c.rater[compared])
    raters = raters[~study.crowds[raters]]
    if not LEAST_ITEMS <= len(items) <= 20 * MOST_ITEMS or len(raters) < LEAST_RATERS:
        return None
    scores = _scores(study, criterion, rated, items, raters)
    rows = compared[np.isin(c.a[compared], items) & np.isin(c.b[compared], items) & np.isin(c.rater[compared], raters)]
    who, a, b = (np.searchsorted(*pair) for pair in ((raters, c.rater[rows]), (items, c.a[rows]), (items, c.b[rows])))
    met = np.zeros(scores.shape, bool)
    met[who, a] = met[who, b] = True
    whole = np.asarray(np.isfinite(scores).all(axis=1) & met.all(axis=1))
    if whole.sum() < LEAST_RATERS:
        return None
    keep = whole[who]
    outcome = np.array([1.0, 0.0, 0.5])[c.outcome[rows][keep]]
    who = np.cumsum(whole)[who[keep]] - 1
    elo = stability.rater_elo(a[keep], b[keep], outcome, who, len(items), rng=rng)
    return Matched(
        criterion, group, items, raters[whole], scores[whole], elo, a[keep], b[keep], outcome, who, tiers[items]
    )


def _scores(study: Study, criterion: int, rated: Ints, items: Ints, raters: NDArray[np.int32]) -> Floats:
    """Ratings (raters, items), turned where low is good, NaN where one is missing."""
    r = study.ratings
    known = rated[np.isin(r.item[rated], items) & np.isin(r.rater[rated], raters)]
    scale = study.criteria[criterion].scale
    sign = -1.0 if scale is not None and not scale.higher_is_better else 1.0
    scores = np.full((len(raters), len(items)), np.nan)
    scores[np.searchsorted(raters, r.rater[known]), np.searchsorted(items, r.item[known])] = sign * r.value[known]
    return scores


def _tiers(study: Study) -> Ints:
    table = study.table("items")
    if "tier" not in table.column_names:
        return np.full(table.num_rows, -1)
    return np.array([TIERS.get(tier, -1) for tier in table.column("tier").to_pylist()])
