"""Agreement per judgment, in one label space: outcomes first / tie / second (1, 0, -1) of pairs by raters.

Ratings become induced outcomes on the same pairs, so that ratings and comparisons are measured with the same
three labels (PPaint B.3). `convergence` is the share of rater pairs who give the same outcome, averaged over
pairs of items: the figure HPSv3 prints for HPDv2 (59.9%) and HPDv3 (76.5%), as far as its text defines it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue
from salon.stats.agreement import Kappa, alpha_counts, fleiss_kappa, supermajority_share, unanimous_share
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OutcomeAgreement:
    """Agreement of raters on the outcomes of the same pairs."""

    fleiss: Kappa
    alpha: Estimate
    unanimous: float
    supermajority: float
    """Share of pairs on which at least four of five agree."""
    convergence: float
    majority: IntArray
    """(pairs,) the outcome most raters gave, 0 (a tie) where two outcomes lead together."""


def induced_outcomes(scores: ArrayLike, first: ArrayLike, second: ArrayLike, *, margin: float = 0.0) -> FloatArray:
    """Outcomes (pairs, raters) that scores (raters, items) imply: 1, -1, or 0 where they differ by at most
    `margin`.

    NaN where a rater lacks one of the two scores.
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2:
        raise BadValue("scores must be a table (raters, items)", found=f"shape {x.shape}")
    gap = x[:, np.asarray(first)] - x[:, np.asarray(second)]
    return np.where(np.isnan(gap), np.nan, np.where(np.abs(gap) <= margin, 0.0, np.sign(gap))).T


def outcome_counts(outcomes: ArrayLike) -> IntArray:
    """Counts (pairs, 3) of second, tie and first from outcomes (pairs, raters)."""
    o = np.asarray(outcomes, dtype=np.float64)
    known = o[~np.isnan(o)]
    if o.ndim != 2 or not np.isin(known, (-1.0, 0.0, 1.0)).all():
        raise BadValue("outcomes (pairs, raters) are 1, 0, -1, or NaN where missing", found=known[:3])
    return np.stack([(o == value).sum(axis=1) for value in (-1, 0, 1)], axis=1)


def outcome_agreement(outcomes: ArrayLike) -> OutcomeAgreement:
    """Fleiss kappa, nominal alpha, shares of agreement, convergence and majority-with-tie labels."""
    return counted_agreement(outcome_counts(outcomes))


def counted_agreement(counts: IntArray) -> OutcomeAgreement:
    """The same from counts (pairs, 3) of second, tie and first."""
    kappa = fleiss_kappa(counts)
    most = counts.max(axis=1)
    alone = (counts == most[:, None]).sum(axis=1) == 1
    return OutcomeAgreement(
        fleiss=kappa,
        alpha=alpha_counts(counts, None, level="nominal"),
        unanimous=unanimous_share(counts),
        supermajority=supermajority_share(counts),
        convergence=kappa.observed,
        majority=np.where(alone, counts.argmax(axis=1) - 1, 0),
    )
