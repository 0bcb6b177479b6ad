"""A policy without language learns from labels of three sources: the short form of `make prove ONLY=distill_policy`.

One small world, fixed seeds. What is asserted has a wide margin; the page has the intervals.
"""

from __future__ import annotations

import numpy as np
import pytest

from prove._distill_numeric import Learning, Policy, trained
from prove._distill_world import World, WorldSettings, compared, drawn_world, labels
from prove.distill_policy import Figures, measured

SMALL = WorldSettings(items=640, held_out=400, criteria=2, features=24, pool=20, opponents=8)
RATE = 0.05  # a hundred steps in place of five hundred
HELD, FREE, NEAR = Learning(rate=RATE), Learning(rate=RATE, beta=0.0), Learning(rate=RATE, absolute=1.0)


@pytest.fixture(scope="module")
def world() -> World:
    return drawn_world(SMALL, seed=3)


@pytest.fixture(scope="module")
def found(world: World) -> dict[tuple[str, str], Figures]:
    told = {source: labels(world, source) for source in ("bridge", "majority", "pointwise")}
    asked = [("held", HELD, source) for source in told] + [("free", FREE, source) for source in ("bridge", "pointwise")]
    asked += [("near", NEAR, "bridge"), ("near", NEAR, "pointwise")]
    return {(name, source): _measured(world, trained(world, told[source], how, 1)) for name, how, source in asked}


def _measured(world: World, policy: Policy) -> Figures:
    return measured(policy.mean(world.x[world.test]), world.truth[world.test], float(policy.sigma.mean()))


def test_the_world_has_the_seeds_figures() -> None:
    """Full pairwise order .638, untrained numbers .504 and high, fused scores around 2.95."""
    large = drawn_world(WorldSettings(items=20_000, held_out=0, criteria=2), seed=0)
    assert measured(large.seen, large.truth, 0).srcc == pytest.approx(0.638, abs=0.015)
    start = measured(large.point, large.truth, 0)
    assert start.srcc == pytest.approx(0.504, abs=0.015)
    assert start.mean == pytest.approx(4.48, abs=0.02)
    assert large.truth.mean() == pytest.approx(2.95, abs=0.03)


def test_a_stuck_judge_says_the_same_of_a_pair_again_and_a_biased_one_names_the_first() -> None:
    pairs = np.stack([np.arange(0, 400, 2), np.arange(1, 400, 2)], axis=1)
    stuck = drawn_world(WorldSettings(items=400, held_out=0, criteria=2, features=8, stuck=1.0, bias=0.0), seed=1)
    first, again, swapped = compared(stuck, pairs), compared(stuck, pairs), compared(stuck, pairs[:, ::-1])
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(swapped, np.array([1, 0, 2])[first])
    biased = drawn_world(WorldSettings(items=400, held_out=0, criteria=2, features=8, bias=1.0), seed=1)
    assert (compared(biased, pairs) == 0).all()


def test_comparisons_teach_an_order_that_single_answers_do_not(world, found) -> None:
    start = _measured(world, Policy(world, 0.25))
    bridge, majority, pointwise = (found["held", source].srcc for source in ("bridge", "majority", "pointwise"))
    assert min(bridge, majority) > max(start.srcc, pointwise) + 0.1


def test_the_papers_reward_takes_its_scale_from_the_start_and_the_walls_not_from_the_labels(found) -> None:
    assert found["held", "majority"].mean > 4
    for source in ("bridge", "pointwise"):
        assert found["held", source].mean > 4  # held to the start by the divergence
        assert found["free", source].mean < found["held", source].mean - 0.2  # let go, it spreads from the wall at 5
        assert found["free", source].spread > found["held", source].spread + 0.2


def test_the_absolute_term_takes_the_scale_of_the_labels_good_or_bad(found) -> None:
    bridge, pointwise = found["near", "bridge"], found["near", "pointwise"]
    assert abs(bridge.mean - 2.95) < 0.5
    assert pointwise.mean > 4.2
    assert bridge.mae < 0.75 < 1.2 < min(pointwise.mae, found["held", "bridge"].mae)
    assert bridge.srcc > found["held", "bridge"].srcc - 0.03  # and costs no order
