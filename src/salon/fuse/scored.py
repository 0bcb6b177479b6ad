"""Scores with their intervals: every method's errors brought to one form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import stats
from scipy.special import expit

from salon.errors import BadValue
from salon.fuse.anchored import Fused, anchored
from salon.fuse.fits import fit_group, judgments
from salon.fuse.group_fit import GroupFit
from salon.fuse.groups import Floats, Group
from salon.fuse.jackknife import Spread, folds, refitted, spread
from salon.fuse.pair_fits import jackknife_errors, pair_counts, step_pairs
from salon.fuse.settings import ANCHORED, RATED, Cluster, FuseSettings, Method
from salon.stats.calibration import Sigmoid
from salon.stats.moderation import moderated_variances
from salon.stats.pair_errors import Errors, independent_errors
from salon.stats.pair_fit import PairFit
from salon.stats.pair_information import DENSE_ITEMS
from salon.stats.rating_anchors import RatingAnchors
from salon.stats.tiers import RankIntervals, rank_intervals

WITHOUT_LIKELIHOOD: tuple[Method, ...] = ("elo",)
OWN_CLUSTER: dict[Method, Cluster] = {**dict.fromkeys(RATED, "rater"), "crowd": "answer"}
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
    covariance: Floats | None
    """For ranks: only differences between items count."""
    method: str
    rank_df: float | None = None
    """Degrees of freedom of differences, where they are other than the values'."""


def score_groups(
    groups: Sequence[Group],
    method: Method,
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
        line = _own_line(fit)
        clustered = cluster != "answer" and method not in OWN_CLUSTER
        made.append(_scores(group, fit, _moderated(group, fit, line) if clustered else line, settings))
    return made


def _own_line(fit: GroupFit) -> _Line:
    errors = fit.errors
    if errors is None:
        nothing = np.full(len(fit.latent), np.nan)
        return _Line(fit.latent, nothing, nothing, None, f"none: {fit.unknown}")
    df = np.full(len(fit.latent), errors.df) if fit.value_df is None else fit.value_df
    se = errors.se if fit.value_se is None else fit.value_se
    return _Line(fit.latent, se, df, errors.covariance, errors.method)


def _moderated(group: Group, fit: GroupFit, line: _Line) -> _Line:
    """Errors from a handful of clusters, each item's steadied by those of the others in its group.

    Five raters tell little of each item's error: four degrees of freedom, intervals that are long or short by luck, and
    no two items that differ by enough. The variance of an item around the group's mean, in units of what independent
    answers would give, borrows from the other items (moderated_variances); the variance of the mean itself, where there
    is one, keeps the clusters' own degrees of freedom.
    """
    df = float(np.median(line.df))
    if line.covariance is None or df >= MANY_CLUSTERS or group.items < FEWEST_MODERATED:
        return line
    shape = _centred(_shape(group, fit))
    around, level = _centred(line.covariance), float(line.covariance.mean())
    ratio = np.diag(around) / np.diag(shape)
    ratio = np.where(ratio < ROUNDING * np.median(ratio), 0.0, ratio)
    if np.isnan(ratio).any() or np.sum(ratio > 0) < FEWEST_MODERATED:
        return line
    made = moderated_variances(ratio, df)
    own = made.variance * np.diag(shape)
    scale = np.sqrt(made.variance)
    with np.errstate(divide="ignore"):  # one variance for all items and no level of its own: normal
        both = (own + level) ** 2 / (own**2 / made.df + level**2 / df)
    return _Line(
        value=line.value,
        se=np.sqrt(own + level),
        df=both,
        covariance=shape * np.outer(scale, scale),
        method=f"{line.method}; each item's borrows from the others",
        rank_df=made.df,
    )


def _centred(covariance: Floats) -> Floats:
    """The covariance of values minus their mean."""
    rows = covariance.mean(axis=0)
    return covariance - rows[:, None] - rows[None, :] + rows.mean()


def _shape(group: Group, fit: GroupFit) -> Floats:
    """The covariance if every answer were independent, up to a factor."""
    if fit.pairs is not None:
        return independent_errors(fit.pairs, pair_counts(group)).covariance
    return np.diag(1.0 / np.maximum(group.counts(), 1))


def _jackknifed(
    groups: Sequence[Group],
    method: Method,
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
                latents[place] = fit_group(group, method, settings, cluster, errors=False).latent
        return np.concatenate(latents)

    errors = spread(*refitted(folds(groups, cluster, rng=np.random.default_rng([settings.seed, 1])), refit))
    how = _how(cluster, len(errors.deviations))
    made = []
    for group, fit, part in zip(groups, fits, _split(errors, groups)):
        line = _line(fit.latent, part, how)
        line = line if fit.pairs is None else _floored(group, fit.pairs, line)
        made.append(_scores(group, fit, _moderated(group, fit, line), settings))
    return made


def _floored(group: Group, fit: PairFit, line: _Line) -> _Line:
    if np.isnan(line.se).any():
        return line
    own = Errors(line.se, line.covariance, float(np.median(line.df)), line.method)
    errors = jackknife_errors(group, fit, own)
    df = np.full(len(line.df), errors.df)
    return replace(line, se=errors.se, covariance=errors.covariance, df=df, method=errors.method)


def _anchored_scores(
    groups: Sequence[Group], method: Method, settings: FuseSettings, cluster: Cluster
) -> list[GroupScores]:
    fused: Fused = anchored(groups, method, settings, cluster)
    how = _how(cluster, len(fused.link.deviations))
    made = []
    for n, (link, latent) in enumerate(zip(_split(fused.link, groups), _split(fused.latent, groups))):
        fit, curve = fused.fits[n], fused.curves[n]
        line = _moderated(groups[n], fit, _line(fused.links()[n], link, how))
        made.append(_scores(groups[n], fit, line, settings, curve=curve, anchors=fused.anchors[n], latent_se=latent.se))
    return made


def _line(value: Floats, part: Spread, how: str) -> _Line:
    covariance = part.deviations.T @ part.deviations if len(value) <= DENSE_ITEMS else None
    return _Line(value, part.se, part.df, covariance, how)


def _how(cluster: Cluster, made: int) -> str:
    if cluster == "answer":
        return f"jackknife over {made} random blocks of answers"
    return f"jackknife over {cluster}s, {made} refits"


def _split(whole: Spread, groups: Sequence[Group]) -> list[Spread]:
    ends = np.cumsum([0] + [group.items for group in groups])
    return [Spread(whole.deviations[:, s:e], whole.df[s:e]) for s, e in pairwise(ends)]


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
    if line.covariance is None or len(line.value) > MOST_RANKED:
        return None
    try:
        return rank_intervals(
            line.value,
            line.covariance,
            df=float(np.median(line.df)) if line.rank_df is None else line.rank_df,
            level=settings.level,
            rng=np.random.default_rng([settings.seed, 3]),
            simultaneous=settings.ranks == "simultaneous",
        )
    except BadValue:
        return None
