"""Scores with their intervals: the errors of every method in one form; and anchored fusion.

Anchored fusion: comparisons order the items, ratings anchor the scale.

1. In every group, rating anchors are chosen: at each middle level of the scale the items whose ratings agree best.
2. Latent scores come from the comparisons, held near the rating anchors' targets: by Elo passes that pull them back
   (anchored Elo) or by a penalty on the likelihood (anchored Davidson). Levels count 1 to 5 on any scale.
3. One curve, score = low + (high - low) s(a q + b), is fitted to the rating anchors of all groups (or each group's).

Errors are the jackknife's, on the curve's argument a q + b, so that intervals stay inside the scale. The rating
anchors stay the same in every refit; their targets and the curve are fitted again.
Source: PPaint section 3.3, appendix C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.special import expit, stdtrit

from salon.errors import BadValue, DesignError, NotIdentified, StatsError
from salon.fuse.fits import (
    count_judgments,
    fit_anchored_davidson,
    fit_anchored_elo,
    fit_group,
    floor_jackknife_errors,
    is_plugin_fit,
    step_anchored_davidson,
    step_pairs,
)
from salon.fuse.groups import Floats, FuseGroup, GroupFit, average_repeated_ratings
from salon.fuse.resampling import JackknifeSpreads, jackknife, jackknife_errors
from salon.fuse.results import ANCHORED, RATED, Cluster, FuseSettings, Method
from salon.stats import (
    TIE_MODELS,
    Errors,
    RankIntervals,
    RatingAnchors,
    Sigmoid,
    choose_rating_anchors,
    fit_sigmoid,
    independent_errors,
    moderated_variances,
    pair_probabilities,
    rank_intervals,
    rating_centers,
    spread_ties,
    two_way_variance,
)
from salon.study import Scale

MIDDLE = 3.0
"""Levels count from 1 to 5; the middle one has latent score 0."""


@dataclass(frozen=True)
class AnchoredFusion:
    """All groups on one rating scale."""

    fits: tuple[GroupFit, ...]
    anchors: tuple[RatingAnchors, ...]
    curves: tuple[Sigmoid, ...]
    """One for each group; the same one everywhere when pooled."""
    spreads: JackknifeSpreads = ()
    """Of a q + b, all groups one after the other, then of q; empty without errors."""

    def links(self) -> list[Floats]:
        """a q + b of every group."""
        return [curve.a * fit.latent + curve.b for curve, fit in zip(self.curves, self.fits)]


def rating_scale(groups: Sequence[FuseGroup]) -> Scale:
    """The one scale that all groups are rated on."""
    scales = {group.criterion: group.scale for group in groups}
    missing = [criterion for criterion, scale in scales.items() if scale is None]
    if missing:
        raise DesignError(
            "anchored fusion needs the scale of the ratings",
            found=f"criterion {missing[0]!r} without a scale",
            remedy="give the criterion its scale in study.toml, or fuse comparisons alone with --method davidson",
        )
    ends = {(scale.low, scale.high) for scale in scales.values() if scale is not None}
    if len(ends) > 1:
        raise DesignError(
            "anchored fusion needs one rating scale for all criteria",
            found=", ".join(f"{low:g}-{high:g}" for low, high in sorted(ends)),
            remedy="fuse criteria of one scale at a time with --criterion",
        )
    return next(scale for scale in scales.values() if scale is not None)


def choose_anchors(groups: Sequence[FuseGroup], settings: FuseSettings) -> tuple[RatingAnchors, ...]:
    """The rating anchors of every group."""
    scale = rating_scale(groups)
    return tuple(_anchors(group, scale, settings) for group in groups)


def _anchors(group: FuseGroup, scale: Scale, settings: FuseSettings) -> RatingAnchors:
    if not len(group.compared) or not len(group.rated):
        raise DesignError(
            "anchored fusion needs comparisons and ratings of the same items",
            found=f"{len(group.compared):,} comparisons and {len(group.rated):,} ratings",
            where=group.where,
            remedy="choose a method for one protocol: davidson for comparisons, mean for ratings",
        )
    met = np.zeros(group.items, bool)
    met[group.compared.a] = met[group.compared.b] = True
    item, rater, value = average_repeated_ratings(group.rated)
    use = met[item]
    try:
        return choose_rating_anchors(
            item[use],
            rater[use],
            value[use],
            group.items,
            each=settings.anchors_each,
            low=scale.low,
            high=scale.high,
            center=settings.anchor_center,
        )
    except NotIdentified as error:
        raise NotIdentified(
            error.needed,
            found=error.found,
            where=group.where,
            remedy="collect two ratings or more of items in the middle of the scale, or fuse comparisons alone with "
            "--method davidson",
        ) from None


def count_in_levels(values: Floats, scale: Scale) -> Floats:
    """Values of a rating scale counted 1 to 5."""
    return 1 + 4 * (values - scale.low) / (scale.high - scale.low)


def fit_anchored(
    groups: Sequence[FuseGroup], method: str, settings: FuseSettings, cluster: Cluster | None, *, pulled: bool = True
) -> AnchoredFusion:
    """Anchored Elo or anchored Davidson on every group, calibrated; errors unless `cluster` is None.

    `pulled=False` gives the plain method on the same curve: rating anchors then calibrate only.
    """
    scale = rating_scale(groups)
    anchors = choose_anchors(groups, settings)
    fits = [
        _fit_anchored_group(group, group_anchors, method, scale, settings, pulled)
        for group, group_anchors in zip(groups, anchors)
    ]
    curves = _curves([fit.latent for fit in fits], anchors, groups, scale, settings)
    plain = AnchoredFusion(tuple(fits), anchors, curves)
    if cluster is None:
        return plain
    return _with_errors(plain, groups, method, scale, settings, cluster, pulled)


def _with_errors(
    plain: AnchoredFusion,
    groups: Sequence[FuseGroup],
    method: str,
    scale: Scale,
    settings: FuseSettings,
    cluster: Cluster,
    pulled: bool,
) -> AnchoredFusion:
    size = sum(group.items for group in groups)

    def refit(without: Mapping[int, FuseGroup]) -> Floats:
        """a q + b of all groups, then q of all groups; NaN where the answers that stay do not tell."""
        latents, anchors = [fit.latent for fit in plain.fits], list(plain.anchors)
        for place, group in without.items():
            anchors[place] = _update_targets(anchors[place], group)
            if len(group.compared):
                latents[place] = _refit_anchored(
                    plain.fits[place], group, anchors[place], method, scale, settings, pulled
                )
        try:
            curves = _curves(latents, anchors, groups, scale, settings)
        except StatsError:
            return np.full(2 * size, np.nan)
        for place, group in without.items():
            if not len(group.compared):
                latents[place] = np.full(group.items, np.nan)
        links = [curve.a * latent + curve.b for curve, latent in zip(curves, latents)]
        return np.concatenate([*links, *latents])

    rng = np.random.default_rng([settings.seed, 1])
    return replace(plain, spreads=jackknife(groups, cluster, refit, rng=rng))


def _fit_anchored_group(
    group: FuseGroup, anchors: RatingAnchors, method: str, scale: Scale, settings: FuseSettings, pulled: bool
) -> GroupFit:
    if method == "anchored-elo":
        at = count_in_levels(anchors.levels, scale) - MIDDLE
        return fit_anchored_elo(group, anchors.items if pulled else anchors.items[:0], at, settings)
    at = count_in_levels(anchors.targets, scale) - MIDDLE
    return fit_anchored_davidson(group, anchors.items if pulled else anchors.items[:0], at, settings)


def _refit_anchored(
    whole: GroupFit,
    group: FuseGroup,
    anchors: RatingAnchors,
    method: str,
    scale: Scale,
    settings: FuseSettings,
    pulled: bool,
) -> Floats:
    """Latent scores with fewer answers: Elo again, Davidson by one Newton step (finite whatever was left out)."""
    if method == "anchored-elo":
        return _fit_anchored_group(group, anchors, method, scale, settings, pulled).latent
    at = count_in_levels(anchors.targets, scale) - MIDDLE
    return step_anchored_davidson(whole, group, anchors.items if pulled else anchors.items[:0], at, settings)


def _curves(
    latents: Sequence[Floats],
    anchors: Sequence[RatingAnchors],
    groups: Sequence[FuseGroup],
    scale: Scale,
    settings: FuseSettings,
) -> tuple[Sigmoid, ...]:
    at = [latent[group_anchors.items] for latent, group_anchors in zip(latents, anchors)]
    targets = [group_anchors.targets for group_anchors in anchors]
    alone = "fuse comparisons alone with --method davidson"
    if settings.calibration == "pooled":
        curve = _curve(np.concatenate(at), np.concatenate(targets), scale, "rating anchors of all groups", alone)
        return (curve,) * len(groups)
    shared = f"--calibration pooled shares one curve, or {alone}"
    return tuple(_curve(q, target, scale, group.where, shared) for group, q, target in zip(groups, at, targets))


def _curve(q: Floats, target: Floats, scale: Scale, where: str, remedy: str) -> Sigmoid:
    try:
        return fit_sigmoid(q, target, low=scale.low, high=scale.high)
    except NotIdentified as error:
        raise NotIdentified(error.needed, found=error.found, where=where, remedy=remedy) from None


def _update_targets(anchors: RatingAnchors, group: FuseGroup) -> RatingAnchors:
    """The same rating anchors with targets from the group's ratings; one that lost all its ratings keeps its own."""
    item, _, value = average_repeated_ratings(group.rated)
    means, medians = (centers[anchors.items] for centers in rating_centers(item, value, group.items))
    lost = np.isnan(means)
    return replace(
        anchors, means=np.where(lost, anchors.means, means), medians=np.where(lost, anchors.medians, medians)
    )


# -- scores and intervals ----------------------------------------------------------------------------------------------

WITHOUT_LIKELIHOOD: tuple[Method, ...] = ("elo",)
OWN_CLUSTER: dict[str, Cluster] = {**dict.fromkeys(RATED, "rater"), "crowd": "answer"}
"""Methods whose own errors answer one question only; for another, they are jackknifed."""
MANY_CLUSTERS = 30
"""From this many degrees of freedom on, clusters tell the error of every single difference."""
FEWEST_MODERATED = 10
"""Items of a group from which its errors can borrow from each other."""
ROUNDING = 1e-9
"""An error below this share of the range of scores is none."""
MOST_RANKED = 2_000
"""Rank intervals compare every pair of items: not made for larger groups."""


SLIGHTEST = 1e-12
"""Chance of an answer that was given although the fit rules it out: Elo may drive two items apart without end."""


@dataclass(frozen=True)
class ScoredGroup:
    """One group, scored."""

    group: FuseGroup
    fit: GroupFit
    value: Floats
    error: Floats
    """NaN, as `low` and `high`, where no error can be given."""
    low: Floats
    high: Floats
    latent_error: Floats
    ranks: RankIntervals | None
    errors: str
    df: float
    anchors: RatingAnchors | None = None
    curve: Sigmoid | None = None

    @cached_property
    def chances(self) -> tuple[Floats, Floats, Floats] | None:
        """P(i wins), P(tie), P(j wins) of every pair that met; models without ties share out the ties there were.

        None where the method is no model of comparisons.
        """
        fit = self.fit
        if fit.model is None or not len(self.group.compared):
            return None
        counts = self.group.pair_counts
        d = (fit.latent[counts.i] - fit.latent[counts.j]) / fit.per_logit
        win, tie, loss = pair_probabilities(fit.model, d, fit.tie)
        if fit.model not in TIE_MODELS:
            win, tie, loss = spread_ties(win, counts.ties, counts.wins + counts.losses + counts.ties)
        for chance, answers in ((win, counts.wins), (tie, counts.ties), (loss, counts.losses)):
            if chance.min() == 0:
                chance[(chance == 0) & (answers > 0)] = SLIGHTEST
        whole = win + tie + loss
        return win / whole, tie / whole, loss / whole


@dataclass(frozen=True)
class _Line:
    """Values on a line where errors are symmetric (the method's scale, or the argument of the curve)."""

    value: Floats
    se: Floats
    df: Floats
    errors: Errors | None
    """For ranks: only differences between items count."""
    method: str


def score_groups(
    groups: Sequence[FuseGroup],
    method: str,
    settings: FuseSettings,
    cluster: Cluster,
    progress: Callable[[str], None],
) -> list[ScoredGroup]:
    """Every group scored by `method`, with intervals and ranks."""
    if method in ANCHORED:
        progress("anchoring comparisons to ratings")
        return _anchored_scores(groups, method, settings, cluster)
    needs_other_cluster = cluster != OWN_CLUSTER.get(method, cluster)
    if settings.interval == "jackknife" or method in WITHOUT_LIKELIHOOD or needs_other_cluster:
        return _score_by_jackknife(groups, method, settings, cluster, progress)
    scored = []
    for group in groups:
        progress(group.label)
        fit = fit_group(group, method, settings, cluster)
        if fit.errors is None and is_plugin_fit(method):
            return _score_by_jackknife(groups, method, settings, cluster, progress)
        if fit.errors is None:
            nothing = np.full(len(fit.latent), np.nan)
            line = _Line(fit.latent, nothing, nothing, None, f"none: {fit.unknown}")
        else:
            df = fit.errors.item_df if fit.value_df is None else fit.value_df
            se = fit.errors.se if fit.value_se is None else fit.value_se
            line = _Line(fit.latent, se, df, fit.errors, fit.errors.method)
        clustered = cluster != "answer" and method not in OWN_CLUSTER and not is_plugin_fit(method)
        scored.append(_scores(group, fit, _moderate_line(group, fit, line) if clustered else line, settings))
    return scored


def _line(value: Floats, errors: Errors) -> _Line:
    return _Line(value, errors.se, errors.item_df, errors, errors.method)


def _moderate_line(group: FuseGroup, fit: GroupFit, line: _Line) -> _Line:
    """Errors from a handful of clusters, each item's steadied by those of the others in its group.

    Five raters tell little of each item's error: four degrees of freedom, intervals that are long or short by luck, and
    no two items that differ by enough. The variance of an item around the group's mean, in units of what independent
    answers would give, borrows from the other items (moderated_variances); the variance of the mean itself, where there
    is one, keeps the clusters' own degrees of freedom.
    """
    df, errors = float(np.median(line.df)), line.errors
    if errors is None or errors.covariance is None or df >= MANY_CLUSTERS or group.items < FEWEST_MODERATED:
        return line
    independent: Floats | None = np.diag(1.0 / np.maximum(group.counts(), 1))
    if fit.pairs is not None:
        independent = independent_errors(fit.pairs, group.pair_counts).covariance
    assert independent is not None
    shape = _centre_covariance(independent)  # if every answer were independent, up to a factor
    around, level = _around_and_level(errors)
    ratio = around / np.diag(shape)
    ratio = np.where(ratio < ROUNDING * np.median(ratio), 0.0, ratio)
    if np.isnan(ratio).any() or np.sum(ratio > 0) < FEWEST_MODERATED:
        return line
    moderated = moderated_variances(ratio, df)
    own = moderated.variance * np.diag(shape)
    scale = np.sqrt(moderated.variance)
    with np.errstate(divide="ignore"):  # one variance for all items and no level of its own: normal
        both = (own + level) ** 2 / (own**2 / moderated.df + level**2 / df)
    method = f"{line.method}; each item's borrows from the others"
    borrowed = Errors(np.sqrt(own), shape * np.outer(scale, scale), moderated.df, method)
    return _Line(line.value, np.sqrt(own + level), both, borrowed, method)


def _around_and_level(errors: Errors) -> tuple[Floats, float]:
    """Variances of the values around their mean, and of the mean itself."""
    if not errors.parts:
        assert errors.covariance is not None
        return np.diag(_centre_covariance(errors.covariance)), float(errors.covariance.mean())
    freedom = {"rater_df": errors.parts[0].df, "prompt_df": errors.parts[1].df}
    covariances = [part.covariance for part in errors.parts if part.covariance is not None]
    around = two_way_variance(*(np.diag(_centre_covariance(C)) for C in covariances), **freedom)[0]
    level = two_way_variance(*(max(float(C.mean()), 0.0) for C in covariances), **freedom)[0]
    whole = two_way_variance(*(np.diag(C) for C in covariances), **freedom)[0]
    raised = np.divide(errors.se**2, whole, out=np.ones_like(whole), where=whole > 0)
    return around * raised, float(level)


def _centre_covariance(covariance: Floats) -> Floats:
    """The covariance of values minus their mean."""
    rows = covariance.mean(axis=0)
    values: Floats = covariance - rows[:, None] - rows[None, :] + rows.mean()
    return values


def _score_by_jackknife(
    groups: Sequence[FuseGroup],
    method: str,
    settings: FuseSettings,
    cluster: Cluster,
    progress: Callable[[str], None],
) -> list[ScoredGroup]:
    progress("fitting")
    fits = [fit_group(group, method, settings, cluster, errors=False) for group in groups]

    def refit(without: Mapping[int, FuseGroup]) -> Floats:
        progress(f"fitting again without a {cluster}")
        latents = [fit.latent for fit in fits]
        for place, group in without.items():
            whole = fits[place]
            if not count_judgments(group, method):
                latents[place] = np.full(group.items, np.nan)
            elif whole.pairs is not None:
                latents[place] = step_pairs(whole, group)
            else:
                try:
                    latents[place] = fit_group(group, method, settings, cluster, errors=False).latent
                except StatsError:  # the judgments that stay identify no scores
                    latents[place] = np.full(group.items, np.nan)
        return np.concatenate(latents)

    spreads = jackknife(groups, cluster, refit, rng=np.random.default_rng([settings.seed, 1]))
    scored = []
    for group, fit, values in zip(groups, fits, _slices(groups)):
        errors = jackknife_errors(spreads, values, cluster)
        if fit.pairs is not None and not np.isnan(errors.se).any():
            errors = floor_jackknife_errors(group, fit.pairs, errors)
        scored.append(_scores(group, fit, _moderate_line(group, fit, _line(fit.latent, errors)), settings))
    return scored


def _anchored_scores(
    groups: Sequence[FuseGroup], method: str, settings: FuseSettings, cluster: Cluster
) -> list[ScoredGroup]:
    fused: AnchoredFusion = fit_anchored(groups, method, settings, cluster)
    size = sum(group.items for group in groups)
    scored = []
    for n, at in enumerate(_slices(groups)):
        fit, curve = fused.fits[n], fused.curves[n]
        link = jackknife_errors(fused.spreads, at, cluster)
        latent = jackknife_errors(fused.spreads, slice(size + at.start, size + at.stop), cluster)
        line = _moderate_line(groups[n], fit, _line(fused.links()[n], link))
        scored.append(
            _scores(groups[n], fit, line, settings, curve=curve, anchors=fused.anchors[n], latent_se=latent.se)
        )
    return scored


def _slices(groups: Sequence[FuseGroup]) -> list[slice]:
    """The values of each group among those of all."""
    ends = np.cumsum([0] + [group.items for group in groups]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]


def _scores(
    group: FuseGroup,
    fit: GroupFit,
    line: _Line,
    settings: FuseSettings,
    *,
    curve: Sigmoid | None = None,
    anchors: RatingAnchors | None = None,
    latent_se: Floats | None = None,
) -> ScoredGroup:
    # No error where none shows: clusters that say exactly the same do not make a score exact.
    least = ROUNDING * max(float(np.ptp(line.value)), float(np.max(line.se, initial=0.0, where=~np.isnan(line.se))))
    real = line.se > least
    if not real.all():
        method = line.method if line.method.startswith("none") else f"{line.method}; none where they do not vary"
        line = replace(line, se=np.where(real, line.se, np.nan), method=method)
    half = stdtrit(line.df, (1 + settings.level) / 2) * line.se
    ends = [line.value, line.value - half, line.value + half]
    error = line.se
    if curve is not None:
        slope = (curve.high - curve.low) * expit(line.value) * expit(-line.value)
        ends, error = [curve.low + (curve.high - curve.low) * expit(end) for end in ends], slope * line.se
    elif fit.rated and group.scale is not None:
        ends = [np.clip(end, group.scale.low, group.scale.high) for end in ends]
    value, low, high = ends
    scale = group.scale
    if (curve is not None or fit.rated) and scale is not None and not scale.higher_is_better:
        # Back on the scale as its raters were asked: lower is better there.
        value, high, low = (scale.low + scale.high - end for end in ends)
    df = float(np.median(line.df))
    return ScoredGroup(
        group=group,
        fit=fit,
        value=value,
        error=error,
        low=low,
        high=high,
        latent_error=line.se if latent_se is None else latent_se,
        ranks=_ranks(line, settings) if np.isfinite(line.se).all() else None,
        errors=line.method,
        df=df,
        anchors=anchors,
        curve=curve,
    )


def _ranks(line: _Line, settings: FuseSettings) -> RankIntervals | None:
    """None for large groups, and where a difference between two items has no error."""
    errors = line.errors
    if errors is None or (errors.covariance is None and errors.differences is None) or len(line.value) > MOST_RANKED:
        return None
    try:
        return rank_intervals(
            line.value,
            errors.covariance,
            differences=errors.differences,
            difference_df=errors.difference_df,
            df=errors.df,
            level=settings.level,
            rng=np.random.default_rng([settings.seed, 3]),
            simultaneous=settings.ranks == "simultaneous",
        )
    except BadValue:
        return None
