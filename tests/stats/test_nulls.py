"""Exact null laws: golden values, plain enumeration, closed forms, and what the orbits must keep."""

import json
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, factorial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats import Null, cells_votes, cycles_possible, exact_null, feasible, monte_carlo_null, orbits
from salon.stats.nulls import pmax_weights

GOLDEN = Path(__file__).parents[1] / "golden" / "nulls"
RATES = json.loads((GOLDEN / "cycle_rates.json").read_text())
SMALL = [(2, 2), (2, 5), (3, 2), (3, 3), (3, 4), (3, 5), (4, 2), (4, 3), (4, 4), (5, 2), (5, 3)]
SHAPES = [
    *SMALL,
    (2, 9),
    (3, 8),
    (3, 25),
    (4, 5),
    (4, 6),
    (4, 9),
    (5, 4),
    (5, 5),
    (5, 6),
    (5, 7),
    (6, 4),
    (7, 3),
    (8, 3),
]


def vote_vectors(items):
    """The 0/1 votes of each ranking, pairs in lexicographic order."""
    pairs = list(combinations(range(items), 2))
    return [tuple(int(order.index(a) < order.index(b)) for a, b in pairs) for order in permutations(range(items))]


def plain_joint(items, raters):
    """The joint law without any symmetry but the fixed first rater: votes are convolved R - 1 times."""
    layer = Counter({(1,) * comb(items, 2): 1})
    for _ in range(raters - 1):
        grown = Counter()
        for votes, ways in layer.items():
            for vector in vote_vectors(items):
                grown[tuple(map(int.__add__, votes, vector))] += ways
        layer = grown
    joint = Counter()
    for votes, ways in layer.items():
        cell = cells_votes([votes], raters, items)
        joint[tuple(cell.histograms[0].tolist()), int(cell.cyclic[0])] += ways
    return dict(joint)


def test_three_items_three_raters_by_hand():
    # docs/methods/exact-nulls.md works this case: of the 36 rankings of raters 2 and 3, with rater 1 fixed, 1 leaves
    # all three pairs at 3-0, 6 two of them, 12 one, 17 none; 2 of the last (the other two rotations) cycle.
    null = exact_null(3, 3)
    assert null.total == 36
    assert dict(null.joint) == {((0, 3), 0): 1, ((1, 2), 0): 6, ((2, 1), 0): 12, ((3, 0), 0): 15, ((3, 0), 1): 2}
    assert null.cycle_rate == Fraction(1, 18)
    assert null.t_pmf == {
        Fraction(-1, 3): Fraction(17, 36),
        Fraction(1, 9): Fraction(12, 36),
        Fraction(5, 9): Fraction(6, 36),
        Fraction(1): Fraction(1, 36),
    }


@pytest.mark.parametrize("shape", [s for s in RATES if s not in {"5,9", "6,6"}])  # those two: tests/store
def test_golden_cycle_rates(shape):
    items, raters = map(int, shape.split(","))
    null = exact_null(items, raters)
    assert null.cycle_rate == Fraction(RATES[shape])


@pytest.mark.parametrize(
    ("shape", "rate"),
    [
        ((3, 7), 0.0750),
        ((4, 7), 0.2259),
        ((5, 7), 0.4185),
        ((4, 9), 0.2340),
        ((4, 15), 0.245),
        ((6, 3), 0.4901),
        ((3, 6), 0.0039),
        ((4, 6), 0.0147),
        ((5, 6), 0.0348),
    ],
)
def test_golden_decimals(shape, rate):
    digits = 3 if rate == 0.245 else 4
    assert round(float(exact_null(*shape).cycle_rate), digits) == rate


def test_golden_four_items_five_raters():
    null = exact_null(4, 5)
    golden = json.loads((GOLDEN / "t_pmf_4_5.json").read_text())
    assert {str(t): str(q) for t, q in null.t_pmf.items()} == golden
    assert len(null.t_pmf) == 18
    assert null.median_T == Fraction(-1, 15)
    assert null.mean_pmax == Fraction(11, 16)
    assert null.pmax_weights == (Fraction(13, 9), Fraction(85, 81))
    # T = (N41 + 3 N50 - 3) / 15 with N41, N50 the pairs split 4-1 and 5-0
    for (_, four, five), _ in null.joint:
        assert Fraction(four + 3 * five - 3, 15) in null.t_pmf


@pytest.mark.parametrize("shape", SMALL)
def test_by_plain_enumeration(shape):
    assert dict(exact_null(*shape).joint) == plain_joint(*shape)


def test_by_listing_every_ranking():
    # p = 3, R = 4 with no symmetry at all: 6^4 = 1296 outcomes, 6 for each of those with rater 1 fixed.
    votes = np.array([np.sum(choice, axis=0) for choice in product(vote_vectors(3), repeat=4)])
    cells = cells_votes(votes, 4, 3)
    law = {(tuple(h), int(c)): n for h, c, n in zip(cells.histograms.tolist(), cells.cyclic, cells.counts.tolist())}
    assert law == {cell: 6 * ways for cell, ways in exact_null(3, 4).joint.items()}


def test_wide_counts_by_python_integers():
    # 6^29 needs 75 bits. The law of the three votes by convolution of Python integers on the whole lattice.
    raters = 30
    lattice = np.zeros((raters + 1,) * 3, dtype=object)
    lattice[1, 1, 1] = 1
    for _ in range(raters - 1):
        grown = np.zeros_like(lattice)
        for x, y, z in vote_vectors(3):
            grown[x:, y:, z:] += lattice[: raters + 1 - x, : raters + 1 - y, : raters + 1 - z]
        lattice = grown
    where = np.argwhere(lattice != 0)
    joint = Counter()
    cells = [cells_votes(votes[None], raters, 3) for votes in where[:: max(1, len(where) // 400)]]
    expected_mass = sum(lattice.reshape(-1))
    null = exact_null(3, raters)
    assert null.total == expected_mass == 6**29
    for votes in where:
        lead = np.sort(np.maximum(votes, raters - votes))
        joint[tuple(lead)] += lattice[tuple(votes)]
    found = Counter()
    for (histogram, _), ways in null.joint.items():
        found[tuple(np.repeat(np.arange(15, 31), histogram))] += ways
    assert found == joint
    assert {int(cell.cyclic[0]) for cell in cells} == {0, 1}


@pytest.mark.parametrize("shape", [(3, 5), (3, 6), (4, 5), (4, 7), (5, 4), (5, 5), (6, 4)])
def test_streaming_the_last_rater_equals_storing_it(shape):
    items, raters = shape
    g = orbits.geometry(items)
    layer = orbits.first_layer(g)
    while layer.raters < raters - 1:
        layer = orbits.next_layer(g, layer)
    assert orbits.tally_streamed(g, layer) == orbits.tally_stored(g, orbits.next_layer(g, layer))


@pytest.mark.parametrize(("items", "raters"), [(3, 2), (3, 3), (3, 4), (3, 5), (4, 2), (4, 3)])
def test_one_state_for_each_orbit(items, raters):
    # All vote vectors of r raters, merged by brute force under relabelling and reversal.
    pairs = list(combinations(range(items), 2))
    reached = {(1,) * len(pairs)}
    for _ in range(raters - 1):
        reached = {tuple(map(int.__add__, votes, v)) for votes in reached for v in vote_vectors(items)}
    forms = set()
    for votes in reached:
        full = dict(zip(pairs, votes)) | {(b, a): raters - x for (a, b), x in zip(pairs, votes)}
        images = [tuple(full[o[a], o[b]] for a, b in pairs) for o in permutations(range(items))]
        images += [tuple(full[o[b], o[a]] for a, b in pairs) for o in permutations(range(items))]
        forms.add(min(images))
    g = orbits.geometry(items)
    layer = orbits.first_layer(g)
    while layer.raters < raters:
        layer = orbits.next_layer(g, layer)
    assert len(layer.keys) == len(set(layer.keys.tolist())) == len(forms)


@pytest.mark.parametrize("shape", SHAPES)
def test_closed_forms_hold_in_the_joint_law(shape):
    items, raters = shape
    null = exact_null(items, raters)
    pairs, bins = comb(items, 2), range((raters + 1) // 2, raters + 1)
    assert sum(null.joint.values()) == null.total == factorial(items) ** (raters - 1)
    assert sum(null.t_pmf.values()) == 1
    assert sum(t * q for t, q in null.t_pmf.items()) == 0
    assert sum(t * t * q for t, q in null.t_pmf.items()) == null.var_T
    shares = [
        Fraction(sum(h[i] * ways for (h, _), ways in null.joint.items()), pairs * null.total) for i in range(len(bins))
    ]
    assert dict(zip((Fraction(v, raters) for v in bins), shares)) == null.pmax_pmf
    assert sum(x * q for x, q in null.pmax_pmf.items()) == null.mean_pmax
    assert (null.cycle_rate > 0) == cycles_possible(items, raters)


@pytest.mark.parametrize("shape", [s for s in SHAPES if s[1] <= 9])
def test_pmax_weights_are_the_eigenvalues_of_the_joint_law(shape):
    items, raters = shape
    null = exact_null(items, raters)
    expected = comb(items, 2) * np.array([float(q) for q in null.pmax_pmf.values()])
    centred = null.histograms - expected
    covariance = (centred * null.probabilities[:, None]).T @ centred
    found = np.linalg.eigvalsh(covariance / np.sqrt(np.outer(expected, expected)))[::-1]
    np.testing.assert_allclose(found[:-1], [float(w) for w in pmax_weights(items, raters)], atol=1e-9)
    assert abs(found[-1]) < 1e-9


def test_large_r_limit_law():
    # m((R-1)T + 1) -> 4/3 chi2(2) + 1/3 chi2(1) for p = 3.
    null = exact_null(3, 61)
    rng = np.random.default_rng(1)
    limit = 4 / 3 * rng.chisquare(2, 200_000) + 1 / 3 * rng.chisquare(1, 200_000)
    values = np.array([3 * (60 * float(t) + 1) for t in null.t_pmf])
    below = np.cumsum([float(q) for q in null.t_pmf.values()])
    for quantile in (0.25, 0.5, 0.75, 0.9, 0.99):
        x = np.quantile(limit, quantile)
        assert below[np.searchsorted(values, x) - 1] == pytest.approx(quantile, abs=0.02)


@pytest.mark.parametrize("shape", [(4, 5), (5, 3), (3, 6)])
def test_monte_carlo_agrees_with_exact(shape):
    exact = exact_null(*shape)
    sampled = monte_carlo_null(*shape, draws=100_000, rng=np.random.default_rng(2))
    assert (sampled.method, sampled.draws, sampled.total) == ("monte carlo", 100_000, 100_000)
    assert abs(sampled.cycle_rate - exact.cycle_rate) < 4 * sampled.cycle_rate_error
    # chi-square of all cells with expectation above 5
    cells = [cell for cell, ways in exact.joint.items() if ways / exact.total * 100_000 > 5]
    expected = np.array([exact.joint[cell] / exact.total * 100_000 for cell in cells])
    observed = np.array([sampled.joint.get(cell, 0) for cell in cells])
    assert stats.chi2.sf((((observed - expected) ** 2) / expected).sum(), len(cells)) > 1e-4
    assert exact.cycle_rate_error is None


def test_monte_carlo_is_reproducible():
    laws = [monte_carlo_null(6, 9, draws=500, rng=np.random.default_rng(3)).joint for _ in range(2)]
    assert laws[0] == laws[1]


@pytest.mark.parametrize(
    "null", [exact_null(4, 5), exact_null(2, 3), monte_carlo_null(3, 4, draws=50, rng=np.random.default_rng(0))]
)
def test_json_round_trip(null):
    text = json.dumps(null.as_json())
    again = Null.from_json(json.loads(text))
    assert again.joint == null.joint
    assert json.dumps(again.as_json()) == text


def test_json_names_and_fractions():
    data = exact_null(4, 5).as_json()
    assert data["method"] == "exact"
    assert data["cycle_rate"] == "3875/18432"
    assert data["t_pmf"]["-1/5"] == "8455/82944"
    assert data["mean_pmax"] == "11/16"
    assert data["draws"] is None
    assert data["cycle_rate_error"] is None


def test_json_with_lost_mass_is_refused():
    data = exact_null(3, 3).as_json()
    data["joint"][0][2] = "2"
    with pytest.raises(BadValue, match="mass"):
        Null.from_json(data)


def test_median_between_two_values():
    # p = 2, R = 3: T = 1 with probability 1/4, -1/3 with 3/4. p = 2, R = 2: T = 1 or -1 with 1/2 each: median 0.
    assert exact_null(2, 3).median_T == Fraction(-1, 3)
    assert exact_null(2, 2).median_T == 0


@pytest.mark.parametrize("shape", [(4, 1), (1, 5), (0, 0)])
def test_too_few(shape):
    with pytest.raises(TooFew):
        exact_null(*shape)
    with pytest.raises(TooFew):
        monte_carlo_null(*shape, draws=10, rng=np.random.default_rng(0))


def test_no_draws():
    with pytest.raises(TooFew):
        monte_carlo_null(4, 5, draws=0, rng=np.random.default_rng(0))


def test_shapes_that_do_not_fit_a_word():
    with pytest.raises(BadValue, match="Monte Carlo"):
        exact_null(9, 3)


def test_feasible():
    assert feasible(4, 5)
    assert feasible(50, 2)
    assert feasible(2, 1000)
    assert feasible(5, 9)
    assert not feasible(7, 5)
    assert not feasible(9, 3)
    assert not feasible(5, 11)
    assert feasible(5, 11, seconds=60)


def test_large_and_simple_shapes():
    assert exact_null(2, 1001).total == 2**1000
    assert exact_null(12, 2).t_pmf[Fraction(1)] == Fraction(1, factorial(12))
    assert len(exact_null(12, 2).t_pmf) == 67


def test_a_lost_count_is_noticed():
    with pytest.raises(ArithmeticError, match="sum to 35"):
        orbits._verify(35, 3, 3)


def test_orders_by_adjacent_swaps():
    rankings, swaps = orbits.adjacent_swaps(4)
    assert len(set(rankings)) == 24
    assert rankings[0] == (0, 1, 2, 3)
    for before, after, (x, y) in zip(rankings, rankings[1:], swaps):
        assert before.index(y) == before.index(x) + 1
        assert after.index(x) == after.index(y) + 1
