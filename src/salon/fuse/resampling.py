"""Errors for methods without a likelihood of their own: leave out a cluster, fit again.

Clusters are raters, prompts or random blocks of answers. Raters who never answer in the same group form separate
strata (five painters for landscapes, five others for portraits). With C clusters in a stratum and the value theta_(c)
of the fit without cluster c,

    variance = sum over strata of (C - 1)/C * sum_c (theta_(c) - mean theta_(.))^2

which for a mean over raters is exactly the squared standard error of the t test, with C - 1 degrees of freedom; over
several strata the degrees of freedom are Satterthwaite's. More than MOST_FOLDS clusters are left out in as many
random blocks (the delete-a-group jackknife, Kott 2001), so that a fit is repeated at most MOST_FOLDS times a stratum.

Over raters and prompts at once (`both`) the same is done with raters, with prompts and with cells (one rater on one
prompt), and the three are put together as in stats/pair_errors.py.

It measures what changes when clusters change; it cannot see a bias that all clusters share. Where a fit without a
cluster does not exist (a group's only answer), its values are NaN, and so are the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.errors import TooFew
from salon.fuse.fits import CROSSED
from salon.fuse.groups import Floats, FuseGroup, Ints, cluster_codes
from salon.fuse.results import Cluster
from salon.stats import DENSE_ITEMS, Errors, two_way_errors

MOST_FOLDS = 30
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Fold:
    """What one refit leaves out: for each affected group (by place), the group without the cluster."""

    stratum: int
    without: dict[int, FuseGroup]


@dataclass(frozen=True)
class JackknifeSpread:
    """Deviations whose sum of squares is the variance, (folds, values), and each value's degrees of freedom."""

    deviations: Floats
    df: Floats

    @property
    def se(self) -> Floats:
        """Standard errors (values,)."""
        values: Floats = np.sqrt((self.deviations**2).sum(axis=0))
        return values

    def errors(self, values: slice, method: str) -> Errors:
        """Of some of the values."""
        mine, df = self.deviations[:, values], self.df[values]
        covariance = mine.T @ mine if mine.shape[1] <= DENSE_ITEMS else None
        return Errors(self.se[values], covariance, float(np.median(df)), method, each_df=df)


JackknifeSpreads = tuple[JackknifeSpread, ...]
"""One over one kind of cluster; or three, over raters, prompts and cells."""


def jackknife(
    groups: Sequence[FuseGroup],
    cluster: Cluster,
    fit: Callable[[dict[int, FuseGroup]], Floats],
    *,
    rng: np.random.Generator,
) -> JackknifeSpreads:
    """How the values of `fit` move without each cluster."""
    kinds = CROSSED if cluster == "both" else (cluster,)
    return tuple(jackknife_spread(*refit_folds(jackknife_folds(groups, kind, rng=rng), fit)) for kind in kinds)


def jackknife_errors(spreads: JackknifeSpreads, values: slice, cluster: Cluster) -> Errors:
    """The errors of some of the values."""
    refits = sum(len(part.deviations) for part in spreads)
    if cluster == "both":
        raters, prompts, cells = (part.errors(values, "") for part in spreads)
        method = f"jackknife over raters and prompts (two-way), {refits} refits"
        return two_way_errors(raters, prompts, cells, method=method)
    how = f"{refits} random blocks of answers" if cluster == "answer" else f"{cluster}s, {refits} refits"
    return spreads[0].errors(values, f"jackknife over {how}")


def jackknife_folds(groups: Sequence[FuseGroup], cluster: str, *, rng: np.random.Generator) -> Iterator[Fold]:
    """Every refit that the jackknife over `cluster` needs, one at a time: each holds most of the study."""
    for stratum, places in enumerate(_strata(groups, cluster)):
        blocks = _blocks([groups[place] for place in places], cluster, rng)
        if len(blocks[0]) < 2:
            raise TooFew(
                f"an error over {cluster}s needs at least two of them",
                found=len(blocks[0]),
                where=groups[places[0]].where,
                remedy="--cluster answer takes these raters as given",
            )
        for fold in range(len(blocks[0])):
            remaining = {place: groups[place].keeping(*blocks[at][fold]) for at, place in enumerate(places)}
            yield Fold(stratum, {place: group for place, group in remaining.items() if group is not groups[place]})


def jackknife_spread(values: Sequence[Floats], strata: Sequence[int]) -> JackknifeSpread:
    """The jackknife's deviations from the refitted values, one row per fold, and the stratum of each fold."""
    table, stratum = np.stack(values), np.asarray(strata)
    deviations = np.empty_like(table)
    variance = np.zeros((stratum.max() + 1, table.shape[1]))
    size = np.bincount(stratum)
    for s, c in enumerate(size):
        mine = table[stratum == s]
        deviations[stratum == s] = np.sqrt((c - 1) / c) * (mine - mine.mean(axis=0))
        variance[s] = (deviations[stratum == s] ** 2).sum(axis=0)
    total = variance.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        df = total**2 / (variance**2 / (size[:, None] - 1)).sum(axis=0)
    return JackknifeSpread(deviations, np.where(total > 0, df, size.min() - 1))


def refit_folds(
    all_folds: Iterable[Fold], fit: Callable[[dict[int, FuseGroup]], Floats]
) -> tuple[list[Floats], list[int]]:
    """The values of `fit` without each cluster (NaN: it cannot say), and their strata."""
    refits = [(fit(fold.without), fold.stratum) for fold in all_folds]
    return [values for values, _ in refits], [stratum for _, stratum in refits]


def _strata(groups: Sequence[FuseGroup], cluster: str) -> list[list[int]]:
    """Groups that share a rater stand in one stratum; prompts and answers know no strata."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if cluster != "rater":
        return [list(range(len(groups)))]
    place = np.concatenate([np.full(len(group.raters), at) for at, group in enumerate(groups)])
    rater = np.concatenate([group.raters for group in groups]).astype(np.int64)
    size = len(groups) + int(rater.max()) + 1
    graph = coo_array((np.ones(len(place)), (place, len(groups) + rater)), shape=(size, size))
    labels = connected_components(graph, directed=False)[1][: len(groups)]
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


def _blocks(
    groups: Sequence[FuseGroup], cluster: str, rng: np.random.Generator
) -> list[list[tuple[Bools, Bools, Bools]]]:
    """For each group and fold: which comparisons, rankings and ratings stay."""
    if cluster == "answer":
        count = min(max(2, *(len(part) for group in groups for part in group.by_kind.values())), MOST_FOLDS)
        labels = [_random_answer_blocks(group, count, rng) for group in groups]
        return [[_without(parts, fold) for fold in range(count)] for parts in labels]
    codes = [tuple(cluster_codes(part, cluster) for part in g.by_kind.values()) for g in groups]
    present = np.unique(np.concatenate([part for parts in codes for part in parts]))
    count = min(len(present), MOST_FOLDS)
    # Each cluster alone while there are few, else in equally large random blocks.
    block = np.arange(len(present)) if len(present) <= count else rng.permutation(len(present)) % count
    blocks = [tuple(block[np.searchsorted(present, part)] for part in parts) for parts in codes]
    return [[_without(parts, fold) for fold in range(count)] for parts in blocks]


def _without(labels: Sequence[Ints], fold: int) -> tuple[Bools, Bools, Bools]:
    compared, ranked, rated = (part != fold for part in labels)
    return compared, ranked, rated


def _random_answer_blocks(group: FuseGroup, count: int, rng: np.random.Generator) -> list[Ints]:
    """The random block of every comparison, ranking and rating.

    Answers are dealt out by what they are about and who gave them, whatever the order of the file.
    """
    c, k, r = group.compared, group.ranked, group.rated
    compared = np.lexsort((c.rater, np.maximum(c.a, c.b), np.minimum(c.a, c.b)))
    blocks = []
    for order in (compared, np.lexsort((k.prompt, k.rater)), np.lexsort((r.rater, r.item))):
        block = np.empty(len(order), np.int64)
        block[order] = rng.permutation(len(order)) % count
        blocks.append(block)
    return blocks
