"""One simulated study of paintings, fused through the front door: is what was planted found again?

One study, at settings fixed beforehand; prove/fusion.py and prove/coverage.py ask the same of many.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import salon
from salon.flows.simulate.ppaint_like import PpaintTruth, ppaint_like_study, ppaint_like_truth
from salon.fuse.results import FuseReport
from salon.study import Study

SEED = 11
CRITERION = "ppaint/overall"


@pytest.fixture(scope="module")
def study() -> Study:
    return ppaint_like_study(SEED)


@pytest.fixture(scope="module")
def truth() -> PpaintTruth:
    return ppaint_like_truth(SEED)


def fused(study: Study, method: str, **settings: object) -> FuseReport:
    made = salon.FuseSettings.parse({"method": method, **settings}, where="test")
    return salon.fuse_study(study, made, criteria=[CRITERION])


def off(report: FuseReport, truth: PpaintTruth, name: str) -> NDArray[np.float64]:
    """Score minus what was planted, item by item."""
    planted = dict(zip(truth.items, getattr(truth, name)[:, truth.criteria.index(CRITERION)]))
    return np.array([row.value - planted[row.item] for row in report.scores])


def test_comparisons_with_rating_anchors_come_nearer_to_the_panel_than_its_ratings(
    study: Study, truth: PpaintTruth
) -> None:
    means, anchored = fused(study, "mean"), fused(study, "anchored-davidson", anchors_each=50)
    for name in ("score", "panel_score"):
        assert np.abs(off(anchored, truth, name)).mean() < 0.85 * np.abs(off(means, truth, name)).mean()


def test_the_level_of_every_category_is_found(study: Study, truth: PpaintTruth) -> None:
    miss = off(fused(study, "anchored-davidson"), truth, "panel_rating").reshape(3, 50)
    assert np.abs(miss.mean(axis=1)).max() < 0.25, "rating anchors put each category on the scale"


def test_intervals_hold_the_panel_and_stay_on_the_scale(study: Study, truth: PpaintTruth) -> None:
    report = fused(study, "anchored-davidson")
    low, value, high = (np.array([getattr(row, name) for row in report.scores]) for name in ("low", "value", "high"))
    planted = value - off(report, truth, "score")
    assert 0.85 < np.mean((low <= planted) & (planted <= high)) < 0.995
    assert low.min() >= 1
    assert high.max() <= 5
    assert np.median(high - low) < 1.6, "an interval over the whole scale would hold everything"


def test_both_constructions_give_one_order(study: Study) -> None:
    report = salon.fuse_study(study, salon.FuseSettings(), criteria=[CRITERION], compare=True)
    anchored = report.compare.pairs[0]
    assert (anchored.first, anchored.second) == ("anchored-elo", "anchored-davidson")
    assert anchored.srcc > 0.985
    assert anchored.decisions > 0.96
    assert anchored.ks_pass == anchored.groups == 3
