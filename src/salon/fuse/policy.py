"""What a fusion did with every kind of answer, in words that are printed with the numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from salon.fuse.groups import Group
from salon.fuse.own_fit import is_own_fit, own_fit
from salon.fuse.pair_fits import beats, pair_counts
from salon.fuse.scored import FEWEST_MODERATED, MANY_CLUSTERS, GroupScores
from salon.fuse.settings import ANCHORED, PAIRED, RATED, Cluster, FuseSettings
from salon.stats.crowd_posterior import CrowdPrior
from salon.study import Study
from salon.study.rater import told_of_models

MANY_ENDS = 0.95
"""A rater who takes one side at least this often among twenty decided answers or more answers the side."""
FEW_ANSWERS = 20
FEW_CLUSTERS = 20
SHOWN = 10


def policies(
    study: Study, groups: Sequence[Group], method: str, settings: FuseSettings, cluster: Cluster
) -> tuple[str, ...]:
    """One sentence for each rule that decided about answers."""
    said = [_missing(study), _ties(method), _both_bad(groups, settings), _intervals(cluster)]
    if cluster != "answer" and (method not in RATED or cluster != "rater"):
        said.append(
            f"Errors: with fewer than {MANY_CLUSTERS} {_plural(cluster)} and at least {FEWEST_MODERATED} items in a "
            "group, each item's variance borrows from the others (moderated variances)."
        )
    repeats = sum(group.repeats for group in groups)
    if repeats:
        said.append(f"Repeated answers: {repeats:,} left out; they measure a rater, not the items.")
    same = sum(group.same for group in groups)
    if same:
        said.append(f"Generators met themselves in {same:,} answers: left out.")
    single = sum(group.single for group in groups)
    if single:
        said.append(f"Rankings of a single item: {single:,} left out; they order nothing.")
    if method == "crowd":
        said.append(_crowd_priors(settings))
    elif settings.prior is not None and method not in ("elo", "anchored-elo", *RATED):
        said.append(
            f"Prior: latent scores are normal with standard deviation {settings.prior:g} around the group's level."
        )
    if is_own_fit(method):
        said.append(f"Scores are by the plugin {own_fit(method).name} ({own_fit(method).origin}).")
    if method in ANCHORED:
        said.append(
            "Rating anchors: at each of three middle levels the items whose ratings agree best; a level without any is "
            "listed, and the curve then rests on the others."
        )
    return tuple(words for words in said if words)


def _crowd_priors(settings: FuseSettings) -> str:
    prior = CrowdPrior() if settings.prior is None else CrowdPrior(scores=settings.prior)
    return (
        f"Priors: latent scores are normal with standard deviation {prior.scores:g}; a rater's reliability is "
        f"Beta({prior.right:g}, {prior.wrong:g}), the pull to the left Cauchy of scale {prior.bias:g}."
    )


def _missing(study: Study) -> str:
    skipped = study.comparisons.skipped + study.rankings.skipped + study.ratings.skipped
    return f"Missing answers: each fit uses the answers there are; {skipped:,} skipped ones are left out."


def _ties(method: str) -> str:
    if method in ("davidson", "rao-kupper", "anchored-davidson"):
        return "Ties: an outcome with a parameter of its own, fitted with the scores."
    if method in (*PAIRED, "elo", "anchored-elo", "crowd"):
        return "Ties: half a win for each; errors allow for it."
    if method == "plackett-luce":
        return "Ties in a ranking: the average over the strict orders that agree with it; of two items half a win each."
    return ""


def _both_bad(groups: Sequence[Group], settings: FuseSettings) -> str:
    count = sum(group.both_bad for group in groups)
    if not count:
        return ""
    fate = "left out: it orders nothing" if settings.both_bad == "exclude" else "taken as a tie, as asked"
    return f"'Both bad': {count:,} answers, {fate}."


def _intervals(cluster: Cluster) -> str:
    return {
        "answer": "Intervals: what new answers of the same raters on the same questions would change.",
        "rater": "Intervals: what other raters of the same kind would change.",
        "prompt": "Intervals: what other prompts of the same kind would change, with these raters.",
        "both": "Intervals: what other raters and other prompts of the same kind would change (two-way clustering: "
        "raters + prompts - cells, never below either; t with few clusters).",
    }[cluster]


def _plural(cluster: Cluster) -> str:
    return "raters or prompts" if cluster == "both" else f"{cluster}s"


def warnings(
    study: Study,
    scored: Sequence[GroupScores],
    left_out: Sequence[str],
    method: str,
    settings: FuseSettings,
    cluster: Cluster,
) -> tuple[str, ...]:
    """What a reader should know before trusting the numbers."""
    said = ["simulated study: no person gave these answers"] if study.simulated else []
    said += told_of_models(study.models)
    said += list(left_out[:SHOWN])
    if len(left_out) > SHOWN:
        said.append(f"{len(left_out) - SHOWN} more groups or items are not scored")
    if study.design.adaptive:
        said.append(
            "the design is adaptive: which pairs were asked depends on the answers, so intervals are approximate"
        )
    said += _few_clusters(scored, cluster)
    said += _raters_as_given(study, scored, settings, cluster)
    said += _unknown(scored)
    said += _levels(scored)
    said += _one_sided(study, scored)
    if method in ("elo", "anchored-elo"):
        said += _driven_apart(scored)
    if method in ("elo", "anchored-elo") and settings.shuffles == 1:
        said.append("Elo depends on the order of the answers: one seeded run; --shuffles 20 averages several")
    return tuple(said)


def _few_clusters(scored: Sequence[GroupScores], cluster: Cluster) -> list[str]:
    fewest = min((one.df for one in scored if np.isfinite(one.df)), default=np.inf)
    if fewest >= FEW_CLUSTERS - 1:
        return []
    few = _plural(cluster)
    return [f"errors rest on as few as {fewest:.0f} degrees of freedom: intervals are wide because {few} are few"]


def _raters_as_given(
    study: Study, scored: Sequence[GroupScores], settings: FuseSettings, cluster: Cluster
) -> list[str]:
    """Leaderboards whose raters cannot stand for others: one or two of them, or a crowd without names."""
    if settings.by != "generator" or cluster != "prompt" or settings.cluster != "auto":
        return []
    raters = np.unique(np.concatenate([one.group.raters for one in scored]))
    if study.crowds[raters].any():
        return ["raters without names: intervals are over prompts alone, and do not say what other raters would change"]
    who = "one rater" if len(raters) == 1 else f"{len(raters)} raters"
    return [f"{who}: intervals are over prompts alone, and do not say what other raters would change"]


def _unknown(scored: Sequence[GroupScores]) -> list[str]:
    """Scores that stand without an interval, and why."""
    bare = [one for one in scored if np.isnan(one.error).any()]
    if not bare:
        return []
    items = sum(int(np.isnan(one.error).sum()) for one in bare)
    why = "; ".join(sorted({one.errors for one in bare})[:SHOWN])
    first = f"{bare[0].group.where}{f' and {len(bare) - 1:,} more groups' if len(bare) > 1 else ''}"
    return [f"{first}: {items:,} scores without an interval ({why})"]


def _levels(scored: Sequence[GroupScores]) -> list[str]:
    short = [
        (one.group.where, one.anchors.missing_levels)
        for one in scored
        if one.anchors is not None and len(one.anchors.missing_levels)
    ]
    if not short:
        return []
    shown = "; ".join(f"{where}: {', '.join(f'{level:g}' for level in levels)}" for where, levels in short[:SHOWN])
    return [f"rating levels without a rating anchor, so the curve rests on the others there: {shown}"]


def _driven_apart(scored: Sequence[GroupScores]) -> list[str]:
    """Groups in which some items only win: Elo moves them on with every pass, which its errors do not see."""
    apart = [one.group for one in scored if not beats(pair_counts(one.group)).identified]
    if not apart:
        return []
    more = f" and {len(apart) - 1:,} more groups" if len(apart) > 1 else ""
    return [
        f"{apart[0].where}{more}: some items only won, only lost or never met the others, so Elo moves them apart with "
        "every pass and their intervals are too short (--method davidson --prior 3 says how far apart they may be)"
    ]


def _one_sided(study: Study, scored: Sequence[GroupScores]) -> list[str]:
    """Raters who take one side whatever stands there."""
    rater = np.concatenate([one.group.compared.rater for one in scored])
    outcome = np.concatenate([one.group.compared.outcome for one in scored])
    left = np.concatenate([one.group.compared.left for one in scored])
    known = (left < 2) & (outcome < 2)
    if not known.any():
        return []
    size = int(rater.max()) + 1
    count = np.bincount(rater[known], minlength=size)
    took = np.bincount(rater[known], (outcome == left)[known], minlength=size)
    with np.errstate(invalid="ignore"):
        share = took / count
    said = []
    for side, part in (("left", share), ("right", 1 - share)):
        who = np.flatnonzero((count >= FEW_ANSWERS) & (part >= MANY_ENDS))
        if len(who):
            names = ", ".join(repr(study.label("raters", r)) for r in who[:SHOWN])
            said.append(
                f"always answers {side}: {names}; such answers carry no preference (--method crowd models the side)"
            )
    return said
