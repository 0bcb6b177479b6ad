"""Moderated variances: the formulas by hand, recovery of the prior, coverage, and what is refused."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, polygamma

from salon.errors import BadValue, TooFew
from salon.stats import moderated_variances


def drawn(items, df, prior_df, prior_variance, seed):
    rng = np.random.default_rng(seed)
    sigma2 = prior_df * prior_variance / rng.chisquare(prior_df, items)
    return sigma2, sigma2 * rng.chisquare(df, items) / df, rng


def test_equal_variances_become_one():
    """All logs equal: no scatter, so d0 is infinite and s0^2 = s^2 exp(log(d/2) - psi(d/2))."""
    made = moderated_variances([2.0, 2.0, 2.0], 4)
    assert made.variance == pytest.approx(np.full(3, 2 * np.exp(np.log(2) - digamma(2))))
    assert made.df == np.inf


def test_by_the_formula():
    """Variances e^0 and e^6: var(e) = 18, and psi'(d0/2) = 18 - psi'(2)."""
    made = moderated_variances(np.exp([0.0, 6.0]), 4)
    assert polygamma(1, made.prior_df / 2) == pytest.approx(18 - polygamma(1, 2))
    weighted = (made.prior_df * made.prior_variance + 4 * np.exp([0.0, 6.0])) / (made.prior_df + 4)
    assert made.variance == pytest.approx(weighted)
    assert made.df == made.prior_df + 4


def test_scale_and_order_carry_through():
    s2 = np.random.default_rng(0).chisquare(4, 30)
    made = moderated_variances(s2, 4)
    assert moderated_variances(9 * s2, 4).variance == pytest.approx(9 * made.variance)
    assert moderated_variances(s2[::-1], 4).variance == pytest.approx(made.variance[::-1])


@pytest.mark.parametrize("prior_df", [4.0, 30.0])
def test_the_prior_is_found_again(prior_df):
    _, s2, _ = drawn(20_000, 4, prior_df, 2.5, 1)
    made = moderated_variances(s2, 4)
    assert made.prior_df == pytest.approx(prior_df, rel=0.15)
    assert made.prior_variance == pytest.approx(2.5, rel=0.05)


def test_intervals_cover_and_are_shorter_than_the_plain_ones():
    """40 items of variance estimates with 4 degrees of freedom: both cover 95%, moderated ones are shorter."""
    covered, width, plain_width = [], [], []
    for seed in range(150):
        sigma2, s2, rng = drawn(40, 4, 10.0, 1.0, seed)
        error = rng.normal(size=40) * np.sqrt(sigma2)
        made = moderated_variances(s2, 4)
        half = stats.t.ppf(0.975, made.df) * np.sqrt(made.variance)
        covered.append(np.mean(np.abs(error) <= half))
        width.append(half.mean())
        plain_width.append((stats.t.ppf(0.975, 4) * np.sqrt(s2)).mean())
    assert 0.935 < np.mean(covered) < 0.965
    assert np.mean(width) < 0.9 * np.mean(plain_width)


def test_what_is_refused():
    with pytest.raises(TooFew):
        moderated_variances([1.0], 4)
    with pytest.raises(TooFew):
        moderated_variances([1.0, 0.0], 4)
    for bad in ([1.0, np.nan], [1.0, -1.0]):
        with pytest.raises(BadValue, match="negative"):
            moderated_variances(bad, 4)
    with pytest.raises(BadValue, match="degree of freedom"):
        moderated_variances([1.0, 2.0], 0)


def test_a_variance_of_zero_borrows_and_teaches_nothing():
    s2 = np.array([0.5, 1.0, 4.0, 9.0, 0.02])
    alone, beside = moderated_variances(s2, 4), moderated_variances(np.append(s2, 0.0), 4)
    assert beside.variance[:5] == pytest.approx(alone.variance)
    assert beside.variance[5] == pytest.approx(alone.prior_df * alone.prior_variance / (alone.prior_df + 4))
