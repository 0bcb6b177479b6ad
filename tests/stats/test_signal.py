"""T, p_max and cycles: by hand, by definition, by scipy, by property, by recovery, at the edge."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kendalltau

from salon.errors import BadValue, TiesNotAllowed, TooFew
from salon.stats import (
    SignalCells,
    cells_votes,
    cycles,
    cycles_possible,
    exact_null,
    kendall_t,
    median_of_counts,
    p_max,
    resample_cells,
    votes_rankings,
)
from salon.stats.signal import (
    distinct_rows,
    histogram_t_numerators,
    item_pairs,
    item_triples,
    t_denominator,
    t_numerators,
)


def random_ranks(prompts, raters, items, seed):
    rng = np.random.default_rng(seed)
    return rng.permuted(np.broadcast_to(np.arange(items), (prompts, raters, items)), axis=2)


@st.composite
def ranks_arrays(draw):
    prompts, raters, items = draw(st.tuples(st.integers(1, 6), st.integers(2, 7), st.integers(2, 6)))
    return random_ranks(prompts, raters, items, draw(st.integers(0, 2**32 - 1)))


def test_by_hand_condorcet():
    # Raters: a>b>c, b>c>a, c>a>b. Ranks of (a,b,c): 012, 201, 120.
    # k[ab]=2 (raters 1,3), k[ac]=1 (rater 1), k[bc]=2 (raters 1,2).
    # T = sum ((2k-3)^2 - 3)/2 / (3*3) = (-1-1-1)/9 = -1/3. p_max = 2/3 for each. Majorities a>b, b>c, c>a: a cycle.
    k = votes_rankings([[[0, 1, 2], [2, 0, 1], [1, 2, 0]]])
    assert k.tolist() == [[2, 1, 2]]
    assert kendall_t(k, 3).tolist() == [pytest.approx(-1 / 3)]
    assert Fraction(int(t_numerators(k, 3)[0]), t_denominator(3, 3)) == Fraction(-1, 3)
    assert p_max(k, 3).tolist() == [[pytest.approx(2 / 3)] * 3]
    assert cycles(k, 3, 3).tolist() == [True]


def test_by_hand_cells():
    # Prompt 1 as above: histogram of max(k,3-k) over {2,3} is (3,0), cyclic. Prompts 2 and 3: all agree, (0,3), T = 1.
    agree = [[0, 1, 2]] * 3
    cells = cells_votes(votes_rankings([[[0, 1, 2], [2, 0, 1], [1, 2, 0]], agree, agree]), 3, 3)
    assert cells.histograms.tolist() == [[0, 3], [3, 0]]
    assert cells.cyclic.tolist() == [False, True]
    assert cells.counts.tolist() == [2, 1]
    assert (cells.n, cells.cycle_count, cells.pmax_counts.tolist()) == (3, 1, [3, 6])
    assert cells.median_T == 1
    assert cells.mean_tau == pytest.approx((1 + 1 - 1 / 3) / 3)
    assert cells.mean_pmax == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert cells.cycle_rate == pytest.approx(1 / 3)


def test_pairs_are_lexicographic():
    assert item_pairs(4).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]


@pytest.mark.parametrize("items", [0, 1, 2, 3, 4, 7])
def test_triples_name_the_columns_of_their_pairs(items):
    column = {tuple(pair): e for e, pair in enumerate(item_pairs(items).tolist())}
    named = [[column[a, b], column[b, c], column[a, c]] for a, b, c in combinations(range(items), 3)]
    assert item_triples(items).tolist() == named


@given(ranks_arrays())
def test_by_definition(ranks):
    prompts, raters, items = ranks.shape
    k = votes_rankings(ranks)
    for i in range(prompts):
        votes = {(a, b): sum(ranks[i, j, a] < ranks[i, j, b] for j in range(raters)) for a, b in item_pairs(items)}
        votes |= {(b, a): raters - x for (a, b), x in votes.items()}
        assert k[i].tolist() == [votes[a, b] for a, b in item_pairs(items)]
        taus = [
            sum(np.sign((r[a] - r[b]) * (s[a] - s[b])) for a, b in item_pairs(items)) / comb(items, 2)
            for r, s in combinations(ranks[i], 2)
        ]
        assert kendall_t(k, raters)[i] == pytest.approx(np.mean(taus), abs=1e-12)
        cyclic = any(
            2 * votes[a, b] > raters and 2 * votes[b, c] > raters and 2 * votes[c, a] > raters
            for a in range(items)
            for b in range(items)
            for c in range(items)
            if len({a, b, c}) == 3
        )
        assert cycles(k, raters, items)[i] == cyclic
        assert p_max(k, raters)[i].tolist() == [max(x, raters - x) / raters for x in k[i].tolist()]


def test_by_scipy():
    ranks = random_ranks(20, 5, 4, seed=3)
    expected = [np.mean([kendalltau(r, s).statistic for r, s in combinations(prompt, 2)]) for prompt in ranks]
    np.testing.assert_allclose(kendall_t(votes_rankings(ranks), 5), expected, atol=1e-12)


@given(ranks_arrays(), st.randoms(use_true_random=False))
def test_relabelling_reversal_and_rater_order_change_nothing(ranks, random):
    _prompts, raters, items = ranks.shape
    order = random.sample(range(items), items)
    swapped = random.sample(range(raters), raters)
    base = cells_votes(votes_rankings(ranks), raters, items)
    for other in (ranks[:, :, order], items - 1 - ranks, ranks[:, swapped]):
        cells = cells_votes(votes_rankings(other), raters, items)
        assert cells.histograms.tolist() == base.histograms.tolist()
        assert cells.cyclic.tolist() == base.cyclic.tolist()
        assert cells.counts.tolist() == base.counts.tolist()


@given(ranks_arrays())
def test_t_is_a_function_of_the_pmax_histogram(ranks):
    _, raters, _items = ranks.shape
    k = votes_rankings(ranks)
    bins = np.arange((raters + 1) // 2, raters + 1)
    histograms = (np.maximum(k, raters - k)[:, :, None] == bins).sum(axis=1)
    assert histogram_t_numerators(histograms, raters).tolist() == t_numerators(k, raters).tolist()


@given(ranks_arrays())
def test_cells_keep_every_statistic(ranks):
    _, raters, items = ranks.shape
    k = votes_rankings(ranks)
    cells = cells_votes(k, raters, items)
    assert cells.n == len(k)
    assert cells.median_T == pytest.approx(np.median(kendall_t(k, raters)), abs=1e-12)
    assert cells.mean_tau == pytest.approx(kendall_t(k, raters).mean(), abs=1e-12)
    assert cells.mean_pmax == pytest.approx(p_max(k, raters).mean())
    assert cells.cycle_rate == pytest.approx(cycles(k, raters, items).mean())


@pytest.mark.parametrize("items", [2, 3, 4])
@pytest.mark.parametrize("raters", [2, 3, 4, 5, 6])
def test_cycles_possible_agrees_with_the_exact_null(items, raters):
    assert cycles_possible(items, raters) == (exact_null(items, raters).cycle_rate > 0)


@pytest.mark.parametrize("radix", [4, 40, 400_000, 2**40])
def test_distinct_rows_by_all_three_ways(radix):
    rows = np.random.default_rng(1).integers(0, 4, size=(300, 3))
    rows[:, 1] = np.minimum(rows[:, 1], radix - 1)
    distinct, counts, which = distinct_rows(rows, radix)
    expected, expected_counts = np.unique(rows, axis=0, return_counts=True)
    assert distinct.tolist() == expected.tolist()
    assert counts.tolist() == expected_counts.tolist()
    assert distinct[which].tolist() == rows.tolist()


def test_resample_has_the_law_of_resampling_prompts():
    k = votes_rankings(random_ranks(60, 5, 4, seed=5))
    cells = cells_votes(k, 5, 4)
    rng = np.random.default_rng(6)
    fast = resample_cells([cells], rng=rng, draws=4000)
    picks = rng.integers(0, 60, size=(4000, 60))
    t, cyclic = kendall_t(k, 5), cycles(k, 5, 4)
    slow = {
        "median_T": np.median(t[picks], axis=1),
        "mean_tau": t[picks].mean(axis=1),
        "mean_pmax": p_max(k, 5).mean(axis=1)[picks].mean(axis=1),
        "cycle_rate": cyclic[picks].mean(axis=1),
    }
    assert set(fast) == set(slow)
    for name, values in slow.items():
        error = values.std() * np.sqrt(2 / 4000)
        assert abs(fast[name].mean() - values.mean()) < 5 * error, name
        assert fast[name].std() == pytest.approx(values.std(), rel=0.08), name


def test_bootstrap_interval_of_the_cycle_rate_covers():
    # Recovery: under the null at (4,5) the true cycle rate is 3875/18432; 90% intervals must cover it about so often.
    null = exact_null(4, 5)
    rng = np.random.default_rng(7)
    cyclic = np.array([bool(flag) for _, flag in null.joint])
    covered = 0
    for _ in range(400):
        cells = SignalCells(4, 5, null.histograms, cyclic, rng.multinomial(200, null.probabilities))
        low, high = np.quantile(resample_cells([cells], rng=rng, draws=300)["cycle_rate"], [0.05, 0.95])
        covered += low <= 3875 / 18432 <= high
    assert 0.85 < covered / 400 < 0.94


def test_many_bins_that_fit_no_integer():
    # p = 10 and R = 60 give 31 bins of up to 45 pairs: 46^32 needs more than 63 bits.
    k = votes_rankings(random_ranks(8, 60, 10, seed=8))
    cells = cells_votes(k, 60, 10)
    assert (cells.n, cells.histograms.sum()) == (8, 8 * 45)
    assert cells.mean_tau == pytest.approx(kendall_t(k, 60).mean())


@pytest.mark.parametrize(
    ("ranks", "error"),
    [
        ([[[0, 1, 1], [0, 1, 2]]], TiesNotAllowed),
        ([[[0, 1, 2], [1, 2, 3]]], BadValue),
        ([[[0, 1, 2], [-1, 0, 1]]], BadValue),
        ([[[0.0, 1.0], [1.0, 0.0]]], BadValue),
        ([[0, 1], [1, 0]], BadValue),
        ([[[0, 1, 2]]], TooFew),
        ([[[0], [0]]], TooFew),
    ],
)
def test_bad_rankings(ranks, error):
    with pytest.raises(error):
        votes_rankings(ranks)


def test_a_bad_ranking_is_named():
    ranks = random_ranks(5, 3, 4, seed=9)
    ranks[3, 1] = [2, 2, 0, 1]
    with pytest.raises(TiesNotAllowed, match="prompt 3, rater 1"):
        votes_rankings(ranks)


@pytest.mark.parametrize("k", [[[6, 0, 0]], [[-1, 0, 0]], [[1, 2]], [[0.5, 1, 1]], [1, 2, 3]])
def test_bad_votes(k):
    with pytest.raises(BadValue):
        kendall_t(k, 5)


def test_votes_of_another_shape():
    with pytest.raises(BadValue, match="6 columns"):
        cycles([[1, 2, 3]], 5, 4)


def test_one_rater_has_no_agreement():
    with pytest.raises(TooFew):
        kendall_t([[1, 0, 1]], 1)


def test_no_prompts():
    cells = cells_votes(np.zeros((0, 6), dtype=int), 5, 4)
    assert cells.n == 0
    with pytest.raises(TooFew):
        _ = cells.median_T
    with pytest.raises(TooFew):
        resample_cells([cells], rng=np.random.default_rng(0), draws=10)


def test_median_of_counts_is_the_median_of_the_values_written_out():
    rng = np.random.default_rng(15)
    values = np.array([0.3, -0.1, 0.8, 0.2])
    counts = rng.integers(0, 4, (200, 4))
    counts[counts.sum(axis=1) == 0, 0] = 1
    expected = [np.median(np.repeat(values, row)) for row in counts]
    assert median_of_counts(values, counts) == pytest.approx(expected)
