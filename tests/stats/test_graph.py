"""Health of comparison graphs (stats/comparison_graph.py)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from salon.errors import BadValue, TooFew
from salon.stats import (
    balanced_pairs,
    comparison_graph,
    connectivity,
    count_pairs,
    counts_connectivity,
    counts_dominance,
    dominance,
)


def floyd_warshall(items: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    """All shortest paths, by the definition of going through one more item at a time."""
    d = np.full((items, items), np.inf)
    np.fill_diagonal(d, 0)
    for a, b in pairs:
        d[a, b] = d[b, a] = 1
    for k in range(items):
        d = np.minimum(d, d[:, k, None] + d[None, k, :])
    return d


# ----------------------------------------------------------------------------------------------- by hand
def test_a_path_of_four_by_hand():
    # 0-1-2-3: distances 1 1 1 2 2 3, mean 10/6; degrees 1 2 2 1, sd 1/2.
    got = connectivity(4, [(0, 1), (1, 2), (2, 3)])
    assert got.connected
    assert (got.edges, got.diameter) == (3, 3)
    assert got.mean_path == pytest.approx(10 / 6)
    assert (got.degree_min, got.degree_max, got.degree_mean) == (1, 2, 1.5)
    assert got.fraction == 0.5


def test_half_of_fifty_items_has_mean_path_1_5004():
    # Diameter 2: 612 pairs at distance 1, 613 at distance 2: (612 + 1226) / 1225 = 1.50041; never 1.47.
    got = connectivity(50, balanced_pairs(50, 612, rng=np.random.default_rng(1)))
    assert got.diameter == 2
    assert got.mean_path == pytest.approx(1838 / 1225, abs=1e-12)
    assert round(1838 / 1225, 4) == 1.5004


def test_who_beat_whom_by_hand():
    # 0 beats 1; 1, 2, 3 beat each other in a ring; 3 beats 4; 5 never plays.
    got = dominance(6, [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)])
    assert got.components == 4
    assert got.labels[1] == got.labels[2] == got.labels[3]
    assert (got.undefeated.tolist(), got.winless.tolist(), got.uncompared.tolist()) == ([0], [4], [5])
    assert not got.identified


def test_a_tie_goes_both_ways():
    assert not dominance(3, [(0, 1), (1, 2)]).identified
    assert dominance(3, [(0, 1), (1, 2)], ties=[(2, 0)]).identified


# ----------------------------------------------------------------------------- by definition, by property
@settings(max_examples=60)
@given(st.integers(2, 12), st.integers(0, 2**31))
def test_paths_equal_floyd_warshall_and_ignore_names_and_repeats(items, seed):
    rng = np.random.default_rng(seed)
    every = np.stack(np.triu_indices(items, 1), axis=1)
    pairs = every[rng.random(len(every)) < 0.4]
    got = connectivity(items, pairs)
    d = floyd_warshall(items, [tuple(p) for p in pairs])
    assert got.components == len(np.unique(np.isfinite(d), axis=0))
    if got.connected:
        assert got.diameter == d.max()
        assert got.mean_path == pytest.approx(d.sum() / (items * (items - 1)))
    else:
        assert got.diameter is None
        assert got.mean_path is None
    name = rng.permutation(items)
    again = connectivity(items, np.vstack([name[pairs], name[pairs][:, ::-1]]))
    for field in ("edges", "components", "diameter", "mean_path", "degree_min", "degree_max"):
        assert getattr(again, field) == getattr(got, field)


@settings(max_examples=60)
@given(st.integers(2, 8), st.integers(0, 2**31))
def test_strong_components_are_mutual_reach(items, seed):
    rng = np.random.default_rng(seed)
    a, b = np.triu_indices(items, 1)
    played = rng.random(a.size) < 0.7
    flip = rng.random(a.size) < 0.5
    wins = np.stack([np.where(flip, a, b), np.where(flip, b, a)], axis=1)[played]
    reach = np.eye(items, dtype=bool)
    reach[wins[:, 0], wins[:, 1]] = True
    for _ in range(items):
        reach = reach | (reach.astype(int) @ reach.astype(int) > 0)
    got = dominance(items, wins)
    assert np.array_equal(got.labels[:, None] == got.labels[None, :], reach & reach.T)
    turned = dominance(items, wins[:, ::-1])
    assert turned.components == got.components
    assert np.array_equal(turned.undefeated, got.winless)


@settings(max_examples=60)
@given(st.integers(2, 8), st.integers(1, 30), st.integers(0, 2**31))
def test_counts_say_what_pairs_say(items, votes, seed):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, items, votes)
    b = (a + rng.integers(1, items, votes)) % items
    won = rng.integers(0, 3, votes)
    counts, pairs = count_pairs(a, b, won, items), np.stack([a, b], axis=1)
    wins = np.vstack([pairs[won == 0], pairs[won == 1][:, ::-1]])
    order, same = counts_dominance(counts), dominance(items, wins, pairs[won == 2])
    for field in ("components", "identified"):
        assert getattr(order, field) == getattr(same, field)
    for field in ("labels", "undefeated", "winless", "uncompared"):
        assert np.array_equal(getattr(order, field), getattr(same, field))
    met, seen = counts_connectivity(counts), connectivity(items, pairs)
    assert np.array_equal(met.labels, seen.labels)
    for field in (
        "edges",
        "fraction",
        "components",
        "degree_min",
        "degree_max",
        "degree_mean",
        "diameter",
        "mean_path",
    ):
        assert getattr(met, field) == getattr(seen, field)


def test_paths_in_blocks_equal_one_block():
    # 700 items exceed one block of sources; a ring of N has diameter N/2 and mean path N²/4/(N-1).
    ring = np.stack([np.arange(700), (np.arange(700) + 1) % 700], axis=1)
    got = connectivity(700, ring)
    assert got.diameter == 350
    assert got.mean_path == pytest.approx(700**2 / 4 / 699)
    assert connectivity(700, ring, paths=False).diameter is None


# --------------------------------------------------------------------------------------------- at the edge
def test_islands_and_empty_designs_are_told():
    assert connectivity(5, []).components == 5
    assert connectivity(5, []).degree_max == 0
    assert connectivity(4, [(0, 1), (2, 3)]).labels.tolist() == [0, 0, 1, 1]
    assert dominance(3, []).uncompared.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("items", "pairs", "error"),
    [(1, [], TooFew), (3, [(0, 3)], BadValue), (3, [(-1, 0)], BadValue), (3, [(1, 1)], BadValue)],
)
def test_wrong_pairs_are_named(items, pairs, error):
    with pytest.raises(error):
        connectivity(items, pairs)
    with pytest.raises(error):
        dominance(items, pairs)


def test_a_dense_graph_is_measured_at_a_glance_and_alike(monkeypatch):
    """Half of all pairs of 60 items: the product of matrices and the search give the same paths."""
    rng = np.random.default_rng(8)
    pairs = np.argwhere(np.triu(rng.random((60, 60)) < 0.5, 1))
    walked = connectivity(60, pairs)
    monkeypatch.setattr(comparison_graph, "_MUCH_WALKING", 0)
    assert (walked.diameter, walked.mean_path) == (2, pytest.approx(2 - len(pairs) / 1770))
    seen = connectivity(60, pairs)
    assert (seen.diameter, seen.mean_path) == (walked.diameter, pytest.approx(walked.mean_path))
    chain = np.stack([np.arange(59), np.arange(1, 60)], axis=1)
    assert connectivity(60, chain).diameter == 59
