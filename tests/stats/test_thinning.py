"""Thinned comparisons: by definition, by property, on simulated answers, at the edges."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from salon.errors import BadValue, TooFew
from salon.stats import connectivity, count_pairs, fit_pairs, thin_comparisons
from salon.stats.elo import elo_scores

RNG = np.random.default_rng


def answers(items=12, raters=3, seed=0, spread=2.0):
    """All pairs answered by all raters: a, b, outcome."""
    rng = RNG(seed)
    q = spread * rng.normal(size=items)
    a, b = (np.repeat(side, raters) for side in zip(*combinations(range(items), 2)))
    return a, b, (rng.random(len(a)) > expit(q[a] - q[b])).astype(int)


def test_one_draw_by_definition():
    """The same steps in the same order of chance, with scipy's correlations."""
    a, b, outcome = answers()
    found = thin_comparisons(a, b, outcome, 12, fractions=[0.5], repeats=1, prior=2.0, rng=RNG(3))
    rng = RNG(3)
    elo = elo_scores(a, b, 1.0 - outcome, 12, rng=rng)
    bt = fit_pairs(count_pairs(a, b, outcome, 12), prior=2.0).scores
    pairs = list(combinations(range(12), 2))
    kept = [pairs[k] for k in rng.permutation(66)[:33]]
    rows = np.array([pair in set(kept) for pair in zip(a.tolist(), b.tolist())])
    thin_elo = elo_scores(a[rows], b[rows], 1.0 - outcome[rows], 12, rng=rng)
    thin_bt = fit_pairs(count_pairs(a[rows], b[rows], outcome[rows], 12), prior=2.0).scores
    assert (found.pairs.tolist(), found.judgments.item()) == ([33], 99)
    assert found.elo_srcc.item() == pytest.approx(stats.spearmanr(thin_elo, elo).statistic)
    assert found.elo_plcc.item() == pytest.approx(stats.pearsonr(thin_elo, elo).statistic)
    assert found.bt_srcc.item() == pytest.approx(stats.spearmanr(thin_bt.round(8), bt.round(8)).statistic)
    assert found.bt_plcc.item() == pytest.approx(stats.pearsonr(thin_bt, bt).statistic)
    health = connectivity(12, kept)
    assert (found.connected.item(), found.diameter.item()) == (health.connected, health.diameter)
    assert found.mean_path.item() == pytest.approx(health.mean_path)


def test_the_whole_graph_is_itself_but_for_the_shuffles_of_elo():
    found = thin_comparisons(*answers(), 12, fractions=[1.0], repeats=3, rng=RNG(0))
    assert found.bt_srcc == pytest.approx(1.0)
    assert found.bt_plcc == pytest.approx(1.0)
    assert (found.elo_srcc > 0.97).all()
    assert (found.elo_plcc < 1).all()
    assert (found.diameter == 1).all()


def test_more_pairs_keep_more_of_the_order():
    found = thin_comparisons(*answers(20, 5), 20, fractions=[0.15, 0.4, 0.8], repeats=20, rng=RNG(1))
    for likeness in (found.elo_srcc, found.elo_plcc, found.bt_srcc, found.bt_plcc):
        assert (np.diff(likeness.mean(axis=1)) > 0).all()
    assert (np.diff(np.nanmean(found.mean_path, axis=1)) < 0).all()


def test_turning_a_pair_round_changes_nothing():
    a, b, outcome = answers(8, 1)
    turned = RNG(5).random(len(a)) < 0.5
    first, second = np.where(turned, b, a), np.where(turned, a, b)
    plain, other = (
        thin_comparisons(*table, 8, fractions=[0.6], repeats=2, rng=RNG(2))
        for table in ((a, b, outcome), (first, second, np.where(turned, 1 - outcome, outcome)))
    )
    assert other.bt_srcc == pytest.approx(plain.bt_srcc)
    assert other.elo_plcc == pytest.approx(plain.elo_plcc)


def test_pieces_and_equal_scores_are_not_numbers():
    found = thin_comparisons([0, 2, 1], [1, 3, 2], [2, 2, 2], 4, fractions=[0.34], repeats=2, rng=RNG(0))
    assert not found.connected.any()
    assert np.isnan(found.diameter).all()
    assert np.isnan(found.bt_srcc).all()  # ties only: every score is the same


def test_named_errors():
    table = answers(4, 1)
    with pytest.raises(BadValue, match="fractions"):
        thin_comparisons(*table, 4, fractions=[0.0], repeats=1, rng=RNG(0))
    with pytest.raises(TooFew, match="one draw"):
        thin_comparisons(*table, 4, fractions=[0.5], repeats=0, rng=RNG(0))
    with pytest.raises(TooFew, match="3 items"):
        thin_comparisons([0], [1], [0], 2, fractions=[0.5], repeats=1, rng=RNG(0))
    with pytest.raises(BadValue):
        thin_comparisons([0, 1], [1, 1], [0, 0], 3, fractions=[0.5], repeats=1, rng=RNG(0))
