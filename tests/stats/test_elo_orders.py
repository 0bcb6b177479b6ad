"""One-pass Elo and its mean over orders: by hand, by definition, against evalica, its properties and its edges."""

import evalica
import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from salon.errors import BadValue, TooFew
from salon.stats.elo import averaged_elo, sequential_elo

WINNER = [evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw]


def rng(seed=0):
    return np.random.default_rng(seed)


def played(seed, items, comparisons, spread=1.0):
    """Comparisons of planted scores, one in five a tie."""
    chance = rng(seed)
    truth = np.sort(chance.normal(scale=spread, size=items))
    a = chance.integers(0, items, comparisons)
    b = (a + chance.integers(1, items, comparisons)) % items
    lost = chance.random(comparisons) < 1 / (1 + np.exp(truth[a] - truth[b]))
    return truth, a, b, np.where(chance.random(comparisons) < 0.2, 2, lost)


def plain(a, b, outcome, items, k, scale, start):
    q = np.full(items, float(start))
    for i, j, code in zip(a, b, outcome):
        change = k * ((1, 0, 0.5)[code] - 1 / (1 + 10 ** ((q[j] - q[i]) / scale)))
        q[i] += change
        q[j] -= change
    return q


def test_by_hand():
    # 0 beats 1 at equal scores: expected 1/2, so 20 * 1/2 = 10 points: 110, 90, 100.
    # 2 beats 0, 10 points behind at scale 10: expected 1/(1 + 10^1) = 1/11, so 20 * 10/11 = 18.1818 points.
    np.testing.assert_allclose(
        sequential_elo([0, 2], [1, 0], [0, 0], 3, k=20, scale=10, start=100),
        [110 - 200 / 11, 90, 100 + 200 / 11],
    )
    # The other order: 2 wins 10 first; then 0, at 90 against 100, wins 20 * 10/11.
    np.testing.assert_allclose(
        sequential_elo([0, 2], [1, 0], [0, 0], 3, k=20, scale=10, start=100, order=[1, 0]),
        [90 + 200 / 11, 100 - 200 / 11, 110],
    )


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint16])
def test_plain_loop_gives_the_same(dtype):
    _, a, b, o = played(1, 9, 5000)
    fast = sequential_elo(a.astype(dtype), b.astype(dtype), o.astype(np.int8), 9, k=24, scale=300, start=1200)
    np.testing.assert_allclose(fast, plain(a, b, o, 9, 24, 300, 1200), rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", [1, 3, 40])
def test_items_any_distance_apart(scale):
    """Beyond ten logits the logistic function is computed another way; at scale 1 most comparisons are there."""
    _, a, b, o = played(13, 20, 3000)
    fast = sequential_elo(a, b, o, 20, k=0.7, scale=scale, start=0)
    np.testing.assert_allclose(fast, plain(a, b, o, 20, 0.7, scale, 0), rtol=0, atol=1e-9)


def test_evalica_gives_the_same():
    _, a, b, o = played(2, 12, 3000)
    theirs = evalica.elo(a, b, [WINNER[code] for code in o], index=pd.Index(range(12)))
    np.testing.assert_allclose(sequential_elo(a, b, o, 12), theirs.scores.sort_index(), rtol=0, atol=1e-9)


def test_relabelled_and_turned_around():
    _, a, b, o = played(3, 10, 2000)
    names = rng(4).permutation(10)
    straight = sequential_elo(a, b, o, 10)
    np.testing.assert_allclose(sequential_elo(names[a], names[b], o, 10)[names], straight)
    np.testing.assert_allclose(sequential_elo(b, a, np.array([1, 0, 2])[o], 10), straight)
    np.testing.assert_allclose(straight.sum(), 10 * 1000)  # points change hands, none are made


def test_the_order_matters_and_one_more_win_never_hurts():
    _, a, b, o = played(5, 6, 200)
    straight = sequential_elo(a, b, o, 6)
    backwards = sequential_elo(a, b, o, 6, order=np.arange(200)[::-1])
    assert np.abs(straight - backwards).max() > 1
    won = np.where(np.arange(200) == 150, 0, o)
    assert sequential_elo(a, b, won, 6)[a[150]] >= straight[a[150]]


def test_the_mean_over_all_orders_by_definition():
    _, a, b, o = played(6, 4, 60)
    fit = averaged_elo(a, b, o, 4, shuffles=40, rng=rng(7), k=16)
    row, again = np.arange(60), rng(7)
    runs = []
    for _ in range(40):
        again.shuffle(row)
        runs.append(plain(a[row], b[row], o[row], 4, 16, 400, 1000))
    np.testing.assert_allclose(fit.scores, np.mean(runs, axis=0), atol=1e-9)
    np.testing.assert_allclose(fit.spread, np.std(runs, axis=0, ddof=1), atol=1e-9)
    np.testing.assert_allclose(fit.error, fit.spread / np.sqrt(40))


def test_averaging_frees_the_scores_of_the_given_order():
    _, a, b, o = played(8, 8, 4000)
    fit = averaged_elo(a, b, o, 8, rng=rng(9))
    sorted_rows = np.lexsort((b, a))
    other = averaged_elo(a[sorted_rows], b[sorted_rows], o[sorted_rows], 8, rng=rng(10))
    z = (fit.scores - other.scores) / np.hypot(fit.error, other.error)
    assert np.abs(z).max() < 4
    # One order may lie far from the mean of orders, and the spread says how far: the given order is within 4 sd.
    assert (np.abs(sequential_elo(a, b, o, 8) - fit.scores) / fit.spread).max() < 4


def test_planted_order_is_found():
    truth, a, b, o = played(11, 40, 40_000, spread=1.5)
    assert spearmanr(sequential_elo(a, b, o, 40), truth).statistic > 0.97
    assert spearmanr(averaged_elo(a, b, o, 40, shuffles=10, rng=rng(12)).scores, truth).statistic > 0.99


def test_items_never_compared_keep_the_start():
    fit = averaged_elo([0], [1], [2], 3, shuffles=2, rng=rng(), start=700)
    np.testing.assert_array_equal(fit.scores, [700, 700, 700])
    np.testing.assert_array_equal(fit.spread, [0, 0, 0])  # one comparison has one order


@pytest.mark.parametrize(
    ("a", "b", "outcome", "words"),
    [
        ([0], [3], [0], "numbered 0 to 2"),
        ([0, -1], [1, 2], [0, 0], "comparison 1"),
        ([1], [1], [0], "itself"),
        ([0], [1], [3], "0 .first better., 1 .second better. or 2"),
        ([0], [1], [np.nan], "outcome codes are integers"),
        ([0.0], [1], [0], "items are integers"),
        ([0, 1], [1], [0], "equally long"),
    ],
)
def test_what_is_refused(a, b, outcome, words):
    with pytest.raises(BadValue, match=words):
        sequential_elo(a, b, outcome, 3)
    with pytest.raises(BadValue, match=words):
        averaged_elo(a, b, outcome, 3, rng=rng())


def test_too_few_and_bad_settings():
    with pytest.raises(TooFew, match="at least one comparison"):
        sequential_elo([], [], [], 3)
    with pytest.raises(TooFew, match="two shuffles"):
        averaged_elo([0], [1], [0], 2, shuffles=1, rng=rng())
    for bad in ({"k": 0}, {"k": np.nan}, {"scale": -1}, {"scale": np.inf}, {"start": np.nan}):
        with pytest.raises(BadValue):
            sequential_elo([0], [1], [0], 2, **bad)
    for order in ([1], [-1], [0.5], []):
        with pytest.raises(BadValue, match="row"):
            sequential_elo([0], [1], [0], 2, order=order)
