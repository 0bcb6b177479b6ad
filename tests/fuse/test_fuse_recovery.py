"""One simulated study of paintings, fused through the front door: is what was planted found again?

One study, at settings fixed beforehand; prove/fusion.py and prove/coverage.py ask the same of many.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import salon
from salon.collect import ppaint_like_study
from salon.collect.simulate.ppaint_like import PpaintTruth, ppaint_like_truth
from salon.fuse import FuseReport, study_groups
from salon.fuse.fuse import calibrated_scores
from salon.fuse.scores import fit_anchored
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


def test_only_rating_anchors_make_categories_comparable() -> None:
    """Categories 1.5 logits apart: no comparison shows it. Unanchored scores put all categories at one level."""
    study, truth = ppaint_like_study(SEED, levels=1.5), ppaint_like_truth(SEED, levels=1.5)
    groups = list(study_groups(study, salon.FuseSettings(), [CRITERION]))
    planted = truth.score[:, truth.criteria.index(CRITERION)].reshape(3, 50)
    apart = planted[0].mean() - planted[2].mean()
    found = {}
    for pulled in (True, False):
        fused_groups = fit_anchored(groups, "anchored-davidson", salon.FuseSettings(), None, pulled=pulled)
        scores = calibrated_scores(fused_groups)
        found[pulled] = scores[0].mean() - scores[2].mean()
    assert apart > 1
    assert found[True] == pytest.approx(apart, abs=0.45)
    assert abs(found[False]) < 0.2 * apart


def test_levels_change_nothing_within_a_category() -> None:
    """The same seed with and without levels: comparisons are equal answer for answer."""
    plain, levelled = (ppaint_like_study(SEED, levels=levels, items=12).table("comparisons") for levels in (0.0, 2.0))
    assert plain.equals(levelled)
