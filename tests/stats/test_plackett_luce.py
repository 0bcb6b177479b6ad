"""Plackett-Luce: by hand, by definition, against choix and Bradley-Terry, by property, by recovery, at the edge."""

import itertools

import choix
import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.stats import t as student

import salon.stats.plackett_luce as module
from salon.errors import BadValue, NotConverged, NotIdentified, TooFew
from salon.stats import count_pairs, fit_pairs, fit_rankings, independent_errors, ranking_errors


def flat(rows, ranks=None):
    """Lists of items, best first, as the kernel's arrays; places 1, 2, ... unless ranks are given."""
    lengths = np.array([len(row) for row in rows])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(1, offsets[-1] + 1) - np.repeat(offsets[:-1], lengths)
    return offsets, np.concatenate(rows), places if ranks is None else np.concatenate(ranks)


def draw(q, sets, rng):
    """A strict ranking of each row of sets: sorting by score plus Gumbel noise is Plackett-Luce."""
    return np.take_along_axis(sets, np.argsort(-(q[sets] + rng.gumbel(size=sets.shape)), axis=1), axis=1)


def subsets(items, size, count, rng):
    return np.argsort(rng.random((count, items)), axis=1)[:, :size]


def log_chance(q, order):
    return sum(q[i] - np.log(np.exp(q[order[s:]]).sum()) for s, i in enumerate(order))


def asymmetric(seed=0, items=9, count=120):
    rng = np.random.default_rng(seed)
    q = np.linspace(-1.5, 1.5, items) ** 3
    return [draw(q, subsets(items, rng.integers(2, 6), 1, rng), rng)[0].tolist() for _ in range(count)]


CYCLE = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1]]


def test_by_hand():
    # a > b three times, b > a once: odds 3, so q_a - q_b = log 3 and, centred, +-log(3)/2.
    fit = fit_rankings(*flat([[0, 1]] * 3 + [[1, 0]]), 2)
    np.testing.assert_allclose(fit.scores, [np.log(3) / 2, -np.log(3) / 2])
    assert fit.log_likelihood == pytest.approx(3 * np.log(3 / 4) + np.log(1 / 4))
    # Information of q_a - q_b: 4 * 3/4 * 1/4 = 3/4. Slopes: 1/4 three times, -3/4 once; squares sum to 3/4.
    # Variance of the difference: (3/4) / (3/4)^2 * 4/3 = 16/9; each centred score has a quarter of it: se 2/3.
    np.testing.assert_allclose(ranking_errors(fit).se, 2 / 3)
    assert ranking_errors(fit).df == 3
    # All six orders of three items once: nothing tells them apart, and each has chance 1/3 * 1/2.
    even = fit_rankings(*flat(list(itertools.permutations(range(3)))), 3)
    np.testing.assert_allclose(even.scores, 0, atol=1e-12)
    assert even.log_likelihood == pytest.approx(6 * np.log(1 / 6))


def test_definition_and_slopes():
    rows = asymmetric(1, items=6, count=60)
    fit = fit_rankings(*flat(rows), 6, prior=2.0)

    def minus(q):
        return q @ q / 8 - sum(log_chance(q, np.array(row)) for row in rows)

    best = minimize(minus, np.zeros(6), tol=1e-10)
    np.testing.assert_allclose(fit.scores, best.x, atol=1e-5)
    assert fit.log_likelihood == pytest.approx(sum(log_chance(fit.scores, np.array(row)) for row in rows))
    q = np.random.default_rng(2).normal(size=6)
    value, slope = fit.runs.slopes(q)
    np.testing.assert_allclose(fit.runs.gradient(slope), -approx_fprime(q, minus) + q / 4, atol=1e-4)
    numeric = [
        (fit.runs.gradient(fit.runs.slopes(q + h)[1]) - fit.runs.gradient(slope)) / 1e-6 for h in 1e-6 * np.eye(6)
    ]
    np.testing.assert_allclose(fit.runs.information(q), -np.array(numeric), atol=1e-4)
    v = np.arange(6.0)
    np.testing.assert_allclose(fit.runs.information_times(q, v), fit.runs.information(q) @ v)
    np.testing.assert_allclose(fit.runs.information_diagonal(q), np.diag(fit.runs.information(q)))
    assert np.isfinite(value)


@pytest.mark.parametrize(
    "peer",
    [
        lambda rows: choix.ilsr_rankings(6, rows, tol=1e-12),
        lambda rows: choix.mm_rankings(6, rows, tol=1e-12),
        lambda rows: choix.opt_rankings(6, rows, alpha=0, tol=1e-12),
    ],
)
def test_choix_agrees(peer):
    rows = asymmetric(items=6, count=80)
    theirs = peer(rows)
    np.testing.assert_allclose(fit_rankings(*flat(rows), 6).scores, theirs - theirs.mean(), atol=1e-6)


def test_choix_agrees_under_a_prior():
    rows = asymmetric(3)  # choix penalises alpha |q|^2: alpha = 1 / (2 sd^2)
    peer = choix.opt_rankings(9, rows, alpha=1 / 8, tol=1e-12)
    np.testing.assert_allclose(fit_rankings(*flat(rows), 9, prior=2).scores, peer, atol=1e-6)


def test_two_items_are_bradley_terry_ties_included():
    rng = np.random.default_rng(4)
    pairs = subsets(7, 2, 300, rng)
    tied = rng.random(300) < 0.3
    fit = fit_rankings(*flat(pairs, np.where(tied[:, None], 1, [1, 2])), 7)
    counts = count_pairs(pairs[:, 0], pairs[:, 1], np.where(tied, 2, 0), 7)
    pair_fit = fit_pairs(counts)
    np.testing.assert_allclose(fit.scores, pair_fit.scores, atol=1e-8)
    assert fit.log_likelihood == pytest.approx(pair_fit.log_likelihood)
    assert fit.ties == tied.sum()
    same = independent_errors(pair_fit, counts).covariance * 300 / 299
    np.testing.assert_allclose(ranking_errors(fit).covariance, same, atol=1e-8)


@pytest.mark.parametrize("ranks", [[1, 1, 2, 3, 4], [1, 2, 2, 2, 3], [1, 1, 2, 3, 3], [1, 2, 3, 3, 3], [1, 1, 1, 2, 2]])
def test_equal_ranks_are_the_average_of_their_orders(ranks):
    fit = fit_rankings(*flat([range(5)], [ranks]), 5, prior=1)
    q = np.array([0.3, -1.0, 0.8, 0.1, -0.4])
    orders = [o for o in itertools.permutations(range(5)) if (np.diff(np.array(ranks)[list(o)]) >= 0).all()]
    assert fit.runs.slopes(q)[0] == pytest.approx(np.mean([log_chance(q, np.array(o)) for o in orders]))


def test_many_tied_are_nearly_the_average_of_their_orders():
    q = np.array([0.3, -1.0, 0.8, 0.1, -0.4, 1.2])
    runs = fit_rankings(*flat([range(6)] * 50, [[1] * 5 + [2]] * 50), 6, prior=1).runs
    exact = np.mean([log_chance(q, np.array([*o, 5])) for o in itertools.permutations(range(5))])
    assert len(runs.stages) == 50 * 10
    assert runs.slopes(q)[0] / 50 == pytest.approx(exact, abs=0.005)


def test_the_listing_of_tied_items_hardly_matters():
    rng = np.random.default_rng(11)
    rows = draw(np.linspace(-1.5, 1.5, 12), subsets(12, 8, 800, rng), rng)
    listed = np.concatenate([np.sort(rows[:, :6]), rows[:, 6:]], axis=1)  # the six tied items in order of truth
    ranks = [[1] * 6 + [2, 3]] * 800
    one, other = (fit_rankings(*flat(data, ranks), 12) for data in (rows, listed))
    assert (np.abs(one.scores - other.scores) / ranking_errors(one).se).max() < 0.25


def test_ties_that_hide_an_order_shrink_scores_less_than_breslow_and_efron():
    """Places 1-2, 3-4, 5-6 of strict rankings are reported as tied: the bias of three treatments of ties."""
    rng = np.random.default_rng(5)
    truth = np.linspace(-1.5, 1.5, 8)
    rows = draw(truth, subsets(8, 6, 3000, rng), rng)
    fit = fit_rankings(*flat(rows, [[1, 1, 2, 2, 3, 3]] * 3000), 8)

    def slope_of(share):
        """Slope of scores on truth; `share` of a tied pair is gone at its second choice (0: Breslow, .5: Efron)."""

        def minus(q):
            e = np.exp(q[rows])
            below = np.cumsum(e[:, ::-1], axis=1)[:, ::-1]
            first, pair = below[:, ::2], e[:, ::2] + e[:, 1::2]
            return (np.log(first) + np.log(first - share * pair)).sum() - q[rows].sum()

        return np.polyfit(truth, minimize(minus, np.zeros(8)).x, 1)[0]

    ours, breslow, efron = np.polyfit(truth, fit.scores, 1)[0], slope_of(0), slope_of(0.5)
    assert breslow < efron < ours < 1
    np.testing.assert_allclose([breslow, efron, ours], [0.63, 0.73, 0.83], atol=0.03)


def test_labels_do_not_matter_and_a_duplicate_is_a_weight():
    rows = asymmetric(6)
    base = fit_rankings(*flat(rows), 9)
    swap = np.random.default_rng(7).permutation(9)
    moved = fit_rankings(*flat([swap[row] for row in rows]), 9)
    np.testing.assert_allclose(moved.scores[swap], base.scores, atol=1e-9)
    twice = fit_rankings(*flat(rows + rows[:50]), 9)
    weight = np.where(np.arange(len(rows)) < 50, 2.0, 1.0)
    np.testing.assert_allclose(fit_rankings(*flat(rows), 9, weight=weight).scores, twice.scores, atol=1e-9)
    again = ranking_errors(fit_rankings(*flat(rows + rows), 9), cluster=list(range(120)) * 2)
    np.testing.assert_allclose(again.se, ranking_errors(base).se, rtol=1e-9)


def test_one_more_win_never_hurts():
    rows = asymmetric(8)
    base, better = (fit_rankings(*flat(data), 9).scores for data in (rows, [*rows, [4, 7]]))
    assert np.delete((better[4] - better) - (base[4] - base), 4).min() > 0


def test_conjugate_gradients_find_the_same(monkeypatch):
    dense = fit_rankings(*flat(asymmetric()), 9)
    monkeypatch.setattr(module, "_DENSE", 2)
    np.testing.assert_allclose(fit_rankings(*flat(asymmetric()), 9).scores, dense.scores, atol=1e-9)
    loose = fit_rankings(*flat(asymmetric()), 9, prior=1.0)
    monkeypatch.undo()
    np.testing.assert_allclose(loose.scores, fit_rankings(*flat(asymmetric()), 9, prior=1.0).scores, atol=1e-9)


def panel(rng, raters, taste, each=5):
    """Each rater ranks `each` sets of 4 of 8 items, with tastes that stray from the common scores by sd `taste`."""
    own = np.linspace(-1, 1, 8) + taste * rng.normal(size=(raters, 1, 8))
    sets = subsets(8, 4, raters * each, rng).reshape(raters, each, 4)
    scores = np.take_along_axis(np.broadcast_to(own, (raters, each, 8)), sets, axis=2)
    places = np.argsort(-(scores + rng.gumbel(size=scores.shape)), axis=2)
    return np.take_along_axis(sets, places, axis=2).reshape(-1, 4)


def coverage(seed, errors_of, *, taste=0.0, studies=120, raters=40):
    """Share of 95% intervals that hold the score which a panel without end would give."""
    rng = np.random.default_rng(seed)
    truth = fit_rankings(*flat(panel(rng, 100_000, taste, each=1)), 8).scores
    held = []
    for _ in range(studies):
        rows = panel(rng, raters, taste)
        fit = fit_rankings(*flat(rows), 8)
        errors = errors_of(fit, rows, np.repeat(np.arange(raters), 5))
        held.append(np.abs(fit.scores - truth) <= student.ppf(0.975, errors.df) * errors.se)
    return float(np.mean(held))


def broken(fit, rows, _):
    """Rank breaking: the six pairs of a ranking as if independent, their errors by the pair models."""
    pairs = np.concatenate([rows[:, [i, j]] for i, j in itertools.combinations(range(4), 2)])
    counts = count_pairs(pairs[:, 0], pairs[:, 1], np.zeros(len(pairs), int), 8)
    return independent_errors(fit_pairs(counts), counts)


def test_intervals_cover_and_rank_breaking_does_not():
    assert coverage(9, lambda fit, rows, _: ranking_errors(fit)) == pytest.approx(0.95, abs=0.02)
    assert coverage(9, broken) < 0.91


def test_raters_with_tastes_of_their_own_need_clusters():
    clustered = coverage(10, lambda fit, rows, rater: ranking_errors(fit, cluster=rater), taste=1.2)
    alone = coverage(10, lambda fit, rows, rater: ranking_errors(fit), taste=1.2)
    assert clustered == pytest.approx(0.95, abs=0.02)
    assert alone < 0.88


def test_edges():
    with pytest.raises(NotIdentified, match=r"undefeated.*items 0"):
        fit_rankings(*flat([[0, 1, 2], [0, 2, 1]]), 3)
    with pytest.raises(NotIdentified, match="not compared: items 3"):
        fit_rankings(*flat(CYCLE), 4)
    with pytest.raises(NotIdentified, match="islands"):
        fit_rankings(*flat([[0, 1], [1, 0], [2, 3], [3, 2]]), 4)
    with pytest.raises(TooFew):
        fit_rankings([0], [], [], 3)
    with pytest.raises(TooFew):
        fit_rankings(*flat([[0]]), 1)
    with pytest.raises(BadValue, match="at least 2 items"):
        fit_rankings(*flat([[0, 1], [2]]), 3)
    with pytest.raises(BadValue, match="only once"):
        fit_rankings(*flat([[0, 1], [2, 1, 2]]), 3)
    with pytest.raises(BadValue, match="numbered"):
        fit_rankings(*flat([[0, 3]]), 3)
    with pytest.raises(NotConverged):
        fit_rankings(*flat(CYCLE), 3, max_iterations=1)


@pytest.mark.parametrize(("ranks", "where"), [([1, 3, 2], "ranking 1"), ([1, np.nan, 3], "ranking 1")])
def test_ranks_must_rise(ranks, where):
    with pytest.raises(BadValue, match="best first") as error:
        fit_rankings(*flat([[0, 1], [0, 1, 2]], [[1, 2], ranks]), 3)
    assert error.value.where == where


@pytest.mark.parametrize("weight", [[1, 0, 1, 1], [1, -1, 1, 1], [1, np.nan, 1, 1], [1, 1]])
def test_weights_must_be_positive(weight):
    with pytest.raises(BadValue, match="weight"):
        fit_rankings(*flat(CYCLE), 3, weight=weight)


def test_a_prior_serves_every_graph():
    fit = fit_rankings(*flat([[0, 1, 2], [0, 2, 1]]), 4, prior=3)
    assert fit.scores[0] > fit.scores[3] > fit.scores[1] == pytest.approx(fit.scores[2])
    assert fit.scores.mean() == pytest.approx(0, abs=1e-12)
    with pytest.raises(BadValue, match="prior"):
        fit_rankings(*flat(CYCLE), 3, prior=0)


def test_only_ties_are_all_equal():
    np.testing.assert_allclose(fit_rankings(*flat([[0, 1, 2]], [[1, 1, 1]]), 3).scores, 0)


def test_errors_need_clusters():
    fit = fit_rankings(*flat(CYCLE), 3)
    with pytest.raises(TooFew, match="2 independent clusters"):
        ranking_errors(fit, cluster=[5, 5, 5, 5])
    with pytest.raises(BadValue, match="one cluster for each"):
        ranking_errors(fit, cluster=[0, 1])
    lonely = fit_rankings(*flat([*CYCLE, [0, 3, 1]]), 4)
    with pytest.raises(TooFew, match="every item") as error:
        ranking_errors(lonely)
    assert error.value.found == "items in one cluster: 3"
