"""The budget of a study: its groups, the kernel's figures averaged over them, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_studies import Drawn, names

from salon.check import SimulatedBudgetSettings, ThinReport, ThinSettings, simulated_budget, thin_study
from salon.errors import BadValue, TooFew
from salon.stats import comparison_budget, thin_comparisons
from salon.study import Study

SETTINGS = ThinSettings(fraction=(0.3, 1.0), repeats=4)


def compared(groups: int = 2, items: int = 12, raters: int = 3, seed: int = 0) -> Drawn:
    """Every rater compares all pairs of every group, each with noise of their own."""
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(groups, 1, items)) + 0.7 * rng.normal(size=(groups, raters, items))
    return Drawn(groups, items).compare(-seen)


@pytest.fixture(scope="module")
def study() -> Study:
    return compared().study()


@pytest.fixture(scope="module")
def report(study: Study) -> ThinReport:
    return thin_study(study, SETTINGS)


def test_rows_are_the_kernel_s_averaged_over_groups(study: Study, report: ThinReport) -> None:
    view = study.comparisons
    found = [
        thin_comparisons(
            view.a[rows] - 12 * group,
            view.b[rows] - 12 * group,
            view.outcome[rows],
            12,
            fractions=[0.3, 1.0],
            repeats=4,
            rng=np.random.default_rng([0, 0, group]),
        )
        for group in (0, 1)
        for rows in [view.group == group]
    ]
    for number, row in enumerate(report.rows):
        each = np.mean([one.elo_srcc[number] for one in found], axis=0)
        assert row.elo_srcc.value == pytest.approx(each.mean())
        if each.std() > 0:
            assert row.elo_srcc.high - row.elo_srcc.value == pytest.approx(3.1824463 * each.std(ddof=1) / 2)  # t, 3 df
        else:  # every choice is the whole: no interval of no width
            assert (number, row.elo_srcc.low, row.elo_srcc.high) == (1, None, None)
        assert row.bradley_terry_plcc.value == pytest.approx(np.mean([one.bt_plcc[number] for one in found]))
        assert row.lowest == pytest.approx(min(one.elo_srcc[number].mean() for one in found))
    assert [row.pairs for row in report.rows] == [20, 66]
    assert [row.judgments for row in report.rows] == [60, 198]
    assert report.rows[1].of_all == 1.0


def test_the_graph_of_each_group_is_told(report: ThinReport) -> None:
    assert [(one.group, one.items, one.pairs, one.judgments) for one in report.groups] == [
        ("q0", 12, 66, 198),
        ("q1", 12, 66, 198),
    ]
    assert {(one.connected, one.diameter, one.mean_path) for one in report.groups} == {(True, 1, 1.0)}


def test_the_same_seed_gives_the_same_report_and_says_so(study: Study, report: ThinReport) -> None:
    assert thin_study(study, SETTINGS) == report
    assert "repeats:4" in report.signature_line
    assert thin_study(study, SETTINGS, seed=1).rows[0].elo_srcc != report.rows[0].elo_srcc


def test_repeats_and_both_bad_are_left_out(report: ThinReport) -> None:
    more = compared()
    for rater in names(3):
        more.vote(rater, 0, 0, 1, "b", repeat=1)
        more.vote(rater, 1, 2, 3, "both_bad", repeat=2)
    assert thin_study(more.study(), SETTINGS).rows == report.rows


def test_one_criterion_alone() -> None:
    drawn = compared()
    both = drawn.compare(np.tile(np.arange(12), (2, 3, 1)), criterion="d").study()
    assert {one.criterion for one in thin_study(both, SETTINGS).groups} == {"c", "d"}
    assert {one.criterion for one in thin_study(both, SETTINGS, criteria=["d"]).groups} == {"d"}


def test_small_groups_are_left_out_or_refused() -> None:
    mixed = Drawn(2, [12, 4])
    for i in range(12):
        for j in range(i):
            mixed.vote("r", 0, i, j, "a")
    mixed.vote("r", 1, 0, 1, "a")
    found = thin_study(mixed.study(), SETTINGS)
    assert (len(found.groups), found.left_out) == (1, 1)
    with pytest.raises(TooFew, match="10 compared items"):
        thin_study(compared(2, 4).study(), SETTINGS)
    with pytest.raises(TooFew, match="no comparisons"):
        thin_study(Drawn(1, 4).rate(np.ones((1, 2, 4))).study(), SETTINGS)
    with pytest.raises(BadValue, match="fractions"):
        thin_study(compared().study(), ThinSettings(fraction=(1.5,)))


def test_the_simulated_budget_is_the_kernel_s() -> None:
    made = simulated_budget(SimulatedBudgetSettings(items=20, studies=10), seed=3)
    kernel = comparison_budget(20, 5, 2.0, studies=10, rng=np.random.default_rng(3))
    assert [row.pairs for row in made.rows] == [row.pairs for row in kernel]
    assert [row.to_truth.value for row in made.rows] == [row.to_truth.value for row in kernel]
    assert made.smallest.to_full.value >= 0.98
    assert "studies:10" in made.signature_line
