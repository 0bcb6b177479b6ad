"""One group, one method: latent scores, how the fit went, and errors where the method has a likelihood."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from salon.errors import DesignError, NotIdentified, StatsError, TooFew
from salon.fuse.group_fit import GroupFit
from salon.fuse.groups import Codes, Floats, Group, Ints, cluster_codes, once_each
from salon.fuse.own_fit import fit_own, is_own_fit, own_fit
from salon.fuse.pair_fits import CROSSED, crossed_errors, fit_paired, raised, unvarying
from salon.fuse.settings import ANCHORED, PAIRED, RATED, Cluster, FuseSettings
from salon.stats.crowd import fit_crowd
from salon.stats.crowd_posterior import CrowdPrior
from salon.stats.elo import EloSettings, anchored_elo
from salon.stats.pair_errors import Errors
from salon.stats.pair_information import DENSE_ITEMS
from salon.stats.plackett_luce import RankFit, fit_rankings, ranking_errors, ranking_model_errors
from salon.stats.rater_effects import rating_offset_scale, rating_sureal
from salon.stats.rating_models import RatingFit, rating_centers, rating_mean, rating_median, rating_zscored
from salon.stats.rating_shrinkage import rating_shrunk


def fit_group(group: Group, method: str, settings: FuseSettings, cluster: Cluster, *, errors: bool = True) -> GroupFit:
    """The scores of one group by any method that needs no other group."""
    if group.items < 2:
        raise TooFew(
            "a group needs at least two items to be scored", found=", ".join(group.members) or 0, where=group.where
        )
    _check_protocol(group, method)
    try:
        return _METHODS.get(method, fit_own)(group, method, settings, cluster if errors else None)
    except StatsError as error:
        if error.where is not None:
            raise
        found = _labelled(error.found or "", group, method)
        raise type(error)(error.needed, found=found, where=group.where, remedy=error.remedy) from None


def _labelled(found: str, group: Group, method: str) -> str:
    """A finding of the maths, which knows items and raters by number, in the words of the study."""
    raters = np.unique(group.rated.rater) if method in RATED else group.raters

    def names(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[2].split(", ")]
        of_rater = match[1].startswith("rater")
        labels = [group.rater_labels[raters[n]] if of_rater else group.members[n] for n in numbers]
        return ", ".join(map(repr, labels))

    return re.sub(r"\b(items?|raters?) (\d+(?:, \d+)*)", names, found)


def protocol_of(method: str) -> str:
    """The judgments a method reads."""
    if is_own_fit(method):
        return str(own_fit(method).part.reads)
    if method in RATED:
        return "ratings"
    return "rankings" if method == "plackett-luce" else "comparisons"


def protocols_of(method: str) -> tuple[str, ...]:
    """All the judgments a method reads: anchored fusion adds ratings to comparisons."""
    return ("comparisons", "ratings") if method in ANCHORED else (protocol_of(method),)


def judgments(group: Group, method: str) -> int:
    """How many judgments of the group a method reads."""
    return len(group.by_kind[protocol_of(method)])


def _check_protocol(group: Group, method: str) -> None:
    wanted, sizes = protocol_of(method), {name: len(part) for name, part in group.by_kind.items()}
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
    settled = settings.elo == "settled"
    how = EloSettings(passes=settings.passes, pull=settings.pull, gap=settings.gap, settled=settled)
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
        solver=_elo_solver(settings),
        iterations=settings.passes,
        model="bradley-terry",
        per_logit=how.tau,
    )


def _elo_solver(settings: FuseSettings) -> str:
    result = "mean of the second half" if settings.elo == "settled" else "the last one"
    runs = f", mean of {settings.shuffles} runs" if settings.shuffles > 1 else ""
    return f"Elo, {settings.passes} shuffled passes, {result}{runs}"


def _elo(group: Group, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    return fit_anchored_elo(group, np.zeros(0, np.int64), np.zeros(0), settings)


def _crowd(group: Group, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
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
        unknown="too many items and raters for a covariance",
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


def _plackett_luce(group: Group, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    k = group.ranked
    fit = fit_rankings(k.offsets, k.items, k.ranks, group.items, prior=settings.prior)
    wanted = group.items <= DENSE_ITEMS
    errors = _ranking_errors(group, fit, cluster) if cluster is not None and wanted else None
    return GroupFit(
        latent=fit.scores,
        solver=fit.convergence.solver,
        iterations=fit.convergence.iterations,
        gradient=fit.convergence.gradient,
        log_likelihood=fit.log_likelihood,
        errors=errors,
        unknown="too many items for a covariance",
    )


def _ranking_errors(group: Group, fit: RankFit, cluster: Cluster) -> Errors:
    """The sandwich, with a prior nowhere below the posterior's spread; the model's own where rankings do not vary."""
    least = ranking_model_errors(fit)
    kinds = CROSSED if cluster == "both" else (cluster,)
    codes = [None if kind == "answer" else cluster_codes(group.ranked, kind) for kind in kinds]
    try:
        parts = [ranking_errors(fit, cluster=code) for code in codes]
        made = crossed_errors(parts)
        return made if fit.prior is None else raised(made, least)
    except TooFew:
        return unvarying(least)


_RATINGS: Mapping[str, Callable[..., RatingFit]] = {
    "mean": rating_mean,
    "shrunk-mean": rating_shrunk,
    "median": rating_median,
    "z-score": rating_zscored,
    "sureal": rating_sureal,
    "offset-scale": rating_offset_scale,
}


def _rated(group: Group, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    item, rater, value = once_each(group.rated)
    raters, who = np.unique(rater, return_inverse=True)
    try:
        fit = _RATINGS[method](item, who, value, group.items, len(raters))
    except (TooFew, NotIdentified) as error:
        if method not in ("mean", "shrunk-mean", "median"):
            raise
        mean, median = rating_centers(item, value, group.items)
        centers = {"mean": mean, "shrunk-mean": mean, "median": median}
        why = f"{error.needed}, found {error.found}"
        return GroupFit(latent=centers[method], solver=method, iterations=0, rated=True, unknown=why)
    learned = {"offset": fit.offset, "gain": fit.scale, "inconsistency": fit.inconsistency}
    return GroupFit(
        latent=fit.scores,
        solver=fit.method if fit.convergence is None else fit.convergence.solver,
        iterations=0 if fit.convergence is None else fit.convergence.iterations,
        gradient=None if fit.convergence is None else fit.convergence.gradient,
        errors=Errors(
            fit.se,
            None,
            float(np.median(fit.df)),
            fit.errors,
            differences=fit.differences,
            difference_df=None if fit.differences is None else fit.difference_df,
        ),
        value_se=fit.absolute_se,
        value_df=fit.absolute_df,
        rated=True,
        raters=_facts(raters, learned),
    )


_METHODS: Mapping[str, Callable[[Group, str, FuseSettings, Cluster | None], GroupFit]] = {
    **dict.fromkeys(PAIRED, fit_paired),
    **dict.fromkeys(RATED, _rated),
    "plackett-luce": _plackett_luce,
    "crowd": _crowd,
    "elo": _elo,
}
