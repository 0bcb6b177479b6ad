"""The comparisons of one group: can they identify scores, the fit of a pair model, its errors, and rating anchors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from salon.errors import NotIdentified, TooFew
from salon.fuse.group_fit import GroupFit
from salon.fuse.groups import Codes, Floats, Group, Ints, cluster_codes
from salon.fuse.settings import Cluster, FuseSettings
from salon.stats.graph import Dominance, dominance
from salon.stats.pair_counts import PairCounts, count_pairs
from salon.stats.pair_errors import (
    Errors,
    bootstrap_scores,
    cluster_scores,
    clustered_errors,
    hessian_errors,
    independent_errors,
)
from salon.stats.pair_fit import PairFit, Pull, fit_pairs
from salon.stats.pair_folds import newton_step
from salon.stats.pair_information import DENSE_ITEMS
from salon.stats.two_way import two_way_errors

NAMED = 5
"""Items named in a message before the rest are counted."""
CROSSED = ("rater", "prompt", "cell")
"""The clusters that errors over raters and prompts are put together from."""
NOTHING = 1e-6
"""An error below this share of its floor is rounding."""


def pair_counts(group: Group) -> PairCounts:
    """The comparisons of a group as counts."""
    c = group.compared
    return count_pairs(c.a, c.b, c.outcome, group.items)


def beats(counts: PairCounts, held: Ints | None = None) -> Dominance:
    """Who beat whom; items `held` by rating anchors count as tied."""
    won, lost, tied = (np.flatnonzero(x > 0) for x in (counts.wins, counts.losses, counts.ties))
    pairs = np.stack([counts.i, counts.j], axis=1)
    ties = pairs[tied] if held is None else np.vstack([pairs[tied], np.stack([held[:-1], held[1:]], axis=1)])
    return dominance(counts.items, np.vstack([pairs[won], pairs[lost][:, ::-1]]), ties)


def _check_identified(group: Group, counts: PairCounts, held: Ints | None = None) -> None:
    """Without a prior every item must be reachable from every other by wins (Ford 1957); says who is not."""
    found = beats(counts, held)
    if found.identified:
        return
    for what, items in (
        ("never lost", found.undefeated),
        ("never won", found.winless),
        ("were never compared", found.uncompared),
    ):
        if len(items):
            raise _not_identified(f"{named(group, items)} {what}", group)
    sizes = np.bincount(found.labels)
    part = np.flatnonzero(found.labels == np.argmin(sizes))
    raise _not_identified(
        f"{len(sizes)} sets of items between which all decisions go one way, or none exist; one is "
        f"{named(group, part)}",
        group,
    )


def _not_identified(found: str, group: Group) -> NotIdentified:
    return NotIdentified(
        "finite scores need every item to win and lose along some chain of comparisons",
        found=found,
        where=group.where,
        remedy="--prior 3 gives such items finite scores (a normal prior of 3 logits), or collect more comparisons",
    )


def named(group: Group, items: Ints | Codes) -> str:
    """Items by label, the first few."""
    shown = ", ".join(repr(group.members[i]) for i in items[:NAMED])
    return shown if len(items) <= NAMED else f"{shown} and {len(items) - NAMED} more"


def fit_paired(group: Group, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    """Bradley-Terry, Davidson, Rao-Kupper or Thurstone; without errors where `cluster` is None."""
    counts = pair_counts(group)
    if settings.prior is None:
        _check_identified(group, counts)
    fit = fit_pairs(counts, method, prior=settings.prior)
    return _pair_fit(fit, None if cluster is None else _pair_errors(group, counts, fit, settings, cluster))


def _pair_errors(group: Group, counts: PairCounts, fit: PairFit, settings: FuseSettings, cluster: Cluster) -> Errors:
    """The errors asked for; the model's own where the answers on an item do not vary at all (five raters, one mind)."""
    kinds = CROSSED if cluster == "both" else (cluster,)
    clusters = {kind: _clusters(group, kind) for kind in kinds}
    try:
        if cluster == "answer" and settings.interval != "bootstrap":
            made = independent_errors(fit, counts)
            return made if fit.prior is None else floored(made, fit, counts)
        parts = [_clustered(group, counts, fit, settings, kind, *clusters[kind]) for kind in kinds]
        made = crossed_errors(parts)
        return floored(made, fit, counts)
    except TooFew:
        return unvarying(hessian_errors(fit, counts))


def crossed_errors(parts: Sequence[Errors]) -> Errors:
    """Those over one kind of cluster; or over raters and prompts from those over raters, prompts and cells."""
    if len(parts) == 1:
        return parts[0]
    raters, prompts, cells = parts
    sizes = f"{raters.df + 1:.0f} raters and {prompts.df + 1:.0f} prompts"
    return two_way_errors(raters, prompts, cells, method=f"{raters.method.split(',')[0]}, two-way: {sizes}")


def unvarying(errors: Errors) -> Errors:
    """The model's own errors, said to be so."""
    return replace(errors, method=f"{errors.method}: the answers on some items do not vary")


def _clusters(group: Group, cluster: str) -> tuple[Ints, int]:
    """The cluster of every comparison, and how many there are."""
    c = group.compared
    if cluster == "answer":
        return np.arange(len(c)), len(c)
    present, number = np.unique(cluster_codes(c, cluster), return_inverse=True)
    if len(present) < 2:
        raise TooFew(
            f"an error over {cluster}s needs at least two of them",
            found=len(present),
            where=group.where,
            remedy="--cluster answer takes these raters as given",
        )
    return number, len(present)


def _clustered(
    group: Group,
    counts: PairCounts,
    fit: PairFit,
    settings: FuseSettings,
    cluster: str,
    number: Ints,
    clusters: int,
) -> Errors:
    """The sandwich, or the bootstrap, over one kind of cluster."""
    c = group.compared
    if cluster == "cell" and clusters == len(c) and settings.interval != "bootstrap":
        return independent_errors(fit, counts)  # one answer a cell: no table of a million cells is needed
    sums = cluster_scores(fit, c.a, c.b, c.outcome, number, clusters)
    if settings.interval != "bootstrap":
        return clustered_errors(fit, counts, sums)
    rng = np.random.default_rng([settings.seed, 2])
    drawn = bootstrap_scores(fit, counts, sums, draws=settings.draws, rng=rng)
    covariance = np.cov(drawn, rowvar=False) if group.items <= DENSE_ITEMS else None
    method = f"bootstrap of {clusters:,} {cluster}s, {settings.draws:,} draws, one Newton step each"
    se = drawn.std(axis=0, ddof=1)
    return Errors(se=se, covariance=covariance, df=clusters - 1, method=method)


def floored(errors: Errors, fit: PairFit, counts: PairCounts) -> Errors:
    """Errors nowhere below those of independent answers (with a prior: of the posterior).

    Five raters who happen to agree on an item show no spread between them, yet other answers could have come out. With
    a prior, the spread of shrunken scores says nothing about how far they are shrunk: twelve wins of twelve answers do
    not vary, and still leave open whether the item wins nine times of ten or always.
    """
    return raised(errors, (independent_errors if fit.prior is None else hessian_errors)(fit, counts))


def raised(errors: Errors, least: Errors) -> Errors:
    """`errors`, nowhere below `least`; TooFew where there are none at all."""
    if (errors.se < NOTHING * least.se).any():
        raise TooFew("an error needs answers that vary", found="clusters that all say the same of an item")
    by = np.maximum(least.se / errors.se, 1.0)
    covariance = None if errors.covariance is None else errors.covariance * np.outer(by, by)
    differences = errors.differences
    if differences is not None and (floor := least.difference_variances()) is not None:
        differences = np.maximum(differences, floor)
    return replace(errors, se=errors.se * by, covariance=covariance, differences=differences)


def floored_jackknife(group: Group, fit: PairFit, made: Errors) -> Errors:
    """Errors from left-out clusters, held to the same floor as those of a sandwich."""
    counts = pair_counts(group)
    try:
        return floored(made, fit, counts)
    except TooFew:
        return unvarying(hessian_errors(fit, counts))


def _pair_fit(fit: PairFit, errors: Errors | None = None) -> GroupFit:
    return GroupFit(
        latent=fit.scores,
        solver=fit.convergence.solver,
        iterations=fit.convergence.iterations,
        gradient=fit.convergence.gradient,
        log_likelihood=fit.log_likelihood,
        model=fit.model,
        tie=fit.tie,
        tie_error=None if errors is None else errors.tie_se,
        errors=errors,
        pairs=fit,
    )


def fit_anchored_davidson(group: Group, anchors: Ints, targets: Floats, settings: FuseSettings) -> GroupFit:
    """Davidson with rating anchors held near `targets` (levels from the middle one); none: plain Davidson.

    A prior is centred where the rating anchors put the group, so that it shrinks differences and not the level.
    """
    counts = pair_counts(group)
    pull = _pull(anchors, targets, settings)
    if settings.prior is None or pull is None:
        if settings.prior is None:
            _check_identified(group, counts, None if pull is None else anchors)
        return _pair_fit(fit_pairs(counts, "davidson", prior=settings.prior, pull=pull))
    plain = fit_pairs(counts, "davidson", prior=settings.prior)
    level = _level(plain.scores, pull)
    made = _pair_fit(fit_pairs(counts, "davidson", prior=settings.prior, pull=_lowered(pull, level)))
    return replace(made, latent=made.latent + level, plain=plain)


def _pull(anchors: Ints, targets: Floats, settings: FuseSettings) -> Pull | None:
    return Pull(anchors, targets[: len(anchors)], settings.penalty) if len(anchors) and settings.penalty else None


def _level(centred: Floats, pull: Pull) -> float:
    """Where rating anchors put a group whose scores are known up to a shift."""
    return float(np.mean(pull.targets - centred[pull.items]))


def _lowered(pull: Pull, level: float) -> Pull:
    return Pull(pull.items, pull.targets - level, pull.strength)


def step_pairs(fit: GroupFit, group: Group) -> Floats:
    """Latent scores of `fit` with only the comparisons of `group`: one Newton step."""
    assert fit.pairs is not None
    return newton_step(fit.pairs, pair_counts(group))


def step_anchored_davidson(
    fit: GroupFit, group: Group, anchors: Ints, targets: Floats, settings: FuseSettings
) -> Floats:
    """The same with new targets of the rating anchors."""
    assert fit.pairs is not None
    counts, pull = pair_counts(group), _pull(anchors, targets, settings)
    if fit.plain is None or pull is None:
        return newton_step(fit.pairs, counts, pull=pull)
    level = _level(newton_step(fit.plain, counts), pull)
    return newton_step(fit.pairs, counts, pull=_lowered(pull, level)) + level
