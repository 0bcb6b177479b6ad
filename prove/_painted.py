"""Simulated painting studies as the fusion sees them, and what was planted in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salon.collect import ppaint_like_study
from salon.collect.simulate.ppaint_like import PpaintTruth, ppaint_like_truth, ppaint_plan
from salon.errors import StatsError
from salon.fuse import FuseGroup, FuseSettings, Method, fit_group, study_groups
from salon.fuse.fuse import calibrated_scores
from salon.fuse.scores import fit_anchored
from salon.study import Study

Floats = NDArray[np.float64]
TRUTHS = ("score", "panel_score", "panel_rating")
DEFAULTS = FuseSettings()
TIMES = ("taste", "rating_noise")
"""Settings that are changed by a factor."""


@dataclass(frozen=True)
class Case:
    """One simulated study."""

    study: Study
    groups: tuple[FuseGroup, ...]
    planted: dict[str, Floats]
    """By name of the truth, all groups one after the other."""

    def error(self, scores: Floats | None, truth: str) -> float:
        """Mean absolute error; NaN without scores."""
        return float("nan") if scores is None else float(np.mean(np.abs(scores - self.planted[truth])))

    def fused(self, method: Method, settings: FuseSettings = DEFAULTS) -> Floats:
        """Calibrated scores of all groups."""
        return np.concatenate(calibrated_scores(fit_anchored(self.groups, method, settings, None)))

    def rated(self, method: Method) -> Floats | None:
        """Scores of all groups from ratings alone; None where the method cannot be fitted."""
        try:
            return np.concatenate([fit_group(g, method, DEFAULTS, "rater", errors=False).latent for g in self.groups])
        except StatsError:
            return None


def case(seed: int, **changes: Any) -> Case:
    """The study of one seed, all settings but `changes` as fixed beforehand."""
    law = ppaint_plan()["law"]
    given = {name: value * law[name] if name in TIMES else value for name, value in changes.items()}
    study, truth = ppaint_like_study(seed, **given), ppaint_like_truth(seed, **given)
    groups = tuple(study_groups(study, DEFAULTS, ()))
    return Case(study, groups, {name: planted(truth, name, groups) for name in TRUTHS})


def planted(truth: PpaintTruth, name: str, groups: Sequence[FuseGroup]) -> Floats:
    """A truth of all groups, one after the other."""
    values_of, place = getattr(truth, name), {item: n for n, item in enumerate(truth.items)}
    return np.concatenate(
        [values_of[[place[label] for label in g.members], truth.criteria.index(g.criterion)] for g in groups]
    )
