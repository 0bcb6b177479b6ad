"""Comparisons beside ratings: every row is the kernel's on the same raters, items and pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from drawn_studies import Drawn, names

from salon.check.protocols import protocol_figures
from salon.check.results import Figure
from salon.check.settings import CheckSettings
from salon.stats import outcomes, stability
from salon.stats.agreement import kendall_w
from salon.study import Criterion, Item, Rater, Scale, Study

RNG = np.random.default_rng
SETTINGS = CheckSettings(draws=200)
SEEN = RNG(1).normal(size=12) + 0.8 * RNG(2).normal(size=(5, 12))
RATINGS = np.clip(np.round(SEEN * 1.2 + 3), 1, 5)
PAIRS = list(combinations(range(12), 2))


def both(tiers: bool = False, turn: bool = False, **more) -> Study:
    """Five raters rate twelve items and compare all pairs; with `turn`, every other rater saw them turned round."""
    drawn = Drawn(1, 12).rate(RATINGS[None])
    for number, (rater, row) in enumerate(zip(names(5), SEEN)):
        for i, j in PAIRS:
            if turn and number % 2:
                i, j = j, i
            drawn.vote(rater, 0, i, j, "a" if row[i] > row[j] else "b")
    if tiers:
        words = ["low"] * 4 + ["medium"] * 4 + ["high"] * 4
        order = np.argsort(SEEN.mean(axis=0))
        of = {int(item): word for item, word in zip(order, words)}
        more["tables"] = {"items": [Item(id=f"q0.{i}", prompt="q0", tier=of[i]) for i in range(12)]}
    return drawn.study(**more)


def table(study: Study) -> dict[str, tuple[Figure | None, Figure | None]]:
    (figures,) = protocol_figures(study, SETTINGS)
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
        "3-of-5 raters Spearman": stability.k_of_raters(RATINGS, 3, rng=RNG(0)).rho,
    }
    assert {name: found[name][1].value for name in expected} == pytest.approx(expected)
    error = stability.with_error(lambda x: kendall_w(x).w, RATINGS)
    assert (found["Kendall's W"][1].low, found["Kendall's W"][1].high) == pytest.approx((error.low, error.high))


def test_complete_comparisons_give_back_each_rater_s_order() -> None:
    """Every pair compared without noise: Elo puts the items where the rater sees them."""
    found = table(both())
    assert found["Kendall's W"][0].value == pytest.approx(kendall_w(SEEN).w, abs=0.02)
    accuracy = found["to-consensus pairwise accuracy"][0].value
    assert accuracy == pytest.approx(stability.consensus_accuracy(SEEN), abs=0.02)


def test_agreement_on_the_same_pairs_by_the_kernel() -> None:
    first, second = (np.array(side) for side in zip(*PAIRS))
    compared = outcomes.outcome_agreement(outcomes.induced_outcomes(SEEN, first, second))
    implied = outcomes.outcome_agreement(outcomes.induced_outcomes(RATINGS, first, second))
    for turn in (False, True):
        found = table(both(turn=turn))
        for side, kernel in enumerate((compared, implied)):
            assert found["Fleiss' kappa on the same pairs"][side].value == pytest.approx(kernel.fleiss.kappa.value)
            alpha = found["Krippendorff's alpha (nominal) on the same pairs"][side]
            assert alpha.value == pytest.approx(kernel.alpha.value)
            assert found["unanimous pairs"][side].value == pytest.approx(kernel.unanimous)
            assert found["pairs with 4 of 5 agreeing"][side].value == pytest.approx(kernel.supermajority)
            assert found["unanimous pairs"][side].n == len(PAIRS) == 66  # a pair is one pair whichever way round


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
    (figures,) = protocol_figures(drawn.study(), SETTINGS)
    w = np.mean([kendall_w(one).w for one in values])
    rows = {row.name: row for row in figures.rows}
    assert rows["Kendall's W"].ratings.value == pytest.approx(w)
    assert (figures.group, figures.items, figures.raters) == ("4 groups", 20, 3)
    assert rows["Kendall's W"].ratings.unit == "group"


def test_raters_with_one_protocol_only_and_crowds_are_left_out() -> None:
    drawn = Drawn(1, 5).rate(RNG(4).normal(size=(1, 4, 5)), raters=["a", "b", "c", "anyone"])
    order = np.tile(np.arange(5), (1, 3, 1))
    study = drawn.compare(order, raters=["a", "b", "anyone"]).study(
        raters=[*(Rater(id=id) for id in "abc"), Rater(id="anyone", kind="crowd")]
    )
    (figures,) = protocol_figures(study, SETTINGS)
    assert figures.raters == 2


def test_nothing_to_match() -> None:
    values = RNG(5).normal(size=(1, 3, 5))
    assert protocol_figures(Drawn(1, 5).rate(values).study(), SETTINGS) == ()
    assert protocol_figures(Drawn(1, 5).compare(-values).study(), SETTINGS) == ()
    apart = Drawn(1, 5).rate(values, raters=["a", "b", "c"]).compare(-values, raters=["x", "y", "z"])
    assert protocol_figures(apart.study(), SETTINGS) == ()
    few = Drawn(1, 3).rate(values[:, :, :3]).compare(-values[:, :, :3])
    assert protocol_figures(few.study(), SETTINGS) == ()


def test_too_few_comparisons_for_the_equal_control_are_said() -> None:
    drawn = Drawn(1, 8).rate(np.round(RNG(6).normal(size=(1, 3, 8)) * 1.2 + 3))
    for rater in names(3):
        for i in range(7):  # a chain: seven comparisons of eight items
            drawn.vote(rater, 0, i, i + 1, "a")
    (figures,) = protocol_figures(drawn.study(), SETTINGS)
    row = figures.rows[-1]
    assert row.comparisons is None
    assert "fewer comparisons than ratings" in row.note
