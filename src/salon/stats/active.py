"""Which pairs should be compared next? Those whose answers are expected to tell most about the order.

Model. The scores q of a comparison study have an approximate normal posterior: its mean is the mode of Bradley-Terry
under a normal prior, its covariance the inverse of the information there (Laplace). A difference d = q_i - q_j is then
N(m, v) with v = C_ii + C_jj - 2 C_ij, and a comparison of i and j is expected to tell

    I = H(E[S(d)]) - E[H(S(d))]   nats,     H(p) = -p ln p - (1-p) ln(1-p),  S the logistic function,

the mutual information of the answer and d, by the trapezoidal rule on steps of at most 2 logits (off by less than 2e-4;
Gauss-Hermite of that size is worse, as S(d) has poles near the real line). One formula for each pair replaces the
posterior recomputed for each pair and answer.

Batch. Pairs are asked in parallel, and the n - 1 best pairs would circle around few items. A maximum spanning tree of
the gains holds every item, keeps the graph connected and has the highest total gain of all trees. A smaller batch takes
the best pairs of the tree; a larger one takes further trees, in which the gain of a pair counts half for each time it
was chosen already. Equal gains (no answers yet) are broken at random: the first batch is a random tree.

What it buys is the order. The scores themselves need not be closer than after as many random pairs: where they differ
little beside the prior they were further off in simulations (docs/methods/bridge.md).

Edges. Ties count as half wins, as in the fit. Up to 5,000 items (a dense covariance). An active design is adaptive: the
study's design must say so, and no test of random raters applies to its answers.

Source: Lindley 1956; Mikhailiuk et al. 2020 (ASAP: expected information for each pair, spanning trees as batches).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

from salon.errors import BadValue, TooFew
from salon.stats.compiled import compiled
from salon.stats.pair_counts import PairCounts
from salon.stats.pair_errors import hessian_errors
from salon.stats.pair_fit import fit_pairs
from salon.stats.pair_information import DENSE_ITEMS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_REACH = 5.5  # standard deviations


@dataclass(frozen=True, slots=True)
class PairPosterior:
    """A normal posterior of scores; only differences of scores count."""

    scores: Floats
    covariance: Floats


def prior_posterior(items: int, *, prior: float = 3.0) -> PairPosterior:
    """What is known before the first answer: independent scores with standard deviation `prior`."""
    _check_items(items)
    return PairPosterior(np.zeros(items), prior**2 * np.eye(items))


def pair_posterior(counts: PairCounts, *, prior: float = 3.0) -> PairPosterior:
    """The posterior after the counted answers, by Laplace's approximation at the mode of Bradley-Terry."""
    _check_items(counts.items)
    fit = fit_pairs(counts, prior=prior)
    covariance = hessian_errors(fit, counts).covariance
    assert covariance is not None  # there is one up to DENSE_ITEMS
    return PairPosterior(fit.scores, covariance)


def next_pairs(posterior: PairPosterior, *, rng: np.random.Generator, batch: int | None = None) -> Ints:
    """(batch, 2) the next pairs to compare, the most telling first; `batch` None: one spanning tree of n - 1 pairs."""
    n = len(posterior.scores)
    _check_items(n)
    wanted = n - 1 if batch is None else batch
    if wanted < 1:
        raise BadValue("a batch holds at least one pair", found=wanted)
    gains = pair_gains(posterior.scores, posterior.covariance)
    trees: list[Ints] = []
    while len(trees) * (n - 1) < wanted:
        trees.append(_best_tree(gains, rng))
        gains[trees[-1][:, 0], trees[-1][:, 1]] /= 2
    return np.concatenate(trees)[:wanted]


def pair_gains(scores: ArrayLike, covariance: ArrayLike) -> Floats:
    """(n, n) expected information of comparing i with j, in nats, for i < j; zero elsewhere."""
    q, c = np.asarray(scores, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if c.shape != (len(q), len(q)) or not (np.isfinite(q).all() and np.isfinite(c).all()):
        raise BadValue("finite scores (n,) and their covariance (n, n) are needed", found=f"{q.shape} and {c.shape}")
    gains = np.zeros_like(c)
    widest = 2 * np.sqrt(c.diagonal().max(initial=0.0))
    nodes = np.linspace(-_REACH, _REACH, max(13, int(_REACH * widest) + 2))
    _gains(q, c, nodes, np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum(), gains)
    return gains


def _check_items(items: int) -> None:
    if items < 2:
        raise TooFew("pairs need at least 2 items", found=items)
    if items > DENSE_ITEMS:
        raise BadValue(
            f"active pairs are chosen among at most {DENSE_ITEMS:,} items",
            found=f"{items:,}",
            remedy="compare within categories, or place items on a pool's scale (the bridge)",
        )


def _best_tree(gains: Floats, rng: np.random.Generator) -> Ints:
    """(n - 1, 2) pairs of the maximum spanning tree, best first."""
    i, j = np.triu_indices(len(gains), 1)
    cost = 1.0 + gains.max() - gains[i, j]  # positive: the solver takes 0 for no edge
    cost += 1e-9 * rng.random(len(cost))  # equal pairs in the order of their numbers would make a star
    tree = minimum_spanning_tree(csr_array((cost, (i, j)), shape=gains.shape)).tocoo()
    best = np.argsort(tree.data, kind="stable")
    return np.stack([tree.coords[0], tree.coords[1]], axis=1)[best].astype(np.int64)


@compiled
def _gains(q: Floats, c: Floats, nodes: Floats, weights: Floats, gains: Floats) -> None:
    for i in range(len(q)):
        for j in range(i + 1, len(q)):
            spread = np.sqrt(max(c[i, i] + c[j, j] - 2 * c[i, j], 0.0))
            gains[i, j] = _information(q[i] - q[j], spread, nodes, weights)


@compiled
def _information(mean: float, spread: float, nodes: Floats, weights: Floats) -> float:
    win, left = 0.0, 0.0
    for k in range(len(nodes)):
        d = mean + spread * nodes[k]
        e = np.exp(-abs(d))
        lower = e / (1.0 + e)  # the chance of the less likely answer
        win += weights[k] * (lower if d < 0 else 1.0 - lower)
        left += weights[k] * (np.log1p(e) + abs(d) * lower)  # the entropy of S(d)
    if win <= 0.0 or win >= 1.0:
        return 0.0
    return float(max(0.0, -win * np.log(win) - (1.0 - win) * np.log(1.0 - win) - left))
