"""One group, one method: latent scores, how the fit went, and errors where the method has a likelihood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from salon.errors import DesignError, NotIdentified, StatsError, TooFew
from salon.fuse.groups import Codes, Floats, Group, Ints
from salon.fuse.settings import PAIRED, RATED, Cluster, FuseSettings, Method
from salon.stats.crowd import fit_crowd
from salon.stats.crowd_posterior import CrowdPrior
from salon.stats.elo import EloSettings, anchored_elo
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
from salon.stats.plackett_luce import fit_rankings, ranking_errors
from salon.stats.rater_effects import rating_offset_scale, rating_sureal
from salon.stats.rating_models import RatingFit, rating_mean, rating_median, rating_zscored

NAMED = 5
"""Items named in a message before the rest are counted."""


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


def fit_group(
    group: Group, method: Method, settings: FuseSettings, cluster: Cluster, *, errors: bool = True
) -> GroupFit:
    """The scores of one group by any method that needs no other group."""
    if group.items < 2:
        raise TooFew(
            "a group needs at least two items to be scored", found=", ".join(group.members) or 0, where=group.where
        )
    _check_protocol(group, method)
    try:
        return _METHODS[method](group, method, settings, cluster if errors else None)
    except StatsError as error:
        if error.where is not None:
            raise
        raise type(error)(error.needed, found=error.found, where=group.where, remedy=error.remedy) from None


def protocol_of(method: Method) -> str:
    """The judgments a method reads."""
    if method in RATED:
        return "ratings"
    return "rankings" if method == "plackett-luce" else "comparisons"


def _check_protocol(group: Group, method: Method) -> None:
    wanted = protocol_of(method)
    sizes = {"comparisons": len(group.compared), "rankings": len(group.ranked), "ratings": len(group.rated)}
    if not sizes[wanted]:
        other = {"comparisons": "davidson", "rankings": "plackett-luce", "ratings": "mean"}
        usable = [f"--method {other[name]}" for name, size in sizes.items() if size]
        raise DesignError(
            f"{method} reads {wanted}",
            found=", ".join(f"{size:,} {name}" for name, size in sizes.items()),
            where=group.where,
            remedy=" or ".join(usable),
        )


# -- comparisons -----------------------------------------------------------------------------------------------------


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


def _paired(group: Group, method: Method, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    counts = pair_counts(group)
    if settings.prior is None:
        _check_identified(group, counts)
    fit = fit_pairs(counts, method, prior=settings.prior)
    return _pair_fit(fit, None if cluster is None else _pair_errors(group, counts, fit, settings, cluster))


def _pair_errors(group: Group, counts: PairCounts, fit: PairFit, settings: FuseSettings, cluster: Cluster) -> Errors:
    """The errors asked for; the model's own where the answers on an item do not vary at all (five raters, one mind)."""
    number, clusters = _clusters(group, cluster)
    try:
        return _sandwich(group, counts, fit, settings, cluster, number, clusters)
    except TooFew:
        made = hessian_errors(fit, counts)
        return replace(made, method=f"{made.method}: the answers on some items do not vary")


def _clusters(group: Group, cluster: Cluster) -> tuple[Ints, int]:
    """The cluster of every comparison, and how many there are."""
    c = group.compared
    if cluster == "answer":
        return np.arange(len(c)), len(c)
    present, number = np.unique(getattr(c, cluster), return_inverse=True)
    if len(present) < 2:
        raise TooFew(
            f"an error over {cluster}s needs at least two of them",
            found=len(present),
            where=group.where,
            remedy="--cluster answer takes these raters as given",
        )
    return number, len(present)


def _sandwich(
    group: Group,
    counts: PairCounts,
    fit: PairFit,
    settings: FuseSettings,
    cluster: Cluster,
    number: Ints,
    clusters: int,
) -> Errors:
    if cluster == "answer" and settings.interval != "bootstrap":
        return independent_errors(fit, counts)
    c = group.compared
    sums = cluster_scores(fit, c.a, c.b, c.outcome, number, clusters)
    if settings.interval != "bootstrap":
        return _floored(clustered_errors(fit, counts, sums), fit, counts)
    rng = np.random.default_rng([settings.seed, 2])
    drawn = bootstrap_scores(fit, counts, sums, draws=settings.draws, rng=rng)
    covariance = np.cov(drawn, rowvar=False)
    method = f"bootstrap of {clusters:,} {cluster}s, {settings.draws:,} draws, one Newton step each"
    return Errors(se=np.sqrt(np.diag(covariance)), covariance=covariance, df=clusters - 1, method=method)


def _floored(errors: Errors, fit: PairFit, counts: PairCounts) -> Errors:
    """Clustered errors, nowhere below those of independent answers (with a prior: of the posterior).

    Five raters who happen to agree on an item show no spread between them, yet other answers could have come out.
    """
    least = (independent_errors if fit.prior is None else hessian_errors)(fit, counts)
    raised = np.maximum(least.se / errors.se, 1.0)
    covariance = None if errors.covariance is None else errors.covariance * np.outer(raised, raised)
    return replace(errors, se=errors.se * raised, covariance=covariance)


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
    return newton_step(fit.pairs, pair_counts(group))


def step_anchored_davidson(
    fit: GroupFit, group: Group, anchors: Ints, targets: Floats, settings: FuseSettings
) -> Floats:
    """The same with new targets of the rating anchors."""
    counts, pull = pair_counts(group), _pull(anchors, targets, settings)
    if fit.plain is None or pull is None:
        return newton_step(fit.pairs, counts, pull=pull)
    level = _level(newton_step(fit.plain, counts), pull)
    return newton_step(fit.pairs, counts, pull=_lowered(pull, level)) + level


def _elo_settings(settings: FuseSettings) -> EloSettings:
    how = EloSettings(passes=settings.passes, pull=settings.pull or 1e-12, gap=settings.gap)
    return how if settings.tau is None else replace(how, tau=settings.tau)


def fit_anchored_elo(group: Group, anchors: Ints, targets: Floats, settings: FuseSettings) -> GroupFit:
    """Anchored Elo with rating anchors pulled to `targets` (levels from the middle one); none: plain Elo."""
    how = _elo_settings(settings)
    c = group.compared
    goal = how.start + how.gap * targets[: len(anchors)]
    runs = [
        anchored_elo(
            c.a, c.b, c.outcome, group.items, anchors=anchors, targets=goal, settings=how,
            rng=np.random.default_rng(settings.seed + run), rows=c.row, total=group.asked,
        )
        for run in range(settings.shuffles)
    ]  # fmt: skip
    return GroupFit(
        latent=np.mean(runs, axis=0),
        solver=f"Elo, {settings.passes} shuffled passes" + (f", mean of {len(runs)} runs" if len(runs) > 1 else ""),
        iterations=settings.passes,
        model="bradley-terry",
        per_logit=how.tau,
    )


def _elo(group: Group, method: Method, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    return fit_anchored_elo(group, np.zeros(0, np.int64), np.zeros(0), settings)


def _crowd(group: Group, method: Method, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    c = group.compared
    raters, who = np.unique(c.rater, return_inverse=True)
    prior = None if settings.prior is None else CrowdPrior(scores=settings.prior)
    fit = fit_crowd(c.a, c.b, c.outcome, who, group.items, len(raters), left=c.left, prior=prior)
    sided = np.bincount(who[c.left < 2], minlength=len(raters)) > 0
    learned = {
        "reliability": fit.reliability,
        "reliability_error": fit.reliability_se,
        "left_bias": np.where(sided, fit.position_bias, np.nan),
        "left_bias_error": None if fit.position_bias_se is None else np.where(sided, fit.position_bias_se, np.nan),
    }
    return GroupFit(
        latent=fit.scores,
        solver=fit.convergence.solver,
        iterations=fit.convergence.iterations,
        gradient=fit.convergence.gradient,
        log_likelihood=fit.log_likelihood,
        errors=fit.errors,
        raters=_facts(raters, learned),
    )


def _facts(raters: Codes, learned: Mapping[str, Floats | None]) -> dict[int, dict[str, float]]:
    """What was learned of each rater, unknowns left out."""
    return {
        int(rater): {
            name: float(values[n]) for name, values in learned.items() if values is not None and np.isfinite(values[n])
        }
        for n, rater in enumerate(raters)
    }


# -- rankings and ratings --------------------------------------------------------------------------------------------


def _plackett_luce(group: Group, method: Method, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    k = group.ranked
    fit = fit_rankings(k.offsets, k.items, k.ranks, group.items, prior=settings.prior)
    codes = None if cluster in (None, "answer") else np.unique(getattr(k, cluster), return_inverse=True)[1]
    errors = None if cluster is None else ranking_errors(fit, cluster=codes)
    return GroupFit(
        latent=fit.scores,
        solver=fit.convergence.solver,
        iterations=fit.convergence.iterations,
        gradient=fit.convergence.gradient,
        log_likelihood=fit.log_likelihood,
        errors=errors,
    )


_RATINGS: Mapping[str, Callable[..., RatingFit]] = {
    "mean": rating_mean,
    "median": rating_median,
    "z-score": rating_zscored,
    "sureal": rating_sureal,
    "offset-scale": rating_offset_scale,
}


def _rated(group: Group, method: Method, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    item, rater, value = _once_each(group)
    raters, who = np.unique(rater, return_inverse=True)
    fit = _RATINGS[method](item, who, value, group.items, len(raters))
    df = float(np.median(fit.df))
    learned = {"offset": fit.offset, "gain": fit.scale, "inconsistency": fit.inconsistency}
    return GroupFit(
        latent=fit.scores,
        solver=fit.method if fit.convergence is None else fit.convergence.solver,
        iterations=0 if fit.convergence is None else fit.convergence.iterations,
        gradient=None if fit.convergence is None else fit.convergence.gradient,
        errors=Errors(se=fit.se, covariance=np.diag(fit.se**2), df=df, method=fit.errors),
        value_se=fit.absolute_se,
        value_df=fit.absolute_df,
        rated=True,
        raters=_facts(raters, learned),
    )


def _once_each(group: Group) -> tuple[Codes, Codes, Floats]:
    """One rating for each item (or generator) and rater: a rater's several ratings of a generator are averaged."""
    r = group.rated
    key = r.item.astype(np.int64) * (int(r.rater.max()) + 1) + r.rater
    found, first, place, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    if len(found) == len(key):
        return r.item, r.rater, r.value
    return r.item[first], r.rater[first], np.bincount(place, r.value) / count


_METHODS: Mapping[str, Callable[[Group, Method, FuseSettings, Cluster], GroupFit]] = {
    **dict.fromkeys(PAIRED, _paired),
    **dict.fromkeys(RATED, _rated),
    "plackett-luce": _plackett_luce,
    "crowd": _crowd,
    "elo": _elo,
}
