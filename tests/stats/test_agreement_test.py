"""The test behind the first answer: one prompt, many raters, ties; and its power."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from salon.errors import TooFew
from salon.stats import (
    Null,
    agreement_test,
    cells_votes,
    power_agreement,
    ranking_law,
    tied_parts,
    tied_test,
    votes_rankings,
)
from salon.stats.agreement_law import total_tail
from salon.stats.agreement_tests import _observed, _thurstone_totals
from salon.stats.simulate import mallows_rankings, noise_for_tau, thurstone_rankings, uniform_rankings
from salon.store import null_for, quick_null

RNG = np.random.default_rng


@lru_cache
def law(items: int, raters: int) -> Null:
    return quick_null(items, raters)


def p_of(ranks: np.ndarray) -> float:
    _, raters, items = ranks.shape
    return agreement_test([(cells_votes(votes_rankings(ranks), raters, items), law(items, raters))]).p


def test_friedman_agrees_on_one_prompt_with_many_voters() -> None:
    """795 voters on four items, as many as PrefLib's dots: both call a weak shared order certain, and noise noise."""
    rng = RNG(1)
    for theta, low, high in ((0.15, 0, 1e-6), (0.0, 0.02, 0.98)):
        ranks = mallows_rankings(1, 795, 4, max(theta, 1e-9), rng=rng)
        friedman = stats.friedmanchisquare(*ranks[0].T).pvalue
        assert low <= p_of(ranks) <= high
        assert low <= friedman <= high


def test_tied_answers_by_enumeration() -> None:
    """Two prompts of three raters with ties: all assignments of items to two of the raters, counted."""
    scores = np.array([[[2, 1, 1], [2, 2, 1], [3, 2, 1]], [[1, 1, 2], [1, 2, 3], [2, 1, 1]]], np.float32)

    def total(panel: tuple) -> int:
        x = np.array(panel)
        signs = np.array([np.sign(x[:, a] - x[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))])
        return int(((signs.sum(axis=1) ** 2) - (signs**2).sum(axis=1)).sum() // 2)

    each = [[total(choice) for choice in product(*(list(permutations(row)) for row in panel))] for panel in scores]
    seen = sum(total(tuple(panel)) for panel in scores)
    first, second = (np.array(values) for values in each)
    expected = sum((first + s >= seen).mean() * (second == s).mean() for s in np.unique(second))
    made = tied_test(scores.reshape(6, 3), [3] * 6, [0, 3], null_for, rng=RNG(0))
    assert made.p == pytest.approx(expected, abs=4 * np.sqrt(expected / 20_000))
    assert made.statistic == pytest.approx(seen / 10)


def test_the_law_of_many_tied_answers_is_that_of_assignments() -> None:
    """60 prompts of five raters on a scale of three: the saddle-point tail against 20,000 assignments."""
    rng = RNG(2)
    for lift in (0.0, 0.35):
        scores = rng.integers(0, 3, (60, 5, 4)) + (rng.random((60, 1, 4)) < lift)
        flat = scores.reshape(300, 4).astype(np.float32)
        size, starts = np.full(300, 4), np.arange(0, 300, 5)
        made = tied_test(flat, size, starts, null_for, rng=rng)
        total, _ = _observed(flat, size, starts, starts + 5)
        law = total_tail(tied_parts(flat, size, starts, null_for), total)
        assert law.above == pytest.approx(made.p, rel=0.15, abs=4 / 20_000)


def test_answers_that_tie_everything_are_too_few() -> None:
    with pytest.raises(TooFew, match="decided votes"):
        tied_test(np.ones((6, 3), np.float32), [3] * 6, [0, 3], null_for, rng=RNG(0))
    with pytest.raises(TooFew, match="two complete answers"):
        tied_test(np.ones((2, 3), np.float32), [3] * 2, [0, 1], null_for, rng=RNG(0))
    with pytest.raises(TooFew, match="two complete answers"):
        agreement_test([])


def test_power_is_the_share_of_studies_that_reject() -> None:
    """Thurstone raters with tau .1, 30 prompts of (4, 5), drawn one by one."""
    rng = RNG(3)
    law = ranking_law(null_for(4, 5))
    power = power_agreement([(law, 30)], [np.tile(np.arange(4.0), (5, 1))], [30], tau=0.1, alpha=0.05, rng=rng)
    noise = np.full(5, noise_for_tau(0.1, 4, "thurstone"))
    share = np.mean([p_of(thurstone_rankings(30, 5, 4, noise, rng=rng)) <= 0.05 for _ in range(300)])
    assert power.value == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 300))


def test_size_over_shapes() -> None:
    rng = RNG(4)
    for prompts, raters, items in ((1, 40, 3), (3, 5, 4), (20, 3, 5)):
        p = np.array([p_of(uniform_rankings(prompts, raters, items, rng=rng)) for _ in range(200)])
        assert np.mean(p <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_a_short_simulation_draws_what_a_long_one_would() -> None:
    ordered = np.sort(np.random.default_rng(1).random((6, 3)).astype(np.float32), axis=1)
    loop = _thurstone_totals
    plain, machine = (run(ordered, 200, 0.7, np.random.default_rng(5)) for run in (loop.loop, loop.machine))
    assert plain.tolist() == machine.tolist()
