"""Comparisons beside ratings: every row is the kernel's on the same raters, items and pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from drawn_studies import Drawn, names

from salon.check import CheckSettings
from salon.check.protocols import DRAWN_GROUPS, ProtocolComparison, protocol_figures
from salon.stats import Estimate, agreement, stability
from salon.stats.agreement import kendall_w
from salon.study import Criterion, Item, Rater, Scale, Study

RNG = np.random.default_rng
SETTINGS = CheckSettings(draws=200)
SEEN = RNG(1).normal(size=12) + 0.8 * RNG(2).normal(size=(5, 12))
RATINGS = np.clip(np.round(SEEN * 1.2 + 3), 1, 5)
PAIRS = list(combinations(range(12), 2))


def both(tiers: bool = False, turn: bool = False, criteria: tuple[str, ...] = ("c",), **more) -> Study:
    """Five raters rate twelve items and compare all pairs; with `turn`, every other rater saw them turned round."""
    drawn = Drawn(1, 12)
    for criterion in criteria:
        drawn.rate(RATINGS[None], criterion=criterion)
        for number, (rater, row) in enumerate(zip(names(5), SEEN)):
            for i, j in PAIRS:
                if turn and number % 2:
                    i, j = j, i
                drawn.vote(rater, 0, i, j, "a" if row[i] > row[j] else "b", criterion=criterion)
    if tiers:
        words = ["low"] * 4 + ["medium"] * 4 + ["high"] * 4
        order = np.argsort(SEEN.mean(axis=0))
        of = {int(item): word for item, word in zip(order, words)}
        more["tables"] = {"items": [Item(id=f"q0.{i}", prompt="q0", tier=of[i]) for i in range(12)]}
    return drawn.study(**more)


def table(study: Study) -> dict[str, tuple[Estimate | None, Estimate | None]]:
    (figures,) = protocol_figures(study, SETTINGS).criteria
    return {row.name: (row.comparisons, row.ratings) for row in figures.rows}


def test_measures_of_ratings_are_the_kernel_s() -> None:
    found = table(both())
    expected = {
        "Kendall's W": kendall_w(RATINGS).w,
        "split-half Spearman": stability.split_half(RATINGS, stability.half_splits(5, rng=RNG(0))),
        "to-consensus pairwise accuracy": stability.consensus_accuracy(RATINGS),
        "mean rank displacement (lower is better)": stability.rank_displacement(RATINGS).mean,
        "leave-one-rater-out Spearman": stability.leave_one_rater_out(RATINGS).rho,
        "leave-one-rater-out top-10 overlap": stability.leave_one_rater_out(RATINGS).top_overlap,
        "one rater against all, Spearman": stability.k_of_raters(RATINGS, 1, rng=RNG(0)).rho,
        "three raters against all, Spearman": stability.k_of_raters(RATINGS, 3, rng=RNG(0)).rho,
        "two raters' Spearman": stability.rater_correlation(RATINGS).rho,
        "two raters' Kendall tau-b": stability.rater_correlation(RATINGS).tau,
        "spread of rank displacement over raters (lower is better)": stability.rank_displacement(RATINGS).spread,
        "least agreeing rater's Spearman to the consensus": stability.rank_displacement(RATINGS).rho_low,
        "most agreeing rater's Spearman to the consensus": stability.rank_displacement(RATINGS).rho_high,
    }
    assert {name: found[name][1].value for name in expected} == pytest.approx(_plain(expected))
    folds = np.array([kendall_w(np.delete(RATINGS, item, axis=1)).w for item in range(12)])
    error = stability.jackknife_mean([kendall_w(RATINGS).w], [folds])
    assert (found["Kendall's W"][1].low, found["Kendall's W"][1].high) == pytest.approx((error.low, error.high))


def _plain(values: dict) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


def test_complete_comparisons_give_back_each_rater_s_order() -> None:
    """Every pair compared without noise: Elo puts the items where the rater sees them."""
    found = table(both())
    assert found["Kendall's W"][0].value == pytest.approx(kendall_w(SEEN).w, abs=0.02)
    accuracy = found["to-consensus pairwise accuracy"][0].value
    assert accuracy == pytest.approx(stability.consensus_accuracy(SEEN), abs=0.02)


def test_agreement_on_the_same_pairs_by_the_kernel() -> None:
    first, second = (np.array(side) for side in zip(*PAIRS))
    compared = agreement.outcome_agreement(agreement.induced_outcomes(SEEN, first, second))
    implied = agreement.outcome_agreement(agreement.induced_outcomes(RATINGS, first, second))
    for turn in (False, True):
        found = table(both(turn=turn))
        for side, kernel in enumerate((compared, implied)):
            assert found["Fleiss' kappa on the same pairs"][side].value == pytest.approx(kernel.fleiss.kappa.value)
            alpha = found["Krippendorff's alpha (nominal) on the same pairs"][side]
            assert alpha.value == pytest.approx(kernel.alpha.value)
            assert found["unanimous pairs"][side].value == pytest.approx(kernel.unanimous)
            assert found["pairs with 4 of 5 agreeing"][side].value == pytest.approx(kernel.supermajority)


def test_triplets_where_items_have_tiers() -> None:
    assert "triplet separation" not in table(both())
    found = table(both(tiers=True))["triplet separation"]
    tiers = np.zeros(12, int)
    tiers[np.argsort(SEEN.mean(axis=0))] = np.repeat([0, 1, 2], 4)
    assert found[1].value == pytest.approx(stability.triplet_separation(RATINGS, tiers))


def test_a_low_scale_is_turned() -> None:
    scale = Scale(low=1, high=5, step=1, higher_is_better=False)
    plain, turned = table(both()), table(_turned(scale))
    assert turned["to-consensus pairwise accuracy"][1].value == plain["to-consensus pairwise accuracy"][1].value


def _turned(scale: Scale) -> Study:
    drawn = Drawn(1, 12).rate(6 - RATINGS[None])
    for rater, row in zip(names(5), SEEN):
        for i, j in PAIRS:
            drawn.vote(rater, 0, i, j, "a" if row[i] > row[j] else "b")
    return drawn.study(Criterion(id="c", scale=scale))


def test_several_groups_are_averaged() -> None:
    rng = RNG(3)
    values = np.round(rng.normal(size=(4, 3, 5)) * 1.2 + 3)
    drawn = Drawn(4, 5).rate(values).compare(-values)
    (figures,) = protocol_figures(drawn.study(), SETTINGS).criteria
    w = np.mean([kendall_w(one).w for one in values])
    rows = {row.name: row for row in figures.rows}
    assert rows["Kendall's W"].ratings.value == pytest.approx(w)
    assert (figures.group, figures.items, figures.raters) == ("4 groups", 20, 3)
    assert (rows["Kendall's W"].groups, rows["Kendall's W"].ratings.unit) == (4, "item")


def test_raters_with_one_protocol_only_and_crowds_are_left_out() -> None:
    drawn = Drawn(1, 5).rate(RNG(4).normal(size=(1, 4, 5)), raters=["a", "b", "c", "anyone"])
    order = np.tile(np.arange(5), (1, 3, 1))
    study = drawn.compare(order, raters=["a", "b", "anyone"]).study(
        raters=[*(Rater(id=id) for id in "abc"), Rater(id="anyone", kind="crowd")]
    )
    found = protocol_figures(study, SETTINGS)
    assert found.criteria[0].raters == 2
    assert [one.rater for one in found.raters] == ["a", "b"]


def test_nothing_to_match() -> None:
    values = RNG(5).normal(size=(1, 3, 5))
    assert protocol_figures(Drawn(1, 5).rate(values).study(), SETTINGS) == ProtocolComparison()
    assert protocol_figures(Drawn(1, 5).compare(-values).study(), SETTINGS) == ProtocolComparison()
    apart = Drawn(1, 5).rate(values, raters=["a", "b", "c"]).compare(-values, raters=["x", "y", "z"])
    assert protocol_figures(apart.study(), SETTINGS) == ProtocolComparison()
    few = Drawn(1, 3).rate(values[:, :, :3]).compare(-values[:, :, :3])
    assert protocol_figures(few.study(), SETTINGS) == ProtocolComparison()


def test_too_few_comparisons_for_the_equal_control_are_said() -> None:
    drawn = Drawn(1, 8).rate(np.round(RNG(6).normal(size=(1, 3, 8)) * 1.2 + 3))
    for rater in names(3):
        for i in range(7):  # a chain: seven comparisons of eight items
            drawn.vote(rater, 0, i, i + 1, "a")
    (figures,) = protocol_figures(drawn.study(), SETTINGS).criteria
    row = figures.rows[-1]
    assert row.comparisons is None
    assert "fewer comparisons than ratings" in row.note


def test_native_units_are_told_and_never_subtracted() -> None:
    (figures,) = protocol_figures(both(), SETTINGS).criteria
    row = next(row for row in figures.rows if row.name == "unanimous in the protocol's own unit")
    alike = [len(set(levels)) == 1 for levels in RATINGS.T.tolist()]
    assert row.ratings.value == pytest.approx(np.mean(alike))
    assert row.comparisons.value == table(both())["unanimous pairs"][0].value
    assert (row.difference, row.ahead) == (None, None)
    assert "descriptive only" in row.note


def test_the_difference_is_paired_and_counts_where_comparisons_lead() -> None:
    (figures,) = protocol_figures(both(), SETTINGS).criteria
    rows = {row.name: row for row in figures.rows}
    for row in rows.values():
        if row.difference is not None:
            assert row.difference.value == pytest.approx(row.comparisons.value - row.ratings.value)
    rounded = rows["two raters' Spearman"]
    assert rounded.difference.high - rounded.difference.low < rounded.ratings.high - rounded.ratings.low
    lower = rows["mean rank displacement (lower is better)"]
    assert (lower.ahead == 1) == (lower.difference.value < 0)


def test_criteria_together_share_their_items() -> None:
    """Two criteria with the same answers say nothing new: the same mean and the same interval as one of them."""
    first, twice = both(), both(criteria=("c", "d"))
    alone = protocol_figures(first, SETTINGS)
    assert alone.together is None
    found = protocol_figures(twice, SETTINGS)
    assert [one.criterion for one in found.criteria] == ["c", "d"]
    assert (found.together.criterion, found.together.group, found.together.items) == (None, "2 groups", 12)
    for single, together in zip(found.criteria[0].rows[1:4], found.together.rows[1:4]):
        assert together.ratings.value == pytest.approx(single.ratings.value)
        assert together.ratings.high == pytest.approx(single.ratings.high)
    assert found.together.rows[0].groups == 2


def test_many_groups_are_drawn_again() -> None:
    values = np.round(RNG(8).normal(size=(DRAWN_GROUPS, 3, 5)) * 1.2 + 3)
    (figures,) = protocol_figures(Drawn(DRAWN_GROUPS, 5).rate(values).compare(-values).study(), SETTINGS).criteria
    w = next(row for row in figures.rows if row.name == "two raters' Spearman").ratings
    assert (w.unit, w.n) == ("group", DRAWN_GROUPS)
    assert w.low < w.value < w.high


def test_how_each_rater_used_the_protocols() -> None:
    found = protocol_figures(both(), SETTINGS).raters
    away, rho = stability.to_consensus(RATINGS)
    assert [one.mean_rating for one in found] == pytest.approx(RATINGS.mean(axis=1))
    assert [one.displacement[1] for one in found] == pytest.approx(away)
    assert [one.to_consensus[1] for one in found] == pytest.approx(rho)
    assert {one.tie_rate for one in found} == {0.0}
    assert {one.extreme_share for one in found} == {None}  # the criterion has no scale


def test_both_bad_is_no_tie() -> None:
    drawn = Drawn(1, 5).rate(RNG(9).normal(size=(1, 3, 5)))
    for rater in names(3):
        for i, j in combinations(range(5), 2):
            drawn.vote(rater, 0, i, j, "both_bad" if (i, j) == (0, 1) else "a")
    (figures,) = protocol_figures(drawn.study(), SETTINGS).criteria
    share = next(row for row in figures.rows if row.name == "unanimous in the protocol's own unit").comparisons
    assert share.value == 1.0


@pytest.mark.parametrize(("rated", "compared"), [(False, False), (True, False), (False, True)])
def test_a_protocol_under_which_all_items_tie_has_no_concordance(rated: bool, compared: bool) -> None:
    """Neither a number nor a crash: W is not defined where nobody told two items apart."""
    drawn = Drawn(1, 4).rate([[[1, 2, 3, 4] if rated else [3] * 4] * 3])
    study = drawn.compare([[[0, 1, 2, 3] if compared else [0] * 4] * 3]).study()
    (figures,) = protocol_figures(study, SETTINGS).criteria
    rows = {row.name: row for row in figures.rows}
    assert "Kendall's W" not in rows
    equal = rows["Kendall's W at equal judgment counts"]
    assert (equal.comparisons, equal.ratings, equal.note) == (None, None, "raters tie all items")


def test_groups_in_which_all_items_tie_leave_the_mean_of_concordances() -> None:
    ratings = [[[1, 2, 3, 4]] * 3, [[3] * 4] * 3]
    orders = [[[0, 1, 2, 3]] * 3, [[0] * 4] * 3]
    (figures,) = protocol_figures(Drawn(2, 4).rate(ratings).compare(orders).study(), SETTINGS).criteria
    rows = {row.name: row for row in figures.rows}
    assert rows["Kendall's W at equal judgment counts"].groups == rows["Kendall's W"].groups == 1
