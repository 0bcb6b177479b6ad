"""Binomial laws (stats/binomial.py) against scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from salon.stats.binomial import binomial_cdf, binomial_pmf, binomial_sf, fair_coin_p


@pytest.mark.parametrize("n", [0, 1, 5, 80, 500, 501, 20_000])
@pytest.mark.parametrize("p", [0.0, 1e-4, 1 / 3, 0.5, 0.9, 1.0])
def test_laws_are_those_of_scipy(n: int, p: float) -> None:
    k = np.arange(-2, n + 3) if n < 1000 else np.arange(n // 3 - 50, n // 3 + 50)
    assert binomial_pmf(k, n, p) == pytest.approx(stats.binom.pmf(k, n, p), rel=1e-10, abs=1e-150)
    assert binomial_cdf(k, n, p) == pytest.approx(stats.binom.cdf(k, n, p), rel=1e-10, abs=1e-150)
    assert binomial_sf(k, n, p) == pytest.approx(stats.binom.sf(k, n, p), rel=1e-10, abs=1e-150)


def test_chances_may_be_many() -> None:
    p = np.linspace(0.5, 1.0, 11)
    assert binomial_pmf(3, 5, p) == pytest.approx(stats.binom.pmf(3, 5, p))
    assert binomial_cdf(3, 5, p) == pytest.approx(stats.binom.cdf(3, 5, p))


@pytest.mark.parametrize(("heads", "n"), [(0, 1), (5, 10), (9, 10), (1, 10), (30, 101)])
def test_a_fair_coin(heads: int, n: int) -> None:
    assert fair_coin_p(heads, n) == pytest.approx(stats.binomtest(heads, n).pvalue)
