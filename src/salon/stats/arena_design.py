"""Which generators an arena should compare next, with the chance of every choice.

Scores q have an approximate normal posterior with covariance C (`adaptive_design.pair_posterior`). A vote on i and j
has the information h = p (1 - p), p = S(m / sqrt(1 + pi v / 8)), m = q_i - q_j, v = C_ii + C_jj - 2 C_ij, and takes
from the sum of all variances

    g_ij = h |C (e_i - e_j)|^2 / (1 + h v)        (the trace of C less the trace of C after the vote)

Pairs are drawn, not ranked: the chance of a pair is

    pi_ij = (1 - random) g_ij / sum g  +  random / pairs

so wide intervals get more votes, a new generator most of all, and yet every pair has a known chance of at least
random / pairs. Therefore every interval shrinks however wrong C is, and the inverse weight of a vote,
(1 / pairs) / pi_ij, is at most 1 / random. With these weights a board means the same as if all pairs had been equally
likely; without, it means the pairs as they were dealt.

Sets of K: a pair by pi, then K - 2 others, all sets of others alike. A set has the chance
sum over its pairs of pi_ij / C(n - 2, K - 2), and its inverse weight the mean of pi over its pairs in place of pi_ij.

Edges: a pair that cannot be shown (`possible`) has the chance 0; no possible pair NotIdentified. Random alone (1) needs
no posterior.

Source: Sherman & Morrison 1950 for g; Chernoff 1953 and Atkinson & Donev 1992 for the criterion (A-optimality); Horvitz
& Thompson 1952 for the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, NotIdentified
from salon.stats.adaptive_design import PairPosterior

Floats = NDArray[np.float64]


def variance_gains(posterior: PairPosterior) -> Floats:
    """(n, n) by how much one vote on a pair lowers the sum of all variances; symmetric, zero on the diagonal."""
    q, C = posterior.scores, posterior.covariance
    own = np.diag(C)
    v = np.maximum(own[:, None] + own[None, :] - 2 * C, 0.0)
    square = C @ C
    size = np.diag(square)
    moved = np.maximum(size[:, None] + size[None, :] - 2 * square, 0.0)
    d = (q[:, None] - q[None, :]) / np.sqrt(1 + np.pi * v / 8)
    half = np.exp(-np.abs(d))
    h = half / (1 + half) ** 2
    gains = h * moved / (1 + h * v)
    np.fill_diagonal(gains, 0.0)
    return np.asarray(gains, np.float64)


def pair_chances(posterior: PairPosterior | None, possible: ArrayLike, *, random: float) -> Floats:
    """(n, n) symmetric chances of all pairs; those of i < j sum to 1. `possible` (n, n): pairs that can be shown."""
    can = np.asarray(possible, np.bool_)
    if not 0 < random <= 1:
        raise BadValue("the share of random pairs is above 0 and at most 1", found=random)
    if can.ndim != 2 or can.shape[0] != can.shape[1] or (can != can.T).any() or can.diagonal().any():
        raise BadValue("possible pairs are a symmetric table with an empty diagonal", found=f"shape {can.shape}")
    pairs = can.sum() / 2
    if not pairs:
        raise NotIdentified("an arena needs two generators with a picture of the same prompt", found="none")
    even = can / pairs
    if posterior is None or random == 1:
        return np.asarray(even, np.float64)
    gains = np.where(can, variance_gains(posterior), 0.0)
    total = gains.sum() / 2
    return np.asarray((1 - random) * (gains / total if total > 0 else even) + random * even, np.float64)


def draw_pair(chances: Floats, rng: np.random.Generator) -> tuple[int, int]:
    """A pair i < j by its chance."""
    i, j = np.triu_indices(len(chances), 1)
    place = int(rng.choice(len(i), p=chances[i, j] / chances[i, j].sum()))
    return int(i[place]), int(j[place])


def set_chance(chances: Floats, members: ArrayLike) -> float:
    """The mean chance of the pairs within a set: over that of even dealing, the inverse of the set's weight."""
    own = np.asarray(members, np.int64)
    i, j = np.triu_indices(len(own), 1)
    return float(chances[own[i], own[j]].mean())
