"""Signal in votes that form no complete orders: do raters agree on pairs beyond chance?

Model. Rater r in group g gives signs s in {-1, 0, +1} (a better, tie, b better) to some pairs of g's items. Under the
random-rater null every order of the items is as likely as its reverse, so all signs of one block (one rater in one
group) may be flipped together without changing their law: flipping blocks at random gives the exact null law of any
statistic, whatever pairs each rater saw and however they depend on each other.

Statistic. A = sum over pairs of (sum s)^2 - sum s^2, divided by the number of ordered pairs of decided votes: the mean
product of two different raters' signs on one pair. It is 1 when all agree, 0 in expectation under the null, and equals
the mean tau when every rater has ranked everything.

Assumptions. Blocks answer independently, and the choice of pairs did not depend on the answers. Votes of a crowd have
one block each. Edges: no pair with two decided votes raises TooFew.
Source: sign-flip (reflection) randomisation test; Kendall & Babington Smith 1940 for the agreement coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from salon.errors import TooFew
from salon.stats.resample import BOTH_SIDES, bootstrap_totals
from salon.stats.result import Estimate, Test

_MOST_WORK = 2_000_000_000
"""Votes x flips that one test may cost: about ten seconds on one core."""


@dataclass(frozen=True)
class VoteAgreement:
    """Mean agreement of two votes on a pair, and the test that there is none."""

    agreement: Estimate
    test: Test
    pairs: int
    """Pairs with at least two decided votes."""


def vote_test(
    pair: ArrayLike,
    block: ArrayLike,
    sign: ArrayLike,
    cluster: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> VoteAgreement:
    """Agreement over votes; `cluster` (one per vote) is what is drawn again for the interval: prompt or pair."""
    pair_of, block_of = np.asarray(pair, np.int64), np.asarray(block, np.int64)
    signs, cluster_of = np.asarray(sign, np.float64), np.asarray(cluster, np.int64)
    decided: NDArray[np.float64] = np.bincount(pair_of, weights=np.abs(signs)).astype(np.float64)
    ordered = float((decided * (decided - 1)).sum())
    if ordered == 0:
        raise TooFew(
            "at least one pair with two decided votes is needed",
            found=f"{len(signs)} votes on {len(np.unique(pair_of))} pairs, none twice",
            remedy="collect more than one answer per pair",
        )
    votes = sparse.csr_array((signs, (pair_of, block_of)), shape=(len(decided), int(block_of.max()) + 1))
    votes.sum_duplicates()
    constant = float(np.abs(signs).sum())
    observed = (float((votes.sum(axis=1) ** 2).sum()) - constant) / ordered
    flips = int(np.clip(_MOST_WORK // max(votes.nnz, 1), 99, draws))
    drawn = np.array([_agreement(votes, constant, ordered, rng) for _ in range(flips)])
    p = (1 + int((drawn >= observed - 1e-12).sum())) / (1 + flips)
    test = Test(
        name="pairs",
        statistic=observed,
        p=p,
        law=f"sign flips of whole answers, {flips:,} draws, one-sided",
        n=int((decided >= 2).sum()),
        unit="pair",
    )
    table = _cluster_table(pair_of, signs, cluster_of, decided)
    estimate = bootstrap_totals(
        lambda totals: totals[:, 0] / totals[:, 1], table, draws=draws, rng=rng, level=level, ends=BOTH_SIDES
    )
    return VoteAgreement(agreement=estimate, test=test, pairs=int((decided >= 2).sum()))


def _agreement(votes: sparse.csr_array, constant: float, ordered: float, rng: np.random.Generator) -> float:
    flips = rng.integers(0, 2, votes.shape[1]) * 2.0 - 1.0
    return (float(((votes @ flips) ** 2).sum()) - constant) / ordered


def _cluster_table(
    pair: NDArray[np.int64], sign: NDArray[np.float64], cluster: NDArray[np.int64], decided: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(clusters, 2): agreeing minus disagreeing ordered vote pairs, and all ordered vote pairs."""
    total = np.bincount(pair, weights=sign)
    of_pair = np.zeros(len(decided), np.int64)
    of_pair[pair] = cluster
    used, dense = np.unique(of_pair[decided > 1], return_inverse=True)
    good = decided > 1
    numerator = np.bincount(dense, weights=(total**2 - decided)[good], minlength=len(used))
    return np.column_stack(
        [numerator, np.bincount(dense, weights=(decided * (decided - 1))[good], minlength=len(used))]
    )
