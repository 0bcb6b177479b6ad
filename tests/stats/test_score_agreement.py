"""Predicted scores against targets: by hand, by scipy, by definition, by property, at the edge."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from salon.errors import BadValue
from salon.stats import agreement_draws, lowest_filling
from salon.stats.score_agreement import AGREEMENT_FIGURES


def figures(x: list[float] | np.ndarray, y: list[float] | np.ndarray, w: np.ndarray | None = None) -> dict[str, float]:
    weights = np.ones(len(x)) if w is None else w
    return dict(zip(AGREEMENT_FIGURES, agreement_draws(x, y, weights)[0]))


def test_by_hand() -> None:
    # x 1 2 3 4 against y 2 1 4 3: d = -1 1 -1 1, SRCC = 1 - 6 x 4 / (4 x 15) = 0.6; 4 concordant, 2 discordant: 1/3
    found = figures([1, 2, 3, 4], [2, 1, 4, 3])
    assert found["srcc"] == pytest.approx(0.6)
    assert found["plcc"] == pytest.approx(0.6)
    assert found["krcc"] == pytest.approx(1 / 3)
    assert found["mae"] == 1
    assert found["rmse"] == 1
    assert found["mean"] == 2.5
    assert found["sd"] == pytest.approx(np.sqrt(5 / 3))


def test_is_what_scipy_gives_on_repeated_items() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = int(rng.integers(3, 40))
        x, y, w = rng.integers(0, 7, n) / 2, rng.normal(size=n).round(1), rng.integers(0, 4, n)
        a, b = np.repeat(x, w), np.repeat(y, w)
        if len(set(a)) < 2 or len(set(b)) < 2:
            continue
        found = figures(x, y, w)
        assert found["srcc"] == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
        assert found["krcc"] == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)
        assert found["plcc"] == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-12)
        assert found["rmse"] == pytest.approx(np.sqrt(np.mean((a - b) ** 2)))
        assert found["target_sd"] == pytest.approx(b.std(ddof=1))


def test_orders_only_see_orders() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=30), rng.normal(size=30)
    plain, bent, shuffled = figures(x, y), figures(np.exp(x), y), rng.permutation(30)
    assert [plain[name] for name in ("srcc", "krcc")] == pytest.approx([bent[name] for name in ("srcc", "krcc")])
    assert figures(x[shuffled], y[shuffled]) == pytest.approx(plain)
    turned = figures(-x, y)
    assert [turned[name] for name in ("srcc", "plcc", "krcc")] == pytest.approx(
        [-plain[name] for name in ("srcc", "plcc", "krcc")]
    )


def _least(x: np.ndarray, y: np.ndarray) -> float:
    """SRCC with the missing items in the worst of all places, by trying all orders."""
    orders = np.array(list(permutations(range(len(x)))))
    there = np.flatnonzero(~np.isnan(x))[np.argsort(x[~np.isnan(x)])]
    kept = orders[(np.diff(orders[:, there], axis=1) > 0).all(axis=1)]
    away = ((kept - stats.rankdata(y) + 1) ** 2).sum(axis=1)
    return float(1 - 6 * away.max() / (len(x) * (len(x) ** 2 - 1)))


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_the_filling_is_the_worst_of_all_orders(missing: int) -> None:
    rng = np.random.default_rng(missing)
    for _ in range(4):
        x, y = rng.normal(size=6), rng.normal(size=6)
        whole = figures(x, y)["srcc"]
        x[rng.choice(6, missing, replace=False)] = np.nan
        filled = lowest_filling(x, y)
        assert (filled[~np.isnan(x)] == x[~np.isnan(x)]).all()
        assert np.isfinite(filled).all()
        assert figures(filled, y)["srcc"] == pytest.approx(_least(x, y))
        assert figures(filled, y)["srcc"] <= whole + 1e-12


def test_a_scale_of_its_own_is_filled_alike() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=20), rng.normal(size=20)
    x[[2, 9, 11]] = np.nan
    one, other = (figures(lowest_filling(of, y), y) for of in (x, 7 + x / 1000))
    assert [other[name] for name in ("srcc", "plcc", "krcc")] == pytest.approx(
        [one[name] for name in ("srcc", "plcc", "krcc")], abs=1e-9
    )
    same = lowest_filling([2.0, 2.0, np.nan], [1.0, 2.0, 3.0])  # no range to go by: one beyond
    assert same[2] == pytest.approx(1.5)


def test_the_filling_is_the_worst_of_different_numbers_where_predictions_tie() -> None:
    """Coarse scores tie, and a block of equal ones is passed as a whole: by trying every gap for every missing item."""
    rng = np.random.default_rng(9)
    for _ in range(30):
        x, y = rng.integers(0, 3, 6).astype(float), rng.integers(0, 4, 6).astype(float)
        whole = figures(x, y)["srcc"]
        x[rng.choice(6, 2, replace=False)] = np.nan
        if len(set(y)) < 2:
            continue
        gone, there = np.flatnonzero(np.isnan(x)), np.unique(x[~np.isnan(x)])
        found = []
        for places in product([there[0] - 1, *(there + 0.5)], repeat=2):
            for order in (0.1, -0.1):
                tried = x.copy()
                tried[gone] = np.array(places) + [0, order]
                found.append(figures(tried, y)["srcc"])
        least = figures(lowest_filling(x, y), y)["srcc"]
        assert least == pytest.approx(min(found))
        assert not least > max(whole, 0.0) + 1e-12  # what was left out never paid, above 0


def test_edges() -> None:
    constant = figures([2, 2, 2], [1, 2, 3])
    assert np.isnan([constant[name] for name in ("srcc", "plcc", "krcc")]).all()
    assert constant["sd"] == 0
    alone = figures([2.0], [3.0])
    assert alone["mae"] == 1
    assert np.isnan(alone["sd"])
    assert np.isnan(alone["srcc"])
    assert np.isnan(agreement_draws([], [], np.ones((1, 0)))).all()
    assert np.isnan(agreement_draws([1, 2], [1, 2], [[0, 0]])).all()
    assert lowest_filling([np.nan, np.nan], [1.0, 2.0]).tolist() == [-1.0, -2.0]
    for bad in (([1, np.nan], [1, 2], [1, 1]), ([1, 2], [1, 2], [1, 0.5]), ([1, 2], [1], [1, 1])):
        with pytest.raises(BadValue):
            agreement_draws(*bad)
