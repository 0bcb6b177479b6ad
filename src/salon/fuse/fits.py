"""One group, one method: latent scores, how the fit went, and errors where the method has a likelihood.

A method is built in, or a plugin with the interface `Fit`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol, get_args, runtime_checkable

import numpy as np

from salon.errors import BadValue, DesignError, NotIdentified, SalonError, StatsError, TooFew
from salon.fuse.groups import (
    Codes,
    Floats,
    FuseGroup,
    GroupComparisons,
    GroupFit,
    GroupRankings,
    GroupRatings,
    Ints,
    average_repeated_ratings,
    cluster_codes,
    number_clusters,
)
from salon.fuse.results import ANCHORED, PAIRED, RATED, Cluster, FuseSettings, Method
from salon.stats import (
    DENSE_ITEMS,
    CrowdPrior,
    EloSettings,
    Errors,
    FittedInformation,
    PairCounts,
    PairFit,
    Pull,
    RankFit,
    RatingFit,
    anchored_elo,
    bootstrap_scores,
    cluster_scores,
    clustered_errors,
    counts_dominance,
    fit_crowd,
    fit_pairs,
    fit_rankings,
    hessian_errors,
    independent_errors,
    newton_step,
    ranking_errors,
    ranking_model_errors,
    rating_centers,
    rating_mean,
    rating_median,
    rating_offset_scale,
    rating_shrunken_means,
    rating_sureal,
    rating_zscores,
    two_way_errors,
)
from salon.study import LoadedPlugin, load_plugin

BUILTIN_METHODS = ("auto", *get_args(Method))
PROTOCOLS = ("comparisons", "rankings", "ratings")


@runtime_checkable
class Fit(Protocol):
    """A way from the judgments of one group to scores; `salon fuse --method WORD` takes it."""

    name: str
    reads: str
    """The judgments it reads: comparisons, rankings or ratings."""

    def fit(
        self, judgments: GroupComparisons | GroupRankings | GroupRatings, items: int
    ) -> tuple[Floats, Floats | None]:
        """A score for each item, 0 .. items - 1, higher being better, and their standard errors.

        None in place of errors: Salon leaves out one rater (or prompt) after the other, and measures them.
        """
        ...


@cache
def load_fit(method: str) -> LoadedPlugin:
    """The plugin that `method` names; BadValue where there is none."""
    loaded = load_plugin("fits", method, BUILTIN_METHODS)
    if loaded is None:
        raise BadValue(
            "a method of salon fuse is needed", found=repr(method), remedy=f"one of {', '.join(BUILTIN_METHODS)}"
        )
    if loaded.part.reads not in PROTOCOLS:
        needed = f"a fit reads one of {', '.join(PROTOCOLS)}"
        raise BadValue(needed, found=repr(loaded.part.reads), where=loaded.origin)
    return loaded


def is_plugin_fit(method: str) -> bool:
    """Whether a method is a plugin's."""
    return method not in BUILTIN_METHODS


def fit_plugin(group: FuseGroup, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    """The scores of one group by a plugin."""
    loaded = load_fit(method)
    try:
        result = loaded.part.fit(group.by_kind[loaded.part.reads], group.items)
        scores, errors = result if isinstance(result, tuple) else (result, None)
        latent = np.asarray(scores, np.float64)
        se = None if errors is None else np.asarray(errors, np.float64)
    except SalonError:
        raise
    except Exception as error:  # somebody else's code may raise anything
        raise loaded.failed(error) from error
    _check_plugin_values(latent, "scores", group, loaded)
    if se is not None:
        _check_plugin_values(se, "standard errors", group, loaded)
        if (se <= 0).any():
            raise BadValue("standard errors above 0 are needed", found=float(se.min()), where=loaded.origin)
    own = None if se is None else Errors(se, np.diag(se**2), np.inf, f"of {loaded.name}, items independent")
    return GroupFit(latent=latent, solver=f"{loaded.name} ({loaded.origin})", iterations=0, errors=own)


def _check_plugin_values(values: Floats, what: str, group: FuseGroup, loaded: LoadedPlugin) -> None:
    if values.shape != (group.items,) or not np.isfinite(values).all():
        broken = "" if np.isfinite(values).all() else ", some not finite"
        raise BadValue(
            f"{group.items} finite {what} are needed, one for each item",
            found=f"an array of shape {values.shape}{broken}",
            where=f"{loaded.origin}; {group.where}",
        )


# -- models of comparisons ---------------------------------------------------------------------------------------------

MOST_NAMED = 5
"""Items named in a message before the rest are counted."""
CROSSED = ("rater", "prompt", "cell")
"""The clusters that errors over raters and prompts are put together from."""
ROUNDING_SHARE = 1e-6
"""An error below this share of its floor is rounding."""


def _check_identified(group: FuseGroup, counts: PairCounts, anchored: Ints | None = None) -> None:
    """Without a prior every item must be reachable from every other by wins (Ford 1957); says who is not."""
    order = counts_dominance(counts, anchored)
    if order.identified:
        return
    for what, items in (
        ("never lost", order.undefeated),
        ("never won", order.winless),
        ("were never compared", order.uncompared),
    ):
        if len(items):
            raise _not_identified(f"{label_items(group, items)} {what}", group)
    sizes = np.bincount(order.labels)
    part = np.flatnonzero(order.labels == np.argmin(sizes))
    raise _not_identified(
        f"{len(sizes)} sets of items between which all decisions go one way, or none exist; one is "
        f"{label_items(group, part)}",
        group,
    )


def _not_identified(reason: str, group: FuseGroup) -> NotIdentified:
    return NotIdentified(
        "finite scores need every item to win and lose along some chain of comparisons",
        found=reason,
        where=group.where,
        remedy="--prior 3 gives such items finite scores (a normal prior of 3 logits), or collect more comparisons",
    )


def label_items(group: FuseGroup, items: Ints | Codes) -> str:
    """Items by label, the first few."""
    labels = ", ".join(repr(group.members[i]) for i in items[:MOST_NAMED])
    return labels if len(items) <= MOST_NAMED else f"{labels} and {len(items) - MOST_NAMED} more"


def fit_paired(group: FuseGroup, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    """Bradley-Terry, Davidson, Rao-Kupper or Thurstone; without errors where `cluster` is None."""
    counts = group.pair_counts
    if settings.prior is None:
        _check_identified(group, counts)
    fit = fit_pairs(counts, method, prior=settings.prior)
    return _pair_fit(fit, None if cluster is None else _pair_errors(group, counts, fit, settings, cluster))


def _pair_errors(
    group: FuseGroup, counts: PairCounts, fit: PairFit, settings: FuseSettings, cluster: Cluster
) -> Errors:
    """The errors asked for; the model's own where the answers on an item do not vary at all (five raters, one mind)."""
    kinds = CROSSED if cluster == "both" else (cluster,)
    clusters = {kind: _clusters(group, kind) for kind in kinds}
    at = FittedInformation(fit, counts)
    try:
        if cluster == "answer" and settings.interval != "bootstrap":
            errors = independent_errors(fit, counts, at=at)
            return errors if fit.prior is None else floor_errors(errors, fit, counts, at)
        parts = [_clustered(group, counts, fit, at, settings, kind, *clusters[kind]) for kind in kinds]
        return floor_errors(crossed_errors(parts), fit, counts, at)
    except TooFew:
        return mark_unvarying(hessian_errors(fit, counts, at=at))


def crossed_errors(parts: Sequence[Errors]) -> Errors:
    """Those over one kind of cluster; or over raters and prompts from those over raters, prompts and cells."""
    if len(parts) == 1:
        return parts[0]
    raters, prompts, cells = parts
    sizes = f"{raters.df + 1:.0f} raters and {prompts.df + 1:.0f} prompts"
    return two_way_errors(raters, prompts, cells, method=f"{raters.method.split(',')[0]}, two-way: {sizes}")


def mark_unvarying(errors: Errors) -> Errors:
    """The model's own errors, said to be so."""
    return replace(errors, method=f"{errors.method}: the answers on some items do not vary")


def _clusters(group: FuseGroup, cluster: str) -> tuple[Ints, int]:
    """The cluster of every comparison, and how many there are."""
    c = group.compared
    if cluster == "answer":
        return np.arange(len(c)), len(c)
    present, number = number_clusters(cluster_codes(c, cluster))
    if len(present) < 2:
        raise TooFew(
            f"an error over {cluster}s needs at least two of them",
            found=len(present),
            where=group.where,
            remedy="--cluster answer takes these raters as given",
        )
    return number, len(present)


def _clustered(
    group: FuseGroup,
    counts: PairCounts,
    fit: PairFit,
    at: FittedInformation,
    settings: FuseSettings,
    cluster: str,
    number: Ints,
    clusters: int,
) -> Errors:
    """The sandwich, or the bootstrap, over one kind of cluster."""
    c = group.compared
    if cluster == "cell" and clusters == len(c) and settings.interval != "bootstrap":
        return independent_errors(fit, counts, at=at)  # one answer a cell: no table of a million cells is needed
    sums = cluster_scores(fit, c.a, c.b, c.outcome, number, clusters)
    if settings.interval != "bootstrap":
        return clustered_errors(fit, counts, sums, at=at)
    rng = np.random.default_rng([settings.seed, 2])
    scores = bootstrap_scores(fit, counts, sums, draws=settings.draws, rng=rng)
    covariance = np.cov(scores, rowvar=False) if group.items <= DENSE_ITEMS else None
    method = f"bootstrap of {clusters:,} {cluster}s, {settings.draws:,} draws, one Newton step each"
    se = scores.std(axis=0, ddof=1)
    return Errors(se=se, covariance=covariance, df=clusters - 1, method=method)


def floor_errors(errors: Errors, fit: PairFit, counts: PairCounts, at: FittedInformation) -> Errors:
    """Errors nowhere below those of independent answers (with a prior: of the posterior).

    Five raters who happen to agree on an item show no spread between them, yet other answers could have come out. With
    a prior, the spread of shrunken scores says nothing about how far they are shrunk: twelve wins of twelve answers do
    not vary, and still leave open whether the item wins nine times of ten or always.
    """
    if fit.prior is not None:
        return raise_to_floor(errors, hessian_errors(fit, counts, at=at))
    pairwise = errors.differences is not None
    return raise_to_floor(errors, independent_errors(fit, counts, at=at, covariance=pairwise))


def raise_to_floor(errors: Errors, least: Errors) -> Errors:
    """`errors`, nowhere below `least`; TooFew where there are none at all."""
    if (errors.se < ROUNDING_SHARE * least.se).any():
        raise TooFew("an error needs answers that vary", found="clusters that all say the same of an item")
    by = np.maximum(least.se / errors.se, 1.0)
    covariance = None if errors.covariance is None else errors.covariance * np.outer(by, by)
    differences = errors.differences
    if differences is not None and (floor := least.difference_variances()) is not None:
        differences = np.maximum(differences, floor)
    return replace(errors, se=errors.se * by, covariance=covariance, differences=differences)


def floor_jackknife_errors(group: FuseGroup, fit: PairFit, errors: Errors) -> Errors:
    """Errors from left-out clusters, held to the same floor as those of a sandwich."""
    counts = group.pair_counts
    at = FittedInformation(fit, counts)
    try:
        return floor_errors(errors, fit, counts, at)
    except TooFew:
        return mark_unvarying(hessian_errors(fit, counts, at=at))


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


def fit_anchored_davidson(group: FuseGroup, anchors: Ints, targets: Floats, settings: FuseSettings) -> GroupFit:
    """Davidson with rating anchors held near `targets` (levels from the middle one); none: plain Davidson.

    A prior is centred where the rating anchors put the group, so that it shrinks differences and not the level.
    """
    counts = group.pair_counts
    pull = _pull(anchors, targets, settings)
    if settings.prior is None or pull is None:
        if settings.prior is None:
            _check_identified(group, counts, None if pull is None else anchors)
        return _pair_fit(fit_pairs(counts, "davidson", prior=settings.prior, pull=pull))
    plain = fit_pairs(counts, "davidson", prior=settings.prior)
    level = _level(plain.scores, pull)
    centred = _pair_fit(fit_pairs(counts, "davidson", prior=settings.prior, pull=_lowered(pull, level)))
    return replace(centred, latent=centred.latent + level, plain=plain)


def _pull(anchors: Ints, targets: Floats, settings: FuseSettings) -> Pull | None:
    return Pull(anchors, targets[: len(anchors)], settings.penalty) if len(anchors) and settings.penalty else None


def _level(centred: Floats, pull: Pull) -> float:
    """Where rating anchors put a group whose scores are known up to a shift."""
    return float(np.mean(pull.targets - centred[pull.items]))


def _lowered(pull: Pull, level: float) -> Pull:
    return Pull(pull.items, pull.targets - level, pull.strength)


def step_pairs(fit: GroupFit, group: FuseGroup) -> Floats:
    """Latent scores of `fit` with only the comparisons of `group`: one Newton step."""
    assert fit.pairs is not None
    return newton_step(fit.pairs, group.pair_counts)


def step_anchored_davidson(
    fit: GroupFit, group: FuseGroup, anchors: Ints, targets: Floats, settings: FuseSettings
) -> Floats:
    """The same with new targets of the rating anchors."""
    assert fit.pairs is not None
    counts, pull = group.pair_counts, _pull(anchors, targets, settings)
    if fit.plain is None or pull is None:
        return newton_step(fit.pairs, counts, pull=pull)
    level = _level(newton_step(fit.plain, counts), pull)
    return newton_step(fit.pairs, counts, pull=_lowered(pull, level)) + level


# -- any method --------------------------------------------------------------------------------------------------------


def fit_group(
    group: FuseGroup, method: str, settings: FuseSettings, cluster: Cluster, *, errors: bool = True
) -> GroupFit:
    """The scores of one group by any method that needs no other group."""
    if group.items < 2:
        raise TooFew(
            "a group needs at least two items to be scored", found=", ".join(group.members) or 0, where=group.where
        )
    protocol, sizes = protocol_of(method), {name: len(part) for name, part in group.by_kind.items()}
    if not sizes[protocol]:
        methods = {"comparisons": "davidson", "rankings": "plackett-luce", "ratings": "mean"}
        raise DesignError(
            f"{method} reads {protocol}",
            found=", ".join(f"{size:,} {name}" for name, size in sizes.items()),
            where=group.where,
            remedy=" or ".join(f"--method {methods[name]}" for name, size in sizes.items() if size),
        )
    try:
        return _METHODS.get(method, fit_plugin)(group, method, settings, cluster if errors else None)
    except StatsError as error:
        if error.where is not None:
            raise
        message = _labelled(error.found or "", group, method)
        raise type(error)(error.needed, found=message, where=group.where, remedy=error.remedy) from None


def _labelled(message: str, group: FuseGroup, method: str) -> str:
    """A finding of the maths, which knows items and raters by number, in the words of the study."""
    raters = np.unique(group.rated.rater) if method in RATED else group.raters

    def names(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match[2].split(", ")]
        of_rater = match[1].startswith("rater")
        labels = [group.rater_labels[raters[n]] if of_rater else group.members[n] for n in numbers]
        return ", ".join(map(repr, labels))

    return re.sub(r"\b(items?|raters?) (\d+(?:, \d+)*)", names, message)


def protocol_of(method: str) -> str:
    """The judgments a method reads."""
    if is_plugin_fit(method):
        return str(load_fit(method).part.reads)
    if method in RATED:
        return "ratings"
    return "rankings" if method == "plackett-luce" else "comparisons"


def protocols_of(method: str) -> tuple[str, ...]:
    """All the judgments a method reads: anchored fusion adds ratings to comparisons."""
    return ("comparisons", "ratings") if method in ANCHORED else (protocol_of(method),)


def count_judgments(group: FuseGroup, method: str) -> int:
    """How many judgments of the group a method reads."""
    return len(group.by_kind[protocol_of(method)])


def fit_anchored_elo(group: FuseGroup, anchors: Ints, targets: Floats, settings: FuseSettings) -> GroupFit:
    """Anchored Elo with rating anchors pulled to `targets` (levels from the middle one); none: plain Elo."""
    settled = settings.elo == "settled"
    how = EloSettings(passes=settings.passes, pull=settings.pull, gap=settings.gap, settled=settled)
    if settings.tau is not None:
        how = replace(how, tau=settings.tau)
    c = group.compared
    goal = how.start + how.gap * targets[: len(anchors)]
    runs = [
        anchored_elo(
            c.a, c.b, c.outcome, group.items, anchors=anchors, targets=goal, settings=how,
            rng=np.random.default_rng(settings.seed + run), rows=c.row, total=group.asked,
        )
        for run in range(settings.shuffles)
    ]  # fmt: skip
    result = "mean of the second half" if settled else "the last one"
    averaged = f", mean of {settings.shuffles} runs" if settings.shuffles > 1 else ""
    return GroupFit(
        latent=np.mean(runs, axis=0),
        solver=f"Elo, {settings.passes} shuffled passes, {result}{averaged}",
        iterations=settings.passes,
        model="bradley-terry",
        per_logit=how.tau,
    )


def _fit_elo(group: FuseGroup, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    return fit_anchored_elo(group, np.zeros(0, np.int64), np.zeros(0), settings)


def _fit_crowd(group: FuseGroup, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
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
        raters=_rater_facts(raters, learned),
    )


def _rater_facts(raters: Codes, learned: Mapping[str, Floats | None]) -> dict[int, dict[str, float]]:
    """What was learned of each rater, unknowns left out."""
    return {
        int(rater): {
            name: float(values[n]) for name, values in learned.items() if values is not None and np.isfinite(values[n])
        }
        for n, rater in enumerate(raters)
    }


# -- rankings and ratings --------------------------------------------------------------------------------------------


def _fit_plackett_luce(group: FuseGroup, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    k = group.ranked
    fit = fit_rankings(k.offsets, k.items, k.ranks, group.items, prior=settings.prior)
    dense = group.items <= DENSE_ITEMS
    errors = _ranking_errors(group, fit, cluster) if cluster is not None and dense else None
    return GroupFit(
        latent=fit.scores,
        solver=fit.convergence.solver,
        iterations=fit.convergence.iterations,
        gradient=fit.convergence.gradient,
        log_likelihood=fit.log_likelihood,
        errors=errors,
        unknown="too many items for a covariance",
    )


def _ranking_errors(group: FuseGroup, fit: RankFit, cluster: Cluster) -> Errors:
    """The sandwich, with a prior nowhere below the posterior's spread; the model's own where rankings do not vary."""
    least = ranking_model_errors(fit)
    kinds = CROSSED if cluster == "both" else (cluster,)
    codes = [None if kind == "answer" else cluster_codes(group.ranked, kind) for kind in kinds]
    try:
        parts = [ranking_errors(fit, cluster=code) for code in codes]
        errors = crossed_errors(parts)
        return errors if fit.prior is None else raise_to_floor(errors, least)
    except TooFew:
        return mark_unvarying(least)


_RATINGS: Mapping[str, Callable[..., RatingFit]] = {
    "mean": rating_mean,
    "shrunk-mean": rating_shrunken_means,
    "median": rating_median,
    "z-score": rating_zscores,
    "sureal": rating_sureal,
    "offset-scale": rating_offset_scale,
}


def _fit_ratings(group: FuseGroup, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    item, rater, value = average_repeated_ratings(group.rated)
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
        raters=_rater_facts(raters, learned),
    )


_METHODS: Mapping[str, Callable[[FuseGroup, str, FuseSettings, Cluster | None], GroupFit]] = {
    **dict.fromkeys(PAIRED, fit_paired),
    **dict.fromkeys(RATED, _fit_ratings),
    "plackett-luce": _fit_plackett_luce,
    "crowd": _fit_crowd,
    "elo": _fit_elo,
}
