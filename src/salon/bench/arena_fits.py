"""One part of a study as a board's scores; and all boards fitted again without each block of prompts, at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from salon.bench.routing_table import BoardFit
from salon.errors import DesignError, StatsError, TooFew
from salon.evaluate.duels import Part
from salon.fuse.fits import fit_group, judgments
from salon.fuse.fuse import fuse_study
from salon.fuse.group_fit import GroupFit
from salon.fuse.groups import BOTH_BAD, TIE, Floats, Group, study_groups
from salon.fuse.jackknife import jackknife
from salon.fuse.pair_fits import step_pairs
from salon.fuse.results import FuseReport
from salon.fuse.settings import Cluster, FuseSettings
from salon.stats.pair_models import pair_probabilities
from salon.stats.result import Estimate

LOGIT = "logit"


@dataclass(frozen=True)
class Scored:
    """A part and its scores, or why it has none."""

    part: Part
    fuse: FuseSettings
    group: Group | None
    """None where no answer is about two generators."""
    report: FuseReport | None
    reason: str | None

    @property
    def method(self) -> str:
        """How answers became scores."""
        assert self.fuse.method != "auto"  # `scored_part` has chosen
        return self.fuse.method

    @property
    def is_logit(self) -> bool:
        """Whether its scores are log-odds."""
        return self.report is not None and self.report.scale == LOGIT


def scored_part(part: Part, settings: FuseSettings, progress: Callable[[str], None]) -> Scored:
    """The scores of generators in a part by `salon fuse`; answers that identify none are a reason, not an error."""
    fuse = settings.model_copy(update={"method": _method(part, settings), "by": "generator", "split": "none"})
    group = next(iter(study_groups(part.study, fuse, [part.criterion])), None)
    try:
        report = fuse_study(part.study, fuse, criteria=[part.criterion], progress=progress)
    except (StatsError, DesignError) as error:
        return Scored(part, fuse, group, None, _told(error))
    assert group is not None  # what is scored has a group
    return Scored(part, fuse, _scored_members(group, report), report, None)


def _told(error: StatsError | DesignError) -> str:
    """An error as one line; where it happened is known."""
    parts = [error.needed, f"found {error.found}" if error.found else "", error.remedy or ""]
    return "; ".join(part for part in parts if part)


def _method(part: Part, settings: FuseSettings) -> str:
    """Chosen by name, so that answers which identify no scores are said to; `auto` would add a prior."""
    if part.protocol != "comparisons":
        return "plackett-luce" if part.protocol == "rankings" else "mean"
    outcome = part.study.comparisons.outcome
    tied = (outcome if settings.both_bad == "tie" else outcome[outcome != BOTH_BAD]) >= TIE
    return "davidson" if tied.any() and not tied.all() else "bradley-terry"


def _scored_members(group: Group, report: FuseReport) -> Group:
    """The group with the generators that have a score."""
    scored = {row.generator for row in report.scores}
    kept = np.array([member in scored for member in group.members])
    return group if kept.all() else group.among(kept)


# -- all boards at once ------------------------------------------------------------------------------------------------


def joint_fits(scored: Sequence[Scored], *, seed: int, progress: Callable[[str], None]) -> dict[int, BoardFit]:
    """The boards in logits by their place in `scored`, with how those of a category move together."""
    made: dict[int, BoardFit] = {}
    for category in dict.fromkeys(one.part.category for one in scored):
        places = [n for n, one in enumerate(scored) if one.part.category == category and one.is_logit]
        if places:
            fits = _moved_together([scored[place] for place in places], seed, progress)
            made |= dict(zip(places, fits))
    return made


def _moved_together(ones: Sequence[Scored], seed: int, progress: Callable[[str], None]) -> list[BoardFit]:
    """Boards fitted again without each block of clusters, the same blocks for all."""
    groups = [one.group for one in ones if one.group is not None]  # all: each has a report
    cluster = _cluster(ones)
    whole = [fit_group(group, one.method, one.fuse, cluster, errors=False) for one, group in zip(ones, groups)]

    def refit(without: Mapping[int, Group]) -> Floats:
        progress(f"all boards without a block of {cluster}s")
        latents = [fit.latent for fit in whole]
        for place, group in without.items():
            latents[place] = _refitted(ones[place], whole[place], group, cluster)
        return np.concatenate(latents)

    try:
        spreads = jackknife(groups, cluster, refit, rng=np.random.default_rng([seed, 1]))
        deviations = [one.deviations for one in spreads]
    except TooFew:
        deviations = [np.full((1, sum(len(fit.latent) for fit in whole)), np.nan)]
    ends = np.cumsum([0, *(len(fit.latent) for fit in whole)])
    return [
        BoardFit(group.members, fit.latent, tuple(part[:, ends[n] : ends[n + 1]] for part in deviations), cluster)
        for n, (group, fit) in enumerate(zip(groups, whole))
    ]


def _refitted(one: Scored, whole: GroupFit, group: Group, cluster: Cluster) -> Floats:
    """The scores with only the answers of `group`; NaN where they identify none."""
    if not judgments(group, one.method):
        return np.full(group.items, np.nan)
    if whole.pairs is not None:
        return step_pairs(whole, group)
    try:
        return fit_group(group, one.method, one.fuse, cluster, errors=False).latent
    except StatsError:
        return np.full(group.items, np.nan)


def _cluster(scored: Sequence[Scored]) -> Cluster:
    """What all boards can leave out: what every board's intervals are over, else the least that all allow."""
    used = {one.report.cluster for one in scored if one.report is not None}
    if used == {"both"}:
        return "both"
    return "prompt" if used <= {"prompt", "both"} else "rater" if used <= {"rater", "both"} else "answer"


def fitted_chance(scored: Scored, fit: BoardFit, first: str, second: str, level: float) -> Estimate:
    """The chance that `first` is preferred to `second` by the board's scores, a tie counting half."""
    d = fit.lead(first, second, level)
    assert scored.report is not None  # a board that was fitted has one
    tie = scored.report.groups[0].tie
    model = "davidson" if tie is not None else "bradley-terry"

    def chance(at: float) -> float:
        win, draw, _ = pair_probabilities(model, at, tie)
        return float(win + draw / 2)

    return d.transform(chance)
