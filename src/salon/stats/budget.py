"""How many of all pairs must be compared? Simulated studies, and a study's own comparisons, thinned.

A study has N items with true strengths q ~ N(0, spread²) on the log-odds scale; each of R raters answers every
pair, P(i beats j) = 1 / (1 + exp(q_j - q_i)). The full design (all N(N-1)/2 pairs) gives reference scores. A
thinned design keeps some pairs with all their votes, refits, and is compared by Spearman's rank correlation
(SRCC) with the reference and with the truth. The first shares votes with its reference, as in any subsampling
study, so it is the higher of the two: quote both.

Assumptions: no ties, no position bias, one strength per item. Scores are posterior modes of Bradley-Terry under
q ~ N(0, 3²), a weak prior that keeps undefeated items finite and leaves ranks nearly untouched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, stdtrit

from salon.errors import BadValue, DesignError, TooFew
from salon.stats.comparison_graph import connectivity
from salon.stats.comparisons import PairCounts, count_pairs
from salon.stats.elo import elo_scores
from salon.stats.intervals import with_width
from salon.stats.jit import compiled
from salon.stats.pair_fit import fit_pairs
from salon.stats.result import Estimate, described, result

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BUDGET_FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)

_PRIOR_SD = 3.0
_OVER = ("simulated studies", "t interval of the mean")


@result
class BudgetRow:
    """One thinned design, averaged over simulated studies."""

    fraction: float = described("Share of all pairs that is compared.")
    pairs: int = described("Pairs that are compared.")
    judgments: int = described("Comparisons in all: pairs times raters.")
    to_full: Estimate = described("Rank correlation (SRCC) of its scores with the full design's.")
    to_truth: Estimate = described("Rank correlation of its scores with the true scores.")
    connected: bool = described("Is every item linked to every other in all simulated designs?")
    diameter: float = described("Longest shortest path between two items, mean over designs.")
    mean_path: float = described("Mean shortest path between two items.")


def balanced_pairs(items: int, pairs: int, *, rng: np.random.Generator) -> Ints:
    """A random connected design of `pairs` different pairs, (pairs, 2), with near-equal numbers for each item.

    A random cycle through all items (a path when pairs = items - 1), then one pair at a time: an item with the
    fewest partners so far meets the new partner who has the fewest, ties by lot. Degrees differ by 2 at most
    for sparse designs, by more only where few pairs are left to choose from.
    """
    if items < 3:
        raise TooFew("a thinned design needs at least 3 items", found=items)
    everything = items * (items - 1) // 2
    if not items - 1 <= pairs <= everything:
        raise DesignError(
            f"{items} items need between {items - 1} pairs (one path) and {everything} (all)",
            found=pairs,
            remedy="raise the fraction, or compare fewer items",
        )
    order = rng.permutation(items)
    start = np.stack([order, np.roll(order, -1)], axis=1)[: min(pairs, items)]
    met = np.eye(items, dtype=np.bool_)
    met[start[:, 0], start[:, 1]] = met[start[:, 1], start[:, 0]] = True
    grown: Ints = _grow(met, pairs - len(start), rng)
    return np.sort(np.vstack([start, grown]), axis=1)


def comparison_budget(
    items: int,
    raters: int,
    spread: float,
    *,
    fractions: Sequence[float] | None = None,
    studies: int = 200,
    rng: np.random.Generator,
) -> tuple[BudgetRow, ...]:
    """One row for each fraction of all pairs; every fraction thins the same simulated studies.

    Default: those of 10%, 20%, ... 80% that hold enough pairs to connect the items.
    """
    everything = items * (items - 1) // 2
    shares = [f for f in BUDGET_FRACTIONS if f * everything >= items - 1] if fractions is None else fractions
    sizes = [round(f * everything) for f in shares]
    return _simulate_rows(_SimulatedStudy(items, raters, spread), sizes, studies, int(rng.integers(2**63)))


def smallest_fraction(
    target: float, items: int, raters: int, spread: float, *, studies: int = 200, rng: np.random.Generator
) -> BudgetRow:
    """The thinnest design whose mean SRCC to the full design reaches `target`, to half a percent of all pairs.

    Bisection between a path and the full design, on the same simulated studies at each step; the mean SRCC
    rises with the number of pairs but for Monte Carlo error.
    """
    if not 0 < target < 1:
        raise BadValue("a rank correlation between 0 and 1 is needed as target", found=target)
    study, seed = _SimulatedStudy(items, raters, spread), int(rng.integers(2**63))
    low, high = items - 1, items * (items - 1) // 2
    resolution = max(1, high // 200)
    best = _simulate_rows(study, [high], studies, seed)[0]
    while high - low > resolution:
        middle = (low + high) // 2
        row = _simulate_rows(study, [middle], studies, seed)[0]
        if row.to_full.value >= target:
            best, high = row, middle
        else:
            low = middle
    return best


@dataclass(frozen=True, slots=True)
class _SimulatedStudy:
    items: int
    raters: int
    spread: float

    def __post_init__(self) -> None:
        if self.items < 3 or self.raters < 1:
            raise TooFew("at least 3 items and 1 rater are needed", found=f"{self.items} items, {self.raters} raters")
        if not (np.isfinite(self.spread) and self.spread > 0):
            raise BadValue("a spread of true strengths above 0 is needed", found=self.spread)

    def votes(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """True strengths, and how often i beat j, (N, N)."""
        q = self.spread * rng.standard_normal(self.items)
        above = np.triu(rng.binomial(self.raters, expit(q[:, None] - q[None, :])), 1)
        below = np.tril(self.raters - above.T, -1)
        return q, (above + below).astype(np.float64)


def _simulate_rows(study: _SimulatedStudy, sizes: Sequence[int], studies: int, seed: int) -> tuple[BudgetRow, ...]:
    if studies < 2:
        raise TooFew("an interval needs at least 2 simulated studies", found=studies)
    rng = np.random.default_rng(seed)
    measures = np.empty((len(sizes), studies, 5))  # SRCC to full, SRCC to truth, components, diameter, mean path
    for s in range(studies):
        q, wins = study.votes(rng)
        full = _bradley_terry(wins)
        for k, size in enumerate(sizes):
            pairs = balanced_pairs(study.items, size, rng=rng)
            health = connectivity(study.items, pairs)
            compared = np.zeros((study.items, study.items), dtype=np.bool_)
            compared[pairs[:, 0], pairs[:, 1]] = compared[pairs[:, 1], pairs[:, 0]] = True
            score = _bradley_terry(wins * compared)
            paths = health.components, health.diameter, health.mean_path
            measures[k, s] = _srcc(score, full), _srcc(score, q), *paths
    return tuple(_budget_row(study, size, measures[k]) for k, size in enumerate(sizes))


def _budget_row(study: _SimulatedStudy, size: int, measures: Floats) -> BudgetRow:
    return BudgetRow(
        fraction=size / (study.items * (study.items - 1) // 2),
        pairs=size,
        judgments=size * study.raters,
        to_full=mean_of_simulations(measures[:, 0], *_OVER),
        to_truth=mean_of_simulations(measures[:, 1], *_OVER),
        connected=bool(np.all(measures[:, 2] == 1)),
        diameter=float(measures[:, 3].mean()),
        mean_path=float(measures[:, 4].mean()),
    )


def mean_of_simulations(values: Floats, unit: str, method: str) -> Estimate:
    """The mean of simulated values with its 95% t interval, where they differ."""
    n = values.size
    half = float(stdtrit(n - 1, 0.975) * values.std(ddof=1) / np.sqrt(n))
    value = float(values.mean())
    return with_width(Estimate(value, value - half, value + half, n, unit, method=method))


def _bradley_terry(wins: Floats) -> Floats:
    """Posterior mode under q ~ N(0, 3²) of a table of wins (N, N), rounded so that equal records are equal scores."""
    i, j = np.nonzero(np.triu(wins + wins.T))
    counts = PairCounts(len(wins), i, j, wins[i, j], wins[j, i], np.zeros(len(i)))
    return fit_pairs(counts, prior=_PRIOR_SD, tolerance=1e-12).scores.round(10)


@compiled
def _grow(met: NDArray[np.bool_], pairs: int, rng: np.random.Generator) -> Ints:
    """`pairs` more pairs, each of an item with the fewest partners and its least-met stranger, ties by lot."""
    items = len(met)
    degree = met.sum(axis=1)
    grown = np.empty((pairs, 2), np.int64)
    for k in range(pairs):
        chosen = np.full(2, -1)
        for side in range(2):
            ties = 0
            for i in range(items):
                if degree[i] == items or (side == 1 and met[chosen[0], i]):
                    continue
                if ties == 0 or degree[i] < degree[chosen[side]]:
                    chosen[side], ties = i, 1
                elif degree[i] == degree[chosen[side]]:
                    ties += 1
                    if rng.random() * ties < 1:
                        chosen[side] = i
        a, b = chosen
        met[a, b] = met[b, a] = True
        degree[a] += 1
        degree[b] += 1
        grown[k] = chosen
    return grown


# -- a study's own comparisons -----------------------------------------------------------------------------------------


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
    """Scores of thinned comparisons against those of all; outcome 0: a is better, 1: b, 2: tie.

    What is lost when fewer pairs are compared: a study's own comparisons, thinned.

    Of the pairs of items that were compared, a fraction is drawn at random and kept with all its answers, `repeats`
    times for each fraction. Each time the scores are made anew, by Elo (many shuffled passes, as papers rank) and by
    Bradley-Terry (posterior mode under q ~ N(0, prior^2), ties as half wins), and compared with those of the whole
    graph by Spearman's (SRCC) and Pearson's (PLCC) correlation; the graph that is left is measured too.

    Assumptions: none on the answers. Thinned and whole scores share answers, so the correlations say how much of *this*
    study's order survives, not how near the order is to the truth: they rise to 1 whatever the noise. Elo depends on
    the order of its passes: at fraction 1 it is run again with other shuffles, and what it then lacks to 1 is its own
    noise.

    Edges: items that lose all their comparisons keep Elo's start and the prior's mean; a thinned graph in pieces has no
    diameter (NaN); a correlation with scores that are all equal is NaN.
    Source: PPaint section A.3.
    """
    first, second, code = (np.asarray(column, dtype=np.int64) for column in (a, b, outcome))
    whole = _elo_and_bradley_terry(first, second, code, items, prior, rng)  # refuses what is no comparison
    if items < 3:
        raise TooFew("a rank correlation needs at least 3 items", found=items)
    if not fractions or not all(0 < fraction <= 1 for fraction in fractions):
        raise BadValue("fractions above 0 and up to 1 are needed", found=list(fractions))
    if repeats < 1:
        raise TooFew("at least one draw of each fraction is needed", found=repeats)
    low, high = np.minimum(first, second), np.maximum(first, second)
    keys, pair = np.unique(low * items + high, return_inverse=True)
    sizes = np.array([max(1, round(fraction * len(keys))) for fraction in fractions])
    measures = np.empty((len(sizes), repeats, 8))
    for row, size in enumerate(sizes):
        for column in range(repeats):
            pairs_left = rng.permutation(len(keys))[:size]
            rows = np.isin(pair, pairs_left)
            thin = _elo_and_bradley_terry(first[rows], second[rows], code[rows], items, prior, rng)
            likeness = [of(*both) for both in zip(thin, whole) for of in (_srcc, _plcc)]
            measures[row, column] = rows.sum(), *likeness, *_graph_health(items, keys[pairs_left])
    parts = iter(np.moveaxis(measures, 2, 0))
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


def _elo_and_bradley_terry(
    a: Ints, b: Ints, outcome: Ints, items: int, prior: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Elo and Bradley-Terry, rounded so that equal records are equal scores."""
    counts = count_pairs(a, b, outcome, items)
    return elo_scores(a, b, _POINTS[outcome], items, rng=rng), fit_pairs(counts, prior=prior).scores.round(8)


def _graph_health(items: int, keys: Ints) -> tuple[float, float, float]:
    """Connected (1 or 0), diameter and mean path (NaN where there is none)."""
    health = connectivity(items, np.column_stack([keys // items, keys % items]), paths=items <= _PATHS)
    diameter, mean_path = (np.nan if value is None else value for value in (health.diameter, health.mean_path))
    return float(health.connected), diameter, mean_path


def _srcc(x: Floats, y: Floats) -> float:
    """Spearman's rank correlation: Pearson's on average ranks."""
    from scipy.stats import rankdata

    return _plcc(rankdata(x), rankdata(y))


def _plcc(x: Floats, y: Floats) -> float:
    a, b = x - x.mean(), y - y.mean()
    length = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / length) if length > 0 else float("nan")
