"""The fusion of a study: choose the method, score every group, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from salon.errors import DesignError, TooFew
from salon.fuse.anchored import rating_scale
from salon.fuse.compare import compare_methods
from salon.fuse.figures import anchor_figures, curve_figures, group_figures, rater_figures, score_rows
from salon.fuse.fits import protocol_of
from salon.fuse.groups import Group, study_groups
from salon.fuse.policy import policies, warnings
from salon.fuse.results import FuseReport
from salon.fuse.scored import OWN_CLUSTER, score_groups
from salon.fuse.settings import ANCHORED, RATED, Cluster, FuseSettings, Method
from salon.study import Signature, Study

ENOUGH_CLUSTERS = 5
"""From this many raters (or prompts) in every group on, errors ask what others would have said."""


def fuse_study(
    study: Study,
    settings: FuseSettings | None = None,
    *,
    criteria: Sequence[str] = (),
    compare: bool = False,
    progress: Callable[[str], None] = lambda step: None,
) -> FuseReport:
    """One score with its interval for each item (or generator) and criterion of `study`.

    >>> import salon
    >>> report = salon.fuse_study(salon.open_study("study"))      # doctest: +SKIP
    >>> report.scores[0].value, report.scores[0].low, report.scores[0].high      # doctest: +SKIP
    """
    began = time.perf_counter()
    settings = settings or FuseSettings()
    progress("sorting judgments into groups")
    found = list(study_groups(study, settings, criteria))
    if not found:
        raise TooFew("a fusion needs judgments", found="none", where=f"study {study.name!r}")
    method = _method(found, settings)
    groups, left_out = _usable(found, method)
    cluster = _cluster(study, groups, method, settings)
    scored = score_groups(groups, method, settings, cluster, progress)
    progress("residuals")
    name, low, high = _scale(groups, method)
    signature = _signature(study, settings, method, cluster, criteria, compare)
    return FuseReport(
        study=study.name,
        simulated=study.simulated,
        method=method,
        by=settings.by,
        scale=name,
        scale_low=low,
        scale_high=high,
        level=settings.level,
        cluster=cluster,
        scores=tuple(row for one in scored for row in score_rows(one, settings.by)),
        groups=tuple(group_figures(one, settings) for one in scored),
        raters=tuple(rater_figures(study, scored)),
        rating_anchors=tuple(anchor_figures(scored)),
        curves=tuple(curve_figures(scored, settings)),
        compare=compare_methods(groups, settings, progress) if compare else None,
        policies=policies(study, groups, method, settings, cluster),
        warnings=warnings(study, scored, left_out, method, settings, cluster),
        signature=signature,
        signature_line=str(signature),
        seconds=time.perf_counter() - began,
    )


def _method(groups: Sequence[Group], settings: FuseSettings) -> Method:
    """The method asked for, or the one that suits most of the judgments."""
    if settings.method != "auto":
        return settings.method
    both = [g for g in groups if len(g.compared) and len(g.rated) and g.scale is not None]
    if both and all(len(g.rated) for g in groups if len(g.compared)):
        return "anchored-davidson"
    sizes = {
        "comparisons": sum(len(g.compared) for g in groups),
        "rankings": sum(len(g.ranked) for g in groups),
        "ratings": sum(len(g.rated) for g in groups),
    }
    most = max(sizes, key=lambda name: sizes[name])
    if most == "comparisons":
        return "davidson" if any((g.compared.outcome == 2).any() for g in groups) else "bradley-terry"
    return "plackett-luce" if most == "rankings" else "mean"


def _usable(groups: Sequence[Group], method: Method) -> tuple[list[Group], list[str]]:
    """Groups and items that the method can score, and in words what it cannot."""
    wanted = protocol_of(method)
    part = {"comparisons": "compared", "rankings": "ranked", "ratings": "rated"}[wanted]
    kept, told = [], []
    for group in groups:
        if not len(getattr(group, part)):
            told.append(f"{group.where}: no {wanted}, so {method} cannot score it")
            continue
        named = _named_in(group, wanted)
        if named.sum() < 2:
            told.append(f"{group.where}: fewer than two items, so nothing to compare")
            continue
        if not named.all():
            told.append(f"{group.where}: {int((~named).sum())} items without {wanted} are not scored")
        kept.append(group if named.all() else group.among(named))
    if not kept:
        raise DesignError(
            f"{method} needs at least one group of two items with {wanted}",
            found="; ".join(told[:3]),
            remedy="choose a --method for the judgments there are",
        )
    return kept, told


def _named_in(group: Group, wanted: str) -> np.ndarray:
    named = np.zeros(group.items, bool)
    codes = {
        "comparisons": (group.compared.a, group.compared.b),
        "rankings": (group.ranked.items,),
        "ratings": (group.rated.item,),
    }
    for code in codes[wanted]:
        named[code] = True
    return named


def _cluster(study: Study, groups: Sequence[Group], method: Method, settings: FuseSettings) -> Cluster:
    """What a repetition of the study would draw anew."""
    if settings.cluster != "auto":
        return settings.cluster
    if method in OWN_CLUSTER:
        return OWN_CLUSTER[method]
    prompts = [len(np.unique(np.concatenate([p.prompt for p in (g.compared, g.ranked, g.rated)]))) for g in groups]
    if settings.by == "generator" and min(prompts) >= ENOUGH_CLUSTERS:
        return "prompt"
    raters = [group.raters for group in groups]
    if any(study.crowds[one].any() for one in raters) or min(map(len, raters)) < ENOUGH_CLUSTERS:
        return "answer"
    return "rater"


def _scale(groups: Sequence[Group], method: Method) -> tuple[str, float | None, float | None]:
    if method in ANCHORED:
        scale = rating_scale(groups)
        return f"{scale.low:g}-{scale.high:g}", scale.low, scale.high
    if method in RATED:
        ends = {(g.scale.low, g.scale.high) for g in groups if g.scale is not None}
        if len(ends) == 1 and all(g.scale is not None for g in groups):
            low, high = next(iter(ends))
            return f"{low:g}-{high:g}", low, high
        return "ratings as given", None, None
    return {"elo": "elo", "thurstone": "probit"}.get(method, "logit"), None, None


def _signature(
    study: Study,
    settings: FuseSettings,
    method: Method,
    cluster: Cluster,
    criteria: Sequence[str],
    compare: bool,
) -> Signature:
    """The settings that this fusion read, and no others."""
    unread = {"seed"}
    unread |= set() if compare else {"tie_margin"}
    unread |= set() if settings.interval == "bootstrap" else {"draws"}
    unread |= set() if settings.by == "generator" else {"split"}
    anchored, elo = method in ANCHORED or compare, "elo" in method or compare
    unread |= set() if anchored else {"calibration", "anchors_each", "anchor_center", "gap", "pull", "penalty"}
    unread |= set() if elo else {"passes", "shuffles", "gap", "pull"}
    plain = {name: value for name, value in settings if name not in unread} | {"method": method, "cluster": cluster}
    if criteria:
        plain["criteria"] = ",".join(criteria)
    if compare:
        plain["compare"] = True
    return Signature(method="fuse", data=study.hash[:12], revision=study.revision, settings=plain, seed=settings.seed)
