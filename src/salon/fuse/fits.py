"""One group, one method: latent scores, how the fit went, and errors where the method has a likelihood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from salon.errors import DesignError, StatsError, TooFew
from salon.fuse.group_fit import GroupFit
from salon.fuse.groups import Codes, Floats, Group, Ints
from salon.fuse.pair_fits import fit_paired
from salon.fuse.settings import PAIRED, RATED, Cluster, FuseSettings, Method
from salon.stats.crowd import fit_crowd
from salon.stats.crowd_posterior import CrowdPrior
from salon.stats.elo import EloSettings, anchored_elo
from salon.stats.pair_errors import (
    Errors,
)
from salon.stats.plackett_luce import fit_rankings, ranking_errors
from salon.stats.rater_effects import rating_offset_scale, rating_sureal
from salon.stats.rating_models import RatingFit, rating_mean, rating_median, rating_zscored


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
    **dict.fromkeys(PAIRED, fit_paired),
    **dict.fromkeys(RATED, _rated),
    "plackett-luce": _plackett_luce,
    "crowd": _crowd,
    "elo": _elo,
}
