"""The chance of a win between uncertain scores: by hand, by scipy's integrals, by simulation, at the edge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import logistic, norm

from salon.errors import BadValue
from salon.stats import WIDE, normal_points, probit_win_chance, win_chance
from salon.stats.uncertain_scores import log_win_chance

DIFFERENCES = np.array([-12.0, -3.0, -0.4, 0.0, 1.0, 2.5, 8.0])
numbers = st.floats(-50, 15)
spreads = st.floats(0, 40)


def exact(m: float, v: float) -> float:
    """The definition: the logistic function averaged over N(m, v²)."""

    def integrand(x: float) -> float:
        return math.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (1 + math.tanh((m + v * x) / 2)) / 2

    step = min(max(-m / v, -9), 9)  # where the logistic function jumps, if v is large
    return float(quad(integrand, -10, 10, points=[step - 1e-3, step, step + 1e-3], limit=200)[0])


def test_by_hand() -> None:
    # Without uncertainty Bradley-Terry: s(log 3) = 3/4. Probit: 1 / sqrt(1 + 3) = 1/2, Phi(1/2) = .69146.
    assert win_chance(np.log(3), 0) == pytest.approx(0.75)
    assert probit_win_chance(1, np.sqrt(3)) == pytest.approx(0.691462, abs=1e-6)
    assert win_chance(0, 4) == pytest.approx(0.5)


@pytest.mark.parametrize("sigma", [0.3, 1, 3, 5])
def test_the_integral_to_1e_4_for_two_items_of_sigma_up_to_5(sigma: float) -> None:
    v = np.hypot(sigma, sigma)
    assert win_chance(DIFFERENCES, v) == pytest.approx([exact(m, v) for m in DIFFERENCES], abs=5e-6)


@pytest.mark.parametrize("v", [WIDE - 1e-6, WIDE + 1e-6, 15, 60])
def test_the_integral_to_1e_4_however_wide(v: float) -> None:
    m = np.linspace(-3 * v, 3 * v, 25)
    assert win_chance(m, v) == pytest.approx([exact(one, v) for one in m], abs=1e-4)


@pytest.mark.parametrize(
    ("points", "v", "least", "most"), [(32, 3, 1e-6, 2e-5), (64, 5, 1e-6, 6e-5), (64, 7.07, 1e-4, 1)]
)
def test_gauss_hermite_is_as_good_as_it_is_said_to_be(points: int, v: float, least: float, most: float) -> None:
    m = np.linspace(-20, 20, 41)
    error = np.abs(win_chance(m, v, points=points, rule="gauss-hermite") - [exact(one, v) for one in m]).max()
    assert least < error < most


def test_by_the_other_half_of_the_integral() -> None:
    """A voter's logistic noise, averaged by scipy.stats, over the normal chance to be above it."""
    other = logistic.expect(lambda noise: norm.cdf((1.3 - noise) / 2.2))
    assert win_chance(1.3, 2.2) == pytest.approx(other, abs=1e-7)


def test_simulated_voters_vote_as_often() -> None:
    rng = np.random.default_rng(3)
    seen = rng.normal(1.0, 0.8, 400_000) - rng.normal(-0.5, 2.0, 400_000)
    share = (rng.random(400_000) < expit(seen)).mean()
    assert share == pytest.approx(win_chance(1.5, np.hypot(0.8, 2.0)), abs=4 * np.sqrt(0.25 / 400_000))


@given(numbers, st.floats(0.01, 5), spreads)
def test_more_is_better_and_sides_add_up(m: float, more: float, v: float) -> None:
    assert log_win_chance(m + more, v) > log_win_chance(m, v)
    assert win_chance(m, v) + win_chance(-m, v) == pytest.approx(1, abs=1e-9)


@given(st.floats(0.1, 30), spreads, st.floats(0.1, 5))
def test_uncertainty_pulls_towards_one_half(m: float, v: float, more: float) -> None:
    assert 0.5 < win_chance(m, v + more) <= win_chance(m, v) + 5e-5
    assert 0.5 < probit_win_chance(m, v + more) <= probit_win_chance(m, v)


def test_far_out_the_log_stays_finite() -> None:
    assert np.isfinite(log_win_chance([-1e6, 1e6, -1e6], [0, 0, 1e6])).all()
    # z = -800 ± 1, where s(z) = e^z: log E[e^z] = -800 + 1/2.
    assert log_win_chance(-800, 1) == pytest.approx(-799.5, abs=1e-6)


def test_points_are_a_law() -> None:
    for rule in ("trapezoid", "gauss-hermite"):
        x, log_w = normal_points(64, rule)
        assert [np.exp(log_w) @ x**k for k in range(5)] == pytest.approx([1, 0, 1, 0, 3], abs=1e-7)
    assert not x.flags.writeable


@pytest.mark.parametrize(("m", "v"), [(np.nan, 1), (np.inf, 1), (0, -1), (0, np.nan), (0, np.inf), ([1, 2], [1, 2, 3])])
def test_what_is_no_score_is_refused(m: object, v: object) -> None:
    with pytest.raises(BadValue):
        win_chance(m, v)  # type: ignore[arg-type]


def test_unknown_rules_and_single_points_are_refused() -> None:
    with pytest.raises(BadValue, match="trapezoid, gauss-hermite"):
        normal_points(64, "simpson")  # type: ignore[arg-type]
    with pytest.raises(BadValue, match="at least 2"):
        normal_points(1)
    assert win_chance([], []).shape == (0,)
