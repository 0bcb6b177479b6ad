"""Leaderboards over raters and prompts, and ties between rated items, through the front door."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_studies import Drawn, names

import salon
from prove.random_effects import Effects, Shape, covered, drawn_study, drawn_values
from salon.errors import TooFew
from salon.study import Criterion, Scale

APART = (0.6, 0.2, -0.2, -0.6)
TASTES = Effects("raters", 0.7, 0.0)


def leaderboard(raters=5, prompts=8, method="bradley-terry", **settings):
    rng = np.random.default_rng(1)
    study = drawn_study(method, drawn_values(Shape(raters, prompts, APART), TASTES, rng), rng)
    return salon.fuse_study(study, salon.FuseSettings(method=method, by="generator", **settings))


def test_five_raters_with_tastes_are_covered_by_default_and_not_over_prompts_alone():
    """40 studies; the default asks what other raters would say, `--cluster prompt` does not."""
    both = covered("bradley-terry", Shape(5, 20, APART), TASTES, 40)
    prompts = covered("bradley-terry", Shape(5, 20, APART), TASTES, 40, cluster="prompt")
    assert both.clusters == {"both"}
    assert np.mean(both.covered) > 0.88
    assert np.mean(both.ranks) > 0.9
    assert np.mean(prompts.covered) < 0.75


@pytest.mark.parametrize(
    "method", ["bradley-terry", "davidson", "thurstone", "plackett-luce", "elo", "mean", "anchored-davidson"]
)
def test_every_method_takes_raters_and_prompts(method):
    report = leaderboard(method=method, interval="jackknife")
    assert report.cluster == "both"
    assert "two-way" in report.groups[0].errors
    assert any("other raters and other prompts" in line for line in report.policies)
    alone = [leaderboard(method=method, cluster=kind, interval="jackknife") for kind in ("rater", "prompt")]
    assert all(
        row.error
        >= 0.999 * max(one.error for report in alone for one in report.scores if one.generator == row.generator)
        for row in report.scores
    ), "what draws more anew is never surer"


@pytest.mark.parametrize("interval", ["sandwich", "jackknife", "bootstrap"])
def test_ways_to_make_the_errors_agree(interval):
    errors = [{row.generator: row.error for row in leaderboard(interval=kind).scores} for kind in ("auto", interval)]
    for generator, error in errors[0].items():
        assert errors[1][generator] == pytest.approx(error, rel=0.35)


def test_one_or_two_raters_are_taken_as_given_and_it_is_said():
    report = leaderboard(raters=2)
    assert report.cluster == "prompt"
    assert any("do not say what other raters would change" in line for line in report.warnings)
    assert leaderboard(raters=2, cluster="both").cluster == "both"


def test_both_needs_two_raters_and_two_prompts():
    with pytest.raises(TooFew, match="over raters"):
        leaderboard(raters=1, cluster="both")
    with pytest.raises(TooFew, match="over prompts"):
        leaderboard(prompts=1, cluster="both")


@pytest.mark.parametrize("items", [2, 3])
def test_equal_rated_items_are_told_apart_as_seldom_as_stated(items):
    """At 95%: before, errors of differences were too small by 1 - 1/items and 15 to 18% were told apart."""
    rng = np.random.default_rng(items)
    values = 5 + 0.5 * rng.normal(size=(200, 1, 6, 1)) + rng.normal(size=(200, 1, 6, items))
    scale = Criterion(id="c", scale=Scale(low=-20, high=20))
    apart = 0
    for panel in values:
        report = salon.fuse_study(Drawn(1, items).rate(panel, raters=names(6)).study(scale))
        apart += len({row.tier for row in report.scores}) > 1
    assert apart / 200 < 0.10


def test_a_pair_that_all_raters_see_alike_still_has_an_error():
    """Every rater puts the second item one above the first: no spread, so the pooled one is lent."""
    values = [[[1, 2, 5], [2, 3, 3], [3, 4, 4], [2, 3, 5]]]
    report = salon.fuse_study(Drawn(1, 3).rate(values).study(Criterion(id="c", scale=Scale(low=0, high=10))))
    assert [row.rank_low for row in report.scores] == [1, 1, 1]


def test_one_answer_a_cell_needs_no_table_of_cells():
    """Two generators: every rater answers one pair a prompt, so cells are answers."""
    rng = np.random.default_rng(4)
    study = drawn_study("bradley-terry", drawn_values(Shape(6, 25, (0.3, -0.3)), TASTES, rng), rng)
    short, long = (
        salon.fuse_study(study, salon.FuseSettings(method="bradley-terry", by="generator", interval=interval))
        for interval in ("sandwich", "jackknife")
    )
    assert short.scores[0].error == pytest.approx(long.scores[0].error, rel=0.1)
