"""Anchored fusion: comparisons order the items, ratings anchor the scale.

1. In every group, rating anchors are chosen: at each middle level of the scale the items whose ratings agree best.
2. Latent scores come from the comparisons, held near the rating anchors' targets: by Elo passes that pull them back
   (anchored Elo) or by a penalty on the likelihood (anchored Davidson). Levels count 1 to 5 on any scale.
3. One curve, score = low + (high - low) s(a q + b), is fitted to the rating anchors of all groups (or each group's).

Errors are the jackknife's, on the curve's argument a q + b, so that intervals stay inside the scale. The rating
anchors stay the same in every refit; their targets and the curve are made anew.
Source: PPaint section 3.3, appendix C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from salon.errors import DesignError, NotIdentified, StatsError
from salon.fuse.fits import fit_anchored_elo
from salon.fuse.group_fit import GroupFit
from salon.fuse.groups import Floats, Group, once_each
from salon.fuse.jackknife import Spreads, jackknife
from salon.fuse.pair_fits import fit_anchored_davidson, step_anchored_davidson
from salon.fuse.settings import Cluster, FuseSettings
from salon.stats.calibration import Sigmoid, fit_sigmoid
from salon.stats.rating_anchors import RatingAnchors, choose_rating_anchors
from salon.stats.rating_models import rating_centers
from salon.study import Scale

MIDDLE = 3.0
"""Levels count from 1 to 5; the middle one has latent score 0."""


@dataclass(frozen=True)
class Fused:
    """All groups on one rating scale."""

    fits: tuple[GroupFit, ...]
    anchors: tuple[RatingAnchors, ...]
    curves: tuple[Sigmoid, ...]
    """One for each group; the same one everywhere when pooled."""
    spreads: Spreads = ()
    """Of a q + b, all groups one after the other, then of q; empty without errors."""

    def links(self) -> list[Floats]:
        """a q + b of every group."""
        return [curve.a * fit.latent + curve.b for curve, fit in zip(self.curves, self.fits)]


def rating_scale(groups: Sequence[Group]) -> Scale:
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


def choose_anchors(groups: Sequence[Group], settings: FuseSettings) -> tuple[RatingAnchors, ...]:
    """The rating anchors of every group."""
    scale = rating_scale(groups)
    return tuple(_anchors(group, scale, settings) for group in groups)


def _anchors(group: Group, scale: Scale, settings: FuseSettings) -> RatingAnchors:
    if not len(group.compared) or not len(group.rated):
        raise DesignError(
            "anchored fusion needs comparisons and ratings of the same items",
            found=f"{len(group.compared):,} comparisons and {len(group.rated):,} ratings",
            where=group.where,
            remedy="choose a method for one protocol: davidson for comparisons, mean for ratings",
        )
    met = np.zeros(group.items, bool)
    met[group.compared.a] = met[group.compared.b] = True
    item, rater, value = once_each(group.rated)
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


def levels(values: Floats, scale: Scale) -> Floats:
    """Values of a rating scale counted 1 to 5."""
    return 1 + 4 * (values - scale.low) / (scale.high - scale.low)


def anchored(
    groups: Sequence[Group], method: str, settings: FuseSettings, cluster: Cluster | None, *, pulled: bool = True
) -> Fused:
    """Anchored Elo or anchored Davidson on every group, calibrated; errors unless `cluster` is None.

    `pulled=False` gives the plain method on the same curve: rating anchors then calibrate only.
    """
    scale = rating_scale(groups)
    anchors = choose_anchors(groups, settings)
    fits = [_fit(group, found, method, scale, settings, pulled) for group, found in zip(groups, anchors)]
    curves = _curves([fit.latent for fit in fits], anchors, groups, scale, settings)
    plain = Fused(tuple(fits), anchors, curves)
    if cluster is None:
        return plain
    return _with_errors(plain, groups, method, scale, settings, cluster, pulled)


def _with_errors(
    plain: Fused,
    groups: Sequence[Group],
    method: str,
    scale: Scale,
    settings: FuseSettings,
    cluster: Cluster,
    pulled: bool,
) -> Fused:
    size = sum(group.items for group in groups)

    def refit(without: Mapping[int, Group]) -> Floats:
        """a q + b of all groups, then q of all groups; NaN where the answers that stay do not tell."""
        latents, anchors = [fit.latent for fit in plain.fits], list(plain.anchors)
        for place, group in without.items():
            anchors[place] = _retargeted(anchors[place], group)
            if len(group.compared):
                latents[place] = _refit(plain.fits[place], group, anchors[place], method, scale, settings, pulled)
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


def _fit(
    group: Group, anchors: RatingAnchors, method: str, scale: Scale, settings: FuseSettings, pulled: bool
) -> GroupFit:
    if method == "anchored-elo":
        at = levels(anchors.levels, scale) - MIDDLE
        return fit_anchored_elo(group, anchors.items if pulled else anchors.items[:0], at, settings)
    at = levels(anchors.targets, scale) - MIDDLE
    return fit_anchored_davidson(group, anchors.items if pulled else anchors.items[:0], at, settings)


def _refit(
    whole: GroupFit,
    group: Group,
    anchors: RatingAnchors,
    method: str,
    scale: Scale,
    settings: FuseSettings,
    pulled: bool,
) -> Floats:
    """Latent scores with fewer answers: Elo again, Davidson by one Newton step (finite whatever was left out)."""
    if method == "anchored-elo":
        return _fit(group, anchors, method, scale, settings, pulled).latent
    at = levels(anchors.targets, scale) - MIDDLE
    return step_anchored_davidson(whole, group, anchors.items if pulled else anchors.items[:0], at, settings)


def _curves(
    latents: Sequence[Floats],
    anchors: Sequence[RatingAnchors],
    groups: Sequence[Group],
    scale: Scale,
    settings: FuseSettings,
) -> tuple[Sigmoid, ...]:
    at = [latent[found.items] for latent, found in zip(latents, anchors)]
    targets = [found.targets for found in anchors]
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


def _retargeted(anchors: RatingAnchors, group: Group) -> RatingAnchors:
    """The same rating anchors with targets from the group's ratings; one that lost all its ratings keeps its own."""
    item, _, value = once_each(group.rated)
    means, medians = (centers[anchors.items] for centers in rating_centers(item, value, group.items))
    lost = np.isnan(means)
    return replace(
        anchors, means=np.where(lost, anchors.means, means), medians=np.where(lost, anchors.medians, medians)
    )
