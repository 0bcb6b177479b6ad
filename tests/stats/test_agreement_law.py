"""The law of total agreement: against exact fractions, enumeration, closed forms and simulated raters."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import comb, factorial

import numpy as np
import pytest
from scipy import stats

from salon.stats import ranking_law
from salon.stats.agreement_law import (
    ChiLaw,
    ExactLaw,
    critical_total,
    mahonian_law,
    pair_law,
    sign_variances,
    strict_chi_law,
    total_tail,
)
from salon.store import null_for

RNG = np.random.default_rng


def convolved(shape: tuple[int, int], prompts: int) -> dict[int, Fraction]:
    """The law of the total of prompts of one shape, in fractions."""
    null = null_for(*shape)
    law = {0: Fraction(1)}
    for _ in range(prompts):
        step: dict[int, Fraction] = {}
        for total, p in law.items():
            for value, count in null.t_counts.items():
                step[total + value] = step.get(total + value, Fraction(0)) + p * Fraction(count, null.total)
        law = step
    return law


@pytest.mark.parametrize(("shape", "prompts"), [((4, 5), 1), ((4, 5), 3), ((3, 3), 4), ((5, 4), 2)])
def test_exact_tails_keep_their_digits_to_the_far_end(shape: tuple[int, int], prompts: int) -> None:
    law = convolved(shape, prompts)
    parts = [(ranking_law(null_for(*shape)), prompts)]
    for total in law:
        tail = total_tail(parts, total)
        assert tail.exact
        assert tail.above == pytest.approx(float(sum(p for s, p in law.items() if s >= total)), rel=1e-10)
        assert tail.below == pytest.approx(float(sum(p for s, p in law.items() if s <= total)), rel=1e-10)


def test_shapes_are_convolved_together() -> None:
    laws = convolved((4, 5), 2), convolved((3, 4), 1)
    parts = [(ranking_law(null_for(4, 5)), 2), (ranking_law(null_for(3, 4)), 1)]
    for total in (-20, 3, 40, 90):
        expected = sum(p * q for (s, p), (t, q) in product(laws[0].items(), laws[1].items()) if s + t >= total)
        assert total_tail(parts, total).above == pytest.approx(float(expected), rel=1e-10)


def test_unanimous_raters_have_the_chance_of_unanimity() -> None:
    """All of R raters alike on n prompts: p!^-(R-1) each."""
    for items, raters, prompts in ((4, 9, 2), (2, 12, 3), (6, 2, 2)):
        top = comb(items, 2) * comb(raters, 2) * prompts
        p = total_tail([(ranking_law(null_for(items, raters)), prompts)], top).above
        assert p == pytest.approx(float(factorial(items)) ** (-(raters - 1) * prompts), rel=1e-9)


def test_two_raters_and_two_items_by_enumeration() -> None:
    orders = list(permutations(range(4)))
    signs = {o: [np.sign(o[b] - o[a]) for a in range(4) for b in range(a + 1, 4)] for o in orders}
    totals = [int(np.dot(signs[orders[0]], signs[o])) for o in orders]
    law = mahonian_law(4)
    assert {int(v): pytest.approx(np.exp(p)) for v, p in zip(law.values, law.log_p)} == {
        v: totals.count(v) / 24 for v in set(totals)
    }
    coins = pair_law(7)
    for k in range(4, 8):
        value = ((2 * k - 7) ** 2 - 7) // 2
        assert np.exp(coins.log_p[coins.values == value]) == pytest.approx(2 * stats.binom.pmf(k, 7, 0.5))


@pytest.mark.parametrize("shape", [(3, 15), (4, 6), (4, 15), (5, 10), (6, 5), (7, 4), (8, 3)])
@pytest.mark.parametrize("prompts", [1, 3, 20, 300])
def test_the_chi_square_law_is_close_where_the_exact_one_is_known(shape: tuple[int, int], prompts: int) -> None:
    """Within 13% of p at .05 for one prompt and 1% from 20 on; at .001 it may only be too large."""
    exact, near = ranking_law(null_for(*shape)), strict_chi_law(*shape)
    assert isinstance(exact, ExactLaw)
    assert isinstance(near, ChiLaw)
    step = int(np.gcd.reduce(exact.values - exact.values.min()))
    low = int(exact.values.min()) * prompts
    for level in (0.1, 0.05, 0.001):
        total = critical_total([(exact, prompts)], level)
        total = low - (low - total) // step * step
        if prompts == 1:
            total = int(exact.values[exact.values >= total].min())
        ratio = total_tail([(near, prompts)], total).above / total_tail([(exact, prompts)], total).above
        assert (0.87 if prompts == 1 else 0.96) < ratio < (1.09 if level > 0.01 else 3.0)
        if prompts >= 20:
            assert ratio == pytest.approx(1, abs=0.01 if level > 0.01 else 0.07)


def test_cumulants_of_the_chi_square_law_are_those_of_random_raters() -> None:
    """Mean 0, Var T = 2(2p+5) / (9p(p-1)C(R,2)), and the third cumulant of the exact law."""
    for items, raters in ((4, 5), (5, 6), (3, 9)):
        chi, null = strict_chi_law(items, raters), null_for(items, raters)
        exact = ranking_law(null)
        p, s = np.exp(exact.log_p), exact.values.astype(float)
        assert 2 * (chi.weights**2 * chi.freedom).sum() == pytest.approx(p @ s**2)
        assert 8 * (chi.weights**3 * chi.freedom).sum() == pytest.approx(p @ s**3)


def test_variances_of_signs_with_ties_by_enumeration() -> None:
    """The covariance of the signs over all relabellings has two eigenvalues, alpha and beta."""
    scores = np.array([2.0, 1.0, 1.0, 0.0, 1.0])
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    rows = np.array([[np.sign(x[a] - x[b]) for a, b in pairs] for x in permutations(scores)])
    values = np.linalg.eigvalsh(rows.T @ rows / len(rows))
    alpha, beta = (float(v[0]) for v in sign_variances(scores[None]))
    assert sorted(values) == pytest.approx(sorted([alpha] * 4 + [beta] * 6))


def test_many_raters_follow_the_law() -> None:
    """One prompt of 4 items and 200 random raters: the tail is uniform."""
    rng = RNG(0)
    law = strict_chi_law(4, 200)
    counts = rng.multinomial(200, np.full(24, 1 / 24), size=4000)
    orders = np.array(list(permutations(range(4))))
    signs = np.array([[np.sign(o[b] - o[a]) for a in range(4) for b in range(a + 1, 4)] for o in orders])
    totals = (((counts @ signs) ** 2).sum(axis=1) - 6 * 200) // 2
    p = np.array([total_tail([(law, 1)], int(total)).above for total in totals])
    for level in (0.01, 0.05, 0.2, 0.5):
        assert np.mean(p <= level) == pytest.approx(level, abs=3.5 * np.sqrt(level / 4000))


def test_the_critical_total_is_the_first_that_rejects() -> None:
    for parts in ([(ranking_law(null_for(4, 5)), 7)], [(strict_chi_law(10, 40), 3)]):
        total = critical_total(parts, 0.05)
        assert total_tail(parts, total).above <= 0.05 < total_tail(parts, total - 1).above
