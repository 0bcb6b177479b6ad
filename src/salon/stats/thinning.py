"""What is lost when fewer pairs are compared: a study's own comparisons, thinned.

Of the pairs of items that were compared, a fraction is drawn at random and kept with all its answers, `repeats` times
for each fraction. Each time the scores are made anew, by Elo (many shuffled passes, as papers rank) and by
Bradley-Terry (posterior mode under q ~ N(0, prior^2), ties as half wins), and compared with those of the whole graph by
Spearman's (SRCC) and Pearson's (PLCC) correlation; the graph that is left is measured too.

Assumptions: none on the answers. Thinned and whole scores share answers, so the correlations say how much of *this*
study's order survives, not how near the order is to the truth: they rise to 1 whatever the noise. Elo depends on the
order of its passes: at fraction 1 it is run again with other shuffles, and what it then lacks to 1 is its own noise.

Edges: items that lose all their comparisons keep Elo's start and the prior's mean; a thinned graph in pieces has no
diameter (NaN); a correlation with scores that are all equal is NaN.
Source: PPaint section A.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from salon.errors import BadValue, TooFew
from salon.stats.elo import elo_scores
from salon.stats.graph import connectivity
from salon.stats.pair_counts import count_pairs
from salon.stats.pair_fit import fit_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_POINTS = np.array([1.0, 0.0, 0.5])  # of the first item, by outcome code
_PATHS = 2000  # items up to which the shortest paths of every thinned graph are measured


@dataclass(frozen=True, slots=True)
class Thinning:
    """Rows are fractions, columns repeats."""

    pairs: Ints
    """(fractions,) pairs that are kept."""
    judgments: Floats
    """Answers that are kept."""
    elo_srcc: Floats
    elo_plcc: Floats
    bt_srcc: Floats
    bt_plcc: Floats
    connected: NDArray[np.bool_]
    """Whether all items hang together."""
    diameter: Floats
    mean_path: Floats


def thin_comparisons(
    a: ArrayLike,
    b: ArrayLike,
    outcome: ArrayLike,
    items: int,
    *,
    fractions: Sequence[float],
    repeats: int,
    prior: float = 3.0,
    rng: np.random.Generator,
) -> Thinning:
    """Scores of thinned comparisons against those of all; outcome 0: a is better, 1: b, 2: tie."""
    first, second, code = (np.asarray(column, dtype=np.int64) for column in (a, b, outcome))
    whole = _scores(first, second, code, items, prior, rng)  # refuses what is no comparison
    _check(items, fractions, repeats)
    low, high = np.minimum(first, second), np.maximum(first, second)
    keys, pair = np.unique(low * items + high, return_inverse=True)
    sizes = np.array([max(1, round(fraction * len(keys))) for fraction in fractions])
    found = np.empty((len(sizes), repeats, 8))
    for row, size in enumerate(sizes):
        for column in range(repeats):
            kept = rng.permutation(len(keys))[:size]
            rows = np.isin(pair, kept)
            thin = _scores(first[rows], second[rows], code[rows], items, prior, rng)
            likeness = [of(*both) for both in zip(thin, whole) for of in (_srcc, _plcc)]
            found[row, column] = rows.sum(), *likeness, *_graph(items, keys[kept])
    parts = iter(np.moveaxis(found, 2, 0))
    return Thinning(
        pairs=sizes,
        judgments=next(parts),
        elo_srcc=next(parts),
        elo_plcc=next(parts),
        bt_srcc=next(parts),
        bt_plcc=next(parts),
        connected=next(parts) == 1,
        diameter=next(parts),
        mean_path=next(parts),
    )


def _check(items: int, fractions: Sequence[float], repeats: int) -> None:
    if items < 3:
        raise TooFew("a rank correlation needs at least 3 items", found=items)
    if not fractions or not all(0 < fraction <= 1 for fraction in fractions):
        raise BadValue("fractions above 0 and up to 1 are needed", found=list(fractions))
    if repeats < 1:
        raise TooFew("at least one draw of each fraction is needed", found=repeats)


def _scores(
    a: Ints, b: Ints, outcome: Ints, items: int, prior: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Elo and Bradley-Terry, rounded so that equal records are equal scores."""
    counts = count_pairs(a, b, outcome, items)
    return elo_scores(a, b, _POINTS[outcome], items, rng=rng), fit_pairs(counts, prior=prior).scores.round(8)


def _graph(items: int, keys: Ints) -> tuple[float, float, float]:
    """Connected (1 or 0), diameter and mean path (NaN where there is none)."""
    health = connectivity(items, np.column_stack([keys // items, keys % items]), paths=items <= _PATHS)
    diameter, mean_path = (np.nan if value is None else value for value in (health.diameter, health.mean_path))
    return float(health.connected), diameter, mean_path


def _srcc(x: Floats, y: Floats) -> float:
    return _plcc(rankdata(x), rankdata(y))


def _plcc(x: Floats, y: Floats) -> float:
    a, b = x - x.mean(), y - y.mean()
    length = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / length) if length > 0 else float("nan")
