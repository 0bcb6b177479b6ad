"""Scores with their intervals: every method's errors brought to one form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import stats
from scipy.special import expit

from salon.errors import BadValue, StatsError
from salon.fuse.anchored import Fused, anchored
from salon.fuse.fits import fit_group, judgments
from salon.fuse.group_fit import GroupFit
from salon.fuse.groups import Floats, Group
from salon.fuse.jackknife import jackknife, jackknife_errors
from salon.fuse.own_fit import is_own_fit
from salon.fuse.pair_fits import floored_jackknife, pair_counts, step_pairs
from salon.fuse.settings import ANCHORED, RATED, Cluster, FuseSettings, Method
from salon.stats.calibration import Sigmoid
from salon.stats.moderation import moderated_variances
from salon.stats.pair_errors import Errors, independent_errors
from salon.stats.rating_anchors import RatingAnchors
from salon.stats.tiers import RankIntervals, rank_intervals
from salon.stats.two_way import two_way_variance

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


@dataclass(frozen=True)
class GroupScores:
    """One group, scored."""

    group: Group
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
    groups: Sequence[Group],
    method: str,
    settings: FuseSettings,
    cluster: Cluster,
    progress: Callable[[str], None],
) -> list[GroupScores]:
    """Every group scored by `method`, with intervals and ranks."""
    if method in ANCHORED:
        progress("anchoring comparisons to ratings")
        return _anchored_scores(groups, method, settings, cluster)
    other = cluster != OWN_CLUSTER.get(method, cluster)
    if settings.interval == "jackknife" or method in WITHOUT_LIKELIHOOD or other:
        return _jackknifed(groups, method, settings, cluster, progress)
    made = []
    for group in groups:
        progress(group.label)
        fit = fit_group(group, method, settings, cluster)
        if fit.errors is None and is_own_fit(method):
            return _jackknifed(groups, method, settings, cluster, progress)
        line = _own_line(fit)
        clustered = cluster != "answer" and method not in OWN_CLUSTER and not is_own_fit(method)
        made.append(_scores(group, fit, _moderated(group, fit, line) if clustered else line, settings))
    return made


def _own_line(fit: GroupFit) -> _Line:
    errors = fit.errors
    if errors is None:
        nothing = np.full(len(fit.latent), np.nan)
        return _Line(fit.latent, nothing, nothing, None, f"none: {fit.unknown}")
    df = errors.item_df if fit.value_df is None else fit.value_df
    se = errors.se if fit.value_se is None else fit.value_se
    return _Line(fit.latent, se, df, errors, errors.method)


def _line(value: Floats, errors: Errors) -> _Line:
    return _Line(value, errors.se, errors.item_df, errors, errors.method)


def _moderated(group: Group, fit: GroupFit, line: _Line) -> _Line:
    """Errors from a handful of clusters, each item's steadied by those of the others in its group.

    Five raters tell little of each item's error: four degrees of freedom, intervals that are long or short by luck, and
    no two items that differ by enough. The variance of an item around the group's mean, in units of what independent
    answers would give, borrows from the other items (moderated_variances); the variance of the mean itself, where there
    is one, keeps the clusters' own degrees of freedom.
    """
    df, errors = float(np.median(line.df)), line.errors
    if errors is None or errors.covariance is None or df >= MANY_CLUSTERS or group.items < FEWEST_MODERATED:
        return line
    shape = _centred(_shape(group, fit))
    around, level = _around_and_level(errors)
    ratio = around / np.diag(shape)
    ratio = np.where(ratio < ROUNDING * np.median(ratio), 0.0, ratio)
    if np.isnan(ratio).any() or np.sum(ratio > 0) < FEWEST_MODERATED:
        return line
    made = moderated_variances(ratio, df)
    own = made.variance * np.diag(shape)
    scale = np.sqrt(made.variance)
    with np.errstate(divide="ignore"):  # one variance for all items and no level of its own: normal
        both = (own + level) ** 2 / (own**2 / made.df + level**2 / df)
    method = f"{line.method}; each item's borrows from the others"
    borrowed = Errors(np.sqrt(own), shape * np.outer(scale, scale), made.df, method)
    return _Line(line.value, np.sqrt(own + level), both, borrowed, method)


def _around_and_level(errors: Errors) -> tuple[Floats, float]:
    """Variances of the values around their mean, and of the mean itself."""
    if not errors.parts:
        assert errors.covariance is not None
        return np.diag(_centred(errors.covariance)), float(errors.covariance.mean())
    freedom = {"rater_df": errors.parts[0].df, "prompt_df": errors.parts[1].df}
    covariances = [part.covariance for part in errors.parts if part.covariance is not None]
    around = two_way_variance(*(np.diag(_centred(C)) for C in covariances), **freedom)[0]
    level = two_way_variance(*(max(float(C.mean()), 0.0) for C in covariances), **freedom)[0]
    whole = two_way_variance(*(np.diag(C) for C in covariances), **freedom)[0]
    raised = np.divide(errors.se**2, whole, out=np.ones_like(whole), where=whole > 0)
    return around * raised, float(level)


def _centred(covariance: Floats) -> Floats:
    """The covariance of values minus their mean."""
    rows = covariance.mean(axis=0)
    values: Floats = covariance - rows[:, None] - rows[None, :] + rows.mean()
    return values


def _shape(group: Group, fit: GroupFit) -> Floats:
    """The covariance if every answer were independent, up to a factor."""
    if fit.pairs is not None:
        covariance = independent_errors(fit.pairs, pair_counts(group)).covariance
        assert covariance is not None
        return covariance
    return np.diag(1.0 / np.maximum(group.counts(), 1))


def _jackknifed(
    groups: Sequence[Group],
    method: str,
    settings: FuseSettings,
    cluster: Cluster,
    progress: Callable[[str], None],
) -> list[GroupScores]:
    progress("fitting")
    fits = [fit_group(group, method, settings, cluster, errors=False) for group in groups]

    def refit(without: Mapping[int, Group]) -> Floats:
        progress(f"fitting again without a {cluster}")
        latents = [fit.latent for fit in fits]
        for place, group in without.items():
            whole = fits[place]
            if not judgments(group, method):
                latents[place] = np.full(group.items, np.nan)
            elif whole.pairs is not None:
                latents[place] = step_pairs(whole, group)
            else:
                latents[place] = _refitted(group, method, settings, cluster)
        return np.concatenate(latents)

    spreads = jackknife(groups, cluster, refit, rng=np.random.default_rng([settings.seed, 1]))
    made = []
    for group, fit, values in zip(groups, fits, _slices(groups)):
        errors = jackknife_errors(spreads, values, cluster)
        if fit.pairs is not None and not np.isnan(errors.se).any():
            errors = floored_jackknife(group, fit.pairs, errors)
        made.append(_scores(group, fit, _moderated(group, fit, _line(fit.latent, errors)), settings))
    return made


def _refitted(group: Group, method: str, settings: FuseSettings, cluster: Cluster) -> Floats:
    """Latent scores from fewer judgments; NaN where they identify none."""
    try:
        return fit_group(group, method, settings, cluster, errors=False).latent
    except StatsError:
        return np.full(group.items, np.nan)


def _anchored_scores(
    groups: Sequence[Group], method: str, settings: FuseSettings, cluster: Cluster
) -> list[GroupScores]:
    fused: Fused = anchored(groups, method, settings, cluster)
    size = sum(group.items for group in groups)
    made = []
    for n, at in enumerate(_slices(groups)):
        fit, curve = fused.fits[n], fused.curves[n]
        link = jackknife_errors(fused.spreads, at, cluster)
        latent = jackknife_errors(fused.spreads, slice(size + at.start, size + at.stop), cluster)
        line = _moderated(groups[n], fit, _line(fused.links()[n], link))
        made.append(_scores(groups[n], fit, line, settings, curve=curve, anchors=fused.anchors[n], latent_se=latent.se))
    return made


def _slices(groups: Sequence[Group]) -> list[slice]:
    """The values of each group among those of all."""
    ends = np.cumsum([0] + [group.items for group in groups]).tolist()
    return [slice(start, end) for start, end in pairwise(ends)]


def _scores(
    group: Group,
    fit: GroupFit,
    line: _Line,
    settings: FuseSettings,
    *,
    curve: Sigmoid | None = None,
    anchors: RatingAnchors | None = None,
    latent_se: Floats | None = None,
) -> GroupScores:
    line = _told(line)
    half = stats.t.ppf((1 + settings.level) / 2, line.df) * line.se
    ends = [line.value, line.value - half, line.value + half]
    error = line.se
    if curve is not None:
        slope = (curve.high - curve.low) * expit(line.value) * expit(-line.value)
        ends, error = [curve.low + (curve.high - curve.low) * expit(end) for end in ends], slope * line.se
    elif fit.rated and group.scale is not None:
        ends = [np.clip(end, group.scale.low, group.scale.high) for end in ends]
    value, low, high = _turned(group, ends) if curve is not None or fit.rated else ends
    df = float(np.median(line.df))
    return GroupScores(
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


def _told(line: _Line) -> _Line:
    """No error where none shows: clusters that say exactly the same do not make a score exact."""
    least = ROUNDING * max(float(np.ptp(line.value)), float(np.max(line.se, initial=0.0, where=~np.isnan(line.se))))
    known = line.se > least
    if known.all():
        return line
    method = line.method if line.method.startswith("none") else f"{line.method}; none where they do not vary"
    return replace(line, se=np.where(known, line.se, np.nan), method=method)


def _turned(group: Group, ends: Sequence[Floats]) -> Sequence[Floats]:
    """Back on a scale where lower is better, if that is how its raters were asked."""
    scale = group.scale
    if scale is None or scale.higher_is_better:
        return ends
    value, low, high = (scale.low + scale.high - end for end in ends)
    return value, high, low


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
