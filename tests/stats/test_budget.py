"""How many pairs are enough (stats/budget.py)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from scipy.optimize import minimize

from salon.errors import BadValue, DesignError, TooFew
from salon.stats import balanced_pairs, comparison_budget, connectivity, smallest_fraction
from salon.stats.budget import _bradley_terry, _SimulatedStudy, _srcc


# ----------------------------------------------------------------------------------------------- by hand
def test_two_items_by_hand():
    # 3 wins to 1 with precision 1/9: q = (x, -x) solves 3 - 4 s(2x) = x/9; x = .5121 (ln 3 / 2 = .549 shrunk).
    x = _bradley_terry(np.array([[0.0, 3.0], [1.0, 0.0]]))[0]
    assert 3 - 4 / (1 + np.exp(-2 * x)) == pytest.approx(x / 9, abs=1e-9)
    assert x == pytest.approx(0.51206423, abs=1e-8)


def test_a_full_design_is_its_own_reference():
    rows = comparison_budget(8, 3, 1.0, fractions=[0.5, 1.0], studies=20, rng=np.random.default_rng(0))
    assert [r.pairs for r in rows] == [14, 28]
    assert rows[1].to_full.value == pytest.approx(1.0)
    assert (rows[0].to_full.low is None, rows[1].to_full.low) == (False, None)  # no interval without width
    assert (rows[1].diameter, rows[1].mean_path, rows[1].judgments) == (1.0, 1.0, 84)


# ------------------------------------------------------------------------- by definition, by another tool
def test_newton_finds_the_mode_that_a_general_optimiser_finds():
    _, wins = _SimulatedStudy(7, 2, 1.5).votes(np.random.default_rng(3))

    def loss(q):
        return np.sum(wins * np.logaddexp(0, q[None, :] - q[:, None])) + np.sum(q**2) / 18

    best = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-8}).x
    assert _bradley_terry(wins) == pytest.approx(best, abs=1e-5)


def test_srcc_equals_scipy_with_ties():
    x, y = np.array([3.0, 1, 2, 2, 5]), np.array([1.0, 0, 4, 2, 2])
    assert _srcc(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)


def test_every_vote_is_cast_once():
    _, wins = _SimulatedStudy(9, 5, 1.0).votes(np.random.default_rng(2))
    assert np.all((wins + wins.T)[~np.eye(9, dtype=bool)] == 5)
    assert np.all(np.diag(wins) == 0)


# -------------------------------------------------------------------------------------------- by property
@settings(max_examples=60)
@given(st.integers(3, 25), st.floats(0, 1), st.integers(0, 2**31))
def test_designs_are_connected_balanced_and_without_repeats(items, share, seed):
    everything = items * (items - 1) // 2
    pairs = items - 1 + round(share * (everything - items + 1))
    design = balanced_pairs(items, pairs, rng=np.random.default_rng(seed))
    got = connectivity(items, design)
    assert len(design) == got.edges == pairs
    assert got.connected
    assert got.degree_max - got.degree_min <= 2


def test_more_pairs_and_more_raters_never_hurt():
    rng = np.random.default_rng(4)
    few, many = (comparison_budget(20, r, 1.0, fractions=(0.15, 0.4, 0.8), studies=80, rng=rng) for r in (1, 5))
    for rows in (few, many):
        assert np.all(np.diff([r.to_full.value for r in rows]) > 0)
        assert np.all(np.diff([r.to_truth.value for r in rows]) > 0)
        assert all(r.to_full.low < r.to_full.value for r in rows)
    assert all(a.to_truth.value < b.to_truth.value for a, b in zip(few, many))


# -------------------------------------------------------------------------------------------- by recovery
def test_strong_evidence_recovers_the_true_order():
    row = comparison_budget(10, 400, 2.0, fractions=[0.6], studies=20, rng=np.random.default_rng(5))[0]
    assert row.to_truth.value > 0.98


def test_intervals_of_the_mean_cover():
    long = comparison_budget(8, 2, 1.0, fractions=[0.5], studies=1_500, rng=np.random.default_rng(6))[0]
    rng = np.random.default_rng(7)
    short = [comparison_budget(8, 2, 1.0, fractions=[0.5], studies=20, rng=rng)[0].to_full for _ in range(60)]
    covered = np.mean([e.low < long.to_full.value < e.high for e in short])
    assert covered > 0.85  # 95% less four standard errors of a share of 60


def test_half_of_the_pairs_of_fifty_items_keeps_the_order():
    """The shape of the painting study: 612 of 1,225 pairs, SRCC .986 there with a model's answers."""
    row = comparison_budget(50, 5, 1.0, fractions=[612 / 1225], studies=30, rng=np.random.default_rng(8))[0]
    assert row.pairs == 612
    assert 0.975 < row.to_full.value < 0.995
    assert row.diameter == 2
    assert row.mean_path == pytest.approx(1838 / 1225)


def test_smallest_fraction_is_where_the_table_crosses_the_target():
    found = smallest_fraction(0.9, 20, 3, 1.0, studies=60, rng=np.random.default_rng(9))
    around = [found.fraction - 0.12, found.fraction + 0.05]
    below, above = comparison_budget(20, 3, 1.0, fractions=around, studies=200, rng=np.random.default_rng(10))
    assert found.to_full.value >= 0.9
    assert below.to_full.value < 0.9 < above.to_full.value


# --------------------------------------------------------------------------------------------- at the edge
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda rng: balanced_pairs(2, 1, rng=rng), TooFew),
        (lambda rng: balanced_pairs(10, 8, rng=rng), DesignError),
        (lambda rng: balanced_pairs(10, 46, rng=rng), DesignError),
        (lambda rng: comparison_budget(10, 0, 1.0, rng=rng), TooFew),
        (lambda rng: comparison_budget(10, 5, 0.0, rng=rng), BadValue),
        (lambda rng: comparison_budget(10, 5, float("nan"), rng=rng), BadValue),
        (lambda rng: comparison_budget(10, 5, 1.0, fractions=[0.1], rng=rng), DesignError),
        (lambda rng: comparison_budget(10, 5, 1.0, studies=1, rng=rng), TooFew),
        (lambda rng: smallest_fraction(1.0, 10, 5, 1.0, rng=rng), BadValue),
    ],
)
def test_wrong_settings_are_named(call, error):
    with pytest.raises(error):
        call(np.random.default_rng(0))
